"""Lists of numbers among the arguments of a user's rule: the rule has every item, or the call is refused by name."""
from typing import List, Union

import pytest
import torch
from torch import nn

from scripted import oracle, refused, save, same

LIBRARY = torch.library.Library("lists", "DEF")
for schema, fn in [("floats(Tensor x, float[] by) -> Tensor", lambda x, by: x * torch.tensor(by)),
                   ("numbers(Tensor x, Scalar[] by) -> Tensor", lambda x, by: x * torch.tensor(by).to(x.dtype)),
                   ("bools(Tensor x, bool[] by) -> Tensor", lambda x, by: x * torch.tensor(by)),
                   ("words(Tensor x, str[] by) -> Tensor", lambda x, by: x * len(by)),
                   ("number(Tensor x, Scalar by) -> Tensor", lambda x, by: x * by.real)]:
    LIBRARY.define(schema)
    LIBRARY.impl(schema.split("(")[0], fn, "CompositeExplicitAutograd")

RULES = """\
lists::floats(Tensor x, float[] by) -> Tensor
lists::numbers(Tensor x, Scalar[] by) -> Tensor
lists::bools(Tensor x, bool[] by) -> Tensor
    = Mul(x, Cast<to=1>(by))
lists::words(Tensor x, str[] by) -> Tensor
    = my::Words<by=by>(x) as x
lists::number(Tensor x, Scalar by) -> Tensor
    = my::Number<by=by>(x) as x
"""
Number = Union[int, float, complex]
X = torch.tensor([1.0, 2.0, 3.0])


class Floats(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.floats(x, [0.5, 2.0, -1.5])


class FloatsOfTheRun(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.floats(x, [0.5, float(x[1].item()), float(x.size(0))])


class Numbers(nn.Module):
    def forward(self, x: torch.Tensor):
        mixed: List[Number] = [0.5, 2, -1.5]
        ints: List[Number] = [1, 2, 3]
        return torch.ops.lists.numbers(x, mixed), torch.ops.lists.numbers(x, ints)


class NumbersOfTheRun(nn.Module):
    def forward(self, x: torch.Tensor):
        by: List[Number] = [float(x[0].item()), 2, -1.5]
        return torch.ops.lists.numbers(x, by)


class Bools(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.bools(x, [True, False, True])


@pytest.mark.parametrize("module", [Floats, FloatsOfTheRun, Numbers, NumbersOfTheRun, Bools])
def test_a_rule_has_every_item(module, tmp_path):
    (tmp_path / "my.rules").write_text(RULES)
    same(module(), tmp_path, [(X,), (X * 2 - 1,)], "-i", "x:float32[N=1..3]", "--rules", str(tmp_path / "my.rules"))


class Words(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.words(x, ["a", "b"])


class BoolsOfTheRun(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.bools(x, [True, bool(x.sum() > 0), True])


class Complex(nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.ops.lists.number(x, 2 + 1j)


@pytest.mark.parametrize("module, what", [(Words, "a list of other things than numbers"), (BoolsOfTheRun, "a list of other things than numbers"),
                                          (Complex, "a complex number")])
def test_what_a_rule_cannot_take_is_named(module, what, tmp_path):
    (tmp_path / "my.rules").write_text(RULES)
    said = refused(module(), tmp_path, "-i", "x:float32[3]", "--rules", str(tmp_path / "my.rules"))
    assert "its rule cannot take what argument by is: " + what in said
