"""rounding.py - how far two right results of a narrow type may be apart: each value on the way was rounded, to a part of what was largest there."""
import numpy

ROUNDED = {"float16": 4e-3, "bfloat16": 3e-2, "float8_e4m3fn": 0.15, "float8_e4m3fnuz": 0.15, "float8_e5m2": 0.3, "float8_e5m2fnuz": 0.3}      # of the scale
FILL, FAR = 9e3, 100                    # what a mask fills in is at least FILL, and FAR times what else there is


def scale_of(sample):
    """The greatest of the finite numbers; -1e9 in masked logits says nothing of how exact the others are."""
    sizes = numpy.unique(abs(sample[numpy.isfinite(sample) & (sample != 0)]))
    filled = numpy.flatnonzero((sizes[1:] >= FILL) & (sizes[1:] > FAR * sizes[:-1]))
    return float(sizes[filled[0] if filled.size else -1]) if sizes.size else 0.0
