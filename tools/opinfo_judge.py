"""opinfo_judge.py - convert the samples of recordings and compare what ONNX Runtime makes of them with torch. No torch here.

Reads jobs as lines of JSON: {"recording": PATH, "form": "pt", "options": [..], "known": {index: [sha, verdict, reason]}, "skip": [index, ..]}. Answers
with "start INDEX" before and "verdict INDEX SHA VERDICT JSON-REASON" after each sample, then "done": whoever started this process
knows which sample it died of.
"""
import ctypes
import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import onnxruntime as ort

import opinfo_tolerance as T

SECONDS = 60
# A model's element type is ONNX's number; numpy lacks bfloat16, which travels as its bits.
ONNX_TYPE = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
             "uint32": 12, "uint64": 13, "bfloat16": 16}
HALF = ("float16", "bfloat16")
PART = {"complex64": "float32", "complex128": "float64"}        # a complex tensor is a float one with a last dim of 2


def unpacked(v):
    """(torch's name of the element type, array); the bits of a bfloat16, pairs for complex."""
    if not isinstance(v, tuple):
        dtype = "bool" if isinstance(v, bool) else "int64" if isinstance(v, int) else "float32"
        return dtype, np.asarray(v, dtype)
    dtype, shape, data = v
    a = np.frombuffer(data, np.uint16 if dtype == "bfloat16" else dtype).reshape(shape)
    return PART.get(dtype, dtype), T.as_pairs(a).copy()


