"""turns.py - one export after another, and torch as it was before each.

An export changes what all of the process sees: torch.onnx's globals, the model's training mode, functions of torch while it traces.
So a second thread waits for the first to be done, and whatever ends an export, an exception, a Ctrl-C and one more of them, a fork by
another thread, all of it is put back. While something is put back, or a callback runs that C has called, Ctrl-C is held and comes
after it: an exception there would be lost, or lose the rest."""
import collections
import contextlib
import os
import random
import signal
import sys
import threading

import torch
from torch.utils._mode_utils import no_dispatch

from .versions import GLOBALS, ONNX_DTYPES, symbolic_helper
from .writes import Writes, writes_of_a_run

FIELDS = ("in_onnx_export", "operator_export_type", "training_mode", "export_training", "export_onnx_opset_version")
OF_THE_TRACER = ("_trace_module_map", "_create_interpreter_name_lookup_fn")      # trace.py has others in their places while it traces

_lock = threading.Lock()
_running = None                                         # the Turn that has the lock
_held, _held_on_top = set(), set()                      # codes of functions that undisturbed and undisturbed_entry mark


def undisturbed(function):
    """Ctrl-C waits while this function runs, and what it calls."""
    _held.add(function.__code__)
    return function


def undisturbed_entry(function):
    """Ctrl-C waits while this function itself runs, but not in what it calls: C has called it, and Ctrl-C in C's time comes first thing."""
    _held_on_top.add(function.__code__)
    return function


def later(undo, *arguments):
    """One thing more to do at the end of the export that is running."""
    if _running:
        _running.undo.append((undo, *arguments))


def deliver():
    """The Ctrl-C that was held, now."""
    if _running:
        _running.deliver()


class Turn:
    """`with Turn(model):` is an export's turn. The model's modules keep their modes."""

    def __init__(self, model):
        self.model, self.undo, self.held, self.before, self.owner = model, [], None, None, None
        self.abandoned = False                          # this is a forked child, the export is its parent's

    @undisturbed
    def __enter__(self):
        global _running
        self.owner = threading.get_ident()
        if _running and _running.owner == self.owner:
            raise RuntimeError("pt2onnx: an export is running already, and this one comes from inside it: from a forward, a symbolic function or on_note")
        self.catch()
        try:
            while not _lock.acquire(timeout=0.1):
                self.deliver()
        except BaseException:
            self.let_go()
            raise
        self.lock, _running = _lock, self
        try:
            if GLOBALS.in_onnx_export:
                raise RuntimeError("pt2onnx: torch.onnx is exporting, in this thread or another: one export at a time")
            self.undo += snapshot(self.model)
            self.deliver()
        except BaseException:
            self.end()
            raise
        return self

    @undisturbed
    def __exit__(self, kind, error, trace):
        self.end()
        if kind is None:
            self.deliver()

    def end(self):
        global _running
        try:
            self.put_back()
        finally:
            if not self.abandoned:
                _running = None
            self.lock.release()
            self.let_go()

    def put_back(self):
        """All of it, also behind a step that fails: the first error comes at the end."""
        error = None
        while self.undo:
            function, *arguments = self.undo[-1]
            try:
                function(*arguments)
            except Exception as e:
                error = error or e
            self.undo.pop()
        if error:
            raise error

    # ---- Ctrl-C: only the main thread gets it, and only a handler of Python's can be put off ----

    def catch(self):
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self.before = signal.signal(signal.SIGINT, self.on_interrupt)

    def let_go(self):
        if self.before and signal.getsignal(signal.SIGINT) == self.on_interrupt:
            signal.signal(signal.SIGINT, self.before)

    def on_interrupt(self, number, frame):
        if is_held(frame):
            self.held = number, frame
        else:
            self.before(number, frame)

    def deliver(self):
        if self.held:
            held, self.held = self.held, None
            self.before(*held)


def is_held(frame):
    """Is this frame, or one that has called it, undisturbed?"""
    if frame is not None and frame.f_code in _held_on_top:
        return True
    while frame is not None and frame.f_code not in _held:
        frame = frame.f_back
    return frame is not None


