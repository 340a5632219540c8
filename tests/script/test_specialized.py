"""Sizes that were asked to stay dynamic and that a trace has specialized: one note for each, with its line. Programs that are right at other
sizes say nothing, and give what PyTorch gives there."""
import inspect
import math
import os
import re

import onnx
import pytest
import torch

from scripted import oracle

@pytest.fixture
def out(tmp_path):
    return tmp_path / "model.onnx"


NOTE = re.compile(r"assumed: dimension (\d) \((\w+)\) of (\w+) does not stay dynamic(?:, it was (\d+) in the trace's example)?: (.*)")
LOOP = "a loop that the trace has unrolled; torch.jit.script or torch.export keeps it dynamic, else give a fixed size"

SLICE = "a slice that has the example's size as a number; torch.jit.script or torch.export keeps it dynamic, else give a fixed size"


class Of(torch.nn.Module):
    """A function as a module, with a weight of 7."""

    def __init__(self, function):
        super().__init__()
        self.function, self.bias = function, torch.nn.Parameter(torch.rand(7))

    def forward(self, *xs):
        return self.function(*xs, self.bias) if self.function.__code__.co_argcount > len(xs) else self.function(*xs)


def traced(function, tmp_path, *args):
    path = tmp_path / "model.pt"
    torch.jit.trace(Of(function).eval(), args, check_trace=False).save(str(path))
    return path


def notes(path, out, *options):
    done = oracle.converted(path, out, *options)
    return [m.groups() for m in map(NOTE.match, done.stderr.split("\n")) if m], done.stderr


def line_in(function, text):
    """FILE:LINE of the line of a function that has this text."""
    lines, first = inspect.getsourcelines(function)
    return "%s:%d" % (function.__code__.co_filename, first + next(i for i, line in enumerate(lines) if text in line))


# ---- what a trace has fixed ----

def rows(x):
    out = []
    for i in range(x.shape[1]):
        out.append(x[:, i] * (i + 1))           # here
    return torch.stack(out, 1)


def rows_from_the_last(x):
    h, n = torch.zeros(x.shape[0]), x.shape[1]
    for i in range(n):
        h = torch.tanh(h + x[:, n - 1 - i])     # here
    return h


def pairs(x):
    out = 0
    for i in range(x.shape[1] - 1):
        out = out + x[:, i] * x[:, i + 1]       # here
    return out


def scan(x):
    y, h = torch.exp(x.unsqueeze(-1) * torch.ones(3)), torch.zeros(x.shape[0], 3)
    out = []
    for i in range(x.shape[1]):
        h = y[:, i] * h + 1                     # here
        out.append(h.sum(-1))
    return torch.stack(out, 1) + x


def filled(x):
    out, total = torch.zeros(x.shape), x.sum()
    for i in range(x.shape[1]):
        out[:, i] = total * i                   # here
    return out


def reordered(x):
    return x[:, [x.shape[1] - 1 - i for i in range(x.shape[1])]]        # here


def chunks(x):
    y = torch.cat((x, x), 1)
    return sum(y[:, 2 * i:2 * i + 2].sum() for i in range(x.shape[1]))  # here


def narrowed(x):
    return x.narrow(1, 0, int(x.shape[1])) * 2  # here


def sliced(x):
    return x[:, :int(x.shape[1])].sum(1)        # here


def sliced_twice(x):
    return torch.cat((x, x), 1)[:, 1:2 * int(x.shape[1])]               # here


def root(x):
    return x / math.sqrt(x.size(1))             # here


def shape(x):
    return x * torch.tensor(x.shape).prod()     # here


