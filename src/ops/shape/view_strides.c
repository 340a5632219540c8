/* view_strides.c - how the strides of a view follow from those of its base: the column `strides` of
 * view rows.
 *
 * A function fills `out`, an entry for each axis of the view (type `to`), from `from`, those of its
 * base (type `old`), in elements; false: the arguments do not tell. No error is ever made here: the
 * call itself has been checked. */
#include "ops/shape/view_strides.h"

static Value call_arg(const OpCall *call, const char *name)
{
    for (int i = 0; i < call->schema->n_param; i++)
        if (str_is(call->schema->param[i].name, name))
            return call->arg[i];
    return val_none();
}

static bool call_axis(const OpCall *call, const char *name, int rank, int *axis)
{
    Value v = call_arg(call, name);
    if (v.tag != V_INT || v.i < -rank || v.i >= rank)
        return false;
    *axis = (int)(v.i < 0 ? v.i + rank : v.i);
    return true;
}

bool strides_permute(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)to;
    Value dims = call_arg(call, "dims");
    if (dims.tag != V_TUPLE ||
        dims.tuple->n != old->rank) /* bound lists are snapshots: ops/bind.c */
        return false;
    for (int i = 0; i < old->rank; i++) {
        Value v = dims.tuple->at[i];
        if (v.tag != V_INT || v.i < -old->rank || v.i >= old->rank)
            return false;
        out[i] = from[v.i < 0 ? v.i + old->rank : v.i];
    }
    return true;
}

static bool swapped(int rank, int a, int b, const Dim *from, Dim *out)
{
    memcpy(out, from, (size_t)rank * sizeof *out);
    if (rank) {
        out[a] = from[b];
        out[b] = from[a];
    }
    return true;
}

bool strides_transpose(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)to;
    int a, b;
    return call_axis(call, "dim0", old->rank, &a) && call_axis(call, "dim1", old->rank, &b) &&
        swapped(old->rank, a, b, from, out);
}

bool strides_t(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)call, (void)to;
    return old->rank <= 2 && swapped(old->rank, 0, old->rank - 1, from, out);
}

bool strides_m_t(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)call, (void)to;
    return swapped(old->rank, old->rank < 2 ? 0 : old->rank - 2, old->rank - 1, from, out);
}

bool strides_slice(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)to;
    int axis;
    Value step = call_arg(call, "step");
    if (!call_axis(call, "dim", old->rank, &axis) || (step.tag != V_INT && step.tag != V_NONE))
        return false;
    memcpy(out, from, (size_t)old->rank * sizeof *out);
    if (step.tag == V_INT)
        out[axis] = dim_mul(cx, from[axis], dim_int(cx, step.i));
    return out[axis] != NULL;
}

bool strides_select(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)to;
    int axis;
    if (!call_axis(call, "dim", old->rank, &axis))
        return false;
    for (int i = 0, o = 0; i < old->rank; i++)
        if (i != axis)
            out[o++] = from[i];
    return true;
}

/* The other axes, then the one that steps along both. */
bool strides_diagonal(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)to;
    int a, b, o = 0;
    if (!call_axis(call, "dim1", old->rank, &a) || !call_axis(call, "dim2", old->rank, &b))
        return false;
    for (int i = 0; i < old->rank; i++)
        if (i != a && i != b)
            out[o++] = from[i];
    out[o] = dim_add(cx, from[a], from[b]);
    return out[o] != NULL;
}

/* The new axis has size 1, so no answer depends on its stride; PyTorch gives it the stride of the
 * next axis times that axis's size. */
bool strides_unsqueeze(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)to;
    int axis;
    if (!call_axis(call, "dim", old->rank + 1, &axis))
        return false;
    for (int i = 0; i < old->rank; i++)
        out[i < axis ? i : i + 1] = from[i];
    out[axis] = axis < old->rank ? dim_mul(cx, old->dim[axis], from[axis]) : dim_int(cx, 1);
    return out[axis] != NULL;
}

/* squeeze of axes whose size is 1 in `old`: those that the result lacks, when the sizes tell
 * which. */
