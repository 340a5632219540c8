"""arguments.py - what the caller gives as example inputs: one tuple for forward, and the leaves that become inputs of the graph.

As torch.onnx does: a dict at the end of args names arguments, defaults of forward fill what is left out, a lone value is a
tuple of one. Keyword-only arguments go through a wrapper module, because torch's tracer takes none."""
import inspect

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


def takes_dict_last(signature, args):
    """Is the last argument a dict that forward itself wants? Its place has no default, and no key is a parameter's name."""
    given = args[-1] if args and isinstance(args[-1], dict) else {}
    places = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return bool(given) and len(args) <= len(places) and places[len(args) - 1].default is inspect.Parameter.empty and \
        not any(key in signature.parameters for key in given)


def divided(signature, args, kwargs):
    """(positional, named): a dict at the end of args names arguments, unless forward itself wants it there."""
    if kwargs or not args or not isinstance(args[-1], dict) or signature is not None and takes_dict_last(signature, args):
        return args, dict(kwargs or {})
    return args[:-1], dict(args[-1])


def arrange(model, args, kwargs):
    """(positional, keyword-only) arguments for forward, as torch.onnx arranges them by the signature."""
    args = as_tuple(args)
    signature = signature_of(model)
    if signature is None:
        return args, dict(kwargs or {})
    parameters = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only = [p for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    args, named = divided(signature, args, kwargs)
    args = list(args)
    takes_more = any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())
    missing, keywords, left_out = [], {}, False
    for p in [] if takes_more else parameters[len(args):]:
        given = p.name in named
        if missing and given:
            raise TypeError("forward() is given %s but not %s, which comes before it" % (p.name, missing[0]))
        if not given and p.default is p.empty:
            missing.append(p.name)
        elif p.kind == p.POSITIONAL_OR_KEYWORD and (left_out or not given and p.default is None):
            left_out = True                             # from here on arguments go by name: forward may look which were given
            keywords.update({p.name: named.pop(p.name)} if given else {})
        else:
            args.append(named.pop(p.name, p.default))
    if missing:
        raise TypeError("forward() is missing an argument: '%s'" % missing[0])
    takes_named = any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values())
    keywords.update({p.name: named.pop(p.name, p.default) for p in only if p.name in named or p.default is not p.empty})
    if takes_named:
        keywords.update(named)
    elif named:
        warn("forward() has no argument %s: ignored" % ", ".join(sorted(named)))
    return tuple(args), keywords


class Keywords(torch.nn.Module):
    """forward(*positional, *keyword-only): torch's tracer takes no keywords. The prefix of its names is taken off again."""
    PREFIX = "_model."

    def __init__(self, model, n, names):
        super().__init__()
        self._model, self._n, self._names = model, n, names
        self.training = getattr(model, "training", False)

    def forward(self, *args):
        return self._model(*args[:self._n], **dict(zip(self._names, args[self._n:])))


class Function(torch.nn.Module):
    """A plain callable as a module, with the callable's own signature."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def leaves(value, path=""):
    """(path, leaf) of nested tuples, lists and dicts, in order. Items of a named tuple go by their names."""
    if isinstance(value, (tuple, list)):
        value = dict(zip(getattr(value, "_fields", range(len(value))), value))
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, "%s.%s" % (path, k) if path else str(k))
    else:
        yield path, value
