"""Slices and indices whose bounds are data: they may count from the end, lie outside, or leave nothing between them."""
import torch
from torch import nn

from scripted import same


class Paste(nn.Module):
    """A mask pasted where its box says, as detectors do it."""
    def forward(self, x, bounds):
        a, b, c, d = int(bounds[0]), int(bounds[1]), int(bounds[2]), int(bounds[3])
        image = torch.zeros(5, 6)
        part = x[a:b, c:d]
        image[a:b, c:d] = part * 2
        return part, image


class Part(nn.Module):
    def forward(self, x, bounds):
        part = x[int(bounds[0]):, :int(bounds[1])]
        return part, part.size(0), torch.cat([part, part])


class Row(nn.Module):
    def forward(self, x, at):
        y = x.clone()
        y[int(at)] = 7.0
        y.narrow(1, int(at), 1).mul_(2)
        return y, x[:, int(at)]


def test_a_slice_that_data_bound_is_read_and_written(tmp_path):
    torch.manual_seed(4)
    bounds = [(1, 3, 2, 4), (-4, -1, 0, 9), (-9, 2, -2, 6), (3, 1, 0, 6), (2, 9, -1, -3), (7, 9, 1, 2), (0, 0, -6, -5)]
    same(Paste(), tmp_path, [(torch.rand(5, 6), torch.tensor(b)) for b in bounds], "-i", "x:float32[5,6]", "-i", "bounds:int64[4]")


def test_a_slice_of_open_sizes(tmp_path):
    runs = [(torch.rand(n, m), torch.tensor(b)) for n, m, b in ((5, 3, (-2, -1)), (2, 4, (-3, 2)), (1, 1, (0, -5)), (3, 0, (1, 1)))]
    same(Part(), tmp_path, runs, "-i", "x:float32[N,M]", "-i", "bounds:int64[2]")


def test_an_index_that_data_tell_is_read_and_written(tmp_path):
    same(Row(), tmp_path, [(torch.rand(4, 4), torch.tensor(i)) for i in (1, -1, 0, -4, 3)], "-i", "x:float32[4,4]", "-i", "at:int64[]")


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(300, 4, 8))

    def forward(self, x, ends):
        return torch._grouped_mm(x, self.weight, offs=ends)


def test_more_groups_of_rows_than_sizes_can_be_added(tmp_path):
    """As many experts as the largest mixtures have: their groups are as long as data say."""
    torch.manual_seed(5)
    runs = [(torch.randn(n, 4), torch.randint(0, 2, (300,)).cumsum(0).clamp(max=n).index_fill(0, torch.tensor([299]), n).to(torch.int32)) for n in (200, 120)]
    same(Experts(), tmp_path, runs, "-i", "x:float32[N,4]", "-i", "ends:int32[300]")


class Counted(nn.Module):
    """Rows by ranges of which a bound lies below 0."""
    def forward(self, x):
        n = x.size(0)
        return x[torch.arange(n - 1, -1, -1)], x[torch.arange(-n, 0)], x[:, torch.arange(-1, x.size(1) - 1)], x[torch.arange(n // 2, n, 2)]


def test_rows_by_a_range_of_numbers_below_zero(tmp_path):
    same(Counted(), tmp_path, [(torch.rand(n, 3),) for n in (4, 1, 0, 7)], "-i", "x:float32[N,M]")
