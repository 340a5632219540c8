"""What the well-known tutorials on exporting PyTorch models to ONNX do, row by row: their scripts' behaviour, in code of our own.

Each test is marked with the rows that it covers; tools/tutorials.py prints docs/tutorials.md from the results under both torches.
Rows whose behaviour the other files test already (names, parameters, registration) are marked there."""
import os
import re
import subprocess
import sys
import warnings

import numpy
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch.onnx import OperatorExportTypes

import pt2onnx
from helpers import TORCH_2, agrees, checked, dims, exported, names, ops, run, session, untranslated
from pt2onnx import symbolic_registry
from pt2onnx.versions import symbolic_helper

IMAGE = torch.randn(1, 3, 10, 10)
ROWS = torch.randn(2, 3)
row = pytest.mark.row


@pytest.fixture
def installed():
    pt2onnx.install()
    yield torch.onnx
    pt2onnx.uninstall()


# ---- A, B: the loop model, traced and scripted ----

class Repeated(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.conv = torch.nn.Conv2d(3, 3, 3)

    def forward(self, x):
        for i in range(self.n):
            x = self.conv(x)
        return x


@row("A01", "A02", "A03", "A04", "A05", "A22", "B01", "B02", "B03", "B06")
def test_the_loop_model(installed, tmp_path):
    kinds = {}
    for n in (2, 3):
        model = Repeated(n)
        for kind, m in (("trace", torch.jit.trace(model, IMAGE)), ("script", torch.jit.script(model)), ("module", model)):
            path = str(tmp_path / ("model_%d_%s.onnx" % (n, kind)))
            assert installed.export(m, IMAGE, path, example_outputs=model(IMAGE)) is None
            found = onnx.load(path)
            kinds[n, kind] = ops(found)
            convolutions = [list(node.input[1:]) for node in found.graph.node if node.op_type == "Conv"]
            assert all(c == convolutions[0] for c in convolutions)              # all share the same two initializers
            agrees(found, model, IMAGE)
    assert len(list(tmp_path.iterdir())) == 6
    assert kinds[2, "trace"] == kinds[2, "module"] == ["Conv"] * 2 and kinds[3, "trace"] == ["Conv"] * 3
    assert kinds[2, "script"] == kinds[3, "script"] and "Loop" in kinds[2, "script"]


@row("B03", "B04")
def test_a_loop_whose_trips_are_an_input():
    class Counted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x, n: int):
            for i in range(n):
                x = self.conv(x)
            return x
    net = torch.jit.script(Counted()).eval()
    model = checked(net, (IMAGE, 2), input_names=["x", "n"])
    loop = [n for n in model.graph.node if n.op_type == "Loop"][0]
    body = loop.attribute[0].g
    assert [n.op_type for n in body.node].count("Conv") == 1
    assert len(body.input) == 3 and len(body.output) == 2
    for n in range(4):
        with torch.no_grad():
            want = net(IMAGE, n).numpy()
        numpy.testing.assert_allclose(run(model, IMAGE.numpy(), numpy.int64(n))[0], want, rtol=1e-4, atol=1e-5)


@row("B05")
def test_tracing_freezes_a_branch_and_scripting_keeps_it():
    class Branch(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x - 1
    with pytest.warns(torch.jit.TracerWarning):
        pt2onnx.export(Branch(), ROWS)
    assert "If" not in ops(exported(Branch(), ROWS))
    model = checked(torch.jit.script(Branch()), ROWS)
    assert "If" in ops(model)
    for x in (torch.ones(2, 3), -torch.ones(2, 3)):
        agrees(model, Branch(), x)


@row("A09", "A10")
def test_names_feed_the_runtime():
    model = exported(torch.nn.Conv2d(3, 3, 3), IMAGE, input_names=["in"], output_names=["out"])
    assert session(model).run(["out"], {"in": IMAGE.numpy()})[0].shape == (1, 3, 8, 8)


@pytest.mark.row("H17", "B07")
@row("A12", "A14", "A15")
def test_plain_operators_state_dict_names_and_folding():
    class Transposed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4, 3))

        def forward(self, x):
            return torch.matmul(x, self.weight.t())
    model = checked(Transposed(), ROWS)
    assert "Transpose" not in ops(model) and {n.domain for n in model.graph.node} == {""}
    model = checked(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)), ROWS)
    assert [t.name for t in model.graph.initializer] == ["0.weight", "0.bias", "1.weight", "1.bias"]


