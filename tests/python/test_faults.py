"""Every allocation fails in turn, on three small models: an error each time, no crash, no leak, no file left."""
import os
import subprocess

import pytest

import oracle
from conftest import build


@pytest.fixture(scope="session")
def faults():
    return build("build-faults", "faults", "-DPT2ONNX_FAULTS=ON", "-DPT2ONNX_SANITIZE=ON")


@pytest.mark.parametrize("name", ["conv_bn_relu.traced", "loop_carried.scripted", "gru.pt2"])
def test_each_allocation(name, small, faults, tmp_path):
    case = small(name)
    done = subprocess.run([faults, case.file, str(tmp_path / "model.onnx"), *[o for o in case.options(False) if o != "-i"]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert int(done.stdout.split()[0]) >= 10, done.stdout
    assert os.listdir(tmp_path) == ["model.onnx"]
    oracle.check(tmp_path / "model.onnx")
