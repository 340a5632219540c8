"""Operator cases as Python sees them: the text of tests/ops/*.txt parsed into calls, values and expectations.

The format is described at the head of run_cases.c; `fill` must give what fill() there gives.
"""
import importlib
import re

import numpy as np

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8",
          "i16": "int16", "i32": "int32", "i64": "int64", "b": "bool", "c64": "complex64", "c128": "complex128"}
PARTS = {"c64": "f32", "c128": "f64"}                                   # complex: real and imaginary part in turn, along a last axis of 2
TENSOR = re.compile(r"(const |num )?(f16|bf16|f32|f64|i8|u8|i16|i32|i64|b|c64|c128)\[([^\]]*)\]([^,)\]]*)")


class Unreadable(Exception):
    """A case that cannot be read: "FILE:LINE: why"."""


class Tensor:
    """One tensor of a case: how it is given, its dtype's short name, its dims (numbers or names) and its values."""

    def __init__(self, how, short, dims, text, index):
        self.how, self.short, self.index = how.strip(), short, index
        self.dims = [d.strip() for d in dims.split(",") if d.strip()]
        self.values = [float(v) if short[0] in "fbc" else int(v) for v in text.split()]
        sizes = [2 if not d.isdigit() else int(d) for d in self.dims]
        wanted = int(np.prod(sizes, dtype=np.int64)) * (2 if short in PARTS else 1)
        if self.values and len(self.values) != wanted:
            raise ValueError("%s[%s] has %d values, not %d" % (short, dims, wanted, len(self.values)))

    @property
    def dynamic(self):
        return any(not d.isdigit() for d in self.dims)

    def numpy(self, size=2):
        """The array, with every named dim of `size`."""
        shape = [int(d) if d.isdigit() else size for d in self.dims] + [2] * (self.short in PARTS)
        n = int(np.prod(shape, dtype=np.int64)) if shape else 1
        values = self.values if len(self.values) == n and not (self.dynamic and size != 2) else [fill(self.short, k, self.index) for k in range(n)]
        if self.short == "b":
            return np.array([v != 0 for v in values], bool).reshape(shape)
        name = "float32" if self.short == "bf16" else DTYPES[PARTS.get(self.short, self.short)]
        return np.array(values, np.float64 if self.short[0] in "fbc" else np.int64).astype(name).reshape(shape)


def fill(short, k, n):
    v = (k * 7 + 3 + n * 5) % 11
    if short == "b":
        return v % 2
    if short == "u8":
        return v
    return (v - 5) / 2 if short[0] in "fbc" else v - 5


class Sym:
    """`sym 2*N`: an int that follows from the named dims."""

    def __init__(self, text):
        self.text = text

    def number(self, size):
        return eval(re.sub(r"[A-Za-z_]\w*", str(size), self.text))


HEAD = re.compile(r"([A-Za-z_][\w:]*)(?:\.(\w*))?\(")


class Again:
    """`a0`: the case's first tensor, as it is by then."""

    def __init__(self, index):
        self.index = index


class Call:
    """An operator's result as an argument; of a list, the item at `place`."""

    place = None

    def __init__(self, head, positional, keyword):
        self.name, self.overload = head.group(1), head.group(2)
        self.positional, self.keyword = positional, keyword


class Spread:
    """`*call(..)`: what it gives, an argument each."""

    def __init__(self, call):
        self.call = call


class Case:
    def __init__(self, call, line, path):
        self.call, self.line, self.path = call, line, path
        self.results, self.nodes, self.message = [], None, None
        self.tolerance = self.quartiles = None
        self.skip = None
        self.head = HEAD.match(call)
        if not self.head:
            raise self.unreadable("a case is a call, name(args)")
        self.name, self.overload = self.head.group(1), self.head.group(2)

    def parse(self):
        """(positional, keyword, tensors): values as Python's, tensors as Tensor."""
        reader = _Reader(self.call[self.head.end() - 1:])
        try:
            return reader.arguments() + (reader.tensors,)
        except ValueError as e:
            raise self.unreadable(e) from None

    def unreadable(self, why):
        return Unreadable("%s:%d: the case cannot be read: %s: %s" % (self.path, self.line, why, self.call))


