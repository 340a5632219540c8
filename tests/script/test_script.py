"""What scripted programs do that traces cannot: branches, loops, classes, dicts, writes through views. Each is scripted here, saved,
converted, and run in ONNX Runtime against torch with several inputs, so that both branches and several iteration counts are seen."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import onnx
import pytest
import torch
from torch import Tensor, nn

from scripted import both_signs, oracle, refused, same, save


# ---- branches ----

class IfOnTensor(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = torch.sin(x)
        else:
            y = x - 1
        return y + x


class IfWritesTwice(nn.Module):
    """Several names, an in-place write in one branch, a number that differs, a name that only one branch uses."""
    def forward(self, x):
        x = x + 0
        n = 1
        f = 0.5
        if bool(x.sum() > 0):
            t = x * 3
            y = t + x
            n = 2
            x[0] += 10.0
        else:
            y = -x
            f = 1.5
        return y * n, x * f


class IfNested(nn.Module):
    def forward(self, x):
        y = x
        if bool(x.sum() > 0):
            if bool(x.max() > 1):
                y = y * 2
            else:
                y = y * 3
            y = y + 1
        return y - x


class IfFlag(nn.Module):
    """A Python bool that the branch decides, asked again later."""
    def forward(self, x):
        positive = False
        if bool(x.sum() > 0):
            positive = True
        y = x + 1
        if positive:
            y = y * 2
        return y


class IfTuple(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            p = (x, x + 1)
        else:
            p = (x * 2, x)
        a, b = p
        return a - b, b


class IfObject(nn.Module):
    def forward(self, x):
        d = {"a": x, "b": x * 2}
        if bool(x.sum() > 0):
            d["a"] = d["a"] + 1
        else:
            d["b"] = d["b"] - 1
        return d["a"] * d["b"]


@pytest.mark.parametrize("model", [IfOnTensor, IfWritesTwice, IfNested, IfFlag, IfTuple, IfObject])
def test_branches_that_stay(model, tmp_path):
    _, found = same(model(), tmp_path, both_signs(3), "-i", "x:float32[N]")
    assert "If" in found or model is IfFlag


class IfSize(nn.Module):
    def forward(self, x):
        if x.size(0) > 2:
            y = x * 2
        else:
            y = x + 1
        return y


def test_a_branch_on_a_size(tmp_path):
    _, found = same(IfSize(), tmp_path, [(torch.rand(n, 2),) for n in (1, 2, 3, 7)], "-i", "x:float32[N,2]")
    assert found.count("If") == 1
    _, found = same(IfSize(), tmp_path, [(torch.rand(n, 2),) for n in (3, 7)], "-i", "x:float32[N=3..9,2]")
    assert "If" not in found


class IfNone(nn.Module):
    def forward(self, x):
        y: Optional[Tensor] = None
        if bool(x.sum() > 0):
            y = x
        return x if y is None else y


class IfRank(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x.sum()
        else:
            y = x
        return y * 2


class IfRankOnSize(nn.Module):
    def forward(self, x):
        if x.size(0) > 3:
            y = x.sum()
        else:
            y = x
        return y * 2


def test_a_value_or_none(tmp_path):
    same(IfNone(), tmp_path, [(torch.ones(3),), (-torch.ones(3),)], "-i", "x:float32[3]")


def test_what_cannot_be_joined_is_refused_where_it_is_read(tmp_path):
    text = refused(IfRank(), tmp_path, "-i", "x:float32[3]")
    assert "one branch of an if gives" in text and "test_script.py" in text
    assert "rests on data" in text and "fix the sizes" not in text
    assert "fix the sizes" in refused(IfRankOnSize(), tmp_path, "-i", "x:float32[N]")
    same(IfRankOnSize(), tmp_path, [(torch.rand(4),)], "-i", "x:float32[4]")


class SizesInOneArm(nn.Module):
    """Only one branch asks for equal sizes, and for three columns."""
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, y):
        if bool(x.sum() > 0):
            z = torch.cat([x, y], 1).sum() + self.linear(x).sum()
        else:
            z = x.sum() - y.sum()
        return z


class SizesInALoop(SizesInOneArm):
    def forward(self, x, y):
        z = x.sum()
        for i in range(y.size(0)):
            z = z + self.linear(x).sum()
        return z


def test_what_one_arm_learns_about_sizes_stays_there(tmp_path):
    a, b = torch.rand(2, 3), torch.rand(2, 5)
    sizes = ("-i", "x:float32[N,K]", "-i", "y:float32[M,L]")
    same(SizesInOneArm(), tmp_path, [(a, b), (-a, b), (-torch.rand(4, 2), b), (-a, torch.rand(1, 1))], *sizes)
    shape = onnx.load(str(tmp_path / "model.onnx")).graph.input[0].type.tensor_type.shape
    assert [d.dim_param for d in shape.dim] == ["N", "K"]
    same(SizesInALoop(), tmp_path, [(a, b), (torch.rand(2, 4), b[:0])], *sizes)


class AliasInOneArm(nn.Module):
    """y is x or not: after y.add_ nobody knows x."""
    def forward(self, x):
        x = x + 0
        if bool(x.sum() > 0):
            y = x
        else:
            y = x * 2
        y.add_(1.0)
        return y, x


class AliasUnread(nn.Module):
    def forward(self, x):
        z = x + 0
        if bool(x.sum() > 0):
            z = x * 2
        z.add_(1.0)
        return z


def test_memory_shared_in_one_arm(tmp_path):
    assert "same memory in one branch" in refused(AliasInOneArm(), tmp_path, "-i", "x:float32[3]")
    same(AliasUnread(), tmp_path, both_signs(3), "-i", "x:float32[3]")


class Holder:
    def __init__(self, value: Tensor):
        self.value = value


class IfAttribute(nn.Module):
    """Written in one branch only: the other branch's value is the one before, in whatever state that arm leaves it."""
    def forward(self, x):
        h = Holder(x + 0)
        g = Holder(x + 0)
        if bool(x.sum() > 0):
            h.value = x * 2
            g.value.add_(5.0)
        else:
            h.value.mul_(3.0)
            g.value = x * 7
        return h.value, g.value


