#!/usr/bin/env python3
"""Programs of the fuzzer's generators (tests/fuzz/make) in PyTorch itself and, converted, in ONNX Runtime with and without its
optimizations: do both give the same?

    PYTHON tests/fuzz/in_torch.py FOLDER blocks --first 10000 --count 200

KIND is script, calls or blocks. Of calls and blocks each result of the outermost block is an output, so that the first difference is named.
FOLDER/KIND.log has the programs that do not agree. Each program has its own time (--seconds), after which it is killed with all it started.
Exit 1 if a result is wrong.
"""
import argparse
import ast
import collections
import io
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = ["--limit", "steps=200000", "--limit", "nodes=20000", "--limit", "unroll=300", "--limit", "output=50000000"]
QUIET = ("right", "refused", "random")                                  # no line in the log
Outcome = collections.namedtuple("Outcome", "verdict text code", defaults=("", ""))


def every_result(text):
    """The code of a program of calls with each value of its outermost block as an output, and the values' names."""
    end = re.search(r"    return \((.*), \)$", text, re.M)
    names = []
    for values in re.findall(r"^    ((?:v\d+, )*v\d+),? = ", text, re.M) + [end.group(1)]:
        names += [v for v in values.split(", ") if v not in names]
    return text[:end.start()] + "    return (%s, )" % ", ".join(names) + text[end.end():], names


def for_torch(path, kind):
    """Rewrite the archive into what PyTorch loads: (code, names of the outputs). PyTorch has no types that refer to themselves."""
    with zipfile.ZipFile(path) as z:
        files = [(i.filename, z.read(i)) for i in z.infolist()]
    code, names = "", []
    with zipfile.ZipFile(path, "w") as z:
        for name, data in files:
            if name.endswith(".py"):
                text = data.decode().replace("nx : Optional[__torch__.C]", "nx : Optional[int]").replace("    self.nx = to\n", "")
                if kind != "script":
                    text, names = every_result(text)
                code = text[max(text.find("  def forward"), 0):]
                data = text.encode()
            z.writestr(name, data)
    return code, names


def example(spec, generator):
    import torch
    dtype, shape = re.fullmatch(r"\w+:(\w+)\[(.*)\]", spec).groups()
    x = torch.randint(0, 5, [int(n) for n in shape.split(",") if n], generator=generator)
    if dtype == "bool":
        return x > 1
    if dtype.startswith(("float", "complex")):
        return (x.double() * 0.5 - 0.5).to(getattr(torch, dtype))
    return (x % 3).to(getattr(torch, dtype))


def flat(value):
    import torch
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    if isinstance(value, (bool, int, float, complex)):
        return [torch.tensor(value)]
    return [value] if isinstance(value, torch.Tensor) else []


def array(tensor):
    import torch
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def difference(want, got):
    """In words; empty where both are the same."""
    import numpy as np
    if want.dtype != got.dtype:
        return "PyTorch gives %s, the model %s" % (want.dtype, got.dtype)
    if want.shape != got.shape:
        return "PyTorch gives the shape %s, the model %s" % (want.shape, got.shape)
    if want.dtype.kind in "fc":
        near = 1e-2 if want.dtype == np.float16 else 1e-4
        largest = max(1, abs(want[np.isfinite(want)]).max(initial=0))
        same = np.allclose(want, got, rtol=near, atol=near * largest, equal_nan=True)
    else:
        same = np.array_equal(want, got)
    return "" if same else "PyTorch gives %s, the model %s" % (want.ravel()[:12], got.ravel()[:12])


def in_torch(path, inputs):
    """What the program gives."""
    import torch
    with torch.jit.optimized_execution(False), torch.no_grad():
        return [t.clone() for t in flat(torch.jit.load(str(path))(*[x.clone() for x in inputs]))]


def is_random(path, inputs, wants, runs):
    """Does it give anything else in one of so many runs? A number that is drawn may be the same again."""
    import torch
    return any(not torch.equal(a.nan_to_num(), b.nan_to_num()) for _ in range(runs) for a, b in zip(wants, in_torch(path, inputs)))


def in_runtime(path, level, inputs, state):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = {"x%d" % i: array(x) for i, x in enumerate(inputs)}
    return session.run(None, {i.name: given[i.name] if i.name in given else array(getattr(state, i.name)) for i in session.get_inputs()})


