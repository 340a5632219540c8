/* view_call.c - calls whose result may share memory with their first argument.
 *
 * The row says what the view reads and writes, how its strides follow, and when it shares memory at
 * all. A copy gets memory of its own. Where it is unknown whether PyTorch makes a view or a copy,
 * the result gets memory of its own too, and writing to one makes reading the other an error. */
#include "ops/internal.h"

/* ---- what tensors see of a call ---- */

/* The call whose first member v is. */
static const OpCall *call_of(const View *v) { return (const OpCall *)v; }

/* The call once more, on what its base is now. */
static Op again(Graph *g, const OpCall *call, Ox base)
{
    return (Op){ .g = g, .cx = g->cx, .call = call, .row = call->row, .base = base };
}

static Ox read_again(Graph *g, const View *v, Ox base)
{
    Op op = again(g, call_of(v), base);
    return ox_ok(base) ? op.row->lower(&op) : POISON;
}

static Ox write_back(Graph *g, const View *v, Ox base, Ox part)
{
    Op op = again(g, call_of(v), base);
    if (!ox_ok(base) || !ox_ok(part))
        return POISON;
    if (!op.row->write)
        return op_fail(&op, E_UNSUPPORTED, "a tensor made by %s cannot be written to",
                       op.call->schema->name->s);
    return op.row->write(&op, base, part);
}

static bool strides_of(Ctx *cx, const View *v, Type old, const Dim *from, Type to, Dim *out)
{
    const OpCall *call = call_of(v);
    return call->row->strides && call->row->strides(cx, call, old, from, to, out);
}

static const View *join(Ctx *cx, const View *first, const View *v, int rank)
{
    const OpCall *a = call_of(first);
    const OpCall *b = call_of(v);
    const OpCall *both = a->row == b->row && b->row->join ? b->row->join(cx, a, b, rank) : NULL;
    return both ? &both->view : NULL;
}

static bool repeats(const View *v) { return call_of(v)->row->repeats; }

static const ViewKind view_kind = { read_again, write_back, strides_of, join, repeats };

const OpRow *row_of_view(const View *v) { return v->kind == &view_kind ? call_of(v)->row : NULL; }

void call_set_row(OpCall *call, const Candidate *c)
{
    call->view.kind = &view_kind;
    call->row = c->row;
    call->rule = c->rule;
    call->schema = c->schema;
}

/* Its tensors are copied as they are now: t_ may make one look another way later. */
OpCall *call_kept(Ctx *cx, const OpCall *call)
{
    OpCall *kept = mem_copy(cx, call, sizeof *call);
    kept->arg = mem_copy(cx, call->arg, (size_t)call->schema->n_param * sizeof *call->arg);
    if (!kept->arg)
        return NULL;
    for (int i = 0; i < call->schema->n_param; i++)
        if (kept->arg[i].tag == V_TENSOR)
            kept->arg[i].t = mem_copy(cx, kept->arg[i].t, sizeof *kept->arg[i].t);
    return kept;
}

/* ---- making one ---- */

/* The tensor that reads `read`: a view of base, base itself, or a copy, as the row says. */
static Tensor *view_of(Op *op, Tensor *base, Ox read)
{
    Tri shares = op->row->shares ? op->row->shares(op, base, read) : YES;
    if (shares == NO)
        return tensor_copy(op->cx, base, read);
    if (shares == UNKNOWN)
        return tensor_maybe_view(op->cx, base, op->call->schema->name, read);
    if (op->row->gives_itself && read == tensor_read(op->g, base))
        return tensor_given_back(op->cx, base);
    const OpCall *call = call_kept(op->cx, op->call);
    return tensor_view(op->cx, base, call ? &call->view : NULL, call ? read : POISON);
}

Value call_view(Op *op, CallForm form)
{
    Ox read = op->row->lower(op);
    Tensor *base = op->call->arg[0].t;
    if (!read || !ox_ok(read))
        return val_poison();
    if (form == FORM_IN_PLACE)
        return tensor_become(op->cx, base, view_of(op, base, read)) ? op->call->arg[0]
                                                                    : val_poison();
    if (form == FORM_COPY)
        return val_tensor(op->cx, read);
    return (Value){ .tag = V_TENSOR, .t = view_of(op, base, read) };
}
