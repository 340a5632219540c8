"""Every module of torch.nn, with the samples that PyTorch's own tests make of it (module_db), traced, exported and decomposed: the same results as in torch."""
import contextlib
import functools
import warnings
from unittest import mock

import pytest
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch.export import exported_program
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

import oracle

SAMPLES = 8                             # of a module: the first, the last, and some between
# What its tests give with a random generator's numbers of another type than the input: PyTorch refuses it.
NOT_RUN = {"nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d"}
# Without gradients these run PyTorch's fused layers, which leave out what padding hides; a saved program has the plain ones.
FUSED = {"nn.Transformer", "nn.TransformerEncoder", "nn.TransformerEncoderLayer"}
# torch.export cannot have what looks at the values of its inputs, or gives sizes that depend on them.
NOT_EXPORTED = (GuardOnDataDependentSymNode, DynamicOutputShapeException)


class Called(torch.nn.Module):
    """The module with a sample's arguments, of which the tensors are inputs."""
    def __init__(self, module, call):
        super().__init__()
        self.module = module
        self.leaves, self.spec = pytree.tree_flatten((list(call.args), dict(call.kwargs)))

    def tensors(self):
        return tuple(v.detach().clone() for v in self.leaves if isinstance(v, torch.Tensor))

    def forward(self, *tensors):
        given = iter(tensors)
        args, kwargs = pytree.tree_unflatten([next(given) if isinstance(v, torch.Tensor) else v for v in self.leaves], self.spec)
        return self.module(*args, **kwargs)


def samples(info):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
        calls = [(s.constructor_input, s.forward_input) for s in made]
    for i in sorted({len(calls) * k // SAMPLES for k in range(SAMPLES)} | {len(calls) - 1}) if calls else []:
        constructor, call = calls[i]
        torch.manual_seed(i)
        yield i, Called(info.module_cls(*constructor.args, **constructor.kwargs).eval(), call).eval()


def exported(info):
    """The exported program of each sample, by its number, or None where torch.export cannot have it."""
    found = {}
    for i, called in samples(info):
        called(*called.tensors())                       # a lazy module makes its weights
        try:
            found[i] = torch.export.export(called, called.tensors())
        except NOT_EXPORTED:
            found[i] = None
    return found


def decomposed(programs):
    """The same decomposed. run_decompositions registers PyTorch's composite operators for each program and takes them back, which
    takes four times as long as to decompose a module: here that is done once for all."""
    composite, _ = exported_program._split_decomp_table_to_cia_and_python_decomp({})
    once = mock.patch.multiple(exported_program, _split_decomp_table_to_cia_and_python_decomp=lambda table: (dict(composite), table),
                               _override_composite_implicit_decomp=lambda _composite: contextlib.nullcontext())
    found = {}
    with exported_program._override_composite_implicit_decomp(composite), once:
        for i, program in programs.items():
            try:
                found[i] = program and program.run_decompositions({})
            except NOT_EXPORTED:
                found[i] = None
    return found


@functools.lru_cache(maxsize=1)
def programs(info):
    """(exported, decomposed) of one module: two tests begin with the same programs, and to export takes the longest."""
    with torch.set_grad_enabled(info.name in FUSED):
        found = exported(info)
        return found, decomposed(found)


def save(info, form, i, called, path):
    """Save a sample in one of the forms; False where torch.export cannot have it."""
    if form == "traced":
        torch.jit.save(torch.jit.trace(called, called.tensors(), check_trace=False), path)
        return True
    program = programs(info)[form == "decomposed"][i]
    if program is not None:
        torch.export.save(program, path)
    return program is not None


@pytest.mark.parametrize("form", ["traced", "exported", "decomposed"])
@pytest.mark.parametrize("info", [i for i in module_db if i.name not in NOT_RUN], ids=lambda i: i.name)
@pytest.mark.filterwarnings("ignore")
def test_module(info, form, tmp_path):
    path = str(tmp_path / ("model.pt" if form == "traced" else "model.pt2"))
    ran = 0
    for i, called in samples(info):
        tensors = called.tensors()
        with torch.set_grad_enabled(info.name in FUSED):
            want = called(*called.tensors())
            if not save(info, form, i, called, path):
                continue
        oracle.converted(path, tmp_path / "model.onnx")
        oracle.run(tmp_path / "model.onnx", [([t.numpy() for t in tensors], [v.detach().numpy() for v in pytree.tree_leaves(want)])])
        ran += 1
    assert ran or form != "traced"
