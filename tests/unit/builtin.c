/* The builtins against what PyTorch says of them (builtin.txt), and on symbolic numbers, which
 * PyTorch does not have. */
#include "unit/test.h"

#include "eval/builtin/builtin.h"
#include "front/front.h"

/* Just enough of an evaluator to run one case: names, literals and calls. */
typedef struct Machine {
    Eval ev;
    const Function *fn;
    Value local[16];
} Machine;

static bool run(Machine *m, const Expr *e, Value *out);

static bool run_items(Machine *m, const Expr *e, Value *items)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (!run(m, e->items[i], &items[i]))
            return false;
    return true;
}

static bool call(Machine *m, Str name, const Arg *args, uint32_t n, Value *out)
{
    OpArg given[8];
    for (uint32_t i = 0; i < n && i < COUNT(given); i++) {
        given[i].name = args[i].name;
        if (!run(m, args[i].value, &given[i].v))
            return false;
    }
    return builtin_call(&m->ev, name, given, n, out) == DONE;
}

static const char *elem_of(const Value *items, uint32_t n) { return n ? val_kind(items[0]) : NULL; }

static bool run(Machine *m, const Expr *e, Value *out)
{
    Value items[8];
    Ctx *cx = m->ev.cx;
    switch (e->kind) {
    case X_NONE:  *out = val_none(); return true;
    case X_TRUE:  *out = val_bool(true); return true;
    case X_FALSE: *out = val_bool(false); return true;
    case X_INT:   *out = val_int(e->i); return true;
    case X_FLOAT: *out = val_float(e->f); return true;
    case X_STR:   *out = val_str(e->s); return true;
    case X_LOCAL: *out = m->local[e->slot]; return true;
    case X_TUPLE:
        *out = val_none();
        return run_items(m, e, items) && (*out = val_tuple(cx, items, e->n), true);
    case X_LIST:
        return run_items(m, e, items) &&
            (*out = val_list(cx, items, e->n, elem_of(items, e->n)), true);
    case X_DICT:
        *out = (Value){ .tag = V_DICT, .dict = dict_new(cx, NULL) };
        if (!run_items(m, e, items))
            return false;
        for (uint32_t i = 0; i + 1 < e->n; i += 2)
            dict_set(cx, out->dict, items[i], items[i + 1]);
        return true;
    case X_OP: return call(m, e->op->name, e->args, e->n_args, out);
    case X_CALL:
        if (!e->type)
            return call(m, e->callee->name, e->args, e->n_args, out);
        if (!run(m, e->args[0].value, out))
            return false;
        if (out->tag == V_LIST && e->type->n)
            out->list->elem = e->type->args[0]->name;
        return true;
    case X_INDEX: {
        Arg both[2] = { { NULL, e->a }, { NULL, e->b } };
        return call(m, str_of(cx, "aten::__getitem__"), both, 2, out);
    }
    default: fail_msg("the test has an expression of kind %d", e->kind); return false;
    }
}

static bool run_stmt(Machine *m, const Stmt *s, Value *out)
{
    if (!run(m, s->value, out))
        return false;
    if (s->kind != S_ASSIGN)
        return true;
    for (uint32_t i = 0; i < s->n_target; i++)
        m->local[s->target[i]] = s->n_target == 1 ? *out : out->tuple->at[i];
    return true;
}

/* A case's statements as a function, run; *out its value. */
static bool run_case(Ctx *cx, const char *line, Value *out)
{
    Buf b = buf_new(cx);
    buf_str(&b, "def f():\n");
    for (const char *s = line, *end; s; s = end ? end + 4 : NULL) {
        end = strstr(s, " ;; ");
        buf_str(&b, end ? "  " : "  return ");
        buf_add(&b, s, end ? (size_t)(end - s) : strlen(s));
        buf_str(&b, "\n");
    }
    Text *text = new(cx, Text);
    Str source = buf_done(&b);
    *text = (Text){ .name = str_of(cx, "case"), .at = source->s, .n = source->len };
    CodeFile *file = torchscript_parse(cx, text);
    if (!file)
        fail_msg("%s: %s", line, error_text(cx, "parse", NULL)->s);
    Machine m = { .ev = { .cx = cx, .g = graph_new(cx, NULL, str_of(cx, "g")) },
                  .fn = file->functions.at[0] };
    for (uint32_t i = 0; i < m.fn->body.n; i++)
        if (!run_stmt(&m, m.fn->body.at[i], out))
            return false;
    return true;
}

