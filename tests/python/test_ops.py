"""The operator cases' models in ONNX Runtime: what the C runner cannot see, the numbers. One process runs them all."""
import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tests", "ops"))
import cases as C                                                       # noqa: E402
import run_in_ort as R                                                  # noqa: E402

FILES = sorted(glob.glob(os.path.join(oracle.TOP, "tests", "ops", "*.txt")))


# The cases that ONNX's shape inference is wrong about, and at which opsets. With ceil_mode a last window that would begin in the padding behind is no
# window, as ONNX says from opset 22 on and ONNX Runtime does at all; up to 21 the inference counts it.
MISREAD = [(r"^max_pool2d\(f32\[1,1,5,5\], \[2, 2\], \[3, 3\], \[1, 1\]", range(10, 22)),
           (r"^max_pool3d\(f32\[1,1,4,4,5\], \[2, 2, 2\], \[1, 2, 2\], \[0, 1, 1\]", range(10, 22)),
           (r"^avg_pool2d\(f32\[1,2,5,W\], \[2, 2\], \[2, 2\], \[1, 1\], True", range(10, 22))]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The folder of every case's models."""
    where = tmp_path_factory.mktemp("cases")
    emitted = subprocess.run([os.path.join(oracle.BUILD, "run_cases"), "--twins", str(where), *FILES], cwd=oracle.TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert emitted.returncode == 0, emitted.stdout[-3000:]
    yield where
    shutil.rmtree(where)


def test_every_case_gives_the_recorded_numbers(models):
    assert FILES
    assert len(os.listdir(models)) >= 1000, "only %d models were emitted" % len(os.listdir(models))
    ran = subprocess.run([sys.executable, os.path.join(oracle.TOP, "tests", "ops", "run_in_ort.py"), str(models), *FILES], cwd=oracle.TOP,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]


def is_misread(call, opset):
    return any(opset in opsets and re.search(pattern, call) for pattern, opsets in MISREAD)


def what_is_wrong(path):
    """What onnx.checker says of a model, its last line; None: nothing."""
    try:
        oracle.check(path)
        return None
    except Exception as e:
        return str(e).strip().split("\n")[-1]


def test_onnxs_checker_and_shape_inference_accept_every_case(models):
    seen, failed = set(), []
    for path in FILES:
        calls = {case.line: case.call for case in C.read(path)}
        of_family = R.models_by_line(models, os.path.basename(path)[:-len(".txt")])
        for line, model in [(line, model) for line in sorted(of_family) for model in sorted(of_family[line], key=R.opset_of)]:
            same = R.digest(model)
            if same in seen:
                continue
            seen.add(same)
            opset, wrong = R.opset_of(model), what_is_wrong(model)
            if is_misread(calls[line], opset):
                wrong = None if wrong else "accepted: MISREAD need not list it"
            if wrong:
                failed.append("%s:%d: %s\n    opset %d: %s" % (path, line, calls[line], opset, wrong))
    assert len(seen) >= 1000, "only %d models were checked" % len(seen)
    assert not failed, "%d models\n%s" % (len(failed), "\n".join(failed[:20]))


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_every_combination_of_types_gives_pytorchs_numbers(tmp_path, opset):
    emitted = subprocess.run([os.path.join(oracle.BUILD, "run_lattice"), "--emit", str(tmp_path), "--opset", str(opset), "tests/ops/promotion.lattice"], cwd=oracle.TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert emitted.returncode == 0, emitted.stdout[-3000:]
    ran = subprocess.run([sys.executable, os.path.join(oracle.TOP, "tests", "ops", "lattice_in_ort.py"), str(tmp_path)], cwd=oracle.TOP,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]
