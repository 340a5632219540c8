"""export_modules_as_functions: calls of modules as functions of the model; every model runs in ONNX Runtime against torch."""
import onnx
import pytest
import torch
from helpers import agrees, checked, exported, ops
from torch import nn


class Block(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.fc, self.act = nn.Linear(width, out), nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x))


class Scaled(nn.Module):
    """Its constant lies in its function."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return torch.sin(x) * self.factor


class Net(nn.Module):
    """Two equal blocks, and one that is made of something else."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Block(4, 4), Block(4, 4), nn.Sequential(nn.Linear(4, 3), nn.Sigmoid())

    def forward(self, x):
        return self.c(self.b(self.a(x)))


X = torch.arange(8.0).reshape(2, 4) / 8 - 0.4


def converted(net, *inputs, **options):
    """What net becomes; it gives what net gives."""
    net.eval()
    model = checked(net, inputs, **{"opset_version": 15, "export_modules_as_functions": True, **options})
    agrees(model, net, *inputs)
    return model


def functions(model):
    """{name: its nodes}; of which domain each is, and that it knows the domains that it calls."""
    for f in model.functions:
        known = {o.domain: o.version for o in f.opset_import}
        assert known[""] == model.opset_import[0].version and {n.domain for n in f.node} <= set(known) and not f.attribute
    return {f.name: [n.op_type for n in f.node if n.op_type != "Constant"] for f in model.functions}


def calls(model, name):
    return [n for n in model.graph.node if n.op_type == name]


def test_all_modules():
    model = converted(Net(), X)
    assert ops(model) == ["Net"] and calls(model, "Net")[0].domain == __name__
    assert functions(model) == {"Linear": ["Gemm"], "ReLU": ["Relu"], "Block": ["Linear", "ReLU"], "Sigmoid": ["Sigmoid"],
                                "Sequential": ["Linear", "Sigmoid"], "Net": ["Block", "Block", "Sequential"]}
    assert {f.name: f.domain for f in model.functions}["Linear"] == "torch.nn.modules.linear"
    assert {o.domain: o.version for o in model.opset_import} == {"": 15, __name__: 1, **{"torch.nn.modules." + m: 1 for m in ("linear", "activation", "container")}}


@pytest.mark.parametrize("container", [set, list, tuple, frozenset])
def test_some_classes(container):
    model = converted(Net(), X, export_modules_as_functions=container([Block]), opset_version=17)
    assert ops(model) == ["Block", "Block", "Gemm", "Sigmoid"] and functions(model) == {"Block": ["Gemm", "Relu"]}
    assert [list(n.input)[1:] for n in calls(model, "Block")] == [["a.fc.weight", "a.fc.bias"], ["b.fc.weight", "b.fc.bias"]]
    assert list(model.functions[0].input)[1:] == ["fc.weight", "fc.bias"]
    assert [n.name for n in calls(model, "Block")] == ["/a/Block", "/b/Block"]


def test_none_of_them():
    for none in (False, None, set(), {nn.Conv2d}):
        model = converted(Net(), X, export_modules_as_functions=none)
        assert not model.functions and ops(model) == ["Gemm", "Relu", "Gemm", "Relu", "Gemm", "Sigmoid"]


def test_another_body_is_another_function():
    def net():
        return nn.Sequential(Scaled(2.0), Scaled(3.0), Scaled(2.0))
    model = converted(net(), X, export_modules_as_functions={Scaled})
    assert ops(model) == ["Scaled", "Scaled_1", "Scaled"] and functions(model) == {"Scaled": ["Sin", "Mul"], "Scaled_1": ["Sin", "Mul"]}


class Half(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x):
        return torch.cat([x, torch.full_like(x, self.value)])


def test_bodies_that_differ_in_a_filling_value_only():
    x = torch.zeros(2, 3, dtype=torch.float16)

    def net():
        return nn.Sequential(Half(2.0), Half(3.0))
    axes = {"x": {0: "n"}}
    model = converted(net(), x, export_modules_as_functions={Half}, input_names=["x"], dynamic_axes=axes)
    assert ops(model) == ["Half", "Half_1"]


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(torch.relu(self.fc(x))), self.fc(x)


def test_a_module_called_more_than_once():
    """Also with the same argument."""
    model = converted(Twice(), X, export_modules_as_functions={nn.Linear})
    assert sorted(ops(model)) == ["Linear", "Linear", "Linear", "Relu"]
    assert functions(model) == {"Linear": ["Gemm"]} and all(list(n.input)[1:] == ["fc.weight", "fc.bias"] for n in calls(model, "Linear"))


