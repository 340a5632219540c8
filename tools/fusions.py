#!/usr/bin/env python3
"""Does ONNX Runtime's default session compute what our models say? Random programs of a few operators against PyTorch.

    tools/fusions.py --pt2onnx build/pt2onnx [--count 20000] [--first 0] [--seed N ..] [--sizes known] [--jobs 2]
    tools/fusions.py --pt2onnx build/pt2onnx --optimisers [--count 200] [--first 20000]

Each program (tools/fusion_programs.py, from seed 20,000 on tools/fusion_patterns.py) is traced, converted with the sizes known and with all of them dynamic (--sizes known: only the first), and
run by ONNX Runtime with its optimisers and without, against PyTorch. Resumable: what has been judged is kept in the cache for this program and runtime. Prints how far
it is, and each find with its source; exit code 1 if one is not named in tools/fusions.known, with its reason.
  wrong       differs from PyTorch without any optimisation: ours
  optimiser   right without optimisation, wrong or failing in the default session: a form to avoid
  ended       the process, as the runtime loads the model or runs it: a form to avoid, too
--optimisers judges nothing: it says how many of the programs each of ONNX Runtime's optimisers changes, by ONNX Runtime's log.
"""
import collections
import contextlib
import argparse
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
CACHE = os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache"))
KNOWN = os.path.join(TOP, "tools", "fusions.known")
TOLERANCE = 2e-4                    # of the largest absolute value; sums of float32 in another order
LARGE = 1e5                         # beyond it float32 and float16 tell little
FORMS = {"static": [], "dynamic": ["--dynamic"]}
SIZES = {"known": ("static",), "dynamic": ("dynamic",), "both": ("static", "dynamic")}


def weights_of(seed):
    import torch
    generator = torch.Generator().manual_seed(seed)

    def weight(shape, dtype):
        return torch.nn.Parameter(torch.randn(shape, generator=generator))
    return weight


def inputs_of(p, seed):
    import torch
    generator = torch.Generator().manual_seed(seed + 1)
    return [torch.randint(0, 50, p.shape[n], generator=generator) if p.dtype[n] == "int64" else torch.randn(p.shape[n], generator=generator) for n in p.inputs]


def difference(want, got, step=0.0):
    """How far got is from want, of its largest value; None where nothing can be said. Numbers that are at most a step of a quantised result apart are equal."""
    import numpy
    if want.shape != got.shape or want.dtype != got.dtype:
        return "%s%s for %s%s" % (got.dtype, list(got.shape), want.dtype, list(want.shape))
    if want.size == 0:
        return 0.0
    a, b = want.astype(numpy.float64), got.astype(numpy.float64)
    if not numpy.isfinite(a).all() or numpy.abs(a).max() > LARGE:
        return None
    if not numpy.isfinite(b).all():
        return "not finite"
    off = numpy.abs(a - b)
    return float(off[off > 1.01 * step].max(initial=0) / max(1.0, numpy.abs(a).max()))


def runs(model, feeds, level):
    import onnxruntime
    o = onnxruntime.SessionOptions()
    o.log_severity_level, o.intra_op_num_threads = 4, 1
    o.graph_optimization_level = level
    try:
        s = onnxruntime.InferenceSession(model, o, providers=["CPUExecutionProvider"])
        names = [i.name for i in s.get_inputs()]
        return s.run(None, {n: v for n, v in feeds.items() if n in names}), None
    except Exception as e:                                                  # noqa: BLE001: whatever the runtime raises is what is looked for
        return None, str(e).split("\n")[0][:300]


@contextlib.contextmanager
def log_of_runtime(lines):
    """What ONNX Runtime writes to stderr inside, which Python does not see, is appended to lines."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        before = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
        said.seek(0)
        lines += said.readlines()


def optimisers_of(model):
    """{name: did it change the model?} of each of ONNX Runtime's optimisers. Rules are one by one: Level1_RuleBasedTransformer is a group of them."""
    import onnxruntime
    o = onnxruntime.SessionOptions()
    o.log_severity_level, o.intra_op_num_threads = 0, 1
    lines = []
    with log_of_runtime(lines):
        onnxruntime.InferenceSession(model, o, providers=["CPUExecutionProvider"])
    found = re.findall(r"GraphTransformer (\S+) modified: (\d)", "".join(lines))
    return {name: any(n == name and changed == "1" for n, changed in found) for name, _ in found}


