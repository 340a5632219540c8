"""One thing under two names: a list, dict, object or tensor that a loop, a branch or an early return binds to what another name reaches too, and
that is written under either. And what a list, dict, object, tuple or Optional holds while it is itself changed, and the thing written.

Each program equals torch, or is refused: never a write that is lost."""
import collections
import itertools
from typing import Optional

import pytest
import torch
from torch import Tensor

import random_programs
from scripted import refused, same

HEAD = """from typing import Dict, List, Optional, Tuple
import torch
from torch import Tensor


class Cell:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n


class Box:
    def __init__(self, v: {type}):
        self.v = v


def either(h: Optional[{type}], o: {type}) -> Tensor:
    if h is not None:
        return {read_h}
    return {read_o}


class Net(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        c = bool(x.sum() > 8)
        d = bool((x + y.sum()).sum() > 8)
        k = int(x.sum().item()) % 3
"""
# type, how one is made of a tensor, how it is written, what it shows
KINDS = {
    "tensor": ("Tensor", "{0}.clone()", "{0}.add_(1)", "{0} + 0"),
    "list": ("List[Tensor]", "[{0}, {0}]", "{0}[0] = b * 5", "torch.stack({0}).sum(0)"),
    "longer": ("List[Tensor]", "[{0}]", "{0}.append(b * 6)", "{0}[-1] + len({0})"),
    "numbers": ("List[int]", "[1, 2]", "{0}[0] = 7", "torch.zeros(1) + sum({0})"),
    "dict": ("Dict[str, Tensor]", '{{"a": {0}}}', '{0}["a"] = b * 5', '{0}["a"] + len({0})'),
    "object": ("Cell", "Cell({0}, 1)", "{0}.t = b * 5", "{0}.t + {0}.n"),
    "its tensor": ("Cell", "Cell({0}.clone(), 1)", "{0}.t.add_(1)", "{0}.t + {0}.n"),
    "objects": ("List[Cell]", "[Cell({0}, 1)]", "{0}[0].n += 2", "{0}[0].t + {0}[-1].n"),
    "tuple": ("Tuple[List[Tensor], int]", "([{0}], 1)", "{0}[0][0] = b * 5", "{0}[0][0] + {0}[1]"),
}


def check(programs, folder):
    """How many are right, how many refused. Fails with the first that is wrong."""
    seen = collections.Counter()
    for text in programs:
        try:
            random_programs.judge(text, "script", str(folder))
            seen["right"] += 1
        except random_programs.Verdict as v:
            assert v.kind in ("refused", "torch") and "exit -" not in v.text, "%s\n%s" % (v.text, text)
            assert v.kind == "refused" or v.text == "it raises", "%s\n%s" % (v.text, text)
            seen[v.kind] += 1
    return seen


def written(kind, lines):
    type_, _, _, read = KINDS[kind]
    return HEAD.format(type=type_, read_h=read.format("h"), read_o=read.format("o")) + "".join("        %s\n" % line for line in lines)


# ---- a name that is bound again ----

BIND = {
    "arm": ["if c:", "    h = o"],
    "both branches": ["if c:", "    h = {new}", "else:", "    h = o"],
    "new": ["if c:", "    h = {new}"],
    "loop": ["w = 0", "while w < k:", "    w += 1", "    h = o"],
    "loop, new": ["w = 0", "while w < k:", "    w += 1", "    h = {new}"],
    "loop, arm": ["w = 0", "while w < k:", "    w += 1", "    if c:", "        h = o"],
    "loop, return": ["w = 0", "while w < k:", "    w += 1", "    h = o", "    if x.size(0) > 2:", "        return {read}"],
    "return": ["if c:", "    h = o", "    if d:", "        return {read}"],
}
WRITE = {
    "plain": ["{write}"],
    "arm": ["if d:", "    {write}"],
    "arm, the other binds": ["if d:", "    {write}", "else:", "    h = {new}"],
    "bound, then written": ["if d:", "    h = {new}", "    {write}"],
    "loop": ["v = 0", "while v < k - 1:", "    v += 1", "    {write}"],
    "loop, arm": ["v = 0", "while v < k:", "    v += 1", "    if d:", "        {write}", "    else:", "        h = {new}"],
    "known loop": ["for v in range(2):", "    if d:", "        {write}", "    else:", "        h = {new}"],
}


