"""opinfo_tolerance.py - when is a result of ONNX Runtime the one PyTorch gives? The tables, each exception with its reason."""
import numpy as np

# How far a float result may be off: of the value itself, of the largest value in the tensor (sums cancel), and in any case.
TOLERANCE = {
    "float64": (1e-11, 1e-12, 1e-20),
    "float32": (1e-4, 1e-5, 1e-11),     # what is 0 in PyTorch may be a rounding error here: lgamma(1), erfc(5)
    "float16": (4e-3, 2e-3, 1e-7),      # two units of 2^-10, and a sum in another order
    "bfloat16": (3e-2, 1.6e-2, 1e-11),  # the same of 2^-7
}

# A unit in the last place of half precision, of the value itself.
UNIT = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}

# operator, as fnmatch has it: {dtype: the three}, why
LOOSER = [
    ("sigmoid", {"float32": (1e-4, 1e-5, 1e-7)}, "ONNX Runtime's Sigmoid is a rational function, exact to 1e-7 of its range, which is 1"),
    ("nn.functional.silu", {"float32": (1e-4, 1e-5, 2e-6)}, "x times such a Sigmoid"),
    ("special.bessel_[jy]?", {"float64": (1e-11, 2e-6, 1e-20)}, "PyTorch's own doubles are off by 5e-7 beyond 5; the models' are good to 1e-15 there (mpmath)"),
    ("special.airy_ai", {"float64": (1e-11, 5e-6, 1e-20)}, "the same, by 1.5e-6 below -2"),
]

# Which of equal values is found first is nobody's promise: indices count as right when they lead to the same values.
# Not so of a stable sort.
TIES = ("topk", "sort", "msort", "kthvalue", "median", "nanmedian", "mode")

# Decompositions whose vectors are unique only up to their sign, and up to a rotation where values are equal: see determined().
SINGULAR, EIGEN = ("svd", "linalg.svd"), ("linalg.eigh",)

# What ONNX Runtime decides and ONNX leaves open: (operator, as fnmatch has it, what the inputs must have, reason). A sample that meets one
# and comes out another way is counted apart, as ort-fault.
ORT_FAULTS = [
    (pattern, "NaN", "ReduceMax, ReduceMin, ArgMax and ArgMin of ONNX Runtime overlook a NaN, depending on where it is")
    for pattern in ("amax", "amin", "aminmax", "argmax", "argmin", "masked.amax", "masked.amin", "masked.argmax", "masked.argmin", "masked.norm",
                    "max.*", "min.*")
] + [("*", "no elements", "MatMul of ONNX Runtime does not broadcast a batch of 0 (matmul_helper.h)")]


def tolerance(op, dtype):
    import fnmatch
    for pattern, table, _reason in LOOSER:
        if fnmatch.fnmatchcase(op, pattern) and dtype in table:
            return table[dtype]
    return TOLERANCE[dtype]


def determined(op, results):
    """What the results of a decomposition have to say whatever vectors were chosen: the product, the values, that vectors are orthonormal.
    None: of this operator every result is unique. Complex vectors are pairs, as the model gives them."""
    def turned(a):
        return np.swapaxes(a, -1, -2).conj()

    def joined(a, values):
        return a[..., 0] + 1j * a[..., 1] if a.ndim == values.ndim + 2 else a
    if op in SINGULAR and len(results) == 3:
        s = results[1]
        u, v = joined(results[0], s), joined(results[2], s)
        v = v if op == "svd" else turned(v)
        k = s.shape[-1]
        return [as_pairs(a) for a in (u[..., :k] * s[..., None, :] @ turned(v[..., :k]), s, turned(u) @ u, turned(v) @ v)]
    if op in EIGEN and len(results) == 2:
        values, v = results[0], joined(results[1], results[0])
        return [as_pairs(a) for a in (v * values[..., None, :] @ turned(v), values, turned(v) @ v)]
    return None


def fault(op, inputs, bad):
    """Why ONNX Runtime may differ at these inputs (arrays of any dtype), or fail with `bad`; or None."""
    import fnmatch
    has = {"NaN": any(a.dtype.kind == "f" and np.isnan(a).any() for a in inputs),
           "no elements": any(a.size == 0 for a in inputs) and "matmul_helper.h" in bad}
    return next((reason for pattern, what, reason in ORT_FAULTS if has[what] and fnmatch.fnmatchcase(op, pattern)), None)