def saved(net, args, path):
    import torch
    with torch.no_grad():
        torch.jit.trace(net, tuple(args), check_trace=False).save(path)


def count_optimisers(program, seeds):
    """Prints how many of these programs, with known sizes and with dynamic ones, each optimiser changes."""
    import fusion_programs
    import torch
    import torch.nn.functional as F
    counts, models = collections.Counter(), 0
    for seed in seeds:
        p = fusion_programs.program(seed)
        space = {"torch": torch, "F": F}
        exec(fusion_programs.source(p), space)
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "net.pt"), os.path.join(folder, "net.onnx")
            saved(space["Net"](weights_of(seed)).eval(), inputs_of(p, seed), path)
            for options in FORMS.values():
                if subprocess.run([program, path, "-o", out, "-q", *options], stderr=subprocess.DEVNULL).returncode == 0:
                    counts.update({name: int(changed) for name, changed in optimisers_of(out).items()})
                    models += 1
    print("\n".join("%5d  %s" % (n, name) for name, n in counts.most_common()))
    print("of %d models: how many each optimiser of ONNX Runtime changes" % models)


def judge(job):
    """[(form, verdict, why)] of one program; [] when all is right. job: the converter, the program's seed and, if not all of FORMS, which forms."""
    program, seed, forms = (*job, FORMS)[:3]
    import fusion_programs
    import onnxruntime
    import torch
    import torch.nn.functional as F
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    p = fusion_programs.program(seed)
    space = {"torch": torch, "F": F}
    text = fusion_programs.source(p)
    exec(text, space)
    net = space["Net"](weights_of(seed)).eval()
    args = inputs_of(p, seed)
    try:
        with torch.no_grad():
            want = net(*args)
    except Exception as e:                                                  # noqa: BLE001: a program that PyTorch does not take is none
        return [("torch", "no program", str(e).split("\n")[0][:200])]
    want = [t.numpy() for t in (want if isinstance(want, tuple) else (want,))]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "net.pt"), os.path.join(folder, "net.onnx")
        saved(net, args, path)
        for form, options in forms.items():
            done = subprocess.run([program, path, "-o", out, "-q", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            if done.returncode:
                if done.returncode != 1:
                    found.append((form, "crashed", done.stdout[-300:]))
                continue
            if assumes_otherwise(out, args):
                continue
            levels = onnxruntime.GraphOptimizationLevel
            feeds = dict(zip(input_names(out), [a.numpy() for a in args]))
            plain, why = runs(out, feeds, levels.ORT_DISABLE_ALL)
            fast, why_fast = runs(out, feeds, levels.ORT_ENABLE_ALL)
            found += verdicts(form, want, plain, why, fast, why_fast, p.step, p.tolerance)
    return found


def assumes_otherwise(path, args):
    """Does the file say that it takes a size for other than 1, and do the inputs have sizes of 1? The user has been told then: what it gives is no find."""
    import onnx
    assumed = [m.value for m in onnx.load(path, load_external_data=False).metadata_props if m.key == "pt2onnx.assumed"]
    return any(" is not 1" in text for text in assumed) and any(1 in a.shape for a in args)


def input_names(path):
    import onnx
    g = onnx.load(path, load_external_data=False).graph
    return [i.name for i in g.input]


def verdicts(form, want, plain, why, fast, why_fast, step=0.0, tolerance=0.0):
    def worst(got):
        out = 0.0
        for w, g in zip(want, got):
            d = difference(w, g, step)
            if isinstance(d, str):
                return d
            out = max(out, d or 0.0)
        return out
    a = worst(plain) if plain is not None else why
    b = worst(fast) if fast is not None else why_fast
    bad = lambda d: isinstance(d, str) or d > max(TOLERANCE, tolerance)
    if bad(a):
        return [(form, "wrong", str(a))]
    return [(form, "optimiser", str(b))] if bad(b) else []


def known_finds():
    """{seed: reason} of tools/fusions.known: lines `SEED reason`."""
    if not os.path.exists(KNOWN):
        return {}
    with open(KNOWN) as f:
        return {int(line.split()[0]): line.split(None, 1)[1].strip() for line in f if line[:1].isdigit()}


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pt2onnx", required=True)
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--seed", type=int, nargs="*", help="these programs only, with their sources")
    p.add_argument("--optimisers", action="store_true", help="count which of ONNX Runtime's optimisers change the programs")
    p.add_argument("--sizes", choices=sorted(SIZES), default="both", help="convert with known sizes, with dynamic ones, or (usual) with both")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    o = p.parse_args()
    forms = {form: FORMS[form] for form in SIZES[o.sizes]}
    import fusion_programs
    import onnxruntime
    if o.seed:
        for seed in o.seed:
            print("# seed %d, %s\n%s" % (seed, fusion_programs.program(seed).motif, fusion_programs.source(fusion_programs.program(seed))), flush=True)
            print("\n".join("%s: %s: %s" % tuple(f) for f in judged_apart((o.pt2onnx, seed, forms))) or "right")
        return 0
    if o.optimisers:
        return count_optimisers(o.pt2onnx, range(o.first, o.first + o.count))
    key = digest(o.pt2onnx, fusion_programs.__file__, os.path.join(TOP, "tools", "fusion_patterns.py"), __file__)
    kept = os.path.join(CACHE, "fusions", "%s-%s-%s.jsonl" % (key, onnxruntime.__version__, o.sizes))
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    done = {}
    if os.path.exists(kept):
        with open(kept) as f:
            done = {r[0]: r[1] for r in map(json.loads, f)}
    todo = [s for s in range(o.first, o.first + o.count) if s not in done]
    start = said = time.time()
    with multiprocessing.get_context("spawn").Pool(o.jobs, maxtasksperchild=2000) as pool, open(kept, "a") as log:
        for n, (seed, found) in enumerate(pool.imap_unordered(job_of, [(o.pt2onnx, s, forms) for s in todo], chunksize=20), 1):
            done[seed] = found
            log.write(json.dumps([seed, found]) + "\n")
            if time.time() - said > 20:
                said = time.time()
                log.flush()
                left = (said - start) / n * (len(todo) - n)
                print("%d of %d programs, about %d s left" % (n, len(todo), left), file=sys.stderr, flush=True)
    return report({s: f for s, f in done.items() if o.first <= s < o.first + o.count})


def job_of(job):
    return job[1], judged_apart(job)


def judged_apart(job):
    """judge(job) in a process of its own: some models end the process of the runtime that loads them."""
    import onnx, onnxruntime, torch                                         # noqa: E401, F401: once for all that are forked from here
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            found = json.dumps(judge(job))
            with os.fdopen(ours, "w") as f:
                f.write(found)
            code = 0
        except Exception:                                                   # noqa: BLE001: printed, and counted as a find
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(ours)
    with os.fdopen(theirs) as f:
        text = f.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(text) if code == 0 else [("process", "ended", "signal %d" % -code if code < 0 else "exit %d" % code)]


def report(done):
    import fusion_programs
    known = known_finds()
    none = sum(f == "no program" for found in done.values() for _, f, _ in found)
    finds = {s: [f for f in found if f[1] != "no program"] for s, found in done.items()}
    finds = {s: f for s, f in finds.items() if f}
    new = {s: f for s, f in finds.items() if s not in known}
    for seed, found in sorted(new.items())[:40]:
        print("# seed %d, %s" % (seed, fusion_programs.program(seed).motif))
        print("\n".join("%s: %s: %s" % tuple(f) for f in found))
    print("%d programs, %d right, %d that PyTorch does not take; %d finds, %d of them named in tools/fusions.known"
          % (len(done), len(done) - none - len(finds), none, len(finds), len(finds) - len(new)))
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
