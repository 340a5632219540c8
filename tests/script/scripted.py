"""Script a module, save it, convert it, run it in ONNX Runtime against torch."""
import os
import sys

import numpy
import onnx
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


def kinds(path):
    return [n.op_type for g in oracle.graphs(onnx.load(str(path)).graph) for n in g.node]


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    if isinstance(value, (bool, int, float)):
        return [numpy.asarray(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for v in value for a in flat(v)]


def save(module, tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(module.eval()), str(path))
    return path


def in_torch(path, runs):
    """Of each run, which is a list of arguments: its inputs, and what the saved program gives in torch."""
    with torch.jit.optimized_execution(False):
        loaded = torch.jit.load(str(path))
        return [([x.numpy().copy() for x in flat_inputs(xs)], flat(loaded(*[clone(x) for x in xs]))) for xs in runs]


def same(module, tmp_path, runs, *options):
    """Convert; each run's inputs give the outputs that the saved program has in torch. The process, for what it said."""
    path, out = save(module, tmp_path), tmp_path / "model.onnx"
    done = oracle.converted(path, out, *options)
    oracle.check(out)
    oracle.run(out, in_torch(path, runs))
    return done, kinds(out)


def same_or_refused(module, tmp_path, inputs, *options):
    """The same of a program of one tensor, unless it is refused. The process: its exit code says which."""
    path, out = save(module, tmp_path), tmp_path / "model.onnx"
    wanted = in_torch(path, [[x] for x in inputs])
    done = oracle.convert(path, out, *options)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        oracle.run(out, wanted)
    return done


def flat_inputs(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for v in value for a in flat_inputs(v)]


def clone(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {k: clone(v) for k, v in value.items()}
    return type(value)(clone(v) for v in value)


def refused(module, tmp_path, *options):
    done = oracle.convert(save(module, tmp_path), tmp_path / "model.onnx", *options)
    assert done.returncode == 1, done.stderr
    return done.stderr


def both_signs(*shape):
    x = torch.rand(*shape) + 0.5
    return [(x,), (-x,)]
