"""Modules through torch.export: dynamo=True, dynamic_shapes, and what is given back. torch 1.13 has none of it."""
import gc
import io
import json
import zipfile

import numpy
import onnx
import pytest
import torch

import pt2onnx
from helpers import TORCH_2, agrees, dims, names, ops, weights

pytestmark = pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
ROWS = torch.randn(4, 3)


class Nested(torch.nn.Module):
    def forward(self, d, pair, k=None, *, scale=None):
        y = d["a"] + d["b"][0] + pair[0] * pair[1]
        y = y if k is None else y + k
        return {"y": y if scale is None else y * scale, "z": (y + 1, None)}


class Both(torch.nn.Module):
    def forward(self, x, y):
        return x * 2, y + 1


NESTED = {"a": ROWS, "b": [ROWS]}, (ROWS, ROWS)


def program(model, args, **options):
    found = pt2onnx.export(model, args, dynamo=True, **options).model_proto
    onnx.checker.check_model(found)
    return found


def graph_of(path):
    with zipfile.ZipFile(path) as f:
        return json.loads(f.read(next(n for n in f.namelist() if n.endswith("models/model.json"))))


def test_torchs_test_of_the_canonical_form_is_left_out(monkeypatch, tmp_path):
    """It takes half of torch.export.save, and what it gives is dropped: the saved program is the same. Behind the export it is there again."""
    from torch._export.serde import serialize
    saved, asked = torch.export.export(Both(), (ROWS, ROWS)), []
    torch.export.save(saved, str(tmp_path / "torch.pt2"))
    monkeypatch.setattr(serialize, "canonicalize", lambda *a: asked.append(a))
    before = serialize.canonicalize
    pt2onnx.export(saved, (), str(tmp_path / "net.onnx"), dump_exported_program=True, artifacts_dir=str(tmp_path))
    assert not asked and serialize.canonicalize is before and gc.isenabled()
    assert graph_of(tmp_path / "pt2onnx-program.pt2") == graph_of(tmp_path / "torch.pt2")


def sizes(model):
    return {v.name: dims(v) for v in model.graph.input}


def test_one_tensor_given_twice_is_two_inputs():
    class Product(torch.nn.Module):
        def forward(self, x, y):
            return x * y
    model = program(Product(), (ROWS, ROWS))
    assert names(model.graph.input) == ["x", "y"]
    agrees(model, Product(), ROWS, ROWS + 1)


@pytest.mark.parametrize("shapes, want", [
    ({"x": {0: "batch size"}, "y": None}, ["batch_size", 3]),
    (({0: "n"}, None), ["n", 3]),
    ({"x": ["n", 3], "y": None}, ["n", 3]),
    (({0: torch.export.Dim("rows", min=2)}, None), ["rows", 3]) if TORCH_2 else (None, None),
])
def test_names_of_open_sizes(shapes, want):
    assert sizes(program(Both(), (ROWS, ROWS), dynamic_shapes=shapes)) == {"x": want, "y": [4, 3]}


def test_hints_leave_the_name_to_torch():
    found = sizes(program(Both(), (ROWS, ROWS), dynamic_shapes=({0: torch.export.Dim.AUTO, 1: torch.export.Dim.STATIC}, None)))
    assert isinstance(found["x"][0], str) and found["x"][1:] == [3] and found["y"] == [4, 3]


@pytest.mark.parametrize("keywords", [{}, {"scale": ROWS}, {"k": ROWS, "scale": ROWS}])
def test_sizes_of_nested_arguments(keywords):
    n = {0: "n"}
    shapes = {"d": {"a": n, "b": [n]}, "pair": (n, n), **{k: n for k in keywords}}
    model = program(Nested(), NESTED, kwargs=keywords, dynamic_shapes=shapes, verify=True)
    assert sizes(model) == {name: ["n", 3] for name in ["d.a", "d.b.0", "pair.0", "pair.1", *keywords]}


def test_dynamic_axes_name_the_sizes_of_a_program_too():
    model = program(Both(), (ROWS, ROWS), input_names=["p", "q"], output_names=["r", "s"],
                    dynamic_axes={"p": {0: "n"}, "q": {-1: "m"}, "r": {0: "k"}})
    assert sizes(model) == {"p": ["n", 3], "q": [4, "m"]}
    assert dims(model.graph.output[0]) == ["k", 3]
    with pytest.warns(UserWarning, match="No names were found"):
        model = program(Nested(), NESTED, dynamic_axes={name: [0] for name in ("d.a", "d.b.0", "pair.0", "pair.1")})
    assert sizes(model)["d.a"] == ["d_a_dynamic_axes_1", 3]
    with pytest.warns(UserWarning, match="Provided key other"):
        program(Both(), (ROWS, ROWS), dynamic_axes={"other": {0: "n"}})


def test_an_input_that_nothing_uses_stays_in_a_program():
    class First(torch.nn.Module):
        def forward(self, x, y):
            return x + 1
    assert names(program(First(), (ROWS, ROWS), verify=True).graph.input) == ["x", "y"]


def test_the_result_is_called_and_saved(tmp_path):
    net = torch.nn.Linear(3, 5)
    result = pt2onnx.export(net, (ROWS,), dynamo=True)
    numpy.testing.assert_allclose(result(ROWS)[0], net(ROWS).detach(), rtol=1e-5, atol=1e-6)
    assert (result.input_names, result.output_names) == (["input"], ["output"])
    result.optimize()
    result.save(tmp_path / "one.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == result.model_bytes
    for _ in range(2):                                  # the second replaces the first
        result.save(tmp_path / "two.onnx", external_data=True)
        assert sorted(f.name for f in tmp_path.iterdir()) == ["one.onnx", "two.onnx", "two.onnx.data"]
        assert (tmp_path / "two.onnx.data").stat().st_size < 4096
    agrees(onnx.load(str(tmp_path / "two.onnx")), net, ROWS)
    with pytest.raises(RuntimeError, match="keep_initializers_as_inputs"):
        result.save(tmp_path / "three.onnx", keep_initializers_as_inputs=True)


def test_weights_that_lie_beside_a_model_without_a_path_are_saved_with_it(tmp_path):
    net = torch.nn.Linear(3, 5)
    result = pt2onnx.export(net, (ROWS,), dynamo=True, external_data=True)
    numpy.testing.assert_allclose(result(ROWS)[0], net(ROWS).detach(), rtol=1e-5, atol=1e-6)
    result.save(tmp_path / "m.onnx")
    agrees(onnx.load(str(tmp_path / "m.onnx")), net, ROWS)
    assert weights(onnx.load(str(tmp_path / "m.onnx"))) == ["weight", "bias"]


def test_a_file_object_is_written_to_as_well():
    f = io.BytesIO()
    result = pt2onnx.export(Both(), (ROWS, ROWS), f, dynamo=True)
    assert f.getvalue() == result.model_bytes and ops(result.model_proto).count("Add") == 1
