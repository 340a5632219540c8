/* exported_graph.c - a graph of a .pt2 as a function of the program: each node one statement.
 *
 * Names become slots. A graph inside a node (a branch, a loop's body) is a function of its own, for it refers to nothing
 * outside; a region that only marks something (no_grad, a disabled autocast) is written into the function around it.
 * Keys of a graph come in any order, and what a value is stands after the nodes that use it: so the places of all keys are
 * found first and read in the order that we need. */
#include "front/internal.h"

typedef struct ExFunction {
    VEC(Str) slots;
    VEC(Stmt *) before, body;
} ExFunction;

/* The names of one graph. */
typedef struct Scope {
    Exported *x;
    ExFunction *fn;
    Map slots;                      /* name -> slot + 1 */
    Map types;                      /* name -> Recorded */
} Scope;

/* What a graph's parameters and results are. */
typedef struct Graph_ { VEC(ExArg) inputs, outputs; bool single; } Graph_;
typedef VEC(Expr *) Operands;

static bool read_graph(Scope *s, Json *j, Graph_ *out, const Operands *operands);
static bool read_arg(Scope *s, Json *j, ExArg *out);

/* ---- making ---- */

static bool bad(Exported *x, const Json *j, const char *what)
{
    return fail(x->cx, E_FORMAT, "%s: byte %zu: %s", j->record, json_mark(j), what);
}

Expr *ex_expr(Exported *x, ExprKind kind)
{
    Expr *e = new(x->cx, Expr);
    e->kind = kind;
    return e;
}

static uint32_t new_slot(Exported *x, ExFunction *fn, Str name)
{
    vec_push(x->cx, &fn->slots, name);
    return (uint32_t)fn->slots.n - 1;
}

static Expr *local(Exported *x, uint32_t slot)
{
    Expr *e = ex_expr(x, X_LOCAL);
    e->slot = slot;
    return e;
}

static bool define(Scope *s, const Json *j, Str name, uint32_t *slot)
{
    if (map_find(&s->slots, name))
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: the value %s is defined twice", j->record, json_mark(j), name->s);
    *slot = new_slot(s->x, s->fn, name);
    map_put(s->x->cx, &s->slots, name, (void *)(uintptr_t)(*slot + 1));
    return true;
}

static bool use(Scope *s, const Json *j, Str name, Expr **out)
{
    uintptr_t slot = (uintptr_t)map_get(&s->slots, name);
    if (!slot)
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: the value %s is used before it is defined", j->record, json_mark(j), name ? name->s : "null");
    *out = local(s->x, (uint32_t)slot - 1);
    return true;
}

/* ---- JSON of a union, of a name ---- */

bool ex_union(Exported *x, Json *j, Str *tag, Json *value)
{
    Str key;
    int set = 0;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        Json here = *j;
        if (json_peek(j) != J_NULL) {
            *tag = key;
            *value = here;
            set++;
        }
        if (!json_skip(j))
            return false;
    }
    return !j->failed && (set == 1 || bad(x, j, "exactly one kind of value is expected"));
}

/* {"name": n, ..} */
static bool read_name(Json *j, Str *out)
{
    Str key;
    *out = NULL;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "name") ? json_str(j, out) : json_skip(j)))
            return false;
    return !j->failed;
}

/* ---- sizes and tensors ---- */

typedef struct Sized { const Exported *x; bool yes; } Sized;

static Dim look_at_symbol(void *arg, Dim sym)
{
    Sized *s = arg;
    Str name;
    bool known = !dim_is_sym(sym, &name);
    for (size_t i = 0; i < s->x->symbols.n; i++)
        known |= s->x->symbols.at[i].name == name;
    s->yes &= known;
    return NULL;
}

/* A dimension takes its symbols to be sizes. A number from data that no check of the program bounds from below is none. */
static bool only_sizes(Exported *x, Dim size)
{
    Sized s = { x, true };
    dim_replace(x->cx, size, look_at_symbol, &s);
    return s.yes;
}

const RecordedDim *ex_dim(Exported *x, Str text)
{
    RecordedDim *d = map_get(&x->dims, text);
    if (d)
        return d;
    d = new(x->cx, RecordedDim);
    *d = (RecordedDim){ .known = -1 };
    Dim size = sympy_dim(x->cx, text);
    if (size && !dim_known(size, &d->known) && only_sizes(x, size))
        d->expr = dim_text(x->cx, size);
    if (!size)
        note(x->cx, NOTE_INFO, "the size %s is not understood: it becomes an unknown one", text->s);
    map_put(x->cx, &x->dims, text, d);
    return d;
}

