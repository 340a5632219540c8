"""Every example in Python runs: of adding an operator, with the nodes that it says, and of forces, with PyTorch's."""
import os
import subprocess
import sys

import onnx
import pytest

from helpers import TORCH_2, ops

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = {"autograd_function": ["Constant", "Mul", "Add"], "registered_symbolic": ["Smooth", "Constant", "Add"],
            "register_op": ["Asinh"], "python_op": ["Constant", "Max"], "rules": ["Constant", "Mul", "Mul", "Constant", "Add"],
            "kept_as_aten": ["ATen", "Constant", "Mul"], "opset_module": ["Constant", "Add", "Log"], "traced_body": ["Mul", "Mul", "Relu"],
            "blocks": ["Constant", "Split", "ReduceSum", "ReduceSum", "Greater", "If", "Constant", "Mul"]}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name, tmp_path):
    env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python")}
    script = os.path.join(TOP, "examples", "operators", name + ".py")
    done = subprocess.run([sys.executable, "-W", "ignore", script, str(tmp_path / "m.onnx")], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert ops(onnx.load(str(tmp_path / "m.onnx"))) == EXAMPLES[name]


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_force_field(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python")}
    done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(TOP, "examples", "force_field.py"), str(tmp_path / "m.onnx")], env=env,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    away = [float(line.split()[-2]) for line in done.stdout.splitlines()]
    assert len(away) == 3 and max(away) < 1e-5, done.stdout


def test_no_example_is_left_out():
    assert {f[:-3] for f in os.listdir(os.path.join(TOP, "examples", "operators")) if f.endswith(".py")} == set(EXAMPLES)
