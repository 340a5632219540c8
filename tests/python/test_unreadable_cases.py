"""A case that cannot be read is said in one line, FILE:LINE first, by run_cases and by tools/record-cases, never with a traceback."""
import pathlib
import subprocess
import sys

import pytest

import oracle

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = pathlib.Path(oracle.BUILD) / "run_cases"
LINES = {
    "no_call": "relu f32[3]", "open": "relu(f32[2] 1 2", "open_dims": "relu(f32[2", "open_list": "cat([f32[2], f32[2]",
    "complex_as_python_has_it": "abs(c64[2] 1+2j 3)", "word_as_value": "relu(f32[2] 1 two)", "no_such_type": "relu(f3[2] 1 2)",
    "too_few_values": "relu(f32[3] 1 2)", "too_many_values": "relu(f32[2] 1 2 3)", "nothing_there": "relu(@)",
}


def said(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("name", LINES)
def test_the_line_is_named(name, tmp_path):
    path = tmp_path / "none.txt"                                        # no family: nothing else is missing in it
    path.write_text("# first\n" + LINES[name] + "\n")
    of_runner = [s for s in said(RUNNER, path) if "the case" in s]
    assert len(of_runner) == 1 and of_runner[0].startswith(f"{path}:2: the case ") and of_runner[0].endswith(LINES[name])
    recorded = said(sys.executable, ROOT / "tools/record-cases", "--runner", RUNNER, path)
    assert recorded[0].startswith(f"{path}:2: the case ") and len(recorded) <= 2
    assert path.read_text() == "# first\n" + LINES[name] + "\n"


def test_what_record_cases_needs(tmp_path):
    path = tmp_path / "none.txt"
    path.write_text("-> f32[2] 1 2\n")
    record = [sys.executable, ROOT / "tools/record-cases"]
    assert said(*record, "--runner", RUNNER, path) == [f"{path}:1: a result stands before the first case: -> f32[2] 1 2"]
    assert said(*record, "--runner", tmp_path / "run_cases", path) == [
        f"record-cases: {tmp_path / 'run_cases'} is missing: cmake --build build --target run_cases"]
    assert "No such file" in said(*record, "--runner", RUNNER, tmp_path / "nowhere.txt")[0]


def test_an_operator_that_the_runner_does_not_know_is_not_recorded(tmp_path):
    path = tmp_path / "none.txt"
    path.write_text("relu(f32[2] 1 2)\nnothing_of_this_name(f32[2] 1 2)\n")
    assert said(sys.executable, ROOT / "tools/record-cases", "--runner", RUNNER, path) == [
        f"{path}:2: nothing_of_this_name(f32[2] 1 2): {RUNNER} is older than this operator, or its build has failed; {path} is left as it is"]
    assert path.read_text() == "relu(f32[2] 1 2)\nnothing_of_this_name(f32[2] 1 2)\n"


CRASHES = """\
import os, runpy, sys
sys.path.insert(0, "tests/ops")
import cases
cases.torch_call = lambda case: os.abort() if case.line == 2 else []
runpy.run_path("tools/record-cases", run_name="__main__")
"""


def test_the_case_that_ends_pytorch_is_named(tmp_path):
    path = tmp_path / "none.txt"
    text = "relu(f32[2] 1 2)\nabs(f32[2] 1 2)\n"
    path.write_text(text)
    assert said(sys.executable, "-c", CRASHES, "--runner", RUNNER, path) == [f"{path}:2: abs(f32[2] 1 2): PyTorch ended with signal 6; {path} is left as it is"]
    assert path.read_text() == text