/* {"expr_str": text, "hint": ..} */
static bool read_expr(Exported *x, Json *j, RecordedDim *out)
{
    Str key, text = NULL;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "expr_str") ? json_str(j, &text) : json_skip(j)))
            return false;
    if (j->failed || !text)
        return j->failed ? false : bad(x, j, "a symbolic size has no expr_str");
    *out = *ex_dim(x, text);
    return true;
}

/* SymInt; schema 2 has bare ints. */
static bool read_sym_int(Exported *x, Json *j, RecordedDim *out, bool *number)
{
    Str tag;
    Json value;
    *out = (RecordedDim){ .known = -1 };
    *number = true;
    if (json_peek(j) == J_INT)
        return json_int(j, &out->known);
    if (!ex_union(x, j, &tag, &value))
        return false;
    if (str_is(tag, "as_int"))
        return json_int(&value, &out->known);
    *number = false;
    return str_is(tag, "as_expr") ? read_expr(x, &value, out) : bad(x, j, "a size is expected");
}

static bool read_size(Exported *x, Json *j, RecordedDim *out)
{
    bool number;
    return read_sym_int(x, j, out, &number) && (!number || out->known >= 0 || bad(x, j, "a negative size"));
}

static bool read_sizes(Exported *x, Json *j, RecordedDim *out, int *n)
{
    if (!json_enter_array(j))
        return false;
    for (*n = 0; json_more(j); ++*n) {
        if (*n == MAX_RANK)
            return fail(x->cx, E_LIMIT, "%s: byte %zu: a tensor of more than %d dimensions", j->record, json_mark(j), MAX_RANK);
        if (!read_size(x, j, &out[*n]))
            return false;
    }
    return !j->failed;
}

static bool all_known(const RecordedDim *d, int n, int64_t *out)
{
    for (int i = 0; i < n; i++) {
        if (d[i].known < 0)
            return false;
        out[i] = d[i].known;
    }
    return true;
}

bool ex_tensor_meta(Exported *x, Json *j, ExTensor *out)
{
    RecordedDim size[MAX_RANK], stride[MAX_RANK], offset = { .known = 0 };
    Str key;
    int rank = 0, n_stride = 0;
    *out = (ExTensor){ .layout = 7 };
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok = str_is(key, "dtype") ? json_int(j, &out->code)
                : str_is(key, "sizes") ? read_sizes(x, j, size, &rank)
                : str_is(key, "strides") ? read_sizes(x, j, stride, &n_stride)
                : str_is(key, "storage_offset") ? read_size(x, j, &offset)
                : str_is(key, "layout") ? json_int(j, &out->layout) : json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed)
        return false;
    out->type.dtype = dtype_of_pt2(out->code);
    out->type.rank = rank;
    out->type.dim = mem_copy(x->cx, size, (size_t)rank * sizeof *size);
    out->is_static = rank == n_stride && all_known(size, rank, out->size) && all_known(stride, rank, out->stride) && all_known(&offset, 1, &out->offset);
    return true;
}

/* ---- what values are ---- */

static bool add_type(Scope *s, const Json *j, Str name, const Recorded *r)
{
    if (map_find(&s->types, name))
        return fail(s->x->cx, E_FORMAT, "%s: byte %zu: %s is described twice", j->record, json_mark(j), name->s);
    map_put(s->x->cx, &s->types, name, mem_copy(s->x->cx, r, sizeof *r));
    return true;
}

static bool read_tensor_values(Scope *s, Json *j)
{
    Str name;
    ExTensor t;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name))
        if (!ex_tensor_meta(s->x, j, &t) || !add_type(s, j, name, &t.type))
            return false;
    return !j->failed;
}

/* sym_int_values, sym_float_values, sym_bool_values: `what` is "int", "float", "bool". An int's size is its one dim. */
static bool read_sym_values(Scope *s, Json *j, const char *what)
{
    Str name;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name)) {
        Recorded r = { .what = str_of(s->x->cx, what) };
        RecordedDim d;
        bool number, is_int = !strcmp(what, "int");
        if (!(is_int ? read_sym_int(s->x, j, &d, &number) : json_skip(j)))
            return false;
        if (is_int && d.known < 0)
            d.known = -1;                           /* an int may be negative, which a dimension cannot say */
        r.dim = is_int ? mem_copy(s->x->cx, &d, sizeof d) : NULL;
        if (!add_type(s, j, name, &r))
            return false;
    }
    return !j->failed;
}

static const Recorded *type_of(const Scope *s, Str name)
{
    static const Recorded nothing;
    const Recorded *r = name ? map_get(&s->types, name) : NULL;
    return r ? r : &nothing;
}

/* ---- arguments as expressions ---- */

typedef bool (*ReadItem)(Scope *s, Json *j, Expr **out);

