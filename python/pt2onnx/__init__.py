"""pt2onnx - PyTorch models to ONNX.

    import pt2onnx
    pt2onnx.export(model, args, "model.onnx", input_names=["x"], opset_version=18)

So far: an nn.Module with positional tensor arguments, by torch's own trace, with the symbolic functions that the user has
registered (torch.onnx.register_custom_op_symbolic) and those of autograd Functions."""
import sys

from ._capi import ConversionError, NOTE_WORDS
from . import _capi

__all__ = ["export", "ConversionError"]


def _print_note(kind, text):
    if kind < len(NOTE_WORDS) - 1:
        print("%s: %s" % (NOTE_WORDS[kind], text), file=sys.stderr)


def export(model, args, f, *, input_names=(), output_names=(), opset_version=18, on_note=_print_note):
    """Trace the model on args and write ONNX to the path f. Raises ConversionError, or what a symbolic function raised."""
    from .symbolic import Stopped, Symbolics
    from .trace import Record, trace
    args = args if isinstance(args, tuple) else (args,)
    graph, weights = trace(model, args)
    record = Record(graph, weights, input_names, output_names)
    symbolics = Symbolics(record, opset_version)
    options = _capi.Options(_capi.ctypes.sizeof(_capi.Options), opset_version)
    names = _capi.texts(symbolics.names)
    options.symbolic_names, options.n_symbolic_names = names, len(symbolics.names)
    options.symbolic_opset = symbolics.opset
    options.symbolic = _capi.SymbolicFn(symbolics)
    options.on_note = _capi.NoteFn(lambda user, kind, text: on_note(kind, text.decode("utf-8", "replace")))
    try:
        _capi.convert_trace(record.trace, f, options)
    except ConversionError:
        if symbolics.error is None or isinstance(symbolics.error, Stopped):
            raise
        raise symbolics.error from None
