#!/usr/bin/env python3
"""Convert every model of the cache, run it, compare it with torch; resumable.

    tools/corpus.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--opsets 9,18,26] [--again] [--no-make]

Makes the models first (tests/models), with Debian's torch and with this Python's. A model with dynamic sizes runs at all
sizes that were recorded, in one session; a model that keeps state is given its own state again. A result is kept in the
cache with digests of the program, the model and what judges it: a stopped run goes on, a new build starts over. Ends with a table and exit code 1 if a result was wrong, pt2onnx crashed, or
refused a model that docs/limits.md does not name, or one in twenty of all; each failure comes with the first operator or construct that is missing.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "python"))
import oracle                                                       # noqa: E402

SETS = ("toys113", "toys213", "export", "programs", "exports", "vision", "classification", "segmentation", "video", "detection", "quantised",
        "audio", "timm", "demand", "transformers")
COLUMNS = ("right", "refused as limits.md says", "refused", "wrong", "crashed")
REFUSED_MOST = 0.05                 # of all models; one of a few is no more


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def wanted(patterns, name):
    """Any of "resnet*,classification": part of SET/NAME.FORM, or a glob over it."""
    return not patterns or any(p in name or fnmatch.fnmatch(name, p) for p in patterns.split(","))


def listed_refusals():
    """{model: words of the message} of docs/limits.md, where they are lines such as "- `detection/ssd*`: `aten::foo` .."."""
    with open(os.path.join(TOP, "docs", "limits.md")) as f:
        return dict(re.findall(r"^- `(\w+/[\w.*]+)`: `([^`]+)`", f.read(), re.M))


def attempt(case, opset, folder):
    """(one of COLUMNS, why): what became of one model."""
    out = os.path.join(folder, "model.onnx")
    dynamic = case.about["dynamic"] and case.about["runs"] > 1
    try:
        done = oracle.convert(case.file, out, "--opset", str(opset), *case.options(dynamic), timeout=120)
        if done.returncode == 1:
            return "refused", done.stderr.strip()[:3000]
        if done.returncode:
            return "crashed", "exit %d: %s" % (done.returncode, done.stderr.strip()[:3000])
        oracle.check(out)
        if opset <= oracle.ORT_NEWEST:
            oracle.run(out, case.runs(dynamic), case.state(), case.tolerance())
        if oracle.FIXED in done.stderr:
            return "wrong", "a false alarm: " + done.stderr.strip()[:1500]
        return "right", ""
    except subprocess.TimeoutExpired:
        return "crashed", "conversion takes more than 120 s"
    except Exception as e:                                          # what ONNX Runtime or the checker refuses is wrong too
        return "wrong", ("%s: %s" % (type(e).__name__, e))[:1500]
    finally:
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))


def cause(text):
    """The first operator that is missing, or else the first line of a message without the file's name."""
    lines = [line.strip() for line in text.split("\n") if line.strip() and not line.startswith(("assumed", "dropped"))]
    for line in lines:
        operator = re.match(r"([\w.]+::[\w.]+): pt2onnx does not know", line)
        if operator:
            return operator.group(1)
    first = next((line for line in lines if line.startswith("pt2onnx:")), lines[0] if lines else "no message")
    return re.sub(r"^pt2onnx: (\S+: )?", "", first)[:160]


def as_listed(result, why, name, listed):
    """A refusal that limits.md names, for the reason that it names."""
    reason = next((r for pattern, r in listed.items() if fnmatch.fnmatch(name, pattern)), None)
    return "refused as limits.md says" if result == "refused" and reason and reason in why else result


