"""The programs of random_programs.py: a tree of statements, made from a seed, and its text.

Values are small whole numbers in float32, so every runtime gives the same ones and a comparison decides the same way everywhere. Each seed
turns some kinds of statement off: what goes wrong often needs the rest to be out of its way."""
import random

KINDS = ("if", "for", "while", "list", "ints", "dict", "optional", "tuple", "object", "method", "state", "return", "break", "view", "write", "alias",
         "mask", "loop_items", "rows", "deep", "nested", "cells", "other")
HEAD = """from typing import Dict, List, Optional, Tuple
import torch
from torch import Tensor

"""
CELL = """
class Cell:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n

    def push(self, u: Tensor, n: int):
        self.t = torch.maximum(self.t, u)
        self.n += n

    def write(self, n: int):
        self.t.add_(n)

    def get(self) -> Tensor:
        return self.t + self.n

"""


class Block:
    """Headers with a body each: if and else, for, while, def."""
    def __init__(self, *parts):
        self.parts = [[head, body] for head, body in parts]

    def lines(self, indent):
        out = []
        for head, body in self.parts:
            first, *rest = head.split("\n")                # a while counts its trips in what nobody takes away
            out += [indent + first] + [indent + "    " + line for line in rest]
            out += render(body, indent + "    ") or [indent + "    pass"]
        return out


def render(nodes, indent):
    out = []
    for node in nodes:
        out += [indent + node] if isinstance(node, str) else node.lines(indent)
    return out


BASE, PAGE = ("N", 4, 3), (4, 3)


