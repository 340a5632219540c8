"""Lists whose length ONNX decides: filled by a loop that stays, or longer after one branch of an if than after the other. What
another name of an item's memory writes must be seen in the list, or refused."""
import itertools
from typing import Dict, List, Optional

import numpy
import pytest
import torch
from torch import Tensor, nn

from random_programs import module_of
from scripted import oracle, refused, same, save

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
    """The item is this iteration's own, so the write behind append belongs to it."""
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


class AppendsAndRebinds(nn.Module):
    def forward(self, x):
        a = [x[0]]
        for i in range(x.size(0)):
            a.append(x[i])
            a = a + [x[i] * 2]
        return torch.stack(a)


class AnotherNameInTheFirstTrip(nn.Module):
    def forward(self, x):
        a = [x[0]]
        b = a
        for i in range(x.size(0)):
            a.append(x[i])
            a = a + [x[i] * 2]
        return torch.stack(b)


def test_a_list_that_each_trip_makes_anew(tmp_path):
    same(AppendsAndRebinds(), tmp_path, rows(2, 5, 1), *ROWS)
    assert "two lists are one and the same in some iterations" in refused(AnotherNameInTheFirstTrip(), tmp_path, *ROWS)


class InATuple(nn.Module):
    def forward(self, x):
        t = ([x[0]], 1)
        l = t[0]
        for i in range(x.size(0)):
            t[0].append(x[i])
            t = (t[0] + [x[i]], 2)
        return torch.stack(l), torch.stack(t[0])


class DictOfTheFirstTrip(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"h": torch.zeros(3)}
        e = d
        for i in range(x.size(0)):
            d["h"] = d["h"] + x[i]
            d = {"h": d["h"] * 0.5}
        return e["h"], d["h"]


class DictWrittenBehindTheLoop(nn.Module):
    """Without an iteration d is e."""
    def forward(self, x):
        d: Dict[str, Tensor] = {"h": torch.zeros(3)}
        e = d
        for i in range(x.size(0)):
            d = {"h": d["h"] * 0.5 + x[i]}
        if bool(x.sum() > 3):
            d["h"] = d["h"] + 1
        return e["h"], d["h"]


class DictThatIsOnlyRead(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"h": torch.zeros(3)}
        e = d
        for i in range(x.size(0)):
            d = {"h": d["h"] * 0.5 + x[i]}
        return e["h"], d["h"]


def test_other_names_of_what_each_trip_makes_anew(tmp_path):
    assert "two lists are one and the same in some iterations" in refused(InATuple(), tmp_path, *ROWS)
    for model in (DictOfTheFirstTrip(), DictWrittenBehindTheLoop()):
        assert "two dicts are one and the same in some iterations" in refused(model, tmp_path, *ROWS)
    same(DictThatIsOnlyRead(), tmp_path, rows(2, 5, 0), *ROWS)


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


# ---- longer after one branch ----

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
    """No list: two variables are one tensor from the second iteration on."""
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
    assert "what this list holds is not known" in refused(TwoNames(), tmp_path, *ROWS)


# ---- changed in other ways than by append ----

class Inserts(nn.Module):
    """Python clamps the place of insert, and counts from the end."""
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.insert(0, x[i])
            if i % 2 == 0:
                out.reverse()
            out.insert(-1, x[i] * 2)
            out.insert(i - 1, x[i] * 3)
        out.insert(100, x[0] * 7)
        out.insert(-100, x[0] * 9)
        return torch.stack(out)


class Queue(nn.Module):
    def forward(self, x):
        todo = [x[0], x[0] * 2]
        y = x[0]
        for i in range(x.size(0)):
            todo.append(x[i])
            if bool(x[i].sum() > 1.5):
                y = y * 0.5 + todo.pop(0)
            todo[0] = y
            todo[-1] = todo[-1] + y
        return torch.stack(todo), y


class NumbersInOrder(nn.Module):
    def forward(self, x):
        a: List[int] = []
        big: List[bool] = []
        for i in range(x.size(0)):
            a.append(int(x[i].argmax()))
            big.append(bool(x[i].max() > 0.5))
        b = sorted(a)
        c = a.copy()
        c.sort(reverse=True)
        a.reverse()
        d = a + [7, 1]
        d.remove(7)
        return (torch.tensor(a), torch.tensor(b), torch.tensor(c), torch.tensor(d), sum(a), max(b), min(b), 1 in a, 5 in a, a.count(0), a.index(b[0]),
                any(big), all(big))


class AsLongAsTheInput(nn.Module):
    def forward(self, x):
        a = [0] * x.size(0)
        for i in range(x.size(0)):
            a[i] = int(x[i].argmax()) + 1
        b = list(range(x.size(0)))
        for i in range(x.size(0)):
            b[i] += a[-1 - i]
        return torch.tensor(a), torch.tensor(b)


