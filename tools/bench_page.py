#!/usr/bin/env python3
"""bench_page.py - one table and one plot of what a conversion takes: `make bench` calls it, docs/bench.md has what it has found.

    PYTHON tools/bench_page.py --pt2onnx build/pt2onnx             measure; table and plot beside pt2onnx: bench.json, bench.svg
    PYTHON tools/bench_page.py --pt2onnx build/pt2onnx --keep      the same into docs/data/bench.json, docs/images/bench.svg and docs/bench.md
    PYTHON tools/bench_page.py --table                             write docs/data/bench.json's table into docs/bench.md; --check: is it there?
    .. --only sizes|outputs|start|growth|weights|graphs|package    a part of it; the rest stays as it was

sizes: 31 Linear layers of growing width, saved as .pt and .pt2, by each converter of tools/versus.py and by `cp`, without and with `sync`, in turns. A round gives each its
ratio to the `cp` of that round; the table has the median of the ratios, and the least and the most. Time is the processor's, of all threads, because other
programs of the machine do not change it; on the clock there is a ratio to the `cp and sync` of that round, which waits for the disk too. start, growth: tools/scaling.py.

outputs: the widest of them from a .pt2, with its weights beside it, and into a pipe, each beside what copies the same bytes the same way.
weights: models whose weights are computed while they are written, transposed, fused with a batch norm or standardised, beside `cp` in the same way.
graphs: chains of many layers, and an archive of 137 GB whose weights are holes. package: pt2onnx.export beside torch.jit.trace and torch.export.export alone,
each in a process of its own, in turns; resnet18."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
import scaling                                                      # noqa: E402
import tables                                                       # noqa: E402
import versus                                                       # noqa: E402
import write_chain                                                  # noqa: E402

DATA, PLOT, PAGE = TOP / "docs/data/bench.json", TOP / "docs/images/bench.svg", TOP / "docs/bench.md"
WHO = ("cp", "synced", *versus.CONVERTERS)
COPIES = {"cp": ("cp",), "synced": ("sh", "-c", 'cp "$0" "$1" && sync "$1"')}    # pt2onnx waits for the disk too
LABELS = {"cp": "cp", "synced": "cp and sync", "pt2onnx": "pt2onnx", "torchscript": "torch.onnx, TorchScript", "dynamo": "torch.onnx, dynamo", "pnnx": "pnnx"}
VISION = ("vit_b_16", "convnext_tiny", "swin_t", "resnet18")        # of torchvision
WEIGHTS = (*((name, "x:float32[2,3,64,64]") for name in VISION), ("bert_base", "input_ids:int64[1,128]"), ("standardised", "x:float32[1,1024,4,4]"))
# (what, of which file, a copy of it, ours): $0 is pt2onnx, $1 the file, $2 what is written, $3 the SPEC of its input.
OUTPUTS = (("from a `.pt2`", ".pt2", 'cp "$1" "$2"', '"$0" -q "$1" -o "$2"'),
           ("`--weights=external`", ".pt", 'cp "$1" "$2"', '"$0" -q "$1" -o "$2" --weights=external -i "$3"'),
           ("into a pipe (`cat`, too)", ".pt", 'cat "$1" | wc -c > "$2"', '"$0" -q "$1" -o - -i "$3" | wc -c > "$2"'))
IMPORT = "import sys, time; start = time.perf_counter(); import pt2onnx; print(1e3 * (time.perf_counter() - start)); assert 'torch' not in sys.modules"
PARTS = ("sizes", "outputs", "start", "growth", "weights", "graphs", "package")
LAYERS, WIDTHS = 31, (128, 256, 512, 1024, 2048)
ROUNDS = 5
PATIENCE = 120                          # seconds for one converter and size: after that no round more


# ---- measured ----

def once(how, files, spec, pt2onnx):
    """{cpu, peak} of one conversion, or copy, in a folder of its own; None after an error."""
    with tempfile.TemporaryDirectory(dir=versus.CACHE) as there:
        source = files[versus.READS.get(how, (".pt",))[0]]
        file, out = pathlib.Path(there) / ("m" + source.suffix), pathlib.Path(there) / "out.onnx"
        os.link(source, file)
        words = [*COPIES[how], file, out] if how in COPIES else versus.command(how, file, out, [spec], pt2onnx)[0]
        return versus.measured(words, out)


def spread(values):
    """[median, least, most]"""
    return [statistics.median(values), min(values), max(values)]


def into_the_cache(path):
    """Read once, so that the first who is timed does not wait for the disk."""
    with open(path, "rb") as f:
        while f.read(1 << 24):
            pass


def rounds_of(files, spec, pt2onnx, rounds, everybody=WHO):
    """{who: [(seconds of the processor, ratio to the cp of that round, peak, ratio on the clock to the cp and sync of that round)]}"""
    found, spent = {who: [] for who in everybody}, dict.fromkeys(everybody, 0.0)
    for path in files.values():
        into_the_cache(path)
    for _ in range(rounds):
        done = {}
        for who in everybody:
            if spent[who] > PATIENCE or (who == "pnnx" and not versus.pnnx_program()):
                continue
            began = time.monotonic()
            done[who] = once(who, files, spec, pt2onnx)
            spent[who] += time.monotonic() - began
        for who, m in done.items():
            if m:
                found[who].append((m["cpu"], m["cpu"] / done["cp"]["cpu"], m["peak"], m["seconds"] / done["synced"]["seconds"]))
    return found


def sizes(pt2onnx, rounds):
    rows = []
    timed = [(f"chain_{LAYERS}_{width}", f"2,{width}") for width in WIDTHS]
    for name, shape, files in versus.timed_files(versus.CACHE / "versus", timed):
        found = rounds_of(files, f"x:float32[{shape}]", pt2onnx, rounds)
        rows.append(row_of(name, files[".pt"].stat().st_size, found))
    return rows


def outputs(pt2onnx, rounds):
    """[[what, bytes, seconds of the processor, ratio to the copy of that round]]"""
    width, rows = WIDTHS[-1], []
    (_, shape, files), = versus.timed_files(versus.CACHE / "versus", [(f"chain_{LAYERS}_{width}", f"2,{width}")])

    def run(script, file):
        with tempfile.TemporaryDirectory(dir=versus.CACHE) as there:
            out = pathlib.Path(there) / "out"
            m = versus.measured(["bash", "-o", "pipefail", "-c", script, pt2onnx, file, out, f"x:float32[{shape}]"], out)
        if not m:
            raise SystemExit(f"bench_page: {script} fails")
        return m["cpu"]

    for what, suffix, copy, ours in OUTPUTS:
        into_the_cache(files[suffix])
        copied, converted = zip(*((run(copy, files[suffix]), run(ours, files[suffix])) for _ in range(rounds)))
        rows.append([what, files[suffix].stat().st_size, spread(converted), spread([b / a for a, b in zip(copied, converted)])])
        print(f"{what}: {rows[-1][2][0]:.3f} s, {rows[-1][3][0]:.2f} times the copy", flush=True)
    return rows


def row_of(name, size, found):
    row = {"model": name, "bytes": size, "rounds": {who: len(found[who]) for who in found if found[who]}}
    for who in row["rounds"]:
        seconds, ratios, peaks, clock = zip(*found[who])
        row[who] = {"seconds": spread(seconds), "ratio": spread(ratios), "peak": spread(peaks), "clock": spread(clock)}
    print(f"{name}: " + ", ".join(f"{who} {row[who]['seconds'][0]:.3f} s, {row[who]['ratio'][0]:.2f} times cp" for who in row["rounds"]), flush=True)
    return row


def saved_model(name, shape):
    """A trace of one of tools/peers.py, or what make_models.py makes for Debian's torchvision; made once."""
    made = versus.CACHE / "models"
    if name in VISION:
        path = made / "vision" / f"{name}.traced.pt"
        if not path.exists():
            subprocess.run(["/usr/bin/python3", TOP / "tests/models/make_models.py", made, "--only", f"{name}.traced"], check=True)
        return path
    path = versus.CACHE / "versus" / f"{name}.pt"
    if not path.exists():
        import torch
        import peers
        path.parent.mkdir(parents=True, exist_ok=True)
        with torch.no_grad():
            torch.jit.trace(peers.model_of("trace", name), peers.example(name, [int(n) for n in shape.split(",")])).save(str(path))
    return path


