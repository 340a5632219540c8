"""The same input gives the same bytes: in another folder, locale, time zone; again; built by another compiler."""
import hashlib
import os
import shutil
import subprocess

import pytest

import oracle

NAMES = ["resnet18.traced", "mobilenet_v3_small.scripted", "vit_b_16.traced", "gpt.pt2.dyn", "lstm.pt2", "encoder_layer.pt2.dec",
         "function_dict.scripted", "loop_carried.scripted", "write_through_view.traced"]


def digest(program, model, folder, options, **env):
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, "model.onnx")
    done = subprocess.run([program, model, "-o", out, *options], cwd=folder, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    with open(out, "rb") as f:
        h = hashlib.sha256(f.read()).hexdigest()
    os.remove(out)
    return h


@pytest.mark.parametrize("name", NAMES)
def test_same_bytes(name, small, tmp_path):
    case = small(name)
    options = case.options(case.about["dynamic"])
    other = str(tmp_path / "another folder" / "mödel")
    os.makedirs(other)
    copy = shutil.copy(case.file, other)
    first = digest(oracle.PROGRAM, case.file, str(tmp_path / "a"), options, LC_ALL="C", TZ="UTC")
    assert digest(oracle.PROGRAM, case.file, str(tmp_path / "a"), options, LC_ALL="C", TZ="UTC") == first
    second = digest(oracle.PROGRAM, copy, str(tmp_path / "b" / "c"), options, LC_ALL="de_DE.UTF-8", LANG="tr_TR.UTF-8", TZ="Asia/Kathmandu",
                    MALLOC_PERTURB_="85", HOME="/nowhere", COLUMNS="20")
    assert second == first


@pytest.mark.parametrize("name", NAMES)
def test_clang_gives_the_same_bytes(name, small, tmp_path, clang_program):
    case = small(name)
    options = case.options(case.about["dynamic"])
    assert digest(clang_program, case.file, str(tmp_path / "clang"), options) == digest(oracle.PROGRAM, case.file, str(tmp_path / "gcc"), options)


def test_renamed_model(small, tmp_path):
    """The file's own name is not part of the bytes either."""
    case = small("conv_bn_relu.traced")
    renamed = shutil.copy(case.file, tmp_path / "other.bin")
    assert digest(oracle.PROGRAM, str(renamed), str(tmp_path / "a"), []) == digest(oracle.PROGRAM, case.file, str(tmp_path / "b"), [])
