"""command.py - python -m pt2onnx compare MODEL [NET.onnx] [ARG..]"""
import argparse
import ast
import importlib.util
import os
import re
import sys

SPEC = re.compile(r"(bool|u?int\d+|b?float\d+|complex\d+)(?:\[([\d,\s]*)\])?(?:=(-?\d+)\.\.(-?\d+))?$")
DYNAMIC = 2                             # what a size is that the file leaves open and nobody gives

HELP = """MODEL is FILE.py:FUNCTION, which is called and gives a module, or a pair of module and arguments; or a saved program, .pt or .pt2.
NET.onnx is its conversion; without it the model is exported for the comparison.
Each ARG is an argument of the model: float32[1,3,224,224], float32[4]=0..1 and int64[2,16]=0..99 are random numbers, x.npy and x.pt are files,
and anything else is a value of Python. Without any, those that FUNCTION gives are taken, or the inputs that a file has, an open size being %d.""" % DYNAMIC


def parser():
    p = argparse.ArgumentParser(prog="python -m pt2onnx compare", epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter,
                                description="Find the first place where a model in ONNX Runtime gives other numbers than in torch.")
    p.add_argument("model", metavar="MODEL")
    p.add_argument("rest", nargs="*", metavar="[NET.onnx] ARG")
    p.add_argument("--html", metavar="FILE", help="write a page, with the error along the model")
    p.add_argument("--opset", type=int, metavar="N", help="of the export, where no NET.onnx is given")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="of the random numbers (default: 0)")
    p.add_argument("--no-float64", action="store_true", help="do not run torch in float64")
    p.add_argument("--no-times", action="store_true", help="do not measure the modules")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return p


def main(argv):
    """0: they agree; 1: they part; 2: nothing was compared, and one message says why. What is no error of the user's keeps its traceback."""
    o = parser().parse_args(argv)
    rest = list(o.rest)
    net = rest.pop(0) if rest and rest[0].endswith(".onnx") else None
    import torch
    torch.manual_seed(o.seed)
    try:
        check_page(o.html)
        model, args, kwargs = loaded(o.model)
        if rest:
            args, kwargs = placed([argument(a) for a in rest], kwargs)
        net = net or converted(o.model, o.opset)
        if args is None:
            args = example_of(net) if net else without_arguments(o.model, model)
        found = run(o, model, args, kwargs, net)
        print(found)
        if o.html:
            found.save(o.html)
            print("page: %s" % o.html)
    except Exception as e:
        if not isinstance(e, (OSError, ValueError, RuntimeError, TypeError)) and not type(e).__module__.startswith("onnxruntime"):
            raise
        print("pt2onnx: %s" % str(e).strip(), file=sys.stderr)
        return 2
    return 0 if found.ok else 1


def check_page(path):
    """Before the comparison, which may take long."""
    folder = os.path.dirname(path or "") or os.curdir
    if not os.path.isdir(folder):
        raise ValueError("%s: there is no folder %s" % (path, folder))
    if path and os.path.isdir(path):
        raise ValueError("%s: this is a folder" % path)


def run(o, model, args, kwargs, net):
    from . import compare
    progress = None if o.quiet else lambda text: print("  %s .." % text, file=sys.stderr)
    export = {"opset_version": o.opset} if o.opset and not net else {}
    return compare(model, args, net, kwargs=kwargs, float64=not o.no_float64, times=not o.no_times, progress=progress, **export)


def placed(values, kwargs):
    """(positional, named): a program of torch.export takes by name what it was exported with by name, which comes last in ARG.."""
    first = max(len(values) - len(kwargs), 0)
    return tuple(values[:first]), dict(zip(kwargs, values[first:]))


def loaded(what):
    """(model, arguments or None, arguments by name) of FILE.py:FUNCTION or of a saved program."""
    import torch
    if what.endswith(".pt2"):
        program = read(what, torch.export.load)
        return (program.module(), *(program.example_inputs or (None, {})))
    if what.endswith(".py"):
        raise ValueError("%s: which function gives the model? %s:FUNCTION" % (what, what))
    source, sep, name = what.rpartition(":")
    if not (sep and source.endswith(".py")):
        return read(what, torch.jit.load, map_location="cpu").eval(), None, {}
    made = getattr(module_of(source), name, None)
    if made is None:
        raise ValueError("%s has no %s" % (source, name))
    return (*checked(what, made if isinstance(made, torch.nn.Module) or not callable(made) else made()), {})


