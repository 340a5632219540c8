#!/usr/bin/env python3
"""Convert language models in each way that they are saved, generate tokens greedily in ONNX Runtime, compare with PyTorch's; resumable.

    tools/language.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--opsets 18,23] [--again]

Makes the models first (tools/language_models.py), into the cache. 64 tokens after each prompt and after a batch of prompts with padding, by ONNX
Runtime's default session and by one without optimisations; each must be PyTorch's. A result is kept with digests of the program, the model and
what judges it. Ends with a table and exit code 1 if tokens were wrong or a model was refused. `make corpus` runs it, `make language` alone.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "python"))
import oracle                                                       # noqa: E402

MODELS = ("llama", "qwen3", "gemma3", "phi", "mixtral", "gpt2", "t5", "whisper", "mamba")
MAKER = os.path.join(HERE, "language_models.py")
FOLDER = os.path.join(oracle.CACHE, "models", "language")
WAYS = ("tensors.pt", "tensors.pt2", "dynamic.pt2", "static.pt2", "decoder.pt2")
STATES = "pt2onnx.state"            # metadata: {input: output} of what the program keeps between runs
INITIAL = "pt2onnx.state.initial"   # and what the first run is fed


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def wanted(patterns, name, way):
    """Any of "llama,dynamic": part of MODEL.WAY."""
    return any(p in "%s.%s" % (name, way) for p in patterns.split(","))


def made(name):
    """What is known of a model, which is made if its maker has changed; None when that fails."""
    path, mark = os.path.join(FOLDER, name + ".json"), os.path.join(FOLDER, name + ".maker")
    if not os.path.exists(mark) or open(mark).read() != digest(MAKER):
        print("making " + name, flush=True)
        if subprocess.run([sys.executable, MAKER, name, FOLDER]).returncode:
            return None
        with open(mark, "w") as f:
            f.write(digest(MAKER))
    with open(path) as f:
        return json.load(f)


def session(path, optimised):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = 1
    o.log_severity_level = 3
    if not optimised:
        o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])


class Generation:
    """Runs of one model, which keep its cache: as tensors that go in and out, or as state that the file names."""

    def __init__(self, s, leading, cache, batch):
        self.session, self.leading = s, leading
        self.outputs = [o.name for o in s.get_outputs()]
        names = [i.name for i in s.get_inputs()]
        self.states = json.loads(s.get_modelmeta().custom_metadata_map.get(STATES, "{}"))
        self.given = [n for n in names if n not in self.states]
        first = json.loads(s.get_modelmeta().custom_metadata_map.get(INITIAL, "{}"))
        self.kept = {n: numpy.full(v["shape"], v["value"], v["type"]) for n, v in first.items()}
        if not self.states:
            past = self.given[len(leading):]
            self.kept = {n: numpy.zeros([batch] + shape, numpy.float32) for n, shape in zip(past, cache)}

    def step(self, values):
        """The logits of the last position."""
        inputs = dict(zip(self.given, [values[n] for n in self.leading]))
        got = dict(zip(self.outputs, self.session.run(None, {**inputs, **self.kept})))
        if self.states:
            self.kept = {n: got[after] for n, after in self.states.items()}
        else:
            self.kept = dict(zip(self.kept, [got[n] for n in self.outputs[1:]]))
        return got[self.outputs[0]][:, -1]


def generate(s, about, way, case):
    """The tokens after the prompt of one case; None where this way cannot take it (a batch, into a cache for one)."""
    leading, count = about["ways"][way]["inputs"], case["tokens"].shape[1]
    ids = case["input_ids"].astype(numpy.int64)
    fixed_batch = not way.startswith(("tensors", "dynamic"))
    if fixed_batch and len(ids) > 1:
        return None
    model, values, tokens = Generation(s, leading, about["cache"], len(ids)), dict(case), []
    one_by_one = leading == ["input_ids"] or way.startswith("static")
    at = 0
    while len(tokens) < count:
        n = 1 if one_by_one else ids.shape[1]
        values["input_ids"] = ids[:, :n]
        if "position_ids" in leading:
            values["position_ids"] = (values["attention_mask"].cumsum(-1) - 1).clip(0)[:, -n:]
        values["cache_position"] = numpy.arange(at, at + n)
        values["position"] = numpy.arange(at, at + n)
        logits, ids, at = model.step(values), ids[:, n:], at + n
        if ids.shape[1]:
            continue
        ids = logits.argmax(-1)[:, None]
        tokens.append(ids)
        if "attention_mask" in values:
            values["attention_mask"] = numpy.concatenate([values["attention_mask"], numpy.ones_like(ids)], 1)
    return numpy.concatenate(tokens, 1)


def cases_of(name):
    z = numpy.load(os.path.join(FOLDER, name + ".npz"))
    numbers = sorted({k.split(".")[0] for k in z.files})
    return [{k.split(".", 1)[1]: z[k] for k in z.files if k.split(".")[0] == i} for i in numbers]


def judged(name, about, way, opset, options, folder):
    """(result, why): right, wrong, refused or crashed."""
    out = os.path.join(folder, "model.onnx")
    entry = about["ways"][way]
    specs = [w for s in entry.get("specs", []) for w in ("-i", s)]
    done = oracle.convert(os.path.join(FOLDER, entry["file"]), out, "--opset", str(opset), *specs, *options, timeout=120)
    if done.returncode:
        return ("refused" if done.returncode == 1 else "crashed"), done.stderr.strip()[:1500]
    try:
        oracle.check(out)
        for optimised in (True, False):
            s, tried = session(out, optimised), 0
            for i, case in enumerate(cases_of(name)):
                got = generate(s, about, way, case)
                tried += got is not None
                if got is not None and (got != case["tokens"]).any():
                    first = int((got != case["tokens"]).any(0).argmax())
                    return "wrong", "prompt %d, %s: token %d of %d differs" % (i, "default session" if optimised else "not optimised", first, got.shape[1])
            assert tried, "no prompt fits"
    except Exception as e:
        return "wrong", ("%s: %s" % (type(e).__name__, e))[:1500]
    return "right", ""


def table(results, opsets):
    ways = list(dict.fromkeys(way for _, way, _ in results))
    lines = ["%-10s" % "" + "".join("%18s" % w for w in ways)]
    for name in dict.fromkeys(n for n, _, _ in results):
        cells = [" ".join("%d %s" % (o, results[name, w, o][0]) for o in opsets if (name, w, o) in results) or "-" for w in ways]
        lines.append("%-10s" % name + "".join("%18s" % c for c in cells))
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=oracle.PROGRAM)
    p.add_argument("--only", default="", metavar="PATTERN,..", help="parts of MODEL.WAY")
    p.add_argument("--opsets", default="18,23")
    p.add_argument("--fuse", action="store_true", help="with --fuse: operators of com.microsoft")
    p.add_argument("--again", action="store_true", help="forget earlier results")
    o = p.parse_args()
    oracle.PROGRAM = os.path.abspath(o.pt2onnx)
    opsets, options = [int(v) for v in o.opsets.split(",")], ["--fuse"] if o.fuse else []
    os.makedirs(FOLDER, exist_ok=True)
    record, known = os.path.join(oracle.CACHE, "language.jsonl"), {}
    if os.path.exists(record) and not o.again:
        with open(record) as f:
            known = {tuple(r["key"]): tuple(r["result"]) for r in map(json.loads, f)}
    results, refused, start, fine = {}, {}, time.time(), True
    program = digest(oracle.PROGRAM, os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder, open(record, "w" if o.again else "a") as log:
        for name in MODELS:
            if not any(wanted(o.only, name, way) for way in WAYS):
                continue
            about = made(name)
            fine &= about is not None
            for way in about["ways"] if about else []:
                if not wanted(o.only, name, way):
                    continue
                model = digest(os.path.join(FOLDER, about["ways"][way]["file"]), os.path.join(FOLDER, name + ".npz"))
                for opset in opsets:
                    key = (name, way, opset, o.fuse, program, model)
                    if key not in known:
                        known[key] = judged(name, about, way, opset, options, folder)
                        log.write(json.dumps({"key": key, "result": known[key]}) + "\n")
                        log.flush()
                    results[name, way, opset] = known[key]
                    if known[key][0] != "right":
                        print("%s.%s opset %d: %s: %s" % (name, way, opset, *known[key]), flush=True)
            refused.update({(name, w): why for w, why in (about["refused"] if about else {}).items()})
    if fine and not results:
        print("no language model is called " + o.only)
        return 0
    print(table(results, opsets))
    for (name, way), why in refused.items():
        print("not saved by PyTorch or transformers: %s.%s: %s" % (name, way, why))
    right = sum(r == "right" for r, _ in results.values())
    print("%d of %d generate PyTorch's tokens; %d s" % (right, len(results), time.time() - start))
    return 0 if fine and right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
