"""Lists whose length ONNX decides: filled by a loop that stays, or longer after one arm of a branch than after the other. What
another name of an item's memory writes must be seen in the list, or refused."""
from typing import Dict, List

import pytest
import torch
from torch import Tensor, nn

from scripted import refused, same

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


# ---- read where they are filled ----

class ReadsLast(nn.Module):
    def forward(self, x):
        out = [x[0]]
        for i in range(x.size(0)):
            out.append(out[-1] * 0.5 + x[i])
        return torch.stack(out)


class AppendsSometimes(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 1.5):
                out.append(x[i])
        return len(out), torch.cat(out + [x[0]])


class Numbers(nn.Module):
    """A greedy decoder's way to collect its tokens."""
    def forward(self, x):
        out: List[int] = []
        last = -1
        for i in range(x.size(0)):
            k = int(x[i].argmax())
            if k != last and k != 1:
                out.append(k)
            last = k
        return torch.tensor(out, dtype=torch.int64), len(out)


class NestedLoops(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            for j in range(x.size(1)):
                out.append(x[i, j] * x[j % x.size(0), i % x.size(1)])
        return torch.stack(out)


class StackOfItems(nn.Module):
    def forward(self, x):
        todo: List[Tensor] = [x[0]]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 1.5):
                todo.append(x[i])
            elif len(todo) > 1:
                todo.pop()
        return torch.stack(todo), todo[0]


