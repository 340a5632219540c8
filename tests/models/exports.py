"""exports.py - more of what torch.export alone can say, for `make corpus`: higher-order operators in one another, numbers and flags that
stay open, derived sizes, nested and keyword arguments, writes to arguments, vmap, strict export.

Programs are registered as those of programs.py are, which `make test` runs.
"""
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import torch
from torch import nn
import torch.nn.functional as F
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.utils import _pytree as pytree

from programs import Given, mapped, rand, registrar

RECIPES = []
FORMS = ("pt2", "pt2.aten", "pt2.dec", "pt2.strict")
PLAIN = ("pt2", "pt2.aten", "pt2.dec")
DYNAMIC, AUTO = Dim.DYNAMIC, Dim.AUTO
N = {0: Dim("n", min=0, max=64)}
program = registrar(RECIPES, FORMS)


def lengths(*sizes, width=3):
    """A tensor of each length."""
    return [rand(n, width, seed=n) for n in sizes]


# ---- higher-order operators in one another ----

@program(*[Given(rand(3), x) for x in lengths(4, 2, 7)], shapes=(None, N), forms=PLAIN)
class cond_in_scan(nn.Module):
    def forward(self, start, xs):
        def step(c, x):
            c = torch.cond(x.sum() > 0, lambda c, x: c + x, lambda c, x: c * x, (c, x))
            return c, c * 2
        return scan(step, start, xs)


@program(*[Given(rand(3), x) for x in lengths(4, 1, 6)], Given(-rand(3).abs(), rand(5, 3)), shapes=(None, N), forms=PLAIN)
class scan_in_cond(nn.Module):
    def forward(self, start, xs):
        def up(start, xs):
            last, all = scan(lambda c, x: (c + x, c.sin()), start, xs)
            return last.clone(), all.sum(0)
        return torch.cond(start.sum() > 0, up, lambda start, xs: (start - 1, xs.mean(0)), (start, xs))


@program(*[Given(rand(3), rand(n, 4, 3)) for n in (5, 2, 1)], shapes=(None, N), forms=PLAIN)
class scan_in_scan(nn.Module):
    def forward(self, start, xs):
        def rows(c, x):
            c, ys = scan(lambda c, r: (c * 0.5 + r, c + r), c, x)
            return c.clone(), ys.sum(0)
        return scan(rows, start, xs)


@program(*[Given(rand(n, m, 3), rand(3)) for n, m in ((4, 5), (2, 3), (1, 7))], shapes=({0: Dim("n", min=0), 1: Dim("m", min=0)}, None), forms=PLAIN)
class map_in_map(nn.Module):
    def forward(self, xs, y):
        return mapped(lambda x, y: mapped(lambda r, y: r * y + 1, x, y).sum(0), xs, y)


@program(*[Given(x, rand(3)) for x in lengths(4, 2, 9)], shapes=(N, None), forms=PLAIN)
class cond_in_map(nn.Module):
    def forward(self, xs, y):
        return mapped(lambda x, y: torch.cond(x.sum() > 0, lambda x, y: x * y, lambda x, y: x - y, (x, y)), xs, y)


@program(Given(torch.tensor(3), rand(4)), Given(torch.tensor(0), rand(4)), Given(torch.tensor(5), -rand(4)), forms=PLAIN)
class cond_in_while(nn.Module):
    def forward(self, n, x):
        def body(i, y):
            return i - 1, torch.cond(y.sum() > 0, lambda y: y - 1, lambda y: y * 0.5 + 0.3, (y,))
        return while_loop(lambda i, y: i > 0, body, (n, x))


@program(Given(torch.tensor(3), rand(4).abs()), Given(torch.tensor(2), -rand(4).abs()), Given(torch.tensor(0), rand(4).abs()), forms=PLAIN)
class while_in_cond(nn.Module):
    def forward(self, n, x):
        def loop(n, x):
            _, y = while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, y * 1.5), (n, x))
            return y + 1
        return torch.cond(x.sum() > 0, loop, lambda n, x: x * n, (n, x))


