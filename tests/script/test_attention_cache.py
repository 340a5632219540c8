"""Keys and values that grow by those of each run: from opset 23 on the cache goes in and out of Attention itself, whose heads stay grouped."""
import numpy
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor

from scripted import flat, oracle, save

HEADS, GROUPS, SIZE = 4, 2, 8
SPECS = ("q:float32[batch=1..64,4,length=1..64,8]", "k:float32[batch,2,length,8]", "v:float32[batch,2,length,8]",
         "past_k:float32[batch,2,past,8]", "past_v:float32[batch,2,past,8]", "padding:int64[batch]")
NAMES = [s.split(":")[0] for s in SPECS]


def repeated(x: Tensor) -> Tensor:
    b, h, s, e = x.shape
    return x[:, :, None].expand(b, h, 2, s, e).reshape(b, h * 2, s, e)


def seen(q: Tensor, k: Tensor, padding: Tensor) -> Tensor:
    """Each token sees those before it that are no padding."""
    keys = torch.arange(k.shape[2])
    rows = torch.arange(q.shape[2]) + (k.shape[2] - q.shape[2])
    return (keys[None] <= rows[:, None]) & (keys >= padding[:, None, None, None])


class Cached(torch.nn.Module):
    """As transformers writes it: repeat_kv, a mask that holds the causal one."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor, padding: Tensor):
        k = torch.cat([past_k, k], dim=-2)
        v = torch.cat([past_v, v], dim=-2)
        y = torch.nn.functional.scaled_dot_product_attention(q, repeated(k), repeated(v), seen(q, k, padding), scale=0.3)
        return y, k, v


class Shared(torch.nn.Module):
    """The same, asking for grouped heads."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor, padding: Tensor):
        k = torch.cat([past_k, k], dim=-2)
        v = torch.cat([past_v, v], dim=-2)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, seen(q, k, padding), enable_gqa=True)
        return y, k, v


class Causal(torch.nn.Module):
    """is_causal counts from the first key in PyTorch, and from the past in ONNX: no cache of Attention's."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor, padding: Tensor):
        k = torch.cat([past_k, k], dim=-2)
        v = torch.cat([past_v, v], dim=-2)
        return torch.nn.functional.scaled_dot_product_attention(q, repeated(k), repeated(v), is_causal=True), k, v


class Looked(torch.nn.Module):
    """Something else reads the keys too."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor, padding: Tensor):
        k = torch.cat([past_k, k], dim=-2)
        v = torch.cat([past_v, v], dim=-2)
        y = torch.nn.functional.scaled_dot_product_attention(q, repeated(k), repeated(v), seen(q, k, padding))
        return y + k.sum(), k, v


def drawn(batch, length, past):
    """The last row has padding at its left: where it has no more than that, a token sees nothing."""
    torch.manual_seed(length)
    new = [torch.randn(batch, h, length, SIZE) for h in (HEADS, GROUPS, GROUPS)]
    old = [torch.randn(batch, GROUPS, past, SIZE) for _ in range(2)]
    padding = torch.zeros(batch, dtype=torch.int64)
    padding[-1] = (past + length) // 2
    return [*new, *old, padding]


RUNS = [(1, 1, 0), (2, 3, 0), (2, 3, 5), (1, 1, 7), (3, 1, 1), (1, 4, 2)]


def sessions(path):
    for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        yield onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("opset", (18, 23, 24))
@pytest.mark.parametrize("net", (Cached, Shared, Causal, Looked))
def test_a_cache(tmp_path, net, opset):
    module, out = net().eval(), tmp_path / "model.onnx"
    oracle.converted(save(module, tmp_path), out, "--opset", str(opset), *(w for s in SPECS for w in ("-i", s)))
    oracle.check(out)
    for session in sessions(out):
        names = [i.name for i in session.get_inputs()]
        for sizes in RUNS:
            xs = drawn(*sizes)
            feeds = {n: x.numpy() for n, x in zip(NAMES, xs) if n in names}
            oracle.compare(session.run(None, feeds), flat(module(*xs)), "%s: " % (sizes,))


class Masked(torch.nn.Module):
    """The caller makes the mask; its size is a sum of sizes."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor, mask: Tensor):
        k = torch.cat([past_k, k], dim=-2)
        v = torch.cat([past_v, v], dim=-2)
        return torch.nn.functional.scaled_dot_product_attention(q, repeated(k), repeated(v), mask), k, v


def test_a_mask_whose_size_is_a_sum(tmp_path):
    path, out, specs = save(Masked().eval(), tmp_path), tmp_path / "model.onnx", [*SPECS[:5], "mask:bool[batch,1,length,past+length]"]
    oracle.converted(path, out, "--opset", "23", *(w for s in specs for w in ("-i", s)))
    graph = onnx.load(str(out)).graph
    assert [len(n.input) for n in graph.node if n.op_type == "Attention"] == [6]
    assert graph.input[5].type.tensor_type.shape.dim[3].dim_param == "length + past"
    for session in sessions(out):
        for sizes in RUNS:
            *xs, padding = drawn(*sizes)
            xs.append(seen(xs[0], torch.cat([xs[3], xs[1]], 2), padding))
            oracle.compare(session.run(None, dict(zip([*NAMES[:5], "mask"], [x.numpy() for x in xs]))), flat(Masked()(*xs)), "%s: " % (sizes,))


def test_what_is_written(tmp_path):
    for net, inputs in ((Cached, 6), (Shared, 6), (Causal, 3), (Looked, 4)):
        out = tmp_path / "model.onnx"
        oracle.converted(save(net(), tmp_path), out, "--opset", "23", *(w for s in SPECS for w in ("-i", s)))
        nodes = onnx.load(str(out)).graph.node
        attention = [n for n in nodes if n.op_type == "Attention"]
        assert [len(n.input) for n in attention] == [inputs], net
        assert sum(n.op_type == "Expand" for n in nodes) == 0, net                  # no key is repeated
        assert sum(n.op_type == "Concat" for n in nodes) == (0 if inputs == 6 else 2), net


def test_a_key_that_is_not_a_number(tmp_path):
    """It shows in the rows that see it, also where it comes from the cache."""
    out = tmp_path / "model.onnx"
    oracle.converted(save(Cached(), tmp_path), out, "--opset", "23", *(w for s in SPECS for w in ("-i", s)))
    xs = drawn(1, 3, 2)
    xs[5][:] = 0
    xs[3][0, 1, 0, 0] = float("nan")
    want = flat(Cached()(*xs))
    for session in sessions(out):
        got = session.run(None, {n: x.numpy() for n, x in zip(NAMES, xs)})
        for a, b in zip(got, want):
            assert (numpy.isnan(a) == numpy.isnan(b)).all()
