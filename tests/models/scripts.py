"""scripts.py - programs as people script them around a network: decoders with a cache, searches, post-processing of detections, streams that
keep state, padding, text-like lists and dicts. Each runs at several sizes; one that keeps state, step after step.

Sizes that vary are open: {argument: {dimension: name}}.
"""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn
import torch.nn.functional as F

from recipe import Recipe

RECIPES = []


def script(*runs, open_dims=None, tags=()):
    """Register the module class below; a run is its arguments, or a function that makes them. The first is the example."""
    def add(make):
        given = [r if isinstance(r, tuple) else (r,) for r in runs]
        RECIPES.append(Recipe(make.__name__, make, lambda i: given[i], ["scripted"], ["program", "trained", *tags], tuple(range(len(given))), open_dims or {}))
        return make
    return add


def rand(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def tokens(*shape, below=11, seed=0):
    return torch.randint(1, below, shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


# ---- decoders ----

class Layer(nn.Module):
    """Self-attention with a cache of a fixed number of positions, cross-attention, feed-forward."""

    def __init__(self, width: int, heads: int, positions: int):
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.q, self.kv, self.cross_out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.register_buffer("keys", torch.zeros(1, heads, positions, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, positions, width // heads))

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, at: int) -> Tensor:
        h: Tensor = x
        for i, norm in enumerate(self.norm):
            y = norm(h)
            if i == 0:
                q, k, v = self.qkv(y).chunk(3, dim=-1)
                end = at + x.size(1)
                self.keys[:, :, at:end] = self.split(k)
                self.values[:, :, at:end] = self.split(v)
                mask = torch.arange(end).unsqueeze(0) <= torch.arange(at, end).unsqueeze(1)
                a = F.scaled_dot_product_attention(self.split(q), self.keys[:, :, :end], self.values[:, :, :end], attn_mask=mask)
                h = h + self.out(a.transpose(1, 2).flatten(2))
            elif i == 1:
                k, v = self.kv(memory).chunk(2, dim=-1)
                a = F.scaled_dot_product_attention(self.split(self.q(y)), self.split(k), self.split(v))
                h = h + self.cross_out(a.transpose(1, 2).flatten(2))
            else:
                h = h + self.down(F.gelu(self.up(y)))
        return h


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(11, 8), nn.Embedding(16, 8)
        self.layers = nn.ModuleList([Layer(8, 2, 16) for _ in range(2)])
        self.norm = nn.LayerNorm(8)

    def logits(self, ids: Tensor, memory: Tensor, at: int) -> Tensor:
        x = self.embed(ids) + self.position(torch.arange(at, at + ids.size(1)))
        for layer in self.layers:
            x = layer(x, memory, at)
        return F.linear(self.norm(x[:, -1]), self.embed.weight)


@script((tokens(1, 3), rand(1, 5, 8)), (tokens(1, 1), rand(1, 2, 8)), (tokens(1, 6, seed=2), rand(1, 9, 8)),
        open_dims={"prompt": {1: "T"}, "memory": {1: "S"}})
class greedy_with_a_cache(Decoder):
    """Prompt, then one token a step until the end token; the cache is filled before it is read, so nothing is kept."""

    def forward(self, prompt: Tensor, memory: Tensor):
        at = prompt.size(1)
        logits = self.logits(prompt, memory, 0)
        out: List[Tensor] = []
        for i in range(6):
            token = logits.argmax(-1)
            out.append(token)
            if int(token) == 0:
                break
            logits = self.logits(token.unsqueeze(1), memory, at)
            at += 1
        return torch.stack(out, 1), logits


@script((tokens(1, 2), rand(1, 4, 8)), (tokens(1, 1, seed=1), rand(1, 4, 8)), (tokens(1, 3, seed=2), rand(1, 4, 8)), open_dims={"ids": {1: "T"}}, tags=("state",))
class decoder_step(Decoder):
    """One call a step: the cache and how far it is filled are the model's state."""

    def __init__(self):
        super().__init__()
        self.at = 0

    def forward(self, ids: Tensor, memory: Tensor):
        logits = self.logits(ids, memory, self.at)
        self.at += ids.size(1)
        return logits, self.at


@script(tokens(2), tokens(2, seed=3), tokens(2, seed=5))
class beam_of_hypotheses(nn.Module):
    """Hypotheses as tensors beside each other, finished ones kept apart."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(11, 11))

    def forward(self, start: Tensor):
        logp = torch.log_softmax(self.table, 1)
        beams = start.unsqueeze(1).repeat(1, 3)                     # of a batch of 2, 3 beams
        scores = torch.full([2, 3], float("-inf"))
        scores[:, 0] = 0.0
        paths = beams.unsqueeze(-1)
        ended = torch.zeros([2, 3], dtype=torch.bool)
        for step in range(5):
            nexts = logp[paths[:, :, -1]]
            only_end = torch.full([11], float("-inf"))
            only_end[0] = 0.0
            nexts = torch.where(ended.unsqueeze(-1), only_end, nexts)
            total = (scores.unsqueeze(-1) + nexts).flatten(1)
            scores, at = total.topk(3, dim=1)
            beam, token = torch.div(at, 11, rounding_mode="floor"), at % 11
            paths = torch.cat([paths.gather(1, beam.unsqueeze(-1).expand(-1, -1, paths.size(2))), token.unsqueeze(-1)], 2)
            ended = ended.gather(1, beam) | (token == 0)
            if bool(ended.all()):
                break
        length = (paths != 0).sum(-1).to(scores.dtype)
        best = (scores / ((5.0 + length) / 6.0) ** 0.6).argmax(1)
        return paths[torch.arange(2), best], scores


@script((rand(6, 5), torch.tensor([6])), (rand(3, 5), torch.tensor([2])), (rand(9, 5), torch.tensor([9])), open_dims={"frames": {0: "T"}})
class transducer_with_lstm(nn.Module):
    """Prediction network with its own state, a joint, at most three labels a frame, frames beyond the length ignored."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.joint = nn.Embedding(7, 6), nn.LSTMCell(6, 4), nn.Linear(9, 7)

    def forward(self, frames: Tensor, length: Tensor):
        h, c = torch.zeros(1, 4), torch.zeros(1, 4)
        last = torch.zeros(1, dtype=torch.long)
        labels: List[int] = []
        times: List[int] = []
        for t in range(int(length)):
            emitted = 0
            more = True
            while more and emitted < 3:
                h1, c1 = self.cell(self.embed(last), (h, c))
                k = int(self.joint(torch.cat([frames[t:t + 1], h1], 1)).argmax())
                if k == 6:
                    more = False
                else:
                    labels.append(k)
                    times.append(t)
                    last = torch.full([1], k, dtype=torch.long)
                    h, c = h1, c1
                    emitted += 1
        return torch.tensor(labels, dtype=torch.long), torch.tensor(times, dtype=torch.long), h


@script(rand(7, 5), rand(2, 5), rand(12, 5), open_dims={"logits": {0: "T"}})
class ctc_prefix(nn.Module):
    """Collapses repeated labels and blanks, with the mean confidence of each run."""

    def forward(self, logits: Tensor):
        p, best = logits.softmax(-1).max(-1)
        out: List[Tensor] = []
        sure: List[Tensor] = []
        before = -1
        for t in range(best.size(0)):
            label = int(best[t])
            if label != 0 and label != before:
                out.append(best[t])
                sure.append(p[t])
            before = label
        if len(out) == 0:
            return torch.zeros(0, dtype=torch.long), torch.zeros(0)
        return torch.stack(out), torch.stack(sure)


@script((rand(11), tokens(4)), (rand(11, seed=1), tokens(1)), (rand(11, seed=2), tokens(7)), open_dims={"seen": {0: "T"}})
class logits_processors(nn.Module):
    """Repetition penalty, no repeated bigram, top-k and top-p before the softmax."""

    def forward(self, logits: Tensor, seen: Tensor):
        x = logits.clone()
        score = x.gather(0, seen)
        x.scatter_(0, seen, torch.where(score < 0, score * 1.3, score / 1.3))
        for i in range(seen.size(0) - 1):
            if bool(seen[i] == seen[-1]):
                x[seen[i + 1]] = float("-inf")
        x = torch.where(x < x.topk(8)[0][-1], torch.full_like(x, float("-inf")), x)
        values, at = x.sort(descending=True)
        drop = values.softmax(0).cumsum(0) > 0.9
        drop[1:] = drop[:-1].clone()
        drop[0] = False
        mask = torch.zeros_like(drop).scatter(0, at, drop)
        return x.masked_fill(mask, float("-inf")).softmax(0)


# ---- detections ----

def boxes(n, seed=0):
    g = torch.Generator().manual_seed(n + seed)
    corner = torch.rand(n, 2, generator=g) * 5
    return torch.cat([corner, corner + torch.rand(n, 2, generator=g) * 5 + 1], 1)


def overlaps(a: Tensor, b: Tensor) -> Tensor:
    low, high = torch.max(a[:, None, :2], b[None, :, :2]), torch.min(a[:, None, 2:], b[None, :, 2:])
    both = (high - low).clamp(min=0).prod(2)
    area_a, area_b = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]), (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return both / (area_a[:, None] + area_b[None, :] - both)


@script((boxes(9), rand(9, 3).sigmoid()), (boxes(1), rand(1, 3).sigmoid()), (boxes(20), rand(20, 3).sigmoid()), open_dims={"found": {0: "N"}, "scores": {0: "N"}})
class suppression_by_class(nn.Module):
    """Threshold, top candidates, suppression class by class, the best of all."""

    def forward(self, found: Tensor, scores: Tensor) -> Dict[str, Tensor]:
        kept: List[Tensor] = []
        kept_scores: List[Tensor] = []
        labels: List[Tensor] = []
        for c in range(scores.size(1)):
            s = scores[:, c]
            at = torch.where(s > 0.3)[0]
            s, order = s[at].sort(descending=True, stable=True)
            b = found[at][order]
            alive = torch.ones(b.size(0), dtype=torch.bool)
            over = overlaps(b, b) > 0.4
            for i in range(b.size(0)):
                if bool(alive[i]):
                    hit = over[i].clone()
                    hit[:i + 1] = False
                    alive = alive & ~hit
            kept.append(b[alive])
            kept_scores.append(s[alive])
            labels.append(torch.full_like(s[alive], c, dtype=torch.long))
        all_scores = torch.cat(kept_scores)
        best = all_scores.sort(descending=True, stable=True)[1][:10]
        return {"boxes": torch.cat(kept)[best], "scores": all_scores[best], "labels": torch.cat(labels)[best]}


@script((boxes(4), rand(4).sigmoid()), (boxes(4, 1), rand(4, seed=1).sigmoid()), (boxes(2), rand(2).sigmoid()), (boxes(6), rand(6).sigmoid()),
        open_dims={"found": {0: "N"}, "scores": {0: "N"}}, tags=("state",))
class tracker(nn.Module):
    """Boxes of the frames before, matched greedily with those of this frame; the unmatched ones get a new number."""

    def __init__(self):
        super().__init__()
        self.register_buffer("before", torch.zeros(0, 4))
        self.register_buffer("ids", torch.zeros(0, dtype=torch.long))
        self.register_buffer("next_id", torch.ones((), dtype=torch.long))

    def forward(self, found: Tensor, scores: Tensor):
        ids = torch.zeros(found.size(0), dtype=torch.long)
        over = overlaps(torch.cat([self.before, torch.full((1, 4), -1.0)]), found)
        best, at = over.max(0)
        known = torch.cat([self.ids, torch.zeros(1, dtype=torch.long)])[at]
        new = best <= 0.3
        count = new.to(torch.long).cumsum(0)
        ids = torch.where(new, self.next_id + count - 1, known)
        self.next_id += new.sum()
        self.before = found
        self.ids = ids
        return ids, scores * 1.0


# ---- streams ----

@script((rand(1, 512), 16000), (rand(1, 512, seed=1), 16000), (rand(1, 512, seed=2), 16000), tags=("state",))
class voice_detector(nn.Module):
    """Two networks for two sample rates, a context of the last samples and the state of a recurrent cell, reset when the rate changes."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Conv1d(1, 8, 64, 32), nn.Conv1d(1, 8, 32, 16)
        self.cell, self.head = nn.LSTMCell(8, 6), nn.Linear(6, 1)
        self.register_buffer("h", torch.zeros(1, 6))
        self.register_buffer("c", torch.zeros(1, 6))
        self.register_buffer("context", torch.zeros(1, 64))
        self.last_rate = 0

    def reset(self):
        self.h = torch.zeros(1, 6)
        self.c = torch.zeros(1, 6)
        self.context = torch.zeros(1, 64)

    def forward(self, x: Tensor, rate: int) -> Tensor:
        if rate not in [8000, 16000]:
            raise ValueError("rates: 8000, 16000")
        if self.last_rate != 0 and self.last_rate != rate:
            self.reset()
        y = torch.cat([self.context, x], 1)
        self.context = y[:, -64:]
        z = self.wide(y.unsqueeze(1)) if rate == 16000 else self.narrow(y.unsqueeze(1))
        h, c = self.cell(torch.relu(z).mean(2), (self.h, self.c))
        self.h = h
        self.c = c
        self.last_rate = rate
        return torch.sigmoid(self.head(torch.relu(h)))


@script(rand(1, 3, 10), rand(1, 3, 4), rand(1, 3, 7), open_dims={"x": {2: "T"}}, tags=("state",))
class causal_convolutions(nn.Module):
    """Each layer keeps the end of its input for the next chunk."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(3, 3, 3, dilation=2 ** i) for i in range(3)])
        self.register_buffer("ends", torch.zeros(3, 1, 3, 8))

    def forward(self, x: Tensor) -> Tensor:
        for i, conv in enumerate(self.convs):
            keep = 2 << i
            padded = torch.cat([self.ends[i, :, :, 8 - keep:], x], 2)
            self.ends[i, :, :, 8 - keep:] = padded[:, :, padded.size(2) - keep:]
            x = x + torch.tanh(conv(padded))
        return x


@script(rand(5, 2), rand(3, 2), rand(1, 2), open_dims={"x": {0: "T"}}, tags=("state",))
class running_normaliser(nn.Module):
    """Mean and variance of all that came so far, the way of Welford, and a counter that is an attribute."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("m2", torch.zeros(2))
        self.seen: int = 0

    def forward(self, x: Tensor):
        for i in range(x.size(0)):
            self.seen += 1
            d = x[i] - self.mean
            self.mean = self.mean + d / self.seen
            self.m2 = self.m2 + d * (x[i] - self.mean)
        return (x - self.mean) / torch.sqrt(self.m2 / max(self.seen - 1, 1) + 1e-5), self.seen


@script(rand(2, 3), rand(2, 3, seed=1), rand(2, 3, seed=2), tags=("state",))
class counter(nn.Module):
    """Counts its calls, warms up for two of them, smooths from then on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor):
        self.calls += 1
        if bool(self.calls <= 2):
            self.mean = (self.mean * (self.calls - 1) + x.mean(0)) / self.calls
        else:
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.mean, self.calls


@script(rand(1, 4), rand(1, 4, seed=1), rand(1, 4, seed=2), rand(1, 4, seed=3), tags=("state",))
class ring_buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(3, 4))
        self.register_buffer("at", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor):
        self.ring[int(self.at)] = x[0]
        self.at = (self.at + 1) % 3
        order = (torch.arange(3) + self.at) % 3
        return self.ring[order], self.ring.amax(0)


