#include "fuzz/make/calls.h"
#include "fuzz/make/schemas.h"

/* ---- choosing ---- */

static const InputType input_types[] = {
    { 7, 1, "float32", 2, { 2, 3 } },       { 7, 1, "float32", 3, { 2, 3, 4 } },
    { 7, 1, "float32", 1, { 3 } },          { 7, 1, "float32", 0, { 0 } },
    { 7, 1, "float32", 4, { 1, 2, 4, 4 } }, { 5, 7, "int64", 1, { 3 } },
    { 5, 7, "int64", 2, { 2, 3 } },         { 12, 9, "bool", 2, { 2, 3 } },
    { 8, 11, "float64", 2, { 2, 3 } },      { 7, 1, "float32", 2, { 0, 3 } },
    { 7, 1, "float32", 2, { 3, 3 } },       { 4, 6, "int32", 2, { 1, 3 } },
    { 6, 10, "float16", 2, { 2, 3 } },      { 1, 2, "uint8", 1, { 3 } },
    { 10, 14, "complex64", 2, { 2, 3 } },   { 7, 1, "float32", 3, { 1, 1, 3 } },
};

static uint32_t tensor_of(const Calls *p, Choices *c)
{
    return p->n_value - 1 - choose(c, p->n_value);
}

static int64_t int_of(Choices *c)
{
    static const int64_t usual[] = { 1, 0, 2, -1, 3, -2, 4, 5, 1, 2, 0 };
    static const int64_t odd[] = { INT64_MAX, INT64_MIN, 1 << 30, 65536, 100, -3 };
    return one_in(c, 40) ? CHOICE_OF(c, odd) : CHOICE_OF(c, usual);
}

static double float_of(Choices *c)
{
    static const double usual[] = { 0.5, 1.0, 0.0, -1.5, 2.0, 1e-5, 0.1, 1e30 };
    return CHOICE_OF(c, usual);
}

static const char *string_of(Choices *c)
{
    static const char *const usual[] = { "none",    "sum",      "mean",      "floor", "trunc",
                                         "reflect", "constant", "ij,jk->ik", "tanh",  "" };
    return CHOICE_OF(c, usual);
}

static void fill_item(const Calls *p, Choices *c, Given *g, size_t k)
{
    static const uint8_t dtypes[] = { 6, 4, 7, 5, 11, 0, 3, 2, 1, 9 };
    switch (g->kind) {
    case GIVEN_TENSOR: g->i[k] = tensor_of(p, c); break;
    case GIVEN_INT:    g->i[k] = int_of(c); break;
    case GIVEN_FLOAT:  g->f[k] = float_of(c); break;
    case GIVEN_BOOL:   g->i[k] = choose(c, 2); break;
    case GIVEN_STR:    g->s = string_of(c); break;
    case GIVEN_DTYPE:  g->i[k] = CHOICE_OF(c, dtypes); break;
    case GIVEN_FORMAT: g->i[k] = choose(c, 4); break;
    default:           break;
    }
}

static GivenKind kind_of_param(const Param *q, Choices *c)
{
    switch (q->base) {
    case A_TENSOR:        return GIVEN_TENSOR;
    case A_SCALAR:        return choose(c, 2) ? GIVEN_FLOAT : GIVEN_INT;
    case A_INT:           return GIVEN_INT;
    case A_FLOAT:         return GIVEN_FLOAT;
    case A_BOOL:          return GIVEN_BOOL;
    case A_STR:           return GIVEN_STR;
    case A_DTYPE:         return GIVEN_DTYPE;
    case A_MEMORY_FORMAT: return GIVEN_FORMAT;
    case A_LAYOUT:        return GIVEN_LAYOUT;
    case A_DEVICE:        return GIVEN_DEVICE;
    default:              return GIVEN_NONE;
    }
}

static Given choose_argument(const Calls *p, const Param *q, Choices *c)
{
    Given g = { 0 };
    if (q->has_default && choose(c, 3) != 2)
        return g;
    if (q->optional && choose(c, 3) == 0)
        return (Given){ .kind = GIVEN_NONE };
    g.kind = kind_of_param(q, c);
    g.is_list = q->list && g.kind != GIVEN_NONE;
    g.n = g.is_list ? choose(c, LIST_ITEMS + 1) : 1;
    if (g.is_list && q->fixed && q->fixed <= LIST_ITEMS && !one_in(c, 8))
        g.n = (size_t)q->fixed;
    for (size_t k = 0; k < g.n; k++)
        fill_item(p, c, &g, k);
    return g;
}

