#!/usr/bin/env python3
"""How do our files run, beside those of torch.onnx's two exporters (ts, dy)? Each model of tools/runtime_models.py, as three files.

    tools/runtimes.py --pt2onnx build/pt2onnx [--only PATTERN,..] [--opsets 18] [--threads 1] [--races 8]
    .. --races 0                no races, all else: a later run has only these left
    .. --keep                   the figures into docs/data/runtimes.json as well, and the table of both READMEs
    tools/runtimes.py --table   write that table from docs/data/runtimes.json; --check: is it there?
    tools/runtimes.py --pt2onnx build/pt2onnx --readers [--only PATTERN,..]     what other programs make of our files (tools/readers.py)

Prints, for each opset: nodes as written, and as ONNX Runtime's default session has left them; how far the results are from PyTorch's, without
optimisation and in a default session; whether onnxruntime.tools.symbolic_shape_infer succeeds; how many sums onnxruntime.transformers.optimizer
fuses with their norm (SkipLayerNormalization, simplified ones too, EmbedLayerNormalization); what onnxslim and onnxsim find in ours; and the time of a run, as a ratio to the
faster of the two others, as the files are and, at the first opset, through onnxslim and the optimizer where these help; last, a line for each
opset and number of threads: median and worst. Resumable: exports and what was found out about a file are kept in the cache, a time for these
files and this runtime; --again races anew.

A race is of a few seconds, each file in a process of its own, beside a copy of ours. What memory a process gets moves its time by 5 %, so there are
several races, and what counts is the median of the ratios within them. Which other file is the fastest is said by one half of the races and its ratio by
the other half, both ways: the fastest of several is the luckiest too, and would seem faster than it is. The copy shows what of a ratio is chance.
Exit code 1 where ours fails a tool, is wrong, has more nodes left than the better of the others, or a slimmer takes more than 1 % of its nodes; with --readers
where a reader fails or is wrong, does better with the file of ts (of dy where ts exports none), and KNOWN does not say why.
"""
import argparse
import collections
import contextlib
import functools
import hashlib
import io
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.pool import ThreadPool

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
import tables                                                       # noqa: E402

CACHE = os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache")))
HOWS = ("ours", "ts", "dy")
TOLERANCE = 1e-4                    # of the largest absolute value
SLOWEST = 1.03                      # our time, of the fastest other file's
SLIM_MOST = 0.01                    # of our nodes
LIMIT = 900                         # seconds for one step of one file
RACES = 8
SECONDS, FEWEST = 2, 4              # a race ends after so long, but not before so many turns
TURN = 0.05                         # seconds of a turn
REST = 0.005                        # seconds between two turns, in which the threads of the one before stop to look for work
COPY = "copy"                       # ours once more
DATA = os.path.join(TOP, "docs", "data", "runtimes.json")


# ---- in a process of its own: one file, or one race of several ----

def nodes(graph):
    """{operator: how many}, those of subgraphs too; constants are none."""
    import onnx
    count = collections.Counter(n.op_type for n in graph.node if n.op_type != "Constant")
    return sum((nodes(a.g) for n in graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH), count)


def session(path, level, threads=1, left=None):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, threads
    options.graph_optimization_level = level
    if left:
        options.optimized_model_filepath = left
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds_of(s, values):
    return {i.name: values["in%d" % k] for k, i in enumerate(s.get_inputs())}


def run_of(path, level, values, left=None):
    """How far the first result is from PyTorch's, of its largest value; or why it does not run."""
    import numpy
    try:
        s = session(path, level, left=left)
        got, want = s.run(None, feeds_of(s, values))[0], values["want"]
    except Exception as e:                                          # noqa: BLE001: whatever the runtime raises is what is looked for
        return str(e).split("\n")[0][:200]
    if got.shape != want.shape:
        return "shape %s, PyTorch's is %s" % (got.shape, want.shape)
    return float(numpy.abs(got - want).max() / max(1e-30, numpy.abs(want).max()))


