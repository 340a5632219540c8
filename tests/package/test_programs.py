"""Modules through torch.export: dynamo=True, dynamic_shapes, and what is given back. torch 1.13 has none of it."""
import collections
import dataclasses
import gc
import io
import json
import warnings
import zipfile

import numpy
import onnx
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, agrees, dims, names, ops, weights

pytestmark = pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
ROWS = torch.randn(4, 3)


class Nested(torch.nn.Module):
    def forward(self, d, pair, k=None, *, scale=None):
        y = d["a"] + d["b"][0] + pair[0] * pair[1]
        y = y if k is None else y + k
        return {"y": y if scale is None else y * scale, "z": (y + 1, None)}


class Both(torch.nn.Module):
    def forward(self, x, y):
        return x * 2, y + 1


NESTED = {"a": ROWS, "b": [ROWS]}, (ROWS, ROWS)


def program(model, args, **options):
    found = pt2onnx.export(model, args, dynamo=True, **options).model_proto
    onnx.checker.check_model(found)
    return found


def graph_of(path):
    with zipfile.ZipFile(path) as f:
        return json.loads(f.read(next(n for n in f.namelist() if n.endswith(("models/model.json", "serialized_exported_program.json")))))


class Conjugates(torch.nn.Module):
    """A weight, a buffer and an attribute whose memory holds the conjugate, or the negative, of what they are."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3, dtype=torch.complex64).conj())
        self.register_buffer("b", torch.randn(3, dtype=torch.complex64).conj())
        self.c = torch.randn(3, dtype=torch.complex64).conj().imag

    def forward(self, x):
        return (x * self.w + self.b).imag - self.c


def test_tensors_that_are_the_conjugates_of_what_memory_holds():
    net = Conjugates()
    for model in (net, torch.export.export(net, (ROWS,), strict=False)):
        program(model, (ROWS,), verify=True)
    assert net.w.is_conj() and net.b.is_conj() and net.c.is_neg()


def test_torchs_test_of_the_canonical_form_is_left_out(monkeypatch, tmp_path):
    """It takes half of torch.export.save, and what it gives is dropped: the saved program is the same. Behind the export it is there again."""
    from torch._export.serde import serialize
    saved, asked = torch.export.export(Both(), (ROWS, ROWS)), []
    torch.export.save(saved, str(tmp_path / "torch.pt2"))
    monkeypatch.setattr(serialize, "canonicalize", lambda *a: asked.append(a))
    before = serialize.canonicalize
    pt2onnx.export(saved, (), str(tmp_path / "net.onnx"), dump_exported_program=True, artifacts_dir=str(tmp_path))
    assert not asked and serialize.canonicalize is before and gc.isenabled()
    assert graph_of(tmp_path / "pt2onnx-program.pt2") == graph_of(tmp_path / "torch.pt2")


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class State:
    now: torch.Tensor
    before: torch.Tensor = None
    count: torch.Tensor = None


if TORCH_2:
    torch.export.register_dataclass(State)              # without a name that a file could have


class Called(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("function, x, inputs, outputs", [
    (lambda x: x.max(dim=1), ROWS, ["x"], ["values", "indices"]),
    (lambda x: {"top": x.topk(2), "all": [x + 1]}, ROWS, ["x"], ["top.values", "top.indices", "all.0"]),
    (lambda x: torch.linalg.slogdet(x[:3]), ROWS, ["x"], ["sign", "logabsdet"]),
    (lambda x: Pair(x.max(dim=1), Pair(x + 1, x * 2)), ROWS, ["x"], ["left.values", "left.indices", "right.left", "right.right"]),
    (lambda x: State(x + 1, count=x * 2), ROWS, ["x"], ["now", "count"]),
    (lambda x: x.left + x.right, Pair(ROWS, ROWS + 1), ["x.left", "x.right"], ["output"]),
    (lambda x: x.now + x.count, State(ROWS, count=ROWS + 1), ["x.now", "x.count"], ["output"]),
])
def test_containers_that_have_no_name_in_a_file(function, x, inputs, outputs):
    """torch.export.save refuses them. The program keeps them."""
    registry = torch.utils._pytree.SUPPORTED_SERIALIZED_TYPES
    names_in_files = dict(registry)
    made = torch.export.export(Called(function), (x,))
    graph = list(made.module_call_graph)
    for model, args in ((Called(function), (x,)), (made, ())):
        found = pt2onnx.export(model, args, dynamo=True, verify=True)
        assert (found.input_names, found.output_names) == (inputs, outputs)
        assert len(found(x)) == len(outputs)
    assert made.module_call_graph == graph and made.example_inputs[0][0] is x and type(made.module()(x)) is type(function(x))
    assert {cls: registry[cls] for cls in names_in_files} == names_in_files and Pair not in registry


@pytest.mark.parametrize("function, x, inputs", [
    (lambda x: x.left + x.right, Pair(ROWS, ROWS + 1), ["x.left", "x.right"]),
    (lambda x: x.now + x.count, State(ROWS, count=ROWS + 1), ["x.now", "x.count"]),
    (lambda x: x.now["a"] + x.now["b"][0], State({"a": ROWS, "b": [ROWS + 1]}), ["x.now.a", "x.now.b.0"]),
    (lambda x: x.now.left + x.before[0], State(Pair(ROWS, ROWS), (ROWS,)), ["x.now.left", "x.now.right", "x.before.0"]),
])
def test_dynamic_axes_of_what_is_in_a_container(function, x, inputs):
    axes = {name: {0: "n"} for name in inputs}
    assert sizes(program(Called(function), (x,), dynamic_axes=axes, verify=True)) == {name: ["n", 3] for name in inputs}
    found = program(Called(function), (x,), input_names=list("pqr"[:len(inputs)]), dynamic_axes={name: {0: "n"} for name in "pqr"[:len(inputs)]})
    assert sizes(found) == {name: ["n", 3] for name in "pqr"[:len(inputs)]}


def test_dynamic_axes_of_an_argument_beside_a_container():
    class Beside(torch.nn.Module):
        def forward(self, state, x):
            return state.now.sum() + x
    found = program(Beside(), (State(ROWS), ROWS), dynamic_axes={"x": {0: "n"}}, verify=True)
    assert sizes(found) == {"state.now": [4, 3], "x": ["n", 3]}


def test_containers_without_names_in_the_saved_program(tmp_path):
    model = Called(lambda x: Pair(x.now + 1, x.now.max(dim=1)))
    pt2onnx.export(model, (State(ROWS),), dynamo=True, dump_exported_program=True, artifacts_dir=str(tmp_path))
    found = torch.export.load(tmp_path / "pt2onnx-program.pt2")
    assert found.example_inputs is None                 # it would not be what the program takes
    assert found.call_spec.out_spec == torch.utils._pytree.tree_flatten({"left": 0, "right": {"values": 0, "indices": 0}})[1]


def test_containers_of_a_class_that_python_does_not_write():
    """torch.export.save would write the example too."""
    @dataclasses.dataclass
    class Local:
        rows: torch.Tensor
    torch.export.register_dataclass(Local, serialized_type_name="test_programs.Local")
    assert pt2onnx.export(Called(lambda x: x.rows + 1), (Local(ROWS),), dynamo=True, verify=True).input_names == ["x.rows"]


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


class Repeated(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops import while_loop
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.zeros((), dtype=torch.int64), x))


class Scanned(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops import scan
        return scan(lambda total, row: (total + row, total * row), torch.zeros(3), x)


class Mapped(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.map import map as map_rows
        return map_rows(lambda row: row.sin() + 1, x)


@pytest.mark.skipif(not hasattr(torch, "_higher_order_ops") or not hasattr(torch._higher_order_ops, "scan"), reason="this torch has no scan")
@pytest.mark.parametrize("options", [{}, {"verify": True}, {"dynamic_shapes": {"x": {0: "n"}}}], ids=["", "verify", "open"])
@pytest.mark.parametrize("net", [Branches, Repeated, Scanned, Mapped])
def test_operators_that_take_functions(net, options):
    """They compile those functions. Behind the export they do so as before."""
    model = program(net(), (ROWS,), **options)
    agrees(model, net(), ROWS)
    agrees(model, net(), -ROWS)
    torch.export.export(net(), (ROWS,))


@pytest.mark.skipif(not hasattr(torch, "cond"), reason="this torch has no cond")
def test_torch_is_as_before_where_a_function_fails():
    class Unlike(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, torch.sin, torch.sum, (x,))
    with pytest.raises(Exception, match="cond"):
        program(Unlike(), (ROWS,))
    torch.export.export(Branches(), (ROWS,))
    assert torch.equal(torch.cond(torch.tensor(True), torch.sin, torch.cos, (ROWS,)), ROWS.sin())


@pytest.mark.skipif(not hasattr(torch, "compiler") or not hasattr(torch.compiler, "is_exporting"), reason="this torch does not say that it exports")
def test_what_forward_compiles_is_compiled_as_without_us():
    """A mode of ours is no part of it, and what the run writes to is as before."""
    held, graphs = [torch.zeros(3), torch.zeros(0, 2, dtype=torch.int64)], []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    class Compiled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = torch.compile(self.parts, backend=backend)

        def parts(self, x):
            torch.nonzero(x, out=held[1])               # no part of a graph
            held[0].add_(1)
            return x + held[0] + held[1].sum()

        def forward(self, x):
            return x + 1 if torch.compiler.is_exporting() else x + self.part(x) * 0 + 1
    try:
        program(Compiled(), (ROWS,), verify=True)
        compiled = len(graphs)
        Compiled()(ROWS)
        assert held[0].tolist() == [1, 1, 1] and compiled == len(graphs) > 0
    finally:
        torch._dynamo.reset()


def sizes(model):
    return {v.name: dims(v) for v in model.graph.input}


def test_one_tensor_given_twice_is_two_inputs():
    class Product(torch.nn.Module):
        def forward(self, x, y):
            return x * y
    model = program(Product(), (ROWS, ROWS))
    assert names(model.graph.input) == ["x", "y"]
    agrees(model, Product(), ROWS, ROWS + 1)


@pytest.mark.parametrize("shapes, want", [
    ({"x": {0: "batch size"}, "y": None}, ["batch_size", 3]),
    (({0: "n"}, None), ["n", 3]),
    ({"x": ["n", 3], "y": None}, ["n", 3]),
    (({0: torch.export.Dim("rows", min=2)}, None), ["rows", 3]) if TORCH_2 else (None, None),
])
def test_names_of_open_sizes(shapes, want):
    assert sizes(program(Both(), (ROWS, ROWS), dynamic_shapes=shapes)) == {"x": want, "y": [4, 3]}


def test_hints_leave_the_name_to_torch():
    found = sizes(program(Both(), (ROWS, ROWS), dynamic_shapes=({0: torch.export.Dim.AUTO, 1: torch.export.Dim.STATIC}, None)))
    assert isinstance(found["x"][0], str) and found["x"][1:] == [3] and found["y"] == [4, 3]


@pytest.mark.parametrize("keywords", [{}, {"scale": ROWS}, {"k": ROWS, "scale": ROWS}])
def test_sizes_of_nested_arguments(keywords):
    n = {0: "n"}
    shapes = {"d": {"a": n, "b": [n]}, "pair": (n, n), **{k: n for k in keywords}}
    model = program(Nested(), NESTED, kwargs=keywords, dynamic_shapes=shapes, verify=True)
    assert sizes(model) == {name: ["n", 3] for name in ["d.a", "d.b.0", "pair.0", "pair.1", *keywords]}


@pytest.mark.parametrize("shapes, text", [
    ({"rows": {0: "n"}, "y": None}, "dynamic_shapes: forward is given no argument rows, only x, y"),
    (({0: "n"}, None, None), "dynamic_shapes tells of 3 arguments, forward is given 2"),
    ("n", "dynamic_shapes is a dict, tuple or list, not 'n'"),
])
def test_shapes_of_arguments_that_are_not_there_are_refused(shapes, text):
    with pytest.raises((ValueError, TypeError), match=text):
        program(Both(), (ROWS, ROWS), dynamic_shapes=shapes)


@pytest.mark.parametrize("shapes, text", [
    ({"d": {"c": {0: "n"}}}, "d has the keys a, b, not 'c'"),
    ({"d": {0: "n"}}, "d has the keys a, b, not 0"),
    ({"d": [{0: "n"}]}, "d has the keys a, b"),
    ({"d": {"b": [None, {0: "n"}]}}, "d.b has 1 items"),
    ({"pair": {0: "n"}}, "pair has 2 items"),
    ({"d": {"a": {2: "n"}}}, "d.a has no dimension 2, it has 2"),
    ({"d": {"a": {-3: "n"}}}, "d.a has no dimension -3"),
    ({"d": {"a": {"0": "n"}}}, "d.a has no dimension '0'"),
    ({"d": {"a": ["n"]}}, "d.a has 2 dimensions, not 1"),
    ({"d": {"a": "n"}}, "d.a is a tensor, of which a dict or a list tells, not 'n'"),
])
def test_shapes_of_what_is_not_in_an_argument_are_refused(shapes, text):
    with pytest.raises((ValueError, TypeError), match="dynamic_shapes: " + text):
        program(Nested(), NESTED, dynamic_shapes=shapes)


@pytest.mark.parametrize("options", [{"dynamic_shapes": {"x": {0: "n"}}}, {"input_names": ["x"], "dynamic_axes": {"x": {0: "n"}}}])
def test_a_size_that_the_program_narrows_is_told(options):
    class Few(torch.nn.Module):
        def forward(self, x):
            return x.sum() if x.shape[0] > 3 else x.mean()
    with pytest.warns(torch.onnx.errors.OnnxExporterWarning, match="exported for inputs of which this is true: n <= 3"):
        program(Few(), (ROWS[:2],), **options)


class Centred(torch.nn.Module):
    def forward(self, x):
        return x - x.mean(0) if x.shape[0] > 1 else x


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]], ids=["several", "one"])
@pytest.mark.parametrize("options", [{"dynamic_shapes": ({0: "n"},)}, {"dynamic_axes": {"x": {0: "n"}}}], ids=["shapes", "axes"])
def test_a_question_for_a_size_of_one_is_told(options, rows):
    """torch.export takes an open size for one of two and more, and leaves no trace of it."""
    with pytest.warns(UserWarning, match=r"assumed: the size n is not 1: .*test_programs.py:\d+ asks for n > 1, and the program goes the way of larger sizes"):
        model = program(Centred(), (rows,), **options)
    agrees(model, Centred(), torch.randn(5, 3))


class Masked(torch.nn.Module):
    """As the attention of transformers asks: for one position, which sees itself alone, a causal mask says nothing."""

    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=bool(x.shape[0] > 1))


def test_a_question_for_a_size_of_one_that_changes_nothing_is_not_told(recwarn):
    model = program(Masked(), (ROWS,), dynamic_shapes=({0: "n"},))
    assert not [w for w in recwarn if "assumed" in str(w.message)]
    for n in 1, 2, 5:
        agrees(model, Masked(), torch.randn(n, 3))


def test_a_size_that_is_said_to_be_larger_than_one_is_not_told(recwarn):
    program(Centred(), (ROWS,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    assert not [w for w in recwarn if "assumed" in str(w.message)]


def test_an_axis_may_be_counted_from_the_end():
    assert sizes(program(Both(), (ROWS, ROWS), dynamic_shapes={"x": {-2: "n"}, "y": {-2: "m", -1: None}})) == {"x": ["n", 3], "y": ["m", 3]}


def test_an_open_size_may_be_one_in_the_example():
    """torch.export takes a size of 1 for a fixed one."""
    class Norm(torch.nn.Module):
        def forward(self, x, y, z):
            return torch.nn.functional.layer_norm(x + y, [3]).reshape(x.shape[0], -1), z * 2
    one, three = ROWS[:1], ROWS[:3]
    for n in ("n", torch.export.Dim("n"), torch.export.Dim.DYNAMIC, torch.export.Dim.AUTO):
        model = program(Norm(), (one, one, one), dynamic_shapes={"x": {0: n}, "y": {0: n}, "z": None}, verify=True)
        agrees(model, Norm(), three, three, one)
    model = program(Norm(), (one, one, one), input_names=["x", "y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, verify=True)
    assert sizes(model) == {"x": ["n", 3], "y": ["n", 3], "z": [1, 3]}


def test_a_size_that_is_one_in_the_example_and_must_be():
    class Column(torch.nn.Module):
        def forward(self, x):
            return x.view(3, 1) * 2
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            assert sizes(program(Column(), (ROWS[:1],), dynamic_shapes={"x": {0: "n"}})) == {"x": [1, 3]}
        except ValueError as e:                         # torch 2.7 and later
            assert "hint of 1 for dimension" in str(e)
            return
    assert "dimension 0 of x is 1 in the program: torch.export has fixed it" in [str(w.message) for w in told]


def test_names_of_sizes_that_are_computed_of_one_another():
    n = torch.export.Dim("n", min=1, max=100)
    assert sizes(program(Both(), (ROWS, ROWS), dynamic_shapes={"x": {0: 2 * n}, "y": None})) == {"x": ["2*n", 3], "y": [4, 3]}


def test_names_go_with_the_arguments_in_any_order():
    """A program has its arguments in the order in which they were given."""
    shapes = {"x": {0: "rows", 1: None}, "y": {0: "others", 1: None}}
    model = program(Both(), (), kwargs={"y": torch.randn(5, 3), "x": ROWS}, dynamic_shapes=shapes, verify=True)
    assert sizes(model) == {"y": ["others", 3], "x": ["rows", 3]}
    axes = {"p": {0: "others"}, "q": {0: "rows"}}
    model = program(Both(), (), kwargs={"y": torch.randn(5, 3), "x": ROWS}, input_names=["p", "q"], dynamic_axes=axes, verify=True)
    assert sizes(model) == {"p": ["others", 3], "q": ["rows", 3]} and names(model.graph.output) == ["output.0", "output.1"]


@pytest.mark.parametrize("options", [
    {"dynamic_shapes": {"input": {1: "k"}}},
    {"input_names": ["x"], "dynamic_axes": {"x": {1: "k"}}, "dynamo": True},
])
def test_sizes_that_torch_export_refuses_leave_the_tensor_as_it_was(options):
    """It marks the example's tensors, and would take the marks for the next export's."""
    net, x = torch.nn.Linear(4, 5), torch.randn(3, 4)
    x.note = "kept"
    with pytest.raises(Exception, match="k|dynamic|constraint"):
        pt2onnx.export(net, (x,), **options)
    assert vars(x) == {"note": "kept"}
    program(net, (x,), verify=True)


def test_collections_of_shapes():
    found = torch.export.ShapesCollection()
    x, y = ROWS + 1, ROWS + 2
    found[x] = {0: torch.export.Dim("rows")}
    assert sizes(program(Both(), (x, y), dynamic_shapes=found)) == {"x": ["rows", 3], "y": [4, 3]}


def test_open_numbers():
    class Scaled(torch.nn.Module):
        def forward(self, x, k):
            return x * k, torch.zeros(k)
    try:
        model = program(Scaled(), (ROWS, 3), dynamic_shapes={"x": {0: "n"}, "k": torch.export.Dim.DYNAMIC}, verify=True)
    except torch._dynamo.exc.UserError as e:
        assert "non-tensor type" in str(e)
        pytest.skip("this torch opens sizes of tensors alone")
    assert sizes(model) == {"x": ["n", 3], "k": []}
    agrees(model, Scaled(), ROWS[:2], 5)
    made = torch.export.export(Scaled(), (ROWS, 3), dynamic_shapes=({0: torch.export.Dim("a")}, torch.export.Dim.DYNAMIC))
    result = pt2onnx.export(made, (ROWS, 3), input_names=["rows", "times"], dynamic_axes={"rows": {0: "n"}}, verify=True)
    assert sizes(result.model_proto) == {"rows": ["n", 3], "times": []}
    torch.testing.assert_close(result(ROWS, 5)[0], ROWS * 5)


class Line(torch.nn.Module):
    def forward(self, k, a, b):
        return a * k - b


class Chosen(torch.nn.Module):
    def forward(self, q, flag=False, m=None):
        return q.sum(0) + m.sum(0) * (2 if flag else 1)


def program_of(model, args):
    """With its tensors' first sizes open."""
    rows = [{0: torch.export.Dim.DYNAMIC} if isinstance(a, torch.Tensor) and a.dim() else None for a in args]
    return torch.export.export(model, args, dynamic_shapes=tuple(rows))


