"""Items of lists and keys of dicts that move, go and come in branches that ONNX decides, each way in each arm: PyTorch's result. The programs are written
here, word for word."""
import itertools
import textwrap

import pytest
import torch

from scripted import same_or_refused
from test_places import HEAD, module

LIST = "l = [x[0] * k for k in range(4)]"
LISTS = {
    "none": "pass",
    "first_again": "l.insert(0, l.pop(0) * 2)",
    "first_to_last": "l.append(l.pop(0))",
    "last_to_first": "l.insert(0, l.pop())",
    "reversed": "l.reverse()",
    "swapped": "l[0], l[2] = l[2], l[0]",
    "written_and_moved": "l[1] = v * 3\nl.append(l.pop(1))",
    "moved_and_written": "l.append(l.pop(1))\nl[1] = v * 3",
    "away_and_back": "l.append(l.pop(1))\nl.insert(1, l.pop())",
    "in_place": "l.append(l.pop(1))\nl[3].add_(v)",
    "one_less": "l.pop(1)",
    "one_more": "l.insert(1, v)",
    "cleared": "l.clear()\nfor k in range(4):\n    l.append(v + k)",
}
DICT = 'd = {%s, "a": x[0], "b": x[0] * 2, "c": x[0] * 3}' % ", ".join('"g%d": x[0]' % k for k in range(8))    # enough for an index
DICTS = {
    "none": "pass",
    "written": 'd["b"] = v',
    "first_gone": 'd.pop("a")',
    "gone": 'd.pop("b")',
    "last_gone": 'd.pop("c")',
    "two_gone": 'd.pop("a")\nd.pop("c")',
    "all_gone": "d.clear()",
    "again": 'd["a"] = d.pop("a") * 2',
    "middle_again": 'd["b"] = d.pop("b") * 2',
    "last_again": 'd["c"] = d.pop("c") * 2',
    "two_again": 'd["a"] = d.pop("a") * 2\nd["b"] = d.pop("b")',
    "all_again": 'd["a"] = d.pop("a")\nd["b"] = d.pop("b")\nd["c"] = d.pop("c") * 2',
    "new": 'd["e"] = v',
    "gone_and_new": 'd.pop("a")\nd["e"] = v\nd["b"] = v * 2',
    "new_and_gone": 'd["e"] = v\nd.pop("e")',
    "new_twice": 'd["f"] = v\nd["e"] = v * 2',
    "written_and_gone": 'd["b"] = v\nd.pop("a")',
    "in_place": 'd.pop("a")\nd["b"].add_(v)',
}
FIXED = [name for name in LISTS if name not in ("one_less", "one_more", "in_place")]
SAME_KEYS = ("none", "written", "last_again", "all_again", "new_and_gone")
ALL = "r = x[0] * len(l)\nfor e in l:\n    r = r * 0.5 + e"
KEYS = 'r = x[0] * len(d)\n' + "\n".join('if "%s" in d:\n    r = r * 0.5 + d["%s"] * %d' % (k, k, i + 1) for i, k in enumerate("abcef"))
ORDER = 'r = x[0] * 0\nfor k, e in d.items():\n    r = r * 0.5 + e + (1 if k == "a" else 2)'
IF = "v = x[1]\nif bool(x[0, 0] > 0.5):\n%s\nelse:\n%s\n"
IFS = "v = x[1]\nif bool(x[0, 0] > 0.5):\n%s\nelif bool(x[0, 1] > 0.5):\n    pass\nelse:\n%s\n"


def source(text):
    return HEAD + "\n\nclass Program(nn.Module):\n    def forward(self, x):\n%s\n" % textwrap.indent(text + "\nreturn r", "        ")


def arms(one, other, ifs=IFS):
    return ifs % (textwrap.indent(one, "    "), textwrap.indent(other, "    "))


def runs():
    """Each way through three branches, one behind the other."""
    torch.manual_seed(3)
    for a, b in itertools.product((0.25, 0.75), repeat=2):
        x = torch.rand(2, 3)
        x[0, 0], x[0, 1] = a, b
        yield x


def converted(text, name, tmp_path):
    """The process; where its exit code is 0 the results are PyTorch's."""
    return same_or_refused(module(source(text), tmp_path, name), tmp_path, runs(), "-i", "x:float32[2,3]")


@pytest.mark.parametrize("one", LISTS)
def test_lists(one, tmp_path):
    for other in LISTS:
        text = "\n".join([LIST, arms(LISTS[one], LISTS[other]), ALL])
        done = converted(text, "lists_%s_%s" % (one, other), tmp_path)
        assert done.returncode == 0, (other, done.stderr)


@pytest.mark.parametrize("one", FIXED)
def test_lists_of_one_length_again(one, tmp_path):
    """A second branch finds what the first has made."""
    for other in FIXED:
        text = "\n".join([LIST, arms(LISTS[one], LISTS[other]), arms(LISTS[other], LISTS[one]), ALL])
        done = converted(text, "again_%s_%s" % (one, other), tmp_path)
        assert done.returncode == 0, (other, done.stderr)


@pytest.mark.parametrize("one", DICTS)
def test_dicts(one, tmp_path):
    for other in DICTS:
        for ifs in (IF, IFS):
            text = "\n".join([DICT, arms(DICTS[one], DICTS[other], ifs), KEYS])
            done = converted(text, "dicts_%s_%s_%d" % (one, other, len(ifs)), tmp_path)
            assert done.returncode == 0, (other, done.stderr)


@pytest.mark.parametrize("one", DICTS)
def test_order_of_keys(one, tmp_path):
    """Where only the running model knows what keys there are, or their order, the program is refused."""
    for other in DICTS:
        text = "\n".join([DICT, arms(DICTS[one], DICTS[other], IF), ORDER])
        done = converted(text, "order_%s_%s" % (one, other), tmp_path)
        known = (one in SAME_KEYS and other in SAME_KEYS and "all_again" not in (one, other)) or one == other == "all_again"
        assert done.returncode == 0 or (not known and "or their order" in done.stderr), (other, done.stderr)


@pytest.mark.parametrize("one", DICTS)
def test_dicts_in_the_place_of_others(one, tmp_path):
    text = "\n".join([DICT + '\nm = {"a": x[1]}', arms(DICTS[one] + "\nm = d", 'm = {"c": v}'), KEYS, KEYS.replace("r = x[0] * len(d)", "r = r + len(m)").replace("d[", "m[").replace("in d", "in m")])
    done = converted(text, "places_%s" % one, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("one", DICTS)
def test_dicts_that_are_lists_items(one, tmp_path):
    """The dict is joined by another name too."""
    for other in ("none", "gone", "again", "gone_and_new"):
        before = DICT + "\nq = [d, {\"a\": x[1]}]\nm = d"
        change = "%s\nm = q[%d]"
        text = "\n".join([before, arms(change % (DICTS[one], 1), change % (DICTS[other], 0)), KEYS, 'if "a" in m:\n    r = r + m["a"]', "r = r + len(q[0])"])
        converted(text, "held_%s_%s" % (one, other), tmp_path)
