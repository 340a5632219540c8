/* stmt.c - statements. Where a condition or an iteration count is symbolic, branch.c and loop.c
 * take over. */
#include "eval/branch/branch.h"
#include "eval/lists/stacked.h"
#include "eval/loop/loop.h"
#include "value/autograd.h"

void assign_slot(Eval *ev, uint32_t slot, Value v) { obj_set(ev->cx, ev->frame->locals, slot, v); }

/* ---- assignment ---- */

static bool item_count(Eval *ev, int64_t n, uint32_t want)
{
    return n == (int64_t)want ||
        fail(ev->cx, E_VALUE, "expected %u values to unpack, got %lld", want, (long long)n);
}

/* a, b = l of a list whose length the running model decides: PyTorch raises for any other length
 * than 2, so the length is 2 from here on. */
static bool unpack_stacked(Eval *ev, const Stmt *s, Stacked *list)
{
    Dim n = stacked_length(ev, list);
    Value item;
    if (!n ||
        !dim_require(ev->cx, n, dim_int(ev->cx, s->n_target), "the program takes %u items of it",
                     s->n_target))
        return false;
    for (uint32_t i = 0; i < s->n_target; i++) {
        if (!stacked_item(ev, list, val_int(i), &item))
            return false;
        assign_slot(ev, s->target[i], item);
    }
    return !ctx_failed(ev->cx);
}

static bool unpack_list(Eval *ev, const Stmt *s, const List *l)
{
    if (l->stacked)
        return unpack_stacked(ev, s, l->stacked);
    if (!item_count(ev, l->n, s->n_target))
        return false;
    for (uint32_t i = 0; i < s->n_target; i++)
        assign_slot(ev, s->target[i], l->at[i].v);
    return true;
}

static bool unpack_tuple(Eval *ev, const Stmt *s, const Tuple *t)
{
    if (!item_count(ev, t->n, s->n_target))
        return false;
    for (uint32_t i = 0; i < s->n_target; i++)
        assign_slot(ev, s->target[i], t->at[i]);
    return true;
}

/* a, b = v. All targets of poison are poison. */
static bool unpack(Eval *ev, const Stmt *s, Value v)
{
    if (!must_be_set(ev, v))
        return false;
    if (v.tag == V_LIST)
        return unpack_list(ev, s, v.list);
    if (v.tag == V_TUPLE)
        return unpack_tuple(ev, s, v.tuple);
    if (v.tag != V_POISON)
        return fail(ev->cx, E_VALUE, "%s cannot be unpacked", val_kind(v));
    for (uint32_t i = 0; i < s->n_target; i++)
        assign_slot(ev, s->target[i], v);
    return true;
}

/* a, b = x, y: x and y are evaluated, into v, before a is assigned. */
static bool assign_each(Eval *ev, const Stmt *s, Value *v)
{
    for (uint32_t i = 0; i < s->n_values; i++)
        if (!eval_expr(ev, s->values[i], &v[i]))
            return false;
    for (uint32_t i = 0; i < s->n_values && i < s->n_target; i++)
        assign_slot(ev, s->target[i], v[i]);
    return item_count(ev, s->n_values, s->n_target);
}

static bool assign_several(Eval *ev, const Stmt *s)
{
    ArenaMark mark = scratch_begin(ev->cx);
    Value *v = scratch_array(ev->cx, Value, s->n_values);
    bool ok = v && assign_each(ev, s, v);
    scratch_end(ev->cx, mark);
    return ok;
}

/* The value of a statement; an operator is given the statement, which says what the file recorded
 * of its results. */
static bool eval_right_side(Eval *ev, const Stmt *s, Value *out)
{
    return s->value->kind == X_OP ? eval_op(ev, s->value, s, out) : eval_growing(ev, s->value, out);
}

