"""What a model holds does not decide what it computes: each network of test_batches gives one graph, node for node and name for name,
whether its parameters and statistics are the ones it begins with (a norm's 1 and 0), random, or all 0."""
import warnings

import onnx
import pytest
import torch

from scripted import oracle
from test_batches import NETWORKS, inputs, save, specs

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


@pytest.mark.parametrize("make, form, shapes, ints, least", NETWORKS)
def test_one_graph(make, form, shapes, ints, least, tmp_path):
    seen = {}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fill, change in FILLS.items():
            torch.manual_seed(1)
            model, path, out = make().eval(), str(tmp_path / (fill + (".pt2" if form == "exported" else ".pt"))), tmp_path / (fill + ".onnx")
            for t in [*model.parameters(), *model.buffers()]:
                if t.is_floating_point():
                    change(t)
            example = inputs(2, shapes, ints)
            save(model, form, example, path)
            oracle.converted(path, out, *specs(model, form, example))
            seen[fill] = structure(out)
    for fill in FILLS:
        assert seen[fill] == seen["begun"], fill
