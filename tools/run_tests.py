#!/usr/bin/env python3
"""Run every test and close with one line: N passed, N failed, N skipped.

    tools/run_tests.py --python PYTHON [--build DIR]

In order: build with the default compiler and CTest; build with AddressSanitizer and UBSan, and CTest again (the
sanitizers never meet a Python that has torch loaded); make the models; pytest end to end; the Python package under each torch. A step that cannot run
counts as one failure, and the steps that do not need it still run. Python's own library only.
"""
import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SANITIZER = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.names = []

    def fail(self, name):
        self.failed += 1
        self.names.append(name)

    def read(self, path, what):
        """Add a JUnit file; one that is missing or empty is a failure of its own."""
        try:
            cases = list(xml.parse(path).getroot().iter("testcase"))
        except (OSError, xml.ParseError):
            return self.fail(what + ": no results")
        if not cases:
            return self.fail(what + ": no tests ran")
        for case in cases:
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                self.fail("%s: %s %s" % (what, case.get("classname", ""), case.get("name")))
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped += 1
            else:
                self.passed += 1


def run(command, **env):
    return subprocess.run(command, cwd=TOP, env={**os.environ, **env}).returncode


def step(title):
    print("\n== %s" % title, flush=True)


def build(folder, *options):
    jobs = str(os.cpu_count() or 2)
    return (run(["cmake", "-S", ".", "-B", folder, "-DPT2ONNX_TESTS=ON", *options]) == 0
            and run(["cmake", "--build", folder, "-j", jobs]) == 0)


def ctest(tally, folder, what, **env):
    results = os.path.join(TOP, folder, "ctest.xml")
    if os.path.exists(results):
        os.remove(results)
    run(["ctest", "--test-dir", folder, "-j2", "--output-on-failure", "--timeout", "300", "--output-junit", results], **env)
    tally.read(results, what)


def pytest(python, spread, results, *folders, **env):
    """A process a core; spread: how they share the tests (pytest-xdist's --dist)."""
    run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--durations=25", "-n", str(os.cpu_count() or 2), "--dist", spread, *folders, "--junitxml", results],
        OMP_NUM_THREADS="1", **env)


def package(tally, python, folder, **env):
    """The tests of the Python package, under the torch of this Python."""
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__.split('+')[0])"], capture_output=True, text=True).stdout.strip()
    step("the package, torch " + version)
    results = os.path.join(TOP, folder, "package-%s.xml" % version)
    if os.path.exists(results):
        os.remove(results)
    pytest(python, "loadfile", results, "tests/package", **env)
    tally.read(results, "package, torch " + version)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--python", required=True, help="a Python with torch 2.13, onnx, onnxruntime and pytest")
    p.add_argument("--build", default="build")
    o = p.parse_args()
    os.chdir(TOP)
    start, tally = time.time(), Tally()
    cache = os.path.abspath(os.environ.get("PT2ONNX_CACHE", ".cache"))
    env = {"PT2ONNX_CACHE": cache, "PT2ONNX_BUILD": os.path.abspath(o.build)}

    step("build")
    if build(o.build):
        step("tests in C")
        ctest(tally, o.build, "ctest", **env)
    else:
        tally.fail("build")

    step("build with sanitizers")
    if build("build-asan", "-DPT2ONNX_SANITIZE=ON"):
        step("tests in C with sanitizers")
        ctest(tally, "build-asan", "ctest, sanitizers", **env, **SANITIZER)
    else:
        tally.fail("build with sanitizers")

    step("models")
    models = os.path.join(cache, "models")
    for python in ("/usr/bin/python3", o.python):
        if run([python, "tests/models/make_models.py", models]):
            tally.fail("make_models.py with " + os.path.basename(os.path.dirname(python)))

    step("end to end")
    results = os.path.join(TOP, o.build, "pytest.xml")
    if os.path.exists(results):
        os.remove(results)
    pytest(o.python, "worksteal", results, "tests/python", "tests/script", **env)
    tally.read(results, "pytest")

    for python in (".venv-t113/bin/python", o.python):
        if os.path.exists(python):                      # without Debian's onnx there is no torch 1.13 to test with
            package(tally, python, o.build, **env)

    if tally.names:
        step("what failed")
        print("\n".join("  " + n for n in tally.names))
    print("\n%d s" % (time.time() - start))
    print("%d passed, %d failed, %d skipped" % (tally.passed, tally.failed, tally.skipped))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
