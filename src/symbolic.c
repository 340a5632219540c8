/* symbolic.c - operators that the caller lowers itself: the callback of pt2onnx_options.symbolic
 * and what it may ask and emit.
 *
 * The table of operators calls run_symbolic with the arguments as the program wrote them. The
 * callback emits nodes in the form of symbolic_opset; they are lifted to the newest form, inferred
 * and appended like any others. */
#include "session.h"

#include "front/front.h"
#include "ops/ops.h"

#include <string.h>

struct pt2onnx_call {
    Session *s;
    Op *op;
    uint32_t node;
    size_t n_in;       /* arguments, without the node's number */
    VEC(Value) input;  /* the arguments, then the items of those that are lists or tuples */
    VEC(size_t) first; /* by argument: its first item in `input` */
    VEC(Ox)
    handle; /* handle h is at[h - 1]: inputs (NULL for what has no tensor form), then emitted
               values */
    VEC(Ox) result;
    VEC(Graph *) block; /* finished subgraphs: number b is at[b - 1] */
    size_t n_open;      /* subgraphs that have begun and not ended: op->g is the innermost */
};

/* ---- what the callback asks ---- */

const char *pt2onnx_call_name(const struct pt2onnx_call *c) { return c->op->call->schema->name->s; }
uint32_t pt2onnx_call_node(const struct pt2onnx_call *c) { return c->node; }
size_t pt2onnx_call_n_in(const struct pt2onnx_call *c) { return c->n_in; }

static int tensor_in(const struct pt2onnx_call *c, Ox v, pt2onnx_type *type, const void **constant)
{
    Ctx *cx = c->op->cx;
    int64_t *dims = new_array(cx, int64_t, MAX_RANK);
    *type = (pt2onnx_type){
        .dtype = (int)ox_dtype(v), .rank = ox_rank(v), .dims = dims, .kind = "Tensor"
    };
    if (dims)
        for (int a = 0; a < type->rank; a++)
            if (!dim_known(ox_dim(v, a), &dims[a]))
                dims[a] = -1;
    if (v->kind == OX_CONST && const_numel(v->k) <= FOLD_NUMEL) {
        void *data = new_array(cx, uint8_t,
                               dtype_bytes(v->k->dtype, (uint64_t)const_numel(v->k)) + 1);
        *constant = data && const_read(cx, v->k, data) ? data : NULL;
    }
    return dims != NULL;
}

/* Tensors and numbers that the model computes are described with type and, where known, constant; a
 * Python value is only a kind and a pointer to it. */
int pt2onnx_call_in(const struct pt2onnx_call *c, size_t i, pt2onnx_type *type,
                    const void **constant)
{
    if (i >= c->input.n)
        return 0;
    *constant = NULL;
    const Value *v = &c->input.at[i];
    bool computed = v->tag == V_SYMINT || v->tag == V_SYMFLOAT || v->tag == V_SYMBOOL;
    if ((v->tag == V_TENSOR || computed) && c->handle.at[i])
        return tensor_in(c, c->handle.at[i], type, constant);
    *type = (pt2onnx_type){ .rank = -1, .kind = val_kind(*v) };
    switch (v->tag) {
    case V_INT:   *constant = &v->i; break;
    case V_FLOAT: *constant = &v->f; break;
    case V_BOOL:  *constant = &v->b; break;
    case V_STR:   *constant = v->s->s; break;
    default:      break;
    }
    return 1;
}

int64_t pt2onnx_call_items(const struct pt2onnx_call *c, size_t i, size_t *first)
{
    if (i >= c->n_in || (c->input.at[i].tag != V_LIST && c->input.at[i].tag != V_TUPLE))
        return -1;
    *first = c->first.at[i];
    return c->input.at[i].tag == V_LIST ? c->input.at[i].list->n : c->input.at[i].tuple->n;
}

/* ---- what it emits ---- */

