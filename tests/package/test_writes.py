"""Parts of tensors that forward writes to, with sizes that are open: the trace records x[..] = v with the sizes of the example."""
import pytest
import torch

from helpers import agrees, exported

X, Y = torch.rand(2, 4, 3), torch.rand(5, 6, 3)


def rows_of(x, v):
    out = x.clone()
    out[:, 1] = v
    return out


def tail(x, v):
    out = x.clone()
    out[1:] = v
    return out


def itself(x):
    out = x.clone()
    out[..., 0] = x[..., 0] * 2
    out[:, :, 1:] = x[:, :, :1]
    return out


def behind_a_size(x):
    out = x.clone()
    out[:, x.size(0):] = torch.tensor([1., 2, 3])
    return out


def integers(x):
    out = torch.zeros(x.shape[0], x.shape[1], 3)
    out[:, :, :2] = torch.tensor([[7, 8]])
    return out


def by_hand(x, v):
    out = x.clone()
    out[0].copy_(v.view(3).expand(4, 3))
    return out


def read_again(x, v):
    spread = v.expand(2, 4, 3)
    out = x.clone()
    out.copy_(spread)
    return out + spread


BOTH = {"x": {0: "batch", 1: "time"}}


@pytest.mark.parametrize("function, first, other", [
    (rows_of, [X, torch.rand(1, 3)], [Y, torch.rand(1, 3)]),
    (rows_of, [X, torch.rand(3)], [Y, torch.rand(3)]),
    (tail, [X, torch.rand(1, 1, 1, 3)], [Y, torch.rand(1, 1, 1, 3)]),
    (tail, [X, torch.rand(1, 4, 3)], [Y, torch.rand(1, 6, 3)]),
    (itself, [X], [Y]),
    (behind_a_size, [X], [Y]),
    (behind_a_size, [X], [torch.rand(5, 4, 3)]),
    (integers, [X], [Y])])
def test_what_is_written_to_a_part_spreads_over_it_in_each_run(function, first, other):
    axes = dict(BOTH, v={1: "time"}) if function is tail and first[1].dim() == 3 else BOTH
    found = exported(function, tuple(first), input_names=["x", "v"][:len(first)], dynamic_axes=axes, opset_version=14)
    agrees(found, function, *first)
    agrees(found, function, *other)


@pytest.mark.parametrize("function, v", [(by_hand, torch.rand(1, 3)), (read_again, torch.rand(4, 1))])
def test_views_and_expansions_that_forward_writes_out_stay_right(function, v):
    agrees(exported(function, (X, v), opset_version=14), function, X, v)
