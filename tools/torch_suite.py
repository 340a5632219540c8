#!/usr/bin/env python3
"""PyTorch 1.13's own exporter tests with torch's exporter and with pt2onnx: who passes what.

    tools/torch_suite.py --python PYTHON [--opset N] [--script] [--test PATTERN] [--again] [--lost]

PYTHON has torch 1.13, torchvision, ONNX Runtime, pytest and parameterized. The tests come from Debian's source package, which
tools/torch-suite-source fetches into the cache; results are cached per test there, and --again runs pt2onnx's once more, --lost only
those that torch passes and pt2onnx did not.
Prints the tests that torch passes and pt2onnx does not, with their first line of reason; exits 1 when there are any but those that demand an
error of a model that pt2onnx converts: the test has compared its results with torch's by then."""
import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = "test_pytorch_onnx_onnxruntime.py"


def outcomes(path):
    """{test: "passed", "skipped", or the reason why not}"""
    found = {}
    for case in xml.parse(path).getroot().iter("testcase"):
        bad = next((e for e in (case.find("failure"), case.find("error")) if e is not None), None)
        skipped = case.find("skipped") is not None
        found[case.get("name")] = (bad.get("message") or "failed")[:300] if bad is not None else "skipped" if skipped else "passed"
    return found


def run(o, who, folder, tests=()):
    """tests: only these; none: all that the options say."""
    env = {**os.environ, "PT2ONNX_LIBRARY": os.path.join(TOP, "build", "libpt2onnx.so"), "OMP_NUM_THREADS": "1",
           "PYTHONPATH": os.pathsep.join([os.path.join(TOP, "python"), os.path.join(TOP, "tools")])}
    results = os.path.join(folder, "now.xml")
    if os.path.exists(results):
        os.remove(results)
    name = "TestONNXRuntime_opset_version_%d_is_script_%s_keep_initializers_as_inputs_False" % (o.opset, o.script)
    pattern = name + (" and (%s)" % o.test if o.test else "")
    command = [o.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "torch_suite_plugin", "--tb=no", "-W", "ignore", "--timeout", "120",
               *(["%s::%s::%s" % (FILE, name, t) for t in tests] or [FILE, "-k", pattern]), "--junitxml", results]
    if who == "pt2onnx":
        env["PT2ONNX_SUITE"] = "1"
    with open(os.path.join(folder, who + ".log"), "w") as log:
        status = subprocess.run(command, cwd=os.path.join(folder, "source", "test", "onnx"), env=env, stdout=log, stderr=log).returncode
    if status not in (0, 1):                            # pytest's: not a word about tests
        sys.exit("the tests did not run: %s" % log.name)
    return outcomes(results)


def lost_tests(torch, ours):
    return sorted(t for t in torch if torch[t] == "passed" and ours.get(t) not in ("passed", None))


def demands_error(reason):
    return re.match(r"AssertionError: \w+ not raised", reason) is not None


def cached(o, who, folder):
    path = os.path.join(folder, "%s-%d-%s.json" % (who, o.opset, "script" if o.script else "trace"))
    known = json.load(open(path)) if os.path.exists(path) else {}
    lost = lost_tests(cached(o, "torch", folder), known) if who == "pt2onnx" and o.lost else ()
    if known and not lost and (who == "torch" or not o.again):
        return known
    known.update(run(o, who, folder, lost))
    if not o.test or who == "pt2onnx" and os.path.exists(path):
        with open(path, "w") as f:
            json.dump(known, f, indent=1, sort_keys=True)
    return known


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--python", required=True)
    p.add_argument("--opset", type=int, default=14)
    p.add_argument("--script", action="store_true")
    p.add_argument("--test", help="as pytest -k")
    p.add_argument("--again", action="store_true")
    p.add_argument("--lost", action="store_true")
    o = p.parse_args()
    o.python = os.path.abspath(o.python)
    folder = os.path.join(os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache"))), "torch-suite")
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["sh", os.path.join(TOP, "tools", "torch-suite-source"), os.path.join(folder, "source")], check=True)
    torch, ours = cached(o, "torch", folder), cached(o, "pt2onnx", folder)
    both = [t for t in torch if torch[t] == ours.get(t) == "passed"]
    only_ours = [t for t in ours if ours[t] == "passed" and torch.get(t) != "passed"]
    lost = lost_tests(torch, ours)
    for t in lost:
        print("%s\n    %s" % (t, ours[t].replace("\n", "\n    ")))
    demanded = [t for t in lost if demands_error(ours[t])]
    print("opset %d, %s: passed by both %d, by torch only %d (%d of them demand an error where pt2onnx converts), by pt2onnx only %d"
          % (o.opset, "scripted" if o.script else "traced", len(both), len(lost), len(demanded), len(only_ours)))
    return 1 if len(lost) > len(demanded) else 0


if __name__ == "__main__":
    sys.exit(main())
