/* dynamic_parts.c - lists of parts along an axis whose size only the running model knows:
 * unbind, chunk, split, their unsafe_ and _copy forms, and tensor_split. A statement that
 * unpacks the list says how many parts there are (a trace always does). Else the list is
 * stacked: the tensor itself for unbind, a sequence for the others, whose last part is shorter.
 * Where the number of parts is known ops/shape/split.c lowers these operators. */
#include "eval/lists/dynamic_parts.h"

#include <string.h>

#include "eval/lists/stacked.h"

typedef struct Cut {
    Eval *ev;
    Tensor *t;
    Ox x;
    int axis;
    Dim size;
    uint32_t wanted; /* parts that the statement unpacks; 0: not known */
    bool copies;     /* the parts share no memory with t */
} Cut;

static Value argument(const OpArg *args, size_t n, size_t place, const char *name, Value deflt)
{
    for (size_t i = 0; i < n; i++)
        if (args[i].name ? str_is(args[i].name, name) : i == place)
            return args[i].v;
    return deflt;
}

/* Reads the tensor and the axis that the call cuts. False: not a call that this file handles. */
static bool find_cut(Eval *ev, const OpArg *args, size_t n, Value dim, Cut *out)
{
    Value self = argument(args, n, 0, "self", val_none());
    if (self.tag != V_TENSOR || dim.tag != V_INT || (self.t->kind && self.t->kind != PLAIN))
        return false;
    Type type = tensor_type(self.t);
    int64_t axis = dim.i < 0 ? dim.i + type->rank : dim.i;
    if (type->rank < 1 || axis < 0 || axis >= type->rank)
        return false;
    out->ev = ev, out->t = self.t, out->x = tensor_read(ev->g, self.t), out->axis = (int)axis;
    out->size = ox_ok(out->x) ? ox_dim(out->x, out->axis) : NULL;
    return out->size != NULL;
}

/* The parts as a stacked list, `whole`. of: says which view of the tensor each part is; NULL:
 * the parts are copies, or it is not known where they lie. */
