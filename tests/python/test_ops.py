"""The operator cases' models in ONNX Runtime: what the C runner cannot see, the numbers. One process runs them all."""
import glob
import os
import subprocess
import sys

import pytest

import oracle

FILES = sorted(glob.glob(os.path.join(oracle.TOP, "tests", "ops", "*.txt")))


def test_every_case_gives_the_recorded_numbers(tmp_path):
    assert FILES
    emitted = subprocess.run([os.path.join(oracle.BUILD, "run_cases"), "--twins", str(tmp_path), *FILES], cwd=oracle.TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert emitted.returncode == 0, emitted.stdout[-3000:]
    assert len(os.listdir(tmp_path)) >= 1000, "only %d models were emitted" % len(os.listdir(tmp_path))
    ran = subprocess.run([sys.executable, os.path.join(oracle.TOP, "tests", "ops", "run_in_ort.py"), str(tmp_path), *FILES], cwd=oracle.TOP,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_every_combination_of_types_gives_pytorchs_numbers(tmp_path, opset):
    emitted = subprocess.run([os.path.join(oracle.BUILD, "run_lattice"), "--emit", str(tmp_path), "--opset", str(opset), "tests/ops/promotion.lattice"], cwd=oracle.TOP,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert emitted.returncode == 0, emitted.stdout[-3000:]
    ran = subprocess.run([sys.executable, os.path.join(oracle.TOP, "tests", "ops", "lattice_in_ort.py"), str(tmp_path)], cwd=oracle.TOP,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]
