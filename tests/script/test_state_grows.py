"""State that gets more than the file has: keys of a dict, items of a list. A key is a value and whether it is there; a list is one tensor."""
from typing import Dict, List, Optional

import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, save
from test_state import ROWS, rows, state_of, steps


class KeyCache(nn.Module):
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
    def forward(self, x):
        if "k" in self.cache:
            k = torch.cat([self.cache["k"], x])
        else:
            k = x
        self.cache["k"] = k
        return k.sum(0), k.size(0), len(self.cache)


class TwoKeysGuarded(nn.Module):
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
    def forward(self, x):
        h = torch.zeros(3)
        c = torch.ones(3)
        if "h" in self.cache:
            h = self.cache["h"]
        if "c" in self.cache:
            c = self.cache["c"]
        c = c * 0.5 + x[0]
        h = torch.tanh(h + c)
        self.cache["h"] = h
        self.cache["c"] = c
        return h


class Sometimes(nn.Module):
    cache: Dict[int, Tensor]
    counts: Dict[str, int]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[int, Tensor], {})
        self.counts = {"a": 1}
    def forward(self, x):
        if bool(x.sum() > 4):
            self.cache[3] = x.sum(0)
        if bool(x.sum() > 6) and 3 in self.cache:
            self.cache.pop(3)
        n = 0
        if "b" in self.counts:
            n = self.counts["b"]
        self.counts["b"] = n + x.size(0)
        y = x.sum(0)
        if 3 in self.cache:
            y = y + self.cache[3]
        return y, len(self.cache), n


class Removes(nn.Module):
    counts: Dict[str, int]
    def __init__(self):
        super().__init__()
        self.counts = {"a": 1, "z": 4}
    def forward(self, x):
        n = self.counts["z"]
        if "a" in self.counts:
            n = n + self.counts["a"]
            if bool(x.sum() > 4):
                self.counts.pop("a")
            else:
                self.counts["a"] = n
        return n + len(self.counts) * 100


class Swaps(nn.Module):
    counts: Dict[str, int]
    def __init__(self):
        super().__init__()
        self.counts = {"a": 1}
    def forward(self, x):
        n = len(self.counts)
        if "a" in self.counts:
            del self.counts["a"]
            self.counts["b"] = 2
        return x * n


class History(nn.Module):
    tokens: List[int]
    def __init__(self):
        super().__init__()
        self.all = [torch.zeros(3)]
        self.tokens = torch.jit.annotate(List[int], [])
    def forward(self, x):
        self.all.append(x[0])
        self.tokens.append(int(x[0].argmax()))
        return torch.stack(self.all), torch.tensor(self.tokens), len(self.all)


class Window(nn.Module):
    h: List[Tensor]
    def __init__(self):
        super().__init__()
        self.h = torch.jit.annotate(List[Tensor], [])
    def forward(self, x):
        self.h.append(x.mean(0))
        if len(self.h) > 3:
            self.h.pop(0)
        return torch.stack(self.h).sum(0), len(self.h)


class Rebound(nn.Module):
    h: List[Tensor]
    def __init__(self):
        super().__init__()
        self.h = torch.jit.annotate(List[Tensor], [])
    def forward(self, x):
        y = x.sum(0)
        for t in self.h:
            y = y * 0.5 + t
        self.h = self.h + [x[0]]
        if len(self.h) > 2:
            self.h = self.h[1:]
        return y


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = [1.5, 2.5]
        self.f = [True]
    def forward(self, x):
        for i in range(x.size(0)):
            self.s.append(float(x[i, 0]))
            self.f.append(bool(x[i, 1] > 0.5))
        return sum(self.s), len(self.s), torch.tensor(self.f)


class Pos(nn.Module):
    pos: Optional[int]
    def __init__(self):
        super().__init__()
        self.pos = None
    def forward(self, x):
        p = self.pos
        if p is None:
            n = 0
        else:
            n = p
        self.pos = n + x.size(0)
        return n


class Unlooked(nn.Module):
    log: List[Tensor]
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
        self.log = torch.jit.annotate(List[Tensor], [])
    def forward(self, x):
        self.cache["k"] = x
        self.log.append(x.sum())
        return self.cache["k"] * 2


