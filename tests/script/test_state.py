"""State: what a model writes to its own buffers and attributes is an input, whose first value stands in the metadata, and an output for
the next run. Each model runs several times in ONNX Runtime with its state fed back, against torch running the saved file as often."""
import re
from typing import Dict, List, Optional, Tuple

import numpy
import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripted import flat, oracle, refused, save

ROWS = ("-i", "x:float32[N,3]")


state_of = oracle.states.state_outputs
initial_state = oracle.states.initial_state


def steps(path, tmp_path, runs, options=(), model=None):
    """Run after run. What the conversion said, and the pairs of state."""
    out = tmp_path / "model.onnx"
    done = oracle.converted(path, out, *options)
    oracle.check(out)
    pairs, session, model = state_of(out), oracle.session(out), model or torch.jit.load(str(path))
    names = [o.name for o in session.get_outputs()]
    inputs = [i.name for i in session.get_inputs() if i.name not in pairs]
    fed = initial_state(out)
    for i, xs in enumerate(runs):
        want = flat([model(*[x.clone() for x in xs])])
        got = dict(zip(names, session.run(None, dict(zip(inputs, [x.numpy() for x in xs]), **fed))))
        oracle.compare([got[n] for n in names if n not in pairs.values()], want, "step %d: " % i)
        fed = {a: got[b] for a, b in pairs.items()}
    return done.stderr, pairs


def rows(*counts):
    torch.manual_seed(5)
    return [(torch.rand(n, 3),) for n in counts]


class Accumulates(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("total", torch.ones(1))

    def forward(self, x):
        self.seen += 1
        self.total += x.sum()
        return x + self.total


class Numbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.scale = 0.5
        self.begun = False

    def forward(self, x):
        self.n += 1
        if not self.begun:
            self.scale = self.scale * 2.0
        self.begun = True
        return x * self.n + self.scale


class Below(nn.Module):
    """A number that goes below 0 after a while."""
    def __init__(self):
        super().__init__()
        self.left = 1

    def forward(self, x):
        self.left -= 1
        return x[:, self.left:]


class Grows(nn.Module):
    """A cache that gets longer."""
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(0, 3)
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        self.cache = torch.cat([self.cache, self.linear(x)], 0)
        return self.cache.sum(0)


class Positions(nn.Module):
    """A cache of fixed size and a position in it."""
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(8, 3))
        self.at = 0

    def forward(self, x):
        self.keys[self.at:self.at + x.size(0)] = x
        self.at += x.size(0)
        return self.keys[:self.at].sum(0)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
        self.h = torch.zeros(1, 3)
        self.layers = [torch.zeros(1, 3), torch.ones(1, 3)]

    def forward(self, x):
        self.h = torch.tanh(self.cell(x[:1]) + self.h)
        self.layers[0] = self.layers[0] + self.layers[1] * self.h
        return self.h + self.layers[0]


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("t", torch.zeros(3))

    def forward(self, x):
        if bool(x.sum() > 3):
            self.t.add_(x[0])
        else:
            self.t[0] = 5.0
        for i in range(x.size(0)):
            self.t.mul_(0.9)
        return self.t * 1


class Outer(nn.Module):
    """Two modules, each with state; the second one's is named as the input is."""
    def __init__(self):
        super().__init__()
        self.inner = Accumulates()
        self.register_buffer("x", torch.full((3,), 2.0))

    def forward(self, x):
        y = self.inner(x) * self.x
        self.x.mul_(0.5)
        return y


@pytest.mark.parametrize("opset", [11, 13, 18, 26])
@pytest.mark.parametrize("model,names", [(Accumulates, ["total", "seen"]), (Numbers, ["n", "scale", "begun"]), (Grows, ["cache"]),
                                         (Positions, ["at", "keys"]), (Recurrent, ["h", "layers.0"]), (Inside, ["t"]),
                                         (Outer, ["inner.total", "inner.seen", "x.state"])])
