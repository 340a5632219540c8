"""ONNX Runtime's default session: random programs of a few operators (tools/fusion_programs.py) give PyTorch's numbers there too.

`make fusions` runs thousands; here are a few dozen, and those that were wrong once.
"""
import os
import sys

import numpy
import onnxruntime
import pytest
import torch

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))
import fusions                                                          # noqa: E402
import oracle                                                           # noqa: E402

# A transposed matrix times a vector, which MatmulTransposeFusion of ONNX Runtime 1.31 computes wrongly: by itself, behind a cast, beside a
# bias, a convolution and attention. Five pad zeros before a maximum, which Pad_Fusion makes padding of the MaxPool.
# Then the tanh Gelu of a number, which FastGelu refuses, and a norm of casted integers, which LayerNormFusion takes for one of integers.
ONCE_WRONG = [3635, 190, 2091, 3333, 3556, 4288, 697, 1100, 20462, 22322, 24176, 22520, 23633, 20103, 18326]


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_programs_that_the_optimiser_made_wrong(seed):
    assert [f for f in fusions.judge((oracle.PROGRAM, seed)) if f[1] == "optimiser" or f[0] == "static"] == []


def test_what_a_file_says_it_assumes_is_no_find():
    """squeeze(0) of a dynamic size: the file says that it takes it for other than 1, which it is."""
    assert fusions.judge((oracle.PROGRAM, 23715)) == []


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.bias = (torch.nn.Parameter(torch.arange(n, n + 4.0)) for n in (1, 5))

    def forward(self, x):
        v = x.float()
        off = v - v.mean(-1, keepdim=True)
        return off / torch.sqrt(off.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale + self.bias


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.bool, torch.float16, torch.float64])
@pytest.mark.parametrize("options", [("--opset", "16"), ("--opset", "16", "--dynamic"), ("--dynamic",)])
def test_a_norm_of_casted_numbers_loads(tmp_path, options, dtype):
    """LayerNormFusion of ONNX Runtime 1.31 leaves the Cast out."""
    x = (torch.randn(3, 4, generator=torch.Generator().manual_seed(0)) * 5).to(dtype)
    fusions.saved(Normed(), [x], str(tmp_path / "net.pt"))
    oracle.converted(str(tmp_path / "net.pt"), str(tmp_path / "net.onnx"), *options)
    s = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    numpy.testing.assert_allclose(s.run(None, {s.get_inputs()[0].name: x.numpy()})[0], Normed()(x).detach().numpy(), rtol=1e-5, atol=1e-5)


def losses(s, feeds, want, runs):
    """In how many of these runs is a result of the session not what it is to be?"""
    return sum(any((w != g).any() for w, g in zip(want, s.run(None, feeds))) for _ in range(runs))


def threaded(path, threads=2):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])


class Summed(torch.nn.Module):
    def forward(self, x, i, u):
        wide = i[:, None].expand_as(u)
        return (x.index_put((i,), u, accumulate=True), x.reshape(5, 6, -1).index_put((i % 5, i % 6 - 3), u, accumulate=True),
                x.index_add(0, i, u), x.scatter_add(0, wide, u), x.scatter_reduce(0, wide, u, "amax", include_self=False))


@pytest.mark.parametrize("n", [1500, 9000, 15000])
@pytest.mark.parametrize("options", [(), ("--dynamic",)])
def test_threads_lose_no_update_of_a_place_that_repeats(tmp_path, options, n):
    """ScatterND of ONNX Runtime 1.31 does, in some of the runs: in one node of 1500 rows it does not, 9000 are done in parts."""
    torch.manual_seed(0)
    args = torch.zeros(30, 128), torch.randint(0, 30, (n,)), torch.randint(-9, 9, (n, 128)).float()
    fusions.saved(Summed(), args, str(tmp_path / "net.pt"))
    oracle.converted(str(tmp_path / "net.pt"), str(tmp_path / "net.onnx"), *options)
    s = threaded(str(tmp_path / "net.onnx"))
    feeds = {i.name: a.numpy() for i, a in zip(s.get_inputs(), args)}
    assert losses(s, feeds, [t.numpy() for t in Summed()(*args)], 5) == 0


@pytest.mark.parametrize("threads", [2, 3, 16])
@pytest.mark.parametrize("shape", [(200000,), (1562, 128)])
def test_so_many_updates_are_work_for_one_thread(threads, shape):
    """ONE_THREAD of src/tidy/legal/legal_scatter.c, 200,000 numbers, in one place of ScatterND: none is lost. That of ten times as many
    some are lost says that this would show, were it otherwise."""
    from onnx import TensorProto as T
    from onnx import helper as h
    graph = h.make_graph([h.make_node("ScatterND", ["x", "at", "u"], ["y"], reduction="add")], "g",
                         [h.make_tensor_value_info(n, t, [None] * r) for n, t, r in (("x", T.FLOAT, len(shape)), ("at", T.INT64, 2), ("u", T.FLOAT, len(shape)))],
                         [h.make_tensor_value_info("y", T.FLOAT, [None] * len(shape))])
    s = threaded(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9).SerializeToString(), threads)

    def lost(n, runs):
        u = numpy.ones((n, *shape[1:]), numpy.float32)
        x = numpy.zeros((2, *shape[1:]), numpy.float32)
        return losses(s, {"x": x, "at": numpy.zeros((n, 1), numpy.int64), "u": u}, [numpy.stack([x[0] + n, x[1]])], runs)
    assert lost(shape[0], 100) == 0
    assert any(lost(shape[0] * 10, 1) for _ in range(200))


def test_random_programs():
    found = {seed: fusions.judge((oracle.PROGRAM, seed)) for seed in range(60)}
    assert {s: f for s, f in found.items() if any(v in ("optimiser", "crashed") or form == "static" and v == "wrong" for form, v, _ in f)} == {}


def test_a_wrong_number_is_noticed():
    right, wrong = numpy.ones(3, numpy.float32), numpy.array([1, 1, 1.1], numpy.float32)
    assert fusions.verdicts("static", [right], [right], None, [right], None) == []
    assert fusions.verdicts("static", [right], [right], None, [wrong], None)[0][1] == "optimiser"
    assert fusions.verdicts("static", [right], [wrong], None, [wrong], None)[0][1] == "wrong"
    assert fusions.verdicts("static", [right], [right], None, None, "the session failed")[0][1] == "optimiser"


def test_known_finds_have_a_reason():
    known = fusions.known_finds()
    assert known and all(len(reason.split()) > 3 for reason in known.values())
