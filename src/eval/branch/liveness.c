/* liveness.c - where the locals of a function are used, so that a branch of an if or a loop's
 * body need not hand on the locals that only it uses. Statements are numbered in the order of
 * the text; a local lives from the first statement that names it to the last. */
#include "eval/branch/liveness.h"

typedef struct Range {
    uint32_t first, last;
} Range; /* numbers of statements */
typedef struct Liveness {
    Range *slot;
    Map number; /* Stmt -> its number + 1 */
    Map last;   /* Stmt -> the last number inside it + 1 */
} Liveness;

static void use_slot(Liveness *l, uint32_t slot, uint32_t at)
{
    if (l->slot[slot].last == 0)
        l->slot[slot].first = at;
    l->slot[slot].last = at;
}

/* The locals that e, part of statement number `at`, names. */
static void use_expr(Liveness *l, const Expr *e, uint32_t at)
{
    if (!e)
        return;
    switch (e->kind) {
    case X_LOCAL:       use_slot(l, e->slot, at); break;
    case X_ATTR:
    case X_TUPLE_SLICE:
    case X_NEG:         use_expr(l, e->a, at); break;
    case X_INDEX:
    case X_BINARY:
        use_expr(l, e->a, at);
        use_expr(l, e->b, at);
        break;
    case X_CALL:
    case X_OP:
        if (e->kind == X_CALL)
            use_expr(l, e->callee, at);
        for (uint32_t i = 0; i < e->n_args; i++)
            use_expr(l, e->args[i].value, at);
        break;
    case X_TUPLE:
    case X_LIST:
    case X_DICT:
        for (uint32_t i = 0; i < e->n; i++)
            use_expr(l, e->items[i], at);
        break;
    default: break;
    }
}

static void use_block(Ctx *cx, Liveness *l, const Block *b, uint32_t *n);

/* Notes the number of s, in order of the text, and that of the last statement in it, and which
 * slots are used there. */
static void use_stmt(Ctx *cx, Liveness *l, const Stmt *s, uint32_t *n)
{
    uint32_t at = ++*n;
    map_put(cx, &l->number, s, (void *)(uintptr_t)at);
    use_expr(l, s->value, at);
    use_expr(l, s->kind == S_SET_ATTR ? s->object : NULL, at);
    for (uint32_t i = 0; i < s->n_values; i++)
        use_expr(l, s->values[i], at);
    for (uint32_t i = 0; i < s->n_target; i++)
        use_slot(l, s->target[i], at);
    if (s->kind == S_DEF)
        for (uint32_t i = 0; i < s->def->n_capture; i++)
            use_slot(l, s->def->capture[2 * i], at);
    if (stmt_has_blocks(s)) {
        use_block(cx, l, &s->body, n);
        use_block(cx, l, &s->other, n);
    }
    map_put(cx, &l->last, s, (void *)(uintptr_t)*n);
}

static void use_block(Ctx *cx, Liveness *l, const Block *b, uint32_t *n)
{
    for (uint32_t i = 0; i < b->n; i++)
        use_stmt(cx, l, b->at[i], n);
}

static Liveness *liveness_of(Eval *ev, const Function *fn)
{
    Liveness *l = map_get(&ev->liveness, fn);
    uint32_t n = 0;
    if (l)
        return l;
    l = new(ev->cx, Liveness);
    l->slot = new_array(ev->cx, Range, fn->n_slot + 1);
    if (!l->slot)
        return NULL;
    for (uint32_t i = 0; i < fn->n_param; i++)
        use_slot(l, fn->param[i].slot, 0); /* parameters are used before the body */
    use_block(ev->cx, l, &fn->body, &n);
    map_put(ev->cx, &ev->liveness, fn, l);
    return l;
}

bool local_to_block(Eval *ev, const Block *b, const Cell *c)
{
    const Frame *f = ev->frame;
    if (!b || b->n == 0 || !f || c < f->locals->slot || c >= f->locals->slot + f->locals->n)
        return false;
    Liveness *l = liveness_of(ev, f->fn);
    uint32_t slot = (uint32_t)(c - f->locals->slot);
    if (!l || slot >= f->fn->n_slot)
        return false;
    for (uint32_t i = 0; i < f->fn->n_param; i++)
        if (f->fn->param[i].slot == slot)
            return false;
    uint32_t first = (uint32_t)(uintptr_t)map_get(&l->number, b->at[0]);
    uint32_t last = (uint32_t)(uintptr_t)map_get(&l->last, b->at[b->n - 1]);
    return l->slot[slot].first >= first && l->slot[slot].last <= last;
}
