"""Forms that ONNX Runtime knows: what its default session and its tools make of programs as people write them."""
import collections

import onnx
import onnxruntime
import torch
from torch import nn

import oracle


def converted(folder, net, *args):
    """The model of a trace of net."""
    saved, made = str(folder / "net.pt"), str(folder / "net.onnx")
    with torch.no_grad():
        torch.jit.trace(net.eval(), args, check_trace=False).save(saved)
    oracle.converted(saved, made)
    return made


def nodes(model):
    return collections.Counter(n.op_type for g in oracle.graphs(model.graph) for n in g.node if n.op_type != "Constant")


def nodes_of_session(folder, made, net, *args):
    """The nodes that a default session has left of the model; its numbers are PyTorch's."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "left.onnx")
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    with torch.no_grad():
        want = net.eval()(*args)
    feeds = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args)}
    oracle.compare(session.run(None, feeds), [t.numpy() for t in (want if isinstance(want, tuple) else (want,))])
    return nodes(onnx.load(options.optimized_model_filepath))


class RootMeanSquare(nn.Module):
    """As T5 and Llama write it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


def test_a_norm_with_rsqrt_is_one_node_of_a_default_session(tmp_path):
    net, x = RootMeanSquare(8), torch.randn(2, 3, 8)
    made = converted(tmp_path, net, x)
    assert nodes_of_session(tmp_path, made, net, x) == {"SimplifiedLayerNormalization": 1}
