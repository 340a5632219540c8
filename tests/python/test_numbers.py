"""No number of a program causes undefined behaviour or an internal error: every builtin of the interpreter, whatever stands in a .pt, a .pt2 or a SPEC as a
number, with those numbers at which sums, products, quotients and shifts leave their 64 bits. Each is a whole conversion by a sanitized build, many in one
process (tests/tools/conversions.c). Deterministic: nothing is drawn.
"""
import io
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import zipfile

import numpy
import onnxruntime
import pytest

import oracle
import written_pt2
from conftest import build

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import write_chain                                                  # noqa: E402

MIN, MAX = -2 ** 63, 2 ** 63 - 1
INTS = [MIN, MIN + 1, -2 ** 62, -2 ** 32 - 1, -2 ** 31 - 1, -1, 0, 1, 2, 2 ** 31, 2 ** 32, 2 ** 62, MAX]
FEW_INTS = [MIN, -2 ** 31 - 1, -1, 0, 1, 2 ** 31, MAX]
FLOATS = ["0.", "-0.", "1e+308", "-1e+308", "4.9406564584124654e-324", "float(\"inf\")", "float(\"-inf\")", "float(\"nan\")", "9.2233720368547758e+18"]
FEW_FLOATS = ["0.", "-1e+308", "float(\"inf\")", "float(\"nan\")", "9.2233720368547758e+18"]
BOOLS = ["True", "False"]
TEXTS = ['""', '"é %d%f{}"']
INT_LISTS = ["annotate(List[int], [])", "[1, 2, 3]", "[%d, %d]" % (MIN, MAX), "[%d, %d, -1]" % (MAX, MAX)]
LISTS = [*INT_LISTS, "[float(\"nan\"), float(\"inf\"), -1e+308]", "[\"é\", \"\"]", "[True, False]"]
DICTS = ["{1: 2}", "{%d: 1, %d: 2}" % (MIN, MAX), "{\"é\": 1}"]
TUPLES = ["(1, \"é\")", "(%d, %d, -1e+308)" % (MIN, MAX)]
COMPLEX = ["torch.Complex(1e+308, -1e+308)", "torch.Complex(float(\"nan\"), 0.)"]
SIZE = "torch.size(x, 0)"

# By the word that `pt2onnx ops` has for a kind of argument: all values, and few for rows of three arguments and more.
VALUES = {
    "int": ([*map(str, INTS), SIZE], [*map(str, FEW_INTS), SIZE]), "float": (FLOATS, FEW_FLOATS), "bool": (BOOLS, BOOLS), "str": (TEXTS, TEXTS),
    "number": ([*map(str, INTS), *FLOATS, *BOOLS, SIZE], [*map(str, FEW_INTS), *FEW_FLOATS]), "complex": (COMPLEX, COMPLEX), "list": (LISTS, INT_LISTS),
    "dict": (DICTS, DICTS), "tuple": (TUPLES, TUPLES), "Tensor": (["x"], ["x"]), "device": (['torch.device("cpu")'], ['torch.device("cpu")']),
    "any": (["%d" % MIN, "%d" % MAX, *FEW_FLOATS, *TEXTS, *INT_LISTS, DICTS[1], TUPLES[1], "None", SIZE], ["%d" % MIN, "-1e+308", TEXTS[1], INT_LISTS[2], SIZE]),
}
WORDS = {"aten::Int": "int", "aten::Float": "float", "aten::Bool": "bool"}


def rows():
    """(name, [(kind, may be missing)]) of each builtin, as `pt2onnx ops` lists them."""
    out = subprocess.run([oracle.PROGRAM, "ops"], stdout=subprocess.PIPE, text=True, check=True).stdout
    section, found = "", []
    for line in out.splitlines():
        section = line if not line.startswith(" ") else section
        row = re.fullmatch(r"    (\w+::\w+)\(([\w, =.]*)\)", line)
        if row and section.startswith("builtin_"):
            kinds = [k for k in row.group(2).split(", ") if k]
            found.append((row.group(1), [(k.split("=")[0], "=" in k) for k in kinds]))
    return found