@row("A20")
def test_an_invalid_attribute_is_refused(register):
    register("aten::asinh", lambda g, x: g.op("Relu", x, bogus_i=1), 9)
    with pytest.raises(RuntimeError, match="bogus"):
        exported(torch.asinh, ROWS)


# ---- C: the nine lines of dynamic axes ----

@row("C01", "C02", "C03", "C04", "C05", "C06", "C07", "C08", "C09")
@pytest.mark.filterwarnings("ignore")
def test_the_nine_lines():
    model = torch.nn.Conv2d(3, 3, 3)
    common = {"input_names": ["in"], "output_names": ["out"]}
    sessions = [session(exported(model, IMAGE, dynamic_axes=axes, **common))
                for axes in (None, {"in": [0], "out": [0]}, {"in": [2, 3], "out": [2, 3]})]
    inputs = [numpy.zeros(s, numpy.float32) for s in ((1, 3, 10, 10), (2, 3, 10, 10), (1, 3, 20, 20))]
    errors = {}
    for i, s in enumerate(sessions):
        for k, x in enumerate(inputs):
            try:
                s.run(["out"], {"in": x})
            except Exception as e:
                errors[i, k] = str(e)
    assert sorted(errors) == [(0, 1), (0, 2), (1, 2), (2, 1)]
    text = errors[0, 1].replace("\n", " ")
    assert "Got invalid dimensions for input: in for the following indices" in text and "index: 0 Got: 2 Expected: 1" in text
    assert "index: 2" in errors[0, 2] and "index: 3" in errors[0, 2]


# ---- D: techniques ----

@row("D01")
def test_clip_in_export_only():
    class Clipping(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 3, 3)

        def forward(self, x):
            x = self.conv(x)
            return torch.clip(x, 0, 1) if torch.onnx.is_in_onnx_export() else x
    net = Clipping()
    found = [op for op in ops(checked(net, IMAGE)) if op != "Constant"]
    assert found == ["Conv", "Clip"]
    assert net(IMAGE * 100).min() < 0


@row("D02")
def test_items_and_lists_are_frozen():
    class Items(torch.nn.Module):
        def forward(self, x):
            x = x * x[0].item()
            return x, torch.Tensor([i for i in x])
    x = torch.arange(2.0, 12.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = pt2onnx.export(Items(), x)
    assert len({str(w.message).split(". ")[0] for w in found if issubclass(w.category, torch.jit.TracerWarning)}) >= 4
    model = result.model_proto
    assert ops(model) == ["Constant", "Mul", "Constant"]
    first, second = run(model, numpy.full(10, 7, numpy.float32))
    numpy.testing.assert_array_equal(first, numpy.full(10, 14, numpy.float32))
    numpy.testing.assert_array_equal(second, 2 * x.numpy())


@row("D03")
def test_numbers_of_python_are_constants():
    class Flat(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1, int(x.shape[1]))
    assert "Shape" not in ops(exported(Flat(), torch.ones(4, 2, 3), input_names=["x"], dynamic_axes={"x": {0: "n"}}))


@row("D04")
def test_python_numbers_are_scalar_inputs():
    model = checked(lambda x, i, f, b: (x + i) * f + b, (ROWS, 2, 0.5, True))
    kinds = [i.type.tensor_type.elem_type for i in model.graph.input]
    assert kinds == [onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.DOUBLE, onnx.TensorProto.BOOL]
    assert all(dims(i) == [] for i in model.graph.input[1:])


@row("D05")
def test_functions_may_be_patched_during_the_export(monkeypatch):
    monkeypatch.setattr(F, "gelu", lambda x: torch.relu(x))
    assert ops(checked(lambda x: F.gelu(x), ROWS)) == ["Relu"]


# ---- E: looking up operators ----

def describe(what):
    program = os.path.join(os.path.dirname(os.environ["PT2ONNX_LIBRARY"]), "pt2onnx")
    return subprocess.run([program, "ops", what], capture_output=True, text=True, check=True).stdout


@row("E01")
def test_one_operator_or_several():
    assert ops(checked(torch.relu, ROWS)) == ["Relu"]
    assert len(ops(checked(F.gelu, ROWS, opset_version=14))) > 1
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError):
        exported(untranslated, ROWS)


