/* guards.c - conditions of torch.export on sizes of inputs, told by the names that the model has
 * for them.
 *
 *     (L['x'].size()[0] % 2) == 0   ->   (batch % 2) == 0
 *
 * Sizes for which a guard does not hold would have taken another way through the source, so it is
 * told as an assumption. With -v alone those are told that torch.export's special cases of 0 and 1
 * have made: what says that a size is neither, and what holds of all sizes from 2 on. So are those
 * of the form n >= 5, as each window asks for one, and fails where it does not hold. */
#include <ctype.h>

#include "eval/internal.h"

static const char size_of[] = ".size()[";

/* One "['past']" or "[0]": where it ends, and the name in it; NULL: it is neither. */
static const char *read_index(const char *at, const char **name, size_t *n)
{
    bool quoted = at[0] == '[' && at[1] == '\'';
    if (at[0] != '[')
        return NULL;
    *name = at + (quoted ? 2 : 1);
    *n = quoted ? strcspn(*name, "'") : strspn(*name, "0123456789");
    const char *end = *name + *n;
    if (quoted && *end == '\'')
        end++;
    return *n && *end == ']' ? end + 1 : NULL;
}

/* "['past'][0]" at *at as "past.0"; *at is behind it then. */
static Str read_path(Ctx *cx, const char **at)
{
    const char *name;
    size_t n;
    Buf b = buf_new(cx);
    for (const char *end = read_index(*at, &name, &n); end; end = read_index(*at, &name, &n)) {
        buf_str(&b, b.n ? "." : "");
        buf_add(&b, name, n);
        *at = end;
    }
    return buf_done(&b);
}

typedef struct Guards {
    Ctx *cx;
    Map inputs;   /* name -> the graph's input */
    Map numbers;  /* name of an int that forward takes -> its Dim */
    Map symbols;  /* names that the file has for sizes: s77 */
    Map stand_in; /* a symbol's name -> one of which it is known alone that it is 2 or more */
    bool proving; /* sizes are written as these */
} Guards;

/* What the file and -i say of a size may come of the guard itself: x.shape[0] > 5 makes it 6 or
 * more. So this is not used where a guard is looked at. */
static Dim look_at_stand_in(void *arg, Dim sym)
{
    Guards *g = arg;
    Str name;
    int64_t lo, hi;
    if (!dim_is_sym(sym, &name) || map_find(&g->stand_in, name))
        return dim_is_sym(sym, &name) ? map_get(&g->stand_in, name) : NULL;
    dim_range(g->cx, sym, &lo, &hi);
    Dim d = dim_sym_int(g->cx, str_fmt(g->cx, "guard.%s", name->s));
    if (lo >= 0)
        dim_set_range(g->cx, d, 2, DIM_MAX);
    map_put(g->cx, &g->stand_in, name, d);
    return d;
}

static Str stand_in(Guards *g, Dim size)
{
    Dim d = dim_replace(g->cx, size, look_at_stand_in, g);
    return d ? str_fmt(g->cx, "(%s)", dim_text(g->cx, d)->s) : NULL;
}

/* The name of a size: what -i, --dim or Python calls it, or a number; of one that nobody has named
 * "x.size(0)", as the file's own names say nothing. */
static Str name_of(Guards *g, Str path, int axis, Dim size)
{
    Str name;
    if (g->proving)
        return stand_in(g, size);
    bool named = dim_is_sym(size, &name) && !map_find(&g->symbols, name);
    if (named || dim_known(size, NULL))
        return dim_text(g->cx, size);
    return str_fmt(g->cx, "%s.size(%d)", path->s, axis);
}

/* The name of the size or number at `at`, "L['x'].size()[0]" or "L['n']", and where its text ends;
 * NULL: it is something else, or of no input. */
static Str size_at(Guards *g, const char *at, const char **end)
{
    if (at[0] != 'L')
        return NULL;
    at++;
    Str path = read_path(g->cx, &at);
    if (!path)
        return NULL;
    if (map_find(&g->numbers, path)) {
        *end = at;
        return g->proving ? stand_in(g, map_get(&g->numbers, path)) : path;
    }
    if (strncmp(at, size_of, strlen(size_of)) != 0)
        return NULL;
    Ox x = map_get(&g->inputs, path);
    const char *digit = at + strlen(size_of);
    int axis = *digit - '0';
    if (!x || axis < 0 || axis >= ox_rank(x) || digit[1] != ']')
        return NULL;
    *end = digit + 2;
    return name_of(g, path, axis, ox_dim(x, axis));
}