class Ring(nn.Module):
    """A list of fixed length, written at a place that only the model knows."""
    def forward(self, x):
        hs = [x[0] * 0, x[0] * 0, x[0] * 0]
        for i in range(x.size(0)):
            hs[i % 3] = x[i] + hs[(i + 1) % 3]
        return torch.stack(hs)


class PartOfList(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        k = int(x[0, 0] * 4)
        return torch.stack(a[:k] + [x[0]]), len(a[k:])


@pytest.mark.parametrize("opset", [11, 13, 18, 26])
@pytest.mark.parametrize("model", [Inserts, Queue, NumbersInOrder, AsLongAsTheInput, Ring, PartOfList])
def test_a_list_is_changed(model, opset, tmp_path):
    same(model(), tmp_path, rows(2, 5, 1), *ROWS, "--opset", str(opset))


class ShorterInOneArm(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        b = [x[0], x[0] - 1]
        last = x[0]
        if bool(x.sum() > 3):
            a = a[1:]
            b.clear()
        else:
            last = a.pop(0) * 2
            del a[0]
        b.append(last)
        return torch.stack(a), torch.stack(b)


class UntilEmpty(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        y = x[0]
        while len(a) > 0 and bool(y.sum() < 8):
            y = y + a[0]
            a = a[1:]
        return y, len(a)


class OldListOfOneArm(nn.Module):
    """Behind the branch b may be a: neither is written again."""
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        b = a
        if bool(x.sum() > 3):
            b = a[1:]
            a.append(x[0])
        else:
            b.append(x[0] - 1)
        return torch.stack(a), torch.stack(b)


class OnlyOneNameIsRead(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        b = a
        if bool(x.sum() > 3):
            b = a[1:]
        if bool(x.sum() > 2):
            b.append(x[0])
        return torch.stack(b)


@pytest.mark.parametrize("model", [ShorterInOneArm, UntilEmpty, OldListOfOneArm, OnlyOneNameIsRead])
def test_a_list_that_is_shorter_in_one_arm(model, tmp_path):
    same(model(), tmp_path, rows(1, 7, 2), *ROWS)


class WrittenUnderOneName(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        b = a
        if bool(x.sum() > 3):
            b = a[1:]
        b.append(x[0] * 3)
        return torch.stack(a), torch.stack(b)


class WrittenUnderTheOther(nn.Module):
    def forward(self, x):
        a = [x[0], x[0] * 2, x[0] + 3]
        b = a
        if bool(x.sum() > 3):
            b = [x[0]]
        a[0] = x[0] * 5
        return torch.stack(a), torch.stack(b)


@pytest.mark.parametrize("model", [WrittenUnderOneName, WrittenUnderTheOther])
def test_a_list_that_may_be_another_is_not_read_once_that_is_written(model, tmp_path):
    assert "two lists are one and the same after one branch" in refused(model(), tmp_path, *ROWS)


# ---- the last resort: a sequence ----

@torch.jit.script
class Crate:
    def __init__(self, x: Tensor):
        self.x = x
        self.n = 1


class OfObjectsAppendedToAgain(nn.Module):
    """What it holds nobody knows, nor that these are objects."""
    def forward(self, x):
        l = [Crate(x)]
        first = torch.jit.annotate(Optional[Crate], None)
        k = 0
        while k < 2 and x.size(0) > 2:
            k += 1
            if first is not None:
                l.append(first)
                first.n += 1
            if first is not None:
                l.append(first)
                first.n += 1
            if first is None:
                first = l[0]
        return x if first is None else first.x * first.n


def test_a_list_that_may_be_another_says_so_when_it_is_appended_to(tmp_path):
    assert "what this list holds is not known" in refused(OfObjectsAppendedToAgain(), tmp_path, *ROWS)


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
        return torch.cat(out), len(out)


class SizesAreRead(nn.Module):
    def forward(self, x):
        out: List[Tensor] = [x[0]]
        y = x[0].sum()
        for i in range(x.size(0)):
            y = y + out[-1].sum() + out[i // 2].size(0)
            out.append(x[i][x[i] > 0.5])
        return torch.cat(out[1:] + out[:1]), y


class SizesDifferByArm(nn.Module):
    def forward(self, x):
        out = [x]
        if bool(x.sum() > 3):
            out.append(x[:, :1])
        other = [x]
        if bool(x.sum() > 2):
            other = [x, x[:1], x[1:]]
        return torch.cat(out, 1), len(out), torch.cat(other, -2)


class Padded(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        rows: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i][x[i] > 0.5])
            rows.append(x[i:])
        return nn.utils.rnn.pad_sequence(out, batch_first=True, padding_value=-1.0), nn.utils.rnn.pad_sequence(rows)


@pytest.mark.parametrize("opset", [13, 18, 26])
@pytest.mark.parametrize("model", [ItemsDiffer, SizesDiffer, SizesAreRead, SizesDifferByArm, Padded])
def test_tensors_of_different_sizes_are_a_sequence(model, opset, tmp_path):
    _, found = same(model(), tmp_path, rows(2, 5, 1), *ROWS, "--opset", str(opset))
    assert "SequenceInsert" in found or "SequenceConstruct" in found


class RaggedInserts(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            v = x[i][x[i] > 0.5]
            out.insert(0, v)
            if i % 2 == 0:
                out.reverse()
            out.insert(-1, v * 2)
            out[i - 1] = v[:1]
            if i > 1:
                v = out.pop(0)
            out.insert(i - 1, v * 3)
        out.insert(100, x[0] * 7)
        out.insert(-100, x[0] * 9)
        return torch.cat(out)


def test_a_sequence_is_changed(tmp_path):
    same(RaggedInserts(), tmp_path, rows(2, 5, 1), *ROWS, "--opset", "14")


def test_control_flow_takes_sequences_from_opset_13_on(tmp_path):
    said = refused(SizesDiffer(), tmp_path, *ROWS, "--opset", "12")
    assert "Loop of a sequence" in said and "try: --opset 13" in said


def test_a_result_is_a_sequence(tmp_path):
    class Results(nn.Module):
        def forward(self, x):
            out: List[Tensor] = []
            for i in range(x.size(0)):
                out.append(x[i][x[i] > 0.5])
            return out
    path = tmp_path / "model.onnx"
    oracle.converted(save(Results(), tmp_path), path, *ROWS)
    oracle.check(path)
    for x, in rows(3, 1):
        got, = oracle.session(path).run(None, {"x": x.numpy()})
        oracle.compare(got, [v.numpy() for v in Results()(x)])


class Collapsed(nn.Module):
    """What a CTC decoder does with tolist()."""
    def forward(self, x):
        best: List[int] = x.argmax(1).tolist()
        high: List[float] = x.amax(1).tolist()
        out: List[int] = []
        for i, c in enumerate(best):
            if c == 0:
                continue
            if i > 0 and best[i - 1] == c:
                continue
            out.append(c)
        return torch.tensor(out), len(out), sum(high)


@pytest.mark.parametrize("opset", ["11", "26"])
def test_tolist_of_a_length_that_the_model_knows(opset, tmp_path):
    same(Collapsed(), tmp_path, rows(1, 3, 7), *ROWS, "--opset", opset)


class RanksDiffer(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i])
            out.append(x[i, 0])
        return out[0]


class BlocksOfList(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i])
        return torch.block_diag(out)


@pytest.mark.parametrize("model,why", [(RanksDiffer, "its items are not alike"),
                                       (BlocksOfList, "of a list whose length only the running model knows")])
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


class Sought(nn.Module):
    """What a list of a length that is known is searched for, or holds, only the running model knows."""
    def forward(self, x):
        n = x.size(0)
        m = int(x.sum().item())
        l = [3, m, 1, 3]
        floats = [2.0, float(x[0, 0].item())]
        found = int(n in l) + 2 * int(7 in l) + 4 * int(2 in [n, 5]) + 8 * int(0.5 in floats)
        k = l.index(3) + 10 * l.index(1)
        l.remove(1)
        if 3 in l and l.index(3) == 0:              # known
            k = k + 100 * [bool(m > 2), False].count(True)
        steps = [2, 4]
        for i in range(n):
            if k % 5 in steps:
                k = k + i
            k = k + 1
        return found, k, len(l), l.count(3), l[1]


def test_a_number_that_the_model_knows_is_sought(tmp_path):
    runs = [(torch.full((n, 3), v),) for n, v in ((1, 0.), (2, .5), (3, 1.), (5, 2.))]
    same(Sought(), tmp_path, runs, "-i", "x:float32[N,3]")


class Bools(nn.Module):
    """The loop carries the list, as its branches add different items."""
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 1.5):
                out.append(x[i] > 0.5)
            else:
                out.append(x[i] < 0.5)
        return out


@pytest.mark.parametrize("opset,op", [(12, "SplitToSequence"), (13, "Loop"), (18, "Loop")])
def test_bools_that_a_loop_has_grown_become_a_sequence_in_a_loop(opset, op, tmp_path):
    path = tmp_path / "model.onnx"
    oracle.converted(save(Bools(), tmp_path), path, *ROWS, "--opset", str(opset))
    oracle.check(path)
    graph = oracle.onnx.load(str(path)).graph
    assert graph.node[-1].op_type == op and graph.output[0].type.sequence_type.elem_type.tensor_type.shape.dim[0].dim_value == 3
    for x, in rows(3, 1):
        got, = oracle.session(path).run(None, {"x": x.numpy()})
        oracle.compare(got, [v.numpy() for v in Bools()(x)])


class Backwards(nn.Module):
    def forward(self, x):
        rows, n = [x[0]], [1]
        for i in range(x.size(0)):
            rows.append(x[i])
            n.append(i)
            rows = rows[::-1]
        part = rows[:0:-2]
        return torch.stack(rows), sum(n[3:0:-1]), sum(n[-1:-3:-1]), torch.stack(part)


def test_slices_that_walk_back(tmp_path):
    same(Backwards(), tmp_path, rows(2, 5, 1), *ROWS)


class ItemIsLost(nn.Module):
    """The list's item may be x or not, and x is written."""
    def forward(self, x):
        x = x * 1
        items = [x]
        if bool(x.sum() > 3):
            items = [x + 1]
        x.add_(1)
        return torch.cat(items)


def test_an_item_that_nobody_can_tell(tmp_path):
    assert "what this tensor holds is not known" in refused(ItemIsLost(), tmp_path, *ROWS)


class OfNothing(nn.Module):
    """A list that is empty still says what its items would be."""

    def forward(self, x):
        ints: List[int] = []
        bools: List[bool] = []
        floats: List[float] = []
        return x, torch.tensor(ints), torch.tensor(bools), torch.tensor(floats), torch.tensor([ints, ints])


def test_tensors_of_empty_lists(tmp_path):
    same(OfNothing(), tmp_path, [(torch.rand(2),)], "-i", "x:float32[N]")


# ---- slices, as Python cuts ----

BOUNDS = ("", *range(-4, 5))

SLICES = """
import torch
from torch import Tensor, nn
from typing import List

class Net(nn.Module):
    def forward(self, x: Tensor):
        l: List[int] = []
        for i in range(x.size(0)):
            l.append(i + 10)
        return {}
"""


def of_slices(tmp_path, slices):
    """A module that gives these slices of a list as long as its input."""
    return module_of(SLICES.format(", ".join(f"torch.tensor(l[{s}])" for s in slices)), tmp_path)


@pytest.mark.parametrize("step", ("", *range(-4, 0), *range(1, 5)))
def test_slices_are_those_of_python(step, tmp_path):
    slices = [f"{start}:{end}:{step}" for start, end in itertools.product(BOUNDS, BOUNDS)]
    path, out = save(of_slices(tmp_path, slices), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, *ROWS)
    for n in (0, 1, 2, 3, 5):
        l = [i + 10 for i in range(n)]
        wanted = [numpy.array(eval("l[%s]" % s, {"l": l}), "i8") for s in slices]
        oracle.run(out, [([numpy.zeros((n, 3), "f")], wanted)])


class SlicesAtOpenPlaces(nn.Module):
    """-n - 1 is before the first item; INT64_MAX is how TorchScript says that a bound is not given."""
    def forward(self, x):
        l: List[int] = []
        for i in range(x.size(0)):
            l.append(i + 10)
        n = int(x[:, 0].sum())
        return (torch.tensor(l[-x.size(0) - 1::-1]), torch.tensor(l[-x.size(0)::-1]), torch.tensor(l[n - 3::-1]),
                torch.tensor(l[n - 3:-2:-2]), torch.tensor([1, 2, 3][n - 5::-1]), torch.tensor(l[2:9223372036854775807:-1]),
                torch.tensor(l[9223372036854775807:1:-1]), torch.tensor(l[9223372036854775807:]))


def test_slices_back_from_an_open_place(tmp_path):
    same(SlicesAtOpenPlaces(), tmp_path, [(torch.ones(n, 3),) for n in range(7)], *ROWS)


# ---- NaN among the items ----

class LeastAndMost(nn.Module):
    def forward(self, x):
        l: List[float] = []
        for i in range(x.size(0)):
            l.append(float(x[i]))
        return min(l), max(l)


def test_nan_is_neither_less_nor_greater(tmp_path):
    nan, inf = float("nan"), float("inf")
    items = ([1, nan, 2], [nan, 1, 2], [2, nan, 1], [1, 2, nan], [nan, nan], [nan], [3], [inf, nan], [nan, -inf], [-inf, nan, inf],
             [5, 4, nan, 3, nan, 6])
    same(LeastAndMost(), tmp_path, [(torch.tensor(i, dtype=torch.float32),) for i in items], "-i", "x:float32[N]")
