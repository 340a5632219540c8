"""programs.py - an ExportedProgram on its way to the reader of .pt2: torch.export.save, and what it needs before. The program stays as it was."""
import gc

import torch

from .turns import later
from .versions import program_writer


def save(program, path, names):
    """names: of the operators that functions of the caller translate.

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
    torch.export.save(program, path)


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
