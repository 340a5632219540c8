"""verify=True and report=True."""
import collections
import dataclasses
import io
import itertools
import os
import subprocess
import sys
from typing import Dict, List, Optional, Tuple

import numpy
import onnx
import onnxruntime
import pytest
import torch

import pt2onnx
from helpers import TORCH_2
from pt2onnx.verification import Output

ROWS = torch.randn(2, 3)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.drop = torch.nn.Dropout()

    def forward(self, x, n: int = 2):
        x += 1                                                  # writes to its input
        return self.drop(self.fc(x)), {"sum": x.sum() * n, "none": None}


def test_every_output_is_compared(tmp_path):
    before = ROWS.clone()
    result = pt2onnx.export(Net().train(), (ROWS.clone(),), verify=True, output_names=["y", "sum"])
    v = result.verification
    assert v.ok and [o.name for o in v.outputs] == ["y", "sum"] and all(o.absolute < 1e-5 for o in v.outputs)
    assert "largest difference" in str(v) and str(v).startswith("ONNX Runtime against torch, rtol 0.001")
    torch.testing.assert_close(ROWS, before)
    pt2onnx.export(Net(), (ROWS.clone(),), tmp_path / "m.onnx", verify=True)
    assert (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(2, 3))], ids=["scripted", "traced"])
def test_scripts_are_verified_too(make):
    net = make(torch.nn.Linear(3, 4))
    assert pt2onnx.export(net, (ROWS,), verify=True).verification.ok


class Numbers(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1


def test_numbers_in_a_frozen_script():
    """torch's passes over the graph of a script compare the numbers in it, which are tensors there."""
    net = torch.jit.freeze(torch.jit.trace(Numbers().eval(), ROWS))
    assert pt2onnx.export(net, (ROWS,), verify=True).verification.ok
    assert torch.equal(net(ROWS), ROWS * 2 + 1)


class Difference(torch.nn.Module):
    def forward(self, x, y, k: float = 1.0):
        return x - y * k


ROADS = [{}, {"dynamo": True}][:1 + TORCH_2]


@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [lambda net: net, torch.jit.script], ids=["module", "script"])
def test_a_result_is_called_as_forward(make, options):
    net, other = Difference(), ROWS + 3
    if make is torch.jit.script and options:
        pytest.skip("torch.export takes no scripts")
    for kwargs in {"y": other, "x": ROWS}, {"x": ROWS, "y": other}:
        result = pt2onnx.export(make(net), (), kwargs=kwargs, **options)
        for got in (result(ROWS, other), result(ROWS, y=other), result(y=other, x=ROWS), result(ROWS.numpy(), other.t().contiguous().t())):
            torch.testing.assert_close(got[0], ROWS - other)
    for args, named, text in (((ROWS,), {}, "is missing an argument: 'y'"), ((ROWS, other), {"z": ROWS}, "without an argument z: it has x, y"),
                              ((ROWS, other), {"x": ROWS}, "given the argument x twice"), ((ROWS, other, 1.0, 2), {}, "4 were given"),
                              ((ROWS, [other, other]), {}, "tensors and numbers")):
        with pytest.raises(TypeError, match=text):
            result(*args, **named)


class OfDict(torch.nn.Module):
    def forward(self, d: Dict[str, torch.Tensor], k):
        return d["a"] - d["b"] * k


@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [lambda net: net, torch.jit.script], ids=["module", "script"])
def test_a_dict_is_given_to_a_result_by_its_keys(make, options):
    if make is torch.jit.script and options:
        pytest.skip("torch.export takes no scripts")
    a, b, k = ROWS, ROWS + 3, ROWS + 1
    result = pt2onnx.export(make(OfDict()), ({"a": a, "b": b}, k), **options)
    torch.testing.assert_close(result({"b": b, "a": a}, k)[0], a - b * k)
    for wrong in {"a": a, "c": b}, {"a": a}, [a, b]:
        with pytest.raises(TypeError, match="the argument d was exported as a dict with the keys a, b"):
            result(wrong, k)


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class State:
    by_name: Dict[str, torch.Tensor]
    now: torch.Tensor = None
    before: torch.Tensor = None