static bool read_list(Scope *s, Json *j, ReadItem item, Expr **out)
{
    VEC(Expr *) items = { 0 };
    if (!json_enter_array(j))
        return false;
    while (json_more(j)) {
        Expr *e = NULL;
        if (!item(s, j, &e))
            return false;
        vec_push(s->x->cx, &items, e);
    }
    *out = ex_expr(s->x, X_LIST);
    (*out)->items = items.at;
    (*out)->n = (uint32_t)items.n;
    return !j->failed;
}

static bool none_item(Scope *s, Json *j, Expr **out) { *out = ex_expr(s->x, X_NONE); return json_skip(j); }

static bool int_item(Scope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_INT);
    return json_int(j, &(*out)->i);
}

static bool float_item(Scope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_FLOAT);
    return json_float(j, &(*out)->f);
}

static bool bool_item(Scope *s, Json *j, Expr **out)
{
    bool b = false;
    bool ok = json_bool(j, &b);
    *out = ex_expr(s->x, b ? X_TRUE : X_FALSE);
    return ok;
}

static bool string_item(Scope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_STR);
    return json_str(j, &(*out)->s) && ((*out)->s || bad(s->x, j, "a string is expected, not null"));
}

static bool name_item(Scope *s, Json *j, Expr **out)
{
    Str name;
    return read_name(j, &name) && use(s, j, name, out);
}

static bool optional_item(Scope *s, Json *j, Expr **out)
{
    ExArg a;
    bool ok = read_arg(s, j, &a);
    *out = a.value;
    return ok;
}

static bool complex_item(Scope *s, Json *j, Expr **out)
{
    Str key;
    *out = ex_expr(s->x, X_COMPLEX);
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "real") ? json_float(j, &(*out)->c[0]) : str_is(key, "imag") ? json_float(j, &(*out)->c[1]) : json_skip(j)))
            return false;
    return !j->failed;
}

/* {"as_name": n} or a plain value, {"as_int": 3} */
static bool sym_item(Scope *s, Json *j, Expr **out)
{
    Str tag, name;
    Json value;
    if (!ex_union(s->x, j, &tag, &value))
        return false;
    if (str_is(tag, "as_name"))
        return json_str(&value, &name) && use(s, &value, name, out);
    return str_is(tag, "as_int") ? int_item(s, &value, out) : str_is(tag, "as_float") ? float_item(s, &value, out)
         : str_is(tag, "as_bool") ? bool_item(s, &value, out) : bad(s->x, j, "a symbolic number is expected");
}

static bool names_list_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, name_item, out); }
static bool ints_list_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, int_item, out); }
static bool floats_list_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, float_item, out); }

static bool dtype_item(Scope *s, Json *j, Expr **out)
{
    int64_t code;
    if (!json_int(j, &code))
        return false;
    *out = ex_expr(s->x, X_VALUE);
    (*out)->value = (Value){ .tag = V_DTYPE, .dtype = dtype_of_pt2(code) };
    if ((*out)->value.dtype == DT_NONE)
        return fail(s->x->cx, E_UNSUPPORTED, "the dtype of number %lld has no place in ONNX", (long long)code);
    return true;
}

/* The evaluator speaks c10's numbers, as TorchScript does; the file's are others. */
static bool renumbered(Scope *s, Json *j, const int8_t *c10, size_t n, const char *what, Expr **out)
{
    *out = ex_expr(s->x, X_INT);
    if (!json_int(j, &(*out)->i))
        return false;
    if ((*out)->i < 0 || (size_t)(*out)->i >= n || c10[(*out)->i] < 0)
        return fail(s->x->cx, E_FORMAT, "%s: there is no %s of number %lld", j->record, what, (long long)(*out)->i);
    (*out)->i = c10[(*out)->i];
    return true;
}

static bool memory_format_item(Scope *s, Json *j, Expr **out)
{
    static const int8_t c10[] = { -1, 0, 2, 3, 1 };             /* contiguous, channels_last, channels_last_3d, preserve */
    return renumbered(s, j, c10, COUNT(c10), "memory format", out);
}

static bool layout_item(Scope *s, Json *j, Expr **out)
{
    static const int8_t c10[] = { -1, 1, 3, 5, 6, 7, 4, 0 };    /* COO, CSR, CSC, BSR, BSC, mkldnn, strided */
    return renumbered(s, j, c10, COUNT(c10), "layout", out);
}

static bool device_item(Scope *s, Json *j, Expr **out)
{
    Str key, type = NULL;
    int64_t index = -1;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool has_index = str_is(key, "index") && json_peek(j) == J_INT;
        if (!(str_is(key, "type") ? json_str(j, &type) : has_index ? json_int(j, &index) : json_skip(j)))
            return false;
    }
    if (j->failed || !type)
        return j->failed ? false : bad(s->x, j, "a device has no type");
    *out = ex_expr(s->x, X_VALUE);
    (*out)->value = (Value){ .tag = V_DEVICE, .s = index < 0 ? type : str_fmt(s->x->cx, "%s:%lld", type->s, (long long)index) };
    return true;
}

