/* recorded.c - what a file records about the results of a statement, compared with what pt2onnx
 * computed.
 *
 * Every result of every kind of call is compared, those of higher-order operators and lists too. A
 * difference that is certain is an error. A size that is dynamic - how many items nonzero found,
 * what item() gave - becomes the file's own symbol, with the range that the program's checks gave
 * this symbol. */
#include "eval/internal.h"

static bool differs(Eval *ev, const Stmt *s, uint32_t i, Str ours, Str theirs)
{
    const Expr *e = s->value;
    Str name = e && e->kind == X_OP ? e->op->name : str_of(ev->cx, "the result");
    return record_fail(ev->cx, name, (int)i, theirs, ours);
}

/* Is d a symbol whose number no value has yet? */
static bool is_unknown(Eval *ev, Dim d)
{
    Ox known;
    int at;
    if (!dim_is_sym(d, NULL) || dim_origin(ev->cx, d, &known, &at))
        return false;
    for (const Graph *g = ev->g; g; g = g->up)
        for (size_t i = 0; i < g->inputs.n; i++)
            for (int k = 0; k < ox_rank(g->inputs.at[i]); k++)
                if (dim_has(ox_dim(g->inputs.at[i], k), d))
                    return false;
    return true;
}

/* Ours and the file's are the same number, so what is known of one holds for the other. A symbol of
 * the file's that has no number yet is the size of v on this axis (-1: v itself) where ours is a
 * fresh symbol. Where ours is an older number, as in
 *     u1 = repeat_interleave(x, [1, u0]).size(0), which is u0 + 1
 * it is that one: an older symbol must not rest on a value that is made later.
 *
 * Of a number that sizes of inputs give nothing is learnt, as the file's holds for most sizes only:
 * torch.export records that x[-s17:] has s17 rows, but of 0 rows it has all of x. */
static bool same_number(Eval *ev, Dim ours, Dim theirs, Ox v, int axis)
{
    Ctx *cx = ev->cx;
    if (dim_eq(cx, ours, theirs) == YES)
        return true;
    if (is_unknown(ev, theirs)) {
        if (!dim_is_fresh(ours) && !dim_has(ours, theirs))
            return dim_define(cx, theirs, ours);
        if (v) {
            dim_origin(cx, ours, &v, &axis); /* that is made no later */
            dim_set_origin(cx, theirs, v, axis);
        }
    }
    return !dim_has_fresh(cx, ours) || dim_assume(cx, REL_EQ, ours, theirs);
}

/* Result i of s is t: rank and type must be as recorded, and each size may not be certain to
 * differ. The file says float32[u0, 4], pt2onnx has computed float32[nonzero_0, 4]: these are
 * compatible, and u0 is nonzero_0 from here on. */
static bool check_tensor(Eval *ev, const Stmt *s, uint32_t i, Tensor *t)
{
    Ctx *cx = ev->cx;
    Type ours = tensor_type(t);
    Type theirs = recorded_type(cx, &s->meta->recorded[i]);
    if (!theirs || t->kind != PLAIN || ours->rank < 0)
        return true;
    bool same = ours->rank == theirs->rank &&
        (ours->dtype == theirs->dtype || ours->dtype == DT_NONE);
    for (int k = 0; same && k < ours->rank; k++)
        same = dim_eq(cx, ours->dim[k], theirs->dim[k]) != NO;
    if (!same)
        return record_erred(cx, tensor_read(ev->g, t)) ||
            differs(ev, s, i, type_text(cx, ours), type_text(cx, theirs));
    for (int k = 0; k < ours->rank; k++)
        if (s->meta->recorded[i].dim[k].expr &&
            !same_number(ev, ours->dim[k], theirs->dim[k], t->read, k))
            return false;
    return true;
}

static bool check_int(Eval *ev, const Stmt *s, uint32_t i, Value v)
{
    Dim ours;
    Dim theirs = s->meta->recorded[i].dim ? recorded_dim(ev->cx, s->meta->recorded[i].dim) : NULL;
    Ox from = NULL;
    int axis = 0;
    if (!theirs || !val_dim_of(v, ev->cx, &ours))
        return true;
    if (dim_eq(ev->cx, ours, theirs) == NO)
        return differs(ev, s, i, dim_text(ev->cx, ours), dim_text(ev->cx, theirs));
    dim_origin(ev->cx, ours, &from, &axis);
    return same_number(ev, ours, theirs, from, axis);
}

static bool check_result(Eval *ev, const Stmt *s, uint32_t i)
{
    const Recorded *r = &s->meta->recorded[i];
    Value v = ev->frame->locals->slot[s->target[i]].v;
    if (v.tag == V_TENSOR && !r->what && r->dtype != DT_NONE)
        return check_tensor(ev, s, i, v.t);
    if (r->what && str_is(r->what, "int"))
        return check_int(ev, s, i, v);
    return true;
}

/* Is torch's record of the first result one of the wrong rank (record_erred in ops/ops.h)? Then no
 * result of the statement is compared: the recorded sizes of the others are wrong too. */
static bool recorded_in_error(Eval *ev, const Stmt *s)
{
    if (!s->meta->recorded || s->meta->n_recorded == 0 || s->n_target == 0)
        return false;
    Value v = ev->frame->locals->slot[s->target[0]].v;
    Type theirs = recorded_type(ev->cx, &s->meta->recorded[0]);
    return v.tag == V_TENSOR && theirs && theirs->rank != tensor_type(v.t)->rank &&
        record_erred(ev->cx, tensor_read(ev->g, v.t));
}

bool recorded_agree(Eval *ev, const Stmt *s)
{
    if (recorded_in_error(ev, s))
        return !ctx_failed(ev->cx);
    for (uint32_t i = 0; s->meta->recorded && i < s->meta->n_recorded && i < s->n_target; i++)
        if (!check_result(ev, s, i))
            return false;
    return !ctx_failed(ev->cx);
}
