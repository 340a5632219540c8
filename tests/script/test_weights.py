"""What a model holds does not decide what it computes: each network of test_batches gives one graph, node for node and name for name,
whether its parameters and statistics are the ones it begins with (a norm's 1 and 0), random, or all 0."""
import warnings

import onnx
import pytest
import torch

from scripted import oracle
from test_batches import NETWORKS, exported, inputs, save, specs

FILLS = {
    "begun": lambda t: t,
    "random": lambda t: t.uniform_(0.5, 1.5),
    "zeros": lambda t: t.zero_(),
}


def attributes(node):
    return sorted(a.SerializeToString(deterministic=True) for a in node.attribute if not a.HasField("t") and not a.HasField("g"))


def structure(path):
    """Everything of a model but the contents of its initializers."""
    model = onnx.load(str(path))
    nodes = [(n.domain, n.op_type, n.name, list(n.input), list(n.output), attributes(n)) for g in oracle.graphs(model.graph) for n in g.node]
    weights = [(w.name, w.data_type, list(w.dims)) for w in model.graph.initializer]
    ends = [v.SerializeToString(deterministic=True) for v in [*model.graph.input, *model.graph.output]]
    return nodes, weights, ends, sorted((p.key, p.value) for p in model.metadata_props)


def filled(model, change):
    for t in [*model.parameters(), *model.buffers()]:
        if t.is_floating_point():
            change(t)
    return model


def save_each(make, form, example, folder):
    """(fill, model, path) of each fill. What is exported is exported once, for that takes seconds: torch.export looks at no weight, and the
    program holds the module's own tensors."""
    model = make().eval()
    program = exported(model, example) if form == "exported" else None
    for fill, change in FILLS.items():
        torch.manual_seed(1)
        if form == "exported":
            path = str(folder / (fill + ".pt2"))
            torch.export.save(own_tensors(program, filled(model, change)), path)
        else:
            path, model = str(folder / (fill + ".pt")), filled(make().eval(), change)
            save(model, form, example, path)
        yield fill, model, path


def own_tensors(program, model):
    """The program, which what was done to the module's tensors was done to."""
    held = {t.data_ptr() for t in [*program.state_dict.values(), *program.constants.values()] if isinstance(t, torch.Tensor)}
    assert {t.data_ptr() for t in [*model.parameters(), *model.buffers()]} <= held
    return program


@pytest.mark.parametrize("make, form, shapes, ints", NETWORKS)
def test_one_graph(make, form, shapes, ints, tmp_path):
    seen = {}
    torch.manual_seed(1)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = inputs(2, shapes, ints)
        for fill, model, path in save_each(make, form, example, tmp_path):
            out = tmp_path / (fill + ".onnx")
            oracle.converted(path, out, *specs(model, form, example))
            seen[fill] = structure(out)
    for fill in FILLS:
        assert seen[fill] == seen["begun"], fill
