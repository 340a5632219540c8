/* branch.c - a condition that ONNX decides: both arms run from the same state, and If joins what differs.
 *
 * An arm runs in a graph of its own while a branch of the trail is open. What it changed is captured (tensors are read while
 * its state still holds), then undone; the other arm follows. The union of the changes is joined in two walks over the same
 * values: the first collects pairs of values to export, then the If is made, the second puts its outputs in their places.
 *
 * An arm that raises is no arm: the condition becomes a fact, or a check that is dropped with a note. What cannot be joined (None
 * or a tensor, different ranks) is not an error yet, since most locals are never looked at again: reading it is. */
#include "eval/branch.h"

static const Value unset = { .tag = V_UNINIT };

/* ---- where locals are used ---- */

typedef struct Range { uint32_t first, last; } Range;                  /* numbers of statements */
struct Liveness { Range *slot; Map number; /* Stmt -> its number + 1 */ Map last; /* Stmt -> the last number inside it + 1 */ };

static void use_slot(Liveness *l, uint32_t slot, uint32_t at)
{
    if (l->slot[slot].last == 0)
        l->slot[slot].first = at;
    l->slot[slot].last = at;
}

static void use_expr(Liveness *l, const Expr *e, uint32_t at)
{
    if (!e)
        return;
    switch (e->kind) {
    case X_LOCAL:
        use_slot(l, e->slot, at);
        break;
    case X_ATTR: case X_TUPLE_SLICE: case X_NEG:
        use_expr(l, e->a, at);
        break;
    case X_INDEX: case X_BINARY:
        use_expr(l, e->a, at);
        use_expr(l, e->b, at);
        break;
    case X_CALL: case X_OP:
        if (e->kind == X_CALL)
            use_expr(l, e->callee, at);
        for (uint32_t i = 0; i < e->n_args; i++)
            use_expr(l, e->args[i].value, at);
        break;
    case X_TUPLE: case X_LIST: case X_DICT:
        for (uint32_t i = 0; i < e->n; i++)
            use_expr(l, e->items[i], at);
        break;
    default:
        break;
    }
}

static void use_block(Ctx *cx, Liveness *l, const Block *b, uint32_t *n);

static void use_stmt(Ctx *cx, Liveness *l, const Stmt *s, uint32_t *n)
{
    uint32_t at = ++*n;
    map_put(cx, &l->number, s, (void *)(uintptr_t)at);
    use_expr(l, s->value, at);
    use_expr(l, s->object, at);
    for (uint32_t i = 0; i < s->n_values; i++)
        use_expr(l, s->values[i], at);
    for (uint32_t i = 0; i < s->n_target; i++)
        use_slot(l, s->target[i], at);
    for (uint32_t i = 0; s->def && i < s->def->n_capture; i++)
        use_slot(l, s->def->capture[2 * i], at);
    use_block(cx, l, &s->body, n);
    use_block(cx, l, &s->other, n);
    map_put(cx, &l->last, s, (void *)(uintptr_t)*n);
}

static void use_block(Ctx *cx, Liveness *l, const Block *b, uint32_t *n)
{
    for (uint32_t i = 0; i < b->n; i++)
        use_stmt(cx, l, b->at[i], n);
}

static Liveness *liveness_of(Eval *ev, const Function *fn)
{
    Liveness *l = map_get(&ev->liveness, fn);
    uint32_t n = 0;
    if (l)
        return l;
    l = new(ev->cx, Liveness);
    l->slot = new_array(ev->cx, Range, fn->n_slot + 1);
    if (!l->slot)
        return NULL;
    for (uint32_t i = 0; i < fn->n_param; i++)
        use_slot(l, fn->param[i].slot, 0);                             /* parameters are used before the body */
    use_block(ev->cx, l, &fn->body, &n);
    map_put(ev->cx, &ev->liveness, fn, l);
    return l;
}

bool local_to_block(Eval *ev, const Block *b, const Cell *c)
{
    const Frame *f = ev->frame;
    if (!b || b->n == 0 || !f || c < f->locals->slot || c >= f->locals->slot + f->locals->n)
        return false;
    Liveness *l = liveness_of(ev, f->fn);
    uint32_t slot = (uint32_t)(c - f->locals->slot);
    if (!l || slot >= f->fn->n_slot)
        return false;
    for (uint32_t i = 0; i < f->fn->n_param; i++)
        if (f->fn->param[i].slot == slot)
            return false;
    uint32_t first = (uint32_t)(uintptr_t)map_get(&l->number, b->at[0]), last = (uint32_t)(uintptr_t)map_get(&l->last, b->at[b->n - 1]);
    return l->slot[slot].first >= first && l->slot[slot].last <= last;
}

/* ---- what an arm did ---- */

uint64_t heap_now(Ctx *cx) { return list_new(cx, 0, NULL)->born; }

