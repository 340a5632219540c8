"""saved_values.pt, traced_tree.pt - every kind of value that a TorchScript archive can hold, and recorded inputs.

    python tests/programs/saved_values.py        with torch 2.13; the archives are committed

Debug records hold the paths of the machine that wrote them: they are written over, in the same length.
"""
import enum
import os
import sys
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Pair(NamedTuple):
    a: int
    b: float


class Leaf(torch.nn.Module):
    def forward(self, x):
        return x + 1


class Packed(torch.nn.Module):
    """Chooses its own state: doubled when saved, halved when loaded."""

    def __init__(self):
        super().__init__()
        self.count = 3

    @torch.jit.export
    def __getstate__(self):
        return self.count * 2, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[int, bool]):
        self.count = state[0] // 2
        self.training = state[1]

    def forward(self, x):
        return x + self.count


class Saved(torch.nn.Module):
    pair: Pair
    maybe: Optional[int]
    shapes: Dict[str, List[int]]

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(6.).view(2, 3))
        self.tied = self.w
        self.register_buffer("turned", torch.arange(6, dtype=torch.float64).view(2, 3).t())
        whole = torch.arange(8, dtype=torch.int64)
        self.register_buffer("front", whole[:5])
        self.register_buffer("back", whole[3:])
        self.pair = Pair(4, 2.5)
        self.maybe = None
        self.shapes = {"in": [1, 2], "out": [3]}
        self.color = Color.GREEN
        self.device = torch.device("cuda:1")
        self.z = 1.5 - 2j
        self.name = "h\u00e9 \"x\""
        self.flags = [True, False]
        self.children_ = torch.nn.ModuleList([Leaf(), Leaf()])
        self.names = torch.nn.ModuleDict({"for": Leaf()})
        self.packed = Packed()

    def forward(self, x, scale: float = 1.5, dims: Optional[List[int]] = None, mode: str = "a\tb"):
        for m in self.children_:
            x = m(x)
        return self.packed(self.names["for"](x)) * scale * self.w.sum() * len("\u00e9")


class Tree(torch.nn.Module):
    def forward(self, x, pair, d, xs):
        return x + pair[0] + d["a"] + xs[1].sum()


def forget_paths(path):
    """Debug records without the names of this machine's folders."""
    with zipfile.ZipFile(path) as z:
        records = [(name, z.read(name)) for name in z.namelist()]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in records:
            if name.endswith(".debug_pkl"):
                for folder, shown in (HERE, "/home/user/"), (sys.prefix, "/venv/"):
                    data = data.replace(folder.encode(), shown.ljust(len(folder), "-").encode()[:len(folder)])
            z.writestr(zipfile.ZipInfo(name), data)


def save(module, name):
    path = os.path.join(HERE, name)
    torch.jit.save(module, path)
    forget_paths(path)


if __name__ == "__main__":
    save(torch.jit.script(Saved().eval()), "saved_values.pt")
    example = (torch.ones(2, 3), (torch.ones(3), torch.ones(2, 1)), {"a": torch.ones(3)}, [torch.ones(2), torch.ones(2, dtype=torch.int64)])
    save(torch.jit.trace(Tree(), example, strict=False), "traced_tree.pt")
