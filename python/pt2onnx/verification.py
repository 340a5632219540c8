"""verification.py - verify=True: the finished model in ONNX Runtime against the model in hand, output by output.

Needs onnxruntime and numpy. Both run on the example inputs, on copies of them, the torch model in the mode of the export."""
import torch

from .versions import QUANTIZED


class Output:
    """How one output compares: largest absolute and relative difference, and whether both lie within the tolerances."""

    def __init__(self, name, want, got, rtol, atol):
        self.name, self.shape, self.dtype = name, tuple(got.shape), str(got.dtype)
        self.same_kind = self.shape == tuple(want.shape) and self.dtype == str(want.dtype)
        self.absolute = self.relative = float("inf")
        self.ok = False
        if self.same_kind:
            self.compare(want, got, rtol, atol)

    def compare(self, want, got, rtol, atol):
        import numpy
        if not want.size:
            self.absolute = self.relative = 0.0
            self.ok = True
            return
        exact = want.dtype.kind not in "fc"
        a, b = want.astype(complex if want.dtype.kind == "c" else float), got.astype(complex if got.dtype.kind == "c" else float)
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        difference = numpy.where(same, 0, abs(a - b))
        self.absolute = float(difference.max())
        self.relative = float((difference / numpy.maximum(abs(a), 1e-30)).max())
        self.ok = bool(same.all() if exact else (same | (difference <= atol + rtol * abs(a))).all())

    def __str__(self):
        if not self.same_kind:
            return "%s: %s%s, of another type or shape than torch's" % (self.name, self.dtype, list(self.shape))
        return "%s: %s%s, largest difference %.3g (relative %.3g)%s" % (self.name, self.dtype, list(self.shape), self.absolute, self.relative,
                                                                       "" if self.ok else ", OUT OF TOLERANCE")


class Verification:
    """`ok`, `outputs`, and all of it as text."""

    def __init__(self, outputs, rtol, atol):
        self.outputs, self.rtol, self.atol = outputs, rtol, atol
        self.ok = bool(outputs) and all(o.ok for o in outputs)

    def __str__(self):
        return "\n".join(["ONNX Runtime against torch, rtol %g, atol %g: %s" % (self.rtol, self.atol, "same" if self.ok else "DIFFERENT")]
                         + ["  %s" % o for o in self.outputs])


def quantized_parts(value, given):
    """A quantised tensor as the model has it: integers, scale, zero point. Inputs and outputs have them in other types."""
    if value.qscheme() == torch.per_channel_affine:
        scale, zero = value.q_per_channel_scales(), value.q_per_channel_zero_points()
    else:
        scale, zero = torch.tensor(value.q_scale(), dtype=torch.float64), torch.tensor(value.q_zero_point())
    return [value.int_repr(), scale, zero] if given else [value.int_repr(), scale.float(), zero.to(QUANTIZED[value.dtype][1])]


def flat(value, given=False):
    """Tensors and numbers of a result, or of what is given, in order; text and None have no output."""
    if isinstance(value, torch.Tensor) and value.is_quantized:
        return [part.numpy() for part in quantized_parts(value, given)]
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu().numpy()]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None).numpy()]
    if value is None or isinstance(value, str):
        return []
    items = value.values() if isinstance(value, dict) else value
    return [x for item in items for x in flat(item, given)]


def run_onnx(path, inputs, names):
    """inputs: leaves of the example. names: what they are called in the model, which leaves out those that it does not use; None: the
    model has all of them, in this order."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    wanted = [i.name for i in session.get_inputs()]
    by_name = dict(zip(wanted if names is None else names, inputs))
    missing = [n for n in wanted if n not in by_name]
    if missing:
        raise RuntimeError("the example has no value for the model's input %s" % missing[0])
    outputs = [o.name for o in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, {n: by_name[n] for n in wanted})))


def parts(name, value):
    """Tensors of an output, named: those of a sequence one by one, none of an optional that is empty."""
    if isinstance(value, list):
        return [part for i, item in enumerate(value) for part in parts("%s[%d]" % (name, i), item)]
    return [] if value is None else [(name, value)]


def verify(path, names, example, run_torch, rtol, atol):
    """run_torch() gives what the model in hand gives for the example."""
    inputs = flat(list(example), given=True)
    want = flat(run_torch())
    got = [part for name, value in run_onnx(path, inputs, names).items() for part in parts(name, value)]
    if len(want) != len(got):
        raise RuntimeError("verify: torch gives %d outputs, the ONNX model %d" % (len(want), len(got)))
    return Verification([Output(name, w, g, rtol, atol) for (name, g), w in zip(got, want)], rtol, atol)
