"""trace.py - an nn.Module in hand: torch's own trace graph, walked once into one record (include/pt2onnx.h: pt2onnx_trace).

The body of an autograd Function that nobody lowers is walked in its place. Every tensor is handed over by its address and
kept alive until the call returns. Works with torch 1.13 and 2.x."""
import collections
import contextlib
import types

import torch
import torch.utils.checkpoint

from . import _capi, flex
from .arguments import plain, prefix_of
from .axes import SizeNames, names_by_axis
from .contents import inputs_with_contents
from .turns import later, places_of_tensors, replaced, tensors_kept
from .versions import ONNX_DTYPES, SCALAR_TYPES
from .writes import name_lookup


OF_FUNCTIONS = "forward calls torch.cond or its like, of which torch's tracer would keep what the example does: dynamo=True exports them"
WORDS = {                                               # for what torch's tracer says
    "unordered_map": "forward calls an autograd Function that uses a tensor that is not among its arguments, such as a weight: torch's tracer takes none; "
                     "give it as an argument of apply",
    "Unsupported value kind: Tensor": "forward calls torch.vmap, or flex_attention with a function that needs it, in a way that torch's tracer does not follow: "
                                      "dynamo=True exports them",
    "Higher-order": OF_FUNCTIONS,
    "The stateless API can't be used": "forward calls torch.func.functional_call, which refuses to be traced: dynamo=True exports it",
    "Cannot insert a Tensor that requires grad": "forward uses a tensor that requires a gradient and is neither an argument nor a parameter of the model; where "
                                                 "forward asks for gradients itself (torch.autograd.grad), dynamo=True exports it, and "
                                                 "torch.jit.script(model) does"}


class CountedPaths(dict):
    """{module: path}, where each look-up, which the tracer makes for each call of a module, gives another text: path@number."""

    def __init__(self, paths):
        super().__init__(paths)
        self.calls = 0

    def __getitem__(self, module):
        self.calls += 1
        return "%s@%d" % (super().__getitem__(module), self.calls)

    def get(self, module, default=None):                # torch 2.x asks in this way
        return self[module] if module in self else default


class ScopeNames:
    """What torch 1.13 begins the names of nodes with: /seq/seq.0/conv, and /conv_1 for the second call of conv."""

    def __init__(self):
        self.by_scope, self.taken = {"": ""}, set()

    def of(self, scope):
        """scope: the calls that are open, outermost first: ["seq@1", "seq.0@2"]."""
        key = "/".join(scope)
        if key not in self.by_scope:
            wish = "%s/%s" % (self.of(scope[:-1]), last_name(scope[-1].split("@")[0]))
            name, k = wish, 0
            while name in self.taken:
                k += 1
                name = "%s_%d" % (wish, k)
            self.taken.add(name)
            self.by_scope[key] = name
        return self.by_scope[key]


def last_name(path):
    """The attribute; where that is a number, from the last that is none on: a.seq.1.0 -> seq.1.0"""
    parts = path.split(".")
    k = len(parts) - 1
    while k and parts[k].isdigit():
        k -= 1
    return ".".join(parts[k:])


def trace(model, args, counted=False):
    """As traced gives it. What torch.compile has wrapped outside of the model is seen only when it is called."""
    try:
        return traced(model, args, counted)
    except CallsCompiled:
        pass
    with compiled_as_written():
        return traced(model, args, counted)


def traced(model, args, counted):
    """The raw graph; the weights that its last inputs are, by name; the scopes of nodes that have lost theirs (inlined); the names of state that
    forward updates without a word in the graph. Module paths become scopes of its nodes; counted: path@number of the call."""
    prefix = prefix_of(model)
    paths = {m: plain(name, prefix) for name, m in model.named_modules() if plain(name, prefix)}
    paths = CountedPaths(paths) if counted else paths
    before = torch.jit._trace._trace_module_map, torch.jit._trace._create_interpreter_name_lookup_fn
    cached = torch.is_autocast_cache_enabled()
    names = set(model.state_dict())
    torch.jit._trace._trace_module_map, torch.jit._trace._create_interpreter_name_lookup_fn = paths, name_lookup
    torch.set_autocast_cache_enabled(False)             # a weight that an earlier forward has cast would be a constant
    try:
        with tensors_kept(model) as kept, seen_through():
            leave_uncompiled(model)
            graph = recorded(model, args)
            changed = set(model.state_dict()) != names
    finally:
        torch.set_autocast_cache_enabled(cached)
        torch.jit._trace._trace_module_map, torch.jit._trace._create_interpreter_name_lookup_fn = before
    if changed:
        raise RuntimeError("state_dict changed after running the tracer; something weird is happening in your model!")
    check_unseen(kept.unseen, [*model.named_parameters(), *model.named_buffers()], prefix)
    check_written(kept.written, dict(model.named_buffers()), prefix)
    scopes = inlined(graph)
    constants_as_recorded(graph)
    spread_by_copy(graph)
    torch._C._jit_pass_dce(graph)
    weights = torch.jit._unique_state_dict(model, keep_vars=True)
    return graph, {plain(name, prefix): t for name, t in weights.items()}, scopes, updates_unseen(model, kept, prefix)