def shapes_of(path):
    import onnx
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    try:
        return "ok" if SymbolicShapeInference.infer_shapes(onnx.load(path), auto_merge=True) else "incomplete"
    except Exception as e:                                          # noqa: BLE001
        return "%s: %s" % (type(e).__name__, str(e)[:100])


def skips_of(path, kind):
    from onnxruntime.transformers import optimizer
    try:
        count = nodes(optimizer.optimize_model(path, kind, num_heads=0, hidden_size=0, opt_level=0).model.graph)
    except Exception as e:                                          # noqa: BLE001
        return "crash: " + str(e)[:100]
    return count["SkipLayerNormalization"] + count["SkipSimplifiedLayerNormalization"] + count["EmbedLayerNormalization"]


def look(path, values, kind):
    """What there is to say of one file."""
    import logging
    import numpy
    import onnx
    import onnxruntime
    logging.disable(logging.CRITICAL)
    levels = onnxruntime.GraphOptimizationLevel
    values = numpy.load(values)
    found = {"written": sum(nodes(onnx.load(path).graph).values())}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        left = os.path.join(folder, "left.onnx")
        found["plain"] = run_of(path, levels.ORT_DISABLE_ALL, values)
        found["default"] = run_of(path, levels.ORT_ENABLE_ALL, values, left)
        if os.path.exists(left):
            found["left"] = sum(nodes(onnx.load(left).graph).values())
        found["shapes"] = shapes_of(path)
        if kind:
            found["skips"] = skips_of(path, kind)
    return found


def take_turns(path, values, threads):
    """One file, run for each line that comes in; says when it is ready, and then the least time of the runs of each turn. The first run of a turn, which finds
    the cache full of other files' weights, does not count. With one thread in processor time, which others on the machine move less."""
    import numpy
    import onnxruntime
    s = session(path, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL, threads)
    feeds = feeds_of(s, numpy.load(values))
    clock = time.process_time if threads == 1 else time.perf_counter

    def run():
        start = clock()
        s.run(None, feeds)
        return clock() - start
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        run()
        first = run()
        print(min([first] + [run() for _ in range(int(TURN / first))]), flush=True)


