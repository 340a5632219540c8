/* calls_script.c - calls as a TorchScript archive. */
#include "fuzz/make/calls.h"

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

static void new_line(Out *o, int indent) { out_fmt(o, "%*s", 2 * indent, ""); }

static void script_call(Out *o, const Calls *p, const Call *call)
{
    const Schema *s = call->schema;
    const char *name = call_name(call);
    int space = (int)strcspn(s->name->s, ":");
    for (uint32_t i = 0; i < call->n_result; i++)
        out_fmt(o, "%s%s", value_name(p, call->result[i]),
                call->n_result > 1 || call->list ? ", " : " ");
    if (strncmp(s->name->s, "aten::", 6) == 0)
        out_fmt(o, "= torch.%s(", name);
    else
        out_fmt(o, "= ops.%.*s.%s(", space, s->name->s, name);
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

/* What a branch or an iteration ends with, or a loop begins with, gets the names of the results. A
 * loop's new values are all made before the first of them has its name. */
static void script_results(Out *o, const Calls *p, const Call *call, int indent)
{
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < call->n_result; i++) {
            new_line(o, indent);
            if (k == 0)
                out_fmt(o, "_%u = %s\n", i, value_name(p, call->value[i]));
            else
                out_fmt(o, "%s = _%u\n", value_name(p, call->result[i]), i);
        }
}

static void script_condition(Out *o, const Calls *p, const Call *loop, int indent)
{
    uint32_t count = loop->result[0];
    new_line(o, indent);
    out_fmt(o, "go%u = bool(torch.lt(%s, %u))\n", count, value_name(p, count), loop->bound);
}

/* How deep the next step stands. */
static int script_step(Out *o, const Calls *p, const Call *call, int indent)
{
    if (call->kind != STEP_CALL && call->kind != STEP_IF)
        script_results(o, p, call, indent);
    if (call->kind == STEP_WHILE || call->kind == STEP_END_WHILE)
        script_condition(o, p, call, indent);
    if (call->kind == STEP_END_IF || call->kind == STEP_END_WHILE)
        return indent - 1;
    new_line(o, call->kind == STEP_ELSE ? indent - 1 : indent);
    switch (call->kind) {
    case STEP_IF:    out_fmt(o, "if bool(%s):\n", value_name(p, call->value[0])); return indent + 1;
    case STEP_ELSE:  out_text(o, "else:\n"); return indent;
    case STEP_WHILE: out_fmt(o, "while go%u:\n", call->result[0]); return indent + 1;
    default:         script_call(o, p, call); return indent;
    }
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
    int indent = 2;
    for (uint32_t i = 0; i < p->n_call; i++)
        indent = script_step(o, p, &p->call[i], indent);
    out_text(o, "    return (");
    for (uint32_t i = 0; i < p->n_out; i++)
        out_fmt(o, "%s, ", value_name(p, p->out[i]));
    out_text(o, ")\n");
    Out file = archive_of_script(&code);
    code_free(&code);
    return file;
}
