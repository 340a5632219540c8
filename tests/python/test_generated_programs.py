"""Programs of the generators that the fuzzer uses (tests/fuzz/make), from fixed numbers: what converts, ONNX's checker accepts and ONNX Runtime
loads; a program of calls is the same model from a .pt and a .pt2, or at least gives the same numbers."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

import oracle

BUILD = os.path.dirname(os.path.abspath(oracle.PROGRAM))
LIMITS = ["--limit", "steps=200000", "--limit", "nodes=20000", "--limit", "unroll=300", "--limit", "output=50000000"]
COUNT, GROUPS = 150, 4
BLOCKS = 15                         # programs that grow call by call: nearly all of them convert
DTYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64, onnx.TensorProto.FLOAT16: np.float16, onnx.TensorProto.BOOL: bool,
          onnx.TensorProto.INT64: np.int64, onnx.TensorProto.INT32: np.int32, onnx.TensorProto.UINT8: np.uint8}


def programs(kind, group, folder, count=COUNT):
    """The numbers of the programs that random_programs has written into the folder."""
    first = group * count
    subprocess.run([os.path.join(BUILD, "random_programs"), kind, str(folder), str(first), str(count)], check=True)
    return range(first, first + count)


def convert(folder, number, ending, opset=18):
    """The model; None where the program is refused, as most are."""
    out = folder / ("%d%s.onnx" % (number, ending))
    args = (folder / ("%d.args" % number)).read_text().split("\n")[:-1] if ending == ".pt" else []
    done = subprocess.run([oracle.PROGRAM, str(folder / ("%d%s" % (number, ending))), "-o", str(out), "--opset", str(opset)] + args + LIMITS,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    assert done.returncode in (0, 1, 3), "%d%s: exit %d\n%s" % (number, ending, done.returncode, done.stderr)
    return onnx.load(out) if done.returncode == 0 else None


def readable(model):
    """The model with float32 for what is bfloat16 among its results, which NumPy has no type for."""
    for o in model.graph.output:
        if o.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            wide = o.name + "_as_float32"
            model.graph.node.append(onnx.helper.make_node("Cast", [o.name], [wide], to=onnx.TensorProto.FLOAT))
            o.name = wide
            o.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model


def checked(model, name):
    try:
        onnx.checker.check_model(model, full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:
        raise AssertionError("%s: %s\n%s" % (name, e, onnx.printer.to_text(model.graph)[:3000])) from e


def inputs(model):
    rng = np.random.default_rng(0)
    return {i.name: np.asarray(rng.integers(0, 3, [d.dim_value if d.HasField("dim_value") else 2 for d in i.type.tensor_type.shape.dim])).astype(DTYPES[i.type.tensor_type.elem_type])
            for i in model.graph.input}


def outcome(session, given):
    """What the model gives; nothing where it fails, as at an index that is out of range, which no file tells."""
    try:
        return session.run(None, given)
    except Exception as e:
        assert "out of data bounds" in str(e) or "Invalid" in str(e) or "Non-zero status" in str(e), e
        return []


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_converts_is_a_model(group, tmp_path):
    models = [(n, convert(tmp_path, n, ".pt", opset=(18, 11, 23, 15)[group])) for n in programs("script", group, tmp_path)]
    for n, model in models:
        if model:
            checked(model, "script %d" % n)
    assert sum(m is not None for _, m in models) >= COUNT // 20


def is_random(graph):
    return any(node.op_type.startswith(("Random", "Bernoulli", "Dropout")) or any(is_random(a.g) for a in node.attribute if a.HasField("g"))
               for node in graph.node)


def agree(folder, number):
    """Both kinds of file of one program become models that give the same. False: both are refused."""
    pt, pt2 = convert(folder, number, ".pt"), convert(folder, number, ".pt2")
    assert (pt is None) == (pt2 is None), "%d: one kind of file converts" % number
    if not pt:
        return False
    assert [o.type.tensor_type.elem_type for o in pt.graph.output] == [o.type.tensor_type.elem_type for o in pt2.graph.output]
    sessions = [checked(readable(m), str(number)) for m in (pt, pt2)]
    if is_random(pt.graph):
        return True
    given = inputs(pt)
    results = [outcome(sessions[0], given), outcome(sessions[1], {k.name: v for k, v in zip(pt2.graph.input, given.values())})]
    assert len(results[0]) == len(results[1]), "%d: one of the models fails" % number
    for x, y in zip(*results):
        np.testing.assert_array_equal(x, y, err_msg=str(number))
    return True


@pytest.mark.parametrize("group", range(GROUPS))
def test_both_kinds_of_file_agree(group, tmp_path):
    assert sum(agree(tmp_path, n) for n in programs("calls", group, tmp_path)) >= COUNT // 20


@pytest.mark.parametrize("group", range(2))
def test_both_kinds_of_file_agree_on_views_writes_and_blocks(group, tmp_path):
    assert sum(agree(tmp_path, n) for n in programs("blocks", group, tmp_path, BLOCKS)) >= BLOCKS // 2