static void read_stacked(Eval *ev, Arm *a, Stacked *s)
{
    if (!map_find(&a->read, s))
        map_put(ev->cx, &a->read, s, stacked_whole(ev, s));
}

/* Read every tensor in v while the arm's state holds. Modules are not entered: they are the same outside. */
static void read_tensors(Eval *ev, Arm *a, Value v)
{
    const void *key = v.any;
    if (v.tag != V_TENSOR && v.tag != V_TUPLE && v.tag != V_LIST && v.tag != V_DICT && (v.tag != V_OBJ || v.obj->path))
        return;
    if (map_find(&a->read, key))
        return;
    map_put(ev->cx, &a->read, key, v.tag == V_TENSOR ? tensor_read(a->g, v.t) : NULL);
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n; i++)
        read_tensors(ev, a, v.tuple->at[i]);
    for (int64_t i = 0; v.tag == V_LIST && !v.list->stacked && i < v.list->n; i++)
        read_tensors(ev, a, v.list->at[i].v);
    if (v.tag == V_LIST && v.list->stacked)
        read_stacked(ev, a, v.list->stacked);
    for (int64_t i = 0; v.tag == V_DICT && i < v.dict->n; i++)
        read_tensors(ev, a, v.dict->at[i].val.v);
    for (int64_t i = 0; v.tag == V_OBJ && i < v.obj->n; i++)
        read_tensors(ev, a, v.obj->slot[i].v);
}

static void capture_one(Eval *ev, Arm *a, const Change *c)
{
    After after = { .kind = c->kind, .what = c->what };
    if (c->kind == CHANGE_CELL)
        after.v = ((const Cell *)c->what)->v;
    else if (c->kind == CHANGE_STORAGE)
        after.ox = ((const Storage *)c->what)->now;
    else
        after.items = c->kind == CHANGE_LIST ? list_values(ev->cx, c->what, &after.n) : dict_values(ev->cx, c->what, &after.n);
    after.stacked = c->kind == CHANGE_LIST ? ((const List *)c->what)->stacked : NULL;
    if (after.stacked)
        read_stacked(ev, a, after.stacked);
    read_tensors(ev, a, after.v);
    for (int64_t i = 0; i < after.n; i++)
        read_tensors(ev, a, after.items[i]);
    map_put(ev->cx, &a->by_what, c->what, (void *)(uintptr_t)(a->after.n + 1));
    vec_push(ev->cx, &a->after, after);
}

/* Items of a list; keys and values of a dict in turn. */
Value *list_values(Ctx *cx, const List *l, int64_t *n)
{
    Value *v = new_array(cx, Value, l->n + 1);
    *n = v ? l->n : 0;
    for (int64_t i = 0; i < *n; i++)
        v[i] = l->at[i].v;
    return v;
}

Value *dict_values(Ctx *cx, const Dict *d, int64_t *n)
{
    Value *v = new_array(cx, Value, 2 * d->n + 1);
    *n = v ? 2 * d->n : 0;
    for (int64_t i = 0; i < *n; i++)
        v[i] = i % 2 ? d->at[i / 2].val.v : d->at[i / 2].key;
    return v;
}

Flow run_arm(Eval *ev, Arm *a, Step *run, void *arg)
{
    Graph *outside = ev->g;
    size_t refused = ev->cx->refusals.n;
    const Change *changes;
    a->g = graph_new(ev->cx, outside, NULL);
    a->opened = heap_now(ev->cx);
    a->result = val_none();
    TrailMark m = trail_open(ev->cx);
    dim_scope_open(ev->cx);
    ev->g = a->g;
    ev->staged++;
    a->flow = run(ev, arg, &a->result);
    size_t n = a->flow == FLOW_FAIL || a->flow == FLOW_RAISE ? 0 : trail_changes(ev->cx, m, &changes);
    for (size_t i = 0; i < n; i++)
        capture_one(ev, a, &changes[i]);
    read_tensors(ev, a, a->result);
    if (a->flow == FLOW_RAISE)
        ev->cx->refusals.n = refused;                                  /* an arm that raises needs no operators */
    ev->staged--;
    ev->g = outside;
    dim_scope_close(ev->cx);
    trail_undo(ev->cx, m);
    return ctx_failed(ev->cx) ? FLOW_FAIL : a->flow;
}

/* ---- joining ---- */

enum { COLLECT, BUILD };

typedef struct Join {
    Eval *ev;
    Arm *arm[2];                    /* then, else */
    Value condition;
    int walk;
    VEC(Ox) out[2];                 /* COLLECT: what each arm exports */
    Ox *made;                       /* BUILD: outputs of the If, in the same order */
    size_t next;
    Map pairs;                      /* what became of each pair of things with identity, so that it survives */
} Join;