def table(results):
    """A line a set, a column a result; then what stands in the way, by cause."""
    out = ["%-15s %8s   %s" % ("", "models", "   ".join(COLUMNS))]
    sets = list(dict.fromkeys(name.split("/")[0] for name, _ in results))
    for s in sets + ["all"]:
        counts = [sum(r == c for (name, _), (r, _) in results.items() if s in (name.split("/")[0], "all")) for c in COLUMNS]
        out.append("%-15s %8d   %s" % (s, sum(counts), "   ".join("%*d" % (len(c), n) for c, n in zip(COLUMNS, counts))))
    causes = {}
    for (name, opset), (r, why) in results.items():
        if r in COLUMNS[2:]:
            causes.setdefault((r, cause(why)), []).append("%s@%d" % (name, opset))
    for (r, why), names in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        out.append("%4d %s: %s\n       %s" % (len(names), r, why, " ".join(names[:6]) + (" .." if len(names) > 6 else "")))
    return "\n".join(out)


def summary(results):
    """(one line, is it good)"""
    counts = {c: sum(r == c for r, _ in results.values()) for c in COLUMNS}
    refused = counts["refused as limits.md says"] + counts["refused"]
    line = "%d models: %d right, %d refused (%.1f %%), %d wrong, %d crashed" % (
        len(results), counts["right"], refused, 100 * refused / max(1, len(results)), counts["wrong"], counts["crashed"])
    return line, bool(results) and not any(counts[c] for c in COLUMNS[2:]) and refused <= max(1, REFUSED_MOST * len(results))


def make_models(only):
    """False when a recipe failed: its model would be missing from the table."""
    done = []
    for python in ("/usr/bin/python3", sys.executable):
        done.append(subprocess.run([python, os.path.join(TOP, "tests", "models", "make_models.py"), oracle.MODELS, "--corpus", "--only", only]).returncode)
    return not any(done)


def known_results(record):
    if not os.path.exists(record):
        return {}
    with open(record) as f:
        return {(r["model"], r["opset"], r.get("digests")): (r["result"], r.get("why")) for r in map(json.loads, f)}


def remembered(known, log, case, name, opset, program, folder):
    """The result of an earlier run with this program and this model, or else a new one."""
    digests = program + "." + digest(case.file)
    if (name, opset, digests) in known:
        return known[name, opset, digests]
    result, why = attempt(case, opset, folder)
    log.write(json.dumps({"model": name, "opset": opset, "digests": digests, "result": result, "why": why}) + "\n")
    log.flush()
    return result, why


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=oracle.PROGRAM)
    p.add_argument("--only", default="", metavar="PATTERN,..", help="parts of, or globs over, SET/NAME.FORM")
    p.add_argument("--opsets", default="18")
    p.add_argument("--again", action="store_true", help="forget earlier results")
    p.add_argument("--no-make", action="store_true", help="take the models that are there")
    o = p.parse_args()
    oracle.PROGRAM = os.path.abspath(o.pt2onnx)
    made = o.no_make or make_models(o.only)
    program, listed = digest(oracle.PROGRAM) + "." + digest(oracle.__file__), listed_refusals()
    os.makedirs(oracle.CACHE, exist_ok=True)
    record = os.path.join(oracle.CACHE, "corpus.jsonl")
    known = {} if o.again else known_results(record)
    todo = [(c, int(opset)) for s in SETS for c in oracle.cases(s) for opset in o.opsets.split(",")
            if wanted(o.only, "%s/%s" % (s, c.name))]
    results, start = {}, time.time()
    with tempfile.TemporaryDirectory() as folder, open(record, "w" if o.again else "a") as log:
        for i, (case, opset) in enumerate(todo):
            name = "%s/%s" % (case.set, case.name)
            result, why = remembered(known, log, case, name, opset, program, folder)
            result = as_listed(result, why, name, listed)
            results[name, opset] = result, why
            if result in COLUMNS[2:] or sys.stdout.isatty():
                print("[%d/%d] %s opset %d: %s %s" % (i + 1, len(todo), name, opset, result, why and cause(why)), flush=True)
    line, good = summary(results)
    print(table(results))
    print("%s; %d s" % (line, time.time() - start))
    if not made:
        print("not all models could be made: see above")
    return 0 if made and good else 1


if __name__ == "__main__":
    sys.exit(main())
