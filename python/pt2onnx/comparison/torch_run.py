"""torch_run.py - what torch computes: the print of each value with module, source line and operator, and how long modules take."""
import contextlib
import os
import sys
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..turns import as_before
from ..verification import parts_of
from .prints import Print

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TORCH = os.path.dirname(os.path.abspath(torch.__file__))


class Value:
    """A tensor that an operator of torch has given. `line` is FILE:LINE of the user's source, '' in a saved program."""

    __slots__ = ("name", "module", "line", "place", "print", "noise")

    def __init__(self, name, module, line, print_):
        self.name, self.module, self.line, self.print, self.noise = name, module, line, print_, None
        self.place = place(self)


def place(value):
    """(module, FILE:LINE without folders) of a value of torch's or a node."""
    return value.module, value.line.replace("\\", "/").rpartition("/")[2]


def tensors(value):
    """The dense tensors in what a call gives, in order."""
    if isinstance(value, torch.Tensor):
        return [value] if value.layout == torch.strided and not value.is_quantized else []
    return [t for item in items(value) for t in tensors(item)]


def items(value):
    """What a container holds, in order: one of Python's, or one that the user has registered as a pytree. Nothing of what is none."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    leaves = torch.utils._pytree.tree_flatten(value)[0]
    return [] if len(leaves) == 1 and leaves[0] is value else leaves


def outputs_of(result, count):
    """The tensors of a result as ONNX has them, a complex one as pairs of floats, a quantised one as three, and the numbers among them where the model has
    `count` outputs with these: another exporter may have left them out."""
    plain, whole = tensors(as_in_onnx(result, False)), tensors(as_in_onnx(result, True))
    return [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in (whole if len(whole) == count else plain or whole)]


def as_in_onnx(value, numbers):
    """In nested lists; numbers: with Python's numbers as tensors?"""
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value) if numbers else []
    return parts_of(value, False) if isinstance(value, torch.Tensor) else [as_in_onnx(item, numbers) for item in items(value)]


def line_of_the_user():
    """FILE:LINE of the innermost frame outside of torch and this package."""
    frame = sys._getframe(2)
    while frame:
        name = frame.f_code.co_filename
        if not name.startswith((TORCH, OURS, "<")):
            return "%s:%d" % (name, frame.f_lineno)
        frame = frame.f_back
    return ""


class Modules:
    """Which module runs: hooks on every call of one, and how long each call takes."""

    def __init__(self, model):
        named = model.named_modules() if isinstance(model, torch.nn.Module) else ()
        self.names = {id(m): name for name, m in named}
        self.stack, self.seconds, self.begun = [""], {}, []

    @property
    def current(self):
        return self.stack[-1]

    def enter(self, module, args):
        self.stack.append(self.names.get(id(module), self.current))
        self.begun.append(time.perf_counter())

    def leave(self, module, args, result):
        taken = time.perf_counter() - self.begun.pop()
        name = self.stack.pop()
        self.seconds[name] = self.seconds.get(name, 0.0) + taken

    @contextlib.contextmanager
    def watched(self):
        from torch.nn.modules import module
        before = module.register_module_forward_pre_hook(self.enter)
        behind = module.register_module_forward_hook(self.leave)
        try:
            yield self
        finally:
            before.remove()
            behind.remove()


class Recorder(TorchDispatchMode):
    """Keeps the print of each tensor that an operator gives, but for views of weights."""

    def __init__(self, model, modules):
        super().__init__()
        self.values, self.modules = [], modules
        held = list(model.parameters()) + list(model.buffers()) if hasattr(model, "parameters") else []
        self.weights = {t.data_ptr() for t in held}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        line = None
        for tensor in tensors(result):
            if tensor.data_ptr() in self.weights and tensor.numel():
                continue
            line = line_of_the_user() if line is None else line
            self.values.append(Value(str(func).replace(".default", ""), self.modules.current, line, Print(tensor)))
        return result


@contextlib.contextmanager
def plainly():
    """No fused path of nn.TransformerEncoder, and scripts as they are written."""
    mha = getattr(torch.backends, "mha", None)
    fast = mha.get_fastpath_enabled() if mha else None
    if mha:
        mha.set_fastpath_enabled(False)
    try:
        with torch.jit.optimized_execution(False):
            yield
    finally:
        if mha:
            mha.set_fastpath_enabled(fast)


def copied(value, change=lambda t: t):
    """The arguments or a result, their tensors copied and changed by a function."""
    if isinstance(value, dict):
        return {k: copied(v, change) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [copied(v, change) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return torch.utils._pytree.tree_map(lambda v: change(v.detach().clone()).requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v, value)


def sparing(run):
    """run with no gradients, for which torch would keep all values; with them where forward asks for one, as a force field does."""
    def it(*args):
        try:
            with torch.no_grad():
                return run(*args)
        except RuntimeError as e:
            if "does not require grad" not in str(e):
                raise
        with torch.enable_grad():
            return run(*args)
    return it


@sparing
def record(model, args, kwargs):
    """(a copy of what the model gives, [Value]) in the order of the operators. What a run writes to is put back, its result too."""
    modules = Modules(model)
    recorder = Recorder(model, modules)
    args, kwargs = copied(args), copied(kwargs)
    with as_before(model):
        with plainly(), modules.watched(), recorder:
            result = model(*args, **kwargs)
        return copied(result), recorder.values


@sparing
def timed(model, args, kwargs):
    """{module: seconds} of one run behind another that warms up; a module has its parts in it."""
    with as_before(model), plainly():
        model(*copied(args), **copied(kwargs))
        modules = Modules(model)
        with modules.watched():
            begin = time.perf_counter()
            model(*copied(args), **copied(kwargs))
            modules.seconds.setdefault("", time.perf_counter() - begin)
    return modules.seconds


def wide(t):
    """A real or complex tensor in the type that has double its bits."""
    if t.is_complex():
        return t.to(torch.complex128)
    return t.double() if t.is_floating_point() and not t.is_quantized else t
