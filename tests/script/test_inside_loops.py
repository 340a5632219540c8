"""What changes its kind inside a tuple, list, dict or object that a loop carries: another string, a value where None was."""
from typing import Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

from scripted import same

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


class StrInTuple(nn.Module):
    def forward(self, x):
        st = ("start", 0)
        for i in range(x.size(0)):
            if st[0] == "start":
                st = ("mid", 1)
            elif st[0] == "mid":
                st = ("end", st[1] + i)
        return st[1], st[0] == "end"


class StrInDict(nn.Module):
    def forward(self, x):
        d = {"mode": "a", "other": "z"}
        n = 0
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                d["mode"] = "b" if d["mode"] == "a" else "a"
            if d["mode"] == "b":
                n = n * 2 + 1
            else:
                n = n * 2
        return n, d["mode"] == "a", d["other"] == "z"


class StrInList(nn.Module):
    def forward(self, x):
        l = ["a", "b"]
        n = 0
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                t = l[0]
                l[0] = l[1]
                l[1] = t
            n = n * 2 + int(l[0] == "a")
        return n, l[1] == "a"


@torch.jit.script
class Machine:
    def __init__(self):
        self.state = "idle"
        self.n = 0
        self.best = torch.jit.annotate(Optional[Tensor], None)
    def step(self, x):
        if self.state == "idle":
            if bool(x[0] > 0.4):
                self.state = "busy"
        elif self.state == "busy":
            self.n += 1
            b = self.best
            self.best = x if b is None else torch.max(b, x)
            if bool(x[1] > 0.5):
                self.state = "done"


class InAnObject(nn.Module):
    def forward(self, x):
        m = Machine()
        for i in range(x.size(0)):
            m.step(x[i])
        b = m.best
        y = x[0] if b is None else b
        return m.n, m.state == "busy", m.state == "done", y


class NoneInTuple(nn.Module):
    def forward(self, x):
        t: Tuple[Optional[Tensor], int] = (None, 0)
        for i in range(x.size(0)):
            a = t[0]
            if a is None:
                t = (x[i], i)
            elif bool(x[i, 0] > 0.5):
                t = (a + x[i], i)
        a = t[0]
        return x[0] if a is None else a, t[1]


@pytest.mark.parametrize("opset", [11, 18, 26])
@pytest.mark.parametrize("model", [StrInTuple, StrInDict, StrInList, InAnObject, NoneInTuple])
def test_program(model, opset, tmp_path):
    same(model(), tmp_path, rows(1, 2, 5, 7), *ROWS, "--opset", str(opset))
