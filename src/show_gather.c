/* show_gather.c - runs a saved program to learn what its modules give, and counts their weights.
 *
 * A program that cannot be converted is shown all the same, without what only its evaluation would
 * tell: the reason takes that place. */
#include "show.h"

#include "value/walk.h"

/* Of processor time without progress: somebody waits for a look at the file. */
enum { SECONDS_TO_RUN = 5 };

/* ---- modules ---- */

static ShownModule *module_of(Shown *w, Str path)
{
    Ctx *cx = w->s->cx;
    size_t at = (size_t)(uintptr_t)map_get(&w->place, path);
    if (at == 0) {
        vec_push(cx, &w->modules, (ShownModule){ .path = path });
        at = w->modules.n;
        map_put(cx, &w->place, path, (void *)(uintptr_t)at);
    }
    return w->modules.n >= at ? &w->modules.at[at - 1] : NULL;
}

static void put_value_type(Ctx *cx, Buf *b, Value v, int levels)
{
    int64_t n = val_n_parts(v);
    if (v.tag == V_POISON) {
        buf_str(b, "?");
    } else if (v.tag == V_TENSOR) {
        buf_str(b, type_text(cx, tensor_type(v.t))->s);
    } else if (n > 0 && levels > 0 && v.tag != V_OBJ) {
        buf_str(b, "(");
        for (int64_t i = 0; i < n && i < 8; i++) {
            buf_str(b, i ? ", " : "");
            put_value_type(cx, b, val_part(v, i), levels - 1);
        }
        buf_str(b, n > 8 ? ", ..)" : ")");
    } else {
        buf_str(b, val_kind(v));
    }
}

/* Evaluations are repeated, and what lies in the run arena goes with each: texts are kept. */
static void on_module(void *user, Str path, Str class, Value result)
{
    Shown *w = user;
    Ctx *cx = w->s->cx;
    Buf b = buf_new(cx);
    put_value_type(cx, &b, result, 3);
    keep_begin(cx);
    ShownModule *m = module_of(w, path);
    if (m) {
        m->class = class ? class : m->class;
        m->output = buf_done(&b);
    }
    keep_end(cx);
}

/* The modules that the root holds, in the order of its attributes; a shared one stands where it is
 * first. */
static void list_modules(Shown *w, const Obj *o, Map *seen, int depth)
{
    Ctx *cx = w->s->cx;
    if (map_find(seen, o) || depth > 200)
        return;
    map_put(cx, seen, o, NULL);
    if (o->path && o->cls) {
        ShownModule *m = module_of(w, o->path);
        if (m)
            m->class = o->cls->plain ? o->cls->plain : o->cls->qualname;
    }
    for (int64_t i = 0; i < o->n; i++)
        if (o->slot[i].v.tag == V_OBJ && o->slot[i].v.obj)
            list_modules(w, o->slot[i].v.obj, seen, depth + 1);
}

static bool build_modules(Shown *w)
{
    Ctx *cx = w->s->cx;
    Program *p = w->p;
    Map seen = { 0 };
    keep_begin(cx);
    p->graph = graph_new(cx, NULL, NULL); /* where the constants go that the objects hold */
    bool ok = !p->build_root || p->build_root(cx, p, &p->root);
    if (ok && p->root.tag == V_OBJ)
        list_modules(w, p->root.obj, &seen, 0);
    keep_end(cx);
    return ok && !ctx_failed(cx);
}

/* ---- weights ---- */

/* "layer1.0.conv1.weight" is layer1.0.conv1's, if that is a module; else of the nearest around. */
static ShownModule *owner(Shown *w, Str weight)
{
    const char *s = weight->s;
    for (size_t n = weight->len; n > 0; n--) {
        if (s[n - 1] != '.')
            continue;
        Str path = str_n(w->s->cx, s, n - 1);
        if (map_get(&w->place, path))
            return module_of(w, path);
    }
    return module_of(w, str_of(w->s->cx, ""));
}

static void count_weights(Shown *w)
{
    keep_begin(w->s->cx);
    for (size_t i = 0; i < w->p->weights.n; i++) {
        const Weight *weight = &w->p->weights.at[i];
        int64_t n = const_numel(weight->k);
        int64_t bytes = n * (int64_t)dtype_size(weight->k->dtype);
        ShownModule *m = owner(w, weight->name);
        if (!m)
            break;
        *(weight->parameter ? &m->parameters : &m->buffers) += n;
        *(weight->parameter ? &w->parameters : &w->buffers) += n;
        *(weight->parameter ? &w->parameter_bytes : &w->buffer_bytes) += bytes;
    }
    keep_end(w->s->cx);
}

/* ---- the run ---- */

static bool evaluate(void *arg)
{
    Shown *w = arg;
    w->graph = eval_program(w->s->cx, w->p);
    return w->graph != NULL;
}

/* What the program does with an error of its own: it is shown without what the run would tell. */
static void keep_reason(Shown *w)
{
    Ctx *cx = w->s->cx;
    keep_begin(cx);
    w->why = ctx_failed(cx) ? cx->error.text : cx->refusals.at[0].text;
    keep_end(cx);
    w->graph = NULL;
    ctx_restart(cx);
}

/* The modules that the file holds come first, so that those which are never called are there too.
 */
bool show_gather(Session *s, Program *p, Shown *out)
{
    Ctx *cx = s->cx;
    *out = (Shown){ .s = s, .p = p };
    if (!build_modules(out))
        return false;
    int64_t seconds = cx->limit[LIMIT_SECONDS];
    if (seconds > SECONDS_TO_RUN)
        cx->limit[LIMIT_SECONDS] = SECONDS_TO_RUN;
    Value root = p->root; /* that of an evaluation goes with it */
    p->on_module = on_module;
    p->module_user = out;
    if (!bounded(cx, evaluate, out) || cx->refusals.n > 0)
        keep_reason(out);
    p->on_module = NULL;
    p->root = root;
    cx->limit[LIMIT_SECONDS] = seconds;
    count_weights(out);
    return !ctx_failed(cx);
}
