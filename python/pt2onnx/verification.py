"""verification.py - verify=True: the finished model in ONNX Runtime against the model in hand, output by output.

Needs onnxruntime and numpy. Both run on the example inputs, on copies of them, the torch model in the mode of the export."""
import re

import torch

from . import arrays
from .versions import QUANTIZED

OPEN_NUMBERS = tuple(getattr(torch, name) for name in ("SymInt", "SymFloat", "SymBool") if hasattr(torch, name))     # in a program of torch.export
NAMED_BY_USE = re.compile(r"^onnx::\w+?_(?=\d+$)")


class Output:
    """How one output compares: largest absolute and relative difference, and whether both lie within the tolerances."""

    def __init__(self, name, want, got, rtol, atol, rounding=0.0):
        """rounding: an absolute difference that is no mistake."""
        self.rounding, self.name, self.shape, self.dtype = rounding, name, tuple(got.shape), str(got.dtype)
        self.same_kind = self.shape == tuple(want.shape) and self.dtype == str(want.dtype)
        self.absolute = self.relative = float("inf")
        self.ok = False
        if self.same_kind:
            self.compare(want, got, rtol, max(atol, rounding))

    def compare(self, want, got, rtol, atol):
        import numpy
        if not want.size:
            self.absolute = self.relative = 0.0
            self.ok = True
            return
        exact = not arrays.is_float(want)
        a, b = want.astype(float), got.astype(float)
        same = (want == got) | (numpy.isnan(a) & numpy.isnan(b))
        with numpy.errstate(invalid="ignore"):          # of an infinity and another
            difference = numpy.where(same, 0, abs(a - b))
            relative = numpy.where(same, 0, difference / numpy.maximum(abs(a), 1e-30))
        self.absolute, self.relative = float(difference.max()), float(relative.max())
        near = numpy.isfinite(a) & (difference <= atol + rtol * abs(a))         # any number is within a part of infinity
        self.ok = bool(same.all() if exact else (same | near).all())

    def __str__(self):
        if not self.same_kind:
            return "%s: %s%s, of another type or shape than torch's" % (self.name, self.dtype, list(self.shape))
        explained = ", rounding explains %.3g" % self.rounding if self.rounding else ""
        return "%s: %s%s, largest difference %.3g (relative %.3g)%s%s" % (self.name, self.dtype, list(self.shape), self.absolute, self.relative, explained,
                                                                         "" if self.ok else ", OUT OF TOLERANCE")


class Verification:
    """`ok`, `outputs`, and all of it as text."""

    def __init__(self, outputs, rtol, atol):
        self.outputs, self.rtol, self.atol = outputs, rtol, atol
        self.ok = bool(outputs) and all(o.ok for o in outputs)

    def __str__(self):
        return "\n".join(["ONNX Runtime against torch, rtol %g, atol %g: %s" % (self.rtol, self.atol, "same" if self.ok else "DIFFERENT")]
                         + ["  %s" % o for o in self.outputs])


def leaves_in(value):
    """Tensors, arrays and numbers of a result, or of what is given, in order; text and None are no inputs and outputs."""
    if value is None or isinstance(value, str):
        return []
    if isinstance(value, (torch.Tensor, bool, int, float, *OPEN_NUMBERS)) or type(value).__module__ == "numpy":
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        leaves = torch.utils._pytree.tree_flatten(value)[0]             # a container that the user has registered
        value = value if len(leaves) == 1 and leaves[0] is value else leaves
    if not hasattr(value, "__iter__"):
        raise TypeError("an argument or result of type %s is no tensor, number or text, and no container of them" % type(value).__name__)
    return [leaf for item in value for leaf in leaves_in(item)]


def flat(value, given=False):
    """The same as arrays. given: as an input, not an output."""
    return [array_of(part) for leaf in leaves_in(value) for part in parts_of(leaf, given)]


def parts_of(leaf, given):
    """A quantised tensor as the model has it: integers, scale, zero point. Inputs and outputs have them in other types."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_quantized:
        return [leaf]
    if leaf.qscheme() == torch.per_channel_affine:
        scale, zero = leaf.q_per_channel_scales(), leaf.q_per_channel_zero_points()
    else:
        scale, zero = torch.tensor(leaf.q_scale(), dtype=torch.float64), torch.tensor(leaf.q_zero_point())
    return [leaf.int_repr(), scale, zero] if given else [leaf.int_repr(), scale.float(), zero.to(QUANTIZED[leaf.dtype][1])]


def number_as_tensor(leaf):
    """As torch's tracer makes one."""
    return torch.tensor(leaf, dtype=torch.float64 if isinstance(leaf, float) else None) if isinstance(leaf, (bool, int, float)) else leaf


def array_of(leaf):
    """As ONNX Runtime takes and gives it: a complex number is two floats."""
    leaf = number_as_tensor(leaf)
    if not isinstance(leaf, torch.Tensor):
        return leaf
    t = leaf.detach().cpu()
    t = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
    return arrays.array_of_tensor(t.resolve_neg())


def value_for(wanted, by_name, as_written):
    """An input of the model is called as in the example, or, with names="1.13", after that and the first operator that takes it: onnx::Mul_0. as_written:
    of keep_io_types=False, so the model may take float16 or bfloat16 where forward takes float32."""
    name = wanted.name if wanted.name in by_name else NAMED_BY_USE.sub("", wanted.name)
    if name not in by_name:
        raise RuntimeError("the example has no value for the model's input %s" % wanted.name)
    value = by_name[name]
    return arrays.in_type_of(wanted, value) if as_written else value


def run_onnx(path, inputs, names, as_written=False):
    """inputs: leaves of the example. names: what they are called in the model, which leaves out those that it does not use; None: the
    model has all of them, in this order. as_written: as value_for takes it."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    wanted = session.get_inputs()
    by_name = dict(zip([i.name for i in wanted] if names is None else names, inputs))
    return arrays.run(session, {i.name: value_for(i, by_name, as_written) for i in wanted})


def parts(name, value):
    """Tensors of an output, named: those of a sequence one by one, none of an optional that is empty, and none of a text."""
    if isinstance(value, list):
        return [part for i, item in enumerate(value) for part in parts("%s[%d]" % (name, i), item)]
    return [] if value is None or value.dtype == object else [(name, value)]


def verify(path, names, inputs, run_torch, rtol, atol, as_written=False, narrow=None):
    """inputs, names: as run_onnx takes them; run_torch() gives what the model in hand gives for the same example. as_written: the model's inputs and
    outputs may be of a narrower floating type than torch's. narrow: the type that the weights have in the model, "" for their own; None where
    rtol and atol are all that counts."""
    want = flat(run_torch())
    got = [part for name, value in run_onnx(path, inputs, names, as_written).items() for part in parts(name, value)]
    if len(want) != len(got):
        raise RuntimeError("verify: torch gives %d outputs, the ONNX model %d" % (len(want), len(got)))
    if as_written:
        want = [arrays.in_range_of(g.dtype, w) if arrays.is_float(w) and arrays.is_float(g) else w for (_, g), w in zip(got, want)]
    return Verification([Output(name, w, g, rtol, atol, rounding_of(w, narrow)) for (name, g), w in zip(got, want)], rtol, atol)


def rounding_of(want, narrow):
    """How far a right result may be from torch's for what leads to it being of a narrow type, its own or that of the weights; narrow: as verify takes it."""
    from .rounding import ROUNDED, scale_of
    part = max(ROUNDED.get(want.dtype.name, 0.0), ROUNDED.get(narrow, 0.0))
    return part * scale_of(want.astype(float)) if part and narrow is not None and arrays.is_float(want) else 0.0
