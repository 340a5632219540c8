#!/usr/bin/env python3
"""Make saved programs with inputs and torch's own outputs, one recipe per model.

    python3 tests/models/make_models.py [--only PATTERN,..] [--set vision|export|toys] [--corpus] FOLDER

Run once with each PyTorch: torch 1.13 with torchvision makes vision/ and toys113/, torch 2.x makes export/ and
toys213/; with --corpus also the sets that `make test` does without. What exists is skipped, so a stopped run goes on where it was. A recipe that fails is reported and the
others go on; the exit code is 1 then.
"""
import argparse
import fnmatch
import importlib.util
import os
import sys
import time
import traceback
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch                                        # noqa: E402
from recipe import FORMS                            # noqa: E402


def sets(corpus):
    """(folder, recipes) that this PyTorch can make; those of `make corpus` alone when asked for."""
    import toys
    if torch.__version__.startswith("1."):
        import families
        import vision
        found = [("toys113", toys.recipes(["traced", "scripted"])), ("vision", vision.RECIPES)] + (families.SETS if corpus else [])
        if corpus and importlib.util.find_spec("torchaudio"):
            import audio
            found.append(("audio", audio.RECIPES))
        if corpus and importlib.util.find_spec("timm"):
            import timm_families
            found.append(("timm", timm_families.RECIPES))
        return found
    import exported
    import programs
    import scripts
    found = [("export", exported.RECIPES), ("programs", programs.RECIPES + scripts.RECIPES), ("toys213", toys.recipes(["traced", "scripted", "pt2", "pt2.dec"]))]
    if corpus:
        import demand
        import exports
        found += [("demand", demand.RECIPES), ("exports", exports.RECIPES)]
    if corpus and importlib.util.find_spec("transformers"):
        import transformer_families
        import transformer_more
        found.append(("transformers", transformer_families.RECIPES + transformer_more.RECIPES))
    elif corpus:
        print("make_models: this Python has no transformers: its families are left out", flush=True)
    return found


def wanted(patterns, name):
    """Any of "resnet*,classification": part of SET/NAME.FORM, or a glob over it."""
    return not patterns or any(p in name or fnmatch.fnmatch(name, p) for p in patterns.split(","))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--only", default=os.environ.get("ONLY", ""), metavar="PATTERN,..", help="parts of, or globs over, SET/NAME.FORM")
    p.add_argument("--set", default="", metavar="NAME", help="only sets whose name starts so")
    p.add_argument("--corpus", action="store_true", help="also the sets of `make corpus` alone")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="PyTorch's; 1 takes a third of the processor time where others run beside it")
    p.add_argument("-q", action="store_true", help="say only what failed")
    o = p.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(o.threads)

    todo = [(name, r, form) for name, recipes in sets(o.corpus) if name.startswith(o.set)
            for r in recipes for form in r.forms if wanted(o.only, "%s/%s.%s" % (name, r.name, form))]
    failed = 0
    for i, (name, r, form) in enumerate(todo):
        folder = os.path.join(o.folder, name)
        os.makedirs(folder, exist_ok=True)
        label = "%s/%s.%s" % (name, r.name, form)
        if os.path.exists(os.path.join(folder, "%s.%s.json" % (r.name, form))):
            continue
        start = time.time()
        try:
            FORMS[form](r, folder)
        except Exception as e:
            failed += 1
            print("[%d/%d] %s FAILED: %s" % (i + 1, len(todo), label, str(e).strip().split("\n")[0][:200]), flush=True)
            if os.environ.get("TRACEBACK"):
                traceback.print_exc()
            continue
        if not o.q:
            print("[%d/%d] %s %.1f s" % (i + 1, len(todo), label, time.time() - start), flush=True)
    print("make_models (torch %s): %d models, %d failed" % (torch.__version__.split("+")[0], len(todo), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
