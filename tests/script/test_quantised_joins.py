"""Quantised tensors that a branch or a loop of the model gives: with the scale that both sides have, or refused."""
from typing import Optional

import pytest
import torch
from torch import nn

from scripted import both_signs, refused, same

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = ("-i", "x:float32[N]")


class OfBothArms(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        else:
            q = torch.quantize_per_tensor(-x, 0.1, 3, torch.quint8)
        return torch.dequantize(q)


class OfOneArm(nn.Module):
    def forward(self, x):
        q: Optional[torch.Tensor] = None
        if bool(x.sum() > 0):
            q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        return x if q is None else torch.dequantize(q)


class OfALoop(nn.Module):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        for i in range(int(x.sum() > 0) * 2):
            q = torch.quantize_per_tensor(torch.dequantize(q) + i, 0.1, 3, torch.quint8)
        return torch.dequantize(q)


class OfTrips(nn.Module):
    def forward(self, x):
        q: Optional[torch.Tensor] = None
        for i in range(int(x.sum() > 0) * 2):
            q = torch.quantize_per_tensor(x * i, 0.1, 3, torch.quint8)
        return x if q is None else torch.dequantize(q)


@pytest.mark.parametrize("module", [OfBothArms, OfOneArm, OfALoop, OfTrips], ids=lambda m: m.__name__)
def test_one_scale(module, tmp_path):
    same(module(), tmp_path, both_signs(3), *ROWS)


class TwoGrids(nn.Module):
    def __init__(self, scale: float, zero_point: int):
        super().__init__()
        self.scale = scale
        self.zero_point = zero_point

    def forward(self, x):
        if bool(x.sum() > 0):
            q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        else:
            q = torch.quantize_per_tensor(x, self.scale, self.zero_point, torch.quint8)
        return torch.dequantize(q)


class ScaleOfOneArm(nn.Module):
    def forward(self, x):
        q: Optional[torch.Tensor] = None
        if bool(x.sum() > 0):
            q = torch.quantize_per_tensor(x, x.max() / 100, torch.tensor(0), torch.quint8)
        return x if q is None else torch.dequantize(q)


class ScaleOfTrips(nn.Module):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
        for i in range(int(x.sum() > 0) * 2):
            q = torch.quantize_per_tensor(torch.dequantize(q), 0.2, 3, torch.quint8)
        return torch.dequantize(q)


@pytest.mark.parametrize("make,why", [(lambda: TwoGrids(0.2, 3), "quantised with different scales"), (lambda: TwoGrids(0.1, 4), "quantised with different scales"),
                                      (ScaleOfOneArm, "whose scale it computes"), (ScaleOfTrips, "quantised in another way after an iteration")],
                         ids=["scales", "zero_points", "one_arm", "iterations"])
def test_scales_that_differ_are_refused(make, why, tmp_path):
    assert why in refused(make(), tmp_path, *ROWS)
