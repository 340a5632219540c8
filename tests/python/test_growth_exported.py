"""The same of .pt2 archives: four times the nodes, regions, inputs, symbols, guards, states take four times the work."""
import struct

import pytest

from test_growth import LARGE, MOST, SMALL, growth, work            # noqa: F401
from written_pt2 import Graph, graph_arg, size, symbol, tensor, write

SIZES = [2, 3]
FLOATS = struct.pack("<3f", 1, 2, 3)


def number(i):
    return {"as_int": i}


def add(g, x, other, result, sizes=SIZES, **keywords):
    other = number(other) if isinstance(other, int) else tensor(other)
    return g.op("add.Tensor", [("self", tensor(x)), ("other", other)], result, sizes, **keywords)


def chain(path, n):
    g, y = Graph({"x": SIZES}), "x"
    for i in range(n):
        y = add(g, y, i, "a%d" % i, modules="L__self__,,net.Net;L__self___l%d,l%d,net.L" % (i, i))
    return write(path, g, [y], calls=[{"fqn": "l%d" % i, "signature": None} for i in range(n)])


def inputs_and_parameters(path, n):
    g, y = Graph({**{"p%d" % i: [3] for i in range(n)}, **{"x%d" % i: SIZES for i in range(n)}}), "x0"
    for i in range(n):
        y = add(g, add(g, y, "x%d" % i, "a%d" % i), "p%d" % i, "b%d" % i)
    return write(path, g, [y], state=[("p%d" % i, "w.%d" % i, FLOATS) for i in range(n)])


def cond(g, i, xs, depth=1):
    """A cond whose first arm holds the next one."""
    g.op("sum.default", [("self", tensor(xs[0]))], "s%d" % i, [])
    g.op("gt.Scalar", [("self", tensor("s%d" % i)), ("other", number(i))], "c%d" % i, [], 12)
    branches = []
    for k in range(2):
        arm = Graph({x: SIZES for x in xs})
        ys = cond(arm, i + 1, xs, depth - 1) if depth > 1 and k == 0 else xs
        branches.append(("", graph_arg("arm", arm, [add(arm, y, k, "m%d_%d" % (i, j)) for j, y in enumerate(ys)])))
    results = ["r%d_%d" % (i, j) for j in range(len(xs))]
    for r in results:
        g.record(r, SIZES)
    operands = {"as_tensors": [{"name": x} for x in xs]}
    g.node("torch.ops.higher_order.cond", [("", tensor("c%d" % i)), *branches, ("", operands)], [tensor(r) for r in results])
    g.nodes[-1]["is_hop_single_tensor_return"] = False
    return results


def conds(path, n):
    g, y = Graph({"x": SIZES}), "x"
    for i in range(n):
        y, = cond(g, i, [y])
    return write(path, g, [y])


def wide_cond(path, n):
    g = Graph({"x%d" % i: SIZES for i in range(n)})
    return write(path, g, cond(g, 0, g.inputs[:n]))


def while_loop(g, i, xs):
    """Carries a count and xs."""
    count, operands = "k%d" % i, {"k%d" % i: [], **{x: SIZES for x in xs}}
    test, body = Graph(operands), Graph(operands)
    for graph in (g, test, body):
        graph.record(count, [], 5)
    test.op("lt.Scalar", [("self", tensor(count)), ("other", number(5))], "c", [], 12)
    body.op("add.Tensor", [("self", tensor(count)), ("other", number(1))], "k", [], 5)
    carried = [add(body, x, 2, "w%d" % j) for j, x in enumerate(xs)]
    g.record("q%d" % i, [], 5)
    results = ["v%d_%d" % (i, j) for j in range(len(xs))]
    for r in results:
        g.record(r, SIZES)
    g.node("torch.ops.higher_order.while_loop",
           [("", graph_arg("test", test, ["c"])), ("", graph_arg("body", body, ["k", *carried])), ("", {"as_tensors": [{"name": n} for n in operands]}),
            ("", {"as_tensors": []})], [tensor("q%d" % i), *[tensor(r) for r in results]])
    return results


def while_loops(path, n):
    g, y = Graph({"x": SIZES, **{"k%d" % i: [] for i in range(n)}}), "x"
    for i in range(n):
        y, = while_loop(g, i, [y])
    return write(path, g, [y])


def wide_while_loop(path, n):
    g = Graph({"k0": [], **{"x%d" % i: SIZES for i in range(n)}})
    return write(path, g, while_loop(g, 0, g.inputs[1:]))


