"""arrays.py - tensors as ONNX Runtime takes and gives them: arrays of NumPy. One of bfloat16, which NumPy lacks, has the type that the package ml_dtypes
gives it, as in the onnx package; ONNX Runtime takes its bits, and gives the place where they are."""
import ctypes

import torch

BFLOAT16 = 16                           # TensorProto.DataType


def is_bfloat16(array):
    return array.dtype.name == "bfloat16"


def is_float(array):
    """ml_dtypes' types are of no kind that NumPy knows."""
    return array.dtype.kind == "f" or is_bfloat16(array)


def bfloat16():
    """ml_dtypes' type."""
    try:
        import ml_dtypes
    except ImportError as e:
        raise RuntimeError("the model cannot be run from Python: NumPy has no bfloat16, the type of one of its inputs or outputs; the package ml_dtypes, "
                           "which onnx installs, has one") from e
    return ml_dtypes.bfloat16


def array_of_tensor(t):
    """Of a real tensor on the processor, which may share its memory."""
    if t.dtype != torch.bfloat16:
        return t.numpy()
    return t.contiguous().view(torch.int16).numpy().view(bfloat16())


def tensor_of_array(array):
    """With the array's memory."""
    if is_bfloat16(array):
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def in_type_of(wanted, array):
    """An array of float32 in the type of 16 bits that an input of the model has; any other as it is."""
    narrow = {"tensor(float16)": lambda: "float16", "tensor(bfloat16)": bfloat16}.get(wanted.type)
    return array.astype(narrow()) if narrow and array.dtype == "float32" else array


def in_range_of(dtype, array):
    """An array of floats in this type of floats, whose greatest number stands for those beyond it: what a mask is filled with, the least number of float32,
    is its least number in a model of float16."""
    import numpy
    limit = torch.finfo(getattr(torch, dtype.name)).max
    return numpy.where(numpy.isfinite(array), numpy.clip(array, -limit, limit), array).astype(dtype)


# ---- OrtValues ----

def has_bfloat16(session):
    return any("bfloat16" in v.type for v in [*session.get_inputs(), *session.get_outputs()])


def ort_value(array):
    """Raises RuntimeError where this ONNX Runtime takes no bfloat16."""
    import numpy
    import onnxruntime
    array, made = numpy.asarray(array, order="C"), onnxruntime.OrtValue
    if not is_bfloat16(array):
        return made.ortvalue_from_numpy(array)
    if not hasattr(made, "ortvalue_from_numpy_with_onnx_type"):
        raise RuntimeError("the model cannot be run from Python: ONNX Runtime %s takes no bfloat16" % onnxruntime.__version__)
    return made.ortvalue_from_numpy_with_onnx_type(array.view("uint16"), BFLOAT16)


def tensor_of_bfloat16(value):
    """A copy of what an OrtValue holds, which has no way out through NumPy."""
    bits = torch.empty(value.shape(), dtype=torch.int16)
    ctypes.memmove(bits.data_ptr(), value.data_ptr(), 2 * bits.numel())
    return bits.view(torch.bfloat16)


def array_of_value(value):
    """Of an OrtValue: an array, or None of an empty optional."""
    if not value.has_value():
        return None
    if not value.is_tensor():
        raise RuntimeError("the model cannot be run from Python: a sequence beside values of bfloat16 has no way out of ONNX Runtime")
    return array_of_tensor(tensor_of_bfloat16(value)) if "bfloat16" in value.data_type() else value.numpy()


def run(session, feeds):
    """{output: array, list of a sequence, or None} for {input: array}."""
    names = [o.name for o in session.get_outputs()]
    if not has_bfloat16(session):
        return dict(zip(names, session.run(names, feeds)))
    values = session.run_with_ort_values(names, {name: ort_value(array) for name, array in feeds.items()})
    return dict(zip(names, map(array_of_value, values)))
