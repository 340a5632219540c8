#!/usr/bin/env python3
"""What onnxslim and onnxsim find to remove in our models: nodes before and after, each model a line.

    tools/slim.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--most 2] [FILE..]

Without files: every model of the cache that is in .pt2 or traced form. Constants are no nodes; those of subgraphs count. A tool that is not installed
is left out, and one of them must be. Ends with 1 when more than --most percent of all nodes could go.
Where a tool changes what a model computes it is not followed: onnxslim joins constants across sums of floats, and MatMul and Add of
more than two axes to a Gemm between two Reshapes.
"""
import argparse
import collections
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


def tools():
    """{name: function from a model to a smaller one}"""
    found = {}
    try:
        import onnxslim
        found["onnxslim"] = onnxslim.slim
    except ImportError:
        pass
    try:
        import onnxsim
        found["onnxsim"] = lambda m: onnxsim.simplify(m)[0]
    except ImportError:
        pass
    return found


def nodes(graph):
    """{operator: how many}, subgraphs included"""
    count = collections.Counter(n.op_type for n in graph.node if n.op_type != "Constant")
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
            if c.form.startswith(("pt2", "traced")) and wanted(only, c.set + "/" + c.name) and os.path.getsize(c.file) < LARGE]


def smaller(name, tool, model):
    """How many of which nodes are left; None where the tool itself fails."""
    try:
        return nodes((tool(model) or model).graph)
    except Exception as e:
        print("%s: %s: %s" % (name, tool.__module__, str(e).split("\n")[0]))
        return None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--only", default="")
    p.add_argument("--most", type=float, default=2)
    p.add_argument("files", nargs="*")
    a = p.parse_args()
    have = tools()
    if not have:
        sys.exit("neither onnxslim nor onnxsim is installed")
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, path, options in models(a.only, a.files):
            out = os.path.join(folder, "model.onnx")
            if subprocess.run([a.pt2onnx, path, "-q", "-o", out, *options], stderr=subprocess.DEVNULL).returncode:
                continue
            ours = nodes(onnx.load(out).graph)
            total["ours"] += sum(ours.values())
            said = "%-50s %5d" % (name, sum(ours.values()))
            for which, tool in have.items():
                left = smaller(name, tool, onnx.load(out))
                left = ours if left is None else left
                total[which] += sum(left.values())
                gone, made = ours - left, left - ours
                said += "  %s %5d%s" % (which, sum(left.values()), "".join(" -%d %s" % (v, k) for k, v in sorted(gone.items())) +
                                        "".join(" +%d %s" % (v, k) for k, v in sorted(made.items())))
            print(said, flush=True)
    if not total["ours"]:
        sys.exit("no model was converted")
    shares = {w: 100 * (total["ours"] - total[w]) / total["ours"] for w in have}
    print("all: %d nodes; %s" % (total["ours"], ", ".join("%s removes %.1f %%" % s for s in sorted(shares.items()))))
    return int(max(shares.values()) > a.most)


if __name__ == "__main__":
    sys.exit(main())
