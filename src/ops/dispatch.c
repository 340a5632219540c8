/* dispatch.c - one operator call: from a name and values to a value.
 *
 * The plain form runs its row or rule. `add_` and out= run the plain form, cast to the
 * destination's type and write through it; `view_copy` is the view without its aliasing. What a row
 * returns is compared with what the file recorded. */
#include "ops/internal.h"
#include "value/walk.h"

/* The most results that a call writes to tensors of its caller: linalg_lstsq has four. */
enum { MAX_OUTS = 4 };

/* ---- running a row or a rule ---- */

static Value tensor_or_poison(Op *op, Ox v)
{
    return v && ox_ok(v) ? val_tensor(op->cx, v) : val_poison();
}

static RuleVal rule_tensors(Op *op, const Tuple *t)
{
    size_t n = (size_t)t->n;
    Ox *at = new_array(op->cx, Ox, n + 1);
    if (!at)
        return (RuleVal){ .tag = RV_NONE };
    for (size_t i = 0; i < n; i++)
        at[i] = t->at[i].tag == V_TENSOR ? tensor_read(op->g, t->at[i].t) : NULL;
    return (RuleVal){ .tag = RV_OXS, .oxs = { at, n } };
}

/* What the numbers of a list are together: ints and bools (perhaps symbolic) are ints, with a float
 * among them all are floats. */
typedef enum NumberItems {
    ITEMS_INTS,
    ITEMS_FLOATS,
    ITEMS_SYMBOLIC_FLOATS,
    ITEMS_OTHER
} NumberItems;

static NumberItems number_items(const Param *p, const Tuple *t)
{
    bool floats = p->base == A_FLOAT;
    bool symbolic_float = false;
    bool symbolic_int = false;
    for (int64_t i = 0; i < t->n; i++)
        switch (t->at[i].tag) {
        case V_BOOL:
        case V_INT:      break;
        case V_SYMINT:   symbolic_int = true; break;
        case V_FLOAT:    floats = true; break;
        case V_SYMFLOAT: symbolic_float = true; break;
        default:         return ITEMS_OTHER;
        }
    if (symbolic_float || (floats && symbolic_int))
        return ITEMS_SYMBOLIC_FLOATS;
    return floats ? ITEMS_FLOATS : ITEMS_INTS;
}

/* A concrete int, float or bool as a double: True is 1. */
static double real_of(Value v)
{
    if (v.tag == V_FLOAT)
        return v.f;
    return v.tag == V_BOOL ? v.b : (double)v.i;
}

static RuleVal rule_floats(Op *op, const Tuple *t)
{
    size_t n = (size_t)t->n;
    double *at = new_array(op->cx, double, n + 1);
    if (!at)
        return (RuleVal){ .tag = RV_NONE };
    for (size_t i = 0; i < n; i++)
        at[i] = real_of(t->at[i]);
    return (RuleVal){ .tag = RV_FLOATS, .floats = { at, n } };
}

/* Floats of which only the running model knows some, as a value of the graph: [0.5, f] is a float64
 * tensor of two elements. */
static RuleVal rule_symbolic_floats(Op *op, const Tuple *t)
{
    size_t n = (size_t)t->n;
    Ox *at = new_array(op->cx, Ox, n + 1);
    if (!at)
        return (RuleVal){ .tag = RV_NONE };
    for (size_t i = 0; i < n; i++) {
        Ox number = number_as(op, t->at[i], DT_DOUBLE);
        at[i] = unsqueeze_axis(op, number, 0);
    }
    return (RuleVal){ .tag = RV_OX, .ox = concat_axis(op, at, n, 0) };
}

/* Ints; with a symbolic one among them the list is a value of the graph: [2, n] of int[]. */
static RuleVal rule_ints(Op *op, const Tuple *t)
{
    size_t n = (size_t)t->n;
    int64_t *at = new_array(op->cx, int64_t, n + 1);
    Dim *dims = new_array(op->cx, Dim, n + 1);
    bool symbolic = false;
    if (!at || !dims)
        return (RuleVal){ .tag = RV_NONE };
    for (size_t i = 0; i < n; i++)
        if (val_dim_of(t->at[i], op->cx, &dims[i]))
            symbolic |= !dim_known(dims[i], &at[i]);
    if (symbolic)
        return (RuleVal){ .tag = RV_OX, .ox = ox_dims(op->g, dims, n) };
    return (RuleVal){ .tag = RV_INTS, .ints = { at, n } };
}