/* A recorded text is Python's repr without its quotes. */
static Str unescaped(Ctx *cx, const char *s)
{
    Buf b = buf_new(cx);
    for (; *s && *s != '\n'; s++) {
        bool escape = *s == '\\' && s[1];
        char c = escape ? *++s == 'n' ? '\n' : *s == 't' ? '\t' : *s == 'r' ? '\r' : *s : *s;
        buf_add(&b, &c, 1);
    }
    return buf_done(&b);
}

static int check_case(const char *line, const char *expected)
{
    Ctx *cx = ctx_new();
    Value v = val_none();
    bool done = run_case(cx, line, &v);
    bool wanted = expected[0] == '-';
    Str got = done ? val_text(cx, v) : cx->error.text;
    bool good = done == wanted && (!done || got == unescaped(cx, expected + 3));
    if (!good)
        print_error("%s\n  expected %s\n  got %s%s\n", line, expected, done ? "-> " : "!! ",
                    got ? got->s : "?");
    ctx_free(cx);
    return !good;
}

static void as_recorded(void **state)
{
    char line[512], expected[512];
    int bad = 0;
    int n = 0;
    FILE *f = fopen("tests/unit/builtin.txt", "r");
    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        assert_non_null(fgets(expected, sizeof expected, f));
        expected[strcspn(expected, "\n")] = 0;
        bad += check_case(line, expected);
        n++;
    }
    fclose(f);
    assert_true(n > 200);
    assert_int_equal(bad, 0);
}

/* ---- symbolic numbers ---- */

typedef struct Symbolic {
    Eval ev;
    Value n;
} Symbolic;

static Symbolic symbolic(Ctx *cx)
{
    Symbolic s = { .ev = { .cx = cx, .g = graph_new(cx, NULL, str_of(cx, "g")) } };
    s.n = val_dim(cx, dim_sym(cx, str_of(cx, "N")));
    return s;
}

static Value call2(Symbolic *s, const char *name, Value a, Value b)
{
    OpArg args[2] = { { NULL, a }, { NULL, b } };
    Value out = val_none();
    if (builtin_call(&s->ev, str_of(s->ev.cx, name), args, 2, &out) != DONE)
        fail_msg("%s: %s", name, error_text(s->ev.cx, "test", NULL)->s);
    return out;
}

static Value call1(Symbolic *s, const char *name, Value a)
{
    OpArg arg = { NULL, a };
    Value out = val_none();
    if (builtin_call(&s->ev, str_of(s->ev.cx, name), &arg, 1, &out) != DONE)
        fail_msg("%s: %s", name, error_text(s->ev.cx, "test", NULL)->s);
    return out;
}

#define assert_dim(v, text)                                  \
    do {                                                     \
        assert_int_equal((v).tag, V_SYMINT);                 \
        assert_string_equal(dim_text(cx, (v).dim)->s, text); \
    } while (0)