/* Is everything in d's expression known outside of the arms? */
static Dim look_inside(void *arg, Dim sym)
{
    struct { Eval *ev; bool inner; } *l = arg;
    Ox from;
    int axis;
    if (dim_origin(l->ev->cx, sym, &from, &axis) && !graph_sees(l->ev->g, from))
        l->inner = true;
    return NULL;
}

bool dim_is_outside(Eval *ev, Dim d)
{
    struct { Eval *ev; bool inner; } l = { ev, false };
    if (!dim_known(d, NULL))
        dim_replace(ev->cx, d, look_inside, &l);
    return !l.inner;
}

/* Export a pair; BUILD gives the If's output. */
static Ox join_ox(Join *j, Ox a, Ox b)
{
    Ctx *cx = j->ev->cx;
    if (j->walk == BUILD)
        return j->made[j->next++];
    vec_push(cx, &j->out[0], a);
    vec_push(cx, &j->out[1], b);
    return a;
}

static Ox int_ox(Graph *g, Value v)
{
    Dim d = NULL;
    return val_dim_of(v, g->cx, &d) ? ox_dim_value(g, d) : POISON;
}

static Ox bool_ox(Graph *g, Value v) { return v.tag == V_BOOL ? ox_bool(g, v.b) : symbool_ox(g, v.sb); }

static Ox float_ox(Graph *g, Value v)
{
    return v.tag == V_SYMFLOAT ? ox_cast(g, v.ox, DT_DOUBLE) : ox_number(g, DT_DOUBLE, v.tag == V_FLOAT ? v.f : (double)v.i);
}

Ox carry_ox(Graph *g, Value v)
{
    if (v.tag == V_BOOL || v.tag == V_SYMBOOL)
        return bool_ox(g, v);
    return v.tag == V_INT || v.tag == V_SYMINT ? int_ox(g, v) : float_ox(g, v);
}

static bool is_int(Value v) { return v.tag == V_INT || v.tag == V_SYMINT; }
static bool is_bool(Value v) { return v.tag == V_BOOL || v.tag == V_SYMBOOL; }
static bool is_float(Value v) { return v.tag == V_FLOAT || v.tag == V_SYMFLOAT; }
bool val_is_plain_number(Value v) { return is_int(v) || is_bool(v) || is_float(v); }

Value val_not(Eval *ev, Value v)
{
    if (v.tag == V_BOOL)
        return val_bool(!v.b);
    const SymBool *s = v.sb;
    if (s->ox)
        return val_symbool(ev->cx, ox_g(ev->g, "Not", s->ox));
    switch (s->rel) {
    case REL_EQ: return val_rel(ev->cx, REL_NE, s->a, s->b);
    case REL_NE: return val_rel(ev->cx, REL_EQ, s->a, s->b);
    case REL_LT: return val_rel(ev->cx, REL_LE, s->b, s->a);
    case REL_LE: break;
    }
    return val_rel(ev->cx, REL_LT, s->b, s->a);
}

static Value number_value(Eval *ev, Value like, Ox v)
{
    if (!is_float(like))
        return val_number_of(ev->g, v);
    double f;
    return ox_known_scalar(ev->g, v, &f) ? val_float(f) : (Value){ .tag = V_SYMFLOAT, .ox = v };
}

static Value join_numbers(Join *j, Value a, Value b)
{
    Eval *ev = j->ev;
    if (a.tag == V_BOOL && b.tag == V_BOOL)                            /* they differ: this is the condition itself */
        return a.b ? j->condition : val_not(ev, j->condition);
    if (a.tag != V_SYMBOOL && a.tag != V_SYMINT && a.tag != V_SYMFLOAT && b.tag != V_SYMBOOL && b.tag != V_SYMINT && b.tag != V_SYMFLOAT) {
        if (j->walk == COLLECT)
            return a;
        Ox x = carry_ox(ev->g, a);
        Ox y = carry_ox(ev->g, b);
        Ox c = bool_ox(ev->g, j->condition);
        return number_value(ev, a, ox_g(ev->g, "Where", c, x, y));
    }
    Ox x = j->walk == COLLECT ? carry_ox(j->arm[0]->g, a) : NULL;
    Ox y = j->walk == COLLECT ? carry_ox(j->arm[1]->g, b) : NULL;
    Ox v = join_ox(j, x, y);
    return j->walk == COLLECT ? a : number_value(ev, a, v);
}

Ox stand_in(Graph *g, Ox like)
{
    Ctx *cx = g->cx;
    Ox zero = ox_number(g, ox_dtype(like), 0);
    Dim dim[MAX_RANK];
    int rank = ox_rank(like);
    Eval scope = { .cx = cx, .g = g };
    for (int i = 0; i < rank; i++)
        dim[i] = dim_is_outside(&scope, ox_dim(like, i)) ? ox_dim(like, i) : dim_int(cx, 1);
    if (rank <= 0)
        return zero;
    Ox shape = ox_dims(g, dim, (size_t)rank);
    return ox_g(g, "Expand", zero, shape);
}

