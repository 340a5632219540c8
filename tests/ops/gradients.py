"""Gradients of operator cases, in ONNX Runtime beside torch.autograd.

    gradients.py RUN_EXTREMES FILE.txt...

Every tensor of a call that can have a gradient requires one, and the sum of all that the call gives is differentiated. Prints what differs; ends with 1 if anything does. A gradient
that one of the two does not have is none: a program that asks for it is refused, with its line.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import onnxruntime as ort                                               # noqa: E402
import torch                                                            # noqa: E402

import cases as C                                                       # noqa: E402
import run_in_ort as R                                                  # noqa: E402

TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-4, "f64": 1e-6}
NO_NUMBER = re.compile(r"\b(nan|inf)\b")                                # what a gradient is there is a convention
LEFT_OUT = (
    (r"^(native_layer_norm|native_batch_norm|_native_batch_norm_legit|_weight_norm_interface|_scaled_dot_product_flash|log_sigmoid_forward)",
     "PyTorch leaves out the gradient through the results that it keeps for its own backward: docs/limits.md"),
    (r"^(adaptive_max_pool|mode\()", "several are the greatest, or as frequent: docs/limits.md"),
    (r"^scatter_reduce\(.*include_self=False", "docs/limits.md"),
    (r"^(linalg_det|det|logdet|slogdet|_linalg_slogdet)\(", "of singular matrices: docs/limits.md"),
    (r"^_?upsample.*(aa\(|\[1\.)", "factors that leave the sizes as they are, or of which two kinds are given: docs/limits.md"),
    (r"^var\(.*correction=[23]", "of as many numbers as are taken off their count: 0 / 0"),
    (r"^(binary_cross_entropy_backward|special_logit|fmod|digamma|polygamma)\(", "at a pole"),
    (r"^round\(.*decimals=1000", "10^1000"),
    (r"^layer_norm\(f16.*f32", "PyTorch computes in float16"),
    (r"^binary_cross_entropy_with_logits\(f32.*, f16", "the loss is float16, and its gradient goes through that type here"),
    (r"^embedding_bag\(.*include_last_offset", "of an index in no bag PyTorch's is what the memory held"),
    (r"^dist\(f16", "PyTorch's powers leave the range of float16"),
    (r"^rrelu", "at 0"),
    (r"^ldexp", "PyTorch computes 2^-2 in whole numbers there"),
    (r"^nextafter", "PyTorch takes it for the identity"),
    (r"^feature_dropout", "chance"),
    (r"^quantized::", "what is rounded while the model runs"),
)


class Leaves(dict):
    """The tensors of a call by their number; each of them requires a gradient."""

    def __setitem__(self, index, value):
        if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
            value.requires_grad_()
        super().__setitem__(index, value)


def wanted_of(case):
    """{number of a leaf: its gradient}; None where PyTorch has none."""
    made = Leaves()
    results = [y for y in C.torch_call(case, made=made) if isinstance(y, torch.Tensor) and y.requires_grad]
    leaves = [t for t in case.parse()[2] if t.short in TOLERANCE or t.short in C.PARTS]
    asked = [(k, made[t.index]) for k, t in enumerate(leaves) if t.how != "num" and t.index in made]
    if not results or not asked:
        return None
    found = torch.autograd.grad(results, [t for _, t in asked], [torch.ones_like(y) for y in results], allow_unused=True)
    return {k: g for (k, _), g in zip(asked, found) if g is not None}


def compare(case, path, results):
    """(how many gradients both have, what differs or None)"""
    try:
        wanted = wanted_of(case)
    except Exception:                                                   # of many kinds: an operator that has no derivative, or that only other versions have
        return 0, None
    if not wanted:
        return 0, None
    session = ort.InferenceSession(path, R.session_options("", case), providers=["CPUExecutionProvider"])
    outputs = [o.name for o in session.get_outputs()]
    got = dict(zip(outputs, session.run_with_ort_values(outputs, R.feed(session, case.parse()[2], 2))))
    compared = 0
    for k, gradient in wanted.items():
        name = "r%d" % (results + k)
        if name in got:
            compared += 1
            short, want = R.expected(C.result_text(gradient))
            found, array = R.taken(got[name])
            bad = "%s, wanted %s" % (found, short) if found != short else R.differs(short, want, array, case.tolerance or TOLERANCE[short])
            if bad:
                return compared, "of tensor %d: %s" % (k, bad)
    return compared, None


def check(run_extremes, path):
    """How many gradients were compared, and what differs."""
    compared, differ, family = 0, [], os.path.basename(path)[:-len(".txt")]
    known = {case.call: case for case in C.read(path)}
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run([run_extremes, "--gradients", "--cases", "--emit", folder, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for number, results, call in re.findall(r"^(\d+)\t(\d+)\t(.*)$", printed, re.M):
            case, model = known[call], os.path.join(folder, number + ".onnx")
            if NO_NUMBER.search(call) or R.is_left_out(call, LEFT_OUT) or not C.is_torch(case.name) or not os.path.exists(model) or any(t.dynamic for t in case.parse()[2]):
                continue
            try:
                n, bad = compare(case, model, int(results))
            except Exception as e:                                      # a model that ONNX Runtime does not run
                n, bad = 0, str(e).split("\n")[0]
            compared += n
            if bad:
                differ.append("%s: %s\n    %s" % (family, call, bad[:300]))
    return compared, differ


def main(run_extremes, *files):
    torch.set_num_threads(1)
    return R.check_files(files, lambda path: check(run_extremes, path), "gradients were compared")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
