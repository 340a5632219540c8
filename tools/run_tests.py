#!/usr/bin/env python3
"""Run every test and close with one line: N passed, N failed, N skipped.

    tools/run_tests.py --python PYTHON [--build DIR]

In order: build with the default compiler and CTest; build with AddressSanitizer and UBSan, and CTest again (the sanitizers never meet a
Python that has torch loaded); make the models; pytest end to end; the Python package under each torch. A step that cannot run counts as
one failure, and the steps that do not need it still run.

A line a step, and one a minute with how far it is and how long is left, by the last run's times (BUILD/test-times.json) or else those
below. What the steps print is in BUILD/test.log. What a test writes goes when it has passed, and all of it at the end. Python's own library
only.
"""
import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = os.cpu_count() or 2
SANITIZER = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
# Seconds of each step on two cores that do nothing else, in a fresh clone.
SECONDS = {"build": 41, "tests in C": 24, "build with sanitizers": 57, "tests in C with sanitizers": 260, "models": 52,
           "end to end": 500, "the package, torch 1.13": 26, "the package, torch 2.13": 45}
# How far CTest, pytest, make and ninja say that they are: (done, of).
FAR = re.compile(r"^ *(\d+)/(\d+) Test|\[ *(\d+)(%)\]|^\[(\d+)/(\d+)\]")
SHOWN = 6                                   # lines of what a failed test said
GIGABYTES = {"the models and the builds": 5, "what tests write": 3}      # of room on disk


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.names = []

    def fail(self, name, said=""):
        self.failed += 1
        self.names.append((name, said))

    def read(self, path, what):
        """Add a JUnit file; one that is missing or empty is a failure of its own."""
        try:
            cases = list(xml.parse(path).getroot().iter("testcase"))
        except (OSError, xml.ParseError):
            return self.fail(what + ": no results")
        if not cases:
            return self.fail(what + ": no tests ran")
        for case in cases:
            wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
            if wrong is not None or case.get("status") == "fail":
                said = (wrong.get("message") or wrong.text if wrong is not None else None) or case.findtext("system-out") or ""
                self.fail("%s: %s %s" % (what, case.get("classname", ""), case.get("name")), said)
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped += 1
            else:
                self.passed += 1


def clock(seconds):
    return "%d:%02d" % divmod(int(seconds), 60)


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Steps:
    """The steps with their times: what is printed, and what is left."""

    def __init__(self, folder, titles):
        os.makedirs(folder, exist_ok=True)
        self.times = os.path.join(folder, "test-times.json")
        self.log = open(os.path.join(folder, "test.log"), "w")
        self.left, self.taken, self.current, self.said = list(titles), {}, None, 0.0
        self.begin = time.time()
        try:
            with open(self.times) as f:
                self.expected = {**SECONDS, **json.load(f)}
        except (OSError, ValueError):
            self.expected = dict(SECONDS)
        print("what the steps print is in %s; about %s min" % (os.path.relpath(self.log.name, TOP), clock(self.remaining(0))), flush=True)

    def remaining(self, done):
        """Seconds: what of the current step is not done, and the steps behind it, corrected by how the machine does today."""
        usual = sum(self.expected.get(t, 60) for t in self.taken)
        pace = sum(self.taken.values()) / usual if usual > 60 else 1
        here = self.expected.get(self.current, 60) * (1 - done) if self.current else 0
        if self.current and done > 0.1:
            here = (time.time() - self.start) * (1 / done - 1)
        return here + pace * sum(self.expected.get(t, 60) for t in self.left)

    def step(self, title):
        self.finish()
        if title in self.left:
            self.left.remove(title)
        self.current, self.start, self.said, self.used = title, time.time(), time.time(), processor_time()
        self.note("\n== %s\n" % title)

    def finish(self):
        if self.current:
            self.taken[self.current] = time.time() - self.start
            print("%7s  %-28s %4d s, %4d s of processor time" % (clock(time.time() - self.begin), self.current, self.taken[self.current],
                                                               processor_time() - self.used), flush=True)
            with contextlib.suppress(OSError), open(self.times, "w") as f:
                json.dump({**self.expected, **self.taken}, f, indent=1)
        self.current = None

    def note(self, text):
        """Into the log. On a full disk the line is lost, and not who hears the commands: one whose lines nobody takes waits for ever."""
        with contextlib.suppress(OSError):
            self.log.write(text)
            self.log.flush()

    def heard(self, line, which=0):
        """A line of one of the commands that a step runs: into the log; once a minute where the step is."""
        self.note(line)
        m = FAR.search(line)
        if not m:
            return
        n = [int(x) for x in m.groups() if x and x != "%"]
        self.far[which] = n[0] / (n[1] if len(n) > 1 else 100)
        if time.time() - self.said > 60:
            done = sum(self.far) / len(self.far)
            self.said = time.time()
            print("%7s    %s: %d %%, about %s min left" % (clock(time.time() - self.begin), self.current, 100 * done, clock(self.remaining(done))), flush=True)

    def run(self, command, **env):
        return self.run_all([command], **env)[0]

    def run_all(self, commands, **env):
        """Run the commands beside each other; their exit codes."""
        self.far, hearing = [0.0] * len(commands), threading.Lock()

        def listen(which, process):
            for line in process.stdout:
                with hearing:
                    self.heard(line, which)

        self.note("".join("+ %s\n" % " ".join(command) for command in commands))
        processes = [subprocess.Popen(command, cwd=TOP, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
                     for command in commands]
        listeners = [threading.Thread(target=listen, args=at) for at in enumerate(processes)]
        for listener in listeners:
            listener.start()
        for listener in listeners:
            listener.join()
        return [process.wait() for process in processes]


def build(steps, folder, *options):
    return (steps.run(["cmake", "-S", ".", "-B", folder, "-DPT2ONNX_TESTS=ON", *options]) == 0
            and steps.run(["cmake", "--build", folder, "-j", str(JOBS)]) == 0)


def fresh(folder, name):
    path = os.path.join(TOP, folder, name)
    if os.path.exists(path):
        os.remove(path)
    return path


def ctest(steps, tally, folder, what, **env):
    results = fresh(folder, "ctest.xml")
    steps.run(["ctest", "--test-dir", folder, "-j", str(JOBS), "--output-on-failure", "--timeout", "300", "--output-junit", results], **env)
    tally.read(results, what)


def pytest(steps, python, spread, results, *folders, **env):
    """A process a core; spread: how they share the tests (pytest-xdist's --dist)."""
    with tempfile.TemporaryDirectory(prefix="pt2onnx-tests-", ignore_cleanup_errors=True) as written:
        steps.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--durations=25", "-n", str(JOBS), "--dist", spread, *folders,
                   "--basetemp", written, "-o", "tmp_path_retention_policy=failed", "--junitxml", results], OMP_NUM_THREADS="1", **env)


