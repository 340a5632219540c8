"""Every builtin of TorchScript on values that are not tensors, as PyTorch lists them: each overload is called once on concrete values,
all in one program, and gives what torch gives, or is known not to."""
import math
import re

import onnx
import pytest
import torch

from scripted import oracle, refused, same

VALUES = {"int": ["7", "2", "3"], "float": ["0.5", "1.5", "0.25"], "bool": ["1", "0", "1"], "str": ['"a b"', '"xay"', '"a"'], "Scalar": ["7", "2", "3"]}
OTHER_TYPES = re.compile(r"Tensor|Generator|Storage|Stream|__torch__|RRef|Future|Await|QScheme|Layout|MemoryFormat|Dimname|SymInt|Device|Any|Tuple")
REFUSED = {
    "aten::save", "aten::_get_cpu_capability", "prim::AutogradAllNonZero", "prim::AutogradAllZero", "prim::AutogradAnyNonZero", "prim::BailoutTemplate",
    "aten::hash",                       # differs from run to run
    "prim::StringIndex",                                                # no program prints it
    "aten::rpc_sync", "aten::get_autocast_dtype",
}
DIFFERS = {"prim::TimePoint", "aten::is_grad_enabled", "aten::_nnpack_available",       # of the machine, or of training
           "aten::manual_seed", "aten::warn", "prim::Print", "aten::_print"}
# sum(List[complex]) leaves zeros in its list
COMPLEX_FUNCTIONS = re.compile(r"^(aten::(a?cosh?|a?sinh?|a?tanh?|sqrt|log|log10|exp|pow|div|polar|angle|sum))$")


class Program:
    """A TorchScript graph in text, value by value."""
    def __init__(self):
        self.lines, self.types, self.results = [], {}, []

    def node(self, types, call):
        names = ["%%v%d" % (len(self.types) + i) for i in range(len(types))]
        self.types.update(zip(names, types))
        left = ", ".join("%s : %s" % p for p in zip(names, types))
        self.lines.append("  %s%s" % (left + " = " if types else "", call))
        return names

    def value(self, t, k):
        if t in VALUES:
            return self.node(["int" if t == "Scalar" else t], "prim::Constant[value=%s]()" % VALUES[t][k % 3])[0]
        if t == "complex":
            return self.node([t], "aten::Complex(%s, %s)" % (self.value("float", k), self.value("float", k + 1)))[0]
        if t == "None":
            return self.node([t], "prim::Constant()")[0]
        if t.endswith("?"):
            return self.value(t[:-1], k)
        if t.endswith("[]"):
            return self.node([t], "prim::ListConstruct(%s)" % ", ".join(self.value(t[:-2], i) for i in range(3)))[0]
        key, value = t[len("Dict("):-1].split(", ")
        items = [v for i in range(2 if key == "bool" else 3) for v in (self.value(key, i), self.value(value, i + 1))]
        return self.node([t], "prim::DictConstruct(%s)" % ", ".join(items))[0]

    def graph(self, lines, results):
        types = ", ".join(self.types[r] for r in results)
        return torch._C.parse_ir("graph():\n%s\n  %%all : (%s) = prim::TupleConstruct(%s)\n  return (%%all)\n" % ("\n".join(lines), types, ", ".join(results)))


def ir_type(t):
    for python, form in ((r"^List\[(.*)\]$", "%s[]"), (r"^Optional\[(.*)\]$", "%s?")):
        m = re.match(python, t)
        if m:
            return form % ir_type(m.group(1))
    m = re.match(r"^Dict\[(.*), (.*)\]$", t)
    if m:
        return "Dict(%s, %s)" % (ir_type(m.group(1)), ir_type(m.group(2)))
    return {"t": "int", "t1": "int", "t2": "int", "tVal": "int", "number": "Scalar", "NoneType": "None", "AnyEnumType": "int"}.get(t, t)


def schemas():
    for s in torch._C._jit_get_all_schemas():
        types = [str(a.type) for a in list(s.arguments) + list(s.returns)]
        known = s.name.split("::")[0] in ("aten", "prim") and not any(OTHER_TYPES.search(t) for t in types) and "..." not in str(s)
        complex_function = "complex" in str(types) and COMPLEX_FUNCTIONS.match(s.name)
        if known and s.arguments and s.name not in REFUSED | DIFFERS and not complex_function:
            yield s


