"""Branches whose branches ONNX cannot join: of different ranks or types, and the program goes on with the result. Where the condition asks
whether anything was found, a count that only data tell, the branch for something is taken, said and kept in the metadata; any other
condition is refused."""
import json
from typing import List, Optional

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from scripted import flat, oracle, refused, same, save

ROWS = ("-i", "x:float32[N,4]")


def assumed(path):
    """What the model's metadata say was assumed."""
    return {p.key: p.value for p in onnx.load(str(path)).metadata_props}.get("pt2onnx.assumed", "")


def found(*counts):
    """Inputs of which so many rows are positive."""
    torch.manual_seed(3)
    return [(torch.cat([torch.rand(n, 4) + 0.1, -torch.rand(2, 4)]),) for n in counts]


class Pairs(nn.Module):
    def forward(self, x):
        boxes = x[x[:, 0] > 0]
        if boxes.size(0) > 0:
            boxes = boxes.reshape(boxes.size(0), 2, 2)
        return boxes.sum(-1)


class Empty(nn.Module):
    """The same question, asked the other way round; the other branch gives another type."""
    def forward(self, x):
        rows = torch.nonzero(x[:, 0] > 0)
        if rows.numel() == 0:
            best = torch.zeros(4, dtype=torch.int64)
        else:
            best = x[rows[:, 0]].max(0)[0]
        return best


class Optionally(nn.Module):
    """None, and the model raises for it: that tells it too."""
    def forward(self, x):
        rows = torch.nonzero(x[:, 0] > 0)
        best: Optional[Tensor] = None
        if rows.numel() > 0:
            best = x[rows[:, 0]].max(0)[0]
        assert best is not None, "nothing found"
        return best


class Lists(nn.Module):
    """Lists of other types."""
    def forward(self, x):
        boxes = x[x[:, 0] > 0]
        parts: List[Tensor] = []
        if len(boxes) >= 1:
            parts.append(boxes)
            parts.append(boxes.sum(1))
        else:
            parts.append(boxes[0:0])
        return parts[0] + parts[1].unsqueeze(1)


