"""Programs made at random: torch's results against those of our ONNX, and wherever they differ the smallest program that still does.

A program is a tree of statements (random_tree.py, made by random_maker.py), which `smaller` can prune.

    python tests/script/random_programs.py 0 500            # seeds 0 to 499, scripted; --form training|decomposed|core for .pt2
    python tests/script/random_programs.py 17 18 --print    # the program of one seed
"""
import argparse
import collections
import importlib.util
import itertools
import os
import sys
import tempfile
import warnings

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from random_maker import Maker                                  # noqa: E402
from random_tree import Block, Results, Seq, source                # noqa: E402
from scripted import flat, oracle                                   # noqa: E402

SIZES = ("-i", "x:float32[N,4,3]", "-i", "y:float32[4,3]")


# ---- one program: torch, pt2onnx, ONNX Runtime ----

numbers = itertools.count()


def module_of(text, folder):
    name = "random_program_%d" % next(numbers)
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Net().eval()


def inputs():
    g = torch.Generator().manual_seed(5)
    return [(torch.randint(-3, 5, (n, 4, 3), generator=g).float(), torch.randint(-2, 4, (4, 3), generator=g).float()) for n in (2, 1, 3, 5)]


class Verdict(Exception):
    def __init__(self, kind, text):
        self.kind, self.text = kind, text
        super().__init__(text)


def saved(text, form, folder):
    """(path, the module to run), or a Verdict: torch itself does not take this program."""
    try:
        net = module_of(text, folder)
        if form == "script":
            path = os.path.join(folder, "model.pt")
            torch.jit.script(net).save(path)
            return path, torch.jit.load(path)
        path = os.path.join(folder, "model.pt2")
        n = torch.export.Dim("N", min=1, max=64)
        program = torch.export.export(net, inputs()[0], dynamic_shapes=({0: n}, None), strict=False)
        if form == "decomposed":
            program = program.run_decompositions({})
        if form == "core":
            program = program.run_decompositions()
        if all(str(d).isdigit() for node in program.graph.nodes if node.name == "x" for d in node.meta["val"].shape):
            raise Verdict("torch", "the program is one for a single size")
        torch.export.save(program, path)
        return path, torch.export.load(path).module()   # decomposing decides for one size whether contiguous copies
    except Verdict:
        raise
    except Exception as e:
        raise Verdict("torch", "%s: %s" % (type(e).__name__, str(e).strip().splitlines()[0] if str(e).strip() else ""))


def wanted(module):
    """Runs until torch itself raises; state goes on from one to the next."""
    out = []
    with torch.jit.optimized_execution(False), torch.no_grad():
        for x, y in inputs():
            try:
                got = flat(module(x.clone(), y.clone()))
            except Exception:
                break
            out.append(([x.numpy(), y.numpy()], [a.copy() for a in got]))
    if not out:
        raise Verdict("torch", "it raises")
    return out


def judge(text, form, folder, opsets=(18,), options=()):
    """None where all is right; else raises a Verdict: torch, refused, or wrong."""
    path, module = saved(text, form, folder)
    runs = wanted(module)
    if any(abs(a).max(initial=0) > 2 ** 22 for _, arrays in runs for a in arrays):
        raise Verdict("torch", "numbers beyond what float32 tells apart")
    sizes = SIZES if form == "script" else ()
    for opset in opsets:
        out = os.path.join(folder, "model.onnx")
        done = oracle.convert(path, out, "--opset", str(opset), *sizes, *options)
        if done.returncode == 1:
            raise Verdict("refused", done.stderr)
        if done.returncode:
            raise Verdict("wrong", "exit %d at opset %d: %s" % (done.returncode, opset, done.stderr))
        try:
            oracle.check(out)
            oracle.run(out, runs)
        except Exception as e:
            raise Verdict("wrong", "opset %d: %s: %s" % (opset, type(e).__name__, str(e)[:400]))


# ---- smaller ----

def places(nodes):
    """Every list of nodes in the tree."""
    yield nodes
    for node in nodes:
        for _, body in getattr(node, "parts", []):
            yield from places(body)
        if isinstance(node, Seq):
            yield from places(node.nodes)


def smaller(tree, fails):
    """Take away whatever the failure does not need."""
    changed = True
    while changed:
        changed = False
        for nodes in list(places(tree)):
            i = 0
            while i < len(nodes):
                node = nodes[i]
                tries = [[]]
                for _, body in getattr(node, "parts", []):
                    if len(getattr(node, "parts", [])) >= 1 and not node.parts[0][0].startswith("def"):
                        tries.append(body)
                if isinstance(node, Results) and nodes is tree[-1].parts[0][1]:
                    tries = []
                    for item in node.items + node.more:
                        if item not in node.dropped:
                            node.dropped.add(item)
                            if fails(tree):
                                changed = True
                            else:
                                node.dropped.discard(item)
                for new in tries:
                    nodes[i:i + 1] = new
                    if fails(tree):
                        changed = True
                        break
                    nodes[i:i + len(new)] = [node]
                else:
                    i += 1
                    continue
                if isinstance(node, Block) and new and nodes is not tree:
                    continue
    return tree


def make(seed, form):
    return Maker(seed, form != "script").program()


def shrink(seed, form, folder, kind, opsets, same=None):
    def fails(tree):
        try:
            judge(source(tree, form != "script"), form, folder, opsets)
        except Verdict as v:
            return v.kind == kind and (same is None or same in v.text)
        return False
    return source(smaller(make(seed, form), fails), form != "script")


def reason(text):
    lines = text.strip().splitlines() or [""]
    line = next((line for line in lines if line.startswith("pt2onnx: ")), lines[0])          # behind the notes
    return line.split(": ", 2)[-1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("first", type=int)
    p.add_argument("last", type=int)
    p.add_argument("--form", default="script", choices=["script", "training", "decomposed", "core"])
    p.add_argument("--opset", type=int, action="append")
    p.add_argument("--print", action="store_true", dest="show")
    p.add_argument("--shrink", action="store_true", help="make wrong programs smaller before they are printed")
    p.add_argument("--refused", metavar="TEXT", help="print (with --shrink, smaller) programs that are refused with this text")
    p.add_argument("--torch", action="store_true", help="say what torch does not take")
    args = p.parse_args()
    warnings.simplefilter("ignore")
    opsets = args.opset or [18]
    seen, why = collections.Counter(), collections.Counter()
    wrong = False
    for seed in range(args.first, args.last):
        text = source(make(seed, args.form), args.form != "script")
        if args.show:
            print(text)
        with tempfile.TemporaryDirectory() as folder:
            kind = "right"
            try:
                judge(text, args.form, folder, opsets)
            except Verdict as v:
                kind = v.kind
                if kind in ("refused", "torch"):
                    why[kind + ": " + reason(v.text)] += 1
                picked = kind == "wrong" or (kind == "refused" and args.refused is not None and args.refused in v.text)
                wrong = wrong or kind == "wrong"
                if picked or args.show:
                    print("seed %d: %s: %s" % (seed, kind, v.text.strip()), flush=True)
                if picked and args.shrink:
                    print(shrink(seed, args.form, folder, kind, opsets, args.refused if kind == "refused" else None), flush=True)
        seen[kind] += 1
    print(dict(seen))
    for text, n in why.most_common(60):
        if args.torch or not text.startswith("torch"):
            print("%5d  %s" % (n, text))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
