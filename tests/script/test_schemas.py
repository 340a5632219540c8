"""Older torch.export archives: programs of this PyTorch, written down as the schemas of torch 2.2 to 2.7 said them, are the same model."""
import io
import json
import re
import zipfile

import pytest
import sympy
import torch
from torch import nn
from torch.export import Dim

from scripted import flat, oracle

PROGRAMS = []


def program(*runs, **options):
    """Register the module class below with its runs, the first of them the example."""
    def add(make):
        PROGRAMS.append(pytest.param(make, [r if isinstance(r, tuple) else (r,) for r in runs], options, id=make.__name__))
        return make
    return add


@program(torch.rand(4, 3), torch.rand(6, 3), shapes=({0: Dim.AUTO},))
class Network(nn.Module):
    """Weights, tied ones, both kinds of buffers, constants, sizes in expressions."""
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(3, 4), nn.Linear(3, 4, bias=False)
        self.out.weight = self.fc.weight
        self.register_buffer("scale", torch.rand(4))
        self.register_buffer("shift", torch.rand(4), persistent=False)

    def forward(self, x):
        y = self.fc(x) * self.scale + self.shift + self.out(x) * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return {"y": y.reshape(x.shape[0] * 2, 2), "all": [y[1:], y.flatten(), torch.cat([y, y]).split(2, 1)[1]]}


@program((torch.rand(3), torch.rand(3)), (-torch.rand(3), torch.rand(3)))
class Branches(nn.Module):
    def forward(self, x, y):
        return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: x * y, (x, y))


@program((torch.rand(2, 3), [torch.rand(3), torch.rand(3)], "tanh", None, 2))
class Arguments(nn.Module):
    def forward(self, x, ys, name, nothing, k):
        return torch.tanh(x) * ys[0] + ys[1] * k, x.to(torch.float64).sum(1), x.new_zeros((2, k), dtype=torch.int32)


@program(torch.rand(2, 4), torch.rand(2, 4) + 1, state=True)
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4))

    def forward(self, x):
        self.kept.add_(x.sum(0))
        return x - self.kept


ARGUMENT = ("as_none", "as_tensor", "as_tensors", "as_int", "as_ints", "as_float", "as_floats", "as_string", "as_strings", "as_sym_int", "as_sym_ints",
            "as_scalar_type", "as_memory_format", "as_layout", "as_device", "as_bool", "as_bools", "as_sym_bool", "as_sym_bools", "as_graph",
            "as_optional_tensors", "as_custom_obj")
UNIONS = (ARGUMENT, ("as_expr", "as_int"), ("as_name", "as_int"),
          ("user_input", "parameter", "buffer", "tensor_constant", "custom_obj"),
          ("user_output", "loss_output", "buffer_mutation", "gradient_to_parameter", "gradient_to_user_input", "user_input_mutation"))


def infix(text):
    """Add(Mul(Integer(2), Symbol('s7', ..)), Integer(1)) as 2*s7 + 1"""
    return str(sympy.sympify(re.sub(r"Symbol\('(\w+)'[^)]*\)", r"\1", text)))


def all_tags(value):
    """Schema 2 wrote a union with all of its tags, all but one of them null."""
    if isinstance(value, list):
        return [all_tags(v) for v in value]
    if not isinstance(value, dict):
        return value
    value = {k: all_tags(v) for k, v in value.items()}
    union = next((u for u in UNIONS if len(value) == 1 and next(iter(value)) in u), ())
    return dict({tag: None for tag in union}, **value)


def older(value, major):
    """A part of the program without what this schema did not have. Before 5 all buffers were in the state dict."""
    if isinstance(value, list):
        return [older(v, major) for v in value]
    if not isinstance(value, dict):
        return value
    if "expr_str" in value:
        return dict(value, expr_str=infix(value["expr_str"]))
    gone = {"kind", "is_hop_single_tensor_return"} | ({"persistent", "custom_obj_values", "sym_float_values", "treespec_namedtuple_fields"} if major < 5 else set())
    if "target" in value:
        gone |= {"name"}
    value = {k: older(v, major) for k, v in value.items() if k not in gone}
    if major < 5 and "storage_offset" in value:
        value["storage_offset"] = value["storage_offset"]["as_int"]
    if "constant_input" in value and major < 5:                     # frozen arguments were no inputs of their own yet
        return {"user_input": {"arg": {"as_none": True}}}
    return value


def rewritten(text, major):
    p = older(json.loads(text), major)
    dialect = p.pop("verifiers")[0]
    del p["guards_code"]
    if major >= 8:
        return dict(p, schema_version={"major": major, "minor": 3}, verifiers=[dialect], torch_version="2.6.0+cpu")
    del p["torch_version"]
    if major >= 5:
        return dict(p, schema_version={"major": major, "minor": 1}, dialect=dialect)
    return all_tags(dict(p, schema_version=major, dialect="ATEN"))


def saved(tensors):
    f = io.BytesIO()
    torch.save(tensors, f)
    return f.getvalue()


