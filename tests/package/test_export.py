"""pt2onnx.export: what it takes, what it returns, names, sizes, modes. Operators are tested elsewhere (tests/ops)."""
import collections
import copy
import dataclasses
import functools
import io
import math
import os
import pathlib
import sys
import warnings
from typing import List

import numpy
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch.onnx import OperatorExportTypes, TrainingMode

import pt2onnx
from helpers import TORCH_2, agrees, checked, dims, exported, flat, names, ops, run, session, weights, untranslated


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(x).relu()


class Asinh(torch.nn.Module):
    def forward(self, x):
        return torch.asinh(x)


class Sum(torch.nn.Module):
    """Positional, with a default, keyword-only; a dict and a list with a None as results."""

    def forward(self, x, n, k=2.5, *, z=None):
        y = x * n + k
        return {"y": y if z is None else y + z, "more": [x * 2, None]}


def checked_result(model, args, **options):
    found = pt2onnx.export(model, args, **options).model_proto
    onnx.checker.check_model(found)
    return found


IMAGE = torch.randn(1, 3, 10, 10)
ROWS = torch.randn(2, 3)


# ---- signatures ----

OLD = dict(export_params=True, verbose=False, training=TrainingMode.EVAL, input_names=None, output_names=None, aten=False,
           export_raw_ir=False, operator_export_type=None, opset_version=None, _retain_param_name=True, do_constant_folding=True,
           example_outputs=None, strip_doc_string=True, dynamic_axes=None, keep_initializers_as_inputs=None, custom_opsets=None,
           enable_onnx_checker=True, use_external_data_format=False)


@pytest.mark.row("A02")
@pytest.mark.parametrize("name", sorted(OLD))
def test_every_parameter_of_torch_1_8_is_taken_by_name(name):
    assert ops(checked(Net(), IMAGE, **{name: OLD[name]})) == ["Conv", "Relu"]


def positional(*rest):
    f = io.BytesIO()
    pt2onnx.export(Net(), IMAGE, f, True, False, TrainingMode.EVAL, ["in"], ["out"], *rest)
    return onnx.load_model_from_string(f.getvalue())


@pytest.mark.row("A02", "A11")
@pytest.mark.parametrize("rest", [
    (False, False, OperatorExportTypes.ONNX, 12, True, True, None, True, {"in": {0: "n"}}),         # until 1.9
    (OperatorExportTypes.ONNX, 12, True, True, None, True, {"in": {0: "n"}}),                       # 1.10
    (None, 12, True, {"in": {0: "n"}}),                                                             # since 1.12
], ids=["1.8", "1.10", "1.12"])
def test_positional_orders_are_told_apart(rest):
    model = positional(*rest)
    assert model.opset_import[0].version == 12
    assert names(model.graph.input) == ["in"] and dims(model.graph.input[0])[0] == "n" and names(model.graph.output) == ["out"]


def test_unknown_and_double_arguments_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'opset'"):
        exported(Net(), IMAGE, opset=11)
    with pytest.raises(TypeError, match="multiple values for argument 'args'"):
        pt2onnx.export(Net(), IMAGE, io.BytesIO(), args=IMAGE)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'model'"):
        pt2onnx.export()


@pytest.mark.row("A11", "H20")
@pytest.mark.parametrize("options, error, text", [
    ({"opset_version": 7}, ValueError, "Unsupported ONNX opset version: 7"),
    ({"opset_version": 29}, ValueError, "Unsupported ONNX opset version: 29"),
    ({"training": 3}, TypeError, "TrainingMode"),
    ({"input_names": "in"}, TypeError, "list of names"),
    ({"input_names": ["in", "in"]}, ValueError, "given twice"),
    ({"input_names": ["in\0"]}, ValueError, "null byte"),
    ({"output_names": ["out\0"]}, ValueError, "null byte"),
    ({"input_names": ["in"], "dynamic_axes": {"in": {0: "n\0"}}}, ValueError, "null byte"),
    ({"input_names": ["a", "b", "c", "d"]}, RuntimeError, r"number of input names provided \(4\) exceeded number of inputs \(3\)"),
    ({"output_names": ["a", "b"]}, RuntimeError, r"number of output names provided \(2\) exceeded number of outputs \(1\)"),
    ({"export_raw_ir": True}, RuntimeError, "RAW is not supported"),
    ({"aten": True, "operator_export_type": OperatorExportTypes.ONNX}, ValueError, "cannot be given together"),
    ({"names": "pytorch"}, ValueError, "tutorials"),
    ({"opset_version": "13"}, ValueError, "Unsupported ONNX opset version: '13'; it is a number from 9 to 28"),
    ({"custom_opsets": ["com.x"]}, TypeError, r"custom_opsets is a dict of domains and versions, not \['com.x'\]"),
    ({"custom_opsets": {"com.x": "2"}}, TypeError, "custom_opsets: the version of com.x is an int, not '2'"),
])
def test_what_cannot_be_honoured_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        exported(Net(), IMAGE, **options)


# ---- models and results ----

def test_an_opset_may_be_any_kind_of_int():
    assert exported(Net(), IMAGE, opset_version=numpy.int64(13)).opset_import[0].version == 13


@pytest.mark.row("A13")
def test_default_opset_is_torchs_own():
    assert exported(Net(), IMAGE).opset_import[0].version == (torch.onnx._constants.ONNX_DEFAULT_OPSET if TORCH_2 else 14)


def test_path_file_and_result(tmp_path):
    for f in (str(tmp_path / "a.onnx"), tmp_path / "b.onnx", pathlib.Path(tmp_path) / "c.onnx", os.fsencode(tmp_path / "e.onnx")):
        assert pt2onnx.export(Net(), IMAGE, f, verify=True) is None
    a, b = (tmp_path / "a.onnx").read_bytes(), (tmp_path / "b.onnx").read_bytes()
    assert len(a) == len(b) and b"conv.weight" in a
    result = pt2onnx.export(Net(), IMAGE, input_names=["in"], output_names=["out"])
    assert (result.input_names, result.output_names) == (["in"], ["out"])
    assert names(onnx.load_model_from_string(result.model_bytes).graph.input) == ["in"]
    result.save(tmp_path / "d.onnx")
    assert (tmp_path / "d.onnx").read_bytes() == result.model_bytes
    assert result.model_proto.graph.output[0].name == "out"


