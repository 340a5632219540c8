#!/usr/bin/env python3
"""How the work of a conversion grows with the program, in instructions (valgrind's callgrind): the same on a busy machine.

    tools/scaling.py --pt2onnx build/pt2onnx                   each kind of program at six sizes, the slope of the last step, where a chain's work goes
    tools/scaling.py --pt2onnx build/pt2onnx --svg FILE        the same, and a plot; needs matplotlib
    tools/scaling.py --pt2onnx build/pt2onnx --before OTHER    what another build takes for the largest of each, and the ratio
    tools/scaling.py --pt2onnx build/pt2onnx --compare COMMIT  the same of a commit, which is built for it
    .. --only chain                                            one kind; start: what a conversion takes, however small

A slope of 1 is linear: twice the program, twice the work. Ends with exit code 1 where one is over 1.15 that docs/limits.md does not know, or where instructions have grown by
more than 2 % over those of OTHER. Programs are written here, without PyTorch. What every conversion takes, however small, is not counted in the slopes: the line `start` is that of a
model of three layers, from exec to exit.
"""
import argparse
import io
import json
import math
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile

import numpy

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
import write_chain                                                  # noqa: E402

STEEPEST = 1.15
COSTLIER = 1.02
STEPS = 5                               # how often a size is doubled
KNOWN = ()                              # steeper, as docs/limits.md says
MEMORY = "/dev/shm"                      # a file system without a disk: what fsync does there is no work of ours
LAYERS_AT_START = 3
RUNS_AT_START = 101                     # of which the median is told
PHASES = (("kind_of", "the archive's directory"), ("torchscript_load", "pickles, and the names of weights"), ("torchscript_parse", "the program's text"),
          ("ts_build_root", "the module's objects and weights"), ("eval_program", "running it"),
          ("tidy", "tidy and legalise"), ("outputs_write", "names, and the file"))


def save(path, data, code, records=()):
    """A TorchScript archive of one class: its pickle, its text, and (name, bytes) of its weights."""
    a = write_chain.Archive(path)
    a.add("data.pkl", data)
    for name, record in records:
        a.add(name, record)
    a.add("code/__torch__/net.py", code.encode(), deflate=True)
    a.add("constants.pkl", b"\x80\x02).")
    a.add("version", b"3\n")
    a.close()


