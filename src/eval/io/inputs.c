/* inputs.c - the graph's inputs: what -i says, what the file recorded, what the program's signature
 * says.
 *
 * A parameter of forward becomes leaves by its declared type: a tensor is one graph input with the
 * parameter's name; lists, tuples and dicts have leaves with dotted paths (batch.image, xs.0);
 * numbers and text are values, given with -i n=3 or by the default. Sources in order: -i; sizes
 * recorded by the file (--dynamic frees them); assumptions (facts.c); else unknown rank and
 * float32. Names in -i are the program's, or else, when one of them is not, the user's own: then
 * they go by position. Every -i must find its place: one that does not is an error that offers the
 * nearest name. */
#include "eval/internal.h"

typedef VEC(Str) Strs;

typedef struct Inputs {
    Eval *ev;
    bool *used;       /* by position in opt->input */
    bool by_position; /* tensors take the SPECs in order, and their names */
    bool misled;      /* the examples that the file records are not of these inputs */
    size_t next;      /* by_position: no SPEC before this one is free */
    Map spec, given;  /* path -> place in opt->input + 1 of its own SPEC; of any SPEC */
    Map decl;         /* path -> InputDecl of the file */
    Map child;        /* path -> Strs: what comes below it, in order of mention */
    Strs names;       /* every path that an -i could have meant */
    int64_t depth;    /* named tuples around the one that is made */
} Inputs;

static const Options no_options = { .opset = ONNX_DEFAULT_TARGET };

const Options *options_of(const Eval *ev) { return ev->cx->opt ? ev->cx->opt : &no_options; }

/* ---- finding what is given for a path ---- */

static const InputSpec *use_spec(Inputs *in, size_t i)
{
    in->used[i] = true;
    return &options_of(in->ev)->input[i];
}

static const InputSpec *spec_at(Inputs *in, Str path)
{
    uintptr_t i = (uintptr_t)map_get(&in->spec, path);
    return i ? use_spec(in, i - 1) : NULL;
}

/* The short form, 1x3x224x224, and names of the user's own: the next tensor that has no SPEC of its
 * own. */
static const InputSpec *unnamed_spec(Inputs *in)
{
    const Options *o = options_of(in->ev);
    for (; in->next < o->n_input; in->next++) {
        const InputSpec *s = &o->input[in->next];
        if (!in->used[in->next] && (!s->path || (in->by_position && !s->is_value)))
            return use_spec(in, in->next);
    }
    return NULL;
}

static const InputDecl *decl_at(const Inputs *in, Str path) { return map_get(&in->decl, path); }

/* The name of the leaf below path at place k among those that -i or the file mention; NULL past the
 * last. */
static Str child_at(const Inputs *in, Str path, size_t k)
{
    const Strs *found = map_get(&in->child, path);
    return found && k < found->n ? found->at[k] : NULL;
}

/* Where nothing is known below path, a list or dict of type t: what is made up. */
static void make_up_children(Inputs *in, Str path, const TypeExpr *t)
{
    Ctx *cx = in->ev->cx;
    if (child_at(in, path, 0))
        return;
    Strs *children = (Strs *)new(cx, Strs);
    map_put(cx, &in->child, path, children);
    for (Str child = made_up_child(cx, path, t, 0); child;
         child = made_up_child(cx, path, t, children->n))
        vec_push(cx, children, child);
}

/* batch.image.0: `image` is below batch, `0` below batch.image. */
static void index_children(Inputs *in, Map *seen, Str name)
{
    Ctx *cx = in->ev->cx;
    for (const char *dot = strchr(name->s, '.'); dot && dot[1]; dot = strchr(dot + 1, '.')) {
        const char *next = strchr(dot + 1, '.');
        Str path = str_n(cx, name->s, (size_t)(dot - name->s));
        Str whole = next ? str_n(cx, name->s, (size_t)(next - name->s)) : name;
        if (dot == name->s || !map_add(cx, seen, whole, NULL))
            continue;
        Strs *children = map_get(&in->child, path);
        if (!children)
            map_put(cx, &in->child, path, children = (Strs *)new(cx, Strs));
        vec_push(cx, children,
                 str_n(cx, dot + 1, next ? (size_t)(next - dot - 1) : strlen(dot + 1)));
    }
}