def symbols(path, n):
    """Sizes, their ranges, a guard on each, and one size that is the sum of all."""
    s = [symbol("s%d" % i) for i in range(n)]
    g = Graph({"x%d" % i: [s[i], 3] for i in range(n)})
    outs = [add(g, "x%d" % i, 1, "a%d" % i, [s[i], 3]) for i in range(n)]
    g.op("cat.default", [("tensors", {"as_tensors": [{"name": o} for o in outs]})], "all", ["Add(%s)" % ", ".join(s), 3])
    return write(path, g, ["all", *outs], ranges={"s%d" % i: (2, 100) for i in range(n)}, guards=["L['x%d'].size()[0] %% 2 == 0" % i for i in range(n)])


def sizes_of_sizes(path, n):
    """Expressions of one symbol, and what is made of them."""
    s0, out = symbol("s0"), []
    g = Graph({"x": [s0, 3]})
    k = g.sym_size("x", 0, "k", s0)
    for i in range(n):
        more = "Add(%s, Integer(%d))" % (s0, i)
        part = "FloorDiv(%s, Integer(%d))" % (more, i + 2)
        d = g.sym("floordiv", g.sym("add", k, i, "a%d" % i, more), i + 2, "d%d" % i, part)
        out.append(g.op("new_zeros.default", [("self", tensor("x")), ("size", {"as_sym_ints": [{"as_name": d}]})], "z%d" % i, [part]))
    return write(path, g, out, ranges={"s0": (2, 100)})


def unbacked(path, n):
    """A number out of the data for each size."""
    g, out = Graph({"x": [n, 3]}), []
    for i in range(n):
        e = "Symbol('u%d', integer=True)" % i
        g.op("select.int", [("self", tensor("x")), ("dim", number(0)), ("index", number(i))], "r%d" % i, [3])
        g.op("sum.default", [("self", tensor("r%d" % i))], "t%d" % i, [])
        g.op("to.dtype", [("self", tensor("t%d" % i)), ("dtype", {"as_scalar_type": 5})], "l%d" % i, [], 5)
        g.ints["u%d" % i] = size(e)
        g.node("torch.ops.aten.item.default", [("self", tensor("l%d" % i))], [{"as_sym_int": {"as_name": "u%d" % i}}])
        out.append(g.op("new_zeros.default", [("self", tensor("x")), ("size", {"as_sym_ints": [{"as_name": "u%d" % i}]})], "z%d" % i, [e]))
    return write(path, g, out, ranges={"u%d" % i: (0, None) for i in range(n)})


def buffer(name, fqn):
    return {"buffer": {"arg": {"name": name}, "buffer_name": fqn, "persistent": True}}


def written_buffers(path, n):
    """In place, and as the signature of a decomposed program says it; inputs that are written too."""
    g = Graph({**{"b%d" % i: [3] for i in range(n)}, **{"x%d" % i: [3] for i in range(n)}})
    writes, y = [], "x0"
    for i in range(n):
        writes.append((add(g, "b%d" % i, 1, "a%d" % i, [3]), {"buffer_mutation": {"arg": {"name": "a%d" % i}, "buffer_name": "buf.%d" % i}}))
        g.op("add_.Tensor", [("self", tensor("x%d" % i)), ("other", number(1))], "w%d" % i, [3])
        y = add(g, y, "w%d" % i, "y%d" % i, [3])
    return write(path, g, [y], state=[("b%d" % i, "buf.%d" % i, FLOATS) for i in range(n)], kinds={"b%d" % i: buffer("b%d" % i, "buf.%d" % i) for i in range(n)},
                 writes=writes)


PROGRAMS = [chain, inputs_and_parameters, conds, wide_cond, while_loops, wide_while_loop, symbols, sizes_of_sizes, unbacked, written_buffers]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program, growth, tmp_path):                        # noqa: F811
    sizes = []
    for n in (SMALL, LARGE):
        sizes.append(work(growth, program(tmp_path / "net.pt2", n), tmp_path / "out.onnx"))
    assert sizes[1] <= MOST * sizes[0], sizes


def test_nested_conds(growth, tmp_path):                            # noqa: F811
    """With the square of their depth, of which the limit on nested JSON allows 28: a graph is looked through before it is read, at every level."""
    sizes = []
    for depth in (5, 20):
        g = Graph({"x": SIZES})
        sizes.append(work(growth, write(tmp_path / "net.pt2", g, cond(g, 0, ["x"], depth)), tmp_path / "out.onnx"))
    assert sizes[1] <= 16 * sizes[0], sizes