@row("E02", "H01", "H07")
def test_the_words_of_a_missing_operator():
    with pytest.raises(RuntimeError, match="Exporting the operator 'quantized::embedding_bag_byte_prepack' to ONNX opset version 11 is not supported"):
        exported(untranslated, ROWS, opset_version=11)


@row("E03", "E04")
def test_versions_of_onnx_operators():
    text = describe("onnx::Resize")
    for version in (10, 11, 13, 18, 19):
        assert str(version) in text
    assert "Relu" in describe("onnx::Relu")


@row("E05", "E06", "G02")
def test_operators_of_pytorch():
    assert "Tensor" in describe("aten::asinh") and "aten::relu" in describe("")


@row("E07", "E08", "A13")
def test_bicubic_from_opset_11_on():
    def cubic(x):
        return F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
    for opset in (9, 10):
        with pytest.raises(RuntimeError, match="11"):
            exported(cubic, IMAGE, opset_version=opset)
    for opset in (11, 13):
        model = checked(cubic, IMAGE, opset_version=opset)
        resize = [n for n in model.graph.node if n.op_type == "Resize"][0]
        found = {a.name: onnx.helper.get_attribute_value(a) for a in resize.attribute}
        assert found["mode"] == b"cubic" and found["cubic_coeff_a"] == -0.75
        agrees(model, cubic, IMAGE, rtol=1e-3, atol=1e-4)


@row("E09")
def test_everything_unsupported_is_listed_at_once():
    def two(x):
        return untranslated(x).sum() + x.to_sparse().to_dense().sum()
    with pytest.raises(RuntimeError) as e:
        exported(two, ROWS.abs())
    assert "quantized::embedding_bag_byte_prepack" in str(e.value) and "aten::to_sparse" in str(e.value)


@row("E11")
@pytest.mark.parametrize("opset", [11, 14])
def test_shifts_of_bytes(opset):
    x = torch.tensor([[1, 2, 3], [40, 50, 255]], dtype=torch.uint8)
    model = checked(lambda x: x << 1, x, opset_version=opset)
    assert "BitShift" in ops(model)
    agrees(model, lambda x: x << 1, x)
    agrees(checked(lambda x: x >> 1, x.to(torch.int64), opset_version=opset), lambda x: x >> 1, x.to(torch.int64))


# ---- F: a scale that is an input ----

class NewInterpolate(torch.autograd.Function):
    @staticmethod
    def symbolic(g, input, scales):
        empty = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        return g.op("Resize", input, empty, scales, coordinate_transformation_mode_s="pytorch_half_pixel", cubic_coeff_a_f=-0.75,
                    mode_s="cubic", nearest_mode_s="floor")

    @staticmethod
    def forward(ctx, input, scales):
        return F.interpolate(input, scale_factor=scales.tolist()[-2:], mode="bicubic", align_corners=False)


class StrangeNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 64, 9, padding=4)
        self.conv2 = torch.nn.Conv2d(64, 32, 1)
        self.conv3 = torch.nn.Conv2d(32, 3, 5, padding=2)

    def forward(self, x, factor):
        x = NewInterpolate.apply(x, factor)
        return self.conv3(torch.relu(self.conv2(torch.relu(self.conv1(x)))))


@row("E12", "F01", "F02", "F03", "F04")
@pytest.mark.filterwarnings("ignore")
def test_the_dynamic_resize_network():
    net = StrangeNet().eval()
    model = exported(net, (IMAGE, torch.tensor([1.0, 1, 3, 3])), input_names=["input", "factor"], output_names=["output"], opset_version=11)
    assert [op for op in ops(model) if op != "Constant"] == ["Resize", "Conv", "Relu", "Conv", "Relu", "Conv"]
    assert names(model.graph.input) == ["input", "factor"]
    assert not any(isinstance(d, int) and d for d in dims(model.graph.output[0])[2:])           # sizes that nobody knows
    for factor in ([1.0, 1, 3, 3], [1.0, 1, 2.5, 4]):
        got, = run(model, IMAGE.numpy(), numpy.array(factor, numpy.float32))
        with torch.no_grad():
            want = net(IMAGE, torch.tensor(factor)).numpy()
        assert got.shape == want.shape
        assert abs(got - want).max() < 0.05 * abs(want).max()


# ---- G: three ways to add support ----