@pytest.mark.parametrize("make", [lambda net, args: net, program_of], ids=["module", "program"])
def test_numbers_are_constants_of_a_program(make):
    """torch.export makes them so: the model has no inputs for them."""
    k, a, b = 3, torch.tensor(5), torch.tensor(7)
    result = pt2onnx.export(make(Line(), (k, a, b)), (k, a, b), dynamo=True, verify=True)
    assert result.input_names == ["a", "b"] and result(k, a, b)[0] == result(b=b, k=k, a=a)[0] == 8
    for other in 4, 3.0, a:
        with pytest.raises(ValueError, match="the argument k is the constant 3 in the model"):
            result(other, a, b)
    chosen = (ROWS, True, ROWS)
    assert pt2onnx.export(make(Chosen(), chosen), chosen, dynamo=True, verify=True).input_names == ["q", "m"]


@pytest.mark.parametrize("make", [lambda net, args: net, program_of], ids=["module", "program"])
@pytest.mark.parametrize("flag", [True, "yes", None])
def test_names_of_inputs_behind_a_constant(make, flag):
    args = ROWS, flag, torch.randn(5, 3)
    model = program(make(Chosen(), args), args, input_names=["x", "y"], dynamic_axes={"x": {0: "n"}, "y": {0: "m"}})
    assert sizes(model) == {"x": ["n", 3], "y": ["m", 3]}


