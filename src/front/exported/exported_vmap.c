/* exported_vmap.c - torch.vmap in a .pt2 as a loop of the program.
 *
 *     _vmap_increment_nesting(n)                     ys = []
 *     a = _add_batch_dim(x, d, level)                for i in range(n):
 *     b = sum(a)                                         a = select(x, d, i)
 *     y = _remove_batch_dim(b, level, n, o)              b = sum(a)
 *     _vmap_decrement_nesting()                          append(ys, b)
 *                                                    y = stack(ys, o)
 *
 * Between the marks operators are written as for one sample, and so are the types that the file
 * records: an iteration of the loop is what they say. Other transforms of torch.func leave marks of
 * other names, which are refused. */
#include "front/exported/exported.h"

/* What a vmap gives: the samples so far, and where they go when it ends. */
typedef struct Stacked {
    uint32_t samples;
    Expr *dim;
    ExTargets targets;
    ExNode node;
} Stacked;

struct ExVmap {
    ExVmap *up;
    int64_t level;
    ExFunction outer; /* the statements around the loop */
    Expr *count;
    uint32_t i; /* the loop's variable */
    VEC(Stacked) results;
};

typedef bool (*Mark)(ExScope *s, ExNode *n);

static bool nothing(ExScope *s, ExNode *n)
{
    (void)s, (void)n;
    return true;
}

static void set(ExScope *s, uint32_t slot, Expr *value)
{
    ExTargets t = { 0 };
    vec_push(s->x->cx, &t.slot, slot);
    ex_assign(s, value, &t, false);
}

/* Statements from here to the vmap's end go into a list of their own, which `end` makes a loop's
 * body. vmaps nest: the new one points at the outer one. */
static bool begin(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExVmap *v = new(x->cx, ExVmap);
    if (n->args.n < 1 || !v)
        return ex_bad(x, &n->inputs, "a vmap without its size");
    if (n->args.n > 1 && n->args.at[1].value->kind == X_STR &&
        str_is(n->args.at[1].value->s, "same"))
        return fail(x->cx, E_UNSUPPORTED,
                    "a torch.vmap whose samples share their random numbers (randomness=\"same\")");
    *v = (ExVmap){ .up = s->vmap,
                   .level = s->vmap ? s->vmap->level + 1 : 1,
                   .outer = *s->fn,
                   .count = n->args.at[0].value };
    v->i = ex_slot(x, s->fn, str_of(x->cx, "i"));
    memset(&s->fn->body, 0, sizeof s->fn->body);
    s->vmap = v;
    return !ctx_failed(x->cx);
}

/* Does a mark belong to the vmap around it, as its level says? */
static bool is_of(ExScope *s, const ExNode *n, size_t level, size_t n_args)
{
    const Expr *e = n->args.n >= n_args ? n->args.at[level].value : NULL;
    if (s->vmap && e && e->kind == X_INT && e->i == s->vmap->level)
        return true;
    return ex_bad(s->x, &n->inputs, "a mark of a vmap that is not the one around it");
}

static bool add_dim(ExScope *s, ExNode *n)
{
    ExResults r = { 0 };
    if (!is_of(s, n, 2, 3) || !ex_results(s, &n->outputs, &r))
        return false;
    Expr *sample = ex_op(s->x, "aten::select", n->args.at[0].value, n->args.at[1].value,
                         ex_local(s->x, s->vmap->i));
    ex_place(s->x, ex_assign(s, sample, &r.targets, false), n);
    return true;
}

static bool remove_dim(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExResults r = { 0 };
    if (!is_of(s, n, 1, 4) || !ex_results(s, &n->outputs, &r))
        return false;
    Stacked y = { ex_slot(x, s->fn, str_of(x->cx, "samples")), n->args.at[3].value, r.targets, *n };
    Expr *append = ex_op(x, "aten::append", ex_local(x, y.samples), n->args.at[0].value, NULL);
    Stmt *st = ex_stmt(x, S_EXPR, append);
    ex_place(x, st, n);
    return vec_push(x->cx, &s->fn->body, st) && vec_push(x->cx, &s->vmap->results, y);
}

/* The result of a vmap over no samples, of the type that the file records: there is nothing to
 * stack. */
static Expr *nothing_stacked(Exported *x, const Recorded *r)
{
    Expr *sizes = ex_expr(x, X_LIST);
    Expr *dtype = ex_expr(x, X_VALUE);
    sizes->items = new_array(x->cx, Expr *, (size_t)r->rank + 1);
    for (int i = 0; sizes->items && i < r->rank; i++)
        sizes->items[sizes->n++] = ex_int(x, r->dim[i].known);
    dtype->value = (Value){ .tag = V_DTYPE, .dtype = r->dtype };
    Expr *zeros = ex_op(x, "aten::zeros", sizes, dtype, NULL);
    if (zeros->n_args == 2)
        zeros->args[1].name = str_of(x->cx, "dtype");
    return zeros;
}

static bool is_known_to_be_empty(const ExVmap *v, const Stacked *y)
{
    const Recorded *r = y->targets.type.n ? &y->targets.type.at[0] : NULL;
    bool empty = v->count->kind == X_INT && v->count->i == 0 && r && !r->what;
    for (int i = 0; empty && i < r->rank; i++)
        empty = r->dim[i].known >= 0;
    return empty;
}

/* Behind the loop over samples each result, a list of what every iteration gave, is stacked along
 * its dimension. A result of no samples is an empty tensor of the recorded type. */
static bool end(ExScope *s, ExNode *n)
{
    Exported *x = s->x;
    ExVmap *v = s->vmap;
    if (!v)
        return ex_bad(x, &n->inputs, "the end of a vmap that has not begun");
    Stmt *loop = ex_stmt(x, S_FOR, v->count);
    loop->target = mem_copy(x->cx, &v->i, sizeof v->i);
    loop->n_target = 1;
    loop->body = (Block){ s->fn->body.at, (uint32_t)s->fn->body.n };
    ex_place(x, loop, n);
    memcpy(&s->fn->body, &v->outer.body, sizeof s->fn->body);
    s->vmap = v->up;
    for (size_t k = 0; k < v->results.n; k++)
        set(s, v->results.at[k].samples, ex_expr(x, X_LIST));
    vec_push(x->cx, &s->fn->body, loop);
    for (size_t k = 0; k < v->results.n; k++) {
        const Stacked *y = &v->results.at[k];
        Expr *all = is_known_to_be_empty(v, y)
            ? nothing_stacked(x, &y->targets.type.at[0])
            : ex_op(x, "aten::stack", ex_local(x, y->samples), y->dim, NULL);
        ex_place(x, ex_assign(s, all, &y->targets, false), &y->node);
    }
    return !ctx_failed(x->cx);
}

static Mark mark_of(Str target)
{
    static const struct {
        const char *target;
        Mark write;
    } marks[] = {
        { "torch._functorch.predispatch.lazy_load_decompositions", nothing },
        { "torch._functorch.predispatch._vmap_increment_nesting", begin },
        { "torch._functorch.predispatch._add_batch_dim", add_dim },
        { "torch._functorch.predispatch._remove_batch_dim", remove_dim },
        { "torch._functorch.predispatch._vmap_decrement_nesting", end },
    };
    for (size_t i = 0; i < COUNT(marks); i++)
        if (str_is(target, marks[i].target))
            return marks[i].write;
    return NULL;
}

bool ex_is_vmap(Str target) { return mark_of(target) != NULL; }
bool ex_write_vmap(ExScope *s, ExNode *n) { return mark_of(n->target)(s, n); }
