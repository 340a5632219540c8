"""What a forward changes as an export runs it: the model, and the model's file, begin with what was there before."""
import collections
import json
import random
import warnings

import numpy
import onnx
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, run
from pt2onnx import _capi
from pt2onnx.turns import Kept
from pt2onnx.versions import ONNX_DTYPES

ROWS = torch.ones(2, 3)
ROADS = [{}, {"dynamo": True}][:1 + TORCH_2]


def exported(model, args, **options):
    return pt2onnx.export(model, args, **options).model_proto


class InPlace(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x):
        self.n += 1
        return x + self.n


class Replaced(InPlace):
    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


class Rows(InPlace):
    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.zeros(4, 3))

    def forward(self, x):
        self.memory[0] = x[0]
        return x + self.memory.sum()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [InPlace, Replaced, Rows, lambda: torch.jit.script(InPlace()), lambda: torch.jit.script(Replaced())],
                         ids=["in place", "replaced", "rows", "scripted", "scripted replaced"])
def test_buffers_are_as_before(make, options):
    net = make()
    if options and isinstance(net, torch.jit.ScriptModule):
        pytest.skip("torch.export takes no scripts")
    buffers, values = dict(net.named_buffers()), {name: b.clone() for name, b in net.named_buffers()}
    models = [exported(net, (ROWS,), **options), exported(net, (ROWS,), verify=True, **options)]
    assert models[0] == models[1]
    for name, b in net.named_buffers():
        assert torch.equal(b, values[name])
        assert b is buffers[name] or isinstance(net, torch.jit.ScriptModule)
    numpy.testing.assert_array_equal(run(models[0], ROWS)[0], net(ROWS))


