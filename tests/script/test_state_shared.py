"""State in one memory: what a run keeps under two names is one thing to the next run, and two inputs of the model. So it is refused where a run
writes to one of them in place. Beside it: a dict that a run puts in the place of another, and what a run sets without having looked."""
from typing import Dict, List, Optional

import onnx
import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, save
from test_state import ROWS, rows, steps


class Keeps(nn.Module):
    on: Optional[Tensor]
    hs: List[Tensor]
    ks: List[Tensor]
    d: Dict[str, Tensor]
    e: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.zeros(3))
        self.hs = [torch.ones(3), torch.zeros(3)]
        self.ks = [torch.zeros(3)]
        self.d = {"a": torch.ones(3)}
        self.e = {"a": torch.zeros(3)}
        self.on = None


class TwoItems(Keeps):
    def forward(self, x):
        self.hs[0].add_(1)
        out = self.hs[1] + x
        t = x[0] * 1
        self.hs = [t, t]
        return out


class ItemAndBuffer(Keeps):
    def forward(self, x):
        self.s.add_(1)
        out = self.hs[1] + self.s
        self.hs[1] = self.s
        return out


class PartOfAnother(Keeps):
    """Both are the same row of t."""
    def forward(self, x):
        self.hs[0].mul_(2)
        out = self.hs[0] + self.s
        t = x[:2] + 1
        self.hs[0] = t[0]
        self.s = t[0]
        return out


class InSomeTrips(Keeps):
    def forward(self, x):
        self.s.add_(1)
        out = self.hs[1] + self.s
        t = x[0] + 1
        self.hs[1] = t
        self.s = x[0] + 2
        if bool(x.sum() > 3):
            self.s = t
        return out


class TwoLists(Keeps):
    def forward(self, x):
        self.hs[0] = x[0]
        out = self.ks[0] + x
        self.ks = self.hs
        return out


class TwoDicts(Keeps):
    def forward(self, x):
        self.d["a"] = self.d["a"] + x[0]
        out = self.e["a"] + x
        if bool(x.sum() > 3):
            self.e = self.d
        return out


class InTwoRuns(Keeps):
    """The buffer is the item after a run, and e's item what the buffer was: after two it is the item too."""
    def forward(self, x):
        self.e["a"].copy_(x[0])
        self.e["a"] = self.s
        self.s = self.hs[0]
        return self.hs[0] + x


class InThreeRuns(Keeps):
    def forward(self, x):
        self.ks[0].add_(x[0])
        self.ks[0] = self.d["a"]
        self.d["a"] = self.s
        self.s = self.hs[0]
        return self.hs[0] + x


class InThreeRunsOfEqual(Keeps):
    """All three are zeros in the file, so b is as before after the first run: but the third run writes to what is a, b and c."""
    def __init__(self):
        super().__init__()
        for name in "abc":
            self.register_buffer(name, torch.zeros(3))

    def forward(self, x):
        self.c.add_(x[0])
        self.c = self.b
        self.b = self.a
        return self.a + self.b + x


@pytest.mark.parametrize("model", [TwoItems, ItemAndBuffer, PartOfAnother, InSomeTrips, TwoLists, TwoDicts, InTwoRuns, InThreeRuns, InThreeRunsOfEqual])
def test_two_names_of_what_a_run_writes_in_place(model, tmp_path):
    assert "after a run it is, or may be, the same as" in refused(model(), tmp_path, *ROWS)


class ItemOfAListThatGrows(Keeps):
    """From the second run on s is the first item, which a run writes to."""
    def forward(self, x):
        self.s.add_(x[0])
        self.hs.append(x[0])
        self.s = self.hs[0]
        return self.hs[0].sum()


class ItemOfAListThatGrowsInTwoRuns(Keeps):
    def __init__(self):
        super().__init__()
        self.register_buffer("c", torch.zeros(3))

    def forward(self, x):
        self.c.add_(x[0])
        self.hs.append(x[0])
        self.c = self.s
        self.s = self.hs[0]
        return self.hs[0].sum() + self.c.sum()


class AppendedAndWritten(Keeps):
    """From the second run on s is also the third item."""
    def forward(self, x):
        self.hs.append(self.s)
        self.s.add_(x[0])
        return self.hs[2].sum()


class WrittenAndAppended(Keeps):
    def forward(self, x):
        self.s.add_(x[0])
        out = self.hs[0].sum() + self.hs[1].sum()
        self.hs.append(self.s)
        return out


class AppendedPart(Keeps):
    def __init__(self):
        super().__init__()
        self.register_buffer("two", torch.zeros(2, 3))

    def forward(self, x):
        self.hs.append(self.two[1])
        self.two.add_(x[0])
        return self.hs[2].sum()