def test_a_hyphen_is_a_file_of_that_name(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    pt2onnx.export(Net(), IMAGE, "-", verify=True, report=True)
    onnx.checker.check_model(str(tmp_path / "-"))
    assert sorted(os.listdir()) == ["-", "-.md"] and capfd.readouterr().out == ""


@pytest.mark.row("A21", "A22")
def test_external_data(tmp_path):
    big = torch.nn.Linear(100, 100)
    pt2onnx.export(big, torch.ones(2, 100), tmp_path / "m.onnx", external_data=True)
    assert (tmp_path / "m.onnx.data").stat().st_size >= 40000
    assert onnx.load(str(tmp_path / "m.onnx")).graph.initializer
    pt2onnx.export(big, torch.ones(2, 100), tmp_path / "n.onnx", use_external_data_format=True)
    assert (tmp_path / "n.onnx.data").stat().st_size >= 40000
    with pytest.raises(RuntimeError, match="need a path"):
        pt2onnx.export(big, torch.ones(2, 100), io.BytesIO(), use_external_data_format=True)


def test_a_folder_that_is_missing_is_named_before_the_work():
    with pytest.raises(FileNotFoundError, match="no such folder"):
        pt2onnx.export(Net(), IMAGE, "no such folder/m.onnx")


class Unrun(torch.nn.Module):
    def forward(self, x):
        raise AssertionError("what cannot be written to is told before the work")


@pytest.mark.parametrize("f, error, text", [
    ("", FileNotFoundError, "No such file"),
    ("a\0b.onnx", ValueError, "null byte"),
    (b"a\0b.onnx", ValueError, "null byte"),
    (3, TypeError, "f is a path, a file or None, not 3"),
    (io.StringIO(), TypeError, "f is a file of text"),
    (open(os.devnull, "rb"), io.UnsupportedOperation, "write"),
])
def test_what_is_no_place_for_a_model(f, error, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=text):
        pt2onnx.export(Unrun(), IMAGE, f)
    assert not os.listdir(tmp_path)


def test_the_result_knows_names_that_the_caller_has_not_given():
    result = pt2onnx.export(Sum(), (ROWS, 2))
    assert (result.input_names, result.output_names) == (names(result.model_proto.graph.input), names(result.model_proto.graph.output))
    assert len(result.input_names) == 3 and result.output_names == ["output.0", "output.1"]


@pytest.mark.parametrize("make", [lambda: Net(), lambda: torch.jit.trace(Net(), IMAGE), lambda: torch.jit.script(Net())],
                         ids=["module", "traced", "scripted"])
def test_modules_give_one_graph(make):
    torch.manual_seed(0)
    net = make().eval()
    model = checked(net, IMAGE, input_names=["in"], output_names=["out"])
    assert ops(model) == ["Conv", "Relu"]
    assert sorted(weights(model)) == ["conv.bias", "conv.weight"]
    assert names(model.graph.input) == ["in"] and names(model.graph.output) == ["out"]
    agrees(model, net, IMAGE)


def test_callables():
    agrees(checked(lambda a, b: torch.matmul(a, b.t()), (ROWS, ROWS)), lambda a, b: torch.matmul(a, b.t()), ROWS, ROWS)


@pytest.mark.parametrize("model,why", [(3, "it cannot be called"), (torch.nn.Linear(3, 4).state_dict(), "weights without a program; load them into their module"),
                                       ("net.pt", "pt2onnx.convert converts saved programs")])
def test_what_is_no_model(model, why):
    with pytest.raises(TypeError, match="model is of type %s: %s" % (type(model).__name__, why)):
        exported(model, ROWS)


@pytest.mark.parametrize("options", [{}, {"dynamo": True}][:1 + TORCH_2], ids=["traced", "exported"][:1 + TORCH_2])
def test_a_lazy_module_that_was_not_called_is_refused(options):
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.LazyLinear(4))
    with pytest.raises(ValueError, match="1.weight has no sizes yet.*call the model once"):
        exported(model, (ROWS,), **options)
    model(ROWS)
    agrees(exported(model, (ROWS,)), model, ROWS)


def test_script_functions():
    @torch.jit.script
    def power(a, n: int):
        for i in range(n):
            a = a * 2
        return a
    model = checked(power, (ROWS, 3), input_names=["a", "n"], dynamic_axes={"a": {0: "rows"}})
    assert ops(model)[-1] == "Loop" and names(model.graph.input) == ["a", "n"] and dims(model.graph.input[0]) == ["rows", 3]
    for n in range(4):
        numpy.testing.assert_allclose(run(model, ROWS.numpy(), n)[0], ROWS.numpy() * 2 ** n)


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_exported_programs():
    net = Net().eval()
    program = torch.export.export(net, (IMAGE,))
    agrees(checked(program, (), input_names=["in"]), net, IMAGE)
    result = pt2onnx.export(net, (IMAGE,), dynamo=True)
    assert names(result.model_proto.graph.input) == ["x"]               # forward's own
    n = torch.export.Dim("n", min=2)
    model = checked(net, (torch.cat([IMAGE] * 3),), dynamic_shapes={"x": {0: n}})
    assert dims(model.graph.input[0]) == ["n", 3, 10, 10]
    agrees(model, net, torch.cat([IMAGE] * 5))


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_runs_along_a_dim_are_not_held_against_what_torch_export_records():
    class Runs(torch.nn.Module):
        def forward(self, x):
            return torch.unique_consecutive(x, return_counts=True, dim=-1)      # recorded as [2, u0, 2, 3] and [3]
    x = torch.tensor([[1., 1, 2], [3, 3, 4]])
    try:
        program = torch.export.export(Runs(), (x,))
    except Exception as e:
        if "does not have a meta kernel" not in str(e):
            raise
        pytest.skip("this torch, such as 2.6, does not export unique_consecutive")
    model = checked(program, ())
    for got, want in zip(run(model, x.numpy()), Runs()(x)):
        numpy.testing.assert_array_equal(got, want.numpy())


@pytest.mark.parametrize("shape", [(4,), (2, 3), ()])
def test_counts_of_what_is_unique(shape):
    """torch 1.13 records the places too, of x's own shape, that nobody has asked for."""
    class Counts(torch.nn.Module):
        def forward(self, x):
            return torch.unique(x, return_counts=True)
    x = torch.arange(math.prod(shape)).float().reshape(shape) // 2
    for got, want in zip(run(checked(Counts(), (x,)), x.numpy()), Counts()(x)):
        numpy.testing.assert_array_equal(got, want.numpy())


@pytest.mark.skipif(TORCH_2, reason="torch 2 has it")
def test_torch_export_is_named_where_it_is_missing():
    for options in ({"dynamo": True}, {"dynamic_shapes": {"x": {0: "n"}}}):
        with pytest.raises(RuntimeError, match="need torch.export"):
            exported(Net(), IMAGE, **options)


def test_data_parallel_is_named():
    with pytest.raises(ValueError, match="model.module"):
        exported(torch.nn.DataParallel(Net()), IMAGE)


class Gives(torch.nn.Module):
    """x + 1, and what is no tensor."""

    def __init__(self, other):
        super().__init__()
        self.other = other

    def forward(self, x):
        return {"y": x + 1, "more": [x * 2, self.other]}


def test_a_text_among_the_results_is_left_out_with_a_word():
    model = Gives("a" * 100)
    with pytest.warns(UserWarning, match=r"dropped: the output more\.1, the text 'a+\.\.\.a+': a trace has tensors only"):
        result = pt2onnx.export(model, (ROWS,), None)
    assert result.notes == [(2, "the output more.1, the text 'aaaaaaaaaaaa...aaaaaaaaaaaaa': a trace has tensors only")]
    assert len(result.output_names) == 2 and not model._forward_hooks


@pytest.mark.parametrize("number", (3, 1.5, True))
def test_a_number_among_the_results_is_refused_by_its_name(number):
    model = Gives(number)
    with pytest.raises(RuntimeError, match=r"the output more\.1 is the number %r, .*: return a tensor, torch\.tensor\(%r\)" % (number, number)):
        pt2onnx.export(model, (ROWS,), None)
    assert not model._forward_hooks


