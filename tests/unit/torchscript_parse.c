/* The parser of TorchScript's code language: what it makes of each form, what it refuses, and that
 * printing what was parsed and parsing that gives the same. */
#include "unit/test.h"

#include "front/front.h"
#include "base/limits.h"

static CodeFile *parse(Ctx *cx, const char *source)
{
    Text *text = new(cx, Text);
    *text = (Text){ .name = str_of(cx, "code/__torch__/net.py"),
                    .at = source,
                    .n = strlen(source) };
    return torchscript_parse(cx, text);
}

/* The canonical text of a file, which must be a fixed point. */
static const char *canonical(Ctx *cx, const char *source)
{
    CodeFile *file = parse(cx, source);
    if (!file)
        fail_msg("%s\nin:\n%s", error_text(cx, "pt2onnx", NULL)->s, source);
    Str once = torchscript_print(cx, file);
    CodeFile *again = parse(cx, once->s);
    if (!again)
        fail_msg("%s\nin:\n%s", error_text(cx, "pt2onnx", NULL)->s, once->s);
    assert_string_equal(torchscript_print(cx, again)->s, once->s);
    return once->s;
}

/* The one expression that a function returns, canonically. */
static void assert_expr(Ctx *cx, const char *source, const char *expected)
{
    Str file = str_fmt(cx, "def f(x, y):\n  return %s\n", source);
    const char *got = canonical(cx, file->s);
    assert_string_equal(got, str_fmt(cx, "def f(x, y):\n  return %s\n", expected)->s);
}

static const Expr *returned(Ctx *cx, const char *source)
{
    CodeFile *file = parse(cx, str_fmt(cx, "def f(x, y):\n  return %s\n", source)->s);
    assert_non_null(file);
    return file->functions.at[0]->body.at[0]->value;
}

static void assert_refused(const char *source, const char *reason)
{
    Ctx *cx = ctx_new();
    assert_null(parse(cx, source));
    if (strcmp(cx->error.text->s, reason))
        fail_msg("got '%s', expected '%s'\nin:\n%s", cx->error.text->s, reason, source);
    ctx_free(cx);
}

static void expressions(void **state)
{
    static const char *const same[] = {
        "x",
        "x.weight",
        "x.a.b",
        "(x).forward(y)",
        "(x).forward(y, z=1)",
        "torch.add(x, y, alpha=2)",
        "ops.quantized.linear(x, y)",
        "ops.aten.add.Tensor(x, y)",
        "[1, 2]",
        "[]",
        "()",
        "(x,)",
        "(x, y)",
        "{}",
        "{\"a\": x, \"b\": y}",
        "x[0]",
        "(torch.size(x))[-1]",
        "(x)[1:3]",
        "annotate(List[Optional[Tensor]], [None, x])",
        "unchecked_cast(Tensor, x)",
        "uninitialized(Tuple[()])",
        "isinstance(x, List[Tensor])",
        "getattr(x, \"0\")",
        "__torch__.a.f(x)",
        "__torch__.C.__new__(__torch__.C)",
        "__torch__.Color.RED",
        "(__torch__.Color.RED).value",
        "CONSTANTS.c12",
        "int(x)",
        "float(torch.item(x))",
        "print(x, y)",
        "-x",
        "-(torch.add)(x)",
        "True",
        "False",
        "None",
        "fork(x)",
        "(x and y)",
        "((x or y) and x)",
        "x.for",
        "x.class.in",
    };
    for (size_t i = 0; i < COUNT(same); i++)
        assert_expr(*state, same[i], same[i]);
    assert_expr(*state, "(x).forward(y, )", "(x).forward(y)");
    assert_expr(*state, "((x))", "x");
    assert_expr(*state, "isinstance(x, (list, tuple))", "isinstance(x, Union[list, tuple])");
    assert_expr(*state, "torch.autograd.grad(x)", "torch.grad(x)");
}