/* y = x in one arm, y = f(x) in the other: nobody knows whether y is x. */
void maybe_the_same(Ctx *cx, Tensor *made, Tensor *from, uint64_t opened)
{
    if (from->st->born <= opened)
        tensor_maybe_shared(cx, made, from, str_of(cx, "two tensors are the same memory in one arm of a branch or in some trips of a loop only"));
}

static const After *after_of(const Arm *a, const void *what)
{
    uintptr_t i = (uintptr_t)map_get(&a->by_what, what);
    return i ? &a->after.at[i - 1] : NULL;
}

/* What t reads at the end of arm k. Tensors that the arm did not put anywhere are read now: its state is the one before. */
static Ox value_in(Join *j, int k, Tensor *t)
{
    Arm *arm = j->arm[k];
    const MapEntry *known = map_find(&arm->read, t);
    const After *written = after_of(arm, t->st);
    if (known)
        return known->val;
    if (written && t->base) {
        fail(j->ev->cx, E_UNSUPPORTED, "one arm of a branch writes to memory that a value of the other arm looks at through a view");
        return POISON;
    }
    Ox v = written ? written->ox : tensor_read(arm->g, t);
    map_put(j->ev->cx, &arm->read, t, v);
    return v;
}

static bool rests_on_data(Value condition) { return condition.tag == V_SYMBOOL && condition.sb->ox; }

static Value join_tensors(Join *j, Tensor *a, Tensor *b)
{
    Ctx *cx = j->ev->cx;
    const Tensor *one = a ? a : b;
    if (a && b && same_tensor(a, b))
        return (Value){ .tag = V_TENSOR, .t = a };
    if (a && b && a->kind != b->kind)
        return val_never(j->ev->cx, str_of(j->ev->cx, "the arms of a branch give tensors of different kinds"));
    Ox x = a ? value_in(j, 0, a) : NULL, y = b ? value_in(j, 1, b) : NULL;
    if ((x && !ox_ok(x)) || (y && !ox_ok(y)))
        return val_poison();
    if (x && y && ox_dtype(x) != ox_dtype(y))
        return val_never(cx, str_fmt(cx, "one arm of a branch gives a tensor of %s, the other one of %s", dtype_name(ox_dtype(x)), dtype_name(ox_dtype(y))));
    if (x && y && ox_rank(x) != ox_rank(y))
        return val_never(cx, str_fmt(cx, "one arm of a branch gives %s, the other %s, and ONNX decides between them; %s",
                                     type_text(cx, x->type)->s, type_text(cx, y->type)->s,
                                     rests_on_data(j->condition) ? "the condition rests on data, so the program must give both one rank (unsqueeze, reshape)"
                                                                 : "fix the sizes that the condition rests on with -i"));
    Ox v = join_ox(j, j->walk == COLLECT && !x ? stand_in(j->arm[0]->g, y) : x, j->walk == COLLECT && !y ? stand_in(j->arm[1]->g, x) : y);
    if (j->walk == COLLECT)
        return val_none();
    Tensor *t = tensor_new(cx, v);
    t->kind = one->kind;
    t->contiguous = (!a || tensor_contiguous(cx, a) == YES) && (!b || tensor_contiguous(cx, b) == YES) ? YES : UNKNOWN;
    if (a)
        maybe_the_same(cx, t, a, j->arm[0]->opened);
    if (b)
        maybe_the_same(cx, t, b, j->arm[1]->opened);
    return (Value){ .tag = V_TENSOR, .t = t };
}

static Value join_values(Join *j, Value a, Value b);

static Value join_tuples(Join *j, const Tuple *a, const Tuple *b)
{
    const Tuple *one = a ? a : b;
    Value *items = new_array(j->ev->cx, Value, one->n + 1);
    if (!items)
        return val_poison();
    for (int64_t i = 0; i < one->n; i++)
        items[i] = join_values(j, a ? a->at[i] : unset, b ? b->at[i] : unset);
    Value v = val_tuple(j->ev->cx, items, one->n);
    v.tuple->type = one->type;
    v.tuple->fields = one->fields;
    return v;
}

/* A list at the end of an arm. */
typedef struct Side { const Value *at; int64_t n; Stacked *stacked; } Side;

static Side side_of(Ctx *cx, const List *l)
{
    Side s = { .stacked = l->stacked };
    s.at = list_values(cx, l, &s.n);
    return s;
}