/* {"name": n, "graph": Graph}: *graph stands before the graph. */
static bool find_graph(Scope *s, Json *j, Str *name, Json *graph)
{
    Str key;
    bool found = false;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        if (str_is(key, "graph")) {
            *graph = *j;
            found = true;
        }
        if (!(str_is(key, "name") ? json_str(j, name) : json_skip(j)))
            return false;
    }
    return j->failed ? false : found || bad(s->x, j, "a graph argument without a graph");
}

static Block block_of(Exported *x, const ExFunction *fn)
{
    VEC(Stmt *) all = { 0 };
    for (size_t i = 0; i < fn->before.n; i++)
        vec_push(x->cx, &all, fn->before.at[i]);
    for (size_t i = 0; i < fn->body.n; i++)
        vec_push(x->cx, &all, fn->body.at[i]);
    return (Block){ all.at, (uint32_t)all.n };
}

static Stmt *stmt_new(Exported *x, StmtKind kind, Expr *value)
{
    Stmt *s = new(x->cx, Stmt);
    s->kind = kind;
    s->value = value;
    return s;
}

static Function *function_of(Exported *x, ExFunction *fn, Str name)
{
    Function *f = new(x->cx, Function);
    f->name = f->qualname = name;
    f->body = block_of(x, fn);
    f->slot_name = fn->slots.at;
    f->n_slot = (uint32_t)fn->slots.n;
    return f;
}

static Expr *tuple_of(Exported *x, const ExArg *args, size_t n)
{
    Expr *e = ex_expr(x, X_TUPLE);
    e->items = new_array(x->cx, Expr *, n);
    for (size_t i = 0; e->items && i < n; i++)
        e->items[e->n++] = args[i].value;
    return e;
}

/* A graph that is an operand: a function whose parameters are the graph's inputs, bound by position. It returns a tuple,
 * or its one result when it says so. */
static bool graph_item(Scope *s, Json *j, Expr **out)
{
    Exported *x = s->x;
    Str name = NULL;
    Json at;
    if (!find_graph(s, j, &name, &at))
        return false;
    ExFunction *fn = new(x->cx, ExFunction);
    Scope inner = { .x = x, .fn = fn };
    Graph_ g = { 0 };
    if (!read_graph(&inner, &at, &g, NULL))
        return false;
    bool one = g.single && g.outputs.n == 1;
    Stmt *ret = stmt_new(x, S_RETURN, one ? g.outputs.at[0].value : tuple_of(x, g.outputs.at, g.outputs.n));
    vec_push(x->cx, &fn->body, ret);
    Function *f = function_of(x, fn, name ? name : str_of(x->cx, "graph"));
    f->param = new_array(x->cx, ParamDecl, g.inputs.n);
    for (size_t i = 0; f->param && i < g.inputs.n; i++)
        f->param[f->n_param++] = (ParamDecl){ .name = g.inputs.at[i].name, .slot = g.inputs.at[i].value->slot };
    *out = ex_expr(x, X_GRAPH);
    (*out)->fn = f;
    return !ctx_failed(x->cx);
}

static bool custom_object(Scope *s, Json *j, Expr **out)
{
    (void)j, (void)out;
    return fail(s->x->cx, E_UNSUPPORTED, "the program uses a custom object (TorchBind), which ONNX has no place for");
}

static bool tensors_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, name_item, out); }
static bool optionals_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, optional_item, out); }
static bool nested_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, names_list_item, out); }
static bool ints_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, int_item, out); }
static bool floats_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, float_item, out); }
static bool bools_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, bool_item, out); }
static bool strings_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, string_item, out); }
static bool int_lists_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, ints_list_item, out); }
static bool float_lists_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, floats_list_item, out); }
static bool syms_item(Scope *s, Json *j, Expr **out) { return read_list(s, j, sym_item, out); }

static const struct { const char *tag; ReadItem read; } arg_readers[] = {
    { "as_tensor", name_item }, { "as_int", int_item }, { "as_ints", ints_item }, { "as_none", none_item }, { "as_bool", bool_item },
    { "as_float", float_item }, { "as_sym_int", sym_item }, { "as_sym_ints", syms_item }, { "as_tensors", tensors_item },
    { "as_scalar_type", dtype_item }, { "as_device", device_item }, { "as_string", string_item }, { "as_memory_format", memory_format_item },
    { "as_layout", layout_item }, { "as_floats", floats_item }, { "as_bools", bools_item }, { "as_strings", strings_item },
    { "as_optional_tensor", optional_item }, { "as_optional_tensors", optionals_item }, { "as_nested_tensors", nested_item },
    { "as_int_lists", int_lists_item }, { "as_float_lists", float_lists_item }, { "as_complex", complex_item },
    { "as_sym_float", sym_item }, { "as_sym_floats", syms_item }, { "as_sym_bool", sym_item }, { "as_sym_bools", syms_item },
    { "as_graph", graph_item }, { "as_operator", string_item }, { "as_custom_obj", custom_object },
};