static void numbers(void **state)
{
    assert_expr(*state, "-9223372036854775808", "-9223372036854775808");
    assert_expr(*state, "0.10000000000000001", "0.1");
    assert_expr(*state, "[3., -0., 1e+20, inf, -inf, nan]", "[3., -0., 1e+20, inf, -inf, nan]");
    assert_expr(*state, "10000000000", "10000000000");
    assert_expr(*state, "[1.+2.j, 3.-4.j, inf+1.j, inf-nanj, 0.-infj]",
                "[1.+2.j, 3.-4.j, inf+1.j, inf+nanj, 0.-infj]");
    /* the sign in front belongs to the real part alone */
    const Expr *e = returned(*state, "-0.5-1.0000000000000001e-09j");
    assert_int_equal(e->kind, X_COMPLEX);
    assert_true(e->c[0] == -0.5 && e->c[1] == -1e-9);
    e = returned(*state, "10000000000");
    assert_int_equal(e->kind, X_INT);
    assert_refused("def f():\n  return 9223372036854775808\n", "this integer does not fit 64 bits");
}

static void strings(void **state)
{
    static const char all[] = "\\ ' \" \a\b\f\n\r\t\v \x01\x7f";
    const Expr *e = returned(*state, "\"\\\\ \\' \\\" \\a\\b\\f\\n\\r\\t\\v \\001\\177\"");
    assert_int_equal(e->kind, X_STR);
    assert_memory_equal(e->s->s, all, sizeof all);
    /* bytes outside ASCII, as PyTorch's signed arithmetic prints them */
    e = returned(*state, "getattr(x, \"caf\\0)+\\/.)\")");
    assert_int_equal(e->kind, X_ATTR);
    assert_string_equal(e->name->s, "caf\xc3\xa9");
    assert_expr(*state, "\"a\" \"b\"", "\"ab\"");
    assert_refused("def f():\n  return \"a\\x41\"\n", "this escape is none of TorchScript's");
    assert_refused("def f():\n  return \"a\n", "this string has no end");
}

/* What people write when they edit a record: operators become the functions that they stand for. */
static void operators(void **state)
{
    assert_expr(*state, "x + y * 2 - 1", "torch.sub(torch.add(x, torch.mul(y, 2)), 1)");
    assert_expr(*state, "-x ** 2", "-torch.pow(x, 2)");
    assert_expr(*state, "x < y and not x == 3 or y",
                "((torch.lt(x, y) and torch.__not__(torch.eq(x, 3))) or y)");
    assert_expr(*state, "x is not None", "torch.__isnot__(x, None)");
    assert_expr(*state, "x not in y", "torch.__not__(torch.__contains__(y, x))");
    assert_expr(*state, "x & 1 << 2 | y // 3 % 4",
                "torch.__or__(torch.__and__(x, torch.__lshift__(1, 2)), "
                "torch.remainder(torch.floordiv(y, 3), 4))");
    assert_refused("def f(x):\n  return 1 < x < 2\n",
                   "write a chain of comparisons as two comparisons");
    assert_refused("def f(x):\n  return -2 ** x\n", "put the power or its base into parentheses");
}

static const char program[] = "op_version_set = 1\n"
                              "class Color(Enum):\n"
                              "  RED = 1\n"
                              "  X = -inf\n"
                              "class Pair(NamedTuple):\n"
                              "  a : Tensor\n"
                              "  b : int\n"
                              "class Net(Module):\n"
                              "  __parameters__ = [\"w\", ]\n"
                              "  __buffers__ = [\"b\", \"nb\", ]\n"
                              "  __forward_pre_hooks__ = [\"pre\", ]\n"
                              "  __annotations__[\"0\"] = Tensor\n"
                              "  w : Tensor\n"
                              "  for : __torch__.m.___torch_mangle_3.Linear\n"
                              "  class : Dict[str, List[Tuple[int, float]]]\n"
                              "  K : Final[Tuple[int, int]] = (1, 2)\n"
                              "  def forward(self: __torch__.net.Net, x: Tensor, flag: bool=False, "
                              "o: Optional[List[int]]=None) -> Tensor:\n"
                              "    w = self.w\n"
                              "    _0 = __torch__.torch.nn.functional.relu\n"
                              "    if flag:\n"
                              "      a, b = x, w\n"
                              "    else:\n"
                              "      pass\n"
                              "    q, = [x]\n"
                              "    c : Optional[int] = 3\n"
                              "    for i in range(3):\n"
                              "      x0 = _0(x)\n"
                              "    while flag:\n"
                              "      flag = False\n"
                              "    with __torch__.G() as g:\n"
                              "      y = torch.add(x0, 1)\n"
                              "    self.n = 4\n"
                              "    torch._set_item(o, 0, 1)\n"
                              "    return y\n"
                              "def g(x: Tensor) -> Tensor:\n"
                              "  return x\n";

