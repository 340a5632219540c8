#!/bin/sh
# tools/run_tests.py: what it prints of a step, the time that is left, and what a failed command does to the result.
# usage: test_run_tests.sh SOURCE_DIR
set -eu
cd "$1"
PYTHONDONTWRITEBYTECODE=1 python3 - <<'EOF'
import contextlib
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, "tools")
import run_tests

SAYS = "print('[%d/4] model'); raise SystemExit(%d)"


def command(at, code):
    return [sys.executable, "-c", SAYS % (at, code)]


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "test-times.json"), "w") as f:
        json.dump({"models": 100, "end to end": 300, "build": 1}, f)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        steps = run_tests.Steps(folder, ["models", "end to end"])
        steps.step("models")
        codes = steps.run_all([command(4, 0), command(2, 3)])
        far = list(steps.far)
        steps.said = 0
        steps.start -= 60                       # a minute in, one of two commands done, the other half: 20 s more, and 300 s
        steps.far = [1, 0]
        steps.heard("[2/4] model\n", 1)
        steps.finish()
        alone = steps.run(command(1, 7))
    said, log = printed.getvalue(), open(steps.log.name).read()
    assert codes == [0, 3] and alone == 7, (codes, alone)
    assert far == [1, 0.5], far
    assert "about 6:40 min" in said.splitlines()[0], said
    assert any("models: 75 %%, about 5:2%d min left" % n in said for n in range(5)), said
    assert "models  " in said.splitlines()[-1] and " s of processor time" in said.splitlines()[-1], said
    assert "[4/4] model" in log and "[2/4] model" in log and log.count("+ " + sys.executable) == 3, log
    with open(steps.times) as f:
        times = json.load(f)
    assert 60 <= times["models"] < 90 and times["end to end"] == 300, times

tally = run_tests.Tally()
tally.read("/nonexistent.xml", "pytest")
assert tally.failed == 1 and tally.names == [("pytest: no results", "")], tally.names
EOF
