"""tools/runtimes.py: what it says of files, and where it says that ours falls short. `make runtimes` runs it on networks."""
import os
import sys
import types

import numpy
import onnx
import pytest
import torch

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import readers                                                      # noqa: E402
import runtimes                                                     # noqa: E402

FINE = {"written": 10, "left": 8, "plain": 1e-7, "default": 1e-6, "shapes": "ok", "skips": 2}


def test_it_looks_at_a_file(tmp_path):
    net, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3)).eval(), torch.randn(2, 4)
    saved, made, values = (str(tmp_path / n) for n in ("net.pt", "net.onnx", "net.npz"))
    with torch.no_grad():
        torch.jit.trace(net, x).save(saved)
        numpy.savez(values, want=net(x).numpy(), in0=x.numpy())
    oracle.converted(saved, made)
    found = runtimes.own_process("--look", made, values, "bert")
    assert found["written"] == found["left"] == 2 and found["shapes"] == "ok" and found["skips"] == 0
    assert found["plain"] < runtimes.TOLERANCE and found["default"] < runtimes.TOLERANCE
    assert len(runtimes.own_process("--race", values, 1, made, made)) == 2
    numpy.savez(values, want=net(x).detach().numpy() + 1, in0=x.numpy())
    assert runtimes.own_process("--look", made, values, "")["default"] > runtimes.TOLERANCE


@pytest.mark.parametrize("ours, why", [
    ({"shapes": "TypeError: no shape"}, "symbolic_shape_infer"), ({"left": 9}, "9 nodes left, another file has 8"), ({"plain": 0.1}, "plain session"),
    ({"default": "it does not load"}, "it does not load"), ({"skips": 1}, "1 sums and norms fused, another file has 2"), ({"skips": "crash: x"}, "crash: x")])
def test_it_says_where_ours_falls_short(ours, why):
    assert runtimes.failures("net", {"ours": FINE, "ts": FINE, "dy": {**FINE, "skips": "crash"}}, {"onnxslim": 1.0}) == []
    said = runtimes.failures("net", {"ours": {**FINE, **ours}, "ts": FINE, "dy": FINE}, {})
    assert len(said) == 1 and why in said[0]


def test_what_a_slimmer_takes_counts():
    assert "onnxsim takes 5.0 %" in runtimes.failures("net", {"ours": FINE}, {"onnxslim": "fails", "onnxsim": 0.95})[0]
    assert runtimes.failures("net", {"ts": FINE}, {}) == ["net: no file"]


RACE = {"ours": 1.0, "copy": 1.0, "ts": 2.0, "ts/slim": 0.5, "dy": 4.0}


def test_times_are_of_the_faster_other_file():
    assert runtimes.ratios([RACE, RACE], False) == pytest.approx({"ts": 0.5, "dy": 0.25, "faster": 0.5, "copy": 1})
    assert runtimes.ratios([RACE, RACE], True) == pytest.approx({"ts": 2, "dy": 0.25, "faster": 2, "copy": 1})
    assert runtimes.ratios([{"ours": 1.0, "copy": 1.0}] * 2, False) == runtimes.ratios([], False) == runtimes.ratios([{"ts": 1.0}] * 2, False) == {}


def test_luck_makes_no_file_the_fastest():
    """Ten others that are as fast as ours, each race with its own luck: the least of their medians would be 1 or 2 % below."""
    chance = numpy.random.default_rng(0)
    names = ["ours", "copy", "ts"] + ["ts/%d" % k for k in range(9)]
    found = [runtimes.ratios([dict(zip(names, chance.normal(1, 0.03, len(names)))) for _ in range(8)], True) for _ in range(50)]
    assert abs(numpy.median([f["faster"] for f in found]) - 1) < 0.005
    assert abs(numpy.median([f["copy"] for f in found]) - 1) < 0.005


def test_one_race_that_was_disturbed_changes_nothing():
    disturbed = [{**RACE, "ours": 9.0}] + [RACE] * 7
    assert runtimes.ratios(disturbed, False) == pytest.approx({"ts": 0.5, "dy": 0.25, "faster": 0.5, "copy": 1})


def test_a_file_that_does_not_run_is_out_of_the_race(small, tmp_path):
    o = types.SimpleNamespace(races=2, again="")
    (tmp_path / "broken.onnx").write_text("no model")
    record = runtimes.Record(str(tmp_path / "found.jsonl"))
    assert runtimes.races_of(record, o, {"ours": small[0], "ours/slim": str(tmp_path / "broken.onnx")}, small[1], 1) == []
    assert [set(r) for r in runtimes.races_of(record, o, {"ours": small[0]}, small[1], 1)] == [{"ours", "copy"}] * 2
    assert runtimes.races_of(record, types.SimpleNamespace(races=0, again=""), {"ours": small[0]}, small[1], 1) == []


