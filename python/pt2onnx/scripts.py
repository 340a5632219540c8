"""scripts.py - a ScriptModule or ScriptFunction: how it is saved, which of its parameters each argument is for, and what C is told of the inputs.

The schema of the program says what it takes; parameters that are left out have their defaults, as constants."""
import torch

from . import axes
from .arguments import leaves
from .calls import Call
from .contents import inputs_with_contents
from .versions import ONNX_DTYPES, QUANTIZED, SPEC_WORDS, error_of

LISTS_OF_NUMBERS = {"List[int]": "int64", "List[float]": "float64", "List[bool]": "bool"}
NUMBERS = {bool: "bool[]", int: "int64[]", float: "float64[]"}


def type_of(parameter):
    """The text of its type, which is T for an Optional[T]: an example that is not None has this type."""
    text = parameter.type.annotation_str
    return text[len("Optional["):-1] if text.startswith("Optional[") else text


def save(model, path):
    """With torch.onnx's words, too, for a call of a Python function, which TorchScript does not save."""
    try:
        model.save(path)
    except RuntimeError as e:
        if "Could not export Python function call" not in str(e):
            raise
        raise error_of("OnnxExporterError", "Couldn't export Python operator: " + str(e).strip()) from e


def method_of(model):
    return model.forward if isinstance(model, torch.jit.ScriptModule) else model


def parameters_of(model):
    """Of its schema, without self."""
    return method_of(model).schema.arguments[1 if isinstance(model, torch.jit.ScriptModule) else 0:]


# ---- arguments ----

def divided(model, args, kwargs):
    """(positional, named), by the program's order: a dict at the end of args names arguments, unless the program takes one there. Raises
    TypeError where the program takes no such arguments."""
    parameters, named = parameters_of(model), dict(kwargs or {})
    if not named and args and isinstance(args[-1], dict) and not is_dict_of(parameters, args):
        args, named = args[:-1], dict(args[-1])
    check(method_of(model).name, parameters, args, named)
    return args, {p.name: named[p.name] for p in parameters if p.name in named}


def is_dict_of(parameters, args):
    """Is the dict at the end of args an argument itself?"""
    place = parameters[len(args) - 1] if len(args) <= len(parameters) else None
    return place is not None and "Dict[" in place.type.annotation_str and not any(p.name in args[-1] for p in parameters)


def check(what, parameters, args, named):
    places = [p.name for p in parameters if not p.kwarg_only]
    if len(args) > len(places):
        raise TypeError("%s takes %d arguments, %d were given" % (what, len(places), len(args)))
    by_place, all_names = places[:len(args)], [p.name for p in parameters]
    for name in named:
        if name not in all_names:
            raise TypeError("%s has no argument %s, only %s" % (what, name, ", ".join(all_names)))
        if name in by_place:
            raise TypeError("%s is given the argument %s twice" % (what, name))
    for p in parameters:
        if p.name not in by_place and p.name not in named and not p.has_default_value():
            raise TypeError("%s is missing an argument: '%s'" % (what, p.name))


def call_of(model, args, named):
    """How the finished model is called. args, named: as divided gives them."""
    parameters = parameters_of(model)
    return Call([p.name for p in parameters if not p.kwarg_only], {p.name: p.default_value for p in parameters if p.has_default_value()}, args, named,
                [p.name for p in parameters if type_of(p) in LISTS_OF_NUMBERS])


# ---- inputs ----