static bool read_value(Scope *s, Str tag, Json *value, Expr **out)
{
    for (size_t i = 0; i < COUNT(arg_readers); i++)
        if (str_is(tag, arg_readers[i].tag))
            return arg_readers[i].read(s, value, out);
    return fail(s->x->cx, E_UNSUPPORTED, "%s: byte %zu: an argument of the kind %s is not known here", value->record, json_mark(value), tag->s);
}

static bool read_arg(Scope *s, Json *j, ExArg *out)
{
    Json value;
    *out = (ExArg){ 0 };
    if (!ex_union(s->x, j, &out->tag, &value))
        return false;
    Json again = value;
    if (str_is(out->tag, "as_tensor") && !read_name(&again, &out->name))
        return false;
    return read_value(s, out->tag, &value, &out->value);
}

/* ---- nodes ---- */

typedef struct Node_ {
    Str target, trace, modules;
    VEC(Arg) args;
    Json inputs, outputs;
    bool has_inputs, has_outputs, single;
    const struct Region *region;
    Json graph;                     /* of a region: found, not read */
    bool has_graph;
} Node_;

/* A region's graph is read when its operands are known. */
static bool read_node_arg(Scope *s, Json *j, Node_ *n, Expr **out)
{
    Json ahead = *j, graph;
    Str tag, name;
    ExArg a;
    if (n->region && !ex_union(s->x, &ahead, &tag, &graph))
        return false;
    if (n->region && str_is(tag, "as_graph")) {
        *j = ahead;
        *out = ex_expr(s->x, X_NONE);
        n->has_graph = true;
        return find_graph(s, &graph, &name, &n->graph);
    }
    bool ok = read_arg(s, j, &a);
    *out = a.value;
    return ok;
}

static bool read_named_arg(Scope *s, Json *j, Node_ *n)
{
    Str key;
    Arg a = { 0 };
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "name") ? json_str(j, &a.name) : str_is(key, "arg") ? read_node_arg(s, j, n, &a.value) : json_skip(j)))
            return false;
    if (j->failed || !a.value)
        return j->failed ? false : bad(s->x, j, "an argument without a value");
    if (a.name && a.name->len == 0)
        a.name = NULL;
    return vec_push(s->x->cx, &n->args, a);
}

static bool read_named_args(Scope *s, Json *j, Node_ *n)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_named_arg(s, j, n))
            return false;
    return !j->failed;
}

static bool read_metadata(Json *j, Node_ *n)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "stack_trace") ? json_str(j, &n->trace) : str_is(key, "nn_module_stack") ? json_str(j, &n->modules) : json_skip(j)))
            return false;
    return !j->failed;
}

/* Regions that mean nothing once the graph is recorded: their graph is written into the function around them. */
typedef struct Region { const char *target; size_t operands; } Region;

static const Region *region_of(Str target)
{
    static const Region regions[] = {
        { "torch.ops.higher_order.wrap_with_set_grad_enabled", 2 },     /* enabled, graph, operands */
        { "torch.ops.higher_order.wrap_with_autocast", 5 },             /* device, dtype, enabled, cache, graph, operands */
        { "torch.ops.higher_order.invoke_subgraph", 2 },                /* graph, identifier, operands */
    };
    for (size_t i = 0; i < COUNT(regions); i++)
        if (str_is(target, regions[i].target))
            return &regions[i];
    return NULL;
}

/* A dtype and a size that the file records anyway; ours are compared with them. */
static bool repeats_types(Str target) { return str_starts(target, "torch.ops.aten._assert_tensor_metadata."); }

/* An assertion about data or sizes, checked when the model runs in PyTorch. It has no result. */
static bool is_assertion(Str target)
{
    static const char *const names[] = {
        "torch.ops.aten._assert_scalar.", "torch.ops.aten._assert_async.",
        "torch.ops.aten.sym_constrain_range.", "torch.ops.aten.sym_constrain_range_for_size.",
        "torch.ops.aten._functional_assert_scalar.", "torch.ops.aten._functional_assert_async.",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_starts(target, names[i]))
            return true;
    return false;
}

/* torch.ops.aten.add.Tensor -> aten::add, Tensor; _operator.add -> _operator::add. detach_ stands behind every literal
 * tensor; despite its name it writes nothing. */