@program(Given(torch.tensor(3), rand(4)), Given(torch.tensor(0), rand(4)), Given(torch.tensor(4), rand(4, seed=3)), forms=PLAIN)
class while_in_while(nn.Module):
    def forward(self, n, x):
        def body(i, y):
            _, z = while_loop(lambda j, z: j > 0, lambda j, z: (j - 1, z * 0.9 + 0.1), (i.clone(), y))
            return i - 1, z + 1
        return while_loop(lambda i, y: i > 0, body, (n, x))


@program(Given(torch.tensor(2), *lengths(4)), Given(torch.tensor(0), *lengths(6)), Given(torch.tensor(3), *lengths(1)), shapes=(None, N), forms=PLAIN)
class scan_in_while(nn.Module):
    def forward(self, n, x):
        def body(i, y):
            last, ys = scan(lambda c, r: (c + r, c * 0.1), torch.zeros(3), y)
            return i - 1, ys + last
        return while_loop(lambda i, y: i > 0, body, (n, x))


@program(*[Given(torch.tensor([3, 0, 2, 1][:n]), rand(3)) for n in (4, 2)], shapes=(N, None), forms=PLAIN)
class while_in_scan(nn.Module):
    def forward(self, counts, start):
        def step(c, k):
            _, c = while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, y * 1.1 + 1), (k.clone(), c))
            return c.clone(), c + k
        return scan(step, start, counts)


@program(*lengths(5), forms=("pt2.aten", "pt2.dec"))       # its tree is that of one length
class associative_of_two(nn.Module):
    """The first-order recurrence h = a h + b, as state space models have it."""
    def forward(self, x):
        def combine(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]
        return associative_scan(combine, (x.sigmoid(), x), 0, combine_mode="generic")[1]


@program(rand(3, 4), rand(3, 4) - 3, forms=PLAIN)
class cond_of_nothing(nn.Module):
    """Arms that see only what they close over."""
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(4))
        self.register_buffer("b", torch.arange(4.0))

    def forward(self, x):
        return x + torch.cond(x.mean() > 0, lambda: self.a * 2, lambda: self.b - 1, ())


@program(Given(rand(3, 4)), Given(-rand(3, 4).abs() - 1), forms=PLAIN)
class cond_of_a_dict(nn.Module):
    def forward(self, x):
        given = {"x": x, "more": (x + 1, [x * 2])}
        return torch.cond(x.sum() > -1, lambda g: {"a": g["x"] * 2, "b": g["more"][1][0] + 0}, lambda g: {"a": g["more"][0] * 1, "b": g["x"] - 3}, (given,))


@program(rand(6, 4), rand(2, 4), rand(12, 4), shapes=(N,), forms=PLAIN)
class cond_on_sizes_twice(nn.Module):
    def forward(self, x):
        def large(x):
            return torch.cond(x.shape[0] > 10, lambda x: x * 3, lambda x: x.sin(), (x,))
        return torch.cond(x.shape[0] > 4, large, lambda x: x.cos(), (x,))


@program(Given(torch.tensor(True), rand(3)), Given(torch.tensor(False), rand(3)))
class cond_on_an_argument(nn.Module):
    def forward(self, p, x):
        return torch.cond(p, lambda x: x + 1, lambda x: x - 1, (x,))


@program(Given(torch.tensor(0), rand(4, 3)), Given(torch.tensor(2), rand(4, 3)), Given(torch.tensor(9), rand(4, 3)), forms=PLAIN)
class while_with_weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, i, x):
        return while_loop(lambda i, y: (i < 5) & (y.abs().sum() < 100), lambda i, y: (i + 1, torch.tanh(self.fc(y)) * 2), (i, x))


