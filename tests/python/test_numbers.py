"""No number of a program causes undefined behaviour or an internal error: every builtin of the interpreter, whatever stands in a .pt, a .pt2 or a SPEC as a
number, with those numbers at which sums, products, quotients and shifts leave their 64 bits. Each is a whole conversion by a sanitized build, many in one
process (tests/tools/conversions.c). Deterministic: nothing is drawn.
"""
import io
import itertools
import os
import re
import subprocess
import sys

import numpy
import onnxruntime
import pytest

import oracle
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


def archive(body, result="Tensor"):
    """A .pt of these statements."""
    out = io.BytesIO()
    a = write_chain.Archive(out)
    a.root = "net/"
    a.add("data.pkl", write_chain.Pickle().raw(b"c__torch__.net\nNet\n)\x81}(").text("training").raw(b"\x89ub").done())
    a.add("code/__torch__/net.py", (HEAD % result + "".join("    %s\n" % s for s in body)).encode())
    a.add("constants.pkl", b"\x80\x02).")
    a.add("version", b"10\n")
    a.close()
    return out.getvalue()


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
