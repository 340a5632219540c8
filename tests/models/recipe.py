"""recipe.py - what a model recipe is, and how its files are written.

A recipe makes one module with seeded, random weights and its example inputs; saving it gives three files
beside each other in the cache:

    resnet18.traced.pt     the saved program: what pt2onnx is given
    resnet18.traced.npz    runs: "0.in0", "0.out0", "1.in0", .. inputs and torch's own outputs, flattened; of a model that
                           keeps state the runs follow one another, and "state.NAME" is what it is saved with
    resnet18.traced.json   what a test must know: inputs, SPECs, state_dict, modules, tags

The .json is written last, so a model whose .json exists is complete. Works with torch 1.13 and 2.13.
"""
import copy
import functools
import inspect
import json
import os
import zipfile
import zlib

import numpy
import torch
from torch.utils import _pytree as pytree


class Recipe:
    """make() returns a module; inputs(*size) the arguments of forward: a tuple, or a dict of keywords."""

    def __init__(self, name, make, inputs, forms, tags=(), batches=(2,), dynamic=None):
        self.name = name
        self.make = make
        self.inputs = inputs
        self.forms = forms          # of FORMS
        self.tags = list(tags)
        self.batches = batches      # sizes to record a run for, numbers or tuples; the first is the example
        self.shapes = None          # dynamic_shapes of the forms without .dyn; dynamic numbers are inputs then
        self.dynamic = dynamic      # of dynamic forms: the name of the batch dimension, or {argument: {dimension: name}}


def randomise(module, seed=0):
    """No parameter may be an identity: a layer whose weights are 0 or 1 hides mistakes."""
    g = torch.Generator().manual_seed(seed)

    def uniform(t, low, high):
        t.copy_(torch.rand(t.shape, generator=g) * (high - low) + low)

    with torch.no_grad():
        for m in module.modules():
            if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
                if m.affine:
                    uniform(m.weight, 0.5, 1.5)
                    uniform(m.bias, -0.5, 0.5)
            elif isinstance(m, (torch.nn.LayerNorm, torch.nn.GroupNorm)) and m.weight is not None:
                uniform(m.weight, 0.5, 1.5)
                if m.bias is not None:
                    uniform(m.bias, -0.5, 0.5)
            elif type(m).__name__ == "FrozenBatchNorm2d":           # of detectors: buffers, and no batch to calibrate them with
                uniform(m.weight, 0.4, 0.8)
                uniform(m.bias, -0.2, 0.2)
                uniform(m.running_mean, -0.1, 0.1)
                uniform(m.running_var, 0.8, 1.2)
        for name, p in module.named_parameters():
            if p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                uniform(p, -0.1, 0.1)
            elif name.endswith("layer_scale"):
                uniform(p, 0.3, 0.8)
    return module


