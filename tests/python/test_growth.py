"""Work grows with the size of the program and no faster: four times the statements, branches, items, slices of one storage
take four times the basic blocks. Programs are written as TorchScript text, so that they may have any size."""
import os
import subprocess
import sys

import onnx
import pytest

import oracle
from conftest import build

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import scaling                                                      # noqa: E402
import write_chain                                                  # noqa: E402

SMALL, LARGE = 250, 1000
MOST = 4.3                              # sorting and the doubling of tables; what grows with the square is far beyond


def forward(*body, result="Tensor", before=""):
    head = before + "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
    return head + "  def forward(self: __torch__.net.Net,\n    x: Tensor) -> %s:\n" % result + "".join("    %s\n" % line for line in body)


def each(n, *lines):
    return [line.replace("@", str(i)) for i in range(n) for line in lines]


CONDITION = "bool(torch.gt(torch.select(torch.select(x, 0, 0), 0, 0), @))"


def nested(n):
    """Branches in branches, as deep as the limit on depth allows. One space a level: with four times the levels the text grows with the
    square, and so do the scopes and places that a node of the innermost branch is looked up in."""
    lines = []
    for i in range(n // 10):
        lines.append(" " * i + "if %s:" % CONDITION.replace("@", str(i)))
    lines.append(" " * (n // 10) + "y = torch.mul(x, 2)")
    for i in reversed(range(n // 10)):
        lines += [" " * i + "else:", " " * i + " y = torch.add(x, %d, alpha=1)" % i]
    return forward(*lines, "return y")


def nested_loops(depth):
    """Loops in loops that ONNX runs, each of as many iterations as the data say."""
    lines = ["y = x"]
    for i in range(depth):
        lines += ["  " * i + line for line in ("for _%d in range(int(torch.select(torch.select(x, 0, %d), 0, 0))):" % (i, i), "  y = torch.add(y, %d, alpha=1)" % i)]
    return forward(*lines, "return y")


def nested_whiles(depth):
    """The same, each written as a while: the first iteration of those inside is known, for the loops around them have as many."""
    lines = ["y = x", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))"]
    for i in range(depth):
        lines += ["  " * i + line for line in ("j%d = 0" % i, "c%d = torch.lt(0, k)" % i, "while c%d:" % i, "  y = torch.add(y, %d, alpha=1)" % i)]
    for i in reversed(range(depth)):
        lines += ["  " * i + "  n%d = torch.add(j%d, 1)" % (i, i), "  " * i + "  c%d, j%d = torch.lt(n%d, k), n%d" % (i, i, i, i)]
    return forward(*lines, "return y")


# What the loops of a nest find out anew each time they are met, unless it is remembered: lines before a level's loop, in it, and behind the loops inside.
LEVELS = {
    "lists": (["l@ = annotate(List[Tensor], [])"], ["_a@ = torch.append(l@, torch.add(x, @, alpha=1))"], ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "one_list": ([], ["_a@ = torch.append(l, torch.add(x, @, alpha=1))"], ["  _b@ = torch.append(l, torch.neg(y))"]),
    "lists_of_steps": (["l@ = annotate(List[Tensor], [])", "h@ = y"], ["h@ = torch.tanh(h@)", "_a@ = torch.append(l@, h@)"], ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "lists_of_tuples": (["l@ = annotate(List[Tuple[Tensor, int]], [])"], ["_a@ = torch.append(l@, (torch.add(x, @, alpha=1), _@))"],
                        ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "lists_of_dicts": (["l@ = annotate(List[Dict[str, Tensor]], [])"], ["_a@ = torch.append(l@, {\"a\": torch.add(x, @, alpha=1)})"],
                       ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "lists_of_lists": (["l@ = annotate(List[List[Tensor]], [])"], ["_a@ = torch.append(l@, [torch.add(x, @, alpha=1), y])"],
                       ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "writes_beside_lists": (["h@ = torch.clone(y)", "l@ = annotate(List[Tensor], [])"], ["_w@ = torch.add_(h@, 1)", "_a@ = torch.append(l@, torch.add(x, @, alpha=1))"],
                            ["y = torch.add(y, torch.len(l@), alpha=1)"]),
    "items_read": (["l@ = [y]"], ["_a@ = torch.append(l@, torch.neg(l@[-1]))"], ["y = torch.add(y, torch.sum(torch.stack(l@, 0)), alpha=1)"]),
    "items": (["l@ = [y, x]"], ["_a@ = torch._set_item(l@, 0, torch.add(l@[0], l@[1]))"], ["y = torch.add(y, l@[0], alpha=1)"]),
    "entries": (["d@ = {\"a\": y, \"b\": x}"], ["torch._set_item(d@, \"a\", torch.add(d@[\"a\"], d@[\"b\"]))"], ["y = torch.add(y, d@[\"a\"], alpha=1)"]),
    "sizes": (["l@ = annotate(List[Tensor], [])", "h@ = y"], ["h@ = torch.cat([h@, x], 0)", "_a@ = torch.append(l@, h@)"], ["y = torch.add(x, torch.len(l@), alpha=1)"]),
    "keys": (["d@ = annotate(Dict[str, Tensor], {})"], ["torch._set_item(d@, \"a\", torch.add(x, @, alpha=1))"], ["y = torch.add(y, torch.len(d@), alpha=1)"]),
    "optionals": (["o@ = annotate(Optional[Tensor], None)"], ["o@ = torch.add(x, @, alpha=1)"],
                  ["if torch.__isnot__(o@, None):", "  y@ = torch.add(y, unchecked_cast(Tensor, o@), alpha=1)", "else:", "  y@ = y", "y = y@"]),
    "strings": (["s@ = \"p\""], ["s@ = \"q\""], ["if torch.eq(s@, \"q\"):", "  y@ = torch.neg(y)", "else:", "  y@ = y", "y = y@"]),
    "names": (["h@ = torch.clone(y)", "g@ = torch.clone(y)"], ["h@, g@ = g@, h@"], ["y = torch.add(y, h@, alpha=1)"]),
    "writes": (["h@ = torch.clone(y)"], ["_w@ = torch.add_(h@, 1)"], ["y = torch.add(y, h@, alpha=1)"]),
}


def nested_levels(depth, before, inside, behind):
    lines = ["y = x", "l = annotate(List[Tensor], [])"]
    for i in range(depth):
        iterations = "for _%d in range(int(torch.select(torch.select(x, 0, %d), 0, 0))):" % (i, i)
        lines += ["  " * i + line.replace("@", str(i)) for line in [*before, iterations, *("  " + line for line in inside)]]
    for i in reversed(range(depth)):
        lines += ["  " * i + line.replace("@", str(i)) for line in behind]
    return forward(*lines, "return torch.add(y, torch.len(l), alpha=1)")


PROGRAMS = {
    "statements": lambda n: forward("y = x", *each(n, "y = torch.where(torch.gt(y, @), y, torch.neg(y))"), "return y"),
    "one_line": lambda n: forward("return torch.cat([%s], 0)" % ", ".join(each(n, "torch.add(x, @, alpha=1)"))),
    "calls": lambda n: forward("y = x", *each(n, "y = __torch__.net.f@(y, )"), "return y",
                               before="".join(each(n, "def f@(x: Tensor) -> Tensor:\n  return torch.add(x, @, alpha=1)\n"))),
    "reads_of_slices": lambda n: forward("y = torch.clone(x)", *each(n, "v@ = torch.select(y, 0, @)"), "_0 = torch.mul_(y, 2)", "z = x",
                                         *each(n, "z = torch.add(z, v@, alpha=1)"), "return z"),
    "writes_to_slices": lambda n: forward("y = torch.clone(x)", *each(n, "_@ = torch.add_(torch.select(y, 0, @), @, alpha=1)"), "return y"),
    "writes_to_views": lambda n: forward("y = torch.clone(x)", *each(n, "v@ = torch.select(y, 0, @)"), *each(n, "_@ = torch.mul_(v@, 2)"), "return y"),
    "slices_of_slices": lambda n: forward("y = torch.clone(x)", "z = y", *each(n, "z = torch.slice(z, 0, 1, 9223372036854775807, 1)"),
                                          "_0 = torch.mul_(z, 2)", "return y"),
    "covering_writes": lambda n: forward("y = torch.zeros([%d, 3])" % n, *each(n, "_@ = torch.copy_(torch.select(y, 0, @), torch.select(x, 0, @))"),
                                         "return y"),
    "branches": lambda n: forward("y = x", *each(n, "if %s:" % CONDITION, "  y@ = torch.mul(y, 2)", "else:", "  y@ = torch.add(y, 1, alpha=1)", "y = y@"),
                                  "return y"),
    "nested_branches": nested,
    "items_in_branches": lambda n: forward("l = annotate(List[Tensor], [])", *each(n, "_@ = torch.append(l, torch.add(x, @, alpha=1))"),
                                           *each(n, "if %s:" % CONDITION, "  _b@ = torch._set_item(l, @, torch.neg(x))", "else:", "  pass"), "return torch.cat(l, 0)"),
    "appends_in_branches": lambda n: forward("l = annotate(List[Tensor], [])", *each(n, "if %s:" % CONDITION, "  _b@ = torch.append(l, torch.neg(x))", "else:",
                                                                                     "  _b@ = torch.append(l, torch.abs(x))"), "return torch.cat(l, 0)"),
    "pops_in_branches": lambda n: forward("l = annotate(List[Tensor], [])", *each(n + 1, "_@ = torch.append(l, torch.add(x, @, alpha=1))"),
                                          *each(n, "if %s:" % CONDITION, "  _b@ = torch.pop(l)", "else:", "  _b@ = torch.neg(torch.pop(l))"), "return torch.cat(l, 0)"),
    "keys_in_branches": lambda n: forward("d = annotate(Dict[int, Tensor], {})", *each(n, "torch._set_item(d, @, torch.add(x, @, alpha=1))"),
                                          *each(n, "if %s:" % CONDITION, "  torch._set_item(d, @, torch.neg(x))", "else:", "  pass"), "y = x",
                                          *each(n, "y = torch.add(y, torch.__getitem__(d, @), alpha=1)"), "return y"),
    "new_keys_in_branches": lambda n: forward("d = annotate(Dict[int, Tensor], {})", *each(n, "if %s:" % CONDITION, "  torch._set_item(d, @, torch.neg(x))", "else:",
                                                                                           "  torch._set_item(d, @, torch.abs(x))"), "y = x",
                                              *each(n, "y = torch.add(y, torch.__getitem__(d, @), alpha=1)"), "return y"),
    "branch_of_many_values": lambda n: forward(*each(n, "v@ = torch.add(x, @, alpha=1)"), "if %s:" % CONDITION.replace("@", "0"),
                                               *each(n, "  v@ = torch.mul(v@, 2)"), "else:", "  pass",
                                               "return torch.cat([%s], 0)" % ", ".join(each(n, "v@"))),
    "kept_loops": lambda n: forward("y = x", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))",
                                    *each(n, "for _@ in range(k):", "  y = torch.add(y, @, alpha=1)"), "return y"),
    "items_in_loops": lambda n: forward("l = annotate(List[Tensor], [])", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))",
                                        *each(n, "_@ = torch.append(l, torch.add(x, @, alpha=1))"),
                                        *each(n, "for _@ in range(k):", "  _b@ = torch._set_item(l, @, torch.neg(l[@]))"), "return torch.cat(l, 0)"),
    "entries_in_loops": lambda n: forward("d = annotate(Dict[int, Tensor], {})", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))",
                                          *each(n, "torch._set_item(d, @, torch.add(x, @, alpha=1))"),
                                          *each(n, "for _@ in range(k):", "  torch._set_item(d, @, torch.neg(d[@]))"), "y = x",
                                          *each(n, "y = torch.add(y, torch.__getitem__(d, @), alpha=1)"), "return y"),
    "large_loops": lambda n: forward("y = x", *each(n, "for _@ in range(1000000):", "  y = torch.add(y, @, alpha=1)"), "return y"),
    "list_of_tensors": lambda n: forward("l = annotate(List[Tensor], [])", *each(n, "_@ = torch.append(l, torch.add(x, @, alpha=1))"),
                                         "return torch.cat(l, 0)"),
    "list_of_ints": lambda n: forward("l = annotate(List[int], [])", "for i in range(%d):" % n, "  _0 = torch.append(l, i)", "s = 0",
                                      "for j in range(torch.len(l)):", "  s = torch.add(s, l[j])", "return torch.add(x, s, alpha=1)"),
    "list_that_changes": lambda n: forward("l = annotate(List[int], [])", "for i in range(%d):" % n, "  torch.insert(l, torch.len(l), i)", "  _0 = torch._set_item(l, i, torch.add(l[i], 1))",
                                           "s = 0", "for j in range(%d):" % n, "  s = torch.add(s, torch.pop(l))", "return torch.add(x, s, alpha=1)"),
    "appends_behind_a_loop": lambda n: forward("l = annotate(List[Tensor], [])", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))", "for i in range(k):",
                                               "  _a = torch.append(l, x)", *each(n, "_@ = torch.append(l, torch.add(x, @, alpha=1))"), "return torch.stack(l, 0)"),
    "lists_of_a_list": lambda n: forward("l = annotate(List[List[Tensor]], [])", "k = int(torch.select(torch.select(x, 0, 0), 0, 0))", "m = annotate(List[Tensor], [])",
                                         "for i in range(k):", "  _a = torch.append(m, x)",
                                         *each(n, "_@ = torch.append(l, torch.add(m, [torch.add(x, @, alpha=1)]))"), "return torch.stack(l[k], 0)"),
    "sorted_pairs": lambda n: forward("l = annotate(List[Tuple[float, int]], [])",
                                      *each(n, "_@ = torch.append(l, (float(torch.select(torch.select(x, 0, @), 0, 0)), @))"), "_s = torch.sort(l)",
                                      "_0, _1, = l[0]", "return torch.add(x, _1, alpha=1)"),
    "dict": lambda n: forward("d = annotate(Dict[int, Tensor], {})", *each(n, "torch._set_item(d, @, torch.add(x, @, alpha=1))"), "y = x",
                              *each(n, "y = torch.add(y, torch.__getitem__(d, @), alpha=1)"), "return y"),
    "unbind": lambda n: forward("l = torch.unbind(x, 0)", "y = l[0]", *each(n, "y = torch.add(y, l[@], alpha=1)"), "return y"),
    "outputs": lambda n: forward("return (%s)" % ", ".join(each(n, "torch.add(x, @, alpha=1)")), result="Tuple[%s]" % ", ".join(["Tensor"] * n)),
    "one_output_often": lambda n: forward("y = torch.relu(x)", "return (%s)" % ", ".join(["y"] * n), result="Tuple[%s]" % ", ".join(["Tensor"] * n)),
    "views_of_dynamic_size": lambda n: forward("y = x", *each(n, "y = torch.relu(torch.view(torch.add(y, @, alpha=1), [torch.size(y, 0), -1]))"), "return y"),
    "views_of_one_size": lambda n: forward("y = torch.sum(x)", *each(n, "v@ = torch.view(torch.add(x, @, alpha=1), [-1, 2])", "y = torch.add(y, torch.sum(v@), alpha=1)"), "return y"),
    "views_of_many_sizes": lambda n: forward("y = torch.sum(x)", *each(n, "i@ = torch.nonzero(torch.gt(x, @))", "v@ = torch.view(i@, [-1, 4])",
                                                                       "y = torch.add(y, torch.sum(v@), alpha=1)"), "return y"),
    "sums_of_many_sizes": lambda n: forward("y = torch.sum(x)", *each(n, "i@ = torch.nonzero(torch.gt(x, @))", "j@ = torch.nonzero(torch.lt(x, @))",
                                                                      "y = torch.add(y, torch.sum(torch.add(i@, j@)), alpha=1)"), "return y"),
    "sizes_of_sizes": lambda n: forward("s = torch.size(x, 0)", *each(n, "s = torch.add(torch.floordiv(s, 2), torch.remainder(s, 3))"), "return torch.add(x, s, alpha=1)"),
    "halves_of_halves": lambda n: forward("y = x", *each(n, "y = torch.slice(y, 0, 0, torch.floordiv(torch.size(y, 0), 2), 1)"), "return y"),
}
SQUARED = {"nested_branches": 4.6}      # of which a part grows with the square
DYNAMIC = {"views_of_dynamic_size", "views_of_one_size", "views_of_many_sizes", "sums_of_many_sizes", "sizes_of_sizes", "halves_of_halves"}


@pytest.fixture(scope="session")
def growth():
    return build("build-asan", "growth", "-DPT2ONNX_SANITIZE=ON")


def write(path, code):
    scaling.save(path, write_chain.Pickle().raw(b"c__torch__.net\nNet\n)\x81}(").text("training").raw(b"\x89ub").done(), code)
    return path


def work(growth, *arguments):
    done = subprocess.run([growth, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 1000, "nothing is counted"
    return int(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, growth, tmp_path):
    sizes = []
    for n in (SMALL, LARGE):
        model = write(str(tmp_path / "net.pt"), PROGRAMS[name](n))
        sizes.append(work(growth, model, tmp_path / "out.onnx", "x:float32[N,3]" if name in DYNAMIC else "x:float32[%d,3]" % n))
    assert sizes[1] <= SQUARED.get(name, MOST) * sizes[0], sizes


@pytest.mark.parametrize("nest, most", [(nested_loops, 16), (nested_whiles, 18)])
def test_nested_loops(nest, most, growth, tmp_path):
    """With the square of their depth, of which Python's text allows 20: what the body of each holds, every level around it looks at. A while
    has a number of its own, which the levels around look at too."""
    works = [work(growth, write(str(tmp_path / "net.pt"), nest(depth)), tmp_path / "out.onnx", "x:float32[20,3]") for depth in (0, 5, 20)]
    assert works[2] - works[0] <= most * (works[1] - works[0]), works


@pytest.mark.parametrize("name", LEVELS)
def test_nested_levels(name, growth, tmp_path):
    """The same where each level changes the kind of something: a list becomes one tensor, None a value."""
    works = [work(growth, write(str(tmp_path / "net.pt"), nested_levels(depth, *LEVELS[name])), tmp_path / "out.onnx", "x:float32[20,3]") for depth in (0, 4, 16)]
    assert works[2] - works[0] <= 20 * (works[1] - works[0]), works


WHOLE = {
    "softmax": ["w = torch.softmax(w, -1)"],
    "cumsum": ["w = torch.cumsum(w, 0)"],
    "product": ["w = torch.matmul(torch.slice(w, 1, 0, 4), torch.slice(w, 0, 0, 4))"],
    "two": ["w = torch.add(torch.triu(w), torch.flip(w, [0]))"],
    "steps": ["w = torch.softmax(torch.mul(torch.softmax(w, -1), 2), 0)"],
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_weight_made_of_one_that_is_computed_whole(name, growth, tmp_path):
    """The steps behind it go through it tile by tile: it is not computed for each tile. Twice the rows and columns, four times the items."""
    sizes = []
    for n in (600, 1200):
        scaling.archive_of_weight(str(tmp_path / "net.pt"), n, n, WHOLE[name] + ["w = torch.add(torch.mul(w, 2), 1)"])
        sizes.append(work(growth, str(tmp_path / "net.pt"), tmp_path / "out.onnx", "x:float32[1,%d]" % n))
        assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 1, "computed by the model"
    assert sizes[1] <= MOST * sizes[0], sizes


def test_steps_that_are_tried(growth, tmp_path):
    """Integers are divided once to see that none of them is a 0: not from the first step on for each of them."""
    sizes = []
    for n in (4, 16):
        lines = ["i = torch.to(torch.mul(w, 1000), 4)"] + n * ["i = torch.remainder(torch.floor_divide(torch.add(torch.mul(i, 3), 7), 2), 1000)"] + ["w = torch.to(i, 6)"]
        scaling.archive_of_weight(str(tmp_path / "net.pt"), 400, 400, lines)
        sizes.append(work(growth, str(tmp_path / "net.pt"), tmp_path / "out.onnx", "x:float32[1,400]"))
        assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 1, "computed by the model"
    assert sizes[1] <= MOST * sizes[0], sizes


def test_steps_that_read_a_weight_twice(growth, tmp_path):
    """Rows and columns scaled in turns (Sinkhorn): each step reads what the one before has made three times, and is computed once."""
    sizes = []
    for n in (20, 40):
        lines = n * ["w = torch.sub(w, torch.logsumexp(w, [1], True))", "w = torch.sub(w, torch.logsumexp(w, [0], True))"]
        scaling.archive_of_weight(str(tmp_path / "net.pt"), 200, 200, lines + ["w = torch.exp(w)"])
        sizes.append(work(growth, str(tmp_path / "net.pt"), tmp_path / "out.onnx", "x:float32[1,200]"))
        assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 1, "computed by the model"
    assert sizes[1] <= MOST / 2 * sizes[0], sizes       # with the square: 4


def test_many_steps_on_a_weight(growth, tmp_path):
    """They are computed one inside the other, as deep as the least stack allows; what comes behind is left to the model."""
    scaling.archive_of_weight(str(tmp_path / "net.pt"), 400, 400, 1000 * ["w = torch.tanh(torch.mul(w, 1.01))"])
    work(growth, str(tmp_path / "net.pt"), tmp_path / "out.onnx", "x:float32[1,400]")
    assert 1000 < len(onnx.load(tmp_path / "out.onnx").graph.node) < 2000


SAID = {
    "operators": ["y@ = torch.foo@(x)"],
    "calls": ["y@ = torch.foo(x)"],
    "branches": ["if %s:" % CONDITION, "  y@ = torch.foo@(x)", "  ops.prim.RaiseException(\"no\")", "else:", "  pass"],
    "not_reached": ["if torch.eq(torch.len([0]), 2):", "  y@ = torch.foo@(x)", "else:", "  pass"],
    "checks": ["if %s:" % CONDITION, "  ops.prim.RaiseException(\"no\")", "else:", "  pass"],
}


@pytest.mark.parametrize("name", SAID)
def test_refusals_and_notes(name, growth, tmp_path):
    """Each is listed once, and no list of those before is searched: operators that nobody knows, and checks that are dropped with a note."""
    sizes = []
    last, refused = ("return x", []) if name == "checks" else ("return torch.bar(x)", ["--refused"])
    for n in (LARGE, 4 * LARGE):
        model = write(str(tmp_path / "net.pt"), forward(*each(n, *SAID[name]), last))
        sizes.append(work(growth, *refused, model, tmp_path / "out.onnx", "x:float32[2,3]"))
    assert sizes[1] <= MOST * sizes[0], sizes


def test_chain_of_modules(growth, tmp_path):
    sizes = []
    for n in (SMALL, LARGE):
        write_chain.write(str(tmp_path / "chain.pt"), n, 2)
        sizes.append(work(growth, str(tmp_path / "chain.pt"), tmp_path / "out.onnx", "x:float32[2,2]"))
    assert sizes[1] <= MOST * sizes[0], sizes


def test_evaluation_that_begins_again(growth, tmp_path):
    """The first layer asks for the shape of x, which nothing tells: what was read of the file until then is there for the next evaluation."""
    write_chain.write(str(tmp_path / "chain.pt"), LARGE, 2)
    told, asked = (work(growth, str(tmp_path / "chain.pt"), tmp_path / "out.onnx", *spec) for spec in (["x:float32[2,2]"], []))
    assert told < asked <= 1.25 * told


@pytest.mark.parametrize("made", [scaling.exported, scaling.wrapped])
def test_pt2(made, growth, tmp_path):
    sizes = []
    for n in (SMALL, LARGE):
        made(str(tmp_path / "net.pt2"), n)
        sizes.append(work(growth, str(tmp_path / "net.pt2"), tmp_path / "out.onnx"))
    assert sizes[1] <= MOST * sizes[0], sizes


def test_modules_as_functions(growth, tmp_path):
    sizes = [work(growth, "--calls", n, tmp_path / "out.onnx") for n in (SMALL, LARGE)]
    model = onnx.load(tmp_path / "out.onnx")
    net, = [f for f in model.functions if f.name == "Net"]
    assert [len(model.functions), len(net.node), len(model.graph.output)] == [2, LARGE, LARGE]
    assert sizes[1] <= MOST * sizes[0], sizes


@pytest.mark.parametrize("named", ["xs.%d", "p%d"])
def test_inputs(named, growth, tmp_path):
    """A -i for each of very many leaves of a list, or parameters."""
    sizes = []
    for n in (SMALL, LARGE):
        names = [named % i for i in range(n)]
        code = forward("return torch.cat(%s, 0)" % ("xs" if named[0] == "x" else "[%s]" % ", ".join(names)))
        code = code.replace("x: Tensor", "xs: List[Tensor]" if named[0] == "x" else ",\n    ".join("%s: Tensor" % name for name in names))
        model = write(str(tmp_path / "net.pt"), code)
        sizes.append(work(growth, model, tmp_path / "out.onnx", *["%s:float32[2]" % name for name in names]))
    assert sizes[1] <= MOST * sizes[0], sizes


def test_more_inputs_than_16_bits_count(tmp_path):
    """66,000 items in one Concat: all of them arrive."""
    n = 66000
    model = write(str(tmp_path / "net.pt"), forward("return torch.cat([%s], 0)" % ", ".join(["x"] * n)))
    oracle.converted(model, tmp_path / "net.onnx", "-i", "x:float32[3]")
    concat, = onnx.load(tmp_path / "net.onnx").graph.node
    assert (concat.op_type, len(concat.input)) == ("Concat", n)
