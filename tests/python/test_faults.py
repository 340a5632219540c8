"""Every allocation fails in turn, and every array by its size: an error each time, no crash, no leak, no file left."""
import os
import re
import subprocess
import sys

import pytest
import torch

import oracle
from conftest import build

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import write_chain                                                  # noqa: E402


@pytest.fixture(scope="session")
def faults():
    return build("build-asan", "faults", "-DPT2ONNX_SANITIZE=ON")


def failed(faults, model, folder, specs, stride=1):
    """How many conversions failed: by each stride-th allocation, by each large array, by the size of arrays."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run([faults, "--stride", str(stride), str(model), str(folder / "model.onnx"), *specs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert os.listdir(folder) == ["model.onnx"]
    return [int(n) for n in re.findall(r"\d+", done.stdout)]


@pytest.mark.parametrize("name", ["conv_bn_relu.traced", "loop_carried.scripted", "gru.pt2"])
def test_each_allocation(name, small, faults, tmp_path):
    case = small(name)
    all_of_them, _, _ = failed(faults, case.file, tmp_path, [o for o in case.options(False) if o != "-i"])
    assert all_of_them >= 10
    oracle.check(tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["digits_cnn.pt", "digits_cnn.pt2"])
def test_each_allocation_of_an_example(name, faults, tmp_path):
    all_of_them, _, _ = failed(faults, os.path.join(oracle.TOP, "examples", name), tmp_path, [])
    assert all_of_them >= 10
    oracle.check(tmp_path / "model.onnx")


class Force(torch.nn.Module):
    """A gradient: its nodes are made from those that are there, by formulas that are read when they are first needed."""

    def forward(self, x):
        x.requires_grad_(True)
        g = torch.autograd.grad([torch.max_pool1d(x, 2).tanh().sum()], [x])[0]
        assert g is not None
        return g


def test_allocations_of_a_gradient(faults, tmp_path):
    model = tmp_path / "force.pt"
    torch.jit.script(Force()).save(model)
    all_of_them, _, _ = failed(faults, model, tmp_path / "out", ["x:float32[N,2,8]"], stride=7)
    assert all_of_them >= 10


def test_allocations_of_a_large_model(faults, tmp_path):
    """100 MB of weights, which are copied from file to file: what fails comes before."""
    write_chain.write(str(tmp_path / "large.pt"), 31, 900)
    all_of_them, large, _ = failed(faults, tmp_path / "large.pt", tmp_path / "out", ["x:float32[3,900]"], stride=79)
    assert all_of_them >= 10 and large >= 1
    assert (tmp_path / "out" / "model.onnx").stat().st_size > 100e6


class Groups(torch.nn.Module):
    """A number of the program gives the size of an array: a quarter of a million groups, a megabyte each for scales and shifts."""

    def forward(self, x):
        return torch.nn.functional.group_norm(x, 1 << 18)


def test_arrays_that_a_number_of_the_program_sizes(faults, tmp_path):
    model = tmp_path / "groups.pt"
    torch.jit.script(Groups()).save(model)
    _, large, sizes = failed(faults, model, tmp_path / "out", ["x:float32[2,%d,1]" % (1 << 18)])
    assert large >= 1 and sizes >= 5
