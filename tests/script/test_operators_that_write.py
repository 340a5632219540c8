"""Operators of the user's own that write to several of their arguments: a rule whose head says which, or a refusal that says so."""
import os
import sys
from typing import List, Optional

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.export import export

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


@torch.library.custom_op("writers::two", mutates_args=("a", "b"))
def two(a: Tensor, b: Tensor) -> None:
    a.mul_(2)
    b.add_(10)


@torch.library.custom_op("writers::both", mutates_args=("x", "total"))
def both(x: Tensor, y: Tensor, total: Optional[Tensor] = None) -> Tensor:
    product = x * y
    x.add_(y)
    if total is not None:
        total.add_(x)
    return product


@both.register_fake
def _(x, y, total=None):
    return torch.empty_like(x)


@torch.library.custom_op("writers::each", mutates_args=("xs",))
def each(xs: List[Tensor], by: float) -> None:
    for x in xs:
        x.mul_(by)


LIBRARY = torch.library.Library("writers", "FRAGMENT")
for schema, fn, fake in [("swap_(Tensor(a!) a, Tensor(b!) b) -> ()", lambda a, b: (two(a, b), None)[1], lambda a, b: None),
                         ("itself_(Tensor(a!) x, float s) -> Tensor(a!)", lambda x, s: x.mul_(s), lambda x, s: x)]:
    LIBRARY.define(schema)
    LIBRARY.impl(schema.split("(")[0], fn, "CompositeExplicitAutograd")
    torch.library.register_fake("writers::" + schema.split("(")[0], fake, lib=LIBRARY)

RULES = """\
writers::two(Tensor(a0!) a, Tensor(a1!) b) -> ()
writers::swap_(Tensor(a!) a, Tensor(b!) b) -> ()
    = (Mul(a, 2), Add(b, 10))
writers::both(Tensor(a0!) x, Tensor y, Tensor(a1!)? total=None) -> Tensor
    when given(total) = (Mul(x, y), Add(x, y), Add(total, Add(x, y)))
    = (Mul(x, y), Add(x, y))
writers::itself_(Tensor(a!) x, float s) -> Tensor(a!)
    = Mul(x, s)
"""


class Whole(nn.Module):
    def forward(self, x, y):
        a, b = x.clone(), y * 2
        torch.ops.writers.two(a, b)
        return a + b, a


class Rows(nn.Module):
    """Two views of one base."""
    def forward(self, x, y):
        a = x.clone()
        torch.ops.writers.two(a[0], a[1])
        return a, a.t()


class Parts(nn.Module):
    def forward(self, x, y):
        a, b = x.clone(), y.clone()
        torch.ops.writers.two(a[:, 0], a[:, 1:])
        flat = b.view(-1)
        torch.ops.writers.two(flat[::2], flat[1::2])
        return a, b, flat


class Given(nn.Module):
    def forward(self, x, y):
        a, total = x.clone(), y.clone()
        return torch.ops.writers.both(a, y, total), a, total


class NotGiven(nn.Module):
    def forward(self, x, y):
        a = x.clone()
        return torch.ops.writers.both(a, y), a


class InPlaceName(nn.Module):
    def forward(self, x, y):
        a, b = x.clone(), y.clone()
        torch.ops.writers.swap_(a, b)
        return a, b


class GivesItself(nn.Module):
    def forward(self, x, y):
        a = x.clone()
        b = torch.ops.writers.itself_(a, 3.0)
        a.add_(1)
        return a, b


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))

    def forward(self, x, y):
        torch.ops.writers.two(self.seen, y.clone())
        return x + self.seen


class Lists(nn.Module):
    def forward(self, x, y):
        a = x.clone()
        torch.ops.writers.each([a[0], a[1], y.clone()], 3.0)
        return a


def saved(model, form, tmp_path):
    torch.manual_seed(0)
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    program = export(model().eval(), (x, y))
    if form == "decomposed":
        program = program.run_decompositions({})
    torch.export.save(program, str(tmp_path / "model.pt2"))
    return tmp_path / "model.pt2", [x.numpy(), y.numpy()], [t.numpy() for t in pair(model()(x, y))]


def pair(result):
    return result if isinstance(result, tuple) else (result,)


def with_rules(tmp_path, text):
    (tmp_path / "my.rules").write_text(text)
    return "--rules", str(tmp_path / "my.rules")


