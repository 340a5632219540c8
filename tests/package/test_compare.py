"""pt2onnx.compare: a mistake planted in any of the nodes of a model is found at its line of the user's source."""
import dataclasses
import os
import random
import subprocess
import sys
from typing import List, Optional

import numpy
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F

import pt2onnx
from helpers import TORCH_2
from pt2onnx.comparison.command import argument, main
from pt2onnx.comparison.matching import transposed
from pt2onnx.comparison.prints import Print
from pt2onnx.comparison.torch_run import Value

HERE = os.path.abspath(__file__)


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(4, 4, 3, padding=1), torch.nn.GroupNorm(2, 4)

    def forward(self, x):
        x = self.conv(x)
        return self.norm(x)


class Network(torch.nn.Module):
    """An operator a line, more than twenty of them."""

    def __init__(self):
        super().__init__()
        self.part, self.fc, self.out = Part(), torch.nn.Linear(16, 8), torch.nn.Linear(8, 5)
        self.last = torch.nn.LayerNorm(8)
        self.table = torch.nn.Embedding(10, 8)

    def forward(self, x, i):
        x = self.part(x)
        x = F.gelu(x)
        x = x + 0.3 * torch.sin(x)
        x = F.leaky_relu(x, 0.2)
        x = F.avg_pool2d(x, 3, 2, 1)
        x = F.interpolate(x, scale_factor=2.0, mode="bilinear")
        x = F.max_pool2d(x, 2)
        x = torch.sigmoid(x) * 3
        x = x.flatten(1).reshape(2, 4, 16)
        x = torch.cumsum(x, 1)
        x = self.fc(x)
        x = F.hardswish(x)
        x = x - x.mean(1, keepdim=True)
        x = x + self.table(i)
        x = self.last(x)
        x = F.elu(x, 0.7)
        x = x @ x.transpose(1, 2) @ x
        x = F.softplus(x)
        x = F.normalize(x, dim=2)
        x = torch.clamp(x, -0.8, 0.8)
        x = x.pow(1.5)
        x = torch.logsumexp(x, 2, keepdim=True) + x
        x = F.pad(x, (1, 0), value=0.25)[..., 1:]
        x = torch.tanh(self.out(x))
        return x.softmax(-1)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval(), (torch.randn(2, 4, 8, 8), torch.randint(0, 10, (2, 4)))


@pytest.fixture(scope="module")
def written(network, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("compare") / "net.onnx")
    pt2onnx.export(network[0], network[1], path, opset_version=17)
    return path


def said(node):
    return {p.key: p.value for p in node.metadata_props}


def planted(written, node_name):
    """The model with 1.02 * x + 0.03 * sin(9 * x) in place of what that node gives, or None where that is no float tensor."""
    model = onnx.load(written)
    graph = model.graph
    kinds = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    kinds.update((o.name, o.type.tensor_type.elem_type) for o in graph.output)
    at, node = next((i, n) for i, n in enumerate(graph.node) if n.name == node_name)
    name = node.output[0]
    if kinds.get(name) != onnx.TensorProto.FLOAT or node.op_type == "Constant":
        return None
    node.output[0] = name + "_right"
    for value, number in (("a", 1.02), ("b", 0.03), ("c", 9.0)):
        graph.initializer.append(onnx.helper.make_tensor("planted_" + value, onnx.TensorProto.FLOAT, [], [number]))
    more = [onnx.helper.make_node("Mul", [name + "_right", "planted_c"], [name + "_1"]), onnx.helper.make_node("Sin", [name + "_1"], [name + "_2"]),
            onnx.helper.make_node("Mul", [name + "_2", "planted_b"], [name + "_3"]), onnx.helper.make_node("Mul", [name + "_right", "planted_a"], [name + "_4"]),
            onnx.helper.make_node("Add", [name + "_3", name + "_4"], [name])]
    for k, n in enumerate(more):
        n.metadata_props.extend(node.metadata_props)
        graph.node.insert(at + 1 + k, n)
    return model


