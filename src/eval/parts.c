/* parts.c - lists of parts along an axis whose size only the running model knows: unbind, chunk, split.
 *
 * A statement that takes the list apart says how many there are (a trace always does); else the list is stacked: the tensor itself for unbind, a
 * sequence for the others, whose last part is shorter. Where the number is known ops/split.c has them all. */
#include "eval/stacked.h"

#include <string.h>

typedef struct Cut {
    Eval *ev;
    Tensor *t;
    Ox x;
    int axis;
    Dim size;
    uint32_t wanted;                /* parts that the statement takes; 0: not told */
} Cut;

static Value argument(const OpArg *args, size_t n, size_t place, const char *name, Value deflt)
{
    for (size_t i = 0; i < n; i++)
        if (args[i].name ? str_is(args[i].name, name) : i == place)
            return args[i].v;
    return deflt;
}

/* False: nothing for us. */
static bool find_cut(Eval *ev, const OpArg *args, size_t n, Value dim, uint32_t wanted, Cut *out)
{
    Value self = argument(args, n, 0, "self", val_none());
    if (self.tag != V_TENSOR || dim.tag != V_INT || (self.t->kind && self.t->kind != PLAIN))
        return false;
    Type type = tensor_type(self.t);
    int64_t axis = dim.i < 0 ? dim.i + type->rank : dim.i;
    if (type->rank < 1 || axis < 0 || axis >= type->rank)
        return false;
    *out = (Cut){ .ev = ev, .t = self.t, .x = tensor_read(ev->g, self.t), .axis = (int)axis, .wanted = wanted };
    out->size = ox_ok(out->x) ? ox_dim(out->x, out->axis) : NULL;
    return out->size != NULL;
}

/* each: NULL of unbind */
static bool in_list(const Cut *c, ItemType item, Dim each, Ox whole, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (!ox_ok(whole))
        return false;
    Stacked *s = stacked_new(cx, item, whole);
    PartsOf of = { tensor_alias(cx, c->t), c->axis, each, each ? dim_ceildiv(cx, c->size, each) : c->size };
    s->parts_of = mem_copy(cx, &of, sizeof of);
    tensor_maybe_shared(cx, c->t, s->memory, why_shared(cx));
    *out = (Value){ .tag = V_LIST, .list = list_new(cx, 0, str_of(cx, "Tensor")) };
    list_stack(cx, out->list, s);
    return !ctx_failed(cx);
}

/* The type of a part: without its axis (unbind), or with another size along it. */
static Type part_type(const Cut *c, bool without)
{
    Dim dim[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < ox_rank(c->x); i++)
        if (i != c->axis || !without)
            dim[rank++] = i == c->axis ? dim_fresh(c->ev->cx, "d") : ox_dim(c->x, i);
    return type_tensor(c->ev->cx, ox_dtype(c->x), rank, dim);
}

bool part_of_tensor(Eval *ev, const PartsOf *p, Dim i, bool *mine, Value *out)
{
    Ctx *cx = ev->cx;
    Dim zero = dim_int(cx, 0);
    bool there = dim_is(i, 0) || dim_is(i, -1);             /* split gives one part at least, of no size if there is nothing */
    if (dim_lt(cx, i, zero) == YES)
        i = dim_add(cx, i, p->count);
    *mine = !p->each || there || (dim_le(cx, zero, i) == YES && dim_lt(cx, i, p->count) == YES);     /* a slice beyond the end is no error */
    if (!*mine || ctx_failed(cx))
        return !ctx_failed(cx);
    Dim start = p->each ? dim_mul(cx, i, p->each) : i;
    OpArg args[] = { { NULL, { .tag = V_TENSOR, .t = p->t } }, { NULL, val_int(p->axis) }, { NULL, val_dim(cx, start) },
                     { NULL, p->each ? val_dim(cx, dim_add(cx, start, p->each)) : val_none() } };
    *out = op_call(ev->g, str_of(cx, p->each ? "aten::slice" : "aten::select"), NULL, args, p->each ? 4 : 3, NULL, 0);
    return !ctx_failed(cx);
}

/* ---- unbind: as many as the axis is long ---- */

static bool unbind_all(const Cut *c, Value *out)
{
    int64_t perm[MAX_RANK] = { c->axis };
    int rank = ox_rank(c->x);
    for (int i = 0, k = 1; i < rank; i++)
        if (i != c->axis)
            perm[k++] = i;
    Ox whole = c->axis == 0 ? c->x : ox_g_with(c->ev->g, "Transpose", INPUTS(c->x), INT_LIST("perm", perm, (size_t)rank));
    return in_list(c, (ItemType){ .elem = "Tensor", .type = part_type(c, true) }, NULL, whole, out);
}