/* Programs with thousands of inputs exist: each path is looked up, never searched for. */
static void index_paths(Inputs *in)
{
    const Options *o = options_of(in->ev);
    const Program *p = in->ev->p;
    Ctx *cx = in->ev->cx;
    Map seen = { 0 };
    for (uint32_t i = 0; i < p->n_input; i++) {
        map_add(cx, &in->decl, p->input[i].name, &p->input[i]);
        index_children(in, &seen, p->input[i].name);
    }
    for (size_t i = 0; i < o->n_input; i++) {
        if (!o->input[i].path)
            continue;
        map_add(cx, &in->given, o->input[i].path, (void *)(i + 1));
        index_children(in, &seen, o->input[i].path);
    }
}

/* Once it is known whose names these are. */
static void index_specs(Inputs *in)
{
    const Options *o = options_of(in->ev);
    for (size_t i = 0; i < o->n_input; i++)
        if (o->input[i].path && (o->input[i].is_value || !in->by_position))
            map_add(in->ev->cx, &in->spec, o->input[i].path, (void *)(i + 1));
}

/* ---- one tensor ---- */

/* A symbol for an axis without a name: batch.image, axis 1 -> batch_image_1. */
static Dim free_dim(Inputs *in, Str path, int axis)
{
    Ctx *cx = in->ev->cx;
    Buf b = buf_new(cx);
    for (uint32_t i = 0; i < path->len; i++)
        buf_fmt(&b, "%c", path->s[i] == '.' || path->s[i] == '-' ? '_' : path->s[i]);
    buf_fmt(&b, "_%d", axis);
    Dim sym = dim_sym(cx, buf_done(&b));
    facts_symbol(cx, sym, path, axis, false);
    return facts_dim(cx, sym);
}

static Dim look_at_fact(void *arg, Dim sym)
{
    Dim d = facts_dim(arg, sym);
    return d == sym ? NULL : d;
}

/* A sum of sizes that other inputs have: past+length. */
static Dim sum_dim(Inputs *in, const SpecDim *d, Str path, int axis)
{
    Ctx *cx = in->ev->cx;
    Dim sum = dim_parse(cx, d->name->s, d->name->len);
    sum = sum ? dim_replace(cx, sum, look_at_fact, cx) : NULL;
    if (sum)
        facts_symbol(cx, sum, path, axis, false);
    return sum ? sum : dim_int(cx, 0);
}

static Dim spec_dim(Inputs *in, const SpecDim *d, Str path, int axis)
{
    Ctx *cx = in->ev->cx;
    if (d->kind == SPEC_SIZE)
        return dim_int(cx, d->size);
    if (d->kind == SPEC_UNNAMED)
        return free_dim(in, path, axis);
    if (d->kind == SPEC_SUM)
        return sum_dim(in, d, path, axis);
    Dim sym = dim_sym(cx, d->name);
    if (d->lo > 0 || d->hi < DIM_MAX)
        dim_set_range(cx, sym, d->lo, d->hi);
    facts_symbol(cx, sym, path, axis, !options_of(in->ev)->soft_sizes);
    Dim now = facts_dim(cx, sym);
    specialized_ask(cx, now, path, axis, true);
    return now;
}

Dim recorded_dim(Ctx *cx, const RecordedDim *d)
{
    if (d->known >= 0 || (!d->expr && !d->symbol))
        return d->known >= 0 ? dim_int(cx, d->known) : NULL;
    if (d->symbol)
        return facts_dim(cx, dim_sym(cx, d->symbol));
    Dim e = dim_parse(cx, d->expr->s, d->expr->len);
    return e ? dim_replace(cx, e, look_at_fact, cx) : NULL;
}

Type recorded_type(Ctx *cx, const Recorded *r)
{
    Dim dim[MAX_RANK];
    if (r->what || r->dtype == DT_NONE)
        return NULL;
    for (int i = 0; i < r->rank && i < MAX_RANK; i++) {
        dim[i] = recorded_dim(cx, &r->dim[i]);
        if (!dim[i])
            dim[i] = dim_fresh(cx, "r"); /* recorded, but not as an expression: equal to anything */
    }
    return type_tensor(cx, r->dtype, r->rank, r->rank > 0 ? dim : NULL);
}

/* The file records the size that the symbol d had in its example. */
static void set_example(Dim d, const RecordedDim *recorded)
{
    int64_t size = recorded->known >= 0 ? recorded->known : recorded->example;
    if (size > 0 && dim_is_sym(d, NULL))
        dim_set_example(d, size);
}

/* The file's own symbols keep their names, unless the user gave the axis one of theirs: then they
 * are that everywhere. */
