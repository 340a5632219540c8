"""Run the models that `run_cases --emit DIR` wrote in ONNX Runtime and compare with what the cases record.

    run_in_ort.py [--recorded] DIR FILE.txt...        one process for all of them

A case has a model for each opset that it was written at. One whose dims are all numbers is compared with its `->` lines. One with a named dim is run at 0, 1, 3 and 7 and compared
with PyTorch itself; a size that PyTorch refuses is left out. --recorded leaves those cases out, and needs no PyTorch. Of random numbers, `# quartiles: A B C` says the distribution.
"""
import ctypes
import hashlib
import os
import re
import signal
import sys

import numpy as np
import onnxruntime as ort

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as C                                                       # noqa: E402

# Relative and absolute, of float results; everything else must be equal. `# tolerance: X` on a case replaces both.
TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "f64": 1e-7}
SIZES = (0, 1, 3, 7)


def expected(text, random=False):
    """'f32[2] 1 2' -> (short name, array); of random numbers only their shape counts"""
    m = C.TENSOR.match(text)
    if not m:
        return None, text
    t = C.Tensor("", m.group(2), m.group(3), m.group(4), 0)
    if not t.values and not random and np.prod([int(d) for d in t.dims], dtype=np.int64) != 0:
        raise ValueError("the result has no values: tools/record-cases fills them in")
    return C.PARTS.get(t.short, t.short), t.numpy()


def differs(short, want, got, tolerance):
    if want.shape != got.shape:
        return "shape %s, wanted %s" % (got.shape, want.shape)
    if short not in TOLERANCE:
        return None if np.array_equal(want, got) else "%s, wanted %s" % (got.tolist(), want.tolist())
    tol = float(tolerance) if tolerance else TOLERANCE[short]
    want, got = want.astype(np.float64), got.astype(np.float64)
    if not np.array_equal(np.isnan(want), np.isnan(got)):
        return "NaN at other places: %s, wanted %s" % (got.tolist(), want.tolist())
    if np.allclose(got, want, rtol=tol, atol=tol, equal_nan=True):
        return None
    return "%s, wanted %s" % (got.tolist(), want.tolist())


def differs_in_quartiles(case, want, got):
    """A tenth of what lies between the outer ones is chance."""
    if want.shape != got.shape:
        return "shape %s, wanted %s" % (got.shape, want.shape)
    wanted, found = [float(q) for q in case.quartiles.split()], np.quantile(got.astype(np.float64), (0.25, 0.5, 0.75))
    return None if np.allclose(found, wanted, rtol=0, atol=(wanted[2] - wanted[0]) / 10) else "quartiles %s, wanted %s" % (found.tolist(), wanted)


# numpy has no bfloat16: it goes in and comes out as its bits.
BFLOAT16 = 16


