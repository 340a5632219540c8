"""What a .pt2 has recorded of a result and torch itself does not give: pt2onnx gives what the program computes when it runs."""
import json
import zipfile

import pytest
import torch
from torch import nn

from scripted import oracle, refused, same

pytestmark = pytest.mark.filterwarnings("ignore")


class Power(nn.Module):
    def __init__(self, exponent):
        super().__init__()
        self.exponent = exponent

    def forward(self, x):
        y = x ** self.exponent
        return y, y * True, y + x.sum(), torch.pow(y, True) | x


class Unique(nn.Module):
    def forward(self, x):
        return torch.unique_consecutive(x, dim=0) + 1


class RunsOfAVector(nn.Module):
    """Torch records an inverse and counts, asked for or not."""
    def forward(self, x):
        return torch.unique_consecutive(x, dim=0) + 1, *torch.unique_consecutive(x, return_counts=True, dim=0), *torch.unique_consecutive(x, return_inverse=True, dim=-1)


class WeightNorm(nn.Module):
    """Of float16 torch records a norm of float16; it gives one of float32."""
    def forward(self, v):
        return torch._weight_norm_interface(v, v[0].unsqueeze(1))


@pytest.mark.parametrize("module, x", [(Power(True), torch.tensor([True, False])), (Power(False), torch.tensor([True, False])), (Unique(), torch.tensor([[1, 2], [1, 2], [3, 4]])),
                                       (RunsOfAVector(), torch.tensor([1, 1, 2, 1])),
                                       (WeightNorm(), torch.tensor([[1., 2.], [300., 400.]]).half())])
def test_what_runs_counts(module, x, tmp_path):
    program = torch.export.export(module, (x,), strict=False)
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    torch.export.save(program, str(path))
    oracle.converted(path, out)
    want = program.module()(x)
    oracle.run(out, [([x.numpy()], [t.numpy() for t in (want if isinstance(want, tuple) else (want,))])])


class Beside(nn.Module):
    def forward(self, x, w):
        y = x ** True
        return y.reshape(-1), (y & x).t(), w * 2


def wider(of):
    """float64, and a dim more."""
    of["dtype"], of["sizes"], of["strides"] = 8, of["sizes"] + [{"as_int": 3}], of["strides"] + [{"as_int": 1}]


def forged(path, out, *name, change=wider):
    """The archive with the recorded types of these values changed."""
    with zipfile.ZipFile(path) as a, zipfile.ZipFile(out, "w") as b:
        for item in a.infolist():
            data = a.read(item)
            if item.filename.endswith("models/model.json"):
                program = json.loads(data)
                for n in name:
                    change(program["graph_module"]["graph"]["tensor_values"][n])
                data = json.dumps(program).encode()
            b.writestr(item, data)


def test_what_does_not_follow_from_a_wrong_record_is_held_against_its_own(tmp_path):
    path, wrong = tmp_path / "model.pt2", tmp_path / "forged.pt2"
    program = torch.export.export(Beside(), (torch.ones(2, 2, dtype=torch.bool), torch.ones(2)), strict=False)
    torch.export.save(program, str(path))
    oracle.converted(path, tmp_path / "model.onnx")
    forged(path, wrong, "reshape", "and_1", "t")
    oracle.converted(wrong, tmp_path / "model.onnx")
    forged(path, wrong, "mul")
    assert "aten::mul: the file records float64[2,3] for result 0, pt2onnx computed float32[2]" in oracle.convert(wrong, tmp_path / "model.onnx").stderr


class Runs(nn.Module):
    """Along a dim that is counted from the end torch records too many dims."""
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.unique_consecutive(x, dim=self.dim).abs()


@pytest.mark.parametrize("dim, excused", [(None, False), (0, False), (1, False), (-1, True)])
def test_only_wrong_records_of_runs_excuse(dim, excused, tmp_path):
    path, wrong = tmp_path / "model.pt2", tmp_path / "forged.pt2"
    x = torch.tensor([[1, 1, -2], [3, 3, 4]])
    program = torch.export.export(Runs(dim), (x,), strict=False)
    torch.export.save(program, str(path))
    oracle.converted(path, tmp_path / "model.onnx")
    oracle.run(tmp_path / "model.onnx", [([x.numpy()], [program.module()(x).numpy()])])
    forged(path, wrong, "abs_1")
    assert (oracle.convert(wrong, tmp_path / "model.onnx").returncode == 0) == excused


class Counts(nn.Module):
    def forward(self, x):
        return torch._unique2(x, True, False, True)


@pytest.mark.parametrize("x", [torch.tensor([3, 1, 3, 2]), torch.tensor([5]), torch.tensor(7)], ids=["some", "one", "number"])
def test_an_inverse_that_nobody_asked_for(x, tmp_path):
    """PyTorch 1.13 gives it beside counts, and records its size; 2.13 gives nothing."""
    path, older = tmp_path / "model.pt2", tmp_path / "older.pt2"
    torch.export.save(torch.export.export(Counts(), (x,)), str(path))
    forged(path, older, "getitem_1", change=lambda of: of.update(sizes=[{"as_int": n} for n in x.shape], strides=[{"as_int": 1} for _ in x.shape]))
    values, inverse, counts = torch._unique2(x, True, True, True)
    for program, given in ((path, torch.zeros(0, dtype=torch.int64)), (older, inverse)):
        oracle.converted(program, tmp_path / "model.onnx")
        oracle.run(tmp_path / "model.onnx", [([x.numpy()], [v.numpy() for v in (values, given, counts)])])


class Squares(nn.Module):
    def __init__(self, driver):
        super().__init__()
        self.driver = driver

    def forward(self, a, b):
        return torch.linalg.lstsq(a, b, driver=self.driver)


