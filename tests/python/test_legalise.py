"""test_legalise.py - one graph in every opset says the same: ONNX Runtime runs each form of legalise.txt, onnx.checker reads it.

tests/tools/legal_samples.c builds and writes the models. A case names the first opset that can say it; below that it must be
refused with the option that helps, at and above it the numbers are those of the newest form."""
import os
import re
import subprocess

import numpy
import onnx
import onnxruntime
import pytest

import oracle

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "legalise.txt")
SIZES = {"N": 3, "M": 5, "H": 4, "O": 1}
OPSETS = [9, 10, 11, 12, 13, 14, 17, 18, 20, 21, 23, 24, 26]
# half precision: another order of operations may round the last bit another way
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


# what plain arithmetic says, as all forms of a case compute sizes with the same nodes
SHAPES = {"sizes_mod": (2,), "sizes_floor": (4,), "sizes_max": (5,), "sizes_half": (3,), "sizes_broadcast": (3, 5)}


def read_cases():
    with open(CASES) as f:
        for line in f:
            m = re.match(r"(\w+) (\d+): (.*?\]) = ", line)
            if m:
                yield m.group(1), int(m.group(2)), re.findall(r"(\w+):(\w+)\[([^]]*)\]", m.group(3))


FIRST = {name: (first, inputs) for name, first, inputs in read_cases()}


def value(rng, dtype, dims):
    shape = [SIZES[d] if d in SIZES else int(d) for d in dims.split(",") if d]
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return numpy.asarray(rng.normal(size=shape) * 2).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -7, 12, shape).astype(dtype)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    where = tmp_path_factory.mktemp("legal")
    done = subprocess.run([os.path.join(oracle.BUILD, "legal_samples"), CASES, str(where)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return where, done.stdout.splitlines()


def run(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


@pytest.mark.parametrize("name", FIRST)
def test_every_opset_says_the_same(written, name):
    where, _ = written
    first, inputs = FIRST[name]
    rng = numpy.random.default_rng(7)
    feeds = {n: value(rng, t, d) for n, t, d in inputs}
    want = run(where / ("%s.26.onnx" % name), feeds)
    assert want.shape == SHAPES.get(name, want.shape)
    for opset in OPSETS:
        path = where / ("%s.%d.onnx" % (name, opset))
        assert path.exists() == (opset >= first), "opset %d" % opset
        if opset < first:
            continue
        onnx.checker.check_model(str(path), full_check=True)
        got = run(path, feeds)
        assert got.dtype == want.dtype and got.shape == want.shape, "opset %d" % opset
        tol = TOLERANCE.get(str(want.dtype), 0)
        numpy.testing.assert_allclose(got, want, rtol=tol, atol=tol, err_msg="opset %d" % opset)


def test_refusals_name_the_option(written):
    _, lines = written
    refused = {}
    for line in lines:
        m = re.match(r"(\w+) (\d+): .* needs ONNX opset (\d+), the target is (\d+) \| --opset (\d+)$", line)
        assert m, line
        name, target, needs, said, hint = m.group(1), *map(int, m.groups()[1:])
        assert target == said and needs == hint and needs <= FIRST[name][0], line
        refused.setdefault(name, set()).add(target)
    for name, (first, _) in FIRST.items():
        assert refused.get(name, set()) == {o for o in OPSETS if o < first}, name
