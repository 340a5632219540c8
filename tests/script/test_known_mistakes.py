"""Mistakes that are known and not mended yet, each by its smallest program; docs/limits.md names them too. Whoever mends one sees its test
pass, which fails the run: the program then moves to the tests of its subject, and its line leaves docs/limits.md and docs/zh-CN/limits.md."""
from typing import List

import pytest
import torch
from torch import Tensor, nn

from scripted import save
from test_state import steps

known = pytest.mark.xfail(strict=True, reason="docs/limits.md")


class AppendedAndWritten(nn.Module):
    """From the second run on the buffer is an item too, which a run writes to."""
    items: List[Tensor]

    def __init__(self):
        super().__init__()
        self.items = [torch.zeros(2), torch.ones(2)]
        self.register_buffer("kept", torch.ones(2))

    def forward(self, x):
        self.items.append(self.kept)
        self.kept.add_(x)
        return self.items[2].sum()


@known
@pytest.mark.parametrize("module", [AppendedAndWritten])
def test_runs(module, tmp_path):
    steps(save(module(), tmp_path), tmp_path, [(torch.tensor([1., 2.]),), (torch.tensor([1., 0.]),), (torch.tensor([2., 2.]),)], ("-i", "x:float32[2]"))
