"""symbolic.py - operators with a Python override: the user's symbolic function runs on a scratch torch graph with torch's own
GraphContext, and what it builds there is emitted through the call it answers.

An exception inside a ctypes callback would be printed and lost: it is stored, the callback says "failed", and the outer call
raises the original."""
import torch
import torch.onnx

from . import _capi
from .trace import tensor_record

try:
    from torch.onnx._internal.torchscript_exporter import _globals, jit_utils, registration
    NEWEST = None                                                   # its symbolics take any opset
except ImportError:                                                 # torch 1.13
    from torch.onnx import _constants, _globals
    from torch.onnx._internal import jit_utils, registration
    NEWEST = _constants.ONNX_MAX_OPSET


def registered(opset):
    """Operators that the user has registered a symbolic for, valid at this opset: name -> function."""
    found = {}
    for name in registration.registry.all_functions():
        group = registration.registry.get_function_group(name)
        versions = [v for v in group._functions._overrides if v <= opset]
        if versions:
            found[name] = group._functions._overrides[max(versions)]
    return found


class Symbolics:
    """The callback for one conversion. `error` is the exception that ended it."""

    def __init__(self, record, opset):
        self.record, self.error = record, None
        self.opset = min(opset, NEWEST or opset)                    # the newest that this torch's symbolics can write
        self.functions = registered(self.opset)
        self.names = sorted(set(self.functions) | {"prim::PythonOp"})

    def __call__(self, user, call):
        try:
            return self.answer(call)
        except BaseException as e:                                  # KeyboardInterrupt too: it must not pass through C
            self.error = e
            _capi.lib.pt2onnx_call_fail(call, ("%s: %s" % (type(e).__name__, e)).encode())
            return -1

    def answer(self, call):
        node = self.record.torch_node(_capi.lib.pt2onnx_call_node(call))
        name = _capi.lib.pt2onnx_call_name(call).decode()
        scratch = Scratch(node, self.opset)
        results = scratch.run(self.function(name, node), python_op_arguments(node, scratch) if name == "prim::PythonOp" else scratch.inputs)
        scratch.emit(call, results)
        return 0

    def function(self, name, node):
        if name != "prim::PythonOp":
            return self.functions[name]
        cls = node.pyobj().__self__
        if not hasattr(cls, "symbolic"):
            raise RuntimeError("Couldn't export Python operator %s: it has no static method `symbolic`" % cls.__name__)
        return cls.symbolic


def python_op_arguments(node, scratch):
    """Tensors ('d' in cconv) and other arguments ('c'), in the order of the Python call."""
    tensors, scalars = iter(scratch.inputs), iter(node.scalar_args())
    return [next(tensors) if c == "d" else next(scalars) for c in node.cconv()]


class Scratch:
    """A graph with the node's inputs: constants as they are in the trace, the rest as inputs of the same type."""

    def __init__(self, node, opset):
        self.node, self.opset, self.graph = node, opset, torch._C.Graph()
        self.handle = {}                                            # value's name -> handle of the call
        self.inputs = [self.copy(v) for v in node.inputs()]
        for i, v in enumerate(self.inputs):
            self.handle.setdefault(v.debugName(), i + 1)

    def copy(self, v):
        n = v.node()
        if n.kind() in ("prim::Constant", "prim::ListConstruct"):
            inputs = {x.debugName(): self.copy(x) for x in n.inputs()}
            return self.graph.appendNode(self.graph.createClone(n, lambda x: inputs[x.debugName()])).output()
        new = self.graph.addInput()
        new.setType(v.type())
        return new

    def run(self, function, arguments):
        context = {"graph": self.graph, "block": self.graph.block() if hasattr(self.graph, "block") else self.graph, "opset": self.opset,
                   "original_node": self.node, "params_dict": {}, "env": {}}
        if "values_in_env" in jit_utils.GraphContext.__dataclass_fields__:
            context["values_in_env"] = set()
        g = jit_utils.GraphContext(**context)
        globals_ = _globals.GLOBALS
        before = globals_.export_onnx_opset_version
        globals_.export_onnx_opset_version = self.opset
        try:
            results = function(g, *arguments)
        finally:
            globals_.export_onnx_opset_version = before
        return list(results) if isinstance(results, (tuple, list)) else [results]

    def emit(self, call, results):
        for n in self.graph.nodes():
            if n.kind().startswith("prim::"):
                continue                                            # the copies of constants
            keep = []
            inputs = _capi.array(_capi.c_uint32, [self.handle_of(v) for v in n.inputs()])
            attributes = [attribute(n, a, keep) for a in n.attributeNames()]
            first = _capi.lib.pt2onnx_call_emit(call, n.kind().encode(), inputs, n.inputsSize(), _capi.array(_capi.Attr, attributes),
                                                len(attributes), n.outputsSize())
            if first == 0:
                raise Stopped()
            for i, v in enumerate(n.outputs()):
                self.handle[v.debugName()] = first + i
        handles = [self.handle_of(v) for v in results]
        _capi.lib.pt2onnx_call_result(call, _capi.array(_capi.c_uint32, handles), len(handles))

    def handle_of(self, v):
        if v.node().kind() == "prim::Constant" and v.node().mustBeNone():
            return 0
        if v.debugName() not in self.handle:
            raise RuntimeError("the symbolic function of %s uses %s, which is no ONNX value" % (self.node.kind(), v.node().kind()))
        return self.handle[v.debugName()]


class Stopped(Exception):
    """C has refused a node; its error is the one to show."""


def attribute(n, name, keep):
    """One attribute of a torch node as C sees it. `keep` holds what it points to."""
    kind, a = n.kindOf(name), _capi.Attr(name.encode())
    if kind == "i":
        a.kind, a.i = _capi.ATTR_INT, n.i(name)
    elif kind == "f":
        a.kind, a.f = _capi.ATTR_FLOAT, n.f(name)
    elif kind == "s":
        a.kind, a.s = _capi.ATTR_STRING, n.s(name).encode()
    elif kind == "is":
        items = getattr(n, "is")(name)                              # `is` is a keyword
        values = _capi.array(_capi.c_int64, items)
        keep.append(values)
        a.kind, a.n, a.ints = _capi.ATTR_INTS, len(items), values
    elif kind == "fs":
        items = n.fs(name)
        values = _capi.array(_capi.c_double, items)
        keep.append(values)
        a.kind, a.n, a.floats = _capi.ATTR_FLOATS, len(items), values
    elif kind == "t":
        t = tensor_record(n.t(name).contiguous(), None, keep)
        t.strides = None
        keep.append(t)
        a.kind, a.t = _capi.ATTR_TENSOR, _capi.POINTER(_capi.Tensor)(t)
    else:
        raise TypeError("attribute %s of %s is of a kind that cannot be emitted" % (name, n.kind()))
    return a
