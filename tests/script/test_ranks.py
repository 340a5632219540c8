"""Results that have another rank in other runs: squeeze of a dynamic size, branches of an if, a list of sizes of dynamic length. The model may
return them; whatever else asks for their rank makes them decided by an assumption, or is refused."""
import re
import zipfile
from typing import List, Tuple

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from scripted import kinds, oracle, refused, same, save

OPEN = ("-i", "x:float32[N,M,K]")
RUNS = [(torch.randn(*shape),) for shape in ((2, 1, 4), (2, 3, 4), (1, 1, 4), (1, 3, 1), (1, 1, 1), (1, 0, 2))]


class One(nn.Module):
    def forward(self, x):
        return x.squeeze(1)


class Last(nn.Module):
    def forward(self, x):
        return x.squeeze(-1) * 2 + 1


class Each(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x.squeeze()), x.squeeze(0).neg()


class Some(nn.Module):
    def forward(self, x):
        return torch.squeeze(x.unsqueeze(1), (0, 1, 3))


class Arms(nn.Module):
    def forward(self, x):
        if x.size(0) > 1:
            return x + 1
        return x[0]


class Nested(nn.Module):
    def forward(self, x) -> Tuple[Tensor, Tensor]:
        y = x
        if x.size(0) > 1:
            if x.size(1) > 1:
                y = x.sum(0)
            else:
                y = x.sum()
        return y, x * 2


@pytest.mark.parametrize("module", [One, Last, Each, Some, Arms, Nested])
def test_the_running_model_decides(module, tmp_path):
    done, _ = same(module(), tmp_path, RUNS, *OPEN)
    assert "has another rank in some runs of the model" in done.stderr and "assumed" not in done.stderr


class Part(nn.Module):
    """The first axis has 1 row, or none."""

    def forward(self, x):
        return torch.squeeze(x[:1], (0, 1)) + 1


def test_an_axis_of_one_row_or_none(tmp_path):
    same(Part(), tmp_path, RUNS + [(torch.randn(0, 1, 2),)], *OPEN)


class First(nn.Module):
    def forward(self, x):
        return x[:1].squeeze(0) + 1


def test_a_first_row_is_assumed_to_be_there(tmp_path):
    done, nodes = same(First(), tmp_path, RUNS[:3], *OPEN)
    assert "dimension 0 (min(N, 1)) is 1 and not 0, squeeze drops it" in done.stderr and nodes == ["Slice", "Squeeze", "Add"]


def test_known_sizes_have_one_rank(tmp_path):
    done, nodes = same(One(), tmp_path, RUNS[:1], "-i", "x:float32[N,1,4]")
    assert done.stderr == "" and nodes == ["Squeeze"]


def test_the_file_states_the_usual_rank(tmp_path):
    same(One(), tmp_path, RUNS, *OPEN)
    output = onnx.load(str(tmp_path / "model.onnx")).graph.output[0]
    assert [d.dim_param for d in output.type.tensor_type.shape.dim] == ["N", "M", "K"]


@pytest.mark.parametrize("opset", ["9", "11", "13"])
def test_squeeze_of_all_is_one_node_at_every_opset(opset, tmp_path):
    class All(nn.Module):
        def forward(self, x):
            return x.squeeze()
    _, nodes = same(All(), tmp_path, RUNS, *OPEN, "--opset", opset)
    assert nodes == ["Squeeze"]


class Asked(nn.Module):
    def forward(self, x):
        y = x.squeeze(1)
        return y.transpose(0, 1), x.squeeze(0)


def test_what_asks_for_the_rank_is_told_by_an_assumption(tmp_path):
    done, nodes = same(Asked(), tmp_path, [(torch.randn(2, 3, 4),)], *OPEN)
    assert "dimension 1 (M) is not 1, squeeze keeps it; give its size with -i if it is" in done.stderr and "If" not in nodes


class Guarded(nn.Module):
    """Its own condition says what squeeze drops, and that two sizes are one."""
    def forward(self, x):
        if x.size(1) == 1:
            y = x.squeeze(1)
        else:
            y = x.sum(1)
        z = x[0] if x.size(0) != 1 else x.squeeze(0)
        if x.size(0) == x.size(1):
            x = x + x.transpose(0, 1)
        return y, z.t(), x


