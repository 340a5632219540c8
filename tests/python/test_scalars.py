"""Numbers among the arguments: every row of the operator table that takes one, with bools, fractions and digits that a float32 has not, against PyTorch.

The rows are read from `pt2onnx ops`. Each is called with plain tensors of four types, and as its operator cases call it with one number replaced. What
PyTorch computes must come out the same; what is not, and which rows no call reaches, stands here.
"""
import glob
import os
import re
import subprocess
import sys
import warnings

import pytest

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tests", "ops"))
import cases as C                                                       # noqa: E402
import run_in_ort as R                                                  # noqa: E402

NUMBERS = ("Scalar", "Scalar?", "float", "float?", "Scalar[]", "float[]", "float[]?")
VALUES = ("True", "False", "2", "-1.5", "1.1")
LISTS = ("[True, False]", "[1.1, 2]", "[2, -1]")
DIGITS = 1e-11                                                          # of float64: a number that went through float32 is off by 1e-8
MOST = 2000                                                             # elements of a result
PLAIN = {"Tensor?": "None", "int": "1", "int?": "None", "bool": "True", "bool?": "None", "Scalar": "2", "float": "0.5", "int[]": "[1]", "int[1]": "[1]",
         "int[2]": "[2, 2]", "SymInt": "1", "SymInt[]": "[2, 3]", "str": '"none"', "ScalarType": "float32", "float[]": "[0.5, 2.0]", "Scalar[]": "[2, 1]"}

CHANCE = re.compile(r"rand|bernoulli|normal|dropout|multinomial|exponential|geometric|cauchy|poisson$|rrelu|uniform")
SHORT_LIST = re.compile(r"__interpolate.*\[[^\],]*,[^\],]*\], \"trilinear\"")  # two factors for three axes: PyTorch reads what lies behind them, by chance a number
ENDS_PYTORCH = re.compile(r"_batch_norm_(no|with)_update")              # of wrong arguments

# Rows whose number these calls do not reach: kernels of a GPU, forms of old archives, arguments that need each other.
NOT_REACHED = {
    "aten::__interpolate.size_list_scale_list", "aten::_foreach_add.Tensor", "aten::_histogramdd_bin_edges", "aten::_histogramdd_from_bin_cts",
    "aten::_scaled_dot_product_attention", "aten::_scaled_dot_product_cudnn_attention", "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_fused_attention_overrideable", "aten::_upsample_nearest_exact1d.vec",
    "aten::_upsample_nearest_exact3d.vec", "aten::embedding_renorm", "aten::fill_diagonal", "aten::floordiv", "aten::gradient.scalarrayarray",
    "aten::histogramdd", "aten::histogramdd.int_bins", "aten::norm.ScalarOpt_dim", "aten::norm.ScalarOpt_dim_dtype", "aten::norm.ScalarOpt_dtype",
    "aten::quantized_lstm.data", "aten::scatter.value_reduce", "aten::upsample_linear1d.vec", "aten::upsample_nearest1d.vec",
    "aten::upsample_nearest3d.vec", "aten::upsample_trilinear3d.vec",
}

# Calls whose result is another one, or that are refused, and why.
KNOWN = (
    (r"(as_)?tensor[.]float", "torch.tensor() is asked for here, which knows no overloads"),
    (r"linalg_lstsq", "which driver heeds rcond, and from which number on, is LAPACK's affair: docs/limits.md"),
    (r"(pinverse|linalg_matrix_rank)[(].*(tol|rcond)=(False|-1.5)", "a rank that rounding decides"),
    (r"(_upsample|upsample)_", "a scale for some of the axes only, or one that gives another size: refused by name"),
    (r"(gru|lstm|rnn_relu|rnn_tanh|quantized_batch_norm|_native_batch_norm_legit|_transformer_encoder_layer_fwd)[(.]", "a bool or a count in a number's place"),
    (r"instance_norm[(]\w+[[]2,3[]]", "two axes, which F.instance_norm refuses"),
    (r"(std|var)(_mean)?[(].*, -?[\d.]+(, keepdim=True)?[)]$", "a float in the place of a bool"),
    (r"(std|var)(_mean)?[(]f32[[]0.*correction=-1.5", "nothing, less than nothing corrected"),
    (r"(div|true_divide|pow)[(].*c64", "infinities of complex numbers"),
    (r"\w*scaled_dot_product.*True, scale=(False|-1.5)", "infinities of a mask by a scale that is not above 0"),
    (r"cosine_similarity[(]f64", "PyTorch computes a part in float32"),
    (r"quantize_per_tensor[(]", "a tie: PyTorch adds the zero point before it rounds"),
)