def test_state_fed_back(model, names, opset, tmp_path):
    said, pairs = steps(save(model(), tmp_path), tmp_path, rows(2, 3, 1), (*ROWS, "--opset", str(opset)))
    assert sorted(pairs) == sorted(names)
    assert said.startswith("added: state") and all(n in said for n in names) and said.count("\n") == 1
    made = onnx.load(str(tmp_path / "model.onnx"))
    assert set(names) <= {i.name for i in made.graph.input} and not set(names) & {i.name for i in made.graph.initializer}


def test_a_number_that_becomes_negative_is_not_taken_for_a_position(tmp_path):
    _, pairs = steps(save(Below(), tmp_path), tmp_path, rows(2, 1, 3, 2), ROWS)
    assert set(pairs) == {"left"}


class Unlooked(nn.Module):
    """Set before anything reads it: no state."""
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))
        self.note = torch.zeros(3)

    def forward(self, x):
        self.last.copy_(x[0])
        self.note = x[0] * 2
        return self.last + self.note


def test_what_a_run_sets_first_is_no_state(tmp_path):
    said, pairs = steps(save(Unlooked(), tmp_path), tmp_path, rows(2, 3), ROWS)
    assert pairs == {} and said == "dropped: the update of last: nothing looks at its value before the run\n"


class Flags(nn.Module):
    """Only the second flag makes a difference, and the third one to it."""
    def __init__(self):
        super().__init__()
        self.warned = False
        self.begun = False
        self.twice = False

    def forward(self, x):
        if not self.warned:
            print("nobody sees this")
            self.warned = True
        y = x * 2 if self.begun else x
        if self.twice:
            self.begun = not self.begun
        self.twice = not self.twice
        return y


def test_a_flag_that_nothing_else_looks_at_is_no_state(tmp_path):
    _, pairs = steps(save(Flags(), tmp_path), tmp_path, rows(*[2] * 6), ROWS)
    assert set(pairs) == {"begun", "twice"}


class Anchors(nn.Module):
    """Detectors set their anchors anew in each run, to what they are."""
    def __init__(self):
        super().__init__()
        self.anchors = [torch.rand(2, 3), torch.rand(2, 3)]
        self.steps = torch.arange(3)

    def forward(self, x):
        self.anchors = [a.to(x.dtype).clone() for a in self.anchors]
        self.steps = torch.arange(x.size(1))
        return x + self.anchors[0].sum() + self.anchors[1].sum() + self.steps


class Scaled(nn.Module):
    """As long as `factor` is what it is in the file, so is `anchor`."""
    def __init__(self):
        super().__init__()
        self.anchor = torch.rand(3)
        self.factor = 1

    def forward(self, x):
        self.anchor = self.anchor * self.factor
        self.factor += 1
        return x + self.anchor


def test_what_is_set_to_its_saved_value_is_no_state(tmp_path):
    said, pairs = steps(save(Anchors(), tmp_path), tmp_path, rows(2, 3), ROWS)
    assert not pairs and not said


def test_what_is_set_to_its_saved_value_only_by_the_first_run_is_state(tmp_path):
    _, pairs = steps(save(Scaled(), tmp_path), tmp_path, rows(2, 3, 1), ROWS)
    assert set(pairs) == {"anchor", "factor"}


def test_state_that_stays_constant(tmp_path):
    path = save(Accumulates(), tmp_path)
    done = oracle.converted(path, tmp_path / "model.onnx", *ROWS, "--state=constant")
    assert "the update of total" in done.stderr and "the update of seen" in done.stderr
    assert state_of(tmp_path / "model.onnx") == {}
    x = rows(2)[0]
    oracle.run(tmp_path / "model.onnx", [([x[0].numpy()], [torch.jit.load(str(path))(*x).numpy()])] * 2)


def test_state_is_refused_with_its_line(tmp_path):
    said = refused(Accumulates(), tmp_path, *ROWS, "--state=refuse")
    assert "seen is written" in said and "self.seen += 1" in said
    assert "n is written" in refused(Numbers(), tmp_path, *ROWS, "--state=refuse")


class NotYet(nn.Module):
    context: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.context = None

    def forward(self, x):
        c = self.context
        y = x.sum(0) if c is None else x.sum(0) + c
        self.context = y
        return y


