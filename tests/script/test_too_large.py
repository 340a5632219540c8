"""Tensors that no memory holds: one line of text that names the line of the program, and something to try only where a machine may have as much."""
import pytest
import torch
from torch import nn

from scripted import oracle, save


class Filled(nn.Module):
    def forward(self, x):
        return x + torch.zeros([1 << 62]).sum()


class Counted(nn.Module):
    def forward(self, x):
        return x + torch.arange(0, 1 << 40)[0]


@pytest.mark.parametrize("module, line, remedy", [(Filled, "torch.zeros([1 << 62])", False), (Counted, "torch.arange(0, 1 << 40)", True)])
def test_the_line_is_named(module, line, remedy, tmp_path):
    done = oracle.convert(save(module(), tmp_path), tmp_path / "model.onnx", "-i", "x:float32[2]")
    assert done.returncode == 3 and not (tmp_path / "model.onnx").exists()
    assert "bytes of memory are over the limit" in done.stderr and line in done.stderr, done.stderr
    assert ("--limit heap=" in done.stderr) == remedy, done.stderr
