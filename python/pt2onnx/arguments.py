"""arguments.py - what the caller gives as example inputs: one tuple for forward, and the leaves that become inputs of the graph.

As torch.onnx does: a dict at the end of args names arguments, defaults of forward fill what is left out, a lone value is a
tuple of one. Keyword-only arguments go through a wrapper module, because torch's tracer takes none."""
import functools
import inspect
import re

import torch

from .telling import warn


def as_tuple(args):
    if isinstance(args, tuple):
        return args
    return tuple(args) if isinstance(args, list) else (args,)


def signature_of(model):
    try:
        return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    except (ValueError, TypeError):
        return None


def placed(signature):
    """The parameters that may go by place; signature: of inspect's, None where it is not known."""
    return [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)] if signature else []


def takes_dict_last(signature, args):
    """Is the last argument a dict that forward itself wants? Its place has no default, and no key is a parameter's name."""
    given = args[-1] if args and isinstance(args[-1], dict) else {}
    places = placed(signature)
    return bool(given) and len(args) <= len(places) and places[len(args) - 1].default is inspect.Parameter.empty and \
        not any(key in signature.parameters for key in given)


def divided(signature, args, kwargs):
    """(positional, named): a dict at the end of args names arguments, unless forward itself wants it there."""
    if kwargs or not args or not isinstance(args[-1], dict) or signature is not None and takes_dict_last(signature, args):
        return args, dict(kwargs or {})
    return args[:-1], dict(args[-1])


def arrange(model, args, kwargs):
    """(positional, keyword) arguments for forward, as torch.onnx arranges them by the signature."""
    signature = signature_of(model)
    args, named = divided(signature, as_tuple(args), kwargs)
    if signature is None:
        return args, named
    args, keywords = by_place(signature, args, named)
    parameters = signature.parameters.values()
    takes_named = any(p.kind == p.VAR_KEYWORD for p in parameters)
    known = [p.name for p in parameters if p.kind != p.VAR_KEYWORD]
    keywords.update((p.name, named[p.name]) for p in parameters if p.kind == p.KEYWORD_ONLY and p.name in named)
    others = [name for name in named if name not in known]
    if takes_named:
        keywords.update((name, named[name]) for name in others)
    elif others:
        warn("forward() has no argument %s: ignored" % ", ".join(sorted(others)))
    return args, keywords


def by_place(signature, args, named):
    """(positional, keyword) arguments for the parameters that may go by place: those that nobody has given have their defaults. Behind a None,
    or a default that no trace takes, that nobody has given, and where forward takes any number, the others go by name: forward may look which were given."""
    parameters = placed(signature)
    twice = [p.name for p in parameters[:len(args)] if p.name in named and p.kind != p.POSITIONAL_ONLY]
    if twice:
        raise TypeError("forward() is given the argument %s twice" % twice[0])
    args, keywords = list(args), {}
    left_out = any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())
    for p in parameters[len(args):]:
        given = p.name in named
        if not given and p.default is p.empty:
            raise TypeError("forward() is missing an argument: '%s'" % p.name)
        left_out = left_out or not given and not fills_a_place(p.default)
        if p.kind == p.POSITIONAL_ONLY or not left_out:
            args.append(named.get(p.name, p.default))
        elif given:
            keywords[p.name] = named[p.name]
    return tuple(args), keywords


def fills_a_place(default):
    """Not None, nor a dtype, a function and whatever else a trace does not take: forward has these without us."""
    return default is not None and all(leaf is None or isinstance(leaf, str) or is_traced(leaf) for leaf in torch.utils._pytree.tree_flatten(default)[0])


def copied(example):
    """The example as tensors that nothing else knows: a trace takes a weight, or a tensor of a function's surroundings, that is one with an
    argument for that argument."""
    return torch.utils._pytree.tree_map(lambda value: copy_of(value) if isinstance(value, torch.Tensor) else value, example)


def copy_of(t):
    return t.detach().clone().requires_grad_(t.requires_grad)


def told_apart(example, model):
    """The example with no tensor in it twice, and none of the model's: torch.export takes two that are one for one."""
    seen = {id(t) for t in [*model.parameters(), *model.buffers()]}

    def leaf(value):
        twice = isinstance(value, torch.Tensor) and id(value) in seen
        seen.add(id(value))
        return copy_of(value) if twice else value
    return torch.utils._pytree.tree_map(leaf, example)


class Keywords(torch.nn.Module):
    """forward(*positional, *keyword-only): torch's tracer takes no keywords."""

    def __init__(self, model, n, names):
        super().__init__()
        self._model, self._n, self._names = model, n, names
        self.training = getattr(model, "training", False)

    def forward(self, *args):
        return self._model(*args[:self._n], **dict(zip(self._names, args[self._n:])))


def forward_by_place(model, args, keywords):
    """(forward, example) for torch.jit.trace, which takes neither keywords nor None: the model's forward with its arguments by place, under the names
    that it has for them, without those in which is nothing to trace. These are what they are here."""
    forward, given = model.forward, {**dict(zip(names_of_places(model, len(args)), args)), **keywords}
    traced = {name: value for name, value in given.items() if any(map(is_traced, torch.utils._pytree.tree_flatten(value)[0]))}

    def by_place(*values):
        now = {**given, **dict(zip(traced, values))}
        return forward(*list(now.values())[:len(args)], **{name: now[name] for name in keywords})
    by_place.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in traced])
    return by_place, tuple(traced.values())