static bool assign_values(Eval *ev, const Stmt *s)
{
    Value v;
    if (s->n_values)
        return assign_several(ev, s);
    if (!eval_right_side(ev, s, &v))
        return false;
    if (s->n_target != 1 || s->unpack)
        return s->n_target == 0 || unpack(ev, s, v);
    if (s->type)
        v = val_whole(ev->cx, v);
    if (!convert_to(ev, v, s->type, "the value", &v))
        return false;
    assign_slot(ev, s->target[0], v);
    return true;
}

/* The user's own names, which a trace keeps for locals. */
static bool tell_names(Eval *ev, const Stmt *s)
{
    const Str *names = ev->frame->fn->slot_name;
    if (!ev->p->traced || !names)
        return true;
    for (uint32_t i = 0; i < s->n_target; i++)
        state_call_constant(ev, ev->frame->locals->slot[s->target[i]].v, names[s->target[i]]);
    return true;
}

static bool assign(Eval *ev, const Stmt *s)
{
    return assign_values(ev, s) && tell_names(ev, s) && recorded_agree(ev, s);
}

static bool set_attr_of(Eval *ev, Obj *o, Str name, Value v)
{
    const ClassDef *c = o->cls;
    int64_t i = slot_of(o, name);
    if (i < 0)
        return fail(ev->cx, E_VALUE, "%s has no attribute '%s'", c ? c->plain->s : "this object",
                    name->s);
    if (c && i < (int64_t)c->n_field && !convert_to(ev, v, c->field[i].type, name->s, &v))
        return false;
    obj_set(ev->cx, o, i, v);
    state_wrote(ev, o, i);
    return true;
}

/* o.attr = value; an attribute of poison is not set. */
static bool set_attr(Eval *ev, const Stmt *s)
{
    Value o, v;
    if (!eval_expr(ev, s->object, &o) || !eval_expr(ev, s->value, &v))
        return false;
    if (o.tag == V_POISON)
        return true;
    if (o.tag == V_OBJ)
        return set_attr_of(ev, o.obj, s->attr, v);
    return must_be_set(ev, o) && fail(ev->cx, E_VALUE, "%s has no attributes to set", val_kind(o));
}

static bool run_return(Eval *ev, const Stmt *s)
{
    ev->frame->result = val_none();
    return !s->value || eval_expr(ev, s->value, &ev->frame->result);
}

/* ---- control flow ---- */

bool condition_of(Eval *ev, Value v, Value *out)
{
    *out = v;
    if (!must_be_set(ev, v))
        return false;
    if (v.tag == V_TENSOR)
        *out = v = autograd_number(ev->g, tensor_read(ev->g, v.t));
    if (v.tag == V_SYMINT)
        *out = val_rel(ev->cx, REL_NE, v.dim, dim_int(ev->cx, 0));
    if (v.tag == V_SYMFLOAT) {
        Ox zero = ox_number(ev->g, ox_dtype(v.ox), 0);
        Ox is_zero = ox_g(ev->g, "Equal", v.ox, zero);
        *out = val_symbool(ev->cx, ox_g(ev->g, "Not", is_zero));
    }
    return !ctx_failed(ev->cx);
}

static bool eval_condition(Eval *ev, const Expr *e, Value *out)
{
    Value v;
    return eval_expr(ev, e, &v) && condition_of(ev, v, out);
}

static bool is_op(const Expr *e, const char *op, uint32_t n_args)
{
    return e->kind == X_OP && str_is(e->op->name, op) && e->n_args == n_args;
}

/* `if x.dim() != 4: raise`, or `if x.dim() == 4: ... else: raise`: x has rank 4, unless its rank is
 * known already. False after an error, and for a restart. */
static bool learn_rank(Eval *ev, const Stmt *s)
{
    const Expr *c = s->value;
    const Block *raises = NULL;
    if (is_op(c, "aten::ne", 2))
        raises = &s->body;
    else if (is_op(c, "aten::eq", 2))
        raises = &s->other;
    if (!raises || !raises_surely(raises) || !is_op(c->args[0].value, "aten::dim", 1) ||
        c->args[1].value->kind != X_INT)
        return true;
    const Expr *x = c->args[0].value->args[0].value;
    int64_t rank = c->args[1].value->i;
    Value v;
    if (x->kind != X_LOCAL || rank < 0 || rank > MAX_RANK)
        return true;
    return eval_expr(ev, x, &v) &&
        (v.tag != V_TENSOR || facts_say_rank(ev->cx, tensor_read(ev->g, v.t), (int)rank));
}

