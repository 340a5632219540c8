"""Programs made at random (random_programs.py, random_maker.py): whatever is converted is right, at every opset. And what such programs have found,
made small. The long run: python tests/script/random_programs.py 0 10000 --form script"""
from typing import Dict, List, Optional

import pytest
import torch
from torch import Tensor

import random_programs
from scripted import refused, same

OPSETS = (11, 13, 18, 26)


@pytest.mark.parametrize("form, first", [("script", 0), ("script", 10), ("script", 20), ("script", 30), ("training", 0), ("decomposed", 0), ("core", 0)])
def test_right_or_refused(form, first, tmp_path):
    right = 0
    for seed in range(first, first + 10):
        text = random_programs.source(random_programs.make(seed, form), form != "script")
        try:
            random_programs.judge(text, form, str(tmp_path), [OPSETS[seed % 4]])
            right += 1
        except random_programs.Verdict as v:
            assert v.kind in ("torch", "refused"), "seed %d: %s" % (seed, v.text)
    assert right >= 3


# ---- what they have found ----

def runs():
    return [(x.clone(), y.clone()) for x, y in random_programs.inputs()]


SIZES = random_programs.SIZES


class InnerJoin(torch.nn.Module):
    """What the inner branch joins may be y: so may what the outer one joins."""
    def forward(self, x: Tensor, y: Tensor):
        b = y
        if bool(x.sum() > 8):
            b = b.clamp(-3.0, 3.0)
        elif bool(y.sum() > 2):
            b = b + 1
        y[3] = 5.0
        return b