if TORCH_2:
    torch.export.register_dataclass(State)


class OfPair(torch.nn.Module):
    def forward(self, pair):
        by_name, now = pair if isinstance(pair, Pair) else (pair.by_name, pair.now)
        return by_name["z"] - by_name["q"] * now


@pytest.mark.parametrize("options", ROADS)
@pytest.mark.parametrize("make", [Pair, State][:1 + TORCH_2])
def test_a_dict_inside_of_a_container_goes_by_its_keys_too(make, options):
    z, q, k = ROWS, ROWS + 1, ROWS + 3
    result = pt2onnx.export(OfPair(), (make({"z": z, "q": q}, k),), **options)
    torch.testing.assert_close(result(make({"q": q, "z": z}, k))[0], z - q * k)
    with pytest.raises(TypeError, match=r"was exported as a dict with the keys z, q"):
        result(make({"z": z, "a": q}, k))


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no register_dataclass")
@pytest.mark.parametrize("options", ROADS)
def test_the_fields_of_a_dataclass_are_those_of_the_export(options):
    by_name = {"z": ROWS, "q": ROWS + 1}
    result = pt2onnx.export(OfPair(), (State(by_name, ROWS),), **options)
    with pytest.raises(TypeError, match="the argument pair was exported as a State with other parts"):
        result(State(by_name, before=ROWS))


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.l(x)

    def other(self, x):
        return self.l(x) * 2


@pytest.mark.parametrize("model, names, want", [
    (Two(), ["x", "W", "B"], ["x", "W", "B"]),
    (Two().other, ["x"], ["x", "l.weight", "l.bias"]),
    (Two().other, ["x", "", "B"], ["x", "l.weight", "B"]),
])
def test_weights_that_are_inputs_are_verified_by_their_names(model, names, want):
    result = pt2onnx.export(model, (ROWS,), input_names=names, export_params=False, verify=True)
    assert result.verification.ok and result.input_names == want


def test_a_default_of_forward_is_the_results_too():
    result = pt2onnx.export(Difference(), (ROWS, ROWS, 2.0))
    torch.testing.assert_close(result(ROWS, ROWS)[0], ROWS - ROWS)
    torch.testing.assert_close(result(ROWS, ROWS, k=3.0)[0], ROWS - ROWS * 3)


class Scaled(torch.nn.Module):
    def forward(self, x, how: str, a: Optional[torch.Tensor], b: Optional[torch.Tensor]):
        x = x * 2 if how == "twice" else x * 9
        if a is not None:
            x = x + a
        return x if b is None else x - b


def as_program(net):
    return torch.export.export(net, (ROWS, "twice", None, ROWS + 1))       # torch.export takes one tensor in two places for one


@pytest.mark.parametrize("make, options", [(lambda net: net, {}), (torch.jit.script, {}), (lambda net: net, {"dynamo": True}), (as_program, {})][:2 + 2 * TORCH_2],
                         ids=["module", "script", "dynamo", "program"][:2 + 2 * TORCH_2])
def test_what_is_fixed_in_the_model_is_not_called_with_another_value(make, options):
    result = pt2onnx.export(make(Scaled()), (ROWS, "twice", None, ROWS), verify=True, **options)
    torch.testing.assert_close(result(ROWS + 1, "twice", None, ROWS)[0], ROWS + 2)
    for arguments, text in (((ROWS, "once", None, ROWS), "the argument how is the constant 'twice' in the model, not 'once'"),
                            ((ROWS, "twice", ROWS, None), "the argument a is the constant None in the model, not tensor")):
        with pytest.raises(ValueError, match=text):
            result(*arguments)


