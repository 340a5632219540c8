/* outputs.c - the graph's outputs: the leaves of what forward returns, one output each, named by
 * where they lie in it. */
#include "eval/branch/carry.h"
#include "eval/branch/choice.h"
#include "eval/lists/stacked.h"
#include "value/walk.h"

/* An object whose attributes are made outputs, and the one around it. */
typedef struct Around {
    const Obj *obj;
    const struct Around *up;
} Around;

typedef struct Outputs {
    Eval *ev;
    Map taken;
    size_t n;
    int64_t depth; /* of the value that is made outputs, in the result */
    const Around *around;
    bool empty_lists; /* they are outputs too, since there is no other */
} Outputs;

enum { OPTIONAL_OPSET = 16 };

static bool make_output(Outputs *out, Value v, Str name, bool top);

/* The name that this output gets: the user's, the file's, or where it lies in the result. */
static Str output_name(Outputs *out, Str place)
{
    const Options *o = options_of(out->ev);
    const Program *p = out->ev->p;
    Ctx *cx = out->ev->cx;
    Str name = place;
    size_t i = out->n++;
    if (i < o->n_output_name)
        return o->output_name[i];
    if (i < p->n_output_name && p->output_name[i])
        name = p->output_name[i];
    Str base = name;
    for (int k = 1; map_find(&out->taken, name); k++)
        name = str_fmt(cx, "%s_%d", base->s, k);
    map_put(cx, &out->taken, name, NULL);
    return name;
}

/* The custom operator whose result has no type that is known, if v's rank is unknown because of it.
 */
static Str untyped_operator(Ctx *cx, Ox v)
{
    VEC(Ox) todo = { 0 };
    Map seen = { 0 };
    vec_push(cx, &todo, v);
    while (todo.n) {
        Ox x = todo.at[--todo.n];
        if (x->kind != OX_NODE || ox_rank(x) >= 0 || map_find(&seen, x->node))
            continue;
        if (!x->node->op)
            return str_cat(cx, x->node->domain->s, "::", x->node->name->s);
        map_put(cx, &seen, x->node, NULL);
        for (int i = 0; i < x->node->n_in; i++)
            if (x->node->in[i])
                vec_push(cx, &todo, x->node->in[i]);
    }
    return NULL;
}

/* ONNX wants the rank of every input and output of a model. After a refusal an unknown rank is no
 * error: the operator that is refused may be the one whose result would have made it known. */
static bool has_rank(Ctx *cx, Ox v, const char *what, Str name)
{
    if (ox_rank(v) >= 0 || cx->refusals.n > 0)
        return true;
    fail(cx, E_UNDECIDED, "the rank of the %s %s is not known, and ONNX wants it", what, name->s);
    Str untyped = untyped_operator(cx, v);
    if (untyped)
        fail_hint(cx, "say in the rule what %s gives: = %s(..) as x has x's type and sizes",
                  untyped->s, untyped->s);
    else
        fail_hint(cx, "give the sizes of the inputs: -i NAME:float32[N,3]");
    return false;
}

/* One output of the graph, v, which lies at place (`output.0`) in the result. A tensor whose rank
 * differs from run to run has the type of the usual run in the file; a note says so. */
static bool output_ox(Outputs *out, Ox v, Str place)
{
    if (!ox_ok(v)) {
        out->n++;
        return !ctx_failed(out->ev->cx);
    }
    Ctx *cx = out->ev->cx;
    bool rank_unknown = v->type && v->type->kind == T_TENSOR && ox_rank(v) < 0;
    Type usual = rank_unknown ? facts_usual(cx, v) : NULL;
    if (rank_unknown && !usual && !has_rank(cx, v, "output", place))
        return false;
    if (usual) {
        note(cx, NOTE_CHANGED,
             "the output %s has another rank in some runs of the model, as in PyTorch; its usual "
             "type, which the file states, is %s",
             place->s, type_text(cx, usual)->s);
        graph_state_output(out->ev->g, usual);
    }
    graph_output(out->ev->g, v, output_name(out, place));
    return !ctx_failed(cx);
}

/* Three outputs: the integers, the scale (float32) and the zero point (of the integers' type, or
 * float32); those are lists where each index of an axis has its own. */