class Bag:
    """A container that torch.export knows, as transformers has caches."""

    def __init__(self, items):
        self.items = items


def test_sizes_in_containers_that_users_register():
    class Total(torch.nn.Module):
        def forward(self, x, bag):
            return x + bag.items[0] + bag.items[1]
    keys = torch.utils._pytree.SequenceKey
    torch.utils._pytree.register_pytree_node(
        Bag, lambda bag: (bag.items, None), lambda items, _: Bag(list(items)), serialized_type_name="test.Bag",
        flatten_with_keys_fn=lambda bag: ([(keys(i), item) for i, item in enumerate(bag.items)], None))
    for told in ([{0: "n"}, {0: "n"}], [["n", None], ["n", None]]):
        model = program(Total(), (ROWS, Bag([ROWS, ROWS])), dynamic_shapes={"x": {0: "n"}, "bag": told})
        assert [dims(v) for v in model.graph.input] == [["n", 3]] * 3


def test_a_dict_at_the_end_names_arguments_of_a_program_too():
    assert names(program(Both(), (ROWS, {"y": ROWS})).graph.input) == ["x", "y"]
    assert names(program(Nested(), NESTED + ({},)).graph.input) == ["d.a", "d.b.0", "pair.0", "pair.1"]

    class Last(torch.nn.Module):
        def forward(self, x, d):
            return x + d["a"]
    assert names(program(Last(), (ROWS, {"a": ROWS})).graph.input) == ["x", "d.a"]