class FirstOnly(nn.Module):
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
    def forward(self, x):
        first = "k" not in self.cache
        self.cache["k"] = x
        return self.cache["k"] * 2, first


class InPlaceItem(nn.Module):
    h: List[Tensor]
    def __init__(self):
        super().__init__()
        self.h = torch.jit.annotate(List[Tensor], [])
    def forward(self, x):
        t = x[0] * 1
        self.h.append(t)
        t.add_(1)
        return torch.stack(self.h)


def both(name):
    return {name, name + ".is_set"}


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("model, names", [(KeyCache, both("cache.k")), (TwoKeysGuarded, both("cache.h") | both("cache.c")), (Sometimes, both("cache.3") | both("counts.b")),
                                          (Removes, both("counts.a")), (Swaps, {"counts.a.is_set"} | both("counts.b")), (History, {"all", "tokens"}), (Window, {"h"}),
                                          (Rebound, {"h"}), (Scores, {"s", "f"}), (Pos, both("pos")), (Unlooked, {"log"}), (FirstOnly, {"cache.k.is_set"}),
                                          (InPlaceItem, {"h"})])
def test_state_fed_back(model, names, opset, tmp_path):
    _, pairs = steps(save(model(), tmp_path), tmp_path, rows(2, 3, 1, 5, 4, 2), (*ROWS, "--opset", str(opset)))
    assert set(pairs) == names


@pytest.mark.parametrize("model", [KeyCache, History])
def test_state_that_a_run_before_saving_has_set(model, tmp_path):
    module = torch.jit.script(model())
    module(rows(3)[0][0])
    torch.jit.save(module, str(tmp_path / "model.pt"))
    steps(tmp_path / "model.pt", tmp_path, rows(2, 1, 3), ROWS)


@pytest.mark.parametrize("model", [KeyCache, History, Sometimes])
def test_state_that_is_dropped_or_refused(model, tmp_path):
    done = oracle.converted(save(model(), tmp_path), tmp_path / "model.onnx", *ROWS, "--state=constant")
    assert "the update of" in done.stderr and not state_of(tmp_path / "model.onnx")
    assert "the model changes its own state" in refused(model(), tmp_path, *ROWS, "--state=refuse")


# ---- what no file could hold, or nobody knows ----


class TwoKeys(nn.Module):
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
    def forward(self, x):
        if "h" not in self.cache:
            self.cache["h"] = torch.zeros(3)
            self.cache["c"] = torch.ones(3)
        h = self.cache["h"]
        c = self.cache["c"]
        c = c * 0.5 + x[0]
        h = torch.tanh(h + c)
        self.cache["h"] = h
        self.cache["c"] = c
        return h


class InPlaceOld(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = [torch.zeros(3)]
    def forward(self, x):
        self.h.append(x[0] * 1)
        self.h[0].add_(1)
        return torch.stack(self.h)


class RaggedHistory(nn.Module):
    h: List[Tensor]
    def __init__(self):
        super().__init__()
        self.h = torch.jit.annotate(List[Tensor], [])
    def forward(self, x):
        self.h.append(x)
        return torch.cat(self.h)


class Iter(nn.Module):
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Tensor], {})
    def forward(self, x):
        y = x.sum(0)
        for k, v in self.cache.items():
            y = y + v
        self.cache["k"] = x.sum(0)
        return y


class NestedDict(nn.Module):
    cache: Dict[str, Dict[str, Tensor]]
    def __init__(self):
        super().__init__()
        self.cache = torch.jit.annotate(Dict[str, Dict[str, Tensor]], {})
    def forward(self, x):
        y = x.sum(0)
        if "a" in self.cache:
            y = y + self.cache["a"]["k"]
        self.cache["a"] = {"k": y}
        return y


@pytest.mark.parametrize("model, why", [(TwoKeys, "nothing has asked"), (InPlaceOld, "state of their own"), (RaggedHistory, "a size of its items is dynamic"),
                                        (Iter, "what keys it has"), (NestedDict, "Dict after a run")])
def test_what_cannot_be_an_input_is_refused(model, why, tmp_path):
    said = refused(model(), tmp_path, *ROWS)
    assert why in said and "try:" in said