class Anchors(nn.Module):
    """As a detector counts its anchors: the cells of a size that a number decides, which for all that is known may be below 0."""
    def forward(self, x):
        high = int(x.sum(0)[0].item())
        rows = torch.arange(0, (high + 31) // 32).view(-1, 1) * torch.ones(1, 4)
        count = rows.shape[0]
        if count > 0:
            rows = rows.reshape(count, 2, 2)
        return rows.sum(-1)


@pytest.mark.parametrize("model", [Pairs, Empty, Lists, Anchors], ids=lambda m: m.__name__)
def test_the_arm_for_something_is_assumed(model, tmp_path):
    done, kinds = same(model(), tmp_path, [(100 * x,) for x, in found(5, 8, 12)] if model is Anchors else found(3, 1, 5), *ROWS)
    lines = [line for line in done.stderr.splitlines() if line.startswith("assumed: ")]
    assert len(lines) == 1 and "is not 0 when the model runs" in lines[0] and "test_assumed.py" in lines[0] and "if " in lines[0]
    assert lines[0][len("assumed: "):] in assumed(tmp_path / "model.onnx")
    assert "If" not in kinds


def test_an_arm_that_raises_in_the_end_is_assumed_away(tmp_path):
    done, _ = same(Optionally(), tmp_path, found(3, 1), *ROWS)
    assert done.stderr.startswith("assumed: ") and done.stderr.count("\n") == 1 and "nothing found" in done.stderr
    assert done.stderr.strip()[len("assumed: "):] in assumed(tmp_path / "model.onnx")


class Joinable(nn.Module):
    def forward(self, x):
        boxes = x[x[:, 0] > 0]
        if boxes.size(0) > 0:
            boxes = boxes.reshape(boxes.size(0), 2, 2)
        else:
            boxes = torch.ones(1, 2, 2)
        return boxes


def test_arms_that_can_be_joined_are_both_there(tmp_path):
    done, kinds = same(Joinable(), tmp_path, found(3, 0, 1), *ROWS)
    assert "If" in kinds and not done.stderr and not assumed(tmp_path / "model.onnx")


class Helper(nn.Module):
    def forward(self, x, split: bool):
        y = x.reshape(-1)
        if x.size(0) > 0:
            y = y.reshape(x.size(0), -1)
        return y.sum(-1) if split else x


class Called(nn.Module):
    """Nobody looks at the result of the first branch."""
    def __init__(self):
        super().__init__()
        self.first, self.second = Helper(), Helper()

    def forward(self, x):
        boxes, others = x[x[:, 0] > 0], x[x[:, 0] < 0]
        return self.first(others, False), self.second(boxes, True)


def test_only_the_call_that_needs_it_is_assumed(tmp_path):
    done, _ = same(Called(), tmp_path, [(x[0],) for x in found(3, 2)] + [(torch.rand(2, 4) + 0.1,)], *ROWS)
    assert done.stderr.count("assumed: ") == 1


class OfInput(nn.Module):
    def forward(self, x):
        if x.size(0) > 0:
            x = x.reshape(x.size(0), 2, 2)
        return x.sum(-1)


class OfArgument(nn.Module):
    def forward(self, x, k: int):
        if k > 2:
            x = x.reshape(x.size(0), 2, 2)
        return x.sum(-1)


def test_an_argument_that_a_branch_rests_on_can_be_given(tmp_path):
    assert "or the numbers among the arguments (-i k=3)" in refused(OfArgument(), tmp_path, *ROWS, "-i", "k:int64[]")
    assert oracle.convert(tmp_path / "model.pt", tmp_path / "model.onnx", *ROWS, "-i", "k=3").returncode == 0


def test_what_a_range_can_tell_is_not_assumed(tmp_path):
    assert "fix the sizes that the condition rests on with -i" in refused(OfInput(), tmp_path, *ROWS)
    done, kinds = same(OfInput(), tmp_path, found(1, 2), "-i", "x:float32[N=1..64,4]")
    assert "If" not in kinds and not done.stderr


class OfValues(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            x = x.unsqueeze(0)
        return x.sum(-1)


class OfMany(nn.Module):
    """More than one: nobody can say what is usual."""
    def forward(self, x):
        boxes = x[x[:, 0] > 0]
        if boxes.size(0) > 1:
            boxes = boxes.unsqueeze(0)
        return boxes.sum(-1)


@pytest.mark.parametrize("model", [OfValues, OfMany], ids=lambda m: m.__name__)
def test_other_conditions_are_refused(model, tmp_path):
    assert "ONNX decides between them" in refused(model(), tmp_path, *ROWS)


# n is how many were found: what holds of every n but 0, what holds of 0 alone, and what neither says
ANY = ["n > 0", "n >= 1", "n != 0", "0 < n", "1 <= n", "0 != n", "not (n == 0)"]
NONE = ["n == 0", "n < 1", "n <= 0", "0 == n", "1 > n", "0 >= n"]
OTHER = ["n > 1", "n >= 2", "n != 1", "n == 1", "n < 2", "n <= 1", "1 < n", "2 <= n", "1 >= n", "2 > n"]
ASKED = """def forward(x):
    y = x[x[:, 0] > 0]
    n = y.size(0)
    if {condition}:
        y = y.{yes}
    else:
        y = y.{no}
    return y.sum(-1)
"""


def asked(condition, path, yes="reshape(n, 2, 2)", no="clone()"):
    program = torch.jit.CompilationUnit(ASKED.format(condition=condition, yes=yes, no=no)).forward
    program.save(str(path))
    return program


@pytest.mark.parametrize("condition", ANY + NONE)
def test_however_it_is_asked(condition, tmp_path):
    path, out, branches = tmp_path / "model.pt", tmp_path / "model.onnx", ("reshape(n, 2, 2)", "clone()")
    program = asked(condition, path, *(branches if condition in ANY else branches[::-1]))
    done = oracle.converted(path, out, *ROWS)
    assert done.stderr.count("is not 0 when the model runs") == 1
    oracle.run(out, [([x.numpy()], [program(x).numpy()]) for (x,) in found(3, 1, 2)])


@pytest.mark.parametrize("condition", OTHER)
def test_other_numbers_are_refused(condition, tmp_path):
    asked(condition, tmp_path / "model.pt")
    done = oracle.convert(tmp_path / "model.pt", tmp_path / "model.onnx", *ROWS)
    assert done.returncode == 1 and "ONNX decides between them" in done.stderr


class Keywords(nn.Module):
    def forward(self, ids, mask, image):
        return ids * mask, image.flatten(1).sum(1) + ids.sum(1)


def test_examples_in_another_order(tmp_path):
    """torch.jit.trace writes keyword inputs in the caller's order, and no names: what -i says of one input tells that."""
    given = {"image": torch.rand(2, 3, 4, 4), "ids": torch.ones(2, 5, dtype=torch.int64), "mask": torch.rand(2, 5)}
    path, out = tmp_path / "model.pt", tmp_path / "model.onnx"
    torch.jit.save(torch.jit.trace(Keywords(), example_kwarg_inputs=given), str(path))
    done = oracle.converted(path, out, "-i", "ids:int64[N,T]", "-i", "mask:float32[N,T]", "-i", "image:float32[N,3,4,4]")
    assert "in another order than forward's parameters" in done.stderr
    runs = [(torch.randint(0, 9, (n, t)), torch.rand(n, t), torch.rand(n, 3, 4, 4)) for n, t in ((2, 5), (3, 1))]
    oracle.run(out, [([x.numpy() for x in xs], [y.numpy() for y in Keywords()(*xs)]) for xs in runs])


class Power(torch.nn.Module):
    def forward(self, x, n: int):
        return x ** n, abs(n - 3)


def test_a_number_that_nobody_gives_may_be_made_an_input(tmp_path):
    assert "-i n=VALUE makes it a constant, -i n:int64[] an input of the ONNX model" in refused(Power(), tmp_path, "-i", "x:float32[2]")
    done, _ = same(Power(), tmp_path, [], "-i", "x:float32[2]", "-i", "n=2")
    x = torch.tensor([2.0, 3.0])
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], flat((x ** 2, 1)))])
    oracle.converted(tmp_path / "model.pt", tmp_path / "model.onnx", "-i", "x:float32[2]", "-i", "n:int64[]")
    oracle.run(tmp_path / "model.onnx", [([x.numpy(), np.asarray(n)], flat((x ** n, abs(n - 3)))) for n in (0, 1, 5)])


