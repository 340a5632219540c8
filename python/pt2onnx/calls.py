"""calls.py - arguments of forward as what the ONNX model is fed: by place or by name, in the order of the export, with forward's defaults."""
import inspect
import reprlib

from torch.utils import _pytree

from .arguments import placed
from .verification import flat, leaves_in

MISSING = inspect.Parameter.empty


class Call:
    """How the model that an export has made is called with arguments of forward."""

    def __init__(self, places, defaults, positional, named, sequences=()):
        """places: the names of the parameters that may go by place; defaults: {parameter: default}; positional, named: the arguments of the
        export, as the model has them; sequences: the parameters whose lists are one input."""
        self.places, self.sequences = places, sequences
        names = self.by_place(positional)
        self.defaults = {name: defaults.get(name, MISSING) for name in [*names, *named]}
        self.example = {**names, **named}
        leaves_in(self.example)                         # raises TypeError of what is no argument
        self.constants = {}                             # {number of a leaf: (path, value)}: what is fixed in the model, which has no input for it
        self.fixed = {}                                 # the same of a trace, whose inputs go by the names of all leaves

    def fix_numbers(self, names, inputs):
        """Which numbers a trace has fixed, or not used: those that are no inputs of the model. names: of the leaves."""
        found = [(name, leaf) for name, value in self.example.items() for leaf in leaves_in(value)]
        self.fixed = {i: item for i, item in enumerate(found) if isinstance(item[1], (bool, int, float)) and names[i] not in inputs}

    def by_place(self, args):
        """{parameter: argument}; what *args takes has its number for a name."""
        return {self.places[i] if i < len(self.places) else str(i): value for i, value in enumerate(args)}

    def inputs(self, args, kwargs):
        """Arrays for the model's inputs, in their order. Raises TypeError where the arguments are not those of the export."""
        arguments = self.by_place(args)
        for name, value in kwargs.items():
            if name in arguments:
                raise TypeError("the model is given the argument %s twice" % name)
            arguments[name] = value
        if len(args) > len(self.places) and not set(arguments) <= set(self.defaults):
            raise TypeError("the model takes %d arguments by place, %d were given" % (len(self.places), len(args)))
        for name in arguments:
            if name not in self.defaults:
                raise TypeError("the model was exported without an argument %s: it has %s" % (name, ", ".join(self.defaults)))
        for name, default in self.defaults.items():
            if arguments.setdefault(name, default) is MISSING:
                raise TypeError("the model is missing an argument: '%s'" % name)
        values = {name: as_in(name, arguments[name], self.example[name]) for name in self.defaults}
        leaves = leaves_in(values)
        self.check_constants(leaves)
        if self.constants:
            return flat([leaf for i, leaf in enumerate(leaves) if i not in self.constants], given=True)
        return [array for name, value in values.items() for array in self.arrays(name, value)]

    def check_constants(self, leaves):
        """Raises ValueError where one is not what it was in the export: 3 is not 3.0, and not True."""
        for i, (path, value) in {**self.constants, **self.fixed}.items():
            if repr(leaves[i]) != repr(value):
                raise ValueError("the argument %s is the constant %r in the model, not %s" % (path, value, reprlib.repr(leaves[i])))

    def arrays(self, name, value):
        found = flat(value, given=True)
        return [found] if name in self.sequences and isinstance(value, (list, tuple)) and value else found


def as_in(name, value, example):
    """The value with its dicts in the order that they have in the example. Raises where it has other parts, or another None or text: these are no inputs,
    so the model would give what it gave for the example's."""
    if isinstance(example, dict):
        if not isinstance(value, dict) or set(value) != set(example):
            raise TypeError("the argument %s was exported as a dict with the keys %s" % (name, ", ".join(map(str, example)) or "none"))
        return {key: as_in("%s[%r]" % (name, key), value[key], item) for key, item in example.items()}
    if type(value) is type(example) and type(value) in _pytree.SUPPORTED_NODES:
        value, example = parts_as_in(name, value, example), parts_of(example)[0]
    if isinstance(value, (tuple, list)) and isinstance(example, (tuple, list)) and len(value) == len(example):
        return [as_in("%s[%d]" % (name, i), item, known) for i, (item, known) in enumerate(zip(value, example))]
    if (example is None or isinstance(example, str)) and not (type(value) is type(example) and value == example):
        raise ValueError("the argument %s is the constant %r in the model, not %s" % (name, example, reprlib.repr(value)))
    known, given = len(leaves_in(example)), len(leaves_in(value))
    if known != given:
        raise TypeError("the argument %s has %d tensors and numbers in the export, not %d" % (name, known, given))
    return value


def parts_of(container):
    """(its parts, what is the same in each such container) of one that the user has registered: of a dataclass the names of its fields."""
    parts, context = _pytree.SUPPORTED_NODES[type(container)].flatten_fn(container)
    return list(parts), context


def parts_as_in(name, value, example):
    (parts, context), (_, wanted) = parts_of(value), parts_of(example)
    if context != wanted:
        raise TypeError("the argument %s was exported as a %s with other parts" % (name, type(example).__name__))
    return parts


def of_signature(signature, positional, named):
    """The Call of a module or callable; signature: of inspect's, None where it is not known."""
    parameters = list(signature.parameters.values()) if signature else []
    return Call([p.name for p in placed(signature)], {p.name: p.default for p in parameters if p.default is not p.empty}, positional, named)