def read(path, load, **options):
    """What load gives of a file. A file that it does not take ends in many kinds of errors: of zip, pickle, NumPy."""
    try:
        return load(path, **options)
    except OSError:
        raise
    except Exception as e:
        raise ValueError("%s cannot be read: %s: %s" % (path, type(e).__name__, str(e).strip().partition("\n")[0])) from e


def checked(what, made):
    """(model, arguments or None) of what the function has given."""
    import torch
    model, args = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(model, (torch.nn.Module, torch.jit.ScriptFunction)):
        raise ValueError("%s gives an object of type %s, where a module, or a pair of module and arguments, is needed" % (what, type(made).__name__))
    return model, args if args is None or isinstance(args, tuple) else (args,)


def without_arguments(what, model):
    """A module in hand says nothing of its inputs."""
    from ..arguments import placed, signature_of
    needed = [p.name for p in placed(signature_of(model)) if p.default is p.empty]
    if needed:
        raise ValueError("%s gives a module without arguments, and its forward takes %s: write them behind it (float32[1,3,224,224]), or let the "
                         "function give a pair of module and arguments" % (what, ", ".join(needed)))
    return ()


def module_of(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if not os.path.exists(path):
        raise ValueError("%s: there is no such file" % path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)           # dataclasses look there; a module of torch's or Python's keeps its name
    spec.loader.exec_module(module)
    return module


def converted(what, opset):
    """A saved program is converted beside its own file's name, in a temporary folder; a module in hand: None, it is exported later."""
    if ":" in os.path.basename(what) or not what.endswith((".pt", ".pt2", ".ptl", ".pth")):
        return None
    import atexit
    import shutil
    import tempfile

    from ..files import convert
    folder = tempfile.mkdtemp(prefix="pt2onnx-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "model.onnx")
    convert(what, path, **({"opset": opset} if opset else {}))
    return path


def argument(text):
    """float32[1,3,8,8], int64[4]=0..9, x.npy, x.pt, or a value of Python."""
    import torch
    if text.endswith(".npy"):
        import numpy
        return torch.from_numpy(read(text, numpy.load))
    if text.endswith((".pt", ".pth")):
        return read(text, torch.load)
    spec = SPEC.match(text.strip())
    if spec:
        sizes = [int(s) for s in (spec.group(2) or "").split(",") if s.strip()]
        dtype = getattr(torch, spec.group(1), None)
        if not isinstance(dtype, torch.dtype):
            raise ValueError("%s: torch has no type %s" % (text, spec.group(1)))
        return between(text, dtype, sizes, int(spec.group(3)), int(spec.group(4))) if spec.group(3) else random(dtype, sizes, 9)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError("%s: neither TYPE[SIZES], a .npy or .pt file, nor a value of Python" % text) from None


def between(text, dtype, sizes, least, most):
    """Random numbers, each as likely as another: what `text` asks for."""
    import torch
    if dtype.is_complex:
        raise ValueError("%s: complex numbers have no range" % text)
    if least > most:
        raise ValueError("%s: %d is more than %d" % (text, least, most))
    if dtype.is_floating_point:
        return least + (most - least) * torch.rand(sizes, dtype=dtype)
    return torch.randint(least, most + 1, sizes).to(dtype)


def random(dtype, sizes, most):
    """Floats have a normal distribution, whole numbers go from 0 to `most`."""
    import torch
    if dtype == torch.bool:
        return torch.rand(sizes) < 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(sizes, dtype=dtype)
    return torch.randint(0, most + 1, sizes, dtype=dtype)


def example_of(path):
    """Random inputs of the types and sizes that the file gives."""
    import numpy
    import torch

    from ..states import state_outputs
    from .onnx_run import loaded, numpy_type
    proto = loaded(path)
    with_value = {t.name for t in proto.graph.initializer} | set(state_outputs(proto))
    found = []
    for i in proto.graph.input:
        t = i.type.tensor_type
        if i.name in with_value:
            continue
        if not i.type.HasField("tensor_type"):
            raise ValueError("the input %s is no tensor: give the arguments" % i.name)
        dtype = torch.from_numpy(numpy.zeros(0, numpy_type(t.elem_type))).dtype
        found.append(random(dtype, [d.dim_value or DYNAMIC for d in t.shape.dim], 1))
    return tuple(found)