class TestPrograms:
    """Sizes of a program that torch.export has given already."""

    def made(self, is_open=True):
        return torch.export.export(Both(), (ROWS, ROWS + 1), dynamic_shapes=({0: torch.export.Dim("m")} if is_open else None, None))

    @pytest.mark.parametrize("options", [
        {"dynamic_shapes": {"x": {0: "batch"}, "y": None}},
        {"dynamic_shapes": ({0: "batch"}, None)},
        {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}},
        {"dynamic_axes": {"x": {-2: "batch"}}},
    ])
    def test_are_named(self, options):
        assert sizes(program(self.made(), (), **options)) == {"x": ["batch", 3], "y": [4, 3]}

    @pytest.mark.parametrize("options", [
        {"dynamic_shapes": {"x": {0: "batch"}, "y": None}},
        {"dynamic_axes": {"x": {0: "batch"}}},
    ])
    def test_are_told_where_they_are_fixed(self, options):
        with pytest.warns(UserWarning, match="dimension 0 of x is 4 in the program: torch.export.export opens it, with dynamic_shapes"):
            assert sizes(program(self.made(is_open=False), (), **options)) == {"x": [4, 3], "y": [4, 3]}

    def test_are_not_looked_for_under_other_names(self):
        with pytest.warns(UserWarning, match="Provided key other"):
            program(self.made(), (), dynamic_axes={"other": {0: "n"}})