def spelled(name):
    return WORDS.get(name, name.replace("aten::", "torch.").replace("prim::", "ops.prim.").replace("profiler::", "ops.profiler."))


def calls(name, kinds):
    """The row's calls, with all pairs of values, and all triples of few."""
    kinds = [(k, missing) for k, missing in kinds if k != ".."] or ([("any", False)] if kinds else [])
    if "enum" in [k for k, _ in kinds]:
        return
    counts = {len(kinds), sum(not missing for _, missing in kinds)}
    for n in sorted(counts):
        values = [VALUES[k][n > 2] for k, _ in kinds[:n]]
        yield from ("%s(%s)" % (spelled(name), ", ".join(args)) for args in itertools.product(*values))


# ---- programs ----

HEAD = "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  def forward(self: __torch__.net.Net,\n    x: Tensor) -> %s:\n"
FIRST_LINE = HEAD.count("\n") + 1


def archive_of(code):
    """A .pt of the text of a module without attributes."""
    out = io.BytesIO()
    a = write_chain.Archive(out)
    a.root = "net/"
    a.add("data.pkl", write_chain.Pickle().raw(b"c__torch__.net\nNet\n)\x81}(").text("training").raw(b"\x89ub").done())
    a.add("code/__torch__/net.py", code.encode())
    a.add("constants.pkl", b"\x80\x02).")
    a.add("version", b"10\n")
    a.close()
    return out.getvalue()


def archive(body, result="Tensor"):
    """A .pt of these statements."""
    return archive_of(HEAD % result + "".join("    %s\n" % s for s in body))


class Died(Exception):
    pass


class Conversions:
    """Answers of a process that converts archives; another one where a sanitizer has ended it."""
    ENV = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}

    def __init__(self, program, log):
        self.program, self.log, self.process, self.count = program, log, None, 0

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.log, "w"), env=self.ENV)

    def ask(self, data, *specs):
        """(status, message, model). Died: of which no message of pt2onnx tells."""
        self.count += 1
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(("\t".join([str(len(data)), *specs]) + "\n").encode() + data)
            self.process.stdin.flush()
            answer = self.process.stdout.readline().decode(errors="replace")
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.end()
            with open(self.log, errors="replace") as f:
                raise Died(f.read()[:3000])
        status, size, message = answer.rstrip("\n").split(" ", 2)
        return int(status), message.replace("\t", "\n"), self.process.stdout.read(int(size))

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(20)
            self.process = None


@pytest.fixture(scope="module")
def conversions(tmp_path_factory):
    c = Conversions(build("build-asan", "conversions", "-DPT2ONNX_SANITIZE=ON"), str(tmp_path_factory.mktemp("conversions") / "log"))
    yield c
    c.end()


AT_A_TIME = 32                          # expressions of one program; each that is refused ends it, and the rest is a program again


def answers(conversions, expressions):
    """What each expression is, as text, or (status, message) of its refusal, or Died."""
    found, left = [], list(expressions)
    while left:
        part, left = left[:AT_A_TIME], left[AT_A_TIME:]
        found += answers_of_program(conversions, part)
    return found


def answers_of_program(conversions, part):
    body = ["t%d = torch.format(\"{}\", %s)" % (i, e) for i, e in enumerate(part)]
    body += ["ops.prim.RaiseException(torch.join(\"<|>\", [\"<\", %s, \">\"]))" % ", ".join("t%d" % i for i in range(len(part))), "return x"]
    try:
        status, message, _ = conversions.ask(archive(body), "x:float32[N,3]")
    except Died as died:
        return [died] if len(part) == 1 else [a for e in part for a in answers_of_program(conversions, [e])]
    whole = re.search(r"<<\|>(.*)<\|>>", message, re.S)
    if whole:
        return whole.group(1).split("<|>")
    line = re.search(r"net\.py:(\d+)", message)
    at = int(line.group(1)) - FIRST_LINE if line else 0
    if len(part) == 1 or at >= len(part):
        return [(status, message)] if len(part) == 1 else [a for e in part for a in answers_of_program(conversions, [e])]
    before = answers_of_program(conversions, part[:at]) if at else []
    behind = answers_of_program(conversions, part[at + 1:]) if at + 1 < len(part) else []
    return [*before, (status, message), *behind]


