"""Whether `contiguous` gives a tensor itself or a copy: a write to what it gives tells. As in PyTorch, or refused."""
from typing import Dict, List, Optional

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scripted import flat, in_torch, oracle, same, save

pytestmark = pytest.mark.filterwarnings("ignore")
torch.manual_seed(0)
X = torch.randn(4, 4) + 3 * torch.eye(4)
LSTM, GRU = nn.LSTM(4, 3, batch_first=True).requires_grad_(False), nn.GRU(4, 3, batch_first=True).requires_grad_(False)


def boxes(x):
    return x.reshape(2, 2, 4)


def image(x):
    return x.reshape(1, 4, 2, 2)


# What PyTorch lays out in another order than that of its axes.
OWN_ORDER = {
    "inv": torch.linalg.inv, "inverse": torch.inverse, "solve": lambda x: torch.linalg.solve(x, x),
    "solve_triangular": lambda x: torch.linalg.solve_triangular(x.triu(), x, upper=True), "lstsq": lambda x: torch.linalg.lstsq(x, x).solution,
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.t() + torch.eye(4)), "cholesky_inverse": lambda x: torch.cholesky_inverse(x.tril()),
    "qr": lambda x: torch.linalg.qr(x)[1], "lu_factor": lambda x: torch.linalg.lu_factor(x)[0], "matrix_power": lambda x: torch.linalg.matrix_power(x, -1),
    "svd": lambda x: torch.linalg.svd(x)[0], "eigh": lambda x: torch.linalg.eigh(x + x.t())[1],
    "nonzero": lambda x: torch.nonzero(x > 0), "argwhere": lambda x: torch.argwhere(x > 0), "rot90": lambda x: torch.rot90(x, 1, [0, 1]),
    "fft": lambda x: torch.fft.fft(x, dim=0).abs(), "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=0), dim=0),
    "stft": lambda x: torch.view_as_real(torch.stft(x.reshape(-1), 8, return_complex=True)), "einsum": lambda x: torch.einsum("bij,bkj->kbi", boxes(x), boxes(x)),
    "unique_dim": lambda x: torch.unique(x > 0, dim=1), "lstm": lambda x: LSTM(boxes(x))[0], "gru": lambda x: GRU(boxes(x))[0],
    "channels_last": lambda x: image(x).to(memory_format=torch.channels_last), "clone": lambda x: image(x).clone(memory_format=torch.channels_last),
    "conv2d": lambda x: F.conv2d(image(x).to(memory_format=torch.channels_last), x.reshape(4, 4, 1, 1)),
    "cat": lambda x: torch.cat([image(x).to(memory_format=torch.channels_last)] * 2, 1), "transposed": lambda x: x.t() + 1,
    "slice_scatter": lambda x: torch.slice_scatter(x[:, :3], x[:1, :3], 0, 0, 1), "every_fourth": lambda x: x.reshape(-1)[::4].view(2, 2),
}
IN_ORDER = {
    "matmul": lambda x: x.t() @ x.t(), "linear": lambda x: F.linear(x.t(), x.t()), "tensordot": lambda x: torch.tensordot(boxes(x), boxes(x), dims=([1], [1])),
    "index": lambda x: x[:, torch.tensor([0, 2])], "sort": lambda x: torch.sort(x, dim=0)[0], "topk": lambda x: torch.topk(x, 2, dim=0)[0],
    "group_norm": lambda x: F.group_norm(image(x), 2), "pixel_shuffle": lambda x: F.pixel_shuffle(image(x), 2), "unfold": lambda x: F.unfold(x.reshape(1, 1, 4, 4), 2),
    "part": lambda x: x[1:, :3] + 1, "every_other": lambda x: x[:, ::2] * x[:, 1::2], "expanded": lambda x: x[:1].expand(3, 4).sigmoid(),
    "expanded_inside": lambda x: torch.where(x[:, None].expand(4, 3, 4) > 0, x[:, None], torch.zeros(())), "one_column": lambda x: x[:, :1].t() + 1,
    "fftfreq": lambda x: torch.fft.fftfreq(8) + x.sum(), "pad": lambda x: F.pad(x.t(), (0, 1)),
    "type_as": lambda x: x.type_as(x.double().t()),
    "clone": lambda x: x.t().clone(memory_format=torch.contiguous_format), "copied": lambda x: x.t().contiguous().relu(),
}


