"""What one iteration of a loop leaves in a list, and the next one writes under another name: PyTorch's result, or refused. The programs are written here, word
for word: each kind of item, each way to leave it in a list and to reach it again, each way to write."""
import textwrap

import pytest
import torch

from scripted import same_or_refused
from test_places import HEAD, module

# How one is made of V, and read; the ways to write to it.
ITEMS = {
    "dict": ('{"a": V}', 'E["a"]', ['E["a"] = E["a"] * 2', 'E["a"].mul_(2)', 'E["b"] = x[0]']),
    "list": ("[V, V + 1]", "E[0] * E[1]", ["E[0] = E[1] * 2", "E[0].mul_(2)"]),
    "tensor": ("V", "E", ["E.mul_(2)", "E[0] = 1"]),
    "tuple": ("([V], 1)", "E[0][0]", ["E[0][0] = E[0][0] * 2"]),
    "object": ("Box(V)", "E.t", ["E.t = E.t * 2", "E.t.mul_(2)"]),
}

# What stands before the loop, in an iteration, and where the next iteration writes.
WAYS = {
    "alone": ("", "xs.append(MAKE)", "d"),
    "by_itself": ("", "xs.append(MAKE)", "xs[-1]"),
    "local": ("", "d = MAKE\nxs.append(d)", "d"),
    "older": ("e = MAKE", "xs.append(e)", "e"),
    "older_at_last": ("e = MAKE", "if i == 0:\n    e = MAKE\nxs.append(e)", "e"),
    "two_lists": ("", "e = MAKE\nxs.append(e)\nys.append(e)", "ys[-1]"),
    "first_of_another": ("", "xs.append(ys[0])", "ys[0]"),
    "new_of_another": ("", "ys.append(MAKE)\nxs.append(ys[-1])", "ys[-1]"),
    "lists_joined": ("", "xs.append(MAKE)\nys = ys + xs", "ys[-1]"),
    "lists_swapped": ("", "ys.append(MAKE)\nxs, ys = ys, xs", "ys[-1]"),
    "dict": ("m = {\"k\": d}", "e = MAKE\nm[\"k\"] = e\nxs.append(e)", "m[\"k\"]"),
    "inner_loop": ("", "for j in range(x.size(0) - i):\n    xs.append(MAKE)", "d"),
    "inner_loop_local": ("", "for j in range(x.size(0) - i):\n    d = MAKE\n    xs.append(d)", "d"),
    "inner_loop_lists": ("", "for j in range(x.size(0) - i):\n    e = MAKE\n    xs.append(e)\n    ys.append(e)", "ys[-1]"),
    "new_list": ("", "ys = [MAKE]\nfor j in range(x.size(0) - i):\n    e = MAKE\n    xs.append(e)\n    ys.append(e)", "ys[-1]"),
    "from_new_list": ("", "ys = [MAKE]\nfor j in range(x.size(0) - i):\n    ys.append(MAKE)\nxs.append(ys[-1])", "ys[-1]"),
    "of_new_list": ("", "ys = [MAKE]\nfor j in range(x.size(0) - i):\n    ys.append(MAKE)\nxs.extend(ys)", "ys[0]"),
    "older_and_new_list": ("zs = [MAKE]\nfor j in range(x.size(0)):\n    zs.append(MAKE)", "xs.append(zs[-1])\nys = zs + ys", "ys[0]"),
    "cleared": ("", "ys.clear()\ne = MAKE\nxs.append(e)\nys.append(e)\nys.append(MAKE)", "ys[0]"),
    "cut": ("", "e = MAKE\nxs.append(e)\nys.append(e)\nys = ys[-1:]", "ys[0]"),
    "in_an_arm": ("", "e = MAKE\nxs.append(e)\nif bool(v[0] > 0.5):\n    d = e", "d"),
}


def program(way, item, write, nested):
    """nested: in a loop of its own, whose second run begins with what the first has found of the inner one."""
    before, leave, place = WAYS[way]
    make, read, writes = ITEMS[item]
    first = "\n".join(["d = MAKE", "xs = [MAKE]", "ys = [MAKE]", before]).replace("MAKE", make.replace("V", "(x[0] * 3)"))
    iteration = "\n".join(["v = x[i]", writes[write].replace("E", place), leave]).replace("MAKE", make.replace("V", "(v + 1)"))
    lines = [first, "for i in range(x.size(0)):", textwrap.indent(iteration, "    "), "for e in xs:", "    r = r * 0.5 + " + read.replace("E", "e"), "r = r + len(ys)"]
    body = textwrap.indent("\n".join(lines), "    " * nested)
    text = "r = x[0]\n%s%s\nreturn r" % ("for o in range(x.size(0)):\n" if nested else "", body)
    return "%s\n\nclass Program(nn.Module):\n    def forward(self, x):\n%s\n" % (HEAD, textwrap.indent(text, "        "))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("way", WAYS)
def test_right_or_refused(way, item, nested, tmp_path):
    torch.manual_seed(3)
    for write in range(len(ITEMS[item][2])):
        model = module(program(way, item, write, nested), tmp_path, "%s_%s_%d%d" % (way, item, write, nested))
        done = same_or_refused(model, tmp_path, [torch.rand(n, 3) for n in (1, 2, 5)], "-i", "x:float32[N=1..8,3]")
        assert done.returncode == 0 or way != "alone", done.stderr