def snapshot(model):
    """What puts back all that an export changes: [(function, arguments..)]."""
    undo = [(setattr, GLOBALS, name, getattr(GLOBALS, name)) for name in FIELDS]
    undo += [(setattr, torch.jit._trace, name, getattr(torch.jit._trace, name)) for name in OF_THE_TRACER]
    undo.append((put_back_gradients, threading.get_ident(), torch.is_grad_enabled()))
    undo.append((put_back_autocast_cache, threading.get_ident(), torch.is_autocast_cache_enabled()))
    undo += random_states()
    if hasattr(symbolic_helper, "_export_onnx_opset_version"):
        undo.append((setattr, symbolic_helper, "_export_onnx_opset_version", symbolic_helper._export_onnx_opset_version))
    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    return undo + [(put_back_mode, m, m.training) for m in modules if hasattr(m, "training")]


def random_states():
    """What puts back the random numbers of torch, Python and NumPy: [(function, state)]."""
    states = [(torch.set_rng_state, torch.get_rng_state()), (random.setstate, random.getstate())]
    if "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        states.append((numpy.random.set_state, numpy.random.get_state()))
    return states


def put_back_gradients(thread, enabled):
    """Each thread has its own."""
    if threading.get_ident() == thread and torch.is_grad_enabled() != enabled:
        torch.set_grad_enabled(enabled)


def put_back_autocast_cache(thread, enabled):
    if threading.get_ident() == thread:
        torch.set_autocast_cache_enabled(enabled)


def put_back_mode(module, training):
    """Not where it is so already: a frozen script refuses to be set."""
    if module.training != training:
        module.training = training


# ---- what forward may write to or replace ----

KEPT_BYTES = 64 << 20                                   # of what is copied before the run, in case that something writes to it which no mode sees
CONTAINERS = (dict, list, set, collections.deque)


class Kept:
    """`written`: the model's tensors that a run has written to; `unseen`: those of them that no operator has written to; `replaced`: those in whose
    places it has put others. Known behind the run."""

    def __init__(self, model):
        self.written, self.unseen, self.replaced, self.writes = [], [], [], writes_of_a_run()
        modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
        places = [place for m in modules for place in places_of_tensors(m)]
        copies = copies_of([t for _, _, t in places])
        self.held = [(holder, name, t, t.data if is_plain(t) else None, copies.get(id(t))) for holder, name, t in places]
        self.containers = [(c, plain_copy(c)) for c in containers_of(modules)]

    @undisturbed
    def put_back(self):
        """Empties `held`, and with it the copies, and `containers`."""
        while self.held:
            holder, name, t, memory, before = self.held[-1]
            with torch.inference_mode(t.is_inference()), torch.no_grad():
                self.put_back_memory(t, memory, before)
            if not isinstance(holder, dict):
                put_back_attribute(holder, name, t)
            elif holder.get(name) is not t:             # which `containers` puts back
                self.replaced.append(t)
            self.held.pop()
        while self.containers:
            put_back_items(*self.containers[-1])
            self.containers.pop()
        self.writes.put_back()

    def put_back_memory(self, t, memory, before):
        moved = memory is not None and memory.data_ptr() != t.data_ptr() and not (memory.shape == t.shape and same(memory, t))
        if moved:
            t.data = memory
        changed = before is not None and not same(t, before)
        if moved or changed and not self.writes.has(t):
            self.unseen.append(t)
        if changed:
            t.copy_(before)
        if changed or memory is not None and before is None and self.writes.has(t):
            self.written.append(t)


def put_back_attribute(script, name, t):
    if getattr(script, name) is not t:
        setattr(script, name, t)


def put_back_items(container, before):
    """Only where they are others, or in another order."""
    now, then = items_of(container), items_of(before)
    if len(now) != len(then) or any(a is not b for a, b in zip(now, then)):
        container.clear()
        (container.extend if isinstance(container, (list, collections.deque)) else container.update)(before)


for function in (Writes.__enter__, Writes.__exit__):
    undisturbed(function)