def weights(pt2onnx, rounds):
    rows = []
    for name, spec in WEIGHTS:
        path = saved_model(name, spec[spec.index("[") + 1:-1])
        rows.append(row_of(name, path.stat().st_size, rounds_of({".pt": path}, spec, pt2onnx, rounds, (*COPIES, "pt2onnx"))))
    return rows


def huge(path):
    write_chain.write(path, 32, 1 << 15, holes=True)
    return ["x:float32[2,32768]"]


# (what, suffix, what writes the file and gives the SPECs, options). A layer is two nodes.
GRAPHS = (("100,000 nodes, `.pt`", ".pt", lambda path: scaling.chain(path, 50_000), ()),
          ("100,000 nodes, `.pt2`", ".pt2", lambda path: scaling.exported(path, 50_000), ()),
          ("1,000,000 nodes, `.pt`", ".pt", lambda path: scaling.chain(path, 500_000), ("--limit", "records=2000000")),
          ("137 GB, `--weights=link`", ".pt", huge, ("--weights=link",)))


def graphs(pt2onnx, rounds):
    """[[what, seconds of the processor, peak]], each as its median, least and most."""
    def many(work):
        found = []
        for what, suffix, write, options in GRAPHS:
            file, out = pathlib.Path(work.folder) / ("model" + suffix), pathlib.Path(work.folder) / "out.onnx"
            specs = write(str(file))
            words = [pt2onnx, "-q", file, "-o", out, *options, *(w for s in specs for w in ("-i", s))]
            runs = [versus.measured(words, out) for _ in range(rounds)]
            file.unlink()
            if None in runs:
                raise SystemExit(f"bench_page: {' '.join(map(str, words[:6]))} fails")
            found.append([what, spread([m["cpu"] for m in runs]), spread([m["peak"] for m in runs])])
            print("{}: {} s of the processor, {} MB".format(what, short(found[-1][1][0]), short(found[-1][2][0] / 1e6)), flush=True)
        return found
    return in_memory(many)