/* Can all kinds of programs call it, and name what it gives? */
static bool is_callable(const Schema *s)
{
    if (s->n_ret == 0 || s->n_ret > RESULTS || s->n_param > PARAMS || s->varargs)
        return false;
    for (int i = 0; i < s->n_ret; i++)
        if (s->ret[i].base != A_TENSOR || (s->ret[i].list && s->n_ret > 1))
            return false;
    for (int i = 0; i < s->n_param; i++)
        if (s->param[i].writes || !s->param[i].name)
            return false;
    return true;
}

static void choose_call(Calls *p, Choices *c)
{
    const Schema *s = choose_schema(c);
    Call *call = &p->call[p->n_call];
    if (!is_callable(s))
        return;
    *call = (Call){ .schema = s, .list = s->ret_list };
    for (int i = 0; i < s->n_param; i++)
        call->arg[i] = choose_argument(p, &s->param[i], c);
    call->n_result = s->ret_list ? 1 + choose(c, RESULTS) : (uint32_t)s->n_ret;
    for (uint32_t i = 0; i < call->n_result; i++)
        call->result[i] = p->n_value++;
    p->n_call++;
}

Calls choose_calls(Choices *c)
{
    Calls p = { .n_in = 1 + choose(c, CALL_INPUTS) };
    for (uint32_t i = 0; i < p.n_in; i++)
        p.in[i] = &CHOICE_OF(c, input_types);
    p.n_value = p.n_in + 1;
    uint32_t n = 1 + choose(c, CALLS);
    for (uint32_t i = 0; i < n; i++)
        choose_call(&p, c);
    p.n_out = 1 + choose(c, CALL_OUTPUTS);
    p.out[0] = p.n_value - 1;
    for (uint32_t i = 1; i < p.n_out; i++)
        p.out[i] = tensor_of(&p, c);
    return p;
}

static const char *value_name(const Calls *p, uint32_t v)
{
    static char names[4][16];
    static unsigned next;
    char *name = names[next++ % COUNT(names)];
    if (v == p->n_in)
        return "p_w";
    snprintf(name, sizeof names[0], v < p->n_in ? "x%u" : "v%u", v);
    return name;
}

/* ---- as TorchScript ---- */

static void script_item(Out *o, const Calls *p, const Given *g, size_t k)
{
    switch (g->kind) {
    case GIVEN_TENSOR: out_text(o, value_name(p, (uint32_t)g->i[k])); break;
    case GIVEN_FLOAT:  out_fmt(o, "%#.17g", g->f[k]); break;
    case GIVEN_BOOL:   out_text(o, g->i[k] ? "True" : "False"); break;
    case GIVEN_STR:    out_fmt(o, "\"%s\"", g->s); break;
    case GIVEN_DEVICE: out_text(o, "torch.device(\"cpu\")"); break;
    case GIVEN_NONE:   out_text(o, "None"); break;
    default:           out_fmt(o, "%lld", (long long)g->i[k]); break;
    }
}

/* An empty list has no type by itself. */
static const char *list_type(const Given *g, const Param *q)
{
    switch (g->kind) {
    case GIVEN_TENSOR: return q->elem_optional ? "Optional[Tensor]" : "Tensor";
    case GIVEN_FLOAT:  return "float";
    case GIVEN_BOOL:   return "bool";
    default:           return "int";
    }
}

static void script_argument(Out *o, const Calls *p, const Given *g, const Param *q)
{
    if (!g->is_list) {
        script_item(o, p, g, 0);
        return;
    }
    out_fmt(o, "annotate(List[%s], [", list_type(g, q));
    for (size_t k = 0; k < g->n; k++) {
        out_text(o, k ? ", " : "");
        script_item(o, p, g, k);
    }
    out_text(o, "])");
}

static void script_call(Out *o, const Calls *p, const Call *call)
{
    const Schema *s = call->schema;
    const char *name = strstr(s->name->s, "::") + 2;
    out_text(o, "    ");
    for (uint32_t i = 0; i < call->n_result; i++)
        out_fmt(o, "%s%s", value_name(p, call->result[i]),
                call->n_result > 1 || call->list ? ", " : " ");
    if (strncmp(s->name->s, "aten::", 6) == 0)
        out_fmt(o, "= torch.%s(", name);
    else
        out_fmt(o, "= ops.%.*s.%s(", (int)(name - 2 - s->name->s), s->name->s, name);
    bool left_out = false;
    bool first = true;
    for (int i = 0; i < s->n_param; i++) {
        const Param *q = &s->param[i];
        left_out |= call->arg[i].kind == GIVEN_DEFAULT;
        if (call->arg[i].kind == GIVEN_DEFAULT)
            continue;
        out_text(o, first ? "" : ", ");
        first = false;
        if (left_out || q->kwonly)
            out_fmt(o, "%s=", q->name->s);
        script_argument(o, p, &call->arg[i], q);
    }
    out_text(o, ")\n");
}

