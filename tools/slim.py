#!/usr/bin/env python3
"""What onnxslim and onnxsim find to remove in our models: nodes before and after, each model a line.

    tools/slim.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--most 2] [--opset 18] [--plain] [FILE..]

Without files: every model of the cache. Constants are no nodes; those of subgraphs count. A tool that is not installed is left out, and one
of them must be; onnxsim has an environment of its own (tools/setup slim). Ends with 1 when a tool takes more than --most percent of the
nodes of any model. What a tool has said about a model is kept in the cache, with a digest of the model: a stopped run goes on.

SKIPPED names what the tools do that is no improvement, each with its reason, and `shown` what they misread; --plain lets them.
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

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
LARGE = 300 << 20                                                   # models that do not help to find patterns
ONNXSIM = os.environ.get("PT2ONNX_ONNXSIM_PYTHON", os.path.join(TOP, ".venv-onnxsim", "bin", "python"))

SKIPPED = {
    "onnxslim": {
        "FusionGemm": "a MatMul and an Add of rank 3 or more as Reshape, Gemm, Reshape: more nodes, of which neighbours may take some. ONNX Runtime does it "
                      "itself as it loads the model (the same 24 Gemm of 4 encoder layers, the same time); those of rank 2 we write as Gemm ourselves",
        "weight_tying": "two weights that are equal today as one: of a model's layers any two may be, before training",
        "subexpression_elimination": "what is made of such two as one; eliminate_common_subexpression of onnxsim looks for the same of one weight",
    },
    "onnxsim": {
        "fuse_matmul_add_bias_into_gemm_batched": "the same",
        "eliminate_duplicate_initializer": "equal weights as one, as above",
        "fuse_qkv": "three MatMul of one input as a MatMul and a Split: the weights are no longer the program's, and it takes as long (4 layers of 768, 128 "
                    "positions: 99.3 and 99.6 ms)",
        "fuse_attention": "an operator of ONNX Runtime's own domain, that no other runtime knows",
        "fuse_consecutive_mul": "(x * 2) * 3.14 as x * 6.28: rounds once where PyTorch rounds twice",
        "fuse_lp_normalization": "x / ReduceL2(x) as LpNormalization: 0 where PyTorch divides 0 by 0",
        "eliminate_nop_softmax": "the softmax of one element as 1: it is NaN where that is infinite or NaN",
        "eliminate_nop_reduce": "the sum and the mean of one element: PyTorch's sum of -0.0 is 0.0",
    },
}


class Tool:
    """One of the two, in a process of its own."""

    def __init__(self, name, python, skipped):
        self.command = [python, os.path.join(TOP, "tools", "slim_worker.py"), name, *skipped]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return self.process.stdout.readline().strip() == "ok"

    def stop(self):
        if self.process:
            self.process.communicate()
        self.process = None

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
    return sum((nodes(a.g) for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH), count)


def everywhere(graph):
    """Nodes of the graph and of those inside it."""
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from everywhere(a.g)


def models(only, files):
    """(name, file, options)"""
    if files:
        return [(os.path.basename(f), f, []) for f in files]
    cases = [c for s in SETS for c in oracle.cases(s)]
    return [(c.set + "/" + c.name, c.file, c.options(False)) for c in cases
            if wanted(only, c.set + "/" + c.name) and os.path.getsize(c.file) < LARGE]


def is_happenstance(node, tensor):
    """A weight of 1 or 0, as before training, is none after it; and x + 0.0 is not x where that is -0.0. Both tools take them for nothing."""
    weight, zeros = not tensor.name.startswith("/"), node.op_type == "Add" and tensor.data_type in FLOATS
    if node.op_type not in ("Add", "Sub", "Mul", "Div") or not (weight or zeros):
        return False
    v = onnx.numpy_helper.to_array(tensor)
    return bool((v == 0).all() or (weight and (v == 1).all()))


def like_an_input(graph, node):
    """RandomNormal and RandomUniform have no inputs: the tools draw once, for good. Here an input says the shape, as it does for RandomNormalLike."""
    shape = next(a for a in node.attribute if a.name == "shape")
    graph.input.append(onnx.helper.make_tensor_value_info(node.output[0] + ".like", onnx.TensorProto.FLOAT, shape.ints))
    node.input.append(graph.input[-1].name)
    node.attribute.remove(shape)
    node.op_type += "Like"


def shown(path, plain):
    """The model as the tools are to see it: a value that it has for an input, its state, is no constant, nor is noise, and what is_happenstance is
    another number."""
    model = onnx.load(path)
    inputs = {i.name for i in model.graph.input}
    constants = {t.name: t for t in model.graph.initializer if t.name not in inputs}
    for node in everywhere(model.graph):
        if not plain and node.op_type in ("RandomNormal", "RandomUniform"):
            like_an_input(model.graph, node)
        for i, name in enumerate(node.input):
            if not plain and name in constants and is_happenstance(node, constants[name]):
                v = onnx.numpy_helper.to_array(constants[name])
                node.input[i] = name + ".other"
                constants[node.input[i]] = onnx.numpy_helper.from_array(v + v.dtype.type(3), node.input[i])
    del model.graph.initializer[:]
    model.graph.initializer.extend(constants.values())
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
            ours = shown(out, a.plain)
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