class Copies(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(3.0))

    def forward(self, x):
        before, b = copy.deepcopy(x), copy.deepcopy([self.b, self.b])
        x += 1
        return x * before + b[0] * b[1]


def test_deep_copies_of_tensors():
    """torch's tracer has an empty tensor for one."""
    deepcopy = torch.Tensor.__deepcopy__
    checked_result(Copies(), (ROWS,), verify=True)
    assert torch.Tensor.__deepcopy__ is deepcopy and copy.deepcopy(ROWS) is not ROWS


class Kind(torch.Tensor):
    pass


def test_tensors_of_a_class_of_its_own():
    class Shift(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3).as_subclass(Kind))

        def forward(self, x):
            return x * 2 + self.b
    agrees(checked(Shift(), (ROWS,)), Shift(), ROWS)
    agrees(checked(lambda x: x.exp() * 2, (ROWS.as_subclass(Kind),)), lambda x: x.exp() * 2, ROWS)
    assert "as_subclass" not in vars(torch.Tensor)


@pytest.mark.parametrize("options", [{}, {"dynamo": True}][:1 + TORCH_2])
def test_keys_of_results_may_be_numbers(options):
    class Levels(torch.nn.Module):
        def forward(self, x):
            return {8: x * 8, 16: [x * 16, {(1, 2): x}]}
    result = pt2onnx.export(Levels(), (ROWS,), **options)
    assert all(torch.equal(a, b) for a, b in zip(result(ROWS), (ROWS * 8, ROWS * 16, ROWS)))


# ---- arguments ----

@pytest.mark.parametrize("args, kwargs, inputs", [
    ((ROWS, 3), None, 3),
    ((ROWS, 3, 1.5), None, 3),
    ((ROWS, 3, {"k": 1.5}), None, 3),
    ((ROWS, {"n": 3, "z": ROWS}), None, 4),
    ((ROWS, 3, {"z": ROWS}), None, 4),
    ((ROWS, 3), {"z": ROWS}, 4),
    ([ROWS, 3], None, 3),
])
def test_named_arguments(args, kwargs, inputs):
    model = checked(Sum(), args, kwargs=kwargs)
    assert len(model.graph.input) == inputs and len(model.graph.output) == 2
    kinds = {i.type.tensor_type.elem_type for i in model.graph.input[1:3]}
    assert kinds == {onnx.TensorProto.INT64, onnx.TensorProto.DOUBLE}                   # Python numbers are inputs, as torch has them


def test_numbers_as_inputs_count():
    model = checked(Sum(), (ROWS, 3))
    y, doubled = run(model, ROWS.numpy(), numpy.int64(5), numpy.float64(0.5))
    numpy.testing.assert_allclose(y, ROWS.numpy() * 5 + 0.5, rtol=1e-6)
    numpy.testing.assert_allclose(doubled, ROWS.numpy() * 2)


def test_nested_arguments():
    class Nested(torch.nn.Module):
        def forward(self, d, x):
            return d["a"] - d["b"][0] * x
    model = checked(Nested(), ({"a": ROWS, "b": (ROWS * 2,)}, ROWS))
    assert len(model.graph.input) == 3
    numpy.testing.assert_allclose(run(model, ROWS.numpy(), ROWS.numpy() * 2, ROWS.numpy())[0], (ROWS - 2 * ROWS * ROWS).numpy(), rtol=1e-5)


def test_a_dict_at_the_end():
    """Named arguments, also keyword-only ones; unknown names are told; a dict that forward needs is an argument."""
    with pytest.warns(UserWarning, match="no argument other"):
        model = exported(Sum(), (ROWS, 3, {"other": ROWS}))
    assert len(model.graph.input) == 3
    for args in (({"a": ROWS},), ({"a": ROWS}, {})):
        assert len(exported(lambda d: d["a"] + 1, args).graph.input) == 1


def test_what_nobody_gave_is_not_passed_behind_a_none():
    """Decorators of transformers add arguments of their own, and refuse those that are there already."""
    class Picky(torch.nn.Module):
        def forward(self, ids=None, mask=None, use_cache=None, keep=0, scale=None):
            return self.inner(ids, mask=mask, keep=keep, scale=scale)

        def inner(self, ids, mask=None, keep=0, scale=None):
            assert isinstance(keep, int)
            y = ids if mask is None else ids * mask
            return y if scale is None else y + scale
    for args, kwargs, inputs in (((ROWS,), None, 1), ((), {"ids": ROWS, "mask": ROWS}, 2), ((ROWS, {"scale": ROWS}), None, 2), ((), {"scale": ROWS, "ids": ROWS}, 2)):
        assert len(checked(Picky(), args, kwargs=kwargs).graph.input) == inputs


@pytest.mark.parametrize("default", [torch.float64, torch.device("cpu"), torch.relu, slice(2), object(), numpy.float32(2), (range(2), 1)],
                         ids=lambda default: type(default).__name__)
def test_defaults_that_are_no_arguments_of_a_trace_stay_forwards_own(default):
    class Cast(torch.nn.Module):
        def forward(self, x, how=default, y=None, n=2):
            return (x if y is None else x + y) * n if how is default else y
    for args, kwargs in (((ROWS,), None), ((ROWS,), {"y": ROWS}), ((), {"x": ROWS, "y": ROWS})):
        model = checked_result(Cast(), args, kwargs=kwargs, verify=True)
        assert len(model.graph.input) == (2 if kwargs else 1)


def test_missing_arguments_are_named():
    with pytest.raises(TypeError, match="missing an argument: 'n'"):
        exported(Sum(), (ROWS,))


@pytest.mark.parametrize("options", [{}, {"dynamo": True}][:1 + TORCH_2], ids=["traced", "exported"][:1 + TORCH_2])
@pytest.mark.parametrize("name", ["w", "b"])
def test_an_example_that_is_a_weight_is_an_input_all_the_same(options, name):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(2, 3))
            self.register_buffer("b", torch.randn(2, 3))

        def forward(self, x, *, y):
            return x * self.w + self.b * y
    net = Own()
    own = getattr(net, name)
    model = pt2onnx.export(net, (own,), kwargs={"y": own}, verify=True, **options).model_proto
    want = net(ROWS, y=ROWS + 1).detach()
    numpy.testing.assert_allclose(run(model, ROWS, ROWS + 1)[0], want, rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"dynamo": True}][:1 + TORCH_2], ids=["traced", "exported"][:1 + TORCH_2])
def test_an_example_that_forward_knows_otherwise_is_an_input_all_the_same(options):
    """As a tensor of a function's surroundings, or a plain attribute."""
    held = torch.randn(2, 3)
    net = torch.nn.Identity()
    net.held = held
    for model in (lambda x: x * held, lambda x: net(x) * net.held):
        agrees(pt2onnx.export(model, (held,), **options).model_proto, model, ROWS)


def trained():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())
    torch.nn.init.normal_(net[1].running_mean)
    return net


class Pipeline:
    def __init__(self, net):
        self.parts = [net]

    def __call__(self, x):
        return self.parts[0](x) * 2


CALLABLES = {"lambda": lambda net: lambda x: net(x), "partial": lambda net: functools.partial(net), "object": Pipeline,
             "method of another object": lambda net: Pipeline(net).__call__,
             "function that calls one": lambda net: lambda x, inner=None: CALLABLES["lambda"](net)(x)}


