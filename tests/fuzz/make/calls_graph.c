/* calls_graph.c - calls as an exported graph. */
#include "fuzz/make/calls.h"

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
    out_fmt(o, "{\"target\": \"torch.ops.%.*s.%s.%s\", \"inputs\": [",
            (int)strcspn(s->name->s, ":"), s->name->s, call_name(call),
            s->overload->len ? s->overload->s : "default");
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

/* ---- branches and loops ---- */

#define TENSOR_TAG "{\"as_tensor\": {\"name\": \"$\"}}"
#define NO_VALUES                                                              \
    "\"tensor_values\": {}, \"sym_int_values\": {}, \"sym_bool_values\": {}, " \
    "\"custom_obj_values\": {}, \"sym_float_values\": {}"

static void begin_subgraph(Out *o, const Calls *p, const Call *step, const char *name)
{
    bool is_loop = step->kind == STEP_WHILE || step->kind == STEP_END_WHILE;
    out_fmt(o,
            "{\"name\": \"\", \"arg\": {\"as_graph\": {\"name\": \"%s_%u\", \"graph\": "
            "{\"inputs\": [",
            name, step->result[0]);
    if (is_loop)
        graph_names(o, p, step->result, step->n_result, TENSOR_TAG);
    out_text(o, is_loop ? ", " : "");
    graph_names(o, p, step->operand, step->n_operand, TENSOR_TAG);
    out_text(o, "], \"nodes\": [");
}

static void end_subgraph(Out *o, const Calls *p, const uint32_t *value, uint32_t n)
{
    out_text(o, "], \"outputs\": [");
    graph_names(o, p, value, n, TENSOR_TAG);
    out_text(o, "], " NO_VALUES ", \"is_single_tensor_return\": false}}}, \"kind\": 1}, ");
}

static void graph_tensors(Out *o, const Calls *p, const uint32_t *value, uint32_t n)
{
    out_text(o, "{\"name\": \"\", \"arg\": {\"as_tensors\": [");
    graph_names(o, p, value, n, "{\"name\": \"$\"}");
    out_text(o, "]}, \"kind\": 1}");
}

static void end_block(Out *o, const Calls *p, const Call *step)
{
    out_text(o, "], \"outputs\": [");
    graph_names(o, p, step->result, step->n_result, TENSOR_TAG);
    out_text(o, "], \"metadata\": {}, \"is_hop_single_tensor_return\": null}");
}

static void begin_if(Out *o, const Calls *p, const Call *step)
{
    out_text(
        o, "{\"target\": \"torch.ops.higher_order.cond\", \"inputs\": [{\"name\": \"\", \"arg\": ");
    graph_names(o, p, step->value, 1, TENSOR_TAG);
    out_text(o, ", \"kind\": 1}, ");
    begin_subgraph(o, p, step, "true_graph");
}

/* The graph of the condition, count < bound, and the beginning of the body's. */
static void begin_while(Out *o, const Calls *p, const Call *step)
{
    out_text(o, "{\"target\": \"torch.ops.higher_order.while_loop\", \"inputs\": [");
    begin_subgraph(o, p, step, "cond_graph");
    out_text(o,
             "{\"target\": \"torch.ops.aten.lt.Scalar\", \"inputs\": [{\"name\": \"self\", "
             "\"arg\": ");
    graph_names(o, p, step->result, 1, TENSOR_TAG);
    out_fmt(o,
            ", \"kind\": 1}, {\"name\": \"other\", \"arg\": {\"as_int\": %u}, \"kind\": 1}], "
            "\"outputs\": [{\"as_tensor\": {\"name\": \"go\"}}], \"metadata\": {}, "
            "\"is_hop_single_tensor_return\": null}",
            step->bound);
    out_text(o,
             "], \"outputs\": [{\"as_tensor\": {\"name\": \"go\"}}], " NO_VALUES
             ", \"is_single_tensor_return\": true}}}, \"kind\": 1}, ");
    begin_subgraph(o, p, step, "body_graph");
}

/* *first: no node stands before this one in its graph. */
static void graph_step(Out *o, const Calls *p, const Call *step, bool *first)
{
    bool begins = step->kind == STEP_CALL || step->kind == STEP_IF || step->kind == STEP_WHILE;
    out_text(o, begins && !*first ? ", " : "");
    *first = !begins || step->kind != STEP_CALL;
    switch (step->kind) {
    case STEP_CALL:  graph_call(o, p, step); break;
    case STEP_IF:    begin_if(o, p, step); break;
    case STEP_WHILE: begin_while(o, p, step); break;
    case STEP_ELSE:
        end_subgraph(o, p, step->value, step->n_result);
        begin_subgraph(o, p, step, "false_graph");
        break;
    case STEP_END_IF:
        end_subgraph(o, p, step->value, step->n_result);
        graph_tensors(o, p, step->operand, step->n_operand);
        end_block(o, p, step);
        break;
    case STEP_END_WHILE:
        end_subgraph(o, p, step->value, step->n_result);
        graph_tensors(o, p, step->from, step->n_result);
        out_text(o, ", ");
        graph_tensors(o, p, step->operand, step->n_operand);
        end_block(o, p, step);
        break;
    }
    *first = *first && step->kind != STEP_END_IF && step->kind != STEP_END_WHILE;
}

/* ---- the whole ---- */

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
    bool first = true;
    for (uint32_t i = 0; i < p->n_call; i++)
        graph_step(&o, p, &p->call[i], &first);
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