def is_refusal(answer):
    """A text, or a message of pt2onnx that is no bug: conversions.c aborts on one."""
    return isinstance(answer, str) or (isinstance(answer, tuple) and (answer[0] == 1 or "over the limit" in answer[1]))


def test_builtins(conversions):
    found, n = [], 0
    for name, kinds in rows():
        expressions = list(calls(name, kinds))
        found += ["%s: %s" % (e, a) for e, a in zip(expressions, answers(conversions, expressions)) if not is_refusal(a)]
        n += len(expressions)
    print("%d calls of builtins" % n)
    assert not found, "%d calls: %s" % (len(found), "\n".join(found[:5]))
    assert n > 30000


# ---- sizes that stay open, in ONNX Runtime against Python's own integers ----

SIZE_OPERATORS = {
    "torch.add": lambda a, b: a + b, "torch.sub": lambda a, b: a - b, "torch.mul": lambda a, b: a * b, "torch.floordiv": lambda a, b: a // b,
    "torch.remainder": lambda a, b: a % b, "ops.prim.min": min, "ops.prim.max": max,
}
SIZE_RELATIONS = {"torch.eq": lambda a, b: a == b, "torch.lt": lambda a, b: a < b, "torch.le": lambda a, b: a <= b}
INNER = [MIN, -2 ** 31 - 1, -1, 2 ** 31, MAX]
SPECS = ["x:float32[N]", "x:float32[N=1..1125899906842624]", "x:float32[N=3..4]"]


class OutOfRange(Exception):
    pass


def in_range(v):
    if not MIN <= v <= MAX:
        raise OutOfRange()
    return v


def sizes():
    """(expression, its value of n; OutOfRange where a step has no 64 bits)."""
    operators = {**SIZE_OPERATORS, **SIZE_RELATIONS}
    for (name, f), v in itertools.product(operators.items(), INTS):
        yield "%s(n, %d)" % (name, v), lambda n, f=f, v=v: in_range(f(n, v))
        yield "%s(%d, n)" % (name, v), lambda n, f=f, v=v: in_range(f(v, n))
    for (inner, f), (outer, g), v, w in itertools.product(SIZE_OPERATORS.items(), operators.items(), INNER, INNER):
        yield "%s(%s(n, %d), %d)" % (outer, inner, v, w), lambda n, f=f, g=g, v=v, w=w: in_range(g(in_range(f(n, v)), w))
        yield "%s(%d, %s(n, %d))" % (outer, w, inner, v), lambda n, f=f, g=g, v=v, w=w: in_range(g(w, in_range(f(n, v))))


def models_of_sizes(conversions, expressions, spec):
    """(model, expressions) of all that are not refused: one model, but for refusals that name no line."""
    while expressions:
        body = ["n = torch.size(x, 0)", *("t%d = %s" % (i, e) for i, (e, _) in enumerate(expressions))]
        body.append("return (x, %s)" % ", ".join("t%d" % i for i in range(len(expressions))))
        status, message, model = conversions.ask(archive(body, "Tuple[Tensor, %s]" % ", ".join(["int"] * len(expressions))), spec)
        if status == 0:
            yield model, expressions
            return
        assert status == 1, message
        line = re.search(r"net\.py:(\d+)", message)
        at = int(line.group(1)) - FIRST_LINE - 1 if line else len(expressions)
        if at >= len(expressions) > 1:
            for e in expressions:
                yield from models_of_sizes(conversions, [e], spec)
            return
        expressions = expressions[:at] + expressions[at + 1:] if at < len(expressions) else []


def is_number(f):
    """Does it give a number where sizes are 3 and 4, without a step that leaves 64 bits?"""
    try:
        return [f(3), f(4)] != []
    except (OutOfRange, ZeroDivisionError):
        return False


def wrong_sizes(model, expressions):
    """Those that ONNX Runtime computes another number of than Python."""
    session, out = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]), []
    for n in (3, 4):
        got = session.run(None, {"x": numpy.zeros(n, numpy.float32)})[1:]
        out += ["%s of %d: %s, not %s" % (e, n, v, f(n)) for (e, f), v in zip(expressions, got) if v != f(n)]
    return out


