"""installing.py - pt2onnx in place of torch.onnx's exporter, and back again.

What is replaced: export and _export, wherever torch.onnx has them. What is supplied: modules and names that scripts of older
releases import and the installed torch no longer has. Everything is remembered and put back by uninstall."""
import importlib
import sys
import types

import torch
import torch.onnx

from . import symbolic, symbolic_registry, versions
from .dynamo_export import ExportOptions, dynamo_export
from .exporting import export, pretty_string, underscore_export
from .results import Result

_MISSING = object()
_changed = []                   # (object or None for sys.modules, name, what was there)

MOVED = ["symbolic_helper", "utils"] + ["symbolic_opset%d" % n for n in range(7, 21)]       # torch 2.x lists only public names of theirs
RENAMED = {"torch.onnx._globals": "_globals", "torch.onnx._type_utils": "_type_utils",
           "torch.onnx._internal.registration": "registration", "torch.onnx._internal.jit_utils": "jit_utils"}


class CheckerError(torch.onnx.errors.OnnxExporterError):
    """torch.onnx.CheckerError, for `except` clauses: pt2onnx raises OnnxExporterError instead of writing a model that is invalid."""


class ExportTypes:
    PROTOBUF_FILE, ZIP_ARCHIVE, COMPRESSED_ZIP_ARCHIVE, DIRECTORY = "Protobuf file", "Zip archive", "Compressed zip archive", "Directory"


def _set(holder, name, value):
    _changed.append((holder, name, getattr(holder, name, _MISSING)))
    setattr(holder, name, value)


def _set_module(name, module):
    _changed.append((None, name, sys.modules.get(name, _MISSING)))
    sys.modules[name] = module
    parent, _, leaf = name.rpartition(".")
    _set(importlib.import_module(parent), leaf, module)


def _supply(holder, name, value):
    if not hasattr(holder, name):
        _set(holder, name, value)


def is_installed():
    return bool(_changed)


def install():
    if is_installed():
        return
    exporter = sys.modules.get("torch.onnx._internal.torchscript_exporter")
    for name in MOVED if exporter else ():
        _set_module("torch.onnx." + name, importlib.import_module("%s.%s" % (exporter.__name__, name)))
    for name, inner in RENAMED.items() if exporter else ():
        _set_module(name, importlib.import_module("%s.%s" % (exporter.__name__, inner)))
    _set_module("torch.onnx.symbolic_registry", symbolic_registry)
    if not exporter:
        for n in range(7, 18):
            _supply(torch.onnx, "symbolic_opset%d" % n, importlib.import_module("torch.onnx.symbolic_opset%d" % n))
    _replace()
    _supply_names()


def _replace():
    for holder in (torch.onnx, versions.utils):
        _set(holder, "export", export)
        _set(holder, "_export", underscore_export)
        _set(holder, "export_to_pretty_string", pretty_string)


def _supply_names():
    """Names that torch 1.8 to 2.5 had."""
    _supply(torch.onnx, "SymbolicContext", symbolic.SymbolicContext)
    _supply(torch.onnx, "OnnxExporterError", torch.onnx.errors.OnnxExporterError)
    _supply(torch.onnx.errors, "CheckerError", CheckerError)
    for name in ("CheckerError", "ONNXCheckerError"):
        _supply(torch.onnx, name, torch.onnx.errors.CheckerError)
    _supply(torch.onnx, "ExportTypes", ExportTypes)
    _supply(versions.OperatorExportTypes, "RAW", "RAW")
    _supply(torch.onnx, "PYTORCH_ONNX_CAFFE2_BUNDLE", False)
    _supply(torch.onnx, "symbolic_caffe2", types.ModuleType("torch.onnx.symbolic_caffe2", "Caffe2 is gone; only `import` works."))
    if "torch.onnx.symbolic_caffe2" not in sys.modules:
        _set_module("torch.onnx.symbolic_caffe2", torch.onnx.symbolic_caffe2)
    for name in ("enable_log", "disable_log", "log", "set_log_stream", "is_onnx_log_enabled"):
        _supply(torch.onnx, name, lambda *_: None)
    _supply(torch.onnx, "ONNX_ARCHIVE_MODEL_PROTO_NAME", "__MODEL_PROTO")
    _supply(versions.utils, "is_in_onnx_export", torch.onnx.is_in_onnx_export)
    _supply(versions.symbolic_helper, "_export_onnx_opset_version", versions.DEFAULT_OPSET)     # scratch.py sets it for each call
    _supply(versions.symbolic_helper, "_default_onnx_opset_version", versions.DEFAULT_OPSET)
    _supply(versions.symbolic_helper, "_set_opset_version", lambda opset: None)
    # torch 2.5 and 2.6 have the first three still.
    for name, value in (("dynamo_export", dynamo_export), ("ExportOptions", ExportOptions), ("ExportOutput", Result), ("ONNXProgram", Result)):
        _set(torch.onnx, name, value)


def uninstall():
    while _changed:
        holder, name, before = _changed.pop()
        if holder is None and before is _MISSING:
            del sys.modules[name]
        elif holder is None:
            sys.modules[name] = before
        elif before is _MISSING:
            delattr(holder, name)
        else:
            setattr(holder, name, before)
