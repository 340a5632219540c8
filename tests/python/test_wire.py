"""test_wire.py - what the writer writes, seen by onnx.checker and ONNX Runtime. The models come from tests/tools/wire_samples.c."""
import os
import subprocess

import numpy
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import oracle

SAMPLES = ["linear", "linear_external", "linear_9", "linear_28", "turned", "branch", "types"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("wire")
    subprocess.run([os.path.join(oracle.BUILD, "wire_samples"), str(where)], check=True)
    return where


def all_names(graph):
    """Names of values, over all scopes: every definition."""
    names = [i.name for i in graph.input] + [t.name for t in graph.initializer]
    for node in graph.node:
        names += [o for o in node.output if o]
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                names += all_names(a.g)
    return names


@pytest.mark.parametrize("name", SAMPLES)
def test_checker_accepts_it(folder, name):
    onnx.checker.check_model(str(folder / (name + ".onnx")), full_check=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_names_are_unique_and_values_typed(folder, name):
    model = onnx.load(folder / (name + ".onnx"), load_external_data=False)
    names = all_names(model.graph)
    assert len(names) == len(set(names))
    typed = {v.name for v in list(model.graph.value_info) + list(model.graph.output) if v.type.tensor_type.HasField("shape")}
    assert {o for n in model.graph.node for o in n.output} <= typed
    assert model.producer_name == "pt2onnx" and model.metadata_props[0].key == "pt2onnx.assumed"


def test_ir_version_is_the_lowest(folder):
    for name, ir in (("linear_9", 4), ("linear", 8), ("types", 10), ("linear_28", 14)):
        assert onnx.load(folder / (name + ".onnx")).ir_version == ir


def weight(rows, columns):
    return (numpy.arange(rows * columns, dtype=numpy.float32) / 64).reshape(rows, columns)


@pytest.mark.parametrize("name", ["linear", "linear_external", "linear_9"])
def test_linear_runs(folder, name):
    x = numpy.random.default_rng(0).normal(size=(5, 32)).astype(numpy.float32)
    y, = onnxruntime.InferenceSession(folder / (name + ".onnx")).run(None, {"x": x})
    expected = numpy.maximum(x @ weight(32, 16) + numpy.arange(16, dtype=numpy.float32) / 64, 0)
    numpy.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-4)


def test_names_of_modules_and_weights(folder):
    graph = onnx.load(folder / "linear.onnx").graph
    assert [n.name for n in graph.node] == ["/net/fc/MatMul", "/net/fc/Add", "/Relu"]
    assert graph.node[0].output[0] == "/net/fc/MatMul_output_0"
    assert [t.name for t in graph.initializer] == ["net.fc.weight", "net.fc.bias"]
    props = {p.key: p.value for p in graph.node[0].metadata_props}
    assert props == {"pt2onnx.module": "net.fc", "pt2onnx.class": "torch.nn.modules.linear.Linear"}


def test_external_data_holds_the_large_ones(folder):
    graph = onnx.load(folder / "linear_external.onnx", load_external_data=False).graph
    assert [t.data_location for t in graph.initializer] == [onnx.TensorProto.EXTERNAL, onnx.TensorProto.DEFAULT]
    assert (folder / "linear_external.onnx.data").stat().st_size == 32 * 16 * 4


def test_a_transposed_weight_is_gathered(folder):
    graph = onnx.load(folder / "turned.onnx").graph
    assert graph.initializer[0].name == "weight.T"
    numpy.testing.assert_array_equal(numpy_helper.to_array(graph.initializer[0]), weight(16, 32).T)


def test_both_arms_see_the_weight(folder):
    session = onnxruntime.InferenceSession(folder / "branch.onnx")
    x, w = numpy.ones(8, numpy.float32), numpy.arange(8, dtype=numpy.float32) / 64
    for c, expected in ((True, x + w), (False, x * w)):
        numpy.testing.assert_allclose(session.run(None, {"c": numpy.array(c), "x": x})[0], expected, rtol=1e-6)


def test_every_element_type(folder):
    graph = onnx.load(folder / "types.onnx").graph
    arrays = {t.name: t for t in graph.initializer}
    source = {n.output[0]: arrays[n.input[0]] for n in graph.node}
    assert len(source) == 22 - 1 + 3                                    # strings have their own
    assert numpy_helper.to_array(source["out_bool"]).tolist() == [True, False, True]
    assert numpy_helper.to_array(source["out_uint8"]).tolist() == [1, 0, 1]
    assert numpy_helper.to_array(source["out_empty"]).shape == (0, 5)
    assert numpy_helper.to_array(source["out_scalar"]) == 0.1
    assert numpy_helper.to_array(source["out_text"]).tolist() == "text"