@pytest.mark.parametrize("spec", SPECS)
def test_sizes(spec, conversions):
    every, wrong, left = list(sizes()), [], 0
    numbers = [e for e in every if is_number(e[1])]
    for some in numbers, [e for e in every if not is_number(e[1])]:
        for i in range(0, len(some), AT_A_TIME):
            for model, converted in models_of_sizes(conversions, some[i:i + AT_A_TIME], spec):
                left += len(converted)
                if some is numbers:
                    wrong += wrong_sizes(model, converted)
    print("%s: %d of %d expressions converted" % (spec, left, len(every)))
    assert not wrong, "%d: %s" % (len(wrong), "\n".join(wrong[:20]))
    assert left > 3000


# ---- numbers of a .pt: sizes, strides, offsets, scales, attributes ----

SAVED = [MIN, -2 ** 62, -2 ** 31 - 1, -1, 0, 1, 4, 7, 2 ** 31, 2 ** 32, 2 ** 62 + 1, MAX, 2 ** 63, 1e308, 5e-324, float("inf"), float("nan"), 0.5]
SAVED_CODE = """\
class Net(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["q", "p", "s", "e"]
  w : Tensor
  q : Tensor
  p : Tensor
  s : Tensor
  e : Tensor
  training : bool
  k : int
  f : float
  l : List[int]
  d : Dict[int, float]
  def forward(self: __torch__.net.Net,
    x: Tensor) -> Tensor:
    y = torch.add(torch.add(x, self.w), CONSTANTS.c0)
    y0 = torch.add(y, torch.dequantize(self.q))
    y1 = torch.add(y0, torch.dequantize(self.p))
    y2 = torch.mul(torch.add(y1, self.s), self.f)
    y3 = torch.add_(torch.clone(self.e), torch.sum(y2))
    l = self.l
    return torch.add(torch.add(y2, torch.sum(y3)), torch.add(self.k, l[1]), alpha=1)
"""


class Numbered(write_chain.Pickle):
    """A pickle whose numbers are counted on, and of which one is another."""
    def __init__(self, counted, at, other):
        super().__init__()
        self.counted, self.at, self.other = counted, at, other

    def number(self, v):
        v = self.other if len(self.counted) == self.at else v
        self.counted.append(v)
        if isinstance(v, float):
            return self.raw(b"G" + struct.pack(">d", v))
        return self.int(v) if MIN <= v <= MAX else self.raw(b"\x8a\x09" + v.to_bytes(9, "little", signed=True))

    def numbers(self, values):
        self.raw(b"(")
        for v in values:
            self.number(v)
        return self.raw(b"t")

    def storage(self, kind, key, numel):
        self.raw(b"(").text("storage").raw(b"ctorch\n%sStorage\n" % kind).text(key).text("cpu").number(numel)
        return self.raw(b"tQ")

    def tensor(self, kind, key, numel, offset, size, stride):
        self.raw(b"ctorch._utils\n_rebuild_tensor_v2\n(").storage(kind, key, numel).number(offset).numbers(size).numbers(stride)
        return self.raw(b"\x89ccollections\nOrderedDict\n)RtR")

    def quantised(self, by_channel):
        self.raw(b"ctorch._utils\n_rebuild_qtensor\n(").storage(b"QInt8", "2", 6).number(0).numbers([2, 3]).numbers([3, 1]).raw(b"(").number(int(by_channel))
        if by_channel:
            self.tensor(b"Double", "3", 2, 0, [2], [1]).tensor(b"Long", "4", 2, 0, [2], [1]).number(0)
        else:
            self.number(0.5).number(1)
        return self.raw(b"t\x89ccollections\nOrderedDict\n)RtR")


