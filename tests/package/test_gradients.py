"""Modules whose forward asks for gradients, as force fields do, through torch.export."""
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, weights

pytestmark = [pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export"), pytest.mark.filterwarnings("ignore")]


def slope(energy, x):
    return torch.autograd.grad(energy.sum(), x, create_graph=True)[0]


class Forces(torch.nn.Module):
    """Energies of atoms from the lengths of edges, and forces."""

    def __init__(self):
        super().__init__()
        self.kinds, self.radial = torch.nn.Embedding(5, 4), torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 4))
        self.register_buffer("centres", torch.linspace(0, 3, 8))

    def forward(self, positions, edges, kinds, scale=1.0):
        positions = positions.detach().requires_grad_(True)
        lengths = (positions[edges[0]] - positions[edges[1]]).norm(dim=-1)
        at_edges = self.radial(torch.exp(-(lengths[:, None] - self.centres) ** 2)) * self.kinds(kinds)[edges[1]]
        energies = positions.new_zeros(positions.shape[0]).index_add(0, edges[0], at_edges.sum(-1)) * scale
        return {"energies": energies, "forces": -slope(energies, positions)}


def molecule(atoms, edges):
    pairs = torch.combinations(torch.arange(atoms), 2)[torch.randperm(atoms * (atoms - 1) // 2)[:edges]].T
    return torch.randn(atoms, 3), pairs, torch.randint(0, 5, (atoms,))


@pytest.mark.parametrize("opset", [11, 18])
def test_forces_with_open_numbers_of_atoms_and_edges(opset):
    """Where the example has as many edges as atoms, these are two sizes."""
    net = Forces()
    shapes = {"positions": {0: "atoms"}, "edges": {1: "edges"}, "kinds": {0: "atoms"}}
    result = pt2onnx.export(net, molecule(4, 4), dynamic_shapes=shapes, verify=True, opset_version=opset)
    assert result.input_names == ["positions", "edges", "kinds"] and result.output_names == ["energies", "forces"]
    assert {"kinds.weight", "radial.0.weight"} <= set(weights(result.model_proto))
    for args in (molecule(7, 12), molecule(3, 2), molecule(2, 1)):
        for got, want in zip(result(*args), net(*args).values()):
            torch.testing.assert_close(got, want.detach(), rtol=1e-4, atol=1e-5)
    assert all(p.requires_grad for p in net.parameters())


@pytest.mark.parametrize("options", [{"dynamo": True}, {"dynamic_axes": {"positions": {0: "atoms"}, "kinds": {0: "atoms"}}, "dynamo": True}])
def test_arguments_by_name_and_a_number(options):
    net, (positions, edges, kinds) = Forces(), molecule(4, 5)
    result = pt2onnx.export(net, (positions,), kwargs={"kinds": kinds, "scale": 2.0, "edges": edges}, verify=True, **options)
    torch.testing.assert_close(result(positions, edges, kinds, 2.0)[1], net(positions, edges, kinds, 2.0)["forces"].detach(), rtol=1e-4, atol=1e-5)


class Slope(torch.nn.Module):
    def __init__(self, inner, after=lambda x, g: g):
        super().__init__()
        self.inner, self.after = inner, after

    def forward(self, x):
        x = x.detach().requires_grad_(True)
        return self.after(x, slope(self.inner(x) ** 2, x))


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm, self.rnn = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.nn.LayerNorm(8), torch.nn.GRU(8, 4, batch_first=True)

    def forward(self, x):
        y = torch.nn.functional.silu(self.norm(x))
        return self.rnn(self.attention(y, y, y)[0])[0]


@pytest.mark.parametrize("inner, shape", [
    (torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softplus(), torch.nn.BatchNorm1d(8)), (3, 4)),
    (torch.nn.Conv2d(4, 6, 3, 2, 1, groups=2), (2, 4, 9, 8)),
    (torch.nn.Conv1d(4, 6, 3, 3, 2, dilation=2), (2, 4, 15)),
    (torch.nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2), (2, 4, 5, 6)),
    (torch.nn.Sequential(torch.nn.Conv2d(4, 4, 3), torch.nn.MaxPool2d(2), torch.nn.Upsample(scale_factor=2, mode="bilinear")), (2, 4, 12, 12)),
    (Attention(), (2, 5, 8)),
    (torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
], ids=["linear", "conv", "dilated", "transposed", "pool", "attention", "encoder"])
def test_layers(inner, shape):
    net = Slope(inner).eval()
    result = pt2onnx.export(net, (torch.randn(shape),), dynamic_shapes={"x": {0: "n"}}, verify=True)
    for n in (5, 1):
        x = torch.randn(n, *shape[1:])
        torch.testing.assert_close(result(x)[0], net(x).detach(), rtol=1e-3, atol=1e-5)


class Backward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 2)

    def forward(self, x):
        x = x.detach().requires_grad_(True)
        (self.net(x) ** 2).sum().backward()
        return x.grad


