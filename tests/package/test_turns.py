"""Exports of several threads, and torch's state after whatever ends an export: an exception, Ctrl-C and one more, a fork in between."""
import io
import os
import signal
import sys
import tempfile
import threading
import time

import pytest
import torch

import pt2onnx
from pt2onnx import turns
from pt2onnx.turns import FIELDS, OF_THE_TRACER
from pt2onnx.versions import GLOBALS, symbolic_helper


class Net(torch.nn.Module):
    """`during` runs in forward."""

    def __init__(self, during=lambda: None):
        super().__init__()
        self.layers, self.during = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(), torch.nn.Linear(4, 2)), during

    def forward(self, x):
        self.during()
        return torch.asinh(self.layers(x))


def export(model):
    f = io.BytesIO()
    pt2onnx.export(model, (torch.ones(1, 3),), f, opset_version=17)
    return f.getvalue()


def state(model):
    return ([getattr(GLOBALS, n) for n in FIELDS], [getattr(torch.jit._trace, n) for n in OF_THE_TRACER], torch.is_grad_enabled(),
            getattr(symbolic_helper, "_export_onnx_opset_version", None), [m.training for m in model.modules()], signal.getsignal(signal.SIGINT),
            torch._C._get_tracing_state() is None, torch._C._len_torch_dispatch_stack())


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C is a KeyboardInterrupt, also where the tests run in the background of a shell, which ignores it there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def installed():
    pt2onnx.install()
    yield
    pt2onnx.uninstall()


def test_threads_wait_for_each_other():
    torch.manual_seed(0)
    models, got = [Net(lambda: time.sleep(0.05)) for _ in range(4)], {}
    alone = [export(m) for m in models]
    before = [state(m) for m in models]
    threads = [threading.Thread(target=lambda i=i: got.update({i: export(models[i])})) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [got.get(i) for i in range(4)] == alone
    assert [state(m) for m in models] == before


def test_export_inside_an_export():
    model = Net(lambda: export(Net()))
    before = state(model)
    with pytest.raises(RuntimeError, match="an export is running already, and this one comes from inside it"):
        export(model)
    assert state(model) == before
    export(Net())


def test_while_torch_exports():
    model = Net()
    before = state(model)
    GLOBALS.in_onnx_export = True
    try:
        with pytest.raises(RuntimeError, match="torch.onnx is exporting"):
            export(model)
        assert GLOBALS.in_onnx_export is True
    finally:
        GLOBALS.in_onnx_export = False
    assert state(model) == before


def test_what_cannot_be_put_back_ends_the_turn(monkeypatch):
    """The rest is put back, and the next export runs."""
    def fails(module, training):
        raise LookupError("no")
    model = Net().train()
    before = state(model)
    monkeypatch.setattr(turns, "put_back_mode", fails)
    with pytest.raises(LookupError):
        export(model)
    monkeypatch.undo()
    assert state(model) == before
    assert export(Net())


def test_exception_in_a_symbolic_function(register, installed):
    def fails(g, x):
        raise ZeroDivisionError("of the user")
    register("aten::asinh", fails, 9)
    model = Net()
    symbolic_helper._export_onnx_opset_version = 11
    before = state(model)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        export(model)
    assert state(model) == before


def test_interrupt_in_a_symbolic_function(register):
    def interrupted(g, x):
        interrupt()
        interrupt()
        return g.op("Asinh", x)
    register("aten::asinh", interrupted, 9)
    model = Net()
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        export(model)
    assert state(model) == before
    time.sleep(0.01)                                    # one more, that nobody has asked for, would come here


class Interrupting(Net):
    """Ctrl-C each time that its training mode is set, which is when it is put back too."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "training" and "during" in self.__dict__:
            interrupt()


def test_second_interrupt_while_state_is_put_back():
    inner = Interrupting(interrupt)
    model = torch.nn.Sequential(torch.nn.Dropout(), inner, torch.nn.Dropout())
    model[0].training = False
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        export(model)
    assert state(model) == before


def test_interrupts_at_any_moment(monkeypatch, tmp_path):
    """Ctrl-C every fraction of a millisecond: each export ends or is ended, and nothing of it stays."""
    raising, stop, ended = [False], threading.Event(), 0
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: None)       # of a destructor; pytest's own would be interrupted as it looks for the line

    def on_interrupt(number, frame):
        if raising[0]:
            raise KeyboardInterrupt

    def storm():
        while not stop.is_set():
            interrupt()
            time.sleep(0.0004)

    model = Net()
    before_test = signal.signal(signal.SIGINT, on_interrupt)
    thread = threading.Thread(target=storm)
    export(model)
    before = state(model)
    thread.start()
    try:
        for _ in range(60):
            try:
                raising[0] = True
                export(model)
                raising[0] = False
            except (KeyboardInterrupt, RuntimeError) as e:      # C++ in the tracer of torch 1.13 makes the one of the other
                raising[0] = False
                assert isinstance(e, KeyboardInterrupt) or str(e).startswith("KeyboardInterrupt"), e
                ended += 1
            assert state(model) == before
    finally:
        stop.set()
        thread.join()
        signal.signal(signal.SIGINT, before_test)
    assert ended
    assert os.listdir(tmp_path) == []
    export(model)


def child_ends(pid, seconds=60):
    """Its exit code."""
    for _ in range(seconds * 20):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the child does not end")


def test_fork_by_another_thread():
    """The child finds torch as it was before the export, and exports itself."""
    inside, done = threading.Event(), threading.Event()
    model, other = Net(lambda: (inside.set(), done.wait(120))), Net()
    before = state(model)
    thread = threading.Thread(target=lambda: export(model))
    thread.start()
    assert inside.wait(60)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            export(other)
            code = 0 if state(model) == before else 2
        finally:
            os._exit(code)
    try:
        assert child_ends(pid) == 0
    finally:
        done.set()
        thread.join()
    assert state(model) == before


def test_fork_inside_forward():
    """Both go on with forward: the child's export says why it does not end, and leaves the files of its parent's, which ends as ever."""
    codes = []

    def fork():
        child = os.fork()
        if child:
            codes.append(child_ends(child))
    model, parent = Net(fork), os.getpid()
    before, code = state(model), 1
    try:
        export(model)
    except RuntimeError as e:
        if os.getpid() == parent:
            raise
        code = 0 if "forked while it exported" in str(e) and state(model) == before else 2
    finally:
        if os.getpid() != parent:
            os._exit(code)
    assert state(model) == before
    assert codes == [0]
