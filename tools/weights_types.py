#!/usr/bin/env python3
"""--weights-type beside what converts an ONNX file to another type: seconds, peak memory, size, and how far the results are from PyTorch's.

    tools/weights_types.py --pt2onnx build/pt2onnx [--only gpt2,..] [--large] [--seeds 24]

Three language models and three vision models of tools/runtime_models.py. Ours goes from the saved program to the file; the others get our
float32 file, whose making is not counted: onnxconverter_common and onnxruntime.transformers.float16 for float16, and
onnxruntime.quantization.matmul_nbits_quantizer for weights of 8 and 4 bits in blocks of 32, as MatMulNBits (nbits) and as DequantizeLinear
(qdq). Where one of these has found
nothing that it converts (its errors are those of float32) there is nothing to compare. Seconds are those of the conversion, without the start of Python and its imports; the peak is that of the process. An error is the root of the
mean square, as a share of the output's, over --seeds models of other random weights, with optimisations off and in a default session. --large adds a chain of Linear with 1.2 GB of weights,
which is not run. Resumable: what was measured with these files and this program is kept in the cache. Exit code 1 where ours is not
ahead of one of the others, or level: in time, in memory, in the error of both sessions, as far as that is no chance.
"""
import argparse
import hashlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
CACHE = os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache")))
MODELS = ("distilbert", "gpt2", "llama", "resnet18", "mobilenet", "hf_vit")
OPSET = "21"                        # the first with blocks
SEEDS = 6                           # models of a name: of one model either rounding may be a tenth nearer, by chance
LEVEL = 1.02                        # errors as near as that are level
NOTHING = 1e-5                      # less than this: the weights are those of before
# Our options, and who does the same to a file.
KINDS = {"float16": (["--weights-type=float16"], ("onnxconverter_common", "transformers.float16")),
         "int8 nbits": (["--weights-type=int8", "--fuse"], ("nbits8",)), "int8 qdq": (["--weights-type=int8"], ("qdq8",)),
         "int4 nbits": (["--weights-type=int4", "--fuse"], ("nbits4",)), "int4 qdq": (["--weights-type=int4"], ("qdq4",))}


# ---- in a process of its own: another converter, or a model that is run ----

def converter(how):
    """A function from a model to the converted one."""
    if how == "onnxconverter_common":
        from onnxconverter_common import float16
        return lambda model: float16.convert_float_to_float16(model, keep_io_types=True)
    if how == "transformers.float16":
        from onnxruntime.transformers import float16
        return lambda model: float16.convert_float_to_float16(model, keep_io_types=True)
    from onnxruntime.quantization import QuantFormat
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    def quantised(model):
        form = QuantFormat.QDQ if how.startswith("qdq") else QuantFormat.QOperator
        q = MatMulNBitsQuantizer(model, bits=int(how[-1]), block_size=32, is_symmetric=True, quant_format=form)
        q.process()
        return q.model.model
    return quantised


def other(how, model, out):
    import logging

    import onnx
    logging.disable(logging.WARNING)
    convert = converter(how)
    start = time.perf_counter()
    onnx.save(convert(onnx.load(model)), out)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def errors(path, values):
    import numpy
    import onnxruntime
    found, v = {}, numpy.load(values)
    for name, level in (("off", onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL), ("default", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)):
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads, options.graph_optimization_level = 4, 1, level
        try:
            s = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            got, want = s.run(None, {i.name: v["in%d" % k] for k, i in enumerate(s.get_inputs())})[0].astype(numpy.float64), v["want"]
            found[name] = float(numpy.sqrt(((got - want) ** 2).mean() / (want.astype(numpy.float64) ** 2).mean()))
        except Exception as e:                                      # noqa: BLE001: whatever the runtime raises is what is looked for
            found[name] = str(e).split("\n")[0][:80]
    return found


# ---- here ----

