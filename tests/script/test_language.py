"""Programs as people script them: decoders, searches, post-processing, text; and what only the language has: enums, fork, hooks, with,
formatting, isinstance, methods other than forward."""
import enum
from typing import Any, Dict, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

from scripted import flat, oracle, refused, same, save


# ---- decoders and searches ----

class Greedy(nn.Module):
    """A greedy decoder with a cache of keys and values."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(11, 8)
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 11)

    def step(self, token: Tensor, keys: Tensor, values: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        e = self.embed(token)
        keys = torch.cat([keys, self.k(e).unsqueeze(0)])
        values = torch.cat([values, self.v(e).unsqueeze(0)])
        return self.out(torch.softmax(keys @ self.q(e), 0) @ values), keys, values

    def forward(self, prompt):
        keys, values, logits = torch.zeros(0, 8), torch.zeros(0, 8), torch.zeros(11)
        for i in range(prompt.size(0)):
            logits, keys, values = self.step(prompt[i], keys, values)
        result: List[int] = []
        for i in range(6):
            t = int(logits.argmax())
            if t == 0:
                break
            result.append(t)
            logits, keys, values = self.step(torch.tensor(t), keys, values)
        return torch.tensor(result, dtype=torch.int64), logits


class Transducer(nn.Module):
    """A loop over frames, in it one over the symbols of a frame."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.embed = nn.Embedding(5, 4)
        self.predict = nn.Linear(8, 4)
        self.joint = nn.Linear(7, 5)

    def forward(self, frames):
        out: List[int] = []
        h = torch.zeros(4)
        for t in range(frames.size(0)):
            n = 0
            going = True
            while going and n < 3:
                k = int(self.joint(torch.cat([frames[t], h])).argmax())
                if k == 0:
                    going = False
                else:
                    out.append(k)
                    n += 1
                    h = torch.tanh(self.predict(torch.cat([self.embed(torch.tensor(k)), h])))
        return torch.tensor(out, dtype=torch.int64), h


