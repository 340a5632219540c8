/* Unit tests of onnx/rules/rules.c: what a rule file may say, where its errors point, and what
 * applying a rule emits. */
#include "unit/test.h"

#include "onnx/onnx.h"
#include "onnx/rules/rules_tree.h"

typedef struct Env {
    Ctx *cx;
    Ox x, y;
    RuleVal n;
} Env;

static bool lookup(void *arg, Str name, RuleVal *out)
{
    Env *e = arg;
    if (str_is(name, "x") || str_is(name, "X"))
        *out = (RuleVal){ .tag = RV_OX, .ox = e->x };
    else if (str_is(name, "y"))
        *out = e->y ? (RuleVal){ .tag = RV_OX, .ox = e->y } : (RuleVal){ .tag = RV_NONE };
    else if (str_is(name, "n"))
        *out = e->n;
    else
        return false;
    return true;
}

static Text *text_of(Ctx *cx, const char *s)
{
    Text *t = new(cx, Text);
    *t = (Text){ .name = str_of(cx, "my.rules"), .at = s, .n = strlen(s) };
    return t;
}

static const Rule *parse_one(Ctx *cx, const char *s)
{
    RuleList rules = { 0 };
    if (!rules_parse(cx, text_of(cx, s), &rules))
        fail_msg("%s", cx->error.text->s);
    return rules.at[rules.n - 1];
}

static Env env_of(Ctx *cx, Graph *g)
{
    Dim d[2] = { dim_int(cx, 2), dim_int(cx, 3) };
    Ox x = graph_input(g, str_of(cx, "x"), type_tensor(cx, DT_FLOAT, 2, d));
    return (Env){ .cx = cx, .x = x, .n = { .tag = RV_INT, .i = 2 } };
}

/* Applies the rule's one result; the nodes it made, as names. */
static const char *nodes_of(Ctx *cx, const char *rule, RuleOutcome want)
{
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Env e = env_of(cx, g);
    RuleEnv env = { .g = g, .target = 18, .lookup = lookup, .arg = &e };
    Ox out;
    assert_int_equal(rule_apply(parse_one(cx, rule), &env, &out, 1), want);
    Buf b = buf_new(cx);
    for (size_t i = 0; i < g->nodes.n; i++)
        buf_fmt(&b, "%s%s", i ? " " : "", g->nodes.at[i]->name->s);
    return buf_done(&b)->s;
}

static const char *error_of(Ctx *cx, const char *rules)
{
    RuleList out = { 0 };
    assert_false(rules_parse(cx, text_of(cx, rules), &out));
    return cx->error.text->s;
}

static void heads_and_clauses(void **state)
{
    Ctx *cx = *state;
    RuleList rules = { 0 };
    assert_true(rules_parse(cx,
                            text_of(cx,
                                    "# two names, one formula\n"
                                    "my::a(Tensor x) -> Tensor\n"
                                    "my::b(Tensor x, *, int n=1) -> Tensor   # an alias\n"
                                    "    kinds plain complex\n"
                                    "    promote default(x)\n"
                                    "    = Relu(x)\n"
                                    "onnx::Mish(X) before 18\n"
                                    "    = Mul(X, Tanh(Softplus(X)))\n"),
                            &rules));
    assert_int_equal(rules.n, 3);
    assert_string_equal(rules.at[1]->head->s, "my::b(Tensor x, *, int n=1) -> Tensor");
    assert_string_equal(rules.at[0]->promote->s, "default(x)");
    assert_string_equal(rules.at[0]->kinds->s, "plain complex");
    assert_string_equal(rules.at[2]->head->s, "onnx::Mish");
    assert_int_equal(rules.at[2]->before, 18);
    assert_int_equal(rules.at[2]->n_params, 1);
}

