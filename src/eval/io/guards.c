/* guards.c - conditions of torch.export on sizes of inputs, told by the names that the model has
 * for them.
 *
 *     (L['x'].size()[0] % 2) == 0   ->   (batch % 2) == 0
 *
 * Sizes for which a guard does not hold would have taken another way through the source. One that
 * asks for a number, or for at most so much, is told as an assumption: the model takes other sizes
 * and gives wrong numbers. The others mostly say that a size is not 1, or large enough for a
 * window. */
#include <ctype.h>
#include <stdlib.h>

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
    Map inputs;  /* name -> the graph's input */
    Map symbols; /* names that the file has for sizes: s77 */
} Guards;

/* The name of a size: what -i, --dim or Python calls it, or a number; of one that nobody has named
 * "x.size(0)", as the file's own names say nothing. */
static Str name_of(const Guards *g, Str path, int axis, Dim size)
{
    Str name;
    bool named = dim_is_sym(size, &name) && !map_find(&g->symbols, name);
    if (named || dim_known(size, NULL))
        return dim_text(g->cx, size);
    return str_fmt(g->cx, "%s.size(%d)", path->s, axis);
}

/* The name of the size at `at`, "L['x'].size()[0]", and where its text ends; NULL: it is something
 * else, or of no input. */
static Str size_at(const Guards *g, const char *at, const char **end)
{
    if (at[0] != 'L')
        return NULL;
    at++;
    Str path = read_path(g->cx, &at);
    if (!path || strncmp(at, size_of, strlen(size_of)) != 0)
        return NULL;
    Ox x = map_get(&g->inputs, path);
    const char *digit = at + strlen(size_of);
    int axis = *digit - '0';
    if (!x || axis < 0 || axis >= ox_rank(x) || digit[1] != ']')
        return NULL;
    *end = digit + 2;
    return name_of(g, path, axis, ox_dim(x, axis));
}

static Str with_names(const Guards *g, const char *guard)
{
    Buf b = buf_new(g->cx);
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

static bool asks_for_a_number(const char *guard)
{
    const char *rest = NULL;
    for (const char *at = strstr(guard, " == "); at; at = strstr(at + 1, " == "))
        rest = at + strlen(" == ");
    return rest && rest[strspn(rest, "0123456789")] == '\0';
}

/* x.size(0) <= 8: bounds that the caller has asked for are no guards. */
static bool asks_for_at_most(const char *guard)
{
    return strstr(guard, " <= ") || strstr(guard, " < ");
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

/* "2 <= 3" is what becomes of a bound on a size that is 2 in every run. */
static bool is_met(Str said)
{
    char *end;
    long size = strtol(said->s, &end, 10);
    if (end == said->s || strncmp(end, " <= ", 4) != 0)
        return false;
    const char *bound = end + 4;
    return size <= strtol(bound, &end, 10) && end > bound && *end == '\0';
}

static void tell_guard(const Guards *g, const char *guard)
{
    Str said = with_names(g, guard);
    if (!said || is_plain(said) || is_met(said))
        return;
    bool narrows = asks_for_a_number(said->s) || asks_for_at_most(said->s);
    note(g->cx, narrows ? NOTE_ASSUMED : NOTE_INFO,
         "the program was exported for inputs of which this is true: %s", said->s);
}

bool tell_guards(Eval *ev)
{
    const Program *p = ev->p;
    Guards g = { .cx = ev->cx };
    if (p->n_guard == 0)
        return true;
    for (size_t i = 0; i < ev->g->inputs.n; i++)
        map_put(g.cx, &g.inputs, ev->g->inputs.at[i]->name, ev->g->inputs.at[i]);
    for (uint32_t i = 0; i < p->n_symbol; i++)
        map_put(g.cx, &g.symbols, p->symbol[i].name, NULL);
    for (uint32_t i = 0; i < p->n_guard; i++)
        tell_guard(&g, p->guard[i]->s);
    return !ctx_failed(g.cx);
}
