/* made_up.c - values for inputs of which nothing is known, so that a message can offer a whole line
 * (missing_inputs.c in src tries it). Of `f(x, mode: str, d: Dict[str, Tensor], n: int)`: n is 1,
 * mode the first text that the program compares it with, d has the keys that the program reads. The
 * program shows those by what it does: the key that d lacks is noted, and evaluation starts again.
 */
#include "eval/internal.h"

/* What a text is until the program compares it: no program's text begins like this. */
static const char unknown_text[] = "\1made up: ";

static MadeUp *made_up_of(const Ctx *cx) { return cx->opt ? cx->opt->made_up : NULL; }

void made_up_begin(Ctx *cx)
{
    MadeUp *m = made_up_of(cx);
    if (m)
        *m = (MadeUp){ .rank = m->rank, .words = m->words };
}

void made_up_tensor(Ctx *cx, Str path, Ox v)
{
    MadeUp *m = made_up_of(cx);
    if (m)
        vec_push(cx, &m->inputs, (MadeUpInput){ .path = path, .v = v });
}

/* The i-th word that belongs to path; NULL behind the last. */
static Str word_of(const MadeUp *m, Str path, size_t i)
{
    for (size_t k = 0; k < m->words.n; k++)
        if (m->words.at[k].path == path && i-- == 0)
            return m->words.at[k].word;
    return NULL;
}

/* A word that -i cannot write is not learnt. */
static bool learn_word(Ctx *cx, Str path, Str word)
{
    if (strpbrk(word->s, "\"\\:= .,") || text_printable(cx, word, LINE_SHOWN)->len != word->len)
        return false;
    keep_begin(cx);
    MadeUpWord known = { str_n(cx, path->s, path->len), str_n(cx, word->s, word->len) };
    vec_push(cx, &made_up_of(cx)->words, known);
    keep_end(cx);
    fail(cx, E_RESTART, "%s may be %s", path->s, word->s);
    return true;
}

static Str quoted(Ctx *cx, Str word)
{
    Buf b = buf_new(cx);
    buf_fmt(&b, "\"%s\"", word->s);
    return buf_done(&b);
}

/* The value of a type, and how -i writes it. NULL: none can be made up. */
static Str scalar_of(Ctx *cx, Str path, const TypeExpr *t, Value *out)
{
    Str word = word_of(made_up_of(cx), path, 0);
    if (str_is(t->name, "int") || str_is(t->name, "number")) {
        *out = val_int(1);
        return str_of(cx, "1");
    }
    if (str_is(t->name, "float")) {
        *out = val_float(1);
        return str_of(cx, "1.0");
    }
    if (str_is(t->name, "bool")) {
        *out = val_bool(true);
        return str_of(cx, "True");
    }
    if (!str_is(t->name, "str"))
        return NULL;
    *out = val_str(word ? word : str_fmt(cx, "%s%s", unknown_text, path->s));
    return word ? quoted(cx, word) : str_of(cx, unknown_text);
}

bool made_up_value(Ctx *cx, Str path, const TypeExpr *t, Value *out)
{
    MadeUp *m = made_up_of(cx);
    Str text = m ? scalar_of(cx, path, t, out) : NULL;
    return text && vec_push(cx, &m->inputs, (MadeUpInput){ .path = path, .value = text });
}

Str made_up_child(Ctx *cx, Str path, const TypeExpr *t, size_t i)
{
    const MadeUp *m = made_up_of(cx);
    if (!m)
        return NULL;
    if (str_is(t->name, "Dict"))
        return word_of(m, path, i);
    bool of_tensors = t->n == 0 || str_is(t->args[0]->name, "Tensor");
    size_t n = of_tensors ? 2 : 1;
    return i < n ? str_fmt(cx, "%zu", i) : NULL;
}

bool made_up_dict(Ctx *cx, Str path, const Dict *d)
{
    MadeUp *m = made_up_of(cx);
    if (m)
        map_put(cx, &m->dicts, d, path);
    return m != NULL;
}

bool made_up_key(Ctx *cx, const Dict *d, Value key)
{
    MadeUp *m = made_up_of(cx);
    Str path = m ? map_get(&m->dicts, d) : NULL;
    if (!path || (key.tag != V_STR && key.tag != V_INT))
        return false;
    return learn_word(cx, path, val_text(cx, key));
}

bool made_up_text(Ctx *cx, Str text, Str other)
{
    size_t n = sizeof unknown_text - 1;
    if (!made_up_of(cx) || !str_starts(text, unknown_text) || str_starts(other, unknown_text))
        return false;
    return learn_word(cx, str_n(cx, text->s + n, text->len - n), other);
}

Str made_up_spec(Ctx *cx, const MadeUp *m, size_t i)
{
    if (i >= m->inputs.n)
        return NULL;
    const MadeUpInput *in = &m->inputs.at[i];
    if (in->value)
        return str_fmt(cx, "%s=%s", in->path->s, in->value->s);
    return str_fmt(cx, "%s:%s", in->path->s, type_text(cx, in->v->type)->s);
}

bool made_up_wholly(const MadeUp *m)
{
    for (size_t i = 0; i < m->inputs.n; i++)
        if (m->inputs.at[i].value && str_is(m->inputs.at[i].value, unknown_text))
            return false;
    return true;
}