static void alternatives_are_tried_in_order(void **state)
{
    Ctx *cx = *state;
    assert_string_equal(nodes_of(cx,
                                 "my::a(Tensor x) -> Tensor\n  when int(x) = Neg(x)\n  when n = 2 "
                                 "and rank(x) = 2 = Relu(x)\n  = Abs(x)\n",
                                 RULE_DONE),
                        "Relu");
    assert_string_equal(
        nodes_of(cx, "my::a(Tensor x) -> Tensor\n  when not float(x) = Neg(x)\n  = Abs(x)\n",
                 RULE_DONE),
        "Abs");
}

static void no_alternative_is_no_match(void **state)
{
    Ctx *cx = *state;
    assert_string_equal(
        nodes_of(cx, "my::a(Tensor x) -> Tensor\n  when given(y) = Neg(x)\n", RULE_NO_MATCH), "");
    assert_false(ctx_failed(cx));
}

static void lets_name_values_and_outputs(void **state)
{
    Ctx *cx = *state;
    assert_string_equal(nodes_of(cx,
                                 "my::a(Tensor x) -> Tensor\n  let a, b = Split<axis=0, "
                                 "num_outputs=2>(x)\n  let c = Mul(a, b)\n  = Add(c, c)\n",
                                 RULE_DONE),
                        "Split Mul Add");
}

static void numbers_take_the_other_operands_type(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Env e = env_of(cx, g);
    RuleEnv env = { .g = g, .target = 18, .lookup = lookup, .arg = &e };
    Ox out;
    assert_int_equal(
        rule_apply(parse_one(cx, "my::a(Tensor x) -> Tensor\n = Gather(Mul(x, 1/2), 1)\n"), &env,
                   &out, 1),
        RULE_DONE);
    Node *mul = g->nodes.at[0];
    Node *gather = g->nodes.at[1];
    double half;
    assert_true(ox_known_scalar(g, mul->in[1], &half));
    assert_true(half == 0.5);
    assert_int_equal(ox_dtype(mul->in[1]), DT_FLOAT);
    assert_int_equal(ox_dtype(gather->in[1]), DT_INT64);
}

static void a_custom_operator_keeps_its_domain(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_new(cx, NULL, str_of(cx, "main"));
    Env e = env_of(cx, g);
    RuleEnv env = { .g = g, .target = 18, .lookup = lookup, .arg = &e };
    Ox out[2];
    assert_int_equal(
        rule_apply(parse_one(cx,
                             "my::a(Tensor x) -> (Tensor, Tensor)\n = my.domain::Op<k=n*2, "
                             "s=\"t\", f=0.5, l=[1, 2]>(x) as x\n"),
                   &env, out, 2),
        RULE_DONE);
    const Node *n = out[0]->node;
    assert_string_equal(n->domain->s, "my.domain");
    assert_int_equal(n->n_attr, 4);
    assert_int_equal(n->attr[0].i, 4);
    assert_int_equal(n->attr[3].kind, ATTR_INTS);
    assert_ptr_equal(out[1]->type, e.x->type);
}

static void an_untold_custom_type_is_an_assumption(void **state)
{
    Ctx *cx = *state;
    assert_string_equal(nodes_of(cx, "my::a(Tensor x) -> Tensor\n = my.domain::Op(x)\n", RULE_DONE),
                        "Op");
    assert_int_equal(cx->notes.n, 1);
    assert_int_equal(cx->notes.at[0].kind, NOTE_ASSUMED);
}