class _Reader:
    def __init__(self, text):
        self.text, self.at, self.tensors = text, 1, []

    def take(self, s):
        while self.text[self.at:self.at + 1] == " ":
            self.at += 1
        if not self.text.startswith(s, self.at):
            return False
        self.at += len(s)
        return True

    def match(self, pattern):
        self.take("")
        m = re.compile(pattern).match(self.text, self.at) if isinstance(pattern, str) else pattern.match(self.text, self.at)
        if m:
            self.at = m.end()
        return m

    def arguments(self):
        positional, keyword = [], {}
        while not self.take(")"):
            name = self.match(r"([A-Za-z_]\w*)=")
            if name:
                keyword[name.group(1)] = self.value()
            elif self.take("*"):
                positional.append(Spread(self.value()))
            else:
                positional.append(self.value())
            self.take(",")
        return positional, keyword

    def value(self):
        self.take("")
        tensor = self.match(TENSOR)
        if tensor:
            out = Tensor(tensor.group(1) or "", tensor.group(2), tensor.group(3), tensor.group(4), len(self.tensors))
            self.tensors.append(out)
            return out
        if self.take("["):
            items = []
            while not self.take("]"):
                items.append(self.value())
                self.take(",")
            return items
        if self.take("("):
            items = []
            while not self.take(")"):
                items.append(self.value())
                self.take(",")
            return tuple(items)
        for word, value in (("None", None), ("True", True), ("False", False)):
            if self.take(word):
                return value
        symbol = self.match(r"sym ([^,)\]]+)")
        if symbol:
            return Sym(symbol.group(1))
        again = self.match(r"a(\d+)(?=[,)\]])")
        if again:
            return Again(int(again.group(1)))
        head = self.match(HEAD)
        if head:
            call, place = Call(head, *self.arguments()), self.match(r"\[(\d+)\]")
            call.place = place and int(place.group(1))
            return call
        string = self.match(r'"([^"]*)"')
        if string:
            return string.group(1)
        word = self.match(r"[^,)\]\s]+")
        if not word:
            raise ValueError("an argument is missing" if not self.text[self.at:] else "'%s' is no argument" % self.text[self.at:])
        word = word.group(0)
        if word in DTYPES.values():
            return np.dtype(word) if word != "bfloat16" else "bfloat16"
        if word.startswith("float8_"):
            return word
        return float(word) if re.search(r"[.en]", word) else int(word)


def read(path):
    cases = []
    with open(path) as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            note = re.search(r"    #\s*(tolerance|skip|quartiles):?\s*(.*)$", line)
            if not line.startswith("!!"):
                line = re.sub(r"(^|    )#.*$", "", line).rstrip()
            if not line:
                continue
            if not cases and re.match(r"!!|->|=\d*>", line):
                raise Unreadable("%s:%d: a result stands before the first case: %s" % (path, n, line))
            if line.startswith("!! "):
                cases[-1].message = line[3:]
            elif line.startswith("->"):
                cases[-1].results.append(line[2:].strip())
            elif re.match(r"=\d+>", line):                              # run_cases checks it
                continue
            elif line.startswith("=>"):
                cases[-1].nodes = line[2:].strip()
            else:
                cases.append(Case(line, n, path))
            if note:
                setattr(cases[-1], note.group(1), note.group(2))
    return cases


# ---- PyTorch ----

def torch_value(v, made, size=2):
    """made: the tensors of the case so far, by index"""
    import torch
    if isinstance(v, Tensor):
        t = torch.from_numpy(v.numpy(size).copy())
        t = t.bfloat16() if v.short == "bf16" else torch.view_as_complex(t) if v.short in PARTS else t
        made[v.index] = t.item() if v.how == "num" else t
        return made[v.index]
    if isinstance(v, Again):
        return made[v.index]
    if isinstance(v, list):
        return [torch_value(x, made, size) for x in v]
    if isinstance(v, Sym):
        return v.number(size)
    if isinstance(v, np.dtype):
        return getattr(torch, v.name)
    if isinstance(v, Call):
        out = torch_operator(v, v.positional, v.keyword, made, size)
        return out if v.place is None else out[v.place]
    return getattr(torch, v) if isinstance(v, str) and (v == "bfloat16" or v.startswith("float8_")) else v


