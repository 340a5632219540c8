"""oracle.py - is an ONNX file right? Recorded torch outputs, ONNX Runtime, onnx.checker. No torch here.

A model of the cache (tests/models) is a Case: its saved program, its runs, what is known about it.
"""
import glob
import importlib.util
import json
import os
import subprocess

import numpy
import onnx
import onnxruntime

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache")))
MODELS = os.environ.get("PT2ONNX_MODELS", os.path.join(CACHE, "models"))
BUILD = os.environ.get("PT2ONNX_BUILD", os.path.join(TOP, "build"))
BESIDE = os.path.dirname(os.path.abspath(BUILD))          # other builds: sources may be read-only
PROGRAM = os.path.join(BUILD, "pt2onnx")
TOLERANCE = 1e-4                    # of the largest absolute value of the output
BFLOAT16 = 2 ** -7                  # the same where values have 8 bits on their way: sums round in another order
QUANTISED = 0.25                    # a value that is rounded to the next of 256 steps grows through layers of random weights; see families.py
ORT_NEWEST = 26                     # ONNX Runtime 1.31 runs no newer opset
FIXED = "does not stay dynamic"     # the note of src/value/specialized.c


def module_at(name, path):
    """A module of the package alone: the package itself wants the library, which a test may not have."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


states = module_at("states", os.path.join(TOP, "python", "pt2onnx", "states.py"))


class Case:
    def __init__(self, path):
        with open(path) as f:
            self.about = json.load(f)
        self.folder = os.path.dirname(path)
        self.set = os.path.basename(self.folder)
        self.name = os.path.basename(path)[:-5]
        self.file = os.path.join(self.folder, self.about["file"])
        self.form = self.about["form"]
        self.tags = self.about["tags"]

    def options(self, dynamic):
        """-i options: what a .pt2 says itself need not be said."""
        if self.form.startswith("pt2"):
            return []
        specs = self.about["dynamic_specs" if dynamic else "specs"]
        return [w for s in specs for w in ("-i", s)]

    def runs(self, dynamic):
        """(inputs, outputs) of each recorded run; a static model only knows the first."""
        z = numpy.load(self.file[:-len(os.path.splitext(self.file)[1])] + ".npz")

        def of(i, kind):
            keys = [k for k in z.files if k.startswith("%d.%s" % (i, kind))]
            return [z["%d.%s%d" % (i, kind, j)] for j in range(len(keys))]
        return [(of(i, "in"), of(i, "out")) for i in range(self.about["runs"] if dynamic else 1)]

    def tolerance(self):
        return BFLOAT16 if "bfloat16" in self.tags else QUANTISED if "quantised" in self.tags else TOLERANCE

    def state(self):
        """What a model that keeps state is saved with, by name."""
        z = numpy.load(self.file[:-len(os.path.splitext(self.file)[1])] + ".npz")
        return {k[len("state."):]: z[k] for k in z.files if k.startswith("state.")}


def cases(folder, *tags):
    """Every model of a folder of the cache, in order of its name."""
    found = [Case(p) for p in sorted(glob.glob(os.path.join(MODELS, folder, "*.json")))]
    return [c for c in found if all(t in c.tags for t in tags)]


def convert(model, out, *options, timeout=300, **keywords):
    """Run pt2onnx; the finished process with its text."""
    return subprocess.run([PROGRAM, str(model), "-o", str(out), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL, **keywords)


def converted(model, out, *options, **keywords):
    done = convert(model, out, *options, **keywords)
    assert done.returncode == 0, "pt2onnx %s %s: exit %d\n%s" % (os.path.basename(str(model)), " ".join(options), done.returncode, done.stderr[-3000:])
    return done


def alive(pid):
    """Is it a process, and not one that has ended and that nobody has asked about?"""
    try:
        with open("/proc/%s/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def check(path):
    """onnx.checker, all of it. By path: a model with its weights may be too large for one message, and Python would parse and write it first."""
    onnx.checker.check_model(str(path), full_check=True)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1           # the tests themselves run side by side
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(got, want, where="", tolerance=TOLERANCE):
    assert len(got) == len(want), "%s%d outputs, torch has %d" % (where, len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        a, b = numpy.asarray(a), b.astype(object) if b.dtype.kind == "U" else b
        assert a.shape == b.shape, "%soutput %d has shape %s, torch's has %s" % (where, i, a.shape, b.shape)
        assert a.dtype == b.dtype, "%soutput %d is %s, torch's is %s" % (where, i, a.dtype, b.dtype)
        if b.dtype.kind in "biuO" or b.size == 0:
            assert (a == b).all(), "%soutput %d differs from torch's in %d places" % (where, i, int((a != b).sum()))
            continue
        assert (numpy.isfinite(a) == numpy.isfinite(b)).all(), "%soutput %d is not finite where torch's is" % (where, i)
        finite = numpy.isfinite(b)
        if not finite.any():
            continue
        assert (a[~finite] == b[~finite])[~numpy.isnan(b[~finite])].all(), "%soutput %d: an infinity differs" % (where, i)
        off = numpy.abs(a[finite].astype(numpy.complex128 if a.dtype.kind == "c" else numpy.float64) - b[finite]).max()
        scale = max(float(numpy.abs(b[finite]).max()), 1e-30)
        assert off <= tolerance * scale, "%soutput %d is off by %.2e, its scale is %.2e" % (where, i, off, scale)


def run(path, runs, state={}, tolerance=TOLERANCE):
    """Every recorded run, in one session, inputs by position. State starts as `state` says or else as the file does, comes out as
    NAME.next and goes in again."""
    s = session(path)
    pairs = states.state_outputs(s)
    kept = {n: state.get(n, first) for n, first in states.initial_state(str(path)).items()}
    names = [i.name for i in s.get_inputs() if i.name not in pairs]
    results = [o.name for o in s.get_outputs()]
    assert not state or set(kept) & set(state), "the model keeps state, but %s has none of it as an input" % path
    for i, (inputs, outputs) in enumerate(runs):
        assert len(names) <= len(inputs), "the model has the inputs %s, torch had %d" % (names, len(inputs))
        got = dict(zip(results, s.run(None, dict(zip(names, inputs), **kept))))
        kept = {n: got.pop(pairs[n]) for n in pairs}
        compare([a for v in got.values() for a in (v if isinstance(v, list) else [v])], outputs, "run %d: " % i, tolerance)


def verify(case, out, opset=18, dynamic=False, options=()):
    """Convert, check, run, compare: one model at one opset. No size of one that is right at others is said to be fixed."""
    done = converted(case.file, out, "--opset", str(opset), *case.options(dynamic), *options)
    assert FIXED not in done.stderr, done.stderr
    check(out)
    if opset <= ORT_NEWEST:
        run(out, case.runs(dynamic), case.state(), case.tolerance())


def graphs(graph):
    """A graph and all graphs inside its nodes."""
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs(a.g)
            for g in a.graphs:
                yield from graphs(g)