def add_call(program, schema):
    """The call, its results, and its first argument as it is then. False: torch itself does not take it like this."""
    lines = len(program.lines)
    args = [program.value("int" if a.name == "idx" and i == 1 and "List" in str(schema.arguments[0].type) else ir_type(str(a.type)), i)
            for i, a in enumerate(schema.arguments)]
    results = program.node([ir_type(str(r.type)) for r in schema.returns], "%s(%s)" % (schema.name, ", ".join(args)))
    results = [r for r in results + args[:1] if program.types[r] not in ("None", "Scalar")]
    try:
        made = torch._C._create_function_from_graph("forward", program.graph(program.lines[lines:], results + args[:1]))
        with torch.jit.optimized_execution(False):
            made()
        program.results += results
        return True
    except Exception:
        del program.lines[lines:]
        return False


def leaves(v):
    if isinstance(v, dict):
        v = list(v.values())
    if isinstance(v, (list, tuple)):
        return [x for item in v for x in leaves(item)]
    return [] if v is None else [(v.real, v.imag)] if isinstance(v, complex) else [v]


def test_every_builtin(tmp_path):
    program = Program()
    called = [s for s in schemas() if add_call(program, s)]
    assert len(called) > 350
    made = torch._C._create_function_from_graph("forward", program.graph(program.lines, program.results))
    made.save(str(tmp_path / "all.pt"))
    with torch.jit.optimized_execution(False):
        want = leaves(made())
    oracle.converted(tmp_path / "all.pt", tmp_path / "all.onnx", "-q")
    got = [v.tolist() if hasattr(v, "tolist") else v for v in oracle.session(tmp_path / "all.onnx").run(None, {})]
    got = [tuple(v) if isinstance(v, list) else v for v in got]
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert type(a) is type(b) and (a == pytest.approx(b, rel=1e-12, nan_ok=True) if not isinstance(b, str) else a == b)


