"""Items of lists and entries of dicts that a loop of ONNX writes: those alone are carried, and the result is PyTorch's, however else the iteration reaches the
list. The programs are written here, word for word."""
import textwrap

import onnx
import pytest
import torch

from scripted import oracle, same_or_refused, save
from test_places import HEAD, module, placed

# What stands before the loop, what an iteration does with the row v of number i, and what is left.
LISTS = "l = [x[0] * 0 + k for k in range(6)]"
DICTS = 'd = {"a": x[0], "b": x[0] * 2, "c": x[0] * 3}'
ALL = "r = x[0] * 0\nfor e in l:\n    r = r * 0.5 + e"
ENTRIES = 'r = (d["a"] * 0.5 + d["b"]) * 0.5 + d["c"]'
PROGRAMS = {
    "one": (LISTS, "l[2] = l[2] * 2 + v", ALL),
    "two": (LISTS, "l[4] = l[1] + v\nl[1] = v * i", ALL),
    "last": (LISTS, "l[-1] = l[0] + l[-1] + v", ALL),
    "swapped": (LISTS, "l[0], l[3] = l[3] + v, l[0]", ALL),
    "another_reads": (LISTS, "l[2] = l[2] + v\nl[3] = l[3] + l[2] + len(l)", ALL),
    "in_place": (LISTS, "l[2].add_(v)\nl[3] = l[2] * 2", ALL),
    "in_place_itself": (LISTS, "l[2] += v\nl[3] = l[3] + l[2]", ALL),
    "moved_to_another": (LISTS, "l[2] = l[3]\nl[3] = v * 2", ALL),
    "moved_and_written": (LISTS, "l[2] = l[3]\nl[3] = v * 2\nl[2].mul_(2)", ALL),
    "in_an_arm": (LISTS, "if bool(v[0] > 0.5):\n    l[1] = l[1] + v\nelse:\n    l[4] = v", ALL),
    "grows_later": (LISTS, "l[1] = l[1] + v\nif i > 0:\n    l.append(l[1])", ALL),
    "grows": (LISTS, "l[1] = l[1] + v\nl.append(l[1])", ALL),
    "grows_then": (LISTS + "\nn = 0", "l[1] = l[1] + v\nif n > 1:\n    l.append(l[1])\nn += 2", ALL),
    "moves_then": (LISTS + "\nn = 0", "l[1] = l[1] + v\nif n > 1:\n    l.append(l.pop(0))\nn += 2", ALL),
    "shorter_and_longer": (LISTS, "l[1] = l[1] + v\nl.pop()\nl.append(v + 1)", ALL),
    "moves": (LISTS, "l[1] = l[1] + v\nl.append(l.pop(0))", ALL),
    "cleared": (LISTS, "l[1] = l[1] + v\nm = l[1]\nl.clear()\nfor k in range(6):\n    l.append(m * k)", ALL),
    "another_name": (LISTS + "\nm = l", "l[1] = l[1] + v\nm[2] = m[1] * 2", ALL),
    "a_new_name": (LISTS + "\nm = [x[0], x[0]]", "l[1] = l[1] + v\nm = l", ALL + "\nr = r + m[1]"),
    "a_name_from_then_on": (LISTS + "\nm = [x[0], x[0], x[0]]", "m[1] = m[1] + v\nif i == 1:\n    m = l", ALL + "\nr = r + m[1]"),
    "in_a_tuple": (LISTS + "\nt = (l, 1)", "t[0][1] = t[0][1] + v\nt = (l, i)", ALL + "\nr = r + t[1]"),
    "of_lists": ("q = [[x[0], x[0]], [x[0] * 2]]", "q[0] = [v, q[0][1] + v]\nq[1][0] = q[0][0]", "r = q[0][0] + q[0][1] + q[1][0]"),
    "lists_that_grow": ("q = [[x[0], x[0]], [x[0] * 2]]", "q[0] = q[0] + [v]", "r = q[1][0]\nfor e in q[0]:\n    r = r * 0.5 + e"),
    "lists_that_swap": ("q = [[x[0], x[0]], [x[0] * 2, x[0]]]", "q[0], q[1] = q[1], q[0]\nq[0][0] = q[0][0] + v", "r = q[0][0] * 2 + q[1][0]"),
    "wider": ("l = [x[:1], x[:1] * 2, x[:1] * 3]", "l[1] = torch.cat([l[1], x[:1] + i])", "r = l[0][0] + l[1].sum(0) + l[2][0]"),
    "ints": ("n = [1, 2, 3, 4]", "n[1] = n[1] + 2\nn[2] = n[2] * 2 - n[1]", "r = x[0] * n[0] + n[1] * 2 + n[2] - n[3]"),
    "counted": ("n = [0, x.size(0)]", "n[0] += 1\nn[1] -= 1", "r = x[0] * n[0] + n[1]"),
    "optionals": ("o: List[Optional[Tensor]] = [None, x[0]]", "p = o[0]\no[0] = v if p is None else p + v\no[1] = None", "r = x[0] * 0\nfor e in o:\n    if e is not None:\n        r = r * 0.5 + e"),
    "strings": ('s = ["a", "b"]', 's[0] = "c" if s[0] == "a" else "a"', 'r = x[0] + (1 if s[0] == "a" else 2)'),
    "objects": ("b = [Box(x[0]), Box(x[0] * 2)]", "b[0] = Box(b[0].t + v)\nb[1].t = b[0].t * 2", "r = b[0].t + b[1].t"),
    "entry": (DICTS, 'd["b"] = d["b"] * 2 + v', ENTRIES),
    "entries": (DICTS, 'd["c"] = d["a"] + v\nd["a"] = d["b"] * 2', ENTRIES),
    "entry_in_place": (DICTS, 'd["b"].mul_(2)\nd["c"] = d["b"] + v', ENTRIES),
    "entry_of_an_open_dict": (DICTS + '\nif bool(x.sum() > 2):\n    d["e"] = x[0]', 'd["b"] = d["b"] + v\nd["e"] = d["b"]', ENTRIES + '\nif "e" in d:\n    r = r + d["e"]'),
    "open_entry": (DICTS + '\nif bool(x.sum() > 2):\n    d.pop("b")', 'd["a"] = d["a"] + v', 'r = d["a"] + d["c"]\nif "b" in d:\n    r = r + d["b"]'),
    "key_in_each": (DICTS, 'd["b"] = d["b"] + v\nd["e"] = v', ENTRIES + '\nif "e" in d:\n    r = r + d["e"]'),
    "key_goes_in_an_arm": (DICTS, 'd["a"] = d["a"] + v\nif bool(v[0] > 0.5) and "b" in d:\n    d.pop("b")', 'r = d["a"] + d["c"] + len(d)\nif "b" in d:\n    r = r + d["b"]'),
    "entry_goes": (DICTS, 'd["b"] = d["b"] + v\nm = d.pop("a")\nd["a"] = m + 1', ENTRIES),
    "entry_comes": (DICTS, 'd["b"] = d["b"] + v\nif i > 0:\n    d["e"] = v', ENTRIES + '\nif "e" in d:\n    r = r + d["e"]'),
    "dict_of_lists": ('g = {"a": [x[0], x[0]], "b": [x[0]]}', 'g["a"][1] = g["a"][1] + v\ng["b"] = [v]', 'r = g["a"][0] + g["a"][1] + g["b"][0]'),
    "list_of_dicts": ("l = [x[0], x[0]]\n" + DICTS + "\ng = [d, {\"a\": x[0]}]", 'g[0]["b"] = g[0]["b"] + v\ng[1] = {"a": g[0]["b"]}', ENTRIES + '\nr = r + g[1]["a"]'),
    "of_the_module": ("", "self.kept_list[1] = self.kept_list[1] + v", "r = self.kept_list[0] + self.kept_list[1]"),
}
REFUSED = ("a_name_from_then_on", "in_a_tuple", "lists_that_swap")    # two lists are one in some iterations only
LOOPS = {
    "loop": "for i in range(x.size(0)):\n    v = x[i]\n    CHANGE",
    "loop_in_loop": "for j in range(x.size(0)):\n    for i in range(x.size(0) - j):\n        v = x[i]\n        CHANGE",
    "loops_in_loop": "for i in range(x.size(0)):\n    v = x[i]\n    for j in range(i):\n        v = x[j] + v\n        CHANGE\n    CHANGE",
    "loop_in_arm": "if bool(x.sum() > 3):\n    for i in range(x.size(0)):\n        v = x[i]\n        CHANGE",
    "while_break": "i = 0\nwhile i < x.size(0):\n    v = x[i]\n    if bool(v[1] > 0.7):\n        break\n    CHANGE\n    i += 1",
}