def saved(at=None, other=None):
    """A .pt of which number `at` is another one, and how many it has."""
    counted, out = [], io.BytesIO()
    p = Numbered(counted, at, other).raw(b"c__torch__.net\nNet\n)\x81}(")
    p.text("w").tensor(b"Float", "0", 6, 0, [2, 3], [3, 1])
    p.text("q").quantised(False).text("p").quantised(True)
    p.text("s").tensor(b"Float", "0", 6, 1, [2, 3], [1, 0])
    p.text("e").tensor(b"Float", "0", 6, 0, [3], [2])
    p.text("training").raw(b"\x89").text("k").number(3).text("f").number(0.5)
    p.text("l").raw(b"ctorch.jit._pickle\nbuild_intlist\n(](").number(1).number(2).raw(b"etR")
    p.text("d").raw(b"ctorch.jit._pickle\nrestore_type_tag\n(}(").number(1).number(0.5).raw(b"u").text("Dict[int, float]").raw(b"tRub")
    constants = Numbered(counted, at, other).raw(b"(").tensor(b"Float", "0", 6, 0, [2, 3], [3, 1]).raw(b"t")
    version = other if len(counted) == at else 10
    a = write_chain.Archive(out)
    a.root = "net/"
    a.add("data.pkl", p.done())
    a.add("code/__torch__/net.py", SAVED_CODE.encode())
    a.add("constants.pkl", constants.done())
    for name, data in (("constants/0", struct.pack("<6f", *range(6))), ("data/0", struct.pack("<6f", *range(6))), ("data/2", bytes(range(6))),
                       ("data/3", struct.pack("<2d", 0.5, 0.25)), ("data/4", struct.pack("<2q", 0, 1)), ("version", b"%s\n" % str(version).encode())):
        a.add(name, data)
    a.close()
    return out.getvalue(), len(counted) + 1


def refused_or_written(conversions, data, specs, where, found):
    try:
        status, message, _ = conversions.ask(data, *specs)
        if status not in (0, 1, 2, 3):
            found.append("%s: %d %s" % (where, status, message))
    except Died as died:
        found.append("%s: %s" % (where, died))


def test_numbers_of_a_pt(conversions):
    whole, n = saved()
    assert conversions.ask(whole, "x:float32[2,3]")[0] == 0
    found = []
    for at, v in itertools.product(range(n), SAVED):
        refused_or_written(conversions, saved(at, v)[0], ["x:float32[N,3]"], "number %d is %s" % (at, v), found)
    assert not found, "%d: %s" % (len(found), "\n".join(found[:5]))


def test_zero_points_and_axes_that_do_not_fit(conversions):
    """What PyTorch cannot have saved: it would be cut off to the bits of the integers."""
    messages = [conversions.ask(saved(at, v)[0], "x:float32[2,3]")[1] for at in range(saved()[1]) for v in (-129, 7)]
    assert sum("a zero point that is no number of its type" in m for m in messages) == 1
    assert sum("along an axis that it does not have" in m for m in messages) == 1


# ---- numbers of a .pt2 ----

WRITTEN = [MIN, -2 ** 31 - 1, -1, 0, 2 ** 31, MAX, 2 ** 63, "1e308", "1e400", "-0.0"]


def rich_pt2(path):
    """Open sizes, numbers computed of them, views, ints, floats, lists of them."""
    n = written_pt2.symbol("s0")
    arg, g = written_pt2.tensor, written_pt2.Graph({"w": [2, 3], "x": [n, 3]})
    g.sym_size("x", 0, "n", n)
    g.sym("mul", "n", 2, "m", "Mul(Integer(2), %s)" % n)
    g.sym("floordiv", "m", 2, "h", "FloorDiv(Mul(Integer(2), %s), Integer(2))" % n)
    g.op("view.default", [("self", arg("x")), ("size", {"as_sym_ints": [{"as_name": "h"}, {"as_int": 3}]})], "v", [n, 3])
    bounds = [(b, {"as_int": k}) for b, k in (("dim", 0), ("start", 0), ("end", MAX), ("step", 1))]
    g.op("slice.Tensor", [("self", arg("v")), *bounds], "part", [n, 3])
    g.op("select.int", [("self", arg("w")), ("dim", {"as_int": 0}), ("index", {"as_int": 1})], "row", [3])
    g.op("add.Tensor", [("self", arg("part")), ("other", arg("row")), ("alpha", {"as_int": 1})], "a", [n, 3])
    g.op("clamp.default", [("self", arg("a")), ("min", {"as_int": -1}), ("max", {"as_float": 3.5})], "c", [n, 3])
    g.op("sum.dim_IntList", [("self", arg("c")), ("dim", {"as_ints": [1]}), ("keepdim", {"as_bool": False}), ("dtype", {"as_none": True})], "s", [n])
    g.op("expand.default", [("self", arg("row")), ("size", {"as_sym_ints": [{"as_name": "n"}, {"as_int": 3}]})], "e", [n, 3])
    g.op("full.default", [("size", {"as_ints": [2, 3]}), ("fill_value", {"as_float": 1.5}), ("dtype", {"as_scalar_type": 7})], "f", [2, 3])
    strided = [("self", arg("f")), ("size", {"as_ints": [2, 2]}), ("stride", {"as_ints": [3, 1]}), ("storage_offset", {"as_int": 1})]
    g.op("as_strided.default", strided, "st", [2, 2])
    state = [("w", "w", struct.pack("<6f", *range(6)))]
    return written_pt2.write(path, g, ["s", "e", "st"], state=state, ranges={"s0": (0, 1024)})