def package(pt2onnx, rounds):
    """{torch's part: [ratio, most memory beyond it]}, and the milliseconds of an import."""
    environment = dict(os.environ, PYTHONPATH=str(TOP / "python"), PT2ONNX_LIBRARY=str(pt2onnx.parent / "libpt2onnx.so"))
    with tempfile.TemporaryDirectory() as there:
        def run(*words):
            """What the program prints, and its peak: tools/measure.py stands between, as a child's begins with that of its parent."""
            command = [sys.executable, "-I", "-S", TOP / "tools/measure.py", sys.executable, *words]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            return json.loads(done.stderr.strip().split("\n")[-1]), json.loads(done.stdout)["peak"]

        def pair(alone, ours):
            (a, a_peak), (b, b_peak) = (run(TOP / "tools/peers.py", how, "resnet18", f"{there}/out.onnx", "1,3,224,224") for how in (alone, ours))
            return b["cpu"] / a["cpu"], b_peak - a_peak
        found = {}
        for alone, ours in (("trace", "pt2onnx"), ("export", "pt2onnx-export")):
            ratios, more = zip(*(pair(alone, ours) for _ in range(rounds)))
            found[alone] = [spread(ratios), max(more)]
        found["import"] = spread([run("-c", IMPORT)[0] for _ in range(rounds)])
    return found


