"""Strings and members of enums that a branch or a loop of the model chooses."""
from enum import Enum
from typing import Dict, Optional

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import scripted
from scripted import oracle

torch.manual_seed(0)
ROWS = [(torch.rand(n, 4) + shift,) for n, shift in ((0, 0), (1, 0), (3, -0.7), (3, 0), (7, 0), (7, -0.5))]
SPEC = ("-i", "x:float32[N,4]")


class Mode(nn.Module):
    def forward(self, x):
        mode = "small"
        if bool(x.sum() > 3):
            mode = "big"
        elif bool(x.sum() < 0):
            mode = "negative"
        if mode == "small":
            return x + 1
        if mode != "big":
            return -x
        return x * 2


class Colour(Enum):
    RED = 1
    GREEN = 5
    BLUE = 7


class Members(nn.Module):
    def forward(self, x):
        c = Colour.RED
        if bool(x.sum() > 3):
            c = Colour.BLUE
        d = Colour.GREEN if bool(x.sum() < 0) else c
        y = x
        if d == Colour.BLUE:
            y = x * 2
        return y, c.value, d.value * 10, len(d.name)


class Machine(nn.Module):
    """A state machine: the state is a string."""
    def forward(self, x):
        state = "start"
        count = 0
        for i in range(x.size(0)):
            high = bool(x[i].sum() > 1.8)
            if state == "start":
                if high:
                    state = "in"
                    count += 1
            elif state == "in":
                if not high:
                    state = "out"
            elif high:
                state = "start"
        return count, state == "in", len(state)


class Looked(nn.Module):
    """Keys of dicts, members of lists, parts of other strings."""
    def forward(self, x):
        weights: Dict[str, float] = {"low": 0.5, "high": 2.0}
        rows: Dict[str, Tensor] = {"low": torch.zeros(4), "high": torch.ones(4)}
        level = "high" if bool(x.sum() > 3) else "low"
        known = level in ["high", "higher"]
        text = "level_" + level
        return x * weights[level] + rows[level], known, text.endswith("h"), text == "level_low", level.upper() > "I"


class Perhaps(nn.Module):
    def forward(self, x):
        kind: Optional[str] = None
        if bool(x.sum() > 3):
            kind = "big"
        elif bool(x.sum() < 0):
            kind = "negative"
        y = x
        if kind is not None:
            if kind == "big":
                y = x * 2
            else:
                y = -x
        return y


class Passed(nn.Module):
    """Through functions, tuples and nested branches."""
    def scale(self, x: Tensor, mode: str) -> Tensor:
        return x * 3 if mode == "b" else x * 5

    def forward(self, x):
        pair = ("a", 1)
        if bool(x.sum() > 0):
            if bool(x.sum() > 3):
                pair = ("b", 2)
            else:
                pair = ("c", 3)
        mode, n = pair
        return self.scale(x, mode), self.scale(x, "b"), n


class ByPlace(nn.Module):
    """An item of a list of strings, at a place that the running model knows."""
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        names = ["a", "b", "c", "a"]
        weights = {"a": 2.0, "b": 3.0, "c": 5.0}
        y = x
        for i in range(x.size(0) % 4):
            if names[i] == "a":
                y = self.a(y)
            elif names[-1 - i] != "c":
                y = self.b(y) + weights[names[i]]
        k = int(x.sum().item()) % 4
        return y, weights[names[k - 4]], names[k - 2] == "a"


class UntilOneIs(nn.Module):
    """What only some iteration of an inner loop does, and then leaves the function with nothing."""
    def note(self, seen: Dict[str, Tensor], x: Tensor):
        for i in range(3):
            if bool(x.sum() > i):
                return
            seen["a"] = seen["a"] + i + x

    def first(self, d: Dict[str, Tensor], k: int) -> Tensor:
        for key in ["c", "b", "a"]:
            if key in d and bool(d[key].sum() > k):
                return d[key] + 1
        return d["a"]

    def forward(self, x):
        seen = {"a": torch.zeros(4), "b": x.sum(0)}
        y = torch.zeros(4)
        for i in range(x.size(0)):
            self.note(seen, x[i])
            y = y + self.first(seen, i)
        return y, seen["a"]


@pytest.mark.parametrize("opset", ["11", "18", "26"])
@pytest.mark.parametrize("module", [Mode(), Members(), Machine(), Looked(), Perhaps(), Passed(), ByPlace(), UntilOneIs()], ids=lambda m: type(m).__name__)
def test_program(module, opset, tmp_path):
    scripted.same(module, tmp_path, ROWS, *SPEC, "--opset", opset)


class Returned(nn.Module):
    def forward(self, x):
        return "big" if bool(x.sum() > 3) else "small"


def test_a_result(tmp_path):
    oracle.converted(scripted.save(Returned(), tmp_path), tmp_path / "model.onnx", *SPEC)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    for x, in ROWS:
        assert session.run(None, {"x": x.numpy()})[0] == Returned()(x)


class ToAnOperator(nn.Module):
    def forward(self, x):
        mode = "tanh" if bool(x.sum() > 3) else "none"
        return torch.nn.functional.gelu(x, approximate=mode)


class InAList(nn.Module):
    def forward(self, x):
        names = ["a", "b" if bool(x.sum() > 3) else "c"]
        return x * names.index("b")


class AsKey(nn.Module):
    def forward(self, x):
        d = {"a": x}
        d["b" if bool(x.sum() > 3) else "a"] = x * 2
        return d["a"]


class Printed(nn.Module):
    """A text about it must not pass for one that is known."""
    def forward(self, x):
        mode = "b" if bool(x.sum() > 3) else "c"
        return x * len(str([mode]))


class Grows(nn.Module):
    def forward(self, x):
        s = ""
        for i in range(x.size(0)):
            s = s + "a"
        return len(s)


@pytest.mark.parametrize("module", [ToAnOperator(), InAList(), AsKey(), Printed(), Grows()], ids=lambda m: type(m).__name__)
def test_refused(module, tmp_path):
    said = scripted.refused(module, tmp_path, *SPEC)
    assert ("running model" in said or "not stable" in said) and "test_choice.py:" in said, said
