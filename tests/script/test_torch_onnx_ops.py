"""torch.onnx.ops: operators of ONNX that a program calls by their name."""
import os
import sys

import onnx
import pytest
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402

ops = pytest.importorskip("torch.onnx.ops")


class Rotary(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x, cos, sin, *positions):
        return ops.rotary_embedding(x, cos, sin, *positions, **self.options)


class Attention(nn.Module):
    """As many of the results as asked for: the values, keys and values with the past, scores."""
    def __init__(self, results, **options):
        super().__init__()
        self.results, self.options = results, options

    def forward(self, *inputs):
        return ops.attention(*inputs, **self.options)[:self.results]


def rand(*shape):
    return torch.rand(*shape)


ROWS = torch.randint(0, 10, (2, 6))
FLAT = {"q_num_heads": 4, "kv_num_heads": 2}
CASES = {
    "rotary": (Rotary(), (rand(2, 4, 6, 8), rand(10, 4), rand(10, 4), ROWS)),
    "rotary_interleaved": (Rotary(interleaved=True), (rand(2, 4, 6, 8), rand(10, 4), rand(10, 4), ROWS)),
    "rotary_flat": (Rotary(num_heads=4), (rand(2, 6, 32), rand(2, 6, 4), rand(2, 6, 4))),
    "rotary_part": (Rotary(rotary_embedding_dim=4), (rand(2, 4, 6, 8), rand(10, 2), rand(10, 2), ROWS)),
    "attention": (Attention(1), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8))),
    "mask": (Attention(1, scale=0.3), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8), rand(6, 5) > 0.3)),
    "bias": (Attention(1), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8), rand(6, 5))),
    "capped": (Attention(1, softcap=2.0, softmax_precision=1), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8))),
    "capped_scores": (Attention(4, qk_matmul_output_mode=2, softcap=2.0), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8))),
    "weights": (Attention(4, qk_matmul_output_mode=3), (rand(2, 4, 6, 8), rand(2, 4, 5, 8), rand(2, 4, 5, 8), rand(6, 5))),
    "causal": (Attention(1, is_causal=True), (rand(2, 4, 6, 8), rand(2, 4, 6, 8), rand(2, 4, 6, 8))),
    "grouped": (Attention(1, **FLAT), (rand(2, 6, 32), rand(2, 6, 16), rand(2, 6, 16))),
    "past": (Attention(3, **FLAT), (rand(2, 6, 32), rand(2, 6, 16), rand(2, 6, 16), None, rand(2, 2, 3, 8), rand(2, 2, 3, 8))),
    "scores": (Attention(4, **FLAT), (rand(2, 6, 32), rand(2, 6, 16), rand(2, 6, 16), None, rand(2, 2, 3, 8), rand(2, 2, 3, 8))),
}


def save(model, inputs, tmp_path):
    torch.export.save(torch.export.export(model, inputs), str(tmp_path / "model.pt2"))
    return tmp_path / "model.pt2"


@pytest.mark.parametrize("name", CASES)
def test_the_operator_itself(name, tmp_path):
    model, inputs = CASES[name]
    out = tmp_path / "model.onnx"
    oracle.converted(save(model, inputs, tmp_path), out, "--opset", "23")
    oracle.check(out)
    wanted = model(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    oracle.run(out, [([x.numpy() for x in inputs if x is not None], [y.numpy() for y in wanted])])
    node, = onnx.load(str(out)).graph.node
    assert node.op_type == {"r": "RotaryEmbedding"}.get(type(model).__name__[0].lower(), "Attention") and len(node.output) == len(wanted)


def test_below_opset_23_is_refused(tmp_path):
    done = oracle.convert(save(*CASES["rotary"], tmp_path), tmp_path / "model.onnx")
    assert done.returncode == 1 and "torch.onnx.ops.rotary_embedding needs ONNX opset 23" in done.stderr and "--opset 23" in done.stderr, done.stderr


@pytest.mark.parametrize("name, options, says", [
    ("past", {"is_causal": True, **FLAT}, "counts the positions of a causal mask without the past"),
    ("bias", {"softcap": 2.0}, "masks the scores before softcap"),
    ("bias", {"qk_matmul_output_mode": 1}, "gives masked scores for qk_matmul_output_mode=1"),
    ("causal", {"softcap": 2.0, "is_causal": True}, "masks the scores before softcap"),
])
def test_what_pytorch_runs_otherwise(name, options, says, tmp_path):
    """PyTorch 2.13's own run sees other tokens than ONNX's operator."""
    done = oracle.convert(save(Attention(1, **options), CASES[name][1], tmp_path), tmp_path / "model.onnx", "--opset", "23")
    assert done.returncode == 1 and says in done.stderr, done.stderr
