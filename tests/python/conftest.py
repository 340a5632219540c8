"""conftest.py - builds that tests need, and the folder of the models."""
import fcntl
import os
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle                                                       # noqa: E402


def pytest_configure(config):
    if not os.path.exists(oracle.PROGRAM):
        raise pytest.UsageError("%s is missing: run make" % os.path.relpath(oracle.PROGRAM))


def build(folder, target, *options, **env):
    """Configure and build one target in a folder beside the main build; its path. Tests run in several processes: one builds, the others find it built."""
    where = os.path.join(oracle.BESIDE, folder)
    everything = {**os.environ, **env}
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (["cmake", "-S", oracle.TOP, "-B", where, *options],
                        ["cmake", "--build", where, "-j", str(os.cpu_count() or 2), "--target", target]):
            done = subprocess.run(command, env=everything, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert done.returncode == 0, "%s\n%s" % (" ".join(command), done.stdout[-3000:])
    return os.path.join(where, target)


UNOPTIMISED = "-O0 -w"                   # of the builds that share their objects: a third of the time to compile


def objects_of_before(top):
    """Environment for a build of the sources or of a copy of them with UNOPTIMISED flags: where ccache is installed, a file that was compiled
    in one such build is not compiled in the next, whatever its folder is called."""
    if not shutil.which("ccache"):
        return {}
    return {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": top, "CCACHE_NOHASHDIR": "1"}


@pytest.fixture(scope="session")
def clang_program():
    assert shutil.which("clang"), "clang is missing: tools/setup test installs it"
    return build("build-clang", "pt2onnx", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=" + UNOPTIMISED, CC="clang")


@pytest.fixture
def out(tmp_path):
    """An output path whose folder goes when the test ends: models are large."""
    yield tmp_path / "model.onnx"
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session")
def small():
    """A toy by name and form: small("conv_bn_relu.traced")."""
    def find(name):
        for folder in ("toys113", "toys213", "export", "vision"):
            path = os.path.join(oracle.MODELS, folder, name + ".json")
            if os.path.exists(path):
                return oracle.Case(path)
        if "PT2ONNX_WITHOUT_MODELS" in os.environ:
            pytest.skip("make test makes the models")
        raise AssertionError("no model %s in the cache: run tests/models/make_models.py" % name)
    return find
