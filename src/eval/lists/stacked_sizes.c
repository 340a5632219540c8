/* stacked_sizes.c - tensors filled with one number whose sizes are a list of which only the
 * running model knows the length: zeros(l), x.new_full(l, 2). The rank of such a tensor differs
 * between runs, so the model may only return it. For any other use the list is taken to be as
 * long as it can be. */
#include "eval/lists/stacked_ops.h"

static bool is_filling(Str name)
{
    static const char *const names[] = {
        "aten::zeros",     "aten::ones",     "aten::full",     "aten::empty",
        "aten::new_zeros", "aten::new_ones", "aten::new_full", "aten::new_empty",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* The least bound of n that is known; -1: none is. */
static int most_items(Ctx *cx, Dim n)
{
    for (int most = 0; most <= MAX_RANK; most++)
        if (dim_le(cx, n, dim_int(cx, most)) == YES)
            return most;
    return -1;
}

/* The number with which the tensor is filled, as a 0-d tensor that the operator itself makes,
 * for its dtype. */
static Ox filling_of(Eval *ev, Str name, const OpArg *args, size_t n)
{
    OpArg *plain = new_array(ev->cx, OpArg, n);
    if (!plain)
        return POISON;
    for (size_t i = 0; i < n; i++) {
        plain[i] = args[i];
        if (args[i].v.tag == V_LIST && args[i].v.list->stacked)
            plain[i].v = val_list(ev->cx, NULL, 0, "int");
    }
    Value made = op_call(ev->g, name, NULL, plain, n, NULL, 0);
    return made.tag == V_TENSOR ? tensor_read(ev->g, made.t) : POISON;
}

/* The filled tensor, whose rank the list decides when the model runs; the file states the
 * greatest rank. */
static Ox filled_as_it_runs(Eval *ev, Ox filling, Ox sizes, int most)
{
    Dim open[MAX_RANK];
    Ox made = ox_g(ev->g, "Expand", filling, sizes);
    for (int i = 0; i < most; i++)
        open[i] = dim_fresh(ev->cx, "u");
    rank_varies(ev->cx, made, type_tensor(ev->cx, ox_dtype(filling), most, open));
    return made;
}

/* The filled tensor of the greatest rank. */
static Ox filled_to_the_most(Eval *ev, Ox filling, Ox sizes, int most)
{
    note(ev->cx, NOTE_ASSUMED, "the list of sizes has %d items, the most that it can have", most);
    Ox count = ox_ints(ev->g, (int64_t[]){ most }, 1); /* Reshape makes the number of sizes known */
    Ox all = ox_g(ev->g, "Reshape", sizes, count);
    return ox_g(ev->g, "Expand", filling, all);
}

/* The filled tensor: of a rank that varies where the model only returns it, else of the most sizes
 * that the list can hold. */
static bool fill(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    Dim length = stacked_length(ev, s);
    Ox filling = filling_of(ev, name, args, n);
    Ox sizes = stacked_whole(ev, s);
    if (!length || !ox_ok(filling) || !ox_ok(sizes))
        return refusals_fail(cx);
    int most = most_items(cx, length);
    if (most < 0)
        return fail(cx, E_UNDECIDED,
                    "%s of a list of sizes of which nothing says how many it has at most", name->s);
    /* complex has an axis of parts behind those it knows */
    bool varies = !ev->g->up && rank_may_vary(cx) && !dtype_is_complex(ox_dtype(filling));
    Ox made = varies ? filled_as_it_runs(ev, filling, sizes, most)
                     : filled_to_the_most(ev, filling, sizes, most);
    *out = val_tensor(cx, made);
    return !ctx_failed(cx);
}

Outcome stacked_sizes_op(Eval *ev, Stacked *s, Str name, const OpArg *args, size_t n, Value *out)
{
    if (!is_filling(name) || !s->item.elem || strcmp(s->item.elem, "int"))
        return NOT_MINE;
    return outcome_of(fill(ev, s, name, args, n, out));
}
