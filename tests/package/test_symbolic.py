"""Operators that Python lowers: every way that torch's releases know of teaching the exporter one."""
import io
import warnings

import numpy
import onnx
import onnx.numpy_helper
import pytest
import torch
import torch.utils.checkpoint
from torch.onnx import OperatorExportTypes

import pt2onnx
from helpers import TORCH_2, agrees, checked, exported, names, ops, run, weights
from pt2onnx import symbolic_registry
from pt2onnx.versions import jit_utils, registration, symbolic_helper, utils

ROWS = torch.randn(2, 3)

library = torch.library.Library("pt2onnx_test", "DEF")
library.define("foo(Tensor a, Tensor b, float x, int y, int[] ints, bool flag, str text) -> Tensor")
library.define("scale_(Tensor(a!) a, float s) -> Tensor(a!)")
library.impl("scale_", lambda a, s: a.mul_(s), "CompositeExplicitAutograd")
library.define("scales(Tensor(a!) a) -> ()")
library.impl("scales", lambda a: (a.mul_(2), None)[1], "CompositeExplicitAutograd")
library.define("resize(Tensor a, float[] scales, int[] dims) -> Tensor")
library.define("pair(Tensor a, Tensor[] more) -> (Tensor, Tensor)")
for kind in ("CPU", "Meta"):
    library.impl("foo", lambda a, b, x, y, ints, flag, text: a + b, kind)
    library.impl("resize", lambda a, scales, dims: a + 0, kind)
    library.impl("pair", lambda a, more: (a + 1, more[0] * 2), kind)


class Asinh(torch.nn.Module):
    def forward(self, x):
        return torch.asinh(x)


class Foo(torch.nn.Module):
    def forward(self, a, b):
        return torch.ops.pt2onnx_test.foo(a, b, 0.5, 3, [1, 2], True, "text") + 1


@pytest.fixture
def register_op():
    done = []

    def it(name, function, domain, opset):
        symbolic_registry.register_op(name, function, domain, opset)
        done.append((name, domain, opset))
    yield it
    for key in done:
        symbolic_registry.unregister_op(*key)


def marked(g, x):
    """A function that no built-in rule could be mistaken for."""
    return g.op("Neg", g.op("Asinh", x))


# ---- nodes with blocks ----

def doubled_if_positive(g, x):
    total = g.op("ReduceSum", x, keepdims_i=0)
    positive = g.op("Greater", total, g.op("Constant", value_t=torch.tensor(0.0)))
    out, (then, other), _ = jit_utils.add_op_with_blocks(g, "If", positive, n_blocks=2)
    utils._add_output_to_block(then.block, then.op("Mul", x, then.op("Constant", value_t=torch.tensor(2.0))))
    utils._add_output_to_block(other.block, x)
    return out


def doubled_three_times(g, x):
    iterations, go = g.op("Constant", value_t=torch.tensor(3)), g.op("Constant", value_t=torch.tensor(True))
    out, (body,), _ = jit_utils.add_op_with_blocks(g, "Loop", iterations, go, x, n_blocks=1)
    _, cond, v = [utils._add_input_to_block(body.block) for _ in range(3)]
    inner, (then, other), _ = jit_utils.add_op_with_blocks(body, "If", cond, n_blocks=2)
    utils._add_output_to_block(then.block, then.op("Add", v, v))
    utils._add_output_to_block(other.block, other.op("Neg", v))
    utils._add_output_to_block(body.block, cond)
    utils._add_output_to_block(body.block, inner)
    return out


@pytest.mark.parametrize("opset", [11, 14, 17])
@pytest.mark.parametrize("function, op, want", [(doubled_if_positive, "If", lambda x: x * 2 if x.sum() > 0 else x),
                                                (doubled_three_times, "Loop", lambda x: x * 8)], ids=["if", "loop"])
def test_nodes_with_blocks(register, function, op, want, opset):
    register("aten::asinh", function, 9)
    model = checked(lambda x: torch.asinh(x) + 1, ROWS, opset_version=opset)
    assert op in ops(model)
    for x in (ROWS.abs(), -ROWS.abs()):
        agrees(model, lambda x: want(x) + 1, x)


def test_wrong_blocks(register):
    def one_arm(g, x):
        out, (then,), _ = jit_utils.add_op_with_blocks(g, "If", g.op("Constant", value_t=torch.tensor(True)), n_blocks=1)
        utils._add_output_to_block(then.block, x)
        return out

    def raises(g, x):
        out, (then, _), _ = jit_utils.add_op_with_blocks(g, "If", g.op("Cast", x, to_i=9), n_blocks=2)
        utils._add_output_to_block(then.block, then.op("NoSuchOperator", x))
        return out
    for function, text in ((one_arm, "has 1 blocks, ONNX wants 2"), (raises, "NoSuchOperator is no operator of ONNX")):
        register("aten::asinh", function, 9)
        with pytest.raises(RuntimeError, match=text):
            exported(Asinh(), ROWS)


