"""Regions of a .pt2 that ONNX decides or that mean nothing to it: cond, while_loop, no_grad; as saved and after decomposition."""
import os
import sys
import zipfile

import onnx
import pytest
import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.strict_mode import strict_mode
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export
from torch.testing._internal.two_tensor import TwoTensor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


class Cond(nn.Module):
    def forward(self, x):
        a, b = torch.cond(x.sum() > 0, lambda x: (x * 2, x.sum()), lambda x: (x - 1, x.mean()), (x,))
        return a + b


class CondOnSize(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 3, lambda x: x * 2, lambda x: x + 1, (x,))


class While(nn.Module):
    def forward(self, i, x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


class NoGrad(nn.Module):
    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            z = y + 1
        return z * x


class Strict(nn.Module):
    def forward(self, x):
        return strict_mode(lambda x: (x.sin(), x + 1), (x,))


class Prints(nn.Module):
    def forward(self, x):
        torch.ops.aten._print("x is here")
        y = x + 1
        torch.ops.aten._print("y too")
        return y


@torch.compiler.nested_compile_region
def shifted(x, y):
    return x.sin() - y


class Nested(nn.Module):
    """One compiled region, called twice."""
    def forward(self, x):
        return shifted(shifted(x, x + 1), x)


def tensors(*sizes):
    return [(torch.rand(n) * sign,) for n in sizes for sign in (1, -1)]


CASES = [(Cond, tensors(4), None, "If"), (CondOnSize, tensors(2, 4, 7), ({0: Dim("n", min=1, max=20)},), "If"),
         (While, [(torch.tensor(i), torch.rand(3)) for i in (1, 4, 9)], None, "Loop"), (NoGrad, tensors(3), None, None),
         (Strict, tensors(3), None, None), (Prints, tensors(3), None, None), (Nested, tensors(3), None, None)]


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("model,runs,sizes,node", CASES, ids=lambda v: v.__name__ if isinstance(v, type) else "")
def test_region(model, runs, sizes, node, decomposed, tmp_path):
    module = model().eval()
    program = export(module, runs[0], dynamic_shapes=sizes)
    if decomposed:
        program = program.run_decompositions({})
    torch.export.save(program, str(tmp_path / "model.pt2"))
    out = tmp_path / "model.onnx"
    oracle.converted(tmp_path / "model.pt2", out)
    oracle.check(out)
    results = [module(*r) for r in runs]
    oracle.run(out, [([x.numpy() for x in r], [y.numpy() for y in (w if isinstance(w, (list, tuple)) else [w])]) for r, w in zip(runs, results)])
    found = [n.op_type for n in onnx.load(str(out)).graph.node]
    assert (node in found) if node else not {"If", "Loop"} & set(found)


class KnownWhile(nn.Module):
    """How many iterations there are is known; or that there is a first one."""
    def __init__(self, open_end):
        super().__init__()
        self.open_end = open_end

    def forward(self, x):
        more = (lambda i, x: (i < 2) | (x.sum() > 1)) if self.open_end else (lambda i, x: i < 40)
        return while_loop(more, lambda i, x: (i + 1, torch.tanh(x) * 0.9), (torch.tensor(0), x))


@pytest.mark.parametrize("open_end, options, iterations", [(False, (), 40), (False, ("--loops=keep",), 1), (False, ("--limit", "unroll=30"), 1), (True, (), 1), (True, ("--loops=keep",), 1)])
def test_which_trips_are_unrolled(open_end, options, iterations, tmp_path):
    torch.manual_seed(5)
    program = export(KnownWhile(open_end), (torch.rand(3),))
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx", *options)
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [t.numpy() for t in program.module()(x)]) for x in (torch.rand(3), torch.ones(3) * 4, -torch.ones(3))])
    found = [n.op_type for g in oracle.graphs(onnx.load(str(tmp_path / "model.onnx")).graph) for n in g.node]
    assert found.count("Tanh") == iterations and found.count("Loop") == (iterations == 1)


def edited(source, to, *pairs):
    """The program's JSON with each text of a pair replaced; it must be there."""
    with zipfile.ZipFile(str(source)) as z, zipfile.ZipFile(str(to), "w") as out:
        for name in z.namelist():
            data = z.read(name)
            if name.endswith("/model.json"):
                for old, new in pairs:
                    assert old.encode() in data
                    data = data.replace(old.encode(), new.encode())
            out.writestr(name, data)
    return to


class Hints(nn.Module):
    def forward(self, x):
        return hints_wrapper(lambda a, b: (torch.relu(a) + b,), (x, x * 2), {}, hints={"level": 1})[0]


def test_hints(tmp_path):
    x = torch.randn(4)
    program = export(Hints(), (x,), strict=True)                    # without strict mode it runs the body as it is
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [(torch.relu(x) + x * 2).numpy()])])


@pytest.mark.parametrize("name", ["wrap", "tag_activation_checkpoint"])
def test_regions_with_plain_operands(name, tmp_path):
    """torch 2.13 does not save these two; the graph comes first, then one operand after the other."""
    x = torch.randn(3)
    torch.export.save(export(NoGrad(), (x,)), str(tmp_path / "model.pt2"))
    flag = '{"name": "", "arg": {"as_bool": false}, "kind": 1}, '
    path = edited(tmp_path / "model.pt2", tmp_path / "edited.pt2", ("higher_order.wrap_with_set_grad_enabled", "higher_order." + name), (flag, ""))
    oracle.converted(path, tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [((x * 2 + 1) * x).numpy()])])