/* What both sides hold, when it can be stacked: dtype and rank are the same, sizes may differ. */
static bool sides_alike(Ctx *cx, const Side side[2], ItemType *item)
{
    ItemType t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = side[k].stacked ? side[k].stacked->item : (ItemType){ NULL, NULL };
        if (!side[k].stacked && (!side[k].at || !list_item_type(cx, side[k].at, side[k].n, &t[k])))
            return false;
    }
    *item = t[0].elem ? t[0] : t[1];
    return t[0].elem && t[1].elem ? !strcmp(t[0].elem, t[1].elem) && t[0].type->dtype == t[1].type->dtype && t[0].type->rank == t[1].type->rank
                                  : item->elem != NULL;
}

/* One side as a tensor that arm k gives. */
static Ox whole_of_side(Join *j, int k, const Side *s, ItemType item)
{
    Graph *g = j->arm[k]->g;
    const MapEntry *known = s->stacked ? map_find(&j->arm[k]->read, s->stacked) : NULL;
    if (s->stacked)
        return known ? known->val : stacked_whole(j->ev, s->stacked);
    Ox *at = new_array(j->ev->cx, Ox, s->n + 1);
    for (int64_t i = 0; at && i < s->n; i++)
        at[i] = s->at[i].tag == V_TENSOR ? value_in(j, k, s->at[i].t) : carry_ox(g, s->at[i]);
    return at ? stack_values(g, at, (size_t)s->n, item) : POISON;
}

/* Lists of different lengths become one tensor each, and so one list whose length the running model knows. NULL in the first walk. */
static Stacked *join_sides(Join *j, const Side side[2], ItemType item)
{
    Ctx *cx = j->ev->cx;
    Ox x = j->walk == COLLECT ? whole_of_side(j, 0, &side[0], item) : NULL;
    Ox y = j->walk == COLLECT ? whole_of_side(j, 1, &side[1], item) : NULL;
    Ox made = join_ox(j, x, y);
    if (j->walk == COLLECT || !ox_ok(made))
        return NULL;
    Stacked *s = stacked_new(cx, (ItemType){ item.elem, type_tensor(cx, ox_dtype(made), ox_rank(made) - 1, made->type->dim + 1) }, made);
    for (int k = 0; k < 2; k++)
        stacked_holds(cx, s, side[k].at, side[k].stacked ? 0 : side[k].n, side[k].stacked);
    return s;
}

/* Two lists made by the arms themselves. One that was there before keeps its identity and cannot be joined with another. */
static Value join_lists(Join *j, const List *a, const List *b)
{
    const List *one = a ? a : b;
    ItemType item;
    if ((a && a->born <= j->arm[0]->opened) || (b && b->born <= j->arm[1]->opened))
        return val_never(j->ev->cx, str_of(j->ev->cx, "the arms of a branch give different lists"));
    List *l = list_new(j->ev->cx, one->n, one->elem);
    if ((a && a->stacked) || (b && b->stacked) || (a && b && a->n != b->n)) {
        Side side[2] = { a ? side_of(j->ev->cx, a) : (Side){ 0 }, b ? side_of(j->ev->cx, b) : (Side){ 0 } };
        if (!sides_alike(j->ev->cx, side, &item))
            return val_never(j->ev->cx, str_of(j->ev->cx, "the arms of a branch give lists of different lengths whose items differ in type"));
        Stacked *s = join_sides(j, side, item);
        if (s)
            list_stack(j->ev->cx, l, s);
        return (Value){ .tag = V_LIST, .list = l };
    }
    for (int64_t i = 0; i < one->n; i++)
        list_append(j->ev->cx, l, join_values(j, a ? a->at[i].v : unset, b ? b->at[i].v : unset));
    return (Value){ .tag = V_LIST, .list = l };
}

static Value join_dicts(Join *j, const Dict *a, const Dict *b)
{
    const Dict *one = a ? a : b;
    bool same = !a || !b || a->n == b->n;
    for (int64_t i = 0; same && a && b && i < a->n; i++)
        same = val_equal(j->ev->cx, a->at[i].key, b->at[i].key);
    if (!same || (a && a->born <= j->arm[0]->opened) || (b && b->born <= j->arm[1]->opened))
        return val_never(j->ev->cx, str_of(j->ev->cx, "the arms of a branch give different dicts"));
    Dict *d = dict_new(j->ev->cx, one->type);
    for (int64_t i = 0; i < one->n; i++)
        dict_set(j->ev->cx, d, one->at[i].key,
                 join_values(j, a ? a->at[i].val.v : unset, b ? b->at[i].val.v : unset));
    return (Value){ .tag = V_DICT, .dict = d };
}

