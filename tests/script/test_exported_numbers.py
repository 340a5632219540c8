"""Numbers that the data of a .pt2 gives (item, nonzero): as ends of slices, as sizes of several values, beside what the program's checks say about them."""
import os
import random
import sys

import pytest
import torch
from torch import nn
from torch.export import Dim, export

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


class First(nn.Module):
    """The file says that the slice is as long as its end, so never cut short by the tensor."""
    def forward(self, x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0] * 3)
        y = x.flatten()[:n]
        return y, y.shape[0] * 2, torch.arange(n)


class Last(nn.Module):
    def forward(self, x):
        n = (x > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0] * 3)
        return x.flatten()[n:].clone() + 1, x.flatten().narrow(0, 0, n)


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("model", [First, Last])
def test_end_of_a_slice(model, decomposed, tmp_path):
    torch.manual_seed(1)
    runs = [(torch.randn(n, 3) + shift,) for n in (5, 2, 9) for shift in (0, 3, -3)]
    program = export(model(), runs[0], dynamic_shapes=({0: Dim.DYNAMIC},))
    torch.export.save(program.run_decompositions({}) if decomposed else program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")

    def numpy(y):
        return y.numpy() if isinstance(y, torch.Tensor) else torch.tensor(y).numpy()
    oracle.run(tmp_path / "model.onnx", [([r[0].numpy()], [numpy(y) for y in model()(*r)]) for r in runs])


class Asks(nn.Module):
    """Questions about types and shapes, as checks of arguments ask them. Python has answered them when the program is saved; the calls are left in it."""
    def forward(self, x, y):
        common = torch.promote_types(x.dtype, y.dtype)
        if torch.can_cast(x.dtype, y.dtype) and not torch.is_same_size(x, y):
            x = x.to(torch.result_type(x, y)) * 2
        assert torch.result_type(x, 3.5) == torch.result_type(3.5, y) == common
        return x.to(common) + y.sum()


def test_answered_questions(tmp_path):
    x, y = torch.arange(4), torch.rand(3)
    program = export(Asks(), (x, y), strict=False)
    asked = {str(n.target) for n in program.graph.nodes}
    assert {"aten.promote_types.default", "aten.can_cast.default", "aten.is_same_size.default", "aten.result_type.Tensor", "aten.result_type.Scalar",
            "aten.result_type.Scalar_Tensor"} <= asked
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy(), y.numpy()], [Asks()(x, y).numpy()])])


class Longer(nn.Module):
    """The file has a symbol of its own for the size of r, which is u + 1."""
    def forward(self, x, a):
        u = a.item()
        torch._check(u >= 0)
        r = torch.repeat_interleave(x, torch.tensor([1, u]), 0)
        return r, torch.arange(u)


class Dropped(Longer):
    """No node makes r in the end."""
    def forward(self, x, a):
        return super().forward(x, a)[1]


class Again(nn.Module):
    def forward(self, x, a):
        u = a.item()
        torch._check(u >= 0)
        v = torch.tensor(u + 1).item()
        torch._check(v >= 0)
        return torch.zeros(v), torch.arange(u)


class Bins(nn.Module):
    def forward(self, x, a):
        u = a.item()
        torch._check(u >= 0)
        return torch.bincount(torch.tensor([u])), x + u


def same_when_exported(model, tmp_path, runs, **keywords):
    program = export(model, runs[0], **keywords)
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")
    names = [i.name for i in oracle.session(tmp_path / "model.onnx").get_inputs()]
    given = [[v.numpy() for n, v in zip(("x", "a"), r) if n in names] for r in runs]

    def arrays(result):
        return [v.numpy() if isinstance(v, torch.Tensor) else torch.tensor(v).numpy() for v in (result if isinstance(result, tuple) else (result,))]
    oracle.run(tmp_path / "model.onnx", [(g, arrays(model(*r))) for g, r in zip(given, runs)])


@pytest.mark.parametrize("model", [Longer, Dropped, Again, Bins])
def test_a_size_that_an_older_number_gives(model, tmp_path):
    same_when_exported(model(), tmp_path, [(torch.rand(2), torch.tensor(n)) for n in (3, 0, 7)])


def number(text):
    """A statement for a size that is `text`, of which the file has a symbol of its own."""
    return "t{i} = torch.tensor(%s).item(); torch._check(t{i} >= 0)" % text


STATEMENTS = [      # what each makes: a tensor or a number. {x} is a tensor and {n} a number that the program has so far, {i} counts
    ("tensor", "t{i} = torch.repeat_interleave(x, torch.tensor([1, {n}, 2, 0]))"),
    ("tensor", "t{i} = torch.bincount(torch.tensor([{n}, 1])) * .5"),
    ("tensor", "t{i} = {x}.nonzero().view(-1) * .5"),
    ("tensor", "t{i} = torch.masked_select({x}, {x} > .5)"),
    ("tensor", "t{i} = torch.arange({n}) * .25"),
    ("tensor", "t{i} = torch.zeros({n}) + .5"),
    ("tensor", "t{i} = torch.cat([{x}, {x}[1:]])"),
    ("tensor", "t{i} = {x}[:{n}]"),
    ("tensor", "t{i} = torch.outer({x}, {x}).reshape(-1)"),
    ("number", number("{n} + 1")),
    ("number", number("{n} * 2")),
    ("number", number("{n} // 2 + {n}")),
    ("number", number("min({n}, {n})") + "; torch._check(t{i} <= 1000)"),
    ("number", "t{i} = ({x} > .5).sum().item(); torch._check(t{i} >= 0)"),
    ("number", "t{i} = {x}.shape[0]"),
]