static void split_target(Ctx *cx, Str target, Expr *op)
{
    static const char prefix[] = "torch.ops.";
    const char *at = target->s;
    op->overload = NULL;
    if (str_is(target, "torch.ops.aten.detach_.default"))
        target = str_of(cx, "torch.ops.aten.detach.default"), at = target->s;
    if (str_starts(target, "torch.ops.higher_order.")) {
        op->op = str_fmt(cx, "higher_order::%s", at + strlen("torch.ops.higher_order."));
        return;
    }
    if (str_starts(target, prefix)) {
        at += sizeof prefix - 1;
        const char *dot = strchr(at, '.'), *last = strrchr(at, '.');
        if (dot && last > dot) {
            op->op = str_fmt(cx, "%.*s::%.*s", (int)(dot - at), at, (int)(last - dot - 1), dot + 1);
            op->overload = strcmp(last + 1, "default") ? str_of(cx, last + 1) : str_of(cx, "");
            return;
        }
    }
    const char *dot = strrchr(at, '.');
    op->op = dot ? str_fmt(cx, "%.*s::%s", (int)(dot - at), at, dot + 1) : target;
}

/* "key,path,class;key,path,class": the innermost. A path's "@1" counts the calls of one module. */
static void innermost_module(Ctx *cx, Str stack, Stmt *out)
{
    const char *last = strrchr(stack->s, ';');
    const char *path = strchr(last ? last : stack->s, ','), *type = path ? strchr(path + 1, ',') : NULL;
    if (!type)
        return;
    const char *at = memchr(path, '@', (size_t)(type - path));
    out->module = str_n(cx, path + 1, (size_t)((at ? at : type) - path - 1));
    out->module_type = str_of(cx, type + 1);
}

/* ---- results ---- */

typedef struct Targets { VEC(uint32_t) slot; VEC(Recorded) type; } Targets;

static bool add_target(Scope *s, const Json *j, Targets *t, Str name)
{
    uint32_t slot;
    if (!name)
        slot = new_slot(s->x, s->fn, str_of(s->x->cx, "_"));
    else if (!define(s, j, name, &slot))
        return false;
    vec_push(s->x->cx, &t->slot, slot);
    return vec_push(s->x->cx, &t->type, *type_of(s, name));
}

static Stmt *assign(Scope *s, Expr *value, const Targets *t, bool unpack)
{
    Stmt *st = stmt_new(s->x, t->slot.n ? S_ASSIGN : S_EXPR, value);
    st->target = t->slot.at;
    st->n_target = (uint32_t)t->slot.n;
    st->unpack = unpack;
    st->recorded = t->type.at;
    st->n_recorded = (uint32_t)t->type.n;
    vec_push(s->x->cx, &s->fn->body, st);
    return st;
}

static bool add_names(Scope *s, Json *j, Targets *t)
{
    Str name;
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_name(j, &name) || !add_target(s, j, t, name))
            return false;
    return !j->failed;
}

/* The name in a result that is one value; NULL for as_none and for a plain number. */
static bool result_name(Scope *s, Str tag, Json *value, Str *name)
{
    *name = NULL;
    if (str_is(tag, "as_tensor") || str_is(tag, "as_custom_obj"))
        return read_name(value, name) && (*name || bad(s->x, value, "a result without a name"));
    if (!str_starts(tag, "as_sym_"))
        return true;
    Str kind;
    Json at;
    if (!ex_union(s->x, value, &kind, &at))
        return false;
    return !str_is(kind, "as_name") || json_str(&at, name);
}

/* A list among several results: kept whole in a slot, unpacked by a statement of its own afterwards. */
typedef struct Later { uint32_t slot; Json names; } Later;
typedef struct Results { Targets targets; VEC(Later) lists; bool unpack; } Results;

static bool read_result(Scope *s, Json *j, Results *r)
{
    Str tag, name = NULL;
    Json value;
    if (!ex_union(s->x, j, &tag, &value))
        return false;
    bool is_list = str_is(tag, "as_tensors");
    if (!is_list && !result_name(s, tag, &value, &name))
        return false;
    if (!add_target(s, j, &r->targets, name))
        return false;
    return !is_list || vec_push(s->x->cx, &r->lists, (Later){ r->targets.slot.at[r->targets.slot.n - 1], value });
}

static bool read_results(Scope *s, Json *j, Results *r)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_result(s, j, r))
            return false;
    r->unpack = r->targets.slot.n != 1;
    if (r->targets.slot.n != 1 || r->lists.n != 1)
        return !j->failed;
    Json names = r->lists.at[0].names;          /* a list is the one result: its members are the targets */
    *r = (Results){ .unpack = true };
    return !j->failed && add_names(s, &names, &r->targets);
}

