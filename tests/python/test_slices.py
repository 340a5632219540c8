"""What every later part stands on, each from a saved file to ONNX Runtime: the numbers are compared, and the form of the graph."""
import subprocess

import numpy
import onnx
import pytest
import torch

import oracle


def kinds(path):
    return [n.op_type for g in oracle.graphs(onnx.load(str(path)).graph) for n in g.node]


def graph_of(case, out, *options, dynamic=False):
    oracle.verify(case, out, dynamic=dynamic, options=options)
    return kinds(out)


def test_if_on_a_tensor(small, out):
    assert graph_of(small("if_on_tensor.scripted"), out).count("If") == 1


def test_both_arms_are_right(small, out):
    """The recorded input takes one branch; its negative takes the other."""
    case = small("if_on_tensor.scripted")
    oracle.converted(case.file, out, *case.options(False))
    (x,), _ = case.runs(False)[0]
    for value in (abs(x) + 1, -abs(x) - 1):
        oracle.run(out, [([value], [value * 2 if value.sum() > 0 else value - 1])])


def test_loop_with_a_carried_tensor(small, out):
    assert "Loop" in graph_of(small("loop_carried.scripted"), out, dynamic=True)
    case = small("loop_while.scripted")
    assert graph_of(case, out).count("Loop") == 1


def test_stacked_list(small, out):
    found = graph_of(small("loop_list.scripted"), out, dynamic=True)
    assert "Loop" in found and "SequenceInsert" not in found


def test_concrete_loops_unroll(small, out):
    found = graph_of(small("loop_unrolled.scripted"), out)
    assert "Loop" not in found and found.count("Tanh") == 3


@pytest.mark.parametrize("form", ["traced", "scripted", "pt2", "pt2.dec"])
def test_write_through_a_view(form, small, out):
    graph_of(small("write_through_view." + form), out)
    graph_of(small("reshape_alias." + form), out)


@pytest.mark.parametrize("form", ["traced", "scripted"])
def test_sizes_leave_no_chain(form, small, out):
    """N through size, arithmetic and view: one Reshape with a constant shape, not Shape-Gather-Concat."""
    assert graph_of(small("flatten_by_size." + form), out, dynamic=True) == ["Reshape"]
    found = graph_of(small("size_arithmetic." + form), out, dynamic=True)
    assert not {"Shape", "Gather", "Concat", "Mul", "Div"} & set(found), found


def test_rules_of_the_user(small, tmp_path, out):
    """A rule file replaces a built-in operator and teaches the program no compiler knows."""
    rules = tmp_path / "my.rules"
    rules.write_text("aten::relu(Tensor self) -> Tensor\n    = LeakyRelu<alpha=0.25>(self)\n")
    case = small("relu.traced")
    oracle.converted(case.file, out, *case.options(False), "--rules", str(rules))
    assert kinds(out) == ["LeakyRelu"]
    (x,), _ = case.runs(False)[0]
    oracle.run(out, [([x], [(x * (x > 0) + x * (x <= 0) * x.dtype.type(0.25))])])


def test_a_wrong_rule_is_named(small, tmp_path, out):
    rules = tmp_path / "my.rules"
    rules.write_text("aten::relu(Tensor self) -> Tensor\n    = LeakyRelu<alpha=0.25(self)\n")
    done = oracle.convert(small("relu.traced").file, out, "--rules", str(rules))
    assert done.returncode in (1, 2, 3) and "my.rules:2" in done.stderr, done.stderr
    assert not out.exists()


@pytest.mark.parametrize("name", ["function_dict", "user_class", "raising_arm", "lists_and_strings"])
def test_python_dissolves(name, small, out):
    found = graph_of(small(name + ".scripted"), out)
    assert not {"If", "Loop", "SequenceConstruct"} & set(found), found