@program(*[Given(rand(n, 4, seed=n)) for n in (5, 3, 1)], shapes=(N,), forms=PLAIN)
class scan_is_a_gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 18), nn.Linear(4, 18)

    def forward(self, xs):
        def step(h, x):
            r, z, n = self.outer(x).chunk(3)
            hr, hz, hn = self.inner(h).chunk(3)
            z = torch.sigmoid(z + hz)
            h = (1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * h
            return h, h * 1
        return scan(step, torch.zeros(6), xs)


@program(*[Given([rand(n, 3), rand(n, 2)], rand(3)) for n in (5, 2, 7)], shapes=([N, N], None), forms=PLAIN)
class scan_of_a_tree(nn.Module):
    def forward(self, xs, start):
        def step(c, x):
            c = {"sum": c["sum"] + x[0], "n": c["n"] + 1}
            return c, (c["sum"] * 2, x[1].sum())
        return scan(step, {"sum": start, "n": torch.tensor(0)}, xs)


@program(*[Given(rand(4, n, 2)) for n in (5, 2, 7)], shapes=({1: Dim("n", min=0)},), forms=PLAIN)
class scan_over_dim_1(nn.Module):
    def forward(self, xs):
        return scan(lambda c, x: (c + x.sum(), x * c), torch.tensor(1.0), xs, dim=1)


# ---- vmap ----

@program(rand(4, 3), rand(2, 3), shapes=(N,), forms=PLAIN)
class vmap_of_rows(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row.sum() * row - row.max())(x)


@program(Given(rand(4, 3), rand(3)), Given(rand(2, 3), rand(3)), shapes=(N, None), forms=PLAIN)
class vmap_shares(nn.Module):
    def forward(self, x, y):
        return torch.vmap(lambda row, y: torch.dot(row, y) + row, in_dims=(0, None))(x, y)


@program(Given(rand(4, 3, 2), rand(4, 2, 5)), forms=PLAIN)
class vmap_of_products(nn.Module):
    def forward(self, x, y):
        return torch.vmap(lambda a, b: torch.softmax(a @ b, -1))(x, y)


@program(Given(torch.arange(4), torch.arange(6)), Given(torch.arange(2), torch.arange(3)), shapes=({0: Dim("n", min=0)}, {0: Dim("m", min=0)}), forms=PLAIN)
class vmap_of_indices(nn.Module):
    def forward(self, q, k):
        rule = lambda i, j: (j <= i) & (i - j < 3)
        return torch.vmap(torch.vmap(rule, in_dims=(None, 0)), in_dims=(0, None))(q, k)


# ---- numbers and flags ----

@program(Given(rand(3), 2.5), Given(rand(3), 2.5))
class constant_float(nn.Module):
    def forward(self, x, a):
        return x * a + a ** 2


@program(rand(4, 3), rand(6, 3), rand(9, 3), shapes=({0: AUTO},))
class sizes_as_floats(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return x / torch._sym_sqrt(n), x * (n / 3), x + torch.sym_float(n), n // 2, n % 3, -n, n * n - 1


@program(rand(4, 3), rand(6, 3), rand(9, 3), shapes=({0: AUTO},))
class sizes_compared(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.sym_max(n, 5), torch.sym_min(n, 5), torch.full((2,), n), torch.where(torch.full((3,), n) > 5, x, -x)


@program(*[Given(torch.tensor(v), rand(3)) for v in (3, -1, 0)])
class ints_from_data(nn.Module):
    def forward(self, a, x):
        v = a.item()
        return x * v, x + v * 2, v, v // 2, v % 3, x * (v + 0.5)


@program(*[Given(torch.tensor(v), rand(6, 3)) for v in (3, 1, 6, 0)])
class narrow_from_data(nn.Module):
    def forward(self, a, x):
        n = a.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        y = x.narrow(0, 0, n)
        return y * 2, y.sum(0), torch.cat([y, x]), y.shape[0] + 1


@program(*[Given(torch.tensor(v), rand(6, 3)) for v in ([2, 1], [0, 3], [6, 4])])
class sizes_from_a_list(nn.Module):
    def forward(self, a, x):
        n, m = a.tolist()
        torch._check(n >= 0)
        torch._check(m >= 0)
        torch._check(n <= 6)
        torch._check(m <= 6)
        return x[:n], torch.zeros(n, m), torch.ones(m).sum()


@program(rand(5, 3), -rand(5, 3).abs(), rand(8, 3), shapes=(N,))
class counts_from_data(nn.Module):
    def forward(self, x):
        at = torch.nonzero(x[:, 0] > 0).squeeze(1)
        kept = x[at]
        return kept, kept.sum(0), torch.zeros(at.shape[0], 2) + 1, torch.arange(at.shape[0]), at.shape[0] * 2


@program(torch.tensor([1, 0, 2, 1, 5]), torch.tensor([3, 3, 3, 0, 0]), forms=PLAIN)
class unique_values(nn.Module):
    def forward(self, x):
        values, at, count = torch.unique(x, return_inverse=True, return_counts=True)
        return values, at, count, values.shape[0]


@program(Given(rand(3, 4), 2), Given(rand(3, 4), 3), Given(rand(3, 4), 5), shapes=(None, DYNAMIC))
class open_int_repeats(nn.Module):
    def forward(self, x, n):
        return x.repeat(n, 1), x.unsqueeze(0).expand(n, 3, 4), torch.ones(n, 2) * n, [n, n * 2]


# ---- sizes ----

n = Dim("n", min=1, max=64)


@program(*[Given(rand(k, 3), rand(k + 1, 3), rand(2 * k, 3)) for k in (4, 2, 7)], shapes=({0: n}, {0: n + 1}, {0: 2 * n}))
class derived_from_another(nn.Module):
    def forward(self, x, y, z):
        return torch.cat([x, x]) + z, x + y[1:], torch.cat([x, y]).shape[0]


@program(*[Given(rand(k, 3), rand(k, 3)) for k in (4, 2, 7)], shapes=({0: AUTO}, {0: AUTO}))
class found_equal(nn.Module):
    def forward(self, x, y):
        return x + y, x @ y.t()


@program(*[Given(rand(2, 8 * k)) for k in (4, 2, 7)], shapes=({1: AUTO},))
class found_multiple(nn.Module):
    def forward(self, x):
        return x.view(2, -1, 8).sum(-1)


@program(rand(2, 3, 64, 96), rand(1, 3, 32, 32), rand(3, 3, 32, 32), shapes=({0: Dim("n", min=0), 2: 32 * Dim("h", min=1, max=8), 3: 32 * Dim("w", min=1, max=8)},))
class pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(3 if i == 0 else 4, 4, 3, 2, 1) for i in range(4))

    def forward(self, x):
        levels = []
        for conv in self.down:
            x = torch.relu(conv(x))
            levels.append(x)
        y = levels[-1]
        for level in levels[-2::-1]:
            y = F.interpolate(y, size=level.shape[-2:], mode="nearest") + level
        return y


@program(*[Given(rand(k, 6, 8, seed=k)) for k in (2, 1, 5)], shapes=(N,))
class reshapes(nn.Module):
    def forward(self, x):
        n, t, c = x.shape
        y = x.reshape(n * t, c).view(n, t, 2, c // 2).transpose(1, 2)
        return y.reshape(n * 2, t, -1).sum(-1), x.flatten(), x.unfold(1, 2, 2), x.movedim(0, 2)


# ---- arguments ----

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Sample:
    image: torch.Tensor
    extra: Dict[str, torch.Tensor]
    boxes: List[torch.Tensor] = field(default_factory=list)
    mask: Optional[torch.Tensor] = None


pytree._register_namedtuple(Point, serialized_type_name="exports.Point")
torch.export.register_dataclass(Sample, serialized_type_name="exports.Sample")


@program(Given(Sample(rand(2, 3), {"b": rand(3), "a": rand(2, 1)}, [rand(1, 3), rand(1, 3, seed=4)])))
class dataclass_of_all(nn.Module):
    def forward(self, sample):
        return Sample(sample.image * sample.extra["a"] + sample.extra["b"], {"z": sample.image + 1, "y": sample.image - 1}, [sample.boxes[1] + sample.boxes[0]])


@program(Given(rand(3), scale=rand(1), shift=rand(3, seed=1)), Given(rand(3), scale=rand(1, seed=2), shift=rand(3, seed=3)))
class keywords_in_another_order(nn.Module):
    def forward(self, x, shift=None, *, unused=None, scale=None):
        return x * scale + shift


@program(Given(rand(3), rand(3, seed=1), rand(3, seed=2), first=rand(3, seed=3), second=rand(3, seed=4)))
class stars(nn.Module):
    def forward(self, x, *others, **named):
        for y in others:
            x = x * y
        return {k: x + v for k, v in named.items()}


@program(Given(OrderedDict([("z", rand(3)), ("a", rand(3, seed=1))]), defaultdict(list, {"k": [rand(3, seed=2)]})), forms=PLAIN)
class dicts_of_kinds(nn.Module):
    def forward(self, a, b):
        return OrderedDict([("q", a["z"] - a["a"]), ("b", b["k"][0] * 2)])


@program(Given([(rand(2), [rand(3), Point(rand(1), rand(2, seed=5))]), {"k": (rand(2, seed=6),)}]))
class deep(nn.Module):
    def forward(self, x):
        return [(x[0][0] + x[1]["k"][0], {"p": Point(x[0][1][1].x * 2, x[0][1][0])}), None, [x[0][1][1].y]]


@program(Given(rand(3), "tanh", None, (1, 2.5, None, "x"), {"flag": True}))
class no_tensors_among(nn.Module):
    def forward(self, x, name, nothing, numbers, flags):
        y = torch.tanh(x) if name == "tanh" and nothing is None else x
        return y * numbers[0] + numbers[1] if flags["flag"] else y


@program(Given(rand(3, 4)))
class gives_its_argument(nn.Module):
    def forward(self, x):
        return x, x + 0, x.t(), 3, "text", None, True, 2.5


@program(Given(rand(2, 3), rand(2, 3)))
class one_result_twice(nn.Module):
    def forward(self, x, unused):
        y = x * 2
        return {"a": y, "b": [y, y + 1]}


@program(Given())
class no_arguments(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 4))

    def forward(self):
        return self.weight.sum(0), torch.arange(5)


# ---- what is written ----

@program(Given(rand(3, 4), rand(3, 4, seed=1)))
class arguments_are_written(nn.Module):
    def forward(self, x, y):
        x.mul_(2)
        y[1].add_(x[0])
        y.t()[2].fill_(7)
        return x + y, x[0]


@program(Given({"a": rand(3, 4)}, [rand(2, 2)]))
class nested_arguments_are_written(nn.Module):
    def forward(self, d, xs):
        d["a"].add_(1)
        xs[0].zero_()
        return d["a"].sum() + xs[0], d["a"]


@program(rand(5, 4), rand(3, 4), rand(1, 4), shapes=({0: Dim("n", min=0, max=8)},), tags=("state",))
class window_of_state(nn.Module):
    """A queue of the last 8 rows."""
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(8, 4))

    def forward(self, x):
        self.kept.copy_(torch.cat([self.kept, x])[x.shape[0]:])
        return self.kept.mean(0)


@program(rand(2, 4), rand(2, 4, seed=1), rand(2, 4, seed=2), tags=("state",))
class two_states(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(4), persistent=False)

    def forward(self, x):
        self.steps.add_(1)
        self.mean += (x.mean(0) - self.mean) / self.steps
        return x - self.mean, self.steps * 2


@program(rand(2, 4), rand(2, 4, seed=1), tags=("state",), forms=PLAIN)
class state_and_cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(4))

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x, k: x + k, lambda x, k: x * k, (x, self.kept.clone()))
        self.kept.copy_(y[0])
        return y


# ---- effects ----

@program(rand(3, 4))
class prints(nn.Module):
    def forward(self, x):
        torch.ops.aten._print("a note")
        return x + 1


@program(rand(3, 4))
class asserts(nn.Module):
    def forward(self, x):
        torch._assert_async(x.sum() > -1000)
        torch._assert(x.shape[0] == 3, "three rows")
        return x + 1


# ---- autograd, training ----

@program(rand(4, 3))
class no_grad_and_detach(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            a = self.fc(x)
        with torch.inference_mode():
            b = self.fc(a).clone()
        return a.detach() * 2 + b


@program(rand(4, 3), forms=PLAIN)
class checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(lambda x: torch.tanh(self.fc(x)), x, use_reentrant=False) + x
