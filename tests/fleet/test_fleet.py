#!/usr/bin/env python3
"""examples/fleet.py on two workers of Ray on this machine: one is killed while it converts, and each model is converted once.

    .venv-fleet/bin/python tests/fleet/test_fleet.py --pt2onnx build/pt2onnx          `make fleet-test` makes the environment

pt2onnx is called through a script that notes who calls it for which model and waits a little, so that there is a middle to kill in."""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pyarrow.parquet as pq

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = TOP / "tests" / "cli" / "files"
MODELS = 24
SLOW = """#!/bin/sh
for word; do case $word in --json) ;; *) echo "$PPID $word" >> '{log}'; break ;; esac; done
sleep 0.2
exec '{pt2onnx}' "$@"
"""


def fleet(folder, *more):
    words = [sys.executable, TOP / "examples" / "fleet.py", folder / "models", folder / "out", "--workers", "2", "--pt2onnx", folder / "slow", *more]
    environment = {**os.environ, "RAY_worker_niceness": "0"}        # 15 without it: forever, on a machine that is busy
    return subprocess.Popen(list(map(str, words)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def starts(folder):
    """[(process that called, model)]"""
    log = folder / "log"
    return [(int(pid), pathlib.Path(model).name) for pid, model in (line.split(" ", 1) for line in log.read_text().splitlines())] if log.exists() else []


def rows(folder):
    return [row for f in sorted((folder / "out" / "results").glob("*.parquet")) for row in pq.read_table(f).to_pylist()]


def ended(process, status):
    said, _ = process.communicate(timeout=300)
    assert process.returncode == status, (process.returncode, said)
    return said


def kill_one(folder, process):
    """The worker that has begun the latest model, once a few are done. Gives that model."""
    end = time.monotonic() + 240
    while len(starts(folder)) < 6:
        assert process.poll() is None and time.monotonic() < end, process.communicate()[0] if process.poll() is not None else "nothing begins"
        time.sleep(0.02)
    pid, model = starts(folder)[-1]
    command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    assert re.match("ray::", command), f"{pid} is no worker of Ray: {command}"
    os.kill(pid, signal.SIGKILL)
    return model


def check_models(folder, names, pt2onnx):
    """Each has one row and one file, which is what pt2onnx writes of it; nothing unfinished is left."""
    found = rows(folder)
    assert sorted(row["model"] for row in found) == sorted(names), sorted(row["model"] for row in found)
    for row in found:
        output = folder / "out" / "models" / (row["model"] + ".onnx")
        if "damaged" in row["model"]:
            assert row["status"] == "unreadable" and row["exit"] == 3 and row["error"] and not row["output"] and not output.exists(), row
            continue
        assert row["status"] == "ok" and row["opset"] == 17 and row["nodes"] > 0 and row["bytes"] == output.stat().st_size, row
        subprocess.run([pt2onnx, "-q", folder / "models" / row["model"], "-o", folder / "direct.onnx", "--opset", "17"], check=True)
        assert (folder / "direct.onnx").read_bytes() == output.read_bytes(), row["model"]
    assert any(note["kind"] == "assumed" for row in found for note in row["notes"]), "no row has a note"
    left = [p.name for p in (folder / "out").rglob("*") if p.name.endswith(".part")]
    assert not left, left


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", type=pathlib.Path, default=TOP / "build" / "pt2onnx")
    pt2onnx = p.parse_args().pt2onnx.resolve()
    with tempfile.TemporaryDirectory() as there:
        folder = pathlib.Path(there)
        (folder / "models" / "below").mkdir(parents=True)
        names = [f"below/net {i}.pt" if i % 2 else f"net {i}.pt" for i in range(MODELS)] + ["damaged.pt"]
        for name in names[:-1]:
            shutil.copy(FILES / "net.pt", folder / "models" / name)
        (folder / "models" / "damaged.pt").write_bytes((FILES / "net.pt").read_bytes()[:200])
        (folder / "slow").write_text(SLOW.format(log=folder / "log", pt2onnx=pt2onnx))
        (folder / "slow").chmod(0o755)

        process = fleet(folder, "--", "--opset", "17")
        killed = kill_one(folder, process)
        said = ended(process, 1)
        assert f"{MODELS} ok, 1 unreadable" in said, said
        check_models(folder, names, pt2onnx)
        by = [pid for pid, model in starts(folder) if model == killed]
        assert len(by) == 2 and by[0] != by[1], f"{killed} was begun by {by}"

        before = len(starts(folder))                # again: nothing to do; one more model: one conversion; other options: all of them
        assert "nothing to do" in ended(fleet(folder, "--", "--opset", "17"), 0) and len(starts(folder)) == before
        shutil.copy(FILES / "net.pt", folder / "models" / "new.pt")
        assert "1 ok" in ended(fleet(folder, "--", "--opset", "17"), 0)
        check_models(folder, [*names, "new.pt"], pt2onnx)
        assert starts(folder)[before:] == [(starts(folder)[-1][0], "new.pt")]
    print(f"{MODELS} models on two workers, one of them killed while it converted {killed}: each has one row and the right file")


if __name__ == "__main__":
    main()
