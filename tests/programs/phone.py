"""phone.pt, lite.pt, phone_lite.pt - archives for phones: of optimize_for_mobile, of the lite interpreter, of both.

    python3 tests/programs/phone.py        with a PyTorch that has XNNPACK, such as Debian's 1.13; the archives are committed

The weights lie inside objects of XNNPACK, and pip's PyTorch has no such classes: it cannot even load the files.
"""
import os
import warnings

import numpy
import torch
from torch import nn
from torch.utils.mobile_optimizer import optimize_for_mobile

from archive import without_debug

HERE = os.path.dirname(os.path.abspath(__file__))


class Phone(nn.Module):
    """Each context, with and without bias and bounds: XNNPACK takes relu and hardtanh into the layer before it."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.depth = nn.Conv2d(6, 6, 3, groups=6, dilation=2, padding=2, bias=False)
        self.up = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1)
        self.inner = nn.Linear(4, 5)
        self.last = nn.Linear(5, 2, bias=False)

    def forward(self, x):
        y = torch.relu(self.bn(self.first(x)))
        y = nn.functional.hardtanh(self.depth(y), -0.25, 0.5)
        y = torch.relu(self.up(y)).mean((2, 3))
        return self.last(nn.functional.hardtanh(self.inner(y), 0.0, 6.0))


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = Phone().eval()
    model.bn.running_mean.uniform_(-0.5, 0.5), model.bn.running_var.uniform_(0.5, 2)
    scripted = torch.jit.script(model)
    phone = optimize_for_mobile(scripted)
    assert "conv2d_transpose_clamp_run" in phone.code and "linear_clamp_run" in phone.code
    runs, options = [torch.rand(n, 3, 9, 8) - 0.5 for n in (2, 1, 3)], numpy.array(["-i", "x:float32[N,3,9,8]"])
    arrays = {"%d.%s0" % (i, k): a.numpy() for i, x in enumerate(runs) for k, a in (("in", x), ("out", model(x).detach()))}
    for name, data in (("phone", phone.save_to_buffer()), ("lite", scripted._save_to_buffer_for_lite_interpreter()),
                       ("phone_lite", phone._save_to_buffer_for_lite_interpreter())):
        without_debug(data, os.path.join(HERE, name + ".pt"))
        numpy.savez_compressed(os.path.join(HERE, name + ".npz"), options=options, **arrays)


if __name__ == "__main__":
    main()
