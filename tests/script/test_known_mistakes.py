"""Mistakes that are known and not mended yet, each by its smallest program; docs/limits.md names them too. Whoever mends one sees its test
pass, which fails the run: the program then moves to the tests of its subject, and its line leaves docs/limits.md and docs/zh-CN/limits.md."""
import pytest
import torch

from scripted import save
from test_state import steps

known = pytest.mark.xfail(strict=True, reason="docs/limits.md")


@known
@pytest.mark.parametrize("module", [])
def test_runs(module, tmp_path):
    steps(save(module(), tmp_path), tmp_path, [(torch.tensor([1., 2.]),), (torch.tensor([1., 0.]),), (torch.tensor([2., 2.]),)], ("-i", "x:float32[2]"))