tells_places = pytest.mark.skipif(not hasattr(onnx.NodeProto(), "metadata_props"), reason="this onnx reads no metadata of nodes")


@tells_places
def test_a_right_model_is_called_right(network, written):
    found = pt2onnx.compare(*network, written)
    assert found.ok and found.why == "same" and found.first is None, str(found)
    assert found.confirmed > 0.6 * found.nodes, str(found)
    assert {"part.conv", "part.norm", "fc", "out"} <= set(found.modules) and found.modules["fc"][1] > 0


@tells_places
def test_a_mistake_in_any_node_is_found_at_its_line(network, written, tmp_path):
    """Of each line the last node, one after another."""
    nodes = list({said(n)["pt2onnx.source"]: n for n in onnx.load(written).graph.node if "pt2onnx.source" in said(n)}.values())
    lines, missed = set(), []
    for node in nodes:
        model = planted(written, node.name)
        if model is None:
            continue
        path = str(tmp_path / "planted.onnx")
        onnx.save(model, path)
        found = pt2onnx.compare(*network, path, times=False)
        place = said(node)["pt2onnx.source"].rpartition("/")[2]
        if found.why != "part" or found.first.line.rpartition("/")[2] != place:
            missed.append("%s at %s: %s" % (node.name, place, found))
        lines.add(place)
    assert not missed, "%d of %d missed\n%s" % (len(missed), len(lines), "\n".join(missed))
    assert len(lines) >= 20, sorted(lines)


@tells_places
@pytest.mark.parametrize("op, change", [("Elu", ("alpha", 1.0)), ("LeakyRelu", ("alpha", 0.01)), ("LayerNormalization", ("epsilon", 1e-2)), ("AveragePool", ("count_include_pad", 0)),
                                        ("Resize", ("mode", b"nearest")), ("CumSum", ("reverse", 1)), ("Softmax", ("axis", 1))])
def test_a_wrong_attribute_is_found(network, written, tmp_path, op, change):
    model = onnx.load(written)
    node = next(n for n in model.graph.node if n.op_type == op)
    kept = [a for a in node.attribute if a.name != change[0]]
    del node.attribute[:]
    node.attribute.extend(kept + [onnx.helper.make_attribute(*change)])
    onnx.save(model, str(tmp_path / "net.onnx"))
    found = pt2onnx.compare(*network, str(tmp_path / "net.onnx"), times=False)
    assert found.why == "part" and found.first.line == said(node)["pt2onnx.source"] and found.first.op == op, str(found)
    assert found.first.error > 0 and len(found.first.got) == len(found.first.want) > 0
    assert os.path.basename(HERE) in str(found) and found.first.node == node.name


def test_what_onnx_runtimes_optimiser_changes_is_said_to_be_its(tmp_path):
    """MatmulTransposeFusion of ONNX Runtime (1.16 to 1.32) takes a vector for a matrix."""
    from onnx import TensorProto, helper
    class Product(torch.nn.Module):
        def forward(self, x, v):
            return x.transpose(1, 2) @ v
    f = TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["t", "v"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", f, [2, 3, 4]), helper.make_tensor_value_info("v", f, [3])],
                              [helper.make_tensor_value_info("y", f, [2, 4])])
    path = str(tmp_path / "net.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    args = (torch.randn(2, 3, 4), torch.randn(3))
    found = pt2onnx.compare(Product(), args, path)
    if found.ok:
        pytest.skip("this ONNX Runtime (%s) has mended it" % onnxruntime.__version__)
    assert found.why == "optimiser" and "optimiser" in str(found), str(found)


def test_what_float32_itself_does_is_said_to_be_its(tmp_path):
    """A variance as the difference of two large numbers: any order of adding gives other digits."""
    class Cancels(torch.nn.Module):
        def forward(self, x):
            return (x * x).mean(-1) - x.mean(-1) ** 2
    path = str(tmp_path / "net.onnx")
    torch.manual_seed(1)
    args = torch.rand(4, 1000) + 1000
    pt2onnx.export(Cancels(), (args,), path, opset_version=17)
    found = pt2onnx.compare(Cancels(), args, path)
    assert found.why in ("same", "float32"), str(found)
    assert found.outputs[0].noise > 0.1 * found.outputs[0].want.scale, "this example does not cancel"


def with_package():
    """The environment of a process that finds pt2onnx where it is, installed or not."""
    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(pt2onnx.__file__))}


