"""Force fields, written from scratch after the published ideas: the energy of atoms is a sum over edges or atoms, forces are minus its
gradient with respect to the positions. Atoms and edges are sizes that differ from run to run."""
import math
from typing import List, Optional

import torch
from torch import Tensor, nn


def molecule(atoms, kinds=4, cutoff=4.0, seed=0):
    """Positions, kinds and directed edges of a random molecule: at least one edge."""
    g = torch.Generator().manual_seed(seed)
    pos = torch.rand(atoms, 3, generator=g) * (1.2 * atoms ** (1 / 3) + 1)
    z = torch.randint(0, kinds, (atoms,), generator=g)
    far = torch.cdist(pos, pos) + 100.0 * torch.eye(atoms)
    edges = (far < cutoff).nonzero().t().contiguous()
    return pos, z, edges


def summed_at(values: Tensor, index: Tensor, n: int) -> Tensor:
    """scatter: row i of the result is the sum of the values whose index is i."""
    at = index.reshape([-1] + [1] * (values.dim() - 1)).expand_as(values)
    return torch.zeros([n] + values.shape[1:], dtype=values.dtype).scatter_add(0, at, values)


class Bessel(nn.Module):
    """sin(k pi r / c) / r under a polynomial that is flat at the cutoff."""

    def __init__(self, count: int, cutoff: float):
        super().__init__()
        self.cutoff = cutoff
        self.register_buffer("k", torch.arange(1, count + 1) * math.pi / cutoff)

    def forward(self, r: Tensor) -> Tensor:
        u = r / self.cutoff
        smooth = 1.0 - 28.0 * u.pow(6) + 48.0 * u.pow(7) - 21.0 * u.pow(8)
        smooth = smooth * (u < 1.0).to(r.dtype)
        waves = (2.0 / self.cutoff) ** 0.5 * torch.sin(self.k * r.unsqueeze(-1)) / r.unsqueeze(-1)
        return waves * smooth.unsqueeze(-1)


def harmonics(v: Tensor) -> Tensor:
    """Spherical harmonics of unit vectors up to l = 2: 1 + 3 + 5 components."""
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    return torch.stack([torch.ones_like(x), 3 ** 0.5 * y, 3 ** 0.5 * z, 3 ** 0.5 * x,
                        15 ** 0.5 * x * y, 15 ** 0.5 * y * z, 5 ** 0.5 / 2 * (3 * z * z - 1), 15 ** 0.5 * x * z,
                        15 ** 0.5 / 2 * (x * x - y * y)], dim=-1)


class TensorProduct(nn.Module):
    """Features [.., channels, 9] times harmonics [.., 9], with one weight a channel and path."""

    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(5)
        self.register_buffer("paths", torch.randn(6, 9, 9, 9, generator=g) * (torch.rand(6, 9, 9, 9, generator=g) < 0.08) / 3)

    def forward(self, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return torch.einsum("ecp,pijk,eci,ej->eck", w, self.paths, x, y)


class NequIP(nn.Module):
    """Messages between atoms: their features, the harmonics of the edge, weights from its length."""

    def __init__(self, channels: int = 4, kinds: int = 4, layers: int = 2):
        super().__init__()
        self.channels = channels
        self.embed = nn.Embedding(kinds, channels)
        self.basis = Bessel(8, 4.0)
        self.product = TensorProduct()
        self.radial = nn.ModuleList([nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, channels * 6)) for _ in range(layers)])
        self.mix = nn.ModuleList([nn.Linear(channels, channels, bias=False) for _ in range(layers)])
        self.readout = nn.Sequential(nn.Linear(channels, 8), nn.SiLU(), nn.Linear(8, 1))
        self.register_buffer("shift", torch.randn(kinds, 1))

    def energies(self, pos: Tensor, z: Tensor, edges: Tensor) -> Tensor:
        to, from_ = edges[0], edges[1]
        v = pos.index_select(0, from_) - pos.index_select(0, to)
        r = torch.linalg.norm(v, dim=-1)
        y = harmonics(v / r.unsqueeze(-1))
        basis = self.basis(r)
        h = torch.nn.functional.pad(self.embed(z).unsqueeze(-1), [0, 8])
        for radial, mix in zip(self.radial, self.mix):
            w = radial(basis).view(-1, self.channels, 6)
            message = self.product(h[from_], y, w)
            h = h + mix(summed_at(message, to, pos.size(0)).transpose(1, 2)).transpose(1, 2) / 3.0
            h = torch.cat([torch.nn.functional.silu(h[..., :1]), h[..., 1:] * torch.sigmoid(h[..., :1])], dim=-1)
        return self.readout(h[..., 0]) + self.shift[z]

    def forward(self, pos: Tensor, z: Tensor, edges: Tensor):
        before = pos.requires_grad
        pos.requires_grad_(True)
        energy = self.energies(pos, z, edges)
        grad = torch.autograd.grad([energy.sum()], [pos], create_graph=self.training)[0]
        if grad is None:
            raise RuntimeError("no gradient")
        pos.requires_grad_(before)
        return energy.sum(), energy, -grad