@pytest.mark.parametrize("name, want", [("größe", "gr_f6_dfe"), ("batch size", "batch_size"), ("2n", "_2n"), ("n²", "n_b2"), ("高", "_9ad8")])
def test_names_of_sizes_are_spelled_alike_everywhere(name, want):
    """As SPECs of inputs can say them; those of outputs are the same ones."""
    axes = {"x": {0: name}, "out": {0: name}}
    for options in {"dynamic_axes": axes}, {"dynamic_shapes": {"x": {0: name}, "y": None}, "dynamic_axes": {"out": {0: name}}}:
        model = program(Both(), (ROWS, ROWS), input_names=["x", "y"], output_names=["out"], **options)
        assert sizes(model)["x"] == dims(model.graph.output[0]) == [want, 3]
    made = TestPrograms().made()
    model = program(made, (), input_names=["x"], output_names=["out"], dynamic_axes=axes)
    assert sizes(model)["x"] == dims(model.graph.output[0]) == [want, 3]


def test_dims_may_have_names_of_other_letters():
    assert sizes(program(Both(), (ROWS, ROWS), dynamic_shapes={"x": {0: torch.export.Dim("größe")}, "y": None}))["x"] == ["gr_f6_dfe", 3]


def test_dynamic_axes_name_the_sizes_of_a_program_too():
    model = program(Both(), (ROWS, ROWS), input_names=["p", "q"], output_names=["r", "s"],
                    dynamic_axes={"p": {0: "n"}, "q": {-1: "m"}, "r": {0: "k"}})
    assert sizes(model) == {"p": ["n", 3], "q": [4, "m"]}
    assert dims(model.graph.output[0]) == ["k", 3]
    with pytest.warns(UserWarning, match="No names were found"):
        model = program(Nested(), NESTED, dynamic_axes={name: [0] for name in ("d.a", "d.b.0", "pair.0", "pair.1")})
    assert sizes(model)["d.a"] == ["d_a_dynamic_axes_1", 3]
    with pytest.warns(UserWarning, match="Provided key other"):
        program(Both(), (ROWS, ROWS), dynamic_axes={"other": {0: "n"}})


