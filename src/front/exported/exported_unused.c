/* exported_unused.c - numbers of a .pt2 that only its assertions looked at.
 *
 * torch writes the checks of a size as nodes: sym_size, ge, _assert_scalar. The assertions are
 * dropped (exported_node.c), and what was computed for them goes here, so that nothing is demanded
 * of an operator whose result is not needed. Only operators on numbers go: they have no effect.
 * Unused tensors stay, for the evaluator emits nothing for them anyway and the recorded
 * types are compared. */
#include "front/exported/exported.h"

typedef struct Uses {
    bool *used;
    size_t n;
} Uses;

static void mark_block(Uses *u, const Block *b);

/* The locals that an expression reads. A nested graph has locals of its own, so its inside is not
 * looked at. */
static void mark(Uses *u, const Expr *e)
{
    if (!e)
        return;
    switch (e->kind) {
    case X_LOCAL:
        if (e->slot < u->n)
            u->used[e->slot] = true;
        return;
    case X_OP:
        for (uint32_t i = 0; i < e->n_args; i++)
            mark(u, e->args[i].value);
        return;
    case X_TUPLE:
    case X_LIST:
        for (uint32_t i = 0; i < e->n; i++)
            mark(u, e->items[i]);
        return;
    case X_ATTR: mark(u, e->a); return;
    default:     /* constants; a graph has locals of its own */ return;
    }
}

static void mark_stmt(Uses *u, const Stmt *s)
{
    mark(u, s->value);
    for (uint32_t i = 0; i < s->n_values; i++)
        mark(u, s->values[i]);
    if (stmt_has_blocks(s))
        mark_block(u, &s->body);
}

static void mark_block(Uses *u, const Block *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        mark_stmt(u, b->at[i]);
}

static bool makes_number(const Stmt *s)
{
    static const char *const prefixes[] = { "aten::sym_", "_operator::", "math::", "torch::sym_",
                                            "torch::_sym_" };
    if (s->kind != S_ASSIGN || !s->value || s->value->kind != X_OP)
        return false;
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (str_starts(s->value->op->name, prefixes[i]))
            return true;
    return false;
}

static bool is_used(const Uses *u, const Stmt *s)
{
    for (uint32_t i = 0; i < s->n_target; i++)
        if (s->target[i] >= u->n || u->used[s->target[i]])
            return true;
    return false;
}

/* Backwards: a statement comes after all that it uses. */
void ex_drop_unused(Exported *x, Block *b, size_t n_slot)
{
    Uses u = { new_array(x->cx, bool, n_slot + 1), n_slot };
    uint32_t kept = b->n;
    for (uint32_t i = b->n; u.used && i-- > 0;) {
        Stmt *s = b->at[i];
        if (makes_number(s) && !is_used(&u, s))
            continue;
        mark_stmt(&u, s);
        b->at[--kept] = s;
    }
    if (!u.used)
        return;
    b->n -= kept;
    b->at += kept;
}
