"""Objects, dicts and named tuples that a branch or a loop puts in the place of others: attribute by attribute."""
from typing import Dict, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import scripted
from test_state import steps

torch.manual_seed(0)
ROWS = [(torch.rand(n, 4) - 0.4,) for n in (0, 1, 3, 7)]
SPEC = ("-i", "x:float32[N,4]")


@torch.jit.script
class State:
    def __init__(self, h: Tensor, n: int):
        self.h = h
        self.n = n

    def step(self, x: Tensor) -> 'State':
        return State(torch.tanh(self.h + x), self.n + 1)


@torch.jit.script
class Pair:
    def __init__(self, a: State, b: State, name: str):
        self.a = a
        self.b = b
        self.name = name


class InALoop(nn.Module):
    """Bound to another object in one branch, changed in place in the other."""
    def forward(self, x):
        s = State(torch.zeros(4), 0)
        for i in range(x.size(0)):
            if float(x[i].sum()) > 0:
                s = s.step(x[i])
            else:
                s.n = s.n + 10
        return s.h, s.n


class InAnArm(nn.Module):
    def forward(self, x):
        s = State(torch.zeros(4), x.size(0))
        if bool(x.sum() > 0):
            s = State(x.sum(0), 5)
        else:
            s.n += 3
        s.n += 1
        return s.h, s.n


class Nested(nn.Module):
    """Objects in objects, of which a while loop exchanges one."""
    def forward(self, x):
        p = Pair(State(torch.zeros(4), 0), State(torch.ones(4), 100), "pair")
        i = 0
        while i < x.size(0) and float(p.a.h.sum()) < 1.5:
            p = Pair(p.a.step(x[i]), p.b, "pair")
            i += 1
        return p.a.h, p.a.n, p.b.n, len(p.name)


class Tuples(nn.Module):
    class Best(NamedTuple):
        row: Tensor
        at: int

    def forward(self, x):
        best = Tuples.Best(torch.zeros(4), -1)
        for i in range(x.size(0)):
            if bool(x[i].sum() > best.row.sum()):
                best = Tuples.Best(x[i], i)
        return best.row, best.at


class OldDict(nn.Module):
    """The dict from before, with what the branch wrote to it, or a new one."""
    def forward(self, x):
        d = {"a": x, "b": x + 1}
        if bool(x.sum() > 0):
            d = {"a": x * 2, "b": x * 3}
        else:
            d["b"] = x - 1
        return d["a"] + d["b"]


@pytest.mark.parametrize("opset", ["11", "18", "26"])
@pytest.mark.parametrize("module", [InALoop(), InAnArm(), Nested(), Tuples(), OldDict()], ids=lambda m: type(m).__name__)
def test_program(module, opset, tmp_path):
    scripted.same(module, tmp_path, ROWS, *SPEC, "--opset", opset)


# ---- the old object has another name ----

class KeptByArm(nn.Module):
    def forward(self, x):
        s = State(x, 0)
        t = s
        if bool(x.sum() > 0):
            s = State(x * 2, 5)
        s.n = 7
        return x * t.n


class KeptByLoop(nn.Module):
    def forward(self, x):
        s = State(torch.zeros(4), 0)
        t = s
        for i in range(x.size(0)):
            s.n = 7
            s = s.step(x[i])
        return s.h * t.n


class KeptDict(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": x}
        e = d
        if bool(x.sum() > 0):
            d = {"a": x * 2}
        d["a"] = x * 3
        return e["a"]


@pytest.mark.parametrize("module", [KeptByArm(), KeptByLoop(), KeptDict()], ids=lambda m: type(m).__name__)
def test_two_names(module, tmp_path):
    said = scripted.refused(module, tmp_path, *SPEC)
    assert "one and the same" in said and "test_objects.py:" in said, said


class OnlyRead(nn.Module):
    """As long as neither is written both may be read."""
    def forward(self, x):
        s = State(x, 3)
        t = s
        if bool(x.sum() > 0):
            s = State(x * 2, 5)
        return s.h + t.h * t.n + s.n


def test_two_names_that_are_read(tmp_path):
    scripted.same(OnlyRead(), tmp_path, ROWS, *SPEC)


# ---- as state ----

class Holds(nn.Module):
    """An attribute of the model is bound to another object in each run."""
    state: State

    def __init__(self):
        super().__init__()
        self.state = State(torch.zeros(4), 0)

    def forward(self, x):
        s = self.state
        if x.size(0) > 2:
            s = s.step(x[0])
        self.state = s.step(x.sum(0))
        return s.h, self.state.n


@pytest.mark.parametrize("opset", ["11", "18"])
def test_state(opset, tmp_path):
    _, pairs = steps(scripted.save(Holds(), tmp_path), tmp_path, ROWS[1:] + ROWS[1:], (*SPEC, "--opset", opset))
    assert set(pairs) == {"state.h", "state.n"}