def test_a_branch_knows_what_its_condition_says_of_sizes(tmp_path):
    done, nodes = same(Guarded(), tmp_path, [r for r in RUNS if r[0].size(2) != 1], *OPEN)
    assert "squeeze keeps it" not in done.stderr and "another rank" not in done.stderr
    assert nodes.count("Squeeze") == 2
    model = onnx.load(str(tmp_path / "model.onnx"))
    assert [[d.dim_param for d in o.type.tensor_type.shape.dim] for o in model.graph.output] == [["N", "K"], ["K", "M"], ["N", "M", "K"]]


class GuardedComplex(nn.Module):
    """Its nodes in the arm are made anew, of real numbers, behind the run."""
    def forward(self, x):
        z = torch.complex(x, x * 2)
        if x.size(0) == 1:
            y = z.squeeze(0).sum(0)
        else:
            y = z.sum(0).sum(0)
        return torch.view_as_real(y)


@pytest.mark.parametrize("opset", [11, 18])
def test_a_complex_squeeze_under_its_own_condition(opset, tmp_path):
    same(GuardedComplex(), tmp_path, [(torch.randn(n, 3),) for n in (2, 1, 0)], "-i", "x:float32[N,M]", "--opset", str(opset))


def test_a_traced_squeeze_does_what_its_example_did(tmp_path):
    class Dropped(nn.Module):
        def forward(self, x):
            return x.squeeze(0).t() + x.squeeze(1).transpose(0, 2).sum(), x.squeeze(0) * 2
    traced = torch.jit.trace(Dropped().eval(), torch.randn(1, 3, 4))
    done, nodes = same(traced, tmp_path, [(torch.randn(1, 3, 4),), (torch.randn(1, 2, 5),)], *OPEN)
    assert "dimension 0 (N) is 1 as in the example, squeeze drops it" in done.stderr
    assert "dimension 1 (M) is not 1, squeeze keeps it" in done.stderr and "If" not in nodes


@pytest.mark.parametrize("rows", [
    lambda x: torch.diff(x, dim=0),
    lambda x: x[:1] * x[1:],
    lambda x: torch.maximum(x[:1], x[1:]),
    lambda x: torch.where(x[1:] > 0, x[:x.shape[0] - 1], x[1:]),
    lambda x: x[:x.shape[0] - 1],
    lambda x: x.roll(1, 0)[1:x.shape[0]],
    lambda x: torch.gradient(x, dim=0)[0][1:],
    lambda x: (x[:x.shape[0] - 1, None] @ x[1:, :, None])[:, 0],
    lambda x: nn.functional.interpolate(x[None, None], scale_factor=(0.6, 1), mode="bilinear")[0, 0],
])
def test_a_trace_knows_sizes_that_no_expression_says(rows, tmp_path):
    """A broadcast of two sizes and a slice up to one whose sign is not known are symbols of their own."""
    class Dropped(nn.Module):
        def forward(self, x):
            return rows(x).squeeze(0).flip(0)
    traced = torch.jit.trace(Dropped().eval(), torch.randn(2, 3), check_trace=False)
    done, _ = same(traced, tmp_path, [(torch.randn(2, 3),)], "-i", "x:float32[N,3]")
    assert "is 1 as in the example, squeeze drops it" in done.stderr and "squeeze keeps it" not in done.stderr


def test_a_size_that_was_1_is_asked_no_second_time(tmp_path):
    class Product(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 1))

        def forward(self, x):
            return x.squeeze(0) @ self.w
    traced = torch.jit.trace(Product().eval(), torch.randn(1, 4))
    done, _ = same(traced, tmp_path, [(torch.randn(1, 4),)], "-i", "x:float32[N,4]")
    assert done.stderr.count("is 1") == 1


def test_two_squeezes_that_become_one_node(tmp_path):
    class Twice(nn.Module):
        def forward(self, x, y):
            return x.squeeze(1).squeeze(2) - y
    traced = torch.jit.trace(Twice().eval(), (torch.randn(4, 1, 2, 1), torch.randn(4, 2)))
    runs = [(torch.randn(4, 1, 2, 1), torch.randn(4, 2)), (torch.randn(3, 1, 5, 1), torch.randn(3, 5))]
    _, nodes = same(traced, tmp_path, runs, "--dynamic")
    assert nodes == ["Squeeze", "Sub"]
    same(traced, tmp_path, runs, "-i", "x:float32[A,B,C,D]", "-i", "y:float32[A,C]")


