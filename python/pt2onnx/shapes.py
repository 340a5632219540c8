"""shapes.py - sizes of a program of torch.export that stay open: dynamic_shapes, and dynamic_axes said in its terms.

torch.export takes its own Dims and hints and names every dynamic size by itself (s77). The names that the caller has written, of a Dim
or as a text, stand in the model."""
import contextlib
import inspect
import os
import sys

import torch
from torch.utils import _pytree

from . import axes, flex, reverse
from .programs import names_in
from .turns import replaced
from .verification import OPEN_NUMBERS
from .versions import children_of, open_size, static_size

TORCH = os.path.dirname(torch.__file__) + os.sep


def arguments_of(model, args, keywords):
    """{parameter of forward: value}, as torch.export counts arguments: *args is one of them, **kwargs another. In the order that a program has:
    by place, then by name as they were given."""
    parameters = inspect.signature(model.forward).parameters
    found = inspect.signature(model.forward).bind(*args, **keywords).arguments
    others = [name for name in found if parameters[name].kind == inspect.Parameter.VAR_KEYWORD]
    by_name = [name for name in keywords if name in found and name not in others]
    by_place = [name for name in found if name not in by_name and name not in others]
    return {name: found[name] for name in by_place + by_name + others}


def places_of(model, arguments):
    """The names of the arguments in the order of forward's parameters."""
    return [name for name in inspect.signature(model.forward).parameters if name in arguments]


def by_argument(names, shapes):
    """{argument: its shapes}: dynamic_shapes goes by name, or by place. What it says of an argument that is not there would be lost."""
    if not isinstance(shapes, (dict, tuple, list)):
        raise TypeError("dynamic_shapes is a dict, tuple or list, not %r" % (shapes,))
    unknown = [name for name in shapes if name not in names] if isinstance(shapes, dict) else []
    if unknown:
        raise ValueError("dynamic_shapes: forward is given no argument %s, only %s" % (unknown[0], ", ".join(names)))
    if len(shapes) > len(names):
        raise ValueError("dynamic_shapes tells of %d arguments, forward is given %d" % (len(shapes), len(names)))
    return dict(shapes) if isinstance(shapes, dict) else dict(zip(names, shapes))


def mapped(value, shape, do, path):
    """What dynamic_shapes says of a value, with do(leaf, what it says, path) at each leaf."""
    if isinstance(value, (tuple, list)):
        shapes = shape or [None] * len(value)
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(value):
            raise ValueError("dynamic_shapes: %s has %d items, not %r" % (path, len(value), shape))
        names = getattr(value, "_fields", range(len(value)))
        items = [mapped(v, s, do, "%s.%s" % (path, name)) for name, v, s in zip(names, value, shapes)]
        return like(value, items)
    if isinstance(value, dict):
        shapes = shape or {}
        unknown = [key for key in shapes if key not in value] if isinstance(shapes, dict) else [shape]
        if unknown:
            raise ValueError("dynamic_shapes: %s has the keys %s, not %r" % (path, ", ".join(map(str, value)), unknown[0]))
        return {k: mapped(v, shapes.get(k), do, "%s.%s" % (path, k)) for k, v in value.items()}
    return do(value, shape, path)


def like(value, items):
    """A tuple, named tuple or list as `value` is."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def mapped_parts(parts, spec, do, path):
    """do(part, path) of each part of a container that the user has registered, nested as torch.export wants its dynamic_shapes: a list for such a
    container, one of Python's own as it is."""
    if spec.type is None:
        return do(next(parts), path)
    children = children_of(spec)
    names = names_in(spec) or range(len(children))
    found = [mapped_parts(parts, child, do, "%s.%s" % (path, name)) for name, child in zip(names, children)]
    if spec.type not in _pytree.BUILTIN_TYPES:
        return found
    return _pytree.tree_unflatten(found, _pytree.TreeSpec(spec.type, spec.context, [_pytree.tree_structure(None)] * len(found)))


def mapped_arguments(arguments, shapes, do):
    return {name: mapped(value, (shapes or {}).get(name), do, name) for name, value in arguments.items()}


def checked(arguments, shapes):
    """The shapes with their axes counted from the front. One that no tensor has would be lost."""
    return mapped_arguments(arguments, shapes, from_the_front)


