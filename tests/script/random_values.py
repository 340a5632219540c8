"""What random programs compute: tensors, numbers, conditions and views, as texts of expressions. `env` tells what each name is:
("T", shape) a tensor, ("I",) an int, ("B",) a bool, ("L", shape) a list of tensors, ("D", shape) a dict, .."""

BASE, PAGE = ("N", 4, 3), (4, 3)


class Values:
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
        if what == "unary" and "dtype" in self.kinds and self.r.random() < 0.3:
            return self.pick("({}).to(torch.int64).to(torch.float32)", "({} > 1).float()", "({}).to(torch.float64).float()", "({}).int().float()",
                             "(({}).to(torch.int32) // 2).float()",
                             "torch.div({}, 2, rounding_mode='floor')", "({} % 3)", "torch.fmod({}, 2)", "(({}).long() % 5).float()", "({} != 0).to(torch.float32)", "({} // 2)",
                             "torch.where({} > 0, 1, 2).float()", "(({}).long() & 3).float()", "({}).bool().float()").format(self.tensor(env, shape, depth - 1))
        if what == "unary" and "calls" in self.kinds and not self.exported and self.r.random() < 0.3:
            return "bump(%s, %s)" % (self.tensor(env, shape, depth - 1), self.whole(env, 1))
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
        if what == "sum" and "arithmetic" in self.kinds and self.r.random() < 0.5:
            a, b = self.whole(env, depth - 1), self.whole(env, depth - 1)
            return self.pick("({} // %d)" % self.pick(2, 3, -2), "(-{} // 2)", "(-{} %% %d)" % self.pick(2, 3), "abs({} - 3)", "({} * {} %% 11)", "-{}",
                             "({} if {} > 1 else 2)", "int({} > {})",
                             "(({} + 1) // 2)", "int({} / 2)", "(2 ** ({} %% 3))", "({} & 3)", "int({} == {})", "round({} / 2)", "(~{} %% 5)", "({} - {}) // 2").replace("%%", "%").format(a, b)
        if what == "sum" and "calls" in self.kinds and not self.exported and self.r.random() < 0.2:
            return "count(%s, %d)" % (self.whole(env, depth - 1), self.r.randint(1, 5))
        if what == "sum" and "floats" in self.kinds and "f" in env and self.r.random() < 0.3:
            return self.pick("int(f)", "round(f)", "int(f * 2) % 5", "math.floor(f)", "math.ceil(f)", "int(f > 1.5)")
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
        options += ["mode"] * ("mode" in env) + ["float"] * ("f" in env)
        what = self.pick(*options)
        if what == "mode":
            return self.pick('mode == "a"', 'mode != "b"', 'mode in d' if "d" in env else 'mode == "c"')
        if what == "float":
            return self.pick("f > 1.0", "f <= 0.5", "f == 2.0", "0.0 < f < 3.0")
        if what == "data":
            name = self.any_tensor(env)
            return self.pick("bool({0}.sum() > %d)" % self.r.randint(-4, 8), "bool(({0} > %d).any())" % self.r.randint(0, 5),
                             "int({0}.sum().item()) %% %d == 0" % self.r.randint(2, 3),
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
