"""nn.TransformerEncoder in evaluation mode with padding and masks, at other sizes: traced, with what PyTorch's fused path leaves in the program, and scripted."""
import pytest
import torch
from torch import nn

import scripted
from scripted import oracle

SPECS = {"x": "x:float32[N,S,8]", "padding": "padding:bool[N,S]", "mask": "mask:bool[S,S]"}


class Padded(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)


class Masked(Padded):
    def forward(self, x, mask):
        return self.encoder(x, mask)


class Both(Padded):
    def forward(self, x, mask, padding):
        return self.encoder(x, mask, padding)


def encoder(norm_first=False, nested=True, activation="relu", norm=False, batch_first=True):
    torch.manual_seed(11)
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=activation, batch_first=batch_first, norm_first=norm_first)
    whole = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8) if norm else None, enable_nested_tensor=nested)
    with torch.no_grad():
        for p in whole.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return whole.eval()


def inputs(names, lengths, size):
    """Sequences of these lengths in a batch padded to `size` with numbers that must not show."""
    torch.manual_seed(len(lengths) + size)
    padding = torch.arange(size) >= torch.tensor(lengths).unsqueeze(1)
    x = torch.randn(len(lengths), size, 8).masked_fill(padding.unsqueeze(2), 3.0)
    known = {"x": x, "padding": padding, "mask": torch.ones(size, size, dtype=torch.bool).triu(1)}
    return tuple(known[n] for n in names)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make, names", [(Padded, ["x", "padding"]), (Masked, ["x", "mask"]), (Both, ["x", "mask", "padding"])],
                         ids=["padding", "mask", "both"])
@pytest.mark.parametrize("how", [{}, {"norm_first": True}, {"nested": False}, {"activation": "gelu", "norm": True}], ids=str)
def test_encoder(make, names, how, tmp_path):
    model, path, out = make(encoder(**how)), tmp_path / "model.pt", tmp_path / "model.onnx"
    with torch.no_grad():
        torch.jit.trace(model, inputs(names, [5, 2, 3], 5), check_trace=False).save(str(path))
        runs = [inputs(names, *of) for of in (([5, 2, 3], 5), ([4, 1], 4), ([7], 7), ([2, 3, 1, 2], 6))]
        loaded = torch.jit.load(str(path))
        wanted = [([x.numpy() for x in xs], [loaded(*xs).numpy()]) for xs in runs]
    for opset in ("9", "13", "18", "23"):
        oracle.converted(path, out, "--opset", opset, *(o for n in names for o in ("-i", SPECS[n])))
        oracle.check(out)
        oracle.run(out, wanted)


class Scripted(nn.Module):
    """Sequences in the second axis where the encoder wants them there."""
    def __init__(self, encoder, batch_first: bool):
        super().__init__()
        self.encoder, self.batch_first = encoder, batch_first

    def turned(self, x):
        return x if self.batch_first else x.transpose(0, 1)


class ScriptedPadded(Scripted):
    def forward(self, x, padding):
        return self.turned(self.encoder(self.turned(x), src_key_padding_mask=padding))


class ScriptedMasked(Scripted):
    def forward(self, x, mask):
        return self.turned(self.encoder(self.turned(x), mask))


class ScriptedBoth(Scripted):
    def forward(self, x, mask, padding):
        return self.turned(self.encoder(self.turned(x), mask, padding))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make, names", [(ScriptedPadded, ["x", "padding"]), (ScriptedMasked, ["x", "mask"]), (ScriptedBoth, ["x", "mask", "padding"])],
                         ids=["padding", "mask", "both"])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_scripted(make, names, batch_first, norm_first, tmp_path):
    """As PyTorch computes with gradients, when it takes no nested tensors; a mask that is not causal too."""
    model = make(encoder(norm_first=norm_first, batch_first=batch_first, norm=True), batch_first)
    runs = [inputs(names, *of) for of in (([5, 2, 3], 5), ([4, 1], 4), ([7], 7))]
    if "mask" in names:
        x, mask, *rest = inputs(names, [5, 5], 5)
        runs.append((x, mask.t().contiguous(), *rest))
    done, _ = scripted.same(model, tmp_path, runs, *(o for n in names for o in ("-i", SPECS[n])))
    assert ("computes the rows that are padding" in done.stderr) == ("padding" in names and batch_first and not norm_first)


@pytest.mark.filterwarnings("ignore")
def test_a_nested_tensor_that_is_not_padded(tmp_path):
    class Net(nn.Module):
        def forward(self, x, padding):
            nested = torch._nested_tensor_from_mask(x, padding.logical_not())
            return nested.sin().to_padded_tensor(0.0)
    path = tmp_path / "model.pt"
    torch.jit.trace(Net(), inputs(["x", "padding"], [2, 3], 3), check_trace=False).save(str(path))
    done = oracle.convert(path, tmp_path / "model.onnx", "-i", SPECS["x"], "-i", SPECS["padding"])
    assert done.returncode == 1 and "aten::sin: it does not handle nested tensors" in done.stderr, done.stderr
