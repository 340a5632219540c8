"""findings.py - what a comparison has found, as an object and as text."""
import os
import re

from .matching import allowed
from .prints import Print, difference, differences, largest, noise, numbers, scale_of_all

GROWTH = 12                             # lines of how the error grows
MODULES = 40
SHOWN = 4                               # elements of either value
ITEM = re.compile(r"\[\d+\]$")
IN_TRAINING = "torch ran in training mode (dropout, statistics of the batch), which a file seldom has: model.eval() is the mode that exports take by default"
LEFT_OUT = "only the first %d are compared: torch gives %d tensors, the model %d"


def short(line):
    """FILE:LINE as one would type it here."""
    here = os.path.join(os.getcwd(), "")
    return line[len(here):] if line.startswith(here) else line


class OutputError:
    """One output: how far ONNX Runtime is from torch without and with its optimiser, and torch in float32 from itself in float64. All elements count."""

    def __init__(self, name, want, plain, fused, exact):
        """Tensors: torch's, those of ONNX Runtime as written and in a default session, and torch's in float64 or None."""
        self.name, self.tensor, self.want, self.got = name, want, Print(want), Print(plain)
        self.want.scale = scale_of_all(want, self.want.scale)
        self.same_shape = plain.shape == want.shape
        self.noise = largest(lambda a, b: noise(self.want, a, b), want, exact) if exact is not None and exact.shape == want.shape else None
        self.bound, self.alone = allowed(self.want, self.noise), allowed(self.want, None)
        self.plain, self.fused = self.error(plain), self.error(fused)
        self.worst = self.worst_of(plain) if self.same_shape and not self.plain_agrees else []

    def error(self, got):
        return largest(lambda a, b: difference(a, b, self.want.scale), self.tensor, got) if got.shape == self.tensor.shape else float("inf")

    def worst_of(self, got):
        """[(ONNX Runtime's, torch's)] of the elements that are farthest apart."""
        a, b = numbers(self.tensor.reshape(-1)), numbers(got.reshape(-1))
        return [(b[i], a[i]) for i in (-differences(a, b, self.want.scale)).argsort(kind="stable")[:SHOWN]]

    @property
    def output(self):
        """The model's output, which for an item of a sequence is the whole of it."""
        return ITEM.sub("", self.name)

    @property
    def plain_agrees(self):
        return self.plain <= self.bound

    @property
    def optimiser(self):
        """Does the model agree as it is written, but not in a default session?"""
        return self.plain_agrees and self.fused > self.bound

    @property
    def ok(self):
        return self.plain_agrees and self.fused <= self.bound

    @property
    def is_float32(self):
        """Is it farther from torch than rounding explains, but no farther than torch is from itself in float64?"""
        return self.noise is not None and self.same_shape and self.alone < max(self.plain, self.fused) <= max(self.bound, 4 * self.noise)

    def __str__(self):
        in_float64 = "" if self.noise is None else ", torch in float64 %.2g" % self.noise
        if not self.same_shape:
            return "%s: %s%s, torch gives %s%s" % (self.name, self.got.dtype, list(self.got.shape), self.want.dtype, list(self.want.shape))
        return "%s: as written %.2g, default session %.2g%s (values up to %.3g)" % (self.name, self.plain, self.fused, in_float64, self.want.scale)


class Place:
    """Where the two part: `index` and `node` of the graph, `op`, `module`, `line`; `torch_op`; `got` and `want` are elements of both; `error`, also `relative`."""

    def __init__(self, match, node, outputs):
        self.index, self.node, self.op, self.module, self.line = node.index, node.name, node.op, node.module, node.line
        self.torch_op, self.got, self.want, self.error, self.relative, self.shape, self.at = "", [], [], None, None, None, []
        for name in node.outputs:
            found = match.error(name)
            if found:
                self.values(match, name, *found)
                break
        wrong = next((o for o in outputs if o.worst and o.output in node.outputs), None)
        if wrong:
            self.of_output(wrong)

    def of_output(self, output):
        """All elements of an output are known."""
        self.torch_op, self.shape = self.torch_op or "output", output.want.shape
        self.error, self.relative = output.plain, output.plain / max(output.want.scale, 1e-30)
        self.got, self.want = map(list, zip(*output.worst))

    def values(self, match, name, twin, error, relative):
        value, print_ = match.table.values[twin], match.prints[name]
        worst = (-differences(value.print.sample, print_.sample, value.print.scale)).argsort(kind="stable")[:SHOWN]
        self.torch_op, self.error, self.relative, self.shape = value.name, error, relative, print_.shape
        self.line, self.module = self.line or value.line, self.module or value.module
        self.got, self.want = [print_.sample[i] for i in worst], [value.print.sample[i] for i in worst]

    def __str__(self):
        lines = ["module  %s" % (self.module or "(the model itself)"), "line    %s" % (short(self.line) or "(unknown)"), "node    %s (%s)" % (self.node, self.op)]
        if self.torch_op:
            lines += ["torch   %s%s: %s" % (self.torch_op, list(self.shape), "  ".join("%.7g" % x for x in self.want)),
                      "onnx    %s  (%.2g apart, %.2g of the largest)" % ("  ".join("%.7g" % x for x in self.got), self.error, self.relative)]
        return "\n".join(lines)


