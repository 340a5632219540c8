"""test_modern.py - a module of PyTorch's is one ONNX operator from the opset on that has it, and nodes of older ones below: of a .pt2 as
torch.export writes it, and of one in core ATen, which takes most of them apart. ONNX Runtime gives torch's numbers at each opset."""
import math

import onnx
import pytest

import oracle

torch = pytest.importorskip("torch")
if not hasattr(getattr(torch, "export", None), "save"):
    pytest.skip("torch.export needs torch 2", allow_module_level=True)

OPSETS = (9, 11, 13, 16, 17, 18, 20, 21, 22, 23, 24, 26)


class Attention(torch.nn.Module):
    def forward(self, q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q)


DEFORM = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, " \
    "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"


class Deform(torch.nn.Module):
    """torchvision's operator, which is a plain convolution where nothing is moved."""

    def forward(self, x):
        weight = torch.linspace(-1, 1, 2 * 3 * 3 * 3).reshape(2, 3, 3, 3)
        return torch.ops.torchvision.deform_conv2d(x, weight, x.new_zeros(2, 18, 4, 4), x.new_ones(2, 9, 4, 4), x.new_zeros(2), 1, 1, 0, 0, 1, 1, 1, 1, True)


@pytest.fixture(scope="module")
def torchvision():
    """Its schema, where it is not installed."""
    if hasattr(torch.ops.torchvision, "deform_conv2d"):
        yield
        return
    library = torch.library.Library("torchvision", "DEF")
    library.define(DEFORM[len("torchvision::"):])
    library.impl("deform_conv2d", lambda x, weight, *rest: torch.nn.functional.conv2d(x, weight), "CompositeExplicitAutograd")
    yield
    library._destroy()


# operator: the first opset, the module, the input's shape
MODULES = {
    "LayerNormalization": (17, lambda: torch.nn.LayerNorm(8), (2, 4, 8)),
    "RMSNormalization": (23, lambda: torch.nn.RMSNorm(8, eps=1e-5), (2, 4, 8)),
    "Gelu": (20, torch.nn.GELU, (2, 8)),
    "HardSwish": (14, torch.nn.Hardswish, (2, 8)),
    "Mish": (18, torch.nn.Mish, (2, 8)),
    "Col2Im": (18, lambda: torch.nn.Fold((4, 5), (2, 2)), (1, 12, 12)),
    "Attention": (23, Attention, (2, 2, 4, 8)),
    "DeformConv": (19, Deform, (2, 3, 6, 6)),
}
LEAST = {"DeformConv": 16}              # its parts sample a grid


def operators(model, onnx_file, opset, *options):
    oracle.converted(model, onnx_file, "-q", "--opset", str(opset), *options)
    return [n.op_type for n in onnx.load(str(onnx_file)).graph.node]


@pytest.mark.parametrize("name", MODULES)
def test_one_operator_from_its_opset_on(tmp_path, name, torchvision):
    first, module, shape = MODULES[name]
    module, x = module().eval(), torch.linspace(-4, 4, math.prod(shape)).sin().reshape(shape)
    with torch.no_grad():
        want = module(x)
    program = torch.export.export(module, (x,))
    for form in (program, program.run_decompositions()):
        torch.export.save(form, tmp_path / "m.pt2")
        for opset in OPSETS[OPSETS.index(LEAST.get(name, 9)):]:
            found = operators(tmp_path / "m.pt2", tmp_path / "m.onnx", opset)
            assert (name in found) == (opset >= first), "opset %d: %s" % (opset, found)
            assert not {"Identity", "Shape", "If", "Loop"} & set(found) and not any("Sequence" in n for n in found), found
            oracle.run(tmp_path / "m.onnx", [([x.numpy()], [want.numpy()])])


def test_group_norm_for_others_than_onnx_runtime(tmp_path):
    """ONNX Runtime has no kernel for it either."""
    x = torch.linspace(-4, 4, 200).sin().reshape(2, 4, 5, 5)
    module = torch.nn.GroupNorm(2, 4).eval()
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    want = module(x).detach().numpy()
    for opset, target, found in ((20, "onnx", False), (21, "onnx", True), (26, "onnx", True), (21, "ort", False), (26, "ort", False)):
        assert ("GroupNormalization" in operators(tmp_path / "m.pt2", tmp_path / "m.onnx", opset, "--target=" + target)) == found
        oracle.run(tmp_path / "m.onnx", [([x.numpy()], [want])])


def test_swish_for_others_than_onnx_runtime(tmp_path):
    """ONNX Runtime has no kernel for it: what it makes of it is slower than the two operators."""
    torch.export.save(torch.export.export(torch.nn.SiLU(), (torch.zeros(2, 8),)), tmp_path / "m.pt2")
    assert operators(tmp_path / "m.pt2", tmp_path / "m.onnx", 24, "--target=onnx") == ["Swish"]
    assert operators(tmp_path / "m.pt2", tmp_path / "m.onnx", 24) == operators(tmp_path / "m.pt2", tmp_path / "m.onnx", 23, "--target=onnx") == ["Sigmoid", "Mul"]


BROADCAST = {
    "keys and values": [(3, 4, 5, 8), (1, 4, 6, 8), (1, 4, 6, 8)],
    "values": [(3, 4, 5, 8), (3, 4, 6, 8), (1, 4, 6, 8)],
    "batch of queries": [(1, 4, 5, 8), (3, 4, 6, 8), (3, 4, 6, 8)],
    "heads of queries": [(3, 1, 5, 8), (3, 4, 6, 8), (3, 4, 6, 8)],
    "fewer heads of keys than of values": [(3, 4, 5, 8), (3, 2, 6, 8), (3, 4, 6, 8)],
}


class Attends(torch.nn.Module):
    def __init__(self, grouped):
        super().__init__()
        self.grouped = grouped

    def forward(self, *args):
        return torch.nn.functional.scaled_dot_product_attention(*args, enable_gqa=self.grouped)


@pytest.mark.parametrize("name", BROADCAST)
def test_attention_that_broadcasts(name, tmp_path):
    """ONNX's Attention does not broadcast; heads that are repeated are equal again."""
    args = tuple(torch.linspace(-2, 2, math.prod(shape)).sin().reshape(shape) for shape in BROADCAST[name])
    grouped = name.startswith("fewer")
    module = Attends(grouped)
    torch.export.save(torch.export.export(module, args), tmp_path / "m.pt2")
    assert ("Attention" in operators(tmp_path / "m.pt2", tmp_path / "m.onnx", 23)) == grouped
    oracle.run(tmp_path / "m.onnx", [([a.numpy() for a in args], [module(*args).numpy()])])
