"""Each two options of C together, and each two parameters of export: what is written is valid and runs, or is refused in words; without a change of the weights it gives what PyTorch gives."""
import itertools
import pathlib
from typing import Dict, List

import numpy
import onnx
import onnxruntime
import pytest
import torch

import pt2onnx
from helpers import TORCH_2
from pt2onnx import _capi
from pt2onnx.versions import OperatorExportTypes, TrainingMode

X = torch.tensor([[0.5, -1.25, 2.0], [3.5, -0.75, 1.0]])
# One field of pt2onnx_options each, by the number that stands in include/pt2onnx.h; int4 blocks are read from opset 21 on.
OPTIONS = {"opset 9": dict(opset=9), "opset 13": dict(opset=13), "opset 23": dict(opset=23), "saved mode": dict(mode=1), "external": dict(weights=2), "link": dict(weights=3),
           "for any runtime": dict(target=1), "keep weights": dict(keep_weights=1), "dynamic": dict(dynamic=1),
           "state constant": dict(state=1), "state refused": dict(state=2), "state defaults": dict(state=3), "loops kept": dict(loops=1), "loop of a trace": dict(keep_loops=1),
           "custom": dict(unknown=1), "constant nodes": dict(constant_nodes=1), "initializers as inputs": dict(initializers_as_inputs=1),
           "drop unused": dict(drop_unused_inputs=1), "torch names": dict(torch_names=1), "doc strings": dict(doc_strings=1), "soft sizes": dict(soft_sizes=1),
           "sequences": dict(sequence_lists=1), "float16": dict(weights_type=1), "bfloat16": dict(weights_type=2), "int8": dict(weights_type=3),
           "int4": dict(weights_type=4), "types change": dict(weights_type=1, change_io_types=1), "block": dict(weights_type=3, weights_block=16), "fuse": dict(fuse=1)}
MANY = 2
ONNX = onnx.defs.onnx_opset_version()
ROUNDED = {"float16", "bfloat16", "int8", "int4", "types change", "block"}


class Memory(torch.nn.Module):
    """State of each kind: a buffer of many values, one of none, numbers, and the list that is its own reverse."""
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("rows", torch.rand(400, 3))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.n = 2
        self.l = [1, 2]

    def forward(self, x, unused: int):
        self.rows[self.n] = x[0]
        self.empty = torch.cat([self.empty, x[:1]])
        self.n += 1
        self.l.reverse()
        return (self.linear(x) + self.rows.sum()).reshape(-1, self.l[1]) * torch.tensor([1.5, -2.0, 3.0])[:self.l[1]]


class Grows(torch.nn.Module):
    """A loop over an open size with a list and a break, a branch on a value, and results of several kinds."""
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3, 3))

    def forward(self, x):
        rows: List[torch.Tensor] = []
        s = torch.zeros(3)
        for i in range(x.size(0)):
            s = s @ self.w + x[i]
            if bool(s.sum() > 1e9):
                break
            rows.append(s)
        if bool(x.sum() > 0):
            s = torch.relu(s) + self.w[0]
        held: Dict[str, torch.Tensor] = {"s": s}
        return torch.stack(rows), held["s"], (x.size(0), 1.5)


class Layers(torch.nn.Module):
    """Convolutions with a norm, recurrent layers, an embedding, attention."""
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Sequential(torch.nn.Conv1d(3, 16, 1), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.5))
        self.lstm = torch.nn.LSTM(16, 16, batch_first=True)
        self.table = torch.nn.Embedding(5, 16)
        self.norm = torch.nn.LayerNorm(16)
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x):
        y = self.conv(x.unsqueeze(2)).transpose(1, 2)
        y = self.lstm(y)[0] + self.table(torch.tensor([1, 3]))[1]
        y = self.norm(y + torch.nn.functional.gelu(y))
        return self.attention(y, y, y)[0]