static const Const *const_of_attr(Ctx *cx, const pt2onnx_tensor *t)
{
    if (t->dtype <= DT_NONE || t->dtype >= DT_COUNT || t->rank < 0 || t->rank > MAX_RANK ||
        t->strides)
        return fail(cx, E_USAGE,
                    "a tensor attribute must be contiguous and of a type that ONNX has"),
               NULL;
    return const_make(cx, (DType)t->dtype, t->rank, t->dims,
                      t->data); /* copied: the caller's may go */
}

/* Texts that lie one behind another. */
static bool read_strings(Ctx *cx, const pt2onnx_attr *from, Attr *to)
{
    Str *strs = new_array(cx, Str, from->n + 1);
    if (!strs)
        return false;
    const char *s = from->s;
    for (size_t i = 0; i < from->n; i++) {
        strs[i] = str_of(cx, s);
        s += strlen(s) + 1;
    }
    to->kind = ATTR_STRINGS;
    to->strs = strs;
    return true;
}

/* Copies the caller's attribute into the arena. False after an error: a kind or a subgraph that
 * does not exist. */
static bool read_attr(struct pt2onnx_call *c, const pt2onnx_attr *from, Attr *to)
{
    Ctx *cx = c->op->cx;
    *to = (Attr){ .name = str_of(cx, from->name)->s, .n = from->n };
    switch (from->kind) {
    case PT2ONNX_ATTR_INT:
        to->kind = ATTR_INT;
        to->i = from->i;
        return true;
    case PT2ONNX_ATTR_FLOAT:
        to->kind = ATTR_FLOAT;
        to->f = from->f;
        return true;
    case PT2ONNX_ATTR_STRING:
        to->kind = ATTR_STRING;
        to->s = str_of(cx, from->s);
        return true;
    case PT2ONNX_ATTR_INTS:
        to->kind = ATTR_INTS;
        to->ints = mem_copy(cx, from->ints, from->n * sizeof *from->ints);
        return true;
    case PT2ONNX_ATTR_FLOATS:
        to->kind = ATTR_FLOATS;
        to->floats = mem_copy(cx, from->floats, from->n * sizeof *from->floats);
        return true;
    case PT2ONNX_ATTR_TENSOR:
        to->kind = ATTR_TENSOR;
        to->t = const_of_attr(cx, from->t);
        return to->t != NULL;
    case PT2ONNX_ATTR_GRAPH:
        if (from->i < 1 || (uint64_t)from->i > c->block.n)
            return fail(cx, E_USAGE, "attribute %s: there is no subgraph %lld", from->name,
                        (long long)from->i);
        to->kind = ATTR_GRAPH;
        to->g = c->block.at[from->i - 1];
        return true;
    case PT2ONNX_ATTR_STRINGS: return read_strings(cx, from, to);
    }
    return fail(cx, E_USAGE, "attribute %s is of no known kind", from->name);
}

/* A list of tensors as an input of a node; NULL for any other argument. Made when a node first asks
 * for it. */
static Ox list_as_sequence(const struct pt2onnx_call *c, size_t i)
{
    size_t first;
    int64_t n = pt2onnx_call_items(c, i, &first);
    for (int64_t k = 0; k < n; k++)
        if (!c->handle.at[first + (size_t)k])
            return NULL;
    return n > 0 ? ox_make(c->op->g, "SequenceConstruct",
                           (OxList){ c->handle.at + first, (size_t)n }, NULL, 0)
                 : NULL;
}

static bool read_inputs(struct pt2onnx_call *c, const uint32_t *in, size_t n, Ox *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i] && in[i] <= c->handle.n ? c->handle.at[in[i] - 1] : NULL;
        if (in[i] && !out[i])
            out[i] = list_as_sequence(c, in[i] - 1);
        if (in[i] && !out[i])
            return ctx_failed(c->op->cx) ? false
                                         : fail(c->op->cx, E_USAGE,
                                                "argument %u is no tensor, number or list of such, "
                                                "and cannot be an input of a node",
                                                in[i]);
    }
    return true;
}

