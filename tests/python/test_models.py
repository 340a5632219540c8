"""Real networks, end to end: pt2onnx, onnx.checker, ONNX Runtime, against what torch computed."""
import collections
import json
import math
import re

import onnx
import pytest

import oracle

NETWORKS = oracle.cases("vision") + oracle.cases("export")
TOYS = oracle.cases("toys113") + oracle.cases("toys213")
CNNS = [c for c in NETWORKS if "cnn" in c.tags]
ALL_OPSETS = [9, 11, 13, 21, 26]
EXPECTED = {"alexnet", "vgg11", "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "densenet121", "squeezenet1_0",
            "shufflenet_v2_x1_0", "efficientnet_b0", "regnet_y_400mf", "googlenet", "convnext_tiny", "vit_b_16", "swin_t",
            "residual_cnn", "encoder_layer", "lstm", "gpt"}


def ids(cases):
    return [c.name for c in cases]


def test_the_models_are_there():
    """Without this an empty cache would pass."""
    assert EXPECTED <= {c.about["recipe"] for c in NETWORKS}
    assert len(TOYS) > 150 and len(PROGRAMS) > 60


@pytest.mark.parametrize("case", NETWORKS, ids=ids(NETWORKS))
def test_network(case, out):
    oracle.verify(case, out, dynamic=case.about["dynamic"])
    if case.form in ("traced", "scripted") or "dyn" in case.form:
        batch = onnx.load(str(out), load_external_data=False).graph.input[0].type.tensor_type.shape.dim[0]
        assert batch.dim_param, "the batch is not dynamic"


VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
LONE_NODE_BYTES, TIED_BYTES = 16 << 10, 4096        # what a node is worth, and what may stand in the file twice: src/tidy/weights.c


class Graph:
    """A graph with what leftovers asks of it: who makes a value, who uses it, of what type and shape it is."""

    def __init__(self, graph):
        self.nodes, self.outputs = list(graph.node), {o.name for o in graph.output}
        self.constants = {i.name for i in graph.initializer} - {i.name for i in graph.input}
        self.maker = {o: n for n in graph.node for o in n.output}
        self.types = {v.name: v.type.tensor_type.elem_type for v in [*graph.input, *graph.output, *graph.value_info]}
        self.types.update({i.name: i.data_type for i in graph.initializer})
        self.shapes = {v.name: [d.dim_value if d.HasField("dim_value") else None for d in v.type.tensor_type.shape.dim]
                       for v in [*graph.input, *graph.output, *graph.value_info] if v.type.HasField("tensor_type")}
        self.shapes.update({i.name: list(i.dims) for i in graph.initializer})
        self.uses = collections.Counter([i for n in graph.node for i in n.input] + list(self.outputs))
        for body in (a.g for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH):
            self.uses.update(i for g in oracle.graphs(body) for n in g.node for i in n.input)
            self.uses.update(o.name for g in oracle.graphs(body) for o in g.output)

    def before(self, node, op_types):
        """The node before this one, of those types, which serves nobody else."""
        first = self.maker.get(node.input[0]) if node.input else None
        return first if first is not None and first.op_type in op_types and self.uses[node.input[0]] == 1 else None

    def same(self, node):
        """Does it leave type and shape as they are, all of them known?"""
        a, b = self.shapes.get(node.input[0]), self.shapes.get(node.output[0])
        return a is not None and a == b and None not in a and self.types.get(node.input[0]) == self.types.get(node.output[0])

    def folds(self, node):
        """Is it made of constants that nothing else needs, and small?"""
        given = [i for i in node.input if i]
        shared = any(self.uses[i] > 1 and math.prod(self.shapes[i]) * 4 > TIED_BYTES for i in given if i in self.constants)
        small = math.prod(d or 0 for d in self.shapes.get(node.output[0], [0])) * 8 <= LONE_NODE_BYTES
        return given and set(given) <= self.constants and small and not shared and node.op_type not in ("Identity", "DequantizeLinear")


    def places(self, node):
        """An embedding of known positions that is added to one of words: ONNX Runtime's tools fuse the two with their norm."""
        if node.op_type != "Gather":
            return False
        sums = [n for n in self.nodes if n.op_type == "Add" and node.output[0] in n.input]
        others = [self.maker.get(i) for n in sums for i in n.input if i != node.output[0]]
        return any(o is not None and o.op_type == "Gather" and o.input[1] not in self.constants for o in others)