def ran(path, x):
    """What a default session gives, in order, of x and of the state that the file begins with."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    s = onnxruntime.InferenceSession(path, quiet, providers=["CPUExecutionProvider"])
    first = pt2onnx.initial_state(path)
    dtypes = {"tensor(int64)": "int64", "tensor(float16)": "float16"}
    return s.run(None, {i.name: (x.numpy() if i.name == "x" else first[i.name]).astype(dtypes.get(i.type, "float32")) for i in s.get_inputs()})


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """{name: (file, SPECs, what PyTorch gives)}"""
    there = tmp_path_factory.mktemp("programs")
    torch.manual_seed(0)
    made = {}
    for net, specs, more in (Memory(), ["x:float32[N,3]", "unused=1"], (1,)), (Grows(), ["x:float32[N,3]"], ()), (Layers(), ["x:float32[N,3]"], ()):
        net.eval()
        file = str(there / (type(net).__name__ + ".pt"))
        torch.jit.script(net).save(file)
        with torch.no_grad():
            made[type(net).__name__] = file, specs, parts(net(X, *more))
    if TORCH_2:
        file = str(there / "Layers.pt2")
        torch.export.save(torch.export.export(net, (X,), dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}}), file)
        made["Exported"] = file, [], made["Layers"][2]
    return made


def parts(result):
    """Its tensors and numbers, in order."""
    if isinstance(result, tuple):
        return [x for r in result for x in parts(r)]
    return [numpy.asarray(result)]


def options_of(names):
    fields = {"opset": 18}
    for name in names:
        fields.update(OPTIONS[name])
    if "int4" in names:
        fields["opset"] = max(21, fields["opset"])
    return fields


def differs(out, names, want):
    """Why the file is not what it has to be; None where it is."""
    try:
        onnx.checker.check_model(out)
        if {"for any runtime", "bfloat16"} <= set(names):
            return None                 # ONNX Runtime has few kernels for it, and the other target knows them
        got = ran(out, X)
    except Exception as e:              # noqa: BLE001: whatever the checker and the runtime raise is what is looked for
        return f"{type(e).__name__}: {e}"[:300]
    rtol, atol = (0.1, 0.2) if ROUNDED & set(names) else (1e-4, 1e-5)
    for g, w in zip(got, want):
        if g.shape != w.shape or not numpy.allclose(g, w, rtol=rtol, atol=atol):
            return f"{g} for {w}"
    return None


@pytest.mark.parametrize("name", ["Memory", "Grows", "Layers"] + ["Exported"] * TORCH_2)
def test_each_two_options(programs, name):
    file, specs, want = programs[name]
    out, wrong, refused, done = file + ".onnx", [], 0, 0
    for names in itertools.combinations(OPTIONS, MANY):
        fields = options_of(names)
        if fields["opset"] > ONNX:
            continue
        try:
            _capi.convert(file, out, _capi.Options(inputs=specs, **fields))
        except _capi.ConversionError as e:
            refused += 1
            wrong += [(names, str(e)[:300])] if e.status not in (1, 2) else []
            continue
        done += 1
        why = differs(out, names, want)
        wrong += [(names, why)] if why else []
    assert not wrong
    assert done > 3 * refused


# ---- the parameters of export ----

PARAMETERS = {"opset 9": dict(opset_version=9), "opset 13": dict(opset_version=13), "opset 17": dict(opset_version=17), "no weights": dict(export_params=False),
              "as it is": dict(training=TrainingMode.PRESERVE), "no folding": dict(do_constant_folding=False),
              "initializers as inputs": dict(keep_initializers_as_inputs=True), "axes": dict(input_names=["x", "i"], dynamic_axes={"x": {0: "n"}, "i": {0: "n"}}),
              "fallback": dict(operator_export_type=OperatorExportTypes.ONNX_ATEN_FALLBACK), "fall through": dict(operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH),
              "functions": dict(export_modules_as_functions=True, opset_version=17), "domains": dict(custom_opsets={"my": 2}), "external": dict(external_data=True),
              "names of 1.13": dict(names="1.13"), "float16": dict(weights_type="float16", rtol=0.1, atol=0.1), "int8": dict(weights_type="int8", rtol=0.1, atol=0.1),
              "float16 inputs": dict(weights_type="float16", keep_io_types=False, rtol=0.1, atol=0.1), "fuse": dict(fuse=True), "words": dict(strip_doc_string=False),
              "names": dict(input_names=["x", "i"], output_names=["a", "b", "c"]), "report": dict(report=True), "by name": dict(args=(X,), kwargs={"i": torch.tensor([3, 1])})}


class Shared(torch.nn.Module):
    """Two modules with one weight, a table, a buffer, a constant, and a dict among the results."""
    def __init__(self):
        super().__init__()
        linear = torch.nn.Linear(3, 3)
        self.a, self.b = torch.nn.Sequential(linear, torch.nn.LayerNorm(3)), torch.nn.Sequential(linear, torch.nn.BatchNorm1d(3))
        self.table = torch.nn.Embedding(4, 3)
        self.register_buffer("scale", torch.rand(3))

    def forward(self, x, i):
        y = self.b(torch.relu(self.a(x))) * self.scale + self.table(i)
        return y, {"z": y + torch.tensor([1.0, 2.0, 3.0]), "n": y.sum(1)}


def test_each_two_parameters(tmp_path, monkeypatch):
    """verify=True compares with PyTorch."""
    monkeypatch.chdir(tmp_path)
    net, wrong, done = Shared().eval(), [], 0
    for names in itertools.combinations(PARAMETERS, MANY):
        given = dict(args=(X, torch.tensor([3, 1])), opset_version=14)
        for name in names:
            given.update(PARAMETERS[name])
        try:
            pt2onnx.export(net, given.pop("args"), "net.onnx", verify=True, **given)
            onnx.checker.check_model("net.onnx")
            done += 1
        except Exception as e:              # noqa: BLE001: as above
            wrong.append((names, str(e)[:200]))
    assert [(names, why) for names, why in wrong if "int8 weights need ONNX opset 13" not in why] == []
    assert done + 1 == len(list(itertools.combinations(PARAMETERS, MANY)))