/* Operators whose inputs torch.onnx brings to one type after a symbolic function has made them. */
static bool wants_one_type(const char *op)
{
    static const char *const names[] = {
        "Add",    "Sub",   "Mul",     "Div",  "Gemm",           "Min",        "Max", "Mod", "Pow",
        "Concat", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(op, names[i]) == 0)
            return true;
    return false;
}

static void make_one_type(struct pt2onnx_call *c, Ox *in, size_t n)
{
    DType common = promote_values((OxList){ in, n });
    for (size_t i = 0; i < n && common != DT_NONE; i++)
        if (in[i] && ox_dtype(in[i]) != DT_NONE)
            in[i] = ox_cast(c->op->g, in[i], common);
}

/* "my.domain::Foo" is an operator of that domain: its types are not known here. */
static bool emit_custom(struct pt2onnx_call *c, const char *op, OxList in, const Attr *attr,
                        size_t n_attr, Ox *out, size_t n_out)
{
    Ctx *cx = c->op->cx;
    const char *sep = strstr(op, "::");
    Type *types = new_array(cx, Type, n_out + 1);
    if (types)
        for (size_t i = 0; i < n_out; i++)
            types[i] = type_tensor(cx, in.n && in.at[0] ? ox_dtype(in.at[0]) : DT_FLOAT, -1, NULL);
    return types &&
        ox_make_custom(c->op->g, str_n(cx, op, (size_t)(sep - op)), str_of(cx, sep + 2), in, attr,
                       n_attr, types, out, n_out);
}

/* g.op("Constant", value_t=..), value_s, value_f, value_i: torch's attribute is called `value`
 * whatever its kind. */
static Ox constant_of(Graph *g, const Attr *a)
{
    Ctx *cx = g->cx;
    switch (a->kind) {
    case ATTR_TENSOR: return ox_const(g, a->t);
    case ATTR_STRING: return ox_string(g, a->s);
    case ATTR_INT:    return ox_int(g, a->i);
    case ATTR_FLOAT:  return ox_number(g, DT_FLOAT, a->f);
    case ATTR_INTS:   return ox_ints(g, a->ints, a->n);
    default:          break;
    }
    fail(cx, E_UNSUPPORTED,
         "a Constant with a value of this kind: give it as a tensor, value_t=torch.tensor(..)");
    return POISON;
}

static bool emit(struct pt2onnx_call *c, const char *op, Ox *in, size_t n_in, const Attr *attr,
                 size_t n_attr, Ox *out, size_t n_out)
{
    if (strncmp(op, "onnx::", 6) == 0)
        op += 6;
    if (strstr(op, "::"))
        return emit_custom(c, op, (OxList){ in, n_in }, attr, n_attr, out, n_out);
    if (wants_one_type(op))
        make_one_type(c, in, n_in);
    if (strcmp(op, "Constant") == 0 && n_attr == 1 && n_out == 1 &&
        strcmp(attr[0].name, "value") == 0) {
        out[0] = constant_of(c->op->g, &attr[0]);
        return ox_ok(out[0]);
    }
    int opset = c->s->o.symbolic_opset ? c->s->o.symbolic_opset : c->s->opt.opset;
    return form_lift(c->op->g, str_of(c->op->cx, op), opset, (OxList){ in, n_in }, attr, n_attr,
                     out, n_out);
}

/* The arguments of a call of one of the functions below, which `bounded` runs; got: its result. */
typedef struct Asked {
    struct pt2onnx_call *c;
    const char *op;
    const uint32_t *value; /* in, out */
    size_t n_in, n_out;
    const pt2onnx_attr *attr;
    const pt2onnx_type *type;
    size_t n_attr;
    uint32_t got;
} Asked;

/* What the function gives, or 0 after an error: a value that is too deep, for one, which must not
 * unwind the user's own function. */
static uint32_t ask(bool (*work)(void *), Asked *a)
{
    return bounded(a->c->op->cx, work, a) ? a->got : 0;
}