def calibrate(module, args):
    """Give every BatchNorm the statistics of a real batch, slightly moved: outputs of a deep random net then depend on its input."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for m in norms:
        m.momentum = None
        m.reset_running_stats()
        m.train()
    with torch.no_grad():
        call(module, args)
        for i, m in enumerate(norms):
            g = torch.Generator().manual_seed(1000 + i)
            m.running_mean.add_(0.1 * torch.randn(m.running_mean.shape, generator=g) * m.running_var.sqrt())
            m.running_var.mul_(0.8 + 0.4 * torch.rand(m.running_var.shape, generator=g)).add_(1e-3)
            m.momentum = 0.1
            m.eval()


def flatten(x):
    """Tensors and numbers of a result in order; None is not a value."""
    if x is None:
        return []
    if isinstance(x, torch.Tensor):
        return [x.detach().cpu().numpy().copy()]            # the next run may write to it
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in flatten(item)]
    if isinstance(x, dict):
        return [y for item in x.values() for y in flatten(item)]
    if fields(x):
        return [y for item in vars(x).values() for y in flatten(item)]
    if is_container(x):
        return flatten(pytree.tree_flatten(x)[0])
    return [numpy.asarray(x)]


def flatten_inputs(recipe, given):
    """Tensors, and where the recipe has dynamic sizes the numbers too; other numbers are part of the program."""
    if isinstance(given, torch.Tensor) or (recipe.shapes and type(given) is int) or is_container(given):
        return flatten(given)
    if hasattr(given, "keywords"):
        return flatten_inputs(recipe, list(split(given)))
    items = given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else vars(given).values() if fields(given) else []
    return [y for item in items for y in flatten_inputs(recipe, item)]


def fields(x):
    return hasattr(x, "__dataclass_fields__")


def is_container(x):
    """A class that somebody registered with torch: a cache of transformers."""
    return type(x) in pytree.SUPPORTED_NODES and not isinstance(x, (tuple, list, dict)) and not fields(x)


def spec(name, array, names=()):
    """The -i SPEC of an input; names: {dimension: its name} of the open ones."""
    dims = [str(names[i]) if i in names else str(d) for i, d in enumerate(array.shape)]
    return "%s:%s[%s]" % (name, array.dtype, ",".join(dims))


def write(folder, stem, suffix, save, model, recipe, runs, form, dynamic, state={}):
    """Save the program, its runs and, last, its description."""
    base = os.path.join(folder, stem)
    part = "%s.%d.part" % (base, os.getpid())
    save(part)
    os.replace(part, base + suffix)
    runs = runs()                               # after saving: a run may change what the model keeps
    arrays = {}
    for i, (args, outs) in enumerate(runs):
        for kind, values in (("in", flatten_inputs(recipe, args)), ("out", outs)):
            for j, a in enumerate(values):
                arrays["%d.%s%d" % (i, kind, j)] = a
    arrays.update({"state." + n: v for n, v in state.items()})
    with open(part, "wb") as f:
        numpy.savez(f, **arrays)
    os.replace(part, base + ".npz")
    args, keywords = split(runs[0][0])
    named = list(zip(parameters(model), args)) + list(keywords.items())
    numbers = ["%s=%s" % (n, a) for n, a in named if type(a) in (int, float, bool) and not recipe.shapes]      # part of the program
    leaves = [leaf for name, arg in named for leaf in named_leaves(name, arg, bool(recipe.shapes))]
    about = {
        "file": stem + suffix, "recipe": recipe.name, "form": form, "torch": torch.__version__, "tags": recipe.tags,
        "runs": len(runs), "outputs": len(runs[0][1]), "dynamic": bool(dynamic),
        "specs": numbers + [spec(n, a) for n, a in leaves],
        "dynamic_specs": numbers + [spec(n, a, open_dims(recipe, n)) for n, a in leaves],
        "state": sorted(model.state_dict().keys()),
        "weights": [n for n, t in model.named_parameters() if t.dim() >= 2],        # a tied one under its first name only
        "modules": sorted(n for n, _ in model.named_modules() if n),
    }
    with open(part, "w") as f:
        json.dump(about, f, indent=1, sort_keys=True)
    os.replace(part, base + ".json")


def open_dims(recipe, name):
    """{dimension: name} of an argument's open dimensions."""
    return recipe.dynamic.get(name, {}) if isinstance(recipe.dynamic, dict) else {0: recipe.dynamic or "N"}


def parameters(model):
    return list(inspect.signature(model.forward).parameters)


def named_leaves(name, x, numbers=False):
    """("xs.0", array) of every tensor in an argument, as -i names them; and of every number."""
    if isinstance(x, torch.Tensor):
        return [(name, x.detach().cpu().numpy())]
    if numbers and isinstance(x, int):
        return [(name, numpy.asarray(x))]
    items = (x.items() if isinstance(x, dict) else zip(x._fields, x) if hasattr(x, "_fields") else enumerate(x) if isinstance(x, (list, tuple))
             else vars(x).items() if fields(x) else [])
    return [leaf for key, value in items for leaf in named_leaves("%s.%s" % (name, key), value, numbers)]