def program(name, loop):
    before, change, after = PROGRAMS[name]
    text = "\n".join([before, *placed(LOOPS[loop], change), after, "return r"])
    return HEAD + '''

class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept_list = [torch.ones(3), torch.zeros(3)]

    def forward(self, x):
%s
''' % textwrap.indent(text, "        ")


def carried(path):
    """Of each Loop of the file, how many values it hands from one iteration to the next."""
    todo, found = [onnx.load(str(path)).graph], []
    while todo:
        for node in todo.pop().node:
            todo += [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
            if node.op_type == "Loop":
                found.append(len(node.input) - 2)
    return found


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_torch(name, loop, tmp_path):
    torch.manual_seed(3)
    model = module(program(name, loop), tmp_path, "items_%s_%s" % (name, loop))
    done = same_or_refused(model, tmp_path, [torch.rand(n, 3) for n in (1, 2, 5)], "-i", "x:float32[N=1..8,3]")
    assert done.returncode == 0 or name in REFUSED, done.stderr


def test_only_what_changes_is_carried(tmp_path):
    for name, count in (("one", [1]), ("two", [2]), ("entry", [1]), ("in_place", [2]), ("grows_then", [2, 1])):
        model = module(program(name, "loop"), tmp_path, "carried_" + name)
        path, out = save(model, tmp_path), tmp_path / "model.onnx"
        oracle.converted(path, out, "-i", "x:float32[N=1..8,3]")
        assert carried(out) == count, name
