/* exported_arg.c - the arguments of a .pt2's nodes as expressions: names, numbers, lists, dtypes,
 * graphs. */
#include "front/exported/exported.h"

/* ---- arguments as expressions ---- */

typedef bool (*ReadItem)(ExScope *s, Json *j, Expr **out);

static bool read_list(ExScope *s, Json *j, ReadItem item, Expr **out)
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

static bool none_item(ExScope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_NONE);
    return json_skip(j);
}

static bool int_item(ExScope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_INT);
    return json_int(j, &(*out)->i);
}

static bool float_item(ExScope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_FLOAT);
    return json_float(j, &(*out)->f);
}

static bool bool_item(ExScope *s, Json *j, Expr **out)
{
    bool b = false;
    bool ok = json_bool(j, &b);
    *out = ex_expr(s->x, b ? X_TRUE : X_FALSE);
    return ok;
}

static bool string_item(ExScope *s, Json *j, Expr **out)
{
    *out = ex_expr(s->x, X_STR);
    return json_str(j, &(*out)->s) &&
        ((*out)->s || ex_bad(s->x, j, "a string is expected, not null"));
}

static bool name_item(ExScope *s, Json *j, Expr **out)
{
    Str name;
    return ex_name(j, &name) && ex_use(s, j, name, out);
}

static bool optional_item(ExScope *s, Json *j, Expr **out)
{
    ExArg a;
    bool ok = ex_arg(s, j, &a);
    *out = a.value;
    return ok;
}

/* {"real": 1.0, "imag": -2.0} */
static bool complex_item(ExScope *s, Json *j, Expr **out)
{
    Str key;
    *out = ex_expr(s->x, X_COMPLEX);
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "real"))
            ok = json_float(j, &(*out)->c[0]);
        else if (str_is(key, "imag"))
            ok = json_float(j, &(*out)->c[1]);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

/* {"as_name": n} or a plain value, {"as_int": 3} */
static bool sym_item(ExScope *s, Json *j, Expr **out)
{
    Str tag, name;
    Json value;
    if (!ex_union(s->x, j, &tag, &value))
        return false;
    if (str_is(tag, "as_name"))
        return json_str(&value, &name) && ex_use(s, &value, name, out);
    if (str_is(tag, "as_int"))
        return int_item(s, &value, out);
    if (str_is(tag, "as_float"))
        return float_item(s, &value, out);
    if (str_is(tag, "as_bool"))
        return bool_item(s, &value, out);
    return ex_bad(s->x, j, "a symbolic number is expected");
}

static bool names_list_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, name_item, out);
}
static bool ints_list_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, int_item, out);
}
static bool floats_list_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, float_item, out);
}

static bool dtype_item(ExScope *s, Json *j, Expr **out)
{
    int64_t code;
    if (!json_int(j, &code))
        return false;
    *out = ex_expr(s->x, X_VALUE);
    (*out)->value = (Value){ .tag = V_DTYPE, .dtype = dtype_of_pt2(code) };
    if ((*out)->value.dtype == DT_NONE)
        return fail(s->x->cx, E_UNSUPPORTED, "the dtype of number %lld has no place in ONNX",
                    (long long)code);
    return true;
}

/* An enum's number of the file's schema as c10's number, which TorchScript and the evaluator
 * use. */
static bool renumbered(ExScope *s, Json *j, const int8_t *c10, size_t n, const char *what,
                       Expr **out)
{
    *out = ex_expr(s->x, X_INT);
    if (!json_int(j, &(*out)->i))
        return false;
    if ((*out)->i < 0 || (size_t)(*out)->i >= n || c10[(*out)->i] < 0)
        return fail(s->x->cx, E_FORMAT, "%s: there is no %s of number %lld", j->record, what,
                    (long long)(*out)->i);
    (*out)->i = c10[(*out)->i];
    return true;
}

static bool memory_format_item(ExScope *s, Json *j, Expr **out)
{
    static const int8_t c10[] = { -1, 0, 2, 3,
                                  1 }; /* contiguous, channels_last, channels_last_3d, preserve */
    return renumbered(s, j, c10, COUNT(c10), "memory format", out);
}

static bool layout_item(ExScope *s, Json *j, Expr **out)
{
    static const int8_t c10[] = {
        -1, 1, 3, 5, 6, 7, 4, 0
    }; /* COO, CSR, CSC, BSR, BSC, mkldnn, strided */
    return renumbered(s, j, c10, COUNT(c10), "layout", out);
}

/* {"type": "cuda", "index": 0} becomes the constant cuda:0; without an index, or with null, just
 * cuda. */
static bool device_item(ExScope *s, Json *j, Expr **out)
{
    Str key, type = NULL;
    int64_t index = -1;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool has_index = str_is(key, "index") && json_peek(j) == J_INT;
        bool ok;
        if (str_is(key, "type"))
            ok = json_str(j, &type);
        else if (has_index)
            ok = json_int(j, &index);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed || !type)
        return j->failed ? false : ex_bad(s->x, j, "a device has no type");
    *out = ex_expr(s->x, X_VALUE);
    (*out)->value = (Value){ .tag = V_DEVICE,
                             .s = index < 0
                                 ? type
                                 : str_fmt(s->x->cx, "%s:%lld", type->s, (long long)index) };
    return true;
}

/* {"name": n, "graph": Graph}: *graph stands before the graph. */
bool ex_find_graph(ExScope *s, Json *j, Str *name, Json *graph)
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
    return j->failed ? false : found || ex_bad(s->x, j, "a graph argument without a graph");
}