static Value join_objects(Join *j, const Obj *a, const Obj *b)
{
    const Obj *one = a ? a : b;
    if ((a && (a->path || a->born <= j->arm[0]->opened)) || (b && (b->path || b->born <= j->arm[1]->opened)) || (a && b && a->cls != b->cls))
        return val_never(j->ev->cx, str_of(j->ev->cx, "the arms of a branch give different objects"));
    Obj *o = obj_new(j->ev->cx, one->cls, one->n, one->names, NULL);
    for (int64_t i = 0; i < o->n; i++)
        cell_init(&o->slot[i], join_values(j, a ? a->slot[i].v : unset, b ? b->slot[i].v : unset));
    return (Value){ .tag = V_OBJ, .obj = o };
}

static bool same(Join *j, Value a, Value b)
{
    if (a.tag != b.tag)
        return false;
    if (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ || a.tag == V_SYMFLOAT)
        return a.any == b.any;
    if (a.tag == V_SYMBOOL)
        return a.any == b.any && (!a.sb->ox || graph_sees(j->ev->g, a.sb->ox));
    if (a.tag == V_SYMINT)
        return dim_eq(j->ev->cx, a.dim, b.dim) == YES && dim_is_outside(j->ev, a.dim);
    return a.tag != V_TUPLE && val_equal(j->ev->cx, a, b);
}

/* One arm never set it: the other's value, exported if it is the arm's own. */
static Value join_one(Join *j, Value v, bool first)
{
    switch (v.tag) {
    case V_TENSOR: return join_tensors(j, first ? v.t : NULL, first ? NULL : v.t);
    case V_TUPLE: return join_tuples(j, first ? v.tuple : NULL, first ? NULL : v.tuple);
    case V_LIST: return join_lists(j, first ? v.list : NULL, first ? NULL : v.list);
    case V_DICT: return join_dicts(j, first ? v.dict : NULL, first ? NULL : v.dict);
    case V_OBJ: return v.obj->path ? v : join_objects(j, first ? v.obj : NULL, first ? NULL : v.obj);
    case V_SYMINT: case V_SYMBOOL: case V_SYMFLOAT: {
        Value zero = v.tag == V_SYMINT ? val_int(0) : v.tag == V_SYMBOOL ? val_bool(false) : val_float(0);
        return first ? join_numbers(j, v, zero) : join_numbers(j, zero, v);
    }
    default: return v;
    }
}

static Value join_pair(Join *j, Value a, Value b)
{
    if (is_int(a) && is_int(b))
        return join_numbers(j, a, b);
    if (is_bool(a) && is_bool(b))
        return join_numbers(j, a, b);
    if (is_float(a) && is_float(b))
        return join_numbers(j, a, b);
    if (a.tag == V_TENSOR && b.tag == V_TENSOR)
        return join_tensors(j, a.t, b.t);
    if (a.tag == V_TUPLE && b.tag == V_TUPLE && a.tuple->n == b.tuple->n)
        return join_tuples(j, a.tuple, b.tuple);
    if (a.tag == V_LIST && b.tag == V_LIST)
        return join_lists(j, a.list, b.list);
    if (a.tag == V_DICT && b.tag == V_DICT)
        return join_dicts(j, a.dict, b.dict);
    if (a.tag == V_OBJ && b.tag == V_OBJ)
        return join_objects(j, a.obj, b.obj);
    return val_never(j->ev->cx, str_fmt(j->ev->cx, "a value is %s in one arm of a branch and %s in the other, and ONNX decides between them",
                                        val_kind(a), val_kind(b)));
}

static Value join_values(Join *j, Value a, Value b)
{
    if (!val_ok(a) || !val_ok(b))
        return val_poison();
    if (a.tag == V_UNINIT && b.tag == V_UNINIT)
        return a.any ? a : b;
    if (a.tag == V_UNINIT || b.tag == V_UNINIT)
        return (a.tag == V_UNINIT ? a : b).any ? (a.tag == V_UNINIT ? a : b) : join_one(j, a.tag == V_UNINIT ? b : a, b.tag == V_UNINIT);
    if (same(j, a, b))
        return a;
    bool shared = a.tag == b.tag && (a.tag == V_TENSOR || a.tag == V_LIST || a.tag == V_DICT || a.tag == V_OBJ);
    Str key = shared ? str_fmt(j->ev->cx, "%d %p %p", j->walk, a.any, b.any) : NULL;
    const Value *known = shared ? map_get(&j->pairs, key) : NULL;
    if (known)
        return *known;
    Value v = join_pair(j, a, b);
    if (shared)
        map_put(j->ev->cx, &j->pairs, key, mem_copy(j->ev->cx, &v, sizeof v));
    return v;
}

/* ---- joining things ---- */

static bool join_cell(Join *j, Cell *c)
{
    const After *a = after_of(j->arm[0], c), *b = after_of(j->arm[1], c);
    Value v = join_values(j, a ? a->v : c->v, b ? b->v : c->v);
    if (j->walk == BUILD)
        cell_set(j->ev->cx, c, v);
    return true;
}