/* pt2onnx_call_emit: the caller's attributes are copied, its handles become values. */
static bool emit_asked(void *arg)
{
    Asked *a = arg;
    struct pt2onnx_call *c = a->c;
    Ctx *cx = c->op->cx;
    Ox *ins = new_array(cx, Ox, a->n_in + 1);
    Ox *outs = new_array(cx, Ox, a->n_out + 1);
    Attr *attrs = new_array(cx, Attr, a->n_attr + 1);
    if (!ins || !outs || !attrs || ctx_failed(cx) || !read_inputs(c, a->value, a->n_in, ins))
        return false;
    for (size_t i = 0; i < a->n_attr; i++)
        if (!read_attr(c, &a->attr[i], &attrs[i]))
            return false;
    if (!emit(c, a->op, ins, a->n_in, attrs, a->n_attr, outs, a->n_out)) {
        fail_is_theirs(cx, str_of(cx, "a node of the caller's function"));
        return false;
    }
    a->got = (uint32_t)c->handle.n + 1;
    for (size_t i = 0; i < a->n_out; i++)
        vec_push(cx, &c->handle, outs[i]);
    return true;
}

/* The handle of the first output; those of the others follow it. 0 after an error. */
uint32_t pt2onnx_call_emit(struct pt2onnx_call *c, const char *op, const uint32_t *in, size_t n_in,
                           const pt2onnx_attr *attr, size_t n_attr, size_t n_out)
{
    Asked a = {
        .c = c, .op = op, .value = in, .n_in = n_in, .attr = attr, .n_attr = n_attr, .n_out = n_out
    };
    return ask(emit_asked, &a);
}

/* ---- subgraphs ---- */

static Type type_given(Ctx *cx, const pt2onnx_type *t)
{
    Dim dim[MAX_RANK];
    if (t->rank > MAX_RANK || t->dtype <= DT_NONE || t->dtype >= DT_COUNT)
        return fail(cx, E_USAGE,
                    "a subgraph's input has an element type or a rank that ONNX does not have"),
               NULL;
    for (int a = 0; a < t->rank; a++)
        dim[a] = t->dims[a] >= 0 ? dim_int(cx, t->dims[a]) : dim_fresh(cx, "u");
    return type_tensor(cx, (DType)t->dtype, t->rank, t->rank > 0 ? dim : NULL);
}

/* pt2onnx_call_block: what is emitted from now on goes into a graph inside the one before. */
static bool begin_block(void *arg)
{
    Asked *a = arg;
    struct pt2onnx_call *c = a->c;
    Ctx *cx = c->op->cx;
    Graph *g = graph_new(cx, c->op->g, NULL);
    if (!g || ctx_failed(cx))
        return false;
    dim_scope_open(cx); /* what is learnt inside may hold there only */
    c->op->g = g;
    c->n_open++;
    a->got = (uint32_t)c->handle.n + 1;
    for (size_t i = 0; i < a->n_in; i++) {
        Type t = type_given(cx, &a->type[i]);
        if (!t)
            return false;
        vec_push(cx, &c->handle, graph_input(g, NULL, t));
    }
    return true;
}

uint32_t pt2onnx_call_block(struct pt2onnx_call *c, const pt2onnx_type *type, size_t n)
{
    return ask(begin_block, &(Asked){ .c = c, .type = type, .n_in = n });
}

static void leave_block(struct pt2onnx_call *c)
{
    c->op->g = c->op->g->up;
    c->n_open--;
    dim_scope_close(c->op->cx);
}

/* Outputs that come from outside pass through an Identity: ONNX wants them made inside. */
static bool end_block(void *arg)
{
    Asked *a = arg;
    struct pt2onnx_call *c = a->c;
    Ctx *cx = c->op->cx;
    Graph *g = c->op->g;
    Ox *values = new_array(cx, Ox, a->n_out + 1);
    if (c->n_open == 0)
        return fail(cx, E_USAGE, "no subgraph has begun");
    if (!values || !read_inputs(c, a->value, a->n_out, values))
        return false;
    for (size_t i = 0; i < a->n_out; i++) {
        if (!values[i])
            return fail(cx, E_USAGE, "output %zu of a subgraph is nothing", i);
        bool own = values[i]->kind == OX_NODE && values[i]->graph == g;
        graph_output(g, own ? values[i] : ox_g(g, "Identity", values[i]),
                     NULL); /* ONNX wants outputs made inside */
    }
    leave_block(c);
    vec_push(cx, &c->block, g);
    a->got = (uint32_t)c->block.n;
    return true;
}