static void a_whole_file(void **state)
{
    assert_string_equal(canonical(*state, program), program);
    CodeFile *file = parse(*state, program);
    assert_int_equal(file->op_version, 1);
    assert_int_equal(file->classes.n, 3);
    const ClassDef *net = file->classes.at[2];
    assert_string_equal(net->qualname->s, "__torch__.net.Net");
    assert_int_equal(net->kind, CLASS_MODULE);
    assert_int_equal(net->n_parameter, 1);
    assert_int_equal(net->n_buffer, 2);
    assert_int_equal(net->n_field, 5);
    assert_non_null(net->field[4].constant);
    Function *forward = map_get(&net->method, str_of(*state, "forward"));
    assert_string_equal(forward->qualname->s, "__torch__.net.Net.forward");
    assert_int_equal(forward->n_param, 4);
    assert_string_equal(forward->slot_name[0]->s, "self");
    assert_string_equal(file->functions.at[0]->qualname->s, "__torch__.net.g");
}

static void old_and_odd_files(void **state)
{
    assert_string_equal(canonical(*state, ""), "");
    assert_string_equal(canonical(*state, "import __torch__.a\nimport __torch__.b as c\n"), "");
    assert_string_equal(canonical(*state, "class M(Module):\n"), "class M(Module):\n");
    assert_string_equal(canonical(*state, "class M(Module):\r\n  # note\r\n\r\n  a : int"),
                        "class M(Module):\n  a : int\n");
    assert_string_equal(
        canonical(*state,
                  "class M(Module):\n  __annotations__ = []\n  __annotations__[\"0\"] = Tensor\n"),
        "class M(Module):\n  __annotations__[\"0\"] = Tensor\n");
    assert_string_equal(
        canonical(
            *state,
            "def f(self,\n    x) -> None:\n  if x:\n    return 1\n  elif self:\n    return\n"),
        "def f(self, x) -> None:\n  if x:\n    return 1\n  else:\n    if self:\n      return "
        "None\n");
}

static void mangling_is_removed(void **state)
{
    CodeFile *file = parse(*state, "class A:\n  pass\n");
    assert_string_equal(file->classes.at[0]->plain->s, "__torch__.net.A");
    Text text = { .name = str_of(*state, "code/__torch__/m/___torch_mangle_12.py"),
                  .at = "class A:\n",
                  .n = 9 };
    file = torchscript_parse(*state, &text);
    assert_string_equal(file->classes.at[0]->qualname->s, "__torch__.m.___torch_mangle_12.A");
    assert_string_equal(file->classes.at[0]->plain->s, "__torch__.m.A");
}

/* The body of a fork sees the locals around it as they are when it starts. */
static void fork_bodies_capture(void **state)
{
    CodeFile *file = parse(*state,
                           "def f(x, y):\n  def __forked_function0():\n    z = torch.add(y, y)\n   "
                           " return z\n  return fork(__forked_function0)\n");
    assert_non_null(file);
    Function *f = file->functions.at[0];
    Function *body = f->body.at[0]->def;
    assert_int_equal(f->n_slot, 3);
    assert_int_equal(body->n_slot, 2);
    assert_int_equal(body->n_capture, 1);
    assert_int_equal(body->capture[0], 1);
    assert_string_equal(body->slot_name[body->capture[1]]->s, "y");
}

/* `torch.add(` is the operator although a local is called torch; `(torch).add(` is that local's
 * method. */