@row("E10", "G01", "G03", "G04", "G05", "G06", "G07", "G08")
def test_asinh_by_register_op(installed, tmp_path):
    from torch.onnx.symbolic_registry import register_op
    seen = []

    def asinh_symbolic(g, input, *, out=None):
        seen.append(input.type().scalarType())
        return g.op("Asinh", input)
    register_op("asinh", asinh_symbolic, "", 9)
    try:
        class Model(torch.nn.Module):
            def forward(self, x):
                return torch.asinh(x)
        path = str(tmp_path / "asinh.onnx")
        installed.export(Model(), IMAGE, path, opset_version=9)
        assert seen == ["Float"] and ops(onnx.load(path)) == ["Asinh"]
        installed.export(Model(), IMAGE, path, opset_version=10)
        assert seen == ["Float"]                                            # opset 9 only
        out = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"0": IMAGE.numpy()})[0]
        assert numpy.allclose(out, torch.asinh(IMAGE).numpy(), atol=1e-6)
    finally:
        symbolic_registry.unregister_op("asinh", "", 9)


@symbolic_helper.parse_args("v", "v", "v", "v", "v", "i", "i", "i", "i", "i", "i", "i", "i", "none")
def deform_conv(g, input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, n_weight_grps, n_offset_grps, use_mask):
    assert [type(v) for v in (stride_h, pad_w, n_offset_grps)] == [int] * 3
    return g.op("custom::deform_conv2d", input, offset)


class DeformConv2d(torch.nn.Module):
    """torchvision's, as far as an exporter sees it, where torchvision is not installed: its operator with its fourteen arguments."""
    library = None

    def __init__(self, n_in, n_out, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_out, n_in, size, size))
        self.bias = torch.nn.Parameter(torch.zeros(n_out))
        if not DeformConv2d.library:
            DeformConv2d.library = torch.library.Library("torchvision", "DEF")
            DeformConv2d.library.define("deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
                                        + ", ".join("int " + n for n in "sh sw ph pw dh dw groups offset_groups".split()) + ", bool use_mask) -> Tensor")
            DeformConv2d.library.impl("deform_conv2d", lambda x, w, o, m, b, *rest: F.conv2d(x, w, b), "CPU")

    def forward(self, x, offset):
        mask = torch.zeros((x.shape[0], 1))
        return torch.ops.torchvision.deform_conv2d(x, self.weight, offset, mask, self.bias, 1, 1, 0, 0, 1, 1, 1, 1, False)


@pytest.fixture
def deformable():
    convolution = DeformConv2d
    if not TORCH_2:
        import torchvision
        convolution = torchvision.ops.DeformConv2d

    class Deform(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(3, 18, 3)
            self.conv2 = convolution(3, 3, 3)

        def forward(self, x):
            return self.conv2(x, self.conv1(x))
    return Deform()


@row("G09")
@pytest.mark.filterwarnings("ignore")
def test_deformable_convolution_has_fourteen_arguments(deformable):
    model = exported(deformable, IMAGE, operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)
    node = [n for n in model.graph.node if n.domain][0]
    assert (node.domain, node.op_type, len(node.input)) == ("torchvision", "deform_conv2d", 14)


@row("G10", "G11", "G12", "G13")
@pytest.mark.filterwarnings("ignore")
def test_deformable_convolution_by_a_registered_function(deformable, register):
    register("torchvision::deform_conv2d", deform_conv, 9)
    for opset in (9, 11, 14):
        model = exported(deformable, IMAGE, opset_version=opset)
        assert [(n.domain, n.op_type) for n in model.graph.node] == [("", "Conv"), ("custom", "deform_conv2d")]
        assert list(model.graph.node[1].input)[1] == model.graph.node[0].output[0]
        assert {o.domain: o.version for o in model.opset_import} == {"": opset, "custom": 1}


MY_ADD = """
#include <torch/torch.h>
torch::Tensor my_add(torch::Tensor a, torch::Tensor b) { return 2 * a + b; }
#include <torch/extension.h>
PYBIND11_MODULE(my_lib, m) { m.def("my_add", my_add); }
"""
SETUP = """
from setuptools import setup
from torch.utils import cpp_extension
setup(name="my_add", ext_modules=[cpp_extension.CppExtension("my_lib", ["my_add.cpp"], extra_compile_args=["-O0"])],
      cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(use_ninja=False)})
"""


@pytest.fixture(scope="module")
def my_lib(tmp_path_factory):
    """The C++ extension, really built."""
    folder = tmp_path_factory.mktemp("my_add")
    (folder / "my_add.cpp").write_text(MY_ADD)
    (folder / "setup.py").write_text(SETUP)
    done = subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=folder, capture_output=True, text=True)
    missing = re.search(r"fatal error: .*: No such file or directory|No module named 'setuptools'", done.stderr)
    if missing:
        pytest.skip("no headers of PyTorch to build an extension with: " + missing.group())
    assert done.returncode == 0, done.stderr[-3000:]
    sys.path.insert(0, str(folder))
    import my_lib
    yield my_lib
    sys.path.remove(str(folder))


