/* exported_spec.c - how the inputs and outputs of a .pt2 nest: "batch.image", "hidden_states.0".
 *
 * A spec is JSON in a string: [1, tree], tree = {"type": t, "context": c, "children_spec": [tree,
 * ..]}; a leaf has type null. Names of children stand in the context, whose form depends on the
 * type: a list of keys, a list whose first item is one, an object with a dict_context, or the name
 * of a NamedTuple, whose fields the file lists apart. Where there are not as many names as
 * children, children are numbered. */
#include "front/exported/exported.h"

typedef ExNames Names;
typedef struct Walk {
    Ctx *cx;
    const Map *tuples;
    ExPaths *out;
} Walk;

static Str join(Ctx *cx, Str path, Str name)
{
    return path->len ? str_fmt(cx, "%s.%s", path->s, name->s) : name;
}

/* ---- contexts ---- */

static bool read_names(Ctx *cx, Json *j, Names *out);

/* A context that is text holds JSON. "null" and a bare name ("my.Point") hold no names. */
static bool names_in_text(Ctx *cx, Str text, Names *out)
{
    if (text->len == 0 || (text->s[0] != '[' && text->s[0] != '{'))
        return true;
    Json j = json_over(cx, "context", (Slice){ (const uint8_t *)text->s, text->len });
    return read_names(cx, &j, out);
}

static bool names_in_object(Ctx *cx, Json *j, Names *out)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "dict_context") ? read_names(cx, j, out) : json_skip(j)))
            return false;
    return !j->failed;
}

/* A dict's keys, strings or ints; or a list whose first item is such a list. Anything else is
 * passed over, and children get numbers. */
static bool names_in_list(Ctx *cx, Json *j, Names *out)
{
    bool first = true;
    if (!json_enter_array(j))
        return false;
    for (; json_more(j); first = false) {
        Str name;
        int64_t number;
        switch (json_peek(j)) {
        case J_STRING:
            if (!json_str(j, &name))
                return false;
            vec_push(cx, out, name);
            break;
        case J_INT:
            if (!json_int(j, &number))
                return false;
            vec_push(cx, out, str_fmt(cx, "%lld", (long long)number));
            break;
        case J_ARRAY:
            if (!(first ? names_in_list(cx, j, out) : json_skip(j)))
                return false;
            break;
        default:
            if (!json_skip(j))
                return false;
        }
    }
    return !j->failed;
}

static bool read_names(Ctx *cx, Json *j, Names *out)
{
    Str text;
    switch (json_peek(j)) {
    case J_STRING: return json_str(j, &text) && names_in_text(cx, text, out);
    case J_ARRAY:  return names_in_list(cx, j, out);
    case J_OBJECT: return names_in_object(cx, j, out);
    default:       return json_skip(j);
    }
}

/* ---- trees ---- */

typedef struct Tree {
    bool leaf;
    Names names;
    Json children;
    bool has_children;
} Tree;

/* "my.Point": the fields of a NamedTuple of that name. */
static void fields_of(const Walk *w, Json j, Names *out)
{
    Str name;
    const Names *fields = json_peek(&j) == J_STRING && json_str(&j, &name)
        ? map_get(w->tuples, name)
        : NULL;
    if (fields)
        *out = *fields;
}

/* One node of the tree: its children, at t->children, and the names that its context has for them.
 * A leaf's type is null. */
static bool open_tree(const Walk *w, Json *j, Tree *t)
{
    Str key;
    *t = (Tree){ .leaf = true };
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        if (str_is(key, "children_spec"))
            t->children = *j, t->has_children = true;
        if (str_is(key, "type"))
            t->leaf = json_peek(j) == J_NULL;
        if (str_is(key, "context"))
            fields_of(w, *j, &t->names);
        if (!(str_is(key, "context") && t->names.n == 0 ? read_names(w->cx, j, &t->names)
                                                        : json_skip(j)))
            return false;
    }
    return !j->failed && t->has_children;
}

static size_t count_children(const Tree *t)
{
    Json j = t->children;
    size_t n = 0;
    if (json_enter_array(&j))
        for (; json_more(&j) && json_skip(&j);)
            n++;
    return n;
}

/* names: those of the children, when the caller knows better than the context. */
static bool walk(Walk *w, Json *j, Str path, const Names *names)
{
    Tree t;
    if (!open_tree(w, j, &t))
        return false;
    if (t.leaf)
        return vec_push(w->cx, w->out, path);
    const Names *use = names ? names : &t.names;
    bool named = use->n == count_children(&t);
    if (names && !named)
        return false;
    if (!json_enter_array(&t.children))
        return false;
    for (size_t i = 0; json_more(&t.children); i++) {
        Str name = named ? use->at[i] : str_fmt(w->cx, "%zu", i);
        if (!walk(w, &t.children, join(w->cx, path, name), NULL))
            return false;
    }
    return !t.children.failed;
}

/* [1, tree]: j is left before the tree. */
static bool open_spec(Json *j)
{
    return json_enter_array(j) && json_more(j) && json_skip(j) && json_more(j);
}

/* A spec that cannot be read costs names, nothing else: its error is taken back. */
static bool forgiving(Ctx *cx, bool ok, Error before)
{
    if (!ok)
        cx->error = before;
    return ok;
}

static bool input_paths(Walk *w, Str spec, const Names *arg_names)
{
    Json j = json_over(w->cx, "in_spec", (Slice){ (const uint8_t *)spec->s, spec->len });
    Str none = str_of(w->cx, "");
    Tree t;
    if (!open_spec(&j) || !open_tree(w, &j, &t) || t.leaf || count_children(&t) != 2)
        return false;
    Json args = t.children;
    Json count = t.children;
    Tree args_tree;
    if (!json_enter_array(&count) || !open_tree(w, &count, &args_tree))
        return false;
    Names positional = { .at = arg_names->at, .n = count_children(&args_tree) };
    if (positional.n > arg_names->n)
        return false;
    return json_enter_array(&args) && walk(w, &args, none, &positional) && json_more(&args) &&
        walk(w, &args, none, NULL);
}

bool ex_input_paths(Ctx *cx, Str in_spec, const Str *arg_names, size_t n_names, const Map *tuples,
                    ExPaths *out)
{
    Error before = cx->error;
    Walk w = { cx, tuples, out };
    Names names = { 0 };
    for (size_t i = 0; i < n_names; i++)
        vec_push(cx, &names, arg_names[i]);
    return forgiving(cx, input_paths(&w, in_spec, &names), before);
}

bool ex_output_paths(Ctx *cx, Str out_spec, const Map *tuples, ExPaths *out)
{
    Error before = cx->error;
    Walk w = { cx, tuples, out };
    Json j = json_over(cx, "out_spec", (Slice){ (const uint8_t *)out_spec->s, out_spec->len });
    return forgiving(cx, open_spec(&j) && walk(&w, &j, str_of(cx, ""), NULL), before);
}