def test_a_model_is_kept_by_what_it_is_made_of():
    import runtime_models
    source = runtime_models.source_of("gcn")
    assert all(text in source for text in ("def gcn", "class Convolved", "class Layers", "def made", "def main")) and "class Attended" not in source


def test_a_file_goes_through_the_tools(small, tmp_path):
    made = str(tmp_path / "net.onnx")
    os.symlink(small[0], made)
    found = runtimes.variants({"ours": made}, "bert")
    assert {"ours", "ours/opt"} <= set(found) and all(os.path.exists(f) for f in found.values())
    assert runtimes.variants({"ours": made}, "bert") == found
    again = [f for f in os.listdir(str(tmp_path)) if f.endswith(".failed")]
    assert len(found) + len(again) == 3                             # onnxslim is not in every environment


def test_a_record_is_read_again(tmp_path):
    path = str(tmp_path / "folder" / "found.jsonl")
    assert runtimes.Record(path).get("key", lambda: [1, "a"]) == [1, "a"]
    assert runtimes.Record(path).get("key", lambda: pytest.fail("it is known")) == [1, "a"]


def test_nodes_of_branches_count():
    branch = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "b", [], [])
    made = onnx.helper.make_graph([onnx.helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)], "g", [], [])
    assert runtimes.nodes(made) == {"If": 1, "Relu": 2}


def test_the_tables_name_each_model(capsys):
    figures, good = runtimes.report(18, 1, {"net": {"found": {"ours": FINE, "ts": FINE}, "races": [{"ours": 1.0, "copy": 1.0, "ts": 2.0, "ts/slim": 2.0}] * 2,
                                                "slim": {"onnxslim": 1.0}}})
    said = capsys.readouterr().out
    assert figures["left"] == {"net": (8, 8)} and figures["plain"]["worst"] == figures["tools"]["median"] == 0.5
    assert "18/2" in runtimes.summary({"18/2": figures})
    assert good and "ours: median 0.500, worst 0.500" in said and said.count("\nnet ") == 9
    assert "tools" not in runtimes.report(20, 1, {"net": {"found": {"ours": FINE}, "races": [{"ours": 1.0, "copy": 1.0, "ts": 2.0}] * 2, "slim": {}}})[0]


def test_kept_figures_fill_both_readmes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runtimes, "TOP", str(tmp_path))
    monkeypatch.setattr(runtimes.tables, "TOP", tmp_path)
    monkeypatch.setattr(runtimes, "DATA", str(tmp_path / "runtimes.json"))
    for name in runtimes.WORDS:
        (tmp_path / name).write_text("before\n<!-- runtimes -->\n<!-- /runtimes -->\nafter\n")
    assert runtimes.kept_table(True)                                # no figures, no table
    results = {"net": {"found": {"ours": FINE, "dy": {**FINE, "left": 9}}, "races": [{"ours": 1.0, "copy": 1.0, "dy": 2.0, "dy/slim": 1.25}] * 2, "slim": {}}}
    runs = {"%d/%d" % (opset, threads): runtimes.report(opset, threads, results)[0] for opset in (18, 9) for threads in (1, 2)}
    assert runtimes.keep(runs) and runtimes.kept_table(True)
    for name, words in runtimes.WORDS.items():
        said = (tmp_path / name).read_text()
        assert said.startswith("before\n") and said.endswith("\nafter\n") and words["lead"] in said
        assert said.count("| 0.50 (0.50, net) | 0.50 (0.50, net) |") == 2 and said.count("| 0.80 (0.80, net) |") == 2 and "| 8 / 9 | 8 / 9 |" in said
        assert said.count("| %s | 1.00 (1.00, net) | 1.00 (1.00, net) |" % words["copy"]) == 2
        assert said.index("opset 9") < said.index("opset 18") and "OPSETS=9,18 THREADS=1,2 KEEP=1" in said
        (tmp_path / name).write_text(said.replace("0.80", "0.70"))
        assert not runtimes.kept_table(True) and name in capsys.readouterr().out
        assert runtimes.kept_table(False) and (tmp_path / name).read_text() == said
    (tmp_path / "README.md").write_text("no place\n")
    assert not runtimes.kept_table(False)


# ---- other readers ----

