#include "fuzz/make/traces.h"

enum { NODES = 512, VALUES = 1024, INS = 4096, ATTRS = 1024 };

struct TraceParts {
    pt2onnx_node node[NODES];
    pt2onnx_type type[VALUES];
    const char *name[VALUES];
    uint32_t in[INS];
    uint32_t out[NODES * 2 + CALLS * RESULTS];
    pt2onnx_attr attr[ATTRS];
    pt2onnx_tensor weight;
    uint32_t inputs[CALL_INPUTS + 1], outputs[CALL_OUTPUTS], param;
    size_t n_node, n_value, n_in, n_out, n_attr;
};

static const int64_t weight_size[] = { 2, 3 };
static const int64_t weight_stride[] = { 3, 1 };
static const float weight_data[6] = { 0.5f, -1.25f, 2.0f, 0.0f, 3.5f, -0.75f };

/* Value 0 of a record is none: those of the calls are one higher. */
static uint32_t number_of(uint32_t value) { return value + 1; }

static uint32_t new_value(struct TraceParts *t, const char *kind)
{
    t->type[t->n_value] = (pt2onnx_type){ .rank = -1, .kind = kind };
    return (uint32_t)t->n_value++;
}

static pt2onnx_node *new_node(struct TraceParts *t, const char *kind)
{
    pt2onnx_node *n = &t->node[t->n_node++];
    *n = (pt2onnx_node){ .kind = kind,
                         .source = "net.py(7): forward\n",
                         .in = t->in + t->n_in,
                         .out = t->out + t->n_out,
                         .id = (uint32_t)t->n_node };
    return n;
}

static void add_in(struct TraceParts *t, pt2onnx_node *n, uint32_t v)
{
    t->in[t->n_in++] = v;
    n->n_in++;
}

static void add_out(struct TraceParts *t, pt2onnx_node *n, uint32_t v)
{
    t->out[t->n_out++] = v;
    n->n_out++;
}

static uint32_t constant(struct TraceParts *t, const Given *g, size_t k)
{
    static const char *const kinds[] = {
        [GIVEN_INT] = "int",    [GIVEN_FLOAT] = "float",   [GIVEN_BOOL] = "bool",
        [GIVEN_STR] = "str",    [GIVEN_DTYPE] = "int",     [GIVEN_FORMAT] = "int",
        [GIVEN_LAYOUT] = "int", [GIVEN_DEVICE] = "Device",
    };
    if (g->kind == GIVEN_TENSOR)
        return number_of((uint32_t)g->i[k]);
    pt2onnx_node *n = new_node(t, "prim::Constant");
    uint32_t v = new_value(t, g->kind == GIVEN_NONE ? "NoneType" : kinds[g->kind]);
    add_out(t, n, v);
    if (g->kind == GIVEN_NONE)
        return v;
    pt2onnx_attr *a = &t->attr[t->n_attr++];
    n->attr = a;
    n->n_attr = 1;
    *a = (pt2onnx_attr){ .name = "value", .kind = PT2ONNX_ATTR_INT, .i = g->i[k], .f = g->f[k] };
    if (g->kind == GIVEN_FLOAT)
        a->kind = PT2ONNX_ATTR_FLOAT;
    if (g->kind == GIVEN_STR || g->kind == GIVEN_DEVICE)
        *a = (pt2onnx_attr){ .name = "value",
                             .kind = PT2ONNX_ATTR_STRING,
                             .s = g->kind == GIVEN_STR ? g->s : "cpu" };
    return v;
}

/* A default that is left out stands in a trace too; here as None, or as the number 0. */
static uint32_t argument(struct TraceParts *t, const Given *g, const Param *q)
{
    uint32_t item[LIST_ITEMS];
    Given deflt = { .kind = GIVEN_NONE };
    if (g->kind == GIVEN_DEFAULT) {
        Value v = q->deflt;
        if (v.tag == V_INT || v.tag == V_BOOL)
            deflt = (Given){ .kind = v.tag == V_INT ? GIVEN_INT : GIVEN_BOOL,
                             .i = { v.tag == V_INT ? v.i : v.b } };
        if (v.tag == V_FLOAT)
            deflt = (Given){ .kind = GIVEN_FLOAT, .f = { v.f } };
        if (v.tag == V_STR)
            deflt = (Given){ .kind = GIVEN_STR, .s = v.s->s };
        deflt.is_list = v.tag == V_TUPLE;
        g = &deflt;
    }
    if (!g->is_list)
        return constant(t, g, 0);
    for (size_t k = 0; k < g->n; k++)
        item[k] = constant(t, g, k);
    pt2onnx_node *n = new_node(t, "prim::ListConstruct");
    for (size_t k = 0; k < g->n; k++)
        add_in(t, n, item[k]);
    uint32_t v = new_value(t, g->kind == GIVEN_FLOAT ? "List[float]" : "List[int]");
    if (g->kind == GIVEN_TENSOR)
        t->type[v].kind = q->elem_optional ? "List[Optional[Tensor]]" : "List[Tensor]";
    add_out(t, n, v);
    return v;
}

