#!/usr/bin/env python3
"""Convert every model of the cache and compare it with torch; resumable.

    tools/corpus.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--opsets 9,18,26] [--again] [--no-make]

Makes the models first (tests/models), with Debian's torch and with this Python's. A result is kept in the cache
with the digest of the program that made it: a stopped run goes on, a new build starts over. Ends with a table of
what failed and why, and exit code 1 if anything did.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "python"))
import oracle                                                       # noqa: E402

SETS = ("toys113", "toys213", "export", "vision", "classification", "segmentation", "video", "detection")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def wanted(patterns, name):
    """Any of "resnet*,classification": part of SET/NAME.FORM, or a glob over it."""
    return not patterns or any(p in name or fnmatch.fnmatch(name, p) for p in patterns.split(","))


def attempt(case, opset, folder):
    """What happened: "ok", or where it stopped and the first lines of why."""
    out = os.path.join(folder, "model.onnx")
    dynamic = case.about["dynamic"] and case.about["runs"] > 1
    try:
        done = oracle.convert(case.file, out, "--opset", str(opset), *case.options(dynamic), timeout=120)
        if "refused" in case.tags and done.returncode == 1:
            return "ok"
        if done.returncode:
            return "convert (exit %d): %s" % (done.returncode, done.stderr.strip()[:1500])
        stage = "check"
        oracle.check(out)
        stage = "run"
        if opset <= oracle.ORT_NEWEST:
            oracle.run(out, case.runs(dynamic))
        return "ok"
    except subprocess.TimeoutExpired:
        return "convert: takes more than 120 s"
    except AssertionError as e:
        return "compare: %s" % e
    except Exception as e:
        return "%s: %s" % (stage, str(e)[:1500])
    finally:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=oracle.PROGRAM)
    p.add_argument("--only", default="", metavar="PATTERN,..", help="parts of, or globs over, SET/NAME.FORM")
    p.add_argument("--opsets", default="18")
    p.add_argument("--again", action="store_true", help="forget earlier results")
    p.add_argument("--no-make", action="store_true", help="take the models that are there")
    o = p.parse_args()
    oracle.PROGRAM = os.path.abspath(o.pt2onnx)
    if not o.no_make:
        for python in ("/usr/bin/python3", sys.executable):
            subprocess.run([python, os.path.join(TOP, "tests", "models", "make_models.py"), oracle.MODELS, "--corpus", "--only", o.only])
    program = digest(oracle.PROGRAM)
    os.makedirs(oracle.CACHE, exist_ok=True)
    record = os.path.join(oracle.CACHE, "corpus.jsonl")
    known = {}
    if os.path.exists(record) and not o.again:
        with open(record) as f:
            known = {(r["model"], r["opset"]): r["result"] for r in map(json.loads, f) if r["program"] == program}
    todo = [(c, int(opset)) for s in SETS for c in oracle.cases(s) for opset in o.opsets.split(",")
            if wanted(o.only, "%s/%s" % (s, c.name))]
    results, start = {}, time.time()
    with tempfile.TemporaryDirectory() as folder, open(record, "w" if o.again else "a") as log:
        for i, (case, opset) in enumerate(todo):
            key = ("%s/%s" % (case.set, case.name), opset)
            if key not in known:
                known[key] = attempt(case, opset, folder)
                log.write(json.dumps({"model": key[0], "opset": opset, "program": program, "result": known[key]}) + "\n")
                log.flush()
            results[key] = known[key]
            if known[key] != "ok" or sys.stdout.isatty():
                print("[%d/%d] %s opset %d: %s" % (i + 1, len(todo), key[0], opset, known[key].replace("\n", "\n    ")), flush=True)
    good = sum(r == "ok" for r in results.values())
    print("%d of %d agree with torch (%d s)" % (good, len(results), time.time() - start))
    return 0 if results and good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
