#!/usr/bin/env python3
"""What onnxslim and onnxsim find to remove in our models: nodes before and after, each model a line.

    tools/slim.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--most 2] [--opset 18] [--plain] [FILE..]

Without files: every model of the cache. Constants are no nodes; those of subgraphs count. A tool that is not installed is left out, and one
of them must be; onnxsim has an environment of its own (tools/setup slim). Ends with 1 when a tool takes more than --most percent of the
nodes of any model. What a tool has said about a model is kept in the cache, with a digest of the model: a stopped run goes on.

SKIPPED names what the tools do that is no improvement, each with its reason; --plain lets them.
"""
import argparse
import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import onnx

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "python"))
sys.path.insert(0, os.path.join(TOP, "tools"))
import oracle                                                       # noqa: E402
from corpus import SETS, wanted                                     # noqa: E402

LARGE = 300 << 20                                                   # models that do not help to find patterns
ONNXSIM = os.environ.get("PT2ONNX_ONNXSIM_PYTHON", os.path.join(TOP, ".venv-onnxsim", "bin", "python"))

SKIPPED = {
    "onnxslim": {},
    "onnxsim": {},
}


class Tool:
    """One of the two, in a process of its own."""

    def __init__(self, name, python, skipped):
        self.command = [python, os.path.join(TOP, "tools", "slim_worker.py"), name, *skipped]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return self.process.stdout.readline().strip() == "ok"

    def __call__(self, given, made):
        """How many of which nodes are left, or a text: the tool itself fails."""
        if not self.process and not self.start():
            return "it does not start"
        self.process.stdin.write("%s %s\n" % (given, made))
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            self.process.wait()
            answer = "it ended with %d" % self.process.returncode
            self.process = None
        return nodes(onnx.load(made, load_external_data=False).graph) if answer == "ok" else answer


def tools(plain):
    found = {}
    for name, python in (("onnxslim", sys.executable), ("onnxsim", ONNXSIM)):
        tool = Tool(name, python, [] if plain else sorted(SKIPPED[name]))
        if os.path.exists(python) and tool.start():
            found[name] = tool
    return found


def nodes(graph):
    """{operator: how many}, subgraphs included. An Identity that gives an input or a constant the name of an output is none."""
    outputs = {o.name for o in graph.output}
    count = collections.Counter(n.op_type for n in graph.node
                                if n.op_type != "Constant" and not (n.op_type == "Identity" and n.output[0] in outputs))
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                count += nodes(a.g)
    return count


def models(only, files):
    """(name, file, options)"""
    if files:
        return [(os.path.basename(f), f, []) for f in files]
    cases = [c for s in SETS for c in oracle.cases(s)]
    return [(c.set + "/" + c.name, c.file, c.options(False)) for c in cases
            if wanted(only, c.set + "/" + c.name) and os.path.getsize(c.file) < LARGE]


def without_defaults(path):
    """A value that the model has for an input, its state, is no constant: the tools would take it for one."""
    model = onnx.load(path)
    inputs = {i.name for i in model.graph.input}
    kept = [t for t in model.graph.initializer if t.name not in inputs]
    if len(kept) < len(model.graph.initializer):
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
        onnx.save(model, path)
    return nodes(model.graph)


def remembered(known, log, key, ask):
    """What a tool has left of a model, from the record where it is there."""
    if key not in known:
        left = ask()
        known[key] = left
        log.write(json.dumps({"key": key, "left": left}) + "\n")
        log.flush()
    return collections.Counter(known[key]) if isinstance(known[key], dict) else known[key]


def difference(ours, left):
    return "".join(" -%d %s" % (v, k) for k, v in sorted((ours - left).items())) + "".join(" +%d %s" % (v, k) for k, v in sorted((left - ours).items()))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--only", default="")
    p.add_argument("--most", type=float, default=2)
    p.add_argument("--opset", type=int, default=18)
    p.add_argument("--plain", action="store_true")
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    have = tools(a.plain)
    if not have:
        sys.exit("neither onnxslim nor onnxsim is installed")
    for name in SKIPPED:
        if name not in have:
            print("%s is not installed: not asked" % name)
    record = os.path.join(oracle.CACHE, "slim.jsonl")
    known = {r["key"]: r["left"] for r in map(json.loads, open(record))} if os.path.exists(record) else {}
    total, over = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder, open(record, "a") as log:
        for name, path, options in models(a.only, a.files):
            out = os.path.join(folder, "model.onnx")
            if subprocess.run([a.pt2onnx, path, "-q", "--opset", str(a.opset), "-o", out, *options], stderr=subprocess.DEVNULL).returncode:
                print("%-50s refused" % name)
                continue
            ours = without_defaults(out)
            with open(out, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()[:24]
            total["ours"] += sum(ours.values())
            said = "%-50s %5d" % (name, sum(ours.values()))
            for which, tool in have.items():
                key = " ".join([digest, which, *tool.command[3:]])
                left = remembered(known, log, key, lambda: tool(out, os.path.join(folder, "smaller.onnx")))
                if isinstance(left, str):
                    said += "  %s fails: %s" % (which, left)
                    left = ours
                total[which] += sum(left.values())
                much = sum(ours.values()) - sum(left.values()) > a.most / 100 * sum(ours.values())
                over[which] += much
                said += "  %s %d%s%s" % (which, sum(left.values()), "!" if much else "", difference(ours, left))
            print(said, flush=True)
    if not total["ours"]:
        sys.exit("no model was converted")
    for w in sorted(have):
        print("%s leaves %d of %d nodes; it takes more than %g %% of %d models" % (w, total[w], total["ours"], a.most, over[w]))
    return int(any(over.values()))


if __name__ == "__main__":
    sys.exit(main())