/* The number of the finished subgraph, for PT2ONNX_ATTR_GRAPH; 0 after an error. */
uint32_t pt2onnx_call_block_end(struct pt2onnx_call *c, const uint32_t *out, size_t n)
{
    return ask(end_block, &(Asked){ .c = c, .value = out, .n_out = n });
}

void pt2onnx_call_type(struct pt2onnx_call *c, uint32_t handle, const pt2onnx_type *type)
{
    Ctx *cx = c->op->cx;
    Dim dim[MAX_RANK];
    Ox v = handle && handle <= c->handle.n ? c->handle.at[handle - 1] : NULL;
    if (!v || type->rank > MAX_RANK || type->dtype <= DT_NONE || type->dtype >= DT_COUNT) {
        fail(cx, E_USAGE, "a type was given for handle %u, which has none", handle);
        return;
    }
    if (v->kind != OX_NODE || v->node->op)
        return; /* ONNX's own operators know theirs */
    for (int a = 0; a < type->rank; a++)
        dim[a] = type->dims[a] >= 0 ? dim_int(cx, type->dims[a]) : dim_fresh(cx, "u");
    set_out_type(v->node, v->out,
                 type_tensor(cx, (DType)type->dtype, type->rank, type->rank > 0 ? dim : NULL));
}

void pt2onnx_call_result(struct pt2onnx_call *c, const uint32_t *out, size_t n_out)
{
    c->result.n = 0;
    for (size_t i = 0; i < n_out; i++) {
        if (out[i] == 0 || out[i] > c->handle.n || !c->handle.at[out[i] - 1]) {
            fail(c->op->cx, E_USAGE, "result %zu: handle %u is no tensor", i, out[i]);
            return;
        }
        vec_push(c->op->cx, &c->result, c->handle.at[out[i] - 1]);
    }
}

void pt2onnx_call_fail(struct pt2onnx_call *c, const char *text)
{
    fail(c->op->cx, E_UNSUPPORTED, "%s", text);
}

/* ---- the operator table's side ---- */

/* A list of numbers is one int64 tensor, as far as fragments want one. */
static Ox list_as_tensor(struct pt2onnx_call *c, const Value *v)
{
    VEC(Dim) items = { 0 };
    int64_t n = v->tag == V_LIST ? v->list->n : v->tuple->n;
    for (int64_t i = 0; i < n; i++) {
        Value item = v->tag == V_LIST ? v->list->at[i].v : v->tuple->at[i];
        if (item.tag != V_INT && item.tag != V_SYMINT)
            return NULL;
        vec_push(c->op->cx, &items, item.tag == V_INT ? dim_int(c->op->cx, item.i) : item.dim);
    }
    return n <= MAX_ITEMS ? ox_dims(c->op->g, items.at, items.n) : NULL;
}

/* A list of floats; NULL when there is none, or anything else. */
static Ox floats_as_tensor(struct pt2onnx_call *c, const Value *v)
{
    VEC(double) items = { 0 };
    for (int64_t i = 0; v->tag == V_LIST && i < v->list->n && v->list->at[i].v.tag == V_FLOAT; i++)
        vec_push(c->op->cx, &items, v->list->at[i].v.f);
    if (items.n == 0 || (int64_t)items.n < v->list->n)
        return NULL;
    const int64_t n = v->list->n;
    return ox_const(c->op->g, const_make(c->op->cx, DT_DOUBLE, 1, &n, items.at));
}

