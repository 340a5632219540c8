"""On a terminal only: work beyond half a second shows a progress line, and a conversion ends with one line about what was written."""
import os
import pty
import re
import subprocess
import sys

import onnx
import pytest

import oracle


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A program of a hundred thousand steps."""
    path = tmp_path_factory.mktemp("progress") / "chain.pt"
    subprocess.run([sys.executable, os.path.join(oracle.TOP, "tools", "write_chain.py"), "--layers", "20000", str(path)], check=True)
    return path


# The program with a clock on which a quarter of a second goes by between two looks.
SLOW = os.path.join(os.path.dirname(oracle.PROGRAM), "slow_clock")


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


def test_line_on_a_terminal(chain, tmp_path):
    command = [SLOW, str(chain), "-o", str(tmp_path / "a.onnx")]
    seen = on_terminal(command)
    assert b"\rrunning the program" in seen.replace(b"\x1b[K", b"") and b"writing the model" in seen, seen[-300:]
    assert re.search(rb"running the program, \d[\d.]* [kM] steps/s", seen), seen[-300:]
    assert re.search(rb"tidying the graph \d+%, about \d+ s left", seen), seen[-300:]
    assert b"writing the model" not in on_terminal([*command, "-q"])


def test_bytes_a_second_while_weights_are_written(tmp_path):
    """Into a pipe that is read slowly, so that the stage takes long enough on any machine."""
    model = tmp_path / "wide.pt"
    subprocess.run([sys.executable, os.path.join(oracle.TOP, "tools", "write_chain.py"), "--layers", "4", "--width", "2048", str(model)], check=True)
    slowly = "import sys, time\nwhile sys.stdin.buffer.read1(1 << 16): time.sleep(0.001)"
    seen = on_terminal(["sh", "-c", '"$0" "$1" -o - | "$2" -c "$3"', oracle.PROGRAM, str(model), sys.executable, slowly])
    assert re.search(rb"writing the model \d+%, \d[\d.]* [kM]B/s", seen), seen[-300:]


def test_the_package_says_the_same(chain, tmp_path):
    """It listens for a second while the program runs, so that this stage takes long enough on any machine."""
    code = "import sys, time, pt2onnx; from pt2onnx import _capi, telling\n" \
           "class Slow(telling.Progress):\n" \
           "    times = 10\n" \
           "    def __call__(self, user, stage, share):\n" \
           "        if stage == b'running the program' and self.times:\n" \
           "            self.times -= 1; time.sleep(0.1)\n" \
           "        super().__call__(user, stage, share)\n" \
           "p = Slow()\n" \
           "_capi.convert(*sys.argv[1:], _capi.Options(opset=18, on_progress=p, on_amount=p.amount)); p.clear()"
    command = ["env", "PYTHONPATH=" + os.path.join(oracle.TOP, "python"), "PT2ONNX_LIBRARY=" + os.path.join(os.path.dirname(oracle.PROGRAM), "libpt2onnx.so"), sys.executable, "-c", code]
    seen = on_terminal([*command, str(chain), str(tmp_path / "a.onnx")])
    assert re.search(rb"pt2onnx: running the program, \d[\d.]* [kM] steps/s", seen), seen[-300:]


def test_nothing_in_a_pipe(chain, tmp_path):
    done = subprocess.run([SLOW, str(chain), "-o", str(tmp_path / "a.onnx")], stderr=subprocess.PIPE, text=True, check=True)
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