def test_state_of_none_that_is_dropped(tmp_path):
    done = oracle.converted(save(NotYet(), tmp_path), tmp_path / "model.onnx", *ROWS, "--state=constant")
    assert "the update of context" in done.stderr


def test_state_that_a_run_before_saving_has_set(tmp_path):
    model = torch.jit.script(NotYet())
    model(torch.zeros(1, 3))
    torch.jit.save(model, str(tmp_path / "model.pt"))
    _, pairs = steps(tmp_path / "model.pt", tmp_path, rows(2, 3), ROWS)
    assert pairs == {"context": "context.next"}


class Writes(nn.Module):
    def forward(self, x, cache):
        cache[0] = x.sum()
        return x * cache[1]


def test_a_written_input_is_told(tmp_path):
    said, _ = steps(save(Writes(), tmp_path), tmp_path, [(torch.rand(2, 3), torch.rand(4))],
                    (*ROWS, "-i", "cache:float32[4]"))
    assert said == "dropped: the model writes to its input cache: the caller's array does not change; return it to have its value\n"


class Stepped(nn.Module):
    """As in a training loop: the update does not touch the output."""
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("total", torch.ones(1))

    def forward(self, x):
        self.total.add_(x.sum())
        return self.norm(x) + self.total


@pytest.mark.parametrize("decomposed", [False, True])
def test_state_of_a_pt2(decomposed, tmp_path):
    runs = rows(2, 2, 2)
    program = torch.export.export(Stepped().eval(), runs[0])
    if decomposed:
        program = program.run_decompositions({})            # then the signature says which buffers are written
    torch.export.save(program, str(tmp_path / "model.pt2"))
    model = torch.export.load(str(tmp_path / "model.pt2")).module()
    _, pairs = steps(tmp_path / "model.pt2", tmp_path, runs, model=model)
    assert pairs == {"total": "total.next"}


def test_trace_with_state(tmp_path):
    model = Accumulates()
    torch.jit.save(torch.jit.trace(model, torch.rand(2, 3), check_trace=False), str(tmp_path / "model.pt"))
    _, pairs = steps(tmp_path / "model.pt", tmp_path, rows(2, 2, 2))
    assert sorted(pairs) == ["seen", "total"]


TOTAL = torch.ones(3)
ADDS = torch.jit.trace(lambda x: x + TOTAL.add_(x), torch.ones(3), check_trace=False)


class Adds(nn.Module):
    """A trace that writes to one of its constants, first called in a branch."""
    def __init__(self):
        super().__init__()
        self.adds = ADDS

    def forward(self, x):
        y = self.adds(x) if bool(x.sum() > 0) else x * 2
        return self.adds(y), y


class AddsInALoop(Adds):
    def forward(self, x):
        for _ in range(int(x.sum() > 0) * 3):
            x = self.adds(x)
        return x


@pytest.mark.parametrize("model", [Adds, AddsInALoop])
def test_a_constant_that_is_written_is_state(model, tmp_path):
    x = torch.tensor([0.5, -0.25, 1.0])
    _, pairs = steps(save(model(), tmp_path), tmp_path, [(x,), (-x,), (x,), (x,)], ("-i", "x:float32[3]"))
    assert list(pairs) == ["CONSTANTS.c0"]


class NormOfTheBatch(nn.Module):
    """Training said by the program itself, so that evaluation mode does not change it."""
    def __init__(self, own):
        super().__init__()
        self.own: bool = own
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))

    def forward(self, x):
        var = self.var if self.own else torch.ones(3)
        return F.batch_norm(x, self.mean, var, training=True)


@pytest.mark.parametrize("own", [True, False])
def test_statistics_move_where_training_is_asked_for(own, tmp_path):
    assert "it is in training mode and would update its running statistics" in refused(NormOfTheBatch(own), tmp_path, *ROWS)
    _, pairs = steps(save(NormOfTheBatch(own), tmp_path), tmp_path, rows(4, 2, 3), (*ROWS, "--mode=saved"))
    assert sorted(pairs) == (["mean", "var"] if own else ["mean"])


