"""test_wheel.py - the wheel: built once, installed into an environment that has nothing else, and beside each torch."""
import fcntl
import os
import re
import subprocess
import sys
import venv

import numpy
import onnxruntime
import pytest

import oracle
from conftest import UNOPTIMISED, objects_of_before

MODEL = os.path.join(oracle.TOP, "examples", "digits_cnn.pt")
CONVERT = "import pt2onnx, sys; print(pt2onnx.convert(sys.argv[1], sys.argv[2], inputs=['x:float32[N,1,8,8]'], on_note=None))"
EXPORT = "import pt2onnx, sys, torch; pt2onnx.export(torch.nn.Linear(3, 4), torch.ones(2, 3), sys.argv[1], input_names=['x'])"


def run(*command, **env):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("PT2ONNX", "PYTHON"))}
    done = subprocess.run(command, env={**keep, **env}, capture_output=True, text=True, timeout=1200, cwd="/")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built by the first of the processes that share the tests; the others wait for it."""
    shared = tmp_path_factory.getbasetemp()
    folder = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "the-wheel"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--disable-pip-version-check", "-w", str(folder),
                "-C", "build-dir=%s" % os.path.join(oracle.BESIDE, "build-wheel"),
                # What is inside is looked at, not how fast it is.
                "-C", "cmake.define.CMAKE_C_FLAGS_RELEASE=", "-C", "cmake.define.CMAKE_C_FLAGS=" + UNOPTIMISED, oracle.TOP, CC="cc", **objects_of_before(oracle.TOP))
    found = sorted(folder.glob("*.whl"))
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def empty(wheel, tmp_path_factory):
    """The bin folder of an environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", str(wheel))
    return folder / "bin"


def test_one_wheel_for_every_python(wheel):
    assert re.match(r"pt2onnx-[\d.]+-py3-none-linux_", wheel.name)


def test_an_environment_without_torch(empty, tmp_path):
    python = str(empty / "python")
    missing = "import importlib.util as u; print([m for m in ('torch', 'onnx', 'numpy') if u.find_spec(m)])"
    assert run(python, "-c", missing) == "[]\n"
    assert run(python, "-c", CONVERT, MODEL, str(tmp_path / "m.onnx")) == "%s\n" % (tmp_path / "m.onnx")
    run(str(empty / "pt2onnx"), "-q", MODEL, "-o", str(tmp_path / "n.onnx"), "-i", "x:float32[N,1,8,8]")
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "n.onnx").read_bytes()
    y, = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": numpy.zeros((5, 1, 8, 8), numpy.float32)})
    assert y.shape == (5, 10)


def test_zlib_is_inside(empty):
    library = run(str(empty / "python"), "-c", "import pt2onnx._capi as c; print(c._find())").strip()
    assert "libz" not in run("ldd", library) and "libz" not in run("ldd", str(empty / "pt2onnx"))


@pytest.mark.parametrize("python", [sys.executable, "/usr/bin/python3"], ids=["this", "debian"])
def test_beside_each_torch(wheel, python, tmp_path):
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0:
        pytest.skip("%s has no torch" % python)
    run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", "--target",
        str(tmp_path / "lib"), str(wheel))
    run(python, "-W", "ignore", "-c", EXPORT, str(tmp_path / "m.onnx"), PYTHONPATH=str(tmp_path / "lib"))
    y, = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": numpy.ones((2, 3), numpy.float32)})
    assert y.shape == (2, 4)