def test_the_usual_rank_is_that_of_the_example(tmp_path):
    traced = torch.jit.trace(Last(), torch.randn(2, 3, 1))
    same(traced, tmp_path, RUNS, *OPEN)
    output = onnx.load(str(tmp_path / "model.onnx")).graph.output[0]
    assert [d.dim_param for d in output.type.tensor_type.shape.dim] == ["N", "M"]


class Joined(nn.Module):
    def forward(self, x):
        y = x
        if x.size(0) > 1:
            y = x[0]
        return y.sum(0)


def test_arms_that_are_looked_at_are_refused(tmp_path):
    assert "one branch of an if gives float32[M,K], the other float32[N,M,K]" in refused(Joined(), tmp_path, *OPEN)


class Computed(nn.Module):
    def forward(self, x, at):
        dim = int(at.sum())
        return x.squeeze(dim) * 2, x.unsqueeze(dim)


@pytest.mark.parametrize("options", [("-i", "x:float32[2,1,4]"), OPEN])
def test_a_dim_that_the_model_computes(options, tmp_path):
    runs = [(torch.randn(2, 1, 4), torch.tensor(at)) for at in ([1, 0], [2, 0], [-1, 0], [-1, -1])]
    done, _ = same(Computed(), tmp_path, runs, *options, "-i", "at:int64[2]")
    assert "has another rank in some runs of the model" in done.stderr


def test_a_computed_dim_of_a_row(tmp_path):
    runs = [(torch.randn(n), torch.tensor([at, 0])) for n in (1, 3) for at in (0, -1)]
    same(Computed(), tmp_path, runs, "-i", "x:float32[N]", "-i", "at:int64[2]")


def test_a_computed_dim_needs_opset_13(tmp_path):
    said = refused(Computed(), tmp_path, *OPEN, "-i", "at:int64[2]", "--opset", "12")
    assert "needs ONNX opset 13, the target is 12" in said
    first = next(line for line in said.splitlines() if line.startswith("pt2onnx: "))
    assert first.endswith("Exporting the operator 'aten::squeeze' to ONNX opset version 12 is not supported: version 13 supports it")


@pytest.mark.parametrize("shape, dim, nodes", [((2, 3, 4), 1, ["Identity"]), ((2, 1, 4), (0, 1), ["Squeeze"])])
def test_an_exported_program_holds_for_sizes_that_are_not_1(shape, dim, nodes, tmp_path):
    class Named(nn.Module):
        def forward(self, x):
            return torch.squeeze(x, dim)
    program = torch.export.export(Named(), (torch.randn(*shape),), dynamic_shapes=({0: Dim("N"), **({1: Dim("M")} if shape[1] > 1 else {})},))
    torch.export.save(program, str(tmp_path / "model.pt2"))
    done = oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert "is not 1, squeeze keeps it" in done.stderr and "another rank" not in done.stderr
    assert kinds(tmp_path / "model.onnx") == nodes


# ---- lists whose items have several ranks: sequences whose items have no stated shape ----

class ListOfSeveralRanks(nn.Module):
    """As PyTorch's own test of its exporter has it."""
    def forward(self, x):
        if x.shape[1] < 5:
            if x.size(0) == 1:
                x = x + 4
            else:
                rows = list(x)
                rows.append(x)
                return rows
        return [x, x]


class AskedForItsLength(nn.Module):
    def forward(self, x):
        rows: List[Tensor] = []
        if bool(x.sum() > 0):
            rows.append(x[0])
        rows.append(x)
        rows.insert(0, x[0, 0])
        return rows, len(rows), len(rows + [x[0]])