# ---- what the first run is fed ----

class Turns(nn.Module):
    """State of complex numbers, one buffer of which is too large to stand in the metadata."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.register_buffer("angle", torch.tensor([1 + 2j, 0.5 - 1j, -3j]))
        self.register_buffer("table", torch.randn(30, 40, dtype=torch.complex64).t())

    def forward(self, x):
        self.angle.mul_(1j)
        self.table = self.table * 2
        return torch.view_as_real(self.angle), x + self.table[3, 2].abs()


@pytest.mark.parametrize("ending", ["pt", "pt2"])
def test_the_first_value_of_complex_state(ending, tmp_path):
    path, out, runs = tmp_path / ("model." + ending), tmp_path / "model.onnx", rows(2, 2, 2)
    if ending == "pt":
        torch.jit.save(torch.jit.script(Turns()), str(path))
    else:
        torch.export.save(torch.export.export(Turns(), runs[0]), str(path))
    loaded = torch.jit.load(str(path)) if ending == "pt" else torch.export.load(str(path)).module()
    options = ("-i", "x:float32[2,3]") if ending == "pt" else ()
    want = {n: torch.view_as_real(b).numpy().copy() for n, b in Turns().named_buffers()}
    _, pairs = steps(path, tmp_path, runs, options, loaded)
    assert sorted(pairs) == ["angle", "table"]
    assert bytes_of(initial_state(out)) == bytes_of(want)
    oracle.converted(path, out, *options, "--state=defaults")
    assert bytes_of(initial_state(out)) == bytes_of(want)
    session = oracle.session(out)
    angle, y = session.run(None, {"x": runs[0][0].numpy()})[:2]
    assert numpy.allclose(angle, torch.view_as_real(Turns().angle * 1j)) and numpy.allclose(y, runs[0][0] + (Turns().table[3, 2] * 2).abs())


class Initial(nn.Module):
    """State of every kind that the metadata has words for."""
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("odd", torch.tensor([-0.0, float("nan"), float("-inf"), 1e-8]))
        self.register_buffer("halves", torch.full((4,), 0.1).half())
        self.register_buffer("brain", torch.full((2,), 0.1).bfloat16())
        self.register_buffer("bytes", torch.arange(6, dtype=torch.uint8).view(2, 3))
        self.register_buffer("none", torch.zeros(0, 4))
        self.register_buffer("large", torch.rand(40, 40))
        self.register_buffer("turned", torch.rand(40, 50).t())
        self.register_buffer("spread", torch.full((1, 1), 3.0).expand(50, 60))
        self.register_buffer("zeros", torch.zeros(400, 400))
        self.on = True

    def forward(self, x):
        self.count += 1
        self.odd += x.sum()
        self.halves *= 2
        self.brain *= 2
        self.bytes += 1
        self.none = torch.cat([self.none, self.odd[None]])
        self.large *= 2
        self.turned = self.turned * 2
        self.spread = self.spread * 2
        self.zeros += 1
        self.on = not self.on
        return x + self.odd.sum() + self.large[0, 0] + int(self.on)


def bytes_of(arrays):
    return {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()}


def test_the_first_value_of_each_kind(tmp_path):
    path, out = save(Initial(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, *ROWS, "--opset=18")
    oracle.check(out)
    model = torch.jit.load(str(path))
    want = {n: b.view(torch.int16).numpy() if b.dtype == torch.bfloat16 else b.numpy() for n, b in model.named_buffers()}
    got = initial_state(out)
    assert got.pop("on") == numpy.array(True) and str(got["brain"].dtype) == "bfloat16"
    got["brain"] = got["brain"].view(numpy.int16)
    assert bytes_of(got) == bytes_of(want)
    proto = onnx.load(str(out))
    assert bytes_of(initial_state(proto))["odd"] == bytes_of(want)["odd"]
    kept = [i.name for i in proto.graph.initializer if i.name.endswith(".initial")]
    assert sorted(kept) == ["large.initial", "turned.initial"]              # neither small nor of one number


def test_a_session_tells_what_its_metadata_has(tmp_path):
    out = tmp_path / "model.onnx"
    oracle.converted(save(Accumulates(), tmp_path), out, *ROWS)
    assert bytes_of(initial_state(oracle.session(out))) == bytes_of(initial_state(out))
    oracle.converted(save(Initial(), tmp_path), out, *ROWS)
    with pytest.raises(ValueError, match="give initial_state the file's path"):
        initial_state(oracle.session(out))
    proto = onnx.load(str(out))
    del proto.graph.initializer[:]
    with pytest.raises(ValueError, match=r"no initializer (\w+).initial, the initial value of \1: another tool has removed it"):
        initial_state(proto)
    assert initial_state(onnx.ModelProto()) == {}


@pytest.mark.parametrize("where", ["external", "link"])
def test_a_large_first_value_lies_where_weights_lie(where, tmp_path):
    path, out = save(Initial(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, *ROWS, "--weights", where)
    large = initial_state(out)["large"]
    assert (large == torch.jit.load(str(path)).large.numpy()).all()
    assert [t.name for t in onnx.load(str(out), load_external_data=False).graph.initializer if t.data_location == 1 and t.name.startswith("large")]


class Called(nn.Module):
    """Its outputs are called as the first value of `a` would be."""
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.rand(40, 40))
        self.register_buffer("w", torch.rand(3))

    def forward(self, x):
        self.a += x.sum()
        return x * self.w + self.a[0, 0], x * 2


def test_the_name_of_a_first_value_is_free(tmp_path):
    path, out = save(Called(), tmp_path), tmp_path / "model.onnx"
    oracle.converted(path, out, *ROWS, "--output-names", "a.initial,a.initial_")
    oracle.check(out)
    assert (initial_state(out)["a"] == torch.jit.load(str(path)).a.numpy()).all()


def test_state_with_defaults_need_not_be_fed(tmp_path):
    path, out = save(Accumulates(), tmp_path), tmp_path / "model.onnx"
    said = oracle.converted(path, out, *ROWS, "--state=defaults").stderr
    assert "by default the value in the file" in said
    x = rows(2)[0][0]
    session = oracle.session(out)
    assert [i.name for i in session.get_inputs()] == ["x"] and sorted(state_of(out)) == ["seen", "total"]
    got = session.run(["total.next"], {"x": x.numpy()})[0]
    assert numpy.allclose(got, 1 + x.sum().item())
    assert bytes_of(initial_state(out))["total"] == bytes_of({"total": numpy.ones(1, numpy.float32)})["total"]


def test_state_must_be_fed(tmp_path):
    out = tmp_path / "model.onnx"
    oracle.converted(save(Accumulates(), tmp_path), out, *ROWS)
    with pytest.raises(ValueError, match=r"Required inputs \(.*total.*\) are missing"):
        oracle.session(out).run(None, {"x": rows(2)[0][0].numpy()})


# ---- None in the file ----

class Context(nn.Module):
    """A streaming model that makes its state when it is first run."""
    context: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.context = None

    def forward(self, x):
        context = self.context
        if context is None:
            context = torch.zeros(3)
        y = x + context
        self.context = y[-1] * 0.5
        return y


class Cache(nn.Module):
    """It grows: its sizes are the run's."""
    keys: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.keys = None

    def forward(self, x):
        keys = self.keys
        if keys is None:
            keys = x
        else:
            keys = torch.cat([keys, x])
        self.keys = keys
        return keys.sum(0), keys.size(0)