def in_memory(work):
    """What `work` gives, of a folder for tools/scaling.py."""
    with tempfile.TemporaryDirectory(dir=scaling.MEMORY if os.path.isdir(scaling.MEMORY) else None) as folder:
        return work(scaling.Work(folder))


def growth(pt2onnx):
    """{kind: [size, instructions at it, slope of the last step, is that slope right or known]}"""
    def all_kinds(work):
        found = {}
        for name in scaling.KINDS:
            points, times, good = scaling.measure(work, str(pt2onnx), None, name)
            found[name] = [points[-1], times[-1], math.log2(times[-1] / times[-2]), good]
        return found
    return in_memory(all_kinds)


# ---- told ----

def short(number):
    """Three digits at most: 0.0123, 1.02, 12.3, 1,230."""
    if number < 0.1:
        return f"{number:.3f}"
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def with_spread(three):
    return "{} ({} to {})".format(*map(short, three))


def own(text):
    """The cells of a row that only pt2onnx has a value in."""
    return [text if who == "pt2onnx" else "" for who in WHO]


# What is told of a file that several convert or copy, and how.
TIMES = (("seconds of the processor", lambda m: short(m["seconds"][0])), ("times `cp`", lambda m: with_spread(m["ratio"])),
         ("on the clock, times `cp and sync`", lambda m: with_spread(m["clock"])))


def table(data):
    lines = [tables.line("", *(LABELS[who] for who in WHO)), tables.rule(len(WHO) + 1)]
    for row in data["sizes"]:
        size = f"{row['bytes'] / 1e6:.1f} MB" if row["bytes"] < 1e7 else f"{row['bytes'] / 1e6:.0f} MB"
        for what, cell in (*TIMES, ("peak memory, MB", lambda m: short(m["peak"][0] / 1e6))):
            lines.append(tables.line(f"{size}: {what}", *(cell(row[who]) if who in row else "–" for who in WHO)))
    for what, size, seconds, ratio in data.get("outputs", []):
        lines.append(tables.line(f"{size / 1e6:.0f} MB, {what}: seconds of the processor", *own(with_spread(seconds))))
        lines.append(tables.line(f"{size / 1e6:.0f} MB, {what}: times the copy", *own(with_spread(ratio))))
    if data.get("start"):
        start = data["start"]
        lines.append(tables.line(f"start, {scaling.LAYERS_AT_START} layers: milliseconds of the processor", *own(with_spread(start["ms"]))))
        lines.append(tables.line(f"start, {scaling.LAYERS_AT_START} layers: peak memory, MB", *own(short(start["peak"] / 1e6))))
    for row in data.get("weights", []):
        named = f"{row['model']}, {row['bytes'] / 1e6:.0f} MB"
        speed = ("GB a second of a core", lambda m: short(row["bytes"] / 1e9 / m["seconds"][0]))
        for what, cell in (*TIMES, speed):
            lines.append(tables.line(f"{named}: {what}", *(cell(row[who]) if who in row else "" for who in WHO)))
    for what, seconds, peak in data.get("graphs", []):
        lines.append(tables.line(f"{what}: seconds of the processor", *own(with_spread(seconds))))
        lines.append(tables.line(f"{what}: peak memory, MB", *own(short(peak[0] / 1e6))))
    for alone, words in ("trace", "torch.jit.trace"), ("export", "torch.export.export"):
        if data.get("package"):
            ratio, more = data["package"][alone]
            lines.append(tables.line(f"`pt2onnx.export` of resnet18: times `{words}` alone", *own(with_spread(ratio))))
            lines.append(tables.line(f"`pt2onnx.export` of resnet18: memory beyond it, MB", *own(f"{more / 1e6:.0f}")))
    if data.get("package"):
        lines.append(tables.line("`import pt2onnx`, without torch: milliseconds", *own(with_spread(data["package"]["import"]))))
    for kind, (size, _, slope, _) in sorted(data.get("growth", {}).items()):
        lines.append(tables.line(f"slope of instructions at {size:,} {scaling.KINDS[kind][2]} (`{kind}`)", *own(f"{slope:.2f}")))
    rounds = sorted({n for row in data["sizes"] for n in row["rounds"].values()})
    filled = f"Filled by {', '.join(f'`{run}`' for run in data['runs'])}, rounds: {' to '.join(sorted({str(rounds[0]), str(rounds[-1])}, key=int)) if rounds else 0}."
    return "\n".join([*lines, "", filled])


