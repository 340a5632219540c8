"""The quantised models of tests/programs/quantised, in ONNX Runtime's default session and without its optimizations. Needs no torch."""
import glob
import os
import sys

import numpy
import onnxruntime
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import oracle                                                       # noqa: E402

MODELS = sorted(glob.glob(os.path.join(HERE, "..", "programs", "quantised", "*.pt")))


@pytest.mark.parametrize("opset", [13, 18, 25])
@pytest.mark.parametrize("path", MODELS, ids=[os.path.basename(p)[:-3] for p in MODELS])
def test_quantised(path, opset, tmp_path):
    run = numpy.load(path[:-3] + ".npz")
    out = tmp_path / "model.onnx"
    oracle.converted(path, out, "--opset", str(opset))
    oracle.check(out)
    for level in (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
        got, = session.run(None, {x.name: run["x%s" % (i or "")] for i, x in enumerate(session.get_inputs())})
        assert numpy.abs(got - run["y"]).max() < 1e-5               # a step is at least 1/256


def test_a_scale_for_each_channel_needs_opset_13(tmp_path):
    done = oracle.convert(os.path.join(HERE, "..", "programs", "quantised", "images.pt"), tmp_path / "model.onnx", "--opset", "12")
    assert done.returncode == 1 and "weights with a scale for each channel needs ONNX opset 13" in done.stderr


def test_there_are_models():
    assert len(MODELS) == 5