def places(v, path=()):
    """Where the numbers of a JSON value are: keys, and for one in an expression the characters that it takes."""
    if isinstance(v, str) and "Integer(" in v:
        yield from (path + (m.span(),) for m in re.finditer(r"(?<![\w'])\d+", v))
    elif isinstance(v, (dict, list)):
        for k in v if isinstance(v, dict) else range(len(v)):
            yield from places(v[k], path + (k,))
    elif isinstance(v, (int, float)) and not isinstance(v, bool):
        yield path


def with_number(text, path, number):
    """The JSON text with another number at that place."""
    whole = at = json.loads(text)
    span, keys = (path[-1], path[:-1]) if isinstance(path[-1], tuple) else (None, path)
    for k in keys[:-1]:
        at = at[k]
    if span:
        at[keys[-1]] = at[keys[-1]][:span[0]] + str(number) + at[keys[-1]][span[1]:]
        return json.dumps(whole)
    at[keys[-1]] = "@"
    return json.dumps(whole).replace('"@"', str(number))


def test_numbers_of_a_pt2(conversions, tmp_path):
    with zipfile.ZipFile(rich_pt2(tmp_path / "rich.pt2")) as z:
        files = {name: z.read(name) for name in z.namelist()}

    def changed(name, text):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for other, data in files.items():
                z.writestr(other, text if other == name else data)
        return out.getvalue()

    assert conversions.ask(changed(None, None))[0] == 0
    found, n = [], 0
    for name in (f for f in files if f.endswith(".json")):
        for path, v in itertools.product(list(places(json.loads(files[name]))), WRITTEN):
            refused_or_written(conversions, changed(name, with_number(files[name], path, v)), [], "%s %s is %s" % (name, path, v), found)
            n += 1
    print("%d files" % n)
    assert n > 1000
    assert not found, "%d: %s" % (len(found), "\n".join(found[:5]))


# ---- numbers of a SPEC ----

SPEC_CODE = """\
class Net(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.net.Net,
    x: Tensor,
    xs: List[Tensor],
    d: Dict[int, Tensor],
    k: int=2,
    f: float=0.5,
    l: List[int]=[1, 2],
    o: Optional[int]=None) -> Tensor:
    y = torch.mul(torch.add(torch.reshape(x, [-1]), k, alpha=1), f)
    z = torch.slice(torch.view(torch.repeat(y, [l[0], 1]), [-1]), 0, k, l[1], 1)
    return torch.cat([torch.reshape(z, [-1]), torch.reshape(xs[0], [-1])], 0)
"""
SPEC_NUMBERS = [str(v) for v in (MIN, MIN - 1, -1, 0, 1, 2, 2 ** 31, 2 ** 32, 2 ** 62, MAX, MAX + 1, 10 ** 30)]
SPEC_NUMBERS += ["1e308", "5e-324", "inf", "nan", "1e400", "0.5", "-0.0", "0x10", "", "N"]
SPEC_FORMS = ["x:float32[@,3]", "x:float32[3,@]", "x:float32[N=@..4]", "x:float32[N=1..@]", "x:float32[N=@..]", "x:float32[N=@..@]", "x:float32[N+@]", "@x3", "3x@",
              "@x@x@", "x:float32[@,@,@]", "x:int4[@]", "x:complex128[@,@]", "x:quint8[@]", "x:float@[2]", "k=@", "f=@", "o=@", "l.0=@", "l.1=@", "l.@=2",
              "xs.@:float32[2]", "d.@:float32[2]", "xs.0:float32[@]", "@=2", "@:float32[2]"]