class Enabled(Backward):
    """As it is written for callers that switch gradients off."""

    def forward(self, x):
        with torch.enable_grad():
            x.requires_grad_(True)
            return torch.autograd.grad((self.net(x) ** 2).sum(), x)[0].detach()


class OfWeights(Backward):
    def forward(self, x):
        return torch.autograd.grad((self.net(x) ** 2).sum(), list(self.net.parameters()))[0]


class Twice(Backward):
    def forward(self, x):
        x = x.detach().requires_grad_(True)
        return slope(slope(self.net(x) ** 3, x) ** 2, x)


@pytest.mark.parametrize("shapes", [None, {"x": {0: "n"}}], ids=["fixed", "open"])
@pytest.mark.parametrize("make", [Backward, Enabled, OfWeights, Twice])
def test_ways_to_ask(make, shapes):
    net = make()
    with torch.set_grad_enabled(make is not Enabled):
        result = pt2onnx.export(net, (torch.randn(3, 4),), dynamo=True, dynamic_shapes=shapes)
        assert all(p.grad is None for p in net.parameters())
        x = torch.randn(3 if shapes is None else 6, 4)
        torch.testing.assert_close(result(x.clone())[0], net(x).detach(), rtol=1e-4, atol=1e-5)


def test_an_operator_that_onnx_lacks_is_named_with_its_line():
    with pytest.raises(RuntimeError, match=r"aten::avg_pool2d_backward(.|\n)*test_gradients.py:\d+"):
        pt2onnx.export(Slope(torch.nn.AvgPool2d(2)), (torch.randn(2, 4, 8, 8),), dynamo=True)


def test_functions_of_torch_func():
    net = torch.nn.Linear(3, 1)
    result = pt2onnx.export(lambda x: torch.func.grad(lambda y: net(y).tanh().sum())(x), (torch.randn(4, 3),), dynamic_shapes=({0: "n"},), verify=True)
    x = torch.randn(6, 3)
    torch.testing.assert_close(result(x)[0], torch.func.grad(lambda y: net(y).tanh().sum())(x).detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("after, text", [
    (lambda x, g: g * 2 if x.shape[0] > 4 else g, "> 4 of a size that is to stay open: where forward asks for gradients, too, only one answer"),
    (lambda x, g: g * 2 if x.shape[0] > 1 else g, "> 1 of a size that is to stay open"),
    (lambda x, g: sum((g + i for i in range(x.shape[0])), g), "dimension 0 of x is fixed by the program"),
    (lambda x, g: g * float(x.shape[0]), "dimension 0 of x is fixed by the program"),
], ids=["branch", "one", "loop", "float"])
def test_what_is_recorded_for_some_sizes_only_is_refused(after, text):
    net, x = Slope(torch.nn.Linear(4, 2), after), torch.randn(3, 4)
    with pytest.raises(RuntimeError, match=text):
        pt2onnx.export(net, (x,), dynamic_shapes={"x": {0: "n"}})
    torch.testing.assert_close(pt2onnx.export(net, (x,), dynamo=True, verify=True)(x)[0], net(x).detach())


@pytest.mark.parametrize("after", [lambda x, g: g / x.shape[0] + x.shape[1], lambda x, g: torch.cat([g[1:] * 2, g[:1]]), lambda x, g: g * 2 if x.shape[1] > 2 else g,
                                   lambda x, g: sum((g[:, i] for i in range(x.shape[1])), g[:, 0])],
                         ids=["size", "parts", "question of a known size", "loop over a known size"])
def test_what_holds_for_all_sizes_stays(after):
    net, x = Slope(torch.nn.Linear(4, 2), after), torch.randn(6, 4)
    result = pt2onnx.export(net, (torch.randn(3, 4),), dynamic_shapes={"x": {0: "n"}}, verify=True)
    torch.testing.assert_close(result(x)[0], net(x).detach())


def test_a_traced_module_is_told_what_helps():
    with pytest.raises(RuntimeError, match=r"where forward asks for gradients itself \(torch.autograd.grad\), dynamo=True exports it, and torch.jit.script\(model\) does"):
        pt2onnx.export(Slope(torch.nn.Linear(4, 2)), (torch.randn(3, 4),))
