"""translation.py - custom_translation_table: operators that the caller has written with onnxscript, {torch.ops.my.op.default: function}.

The function runs on the scratch graph of the call, as a symbolic function does: each `op.Add(x, y)` in it asks onnxscript's evaluator,
which is ours then, and becomes a node. So a decorated function and a plain one are the same. Numbers, lists and texts among the
arguments are Python's own. One function serves all overloads of an operator."""
import inspect

import torch


class Translated:
    """A function of the table, to be called as f(*arguments). schema: of the operator, the first of its overloads."""

    def __init__(self, function, schema):
        self.function, self.schema = function, schema

    def __call__(self, g, *arguments):
        try:
            from onnxscript import evaluator
        except ImportError as e:
            raise RuntimeError("custom_translation_table needs onnxscript: %s" % e) from e
        positional, named = self.arranged(arguments)
        recorder = Recorder(g)
        with evaluator.default_as(recorder):
            named = {name: recorder.symbol(x) for name, x in named.items()}
            return given_back(self.function(*map(recorder.symbol, positional), **named))

    def arranged(self, arguments):
        """(positional, named): by name go those that the function takes by name only; it may lack some that have their defaults."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (ValueError, TypeError):                 # decorated by onnxscript
            return arguments, {}
        if len(arguments) != len(self.schema.arguments):
            return arguments, {}
        by_name = {p.name for p in parameters if p.kind == p.KEYWORD_ONLY}
        if any(p.kind == p.VAR_KEYWORD for p in parameters):
            by_name |= {a.name for a in self.schema.arguments if a.kwarg_only} - {p.name for p in parameters}
        pairs = list(zip(self.schema.arguments, arguments))
        named = {a.name: value for a, value in pairs if a.name in by_name}
        rest = [(a, value) for a, value in pairs if a.name not in by_name]
        places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        if not any(p.kind == p.VAR_POSITIONAL for p in parameters):
            while len(rest) > places and is_default(*rest[-1]):
                rest.pop()
        return [value for _, value in rest], named


def is_default(argument, value):
    return argument.has_default_value() and not hasattr(value, "node") and value == argument.default_value


def translations(table):
    """{operator: Translated}"""
    if not isinstance(table or {}, dict):
        raise TypeError("custom_translation_table is a dict of operators and functions, not %r" % (table,))
    found = {}
    for target, function in (table or {}).items():
        if not hasattr(target, "_schema") and not hasattr(target, "overloads"):
            raise TypeError("custom_translation_table: an operator is one of torch.ops, as torch.ops.aten.relu.default, not %r" % (target,))
        function = function[0] if isinstance(function, (list, tuple)) and len(function) == 1 else function
        if not callable(function):
            raise TypeError("custom_translation_table[%s]: one function, not %r" % (target, function))
        schemas = [target._schema] if hasattr(target, "_schema") else [getattr(target, o)._schema for o in target.overloads()]
        found[schemas[0].name] = Translated(function, schemas[0])
    return found


OPERATORS = {"add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "matmul": "MatMul", "pow": "Pow", "mod": "Mod", "and": "And", "or": "Or",
             "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}


class Symbol:
    """A value of the scratch graph with Python's operators, which functions for onnxscript use. What else it is asked for is torch's."""

    def __init__(self, value, recorder):
        self.value, self.recorder = value, recorder

    def __getattr__(self, name):
        return getattr(self.value, name)

    def __neg__(self):
        return self.recorder.node("Neg", [self])

    def __ne__(self, other):
        return self.recorder.node("Not", [self.recorder.node("Equal", [self, other])])

    def operate(self, op, x, y):
        of_floats = op == "Mod" and self.value.type().scalarType() in ("Float", "Double", "Half", "BFloat16")
        return self.recorder.node(op, [x, y], **({"fmod_i": 1} if of_floats else {}))


for name, op in OPERATORS.items():
    setattr(Symbol, "__%s__" % name, lambda self, other, op=op: self.operate(op, self, other))
    setattr(Symbol, "__r%s__" % name, lambda self, other, op=op: self.operate(op, other, self))


def given_back(result):
    """What a function gives, without our Symbols."""
    if isinstance(result, (tuple, list)):
        return [given_back(item) for item in result]
    return result.value if isinstance(result, Symbol) else result


class Recorder:
    """onnxscript's evaluator: every operator becomes a node of g."""

    def __init__(self, g):
        self.g = g

    def symbol(self, x):
        if isinstance(x, (tuple, list)):
            return type(x)(map(self.symbol, x))
        return Symbol(x, self) if isinstance(x, torch._C.Value) else x

    def node(self, kind, inputs, **attributes):
        return self.symbol(self.g.op(kind, *map(self.as_input, inputs), **attributes))

    def eval_function(self, function, args, kwargs):
        return function.function(*args, **kwargs)

    def eval_op(self, op, args, kwargs):
        schema, inputs, attributes = op.op_schema, list(args), {k: v for k, v in kwargs.items() if v is not None}
        for place, formal in enumerate(schema.inputs if schema else ()):
            if formal.name in attributes:
                inputs += [None] * (place + 1 - len(inputs))
                inputs[place] = attributes.pop(formal.name)
        if op.name == "Constant" and not domain_of(op):                # value_float, value_ints, ..
            return self.as_input(tensor_of(next(iter(attributes.values()))))
        domain, n = domain_of(op), outputs_of(schema, attributes)
        told = {name + suffix(name, value): value for name, value in ((k, tensor_of(v)) for k, v in attributes.items())}
        if n > 1:
            told["outputs"] = n
        return self.node("%s::%s" % (domain, op.name) if domain else op.name, inputs, **told)

    def as_input(self, x):
        """A number or a list of them as a constant."""
        x = given_back(x)
        x = torch.tensor(x) if isinstance(x, (bool, int, float, list, tuple)) else x
        return self.g.op("Constant", value_t=x) if isinstance(x, torch.Tensor) else x


def domain_of(op):
    return op.opset.domain


def tensor_of(value):
    """Of a number, a list of them, or a tensor of the onnx package."""
    if hasattr(value, "raw_data"):
        from onnx import numpy_helper
        return torch.from_numpy(numpy_helper.to_array(value).copy())
    return value


def outputs_of(schema, attributes):
    """How many the node has: what the operator always gives, num_outputs of Split."""
    if schema is None or not schema.outputs:
        return 1
    variadic = schema.outputs[-1].option == schema.FormalParameterOption.Variadic
    return attributes.get("num_outputs", 1) if variadic else sum(o.option == schema.FormalParameterOption.Single for o in schema.outputs)


def suffix(name, value):
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    for kinds, letter in (((bool, int), "_i"), (float, "_f"), (str, "_s"), (torch.Tensor, "_t")):
        if isinstance(first, kinds):
            return letter
    raise TypeError("the attribute %s is %r, which no node can have" % (name, value))
