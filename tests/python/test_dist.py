"""test_dist.py - what tools/zig.cmake compiles writes the same models as the ordinary build. `tools/setup dist` installs zig; without it this is left out."""
import glob
import os
import subprocess
import sys

import pytest

import oracle
from conftest import build

ZIG = glob.glob(os.path.join(oracle.TOP, ".venv-dist", "lib", "python3*", "site-packages", "ziglang", "zig"))
ZLIB = os.path.join(oracle.TOP, "build-dist", "zlib")
QUICK = "-O1 -DNDEBUG"
MODELS = [os.path.join(oracle.TOP, "examples", name) for name in ("digits_cnn.pt", "digits_cnn.pt2")]

pytestmark = pytest.mark.skipif(not ZIG or not os.path.isdir(ZLIB) or os.uname().machine != "x86_64", reason="tools/setup dist has not been run")


@pytest.fixture(scope="module")
def musl():
    return build("build-musl", "pt2onnx", "-DCMAKE_TOOLCHAIN_FILE=%s/tools/zig.cmake" % oracle.TOP, "-DZIG=" + ZIG[0], "-DTARGET=x86_64-linux-musl",
                 "-DPT2ONNX_ZLIB=" + ZLIB, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=" + QUICK, CMAKE_C_COMPILER_LAUNCHER="")


def written(program, model, path):
    subprocess.run([program, "-q", model, "-o", path, "-i", "x:float32[N,1,8,8]"], check=True)
    with open(path, "rb") as f:
        return f.read()


def test_the_program_needs_no_library(musl):
    said = subprocess.run(["ldd", musl], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    assert "statically linked" in said or "not a dynamic executable" in said


@pytest.mark.parametrize("model", MODELS, ids=os.path.basename)
def test_the_same_model(musl, model, tmp_path):
    assert written(musl, model, tmp_path / "musl.onnx") == written(oracle.PROGRAM, model, tmp_path / "ours.onnx")


def test_the_sandbox_is_there(musl, tmp_path):
    """On a kernel where the ordinary build has all of the sandbox, this one has."""
    said = [subprocess.run([p, "-v", MODELS[0], "-o", tmp_path / "m.onnx", "-i", "x:float32[N,1,8,8]"], stderr=subprocess.PIPE, text=True, check=True).stderr
            for p in (musl, oracle.PROGRAM)]
    missing = [[line for line in text.splitlines() if "the sandbox is without" in line] for text in said]
    assert missing[0] == missing[1]


def test_the_command_line(musl):
    subprocess.run([sys.executable, os.path.join(oracle.TOP, "tests", "cli", "run.py"), musl], check=True)