/* What a value is as an input of a node; NULL for text, None and lists of tensors. */
static Ox as_tensor(struct pt2onnx_call *c, const Value *v)
{
    Graph *g = c->op->g;
    switch (v->tag) {
    case V_TENSOR:   return tensor_read(g, v->t);
    case V_INT:      return ox_int(g, v->i);
    case V_SYMINT:   return ox_dim_value(g, v->dim);
    case V_FLOAT:    return ox_number(g, DT_DOUBLE, v->f);
    case V_SYMFLOAT: return v->ox;
    case V_BOOL:     return ox_bool(g, v->b);
    case V_SYMBOOL:  return symbool_ox(g, v->sb);
    case V_LIST:
    case V_TUPLE:    {
        Ox floats = floats_as_tensor(c, v);
        return floats ? floats : list_as_tensor(c, v);
    }
    default: return NULL;
    }
}

static void take_input(struct pt2onnx_call *c, Value v)
{
    Ox x = as_tensor(c, &v);
    vec_push(c->op->cx, &c->input, v);
    vec_push(c->op->cx, &c->handle, x);
}

/* Handles of the arguments, first one for each argument, then those of the items of lists and
 * tuples, where c->first says. The node's own number is no argument. */
static void take_arguments(struct pt2onnx_call *c)
{
    const OpCall *call = c->op->call;
    for (int i = 0; i < call->schema->n_param; i++)
        if (str_is(call->schema->param[i].name, NODE_ARGUMENT))
            c->node = (uint32_t)call->arg[i]
                          .i; /* the last: arguments before it keep their places */
        else
            take_input(c, call->arg[i]);
    c->n_in = c->input.n;
    for (size_t i = 0; i < c->n_in && !ctx_failed(c->op->cx); i++) {
        Value v = c->input.at[i];
        vec_push(c->op->cx, &c->first, c->input.n);
        for (int64_t k = 0; v.tag == V_LIST && k < v.list->n; k++)
            take_input(c, v.list->at[k].v);
        for (int64_t k = 0; v.tag == V_TUPLE && k < v.tuple->n; k++)
            take_input(c, v.tuple->at[k]);
    }
}

static bool run_symbolic(void *user, Op *op, Value *result);

/* "not mine": the operator as it is without the callback. */
static bool run_built_in(Session *s, Op *op, size_t n_in, Value *result)
{
    Str name = op->call->schema->name;
    Value *args = mem_copy(op->cx, op->call->arg, (n_in + 1) * sizeof *args);
    ops_add_callback(op->cx, name, NULL, NULL);
    *result = call_op(op, name->s, args, n_in);
    ops_add_callback(op->cx, name, run_symbolic, s);
    return !ctx_failed(op->cx);
}

static int ask_caller(void *arg)
{
    struct pt2onnx_call *c = arg;
    return c->s->o.symbolic(c->s->o.user, c);
}

/* The caller's function answers > 0 for "use the built-in lowering", 0 when it has emitted the
 * results, < 0 for an error. Subgraphs that it left open are closed. */
static bool run_symbolic(void *user, Op *op, Value *result)
{
    Session *s = user;
    struct pt2onnx_call c = { .s = s, .op = op };
    take_arguments(&c);
    if (ctx_failed(op->cx))
        return false;
    int answer = call_user(op->cx, ask_caller, &c);
    while (c.n_open) /* it has failed inside a subgraph */
        leave_block(&c);
    if (answer > 0)
        return run_built_in(s, op, c.n_in, result);
    if (answer < 0 && !ctx_failed(op->cx))
        return fail(op->cx, E_UNSUPPORTED, "the caller's function for %s failed",
                    op->call->schema->name->s);
    if (answer < 0 || ctx_failed(op->cx))
        return false;
    if (c.result.n == 0)
        return fail(op->cx, E_USAGE, "the caller's function for %s gave no result",
                    op->call->schema->name->s);
    *result = c.result.n == 1 ? val_tensor(op->cx, c.result.at[0])
                              : result_tuple(op, c.result.at, c.result.n);
    return val_ok(*result);
}

void symbolics_register(Session *s)
{
    for (size_t i = 0; s->o.symbolic && i < s->o.n_symbolic_names; i++)
        ops_add_callback(s->cx, str_of(s->cx, s->o.symbolic_names[i]), run_symbolic, s);
}
