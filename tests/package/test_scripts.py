"""Arguments of scripted programs: which parameter each is for, by the program's schema."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch

import pt2onnx
from helpers import agrees, checked, dims, exported, names

ROWS = torch.randn(2, 3)


class Steps(torch.nn.Module):
    def forward(self, x, n: int = 2, y: Optional[torch.Tensor] = None):
        for i in range(n):
            x = x + i
        return x if y is None else x * y


class Keys(torch.nn.Module):
    def forward(self, d: Dict[str, torch.Tensor]):
        return d["a"] - d["b"]


class Only(torch.nn.Module):
    def forward(self, xs: List[torch.Tensor], *, scale: float):
        return xs[0] * scale


class Pair(NamedTuple):
    p: torch.Tensor
    q: torch.Tensor


class Named(torch.nn.Module):
    def forward(self, pair: Pair):
        return pair.p - pair.q


class MaybeUnnamed(torch.nn.Module):
    def forward(self, pair: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
        return torch.zeros(2, 3) if pair is None else pair[0] - pair[1]


class MaybeInts(torch.nn.Module):
    def forward(self, x, items: Optional[List[int]] = None):
        return x if items is None else x * items[0] + items[1]


class MaybeFloats(torch.nn.Module):
    def forward(self, x, items: Optional[List[float]] = None):
        return x if items is None else x * items[0] + items[1]


class MaybeBools(torch.nn.Module):
    def forward(self, x, items: Optional[List[bool]] = None):
        return x if items is None else x * (2 if items[0] else 3) + (1 if items[1] else 4)


class Unnamed(torch.nn.Module):
    def forward(self, pair: Tuple[torch.Tensor, torch.Tensor]):
        return pair[0] - pair[1]


def scripted(cls):
    return torch.jit.script(cls())


@pytest.mark.parametrize("args, kwargs, inputs", [
    ((ROWS, {"n": 3}), None, ["x", "n"]),
    ((ROWS, {"y": ROWS}), None, ["x", "y"]),
    ((ROWS, {}), None, ["x"]),
    ({"x": ROWS}, None, ["x"]),
    ((ROWS,), {"y": ROWS, "n": 1}, ["x", "n", "y"]),
    ((ROWS, 2, None), None, ["x", "n"]),
])
def test_arguments_by_place_and_by_name(args, kwargs, inputs):
    assert names(checked(scripted(Steps), args, kwargs=kwargs, verify=True).graph.input) == inputs


def test_names_go_by_the_order_of_the_program():
    model = checked(scripted(Steps), (ROWS,), kwargs={"y": ROWS, "n": 1}, input_names=["a", "b", "c"], verify=True)
    assert [(v.name, v.type.tensor_type.elem_type) for v in model.graph.input] == [("a", 1), ("b", 7), ("c", 1)]


def test_a_dict_that_forward_takes():
    d = {"a": ROWS, "b": ROWS + 1}
    for args in (d, (d,), (d, {}), ({"d": d},)):
        assert names(checked(scripted(Keys), args, verify=True).graph.input) == ["d.a", "d.b"]


@pytest.mark.parametrize("cls, want", [(Named, ["pair.p", "pair.q"]), (Unnamed, ["pair.0", "pair.1"]), (MaybeUnnamed, ["pair.0", "pair.1"])])
def test_a_named_tuple(cls, want):
    assert names(checked(scripted(cls), (Pair(ROWS, ROWS + 1),), verify=True).graph.input) == want


@pytest.mark.parametrize("cls, first, second", [(MaybeInts, [1, 2], [4, 5]), (MaybeFloats, [1.5, 2.0], [4.0, 5.5]), (MaybeBools, [True, False], [False, True])])
@pytest.mark.parametrize("given", [[], ["p", "q"]])
def test_a_list_of_numbers_that_may_be_none(cls, first, second, given):
    """It is one input, as one that may not be None is."""
    net = scripted(cls)
    result = pt2onnx.export(net, (ROWS, first), input_names=given, verify=True)
    assert result.input_names == (given or ["x", "items"])
    torch.testing.assert_close(result(ROWS, second)[0], net(ROWS, second))
    assert pt2onnx.export(net, (ROWS, None), verify=True).input_names == ["x"]


@pytest.mark.parametrize("name, want", [("größe", "gr_f6_dfe"), ("batch size", "batch_size")])
def test_names_of_sizes_are_spelled_alike_everywhere(name, want):
    model = checked(scripted(Steps), (ROWS,), input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: name}, "y": {0: name}})
    assert dims(model.graph.input[0]) == dims(model.graph.output[0]) == [want, 3]


def test_keyword_only_arguments():
    model = checked(scripted(Only), ([ROWS],), kwargs={"scale": 3.0}, verify=True)
    assert names(model.graph.input) == ["xs.0", "scale"]


class Mode(torch.nn.Module):
    def forward(self, x, mode: str):
        return x + len(mode) if mode.startswith("a") else x


@pytest.mark.parametrize("text", ["a", "", 'a"b', "a\\", "a=b,c", "a'\n", "'", "ä"])
def test_texts_are_constants(text):
    agrees(checked(scripted(Mode), (ROWS, text), verify=True), lambda x: Mode()(x, text), ROWS)


@pytest.mark.parametrize("args, kwargs, text", [
    ((ROWS, 1, None, 4), None, "forward takes 3 arguments, 4 were given"),
    ((ROWS,), {"z": 1}, "forward has no argument z, only x, n, y"),
    ((ROWS,), {"x": ROWS}, "forward is given the argument x twice"),
    ((), {"n": 1}, "forward is missing an argument: 'x'"),
    ((), None, "forward is missing an argument: 'x'"),
])
def test_what_forward_does_not_take_is_refused(args, kwargs, text):
    with pytest.raises(TypeError, match=text):
        checked(scripted(Steps), args, kwargs=kwargs, input_names=["x"])


def test_a_function_of_tensors():
    @torch.jit.script
    def product(x, y):
        return x * y
    agrees(checked(product, (ROWS, {"y": ROWS})), product, ROWS, ROWS)
    with pytest.raises(TypeError, match="product takes 2 arguments, 3 were given"):
        checked(product, (ROWS, ROWS, ROWS))


@torch.jit.script
def with_defaults(x, n: int = 3, scale: float = 0.5, name: str = "up", back: bool = True, none: Optional[torch.Tensor] = None):
    if none is not None:
        x = x + none
    y = x * n * scale if name == "up" else x
    return -y if back else y


def test_defaults_of_a_scripted_function():
    agrees(exported(with_defaults, (ROWS,)), with_defaults, ROWS)
    agrees(exported(with_defaults, (ROWS,), kwargs={"name": "down"}), lambda x: with_defaults(x, name="down"), ROWS)


class Holds(torch.nn.Module):
    """Calls a script, beside a layer of its own and with a number."""

    def __init__(self, script):
        super().__init__()
        self.linear, self.script = torch.nn.Linear(3, 3), script

    def forward(self, x, n=2):
        return {"y": self.script(self.linear(x)) * n}


class Rows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))

    def forward(self, x):
        for i in range(x.size(0)):
            x = x + i * self.w
        return x


@pytest.mark.parametrize("make", [lambda: torch.jit.script(Rows()), lambda: torch.jit.trace(torch.nn.Linear(3, 3), ROWS), lambda: torch.jit.script(torch.nn.ReLU())],
                         ids=["scripted", "traced", "without weights"])
def test_a_script_inside_of_a_module(make):
    """torch.onnx refuses it: 'Tried to trace .. but it is not part of the active trace'."""
    net = Holds(make())
    model = exported(net, (ROWS,), verify=True, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    agrees(model, net, torch.randn(5, 3), torch.tensor(3))
    result = pt2onnx.export(net, (ROWS, 4))
    torch.testing.assert_close(result(ROWS)[0], net(ROWS)["y"].detach())                # 2, which forward has for itself


class Takes(torch.nn.Module):
    """Arguments that are None, by any number of places, and by name only."""

    def __init__(self):
        super().__init__()
        self.linear, self.script = torch.nn.Linear(3, 3), torch.jit.script(Rows())

    def forward(self, x, mask=None, *more, bias=None, scale=1):
        y = self.script(self.linear(x)) * scale
        for t in (mask, bias, *more):
            y = y if t is None else y + t
        return y


@pytest.mark.parametrize("args, keywords, inputs", [
    ((ROWS,), {"bias": ROWS}, ["x", "bias"]),
    ((ROWS,), {"scale": 3, "mask": ROWS}, ["x", "mask", "scale"]),
    ((ROWS, None), {"bias": ROWS, "scale": 3}, ["x", "bias", "scale"]),
    ((ROWS, None, ROWS, 2), {"bias": None}, ["x", "argument_3", "argument_4"]),
], ids=["keyword", "number", "None", "any number"])
def test_how_arguments_reach_a_module_that_calls_a_script(args, keywords, inputs):
    net = Takes()
    before = dict(vars(net))
    result = pt2onnx.export(net, args, kwargs=keywords, verify=True)
    assert result.input_names == inputs and vars(net) == before
    torch.testing.assert_close(result(*args, **keywords)[0], net(*args, **keywords).detach())


def test_a_method_of_a_script_is_refused():
    class Two(torch.nn.Module):
        def forward(self, x):
            return x

        @torch.jit.export
        def doubled(self, x):
            return x * 2
    net = torch.jit.script(Two())
    with pytest.raises(TypeError, match="is of type ScriptMethod: a method of a ScriptModule; call it in the forward of a module"):
        exported(net.doubled, (ROWS,))