static void script_spec(const InputType *t, uint32_t number, char *spec)
{
    int n = sprintf(spec, "x%u:%s[", number, t->name);
    for (size_t i = 0; i < t->rank; i++)
        n += sprintf(spec + n, "%s%lld", i ? "," : "", (long long)t->size[i]);
    strcpy(spec + n, "]");
}

Out calls_as_script(const Calls *p, char spec[CALL_INPUTS][48])
{
    Code code = { 0 };
    Out *o = &code.of_m;
    out_text(o, "  def forward(self: __torch__.M");
    for (uint32_t i = 0; i < p->n_in; i++) {
        out_fmt(o, ", x%u: Tensor", i);
        script_spec(p->in[i], i, spec[i]);
    }
    out_text(o, ") -> Any:\n    p_w = self.w\n");
    for (uint32_t i = 0; i < p->n_call; i++)
        script_call(o, p, &p->call[i]);
    out_text(o, "    return (");
    for (uint32_t i = 0; i < p->n_out; i++)
        out_fmt(o, "%s, ", value_name(p, p->out[i]));
    out_text(o, ")\n");
    Out file = archive_of_script(&code);
    code_free(&code);
    return file;
}

/* ---- as an exported graph ---- */

static void graph_number(Out *o, const Given *g, size_t k)
{
    switch (g->kind) {
    case GIVEN_TENSOR: break;
    case GIVEN_FLOAT:  out_fmt(o, "%.17g", g->f[k]); break;
    case GIVEN_BOOL:   out_text(o, g->i[k] ? "true" : "false"); break;
    default:           out_fmt(o, "%lld", (long long)g->i[k]); break;
    }
}

static const char *tag_of(GivenKind kind)
{
    switch (kind) {
    case GIVEN_TENSOR: return "as_tensor";
    case GIVEN_FLOAT:  return "as_float";
    case GIVEN_BOOL:   return "as_bool";
    case GIVEN_DTYPE:  return "as_scalar_type";
    default:           return "as_int";
    }
}

static void graph_list(Out *o, const Calls *p, const Given *g, const Param *q)
{
    bool optional = g->kind == GIVEN_TENSOR && q->elem_optional;
    out_fmt(o, "{\"%ss\": [", optional ? "as_optional_tensor" : tag_of(g->kind));
    for (size_t k = 0; k < g->n; k++) {
        out_text(o, k ? ", " : "");
        graph_number(o, g, k);
        if (g->kind == GIVEN_TENSOR)
            out_fmt(o, optional ? "{\"as_tensor\": {\"name\": \"%s\"}}" : "{\"name\": \"%s\"}",
                    value_name(p, (uint32_t)g->i[k]));
    }
    out_text(o, "]}");
}

static void graph_argument(Out *o, const Calls *p, const Given *g, const Param *q)
{
    static const char formats[] = { 1, 4, 2, 3 }; /* of c10's numbers */
    if (g->is_list)
        graph_list(o, p, g, q);
    else if (g->kind == GIVEN_NONE)
        out_text(o, "{\"as_none\": true}");
    else if (g->kind == GIVEN_TENSOR)
        out_fmt(o, "{\"as_tensor\": {\"name\": \"%s\"}}", value_name(p, (uint32_t)g->i[0]));
    else if (g->kind == GIVEN_STR)
        out_fmt(o, "{\"as_string\": \"%s\"}", g->s);
    else if (g->kind == GIVEN_DTYPE)
        out_fmt(o, "{\"as_scalar_type\": %d}", (int)g->i[0] + 1);
    else if (g->kind == GIVEN_FORMAT)
        out_fmt(o, "{\"as_memory_format\": %d}", formats[g->i[0]]);
    else if (g->kind == GIVEN_LAYOUT)
        out_text(o, "{\"as_layout\": 7}");
    else if (g->kind == GIVEN_DEVICE)
        out_text(o, "{\"as_device\": {\"type\": \"cpu\", \"index\": null}}");
    else {
        out_fmt(o, "{\"%s\": ", tag_of(g->kind));
        graph_number(o, g, 0);
        out_text(o, "}");
    }
}

static void graph_results(Out *o, const Calls *p, const Call *call)
{
    out_text(o, call->list ? "{\"as_tensors\": [" : "");
    for (uint32_t i = 0; i < call->n_result; i++)
        out_fmt(o, call->list ? "%s{\"name\": \"%s\"}" : "%s{\"as_tensor\": {\"name\": \"%s\"}}",
                i ? ", " : "", value_name(p, call->result[i]));
    out_text(o, call->list ? "]}" : "");
}

