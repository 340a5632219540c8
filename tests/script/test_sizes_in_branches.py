"""What an arm or a body finds out about a size that is computed there (N//2 is 2, N%4 is 1) holds there alone: PyTorch's result behind it."""
import pytest
import torch
from torch import nn

from scripted import same

OPEN = ("-i", "x:float32[N]", "-i", "c:bool[]")
SIZES = (4, 5, 6, 9, 0, 1)


class Quotient(nn.Module):
    def forward(self, x, c):
        if bool(c):
            y = torch.zeros(x.shape[0] // 2, 2).reshape(4).sum()
        else:
            y = x.sum()
        return y, torch.zeros(x.shape[0] // 2)


class Each(nn.Module):
    def forward(self, x, c):
        if bool(c):
            y = torch.zeros(x.shape[0] // 2).reshape(2)
        else:
            y = torch.zeros(x.shape[0] // 2).reshape(3)[1:]
        return y + x.shape[0] // 2


class Remainder(nn.Module):
    def forward(self, x, c):
        if bool(c):
            y = torch.zeros(x.shape[0] % 4 + 1).reshape(1).sum()
        else:
            y = x.sum()
        return y, x.shape[0] % 4, torch.zeros(x.shape[0] % 4)


class Least(nn.Module):
    def forward(self, x, c):
        y = x.sum()
        if bool(c):
            y = x[:min(x.shape[0], 7)].reshape(4, 1).sum()
        return y, x[:min(x.shape[0], 7)]


class Body(nn.Module):
    def forward(self, x, c):
        y = x.sum()
        for _ in range(int(c)):
            y = y + torch.ones(x.shape[0] // 2).reshape(2).sum()
        return y, torch.zeros(x.shape[0] // 2)


@pytest.mark.parametrize("module", [Quotient, Remainder, Least, Body])
def test_what_an_arm_finds_out_holds_there(module, tmp_path):
    runs = [(torch.randn(4), torch.tensor(True))] + [(torch.randn(n), torch.tensor(False)) for n in SIZES]
    same(module(), tmp_path, runs, *OPEN)


def test_each_arm_has_its_own(tmp_path):
    runs = [(torch.randn(4), torch.tensor(True)), (torch.randn(5), torch.tensor(True)), (torch.randn(6), torch.tensor(False))]
    same(Each(), tmp_path, runs, *OPEN)