def package(steps, tally, python, folder, version, **env):
    """The tests of the Python package, under the torch of this Python."""
    results = fresh(folder, "package-%s.xml" % version)
    pytest(steps, python, "loadfile", results, "tests/package", **env)
    tally.read(results, "package, torch " + version)


def warn_of_little_room(cache):
    """A disk that gets full fails hundreds of tests, each in its own words."""
    for what, folder in (("the models and the builds", cache), ("what tests write", tempfile.gettempdir())):
        os.makedirs(folder, exist_ok=True)
        free = shutil.disk_usage(folder).free / 1e9
        if free < GIGABYTES[what]:
            print("only %.1f GB are free in %s: %s may take %d GB" % (free, folder, what, GIGABYTES[what]), flush=True)


def torch_of(python):
    return subprocess.run([python, "-c", "import torch; print('.'.join(torch.__version__.split('.')[:2]))"], capture_output=True, text=True).stdout.strip()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--python", required=True, help="a Python with torch 2.13, onnx, onnxruntime and pytest")
    p.add_argument("--build", default="build")
    o = p.parse_args()
    os.chdir(TOP)
    # The first python3 on the PATH may be a script that looks for the interpreter at each start.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "/usr/bin:/bin")
    if shutil.which("ccache"):
        os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
    start, tally = time.time(), Tally()
    cache = os.path.abspath(os.environ.get("PT2ONNX_CACHE", ".cache"))
    warn_of_little_room(cache)
    env = {"PT2ONNX_CACHE": cache, "PT2ONNX_BUILD": os.path.abspath(o.build)}
    pythons = {torch_of(python): python for python in (".venv-t113/bin/python", o.python) if shutil.which(python)}     # without Debian's onnx there is no torch 1.13
    titles = ["build", "tests in C", "build with sanitizers", "tests in C with sanitizers", "models", "end to end"]
    steps = Steps(os.path.join(TOP, o.build), titles + ["the package, torch " + version for version in pythons])

    asan = os.path.join(os.path.dirname(os.path.abspath(o.build)), "build-asan")
    for folder, options, name, more in ((o.build, (), "", {}), (asan, ("-DPT2ONNX_SANITIZE=ON",), " with sanitizers", SANITIZER)):
        steps.step("build" + name)
        if build(steps, folder, *options):
            steps.step("tests in C" + name)
            ctest(steps, tally, folder, "ctest" + name.replace(" with", ","), **env, **more)
        else:
            tally.fail("build" + name)

    steps.step("models")
    makers = ("/usr/bin/python3", o.python)             # each makes folders of its own
    ended = steps.run_all([[python, "tests/models/make_models.py", "--threads", "1", os.path.join(cache, "models")] for python in makers])
    for python, code in zip(makers, ended):
        if code:
            tally.fail("make_models.py with " + python)

    steps.step("end to end")
    results = fresh(o.build, "pytest.xml")
    pytest(steps, o.python, "worksteal", results, "tests/python", "tests/script", **env)
    tally.read(results, "pytest")

    for version, python in pythons.items():
        steps.step("the package, torch " + version)
        package(steps, tally, python, o.build, version, **env)
    steps.finish()

    for name, said in tally.names:
        print("failed: %s" % name)
        print("".join("    | %s\n" % x[:160] for x in said.strip().splitlines()[:SHOWN]), end="")
    print("%d s, %d s of processor time%s" % (time.time() - start, processor_time(), "; all that was printed: " + os.path.relpath(steps.log.name, TOP) if tally.names else ""))
    print("%d passed, %d failed, %d skipped" % (tally.passed, tally.failed, tally.skipped))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
