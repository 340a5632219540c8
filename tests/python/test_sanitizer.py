"""The program built with AddressSanitizer and UBSan, over whole models, sound and damaged. Only the child is sanitized: no torch is near."""
import os
import random
import subprocess
import zipfile

import pytest

import oracle
from conftest import build

CASES = oracle.cases("toys113") + oracle.cases("toys213") + oracle.cases("export")
CASES = [c for c in CASES if "refused" not in c.tags]
NAMES = ["resnet18.traced", "mobilenet_v3_small.scripted", "swin_t.traced", "vit_b_16.scripted", "googlenet.scripted"]


@pytest.fixture(scope="session")
def sanitized():
    return build("build-asan", "pt2onnx", "-DPT2ONNX_SANITIZE=ON")


def convert(program, model, out, options, env=os.environ):
    done = subprocess.run([program, str(model), "-o", str(out), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300,
                          env={**env, "ASAN_OPTIONS": "detect_leaks=1:exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=98"})
    for word in ("Sanitizer", "runtime error:"):
        assert word not in done.stderr, done.stderr[-4000:]
    assert done.returncode in (0, 1, 3), "exit %d\n%s" % (done.returncode, done.stderr[-3000:])
    return done


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.set + "/" + c.name)
def test_small(case, sanitized, out):
    done = convert(sanitized, case.file, out, case.options(case.about["dynamic"]))
    assert done.returncode == 0, done.stderr
    oracle.run(out, case.runs(False), case.state())


@pytest.mark.parametrize("name", NAMES)
def test_network(name, small, sanitized, out):
    case = small(name)
    assert convert(sanitized, case.file, out, ["--opset", "11", *case.options(True)]).returncode == 0


@pytest.mark.parametrize("name", ["conv_bn_relu.scripted", "if_on_tensor.scripted", "lstm.pt2", "residual_cnn.pt2.old", "slice_assign.traced"])
def test_damaged(name, small, sanitized, tmp_path, out):
    case = small(name)
    with open(case.file, "rb") as f:
        data = f.read()
    rng, path = random.Random(name), tmp_path / "model.pt"
    for _ in range(60):
        damaged = bytearray(data[:rng.randrange(len(data))] if rng.random() < 0.1 else data)
        for _ in range(rng.choice([1, 2, 8, 64])):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(bytes(damaged))
        convert(sanitized, path, out, case.options(False))


def test_model_without_inputs(sanitized, tmp_path, out):
    """An array of no items is NULL, which memcpy may not be given."""
    code = "class Net(Module):\n  training : bool\n  def forward(self: __torch__.Net) -> Tensor:\n    return torch.zeros([2], dtype=6)\n"
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as z:
        z.writestr("m/data.pkl", b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89ub.")
        z.writestr("m/constants.pkl", b"\x80\x02).")
        z.writestr("m/version", "3\n")
        z.writestr("m/code/__torch__.py", code)
    assert convert(sanitized, tmp_path / "m.pt", out, []).returncode == 0