def test_the_command(network, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("import torch\nclass M(torch.nn.Module):\n    def forward(self, x, k: int = 2):\n        y = x * k\n        return torch.relu(y)\ndef build():\n    return M()\n")
    env = with_package()
    page = tmp_path / "page.html"
    done = subprocess.run([sys.executable, "-m", "pt2onnx", "compare", "%s:build" % script, "float32[2,3]", "--html", str(page)], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "gives what torch gives" in done.stdout, done.stdout + done.stderr
    assert "<svg" in page.read_text()
    saved, net = str(tmp_path / "m.pt"), str(tmp_path / "m.onnx")
    torch.jit.save(torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ELU()), torch.rand(2, 3)), saved)
    pt2onnx.convert(saved, net, inputs=["x:float32[2,3]"])
    model = onnx.load(net)
    node = next(n for n in model.graph.node if n.op_type == "Elu")
    node.attribute.append(onnx.helper.make_attribute("alpha", 0.5)) if not node.attribute else setattr(node.attribute[0], "f", 0.5)
    onnx.save(model, net)
    done = subprocess.run([sys.executable, "-m", "pt2onnx", "compare", saved, net], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "first place where they part" in done.stdout and "(Elu)" in done.stdout, done.stdout + done.stderr
    done = subprocess.run([sys.executable, "-m", "pt2onnx", "compare", "%s:nothing" % script], env=env, capture_output=True, text=True)
    assert done.returncode == 2 and "has no nothing" in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run([sys.executable, "-m", "pt2onnx", "compare", str(script)], env=env, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.strip() == "pt2onnx: %s: which function gives the model? %s:FUNCTION" % (script, script)


@pytest.mark.parametrize("what, arguments, text", [
    ("module", [], "forward takes x: write them behind it"),
    ("module", ["float33[2,4]"], "float33[2,4]: torch has no type float33"),
    ("number", [], "number gives an object of type int, where a module"),
    ("three", [], "three gives an object of type tuple, where a module"),
    ("of_no_module", [], "of_no_module gives an object of type tuple"),
    ("module", ["float32[2,3]", "2", "3"], "positional arguments but 4 were given"),
    ("module", ["float32[2,3]", "--html", "nodir/page.html"], "nodir/page.html: there is no folder nodir"),
    ("module", ["float32[2,3]", "--html", "."], ".: this is a folder"),
    ("module", ["complex64[3]=0..1"], "complex64[3]=0..1: complex numbers have no range"),
    ("module", ["int64[3]=5..2"], "int64[3]=5..2: 5 is more than 2"),
])
def test_what_the_command_cannot_take_is_one_line(what, arguments, text, tmp_path, capsys):
    script = tmp_path / "given.py"
    script.write_text("import torch\nclass One(torch.nn.Module):\n    def forward(self, x, k=2):\n        return x * k\ndef module():\n    return One()\n"
                      "number = 7\ndef three():\n    return 1, 2, 3\ndef of_no_module():\n    return {}, torch.ones(2)\n")
    assert main(["-q", "%s:%s" % (script, what), *arguments]) == 2
    said = capsys.readouterr().err
    assert text in said and said.startswith("pt2onnx: ") and said.count("\n") == 1


@pytest.mark.parametrize("name", ["x.npy", "x.pt", "m.pt", "m.pt2"][:3 + TORCH_2])
@pytest.mark.parametrize("bytes_", [b"", b"no such file\n"], ids=["empty", "text"])
def test_a_file_that_is_none_of_its_kind_is_named(name, bytes_, tmp_path, capsys):
    (tmp_path / name).write_bytes(bytes_)
    script = tmp_path / "given.py"
    script.write_text("import torch\ndef build():\n    return torch.nn.ReLU()\n")
    given = [str(tmp_path / name)] if name.startswith("m.") else ["%s:build" % script, str(tmp_path / name)]
    assert main(["-q", *given]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("pt2onnx: %s cannot be read: " % (tmp_path / name))


def test_a_file_of_the_users_is_a_module(tmp_path, capsys):
    """dataclasses and pickle look for it by its name."""
    script = tmp_path / "with_dataclass.py"
    script.write_text("from __future__ import annotations\nimport dataclasses, pickle, torch\n@dataclasses.dataclass\nclass Config:\n    n: int = 3\n"
                      "def build():\n    return torch.nn.Linear(pickle.loads(pickle.dumps(Config())).n, 2)\n")
    path = list(sys.path)
    try:
        assert main(["-q", "--no-times", "%s:build" % script, "float32[2,3]"]) == 0
    finally:
        sys.path[:] = path
        sys.modules.pop("with_dataclass", None)


@pytest.mark.parametrize("text, kind, least, most", [
    ("float32[1000]=0..1", torch.float32, 0, 1), ("float64[1000]=-3..5", torch.float64, -3, 5), ("bfloat16[1000]=0..1", torch.bfloat16, 0, 1),
    ("int64[1000]=0..3", torch.int64, 0, 3), ("int32[1000]", torch.int32, 0, 9), ("bool[1000]", torch.bool, 0, 1), ("bool[1000]=1..1", torch.bool, 1, 1)])
def test_random_numbers_of_the_command_fill_their_range(text, kind, least, most):
    found = argument(text)
    assert found.dtype == kind and found.shape == (1000,)
    assert least <= found.min() < least + 0.1 and most - 0.1 < found.max() <= most


@pytest.fixture
def saved_with_its_file(tmp_path):
    saved, net = str(tmp_path / "m.pt"), str(tmp_path / "m.onnx")
    torch.jit.save(torch.jit.trace(torch.nn.ELU(), torch.rand(2, 3)), saved)
    pt2onnx.convert(saved, net, inputs=["x:float32[N,3]"])
    return saved, net


def test_an_argument_of_another_size_than_the_files_is_one_line(saved_with_its_file, capsys):
    for spec, shape in (("float32[2,4]", "[2, 4]"), ("float32[3]", "[3]")):
        assert main(["-q", *saved_with_its_file, spec]) == 2
        assert capsys.readouterr().err == "pt2onnx: the model's input x is [N, 3] in the file and %s in the example\n" % shape
    assert main(["-q", *saved_with_its_file, "float32[5,3]"]) == 0


def test_what_onnx_runtime_refuses_is_no_traceback(saved_with_its_file, capsys):
    saved, net = saved_with_its_file
    model = onnx.load(net)
    model.graph.node[0].op_type = "Nothing"
    onnx.save(model, net)
    assert main(["-q", saved, net, "float32[2,3]"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pt2onnx: ") and "Nothing" in said


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
@pytest.mark.parametrize("arguments", [[], ["float32[2,3]", "float32[2,3]", "float32[2,3]"]], ids=["its own", "given"])
def test_a_program_that_takes_arguments_by_name(arguments, tmp_path, capsys):
    class Named(torch.nn.Module):
        def forward(self, x, y, *, k=None, z=None):
            return x - 2 * y if z is None else x - 2 * y + 3 * z
    saved = str(tmp_path / "net.pt2")
    torch.export.save(torch.export.export(Named(), (X,), {"y": Y, "z": X * 2}), saved)
    assert main(["-q", saved, *arguments]) == 0, capsys.readouterr().err
    assert main(["-q", saved, "float32[2,3]"]) == 2


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.full((3,), 2.0))

    def forward(self, x):
        self.total += x
        return torch.sin(x) * self.total


class Minus(torch.nn.Module):
    def forward(self, x, y, unused=None):
        return x - y


X, Y = torch.randn(2, 3), torch.randn(2, 3)


@pytest.mark.parametrize("args, kwargs", [((X, Y), None), ([X, Y], None), ((X, {"y": Y}), None), ({"y": Y, "x": X}, None), ((), {"y": Y, "x": X}), ((X, Y, Y), None)])
def test_arguments_as_export_takes_them(args, kwargs, tmp_path):
    assert pt2onnx.compare(Minus(), args, kwargs=kwargs, times=False).why == "same"
    pt2onnx.export(Minus(), args, tmp_path / "net.onnx", kwargs=kwargs, input_names=["x", "y"])
    assert pt2onnx.compare(Minus(), args, tmp_path / "net.onnx", kwargs=kwargs, times=False).why == "same"


def test_an_input_that_the_file_does_not_have_is_not_guessed(tmp_path):
    """The first of three arguments of one type is left out, as nothing uses it."""
    class Last(torch.nn.Module):
        def forward(self, a, x, y):
            return x - y
    assert pt2onnx.compare(Last(), (X, X, Y), times=False).ok
    pt2onnx.export(Last(), (X, X, Y), tmp_path / "net.onnx", input_names=["p", "q", "r"])
    with pytest.raises(ValueError, match="which of the example's 3 tensors are q, r is not clear: names tells it"):
        pt2onnx.compare(Last(), (X, X, Y), tmp_path / "net.onnx", times=False)
    assert pt2onnx.compare(Last(), (X, X, Y), tmp_path / "net.onnx", names=["p", "q", "r"], times=False).ok


def test_an_input_without_dimensions_stays_one():
    found = pt2onnx.compare(lambda x, i: x[i], (torch.randn(3, 4), torch.tensor(2)), times=False)
    assert found.why == "same" and found.outputs[0].got.shape == (4,), str(found)


def test_weights_that_are_inputs_are_the_models(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).eval()
    pt2onnx.export(net, (X,), tmp_path / "net.onnx", export_params=False)
    assert len(onnx.load(str(tmp_path / "net.onnx")).graph.input) == 7
    assert pt2onnx.compare(net, (X,), tmp_path / "net.onnx", times=False).why == "same"
    assert pt2onnx.compare(net, (X,), export_params=False, times=False).why == "same"
    net[0].bias.data += 1
    assert pt2onnx.compare(net, (X,), tmp_path / "net.onnx", times=False).why == "same"


def test_random_numbers_are_no_error_of_float32():
    # of a hundred numbers Dropout never leaves the same ones in both; of six it did
    for model in (lambda x: x + torch.rand(3), torch.nn.Sequential(torch.nn.Linear(3, 100), torch.nn.Dropout()).train()):
        before = torch.get_rng_state()
        found = pt2onnx.compare(model, (X,), times=False, training=torch.onnx.TrainingMode.PRESERVE)
        assert found.why == "part" and "Random" in found.first.op + found.first.node or found.first.op == "Dropout"
        assert torch.equal(torch.get_rng_state(), before)


def test_a_tensor_is_not_one_that_has_it_twice():
    """The sums of both agree, as those of a transposed one do."""
    once = torch.randn(8, 4)
    values = [Value("value", "", "", Print(t)) for t in (once.T, once.repeat(2, 1))]
    assert [transposed(v, Print(once)) for v in values] == [True, False]


def with_dropout():
    """In training mode but for one module, as a fine-tuned network may be."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 100), torch.nn.Dropout(), torch.nn.BatchNorm1d(100))
    net[2].eval()
    return net


class InBfloat16(torch.nn.Module):
    """On the way, or from the input to the output."""

    def __init__(self, plus=0):
        super().__init__()
        self.a, self.b, self.plus = torch.nn.Linear(3, 100).bfloat16(), torch.nn.Linear(100, 4).bfloat16(), plus

    def forward(self, x):
        return (self.b(self.a(x.bfloat16()).relu() + self.plus)).to(x.dtype)


@pytest.mark.skipif(not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"), reason="ONNX Runtime takes no bfloat16, and rounds nothing to it")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_of_bfloat16(dtype, tmp_path):
    torch.manual_seed(0)
    net, x, path = InBfloat16(), X.to(dtype), tmp_path / "net.onnx"
    pt2onnx.export(net, (x,), path)
    found = pt2onnx.compare(net, (x,), path, times=False)
    assert found.ok and found.confirmed >= 4
    net.plus = 1
    found = pt2onnx.compare(net, (x,), path, times=False)
    assert (found.why, found.first.module, found.first.op) == ("part", "b", "Gemm")


def test_without_a_file_torch_runs_in_the_mode_of_the_export():
    from pt2onnx.versions import GLOBALS
    for net in (with_dropout(), torch.jit.script(with_dropout())):
        before, exporting = [m.training for m in net.modules()], GLOBALS.export_training
        assert pt2onnx.compare(net, (X,), times=False).why == "same"
        assert pt2onnx.compare(net, (X,), times=False, training=torch.onnx.TrainingMode.TRAINING).why == "part"
        assert [m.training for m in net.modules()] == before and GLOBALS.export_training == exporting


def test_with_a_file_torch_runs_in_the_mode_that_the_model_has(tmp_path):
    net = with_dropout()
    pt2onnx.export(net, (X,), tmp_path / "net.onnx")
    found = pt2onnx.compare(net, (X,), tmp_path / "net.onnx", times=False)
    found.save(tmp_path / "net.html")
    assert found.why == "part" and all("torch ran in training mode" in text for text in (str(found), (tmp_path / "net.html").read_text()))
    found = pt2onnx.compare(net.eval(), (X,), tmp_path / "net.onnx", times=False)
    assert found.why == "same" and "training mode" not in str(found)


@pytest.mark.filterwarnings("ignore")
def test_the_model_is_as_before():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n += 1
            return x * self.n
    net = Counter()
    found = pt2onnx.compare(net, (X,))
    assert found.ok and found.outputs[0].bound < 1e-3 and net.n == 0


def test_complex_outputs_are_pairs_of_floats():
    assert pt2onnx.compare(lambda x: torch.fft.fft(x), (X,), times=False).ok


class Several(torch.nn.Module):
    """Outputs that are no single tensors in front of one that is."""

    def forward(self, x, n: int, o: Optional[torch.Tensor]):
        items: List[torch.Tensor] = []
        for i in range(n):
            items.append(x * i)
        return "a text", items, n * 2, o, x + 1


@pytest.mark.filterwarnings("ignore")
def test_outputs_are_those_of_torch_whatever_stands_in_front_of_them(tmp_path):
    path = str(tmp_path / "net.onnx")
    net, args = torch.jit.script(Several()), (torch.randn(2, 3), 3, None)
    pt2onnx.export(net, args, path)
    found = pt2onnx.compare(net, args, path, times=False)
    assert found.why == "same" and [o.output for o in found.outputs] == ["output.1"] * 3 + ["output.2", "output.4"]
    model = onnx.load(path)
    loop = next(n for n in model.graph.node if n.op_type == "Loop")
    next(n for n in loop.attribute[0].g.node if n.op_type == "Mul").op_type = "Add"
    onnx.save(model, path)
    found = pt2onnx.compare(net, args, path, times=False)
    assert found.why == "part" and {o.output for o in found.outputs if not o.ok} == {"output.1"}


def test_what_is_no_model_is_named(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"\xff\xff no model")
    with pytest.raises(ValueError, match="net.onnx: this is no ONNX model"):
        pt2onnx.compare(Minus(), (X, Y), tmp_path / "net.onnx")


def test_a_line_of_the_users_in_a_file_of_another_exporter(tmp_path):
    """Neither a copy of the arguments nor a line of this package is a place of the model."""
    torch.onnx.export(Minus(), (X, Y), str(tmp_path / "net.onnx"), **({"dynamo": False} if hasattr(torch, "export") else {}))
    model = onnx.load(str(tmp_path / "net.onnx"))
    model.graph.node[0].op_type = "Add"
    onnx.save(model, str(tmp_path / "net.onnx"))
    found = pt2onnx.compare(Minus(), (X, Y), tmp_path / "net.onnx", times=False)
    assert found.why == "part" and found.first.torch_op.startswith("aten.sub") and os.path.basename(__file__) in found.first.line


def test_state_is_as_saved(tmp_path):
    """Of a saved program with state: neither the example nor the command's random inputs have a value for it."""
    saved, made = str(tmp_path / "net.pt"), str(tmp_path / "net.onnx")
    torch.jit.script(Counts().eval()).save(saved)
    pt2onnx.convert(saved, made, inputs=["x:float32[3]"], on_note=None)
    done = subprocess.run([sys.executable, "-m", "pt2onnx", "compare", saved, made], env=with_package(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    assert pt2onnx.compare(torch.jit.load(saved), (torch.ones(3),), made).ok


def test_four_thousand_nodes_take_little_memory(tmp_path):
    """1,000 layers with 4 MB of values each: 8 GB of values in all, and never a quarter of one of them at once."""
    class Chain(torch.nn.Module):
        def forward(self, x):
            for k in range(1000):
                x = torch.sin(x) * 1.001 + 0.1
            return x
    import resource
    path = str(tmp_path / "chain.onnx")
    x = torch.rand(1, 1000)
    pt2onnx.export(Chain(), (x,), path, opset_version=17)
    assert len(onnx.load(path).graph.node) >= 3000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = pt2onnx.compare(Chain(), x, path, times=False)
    assert found.ok, str(found)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


@pytest.mark.filterwarnings("ignore")
def test_a_result_that_is_written_to_in_place():
    class Writes(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            y += 1
            return y
    assert pt2onnx.compare(Writes(), (X,), times=False).why == "same"


def built(forward):
    """An evaluated module of this forward."""
    return type("Net", (torch.nn.Module,), {"forward": forward})().eval()


def against(forward, other, args, tmp_path):
    """Of two models that differ: torch's forward against the file of the other."""
    pt2onnx.export(built(other), args, tmp_path / "net.onnx")
    return pt2onnx.compare(built(forward), args, tmp_path / "net.onnx", times=False)


def with_one_changed(self, x):
    y = x * 2
    y[1234] = 99.0
    return y


def test_all_elements_of_an_output_count(tmp_path):
    found = against(with_one_changed, lambda self, x: x * 2, (torch.randn(10000),), tmp_path)
    assert found.why == "part" and 80 < found.outputs[0].plain == found.first.error and found.first.want[0] == 99


MASK = torch.arange(300) % 7 > 0


@pytest.mark.parametrize("masked", [
    lambda y: y.masked_fill(MASK, -1e9), lambda y: y.masked_fill(MASK, torch.finfo(y.dtype).min), lambda y: y.masked_fill(MASK, -float("inf")),
    lambda y: y + MASK * -1e9, lambda y: y + MASK * -1e4, lambda y: torch.exp(torch.where(MASK, y + 100, y)),
], ids=["1e9", "least", "infinity", "sum", "small sum", "overflow"])
def test_what_a_mask_fills_in_says_nothing_of_the_others(masked, tmp_path):
    args = (torch.randn(300),)
    assert against(lambda self, x: masked(x * 2), lambda self, x: masked(x * 2), args, tmp_path).why == "same"
    found = against(lambda self, x: masked(x * 2), lambda self, x: masked(x * 2.001), args, tmp_path)
    assert found.why == "part" and found.outputs[0].want.scale < 100, str(found)


def test_digits_that_float32_does_not_have(tmp_path):
    args = (torch.rand(100),)
    found = against(lambda self, x: x + 1e6 - 1e6, lambda self, x: x + 0, args, tmp_path)
    assert found.ok and found.why == "float32" and "float32 itself" in str(found)


def test_outputs_that_only_one_has_are_told(tmp_path):
    found = against(lambda self, x: x * 2, lambda self, x: (x * 2, x * 3), (X,), tmp_path)
    assert found.ok and "only the first 1 are compared: torch gives 1 tensors, the model 2" in str(found)
    with pytest.raises(ValueError, match="no output to compare: torch gives 0 tensors, the model 1"):
        against(lambda self, x: "a text", lambda self, x: x, (X,), tmp_path)


@dataclasses.dataclass
class Held:
    y: torch.Tensor


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no register_dataclass")
def test_a_result_in_a_container_of_the_users(tmp_path):
    torch.export.register_dataclass(Held)
    found = against(lambda self, x: Held(x * 2), lambda self, x: x * 3, (X,), tmp_path)
    assert found.why == "part" and len(found.outputs) == 1
    assert against(lambda self, h: Held(h.y * 2), lambda self, h: h.y * 2, (Held(X),), tmp_path).outputs[0].noise is not None


@pytest.mark.skipif(not hasattr(torch, "float8_e4m3fn"), reason="torch 1.13 has no float8")
def test_float8_in_the_middle():
    assert pt2onnx.compare(lambda x: x.to(torch.float8_e4m3fn).float() + 1, (X,), opset_version=19, times=False).why == "same"


class Force(torch.nn.Module):
    def forward(self, x):
        x.requires_grad_()
        return torch.autograd.grad((x ** 3).sum(), x)[0]


def test_a_gradient_inside_of_forward():
    x = X.clone()
    found = pt2onnx.compare(Force(), (x,))
    assert found.why == "same" and found.outputs[0].noise is not None and not x.requires_grad


def test_a_gradient_of_an_argument():
    x = X.clone().requires_grad_()
    found = pt2onnx.compare(lambda x: torch.autograd.grad((x ** 3).sum(), x)[0], (x,), times=False)
    assert found.why == "same" and found.outputs[0].noise is not None


def test_a_quantised_output_is_three():
    net = lambda x: (torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), x + 1)
    found = pt2onnx.compare(net, (X,), times=False)
    assert found.why == "same" and len(found.outputs) == 4 and "only the first" not in str(found)


def test_random_numbers_of_python_and_numpy_are_no_error_of_float32(tmp_path):
    before = random.getstate(), numpy.random.get_state()[1].copy()
    found = against(lambda self, x: x + random.random() + numpy.random.rand(), lambda self, x: x + 0, (X,), tmp_path)
    assert found.why == "part"
    assert random.getstate() == before[0] and (numpy.random.get_state()[1] == before[1]).all()


def test_a_float_is_not_cut_off_for_an_input_of_integers(tmp_path):
    """By their order the inputs of this file would be the arguments."""
    net, args = built(lambda self, i, x: i * 2 + x), (torch.arange(3), torch.rand(3))
    pt2onnx.export(net, args, tmp_path / "net.onnx", input_names=["first", "second"])
    model = onnx.load(str(tmp_path / "net.onnx"))
    inputs = list(model.graph.input)[::-1]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    onnx.save(model, str(tmp_path / "net.onnx"))
    with pytest.raises(ValueError, match="the model's input first is int64 in the file and float32 in the example"):
        pt2onnx.compare(net, args, tmp_path / "net.onnx", times=False)
    assert pt2onnx.compare(net, args, tmp_path / "net.onnx", names=["first", "second"], times=False).why == "same"


def test_a_frozen_script_has_no_mode(tmp_path):
    net = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2).eval()))
    pt2onnx.export(net, (torch.ones(1, 2),), tmp_path / "net.onnx")
    found = pt2onnx.compare(net, (torch.ones(1, 2),), tmp_path / "net.onnx", times=False)
    assert found.ok and not found.in_training
