"""A model that was saved at a batch of 2 is right at batches of 1, 3 and 7, and at 0 where PyTorch is: each network below traced, scripted
and exported (as it is, and decomposed), converted once with an dynamic batch, and run in one session against the module itself."""
import multiprocessing
import warnings

import pytest
import torch
from torch import Tensor, nn
import torch.nn.functional as F

from scripted import flat, kinds, oracle

BATCHES = (2, 1, 3, 7, 0)
NETWORKS = []


def network(*shapes, ints=0, forms=("traced", "scripted", "exported")):
    """Register the module class below; shapes without the batch. ints: the input holds ints below that."""
    def add(make):
        NETWORKS.extend(pytest.param(make, form, shapes, ints, id="%s-%s" % (make.__name__, form)) for form in forms)
        return make
    return add


@network((3, 16, 16))
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8 * 4 * 4, 5)

    def forward(self, x):
        x = self.body(x)
        return self.head(x.view(x.size(0), -1))


@network((4, 8, 8))
class Residual(nn.Module):
    """Squeeze and excite, group norm, up and down again."""
    def __init__(self):
        super().__init__()
        self.down, self.norm, self.up = nn.Conv2d(4, 8, 2, 2), nn.GroupNorm(2, 8), nn.ConvTranspose2d(8, 4, 2, 2)
        self.squeeze, self.excite = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)

    def forward(self, x):
        y = F.silu(self.norm(self.down(x)))
        y = y * torch.sigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.up(y), F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)


@network((6, 8))
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x)


@network((3, 3), (4,), forms=("traced", "exported"))
class Decomposed(nn.Module):
    """What the default decompositions of torch.export leave: checks for errors, _trilinear, rrelu_with_noise_functional."""
    def __init__(self):
        super().__init__()
        self.pairs = nn.Bilinear(3, 4, 5)

    def forward(self, x, y):
        a = x + 8 * torch.eye(3)
        return torch.linalg.inv(a), torch.linalg.solve(a, x), self.pairs(x[:, 0], y), F.rrelu(x)


@network((5, 8), (5,))
class Attention(nn.Module):
    """Heads by hand, a causal mask, and one of the batch's own."""
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x, keep):
        b, t, c = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / 2.0
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        scores = scores + (keep > 2.0).to(scores.dtype)[:, None, None, :] * -1e4
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)


@network((4, 6, 8))
class ScaledDotProduct(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x * 0.5, x + 1.0, is_causal=True)


@network((3, 8, 8))
class Patches(nn.Module):
    """A class token and positions, as vision transformers have them."""
    def __init__(self):
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, 6, 4, 4), nn.LayerNorm(6)
        self.token, self.position = nn.Parameter(torch.rand(1, 1, 6)), nn.Parameter(torch.rand(1, 5, 6))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.norm(x)[:, 0]


@network((5, 4))
class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return y, h, c, y[:, -1]


@network((5, 4))
class Gru(nn.Module):
    """The batch in the middle, and a first state made to fit."""
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 3)

    def forward(self, x):
        return self.rnn(x.transpose(0, 1), torch.ones(1, x.size(0), 3))


