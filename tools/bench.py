#!/usr/bin/env python3
"""Time and peak memory of pt2onnx beside `cp` and torch.onnx, from the same minute, as ratios; what the sandbox costs.

    tools/bench.py --pt2onnx build/pt2onnx          # PEERS=all: torch.onnx for the long chains too

Best of five, file cache warm, output removed between runs; a peer that is slow gets as many rounds as begin within a minute.
`cp` copies the same file and waits until it is on the disk (`sync`), as pt2onnx does. For torch.onnx and for the Python package the seconds are those of export() alone, the peak is that
of the process. Last, what an installed pt2onnx takes on disk. Models come from tests/models and tools/write_chain.py, modules from tools/peers.py.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tools"))
import write_chain                                                  # noqa: E402

CACHE = os.path.abspath(os.environ.get("PT2ONNX_CACHE", os.path.join(TOP, ".cache")))
ROUNDS = 5
PEER_LAYERS = 1000

PEERS = ("torchscript", "dynamo")
PATIENCE = 60                           # seconds for one peer and model: after that no round more
MODULES = (("resnet18", "1,3,224,224"), ("bert_base", "1,128"), ("chain_1000", "2,8"))


def measure(command, out):
    """Best time and its peak of ROUNDS; None after a failure."""
    best = None
    for _ in range(ROUNDS):
        remove(out)
        done = subprocess.run([sys.executable, "-I", "-S", os.path.join(TOP, "tools", "measure.py"), *command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        m = json.loads(done.stdout)
        if m["code"] or not os.path.exists(out):
            print("    failed: %s" % (done.stderr.strip()[:300] or "nothing was written"))
            return None
        if not best or m["seconds"] < best["seconds"]:
            best = m
    return best


def peer(source, out, shape, how, library=""):
    """Best time and its peak, of tools/peers.py; None after a failure."""
    best, began = None, time.monotonic()
    environment = dict(os.environ, PYTHONPATH=os.path.join(TOP, "python"), PT2ONNX_LIBRARY=library)
    for i in range(ROUNDS):
        if i and time.monotonic() - began > PATIENCE:
            break
        remove(out)
        done = subprocess.run([sys.executable, os.path.join(TOP, "tools", "peers.py"), how, source, out, shape], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode or (how != "alone" and not os.path.exists(out)):
            print("    %s: %s" % (how, (done.stderr.strip().split("\n") or ["?"])[-1][:200]))
            return None
        m = json.loads(done.stdout.strip().split("\n")[-1])
        if not best or m["seconds"] < best["seconds"]:
            best = m
    return best


def remove(path):
    for p in (path, path + ".data"):
        if os.path.exists(p):
            os.remove(p)


def warm(path):
    with open(path, "rb") as f:
        while f.read(1 << 22):
            pass


def models(folder):
    """(label, file, input shape, layers or None)"""
    made = os.environ.get("PT2ONNX_MODELS", os.path.join(CACHE, "models"))
    for name, shape in (("resnet18.traced", "2,3,64,64"), ("vit_b_16.traced", "2,3,64,64")):
        path = os.path.join(made, "vision", name + ".pt")
        if not os.path.exists(path):
            subprocess.run(["/usr/bin/python3", os.path.join(TOP, "tests", "models", "make_models.py"), made, "--only", name], check=True)
        yield name.split(".")[0], path, shape, None
    for layers, width in ((1000, 8), (4000, 8), (16000, 8), (31, 2048)):
        path = os.path.join(folder, "chain_%d_%d.pt" % (layers, width))
        if not os.path.exists(path):
            write_chain.write(path, layers, width)
        yield "500 MB" if width > 8 else "chain of %d" % layers, path, "2,%d" % width, layers


def modules(library, scratch):
    """From the nn.Module, as the Python package exports it: each exporter in a process of its own."""
    out, failed = os.path.join(scratch, "out.onnx"), 0
    print("\nfrom the nn.Module: seconds of export(), peak of the process; ratios are to pt2onnx\n")
    for name, shape in MODULES:
        print("%s: input %s" % (name.replace("_", "-"), shape))
        ours = peer(name, out, shape, "pt2onnx", library)
        if not ours:
            failed += 1
            continue
        alone = peer(name, out, shape, "alone")
        if alone:
            print("    %-24s %12s  %8.1f MB" % ("PyTorch and the model", "", alone["peak"] / 1e6))
        line("pt2onnx.export", ours, ours)
        for how in PEERS:
            m = peer(name, out, shape, how)
            if m:
                line("torch.onnx, " + how, m, ours)
        remove(out)
    return failed


def line(label, m, base):
    ratio = "  %8.2f x   %6.2f x" % (m["seconds"] / base["seconds"], m["peak"] / base["peak"]) if m is not base else ""
    print("    %-24s %9.1f ms  %8.1f MB%s" % (label, m["seconds"] * 1e3, m["peak"] / 1e6, ratio), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--pt2onnx", default=os.path.join(TOP, "build", "pt2onnx"))
    p.add_argument("--no-peers", action="store_true")
    o = p.parse_args()
    every = os.environ.get("PEERS") == "all"
    folder = os.path.join(CACHE, "bench")
    os.makedirs(folder, exist_ok=True)
    times, failed = {}, 0
    print("time, peak memory; ratios are to cp\n")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for label, path, shape, layers in models(folder):
            out = os.path.join(scratch, "out.onnx")
            print("%s: %.1f MB" % (label, os.path.getsize(path) / 1e6))
            warm(path)
            copy = measure(["sh", "-c", 'cp "$1" "$2" && sync "$2"', "cp", path, out], out)
            line("cp", copy, copy)
            ours = measure([o.pt2onnx, "-q", path, "-o", out, "-i", "x:float32[%s]" % shape], out)
            if not ours:
                failed += 1
                continue
            line("pt2onnx", ours, copy)
            times[label] = (ours, copy)
            if not o.no_peers and (layers is None or layers <= PEER_LAYERS or every):
                for how in PEERS:
                    m = peer(path, out, shape, how)
                    if m:
                        line("torch.onnx, " + how, m, copy)
            remove(out)
        if not o.no_peers:
            failed += modules(os.path.join(os.path.dirname(os.path.abspath(o.pt2onnx)), "libpt2onnx.so"), scratch)
    cost = sandbox_cost(o.pt2onnx)
    print("\nthe sandbox\n    %-24s %9.2f ms" % ("of `pt2onnx check`", cost))
    sizes(os.path.dirname(os.path.abspath(o.pt2onnx)), folder)
    print("\nwhat is promised")
    for what, good, value in promises(times, cost):
        failed += not good
        print("  %s  %s: %s" % ("ok  " if good else "MISS", what, value))
    return 1 if failed else 0


def sandbox_cost(program):
    """Milliseconds between `check` of a small model inside the sandbox and outside: the least of 300 runs each, taken in turns."""
    command = [program, "check", "-q", os.path.join(TOP, "tests", "cli", "files", "net.pt"), "-i", "x:float32[1,3]"]
    best = {}
    for i in range(2 * 300):
        options = () if i % 2 else ("--no-sandbox",)
        start = time.perf_counter()
        subprocess.run([*command, *options], check=True)
        best[options] = min(best.get(options, 1.0), time.perf_counter() - start)
    return (best[()] - best[("--no-sandbox",)]) * 1e3


def sizes(build, folder):
    """What `make install` puts where."""
    print("\ninstalled, without debug information")
    with tempfile.TemporaryDirectory(dir=folder) as prefix:
        subprocess.run(["cmake", "--install", build, "--strip", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        for at, _, names in sorted(os.walk(prefix)):
            for name in sorted(names):
                path = os.path.join(at, name)
                print("    %-24s %8.1f MB" % (os.path.relpath(path, prefix), os.path.getsize(path) / 1e6))


def promises(times, cost):
    yield "the sandbox under 1 ms", cost < 1, "%.2f ms" % cost
    if "resnet18" in times:
        ours, copy = times["resnet18"]
        yield "resnet18 at most 2 times cp plus 10 ms", ours["seconds"] <= 2 * copy["seconds"] + 0.010, "%.1f ms, cp %.1f ms" % (ours["seconds"] * 1e3, copy["seconds"] * 1e3)
    if "chain of 4000" in times:
        seconds = times["chain of 4000"][0]["seconds"]
        yield "4,000 layers under 0.2 s", seconds < 0.2, "%.3f s" % seconds
        if "chain of 16000" in times:
            ratio = times["chain of 16000"][0]["seconds"] / seconds
            yield "16,000 layers at most 4.5 times that", ratio <= 4.5, "%.2f times" % ratio


if __name__ == "__main__":
    sys.exit(main())