class Beam(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.table = nn.Parameter(torch.randn(6, 6))

    def forward(self, start, steps):
        logp = torch.log_softmax(self.table, 1)
        scores, ids = torch.topk(logp[start], 3)
        found = ids.unsqueeze(1)
        for i in range(int(steps)):
            scores, at = torch.topk((scores.unsqueeze(1) + logp[found[:, -1]]).reshape(-1), 3)
            found = torch.cat([found[at // 6], (at % 6).unsqueeze(1)], 1)
        return found, scores


class Suppress(nn.Module):
    """Non-maximum suppression as people write it."""
    def forward(self, boxes, scores):
        order = torch.argsort(scores, descending=True)
        b = boxes[order]
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        alive = torch.ones(b.size(0), dtype=torch.bool)
        keep: List[Tensor] = []
        for i in range(b.size(0)):
            if bool(alive[i]):
                keep.append(order[i])
                low = torch.maximum(b[:, :2], b[i, :2])
                high = torch.minimum(b[:, 2:], b[i, 2:])
                both = (high - low).clamp(min=0).prod(1)
                alive = alive & (both / (area + area[i] - both) <= 0.5)
        return torch.stack(keep)


def boxes(n):
    torch.manual_seed(n)
    corner = torch.rand(n, 2) * 5
    return torch.cat([corner, corner + torch.rand(n, 2) * 5 + 1], 1), torch.rand(n)


@pytest.mark.parametrize("opset", [13, 18, 26])
@pytest.mark.parametrize("model,runs,options", [
    (Greedy, [(torch.tensor([1, 2, 3]),), (torch.tensor([5]),)], ["prompt:int64[N]"]),
    (Transducer, [(torch.linspace(-3, 3, 3 * n).reshape(n, 3),) for n in (4, 1, 9)], ["frames:float32[T,3]"]),
    (Beam, [(torch.tensor(2), torch.tensor(4)), (torch.tensor(1), torch.tensor(0))], ["start:int64[]", "steps:int64[]"]),
    (Suppress, [boxes(6), boxes(1), boxes(20)], ["boxes:float32[N,4]", "scores:float32[N]"]),
], ids=lambda v: v.__name__ if isinstance(v, type) else "")
def test_decoders(model, runs, options, opset, tmp_path):
    same(model(), tmp_path, runs, *[w for o in options for w in ("-i", o)], "--opset", str(opset))


class Pads(nn.Module):
    def forward(self, xs: List[Tensor]):
        n = 0
        for x in xs:
            n = max(n, x.size(0))
        out = torch.zeros(len(xs), n, 2)
        for i, x in enumerate(xs):
            out[i, :x.size(0)] = x
        return out


def test_padding(tmp_path):
    runs = [([torch.rand(a, 2), torch.rand(b, 2)],) for a, b in ((2, 5), (4, 4), (3, 1))]
    same(Pads(), tmp_path, runs, "-i", "xs.0:float32[N,2]", "-i", "xs.1:float32[M,2]")


class Detector(nn.Module):
    """A streaming voice detector: two sample rates, state that a change of the rate resets."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.slow, self.fast = nn.Conv1d(1, 4, 8, 4), nn.Conv1d(1, 4, 16, 8)
        self.out = nn.Linear(4, 1)
        self.state = torch.zeros(1, 4)
        self.rate = 0

    def forward(self, x, sr: int):
        if sr not in [8000, 16000]:
            raise ValueError("a sample rate of {}".format(sr))
        y = self.fast(x.unsqueeze(1)) if sr == 16000 else self.slow(x.unsqueeze(1))
        if self.rate != sr:
            self.state = torch.zeros(1, 4)
        self.rate = sr
        self.state = torch.tanh(torch.relu(y).mean(2) + self.state)
        return torch.sigmoid(self.out(self.state))


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_streaming_detector(rate, tmp_path):
    path, out = save(Detector(), tmp_path), tmp_path / "model.onnx"
    done = oracle.converted(path, out, "-i", "x:float32[1,T]", "-i", "sr=%d" % rate)
    assert "state" in done.stderr and "rate" in done.stderr
    oracle.check(out)
    session, model, state = oracle.session(out), torch.jit.load(str(path)), oracle.states.initial_state(out)
    for n in (512, 640, 512):
        x = torch.rand(1, n)
        names = [o.name for o in session.get_outputs()]
        got = dict(zip(names, session.run(None, dict(x=x.numpy(), **state))))
        oracle.compare([got[names[0]]], flat(model(x, rate)))
        state = {"state": got["state.next"], "rate": got["rate.next"]}
    assert "a sample rate of 44100" in oracle.convert(path, out, "-i", "x:float32[1,T]", "-i", "sr=44100").stderr


# ---- the language ----

class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.vocab: Dict[str, int] = {"a": 1, "b": 2, "ab": 3}

    def forward(self, x):
        text = "ab a b ab"
        ids: List[int] = []
        for word in text.split(" "):
            if word in self.vocab:
                ids.append(self.vocab[word])
        by_length: Dict[int, List[int]] = {}
        for word, i in self.vocab.items():
            if len(word) not in by_length:
                by_length[len(word)] = torch.jit.annotate(List[int], [])
            by_length[len(word)].append(i)
        return x[torch.tensor(ids)] * len(by_length[1]), " ".join([w.upper() for w in text.split(" ")]).count("AB")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Enums(nn.Module):
    def __init__(self):
        super().__init__()
        self.colour = Colour.BLUE

    def forward(self, x):
        if self.colour == Colour.RED:
            return x
        return x * self.colour.value + len(self.colour.name)


class Formats(nn.Module):
    def forward(self, x):
        s = "{}-{}-{}-{}".format(x.dim(), "q", 1.5, [1, 2]) + f"{x.size(1)}" + "%d%s" % (3, "z")
        return x + (1 if s == "2-q-1.5-[1, 2]23z" else 100)


class Types(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None):
        found: Dict[str, Any] = {"list": [1, 2], "text": "ab"}
        v = found["list"]
        if torch.jit.isinstance(v, List[int]):
            x = x + v[0]
        if isinstance(found["text"], int):
            x = x * 0
        return x if y is None else x * y


class Forks(nn.Module):
    def part(self, x: Tensor, k: int) -> Tensor:
        return x * k

    def forward(self, x):
        waiting = [torch.jit.fork(self.part, x, 2), torch.jit.fork(self.part, x, 3)]
        for w in waiting:
            x = x + torch.jit.wait(w)
        return x


def before(self, xs: Tuple[Tensor]) -> Tuple[Tensor]:
    return (xs[0] + 1,)


def behind(self, xs: Tuple[Tensor], y: Tensor) -> Tensor:
    return y * 10 + xs[0]


class Inner(nn.Module):
    def forward(self, x):
        return x * 2


class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.inner.register_forward_pre_hook(before)
        self.inner.register_forward_hook(behind)

    def forward(self, x):
        return self.inner(x)


class EndsBeforeItStarts(nn.Module):
    def forward(self, x):
        s = "xayxay"
        n = s.find("ay", 4, 2) + s.find("", 4, 2) * 10 + s.rfind("", 3, 1) * 100
        return x + n, s.startswith("ay", 4, 2), s.endswith("ay", 3, 2), s.startswith("ay", 3, 2)


class FillsEmpty(nn.Module):
    def forward(self, x):
        o = torch.empty(0)
        torch.arange(x.size(0), out=o)
        p = torch.empty(0)
        torch.add(x, 1, out=p)
        return o * 2, p


class Complex(nn.Module):
    def forward(self, x):
        c = complex(1.0, 2.0)
        return x + abs(c) + abs(c * c)


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
        self.named = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Tanh()})

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            x = layer(x) + len(name)
        return x


@pytest.mark.parametrize("model", [Enums, Formats, Forks, Hooks, Complex, Containers, EndsBeforeItStarts, FillsEmpty])
def test_the_language(model, tmp_path):
    same(model(), tmp_path, [(torch.rand(n, 2),) for n in (3, 1)], "-i", "x:float32[N,2]")


def test_text(tmp_path):
    same(Text(), tmp_path, [(torch.rand(5),), (torch.rand(9),)], "-i", "x:float32[N]")


@torch.jit.script
class Note:
    def __init__(self, text: str):
        self.text = text


class GrowingText(nn.Module):
    def twice(self, text: str, again: Optional[str]) -> str:
        return text + text if again is None else text + again

    def forward(self, x):
        s, front, same = "", "", ""
        for i in range(400):
            s += "ab"
            front = str(i) + front
            same = s
        y = x
        if bool(x.sum() > 0):               # the text has grown outside of the branch, inside of it, or not at all
            t = s + "c"
            same = s
            y = y + len(t + front)
        else:
            y = y - len(s)
        for row in range(x.size(0)):        # an ONNX loop where the size is open
            y = y + len(s + same) + row
        note = Note(s)
        note.text = s + front
        d = {s: 1, front: 2, s + front: 3}
        parts = [s, front, s + front, self.twice(s, None), self.twice(s, front), "{}-{}".format(s, front)]
        a, b = s, s + "ab"
        fork = torch.jit.fork(self.twice, s, front)
        for i in range(3):
            y = y + d[s + front] + len(parts[i]) + int((s + "ab") == b) + int(a == same) + int(s in d)
        for part in parts:
            y = y + len(part.replace("ab", "")) + part.count("9")
        y = y + len(torch.jit.wait(fork)) + len(note.text.split("b")) + ord(s[-1]) + int((s + front).find("399")) + len(s[3:])
        return y + hash_of(s + front)


def hash_of(text: str) -> int:
    n = 7
    for c in text:
        n = (n * 31 + ord(c)) % 1009
    return n


def test_text_that_grows_is_read_as_any_other(tmp_path):
    runs = [(torch.rand(3, 2),), (-torch.rand(3, 2),)]
    same(GrowingText(), tmp_path, runs, "-i", "x:float32[3,2]")
    same(GrowingText(), tmp_path, [*runs, (torch.rand(5, 2),)], "-i", "x:float32[N,2]")


def test_optional_and_any(tmp_path):
    same(Types(), tmp_path, [(torch.rand(3, 2), torch.rand(2))], "-i", "x:float32[N,2]", "-i", "y:float32[2]")
    same(Types(), tmp_path, [(torch.rand(3, 2),)], "-i", "x:float32[N,2]", "-i", "y=None")


class Speaks(nn.Module):
    def forward(self, x):
        print("sum", x.sum())
        torch.manual_seed(3)
        return x + 1


def test_what_a_graph_cannot_say_is_dropped_with_a_note(tmp_path):
    done, _ = same(Speaks(), tmp_path, [(torch.rand(3),)], "-i", "x:float32[N]")
    assert "dropped: the model's print()" in done.stderr


# ---- texts about what only the running model knows ----

class TextAsKey(nn.Module):
    def forward(self, x):
        d = {"2": x * 2, "3": x * 3}
        k = str(x.size(0))
        return d[k] if k in d else x


class TextCompared(nn.Module):
    def forward(self, x):
        return x * 3 if "{}".format([x.size(0)]) == "[3]" else x


class TextMeasured(nn.Module):
    def forward(self, x):
        return x * len("n=" + str(x.sum()))


@pytest.mark.parametrize("model", [TextAsKey, TextCompared, TextMeasured])
def test_a_text_of_dynamic_sizes_is_refused(model, tmp_path):
    assert "a text that holds what only the running model knows" in refused(model(), tmp_path, "-i", "x:float32[N]")


class TextInMessages(nn.Module):
    def forward(self, x):
        text = "got %d rows, " % x.size(0) + "shape {}".format(x.shape)
        print(text, x)
        if x.size(0) > 100:
            raise ValueError(text + ": " + ", ".join([str(x.size(0)), "too many"]))
        return x + 1


def test_such_texts_may_be_messages(tmp_path):
    done, _ = same(TextInMessages(), tmp_path, [(torch.rand(3, 2),)], "-i", "x:float32[N,2]")
    assert "assumed: N <= 100: the model raises otherwise (builtins.ValueError: got N rows, shape [N, 2]: N, too many)" in done.stderr
    same(TextAsKey(), tmp_path, [(torch.rand(3),)], "-i", "x:float32[3]")


# ---- ranks that only raising code tells ----

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


@pytest.mark.parametrize("model,size", [(Recurrent, 3), (Attends, 8)])
def test_a_rank_that_does_not_raise_is_assumed(model, size, tmp_path):
    done, _ = same(model(), tmp_path, [(torch.rand(2, 5, size),), (torch.rand(1, 3, size),)])
    assert "assumed: x has rank 3 (for rank 4 the model raises: " in done.stderr


class NoRank(nn.Module):
    def forward(self, x):
        if x.dim() > 0 or x.dim() == 0:
            raise ValueError("never")
        return x


def test_every_rank_raises(tmp_path):
    assert "the model raises an error: builtins.ValueError: never" in refused(NoRank(), tmp_path)


# ---- parts of a model ----

class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.encoder(x))

    @torch.jit.export
    def embed(self, x):
        return self.encoder(x) * 2


def test_parts_and_methods(tmp_path):
    model, out = Parts().eval(), tmp_path / "model.onnx"
    path, x = save(model, tmp_path), torch.rand(5, 3)

    def converted(wanted, *options):
        oracle.converted(path, out, *options)
        oracle.check(out)
        oracle.run(out, [([x.numpy()], [wanted(x).detach().numpy()])])
    converted(model.embed, "--method", "embed", "-i", "x:float32[N,3]")
    converted(model.encoder, "--module", "encoder", "-i", "input:float32[N,3]")
    converted(model.encoder[0], "--module", "encoder.0", "--method", "forward", "-i", "input:float32[N,3]")
    for options, said in ((["--module", "body"], "there is no body; the modules there are encoder, head"),
                          (["--module", "encoder.7"], "there is no 7; the modules there are 0, 1"),
                          (["--method", "decode"], "the model has no method decode"),
                          (["--module", "head", "--method", "decode"], "head has no method decode")):
        done = oracle.convert(path, out, *options)
        assert done.returncode == 2 and said in done.stderr


class GivesComplex(nn.Module):
    def forward(self, x):
        return complex(1.0, 2.0) * 2, x


def test_a_complex_number_is_a_result(tmp_path):
    path = tmp_path / "model.onnx"
    assert "has a last axis of 2" in oracle.converted(save(GivesComplex(), tmp_path), path, "-i", "x:float32[2]").stderr
    assert oracle.session(path).run(["output.0"], {"x": torch.rand(2).numpy()})[0].tolist() == [2.0, 4.0]


class MayFollow(nn.Module):
    def forward(self, x):
        y = x.to_sparse().to_dense()
        if y.size(0) > 3:
            y = torch.ops.quantized.embedding_bag_byte_prepack(y) / 2
        return y


def test_what_may_follow_a_missing_operator_is_told_apart(tmp_path):
    """After a missing operator nobody knows which branches are taken."""
    said = refused(MayFollow(), tmp_path, "-i", "x:float32[3,3]")
    assert "Exporting the operator 'aten::to_sparse'" in said and "Exporting the operator 'quantized::embedding_bag_byte_prepack'" not in said
    assert "if the program gets there, quantized::embedding_bag_byte_prepack" in said


class Hypotheses(nn.Module):
    """As torchaudio's RNNTBeamSearch tells its hypotheses apart: by the text of their tokens."""
    def forward(self, x):
        best: Dict[str, int] = {}
        for i in range(3):
            key = str([int(x[i].argmax())])
            if key in best:
                best[key] += 1
            else:
                best[key] = 1
        return len(best)


def test_texts_of_numbers_that_only_the_running_model_knows(tmp_path):
    said = refused(Hypotheses(), tmp_path, "-i", "x:float32[3,3]")
    assert "looks at a text that holds what only the running model knows" in said and "key = str([int(x[i].argmax())])" in said
    assert "look up the numbers themselves" in said and "--method" in said


# ---- with ----

@torch.jit.script
class Scale:
    """Counts who enters and leaves."""
    def __init__(self, by: float):
        self.by = by
        self.log: List[str] = []

    def __enter__(self):
        self.log.append("in")
        return self.by

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.by += 1.0
        self.log.append("out")


class WithObject(nn.Module):
    def forward(self, x):
        scale = Scale(2.0)
        with scale as by:
            x = x * by + len(scale.log)
        with scale as by:
            x = x * by + len(scale.log)
        return x + len(scale.log)


class WithNothing(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return y + 1


class WithAutocast(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            with torch.autocast("cpu", enabled=False):
                z = self.linear(x)
        return y.float().round(), z, self.linear(x)


@pytest.mark.parametrize("model", [WithObject, WithNothing, WithAutocast], ids=lambda m: m.__name__)
def test_with(model, tmp_path):
    done, _ = same(model(), tmp_path, [(torch.ones(2, 4),), (torch.arange(12.).reshape(3, 4),)], "-i", "x:float32[N,4]")
    assert done.stderr.count("an autocast region") == (model is WithAutocast)


class NumberOfNothing(nn.Module):
    def forward(self, x):
        n = float(torch.ops.quantized.embedding_bag_byte_prepack(x).sum())
        return x * n, torch.ops.quantized.embedding_bag_4bit_prepack(x + n)


def test_what_is_made_of_a_refused_result_is_no_mistake_of_its_own(tmp_path):
    said = refused(NumberOfNothing(), tmp_path, "-i", "x:float32[N,3]")
    assert "Exporting the operator 'quantized::embedding_bag_byte_prepack'" in said and "no form of" not in said


class Halves(nn.Module):
    """Numbers out of data, which stay numbers; among them some below 0."""

    def forward(self, x: Tensor, k: Tensor):
        n, m = int(x.sum()), int(k[0])
        return torch.arange(n // 2 + 5), n // 2, m // 3, m % 4, (n // 8) % 3, m // n, max(n, m) % n


@pytest.mark.parametrize("opset", ["9", "18"])
def test_arithmetic_of_numbers_out_of_data(tmp_path, opset):
    runs = [(torch.tensor(x), torch.tensor(k)) for x in ([3, 4], [-9, 2, 0], [1]) for k in ([7, 1], [-7, 0], [-8, 9], [2 ** 62 + 1, 3])]
    _, found = same(Halves(), tmp_path, runs, "--opset", opset, "-i", "x:int64[N]", "-i", "k:int64[2]")
    assert "Reshape" not in found
    if opset == "18":
        assert found.count("Mod") == 5 and len(found) <= 33, found


# ---- is ----


class DividesSizes(nn.Module):
    """A batch that may have no rows, in each form that keeps Python from dividing by 0."""
    def forward(self, x, y):
        n, m = x.size(0), y.size(0)
        each = n // m if m > 0 else 1
        rest = n % m if m != 0 else n
        rows = x.sum()
        if m > 0:
            rows = x.view(m, -1).sum(1).max()
        return each, rest, rows, m != 0 and n // m > 1, m == 0 or n % m == 0, self.part(x, m)

    def part(self, x, m: int):
        if m == 0:
            return x
        return x[:x.size(0) // m]


class DividesData(nn.Module):
    def forward(self, x, y):
        a, b = int(x), int(y)
        total = 0
        for v in range(-2, a - 4):
            if v == 0:
                continue
            total += 100 // v
        steps = 0
        while b != 0 and a // b > steps:
            steps += 1
        return a // b if b != 0 else 0, a % b if b != 0 else 0, total, steps


@pytest.mark.parametrize("opset", [11, 18, 26])
def test_a_division_is_made_only_where_the_program_asks_for_it(tmp_path, opset):
    sizes = [(torch.ones(4, 3), torch.ones(m, 3)) for m in (0, 1, 2, 4)]
    same(DividesSizes(), tmp_path, sizes, "-i", "x:float32[N,3]", "-i", "y:float32[M,3]", "--opset", str(opset))
    numbers = [(torch.tensor(a), torch.tensor(b)) for a, b in ((7, 0), (7, 2), (-7, 2), (7, -2), (0, 0))]
    same(DividesData(), tmp_path, numbers, "-i", "x:int64[]", "-i", "y:int64[]", "--opset", str(opset))


class SameNumbers(nn.Module):
    def forward(self, x: Tensor, y: Tensor, k: Tensor):
        n, m = x.size(0), y.size(0)
        a, b, c = int(k[0].item()), float(k[1].item()), bool(k[0] > 1)
        same = n is m, n is not m, n is 3, 3 is a, a is n, a is not n, b is float(k[0].item()), b is not 2.0, a is b, c is True, c is not bool(k[1] > 1), c is a
        z = x[0]
        return same, z is z, z is x, x is not y, x.view(-1) is x, [n] is [n]


class MaybeSelf(nn.Module):
    def forward(self, x):
        a = x
        if bool(x.sum() > 0):
            a = x * 2
        return a is x


class MaybeOneList(nn.Module):
    def forward(self, x):
        a = [1]
        b = a
        if bool(x.sum() > 0):
            b = [1]
        return a is not b


class MaybeOneDict(nn.Module):
    def forward(self, x):
        a = {1: x}
        b = a
        if bool(x.sum() > 0):
            b = {1: x}
        return a is b


class EqualTuples(nn.Module):
    def forward(self, x):
        return (1, x.size(0)) is (1, x.size(0))


class MovedOn(nn.Module):
    def forward(self, x):
        a = x
        for _ in range(x.size(0)):
            a = a + 1
        return a is x


class ItemOfALoop(nn.Module):
    def forward(self, x):
        items: List[Tensor] = []
        for _ in range(x.size(0)):
            items.append(x)
        return items[0] is x


def test_numbers_are_identical_where_they_are_equal(tmp_path):
    runs = [(torch.zeros(n), torch.zeros(m), torch.tensor(k)) for n, m, k in ((3, 3, [3.0, 3.0]), (3, 4, [3.0, 2.0]), (1, 1, [2.0, 1.0]), (2, 1, [0.0, float("nan")]))]
    same(SameNumbers(), tmp_path, runs, "-i", "x:float32[N]", "-i", "y:float32[M]", "-i", "k:float32[2]")


@pytest.mark.parametrize("model", [MaybeSelf, MaybeOneList, MaybeOneDict, EqualTuples, MovedOn, ItemOfALoop])
def test_what_may_be_one_thing_or_two_is_not_compared_by_identity(model, tmp_path):
    assert "whether the two sides of `is` are one and the same is only known when the model runs" in refused(model(), tmp_path, "-i", "x:float32[N]")


class AnyAndAll(nn.Module):
    """Of bools, ints and floats that the running model knows, beside known ones."""

    def forward(self, x):
        some, first, large = bool((x > 0.9).any()), x.size(0) > 3, bool(x.sum() > 2)
        y = x + 1 if any([False, some, first]) else x
        y = y * 2 if all([True, some, first, large]) else y
        y = y - 3 if any([x.size(0) - 1, x.size(0) - 2]) else y
        y = y / 2 if all([x.size(0), x.size(0) - 3]) else y
        return y, any([float(x[0, 0] > 0.5), 0.0]), all([some]), any([large, True])


@pytest.mark.parametrize("opset", [11, 18])
def test_any_and_all_of_what_the_running_model_knows(opset, tmp_path):
    torch.manual_seed(0)
    runs = [(torch.rand(n, 3) * scale,) for n in (1, 2, 3, 5) for scale in (0.1, 0.5, 1)]
    same(AnyAndAll(), tmp_path, runs, "-i", "x:float32[N,3]", "--opset", str(opset))