static bool output_quantised(Outputs *out, Tensor *t, Str place)
{
    Ctx *cx = out->ev->cx;
    if (t->quant->dtype == DT_UINT4)
        return fail(cx, E_UNSUPPORTED,
                    "the output %s is a quantised tensor of 4 bits: dequantize it", place->s);
    Str each = t->quant->axis < 0 ? str_of(cx, "")
                                  : str_fmt(cx, ", of each index of axis %d", t->quant->axis);
    note(cx, NOTE_CHANGED,
         "the quantised output %s is three: its integers, %s.scale and %s.zero_point%s", place->s,
         place->s, place->s, each->s);
    return output_ox(out, tensor_read(out->ev->g, t), place) &&
        output_ox(out, t->quant->scale, str_fmt(cx, "%s.scale", place->s)) &&
        output_ox(out, t->quant->zero_point, str_fmt(cx, "%s.zero_point", place->s));
}

static bool output_tensor(Outputs *out, Tensor *t, Str place)
{
    Ctx *cx = out->ev->cx;
    if (t->kind == NESTED)
        return fail(cx, E_UNSUPPORTED,
                    "the output %s is a nested tensor, which ONNX cannot hold: pad it with "
                    "to_padded_tensor",
                    place->s);
    if (t->kind == QUANT)
        return output_quantised(out, t, place);
    if (dtype_is_complex(tensor_type(t)->dtype))
        note(cx, NOTE_CHANGED,
             "the complex output %s has a last axis of 2: real and imaginary part", place->s);
    return output_ox(out, tensor_read(out->ev->g, t), place);
}

static bool output_complex(Outputs *out, const double *c, Str place)
{
    note(out->ev->cx, NOTE_CHANGED,
         "the complex output %s has a last axis of 2: real and imaginary part", place->s);
    return output_ox(out, ox_complex_number(out->ev->g, DT_COMPLEX128, c[0], c[1]), place);
}

/* Where part i of v lies in the result, of which v lies at place: output.image of a dict or a
 * NamedTuple, output.0 of a list or tuple. */
static Str part_place(Ctx *cx, Str place, Value v, int64_t i)
{
    if (v.tag == V_DICT)
        return path_of(cx, place, val_text(cx, v.dict->at[i].key));
    if (v.tag == V_TUPLE && v.tuple->fields)
        return path_of(cx, place, v.tuple->fields[i]);
    return str_fmt(cx, "%s.%lld", place->s, (long long)i);
}

static bool output_parts(Outputs *out, Value v, Str place)
{
    for (int64_t i = 0; i < val_n_parts(v); i++)
        if (!make_output(out, val_part(v, i), part_place(out->ev->cx, place, v, i), false))
            return false;
    return true;
}

static bool output_stacked(Outputs *out, Stacked *s, Str place);

/* A list of tuples, dicts or objects is a list for each of their parts, which lies in the result
 * where the part lies in an item. */
static bool output_columns(Outputs *out, Stacked *s, Str place)
{
    Ctx *cx = out->ev->cx;
    size_t n = s->item.parts->n;
    Value *part = new_array(cx, Value, n);
    if (!part)
        return false;
    for (size_t i = 0; i < n; i++) {
        part[i] = (Value){ .tag = V_LIST, .list = list_new(cx, 0, NULL) };
        list_stack(cx, part[i].list, s->column[i]);
    }
    Value v = stacked_rebuilt(cx, s, part);
    return stacked_is_readable(out->ev, s) && make_output(out, v, place, false);
}

/* A stacked list of tensors is a sequence of ONNX. One of numbers is a tensor, unless the caller
 * takes lists of numbers as sequences. */
static bool output_stacked(Outputs *out, Stacked *s, Str place)
{
    if (s->column)
        return output_columns(out, s, place);
    Ox whole = stacked_whole(out->ev, s);
    bool tensors = !strcmp(s->item.elem, "Tensor") || s->item.of ||
        options_of(out->ev)->sequence_lists;
    note(out->ev->cx, NOTE_CHANGED,
         "the output %s, a list whose length only the running model knows, is one %s", place->s,
         tensors ? "sequence" : "tensor");
    if (tensors && !s->item.ragged)
        whole = ox_g_with(out->ev->g, "SplitToSequence", INPUTS(whole), INT("axis", 0),
                          INT("keepdims", 0));
    return output_ox(out, whole, place);
}