def half(x):
    return torch.roll(x, x.shape[1] // 2, 1)    # here


def weight(x, bias):
    return x + bias                             # here


def pooled(x, bias):
    return torch.nn.functional.avg_pool1d(x, 3, 1, 1) * bias            # here


def shared_out(x):
    return x.view(-1, int(x.numel() / x.size(0)))       # here


def counted(x):
    return torch.arange(int(x.shape[1]))


FIXED = [
    (rows, "HERE reads positions 0 to 6 of it by number, " + LOOP),
    (rows_from_the_last, "HERE reads positions 0 to 6 of it by number, " + LOOP),
    (pairs, "HERE reads positions 0 to 6 of it by number, " + LOOP),
    (scan, "HERE reads positions 0 to 6 of it by number, " + LOOP),
    (filled, "HERE writes positions 0 to 6 of it by number, " + LOOP),
    (reordered, "HERE reads positions 0 to 6 of it by number, " + LOOP),
    (chunks, "HERE reads positions 0 to 13 of 2*L by number, " + LOOP),
    (narrowed, "HERE reads positions 0 to 6 of it alone, " + SLICE),
    (sliced, "HERE reads positions 0 to 6 of it alone, " + SLICE),
    (sliced_twice, "HERE reads positions 1 to 13 of 2*L alone, " + SLICE),
    (root, "HERE has the number sqrt(7); torch.jit.script"),
    (shape, "HERE has the example's sizes [2, 7] as a constant; torch.jit.script"),
    (half, "HERE rolls it by 3, half of 7; torch.jit.script"),
    (weight, "HERE combines it with a size of 7; give a fixed size"),
    (pooled, "HERE combines it with a size of 7; give a fixed size"),
    (shared_out, "HERE has the example's size in a shape, float32[N,L] becomes float32[(N*L)//7,7]; torch.jit.script"),
    (counted, "dimension 0 of output 0 is 7 in every run; torch.jit.script"),
]


@pytest.mark.parametrize("function, says", FIXED, ids=[f.__name__ for f, _ in FIXED])
def test_a_size_that_the_trace_has_fixed_is_told(function, says, tmp_path, out):
    x = torch.rand(2, 7)
    path = traced(function, tmp_path, x)
    found, text = notes(path, out, "-i", "x:float32[N,L]")
    found = [f for f in found if f[1] == "L"]
    here = line_in(function, "# here") if "HERE" in says else ""
    assert len(found) == 1 and found[0][:4] == ("1", "L", "x", "7"), text
    assert found[0][4].startswith(says.replace("HERE", here)), text
    assert not notes(path, out, "-i", "x:float32[2,7]")[0]
    loaded = torch.jit.load(str(path))
    oracle.run(out, [([x.numpy()], [loaded(x).detach().numpy()])])


@pytest.mark.parametrize("function", [f for f, _ in FIXED if f not in (counted, sliced_twice)], ids=lambda f: f.__name__)
def test_dynamic_asks_for_all_sizes(function, tmp_path, out):
    found, text = notes(traced(function, tmp_path, torch.rand(2, 7)), out, "--dynamic")
    assert [f[:4] for f in found if f[1] == "x_1"] == [("1", "x_1", "x", "7")], text


@pytest.mark.parametrize("function", [filled, lambda x: torch.zeros(x.shape).index_put((torch.tensor(0),), x.sum(0))])
def test_a_buffer_that_is_written_keeps_its_size(function, tmp_path, out):
    oracle.converted(traced(function, tmp_path, torch.rand(2, 7)), out, "-i", "x:float32[N,L]")
    output = onnx.load(str(out)).graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param for d in output] == ["N", "L"]


def test_a_loop_of_300_rows_takes_no_longer_for_each_row(tmp_path, out):
    """Each row written was a longer expression of the size: 22 rows took a minute."""
    path = traced(filled, tmp_path, torch.rand(2, 300))
    start = os.times().children_user
    oracle.converted(path, out, "-i", "x:float32[N,L]", timeout=120)
    assert os.times().children_user - start < 20


def test_one_note_a_size(tmp_path, out):
    """Two loops and a weight: the first line tells."""
    def both(x, bias):
        return rows(x) + rows(x * 2) + bias
    found, text = notes(traced(both, tmp_path, torch.rand(2, 7)), out, "-i", "x:float32[N,L]")
    assert [f[1] for f in found] == ["L"], text


def test_a_batch_of_two_that_a_loop_goes_through(tmp_path, out):
    def one_by_one(x):
        return torch.stack([x[i].flip(0) for i in range(x.shape[0])])
    found, text = notes(traced(one_by_one, tmp_path, torch.rand(2, 7)), out, "-i", "x:float32[N,L]")
    assert [f[:4] for f in found] == [("0", "N", "x", "2")], text


@pytest.mark.parametrize("function", [
    lambda x: torch.cat([x[i:i + 1] * i for i in range(x.shape[0])]),
    lambda x: torch.stack([x[-1 - i] for i in range(x.shape[0])]),
    lambda x: torch.stack([x[x.shape[0] - 1 - i] for i in range(x.shape[0])]),
    lambda x: x.index_select(0, torch.arange(int(x.shape[0]))),
    lambda x: torch.arange(int(x.shape[0])),
])
def test_a_batch_of_two_in_other_loops(function, tmp_path, out):
    found, text = notes(traced(function, tmp_path, torch.rand(2, 7)), out, "-i", "x:float32[N,L]")
    assert [f[:4] for f in found] == [("0", "N", "x", "2")], text


@pytest.mark.parametrize("function", [
    lambda x: torch.stack([x.sum(), x.mean()]),
    lambda x: torch.stack(torch.var_mean(x)).unsqueeze(1) * 2,
    lambda x: torch.stack([x[0], x[-1]]),
    lambda x: x[0] + x[-1],
    lambda x: torch.cat([x[:1], x[-1:]]),
    lambda x: torch.cat([x.sum(0, keepdim=True), x.mean(0, keepdim=True)]),
    lambda x: torch.gradient(x, dim=0)[0].sum(0),
])
def test_what_is_two_by_chance_is_not_told(function, tmp_path, out):
    """The batch was 2, and so are two sums, or the first and the last row."""
    found, text = notes(traced(function, tmp_path, torch.rand(2, 7)), out, "-i", "x:float32[N,L]")
    assert not found, text
    runs = [torch.rand(3, 9), torch.rand(5, 4)]
    oracle.run(out, [([x.numpy()], [function(x).numpy()]) for x in runs])