class Flagged(torch.nn.Module):
    def forward(self, x, flag: bool = True, k: float = 2.0):
        return x * k if flag else x - k


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"names": "1.13"}], ids=["names", "names of 1.13"])
def test_a_number_that_a_trace_has_fixed_is_not_called_with_another(options):
    result = pt2onnx.export(Flagged(), (ROWS,), verify=True, **options)
    torch.testing.assert_close(result(ROWS, True, 3.0)[0], ROWS * 3)
    with pytest.raises(ValueError, match="the argument flag is the constant True in the model, not False"):
        result(ROWS, False, 3.0)
    torch.testing.assert_close(pt2onnx.export(torch.jit.script(Flagged()), (ROWS, True, 2.0), **options)(ROWS, False, 3.0)[0], ROWS - 3)


class TwoLists(torch.nn.Module):
    def forward(self, xs, ys):
        return sum(xs) - sum(ys)


@pytest.mark.parametrize("options", ROADS)
def test_lists_have_the_lengths_of_the_export(options):
    result = pt2onnx.export(TwoLists(), ([ROWS, ROWS], [ROWS]), **options)
    torch.testing.assert_close(result([ROWS, 2 * ROWS], [ROWS])[0], 2 * ROWS)
    with pytest.raises(TypeError, match="the argument xs has 2 tensors and numbers in the export, not 1"):
        result([ROWS], [ROWS, ROWS])


class Counts(torch.nn.Module):
    def forward(self, x, n: List[int], y):
        return x * n[0] + y * n[1]


def test_a_list_of_numbers_is_one_input_when_it_is_verified():
    net = torch.jit.script(Counts())
    result = pt2onnx.export(net, (ROWS, [2, 3], ROWS + 1), verify=True)
    torch.testing.assert_close(result(ROWS, [4, 5], ROWS)[0], ROWS * 9)


@pytest.mark.parametrize("options", ROADS)
def test_complex_tensors_are_pairs_of_floats(options):
    z = torch.randn(2, 3, dtype=torch.complex64)
    result = pt2onnx.export(lambda z: (z * 2, z.abs()), (z,), verify=True, **options)
    torch.testing.assert_close(result(z)[0], torch.view_as_real(z * 2))


class Layers(torch.nn.Module):
    """Rounds on the way, and, where it is told to, is another in each run."""

    def __init__(self, step=0):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.GELU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 9))
        self.calls = itertools.count(step=step)

    def forward(self, x):
        y = self.net(x) + next(self.calls)
        return y.masked_fill(torch.arange(9) == 2, torch.finfo(y.dtype).min), y[:0], y.sum()


needs_bfloat16 = pytest.mark.skipif(not hasattr(onnxruntime.OrtValue, "ortvalue_from_numpy_with_onnx_type"), reason="ONNX Runtime takes no bfloat16")


@needs_bfloat16
@pytest.mark.parametrize("options", ROADS)
def test_bfloat16_goes_in_and_comes_out(options):
    x, net = ROWS.bfloat16(), Layers().bfloat16()
    result = pt2onnx.export(net, (x,), verify=True, **options)
    for got, want in zip(result(x), net(x)):
        torch.testing.assert_close(got, want.detach(), rtol=0.1, atol=0.02)
    assert [o.dtype for o in result.verification.outputs] == ["bfloat16"] * 3


@pytest.mark.skipif(TORCH_2, reason="of an older ONNX Runtime")
def test_bfloat16_needs_a_newer_runtime():
    with pytest.raises(RuntimeError, match="the model cannot be run from Python: NumPy has no bfloat16"):
        pt2onnx.export(lambda x: x * 2, (ROWS.bfloat16(),), verify=True)


@pytest.mark.parametrize("dtype", [torch.float16, pytest.param(torch.bfloat16, marks=needs_bfloat16)])
def test_rounding_to_16_bits_is_no_difference(dtype):
    """The example is large enough for some results to be near 0, far from which their operands are. What is masked is no scale."""
    x = torch.linspace(-3, 3, 300).reshape(100, 3).to(dtype)
    if not TORCH_2:
        pytest.skip("torch 1.13 has no float16 on the processor")
    found = pt2onnx.export(Layers().to(dtype), (x,), verify=True).verification
    assert found.ok and 0 < found.outputs[0].rounding < 0.1 and "rounding explains" in str(found)
    for step, options in (1, {}), (found.outputs[0].rounding / 2, {"atol": 1e-5}):
        with pytest.raises(RuntimeError, match="DIFFERENT"):
            pt2onnx.export(Layers(step).to(dtype), (x,), verify=True, **options)