static bool join_storage(Join *j, Storage *st)
{
    const After *a = after_of(j->arm[0], st), *b = after_of(j->arm[1], st);
    Ox x = a ? a->ox : st->now, y = b ? b->ox : st->now;
    if (!ox_ok(x) || !ox_ok(y)) {
        if (j->walk == BUILD)
            storage_set(j->ev->cx, st, POISON);
        return true;
    }
    Ox v = join_ox(j, x, y);
    if (j->walk == BUILD)
        storage_set(j->ev->cx, st, v);
    return true;
}

static Side side_after(Join *j, int k, const List *l)
{
    const After *after = after_of(j->arm[k], l);
    return after ? (Side){ after->items, after->n, after->stacked } : side_of(j->ev->cx, l);
}

static bool join_list_stacked(Join *j, List *l, const Side side[2])
{
    Ctx *cx = j->ev->cx;
    ItemType item;
    if (!sides_alike(cx, side, &item))
        return fail(cx, E_UNSUPPORTED, "a list has %lld items after one arm of a branch and %lld after the other, ONNX decides between them, and "
                    "they are not of one type", (long long)side[0].n, (long long)side[1].n);
    Stacked *s = join_sides(j, side, item);
    if (s)
        list_stack(cx, l, s);
    return !ctx_failed(cx);
}

static bool join_list(Join *j, List *l)
{
    Ctx *cx = j->ev->cx;
    Side side[2] = { side_after(j, 0, l), side_after(j, 1, l) };
    if (side[0].stacked || side[1].stacked || side[0].n != side[1].n)
        return join_list_stacked(j, l, side);
    int64_t n = side[0].n;
    Value *joined = new_array(cx, Value, n + 1);
    for (int64_t i = 0; joined && i < n; i++)
        joined[i] = join_values(j, side[0].at[i], side[1].at[i]);
    if (j->walk == BUILD && joined) {
        list_resize(cx, l, n);
        for (int64_t i = 0; i < n; i++)
            list_set(cx, l, i, joined[i]);
    }
    return joined != NULL;
}

static bool join_dict(Join *j, Dict *d)
{
    Ctx *cx = j->ev->cx;
    const After *a = after_of(j->arm[0], d), *b = after_of(j->arm[1], d);
    int64_t n;
    Value *now = dict_values(cx, d, &n);
    const Value *x = a ? a->items : now, *y = b ? b->items : now;
    int64_t na = a ? a->n : n, nb = b ? b->n : n;
    bool alike = na == nb && now;
    for (int64_t i = 0; alike && i < na; i += 2)
        alike = val_equal(cx, x[i], y[i]);
    if (!alike)
        return fail(cx, E_UNSUPPORTED, "a dict has different keys after the two arms of a branch, and ONNX decides between them");
    for (int64_t i = 0; i < n && j->walk == BUILD && na != n; i += 2)
        dict_remove(cx, d, now[i]);
    for (int64_t i = 0; i < na; i += 2) {
        Value v = join_values(j, x[i + 1], y[i + 1]);
        if (j->walk == BUILD)
            dict_set(cx, d, x[i], v);
    }
    return true;
}

static bool join_thing(Join *j, const After *t)
{
    switch (t->kind) {
    case CHANGE_CELL: return join_cell(j, t->what);
    case CHANGE_STORAGE: return join_storage(j, t->what);
    case CHANGE_LIST: return join_list(j, t->what);
    case CHANGE_DICT: return join_dict(j, t->what);
    }
    return false;
}

/* Is this cell a local that only arm k ever looks at? */
static bool private_to(Join *j, int k, const After *t)
{
    return t->kind == CHANGE_CELL && local_to_block(j->ev, j->arm[k]->block, t->what);
}

static bool join_walk(Join *j, int walk, Value *result)
{
    j->walk = walk;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < j->arm[k]->after.n; i++) {
            const After *t = &j->arm[k]->after.at[i];
            if (k == 1 && after_of(j->arm[0], t->what))
                continue;
            if (!private_to(j, k, t) && !join_thing(j, t))
                return false;
        }
    *result = join_values(j, j->arm[0]->result, j->arm[1]->result);
    return !ctx_failed(j->ev->cx);
}

static bool make_if(Join *j)
{
    Eval *ev = j->ev;
    size_t n = j->out[0].n;
    j->made = new_array(ev->cx, Ox, n + 1);
    if (!j->made || n == 0)
        return j->made != NULL;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < n; i++)
            graph_output(j->arm[k]->g, j->out[k].at[i], NULL);
    Ox c = bool_ox(ev->g, j->condition);
    Attr arms[2] = { SUBGRAPH("then_branch", j->arm[0]->g), SUBGRAPH("else_branch", j->arm[1]->g) };
    return ox_make_n(ev->g, "If", INPUTS(c), arms, 2, j->made, n);
}

