"""Work beyond a second shows a progress line, on a terminal only."""
import os
import pty
import subprocess
import sys

import pytest

import oracle



@pytest.fixture(scope="module")
def long_work(tmp_path_factory):
    """A chain whose conversion takes several seconds."""
    path = tmp_path_factory.mktemp("progress") / "chain.pt"
    subprocess.run([sys.executable, os.path.join(oracle.TOP, "tools", "write_chain.py"), "--layers", "60000", str(path)], check=True)
    return path


def on_terminal(command):
    """What the command writes when its stderr is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:                                     # Linux's end of a terminal
        pass
    os.close(ours)
    assert process.wait() == 0
    return seen


def test_line_on_a_terminal(long_work, tmp_path):
    seen = on_terminal([oracle.PROGRAM, str(long_work), "-o", str(tmp_path / "a.onnx")])
    assert b"\rrunning the program" in seen.replace(b"\x1b[K", b"") and b"writing the model" in seen, seen[-300:]
    assert b"writing the model" not in on_terminal([oracle.PROGRAM, str(long_work), "-o", str(tmp_path / "b.onnx"), "-q"])


def test_nothing_in_a_pipe(long_work, tmp_path):
    done = subprocess.run([oracle.PROGRAM, str(long_work), "-o", str(tmp_path / "a.onnx")], stderr=subprocess.PIPE, text=True, check=True)
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("assumed:"), done.stderr
