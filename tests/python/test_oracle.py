"""Would the oracle notice? It compares everything else, so it is tested itself."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import pytest

import oracle

X = numpy.linspace(-100, 100, 8, dtype=numpy.float32)


def test_equal_passes():
    oracle.compare([X, X > 0], [X, X > 0])
    oracle.compare([X + 0.009], [X])


@pytest.mark.parametrize("got", [
    [X + numpy.float32(0.011)], [X.astype(numpy.float64)], [X[:-1]], [X[None]], [], [X, X], [numpy.where(X > 99, numpy.nan, X).astype(numpy.float32)],
], ids=["value", "dtype", "shape", "rank", "none", "more", "nan"])
def test_difference_fails(got):
    with pytest.raises(AssertionError):
        oracle.compare(got, [X])


def test_scale_is_the_outputs_own():
    """A small output is held to its own scale, not to 1."""
    with pytest.raises(AssertionError):
        oracle.compare([X * 1e-6 + numpy.float32(1e-6)], [X * numpy.float32(1e-6)])


def test_ints_are_exact():
    with pytest.raises(AssertionError):
        oracle.compare([numpy.array([1000001])], [numpy.array([1000000])])


def test_infinities():
    inf = numpy.array([numpy.inf, 1], numpy.float32)
    oracle.compare([inf], [inf])
    with pytest.raises(AssertionError):
        oracle.compare([-inf], [inf])


@pytest.mark.parametrize("xml,good", [
    ('<testsuite><testcase name="a"/></testsuite>', (1, 0, 0)),
    ('<testsuite><testcase name="a"><failure/></testcase><testcase name="b"/></testsuite>', (1, 1, 0)),
    ('<testsuites><testsuite><testcase name="a"><error/></testcase><testcase name="b"><skipped/></testcase></testsuite></testsuites>', (0, 1, 1)),
    ('<testsuite><testcase name="a" status="fail"/><testcase name="b" status="notrun"/></testsuite>', (0, 1, 1)),
    ('<testsuite/>', (0, 1, 0)), ('', (0, 1, 0)), (None, (0, 1, 0)),
])
def test_the_tally(xml, good, tmp_path):
    """What closes `make test`: no results count as a failure, never as nothing."""
    sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
    import run_tests
    path, tally = tmp_path / "r.xml", run_tests.Tally()
    if xml is not None:
        path.write_text(xml)
    tally.read(str(path), "x")
    assert (tally.passed, tally.failed, tally.skipped) == good


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_stops_no_command(tmp_path):
    """A log that can't be written costs its lines, and not who reads what a command prints: the command would wait for ever."""
    sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
    import run_tests
    steps = run_tests.Steps(str(tmp_path), ["a"])
    ended = None
    with contextlib.suppress(OSError), open("/dev/full", "w") as steps.log:                 # closing it fails, too
        steps.step("a")
        ended = steps.run(["seq", "100000"])
        steps.finish()
    assert ended == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_setup_names_what_is_missing():
    """Without root and sudo nothing is installed: the packages are named. Run with no compiler in reach, from a copy that the other user
    can reach: a clone may lie in a home folder that others may not enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copytree(os.path.join(oracle.TOP, "tools"), os.path.join(folder, "tools"), ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "sh", "tools/setup", "build"], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env={"CC": "no-such-compiler", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 1 and "apt-get install" in done.stderr and "gcc" in done.stderr, done.stderr