def save_older(exported, path, major):
    from torch._export.serde.serialize import serialize
    parts = serialize(exported)
    ending = "pt" if major >= 5 else "json"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("version", str(major))
        z.writestr("serialized_exported_program.json", json.dumps(rewritten(parts.exported_program, major)))
        z.writestr("serialized_state_dict." + ending, parts.state_dict if major >= 5 else saved(dict(exported.named_buffers(), **exported.state_dict)))
        z.writestr("serialized_constants." + ending, parts.constants)


@pytest.fixture(scope="module")
def exports():
    return {}


@pytest.mark.parametrize("major", [2, 5, 6, 7, 8])
@pytest.mark.parametrize("make, runs, options", PROGRAMS)
def test_the_same_model(make, runs, options, major, exports, tmp_path):
    functional = major < 5 or "state" in options                    # TRAINING came later
    if (make, functional) not in exports:
        torch.manual_seed(0)
        exported = torch.export.export(make().eval(), runs[0], dynamic_shapes=options.get("shapes"))
        exports[make, functional] = exported.run_decompositions({}) if functional else exported
    exported = exports[make, functional]
    save_older(exported, tmp_path / "old.pt2", major)
    oracle.converted(tmp_path / "old.pt2", tmp_path / "old.onnx")
    oracle.check(tmp_path / "old.onnx")
    model = exported.module()
    state = {n: b.clone().numpy() for n, b in model.named_buffers()} if "state" in options else {}
    wanted = [(flat([a for a in run if isinstance(a, (torch.Tensor, list))]), flat(model(*run))) for run in runs]
    oracle.run(tmp_path / "old.onnx", wanted, state)


class Typed(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("w", torch.tensor([1.0, 2.0, 4.0, 8.0]).to(dtype)[1:])

    def forward(self, x):
        return x + self.w.float()


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_weights_of_types_without_a_storage_class(dtype, tmp_path):
    """torch.save describes them in another way: _rebuild_tensor_v3."""
    model, x = Typed(dtype), torch.rand(3)
    save_older(torch.export.export(model, (x,)), tmp_path / "old.pt2", 8)
    with zipfile.ZipFile(tmp_path / "old.pt2") as z:
        assert b"_rebuild_tensor_v3" in z.read("serialized_state_dict.pt")
    oracle.converted(tmp_path / "old.pt2", tmp_path / "old.onnx", "--opset", "19")
    oracle.run(tmp_path / "old.onnx", [([x.numpy()], [model(x).numpy()])])


class Scans(nn.Module):
    def forward(self, start, xs):
        from torch._higher_order_ops.scan import scan
        return scan(lambda c, x: (c + x, c * 2), start, xs)


@pytest.mark.parametrize("axis, backwards", [(0, False), (1, False), (0, True)])
def test_a_scan_with_its_axis(axis, backwards, tmp_path):
    """As torch 2.6 has it."""
    path, runs = tmp_path / "old.pt2", [(torch.rand(3), torch.rand(4, 3)), (torch.rand(3), torch.rand(4, 3))]
    save_older(torch.export.export(Scans(), runs[0]), path, 8)
    with zipfile.ZipFile(path) as z:
        parts = {name: z.read(name) for name in z.namelist()}
    p = json.loads(parts["serialized_exported_program.json"])
    node, = [n for n in p["graph_module"]["graph"]["nodes"] if n["target"] == "torch.ops.higher_order.scan"]
    node["inputs"][3:3] = [{"name": "", "arg": {"as_int": axis}}, {"name": "", "arg": {"as_bool": backwards}}]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in dict(parts, **{"serialized_exported_program.json": json.dumps(p)}).items():
            z.writestr(name, data)
    if axis or backwards:
        assert "a scan along another axis, or backwards, is not known" in oracle.convert(path, tmp_path / "old.onnx").stderr
        return
    oracle.converted(path, tmp_path / "old.onnx")
    oracle.run(tmp_path / "old.onnx", [([a.numpy() for a in run], flat(Scans()(*run))) for run in runs])


class EvenOrOdd(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] % 2 == 0 else x - 1


def test_a_guard_that_the_model_does_not_check_is_told(tmp_path):
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(EvenOrOdd(), (torch.rand(4, 3),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=False), str(path))
    told = "assumed: the program was exported for inputs of which this is true: (%s % 2) == 0\n"
    for options, name in ((), "x.size(0)"), (("-i", "x:float32[rows,3]"), "rows"), (("-i", "x:float32[5,3]"), "5"):
        said = oracle.converted(path, tmp_path / "model.onnx", *options).stderr
        assert told.replace("%s", name) in said, said


class FewOrMany(nn.Module):
    def forward(self, x):
        return x.sum() if x.shape[0] > 3 else x.mean()


def test_a_bound_that_the_model_does_not_check_is_told(tmp_path):
    """Not one that a window asks for (at least so much), and not where it holds in every run."""
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(FewOrMany(), (torch.rand(2, 3),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=False), str(path))
    told = "assumed: the program was exported for inputs of which this is true: %s <= 3\n"
    for options, size in ((), "x.size(0)"), (("-i", "x:float32[rows,3]"), "rows"), (("-i", "x:float32[7,3]"), "7"):
        assert told % size in oracle.converted(path, tmp_path / "model.onnx", *options).stderr
    assert not oracle.converted(path, tmp_path / "model.onnx", "-i", "x:float32[2,3]").stderr
    window = torch.export.export(nn.Conv1d(3, 4, 5), (torch.rand(2, 3, 9),), dynamic_shapes=({2: Dim.DYNAMIC},), strict=False)
    torch.export.save(window, str(path))
    assert not oracle.converted(path, tmp_path / "model.onnx").stderr


@pytest.mark.parametrize("options, size", (((), "x.size(0)"), (("-i", "x:float32[rows,3]"), "rows"), (("--dim", "%s=rows"), "rows")))
def test_a_bound_in_a_file_without_guards_is_told(options, size, tmp_path):
    """Before torch 2.9 a file has no guards; its range says how large the size may be."""
    path = tmp_path / "old.pt2"
    exported = torch.export.export(FewOrMany(), (torch.rand(2, 3),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=False)
    save_older(exported, path, 8)
    symbol, = exported.range_constraints
    assert told_guards(path, tmp_path, *[o.replace("%s", str(symbol)) for o in options]) == [size + " <= 3"]


def test_a_file_without_guards_has_no_more_to_say(tmp_path):
    path = tmp_path / "old.pt2"
    sizes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    save_older(torch.export.export(Later(), (torch.rand(4, 3), torch.rand(4, 3)), dynamic_shapes=sizes), path, 8)
    assert not oracle.converted(path, tmp_path / "model.onnx").stderr


class Later(nn.Module):
    def forward(self, x, y):
        return x[1:] + y[1:]


class Longer(nn.Module):
    def forward(self, x, y, n):
        return (x.sum(0) if x.shape[0] > y.shape[0] else y.sum(0)) * (2 if n > 3 else 1)


def told_guards(path, tmp_path, *options):
    said = oracle.converted(path, tmp_path / "model.onnx", *options).stderr
    return [line.split("is true: ")[1] for line in said.splitlines() if "is true: " in line]


def test_a_guard_that_is_a_bound_is_told(tmp_path):
    path = tmp_path / "model.pt2"
    sizes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}, Dim.DYNAMIC)
    torch.export.save(torch.export.export(Longer(), (torch.rand(4, 3), torch.rand(3, 3), 5), dynamic_shapes=sizes), str(path))
    assert told_guards(path, tmp_path) == ["x.size(0) > y.size(0)", "n > 3"]
    assert told_guards(path, tmp_path, "-i", "x:float32[A,3]", "-i", "y:float32[B,3]") == ["A > B", "n > 3"]