/* The refusal of an argument that no value of a rule can be. */
static RuleVal rule_takes_no(Op *op, const Param *p, const char *kind)
{
    Ox refused = op_refuse(op, "its rule cannot take what argument %s is: %s", p->name->s, kind);
    return (RuleVal){ .tag = RV_OX, .ox = refused };
}

static RuleVal rule_list(Op *op, const Param *p, const Tuple *t)
{
    if (p->base == A_TENSOR)
        return rule_tensors(op, t);
    switch (number_items(p, t)) {
    case ITEMS_INTS:            return rule_ints(op, t);
    case ITEMS_FLOATS:          return rule_floats(op, t);
    case ITEMS_SYMBOLIC_FLOATS: return rule_symbolic_floats(op, t);
    default:                    return rule_takes_no(op, p, "a list of other things than numbers");
    }
}

/* A number that the running model computes. */
static RuleVal staged_number(Ox v) { return (RuleVal){ .tag = RV_OX, .number = true, .ox = v }; }

/* An argument as a rule sees it; devices and their like, which no ONNX model has, are RV_NONE. */
static RuleVal rule_value(Op *op, const Param *p, Value v)
{
    if (p->base == A_DTYPE && v.tag != V_NONE)
        return (RuleVal){ .tag = RV_INT, .i = arg_dtype(op, p->name->s, DT_NONE) };
    switch (v.tag) {
    case V_TENSOR:   return (RuleVal){ .tag = RV_OX, .ox = arg(op, p->name->s) };
    case V_BOOL:     return (RuleVal){ .tag = RV_BOOL, .b = v.b };
    case V_INT:      return (RuleVal){ .tag = RV_INT, .i = v.i };
    case V_FLOAT:    return (RuleVal){ .tag = RV_FLOAT, .f = v.f };
    case V_STR:      return (RuleVal){ .tag = RV_STR, .s = v.s };
    case V_SYMINT:   return staged_number(ox_dim_value(op->g, v.dim));
    case V_SYMFLOAT: return staged_number(v.ox);
    case V_SYMBOOL:  return staged_number(symbool_ox(op->g, v.sb));
    case V_TUPLE:    return rule_list(op, p, v.tuple);
    case V_COMPLEX:  return rule_takes_no(op, p, "a complex number");
    default:         return (RuleVal){ .tag = RV_NONE };
    }
}

/* Promoted where the row promotes it. */
bool rule_argument(Op *op, Str name, RuleVal *out)
{
    int i = param_index(op->call->schema, name);
    if (i < 0)
        return false;
    const Param *p = &op->call->schema->param[i];
    if (op->promoted && op->promoted_list[i].n > 0)
        *out = (RuleVal){ .tag = RV_OXS,
                          .oxs = { op->promoted_list[i].at, op->promoted_list[i].n } };
    else if (op->promoted && op->promoted[i])
        *out = (RuleVal){ .tag = RV_OX, .ox = op->promoted[i] };
    else
        *out = rule_value(op, p, op->call->arg[i]);
    return true;
}

static bool rule_lookup(void *ctx, Str name, RuleVal *out) { return rule_argument(ctx, name, out); }

/* The operand whose type a number takes when its operator does not tell: the first promoted one,
 * else the first tensor. */
static Ox rule_like(Op *op)
{
    const Schema *s = op->call->schema;
    if (op->promoted)
        for (int i = 0; i < s->n_param; i++)
            if (op->promoted[i])
                return op->promoted[i];
    for (int i = 0; i < s->n_param; i++)
        if (op->call->arg[i].tag == V_TENSOR)
            return arg(op, s->param[i].name->s);
    return NULL;
}

/* The refusal of arguments that no alternative of the rule fits; of a user's rule it names the
 * file and line. */
static Ox nothing_fits(Op *op)
{
    const Rule *rule = op->call->rule;
    return rule->users ? op_refuse(op, "no alternative of its rule fits these arguments: %s",
                                   rule_place(op->cx, rule)->s)
                       : op_refuse(op, "no alternative of its rule fits these arguments");
}

/* How many values a rule gives: first the results that are not arguments themselves (fresh), then
 * the new contents of each tensor that is written to. f(Tensor(a!) x) -> (Tensor(a!), Tensor) has
 * one of each. */
typedef struct RuleParts {
    size_t fresh, written;
} RuleParts;

static RuleParts rule_parts(const Op *op)
{
    const Schema *s = op->call->schema;
    RuleParts n = { 0 };
    for (int i = 0; i < s->n_ret; i++)
        n.fresh += schema_itself(s, i) < 0;
    for (int i = 0; i < s->n_param; i++)
        n.written += s->param[i].writes && op->call->arg[i].tag == V_TENSOR;
    n.fresh += !n.fresh && !n.written;
    return n;
}