class Hidden(nn.Module):
    """A tuple, which the data may reset; memory that is written in place."""
    hidden: Optional[Tuple[Tensor, Tensor]]
    total: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.hidden = None
        self.total = None

    def forward(self, x):
        hidden, total = self.hidden, self.total
        if hidden is None:
            hidden = (torch.zeros(3), torch.ones(3))
        h, c = hidden
        c = c * 0.5 + x[0]
        h = torch.tanh(h + c)
        self.hidden = (h, c)
        if bool(x.sum() > 5):
            self.hidden = None
        if total is None:
            self.total = x[0] + 0
        else:
            total.add_(x[0])
        return h + c


class Layers(nn.Module):
    """A list of optionals: a context for each layer. And numbers in a dict."""
    states: List[Optional[Tensor]]
    counts: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.states = [None, None]
        self.counts = {"calls": 0, "rows": 5}

    def forward(self, x):
        h = x.sum(0)
        for i in range(2):
            before = self.states[i]
            if before is not None:
                h = torch.tanh(h) + before
            self.states[i] = h
        self.counts["calls"] += 1
        self.counts["rows"] += x.size(0)
        return h, self.counts["calls"] * self.counts["rows"]


class NoneWhereItIsNone(nn.Module):
    """Whether it is there counts, its value does not."""
    kept: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = None
        result = x.sum()
        if self.kept is None:
            result = result + 5
        self.kept = x
        return result