class Mean(nn.Module):
    def forward(self, x):
        return x.sum(0) / x.shape[0]


STAYS = "assumed: dimension 0 (%s) of x stays 4 wherever the program uses it, as it was exported so; torch.export with dynamic_shapes keeps it dynamic"


@pytest.mark.parametrize("options, name", ((("-i", "x:float32[N,3]"), "N"), (("--dynamic",), "x_0"), (("-i", "x:float32[4,3]"), None), ((), None)))
def test_a_size_that_the_file_fixes_is_told(options, name, tmp_path):
    torch.export.save(torch.export.export(Mean(), (torch.rand(4, 3),)), str(tmp_path / "model.pt2"))
    said = oracle.converted(tmp_path / "model.pt2", tmp_path / "model.onnx", *options).stderr
    assert STAYS % name in said if name else not said


@pytest.mark.parametrize("size, exit_code, says", (("6,3", 0, "dimension 0 is not in the bounds that the file has, 7..64"),
                                                   ("8,4", 2, "dimension 1 is 3 in the file, not 4")))
def test_a_size_that_is_not_the_files(size, exit_code, says, tmp_path):
    sizes = ({0: Dim("n", min=7, max=64)},)
    torch.export.save(torch.export.export(Mean(), (torch.rand(8, 3),), dynamic_shapes=sizes), str(tmp_path / "model.pt2"))
    done = oracle.convert(tmp_path / "model.pt2", tmp_path / "model.onnx", "-i", "x:float32[%s]" % size)
    assert done.returncode == exit_code and says in done.stderr, done.stderr


class Half(nn.Module):
    def forward(self, x):
        return x[:x.shape[0] // 2]


def test_a_guard_of_the_special_cases_0_and_1_is_told_with_v_alone(tmp_path):
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Half(), (torch.rand(8, 3),), dynamic_shapes=({0: Dim.DYNAMIC},)), str(path))
    assert told_guards(path, tmp_path) == []
    assert set(told_guards(path, tmp_path, "-v")) >= {"(x.size(0) // 2) != 1", "(x.size(0) // 2) <= x.size(0)"}


def test_a_guard_on_a_size_that_is_a_number_is_not_told(tmp_path):
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(nn.Linear(4, 3), (torch.rand(5, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)), str(path))
    assert not oracle.converted(path, tmp_path / "model.onnx").stderr