def archive(path, inputs, lines):
    """A module without weights whose forward has these lines."""
    head = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  def forward(self: __torch__.net.Net,\n    "
    code = head + ",\n    ".join("%s: Tensor" % name for name in inputs) + ") -> Tensor:\n" + "".join("    %s\n" % line for line in lines)
    save(path, b"\x80\x02c__torch__.net\nNet\n)\x81}(X\x08\x00\x00\x00training\x89ub.", code)


def archive_of_weight(path, rows, columns, lines):
    """A module whose forward gives x times what these lines make of a weight w of so many rows and columns."""
    code = 'class Net(Module):\n  __parameters__ = ["w", ]\n  __buffers__ = []\n  w : Tensor\n  training : bool\n  def forward(self: __torch__.net.Net,\n    x: Tensor) -> Tensor:\n'
    code += "".join("    %s\n" % line for line in ["w = self.w", *lines, "return torch.matmul(x, w)"])
    data = write_chain.Pickle().raw(b"c__torch__.net\nNet\n)\x81}(").text("w").tensor(0, (rows, columns)).text("training").raw(b"\x89ub").done()
    save(path, data, code, [("data/0", numpy.random.default_rng(0).standard_normal((rows, columns), dtype="float32").tobytes())])


def chain(path, n):
    """Linear and ReLU, n times."""
    write_chain.write(path, n, 8)
    return ["x:float32[2,8]"]


def unshaped(path, n):
    """The same, but nothing tells the input's shape: the first layer asks for it, and the evaluation begins again."""
    write_chain.write(path, n, 8)
    return []


def wrapper(codes, scale):
    """What torch.save makes of a weight [2, 2] of a class of its own, which wraps codes and a scale."""
    saved = io.BytesIO()
    a = write_chain.Archive(saved)
    p = write_chain.Pickle().raw(b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_wrapper_subclass\nclayers\nWrapped\n)}(")
    p.text("codes").tensor(0, (2, 2)).text("scale").tensor(1, (2, 1)).raw(b"utR")
    for name, data in ("data.pkl", p.done()), ("data/0", codes), ("data/1", scale), ("version", b"3\n"):
        a.add(name, data)
    a.close()
    return saved.getvalue()


def named(name):
    return {"as_tensor": {"name": name}}


def meta(*sizes):
    strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
    return {"dtype": 7, "sizes": [{"as_int": size} for size in sizes], "strides": [{"as_int": stride} for stride in strides], "storage_offset": {"as_int": 0},
            "requires_grad": False, "device": {"type": "cpu", "index": None}, "layout": 7}


def node(target, result, metadata=(), **args):
    return {"target": "torch.ops." + target, "inputs": [{"name": name, "arg": arg, "kind": 1} for name, arg in args.items()], "outputs": [named(result)],
            "metadata": dict(metadata)}


def add_program(a, nodes, values, last, config):
    """To the archive of a .pt2: a program of one input x, and the table of its weights, each the parameter p of w.p in `config`."""
    weights = [name[len("w."):] for name in config]
    signature = {"input_specs": [{"parameter": {"arg": {"name": weight}, "parameter_name": "w." + weight}} for weight in weights] + [{"user_input": {"arg": named("x")}}],
                 "output_specs": [{"user_output": {"arg": named(last)}}]}
    graph = {"inputs": [named(name) for name in [*weights, "x"]], "outputs": [named(last)], "nodes": nodes, "tensor_values": values,
             "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False}
    program = {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": []}, "schema_version": {"major": 8, "minor": 20}, "range_constraints": {},
               "opset_version": {"aten": 10}}
    a.add("data/weights/model_weights_config.json", json.dumps({"config": config}).encode())
    a.add("data/constants/model_constants_config.json", json.dumps({"config": {}}).encode())
    a.add("models/model.json", json.dumps(program).encode())
    for name, data in ("archive_format", b"pt2"), ("archive_version", b"0"), ("byteorder", b"little"):
        a.add(name, data)


def exported(path, n):
    """The same layers as a .pt2: each node has the metadata that torch.export writes, of which the user's line and module are read."""
    a = write_chain.Archive(path)
    nodes, values, config, last = [], {"x": meta(2, 8)}, {}, "x"
    for i, (w, b) in enumerate(write_chain.weights(n, 8)):
        product, result = "linear%d" % i, "relu%d" % i
        told = {"stack_trace": '  File "/home/user/chain.py", line 12, in forward\n    x = torch.relu(layer(x))\n',
                "nn_module_stack": "L__self__,,chain.Chain;L__self___layers_%d,layers.%d,torch.nn.modules.linear.Linear" % (i, i),
                "source_fn_stack": "%s,torch.nn.functional.linear" % product, "torch_fn": "%s;builtin_function_or_method.linear" % product}
        nodes.append(node("aten.linear.default", product, told, input=named(last), weight=named("w%d" % i), bias=named("b%d" % i)))
        nodes.append(node("aten.relu.default", result, told, self=named(product)))
        values.update({product: meta(2, 8), result: meta(2, 8)})
        for name, data in ("w%d" % i, w), ("b%d" % i, b):
            values[name] = meta(*data.shape)
            config["w." + name] = {"path_name": name, "is_param": True, "use_pickle": False, "tensor_meta": values[name]}
            a.add("data/weights/" + name, data.tobytes())
        last = result
    add_program(a, nodes, values, last, config)
    a.close()
    return []


def wrapped(path, n):
    """A .pt2 whose weights wrap others: Linear of the codes, times the scale."""
    a = write_chain.Archive(path)
    weights = ["p%d" % i for i in range(n)]
    nodes, values, last = [], {"x": meta(2, 2)}, "x"
    for i, weight in enumerate(weights):
        codes, scale, product, result = ("%s%d" % (kind, i) for kind in ("codes", "scale", "product", "result"))
        for part in "codes", "scale":
            nodes.append(node("export.access_subclass_inner_tensor.default", "%s%d" % (part, i), src_subclass_tensor=named(weight), attr={"as_string": part}))
        nodes.append(node("aten.linear.default", product, input=named(last), weight=named(codes)))
        nodes.append(node("aten.mul.Tensor", result, self=named(product), other=named(scale)))
        values.update({weight: meta(2, 2), codes: meta(2, 2), scale: meta(2, 1), product: meta(2, 2), result: meta(2, 2)})
        a.add("data/weights/w%d" % i, wrapper(struct.pack("<4f", i, 1, 2, 3), struct.pack("<2f", i, 1)))
        last = result
    config = {"w." + weight: {"path_name": "w%d" % i, "is_param": True, "use_pickle": True, "tensor_meta": meta(2, 2)} for i, weight in enumerate(weights)}
    add_program(a, nodes, values, last, config)
    a.close()
    return []


def statements(path, n):
    """One operator behind the other."""
    archive(path, ["x"], ["x%d = torch.add(%s, %d)" % (i, "x%d" % (i - 1) if i else "x", i) for i in range(n)] + ["return x%d" % (n - 1)])
    return ["x:float32[2,8]"]


def inputs(path, n):
    """Tensors, each of which forward adds to a sum."""
    names = ["x%d" % i for i in range(n)]
    archive(path, names, ["y%d = torch.add(%s, x%d)" % (i, "y%d" % (i - 1) if i > 1 else "x0", i) for i in range(1, n)] + ["return y%d" % (n - 1)])
    return [name + ":float32[2,3]" for name in names]


def branches(path, n):
    """Branches on data, one behind the other."""
    lines = ["y = x"]
    for i in range(n):
        lines += ["if bool(torch.gt(torch.sum(y), %d)):" % i, "  y = torch.relu(y)", "else:", "  y = torch.neg(y)"]
    archive(path, ["x"], lines + ["return y"])
    return ["x:float32[2,8]"]


def nests(path, n):
    """Branches inside branches."""
    lines = []
    for i in range(n):
        lines.append("  " * i + "if bool(torch.gt(torch.sum(x), %d)):" % i)
    lines.append("  " * n + "y = torch.relu(x)")
    for i in reversed(range(n)):
        lines += ["  " * i + "else:", "  " * i + "  y = torch.add(x, %d)" % i]
    archive(path, ["x"], lines + ["return y"])
    return ["x:float32[2,8]"]


def sizes(path, n):
    """A tensor of dynamic length that is cut in half, rounded, again and again."""
    lines = []
    for i in range(n):
        before = "x%d" % (i - 1) if i else "x"
        lines += ["n%d = torch.floordiv(torch.size(%s, 0), 2)" % (i, before), "x%d = torch.slice(%s, 0, 0, n%d, 1)" % (i, before, i)]
    archive(path, ["x"], lines + ["return x%d" % (n - 1)])
    return ["x:float32[N,3]"]


def text(path, n):
    """Text that a loop makes longer."""
    archive(path, ["x"], ['s = ""', "for i in range(%d):" % n, '  s0 = torch.add(s, "ab")', "  s = s0", "return torch.add(x, torch.len(s))"])
    return ["x:float32[2,8]"]


def filled(n):
    """Statements that fill a list l with n tensors."""
    return ["l = annotate(List[Tensor], [])"] + ["_%d = torch.append(l, torch.add(x, %d))" % (i, i) for i in range(n)]


def lists(path, n):
    """A list that is filled, and read item by item."""
    archive(path, ["x"], filled(n) + ["return torch.cat(l, 0)"])
    return ["x:float32[2,8]"]


def loops(path, n):
    """Loops that ONNX runs, one behind the other, each of which changes one item of a list."""
    lines = filled(n)
    for i in range(n):
        lines += ["for i%d in range(torch.size(x, 0)):" % i, "  s%d = torch._set_item(l, %d, torch.relu(l[%d]))" % (i, i, i)]
    archive(path, ["x"], lines + ["return torch.cat(l, 0)"])
    return ["x:float32[N,8]"]


def moves(path, n):
    """Branches on data, each of which takes the first item of a list away and puts another there."""
    lines = filled(n)
    for i in range(n):
        lines += ["if bool(torch.gt(torch.sum(x), %d)):" % i, "  a%d = torch.pop(l, 0)" % i, "  b%d = torch.insert(l, 0, torch.relu(a%d))" % (i, i), "else:", "  pass"]
    archive(path, ["x"], lines + ["return torch.cat(l, 0)"])
    return ["x:float32[2,8]"]


def keys(path, n):
    """Branches on data, each of which takes a key of a dict away."""
    lines = ["d = annotate(Dict[int, Tensor], {})"] + ["torch._set_item(d, %d, torch.add(x, %d))" % (i, i) for i in range(n)]
    for i in range(n):
        lines += ["if bool(torch.gt(torch.sum(x), %d)):" % i, "  torch.Delete(d, %d)" % i, "else:", "  pass"]
    behind = ["y%d = x" % n]
    for i in reversed(range(n)):
        behind += ["if torch.__contains__(d, %d):" % i, "  y%d = torch.add(y%d, d[%d])" % (i, i + 1, i), "else:", "  y%d = y%d" % (i, i + 1)]
    archive(path, ["x"], lines + behind + ["return y0"])
    return ["x:float32[2,8]"]


def computed(path, n):
    """A weight of which the first step is computed whole, and those behind it tile by tile."""
    archive_of_weight(path, n, 1024, ["w = torch.add(torch.mul(torch.softmax(w, -1), 2), 1)"])
    return ["x:float32[2,%d]" % n]


KINDS = {"chain": (chain, 125, "layers"), "unshaped": (unshaped, 125, "layers"), "exported": (exported, 125, "layers"),
         "statements": (statements, 250, "statements"), "inputs": (inputs, 125, "inputs"),
         "branches": (branches, 30, "branches"), "nests": (nests, 3, "deep"), "sizes": (sizes, 3, "cuts"), "text": (text, 250, "iterations"),
         "lists": (lists, 250, "items"), "loops": (loops, 5, "loops"), "moves": (moves, 10, "branches"), "keys": (keys, 10, "branches"), "wrapped": (wrapped, 125, "weights"),
         "computed": (computed, 50, "rows")}


class Work:
    """Instructions of conversions, in a folder for what they write."""

    def __init__(self, folder):
        self.folder = folder
        self.profile = os.path.join(folder, "callgrind")
        self.base = {}

    def command(self, program, path, specs, *flags):
        return [program, "-q", *flags, path, "-o", os.path.join(self.folder, "out.onnx")] + [word for spec in specs for word in ("-i", spec)]

    def run(self, program, path, specs, *flags):
        command = self.command(program, path, specs, *flags)
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + self.profile, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit("scaling: %s\n%s" % (" ".join(command[:6]), done.stderr[-400:]))
        return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr).group(1).replace(",", ""))

    def of(self, program, path, specs):
        if program not in self.base:
            small = os.path.join(TOP, "tests", "cli", "files", "net.pt")
            self.base[program] = self.run(program, small, ["x:float32[1,3]"], "--no-sandbox")
        return max(1, self.run(program, path, specs, "--no-sandbox") - self.base[program])

    def phases(self):
        """Of the last conversion: (what, share of all instructions), without what is done inside another one."""
        table = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", self.profile], stdout=subprocess.PIPE, text=True, check=True).stdout
        all_of = {}
        for line in table.split("\n"):
            row = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+\S+?:(\w+)(?:\s|$)", line)
            if row:
                all_of[row.group(2)] = max(all_of.get(row.group(2), 0), int(row.group(1).replace(",", "")))
        whole = int(re.search(r"([\d,]+) \(100.0%\)\s+PROGRAM TOTALS", table).group(1).replace(",", ""))
        found = [(what, all_of.get(name, 0)) for name, what in PHASES]
        inside = dict(found)
        inside["pickles, and the names of weights"] -= inside["the program's text"]      # parsed for the first class in it
        inside["running it"] -= inside["the module's objects and weights"]
        return [(what, inside[what] / whole) for what, _ in found]


