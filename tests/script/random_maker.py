"""The programs of random_programs.py: a tree of statements, made from a seed, and its text.

Values are small whole numbers in float32, so every runtime gives the same ones and a comparison decides the same way everywhere. Each seed
turns some kinds of statement off: what goes wrong often needs the rest to be out of its way."""
import random

from random_things import Things
from random_tree import Block, Results, Seq, render
from random_values import BASE, PAGE

KINDS = ("if", "for", "while", "list", "ints", "dict", "optional", "tuple", "object", "method", "state", "return", "break", "view", "write", "alias",
         "mask", "loop_items", "rows", "deep", "nested", "cells", "other", "named", "dict_lists", "strings", "arithmetic", "dtype", "scatter", "calls", "floats",
         "held_state", "unpack", "boxes", "pairs", "choice")


class Maker(Things):
    def __init__(self, seed, exported):
        self.r = random.Random(seed)
        self.exported = exported
        self.kinds = {k for k in KINDS if self.r.random() < 0.75}
        if exported:
            self.kinds -= {"object", "while", "return", "mask", "cells", "strings", "held_state"}
        if "object" not in self.kinds:
            self.kinds -= {"cells", "boxes"}
        self.count = 0
        self.methods = []
        self.budget = self.r.choice([8, 14, 24])
        self.in_loop = 0
        self.frozen = set()             # lists that a loop goes through

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
        if "scatter" in self.kinds and shape and all(isinstance(d, int) for d in shape):
            last = shape[0] - 1
            forms += ["{v}.index_add_(0, torch.tensor([0, %d]), {v}[0:1].expand(2%s) * 1)" % (last, ", -1" * (len(shape) - 1)),
                      "{v}[torch.tensor([%d])] = %d" % (last, k),
                      "{v}.index_copy_(0, torch.tensor([%d]), {v}[0:1] + 1)" % last, "{v}.index_fill_(0, torch.tensor([0]), %d)" % k,
                      "{v}.scatter_(0, torch.zeros_like({v}, dtype=torch.int64)[0:1], %d)" % k, "{v}.index_put_((torch.tensor([%d]),), {v}[0] + 1)" % last,
                      "{v}.masked_scatter_({v} > 1, {v}.flatten() - 1)", "{v}.scatter_add_(0, torch.zeros_like({v}, dtype=torch.int64)[0:1], {v}[0:1] * 1)",
                      "{v}.index_put_(({v} > 1,), torch.tensor(%d.0))" % k, "{v}.swapaxes(0, -1).add_(1)", "{v}.addcmul_({v}, {v}.sign())", "{v}.copy_({v}.flip(0))"]
        if "dtype" in self.kinds:
            forms += ["{v}.copy_(({v} > %d))" % k, "{v}.copy_({v}.long() // 2)", "{v}.remainder_(3)", "{v}.floor_divide_(2)", "{v}.add_({v} > 0)",
                      "{v}.copy_(({v} * 0.5).round())"]
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

    def choice(self, env):
        """A name for one of two tensors, of which the data say which, and a write by that name: in a loop the next iteration may see it."""
        shape = self.pick(BASE, PAGE)
        names = [n for n in self.of(env, "T") if env[n][1] == shape and n not in ("x", "y")]
        if not names:
            return "pass"
        a, other = self.r.choice(names), self.r.choice(names + [self.tensor(env, shape, 1)])
        if shape == BASE and self.r.random() < 0.4:
            a, other, shape = a + "[0]", self.pick(a, other) + "[-1]", PAGE
        name = self.fresh("t")
        forms = ["{e} = {a} if {c} else {b}", "{e} = {b} if {c} else {a}"]
        if not self.exported:
            forms += ["{e} = ({a}, {b})[{n} % 2]", "{e} = [{a}, {b}][{n} % 2]"]
        chosen = self.r.choice(forms).format(e=name, a=a, b=other, c=self.condition(env), n=self.whole(env, 1))
        env[name] = ("T", shape)
        write = "%s.%s" % (name, self.pick("add_(1)", "mul_(2).clamp_(-9, 9)", "copy_(%s)" % self.tensor(env, shape, 1), "neg_()"))
        read = "{0} = {0} + {1}".format("b" if shape == PAGE else "a", a)
        return Seq([chosen, write] + [read] * (self.r.random() < 0.5))

    def statement(self, env, outer):
        options = ["assign"] * 3
        for kind, weight in (("write", 4), ("alias", 1), ("if", 2), ("for", 1), ("while", 1), ("list", 2), ("ints", 1), ("dict", 1), ("optional", 1),
                             ("tuple", 1), ("object", 1),
                             ("state", 1), ("mask", 1), ("rows", 1), ("nested", 2), ("cells", 1), ("other", 1), ("named", 1), ("dict_lists", 1), ("boxes",
                                 2), ("pairs", 1), ("unpack", 1),
                             ("floats", 1), ("strings", 1), ("held_state", 1), ("choice", 2)):
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
        if what == "choice":
            return self.choice(env)
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
        if what == "named" and "nt" in env:
            return self.named(env)
        if what == "dict_lists" and "dl" in env:
            return self.dict_lists(env)
        if what == "boxes" and "box" in env:
            return self.boxes(env)
        if what == "pairs" and "ps" in env:
            return self.pairs(env)
        if what == "unpack" and "n2" in env:
            return self.unpack(env)
        if what == "floats" and "f" in env:
            return self.scalar(env)
        if what == "strings" and "mode" in env:
            return self.text(env)
        if what == "held_state" and "self" in env and self.top:
            return self.held_state(env)
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
            most = "%s %% 5" % self.whole(env, 1) if self.r.random() < 0.5 else "3"       # an iteration may add to what it is
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
            through = "list(%s)" % name if self.kinds & {"other", "nested", "named", "dict_lists", "boxes"} else name       # another name of it may grow: no end
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
            head = "for %s in range(%s):" % (i, self.pick("3", "2", "%s %% 4" % self.whole(env), "1, 4, 2", "2, -1, -1", "%s %% 3, 3" % self.whole(env, 1)))
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
        """Names that the whole function sees, so that branches and loops have something to change."""
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
        shape = self.pick(BASE, PAGE)
        base = "a" if shape == BASE else "b"
        held = [n for n in self.of(env, "L") if env[n][1] == shape]
        ts = held[0] if held and self.r.random() < 0.7 else "[%s, %s + 1]" % (base, base)
        if "named" in self.kinds:
            lines.append("nt = Named(%s, %s, 2)" % (base, ts))
            env["nt"] = ("NT", shape)
        if "dict_lists" in self.kinds:
            lines.append('dl: Dict[str, List[Tensor]] = {"a": %s}' % ts)
            env["dl"] = ("DL", shape)
        if "boxes" in self.kinds:
            shape = env["cell"][1]
            held = [n for n in self.of(env, "L") if env[n][1] == shape]
            lines += ["box = Box(cell, %s)" % (held[0] if held else "[cell.t]"), "box2 = Box(cell2, [cell.t])",
                      "oc: Optional[Cell] = %s" % self.pick("None", "cell")]
            env["box"] = env["box2"] = ("X", shape)
        if "pairs" in self.kinds:
            lines.append("ps: List[Tuple[Tensor, int]] = [(%s, 1), (%s + 1, n0)]" % (base, base))
            env["ps"] = ("LP", BASE if base == "a" else PAGE)
        if "floats" in self.kinds:
            lines.append("f = %s" % self.pick("1.5", "float(n2)", "b.sum().item() / 2" if not self.exported else "0.5"))
            env["f"] = ("F",)
        if "strings" in self.kinds:
            lines.append('mode = "a"')
            env["mode"] = ("S",)
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
        out += ["nt.t", "torch.stack(nt.ts).sum(0)", "nt.n"] if "nt" in env else []
        out += ['torch.stack(dl["a"]).sum(0)', "len(dl)"] if "dl" in env else []
        out += ["box.cell.get()", "torch.stack(box.ts).sum(0)", "box2.cell.t", "oc is None"] if "box" in env else []
        out += ["ps[0][0]", "ps[-1][1]", "len(ps)"] if "ps" in env else []
        out += ["f"] if "f" in env else []
        out += ['1 if mode == "a" else 2'] if "mode" in env else []
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
                body = self.function("def %s(self, x: Tensor, y: Tensor, n: int) -> Tensor:" % name, env, ["a = x", "b = y", "n0 = n"], "return a + b",
                                     self.r.randint(1, 3))
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