static bool output_list(Outputs *out, Value v, Str place)
{
    if (v.list->stacked)
        return output_stacked(out, v.list->stacked, place);
    if (v.list->n == 0 && out->empty_lists)
        return output_ox(out,
                         ox_make(out->ev->g, "SequenceEmpty", (OxList){ NULL, 0 },
                                 ATTRS(INT("dtype", DT_FLOAT))),
                         place);
    return output_parts(out, v, place);
}

static bool output_dict(Outputs *out, Value v, Str place)
{
    if (dict_is_dynamic(v.dict)) {
        fail(out->ev->cx, E_UNSUPPORTED,
             "the output %s is a dict of which only the running model knows what keys it has",
             place->s);
        fail_hint(out->ev->cx, "set the same keys in both branches of the if");
        return false;
    }
    return output_parts(out, v, place);
}

/* The name of attribute i of an object: its own list of names, or its class's field. */
static Str attribute_name(Ctx *cx, const Obj *o, int64_t i)
{
    if (o->names)
        return o->names[i];
    if (o->cls && i < (int64_t)o->cls->n_field)
        return o->cls->field[i].name;
    return str_of(cx, "?");
}

/* Does o lie in itself? A list, tuple or dict of which this is true has such an object in it. */
static bool holds_itself(const Outputs *out, const Obj *o)
{
    for (const Around *a = out->around; a; a = a->up)
        if (a->obj == o)
            return true;
    return false;
}

/* An object of the model's own class: its attributes, in order. */
static bool output_object(Outputs *out, const Obj *o, Str place)
{
    Ctx *cx = out->ev->cx;
    if (holds_itself(out, o)) {
        fail(cx, E_UNSUPPORTED, "the output %s is an object that lies in itself", place->s);
        fail_hint(cx, "return the tensors that it holds: ONNX has no value that holds itself");
        return false;
    }
    Around here = { o, out->around };
    out->around = &here;
    bool ok = true;
    for (int64_t i = 0; i < o->n && ok; i++) {
        Str attr = path_of(cx, place, attribute_name(cx, o, i));
        ok = make_output(out, o->slot[i].v, attr, false);
    }
    out->around = here.up;
    return ok;
}

/* A result that is None in some runs of the model is an optional of ONNX, empty in those runs: the
 * result of `If(present) { Optional(value) } else { Optional() }`. An If can give an optional from
 * opset 16 on. */
static bool output_optional(Outputs *out, const Maybe *m, Str place)
{
    Ctx *cx = out->ev->cx;
    Graph *g = out->ev->g;
    bool plain = m->value.tag == V_TENSOR && m->value.t->kind == PLAIN &&
        !dtype_is_complex(tensor_type(m->value.t)->dtype);
    if (!plain && !val_is_plain_number(m->value))
        return fail(cx, E_UNSUPPORTED,
                    "the output %s is None in some runs of the model and %s in others, and ONNX "
                    "decides which",
                    place->s, val_kind(m->value));
    if (g->target < OPTIONAL_OPSET) {
        fail(cx, E_UNSUPPORTED,
             "the output %s, which is None in some runs of the model, needs ONNX opset %d, the "
             "target is %d",
             place->s, OPTIONAL_OPSET, g->target);
        fail_hint(cx, "--opset %d, or return an empty tensor instead of None", OPTIONAL_OPSET);
        return false;
    }
    Ox value = plain ? tensor_read(g, m->value.t) : carry_ox(g, m->value);
    Ox present = carry_ox(g, m->present);
    Graph *yes = graph_new(cx, g, NULL);
    Graph *no = graph_new(cx, g, NULL);
    if (!ox_ok(value) || !yes || !no || !has_rank(cx, value, "output", place))
        return !ctx_failed(cx);
    Ox there = ox_g(yes, "Optional", value);
    Ox none = ox_make(no, "Optional", (OxList){ NULL, 0 }, ATTRS(TYPE("type", value->type)));
    graph_output(yes, there, NULL);
    graph_output(no, none, NULL);
    note(cx, NOTE_CHANGED, "the output %s is an ONNX optional, empty in the runs where it is None",
         place->s);
    Ox optional = ox_g_with(g, "If", INPUTS(present), SUBGRAPH("then_branch", yes),
                            SUBGRAPH("else_branch", no));
    return output_ox(out, optional, place);
}