def test_attributes_written_in_one_arm(tmp_path):
    same(IfAttribute(), tmp_path, both_signs(3), "-i", "x:float32[3]")


class Raises(nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise ValueError("rank")
        if x.size(1) != 4:
            raise ValueError("four features")
        if bool(x.sum() > 1e9):
            raise ValueError("too large")
        return x * 2


def test_raising_arms_become_facts(tmp_path):
    done, found = same(Raises(), tmp_path, [(torch.rand(3, 4),)], "-i", "x:float32[N,?]")
    assert "If" not in found and "too large" in done.stderr
    shape = onnx.load(str(tmp_path / "model.onnx")).graph.input[0].type.tensor_type.shape
    assert [d.dim_param or d.dim_value for d in shape.dim] == ["N", 4]
    assert "asked to stay free" in refused(Raises(), tmp_path, "-i", "x:float32[N,C]")


class RaisesForLong(nn.Module):
    def forward(self, x):
        if x.size(0) > 512:
            raise ValueError("too long")
        return x[:512]


def test_a_bound_that_a_raising_arm_tells_is_an_assumption(tmp_path):
    done, found = same(RaisesForLong(), tmp_path, [(torch.rand(3),), (torch.rand(512),)], "-i", "x:float32[N]")
    assert done.stderr == "assumed: N <= 512: the model raises otherwise (builtins.ValueError: too long)\n" and "If" not in found


# ---- loops ----

class LoopOverSize(nn.Module):
    def forward(self, x):
        y = torch.zeros(2)
        for i in range(x.size(0)):
            y = y * 0.5 + x[i] * i
        return y


class LoopWhile(nn.Module):
    def forward(self, x):
        n = 0
        while bool(x.abs().sum() > 1):
            x = x * 0.5
            n += 1
        return x, torch.tensor(n)


class LoopWidens(nn.Module):
    """The carried tensor grows: its size is another one in each iteration."""
    def forward(self, x):
        y = x[0:1]
        for i in range(x.size(0)):
            y = torch.cat([y, x[0:1] + i])
        return y


class LoopBreaks(nn.Module):
    def forward(self, x):
        total = torch.zeros(2)
        for i in range(x.size(0)):
            if bool(total.sum() > 3):
                break
            total = total + x[i]
        return total


class LoopTuple(nn.Module):
    def forward(self, x):
        state = (torch.zeros(2), torch.ones(2))
        for i in range(x.size(0)):
            h, c = state
            state = (h + x[i], c * 0.5 + h)
        return state


class LoopInPlace(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[i] * i
        return y


class LoopStacks(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        h = torch.zeros(2)
        for i in range(x.size(0)):
            h = h * 0.5 + x[i]
            out.append(h)
        return torch.stack(out), torch.stack(out, 1), torch.cat(out, -1), h


class LoopInBranch(nn.Module):
    def forward(self, x):
        y = x.sum(0)
        if bool(y.sum() > 0):
            for i in range(x.size(0)):
                y = y + x[i] * i
        return y


class LoopOfBranches(nn.Module):
    def forward(self, x):
        y = torch.zeros(2)
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                y = y + x[i]
            else:
                y = y - 2 * x[i]
        return y


class LoopWritesThenBinds(nn.Module):
    """The first iteration writes to the tensor from before the loop, later ones to their own."""
    def forward(self, x):
        y = x[0] + 0
        for i in range(x.size(0)):
            y.add_(1.0)
            y = y * 2
        return y


class LoopWritesAlias(LoopWritesThenBinds):
    def forward(self, x):
        y = x[0] + 0
        z = y
        for i in range(x.size(0)):
            y.add_(1.0)
            y = y * 2
        return y, z


def test_a_carried_tensor_that_is_written(tmp_path):
    same(LoopWritesThenBinds(), tmp_path, [(torch.randn(n, 2),) for n in (1, 3)], "-i", "x:float32[N,2]")
    assert "in some iterations of a loop" in refused(LoopWritesAlias(), tmp_path, "-i", "x:float32[N,2]")


@pytest.mark.parametrize("model", [LoopOverSize, LoopWidens, LoopBreaks, LoopTuple, LoopInPlace, LoopInBranch, LoopOfBranches])
def test_loops_that_stay(model, tmp_path):
    runs = [(torch.randn(n, 2),) for n in (1, 2, 5)]
    _, found = same(model(), tmp_path, runs, "-i", "x:float32[N,2]")
    assert "Loop" in found


class LoopReturns(nn.Module):
    """A return in the middle: TorchScript makes it a flag and a value that is not set before."""
    def forward(self, x):
        for i in range(x.size(0)):
            if bool(x[i].sum() > 1):
                return x[i]
        return x[0] * 0


def test_a_loop_that_returns(tmp_path):
    runs = [(torch.tensor([[0., 0], [2, 2], [3, 3]]),), (torch.zeros(2, 2),)]
    same(LoopReturns(), tmp_path, runs, "-i", "x:float32[N,2]")


def test_a_loop_of_no_trips(tmp_path):
    same(LoopOverSize(), tmp_path, [(torch.rand(0, 2),), (torch.rand(3, 2),)], "-i", "x:float32[N,2]")


def test_a_loop_on_data(tmp_path):
    same(LoopWhile(), tmp_path, [(torch.tensor([0.1]),), (torch.tensor([5.]),), (torch.tensor([90.]),)], "-i", "x:float32[1]")


def test_a_list_that_a_loop_fills(tmp_path):
    _, found = same(LoopStacks(), tmp_path, [(torch.randn(n, 2),) for n in (1, 4)], "-i", "x:float32[N,2]")
    assert "Loop" in found and not [k for k in found if k.startswith("Sequence")]


# ---- memory ----

class WriteThroughView(nn.Module):
    def forward(self, x):
        x = x + 0
        y = x[:, 1:]
        x[:, 1].add_(1)
        y.mul_(2)
        return x, y


class ReshapePair(nn.Module):
    def forward(self, x):
        a = x + 0
        b = x + 0
        y = a.reshape(-1)
        y.mul_(2)
        z = b.t().reshape(-1)
        z.mul_(3)
        return a, y, b, z


def test_writes_through_views(tmp_path):
    same(WriteThroughView(), tmp_path, [(torch.rand(2, 3),), (torch.rand(5, 3),)], "-i", "x:float32[N,3]")
    same(ReshapePair(), tmp_path, [(torch.rand(2, 3),)], "-i", "x:float32[2,3]")


def test_memory_that_sizes_decide_is_refused(tmp_path):
    assert "depends on sizes that are not known" in refused(ReshapePair(), tmp_path, "-i", "x:float32[N,3]")
    same(ReshapePair(), tmp_path, [(torch.rand(2, 3),), (torch.rand(5, 3),)], "-i", "x:float32[N=2..9,3]")


# ---- objects ----

class Box:
    def __init__(self, value: Tensor, scale: float):
        self.value = value
        self.scale = scale

    def scaled(self) -> Tensor:
        return self.value * self.scale


Point = NamedTuple("Point", [("x", Tensor), ("y", Tensor)])


class Objects(nn.Module):
    def forward(self, x, mode: str = "add"):
        box = torch.jit.annotate(Dict[str, Tensor], {})
        box["a"] = x
        box["b"] = x + 1
        if mode not in ["add", "mul"]:
            raise ValueError("unknown mode " + mode)
        total = torch.zeros_like(x)
        for key, value in box.items():
            total = total + value if mode == "add" else total * value
        p = Point(total, x)
        return {"sum": p.x, "x": p.y * float(len(box))}


def test_dicts_named_tuples_and_values(tmp_path):
    same(Objects(), tmp_path, [(torch.rand(3),)], "-i", "x:float32[3]")
    text = refused(Objects(), tmp_path, "-i", "x:float32[3]", "-i", "mode=sub")
    assert "unknown mode sub" in text and "test_script.py" in text


class Shapes(nn.Module):
    def forward(self, x):
        n = x.size(0)
        return x.view(n * 2, -1), x.view(n, x.size(1) // 2, 2).sum(-1)


def test_sizes_through_arithmetic(tmp_path):
    _, found = same(Shapes(), tmp_path, [(torch.rand(2, 4),), (torch.rand(5, 4),)], "-i", "x:float32[N,4]")
    assert "Gather" not in found and "Concat" not in found


class NeedsRank(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, x):
        return self.conv(torch.relu(x) + 1)


def test_an_assumed_rank(tmp_path):
    done, _ = same(NeedsRank(), tmp_path, [(torch.rand(2, 3, 8, 9),)])
    assert "x has rank 4" in done.stderr and "-i x:float32[" in done.stderr


class Leaves(nn.Module):
    def forward(self, batch: Dict[str, Tensor], pair: Tuple[Tensor, Tensor], xs: List[Tensor]):
        return batch["image"] + pair[0] * pair[1], torch.stack(xs)


def test_inputs_with_leaves(tmp_path):
    a = torch.rand(2)
    same(Leaves(), tmp_path, [({"image": a}, (a + 1, a + 2), [a, a * 2])], *[w for p in
         ("batch.image", "pair.0", "pair.1", "xs.0", "xs.1") for w in ("-i", p + ":float32[2]")])


def test_names_that_are_not_there(tmp_path):
    """Names that are no parameters go by position; one SPEC more than there are inputs has nowhere to go."""
    done = oracle.convert(save(IfSize(), tmp_path), tmp_path / "model.onnx", "-i", "y:float32[3]", "-i", "z:float32[3]")
    assert done.returncode == 2 and "no input 'z'" in done.stderr, done.stderr
    done = oracle.convert(tmp_path / "model.pt", tmp_path / "model.onnx", "-i", "y:float32[3]", "-i", "x:float32[3]")
    assert done.returncode == 2 and "every tensor input has sizes already" in done.stderr, done.stderr
    assert "not all names in -i are the model's, so they name its inputs in order: x" in done.stderr


class Collects(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(int(x.sum())):
            out.append(x * i)
        return torch.stack(out)


def test_loop_that_carries_nothing(tmp_path):
    runs = [(torch.tensor(v),) for v in ([1, 2, 1], [1, 0, 0])]
    assert "Loop" in same(Collects(), tmp_path, runs, "-i", "x:int64[3]")[1]


class ComparesSizes(torch.nn.Module):
    def forward(self, x, y):
        if x.shape == y.shape:
            return x + y
        return x * 2


class ComparesSizesNot(torch.nn.Module):
    def forward(self, x, y):
        if x.shape != y.shape:
            return x * 2
        return x - 1


class SameSize(torch.nn.Module):
    def forward(self, x, y):
        if x.is_same_size(y):
            return x + y
        return x * 2


@pytest.mark.parametrize("model", [ComparesSizes, ComparesSizesNot, SameSize])
def test_sizes_that_are_compared_whole(model, tmp_path):
    """Each pair of sizes that may differ is asked in the model: one If for all."""
    runs = [(torch.randn(2, 3), torch.randn(*s)) for s in ((2, 3), (1, 3), (2, 1), (4, 5))]
    _, nodes = same(model(), tmp_path, runs, "-i", "x:float32[N,M]", "-i", "y:float32[A,B]")
    assert nodes.count("If") <= 1


class AssertsSizes(torch.nn.Module):
    def forward(self, x, y):
        assert y.shape == (x.shape[0], 3), "y must go with x"
        return x.unsqueeze(1) + y


def test_sizes_that_are_asserted_whole(tmp_path):
    """A branch that raises says that every pair is equal."""
    _, nodes = same(AssertsSizes(), tmp_path, [(torch.randn(n), torch.randn(n, 3)) for n in (1, 2, 5)], "-i", "x:float32[N]", "-i", "y:float32[?,3]")
    assert "If" not in nodes


class OnlyMethods(nn.Module):
    @torch.jit.export
    def encode(self, x):
        return x * 2

    @torch.jit.export
    def decode(self, x):
        return x - 1


def test_a_model_without_forward(tmp_path):
    path, x = save(OnlyMethods(), tmp_path), torch.randn(3)
    done = oracle.convert(path, tmp_path / "out.onnx")
    assert done.returncode == 1 and "--method NAME, with one of its methods: decode, encode" in done.stderr
    oracle.converted(path, tmp_path / "out.onnx", "--method", "decode", "-i", "x:float32[3]")
    oracle.run(tmp_path / "out.onnx", [([x.numpy()], [(x - 1).numpy()])])
    done = oracle.convert(path, tmp_path / "out.onnx", "--method", "encoder")
    assert done.returncode == 2 and "has no method encoder" in done.stderr


class Chunks(nn.Module):
    """Windows that overlap, as longformer cuts them: out of memory whose axes were turned round, and out of padding."""

    def forward(self, x):
        q = x.view(x.size(0), x.size(1), 2, 2).transpose(0, 1).transpose(1, 2).reshape(x.size(1) * 2, x.size(0), 2)
        q = q.view(q.size(0), q.size(1) // 4, 4, q.size(2))
        size, stride = list(q.size()), list(q.stride())
        size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
        padded = nn.functional.pad(x.transpose(0, 1), [0, 0, 2, 2], value=-1.0)
        s = padded.stride()
        return q.as_strided(size, stride), padded.as_strided([x.size(1), x.size(0) // 2, 4, 4], [s[0], 2 * s[1], s[1], s[2]]), \
            x.sum(0).int().type_as(q).as_strided([3], [2]), q.new_ones([2, 3]).as_strided([3], [2])


def test_chunks_out_of_memory(tmp_path):
    same(Chunks(), tmp_path, [(torch.randn(8, 3, 4),), (torch.randn(8, 5, 4),)], "-i", "x:float32[8,B,4]")