static Dim decl_dim(Inputs *in, const RecordedDim *d, Str path, int axis)
{
    Ctx *cx = in->ev->cx;
    if (d->known >= 0 && options_of(in->ev)->dynamic) {
        Dim sym = free_dim(in, path, axis);
        set_example(sym, d);
        specialized_ask(cx, sym, path, axis, false);
        return sym;
    }
    if (d->symbol)
        facts_symbol(cx, dim_sym(cx, d->symbol), path, axis, false);
    Dim e = recorded_dim(cx, d);
    if (!e)
        return free_dim(in, path, axis);
    facts_symbol(cx, e, path, axis, false);
    set_example(e, d);
    if (d->example > 0)
        specialized_ask(cx, e, path, axis, true);
    return e;
}

static bool is_recorded(const Inputs *in, const InputDecl *d)
{
    return d && d->known && !(d->example && in->misled);
}

static Str bounds_text(Ctx *cx, int64_t lo, int64_t hi)
{
    return hi == DIM_MAX ? str_fmt(cx, "%lld..", (long long)lo)
                         : str_fmt(cx, "%lld..%lld", (long long)lo, (long long)hi);
}

/* Is the size that -i gives one that the file has for this axis? A .pt2 has numbers, each of which
 * is the size in every run, and sizes that are dynamic within bounds: one beyond them is told. */
static bool size_fits(Inputs *in, const InputSpec *s, const RecordedDim *recorded, int axis)
{
    Ctx *cx = in->ev->cx;
    int64_t given, lo, hi;
    Dim d = in->ev->p->exported ? recorded_dim(cx, recorded) : NULL;
    if (!d || s->dim[axis].kind != SPEC_SIZE)
        return true;
    given = s->dim[axis].size;
    dim_range(cx, d, &lo, &hi);
    if (given >= lo && given <= hi)
        return true;
    if (lo != hi) {
        note(cx, NOTE_ASSUMED, "-i %s: dimension %d is not in the bounds that the file has, %s",
             s->text->s, axis, bounds_text(cx, lo, hi)->s);
        return true;
    }
    fail(cx, E_USAGE, "-i %s: dimension %d is %lld in the file, not %lld", s->text->s, axis,
         (long long)lo, (long long)given);
    fail_hint(cx, "torch.export with dynamic_shapes makes it dynamic");
    return false;
}

/* The type that -i gives, `-i x:float32[N,3]`. Where the file records the input too, rank and type
 * must agree; a size that the file leaves dynamic gets the name in -i. NULL after an error. */
static Type type_of_spec(Inputs *in, const InputSpec *s, const InputDecl *d, Str path)
{
    Dim dim[MAX_RANK];
    Ctx *cx = in->ev->cx;
    if (is_recorded(in, d) && (d->rank != s->rank || d->dtype != s->dtype)) {
        fail(cx, E_USAGE, "-i %s: the file records %s with rank %d for this input", s->text->s,
             dtype_name(d->dtype), d->rank);
        return NULL;
    }
    for (int i = 0; i < s->rank; i++) {
        if (is_recorded(in, d) && !size_fits(in, s, &d->dim[i], i))
            return NULL;
        dim[i] = spec_dim(in, &s->dim[i], path, i);
        Dim given = is_recorded(in, d) ? recorded_dim(cx, &d->dim[i]) : NULL;
        Str name;
        if (given)
            set_example(dim[i], &d->dim[i]);
        if (given && dim_is_sym(given, &name) && dim_eq(cx, given, dim[i]) != YES)
            facts_rename(cx, given, dim[i]);
    }
    return type_tensor(cx, s->dtype, s->rank, s->rank ? dim : NULL);
}

static Type type_of_decl(Inputs *in, const InputDecl *d, Str path)
{
    Dim dim[MAX_RANK];
    for (int i = 0; i < d->rank; i++)
        dim[i] = decl_dim(in, &d->dim[i], path, i);
    return type_tensor(in->ev->cx, d->dtype, d->rank, d->rank > 0 ? dim : NULL);
}

/* Neither -i nor the file says what the input is: what earlier evaluations have assumed of it. */
static Type type_of_facts(Inputs *in, Str path)
{
    Dim dim[MAX_RANK];
    Ctx *cx = in->ev->cx;
    MadeUp *made_up = options_of(in->ev)->made_up;
    int rank = facts_rank(cx, path);
    if (rank < 0 && made_up)
        rank = made_up->rank;
    DType t = facts_dtype(cx, path);
    for (int i = 0; i < rank; i++)
        dim[i] = free_dim(in, path, i);
    if (t == DT_NONE)
        t = DT_FLOAT;
    return type_tensor(cx, t, rank, rank > 0 ? dim : NULL);
}

/* The type of the input at path by the first source that has one. NULL after an error. */
static Type input_type(Inputs *in, const InputSpec *s, const InputDecl *d, Str path)
{
    if (s)
        return type_of_spec(in, s, d, path);
    if (is_recorded(in, d))
        return type_of_decl(in, d, path);
    return type_of_facts(in, path);
}

