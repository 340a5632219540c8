"""make_programs.py - the sources of the saved programs in this folder, and how they were saved: torch 1.13.1.

    python3 tests/programs/make_programs.py            writes NAME.pt and NAME.npz beside this file

NAME.npz holds runs as 0.in0, 0.out0, ..; its array "options" is what pt2onnx is told. tests/script/test_programs.py runs them."""
import inspect
import os
from typing import Dict, List

import numpy
import torch
from torch import Tensor, nn

torch.manual_seed(0)
HERE = os.path.dirname(os.path.abspath(__file__))


class IfOnTensor(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x * 2
        else:
            y = x - 1
        return y + x


class LoopCarries(nn.Module):
    def forward(self, x):
        h = torch.zeros(2)
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = torch.tanh(h * 0.5 + x[i])
            out.append(h)
        return torch.stack(out), h


class WritesThroughView(nn.Module):
    def forward(self, x):
        x = x + 0
        x[:, 1].add_(1)
        return x


class ReshapePair(nn.Module):
    def forward(self, x):
        a = x + 0
        y = a.reshape(-1)
        y.mul_(2)
        b = x + 0
        z = b.t().reshape(-1)
        z.mul_(3)
        return a, b


class SizesFlow(nn.Module):
    def forward(self, x):
        n = x.size(0)
        return x.view(n * 2, -1)


class Counter:
    def __init__(self, start: int):
        self.n = start

    def next(self) -> int:
        self.n += 1
        return self.n


class DictClassRaise(nn.Module):
    def forward(self, x, mode: str = "sum"):
        if x.dim() != 2:
            raise ValueError("expected a matrix")
        parts: Dict[str, Tensor] = {}
        count = Counter(1)
        for name in ["a", "b", "c"]:
            parts[name] = x * count.next()
        if mode == "sum":
            y = parts["a"] + parts["b"] + parts["c"]
        else:
            raise NotImplementedError(mode)
        return y, parts


class NeedsRank(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, x):
        return self.conv(torch.relu(x))


PROGRAMS = [
    ("if_on_tensor", IfOnTensor, ["-i", "x:float32[3]"], [(torch.rand(3),), (-torch.rand(3),)]),
    ("loop_carries", LoopCarries, ["-i", "x:float32[N,2]"], [(torch.randn(n, 2),) for n in (1, 2, 5)]),
    ("writes_through_view", WritesThroughView, ["-i", "x:float32[N,3]"], [(torch.rand(n, 3),) for n in (1, 4)]),
    ("reshape_pair", ReshapePair, ["-i", "x:float32[2,3]"], [(torch.rand(2, 3),)]),
    ("sizes_flow", SizesFlow, ["-i", "x:float32[N,4]"], [(torch.rand(n, 4),) for n in (1, 3)]),
    ("dict_class_raise", DictClassRaise, ["-i", "x:float32[N,2]"], [(torch.rand(n, 2),) for n in (1, 3)]),
    ("needs_rank", NeedsRank, [], [(torch.rand(2, 3, 5, 6),), (torch.rand(1, 3, 4, 4),)]),
]


def flat(value):
    if isinstance(value, Tensor):
        return [value.detach().numpy()]
    return [a for v in (value.values() if isinstance(value, dict) else value) for a in flat(v)]


def relative_sources():
    """The archives' debug records name this file; where the project lies is nobody's business."""
    where = inspect.getsourcefile
    inspect.getsourcefile = lambda o: os.path.basename(where(o))


def main():
    relative_sources()
    for name, kind, options, runs in PROGRAMS:
        module = kind().eval()
        torch.jit.save(torch.jit.script(module), os.path.join(HERE, name + ".pt"))
        arrays = {"options": numpy.array(options, dtype="U40")}
        for i, inputs in enumerate(runs):
            arrays.update({"%d.in%d" % (i, k): x.numpy().copy() for k, x in enumerate(inputs)})
            arrays.update({"%d.out%d" % (i, k): y for k, y in enumerate(flat(module(*inputs)))})
        numpy.savez_compressed(os.path.join(HERE, name + ".npz"), **arrays)


if __name__ == "__main__":
    main()