def bound(kind, bind, write, start, name):
    _, make, writes, read = KINDS[kind]
    fill = {"new": make.format("(b + 3)"), "read": read.format("h") + ", " + read.format("o"), "write": writes.format(name)}
    lines = ["o = " + make.format("b"), "h = " + ("o" if start == "o" else make.format("(b + 2)"))] + BIND[bind] + WRITE[write] + ["return {read}"]
    return written(kind, [line if line.startswith(("o =", "h =")) else line.format(**fill) for line in lines])


@pytest.mark.parametrize("kind", KINDS)
def test_bound_again(kind, tmp_path):
    seen = check((bound(kind, *at) for at in itertools.product(BIND, WRITE, ("o", "new"), ("h", "o"))), tmp_path)
    assert seen["right"] >= 50


# ---- what something holds ----

# type, how it is made of a thing, the thing in it, how it is changed
HOLD = {
    "list": ("List[{0}]", "[{0}]", "H[0]", ["H.append({new})", "H.append(o)", "H[0] = {new}", "H = H + [{new}]", "H.reverse()"]),
    "two": ("List[{0}]", "[{new}, {0}]", "H[-1]", ["H.append(H[0])", "H[0] = H[-1]"]),
    "dict": ("Dict[str, {0}]", '{{"k": {0}}}', 'H["k"]', ['H["l"] = o', 'H["k"] = {new}']),
    "object": ("Box", "Box({0})", "H.v", ["H.v = {new}", "H = Box(o)"]),
    "tuple": ("Tuple[{0}, int]", "({0}, 1)", "H[0]", ["H = ({new}, 2)"]),
    "Optional": ("Optional[{0}]", "{0}", "H", ["H = None", "H = {new}"]),
}
PLACE = {
    "written, then changed": ["if c:", "    {write}", "    {change}"],
    "changed, then written": ["if c:", "    {change}", "    {write}"],
    "one branch each": ["if c:", "    {change}", "else:", "    {write}"],
    "loop": ["w = 0", "while w < k:", "    w += 1", "    {change}", "    {write}"],
    "loop, branches": ["w = 0", "while w < k:", "    w += 1", "    if d:", "        {change}", "    else:", "        {write}"],
    "loop, then": ["w = 0", "while w < k:", "    w += 1", "    {change}", "{write}"],
    "return": ["w = 0", "while w < k:", "    w += 1", "    {change}", "    if x.size(0) > 2:", "        return {read}", "    {write}"],
}


def held(kind, hold, change, place, name):
    type_, make, write, read = KINDS[kind]
    holder, hold_it, item, _ = HOLD[hold]
    new = make.format("(b + 3)")
    shows = ["either(H, o)" if hold == "Optional" else read.format(item), read.format("o")] + ["len(H)", read.format("H[0]")] * (hold in ("list", "two"))
    fill = {"new": new, "read": ", ".join(shows), "change": change.format(new=new), "write": write.format(item if name == "H" else "o")}
    lines = ["o = " + make.format("b"), "H: %s = %s" % (holder.format(type_), hold_it.format("o", new=new))]
    return written(kind, lines + [line.format(**fill) for line in PLACE[place] + ["return {read}"]])


def holders(kind):
    for hold in HOLD:
        for change, place, name in itertools.product(HOLD[hold][3], PLACE, ("o", "H")):
            if hold != "Optional" or name == "o":
                yield held(kind, hold, change, place, name)


@pytest.mark.parametrize("kind", ["tensor", "list", "longer", "dict", "object", "its tensor"])
def test_what_something_holds(kind, tmp_path):
    seen = check(holders(kind), tmp_path)
    assert seen["right"] >= 40


# ---- what must be right, not only not wrong ----

class Cell:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n


class GrowsAndIsWritten(torch.nn.Module):
    """The arm writes to an item of a list that it makes longer."""
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        cell, d, row = Cell(b, 1), {"a": b}, [b]
        cells, dicts, rows, pairs = [cell], [d], [row], [(row, 1)]
        if bool(x.sum() > 8):
            cell.t = b * 5
            cells.append(Cell(b, 2))
            d["a"] = b * 6
            dicts.append({"a": b})
            row[0] = b * 7
            rows.append([b])
            pairs.append(([b], 2))
        return cells[0].t, cells[-1].t, dicts[0]["a"] + len(dicts), rows[0][0] + len(rows), pairs[0][0][0], pairs[-1][1]


