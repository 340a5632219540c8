"""tools/opinfo.py's judgement: what is called right, and that each way of being wrong is noticed. No torch, no samples."""
import os
import stat
import sys

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import opinfo_judge as J                                            # noqa: E402
import opinfo_tolerance as T                                        # noqa: E402


def packed(a):
    return a.dtype.name, a.shape, a.tobytes()


def model(op, a, b, result):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in (("a", a), ("b", b), ("y", result))]
    graph = helper.make_graph([helper.make_node(op, ["a", "b"], ["y"])], "g", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


def judged(op, wanted, a=numpy.float32([6, 3]), b=numpy.float32([3, 2]), kind="exact"):
    sample = {"inputs": [packed(a), packed(b)], "outputs": [packed(wanted)], "kind": kind}
    return J.judge("add", sample, model(op, a, b, a * b))


def test_the_same_is_right():
    assert judged("Mul", numpy.float32([18, 6])) == ("right", "")


@pytest.mark.parametrize("wanted,why", [
    (numpy.float32([18, 6.1]), "1 of 2 differ"), (numpy.float32([[18, 6]]), "shape [2], torch has [1, 2]"), (numpy.float64([18, 6]), "dtype float32, torch has float64"),
    (numpy.float32([18, numpy.nan]), "NaN: 1 of 2"), (numpy.float32([18, numpy.inf]), "infinity: 1 of 2"),
])
def test_a_difference_is_wrong(wanted, why):
    verdict, reason = judged("Mul", wanted)
    assert verdict == "wrong" and why in reason


def test_ints_must_be_equal():
    a, b = numpy.int64([2 ** 60, 3]), numpy.int64([1, 2])
    assert judged("Mul", numpy.int64([2 ** 60, 6]), a, b)[0] == "right"
    assert judged("Mul", numpy.int64([2 ** 60 + 1, 6]), a, b)[0] == "wrong"


def test_random_results_have_a_dtype_and_a_shape():
    assert judged("Mul", numpy.float32([1, 2]), kind="random") == ("unchecked", "random")
    assert judged("Mul", numpy.float32([1, 2, 3]), kind="random")[0] == "wrong"


def test_what_onnx_runtime_cannot_load_is_told_apart():
    a = numpy.float32([1, 2])
    broken = onnx.load_from_string(model("Mul", a, a, a))
    broken.graph.node[0].op_type = "Mull"
    sample = {"inputs": [packed(a), packed(a)], "outputs": [packed(a)], "kind": "exact"}
    assert J.judge("mul", sample, broken.SerializeToString())[0] == "wrong"
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [1, 4, 1, 1])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [1, 1, 2, 2])
    graph = helper.make_graph([helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2)], "g", [x], [y])
    ints = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    assert J.judge("pixel_shuffle", sample, ints.SerializeToString())[0] == "nokernel"


def test_ties_may_be_found_elsewhere():
    x = numpy.float32([[3, 1, 3], [2, 2, 1]])
    values = numpy.float32([[3], [2]])
    assert T.lead_to("topk", x, values, numpy.int64([[2], [1]]))
    assert not T.lead_to("topk", x, values, numpy.int64([[1], [1]]))
    assert not T.lead_to("gather", x, values, numpy.int64([[2], [1]]))


def test_the_order_of_equal_elements_is_open_unless_the_sort_is_stable():
    x, torch = numpy.int64([[2, 1, 2]]), numpy.int64([[1, 2, 0]])
    assert T.same_order("argsort", x, numpy.int64([[1, 0, 2]]), torch)
    assert not T.same_order("argsort", x, numpy.int64([[0, 1, 2]]), torch) and not T.same_order("argsort", x, numpy.int64([[1, 0, 0]]), torch)
    assert not T.same_order("gather", x, numpy.int64([[1, 0, 2]]), torch)
    sample = {"inputs": [packed(x)], "call": "argsort(int64[1,3])"}
    assert J.equal_found_first("argsort", sample, 0, None, numpy.int64([[1, 0, 2]]), torch)
    sample["call"] = "argsort(int64[1,3], stable=True)"
    assert not J.equal_found_first("argsort", sample, 0, None, numpy.int64([[1, 0, 2]]), torch)


