"""dynamo_export.py - torch.onnx.dynamo_export and ExportOptions, which torch 2.1 to 2.5 had in the place of export(.., dynamo=True)."""
import inspect

import torch

from .exporting import export
from .versions import has_export


class ExportOptions:
    """dynamic_shapes=True opens all sizes."""

    def __init__(self, *, dynamic_shapes=None, fake_context=None, onnx_registry=None, **_):
        if fake_context is not None or onnx_registry is not None:
            raise RuntimeError("pt2onnx: fake_context and onnx_registry are not supported: give export a model in hand, and operators as custom_translation_table")
        self.dynamic_shapes = dynamic_shapes


def dynamo_export(model, /, *model_args, export_options=None, **model_kwargs):
    if not has_export():
        raise RuntimeError("dynamo_export needs torch.export, which torch %s does not have: use torch.onnx.export" % torch.__version__)
    shapes = open_shapes(model, model_args, model_kwargs) if export_options is not None and export_options.dynamic_shapes else None
    return export(model, model_args, None, kwargs=model_kwargs, dynamo=True, dynamic_shapes=shapes)


def open_shapes(model, args, kwargs):
    """dynamic_shapes for torch.export: torch finds out which sizes can be open."""
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    given = inspect.signature(forward).bind(*args, **kwargs).arguments
    return torch.utils._pytree.tree_map(lambda v: {a: torch.export.Dim.AUTO for a in range(v.dim())} if isinstance(v, torch.Tensor) else None, dict(given))