/* A graph that is an operand: a function whose parameters are the graph's inputs, bound by
 * position. It returns a tuple, or its one result when it says so. */
static bool graph_item(ExScope *s, Json *j, Expr **out)
{
    Exported *x = s->x;
    Str name = NULL;
    Json at;
    if (!ex_find_graph(s, j, &name, &at))
        return false;
    ExFunction *fn = new(x->cx, ExFunction);
    ExScope inner = { .x = x, .fn = fn, .repeated = true, .autocast = s->autocast };
    ExGraph g = { 0 };
    if (!ex_read_graph(&inner, &at, &g, NULL))
        return false;
    bool one = g.single && g.outputs.n == 1;
    Stmt *ret = ex_stmt(x, S_RETURN,
                        one ? g.outputs.at[0].value : ex_tuple(x, g.outputs.at, g.outputs.n));
    vec_push(x->cx, &fn->body, ret);
    Function *f = ex_function(x, fn, name ? name : str_of(x->cx, "graph"));
    f->param = new_array(x->cx, ParamDecl, g.inputs.n);
    for (size_t i = 0; f->param && i < g.inputs.n; i++)
        f->param[f->n_param++] = (ParamDecl){ .name = g.inputs.at[i].name,
                                              .slot = g.inputs.at[i].value->slot };
    map_give(x->cx, &inner.slots);
    map_give(x->cx, &inner.types);
    *out = ex_expr(x, X_GRAPH);
    (*out)->fn = f;
    return !ctx_failed(x->cx);
}

bool ex_custom_object(ExScope *s)
{
    return fail(s->x->cx, E_UNSUPPORTED,
                "the program uses a custom object (TorchBind), which ONNX has no place for");
}

static bool custom_object_item(ExScope *s, Json *j, Expr **out)
{
    (void)j, (void)out;
    return ex_custom_object(s);
}

static bool tensors_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, name_item, out);
}
static bool optionals_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, optional_item, out);
}
static bool nested_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, names_list_item, out);
}
static bool ints_item(ExScope *s, Json *j, Expr **out) { return read_list(s, j, int_item, out); }
static bool floats_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, float_item, out);
}
static bool bools_item(ExScope *s, Json *j, Expr **out) { return read_list(s, j, bool_item, out); }
static bool strings_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, string_item, out);
}
static bool int_lists_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, ints_list_item, out);
}
static bool float_lists_item(ExScope *s, Json *j, Expr **out)
{
    return read_list(s, j, floats_list_item, out);
}
static bool syms_item(ExScope *s, Json *j, Expr **out) { return read_list(s, j, sym_item, out); }

/* {"name": Argument, ..}: a dict */
static bool dict_item(ExScope *s, Json *j, Expr **out)
{
    Exported *x = s->x;
    VEC(Expr *) items = { 0 };
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        ExArg a;
        Expr *name = ex_expr(x, X_STR);
        name->s = key;
        if (!ex_arg(s, j, &a) || !vec_push(x->cx, &items, name) ||
            !vec_push(x->cx, &items, a.value))
            return false;
    }
    *out = ex_expr(x, X_DICT);
    (*out)->items = items.at;
    (*out)->n = (uint32_t)items.n;
    return !j->failed;
}

static const struct {
    const char *tag;
    ReadItem read;
} arg_readers[] = {
    { "as_tensor", name_item },
    { "as_int", int_item },
    { "as_ints", ints_item },
    { "as_none", none_item },
    { "as_bool", bool_item },
    { "as_float", float_item },
    { "as_sym_int", sym_item },
    { "as_sym_ints", syms_item },
    { "as_tensors", tensors_item },
    { "as_scalar_type", dtype_item },
    { "as_device", device_item },
    { "as_string", string_item },
    { "as_memory_format", memory_format_item },
    { "as_layout", layout_item },
    { "as_floats", floats_item },
    { "as_bools", bools_item },
    { "as_strings", strings_item },
    { "as_optional_tensor", optional_item },
    { "as_optional_tensors", optionals_item },
    { "as_nested_tensors", nested_item },
    { "as_int_lists", int_lists_item },
    { "as_float_lists", float_lists_item },
    { "as_complex", complex_item },
    { "as_sym_float", sym_item },
    { "as_sym_floats", syms_item },
    { "as_sym_bool", sym_item },
    { "as_sym_bools", syms_item },
    { "as_graph", graph_item },
    { "as_operator", string_item },
    { "as_custom_obj", custom_object_item },
    { "as_string_to_argument", dict_item },
};

bool ex_value(ExScope *s, Str tag, Json *value, Expr **out)
{
    for (size_t i = 0; i < COUNT(arg_readers); i++)
        if (str_is(tag, arg_readers[i].tag))
            return arg_readers[i].read(s, value, out);
    return fail(s->x->cx, E_UNSUPPORTED,
                "%s: byte %zu: an argument of the kind %s is not known here", value->record,
                json_mark(value), tag->s);
}

bool ex_arg(ExScope *s, Json *j, ExArg *out)
{
    *out = (ExArg){ 0 };
    if (!ex_open_union(s->x, j, &out->tag))
        return false;
    bool ok = str_is(out->tag, "as_tensor")
        ? ex_name(j, &out->name) && ex_use(s, j, out->name, &out->value)
        : ex_value(s, out->tag, j, &out->value);
    return ok && ex_close_union(s->x, j);
}
