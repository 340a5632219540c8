"""An operator that ONNX cannot say stays as it is: a node ATen of the domain org.pytorch.aten, for a runtime that knows it.

    python examples/operators/kept_as_aten.py model.onnx"""
import sys

import torch

import pt2onnx


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.nextafter(x, x) * 2


pt2onnx.export(Net(), torch.rand(2, 3), sys.argv[1], operator_export_type=torch.onnx.OperatorExportTypes.ONNX_ATEN_FALLBACK)
