"""test_modern.py - a module of PyTorch's is one ONNX operator from the opset on that has it, and nodes of older ones below: of a .pt2 as
torch.export writes it, and of one in core ATen where torch's decomposition keeps the operator."""
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


# operator: the first opset, the module, the input's shape, whether core ATen still tells it
MODULES = {
    "LayerNormalization": (17, lambda: torch.nn.LayerNorm(8), (2, 4, 8), True),
    "RMSNormalization": (23, lambda: torch.nn.RMSNorm(8, eps=1e-5), (2, 4, 8), False),
    "GroupNormalization": (21, lambda: torch.nn.GroupNorm(2, 4), (2, 4, 5, 5), True),
    "Gelu": (20, torch.nn.GELU, (2, 8), True),
    "HardSwish": (14, torch.nn.Hardswish, (2, 8), False),
    "Col2Im": (18, lambda: torch.nn.Fold((4, 5), (2, 2)), (1, 12, 12), False),
    "Attention": (23, Attention, (2, 2, 4, 8), False),
}


@pytest.mark.parametrize("name", MODULES)
def test_one_operator_from_its_opset_on(tmp_path, name):
    first, module, shape, in_core = MODULES[name]
    program = torch.export.export(module().eval(), (torch.zeros(shape),))
    for form in (program, program.run_decompositions()) if in_core else (program,):
        torch.export.save(form, tmp_path / "m.pt2")
        for opset in OPSETS:
            oracle.converted(tmp_path / "m.pt2", tmp_path / "m.onnx", "-q", "--opset", str(opset))
            found = [n.op_type for n in onnx.load(str(tmp_path / "m.onnx")).graph.node]
            assert (name in found) == (opset >= first), "opset %d: %s" % (opset, found)
            assert not {"Identity", "Shape", "If", "Loop"} & set(found) and not any("Sequence" in n for n in found), found