static bool in_list(const Cut *c, ItemType item, const PartsOf *of, Ox whole, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (!ox_ok(whole))
        return false;
    Stacked *s = stacked_new(cx, item, whole);
    if (of && !c->copies)
        s->parts_of = mem_copy(cx, of, sizeof *of);
    if (!c->copies)
        tensor_maybe_shared(cx, c->t, s->memory, why_shared(cx));
    s->loose = c->axis > 0 || tensor_contiguous(cx, c->t) != YES;
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

/* Of unbind(x)[i], x.select(axis, i); of split(x, 2)[i], x[2 * i : 2 * i + 2]. */
Outcome part_of_tensor(Eval *ev, const PartsOf *p, Dim i, Value *out)
{
    Ctx *cx = ev->cx;
    Dim zero = dim_int(cx, 0);
    /* split gives one part at least, of no size if there is nothing */
    bool there = dim_is(i, 0) || dim_is(i, -1);
    if (dim_lt(cx, i, zero) == YES)
        i = dim_add(cx, i, p->count);
    /* A part of split is a slice, and a slice beyond the end is no error. */
    bool inside = !p->each || there ||
        (dim_le(cx, zero, i) == YES && dim_lt(cx, i, p->count) == YES);
    if (!inside || ctx_failed(cx))
        return outcome_not_mine(cx);
    Dim start = p->each ? dim_mul(cx, i, p->each) : i;
    OpArg args[4] = { { NULL, { .tag = V_TENSOR, .t = p->t } },
                      { NULL, val_int(p->axis) },
                      { NULL, val_dim(cx, start) } };
    if (p->each)
        args[3].v = val_dim(cx, dim_add(cx, start, p->each));
    Str op = str_of(cx, p->each ? "aten::slice" : "aten::select");
    *out = op_call(ev->g, op, NULL, args, p->each ? 4 : 3, NULL, 0);
    return outcome_done(cx);
}

/* ---- unbind: as many as the axis is long ---- */

static bool unbind_all(const Cut *c, Value *out)
{
    int64_t perm[MAX_RANK] = { c->axis };
    int rank = ox_rank(c->x);
    for (int i = 0, k = 1; i < rank; i++)
        if (i != c->axis)
            perm[k++] = i;
    Ox whole = c->axis == 0
        ? c->x
        : ox_g_with(c->ev->g, "Transpose", INPUTS(c->x), INT_LIST("perm", perm, (size_t)rank));
    PartsOf of = { tensor_alias(c->ev->cx, c->t), c->axis, NULL, c->size };
    return in_list(c, (ItemType){ .elem = "Tensor", .type = part_type(c, true) }, &of, whole, out);
}

/* `a, b = x.unbind(0)`: two selects, and x has size 2 along the axis, or the model would raise. */
static bool unbind_some(const Cut *c, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (!dim_require(cx, c->size, dim_int(cx, c->wanted), "the program takes %u items of it",
                     c->wanted))
        return false;
    Value *v = new_array(cx, Value, c->wanted);
    if (!v)
        return false;
    for (uint32_t i = 0; i < c->wanted; i++) {
        OpArg args[] = { { NULL, { .tag = V_TENSOR, .t = c->t } },
                         { NULL, val_int(c->axis) },
                         { NULL, val_int(i) } };
        v[i] = op_call(c->ev->g, str_of(cx, c->copies ? "aten::select_copy" : "aten::select"), NULL,
                       args, COUNT(args), NULL, 0);
    }
    *out = val_list(cx, v, c->wanted, "Tensor");
    return !ctx_failed(cx);
}

/* ---- chunk and split: parts of one size, and what is left ---- */

/* lengths: one of all, but for the last; or those of each */
static bool in_sequence(const Cut *c, Ox lengths, const PartsOf *of, Value *out)
{
    Ox whole = ox_g_with(c->ev->g, "SplitToSequence", INPUTS(c->x, lengths), INT("axis", c->axis));
    return in_list(c, (ItemType){ .elem = "Tensor", .type = part_type(c, false), .ragged = true },
                   of, whole, out);
}

static bool cut_all(const Cut *c, Dim each, Value *out)
{
    Ctx *cx = c->ev->cx;
    if (dim_lt(cx, dim_int(cx, 0), c->size) != YES)
        note(cx, NOTE_ASSUMED, "%s is not 0 when the model runs: the parts of nothing are none",
             dim_text(cx, c->size)->s);
    PartsOf of = { tensor_alias(cx, c->t), c->axis, each, dim_ceildiv(cx, c->size, each) };
    return in_sequence(c, ox_dim_value(c->ev->g, each), &of, out);
}

/* The parts that the statement unpacks, by slices. The last part has all that is left. */
static bool cut_some(const Cut *c, Dim each, Value *out)
{
    Ctx *cx = c->ev->cx;
    List *sizes = list_new(cx, c->wanted, str_of(cx, "int"));
    Dim left = c->size;
    Dim zero = dim_int(cx, 0);
    for (uint32_t i = 0; i < c->wanted && left; i++) {
        list_append(cx, sizes, val_dim(cx, i + 1 == c->wanted ? left : dim_min(cx, each, left)));
        left = dim_max(cx, zero, dim_sub(cx, left, each));
    }
    if (ctx_failed(cx))
        return false;
    note(cx, NOTE_ASSUMED,
         "parts of %s of a size of %s are %u when the model runs, as many as the program takes",
         dim_text(cx, each)->s, dim_text(cx, c->size)->s, c->wanted);
    OpArg args[] = { { NULL, { .tag = V_TENSOR, .t = c->t } },
                     { NULL, { .tag = V_LIST, .list = sizes } },
                     { NULL, val_int(c->axis) } };
    *out = op_call(c->ev->g,
                   str_of(cx, c->copies ? "aten::split_with_sizes_copy" : "aten::split_with_sizes"),
                   NULL, args, COUNT(args), NULL, 0);
    return !ctx_failed(cx);
}

/* Is the number of parts known, so that ops/shape/split.c can name them? */
static bool is_counted(Ctx *cx, const Cut *c, Dim each, Dim chunks)
{
    Dim ignored;
    return (dim_known(c->size, NULL) && dim_known(each, NULL)) ||
        (chunks ? dim_divide(cx, c->size, chunks, &ignored) && dim_known(chunks, NULL)
                : dim_eq(cx, each, c->size) == YES);
}

/* chunk and split: parts of size `each`. chunks: the number of parts, NULL for split. NOT_MINE:
 * the number of parts is known. */
static Outcome cut(const Cut *c, Dim each, Dim chunks, Value *out)
{
    if (!each || is_counted(c->ev->cx, c, each, chunks))
        return outcome_not_mine(c->ev->cx);
    return outcome_of(c->wanted ? cut_some(c, each, out) : cut_all(c, each, out));
}

/* ---- tensor_split into a number of parts that is open: the first ones are one longer, as many as
 * the division leaves ---- */

static Ox even_lengths(Graph *g, Dim size, Dim parts)
{
    Ox n = ox_dim_value(g, parts);
    Ox whole = ox_dim_value(g, size);
    Ox zero = ox_int(g, 0);
    Ox one = ox_int(g, 1);
    Ox each = ox_g(g, "Div", whole, n);
    Ox more = ox_g(g, "Sub", whole, ox_g(g, "Mul", each, n));
    Ox first = ox_g(g, "Less", ox_g(g, "Range", zero, n, one), more);
    return ox_g(g, "Add", ox_cast(g, first, DT_INT64), each);
}

static Outcome cut_evenly(Cut *c, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = c->ev->cx;
    Dim parts;
    Value number = argument(args, n, 1, "sections", val_none());
    if (number.tag != V_SYMINT || !val_dim_of(number, cx, &parts) ||
        !find_cut(c->ev, args, n, argument(args, n, 2, "dim", val_int(0)), c))
        return outcome_not_mine(cx);
    if (dim_lt(cx, dim_int(cx, 0), parts) != YES)
        note(cx, NOTE_ASSUMED, "%s is more than 0 when the model runs: tensor_split asks for that",
             dim_text(cx, parts)->s);
    return outcome_of(in_sequence(c, even_lengths(c->ev->g, c->size, parts), NULL, out));
}

/* "unsafe_chunk" and "chunk_copy" are chunk. */
static Str plain_name(Ctx *cx, Str name, bool *copies)
{
    static const char *const before[] = { "aten::unsafe_", "aten::" };
    *copies = str_ends(name, "_copy");
    for (size_t i = 0; i < COUNT(before); i++) {
        size_t skip = strlen(before[i]);
        if (str_starts(name, before[i]))
            return str_n(cx, name->s + skip, name->len - skip - (*copies ? strlen("_copy") : 0));
    }
    return str_of(cx, "");
}

bool is_cut(Str name)
{
    return strstr(name->s, "unbind") || strstr(name->s, "chunk") || strstr(name->s, "split");
}

/* unbind along an axis of unknown size: the list is as long as the axis. */
static Outcome unbind(Cut *c, const OpArg *args, size_t n, Value *out)
{
    if (!find_cut(c->ev, args, n, argument(args, n, 1, "dim", val_int(0)), c) ||
        dim_known(c->size, NULL))
        return outcome_not_mine(c->ev->cx);
    return outcome_of(c->wanted ? unbind_some(c, out) : unbind_all(c, out));
}

/* chunk(x, chunks, dim), split(x, split_size, dim) */
static Outcome chunk_or_split(Cut *c, bool chunks, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = c->ev->cx;
    Dim number;
    Value given = argument(args, n, 1, chunks ? "chunks" : "split_size", val_none());
    if (!val_dim_of(given, cx, &number) || dim_lt(cx, number, dim_int(cx, 1)) == YES ||
        !find_cut(c->ev, args, n, argument(args, n, 2, "dim", val_int(0)), c))
        return outcome_not_mine(cx);
    return chunks ? cut(c, dim_ceildiv(cx, c->size, number), number, out)
                  : cut(c, number, NULL, out);
}

Outcome dynamic_parts(Eval *ev, Str name, const OpArg *args, size_t n, uint32_t wanted, Value *out)
{
    Ctx *cx = ev->cx;
    Cut c = { .ev = ev, .wanted = wanted };
    if (!is_cut(name) || argument(args, n, SIZE_MAX, "out", val_none()).tag != V_NONE)
        return NOT_MINE;
    Str plain = plain_name(cx, name, &c.copies);
    if (str_is(plain, "unbind"))
        return unbind(&c, args, n, out);
    if (str_is(plain, "tensor_split"))
        return cut_evenly(&c, args, n, out);
    if (str_is(plain, "chunk") || str_is(plain, "split"))
        return chunk_or_split(&c, str_is(plain, "chunk"), args, n, out);
    return NOT_MINE;
}
