"""Memory that may have another name, written by an iteration of a loop that ONNX runs: what it holds when the next one begins is not known. Reading
it is refused; an iteration that binds the name anew is right."""
from typing import Dict, List, Optional

import pytest
import torch
from torch import Tensor, nn

from scripted import refused, same

ROWS = ("-i", "x:float32[N,2]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 2) - 0.3,) for n in counts]


class BoundInABranch(nn.Module):
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        for i in range(x.size(0)):
            e = a
            if i == 1:
                e = torch.zeros(2)
            e.add_(1)
            s = s + e
        return s


class BoundBeforeTheLoop(nn.Module):
    def forward(self, x):
        a, b = x[0].clone(), x[0] * 2
        r = a
        if bool(x.sum() > 0):
            r = b
        for i in range(x.size(0)):
            a += r
        return a * 1


class WhileLoop(nn.Module):
    def forward(self, x):
        a, s = torch.ones(2), torch.zeros(2)
        i = 0
        while i < x.size(0):
            r = a if bool(x[i, 0] > 0) else torch.ones(2)
            r.mul_(2)
            s = s + a
            i += 1
        return s


class OneOfAPair(nn.Module):
    def forward(self, x):
        p, q, s = torch.zeros(2), torch.ones(2), torch.zeros(2)
        for i in range(x.size(0)):
            t = (p, q)[i % 2]
            t.add_(1)
            s = s + p - q * 2
        return s


class InAnOptional(nn.Module):
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        o: Optional[Tensor] = None
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0):
                o = a
            if o is not None:
                o.add_(1)
            s = s + a
        return s


class OneOfTwoViews(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, 2)
        s = torch.zeros(2)
        for i in range(x.size(0)):
            u = y[0] if bool(x[i, 0] > 0) else y[1]
            u.add_(1)
            s = s + y[0]
        return s


class ViewOrCopy(nn.Module):
    """Whether contiguous() copies only the running model knows."""
    def forward(self, x):
        y = x * 1
        s = x.sum() * 0
        for i in range(3):
            v = y.t().contiguous()
            v.add_(1)
            s = s + y.sum()
        return s


class ItemOfAList(nn.Module):
    def forward(self, x):
        l: List[Tensor] = []
        t, s = torch.zeros(2), torch.zeros(2)
        for i in range(x.size(0)):
            l.append(t)
            u = l[i]
            u.add_(1)
            s = s + u
        return s


class OneOfTwoLists(nn.Module):
    def forward(self, x):
        a: List[int] = [0]
        s = 0
        for i in range(x.size(0)):
            l = a
            if bool(x[i, 0] > 0):
                l = [5]
            l[0] = l[0] + 1
            s = s + a[0]
        return s


class OneOfTwoDicts(nn.Module):
    def forward(self, x):
        a: Dict[str, int] = {"k": 0}
        s = 0
        for i in range(x.size(0)):
            d = a
            if bool(x[i, 0] > 0):
                d = {"k": 5}
            d["k"] = d["k"] + 1
            s = s + a["k"]
        return s


class InvalidBefore(nn.Module):
    """Written under another name before the loop, and read in it."""
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        r = a
        if bool(x.sum() > 0):
            r = torch.ones(2)
        r.add_(1)
        for i in range(x.size(0)):
            s = s + a
            a.zero_()
        return s


class InTheInnerLoop(nn.Module):
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        for i in range(x.size(0)):
            for k in range(i):
                e = a
                if bool(x[k, 0] > 0):
                    e = torch.zeros(2)
                e.add_(1)
                s = s + e
        return s


@pytest.mark.parametrize("model", [BoundInABranch, BoundBeforeTheLoop, WhileLoop, OneOfAPair, InAnOptional, OneOfTwoViews, ItemOfAList, OneOfTwoLists,
                                   OneOfTwoDicts, InvalidBefore, InTheInnerLoop])
def test_what_the_next_iteration_may_not_read(model, tmp_path):
    told = refused(model(), tmp_path, *ROWS)
    assert "written" in told or "one and the same" in told, told


def test_an_unrolled_loop_that_is_kept(tmp_path):
    told = refused(ViewOrCopy(), tmp_path, *ROWS, "--loops=keep")
    assert "one of them was written" in told


class BoundAnew(nn.Module):
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        for i in range(x.size(0)):
            a = torch.zeros(2) + i
            e = a
            if bool(x[i, 0] > 0):
                e = torch.ones(2)
            e.add_(1)
            s = s + e
        return s


class NotReadAgain(nn.Module):
    def forward(self, x):
        a, s = torch.zeros(2), torch.zeros(2)
        for i in range(x.size(0)):
            e = torch.zeros(2) + i
            if bool(x[i, 0] > 0):
                e = torch.ones(2)
            e.add_(1)
            s = s + e
        return s + a


@pytest.mark.parametrize("model", [BoundAnew, NotReadAgain])
def test_is_right(model, tmp_path):
    same(model(), tmp_path, rows(1, 2, 3, 5), *ROWS)
