"""What a .pt2 records of its results: a difference to what we compute is an error, unless the record is PyTorch's mistake."""
import json
import os
import sys
import zipfile

import onnx
import pytest
import torch
from torch import nn
from torch.export import export

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import oracle                                                       # noqa: E402


class LowerConvolution(nn.Module):
    """A batch norm behind a convolution in bfloat16. Decomposed it has three results, two of which are empty: recorded as bfloat16, and float32 where it runs."""
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.norm(self.conv(x)).float()


def test_empty_statistics(tmp_path):
    model, x = LowerConvolution().eval(), torch.rand(2, 3, 8, 8)
    program = export(model, (x,)).run_decompositions({})
    assert "_native_batch_norm_legit_no_training" in str(program.graph)
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [model(x).detach().numpy()])], tolerance=2e-2)


class LowerRecurrence(nn.Module):
    def __init__(self, nonlinearity):
        super().__init__()
        self.rnn = nn.RNN(4, 5, nonlinearity=nonlinearity, batch_first=True)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y, h = self.rnn(x)
            return y.float(), h.float()


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_recurrence_in_a_lower_precision(nonlinearity, tmp_path):
    """Its steps are linear layers, which autocast runs in bfloat16: the results are recorded so."""
    model, x = LowerRecurrence(nonlinearity).eval(), torch.rand(2, 3, 4)
    torch.export.save(export(model, (x,)), str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [y.detach().numpy() for y in model(x)])], tolerance=2e-2)


class Nested(nn.Module):
    """An autocast region of one device inside one of another; the tensors lie on the CPU."""
    def __init__(self, outer, inner):
        super().__init__()
        torch.manual_seed(0)
        self.outer, self.inner, self.linear = outer, inner, nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast(**self.outer):
            with torch.autocast(**self.inner):
                y = self.linear(x)
            return y.float(), self.linear(x).softmax(1).float()


CPU, CPU_OFF = dict(device_type="cpu", dtype=torch.bfloat16), dict(device_type="cpu", enabled=False)
GPU, GPU_OFF = dict(device_type="cuda", dtype=torch.float16), dict(device_type="cuda", enabled=False)


@pytest.mark.parametrize("outer,inner,lower", [(CPU, GPU_OFF, True), (CPU, GPU, True), (GPU, CPU, True), (GPU_OFF, CPU, True), (CPU, CPU_OFF, False),
                                               (GPU, CPU_OFF, False)])
def test_autocast_regions_of_two_devices(outer, inner, lower, tmp_path, monkeypatch):
    """As a machine with a GPU exports it: elsewhere PyTorch turns regions for one off."""
    monkeypatch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
    model, x = Nested(outer, inner).eval(), torch.rand(2, 4)
    program = export(model, (x,))
    assert GPU not in (outer, inner) or "'cuda', torch.float16, True" in program.graph_module.print_readable(print_output=False)
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.check(tmp_path / "model.onnx")
    got = oracle.session(tmp_path / "model.onnx").run(None, {"x": x.numpy()})
    oracle.compare(got, [y.detach().numpy() for y in model(x)], "", tolerance=2e-2)
    rounded = torch.tensor(got[0]).bfloat16().float().numpy()
    assert (got[0] == rounded).all() == lower


class Attends(nn.Module):
    """Its mask may be float32 where the rest is bfloat16, without any autocast."""
    def forward(self, x, mask):
        x = x.bfloat16()
        return nn.functional.scaled_dot_product_attention(x, x, x, mask).float()


def exported_under_autocast(dtype=torch.bfloat16, decomposed=False):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3)).eval(), torch.rand(2, 4)
    with torch.autocast("cpu", dtype=dtype):
        program = export(model, (x,))
        return model, x, program.run_decompositions({}) if decomposed else program


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_an_autocast_around_the_export_is_refused(dtype, tmp_path):
    """Its casts are neither in the file nor is a region; torch, run without it, computes in float32."""
    torch.export.save(exported_under_autocast(dtype)[2], str(tmp_path / "model.pt2"))
    done = oracle.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert done.returncode == 1
    assert "was exported while autocast was on outside of the model" in done.stderr and "run_decompositions({})" in done.stderr


def test_decomposed_in_the_same_autocast_it_has_the_casts(tmp_path):
    """What the hint of the error says."""
    model, x, program = exported_under_autocast(decomposed=True)
    torch.export.save(program, str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    loaded = torch.export.load(str(tmp_path / "model.pt2")).module()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        want = model(x)
    assert want.dtype == torch.bfloat16 and (loaded(x) == want).all()
    oracle.check(tmp_path / "model.onnx")
    assert onnx.load(str(tmp_path / "model.onnx")).graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16


def test_a_mask_of_another_type_is_no_autocast(tmp_path):
    model, xs = Attends(), (torch.rand(1, 2, 3, 4), torch.zeros(3, 3))
    torch.export.save(export(model, xs), str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy() for x in xs], [model(*xs).numpy()])], tolerance=2e-2)


class Scales(nn.Module):
    def forward(self, x, n):
        return torch.ldexp(x, n)


def as_recorded_before(path):
    """What PyTorch before 2.13 writes: a float32, as the product with 2.0 ** n is."""
    with zipfile.ZipFile(path) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts:
            if name.endswith("models/model.json"):
                program = json.loads(data)
                values = program["graph_module"]["graph"]["tensor_values"]
                values[program["graph_module"]["graph"]["outputs"][0]["as_tensor"]["name"]]["dtype"] = 7
                data = json.dumps(program).encode()
            archive.writestr(name, data)


@pytest.mark.parametrize("older", [False, True])
def test_scaled_half(older, tmp_path):
    """A float16 that ldexp scales by an int is a float16 since PyTorch 2.13."""
    x, n = torch.tensor([1.5, -3, 2.0 ** -24]).half(), torch.tensor([4, -1, 30])
    torch.export.save(export(Scales(), (x, n)), str(tmp_path / "model.pt2"))
    if older:
        as_recorded_before(tmp_path / "model.pt2")
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    expected = x * 2.0 ** n if older else torch.ldexp(x, n)
    assert expected.dtype == (torch.float32 if older else torch.float16)
    oracle.run(tmp_path / "model.onnx", [([x.numpy(), n.numpy()], [expected.numpy()])])


class Rows(nn.Module):
    def forward(self, x):
        scale, zero = torch.ops.quantized_decomposed.choose_qparams_per_token(x, torch.int8)
        return torch.ops.quantized_decomposed.quantize_per_token(x, scale, zero, -128, 127, torch.int8), scale, zero


def test_scales_of_rows(tmp_path):
    """Recorded as float64 and int64, and float32 where they run."""
    import torch.ao.quantization.fx._decomposed                     # noqa: F401  (the operators)
    x = torch.tensor([[-1.3, .2, 2.7], [0, 0, 0]])
    torch.export.save(export(Rows(), (x,)), str(tmp_path / "model.pt2"))
    oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert Rows()(x)[1].dtype == Rows()(x)[2].dtype == torch.float32
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [y.numpy() for y in Rows()(x)])])