def built(commit, folder):
    """pt2onnx of a commit, with the flags of a release."""
    source = os.path.join(folder, "source")
    os.mkdir(source)
    files = subprocess.run(["git", "-C", TOP, "archive", commit], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=files, check=True)
    build = os.path.join(folder, "build")
    for command in (["cmake", "-S", source, "-B", build], ["cmake", "--build", build, "--target", "pt2onnx", "-j", str(os.cpu_count())]):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return os.path.join(build, "pt2onnx")


def million(n):
    return "%.1f M" % (n / 1e6)


def measure(work, program, before, name):
    """(sizes, instructions, is all well) of one kind; printed on the way."""
    make, least, unit = KINDS[name]
    points, times = [], []
    path = os.path.join(work.folder, name + ".pt")
    for step in range(STEPS + 1):
        points.append(least << step)
        times.append(work.of(program, path, make(path, points[-1])))
    slope = math.log2(times[-1] / times[-2])
    good = slope <= STEEPEST or name in KNOWN
    mark = "" if slope <= STEEPEST else "  known" if good else "  MISS"
    print("%-12s %6d %-11s %10s   twice that %10s   slope %.2f%s" % (name, points[-2], unit, million(times[-2]), million(times[-1]), slope, mark), flush=True)
    if name == "chain":
        for what, share in work.phases():
            print("    %-36s %4.0f %%" % (what, 100 * share))
    if before:
        old = work.of(before, path, make(path, points[-1]))
        good &= times[-1] <= COSTLIER * old
        print("    before %s, now %s: %.3f times" % (million(old), million(times[-1]), times[-1] / old), flush=True)
    return points, times, good


