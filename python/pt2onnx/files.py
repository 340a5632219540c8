"""files.py - saved programs to ONNX: pt2onnx.convert. Needs neither torch nor onnx."""
import numbers
import os
import sys

from . import _capi
from .interrupts import held

MODES = {"eval": 0, "saved": 1}
WEIGHTS = {"auto": 0, "inline": 1, "external": 2, "link": 3}
TARGETS = {"ort": 0, "onnx": 1}
UNKNOWN = {"refuse": 0, "custom": 1}
TYPES = {None: 0, "float16": 1, "bfloat16": 2, "int8": 3, "int4": 4}
STATES = {"io": 0, "constant": 1, "refuse": 2, "defaults": 3}


def print_note(kind, text):
    if kind < len(_capi.NOTE_WORDS) - 1:
        print("%s: %s" % (_capi.NOTE_WORDS[kind], text), file=sys.stderr)


def choice(what, value, choices):
    if value not in choices:
        raise ValueError("%s is one of %s, not %r" % (what, ", ".join(sorted(choices)), value))
    return choices[value]


def texts_of(what, value):
    """A list of texts, of paths too; None is an empty one."""
    if isinstance(value, (str, bytes, os.PathLike, dict)):
        raise TypeError("%s is a list of texts, not %r" % (what, value))
    return [os.fspath(text) for text in value or ()]


def type_fields(weights_type, keep_io_types, float32, weights_block, fuse):
    """The fields of C's options that say what type the weights are written in."""
    if weights_type not in TYPES:
        raise ValueError("weights_type is one of %s or None, not %r" % (", ".join(sorted(filter(None, TYPES))), weights_type))
    return dict(weights_type=TYPES[weights_type], change_io_types=not keep_io_types, float32=texts_of("float32", float32), weights_block=weights_block or 0, fuse=fuse)


def in_a_file(path):
    """A path for C, to which "-" is standard output: here it is a file of that name, as to torch.onnx."""
    return os.path.join(os.curdir, path) if path == "-" else path


def convert(model, out=None, *, opset=18, inputs=(), output_names=(), mode="eval", weights="auto", target="ort", keep_weights=False,
            state="io", dynamic=False, check_crc=False, rules=(), unknown="refuse", limits=(), on_note=print_note,
            weights_type=None, keep_io_types=True, float32=(), weights_block=None, fuse=False):
    """Convert a .pt or .pt2 file; returns the path of the model, which is `out`, or `model` with .onnx for its suffix.

    inputs         SPECs as the program's -i takes them: ["x:float32[N,3,224,224]"]
    on_note        on_note(kind, text) is told what was assumed, added, dropped and changed, once C is done; None silences it
    state          "io", "defaults", "constant", "refuse"; initial_state says what the first run is fed
    weights_type   "float16", "bfloat16", "int8", "int4" (docs/onnx-output.md)
    The others are the program's options (`pt2onnx --help`). Raises ConversionError (a RuntimeError)."""
    model = os.fsdecode(model)
    out = os.path.splitext(model)[0] + ".onnx" if out is None else os.fsdecode(out)
    if not isinstance(opset, numbers.Integral):
        raise TypeError("opset is a number, not %r" % (opset,))
    inputs, notes = texts_of("inputs", inputs), []
    fields = dict(opset=opset, inputs=inputs, output_names=texts_of("output_names", output_names), mode=choice("mode", mode, MODES),
                  weights=choice("weights", weights, WEIGHTS), target=choice("target", target, TARGETS), keep_weights=keep_weights,
                  state=choice("state", state, STATES), dynamic=dynamic, check_crc=check_crc, rules=texts_of("rules", rules),
                  unknown=choice("unknown", unknown, UNKNOWN), limits=texts_of("limits", limits),
                  on_note=lambda user, kind, text: notes.append((kind, text.decode("utf-8", "replace"))),
                  **type_fields(weights_type, keep_io_types, float32, weights_block, fuse))
    try:
        with held():
            _capi.convert(model, in_a_file(out), _capi.Options(**fields))
    except _capi.ConversionError as e:
        if not e.inputs:
            raise
        raise _capi.ConversionError(f"{e}\n  what is missing: inputs={[*inputs, *e.inputs]}", e.status, e.inputs) from None
    finally:
        for kind, text in notes if on_note else ():
            on_note(kind, text)
    return out