@pytest.mark.parametrize("options", [{}, {"dynamo": True}][:1 + TORCH_2], ids=["traced", "exported"][:1 + TORCH_2])
@pytest.mark.parametrize("kind", CALLABLES)
def test_modules_that_a_callable_holds(kind, options):
    """They are in evaluation mode for the time of the export, as a module would be, and their weights are the model's."""
    net = trained()
    f = CALLABLES[kind](net)
    model = pt2onnx.export(f, (ROWS,), **options).model_proto
    assert "Dropout" not in ops(model) and all(m.training for m in net.modules()) and net[1].num_batches_tracked == 0
    net.eval()
    agrees(model, f, ROWS)


def test_weights_of_a_callable_have_its_names():
    net = torch.nn.Linear(3, 4)
    assert weights(exported(lambda x: net(x), (ROWS,))) == ["net.weight", "net.bias"]


@pytest.mark.skipif(not TORCH_2, reason="needs torch.export")
@pytest.mark.parametrize("f", [torch.relu, functools.partial(torch.softmax, dim=1)])
def test_builtins_through_torch_export(f):
    agrees(pt2onnx.export(f, (ROWS,), dynamo=True).model_proto, f, ROWS)


Two = collections.namedtuple("Two", "a b")


class OfTwo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)

    def forward(self, x, two, *, more=None):
        y = self.fc(two.a) - self.fc(two.b[0]) * x
        return y if more is None else y + more.a


@pytest.mark.parametrize("kwargs", [None, {"more": Two(torch.ones(4), None)}])
def test_named_tuples_stay_named(kwargs):
    """torch's tracer makes plain tuples of them."""
    args = ROWS[:, :1], Two(ROWS, [ROWS + 1, "text", None])
    model = checked_result(OfTwo(), args, kwargs=kwargs, verify=True)
    assert weights(model)[0] == "fc.weight" and len(model.graph.input) == (3 if kwargs is None else 4)
    assert model.graph.node[0].name.startswith("/fc/")


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: list


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
@pytest.mark.parametrize("options", [{}, {"dynamo": True}], ids=["traced", "exported"])
def test_containers_that_users_register(options):
    if Pair not in torch.utils._pytree.SUPPORTED_NODES:
        torch.export.register_dataclass(Pair, serialized_type_name="test_export.Pair")
    model = checked_result(OfTwo(), (ROWS[:, :1], Pair(ROWS, [ROWS + 1])), input_names=["x", "a", "b"], verify=True, **options)
    assert names(model.graph.input) == ["x", "a", "b"]


def test_arguments_that_are_given_twice_are_refused():
    with pytest.raises(TypeError, match="given the argument x twice"):
        exported(Sum(), (ROWS, 2), kwargs={"x": ROWS})


def test_names_beside_arguments_of_any_number():
    class Rest(torch.nn.Module):
        def forward(self, x, y=None, *rest):
            return x * 2 if y is None else x - y
    agrees(checked(Rest(), (ROWS,), kwargs={"y": ROWS + 1}), Rest(), ROWS, ROWS + 1)


def test_defaults_of_keyword_only_arguments_are_constants():
    """As dynamo=True has them; by place torch's tracer has them as inputs."""
    class Only(torch.nn.Module):
        def forward(self, x, *, n=2, s=0.5):
            return x * n + s
    agrees(checked(Only(), (ROWS,)), Only(), ROWS)
    agrees(checked(functools.partial(torch.mul, other=3), (ROWS,)), lambda x: x * 3, ROWS)


def test_a_module_that_is_called_as_our_wrapper_calls_its_own():
    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self._model = torch.nn.Linear(3, 3)
            self.weight, self.bias = torch.nn.Parameter(torch.randn(3)), torch.nn.Parameter(torch.randn(3))

        def forward(self, x, *, more=None):
            y = self._model(x) * self.weight + self.bias
            return y if more is None else y + more
    for kwargs in None, {"more": ROWS}:
        model = checked(Wrapped(), (ROWS,), kwargs=kwargs, verify=True, do_constant_folding=False)
        assert sorted(weights(model)) == ["_model.bias", "_model.weight", "bias", "weight"]
        assert model.graph.node[0].name.startswith("/_model/")


def test_a_method_of_a_module_has_the_modules_weights():
    class Coder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout())

        def encode(self, x, *, scale=None):
            y = self.fc(x)
            return y if scale is None else y * scale
    coder = Coder()
    for kwargs in None, {"scale": ROWS[:, :1]}:
        model = checked(coder.encode, (ROWS,), kwargs=kwargs, verify=True)
        assert weights(model) == ["fc.0.weight", "fc.0.bias"] and model.graph.node[0].name.startswith("/fc/0/")
    assert coder.training and coder.fc[1].training
    if TORCH_2:
        assert len(weights(checked(coder.encode, (ROWS,), dynamic_shapes=({0: "n"},)))) == 2


def test_a_class_is_no_model():
    with pytest.raises(TypeError, match=r"Linear is a class: give an object of it, Linear\(\.\.\)"):
        exported(torch.nn.Linear, (ROWS,))


def test_keyword_only_arguments_keep_names_of_weights():
    class Only(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 4)

        def forward(self, x, *, scale):
            return self.fc(x) * scale
    model = checked(Only(), (ROWS,), kwargs={"scale": torch.tensor(2.0)})
    assert weights(model) == ["fc.weight", "fc.bias"]
    assert any(n.name.startswith("/fc/") for n in model.graph.node)


# ---- names ----

@pytest.mark.row("A09", "G08")
def test_unnamed_inputs_are_called_as_the_tracer_calls_them():
    assert names(exported(Asinh(), IMAGE).graph.input) == ["0"]


def test_names_of_torch_1_13():
    assert names(exported(Asinh(), IMAGE, names="1.13").graph.input) == ["onnx::Asinh_0"]
    assert names(exported(Net(), IMAGE, names="1.13").graph.input) == ["input"]


class Nested(torch.nn.Module):
    """Calls a module three times, one of a list, one inside a Sequential both with it and alone."""

    def __init__(self):
        super().__init__()
        layer = lambda: torch.nn.Linear(3, 3)
        self.fc, self.ml, self.md = layer(), torch.nn.ModuleList([layer(), torch.nn.Sequential(layer())]), torch.nn.ModuleDict({"a": layer()})
        self.seq = torch.nn.Sequential(layer(), torch.nn.Sequential(torch.nn.ReLU(), layer()))

    def forward(self, x):
        for _ in range(3):
            x = self.fc(x)
        x = self.seq(torch.relu(x))
        for m in self.ml:
            x = m(x)
        return torch.relu(self.seq[0](self.md["a"](x)))


def test_names_of_nodes_of_torch_1_13():
    """As torch 1.13's own exporter gives them."""
    found = [n.name for n in checked(Nested(), ROWS, names="1.13").graph.node]
    assert found == ["/fc/Gemm", "/fc_1/Gemm", "/fc_2/Gemm", "/Relu", "/seq/seq.0/Gemm", "/seq/seq.1/seq.1.0/Relu", "/seq/seq.1/seq.1.1/Gemm",
                     "/ml.0/Gemm", "/ml.1/ml.1.0/Gemm", "/a/Gemm", "/seq.0/Gemm", "/Relu_1"]
    root = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.ReLU()))
    assert [n.name for n in checked(root, ROWS, names="1.13").graph.node] == ["/0/Gemm", "/1/1.0/Relu"]