class ChosenAndWritten(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        row = [b]
        rows = [row]
        more = [row, [y]]
        if bool(x.sum() > 8):
            row[0] = b * 5
            rows = more
        return rows[0][0], rows[-1][0] + len(rows)


class BoundInALoop(torch.nn.Module):
    """Nothing is written once cell is another name of other."""
    def forward(self, x: Tensor, y: Tensor):
        cell, other = Cell(y, 1), Cell(y + 1, 2)
        other.t = other.t + 3
        w = 0
        while w < int(x.sum().item()) % 3:
            w += 1
            cell = other
        return cell.t + cell.n, other.t


@pytest.mark.parametrize("module", [GrowsAndIsWritten, ChosenAndWritten, BoundInALoop])
def test_is_right(module, tmp_path):
    same(module(), tmp_path, [(x.clone(), y.clone()) for x, y in random_programs.inputs()], *random_programs.SIZES)


class SetWhereLost(torch.nn.Module):
    """Nobody knows whether cell is other, which one branch writes: what cell.t is then nobody knows either."""
    def forward(self, x: Tensor, y: Tensor):
        cell = Cell(y, 1)
        other = cell
        if bool(x.sum() > 8):
            cell = Cell(y + 1, 2)
        if bool(y.sum() > 2):
            other.n = 5
        else:
            cell = Cell(y + 2, 2)
        cell.n = 4
        return cell.t


def test_an_attribute_that_is_set_where_the_object_is_lost(tmp_path):
    assert "what this object holds is not known" in refused(SetWhereLost(), tmp_path, *random_programs.SIZES)


# ---- a branch binds several names to one thing that it has made, and the other branch to several ----

HELD = {                            # how the second name has it, and how it is reached there
    "itself": ("{0}", "h"),
    "in a list": ("[{0}]", "h[0]"),
    "in a tuple": ("({0}, 1)", "h[0]"),
    "in a dict": ('{{"k": {0}}}', 'h["k"]'),
}
OTHERWISE = {"others": ["o = {first}", "h = {second}"], "longer": ["o = {first}", "h = {longer}"], "kept": [], "one kept": ["h = {second}"]}


def bound_in_a_branch(kind, held, otherwise, name):
    _, make, write, read = KINDS[kind]
    hold, at = HELD[held]
    first, second = make.format("(b + 3)"), hold.format(make.format("(b + 4)"))
    longer = "[%s, %s]" % (make.format("(b + 4)"), make.format("(b + 5)")) if held == "in a list" else second
    other = [line.format(first=first, second=second, longer=longer) for line in OTHERWISE[otherwise]] or ["pass"]
    lines = ["o = " + make.format("b"), "h = " + second, "if c:", "    m = " + make.format("(b + 2)"), "    o = m", "    h = " + hold.format("m"), "else:"]
    return written(kind, lines + ["    " + line for line in other] +
                   [write.format("o" if name == "o" else at), "return %s, %s" % (read.format("o"), read.format(at))])


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_branch_makes_has_two_names(kind, tmp_path):
    seen = check((bound_in_a_branch(kind, *at) for at in itertools.product(HELD, OTHERWISE, ("o", "h"))), tmp_path)
    assert seen["right"] + seen["refused"] == 32


class MaybeBoundTwice(torch.nn.Module):
    """Both are the new tensor, or both None: one tensor behind the branch too."""
    def forward(self, x: Tensor, y: Tensor):
        one: Optional[Tensor] = None
        other: Optional[Tensor] = None
        if bool(x.sum() > 8):
            made = x + 1
            one = made
            other = made
        if one is not None:
            one.mul_(2)
        result = y
        if other is not None:
            result = other
        return result


class UsedAlone(torch.nn.Module):
    """A write to what a branch has made is followed where it has one name."""
    def forward(self, x: Tensor, y: Tensor):
        if bool(x.sum() > 8):
            made = x + 1
            kept = (made, made * 2)
        else:
            kept = (x + 2, x)
        kept[0].mul_(2)
        return kept[0].sum() + kept[1].sum()


@pytest.mark.parametrize("module", [MaybeBoundTwice, UsedAlone])
def test_what_a_branch_makes_is_written_behind_it(module, tmp_path):
    same(module(), tmp_path, [(x.clone(), y.clone()) for x, y in random_programs.inputs()], *random_programs.SIZES)
