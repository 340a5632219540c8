"""Every module of torch.nn, with the samples that PyTorch's own tests make of it (module_db), traced, exported and decomposed: the same results as in torch."""
import warnings

import pytest
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException
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


PROGRAMS = {}                           # of one module's samples: two forms begin with the same program, and to export takes the longest


def program_of(sample, called, tensors):
    if any(name != sample[0] for name, _ in PROGRAMS):
        PROGRAMS.clear()
    if sample not in PROGRAMS:
        PROGRAMS[sample] = torch.export.export(called, tensors)
    return PROGRAMS[sample]


def traced(_sample, called, tensors, path):
    torch.jit.save(torch.jit.trace(called, tensors, check_trace=False), path)


def exported(sample, called, tensors, path):
    torch.export.save(program_of(sample, called, tensors), path)


def decomposed(sample, called, tensors, path):
    torch.export.save(program_of(sample, called, tensors).run_decompositions({}), path)


@pytest.mark.parametrize("save, name", [(traced, "model.pt"), (exported, "model.pt2"), (decomposed, "model.pt2")], ids=["traced", "exported", "decomposed"])
@pytest.mark.parametrize("info", [i for i in module_db if i.name not in NOT_RUN], ids=lambda i: i.name)
@pytest.mark.filterwarnings("ignore")
def test_module(info, save, name, tmp_path):
    ran = 0
    for i, called in samples(info):
        tensors, path = called.tensors(), str(tmp_path / name)
        with torch.set_grad_enabled(info.name in FUSED):
            want = called(*called.tensors())
            try:
                save((info.name, i), called, tensors, path)
            except NOT_EXPORTED:
                continue
        oracle.converted(path, tmp_path / "model.onnx")
        oracle.run(tmp_path / "model.onnx", [([t.numpy() for t in tensors], [v.detach().numpy() for v in pytree.tree_leaves(want)])])
        ran += 1
    assert ran or save is not traced