# ---- registered functions ----

@pytest.mark.row("G11")
@pytest.mark.parametrize("name", ["aten::asinh", "::asinh"])
def test_a_registered_function_holds_from_its_opset_on(register, name):
    register(name, marked, 11)
    assert ops(checked(Asinh(), ROWS, opset_version=10)) == ["Asinh"]
    for opset in (11, 12, 17):
        assert ops(checked(Asinh(), ROWS, opset_version=opset)) == ["Asinh", "Neg"]


@pytest.mark.row("G05", "G06")
def test_register_op_holds_for_its_opset_alone(register_op):
    register_op("asinh", marked, "", 11)
    found = {opset: ops(checked(Asinh(), ROWS, opset_version=opset)) for opset in (10, 11, 12)}
    assert found == {10: ["Asinh"], 11: ["Asinh", "Neg"], 12: ["Asinh"]}
    assert symbolic_registry.is_registered_op("asinh", "", 11) and symbolic_registry.get_registered_op("asinh", "", 11) is marked
    assert symbolic_registry.get_registered_op("relu", "", 11) is not None
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError):
        symbolic_registry.get_registered_op("no_such", "", 11)


@pytest.mark.row("H04")
def test_a_function_set_on_an_opsets_module():
    import torch.onnx.symbolic_opset9 as opset9
    opset9.asinh = marked
    try:
        assert ops(checked(Asinh(), ROWS)) == ["Asinh", "Neg"]
    finally:
        del opset9.asinh
    assert ops(checked(Asinh(), ROWS)) == ["Asinh"]


def test_scripted_modules_and_in_place_forms_are_served_too(register):
    register("aten::asinh", marked, 9)
    assert ops(checked(torch.jit.script(Asinh()), ROWS)) == ["Asinh", "Neg"]
    model = checked(lambda x: torch.asinh_(x * 2), ROWS)
    numpy.testing.assert_allclose(run(model, ROWS.numpy())[0], -numpy.arcsinh(2 * ROWS.numpy()), rtol=1e-5)


@pytest.mark.row("H02")
def test_functions_are_called_in_the_order_of_the_nodes(register):
    seen = []

    def logs(name, op):
        def f(g, x, *rest):
            seen.append(name)
            return g.op(op, x)
        return f
    for name, op in (("asinh", "Asinh"), ("sin", "Sin"), ("cos", "Cos")):
        register("aten::" + name, logs(name, op), 9)
    checked(lambda x: torch.cos(torch.asinh(torch.sin(x))), ROWS)
    assert seen == ["sin", "asinh", "cos"]


def test_what_follows_a_users_shape_is_not_held_against_the_trace(register):
    register("aten::asinh", lambda g, x: symbolic_helper._unsqueeze_helper(g, x, [0]), 9)
    model = checked(lambda x: torch.asinh(x) * 2, ROWS)
    assert run(model, ROWS.numpy())[0].shape == (1, 2, 3)


@pytest.mark.row("H24")
def test_torchs_own_helpers_work(register):
    from torch.onnx import symbolic_opset9 as opset9

    def f(g, x):
        two = g.op("Constant", value_t=torch.tensor(2.0))
        assert symbolic_helper._is_value(x) and isinstance(x, torch._C.Value)
        assert symbolic_helper._get_tensor_rank(x) == 2 and symbolic_helper._get_tensor_sizes(x) == [2, 3]
        return opset9.mul(g, symbolic_helper._unsqueeze_helper(g, x, [0]), two)
    register("aten::asinh", f, 9)
    for opset in (9, 14):
        model = checked(Asinh(), ROWS, opset_version=opset)
        numpy.testing.assert_allclose(run(model, ROWS.numpy())[0], 2 * ROWS.numpy()[None])


# ---- custom operators ----

@symbolic_helper.parse_args("v", "v", "f", "i", "is", "b", "s")
def foo(g, a, b, x, y, ints, flag, text):
    assert [type(v) for v in (x, y, ints, flag, text)] == [float, int, list, bool, str], (x, y, ints, flag, text)
    return g.op("custom_domain::Foo", a, b, x_f=x, y_i=y, ints_i=ints, text_s=text)