class Rebinds(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out = out + [x[i] * 2]
        return torch.stack(out)


class LayersOfState(nn.Module):
    """The list keeps its length: each item is carried."""
    def forward(self, x):
        hs = [torch.zeros(3), torch.ones(3)]
        for i in range(x.size(0)):
            y = x[i]
            for k in range(2):
                hs[k] = torch.tanh(hs[k] + y)
                y = hs[k]
        return torch.stack(hs)


class DictOfState(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": torch.zeros(3), "b": torch.ones(3)}
        for i in range(x.size(0)):
            d["a"] = d["a"] + x[i]
        return d["a"] + d["b"]


class WritesNewItem(nn.Module):
    """The item is this trip's own, so the write behind append belongs to it."""
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = x[i] * 2
            out.append(h)
            h.add_(1)
        return torch.stack(out)


class KeepsClone(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h.add_(x[i])
            out.append(h.clone())
        return torch.stack(out), h


@pytest.mark.parametrize("opset", [11, 13, 18, 26])
@pytest.mark.parametrize("model", [ReadsLast, AppendsSometimes, Numbers, NestedLoops, StackOfItems, Rebinds, LayersOfState, DictOfState,
                                   WritesNewItem, KeepsClone])
def test_a_list_in_a_loop(model, opset, tmp_path):
    same(model(), tmp_path, rows(2, 5, 1), *ROWS, "--opset", str(opset))


def test_a_list_that_is_only_filled_is_a_scan_output(tmp_path):
    _, found = same(WritesNewItem(), tmp_path, rows(4, 1), *ROWS)
    assert "Concat" not in found


# ---- however deep they are ----

class Box:
    def __init__(self):
        self.items: List[Tensor] = []

    def add(self, x: Tensor):
        self.items.append(x)


class Shelf:
    def __init__(self):
        self.box = Box()


class DeepInObjects(nn.Module):
    def forward(self, x):
        s = Shelf()
        n = 0
        for i in range(x.size(0)):
            n += len(s.box.items)
            s.box.add(x[i])
        return n, torch.stack(s.box.items)


class DeepInLists(nn.Module):
    def forward(self, x):
        lists: List[List[Tensor]] = [[], []]
        n = 0
        for i in range(x.size(0)):
            lists[0].append(x[i])
            n += len(lists[0]) + len(lists[1])
        return n, torch.stack(lists[0])


class DeepInDicts(nn.Module):
    def forward(self, x):
        d: Dict[str, List[Tensor]] = {"a": [x[0]], "b": []}
        n = x[0]
        for i in range(x.size(0)):
            n = n + d["a"][-1]
            d["a"].append(x[i] + n)
        return n, torch.stack(d["a"])


@pytest.mark.parametrize("model", [DeepInObjects, DeepInLists, DeepInDicts])
def test_a_list_deep_inside_is_read_as_it_is(model, tmp_path):
    same(model(), tmp_path, rows(2, 5, 1), *ROWS)


# ---- longer after one arm ----

class LongerInOneArm(nn.Module):
    def forward(self, x):
        out = [x]
        if bool(x.sum() > 3):
            out.append(x * 2)
        return torch.cat(out)


class OwnListsOfArms(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 3):
            out = [x, x * 2]
        else:
            out = [x]
        out.append(x + 1)
        return torch.stack(out)


class NumbersOfArms(nn.Module):
    def forward(self, x):
        out = [1]
        if bool(x.sum() > 3):
            out.append(x.size(0))
        return torch.tensor(out), x


@pytest.mark.parametrize("model", [LongerInOneArm, OwnListsOfArms, NumbersOfArms])
def test_lists_of_different_length_after_the_arms(model, tmp_path):
    same(model(), tmp_path, rows(1, 7), *ROWS)


# ---- items that are written under another name ----

class ItemOfEachTrip(nn.Module):
    """All items are one tensor."""
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h += x[i]
            out.append(h)
        return torch.stack(out)


class ViewOfEachTrip(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h += x[i]
            out.append(h[0:2])
        return torch.stack(out)


class ItemOfTripBefore(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h.mul_(2)
            h = h + x[i]
            out.append(h)
        return torch.stack(out)


class ItemBehindLoop(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = h + x[i]
            out.append(h)
        h.mul_(2)
        return torch.stack(out)


class ThroughTheList(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = h + x[i]
            out.append(h)
        out[-1].mul_(2)
        return h


class ItemFromBefore(nn.Module):
    def forward(self, x):
        h = torch.zeros(3)
        out: List[Tensor] = [h]
        for i in range(x.size(0)):
            out.append(x[i] + 1)
        h.add_(1)
        return torch.stack(out)


class BaseOfItems(nn.Module):
    def forward(self, x):
        y = x + 0
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(y[i])
        y.mul_(2)
        return torch.stack(out)


class ItemOfAnArm(nn.Module):
    def forward(self, x):
        h = x + 1
        out = [x]
        if bool(x.sum() > 3):
            out.append(h)
        h.mul_(2)
        return torch.cat(out)


class VariableOfTripBefore(nn.Module):
    """No list: two variables are one tensor from the second trip on."""
    def forward(self, x):
        h = torch.zeros(3)
        before = torch.zeros(3)
        y = torch.zeros(3)
        for i in range(x.size(0)):
            h.mul_(2)
            y = y + before
            h = h + x[i]
            before = h
        return y


@pytest.mark.parametrize("model", [ItemOfEachTrip, ViewOfEachTrip, ItemOfTripBefore, ItemBehindLoop, ThroughTheList, ItemFromBefore, BaseOfItems,
                                   ItemOfAnArm, VariableOfTripBefore])
def test_an_item_written_under_another_name_is_refused(model, tmp_path):
    assert "one of them was written since" in refused(model(), tmp_path, *ROWS)
    if model is not ItemOfAnArm:
        same(model(), tmp_path, rows(4), "-i", "x:float32[4,3]")       # unrolled, it is known


class TwoNames(nn.Module):
    def forward(self, x):
        a: List[Tensor] = []
        b: List[Tensor] = []
        for i in range(x.size(0)):
            a = a + [x[i]]
            b = a
        a.append(x[0])
        return torch.stack(b)


def test_a_list_with_two_names_is_refused(tmp_path):
    assert "has two names" in refused(TwoNames(), tmp_path, *ROWS)


# ---- what cannot be stacked ----

class ItemsDiffer(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i, :1])
            out.append(x[i])
        return torch.cat(out)


class SizesDiffer(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i][x[i] > 0.5])
        return torch.cat(out)


class Inserts(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.insert(0, x[i])
            out.reverse()
        return torch.stack(out)


@pytest.mark.parametrize("model,why", [(ItemsDiffer, "not tensors or numbers of one type"), (SizesDiffer, "sizes differ from trip to trip"),
                                       (Inserts, "of a list whose length only the running model knows")])
def test_what_cannot_be_stacked_is_refused(model, why, tmp_path):
    assert why in refused(model(), tmp_path, *ROWS)


class IndexBySymbol(nn.Module):
    """A list of fixed length, an index that only the model knows."""
    def forward(self, x):
        parts = [x * 2, x + 1, -x]
        weights = [0.5, 2.0, 4.0]
        y = x
        for i in range(int((x.sum() * 0).item()) + 3):
            y = y + parts[i % 3] * weights[2 - i % 3]
        return y


def test_an_index_that_the_model_knows(tmp_path):
    same(IndexBySymbol(), tmp_path, rows(2, 3), *ROWS)