static Value store(Op *op, Tensor *dest, Value result);

/* v, given the destination's sizes where its own are unknown: writing keeps them, and a node of a
 * custom domain does not repeat them. */
static Ox of_its_sizes(Op *op, Tensor *dest, Ox v)
{
    Type t = tensor_type(dest);
    if (v && ox_ok(v) && ox_rank(v) < 0 && t->rank >= 0)
        v->type = type_tensor(op->cx, ox_dtype(v), t->rank, t->dim);
    return v;
}

/* Write out[0], out[1], .. to the tensors that the schema marks as written, in order. */
static bool store_written(Op *op, const Ox *out)
{
    const Schema *s = op->call->schema;
    for (int i = 0; i < s->n_param; i++) {
        if (!s->param[i].writes || op->call->arg[i].tag != V_TENSOR)
            continue;
        Tensor *dest = op->call->arg[i].t;
        if (!val_ok(store(op, dest, tensor_or_poison(op, of_its_sizes(op, dest, *out++)))))
            return false;
    }
    return true;
}

/* The results of a rule that writes: an argument for Tensor(a!), else the next of out. */
static Value results_and_arguments(Op *op, const Ox *out)
{
    const Schema *s = op->call->schema;
    Value *at = new_array(op->cx, Value, (size_t)s->n_ret + 1);
    if (!at)
        return val_poison();
    for (int i = 0; i < s->n_ret; i++) {
        int p = schema_itself(s, i);
        at[i] = p >= 0 ? op->call->arg[p] : tensor_or_poison(op, *out++);
    }
    if (s->n_ret == 0)
        return val_none();
    return s->n_ret == 1 ? at[0] : val_tuple(op->cx, at, s->n_ret);
}

static RuleOutcome apply_rule(Op *op, Ox *out, size_t n)
{
    const Rule *rule = op->call->rule;
    RuleEnv env = {
        .g = op->g, .target = op->g->target, .lookup = rule_lookup, .arg = op, .like = rule_like(op)
    };
    return rule->function ? rule_function(op, &env, out, n) : rule_apply(rule, &env, out, n);
}

static Value run_rule(Op *op)
{
    RuleParts parts = rule_parts(op);
    size_t n = parts.fresh + parts.written;
    Ox *out = scratch_array(op->cx, Ox, n);
    if (!out)
        return val_poison();
    switch (apply_rule(op, out, n)) {
    case RULE_DONE:
        if (parts.written)
            return store_written(op, out + parts.fresh) ? results_and_arguments(op, out)
                                                        : val_poison();
        return n == 1 ? tensor_or_poison(op, out[0]) : result_tuple(op, out, n);
    case RULE_NO_MATCH: return tensor_or_poison(op, nothing_fits(op));
    default:            return val_poison();
    }
}

typedef struct Reading {
    Op *op;
    Ox v;
    Tensor *found;
} Reading;