class Written(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        y = self.make(x)
        z = y.contiguous()
        z.zero_()
        return y


def told(make, tmp_path, *options):
    """Why pt2onnx refuses what is written behind `make`; None: it gives PyTorch's result."""
    path, out, module = str(tmp_path / "model.pt"), tmp_path / "model.onnx", Written(make).eval()
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(module, (X,), check_trace=False), path)
        wanted = [y.copy() for y in flat(module(X.clone()))]
    done = oracle.convert(path, out, *options)
    if done.returncode:
        assert done.returncode == 1, done.stderr
        return done.stderr
    oracle.run(out, [([X.numpy()], wanted)])
    return None


@pytest.mark.parametrize("name", OWN_ORDER)
def test_an_order_of_its_own_is_not_guessed(name, tmp_path):
    assert not OWN_ORDER[name](X).is_contiguous()
    said = told(OWN_ORDER[name], tmp_path)
    assert said is None or "aten::contiguous shares memory with its input depends on the order in which PyTorch lays that out" in said


@pytest.mark.parametrize("name", IN_ORDER)
def test_an_order_that_is_told_decides(name, tmp_path):
    assert IN_ORDER[name](X).is_contiguous()
    assert told(IN_ORDER[name], tmp_path) is None


# A layout that the program has asked for, and what is made of it: whether that shares memory follows.
LAST = torch.channels_last
ASKED = {
    "to": lambda x: x.to(memory_format=LAST), "clone": lambda x: x.clone(memory_format=LAST), "contiguous": lambda x: x.contiguous(memory_format=LAST),
    "cloned": lambda x: x.to(memory_format=LAST).clone(), "converted": lambda x: x.to(memory_format=LAST).double().float(),
    "permuted": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), "transposed": lambda x: x.transpose(1, 2).clone(),
    "back": lambda x: x.to(memory_format=LAST).contiguous(), "again": lambda x: x.to(memory_format=LAST).to(memory_format=LAST),
    "computed": lambda x: F.gelu(x.to(memory_format=LAST) * 2), "summed": lambda x: x.to(memory_format=LAST) + x.to(memory_format=LAST),
    "biased": lambda x: torch.where(x > 0, x, -1.0).to(memory_format=LAST) + x[0, :, :1, :1], "compared": lambda x: (x.to(memory_format=LAST) > 0).float() - 1.0,
    "turned": lambda x: torch.sigmoid(x.permute(3, 0, 2, 1)).permute(1, 3, 2, 0), "mixed": lambda x: x.to(memory_format=LAST) + x, "of_a_part": lambda x: x.to(memory_format=LAST)[:, :2] * 2,
    "like": lambda x: torch.full_like(x, 2.0, memory_format=LAST), "one_channel": lambda x: x[:, :1].to(memory_format=LAST),
}
MADE_OF_IT = {
    "contiguous": lambda y: y.contiguous(), "reshape": lambda y: y.reshape(2, y.size(1), -1), "flatten": lambda y: y.flatten(),
    "last": lambda y: y.contiguous(memory_format=LAST), "to_last": lambda y: y.to(memory_format=LAST), "rows": lambda y: y.permute(0, 2, 3, 1).reshape(-1, y.size(1)),
    "row": lambda y: y.permute(0, 2, 3, 1).flatten(1), "part": lambda y: y[:, 0].reshape(-1), "to_contiguous": lambda y: y.to(memory_format=torch.contiguous_format),
}
# to() looks at the order of the strides alone, which an axis of one element leaves open; other orders than the two formats are not followed that far.
# Of two orders, which counts is a matter of the operator.
LEFT_OPEN = {("transposed", "to_last"), ("one_channel", "to_contiguous")} | {("mixed", of_it) for of_it in MADE_OF_IT if of_it not in ("last", "to_last")}


class WrittenBothWays(nn.Module):
    def __init__(self, make, of_it):
        super().__init__()
        self.make, self.of_it = make, of_it

    def forward(self, x):
        y = self.make(x * 1)
        z = self.of_it(y)
        z[0] = 7.0
        y[:, :1] += 1.0
        return y, z