def ort_value(short, a):
    if short != "bf16":
        return ort.OrtValue.ortvalue_from_numpy(a)
    bits = (np.ascontiguousarray(a, np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(a.shape)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, BFLOAT16)


def taken(value):
    """(short name of the dtype, array); a bfloat16 widened to float32."""
    if value.element_type() != BFLOAT16:
        a = value.numpy()
        return next((s for s, n in C.DTYPES.items() if n == a.dtype.name), a.dtype.name), a
    n = int(np.prod(value.shape(), dtype=np.int64))
    bits = np.array((ctypes.c_uint16 * n).from_address(value.data_ptr()), np.uint32) if n else np.zeros(0, np.uint32)
    return "bf16", (bits << 16).view(np.float32).reshape(value.shape())


def feed(session, tensors, size):
    names = {i.name for i in session.get_inputs()}
    return {"a%d" % t.index: ort_value(t.short, t.numpy(size)) for t in tensors if "a%d" % t.index in names}


def compare(case, session, tensors, size, wanted):
    outputs = [o.name for o in session.get_outputs()]
    got = dict(zip(outputs, session.run_with_ort_values(outputs, feed(session, tensors, size))))
    for i, (short, want) in enumerate(wanted):
        if "r%d" % i not in got or short is None:
            continue
        found, array = taken(got["r%d" % i])
        bad = ("%s, wanted %s" % (found, short) if found != short else differs_in_quartiles(case, want, array) if case.quartiles
               else differs(short, want, array, case.tolerance))
        if bad:
            return "result %d: %s" % (i, bad)
    return None


def torch_wanted(case, size):
    """PyTorch's results, or None where it refuses this size."""
    try:
        out = C.torch_call(case, size)
    except (RuntimeError, IndexError, ValueError):
        return None
    return [expected(C.result_text(v)) for v in out]


def wanted_of(case, tensors):
    """(size, results) of each run of a case: once for all of its models."""
    if not any(t.dynamic for t in tensors):
        return [(2, [expected(r, case.quartiles is not None) for r in case.results])]
    return [(size, wanted) for size in SIZES for wanted in [torch_wanted(case, size)] if wanted is not None]


def session_options(family, case):
    """Quantised layers run as they are written: the integer kernels that ONNX Runtime fuses them into round elsewhere, and
    saturate sums of two products on CPUs without VNNI instructions. So does a Dropout, which it would take out."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if family.startswith("quantized") or "Dropout" in (case.nodes or []):
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def run(case, path, tensors, wanted, options):
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for size, results in wanted:
        bad = compare(case, session, tensors, size, results)
        if bad:
            return bad if len(wanted) == 1 else "with dims of %d: %s" % (size, bad)
    return None


class Known:
    """What need not be found out twice: the cases of a file, what PyTorch says of them, and which models said the same (tools/mutate)."""

    def __init__(self):
        self.cases, self.wanted, self.right = {}, {}, set()

    def read(self, path):
        if path not in self.cases:
            self.cases[path] = C.read(path)
        return self.cases[path]

    def wanted_of(self, path, case):
        if (path, case.line) not in self.wanted:
            tensors = case.parse()[2]
            self.wanted[path, case.line] = tensors, wanted_of(case, tensors)
        return self.wanted[path, case.line]


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).digest()


def models_by_line(folder, family):
    """FAMILY.LINE.OPSET.onnx"""
    out = {}
    for name in os.listdir(folder):
        if name.startswith(family + ".") and name.endswith(".onnx"):
            out.setdefault(int(name.split(".")[1]), []).append(os.path.join(folder, name))
    return out


def fix_chance():
    ort.set_default_logger_severity(4)
    ort.set_seed(1)


PATIENCE = 300                                                          # seconds for a file


def check_files(files, check, what):
    """check(path) -> (how many ran, what differs) of each file of cases. Prints what differs; what to exit with."""
    fix_chance()
    ran, differ = 0, []
    for path in files:
        signal.alarm(PATIENCE)
        of_file = check(path)
        ran, differ = ran + of_file[0], differ + of_file[1]
    print("\n".join(differ + ["%d %s, %d calls differ" % (ran, what, len(differ))]))
    return 1 if differ or not ran else 0


def is_left_out(call, table):
    """table: (pattern, why)"""
    return any(re.search(pattern, call) for pattern, _ in table)


def opset_of(model):
    return int(model.split(".")[-2])


def outcomes(folder, path, known=None, recorded=False):
    """(case, model, what is wrong or None) of each model of a family's cases; recorded: only of those that PyTorch need not be asked for."""
    family = os.path.basename(path)[:-len(".txt")]
    known, models = known or Known(), models_by_line(folder, family)
    for case in known.read(path):
        if case.skip is not None or (case.message and not case.results) or case.line not in models:
            continue
        if recorded and any(t.dynamic for t in case.parse()[2]):
            continue
        tensors, wanted = known.wanted_of(path, case)
        for model in sorted(models[case.line], key=opset_of):
            key, bad = (path, case.line, digest(model)), None
            if key not in known.right:
                try:
                    bad = run(case, model, tensors, wanted, session_options(family, case))
                except Exception as e:                                  # a model that ORT does not load is a failure to list too
                    bad = str(e).split("\n")[0]
            if not bad:
                known.right.add(key)
            yield case, model, bad


def main(recorded, folder, files):
    if not os.path.isdir(folder):
        sys.exit("run_in_ort: there is no folder %s: build/run_cases --twins %s writes the models" % (folder, folder))
    fix_chance()
    ran = failed = 0
    for path in files:
        for case, model, bad in outcomes(folder, path, recorded=recorded):
            ran += 1
            if bad:
                failed += 1
                print("%s:%d: %s\n    opset %d: %s" % (path, case.line, case.call, opset_of(model), bad))
    print("%d models of cases ran in ONNX Runtime, %d failed" % (ran, failed))
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if w != "--recorded"]
    try:
        sys.exit(main(len(words) < len(sys.argv) - 1, words[0], words[1:]))
    except C.Unreadable as e:
        sys.exit(str(e))
