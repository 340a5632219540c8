"""Dicts of which only the running model knows what keys they have: one branch of an if sets a key, or some iteration of a loop. Looked up where a
condition asks; what goes through all keys is refused, and so is the order that nobody knows."""
from typing import Dict

import pytest
import torch
from torch import Tensor, nn

from scripted import refused, same

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


class KeyOfOneArm(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": x}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        if "b" in d:
            y = d["b"]
        else:
            y = d["a"]
        return y, len(d)


class SetLater(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        if "b" not in d:
            d["b"] = x - 1
        return d["b"], len(d)


class AndFlag(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        y = x
        if "b" in d and bool(x[0, 0] > 0.3):
            y = d["b"]
        return y


class Gets(nn.Module):
    def forward(self, x):
        d: Dict[int, Tensor] = {}
        if bool(x.sum() > 3):
            d[4] = x * 2
        v = d.get(4)
        if v is not None:
            y = v + 1
        else:
            y = x
        return y


class Removes(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {"a": 1, "b": 2}
        if bool(x.sum() > 3):
            d.pop("a")
        n = 0
        if "a" in d:
            n = d["a"]
        return n + len(d) * 10


class OwnDicts(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 3):
            d = {"a": x, "b": x * 2}
        else:
            d = {"a": x * 3}
        y = d["a"]
        if "b" in d:
            y = y + d["b"]
        return y


class InALoop(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                if "s" in d:
                    d["s"] = d["s"] + x[i]
                else:
                    d["s"] = x[i]
        y = x[0]
        if "s" in d:
            y = d["s"]
        return y, len(d)


class LoopSets(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": x[0]}
        for i in range(x.size(0)):
            d["b"] = d["a"] + x[i]
            d["a"] = d["b"] * 0.5
        y = x[0]
        if "b" in d:
            y = d["b"]
        return y, d["a"], len(d)


class LoopRemoves(nn.Module):
    def forward(self, x):
        d: Dict[int, Tensor] = {1: x[0], 2: x[0] * 2}
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                if 1 in d:
                    d.pop(1)
            if 2 in d:
                d[2] = d[2] + 1
        y = x[0]
        if 1 in d:
            y = y + d[1]
        return y, len(d), d[2]


class LoopInsideArm(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 2):
            for i in range(x.size(0)):
                d["k"] = x[i]
        while len(d) < 1:
            d["j"] = x[0]
        y = x[0]
        if "k" in d:
            y = y + d["k"]
        if "j" in d:
            y = y * d["j"]
        return y


class LoopLen(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {}
        n = 0
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                d["a"] = 1
            if bool(x[i, 1] > 0.5):
                d["b"] = i
            n = n * 3 + len(d)
        return n


class Nested(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x[0, 0] > 0.2):
            if bool(x[0, 1] > 0.3):
                d["k"] = x
            else:
                d["m"] = x * 2
        else:
            d["m"] = x * 5
        e = d.copy()
        d.clear()
        y = x
        if "k" in e:
            y = e["k"] + 1
        if "m" in e:
            y = y + e["m"]
        return y, len(e), len(d)


class OrderKept(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {"z": 1, "y": 3}
        if bool(x.sum() > 3):
            d["a"] = 2
        d["a"] = 5
        n = 0
        for k, v in d.items():
            n = n * 10 + v
        return n


class AfterOtherWrite(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        asked = "b" in d
        d.clear()
        y = x
        if asked:
            if "b" in d:
                y = d["b"]
        return y


@pytest.mark.parametrize("opset", [11, 13, 18, 26])
@pytest.mark.parametrize("model", [KeyOfOneArm, SetLater, AndFlag, Gets, Removes, OwnDicts, InALoop, LoopSets,
                                   LoopRemoves, LoopInsideArm, LoopLen, Nested, OrderKept, AfterOtherWrite])
def test_program(model, opset, tmp_path):
    same(model(), tmp_path, rows(1, 2, 5, 7), *ROWS, "--opset", str(opset))


class Unasked(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        return d["b"]


class AskedElsewhere(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        e = {"b": x}
        y = x
        if "b" in e:
            y = d["b"]
        return y


class StaleAsked(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        asked = "b" in d
        if bool(x[0, 0] > 0.5):
            d.clear()
        y = x
        if asked:
            y = d["b"]
        return y


class Iterates(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": x}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        y = x
        for k, v in d.items():
            y = y + v
        return y


class OrderOpen(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {}
        if bool(x.sum() > 3):
            d["a"] = 2
        d["b"] = 3
        d["a"] = 5
        n = 0
        for k, v in d.items():
            n = n * 10 + v
        return n


class OrderOpen2(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {}
        if bool(x.sum() > 3):
            d["a"] = 2
            d["b"] = 3
        else:
            d["b"] = 4
            d["a"] = 1
        n = 0
        for k, v in d.items():
            n = n * 10 + v
        return n


class LoopOrder(nn.Module):
    def forward(self, x):
        d: Dict[str, int] = {}
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                d["a"] = 1
            else:
                d["b"] = 2
        n = 0
        for k, v in d.items():
            n = n * 10 + v
        return n


class Returned(nn.Module):
    def forward(self, x):
        d = {"a": x}
        if bool(x.sum() > 3):
            d["b"] = x * 2
        return d


@pytest.mark.parametrize("model, why", [(Unasked, "nothing has asked"), (AskedElsewhere, "nothing has asked"), (StaleAsked, "nothing has asked"),
                                        (Iterates, "items of a dict"), (OrderOpen, "or their order"), (OrderOpen2, "or their order"),
                                        (LoopOrder, "or their order"), (Returned, "what keys it has")])
def test_what_is_not_known_is_refused(model, why, tmp_path):
    said = refused(model(), tmp_path, *ROWS)
    assert why in said and "try:" in said


class WrittenAndReplaced(nn.Module):
    """Nobody looks at the dict that an iteration has written, once the iteration has put a new one in its place."""
    def forward(self, x):
        d: Dict[str, int] = {"a": 1}
        for i in range(x.size(0)):
            d["a"] += i
            d = {"a": i + d["a"]}
        return d["a"]


def test_a_dict_that_is_written_and_replaced_in_each_trip(tmp_path):
    same(WrittenAndReplaced(), tmp_path, rows(2, 5, 0), *ROWS)


class WrittenOfTheFirstArm(nn.Module):
    def forward(self, x):
        a: Dict[str, Tensor] = {"x": x[0], "y": x[0] * 2}
        if bool(x.sum() > 3):
            b = a
        else:
            b = {"x": x[0] + 1, "y": x[0]}
        b["x"] = x[0] * 3
        return a["x"], b["x"]


class WrittenOfTheSecondArm(nn.Module):
    def forward(self, x):
        a: Dict[str, Tensor] = {"x": x[0], "y": x[0] * 2}
        if bool(x.sum() > 3):
            b = {"x": x[0] + 1, "y": x[0]}
        else:
            b = a
        b["x"] = x[0] * 3
        return a["x"], b["x"]


@pytest.mark.parametrize("model", [WrittenOfTheFirstArm, WrittenOfTheSecondArm])
def test_a_dict_that_may_be_another_is_not_read_once_that_is_written(model, tmp_path):
    assert "two dicts or objects are one and the same after one branch" in refused(model(), tmp_path, "-i", "x:float32[N,3]")