def leave_uncompiled(model):
    """What torch.compile has made of parts of the model computes the same and cannot be traced. tensors_kept puts it back."""
    for m in model.modules():
        if getattr(m, "_compiled_call_impl", None) is not None:         # of m.compile()
            m._compiled_call_impl = None
        inner = None if isinstance(m, torch.jit.ScriptModule) else getattr(getattr(m, "forward", None), "_torchdynamo_orig_callable", None)
        if inner is not None:
            m.forward = inner if "forward" in vars(m) else types.MethodType(inner, m)


class CallsCompiled(RuntimeError):
    """Forward calls what torch.compile has wrapped, or, where that runs as it was, what torch.cond and its like wrap for themselves."""


@contextlib.contextmanager
def compiled_as_written():
    """Functions that torch.compile has wrapped run as they were before it, as torch.fx may have them. An operator of functions, as torch.cond has, would
    run the branch of the example."""
    def refuse(operator, *args, **kwargs):
        raise RuntimeError("Higher-order operator %s" % operator)
    with replaced(torch.fx._symbolic_trace, "_is_fx_tracing_flag", True), torch._dynamo.config.patch(error_on_nested_fx_trace=False), \
            replaced(torch._ops.HigherOrderOperator, "__call__", refuse):
        yield


class CallsScript(RuntimeError):
    """Forward calls a ScriptModule, which is no part of such a trace."""


def recorded(model, args):
    try:
        return torch.jit._get_trace_graph(model, args, strict=False, _force_outplace=False, _return_inputs_states=True)[0]
    except RuntimeError as e:
        if "not part of the active trace" in str(e):
            raise CallsScript(str(e)) from e
        if "dynamo-optimized function" in str(e):
            raise CallsCompiled(OF_FUNCTIONS) from e
        words = next((ours for torchs, ours in WORDS.items() if torchs in str(e)), None)
        if words is None:
            raise
        raise RuntimeError(words) from e


@contextlib.contextmanager
def seen_through():
    """torch.utils.checkpoint, as it is by default, is an autograd Function around a module whose weights are no arguments of it: here it runs what it is
    given, as it matters only to gradients. A deep copy of a tensor is a clone: by itself it is memory that the tracer knows nothing of. And flex_attention
    is what it stands for."""
    def run(function, preserve_rng_state, *args):
        return function(*args)

    def deepcopy(t, memo):
        return memo.setdefault(id(t), t.clone())
    with replaced(torch.utils.checkpoint.CheckpointFunction, "apply", staticmethod(run)), replaced(torch.Tensor, "__deepcopy__", deepcopy), \
            flex.written_out():
        yield


@contextlib.contextmanager
def results_seen(model, see):
    """see(result) for each call of the model; what it gives that is not None is the result then."""
    hook = model.register_forward_hook(lambda module, given, result: see(result))
    later(hook.remove)
    try:
        yield
    finally:
        hook.remove()


def check_unseen(unseen, named, prefix):
    """What a trace does not show would be lost."""
    for t in unseen:
        name = next((plain(name, prefix) for name, held in named if held is t), "a tensor of the model")
        raise RuntimeError("forward changes %s, but no operator that the trace shows writes to it (`.data = ..`, NumPy): `copy_` under torch.no_grad() does"
                           % name)


def check_written(written, buffers, prefix):
    """Each buffer is a tensor of its own in the model: what is written to one would not be seen in another that shares its memory."""
    for t in written:
        sharing = [plain(name, prefix) for name, b in buffers.items() if type(b) is torch.Tensor and overlap(t, b)]
        if len(sharing) > 1:
            raise RuntimeError("the buffers %s share memory, and forward writes to it: ONNX has no such tensors; make one a copy of the other"
                               % " and ".join(sharing[:2]))