def test_weights_of_whole_numbers_need_a_tolerance():
    x = torch.linspace(-3, 3, 300).reshape(100, 3)
    with pytest.raises(RuntimeError, match="DIFFERENT(.|\n)*weights of int8 change what the model gives: rtol and atol say how much may be"):
        pt2onnx.export(Layers(), (x,), verify=True, weights_type="int8")
    assert pt2onnx.export(Layers(), (x,), verify=True, weights_type="int8", atol=0.05).verification.ok


@pytest.mark.parametrize("keep", [True, False], ids=["inputs of float32", "narrow inputs"])
@pytest.mark.parametrize("name", ["float16", pytest.param("bfloat16", marks=needs_bfloat16)])
def test_rounding_of_weights_is_no_difference(name, keep):
    x = torch.linspace(-3, 3, 300).reshape(100, 3)
    found = pt2onnx.export(Layers(), (x,), verify=True, weights_type=name, keep_io_types=keep).verification
    assert found.ok and str(found.outputs[0].dtype) == ("float32" if keep else name)
    with pytest.raises(RuntimeError, match="DIFFERENT"):
        pt2onnx.export(Layers(1), (x,), verify=True, weights_type=name, keep_io_types=keep)


@pytest.mark.parametrize("value", [1j, object(), len])
def test_what_is_no_argument_is_named(value):
    with pytest.raises(TypeError, match="%s is no tensor, number or text, and no container of them" % type(value).__name__):
        pt2onnx.export(lambda x, y: x, (ROWS, value))


class ListAndMaybe(torch.nn.Module):
    def forward(self, x) -> Tuple[List[torch.Tensor], Optional[torch.Tensor]]:
        some: Optional[torch.Tensor] = None
        rows: List[torch.Tensor] = []
        for i in range(x.size(0)):
            rows.append(x[i] * 2)
            if i > 1:
                some = x[i]
        return rows, some


@pytest.mark.parametrize("n", [1, 4])
def test_sequences_and_optionals_are_verified_too(n):
    x = torch.randn(n, 3)
    result = pt2onnx.export(torch.jit.script(ListAndMaybe()), (x,), verify=True, input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=16,
                            output_names=["rows", "some"])
    assert [o.name for o in result.verification.outputs] == ["rows[%d]" % i for i in range(n)] + (["some"] if n > 2 else [])
    rows, some = result(x)
    torch.testing.assert_close(rows, [2 * r for r in x])
    assert some is None if n < 3 else torch.equal(some, x[-1])


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_programs_are_verified_too():
    program = torch.export.export(torch.nn.Linear(3, 4), (ROWS,))
    assert pt2onnx.export(program, (ROWS,), verify=True).verification.ok
    assert pt2onnx.export(program, verify=True).verification.ok          # it has inputs of its own
    program._example_inputs = None                                       # torch 2.6 takes nothing else at program.example_inputs
    with pytest.raises(ValueError, match="needs example inputs"):
        pt2onnx.export(program, verify=True)


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_what_torch_export_gave_is_at_hand(tmp_path):
    result = pt2onnx.export(torch.nn.Linear(3, 4), (ROWS,), dynamo=True, dump_exported_program=True, profile=True, artifacts_dir=str(tmp_path / "art"))
    saved = torch.export.load(tmp_path / "art" / "pt2onnx-program.pt2")
    torch.testing.assert_close(saved.module()(ROWS), result.exported_program.module()(ROWS))
    assert "time, export" in (tmp_path / "art" / "pt2onnx-report.md").read_text()
    assert pt2onnx.export(torch.nn.Linear(3, 4), (ROWS,)).exported_program is None