static Str with_names(Guards *g, const char *guard, bool proving)
{
    Buf b = buf_new(g->cx);
    g->proving = proving;
    for (const char *at = guard; *at;) {
        const char *end = at + 1;
        bool inside = at > guard && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        Str name = inside ? NULL : size_at(g, at, &end);
        if (name)
            buf_str(&b, name->s);
        else
            buf_add(&b, at, (size_t)(end - at));
        at = end;
    }
    return buf_done(&b);
}

static bool is_at_least_a_number(Str said)
{
    const char *sign = strstr(said->s, " >= ");
    return sign && sign[strspn(sign, " >=0123456789")] == '\0';
}

/* Has a special case of a size of 0 or 1 made the guard, or a window? */
static bool is_of_special_case(Guards *g, const char *guard, Str said)
{
    return str_ends(said, " != 0") || str_ends(said, " != 1") || is_at_least_a_number(said) ||
        dim_holds(g->cx, with_names(g, guard, true)) == YES;
}

/* "4 == 4" is what becomes of a guard on a size that is 4 in every run. */
static bool is_plain(Str said)
{
    static const char equals[] = " == ";
    const char *sign = strstr(said->s, equals);
    size_t n = sign ? (size_t)(sign - said->s) : 0;
    return sign && said->len == 2 * n + strlen(equals) &&
        memcmp(said->s, sign + strlen(equals), n) == 0;
}

static void tell_guard(Guards *g, const char *guard)
{
    Str said = with_names(g, guard, false);
    if (said && !is_plain(said))
        note(g->cx, is_of_special_case(g, guard, said) ? NOTE_INFO : NOTE_ASSUMED,
             "the program was exported for inputs of which this is true: %s", said->s);
}

/* The symbols of the file that have an upper bound, by what they are called now. */
static Map upper_bounds(Guards *g, const Program *p)
{
    Map bounds = { 0 };
    for (uint32_t i = 0; i < p->n_symbol; i++) {
        const RecordedDim symbol = { .known = -1, .symbol = p->symbol[i].name };
        Dim now = p->symbol[i].hi == DIM_MAX ? NULL : recorded_dim(g->cx, &symbol);
        Str name;
        if (now && dim_is_sym(now, &name))
            map_put(g->cx, &bounds, name, &p->symbol[i]);
    }
    return bounds;
}

static void tell_upper_bound(Guards *g, Map *bounds, const InputDecl *in, int axis)
{
    Dim size = recorded_dim(g->cx, &in->dim[axis]);
    Str name;
    const SymbolDecl *d = size && dim_is_sym(size, &name) ? map_get(bounds, name) : NULL;
    if (!d)
        return;
    Str guard = str_fmt(g->cx, "L['%s'].size()[%d] <= %lld", in->name->s, axis, (long long)d->hi);
    tell_guard(g, guard->s);
    map_put(g->cx, bounds, name, NULL); /* a later size that is this symbol says no more */
}

static void tell_upper_bounds_of(Guards *g, Map *bounds, const InputDecl *in)
{
    for (int axis = 0; in->known && !in->type && axis < in->rank; axis++)
        tell_upper_bound(g, bounds, in, axis);
}

/* Of what the guards of an older file would be, its ranges have the upper bounds, and with them
 * those that the caller of torch.export gave: each as a guard on the first size of an input that is
 * this symbol. */
static void tell_upper_bounds(Guards *g, const Program *p)
{
    Map bounds = upper_bounds(g, p);
    for (uint32_t i = 0; i < p->n_input; i++)
        tell_upper_bounds_of(g, &bounds, &p->input[i]);
}

/* The guards of the file, or what it has in their place. */
bool tell_guards(Eval *ev)
{
    const Program *p = ev->p;
    Guards g = { .cx = ev->cx };
    if (p->n_guard == 0 && (p->has_guards || p->n_symbol == 0))
        return true;
    for (size_t i = 0; i < ev->g->inputs.n; i++)
        map_put(g.cx, &g.inputs, ev->g->inputs.at[i]->name, ev->g->inputs.at[i]);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        map_put(g.cx, &g.symbols, p->symbol[i].name, NULL);
    for (uint32_t i = 0; i < p->n_input; i++)
        if (p->input[i].type && p->input[i].dim && p->input[i].dim->expr)
            map_put(g.cx, &g.numbers, p->input[i].name, recorded_dim(g.cx, p->input[i].dim));
    for (uint32_t i = 0; i < p->n_guard; i++)
        tell_guard(&g, p->guard[i]->s);
    if (!p->has_guards)
        tell_upper_bounds(&g, p);
    return !ctx_failed(g.cx);
}