static Flow run_if_stmt(Eval *ev, const Stmt *s)
{
    Value c;
    if (!learn_rank(ev, s))
        return flow_of_failure(ev);
    if (!eval_condition(ev, s->value, &c))
        return flow_of_failure(ev);
    Tri t = val_truth(ev->cx, c);
    if (t != UNKNOWN)
        return run_block(ev, t == YES ? &s->body : &s->other);
    if (c.tag == V_SYMBOOL)
        return run_if(ev, s, c);
    if (c.tag == V_POISON) /* of a refused operator: run one branch, which may name more of them */
        return run_block(ev, raises_surely(&s->body) ? &s->other : &s->body);
    fail(ev->cx, E_VALUE, "%s is no condition", val_kind(c));
    return FLOW_FAIL;
}

static Flow statement_body(Eval *ev, void *arg, Value iteration)
{
    const Stmt *s = *(const Stmt *const *)arg;
    if (s->n_target) /* of a for */
        assign_slot(ev, s->target[0], iteration);
    return run_block(ev, &s->body);
}

static bool statement_condition(Eval *ev, void *arg, Value *out)
{
    return eval_condition(ev, (*(const Stmt *const *)arg)->value, out);
}

/* for i in range(count): the only form that TorchScript saves. */
static Flow run_for(Eval *ev, const Stmt *s)
{
    Value count;
    if (!eval_expr(ev, s->value, &count) || !must_be_set(ev, count))
        return flow_of_failure(ev);
    if (count.tag == V_TENSOR)
        count = autograd_number(ev->g, tensor_read(ev->g, count.t));
    if (count.tag == V_POISON)
        return FLOW_NEXT;
    if (count.tag != V_SYMINT && count.tag != V_INT) {
        fail(ev->cx, E_VALUE, "%s is no number of iterations", val_kind(count));
        return FLOW_FAIL;
    }
    return run_counted_loop(ev,
                            &(LoopPlan){ .which = s,
                                         .text = s,
                                         .block = &s->body,
                                         .body = statement_body,
                                         .arg = &s,
                                         .start = count });
}

static Flow run_while(Eval *ev, const Stmt *s)
{
    return run_conditional_loop(ev,
                                &(LoopPlan){ .which = s,
                                             .text = s,
                                             .block = &s->body,
                                             .body = statement_body,
                                             .condition = statement_condition,
                                             .arg = &s });
}

/* o.method(None, ..) with n times None, if o has such a method; *out is None if it has not. */
static bool call_if_there(Eval *ev, Value o, const char *method, size_t n, Value *out)
{
    OpArg none[3] = { { NULL, val_none() }, { NULL, val_none() }, { NULL, val_none() } };
    Str name = str_of(ev->cx, method);
    *out = val_none();
    if (o.tag != V_OBJ ||
        (!is_autocast(o.obj->cls) && !(o.obj->cls && map_get(&o.obj->cls->method, name))))
        return true;
    return call_method(ev, o.obj, name, none, n, out);
}

/* with manager as target: body. __exit__ is not called when the body raises. */
static Flow run_with(Eval *ev, const Stmt *s)
{
    Value manager, entered, ignored;
    if (!eval_expr(ev, s->value, &manager) || !call_if_there(ev, manager, "__enter__", 0, &entered))
        return flow_of_failure(ev);
    if (s->n_target)
        assign_slot(ev, s->target[0], entered);
    Flow flow = run_block(ev, &s->body);
    if (flow == FLOW_FAIL || flow == FLOW_RAISE)
        return flow;
    return call_if_there(ev, manager, "__exit__", 3, &ignored) ? flow : flow_of_failure(ev);
}