@pytest.mark.row("A19", "G12", "G13", "G19", "H22")
@pytest.mark.parametrize("make", [lambda m: m, torch.jit.script], ids=["traced", "scripted"])
@pytest.mark.parametrize("opset", [9, 14, 17])
def test_custom_operators(register, make, opset):
    register("pt2onnx_test::foo", foo, 9)
    model = exported(make(Foo()), (ROWS, ROWS), custom_opsets={"custom_domain": 2}, opset_version=opset)
    node = model.graph.node[0]
    assert (node.domain, node.op_type) == ("custom_domain", "Foo") and len(node.input) == 2
    assert {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} == {"x": 0.5, "y": 3, "ints": [1, 2], "text": b"text"}
    assert {o.domain: o.version for o in model.opset_import} == {"": opset, "custom_domain": 2}
    assert [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim] == [2, 3]


@pytest.mark.row("H23")
def test_versions_of_custom_domains_are_1(register):
    register("pt2onnx_test::foo", foo, 9)
    model = exported(Foo(), (ROWS, ROWS))
    assert {o.domain: o.version for o in model.opset_import}["custom_domain"] == 1


def test_a_version_beyond_64_bits_is_refused(register):
    register("pt2onnx_test::foo", foo, 9)
    with pytest.raises(RuntimeError, match="domains: a version of 64 bits is expected, not 'custom_domain=9223372036854775808'"):
        exported(Foo(), (ROWS, ROWS), custom_opsets={"custom_domain": 1 << 63})


def test_dynamic_sizes_are_not_taken_from_the_example(register):
    register("pt2onnx_test::foo", foo, 9)
    model = exported(Foo(), (ROWS, ROWS), input_names=["a", "b"], dynamic_axes={"a": {0: "n"}, "b": {0: "n"}})
    assert not any(d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim)


def test_several_results_and_lists_of_tensors(register):
    def pair(g, a, more):
        more = symbolic_helper._unpack_list(more)
        return g.op("Add", a, g.op("Constant", value_t=torch.tensor(1.0))), g.op("Mul", more[0], g.op("Constant", value_t=torch.tensor(2.0)))
    register("pt2onnx_test::pair", pair, 9)

    class Pair(torch.nn.Module):
        def forward(self, a, b):
            x, y = torch.ops.pt2onnx_test.pair(a, [b, a])
            return x - y
    agrees(checked(Pair(), (ROWS, ROWS)), Pair(), ROWS, ROWS * 3)
    agrees(checked(torch.jit.script(Pair()), (ROWS, ROWS)), Pair(), ROWS, ROWS * 3)


def test_an_unregistered_namespace_is_named():
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="unrecognized namespace pt2onnx_test::foo"):
        exported(Foo(), (ROWS, ROWS))


# ---- autograd Functions ----

class MyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return 2 * a + b

    @staticmethod
    def symbolic(g, a, b):
        two = g.op("Constant", value_t=torch.tensor([2]))
        return g.op("Add", g.op("Mul", a, two), b)


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope, perm):
        return torch.nn.functional.leaky_relu(x, slope).permute(perm)

    @staticmethod
    def symbolic(g, x, slope, perm):
        return g.op("Transpose", g.op("LeakyRelu", x, alpha_f=slope), perm_i=perm)


class Traced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        return (x * k).relu() + 1, x - k


class Opaque(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.detach().numpy() + 1)


class MyClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low):
        return x.clamp(min=low)


def clip(x):
    return MyClip.apply(x, 0.25)


@pytest.mark.row("G15", "G16", "H24")
def test_static_symbolic():
    def f(a, b):
        return MyAdd.apply(a, b)
    model = checked(f, (ROWS, ROWS))
    assert ops(model) == ["Constant", "Mul", "Add"] and names(model.graph.input) == ["a", "b"]
    constant = onnx.numpy_helper.to_array(model.graph.node[0].attribute[0].t) if TORCH_2 else None
    assert constant is None or (constant.dtype == numpy.float32 and constant.tolist() == [2.0])
    agrees(model, f, ROWS, ROWS * 2)


def test_raw_python_arguments():
    def f(x):
        return Leaky.apply(x, 0.25, [1, 0])
    agrees(checked(f, ROWS), f, ROWS)


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1, x.sum(1)

    @staticmethod
    def symbolic(g, x):
        return g.op("custom::Two", x, outputs=2)


def test_several_results_of_a_function():
    model = exported(lambda x: Two.apply(x)[1] * Two.apply(x)[0].sum(1), ROWS)
    assert [n.op_type for n in model.graph.node if n.domain] == ["Two", "Two"]
    assert [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim] == [2]


def test_a_function_without_symbolic_is_its_body():
    def f(x):
        a, b = Traced.apply(x, 3.0)
        return a * b
    agrees(checked(f, ROWS), f, ROWS)
    with pytest.raises(RuntimeError, match="Couldn't export Python operator Traced"):
        exported(f, ROWS, autograd_inlining=False)


class Mixed(torch.autograd.Function):
    """Tensors beside what is none."""
    @staticmethod
    def forward(ctx, x, k):
        return None, x * k, "text", 7, x - k


