#!/usr/bin/env python3
"""Run onnxslim or onnxsim on models, one process for many: what tools/slim.py asks, in an environment of the tool's own.

    echo "model.onnx smaller.onnx" | tools/slim_worker.py onnxslim [SKIPPED PATTERN..]

Answers each line with "ok", or with what the tool raised.
"""
import os
import sys

import onnx


def onnxslim(skipped):
    import onnxslim
    from onnxslim.core.optimization import OptimizationSettings
    passes = [s for s in skipped if s in OptimizationSettings.keys()]
    return lambda model: onnxslim.slim(model, skip_fusion_patterns=[s for s in skipped if s not in passes], skip_optimizations=passes) or model


def onnxsim(skipped):
    import onnxsim
    return lambda model: onnxsim.simplify(model, skipped_optimizers=skipped)[0]


def main():
    tool = {"onnxslim": onnxslim, "onnxsim": onnxsim}[sys.argv[1]](sys.argv[2:])
    answers = os.fdopen(os.dup(1), "w", 1)
    os.dup2(2, 1)                                                   # what the tools print is no answer
    print("ok", file=answers)
    for line in sys.stdin:
        given, made = line.split()
        try:
            onnx.save(tool(onnx.load(given)), made)
            print("ok", file=answers)
        except Exception as e:
            print("%s: %s" % (type(e).__name__, str(e).split("\n")[0][:300]), file=answers)


if __name__ == "__main__":
    main()