@pytest.mark.skipif(not TORCH_2, reason="torch 1.13 has no torch.export")
def test_torchs_own_check_takes_the_result():
    pytest.importorskip("onnx_ir", reason="it needs onnxscript")
    from torch.onnx.verification import verify_onnx_program
    result = pt2onnx.export(torch.nn.Linear(3, 4), (ROWS,), dynamo=True)
    found = verify_onnx_program(result)
    assert len(found) == 1 and found[0].max_abs_diff < 1e-5 and result.model.graph.outputs[0].name == result.output_names[0]


def test_only_a_program_of_torch_export_can_be_kept(tmp_path):
    with pytest.raises(RuntimeError, match="dump_exported_program"):
        pt2onnx.export(torch.relu, ROWS, dump_exported_program=True)


def test_a_difference_is_an_error(tmp_path):
    torch.onnx.register_custom_op_symbolic("aten::asinh", lambda g, x: g.op("Sinh", x), 9)
    try:
        with pytest.raises(RuntimeError, match="DIFFERENT\n  y: float32.*OUT OF TOLERANCE"):
            pt2onnx.export(torch.asinh, ROWS, tmp_path / "m.onnx", output_names=["y"], verify=True, report=True)
        assert "OUT OF TOLERANCE" in (tmp_path / "m.md").read_text()
        pt2onnx.export(torch.asinh, ROWS, verify=True, rtol=1e6)
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::asinh", 9)


def test_types_and_shapes_and_nans_count():
    a = ROWS.numpy()
    assert not Output("y", a, a.astype("float64"), 1, 1).ok
    assert not Output("y", a, a[:1], 1, 1).ok
    n = a * float("nan")
    assert Output("y", n, n, 0, 0).ok and not Output("y", n, a, 1, 1).ok
    assert not Output("y", torch.tensor([1, 2]).numpy(), torch.tensor([1, 3]).numpy(), 1, 1).ok


@pytest.mark.filterwarnings("error")
def test_a_number_is_no_infinity():
    for wrong in 5., -float("inf"), float("nan"):
        assert not Output("y", numpy.array([float("inf"), 1.]), numpy.array([wrong, 1.]), 1e-3, 1e-5).ok
    found = Output("y", numpy.array([float("inf"), 1.]), numpy.array([float("inf"), 1.0001]), 1e-3, 1e-5)
    assert found.ok and found.absolute < 1e-3


def test_whole_numbers_are_compared_as_they_are():
    """As doubles, 2 ** 53 and its neighbour are one."""
    assert not Output("y", numpy.array([2 ** 53]), numpy.array([2 ** 53 + 1]), 1, 1).ok


def test_the_report(tmp_path):
    pt2onnx.export(Net(), (ROWS.clone(),), tmp_path / "m.onnx", verify=True, report=True)
    text = (tmp_path / "m.md").read_text()
    assert text.startswith("# Net\n") and "| Gemm | 1 |" in text and "time, export" in text and "largest difference" in text
    result = pt2onnx.export(torch.relu, ROWS, report=True, artifacts_dir=str(tmp_path))
    assert result.report == (tmp_path / "pt2onnx-report.md").read_text() and "Not asked for" in result.report


def test_the_report_goes_where_artifacts_go(tmp_path):
    pt2onnx.export(torch.relu, ROWS, tmp_path / "m.onnx", report=True, artifacts_dir=tmp_path / "pages")
    assert "| Relu | 1 |" in (tmp_path / "pages" / "m.md").read_text() and not (tmp_path / "m.md").exists()


@pytest.mark.skipif(not torch.__file__.isascii(), reason="torch 2.13 is not imported from such a path in an ASCII locale")
def test_the_report_is_utf_8_whatever_the_locale(tmp_path):
    script = ("import sys, torch, pt2onnx\nclass Größe(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
              "pt2onnx.export(Größe(), torch.ones(2), sys.argv[1], report=True)\n")
    (tmp_path / "a.py").write_text(script, encoding="utf-8")
    subprocess.run([sys.executable, str(tmp_path / "a.py"), str(tmp_path / "m.onnx")], check=True,
                   env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.path.dirname(os.path.dirname(pt2onnx.__file__))})
    assert (tmp_path / "m.md").read_text(encoding="utf-8").startswith("# Größe\n")


