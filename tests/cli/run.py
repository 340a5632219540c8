#!/usr/bin/env python3
"""run.py - command-line tests: NAME.cmd is a shell script; NAME.out, NAME.err and NAME.exit are what it must print and return.

    tests/cli/run.py PROGRAM [NAME.cmd..]             run these, or all
    tests/cli/run.py PROGRAM --rewrite [NAME.cmd..]   write down what they do now; review it like code
    tests/cli/run.py PROGRAM --windows [NAME.cmd..]   PROGRAM is for Windows: without those that say `# not on Windows: REASON`

Each runs in an empty folder with a copy of files/ in it and `pt2onnx` first on the PATH, in the C locale. Nothing of
the program's is masked: what it prints must not depend on where, when or as whom it runs. A missing .out or .err means nothing
is printed, a missing .exit means 0. Python's own library only.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# What the C library says of errors of the system is not the program's: musl's words become glibc's.
MUSL = {b"Filename too long": b"File name too long"}


def copy_files(target):
    """files/, and all of it may be written: the sources may be read-only."""
    shutil.copytree(HERE / "files", target)
    for at, _, names in os.walk(target):
        for path in [at] + [os.path.join(at, n) for n in names]:
            os.chmod(path, os.stat(path).st_mode | 0o200)


def execute(program, script):
    with tempfile.TemporaryDirectory() as folder:
        work, bin_dir = os.path.join(folder, "work"), os.path.join(folder, "bin")
        copy_files(work)
        os.mkdir(bin_dir)
        os.symlink(os.path.abspath(program), os.path.join(bin_dir, "pt2onnx"))
        env = {"PATH": bin_dir + ":" + os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "HOME": work}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        done = subprocess.run(["sh", str(script)], cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        err = done.stderr
        for musl, glibc in MUSL.items():
            err = err.replace(musl, glibc)
        return {".out": done.stdout, ".err": err, ".exit": b"%d\n" % done.returncode}


def nothing(suffix):
    return b"0\n" if suffix == ".exit" else b""


def rewrite(script, got):
    for suffix, data in got.items():
        path = script.with_suffix(suffix)
        if data != nothing(suffix):
            path.write_bytes(data)
        elif path.exists():
            path.unlink()


def compare(script, got):
    """The differences as text; empty when all is as written down."""
    text = ""
    for suffix, data in got.items():
        path = script.with_suffix(suffix)
        expected = path.read_bytes() if path.exists() else nothing(suffix)
        if data != expected:
            lines = [b.decode("utf-8", "backslashreplace").splitlines(keepends=True) for b in (expected, data)]
            text += "".join(difflib.unified_diff(*lines, path.name, "now")) + "\n"
    return text


def main():
    program, *rest = sys.argv[1:] or sys.exit(__doc__)
    writing = "--rewrite" in rest
    scripts = [pathlib.Path(a).resolve() for a in rest if not a.startswith("--")] or sorted(HERE.glob("*.cmd"))
    if "--windows" in rest:
        scripts = [s for s in scripts if not re.search("^# not on Windows: ", s.read_text(), re.M)]
    failed = 0
    for script in scripts:
        got = execute(program, script)
        if writing:
            rewrite(script, got)
            continue
        difference = compare(script, got)
        failed += bool(difference)
        if difference:
            print("%s:\n%s" % (script.name, difference))
    print("%d commands, %d %s" % (len(scripts), len(scripts) if writing else failed, "written" if writing else "failed"))
    return 1 if failed or not scripts else 0


sys.exit(main())
