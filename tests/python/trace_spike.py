"""trace_spike.py - run by test_trace_spike.py under each torch: exports a model that needs two Python callbacks, and says as
JSON what came back. usage: trace_spike.py DIR"""
import json
import os
import sys
import warnings

import torch

import pt2onnx

warnings.simplefilter("ignore")


class MulAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b + 1

    @staticmethod
    def symbolic(g, a, b):
        return g.op("Add", g.op("Mul", a, b), g.op("Constant", value_t=torch.tensor(1.0)))


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope, perm):
        return torch.nn.functional.leaky_relu(x, slope).permute(perm)

    @staticmethod
    def symbolic(g, x, slope, perm):
        return g.op("Transpose", g.op("LeakyRelu", x, alpha_f=slope), perm_i=perm)


class Opaque(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)

    def forward(self, x):
        y = torch.asinh(self.fc(x))
        y = MulAdd.apply(y, y.view(y.size(0), -1) * 2)
        return Leaky.apply(y - 1.5, 0.25, [1, 0])


class OpaqueNet(torch.nn.Module):
    def forward(self, x):
        return Opaque.apply(x)


calls = []


def asinh(g, x):
    calls.append(x.type().scalarType())
    return g.op("Asinh", x)


def broken(g, x):
    raise KeyError("mine")


def raised(model, x, out):
    """The exception of an export, as [type, text]; nothing may be left behind."""
    try:
        pt2onnx.export(model, x, out)
    except Exception as e:
        return [type(e).__name__, str(e), os.path.exists(out)]
    return None


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3)
    notes = []
    torch.onnx.register_custom_op_symbolic("aten::asinh", broken, 9)
    answer = {"torch": torch.__version__, "broken": raised(net, x, os.path.join(folder, "broken.onnx")),
              "opaque": raised(OpaqueNet(), x, os.path.join(folder, "opaque.onnx"))}
    torch.onnx.register_custom_op_symbolic("aten::asinh", asinh, 9)
    pt2onnx.export(net, (x,), os.path.join(folder, "net.onnx"), input_names=["x"], output_names=["y"],
                   on_note=lambda kind, text: notes.append(text))
    with torch.no_grad():
        answer.update(calls=calls, notes=notes, x=x.tolist(), y=net(x).tolist(), weight=net.fc.weight.tolist())
    print(json.dumps(answer))


main()