def seeded_inputs(recipe, size, attempt=0):
    sizes = size if isinstance(size, tuple) else (size,)
    torch.manual_seed(zlib.crc32(("%s/%s" % (recipe.name, ",".join(map(str, sizes)))).encode()) + attempt)
    return recipe.inputs(*sizes)


def split(given):
    """(args, keywords): given as a tuple, a dict of keywords, or an object with both."""
    return (given.args, given.keywords) if hasattr(given, "keywords") else ((), given) if isinstance(given, dict) else (given, {})


def call(fn, given):
    args, keywords = split(given)
    return fn(*args, **keywords)


def at_least_four(size):
    """The same size with a batch that statistics can be taken of."""
    return (max(size[0], 4), *size[1:]) if isinstance(size, tuple) else max(size, 4)


@functools.lru_cache(maxsize=1)
def made(recipe):
    """The module and its example inputs, once for all forms of a recipe: not to be changed."""
    torch.manual_seed(zlib.crc32(recipe.name.encode()))
    model = recipe.make().eval()
    if "trained" not in recipe.tags:
        randomise(model, zlib.crc32(recipe.name.encode()))
    example = seeded_inputs(recipe, recipe.batches[0])
    if not isinstance(model, torch.jit.ScriptModule):
        larger = recipe.dynamic and "program" not in recipe.tags
        calibrate(model, seeded_inputs(recipe, at_least_four(recipe.batches[0])) if larger else example)
    return model.eval(), example


def built(recipe):
    """The same to do with as one likes. What cannot be copied (weights that are computed) is made anew."""
    model, example = made(recipe)
    try:
        return copy.deepcopy(model), clone(example)
    except Exception:                                                   # PyTorch's, of several kinds
        return made.__wrapped__(recipe)


def run_all(recipe, fn, batches):
    return [steady_run(recipe, fn, batch) if "discrete" in recipe.tags else run(fn, seeded_inputs(recipe, batch)) for batch in batches]


def run(fn, args):
    """(args, outputs) on fresh copies: a model may write into its input."""
    with torch.no_grad():
        return args, flatten(call(fn, clone(args)))


def steady_run(recipe, fn, batch):
    """A run that gives the same on one thread as on two. Where it does not, a rounding error has chosen between two boxes, and another
    runtime may choose the other: the next inputs are tried then."""
    for attempt in range(10):
        args, outs = run(fn, seeded_inputs(recipe, batch, attempt))
        threads = torch.get_num_threads()
        torch.set_num_threads(3 - min(threads, 2))
        again = run(fn, args)[1]
        torch.set_num_threads(threads)
        if all(a.shape == b.shape and numpy.allclose(a, b, rtol=1e-5, atol=1e-4) for a, b in zip(outs, again)):
            return args, outs
    raise ValueError("what it finds rests on rounding errors, with ten different inputs")


def clone(x):
    if isinstance(x, torch.Tensor):
        return x.clone()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(clone(y) for y in x))
    if isinstance(x, (list, tuple)):
        return type(x)(clone(y) for y in x)
    if isinstance(x, dict):
        return {k: clone(v) for k, v in x.items()}
    if hasattr(x, "keywords"):
        return type(x)(*clone(x.args), **clone(x.keywords))
    if fields(x):
        return type(x)(**{k: clone(v) for k, v in vars(x).items()})
    return copy.deepcopy(x) if is_container(x) else x


def kept(recipe, module):
    """What a model that keeps state holds now."""
    return {n: b.clone().numpy() for n, b in module.named_buffers()} if "state" in recipe.tags else {}


def in_order(model, given):
    """Keywords in the order of forward's parameters, which is that of a trace's inputs."""
    return {p: given[p] for p in parameters(model) if p in given} if isinstance(given, dict) else given


