#!/usr/bin/env python3
"""force_field.py [MODEL.onnx] - energies and forces of molecules in ONNX Runtime: the forces are the gradient of the energy, which the model has as nodes.

The network is a small one with random weights; what counts is how it asks for its forces (torch.autograd.grad), and that atoms and pairs of
neighbours stay open numbers. Needs torch 2, numpy and onnxruntime."""
import sys

import numpy
import onnxruntime
import torch

import pt2onnx

KINDS, RADII, WIDTH, CUTOFF = 10, 16, 32, 3.0


class ForceField(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds = torch.nn.Embedding(KINDS, WIDTH)
        self.filter = torch.nn.Sequential(torch.nn.Linear(RADII, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, WIDTH))
        self.energy = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, 1))
        self.register_buffer("radii", torch.linspace(0, CUTOFF, RADII))

    def forward(self, positions, pairs, kinds):
        """positions: [atoms, 3]; pairs: [2, pairs] of neighbours, each both ways; kinds: [atoms]. Gives the energy and [atoms, 3]."""
        positions = positions.detach().requires_grad_(True)
        receiver, sender = pairs
        distance = (positions[receiver] - positions[sender]).norm(dim=-1, keepdim=True)
        near = (torch.cos(distance * torch.pi / CUTOFF) + 1) / 2 * (distance < CUTOFF)
        messages = self.kinds(kinds)[sender] * self.filter(torch.exp(-10 * (distance - self.radii) ** 2)) * near
        atoms = self.kinds(kinds).index_add(0, receiver, messages)
        energy = self.energy(atoms).sum()
        return energy, -torch.autograd.grad(energy, positions)[0]


def molecule(atoms, random):
    positions = random.normal(size=(atoms, 3)).astype("float32") * 1.5
    apart = numpy.linalg.norm(positions[:, None] - positions, axis=-1)
    pairs = numpy.stack(numpy.nonzero((apart < CUTOFF) & ~numpy.eye(atoms, dtype=bool)))
    return positions, pairs, random.integers(0, KINDS, atoms)


def main(path="force_field.onnx"):
    torch.manual_seed(0)
    random = numpy.random.default_rng(0)
    net = ForceField().eval()
    example = tuple(map(torch.from_numpy, molecule(8, random)))
    pt2onnx.export(net, example, path, dynamic_shapes={"positions": {0: "atoms"}, "pairs": {1: "pairs"}, "kinds": {0: "atoms"}},
                   output_names=["energy", "forces"], verify=True)
    session = onnxruntime.InferenceSession(path)
    for atoms in (2, 20, 200):
        arrays = molecule(atoms, random)
        energy, forces = session.run(None, dict(zip(("positions", "pairs", "kinds"), arrays)))
        wanted = net(*map(torch.from_numpy, arrays))[1].detach().numpy()
        print("%3d atoms, %4d pairs: energy %9.4f, forces up to %.3f, PyTorch's are %.1e away" % (
            atoms, arrays[1].shape[1], energy, abs(forces).max(), abs(forces - wanted).max()))


if __name__ == "__main__":
    main(*sys.argv[1:])
