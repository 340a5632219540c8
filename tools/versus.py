#!/usr/bin/env python3
"""pt2onnx beside torch.onnx's two exporters and pnnx: time, memory, size, and whose models are right. Fills README's table.

    PYTHON tools/versus.py --pt2onnx build/pt2onnx                measure, into versus.json beside pt2onnx, and print the table
    PYTHON tools/versus.py --pt2onnx build/pt2onnx --keep         the same into docs/data/versus.json, and the table into both READMEs
    PYTHON tools/versus.py --table                                write docs/data/versus.json's table into both READMEs; --check: is it there?
    .. --only time, --only right=toys213                          a part of it

Everybody starts from a saved file and ends with an ONNX file, each in a process of its own: a .pt for pt2onnx, the TorchScript exporter and pnnx,
a .pt2 for the exporter of torch.export, of the same network. Time is the processor's, of all threads, the least of the rounds, which are taken in turns: other programs of the machine do not change it.
Memory is the peak of that run. What is right is judged in ONNX Runtime, against what PyTorch gave when the model was saved (tests/models). A model counts when its inputs
are tensors and it keeps no state; a .pt is a trace. Those of torchvision are saved as .pt only, so nobody is asked for a .pt2 of them. Those of transformers return dicts, which torch.onnx refuses in a saved file though it takes the module apart: beside them a table of saved files would say too little of it. `refused` is an error, of the converter or of ONNX Runtime that does not take its file, or no file after two minutes; `wrong` is a file that runs and gives other results.
Results of single models are kept in the cache: a stopped run goes on. pnnx is that of .venv-pnnx (tools/setup bench)."""
import argparse
import collections
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
import tables                                                       # noqa: E402

DATA = TOP / "docs" / "data" / "versus.json"
CACHE = pathlib.Path(os.environ.get("PT2ONNX_CACHE", TOP / ".cache")).absolute()
PNNX = TOP / ".venv-pnnx"
CONVERTERS = ("pt2onnx", "torchscript", "dynamo", "pnnx")
TIMED = (("resnet18", "2,3,64,64"), ("chain_1000_8", "2,8"), ("chain_31_2048", "2,2048"))
SETS = ("toys213", "vision")
ROUNDS = 3
SECONDS = 120                           # for one conversion
READS = {"pt2onnx": (".pt", ".pt2"), "torchscript": (".pt",), "dynamo": (".pt2",), "pnnx": (".pt",)}


# ---- one conversion ----

def pnnx_program():
    return next(iter(PNNX.glob("lib/python3*/site-packages/pnnx/pnnx")), None)


def torch_shape(spec):
    """ "x:float32[2,3]" as pnnx wants it: "[2,3]f32"."""
    kind, sizes = re.match(r"[^:]*:(\w+)\[(.*)\]$", spec).groups()
    short = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8"}
    return f"[{sizes}]{short.get(kind, kind)}"


def command(how, file, out, specs, pt2onnx):
    """(words, the ONNX file they write). file is a copy in a folder of its own, where pnnx writes many others."""
    if how == "pt2onnx":
        return [pt2onnx, "-q", file, "-o", out, *(w for s in specs for w in ("-i", s) if file.suffix == ".pt")], out
    if how == "pnnx":
        shapes = "inputshape=" + ",".join(map(torch_shape, specs))
        both = '"$1" "$2" "$3" && exec "$4" "$5" --export pnnx "$6" "$7" "$8"'
        return ["sh", "-c", both, "sh", pnnx_program(), file, shapes, sys.executable, __file__, file.with_name("m_pnnx.py"), out, json.dumps(specs)], out
    return [sys.executable, __file__, "--export", how, file, out, json.dumps(specs)], out


def export(how, file, out, specs):
    """torch.onnx in this process, as its documentation shows it. What pnnx calls an ONNX file is a picture of its own operators; the model
    that it has written as Python goes through torch.onnx, as the function export_onnx() of that file does."""
    import torch
    if how == "dynamo":
        program = torch.export.load(file)
        torch.onnx.export(program, (), out, opset_version=18, dynamo=True, verbose=False)
        return
    if how == "pnnx":
        os.chdir(os.path.dirname(file))
        sys.path.insert(0, os.getcwd())
        model = __import__("m_pnnx").Model()
    else:
        model = torch.jit.load(file)
    parsed = [re.match(r"([^:]*):(\w+)\[(.*)\]$", s).groups() for s in specs]
    args = tuple(torch.zeros([int(n) for n in sizes.split(",") if n], dtype=getattr(torch, kind)) for _, kind, sizes in parsed)
    torch.onnx.export(model.float().eval() if how == "pnnx" else model, args, out, opset_version=18, dynamo=False, input_names=[name for name, *_ in parsed])