@pytest.mark.parametrize("of_it", MADE_OF_IT)
@pytest.mark.parametrize("asked", ASKED)
def test_a_layout_that_was_asked_for_is_followed(asked, of_it, tmp_path):
    path, out, x = str(tmp_path / "model.pt"), tmp_path / "model.onnx", torch.randn(2, 3, 4, 5)
    module = WrittenBothWays(ASKED[asked], MADE_OF_IT[of_it]).eval()
    torch.jit.save(torch.jit.trace(module, (x,), check_trace=False), path)
    done = oracle.convert(path, out)
    assert (GUESSED in done.stderr or "shares memory with its input depends" in done.stderr) == ((asked, of_it) in LEFT_OPEN), done.stderr
    if (asked, of_it) not in LEFT_OPEN:
        assert done.returncode == 0, done.stderr
        oracle.run(out, [([x.numpy()], flat(module(x.clone())))])


class Gelu(nn.Module):
    def forward(self, x):
        y = F.gelu(x)
        y.contiguous().zero_()
        return y


INVERSE = "aten::linalg_inv(Tensor A) -> Tensor\n    = my::Inverse(A) as A\n"
GUESSED = "depends on the order in which PyTorch lays that out"


@pytest.mark.parametrize("clause, refused", [("", False), ("    layout own\n", True), ("    layout contiguous\n", False)])
def test_a_users_rule_says_the_layout(clause, refused, tmp_path):
    path, rules = tmp_path / "model.pt", tmp_path / "my.rules"
    torch.jit.save(torch.jit.script(Gelu().eval()), str(path))
    rules.write_text('aten::gelu(Tensor self, *, str approximate="none") -> Tensor\n' + clause + "    = Gelu<approximate=approximate>(self)\n")
    done = oracle.convert(str(path), tmp_path / "model.onnx", "-i", "x:float32[3,4]", "--rules", str(rules))
    assert (GUESSED in done.stderr) == refused == bool(done.returncode), done.stderr


def test_a_rule_without_layout_keeps_what_is_known(tmp_path):
    """PyTorch's kernel makes the tensor, whatever the rule says it holds."""
    (tmp_path / "my.rules").write_text(INVERSE)
    assert GUESSED in told(torch.linalg.inv, tmp_path, "--rules", str(tmp_path / "my.rules"))


LIBRARY = torch.library.Library("laid", "DEF")
for kind, double in [("dense", lambda x: (x * 2).contiguous()), ("alike", lambda x: x * 2), ("turned", lambda x: (x.t() * 2).contiguous().t())]:
    LIBRARY.define(kind + "(Tensor x) -> Tensor")
    LIBRARY.impl(kind, double, "CompositeExplicitAutograd")


class Later(nn.Module):
    """What is written behind `contiguous` shows in y where PyTorch's operator has laid y out in order."""
    def __init__(self, kind, turned):
        super().__init__()
        self.double, self.turned = getattr(torch.ops.laid, kind), turned

    def forward(self, x):
        y = self.double(x.t() if self.turned else x)
        y.contiguous().add_(1)
        return y


@pytest.mark.parametrize("kind, turned, clause, known", [
    ("dense", False, "    layout contiguous\n", True), ("dense", True, "    layout contiguous\n", True),
    ("alike", False, "", True), ("alike", True, "", False), ("turned", False, "    layout own\n", False), ("turned", True, "    layout own\n", False)])
def test_a_later_write_is_seen_where_the_rule_says_the_order(kind, turned, clause, known, tmp_path):
    path, rules, module, x = tmp_path / "model.pt", tmp_path / "my.rules", Later(kind, turned).eval(), torch.rand(3, 4)
    torch.jit.save(torch.jit.trace(module, (x,), check_trace=False), str(path))
    rules.write_text("laid::%s(Tensor x) -> Tensor\n%s    = Mul(x, 2)\n" % (kind, clause))
    done = oracle.convert(str(path), tmp_path / "model.onnx", "--rules", str(rules))
    if not known:
        assert done.returncode == 1 and GUESSED in done.stderr, done.stderr
        return
    y = module(x)
    assert torch.equal(y, (x.t() if turned else x) * 2 + 1)
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [y.numpy()])])


class Raveled(nn.Module):
    def __init__(self, of_it, step):
        super().__init__()
        self.of_it, self.step = of_it, step

    def forward(self, x):
        z = torch.cat([x, x], 1)[:, ::self.step]
        h = self.of_it(z)
        h.add_(1)
        return z, h


