"""scratch.py - one call of a user's symbolic function: a scratch torch graph with the call's arguments, and the nodes it gets.

Arguments that are known are onnx::Constant nodes there, as symbolic functions expect (parse_args reads them), and so are lists of
floats; other lists are prim::ListConstruct; all else are inputs of the graph, with the type that the call has."""
import ctypes

import torch

from . import _capi
from .trace import tensor_record
from .versions import GLOBALS, ONNX_DTYPES, SCALAR_TYPES, TORCH_DTYPES, jit_utils, symbolic_helper

DOMAINS = {"aten": "org.pytorch.aten"}                  # torch.onnx writes its own operators into this domain

FLOATS = ("fs", "c")                                    # what kindOf says of a list of floats: "c", since torch's names of kinds have moved by one

BLOCKS = {"onnx::If": (b"then_branch", b"else_branch"), "onnx::Loop": (b"body",), "onnx::Scan": (b"body",)}


class Stopped(Exception):
    """C has refused a node; its error is the one to show."""


class Scratch:
    def __init__(self, call, node, opset):
        """node: of the trace, None for a file's."""
        self.call, self.node, self.opset, self.graph = call, node, opset, torch._C.Graph()
        self.handle = {}                                # value's name -> handle of the call
        self.sample = {}                                # value's name -> something of its kind, to try the operator with
        given = list(node.inputs()) if node else []
        n = _capi.lib.pt2onnx_call_n_in(call)
        self.inputs = [self.argument(i, given[i] if i < len(given) else None) for i in range(n)]

    # ---- the arguments ----

    def argument(self, i, v):
        """Argument (or item) i; v is the value of the trace that it is, if there is one."""
        first = ctypes.c_size_t()
        n = _capi.lib.pt2onnx_call_items(self.call, i, ctypes.byref(first))
        if n >= 0:
            given = list(v.node().inputs()) if v is not None and v.node().kind() == "prim::ListConstruct" else [None] * n
            return self.items([self.argument(first.value + k, given[k] if k < len(given) else None) for k in range(n)], i)
        type_, data = _capi.Type(), ctypes.c_void_p()
        _capi.lib.pt2onnx_call_in(self.call, i, ctypes.byref(type_), ctypes.byref(data))
        kind = type_.kind.decode()
        if kind == "Tensor":
            return self.tensor(i, type_, data, v)
        return self.scalar(kind, data)

    def tensor(self, i, type_, data, v):
        sizes = [type_.dims[a] for a in range(type_.rank)] if type_.rank >= 0 else None
        if data.value and v is not None and v.node().kind() == "prim::Constant":
            return self.constant(number_at(data.value, type_.dtype, sizes))
        new = self.graph.addInput()
        t = torch._C.TensorType.get() if v is None or v.type().kind() != "TensorType" else v.type()
        if type_.dtype in TORCH_DTYPES:
            t = t.with_dtype(TORCH_DTYPES[type_.dtype])
        if sizes is not None:
            t = t.with_sizes([None if d < 0 else d for d in sizes])
        new.setType(t)
        self.handle[new.debugName()] = i + 1
        if sizes is not None and type_.dtype in TORCH_DTYPES:
            self.sample[new.debugName()] = torch.zeros([2 if d < 0 else d for d in sizes], dtype=TORCH_DTYPES[type_.dtype])
        return new

    def scalar(self, kind, data):
        if kind == "str":
            n = self.graph.create("onnx::Constant")
            n.s_("value", ctypes.string_at(data.value).decode("utf-8", "replace"))
            self.sample[n.output().debugName()] = n.s("value")
            self.graph.appendNode(n).output().setType(torch._C.StringType.get())
            return n.output()
        ctype = {"int": ctypes.c_int64, "float": ctypes.c_double, "bool": ctypes.c_bool}.get(kind)
        if ctype is None or not data.value:
            n = self.graph.appendNode(self.graph.create("prim::Constant"))
            n.output().setType(torch._C.NoneType.get())
            self.sample[n.output().debugName()] = None
            return n.output()
        value = ctypes.cast(data, ctypes.POINTER(ctype))[0]
        v = self.constant(torch.tensor(value, dtype=torch.float64 if kind == "float" else None))
        self.sample[v.debugName()] = value
        return v

    def constant(self, t):
        n = self.graph.create("onnx::Constant")
        n.t_("value", t)
        self.graph.appendNode(n).output().inferTypeFrom(t)
        self.sample[n.output().debugName()] = t
        return n.output()

    def items(self, values, i):
        known = [self.sample.get(v.debugName()) for v in values]
        if known and all(isinstance(k, float) for k in known):
            v = self.constant(torch.tensor(known))
            self.sample[v.debugName()] = known
            return v
        n = self.graph.appendNode(self.graph.create("prim::ListConstruct", values))
        tensors = any(v.debugName() in self.handle for v in values)
        n.output().setType(torch._C.ListType.ofTensors() if tensors else torch._C.ListType.ofInts())
        self.handle[n.output().debugName()] = i + 1
        if all(v.debugName() in self.sample for v in values):
            self.sample[n.output().debugName()] = [self.sample[v.debugName()] for v in values]
        return n.output()

    def python_values(self):
        """The arguments, numbers and lists as Python has them."""
        return [self.python_value(v) for v in self.inputs]

    def python_value(self, v):
        if v.node().kind() == "prim::ListConstruct":
            return [self.python_value(item) for item in v.node().inputs()]
        known = self.sample.get(v.debugName(), v)
        return v if isinstance(known, torch.Tensor) else known

    def types_by_trying(self, name):
        """What torch's own operator gives for zeros of these types; sizes as far as they do not rest on unknown ones."""
        space, op = name.split("::")
        if not all(v.debugName() in self.sample for v in self.inputs) or space in ("aten", "prim"):
            return []
        try:
            results = getattr(getattr(torch.ops, space), op)(*[self.sample[v.debugName()] for v in self.inputs])
        except Exception:                               # an operator that zeros do not suit: nothing is known then
            return []
        static = all(v.type().sizes() is not None for v in self.graph.inputs())
        return [(ONNX_DTYPES[r.dtype], list(r.shape) if static else [None] * r.dim()) if isinstance(r, torch.Tensor) else None
                for r in (results if isinstance(results, (tuple, list)) else [results])]

    # ---- the function ----

    def context(self):
        """g as symbolic functions know it."""
        fields = {"graph": self.graph, "block": self.graph.block() if hasattr(self.graph, "block") else self.graph, "opset": self.opset,
                  "original_node": self.node, "params_dict": {}, "env": {}}
        for name in ("values_in_env", "new_nodes"):
            if name in jit_utils.GraphContext.__dataclass_fields__:
                fields[name] = set() if name == "values_in_env" else []
        return jit_utils.GraphContext(**fields)

    def run(self, function, arguments, keywords, name):
        before = GLOBALS.export_onnx_opset_version
        GLOBALS.export_onnx_opset_version = self.opset
        if hasattr(symbolic_helper, "_export_onnx_opset_version"):      # install() has supplied it, for functions of torch 1.8 to 1.12
            symbolic_helper._export_onnx_opset_version = self.opset
        try:
            results = function(self.context(), *arguments, **keywords)
        except TypeError as e:
            e.args = ("%s \n(Occurred when translating %s)." % (e.args[0] if e.args else "", name),) + e.args[1:]
            raise
        finally:
            GLOBALS.export_onnx_opset_version = before
        if results is None:
            return None
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        for r in results:
            if not isinstance(r, torch._C.Value):
                raise RuntimeError("Error casting results of symbolic for %s: expected to return list of op nodes, instead received "
                                   "type ''%s': %s'" % (name, type(r).__name__, r))
        return results

    # ---- what it made ----

    def emit(self, results, types):
        """types: [(dtype, sizes)] of the results as the trace has recorded them, or None where it has not."""
        last = {v.debugName(): t for v, t in zip(results, types)}
        self.emit_nodes(self.graph, last)
        handles = [self.handle_of(v) for v in results]
        _capi.lib.pt2onnx_call_result(self.call, _capi.array(_capi.c_uint32, handles), len(handles))

    def emit_nodes(self, block, last):
        for n in list(block.nodes()):
            if not n.kind().startswith("prim::List") and n.kind() not in ("onnx::Constant", "prim::Constant"):
                self.emit_node(n, last)

    def emit_node(self, n, last):
        keep, inputs = [], [self.handle_of(v) for v in n.inputs()]
        attributes = [attribute(n, a, keep) for a in n.attributeNames()] + self.emit_blocks(n, last)
        domain, op = n.kind().split("::")
        kind = "%s::%s" % (DOMAINS.get(domain, domain), op)
        first = _capi.lib.pt2onnx_call_emit(self.call, kind.encode(), _capi.array(_capi.c_uint32, inputs), len(inputs),
                                            _capi.array(_capi.Attr, attributes), len(attributes), n.outputsSize())
        if first == 0:
            raise Stopped()
        for k, v in enumerate(n.outputs()):
            self.handle[v.debugName()] = first + k
            if domain != "onnx":
                self.tell_type(first + k, v, last.get(v.debugName()))

    # ---- blocks ----

    def emit_blocks(self, n, last):
        """The blocks of a node as attributes, under the names that ONNX has for them."""
        blocks = list(n.blocks())
        names = BLOCKS.get(n.kind(), ())
        if len(blocks) != len(names):
            raise RuntimeError("%s has %d blocks, ONNX wants %d" % (n.kind(), len(blocks), len(names)))
        found = []
        for name, block in zip(names, blocks):
            a = _capi.Attr(name)
            a.kind, a.i = _capi.ATTR_GRAPH, self.emit_block(n, block, last)
            found.append(a)
        return found

    def emit_block(self, n, block, last):
        inputs = list(block.inputs())
        types = [self.block_input(n, k, v) for k, v in enumerate(inputs)]
        first = _capi.lib.pt2onnx_call_block(self.call, _capi.array(_capi.Type, types), len(types))
        if first == 0:
            raise Stopped()
        self.handle.update((v.debugName(), first + k) for k, v in enumerate(inputs))
        self.emit_nodes(block, last)
        outputs = [self.handle_of(v) for v in block.outputs()]
        number = _capi.lib.pt2onnx_call_block_end(self.call, _capi.array(_capi.c_uint32, outputs), len(outputs))
        if number == 0:
            raise Stopped()
        return number

    def block_input(self, n, k, v):
        """What the function has told of it; else, in a Loop: the iteration, the condition, then the carried values, of dynamic sizes."""
        t, given = v.type(), list(n.inputs())
        if t.kind() == "TensorType" and t.scalarType() in SCALAR_TYPES and t.dim() is not None:
            dtype, sizes = SCALAR_TYPES[t.scalarType()], t.varyingSizes()
        elif n.kind() == "onnx::Loop" and k < 2:
            dtype, sizes = SCALAR_TYPES["Bool" if k else "Long"], []
        else:
            t = given[k].type() if n.kind() == "onnx::Loop" and k < len(given) else t
            if t.kind() != "TensorType" or t.scalarType() not in SCALAR_TYPES or t.dim() is None:
                raise RuntimeError("%s: the type of input %d of its block is not known: setType tells it" % (n.kind(), k))
            dtype, sizes = SCALAR_TYPES[t.scalarType()], [None] * t.dim()
        dims = _capi.array(_capi.c_int64, [-1 if d is None else d for d in sizes])
        return _capi.Type(dtype, len(sizes), dims, b"Tensor", None)

    def tell_type(self, handle, v, recorded):
        """What the function has set with setType, else what the trace has recorded of the result."""
        t = v.type()
        known = t.kind() == "TensorType" and t.scalarType() in SCALAR_TYPES and t.dim() is not None
        dtype, sizes = (SCALAR_TYPES[t.scalarType()], t.varyingSizes()) if known else recorded or (0, None)
        if dtype:
            dims = _capi.array(_capi.c_int64, [-1 if d is None else d for d in sizes or []])
            told = _capi.Type(dtype, -1 if sizes is None else len(sizes), dims, b"Tensor", None)
            _capi.lib.pt2onnx_call_type(self.call, handle, ctypes.byref(told))

    def handle_of(self, v):
        """Constants are emitted when something uses them."""
        n = v.node()
        if n.kind() == "prim::Constant" and n.mustBeNone():
            return 0
        if v.debugName() not in self.handle:
            if n.kind() not in ("onnx::Constant", "prim::Constant"):
                raise RuntimeError("a symbolic function uses %s, which is no ONNX value" % n.kind())
            self.handle[v.debugName()] = self.emit_constant(n)
        return self.handle[v.debugName()]

    def emit_constant(self, n):
        keep = []
        attributes = [attribute(n, a, keep) for a in n.attributeNames()]
        first = _capi.lib.pt2onnx_call_emit(self.call, b"onnx::Constant", _capi.array(_capi.c_uint32, []), 0,
                                            _capi.array(_capi.Attr, attributes), len(attributes), 1)
        if first == 0:
            raise Stopped()
        return first


