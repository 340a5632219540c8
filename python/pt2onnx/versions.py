"""versions.py - where torch 1.13 and torch 2.x keep what this package needs of them. Nothing else asks for torch's version."""
import torch
import torch.onnx

try:
    from torch.onnx._internal.torchscript_exporter import _globals, jit_utils, registration, symbolic_helper, utils
    NEWEST_SYMBOLIC = None                              # its symbolics take any opset
except ImportError:                                     # torch 1.13
    from torch.onnx import _globals, symbolic_helper, utils
    from torch.onnx._internal import jit_utils, registration
    NEWEST_SYMBOLIC = 17
from torch.onnx import _constants, errors

GLOBALS = _globals.GLOBALS
DEFAULT_OPSET = _constants.ONNX_DEFAULT_OPSET
OperatorExportTypes = torch._C._onnx.OperatorExportTypes
TrainingMode = torch._C._onnx.TrainingMode
Warn = errors.OnnxExporterWarning

# (torch's name, the name that a graph has, ONNX's number); torch 1.13 lacks the last seven
DTYPES = [("float32", "Float", 1), ("uint8", "Byte", 2), ("int8", "Char", 3), ("int16", "Short", 5), ("int32", "Int", 6), ("int64", "Long", 7),
          ("bool", "Bool", 9), ("float16", "Half", 10), ("float64", "Double", 11), ("complex64", "ComplexFloat", 14), ("complex128", "ComplexDouble", 15),
          ("bfloat16", "BFloat16", 16), ("uint16", "UInt16", 4), ("uint32", "UInt32", 12), ("uint64", "UInt64", 13),
          ("float8_e4m3fn", "Float8_e4m3fn", 17), ("float8_e4m3fnuz", "Float8_e4m3fnuz", 18), ("float8_e5m2", "Float8_e5m2", 19),
          ("float8_e5m2fnuz", "Float8_e5m2fnuz", 20)]
ONNX_DTYPES = {getattr(torch, name): number for name, _, number in DTYPES if hasattr(torch, name)}
TORCH_DTYPES = {number: dtype for dtype, number in ONNX_DTYPES.items()}
SCALAR_TYPES = {name: number for _, name, number in DTYPES}
SPEC_WORDS = {number: name for name, _, number in DTYPES}

QUANTIZED = {torch.quint8: ("quint8", torch.uint8), torch.qint8: ("qint8", torch.int8)}      # by a SPEC's word, and what is stored


def has_export():
    return hasattr(torch, "export") and hasattr(torch.export, "ExportedProgram")


def open_size(name):
    """What tells torch.export that a size stays open; before torch 2.6 it has a name there."""
    return getattr(torch.export.Dim, "DYNAMIC", None) or torch.export.Dim(name)


def static_size():
    return getattr(torch.export.Dim, "STATIC", None)


def autocasts():
    """Is an autocast of the processor on?"""
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:                                   # until torch 2.3
        return torch.is_autocast_cpu_enabled()


def program_writer():
    """The module that writes what torch.export.save saves, where it has a canonical form; else None."""
    try:
        from torch._export.serde import serialize
    except ImportError:
        return None
    return serialize if hasattr(serialize, "canonicalize") else None


def children_of(spec):
    """What a TreeSpec of torch's holds."""
    return spec.children() if hasattr(spec, "children") else spec.children_specs


def error_of(name, message):
    """An exception of torch.onnx.errors with our text; torch's own constructors make theirs from other arguments."""
    cls = getattr(errors, name, RuntimeError)
    e = cls.__new__(cls, message)
    RuntimeError.__init__(e, message)
    return e
