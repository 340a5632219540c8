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

ONNX_DTYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
               torch.float16: 10, torch.float64: 11, torch.complex64: 14, torch.complex128: 15, torch.bfloat16: 16}
TORCH_DTYPES = {number: dtype for dtype, number in ONNX_DTYPES.items()}
SCALAR_TYPES = {"Float": 1, "Byte": 2, "Char": 3, "Short": 5, "Int": 6, "Long": 7, "Bool": 9, "Half": 10, "Double": 11,
                "ComplexFloat": 14, "ComplexDouble": 15, "BFloat16": 16}
NUMPY_NAMES = {1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
               14: "complex64", 15: "complex128", 16: "bfloat16"}

QUANTIZED = {torch.quint8: ("quint8", torch.uint8), torch.qint8: ("qint8", torch.int8)}      # by a SPEC's word, and what is stored


def has_export():
    return hasattr(torch, "export") and hasattr(torch.export, "ExportedProgram")


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


def error_of(name, message):
    """An exception of torch.onnx.errors with our text; torch's own constructors make theirs from other arguments."""
    cls = getattr(errors, name, RuntimeError)
    e = cls.__new__(cls, message)
    RuntimeError.__init__(e, message)
    return e