class Comparison:
    """What compare() gives. `ok`; `why`: "same", "part", "optimiser", "float32" or "unknown"; `first`: the Place, or None; `outputs`;
    `growth`: [(node, module, line, error, relative)] from the first place on; `modules`: {name: [error, seconds in torch, in ONNX Runtime]};
    `in_training`: did torch run a module in training mode against a file that it was given? `counts`: how many tensors torch gives, and the model."""

    def __init__(self, path, outputs, counts, match, level, torch_seconds, onnx_seconds):
        self.path, self.outputs, self.counts, self.level, self.in_training = path, outputs, counts, level, False
        self.ok = all(o.ok for o in outputs)
        self.first = Place(match, match.first, outputs) if match.first else None
        self.growth = list(grown(match)) if match.first else []
        self.modules = modules_of(match, torch_seconds, onnx_seconds)
        self.confirmed, self.nodes = sum(s == "same" for s in match.state.values()), len(match.state)
        self.errors = [(n.index, e[2]) for n in match.model.nodes for e in [match.error(n.outputs[0]) if n.outputs else None] if e]

    @property
    def why(self):
        if self.ok:
            return "float32" if any(o.is_float32 for o in self.outputs) else "same"
        if any(o.optimiser for o in self.outputs) and all(o.plain_agrees for o in self.outputs):
            return "optimiser"
        if all(o.plain_agrees or o.is_float32 for o in self.outputs):
            return "float32"
        return "part" if self.first else "unknown"

    @property
    def verdict(self):
        """One sentence."""
        return {"same": "The model in ONNX Runtime gives what torch gives.",
                "part": "They part in the model as it is written.",
                "optimiser": "The model is right as it is written; ONNX Runtime's optimiser changes it (level %s). "
                             "graph_optimization_level or disabled_optimizers of its SessionOptions switch that off." % self.level,
                "float32": "It is float32 itself: torch in float64 differs from torch in float32 as much.",
                "unknown": "An output differs, but every node that leads to it agrees with torch."}[self.why]

    @property
    def hint(self):
        """What else there is to know: that outputs are left out; what may be the reason, outside of the model. Or nothing."""
        left_out = len(set(self.counts)) > 1
        hints = [LEFT_OUT % (len(self.outputs), *self.counts)] * left_out + [IN_TRAINING] * (self.in_training and not self.ok)
        return "\n  ".join(hints)

    def __str__(self):
        parts = ["%s: %s" % (self.path, self.verdict), "\n".join("  %s" % o for o in self.outputs),
                 "  %d of %d values are also torch's" % (self.confirmed, self.nodes), self.hint and "  " + self.hint]
        if self.first and self.why != "same":
            parts += ["the first place where they part", indented(self.first)]
            if len(self.growth) > 1:
                parts += ["from there on (error, of the largest)"] + ["  %8.2g %8.2g  %s  %s" % (e, r, node, short(line)) for node, module, line, e, r in thinned(self.growth)]
        parts.append(self.table())
        return "\n".join(p for p in parts if p)

    def table(self):
        rows = [row for row in self.modules.items() if row[0]][:MODULES]
        if not rows:
            return ""
        head = "modules%serror       torch        onnx" % (" " * 34)
        return "\n".join([head] + ["  %-34s %9s %9s %11s" % (name[-34:], number(e, "%.2g"), ms(t), ms(o)) for name, (e, t, o) in rows] +
                         (["  and %d more: in the page (--html)" % (len(self.modules) - MODULES)] if len(self.modules) > MODULES else []))

    def save(self, path):
        """Write an HTML page that needs nothing else."""
        from .page import page
        with open(path, "w", encoding="utf-8") as f:
            f.write(page(self))


def indented(value):
    return "\n".join("  " + line for line in str(value).split("\n"))


def number(x, form):
    return "-" if x is None else form % x


def ms(seconds):
    return "-" if seconds is None else "%.2f ms" % (1e3 * seconds)


def thinned(rows):
    """At most GROWTH of them, the first and the last among them."""
    if len(rows) <= GROWTH:
        return rows
    return [rows[round(i * (len(rows) - 1) / (GROWTH - 1))] for i in range(GROWTH)]


def grown(match):
    """The suspects from the first place on, with their errors."""
    for index in match.suspects:
        node = match.model.nodes[index]
        found = match.error(node.outputs[0]) if node.outputs else None
        if found and index >= match.first.index:
            yield node.name, node.module, node.line, found[1], found[2]


def modules_of(match, torch_seconds, onnx_seconds):
    """{module: [relative error of its last value, seconds in torch, seconds in ONNX Runtime]} in the order of the nodes."""
    found = {}
    for node in match.model.nodes:
        row = found.setdefault(node.module, [None, None, None])
        error = match.error(node.outputs[0]) if node.outputs else None
        row[0] = error[2] if error else row[0]
        if onnx_seconds and node.name in onnx_seconds:
            row[2] = (row[2] or 0.0) + onnx_seconds[node.name]
    for name, seconds in (torch_seconds or {}).items():
        if name in found:
            found[name][1] = seconds
    return found