static void errors_name_the_place(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *rules, *error;
    } cases[] = {
        { "my::a(Tensor x) -> Tensor\n", "my.rules:1:1: the rule has no '= ...'" },
        { "my::a(Tensor x) -> Tensor\n    = Rilu(x)\n",
          "my.rules:2:7: ONNX has no operator 'Rilu'" },
        { "my::a(Tensor x) -> Tensor\n    = Add(x\n", "my.rules:3:1: expected ','" },
        { "my::a(Tensor x) -> Tensor\n    = Mul(x, \"a)\n",
          "my.rules:2:14: the string is not closed" },
        { "my::a(Tensor x) -> Tensor\n    when n = Relu(x)\n", "my.rules:3:1: expected '='" },
        { "nonsense\n    = Relu(x)\n",
          "my.rules:1:1: expected an operator's schema, as in my::op(Tensor x) -> Tensor" },
        { "   = Relu(x)\n", "my.rules:1:4: a rule starts in column 1" },
        { "my::a(Tensor x) -> Tensor\n    = cast(x)\n", "my.rules:2:7: cast takes 2 arguments" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_string_equal(error_of(cx, cases[i].rules), cases[i].error);
        ctx_restart(cx);
    }
}

static void deep_nesting_is_refused(void **state)
{
    Ctx *cx = *state;
    for (const char *p = "(-["; *p; p++) {
        Buf b = buf_new(cx);
        buf_str(&b, "my::a(Tensor x) -> Tensor\n = ");
        for (int i = 0; i < 100000; i++)
            buf_add(&b, p, 1);
        assert_non_null(strstr(error_of(cx, buf_done(&b)->s), "nested too deeply"));
        ctx_restart(cx);
    }
}

static void errors_while_applying_name_the_place(void **state)
{
    Ctx *cx = *state;
    nodes_of(cx, "my::a(Tensor x) -> Tensor\n    = Relu(z)\n", RULE_FAILED);
    assert_string_equal(cx->error.text->s,
                        "my.rules:2:12: 'z' is neither a parameter, a let nor a type");
}

/* What a result begins with, in a body that has been read. */
static void add_tops(Ctx *cx, const Tree *t, RuleTops *out)
{
    for (; t->kind == N_CAST; t = t->arg[0])
        vec_push(cx, out, str_of(cx, "Cast"));
    vec_push(cx, out, t->domain ? str_fmt(cx, "%s::%s", t->domain->s, t->s->s) : t->s);
}

/* find.rules is read piece by piece, as a graph needs it: here it is read whole. */
static void outermost_operators_without_the_rest(void **state)
{
    extern const char rules_find[];
    Ctx *cx = *state;
    RuleList rules = { 0 };
    size_t calls = 0;
    if (!rules_parse(cx, text_of(cx, rules_find), &rules))
        fail_msg("%s", cx->error.text->s);
    vec_push(cx, &rules,
             (Rule *)parse_one(cx,
                               "one.of::a(X)\n  when axis = 1 and n = \"(\" let y = Abs(X)\n = "
                               "cast(cast(one.of::B<mode=\"(\", at=[1]>(\n y, (1)), X), X)\n"
                               " = Add(X, 1) = Neg(X)\n"));
    for (size_t i = 0; i < rules.n; i++) {
        RuleTops want = { 0 };
        RuleTops got = { 0 };
        const struct RuleBody *body = rules.at[i]->body;
        bool is_call = true;
        for (size_t k = 0; k < body->at.n; k++) {
            const Tree *t = body->at.at[k].results.at[0];
            is_call &= t->kind == N_CALL || t->kind == N_CAST;
            if (is_call)
                add_tops(cx, t, &want);
        }
        if (!is_call)
            continue;
        calls++;
        assert_true(rule_tops(cx, rules.at[i], &got));
        assert_int_equal(got.n, want.n);
        for (size_t k = 0; k < got.n; k++)
            assert_ptr_equal(got.at[k], want.at[k]);
    }
    assert_true(calls > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(heads_and_clauses),
        TEST(alternatives_are_tried_in_order),
        TEST(no_alternative_is_no_match),
        TEST(lets_name_values_and_outputs),
        TEST(numbers_take_the_other_operands_type),
        TEST(a_custom_operator_keeps_its_domain),
        TEST(an_untold_custom_type_is_an_assumption),
        TEST(errors_name_the_place),
        TEST(deep_nesting_is_refused),
        TEST(errors_while_applying_name_the_place),
        TEST(outermost_operators_without_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
