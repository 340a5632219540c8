"""trace.py - an nn.Module in hand: torch's own trace graph, walked once into one record (include/pt2onnx.h: pt2onnx_trace).

Every tensor is handed over by its address and kept alive until the call returns. Works with torch 1.13 and 2.13."""
import torch

from . import _capi

DTYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
          torch.float16: 10, torch.float64: 11, torch.complex64: 14, torch.complex128: 15, torch.bfloat16: 16}
SCALAR_TYPES = {"Float": 1, "Byte": 2, "Char": 3, "Short": 5, "Int": 6, "Long": 7, "Bool": 9, "Half": 10, "Double": 11,
                "ComplexFloat": 14, "ComplexDouble": 15, "BFloat16": 16}


def trace(model, args):
    """The raw graph, and the weights that its last inputs are, by name. Module paths become scopes of its nodes."""
    paths = {m: name for name, m in model.named_modules() if name}
    before = torch.jit._trace._trace_module_map
    torch.jit._trace._trace_module_map = paths
    try:
        graph, _, _ = torch.jit._get_trace_graph(model, args, strict=False, _force_outplace=False, _return_inputs_states=True)
    finally:
        torch.jit._trace._trace_module_map = before
    return graph, torch.jit._unique_state_dict(model, keep_vars=True)


def tensor_record(t, name=None, keep=None):
    """A tensor as C sees it. `keep` holds what its pointers point to."""
    t = t.detach().cpu()
    if t.layout != torch.strided or t.is_quantized or t.dtype not in DTYPES:
        raise TypeError("a tensor of %s, %s cannot be handed over" % (t.dtype, t.layout))
    if t.is_conj() or t.is_neg():
        t = t.resolve_conj().resolve_neg()
    dims, strides = _capi.array(_capi.c_int64, t.shape), _capi.array(_capi.c_int64, t.stride())
    keep += [t, dims, strides]
    return _capi.Tensor(DTYPES[t.dtype], t.dim(), dims, strides, t.data_ptr(), name.encode() if name else None)


class Record:
    """The graph as arrays of C structs. Values are numbered in the order in which they are made; 0 is none."""

    def __init__(self, graph, weights, input_names=(), output_names=()):
        self.graph, self.keep, self.number, self.nodes, self.types = graph, [], {}, [], [_capi.Type(0, -1, None, b"")]
        inputs = list(graph.inputs())
        n_user = len(inputs) - len(weights)
        names = {self.value(v): n for v, n in zip(inputs, input_names)}
        for v in inputs[:n_user]:
            names.setdefault(self.value(v), v.debugName())
        parameters = [self.value(v) for v in inputs[n_user:]]
        tensors = [tensor_record(t, n, self.keep) for n, t in weights.items()]
        nodes = [self.node(n) for n in graph.nodes()]
        outputs = [self.value(v) for v in graph.outputs()]
        names.update(zip(outputs, output_names))
        self.trace = self.record(nodes, [self.value(v) for v in inputs], outputs, parameters, tensors, names)

    def array(self, ctype, items):
        a = _capi.array(ctype, items)
        self.keep.append(a)
        return a

    def value(self, v):
        name = v.debugName()
        if name not in self.number:
            self.number[name] = len(self.types)
            self.types.append(self.type(v))
        return self.number[name]

    def type(self, v):
        t = v.type()
        if t.kind() != "TensorType":
            return _capi.Type(0, -1, None, t.annotation_str.encode())
        sizes = t.sizes()
        dims = self.array(_capi.c_int64, [-1 if d is None else d for d in sizes or []])
        return _capi.Type(SCALAR_TYPES.get(t.scalarType(), 0), -1 if sizes is None else len(sizes), dims, b"Tensor")

    def constant(self, n):
        """The value of a prim::Constant; None has none."""
        if "value" not in n.attributeNames():
            return []
        kind, a = n.kindOf("value"), _capi.Attr(b"value")
        if kind == "i":
            a.kind, a.i = _capi.ATTR_INT, n.i("value")
        elif kind == "f":
            a.kind, a.f = _capi.ATTR_FLOAT, n.f("value")
        elif kind == "s":
            a.kind, a.s = _capi.ATTR_STRING, n.s("value").encode()
        elif kind == "t":
            t = tensor_record(n.t("value"), None, self.keep)
            self.keep.append(t)
            a.kind, a.t = _capi.ATTR_TENSOR, _capi.POINTER(_capi.Tensor)(t)
        else:
            raise TypeError("a constant of type %s in the trace cannot be handed over" % n.output().type())
        return [a]

    def node(self, n):
        kind = n.kind()
        attributes = self.constant(n) if kind == "prim::Constant" else []
        inputs, outputs = [self.value(v) for v in n.inputs()], [self.value(v) for v in n.outputs()]
        self.nodes.append(n)
        return _capi.Node(kind.encode(), n.sourceRange().encode() or None, n.scopeName().split("/")[-1].encode() or None,
                          self.array(_capi.c_uint32, inputs), len(inputs), self.array(_capi.c_uint32, outputs), len(outputs),
                          self.array(_capi.Attr, attributes), len(attributes), None, 0, len(self.nodes))

    def record(self, nodes, inputs, outputs, parameters, tensors, names):
        graph = _capi.Graph(self.array(_capi.Node, nodes), len(nodes), self.array(_capi.c_uint32, inputs), len(inputs),
                            self.array(_capi.c_uint32, outputs), len(outputs))
        n = len(self.types)
        texts = self.array(_capi.c_char_p, [names[i].encode() if i in names else None for i in range(n)])
        return _capi.Trace(_capi.ctypes.sizeof(_capi.Trace), graph, n, self.array(_capi.Type, self.types), texts, len(parameters),
                           self.array(_capi.c_uint32, parameters), self.array(_capi.Tensor, tensors))

    def torch_node(self, node_id):
        """The node of the trace that a callback is about."""
        return self.nodes[node_id - 1]
