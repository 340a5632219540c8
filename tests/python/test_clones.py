"""The README's commands where people clone: in a home folder that others may not enter, below names with a space and with Chinese; an
unpacked archive without git's metadata, its sources read-only, and not as root."""
import os
import shutil
import stat
import subprocess
import tempfile

import pytest

import oracle
from conftest import UNOPTIMISED, objects_of_before

# Nothing is fetched, and no optimisation: that the sources build is looked at, not how fast they are.
QUICK = {"PIP_NO_INDEX": "1", "CMAKE_BUILD_TYPE": "None", "CFLAGS": UNOPTIMISED, "PT2ONNX_PYTHON": "", "MAKEFLAGS": ""}
PARTS = ("CMakeLists.txt", "LICENSE", "Makefile", "README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml", ".clang-format", "cli", "docs", "examples",
         "include", "packaging", "python", "src", "tests", "tools", "web")
NOBODY = 65534


def copy(folder):
    """What an archive of the repository holds, and nothing that was built."""
    os.makedirs(folder)
    for name in PARTS:
        source, target = os.path.join(oracle.TOP, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "node_modules", "dist"))
        else:
            shutil.copy(source, target)
    return folder


def make(clone, *words, user=None, **env):
    """`make WORDS` in the clone, perhaps as another user, who has no home."""
    become = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups"] if user else []
    path = "/usr/local/bin:/usr/bin:/bin" if user else os.environ["PATH"]
    foreign = ("PT2ONNX", "PYTEST") + (("CCACHE", "CMAKE_C_COMPILER") if user else ())
    keep = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    if not user:
        keep.update(objects_of_before(clone))
    done = subprocess.run(become + ["make", "--no-print-directory", *words], cwd=clone, env={**keep, **QUICK, "PATH": path, **env}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=1500)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def checked(clone, *words, **how):
    """Build, then the tests of the command line and the checks of tools/: those that know where they are."""
    make(clone, "build", *words, **how)
    said = make(clone, "check", "ONLY=cli", *words, **how)
    assert "command line" in said and "all passed" in said, said
    return said


@pytest.fixture
def outside():
    """A folder that every user can reach; pytest's own belong to one."""
    folder = tempfile.mkdtemp(prefix="clones-")
    os.chmod(folder, 0o755)
    yield folder
    for at, folders, files in os.walk(folder):
        os.chmod(at, 0o755)
    shutil.rmtree(folder)


def test_in_a_home_that_others_may_not_enter(outside):
    home = os.path.join(outside, "My home 家")
    clone = copy(os.path.join(home, "pt2onnx 转换"))
    os.chmod(home, 0o700)
    checked(clone)
    model = os.path.join(clone, "模型 1.onnx")
    subprocess.run([os.path.join(clone, "build", "pt2onnx"), "examples/digits_cnn.pt", "-o", model], cwd=clone, check=True, capture_output=True)
    assert os.path.getsize(model) > 1000


def read_only(folder):
    for at, folders, files in os.walk(folder):
        for name in files:
            path = os.path.join(at, name)
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & 0o555 | 0o444)
        os.chmod(at, 0o555)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_read_only_sources_of_an_archive_as_another_user(outside):
    clone, build = copy(os.path.join(outside, "pt2onnx")), os.path.join(outside, "build")
    os.mkdir(build)
    os.chown(build, NOBODY, NOBODY)
    read_only(clone)
    assert not os.path.exists(os.path.join(clone, ".git"))
    checked(clone, "BUILD=" + build, user=NOBODY, HOME="/nonexistent")
    assert not os.path.exists(os.path.join(clone, "build"))