# ravel is contiguous().view(-1): it copies elements with gaps between them, of which flatten makes a view where the gaps are alike.
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("of_it", [torch.ravel, torch.flatten])
def test_ravel_shares_memory_only_where_it_is_contiguous(of_it, step, tmp_path):
    path, module, x = str(tmp_path / "model.pt"), Raveled(of_it, step).eval(), torch.rand(3, 4)
    torch.jit.save(torch.jit.trace(module, (x,), check_trace=False), path)
    oracle.converted(path, tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], flat(module(x)))])


class Expanded(nn.Module):
    def forward(self, x):
        return [x.expand(1, -1, -1).stride(), x.expand(2, 1, -1, -1).stride(), x.expand(1, 1, 3, 4).stride(), x.t()[:, :2].expand(1, 4, 2).stride(),
                x[0, 0].expand(1, 1).stride(), x[:, :1].expand(1, 3, 4).stride()]


def test_strides_of_added_axes(tmp_path):
    same(Expanded(), tmp_path, [[torch.rand(3, 4)]], "-i", "x:float32[3,4]")


def as_torch_or_refused(module, tmp_path, runs, *options):
    """Each run gives what it gives in torch, or the program is refused. What the conversion said."""
    path, out = save(module, tmp_path), tmp_path / "model.onnx"
    done = oracle.convert(path, out, *options)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        oracle.run(out, in_torch(path, runs))
    return done.stderr


SQUARE = ("-i", "x:float32[N,N]", "-i", "n:int64[]")


def square_runs(*counts):
    return [(torch.arange(float(size * size)).view(size, size) + 1, torch.tensor(n)) for size in (2, 3) for n in counts]


class AskedBehindALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            h = h.t() * 1
        return h.is_contiguous()


class StridedBehindALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            h = h.t() * 1
        return h.as_strided((2,), (1,), 1)


class StridesBehindALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            h = h.t() * 1
        return h.stride(0)


class WrittenBehindALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            h = h.t()
        y = h.reshape(-1)
        y.add_(1)
        return h * 1


class WrittenInALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        s = torch.zeros_like(x)
        for i in range(int(n)):
            y = h.flatten()
            y.add_(1)
            s = s + h
            h = h.t() * 1
        return s


class InATuple(nn.Module):
    def forward(self, x, n):
        pair = (x.clone(), x + 1)
        for i in range(int(n)):
            pair = (pair[1].t() * 1, pair[0])
        return pair[0].is_contiguous(), pair[1].is_contiguous()


class NoneBeforeALoop(nn.Module):
    def forward(self, x, n):
        h: Optional[Tensor] = None
        for i in range(int(n)):
            h = x.t() * 2
        if h is None:
            return x
        y = h.view(-1) if h.is_contiguous() else h.reshape(-1)
        y.add_(1)
        return h * 1


class InALoopInALoop(nn.Module):
    def forward(self, x, n):
        h = x.clone()
        s = torch.zeros_like(x)
        for i in range(int(n)):
            for k in range(int(n)):
                y = h.reshape(-1)
                y.add_(1)
                s = s + h
                h = h.t() * 1
        return s


@pytest.mark.parametrize("module", [AskedBehindALoop, StridedBehindALoop, StridesBehindALoop, WrittenBehindALoop, WrittenInALoop, InATuple, NoneBeforeALoop, InALoopInALoop])
def test_the_order_that_an_iteration_leaves_is_not_guessed(module, tmp_path):
    as_torch_or_refused(module(), tmp_path, square_runs(0, 1, 2, 3), *SQUARE)


class TurnedInALoop(nn.Module):
    """Nothing hangs on the order in which h lies."""
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            h = h.t() * 2
        return h.reshape(-1), h.flatten() + 1


class InOrderInALoop(nn.Module):
    """h is in order before and behind each iteration."""
    def forward(self, x, n):
        h = x.clone()
        for i in range(int(n)):
            y = h.reshape(-1)
            y.add_(1)
            h = (h.t() * 2).contiguous()
        y = h.flatten()
        y.mul_(3)
        return h * 1, h.is_contiguous()


@pytest.mark.parametrize("module", [TurnedInALoop, InOrderInALoop])
def test_a_loop_that_leaves_no_question_of_order(module, tmp_path):
    same(module(), tmp_path, square_runs(0, 1, 2, 3), *SQUARE)