class OfEachArm(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            rows = [x, x[0]]
        else:
            rows = [x[0, 0], x[0, 1], x]
            if bool(x[0, 0] > -1):
                rows.append(x)
        rows.append(x + 1)
        return rows


class FilledInALoop(nn.Module):
    def forward(self, x):
        rows = [x]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                rows.append(x[i])
        return rows


class Changed(nn.Module):
    """By all that does not read an item."""
    def forward(self, x):
        rows: List[Tensor] = []
        if bool(x.sum() > 0):
            rows.append(x[0])
            rows.append(x[1])
        rows.extend([x, x[0, 0]])
        rows[0] = x[1, 1]
        rows.reverse()
        part = rows[1:]
        rows.append(x * 2)
        del rows[1]
        other = list(rows)
        rows.clear()
        return part, other, len(rows)


class InTuples(nn.Module):
    def forward(self, x):
        rows: List[Tuple[Tensor]] = []
        if bool(x.sum() > 0):
            rows.append((x[0],))
        rows.append((x,))
        return rows


SIGNS = [(s * torch.rand(n, 4),) for s in (1.0, -1.0, -4.0) for n in (3, 2)]


@pytest.mark.parametrize("opset", [14, 18, 26])
@pytest.mark.parametrize("module, runs", [
    (ListOfSeveralRanks, [(torch.ones(n, m),) for n, m in ((3, 4), (4, 6), (1, 4), (1, 6), (0, 4))]),
    (AskedForItsLength, SIGNS), (OfEachArm, SIGNS), (Changed, SIGNS), (InTuples, SIGNS), (FilledInALoop, SIGNS + [(torch.randn(5, 3),)])])
def test_a_list_of_several_ranks_is_a_sequence(module, runs, opset, tmp_path):
    same(module(), tmp_path, runs, "-i", "x:float32[N,M]", "--opset", str(opset))
    types = [v.type.sequence_type.elem_type.tensor_type for v in onnx.load(str(tmp_path / "model.onnx")).graph.output]
    assert types[0].elem_type == onnx.TensorProto.FLOAT and not types[0].HasField("shape")


class ReadsAnItem(nn.Module):
    def forward(self, x):
        rows: List[Tensor] = []
        if bool(x.sum() > 0):
            rows.append(x[0])
        rows.append(x)
        return rows[0] + 1


class Concatenates(nn.Module):
    def forward(self, x):
        rows: List[Tensor] = []
        if bool(x.sum() > 0):
            rows.append(x[0])
        rows.append(x)
        return torch.cat(rows)


class TakesAnItem(nn.Module):
    def forward(self, x):
        rows: List[Tensor] = []
        if bool(x.sum() > 0):
            rows.append(x[0])
        rows.append(x)
        return rows.pop()


DIFFERENT = "a list whose length only the running model knows has items of different types: float32[M] and float32[N,M]"


@pytest.mark.parametrize("module", [ReadsAnItem, Concatenates, TakesAnItem])
def test_an_item_of_several_ranks_is_not_read(module, tmp_path):
    assert DIFFERENT in refused(module(), tmp_path, "-i", "x:float32[N,M]")


def test_a_list_of_several_ranks_needs_opset_14(tmp_path):
    assert DIFFERENT in refused(ListOfSeveralRanks(), tmp_path, "-i", "x:float32[N,M]", "--opset", "13")


# ---- lists of sizes whose length only the running model knows ----

class Filled(nn.Module):
    def forward(self, x):
        return x.new_zeros(x.shape[1:x.size(2)])


class Fills(nn.Module):
    def forward(self, x):
        sizes = x.shape[:x.size(0)]
        return (torch.zeros(sizes, dtype=torch.int64), torch.ones(sizes).neg() * 2, torch.full(sizes, x.size(1)), x.new_ones(sizes, dtype=torch.bool),
                x.new_full(size=sizes, fill_value=0.5), torch.empty(sizes, dtype=torch.int64) * 0, x.new_empty(sizes, dtype=torch.int32) * 0)


SIZES = [(torch.randn(*shape),) for shape in ((1, 2, 3, 4), (0, 5, 0, 2), (2, 3, 1, 4), (3, 1, 2, 2), (5, 2, 6, 1), (4, 0, 4, 1))]
WIDE = ("-i", "x:float32[A,B,C,D]")


@pytest.mark.parametrize("opset", ["11", "18", "26"])
@pytest.mark.parametrize("module", [Filled, Fills])
def test_sizes_whose_number_the_running_model_knows(module, opset, tmp_path):
    done, _ = same(module(), tmp_path, SIZES, *WIDE, "--opset", opset)
    assert "has another rank in some runs of the model" in done.stderr and "assumed" not in done.stderr


class FilledUpTo(nn.Module):
    """The list has a bound, though n has none and may count from the end."""
    def forward(self, x, n):
        return x.new_zeros(x.shape[1:int(n)]), x.new_ones(x.shape[int(n):]), x.new_ones(x.shape[2:int(n):2])


def test_the_rank_bounds_the_list(tmp_path):
    x = torch.randn(2, 3, 1, 4)
    same(FilledUpTo(), tmp_path, [(x, torch.tensor(n)) for n in (0, 1, 2, 3, 4, 9, -1, -2, -4, -9)], *WIDE, "-i", "n:int64[]")
    assert [len(o.type.tensor_type.shape.dim) for o in onnx.load(str(tmp_path / "model.onnx")).graph.output] == [3, 4, 2]


def test_the_file_states_the_most_sizes(tmp_path):
    same(Filled(), tmp_path, SIZES, *WIDE)
    assert len(onnx.load(str(tmp_path / "model.onnx")).graph.output[0].type.tensor_type.shape.dim) == 3


class Looked(nn.Module):
    def forward(self, x):
        return x.new_ones(x.shape[1:x.size(2)]).sum(-1)


def test_what_asks_for_the_rank_has_the_most_sizes(tmp_path):
    done, _ = same(Looked(), tmp_path, [SIZES[4], SIZES[5]], *WIDE)
    assert "assumed: the list of sizes has 3 items, the most that it can have" in done.stderr


class Complex(nn.Module):
    def forward(self, x):
        return torch.view_as_real(torch.zeros(x.shape[:x.size(0)], dtype=torch.complex64)), torch.ones(x.shape[:x.size(0)], dtype=torch.complex64)


def test_complex_numbers_have_the_most_sizes(tmp_path):
    save(Complex(), tmp_path)
    done = oracle.converted(tmp_path / "model.pt", tmp_path / "model.onnx", *WIDE)
    oracle.check(tmp_path / "model.onnx")
    assert "assumed: the list of sizes has 4 items" in done.stderr and "another rank" not in done.stderr
    zeros, ones = oracle.session(tmp_path / "model.onnx").run(None, {"x": torch.randn(4, 1, 2, 3).numpy()})
    assert zeros.shape == ones.shape == (4, 1, 2, 3, 2) and not zeros.any() and (ones == [1, 0]).all()


class Arm(nn.Module):
    def forward(self, x):
        y = x
        if x.size(1) > 1:
            y = torch.ones(x.shape[:x.size(0)])
        return y + 1


def test_in_an_arm_too(tmp_path):
    done, _ = same(Arm(), tmp_path, [(torch.randn(*shape),) for shape in ((4, 2, 2, 3), (5, 1, 2, 3), (4, 1, 1, 1))], *WIDE)
    assert "assumed: the list of sizes has 4 items" in done.stderr


class Unbounded(nn.Module):
    def forward(self, x):
        return x.new_zeros([x.size(1)] * x.size(0))


def test_sizes_without_a_most_are_refused(tmp_path):
    assert "new_zeros of a list of sizes of which nothing says how many it has at most" in refused(Unbounded(), tmp_path, *WIDE)


# t is set in one branch, with a rank that the running model decides, and again in a part of a later one. PyTorch's own printer gives the second
# another name, which its language does not ask for.
TWICE = """  def forward(self: {me}, x: Tensor) -> Tensor:
    c = bool(torch.gt(torch.sum(x), 2))
    if c:
      a = torch.mul(x, 5)
    else:
      if bool(torch.gt(torch.select(x, 0, 0), 1)):
        t = torch.mul(x, 2)
      else:
        t = torch.sum(x)
      a = torch.mul(x, 3)
    if bool(torch.gt(torch.select(x, 0, 1), 0)):
      b = torch.mul(a, 2)
    else:
      if c:
        t = torch.mul(x, 7)
      b = torch.mul(a, 11)
    return b
"""


def test_a_rank_that_one_branch_leaves_open_stays_there(tmp_path):
    class Twice(nn.Module):
        def forward(self, x):
            return x
    torch.jit.script(Twice()).save(str(tmp_path / "saved.pt"))
    with zipfile.ZipFile(str(tmp_path / "saved.pt")) as saved, zipfile.ZipFile(str(tmp_path / "net.pt"), "w") as out:
        for name in saved.namelist():
            data = saved.read(name)
            if name.endswith(".py"):
                text = data.decode()
                data = (text[:text.index("  def forward")] + TWICE.format(me=re.search(r"self: (\S+),", text).group(1))).encode()
            out.writestr(name, data)
    program = torch.jit.load(str(tmp_path / "net.pt"))
    runs = [torch.tensor(x) for x in ([3.0, 1.0], [0.0, 1.0], [0.0, -1.0], [4.0, -1.0], [2.0, -5.0])]
    oracle.converted(tmp_path / "net.pt", tmp_path / "net.onnx", "-i", "x:float32[2]")
    oracle.run(tmp_path / "net.onnx", [([x.numpy()], [program(x).numpy()]) for x in runs])
