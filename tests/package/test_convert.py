"""pt2onnx.convert: its arguments, and what is told while it runs. What is converted is tested elsewhere."""
import os
import signal

import pytest
import torch

import pt2onnx
from pt2onnx.interrupts import held


@pytest.fixture
def saved(tmp_path):
    path = str(tmp_path / "net.pt")
    torch.jit.script(torch.nn.Linear(4, 3)).save(path)                           # in training mode, which is told
    return path


def test_paths_of_any_kind(saved, tmp_path):
    assert pt2onnx.convert(saved) == str(tmp_path / "net.onnx")
    assert pt2onnx.convert(os.fsencode(saved)) == str(tmp_path / "net.onnx")
    assert pt2onnx.convert(tmp_path / "net.pt", tmp_path / "b.onnx") == str(tmp_path / "b.onnx")
    with pytest.raises(ValueError, match="null byte"):
        pt2onnx.convert(saved, str(tmp_path / "c\0d.onnx"))


def test_a_hyphen_is_a_file_of_that_name(saved, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert pt2onnx.convert(saved, "-", on_note=None) == "-"
    assert sorted(os.listdir()) == ["-", "net.pt"] and capfd.readouterr().out == ""


@pytest.mark.parametrize("options", [{"inputs": "input:float32[N,4]"}, {"output_names": "y"}, {"rules": "a.rules"}, {"limits": "steps=9"}, {"inputs": {"input": "float32"}}])
def test_a_list_is_not_one_text(saved, options):
    with pytest.raises(TypeError, match="%s is a list of texts, not" % next(iter(options))):
        pt2onnx.convert(saved, **options)


def test_lists_of_any_kind(saved):
    assert pt2onnx.convert(saved, inputs=(spec for spec in ["input:float32[N,4]"]), output_names=("y",), rules=None)


def test_an_exception_of_on_note_is_the_callers(saved):
    """ctypes would print and lose it."""
    told = []

    def on_note(kind, text):
        told.append(text)
        raise LookupError("from on_note")
    with pytest.raises(LookupError, match="from on_note"):
        pt2onnx.convert(saved, on_note=on_note)
    assert len(told) == 1


@pytest.fixture
def interruptible():
    """What a shell starts in the background ignores Ctrl-C, and so would the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_c(interruptible):
    done = []
    with pytest.raises(KeyboardInterrupt):
        with held():
            signal.raise_signal(signal.SIGINT)
            done.append("C")
    assert done == ["C"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_opset_that_is_no_number():
    with pytest.raises(TypeError, match="opset is a number, not '18'"):
        pt2onnx.convert("net.pt", opset="18")


def test_an_output_that_is_called_as_an_input_is(tmp_path):
    path, said = str(tmp_path / "net.pt"), []
    torch.jit.save(torch.jit.trace(torch.nn.Linear(3, 4).eval(), torch.ones(2, 3)), path)
    pt2onnx.convert(path, output_names=["input"], on_note=lambda kind, text: said.append(text))
    assert "the name input of an output, because an input has it" in said