/* As make_output, by the kind of v; the depth is counted already. */
static bool output_value(Outputs *out, Value v, Str place, bool top)
{
    Eval *ev = out->ev;
    Ctx *cx = ev->cx;
    switch (v.tag) {
    case V_POISON:   out->n++; return !ctx_failed(cx);
    case V_TENSOR:   return output_tensor(out, v.t, place);
    case V_TUPLE:    return output_parts(out, v, place);
    case V_LIST:     return must_be_set(ev, v) && output_list(out, v, place);
    case V_DICT:     return must_be_set(ev, v) && output_dict(out, v, place);
    case V_INT:      return output_ox(out, ox_int(ev->g, v.i), place);
    case V_SYMINT:   return output_ox(out, ox_dim_value(ev->g, v.dim), place);
    case V_FLOAT:    return output_ox(out, ox_number(ev->g, DT_DOUBLE, v.f), place);
    case V_SYMFLOAT: /* float64, as a float of Python is, whatever type it was read from */
        return output_ox(out, ox_cast(ev->g, v.ox, DT_DOUBLE), place);
    case V_COMPLEX: return output_complex(out, v.c, place);
    case V_BOOL:    return output_ox(out, ox_bool(ev->g, v.b), place);
    case V_SYMBOOL: return output_ox(out, symbool_ox(ev->g, v.sb), place);
    case V_CHOICE:
        return (v.choice->at[0].tag == V_STR || choice_fail(cx, v.choice)) &&
            output_ox(out, choice_ox(ev->g, v.choice), place);
    case V_STR:    return output_ox(out, ox_string(ev->g, v.s), place);
    case V_FUTURE: return make_output(out, *v.future, place, top);
    case V_OBJ:    return must_be_set(ev, v) && output_object(out, v.obj, place);
    case V_NONE:
        if (!top)
            note(cx, NOTE_DROPPED, "%s, which is None", place->s);
        return true;
    case V_MAYBE: return output_optional(out, v.maybe, place);
    case V_UNINIT:
        if (v.any && ((const Unset *)v.any)->varies)
            return output_ox(out, ((const Unset *)v.any)->varies, place);
        break;
    default: break;
    }
    return must_be_set(ev, v) &&
        fail(cx, E_UNSUPPORTED, "the output %s is %s, which ONNX cannot hold", place->s,
             val_kind(v));
}

/* The outputs for v and what it holds. place is where v lies in what forward returns, top: v is all
 * of it. `return {"a": x, "b": (y, 2)}` has the outputs output.a, output.b.0 and output.b.1. A name
 * is as long as its place is deep, so the depth is bounded for the sake of memory. */
static bool make_output(Outputs *out, Value v, Str place, bool top)
{
    Ctx *cx = out->ev->cx;
    check_stack(cx);
    count_values(cx, 1);
    out->depth++;
    bool ok = limit_ok(cx, LIMIT_DEPTH, (uint64_t)out->depth, "levels of the result") &&
        output_value(out, v, place, top);
    out->depth--;
    return ok;
}

/* The outputs of the result; where there is no such output, the error has the place of forward's
 * last statement. */
static bool output_result(Outputs *out, Value result)
{
    Ctx *cx = out->ev->cx;
    bool ok = make_output(out, result, str_of(cx, "output"), true);
    if (!ok)
        fail_arose_at(cx, place_of_end(out->ev, out->ev->p->entry));
    return ok;
}

/* The graph's outputs, from what forward returns. A model whose result is nothing but empty lists
 * has these as outputs; one without any output (`return None`) is an error. */
bool make_outputs(Eval *ev, Value result)
{
    const Options *o = options_of(ev);
    Outputs out = { .ev = ev };
    for (size_t i = 0; i < ev->g->inputs.n; i++) {
        Ox in = ev->g->inputs.at[i];
        if (in->type->kind == T_TENSOR && !has_rank(ev->cx, in, "input", in->name))
            return false;
    }
    for (size_t i = 0; i < ev->g->inputs.n; i++)
        map_put(ev->cx, &out.taken, ev->g->inputs.at[i]->name, NULL);
    if (!output_result(&out, result))
        return false;
    out.empty_lists = out.n == 0;
    if (out.empty_lists && !output_result(&out, result))
        return false;
    if (o->n_output_name && o->n_output_name != out.n)
        return fail(ev->cx, E_USAGE, "--output-names gives %zu names, the model has %zu outputs",
                    o->n_output_name, out.n);
    if (out.n == 0)
        return fail(ev->cx, E_UNSUPPORTED,
                    "the model returns nothing: an ONNX model has at least one output");
    return true;
}