class Maker:
    def __init__(self, seed, exported):
        self.r = random.Random(seed)
        self.exported = exported
        self.kinds = {k for k in KINDS if self.r.random() < 0.75}
        if exported:
            self.kinds -= {"object", "while", "return", "mask", "cells"}
        if "object" not in self.kinds:
            self.kinds.discard("cells")
        self.count = 0
        self.methods = []
        self.budget = self.r.choice([8, 14, 24])
        self.in_loop = 0
        self.frozen = set()             # lists that a loop goes through

    # ---- names and choices ----

    def fresh(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def pick(self, *choices):
        return self.r.choice(choices)

    def of(self, env, kind):
        return [n for n, t in env.items() if t[0] == kind]

    # ---- expressions ----

    def tensor(self, env, shape, depth=2):
        names = [n for n, t in env.items() if t == ("T", shape)]
        options = ["var"] * 3
        if depth > 0:
            options += ["unary", "binary", "number", "int"]
            if shape in (BASE, PAGE):
                options += [k for k in ("list", "dict", "optional", "tuple", "object", "method", "state", "nested", "cells") if k in self.kinds]
            if shape == BASE:
                options.append("broadcast")
        what = self.pick(*options)
        if what == "unary":
            return self.pick("({}).neg()", "({}).abs()", "torch.relu({})", "({}).clone()", "({}).clamp(-3.0, 3.0)", "({}).round()").format(
                self.tensor(env, shape, depth - 1))
        if what == "binary":
            a, b = self.tensor(env, shape, depth - 1), self.tensor(env, shape, depth - 1)
            return self.pick("({} + {})", "({} - {})", "torch.maximum({}, {})", "({} * {}).clamp(-9.0, 9.0)", "torch.where({0} > {1}, {1}, {0})").format(a, b)
        if what == "number":
            return "(%s + %d)" % (self.tensor(env, shape, depth - 1), self.r.randint(-3, 3))
        if what == "int":
            return "(%s + %s)" % (self.tensor(env, shape, depth - 1), self.whole(env, 1))
        if what == "broadcast":
            return "(%s + %s)" % (self.tensor(env, BASE, depth - 1), self.tensor(env, PAGE, depth - 1))
        found = self.part(env, shape, what) if what != "var" else None
        if found:
            return found
        if names:
            return self.r.choice(names)
        return "torch.zeros_like(%s)" % self.r.choice([n for n, t in env.items() if t == ("T", shape)]) if names else self.made(env, shape)

    def made(self, env, shape):
        sizes = ", ".join("x.size(0)" if d == "N" else str(d) for d in shape)
        if all(isinstance(d, int) or d == "N" for d in shape):
            return "torch.full([%s], %d.0)" % (sizes, self.r.randint(-2, 4))
        return None

    def part(self, env, shape, what):
        """A tensor that something else holds."""
        if what == "state" and shape == PAGE and "self" in env:
            return "self.s"
        if what == "list":
            lists = [n for n, t in env.items() if t == ("L", shape)]
            if lists:
                return self.pick("{0}[0]", "{0}[-1]", "torch.stack({0}).sum(0)", "{0}[%s %% len({0})]" % self.whole(env, 1)).format(self.r.choice(lists))
        if what == "dict":
            dicts = [n for n, t in env.items() if t == ("D", shape)]
            if dicts:
                return '%s["%s"]' % (self.r.choice(dicts), "a")
        if what == "optional":
            maybe = [n for n, t in env.items() if t == ("O", shape)]
            if maybe:
                return "orelse(%s, %s)" % (self.r.choice(maybe), self.tensor(env, shape, 0))
        if what == "nested":
            rows = [n for n, t in env.items() if t == ("LL", shape)]
            if rows:
                return self.pick("{0}[0][0]", "{0}[-1][0]", "total({0})", "{0}[%s %% len({0})][-1]" % self.whole(env, 1)).format(self.r.choice(rows))
        if what == "cells":
            rows = [n for n, t in env.items() if t == ("LC", shape)]
            if rows:
                return self.pick("{0}[0].t", "{0}[-1].get()", "{0}[%s %% len({0})].t" % self.whole(env, 1)).format(self.r.choice(rows))
        if what == "tuple":
            tuples = [n for n, t in env.items() if t == ("P", shape)]
            if tuples:
                return "%s[0]" % self.r.choice(tuples)
        if what == "object":
            cells = [n for n, t in env.items() if t == ("C", shape)]
            if cells:
                return self.pick("%s.t", "%s.get()") % self.r.choice(cells)
        if what == "method" and "self" in env and shape == BASE and self.methods:
            name = self.r.choice(self.methods)
            return "self.%s(%s, %s, %s)" % (name, self.tensor(env, BASE, 0), self.tensor(env, PAGE, 0), self.whole(env, 1))
        return None

    def any_tensor(self, env):
        names = self.of(env, "T")
        return self.r.choice(names)

    def staged(self, env):
        """A number that the data decide."""
        name = self.any_tensor(env)
        return self.pick("int({0}.sum().item())", "int({0}.max().item())" if env[name][1] in (BASE, PAGE) else "int({0}.sum().item())",
                         "int(({0} > 1).sum())").format(name)

    def whole(self, env, depth=2):
        names = self.of(env, "I")
        options = ["number"] + ["name"] * 3 * bool(names)
        if depth > 0:
            options += ["sum", "mod"] + ["size", "data"] * (not self.exported) + ["len"] * ("list" in self.kinds) + ["tuple"] * ("tuple" in self.kinds)
        what = self.pick(*options)
        if what == "name":
            return self.r.choice(names)
        if what == "sum":
            return self.pick("({} + {})", "({} - {})", "max({}, {})", "min({}, {})").format(self.whole(env, depth - 1), self.whole(env, depth - 1))
        if what == "mod":
            return "(%s %% %d)" % (self.whole(env, depth - 1), self.r.randint(2, 5))
        if what == "size":
            return "x.size(0)"
        if what == "data":
            return "(%s %% %d)" % (self.staged(env), self.r.randint(2, 5))
        if what == "len" and (self.of(env, "L") or self.of(env, "LI")):
            return "len(%s)" % self.r.choice(self.of(env, "L") + self.of(env, "LI"))
        if what == "tuple" and self.of(env, "P"):
            return "%s[1]" % self.r.choice(self.of(env, "P"))
        return str(self.r.randint(0, 4))

    def condition(self, env):
        options = ["int"]
        if not self.exported:
            options += ["data"] * 4 + ["size", "both"]
        options += ["flag"] * bool(self.of(env, "B")) + ["none"] * bool(self.of(env, "O")) + ["key"] * bool(self.of(env, "D"))
        what = self.pick(*options)
        if what == "data":
            name = self.any_tensor(env)
            return self.pick("bool({0}.sum() > %d)" % self.r.randint(-4, 8), "bool(({0} > %d).any())" % self.r.randint(0, 5), "int({0}.sum().item()) %% %d == 0" % self.r.randint(2, 3),
                             "bool({0}.sum() <= {1}.sum())").format(name, self.any_tensor(env))
        if what == "size":
            return "x.size(0) %s %d" % (self.pick(">", "<", "==", "!="), self.r.randint(1, 3))
        if what == "both":
            return "(%s) %s (%s)" % (self.condition(env), self.pick("and", "or"), self.condition(env))
        if what == "flag":
            return self.pick("%s", "not %s") % self.r.choice(self.of(env, "B"))
        if what == "none":
            return "%s is %sNone" % (self.r.choice(self.of(env, "O")), self.pick("", "not "))
        if what == "key":
            return '"%s" %s %s' % (self.pick("a", "b", "c"), self.pick("in", "not in"), self.r.choice(self.of(env, "D")))
        return "%s %s %s" % (self.whole(env), self.pick(">", "<", "==", "<=", "!="), self.whole(env, 1))

    # ---- views ----

    def view(self, name, shape):
        """(text, shape, writable) of a view of `name`."""
        rank = len(shape)
        fixed = [i for i, d in enumerate(shape) if isinstance(d, int) and d > 1]
        options = ["unsqueeze", "detach"]
        if rank:
            options += ["select", "slice_open"]
        if fixed:
            options += ["slice", "narrow", "chunk", "split", "unbind", "step", "select_last"]
        if rank > 1:
            options += ["transpose"] * 2 + ["flatten", "permute", "index", "ellipsis", "reshape", "diagonal", "contiguous"]
        if any(d == 1 for d in shape):
            options += ["squeeze", "expand"]
        what = self.pick(*options)
        axis = self.r.randrange(rank) if rank else 0
        without = shape[:axis] + shape[axis + 1:]
        size = shape[axis] if rank else 1
        if what == "unsqueeze":
            axis = self.r.randint(0, rank)
            return "%s.unsqueeze(%d)" % (name, axis), shape[:axis] + (1,) + shape[axis:], True
        if what == "detach":
            return self.pick("%s.detach()", "%s.view_as(%s)" % ("%s", name)) % name, shape, True
        if what == "select":
            at = self.pick(0, -1)
            return self.pick("%s.select(%d, %d)" % (name, axis, at), "%s[%s%d]" % (name, ":, " * axis, at)), without, True
        if what == "index":
            return "%s[%s]" % (name, ", ".join(self.pick("0", "-1") for _ in range(2))), shape[2:], True
        if what == "ellipsis":
            return "%s[..., %d]" % (name, self.pick(0, -1)), shape[:-1], True
        if what == "slice_open":
            return "%s[%s1:]" % (name, ":, " * axis), shape[:axis] + ((size - 1) if isinstance(size, int) else size + "-1",) + shape[axis + 1:], True
        if what in ("slice", "narrow", "chunk", "split", "unbind", "step", "select_last"):
            axis = self.r.choice(fixed)
            size = shape[axis]
            before, behind, lead = shape[:axis], shape[axis + 1:], ":, " * axis
            if what == "slice":
                a = self.r.randrange(size)
                b = self.r.randint(a + 1, size)
                return "%s[%s%d:%d]" % (name, lead, a, b), before + (b - a,) + behind, True
            if what == "narrow":
                return "%s.narrow(%d, 1, %d)" % (name, axis, size - 1), before + (size - 1,) + behind, True
            if what == "step":
                return "%s[%s::2]" % (name, lead), before + ((size + 1) // 2,) + behind, True
            if what == "chunk" and size == 4:
                return "%s.chunk(2, %d)[%d]" % (name, axis, self.pick(0, 1)), before + (2,) + behind, True
            if what == "split":
                return "%s.split([1, %d], %d)[1]" % (name, size - 1, axis), before + (size - 1,) + behind, True
            if what == "unbind":
                return "%s.unbind(%d)[%d]" % (name, axis, self.r.randrange(size)), before + behind, True
            return "%s.select(%d, %d)" % (name, axis, size - 1), before + behind, True
        if what == "transpose":
            a, b = self.r.sample(range(rank), 2)
            out = list(shape)
            out[a], out[b] = out[b], out[a]
            return "%s.transpose(%d, %d)" % (name, a, b), tuple(out), True
        if what == "permute":
            order = self.r.sample(range(rank), rank)
            return "%s.permute(%s)" % (name, ", ".join(map(str, order))), tuple(shape[i] for i in order), True
        if what == "contiguous":
            return "%s.contiguous()" % name, shape, True
        if what in ("flatten", "reshape"):
            at = self.r.randrange(rank - 1)
            pair = shape[at:at + 2]
            if all(isinstance(d, int) for d in pair):
                out = shape[:at] + (pair[0] * pair[1],) + shape[at + 2:]
                if what == "reshape" and all(isinstance(d, int) for d in out):
                    return "%s.reshape(%s)" % (name, ", ".join(map(str, out))), out, True
                return "%s.flatten(%d, %d)" % (name, at, at + 1), out, True
        if what == "diagonal":
            a, b = self.r.sample(range(rank), 2)
            if isinstance(shape[a], int) and isinstance(shape[b], int):
                return ("%s.diagonal(0, %d, %d)" % (name, a, b), tuple(d for i, d in enumerate(shape) if i not in (a, b)) + (min(shape[a], shape[b]),), True)
        if what in ("squeeze", "expand"):
            axis = shape.index(1)
            if what == "squeeze":
                return "%s.squeeze(%d)" % (name, axis), shape[:axis] + shape[axis + 1:], True
            return "%s.expand(%s)" % (name, ", ".join("2" if i == axis else "-1" for i in range(rank))), shape[:axis] + (2,) + shape[axis + 1:], False
        return "%s.unsqueeze(0)" % name, (1,) + shape, True

    def views(self, name, shape, most):
        text, ok = name, True
        if "deep" in self.kinds and self.r.random() < 0.3:
            most += 2
        for _ in range(self.r.randint(0, most) if "view" in self.kinds else 0):
            text, shape, can = self.view(text, shape)
            ok = ok and can
        return text, shape, ok

    # ---- statements ----

    def write(self, env):
        name = self.any_tensor(env)
        if "state" in self.kinds and "self" in env and self.r.random() < 0.2:
            text, shape, ok = self.views("self.s", PAGE, 2)
        elif "list" in self.kinds and self.of(env, "L") and self.r.random() < 0.2:
            name = self.r.choice(self.of(env, "L"))
            text, shape, ok = self.views(name + self.pick("[0]", "[-1]"), env[name][1], 2)
        elif "dict" in self.kinds and self.of(env, "D") and self.r.random() < 0.2:
            name = self.r.choice(self.of(env, "D"))
            text, shape, ok = self.views(name + '["a"]', env[name][1], 2)
        else:
            text, shape, ok = self.views(name, env[name][1], 2)
        if not ok:
            return "%s = %s" % (self.fresh("z"), text)
        k = self.r.randint(-3, 3)
        forms = ["{v}.add_(%d)" % k, "{v}.mul_(2).clamp_(-9, 9)", "{v}.fill_(%d)" % k, "{v}.zero_()", "{v}.neg_()", "{v}.copy_({v}.abs())", "{v}.add_({n})",
                 "{v}.sub_({s}.sum())", "{v}.masked_fill_({v} > 2, %d)" % k, "{v}.clamp_(-2, 3)", "torch.add({v}, 1, out={v})", "{v}.copy_({v} + 1)"]
        if shape in (BASE, PAGE):
            forms += ["{v}.copy_(%s)" % self.tensor(env, shape, 1), "{v}.add_(%s)" % self.tensor(env, shape, 1)] * 2
        if shape:
            forms += ["{v}[...] = %d" % k, "{v}[0] = {n}" if shape[0] not in ("N-1",) else "{v}[:1] = {n}", "{v}[{v} > 1] = %d" % k, "{v}[0:1] = {v}[0:1] + 1"]
        if text.isidentifier():
            forms += ["{v} += %d" % k, "{v} -= {n}"]
        return self.r.choice(forms).format(v=text, n=self.whole(env, 1), s=self.any_tensor(env))

    def assign(self, env, outer):
        """Another value for a name, or a new name."""
        what = self.pick("tensor", "tensor", "int", "new", "new_int", "flag")
        if what == "tensor":
            names = [n for n in self.of(env, "T") if env[n][1] in (BASE, PAGE) and n not in ("x", "y")]
            if names:
                name = self.r.choice(names)
                return "%s = %s" % (name, self.tensor(env, env[name][1]))
        if what == "int":
            names = [n for n in self.of(env, "I") if not n.startswith("i")]
            if names:
                return "%s = %s" % (self.r.choice(names), "%s %% 7" % self.whole(env))
        if what == "flag" and self.of(env, "B"):
            return "%s = %s" % (self.r.choice(self.of(env, "B")), self.condition(env))
        if what == "new_int":
            name, text = self.fresh("n"), self.whole(env)
            env[name] = ("I",)
            return "%s = %s" % (name, text)
        name = self.fresh("t")
        if "view" in self.kinds and self.r.random() < 0.6:
            source = self.any_tensor(env)
            text, shape, ok = self.views(source, env[source][1], 2)
            if ok:
                env[name] = ("T", shape)
            return "%s = %s" % (name, text)
        shape = self.pick(BASE, PAGE)
        text = self.tensor(env, shape)
        env[name] = ("T", shape)
        return "%s = %s" % (name, text)

    def alias(self, env):
        names = [n for n in self.of(env, "T") if n not in ("x", "y")]
        a = self.r.choice(names)
        same = [n for n in self.of(env, "T") if env[n] == env[a] and n != a]
        return "%s = %s" % (a, self.r.choice(same)) if same else "pass"

    def items(self, env):
        lists = [n for n in self.of(env, "L") if n not in self.frozen]
        if not lists:
            return "pass"
        name = self.r.choice(lists)
        shape = env[name][1]
        t = self.tensor(env, shape)
        what = self.pick("append", "append", "set", "pop", "insert", "extend", "swap", "rebuild", "clear", "take", "reverse", "comprehension", "plus", "slice")
        if what == "append":
            return "%s.append(%s)" % (name, t)
        if what == "set":
            return "%s[%s] = %s" % (name, self.pick("0", "-1", "%s %% len(%s)" % (self.whole(env, 1), name)), t)
        if what == "pop":
            return Block(("if len(%s) > 1:" % name, ["%s.pop(%s)" % (name, self.pick("", "0", "-1"))]))
        if what == "insert":
            return "%s.insert(0, %s)" % (name, t)
        if what == "extend":
            return "%s.extend([%s, %s])" % (name, t, self.tensor(env, shape, 1))
        if what == "rebuild":
            return "%s = [%s, %s]" % (name, t, self.tensor(env, shape, 1))
        if what == "plus":
            return "%s = %s + [%s]" % (name, name, t)
        if what == "slice":
            return "%s = %s[%s:] + [%s]" % (name, name, self.pick("0", "1"), t)
        if what == "take":
            got = self.fresh("t")
            env[got] = ("T", shape)
            return "%s = %s[%s]" % (got, name, self.pick("0", "-1"))
        if what == "reverse":
            return "%s.reverse()" % name
        if what == "comprehension":
            return "%s = [e + %s for e in %s]" % (name, self.pick("1", "e.sum()"), name)
        return "%s[0] = %s[-1]" % (name, name)

    def ints(self, env):
        n = self.whole(env)
        return self.pick("ns.append({n})", "ns[0] = {n}", "ns[-1] += {n}", "ns = ns + [{n}]", "ns.extend([{n}, 1])", "ns.insert(0, {n})", "n0 = ns[-1]", "n0 = sum(ns) % 7", "ns.reverse()",
                         "nn.append([{n}])", "nn[0].append({n})", "nn.append([{n}, 2])", "n0 = len(nn[0])", "n0 = nn[-1][0] % 7", "nn[0] = ns + [1]", "ns = [e + 1 for e in ns]", "ns.sort()",
                         "n0 = max(ns) % 7", "flag = {n} in ns").format(n=n)

    def keys(self, env):
        name = self.r.choice(self.of(env, "D") or ["d"])
        key = self.pick("a", "b", "c")
        t = self.tensor(env, env[name][1], 1)
        return self.key(name, key, t, env)

    def key(self, name, key, t, env):
        what = self.r.randrange(7)
        if what <= 2:
            return '%s["%s"] = %s' % (name, key, t)
        if what == 3:
            return Block(('if "%s" in %s:' % (key, name), ['%s["%s"] = %s["%s"] + 1' % (name, key, name, key)]))
        if what == 4:
            return Block(('if "%s" in %s:' % (key, name), ['a = a + %s["%s"]' % (name, key)]))
        if what == 5:
            return "n0 = len(%s)" % name
        return Block(('if "%s" in %s:' % (self.pick("b", "c"), name), ['%s["a"] = %s["a"] - 1' % (name, name)]), ("else:", ['%s["%s"] = %s' % (name, key, t)]))

    def optional(self, env):
        name = self.r.choice(self.of(env, "O"))
        what = self.r.randrange(4)
        if what == 0:
            return "%s = None" % name
        if what == 1:
            return "%s = %s" % (name, self.tensor(env, env[name][1]))
        return Block(("if %s is not None:" % name, [self.pick("a = a + {0}.sum()", "{0}.add_(1)", "a.copy_({0} + a)" if env[name][1] == BASE else "a.add_({0})", "b.add_({0}.sum())").format(name)]),
                     ("else:", self.body(env, 1)))

    def pair(self, env):
        name = self.r.choice(self.of(env, "P"))
        if self.r.random() < 0.5:
            return "%s = (%s, %s)" % (name, self.tensor(env, env[name][1]), self.whole(env))
        return self.pick("a, n0 = %s" % name if env[name][1] == BASE else "b, n0 = %s" % name, "%s = (%s[0] + 1, %s[1] + 1)" % (name, name, name), "%s[0].add_(%s[1])" % (name, name))

    def cell(self, env):
        name = self.r.choice(self.of(env, "C"))
        return self.pick("{0}.push({t}, {n})", "{0}.write({n})", "{0}.t = {t}", "{0}.n = {n}", "{0}.t.add_({0}.n)", "{0} = Cell({t}, {n})", "{0} = cell2", "{0}.t[0] = {n}").format(
            name, t=self.tensor(env, env[name][1], 1), n=self.whole(env, 1))

    def nested(self, env):
        """A list of lists, of which two may be one and the same."""
        name = self.r.choice(self.of(env, "LL"))
        shape = env[name][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        forms = ["{l}.append([{t}])", "{l}[0].append({t})", "{l}[-1].insert(0, {t})", "{l}[0] = {l}[-1]", "{l}[-1][0] = {t}", "{l}[0][-1].add_({n})", "{l}[-1][0][0:2][-1] = {n}",
                 "{l} = [[{t}], {l}[0]]", "{l}[{n} % len({l})].append({t})", "n0 = len({l}[-1])", "{l}[0] = [e + 1 for e in {l}[-1]]", "{l}.append({l}[0])"]
        lists = [n for n in self.of(env, "L") if env[n][1] == shape and n not in self.frozen]
        if lists:
            forms += ["{l}.append({x})", "{l}[0] = {x}", "{x} = {l}[-1]", "{x} = {l}[0]"]
        if self.depth < 3 and self.r.random() < 0.2:
            row, item = self.fresh("r"), self.fresh("e")
            inner = dict(env)
            inner[item] = ("T", shape)
            self.in_loop += 1
            body = self.body(inner, 2)
            self.in_loop -= 1
            return Block(("for %s in list(%s):" % (row, name), [Block(("for %s in list(%s):" % (item, row), body))]))
        return self.r.choice(forms).format(l=name, t=t, n=n, x=self.r.choice(lists) if lists else "")

    def cells(self, env):
        name = self.r.choice(self.of(env, "LC"))
        forms = ["{0}.append(Cell({t}, {n}))", "{0}[0].push({t}, {n})", "{0}[-1].write({n})", "{0}[-1] = cell", "cell = {0}[0]", "{0}[-1].t = {t}", "{0}[0].n += {n}", "{0}.append({0}[0])",
                 "{0}[{n} % len({0})].n = {n}", "{0}.reverse()", "{0} = [cell2, {0}[0]]"]
        if self.r.random() < 0.2:
            item = self.fresh("c")
            return Block(("for %s in list(%s):" % (item, name), ["%s.%s" % (item, self.pick("n += 1", "write(1)", "push(b.sum(), 1)" if env[name][1] == PAGE else "push(a, 1)"))]))
        return self.r.choice(forms).format(name, t=self.tensor(env, env[name][1], 1), n=self.whole(env, 1))

    def other(self, env):
        """Another name for a list or a dict."""
        names = [(a, b) for a, b in (("xs", "ys"), ("ys", "xs"), ("d", "d0"), ("d0", "d")) if a in env and b in env and a not in self.frozen]
        return "%s = %s" % self.r.choice(names) if names else "pass"

    def state(self, env):
        t, n = self.tensor(env, PAGE, 1), self.whole(env, 1)
        forms = ["self.s.add_(%s)" % t, "self.s[0] = %s" % n, "self.s.copy_(%s)" % t, "b = b + self.s", "self.s.neg_()"]
        if not self.exported:
            forms += ["self.k += 1", "self.k = %s %% 7" % n, "self.s = %s" % t, "n0 = self.k", "b = self.s"]
        return self.r.choice(forms)

    def statement(self, env, outer):
        options = ["assign"] * 3
        for kind, weight in (("write", 4), ("alias", 1), ("if", 2), ("for", 1), ("while", 1), ("list", 2), ("ints", 1), ("dict", 1), ("optional", 1), ("tuple", 1), ("object", 1),
                             ("state", 1), ("mask", 1), ("rows", 1), ("nested", 2), ("cells", 1), ("other", 1)):
            if kind in self.kinds:
                options += [kind] * weight
        if "break" in self.kinds and self.in_loop and not self.exported:
            options += ["break"] * 2
        if "return" in self.kinds and self.returns:
            options.append("return")
        what = self.pick(*options)
        deep = self.depth >= 3
        if what == "write":
            return self.write(env)
        if what == "alias":
            return self.alias(env)
        if what == "if" and not deep:
            parts = [("if %s:" % self.condition(env), self.body(env))]
            if self.r.random() < 0.3:
                parts.append(("elif %s:" % self.condition(env), self.body(env)))
            if self.r.random() < 0.7:
                parts.append(("else:", self.body(env)))
            return Block(*parts)
        if what in ("for", "rows", "while") and not deep:
            return self.loop(env, what)
        if what == "list" and self.of(env, "L"):
            return self.items(env)
        if what == "ints" and "ns" in env:
            return self.ints(env)
        if what == "dict" and self.of(env, "D"):
            return self.keys(env)
        if what == "optional" and self.of(env, "O"):
            return self.optional(env)
        if what == "tuple" and self.of(env, "P"):
            return self.pair(env)
        if what == "object" and self.of(env, "C"):
            return self.cell(env)
        if what == "nested" and self.of(env, "LL"):
            return self.nested(env)
        if what == "cells" and self.of(env, "LC"):
            return self.cells(env)
        if what == "other":
            return self.other(env)
        if what == "state" and "self" in env and self.top:
            return self.state(env)
        if what == "mask":
            name = self.any_tensor(env)
            return "b = b + %s[%s > %d].sum()" % (name, name, self.r.randint(-1, 4))
        if what == "break":
            return Block(("if %s:" % self.condition(env), [self.pick("break", "continue")]))
        if what == "return":
            return Block(("if %s:" % self.condition(env), self.body(env, 1) + [self.returns]))
        return self.assign(env, outer)

    def loop(self, env, what):
        i = self.fresh("i")
        inner = dict(env)
        self.in_loop += 1
        if what == "while":
            n = self.fresh("w")
            most = "%s %% 5" % self.whole(env, 1) if self.r.random() < 0.5 else "3"       # a trip may add to what it is
            if self.r.random() < 0.3:
                head = "while True:\nif %s >= %s or (%s):\n    %s\n%s += 1" % (n, most, self.condition(env), "break", n)
            else:
                head = "while %s < %s and (%s):\n%s += 1" % (n, most, self.condition(env), n)
            body = self.body(inner)
            self.in_loop -= 1
            return Seq(["%s = 0" % n, Block((head, body))])
        lists = [n for n in self.of(env, "L") if env[n][1] in (BASE, PAGE)]
        if what == "for" and lists and "loop_items" in self.kinds and self.r.random() < 0.4:
            name, item = self.r.choice(lists), self.fresh("e")
            inner[item] = ("T", env[name][1])
            newly = name not in self.frozen
            through = "list(%s)" % name if self.kinds & {"other", "nested"} else name       # another name of it may grow: no end
            self.frozen.add(name)
            if self.r.random() < 0.4:
                inner[i] = ("I",)
                head = "for %s, %s in enumerate(%s):" % (i, item, through)
            else:
                head = "for %s in %s:" % (item, through)
            body = self.body(inner)
            if newly:
                self.frozen.discard(name)
        elif what == "rows" and not self.exported:
            inner[i] = ("I",)
            row = self.fresh("t")
            inner[row] = ("T", PAGE)
            source = self.pick(*[n for n in self.of(env, "T") if env[n][1] == BASE])
            head = "for %s in range(%s.size(0)):" % (i, source)
            body = ["%s = %s[%s]" % (row, source, i)] + self.body(inner)
        else:
            inner[i] = ("I",)
            head = "for %s in range(%s):" % (i, self.pick("3", "2", "%s %% 4" % self.whole(env)))
            body = self.body(inner)
        self.in_loop -= 1
        return Block((head, body))

    def body(self, env, most=4):
        self.depth += 1
        inner, out = dict(env), []
        for _ in range(self.r.randint(1, most)):
            if self.budget > 0:
                self.budget -= 1
                out.append(self.statement(inner, env))
        self.depth -= 1
        return out

    # ---- the whole ----

    def start(self, env):
        """Names that the whole function sees, so that arms and loops have something to change."""
        lines = ["a = x * 1", "b = y + 1", "n0 = 1", "n2 = %s" % ("int(y.sum().item()) % 4" if not self.exported else "2")]
        env.update({"a": ("T", BASE), "b": ("T", PAGE), "n0": ("I",), "n2": ("I",)})
        lines.append("flag = %s" % ("bool(y.sum() > 2)" if not self.exported else "True"))
        env["flag"] = ("B",)
        if "list" in self.kinds:
            shape = self.pick(BASE, PAGE)
            lines.append("xs: List[Tensor] = [%s]" % self.pick("a, a + 1" if shape == BASE else "b, b + 1", "a.clone()" if shape == BASE else "b.clone()"))
            env["xs"] = ("L", shape)
            if "other" in self.kinds:
                lines.append("ys = %s" % self.pick("xs", "[%s]" % ("x + 2" if shape == BASE else "y + 2")))
                env["ys"] = ("L", shape)
        if "nested" in self.kinds:
            shape = self.pick(BASE, PAGE)
            inner = [n for n in self.of(env, "L") if env[n][1] == shape]
            lines.append("ls: List[List[Tensor]] = [[%s], %s]" % (("a", "[a, a + 1]") if shape == BASE else ("b", "[b + 1]")) if not inner else
                         "ls = [%s, [%s]]" % (inner[0], "a" if shape == BASE else "b"))
            env["ls"] = ("LL", shape)
        if "ints" in self.kinds:
            lines += ["ns: List[int] = [1, 2]", "nn: List[List[int]] = [[1], [2, 3]]"]
            env["ns"] = ("LI",)
        if "dict" in self.kinds:
            shape = self.pick(BASE, PAGE)
            lines.append('d: Dict[str, Tensor] = {"a": %s}' % ("a" if shape == BASE else "b"))
            env["d"] = ("D", shape)
            if "other" in self.kinds:
                lines.append("d0 = d")
                env["d0"] = ("D", shape)
        if "optional" in self.kinds:
            shape = self.pick(BASE, PAGE)
            lines.append("o: Optional[Tensor] = %s" % self.pick("None", "x + 1" if shape == BASE else "y + 1"))
            env["o"] = ("O", shape)
        if "tuple" in self.kinds:
            shape = self.pick(BASE, PAGE)
            lines.append("p = (%s, n0)" % ("a" if shape == BASE else "b"))
            env["p"] = ("P", shape)
        if "object" in self.kinds:
            shape = self.pick(BASE, PAGE)
            lines += ["cell = Cell(%s, 1)" % ("a" if shape == BASE else "b"), "cell2 = Cell(%s, 2)" % ("x + 0" if shape == BASE else "y + 0")]
            env["cell"] = env["cell2"] = ("C", shape)
            if "cells" in self.kinds:
                lines.append("cs = [cell, %s]" % self.pick("cell2", "Cell(%s, 3)" % ("a + 1" if shape == BASE else "b")))
                env["cs"] = ("LC", shape)
        return lines

    def results(self, env):
        out = ["a", "b", "n0", "n2"]
        out += ["torch.stack(xs).sum(0)", "len(xs)"] if "xs" in env else []
        out += ["sum(ns)", "len(nn)", "sum(nn[0])"] if "ns" in env else []
        out += ['d["a"]', 'd["b"] if "b" in d else d["a"]', "len(d)"] if "d" in env else []
        out += ["orelse(o, %s)" % ("a" if env["o"][1] == BASE else "b")] if "o" in env else []
        out += ["torch.stack(ys).sum(0)"] if "ys" in env else []
        out += ["total(ls)", "len(ls)", "ls[-1][-1]"] if "ls" in env else []
        out += ['d0["a"]'] if "d0" in env else []
        out += ["cs[0].get()", "cs[-1].t", "len(cs)"] if "cs" in env else []
        out += ["p[0]", "p[1]"] if "p" in env else []
        out += ["cell.get()", "cell2.get()"] if "cell" in env else []
        out += ["x", "y"]
        return out

    def function(self, head, env, lines, returns, statements):
        self.depth, self.returns = 0, returns
        self.top = "forward" in head
        body = list(lines)
        for _ in range(statements):
            body.append(self.statement(env, env))
        return Block((head, body))

    def program(self):
        """(the tree of its functions, its last line)"""
        out = []
        if "method" in self.kinds:
            for i in range(self.r.randint(1, 2)):
                env = {"x": ("T", BASE), "y": ("T", PAGE), "n": ("I",), "a": ("T", BASE), "b": ("T", PAGE), "n0": ("I",)}
                name = "m%d" % i
                self.budget = self.r.choice([3, 6])
                body = self.function("def %s(self, x: Tensor, y: Tensor, n: int) -> Tensor:" % name, env, ["a = x", "b = y", "n0 = n"], "return a + b", self.r.randint(1, 3))
                body.parts[0][1].append("return %s" % self.pick("a + b", "a", "x"))
                out.append(body)
                self.methods.append(name)
        env = {"self": ("self",), "x": ("T", BASE), "y": ("T", PAGE)}
        self.budget = self.r.choice([8, 14, 24])
        start = self.start(env)
        results = Results(self.results(env))
        body = self.function("def forward(self, x: Tensor, y: Tensor):", env, start, results, self.r.randint(3, 10))
        more = [n for n in self.of(env, "T") if n not in ("a", "b", "x", "y")] if not any(self.has_return(n) for n in body.parts[0][1]) else []
        body.parts[0][1].append(Results(results.items, results.dropped, more))
        out.append(body)
        return out

    def has_return(self, node):
        return any("return" in line for line in render([node], ""))


class Seq:
    """Statements that belong together."""
    def __init__(self, nodes):
        self.nodes = nodes

    def lines(self, indent):
        return render(self.nodes, indent)


class Results:
    """What forward returns, wherever it does. `dropped`: what it does not, any more."""
    def __init__(self, items, dropped=None, more=()):
        self.items, self.more, self.dropped = items, list(more), set() if dropped is None else dropped

    def lines(self, indent):
        left = [t for t in self.items + self.more if t not in self.dropped]
        return [indent + "return " + ", ".join(left or ["x"])]


def source(tree, exported):
    lines = [HEAD, CELL] if not exported else [HEAD]
    lines += ["def orelse(o: Optional[Tensor], a: Tensor) -> Tensor:", "    if o is not None:", "        return o", "    return a", "", ""]
    lines += ["def total(rows: List[List[Tensor]]) -> Tensor:", "    out = rows[0][0] + 0", "    for row in rows:", "        for e in row:", "            out = out + e",
              "    return out", "", ""]
    lines += ["class Net(torch.nn.Module):", "    def __init__(self):", "        super().__init__()", '        self.register_buffer("s", torch.tensor([[1.0, 0.0, 2.0]] * 4))', "        self.k = 1", ""]
    for function in tree:
        lines += function.lines("    ") + [""]
    return "\n".join(lines)
