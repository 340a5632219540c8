"""prints.py - what is kept of a tensor, so that two runs compare without keeping every tensor of either.

A print is the type, the shape, some 256 elements at places that only the number of elements decides, and four sums over all of it.
Two values of one computation agree in the elements; values that lie transposed agree in the sums."""
import functools

import numpy
import torch

from ..rounding import FAR, FILL, scale_of

SAMPLE = 256
PART = 1 << 20                          # elements of two tensors that are compared at a time
PLAIN = {getattr(torch, name): torch.float32 for name in ("bfloat16", "float16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
         if hasattr(torch, name)}


class Print:
    """One value: `dtype` and `shape` as torch has them, `sample` (float64 or complex128), `sums`: mean, root mean square, least, greatest; `scale`: the
    greatest of the sample, but for what a mask has filled in."""

    __slots__ = ("dtype", "shape", "count", "sample", "sums", "scale")

    def __init__(self, tensor):
        """tensor: dense, of any type but a quantised one."""
        self.dtype, self.shape, self.count = str(tensor.dtype).replace("torch.", ""), tuple(tensor.shape), tensor.numel()
        self.sample = sample_of(tensor)
        self.sums = sums_of(tensor)
        self.scale = scale_of(self.sample)

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
    return numbers(tensor.detach().reshape(-1)[places(tensor.numel())])


def numbers(flat):
    """A tensor as float64 or complex128."""
    flat = flat.detach().to(PLAIN.get(flat.dtype, flat.dtype)).numpy()
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


def scale_of_all(tensor, scale):
    """The scale of all elements. scale: of the sample."""
    limit = max(FAR * scale, FILL)
    sizes = [abs(numbers(part)) for part in tensor.reshape(-1).split(PART)]
    return float(max(s[s <= limit].max(initial=scale) for s in sizes))


def differences(want, got, scale):
    """Of each element, in parts of it where it is beyond the scale; NaN agrees with NaN, an infinity with itself."""
    same = (want == got) | (numpy.isnan(want) & numpy.isnan(got))
    with numpy.errstate(invalid="ignore", over="ignore"):
        apart = abs(want - got) / numpy.maximum(abs(want) / numpy.maximum(scale, 1e-300), 1.0)
    return numpy.where(same, 0.0, numpy.where(numpy.isnan(apart), numpy.inf, apart))


def difference(want, got, scale):
    """The largest difference of two samples of one length."""
    return differences(want, got, scale).max(axis=-1, initial=0.0)


def noise(print_, want, exact):
    """The largest difference of numbers of torch in its own type and in float64, both in the range of that type: there infinity, or the least number that a
    mask fills in, is another one."""
    kind = getattr(torch, print_.dtype)
    limit = torch.finfo(kind).max if kind.is_floating_point or kind.is_complex else numpy.inf
    known = ~(numpy.isnan(want) | numpy.isnan(exact))
    return difference(numpy.clip(want[known], -limit, limit), numpy.clip(exact[known], -limit, limit), print_.scale)


def largest(measure, a, b):
    """What measure(numbers, numbers) gives at most, of all elements of two tensors of one size."""
    return float(max(measure(numbers(x), numbers(y)) for x, y in zip(a.reshape(-1).split(PART), b.reshape(-1).split(PART))))