/* A quantised tensor is three inputs: its integers, the scale (float64) and the zero point (int64),
 * as torch.onnx has them. */
static bool make_quantised(Inputs *in, Str name, Tensor *t)
{
    Ctx *cx = in->ev->cx;
    Graph *g = in->ev->g;
    QuantInfo *q = new(cx, QuantInfo);
    Ox scale = graph_input(g, str_fmt(cx, "%s.scale", name->s),
                           type_tensor(cx, DT_DOUBLE, 0, NULL));
    Ox zero = graph_input(g, str_fmt(cx, "%s.zero_point", name->s),
                          type_tensor(cx, DT_INT64, 0, NULL));
    if (!q || ctx_failed(cx))
        return false;
    *q = (QuantInfo){ .scale = ox_cast(g, scale, DT_FLOAT),
                      .zero_point = ox_cast(g, zero, tensor_type(t)->dtype),
                      .axis = -1,
                      .dtype = tensor_type(t)->dtype };
    t->kind = QUANT;
    t->quant = q;
    note(cx, NOTE_CHANGED,
         "the quantised input %s is three: its integers, %s.scale and %s.zero_point", name->s,
         name->s, name->s);
    return !ctx_failed(cx);
}

/* One tensor: `-i x:float32[N,3]` makes the graph input x of this type. A quantised tensor is three
 * inputs, a complex one has a last axis of 2 in the file; a note says so. */
static bool make_tensor(Inputs *in, Str path, Value *out)
{
    Ctx *cx = in->ev->cx;
    const InputDecl *d = decl_at(in, path);
    const InputSpec *s = spec_at(in, path);
    if (!s)
        s = unnamed_spec(in);
    if (s && s->is_value)
        return fail(cx, E_USAGE,
                    "-i %s: %s is a tensor: give its type and sizes, like %s:float32[N,3]",
                    s->text->s, path->s, path->s);
    Type t = input_type(in, s, d, path);
    if (!t)
        return false;
    Str name = s && s->path ? s->path : path;
    Ox v = graph_input(in->ev->g, name, t);
    for (int i = 0; i < t->rank; i++) {
        if (dim_is_sym(t->dim[i], NULL))
            dim_set_origin(cx, t->dim[i], v, i);
    }
    bool is_certain = s || is_recorded(in, d);
    if (!is_certain)
        made_up_tensor(cx, path, v);
    facts_input(cx, v, path, is_certain, is_certain);
    *out = val_tensor(cx, v);
    out->t->st->input = true;
    out->t->st->name = path;
    state_track_input(in->ev, out->t, path);
    if (dtype_is_complex(t->dtype)) /* tidy/split_complex.c */
        note(cx, NOTE_CHANGED,
             "the complex input %s is %s with a last axis of 2: real and imaginary part", path->s,
             dtype_name(dtype_of_parts(t->dtype)));
    if (s && s->quantised)
        return make_quantised(in, name, out->t);
    return !ctx_failed(cx);
}

/* ---- by type ---- */

static bool make_value(Inputs *in, Str path, const TypeExpr *t, const ParamDecl *p, Value *out);

static bool is(const TypeExpr *t, const char *name) { return t && str_is(t->name, name); }

static Value value_of_spec(const InputSpec *s)
{
    switch (s->value_kind) {
    case SPEC_INT:   return val_int(s->i);
    case SPEC_FLOAT: return val_float(s->f);
    case SPEC_BOOL:  return val_bool(s->i != 0);
    case SPEC_STR:   return val_str(s->s);
    case SPEC_NONE:  break;
    }
    return val_none();
}

/* A scalar input of the graph, a number of the program. Where it is an int of which the file has a
 * symbol (d, or NULL), sizes computed from it refer to it by this symbol, whose value is the input.
 */
static bool scalar_number(Inputs *in, Str path, DType t, const InputDecl *d, Value *out)
{
    Eval *ev = in->ev;
    Ox v = graph_input(ev->g, path, type_tensor(ev->cx, t, 0, NULL));
    Dim sym = d && d->dim ? recorded_dim(ev->cx, d->dim) : NULL;
    if (sym && dim_is_sym(sym, NULL) && dtype_is_int(t)) {
        dim_set_origin(ev->cx, sym, ox_cast(ev->g, v, DT_INT64), -1);
        *out = val_dim(ev->cx, sym);
    } else {
        *out = val_number_of(ev->g, v);
    }
    return !ctx_failed(ev->cx);
}