# ---- time and memory ----

def timed_files(folder, timed=TIMED):
    """(name, shape, {suffix: file}) of each, made once."""
    import torch
    import peers
    import write_chain
    folder.mkdir(parents=True, exist_ok=True)
    for name, shape in timed:
        saved, exported = folder / f"{name}.pt", folder / f"{name}.pt2"
        if not saved.exists() and name.startswith("chain"):
            write_chain.write(str(saved), *map(int, name.split("_")[1:]))
        x = torch.zeros([int(n) for n in shape.split(",")])
        if not exported.exists():
            torch.manual_seed(0)
            module = peers.of_archive(str(saved)).eval()
            if not saved.exists():
                torch.jit.trace(module, x).save(str(saved))
            torch.export.save(torch.export.export(module, (x,)), str(exported))
        yield name, shape, {".pt": saved, ".pt2": exported}


def measured(words, out):
    """{seconds, peak} of the process, None after an error."""
    done = subprocess.run([sys.executable, "-I", "-S", TOP / "tools" / "measure.py", *map(str, words)], capture_output=True, text=True, cwd=out.parent)
    m = json.loads(done.stdout)
    return m if m["code"] == 0 and out.exists() and out.stat().st_size else None


def times(pt2onnx, rounds):
    rows = []
    for name, shape, files in timed_files(CACHE / "versus"):
        best = {}
        for _ in range(rounds):
            for how in CONVERTERS:
                with tempfile.TemporaryDirectory(dir=CACHE) as there:
                    source = files[READS[how][0]]
                    file = pathlib.Path(there) / ("m" + source.suffix)
                    os.link(source, file)
                    words, out = command(how, file, pathlib.Path(there) / "out.onnx", [f"x:float32[{shape}]"], pt2onnx)
                    m = measured(words, out)
                if m and (how not in best or m["cpu"] < best[how]["cpu"]):
                    best[how] = {"cpu": m["cpu"], "seconds": m["seconds"], "peak": m["peak"]}
        rows.append({"model": name, "bytes": files[".pt"].stat().st_size, **best})
        print(name, {how: f"{m['cpu']:.3f} s, {m['peak'] / 1e6:.0f} MB" for how, m in best.items()}, flush=True)
    return rows


# ---- size ----

def installed(names):
    """Bytes of these distributions and all that they require."""
    seen, todo = {}, list(names)
    while todo:
        name = re.match(r"[\w.-]+", todo.pop())[0].lower().replace("_", "-")
        if name in seen:
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            seen[name] = 0
            continue
        seen[name] = sum(p.stat().st_size for p in map(pathlib.Path, (found.locate_file(f) for f in found.files or ())) if p.is_file())
        todo += [r for r in found.requires or () if "extra ==" not in r]
    return sum(seen.values())