class Aside(torch.autograd.Function):
    """Its results are in one another, and in a list; a line has several operators of a kind."""
    @staticmethod
    def forward(ctx, x, found):
        found += [x * 2, x * 3]
        return x + 1, (x * 5, x * 7)


def of_mixed(x):
    _, a, text, n, b = Mixed.apply(x, 3.0)
    return a * n - b * len(text)


def of_aside(x):
    found = []
    a, (b, c) = Aside.apply(x, found)
    return a - b * c - found[0] * found[1]


@pytest.mark.parametrize("function", [of_mixed, of_aside])
def test_results_of_a_function_that_are_no_tensors(function):
    agrees(checked(function, ROWS), function, ROWS)


class Checkpointed(torch.nn.Module):
    """As it is by default, a checkpoint is an autograd Function around a module."""
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.linear, x, use_reentrant=True)


@pytest.mark.filterwarnings("ignore")
def test_a_module_with_checkpoints():
    net = Checkpointed()
    model = checked(net, ROWS)
    assert weights(model) == ["linear.weight", "linear.bias"]
    agrees(model, net, ROWS)
    assert "apply" not in vars(torch.utils.checkpoint.CheckpointFunction)
    net(ROWS.clone().requires_grad_()).sum().backward()
    assert net.linear.weight.grad.any()


def test_a_function_that_takes_more_than_its_arguments():
    class Around(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * net.w

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return Around.apply(x)
    net = Net()
    with pytest.raises(RuntimeError, match="uses a tensor that is not among its arguments"):
        exported(net, ROWS)


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.mark_dirty(x)
        x.mul_(x.abs() + 1).add_(k)
        return x


class Unmarked(torch.autograd.Function):
    """Writes to its argument and calls another Function that does."""
    @staticmethod
    def forward(ctx, x, k):
        x.add_(k)
        x[0] = 0
        return Dirty.apply(x, k) * 2


@pytest.mark.parametrize("function", [Dirty, Unmarked])
def test_a_function_that_writes_to_its_argument(function):
    """What it has written stands once more behind the call in a trace."""
    def f(x):
        y = x * 2
        z = function.apply(y, 3.0)
        y.add_(1)
        return z, y, function.apply(y * 1, 3.0)
    agrees(exported(f, ROWS), f, ROWS)


def test_an_opaque_function_is_no_constant():
    with pytest.raises(RuntimeError, match="Couldn't export Python operator Opaque"):
        exported(lambda x: Opaque.apply(x), ROWS)


def seen_by_python_op(kwargs):
    return sorted(kwargs), kwargs["name"]


@pytest.mark.row("H09", "H10", "H11")
@pytest.mark.parametrize("name", ["prim::PythonOp", "::prim_PythonOp"])
def test_python_op_in_the_form_of_1_13(register, name):
    seen = []

    def f(g, *args, **kwargs):
        seen.append((g.original_node.kind(), seen_by_python_op(kwargs)))
        return g.op("Max", args[0], g.op("Constant", value_t=torch.tensor(args[1])))
    register(name, f, 9)
    agrees(checked(clip, ROWS), clip, ROWS)
    assert seen == [("prim::PythonOp", (["inplace", "module", "name"], "MyClip"))]


@pytest.mark.row("H10", "H11", "H12", "H13", "H15")
def test_python_op_in_the_form_of_1_10(register):
    def f(g, n, *args, **kwargs):
        assert n.kind() == "prim::PythonOp" and not [o.requiresGrad() for o in n.outputs()][0]
        assert [symbolic_helper._is_value(a) for a in args] == [True, False] and not args[0].requiresGrad()
        return g.op("Clip", args[0], min_f=args[1]).setType(next(n.outputs()).type())
    register("::prim_PythonOp", f, 1) if TORCH_2 else register("::prim_PythonOp", f, 9)
    agrees(checked(clip, ROWS, opset_version=9), clip, ROWS)


@pytest.mark.row("H11")
def test_python_op_in_the_form_of_1_11(register):
    def f(ctx, g, *args, **kwargs):
        assert ctx.cur_node.pyname() == "MyClip"
        return g.op("Max", args[0], g.op("Constant", value_t=torch.tensor(args[1])))
    register("prim::PythonOp", f, 9)
    agrees(checked(clip, ROWS), clip, ROWS)


def test_a_static_symbolic_beats_the_registered_one(register):
    def f(g, *args, **kwargs):
        raise AssertionError("not for MyAdd")
    register("prim::PythonOp", f, 9)
    assert ops(checked(lambda a, b: MyAdd.apply(a, b), (ROWS, ROWS))) == ["Constant", "Mul", "Add"]


# ---- what goes wrong ----

def test_exceptions_come_back_as_themselves(register):
    def broken(g, x):
        raise KeyError("mine")
    register("aten::asinh", broken, 9)
    with pytest.raises(KeyError, match="mine"):
        exported(Asinh(), ROWS)


@pytest.mark.row("E02", "G04", "H03", "H14")
@pytest.mark.parametrize("function, error, text", [
    (lambda g, x: None, RuntimeError, "Couldn't export operator aten::asinh"),
    (lambda g, x: (x, x), RuntimeError, r"incorrect number of outputs \(expected 1, but got 2\)"),
    (lambda g, x: 3, RuntimeError, "Error casting results of symbolic for asinh"),
    (lambda g, x, y: x, TypeError, "Occurred when translating asinh"),
    (lambda g, x: g.op("NotAnOp", x), RuntimeError, "NotAnOp"),
    (lambda g, x: g.op("Relu", x, alpha=1), ValueError, "alpha"),
    (lambda g, x: symbolic_helper._unimplemented("asinh", "because"), RuntimeError, "because"),
])
@pytest.mark.filterwarnings("ignore")
def test_wrong_functions(register, function, error, text):
    register("aten::asinh", function, 9)
    with pytest.raises(error, match=text):
        exported(Asinh(), ROWS)


# ---- modes that keep operators ----

class Triangle(torch.nn.Module):
    def forward(self, x):
        return torch.mul(torch.triu(x), x)


SQUARE = torch.randn(3, 3)


def kept(mode, model=Triangle(), args=SQUARE, opset=11):
    m = exported(model, args, operator_export_type=mode, opset_version=opset)
    return m, [(n.domain, n.op_type) for n in m.graph.node]


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


@pytest.mark.row("H19")
def test_aten_fallback():
    model, found = kept(OperatorExportTypes.ONNX_ATEN_FALLBACK)
    assert found == [("", "Constant"), ("org.pytorch.aten", "ATen"), ("", "Mul")]
    assert attributes(model.graph.node[1]) == {"operator": b"triu", "overload_name": b""} and len(model.graph.node[1].input) == 2
    assert {domain for domain, _ in kept(OperatorExportTypes.ONNX_ATEN_FALLBACK, opset=14)[1]} == {""}


def test_aten_fallback_of_what_torch_has_no_symbolic_for():
    found = kept(OperatorExportTypes.ONNX_ATEN_FALLBACK, lambda x: torch.nextafter(x, x) * 2, ROWS.abs())[1]
    assert found[0] == ("org.pytorch.aten", "ATen") and ("", "Mul") in found


@pytest.mark.row("H18")
def test_aten_only():
    assert [op for op in kept(OperatorExportTypes.ONNX_ATEN)[1] if op[1] != "Constant"] == [("org.pytorch.aten", "ATen")] * 2


@pytest.mark.parametrize("function, operators", [
    (lambda x: torch.cat((x, x), 1), ["SequenceConstruct", "Constant", "ATen"]),
    (lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2.0), ["Constant", "ATen"]),
    (lambda x: x.reshape(x.shape[0], -1), ["Constant", "ATen"])])
