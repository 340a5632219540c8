"""shapes.py - sizes of a program of torch.export that stay open: dynamic_shapes, and dynamic_axes said in its terms.

torch.export takes its own Dims and hints and names every dynamic size by itself (s77). The names that the caller has written, of a Dim
or as a text, stand in the model."""
import inspect

import torch

from . import axes


def arguments_of(model, args, keywords):
    """{parameter of forward: value}, as torch.export counts arguments: *args is one of them, **kwargs another."""
    return inspect.signature(model.forward).bind(*args, **keywords).arguments


def told_apart(example):
    """The example with no tensor in it twice: torch.export takes two arguments that are one tensor for one argument."""
    seen = set()

    def leaf(value):
        twice = isinstance(value, torch.Tensor) and id(value) in seen
        seen.add(id(value))
        return value.clone() if twice else value
    return torch.utils._pytree.tree_map(leaf, example)


def by_argument(arguments, shapes):
    """{argument: its shapes}: dynamic_shapes goes by name, or by place."""
    return dict(shapes) if isinstance(shapes, dict) else dict(zip(arguments, shapes))


def mapped(value, shape, do, path):
    """What dynamic_shapes says of a value, with do(leaf, what it says, path) at each leaf."""
    if isinstance(value, (tuple, list)):
        items = [mapped(v, s, do, "%s.%d" % (path, i)) for i, (v, s) in enumerate(zip(value, shape or [None] * len(value)))]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: mapped(v, (shape or {}).get(k), do, "%s.%s" % (path, k)) for k, v in value.items()}
    return do(value, shape, path)


def mapped_arguments(arguments, shapes, do):
    told = by_argument(arguments, shapes or ())
    return {name: mapped(value, told.get(name), do, name) for name, value in arguments.items()}


def without_names(arguments, shapes):
    """dynamic_shapes as torch.export takes it: a text asks for a size that stays open."""
    def hint(told):
        return torch.export.Dim.DYNAMIC if isinstance(told, str) else told

    def leaf(value, told, path):
        if isinstance(told, dict):
            return {axis: hint(t) for axis, t in told.items()}
        return type(told)(hint(t) for t in told) if isinstance(told, (tuple, list)) else told
    return mapped_arguments(arguments, shapes, leaf)


def of_axes(arguments, named_axes, input_names):
    """dynamic_axes as dynamic_shapes, and the names that inputs have in them: the caller's, then those of forward's parameters, `d.0` and
    `d.key` for parts of one."""
    names, used = iter(input_names), set()

    def leaf(value, told, path):
        name = path if value is None else next(names, path)
        used.add(name)
        if name not in named_axes or not isinstance(value, torch.Tensor):
            return None
        return {axis: text for axis, text in enumerate(axes.names_by_axis(name, named_axes[name], value.dim())) if text}
    return mapped_arguments(arguments, None, leaf), used


def names_of_sizes(program, arguments, shapes):
    """["s77=batch"]: the caller's names for what torch.export calls s77. A size that two names are given for keeps the first."""
    found, names = [], {}
    mapped_arguments(arguments, shapes, lambda value, told, path: found.append(told))
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    inputs = [n for n, s in zip(placeholders, program.graph_signature.input_specs) if s.kind == torch.export.graph_signature.InputKind.USER_INPUT]
    for node, shape in zip(inputs, found) if len(inputs) == len(found) else ():
        for axis, text in names_by_axis(shape).items():
            names.setdefault(str(node.meta["val"].shape[axis]), text)
    return ["%s=%s" % (symbol, text) for symbol, text in names.items() if symbol.isidentifier()]


def names_by_axis(shape):
    """{axis: name} of what dynamic_shapes says of one tensor: a Dim has a name, and so has a text."""
    told = shape if isinstance(shape, dict) else dict(enumerate(shape or ()))
    names = {axis: axes.spelled(t) if isinstance(t, str) else getattr(t, "__name__", "") for axis, t in told.items()}
    return {axis: name for axis, name in names.items() if name.isidentifier()}
