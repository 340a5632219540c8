"""Values and inputs of a Union: `isinstance` finds out which of its types one has, as layers for sparse and dense graphs do."""
from typing import List, Optional, Tuple, Union

import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, same, save


@torch.jit.script
class RowTensor:
    """A class whose name ends as Tensor's does, and that a Tensor is not."""
    def __init__(self, rows: Tensor):
        self.rows = rows

    def total(self) -> Tensor:
        return self.rows.sum(0)


def total(x: Union[Tensor, RowTensor]) -> Tensor:
    if isinstance(x, RowTensor):
        return x.total() + 1
    return x * 2


class OfAClass(nn.Module):
    def forward(self, x):
        return total(x), total(RowTensor(x))


class Takes(nn.Module):
    """What a graph layer of PyTorch Geometric takes: features, or those of both sides; edges, or a sparse tensor."""
    def forward(self, x: Union[Tensor, Tuple[Tensor, Optional[Tensor]]], edges: Union[Tensor, RowTensor], scale: Union[int, List[int], None] = None):
        if isinstance(x, Tensor):
            x = (x, x)
        left, right = x[0], x[1]
        y = total(edges).sum() + left.sum(0)
        if right is not None:
            y = y - right.mean(0)
        if isinstance(scale, int):
            y = y * scale
        elif scale is not None:
            y = y + len(scale) + scale[0]
        return y


def test_a_class_is_not_a_tensor_for_its_name(tmp_path):
    done, _ = same(OfAClass(), tmp_path, [(torch.rand(3, 4),)], "-i", "x:float32[N,4]")
    assert not done.stderr


EDGES = ("-i", "edges:float32[M,3]")
A, B, E = torch.rand(4, 3), torch.rand(5, 3), torch.rand(6, 3)


@pytest.mark.parametrize("args,options", [
    ((A, E), ("-i", "x:float32[N,3]")),
    (((A, B), E), ("-i", "x.0:float32[N,3]", "-i", "x.1:float32[K,3]")),
    (((A, None), E), ("-i", "x.0:float32[N,3]", "-i", "x.1=None")),
    ((A, E, 3), ("-i", "x:float32[N,3]", "-i", "scale=3")),
    ((A, E, None), ("-i", "x:float32[N,3]", "-i", "scale=None")),
], ids=["tensor", "tuple", "part", "int", "none"])
def test_an_input_is_what_is_given(args, options, tmp_path):
    path, out = save(Takes(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, *options, *EDGES)
    with torch.jit.optimized_execution(False):
        wanted = torch.jit.load(str(path))(*args)
    tensors = [t.numpy() for a in args for t in (a if isinstance(a, tuple) else (a,)) if isinstance(t, Tensor)]
    oracle.run(out, [(tensors, [wanted.numpy()])])


def test_nothing_given_is_a_tensor(tmp_path):
    """As an input without a type is; that is said."""
    assert "assumed: x is float32[?]" in refused(Takes(), tmp_path, *EDGES)


def test_a_value_that_no_type_of_it_has(tmp_path):
    done = oracle.convert(save(Takes(), tmp_path), tmp_path / "model.onnx", "-i", "x=3", *EDGES)
    assert done.returncode == 2 and "x is a tensor: give its type and sizes" in done.stderr, done.stderr


class TakesRows(nn.Module):
    def forward(self, x: RowTensor):
        return x.total()


def test_a_class_is_no_input(tmp_path):
    assert "the input x has type __torch__" in refused(TakesRows(), tmp_path, "-i", "x:float32[N,4]")
