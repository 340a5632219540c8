"""symbolic.py - operators that Python lowers: which function does it, how it is called, what an exception means.

An exception inside a ctypes callback would be printed and lost: it is stored, the callback says "failed", and the outer call
raises the original."""
import inspect

import torch

from . import _capi, registry
from .registry import plain
from .scratch import Scratch
from .translation import Translated, translations
from .turns import deliver, undisturbed, undisturbed_entry
from .versions import NEWEST_SYMBOLIC, SCALAR_TYPES, OperatorExportTypes

ONNX, ATEN = OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_ATEN
FALLBACK, FALLTHROUGH = OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_FALLTHROUGH
STRUCTURE = ("prim::", "onnx::")                        # never ATen nodes: lists, constants, control flow
AS_IS = ("aten::Int", "aten::Float", "aten::Bool", "aten::IntImplicit", "aten::FloatImplicit", "aten::ScalarImplicit", "aten::detach", "aten::size")


def class_of(node):
    """The autograd Function behind a prim::PythonOp."""
    return node.pyobj().__self__


class Symbolics:
    """The callback for one conversion. `error` is the exception that ended it."""

    def __init__(self, settings, given_up=(), borrowed=()):
        """given_up: operators whose conversion has failed, in a mode that keeps such; borrowed: those that torch's own functions convert."""
        self.record, self.error, self.mode, self.given_up = None, None, settings.operator_export_type, frozenset(given_up)
        self.inlining = settings.autograd_inlining
        self.target = settings.opset_version
        self.opset = min(self.target, NEWEST_SYMBOLIC or self.target)      # the newest that this torch's symbolics can write
        self.functions = registry.overrides(self.target)
        self.functions.update(translations(settings.custom_translation_table))
        self.functions.update((plain(name), registry.of_torch(name, self.opset)) for name in borrowed)

    # ---- who lowers what ----

    def stays(self, node):
        """Is this autograd Function lowered as one node, and not through its body?"""
        if hasattr(class_of(node), "symbolic") or "prim::PythonOp" in self.functions or self.mode == FALLTHROUGH:
            return True
        if self.mode != ONNX or not self.inlining:
            raise RuntimeError("Couldn't export Python operator %s" % node.pyname())
        return False

    def kept(self, kind):
        """Is this operator written as a node of torch's own, in the mode that was asked for?"""
        name = plain(kind)
        if self.mode == ONNX or name in self.functions or kind.startswith(STRUCTURE) or name in AS_IS:
            return False
        if self.mode == ATEN:
            return kind.startswith("aten::")
        return name in self.given_up or not registry.torch_has(kind, self.opset)

    def names(self, record):
        """What C is to ask us about."""
        self.record = record
        kinds = {n.kind() for n in record.nodes} if record else set()
        return sorted(set(self.functions) | {"prim::PythonOp"} | {plain(k) for k in kinds if self.kept(k)})

    # ---- one call ----

    @undisturbed_entry
    def __call__(self, user, call):
        try:
            self.answer(call)
            return 0
        except BaseException as e:                      # KeyboardInterrupt too: it must not pass through C
            return self.failed(call, e)

    @undisturbed
    def failed(self, call, e):
        self.error = e
        _capi.lib.pt2onnx_call_fail(call, ("%s: %s" % (type(e).__name__, e)).encode("utf-8", "replace"))
        return -1

    def answer(self, call):
        deliver()
        node_id = _capi.lib.pt2onnx_call_node(call)
        node = self.record.torch_node(node_id) if self.record else None
        name = _capi.lib.pt2onnx_call_name(call).decode()
        scratch = Scratch(call, node, self.opset)
        results = self.python_op(scratch, node) if name == "prim::PythonOp" else self.operator(scratch, name, node)
        types = recorded_types(node, self.record.dynamic) if node else scratch.types_by_trying(name)
        types += [None] * (len(results) - len(types))
        expected = len(result_types(node)) if node else len(results)
        if len(results) != expected:
            raise RuntimeError("symbolic for %s produced an incorrect number of outputs (expected %d, but got %d)"
                               % (name.split("::")[-1], expected, len(results)))
        scratch.emit(results, types)

    def operator(self, scratch, name, node):
        if name in self.functions:
            keywords = {k: getattr(node, node.kindOf(k))(k) for k in node.attributeNames()} if node else {}
            try:
                function = self.functions[name]
                arguments = scratch.python_values() if isinstance(function, Translated) else scratch.inputs
                results = scratch.run(function, arguments, keywords, name.split("::")[-1])
            except RuntimeError:
                if self.mode not in (FALLBACK, FALLTHROUGH):
                    raise
                results = None
            if results is not None:
                return results
            if self.mode not in (FALLBACK, FALLTHROUGH):
                raise RuntimeError("ONNX export failed: Couldn't export operator %s" % name)
        return self.as_it_is(scratch, name, node)

    def as_it_is(self, scratch, name, node):
        """The operator as a node of its own: an ATen node, or a node of its own name."""
        g, outputs = scratch.context(), node.outputsSize() if node else 1
        op, keywords = name.split("::")[-1], {"outputs": outputs} if outputs != 1 else {}
        if self.mode == FALLTHROUGH:
            made = g.op(name, *scratch.inputs, **keywords)
        else:
            made = g.op("aten::ATen", *scratch.inputs, operator_s=op, overload_name_s=overload_of(node), **keywords)
        return list(made) if isinstance(made, tuple) else [made]

    # ---- autograd Functions ----

    def python_op(self, scratch, node):
        cls, arguments = class_of(node), python_arguments(node, scratch)
        if hasattr(cls, "symbolic"):
            results = scratch.run(cls.symbolic, arguments, {}, node.pyname())
        elif "prim::PythonOp" in self.functions:
            keywords = {"inplace": node.i("inplace"), "module": node.s("module"), "name": node.pyname()}
            results = self.registered_python_op(scratch, node, arguments, keywords)
        else:
            results = None
        if results is not None:
            return results
        if self.mode != FALLTHROUGH:
            raise RuntimeError("ONNX export failed: Couldn't export Python operator %s" % node.pyname())
        n = len(result_types(node))
        made = scratch.context().op("prim::PythonOp", *scratch.inputs, inplace_i=node.i("inplace"), module_s=node.s("module"),
                                    name_s=node.pyname(), outputs=n)
        return list(made) if isinstance(made, tuple) else [made]

    def registered_python_op(self, scratch, node, arguments, keywords):
        """The three forms: f(g, n, *args) of torch 1.10, f(ctx, g, *args) of 1.11, f(g, *args) with g.original_node since."""
        function = self.functions["prim::PythonOp"]
        parameters = list(inspect.signature(function).parameters.values())
        if parameters and "SymbolicContext" in str(parameters[0].annotation) or parameters[:1] and parameters[0].name == "ctx":
            context = symbolic_context(scratch, node)
            return scratch.run(lambda g, *args, **kw: function(context, g, *args, **kw), arguments, keywords, "PythonOp")
        if len(parameters) > 1 and parameters[1].name in ("n", "node") and parameters[1].kind == parameters[1].POSITIONAL_OR_KEYWORD:
            arguments = [node] + arguments
        return scratch.run(function, arguments, keywords, "PythonOp")