class InnerJoinOfLists(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        xs = [1, 2]
        ys = xs
        if bool(x.sum() > 8):
            ys = [3, 4]
        elif bool(y.sum() > 2):
            ys = [5, 6]
        xs[0] = 7
        return ys[0]


class InnerJoinOfDicts(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        d: Dict[str, Tensor] = {"a": y}
        e = d
        if bool(x.sum() > 8):
            e = {"a": y + 1}
        elif bool(y.sum() > 2):
            e = {"a": y + 2}
        d["a"] = y + 3
        return e["a"]


@pytest.mark.parametrize("module", [InnerJoin, InnerJoinOfLists, InnerJoinOfDicts])
def test_what_an_inner_branch_joined_may_be_something_older(module, tmp_path):
    assert "one branch of an if" in refused(module(), tmp_path, *SIZES)


class StateByAnotherName(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.tensor([[1.0, 0.0, 2.0]] * 4))

    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        for i in range(x.size(0)):
            b = self.s
            self.s[0:1] += 1
        return b * 1


class ReturnFromInnerLoop(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        d: Dict[str, Tensor] = {"a": a}
        w = 0
        while w < int(y.sum().item()) % 4 and int(y.sum().item()) % 2 == 0:
            w += 1
            if bool((x > 2).any()):
                v = 0
                while v < 3 and bool((y > 0).any()):
                    v += 1
                    torch.add(a[1:], 1, out=a[1:])
                return d["b"] if "b" in d else d["a"]
        return d["b"] if "b" in d else d["a"]


class ReturnsInNoFirstTrip(torch.nn.Module):
    """The first iteration surely does not return: what a later one returns is found out then."""
    def forward(self, x: Tensor, y: Tensor):
        a = x[0] * 1
        xs = [a]
        for i in range(int(x.sum().item()) % 4):
            a = a + 1
            if bool(y.sum() > 2) and i == 2:
                return a * 1, len(xs), a + y
            xs.append(a)
        return a * 2, len(xs), xs[-1] - y


class ReturnsInTheFirstTripOnly(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        a = x[0] * 1
        for i in range(int(x.sum().item()) % 4):
            for j in range(int(y.sum().item()) % 3):
                a = a + 1
                if i == 0 and j == 1:
                    return a * 3, j
            a = a - y
        return a * 2, 7


@pytest.mark.parametrize("module", [ReturnsInNoFirstTrip, ReturnsInTheFirstTripOnly])
def test_a_loop_that_returns_only_in_some_trip(module, tmp_path):
    more = [(x + k, y + k % 2) for x, y in runs() for k in range(4)]
    same(module(), tmp_path, runs() + more, *SIZES)


@pytest.mark.parametrize("module", [StateByAnotherName, ReturnFromInnerLoop])
def test_memory_of_arms_that_have_ended_is_not_carried(module, tmp_path):
    same(module(), tmp_path, runs(), *SIZES)


class Holder:
    def __init__(self, t: Tensor):
        self.t = t


class LostInOneArm(torch.nn.Module):
    """From the second iteration on the write to a may be one to what the object holds."""
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        held = Holder(a)
        w = 0
        while w < 3 and bool(y.sum() < 5):
            w += 1
            if x.size(0) != 3:
                held.t = a.clamp(-3.0, 3.0)
            else:
                a.copy_(a.abs())
        return held.t


def test_a_write_in_one_arm_that_loses_a_value_of_the_loop(tmp_path):
    assert "what this tensor holds is not known" in refused(LostInOneArm(), tmp_path, *SIZES)


class OutOfAnotherSize(torch.nn.Module):
    """Behind the write to its last row nobody knows that a still has N rows, so out= may give it other memory, or not."""
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        xs = [a, a + 1]
        a[-1][-1][0:1] += 1
        if bool(x.sum() <= y.sum()):
            xs.append(a)
        torch.add(a, 1, out=a)
        return torch.stack(xs).sum(0)


def test_out_of_a_tensor_that_a_list_holds(tmp_path):
    assert "what this list holds is not known" in refused(OutOfAnotherSize(), tmp_path, *SIZES)


class ProvenInAnArm(torch.nn.Module):
    """n < 1 holds in the branch, and nowhere behind it."""
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        n = int(y.sum().item()) % 4
        if 1 > n and bool(y[0, 0] > 0):
            a = a + 1
        if 1 > n:
            a = a + 2
        return a


def test_what_is_proven_in_an_arm_is_forgotten_behind_it(tmp_path):
    same(ProvenInAnArm(), tmp_path, runs(), *SIZES)


class AnotherList(torch.nn.Module):
    """The list that xs was is joined, and so is what xs is."""
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        xs = [b, b + 1]
        d = {"a": b}
        if x.size(0) == 1:
            xs[0] = y
            xs = [b, d["a"]]
            b = b + 2
        d["a"] = xs[0]
        return xs[0] + 0, xs[1] + 0, b + 0, d["a"] + 0


def test_a_list_that_is_changed_and_then_replaced_in_one_arm(tmp_path):
    same(AnotherList(), tmp_path, runs(), *SIZES)


class Remainder(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        d: Dict[str, Tensor] = {"a": y}
        if int(y.sum().item()) % 3 == 0:
            y = y + 1
        else:
            for i in range(int(x.sum().item()) % 2 + 1):
                d["c"] = y
            y = y.abs()
        return y


class RemainderOfACount(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        n = 1
        d: Dict[str, Tensor] = {"a": y}
        for i in range(x.size(0) - 1):
            n = 2
        if n % 2 == 0:
            d["n"] = y
        return len(d), n


@pytest.mark.parametrize("module", [Remainder, RemainderOfACount])
def test_a_remainder_of_a_number_counts_nothing(module, tmp_path):
    """So neither of its values is the usual one."""
    done, _ = same(module(), tmp_path, runs(), *SIZES)
    assert "assumed" not in done.stderr


class LostAndReplaced(torch.nn.Module):
    """Where b is written nobody knows whether a is b, and nobody looks at a before it is something else."""
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        b = x + 1
        if bool(x.sum() > 8):
            if bool(y.sum() > 2):
                a = b
            b.add_(1)
        a = b + x
        return a, b


class LostAndReturned(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        b = x + 1
        if bool(x.sum() > 8):
            if bool(y.sum() > 2):
                a = b
            b.add_(1)
        return a, b


class LostInAList(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        a = x * 1
        b = x + 1
        xs = [b]
        if bool(x.sum() > 8):
            if bool(y.sum() > 2):
                a = b
            xs.append(a)
            b.add_(1)
        return xs[-1]


def test_what_is_lost_in_an_arm_is_refused_only_where_it_is_read(tmp_path):
    same(LostAndReplaced(), tmp_path, runs(), *SIZES)
    for module in (LostAndReturned, LostInAList):
        assert "what this tensor holds is not known" in refused(module(), tmp_path, *SIZES)


class GrownListInOneArm(torch.nn.Module):
    """zs may be xs, whose second item the same arm has written."""
    def forward(self, x: Tensor, y: Tensor):
        b = y * 1
        xs: List[Tensor] = [y, b]
        for i in range(int(x.sum().item()) % 4):
            xs = xs + [y]
        if bool(x.sum() > 8):
            zs = [y]
        else:
            b[0] = 2.0
            zs = xs
        return torch.stack(zs).sum(0), b


class GrownListBehindReturn(torch.nn.Module):
    """Only one branch has a list at all, and that one writes to an item of it."""
    def forward(self, x: Tensor, y: Tensor):
        b = y * 1
        n = 1
        xs: List[Tensor] = [y, b]
        for i in range(n):
            for j in range(int(x.sum().item()) % 4):
                xs = xs + [y]
                if bool((x[0] > 2).any()) and n == 3:
                    return y, b
            b[0] = 2.0
        return torch.stack(xs).sum(0), b


class GrownListInTheOtherArm(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y * 1
        xs: List[Tensor] = [y, b]
        for i in range(int(x.sum().item()) % 4):
            xs = xs + [y]
        zs = [y]
        if bool(x.sum() > 8):
            b[0] = 2.0
        else:
            zs = xs
        return torch.stack(zs).sum(0), b


def test_a_grown_list_is_lost_in_the_arm_that_writes_an_item(tmp_path):
    for module in (GrownListInOneArm, GrownListBehindReturn):
        assert "under several names, and one of them was written since" in refused(module(), tmp_path, *SIZES)
    same(GrownListInTheOtherArm(), tmp_path, runs(), *SIZES)


class InnerListChanges(torch.nn.Module):
    """ls[0] is xs, also after the iterations."""
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        xs: List[Tensor] = [b, b + 1]
        ls = [xs, [b]]
        w = 0
        while w < 3 and int(y.sum().item()) % 5 != w:
            w += 1
            ls.append([b])
            xs[0] = b * 2
        return len(ls), ls[0][0]


class InnerListOfTheSameLength(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        xs: List[Tensor] = [b, b + 1]
        ls = [xs, [b]]
        w = 0
        while w < 3 and int(y.sum().item()) % 5 != w:
            w += 1
            ls[1] = [b * 3]
            xs[0] = xs[0] * 2
        return ls[0][0], xs[0]


class InnerObject(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        held = Holder(b)
        cs = [held, Holder(b)]
        w = 0
        while w < 3 and int(y.sum().item()) % 5 != w:
            w += 1
            cs[0].t = held.t + 1
            cs.reverse()
        return cs[0].t, held.t


class InnerObjectOfGrowing(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        held = Holder(b)
        cs = [held]
        w = 0
        while w < 3 and int(y.sum().item()) % 5 != w:
            w += 1
            held.t = held.t + 1
            cs.append(cs[0])
        return cs[0].t


@pytest.mark.parametrize("module", [InnerListChanges, InnerObject, InnerObjectOfGrowing])
def test_what_a_carried_list_holds_may_have_another_name(module, tmp_path):
    refused(module(), tmp_path, *SIZES)


def test_a_list_in_a_list_whose_other_items_are_carried(tmp_path):
    """ls[0] is not carried, so it stays xs."""
    more = [(x, y + k) for x, y in runs() for k in range(5)]
    same(InnerListOfTheSameLength(), tmp_path, runs() + more, *SIZES)


class GrowsInOneArm(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        b = y + 1
        xs: List[Tensor] = [b.clone()]
        ls = [xs, [b]]
        if bool(b.sum() <= y.sum()):
            pass
        elif int(b.sum().item()) % 3 == 0:
            xs.extend([y, b - 2])
            ls.append([b])
        return ls[-1][-1]


def test_a_list_of_lists_that_grow_in_one_arm(tmp_path):
    same(GrowsInOneArm(), tmp_path, runs(), *SIZES)


class OptionalBesideReturn(torch.nn.Module):
    """The arm that returns never set o; the other gives what a loop has made of it."""
    def forward(self, x: Tensor, y: Tensor):
        o: Optional[Tensor] = None
        for i in range(x.size(0)):
            if bool(x.sum() > 30):
                return x
            for j in range(int(y.sum().item()) % 2, 3):
                o = x + 1
        if o is not None:
            return o
        return x


def test_an_optional_that_one_arm_never_set(tmp_path):
    same(OptionalBesideReturn(), tmp_path, runs(), *SIZES)


class ViewsInAList(torch.nn.Module):
    """One arm writes what the list's items look at, the other puts something else into the list."""

    def forward(self, x):
        y = x.clone()
        views, named = [y[0], y[1].view(-1), y[2:].t()], {"a": y[0], "b": y[1]}
        if bool(x.sum() > 0):
            y.mul_(2)
        else:
            views[0] = x[1] + 1
            named["b"] = x[0] - 1
        return y, views[0], views[1], views[2], named["a"], named["b"]


def test_views_in_a_list_of_memory_that_one_arm_writes(tmp_path):
    rows = torch.arange(12.0).reshape(4, 3)
    same(ViewsInAList(), tmp_path, [(rows + 1,), (-rows - 1,), (rows - 8,), (8 - rows,)], "-i", "x:float32[N,3]")