def from_the_front(value, told, path):
    if not isinstance(value, torch.Tensor):
        return told
    if isinstance(told, (tuple, list)) and len(told) != value.dim():
        raise ValueError("dynamic_shapes: %s has %d dimensions, not %d" % (path, value.dim(), len(told)))
    if told is not None and not isinstance(told, (dict, tuple, list)):
        raise TypeError("dynamic_shapes: %s is a tensor, of which a dict or a list tells, not %r" % (path, told))
    if not isinstance(told, dict):
        return told
    for axis in told:
        if not axes.is_int(axis) or not -value.dim() <= axis < value.dim():
            raise ValueError("dynamic_shapes: %s has no dimension %r, it has %d" % (path, axis, value.dim()))
    return {axis % value.dim(): size for axis, size in told.items()}


def without_names(arguments, shapes):
    """dynamic_shapes as torch.export takes it: a text asks for a size that stays open."""
    def hint(told):
        if isinstance(told, dict):
            return {key: hint(t) for key, t in told.items()}
        if isinstance(told, (tuple, list)):
            return like(told, map(hint, told))
        return open_size(axes.spelled(told)) if isinstance(told, str) else told
    return mapped_arguments(arguments, shapes, lambda value, told, path: hint(told))


def leaves_of(arguments, shapes):
    """[(path, leaf, what dynamic_shapes says of it)], in the order of a program's inputs. A leaf of mapped may be a container that the user has
    registered."""
    found = []

    def leaf(value, told, path):
        parts = _pytree.tree_leaves(value)
        said = [told] if len(parts) == 1 else shapes_in(told)
        found.extend((path, part, s) for part, s in zip(parts, said if len(said) == len(parts) else [None] * len(parts)))
    mapped_arguments(arguments, shapes, leaf)
    return found


def shapes_in(told):
    """What nested lists and dicts say of one tensor after the other: None, {axis: size}, or a list of sizes."""
    if told is None or isinstance(told, dict) and all(isinstance(key, int) for key in told):
        return [told]
    items = list(told.values()) if isinstance(told, dict) else list(told)
    if not any(isinstance(item, (dict, tuple, list)) for item in items):
        return [told]
    return [shape for item in items for shape in shapes_in(item)]


def sizes_in(told):
    """[(axis, size)] of what dynamic_shapes says of one tensor."""
    if isinstance(told, dict):
        return list(told.items())
    return list(enumerate(told)) if isinstance(told, (tuple, list)) else []


def of_axes(arguments, named_axes, input_names):
    """dynamic_axes as dynamic_shapes, and the names that inputs have in them: the caller's, then those of forward's parameters, `d.0`, `d.key` and
    `d.field` for parts of one. Numbers that are not open, texts and None are constants of a program: no name is for them."""
    names, used = iter(input_names), set()

    def leaf(value, told, path):
        parts, spec = _pytree.tree_flatten(value)
        if spec.type is not None:
            return mapped_parts(iter(parts), spec, lambda part, path: leaf(part, None, path), path)
        name = next(names, path) if isinstance(value, (torch.Tensor, *OPEN_NUMBERS)) else path
        used.add(name)
        if name not in named_axes or not isinstance(value, torch.Tensor):
            return None
        return {axis: text for axis, text in enumerate(axes.names_by_axis(name, named_axes[name], value.dim())) if text}
    return mapped_arguments(arguments, None, leaf), used


# ---- the program ----

def exported(model, example, arguments, shapes):
    """(the ExportedProgram of a module, what its source asks of open sizes: questions_seen). example: (positional, named), no tensor twice; shapes: None
    where all sizes are the example's."""
    told = without_names(arguments, shapes) if shapes else None

    def program_of(example, model=model):
        with attributes_kept(example), flex.written_out(), questions_seen() as seen:
            try:
                return torch.export.export(model, *example, strict=False, dynamic_shapes=told), seen
            except Exception as e:
                if not reverse.asks_for_gradients(e):
                    raise
        return program_of(example, without_gradients(example))

    def without_gradients(example):
        """The module with what its gradients are made of."""
        with attributes_kept(example), flex.written_out(), questions_seen() as asked:
            found, seen_as = reverse.written_out(model, example)
        tensors = [(path, shape) for path, value, shape in leaves_of(arguments, shapes) if isinstance(value, torch.Tensor)]
        reverse.check_open([(path, axis, sizes[axis]) for (path, shape), sizes in zip(tensors, seen_as) for axis, size in sizes_in(shape) if stays_open(size)],
                           asked)
        return found
    larger = without_ones(example, arguments, shapes) if shapes else None
    if larger is not None:
        try:
            return program_of(larger)
        except Exception:                               # the size has to be 1, or something else is wrong: the caller's own example tells it
            pass
    return program_of(example)