def test_dynamic_axes_beside_dynamic_shapes_are_told():
    with pytest.warns(UserWarning, match="dynamic_axes of p is ignored: dynamic_shapes tells which sizes stay open"):
        model = program(Both(), (ROWS, ROWS), input_names=["p", "q"], output_names=["r"], dynamic_shapes=({1: "m"}, None), dynamic_axes={"p": {0: "n"}, "r": {0: "k"}})
    assert sizes(model) == {"p": [4, "m"], "q": [4, 3]} and dims(model.graph.output[0])[0] == "k"


def test_sizes_that_a_program_fixes_are_told_whatever_asks_for_them():
    Dim = torch.export.Dim
    fixed = torch.export.export(Both(), (ROWS, ROWS), strict=False)
    for size in ("n", Dim("n"), *([Dim.DYNAMIC] if hasattr(Dim, "DYNAMIC") else [])):
        with pytest.warns(UserWarning, match="dimension 0 of x is 4 in the program"):
            program(fixed, (ROWS, ROWS), dynamic_shapes=({0: size}, None))


def test_autocast_around_the_export_is_refused():
    """torch.export leaves its casts out of the program; in forward they are a part of it."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(RuntimeError, match="torch.export records no casts of an autocast around it: enter autocast in forward"):
            program(torch.nn.Linear(3, 4), (ROWS,))


def test_a_compiled_module_is_traced_as_it_was():
    net = torch.nn.Linear(3, 4).eval()
    found = pt2onnx.export(torch.compile(net), (ROWS,), verify=True).model_proto
    assert weights(found) == ["weight", "bias"]
    agrees(found, net, ROWS)
    agrees(pt2onnx.export(torch.compile(torch.asinh), (ROWS,)).model_proto, torch.asinh, ROWS)


class Decorated(torch.nn.Linear):
    @torch.compile(backend="eager") if TORCH_2 else lambda function: function
    def forward(self, x):
        return super().forward(x) * 2


def compiled_in_place():
    net = torch.nn.Linear(3, 3)
    net.compile(backend="eager")
    return net


@pytest.mark.parametrize("make", [lambda: torch.compile(torch.nn.Linear(3, 3), backend="eager"), compiled_in_place, lambda: Decorated(3, 3)],
                         ids=["a module", "in place", "forward"])
def test_compiled_parts_of_a_module_are_traced_as_they_were(make):
    net = torch.nn.Sequential(make(), torch.nn.ReLU())
    before = [dict(vars(m)) for m in net.modules()]
    pt2onnx.export(net, (ROWS,), verify=True)
    assert before == [vars(m) for m in net.modules()]
    pt2onnx.export(net[0], (ROWS,), verify=True)


@torch.compile(backend="eager") if TORCH_2 else lambda function: function
def compiled_sum(x):
    return torch.where(x > 0, x, 0).sum(-1)


@pytest.mark.parametrize("options", [{}, {"dynamo": True}], ids=["traced", "program"])
def test_compiled_functions_are_exported_as_they_were(options):
    class Sums(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return compiled_sum(x) + self.calls
    net = Sums()
    found = pt2onnx.export(net, (ROWS,), verify=True, **options).model_proto
    assert "ReduceSum" in [n.op_type for n in found.graph.node] and float(net.calls) == 0
    torch.testing.assert_close(compiled_sum(ROWS), ROWS.relu().sum(-1))


@pytest.mark.parametrize("compiled", [False, True], ids=["by itself", "in a compiled function"])
def test_what_only_a_program_has_is_told_where_it_is_traced(compiled):
    def sign(x):
        return torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))
    function = torch.compile(sign, backend="eager") if compiled else sign

    class Sign(torch.nn.Module):
        def forward(self, x):
            return function(x)
    before = torch._ops.HigherOrderOperator.__call__, torch.fx._symbolic_trace._is_fx_tracing_flag, torch._dynamo.config.error_on_nested_fx_trace
    with pytest.raises(RuntimeError, match="forward calls torch.cond or its like, .* dynamo=True exports them"):
        pt2onnx.export(Sign(), (ROWS,))
    assert before == (torch._ops.HigherOrderOperator.__call__, torch.fx._symbolic_trace._is_fx_tracing_flag, torch._dynamo.config.error_on_nested_fx_trace)


def test_the_file_between_torch_and_us_is_in_no_message(monkeypatch):
    def damaged(program, path):
        with open(path, "wb") as f:
            f.write(b"no archive")
    monkeypatch.setattr(torch.export, "save", damaged)
    with pytest.raises(RuntimeError) as e:
        program(Both(), (ROWS, ROWS))
    assert "pt2onnx-" not in str(e.value) and e.value.status == 3


def test_an_input_that_nothing_uses_stays_in_a_program():
    class First(torch.nn.Module):
        def forward(self, x, y):
            return x + 1
    assert names(program(First(), (ROWS, ROWS), verify=True).graph.input) == ["x", "y"]


def test_the_result_is_called_and_saved(tmp_path):
    net = torch.nn.Linear(3, 5)
    result = pt2onnx.export(net, (ROWS,), dynamo=True)
    numpy.testing.assert_allclose(result(ROWS)[0], net(ROWS).detach(), rtol=1e-5, atol=1e-6)
    assert (result.input_names, result.output_names) == (["input"], ["output"])
    result.optimize()
    result.save(tmp_path / "one.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == result.model_bytes
    for _ in range(2):                                  # the second replaces the first
        result.save(tmp_path / "two.onnx", external_data=True)
        assert sorted(f.name for f in tmp_path.iterdir()) == ["one.onnx", "two.onnx", "two.onnx.data"]
        assert (tmp_path / "two.onnx.data").stat().st_size < 4096
    agrees(onnx.load(str(tmp_path / "two.onnx")), net, ROWS)
    with pytest.raises(RuntimeError, match="keep_initializers_as_inputs"):
        result.save(tmp_path / "three.onnx", keep_initializers_as_inputs=True)


def test_weights_that_lie_beside_a_model_without_a_path_are_saved_with_it(tmp_path):
    net = torch.nn.Linear(3, 5)
    result = pt2onnx.export(net, (ROWS,), dynamo=True, external_data=True)
    numpy.testing.assert_allclose(result(ROWS)[0], net(ROWS).detach(), rtol=1e-5, atol=1e-6)
    result.save(tmp_path / "m.onnx")
    agrees(onnx.load(str(tmp_path / "m.onnx")), net, ROWS)
    assert weights(onnx.load(str(tmp_path / "m.onnx"))) == ["weight", "bias"]


def test_a_file_object_is_written_to_as_well():
    f = io.BytesIO()
    result = pt2onnx.export(Both(), (ROWS, ROWS), f, dynamo=True)
    assert f.getvalue() == result.model_bytes and ops(result.model_proto).count("Add") == 1