def compared(folder, number, kind, pt2onnx):
    """The outcome of one program."""
    import torch
    import onnxruntime
    path, out = folder / ("%d.pt" % number), folder / ("%d.onnx" % number)
    args = (folder / ("%d.args" % number)).read_text().split("\n")[:-1]
    code, names = for_torch(path, kind)
    done = subprocess.run([pt2onnx, str(path), "-o", str(out), "--opset", "18"] + args + LIMITS, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode == 1:
        return Outcome("refused")
    if done.returncode:
        return Outcome("EXIT", "%d\n%s" % (done.returncode, done.stderr), code)
    generator = torch.Generator().manual_seed(number)
    inputs = [example(spec, generator) for spec in args[1::2]]
    code += "".join("# x%d: %s%s\n" % (i, str(x.dtype)[6:], list(x.shape)) for i, x in enumerate(inputs))
    try:
        wants = in_torch(path, inputs)
    except Exception as e:
        return Outcome("PyTorch raises", str(e).strip().splitlines()[-1][:300], code)
    if is_random(path, inputs, wants, 1):
        return Outcome("random")
    for level in onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL:
        try:
            gots = in_runtime(out, level, inputs, torch.jit.load(str(path)))
        except Exception as e:
            return Outcome("ONNX Runtime raises", str(e)[:300], code)
        if len(gots) < len(wants):                                      # behind the results stands the state
            return Outcome("WRONG", "%d outputs, PyTorch has %d" % (len(gots), len(wants)), code)
        for k, (want, got) in enumerate(zip(wants, gots)):
            text = difference(array(want), got) if hasattr(got, "dtype") and not want.is_quantized else ""
            if text and is_random(path, inputs, wants, 20):
                return Outcome("random")
            if text:
                return Outcome("WRONG", "%s: %s" % (names[k] if k < len(names) else "output %d" % k, text), code)
    return Outcome("right")


def child(numbers, write, judge):
    """In a process of its own: `judge` of each number, one line of verdict and a text behind it."""
    os.setsid()
    with os.fdopen(write, "w", buffering=1) as f:
        for n in numbers:
            try:
                o = judge(n)
            except Exception as e:
                o = Outcome("tool raises", repr(e)[:300])
            f.write("%d\t%s\t%r\n" % (n, o.verdict, (o.text, o.code)))
    os._exit(0)


def judged(numbers, seconds, judge):
    """(number, verdict, text) of each: one process for all, and another one behind each that crashes or takes longer."""
    numbers = list(numbers)
    while numbers:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            child(numbers, write, judge)
        os.close(write)
        rest, verdict, end = b"", "CRASH", time.monotonic() + seconds
        while True:
            if not select.select([read], [], [], max(0, end - time.monotonic()))[0]:
                verdict = "time"
                break
            data = os.read(read, 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                n, what, text = line.decode(errors="replace").split("\t", 2)
                numbers.pop(0)
                end = time.monotonic() + seconds
                yield int(n), what, text
        os.close(read)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:                                      # it has no group of its own yet
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if numbers:
            yield numbers.pop(0), verdict, "()"


def main():
    p = argparse.ArgumentParser(description="Compare programs of the fuzzer's generators with PyTorch.")
    p.add_argument("folder", type=pathlib.Path, help="for the programs, and for the log KIND.log of those that do not agree")
    p.add_argument("kind", choices=["script", "calls", "blocks"])
    p.add_argument("--first", type=int, default=0, help="the number of the first program")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seconds", type=float, default=60, help="after which a program is killed (60)")
    p.add_argument("--build", type=pathlib.Path, default=os.environ.get("PT2ONNX_BUILD", ROOT / "build"), help="the folder of random_programs")
    p.add_argument("--pt2onnx", help="the converter, if not the one of the build")
    args = p.parse_args()
    warnings.simplefilter("ignore")
    import torch
    import onnxruntime                                                  # noqa: F401: once, in front of the forks
    torch.set_num_threads(1)
    pt2onnx = args.pt2onnx or str(pathlib.Path(args.build) / "pt2onnx")
    args.folder.mkdir(parents=True, exist_ok=True)
    counts = collections.Counter()
    with open(args.folder / (args.kind + ".log"), "a", buffering=1) as log:
        for first in range(args.first, args.first + args.count, 20):
            numbers = range(first, min(first + 20, args.first + args.count))
            subprocess.run([str(pathlib.Path(args.build) / "random_programs"), args.kind, str(args.folder), str(first), str(len(numbers))], check=True)
            for n, verdict, text in judged(numbers, args.seconds, lambda n: compared(args.folder, n, args.kind, pt2onnx)):
                counts[verdict] += 1
                if verdict not in QUIET:
                    log.write("##### %s %d: %s %s\n" % (args.kind, n, verdict, "\n".join(ast.literal_eval(text))))
            for n in numbers:
                for ending in ".pt", ".pt2", ".args", ".onnx":
                    (args.folder / ("%d%s" % (n, ending))).unlink(missing_ok=True)
            print("%d %s" % (numbers[-1], " ".join("%s: %d" % (k, v) for k, v in sorted(counts.items()))), flush=True)
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