static WalkStep stop_at_reading(void *arg, Value v)
{
    Reading *r = arg;
    if (v.tag == V_TENSOR && tensor_read(r->op->g, v.t) == r->v) {
        r->found = v.t;
        return WALK_STOP;
    }
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

/* The tensor of an argument that reads v; NULL: none does. */
static Tensor *read_as(Op *op, Value arg, Ox v)
{
    Reading r = { op, v, NULL };
    (void)val_walk_finds(op->cx, arg, stop_at_reading, &r);
    return r.found;
}

/* The result of an ITSELF row: the argument whose value it is, as dropout(x, 0.5, False) is x; else
 * a new tensor. */
static Value run_itself(Op *op)
{
    Ox v = op->row->lower(op);
    if (!v || !ox_ok(v))
        return val_poison();
    Tensor *same = NULL;
    for (int i = 0; i < op->call->schema->n_param && !same; i++)
        same = read_as(op, op->call->arg[i], v);
    return same ? (Value){ .tag = V_TENSOR, .t = tensor_given_back(op->cx, same) }
                : val_tensor(op->cx, v);
}

/* The list of unbind_copy and its like: each view's contents in memory of their own. */
static Value copies(Op *op, Value list)
{
    if (list.tag != V_LIST)
        return list;
    Value *out = new_array(op->cx, Value, list.list->n + 1);
    if (!out)
        return val_poison();
    for (int64_t i = 0; i < list.list->n; i++)
        out[i] = val_tensor(op->cx, tensor_read(op->g, list.list->at[i].v.t));
    return val_list(op->cx, out, list.list->n, "Tensor");
}

static Value run_row(Op *op, CallForm form)
{
    switch (op->row->kind) {
    case ROW_LOWER:  return tensor_or_poison(op, op->row->lower(op));
    case ROW_ITSELF: return run_itself(op);
    case ROW_CALL:   return form == FORM_COPY ? copies(op, op->row->call(op)) : op->row->call(op);
    case ROW_EACH:   return op->row->call(op);
    case ROW_VIEW:   return call_view(op, form);
    default:         return tensor_or_poison(op, op_refuse(op, "%s", op->row->text));
    }
}

static const char *kind_name(Kinds k)
{
    switch (k) {
    case QUANT:  return "quantised";
    case NESTED: return "nested";
    default:     return "plain";
    }
}

typedef struct KindCheck {
    Op *op;
    unsigned kinds; /* that the row handles */
} KindCheck;

static WalkStep refuse_other_kind(void *arg, Value v)
{
    const KindCheck *c = arg;
    if (v.tag == V_TENSOR && v.t->kind && !(v.t->kind & c->kinds)) {
        op_refuse(c->op, "it does not handle %s tensors", kind_name(v.t->kind));
        return WALK_STOP;
    }
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

static WalkStep stop_at_quantised(void *arg, Value v)
{
    (void)arg;
    if (v.tag == V_TENSOR && v.t->kind == QUANT)
        return WALK_STOP;
    return v.tag == V_TUPLE ? WALK_IN : WALK_PAST;
}

/* Is an argument quantised that the row cannot handle? A view handles one that is quantised per
 * tensor: it moves the integers, whatever they stand for. */
static bool meets_quantised(Op *op, const Candidate *c, CallForm form)
{
    bool view = c->row && c->row->kind == ROW_VIEW && form != FORM_COPY;
    if (c->kinds & QUANT)
        return false;
    for (int i = 0; i < op->call->schema->n_param; i++) {
        Value v = op->call->arg[i];
        bool per_tensor = v.tag == V_TENSOR && v.t->quant && v.t->quant->axis < 0;
        bool quantised = val_walk_finds(op->cx, v, stop_at_quantised, NULL);
        if (quantised && !(view && per_tensor))
            return true;
    }
    return false;
}

/* Are all tensors among the arguments of these kinds? */
static bool check_kinds(Op *op, unsigned kinds)
{
    KindCheck c = { op, kinds };
    for (int i = 0; i < op->call->schema->n_param; i++)
        if (val_walk_finds(op->cx, op->call->arg[i], refuse_other_kind, &c))
            return false;
    return true;
}

/* Has the tensor as many dimensions as the memory format that the call asks for? False after
 * PyTorch's error. */
static bool fits_memory_format(Op *op)
{
    if (!has_param(op, "memory_format"))
        return true;
    Value format = arg_value(op, "memory_format");
    bool volume = format.tag == V_INT && format.i == FORMAT_CHANNELS_LAST_3D;
    if (!volume && !(format.tag == V_INT && format.i == FORMAT_CHANNELS_LAST))
        return true;
    int rank = has_param(op, "self") ? arg_rank(op, "self") : (int)arg_new_sizes(op, "size").n;
    int needed = volume ? 5 : 4;
    return rank < 0 || rank == needed ||
        fail(op->cx, E_VALUE, "required rank %d tensor to use channels_last%s format", needed,
             volume ? "_3d" : "");
}

/* v, which was computed in a wider type than PyTorch's result has, in that type. */
static Value narrowed(Op *op, Value v)
{
    if (!op->narrow || v.tag != V_TENSOR || !val_ok(v))
        return v;
    return val_tensor(op->cx, ox_cast(op->g, tensor_read(op->g, v.t), op->narrow));
}

/* The call's result before it is written anywhere: kinds checked, arguments promoted, then the row
 * or the rule. */
static Value run(Op *op, const Candidate *c, CallForm form)
{
    bool refused = c->row && c->row->kind == ROW_REFUSE;
    bool view = c->row && c->row->kind == ROW_VIEW;
    if (!refused && meets_quantised(op, c, form))
        return on_quantized_tensor(op, form == FORM_IN_PLACE);
    if (!refused && !check_kinds(op, c->kinds | (view ? QUANT : 0)))
        return val_poison();
    if (c->promote && !promote_args(op, c->promote))
        return val_poison();
    if (!refused && !fits_memory_format(op))
        return val_poison();
    Value v = c->rule ? run_rule(op) : run_row(op, form);
    fail_types_are_given(op->cx);
    return narrowed(op, v);
}

/* ---- in-place and out= ---- */

/* PyTorch writes to a tensor that has several elements in one place only where all writes to that
 * place agree (the row's `fills`), or add up (accumulate). */
bool may_write_copies(Op *op, Tensor *t)
{
    Tri repeats = tensor_repeats(op->cx, t);
    bool fill = op->row && op->row->fills;
    bool sums = has_param(op, "accumulate") && arg_bool(op, "accumulate");
    if (repeats == NO || (!sums && (fill || repeats == UNKNOWN)))
        return true;
    fail(op->cx, E_VALUE,
         "more than one element of the written-to tensor refers to a single memory location");
    fail_hint(op->cx, "clone() the tensor before it is written");
    return false;
}

/* Can a tensor of type `want` take v as its contents? Its element type may be smaller, not of a
 * lower category; its shape must be v's. Else PyTorch's error. */
static bool can_store(Op *op, Type want, Ox v)
{
    if (!dtype_can_store(ox_dtype(v), want->dtype))
        return fail(op->cx, E_VALUE, "result type %s can't be cast to the desired output type %s",
                    torch_dtype_name(ox_dtype(v)), torch_dtype_name(want->dtype));
    if (want->rank < 0 || ox_rank(v) < 0)
        return true;
    if (want->rank != ox_rank(v))
        return fail(op->cx, E_VALUE, "output with shape %s doesn't match the broadcast shape %s",
                    type_text(op->cx, want)->s, type_text(op->cx, v->type)->s);
    for (int i = 0; i < want->rank; i++)
        if (!dim_require(
                op->cx, want->dim[i], ox_dim(v, i),
                "dimension %d of the tensor that is written has another size than the result", i))
            return false;
    return true;
}

/* Make the result the contents of dest, cast to its element type; a view writes through to its
 * base. Gives dest, or poison after an error. */
static Value store(Op *op, Tensor *dest, Value result)
{
    if (!val_ok(result))
        return result;
    if (result.tag != V_TENSOR) {
        fail(op->cx, E_UNSUPPORTED, "%s has no in-place form", op->call->schema->name->s);
        return val_poison();
    }
    DType t = tensor_type(dest)->dtype;
    Ox v = tensor_read(op->g, result.t);
    if (!ox_ok(v) || !can_store(op, tensor_type(dest), v) || !may_write_copies(op, dest))
        return val_poison();
    if (!tensor_write(op->g, dest, own_result(op, ox_cast(op->g, v, t))))
        return val_poison();
    return (Value){ .tag = V_TENSOR, .t = dest };
}

/* The end of a call of the form `add_`: write the plain form's result to the first argument. */
static Value store_in_self(Op *op, Value result)
{
    Value self = op->call->schema->n_param > 0 ? op->call->arg[0] : val_none();
    if (op->row && (op->row->kind == ROW_VIEW || op->row->kind == ROW_EACH))
        return result; /* self is that view already; its items are written */
    if (self.tag != V_TENSOR) {
        fail(op->cx, E_UNSUPPORTED, "the in-place form of %s is not supported",
             op->call->schema->name->s);
        return val_poison();
    }
    return val_ok(result) ? store(op, self.t, result) : result;
}

/* Has a the shape of b? A tensor of no elements never has: it holds nothing that could show through
 * another name. */
static bool same_shape(Ctx *cx, Type a, Type b)
{
    if (a->rank != b->rank || dim_is(type_numel(cx, a), 0))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (dim_eq(cx, a->dim[i], b->dim[i]) != YES)
            return false;
    return true;
}

/* Must t keep its shape when out= writes to it? Yes where others may see its memory: a view, a
 * tensor of the model or of the caller, any tensor while a branch is evaluated. */
static bool keeps_shape(Ctx *cx, const Tensor *t)
{
    bool empty = dim_is(type_numel(cx, tensor_type(t)), 0);
    return t->base || (!empty && (t->st->state || t->st->input || trail_is_open(cx)));
}

/* Does writing v to `out` give it v's shape, as PyTorch resizes a tensor given as out=? */
static bool out_resizes(Op *op, Tensor *out, Ox v)
{
    Type want = tensor_type(out);
    return ox_ok(v) && ox_rank(v) >= 0 && !same_shape(op->cx, want, v->type) &&
        dtype_can_store(ox_dtype(v), want->dtype);
}

/* The end of a call with out=: the tensor takes the result, and its shape where it may. */
static Value store_in_out(Op *op, Tensor *out, Value result)
{
    if (result.tag != V_TENSOR || tensor_type(out)->rank < 0 || keeps_shape(op->cx, out))
        return store(op, out, result);
    Ox v = tensor_read(op->g, result.t);
    if (!v || !out_resizes(op, out, v))
        return store(op, out, result);
    if (!tensor_refill(op->cx, out, ox_cast(op->g, v, tensor_type(out)->dtype)))
        return val_poison();
    return (Value){ .tag = V_TENSOR, .t = out };
}

static bool is_out(const OpArg *arg)
{
    return arg->name && str_is(arg->name, "out") && arg->v.tag == V_TENSOR;
}

/* The tensor given as `out=`, or NULL; *args are the other arguments from then on, in order. False
 * when there is no memory. */
static bool take_out(Ctx *cx, const OpArg **args, size_t *n, Tensor **out)
{
    *out = NULL;
    for (size_t i = 0; i < *n && !*out; i++)
        if (is_out(&(*args)[i]))
            *out = (*args)[i].v.t;
    if (!*out)
        return true;
    OpArg *rest = scratch_array(cx, OpArg, *n);
    if (!rest)
        return false;
    size_t n_rest = 0;
    for (size_t i = 0; i < *n; i++) {
        if (is_out(&(*args)[i]))
            *out = (*args)[i].v.t;
        else
            rest[n_rest++] = (*args)[i];
    }
    *args = rest;
    *n = n_rest;
    return true;
}

typedef struct Outs {
    Tensor *at[MAX_OUTS];
    size_t n;
} Outs;

static bool is_parameter(Ctx *cx, Entry *e, Str name)
{
    for (size_t i = 0; i < e->at.n; i++) {
        const Schema *s = candidate_schema(cx, &e->at.at[i]);
        if (!s || param_index(s, name) >= 0)
            return true;
    }
    return false;
}

/* Take the tensors that the results are written to, one for each result, off the end of the
 * arguments: topk(x, 2, values=v, indices=i) gives v, i. Keywords that are no parameters of the
 * operator name its results, in order. */
static Outs take_outs(Ctx *cx, Entry *e, const OpArg *args, size_t *n)
{
    Outs outs = { .n = 0 };
    size_t from = *n;
    while (from > 0 && *n - from < MAX_OUTS && args[from - 1].name &&
           args[from - 1].v.tag == V_TENSOR && !is_parameter(cx, e, args[from - 1].name))
        from--;
    if (*n - from < 2)
        return outs;
    for (size_t i = from; i < *n; i++)
        outs.at[outs.n++] = args[i].v.t;
    *n = from;
    return outs;
}

static Value store_in_outs(Op *op, Outs outs, Value results)
{
    if (results.tag != V_TUPLE || results.tuple->n < (int64_t)outs.n) {
        fail(op->cx, E_VALUE, "it has not as many results as there are tensors to write them to");
        return val_poison();
    }
    Value written = val_tuple(op->cx, results.tuple->at, (int64_t)outs.n);
    for (size_t i = 0; i < outs.n; i++) {
        written.tuple->at[i] = store_in_out(op, outs.at[i], results.tuple->at[i]);
        if (!val_ok(written.tuple->at[i]))
            return val_poison();
    }
    return written;
}

/* ---- the guard: what the file recorded ---- */

/* Can a value be of both types? Unknown element types, ranks and sizes agree with any. */
static bool same_type(Ctx *cx, Type a, Type b)
{
    if (a->dtype != DT_NONE && b->dtype != DT_NONE && a->dtype != b->dtype)
        return false;
    if (a->rank < 0 || b->rank < 0)
        return true;
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (dim_eq(cx, a->dim[i], b->dim[i]) == NO)
            return false;
    return true;
}

/* Do the results have the types that the file recorded? A result whose record is torch's mistake is
 * noted and passes, and so does what is computed from it. */
static bool check_expect(Op *op, Value v)
{
    const Value *at = v.tag == V_TUPLE ? v.tuple->at : &v;
    int64_t n = v.tag == V_TUPLE ? v.tuple->n : 1;
    uint32_t errs = op->record_errs;
    for (int64_t i = 0; i < n && errs; i++, errs >>= 1)
        if (errs & RESULT(0) && at[i].tag == V_TENSOR)
            record_note_erred(op->cx, tensor_read(op->g, at[i].t));
    for (int64_t i = 0; i < n && i < op->n_expect; i++)
        if (at[i].tag == V_TENSOR && op->expect[i] &&
            !same_type(op->cx, op->expect[i], tensor_type(at[i].t)) &&
            !record_erred(op->cx, tensor_read(op->g, at[i].t)))
            return record_fail(op->cx, NULL, (int)i, type_text(op->cx, op->expect[i]),
                               type_text(op->cx, tensor_type(at[i].t)));
    return true;
}

/* ---- the call ---- */

static Value unknown(Graph *g, Str name)
{
    refuse(g->cx, where_intern(g->cx), name, "pt2onnx does not know this operator");
    bool in_place = is_in_place(name); /* the hint names the plain form, which gives both */
    refuse_hint(g->cx, "--rules FILE, with a rule for %.*s; or --unknown=custom",
                (int)(name->len - in_place), name->s);
    return val_poison();
}

Value op_unknown_writer(Graph *g, Str name, bool writes)
{
    if (is_in_place(name))
        return unknown(g, name);
    refuse(g->cx, where_intern(g->cx), name,
           writes ? "pt2onnx does not know this operator, which writes to its arguments"
                  : "pt2onnx does not know this operator, which gives nothing, so it writes to its "
                    "arguments or acts outside of the model");
    refuse_hint(g->cx,
                "--rules FILE, with a rule for %s whose head marks what it writes, Tensor(a!) x "
                "(docs/rules.md)",
                name->s);
    return val_poison();
}

/* The call that a user's function sees, which has no schema: f(x, mode="a") has the parameters "0"
 * and "mode". NULL when there is no memory. */
static const OpCall *call_without_schema(Ctx *cx, Str name, const OpArg *args, size_t n)
{
    Schema *s = new(cx, Schema);
    OpCall *call = new(cx, OpCall);
    *s = (Schema){ .text = name,
                   .name = name,
                   .overload = str_of(cx, ""),
                   .param = new_array(cx, Param, n + 1),
                   .n_param = (int)n };
    *call = (OpCall){ .schema = s, .arg = new_array(cx, Value, n + 1) };
    if (!s->param || !call->arg)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        s->param[i] = (Param){ .name = args[i].name ? args[i].name : str_fmt(cx, "%zu", i),
                               .base = A_ANY };
        call->arg[i] = args[i].v;
    }
    return call;
}

static Value run_callback(Op *op, Entry *e, const OpArg *args, size_t n)
{
    Value v = val_poison();
    op->call = call_without_schema(op->cx, e->op.name, args, n);
    if (!op->call)
        return v;
    op->called = e->at.n > 0 ? &e->at.at[0] : NULL;
    if (!e->callback(e->user, op, &v) && !ctx_failed(op->cx))
        fail(op->cx, E_BUG, "the function registered for %s failed without an error",
             e->op.name->s);
    return ctx_failed(op->cx) ? val_poison() : v;
}

static bool takes_complex(const OpCall *call)
{
    for (int i = 0; i < call->schema->n_param; i++) {
        Value v = call->arg[i];
        if (v.tag == V_COMPLEX || (v.tag == V_TENSOR && dtype_is_complex(tensor_type(v.t)->dtype)))
            return true;
    }
    return false;
}

/* Without dtype= PyTorch computes in the type of the tensor given as out=: torch.sum(x, 0, out=y)
 * of float16 in y's float32, which holds 120,000. Not where complex numbers are about: their norms
 * are real, though dtype= names a complex type. */
static void compute_as_out(OpCall *call, DType out)
{
    int i = param_named(call->schema, "dtype");
    if (i < 0 || call->arg[i].tag != V_NONE || dtype_is_complex(out) || takes_complex(call))
        return;
    call->arg[i] = (Value){ .tag = V_DTYPE, .dtype = out };
}

/* Bind the arguments to a row or rule of e and run it, in the plain form or in place. out: the type
 * of the tensor given as out=; DT_NONE: none is. */
static Value call_form(Op *op, Entry *e, CallForm form, Str overload, const OpArg *args, size_t n,
                       DType out)
{
    OpCall *call = scratch(op->cx, OpCall);
    Candidate *called = bind_choose(op->g, e, overload, args, n, &call->arg);
    if (!called)
        return val_poison();
    Candidate *c = bind_twin(op->cx, called, call->arg);
    op->called = called;
    op->ran = c;
    call_set_row(call, c);
    if (out != DT_NONE)
        compute_as_out(call, out);
    op->call = call;
    op->row = c->row;
    op->in_place = form == FORM_IN_PLACE;
    Value v = run(op, c, form);
    return form == FORM_IN_PLACE ? store_in_self(op, v) : v;
}

/* An in-place schema calls its first parameter `self`, whatever the plain one calls it:
 * dropout_(self=x), dropout(input=x). NULL when there is no memory. */
static const OpArg *self_by_place(Ctx *cx, const OpArg *args, size_t n)
{
    if (n == 0 || !str_is(args->name, "self"))
        return args;
    OpArg *own = mem_copy(cx, args, n * sizeof *args);
    if (own)
        own->name = NULL;
    return own;
}

/* Does the call stand in the program? An old archive means by it what its operator did then;
 * another operator's lowering what it does today. */
static bool is_of_program(const Ctx *cx)
{
    const Where *caller = cx->at->up;
    return !(caller && caller->kind == WHERE_OP);
}

/* The call but for its position and guard. The result goes where the call asks: to the first
 * argument (add_), to `out=`, to several tensors (values=, indices=), or to new ones. */
static Value call_found(Op *op, const Operator *called, Str overload, const OpArg *args, size_t n)
{
    Tensor *out;
    const OpArg *rest = args;
    size_t n_rest = n;
    if (!take_out(op->cx, &rest, &n_rest, &out))
        return val_poison();
    DType type = out ? tensor_type(out)->dtype : DT_NONE;
    Served served = table_served(op->cx, called, is_of_program(op->cx), type);
    Entry *e = served.by;
    if (!e)
        return unknown(op->g, called->name);
    if (e->callback && served.form != FORM_COPY) {
        Value v = run_callback(op, e, args, n);
        return served.form == FORM_IN_PLACE ? store_in_self(op, v) : v;
    }
    if (served.form == FORM_IN_PLACE && !(rest = self_by_place(op->cx, rest, n_rest)))
        return val_poison();
    Outs outs = take_outs(op->cx, e, rest, &n_rest);
    Value v = call_form(op, e, served.form, outs.n ? NULL : overload, rest, n_rest, type);
    if (outs.n && val_ok(v))
        return store_in_outs(op, outs, v);
    return out && val_ok(v) ? store_in_out(op, out, v) : v;
}

static bool any_item_poisoned(const List *list)
{
    if (!list->at)
        return false;
    for (int64_t i = 0; i < list->n; i++)
        if (!val_ok(list->at[i].v))
            return true;
    return false;
}

/* Poison, or a list or tuple with a poisoned item: an operator before this one was refused. */
static bool is_poisoned(Ctx *cx, Value v)
{
    check_stack(cx);
    count_values(cx, 1);
    if (v.tag == V_TUPLE)
        for (int64_t i = 0; i < v.tuple->n; i++)
            if (is_poisoned(cx, v.tuple->at[i]))
                return true;
    if (v.tag == V_LIST && any_item_poisoned(v.list))
        return true;
    return !val_ok(v);
}

/* See ops.h. An argument that is poison makes the result poison: the operator that gave it has
 * been refused, and one message names it. */
Value op_run(Graph *g, const Operator *called, Str overload, const OpArg *args, size_t n,
             const Type *expect, size_t n_expect)
{
    for (size_t i = 0; i < n; i++)
        if (is_poisoned(g->cx, args[i].v))
            return val_poison();
    if (ctx_failed(g->cx))
        return val_poison();
    Where here = { .up = g->cx->at, .kind = WHERE_OP, .name = called->name };
    Op op = { .g = g, .cx = g->cx };
    for (size_t i = 0; i < n_expect && i < COUNT(op.expect); i++)
        op.expect[op.n_expect++] = expect[i];
    g->cx->at = &here;
    ArenaMark before = scratch_begin(g->cx);
    Value v = call_found(&op, called, overload, args, n);
    if (ctx_failed(g->cx) || !check_expect(&op, v))
        v = val_poison();
    else if (op.call &&
             !(here.up && here.up->kind == WHERE_OP)) { /* the program's, no lowering's */
        result_layout(&op, args, n, v);
        result_gradient(&op, args, n, &v);
    } else if (op.called && candidate_derivative(op.cx, op.ran)) {
        result_gradient(&op, args, n, &v);
    }
    scratch_end(g->cx, before);
    g->cx->at = here.up;
    return v;
}

Value op_call(Graph *g, Str name, Str overload, const OpArg *args, size_t n, const Type *expect,
              size_t n_expect)
{
    return op_run(g, op_find(g->cx, name), overload, args, n, expect, n_expect);
}

Value call_op(Op *op, const char *name, const Value *args, size_t n)
{
    OpArg *named = scratch_array(op->cx, OpArg, n + 1);
    if (!named)
        return val_poison();
    for (size_t i = 0; i < n; i++)
        named[i] = (OpArg){ .v = args[i] };
    return op_call(op->g, str_of(op->cx, name), NULL, named, n, NULL, 0);
}

Ox call_ox(Op *op, const char *name, const Value *args, size_t n)
{
    Value v = call_op(op, name, args, n);
    return v.tag == V_TENSOR ? tensor_read(op->g, v.t) : POISON;
}
