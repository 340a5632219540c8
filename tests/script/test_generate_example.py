"""examples/generate.py: tokens of small models whose cache is state, written in place where nothing else reads it."""
import os
import sys

import numpy
import pytest
import torch
from torch import nn

from scripted import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "examples"))
import generate                                                     # noqa: E402

WORDS, SIZE, LONGEST = 23, 8, 32
SIZES = ({1: torch.export.Dim("length", min=1, max=LONGEST)}, {0: torch.export.Dim("length", min=1, max=LONGEST)})


class Decoder(nn.Module):
    """One layer of attention over a static cache, as transformers writes it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.qkv, self.head = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, WORDS)
        self.register_buffer("keys", torch.zeros(1, LONGEST, SIZE))
        self.register_buffer("values", torch.zeros(1, LONGEST, SIZE))

    def write(self, k, v, cache_position):
        self.keys.index_copy_(1, cache_position, k)
        self.values.index_copy_(1, cache_position, v)

    def forward(self, input_ids, cache_position):
        q, k, v = self.qkv(self.embed(input_ids)).chunk(3, -1)
        self.write(k, v, cache_position)
        mask = torch.arange(LONGEST) <= cache_position[:, None]
        return self.head(nn.functional.scaled_dot_product_attention(q, self.keys, self.values, mask))


class Remembering(Decoder):
    """What the cache was before the run is read too: it must not be written over."""

    def write(self, k, v, cache_position):
        before = self.keys.clone()
        super().write(k, v, cache_position)
        self.values.add_(before.sum() / 100)


@pytest.mark.parametrize("net, shared", ((Decoder, {"keys", "values"}), (Remembering, set())))
def test_tokens(tmp_path, net, shared):
    prompt, count = torch.tensor([[3, 17, 5]]), 20
    program = torch.export.export(net(), (torch.zeros(1, 4, dtype=torch.int64), torch.arange(4)), dynamic_shapes=SIZES)
    torch.export.save(program, str(tmp_path / "model.pt2"))
    module, want = net(), prompt
    with torch.no_grad():
        while want.shape[1] < 3 + count:
            at = torch.arange(3) if want.shape[1] == 3 else torch.tensor([want.shape[1] - 1])
            want = torch.cat([want, module(want[:, at], at)[:, -1:].argmax(-1)], 1)
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    generator = generate.Generator(str(tmp_path / "model.onnx"))
    assert generator.shared == shared
    for _ in range(2):                                              # a second text begins with an empty cache
        assert generate.generate(generator, prompt.numpy(), count) == want[0, 3:].tolist()
    held = generator.kept["keys"]
    generator.step(numpy.array([[1]]))
    assert (generator.kept["keys"] is held) == bool(shared)
