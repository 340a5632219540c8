"""programs.py - what only torch.export can say: nested arguments, dynamic numbers, state, higher-order operators, regions.

One program a feature, saved as exported (TRAINING), after run_decompositions({}) and after run_decompositions(): the three
forms write the same thing in three ways. A program is a module class with its examples; the first is exported.
"""
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple, Optional

import torch
from torch import nn
import torch.nn.functional as F
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.utils import _pytree as pytree

from recipe import Recipe

RECIPES = []
FORMS = ("pt2", "pt2.aten", "pt2.dec")
N = {0: Dim("n", min=1, max=64)}


class Given:
    """The arguments of one call."""

    def __init__(self, *args, **keywords):
        self.args, self.keywords = args, keywords


def registrar(recipes, all_forms):
    """A decorator that makes recipes of module classes."""
    def program(*examples, shapes=None, forms=all_forms, tags=()):
        """Register the module class below. An example is a Given, or one tensor; shapes as torch.export wants them."""
        given = [e if isinstance(e, Given) else Given(e) for e in examples]

        def add(make):
            r = Recipe(make.__name__, make, lambda i: given[i], forms, ["program", "trained", *tags], tuple(range(len(given))))
            r.shapes = shapes
            recipes.append(r)
            return make
        return add
    return program


program = registrar(RECIPES, FORMS)


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


# ---- how arguments and results nest ----

Pair = namedtuple("Pair", ["first", "second"])


class Boxes(NamedTuple):
    boxes: torch.Tensor
    scores: torch.Tensor


@dataclass
class Batch:
    image: torch.Tensor
    mask: Optional[torch.Tensor] = None


pytree._register_namedtuple(Pair, serialized_type_name="programs.Pair")
pytree._register_namedtuple(Boxes, serialized_type_name="programs.Boxes")
torch.export.register_dataclass(Batch, serialized_type_name="programs.Batch")


@program(Given(Pair(rand(2, 3), rand(2, 3, seed=1))))
class named_tuples(nn.Module):
    def forward(self, pair):
        return Boxes(pair.first + 1, pair.second * 2)


@program(Given(Batch(rand(4))))
class dataclasses(nn.Module):
    def forward(self, batch):
        return Batch(batch.image + 1, batch.image * 2)


@program(Given([rand(2), (rand(2, seed=1), {"k": rand(2, seed=2)})], scale=rand(1)))
class nested(nn.Module):
    def forward(self, xs, scale):
        return {"a": [xs[0] * scale, xs[1][0]], "b": (xs[1][1]["k"], None)}


@program(Given(rand(4, 3), True, "mode", None, 2.5))
class constant_arguments(nn.Module):
    def forward(self, x, flag, mode, nothing, scale):
        return x * scale if flag and mode == "mode" and nothing is None else x


# ---- numbers ----

@program(Given(rand(2, 3), 5), Given(rand(2, 3), 7), Given(rand(2, 3), 0), shapes=(None, Dim.DYNAMIC))
class open_int(nn.Module):
    def forward(self, x, n):
        return x * n, n + 1


@program(Given(rand(4, 3), 2), Given(rand(4, 3), 3), Given(rand(4, 3), 4), shapes=(None, Dim.DYNAMIC))
class open_int_is_a_size(nn.Module):
    def forward(self, x, n):
        return x[:n].sum(0), torch.arange(n)


@program(rand(4, 3), rand(5, 3), rand(1, 3), shapes=(N,))
class sizes_are_results(nn.Module):
    def forward(self, x):
        return x + 1, x.shape[0] * 2, x.shape[0] / 2, torch.sym_max(x.shape[0], 3)