def leftovers(graph):
    """What a model whose sizes are all known has no use for: nodes that compute sizes, sequences, casts, views and identities that change nothing,
    pairs of views or turns that one would say, what is made of constants, nodes that nobody uses. An Identity may give an input, or a value
    that has a name already, the name of an output."""
    g = Graph(graph)
    for n in g.nodes:
        if n.op_type in ("Shape", "Size") or "Sequence" in n.op_type or "Optional" in n.op_type:
            yield "%s %s" % (n.op_type, n.name)
        if n.op_type in (*VIEWS, "Cast", "Expand") and g.same(n):
            yield "%s %s changes nothing" % (n.op_type, n.name)
        if n.op_type == "Identity" and n.output[0] not in g.outputs:
            yield "%s %s" % (n.op_type, n.name)
        if n.op_type in VIEWS and g.before(n, VIEWS):
            yield "%s %s after another view" % (n.op_type, n.name)
        if n.op_type == "Transpose" and g.before(n, ("Transpose",)):
            yield "%s %s after another" % (n.op_type, n.name)
        if n.op_type == "Add" and g.before(n, ("MatMul",)) and len(g.shapes[n.output[0]]) == 2 and n.input[1] in g.constants:
            yield "%s %s is a Gemm's" % (n.op_type, n.name)
        if g.folds(n) and not g.places(n):
            yield "%s %s of constants" % (n.op_type, n.name)
        if not any(g.uses[o] for o in n.output):
            yield "%s %s has no use" % (n.op_type, n.name)


@pytest.mark.parametrize("body, found", [
    ("y = Neg(x)", None),
    ("s = Shape(x) y = Reshape(x, s)", "Shape"),
    ("a = Identity(x) y = Neg(a)", "Identity"),
    ("a = Neg(x) y = Identity(x)", "Neg  has no use"),
    ("float[2,3] a = Cast<to=1>(x) y = Neg(a)", "Cast  changes nothing"),
    ("float[3,2] a = Reshape(x, turned) y = Reshape(a, shape)", "Reshape  after another view"),
    ("float[1,2,3] a = Unsqueeze(x, zero) y = Squeeze(a, zero)", "Squeeze  after another view"),
    ("float[3,2] a = Transpose(x) y = Transpose(a)", "Transpose  after another"),
    ("float[2] a = Neg(ones) y = Add(x, a)", "Neg  of constants"),
    ("float[2,3] a = MatMul(x, square) y = Add(a, row)", "Add  is a Gemm's"),
    ("float[2,3] a = Reshape(x, shape) y = Neg(a)", "Reshape  changes nothing"),
])
def test_leftovers_are_seen(body, found):
    """A check that finds nothing anywhere would pass everything."""
    nodes = re.sub(r"float\[[\d,]*\] (\w+) =", r"\1 =", body)
    inner = ", ".join(re.findall(r"float\[[\d,]*\] \w+", body))
    graph = onnx.parser.parse_graph("g (float[2,3] x) => (float[2,3] y) <int64[2] turned = {3, 2}, int64[2] shape = {2, 3}, int64[1] zero = {0}, "
                                    "float[3] ones = {1, 1, 1}, float[3,3] square = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[3] row = {1, 2, 3}%s> { %s }"
                                    % (", " + inner if inner else "", nodes))
    said = list(leftovers(graph))
    assert not said if found is None else any(found in line for line in said), said


@pytest.mark.parametrize("case", [c for c in NETWORKS if not c.form.startswith("pt2")], ids=lambda c: c.name)
def test_network_static(case, out):
    oracle.verify(case, out, dynamic=False)
    assert not list(leftovers(onnx.load(str(out), load_external_data=False).graph))


@pytest.mark.parametrize("case", [c for c in NETWORKS + TOYS if c.form.startswith(("pt2", "traced")) and "dyn" not in c.form], ids=lambda c: c.set + "/" + c.name)
def test_static_models_have_no_leftovers(case, out):
    oracle.converted(case.file, out, *case.options(dynamic=False))
    graph = onnx.load(str(out), load_external_data=False).graph
    if all(d.HasField("dim_value") for i in graph.input for d in i.type.tensor_type.shape.dim):
        assert not list(leftovers(graph))


@pytest.mark.parametrize("opset", ALL_OPSETS)
@pytest.mark.parametrize("case", CNNS, ids=ids(CNNS))
def test_cnn_at_opset(case, opset, out):
    oracle.verify(case, out, opset=opset, dynamic=case.about["dynamic"])
    assert onnx.load(str(out), load_external_data=False).opset_import[0].version == opset


