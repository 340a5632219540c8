"""sort() and sorted() of numbers and tuples that only the running model knows: pairs of a score and a place."""
from typing import List, Tuple

import pytest
import torch
from torch import Tensor, nn

from scripted import refused, same

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


class SortedTuples(nn.Module):
    def forward(self, x):
        items: List[Tuple[float, int]] = []
        for i in range(x.size(0)):
            items.append((float(x[i, 0]), i))
        items.sort()
        n = 0
        for s, i in items:
            n = n * 5 + i
        items.sort(reverse=True)
        for s, i in items:
            n = n * 3 + i
        return n, len(items)


class Ties(nn.Module):
    """Equal first items: the second decides."""
    def forward(self, x):
        items: List[Tuple[int, int, float]] = []
        for i in range(x.size(0)):
            items.append((int(x[i].argmax()), -i, float(x[i, 1])))
        s = sorted(items)
        r = items.copy()
        r.sort(reverse=True)
        n = 0
        for i in range(len(items)):
            n = n * 7 + items[i][1] + 2 * s[i][1] + 3 * r[i][1] + s[i][0]
        return n


class NestedTuples(nn.Module):
    def forward(self, x):
        items: List[Tuple[Tuple[bool, int], int]] = []
        for i in range(x.size(0)):
            items.append(((bool(x[i, 0] > 0.5), int(x[i].argmax())), i))
        items.sort()
        n = 0
        for k, i in items:
            n = n * 5 + i
        return n


class OfOpenBoxes(nn.Module):
    def forward(self, x):
        found: List[Tuple[float, int]] = []
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                found.append((-float(x[i, 0]), i))
        found.sort()
        n = 0
        for s, i in found:
            n = n * 5 + i
        return n, len(found)


class SortTwoNames(nn.Module):
    def forward(self, x):
        items: List[Tuple[float, int]] = []
        other = items
        for i in range(x.size(0)):
            items.append((float(x[i, 0]), i))
        before = items.copy()
        items.sort()
        return other[0][1], before[0][1]


# ---- lists whose length is known ----

class ThreeOfArms(nn.Module):
    def forward(self, x):
        items = [(float(x[0, 0]), 0, "a"), (float(x[0, 1]), 1, "a"), (float(x[0, 2]), 2, "a")]
        items.sort(reverse=True)
        a, b, c = items
        return items[0][1], items[2][0], b[1]


class KnownAndNot(nn.Module):
    def forward(self, x):
        items = [int(x[0, 0] * 10), int(x[0, 1] * 10), 5]
        other = items
        items.sort()
        s = sorted([float(x[0, 0]), 0.5, float(x[0, 1])])
        sizes = [x.size(0), 3, 2]
        sizes.sort()
        return items[0], s[2], other[1], sizes[1]


class TopOfArm(nn.Module):
    def forward(self, x):
        items = [(float(x[0, 0]), 0), (float(x[0, 1]), 1)]
        if bool(x.sum() > 3):
            items.sort()
        return items[0][1], items[0][0]


@pytest.mark.parametrize("opset", [11, 26])
@pytest.mark.parametrize("model, counts", [(SortedTuples, (0, 1, 2, 5, 7)), (Ties, (0, 1, 2, 5, 7)), (NestedTuples, (0, 1, 5, 7)), (OfOpenBoxes, (0, 1, 5, 7)),
                                           (SortTwoNames, (1, 2, 7)), (ThreeOfArms, (1, 4)), (KnownAndNot, (1, 2, 5)), (TopOfArm, (1, 2, 7))])
def test_program(model, counts, opset, tmp_path):
    same(model(), tmp_path, rows(*counts), *ROWS, "--opset", str(opset))


class WithTensors(nn.Module):
    def forward(self, x):
        items: List[Tuple[float, Tensor]] = []
        for i in range(x.size(0)):
            items.append((float(x[i, 0]), x[i]))
        items.sort()
        return items[0][1]


def test_tensors_have_no_order(tmp_path):
    assert "sort pairs of a number and the place in the list" in refused(WithTensors(), tmp_path, *ROWS)