def number_at(address, dtype, sizes):
    """The small constant at this address as a tensor of its own."""
    t = torch.empty(sizes, dtype=TORCH_DTYPES[dtype])
    ctypes.memmove(t.data_ptr(), address, t.numel() * t.element_size())
    return t


def attribute(n, name, keep):
    """One attribute of a torch node as C sees it. `keep` holds what it points to."""
    kind, a = n.kindOf(name), _capi.Attr(name.encode())
    if kind == "i":
        a.kind, a.i = _capi.ATTR_INT, n.i(name)
    elif kind == "f":
        a.kind, a.f = _capi.ATTR_FLOAT, n.f(name)
    elif kind == "s":
        a.kind, a.s = _capi.ATTR_STRING, _capi.c_text(n.s(name))
    elif kind == "ss":
        a.kind, a.n = _capi.ATTR_STRINGS, len(n.ss(name))
        a.s = b"".join(_capi.c_text(text) + b"\0" for text in n.ss(name))
    elif kind in ("is", *FLOATS):
        items = getattr(n, "is" if kind == "is" else "fs")(name)         # `is` is a keyword
        values = _capi.array(_capi.c_int64 if kind == "is" else _capi.c_double, items)
        keep.append(values)
        a.kind, a.n = _capi.ATTR_INTS if kind == "is" else _capi.ATTR_FLOATS, len(items)
        setattr(a, "ints" if kind == "is" else "floats", values)
    elif kind == "t":
        if n.t(name).dtype not in ONNX_DTYPES:
            raise TypeError("attribute %s of %s: ONNX has no %s" % (name, n.kind(), n.t(name).dtype))
        t = tensor_record(n.t(name).contiguous(), None, keep)
        t.strides = None
        keep.append(t)
        a.kind, a.t = _capi.ATTR_TENSOR, _capi.POINTER(_capi.Tensor)(t)
    else:
        raise TypeError("attribute %s of %s is of a kind that cannot be emitted" % (name, n.kind()))
    return a