@network((6,), ints=9)
class Pooled(nn.Module):
    """Embeddings averaged over what is no padding."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4, padding_idx=0)

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1)
        total = (self.embed(x) * mask).sum(1)
        return total / mask.sum(1).clamp(min=1), self.embed(x).max(1)[0]


@network((7,))
class Heads(nn.Module):
    def forward(self, x):
        values, at = x.topk(3, 1)
        return values, at, x.argmax(1), x.gather(1, at), x.sort(1, descending=True)[0], x.cumsum(1), x.std(1), x.logsumexp(1)


@network((4,))
class AlongTheBatch(nn.Module):
    def forward(self, x):
        return x - x.sum(0), x.flip(0), x[-1:], torch.cat([x, x * 2]), x.cumsum(0), x.t(), x.unsqueeze(0).repeat(2, 1, 1)


@network((4,), forms=("traced", "scripted"))        # torch.export takes it for 2 batches only
class EveryOther(nn.Module):
    def forward(self, x):
        return x[::2], x[1::2]


@network((4,), (4,))
class Pairs(nn.Module):
    """Each with each: N x N."""
    def forward(self, x, y):
        return x @ y.t(), torch.cdist(x, y), F.normalize(x, dim=1), torch.einsum("ij,kj->ik", x, y), (x[:, None] - y[None]).abs().sum(-1)


@network((3, 4))
class Merged(nn.Module):
    """Batch and rows become one axis, and two again."""
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x):
        rows = self.linear(x.reshape(-1, 4))
        a, b = rows.view(x.size(0), 3, 6).chunk(2, 2)
        return a * b, torch.stack([a, b], 1).flatten(1), rows.view(x.size(0), -1, 2).amax(1)


@network((4, 6, 6))
class Sampled(nn.Module):
    def forward(self, x):
        grid = F.affine_grid(torch.eye(2, 3).unsqueeze(0).expand(x.size(0), -1, -1) * 0.7, [x.size(0), 4, 5, 5], align_corners=False)
        return F.grid_sample(x, grid, align_corners=False), F.pixel_shuffle(x, 2), F.unfold(x, 2, stride=2), F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3)


@network((5,), (5,))
class Losses(nn.Module):
    def forward(self, x, y):
        return F.mse_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y, reduction="none"), F.cross_entropy(x, y.softmax(1), reduction="none")


@network((4,))
class Masked(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[y > 1.5] = 0.0
        y[:, 0] = x[:, 1] * 2
        return y, torch.where(x > 1.0, x, -x), x.masked_fill(x < 0.5, 9.0)


@network((9,))
class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 6), nn.BatchNorm1d(6), nn.GELU(), nn.Dropout(0.3), nn.Linear(6, 4))

    def forward(self, x):
        y = self.body(x)
        return y.softmax(-1), y.argmax(-1), y.max(-1)[0] > 0.1


@network((5, 4))
class BothWays(nn.Module):
    """Two layers in both directions, their last states joined."""
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(4, 3, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(6, 2)

    def forward(self, x):
        y, h = self.rnn(x)
        return self.head(y.mean(1)), torch.cat([h[-2], h[-1]], 1)


@network((5, 4))
class Cells(nn.Module):
    """An LSTM by its cell, which is no operator of ONNX: a batch of 0 runs."""
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 3)

    def forward(self, x):
        h, c = torch.zeros(x.size(0), 3), torch.zeros(x.size(0), 3)
        for i in range(5):
            h, c = self.cell(x[:, i], (h, c))
        return h, c


@network((5, 8), (5,))
class Padded(nn.Module):
    """What is padding is no key of any query."""
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, y):
        return self.attention(x, x, x, key_padding_mask=(y > 2.0) & (torch.arange(5) > 0), attn_mask=torch.ones(5, 5).triu(1) > 0, need_weights=False)[0]


@network((5, 8), (3, 8))
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True)

    def forward(self, x, y):
        return self.layer(x, y)


@network((3, 10, 14))
class UNet(nn.Module):
    """Up to the size that the way down had, odd sizes too."""
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1)
        self.up, self.last = nn.Conv2d(12, 4, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = F.relu(self.first(x))
        b = F.relu(self.second(F.max_pool2d(a, 2)))
        c = F.relu(self.third(F.max_pool2d(b, 2)))
        b = F.relu(self.up(torch.cat([b, F.interpolate(c, size=b.shape[2:], mode="nearest")], 1)))
        return self.last(torch.cat([a, F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=True)], 1))


@network((8, 6, 6))
class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.group, self.instance, self.layer = nn.GroupNorm(4, 8), nn.InstanceNorm2d(8, affine=True), nn.LayerNorm([6, 6])

    def forward(self, x):
        return self.group(x), self.instance(x), self.layer(x), F.local_response_norm(x, 3), F.instance_norm(x.flatten(2))


@network((4, 9))
class Sound(nn.Module):
    """Convolutions along time, gated, down and up."""
    def __init__(self):
        super().__init__()
        self.gated, self.up = nn.Conv1d(4, 8, 3, dilation=2), nn.ConvTranspose1d(4, 2, 4, stride=2, padding=1)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        y = self.norm(F.glu(self.gated(F.pad(x, (4, 0))), 1)) + x
        return torch.tanh(self.up(y)), F.adaptive_max_pool1d(y, 3), F.avg_pool1d(y, 2, ceil_mode=True)


@network((4, 8, 8))
class Windows(nn.Module):
    """Attention within windows of shifted images."""
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x):
        b = x.size(0)
        x = torch.roll(x.permute(0, 2, 3, 1), (-2, -2), (1, 2))
        x = x.view(b, 2, 4, 2, 4, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 4)
        q, k, v = self.qkv(x).chunk(3, -1)
        x = (q @ k.transpose(1, 2) * 0.5).softmax(-1) @ v
        x = x.view(b, 2, 2, 4, 4, 4).permute(0, 1, 3, 2, 4, 5).reshape(b, 8, 8, 4)
        return torch.roll(x, (2, 2), (1, 2)).permute(0, 3, 1, 2)


@network((5, 6, 6))
class Detector(nn.Module):
    """One box a cell, the best of each image, and of those the ones that no better one covers."""
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(5, 5, 1)

    def forward(self, x):
        scores, parts = self.head(x).flatten(2).transpose(1, 2).split([1, 4], -1)
        at = torch.arange(6.0)
        centres = torch.stack([at.repeat(6), at.repeat_interleave(6)], -1)
        middle, half = centres + parts[..., :2].tanh(), parts[..., 2:].exp().clamp(max=4.0)
        boxes = torch.cat([middle - half, middle + half], -1)
        best, which = scores.squeeze(-1).sigmoid().topk(8, 1)
        boxes = boxes.gather(1, which.unsqueeze(-1).expand(-1, -1, 4))
        low = torch.max(boxes[:, :, None, :2], boxes[:, None, :, :2])
        high = torch.min(boxes[:, :, None, 2:], boxes[:, None, :, 2:])
        shared, area = (high - low).clamp(min=0).prod(-1), (boxes[..., 2:] - boxes[..., :2]).prod(-1)
        covered = shared / (area[:, :, None] + area[:, None] - shared) > 0.4
        keep = torch.ones_like(best, dtype=torch.bool)
        for i in range(8):
            keep = keep & ~(covered[:, i] & keep[:, i:i + 1] & (torch.arange(8) > i))
        return boxes, best * keep, keep, boxes[keep]


@network((6,), ints=5)
class Scattered(nn.Module):
    def forward(self, x):
        counts = torch.zeros(x.size(0), 5).scatter_add(1, x, torch.ones(x.shape))
        marks = torch.zeros(x.size(0), 5, dtype=torch.int64).scatter(1, x, 1)
        total = torch.zeros(5).index_add(0, x[:, 0], torch.ones(x.size(0)))
        table = torch.arange(10.0).view(5, 2)
        last = table[x[:, -1]]
        return counts, marks, total, last, table.index_select(0, x.flatten()), F.one_hot(x, 5), x.index_select(1, torch.tensor([3, 0]))


@network((4,))
class Written(nn.Module):
    """Rows and columns are written by number."""
    def forward(self, x):
        rows = torch.arange(x.size(0))
        y = x.clone()
        y[rows, rows % 4] = 9.0
        z = torch.zeros(x.size(0), 6)
        z[:, 1:5] += x
        z.index_fill_(1, torch.tensor([5]), 2.0)
        return y, z, x[rows, (rows + 1) % 4], y.index_put((rows % 2,), x, accumulate=True)


@network((5,))
class InOrder(nn.Module):
    """Sorted and summed, along the rows and along the batch."""
    def forward(self, x):
        values, at = x.sort(1)
        down, which = x.sort(0, descending=True)
        largest, where = x.cummax(1)
        return values, at, down, which, x.argsort(1), x.cumsum(0), x.cumprod(1), largest, where, x.median(1)[0], torch.searchsorted(values, x * 0.9)


@network((4,))
class ByRow(nn.Module):
    """What stays is decided by the data: of N rows M."""
    def forward(self, x):
        keep = x.sum(1) > 6.0
        return x[keep], keep.nonzero(), x[keep].sum(0), torch.masked_select(x, x > 2.0)


@network((6,), ints=9)
class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.sum = nn.EmbeddingBag(9, 4, mode="mean"), nn.EmbeddingBag(9, 4, mode="sum", padding_idx=0)

    def forward(self, x):
        return self.mean(x), self.sum(x)


@network((3, 4))
class Beams(nn.Module):
    """The best of all beams of each batch, and the states that they came from."""
    def forward(self, x):
        b = x.size(0)
        best, at = x.log_softmax(-1).view(b, -1).topk(3, 1)
        beam, word = at.div(4, rounding_mode="floor"), at % 4
        rows = (beam + torch.arange(b).unsqueeze(1) * 3).view(-1)
        return best, word, x.view(-1, 4)[rows].view(b, 3, 4), x.view(-1, 4).index_select(0, rows)


@network((32,))
class Spectrum(nn.Module):
    def forward(self, x):
        s = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)
        return s.abs(), torch.fft.rfft(x).real, x.unfold(1, 8, 4).mean(-1)


class Looped(nn.Module):
    """Scripted alone: the rows one by one, as often as there are rows."""
    def forward(self, x):
        total = torch.zeros(4)
        for i in range(x.size(0)):
            total = total * 0.5 + x[i]
        if x.size(0) > 2:
            total = total + 1.0
        return total


def inputs(n, shapes, ints):
    torch.manual_seed(n)
    made = [torch.rand(n, *s) * 3 for s in shapes]
    return [torch.randint(0, ints, (n, *shapes[0]))] if ints else made


def save(model, form, example, path):
    if form == "traced":
        torch.jit.save(torch.jit.trace(model, example, check_trace=False), path)
    elif form == "scripted":
        torch.jit.save(torch.jit.script(model), path)
    else:
        program = exported(model, example)
        torch.export.save(program, path)
        torch.export.save(program.run_decompositions(), decomposed(path))


def exported(model, example):
    batch = torch.export.Dim("N", min=0, max=16)
    return torch.export.export(model, tuple(example), dynamic_shapes=tuple({0: batch} for _ in example))


def decomposed(path):
    return path.replace(".pt2", ".dec.pt2")


def specs(model, form, example):
    names = [p for p in model.forward.__code__.co_varnames[1:1 + len(example)]]
    return [w for n, x in zip(names, example) if form != "exported"
            for w in ("-i", "%s:%s[%s]" % (n, str(x.dtype)[6:], ",".join(["N"] + [str(d) for d in x.shape[1:]])))]


def runs_of(model, shapes, ints):
    """(inputs, torch's outputs) at each batch that the module itself takes."""
    runs = []
    for n in BATCHES:
        xs = inputs(n, shapes, ints)
        try:
            runs.append(([x.numpy() for x in xs], flat(model(*xs))))
        except (RuntimeError, IndexError, ValueError):
            assert n == 0
    return runs


@pytest.mark.parametrize("make, form, shapes, ints", NETWORKS)
def test_every_batch(make, form, shapes, ints, tmp_path):
    torch.manual_seed(1)
    model, path, out = make().eval(), str(tmp_path / ("model" + (".pt2" if form == "exported" else ".pt"))), tmp_path / "model.onnx"
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = inputs(2, shapes, ints)
        save(model, form, example, path)
        runs = runs_of(model, shapes, ints)
    for saved in [path] + ([decomposed(path)] if form == "exported" else []):
        oracle.converted(saved, out, *specs(model, form, example))
        oracle.check(out)
        oracle.run(out, runs)


def test_a_loop_over_the_batch(tmp_path):
    model, out = Looped(), tmp_path / "model.onnx"
    save(model, "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", out, "-i", "x:float32[N,4]")
    oracle.run(out, runs_of(model, [(4,)], 0))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layers = getattr(nn, kind)(4, 3, **options)

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize("opset", (9, 18, 26))
@pytest.mark.parametrize("options", ({}, {"num_layers": 2, "bidirectional": True, "batch_first": True}), ids=("one", "four"))
@pytest.mark.parametrize("kind", ("LSTM", "GRU", "RNN"))
def test_no_sequence_does_not_end_the_process(kind, options, opset, tmp_path):
    """ONNX Runtime 1.31 aborts at a batch of 0 in LSTM and GRU: the model runs in a process of its own."""
    model, out = Recurrent(kind, **options).eval(), tmp_path / "model.onnx"
    spec = "x:float32[N,5,4]" if options else "x:float32[5,N,4]"
    save(model, "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", out, "-i", spec, "--opset=%d" % opset)
    xs = [torch.rand((n, 5, 4) if options else (5, n, 4)) for n in (0, 1, 3)]
    with torch.no_grad():
        runs = [([x.numpy()], flat(model(x))) for x in xs]
    process = multiprocessing.get_context("spawn").Process(target=oracle.run, args=(str(out), runs))
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("size, guarded", (("N", True), ("N=0..9", True), ("N=1..64", False), ("2", False)))
def test_only_a_batch_that_may_be_0_is_guarded(size, guarded, tmp_path):
    save(Recurrent("LSTM"), "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", tmp_path / "model.onnx", "-i", "x:float32[5,%s,4]" % size)
    made = kinds(tmp_path / "model.onnx")
    assert ("Pad" in made, made.count("LSTM")) == (guarded, 1)
    assert guarded or made == ["LSTM", "Squeeze"]


def test_runtimes_without_that_fault_get_plain_layers(tmp_path):
    save(Recurrent("LSTM"), "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", tmp_path / "model.onnx", "-i", "x:float32[5,N,4]", "--target=onnx")
    assert "Pad" not in kinds(tmp_path / "model.onnx")


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        return self.norm(x)


def test_group_norm_of_no_sample(tmp_path):
    model, out = Grouped().eval(), tmp_path / "model.onnx"
    save(model, "scripted", None, str(tmp_path / "model.pt"))
    for opset in (18, 21):
        oracle.converted(tmp_path / "model.pt", out, "-i", "x:float32[N,8,H,6]", "--opset=%d" % opset)
        with torch.no_grad():
            oracle.run(out, runs_of(model, [(8, 5, 6)], 0))


class Medians(nn.Module):
    def forward(self, x):
        return x.median(), x.nanmedian()


@pytest.mark.parametrize("opset", [11, 18, 21])
def test_the_median_of_no_sample(opset, tmp_path):
    model, out = Medians().eval(), tmp_path / "model.onnx"
    save(model, "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", out, "-i", "x:float32[N,3]", "--opset=%d" % opset)
    oracle.run(out, runs_of(model, [(3,)], 0))


class Pooled(nn.Module):
    """Over parts whose lengths ONNX decides: windows along a last axis of their own."""
    def forward(self, x):
        y, at = F.adaptive_max_pool2d(x, (3, 2), return_indices=True)
        return y, at, F.adaptive_max_pool1d(x[:, :, 0], 3)


@pytest.mark.parametrize("opset", [9, 12, 18, 23])
def test_pools_of_no_sample(opset, tmp_path):
    """ONNX Runtime 1.31 leaves the shape of a tensor without elements as it is along an axis that is counted from the end."""
    model, out = Pooled().eval(), tmp_path / "model.onnx"
    save(model, "scripted", None, str(tmp_path / "model.pt"))
    oracle.converted(tmp_path / "model.pt", out, "-i", "x:float32[N,4,H,W]", "--opset=%d" % opset)
    oracle.run(out, runs_of(model, [(4, 7, 6)], 0))
