"""Everything that a program can change, in every place where ONNX decides whether and how often: the programs are written here, word for word."""
import importlib.util
import sys
import textwrap

import pytest
import torch

from scripted import flat, oracle, save

HEAD = '''
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


@torch.jit.script
class Box:
    def __init__(self, t: Tensor):
        self.t = t
'''

# What changes: before, the change by the row v of number i, and what is left of it.
THINGS = {
    "tensor": ("a = torch.zeros(3)", "a = a * 2 + v", "r = a"),
    "int": ("a = 1", "a = a * 2 + i", "r = torch.tensor(a)"),
    "float": ("a = 0.5", "a = a * 0.5 + float(v[0])", "r = torch.tensor(a)"),
    "bool": ("a = False", "a = not a", "r = torch.tensor(a)"),
    "string": ('a = "x"', 'a = "y" if a == "x" else "x"', 'r = torch.tensor(a == "x")'),
    "attribute": ("b = Box(torch.zeros(3))", "b.t = b.t * 2 + v", "r = b.t"),
    "state": ("", "self.kept = self.kept * 2 + v", "r = self.kept + 0"),
    "buffer": ("", "self.memory.mul_(0.5).add_(v)", "r = self.memory + 0"),
    "list_item": ("l = [torch.zeros(3), torch.ones(3)]", "l[1] = l[1] * 2 + v\nl[0] = v", "r = l[0] + l[1]"),
    "longer_list": ("l: List[Tensor] = []", "l.append(v)\nl.append(v * 2)", "r = torch.stack(l + [x[0]])"),
    "list_of_lists": ("l: List[List[int]] = [[1]]", "l.append(l[-1] + [i])", "n = 0\nfor one in l:\n    for k in one:\n        n = n * 2 + k\nr = torch.tensor(n)"),
    "dict_item": ('d: Dict[str, Tensor] = {"k": torch.zeros(3)}', 'd["k"] = d["k"] * 2 + v', 'r = d["k"]'),
    "dict_key": ("d = torch.jit.annotate(Dict[str, Tensor], {})", 'd["k"] = v', 'r = x[0] * 0\nif "k" in d:\n    r = r + d["k"]\nr = r + len(d)'),
    "tuple_item": ("t = (torch.zeros(3), 1)", "t = (t[0] * 2 + v, t[1] + i)", "r = t[0] * t[1]"),
    "view": ("m = torch.zeros(2, 3)\nw = m[1]", "w.mul_(2).add_(v)", "r = m + w"),
    "base_of_view": ("m = torch.zeros(2, 3)\nw = m[1]", "m.mul_(2)\nm[1] = m[1] + v", "r = m + w"),
    "optional": ("o: Optional[Tensor] = None", "p = o\nif p is None:\n    o = v\nelse:\n    o = p * 2 + v", "q = o\nr = torch.zeros(3)\nif q is not None:\n    r = q"),
}

PLACES = {
    "if": "i = 1\nv = x[0]\nif bool(v[0] > 0.5):\n    CHANGE",
    "if_else": "i = 1\nv = x[0]\nif bool(v[0] > 0.5):\n    CHANGE\nelse:\n    CHANGE\n    CHANGE",
    "loop": "for i in range(x.size(0)):\n    v = x[i]\n    CHANGE",
    "while_break": "i = 0\nwhile i < x.size(0):\n    v = x[i]\n    if bool(v[1] > 0.7):\n        break\n    CHANGE\n    i += 1",
    "if_in_loop": "for i in range(x.size(0)):\n    v = x[i]\n    if bool(v[0] > 0.5):\n        CHANGE\n    elif bool(v[1] > 0.4):\n        CHANGE\n        CHANGE",
    "loop_in_if": "if bool(x.sum() > 3):\n    for i in range(x.size(0)):\n        v = x[i]\n        CHANGE",
    "loop_in_loop": "for i in range(x.size(0)):\n    for j in range(x.size(0) - i):\n        v = x[j]\n        CHANGE",
}


def placed(place, change):
    """The lines of a place, with the lines of the change where it says so."""
    return [textwrap.indent(change, line[:len(line) - len("CHANGE")]) if line.endswith("CHANGE") else line for line in place.split("\n")]


def program(thing, place):
    before, change, after = THINGS[thing]
    body = "\n".join([before, *placed(PLACES[place], change), after, "return r"]).strip()
    return ("%s\n\nclass Program(nn.Module):\n    kept: Tensor\n\n    def __init__(self):\n        super().__init__()\n        self.kept = torch.ones(3)\n"
            "        self.register_buffer(\"memory\", torch.ones(3))\n\n    def forward(self, x):\n%s\n" % (HEAD, textwrap.indent(body, "        ")))


def module(source, tmp_path, name):
    """TorchScript reads the program's text from its file."""
    path = tmp_path / (name + ".py")
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, str(path))
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.Program()


def differences(model, runs, opsets, tmp_path):
    """What is wrong, at which opset."""
    path, out, said = save(model, tmp_path), tmp_path / "model.onnx", []
    with torch.jit.optimized_execution(False):
        loaded = torch.jit.load(str(path))
        wanted = [([x.numpy()], flat([loaded(x.clone())])) for x in runs]
    for opset in opsets:
        done = oracle.convert(path, out, "-i", "x:float32[N,3]", "--opset", str(opset))
        try:
            assert done.returncode == 0, done.stderr
            oracle.run(out, wanted)
        except AssertionError as e:
            said.append("opset %d: %s" % (opset, e))
    return said


@pytest.mark.parametrize("place", PLACES)
def test_every_change(place, tmp_path):
    torch.manual_seed(3)
    runs = [torch.rand(n, 3) for n in (1, 2, 5, 7)]
    wrong = []
    for thing in THINGS:
        model = module(program(thing, place), tmp_path, "%s_%s" % (place, thing))
        opsets = (14, 18, 26) if thing == "list_of_lists" else (11, 13, 18, 26)         # branches give sequences from 14 on
        wrong += ["%s, %s" % (thing, e) for e in differences(model, runs, opsets, tmp_path)]
    assert not wrong, "\n".join(wrong)