def schemas():
    """(name, [(type, name, has a default, by keyword only)]) of each row that takes a number."""
    out = subprocess.run([oracle.PROGRAM, "ops"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.findall(r"^    ((?:aten|prims)::[\w.]+)\((.*)\) -> ", out, re.M)
    rows = {name: parameters(text) for name, text in found}
    return {n: ps for n, ps in rows.items() if any(p[0] in NUMBERS for p in ps) and not CHANCE.search(n) and not ENDS_PYTORCH.search(n)}


def parts(text):
    """What stands between the commas that no bracket encloses."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        out[-1] += c if c != "," or depth else ""
        out += [""] if c == "," and not depth else []
    return [p.strip() for p in out if p.strip()]


def parameters(text):
    out, keyword = [], False
    for part in parts(text):
        if part == "*":
            keyword = True
            continue
        kind, name, default = re.match(r"(.+) (\w+)(=.*)?$", re.sub(r"\([a-z!|]*\)", "", part)).groups()
        out.append((kind, name, default is not None, keyword))
    return out


def values_for(kind):
    return LISTS if "[]" in kind else VALUES


def plain_calls(name, params):
    """The row's required arguments, and each number in turn."""
    head = name[len("aten::"):] if name.startswith("aten::") else name
    for short in ("f32", "i64", "b", "f64"):
        given = {}
        for kind, of, default, _ in params:
            if not default:
                tensors = {"Tensor": short + "[2,3]", "Tensor[]": "[%s[2,3], %s[2,3]]" % (short, short)}
                given[of] = tensors.get(kind, PLAIN.get(kind))
        if None in given.values():
            return
        for kind, of, _, _ in params:
            for value in values_for(kind) if kind in NUMBERS else ():
                yield "%s(%s)" % (head, ", ".join(in_order(params, dict(given, **{of: value}))))


def in_order(params, given):
    """By place as long as nothing is left out, then by keyword."""
    out, by_place = [], True
    for _, of, _, keyword in params:
        by_place &= of in given and not keyword
        if of in given:
            out.append(given[of] if by_place else "%s=%s" % (of, given[of]))
    return out


def changed_cases(rows):
    """(row, call): the recorded cases with one number replaced, or added."""
    by_name = {}
    for name, params in rows.items():
        by_name.setdefault(name.split(".")[0], []).append((name, params))
    for path in sorted(glob.glob(os.path.join(oracle.TOP, "tests", "ops", "*.txt"))):
        for case in C.read(path):
            if case.results and case.quartiles is None and C.is_torch(case.name) and len(case.call) < 400:
                full = case.name if "::" in case.name else "aten::" + case.name
                yield from ((name, call) for name, params in by_name.get(full, ())
                            if case.overload in (None, name.partition(".")[2]) for call in changed(case, params))


def changed(case, params):
    given = parts(case.call[case.head.end():-1])
    for i, (kind, of, _, keyword) in enumerate(params):
        at = next((k for k, a in enumerate(given) if a.startswith(of + "=")), None)
        if at is None and not keyword and i < len(given) and "=" not in given[i]:
            at = i
        old = "None" if at is None else given[at].partition("=")[2] or given[at]
        if kind not in NUMBERS or not re.fullmatch(r"-?[\d.e+-]+|True|False|None|\[[^a-z]*\]", old):
            continue
        for value in values_for(kind):
            new = value if at == i else "%s=%s" % (of, value)
            yield case.call[:case.head.end()] + ", ".join(given + [new] if at is None else given[:at] + [new] + given[at + 1:]) + ")"


def recorded(call, line):
    """PyTorch's results as a case has them; None where it raises."""
    import torch
    try:
        case = C.Case(call, line, "calls.txt")
        if any(t.dynamic for t in case.parse()[2]) or "sym " in call:
            return None
        out = C.torch_call(case)
        if any(isinstance(v, torch.Tensor) and v.numel() > MOST for v in out):
            return None
        return ["-> " + C.result_text(v) for v in out]
    except Exception:                                                   # of any kind: what PyTorch does not take is not asked for
        return None


def unknown(failures):
    """[(call, what is wrong)] without those that stand in KNOWN."""
    return ["%s: %s" % (call, bad) for call, bad in failures if not any(re.match(pattern, call) for pattern, _ in KNOWN)]


def write_calls(path, rows):
    """The file of calls that PyTorch takes; the rows that they reach."""
    asked, reached, lines = set(), set(), []
    calls = [(name, call) for name, params in rows.items() for call in plain_calls(name, params)] + list(changed_cases(rows))
    per_row = {}
    for name, call in calls:
        kept = per_row.setdefault(name, 0)
        if call in asked or kept > 60 or SHORT_LIST.match(call):
            continue
        asked.add(call)
        results = recorded(call, len(lines) + 1)
        if results is None:
            continue
        reached.add(name)
        per_row[name] += 1
        note = "    # tolerance: %g" % DIGITS if "f64" in call and "f32" not in "".join(results) else ""
        lines += [call + note] + results
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    return reached


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """(folder of models, file of calls, rows, rows that are reached)"""
    folder, rows = tmp_path_factory.mktemp("scalars"), schemas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reached = write_calls(folder / "calls.txt", rows)
    return folder, str(folder / "calls.txt"), set(rows), reached


def test_every_row_is_reached(calls):
    _, _, rows, reached = calls
    assert len(rows) > 250
    assert sorted(rows - reached) == sorted(NOT_REACHED)


def refusals(path):
    shown = subprocess.run([os.path.join(oracle.BUILD, "run_cases"), "--show", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    calls = {c.line: c.call for c in C.read(path)}
    return [(calls[int(n)], text) for n, mark, text in (line.split("\t", 2) for line in shown.splitlines()) if mark == "!!"]


def differences(folder, path):
    """How many models ran, and which gave other numbers."""
    folder.mkdir()
    subprocess.run([os.path.join(oracle.BUILD, "run_cases"), "--emit", str(folder), path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    R.fix_chance()
    found = list(R.outcomes(str(folder), path))
    return len(found), [(case.call, bad) for case, _, bad in found if bad]


def test_all_give_pytorchs_numbers(calls):
    folder, path, _, _ = calls
    refused = refusals(path)
    ran, wrong = differences(folder / "models", path)
    assert ran > 5000
    assert unknown(refused + wrong) == []
    assert [pattern for pattern, _ in KNOWN if not any(re.match(pattern, call) for call, _ in refused + wrong)] == []