def names_of_places(model, n):
    """Those of forward's parameters; what *args takes is called as torch's tracer calls what has no name."""
    places = [p.name for p in placed(signature_of(model))]
    return [places[i] if i < len(places) else "argument_%d" % (i + 1) for i in range(n)]


class Structured(torch.nn.Module):
    """forward(*leaves): torch's tracer makes plain tuples of named ones, and knows no containers that users have registered."""

    def __init__(self, model, example):
        """example: the arguments by place. `leaves`: those of them that the tracer is given."""
        super().__init__()
        values, self._spec = torch.utils._pytree.tree_flatten(example)
        self._model, self._values = model, [None if is_traced(v) else v for v in values]
        self.training = getattr(model, "training", False)
        self._places = [i for i, v in enumerate(values) if is_traced(v)]
        self.leaves = tuple(values[i] for i in self._places)

    def forward(self, *leaves):
        values = list(self._values)
        for i, leaf in zip(self._places, leaves):
            values[i] = leaf
        return self._model(*torch.utils._pytree.tree_unflatten(values, self._spec))


def is_traced(value):
    return isinstance(value, (torch.Tensor, bool, int, float))


def has_structure(value):
    """Is there a container that is more than a tuple, a list or a dict whose keys are texts?"""
    if type(value) in (tuple, list):
        return any(map(has_structure, value))
    if type(value) is dict:
        return not all(isinstance(key, str) for key in value) or any(map(has_structure, value.values()))
    leaves = torch.utils._pytree.tree_flatten(value)[0]
    return not (len(leaves) == 1 and leaves[0] is value)


class Function(torch.nn.Module):
    """A callable as a module, with the callable's own signature; a method of a module has that module's weights, another callable those of the
    modules that it holds, by the names that it has for them."""

    def __init__(self, function):
        super().__init__()
        self.forward = function if inspect.isroutine(function) and hasattr(function, "__code__") else called(function)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, torch.nn.Module):
            self._model = owner
        else:
            self.add_modules(modules_of(function, "", set()))

    def add_modules(self, held):
        for name, module in held:
            while hasattr(self, name):
                name += "_"
            self.add_module(name, module)
        self.training = any(module.training for _, module in held) if held else self.training


def called(function):
    """An object that can be called, as a function: torch.export asks for the code of one."""
    def forward(*args, **kwargs):
        return function(*args, **kwargs)
    try:
        forward.__signature__ = inspect.signature(function)
    except (ValueError, TypeError):
        pass                                            # a builtin of torch's
    return forward


def modules_of(value, name, seen):
    """[(name, module)] that a callable holds: in its closure, among the globals that its code names, bound to it, and in containers of these."""
    if id(value) in seen or isinstance(value, type):
        return []
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        return [(name or "module", value)]
    held = {}
    if isinstance(value, (tuple, list)):
        held = dict(enumerate(value))
    elif isinstance(value, dict):
        held = value
    elif isinstance(value, functools.partial):
        held = {"func": value.func, "args": value.args, **value.keywords}
    elif inspect.ismethod(value):
        held = {"self": value.__self__, "func": value.__func__}
    elif inspect.isfunction(value) and not str(value.__module__).startswith("torch."):
        held = names_of_code(value)
    elif callable(value) and hasattr(value, "__dict__") and not inspect.isroutine(value):
        held = vars(value)
    return [found for key, item in held.items() for found in modules_of(item, plain_name(name, key), seen)]


def names_of_code(function):
    """What its code calls by a name of the file or of the function around it; a name may have no value yet."""
    try:
        known = inspect.getclosurevars(function)
    except ValueError:
        return {}
    return {**known.globals, **known.nonlocals}


def plain_name(name, key):
    """`layers` and 0 are layers_0; what a function or an object holds has its own name."""
    text = key if isinstance(key, str) else "%s_%s" % (name, key)
    return re.sub(r"\W", "_", text)


def prefix_of(model):
    """What names of modules and weights begin with for our wrappers' sake."""
    inner = getattr(model, "_model", None) if isinstance(model, (Keywords, Structured, Function)) else None
    return "_model." + prefix_of(inner) if inner is not None else ""


def plain(name, prefix):
    """A name without the prefix; the wrapped modules themselves have none."""
    return "" if prefix.startswith(name + ".") else name[len(prefix):] if name.startswith(prefix) else name


def named_tensors(model):
    """[(name, weight or buffer)]; a function has none."""
    return [*model.named_parameters(), *model.named_buffers()] if isinstance(model, torch.nn.Module) else []


def leaves(value, path=""):
    """(path, leaf) of nested tuples, lists and dicts, in order. Items of a named tuple go by their names."""
    if isinstance(value, (tuple, list)):
        value = dict(zip(getattr(value, "_fields", range(len(value))), value))
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, "%s.%s" % (path, k) if path else str(k))
    else:
        yield path, value