def save_traced(recipe, folder):
    model, example = built(recipe)
    recipe = copy.copy(recipe)
    given = recipe.inputs
    recipe.inputs = lambda *size: in_order(model, given(*size))
    args, keywords = split(in_order(model, clone(example)))
    with torch.no_grad():
        if keywords:                                                    # strict: no dict as a result
            program = torch.jit.trace(model, example_kwarg_inputs=keywords, strict=False, check_trace=False)
        else:
            program = torch.jit.trace(model, args, check_trace=False)
    runs = lambda: run_all(recipe, program, recipe.batches)
    write(folder, recipe.name + ".traced", ".pt", lambda p: torch.jit.save(program, p), model, recipe, runs, "traced", recipe.dynamic, kept(recipe, program))


def save_scripted(recipe, folder):
    model, _ = built(recipe)
    program = torch.jit.script(model)
    runs = lambda: run_all(recipe, program, recipe.batches)
    many = recipe.dynamic or "program" in recipe.tags
    write(folder, recipe.name + ".scripted", ".pt", lambda p: torch.jit.save(program, p), model, recipe, runs, "scripted", many, kept(recipe, program))


def shapes_of(recipe, example):
    if isinstance(recipe.dynamic, dict):
        return {name: {d: torch.export.Dim.DYNAMIC for d in recipe.dynamic.get(name, {})} for name in example}
    batch = torch.export.Dim(recipe.dynamic, min=1, max=64)
    return tuple({0: batch} if isinstance(a, torch.Tensor) else None for a in example)


@functools.lru_cache(maxsize=2)
def exported(recipe, dynamic, strict):
    """The program once for its forms, which run_decompositions makes new ones of; of a module that nobody runs, so that state stays."""
    model, example = built(recipe)
    args, keywords = split(example)
    with torch.no_grad():
        return torch.export.export(model, args, keywords, dynamic_shapes=shapes_of(recipe, example) if dynamic else recipe.shapes, strict=strict)


def save_exported(recipe, folder, form, dynamic=False, table=None, old=False, strict=False):
    """table: what run_decompositions is given; None leaves the program as exported."""
    model, _ = built(recipe)
    program = exported(recipe, dynamic, strict)
    if table is not None:
        with torch.no_grad():
            program = program.run_decompositions(*table)
    many = dynamic or recipe.shapes or "program" in recipe.tags or "state" in recipe.tags
    runs = lambda: run_all(recipe, model, recipe.batches if many else recipe.batches[:1])
    save = save_pt2_old if old else save_pt2
    write(folder, recipe.name + "." + form, ".pt2", lambda p: save(program, p), model, recipe, runs, form, many, kept(recipe, model))


def save_pt2(program, path):
    """torch.export.save names the archive's folder after its file, and wants .pt2: keep both steady."""
    folder = path + ".d"
    os.makedirs(folder, exist_ok=True)
    inner = os.path.join(folder, "model.pt2")
    torch.export.save(program, inner)
    os.replace(inner, path)
    os.rmdir(folder)


def save_pt2_old(program, path):
    """The layout up to torch 2.7: a flat zip by Python's zipfile, state and constants as nested torch.save archives."""
    from torch._export.serde.serialize import serialize
    parts = serialize(program)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("version", "8.5")
        z.writestr("serialized_exported_program.json", parts.exported_program)
        z.writestr("serialized_state_dict.pt", parts.state_dict)
        z.writestr("serialized_constants.pt", parts.constants)
        z.writestr("serialized_example_inputs.pt", parts.example_inputs)


FORMS = {
    "traced": save_traced,
    "scripted": save_scripted,
    "pt2": lambda r, d: save_exported(r, d, "pt2"),
    "pt2.aten": lambda r, d: save_exported(r, d, "pt2.aten", table=({},)),
    "pt2.dec": lambda r, d: save_exported(r, d, "pt2.dec", table=()),
    "pt2.old": lambda r, d: save_exported(r, d, "pt2.old", old=True),
    "pt2.strict": lambda r, d: save_exported(r, d, "pt2.strict", strict=True),
    "pt2.dyn": lambda r, d: save_exported(r, d, "pt2.dyn", dynamic=True),
    "pt2.dyn.dec": lambda r, d: save_exported(r, d, "pt2.dyn.dec", dynamic=True, table=()),
}
