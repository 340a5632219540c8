"""writes.py - what a run of a model writes to, wherever the tensor lies: in a list, in another object, in a global of the module's file.

Each operator passes through a dispatch mode, which copies the memory that the operator is about to write to. So no tensor has to be looked for
before the run, and what is only read is not copied."""
import contextlib
import functools
import sys
import threading

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

DTYPES_OF_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
DEAD_BYTES = 64 << 20                                   # of copies whose tensors may be gone, before these are looked for

UNRECORDED = [["aten", name] for name in                # as torch's tracer has it (DONT_RECORD_TRACE); inference mode shows all of them to a mode
              ("convolution", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
               "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")]
FRAMES_OF_A_MODE = ("pt2onnx/writes.py", "torch/_ops.py", "torch/_compile.py", "torch/_dynamo/eval_frame.py", "torch/utils/_python_dispatch.py")


def writes_of_a_run():
    """A Writes. One whose methods torch._dynamo leaves alone where somebody has imported that."""
    return (UncompiledWrites if "torch._dynamo" in sys.modules else Writes)()


class Writes(TorchDispatchMode):
    """`with writes:` around a run; writes.put_back() gives all memory that was written to, and is still there, what it held before."""

    supports_higher_order_operators = True              # torch 2.x asks; their operators come here one by one

    @classmethod
    def _should_skip_dynamo(cls):
        """torch 2.x asks. It would import all of torch._dynamo to say that __torch_dispatch__ is not to be compiled, which takes longer than an export."""
        return False

    @classmethod
    def is_infra_mode(cls):
        """torch 2.x asks. What forward compiles, and each operator that takes functions (torch.cond), would not be compiled below this mode, and
        never again in this process."""
        return True

    def __init__(self):
        super().__init__()
        self.copies = {}                                # {address of the storage: (the storage, its copy)}
        self.bytes, self.enough, self.entered = 0, DEAD_BYTES, None

    def __enter__(self):
        mode = super().__enter__()
        self.entered = threading.get_ident()            # each thread has modes of its own
        return mode

    def __exit__(self, *error):
        """Once: a fork inside forward has left the mode already."""
        if self.entered:
            self.entered = None
            super().__exit__(*error)

    def leave(self):
        """Where Ctrl-C has come between __enter__ and the block of `with`, which then does not call __exit__."""
        if self.entered == threading.get_ident():
            self.__exit__(None, None, None)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with no_dispatch(), torch._C.DisableTorchFunction():            # where torch.export has modes of its own, which would see the copies
            args = with_tensors(func, args)
            for t in written_by(func, args, kwargs):
                if has_memory(t):
                    self.keep(storage_of(t))
        with recorded_by_its_parts(func):
            return func(*args, **kwargs)

    def keep(self, storage):
        """A storage that is gone has its address to itself as long as there is a weak reference to it."""
        ref = StorageWeakRef(storage)
        if ref.cdata in self.copies:
            return
        self.copies[ref.cdata] = ref, storage.clone()
        self.bytes += storage.nbytes()
        if self.bytes > self.enough:
            self.forget()

    def forget(self):
        """What was kept of tensors that are gone."""
        self.copies = {address: (ref, copy) for address, (ref, copy) in self.copies.items() if not ref.expired()}
        self.bytes = sum(copy.nbytes() for _, copy in self.copies.values())
        self.enough = 2 * self.bytes + DEAD_BYTES

    def has(self, t):
        """Has an operator written to this tensor?"""
        return StorageWeakRef(storage_of(t)).cdata in self.copies

    def put_back(self):
        while self.copies:
            address, (ref, copy) = self.copies.popitem()
            storage = None if ref.expired() else torch.UntypedStorage._new_with_weak_ptr(address)
            if storage is not None and storage.nbytes() >= copy.nbytes():               # it has grown where a tensor was resized
                storage[:copy.nbytes()].copy_(copy)


class UncompiledWrites(Writes):
    """Where a part of forward is compiled, torch._dynamo would compile what its operators call too, and stumble over no_dispatch."""

    @classmethod
    def _should_skip_dynamo(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs)


@contextlib.contextmanager
def recorded_by_its_parts(func):
    """A trace has no `convolution`, but what that calls. Below a mode torch keeps the tracer out, which is right where it has recorded the
    operator that is running: then there is no trace at hand here."""
    if str(func).split(".")[:2] not in UNRECORDED or torch._C._get_tracing_state() is None:
        yield
        return
    torch._C._dispatch_tls_set_dispatch_key_excluded("Tracer", False)
    try:
        yield
    finally:
        torch._C._dispatch_tls_set_dispatch_key_excluded("Tracer", True)


def name_lookup(frames_up=1):
    """As torch.jit._trace has it: what a variable is called where an operator is called from, which is in front of the frames of a mode."""
    def name_of(value):
        frame = sys._getframe(1)
        while frame.f_code.co_filename.replace("\\", "/").endswith(FRAMES_OF_A_MODE):
            frame = frame.f_back
        for _ in range(frames_up):
            frame = frame.f_back
        return next(("" if name == "self" else name for name, local in frame.f_locals.items() if local is value), "")
    return name_of


def storage_of(t):
    return t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage().untyped()


def has_memory(t):
    """Not a stand-in for a tensor, nor one whose numbers lie elsewhere."""
    return type(t).__torch_dispatch__ is torch.Tensor.__torch_dispatch__ and t.layout == torch.strided and not t.is_meta


def with_tensors(func, args):
    """The arguments as the operator takes them: torch hands a mode the number that a tensor is made of (the 2 of x * 2), also where an operator such as
    `equal` and `view`, which passes over the graph of a script call, takes tensors only."""
    if not any(type(args[i]) in DTYPES_OF_NUMBERS for i in tensor_arguments(func) if i < len(args)):
        return args
    return tuple(torch.tensor(a, dtype=DTYPES_OF_NUMBERS[type(a)]) if i in tensor_arguments(func) and type(a) in DTYPES_OF_NUMBERS else a
                 for i, a in enumerate(args))


@functools.lru_cache(None)
def tensor_arguments(func):
    """The places of an operator's arguments that have to be tensors."""
    if not hasattr(func, "_schema") or torch._C._should_allow_numbers_as_tensors(func._schema.name.split("::")[1]):
        return ()
    return tuple(i for i, a in enumerate(func._schema.arguments) if a.type.kind() == "TensorType")


def written_by(func, args, kwargs):
    """The tensors that this call of an operator writes to."""
    found = []
    for i, name in written_arguments(func):
        value = args[i] if i < len(args) else kwargs.get(name)
        found += [t for t in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(t, torch.Tensor)]
    return found


@functools.lru_cache(None)
def written_arguments(func):
    """[(place, name)]. The schemas of batch norms do not say that they write to their running statistics."""
    arguments = func._schema.arguments if hasattr(func, "_schema") else ()
    return [(i, a.name) for i, a in enumerate(arguments) if a.alias_info and a.alias_info.is_write or a.name.startswith("running_")]