def twin_says(dtype, got, want, twin, bad):
    """Half precision is held against two: PyTorch's own results `want` (`bad` says how `got` differs, or is None), and those of the same
    numbers in float32. What is not PyTorch's is right where it is no further from the twin than twice as far as PyTorch is, which rounds
    in between where ONNX Runtime computes in float32, or the other way round (coordinates of grid_sample, x * rstd - mean * rstd). What is
    PyTorch's must not be further from the twin than that and a unit, as an operator of several nodes rounds in each."""
    got, want, twin = got.astype(np.float64), want.astype(np.float64), twin.astype(np.float64)
    finite = np.isfinite(twin)
    if bad and (not np.array_equal(np.isfinite(got), finite) or not np.array_equal(got[~finite], twin[~finite], equal_nan=True)
                or not np.isfinite(want[finite]).all()):
        return bad
    finite &= np.isfinite(want) & np.isfinite(got)
    ours, theirs = np.abs(got - twin)[finite], np.abs(want - twin)[finite]
    if ours.size == 0:
        return None
    if bad:
        return bad if ours.max() > 2 * theirs.max() or ours.mean() > 2 * theirs.mean() else None
    far = ours > 2 * theirs.max() + UNIT[dtype] * np.abs(twin[finite])
    return "%d of %d stray from the float32 twin, by up to %.1e; torch by %.1e" % (far.sum(), far.size, ours[far].max(), theirs.max()) if far.any() else None


def as_pairs(a):
    return np.stack([a.real, a.imag], -1) if a.dtype.kind == "c" else a


def first_difference(bad, got, want):
    at = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.shape else ()
    return "%d of %d differ, first at %s: %s, torch has %s" % (int(bad.sum()), bad.size, list(map(int, at)), got[at], want[at])


def differs(op, dtype, got, want, exact=True):
    """None, or how `got` is not torch's `want`. Both numpy arrays; dtype is torch's name of the element type that decides the tolerance."""
    if got.dtype != want.dtype:
        return "dtype %s, torch has %s" % (got.dtype, want.dtype)
    if got.shape != want.shape:
        return "shape %s, torch has %s" % (list(got.shape), list(want.shape))
    if not exact or want.size == 0:
        return None
    if dtype not in TOLERANCE:
        bad = got != want
        return first_difference(bad, got, want) if bad.any() else None
    of_value, of_scale, always = tolerance(op, dtype)
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    bad = np.isnan(got) != np.isnan(want)
    if bad.any():
        return "NaN: " + first_difference(bad, got, want)
    bad = (np.isfinite(got) != finite) | (np.isinf(want) & (got != want))
    if bad.any():
        return "infinity: " + first_difference(bad, got, want)
    if not finite.any():
        return None
    scale = np.abs(want[finite]).max()
    with np.errstate(invalid="ignore"):
        off = np.where(finite, np.abs(got - want), 0)
    bad = off > of_value * np.where(finite, np.abs(want), 0) + of_scale * scale + always
    return first_difference(bad, got, want) + ", off by up to %.1e" % off.max() if bad.any() else None


def same_order(op, x, got, want):
    """Of an argsort, which has indices only: are `got` a permutation along one of x's dims that sorts x as torch's `want` does?"""
    if op != "argsort" or got.dtype != np.int64:
        return False
    return any(np.array_equal(np.sort(got, axis), np.sort(want, axis)) and np.array_equal(
        np.take_along_axis(x, got, axis), np.take_along_axis(x, want, axis), equal_nan=x.dtype.kind == "f")
        for axis in range(x.ndim) if max(got.max(initial=0), want.max(initial=0)) < x.shape[axis])


def lead_to(op, x, values, indices):
    """Are `indices`, which differ from torch's, another right answer: do they find `values` in x along one of its dims?"""
    if op.split(".")[0] not in TIES or indices.dtype != np.int64:
        return False
    for axis in range(x.ndim):
        at, found = indices, values
        if indices.ndim < x.ndim:
            at, found = np.expand_dims(indices, axis), np.expand_dims(values, axis)
        if all(n == m for k, (n, m) in enumerate(zip(at.shape, x.shape)) if k != axis) and ((at >= 0) & (at < x.shape[axis])).all() and \
                np.array_equal(np.take_along_axis(x, at, axis), found, equal_nan=x.dtype.kind == "f"):
            return True
    return False