static bool unpack_lists(Scope *s, const Results *r)
{
    for (size_t i = 0; i < r->lists.n; i++) {
        Targets members = { 0 };
        Json names = r->lists.at[i].names;
        if (!add_names(s, &names, &members))
            return false;
        assign(s, local(s->x, r->lists.at[i].slot), &members, true);
    }
    return true;
}

/* ---- one node ---- */

/* Finds the keys; what they hold is read when the target is known. */
static bool scan_node(Scope *s, Json *j, Node_ *n)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        if (str_is(key, "inputs"))
            n->inputs = *j, n->has_inputs = true;
        if (str_is(key, "outputs"))
            n->outputs = *j, n->has_outputs = true;
        bool is_flag = str_is(key, "is_hop_single_tensor_return") && json_peek(j) != J_NULL;
        if (!(str_is(key, "target") ? json_str(j, &n->target) : str_is(key, "metadata") ? read_metadata(j, n)
              : is_flag ? json_bool(j, &n->single) : json_skip(j)))
            return false;
    }
    if (j->failed)
        return false;
    return (n->target && n->has_inputs && n->has_outputs) || bad(s->x, j, "a node without target, inputs or outputs");
}

static void place_stmt(Exported *x, Stmt *st, const Node_ *n)
{
    if (n->trace && n->trace->len)
        st->text = ex_trace_text(x, n->trace);
    if (n->modules)
        innermost_module(x->cx, n->modules, st);
}

/* The region's graph, its inputs set to the operands, its results to the node's. */
static bool write_region(Scope *s, Node_ *n)
{
    Exported *x = s->x;
    Operands operands = { 0 }, values = { 0 };
    Scope inner = { .x = x, .fn = s->fn };
    Graph_ g = { 0 };
    Results r = { 0 };
    if (!n->has_graph || n->args.n < n->region->operands)
        return bad(x, &n->inputs, "a region without its graph");
    if (str_is(n->target, "torch.ops.higher_order.wrap_with_autocast") && n->args.at[2].value->kind != X_FALSE) {
        fail(x->cx, E_UNSUPPORTED, "the program has an autocast region, where the casts of each operator are not written down");
        fail_hint(x->cx, "program.run_decompositions({}) before torch.export.save: it writes the casts out");
        return false;
    }
    for (size_t i = n->region->operands; i < n->args.n; i++)
        vec_push(x->cx, &operands, n->args.at[i].value);
    if (!read_graph(&inner, &n->graph, &g, &operands) || !read_results(s, &n->outputs, &r))
        return false;
    for (size_t i = 0; i < g.outputs.n; i++)
        vec_push(x->cx, &values, g.outputs.at[i].value);
    if (r.targets.slot.n != values.n)
        return bad(x, &n->outputs, "a region gives another number of results than its graph");
    Stmt *st = assign(s, values.n ? values.at[0] : ex_expr(x, X_NONE), &r.targets, false);
    if (values.n > 1) {
        st->value = NULL;
        st->values = values.at;
        st->n_values = (uint32_t)values.n;
    }
    place_stmt(x, st, n);
    return true;
}

static bool write_node(Scope *s, Node_ *n)
{
    Exported *x = s->x;
    Results r = { 0 };
    if (!read_named_args(s, &n->inputs, n))
        return false;
    if (n->region)
        return write_region(s, n);
    Expr *op = ex_expr(x, X_OP);
    split_target(x->cx, n->target, op);
    op->args = n->args.at;
    op->n_args = (uint32_t)n->args.n;
    if (!read_results(s, &n->outputs, &r))
        return false;
    bool higher_order = str_starts(op->op, "higher_order::");     /* gives a tuple, of one too */
    place_stmt(x, assign(s, op, &r.targets, r.unpack || (higher_order && !n->single)), n);
    return unpack_lists(s, &r);
}

static bool read_node(Scope *s, Json *j)
{
    Ctx *cx = s->x->cx;
    Node_ n = { 0 };
    if (!scan_node(s, j, &n))
        return false;
    if (is_assertion(n.target) || repeats_types(n.target)) {
        s->x->n_assertions += is_assertion(n.target);
        return true;
    }
    n.region = region_of(n.target);
    Where here = { .up = cx->at, .kind = WHERE_OP, .name = n.target };
    cx->at = &here;
    bool ok = write_node(s, &n);
    cx->at = here.up;
    return ok;
}

/* ---- a graph ---- */

enum { G_INPUTS, G_OUTPUTS, G_NODES, G_TENSORS, G_INTS, G_FLOATS, G_BOOLS, G_KEYS };

typedef struct Places_ { Json at[G_KEYS]; bool has[G_KEYS]; } Places_;