def race(paths, values, threads):
    """The least time of a run of each file. The files take turns, in an order that changes, each in a process of its own: of several sessions in one
    process the first is slower by 2 to 7 %, with the same file."""
    command = [sys.executable, os.path.abspath(__file__), "--turns"]
    runners = [subprocess.Popen([*command, path, values, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for path in paths]
    try:
        if any(r.stdout.readline() != "ready\n" for r in runners):
            raise RuntimeError("one of the files does not run")
        times, order, began = [[] for _ in paths], random.Random(0), time.perf_counter()
        while len(times[0]) < FEWEST or time.perf_counter() - began < SECONDS:
            for k in order.sample(range(len(paths)), len(paths)):
                time.sleep(REST)
                print(file=runners[k].stdin, flush=True)
                times[k].append(float(runners[k].stdout.readline()))
        return [min(t) for t in times]
    finally:
        for r in runners:
            r.kill()
            r.wait()


def through(tool, path, made, kind):
    """The file that onnxslim ("slim") or onnxruntime.transformers.optimizer ("opt") makes of one."""
    import logging
    import onnx
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        if tool == "slim":
            import onnxslim
            onnx.save(onnxslim.slim(onnx.load(path)), made)
        else:
            from onnxruntime.transformers import optimizer
            optimizer.optimize_model(path, kind, num_heads=0, hidden_size=0, opt_level=0).save_model_to_file(made)
    return True


# ---- the record ----

def digest(*paths):
    return digest_of_state(*((p, os.stat(p).st_mtime_ns, os.stat(p).st_size) for p in paths))


@functools.lru_cache(maxsize=None)
def digest_of_state(*files):
    h = hashlib.sha256()
    for path, _, _ in files:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:20]


def looked_by():
    """What stands for the code that looks at a file."""
    import inspect
    return hashlib.sha256("".join(map(inspect.getsource, (nodes, session, run_of, shapes_of, skips_of, look))).encode()).hexdigest()[:20]


class Record:
    """What has been found out, by a key that names all that it depends on."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.known, self.log = {}, None
        if os.path.exists(path):
            with open(path) as f:
                self.known = {r[0]: r[1] for r in map(json.loads, f)}
        self.log = open(path, "a")

    def get(self, key, find):
        if key not in self.known:
            self.known[key] = find()
            self.log.write(json.dumps([key, self.known[key]]) + "\n")
            self.log.flush()
        return self.known[key]


def own_process(*words):
    """What this program says when it is called with these words; a text where it fails."""
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "takes more than %d s" % LIMIT
    return json.loads(done.stdout) if done.returncode == 0 else "failed: %s" % (done.stderr.strip().split("\n")[-1:] or [""])[0][:200]


# ---- files ----

def folder_of(name):
    """Where the files of a model are kept, as long as it and torch stay what they are."""
    import runtime_models
    import torch
    made_of = hashlib.sha256(runtime_models.source_of(name).encode()).hexdigest()[:12]
    folder = os.path.join(CACHE, "runtimes", "%s-%s-%s" % (name, made_of, torch.__version__))
    os.makedirs(folder, exist_ok=True)
    return folder


def exported(folder, how, name, opset):
    """The file of a model, made where it is not there; None where the exporter fails, which is kept too."""
    path = os.path.join(folder, name + (".pt" if how == "trace" else ".%s%d.onnx" % (how, opset)))
    if not os.path.exists(path) and not os.path.exists(path + ".failed"):
        print("%s: %s" % (name, how), file=sys.stderr, flush=True)
        command = [sys.executable, os.path.join(TOP, "tools", "runtime_models.py"), how, name, path + ".part", str(opset)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            with open(path + ".failed", "w") as f:
                f.write(done.stderr[-2000:])
        elif how == "trace":
            os.replace(path + ".part.npz", path + ".npz")
        if not done.returncode:
            os.replace(path + ".part", path)
    return path if os.path.exists(path) else None


def converted(folder, program, name, opset, dynamic=False):
    """Our file; None where it is refused. dynamic: with all sizes that the program does not fix."""
    saved, path = exported(folder, "trace", name, 0), os.path.join(folder, "%s.ours%d%s.onnx" % (name, opset, "d" * dynamic))
    if not saved:
        return None
    options = ["--dynamic"] if dynamic else []
    done = subprocess.run([program, saved, "-q", "--opset", str(opset), "-o", path, *options], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print("%s: %s" % (name, done.stderr.strip()), file=sys.stderr)
    return None if done.returncode else path


def variants(files, kind):
    """{"ours": file, "ours/slim": .., "ours/opt": ..}: each file, and what the tools make of it where they do not fail."""
    out = dict(files)
    for how, path in files.items():
        for tool in ("slim", "opt") if kind else ("slim",):
            made = "%s.%s-%s.onnx" % (path[:-5], tool, digest(path))
            if not os.path.exists(made) and not os.path.exists(made + ".failed"):
                done = own_process("--through", tool, path, made + ".part", kind)
                if done is not True or not os.path.exists(made + ".part"):
                    with open(made + ".failed", "w") as f:
                        f.write(str(done))
                else:
                    os.replace(made + ".part", made)
            if os.path.exists(made):
                out["%s/%s" % (how, tool)] = made
    return out


def slimmed(path):
    """{tool: what it leaves of our nodes, as a fraction}"""
    import shutil
    import slim
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "given.onnx")
        shutil.copy(path, given)
        ours = sum(slim.shown(given, False).values())
        for name, tool in slim.tools(False).items():
            left = tool(given, os.path.join(folder, "made.onnx"))
            tool.stop()                                             # what it took for this model it keeps
            out[name] = left if isinstance(left, str) else sum(left.values()) / max(1, ours)
    return out


# ---- tables ----

def cell(v):
    if v is None:
        return "-"
    if isinstance(v, float):
        return "%.1e" % v if v < 0.01 else "%.2f" % v
    return "fails" if isinstance(v, str) and v != "ok" else str(v)


def table(title, rows, columns=HOWS):
    """rows: (model, {column: value})"""
    lines = ["", "%-44s" % title + "".join("%9s" % c for c in columns)]
    return "\n".join(lines + ["%-44s" % name + "".join("%9s" % cell(values.get(c)) for c in columns) for name, values in rows])


def outcome(values):
    """{model: ratio} with the median and the worst, as it is kept."""
    values = {n: round(v, 4) for n, v in values.items()}
    worst = max(values, key=values.get)
    return {"median": round(statistics.median(values.values()), 4), "worst": values[worst], "model": worst, "models": values}


def fastest(races, files):
    """The one that takes the least time beside ours, in the middle of the races."""
    return min(files, key=lambda f: statistics.median(r[f] / r["ours"] for r in races))


def ratio(races, ours, others):
    """The time of the fastest of our files as a ratio to the fastest of the others, which one half of the races chooses and the other half times."""
    half = races[::2], races[1::2]
    found = []
    for choose, judge in (half, half[::-1]):
        mine, other = fastest(choose, ours), fastest(choose, others)
        found.append(statistics.median(r[mine] / r[other] for r in judge))
    return statistics.geometric_mean(found)


def ratios(races, tools):
    """{"ts": our time as a ratio to that file's, .., "faster": to the faster one's, "copy": to that of our own file once more}; {} where there is
    nothing to compare. tools: each file as it is or through a tool, whichever is faster."""
    files = {}                                                      # {"ours": ["ours", "ours/slim", ..], ..}
    for f in races[0] if races else ():
        if tools or "/" not in f:
            files.setdefault(f.partition("/")[0], []).append(f)
    others = {how: files[how] for how in HOWS[1:] if how in files}
    if not others or "ours" not in files:
        return {}
    found = {how: ratio(races, files["ours"], theirs) for how, theirs in others.items()}
    return {**found, "faster": ratio(races, files["ours"], sum(others.values(), [])), COPY: ratio(races, ["ours"], [COPY])}


def failures(name, found, slim_left):
    """What our file of a model falls short in."""
    ours = found.get("ours")
    if not isinstance(ours, dict):
        return ["%s: %s" % (name, ours or "no file")]
    out = []
    for which in ("plain", "default"):
        if isinstance(ours[which], str) or ours[which] > TOLERANCE:
            out.append("%s: %s session: %s off" % (name, which, ours[which]))
    if ours["shapes"] != "ok":
        out.append("%s: symbolic_shape_infer: %s" % (name, ours["shapes"]))
    others = [f for h, f in found.items() if h != "ours" and isinstance(f, dict)]
    least = min((f["left"] for f in others if "left" in f), default=None)
    if least is not None and ours.get("left", 0) > least:
        out.append("%s: %d nodes left, another file has %d" % (name, ours["left"], least))
    most = max((f["skips"] for f in others if isinstance(f.get("skips"), int)), default=0)
    if isinstance(ours.get("skips", 0), str) or ours.get("skips", 0) < most:
        out.append("%s: %s sums and norms fused, another file has %d" % (name, ours.get("skips"), most))
    for tool, part in slim_left.items():
        if isinstance(part, float) and part < 1 - SLIM_MOST:
            out.append("%s: %s takes %.1f %% of the nodes" % (name, tool, 100 * (1 - part)))
    return out


def report(opset, threads, results):
    """The tables of one opset and number of threads, and what falls short; {"median": .., ..} and whether nothing does."""
    def rows(key):
        return [(n, {h: f.get(key) if isinstance(f, dict) else f for h, f in r["found"].items()}) for n, r in results.items()]
    print("\n==== opset %d, %d thread%s ====" % (opset, threads, "s" * (threads > 1)))
    for title, key in (("nodes as written", "written"), ("nodes left by a default session", "left"), ("off, without optimisation", "plain"),
                       ("off, in a default session", "default"), ("symbolic_shape_infer", "shapes"), ("sums and norms that the optimizer fuses", "skips")):
        print(table(title, rows(key)))
    figures = {"left": least_left(results)}
    for key, title in (("plain", "our time, of that of"), ("tools", "the same, through tools where they help")):
        if key == "tools" and not any("/" in f for r in results.values() for race in r["races"] for f in race):
            continue
        timed = {n: found for n, r in results.items() for found in [ratios(r["races"], key == "tools")] if found}
        if not timed:
            continue
        print(table(title, timed.items(), (*HOWS[1:], "faster", COPY)))
        figures[key] = outcome({n: t["faster"] for n, t in timed.items()})
        print("ours: median %.3f, worst %.3f" % (figures[key]["median"], figures[key]["worst"]))
        short = [n for n, t in timed.items() if t["faster"] > SLOWEST]
        if short:
            print("over %.2f: %s" % (SLOWEST, ", ".join(short)))
        if key == "plain":
            figures[COPY] = outcome({n: t[COPY] for n, t in timed.items()})
    print("\n%-44s%9s%9s" % ("part of our nodes that is left", "onnxslim", "onnxsim"))
    for n, r in results.items():
        print("%-44s%9s%9s" % (n, cell(r["slim"].get("onnxslim")), cell(r["slim"].get("onnxsim"))))
    short = [line for n, r in results.items() for line in failures(n, r["found"], r["slim"])]
    print("\n".join(["", *short]))
    return figures, not short


def least_left(results):
    """{model: (nodes left of ours, the fewest left of another file)} where there is another."""
    out = {}
    for name, r in results.items():
        left = {h: f["left"] for h, f in r["found"].items() if isinstance(f, dict) and "left" in f}
        others = [n for h, n in left.items() if h != "ours"]
        if others and "ours" in left:
            out[name] = (left["ours"], min(others))
    return out


# ---- the table of README ----

WORDS = {
    "README.md": {"lead": "The files that result, in ONNX Runtime, beside those that torch.onnx's two exporters make of the same models (below 1: ours is faster):",
                  "head": "of the faster of torch.onnx's two exporters", "opset": "opset %s", "plain": "time, threads: %s; median of %d (worst)",
                  "tools": "the same, each through onnxslim and the transformers optimizer", "copy": "our file beside a copy of itself: what is chance", "left": "nodes that a session leaves, ours / the fewest",
                  "filled": "Filled by `make runtimes OPSETS=%s THREADS=%s KEEP=1`, with ONNX Runtime %s and torch %s."},
    "README.zh-CN.md": {"lead": "得到的文件在 ONNX Runtime 里，与 torch.onnx 的两个导出器对同样模型写出的文件相比（小于 1：我们的更快）：",
                        "head": "与 torch.onnx 两个导出器中较快者之比", "opset": "opset %s", "plain": "时间，线程数：%s；%d 个模型的中位数（最差）",
                        "tools": "同上，各自先经过 onnxslim 和 transformers 优化器", "copy": "我们的文件与它自己的副本：多少是偶然", "left": "会话留下的节点，我们的 / 最少的",
                        "filled": "由 `make runtimes OPSETS=%s THREADS=%s KEEP=1` 填写，ONNX Runtime %s，torch %s。"},
}


def readme_table(data, words):
    """data: {"runs": {"18/1": figures}, ..}"""
    runs = {tuple(key.split("/")): f for key, f in data["runs"].items()}
    opsets, threads = (sorted({k[i] for k in runs}, key=int) for i in (0, 1))
    lines = [words["lead"], "", tables.line(words["head"], *(words["opset"] % v for v in opsets)), tables.rule(1 + len(opsets))]
    for t in threads:
        for kind in ("plain", "tools", COPY):
            found = [runs[v, t].get(kind) for v in opsets]
            if not any(found):
                continue
            title = words[kind] % (t, max(len(f["models"]) for f in found if f)) if kind == "plain" else words[kind]
            lines.append(tables.line(title, *("%.2f (%.2f, %s)" % (f["median"], f["worst"], f["model"]) if f else "–" for f in found)))
    left = [runs[v, threads[0]]["left"].values() for v in opsets]
    lines.append(tables.line(words["left"], *("{:,} / {:,}".format(*map(sum, zip(*pairs))) if pairs else "–" for pairs in left)))
    return "\n".join([*lines, "", words["filled"] % (",".join(opsets), ",".join(threads), data["versions"]["onnxruntime"], data["versions"]["torch"])])


def kept_table(check):
    """Both READMEs have the table of the figures that are kept, if any are. False: check, and one has another."""
    if not os.path.exists(DATA):
        return True
    with open(DATA, encoding="utf-8") as f:
        data = json.load(f)
    return all([tables.put(pathlib.Path(TOP, name), readme_table(data, words), "runtimes", check, "docs/data/runtimes.json: tools/runtimes.py --table")
                for name, words in WORDS.items()])


def keep(runs):
    import onnxruntime
    import torch
    versions = {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__.partition("+")[0]}
    with open(DATA, "w", encoding="utf-8") as f:
        f.write(json.dumps({"runs": runs, "versions": versions}, indent=1, sort_keys=True) + "\n")
    return kept_table(False)


def summary(runs):
    """A line for each opset and number of threads."""
    lines = ["", "%-22s%9s%9s  %-18s%9s%9s  %-18s%9s%9s  %-18s%9s%9s" % ("opset / threads", "median", "worst", "", "tools", "worst", "", COPY, "worst", "",
                                                                         "left", "others")]
    for key, f in runs.items():
        cells = [w for kind in ("plain", "tools", COPY) for w in ((f[kind]["median"], f[kind]["worst"], f[kind]["model"]) if kind in f else ("-", "-", ""))]
        lines.append(("%-22s" + 3 * "%9s%9s  %-18s") % (key, *cells) + "%9d%9d" % tuple(sum(n[i] for n in f["left"].values()) for i in (0, 1)))
    return "\n".join(lines)


class Progress:
    """A line before each step, with what is left of the time, by the steps before it."""

    def __init__(self, steps):
        self.steps, self.done, self.began = steps, 0, time.time()

    def step(self, what):
        left = (time.time() - self.began) / self.done * (self.steps - self.done) if self.done else None
        print("%d of %d: %s%s" % (self.done + 1, self.steps, what, "" if left is None else "; about %d min left" % (left / 60 + 1)), file=sys.stderr, flush=True)
        self.done += 1


def races_of(record, o, files, values, threads):
    """[{how: seconds}, ..], a race each, with a copy of ours; [] where one of the files does not run, as what a tool has made may not."""
    import onnxruntime
    runners = {**files, COPY: files["ours"]} if "ours" in files else files
    key = o.again + "race beside a copy %s %d " % (onnxruntime.__version__, threads) + " ".join("%s %s" % (h, digest(f)) for h, f in runners.items())
    out = []
    for turn in range(o.races):
        got = record.get("%s %d" % (key, turn), lambda: own_process("--race", values, threads, *runners.values()))
        if not isinstance(got, list):
            return []
        out.append(dict(zip(runners, got)))
    return out


def results_of(folder, record, o, name, opset, threads):
    """What is found out about a model. onnxslim, onnxsim and the optimizer are asked at the first opset only: of later ones the optimizer mistakes
    operators, and most of the time would be theirs."""
    import onnxruntime
    import runtime_models
    files = {"ours": converted(folder, o.pt2onnx, name, opset), **{h: exported(folder, h, name, opset) for h in HOWS[1:]}}
    files = {h: f for h, f in files.items() if f}
    values, kind = os.path.join(folder, name + ".pt.npz"), runtime_models.KINDS.get(name, "")
    about = {h: "%s %s %s" % (digest(f), onnxruntime.__version__, looked_by()) for h, f in files.items()}
    with ThreadPool(os.cpu_count() or 2) as pool:                   # no time is taken here
        looks = {h: pool.apply_async(record.get, ("look " + about[h], lambda f=f: own_process("--look", f, values, kind))) for h, f in files.items()}
        found = {h: look.get() for h, look in looks.items()}
    tools = opset == o.opsets[0]
    runners = variants(files, kind) if tools else files
    races = races_of(record, o, runners, values, threads) or races_of(record, o, files, values, threads)
    left = record.get("slim " + about["ours"], lambda: slimmed(files["ours"])) if tools and "ours" in files else {}
    return {"found": found, "races": races, "slim": left}


# ---- readers ----

READERS = os.environ.get("PT2ONNX_READERS_PYTHON", os.path.join(TOP, ".venv-readers", "bin", "python"))
LOSSY = {"converter_common", "quantize_dynamic", "quantize_static"}       # these change numbers: as far as they do in the file of ts
LOSS = 1.5
READER_NAMES = ("openvino", "openvino_batch", "ort_web", "onnx2torch", "version_converter", "compose", "extract_model", "converter_common", "pre_process",
                "quantize_dynamic", "quantize_static", "onnxsim", "onnxslim", "pnnx", "symbolic_shape_infer", "optimizer")
CASTS = "it leaves a Cast to float32 whose result it states as float16"
INFINITE = "it takes the scale of a sum from its mask, which is infinite for -inf; that of dy's float32 minimum loses the sum too"
KNOWN = {
    # (reader, model): why it cannot be otherwise; docs/limits.md has those of readers at fault
    ("converter_common", "distilbert"): CASTS,
    ("converter_common", "bert"): CASTS,
    ("converter_common", "gpt2"): CASTS,
    ("quantize_static", "whisper"): INFINITE,
}


def read_by(reader, path, values, kind):
    """What tools/readers.py says of a reader and a file, in a process of its own."""
    command = [READERS, os.path.join(TOP, "tools", "readers.py"), reader, path, values, kind]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"why": "takes more than %d s" % LIMIT}
    if done.returncode or not done.stdout:
        return {"why": "it ended with %d: %s" % (done.returncode, (done.stderr.strip().split("\n")[-1:] or [""])[0][:150])}
    return json.loads(done.stdout.strip().split("\n")[-1])


def falls_short(reader, ours, theirs):
    """Does the reader do worse with our file? theirs: what it makes of the file of ts, None where there is none."""
    most = TOLERANCE
    if reader in LOSSY and theirs and "off" in theirs:
        most = max(most, LOSS * theirs["off"])
    if ours.get("off", most + 1) <= most:
        return False
    return theirs is None or theirs.get("off", most + 1) <= most


def readings(folder, record, o, name, readers):
    """{reader: (ours, theirs)} of a model; theirs is asked only where ours says nothing good."""
    import runtime_models
    out, values, kind = {}, os.path.join(folder, name + ".pt.npz"), runtime_models.KINDS.get(name, "")
    here = digest(os.path.join(TOP, "tools", "readers.py"))
    for reader in readers:
        dynamic = reader == "openvino_batch"
        path = converted(folder, o.pt2onnx, name, 18, dynamic)
        theirs = None if dynamic else exported(folder, "ts", name, 18) or exported(folder, "dy", name, 18)

        def ask(file):
            return record.get("read %s %s %s" % (reader, digest(file), here), lambda: read_by(reader, file, values, kind))
        ours = ask(path) if path else {"why": "no file"}
        bad = ours.get("off", 1) > TOLERANCE
        out[reader] = ours, ask(theirs) if bad and theirs else None
        print("%s, %s: %s%s" % (name, reader, shown(ours), "; ts: " + shown(out[reader][1]) if out[reader][1] else ""), file=sys.stderr, flush=True)
    return out


def shown(said):
    return "%.1e" % said["off"] if "off" in said else said["why"]


def report_readers(found):
    """found: {model: {reader: (ours, theirs)}}. The table, and below it each reading that falls short; True where there is none."""
    readers = list(next(iter(found.values())))
    print("\n%-22s%-28s" % ("off, of the largest", "version") + "".join("%11s" % n[:10] for n in found))
    for r in readers:
        told = next((f[r][0]["version"] for f in found.values() if "version" in f[r][0]), "")
        print("%-22s%-28s" % (r, told) + "".join("%11s" % ("%.1e" % f[r][0]["off"] if "off" in f[r][0] else "fails") for f in found.values()))
    short, both = [], []
    for name, f in found.items():
        for r, (ours, theirs) in f.items():
            line = "%s, %s: %s" % (name, r, shown(ours))
            if falls_short(r, ours, theirs):
                why = KNOWN.get((r, name)) or KNOWN.get((r, "*"))
                short.append(line + (" (known: %s)" % why if why else "; ts: %s" % (shown(theirs) if theirs else "none")))
            elif "off" not in ours:
                both.append(line)
    print("\n".join(["", "no better with the file of ts:", *both, "", "worse than the file of ts:", *short]))
    return all("(known: " in line for line in short)


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    if sys.argv[1:2] == ["--look"]:
        print(json.dumps(look(*sys.argv[2:])))
        return 0
    if sys.argv[1:2] == ["--turns"]:
        take_turns(*sys.argv[2:4], int(sys.argv[4]))
        return 0
    if sys.argv[1:2] == ["--race"]:
        print(json.dumps(race(sys.argv[4:], sys.argv[2], int(sys.argv[3]))))
        return 0
    if sys.argv[1:2] == ["--through"]:
        print(json.dumps(through(*sys.argv[2:])))
        return 0
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--keep", action="store_true", help="into docs/data/runtimes.json and both READMEs; of all models")
    p.add_argument("--table", action="store_true", help="write the table of docs/data/runtimes.json into both READMEs, no more")
    p.add_argument("--check", action="store_true", help="is it there? no more")
    p.add_argument("--again", nargs="?", const=time.strftime("%Y-%m-%d %H:%M:%S "), default="", metavar="NAME",
                   help="race anew; with the same NAME a stopped run goes on")
    p.add_argument("--only", default="", metavar="PATTERN,..", help="parts of models' names")
    p.add_argument("--opsets", type=numbers, default=[18])
    p.add_argument("--threads", type=numbers, default=[1])
    p.add_argument("--races", type=int, default=RACES, metavar="N", help="of each model, at least two (%d); 0: none" % RACES)
    p.add_argument("--readers", nargs="?", const="", metavar="PATTERN,..", help="what other programs make of our files; parts of readers' names")
    o = p.parse_args()
    if o.table or o.check:
        return 0 if kept_table(o.check) else 1
    if o.keep and o.only:
        p.error("--keep is of all models")
    if o.races == 1 or o.races < 0:
        p.error("--races: one half of them chooses, the other judges: at least two, or none")
    if o.keep and not o.races:
        p.error("--keep needs races: --races")
    import runtime_models
    from corpus import wanted
    o.pt2onnx = os.path.abspath(o.pt2onnx)
    record = Record(os.path.join(CACHE, "runtimes", "found.jsonl"))
    if o.readers is not None:
        asked = [r for r in READER_NAMES if wanted(o.readers, r)]
        return 0 if report_readers({n: readings(folder_of(n), record, o, n, asked) for n in runtime_models.MODELS if wanted(o.only, n)}) else 1
    good, runs, names = True, {}, [n for n in runtime_models.MODELS if wanted(o.only, n)]
    progress = Progress(len(names) * len(o.opsets) * len(o.threads))
    for opset in o.opsets:
        for threads in o.threads:
            results = {}
            for name in names:
                progress.step("%s, opset %d, threads: %d" % (name, opset, threads))
                results[name] = results_of(folder_of(name), record, o, name, opset, threads)
            runs["%d/%d" % (opset, threads)], fine = report(opset, threads, results)
            good &= fine
    print(summary(runs))
    if o.keep:
        good &= keep(runs)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