@pytest.mark.parametrize("case", CNNS, ids=ids(CNNS))
def test_cnn_at_28_is_clean(case, out):
    oracle.verify(case, out, opset=28, dynamic=case.about["dynamic"])


@pytest.mark.parametrize("case", TOYS, ids=lambda c: c.set + "/" + c.name)
def test_toy(case, out):
    oracle.verify(case, out, dynamic=case.about["runs"] > 1 and case.form in ("traced", "scripted"))


PROGRAMS = oracle.cases("programs")


@pytest.mark.parametrize("case", PROGRAMS, ids=ids(PROGRAMS))
def test_program(case, out):
    """What only torch.export can say; a `.pt2` with dynamic sizes or branches runs at every recorded example."""
    oracle.verify(case, out, dynamic=case.about["dynamic"])
    model = onnx.load(str(out))
    state = json.loads(dict((p.key, p.value) for p in model.metadata_props).get("pt2onnx.state", "{}"))
    told = [s.split(":")[0] for s in case.about["specs"] if "=" not in s.split("[")[0]]         # name=value is no input
    assert [i.name for i in model.graph.input if i.name not in state] == told


BARE = [c for c in oracle.cases("vision") if c.about["recipe"] in ("resnet18", "mobilenet_v2", "densenet121")]


@pytest.mark.parametrize("case", BARE, ids=ids(BARE))
def test_bare(case, out):
    """`pt2onnx resnet18.pt` and nothing else: the rank is assumed, said, and every batch runs."""
    done = oracle.converted(case.file, out)
    assert re.search(r"assumed: .*rank 4", done.stderr), done.stderr
    oracle.check(out)
    oracle.run(out, case.runs(True))


# ---- names ----

NAMED = [c for c in NETWORKS if c.about["recipe"] in ("resnet18", "mobilenet_v3_small", "vit_b_16", "residual_cnn", "gpt", "lstm", "encoder_layer")]


@pytest.mark.parametrize("case", NAMED, ids=ids(NAMED))
def test_names(case, out):
    oracle.converted(case.file, out, *case.options(case.about["dynamic"]))
    model = onnx.load(str(out), load_external_data=False)
    state, modules = set(case.about["state"]), {m.replace(".", "/") for m in case.about["modules"]}
    roots = state | {m + ".bias" for m in case.about["modules"]}            # a convolution gets its batch norm's bias
    names = [t.name for g in oracle.graphs(model.graph) for t in g.initializer]
    for name in names:      # what the program itself makes (a mask, zeros) is named after the node that reads it
        assert name in state or name.startswith("/") or any(name.startswith(r + ".") for r in roots), "%s is not a state_dict name or derived from one" % name
    for w in case.about["weights"]:
        own = w.replace("_reverse", "")                 # ONNX's LSTM has both directions in one tensor
        assert any(name == own or name.startswith(own + ".") for name in names), "the weight %s has lost its name" % w
    inside = 0
    for g in oracle.graphs(model.graph):
        for n in g.node:
            assert n.name, "a %s node has no name" % n.op_type
            path = n.name.strip("/").rpartition("/")[0]
            inside += path in modules
            assert not path or path in modules, "%s: %s is not a module" % (n.name, path)
    fused = case.name == "encoder_layer.traced"         # one operator of the root module
    assert inside or fused, "no node stands in a module"


@pytest.mark.parametrize("case", NAMED, ids=ids(NAMED))
def test_every_value_has_type_and_shape(case, out):
    oracle.converted(case.file, out, *case.options(case.about["dynamic"]))
    model = onnx.load(str(out), load_external_data=False)
    for g in oracle.graphs(model.graph):
        typed = {v.name for v in list(g.input) + list(g.output) + list(g.value_info)
                 if v.type.tensor_type.elem_type and v.type.tensor_type.HasField("shape")}
        typed |= {t.name for t in g.initializer}
        for n in g.node:
            for name in n.output:
                assert not name or name in typed, "%s of %s has no type or shape" % (name, n.name)


@pytest.mark.parametrize("name", ["resnet18.scripted", "residual_cnn.pt2", "residual_cnn.traced"])
def test_nodes_carry_their_source(name, out, small):
    case = small(name)
    oracle.converted(case.file, out, *case.options(False))
    model = onnx.load(str(out), load_external_data=False)
    convs = [n for n in model.graph.node if n.op_type == "Conv"]
    assert convs
    for n in convs:
        values = " ".join(p.value for p in n.metadata_props)
        assert re.search(r"\.py:\d+", values), "%s says no file and line: %r" % (n.name, values)
