"""Do the operator cases notice? One lowering is broken on purpose in a copy of the sources; a case must fail.

A C runner checks nodes, types and messages; a break that keeps the nodes but not the numbers is what the models it
emits are run for. The breaks below change nodes, so the runner alone must see them.
"""
import glob
import os
import re
import shutil
import subprocess

import pytest

import oracle
from conftest import UNOPTIMISED, objects_of_before

# (what to find in the first file of src/ops that has it, what replaces it)
BREAKS = [
    (r"= HardSwish\(self\)", "= HardSigmoid(self)"),
    (r"\"Concat\", LIST\(some\)", "\"Sum\", LIST(some)"),
]


@pytest.fixture(scope="module")
def tree():
    """A copy of the sources, built once; a break rebuilds what it touches."""
    top = os.path.join(oracle.BESIDE, "build-broken", "tree")
    shutil.rmtree(top, ignore_errors=True)
    for part in ("src", "include", "cli", "tests", "tools"):
        shutil.copytree(os.path.join(oracle.TOP, part), os.path.join(top, part))
    shutil.copytree(os.path.join(oracle.TOP, "web", "viewer"), os.path.join(top, "web", "viewer"))
    shutil.copy(os.path.join(oracle.TOP, "CMakeLists.txt"), top)
    make = run(["cmake", "-S", top, "-B", os.path.join(top, "build"), "-DPT2ONNX_TESTS=ON", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=" + UNOPTIMISED], top)
    assert make.returncode == 0, make.stdout[-2000:]
    yield top
    shutil.rmtree(top)


@pytest.fixture(scope="module")
def before(tree):
    """The families that fail before anything is broken."""
    return cases(tree)


def run(command, top=""):
    return subprocess.run(command, env={**os.environ, **(objects_of_before(top) if top else {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def cases(top):
    """Builds the runner and runs every family; which ones fail."""
    done = run(["cmake", "--build", os.path.join(top, "build"), "--target", "run_cases", "-j", str(os.cpu_count() or 2)], top)
    assert done.returncode == 0, done.stdout[-2000:]
    files = sorted(glob.glob(os.path.join(top, "tests", "ops", "*.txt")))
    assert files, "no operator cases"
    return [os.path.basename(f) for f in files if run([os.path.join(top, "build", "run_cases"), f]).returncode]


def find(top, pattern):
    for path in sorted(p for ending in ("rules", "c") for p in glob.glob(os.path.join(top, "src", "ops", "**", "*." + ending), recursive=True)):
        with open(path) as f:
            text = f.read()
        if re.search(pattern, text):
            return path, text
    raise AssertionError("nothing in src/ops matches %s: choose another break" % pattern)


@pytest.mark.parametrize("pattern,instead", BREAKS, ids=["rule", "C function"])
def test_a_case_notices(pattern, instead, tree, before):
    path, text = find(tree, pattern)
    try:
        with open(path, "w") as f:
            f.write(re.sub(pattern, lambda m: instead, text, count=1))
        after = cases(tree)
    finally:
        with open(path, "w") as f:
            f.write(text)
    assert set(after) - set(before), "%s was broken and no case noticed" % os.path.basename(path)