def draw(data, path):
    """Time and memory against size, on logarithmic scales; bars from the least to the most of the rounds."""
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plot
    matplotlib.rcParams["svg.hashsalt"] = "pt2onnx"                 # the same plot, the same bytes
    figure, both = plot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for axes, what, unit, label in ((both[0], "seconds", 1, "seconds of the processor"), (both[1], "peak", 1e6, "peak memory, MB")):
        for who in WHO:
            rows = [row for row in data["sizes"] if who in row]
            middle, least, most = zip(*([v / unit for v in row[who][what]] for row in rows)) if rows else ((), (), ())
            bars = [[m - a for m, a in zip(middle, least)], [b - m for m, b in zip(middle, most)]]
            axes.errorbar([row["bytes"] / 1e6 for row in rows], middle, yerr=bars, marker=".", capsize=2, label=LABELS[who])
        axes.set(xscale="log", yscale="log", xlabel="size of the saved model, MB", ylabel=label)
        axes.grid(True, alpha=0.3)
    both[0].legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    print(f"wrote {path}")


def write_table(data, check):
    """docs/bench.md has it. False: check, and it has another."""
    return tables.put(PAGE, table(data), "bench", check, f"{DATA.relative_to(TOP)}: tools/bench_page.py --table")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", type=pathlib.Path, default=TOP / "build" / "pt2onnx")
    p.add_argument("--only", choices=PARTS)
    p.add_argument("--rounds", type=int, default=ROUNDS)
    for flag in ("--keep", "--table", "--check"):
        p.add_argument(flag, action="store_true")
    a = p.parse_args()
    if a.table or a.check:
        return 0 if write_table(json.loads(DATA.read_text()), a.check) else 1
    pt2onnx = a.pt2onnx.resolve()
    versus.CACHE.mkdir(parents=True, exist_ok=True)
    kept = DATA if a.keep else pt2onnx.parent / "bench.json"
    data = json.loads(kept.read_text()) if kept.exists() and a.only else {"sizes": [], "start": {}, "growth": {}, "runs": []}
    said = "tools/bench_page.py --keep" + (f" --rounds {a.rounds}" if a.rounds != ROUNDS else "") + (f" --only {a.only}" if a.only else "")
    data["runs"] = [run for run in data["runs"] if run != said and a.only] + [said if a.only or a.rounds != ROUNDS else "make bench KEEP=1"]
    if a.only in (None, "sizes"):
        data["sizes"] = sizes(pt2onnx, a.rounds)
    if a.only in (None, "start"):
        data["start"] = in_memory(lambda work: scaling.measure_start(work, [("", str(pt2onnx))])[0])
    if a.only in (None, "growth"):
        data["growth"] = growth(pt2onnx)
    for part, measure in (("outputs", outputs), ("weights", weights), ("graphs", graphs), ("package", package)):
        if a.only in (None, part):
            data[part] = measure(pt2onnx, a.rounds)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    print(table(data))
    if a.only in (None, "sizes"):
        draw(data, PLOT if a.keep else pt2onnx.parent / "bench.svg")
    steep = [kind for kind, (*_, good) in data["growth"].items() if not good]
    print("".join(f"{kind}: steeper than linear\n" for kind in steep), end="")
    return 0 if (not a.keep or write_table(data, False)) and not steep else 1


if __name__ == "__main__":
    sys.exit(main())