static bool find_keys(Scope *s, Json *j, Places_ *p, bool *single)
{
    static const char *const keys[] = { "inputs", "outputs", "nodes", "tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values" };
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        for (int i = 0; i < G_KEYS; i++)
            if (str_is(key, keys[i])) {
                p->at[i] = *j;
                p->has[i] = true;
            }
        if (!(str_is(key, "is_single_tensor_return") ? json_bool(j, single) : json_skip(j)))
            return false;
    }
    if (j->failed)
        return false;
    return (p->has[G_INPUTS] && p->has[G_OUTPUTS] && p->has[G_NODES]) || bad(s->x, j, "a graph without inputs, outputs or nodes");
}

static bool read_types(Scope *s, Places_ *p)
{
    return (!p->has[G_TENSORS] || read_tensor_values(s, &p->at[G_TENSORS])) && (!p->has[G_INTS] || read_sym_values(s, &p->at[G_INTS], "int")) &&
           (!p->has[G_FLOATS] || read_sym_values(s, &p->at[G_FLOATS], "float")) && (!p->has[G_BOOLS] || read_sym_values(s, &p->at[G_BOOLS], "bool"));
}

/* An input is a name, or a plain value that was frozen at export. */
static bool read_input(Scope *s, Json *j, ExArg *out)
{
    Json value;
    uint32_t slot;
    *out = (ExArg){ 0 };
    if (!ex_union(s->x, j, &out->tag, &value))
        return false;
    Json again = value;
    if (str_is(out->tag, "as_custom_obj"))
        return custom_object(s, j, NULL);
    if (!result_name(s, out->tag, &again, &out->name))
        return false;
    if (!out->name)
        return read_value(s, out->tag, &value, &out->value);
    if (!define(s, j, out->name, &slot))
        return false;
    out->value = local(s->x, slot);
    return true;
}

static bool read_inputs(Scope *s, Json *j, Graph_ *out)
{
    ExArg a;
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!read_input(s, j, &a) || !vec_push(s->x->cx, &out->inputs, a))
            return false;
    return !j->failed;
}

static bool bind_operands(Scope *s, const Json *j, const Graph_ *g, const Operands *operands)
{
    if (operands->n != g->inputs.n)
        return bad(s->x, j, "a region's graph takes another number of inputs than it is given");
    for (size_t i = 0; i < operands->n; i++) {
        Targets t = { 0 };
        if (!g->inputs.at[i].name)
            continue;
        vec_push(s->x->cx, &t.slot, g->inputs.at[i].value->slot);
        assign(s, operands->at[i], &t, false);
    }
    return true;
}

/* operands: of a region, what its inputs are; NULL: the caller binds them. */
static bool read_graph(Scope *s, Json *j, Graph_ *out, const Operands *operands)
{
    Places_ p = { 0 };
    ExArg a;
    if (!find_keys(s, j, &p, &out->single) || !read_types(s, &p) || !read_inputs(s, &p.at[G_INPUTS], out))
        return false;
    if (operands && !bind_operands(s, j, out, operands))
        return false;
    Json *nodes = &p.at[G_NODES], *outputs = &p.at[G_OUTPUTS];
    if (!json_enter_array(nodes))
        return false;
    while (json_more(nodes))
        if (!read_node(s, nodes))
            return false;
    if (nodes->failed || !json_enter_array(outputs))
        return false;
    while (json_more(outputs))
        if (!read_arg(s, outputs, &a) || !vec_push(s->x->cx, &out->outputs, a))
            return false;
    return !outputs->failed;
}

/* ---- the whole program ---- */

bool ex_graph(Exported *x, Json *j)
{
    Graph_ g = { 0 };
    if (x->fn)
        return bad(x, j, "a second graph");
    x->fn = new(x->cx, ExFunction);
    new_slot(x, x->fn, str_of(x->cx, "self"));
    Scope s = { .x = x, .fn = x->fn };
    if (!read_graph(&s, j, &g, NULL))
        return false;
    for (size_t i = 0; i < g.inputs.n; i++)
        vec_push(x->cx, &x->inputs, g.inputs.at[i]);
    for (size_t i = 0; i < g.outputs.n; i++)
        vec_push(x->cx, &x->outputs, g.outputs.at[i]);
    x->input_types = s.types;
    return !ctx_failed(x->cx);
}

void ex_prologue(Exported *x, Stmt *s) { vec_push(x->cx, &x->fn->before, s); }
void ex_epilogue(Exported *x, Stmt *s) { vec_push(x->cx, &x->fn->body, s); }

Function *ex_finish(Exported *x, const ParamDecl *param, uint32_t n_param)
{
    Function *f = function_of(x, x->fn, str_of(x->cx, "forward"));
    f->param = mem_copy(x->cx, param, n_param * sizeof *param);
    f->n_param = n_param;
    return f;
}