@pytest.mark.parametrize("model", [ItemOfAListThatGrows, ItemOfAListThatGrowsInTwoRuns, AppendedAndWritten, WrittenAndAppended, AppendedPart])
def test_an_item_of_a_list_that_grows(model, tmp_path):
    assert "after a run it is, or may be, the same as hs" in refused(model(), tmp_path, *ROWS)


class OneOfTwo(Keeps):
    """Only the running model knows to which of the two it writes."""
    def forward(self, x):
        r = self.s
        if bool(x.sum() > 2):
            r = self.hs[0]
        r.add_(1)
        return r + x


class OneOfTwoBySize(Keeps):
    def forward(self, x):
        r = self.s
        if x.size(0) > 3:
            r = x[0].clone()
        r.add_(1)
        return r + x


class ItemOfTheFile(Keeps):
    def forward(self, x):
        r = self.hs[x.size(0) % 2]
        r.add_(1)
        return r + x


class DictOfTwo(Keeps):
    def forward(self, x):
        d = self.d
        if bool(x.sum() > 2):
            d = self.e
        d["a"] = d["a"] + 1
        return x + 1


@pytest.mark.parametrize("model", [OneOfTwo, OneOfTwoBySize, ItemOfTheFile, DictOfTwo])
def test_state_that_may_have_been_written(model, tmp_path):
    assert "what it holds after a run is not known" in refused(model(), tmp_path, *ROWS)
    path, out = save(model(), tmp_path), tmp_path / "model.onnx"
    assert "dropped: the update of" in oracle.converted(path, out, *ROWS, "--state=constant").stderr


class CopyOfAnItemOfAListThatGrows(Keeps):
    def forward(self, x):
        self.s.add_(x[0])
        self.hs.append(x[0])
        self.s = self.hs[0].clone()
        return self.hs[0].sum() + self.s


class AppendedNotWritten(Keeps):
    """It grows by a buffer that no run writes to."""
    def forward(self, x):
        self.hs.append(self.s)
        return self.hs[0] + x + self.hs[-1]


class AppendedThenReplaced(Keeps):
    """The item is the buffer of before the run, which then is another tensor."""
    def forward(self, x):
        self.hs.append(self.s)
        self.s = self.s + x[0]
        return self.hs[-1] + x


class NothingInPlace(Keeps):
    def forward(self, x):
        out = self.hs[1] + self.hs[0] + self.s
        t = x[0] * 1
        self.hs = [t, t]
        self.s = t
        return out


class Cloned(Keeps):
    def forward(self, x):
        out = self.hs[1] + self.s
        self.hs[1] = self.s.clone()
        self.s.add_(x[0])
        return out


class MovesOn(Keeps):
    """What was written is kept under the other name alone."""
    def forward(self, x):
        self.s.add_(x[0])
        self.hs[0] = self.hs[0] + 1
        out = self.hs[1] + self.s + self.ks[0]
        self.hs[1] = self.s
        self.s = x[0] * 2
        self.ks = [self.hs[0], self.hs[1]][:1]
        return out


class ReplacedDict(Keeps):
    def forward(self, x):
        out = self.d["a"] + 1
        if bool(x.sum() > 3):
            self.d["a"] = out + 5
        else:
            self.d = {"a": out}
        return out, self.d["a"]


class ReplacedInTrips(Keeps):
    def forward(self, x):
        before = self.d
        for i in range(x.size(0)):
            self.d = {"a": self.d["a"] + x[i]}
        return before["a"], self.d["a"]


class SetUnlooked(Keeps):
    """Whether it was None before the run nobody asks."""
    def forward(self, x):
        if bool(x.sum() > 3):
            self.on = x + 1
        else:
            self.on = None
        held = self.on
        if held is not None:
            return held
        return x


class Swapped(Keeps):
    """Each holds what the other held: never one memory, whatever is written."""
    def forward(self, x):
        self.s.add_(x[0])
        first = self.hs[0]
        self.hs[0] = self.s
        self.s = first
        return self.hs[0] + x


class Shifted(Keeps):
    """What is new is written to, and so is what is old."""
    def forward(self, x):
        self.hs[1].add_(1)
        self.hs[1] = self.hs[0]
        self.hs[0] = self.s
        self.s = x[0] * 2
        self.s.add_(1)
        return self.hs[0] + self.hs[1] + x


@pytest.mark.parametrize("model", [CopyOfAnItemOfAListThatGrows, AppendedNotWritten, AppendedThenReplaced, Swapped, Shifted, NothingInPlace, Cloned, MovesOn, ReplacedDict, ReplacedInTrips, SetUnlooked])
def test_is_right(model, tmp_path):
    steps(save(model(), tmp_path), tmp_path, rows(2, 3, 2, 4), ROWS)


class SeenLate(Keeps):
    """That the model has state shows when all has run: data.pkl is read again then, and what shares its bytes found again."""
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3, 3))
        self.tied = self.w
        self.register_buffer("part", self.w.detach()[0])

    def forward(self, x):
        y = torch.tanh(torch.mm(x, self.w)) + torch.tanh(torch.mm(x, self.tied)) * self.part
        for _ in range(10):
            y = torch.tanh(torch.mm(y, self.w))
        self.s += y.sum()
        return y + self.s