class Averages(nn.Module):
    def forward(self, x):
        return nn.functional.avg_pool2d(x, 2)


def test_a_type_that_onnx_runtime_has_no_kernel_for(tmp_path):
    """No other type is exact, so the node is written, and a note says that ONNX Runtime does not load it."""
    path, out = save(Averages(), tmp_path), tmp_path / "model.onnx"
    done = oracle.converted(path, out, "-i", "x:float64[1,2,H,W]")
    assert "assumed: the file is for another runtime than ONNX Runtime, which has no AveragePool for float64" in done.stderr
    with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
        onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    assert "another runtime" not in oracle.converted(path, out, "-i", "x:float64[1,2,H,W]", "--target=onnx").stderr


class Normals(nn.Module):
    def forward(self, x, y):
        return torch.cross(x, y)


def test_the_axis_of_a_cross_product(tmp_path):
    """Without dim PyTorch takes the first axis of 3, which the dynamic one may be in some run."""
    path, out = save(Normals(), tmp_path), tmp_path / "model.onnx"
    done = oracle.converted(path, out, "-i", "x:float32[N,3]", "-i", "y:float32[N,3]")
    said = "dimension 0 (N) is not 3: cross without dim takes the first that is; dim=1 decides it"
    assert "assumed: " + said in done.stderr and said in assumed(out)
    for x, y in (("[N=4..,3]", "[N,3]"), ("[2,3]", "[2,3]"), ("[3,N]", "[3,N]")):
        assert "assumed" not in oracle.converted(path, out, "-i", "x:float32" + x, "-i", "y:float32" + y).stderr
