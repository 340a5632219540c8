"""comparison - "my ONNX gives other numbers": the first place where a model in ONNX Runtime parts from torch.

    found = pt2onnx.compare(model, args, "net.onnx")    # the model in hand against its file
    print(found)                                        # verdict, place, how the error grows, modules
    found.save("net.html")

Needs torch, onnx, onnxruntime and numpy. Neither run is kept whole: values are reduced to prints as they come (prints.py)."""
import copy

import numpy
import torch

from .. import scripts
from ..arguments import arrange, as_tuple, divided, named_tensors, signature_of
from ..exporting import Export
from ..parameters import bind
from ..turns import Turn
from . import onnx_run, torch_run
from .feeds import fed, named_leaves
from .findings import Comparison, OutputError
from .matching import Match, Table
from .prints import noise

MINUTE_STEP = 500                       # nodes from one line of progress to the next


def compare(model, args=(), f=None, *, kwargs=None, names=None, float64=True, times=True, progress=None, **export):
    """Run a model in torch and in ONNX Runtime, and find the first value in which they differ.

    model    an nn.Module, a ScriptModule or a callable; run in its own mode against a file f, else in the mode of the export
    args     what it is called with, as export takes it: a value, tuple or list, a dict at its end for names; kwargs: a dict
    f        the file of the ONNX model. None: one is exported for the comparison (`export`: what pt2onnx.export takes)
    names    of the model's inputs, in the order of the tensors in args and kwargs; None: as the file has them
    float64  run torch in float64 too, which tells the error of float32 from a mistake
    times    measure what modules take, in torch and in a default session of ONNX Runtime
    progress called with a line of text now and then

    Gives a Comparison. Raises ValueError where the model takes inputs that the example has no value for. The model's buffers and
    the random numbers of torch, Python and NumPy are as before; torch computes with the same ones in float32 and in float64."""
    args, kwargs = arguments_of(model, as_tuple(args), kwargs)
    say = progress or (lambda text: None)
    if f is not None:
        found = compared(model, args, kwargs, f, names, float64, times, say)
        found.in_training = isinstance(model, torch.nn.Module) and any(getattr(m, "training", False) for m in model.modules())
        return found
    say("exporting")
    exporting = Export(bind((model, args, None), dict(export, kwargs=kwargs or None)))
    made = exporting.run()                              # its file lives as long as it does
    with Turn(model), exporting.mode(model):
        return compared(model, args, kwargs, made.path, names or made.example_names, float64, times, say)


def arguments_of(model, args, kwargs):
    """(positional, named)"""
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return scripts.divided(model, args, kwargs)
    return divided(signature_of(model), args, kwargs)


def compared(model, args, kwargs, path, names, float64, times, say):
    say("torch")
    want, values = torch_run.record(model, args, kwargs)
    wide = None
    if float64:
        say("torch in float64")
        wide = in_float64(model, args, kwargs, values)
    example = named_leaves(signature_of(model), *arrange(model, args, kwargs))
    runner = onnx_run.Model(path, fed(path, example, names, dict(named_tensors(model))))
    say("ONNX Runtime, as the model is written")
    plain = runner.run()
    say("ONNX Runtime, its default session")
    fused = runner.run(onnx_run.LEVELS[-1][1])
    wanted, exact = torch_run.outputs_of(want, len(plain)), torch_run.outputs_of(wide, len(plain))
    outputs = errors_of_outputs(wanted, exact, plain, fused)
    match = Match(runner, Table(values))
    for name, print_ in runner.prints(told_of(say, len(runner.nodes))):
        match.add(name, print_)
    match.part({o.output for o in outputs if not o.plain_agrees})
    level = level_that_parts(runner, outputs) if any(o.optimiser for o in outputs) else None
    seconds = (torch_run.timed(model, args, kwargs), runner.seconds()) if times else (None, None)
    return Comparison(path, outputs, (len(wanted), len(plain)), match, level, *seconds)


def told_of(say, count):
    """progress of the values, a line every MINUTE_STEP nodes"""
    said = [0]

    def progress(done):
        if done - said[0] >= MINUTE_STEP:
            said[0] = done
            say("values of %d of %d nodes" % (done, count))
    return progress


def in_float64(model, args, kwargs, values):
    """Gives torch's results in float64 and sets the noise of each value, or None: the model does not run so."""
    try:
        doubled = copy.deepcopy(model).double() if isinstance(model, torch.nn.Module) else model
        wide, again = torch_run.record(doubled, torch_run.copied(args, torch_run.wide), torch_run.copied(kwargs, torch_run.wide))
    except Exception:                       # a module that cannot be copied, a kernel that has no float64
        return None
    if [(v.name, v.print.shape) for v in again] == [(v.name, v.print.shape) for v in values]:
        for v, w in zip(values, again):
            v.noise = float(noise(v.print, v.print.sample, w.print.sample))
    return wide


def errors_of_outputs(wanted, exact, plain, fused):
    """One OutputError for each output that has a tensor, by position."""
    exact = exact if len(exact) == len(wanted) else [None] * len(wanted)
    found = [OutputError(name, want, got, fused[name], wide) for (name, got), want, wide in zip(plain.items(), wanted, exact)]
    if not found:
        raise ValueError("there is no output to compare: torch gives %d tensors, the model %d" % (len(wanted), len(plain)))
    return found


def level_that_parts(runner, outputs):
    """The lowest level of ONNX Runtime's optimiser at which an output leaves its bounds."""
    for name, level in onnx_run.LEVELS:
        got = runner.run(level)
        for o in outputs:
            if o.optimiser and o.error(got[o.name]) > o.bound:
                return name
    return "all"