def system(*shape, full=True):
    a, b = torch.randn(*shape), torch.randn(*shape[:-1], 2)
    if not full:
        a[..., 1] = 2 * a[..., 0]
    return a, b


@pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_residuals_as_the_run_has_them(driver, batch, tmp_path):
    torch.manual_seed(2)
    runs = [system(*batch, 5, 3), system(*batch, 3, 3), system(*batch, 2, 4)] + [system(*batch, 5, 3, full=False)] * (driver != "gels")
    sizes = "".join("2," for _ in batch)
    done, _ = same(Squares(driver), tmp_path, runs, "-i", f"a:float32[{sizes}M,N]", "-i", f"b:float32[{sizes}M,2]")
    assert ("has another rank in some runs" in done.stderr) == bool(batch)


class Asks(Squares):
    def forward(self, a, b):
        y = b
        if a.sum() > 0:
            y = torch.linalg.lstsq(a, b, driver="gels")[1].unsqueeze(0)
        return y


def test_an_arm_that_asks_for_their_rank_is_refused(tmp_path):
    assert "the residuals of a batch have another rank in some runs of the model" in refused(Asks("gels"), tmp_path, "-i", "a:float32[2,M,N]", "-i", "b:float32[2,M,2]")


class Recurs(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True), nn.Linear(5, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, self.fc(h[-1]), c


def with_an_axis_of_1(place):
    def change(of):
        of["sizes"].insert(place, {"as_int": 1})
        of["strides"].insert(place, {"as_int": 1})
    return change


def test_states_of_an_lstm_as_torch_2_12_records_them(tmp_path):
    """As [layers, 1, batch, hidden], up to 2.12, and what is computed of them with that axis."""
    path, old, out = tmp_path / "model.pt2", tmp_path / "old.pt2", tmp_path / "model.onnx"
    model, x = Recurs().eval(), torch.rand(3, 2, 4)
    program = torch.export.export(model, (x[:2],), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), strict=False)
    torch.export.save(program, str(path))
    states = [n.name for n in program.graph.nodes if n.name in ("getitem_1", "getitem_2")]
    forged(path, tmp_path / "first.pt2", *states, change=with_an_axis_of_1(1))
    forged(tmp_path / "first.pt2", old, "select", "linear", change=with_an_axis_of_1(0))
    oracle.converted(old, out)
    oracle.run(out, [([x.numpy()], [y.detach().numpy() for y in model(x)])])


class UniqueRows(nn.Module):
    def forward(self, x):
        return torch.unique(x, dim=0, return_inverse=True, return_counts=True)


class UniqueRuns(nn.Module):
    def forward(self, x):
        return torch.unique_consecutive(x, return_inverse=True, return_counts=True)


class UniqueCounted(nn.Module):
    def forward(self, x):
        return torch.unique(x, return_counts=True)


class Bins(nn.Module):
    def forward(self, x):
        return torch.bincount(x, torch.linspace(0, 1, 3), 4)


def as_the_input(of):
    of["dtype"] = 7 if of["dtype"] == 5 else 5


@pytest.mark.parametrize("module, x, names", [(UniqueRows(), torch.tensor([[1., 2.], [0., 4.], [1., 2.]]), ("getitem_1", "getitem_2")),
                                              (UniqueRuns(), torch.tensor([1., 1., 2., 1.]), ("getitem_1", "getitem_2")),
                                              (UniqueCounted(), torch.tensor([1., 1., 2., 1.]), ("getitem_1", "getitem_2")),
                                              (Bins(), torch.tensor([1, 2, 1]), ("bincount",))])
def test_counts_as_older_torches_record_them(module, x, names, tmp_path):
    path, old, out = tmp_path / "model.pt2", tmp_path / "old.pt2", tmp_path / "model.onnx"
    torch.export.save(torch.export.export(module, (x,), strict=False), str(path))
    forged(path, old, *names, change=as_the_input)
    oracle.converted(old, out)
    wanted = module(x)
    oracle.run(out, [([x.numpy()], [y.numpy() for y in (wanted if isinstance(wanted, tuple) else (wanted,))])])


class Counted(nn.Module):
    def forward(self, x):
        return torch.bincount(x, minlength=2)


@pytest.mark.parametrize("opset", [9, 11, 16])
def test_a_size_of_the_files_is_known_where_it_is_first_made(opset, tmp_path):
    """At opset 9 the counting itself asks for the size of its result."""
    x = torch.tensor([4, 1, 1])
    path, out = tmp_path / "model.pt2", tmp_path / "model.onnx"
    torch.export.save(torch.export.export(Counted(), (x,), strict=False), str(path))
    oracle.converted(path, out, "--opset", str(opset))
    oracle.run(out, [([x.numpy()], [Counted()(x).numpy()])])


class Steps(nn.Module):
    def forward(self, x):
        return x + torch.arange(0.5, 5.9, 1.8, dtype=torch.int64)


def three(of):
    of["sizes"] = [{"as_int": 3}]


def test_steps_as_torch_2_14_counts_them(tmp_path):
    """Before, ints were made of the three numbers first: 0, 1, .., 4."""
    path, later, out = tmp_path / "model.pt2", tmp_path / "later.pt2", tmp_path / "model.onnx"
    x = torch.tensor([10., 20., 30., 40., 50.])
    torch.export.save(torch.export.export(Steps(), (x,), strict=False), str(path))
    oracle.converted(path, out)
    oracle.run(out, [([x.numpy()], [(x + torch.tensor([0, 1, 2, 3, 4])).numpy()])])
    forged(path, later, "x", "arange", "add", change=three)
    oracle.converted(later, out)
    oracle.run(out, [([x[:3].numpy()], [(x[:3] + torch.tensor([0, 1, 2])).numpy()])])