# ---- lists, dicts, text ----

@script(([rand(3, 2), rand(5, 2), rand(1, 2)],), ([rand(4, 2), rand(4, 2), rand(2, 2)],), open_dims={"xs.0": {0: "A"}, "xs.1": {0: "B"}, "xs.2": {0: "C"}})
class pads_and_masks(nn.Module):
    """A batch of sequences of different lengths, padded, masked, and taken apart again."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 4)

    def forward(self, xs: List[Tensor]):
        longest = max([x.size(0) for x in xs])
        rows: List[Tensor] = []
        masks: List[Tensor] = []
        for x in xs:
            rows.append(F.pad(x, [0, 0, 0, longest - x.size(0)], value=-1.0))
            masks.append(torch.arange(longest) < x.size(0))
        batch, mask = torch.stack(rows), torch.stack(masks)
        y = self.fc(batch) * mask.unsqueeze(-1)
        parts = [y[i, :x.size(0)] for i, x in enumerate(xs)]
        return y.sum(1) / mask.sum(1, keepdim=True), parts[0], parts[2], longest


@script(({"text": rand(4, 3), "image": rand(2, 3)},), ({"text": rand(1, 3), "image": rand(5, 3)},), open_dims={"features.text": {0: "T"}, "features.image": {0: "P"}})
class modalities(nn.Module):
    """A dict of features by name: heads by name, results by name, what is missing by default."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"text": nn.Linear(3, 4), "image": nn.Linear(3, 4)})
        self.order: Dict[str, int] = {"image": 1, "text": 0, "sound": 2}

    def forward(self, features: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            if name in features:
                out[name + ".pooled"] = head(features[name]).mean(0)
        slots: List[Tensor] = [torch.zeros(4), torch.zeros(4), torch.zeros(4)]
        for name in sorted(self.order.keys()):
            slots[self.order[name]] = out.get(name + ".pooled", torch.ones(4))
        out["all"] = torch.cat(slots)
        if "sound.pooled" not in out:
            missing: List[int] = []
            for name, at in self.order.items():
                if name + ".pooled" not in out:
                    missing.append(len(name) + at)
            out["missing"] = torch.tensor(missing)
        return out


class Word(NamedTuple):
    text: str
    at: int


@script(rand(6, 4), rand(3, 4), open_dims={"x": {0: "T"}})
class text_like(nn.Module):
    """Strings, lists and dicts that are known while the program is read: a vocabulary, a parsed configuration, formatted names."""

    def __init__(self):
        super().__init__()
        self.config = "hidden=4; heads=2,1 ;name = Net"
        self.vocabulary: Dict[str, int] = {"<pad>": 0, "the": 1, "cat": 2, "sat": 3}
        self.scale = nn.Parameter(torch.rand(4))

    def parse(self) -> Dict[str, str]:
        out: Dict[str, str] = {}
        for part in self.config.split(";"):
            pair = part.split("=")
            out[pair[0].strip()] = pair[1].strip().lower()
        return out

    def forward(self, x: Tensor):
        options = self.parse()
        words: List[Word] = []
        for i, w in enumerate("The cat  sat".lower().split()):
            words.append(Word(w, self.vocabulary.get(w, 0) * 10 + i))
        ids = torch.tensor([w.at for w in words])
        hidden = int(options["hidden"])
        heads = [int(h) for h in options["heads"].split(",")]
        y = x * self.scale[:hidden]
        parts: List[Tensor] = []
        for i, h in enumerate(heads):
            parts.append(y.view(-1, h, hidden // h).sum(1) * (i + 1))
        if options["name"].startswith("ne") and len("{}:{}".format(options["name"], hidden)) == 5:
            parts.append(y.mean(0, keepdim=True))
        return parts[0], parts[1], parts[2], ids, torch.tensor([ord(c) for c in options["name"]])


@script((rand(3, 4), None), open_dims={"x": {0: "N"}})
class optional_mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias: Optional[Tensor] = torch.ones(4)

    def forward(self, x: Tensor, mask: Optional[Tensor]):
        y = x if mask is None else x * mask
        bias = self.bias
        if bias is not None:
            y = y + bias
        return y, (y.size(0), [y.sum(), y.mean()])


@script(rand(4, 6), rand(1, 6), rand(9, 6), open_dims={"x": {0: "N"}})
class early_exit(nn.Module):
    """Blocks until the result is sure enough; how many ran is a result."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(6, 6) for _ in range(4)])
        self.heads = nn.ModuleList([nn.Linear(6, 3) for _ in range(4)])

    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        ran = 0
        done = False
        p = torch.zeros(x.size(0), 3)
        for block, head in zip(self.blocks, self.heads):
            if not done:
                x = torch.tanh(block(x))
                p = head(x).softmax(1)
                ran += 1
                done = bool(p.amax(1).min() > 0.4)
        return p, ran


@script((rand(2, 3), 3))
class newton(nn.Module):
    """while with a tolerance; the number of steps is open."""

    def forward(self, x: Tensor, most: int):
        y = torch.ones_like(x)
        target = x.abs() + 0.5
        steps = 0
        error = torch.tensor(float("inf"))
        while bool(error > 1e-3) and steps < most:
            y = 0.5 * (y + target / y)
            error = (y * y - target).abs().max()
            steps += 1
        return y, steps