static void ints_stay_dims(void **state)
{
    Ctx *cx = *state;
    Symbolic s = symbolic(cx);
    assert_dim(call2(&s, "aten::add", s.n, val_int(1)), "N + 1");
    assert_dim(call2(&s, "aten::floordiv", s.n, val_int(2)), "N//2");
    assert_dim(call2(&s, "aten::__round_to_zero_floordiv", s.n, val_int(2)), "N//2");
    Value cut = call2(&s, "aten::__round_to_zero_floordiv", call2(&s, "aten::sub", s.n, val_int(5)),
                      val_int(2)); /* of any sign: a node */
    assert_dim(cut, dim_text(cx, cut.dim)->s);
    assert_int_equal(
        dim_eq(cx, cut.dim, dim_floordiv(cx, dim_sub(cx, s.n.dim, dim_int(cx, 5)), dim_int(cx, 2))),
        UNKNOWN);
    assert_dim(call2(&s, "aten::remainder", s.n, val_int(3)), "N%3");
    assert_dim(call2(&s, "aten::__rshift__", s.n, val_int(1)), "N//2");
    assert_dim(call2(&s, "aten::__lshift__", s.n, val_int(2)), "4*N");
    assert_dim(call2(&s, "aten::__and__", s.n, val_int(7)), "N%8");
    assert_int_equal(call2(&s, "aten::__and__", s.n, val_int(5)).tag, V_SYMINT);
    assert_int_equal(call2(&s, "aten::sub", s.n, s.n).i, 0);
    assert_int_equal(call2(&s, "aten::sub", s.n, s.n).tag, V_INT);
    Value ge = call2(&s, "aten::ge", s.n, val_int(0));
    assert_int_equal(ge.tag, V_BOOL);
    assert_true(ge.b);
    Value lt = call2(&s, "aten::lt", s.n, val_int(5));
    assert_int_equal(lt.tag, V_SYMBOOL);
    Value not_lt = call1(&s, "aten::__not__", lt);
    assert_int_equal(not_lt.tag, V_SYMBOOL);
    assert_int_equal(not_lt.sb->rel, REL_LE);
    assert_false(call2(&s, "aten::__and__", lt, val_bool(false)).b);
}

/* int(N / 2) is N//2 again; so are the products and scales that resizing computes. */
static void fractions_become_dims_again(void **state)
{
    Ctx *cx = *state;
    Symbolic s = symbolic(cx);
    Value half = call2(&s, "aten::div", s.n, val_int(2));
    assert_int_equal(half.tag, V_SYMFLOAT);
    assert_dim(call1(&s, "int", half), "N//2");
    assert_dim(call1(&s, "aten::floor", half), "N//2");
    assert_dim(call1(&s, "aten::ceil", half), "(N + 1)//2");
    Value scaled = call2(&s, "aten::mul", call1(&s, "float", s.n), val_float(2.0));
    assert_dim(call1(&s, "aten::floor", scaled), "2*N");
    Value three_halves = call2(&s, "aten::mul", s.n, val_float(1.5));
    assert_dim(call1(&s, "int", three_halves), "N + N//2");
    /* 0.1 is not 1/10: a fresh symbol, not N//10 */
    Value tenth = call1(&s, "int", call2(&s, "aten::mul", s.n, val_float(0.1)));
    assert_int_equal(tenth.tag, V_SYMINT);
    assert_null(strstr(dim_text(cx, tenth.dim)->s, "N"));
}

static void what_must_be_concrete_says_so(void **state)
{
    Ctx *cx = *state;
    Symbolic s = symbolic(cx);
    Value items[2] = { val_int(1), val_int(2) };
    OpArg args[2] = { { NULL, val_list(cx, items, 2, "int") }, { NULL, s.n } };
    Value out;
    assert_int_equal(builtin_call(&s.ev, str_of(cx, "aten::__getitem__"), args, 2, &out), FAILED);
    assert_int_equal(cx->error.code, E_UNDECIDED);
}

static void tensors_are_not_ours(void **state)
{
    Ctx *cx = *state;
    Symbolic s = symbolic(cx);
    Value t = val_tensor(cx, ox_int(s.ev.g, 3)), out;
    OpArg args[2] = { { NULL, t }, { NULL, val_int(1) } };
    assert_int_equal(builtin_call(&s.ev, str_of(cx, "aten::add"), args, 2, &out), NOT_MINE);
    assert_int_equal(builtin_call(&s.ev, str_of(cx, "aten::conv2d"), args, 2, &out), NOT_MINE);
    assert_int_equal(call1(&s, "int", t).i, 3);
    assert_int_equal(call1(&s, "aten::dim", t).i, 0);
    assert_int_equal(call1(&s, "prim::dtype", t).i, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_recorded),
        TEST(ints_stay_dims),
        TEST(fractions_become_dims_again),
        TEST(what_must_be_concrete_says_so),
        TEST(tensors_are_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
