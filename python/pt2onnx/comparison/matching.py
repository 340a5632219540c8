"""matching.py - which value of ONNX Runtime is which of torch, and where the two part.

A value is confirmed where torch has one with the same print, first of all on the same line; one that says little (few numbers, one
number everywhere) only by a value of the same line or module. What reaches a wrong output through values that nothing confirms is suspect, and the first suspect whose
own inputs are all confirmed is where the two part."""
import numpy

from ..rounding import ROUNDED
from .prints import difference
from .torch_run import place

SAME, SIZES, UNKNOWN = "same", "sizes", "unknown"
NOISE = 16                              # times what float32 itself differs from float64
FLOOR = 2e-6                            # of the value's scale, where float64 is no help
FEW = 4                                 # elements that are looked at first
ALONE = 1e-4                            # of the scale, where there is no float64


class Table:
    """torch's values, by their number of elements, to be asked for one that agrees."""

    def __init__(self, values):
        """values: [torch_run.Value], with `noise` where float64 has run."""
        self.values = values
        self.by_count, self.by_place, self.by_module = {}, {}, {}
        for i, v in enumerate(values):
            self.by_count.setdefault(v.print.count, []).append(i)
            self.by_place.setdefault(v.place, {})[i] = True
            self.by_module.setdefault(v.module, []).append(i)
        self.by_count = {c: numpy.array(found) for c, found in self.by_count.items()}
        self.samples = {c: numpy.stack([values[i].print.sample for i in found]) for c, found in self.by_count.items()}
        self.scales = {c: numpy.array([[values[i].print.scale] for i in found]) for c, found in self.by_count.items()}
        self.bounds = {c: numpy.array([allowed(values[i].print, values[i].noise) for i in found]) for c, found in self.by_count.items()}

    def in_order(self, print_):
        """Indices of torch's values that agree in the elements. A few elements rule out nearly all of the others."""
        found = self.by_count.get(print_.count)
        if found is None:
            return []
        samples, scales, bounds = self.samples[print_.count], self.scales[print_.count], self.bounds[print_.count]
        likely = numpy.flatnonzero(difference(samples[:, -FEW:], print_.sample[-FEW:], scales) <= bounds)
        return list(found[likely[difference(samples[likely], print_.sample, scales[likely]) <= bounds[likely]]])

    def same(self, node, print_):
        """The index of a value of torch that agrees, or None. Of several, one of the same place."""
        agree = self.in_order(print_) or [i for i in self.beside(node) if transposed(self.values[i], print_)]
        if not agree:
            return None
        here = self.by_place.get(place(node), ())
        found = next((i for i in agree if i in here), None)
        if found is not None:
            return found
        # Where torch has a value of this shape on this very line, another line's is no evidence.
        if any(self.values[i].print.shape == print_.shape for i in here):
            return None
        found = next((i for i in agree if not self.values[i].line or self.values[i].module == node.module), None)
        return agree[0] if found is None and not print_.says_little else found

    def beside(self, node):
        """Indices of torch's values of the node's line, or else of its module; all, where torch's places are not known."""
        return self.by_place.get(place(node)) or self.by_module.get(node.module) or (range(len(self.values)) if len(self.by_place) == 1 else [])

    def nearest(self, node, print_):
        """The index of torch's value that most likely is meant by one that does not agree, or None: the nearest of the same place and shape."""
        near = [i for i in self.beside(node) if self.values[i].print.shape == print_.shape]
        return min(near, key=lambda i: from_torch(self.values[i].print, print_), default=None)


def from_torch(want, got):
    """The largest difference of the elements of two prints."""
    return float(difference(want.sample, got.sample, want.scale))


def allowed(want, noise):
    """How far a value may be from torch's, of which `want` is the print, and still be the same. noise: what float64 tells, or None."""
    if want.dtype.startswith(("int", "uint", "bool")):
        return 0.0
    small = ROUNDED.get(want.dtype, 0.0) * want.scale
    if noise is None:
        return max(ALONE * want.scale, small)
    return max(NOISE * noise + FLOOR * want.scale, small)


def transposed(value, print_):
    """Do the sums agree over all elements, though not the elements in their order?"""
    a, b = value.print.sums, print_.sums
    if a is None or b is None or print_.says_little or value.print.dtype != print_.dtype or value.print.count != print_.count:
        return False
    return bool(numpy.all(abs(a - b) <= max(allowed(value.print, value.noise), 1e-12) / 4)) and value.print.shape != print_.shape


class Match:
    """The nodes of a model against torch's values: `state` and `twin` of each value, `prints`, and `first`, the node where they part."""

    def __init__(self, model, table):
        self.model, self.table = model, table
        self.state, self.twin, self.prints = {}, {}, {}
        self.first, self.errors = None, {}

    def add(self, name, print_):
        node = self.model.made_by[name]
        self.prints[name] = print_
        twin = self.table.same(node, print_)
        if twin is not None:
            self.state[name], self.twin[name] = SAME, twin
        else:
            self.state[name] = SIZES if self.computes_sizes(node, print_) else UNKNOWN

    def computes_sizes(self, node, print_):
        """Integers that stem from sizes and constants alone: torch has numbers there, no tensors."""
        if node.op in ("Shape", "Size", "Constant"):
            return True
        return print_.dtype in ("int64", "int32", "bool") and len(print_.shape) < 2 and \
            all(self.state.get(i, SIZES if i not in self.model.feeds else UNKNOWN) == SIZES for i in node.inputs)

    def part(self, wrong):
        """Sets `first` to the node where the way to the wrong outputs begins; None where no node is suspect."""
        suspects, todo = set(), [self.model.made_by.get(o) for o in wrong]
        while todo:
            node = todo.pop()
            if node is None or node.index in suspects or not self.suspect(node, wrong):
                continue
            suspects.add(node.index)
            todo += [self.model.made_by.get(i) for i in node.inputs]
        self.suspects = sorted(suspects)
        begin = [n for n in self.suspects if not any(self.model.made_by[i].index in suspects for i in self.model.nodes[n].inputs if i in self.model.made_by)]
        self.first = self.model.nodes[begin[0]] if begin else None

    def suspect(self, node, wrong):
        """Is none of what this node gives confirmed? A wrong output's own node is one, whatever else has its numbers."""
        if any(o in wrong for o in node.outputs):
            return True
        return all(self.state.get(o, UNKNOWN) == UNKNOWN for o in node.outputs)

    def error(self, name):
        """(index of torch's value, largest difference, the same relative to the scale) of one value, or None."""
        if name not in self.errors:
            self.errors[name] = self.error_of(name, self.prints[name]) if name in self.prints else None
        return self.errors[name]

    def error_of(self, name, print_):
        twin = self.twin.get(name)
        if twin is None:
            twin = self.table.nearest(self.model.made_by[name], print_)
        if twin is None:
            return None
        far = from_torch(self.table.values[twin].print, print_)
        return twin, far, far / max(self.table.values[twin].print.scale, 1e-30)