class RemadeForOtherSizes(nn.Module):
    """A cache that another number of rows makes worthless."""
    kept: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.kept = None

    def forward(self, x):
        kept = self.kept
        if kept is None or kept.size(0) != x.size(0):
            self.kept = None
        kept = self.kept
        if kept is None:
            kept = x * 0
        self.kept = kept + x
        return kept.sum()


@pytest.mark.parametrize("model,names", [(NoneWhereItIsNone, {"kept.is_set"}), (RemadeForOtherSizes, {"kept", "kept.is_set"}), (Layers, {"states.%d%s" % (i, s) for i in range(2) for s in ("", ".is_set")} | {"counts.calls", "counts.rows"}),
                                         (Context, {"context", "context.is_set"}), (Cache, {"keys", "keys.is_set"}),
                                         (Hidden, {"hidden.0", "hidden.1", "hidden.is_set", "total", "total.is_set"})])
@pytest.mark.parametrize("opset", [11, 18])
def test_state_that_is_none_in_the_file(model, names, opset, tmp_path):
    _, pairs = steps(save(model(), tmp_path), tmp_path, rows(2, 3, 1, 5, 2), (*ROWS, "--opset", str(opset)))
    assert set(pairs) == names


def test_state_of_none_is_dropped_or_refused(tmp_path):
    path = save(Context(), tmp_path)
    said = oracle.converted(path, tmp_path / "model.onnx", *ROWS, "--state=constant").stderr
    assert "the update of context" in said and not state_of(tmp_path / "model.onnx")
    assert "the model changes its own state" in refused(Context(), tmp_path, *ROWS, "--state=refuse")


def quantised_in_training(observes):
    """A layer of quantisation-aware training, run once and saved without convert."""
    torch.manual_seed(6)
    quantiser = torch.ao.quantization.FusedMovingAvgObsFakeQuantize
    of_channels = {"observer": torch.ao.quantization.MovingAveragePerChannelMinMaxObserver, "quant_min": -128, "quant_max": 127, "dtype": torch.qint8,
                   "qscheme": torch.per_channel_symmetric}
    model = torch.ao.nn.qat.Linear(3, 4, qconfig=torch.ao.quantization.QConfig(quantiser, quantiser.with_args(**of_channels)))
    model = nn.Sequential(quantiser(averaging_constant=0.25), model).train()
    model(torch.rand(2, 3))
    if not observes:
        model.apply(torch.ao.quantization.disable_observer)
    return model.eval()


@pytest.mark.parametrize("opset", [13, 18])
def test_a_range_that_quantisation_observes(opset, tmp_path):
    _, pairs = steps(save(quantised_in_training(True), tmp_path), tmp_path, rows(2, 3, 1, 5), (*ROWS, "--opset", str(opset)))
    assert set(pairs) >= {"0.activation_post_process.min_val", "0.activation_post_process.max_val"} and len(pairs) == 4
    _, pairs = steps(save(quantised_in_training(False), tmp_path), tmp_path, rows(2, 3), (*ROWS, "--opset", str(opset)))
    assert not pairs
    assert [n.op_type for n in onnx.load(str(tmp_path / "model.onnx")).graph.node][:2] == ["QuantizeLinear", "DequantizeLinear"]


# ---- what a trace writes to its constants ----