def test_input_names_may_name_parameters():
    model = checked(Net(), IMAGE, input_names=["in", "w", "b"])
    assert weights(model) == ["w", "b"] and names(model.graph.input) == ["in"]


def test_an_input_that_nothing_uses_is_left_out():
    model = checked(lambda a, b: b + 1, (ROWS, ROWS), input_names=["a", "b"])
    assert names(model.graph.input) == ["b"]


def test_an_input_whose_size_alone_matters_is_kept_as_torch_keeps_it():
    model = checked(lambda a, b: a.view_as(b), (ROWS, ROWS.t()), input_names=["a", "b"])
    assert names(model.graph.input) == ["a", "b"]
    model = checked(lambda a, b: a.view(b.size(0), -1), (ROWS, ROWS.t()), input_names=["a", "b"])
    assert names(model.graph.input) == ["a"]


@torch.jit.script
def adds_to_zeros(x, n: int):
    zeros = torch.zeros((x.size(0), n), device=x.device)
    if x.size(0) == 2:
        zeros[1] += torch.ones(n)
    return zeros


def test_sizes_that_a_scripted_part_asks_for_keep_no_input():
    assert not checked(lambda x: adds_to_zeros(x, 3), ROWS).graph.input


def kept(function, *args, **options):
    """The inputs that are kept of a traced function, and of a scripted one."""
    found = []
    for model in (function, torch.jit.script(function)):
        found.append(names(checked(model, args, input_names=["x", "y"][:len(args)], **options).graph.input))
    assert found[0] == found[1]
    return found[0]


def like(x):
    return torch.full_like(x, 1.5)


def zeros_and(x, y):
    return torch.zeros_like(x) + torch.ones_like(y).type_as(x) * y


def overwritten(x):
    return x.fill_(3), x


def filled_then_read(x, y):
    z = x + y
    x.zero_()
    return x + z.size(0), z


def one_of_a_list(x, y):
    both = [x, y]
    first, _ = both
    return first * 2


def one_arm(x, y):
    if x.size(0) > 1:
        return y.new_zeros(x.size())
    return x * y


def test_inputs_of_which_only_the_size_matters_are_left_out_as_torch_leaves_them_out():
    assert kept(like, ROWS) == [] and kept(like, torch.tensor(2.0)) == ["x"]
    assert kept(zeros_and, ROWS, ROWS) == ["y"]
    assert kept(overwritten, ROWS) == [] and kept(overwritten, ROWS, dynamic_axes={"x": [0]}) == ["x"]
    assert kept(filled_then_read, ROWS, ROWS) == ["x", "y"]
    assert kept(one_of_a_list, ROWS, ROWS) == ["x"]
    assert kept(one_arm, ROWS, ROWS) == []


def test_state_is_told_and_left_out():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("sum", torch.zeros(3))

        def forward(self, x):
            self.sum += x.sum(0)
            return x + self.sum
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="sum"):
        model = exported(Counter(), ROWS)
    assert names(model.graph.input) == ["0"] or names(model.graph.input) == ["x"]
    assert len(model.graph.output) == 1


@pytest.mark.parametrize("n, said", [(1, "0.running_mean, 0.running_var, 0.num_batches_tracked as"), (9, "0.running_mean, 0.running_var, 0.num_batches_tracked and 24 more")])
def test_one_warning_for_all_state(n, said):
    net = torch.nn.Sequential(*[torch.nn.BatchNorm1d(3) for _ in range(n)])
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning) as found:
        exported(net, ROWS, training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    assert [said in str(w.message) for w in found] == [True]


def test_what_is_only_printed_needs_no_translation(capsys):
    def prints(x):
        print(untranslated(x))
        return x + 1
    assert ops(checked(prints, ROWS))[-1] == "Add"


def test_values_that_are_returned_twice_or_untouched():
    def both(a):
        b = a + 1
        return a, b, b
    model = checked(both, (ROWS,), input_names=["a"], output_names=["p", "q", "r"])
    assert names(model.graph.input) == ["a"] and names(model.graph.output) == ["p", "q", "r"]
    p, q, r = run(model, ROWS.numpy())
    numpy.testing.assert_array_equal(p, ROWS.numpy())
    numpy.testing.assert_array_equal(q, r)


# ---- weights ----

@pytest.mark.row("A06")
def test_without_weights():
    model = checked(Net(), IMAGE, export_params=False)
    assert names(model.graph.input)[1:] == ["conv.weight", "conv.bias"] and not weights(model)


@pytest.mark.row("A18")
def test_initializers_as_inputs():
    model = checked(Net(), IMAGE, keep_initializers_as_inputs=True)
    assert names(model.graph.input)[1:] == ["conv.weight", "conv.bias"] == weights(model)


@pytest.mark.row("A15")
def test_weights_are_kept_without_folding():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
    assert ops(checked(net, IMAGE)) == ["Conv"]
    assert ops(checked(net, IMAGE, do_constant_folding=False)) == ["Conv", "BatchNormalization"]


def test_constants_are_nodes():
    model = checked(lambda x: x * torch.tensor([1.5, 2.0, 3.0]), (ROWS,))
    assert ops(model) == ["Constant", "Mul"] and not weights(model)


# ---- sizes ----

@pytest.mark.row("C01")
def test_sizes_are_fixed_by_default():
    model = exported(Net(), IMAGE)
    assert dims(model.graph.input[0]) == [1, 3, 10, 10] and dims(model.graph.output[0]) == [1, 4, 8, 8]


@pytest.mark.row("A17", "C04")
def test_dynamic_axes_as_a_dict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = exported(Net(), IMAGE, input_names=["in"], output_names=["out"], dynamic_axes={"in": {0: "batch"}, "out": {0: "batch"}})
    assert dims(model.graph.input[0]) == ["batch", 3, 10, 10] and dims(model.graph.output[0]) == ["batch", 4, 8, 8]
    agrees(model, _same(model), torch.cat([IMAGE] * 3))


def _same(model):
    """The torch net with the weights of the ONNX model."""
    net = Net().eval()
    net.load_state_dict({t.name: torch.tensor(numpy_helper.to_array(t)) for t in model.graph.initializer})
    return net


@pytest.mark.row("A17", "C02", "C03")
def test_dynamic_axes_as_a_list():
    with pytest.warns(UserWarning, match="dynamic axes of input in"):
        model = exported(Net(), IMAGE, input_names=["in"], output_names=["out"], dynamic_axes={"in": [2, 3], "out": [2, 3]})
    assert dims(model.graph.input[0])[2:] == ["in_dynamic_axes_1", "in_dynamic_axes_2"]
    assert dims(model.graph.output[0])[2:] == ["out_dynamic_axes_1", "out_dynamic_axes_2"]
    agrees(model, _same(model), torch.randn(1, 3, 20, 15))


def test_names_of_sizes_are_any_text():
    model = exported(Net(), IMAGE, input_names=["in"], dynamic_axes={"in": {-1: "the width", 0: "batch-size"}})
    assert dims(model.graph.input[0]) == ["batch-size", 3, 10, "the width"]


@pytest.mark.parametrize("axes, error, text", [
    ({"in": {7: "a"}}, RuntimeError, "no more than the shape dimension for in"),
    ({"in": {-5: "a"}}, RuntimeError, "no more than the shape dimension for in"),
    ({"in": ["a"]}, ValueError, "expected to be an integer"),
    ({"in": {0: 1}}, TypeError, "its name a text"),
    ({"in": (0, 1)}, TypeError, "a dict or a list of axes"),
    (["in"], TypeError, "dynamic_axes is a dict of names of inputs and outputs, not \\['in'\\]"),
    ({"in": {0: "a", -4: "b"}}, ValueError, "dimension 0 of in has two names: a, b"),
])
@pytest.mark.filterwarnings("ignore")
def test_wrong_dynamic_axes(axes, error, text):
    with pytest.raises(error, match=text):
        exported(Net(), IMAGE, input_names=["in"], dynamic_axes=axes)


def test_axes_without_a_name_and_of_any_kind_of_number():
    """torch.onnx leaves a size whose name is empty open, and without a name."""
    model = exported(Net(), IMAGE, input_names=["in"], dynamic_axes={"in": {numpy.int64(0): "", 2: "h"}})
    assert dims(model.graph.input[0]) == ["in_dynamic_axes_1", 3, "h", 10]


@pytest.mark.parametrize("make", [lambda net: net, torch.jit.script], ids=["traced", "scripted"])
def test_empty_names_are_none(make):
    """In the model they would be inputs that no node can have."""
    two = checked(make(torch.nn.Bilinear(3, 3, 2)), (ROWS, ROWS), input_names=["", "b"], output_names=[""], verify=True)
    assert names(two.graph.input)[0] and names(two.graph.input)[1] == "b"
    assert names(checked(make(torch.nn.Bilinear(3, 3, 2)), (ROWS, ROWS), input_names=["", ""]).graph.input)


class Sizes(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y]), y.reshape(y.shape[0], 3, 1), torch.zeros(y.shape[0]) + 1


