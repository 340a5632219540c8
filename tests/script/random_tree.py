"""Programs as trees of statements, which random_programs.py can take parts away from, and what stands before each of them in its file."""

HEAD = """from typing import Dict, List, NamedTuple, Optional, Tuple
import math
import torch
from torch import Tensor

"""
CELL = """
class Cell:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n

    def push(self, u: Tensor, n: int):
        self.t = torch.maximum(self.t, u)
        self.n += n

    def write(self, n: int):
        self.t.add_(n)

    def get(self) -> Tensor:
        return self.t + self.n


class Box:
    def __init__(self, cell: Cell, ts: List[Tensor]):
        self.cell = cell
        self.ts = ts
        self.maybe: Optional[Cell] = None

    def swap(self, other: Cell) -> Cell:
        was = self.cell
        self.cell = other
        return was

    def fill(self, t: Tensor):
        self.ts.append(t)
        self.cell.t = self.ts[0]

"""
NAMED = """
class Named(NamedTuple):
    t: Tensor
    ts: List[Tensor]
    n: int


def grow(xs: List[Tensor], t: Tensor) -> List[Tensor]:
    xs.append(t)
    return xs


def longer(xs: List[Tensor], n: int) -> List[Tensor]:
    if len(xs) > n:
        return xs
    return xs + [xs[0] + 1]


def put(d: Dict[str, Tensor], k: str, t: Tensor) -> Tensor:
    was = t
    if k in d:
        was = d[k]
    d[k] = t
    return was


def bump(t: Tensor, n: int) -> Tensor:
    if n > 2:
        t.add_(n)
        return t
    return t + n


def count(n: int, most: int) -> int:
    i = 0
    while i < most:
        i += 2
        if i > n:
            return i
    return n

"""


class Block:
    """Headers with a body each: if and else, for, while, def."""
    def __init__(self, *parts):
        self.parts = [[head, body] for head, body in parts]

    def lines(self, indent):
        out = []
        for head, body in self.parts:
            first, *rest = head.split("\n")                # a while counts its iterations in what nobody takes away
            out += [indent + first] + [indent + "    " + line for line in rest]
            out += render(body, indent + "    ") or [indent + "    pass"]
        return out


def render(nodes, indent):
    out = []
    for node in nodes:
        out += [indent + node] if isinstance(node, str) else node.lines(indent)
    return out


class Seq:
    """Statements that belong together."""
    def __init__(self, nodes):
        self.nodes = nodes

    def lines(self, indent):
        return render(self.nodes, indent)


class Results:
    """What forward returns, wherever it does. `dropped`: what it does not, any more."""
    def __init__(self, items, dropped=None, more=()):
        self.items, self.more, self.dropped = items, list(more), set() if dropped is None else dropped

    def lines(self, indent):
        left = [t for t in self.items + self.more if t not in self.dropped]
        return [indent + "return " + ", ".join(left or ["x"])]


def source(tree, exported):
    lines = [HEAD, CELL, NAMED] if not exported else [HEAD, NAMED]
    lines += ["def orelse(o: Optional[Tensor], a: Tensor) -> Tensor:", "    if o is not None:", "        return o", "    return a", "", ""]
    lines += ["def total(rows: List[List[Tensor]]) -> Tensor:", "    out = rows[0][0] + 0", "    for row in rows:", "        for e in row:",
              "            out = out + e",
              "    return out", "", ""]
    lines += ["class Net(torch.nn.Module):"] + ["    on: Optional[Tensor]", ""] * (not exported) + ["    def __init__(self):", "        super().__init__()",
        '        self.register_buffer("s", torch.tensor([[1.0, 0.0, 2.0]] * 4))', "        self.k = 1"]
    if not exported:
        lines += ["        self.hs: List[Tensor] = [torch.ones(4, 3), torch.zeros(4, 3)]", "        self.hd: Dict[str, Tensor] = {'a': torch.ones(4, 3)}",
                  "        self.flag = False", "        self.f = 0.5",
                  "        self.on = None"]
    lines.append("")
    for function in tree:
        lines += function.lines("    ") + [""]
    return "\n".join(lines)
