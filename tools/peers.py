"""peers.py - the benchmark's models as nn.Modules, for the exporter that cannot read TorchScript archives."""
import os

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x):
        return torch.relu(nn.functional.linear(x, self.weight, self.bias))


def module(path):
    """The chain in an archive of write_chain.py; torchvision's networks where a torchvision that fits this torch is installed."""
    if os.path.basename(path).startswith("chain_"):
        state = torch.jit.load(path).state_dict()
        return nn.Sequential(*(Layer(state["l%d.weight" % i], state["l%d.bias" % i]) for i in range(len(state) // 2))).eval()
    import torchvision.models as models
    name = os.path.basename(path).split(".")[0]
    return getattr(models, name)(weights=None, **({"image_size": 64} if name.startswith("vit") else {})).eval()