@pytest.mark.parametrize("options", [{}, {"dynamo": True}, {"dynamic_shapes": ({0: "n"}, {0: "n"})}][:1 + 2 * TORCH_2], ids=["traced", "exported", "shapes"][:1 + 2 * TORCH_2])
@pytest.mark.parametrize("make", [lambda net: net, torch.jit.script], ids=["module", "script"])
def test_one_name_of_two_sizes_is_two_names(make, options):
    """The example says that they differ: whatever is computed of one would stand for the other."""
    if make is torch.jit.script and options:
        pytest.skip("torch.export takes no scripts")
    if "dynamic_shapes" not in options:
        options = {"dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}, **options}
    with pytest.warns(UserWarning, match=r"n is 2 in x and 5 in y: these are two sizes, the second is called n_1"):
        model = pt2onnx.export(make(Sizes()), (ROWS, torch.randn(5, 3)), input_names=["x", "y"], verify=True, **options).model_proto
    assert [dims(i) for i in model.graph.input] == [["n", 3], ["n_1", 3]]
    agrees(model, Sizes(), torch.randn(4, 3), torch.randn(7, 3))


def test_one_name_of_both_sizes_of_an_input():
    turned = lambda x: (x.reshape(x.shape[1], x.shape[0]), torch.zeros(x.shape[1], x.shape[0]))
    with pytest.warns(UserWarning, match="n is 2 in x and 3 in x: these are two sizes"):
        model = exported(turned, (ROWS,), input_names=["x"], dynamic_axes={"x": {0: "n", 1: "n"}})
    agrees(model, turned, torch.randn(4, 6))


def test_unknown_key_of_dynamic_axes_is_told():
    with pytest.warns(UserWarning, match="Provided key zz for dynamic axes is not a valid input/output name"):
        exported(Net(), IMAGE, dynamic_axes={"zz": {0: "a"}})


def test_a_size_that_the_program_fixes_is_told():
    def fixed(x):
        return x.reshape(2, 3) * 2
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="works only then"):
        model = exported(fixed, (ROWS,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert dims(model.graph.input[0]) == [2, 3]


def test_sizes_that_an_indexed_write_fixes_are_told():
    """PyTorch's tracer takes leading sizes of 1 off the value: view(x, [3]), which no other batch or number of steps has."""
    def written(cache, x, at):
        cache = cache.clone()
        cache[:, at] = x
        return cache
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="works only then"):
        model = exported(written, (torch.ones(1, 8, 3), torch.ones(1, 1, 3), torch.tensor([2])), input_names=["cache", "x", "at"],
                         dynamic_axes={"cache": {0: "n"}, "x": {0: "n", 1: "t"}, "at": {0: "t"}})
    assert [dims(i) for i in model.graph.input] == [[1, 8, 3], [1, 1, 3], [1]]


def test_open_sizes_that_must_divide():
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="can be divided by 2"):
        model = checked(lambda x: torch.pixel_unshuffle(x, 2), torch.ones(1, 2, 4, 6), input_names=["x"], dynamic_axes={"x": {2: "h", 3: "w"}})
    agrees(model, torch.nn.PixelUnshuffle(2), torch.randn(1, 2, 8, 2))


@pytest.mark.skipif(TORCH_2, reason="torch 2 wants slices of one shape")
@pytest.mark.parametrize("dim, shape", [(0, (2, 1)), (1, (1, 2, 3)), (2, (1, 4, 2))])
def test_index_add_broadcasts_slices_in_torch_1_13(dim, shape):
    add = lambda x, source: x.index_add(dim, torch.tensor([1, 1]), source)
    args = torch.randn(5, 4, 3), torch.randn(*shape)
    for opset in (11, 16):
        agrees(checked(add, args, opset_version=opset), add, *args)


def test_sizes_that_become_python_numbers_are_constants():
    class Flat(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1, int(x.shape[1]))
    model = exported(Flat(), torch.randn(4, 2, 3), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert "Shape" not in ops(model)


# ---- modes ----

@pytest.mark.row("A08")
def test_modes_of_modules_are_given_back():
    net = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(3, 3)).train()
    net[0].eval()
    for training in (TrainingMode.EVAL, TrainingMode.PRESERVE, None):
        model = exported(net, ROWS, training=training)
        assert "Dropout" not in ops(model)
        assert [m.training for m in net.modules()] == [True, False, True]


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, ROWS)], ids=["scripted", "traced"])
def test_frozen_scripts_have_no_mode(make):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout()).eval()
    frozen = torch.jit.freeze(make(net))
    for options in ({}, {"training": TrainingMode.PRESERVE}, {"verify": True}):
        agrees(exported(frozen, ROWS, **options), net, ROWS)


def test_a_training_mode_that_was_asked_for_normalises_by_the_batch():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.BatchNorm2d(4, affine=False)).train()
    for options in ({"training": TrainingMode.TRAINING}, {"training": TrainingMode.PRESERVE}):
        for model in (net, torch.jit.script(net)):
            with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="the model changes 1.running_mean"):
                agrees(checked(model, IMAGE, **options), net, IMAGE)
    assert "ReduceMean" not in ops(checked(net, IMAGE)) and net[1].training