@contextlib.contextmanager
def tensors_kept(model):
    """Behind a run of the model its modules have the weights, buffers and other attributes that they had, with the items that were in them, and all
    that the run has written to has the values that it had: what the file begins with. Gives a Kept."""
    kept = Kept(model)
    later(kept.put_back)
    later(kept.writes.leave)
    try:
        with made_below_a_mode(), kept.writes:
            yield kept
    finally:
        kept.put_back()


@contextlib.contextmanager
def as_before(model):
    """The model's buffers and random numbers are as before behind it: each run begins with the same."""
    states = random_states()
    try:
        with tensors_kept(model):
            yield
    finally:
        for put_back, state in states:
            put_back(state)


@contextlib.contextmanager
def made_below_a_mode():
    """torch.Tensor([2.]) fails in torch 1.13 where a mode has seen the tensor."""
    if hasattr(torch.Tensor, "untyped_storage"):        # torch 2.0 has it, and takes such tensors
        yield
        return

    def new(cls, *args, **kwargs):
        with no_dispatch():
            return torch._C._TensorBase.__new__(cls, *args, **kwargs)

    def as_subclass(t, cls):
        with no_dispatch():
            return torch._C._TensorBase.as_subclass(t, cls)
    with replaced(torch.Tensor, "__new__", staticmethod(new)), replaced(torch.Tensor, "as_subclass", as_subclass):
        yield


@contextlib.contextmanager
def replaced(cls, name, value):
    """A member of a class, or of a module of Python's, is another for the time of a `with`."""
    before = vars(cls).get(name)
    later(put_back_member, cls, name, before)
    setattr(cls, name, value)
    try:
        yield
    finally:
        put_back_member(cls, name, before)


def put_back_member(cls, name, before):
    """before: None where the class inherits it."""
    if before is not None:
        setattr(cls, name, before)
    elif name in vars(cls):
        delattr(cls, name)


def places_of_tensors(module):
    """[(the dict that holds it, or a scripted module, name, tensor)]"""
    if isinstance(module, torch.jit.ScriptModule):
        return [(module, name, t) for name, t in module.named_buffers(recurse=False)]
    return [(holder, name, t) for holder in (module._parameters, module._buffers, vars(module)) for name, t in holder.items()
            if isinstance(t, torch.Tensor)]


def containers_of(modules):
    """The dicts of their attributes, and what is in these of dicts, lists, sets and deques, in one another too. A scripted module has none."""
    found, todo = {}, [vars(m) for m in modules if not isinstance(m, torch.jit.ScriptModule)]
    while todo:
        c = todo.pop()
        if id(c) not in found:
            found[id(c)] = c
            todo += [item for item in (c.values() if isinstance(c, dict) else c) if isinstance(item, CONTAINERS)]
    return list(found.values())


def plain_copy(container):
    return dict(container) if isinstance(container, dict) else list(container)


def items_of(container):
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def copies_of(tensors):
    """{id: copy}, of the smallest first. A tensor that is not dense, or of a type that ONNX does not have, is not copied."""
    copies, left = {}, KEPT_BYTES
    for t in sorted(filter(is_plain, tensors), key=size_of):
        left -= size_of(t)
        if left < 0:
            break
        copies[id(t)] = t.detach().clone()
    return copies


def is_plain(t):
    return type(t) in (torch.Tensor, torch.nn.Parameter) and t.layout == torch.strided and not t.is_meta and (t.dtype in ONNX_DTYPES or t.is_quantized)


def same(a, b):
    """Not-a-number is the same as itself here."""
    try:
        return torch.equal(a, b) or a.is_floating_point() and bool(((a == b) | (a != a) & (b != b)).all())
    except RuntimeError:                                # torch 2.5 cannot compare float8
        return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def size_of(t):
    return t.numel() * t.element_size()


def after_fork():
    """In the child: no thread of it exports, and what the parent's export has changed is put back. The child's copy of an export that
    has forked itself ends with an error (Export.call)."""
    global _lock, _running
    turn, _lock, _running = _running, threading.Lock(), None
    if turn:
        turn.abandoned = True
        turn.put_back()
        turn.let_go()


os.register_at_fork(after_in_child=after_fork)