@row("G14", "G15", "G16", "G17", "G18", "G19")
def test_a_function_over_a_cpp_extension(my_lib):
    class MyAddFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return my_lib.my_add(a, b)

        @staticmethod
        def symbolic(g, a, b):
            two = g.op("Constant", value_t=torch.tensor([2]))
            a = g.op("Mul", a, two)
            return g.op("Add", a, b)

    class MyAdd(torch.nn.Module):
        def forward(self, a, b):
            return MyAddFunction.apply(a, b)
    x = torch.rand(1, 3, 10, 10)
    model = checked(MyAdd(), (x, x))
    assert ops(model) == ["Constant", "Mul", "Add"]
    constant = onnx.helper.get_attribute_value(model.graph.node[0].attribute[0])
    assert constant.data_type == onnx.TensorProto.FLOAT and list(constant.dims) == [1]
    out = session(model).run(None, {"a": x.numpy(), "b": x.numpy()})[0]
    assert numpy.allclose(out, MyAdd()(x, x).numpy())


# ---- H: notes on registering ----

class MyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def symbolic(g, x):
        return g.op("Clip", x, g.op("Constant", value_t=torch.tensor(0, dtype=torch.float)))


@row("H08")
def test_my_relu():
    model = checked(lambda x: MyRelu.apply(x), ROWS, opset_version=11)
    assert ops(model) == ["Constant", "Clip"]
    agrees(model, torch.relu, ROWS)


@row("H05")
def test_helpers_of_scalars():
    assert symbolic_helper._scalar(torch.tensor(2.5)) == 2.5 and symbolic_helper._scalar(torch.ones(2)) is None


@row("H06")
def test_the_graph_of_a_saved_elu(tmp_path):
    torch.jit.save(torch.jit.trace(torch.nn.ELU(), torch.ones(1)), str(tmp_path / "elu.pt"))
    program = os.path.join(os.path.dirname(os.environ["PT2ONNX_LIBRARY"]), "pt2onnx")
    text = subprocess.run([program, "show", str(tmp_path / "elu.pt")], capture_output=True, text=True, check=True).stdout
    assert "aten::elu(" in text


@row("H14")
@pytest.mark.filterwarnings("ignore")
def test_unimplemented(register):
    class Unknown(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

    def python_op(g, *args, **kwargs):
        return symbolic_helper._unimplemented("prim::PythonOp", "unknown node kind: " + kwargs["name"])
    register("prim::PythonOp", python_op, 9)
    with pytest.raises(RuntimeError, match="unknown node kind: Unknown"):
        exported(lambda x: Unknown.apply(x), ROWS)
    model = exported(lambda x: Unknown.apply(x), ROWS, operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)
    assert [(n.domain, n.op_type) for n in model.graph.node] == [("prim", "PythonOp")]


@row("H15", "H16")
def test_types_that_a_function_sets(register):
    def embedding(g, weight, indices, *rest):
        out = next(g.original_node.outputs())
        return g.op("com.microsoft::Embed", weight, indices).setType(out.type())
    register("aten::embedding", embedding, 9)
    model = exported(torch.nn.Embedding(5, 4), torch.tensor([[1, 2, 3]]))
    assert model.graph.node[0].domain == "com.microsoft" and dims(model.graph.output[0]) == [1, 3, 4]


@row("H20")
def test_raw_is_refused(installed):
    with pytest.raises(RuntimeError, match="RAW is not supported"):
        exported(torch.relu, ROWS, operator_export_type=OperatorExportTypes.RAW)


@row("H21")
def test_a_list_of_a_scripted_function():
    @torch.jit.script
    def listed(x):
        y = [torch.sum(x)]
        return y
    model = exported(listed, ROWS, operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)
    assert "ReduceSum" in ops(model)
