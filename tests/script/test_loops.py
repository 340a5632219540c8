"""--loops: which loops ONNX runs. What a loop gives does not depend on it."""
from typing import List

import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, same, save


class Repeats(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        for i in range(self.n):
            x = torch.relu(self.conv(x))
        return x


IMAGES = [(torch.rand(1, 2, 5, 5),), (torch.rand(2, 2, 4, 6),)]
SIZES = ("-i", "x:float32[N,2,H,W]")


def test_a_kept_loop_has_one_structure_for_any_number_of_trips(tmp_path):
    found = [same(Repeats(n), tmp_path, IMAGES, *SIZES, "--loops=keep")[1] for n in (2, 3)]
    assert found[0] == found[1] and found[0].count("Loop") == 1 and found[0].count("Conv") == 1


def test_a_known_loop_is_unrolled(tmp_path):
    for how in ("auto", "unroll"):
        found = same(Repeats(3), tmp_path, IMAGES, *SIZES, "--loops=" + how)[1]
        assert found.count("Conv") == 3 and "Loop" not in found


def test_a_loop_of_no_trips(tmp_path):
    for how in ("auto", "keep", "unroll"):
        assert "Loop" not in same(Repeats(0), tmp_path, IMAGES, *SIZES, "--loops=" + how)[1]


def test_what_would_unroll_to_too_much_is_kept(tmp_path):
    found = same(Repeats(60), tmp_path, IMAGES, *SIZES, "--limit", "unroll=100")[1]
    assert found.count("Loop") == 1 and found.count("Conv") == 1


class RepeatsWhile(Repeats):
    def forward(self, x):
        i = 0
        while i < self.n:
            x = torch.relu(self.conv(x)) + i
            i += 1
        return x, i


class RepeatsNumbered(Repeats):
    """So many large loops that each could not be an evaluation of its own."""
    def forward(self, x):
        total = 0
        for k in range(70):
            for i in range(self.n):
                x = torch.relu(x * 0.5 - i) + k
                total += i
        return x, total


@pytest.mark.parametrize("model, node", [(RepeatsWhile, "Conv"), (RepeatsNumbered, "Relu")])
def test_other_loops_that_would_unroll_to_too_much(model, node, tmp_path):
    found = same(model(60), tmp_path, IMAGES, *SIZES, "--limit", "unroll=100")[1]
    assert found.count(node) == 1


class Parts(nn.Module):
    """The loop's number chooses an item, and ONNX has no type for all of them."""
    def forward(self, x):
        parts = [x, x[0], x[0, 0]]
        for i in range(3):
            x = x + parts[i]
        return x


class Deeper(nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x.unsqueeze(0)
        return x


class Texts(nn.Module):
    def forward(self, x):
        names: List[str] = []
        for i in range(3):
            names.append("a%d" % i)
        return x + (1 if "a2" in names else 0)


@pytest.mark.parametrize("model", [Parts, Deeper, Texts])
def test_a_loop_that_onnx_cannot_run_is_unrolled_with_a_note(model, tmp_path):
    done, found = same(model(), tmp_path, [(torch.rand(2, 3),)], "-i", "x:float32[N,3]", "--loops=keep")
    assert "Loop" not in found and "is unrolled, because ONNX cannot run it" in done.stderr and "test_loops.py:" in done.stderr


class Steps(nn.Module):
    def forward(self, x):
        y = torch.zeros(3)
        for i in range(x.size(0)):
            y = y + x[i] * i
        return y


def test_a_loop_of_unknown_trips_cannot_be_unrolled(tmp_path):
    assert "cannot be unrolled" in refused(Steps(), tmp_path, "-i", "x:float32[N,3]", "--loops=unroll")
    assert "Loop" not in same(Steps(), tmp_path, [(torch.rand(4, 3),)], "-i", "x:float32[4,3]", "--loops=unroll")[1]


class Methods(nn.Module):
    """Locals of what an iteration calls are of that iteration."""
    def pick(self, v):
        if bool(v.sum() > 1.5):
            r = v * 2
            v = v + 1
        else:
            r = v
        return r + v

    def forward(self, x):
        y = torch.zeros(3)
        for i in range(x.size(0)):
            y = y * 0.5 + self.pick(x[i])
        return y


def test_branches_in_methods_that_a_loop_calls(tmp_path):
    torch.manual_seed(2)
    same(Methods(), tmp_path, [(torch.rand(n, 3),) for n in (4, 1, 0)], "-i", "x:float32[N,3]")


class EarlyExits(nn.Module):
    """break, continue and return: the flags that TorchScript prints for them."""
    def forward(self, x):
        total = torch.zeros(3)
        seen: List[Tensor] = []
        for i in range(4):
            if bool(x[i].sum() < 0):
                continue
            total = total + x[i]
            seen.append(total)
            if bool(total.sum() > 3):
                break
        if bool(total.sum() > 100):
            return total, 0
        return total * 2, len(seen)


@pytest.mark.parametrize("how", ["auto", "keep"])
@pytest.mark.parametrize("opset", [11, 13, 18, 26])
def test_early_exits(how, opset, tmp_path):
    torch.manual_seed(1)
    runs = [(torch.rand(4, 3) * k,) for k in (1, 0.1, 60)] + [(-torch.rand(4, 3),), (torch.randn(4, 3),)]
    found = same(EarlyExits(), tmp_path, runs, "-i", "x:float32[4,3]", "--loops=" + how, "--opset", str(opset))[1]
    assert found.count("Loop") == 1 and found.count("ReduceSum") == 3


class Until(nn.Module):
    """The condition of the first iterations is known, that of the others the model's."""
    def __init__(self, least):
        super().__init__()
        self.least = least
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        i = 0
        while i < self.least or bool(x.sum() > 1):
            x = torch.relu(self.conv(x)) * 0.5
            i += 1
        return x, i


@pytest.mark.parametrize("least", [1, 2, 5])
def test_trips_that_are_known_stand_in_the_loop_with_the_others(least, tmp_path):
    torch.manual_seed(3)
    found = same(Until(least), tmp_path, IMAGES + [(torch.zeros(1, 2, 3, 3),), (torch.ones(1, 2, 30, 30),)], *SIZES)[1]
    assert found.count("Conv") == found.count("Loop") == 1


class Settles(nn.Module):
    """Another rank from the first iteration on: that one stands before the loop."""
    def forward(self, x):
        y = x.sum(0)
        i = 0
        while i < 1 or bool(y.sum() < 10):
            y = y + x
            i += 1
        return y


class SettlesInside(nn.Module):
    def forward(self, x):
        z = x
        for _ in range(x.size(0)):
            y = x.sum(0)
            i = 0
            while i < 1 or bool(y.sum() < 10):
                y = y + x
                i += 1
            z = z + y
        return z


@pytest.mark.parametrize("model", [Settles, SettlesInside])
def test_a_first_trip_unlike_the_others(model, tmp_path):
    done, found = same(model(), tmp_path, [(torch.full((n, 3), v),) for n, v in ((2, 3.), (2, 1.), (1, 0.4), (5, 0.1))], "-i", "x:float32[N,3]")
    assert found.count("Loop") == (2 if model is SettlesInside else 1) and "unrolled" not in done.stderr


class Known(nn.Module):
    def forward(self, x):
        i = 1
        while i < 6:
            x = x * i - 1
            i *= 2
        return x


def test_a_known_while_is_kept_where_that_is_asked_for(tmp_path):
    for how, loops, products in (("auto", 0, 3), ("unroll", 0, 3), ("keep", 1, 1)):
        found = same(Known(), tmp_path, [(torch.rand(2, 3),)], "-i", "x:float32[2,3]", "--loops=" + how)[1]
        assert found.count("Loop") == loops and (loops or found.count("Mul") + found.count("Sub") >= products)


# ---- numbers that a loop counts: known not to be negative, and below the loop's end, in each iteration ----

class UntilNegative(nn.Module):
    """A prefix of text, and a row of a matrix: both need i to lie between 0 and n."""
    def forward(self, x):
        out: List[Tensor] = []
        grown = torch.zeros(x.size(0), 5)
        for i in range(5):
            if i > 0 and bool(x[:, i].sum() < 0):
                break
            grown[:, i] = x[:, :i + 1].sum(1)
            out.append(x[:, i:i + 1])
        return grown, torch.cat(out, 1)


class UntilNegativeOfAnyLength(nn.Module):
    def forward(self, x):
        total = torch.zeros(3)
        seen = 0
        for i in range(x.size(0)):
            total = total + x[:i + 1].sum(0)
            seen += 2
            if bool(x[i].sum() < 0):
                break
        return total, x[:seen]


class Unevenly(nn.Module):
    """The first iteration adds 1, a later one 2: not a number that counts."""
    def forward(self, x):
        i, step = 0, 1
        total = torch.zeros(2)
        while i < x.size(0) and bool(total.sum() < 4):
            total = total + x[i]
            i = i + step
            step = 2
        return total, i


class StepsOverTheEnd(nn.Module):
    """What the condition says holds when an iteration begins, not behind the loop."""
    def forward(self, x):
        i = 0
        total = torch.zeros(2)
        while i < 5:
            total = total + x[i:i + 3].sum(0)
            i = i + 3
            if bool(total.sum() > 50):
                i = 0
                total = total * 0
        return total, x[i:], i


class Jumps(nn.Module):
    """How far it goes depends on data; it never goes back."""
    def forward(self, x):
        at = 0
        total = torch.zeros(2)
        while at < x.size(0):
            total = total + x[at:at + 2].sum(0)
            if bool(x[at, 0] > 0.5):
                at = at + 3
            else:
                at += 1
        return total, x[:at], at


class BoundMoves(nn.Module):
    def forward(self, x):
        i, n = 0, 2
        total = torch.zeros(2)
        while i < n:
            total = total + x[i]
            if bool(total.sum() > 1) and n < 4:
                n = n + 1
            i = i + 1
        return total, n


class OrderInAnArm(nn.Module):
    """In a branch of `n > 3` it is known that n is more than 3."""
    def forward(self, x):
        n = x.size(0)
        if n > 3:
            y = x[n - 3:]
        else:
            y = torch.cat([x, torch.zeros(3 - n, 2)])
        return y.sum(0)


ROWS = [(torch.rand(n, 2),) for n in (5, 7, 6)] + [(torch.rand(6, 2) * 30,)]


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("module, runs, spec", [
    (UntilNegative, [(torch.tensor(r),) for r in ([[1., 2, 3, 4, 5]], [[1., 2, -3, 4, 5], [1, 1, 1, 1, 1]], [[1., -2, 3, 4, 5]])], "x:float32[N,5]"),
    (UntilNegativeOfAnyLength, [(torch.rand(n, 3),) for n in (4, 1, 7)] + [(torch.rand(6, 3) - 0.5,)], "x:float32[N,3]"),
    (Unevenly, ROWS, "x:float32[N,2]"),
    (StepsOverTheEnd, [(torch.rand(n, 2),) for n in (5, 7, 2)], "x:float32[N,2]"),
    (Jumps, ROWS, "x:float32[N,2]"),
    (BoundMoves, ROWS, "x:float32[N,2]"),
    (OrderInAnArm, [(torch.rand(n, 2),) for n in (5, 3, 1, 4, 0)], "x:float32[N,2]"),
], ids=lambda p: getattr(p, "__name__", ""))
def test_numbers_that_count(module, runs, spec, opset, tmp_path):
    same(module(), tmp_path, runs, "-i", spec, "--opset", str(opset))


class StepsOfTheModel(nn.Module):
    """range() with a step that only the running model knows, but not its sign."""
    def forward(self, x):
        n = x.size(0)
        step = int(x.sum().item()) % 3
        trail: List[int] = []
        for i in range(1, n * 3, max(step, 1)):
            trail.append(i)
        for i in range(9, -n, -n):
            trail.append(i)
        for i in range(n, 0, n):
            trail.append(i)
        for i in range(1, n):
            for j in range(i, 7, i + 1):
                trail.append(j * i)
        return x + len(trail), torch.tensor(trail)


class StepOfAnySign(nn.Module):
    def forward(self, x):
        y = x
        for i in range(1, 9, int(x.sum().item())):
            y = y + i
        return y


@pytest.mark.parametrize("opset", [11, 18])
def test_steps_of_the_model(opset, tmp_path):
    same(StepsOfTheModel(), tmp_path, [(torch.full((n, 1), v),) for n, v in ((1, 1.), (2, 1.), (3, 2.), (5, 1.), (12, 1.))], "-i", "x:float32[N=1..64,1]", "--opset", str(opset))
    assert "max(step, 1) says" in refused(StepOfAnySign(), tmp_path, "-i", "x:float32[N,1]")


def test_the_choice_is_checked(tmp_path):
    done = oracle.convert(save(Steps(), tmp_path), tmp_path / "model.onnx", "--loops=some")
    assert done.returncode == 2 and "one of auto, keep, unroll" in done.stderr


class OfBfloat16(nn.Module):
    """A Loop, and a Scan."""
    def forward(self, x):
        x = x.to(torch.bfloat16)
        y = x
        for _ in range(int(x.sum())):
            y = y * 0.5 + x
        return y.float(), x.cummax(0).values.float()


def test_a_body_of_bfloat16(tmp_path):
    said = refused(OfBfloat16(), tmp_path, "-i", "x:float32[N]", "--opset", "15")
    assert "Loop of bfloat16 needs ONNX opset 16, the target is 15" in said and "Scan of bfloat16 needs ONNX opset 16" in said
    assert "--opset 16" in said
    same(OfBfloat16(), tmp_path, [(torch.tensor([1., 2., 0.5]),), (torch.tensor([-1.]),)], "-i", "x:float32[N]", "--opset", "16")


class CarriesNothing(nn.Module):
    """Each iteration gives an item, and nothing goes on to the next."""
    def forward(self, x):
        rows = [torch.stack([v + 1 for v in r]) for r in x]
        return torch.stack(rows), torch.tensor([2 * i for i in range(x.size(0))]), torch.stack([r.sum() for r in x])[0]


@pytest.mark.parametrize("opset", [9, 10, 11])
def test_a_loop_that_carries_nothing(opset, tmp_path):
    runs = [(torch.rand(n, m),) for n, m in ((4, 3), (1, 5))]
    same(CarriesNothing(), tmp_path, runs, "-i", "x:float32[N,M]", "--opset", str(opset))


class OtherSizes(nn.Module):
    def forward(self, x):
        y = torch.zeros(2)
        if bool(x.sum() > 0):
            y = torch.zeros(5)
        return y


def test_branches_of_other_sizes(tmp_path):
    said = refused(OtherSizes(), tmp_path, "-i", "x:float32[N]", "--opset", "10")
    assert "different shapes needs ONNX opset 11, the target is 10" in said and "--opset 11" in said
    same(OtherSizes(), tmp_path, [(torch.ones(1),), (-torch.ones(1),)], "-i", "x:float32[N]", "--opset", "11")