def fed(session, inputs):
    feeds = {}
    for i, v in zip(session.get_inputs(), inputs):
        dtype, a = unpacked(v)
        feeds[i.name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(a, ONNX_TYPE[dtype])
    return feeds


def taken(value):
    """(element type, array) of a result."""
    if value.element_type() != ONNX_TYPE["bfloat16"]:
        a = value.numpy()
        return a.dtype.name, a
    shape = value.shape()
    n = int(np.prod(shape, dtype=np.int64))
    bits = np.array((ctypes.c_uint16 * n).from_address(value.data_ptr()), np.uint16) if n else np.zeros(0, np.uint16)
    return "bfloat16", bits.reshape(shape)


def widened(dtype, a):
    return (a.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else a


def run(model):
    """The session; a model of more inputs than the call had tensors is a mistake that feeding shows."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def twin_of(sample, i):
    """Result i in float32, where the sample is one of half precision and PyTorch computes it in that too; else None."""
    twin = sample.get("twin")
    dtype, a = unpacked(twin[i]) if twin and isinstance(twin[i], tuple) else (None, None)
    return a if dtype == "float32" else None


def compare_decompositions(op, got, want):
    """Types and shapes one by one, then what of the numbers is unique."""
    for i, ((got_type, a), (want_type, b)) in enumerate(zip(got, want)):
        if got_type != want_type or a.shape != b.shape:
            return "result %d: %s%s, torch has %s%s" % (i, got_type, list(a.shape), want_type, list(b.shape))
    pairs = zip(T.determined(op, [a for _, a in got]), T.determined(op, [b for _, b in want]))
    return next((bad for bad in (T.differs(op, got[0][0], a, b) for a, b in pairs) if bad), None)


def equal_found_first(op, sample, i, first, got, wanted):
    """Do indices differ from torch's only in which of several equal elements is found first, where nobody promises that?"""
    if "stable=True" in sample.get("call", ""):
        return False
    x = unpacked(sample["inputs"][0])[1]
    return T.lead_to(op, x, first, got) if i == 1 else T.same_order(op, x, got, wanted)


def compare(op, sample, session):
    results = session.run_with_ort_values(None, fed(session, sample["inputs"]))
    if len(results) != len(sample["outputs"]):
        return "%d results, torch has %d" % (len(results), len(sample["outputs"]))
    if sample["kind"] == "exact" and T.determined(op, [taken(v)[1] for v in results]) is not None:
        return compare_decompositions(op, [taken(v) for v in results], [unpacked(v) for v in sample["outputs"]])
    for i, (value, want) in enumerate(zip(results, sample["outputs"])):
        got_type, got = taken(value)
        want_type, wanted = unpacked(want)
        if isinstance(want, float) and got_type in T.TOLERANCE:             # a Python float is any of them
            want_type, wanted = got_type, np.asarray(want, widened(got_type, got).dtype)
        if got_type != want_type:
            return "result %d: dtype %s, torch has %s" % (i, got_type, want_type)
        wanted = wanted if isinstance(want, float) else widened(want_type, wanted)
        bad = T.differs(op, want_type, widened(got_type, got), wanted, sample["kind"] == "exact")
        twin = twin_of(sample, i) if want_type in HALF and got.shape == wanted.shape else None
        if twin is not None and twin.shape == got.shape:
            bad = T.twin_says(want_type, widened(got_type, got), wanted, twin, bad)
        if bad and not (got.shape == wanted.shape and equal_found_first(op, sample, i, taken(results[0])[1], got, wanted)):
            return "result %d: %s" % (i, bad)
    return None


def judge(op, sample, model):
    """(verdict, reason) of a model in ONNX Runtime."""
    try:
        session = run(model)
    except Exception as e:
        text = str(e).split("\n")[0]
        return ("nokernel" if "NOT_IMPLEMENTED" in text else "wrong"), "load: " + text
    if len(session.get_inputs()) != len(sample["inputs"]):
        return "wrong", "%d inputs, torch has %d" % (len(session.get_inputs()), len(sample["inputs"]))
    try:
        bad = compare(op, sample, session)
    except Exception as e:
        bad = "run: " + str(e).split("\n")[0]
        if "NOT_IMPLEMENTED" in bad:
            return "nokernel", bad
    if bad:
        reason = T.fault(op, [widened(*unpacked(v)) for v in sample["inputs"]], bad)
        return ("ort-fault", "%s: %s" % (reason, bad)) if reason else ("wrong", bad)
    return ("right" if sample["kind"] == "exact" else "unchecked"), sample["kind"] if sample["kind"] != "exact" else ""


def refusal(text):
    """Of the program's message the line that says why."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith("pt2onnx: ")), lines[0] if lines else "no message")
    parts = first.split(": ", 2)
    return parts[-1] if len(parts) == 3 else first


def converted(job, sample, program, folder):
    """(model's path or None, verdict, reason) of running pt2onnx; of a model the reason is what was assumed."""
    source = os.path.join(folder, "sample." + ("pt2" if job["form"] == "pt2" else "pt"))
    target = os.path.join(folder, "sample.onnx")
    if os.path.exists(target):
        os.remove(target)
    with open(source, "wb") as f:
        f.write(sample["program"])
    try:
        done = subprocess.run([program, source, "-o", target] + job["options"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, "wrong", "the conversion takes more than %d s" % SECONDS
    if done.returncode == 1:
        return None, "refused", refusal(done.stderr)
    if done.returncode:
        return None, "wrong", "pt2onnx exits with %d: %s" % (done.returncode, refusal(done.stderr))
    return target, None, "\n".join(line for line in done.stderr.splitlines() if line.startswith("assumed:"))


def attempt(job, op, sample, program, folder):
    """(sha of the model, verdict, reason)"""
    assumed = None
    if sample["program"] is None:
        return "", "unsavable", sample["error"]
    if program:
        model, verdict, assumed = converted(job, sample, program, folder)
        if verdict:
            return "", verdict, assumed
        with open(model, "rb") as f:
            data = f.read()
    else:
        data = sample["program"]
    sha = hashlib.sha256(data).hexdigest()[:16]
    known = job["known"].get(str(sample["index"]))
    if known and known[0] == sha:
        return tuple(known)
    verdict, reason = judge(op, sample, data)
    return (sha, "assumed", assumed) if verdict == "wrong" and assumed else (sha, verdict, reason)


def main(program, folder):
    ort.set_default_logger_severity(4)
    for line in sys.stdin:
        job = json.loads(line)
        with open(job["recording"], "rb") as f:
            recording = pickle.load(f)
        for sample in recording["samples"]:
            if sample["index"] in job["skip"]:
                continue
            print("start", sample["index"], flush=True)
            sha, verdict, reason = attempt(job, recording["op"], sample, program if job["form"] in ("pt", "pt2") else None, folder)
            print("verdict", sample["index"], sha or "-", verdict, json.dumps(reason), flush=True)
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