@contextlib.contextmanager
def questions_seen():
    """[(expression, answer, FILE:LINE)] of each `if` and the like of open sizes outside of torch."""
    seen, ask = [], torch.SymBool.__bool__

    def answer_of(question):
        expression, code, line = question.node.expr, sys._getframe(1).f_code, sys._getframe(1).f_lineno
        answer = ask(question)
        if not code.co_filename.startswith(TORCH):
            seen.append((expression, answer, "%s:%d" % (code.co_filename, line)))
        return answer
    with replaced(torch.SymBool, "__bool__", answer_of):
        yield seen


def answers_of_one(program, arguments, shapes, seen):
    """[(size, question, FILE:LINE)] of the questions to which 1 has another answer than larger sizes have: torch.export takes an open size for a larger one,
    and says nothing in the program. A Dim may say that it is larger."""
    sizes = {symbol for _, _, size, told in sizes_of(program, arguments, shapes) if isinstance(size, torch.SymInt) and (getattr(told, "min", None) or 0) < 2
             for symbol in size.node.expr.free_symbols}
    found = {}
    for expression, answer, where in seen:
        symbol = next(iter(expression.free_symbols)) if len(expression.free_symbols) == 1 else None
        if symbol in sizes and [expression.subs(symbol, n) == answer for n in (1, 2, 3)] == [False, True, True]:
            found[str(symbol), spelled(expression), where] = None
    return list(found)


def with_one(program, example, arguments, shapes, symbol):
    """The example with one for the size that torch.export calls so; None where another size is computed of it."""
    inputs, leaves, cut = inputs_of(program), leaves_of(arguments, shapes), {}
    for node, (_, value, _) in zip(inputs, leaves) if len(inputs) == len(leaves) else ():
        for axis, size in enumerate(node.meta["val"].shape) if isinstance(value, torch.Tensor) else ():
            if str(size) == symbol:
                cut.setdefault(id(value), []).append(axis)
            elif isinstance(size, torch.SymInt) and symbol in map(str, size.node.expr.free_symbols):
                return None

    def smaller(value):
        for axis in cut.get(id(value), ()):
            value = value.narrow(axis, 0, 1)
        return value
    return _pytree.tree_map(smaller, example) if cut else None


def runs_as(program):
    """The program as a module that takes sizes for which it was not exported."""
    guards = {"check_guards": False} if "check_guards" in inspect.signature(program.module).parameters else {}
    return program.module(**guards)


def spelled(expression):
    """s77 == 1 for Eq(s77, 1)"""
    return "%s %s %s" % (expression.lhs, expression.rel_op, expression.rhs) if hasattr(expression, "rel_op") else str(expression)


@contextlib.contextmanager
def attributes_kept(example):
    """torch.export marks the tensors of its example with the sizes that are to stay open. Where it then refuses the program, the marks would stay, and
    hold in the next export."""
    held = [(vars(t), dict(vars(t))) for t in _pytree.tree_leaves(example) if isinstance(t, torch.Tensor)]
    try:
        yield
    finally:
        for attributes, before in held:
            attributes.clear()
            attributes.update(before)


def without_ones(example, arguments, shapes):
    """The example with two for one along each axis whose size is to stay open: torch.export takes a size of 1 for a fixed one. None where
    no such size is 1, or where one is computed of another (2*n)."""
    ones, computed = {}, False
    for path, value, told in leaves_of(arguments, shapes):
        for axis, size in sizes_in(told) if isinstance(value, torch.Tensor) else ():
            computed = computed or hasattr(size, "root")
            if stays_open(size) and -value.dim() <= axis < value.dim() and value.shape[axis] == 1:
                ones.setdefault(id(value), set()).add(axis % value.dim())

    def larger(value):
        for axis in ones.get(id(value), ()):
            value = torch.cat([value, value], axis)
        return value
    return _pytree.tree_map(larger, example) if ones and not computed else None