def test_raising_arm_tells_the_rank(small, out):
    """`if x.dim() != 2: raise` is a fact: nothing has to be assumed about the rank."""
    case = small("raising_arm.scripted")
    done = oracle.converted(case.file, out)
    assert "assumed: x has rank" not in done.stderr, done.stderr
    oracle.run(out, case.runs(False))
    dims = onnx.load(str(out)).graph.input[0].type.tensor_type.shape.dim
    assert len(dims) == 2 and dims[1].dim_value == 3


def test_restart_after_an_assumed_rank(small, out):
    """Nothing tells the input's rank before conv2d meets it: it is assumed, said with the option that decides, and recorded."""
    case = small("conv_bn_relu.scripted")
    done = oracle.converted(case.file, out)
    line = [s for s in done.stderr.splitlines() if "assumed" in s]
    assert line and "rank 4" in line[0] and "-i x:float32[" in line[0], done.stderr
    model = onnx.load(str(out))
    assert "rank 4" in " ".join(p.value for p in model.metadata_props)
    assert oracle.convert(case.file, out, "-q").stderr == ""
    oracle.run(out, case.runs(True))


def dims_of(path):
    return [d.dim_param or d.dim_value for d in onnx.load(str(path), load_external_data=False).graph.input[0].type.tensor_type.shape.dim]


def test_recorded_inputs_are_the_shape(small, out):
    """A trace of torch 2.x has its example inputs' sizes: static without a word, symbols with --dynamic."""
    case = small("residual_cnn.traced")
    done = oracle.converted(case.file, out)
    assert dims_of(out) == [2, 3, 32, 32] and "assumed" not in done.stderr, done.stderr
    oracle.run(out, case.runs(False))
    oracle.converted(case.file, out, "--dynamic")
    first = dims_of(out)[0]
    assert isinstance(first, str) and first
    oracle.run(out, case.runs(True))


def test_a_pinned_size_is_told(small, out):
    """`?` leaves a size open; where the program works with one size only, the input gets it and the user hears of it."""
    case = small("linear.traced")
    done = oracle.converted(case.file, out, "-i", "x:float32[?,?]")
    assert "assumed: dimension 1 of x is 4, because the program works only then" in done.stderr, done.stderr
    assert dims_of(out)[1] == 4


def test_names_of_the_user(small, out):
    """A SPEC whose name is no parameter goes by position, and the name becomes the input's; outputs take theirs."""
    case = small("linear.traced")
    oracle.converted(case.file, out, "-i", "features:float32[batch,4]", "--output-names", "scores")
    graph = onnx.load(str(out)).graph
    assert [i.name for i in graph.input] == ["features"] and [o.name for o in graph.output] == ["scores"]
    assert dims_of(out) == ["batch", 4]
    oracle.run(out, case.runs(True))


def test_external_weights(small, out):
    """--weights=external: one data file beside the model, and the same numbers."""
    case = small("conv_bn_relu.traced")
    oracle.converted(case.file, out, *case.options(False), "--weights=external")
    data = out.parent / "model.onnx.data"
    assert data.exists() and out.stat().st_size < 20000
    onnx.checker.check_model(str(out), full_check=True)
    oracle.run(out, case.runs(False))


def test_keep_weights(small, out):
    """--keep-weights: every initializer with a state_dict name holds that entry's bytes."""
    case = small("conv_bn_relu.traced")
    oracle.converted(case.file, out, *case.options(False), "--keep-weights")
    state = torch.jit.load(case.file).state_dict()
    kept = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(str(out)).graph.initializer}
    for name in ("conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"):
        assert numpy.array_equal(kept[name], state[name].numpy()), name
    oracle.run(out, case.runs(False))


def test_standard_output(small):
    case = small("relu.traced")
    done = subprocess.run([oracle.PROGRAM, case.file, "-o", "-", *case.options(False)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    model = onnx.load_from_string(done.stdout)
    onnx.checker.check_model(model, full_check=True)
    assert [n.op_type for n in model.graph.node] == ["Relu"]