class Divided(torch.nn.Module):
    """Each write leaves a tensor as it is: to a constant, and to a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.rand(3))

    def forward(self, x):
        t = torch.tensor([1., 2., 3.])
        t /= 1
        self.scale.div_(1).mul_(1.0).sub_(0)
        return x * t * self.scale


class Grown(torch.nn.Module):
    def forward(self, x):
        step = torch.tensor([1., 2., 3.])
        step += 1
        return x * step


class PlainAttribute(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.anchors = torch.rand(3)

    def forward(self, x):
        self.anchors.mul_(2)                    # anchors
        return x * self.anchors


def traced(module, tmp_path, *options):
    path, out = tmp_path / "model.pt", tmp_path / "model.onnx"
    torch.jit.trace(module, torch.rand(2, 3), check_trace=False).save(str(path))
    done = oracle.converted(path, out, "-i", "x:float32[N,3]", *options)
    loaded = torch.jit.load(str(path))
    runs = [torch.rand(n, 3) for n in (2, 4, 1)]
    oracle.run(out, [([x.numpy()], [loaded(x).numpy().copy()]) for x in runs])
    model = onnx.load(str(out))
    return done.stderr, [i.name for i in model.graph.input], [o.name for o in model.graph.output]


def test_a_write_that_changes_nothing_makes_no_state(tmp_path):
    said, inputs, outputs = traced(Divided(), tmp_path)
    assert "state" not in said and inputs == ["x"] and len(outputs) == 1, said


def test_a_constant_is_called_as_the_program_calls_it(tmp_path):
    said, inputs, outputs = traced(Grown(), tmp_path)
    assert inputs == ["x", "step"] and outputs[1:] == ["step.next"] and "for the next run: step;" in said, said


def test_a_constant_without_a_name_is_told_by_its_line(tmp_path):
    said, inputs, outputs = traced(PlainAttribute(), tmp_path)
    with open(__file__) as f:
        line = 1 + next(i for i, text in enumerate(f) if "# anchors" in text)
    assert re.search(r"for the next run: CONSTANTS\.c\d \(.+test_state.py:%d\);" % line, said), said


class Next(nn.Module):
    """An output of its own, output.b.next or b.next, beside the buffer b."""
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x):
        self.b.add_(x[0])
        return {"b": {"next": self.b * 2, "next_1": self.b * 3}}


@pytest.mark.parametrize("options", [(), ("--output-names", "b.next,y")])
def test_an_output_called_next_is_no_state(options, tmp_path):
    if options:
        path, model = save(Next(), tmp_path), None
    else:
        path, model = tmp_path / "model.pt2", Next()
        torch.export.save(torch.export.export(Next(), (torch.rand(2, 3),)), str(path))
    said, pairs = steps(path, tmp_path, rows(2, 2, 2), (*ROWS, *options) if options else (), model)
    other = "b.next_1" if options else "b.next_2"
    assert pairs == {"b": other} and "for the next run: b; b.next is another output, that of b is %s; " % other in said, said
    names = [o.name for o in onnx.load(str(tmp_path / "model.onnx")).graph.output]
    assert names == (["b.next", "y"] if options else ["b.next", "b.next_1"]) + [other]


class DropsByItself(torch.nn.Module):
    """A scripted module inside a trace: it looks at its mode."""
    def __init__(self):
        super().__init__()
        self.drop = torch.jit.script(torch.nn.Dropout())

    def forward(self, x):
        return self.drop(x) + 1


@pytest.mark.parametrize("make, says", [
    (lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), []),
    (lambda: torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout()),
     ["assumed: dropout is on, as the program has it: the model draws random numbers"]),
    (DropsByItself, ["changed: 1 module was saved in training mode, converted in evaluation mode; --mode=saved keeps it"]),
])
def test_the_mode_of_a_trace_stands_in_its_calls(make, says, tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.trace(make().train(), torch.rand(2, 3), check_trace=False).save(str(path))
    said = oracle.converted(path, tmp_path / "model.onnx", "-i", "x:float32[N,3]").stderr.splitlines()
    assert [line for line in said if "mode" in line or "dropout" in line] == says
