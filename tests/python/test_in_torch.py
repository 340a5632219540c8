"""tests/fuzz/in_torch.py: it compares generated programs with PyTorch, notices a converter that is wrong, and kills what does not end."""
import os
import re
import stat
import subprocess
import sys

import oracle

TOOL = os.path.join(oracle.TOP, "tests", "fuzz", "in_torch.py")
BUILD = os.path.dirname(os.path.abspath(oracle.PROGRAM))
WRONG = """import subprocess, sys
import onnx
done = subprocess.run([%r] + sys.argv[1:])
if done.returncode == 0:
    out = sys.argv[sys.argv.index("-o") + 1]
    model = onnx.load(out)
    result = model.graph.output[0]
    model.graph.node.append(onnx.helper.make_node("Cast", [result.name], ["other"], to=onnx.TensorProto.STRING))
    result.name, result.type.tensor_type.elem_type = "other", onnx.TensorProto.STRING
    onnx.save(model, out)
sys.exit(done.returncode)
"""
IN_PYTHON = """#!/bin/sh
exec "%s" "%s" "$@"
"""
ENDLESS = """#!/bin/sh
echo $$ >> %s
sleep 600
"""


def compared(folder, *more):
    """(exit code, verdict -> count)"""
    done = subprocess.run([sys.executable, TOOL, str(folder), "blocks", "--build", BUILD, *more], stdout=subprocess.PIPE, text=True, timeout=300)
    last = done.stdout.strip().split("\n")[-1]
    return done.returncode, {k.strip(): int(n) for k, n in re.findall(r"([A-Za-z ]+): (\d+)", last)}


def script(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_programs_agree_and_a_wrong_model_is_noticed(tmp_path):
    code, counts = compared(tmp_path / "right", "--count", "3")
    assert code == 0 and counts["right"] >= 1 and sum(counts.values()) == 3, counts
    (tmp_path / "wrong.py").write_text(WRONG % oracle.PROGRAM)
    wrong = script(tmp_path / "wrong", IN_PYTHON % (sys.executable, tmp_path / "wrong.py"))
    code, found = compared(tmp_path / "wrong_models", "--count", "3", "--pt2onnx", wrong)
    assert code == 1 and found["WRONG"] == counts["right"], (counts, found)
    assert "PyTorch gives" in (tmp_path / "wrong_models" / "blocks.log").read_text()


def test_what_does_not_end_is_killed(tmp_path):
    pids = tmp_path / "pids"
    endless = script(tmp_path / "endless", ENDLESS % pids)
    _, counts = compared(tmp_path / "programs", "--count", "2", "--seconds", "2", "--pt2onnx", endless)
    assert counts == {"time": 2}
    started = pids.read_text().split()
    assert len(started) == 2 and not any(map(oracle.alive, started))
