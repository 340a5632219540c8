"""reverse.py - a forward that asks for gradients (torch.autograd.grad, torch.func.grad): torch.export takes none where weights take part. torch.fx runs it, and
records what the gradient is made of; torch.export takes that."""
import contextlib
import inspect

import torch
from torch.utils import _pytree

from .arguments import named_tensors

SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 100, 1 << 20)            # where a question of an open size has to have one answer
SIGNS = ("does not require grad and does not have a grad_fn", "functorch tensor", "TensorWrapper",      # of torch.export, for such a forward
         "We found a fake tensor in the exported program constant's list")


def asks_for_gradients(error):
    return any(sign in str(error) for sign in SIGNS)


def written_out(model, example):
    """(a module that computes what the model does for arguments like the example, with the model's weights under their names; the shapes that the tensors of
    the example have in it, a size that the program has fixed as a number). example: (positional, named)."""
    from torch.fx.experimental import _config
    from torch.fx.experimental.proxy_tensor import make_fx
    values, spec = _pytree.tree_flatten(example)
    places = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]

    def run(*tensors):
        args, keywords = _pytree.tree_unflatten([dict(zip(places, tensors)).get(i, value) for i, value in enumerate(values)], spec)
        return model(*args, **keywords)
    lines = {"record_stack_traces": True} if "record_stack_traces" in inspect.signature(make_fx).parameters else {}
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)      # an attention as one operator has one gradient, which is an operator
    with torch.enable_grad(), plain, gradients_kept(model), _config.patch(use_duck_shape=False):        # two sizes are one only where the program says it
        graph = make_fx(run, of_gradients(), tracing_mode="symbolic", _allow_non_fake_inputs=True, **lines)(*(values[i] for i in places))
    recorded = with_names(graph, {id(t): name for name, t in named_tensors(model)})

    def forward(*args, **keywords):
        given = _pytree.tree_leaves((args, {name: keywords[name] for name in example[1]}))         # which may come in another order
        with torch.fx.traceback.preserve_node_meta():
            return torch.fx.Interpreter(recorded).run(*(given[i] for i in places))
    return as_module(recorded, forward, inspect.signature(model.forward)), [node.meta["val"].shape for node in graph.graph.find_nodes(op="placeholder")]


@contextlib.contextmanager
def gradients_kept(model):
    """backward() in forward leaves gradients in the weights, here without numbers."""
    before = [(p, p.grad) for p in model.parameters()]
    try:
        yield
    finally:
        for p, gradient in before:
            p.grad = gradient


def check_open(named, questions):
    """Raises where what is recorded holds for some sizes only, which torch.export does not see. named: [(path, axis, size)] of those that are to stay open;
    questions: what forward itself asks, as shapes.questions_seen gives it."""
    for path, axis, size in named:
        if isinstance(size, int) or size.node.expr.is_number:
            raise RuntimeError("dimension %d of %s is fixed by the program, which asks for gradients" % (axis, path))
    symbols = {symbol for _, _, size in named for symbol in size.node.expr.free_symbols}
    for expression, answer, where in questions:
        if expression.free_symbols & symbols and not has_one_answer(expression, answer):
            raise RuntimeError("%s asks for %s of a size that is to stay open: where forward asks for gradients, too, only one answer is exported"
                               % (where, expression))


def has_one_answer(expression, answer):
    """Of sizes that are compared with each other, that they are the same is no question: torch.export asks for it again."""
    if len(expression.free_symbols) > 1:
        return answer and getattr(expression, "rel_op", None) == "=="
    return all(expression.subs(symbol, n) == answer for symbol in expression.free_symbols for n in SIZES)


def as_module(graph, forward, signature):
    """The tensors of a graph with another forward around it, as torch.export has its own way with a graph."""
    found = torch.nn.Module()
    found._parameters, found._buffers, found._modules = graph._parameters, graph._buffers, graph._modules
    forward.__signature__ = signature
    found.forward = forward
    return found


def of_gradients():
    """{operator of a gradient: what it is made of}, as far as torch says it, and of a convolution."""
    known = {op: made_of for op, made_of in torch._decomp.core_aten_decompositions().items() if "_backward" in op.name()}
    return {**known, torch.ops.aten.convolution_backward.default: of_convolution}


def of_convolution(gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted):
    """The gradient of its input is the convolution the other way round; where that of the weights is wanted, too, the operator stays."""
    if wanted[1] or wanted[2]:
        return NotImplemented
    more = [0] * len(stride)
    if not transposed:
        least = [(g - 1) * s - 2 * p + d * (k - 1) + 1 for g, s, p, d, k in zip(gradient.shape[2:], stride, padding, dilation, weight.shape[2:])]
        more = [size - n for size, n in zip(x.shape[2:], least)]
    return torch.ops.aten.convolution(gradient, weight, None, stride, padding, dilation, not transposed, more, groups), None, None


def with_names(module, names):
    """The graph with the tensors that it takes from the module under these names: {id: name}."""
    held = {}
    for node in module.graph.find_nodes(op="get_attr"):
        value = getattr(module, node.target)
        node.target = names.get(id(value), node.target)
        held[node.target] = value
    return torch.fx.GraphModule(held, module.graph)
