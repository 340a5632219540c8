/* symbols.c - the names that a .pt2 has for sizes and numbers (s77), with what is known of them
 * from the start; and --dim, which gives one another name. */
#include "eval/internal.h"

typedef struct Symbols {
    Eval *ev;
    Map sizes;   /* names of sizes of tensors */
    Map numbers; /* names of ints that forward takes */
} Symbols;

static void add_names(Symbols *all)
{
    const Program *p = all->ev->p;
    for (uint32_t i = 0; i < p->n_input; i++) {
        const InputDecl *in = &p->input[i];
        bool is_number = in->type && in->dim;
        for (int k = 0; k < in->rank; k++)
            if (in->dim[k].expr)
                map_put(all->ev->cx, &all->sizes, in->dim[k].expr, NULL);
        if (is_number && in->dim->expr)
            map_put(all->ev->cx, &all->numbers, in->dim->expr, NULL);
    }
}

/* The least that a symbol can be. torch.export has made special cases of the sizes 0 and 1, and
 * writes 2 for each dynamic size, but lets the program run with 0 and 1: its own module() checks
 * lower bounds from 3 on. Of an int that is no size it writes 0, and takes negative ones. */
static int64_t least(const Symbols *all, const SymbolDecl *s)
{
    bool is_number = map_find(&all->numbers, s->name) && !map_find(&all->sizes, s->name);
    if (s->lo == 2)
        return 0;
    return is_number && s->lo == 0 ? INT64_MIN : s->lo;
}

/* The symbol of this name, with what the file says of s. */
static Dim declare(const Symbols *all, Str name, const SymbolDecl *s)
{
    Ctx *cx = all->ev->cx;
    int64_t lo = least(all, s);
    Dim d = lo < 0 ? dim_sym_int(cx, name) : dim_sym(cx, name);
    dim_set_range(cx, d, lo, s->hi);
    return d;
}

static bool no_symbol(Eval *ev, const DimName *d)
{
    Buf all = buf_new(ev->cx);
    for (uint32_t i = 0; i < ev->p->n_symbol; i++)
        buf_fmt(&all, "%s%s", i ? ", " : "", ev->p->symbol[i].name->s);
    return fail(ev->cx, E_USAGE, "--dim %s=%s: the file has no size %s; its sizes are %s",
                d->from->s, d->to->s, d->from->s,
                ev->p->n_symbol ? buf_done(&all)->s : "numbers, or have no name");
}

/* --dim s77=batch, with the range of s77. A name that the file uses for another size would make two
 * sizes one. */
static bool rename_symbol(const Symbols *all, const DimName *d)
{
    Eval *ev = all->ev;
    const SymbolDecl *s = NULL;
    for (uint32_t k = 0; k < ev->p->n_symbol; k++) {
        if (ev->p->symbol[k].name == d->from)
            s = &ev->p->symbol[k];
        if (ev->p->symbol[k].name == d->to && d->to != d->from)
            return fail(ev->cx, E_USAGE, "--dim %s=%s: the file has a size %s already", d->from->s,
                        d->to->s, d->to->s);
    }
    if (!s)
        return no_symbol(ev, d);
    facts_rename(ev->cx, dim_sym(ev->cx, d->from), declare(all, d->to, s));
    return true;
}

bool declare_symbols(Eval *ev)
{
    const Options *o = ev->cx->opt;
    Symbols all = { .ev = ev };
    add_names(&all);
    for (uint32_t i = 0; i < ev->p->n_symbol; i++)
        declare(&all, ev->p->symbol[i].name, &ev->p->symbol[i]);
    for (size_t i = 0; o && i < o->n_dim; i++)
        if (!rename_symbol(&all, &o->dim[i]))
            return false;
    return !ctx_failed(ev->cx);
}