class SymbolicContext:
    """What torch 1.11 and 1.12 hand to a symbolic function whose first parameter is annotated with this class."""

    def __init__(self, params_dict, env, cur_node, onnx_block):
        self.params_dict, self.env, self.cur_node, self.onnx_block = params_dict, env, cur_node, onnx_block


def symbolic_context(scratch, node):
    return SymbolicContext({}, {}, node, scratch.graph)


def python_arguments(node, scratch):
    """Tensors ('d' in cconv) and other arguments ('c'), in the order of the Python call."""
    tensors, scalars = iter(scratch.inputs), iter(node.scalar_args())
    return [next(tensors) if c == "d" else next(scalars) for c in node.cconv()]


def overload_of(node):
    schema = node.schema() if node and node.kind() != "prim::PythonOp" else "(no schema)"
    return torch._C.parse_schema(schema).overload_name if "(no schema)" not in schema else ""


def result_types(node):
    """The types of the results; a Function with several gives one tuple."""
    types = [v.type() for v in node.outputs()]
    return list(types[0].elements()) if len(types) == 1 and types[0].kind() == "TupleType" else types


def recorded_types(node, dynamic):
    found = []
    for t in result_types(node):
        known = t.kind() == "TensorType" and t.scalarType() in SCALAR_TYPES and t.dim() is not None
        found.append((SCALAR_TYPES[t.scalarType()], [None] * t.dim() if dynamic else t.varyingSizes()) if known else None)
    return found