@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file of ours and the values that tools/readers.py takes."""
    folder = tmp_path_factory.mktemp("readers")
    net, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.GELU(), torch.nn.LayerNorm(3)).eval(), torch.randn(2, 4)
    saved, made, values = (str(folder / n) for n in ("net.pt", "net.onnx", "net.npz"))
    with torch.no_grad():
        torch.jit.trace(net, x).save(saved)
        numpy.savez(values, want=net(x).numpy(), in0=x.numpy())
    oracle.converted(saved, made)
    return made, values


@pytest.mark.parametrize("reader", ["version_converter", "compose", "extract_model", "pre_process", "symbolic_shape_infer", "optimizer"])
def test_a_reader_of_this_environment_reads_a_file(reader, small):
    assert readers.look(reader, *small, "bert")["off"] < runtimes.TOLERANCE


def test_a_reader_that_is_wrong_or_fails_is_seen(small, tmp_path):
    made, values = small
    with numpy.load(values) as f:
        numpy.savez(str(tmp_path / "wrong.npz"), want=f["want"] + 1, in0=f["in0"])
        numpy.savez(str(tmp_path / "shape.npz"), want=f["want"][0], in0=f["in0"])
    assert readers.look("compose", made, str(tmp_path / "wrong.npz"), "")["off"] > 0.1
    assert "shape (2, 3), PyTorch's is (3,)" in readers.look("compose", made, str(tmp_path / "shape.npz"), "")["why"]
    assert "why" in readers.look("compose", str(tmp_path / "nothing.onnx"), values, "")


def test_several_graphs_stand_side_by_side(tmp_path):
    path, infos = str(tmp_path / "graph.onnx"), {"x": (onnx.TensorProto.FLOAT, [None, 1]), "edges": (onnx.TensorProto.INT64, [2, None])}
    inputs = [onnx.helper.make_tensor_value_info(name, *info) for name, info in infos.items()]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "graph", inputs, [])), path)
    x, edges = readers.several(path, {"in0": numpy.float32([[5], [6]]), "in1": numpy.int64([[0, 1, 1], [1, 0, 1]])}, 2)
    assert x.ravel().tolist() == [5, 6, 5, 6]
    assert edges.tolist() == [[0, 1, 1, 2, 3, 3], [1, 0, 1, 3, 2, 3]]


def test_each_reader_is_asked():
    assert runtimes.READER_NAMES == tuple(readers.BY_NAME)


@pytest.mark.parametrize("reader, ours, theirs, short", [
    ("openvino", {"off": 1e-6}, None, False), ("openvino", {"off": 1e-2}, None, True), ("openvino", {"off": 1e-2}, {"off": 1e-6}, True),
    ("openvino", {"off": 1e-2}, {"off": 2e-2}, False), ("openvino", {"why": "no"}, {"off": 1e-6}, True), ("openvino", {"why": "no"}, {"why": "no"}, False),
    ("quantize_static", {"off": 0.14}, {"off": 0.1}, False), ("quantize_static", {"off": 0.16}, {"off": 0.1}, True)])
def test_ours_is_no_worse_than_what_a_reader_does_elsewhere(reader, ours, theirs, short, capsys):
    assert runtimes.falls_short(reader, ours, theirs) == short
    good = runtimes.report_readers({"net": {reader: ({**ours, "version": "reader 1.0"}, theirs)}})
    said = capsys.readouterr().out
    assert good != short and "reader 1.0" in said and (("net, " + reader) in said.split("worse than")[1]) == short


class Tanh(torch.nn.Sequential):
    """Opset 20 has an operator for it, which the optimizer of ONNX Runtime 1.31 takes for the one with erf."""
    values = torch.linspace(-4, 4, 128).view(1, 2, 64)

    def __init__(self):
        super().__init__(torch.nn.Linear(64, 64), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(64, 64))


class Attends(torch.nn.Module):
    """Opset 23 has an operator for it, which the shape inference of ONNX Runtime 1.31 takes for Microsoft's."""
    values = torch.linspace(-1, 1, 2 * 4 * 8 * 16).view(2, 4, 8, 16)

    def forward(self, x):
        return torch.nn.functional.scaled_dot_product_attention(x, x * 0.5, x + 1)


@pytest.mark.parametrize("net, later, operator, reader", [(Tanh, 20, "Gelu", "optimizer"), (Attends, 23, "Attention", "symbolic_shape_infer")])
def test_the_default_opset_is_the_one_that_readers_read(net, later, operator, reader, tmp_path):
    """What these say of a later opset stands in docs/onnx-output.md: where one of them has become right this fails, and the default may rise."""
    torch.manual_seed(0)
    model, saved, made, values = net().eval(), *(str(tmp_path / n) for n in ("net.pt", "net.onnx", "net.npz"))
    with torch.no_grad():
        torch.jit.trace(model, net.values).save(saved)
        numpy.savez(values, want=model(net.values).numpy(), in0=net.values.numpy())
    oracle.converted(saved, made)
    assert readers.look(reader, made, values, "bert")["off"] < 1e-6
    oracle.converted(saved, made, "--opset", str(later))
    assert operator in [n.op_type for n in onnx.load(made).graph.node]
    assert readers.look(reader, made, values, "bert").get("off", 1) > 1e-5
