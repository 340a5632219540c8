"""install(), uninstall(), `python -m pt2onnx`, and a package that needs no torch until it is asked for something of torch's."""
import importlib
import os
import subprocess
import sys

import onnx
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, names, ops
from pt2onnx import installing

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROWS = torch.randn(2, 3)

SCRIPT = '''
import sys
import torch
import torch.onnx.symbolic_caffe2
from torch.onnx import CheckerError, ExportTypes, OperatorExportTypes, SymbolicContext, is_in_onnx_export, utils
from torch.onnx._globals import GLOBALS
from torch.onnx._internal import jit_utils, registration
from torch.onnx._type_utils import JitScalarType
from torch.onnx.symbolic_helper import _unimplemented, parse_args
from torch.onnx.symbolic_registry import is_registered_op, register_op
from torch.onnx.utils import _export
import torch.onnx.symbolic_opset11 as opset11

def asinh(g, input, *, out=None):
    return g.op("Neg", g.op("Asinh", input))

register_op("asinh", asinh, "", 9)

class Net(torch.nn.Module):
    def forward(self, x):
        assert is_in_onnx_export()
        return torch.asinh(x)

out = torch.onnx.export(Net(), torch.ones(2, 3), sys.argv[1], True, False, None, ["x"], ["y"], False, False, None, 9,
                        example_outputs=torch.ones(2, 3), enable_onnx_checker=True)
assert out is None and not is_in_onnx_export()
print(__name__, sys.argv[2:], "pt2onnx" in torch.onnx.export.__module__)
'''


@pytest.fixture
def installed():
    pt2onnx.install()
    yield
    pt2onnx.uninstall()


def test_everything_is_put_back():
    modules = {n for n in sys.modules if n.startswith("torch.onnx")}
    before = dict(vars(torch.onnx)), dict(vars(torch.onnx.errors)), torch.onnx.utils.export
    pt2onnx.install()
    pt2onnx.install()                                   # the second does nothing
    assert torch.onnx.export is installing.export and torch.onnx.utils.export is installing.export
    pt2onnx.uninstall()
    assert (dict(vars(torch.onnx)), dict(vars(torch.onnx.errors)), torch.onnx.utils.export) == before
    assert {n for n in sys.modules if n.startswith("torch.onnx")} == modules
    with pytest.raises(ImportError):
        importlib.import_module("torch.onnx.symbolic_registry")


def test_the_exporter_is_replaced(installed, tmp_path):
    assert torch.onnx.export(torch.nn.Linear(3, 4), ROWS, str(tmp_path / "m.onnx"), input_names=["in"]) is None
    model = onnx.load(str(tmp_path / "m.onnx"))
    assert model.producer_name == "pt2onnx" and names(model.graph.input) == ["in"]


def test_underscore_export_returns_what_the_model_gives(installed, tmp_path):
    net = torch.nn.Linear(3, 4).eval()
    out = torch.onnx.utils._export(net, ROWS, str(tmp_path / "m.onnx"), add_node_names=True, fixed_batch_size=False)
    torch.testing.assert_close(out, net(ROWS))
    assert torch.onnx._export(torch.jit.script(net), ROWS, str(tmp_path / "m.onnx")) is None


def test_pretty_string(installed, capsys):
    text = torch.onnx.export_to_pretty_string(torch.nn.Linear(3, 4), ROWS)
    assert "Gemm" in text and not capsys.readouterr().out


def test_names_that_torch_has_dropped(installed):
    from torch.onnx import ONNX_ARCHIVE_MODEL_PROTO_NAME, ExportOptions, ExportOutput, ONNXProgram, OnnxExporterError, dynamo_export
    assert ONNX_ARCHIVE_MODEL_PROTO_NAME and ONNXProgram is not None and issubclass(OnnxExporterError, RuntimeError)
    assert not torch.onnx.utils.is_in_onnx_export() and not torch.onnx.is_onnx_log_enabled()
    if not TORCH_2:
        with pytest.raises(RuntimeError, match="dynamo_export needs torch.export"):
            dynamo_export(torch.nn.Linear(3, 4), ROWS)
        return
    result = dynamo_export(torch.nn.Linear(3, 4), ROWS)
    assert isinstance(result, ExportOutput) and isinstance(result, ONNXProgram) and ops(result.model_proto) == ["Gemm"]
    result.initialize_inference_session()
    assert result(ROWS)[0].shape == (2, 4)
    result.release()
    net = torch.nn.Bilinear(3, 3, 2)
    result = dynamo_export(net, ROWS, input2=ROWS + 1, export_options=ExportOptions(dynamic_shapes=True))
    for n in (2, 5):
        x = torch.rand(n, 3)
        torch.testing.assert_close(result(x, input2=x)[0], net(x, x), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="fake_context"):
        ExportOptions(fake_context=object())


def test_the_opset_as_functions_of_torch_1_8_ask_for_it(installed, register):
    from torch.onnx import symbolic_helper
    seen = []

    def asinh(g, x):
        seen.append(symbolic_helper._export_onnx_opset_version)
        return g.op("Asinh", x)
    symbolic_helper._set_opset_version(11)
    register("aten::asinh", asinh, 9)
    pt2onnx.export(torch.asinh, ROWS, opset_version=13)
    assert seen == [13]


def python(*arguments):
    env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python")}
    return subprocess.run([sys.executable, "-W", "ignore", *arguments], env=env, capture_output=True, text=True, timeout=300)


def test_a_script_of_torch_1_8_runs_unchanged(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python("-m", "pt2onnx", str(tmp_path / "script.py"), str(tmp_path / "m.onnx"), "--more")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "__main__ ['--more'] True\n"
    model = onnx.load(str(tmp_path / "m.onnx"))
    assert ops(model) == ["Asinh", "Neg"] and names(model.graph.input) == ["x"] and model.opset_import[0].version == 9


def test_usage(tmp_path):
    assert python("-m", "pt2onnx").returncode == 2
    assert python("-m", "pt2onnx", "--help").stdout.startswith("usage: python -m pt2onnx SCRIPT")
    done = python("-m", "pt2onnx", str(tmp_path / "none.py"))
    assert done.returncode == 2 and "there is no such script" in done.stderr


def test_a_script_without_torch(tmp_path):
    (tmp_path / "script.py").write_text("print(1)")
    done = python("-c", "import sys; sys.modules['torch'] = None; from pt2onnx.__main__ import main; sys.exit(main([%r]))" % str(tmp_path / "script.py"))
    assert done.returncode == 2 and "needs PyTorch" in done.stderr and not done.stdout


def test_files_need_no_torch(tmp_path):
    torch.jit.save(torch.jit.trace(torch.nn.Linear(3, 4), ROWS), str(tmp_path / "m.pt"))
    code = ("import sys; sys.modules['torch'] = sys.modules['onnx'] = None; import pt2onnx; "
            "print(pt2onnx.convert(%r, inputs=['x:float32[N,3]'], opset=17))" % str(tmp_path / "m.pt"))
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "m.onnx")
    assert onnx.load(str(tmp_path / "m.onnx")).opset_import[0].version == 17


def test_errors_of_files_are_runtime_errors(tmp_path):
    with pytest.raises(pt2onnx.ConversionError) as e:
        pt2onnx.convert(tmp_path / "none.pt")
    assert isinstance(e.value, RuntimeError) and e.value.status == 3 and "none.pt" in str(e.value)
    with pytest.raises(ValueError, match="mode is one of eval, saved"):
        pt2onnx.convert("m.pt", mode="train")