PYTHON = ("_operator", "math", "torch")


# Layers that only this engine of PyTorch has.
ONEDNN = ("quantized::conv2d_add", "quantized::linear_tanh", "quantized::linear_leaky_relu")


def torch_operator(call, args, kwargs, made, size):
    import torch
    if isinstance(call, Case) and call.name.startswith("quantized::"):  # what is packed in its arguments is packed for it
        torch.backends.quantized.engine = "onednn" if call.name.startswith(ONEDNN) else "x86"
    space, _, name = call.name.rpartition("::")
    if space == "quantized_decomposed":
        import torch.ao.quantization.fx._decomposed                     # noqa: F401
    if space in PYTHON:                                                 # what a .pt2 computes with numbers
        op = getattr(importlib.import_module(space.strip("_")), name)
    else:
        op = getattr(getattr(torch.ops, space or "aten"), name)
    if call.overload is not None:
        op = getattr(op, call.overload or "default")
    values = []
    for a in args:
        values += torch_value(a.call, made, size) if isinstance(a, Spread) else [torch_value(a, made, size)]
    return op(*values, **{k: torch_value(v, made, size) for k, v in kwargs.items()})


def is_torch(name):
    """An operator that this Python can ask for: PyTorch's own, torchvision's where it is installed."""
    if name.startswith("torchvision::"):
        try:
            import torchvision                                          # noqa: F401
        except ImportError:
            return False
        return True
    if name.startswith("quantized_decomposed::"):
        import torch.ao.quantization.fx._decomposed                     # noqa: F401
        return True
    if name.startswith("torch_nn::"):                                   # of torch 2.13
        try:
            import torch.nn.modules.linear_cross_entropy                # noqa: F401
        except ImportError:
            return False
        return True
    if name.startswith("prepacked::"):                                  # a build for phones, or Debian's
        import torch
        return hasattr(torch.ops.prepacked, "linear_clamp_run")
    return "::" not in name or name.startswith(("prims::", "quantized::")) or name.partition("::")[0] in PYTHON


def torch_call(case, size=2, made=None):
    """The results of a case in PyTorch, as a flat list. made: takes the case's tensors, by index."""
    import torch
    args, kwargs, _ = case.parse()
    made = {} if made is None else made
    if case.name in ("tensor", "as_tensor"):                            # torch.ops knows the overload for bools only
        return [getattr(torch, case.name)(*[torch_value(a, made, size) for a in args], **{k: torch_value(v, made) for k, v in kwargs.items()})]
    return flat(torch_operator(case, args, kwargs, made, size))


def flat(v):
    return [x for item in v for x in flat(item)] if isinstance(v, (list, tuple)) else [v]


def result_text(v):
    """A result as a case writes it."""
    import torch
    if not isinstance(v, torch.Tensor):
        return re.sub(r"\.0$", ".", str(v))
    v = v.int_repr() if v.is_quantized else v
    short = {n: s for s, n in DTYPES.items()}[str(v.dtype).split(".")[1]]
    shape = "[%s]" % ",".join(str(d) for d in v.shape)
    values = torch.view_as_real(v.detach().resolve_conj().resolve_neg()) if v.is_complex() else v.detach()
    values = values.reshape(-1)
    if v.dtype.is_floating_point or v.is_complex():
        digits = "%.17g" if short in ("f64", "c128") else "%.9g"        # what tells any two numbers of the type apart
        return " ".join([short + shape] + [digits % x for x in values.double().tolist()])
    return " ".join([short + shape] + [str(int(x)) for x in values.tolist()])