/* How -i writes the type of a scalar input for a parameter of type t; NULL: it cannot be one. */
static const char *scalar_dtype(const TypeExpr *t)
{
    if (is(t, "int"))
        return "int64";
    if (is(t, "float"))
        return "float64";
    if (is(t, "bool"))
        return "bool";
    return NULL;
}

/* A parameter that is no tensor has neither a value nor a default. */
static bool no_value(const Inputs *in, Str path, const TypeExpr *t)
{
    Ctx *cx = in->ev->cx;
    fail(cx, E_UNDECIDED, "the value of the input %s, of type %s, is part of the program", path->s,
         type_expr_text(cx, t)->s);
    const char *dtype = scalar_dtype(t);
    if (dtype)
        fail_hint(cx, "-i %s=VALUE makes it a constant, -i %s:%s[] an input of the ONNX model",
                  path->s, path->s, dtype);
    else
        fail_hint(cx, "-i %s=VALUE", path->s);
    return false;
}

/* `-i n=3`: the value is part of the model. An int may stand for a float. */
static bool scalar_of_value(Inputs *in, const InputSpec *s, Str path, const TypeExpr *t, Value *out)
{
    Eval *ev = in->ev;
    *out = value_of_spec(s);
    bool int_as_float = is(t, "float") && out->tag == V_INT;
    if (!val_is_a(ev, *out, t) && !int_as_float)
        return fail(ev->cx, E_USAGE, "-i %s: %s is a %s", s->text->s, path->s,
                    type_expr_text(ev->cx, t)->s);
    return convert_to(ev, *out, t, path->s, out);
}

/* `-i n:int64[]`: a scalar input of the graph. */
static bool scalar_input(Inputs *in, const InputSpec *s, Str path, const TypeExpr *t, Value *out)
{
    Eval *ev = in->ev;
    if (s->rank != 0)
        return fail(ev->cx, E_USAGE,
                    "-i %s: %s is a %s: a value (%s=1), or a scalar input (%s:int64[])", s->text->s,
                    path->s, type_expr_text(ev->cx, t)->s, path->s, path->s);
    return scalar_number(in, path, s->dtype, decl_at(in, path), out) &&
        convert_to(ev, *out, t, path->s, out);
}

/* A number or text of the program: a value from -i, a scalar input if -i gives its type or the file
 * records it as dynamic, or the default. */
static bool make_scalar(Inputs *in, Str path, const TypeExpr *t, const ParamDecl *p, Value *out)
{
    Eval *ev = in->ev;
    const InputSpec *s = spec_at(in, path);
    const InputDecl *d = decl_at(in, path);
    if (s && s->is_value)
        return scalar_of_value(in, s, path, t, out);
    if (s)
        return scalar_input(in, s, path, t, out);
    if (is_recorded(in, d) && d->rank == 0)
        return scalar_number(in, path, d->dtype, d, out);
    if (d && d->has_default) {
        *out = d->deflt;
        return true;
    }
    if (p && p->deflt)
        return eval_expr(ev, p->deflt, out) && convert_to(ev, *out, t, path->s, out);
    return made_up_value(ev->cx, path, t, out) || no_value(in, path, t);
}

/* A list or dict of which -i and the file mention no item. */
static bool no_leaves(Inputs *in, Str path, const char *kind, const char *example)
{
    fail(in->ev->cx, E_UNDECIDED, "the input %s is a %s, and nothing says what is in it", path->s,
         kind);
    fail_hint(in->ev->cx, "-i %s.%s:float32[N,3,224,224], one -i for each", path->s, example);
    return false;
}

/* The type of a number in an ONNX sequence. DT_NONE: elem is no number. */
static DType sequence_dtype(const TypeExpr *elem)
{
    if (is(elem, "int"))
        return DT_INT64;
    if (is(elem, "float"))
        return DT_DOUBLE;
    if (is(elem, "bool"))
        return DT_BOOL;
    return DT_NONE;
}

/* A list of numbers as one input, a sequence of scalars, as torch.onnx has it. The list has as many
 * items as there are SPECs: with `-i n.0:int64[] -i n.1:int64[]` two. */
static bool make_sequence(Inputs *in, Str path, const TypeExpr *elem, Value *out)
{
    Ctx *cx = in->ev->cx;
    Graph *g = in->ev->g;
    DType t = sequence_dtype(elem);
    Ox all = graph_input(g, path, type_wrapped(cx, T_SEQUENCE, type_tensor(cx, t, 0, NULL)));
    List *l = list_new(cx, 0, elem->name);
    for (int64_t i = 0;; i++) {
        Str child = child_at(in, path, (size_t)i);
        if (!child)
            break;
        (void)spec_at(in, path_of(cx, path, child));
        list_append(cx, l, val_number_of(g, ox_g(g, "SequenceAt", all, ox_int(g, i))));
    }
    note(cx, NOTE_ASSUMED, "%s has %lld items: it is one input, a sequence", path->s,
         (long long)l->n);
    *out = (Value){ .tag = V_LIST, .list = l };
    return !ctx_failed(cx);
}

