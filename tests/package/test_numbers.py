"""Operators whose number argument the running model computes: each is exported once and run for several numbers."""
import numpy
import pytest
import torch

from helpers import TORCH_2, checked, flat, run


def hann(n: int):
    return torch.hann_window(n), torch.hann_window(n, periodic=False)


def hamming(n: int):
    return torch.hamming_window(n), torch.hamming_window(n, False, 0.6, 0.4)


def blackman(n: int):
    return torch.blackman_window(n), torch.blackman_window(n, False)


def bartlett(n: int):
    return torch.bartlett_window(n), torch.bartlett_window(n, False, dtype=torch.float64)


def spaces(a: float, b: float, n: int):
    return torch.linspace(a, b, n), torch.logspace(a, b, n, 2.0)


def whole_spaces(a: float, b: float, n: int):
    return torch.linspace(a, b, n, dtype=torch.int64)


def ranges(a: float, b: float, step: float):
    return torch.arange(a, b, step, dtype=torch.int64), torch.arange(a, b, step, dtype=torch.int32), torch.arange(a, b, step)


def products(alpha: float, beta: int):
    x = torch.arange(12.0).reshape(1, 3, 4)
    return torch.baddbmm(x[:, :, :3], x, x.transpose(1, 2), beta=beta, alpha=alpha)


COUNTS_INTS = len(torch.arange(0.5, 5.9, 1.8, dtype=torch.int64)) == 5                # torch 2.14 counts in double
COUNTS = [(0,), (1,), (2,), (3,), (100,)]
CASES = [(f, (5,), COUNTS) for f in (hann, hamming, blackman, bartlett)] + [
    (spaces, (0.5, 2.0, 3), [(1.5, -4.0, n) for n in (0, 1, 2, 5, 8)]),
    (whole_spaces, (0.5, 2.0, 3), [(1.5, -4.0, n) for n in (0, 1, 2, 5, 8)] if TORCH_2 else []),      # torch 1.13 rounds them in another way
    (products, (2.0, 1), [(0.5, 3), (-1.0, 2)] + ([(-1.0, 0)] if TORCH_2 else [])),                       # torch 1.13 multiplies memory that it never set by 0
    (ranges, (1.0, 2.0, 1.0), [(0.1, -7.9, -4.0)] + [(0.5, 5.9, 1.8), (2.0, 8.5, 1.5), (-2.5, 3.5, 1.0)] * COUNTS_INTS),
]


@pytest.mark.parametrize("function, example, inputs", CASES, ids=[c[0].__name__ for c in CASES])
def test_numbers_of_the_running_model(function, example, inputs):
    model = checked(torch.jit.script(function), example)
    for values in inputs:
        got = run(model, *[numpy.array(v) for v in values])
        for g, w in zip(got, flat([function(*values)])):
            assert g.dtype == w.dtype and g.shape == w.shape
            numpy.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
