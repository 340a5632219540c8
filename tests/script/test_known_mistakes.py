"""Mistakes that are known and not mended yet, each by its smallest program; docs/limits.md names them too. Whoever mends one sees its test
pass, which fails the run: the program then moves to the tests of its subject, and its line leaves docs/limits.md and docs/zh-CN/limits.md."""
from typing import List, Optional

import pytest
import torch
from torch import Tensor, nn

from scripted import same, save
from test_state import steps

known = pytest.mark.xfail(strict=True, reason="docs/limits.md")
OPEN = ("-i", "x:float32[N]")


class AppendedAndNamed(nn.Module):
    """From the first iteration on kept is the first item, which later ones write to."""
    def forward(self, x):
        found: List[Tensor] = []
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if kept is not None:
                kept.mul_(2)
            new = x + i
            found.append(new)
            if i == 0:
                kept = new
        return torch.stack(found).sum()


class ItemWrittenInALoop(nn.Module):
    """kept may be x, by way of a list and a place that only the running model knows."""
    def forward(self, x):
        found = [x, x + 1]
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if i == 0:
                kept = found[int(x[0])]
            elif kept is not None:
                kept.mul_(2)
        return x.sum()


@known
@pytest.mark.parametrize("module", [AppendedAndNamed, ItemWrittenInALoop])
def test_a_run(module, tmp_path):
    same(module(), tmp_path, [(torch.tensor([0., 1.]),)], *OPEN)


class ItemOfAListThatGrows(nn.Module):
    """From the second run on kept is the first item, which a run writes to."""
    items: List[Tensor]

    def __init__(self):
        super().__init__()
        self.items = [torch.zeros(2), torch.ones(2)]
        self.register_buffer("kept", torch.ones(2))

    def forward(self, x):
        self.kept.add_(x)
        self.items.append(x)
        self.kept = self.items[0]
        return self.items[0].sum()


@known
@pytest.mark.parametrize("module", [ItemOfAListThatGrows])
def test_runs(module, tmp_path):
    steps(save(module(), tmp_path), tmp_path, [(torch.tensor([1., 2.]),), (torch.tensor([1., 0.]),), (torch.tensor([2., 2.]),)], ("-i", "x:float32[2]"))
