"""Parts of an axis whose size only the running model knows: the unsafe_ and _copy forms of unbind, chunk and split, and tensor_split into an dynamic number of parts."""
import onnx
import pytest
import torch
from torch import nn

from scripted import oracle, refused, same, save

OPEN = ("-i", "x:float32[N,3]")
RUNS = [(torch.randn(n, 3),) for n in (4, 5, 3, 6)]


class Unbound(nn.Module):
    def forward(self, x):
        total = torch.zeros(3)
        for row in torch.unbind_copy(x, 0):
            total = total + row
        return total, torch.stack(torch.unbind_copy(x.t(), 1)), torch.unbind_copy(x, 0)[-1], len(torch.unbind_copy(x, 0))


class Chunks(nn.Module):
    def forward(self, x):
        parts = torch.unsafe_chunk(x, 2, 0)
        return parts[0], torch.cat(parts), len(parts)


class Splits(nn.Module):
    def forward(self, x):
        a, b = torch.unsafe_split(x, 2, 0), torch.split_copy(x.t(), 2, -1)
        sums = torch.zeros(1)
        for part in a:
            sums = sums * 2 + part.sum()
        return sums, a[0], b[1], torch.cat(b, 1), len(a) + len(b)


class Even(nn.Module):
    def forward(self, x):
        each = torch.tensor_split(x, x.size(0), 0)
        some = torch.tensor_split(x.t(), x.size(0) - 2, -1)
        return torch.stack(each), some[0], len(some), torch.cat(some, 1)


class MoreThanThere(nn.Module):
    def forward(self, x):
        parts = torch.tensor_split(x, x.size(0) + 2, 0)
        return parts[0], parts[-1], len(parts)


@pytest.mark.parametrize("module", [Unbound, Chunks, Splits, Even, MoreThanThere])
@pytest.mark.parametrize("opset", ["11", "18"])
def test_as_lists(module, opset, tmp_path):
    same(module(), tmp_path, RUNS, *OPEN, "--opset", opset)


class Taken(nn.Module):
    def forward(self, x):
        a, b = torch.unsafe_chunk(x, 2, 0)
        c, d = torch.split_copy(x, 2, 0)
        return a, b, c, d


def test_taken_apart(tmp_path):
    done, _ = same(Taken(), tmp_path, [(torch.randn(n, 3),) for n in (4, 3)], *OPEN)
    assert "2 when the model runs, as many as the program takes" in done.stderr


class Copies(nn.Module):
    """What a copy is written to, its argument does not see."""
    def forward(self, x):
        y = x * 1
        a, b = torch.split_copy(y, 2, 0)
        a.add_(1)
        return y, a, b


def test_a_copy_is_written(tmp_path):
    same(Copies(), tmp_path, [(torch.randn(4, 3),)], *OPEN)


class Shared(nn.Module):
    def forward(self, x):
        y = x * 1
        parts = torch.tensor_split(y, x.size(0) - 2, 0)
        parts[0].add_(1)
        return y


def test_a_part_of_an_open_number_is_written(tmp_path):
    assert "written" in refused(Shared(), tmp_path, *OPEN)


class Last(nn.Module):
    def forward(self, x):
        return torch.split(x.t(), 2, 1)[1]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_parts_of_a_type_that_onnx_runtime_does_not_split(dtype, tmp_path):
    """It has no SplitToSequence for them, and a sequence has no cast: the file is valid, and a note says who cannot run it."""
    path, out = save(Last(), tmp_path), tmp_path / "model.onnx"
    done = oracle.converted(path, out, "-i", "x:%s[N,3]" % dtype)
    assert "another runtime than ONNX Runtime, which has no SplitToSequence for %s" % dtype in done.stderr
    onnx.checker.check_model(str(out), full_check=True)