class Flagged(torch.nn.Module):
    def __init__(self, fails=False):
        super().__init__()
        self.fails = fails

    def forward(self, x):
        if self.fails:
            raise KeyError("mine")
        return torch.clip(x, 0, 1) if torch.onnx.is_in_onnx_export() else x


@pytest.mark.row("D01")
def test_is_in_onnx_export():
    assert "Clip" in ops(exported(Flagged(), ROWS)) and not torch.onnx.is_in_onnx_export() and not pt2onnx.is_in_onnx_export()
    with pytest.raises(KeyError, match="mine"):
        exported(Flagged(fails=True), ROWS)
    assert not torch.onnx.is_in_onnx_export()


@pytest.mark.row("A07", "A16")
def test_verbose_prints_the_graph_and_keeps_the_lines(capsys):
    model = exported(Net(), IMAGE, verbose=True, output_names=["scores"])
    out = capsys.readouterr().out
    assert out.startswith("Exported graph: graph") and "Conv" in out
    assert [n.output[0] for n in model.graph.node if "  %%%s: " % n.output[0] not in out] == []
    assert out.endswith("  return %scores\n}\n\n")
    assert all("test_export.py:" in n.doc_string for n in model.graph.node)
    assert not any(n.doc_string for n in exported(Net(), IMAGE).graph.node)


# ---- errors ----

def test_an_operator_without_a_translation():
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.quantized.embedding_bag_byte_prepack(x)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError) as e:
        exported(Net(), ROWS, opset_version=13)
    assert "Exporting the operator 'quantized::embedding_bag_byte_prepack' to ONNX opset version 13 is not supported" in str(e.value)
    assert "test_export.py:" in str(e.value) and isinstance(e.value, RuntimeError)


class PadsBy(torch.nn.Module):
    def forward(self, x, by):
        return torch.nn.functional.pad(x, by)


def test_what_a_later_opset_has_is_told_in_torchs_words_too():
    with pytest.raises(RuntimeError, match=r"Unsupported: ONNX export of Pad in opset 9\. The sizes of the padding must be constant\. "
                                           r"Please try opset version 11\."):
        pt2onnx.export(PadsBy(), (torch.zeros(2, 3), [torch.tensor(1), torch.tensor(2)]), opset_version=9)


@pytest.mark.skipif(not hasattr(torch, "float8_e4m3fn"), reason="this torch has no float8")
def test_a_node_of_onnx_that_needs_a_later_opset_has_no_namespace():
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="^Exporting the operator 'Cast' to ONNX opset version 17 is not supported: version 19"):
        pt2onnx.export(lambda x: x.to(torch.float8_e4m3fn).float(), ROWS, opset_version=17)


@torch.jit.ignore
def ignored(x):
    return x.neg()


class CallsPython(torch.nn.Module):
    def forward(self, x):
        return ignored(x) + x


def test_a_call_of_python_in_a_script_is_told_in_torchs_words_too():
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match="Couldn't export Python operator: Could not export Python function call 'ignored'"):
        pt2onnx.export(torch.jit.script(CallsPython()), ROWS)


def test_a_failed_export_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError):
        pt2onnx.export(untranslated, ROWS, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


# ---- scripted functions inside traces ----

def test_branches_and_loops_of_scripted_functions():
    @torch.jit.script
    def scripted(x, n: int):
        if bool(x.sum() > 0):
            r = x * 3
        else:
            r = x * 2
        for i in range(n):
            r = r + i
        k = 0
        while bool(r.sum() < 100):
            r = r + 5
            k += 1
        return r + k

    def f(x):
        return scripted(x, 2) + 1
    model = checked(f, ROWS)
    assert {"If", "Loop"} <= set(ops(model))
    for x in (torch.ones(2, 3), -torch.ones(2, 3), torch.full((2, 3), 50.0)):
        agrees(model, f, x)


def test_a_loop_that_counts_by_itself():
    @torch.jit.script
    def halves(x):
        i = 0
        while bool(x.sum() > 1) and i < 5:
            x = x / 2
            i += 1
        return x, torch.tensor(i)
    model = checked(lambda x: halves(x), ROWS)
    for x in (torch.ones(2, 3), torch.full((2, 3), 50.0), -torch.ones(2, 3)):
        agrees(model, halves, x)


def test_a_loop_with_break_inside_a_trace():
    @torch.jit.script
    def first(x):
        for i in range(5):
            if bool(x.sum() > 10):
                break
            x = x * 2
        return x
    model = checked(lambda x: first(x), ROWS)
    for x in (torch.ones(2, 3), torch.full((2, 3), 50.0), -torch.ones(2, 3), torch.full((2, 3), 0.1)):
        agrees(model, first, x)


def test_named_sizes_that_a_scripted_program_fixes_are_told():
    class Fixed(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y], 0).reshape(-1, 3)
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="because the program works only then"):
        model = checked(torch.jit.script(Fixed()), (ROWS, ROWS), input_names=["x", "y"], dynamic_axes={"x": {0: "n", 1: "a"}, "y": {0: "m", 1: "b"}})
    assert dims(model.graph.input[0])[1] == dims(model.graph.input[1])[1]
    assert len(run(model, numpy.ones((2, 3), "f"), numpy.ones((1, 3), "f"))[0]) == 3


def written_constant(x):
    t = torch.tensor([1.0, 2.0])
    y = x + t
    t.add_(5)
    t[0] = 7
    return y, x * t


@pytest.mark.parametrize("module, x", [(torch.nn.Conv1d(3, 4, 2), torch.rand(1, 3, 5)), (torch.nn.ConvTranspose2d(3, 4, 2), torch.rand(1, 3, 5, 5)),
                                       (torch.nn.Conv2d(3, 4, 2, padding="same"), torch.rand(1, 3, 5, 5)), (torch.nn.GRUCell(3, 4), torch.rand(2, 3))])
def test_convolutions_and_cells_under_each_mode_of_gradients(module, x):
    model = torch.nn.Sequential(module, torch.nn.ReLU())
    with torch.inference_mode():
        agrees(exported(model, (x,)), model, x)
    with torch.no_grad():
        agrees(exported(model, (x,)), model, x)
    agrees(exported(model, (x,)), model, x)


def made_by(factory):
    def function(x):
        t = factory(x)
        y = x + t
        t.add_(1)
        return y, x * t
    return function


def total(x):
    found = torch.tensor(0.0)
    for row in x:
        found += row.sum()
    return found


def filled(end):
    out = torch.tensor([1.0])
    return torch.arange(end, out=out), out


def scripted(x):
    def twice(x):
        return x * torch.tensor([2.0])
    return torch.jit.script(twice)(x)


@pytest.mark.parametrize("function, x", [(written_constant, torch.tensor([10.0, 20.0])), (total, torch.ones(2, 3)), (filled, torch.tensor(5.0)),
                                         (scripted, torch.ones(2)),
                                         (made_by(lambda x: torch.Tensor([2.0])), torch.ones(2)),
                                         (made_by(lambda x: torch.FloatTensor([2.0])), torch.ones(2)),
                                         (made_by(lambda x: torch.asarray([2.0])), torch.ones(2)),
                                         (made_by(lambda x: x.new_tensor([2.0])), torch.ones(2))])