def test_lists_and_sizes_of_aten_nodes(function, operators):
    model, found = kept(OperatorExportTypes.ONNX_ATEN, function)
    last = model.graph.node[-1]
    assert [op for _, op in found][-len(operators):] == operators and attributes(last)["operator"] and last.input[0]


@pytest.mark.parametrize("make, text", [
    (lambda g, x: g.op("Asinh", x, beta_i=1), "Asinh has no attribute beta"), (lambda g, x: g.op("Asinh", x, x, x), "Asinh: 3 inputs")])
def test_invalid_nodes_are_the_functions_mistake(register, make, text):
    register("aten::asinh", make, 9)
    with pytest.raises(torch.onnx.errors.OnnxExporterError, match=text) as e:
        pt2onnx.export(torch.asinh, ROWS)
    assert "bug of pt2onnx" not in str(e.value)


def test_a_list_of_tensors_handed_on_is_a_sequence(register):
    register("aten::hstack", lambda g, tensors: g.op("SequenceAt", tensors, g.op("Constant", value_t=torch.tensor(1))), 11)
    model = exported(lambda x, y: torch.hstack((x, y)), (ROWS, ROWS + 1), opset_version=11)
    assert ops(model) == ["SequenceConstruct", "Constant", "SequenceAt"]
    assert (run(model, ROWS, ROWS + 1)[0] == (ROWS + 1).numpy()).all()


@pytest.mark.row("H03", "H21")
def test_fall_through():
    model, found = kept(OperatorExportTypes.ONNX_FALLTHROUGH)
    assert found == [("", "Constant"), ("org.pytorch.aten", "triu"), ("", "Mul")]
    found = kept(OperatorExportTypes.ONNX_FALLTHROUGH, Foo(), (ROWS, ROWS))[1]
    assert ("pt2onnx_test", "foo") in found and found[-1] == ("", "Add")
    model, found = kept(OperatorExportTypes.ONNX_FALLTHROUGH, clip, ROWS)
    assert found == [("prim", "PythonOp")] and attributes(model.graph.node[0])["name"] == b"MyClip"