/* Does the caller want lists of numbers as sequences, and does -i give the type of every item of
 * this one, and the value of none? */
static bool is_sequence(Inputs *in, Str path, const TypeExpr *elem)
{
    const Options *o = options_of(in->ev);
    if (!o->sequence_lists || sequence_dtype(elem) == DT_NONE)
        return false;
    for (size_t i = 0;; i++) {
        Str child = child_at(in, path, i);
        if (!child)
            return i > 0;
        uintptr_t k = (uintptr_t)map_get(&in->given, path_of(in->ev->cx, path, child));
        if (k == 0 || o->input[k - 1].is_value)
            return false;
    }
}

/* A list has as many items as -i and the file mention, in the order of their numbers:
 * `-i xs.1:float32[3] -i xs.0:float32[2]` is a list of two whose first item has size 2. */
static bool make_list(Inputs *in, Str path, const TypeExpr *elem, Value *out)
{
    VEC(Value) items = { 0 };
    Ctx *cx = in->ev->cx;
    Str child;
    Value v;
    if (is_sequence(in, path, elem))
        return make_sequence(in, path, elem, out);
    while (child_at(in, path, items.n)) {
        child = str_fmt(cx, "%zu", items.n);
        if (!make_value(in, path_of(cx, path, child), elem, NULL, &v))
            return false;
        vec_push(cx, &items, v);
    }
    if (items.n == 0)
        return no_leaves(in, path, "list", "0");
    *out = val_list(cx, items.at, (int64_t)items.n, elem ? elem->name->s : "Tensor");
    return true;
}

static bool make_tuple(Inputs *in, Str path, const TypeExpr *t, Value *out)
{
    Ctx *cx = in->ev->cx;
    Value *items = new_array(cx, Value, t->n + 1);
    if (!items)
        return false;
    for (uint32_t i = 0; i < t->n; i++)
        if (!make_value(in, str_fmt(cx, "%s.%u", path->s, i), t->args[i], NULL, &items[i]))
            return false;
    *out = val_tuple(cx, items, t->n);
    return true;
}

/* The key "7" of a dict with int keys. */
static bool int_key(Ctx *cx, Str path, Str text, Value *out)
{
    int64_t v;
    if (!parse_int(text->s, text->len, &v))
        return fail(cx, E_USAGE, "-i: a key of %s is an int of 64 bits, not %s", path->s, text->s);
    *out = val_int(v);
    return true;
}

/* A dict has the keys that -i and the file mention: `-i d.image:float32[3]` is {"image": a tensor},
 * or with int keys `-i d.0:float32[3]` is {0: a tensor}. */
static bool make_dict(Inputs *in, Str path, const TypeExpr *t, Value *out)
{
    Ctx *cx = in->ev->cx;
    Dict *d = dict_new(cx, type_expr_text(cx, t));
    const TypeExpr *elem = t->n == 2 ? t->args[1] : NULL;
    bool by_int = t->n == 2 && is(t->args[0], "int");
    for (size_t k = 0;; k++) {
        Str child = child_at(in, path, k);
        Value v;
        if (!child)
            break;
        if (!make_value(in, path_of(cx, path, child), elem, NULL, &v))
            return false;
        Value key = val_str(child);
        if (by_int && !int_key(cx, path, child, &key))
            return false;
        dict_set(cx, d, key, v);
    }
    if (!made_up_dict(cx, path, d) && d->n == 0)
        return no_leaves(in, path, "dict", "KEY");
    *out = (Value){ .tag = V_DICT, .dict = d };
    return true;
}

/* A NamedTuple: an input for each field, NAME.FIELD. One that is nested in itself has no end, so
 * the depth is bounded. */
static bool make_named_tuple(Inputs *in, Str path, const ClassDef *c, Value *out)
{
    Ctx *cx = in->ev->cx;
    Value *items = new_array(cx, Value, c->n_field + 1);
    Str *names = new_array(cx, Str, c->n_field + 1);
    if (!items || !names)
        return false;
    if (++in->depth > cx->limit[LIMIT_DEPTH])
        return fail(cx, E_FORMAT, "the input %.40s: the type %s holds itself, or too many others",
                    path->s, c->plain->s);
    for (uint32_t i = 0; i < c->n_field; i++) {
        names[i] = c->field[i].name;
        if (!make_value(in, path_of(cx, path, names[i]), c->field[i].type, NULL, &items[i]))
            return false;
    }
    in->depth--;
    *out = val_tuple(cx, items, c->n_field);
    out->tuple->type = c->plain;
    out->tuple->fields = names;
    return true;
}

