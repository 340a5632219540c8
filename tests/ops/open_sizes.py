"""Operator cases with open sizes, in ONNX Runtime at sizes of 1, 3 and 7, beside PyTorch.

    open_sizes.py RUN_CASES FILE.txt...

Every size of an input above 1 becomes a name, the same for the same number: mm(f32[2,3], f32[3,4]) is mm(f32[D2,D3], f32[D3,D4]). The model is made once, and run
with all names at each of the sizes; one that PyTorch refuses is left out. Where the case's own sizes are known, nothing here is: other ways are taken through lowering, inference
and folding. Prints what differs; ends with 1 if anything does.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as C                                                       # noqa: E402
import run_in_ort as R                                                  # noqa: E402

SIZES = (1, 3, 7)
TENSOR = re.compile(r"(?<!const )(?<!num )\b(%s)\[([\d,]+)\](?: [-\w.+]+)*" % "|".join(C.DTYPES))

# Families in which the numbers that fill a tensor of any size decide: singular matrices, signs of vectors, orders of eigenvalues, chance, scales below 0.
FAMILIES = ("fake_quantized", "householder", "jacobi", "ldl", "lu", "observed", "quantized", "random", "schur", "solve")
LEFT_OUT = (
    (r"_pad_packed|_pack_padded|^(slow_conv|_fft_c2r|prims::fft_c2r|_fused_rms_norm|max_pool3d_with_indices_backward)", "sizes that do not fit the arguments, which PyTorch does not look at"),
    (r"^(quantized::embedding_bag|take_along_dim|_reshape_alias|cat\(\[flatten\(neg_\(_reshape_alias)", "indices beyond the tensor, which PyTorch does not look at"),
    (r"^conv_transpose1d\(.*\[1\], \[1\], \[2\], 1, \[3\]\)", "ONNX Runtime 1.31 refuses a result of no elements"),
    (r"^(searchsorted|bucketize)\(", "boundaries that do not rise"),
    (r"^topk\(.*False\)$", "any order"),
    (r"^(cov|corrcoef)\(", "of one variable PyTorch's result has no axes: docs/limits.md"),
    (r"^squeeze\(", "an axis that may be 1 is not: assumed, with a note"),
    (r"^_pad_circular\(.*-1", "a negative border"),
    (r"dropout\(|^empty|^new_empty|^scaled_dot_product_attention\(.*None, 0\.5\)$", "chance, or whatever the memory held"),
    (r"^polygamma_?\(", "PyTorch's own series at its poles, and beyond float32"),
    (r"^quantized::conv3d", "channels that do not fit the weights, which PyTorch does not look at"),
    (r"^triplet_margin_loss\(.*f64", "float32 beside float64: the last digits"),
    (r"^einsum\(\"\.\.\.ik", "PyTorch leaves out a sum over an axis of 1, and with it int64"),
    (r"^(avg_pool\dd|_?upsample_\w+)(\.vec)?\(f64", "ONNX Runtime has no kernel of float64, and no other form is exact: docs/limits.md"),
    (r"^upsample_(nearest2d|bicubic2d|bilinear2d)\(.*(1\.1|2\.4)", "factors that leave a size of 3 or 7 as it is: docs/limits.md"),
)


def with_open_sizes(call):
    return TENSOR.sub(lambda m: "%s[%s]" % (m[1], ",".join("D" + d if int(d) > 1 else d for d in m[2].split(","))), call)


def opened(path, folder):
    """A file of the cases of `path` with open sizes, as run_cases reads it."""
    calls = {}
    for case in C.read(path):
        call = with_open_sizes(case.call)
        if case.results and case.skip is None and not case.quartiles and C.is_torch(case.name) and call != case.call and not R.is_left_out(call, LEFT_OUT):
            tolerance = 1e-4 if path.endswith("fft.txt") else case.tolerance    # sums of seven waves
            calls[call] = "    # tolerance: %s" % tolerance if tolerance else ""
    out = os.path.join(folder, os.path.basename(path))
    with open(out, "w") as f:
        f.writelines("%s%s\n-> f32[]\n=> any\n" % c for c in calls.items())
    return out


def wanted_of(case):
    """(size, results) of the sizes that PyTorch takes; none of an operator that only other versions have."""
    out = []
    for size in SIZES:
        try:
            out.append((size, [R.expected(C.result_text(v)) for v in C.torch_call(case, size)]))
        except Exception:                                               # of many kinds, by the operator
            continue
    return out


def check(run_cases, path):
    """How many calls ran, and what differs."""
    ran, differ, family = 0, [], os.path.basename(path)[:-len(".txt")]
    with tempfile.TemporaryDirectory() as folder:
        cases = opened(path, folder)
        subprocess.run([run_cases, "--emit", folder, cases], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        models = R.models_by_line(folder, family)
        for case in C.read(cases):
            wanted = wanted_of(case) if case.line in models else []
            if not wanted:
                continue
            ran += 1
            try:
                bad = R.run(case, models[case.line][0], case.parse()[2], wanted, R.session_options(family, case))
            except Exception as e:
                bad = str(e).split("\n")[0]
            if bad:
                differ.append("%s: %s\n    %s" % (family, case.call, bad[:300]))
    return ran, differ


def main(run_cases, *files):
    files = [path for path in files if os.path.basename(path)[:-len(".txt")] not in FAMILIES]
    return R.check_files(files, lambda path: check(run_cases, path), "calls of open sizes ran in ONNX Runtime")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