@program(rand(9, 3), rand(5, 3), rand(1, 3), shapes=({0: 2 * Dim("n", min=0, max=32) + 1},))
class derived_odd(nn.Module):
    def forward(self, x):
        return x[1::2] - x[:-1:2], x[x.shape[0] // 2], x.flip(0)


@program(rand(2, 3, 8, 8), rand(2, 3, 16, 8), shapes=({2: 4 * Dim("h", min=1, max=64)},))
class derived_size(nn.Module):
    def forward(self, x):
        return F.max_pool2d(x, 2), x.reshape(2, 3, x.shape[2] // 4, 4, 8).sum(3)


@program(rand(4, 3), rand(6, 3), rand(6, 3).abs(), -rand(2, 3).abs(), shapes=(N,))
class sizes_from_data(nn.Module):
    def forward(self, x):
        return x[x > 0], torch.nonzero(x), x[x[:, 0] > 0]


@program(Given(torch.tensor(3), rand(10, 2)), Given(torch.tensor(5), rand(10, 2)), Given(torch.tensor(0), rand(10, 2)))
class size_from_an_item(nn.Module):
    def forward(self, n, x):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= 10)
        return x[:k], torch.zeros(k) + k


@program(*[Given(torch.tensor(v), rand(3)) for v in (2.5, -1.0, 0.0)])
class floats_from_data(nn.Module):
    def forward(self, a, x):
        v = a.item()
        return x * v, x + v * 2, v, x * (v - 1) / 3


@program(rand(4, 3))
class constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.ones(3) * 2
        self.listed = [torch.ones(3), torch.zeros(3)]

    def forward(self, x):
        return x * self.plain + self.listed[0] + torch.tensor([1.0, 2.0, 3.0])


# ---- what is written ----

@program(rand(3, 4))
class input_is_written(nn.Module):
    def forward(self, x):
        x[0].mul_(2)
        x.view(-1).add_(1)
        return x + 1


@program(rand(2, 4))
class write_in_no_grad(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = x * 1
        with torch.enable_grad():
            z = self.fc(x)
            y[:, 1].add_(1)
        return z + y


@program(rand(5, 6))
class writes_through_views(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1:3].t()[2:4].fill_(7)
        y.diagonal().mul_(3)
        row = y.select(0, 4)
        y[y > 2] = -1
        row[::2].copy_(x[0, 3:])
        y.view(3, 10)[0] += 10
        return y, row


# ---- state ----

STATE = dict(tags=("state",))


class Buffer(nn.Module):
    def __init__(self, *shape, dtype=torch.float32):
        super().__init__()
        self.register_buffer("kept", torch.full(shape, 3, dtype=dtype))


@program(rand(3, 4), rand(3, 4, seed=1), rand(3, 4, seed=2), **STATE)
class sum_so_far(Buffer):
    def __init__(self):
        super().__init__(3, 4)

    def forward(self, x):
        self.kept.add_(x)
        return self.kept * 2


@program(rand(3, 4), rand(3, 4, seed=1), rand(3, 4, seed=2), **STATE)
class counter(Buffer):
    def __init__(self):
        super().__init__(dtype=torch.int64)

    def forward(self, x):
        self.kept += 1
        return x * self.kept


@program(rand(3, 4), rand(3, 4, seed=1), rand(3, 4, seed=2), **STATE)
class state_in_slices(Buffer):
    def __init__(self):
        super().__init__(5, 4)

    def forward(self, x):
        before = self.kept.sum(0)
        self.kept[1:4].copy_(x)
        self.kept[0, 1] = 7
        self.kept.t()[2].mul_(0.5)
        return before, self.kept.sum(0)


@program(Given(rand(1, 4), torch.tensor([0])), Given(rand(1, 4, seed=1), torch.tensor([2])), Given(rand(1, 4, seed=2), torch.tensor([1])), **STATE)
class cache_by_position(Buffer):
    def __init__(self):
        super().__init__(5, 4)

    def forward(self, x, at):
        self.kept.index_copy_(0, at, x)
        return self.kept @ x[0]


@program(rand(2, 4), rand(2, 4, seed=1), rand(2, 4, seed=2), **STATE)
class state_in_no_grad(Buffer):
    def __init__(self):
        super().__init__(4)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        with torch.no_grad():
            self.kept.lerp_(x.mean(0), 0.25)
        return (x - self.kept) * self.scale


# ---- higher-order operators ----

@program(rand(3, 4).abs(), -rand(3, 4).abs())
class cond_on_data(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.fc(x).sin(), lambda x: x.cos(), (x,))


@program(rand(3, 4), rand(7, 4), shapes=(N,))
class cond_on_a_size(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 5, lambda x: x.sin(), lambda x: x.cos(), (x,))


@program(rand(3, 4).abs(), -rand(7, 4).abs(), rand(1, 4), shapes=(N,))
class cond_gives_two(nn.Module):
    def forward(self, x):
        a, b = torch.cond(x.sum() > 0, lambda x: (x.sin(), x.sum(0)), lambda x: (x.cos(), x.mean(0)), (x,))
        return a + b


@program(rand(3, 4).abs(), -rand(3, 4).abs(), rand(3, 4) + 20)
class cond_in_cond(nn.Module):
    def forward(self, x):
        def inner(x):
            return torch.cond(x.sum() > 100, lambda x: x * 2, lambda x: x - 1, (x,))
        return torch.cond(x.sum() > 0, inner, lambda x: x.cos(), (x,))


@program(Given(torch.tensor(3), rand(3, 4)), Given(torch.tensor(0), rand(3, 4)))
class while_counts(nn.Module):
    def forward(self, n, x):
        return while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, y * 1.5 + 1), (n, x))