def test_numbers_of_a_spec(conversions):
    data, found = archive_of(SPEC_CODE), []
    for form, v in itertools.product(SPEC_FORMS, SPEC_NUMBERS):
        rest = [s for s in ("x:float32[N,3]", "xs.0:float32[2]", "d.0:float32[2]") if s.split(":")[0].split(".")[0] != form.split(":")[0].split(".")[0]]
        refused_or_written(conversions, data, [form.replace("@", v), *rest], "-i %s" % form.replace("@", v), found)
    assert not found, "%d: %s" % (len(found), "\n".join(found[:5]))


# ---- numbers of constants, limits ----

CONSTANTS = [(b"UInt64", struct.pack("<Q", 2 ** 64 - 1)), (b"UInt64", struct.pack("<Q", 2 ** 62 + 1)), (b"UInt32", struct.pack("<I", 2 ** 32 - 1)), (b"Long", struct.pack("<q", MIN)),
             (b"Float", struct.pack("<f", float("nan"))), (b"Double", struct.pack("<d", 1e308)), (b"Half", struct.pack("<e", 6e4)), (b"Bool", b"\2"), (b"Byte", b"\xff")]
USES = ["int(CONSTANTS.c0)", "float(CONSTANTS.c0)", "bool(CONSTANTS.c0)", "torch.item(CONSTANTS.c0)", "[1, 2, 3][int(CONSTANTS.c0)]", "torch.zeros([int(CONSTANTS.c0)])",
        "torch.to(CONSTANTS.c0, 4)", "torch.select(x, 0, int(CONSTANTS.c0))"]


def with_constant(kind, data, use):
    p, out = write_chain.Pickle(), io.BytesIO()
    p.raw(b"(ctorch._utils\n_rebuild_tensor_v2\n((").text("storage").raw(b"ctorch\n%sStorage\n" % kind).text("0").text("cpu").int(1).raw(b"tQ").int(0)
    p.ints([]).ints([]).raw(b"\x89ccollections\nOrderedDict\n)RtRt")
    with zipfile.ZipFile(io.BytesIO(archive(["ops.prim.RaiseException(torch.format(\"<{}>\", %s))" % use, "return x"]))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, p.done() if name == "net/constants.pkl" else old.read(name))
        new.writestr("net/constants/0", data)
    return out.getvalue()


def test_numbers_in_constants(conversions):
    found = []
    for (kind, data), use in itertools.product(CONSTANTS, USES):
        refused_or_written(conversions, with_constant(kind, data, use), ["x:float32[2,3]"], "%s of %s %s" % (use, kind, data), found)
    assert not found, "%d: %s" % (len(found), "\n".join(found[:5]))
    assert "<%d>" % (2 ** 62 + 1) in conversions.ask(with_constant(*CONSTANTS[1], USES[0]), "x:float32[2,3]")[1]
    assert "does not fit into an int" in conversions.ask(with_constant(*CONSTANTS[0], USES[0]), "x:float32[2,3]")[1]


def test_limits(tmp_path):
    program = build("build-asan", "pt2onnx", "-DPT2ONNX_SANITIZE=ON")
    (tmp_path / "net.pt").write_bytes(archive(["return torch.add(x, 2, alpha=1)"]))
    listed = subprocess.run([oracle.PROGRAM, "limits"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = re.findall(r"^([a-z]+) +\d", listed, re.M)
    assert "depth" in names
    for name, v in itertools.product(names, (2 ** 31 - 1, 2 ** 31, MAX)):
        done = subprocess.run([program, tmp_path / "net.pt", "-o", tmp_path / "net.onnx", "-i", "x:float32[2,3]", "--limit", "%s=%d" % (name, v)], stderr=subprocess.PIPE, text=True)
        assert done.returncode in (0, 2), "%s=%d: %s" % (name, v, done.stderr)
