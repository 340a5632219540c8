"""Quantised models in hand, and quantised tensors as inputs and outputs: each is its integers, its scale and its zero point."""
import warnings

import numpy
import onnx
import pytest
import torch

import pt2onnx
from helpers import checked, names, run
from pt2onnx.verification import flat

quantized = torch.ao.nn.quantized
X = torch.quantize_per_tensor(torch.randn(1, 4, 2, 3), 0.26, 128, torch.quint8)
SIGNED = torch.quantize_per_tensor(torch.randn(3, 4), 0.2, 0, torch.qint8)


def conv():
    torch.manual_seed(1)
    layer = quantized.Conv2d(4, 5, 2)
    layer.set_weight_bias(torch.quantize_per_tensor(torch.randn(5, 4, 2, 2), 0.5, 0, torch.qint8), torch.arange(5.0) - 2)
    return layer


def within_a_step(model, torch_model, *args):
    """The runtime may round the other way what lies between two steps."""
    with torch.no_grad():
        want = flat(torch_model(*args))
    got = run(model, *flat(list(args), given=True))
    assert [(g.dtype, g.shape) for g in got] == [(w.dtype, w.shape) for w in want]
    for g, w in zip(got, want):
        numpy.testing.assert_allclose(g.astype(float), w.astype(float), atol=1 if w.ndim else 1e-6)


@pytest.mark.parametrize("make", [
    lambda: torch.nn.ReLU(), lambda: torch.nn.Sigmoid(), lambda: torch.nn.Flatten(0), conv,
    lambda: quantized.InstanceNorm2d(4, torch.nn.Parameter(torch.ones(4)), torch.nn.Parameter(torch.zeros(4)), 0.05, 100),
    lambda: quantized.Hardswish(2.0, 1)], ids=["relu", "sigmoid", "flatten", "conv", "instance_norm", "hardswish"])
def test_quantised_inputs_and_outputs(make):
    model = make()
    within_a_step(checked(model, X), model, X)


def test_the_parts_have_names():
    model = checked(torch.nn.ReLU(), X, input_names=["x"], output_names=["y", "scale", "zero"], dynamic_axes={"x": {0: "n"}})
    assert names(model.graph.input) == ["x", "x.scale", "x.zero_point"] and names(model.graph.output) == ["y", "scale", "zero"]
    kinds = [v.type.tensor_type.elem_type for v in list(model.graph.input) + list(model.graph.output)]
    p = onnx.TensorProto
    assert kinds == [p.UINT8, p.DOUBLE, p.INT64, p.UINT8, p.FLOAT, p.UINT8]
    within_a_step(model, torch.nn.ReLU(), torch.cat([X, X]))


def test_from_and_to_floats():
    both = lambda x: (torch.quantize_per_tensor(x, 0.2, 0, torch.qint8), torch.quantize_per_tensor(x, 0.2, 128, torch.quint8))
    for function, x in ((both, torch.randn(4, 6)), (torch.dequantize, SIGNED)):
        within_a_step(checked(function, x), function, x)


def test_a_converted_module():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.fc, self.dequant = torch.ao.quantization.QuantStub(), torch.nn.Linear(4, 3), torch.ao.quantization.DeQuantStub()

        def forward(self, x):
            return self.dequant(self.fc(self.quant(x)))
    net = Net().eval()
    net.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = torch.ao.quantization.prepare(net)
        net(torch.randn(8, 4))
        net = torch.ao.quantization.convert(net)
    result = pt2onnx.export(net, torch.randn(2, 4), input_names=["x"], verify=True, atol=0.05)
    assert result.verification.ok and result.input_names == ["x"]


class Scaled(torch.nn.Module):
    """Numbers beside a quantised layer, and a dict of results."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return {"y": self.linear(x) * 2 + 1}


def test_numbers_and_a_dict_in_a_converted_module():
    net = torch.ao.quantization.quantize_dynamic(Scaled().eval(), {torch.nn.Linear}, dtype=torch.qint8)
    x = torch.randn(3, 4)
    model = pt2onnx.export(net, (x,), verify=True, rtol=0.05, atol=0.05)
    assert len(model.output_names) == 1


def test_what_cannot_be_said():
    with pytest.raises(TypeError, match="quint8 or qint8"):
        checked(torch.nn.ReLU(), torch.quantize_per_tensor(torch.randn(2), 0.1, 0, torch.qint32))


class ByChannel(torch.nn.Module):
    def forward(self, x):
        return torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 1, torch.qint8)


def test_an_output_with_a_scale_for_each_channel():
    x = torch.randn(2, 3)
    model = checked(ByChannel(), x)
    assert "of each index of axis 1" in {p.key: p.value for p in model.metadata_props}["pt2onnx.changed"]
    within_a_step(model, ByChannel(), x)