def updates_unseen(model, kept, prefix):
    """The names of state whose update the graph does not show, so that C cannot tell that it is dropped: buffers that forward replaces
    (`self.n = self.n + 1`), and tensors that it writes to and that are no inputs of the graph, as they are in no state_dict. A plain attribute
    that is replaced may as well be made anew in each run, as anchors are, and is not told."""
    saved = {id(t) for t in model.state_dict(keep_vars=True).values()}
    buffers = {id(t) for t in model.buffers()}
    updated = {id(t) for t in kept.replaced} & buffers | {id(t) for t in kept.written} - saved
    named = [(path, name, t) for path, m in model.named_modules() for _, name, t in places_of_tensors(m)]
    return [plain("%s.%s" % (path, name) if path else name, prefix) for path, name, t in named if id(t) in updated]


def overlap(a, b):
    (a_from, a_to), (b_from, b_to) = span(a), span(b)
    return a_from < b_to and b_from < a_to


def span(t):
    """The addresses from its first byte to behind its last."""
    if not t.numel() or t.layout != torch.strided:
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride()))
    return t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size()


def constants_as_recorded(graph):
    """arange(n, out=t) resizes t = torch.tensor([1.]), which is recorded as t.to(..).detach(), and as it was before."""
    for n in graph.findAllNodes("prim::Constant"):
        kind = n.output().type()
        if "value" in n.attributeNames() and n.kindOf("value") == "t" and list(n.t("value").shape) != kind.sizes():
            n.t_("value", n.t("value").as_strided(kind.sizes(), kind.strides()))
    for n in graph.findAllNodes("aten::to") + graph.findAllNodes("aten::detach"):
        if n.inputsAt(0).node().kind() == "prim::Constant" and str(n.output().type()) == str(n.inputsAt(0).type()):
            n.output().replaceAllUsesWith(n.inputsAt(0))


def spread_by_copy(graph):
    """x[:, k:] = v is recorded as x[:, k:].copy_(v.view(3).expand(2, 3)), with the sizes of the example: the view takes leading ones away. copy_
    itself expands v, to the sizes of each run."""
    for n in graph.findAllNodes("aten::copy_"):
        target, value = list(n.inputs())[:2]
        source = value
        for kind in ("aten::expand", "aten::view"):
            made = source.node()
            if made.kind() == kind and is_literal(made.inputsAt(1)) and only_spreads(made, target.type().sizes()):
                source = made.inputsAt(0)
        if source is not value:
            n.replaceInputWith(value, source)


def only_spreads(node, target):
    """Does a tensor of these sizes take the operand in the place of the view, or expansion, of it?"""
    sizes, given = node.output().type().sizes(), node.inputsAt(0).type().sizes()
    if None in (sizes, given, target) or len(given) > len(target):
        return False
    return node.kind() == "aten::expand" or without_leading_ones(sizes) == without_leading_ones(given)


def without_leading_ones(sizes):
    return sizes[next((k for k, d in enumerate(sizes) if d != 1), len(sizes)):]


def is_literal(sizes):
    return sizes.node().kind() == "prim::ListConstruct" and all(v.node().kind() == "prim::Constant" for v in sizes.node().inputs())


def inlined(graph):
    """Bodies in the place of calls of scripted functions. Their nodes have no scope: {name of their first output: scope of the call}, which is
    that of the constant in front of it, the function itself."""
    known = {v.debugName() for n in graph.nodes() if n.kind() != "prim::CallFunction" for v in n.outputs()}
    torch._C._jit_pass_inline(graph)
    scopes, scope = {}, ""
    for n in graph.nodes():
        names = [v.debugName() for v in n.outputs()]
        if names and names[0] not in known:
            scopes[names[0]] = scope
        elif names:
            scope = n.scopeName()
    return scopes


def tensor_record(t, name=None, keep=None):
    """A tensor as C sees it. `keep` holds what its pointers point to."""
    t = t.detach().cpu()
    if t.layout != torch.strided or t.is_quantized or t.dtype not in ONNX_DTYPES:
        raise TypeError("%sa tensor of %s, %s cannot be handed over" % (name + ": " if name else "", t.dtype, t.layout))
    if t.is_conj() or t.is_neg():
        t = t.resolve_conj().resolve_neg()
    dims, strides = _capi.array(_capi.c_int64, t.shape), _capi.array(_capi.c_int64, t.stride())
    keep += [t, dims, strides]
    return _capi.Tensor(ONNX_DTYPES[t.dtype], t.dim(), dims, strides, t.data_ptr(), _capi.c_text(name) if name else None)