def in_a_process(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(" ".join(words[1:3]) + ": " + (done.stderr.strip() or "exit %d" % done.returncode).splitlines()[-1][:100])
    return json.loads(done.stdout.splitlines()[-1])


def ours(program, model, out, *options):
    words = [sys.executable, "-I", "-S", os.path.join(TOP, "tools", "measure.py"), program, model, "-q", "-o", out, "--opset", OPSET, *options]
    done = in_a_process(*words)
    if done["code"]:
        raise RuntimeError("pt2onnx %s: exit %d" % (" ".join(options), done["code"]))
    return done


def measured(convert, out, values):
    """Seconds and peak are those of the fastest of three, of the first model; a converter that fails is a word. values: of each model, or none."""
    try:
        runs = [convert(0) for _ in range(3 if values else 1)]
        found = {"seconds": min(r["seconds"] for r in runs), "peak": min(r["peak"] for r in runs), "bytes": os.path.getsize(out)}
        errors = []
        for i, path in enumerate(values):
            if i:                                                   # the first is there
                convert(i)
            errors.append(in_a_process(sys.executable, __file__, "errors", out, path))
        return dict(found, **{key: [e[key] for e in errors] for key in ("off", "default") if errors})
    except RuntimeError as e:
        return {"failed": str(e)}


def results_of(folder, program, name, sources, options, values):
    """{kind: {who: what was measured}}"""
    results = {}
    plain, out = [os.path.join(folder, "plain%d.onnx" % i) for i in range(len(sources))], os.path.join(folder, "out.onnx")
    for source, path in zip(sources, plain):
        ours(program, source, path, *options)
    me = [sys.executable, __file__]
    for kind, (asked, others) in KINDS.items():
        results[kind] = {"ours": measured(lambda i: ours(program, sources[i], out, *options, *asked), out, values)}
        for how in others:
            results[kind][how] = measured(lambda i: in_a_process(*me, "other", how, plain[i], out), out, values)
        print(name, kind, "done", file=sys.stderr, flush=True)
    return results


def traced(name, seed):
    """The saved model, beside it its values; kept as long as the text that it comes from is the same."""
    maker = os.path.join(TOP, "tools", "runtime_models.py")
    with open(maker, "rb") as f:
        path = os.path.join(CACHE, "weights_types", "%s-%s-%d.pt" % (name, hashlib.sha256(f.read()).hexdigest()[:12], seed))
    if not os.path.exists(path + ".npz"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([sys.executable, maker, "trace", name, path, OPSET, str(seed)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def of_model(folder, program, name, seeds):
    sources = [traced(name, seed) for seed in range(seeds)]
    return results_of(folder, program, name, sources, [], [path + ".npz" for path in sources])


def of_chain(folder, program):
    import write_chain
    source = os.path.join(folder, "chain.pt")
    write_chain.write(source, 71, 2048)                             # 1.19 GB
    return results_of(folder, program, "chain of 1.2 GB", [source], ["-i", "x:float32[1,3,2048]"], [])


def error(found, key):
    """Over all models the root of the mean square, or what one says that failed; None: nothing was run."""
    values = found.get(key)
    said = [v for v in values or () if isinstance(v, str)]
    return said[0] if said else values and math.sqrt(statistics.fmean(v * v for v in values))


def further_off(mine, theirs):
    """Are our errors more than LEVEL times theirs, by more than chance does to the mean of so few: twice its standard error?"""
    ratios = [a / b for a, b in zip(mine, theirs)]
    return statistics.fmean(ratios) - 2 * statistics.stdev(ratios) / math.sqrt(len(ratios)) > LEVEL


def behind(mine, theirs):
    """In what ours is not ahead of theirs, or level."""
    if "failed" in mine:
        return [mine["failed"]]
    off = None if "failed" in theirs else error(theirs, "off")
    if "failed" in theirs or isinstance(off, float) and off < NOTHING:
        return []
    found = [key for key in ("seconds", "peak") if mine[key] > theirs[key]]
    for key in ("off", "default"):
        if isinstance(error(mine, key), str) or (isinstance(error(theirs, key), float) and further_off(mine[key], theirs[key])):
            found.append("error, " + key)
    return found


def cell(found, key):
    v = error(found, key)
    return "-" if v is None else v[:24] if isinstance(v, str) else "%.2e" % v


def report(all_results):
    late = []
    print("| model | type | by | seconds | peak MB | file MB | error, off | error, default |\n|---|---|---|---|---|---|---|---|")
    for name, results in all_results.items():
        for kind, by in results.items():
            for who, found in by.items():
                if "failed" in found:
                    print("| %s | %s | %s | %s | | | | |" % (name, kind, who, found["failed"]))
                    continue
                print("| %s | %s | %s | %.2f | %.0f | %.1f | %s | %s |" % (name, kind, who, found["seconds"], found["peak"] / 1e6, found["bytes"] / 1e6,
                                                                     cell(found, "off"), cell(found, "default")))
                late += ["%s, %s: behind %s in %s" % (name, kind, who, w) for w in behind(by["ours"], found) if who != "ours"]
    print("\n" + "\n".join(late or ["ahead of all, or level, in time, memory and error"]))
    return 1 if late else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pt2onnx", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="models of a name, at least two (%(default)s)")
    o = parser.parse_args()
    if o.seeds < 2:
        parser.error("--seeds: at least two, to tell chance")
    with open(o.pt2onnx, "rb") as program, open(__file__, "rb") as script:
        key = "%s-%d-" % (hashlib.sha256(program.read() + script.read()).hexdigest()[:16], o.seeds)
    record, kept = os.path.join(CACHE, "weights_types", "results.json"), {}
    if os.path.exists(record):
        with open(record) as f:
            kept = json.load(f)
    results = {}
    for name in MODELS + (("chain",) if o.large else ()):
        if o.only and name not in o.only.split(","):
            continue
        if key + name not in kept:
            with tempfile.TemporaryDirectory() as folder:
                kept[key + name] = of_chain(folder, o.pt2onnx) if name == "chain" else of_model(folder, o.pt2onnx, name, o.seeds)
            with open(record + ".new", "w") as f:
                json.dump(kept, f)
            os.replace(record + ".new", record)
        results[name] = kept[key + name]
    return report(results)


if __name__ == "__main__":
    if sys.argv[1:2] == ["other"]:
        print(json.dumps(other(*sys.argv[2:])))
    elif sys.argv[1:2] == ["errors"]:
        print(json.dumps(errors(*sys.argv[2:])))
    else:
        sys.exit(main())