def stays_open(size):
    return size is not None and not isinstance(size, int) and size is not static_size()


def inputs_with_specs(program):
    """[(node, InputSpec)] of what a program's caller gives."""
    user = torch.export.graph_signature.InputKind.USER_INPUT
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    return [(n, s) for n, s in zip(placeholders, program.graph_signature.input_specs) if s.kind == user]


def inputs_of(program):
    """The nodes of a program that are its caller's inputs."""
    return [n for n, _ in inputs_with_specs(program)]


def constants_of(program, arguments):
    """{number of a leaf: (path, value)}: the arguments that torch.export has made constants, counted as calls.Call counts leaves, which are
    tensors and numbers: forward(k, a) exported with 3 for k has {0: ("k", 3)}."""
    specs = [spec.arg for _, spec in inputs_with_specs(program)]
    found = [(path, arg) for (path, _, _), arg in zip(leaves_of(arguments, None), specs) if not is_nothing(arg)]
    return {i: (path, arg.value) for i, (path, arg) in enumerate(found) if is_constant(arg)}


def is_constant(arg):
    return isinstance(arg, torch.export.graph_signature.ConstantArgument)


def is_nothing(arg):
    """Texts and None are no inputs in any model."""
    return is_constant(arg) and (arg.value is None or isinstance(arg.value, str))


def arguments_of_program(program):
    """As arguments_of, with torch.export's own stand-ins for tensors, which have the program's sizes."""
    values = [n.meta.get("val") for n in inputs_of(program)]
    args, keywords = _pytree.tree_unflatten(values, program.call_spec.in_spec)
    names = getattr(program.module_call_graph[0].signature, "forward_arg_names", None) or ()
    return {**{names[i] if i < len(names) else str(i): value for i, value in enumerate(args)}, **keywords}


def sizes_of(program, arguments, shapes):
    """[(path, axis, the size in the program, what dynamic_shapes says)]"""
    inputs, told = inputs_of(program), leaves_of(arguments, shapes)
    if len(inputs) != len(told):
        return []
    values = [n.meta.get("val") for n in inputs]
    return [(path, axis, value.shape[axis], size) for value, (path, _, shape) in zip(values, told) if isinstance(value, torch.Tensor)
            for axis, size in sizes_in(shape)]


def names_of_sizes(program, arguments, shapes):
    """["s77=batch"]: the caller's names for what torch.export calls s77. A size that two names are given for keeps the first."""
    names, size_names = {}, axes.SizeNames()
    for path, axis, size, told in sizes_of(program, arguments, shapes):
        symbol, name = named(size, told)
        if symbol.isidentifier() and name.isidentifier() and symbol not in names:
            names[symbol] = name if hasattr(told, "root") else size_names.of(name, size.node.hint, path)
    return ["%s=%s" % item for item in names.items()]


def named(size, told):
    """(torch.export's symbol, the caller's name): a Dim has one, a text is one, 2*n is the size that n is told of."""
    if hasattr(told, "root") and isinstance(size, torch.SymInt):
        symbols = size.node.expr.free_symbols
        return str(*symbols) if len(symbols) == 1 else "", axes.spelled(told.root.__name__)
    return str(size), axes.spelled(told if isinstance(told, str) else getattr(told, "__name__", ""))


def fixed_sizes(program, arguments, shapes):
    """[(path, axis, size)] of those that are told to stay open and are numbers in the program. Dim.AUTO leaves it to torch.export."""
    return [(path, axis, size) for path, axis, size, told in sizes_of(program, arguments, shapes) if isinstance(size, int) and has_to_stay_open(told)]


def has_to_stay_open(size):
    """A text and a Dim, which have a name, and Dim.DYNAMIC."""
    return isinstance(size, str) or hasattr(size, "__name__") or size is not None and size is getattr(torch.export.Dim, "DYNAMIC", None)
