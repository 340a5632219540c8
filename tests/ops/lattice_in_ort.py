"""Run the models that `run_lattice --emit DIR` wrote in ONNX Runtime and compare every result with PyTorch's.

    lattice_in_ort.py DIR
"""
import glob
import os
import sys

import onnxruntime as ort
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as C                                                       # noqa: E402
import run_in_ort as R                                                  # noqa: E402

N = 3


def fed(calls):
    """Inputs a0, a1, .. in the order in which the calls name tensors; bfloat16 as its bits."""
    feeds, k = {"n": ort.OrtValue.ortvalue_from_numpy(torch.zeros(N).numpy())}, 0
    for case in calls:
        for t in case.parse()[2]:
            if t.how != "num":
                feeds["a%d" % k] = R.ort_value(t.short, t.numpy())
            k += 1
    return feeds


def run(path):
    """(results compared, what differs)"""
    with open(path[:-len(".onnx")] + ".calls") as f:
        calls = [C.Case(line.rstrip("\n"), n, f.name) for n, line in enumerate(f)]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL       # 500 results a model: it only takes time
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds, wanted_inputs = fed(calls), {i.name for i in session.get_inputs()}
    names = ["r%d" % i for i in range(len(calls))]
    got = session.run_with_ort_values(names, {k: v for k, v in feeds.items() if k in wanted_inputs})
    bad = []
    for case, value in zip(calls, got):
        short, want = R.expected(C.result_text(C.torch_call(case, N)[0]))
        found, array = R.taken(value)
        why = "%s, wanted %s" % (found, short) if found != short else R.differs(short, want, array, None)
        if why:
            bad.append("%s: %s" % (case.call, why))
    return len(calls), bad


def main(folder):
    ort.set_default_logger_severity(4)
    count, bad = 0, []
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        n, wrong = run(path)
        count, bad = count + n, bad + wrong
    print("\n".join(bad))
    print("%d combinations ran in ONNX Runtime, %d differ" % (count, len(bad)))
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
