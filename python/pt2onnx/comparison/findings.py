"""findings.py - what a comparison has found, as an object and as text."""
import os
import re

from .prints import difference

GROWTH = 12                             # lines of how the error grows
MODULES = 40
SHOWN = 4                               # elements of either value
ITEM = re.compile(r"\[\d+\]$")
IN_TRAINING = "torch ran in training mode (dropout, statistics of the batch), which a file seldom has: model.eval() is the mode that exports take by default"


def short(line):
    """FILE:LINE as one would type it here."""
    here = os.path.join(os.getcwd(), "")
    return line[len(here):] if line.startswith(here) else line


class OutputError:
    """One output: how far ONNX Runtime is from torch without and with its optimiser, and torch in float32 from itself in float64."""

    def __init__(self, name, want, plain, fused, bound, noise):
        self.name, self.want, self.got, self.bound, self.noise = name, want, plain, bound, noise
        self.same_shape = plain.shape == want.shape
        self.plain, self.fused = (float(difference(p.sample, want.sample)) if p.shape == want.shape else float("inf") for p in (plain, fused))

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

    def __str__(self):
        noise = "" if self.noise is None else ", torch in float64 %.2g" % self.noise
        if not self.same_shape:
            return "%s: %s%s, torch gives %s%s" % (self.name, self.got.dtype, list(self.got.shape), self.want.dtype, list(self.want.shape))
        return "%s: as written %.2g, default session %.2g%s (values up to %.3g)" % (self.name, self.plain, self.fused, noise, self.want.scale)


class Place:
    """Where the two part: `index` and `node` of the graph, `op`, `module`, `line`; `torch_op`; `got` and `want` are elements of both; `error`, also `relative`."""

    def __init__(self, match, node):
        self.index, self.node, self.op, self.module, self.line = node.index, node.name, node.op, node.module, node.line
        self.torch_op, self.got, self.want, self.error, self.relative, self.shape, self.at = "", [], [], None, None, None, []
        for name in node.outputs:
            found = match.error(name)
            if found:
                self.values(match, name, *found)
                return

    def values(self, match, name, twin, error, relative):
        value, print_ = match.table.values[twin], match.prints[name]
        worst = sorted(range(len(print_.sample)), key=lambda i: -difference(value.print.sample[i:i + 1], print_.sample[i:i + 1]))[:SHOWN]
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
    `in_training`: did torch run a module in training mode against a file that it was given?"""

    def __init__(self, path, outputs, match, level, torch_seconds, onnx_seconds):
        self.path, self.outputs, self.level, self.in_training = path, outputs, level, False
        self.ok = all(o.ok for o in outputs)
        self.first = Place(match, match.first) if match.first else None
        self.growth = list(grown(match)) if match.first else []
        self.modules = modules_of(match, torch_seconds, onnx_seconds)
        self.confirmed, self.nodes = sum(s == "same" for s in match.state.values()), len(match.state)
        self.errors = [(n.index, e[2]) for n in match.model.nodes for e in [match.error(n.outputs[0]) if n.outputs else None] if e]

    @property
    def why(self):
        if self.ok:
            return "same"
        if any(o.optimiser for o in self.outputs) and all(o.plain_agrees for o in self.outputs):
            return "optimiser"
        if all(o.plain_agrees or self.is_float32(o) for o in self.outputs):
            return "float32"
        return "part" if self.first else "unknown"

    @staticmethod
    def is_float32(output):
        return output.noise is not None and output.same_shape and output.plain <= 4 * output.noise

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
        """What may be the reason, outside of the model, or nothing."""
        return IN_TRAINING if self.in_training and not self.ok else ""

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