static void graph_call(Out *o, const Calls *p, const Call *call)
{
    const Schema *s = call->schema;
    const char *colons = strstr(s->name->s, "::");
    out_fmt(o, "{\"target\": \"torch.ops.%.*s.%s.%s\", \"inputs\": [", (int)(colons - s->name->s),
            s->name->s, colons + 2, s->overload->len ? s->overload->s : "default");
    bool first = true;
    for (int i = 0; i < s->n_param; i++) {
        if (call->arg[i].kind == GIVEN_DEFAULT)
            continue;
        out_fmt(o, "%s{\"name\": \"%s\", \"arg\": ", first ? "" : ", ", s->param[i].name->s);
        first = false;
        graph_argument(o, p, &call->arg[i], &s->param[i]);
        out_text(o, ", \"kind\": 1}");
    }
    out_text(o, "], \"outputs\": [");
    graph_results(o, p, call);
    out_text(o, "], \"metadata\": {}, \"is_hop_single_tensor_return\": null}");
}

static void graph_type(Out *o, const char *name, const InputType *t)
{
    int64_t stride[4];
    int64_t n = 1;
    for (size_t i = t->rank; i-- > 0; n *= t->size[i] ? t->size[i] : 1)
        stride[i] = n;
    out_fmt(o, "\"%s\": {\"dtype\": %d, \"sizes\": [", name, t->pt2);
    for (size_t i = 0; i < t->rank; i++)
        out_fmt(o, "%s{\"as_int\": %lld}", i ? ", " : "", (long long)t->size[i]);
    out_text(o,
             "], \"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, "
             "\"strides\": [");
    for (size_t i = 0; i < t->rank; i++)
        out_fmt(o, "%s{\"as_int\": %lld}", i ? ", " : "", (long long)stride[i]);
    out_text(o, "], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}");
}

/* The names of n values, each in its tag. */
static void graph_names(Out *o, const Calls *p, const uint32_t *v, uint32_t n, const char *form)
{
    for (uint32_t i = 0; i < n; i++) {
        out_text(o, i ? ", " : "");
        for (const char *at = form; *at; at++)
            if (*at == '$')
                out_text(o, value_name(p, v[i]));
            else
                out_put(o, at, 1);
    }
}

static void graph_signature(Out *o, const Calls *p, const uint32_t *in)
{
    out_text(o,
             "\"signature\": {\"input_specs\": [{\"parameter\": {\"arg\": {\"name\": \"p_w\"}, "
             "\"parameter_name\": \"w\"}}, ");
    graph_names(o, p, in, p->n_in,
                "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"$\"}}}}");
    out_text(o, "], \"output_specs\": [");
    graph_names(o, p, p->out, p->n_out,
                "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"$\"}}}}");
    out_text(o,
             "]}, \"module_call_graph\": [], \"metadata\": {}, \"treespec_namedtuple_fields\": "
             "{}}, ");
}

Out calls_as_graph(const Calls *p)
{
    static const InputType weight = { 7, 1, "float32", 2, { 2, 3 } };
    uint32_t in[CALL_INPUTS];
    Out o = { 0 };
    for (uint32_t i = 0; i < p->n_in; i++)
        in[i] = i;
    out_text(&o,
             "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"p_w\"}}, ");
    graph_names(&o, p, in, p->n_in, "{\"as_tensor\": {\"name\": \"$\"}}");
    out_text(&o, "], \"outputs\": [");
    graph_names(&o, p, p->out, p->n_out, "{\"as_tensor\": {\"name\": \"$\"}}");
    out_text(&o, "], \"nodes\": [");
    for (uint32_t i = 0; i < p->n_call; i++) {
        out_text(&o, i ? ", " : "");
        graph_call(&o, p, &p->call[i]);
    }
    out_text(&o, "], \"tensor_values\": {");
    graph_type(&o, "p_w", &weight);
    for (uint32_t i = 0; i < p->n_in; i++) {
        out_text(&o, ", ");
        graph_type(&o, value_name(p, i), p->in[i]);
    }
    out_text(&o,
             "}, \"sym_int_values\": {}, \"sym_bool_values\": {}, \"is_single_tensor_return\": "
             "false, \"custom_obj_values\": {}, \"sym_float_values\": {}}, ");
    graph_signature(&o, p, in);
    out_text(&o,
             "\"opset_version\": {\"aten\": 10}, \"range_constraints\": {}, "
             "\"schema_version\": {\"major\": 8, \"minor\": 20}, \"verifiers\": [\"TRAINING\"], "
             "\"torch_version\": \"2.13.0\", \"guards_code\": []}");
    Out file = archive_of_graph(&o);
    out_free(&o);
    return file;
}
