/* condition.c - conditions that ONNX decides: what follows where a condition is known to be true
 * or false. A branch knows more about its sizes than the graph around it, and these facts decide
 * other bools. */
#include "eval/branch/condition.h"

bool assume_condition(Ctx *cx, const SymBool *s, bool truth)
{
    if (s->left && truth)
        return assume_condition(cx, s->left, true) && assume_condition(cx, s->right, true);
    if (s->ox)
        return true;
    SymBool holds = *s;
    if (!truth)
        rel_not(&holds.rel, &holds.a, &holds.b);
    return holds.rel == REL_EQ ? dim_assume_same(cx, holds.a, holds.b)
                               : dim_assume(cx, holds.rel, holds.a, holds.b);
}

static bool same_condition(Ctx *cx, const SymBool *a, const SymBool *b)
{
    if (a == b || a->ox || b->ox)
        return a == b || (a->ox && a->ox == b->ox);
    return a->rel == b->rel && dim_eq(cx, a->a, b->a) == YES && dim_eq(cx, a->b, b->b) == YES;
}

static bool ox_is_not(Ox a, Ox b)
{
    return a->kind == OX_NODE && str_is(a->node->name, "Not") && a->node->in[0] == b;
}

static bool opposite_condition(Ctx *cx, const SymBool *a, const SymBool *b)
{
    SymBool not = *b;
    if (a->ox || b->ox)
        return a->ox && b->ox && (ox_is_not(a->ox, b->ox) || ox_is_not(b->ox, a->ox));
    rel_not(&not.rel, &not.a, &not.b);
    return same_condition(cx, a, &not);
}

static Tri implied_by(Ctx *cx, const SymBool *c, bool truth, const SymBool *asked)
{
    if (same_condition(cx, c, asked))
        return truth ? YES : NO;
    if (opposite_condition(cx, c, asked))
        return truth ? NO : YES;
    Tri t = c->left && truth ? implied_by(cx, c->left, true, asked) : UNKNOWN;
    return c->left && truth && t == UNKNOWN ? implied_by(cx, c->right, true, asked) : t;
}

Tri condition_implies(Ctx *cx, Value condition, bool truth, Value asked)
{
    if (asked.tag == V_BOOL)
        return asked.b ? YES : NO;
    return condition.tag == V_SYMBOOL && asked.tag == V_SYMBOOL
        ? implied_by(cx, condition.sb, truth, asked.sb)
        : UNKNOWN;
}