def test_what_is_read_again_has_its_names(tmp_path):
    _, pairs = steps(save(SeenLate(), tmp_path), tmp_path, rows(2, 3), ROWS)
    assert set(pairs) == {"s"}
    assert sorted(i.name for i in onnx.load(str(tmp_path / "model.onnx")).graph.initializer if len(i.dims) > 0) == ["part", "w"]


class OtherKeys(Keeps):
    def forward(self, x):
        out = self.d["a"] + x
        if bool(x.sum() > 3):
            self.d = {"a": x[0], "b": x[1]}
        return out


class WrittenAndSmaller(Keeps):
    def forward(self, x):
        self.hs[0].add_(1)
        out = self.hs[0] + self.hs[1].sum()
        self.hs = [x[0, :2] * 1, x[0]]
        return out


@pytest.mark.parametrize("model, why", [(OtherKeys, "another dict after a run, with other keys"), (WrittenAndSmaller, "the model needs it to be")])
def test_what_is_refused(model, why, tmp_path):
    assert why in refused(model(), tmp_path, *ROWS)


class Turns(nn.Module):
    """What a run leaves lies in another order than what the file holds."""
    none: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(9.).view(3, 3))
        self.l = [torch.arange(9.).view(3, 3)]
        self.d = {"a": torch.arange(9.).view(3, 3)}
        self.none = None


class TurnsAndAsks(Turns):
    def forward(self, x):
        r = self.b.is_contiguous()
        self.b = (self.b + 1).t()
        return r


class TurnsAndReads(Turns):
    def forward(self, x):
        q = self.b.as_strided((3,), (1,), 0) * 1
        self.b = (self.b + 1).t()
        return q


class TurnsAndWrites(Turns):
    def forward(self, x):
        h = self.b * 1
        y = h.reshape(-1)
        y.add_(1)
        self.b = (self.b + 1).t()
        return h * 1


class TurnsUnlooked(Turns):
    def forward(self, x):
        r = self.b.is_contiguous()
        self.b = torch.mm(x.t(), x).t()
        return r


class TurnsAnItem(Turns):
    def forward(self, x):
        r = self.l[0].is_contiguous()
        self.l[0] = self.l[0].t() + 1
        return r


class TurnsAValue(Turns):
    def forward(self, x):
        r = self.d["a"].is_contiguous()
        self.d["a"] = self.d["a"].t() + 1
        return r


class TurnsWhatGrows(Turns):
    def forward(self, x):
        r = self.l[-1].is_contiguous()
        self.l.append(self.l[-1].t() + 1)
        return r


class TurnsWhatIsNone(Turns):
    def forward(self, x):
        none = self.none
        r = True
        if none is not None:
            r = none.is_contiguous()
        self.none = torch.mm(x.t(), x).t()
        return r


class TurnsBack(Turns):
    """The file holds a tensor that lies in another order, and a run leaves one that lies in order."""
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(9.).view(3, 3).t())

    def forward(self, x):
        r = self.b.is_contiguous()
        self.b = (self.b + 1).contiguous()
        return r


@pytest.mark.parametrize("model", [TurnsAndAsks, TurnsAndReads, TurnsAndWrites, TurnsUnlooked, TurnsAnItem, TurnsAValue, TurnsWhatGrows, TurnsWhatIsNone,
                                   TurnsBack])
def test_the_order_that_a_run_leaves_is_not_guessed(model, tmp_path):
    path = save(model(), tmp_path)
    if oracle.convert(path, tmp_path / "model.onnx", *ROWS).returncode == 0:
        with torch.jit.optimized_execution(False):
            steps(path, tmp_path, rows(3, 3, 3), ROWS)


class TurnsAndComputes(Turns):
    """Nothing hangs on the order."""
    def forward(self, x):
        y = torch.mm(x, self.b).reshape(-1) + self.l[0].flatten()[0] + self.d["a"].sum()
        self.b = (self.b + 1).t()
        self.l[0] = self.l[0].t() * 2
        self.d["a"] = self.d["a"].t() - 1
        return y


class LiesAsInTheFile(TurnsBack):
    """Each run leaves what lies as the file's tensor, in another order than that of its axes."""
    def forward(self, x):
        r = self.b.is_contiguous()
        q = self.b.stride(0)
        self.b = self.b + 1
        self.l[0] = self.l[0] * 2
        return q, r, self.l[0].is_contiguous()


@pytest.mark.parametrize("model", [TurnsAndComputes, LiesAsInTheFile])
def test_state_that_leaves_no_question_of_order(model, tmp_path):
    with torch.jit.optimized_execution(False):
        steps(save(model(), tmp_path), tmp_path, rows(3, 3, 3), ROWS)
