"""Several models in one call: processes that are killed, and progress on a terminal. What is printed is in tests/cli/several*.cmd."""
import os
import pty
import shutil
import signal
import subprocess
import time

import pytest

import oracle

FILES = os.path.join(oracle.TOP, "tests", "cli", "files")
NET, SCRIPTED = os.path.join(FILES, "net.pt"), os.path.join(FILES, "scripted.pt")
ENDLESS = os.path.join(oracle.TOP, "tests", "hostile", "list_diamond_eq.pt")        # 2^60 comparisons
NO_LIMITS = ["--limit", "steps=1000000000000000", "--limit", "seconds=1000"]


def start(tmp_path, *models, **how):
    """The program, when only the endless ones among the models are left."""
    process = subprocess.Popen([oracle.PROGRAM, *models, "-o", str(tmp_path / "out"), "-j", "8", *NO_LIMITS], **how)
    endless = len([m for m in models if "diamond" in m])
    made = tmp_path / "out"
    until(lambda: made.exists() and len(list(made.glob("*.onnx"))) == len(models) - endless and len(children(process.pid)) == endless)
    return process


def until(true):
    for _ in range(500):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it does not become true within 10 s")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def runs(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_all(number, tmp_path):
    other = shutil.copy(ENDLESS, tmp_path / "other_diamond.pt")
    process = start(tmp_path, ENDLESS, str(other), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    processes = children(process.pid)
    process.send_signal(number)
    assert process.wait(timeout=10) == -number
    until(lambda: not any(runs(pid) for pid in processes))
    assert os.listdir(tmp_path / "out") == []


def test_one_that_is_killed_leaves_the_others(tmp_path):
    process = start(tmp_path, NET, ENDLESS, SCRIPTED, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    made = str(tmp_path / "out")
    assert out == "%s -> %s/net.onnx\n%s: cannot be read, or written\n%s -> %s/scripted.onnx\n" % (NET, made, ENDLESS, SCRIPTED, made)
    assert "pt2onnx: %s: it was killed, for want of memory perhaps" % ENDLESS in err
    assert sorted(os.listdir(made)) == ["net.onnx", "scripted.onnx"]


def test_progress_on_a_terminal(tmp_path):
    """How many are done, once half a second has gone by, and gone itself when all is said."""
    ours, theirs = pty.openpty()
    other = str(shutil.copy(ENDLESS, tmp_path / "other_diamond.pt"))
    process = start(tmp_path, NET, ENDLESS, other, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    time.sleep(0.7)
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
    assert process.wait(timeout=20) == 3
    said = b""
    try:
        while some := os.read(ours, 65536):
            said += some
    except OSError:                         # the other end is closed
        pass
    os.close(ours)
    assert b"\r\x1b[K2 of 3, about " in said, said
    assert said.endswith(b"3 models: 1 converted, 2 cannot be read or written\r\n"), said
