"""test_trace_spike.py - the Python package: a trace graph handed over in one call, with a callback for a registered symbolic
(aten::asinh) and for autograd Functions. Under torch 2.x, and torch 1.13 where Debian's Python has it."""
import json
import os
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import pytest

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHONS = [sys.executable, "/usr/bin/python3"]


@pytest.fixture(scope="module", params=PYTHONS, ids=["this", "debian"])
def spike(request, tmp_path_factory):
    if subprocess.run([request.param, "-c", "import torch"], capture_output=True).returncode != 0:
        pytest.skip("%s has no torch" % request.param)
    folder = tmp_path_factory.mktemp("spike")
    env = {**os.environ, "PYTHONPATH": os.path.join(oracle.TOP, "python"), "PT2ONNX_LIBRARY": os.path.join(oracle.BUILD, "libpt2onnx.so")}
    done = subprocess.run([request.param, os.path.join(HERE, "trace_spike.py"), str(folder)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_the_model_gives_torchs_numbers(spike):
    folder, answer = spike
    onnx.checker.check_model(str(folder / "net.onnx"), full_check=True)
    y, = onnxruntime.InferenceSession(folder / "net.onnx").run(["y"], {"x": numpy.array(answer["x"], numpy.float32)})
    numpy.testing.assert_allclose(y, numpy.array(answer["y"], numpy.float32), rtol=1e-5, atol=1e-6)


def test_each_symbolic_was_called_once_with_its_types(spike):
    assert spike[1]["calls"] == ["Float"]


def test_nodes_and_names(spike):
    graph = onnx.load(spike[0] / "net.onnx").graph
    assert {"Asinh", "LeakyRelu", "Transpose"} <= {n.op_type for n in graph.node}
    assert [i.name for i in graph.input] == ["x"] and [o.name for o in graph.output] == ["y"]
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    numpy.testing.assert_array_equal(weights["fc.weight"], numpy.array(spike[1]["weight"], numpy.float32))
    assert any(n.name.startswith("/fc/") for n in graph.node)
    sources = [p.value for n in graph.node for p in n.metadata_props if p.key == "pt2onnx.source"]
    assert any("trace_spike.py:" in s for s in sources)


def test_an_exception_of_the_callback_comes_back_as_itself(spike):
    assert spike[1]["broken"] == ["KeyError", "'mine'", False]


def test_a_function_without_symbolic_is_named(spike):
    kind, text, left = spike[1]["opaque"]
    assert kind == "RuntimeError" and "Opaque" in text and not left