class Inputs:
    """What C is told: `specs` of the inputs, by the example and the names of parameters; `names` that the inputs get; `kept`, those that
    torch.onnx keeps though nothing may use them; `renamed`, the caller's names by place."""

    def __init__(self, model, args, named, known, names):
        """known: {input: {axis: name}}; names: the caller's, in order."""
        self.specs, self.names, self.kept = [], [], []
        self.known, self.wished, self.count, self.size_names = known, names, 0, axes.SizeNames()
        self.types = {p.name: type_of(p) for p in parameters_of(model)}
        pairs = list(zip(self.types, args)) + list(named.items())
        contents = with_contents(model, args, known)
        for name, value in pairs:
            if self.is_sequence(name, value):
                self.sequence(name, value, name in contents)
                continue
            if isinstance(value, tuple) and self.types[name].startswith("Tuple["):
                value = tuple(value)                    # of a named tuple the program has no names
            for path, leaf in leaves(value, name):
                self.leaf(path, leaf, name in contents)
        self.specs += [] if isinstance(model, torch.jit.ScriptModule) else defaults_of(model, [name for name, _ in pairs])
        if self.count < len(names):
            raise RuntimeError("number of input names provided (%d) exceeded number of inputs (%d)" % (len(names), self.count))
        self.renamed = self.names if names else []

    def name_of_next(self, path):
        """The caller's name for the next input, else its own."""
        self.count += 1
        return self.wished[self.count - 1] or path if self.count <= len(self.wished) else path

    def is_sequence(self, name, value):
        """A list of numbers is one input."""
        return isinstance(value, (list, tuple)) and len(value) > 0 and self.types[name] in LISTS_OF_NUMBERS

    def sequence(self, name, value, has_contents):
        self.specs += ["%s.%d:%s[]" % (name, i, LISTS_OF_NUMBERS[self.types[name]]) for i in range(len(value))]
        self.names.append(self.name_of_next(name))
        self.kept += [name] if has_contents else []

    def leaf(self, path, leaf, has_contents):
        """None and texts are constants, all else is an input."""
        if leaf is None or isinstance(leaf, str):
            self.specs.append("%s=%s" % (path, "None" if leaf is None else quoted(leaf)))
            return
        name = self.name_of_next(path)
        self.specs.append("%s:%s" % (path, type_text(leaf, self.known.get(name, self.known.get(path, {})), name, self.size_names)))
        self.names += inputs_of(leaf, name)
        self.kept += inputs_of(leaf, path) if has_contents else []


def defaults_of(function, given):
    """Of parameters that are not given: a function that is saved loses its defaults."""
    left_out = [p for p in parameters_of(function) if p.name not in given and p.has_default_value()]
    return ["%s=%s" % (p.name, quoted(p.default_value) if isinstance(p.default_value, str) else p.default_value) for p in left_out]


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


def with_contents(model, args, known):
    """The parameters of which an output needs more than type and size."""
    graph = method_of(model).graph.copy()
    torch._C._jit_pass_inline(graph)
    names = [p.name for p in parameters_of(model)]
    values = list(graph.inputs())[-len(names):] if names else []
    told = {v.debugName(): a.shape for v, a in zip(values, args) if isinstance(a, torch.Tensor) and (not known or a.dim() == 0)}
    needed = set(inputs_with_contents(graph, told))
    return {name for name, v in zip(names, values) if v.debugName() in needed}


def inputs_of(leaf, name):
    """The inputs that a leaf is: a quantised tensor is three."""
    return [name, name + ".scale", name + ".zero_point"] if getattr(leaf, "is_quantized", False) else [name]


def type_text(leaf, named, told, size_names):
    """The type of a SPEC. named: {axis: name}; told: what the caller calls the input."""
    if not isinstance(leaf, torch.Tensor):
        if type(leaf) not in NUMBERS:
            raise TypeError("%s: an input is a tensor, a number, a text or None, not %r" % (told, leaf))
        return NUMBERS[type(leaf)]
    if leaf.is_quantized and leaf.dtype not in QUANTIZED:
        raise TypeError("%s: a quantised input is quint8 or qint8, not %s" % (told, leaf.dtype))
    if not leaf.is_quantized and leaf.dtype not in ONNX_DTYPES:
        raise TypeError("%s: %s cannot be the type of an input" % (told, leaf.dtype))
    names = axes.names_by_axis(told, named, leaf.dim())
    dims = [size_names.of(axes.spelled(n), d, told) if n else str(d) for n, d in zip(names, leaf.shape)]
    word = QUANTIZED[leaf.dtype][0] if leaf.is_quantized else SPEC_WORDS[ONNX_DTYPES[leaf.dtype]]
    return "%s[%s]" % (word, ",".join(dims))