def test_a_tensor_that_forward_makes_and_writes_to(function, x):
    """torch's trace holds such a constant as it is after the run."""
    for a, b in zip(flat(function(x)), run(exported(function, (x,), opset_version=14), x)):
        assert a.tolist() == b.tolist()


def test_a_tensor_that_takes_anothers_memory():
    def function(x, y):
        x.set_(y)
        return x + 1
    model = exported(function, (torch.ones(2, 3), torch.ones(4)), opset_version=14)
    assert len(model.graph.input) == 1 and run(model, torch.ones(4))[0].tolist() == [2, 2, 2, 2]


def thirds(x):
    return torch.chunk(x, 3, dim=1)


def by_fours(x):
    return torch.split(x, 4, -1)


def rows(x):
    return x.unbind(1)


OPEN = {"x": {0: "b", 1: "d"}}


@pytest.mark.parametrize("function, sizes", [(thirds, (13, 14, 18)), (by_fours, (3, 8, 9)), (rows, (1, 4))])
def test_parts_of_an_open_size_in_a_script(function, sizes):
    """A sequence of as many as there are."""
    model = exported(torch.jit.script(function), torch.ones(2, 12), input_names=["x"], dynamic_axes=OPEN, opset_version=14)
    for n in sizes:
        x = torch.randn(2, n)
        got = run(model, x)[0]
        assert [a.tolist() for a in got] == [a.tolist() for a in function(x)]


def test_parts_of_an_open_size_in_a_trace():
    """As many as the trace has, which is said."""
    with pytest.warns(UserWarning, match="3 when the model runs, as many as the program takes"):
        model = exported(thirds, torch.ones(2, 18), input_names=["x"], dynamic_axes=OPEN, opset_version=14)
    for n in (13, 14, 15):
        agrees(model, thirds, torch.randn(2, n))
    with pytest.warns(UserWarning, match="2 when the model runs, as many as the program takes"):
        model = exported(by_fours, torch.ones(2, 8), input_names=["x"], dynamic_axes=OPEN, opset_version=14)
    for n in (5, 7, 8):
        agrees(model, by_fours, torch.randn(2, n))
    model = exported(rows, torch.ones(3, 2), input_names=["x"], dynamic_axes=OPEN, opset_version=14)
    assert dims(model.graph.input[0]) == ["b", 2]


@pytest.mark.parametrize("default", [torch.float64, torch.float16])
@pytest.mark.parametrize("script", [False, True])
def test_the_default_dtype_is_torchs(default, script):
    def mixed(x, n):
        return n / 3, torch.zeros(2) + n, x * 2.5, torch.full([2], 0.1), torch.tensor([0.1, 0.2]) * n
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        args = torch.randn(2, dtype=torch.float32), torch.tensor([1, 2])
        agrees(checked(torch.jit.script(mixed) if script else mixed, args), mixed, *args)
    finally:
        torch.set_default_dtype(before)


def test_a_list_of_numbers_is_one_input_of_a_scripted_program():
    @torch.jit.script
    def padded(x, pad: List[int], scale: List[float]):
        return torch.nn.functional.pad(x, pad) * scale[0] + scale[1]
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="pad has 2 items: it is one input, a sequence"):
        model = checked(padded, (ROWS, [2, 4], [0.5, 1.5]))
    assert names(model.graph.input) == ["x", "pad", "scale"] and ops(model).count("SequenceAt") == 4
    for pad in ([2, 4], [0, 1]):
        scale = [numpy.array(0.25), numpy.array(2.0)]
        got, = session(model).run(None, {"x": ROWS.numpy(), "pad": [numpy.array(p) for p in pad], "scale": scale})
        numpy.testing.assert_allclose(got, padded(ROWS, pad, [0.25, 2.0]).numpy(), rtol=1e-6)


def test_lists_of_numbers_and_empty_lists_are_sequences_as_torch_has_them():
    @torch.jit.script
    def numbered(x):
        y = list(range(x.size(0)))
        if x.sum() > 0:
            y.append(10)
        return y

    @torch.jit.script
    def nothing(x):
        found: List[torch.Tensor] = []
        return found, found
    model = checked(numbered, (ROWS,), input_names=["x"], dynamic_axes={"x": [0]})
    for x in (ROWS.abs(), -ROWS.abs()):
        got, = session(model).run(None, {"x": x.numpy()})
        assert [int(i) for i in got] == numbered(x)
    model = checked(nothing, (ROWS,))
    assert session(model).run(None, {}) == [[], []]


def test_the_first_line_of_an_error_says_which_opset_helps():
    """Scripts print str(e).splitlines()[0]."""
    with pytest.raises(RuntimeError) as e:
        exported(lambda x: x.remainder(2.0), torch.rand(2, 3, dtype=torch.float64), opset_version=9)
    assert str(e.value).splitlines()[0] == "Exporting the operator 'aten::remainder' to ONNX opset version 9 is not supported: version 10 supports it"


@pytest.mark.parametrize("options, text", [({"fallback": True}, "fallback=True is ignored: what torch.export refuses is an error"),
                                           ({"_retain_param_name": False}, "_retain_param_name=False is ignored: parameters keep their names")])
def test_a_parameter_without_effect_is_told(options, text):
    with pytest.warns(UserWarning, match=text):
        assert ops(exported(Net(), IMAGE, **options)) == ["Conv", "Relu"]


@pytest.mark.parametrize("options, text", [({"export_params": False}, "export_params=False is ignored, the model has its weights"),
                                           ({"operator_export_type": torch.onnx.OperatorExportTypes.ONNX_ATEN}, "operator_export_type=ONNX_ATEN is ignored")])
@pytest.mark.parametrize("road", ["script", "program"][:1 + TORCH_2])
def test_what_only_a_traced_module_has_is_told(road, options, text):
    net = torch.nn.Linear(3, 4)
    with pytest.warns(UserWarning, match=text):
        model = exported(torch.jit.script(net), (ROWS,), **options) if road == "script" else \
            pt2onnx.export(net, (ROWS,), dynamo=True, **options).model_proto
    agrees(model, net, ROWS)


@pytest.mark.skipif(not TORCH_2, reason="needs torch.export")
def test_a_program_as_a_module():
    """It has the mode that it was exported in, and takes no other."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout()).eval()
    model = torch.export.export(net, (ROWS,)).module()
    agrees(exported(model, (ROWS,)), net, ROWS)


def test_a_weight_that_an_autocast_has_cast_before():
    net = torch.nn.Linear(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(ROWS)
        model = exported(lambda x: net(x).float(), (ROWS,))
        assert torch.is_autocast_cache_enabled()
        agrees(model, lambda x: net(x).float(), ROWS, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("make", [lambda net: net, torch.jit.script], ids=["traced", "scripted"])
def test_an_output_that_is_called_as_an_input_is(make):
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="dropped: the name x of an output, because an input has it"):
        model = exported(make(torch.nn.Linear(3, 4)), (ROWS,), input_names=["x"], output_names=["x"])
    assert names(model.graph.input) == ["x"] and names(model.graph.output) == ["x_1"]


def test_a_stderr_that_only_writes(monkeypatch):
    """As those are which put the lines into a log."""
    monkeypatch.setattr(sys, "stderr", type("Log", (), {"write": lambda self, text: None, "flush": lambda self: None})())
    assert ops(exported(torch.nn.ReLU(), ROWS)) == ["Relu"]