/* Does -i or the file say anything about path itself or about a leaf below it? */
static bool is_given(Inputs *in, Str path)
{
    const InputDecl *d = decl_at(in, path);
    return map_get(&in->given, path) || (d && d->known) || child_at(in, path, 0);
}

static bool make_optional(Inputs *in, Str path, const TypeExpr *t, const ParamDecl *p, Value *out)
{
    uintptr_t i = (uintptr_t)map_get(&in->given, path);
    const InputSpec *s = i ? &options_of(in->ev)->input[i - 1] : NULL;
    if (s && s->is_value && s->value_kind == SPEC_NONE) {
        use_spec(in, i - 1);
        *out = val_none();
        return true;
    }
    if (is_given(in, path))
        return make_value(in, path, t->args[0], p, out);
    if (p && p->deflt)
        return eval_expr(in->ev, p->deflt, out);
    note(in->ev->cx, NOTE_ASSUMED, "%s is None; -i %s:TYPE[SIZES] decides it", path->s, path->s);
    *out = val_none();
    return true;
}

/* Is a value of this type one that -i can give (`-i n=3`), or a scalar input? */
static bool is_scalar_type(const TypeExpr *t)
{
    static const char *const names[] = { "int",    "float",   "bool",     "str", "number",
                                         "Device", "complex", "NoneType", "None" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(t, names[i]))
            return true;
    return false;
}

/* Of a Union the alternative that is meant: the one that a value of -i is of; where items are
 * named, the first that has items; else a tensor, and the first where it has none. */
static const TypeExpr *alternative(Inputs *in, Str path, const TypeExpr *t)
{
    const InputSpec *s = spec_at(in, path);
    bool has_items = child_at(in, path, 0);
    for (uint32_t i = 0; i < t->n; i++) {
        const TypeExpr *one = t->args[i];
        bool meant = is(one, "Tensor");
        if (s && s->is_value)
            meant = val_is_a(in->ev, value_of_spec(s), one);
        else if (has_items)
            meant = !is(one, "Tensor") && !is_scalar_type(one);
        if (meant)
            return one;
    }
    return t->args[0];
}

/* A parameter whose type is a class of the program, of which a NamedTuple alone can be an input. */
static bool make_of_class(Inputs *in, Str path, const TypeExpr *t, Value *out)
{
    Ctx *cx = in->ev->cx;
    Program *program = in->ev->p;
    const ClassDef *c = NULL;
    if (program->find_class)
        c = program->find_class(cx, program, t->name);
    if (c && c->kind == CLASS_NAMEDTUPLE)
        return make_named_tuple(in, path, c, out);
    if (ctx_failed(cx))
        return false;
    return fail(cx, E_UNSUPPORTED, "the input %s has type %s, which ONNX cannot hold", path->s,
                type_expr_text(cx, t)->s);
}

/* The value at path by its type t (NULL: the type that the file records, else a tensor). A default
 * of the parameter p (or NULL) counts where neither -i nor the file mentions the path or a leaf
 * below it. Of `f(x: Tensor, sizes: Tuple[int, Tensor])` this makes x, sizes, sizes.0 and sizes.1.
 */
static bool make_value(Inputs *in, Str path, const TypeExpr *t, const ParamDecl *p, Value *out)
{
    Ctx *cx = in->ev->cx;
    const InputDecl *d = decl_at(in, path);
    check_stack(cx);
    count_values(cx, 1);
    /* Optional and Union come here once more, for the type that is meant. */
    if (!in->names.n || in->names.at[in->names.n - 1] != path)
        vec_push(cx, &in->names, path);
    if (!t && d)
        t = d->type;
    if (!t && d && d->has_default && !d->known) {
        *out = d->deflt;
        return true;
    }
    if (!t || is(t, "Tensor"))
        return make_tensor(in, path, out);
    if (is(t, "Optional") && t->n == 1)
        return make_optional(in, path, t, p, out);
    if (is_scalar_type(t))
        return make_scalar(in, path, t, p, out);
    if (p && p->deflt && !is_given(in, path))
        return eval_expr(in->ev, p->deflt, out) && convert_to(in->ev, *out, t, path->s, out);
    if (is(t, "Union") && t->n > 0)
        return make_value(in, path, alternative(in, path, t), NULL, out);
    if (is(t, "List") || is(t, "Dict"))
        make_up_children(in, path, t);
    if (is(t, "List"))
        return make_list(in, path, t->n ? t->args[0] : NULL, out);
    if (is(t, "Tuple"))
        return make_tuple(in, path, t, out);
    if (is(t, "Dict"))
        return make_dict(in, path, t, out);
    return make_of_class(in, path, t, out);
}

