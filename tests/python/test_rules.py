"""Rule files, as docs/rules.md describes them: its examples, and rules that become functions of the model, in ONNX Runtime. Needs no torch."""
import os
import re

import numpy
import onnx
import onnxruntime
import pytest

import oracle

FILES = os.path.join(oracle.TOP, "tests", "cli", "files")
FOO = "mylib::foo(Tensor x, float scale=1.0, int[] sizes=[], str mode=\"a\") -> Tensor\n"
TWO = "mylib::two(Tensor x, Tensor? mask, Tensor[] more, int k) -> (Tensor, Tensor)\n"


def converted(tmp_path, rules, *options, model="custom.pt2"):
    (tmp_path / "my.rules").write_text(rules)
    out = tmp_path / "model.onnx"
    oracle.converted(os.path.join(FILES, model), out, "--rules", str(tmp_path / "my.rules"), *options)
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=True)
    return out, model


def run(path):
    x = numpy.array([[1.5, -2, 0], [3, 0.25, -1]], numpy.float32)
    y = x * 2 + 1
    return (x, y) + tuple(onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x, "y": y}))


def test_every_rule_of_the_documentation_is_one(tmp_path):
    with open(os.path.join(oracle.TOP, "docs", "rules.md")) as f:
        text = f.read()
    blocks = [b for b in re.findall(r"(?:^(?:    .*)?\n)+", text, re.M) if re.search(r"^    (my|mylib|aten)::\w+\(", b, re.M)]
    assert len(blocks) >= 2
    for block in blocks:
        converted(tmp_path, re.sub(r"^    ", "", block, flags=re.M) + FOO + "    = x\n" + TWO + "    = (x, cast(x, int64))\n")


@pytest.mark.parametrize("opset", [9, 13, 18, 26])
def test_a_rule_as_a_function_runs_anywhere(tmp_path, opset):
    out, model = converted(tmp_path, FOO + "    function\n    = Add(Mul(x, scale), cast(Gather(Shape(x), 0), dtype(x)))\n" +
                           TWO + "    function my.own::Two\n    = (Add(x, k), cast(Mul(x, 2), int64))\n", "--opset", str(opset))
    assert [(f.domain, f.name, list(f.attribute)) for f in model.functions] == [("mylib", "foo", ["scale", "sizes", "mode"]), ("my.own", "Two", ["k"])]
    assert [n.op_type for n in model.graph.node] == ["foo", "Two", "Add"]
    x, y, first, second = run(out)
    a = x * numpy.float32(2.5) + 2
    assert numpy.array_equal(first, a + 3 + 1) and numpy.array_equal(second, (a * 2).astype(numpy.int64))


def test_calls_with_one_body_share_a_function(tmp_path):
    """Two calls with the same number, one with another."""
    out, model = converted(tmp_path, FOO + "    function\n    = Mul(x, scale)\n", model="custom_sums.pt2")
    assert [f.name for f in model.functions] == ["foo", "foo_1"]
    assert sorted(n.op_type for n in model.graph.node) == ["Add", "foo", "foo", "foo_1"]
    x, y, first, second = run(out)
    assert numpy.array_equal(first, x * 2 + y * 2) and numpy.array_equal(second, x * 3)


def test_a_rule_that_does_not_fit_is_named(tmp_path):
    (tmp_path / "my.rules").write_text("# two\n" + FOO + "    when int(x) = x\n" + TWO + "    = (x, cast(x, int64))\n")
    done = oracle.convert(os.path.join(FILES, "custom.pt2"), tmp_path / "model.onnx", "--rules", str(tmp_path / "my.rules"))
    assert done.returncode == 1 and "no alternative of its rule fits these arguments: %s:2\n" % (tmp_path / "my.rules") in done.stderr


def test_guards_choose_the_body(tmp_path):
    rules = FOO + "    when opset >= 20 and rank(x) = 2 and mode = \"same\" = Gelu(x)\n    when not given(mode) = x\n    = Neg(x)\n" + TWO + "    = (x, cast(x, int64))\n"
    assert "Gelu" in [n.op_type for n in converted(tmp_path, rules, "--opset", "20")[1].graph.node]
    assert "Neg" in [n.op_type for n in converted(tmp_path, rules, "--opset", "18")[1].graph.node]


def test_an_operator_of_a_custom_domain_has_attributes_and_several_outputs(tmp_path):
    _, model = converted(tmp_path, FOO + "    = my.domain::Foo<scale=scale, sizes=sizes, mode=mode>(x) as x\n" + TWO +
                         "    let a, b = my.domain::Two<k=k>(x, mask, more) as x\n    = (a, cast(b, int64))\n")
    foo, two = model.graph.node[:2]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in foo.attribute}
    assert attributes == {"scale": 2.5, "sizes": [1, 2], "mode": b"same"}
    assert (two.domain, len(two.output), list(two.input)) == ("my.domain", 2, [foo.output[0], "", "x", "y"])
    assert "my.domain" in [o.domain for o in model.opset_import]