class FloatsOfTheRun(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a, b = float(x[0].item()), float(x[1].item())
        q, r = divmod(a, b)
        return a % b, q, r, min(a, b), max(a, b), math.fmod(a, b), a // b


class IntsAndFloatsOfTheRun(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        a, k = float(x[0].item()), int(n.item())
        q, r = divmod(a, k)
        q1, r1 = divmod(k, a)
        q2, r2 = divmod(7, a)
        return q, r, q1, r1, q2, r2


class FunctionsOfTheRun(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a, b = float(x[0].item()), float(x[1].item())
        return (math.atan2(a, b), math.copysign(b, a), math.log(b, 3.0), math.log(b, b + 1), math.log10(b), math.log1p(b), math.expm1(a), math.lgamma(b),
                math.erfc(a), math.degrees(a), math.radians(a))


class FloatsOfTheProgram(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        q, r = divmod(5.5, 0.1)
        q1, r1 = divmod(-1.5, float("inf"))
        q2, r2 = divmod(5, 0.1)
        q3, r3 = divmod(-0.3, 1)
        return x, q, r, q1, r1, 5.5 % 0.1, 5.5 // 0.1, q2, r2, q3, r3


def test_the_rest_of_a_division_of_floats_is_exact(tmp_path):
    """5.5 // 0.1 is 55, and divmod(5.5, 0.1) is (54, 0.0999..)."""
    pairs = [(5.5, 0.1), (-5.5, 0.1), (5.5, -0.1), (1e17, 3.0), (6.0, 3.0), (-6.0, 3.0), (0.0, math.inf), (2.5, math.inf), (-1.5, math.inf), (math.inf, 2.0),
             (math.nan, 1.0), (1.0, math.nan)]
    same(FloatsOfTheRun(), tmp_path, [(torch.tensor(p, dtype=torch.float64),) for p in pairs], "-i", "x:float64[2]")
    mixed = [(torch.tensor([a], dtype=torch.float64), torch.tensor(k)) for a in (0.1, -0.3, 5.5, 1e7) for k in (1, -1, 3, 5)]
    same(IntsAndFloatsOfTheRun(), tmp_path, mixed, "-i", "x:float64[1]", "-i", "n:int64[]")
    same(FloatsOfTheProgram(), tmp_path, [(torch.ones(2),)], "-i", "x:float32[2]")


def test_functions_of_a_number_that_only_the_running_model_knows(tmp_path):
    pairs = [(0.5, 2.5), (-0.5, 0.25), (0.0, 1.5), (-0.0, 3.5), (2.5, 1e-3), (-3.0, 40.0)]
    same(FunctionsOfTheRun(), tmp_path, [(torch.tensor(p, dtype=torch.float64),) for p in pairs], "-i", "x:float64[2]")


class CommonTypes(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, n: int):
        types = [torch.result_type(x, y), torch.result_type(y, x), torch.result_type(x, n), torch.result_type(n, x), torch.result_type(x, 1.5),
                 torch.result_type(y, 1.5), torch.result_type(x > 1, True), torch.result_type(n, 1.5), torch.result_type(1.5, 1j)]
        return types, x.to(types[0])


@pytest.mark.parametrize("x, y", [("int32[2]", "float16[]"), ("float16[2]", "float64[]"), ("float16[2]", "float64[1]"), ("uint8[]", "int64[]")])
def test_the_common_type_of_operands(x, y, tmp_path):
    def ones(spec):
        dtype, _, shape = spec.partition("[")
        return torch.ones([int(n) for n in shape[:-1].split(",") if n], dtype=getattr(torch, dtype))
    same(CommonTypes(), tmp_path, [(ones(x), ones(y), torch.tensor(3))], "-i", "x:" + x, "-i", "y:" + y, "-i", "n:int64[]")


class Bytes(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        wide = x.unsqueeze(0).expand(4, -1, -1)
        return x.itemsize, x.nbytes, x.half().nbytes, wide.nbytes, (x > 0).itemsize, torch.ones([], dtype=torch.complex64).nbytes, x[:0].nbytes


def test_bytes_of_a_tensor(tmp_path):
    """An expanded tensor counts each element as often as it shows it."""
    same(Bytes(), tmp_path, [(torch.ones(n, 3),) for n in (0, 1, 5)], "-i", "x:float32[N,3]")


class MadeOfNumbers(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        a = float(x.item())
        ints = (torch.tensor(n, dtype=torch.float64), torch.as_tensor([n, 9007199254740993], dtype=torch.int64), torch.tensor([True], dtype=torch.float64))
        known = (torch.tensor(0.1, dtype=torch.float64), torch.tensor([[0.1, 16777217.0], [1e51, -1e51]], dtype=torch.float64),
                 torch.as_tensor([1e51, 16777217.0], dtype=torch.int64), torch.tensor([1.0004882813, 1e-60], dtype=torch.float16),
                 torch.tensor([1e-60], dtype=torch.bool), torch.tensor(1e-60, dtype=torch.bool), torch.as_tensor(16777217.0, dtype=torch.int32))
        dynamic = (torch.tensor(a, dtype=torch.int64), torch.as_tensor(a, dtype=torch.float64), torch.tensor([a, 0.1], dtype=torch.float64),
                   torch.as_tensor([[a], [1.5]], dtype=torch.int64), torch.tensor([a * 1e-60], dtype=torch.bool), torch.full([1], a, dtype=torch.float64))
        return ints, known, dynamic, torch.tensor(a), torch.tensor([a])


class TooLarge(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x + torch.tensor(1e51, dtype=torch.float64)


def test_a_tensor_of_floats_is_first_one_of_the_default_type(tmp_path):
    """In a script: torch.tensor(16777217.0, dtype=torch.float64) is 16777216."""
    runs = [(torch.tensor(x, dtype=torch.float64), torch.tensor(16777217)) for x in (16777217.0, 0.1, -2.5)]
    same(MadeOfNumbers(), tmp_path, runs, "-i", "x:float64[]", "-i", "n:int64[]")
    assert "value cannot be converted to type float without overflow" in refused(TooLarge(), tmp_path, "-i", "x:float64[]")


class IntsThroughFloats(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a = int(x.item())
        return (int(float(a)), int(a * 1.0) + 1, math.floor(a / 2), math.ceil(a / 2), math.floor(float(a) + 1.0), int(float(a) - float(a - 1)), int((a % 16) / 4),
                math.ceil(max(a, 0) / 4), int(float(min(max(a, -5), 5))))


class SizesThroughFloats(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        n = x.size(0)
        return torch.zeros(math.floor(n / 2)), torch.zeros(int(float(n)))


def test_an_int_that_passes_through_a_float_loses_what_that_has_not(tmp_path):
    """int(float(2 ** 53 + 1)) is 2 ** 53; a size is never as large, and stays in the shapes."""
    runs = [(torch.tensor(n),) for n in (2 ** 53 + 1, -2 ** 53 - 1, 2 ** 53 + 3, 2 ** 62 + 1, 7, -7, 0)]
    same(IntsThroughFloats(), tmp_path, runs, "-i", "x:int64[]")
    same(SizesThroughFloats(), tmp_path, [(torch.ones(n),) for n in (1, 4, 7)], "-i", "x:float32[N]")
    shapes = [[d.dim_param for d in o.type.tensor_type.shape.dim] for o in onnx.load(str(tmp_path / "model.onnx")).graph.output]
    assert shapes == [["N//2"], ["N"]]


class Sums(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        a = int(x.item())
        return sum([a, 1]), sum([a]), sum([a, a, -1]), sum([a % 16, 3]), sum([1, 2]) + a, sum([2147483647, 1]), sum([float(a), 1.5]), torch.zeros(sum(y.shape))


def test_ints_out_of_data_add_up_in_32_bits(tmp_path):
    runs = [(torch.tensor(n), torch.ones(3, 2)) for n in (2 ** 31 - 1, 2 ** 31, -2 ** 31 - 1, 2 ** 40 + 5, 2 ** 63 - 1, 7, -7, 0)]
    same(Sums(), tmp_path, runs, "-i", "x:int64[]", "-i", "y:float32[N,M]")
    shape = onnx.load(str(tmp_path / "model.onnx")).graph.output[-1].type.tensor_type.shape
    assert [d.dim_param for d in shape.dim] == ["N + M"]


class SumsOfBools(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        a = int(x.item())
        return sum([a > 3, a < 7]), sum([True, False, True]), sum([y.size(0) > 2, True])


def test_bools_out_of_data_add_up_as_ints(tmp_path):
    same(SumsOfBools(), tmp_path, [(torch.tensor(n), torch.ones(abs(n))) for n in (5, 2, 9, -1)], "-i", "x:int64[]", "-i", "y:float32[N]")


class Narrowed(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        n = int(x.item())
        t = torch.tensor([n, n * 2, 5000000000]).to(torch.int32)
        one = torch.tensor(n).to(torch.int32)
        half = one * 2
        return t.to(torch.int64), t + 1, one.to(torch.int64), int(one.item()), half.to(torch.int64), (-one).to(torch.int64), one.to(torch.uint8), one.to(torch.int8), one.to(torch.int16), one.to(torch.bool), torch.zeros(int(torch.tensor(y.size(0)).to(torch.int32)) + 1)


def test_an_int_of_data_wraps_where_it_is_made_narrower(tmp_path):
    """2**31 as int32 is -2**31; a size is never as large, and stays in the shapes."""
    runs = [(torch.tensor(n), torch.ones(3)) for n in (2 ** 31, -2 ** 31, -2 ** 33 - 5, 2 ** 40 + 300, 2 ** 63 - 1, 7, -7, 0)]
    same(Narrowed(), tmp_path, runs, "-i", "x:int64[]", "-i", "y:float32[N]")
    shape = onnx.load(str(tmp_path / "model.onnx")).graph.output[-1].type.tensor_type.shape
    assert [d.dim_param for d in shape.dim] == ["N + 1"]


class AbsoluteTensor(torch.nn.Module):
    def forward(self, x):
        return abs(x), abs(torch.complex(x, x)), abs((x * 3).to(torch.int8))


def test_abs_of_a_tensor(tmp_path):
    same(AbsoluteTensor(), tmp_path, [(torch.tensor([-2.5, 0.0, 3.0]),), (torch.tensor([]),)], "-i", "x:float32[N]")