/* ---- one statement, a block ---- */

static Flow done(const Eval *ev, bool ok) { return ok ? FLOW_NEXT : flow_of_failure(ev); }

/* One case for each kind of statement. */
static Flow run_kind(Eval *ev, const Stmt *s)
{
    Value ignored;
    switch (s->kind) {
    case S_EXPR:     return done(ev, eval_right_side(ev, s, &ignored));
    case S_ASSIGN:   return done(ev, assign(ev, s));
    case S_SET_ATTR: return done(ev, set_attr(ev, s));
    case S_RETURN:   return run_return(ev, s) ? FLOW_RETURN : flow_of_failure(ev);
    case S_IF:       return run_if_stmt(ev, s);
    case S_FOR:      return run_for(ev, s);
    case S_WHILE:    return run_while(ev, s);
    case S_WITH:     return run_with(ev, s);
    case S_PASS:     return FLOW_NEXT;
    case S_DEF:
        assign_slot(ev, s->target[0], (Value){ .tag = V_FUNCTION, .any = s->def });
        return FLOW_NEXT;
    }
    fail(ev->cx, E_BUG, "a statement of unknown kind %d", (int)s->kind);
    return FLOW_FAIL;
}

/* A .pt2 has the calls of its modules as statements, each with the modules that it stands in: what
 * it gives is what they give, unless a later one of theirs gives something else. */
static void tell_modules(Eval *ev, const Stmt *s)
{
    Ctx *cx = ev->cx;
    const char *at = s->meta->module_stack->s;
    while (at) {
        const char *path = strchr(at, ',');
        const char *class = path ? strchr(path + 1, ',') : NULL;
        if (!class)
            return;
        size_t n = strcspn(path + 1, ",@");
        Str name = str_n(cx, path + 1, n);
        at = strchr(class, ';');
        Str type = at ? str_n(cx, class + 1, (size_t)(at - class - 1)) : str_of(cx, class + 1);
        ev->p->on_module(ev->p->module_user, name, type, ev->frame->locals->slot[s->target[0]].v);
        at = at ? at + 1 : NULL;
    }
}

/* With the place of the statement pushed, and round it, as far as the file says so: the calls of
 * modules that become functions, what names of nodes begin with, and the module. */
static Flow run_statement(Eval *ev, const Stmt *s)
{
    Ctx *cx = ev->cx;
    const StmtMeta *m = s->meta;
    const Text *text = m->text ? m->text : ev->frame->fn->text;
    Where module = {
        .up = cx->at, .kind = WHERE_MODULE, .name = m->module, .type = m->module_type
    };
    Where names = { .up = m->module ? &module : cx->at, .kind = WHERE_NAMES, .name = m->names };
    Where calls = { .up = m->names ? &names : names.up, .kind = WHERE_CALLS, .name = m->calls };
    Where here = { .up = m->calls ? &calls : calls.up,
                   .kind = WHERE_STATEMENT,
                   .text = text,
                   .start = s->start,
                   .end = s->end };
    Where *before = cx->at;
    cx->at = &here;
    Flow flow = step(ev) ? run_kind(ev, s) : FLOW_FAIL;
    cx->at = before;
    if (ev->p->on_module && m->module_stack && s->kind == S_ASSIGN && flow == FLOW_NEXT)
        tell_modules(ev, s);
    return flow;
}

/* Runs the statements until one does not go on to the next: a return, a raise, an error. */
Flow run_block(Eval *ev, const Block *b)
{
    Flow flow = FLOW_NEXT;
    if (ev->nesting >= NESTING_MAX) {
        fail(ev->cx, E_LIMIT, "blocks and calls are nested more than %d deep", NESTING_MAX);
        return FLOW_FAIL;
    }
    ev->nesting++;
    for (uint32_t i = 0; i < b->n && flow == FLOW_NEXT; i++)
        flow = run_statement(ev, b->at[i]);
    ev->nesting--;
    return flow;
}
