"""pt2onnx - PyTorch models to ONNX.

    import pt2onnx
    pt2onnx.convert("model.pt", "model.onnx")                      # a saved program: needs no torch
    pt2onnx.initial_state("model.onnx")                            # what a model that keeps state is fed first
    pt2onnx.export(model, args, "model.onnx", input_names=["x"])   # what torch.onnx.export takes, and more
    pt2onnx.compare(model, args, "model.onnx")                     # where do torch and ONNX Runtime part?
    pt2onnx.install()                                              # torch.onnx.export is pt2onnx.export from here on

    python -m pt2onnx SCRIPT [ARGS]                                # runs a script with torch.onnx replaced
    python -m pt2onnx compare MODEL [NET.onnx] [ARG..]             # compare, for a saved program or FILE.py:FUNCTION"""
from ._capi import ConversionError
from .files import convert
from .states import initial_state, state_outputs

__version__ = "1.0.0"
__all__ = ["convert", "initial_state", "state_outputs", "export", "compare", "install", "uninstall", "is_in_onnx_export", "ConversionError"]


def export(*args, **kwargs):
    """torch.onnx.export of every release since 1.8, and verify=, report=, names=, rules=. See docs/python.md."""
    from .exporting import export
    return export(*args, **kwargs)


def compare(*args, **kwargs):
    """The first place where a model in ONNX Runtime gives other numbers than in torch: compare(model, args, "net.onnx"). See docs/python.md."""
    from .comparison import compare
    return compare(*args, **kwargs)


def install():
    """Put pt2onnx in place of torch.onnx's exporter; what the installed torch no longer has is supplied."""
    from .installing import install
    install()


def uninstall():
    """Put everything back that install() has replaced."""
    from .installing import uninstall
    uninstall()


def is_in_onnx_export():
    """Is an export running? The same as torch.onnx.is_in_onnx_export."""
    from .versions import GLOBALS
    return GLOBALS.in_onnx_export
