"""Programs as people write them around a network: decoders, trackers, parsers. Each runs in ONNX Runtime at several lengths against torch."""
from typing import Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

import scripted


@torch.jit.interface
class Act(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Relu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


class Tanh(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x)


class Base(nn.Module):
    def act(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x) + 1


class Derived(Base):
    def act(self, x: Tensor) -> Tensor:
        return torch.tanh(x)


class CtcGreedy(nn.Module):
    """Without blanks and repeats."""
    def forward(self, x):
        best = x.argmax(1)
        out: List[int] = []
        prev = -1
        for i in range(best.size(0)):
            c = int(best[i])
            if c != prev and c != 0:
                out.append(c)
            prev = c
        return torch.tensor(out)


class RnntGreedy(nn.Module):
    """An RNN-T: frames outside, symbols of a frame inside, a state that is None at first."""
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(6, 8)
        self.pred = nn.LSTMCell(8, 8)
        self.j = nn.Linear(12, 6)
        self.max_sym = 3

    def forward(self, x):
        enc = x
        hyp: List[int] = []
        state: Optional[Tuple[Tensor, Tensor]] = None
        last = 0
        h = torch.zeros(1, 8)
        c = torch.zeros(1, 8)
        for t in range(enc.size(0)):
            f = enc[t]
            n = 0
            not_blank = True
            while not_blank and n < self.max_sym:
                e = self.emb(torch.tensor([last]))
                if state is None:
                    h2, c2 = self.pred(e)
                else:
                    h2, c2 = self.pred(e, state)
                logits = self.j(torch.cat([f, h2[0]]))
                k = int(logits.argmax())
                if k == 0:
                    not_blank = False
                else:
                    hyp.append(k)
                    state = (h2, c2)
                    last = k
                n += 1
        return torch.tensor(hyp)


class Taco(nn.Module):
    """A decoder that goes on until its gate says stop."""
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.mel = nn.Linear(8, 8)
        self.stop = nn.Linear(8, 1)
        self.maxlen = 10
        self.thr = 0.52

    def forward(self, x):
        memory = x
        frame = torch.zeros(1, 8)
        h = torch.zeros(1, 8)
        mels: List[Tensor] = []
        gates: List[Tensor] = []
        aligns: List[Tensor] = []
        while True:
            h = self.cell(frame, h)
            att = torch.softmax(memory @ h[0], 0)
            ctx = (att.unsqueeze(1)*memory).sum(0, keepdim=True)
            frame = self.mel(h+ctx)
            gate = torch.sigmoid(self.stop(frame))
            mels.append(frame.squeeze(0))
            gates.append(gate.squeeze())
            aligns.append(att)
            if gate.item() > self.thr:
                break
            elif len(mels) == self.maxlen:
                break
        return torch.stack(mels), torch.stack(gates), torch.stack(aligns)


class Tracker(nn.Module):
    """Boxes join the track that they overlap most, or begin one."""
    def iou(self, a, b):
        lt = torch.max(a[:2], b[:2])
        rb = torch.min(a[2:], b[2:])
        wh = (rb-lt).clamp(min=0)
        return float(wh[0]*wh[1])

    def forward(self, x):
        tracks: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            box = x[i]
            matched = -1
            best = 0.05
            for j in range(len(tracks)):
                v = self.iou(box, tracks[j]["box"])
                if v > best:
                    best = v
                    matched = j
            if matched >= 0:
                tracks[matched] = {"box": (tracks[matched]["box"]+box)/2, "hits": tracks[matched]["hits"]+1}
            else:
                tracks.append({"box": box, "hits": torch.tensor(1)})
        return torch.stack([t["box"] for t in tracks]), torch.stack([t["hits"] for t in tracks])


class BreakContinue(nn.Module):
    """Both, in a for inside a while."""
    def forward(self, x):
        total = torch.zeros(4)
        n = 0
        i = 0
        while i < x.size(0):
            i += 1
            if float(x[i-1].sum()) < 0.5:
                continue
            for j in range(4):
                if float(x[i-1, j]) > 0.9:
                    break
                if j == 2:
                    continue
                total[j] += x[i-1, j]
                n += 1
            if n > 10:
                break
        return total, n


class Search(nn.Module):
    """The first row above a bound: the loop returns."""
    def forward(self, x):
        for i in range(x.size(0)):
            if float(x[i].max()) > 0.8:
                return x[i], i
        return torch.zeros(4), -1


class Runs(nn.Module):
    """Run lengths, as pairs."""
    def forward(self, x):
        b = (x[:, 0] > 0.4).to(torch.int64)
        runs: List[Tuple[int, int]] = []
        start = 0
        for i in range(1, b.size(0)+1):
            if i == b.size(0) or int(b[i]) != int(b[start]):
                runs.append((int(b[start]), i - start))
                start = i
        longest = 0
        for v, n in runs:
            if v == 1:
                longest = max(longest, n)
        return longest, len(runs)


class GreedyDecoder(nn.Module):
    """Greedy, with keys that grow."""
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(7, 4)
        self.q = nn.Linear(4, 4)
        self.o = nn.Linear(4, 7)

    def forward(self, x):
        mem = x
        toks = torch.tensor([1])
        cache: List[Tensor] = []
        for _ in range(6):
            last = self.e(toks[-1:])
            cache.append(self.q(last))
            k = torch.cat(cache)
            a = torch.softmax(last @ k.t(), -1) @ k
            c = torch.softmax(a @ mem.t(), -1) @ mem
            nxt = self.o(a + c).argmax(-1)
            toks = torch.cat([toks, nxt])
            if int(nxt) == 2:
                break
        return toks


class OptionalInLoop(nn.Module):
    """None until the first row."""
    def forward(self, x):
        best: Optional[Tensor] = None
        for i in range(x.size(0)):
            if best is None:
                best = x[i]
            elif float(x[i].sum()) > float(best.sum()):
                best = x[i]
        if best is None:
            return torch.zeros(4)
        return best


class DictOfLists(nn.Module):
    """Lists in a dict, filled by data."""
    def forward(self, x):
        d: Dict[str, List[Tensor]] = {"pos": [], "neg": []}
        for i in range(x.size(0)):
            if float(x[i].sum()) > 0.6:
                d["pos"].append(x[i])
            else:
                d["neg"].append(x[i])
        return len(d["pos"]), len(d["neg"]), torch.cat(d["pos"] + d["neg"])


class Iface(nn.Module):
    """A call through an interface, and a ModuleDict."""
    a: Act

    def __init__(self):
        super().__init__()
        self.a = Relu()
        self.m = nn.ModuleDict({"r": Relu(), "t": Tanh()})

    def forward(self, x):
        y = self.a(x)
        for k, m in self.m.items():
            if k == "t":
                y = m(y)
        return y


class Nms(nn.Module):
    """Non-maximum suppression by hand."""
    def forward(self, x):
        b = x
        order = b[:, 3].argsort(descending=True)
        keep: List[int] = []
        dead = torch.zeros(b.size(0), dtype=torch.bool)
        for k in range(order.size(0)):
            i = int(order[k])
            if bool(dead[i]):
                continue
            keep.append(i)
            dead = dead | ((b[:, 0] - b[i, 0]).abs() < 0.1)
        return torch.tensor(keep), b[torch.tensor(keep)]


class Viterbi(nn.Module):
    """Back through the list of the best predecessors."""
    def __init__(self):
        super().__init__()
        self.t = nn.Parameter(torch.rand(4, 4))

    def forward(self, x):
        e = x
        score = e[0]
        hist: List[Tensor] = []
        for i in range(1, e.size(0)):
            m = score.unsqueeze(1) + self.t + e[i].unsqueeze(0)
            score, idx = m.max(0)
            hist.append(idx)
        best = int(score.argmax())
        tags: List[int] = [best]
        for i in range(len(hist)):
            best = int(hist[len(hist) - 1 - i][best])
            tags.append(best)
        tags.reverse()
        return torch.tensor(tags), score.max()


class TwoStage(nn.Module):
    """A detector: proposals of different sizes, then their results as dicts."""
    def forward(self, x):
        props: List[Tuple[Tensor, Tensor]] = []
        for i in range(x.size(0)):
            s = x[i]
            k = torch.nonzero(s > 0.3).flatten()
            if k.numel() > 0:
                props.append((s[k], k))
        out: List[Dict[str, Tensor]] = []
        for s, k in props:
            t, i = s.sort(descending=True)
            out.append({"scores": t[:2], "labels": k[i][:2]})
        return torch.cat([o["scores"] for o in out]), torch.cat([o["labels"] for o in out])


class Stack(nn.Module):
    """Brackets that open and close; a flag for the first that does not fit."""
    def forward(self, x):
        st: List[int] = []
        ok = True
        for i in range(x.size(0)):
            if float(x[i,0]) > 0.5:
                st.append(i)
            else:
                if len(st) == 0:
                    ok = False
                    break
                st.pop()
        return ok and len(st) == 0, len(st)


class Windows(nn.Module):
    """A step whose length data decide."""
    def forward(self, x):
        outs: List[Tensor] = []
        i = 0
        while i + 2 <= x.size(0):
            w = x[i:i+2]
            outs.append(w.mean(0))
            i += 1 if bool(w.sum() > 4) else 2
        return torch.stack(outs)


class WordPieces(nn.Module):
    """Longest match first: text that is known."""
    vocab: Dict[str, int]
    def __init__(self):
        super().__init__()
        self.vocab = {"[UNK]": 0, "he": 1, "llo": 2, "wor": 3, "ld": 4}
    def tok(self, text: str) -> List[int]:
        out: List[int] = []
        for w in text.lower().strip().split(" "):
            i = 0
            while i < len(w):
                j = len(w)
                found = -1
                while j > i and found < 0:
                    if w[i:j] in self.vocab:
                        found = self.vocab[w[i:j]]
                    else:
                        j -= 1
                if found < 0:
                    out.append(self.vocab["[UNK]"])
                    i = len(w)
                else:
                    out.append(found)
                    i = j
        return out

    def forward(self, x):
        ids = self.tok("Hello World")
        return x.sum() + torch.tensor(ids), len(ids)


class Hier(nn.Module):
    """A method that a class overrides."""
    def __init__(self):
        super().__init__()
        self.m = nn.ModuleList([Base(), Derived()])

    def forward(self, x):
        ys: Dict[str, Tensor] = {}
        for i, m in enumerate(self.m):
            ys["m%d" % i] = m(x)
        for k in ys.keys():
            if k.endswith("1"):
                x = x + ys[k]
        return x, list(ys.values())[0]


class TryDefault(nn.Module):
    """The methods of a dict."""
    def forward(self, x):
        d: Dict[str, int] = {}
        for k in ["a", "b", "a"]:
            d[k] = d.get(k, 0) + 1
        e = {k: v * 2 for k, v in d.items()}
        e.update({"z": x.size(0)})
        e.setdefault("q", 3)
        return sum([v for v in e.values()]), sorted(e.keys())[0] == "a"


class TensorIter(nn.Module):
    """Rows of a tensor, one by one."""
    def forward(self, x):
        acc = torch.zeros(4)
        for row in x:
            acc = acc * 0.5 + row
        a, b = acc.chunk(2)
        return torch.cat([b, a]), [int(v) for v in (acc > 0.5).to(torch.int64)]


def rows(name, n):
    torch.manual_seed(n)
    return (torch.rand(n, {"CtcGreedy": 5, "Taco": 8}.get(name, 4)),)


PROGRAMS = [CtcGreedy, RnntGreedy, Taco, Tracker, BreakContinue, Search, Runs, GreedyDecoder, OptionalInLoop, DictOfLists, Iface, Nms, Viterbi, TwoStage, Stack, Windows, WordPieces, Hier, TryDefault, TensorIter]
SEQUENCES = {"TwoStage", "GreedyDecoder"}                # tensors whose sizes differ: opset 13


@pytest.mark.parametrize("opset", ["11", "26"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program, opset, tmp_path):
    name = program.__name__
    torch.manual_seed(1)
    lengths = (2, 3, 7) if name in ("Windows", "Taco") else (1, 3, 7)
    scripted.same(program(), tmp_path, [rows(name, n) for n in lengths], "-i", "x:float32[N,%d]" % rows(name, 1)[0].size(1), "--opset",
                  "14" if name in SEQUENCES and opset == "11" else opset)
