"""On a terminal only: work beyond a second shows a progress line, and a conversion ends with one line about what was written."""
import os
import pty
import re
import subprocess
import sys

import onnx
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


DIGITS = os.path.join(oracle.TOP, "examples", "digits_cnn.pt")
LAST = r"%s: ([\d.]+) (bytes|kB), (\d+) nodes, opset 17, \d+\.\d\d s, (.*)"


@pytest.mark.parametrize("options, assumed", [(["-i", "N:float32[N,1,8,8]"], "nothing assumed"), ([], "1 assumption above")])
def test_the_last_line_on_a_terminal(options, assumed, tmp_path):
    out = tmp_path / "a.onnx"
    command = [oracle.PROGRAM, DIGITS, "-o", str(out), "--opset", "17", *options]
    last = on_terminal(command).decode().splitlines()[-1]
    found = re.fullmatch(LAST % re.escape(str(out)), last)
    assert found and found[4] == assumed, last
    assert abs(float(found[1]) * 1000 - os.path.getsize(out)) <= 50 and found[2] == "kB"
    assert int(found[3]) == sum(len(g.node) for g in oracle.graphs(onnx.load(str(out)).graph))
    assert b"nodes" not in on_terminal(command + ["-q"])
    assert "nodes" not in subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr


def test_the_last_line_counts_the_weights_beside_the_model(tmp_path):
    out = tmp_path / "a.onnx"
    last = on_terminal([oracle.PROGRAM, DIGITS, "-o", str(out), "--opset", "17", "--weights=external"]).decode().splitlines()[-1]
    found = re.fullmatch(LAST % re.escape(str(out)), last)
    assert found and abs(float(found[1]) * 1000 - os.path.getsize(out) - os.path.getsize(str(out) + ".data")) <= 50, last
