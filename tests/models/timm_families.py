"""timm_families.py - timm's networks for images, the smallest of each family (a family is a module of timm.models), for `make corpus` where
PyTorch 1.13's Python has timm: traced and scripted, with an dynamic batch."""
import timm
import torch

from recipe import Recipe

SMALL = ("atto", "femto", "pico", "nano", "tiny", "micro", "xxs", "_xs", "xx", "small", "_s", "mini", "18", "0_5", "050", "b0", "_t", "p24", "s12", "s24", "lite", "005",
         "002", "lambda", "test")
LARGE = ("large", "giant", "huge", "_xl", "gigantic", "enormous")


def smallest(family):
    """The model whose name says so, or else has the shortest name."""
    names = [n for n in timm.list_models(module=family) if not any(w in n for w in LARGE)]
    return min(names, key=lambda n: (next((i for i, w in enumerate(SMALL) if w in n), len(SMALL)), len(n), n), default=None)


def recipe(name, form):
    size = timm.models.get_pretrained_cfg(name).input_size
    return Recipe(name, lambda: timm.create_model(name, pretrained=False, scriptable=form == "scripted"), lambda n: (torch.randn(n, *size),), [form],
                  batches=(1, 2), dynamic="N")


NAMES = sorted({n for n in map(smallest, timm.list_modules()) if n})
RECIPES = [recipe(name, form) for name in NAMES for form in ("traced", "scripted")]
