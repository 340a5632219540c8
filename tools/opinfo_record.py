"""opinfo_record.py - PyTorch's OpInfo samples as saved programs: what tools/opinfo.py converts and compares.

    opinfo_record.py --form pt --out DIR [--samples 4|all]      reads "NAME DTYPE" lines, answers "done NAME DTYPE"

A sample is one call of an operator. Its tensors become the inputs of a small module, everything else is a constant of it, and
the module is saved in one form: `pt` (torch.jit.trace) or `pt2` (torch.export). `torchscript` and `dynamo` are torch's own two
exporters, whose ONNX model takes the place of the saved program. A recording is one pickle for an operator, dtype and form, of
plain Python values, so that reading it needs no torch. Which samples, and their numbers, follow from the operator's name. A sample of
half precision has a twin: what the same call gives for the same numbers in float32.
"""
import argparse
import io
import os
import pickle
import random
import signal
import sys
import warnings
import zlib

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

HALF = ("float16", "bfloat16")
SECONDS = 120                   # for one sample; torch.export takes 0.1 to 0.3
# Results of these are whatever the memory held.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}


def full_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def operators():
    """Name to OpInfo; where two share a name the later ones get a number."""
    table = {}
    for op in op_db:
        name, n = full_name(op), 2
        while name in table:
            name, n = "%s.%d" % (full_name(op), n), n + 1
        table[name] = op
    return table


def dtypes_of(op):
    return {str(d).split(".")[1] for d in op.dtypes}


class Call(torch.nn.Module):
    """op(*args, **kwargs), with the tensors among them as the inputs of forward."""

    def __init__(self, op, arguments):
        super().__init__()
        leaves, self.spec = pytree.tree_flatten(arguments)
        self.op = op
        self.leaves = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.tensors = [plain(leaves[i]) for i in self.places]

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for i, t in zip(self.places, tensors):
            leaves[i] = t
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        out = self.op(*args, **kwargs)
        return tuple(out) if isinstance(out, tuple) else out    # torch.export saves no named tuples

    def inputs(self):
        return tuple(t.clone() for t in self.tensors)


def plain(t):
    """A contiguous copy: how a user's runtime hands tensors over."""
    return t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def seeded(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def calls(name, op, dtype, count):
    """The chosen samples as (index, Call)."""
    seed = zlib.crc32(("%s %s" % (name, dtype)).encode())
    seeded(seed)
    samples = list(op.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False))
    chosen = range(len(samples))
    if count != "all" and len(samples) > int(count):
        chosen = sorted(random.Random(seed).sample(chosen, int(count)))
    for i in chosen:
        s = samples[i]
        yield i, Call(op.op, ((s.input,) + tuple(s.args), dict(s.kwargs)))


# ---- values as plain Python ----

def packed(v):
    """A tensor as (dtype, shape, bytes), a number as itself."""
    if not isinstance(v, torch.Tensor):
        return v
    v = plain(v)
    bits = v.view(torch.int16) if v.dtype == torch.bfloat16 else v
    return str(v.dtype).split(".")[1], tuple(v.shape), bits.numpy().tobytes()


def described(v):
    if isinstance(v, torch.Tensor):
        return "%s[%s]" % (str(v.dtype).split(".")[1], ",".join(map(str, v.shape)))
    if isinstance(v, (list, tuple)):
        return "[%s]" % ", ".join(map(described, v))
    return repr(v)


def call_text(name, call):
    leaves = list(call.leaves)
    for i, t in zip(call.places, call.tensors):
        leaves[i] = t
    args, kwargs = pytree.tree_unflatten(leaves, call.spec)
    return "%s(%s)" % (name, ", ".join([described(a) for a in args] + ["%s=%s" % (k, described(v)) for k, v in kwargs.items()]))


# ---- forms ----

def save_pt(call):
    with torch.no_grad():
        program = torch.jit.trace(call, call.inputs(), check_trace=False)
    return saved(lambda f: torch.jit.save(program, f))


def save_pt2(call):
    with torch.no_grad():
        program = torch.export.export(call, call.inputs(), strict=False)
    return saved(lambda f: torch.export.save(program, f))