def processor_ms(command):
    """[median, first and last quartile] of the processor's time from exec to exit: waiting for the disk does not count."""
    times = []
    for _ in range(RUNS_AT_START):
        _, status, used = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
        if status:
            raise SystemExit("scaling: %s fails" % " ".join(command[:6]))
        times.append(1000 * (used.ru_utime + used.ru_stime))
    first, middle, last = statistics.quantiles(times, n=4)
    return [middle, first, last]


def peak_kb(command):
    """The most memory that it holds, of files too. GNU time is small: a child of Python would begin with Python's peak."""
    said = subprocess.run(["/usr/bin/time", "-f", "%M", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stderr
    return int(said.split()[-1])


def measure_start(work, programs):
    """What a model of three layers takes from exec to exit: a line for each of these programs, and {instructions, ms, peak}."""
    path = os.path.join(work.folder, "start.pt")
    write_chain.write(path, LAYERS_AT_START, 8)
    found = []
    for name, program in programs:
        specs = ["x:float32[2,8]"]
        command = work.command(program, path, specs)
        m = {"instructions": work.run(program, path, specs), "ms": processor_ms(command), "peak": peak_kb(command) * 1000}
        print("start%-8s %5d layers      %10s   %.2f ms of the processor (half of the runs %.2f to %.2f)   %.1f MB at most"
              % (name, LAYERS_AT_START, million(m["instructions"]), *m["ms"], m["peak"] / 1e6), flush=True)
        found.append(m)
    return found


def draw(path, found):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plot
    matplotlib.rcParams["svg.hashsalt"] = "pt2onnx"                 # the same plot, the same bytes
    figure, axes = plot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, (points, times, _) in found.items():
        axes.loglog(points, times, marker=".", label="%s (%s)" % (name, KINDS[name][2]))
    axes.set_xlabel("size of the program")
    axes.set_ylabel("instructions")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    print("wrote %s" % path)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--before", help="another build's pt2onnx")
    p.add_argument("--compare", help="a commit")
    p.add_argument("--svg", help="the plot goes here")
    p.add_argument("--only", choices=sorted(KINDS) + ["start"])
    o = p.parse_args()
    print("instructions beyond those of a model of one layer; sizes doubled %d times\n" % STEPS)
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        work = Work(folder)
        before = built(o.compare, folder) if o.compare else o.before
        if o.only in (None, "start"):
            both = [("", o.pt2onnx)] + ([(" before", before)] if before else [])
            measure_start(work, [(name, os.path.abspath(program)) for name, program in both])
        kinds = [name for name in KINDS if o.only in (None, name)]
        found = {name: measure(work, o.pt2onnx, before, name) for name in kinds}
    if o.svg and found:
        draw(o.svg, found)
    return 0 if all(good for _, _, good in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
