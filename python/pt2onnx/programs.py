"""programs.py - an ExportedProgram on its way to the reader of .pt2: torch.export.save, and what it needs before. The program stays as it was."""
import copy
import dataclasses
import gc

import torch
from torch.utils import _pytree

from .turns import later
from .versions import children_of, program_writer


def save(program, path, names, with_example):
    """names: of the operators that functions of the caller translate. with_example: may the file have the example inputs? The reader has no use for
    them, and they may be of a class that Python does not write.

    torch.export.save without what takes more than half of its time: a test whether the program has a canonical form, which is then dropped, and
    Python's search for garbage, which goes through all of torch while records of the graph pile up."""
    complete(program, names)
    writer = program_writer()
    if writer:
        later(setattr, writer, "canonicalize", writer.canonicalize)
        writer.canonicalize = lambda program, constants=None: program
    if gc.isenabled():
        later(gc.enable)
        gc.disable()
    torch.export.save(written(program, with_example), path)


def complete(program, names):
    """Calls of these operators with all of their arguments, as a trace has them: the file holds those that were given, and pt2onnx, which does
    not know the operator, hands them on one after the other."""
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    for node in [n for graph in graphs for n in graph.nodes]:
        schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        if schema is not None and schema.name in names:
            later(setattr, node, "args", node.args)
            later(setattr, node, "kwargs", node.kwargs)
            node.args, node.kwargs = all_arguments(schema, node.args, node.kwargs)


def all_arguments(schema, args, kwargs):
    """(positional, named) with the defaults of an operator."""
    places = [a for a in schema.arguments if not a.kwarg_only]
    positional = list(args) + [kwargs.get(a.name, a.default_value) for a in places[len(args):]]
    return tuple(positional), {a.name: kwargs.get(a.name, a.default_value) for a in schema.arguments if a.kwarg_only}


# ---- containers of arguments and results ----

def written(program, with_example):
    """The program as torch.export.save takes it: it refuses named tuples, torch.return_types and dataclasses that have no name in a file."""
    found = copy.copy(program)
    for tensors in ("_state_dict", "_constants"):
        setattr(found, tensors, {name: in_memory(t) for name, t in getattr(program, tensors, {}).items()})
    found._module_call_graph = [dataclasses.replace(call, signature=call.signature and with_plain_containers(call.signature))
                                for call in program.module_call_graph]
    if not with_example or found.call_spec.in_spec != program.call_spec.in_spec:
        found._example_inputs = None
    return found


def in_memory(value):
    """torch.export.save writes the memory of a tensor, which is not what it holds where it is the conjugate, or the negative, of what is there."""
    if not isinstance(value, torch.Tensor) or not value.is_conj() and not value.is_neg():
        return value
    t = value.detach().resolve_conj().resolve_neg()
    return torch.nn.Parameter(t, value.requires_grad) if isinstance(value, torch.nn.Parameter) else t


def with_plain_containers(signature):
    return dataclasses.replace(signature, in_spec=plain(signature.in_spec), out_spec=plain(signature.out_spec))


def plain(spec):
    """A container that no file can name as a dict of its fields, or a tuple where these have no names: torch.return_types.max of two tensors is
    {"values": .., "indices": ..}, as its fields are the names of inputs and outputs."""
    if spec.type is None:                               # a tensor or number
        return spec
    children = [plain(child) for child in children_of(spec)]
    if can_be_named(spec):
        return _pytree.TreeSpec(spec.type, spec.context, children)
    names = names_in(spec)
    return _pytree.TreeSpec(dict, names, children) if names else _pytree.TreeSpec(tuple, None, children)


def can_be_named(spec):
    try:
        _pytree.treespec_dumps(_pytree.TreeSpec(spec.type, spec.context, []))
    except Exception:                                   # torch's, or of a function that a user has registered
        return False
    return True


def names_in(spec):
    """The names of a container's items: the fields of a named tuple, what the context of a dataclass ([names, names of those that are None]) or of
    another container has, the fields of one of torch.return_types. None where nothing tells them."""
    context = spec.context
    first = context[0] if isinstance(context, (list, tuple)) and context else None
    for names in (getattr(context, "_fields", None), first, context, getattr(spec.type, "__match_args__", None)):
        if isinstance(names, (list, tuple)) and len(names) == len(children_of(spec)) and all(isinstance(name, str) for name in names):
            return list(names)
    return None
