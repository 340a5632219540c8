"""Pools over images that the program pads itself, windows of which all is -infinity, and grids over an open size that turns out 1."""
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scripted import same

AVERAGES = {
    "as wide as the window": lambda x: F.avg_pool2d(F.pad(x, (2, 2, 2, 2)), 2),
    "on some sides": lambda x: F.avg_pool2d(F.pad(x, (1, 0, 2, 1)), 2),
    "ceil_mode": lambda x: F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2, 1, True),
    "its own padding": lambda x: F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2, 1, False, False),
    "narrow": lambda x: F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 1),
}


class Average(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.pool = torch.jit.trace(pool, (torch.rand(2, 6, 7, 8),))

    def forward(self, x):
        return self.pool(x)


@pytest.mark.parametrize("opset", ["18", "23"])
@pytest.mark.parametrize("pool", AVERAGES)
def test_averages_over_padded_zeros(pool, opset, tmp_path):
    """ONNX Runtime's Pad_Fusion makes the zeros padding of the pool, where it may not have it."""
    for spec in ("x:float32[2,6,7,8]", "x:float32[N,6,H,W]"):
        same(Average(AVERAGES[pool]), tmp_path, [(torch.randn(2, 6, 7, 8),)], "-i", spec, "--opset", opset)


class Masked(nn.Module):
    def forward(self, x):
        return F.adaptive_max_pool1d(x, 3, return_indices=True)


def test_places_in_windows_of_infinity(tmp_path):
    lowest = torch.full((1, 1, 4), float("-inf"))
    some = torch.rand(1, 1, 7)
    some[0, 0, 4:] = float("-inf")
    same(Masked(), tmp_path, [(lowest,), (some,)], "-i", "x:float32[1,1,N]")


class Reflected(nn.Module):
    def forward(self, x, grid):
        return F.grid_sample(x, grid, padding_mode="reflection", align_corners=True)


@pytest.mark.parametrize("opset", ["11", "18"])
def test_a_grid_over_one_pixel(opset, tmp_path):
    torch.manual_seed(6)
    runs = [(torch.rand(2, 3, h, w, dtype=torch.float64), torch.rand(2, 2, 5, 2, dtype=torch.float64) * 6 - 3) for h, w in ((4, 5), (1, 4), (3, 1))]
    same(Reflected(), tmp_path, runs, "-i", "x:float64[2,3,H,W]", "-i", "grid:float64[2,2,5,2]", "--opset", opset)