def input_names(values, given):
    """Names of the graph's inputs: the caller's, or what the tracer calls them (x, input.1, 0)."""
    given = list(given[:len(values)])
    given += [""] * (len(values) - len(given))
    return [name or v.debugName() for v, name in zip(values, given)]


def check_input(v, name):
    t = v.type()
    is_dense = t.kind() != "TensorType" or t.sizes() is not None
    if not is_dense or t.kind() == "TensorType" and t.scalarType() not in SCALAR_TYPES:
        raise TypeError("the input %s is %s: it has to be a dense tensor of a type that ONNX has" % (name, t.scalarType() if is_dense else "sparse"))


class Opaque(RuntimeError):
    """An autograd Function whose body says nothing: its result would be a constant."""


class Record:
    """The graph as arrays of C structs. Values are numbered in the order in which they are made; 0 is none."""

    def __init__(self, graph, weights, names, axes, stays=lambda node: True, weights_are_inputs=False, torch_names=False, functions=(), scopes=None):
        """axes: {input: {axis: name}}. stays(node): is this prim::PythonOp lowered by a symbolic, and not through its body? torch_names: the
        graph's scopes are counted, and nodes are called as torch 1.13 calls them. functions: {path: "DOMAIN NAME"} of
        the modules that become functions; then scopes are counted too. scopes: what trace says of nodes without."""
        self.functions, self.scopes, self.calls_of = functions, scopes or {}, {}
        self.scope_names = ScopeNames() if torch_names else None
        self.stays, self.size_names = stays, SizeNames()
        self.graphs, self.blocks = 0, 0                 # how many graphs of Functions there are; how many blocks are open
        self.keep = []                                  # what C's pointers point to
        self.nodes, self.schemas = [], {}
        self.number, self.types = {}, [_capi.Type(0, -1, None, b"", None)]
        inputs = list(graph.inputs())
        n_user = len(inputs) - len(weights)
        self.name_inputs(inputs, n_user, weights, names)
        contents = set(inputs_with_contents(graph))
        self.kept_names = [n for v, n in zip(inputs, self.input_names) if v.debugName() in contents]
        self.dynamic = any(axes.get(n) for n in self.input_names)
        numbers = self.number_inputs(inputs, axes)
        texts = dict(zip(numbers, self.input_names + self.weight_names))
        tensors = [tensor_record(t, n, self.keep) for n, t in zip(self.weight_names, weights.values())]
        parameters = [] if weights_are_inputs else numbers[n_user:]
        found = self.walk(graph, 0)
        outputs = [self.value(0, v) for v in graph.outputs()]
        self.trace = self.record(found, numbers, outputs, parameters, tensors, texts)

    def name_inputs(self, inputs, n_user, weights, names):
        """Sets input_names and weight_names: the caller's names by place, then those of the trace and of the model."""
        if len(names) > len(inputs):
            raise RuntimeError("number of input names provided (%d) exceeded number of inputs (%d)" % (len(names), len(inputs)))
        self.input_names = input_names(inputs[:n_user], names)
        renamed = dict(zip(weights, names[n_user:]))
        self.weight_names = [renamed.get(n) or n for n in weights]

    def number_inputs(self, inputs, axes):
        """The numbers of the graph's inputs: the user's, with the names of their open sizes, then the weights."""
        found = []
        for v, name in zip(inputs, self.input_names):
            check_input(v, name)
            found.append(self.value(0, v, self.input_type(v, axes.get(name, {}), name)))
        found += [self.value(0, v, self.input_type(v, {}, None)) for v in inputs[len(found):]]
        for v, number in zip(inputs, found):
            self.number[0, v.debugName()] = number
        return found

    def array(self, ctype, items):
        a = _capi.array(ctype, items)
        self.keep.append(a)
        return a

    # ---- values and their types ----

    def value(self, scope, v, made=None):
        """A value's number; `scope` tells the graphs of Functions apart, whose values have names of their own."""
        key = scope, v.debugName()
        if key not in self.number:
            self.number[key] = len(self.types)
            self.types.append(made or self.type(v))
        return self.number[key]

    def type(self, v):
        """Sizes are not recorded when an input's are dynamic: the trace has seen one case of them."""
        t = v.type()
        if t.kind() != "TensorType":
            return _capi.Type(0, -1, None, t.annotation_str.encode(), None)
        sizes = t.sizes()
        dims = self.array(_capi.c_int64, [-1 if self.dynamic or d is None else d for d in sizes or []])
        return _capi.Type(SCALAR_TYPES.get(t.scalarType(), 0), -1 if sizes is None else len(sizes), dims, b"Tensor", None)

    def input_type(self, v, axes, name):
        t = v.type()
        sizes = t.sizes() if t.kind() == "TensorType" else None
        if sizes is None:
            return self.type(v)
        named = [told and self.size_names.of(told, size, name) for told, size in zip(names_by_axis(name, axes, len(sizes)), sizes)]
        dims = self.array(_capi.c_int64, sizes)
        texts = self.array(_capi.c_char_p, [_capi.c_text(n) if n else None for n in named])
        return _capi.Type(SCALAR_TYPES.get(t.scalarType(), 0), len(sizes), dims, b"Tensor", texts)

    # ---- nodes ----

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
            a.kind, a.s = _capi.ATTR_STRING, _capi.c_text(n.s("value"))
        elif kind == "t":
            t = tensor_record(n.t("value"), None, self.keep)
            self.keep.append(t)
            a.kind, a.t = _capi.ATTR_TENSOR, _capi.POINTER(_capi.Tensor)(t)
        else:
            raise TypeError("a constant of type %s in the trace cannot be handed over" % n.output().type())
        return [a]

    def walk(self, graph, scope):
        found, nodes = [], collections.deque(graph.nodes())
        while nodes:
            n = nodes.popleft()
            if n.kind() == "prim::PythonOp" and not self.stays(n):
                found += self.body(n, scope, nodes)
            else:
                found.append(self.node(n, scope))
        return found

    def body(self, n, outer, behind):
        """The nodes that a Function's forward has recorded, with its inputs and outputs those of the call. behind: the nodes behind the call."""
        if "Subgraph" not in n.attributeNames() or not uses_inputs(n.g("Subgraph")):
            raise Opaque("Couldn't export Python operator %s: its forward computes outside of torch, of which a trace has nothing; a static method "
                         "`symbolic` of the Function says what it is in ONNX" % n.pyname())
        inner = n.g("Subgraph")
        self.graphs += 1
        scope = self.graphs
        for mine, theirs in zip(inner.inputs(), n.inputs()):
            self.number[scope, mine.debugName()] = self.value(outer, theirs)
        found = self.walk(inner, scope)
        self.pass_over_copies(inner, scope, behind, outer)
        results, outputs = [self.value(scope, v) for v in inner.outputs()], list(n.outputs())
        if len(outputs) == 1 and outputs[0].type().kind() == "TupleType":      # several results are one tuple
            return found + [self.tuple(by_place(results, outputs[0].type().elements()), self.value(outer, outputs[0]))]
        for mine, theirs in zip(results, outputs):
            self.number[outer, theirs.debugName()] = mine
        return found

    def pass_over_copies(self, inner, scope, behind, outer):
        """Behind the call of a Function a trace has the nodes of its forward once more, those that write, those that make what is no result of
        the call (x * 3 in a list), and what they need."""
        nodes = list(inner.nodes())
        for n in nodes:
            if behind and at_one_place(n, behind[0]):
                copy = behind.popleft()
                made = next((m for m in nodes if at_one_place(m, copy) and self.computes(m, scope, copy, outer)), n)
                for mine, theirs in zip(made.outputs(), copy.outputs()):
                    self.number[outer, theirs.debugName()] = self.value(scope, mine)

    def computes(self, n, scope, copy, outer):
        """The same as the copy: a line may have several nodes of one kind."""
        if n.kind() == "prim::Constant":
            return same_constant(n.output().toIValue(), copy.output().toIValue())
        return [self.value(scope, v) for v in n.inputs()] == [self.value(outer, v) for v in copy.inputs()]

    def tuple(self, items, made):
        return _capi.Node(b"prim::TupleConstruct", None, None, self.array(_capi.c_uint32, items), len(items),
                          self.array(_capi.c_uint32, [made]), 1)

    def node(self, n, scope):
        kind = n.kind()
        attributes = self.constant(n) if kind == "prim::Constant" else []
        inputs, outputs = [self.value(scope, v) for v in n.inputs()], [self.value(scope, v) for v in n.outputs()]
        self.nodes.append(n)
        number = len(self.nodes)
        overload, names = self.schema(n, len(inputs))
        blocks = [self.block(b, scope) for b in n.blocks()] if kind in ("prim::If", "prim::Loop") else []
        calls = [c for c in n.scopeName().split("/") if c]
        path = calls[-1].split("@")[0] if calls else ""
        prefix = self.scope_names.of(calls).encode() if self.scope_names else None
        calls_of_node = self.calls(n) if self.functions else None
        return _capi.Node(kind.encode(), n.sourceRange().encode() or None, path.encode() or None,
                          self.array(_capi.c_uint32, inputs), len(inputs),
                          self.array(_capi.c_uint32, outputs), len(outputs),
                          self.array(_capi.Attr, attributes), len(attributes),
                          self.array(_capi.POINTER(_capi.Graph), blocks), len(blocks),
                          number, overload, names, prefix, calls_of_node)

    def calls(self, n):
        """The calls that become functions, a line each (pt2onnx_node.calls), by its scope seq@1/seq.0@2; the model itself is call 0. What
        stands in a block without a scope is in those of the block's node."""
        key = n.scopeName() or next((self.scopes[v.debugName()] for v in n.outputs() if v.debugName() in self.scopes), "")
        if not key and self.blocks:
            return None
        if key not in self.calls_of:
            open_calls = [("", "0")] + [c.split("@") for c in key.split("/") if c]
            lines = ["%s %s %s" % (number, self.functions[path], path) for path, number in open_calls if path in self.functions]
            self.calls_of[key] = "\n".join(lines).encode() or None
        return self.calls_of[key]

    def block(self, b, scope):
        """A branch of prim::If, or the body of prim::Loop; its values have names of their own in the whole graph."""
        inputs = [self.value(scope, v) for v in b.inputs()]
        self.blocks += 1
        nodes = self.walk(b, scope)
        self.blocks -= 1
        graph = self.graph(nodes, inputs, [self.value(scope, v) for v in b.outputs()])
        self.keep.append(graph)
        return _capi.POINTER(_capi.Graph)(graph)

    def graph(self, nodes, inputs, outputs):
        return _capi.Graph(self.array(_capi.Node, nodes), len(nodes), self.array(_capi.c_uint32, inputs), len(inputs),
                           self.array(_capi.c_uint32, outputs), len(outputs))

    def schema(self, n, n_in):
        """The overload, and the names of the inputs that are taken by name only."""
        text = n.schema() if n.kind().startswith("aten::") else "(no schema)"
        if text not in self.schemas:
            parsed = None if "(no schema)" in text else torch._C.parse_schema(text)
            self.schemas[text] = (parsed.overload_name.encode(), [a.name.encode() if a.kwarg_only else None for a in parsed.arguments]) if parsed else None
        found = self.schemas[text]
        if not found or len(found[1]) != n_in:
            return None, None
        return found[0], self.array(_capi.c_char_p, found[1]) if any(found[1]) else None

    def record(self, nodes, inputs, outputs, parameters, tensors, names):
        graph = self.graph(nodes, inputs, outputs)
        n = len(self.types)
        texts = self.array(_capi.c_char_p, [_capi.c_text(names[i]) if i in names else None for i in range(n)])
        return _capi.Trace(_capi.ctypes.sizeof(_capi.Trace), graph, n, self.array(_capi.Type, self.types), texts, len(parameters),
                           self.array(_capi.c_uint32, parameters), self.array(_capi.Tensor, tensors))

    def torch_node(self, node_id):
        """The node of the trace that a callback is about; None for a file's."""
        return self.nodes[node_id - 1] if node_id else None


def at_one_place(a, b):
    return a.kind() == b.kind() and a.sourceRange() == b.sourceRange()


def same_constant(a, b):
    return type(a) is type(b) and (torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b)


def by_place(results, types):
    """The results of a Function, of which only tensors have a type with sizes, with 0, which is no value, for the others."""
    results = iter(results)
    return [next(results) if t.sizes() is not None else 0 for t in types]


def uses_inputs(graph):
    """Does an output of this graph rest on its inputs?"""
    reached = {v.debugName() for v in graph.inputs()}
    for n in graph.nodes():
        if any(v.debugName() in reached for v in n.inputs()):
            reached |= {v.debugName() for v in n.outputs()}
    return any(v.debugName() in reached for v in graph.outputs())
