#!/usr/bin/env python3
"""The fast lane: build, and run what needs no PyTorch. `make check` calls it.

    tools/check.py [--build DIR] [--python PYTHON] [--only NAME,..] [--changed]

Without a choice: all tests in C (units, command line, operator cases, fuzz corpora, the checks of tools/), and where PYTHON has ONNX
Runtime the numbers that the operator cases record, at the default opset. --only reduce: one family, a folder of src or a test by its
name, with its models at all opsets. --changed: what the files that differ from HEAD, or else the commits that main has not, are judged
by (tools/judges.py); tests of programs too, where PYTHON has torch.

A line a group; a failure says what to run again. Exit code 1 if anything failed. Python's own library only.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
import judges                                                           # noqa: E402

JOBS = os.cpu_count() or 2
GROUPS = {"unit": "unit tests", "ops": "operator cases", "cli": "command line", "fuzz": "fuzz corpora", "tools": "layers, format, lists"}
# The first python3 on the PATH may be a script that looks for the interpreter at each start.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "/usr/bin:/bin")
SHOWN = 12                                  # lines of what a failed test printed


def run(command, **env):
    return subprocess.run(command, cwd=TOP, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def relative(path):
    return os.path.relpath(path, TOP)


class Report:
    """A line for each group, and whether all passed."""

    def __init__(self):
        self.start, self.failed = time.time(), []

    def line(self, group, said, since=None):
        print("  %-24s %s%s" % (group, said, "" if since is None else "   %.1f s" % (time.time() - since)), flush=True)

    def failure(self, name, again, output):
        self.failed.append(name)
        print("    failed: %s" % name)
        print("\n".join("      | " + x for x in output.strip().splitlines()[-SHOWN:]))
        print("      again: %s" % again, flush=True)

    def end(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print("%s, %.0f s, %.0f s of processor time" % ("%d failed: %s" % (len(self.failed), " ".join(self.failed)) if self.failed else "all passed",
                                                        time.time() - self.start, used.ru_utime + used.ru_stime))
        return 1 if self.failed else 0


# ---- the groups ----

def build(report, folder, targets=()):
    start = time.time()
    steps = [["cmake", "-S", ".", "-B", folder, "-DPT2ONNX_TESTS=ON"],
             ["cmake", "--build", folder, "-j", str(JOBS)] + [w for t in targets for w in ("--target", t)]]
    for command in steps:
        done = run(command)
        if done.returncode:
            report.line("build", "failed")
            report.failure("build", " ".join(command), done.stdout)
            return False
    report.line("build", "ok", start)
    return True


def again(name, folder):
    """The shortest command that runs one test of CTest."""
    kind, _, rest = name.partition("/")
    if kind == "ops" and rest != "promotion":
        return "%s/run_cases tests/ops/%s.txt" % (relative(folder), rest)
    if kind == "unit":
        return "%s/unit_%s" % (relative(folder), rest)
    return "ctest --test-dir %s --output-on-failure -R '^%s$'" % (relative(folder), name)


def ctest(report, folder, patterns):
    """The tests of CTest that match, a line for each group of names."""
    results = os.path.join(folder, "check.xml")
    if os.path.exists(results):
        os.remove(results)
    chosen = ["-R", "|".join(patterns)] if patterns is not None else []
    start = time.time()
    done = run(["ctest", "--test-dir", folder, "-j", str(JOBS), "--timeout", "300", "--output-junit", results] + chosen)
    try:
        cases = list(xml.parse(results).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        cases = []
    if not cases:
        report.line("tests in C", "none has this name, and no family, folder or file of src")
        return report.failure("ctest", "ctest --test-dir %s -N" % relative(folder), done.stdout)
    for kind, title in GROUPS.items():
        own = [c for c in cases if c.get("name").startswith(kind + "/")]
        failed = [c for c in own if c.get("status") == "fail"]
        left = [c.get("name") for c in own if c.get("status") in ("notrun", "disabled")]
        said = "%d of %d failed" % (len(failed), len(own)) if failed else "%d passed" % (len(own) - len(left))
        if own:
            report.line(title, said + ("; not run: " + " ".join(left) if left else ""))
        for c in failed:
            report.failure(c.get("name"), again(c.get("name"), folder), c.findtext("system-out") or "")
    report.line("tests in C", "%d ran" % len(cases), start)


def has(python, modules):
    return bool(python) and run([python, "-c", "import " + modules]).returncode == 0


def parts_of(files, n):
    """The files in n parts of about the same size."""
    parts = [[0, []] for _ in range(max(1, min(n, len(files))))]
    for f in sorted(files, key=os.path.getsize, reverse=True):
        least = min(parts, key=lambda p: p[0])
        least[0] += os.path.getsize(f)
        least[1].append(relative(f))
    return [p[1] for p in parts]


def numbers_of(python, folder, files, how):
    """(run, what it printed) of one part: the models of the cases, then ONNX Runtime."""
    work = tempfile.mkdtemp(prefix="check-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        emitted = run([os.path.join(folder, "run_cases"), how, work, *files])
        if emitted.returncode:
            return False, "".join(x for x in emitted.stdout.splitlines(True) if not x.endswith(" 0 failures\n"))
        done = run([python, "tests/ops/run_in_ort.py", "--recorded", work, *files], OMP_NUM_THREADS="1")
        return done.returncode == 0, done.stdout
    finally:
        shutil.rmtree(work, ignore_errors=True)


def numbers(report, python, folder, families, how):
    title = "numbers in ONNX Runtime"
    if not has(python, "numpy, onnxruntime"):
        return report.line(title, "not run: no Python has it; tools/setup run makes one")
    start = time.time()
    files = [os.path.join(TOP, "tests", "ops", f + ".txt") for f in families]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(lambda part: numbers_of(python, folder, part, how), parts_of(files, JOBS)))
    ran = sum(int(n) for _, text in done for n in re.findall(r"^(\d+) models of cases ran", text, re.M))
    bad = sum(int(n) for _, text in done for n in re.findall(r"ran in ONNX Runtime, (\d+) failed", text))
    report.line(title, "%d of %d models differ" % (bad, ran) if bad else "%d models as recorded" % ran, start)
    if any(not ok for ok, _ in done):
        named = " ".join(families) if len(families) < 9 else "FAMILY"
        report.failure("numbers", "make check ONLY=%s" % named.replace(" ", ","), "\n".join(t for ok, t in done if not ok))


def programs(report, python, folder, tests):
    """Tests of programs, which need torch."""
    title = "tests of programs"
    if not has(python, "torch, pytest"):
        return report.line(title, "not run, without PyTorch: " + " ".join(tests))
    start = time.time()
    spread = ["-n", str(JOBS)] if len(tests) > 1 and has(python, "xdist") else []
    made = os.path.isdir(os.path.join(TOP, os.environ.get("PT2ONNX_CACHE", ".cache"), "models"))
    without = {} if made else {"PT2ONNX_WITHOUT_MODELS": "1"}
    done = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore", *spread, *tests], OMP_NUM_THREADS="1", PT2ONNX_BUILD=folder, **without)
    said = (done.stdout.strip().splitlines() or ["no output"])[-1].split(" in ")[0].strip("= ")
    report.line(title, said if made else said + "; those on models are skipped: make test makes them", start)
    if done.returncode:
        failed = re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", done.stdout)
        report.failure("programs", "%s -m pytest %s" % (python, " ".join(failed or tests)), done.stdout)


# ---- what to run ----

def named(names):
    """What --only chooses: a family, a path, a file or folder anywhere in src, or tests by their name (`zip`, `unit/zip`)."""
    whole = judges.Judges()
    for name in names:
        whole.ctest.add("^%s$" % re.escape(name) if "/" in name else "^(unit|ops|cli|fuzz|tools)/%s$" % re.escape(name))
        if name in judges.cases(TOP):
            paths = ["tests/ops/%s.txt" % name]
        elif os.path.exists(os.path.join(TOP, name)):
            paths = [name]
        else:
            paths = [relative(p) for p in glob.glob(os.path.join(TOP, "src", "**", name), recursive=True)]
        for path in paths:
            whole.add(judges.of(TOP, path))
    return whole


def git(*words):
    done = subprocess.run(["git", *words], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.split("\0") if done.returncode == 0 else None


def changed_files():
    """What differs from HEAD; where nothing does, what the commits behind main have changed."""
    now = git("diff", "--name-only", "-z", "HEAD")
    if now is None:
        sys.exit("check: git knows nothing of this folder: what has changed? Try ONLY=, or make check")
    found = [f for f in now + git("ls-files", "-z", "-o", "--exclude-standard") if f]
    return found or [f for f in git("diff", "--name-only", "-z", "main...HEAD") or [] if f]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", default="build")
    p.add_argument("--python", default="", help="one that has ONNX Runtime, and for tests of programs torch")
    p.add_argument("--only", default="", help="families, folders, files or tests, with commas")
    p.add_argument("--changed", action="store_true")
    o = p.parse_args()
    folder, report = os.path.join(TOP, o.build), Report()
    if o.changed:
        files = changed_files()
        if not files:
            print("check: nothing differs from main")
            return 0
        print("changed: " + " ".join(files[:9]) + (" and %d more" % (len(files) - 9) if len(files) > 9 else ""))
        wanted = judges.of_all(TOP, files)
    else:
        wanted = named(o.only.split(",")) if o.only else judges.everything(TOP)
    if not build(report, folder):
        return report.end()
    if wanted.ctest:
        ctest(report, folder, None if judges.ALL in wanted.ctest else sorted(wanted.ctest))
    if wanted.families:
        numbers(report, o.python, folder, sorted(wanted.families), "--twins" if len(wanted.families) <= 3 else "--emit")
    if wanted.programs:
        programs(report, o.python, folder, sorted(wanted.programs))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