class Allegro(nn.Module):
    """Strictly local: latents live on edges, and each meets the sum over the edges of its own atom. Also the virial, the gradient with
    respect to a strain."""

    def __init__(self, channels: int = 4, kinds: int = 4):
        super().__init__()
        self.channels = channels
        self.kinds = kinds
        self.basis = Bessel(8, 4.0)
        self.product = TensorProduct()
        self.first = nn.Sequential(nn.Linear(8 + 2 * kinds, 16), nn.SiLU(), nn.Linear(16, 16))
        self.env = nn.Linear(16, channels)
        self.paths = nn.Linear(16, channels * 6)
        self.latent = nn.Sequential(nn.Linear(16 + channels, 16), nn.SiLU(), nn.Linear(16, 16))
        self.out = nn.Linear(16, 1, bias=False)

    def forward(self, pos: Tensor, z: Tensor, edges: Tensor, shifts: Tensor, cell: Tensor):
        strain = torch.zeros(3, 3, dtype=pos.dtype)
        strain.requires_grad_(True)
        pos.requires_grad_(True)
        sym = 0.5 * (strain + strain.t())
        moved = pos + torch.bmm(pos.unsqueeze(-2), sym.unsqueeze(0).expand(pos.size(0), 3, 3)).squeeze(-2)
        box = cell + torch.mm(cell, sym)
        to = edges[0]
        v = torch.index_select(moved, 0, edges[1]) - torch.index_select(moved, 0, to) + torch.mm(shifts, box)
        r = v.norm(2, dim=-1)
        y = harmonics(v / r.unsqueeze(-1))
        one_hot = torch.nn.functional.one_hot(z, self.kinds).to(pos.dtype)
        latent = self.first(torch.cat([self.basis(r), one_hot[to], one_hot[edges[1]]], dim=-1))
        w = self.env(latent)
        around = torch.zeros(pos.size(0), self.channels, 9, dtype=pos.dtype)
        around = around.index_add(0, to, w.unsqueeze(-1) * y.unsqueeze(1))
        met = self.product(around.index_select(0, to), y, self.paths(latent).view(-1, self.channels, 6))
        latent = latent + self.latent(torch.cat([latent, met[:, :, 0]], dim=-1))
        atomic = torch.zeros(pos.size(0), 1, dtype=pos.dtype).index_add(0, to, self.out(latent))
        energy = atomic.sum()
        grads = torch.autograd.grad([energy], [pos, strain])
        forces, virial = grads[0], grads[1]
        assert forces is not None and virial is not None
        return energy, -forces, virial, virial / torch.det(cell).abs()


class SchNet(nn.Module):
    """Continuous filters: Gaussians of the distance, a cosine cutoff, shifted softplus."""

    def __init__(self, width: int = 8, kinds: int = 4):
        super().__init__()
        self.embed = nn.Embedding(kinds, width)
        self.filters = nn.ModuleList([nn.Sequential(nn.Linear(12, width), nn.Softplus(), nn.Linear(width, width)) for _ in range(2)])
        self.inside = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(2)])
        self.after = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.readout = nn.Linear(width, 1)
        self.register_buffer("centres", torch.linspace(0, 4, 12))

    def forward(self, pos: Tensor, z: Tensor, edges: Tensor):
        pos = pos.detach().requires_grad_(True)
        v = pos[edges[1]] - pos[edges[0]]
        r = (v * v).sum(-1).sqrt()
        gauss = torch.exp(-4.0 * (r[:, None] - self.centres) ** 2)
        smooth = torch.where(r < 4.0, 0.5 * (torch.cos(r * (math.pi / 4.0)) + 1.0), torch.zeros_like(r))
        h = self.embed(z)
        for f, inside, after in zip(self.filters, self.inside, self.after):
            w = f(gauss) * smooth[:, None]
            sums = torch.zeros_like(h)
            sums.index_add_(0, edges[0], inside(h)[edges[1]] * w)
            h = h + torch.nn.functional.softplus(after(sums)) - math.log(2.0)
        energy = self.readout(h).sum()
        ones: List[Optional[Tensor]] = [torch.ones_like(energy)]
        grad = torch.autograd.grad([energy], [pos], ones, retain_graph=True, create_graph=True)[0]
        assert grad is not None
        forces = torch.neg(grad)
        return energy, forces