static bool unbind_some(const Cut *c, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (!dim_require(cx, c->size, dim_int(cx, c->wanted), "the program takes %u items of it", c->wanted))
        return false;
    Value *v = new_array(cx, Value, c->wanted);
    for (uint32_t i = 0; v && i < c->wanted; i++) {
        OpArg args[] = { { NULL, { .tag = V_TENSOR, .t = c->t } }, { NULL, val_int(c->axis) }, { NULL, val_int(i) } };
        v[i] = op_call(c->ev->g, str_of(cx, "aten::select"), NULL, args, COUNT(args), NULL, 0);
    }
    *out = v ? val_list(cx, v, c->wanted, "Tensor") : val_poison();
    return !ctx_failed(cx);
}

/* ---- chunk and split: parts of one size, and what is left ---- */

static bool cut_all(const Cut *c, Dim each, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (dim_lt(cx, dim_int(cx, 0), c->size) != YES)
        note(cx, NOTE_ASSUMED, "%s is not 0 when the model runs: the parts of nothing are none", dim_text(cx, c->size)->s);
    Ox length = ox_dim_value(c->ev->g, each);
    Ox whole = ox_g_with(c->ev->g, "SplitToSequence", INPUTS(c->x, length), INT("axis", c->axis));
    return in_list(c, (ItemType){ .elem = "Tensor", .type = part_type(c, false), .ragged = true }, each, whole, out);
}

/* The last one has all that is left. */
static bool cut_some(const Cut *c, Dim each, Value *out)
{
    Ctx *cx = c->ev->cx;
    List *sizes = list_new(cx, c->wanted, str_of(cx, "int"));
    Dim left = c->size, zero = dim_int(cx, 0);
    for (uint32_t i = 0; i < c->wanted && left; i++) {
        list_append(cx, sizes, val_dim(cx, i + 1 == c->wanted ? left : dim_min(cx, each, left)));
        left = dim_max(cx, zero, dim_sub(cx, left, each));
    }
    if (ctx_failed(cx))
        return false;
    note(cx, NOTE_ASSUMED, "parts of %s of a size of %s are %u when the model runs, as many as the program takes", dim_text(cx, each)->s,
         dim_text(cx, c->size)->s, c->wanted);
    OpArg args[] = { { NULL, { .tag = V_TENSOR, .t = c->t } }, { NULL, { .tag = V_LIST, .list = sizes } }, { NULL, val_int(c->axis) } };
    *out = op_call(c->ev->g, str_of(cx, "aten::split_with_sizes"), NULL, args, COUNT(args), NULL, 0);
    return !ctx_failed(cx);
}

/* Is the number of parts known, so that ops/split.c can name them? */
static bool is_counted(Ctx *cx, const Cut *c, Dim each, Dim chunks)
{
    Dim ignored;
    return (dim_known(c->size, NULL) && dim_known(each, NULL)) || (chunks ? dim_divide(cx, c->size, chunks, &ignored) && dim_known(chunks, NULL) : dim_eq(cx, each, c->size) == YES);
}

static bool cut(const Cut *c, Dim each, Dim chunks, bool *mine, Value *out)
{
    if (!each || is_counted(c->ev->cx, c, each, chunks))
        return !ctx_failed(c->ev->cx);
    *mine = true;
    return c->wanted ? cut_some(c, each, out) : cut_all(c, each, out);
}

bool open_parts(Eval *ev, Str name, const OpArg *args, size_t n, uint32_t wanted, bool *mine, Value *out)
{
    Ctx *cx = ev->cx;
    bool chunks = str_is(name, "aten::chunk");
    Cut c;
    Dim number;
    *mine = false;
    if (str_is(name, "aten::unbind")) {
        if (!find_cut(ev, args, n, argument(args, n, 1, "dim", val_int(0)), wanted, &c) || dim_known(c.size, NULL))
            return !ctx_failed(cx);
        *mine = true;
        return wanted ? unbind_some(&c, out) : unbind_all(&c, out);
    }
    if (!chunks && !str_is(name, "aten::split"))
        return true;
    if (!val_dim_of(argument(args, n, 1, chunks ? "chunks" : "split_size", val_none()), cx, &number) || dim_lt(cx, number, dim_int(cx, 1)) == YES ||
        !find_cut(ev, args, n, argument(args, n, 2, "dim", val_int(0)), wanted, &c))
        return !ctx_failed(cx);
    return cut(&c, chunks ? dim_ceildiv(cx, c.size, number) : number, chunks ? number : NULL, mine, out);
}
