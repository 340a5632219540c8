"""prints.py - what is kept of a tensor, so that two runs compare without keeping every tensor of either.

A print is the type, the shape, some 256 elements at places that only the number of elements decides, and four sums over all of it.
Two values of one computation agree in the elements; values that lie transposed agree in the sums."""
import functools

import numpy
import torch

SAMPLE = 256
PLAIN = {torch.bfloat16: torch.float32, torch.float16: torch.float32}


class Print:
    """One value: `dtype` and `shape` as torch has them, `sample` (float64 or complex128), `sums`: mean, root mean square, least, greatest."""

    __slots__ = ("dtype", "shape", "count", "sample", "sums", "scale")

    def __init__(self, tensor):
        """tensor: dense, of any type but a quantised one."""
        self.dtype, self.shape, self.count = str(tensor.dtype).replace("torch.", ""), tuple(tensor.shape), tensor.numel()
        self.sample = sample_of(tensor)
        self.sums = sums_of(tensor)
        finite = abs(self.sample[numpy.isfinite(self.sample)])
        self.scale = float(finite.max()) if finite.size else 0.0

    @property
    def says_little(self):
        """Would many other values have this print: a few numbers, or the same one everywhere?"""
        return self.count < 4 or len(numpy.unique(self.sample[:64])) < 4


@functools.lru_cache(maxsize=4096)
def places(count):
    """Which elements of `count` are looked at, as a tensor; the first and the last are among them."""
    if count <= SAMPLE:
        return torch.arange(count)
    drawn = numpy.random.default_rng(count).integers(0, count, SAMPLE - 2)
    return torch.from_numpy(numpy.sort(numpy.concatenate([[0], drawn, [count - 1]])))


def sample_of(tensor):
    flat = tensor.detach().reshape(-1)[places(tensor.numel())]
    flat = flat.to(PLAIN.get(flat.dtype, flat.dtype)).numpy()
    return flat.astype(numpy.complex128 if flat.dtype.kind == "c" else numpy.float64)


def sums_of(tensor):
    """(mean, root mean square, least, greatest) of a real tensor that has elements, else None."""
    if tensor.is_complex() or not tensor.numel():
        return None
    t = tensor.detach()
    t = t.to(PLAIN.get(t.dtype, t.dtype)) if t.is_floating_point() else t.to(torch.float64)
    mean = t.mean(dtype=torch.float64)
    square = torch.linalg.vector_norm(t, dtype=torch.float64) / tensor.numel() ** 0.5
    return numpy.array([float(mean), float(square), float(t.amin()), float(t.amax())])


def difference(a, b):
    """The largest difference of two samples of one length; NaN agrees with NaN, an infinity with itself."""
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    with numpy.errstate(invalid="ignore"):
        apart = numpy.where(same, 0.0, abs(a - b))
    return numpy.where(numpy.isnan(apart), numpy.inf, apart).max(axis=-1, initial=0.0)