def random_program(seed):
    rng = random.Random(seed)
    made = {"tensor": ["x"], "number": ["u"]}
    lines = []
    for i in range(rng.randint(3, 6)):
        kind, text = rng.choice(STATEMENTS)
        while "{n}" in text:
            text = text.replace("{n}", rng.choice(made["number"]), 1)
        lines.append(text.replace("{x}", rng.choice(made["tensor"])).replace("{i}", str(i)))
        made[kind].append("t%d" % i)
    results = rng.sample(made["tensor"] + made["number"], 2)
    source = "\n        ".join(["u = a.item(); torch._check(u >= 0)"] + lines + ["return %s + 0, %s + 0" % tuple(results)])
    space = {"torch": torch}
    exec("class Random(torch.nn.Module):\n    def forward(self, x, a):\n        " + source, space)
    return space["Random"], source


@pytest.mark.parametrize("seed", range(92, 117))        # in 9 of these a size equals an expression of an older one
def test_random_programs_of_sizes(seed, tmp_path):
    model, source = random_program(seed)
    torch.manual_seed(seed)
    runs = [(torch.rand(4), torch.tensor(n)) for n in (3, 0, 5)]
    print(source)
    same_when_exported(model(), tmp_path, runs)


class AsLong(nn.Module):
    """The file says that the last rows are as many as y has, which is not so where y has none: x[-0:] is all of x."""
    def forward(self, x, y):
        z = x.clone()
        z[-y.shape[0]:] = 5
        return x[-y.shape[0]:] * 2, x[:-y.shape[0]] * 2, torch.cat([y, x])[-y.shape[0]:] * 2, z


def same_of_all(model, tmp_path, runs, sizes, *options):
    torch.export.save(export(model, runs[0], dynamic_shapes=sizes), str(tmp_path / "model.pt2"))
    done = oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx", *options)
    oracle.check(tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([torch.as_tensor(v).numpy() for v in r], [torch.as_tensor(v).numpy() for v in model(*r)]) for r in runs])
    return done.stderr


@pytest.mark.parametrize("size", [Dim("n"), Dim.DYNAMIC])
def test_as_many_rows_from_the_end_as_another_tensor_has(size, tmp_path):
    other = Dim("m") if size is not Dim.DYNAMIC else size
    same_of_all(AsLong(), tmp_path, [(torch.rand(6, 3), torch.rand(m, 3)) for m in (4, 0, 1, 6)], ({0: size}, {0: other}))


class Few(nn.Module):
    """The file says of a size of Dim.DYNAMIC that it is 2 or more; PyTorch runs the program with less."""
    def forward(self, x):
        found, inverse, counts = torch.unique_consecutive(x[:, 0].long(), return_inverse=True, return_counts=True)
        return torch.sym_max(x.shape[0], 2), found, inverse, counts


def test_fewer_rows_than_the_file_says(tmp_path):
    same_of_all(Few(), tmp_path, [(torch.arange(3 * n).view(n, 3).float(),) for n in (4, 0, 1, 2)], ({0: Dim.DYNAMIC},))


class Squeezed(nn.Module):
    def forward(self, x):
        return x.squeeze(0) * 2,


def test_that_squeeze_keeps_a_dynamic_axis_is_told(tmp_path):
    assert "dimension 0 (s77) is not 1, squeeze keeps it" in same_of_all(Squeezed(), tmp_path, [(torch.rand(n, 3),) for n in (4, 2)], ({0: Dim.DYNAMIC},))


class Numbers(nn.Module):
    """An int that forward takes. The file says that it is 0 or more; PyTorch takes any."""
    def forward(self, x, k):
        return k // 3, k % 3, k >> 1, torch.roll(x, k), x.select(0, k % 5), x * k


def test_a_negative_int(tmp_path):
    same_of_all(Numbers(), tmp_path, [(torch.rand(7, 3), k) for k in (4, -4, 0, 1, -1, -9, 9)], ({0: Dim.DYNAMIC}, Dim.DYNAMIC))


@pytest.mark.parametrize("type_name", ["int32", "int64"])
def test_an_int_of_a_type(type_name, tmp_path):
    runs = [(torch.rand(7, 3), torch.tensor(k, dtype=getattr(torch, type_name)).numpy()) for k in (4, -4, 9)]
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    torch.export.save(export(Numbers(), (runs[0][0], 4), dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC)), str(path))
    oracle.converted(path, out, "-i", "k:%s[]" % type_name)
    oracle.run(out, [([x.numpy(), k], [torch.as_tensor(v).numpy() for v in Numbers()(x, int(k))]) for x, k in runs])


def test_the_method_forward_is_the_program(tmp_path):
    same_of_all(Numbers(), tmp_path, [(torch.rand(7, 3), 4)], ({0: Dim.DYNAMIC}, Dim.DYNAMIC), "--method", "forward")