static void locals_may_be_called_anything(void **state)
{
    const char *source =
        "def f(torch, int):\n  return (torch.add(int), (torch).add(int), torch.w, int(int))\n";
    assert_string_equal(canonical(*state, source), source);
    const Expr *e = parse(*state, source)->functions.at[0]->body.at[0]->value;
    assert_int_equal(e->items[0]->kind, X_OP);
    assert_int_equal(e->items[1]->kind, X_CALL);
    assert_int_equal(e->items[2]->kind, X_ATTR);
    assert_int_equal(e->items[3]->callee->kind, X_NAME);
}

static void refusals(void **state)
{
    (void)state;
    assert_refused("def f():\n  assert x\n",
                   "'assert' is Python that TorchScript archives do not hold");
    assert_refused("def f():\n  break\n",
                   "'break' is Python that TorchScript archives do not hold");
    assert_refused("def f(x):\n  for i in x:\n    pass\n",
                   "a loop of TorchScript archives runs over range(n)");
    assert_refused("def f(x):\n  a, b = 1, 2, 3\n", "2 names on the left, 3 values on the right");
    assert_refused("def f(x):\n  x[0] = 1\n", "only a name or one attribute can be assigned");
    assert_refused("def f(x):\nreturn x\n", "expected an indented block");
    assert_refused("def f(x):\n    return x\n  return x\n",
                   "this line is indented like no open block");
    assert_refused("class A(B):\n  pass\n",
                   "expected Module, NamedTuple, Enum, Interface or ModuleInterface");
    assert_refused("class E(Enum):\n  A = \"a\\n\"\n",
                   "an enum's string with a backslash is not saved in a way that can be read back");
    assert_refused("class A:\n  a : int\n  a : int\n", "the class has two attributes called 'a'");
    assert_refused("def f(pass):\n  return 1\n", "'pass' cannot be the name of a local");
    assert_refused("class A:\n  a = 1\n", "expected an attribute or a method");
    assert_refused("x = 1\n", "expected a class or a function");
    assert_refused("def f():\n  return $\n", "byte 0x24 cannot stand here");
    assert_refused("def f():\n  return CONSTANTS.x\n",
                   "expected the number of a constant, like c0");
}

static void an_error_shows_its_line(void **state)
{
    Ctx *cx = *state;
    assert_null(parse(cx, "def f(x):\n  y = torch.add(x, )\n  return y z\n"));
    assert_non_null(strstr(error_text(cx, "pt2onnx", NULL)->s, "code/__torch__/net.py:3"));
}

/* Every way to nest is counted, chains that need no recursion to read too: whoever walks the tree
 * recurses. */
static void nesting_is_bounded(void **state)
{
    static const struct {
        const char *head, *repeated, *tail;
    } ways[] = {
        { "def f(x):\n  return ", "(", "x\n" },
        { "def f(x):\n  return ", "[", "\n" },
        { "def f(x):\n  return ", "-", "x\n" },
        { "def f(x):\n  return x", ".a", "\n" },
        { "def f(x):\n  return x", "[0]", "\n" },
        { "def f(x):\n  return x", "()", "\n" },
        { "def f(x):\n  return x", " + x", "\n" },
        { "def f(x):\n  return ", "torch.f(", "\n" },
        { "def f(x):\n  return ", "not ", "x\n" },
        { "def f(x: ", "List[", "int\n" },
        { "def f(x):\n  if x:\n    pass\n", "  elif x:\n    pass\n", "" },
        { "def f(x):\n  return x", " ** x", "\n" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        Ctx *cx = ctx_new();
        Buf b = buf_new(cx);
        buf_str(&b, ways[i].head);
        for (int k = 0; k < 100000; k++)
            buf_str(&b, ways[i].repeated);
        buf_str(&b, ways[i].tail);
        assert_null(parse(cx, buf_done(&b)->s));
        assert_int_equal(cx->error.code, E_LIMIT);
        ctx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(expressions),
        TEST(numbers),
        TEST(strings),
        TEST(operators),
        TEST(a_whole_file),
        TEST(old_and_odd_files),
        TEST(mangling_is_removed),
        TEST(fork_bodies_capture),
        TEST(locals_may_be_called_anything),
        TEST(refusals),
        TEST(an_error_shows_its_line),
        TEST(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