def sizes(pt2onnx):
    with tempfile.TemporaryDirectory(dir=CACHE) as prefix:
        subprocess.run(["cmake", "--install", pt2onnx.parent, "--strip", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        ours = (pathlib.Path(prefix) / "bin" / "pt2onnx").stat().st_size
    folder = pnnx_program()
    return {"pt2onnx": ours, "torchscript": installed(["torch", "onnx"]), "dynamo": installed(["torch", "onnx", "onnxscript"]),
            "pnnx": installed(["torch", "onnx"]) + sum(p.stat().st_size for p in folder.parent.rglob("*") if p.is_file()) if folder else 0}


# ---- right, refused, wrong ----

def make_models(sets):
    """What of the sets is not in the cache yet, by the PyTorch of the set; none of torchvision where Debian's PyTorch is not."""
    for name in sets:
        python = "/usr/bin/python3" if name == "vision" else sys.executable
        words = [python, TOP / "tests" / "models" / "make_models.py", "--corpus", "--set", name, "--only", "*.traced,*.pt2", "-q", CACHE / "models"]
        if pathlib.Path(python).exists() and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            subprocess.run(list(map(str, words)))


def cases(sets):
    sys.path.insert(0, str(TOP / "tests" / "python"))
    import oracle
    for case in (c for s in sets for c in oracle.cases(s)):
        plain = all(re.match(r"[^:.=]*:\w+\[[\d,]*\]$", s) for s in case.about["specs"])
        if plain and case.form in ("traced", "pt2") and not case.state() and "quantised" not in case.tags:
            yield case


def same(case, out):
    """Does ONNX Runtime give what PyTorch gave? An input that the exporter left out is not fed."""
    import oracle
    (inputs, outputs), = case.runs(False)
    session = oracle.session(out)
    names = [s.split(":")[0] for s in case.about["specs"]]
    at = {name: i for i, name in enumerate(names)}
    given = session.get_inputs()
    feed = {x.name: inputs[at.get(x.name, i)] for i, x in enumerate(given)}
    got = [a for v in session.run(None, feed) for a in (v if isinstance(v, list) else [v])]
    oracle.compare([a.astype(b.dtype) if hasattr(a, "astype") else a for a, b in zip(got, outputs)] + got[len(outputs):], outputs, "", case.tolerance())


class Worker:
    """torch.onnx for many models: one process imports torch, a fork of it converts one model."""

    def __init__(self, how):
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def convert(self, file, out, specs):
        self.process.stdin.write(json.dumps([str(file), str(out), specs]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def work(how):
    import signal
    import warnings
    import torch
    import torch.onnx
    warnings.simplefilter("ignore")
    if how == "dynamo":
        import onnxscript       # noqa: F401
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            try:
                export(how, *json.loads(line))
                os._exit(0)
            except BaseException:
                os._exit(1)
        answers.write(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) + "\n")


def exit_code(words, folder):
    """Of a process that has two minutes; 1 of one that takes longer."""
    try:
        return subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return 1


def verdict(how, case, pt2onnx, workers):
    with tempfile.TemporaryDirectory(dir=CACHE) as there:
        file = pathlib.Path(there) / ("m" + os.path.splitext(case.file)[1])
        os.link(case.file, file)
        words, out = command(how, file, pathlib.Path(there) / "out.onnx", case.about["specs"], pt2onnx)
        if how == "pnnx":
            code = exit_code([pnnx_program(), file, "inputshape=" + ",".join(map(torch_shape, case.about["specs"]))], there)
            code = code or workers[how].convert(file.with_name("m_pnnx.py"), out, case.about["specs"])
        elif how in workers:
            code = workers[how].convert(file, out, case.about["specs"])
        else:
            code = exit_code(words, there)
        if code or not out.exists():
            return "refused", ""
        try:
            same(case, str(out))
            return "right", ""
        except AssertionError as e:
            return "wrong", str(e)[:300]
        except Exception as e:                          # of ONNX Runtime, which loads and runs it
            return "refused", f"{type(e).__name__}: {e}"[:300]


def digest(*paths):
    h = hashlib.sha256()
    for p in paths:
        h.update(pathlib.Path(p).read_bytes())
    return h.hexdigest()[:12]


def judged(sets, pt2onnx):
    """{set: {suffix: {converter: {right: n, ..}}}}, and every wrong one by name."""
    make_models(sets)
    kept = CACHE / "versus.jsonl"
    build = {"pt2onnx": digest(pt2onnx), "pnnx": digest(pnnx_program()) if pnnx_program() else ""}
    known = {tuple(k): v for k, v in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    counts, wrong = {}, {}
    workers = {how: Worker(how) for how in ("torchscript", "dynamo", "pnnx")}
    with open(kept, "a") as log:
        for case in cases(sets):
            suffix = os.path.splitext(case.file)[1]
            for how in CONVERTERS:
                if suffix not in READS[how] or (how == "pnnx" and not pnnx_program()):
                    continue
                key = (how, build.get(how, ""), f"{case.set}/{case.name}", digest(case.file))
                if key not in known:
                    known[key] = verdict(how, case, pt2onnx, workers)
                    log.write(json.dumps([key, known[key]]) + "\n")
                    log.flush()
                word, why = known[key]
                counts.setdefault(case.set, {}).setdefault(suffix, {}).setdefault(how, collections.Counter())[word] += 1
                if word == "wrong":
                    wrong.setdefault(how, {})[f"{case.set}/{case.name}"] = why
    for w in workers.values():
        w.end()
    return counts, wrong


# ---- the table ----

WORDS = {
    "README.md": {"head": "torch.onnx, TorchScript | torch.onnx, dynamo | pnnx", "time": "{}, {}: processor seconds", "peak": "{}: peak memory, MB",
                  "size": "to install, MB", "toys213.pt": "{} small networks, `.pt`: right / refused / silently wrong", "toys213.pt2": "{} small networks, `.pt2`: the same",
                  "vision.pt": "{} of torchvision, `.pt`: the same", "by": "measured by",
                  "filled": "Filled by {}, rounds: {}. Time is the processor's, of all threads, the least of the rounds."},
    "README.zh-CN.md": {"head": "torch.onnx，TorchScript | torch.onnx，dynamo | pnnx", "time": "{}，{}：处理器秒数", "peak": "{}：内存峰值，MB",
                        "size": "安装大小，MB", "toys213.pt": "{} 个小网络，`.pt`：正确 / 拒绝 / 悄悄出错", "toys213.pt2": "{} 个小网络，`.pt2`：同上",
                        "vision.pt": "{} 个 torchvision 网络，`.pt`：同上", "by": "测量命令",
                        "filled": "由 {} 填写，轮数：{}。时间是所有线程的处理器时间，取各轮中最少的。"},
}
NAMES = {"chain_1000_8": "1,000 Linear", "chain_31_2048": "31 Linear"}


def short(number):
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def table(data, words):
    run = "`make bench ONLY={}`"
    lines = [tables.line("", "pt2onnx", words["head"], words["by"]), tables.rule(6)]
    for row in data["time"]:
        name = NAMES.get(row["model"], row["model"])
        size = f"{row['bytes'] / 1e6:.1f} MB" if row["bytes"] < 1e7 else f"{row['bytes'] / 1e6:.0f} MB"
        lines.append(tables.line(words["time"].format(name, size), *(short(row[how]["cpu"]) if how in row else "–" for how in CONVERTERS), run.format("time")))
        lines.append(tables.line(words["peak"].format(name), *(short(row[how]["peak"] / 1e6) if how in row else "–" for how in CONVERTERS), run.format("time")))
    lines.append(tables.line(words["size"], *(short(data["size"][how] / 1e6) if data["size"].get(how) else "–" for how in CONVERTERS), run.format("size")))
    for name, suffix, by in ((s, x, by) for s in SETS for x, by in sorted(data["right"].get(s, {}).items())):
        total = max(sum(c.values()) for c in by.values())
        cells = (" / ".join(str(by[how].get(w, 0)) for w in ("right", "refused", "wrong")) if how in by else "–" for how in CONVERTERS)
        lines.append(tables.line(words[name + suffix].format(total), *cells, run.format("right")))
    return "\n".join([*lines, "", words["filled"].format(", ".join("`%s`" % run for run in data["runs"]), data["rounds"])])


def write_table(data, check):
    """Both READMEs have it. False: check, and one has another."""
    remedy = f"{DATA.relative_to(TOP)}: tools/versus.py --table"
    return all([tables.put(TOP / name, table(data, words), "versus", check, remedy) for name, words in WORDS.items()])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", type=pathlib.Path, default=TOP / "build" / "pt2onnx")
    p.add_argument("--only", help="time, size, right, right=SET,..")
    p.add_argument("--rounds", type=int, default=ROUNDS)
    for flag in ("--keep", "--table", "--check"):
        p.add_argument(flag, action="store_true")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    p.add_argument("--export", nargs=4, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.worker:
        return work(a.worker)
    if a.export:
        how, file, out, specs = a.export
        return export(how, file, out, json.loads(specs))
    if a.table or a.check:
        return 0 if write_table(json.loads(DATA.read_text()), a.check) else 1
    pt2onnx, what = a.pt2onnx.resolve(), (a.only or "").partition("=")
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = DATA if a.keep else pt2onnx.parent / "versus.json"
    data = json.loads(kept.read_text()) if kept.exists() and a.only else {"time": [], "size": {}, "right": {}, "wrong": {}, "rounds": 0}
    said = "make bench KEEP=1" if a.rounds == ROUNDS else f"tools/versus.py --keep --rounds {a.rounds}"
    data["runs"] = data.get("runs", []) + [f"{said} ONLY={a.only}"] if a.only else [said]
    began = time.monotonic()
    if what[0] in ("", "size"):
        data["size"] = sizes(pt2onnx)
    if what[0] in ("", "time"):
        data["time"], data["rounds"] = times(pt2onnx, a.rounds), a.rounds
    if what[0] in ("", "right"):
        data["right"], data["wrong"] = judged(what[2].split(",") if what[2] else SETS, pt2onnx)
    data["versions"] = {name: importlib.metadata.version(name) for name in ("torch", "onnx", "onnxscript", "onnxruntime")}
    if pnnx_program():
        data["versions"]["pnnx"] = next(PNNX.glob("lib/python3*/site-packages/pnnx-*.dist-info")).name.split("-")[1][:-len(".dist")]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    print(table(data, WORDS["README.md"]))
    print(f"{time.monotonic() - began:.0f} s, kept in {kept}")
    return 0 if not a.keep or write_table(data, False) else 1


if __name__ == "__main__":
    sys.exit(main())
