"""ONNX Runtime's default session: random programs of a few operators (tools/fusion_programs.py) give PyTorch's numbers there too.

`make fusions` runs thousands; here are a few dozen, and those that were wrong once.
"""
import os
import sys

import onnxruntime
import pytest
import torch

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))
import fusions                                                          # noqa: E402
import oracle                                                           # noqa: E402

# A transposed matrix times a vector, which MatmulTransposeFusion of ONNX Runtime 1.31 computes wrongly: by itself, behind a cast, beside a
# bias, a convolution and attention. Five pad zeros before a maximum, which Pad_Fusion makes padding of the MaxPool.
# The last is the tanh Gelu of a number, which FastGelu refuses.
ONCE_WRONG = [3635, 190, 2091, 3333, 3556, 4288, 697, 1100, 20462, 22322, 24176, 22520, 23633, 20103]


@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_programs_that_the_optimiser_made_wrong(seed):
    assert [f for f in fusions.judge((oracle.PROGRAM, seed)) if f[1] == "optimiser" or f[0] == "static"] == []


def test_what_a_file_says_it_assumes_is_no_find():
    """squeeze(0) of a dynamic size: the file says that it takes it for other than 1, which it is."""
    assert fusions.judge((oracle.PROGRAM, 23715)) == []


class Summed(torch.nn.Module):
    def forward(self, x, i, u):
        return x.index_put((i,), u, accumulate=True), x.reshape(5, 6, -1).index_put((i % 5, i % 6 - 3), u, accumulate=True)


@pytest.mark.parametrize("options", [(), ("--dynamic",)])
def test_threads_lose_no_update_of_a_place_that_repeats(tmp_path, options):
    """ScatterND of ONNX Runtime 1.31 does, in some of the runs."""
    torch.manual_seed(0)
    args = torch.zeros(30, 128), torch.randint(0, 30, (15000,)), torch.randint(0, 9, (15000, 128)).float()
    fusions.saved(Summed(), args, str(tmp_path / "net.pt"))
    oracle.converted(str(tmp_path / "net.pt"), str(tmp_path / "net.onnx"), *options)
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = 2
    s = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), o, providers=["CPUExecutionProvider"])
    feeds = {i.name: a.numpy() for i, a in zip(s.get_inputs(), args)}
    want = [t.numpy() for t in Summed()(*args)]
    for _ in range(5):
        assert all((w == g).all() for w, g in zip(want, s.run(None, feeds)))


def test_random_programs():
    found = {seed: fusions.judge((oracle.PROGRAM, seed)) for seed in range(60)}
    assert {s: f for s, f in found.items() if any(v in ("optimiser", "crashed") or form == "static" and v == "wrong" for form, v, _ in f)} == {}


def test_a_wrong_number_is_noticed():
    import numpy
    right, wrong = numpy.ones(3, numpy.float32), numpy.array([1, 1, 1.1], numpy.float32)
    assert fusions.verdicts("static", [right], [right], None, [right], None) == []
    assert fusions.verdicts("static", [right], [right], None, [wrong], None)[0][1] == "optimiser"
    assert fusions.verdicts("static", [right], [wrong], None, [wrong], None)[0][1] == "wrong"
    assert fusions.verdicts("static", [right], [right], None, None, "the session failed")[0][1] == "optimiser"


def test_known_finds_have_a_reason():
    known = fusions.known_finds()
    assert known and all(len(reason.split()) > 3 for reason in known.values())