@program(Given(rand(3), rand(3, seed=1)), Given(rand(3) + 4, rand(3)))
class while_on_data(nn.Module):
    def forward(self, x, step):
        return while_loop(lambda i, a: a.sum() < 9, lambda i, a: (i + 1, a + step.abs() + 0.5), (torch.tensor(0), x))


@program(Given(rand(3), rand(5, 3)))
class scan_of_five(nn.Module):
    def forward(self, start, xs):
        return scan(lambda c, x: (c + x, c * x), start, xs)


@program(Given(rand(3), rand(5, 3)), Given(rand(3), rand(8, 3)), Given(rand(3), rand(1, 3)), shapes=(None, N))
class scan_of_any_length(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, start, xs):
        def step(c, x):
            h = torch.tanh(self.fc(c) + x)
            return h, (h * 2, c.sum())
        return scan(step, start, xs, reverse=True)


def mapped(f, xs, *others):
    from functorch.experimental.control_flow import map as control_flow_map
    return control_flow_map(f, xs, *others)


@program(Given(rand(5, 3), rand(3)))
class map_of_five(nn.Module):
    def forward(self, xs, y):
        return mapped(lambda x, y: x * y + 1, xs, y)


@program(Given(rand(5, 3), rand(3)), Given(rand(7, 3), rand(3)), Given(rand(1, 3), rand(3)), shapes=(N, None))
class map_of_any_length(nn.Module):
    def forward(self, xs, y):
        return mapped(lambda x, y: (x * y).cumsum(0), xs, y)


@program(rand(5, 3), forms=("pt2.aten", "pt2.dec"))
class associative(nn.Module):
    def forward(self, xs):
        return associative_scan(lambda a, b: a + b, xs, 0, combine_mode="generic")


@program(rand(4, 3))
class mapped_by_vmap(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row.sum() * row)(x)


@program(Given(rand(4, 3), rand(5, 3)), Given(rand(2, 3), rand(3, 3)), shapes=({0: Dim("n", min=0)}, {0: Dim("m", min=0)}))
class vmap_in_vmap(nn.Module):
    """As masks of transformers are made: each with each."""
    def forward(self, x, y):
        return torch.vmap(torch.vmap(lambda a, b: (a - b).abs().sum(), in_dims=(None, 0)), in_dims=(0, None))(x, y)


@getattr(torch.compiler, "nested_compile_region", lambda function: function)           # torch 2.8 has it
def region(x):
    return x.sin() + 1


@program(rand(4, 3))
class compile_regions(nn.Module):
    def forward(self, x):
        return region(region(x))


# ---- regions of another precision ----

class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.other = nn.Linear(4, 4)


@program(rand(2, 4), tags=("bfloat16",))
class autocast_on(Mixed):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.fc(x)
            z = F.mse_loss(y, x)
            w = torch.relu(y) @ x.t()
            v = torch.cat([y, x]) + 1
            with torch.autocast("cpu", enabled=False):
                off = self.fc(x)
            with torch.autocast("cpu", dtype=torch.float16):
                half = self.other(y)
        return y.float(), z, w.float(), v, off, half.float()


@program(rand(2, 3, 8, 8), tags=("bfloat16",))
class autocast_of_a_network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.fc = nn.Linear(36, 5)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.max_pool2d(torch.relu(self.conv(x)), 2).flatten(2)
            q = F.scaled_dot_product_attention(y[:, None], y[:, None], y[:, None]).squeeze(1)
            out = self.fc(F.pad(q.transpose(1, 2), (0, 0))[:, :, :4].reshape(2, -1))
        return torch.softmax(out.float(), -1)


@program(rand(2, 4))
class autocast_off(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return self.fc(x)