static void add_call(struct TraceParts *t, const Call *call)
{
    const Schema *s = call->schema;
    uint32_t arg[PARAMS];
    for (int i = 0; i < s->n_param; i++)
        arg[i] = argument(t, &call->arg[i], &s->param[i]);
    pt2onnx_node *n = new_node(t, s->name->s);
    for (int i = 0; i < s->n_param; i++)
        add_in(t, n, arg[i]);
    if (call->list) {
        uint32_t list = new_value(t, "List[Tensor]");
        add_out(t, n, list);
        n = new_node(t, "prim::ListUnpack");
        add_in(t, n, list);
    }
    for (uint32_t i = 0; i < call->n_result; i++)
        add_out(t, n, number_of(call->result[i]));
}

static void lie(struct TraceParts *t, Choices *c)
{
    static const char *const kinds[] = {
        "Tensor", "int", "List[int]", "Optional[Tensor]", "Tuple[Tensor, Tensor]", "?", "bool"
    };
    static const char *const names[] = { "prim::If",          "prim::Loop",
                                         "prim::TupleUnpack", "prim::PythonOp",
                                         "prim::Constant",    "aten::Int",
                                         "prim::ListUnpack",  "onnx::Relu",
                                         "aten::IntImplicit", "prim::TupleConstruct",
                                         "aten::__getitem__" };
    static const int64_t sizes[] = { 2, 3, -1, 0, 7 };
    size_t node = choose(c, (uint32_t)t->n_node);
    uint32_t value = choose(c, (uint32_t)t->n_value + 2);
    switch (choose(c, 6)) {
    case 0:
        if (t->n_in)
            t->in[choose(c, (uint32_t)t->n_in)] = value;
        break;
    case 1:
        if (t->n_out)
            t->out[choose(c, (uint32_t)t->n_out)] = value;
        break;
    case 2: t->node[node].kind = CHOICE_OF(c, names); break;
    case 3:
        if (value < t->n_value)
            t->type[value].kind = CHOICE_OF(c, kinds);
        break;
    case 4:
        if (value < t->n_value)
            t->type[value] = (pt2onnx_type){ .dtype = (int)choose(c, 30),
                                             .rank = (int)choose(c, COUNT(sizes) + 1),
                                             .dims = sizes,
                                             .kind = "Tensor" };
        break;
    case 5: t->node[node].n_in = t->node[node].n_in ? t->node[node].n_in - 1 : 0; break;
    }
}

/* inputs: the tensors of the program, then its weight. */
static void add_inputs(struct TraceParts *t, const Calls *p)
{
    for (uint32_t i = 0; i < p->n_value; i++)
        new_value(t, "Tensor");
    for (uint32_t i = 0; i < p->n_in; i++) {
        const InputType *in = p->in[i];
        t->inputs[i] = number_of(i);
        t->name[number_of(i)] = i == 0 ? "x0" : NULL;
        t->type[number_of(i)] = (pt2onnx_type){
            .dtype = in->onnx, .rank = (int)in->rank, .dims = in->size, .kind = "Tensor"
        };
    }
    t->param = t->inputs[p->n_in] = number_of(p->n_in);
    t->type[t->param] = (pt2onnx_type){
        .dtype = 1, .rank = 2, .dims = weight_size, .kind = "Tensor"
    };
    t->weight = (pt2onnx_tensor){ .dtype = 1,
                                  .rank = 2,
                                  .dims = weight_size,
                                  .strides = weight_stride,
                                  .data = weight_data,
                                  .name = "w" };
}

Trace trace_of_calls(const Calls *p, Choices *c)
{
    struct TraceParts *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->n_value = 1;
    t->type[0] = (pt2onnx_type){ .rank = -1, .kind = "" };
    add_inputs(t, p);
    for (uint32_t i = 0; i < p->n_call; i++)
        add_call(t, &p->call[i]);
    for (uint32_t i = 0; i < p->n_out; i++)
        t->outputs[i] = number_of(p->out[i]);
    for (uint32_t lies = choose(c, 8); t->n_node && lies > 4; lies--)
        lie(t, c);
    pt2onnx_graph graph = { t->node, t->n_node, t->inputs, p->n_in + 1, t->outputs, p->n_out };
    return (Trace){ { .size = sizeof(pt2onnx_trace),
                      .graph = graph,
                      .n_value = t->n_value,
                      .type = t->type,
                      .name = t->name,
                      .n_param = 1,
                      .param = &t->param,
                      .param_tensor = &t->weight },
                    t };
}

void trace_free(Trace *t)
{
    free(t->parts);
    *t = (Trace){ 0 };
}