def test_vectors_may_be_turned_by_a_factor_of_size_1():
    values, u, v = numpy.float64([3, 2]), numpy.eye(2) * [1j, -1], numpy.eye(2) * [1, 1j]
    torch, other = [u, values, v.conj().T], [u * 1j, values, (v * 1j).conj().T]

    def same(a, b):
        told = [T.determined("linalg.svd", [T.as_pairs(x) for x in r]) for r in (a, b)]
        return all(T.differs("linalg.svd", "float64", x, y) is None for x, y in zip(*told))
    assert same(torch, other)
    assert not same(torch, [u * 1j, values, v.conj().T]) and not same(torch, [u, values, v.T])


def test_bfloat16_travels_as_its_bits():
    dtype, bits = J.unpacked(("bfloat16", (2,), numpy.uint16([0x3f80, 0xc000]).tobytes()))
    assert (dtype, J.widened(dtype, bits).tolist()) == ("bfloat16", [1.0, -2.0])


@pytest.mark.parametrize("code,verdict", [(1, "refused"), (4, "wrong"), (3, "wrong")])
def test_only_a_refusal_is_a_refusal(tmp_path, code, verdict):
    program = tmp_path / "pt2onnx"
    program.write_text("#!/bin/sh\necho 'pt2onnx: model.pt: because' >&2\nexit %d\n" % code)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    job = {"form": "pt", "options": []}
    _, found, reason = J.converted(job, {"program": b""}, str(program), str(tmp_path))
    assert found == verdict and "because" in reason


def test_half_precision_is_right_when_it_is_as_near_to_its_twin_as_torch():
    a, b = numpy.float16([6, 3]), numpy.float16([3, 2])

    def of(twin):
        sample = {"inputs": [packed(a), packed(b)], "outputs": [packed(numpy.float16([18.5, 6]))], "kind": "exact", "twin": twin}
        return J.judge("add", sample, model("Mul", a, b, a * b))[0]
    assert of(None) == "wrong"
    assert of([packed(numpy.float32([18, 6]))]) == "right"
    assert of([packed(numpy.float32([18.5, 6]))]) == "wrong"
    assert T.twin_says("float16", numpy.float16([numpy.nan]), numpy.float16([2]), numpy.float32([1]), "NaN") == "NaN"


def test_half_precision_does_not_stray_from_its_twin():
    torch, twin = numpy.float16([1.001, 2]), numpy.float32([1.0012, 2.0004])
    assert T.twin_says("float16", numpy.float16([1.002, 2]), torch, twin, None) is None
    assert "1 of 2 stray" in T.twin_says("float16", numpy.float16([1.001, 2.004]), torch, twin, None)


def test_what_onnx_leaves_open_is_told_apart():
    a, b = numpy.float32([6, numpy.nan]), numpy.float32([3, 2])
    sample = {"inputs": [packed(a), packed(b)], "outputs": [packed(numpy.float32([18, 6]))], "kind": "exact"}
    assert J.judge("amax", sample, model("Mul", a, b, a))[0] == "ort-fault"
    assert J.judge("sum", sample, model("Mul", a, b, a))[0] == "wrong"


def test_a_python_float_has_no_dtype():
    a = numpy.asarray(0.1)
    sample = {"inputs": [packed(a), packed(a)], "outputs": [0.1 * 0.1], "kind": "exact"}
    assert J.judge("item", sample, model("Mul", a, a, a))[0] == "right"
    sample["outputs"] = [numpy.float32(0.1 * 0.1).item()]
    assert J.judge("item", sample, model("Mul", a, a, a))[0] == "wrong"
