"""Statements of random programs that change lists, dicts, tuples, objects and the model's own state."""
from random_tree import Block, Seq
from random_values import BASE, PAGE, Values


class Things(Values):
    def items(self, env):
        lists = [n for n in self.of(env, "L") if n not in self.frozen]
        if not lists:
            return "pass"
        name = self.r.choice(lists)
        shape = env[name][1]
        t = self.tensor(env, shape)
        what = self.pick("append", "append", "set", "pop", "insert", "extend", "swap", "rebuild", "clear", "take", "reverse", "comprehension", "plus",
                         "slice", "more")
        if what == "more":
            forms = ["{l} += [{t}]", "{l} = {l}[::-1]", "{l} = {l}[:1] + [{t}]", "{l} = [{t}] * 2", "{l} = list({l})", "{l} = {l}.copy()",
                     "{l}.insert(-1, {t})", "{l} = [e for e in {l} if bool(e.sum() > 0)] + [{t}]",
                     "{l} = [{l}[i] + i for i in range(len({l}))]"]
            if "calls" in self.kinds:
                forms += ["{l} = grow({l}, {t})", "grow({l}, {t})", "{l} = longer({l}, {n})"]
            if self.exported:
                forms = [f for f in forms if "bool(" not in f]
            if self.r.random() < 0.2 and self.depth < 3:
                i, e = self.fresh("i"), self.fresh("e")
                inner = dict(env)
                inner[i], inner[e] = ("I",), ("T", shape)
                self.in_loop += 1
                body = self.body(inner, 2)
                self.in_loop -= 1
                return Block(("for %s, %s in zip(range(3), list(%s)):" % (i, e, name), body))
            if not self.exported and self.r.random() < 0.2:
                return Block(("if len(%s) > 1:" % name, ["del %s[%s]" % (name, self.pick("0", "-1"))]))
            return self.r.choice(forms).format(l=name, t=t, n=self.whole(env, 1))
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
        return self.pick("ns.append({n})", "ns[0] = {n}", "ns[-1] += {n}", "ns = ns + [{n}]", "ns.extend([{n}, 1])", "ns.insert(0, {n})", "n0 = ns[-1]",
                         "n0 = sum(ns) % 7", "ns.reverse()",
                         "nn.append([{n}])", "nn[0].append({n})", "nn.append([{n}, 2])", "n0 = len(nn[0])", "n0 = nn[-1][0] % 7", "nn[0] = ns + [1]", "ns = [e + 1 for e in ns]", "ns.sort()",
                         "n0 = max(ns) % 7", "flag = {n} in ns").format(n=n)

    def keys(self, env):
        name = self.r.choice(self.of(env, "D") or ["d"])
        key = self.pick("a", "b", "c")
        t = self.tensor(env, env[name][1], 1)
        return self.key(name, key, t, env)

    def key(self, name, key, t, env):
        what = self.r.randrange(9)
        if what <= 2:
            return '%s["%s"] = %s' % (name, key, t)
        if what == 7:
            forms = ['{d} = {{"a": {t}}}', '{d} = {{"a": {t}, "{k}": {d}["a"]}}', '{d}.update({{"{k}": {t}}})', '{d} = dict({d})', '{d} = {d}.copy()',
                     "a = a + len({d}.keys())"]
            if not self.exported:
                forms += ['{d}.setdefault("{k}", {t})']
            if "calls" in self.kinds:
                forms += ['put({d}, "{k}", {t})', 'b = b + put({d}, "{k}", {t}).sum()']
            if "mode" in env:
                forms += ["{d}[mode] = {t}", '{d}["a"] = {d}[mode] if mode in {d} else {t}', "mode = '{k}'"]
            return self.r.choice(forms).format(d=name, k=key, t=t)
        if what == 8:
            if self.r.random() < 0.4:
                return Block(('if "%s" in %s and len(%s) > 1:' % (self.pick("b", "c"), name, name),
                              [self.pick('%s.pop("b") if "b" in %s else %s["a"]' % (name, name, name), '%s["a"] = %s["a"] * 1' % (name, name))]))
            k, e = self.fresh("k"), self.fresh("e")
            return Block(("for %s, %s in %s.items():" % (k, e, name), [self.pick("b = b + %s.sum()" % e, "n0 = len(%s)" % k, "%s.add_(1)" % e)]))
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
        return Block(("if %s is not None:" % name, [self.pick("a = a + {0}.sum()", "{0}.add_(1)",
            "a.copy_({0} + a)" if env[name][1] == BASE else "a.add_({0})", "b.add_({0}.sum())").format(name)]),
                     ("else:", self.body(env, 1)))

    def pair(self, env):
        name = self.r.choice(self.of(env, "P"))
        if self.r.random() < 0.5:
            return "%s = (%s, %s)" % (name, self.tensor(env, env[name][1]), self.whole(env))
        return self.pick("a, n0 = %s" % name if env[name][1] == BASE else "b, n0 = %s" % name, "%s = (%s[0] + 1, %s[1] + 1)" % (name, name, name),
                         "%s[0].add_(%s[1])" % (name, name))

    def cell(self, env):
        name = self.r.choice(self.of(env, "C"))
        return self.pick("{0}.push({t}, {n})", "{0}.write({n})", "{0}.t = {t}", "{0}.n = {n}", "{0}.t.add_({0}.n)", "{0} = Cell({t}, {n})", "{0} = cell2",
                         "{0}.t[0] = {n}").format(
            name, t=self.tensor(env, env[name][1], 1), n=self.whole(env, 1))

    def nested(self, env):
        """A list of lists, of which two may be one and the same."""
        name = self.r.choice(self.of(env, "LL"))
        shape = env[name][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        forms = ["{l}.append([{t}])", "{l}[0].append({t})", "{l}[-1].insert(0, {t})", "{l}[0] = {l}[-1]", "{l}[-1][0] = {t}", "{l}[0][-1].add_({n})",
                 "{l}[-1][0][0:2][-1] = {n}",
                 "{l} = [[{t}], {l}[0]]", "{l}[{n} % len({l})].append({t})", "n0 = len({l}[-1])", "{l}[0] = [e + 1 for e in {l}[-1]]", "{l}.append({l}[0])"]
        lists = [n for n in self.of(env, "L") if env[n][1] == shape and n not in self.frozen]
        if lists:
            forms += ["{l}.append({x})", "{l}[0] = {x}", "{x} = {l}[-1]", "{x} = {l}[0]"]
        if self.depth < 3 and self.r.random() < 0.2:
            row, item = self.fresh("r"), self.fresh("e")
            inner = dict(env)
            inner[item] = ("T", shape)
            self.in_loop += 1
            body = [self.write(inner), self.assign(inner, inner)]       # a list in it that grew here would grow without end
            self.in_loop -= 1
            return Block(("for %s in list(%s):" % (row, name), [Block(("for %s in list(%s):" % (item, row), body))]))
        return self.r.choice(forms).format(l=name, t=t, n=n, x=self.r.choice(lists) if lists else "")

    def cells(self, env):
        name = self.r.choice(self.of(env, "LC"))
        forms = ["{0}.append(Cell({t}, {n}))", "{0}[0].push({t}, {n})", "{0}[-1].write({n})", "{0}[-1] = cell", "cell = {0}[0]", "{0}[-1].t = {t}",
                 "{0}[0].n += {n}", "{0}.append({0}[0])",
                 "{0}[{n} % len({0})].n = {n}", "{0}.reverse()", "{0} = [cell2, {0}[0]]"]
        if self.r.random() < 0.2:
            item = self.fresh("c")
            return Block(("for %s in list(%s):" % (item, name), ["%s.%s" % (item, self.pick("n += 1", "write(1)",
                "push(b.sum(), 1)" if env[name][1] == PAGE else "push(a, 1)"))]))
        return self.r.choice(forms).format(name, t=self.tensor(env, env[name][1], 1), n=self.whole(env, 1))

    def named(self, env):
        shape = env["nt"][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        lists = [n for n in self.of(env, "L") if env[n][1] == shape and n not in self.frozen]
        forms = ["nt = Named({t}, nt.ts, {n})", "nt.ts.append({t})", "nt = Named(nt.t + 1, [{t}], nt.n)", "nt.t.add_(1)", "n0 = nt.n % 7",
                 "nt.ts[0] = nt.t", "nt = Named({t}, nt.ts + [{t}], nt.n + 1)"]
        if lists:
            forms += ["nt = Named(nt.t, {x}, {n})", "{x} = nt.ts"]
        return self.r.choice(forms).format(t=t, n=n, x=self.r.choice(lists) if lists else "")

    def dict_lists(self, env):
        shape = env["dl"][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        lists = [n for n in self.of(env, "L") if env[n][1] == shape and n not in self.frozen]
        forms = ['dl["a"].append({t})', 'dl["a"][0] = {t}', 'dl["{k}"] = [{t}]', 'dl["{k}"] = dl["a"]', 'n0 = len(dl["a"]) % 7',
                 'dl["a"] = dl["a"] + [{t}]', 'dl["a"][-1].add_({n})', 'dl = {{"a": dl["a"]}}',
                 'dl = {{"a": [{t}]}}']
        if lists:
            forms += ['dl["{k}"] = {x}', '{x} = dl["a"]']
        return self.r.choice(forms).format(t=t, n=n, k=self.pick("a", "b"), x=self.r.choice(lists) if lists else "")

    def boxes(self, env):
        shape = env["box"][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        lists = [n for n in self.of(env, "L") if env[n][1] == shape and n not in self.frozen]
        cells = [n for n in self.of(env, "C") if env[n][1] == shape]
        forms = ["box.cell.push({t}, {n})", "box.cell.t = {t}", "box.ts.append({t})", "box.fill({t})", "box.cell = Cell({t}, {n})",
                 "box = Box(box.cell, [{t}])", "box.maybe = box.cell", "box.maybe = None",
                 "box.ts = box.ts + [{t}]", "box.ts[0].add_(1)", "box2 = box", "box = box2", "box2.cell = box.cell", "box2.ts = box.ts", "box.cell.write({n})"]
        if cells:
            forms += ["box.cell = {c}", "{c} = box.cell", "{c} = box.swap({c})", "box.maybe = {c}", "oc = {c}", "oc = None", "oc = box.cell"] * 2
        if lists:
            forms += ["box.ts = {x}", "{x} = box.ts"]
        if self.r.random() < 0.2:
            return Seq(["m = box.maybe", Block(("if m is not None:", [self.pick("m.n += 1", "m.t = %s" % t, "m.write(1)")]))])
        if cells and self.r.random() < 0.2:
            return Block(("if oc is not None:", [self.pick("oc.n += 1", "oc.t = %s" % t, "oc.write(1)")]), ("else:", ["oc = %s" % self.r.choice(cells)]))
        return self.r.choice(forms).format(t=t, n=n, c=self.r.choice(cells) if cells else "", x=self.r.choice(lists) if lists else "")

    def pairs(self, env):
        """A list of tuples of a tensor and a number."""
        shape = env["ps"][1]
        t, n = self.tensor(env, shape, 1), self.whole(env, 1)
        if self.depth < 3 and self.r.random() < 0.2:
            e, k = self.fresh("e"), self.fresh("n")
            inner = dict(env)
            inner[e], inner[k] = ("T", shape), ("I",)
            self.in_loop += 1
            body = self.body(inner, 2)
            self.in_loop -= 1
            return Block(("for %s, %s in list(ps):" % (e, k), body))
        return self.pick("ps.append(({t}, {n}))", "ps[0] = ({t}, {n})", "ps[-1][0].add_({n})", "ps = ps + [ps[0]]", "n0 = ps[-1][1] % 7", "ps.reverse()",
                         "ps = [(e + 1, n + 1) for e, n in ps]",
                         "ps = [({t}, {n})]", "ps.insert(0, ps[-1])").format(t=t, n=n)

    def unpack(self, env):
        pairs = [(p, q) for p in self.of(env, "T") for q in self.of(env, "T") if p < q and env[p] == env[q] and p not in ("x", "y") and q not in ("x", "y")]
        ints = [n for n in self.of(env, "I") if n in ("n0", "n2")]
        if pairs and self.r.random() < 0.6:
            p, q = self.r.choice(pairs)
            return self.pick("{p}, {q} = {q}, {p}", "{p}, {q} = {q}, {p} + 1", "{p} = {q} = {p} + {q}").format(p=p,
                q=q) if self.exported or self.r.random() < 0.8 else "%s, %s = %s, %s" % (q, p, p, q)
        if len(ints) == 2:
            return self.pick("n0, n2 = n2 % 7, n0 % 7", "n0, n2 = n0 + 1, n0 % 5")
        name = self.fresh("u")
        env[name], env[name + "v"] = ("T", PAGE[1:]), ("T", PAGE[1:])
        return "%s, %sv, _, _ = b.unbind(0)" % (name, name)

    def scalar(self, env):
        n = self.whole(env, 1)
        return self.pick("f = {n} / 2", "f = f + {n}", "f = f * 0.5", "f = -f", "f = float({n})", "f = max(f, 0.5)", "a = a + f", "b.add_(f)",
                         "f = b.sum().item() / 4" if not self.exported else "f = f - 1",
                         "n0 = int(f) % 7", "f = abs(f - 1.5)", "f = f if f < 4.0 else 1.0").format(n=n)

    def text(self, env):
        return self.pick('mode = "a"', 'mode = "b"', 'mode = "b" if %s else "a"' % self.condition(env), 'mode = "c"', 'n0 = 1 if mode == "a" else 2',
                         "flag = mode == 'b'")

    def held_state(self, env):
        t, n = self.tensor(env, PAGE, 1), self.whole(env, 1)
        return self.pick("self.hs[0] = {t}", "self.hs[-1].add_(1)", "self.hs = [{t}, self.hs[0]]", "self.hd['a'] = {t}", "self.hd['a'].add_({n})",
                         "b = b + self.hs[0]", "b = self.hd['a']", "self.hd['b'] = {t}",
                         "self.hs.reverse()", "self.flag = not self.flag", "a = a + 1 if self.flag else a", "self.f = self.f * 0.5 + {n}", "self.on = {t}", "self.on = None").format(t=t, n=n)

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