def test_nothing_is_joined_across_a_border():
    def net():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.ReLU())
    image = torch.ones(1, 3, 5, 5)
    assert ops(converted(net(), image, export_modules_as_functions=False)) == ["Conv", "Relu"]
    model = converted(net(), image, export_modules_as_functions={nn.Conv2d, nn.BatchNorm2d})
    assert ops(model) == ["Conv2d", "BatchNorm2d", "Relu"] and functions(model) == {"Conv2d": ["Conv"], "BatchNorm2d": ["BatchNormalization"]}
    model = converted(net(), image, export_modules_as_functions={nn.Sequential})
    assert functions(model) == {"Sequential": ["Conv", "Relu"]}         # inside of one they are


class Ends(nn.Module):
    """An input, a value of a module that only gives back what it gets, a constant and two results of one module as outputs."""

    def __init__(self):
        super().__init__()
        self.same, self.drop, self.norm = nn.Identity(), nn.Dropout(), nn.LSTM(4, 3)

    def forward(self, x):
        y, (h, _) = self.norm(x)
        return self.same(x), self.drop(y), h, torch.ones(2)


def test_outputs_of_the_model():
    x = torch.ones(2, 1, 4)
    model = converted(Ends(), x, output_names=["same", "y", "h", "ones"])
    assert [o.name for o in model.graph.output] == ["same", "y", "h", "ones"] and "LSTM" in functions(model)


@torch.jit.script
def grown(x, n: int):
    for _ in range(n):
        if bool(x.sum() > 3):
            x = x - 1
        else:
            x = x + x
    return x


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return grown(self.fc(x), x.size(0))


def test_a_body_with_branches():
    """Branches and bodies of loops see weights and values of their function only."""
    axes = {"x": {0: "n"}}
    model = converted(nn.Sequential(Loops()), X, export_modules_as_functions={Loops}, input_names=["x"], dynamic_axes=axes)
    assert functions(model) and ops(model) == ["Loops"]


def test_open_sizes_in_nested_modules():
    layer = dict(d_model=8, nhead=2, dim_feedforward=16, dropout=0.0)

    def net():
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2)
    x = torch.arange(80.0).reshape(5, 2, 8).sin()
    model = converted(net(), x, opset_version=17, input_names=["x"], dynamic_axes={"x": {0: "time", 1: "batch"}})
    assert ops(model)[-1:] == ["TransformerEncoder"] and {"MultiheadAttention", "LayerNorm", "Linear"} <= set(functions(model))


class Biased(nn.Module):
    """Its bias is computed from a weight while the file is written."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(507.0).reshape(169, 3).cos())
        self.register_buffer("index", (torch.arange(49)[:, None] + torch.arange(49) * 2).flatten())

    def forward(self, x):
        return x + self.table[self.index].view(49, 49, -1).permute(2, 0, 1).contiguous().unsqueeze(0)


def test_weights_that_are_computed():
    model = converted(nn.Sequential(Biased(), Biased()), torch.ones(2, 3, 49, 49), export_modules_as_functions={Biased})
    assert ops(model)[-2:] == ["Biased", "Biased"] and len(functions(model)) == 1


def test_names_of_torch_1_13_and_the_whole_text():
    model = converted(Net(), X, export_modules_as_functions={Block}, names="1.13", keep_initializers_as_inputs=True)
    assert functions(model) == {"Block": ["Gemm", "Relu"]} and "a.fc.weight" in [i.name for i in model.graph.input]


@pytest.mark.parametrize("options, error, text", [
    ({"export_modules_as_functions": True, "opset_version": 14}, ValueError, "opset_version 15"),
    ({"export_modules_as_functions": {"Block"}, "opset_version": 15}, RuntimeError, "only classes"),
    ({"export_modules_as_functions": 3, "opset_version": 15}, TypeError, "set of module classes"),
])
def test_what_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        exported(Net(), (X,), **options)


def test_a_scripted_model_is_refused():
    with pytest.raises(RuntimeError, match="needs a module that is traced"):
        exported(torch.jit.script(Net()), (X,), export_modules_as_functions=True, opset_version=15)


def test_the_same_bytes_each_time():
    one, two = (exported(net, (X,), export_modules_as_functions=True, opset_version=15) for net in [Net()] * 2)
    assert isinstance(one, onnx.ModelProto) and one.SerializeToString(deterministic=True) == two.SerializeToString(deterministic=True)
