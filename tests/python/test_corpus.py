"""What tools/corpus.py says of a result, and that it fails for each that is not right: wrong, a crash, a refusal that limits.md does not list."""
import json
import os
import shutil
import stat
import sys

import pytest

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import corpus                                                       # noqa: E402

PROGRAM = os.path.join(oracle.TOP, "tests", "programs", "if_on_tensor")
ANSWERS = {
    "wrong": "echo nonsense > \"$3\"",
    "crashed": "kill -SEGV $$",
    "refused": "echo \"pt2onnx: x.pt: aten::nextafter: no such function in ONNX\" >&2; exit 1",
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A corpus of one model."""
    models = tmp_path / "models" / "toys213"
    models.mkdir(parents=True)
    for suffix in (".pt", ".npz"):
        shutil.copy(PROGRAM + suffix, models / ("toy.scripted" + suffix))
    about = {"file": "toy.scripted.pt", "form": "scripted", "tags": [], "runs": 2, "dynamic": True, "specs": ["x:float32[3]"],
             "dynamic_specs": ["x:float32[3]"]}
    (models / "toy.scripted.json").write_text(json.dumps(about))
    monkeypatch.setattr(oracle, "CACHE", str(tmp_path))
    monkeypatch.setattr(oracle, "MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(oracle, "PROGRAM", oracle.PROGRAM)          # main sets it
    return tmp_path


def corpus_of(program, monkeypatch, capsys, *options):
    monkeypatch.setattr(sys, "argv", ["corpus.py", "--pt2onnx", str(program), *(options or ["--no-make"])])
    return corpus.main(), capsys.readouterr().out


def answering(cache, what):
    """A program that does nothing but this."""
    path = cache / "program"
    path.write_text("#!/bin/sh\n%s\n" % ANSWERS[what])
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_right(cache, monkeypatch, capsys):
    code, said = corpus_of(oracle.PROGRAM, monkeypatch, capsys)
    assert code == 0 and "toys213 " in said


@pytest.mark.parametrize("what", ANSWERS)
def test_not_right(what, cache, monkeypatch, capsys):
    code, said = corpus_of(answering(cache, what), monkeypatch, capsys)
    assert code == 1 and "toys213/toy.scripted opset 18: %s" % what in said


@pytest.mark.parametrize("reason, code", [("aten::nextafter", 0), ("aten::to_sparse", 1)])
def test_a_refusal_is_listed_with_its_reason(reason, code, cache, monkeypatch, capsys):
    monkeypatch.setattr(corpus, "listed_refusals", lambda: {"toys213/toy*": reason})
    assert corpus_of(answering(cache, "refused"), monkeypatch, capsys)[0] == code


@pytest.mark.parametrize("refused, good", [(0, True), (2, True), (3, False)])
def test_one_in_twenty_may_be_refused(refused, good):
    results = {("set/m%d" % i, 18): ("refused as limits.md says" if i < refused else "right", "") for i in range(40)}
    line, said = corpus.summary(results)
    assert said == good and "40 models: %d right, %d refused (%.1f %%), 0 wrong" % (40 - refused, refused, 2.5 * refused) in line


def test_models_that_could_not_be_made(cache, monkeypatch, capsys):
    monkeypatch.setattr(corpus, "make_models", lambda only: False)
    code, said = corpus_of(oracle.PROGRAM, monkeypatch, capsys, "--only", "toys213")
    assert code == 1 and "not all models could be made" in said


def test_no_model_at_all(cache, monkeypatch, capsys):
    assert corpus_of(oracle.PROGRAM, monkeypatch, capsys, "--no-make", "--only", "nothing")[0] == 1
