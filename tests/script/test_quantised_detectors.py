"""Whole detectors that were trained and quantised (tests/programs/detectors): ONNX Runtime finds what PyTorch found, in a default session and without optimisations. Needs no torch."""
import glob
import os
import sys

import numpy
import onnx
import onnxruntime
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import oracle                                                       # noqa: E402

DETECTORS = sorted(glob.glob(os.path.join(HERE, "..", "programs", "detectors", "*.pt")))
LEVELS = (onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)


def overlap(a, b):
    """Of boxes a[N, 4] and b[M, 4]: the shared area of the whole one, [N, M]."""
    inside = (numpy.minimum(a[:, None, 2:], b[None, :, 2:]) - numpy.maximum(a[:, None, :2], b[None, :, :2])).clip(0).prod(2)
    return inside / ((a[:, 2:] - a[:, :2]).prod(1)[:, None] + (b[:, 2:] - b[:, :2]).prod(1)[None] - inside)


def found(run):
    """Boxes, scores and labels that PyTorch found in each image."""
    ends = numpy.cumsum(run["counts"])[:-1]
    return zip(*(numpy.split(run[name], ends) for name in ("boxes", "scores", "labels")))


@pytest.mark.parametrize("options", [(), ("--target=onnx",), ("--opset=13",)], ids=lambda o: " ".join(o) or "default")
@pytest.mark.parametrize("path", DETECTORS, ids=[os.path.basename(p)[:-3] for p in DETECTORS])
def test_quantised_detector(path, options, tmp_path):
    run, out, optimised = numpy.load(path[:-3] + ".npz"), tmp_path / "model.onnx", tmp_path / "optimised.onnx"
    oracle.converted(path, out, *options)
    graph = onnx.load(str(out)).graph
    last = [n for n in graph.node if n.op_type == "QuantizeLinear"][-1]
    step = next(float(onnx.numpy_helper.to_array(i)) for i in graph.initializer if i.name == last.input[1])
    assert run["counts"].sum() >= 16 and len(set(run["labels"])) == 3
    for level in LEVELS:
        told = onnxruntime.SessionOptions()
        told.graph_optimization_level, told.log_severity_level, told.optimized_model_filepath = level, 3, str(optimised)
        session = onnxruntime.InferenceSession(str(out), told, providers=["CPUExecutionProvider"])
        for image, (boxes, scores, labels) in zip(run["images"], found(run)):
            got = session.run(None, {session.get_inputs()[0].name: image[None].astype(numpy.float32) / 255})
            assert sorted(got[2]) == sorted(labels)
            best = (overlap(boxes, got[0]) * (labels[:, None] == got[2][None])).argmax(1)
            assert len(set(best)) == len(labels)
            # What the last layer says of a box: its middle in cells of 8 pixels, the logarithm of its size, and a score before its sigmoid. Each is a step off at most.
            said = [numpy.concatenate([(b[:, :2] + b[:, 2:]) / 16, numpy.log(b[:, 2:] - b[:, :2])], 1) for b in (boxes, got[0][best])]
            assert numpy.abs(said[0] - said[1]).max() <= 1.01 * step and numpy.abs(scores - got[1][best]).max() <= step / 4
    run_as = [n.op_type for n in onnx.load(str(optimised)).graph.node]
    assert run_as.count("QLinearConv") == 13 and "QLinearAdd" in run_as and not {"Conv", "FusedConv"} & set(run_as)


def test_there_are_detectors():
    assert len(DETECTORS) == 2