@pytest.mark.parametrize("form", ["training", "decomposed"])
@pytest.mark.parametrize("model", [Whole, Rows, Parts, Given, NotGiven, InPlaceName, GivesItself, Buffer])
def test_rule_says_what_is_written(model, form, tmp_path):
    if (model, form) == (GivesItself, "decomposed"):
        pytest.skip("torch does not decompose an operator that gives its argument")
    path, inputs, results = saved(model, form, tmp_path)
    oracle.converted(path, tmp_path / "model.onnx", *with_rules(tmp_path, RULES))
    oracle.check(tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [(inputs, results)])


def test_function_that_writes(tmp_path):
    path, inputs, results = saved(Rows, "training", tmp_path)
    oracle.converted(path, tmp_path / "model.onnx", *with_rules(tmp_path, RULES.replace("    = (Mul(a", "    function my.domain::Two\n    = (Mul(a")))
    oracle.check(tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [(inputs, results)])


@pytest.mark.parametrize("form", ["training", "decomposed"])
@pytest.mark.parametrize("model", [Whole, Rows])
def test_node_of_a_custom_domain(model, form, tmp_path):
    """What is written has the sizes that it had, also where the node's own are not told."""
    path = saved(model, form, tmp_path)[0]
    oracle.converted(path, tmp_path / "model.onnx", *with_rules(tmp_path, "writers::two(Tensor(a!) a, Tensor(b!) b) -> ()\n    = (my.domain::Up(a), my.domain::Up(b))\n"))
    graph = onnx.load(str(tmp_path / "model.onnx")).graph
    assert [n.op_type for n in graph.node].count("Up") == 2
    assert [[d.dim_value for d in o.type.tensor_type.shape.dim] for o in graph.output] == [[2, 3], [2, 3] if model is Whole else [3, 2]]


def test_what_the_file_says_is_written(tmp_path):
    """A decomposed program tells: the rule must say it of each argument."""
    path = saved(Whole, "decomposed", tmp_path)[0]
    done = oracle.convert(path, tmp_path / "model.onnx", *with_rules(tmp_path, "writers::two(Tensor(a!) a, Tensor b) -> ()\n    = Mul(a, 2)\n"))
    assert done.returncode == 1 and "writers::two writes to its argument b, which its rule, or the function registered for it, does not say" in done.stderr, done.stderr
    done = oracle.convert(path, tmp_path / "model.onnx", *with_rules(tmp_path, "writers::two(Tensor a, Tensor b) -> Tensor\n    = Mul(a, 2)\n"))
    assert done.returncode == 1 and "the head of its rule does not say" in done.stderr and "try: write Tensor(a!)" in done.stderr, done.stderr
    path = saved(InPlaceName, "decomposed", tmp_path)[0]
    done = oracle.convert(path, tmp_path / "model.onnx", *with_rules(tmp_path, "writers::swap(Tensor a, Tensor b) -> Tensor\n    = Mul(a, 2)\n"))
    assert done.returncode == 1 and "writers::swap_ writes to its argument b, which its rule, or the function registered for it, does not say" in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["training", "decomposed"])
def test_unknown_writer(form, tmp_path):
    done = oracle.convert(saved(Whole, form, tmp_path)[0], tmp_path / "model.onnx")
    assert done.returncode == 1 and "pt2onnx does not know this operator, which" in done.stderr and "head marks what it writes" in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["training", "decomposed"])
def test_list_that_is_written(form, tmp_path):
    path = saved(Lists, form, tmp_path)[0]
    done = oracle.convert(path, tmp_path / "model.onnx")
    assert done.returncode == 1 and "writers::each: pt2onnx does not know this operator, which" in done.stderr, done.stderr
    done = oracle.convert(path, tmp_path / "model.onnx", "--unknown=custom")
    assert done.returncode == 1 and "to its arguments" in done.stderr and "which a node cannot" in done.stderr, done.stderr
    done = oracle.convert(path, tmp_path / "model.onnx", *with_rules(tmp_path, "writers::each(Tensor(a0!)[] xs, float by) -> ()\n    = Mul(xs, by)\n"))
    assert done.returncode == 2 and "my.rules:1:1: writers::each writes to the tensors of a list, 'xs'" in done.stderr, done.stderr