def test_fallback_modes_list_weights_among_the_inputs():
    model, _ = kept(OperatorExportTypes.ONNX_ATEN_FALLBACK, torch.nn.Linear(3, 3), SQUARE)
    assert len(model.graph.input) == 3


@pytest.mark.parametrize("mode", [OperatorExportTypes.ONNX_ATEN, OperatorExportTypes.ONNX_ATEN_FALLBACK])
def test_python_operators_cannot_be_kept_as_aten(mode):
    with pytest.raises(RuntimeError, match="Couldn't export Python operator MyClip"):
        kept(mode, clip, ROWS)


def test_torchs_own_function_where_pt2onnx_has_none(capfd):
    """torch_symbolics=True: printed, and off by default."""
    library = torch.library.Library("borrowed", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.borrowed.twice(x).relu()

    registration.registry.register("borrowed::twice", 9, lambda g, x: g.op("Add", x, x), custom=False)
    try:
        with pytest.raises(RuntimeError, match="borrowed::twice"):
            exported(Net(), torch.ones(2), opset_version=14)
        for model in (Net(), torch.jit.script(Net())):
            capfd.readouterr()
            assert ops(exported(model, torch.ones(2), opset_version=14, torch_symbolics=True)) == ["Add", "Relu"]
            assert capfd.readouterr().err.count("pt2onnx: borrowed::twice goes through torch.onnx's own symbolic function") == 1
    finally:
        registration.registry.get_function_group("borrowed::twice")._functions._base.pop(9)


def test_a_warning_names_the_callers_line(recwarn):
    pt2onnx.export(torch.nn.ReLU(), torch.ones(2), io.BytesIO(), input_names=["x"], dynamic_axes={"x": [0]})
    assert [w.filename for w in recwarn if "No names were found" in str(w.message)] == [__file__]


@pytest.mark.skipif(not TORCH_2, reason="onnxscript goes with torch 2.x")
@pytest.mark.parametrize("dynamo", [True, False])
def test_a_translation_table_of_onnxscript(dynamo):
    """Plain and decorated functions; numbers, lists and None are Python's; a registered operator and one of torch's."""
    onnxscript = pytest.importorskip("onnxscript")
    op = onnxscript.opset18
    library = torch.library.Library("translated", "DEF")
    library.define("scaled(Tensor x, Tensor? y, float a, int[] dims) -> Tensor")
    for kind in ("CPU", "Meta"):
        library.impl("scaled", lambda x, y, a, dims: ((x if y is None else x + y) * a).sum(dims), kind)

    def scaled(x, y, a, dims):
        return op.ReduceSum(op.Mul(x if y is None else op.Add(x, y), a), dims, keepdims=0)

    @onnxscript.script(default_opset=op)
    def relu(x):
        return op.Max(x, op.Constant(value_float=0.0))

    class Net(torch.nn.Module):
        def forward(self, x):
            f = torch.ops.translated.scaled
            return f(x, None, 2.0, [1]) + f(x, x, 0.5, [0, 1]), torch.relu(x)

    table = {torch.ops.translated.scaled.default: scaled, torch.ops.aten.relu.default: relu}
    f = io.BytesIO()
    pt2onnx.export(Net(), (ROWS,), f, dynamo=dynamo, custom_translation_table=table)
    model = onnx.load_model_from_string(f.getvalue())
    assert "Relu" not in ops(model) and ops(model).count("ReduceSum") == 2 and ops(model)[-1] == "Max"
    agrees(model, Net(), ROWS)


@pytest.mark.skipif(not TORCH_2, reason="onnxscript goes with torch 2.x")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_a_translation_table_has_the_operators_of_python(dtype):
    """Numbers beside a tensor have its type."""
    onnxscript = pytest.importorskip("onnxscript")
    op = onnxscript.opset18
    library = torch.library.Library("translated_infix", "DEF")
    library.define("both(Tensor x, Tensor y) -> (Tensor, Tensor)")

    def both(x, y):
        return (2 - -x * y + 1) / 3, torch.where((x > y) & (3 * y >= x), x % 3, x ** 2) - y
    library.impl("both", lambda x, y: tuple(t.to(x.dtype) for t in both(x, y)), "CPU")

    def plain(x, y):
        return (2 - -x * y + 1) / 3, op.Where((x > y) & (3 * y >= x), x % 3, x ** 2) - y

    @onnxscript.script(default_opset=op)
    def decorated(x, y):
        return (2 - -x * y + 1) / 3, op.Where((x > y) & (3 * y >= x), op.Mod(x, 3), x ** 2) - y
    net = type("Net", (torch.nn.Module,), {"forward": lambda self, x, y: torch.ops.translated_infix.both(x, y)})()
    x, y = (torch.rand(2, 5) * 9 + 1).to(dtype), (torch.rand(5) * 9 + 1).to(dtype)
    for function in (plain, decorated)[:1 if dtype.is_floating_point else 2]:       # Mod of floats needs fmod=1, which torch's operator has
        pt2onnx.export(net, (x, y), dynamo=False, custom_translation_table={torch.ops.translated_infix.both.default: function}, verify=True)
    del library


@pytest.mark.skipif(not TORCH_2, reason="onnxscript goes with torch 2.x")
@pytest.mark.parametrize("dynamo", [True, False])
def test_a_translation_table_has_lists_of_tensors(dynamo):
    op = pytest.importorskip("onnxscript").opset18
    library = torch.library.Library("translated_lists", "DEF")
    library.define("total(Tensor[] xs, int[] flags) -> Tensor")
    for kind in ("CPU", "Meta"):
        library.impl("total", lambda xs, flags: xs[0] + xs[1], kind)

    def total(xs, flags):
        assert flags == [3, 4]
        return op.Sum(*xs)

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.translated_lists.total([x, x * 2], [3, 4])
    result = pt2onnx.export(Net(), (ROWS,), dynamo=dynamo, custom_translation_table={torch.ops.translated_lists.total.default: total}, verify=True)
    assert ops(result.model_proto)[-1] == "Sum"


@pytest.fixture(scope="module")
def scaled():
    """An operator with defaults, some of them for arguments that go by name only. Once: torch up to 2.9 calls one of the same name that is gone."""
    library = torch.library.Library("pt2onnx_scaled", "DEF")
    library.define("scaled(Tensor x, float k=2.0, float m=3.0, *, float q=5.0, float r=7.0) -> Tensor")
    for kind in ("CPU", "Meta"):
        library.impl("scaled", lambda x, k=2.0, m=3.0, q=5.0, r=7.0: x * k - m + q * r, kind)
    yield torch.ops.pt2onnx_scaled.scaled
    del library


CALLS = [({}, [2, 3, 5, 7]), ({"m": 30.0}, [2, 30, 5, 7]), ({"r": 70.0}, [2, 3, 5, 70]), ({"k": 20.0, "q": 50.0}, [20, 3, 50, 7])]


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("given, want", CALLS)
def test_a_function_has_all_arguments_of_an_operator_in_their_places(register, scaled, dynamo, given, want):
    """A program of torch.export has only those that were given."""
    seen = []

    def symbolic(g, x, *numbers):
        seen.append([torch.onnx.symbolic_helper._maybe_get_const(n, "f") for n in numbers])
        return g.op("Identity", x)
    register("pt2onnx_scaled::scaled", symbolic, 11)
    net = type("Net", (torch.nn.Module,), {"forward": lambda self, x: scaled(x, **given)})()
    args = torch.export.export(net, (ROWS,)) if dynamo else net, (ROWS,)
    before = str(args[0].graph) if dynamo else ""
    pt2onnx.export(*args, io.BytesIO())
    assert seen == [want] and (str(args[0].graph) if dynamo else "") == before


@pytest.mark.skipif(not TORCH_2, reason="onnxscript goes with torch 2.x")
@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("given, want", CALLS)
def test_a_translation_table_has_them_by_name_where_they_go_by_name(scaled, dynamo, given, want):
    op, seen = pytest.importorskip("onnxscript").opset18, []

    def by_name(x, k=2.0, m=3.0, *, q=5.0, r=7.0):
        seen.append([k, m, q, r])
        return op.Identity(x)

    def by_place(x, k, m, q, r):
        seen.append([k, m, q, r])
        return op.Identity(x)

    def any_name(x, k=2.0, m=3.0, **others):
        seen.append([k, m, others["q"], others["r"]])
        return op.Identity(x)
    for function in (by_name, by_place, any_name):
        pt2onnx.export(lambda x: scaled(x, **given), (ROWS,), io.BytesIO(), dynamo=dynamo, custom_translation_table={scaled.default: function})
    assert seen == [want] * 3


@pytest.mark.skipif(not TORCH_2, reason="onnxscript goes with torch 2.x")
@pytest.mark.parametrize("dynamo", [True, False])
def test_a_function_of_a_translation_table_may_lack_arguments_that_have_their_defaults(scaled, dynamo):
    op = pytest.importorskip("onnxscript").opset18
    for given, fails in (({}, False), ({"k": 3.0}, False), ({"r": 1.0}, True)):
        table = {scaled.default: lambda x, k=2.0: op.Mul(x, op.Constant(value_float=k))}
        export = lambda: pt2onnx.export(lambda x: scaled(x, **given), (ROWS,), io.BytesIO(), dynamo=dynamo, custom_translation_table=table)
        if fails:
            with pytest.raises(TypeError):
                export()
        else:
            export()


@pytest.mark.parametrize("table, text", [
    ({"aten::relu": abs}, "custom_translation_table: an operator is one of torch.ops, as torch.ops.aten.relu.default, not 'aten::relu'"),
    ({abs: abs}, "custom_translation_table: an operator is one of torch.ops"),
    ([abs], "custom_translation_table is a dict of operators and functions"),
    ({torch.ops.aten.relu: None}, "one function, not None"),
])
def test_wrong_translation_tables(table, text):
    with pytest.raises(TypeError, match=text):
        exported(torch.nn.ReLU(), ROWS, custom_translation_table=table)


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_a_function_gives_results_and_cannot_say_what_an_exported_operator_writes(register):
    two = torch.library.custom_op("pt2onnx_test::two", lambda a, b: (a.mul_(b), None)[1], mutates_args=("a",), schema="(Tensor(a!) a, Tensor b) -> ()")

    class Writes(torch.nn.Module):
        def forward(self, x, y):
            held = x * 1
            two(held, y)
            return held

    try:
        program = torch.export.export(Writes(), (ROWS, ROWS)).run_decompositions({})
    except AttributeError as e:
        if "no overload name 'default'" not in str(e):
            raise
        pytest.skip("torch 2.6 stumbles over operators that another test has registered without an overload")
    register("pt2onnx_test::two", lambda g, a, b: g.op("Mul", a, b), 18)
    older = "which arguments torch.ops.pt2onnx_test.two.default writes to is not in the file"      # what torch 2.6 makes of it
    with pytest.raises(Exception, match="writes to its argument a, which its rule, or the function registered for it, does not say|" + older):
        exported(program, (), opset_version=18)


class Scaled(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        torch.ops.pt2onnx_test.scale_(y, 2.0)
        return y


class ScaledBySomething(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        torch.ops.pt2onnx_test.scales(y)
        return y


@pytest.mark.parametrize("name", ["scale_", "scale"])
@pytest.mark.parametrize("form", [lambda m: m, torch.jit.script])
def test_a_function_for_an_operator_in_place_gives_what_is_written(register, name, form):
    register("pt2onnx_test::" + name, lambda g, a, s: g.op("Mul", a, g.op("Constant", value_t=torch.tensor(2.0))), 13)
    model = checked(form(Scaled()), (ROWS,), opset_version=13)
    numpy.testing.assert_array_equal(run(model, ROWS.numpy())[0], ROWS.numpy() * 2)


def test_what_a_function_gives_for_an_operator_that_gives_nothing_is_not_lost(register):
    register("pt2onnx_test::scales", lambda g, a: g.op("Add", a, a), 13)
    with pytest.raises(Exception, match="the function registered for it gives a value, which would be lost"):
        exported(torch.jit.script(ScaledBySomething()), (ROWS,), opset_version=13)


@pytest.mark.parametrize("texts", [["near", "", "größe"], [""]])
def test_a_list_of_texts_is_an_attribute(register, texts):
    register("aten::asinh", lambda g, x: g.op("mine::Modes", x, modes_s=texts).setType(x.type()), 9)
    node = exported(lambda x: torch.asinh(x), (ROWS,)).graph.node[0]
    assert node.op_type == "Modes" and [s.decode() for s in onnx.helper.get_attribute_value(node.attribute[0])] == texts


class WithFloats(torch.nn.Module):
    def forward(self, x):
        return torch.ops.pt2onnx_test.resize(x, [0.5, 2.0], [3, -4])


@pytest.mark.parametrize("form", [lambda m: m, torch.jit.script], ids=["traced", "scripted"])
def test_lists_of_floats(register, form):
    """As arguments that parse_args reads, and as attributes."""
    @symbolic_helper.parse_args("v", "fs", "is")
    def resize(g, x, scales, dims):
        return g.op("mine::Resize", x, scales_f=scales, dims_i=dims).setType(x.type())
    register("pt2onnx_test::resize", resize, 9)
    node = exported(form(WithFloats()), (ROWS,)).graph.node[0]
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert node.op_type == "Resize" and list(found["scales"]) == [0.5, 2.0] and list(found["dims"]) == [3, -4]
    register("pt2onnx_test::resize", lambda g, x, scales, dims: g.op("mine::Resize", x, scales).setType(x.type()), 9)
    model = exported(form(WithFloats()), (ROWS,))
    assert onnx.numpy_helper.to_array(model.graph.node[0].attribute[0].t).dtype == "float32"
