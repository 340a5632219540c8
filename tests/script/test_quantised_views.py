"""Parts of quantised tensors are quantised as the whole is."""
import torch
from torch import nn

from scripted import refused, same


class Parts(nn.Module):
    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.05, 7, torch.quint8)
        a, b = q.chunk(2, 1)
        c, d = torch.split(q, [1, 3], 1)
        e, f, g, h = q.unbind(1)
        rest = torch.split(q, 3, 1)
        if q.is_quantized and not x.is_quantized:
            a = q
        return [a.dequantize(), b.dequantize(), c.dequantize(), d.int_repr(), e.dequantize(), h.int_repr(), rest[1].dequantize(),
                torch.channel_shuffle(q.unsqueeze(2).unsqueeze(3), 2).dequantize()]


class ByChannel(nn.Module):
    def forward(self, x):
        q = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 0, 0, 0]), 1, torch.quint8)
        return q.chunk(2, 1)[0].dequantize()


def test_parts_of_a_quantised_tensor(tmp_path):
    torch.manual_seed(2)
    same(Parts(), tmp_path, [(torch.rand(n, 4) * 8 - 1,) for n in (2, 3)], "-i", "x:float32[N,4]")


def test_a_scale_for_each_channel_is_not_cut(tmp_path):
    assert "quantised by channel" in refused(ByChannel(), tmp_path, "-i", "x:float32[N,4]")