class Unsaved(InPlace):
    """Its buffer is in no state_dict."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1), persistent=False)


class UnsavedReplaced(Unsaved):
    def forward(self, x, *, k=2):
        self.n = self.n + k
        return x + self.n


class Anchors(torch.nn.Module):
    """What it makes anew in each run is no state."""

    def __init__(self):
        super().__init__()
        self.anchors = torch.zeros(1)

    def forward(self, x):
        self.anchors = torch.arange(x.shape[1])
        return x + self.anchors


def updates_told(net, args=(ROWS,), **options):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        notes = pt2onnx.export(net, args, **options).notes
    texts = [str(w.message) for w in told if str(w.message).startswith("dropped: ")]
    names = [text.split()[3].rstrip(":") for _, text in notes if text.startswith("the update of ")]
    assert len(texts) == (1 if names else 0) and all("the model changes %s as it runs" % ", ".join(names) in text for text in texts)
    return names


@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [InPlace, Replaced, Unsaved, UnsavedReplaced])
def test_updates_of_buffers_are_told(make, options):
    assert updates_told(make(), **options) == ["n"]
    if not options or make in (InPlace, Unsaved):       # torch.export has nothing of a buffer that a part of the model replaces
        assert updates_told(torch.nn.Sequential(torch.nn.Identity(), make()), **options) == ["1.n"]


@pytest.mark.parametrize("options", ROADS)
def test_caches_that_are_made_in_each_run_are_not_told(options):
    try:
        assert updates_told(Anchors(), **options) == []
    except ValueError as e:
        assert options and "assigned during export" in str(e)


def test_updates_of_large_buffers_are_told(monkeypatch):
    monkeypatch.setattr("pt2onnx.turns.KEPT_BYTES", 0)
    assert updates_told(Unsaved()) == ["n"]


def test_updates_of_plain_attributes_are_told():
    """What is written to in place is there before the run and behind it."""
    assert updates_told(Attribute()) == ["n"]
    assert updates_told(UnsavedReplaced(), (ROWS, {"k": torch.ones(1)})) == ["n"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [lambda t: t[:2], lambda t: t.t(), lambda t: t.detach()])
def test_buffers_that_share_memory_and_are_written_to_are_refused(part):
    """Each is a tensor of its own in the model: what is written to one would not be seen in the other."""
    class Shared(Rows):
        def __init__(self, writes=True):
            super().__init__()
            self.register_buffer("view", part(self.memory))
            self.writes = writes

        def forward(self, x):
            return (super().forward(x) if self.writes else x + self.memory.sum()) + self.view.sum()
    with pytest.raises(RuntimeError, match="the buffers memory and view share memory, and forward writes to it"):
        exported(Shared(), (ROWS,))
    exported(Shared(writes=False), (ROWS,), verify=True)


class Attribute(torch.nn.Module):
    """A tensor that is no buffer."""

    def __init__(self):
        super().__init__()
        self.n = torch.zeros(1)

    def forward(self, x):
        self.n += 1
        return x + self.n


class ReplacedAttribute(Attribute):
    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [Attribute, ReplacedAttribute])
def test_tensors_of_a_module_are_as_before(make, options):
    net = make()
    held = net.n
    try:
        models = [exported(net, (ROWS,), **options), exported(net, (ROWS,), verify=True, **options)]
    except ValueError as e:
        assert options and "was assigned during export" in str(e) and net.n is held and held == 0
        pytest.skip("this torch.export takes no attribute that is assigned")
    assert models[0] == models[1] and net.n is held and held == 0
    numpy.testing.assert_array_equal(run(models[0], ROWS)[0], net(ROWS))


class FirstBatch(torch.nn.Module):
    """Its scale is that of the first batch it sees."""

    def __init__(self):
        super().__init__()
        self.scale, self.seen = torch.nn.Parameter(torch.ones(3)), False

    def forward(self, x):
        if not self.seen:
            self.scale.data.copy_(x.mean(0) * 2)
            self.seen = True
        return x * self.scale


class Notes(torch.nn.Module):
    """Forward leaves something in each of its attributes, and makes one more."""

    def __init__(self):
        super().__init__()
        self.n, self.results, self.seen, self.steps, self.parts = 0, [torch.zeros(1)], {1}, collections.deque(), {"last": None, "all": [0]}

    def forward(self, x):
        self.n += 1
        self.results.append(x)
        self.seen.add(2)
        self.steps.append(x)
        self.parts["last"] = x
        self.parts["all"].append(1)
        self.made = x
        return x * self.n


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
def test_attributes_of_a_module_are_as_before(options):
    net = Notes()
    attributes, results = dict(vars(net)), list(net.results)
    models = [exported(torch.nn.Sequential(net), (ROWS,), **options) for _ in "12"]
    assert models[0] == models[1] and vars(net) == attributes
    assert net.results == results and net.seen == {1} and not net.steps and net.parts == {"last": None, "all": [0]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
def test_a_module_that_waits_for_its_first_batch_waits_still(options):
    net = FirstBatch()
    exported(net, (ROWS,), **options)
    assert torch.equal(net(ROWS * 3), FirstBatch()(ROWS * 3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
def test_buffers_are_as_before_an_error(options):
    class Fails(InPlace):
        def forward(self, x):
            super().forward(x)
            raise LookupError("no")
    net = Fails()
    with pytest.raises(LookupError):
        exported(net, (ROWS,), **options)
    assert net.n == 0


@pytest.mark.filterwarnings("ignore")
def test_running_statistics_are_as_before():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)).train()
    exported(net, (torch.randn(4, 3),), training=torch.onnx.TrainingMode.TRAINING)
    assert net[1].num_batches_tracked == 0 and not net[1].running_mean.any()


@pytest.mark.parametrize("options", ROADS)
def test_random_numbers_are_as_before(options):
    states = torch.get_rng_state(), random.getstate(), str(numpy.random.get_state())
    exported(lambda x: x + torch.rand(3) + torch.dropout(x, 0.5, True) + random.random() + numpy.random.rand(), (ROWS,), **options)
    with pytest.raises(RuntimeError, match="DIFFERENT"):
        pt2onnx.export(lambda x: x + torch.rand(3), (ROWS,), verify=True, **options)
    assert torch.equal(torch.get_rng_state(), states[0]) and (random.getstate(), str(numpy.random.get_state())) == states[1:]


@pytest.mark.filterwarnings("ignore")
def test_large_buffers_are_not_copied(monkeypatch):
    """They are weights, as a rule, and the memory is for those once."""
    monkeypatch.setattr("pt2onnx.turns.KEPT_BYTES", 100)
    net = Rows()
    net.register_buffer("table", torch.zeros(100))
    held = Kept(net).held
    assert sorted((name, copy is not None) for _, name, _, _, copy in held) == [("memory", True), ("n", True), ("table", False)]


@pytest.mark.filterwarnings("ignore")
def test_a_buffer_of_a_loaded_script(tmp_path):
    torch.jit.script(InPlace()).save(str(tmp_path / "net.pt"))
    net = torch.jit.load(str(tmp_path / "net.pt"))
    exported(net, (ROWS,), verify=True)
    assert net.n == 0


@pytest.mark.parametrize("dtype", sorted(ONNX_DTYPES, key=str), ids=str)
def test_buffers_and_inputs_of_every_type(dtype):
    class Typed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.zeros(3).to(dtype))

        def forward(self, x, y):
            return x + self.held.to(x.dtype) + y.to(x.dtype)
    x = torch.zeros(3, dtype=torch.complex64 if dtype.is_complex else torch.float32)
    for options in ROADS:
        try:
            model = exported(Typed(), (x, torch.zeros(3).to(dtype)), opset_version=19, **options)
        except Exception as e:
            assert options and type(e).__name__ in ("SerializeError", "KeyError")
            pytest.skip("torch.export.save of this torch does not know the type")
        assert [i.type.tensor_type.elem_type for i in model.graph.input][1] == (1 if dtype == torch.complex64 else 11 if dtype.is_complex else ONNX_DTYPES[dtype])
    script = torch.jit.script(torch.nn.Identity())
    assert len(exported(script, (torch.zeros(3).to(dtype),), opset_version=19).graph.input) == 1


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no such types")
def test_buffers_of_types_that_onnx_does_not_have():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.empty(3, dtype=torch.bits8))

        def forward(self, x):
            return x + 1
    with pytest.raises(TypeError, match="held: a tensor of torch.bits8, torch.strided cannot be handed over"):
        exported(Odd(), (ROWS,))
    with pytest.raises(TypeError, match="the input x is sparse: it has to be a dense tensor"):
        exported(lambda x: x.to_dense(), (ROWS.to_sparse(),), input_names=["x"])


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.zeros(2))

    def forward(self, x):
        self.s.add_(x)
        return self.s * 2


def test_the_library_says_of_renamed_state_what_it_is_called(tmp_path):
    saved, out = str(tmp_path / "net.pt"), str(tmp_path / "net.onnx")
    torch.jit.script(Counts()).save(saved)

    def renamed(inputs, outputs):
        _capi.convert(saved, out, _capi.Options(opset=18, inputs=["x:float32[2]"], rename_inputs=inputs, rename_outputs=outputs))
        model = onnx.load(out)
        return [i.name for i in model.graph.input], [o.name for o in model.graph.output], {p.key: json.loads(p.value) for p in model.metadata_props
                                                                                          if p.key.startswith("pt2onnx.state")}
    inputs, outputs, said = renamed(["a", "b"], ["c", "d"])
    assert (inputs, outputs) == (["a", "b"], ["c", "d"])
    assert said["pt2onnx.state"] == {"b": "d"} and list(said["pt2onnx.state.initial"]) == ["b"]
    assert renamed([], ["c"])[2]["pt2onnx.state"] == {"s": "s.next"}
    with pytest.raises(_capi.ConversionError, match="output 1 cannot be called s.next: the model's state is"):
        renamed([], ["s.next"])


class Helper:
    def __init__(self):
        self.n = torch.zeros(3)

    def __call__(self, x):
        self.n += 1
        return x + self.n


SHARED = torch.zeros(3)


class Elsewhere(torch.nn.Module):
    """Writes to tensors that are neither buffers nor attributes of it."""
    of_the_class = torch.zeros(3)

    def __init__(self, where):
        super().__init__()
        self.where, self.items, self.by_name, self.helper = where, [torch.zeros(3)], {"k": torch.zeros(2, 3)}, Helper()

    def forward(self, x):
        if self.where == "list":
            self.items[0] += 1
            return x + self.items[0]
        if self.where == "dict":
            self.by_name["k"][1:] += x[:1]
            return x + self.by_name["k"]
        if self.where == "object":
            return self.helper(x)
        tensor = SHARED if self.where == "global" else self.of_the_class
        tensor.add_(1)
        return x + tensor

    def tensors(self):
        return [SHARED, self.of_the_class, self.items[0], self.by_name["k"], self.helper.n]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("where", ["list", "dict", "object", "global", "class"])
def test_what_forward_writes_to_wherever_it_lies(where, options):
    net = Elsewhere(where)
    found = exported(net, (ROWS,), verify=True, **options)
    assert all(t.eq(0).all() for t in net.tensors())
    want = [[1, 1, 1], [2, 2, 2]] if where == "dict" else [[2, 2, 2]] * 2
    assert run(found, ROWS)[0].tolist() == want


class Scaled(torch.nn.Module):
    """`change` writes to its weight or its buffer."""

    def __init__(self, change):
        super().__init__()
        self.weight, self.change = torch.nn.Parameter(torch.full((3,), 2.0)), change
        self.register_buffer("table", torch.full((3,), float("nan")))
        self.register_buffer("n", torch.full((3,), 5.0))

    def forward(self, x):
        self.change(self, x)
        return x * self.weight + self.n


def doubled(net, x):
    with torch.no_grad():
        net.weight.mul_(2)


def doubled_data(net, x):
    net.weight.data.mul_(2)


def filled_data(net, x):
    net.n.data.copy_(x[0])


def input_data(net, x):
    x.data.mul_(3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change, want", [(doubled, 9), (doubled_data, 9), (filled_data, 3), (input_data, 11)])
def test_weights_and_data_that_forward_writes_to(change, want):
    net = Scaled(change)
    assert run(exported(net, (ROWS,), verify=True), ROWS)[0].tolist() == [[want] * 3] * 2
    assert net.weight.tolist() == [2] * 3 and net.n.tolist() == [5] * 3


def other_memory(net, x):
    net.n.data = net.n.data + 1


def other_memory_of_a_weight(net, x):
    net.weight.data = net.weight.data * 2


def through_numpy(net, x):
    net.n.numpy()[0] = 7


@pytest.mark.parametrize("change, name", [(other_memory, "n"), (other_memory_of_a_weight, "weight"), (through_numpy, "n")])
def test_what_a_trace_does_not_show_is_refused(change, name):
    net = Scaled(change)
    with pytest.raises(RuntimeError, match="forward changes %s, but no operator that the trace shows" % name):
        exported(net, (ROWS,))
    assert net.weight.tolist() == [2] * 3 and net.n.tolist() == [5] * 3