def test_the_report_of_a_model_with_its_suffix(tmp_path):
    pt2onnx.export(torch.relu, ROWS, tmp_path / "m.md", report=True)
    assert onnx.load(str(tmp_path / "m.md")).graph.node[0].op_type == "Relu"
    assert "| Relu | 1 |" in (tmp_path / "m.md.md").read_text()


def test_an_example_that_was_computed():
    """deepcopy takes no such tensor."""
    x = torch.ones(2, 3, requires_grad=True) * 2
    assert pt2onnx.export(torch.nn.Linear(3, 4), (x,), verify=True).verification.ok


@pytest.mark.parametrize("options", ROADS)
def test_a_text_among_the_outputs(options):
    class Named(torch.nn.Module):
        def forward(self, x):
            return x + 1, "label"
    result = pt2onnx.export(Named(), (ROWS,), verify=True, **options)
    torch.testing.assert_close(result(ROWS)[0], ROWS + 1)


class Sum(torch.nn.Module):
    """Gives another result each time where step is not 0."""
    def __init__(self, step):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)).eval()
        self.calls = itertools.count(step=step)

    def forward(self, x, y):
        return self.net(x.exp()) + y + next(self.calls)


@pytest.mark.parametrize("options", [{"names": "1.13"}, {"export_params": False}, {"weights_type": "float16", "keep_io_types": False, "rtol": 0.01, "atol": 0.01}],
                         ids=["names of 1.13", "weights as inputs", "float16 inputs"])
def test_inputs_that_are_otherwise_than_the_example_are_verified_too(options):
    assert pt2onnx.export(Sum(0), (ROWS, ROWS), verify=True, **options).verification.ok
    with pytest.raises(RuntimeError, match="DIFFERENT"):
        pt2onnx.export(Sum(1), (ROWS, ROWS), verify=True, **options)


@pytest.mark.parametrize("options", [{"names": "1.13"}, {"weights_type": "float16", "keep_io_types": False}], ids=["names of 1.13", "float16 inputs"])
def test_a_model_with_such_inputs_can_be_called(options):
    result = pt2onnx.export(lambda x: (x * 2).exp() + 1, (ROWS,), **options)
    torch.testing.assert_close(result(ROWS)[0].float(), (ROWS * 2).exp() + 1, rtol=0.01, atol=0.01)


def test_a_float32_for_a_float16_is_not_rounded_without_a_word():
    """Only keep_io_types=False has made float16 of the caller's float32."""
    result = pt2onnx.export(lambda x: x * 2, (ROWS.half(),))
    assert result(ROWS.half())[0].dtype == torch.float16
    with pytest.raises(Exception, match="float16"):
        result(ROWS)


class WritesToItsResult(torch.nn.Module):
    """As ReLU(inplace=True) at the end does, and a buffer that is returned."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        y = x * 2
        y += 1
        self.n += 1
        return collections.OrderedDict(y=y, n=self.n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", ROADS)
def test_a_result_that_is_written_to_in_place_is_verified_too(options):
    net = WritesToItsResult()
    assert pt2onnx.export(net, (ROWS,), verify=True, **options).verification.ok
    assert not net.n.any()


@pytest.mark.filterwarnings("ignore")
def test_underscore_export_gives_the_result_and_leaves_the_model():
    from pt2onnx.exporting import underscore_export
    net, x = WritesToItsResult(), ROWS.clone()
    got = underscore_export(net, (x,), io.BytesIO())
    torch.testing.assert_close(got["y"], ROWS * 2 + 1)
    torch.testing.assert_close(got["n"], torch.ones(3))
    assert not net.n.any()