bool strides_squeeze(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)call;
    int o = 0;
    for (int i = 0; i < old->rank; i++) {
        bool single = dim_is(old->dim[i], 1);
        if (single && o + (old->rank - i) > to->rank)
            continue;
        if (o >= to->rank)
            return false;
        out[o++] = from[i];
    }
    return o == to->rank;
}

/* 0 along what is repeated. An added axis of size 1 repeats nothing: it steps over all that is
 * behind it, x.expand(1, -1, -1) of [3, 3] by 9. */
bool strides_expand(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)call;
    int added = to->rank - old->rank;
    for (int i = to->rank - 1; i >= 0; i--) {
        int o = i - added;
        bool kept = o >= 0 && dim_eq(cx, old->dim[o], to->dim[i]) == YES;
        bool single = o < 0 && old->rank > 0 && dim_is(to->dim[i], 1);
        if (o >= 0 && !kept && !dim_is(old->dim[o], 1))
            return false;
        out[i] = kept ? from[o] : dim_int(cx, 0);
        if (single)
            out[i] = dim_mul(cx, to->dim[i + 1], out[i + 1]);
        if (!out[i])
            return false;
    }
    return added >= 0;
}

bool strides_same(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)cx, (void)call, (void)to;
    memcpy(out, from, (size_t)old->rank * sizeof *out);
    return true;
}

bool strides_view(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out)
{
    (void)call;
    return view_strides(cx, old, from, to, out) == YES;
}

/* ---- a slice of a slice is one slice ---- */

typedef struct SliceArgs {
    int axis;
    int64_t start, end, step;
} SliceArgs;

/* A slice of known numbers; false where one is dynamic or counts from the end, which needs the
 * axis's size. */
static bool slice_args(const OpCall *call, int rank, SliceArgs *out)
{
    Value start = call_arg(call, "start");
    Value end = call_arg(call, "end");
    Value step = call_arg(call, "step");
    if (!call_axis(call, "dim", rank, &out->axis))
        return false;
    if ((start.tag != V_INT && start.tag != V_NONE) || (end.tag != V_INT && end.tag != V_NONE) ||
        step.tag != V_INT)
        return false;
    out->start = start.tag == V_INT ? start.i : 0;
    out->end = end.tag == V_INT ? end.i : INT64_MAX;
    out->step = step.i;
    return out->start >= 0 && out->end >= 0 && out->step >= 1;
}

/* Slice b of slice a: indices are a.start + a.step*(b.start + b.step*i), below both ends.
 * x[2:10][1:4] is x[3:6]. False on overflow. */
static bool slice_join(SliceArgs a, SliceArgs b, SliceArgs *out)
{
    int64_t end;
    if (a.axis != b.axis || !mul_ok(b.start, a.step, &out->start) ||
        !add_ok(out->start, a.start, &out->start) || !mul_ok(a.step, b.step, &out->step))
        return false;
    if (!mul_ok(b.end, a.step, &end) || !add_ok(end, a.start, &end))
        end = INT64_MAX;
    out->end = end < a.end ? end : a.end;
    out->axis = a.axis;
    return true;
}

/* A call like this one, with these arguments; NULL when there is no memory. */
static const OpCall *slice_call(Ctx *cx, const OpCall *like, SliceArgs s)
{
    OpCall *c = call_kept(cx, like);
    if (!c)
        return NULL;
    for (int i = 0; i < c->schema->n_param; i++) {
        Str name = c->schema->param[i].name;
        if (str_is(name, "dim"))
            c->arg[i] = val_int(s.axis);
        else if (str_is(name, "start"))
            c->arg[i] = val_int(s.start);
        else if (str_is(name, "end"))
            c->arg[i] = val_int(s.end);
        else if (str_is(name, "step"))
            c->arg[i] = val_int(s.step);
    }
    return c;
}

const OpCall *join_slices(Ctx *cx, const OpCall *first, const OpCall *second, int rank)
{
    SliceArgs a, b, both;
    if (!slice_args(first, rank, &a) || !slice_args(second, rank, &b) || !slice_join(a, b, &both))
        return NULL;
    return slice_call(cx, second, both);
}
