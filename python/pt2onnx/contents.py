"""contents.py - which inputs torch.onnx keeps in a model: those of which an output needs more than type and size.

torch.onnx computes what a model makes of sizes alone (zeros_like of an input), and leaves out the input then, but not where a node
other than a factory asks for the size (view_as). pt2onnx computes more, so it is told what to keep (keep_inputs)."""
import operator

FACTS = ("aten::size", "aten::dim", "aten::len", "aten::numel", "prim::shape", "aten::_dim_arange", "prim::device", "prim::dtype", "prim::layout",
         "aten::is_floating_point", "aten::is_complex")
# of the first argument: its type and size
FRESH = ("aten::new_empty", "aten::new_full", "aten::new_ones", "aten::new_zeros", "aten::zeros_like", "aten::ones_like", "aten::full_like",
         "aten::empty_like", "aten::zero_", "aten::fill_", "aten::set_")
LIST_WRITES = ("aten::append", "aten::insert", "aten::extend", "aten::pop", "aten::_set_item")
COMPARED = {"aten::gt": operator.gt, "aten::ge": operator.ge, "aten::lt": operator.lt, "aten::le": operator.le, "aten::eq": operator.eq,
            "aten::ne": operator.ne}
PACKS = {"prim::ListUnpack": "prim::ListConstruct", "prim::TupleUnpack": "prim::TupleConstruct"}


def inputs_with_contents(graph, sizes=None):
    """Their names in the graph. sizes: {input: its sizes} of those whose sizes are all told."""
    flow = Flow(sizes or {})
    flow.block(graph, whole=True)
    todo, seen = [flow.name(v) for v in graph.outputs()], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += flow.rests_on.get(name, ())
    return [v.debugName() for v in graph.inputs() if v.debugName() in seen]


class Flow:
    """What each value rests on. One that a node fills anew (fill_) is another value from there on."""

    def __init__(self, sizes):
        self.sizes, self.rests_on, self.now, self.n_filled = sizes, {}, {}, 0

    def name(self, v):
        return self.now.get(v.debugName(), v.debugName())

    def block(self, block, whole=False):
        """whole: what is filled here is filled in every run."""
        for n in block.nodes():
            self.node(n, whole)

    def node(self, n, whole):
        inputs, outputs = list(n.inputs()), list(n.outputs())
        taken = self.arm(n)
        if taken is not None:
            self.block(taken, whole)
            for mine, theirs in zip(outputs, taken.outputs()):
                self.add([mine], [self.name(theirs)])
            return
        for b in n.blocks():
            self.block(b)
        if self.unpacks(n):
            for mine, theirs in zip(outputs, inputs[0].node().inputs()):
                self.add([mine], [self.name(theirs)])
            return
        needed = [self.name(v) for v in (inputs if n.kind().endswith("_like") and self.is_scalar(inputs[0]) else needed_by(n))]
        changed = inputs[:1] if writes(n) else []
        if whole and changed and is_fresh(n):
            self.n_filled += 1
            self.now[changed[0].debugName()] = "%s after %d" % (changed[0].debugName(), self.n_filled)
        self.add(outputs + [v for b in n.blocks() for v in b.inputs()] + changed, needed)

    def add(self, made, needed):
        for v in made:
            self.rests_on.setdefault(self.name(v), []).extend(needed)

    def is_scalar(self, v):
        """torch.onnx does not compute what is made like one."""
        sizes = self.sizes.get(v.debugName())
        if sizes is None and v.type().kind() == "TensorType":
            sizes = v.type().sizes()
        return sizes is not None and len(sizes) == 0

    def unpacks(self, n):
        """A tuple or list taken apart as it was put together."""
        packed = next(n.inputs()).node() if n.kind() in PACKS else None
        return packed is not None and packed.kind() == PACKS[n.kind()] and len(list(packed.inputs())) == n.outputsSize() and \
            len(packed.output().uses()) == 1

    def arm(self, n):
        """The block of an If whose condition rests on sizes that are told."""
        truth = self.value(next(n.inputs())) if n.kind() == "prim::If" else None
        return None if truth is None else list(n.blocks())[0 if truth else 1]

    def value(self, v):
        """A number that sizes tell, or None."""
        n = v.node()
        inputs = list(n.inputs())
        if n.kind() == "prim::Constant":
            value = v.toIValue()
            return value if isinstance(value, int) else None
        if n.kind() == "aten::dim" or n.kind() == "aten::size" and len(inputs) == 2:
            sizes = self.sizes.get(inputs[0].debugName())
            axis = self.value(inputs[1]) if n.kind() == "aten::size" else 0
            if sizes is None or axis is None or self.name(inputs[0]) != inputs[0].debugName():
                return None
            return sizes[axis] if n.kind() == "aten::size" else len(sizes)
        known = [self.value(i) for i in inputs] if n.kind() in COMPARED else [None]
        return None if None in known else COMPARED[n.kind()](*known)


def writes(n):
    """Does this node change its first argument?"""
    return n.kind() in LIST_WRITES or n.kind().endswith("_") and not n.kind().endswith("__")


def is_fresh(n):
    """Does nothing of the first argument show in the result but its type and size?"""
    return n.kind() in FRESH and (n.kind() != "aten::fill_" or list(n.inputs())[1].node().kind() == "prim::Constant")


def folds(n):
    """torch.onnx computes where ones are, and nothing else of tensors that rest on a size."""
    return n.kind() == "aten::nonzero" and next(n.inputs()).node().kind() in ("aten::ones_like", "aten::zeros_like")


def needed_by(n):
    """What a node takes, and what its blocks give."""
    inputs = list(n.inputs())
    if n.kind() in FACTS and inputs[0].type().kind() != "ListType" or folds(n):
        return []
    if n.kind() == "aten::type_as" or n.kind() == "aten::to" and inputs[1].type().kind() == "TensorType":
        inputs = inputs[:1]                             # the other's type
    return inputs[1 if is_fresh(n) else 0:] + [v for b in n.blocks() for v in b.outputs()]