bool join_arms(Eval *ev, Value condition, Arm *yes, Arm *no, Value *result)
{
    Join j = { .ev = ev, .arm = { yes, no }, .condition = condition };
    return join_walk(&j, COLLECT, result) && make_if(&j) && join_walk(&j, BUILD, result);
}

/* ---- arms that raise ---- */

/* An equation pins an input or is found out while the model runs; facts.c and ONNX tell. Others nobody would see. */
static bool told_as_assumption(Eval *ev, Rel rel, Dim a, Dim b, const char *raised)
{
    static const char *const sign[] = { [REL_EQ] = "==", [REL_NE] = "!=", [REL_LT] = "<", [REL_LE] = "<=" };
    if (ev->staged == 0)
        note(ev->cx, NOTE_ASSUMED, "%s %s %s: the model raises otherwise (%s)", dim_text(ev->cx, a)->s, sign[rel], dim_text(ev->cx, b)->s, raised);
    return !ctx_failed(ev->cx);
}

/* From here on the condition is known to be `truth`: the other arm raises. */
static bool learn(Eval *ev, Value condition, bool truth)
{
    const SymBool *s = condition.sb;
    Pos pos;
    if (s->ox) {
        bool known = place_pos(ev->cx, where_intern(ev->cx), &pos) && pos.file;
        note(ev->cx, NOTE_DROPPED, "a check that depends on data (%s%s%s): %s", known ? pos.file->s : "", known ? ":" : "",
             known ? str_fmt(ev->cx, "%u", pos.line)->s : "in the model", ev->raised ? ev->raised->s : "it raises");
        return true;
    }
    Rel rel = s->rel;
    Dim a = s->a, b = s->b;
    if (!truth) {
        bool order = rel == REL_LT || rel == REL_LE;
        rel = rel == REL_EQ ? REL_NE : rel == REL_NE ? REL_EQ : rel == REL_LT ? REL_LE : REL_LT;
        a = order ? s->b : s->a;
        b = order ? s->a : s->b;
    }
    const char *raised = ev->raised ? ev->raised->s : "";
    if (!told_as_assumption(ev, rel, a, b, raised))
        return false;
    if (rel == REL_EQ)
        return dim_require(ev->cx, a, b, "the model raises otherwise: %s", raised);
    return dim_assume(ev->cx, rel, a, b) || ctx_failed(ev->cx) ||
           fail(ev->cx, E_VALUE, "the model raises an error for the sizes that are known: %s", raised);
}

bool raises_surely(const Block *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->at[i]->value && b->at[i]->value->kind == X_OP && str_is(b->at[i]->value->op, "prim::RaiseException"))
            return true;
    return false;
}

/* Both arms raise: so does the branch. */
static Flow raise_again(Eval *ev)
{
    if (ev->staged > 0)
        return FLOW_RAISE;
    fail_at(ev->cx, ev->raised_at, E_VALUE, "the model raises an error: %s", ev->raised->s);
    return FLOW_FAIL;
}

/* ---- the statement ---- */

static Flow run_arm_block(Eval *ev, void *arg, Value *result)
{
    Flow flow = run_block(ev, arg);
    if (flow == FLOW_RETURN)
        *result = ev->frame->result;
    return flow;
}

/* One arm raises: the other is what happens, right here. */
static Flow take_other(Eval *ev, Value condition, const Block *other, bool truth)
{
    Str raised = ev->raised;
    bool ok = learn(ev, condition, truth);
    ev->raised = NULL;
    if (!ok)
        return FLOW_FAIL;
    Flow flow = run_block(ev, other);
    if (flow == FLOW_RAISE && ev->staged == 0) {
        ev->raised = ev->raised ? ev->raised : raised;
        return raise_again(ev);
    }
    return flow;
}

Flow run_branch(Eval *ev, const Stmt *s, Value condition)
{
    const Block *block[2] = { &s->body, &s->other };
    Arm arm[2] = { { .block = block[0] }, { .block = block[1] } };
    int first = raises_surely(block[1]) ? 1 : 0;
    for (int i = 0; i < 2; i++) {
        int k = i == 0 ? first : 1 - first;
        Flow flow = run_arm(ev, &arm[k], run_arm_block, (void *)block[k]);
        if (flow == FLOW_FAIL)
            return flow;
        if (flow == FLOW_RAISE)
            return take_other(ev, condition, block[1 - k], k == 1);
    }
    if (arm[0].flow != arm[1].flow) {
        fail(ev->cx, E_UNSUPPORTED, "one arm of a branch that ONNX decides returns and the other goes on");
        return FLOW_FAIL;
    }
    Value result;
    if (!join_arms(ev, condition, &arm[0], &arm[1], &result))
        return FLOW_FAIL;
    if (arm[0].flow == FLOW_RETURN)
        ev->frame->result = result;
    return arm[0].flow;
}