/* ---- all of them ---- */

static size_t distance(Str a, Str b) { return word_distance(a->s, a->len, b->s, b->len); }

/* An -i that found no place: names the inputs, and offers the one that is spelt most like it. */
static bool unknown_spec(Inputs *in, const InputSpec *s)
{
    Ctx *cx = in->ev->cx;
    Buf all = buf_new(cx);
    Str nearest = NULL;
    for (size_t i = 0; i < in->names.n; i++) {
        Str name = in->names.at[i];
        buf_fmt(&all, "%s%s", i ? ", " : "", name->s);
        if (s->path && (!nearest || distance(name, s->path) < distance(nearest, s->path)))
            nearest = name;
    }
    if (!s->path || nearest == s->path) {
        fail(cx, E_USAGE, "-i %s: every tensor input has sizes already", s->text->s);
        if (in->by_position)
            fail_hint(cx,
                      "not all names in -i are the model's, so they name its inputs in order: %s",
                      buf_done(&all)->s);
        return false;
    }
    fail(cx, E_USAGE, "-i %s: the model has no input '%s'; its inputs are %s", s->text->s,
         s->path->s, in->names.n ? buf_done(&all)->s : "none");
    if (nearest)
        fail_hint(cx, "did you mean '%s'?", nearest->s);
    return false;
}

/* Does -i name a tensor as the program does not? Then all names of tensors are the user's own. */
static bool names_are_new(const Inputs *in, const Function *fn, uint32_t self)
{
    const Options *o = options_of(in->ev);
    Ctx *cx = in->ev->cx;
    Map param = { 0 };
    for (uint32_t k = self; k < fn->n_param; k++)
        map_put(cx, &param, fn->param[k].name, NULL);
    for (size_t i = 0; i < o->n_input; i++) {
        const InputSpec *s = &o->input[i];
        if (!s->is_value && s->path && !decl_at(in, s->path) &&
            !map_find(&param, str_n(cx, s->path->s, strcspn(s->path->s, "."))))
            return true;
    }
    return false;
}

/* Is an input of another type than the example at its place? Then the examples are in another order
 * than the parameters. */
static bool examples_mislead(const Inputs *in)
{
    const Options *o = options_of(in->ev);
    for (size_t i = 0; i < o->n_input && !in->by_position; i++) {
        const InputSpec *s = &o->input[i];
        const InputDecl *d = s->path && !s->is_value ? decl_at(in, s->path) : NULL;
        if (d && d->known && d->example && (d->rank != s->rank || d->dtype != s->dtype))
            return true;
    }
    return false;
}

/* The arguments of the entry function, without self: a value for each parameter, made of graph
 * inputs. In order: the file's symbols with their ranges, `--dim` renames some; whether the names
 * in -i are the program's; the parameters from left to right; an -i that is left over is an
 * error. */
bool make_inputs(Eval *ev, Value **args, size_t *n)
{
    const Options *o = options_of(ev);
    const Function *fn = ev->p->entry;
    uint32_t self = ev->p->root.tag == V_OBJ ? 1 : 0;
    Inputs in = { .ev = ev, .used = new_array(ev->cx, bool, o->n_input + 1) };
    *n = fn->n_param > self ? fn->n_param - self : 0;
    *args = new_array(ev->cx, Value, *n + 1);
    if (!*args || !in.used)
        return false;
    made_up_begin(ev->cx);
    if (!declare_symbols(ev))
        return false;
    index_paths(&in);
    in.by_position = names_are_new(&in, fn, self);
    index_specs(&in);
    in.misled = examples_mislead(&in);
    if (in.misled)
        note(ev->cx, NOTE_DROPPED,
             "the sizes and types of the example inputs, which are in another order than forward's "
             "parameters, or of other types");
    for (size_t i = 0; i < *n; i++) {
        const ParamDecl *p = &fn->param[i + self];
        if (!make_value(&in, p->name, p->type, p, &(*args)[i]))
            return false;
    }
    for (size_t i = 0; i < o->n_input; i++)
        if (!in.used[i])
            return unknown_spec(&in, &o->input[i]);
    return true;
}