def test_a_batch_that_windows_are_joined_to(tmp_path, out):
    """What image models do: the batch is the number of windows by those of an image, which Python has computed. view() takes the rest for
    another batch, and PyTorch itself gives wrong pixels."""
    def joined(x):
        windows = x.view(x.shape[0], 3, 2, 4, 6).transpose(2, 3).reshape(-1, 2, 6)
        batch = int(windows.shape[0] / (3 * 4))
        return windows.view(batch, 3, 4, 2, -1).transpose(2, 3).reshape(-1, 24, 6).flatten(1)               # here
    found, text = notes(traced(joined, tmp_path, torch.rand(2, 24, 6)), out, "-i", "x:float32[N,24,6]")
    assert [f[:4] for f in found] == [("0", "N", "x", "2")], text
    assert found[0][4].startswith(line_in(joined, "# here") + " has the example's size in a shape, float32[12*N,2,6] becomes float32[2,3,4,2,3*N]; "), text


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.rand(7))

    def forward(self, x):
        return x + self.bias


def test_a_scripted_program_with_a_weight(tmp_path, out):
    path = tmp_path / "model.pt"
    torch.jit.script(Scripted()).save(str(path))
    found, text = notes(path, out, "-i", "x:float32[N,L]")
    assert [f[:4] for f in found] == [("1", "L", "x", None)] and found[0][4].endswith("combines it with a size of 7; give a fixed size"), text
    assert not notes(path, out, "-i", "x:float32[N,7]")[0]


# ---- what stays dynamic ----

def attention(x):
    q = x.view(x.shape[0], x.shape[1], 4, 2).transpose(1, 2)
    return (torch.softmax(q @ q.transpose(-1, -2) / math.sqrt(2), -1) @ q).transpose(1, 2).reshape(x.shape[0], x.shape[1], 8)


def positions(x):
    return x + torch.arange(x.shape[1]).unsqueeze(1)


def flipped(x):
    return x.flip(1) + torch.roll(x, 1, 1)


def first_and_last(x):
    return torch.cat((x[:, :1], x[:, 1:-1] * 2, x[:, -1:]), 1) + x[:, 0].unsqueeze(1)


def best(x):
    return torch.topk(x.sum(-1), 3).values


def columns(x):
    a, b, c, d = x[..., 0], x[..., 1], x[..., 2], x[..., 3]
    return torch.stack((a, b, c, d), -1) + x[..., 4:].sum()


def three(x):
    y = x[:, :3]
    return y[:, :3] + x[:, 1:].sum(1, keepdim=True) + x[:, 1:3].sum() + y[:, 0:1] * y[:, 1:2] * y[:, 2:3]


def sliced_as_it_runs(x):
    return x[:, :x.shape[1]] + x.narrow(1, 0, x.shape[1]) + x[:, 1:x.shape[1]].sum()


def grown(x):
    return torch.cat((x, torch.zeros(x.shape[0], 2, 8)), 1)


RIGHT = [attention, positions, flipped, first_and_last, best, columns, three, sliced_as_it_runs, grown, lambda x: x.mean(1),
         lambda x: x.reshape(-1, 8), lambda x: x.view(x.shape[0], x.shape[1], 2, -1), lambda x: x.reshape(x.shape[0], -1, 4), lambda x: x.flatten(1).unflatten(1, (-1, 2)),
         lambda x: torch.nn.functional.group_norm(x.transpose(1, 2), 2), lambda x: torch.nn.functional.interpolate(x, scale_factor=2), lambda x: x.cumsum(1) / x.shape[1], lambda x: torch.nn.functional.adaptive_avg_pool1d(x, 4)]


@pytest.mark.parametrize("length", [4, 8, 5])
@pytest.mark.parametrize("function", RIGHT)
def test_a_size_that_stays_dynamic_is_not_told(function, length, tmp_path, out):
    """The example's sizes are those that the program has itself: 4 heads, a width of 8."""
    path = traced(function, tmp_path, torch.rand(2, length, 8))
    found, text = notes(path, out, "-i", "x:float32[N,L,8]")
    assert not found, text
    runs = [(x,) for x in (torch.rand(3, 9, 8), torch.rand(1, 6, 8))]
    with torch.no_grad():
        oracle.run(out, [([x.numpy()], [function(x).numpy()]) for (x,) in runs])


def test_the_width_of_positions_is_no_size(tmp_path, out):
    """nonzero's second size is the rank of its argument, and the rows that data choose may be all of them."""
    def chosen(x, y):
        return x[x[:, 0] > 0], torch.nonzero(y)
    found, text = notes(traced(chosen, tmp_path, torch.rand(2, 4), torch.rand(1, 4)), out, "-i", "x:float32[N,4]", "-i", "y:float32[M,4]")
    assert not found, text


def test_columns_of_boxes_are_no_loop(tmp_path, out):
    def area(x):
        return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    found, text = notes(traced(area, tmp_path, torch.rand(6, 4)), out, "--dynamic")
    assert not found, text