@pytest.mark.parametrize("name, message", [
    ("triton_kernel_wrapper_functional", "a Triton kernel"), ("call_torchbind", "a C++ object"), ("flex_attention", "attn_implementation"),
    ("executorch_call_delegate", "compiled for another runtime"), ("something_new", "not known here"),
])
def test_refused_by_name(name, message, tmp_path):
    torch.export.save(export(Strict(), (torch.randn(3),)), str(tmp_path / "model.pt2"))
    path = edited(tmp_path / "model.pt2", tmp_path / "edited.pt2", ("higher_order.strict_mode", "higher_order." + name))
    done = oracle.convert(path, tmp_path / "model.onnx")
    assert done.returncode == 1 and message in done.stderr and "test_regions.py" in done.stderr and "higher_order." + name in done.stderr


# ---- operators of the user's own that write, or that have an effect ----

LIBRARY = torch.library.Library("regions", "DEF")                   # defined as long as this name lives
LIBRARY.define("scale_(Tensor(a!) x, float by) -> ()")
LIBRARY.impl("scale_", lambda x, by: (x.mul_(by), None)[1], "CompositeExplicitAutograd")
torch.library.register_fake("regions::scale_", lambda x, by: None, lib=LIBRARY)


class Writes(nn.Module):
    def forward(self, x):
        y = x.clone()
        torch.ops.regions.scale_(y, 2.0)
        return y + x


class WritesViews(nn.Module):
    """A slice, the whole under another name, a transposed part: the three ways in which a decomposed program describes a view."""
    def forward(self, x):
        y, z, w = x.clone(), x + 1, x * 3
        torch.ops.regions.scale_(y[1:], 2.0)
        torch.ops.regions.scale_(z.view(3, 4), 3.0)
        torch.ops.regions.scale_(w.t()[1:3], 4.0)
        return y, y[:2] + 1, z, w


@pytest.mark.parametrize("decomposed", [False, True])
def test_operator_that_writes(decomposed, tmp_path):
    x = torch.randn(3)
    program = export(Writes(), (x,))
    torch.export.save(program.run_decompositions({}) if decomposed else program, str(tmp_path / "model.pt2"))
    done = oracle.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert done.returncode == 1 and "with a rule for regions::scale;" in done.stderr
    (tmp_path / "my.rules").write_text("regions::scale(Tensor x, float by) -> Tensor\n    = Mul(x, by)\n")
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx", "--rules", str(tmp_path / "my.rules"))
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [(x * 3).numpy()])])


@pytest.mark.parametrize("decomposed", [False, True])
def test_operator_that_writes_to_views(decomposed, tmp_path):
    x = torch.randn(3, 4)
    program = export(WritesViews(), (x,))
    torch.export.save(program.run_decompositions({}) if decomposed else program, str(tmp_path / "model.pt2"))
    (tmp_path / "my.rules").write_text("regions::scale(Tensor x, float by) -> Tensor\n    = Mul(x, by)\n")
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx", "--rules", str(tmp_path / "my.rules"))
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [y.numpy() for y in WritesViews()(x)])])


@pytest.mark.parametrize("field, code, message", [
    ("_x_alias", 1, "described in another way than torch does (_x_other)"), ("_x_slice_start", 3, "half of a view's description"),
])
def test_view_described_in_another_way(field, code, message, tmp_path):
    torch.export.save(export(WritesViews(), (torch.randn(3, 4),)).run_decompositions({}), str(tmp_path / "model.pt2"))
    path = edited(tmp_path / "model.pt2", tmp_path / "edited.pt2", (field, "_x_other"))
    done = oracle.convert(path, tmp_path / "model.onnx")
    assert done.returncode == code and message in done.stderr and (code == 3 or "before run_decompositions" in done.stderr), done.stderr


# ---- tensors of a class of their own ----

class TwoWeights(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.w = nn.Parameter(TwoTensor(torch.randn(3, 4), torch.randn(3, 4)))

    def forward(self, x):
        return x @ self.w.t()


def test_tensor_subclass(tmp_path):
    model, x = TwoWeights(), torch.randn(2, 4)
    program = export(model, (x,))
    torch.export.save(program, str(tmp_path / "model.pt2"))
    done = oracle.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert done.returncode == 1 and "the saved tensor w: it is a tensor of a class of its own" in done.stderr, done.stderr
    assert "two_tensor.TwoTensor" in done.stderr and "try: save program.run_decompositions({})" in done.stderr, done.stderr
    torch.export.save(program.run_decompositions({}), str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [(x @ w.t()).numpy() for w in (model.w.a.detach(), model.w.b.detach())])])


class Recurrence(nn.Module):
    """Its halves of the halves end in a vmap over no samples."""
    def forward(self, x):
        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]
        return associative_scan(combine, (x.sigmoid(), x), 0, combine_mode="generic")


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8])
def test_associative_scan(length, tmp_path):
    x = torch.randn(length, 3)
    program = export(Recurrence(), (x,), strict=False)
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    torch.export.save(program, str(path))
    oracle.converted(path, out)
    oracle.run(out, [([x.numpy()], [y.numpy() for y in program.module()(x)])])