class ChosenByANumber(nn.Module):
    def forward(self, x, n):
        l = [(x + 1).t(), (x + 2).t(), (x + 3).t(), x + 4]
        it = l[int(n)]
        y = it.reshape(-1)
        y.add_(100)
        return it * 1, y


class ChosenByAString(nn.Module):
    def forward(self, x, n):
        d = {"a": (x + 1).t(), "b": x + 2}
        s = "a" if bool(n > 1) else "b"
        return d[s].is_contiguous()


class FilledByALoop(nn.Module):
    def forward(self, x, n):
        l: List[Tensor] = []
        h = x * 1
        for i in range(int(n) + 1):
            l.append(h)
            h = h.t() * 2
        return l[int(n)].is_contiguous()


class ReadWhereItIsFilled(nn.Module):
    def forward(self, x, n):
        l = [x * 1]
        c = 0
        for i in range(int(n)):
            c += int(l[i].is_contiguous())
            l.append(l[i].t() * 2)
        return c


class FilledInALoopInALoop(nn.Module):
    def forward(self, x, n):
        l = [x * 1]
        c = 0
        for i in range(int(n)):
            for k in range(int(n)):
                c += int(l[-1].is_contiguous())
                l.append(l[-1].t() * 2)
        return c


class InPairs(nn.Module):
    def forward(self, x, n):
        l = [(x * 1, 0)]
        for i in range(int(n)):
            l.append((x.t() * 2, i))
        return l[-1][0].is_contiguous()


class InInnerLists(nn.Module):
    def forward(self, x, n):
        l = [[x * 1]]
        for i in range(int(n)):
            l.append([x.t() + k for k in range(i)] + [x])
        return l[-1][0].is_contiguous()


class PutInTheList(nn.Module):
    def forward(self, x, n):
        l = [x + i for i in range(int(n) + 1)]
        l[0] = x.t() * 1
        return l[0].is_contiguous()


class JoinedAndCut(nn.Module):
    def forward(self, x, n):
        l = [x + i for i in range(int(n) + 1)] + [(x * 2).t()]
        return l[1:][-1].is_contiguous()


class FilledInABranch(nn.Module):
    def forward(self, x, n):
        l = [x * 1]
        if bool(n > 1):
            l.append(x.t() * 1)
        return l[-1].is_contiguous()


class PoppedFromTheList(nn.Module):
    def forward(self, x, n):
        l = [x + i for i in range(int(n) + 1)]
        l.insert(0, x.t())
        return l.pop(0).is_contiguous()


class PartsOfSeveral(nn.Module):
    """The last item is one of the parts, or another tensor: which list it is only shows when the model runs."""
    def forward(self, x, n):
        l = list(x.unbind(1)) + [x[0]]
        return l[int(n)].is_contiguous()


class PartsInALoop(nn.Module):
    def forward(self, x, n):
        parts = x.split(1, 1)
        c = 0
        for part in parts:
            c += int(part.t().is_contiguous()) + int(part.is_contiguous())
        return c


ITEMS = [ChosenByANumber, ChosenByAString, FilledByALoop, ReadWhereItIsFilled, FilledInALoopInALoop, InPairs, InInnerLists, PutInTheList, JoinedAndCut,
         FilledInABranch, PoppedFromTheList, PartsOfSeveral, PartsInALoop]


@pytest.mark.parametrize("module", ITEMS)
def test_the_order_of_an_item_is_not_guessed(module, tmp_path):
    as_torch_or_refused(module(), tmp_path, square_runs(0, 1, 2), *SQUARE)


class ReadOnly(nn.Module):
    """Nothing hangs on the order in which the items lie."""
    def forward(self, x, n):
        l = [x * 1, x.t()]
        for i in range(int(n)):
            l.append(l[i].t() * 2)
        return l[int(n)].reshape(-1), torch.stack(l).flatten(1), len(l)


class InOrder(nn.Module):
    def forward(self, x, n):
        l = [x * 1]
        for i in range(int(n)):
            l.append(l[i] + 1)
        it = l[int(n)].clone()
        y = it.reshape(-1)
        y.add_(100)
        return it, l[-1].is_contiguous(), (x + 1, x + 2, x + 3)[int(n)].is_contiguous()


@pytest.mark.parametrize("module", [ReadOnly, InOrder])
def test_items_that_leave_no_question_of_order(module, tmp_path):
    same(module(), tmp_path, square_runs(0, 1, 2), *SQUARE)