def export_onnx(call, dynamo):
    path = "/dev/shm/opinfo.%d.onnx" % os.getpid()
    try:
        with torch.no_grad():
            torch.onnx.export(call, call.inputs(), path, dynamo=dynamo, external_data=False) if dynamo else \
                torch.onnx.export(call, call.inputs(), path, dynamo=False)
        with open(path, "rb") as f:
            return f.read()
    finally:
        if os.path.exists(path):
            os.remove(path)


def saved(write):
    f = io.BytesIO()
    write(f)
    return f.getvalue()


FORMS = {"pt": save_pt, "pt2": save_pt2, "torchscript": lambda c: export_onnx(c, False), "dynamo": lambda c: export_onnx(c, True)}


# ---- recording ----

class Draws(TorchDispatchMode):
    """Has an operator drawn random numbers?"""

    def __init__(self):
        super().__init__()
        self.any = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.any = self.any or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def results(call, seed):
    """The call's results. Some samples set the seed themselves, so that torch's own tests repeat: that is taken from them."""
    seeded(seed)
    set_seed, torch.manual_seed = torch.manual_seed, lambda _seed: None
    try:
        with torch.no_grad():
            out = call(*call.inputs())
    finally:
        torch.manual_seed = set_seed
    return [v for v in pytree.tree_leaves(out) if v is not None]


def kind_of(name, call, out):
    """"exact", or why only dtype and shape can be compared."""
    if name.split(".")[0] in UNINITIALISED:
        return "uninitialised"
    with Draws() as draws:
        results(call, 1)
    first = [packed(v) for v in out]
    return "random" if draws.any and any([packed(v) for v in results(call, seed)] != first for seed in range(2, 10)) else "exact"


class Slow(Exception):
    pass


def too_slow(_signal, _frame):
    raise Slow("takes more than %d s" % SECONDS)


def twin(call):
    """The call's results in float32, of which half precision is a rounding; None where an argument asks for another dtype."""
    halves = call.tensors
    call.tensors = [t.float() if t.is_floating_point() else t for t in halves]
    try:
        return [packed(v) for v in results(call, 1)]
    except Exception:
        return None
    finally:
        call.tensors = halves


def record_call(name, index, call, form, dtype):
    sample = {"index": index, "call": call_text(name, call), "program": None, "error": None, "kind": "exact", "twin": None}
    try:
        out = results(call, 1)
        sample["kind"] = kind_of(name, call, out)
        sample["inputs"] = [packed(t) for t in call.tensors]
        sample["outputs"] = [packed(v) for v in out]
        if dtype in HALF and sample["kind"] == "exact":
            sample["twin"] = twin(call)
        sample["program"] = FORMS[form](call.eval())
    except Exception as e:
        sample["error"] = "%s: %s" % (type(e).__name__, str(e).strip()[:600])
    return sample


def record(name, op, dtype, form, count):
    samples = []
    try:
        for index, call in calls(name, op, dtype, count):
            signal.alarm(SECONDS)
            samples.append(record_call(name, index, call, form, dtype))
    except Exception as e:                                      # the sample generator itself
        samples.append({"index": -1, "call": name, "program": None, "error": "%s: %s" % (type(e).__name__, str(e)[:600]), "kind": "exact"})
    finally:
        signal.alarm(0)
    return {"op": name, "dtype": dtype, "form": form, "torch": torch.__version__, "samples": samples}


def write(path, recording):
    part = "%s.%d.part" % (path, os.getpid())
    with open(part, "wb") as f:
        pickle.dump(recording, f)
    os.replace(part, path)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--form", choices=sorted(FORMS))
    p.add_argument("--out")
    p.add_argument("--samples", default="4")
    p.add_argument("--list", action="store_true", help="print NAME DTYPE,DTYPE,.. of every operator and stop")
    o = p.parse_args()
    table = operators()
    if o.list:
        for name in sorted(n for n in table if table[n].dtypes):
            print(name, ",".join(sorted(dtypes_of(table[name]))))
        return
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, too_slow)
    answers = os.fdopen(os.dup(1), "w")                         # exporters print, in C too: the answers stay clean
    os.dup2(2, 1)
    for line in sys.stdin:
        name, dtype = line.split()
        write(os.path.join(o.out, "%s %s.pickle" % (name, dtype)), record(name, table[name], dtype, o.form, o.samples))
        print("done", name, dtype, file=answers, flush=True)
        if o.form != "pt":
            torch._dynamo.reset()


if __name__ == "__main__":
    main()
