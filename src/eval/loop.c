/* loop.c - a loop whose trip count or condition ONNX decides: one Loop node.
 *
 * What the body changes is carried. Which things those are, and what types hold for every trip, is found by running the body
 * aside until nothing new turns up: a changed value starts with the type it has before the loop; where a trip ends with another
 * size, that size becomes a symbol; a Python number that changes becomes symbolic. Each run starts from the same state
 * (the trail is undone) with the carried things generalised. The last run's graph is the body.
 *
 * A list that every trip appends one tensor to is not carried: its items are a scan output, and behind the loop the list is
 * stacked (value.h). The body must not look at it, which is checked in the text of the body. */
#include "eval/branch.h"

enum { MAX_RUNS = 24 };                         /* each run finds a new carried thing, or widens a size: nets of loops stay under 8 */

typedef struct Leaf {
    enum { LEAF_TENSOR, LEAF_INT, LEAF_FLOAT, LEAF_BOOL } form;
    DType dtype;
    int rank;
    Dim dim[MAX_RANK];              /* NULL: another one in each trip */
    Ox init, last, made;            /* before the loop, after the body's run, behind the loop */
    Tensor *tensor, *alias;         /* as it was before, and after a trip: kind, and what it may share memory with */
    Ox input;
} Leaf;

typedef struct Carried {
    int kind;                       /* CHANGE_CELL or CHANGE_STORAGE */
    void *what;
    Value shape;                    /* CELL: the value before the loop, whose leaves are carried */
    size_t first, n;                /* leaves */
    bool lost;                      /* STORAGE: after a trip nobody knows what it holds */
    bool unset;                     /* CELL: never set before the loop; shape is what a trip leaves, the first values are stand-ins */
} Carried;

typedef struct Scan { List *list; Ox item; Ox made; DType dtype; } Scan;

typedef struct Loop {
    Eval *ev;
    const Block *block;             /* NULL: not a block of the current frame */
    bool (*body)(struct Loop *l, Value trip);
    bool (*condition)(struct Loop *l, Value *out);          /* NULL: a for loop */
    void *arg;
    Value count, starts;            /* trips of a for loop; the condition before the first trip of a while loop */
    VEC(Carried) carried;
    VEC(Leaf) leaves;
    VEC(Scan) scans;
    Graph *g;                       /* the body */
    Ox keep_going, cond_in;
    uint64_t opened;
    bool again;                     /* this run found something new */
} Loop;

/* ---- leaves: the tensors and numbers inside a value ---- */

static bool give_up(Loop *l, Str why)
{
    fail(l->ev->cx, E_UNSUPPORTED, "a loop that ONNX runs: %s", why->s);
    fail_hint(l->ev->cx, "a fixed number of trips is unrolled instead: give the sizes that the loop runs over with -i");
    return false;
}

/* v is read in ev->g. */
static bool add_leaf(Loop *l, Value v)
{
    Leaf leaf = { .rank = 0, .dtype = DT_NONE };
    Graph *g = l->ev->g;
    if (v.tag == V_TENSOR) {
        leaf.init = tensor_read(g, v.t);
        leaf.form = LEAF_TENSOR;
        leaf.tensor = v.t;
    } else {
        leaf.init = carry_ox(g, v);
        leaf.form = v.tag == V_INT || v.tag == V_SYMINT ? LEAF_INT : v.tag == V_FLOAT || v.tag == V_SYMFLOAT ? LEAF_FLOAT : LEAF_BOOL;
    }
    if (!ox_ok(leaf.init))
        return !ctx_failed(l->ev->cx);
    leaf.dtype = ox_dtype(leaf.init);
    leaf.rank = ox_rank(leaf.init);
    for (int i = 0; i < leaf.rank; i++)
        leaf.dim[i] = ox_dim(leaf.init, i);
    return vec_push(l->ev->cx, &l->leaves, leaf);
}

/* Every leaf of v, in order. False for what a Loop cannot carry. */
static bool add_leaves(Loop *l, Value v)
{
    if (v.tag == V_TENSOR || val_is_plain_number(v))
        return add_leaf(l, v);
    if (v.tag == V_TUPLE) {
        for (int64_t i = 0; i < v.tuple->n; i++)
            if (!add_leaves(l, v.tuple->at[i]))
                return false;
        return true;
    }
    if (v.tag == V_LIST && !v.list->stacked) {
        for (int64_t i = 0; i < v.list->n; i++)
            if (!add_leaves(l, v.list->at[i].v))
                return false;
        return true;
    }
    return v.tag == V_NONE || v.tag == V_STR || v.tag == V_OBJ || v.tag == V_UNINIT || v.tag == V_FUNCTION || v.tag == V_DEVICE || v.tag == V_ENUM ||
           v.tag == V_DTYPE ? true : give_up(l, str_fmt(l->ev->cx, "it changes %s", val_kind(v)));
}

/* v with its leaves replaced by `made` values: inputs of the body, or outputs of the Loop. */
static Value rebuild(Loop *l, Value v, size_t *next, bool behind)
{
    Ctx *cx = l->ev->cx;
    if (v.tag == V_TENSOR || val_is_plain_number(v)) {
        Leaf *leaf = &l->leaves.at[(*next)++];
        Ox now = behind ? leaf->made : leaf->input;
        if (leaf->form != LEAF_TENSOR)
            return leaf->form == LEAF_FLOAT ? (Value){ .tag = V_SYMFLOAT, .ox = now } : val_number_of(l->ev->g, now);
        Tensor *t = tensor_new(cx, now);
        t->kind = leaf->tensor->kind;
        t->complex_pair = leaf->tensor->complex_pair;
        t->contiguous = tensor_contiguous(cx, leaf->tensor) == YES ? YES : UNKNOWN;
        maybe_the_same(cx, t, leaf->tensor, l->opened);
        if (behind && leaf->alias)
            maybe_the_same(cx, t, leaf->alias, l->opened);
        return (Value){ .tag = V_TENSOR, .t = t };
    }
    if (v.tag == V_TUPLE) {
        Value made = val_tuple(cx, v.tuple->at, v.tuple->n);
        made.tuple->type = v.tuple->type;
        made.tuple->fields = v.tuple->fields;
        for (int64_t i = 0; i < v.tuple->n; i++)
            made.tuple->at[i] = rebuild(l, v.tuple->at[i], next, behind);
        return made;
    }
    if (v.tag == V_LIST && !v.list->stacked) {
        List *made = list_new(cx, v.list->n, v.list->elem);
        for (int64_t i = 0; i < v.list->n; i++)
            list_append(cx, made, rebuild(l, v.list->at[i].v, next, behind));
        return (Value){ .tag = V_LIST, .list = made };
    }
    return v;
}

/* ---- after a run of the body: do the types hold? ---- */

static bool widen(Loop *l, Leaf *leaf, Ox after)
{
    Ctx *cx = l->ev->cx;
    leaf->last = after;
    if (!ox_ok(after) || !ox_ok(leaf->init))
        return !ctx_failed(cx);
    if (ox_dtype(after) != leaf->dtype)
        return give_up(l, str_fmt(l->ev->cx, "a value is %s before it and %s after a trip", dtype_name(leaf->dtype), dtype_name(ox_dtype(after))));
    if (ox_rank(after) != leaf->rank)
        return give_up(l, str_fmt(cx, "a tensor has another rank after a trip (%s, %s)", type_text(cx, leaf->init->type)->s, type_text(cx, after->type)->s));
    for (int i = 0; i < leaf->rank; i++)
        if (leaf->dim[i] && dim_eq(cx, leaf->dim[i], ox_dim(after, i)) != YES) {
            leaf->dim[i] = NULL;
            l->again = true;
        }
    return true;
}

/* Go through v, the value after the body, along the value before it. */
static bool match(Loop *l, Value before, Value v, size_t *next)
{
    Graph *g = l->g;
    if (!val_ok(v))                             /* an operator in the body is missing: those are the news */
        return refusals_fail(l->ev->cx);
    if (before.tag == V_TENSOR) {
        if (v.tag != V_TENSOR)
            return give_up(l, str_fmt(l->ev->cx, "a variable is a Tensor before it and %s after a trip", val_kind(v)));
        Leaf *leaf = &l->leaves.at[(*next)++];
        leaf->alias = v.t;
        return widen(l, leaf, tensor_read(g, v.t));
    }
    if (val_is_plain_number(before)) {
        if (!val_is_plain_number(v))
            return give_up(l, str_fmt(l->ev->cx, "a variable is a number before it and %s after a trip", val_kind(v)));
        return widen(l, &l->leaves.at[(*next)++], carry_ox(g, v));
    }
    if (before.tag == V_TUPLE && v.tag == V_TUPLE && before.tuple->n == v.tuple->n) {
        for (int64_t i = 0; i < v.tuple->n; i++)
            if (!match(l, before.tuple->at[i], v.tuple->at[i], next))
                return false;
        return true;
    }
    if (before.tag == V_LIST && v.tag == V_LIST && before.list->n == v.list->n && !v.list->stacked) {
        for (int64_t i = 0; i < v.list->n; i++)
            if (!match(l, before.list->at[i].v, v.list->at[i].v, next))
                return false;
        return true;
    }
    if (before.tag == v.tag && (before.any == v.any || val_equal(l->ev->cx, before, v)))
        return true;
    return give_up(l, str_fmt(l->ev->cx, "a variable is %s before it and %s after a trip", val_kind(before), val_kind(v)));
}

static Carried *carried_of(Loop *l, const void *what)
{
    for (size_t i = 0; i < l->carried.n; i++)
        if (l->carried.at[i].what == what)
            return &l->carried.at[i];
    return NULL;
}

/* ---- lists that grow ---- */

static int uses_of_slot(const Expr *e, uint32_t slot);

static int uses_in_args(const Expr *e, uint32_t slot)
{
    int n = 0;
    for (uint32_t i = 0; i < e->n_args; i++)
        n += uses_of_slot(e->args[i].value, slot);
    return n;
}

static int uses_of_slot(const Expr *e, uint32_t slot)
{
    int n = 0;
    if (!e)
        return 0;
    switch (e->kind) {
    case X_LOCAL: return e->slot == slot;
    case X_ATTR: case X_TUPLE_SLICE: case X_NEG: return uses_of_slot(e->a, slot);
    case X_INDEX: case X_BINARY: return uses_of_slot(e->a, slot) + uses_of_slot(e->b, slot);
    case X_OP: return uses_in_args(e, slot);
    case X_CALL: return uses_of_slot(e->callee, slot) + uses_in_args(e, slot);
    case X_TUPLE: case X_LIST: case X_DICT:
        for (uint32_t i = 0; i < e->n; i++)
            n += uses_of_slot(e->items[i], slot);
        return n;
    default: return 0;
    }
}

/* Is `e` append(local, item)? */
static bool is_append(const Expr *e, uint32_t slot)
{
    return e && e->kind == X_OP && str_is(e->op, "aten::append") && e->n_args == 2 && e->args[0].value->kind == X_LOCAL &&
           e->args[0].value->slot == slot && uses_of_slot(e->args[1].value, slot) == 0;
}

/* Nothing in the block looks at the local but appends that stand by themselves. */
static bool only_appended(const Block *b, uint32_t slot)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const Stmt *s = b->at[i];
        if (is_append(s->value, slot) && s->n_values == 0)
            continue;
        int uses = uses_of_slot(s->value, slot) + uses_of_slot(s->object, slot);
        for (uint32_t k = 0; k < s->n_values; k++)
            uses += uses_of_slot(s->values[k], slot);
        for (uint32_t k = 0; s->def && k < s->def->n_capture; k++)
            uses += s->def->capture[2 * k] == slot;
        if (uses || !only_appended(&s->body, slot) || !only_appended(&s->other, slot))
            return false;
    }
    return true;
}

/* The list is known to the body by locals that it only appends to, and by no object. */
static bool unseen_by_body(Loop *l, const List *list)
{
    const Frame *f = l->ev->frame;
    if (!l->block || !f)
        return false;
    for (int64_t i = 0; i < f->locals->n; i++) {
        Value v = f->locals->slot[i].v;
        if (v.tag == V_LIST && v.list == list && !only_appended(l->block, (uint32_t)i))
            return false;
        for (int64_t k = 0; v.tag == V_OBJ && k < v.obj->n; k++)
            if (v.obj->slot[k].v.tag == V_LIST && v.obj->slot[k].v.list == list)
                return false;
    }
    return true;
}

static Scan *scan_of(Loop *l, const List *list)
{
    for (size_t i = 0; i < l->scans.n; i++)
        if (l->scans.at[i].list == list)
            return &l->scans.at[i];
    return NULL;
}

static bool grown_list(Loop *l, const Change *c)
{
    List *list = c->what;
    const Cell *before = c->before_at;
    if (list->n > c->before_n && !val_ok(list->at[list->n - 1].v))
        return refusals_fail(l->ev->cx);
    bool grew = list->n == c->before_n + 1 && !list->stacked && list->at[list->n - 1].v.tag == V_TENSOR;
    for (int64_t i = 0; grew && i < c->before_n; i++)
        grew = before[i].v.tag == list->at[i].v.tag && before[i].v.any == list->at[i].v.any;
    if (!grew || !unseen_by_body(l, list))
        return give_up(l, str_of(l->ev->cx, "it changes a list in another way than by appending one tensor in every trip, or looks at it"));
    Scan *s = scan_of(l, list);
    if (!s) {
        vec_push(l->ev->cx, &l->scans, (Scan){ .list = list });
        s = scan_of(l, list);
        l->again = true;
    }
    if (s)
        s->item = tensor_read(l->g, list->at[list->n - 1].v.t);
    return !ctx_failed(l->ev->cx);
}

/* ---- one run of the body ---- */

static Type leaf_type(Loop *l, const Leaf *leaf, Dim fresh[MAX_RANK])
{
    for (int i = 0; i < leaf->rank; i++)
        fresh[i] = leaf->dim[i] ? leaf->dim[i] : dim_fresh(l->ev->cx, "d");
    return type_tensor(l->ev->cx, leaf->dtype, leaf->rank, leaf->rank > 0 ? fresh : NULL);
}

static void make_input(Loop *l, Leaf *leaf)
{
    Dim dim[MAX_RANK];
    Ox v = graph_input(l->g, NULL, leaf_type(l, leaf, dim));
    for (int i = 0; i < leaf->rank; i++)
        if (!leaf->dim[i])
            dim_set_origin(l->ev->cx, dim[i], v, i);
    leaf->input = v;
}

static void set_carried(Loop *l, const Carried *c, bool behind)
{
    Ctx *cx = l->ev->cx;
    size_t next = c->first;
    if (c->kind == CHANGE_STORAGE)
        storage_set(cx, c->what, behind && c->lost ? POISON : behind ? l->leaves.at[next].made : l->leaves.at[next].input);
    else
        cell_set(cx, c->what, rebuild(l, c->shape, &next, behind));
}

/* A thing that the body was not known to change: carried from the next run on. */
static bool new_carried(Loop *l, const Change *c)
{
    if (c->kind == CHANGE_CELL && (local_to_block(l->ev, l->block, c->what) || (c->before.tag == V_UNINIT && c->before.any)))
        return true;
    if (c->kind == CHANGE_LIST)
        return grown_list(l, c);
    if (c->kind == CHANGE_DICT)
        return give_up(l, str_of(l->ev->cx, "it changes a dict"));
    l->again = true;
    Carried k = { .kind = c->kind, .what = c->what, .shape = c->before, .first = l->leaves.n };
    k.unset = c->kind == CHANGE_CELL && c->before.tag == V_UNINIT;
    if (k.unset) {
        k.shape = ((const Cell *)c->what)->v;
        if (!val_ok(k.shape))
            return refusals_fail(l->ev->cx);
        if (!add_leaves(l, k.shape))            /* of the body: first_values replaces them */
            return false;
    }
    k.n = l->leaves.n - k.first;
    return vec_push(l->ev->cx, &l->carried, k);
}

/* Sizes that only the body knows are other ones in each trip. */
static void set_stand_ins(Loop *l, const Carried *k)
{
    for (size_t i = k->first; i < k->first + k->n; i++) {
        Leaf *leaf = &l->leaves.at[i];
        for (int axis = 0; axis < leaf->rank; axis++)
            if (leaf->dim[axis] && !dim_is_outside(l->ev, leaf->dim[axis]))
                leaf->dim[axis] = NULL;
        leaf->init = stand_in(l->ev->g, leaf->init);
    }
}

/* The values before the loop of what the last run found: read once its writes are undone. */
static bool first_values(Loop *l, size_t from)
{
    for (size_t i = from; i < l->carried.n; i++) {
        Carried *k = &l->carried.at[i];
        Storage *st = k->what;
        if (k->unset) {
            set_stand_ins(l, k);
            continue;
        }
        k->first = l->leaves.n;
        if (!(k->kind == CHANGE_STORAGE ? add_leaf(l, (Value){ .tag = V_TENSOR, .t = tensor_new(l->ev->cx, st->now) }) : add_leaves(l, k->shape)))
            return false;
        k->n = l->leaves.n - k->first;
    }
    return true;
}

static bool check_change(Loop *l, const Change *c)
{
    Carried *k = carried_of(l, c->what);
    size_t next = k ? k->first : 0;
    if (!k)
        return new_carried(l, c);
    if (k->kind == CHANGE_STORAGE) {
        const Storage *st = c->what;
        k->lost = !ox_ok(st->now) && st->lost;          /* a peer was written: nobody may look at it behind the loop */
        return k->lost || widen(l, &l->leaves.at[next], st->now);
    }
    return match(l, k->shape, ((const Cell *)c->what)->v, &next);
}

static bool keep_going(Loop *l)
{
    Value c;
    if (!l->condition) {
        l->keep_going = l->cond_in;
        return true;
    }
    if (!l->condition(l, &c))
        return false;
    if (!val_is_plain_number(c))
        return fail(l->ev->cx, E_VALUE, "%s is no condition", val_kind(c));
    l->keep_going = carry_ox(l->g, c);
    return ox_ok(l->keep_going);
}

static bool run_once(Loop *l)
{
    Eval *ev = l->ev;
    Ctx *cx = ev->cx;
    Graph *outside = ev->g;
    const Change *changes;
    size_t known = l->carried.n;
    l->again = false;
    l->g = graph_new(cx, outside, NULL);
    Ox trip = graph_input(l->g, NULL, type_tensor(cx, DT_INT64, 0, NULL));
    l->cond_in = graph_input(l->g, NULL, type_tensor(cx, DT_BOOL, 0, NULL));
    for (size_t i = 0; i < l->leaves.n; i++)
        make_input(l, &l->leaves.at[i]);
    TrailMark m = trail_open(cx);
    ev->g = l->g;
    ev->staged++;
    for (size_t i = 0; i < l->carried.n; i++)
        set_carried(l, &l->carried.at[i], false);
    Dim counter = dim_fresh(cx, "i");
    dim_set_origin(cx, counter, trip, -1);
    bool ok = l->body(l, val_dim(cx, counter)) && keep_going(l);
    size_t n = ok ? trail_changes(cx, m, &changes) : 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = check_change(l, &changes[i]);
    ev->staged--;
    ev->g = outside;
    trail_undo(cx, m);
    if (!ok && ev->raised && !ctx_failed(cx))
        fail_at(cx, ev->raised_at, E_UNSUPPORTED, "a loop that ONNX runs raises an error: %s", ev->raised->s);
    return ok && first_values(l, known) && !ctx_failed(cx);
}

/* ---- the node ---- */

/* What the list held before the loop, in front of what the loop made. */
static Ox with_first_items(Loop *l, const Scan *s)
{
    Graph *g = l->ev->g;
    VEC(Ox) parts = { 0 };
    Ox axis = ox_ints(g, (int64_t[]){ 0 }, 1);
    for (int64_t i = 0; i < s->list->n; i++) {
        Ox item = tensor_read(g, s->list->at[i].v.t);
        vec_push(l->ev->cx, &parts, ox_g(g, "Unsqueeze", item, axis));
    }
    if (parts.n == 0)
        return s->made;
    vec_push(l->ev->cx, &parts, s->made);
    return ox_g_with(g, "Concat", LIST(parts), INT("axis", 0));
}

static void write_behind(Loop *l)
{
    Ctx *cx = l->ev->cx;
    for (size_t i = 0; i < l->carried.n; i++)
        set_carried(l, &l->carried.at[i], true);
    for (size_t i = 0; i < l->scans.n; i++) {
        Ox all = with_first_items(l, &l->scans.at[i]);
        if (ox_ok(all) && ox_rank(all) > 0)
            list_stack(cx, l->scans.at[i].list, all, ox_dim(all, 0));
    }
}

static bool make_loop(Loop *l)
{
    Eval *ev = l->ev;
    Graph *g = ev->g;
    VEC(Ox) in = { 0 };
    vec_push(ev->cx, &in, l->condition ? NULL : carry_ox(g, l->count));
    Ox starts = l->condition ? carry_ox(g, l->starts) : l->leaves.n ? NULL : ox_bool(g, true);     /* Loop has two inputs at least */
    vec_push(ev->cx, &in, starts);
    graph_output(l->g, l->keep_going, NULL);
    for (size_t i = 0; i < l->leaves.n; i++) {
        vec_push(ev->cx, &in, l->leaves.at[i].init);
        graph_output(l->g, l->leaves.at[i].last ? l->leaves.at[i].last : l->leaves.at[i].input, NULL);
    }
    for (size_t i = 0; i < l->scans.n; i++)
        graph_output(l->g, l->scans.at[i].item, NULL);
    size_t n = l->leaves.n + l->scans.n;
    Ox *out = new_array(ev->cx, Ox, n + 1);
    Attr body = SUBGRAPH("body", l->g);
    if (!out || (n && !ox_make_n(g, "Loop", LIST(in), &body, 1, out, n)))
        return false;
    for (size_t i = 0; i < l->leaves.n; i++)
        l->leaves.at[i].made = out[i];
    for (size_t i = 0; i < l->scans.n; i++)
        l->scans.at[i].made = out[l->leaves.n + i];
    write_behind(l);
    return !ctx_failed(ev->cx);
}

static bool run_loop(Loop *l)
{
    l->opened = heap_now(l->ev->cx);
    for (int run = 0; run < MAX_RUNS; run++) {
        for (size_t i = 0; i < l->leaves.n; i++)
            l->leaves.at[i].last = NULL;
        if (!run_once(l))
            return false;
        if (!l->again)
            return make_loop(l);
    }
    return give_up(l, str_of(l->ev->cx, "its types are still not stable after many trips"));
}

/* ---- for and while ---- */

static bool statement_body(Loop *l, Value trip)
{
    const Stmt *s = l->arg;
    if (s->kind == S_FOR && s->n_target)
        assign_slot(l->ev, s->target[0], trip);
    Flow flow = run_block(l->ev, &s->body);
    if (flow == FLOW_RETURN)
        return fail(l->ev->cx, E_UNSUPPORTED, "a loop that ONNX runs returns from its middle");
    return flow == FLOW_NEXT;
}

static bool statement_condition(Loop *l, Value *out) { return eval_condition(l->ev, ((const Stmt *)l->arg)->value, out); }

/* The loop's variable is no carried thing: nothing reads it behind the loop, and each trip sets it. */
static void forget_variable(Loop *l, const Stmt *s)
{
    if (s->kind == S_FOR && s->n_target)
        assign_slot(l->ev, s->target[0], val_never(l->ev->cx, str_of(l->ev->cx, "the variable of a loop that ONNX runs is read behind it")));
}

Flow run_staged_loop(Eval *ev, const Stmt *s, Value v)
{
    Loop l = { .ev = ev, .block = &s->body, .body = statement_body, .condition = s->kind == S_WHILE ? statement_condition : NULL,
               .arg = (void *)s, .count = v, .starts = v };
    forget_variable(&l, s);
    return run_loop(&l) ? FLOW_NEXT : FLOW_FAIL;
}

/* ---- stacked lists ---- */

static bool cat_of_stacked(Eval *ev, const List *l, int64_t dim, Value *out)
{
    Graph *g = ev->g;
    Ctx *cx = ev->cx;
    int rank = ox_rank(l->stacked) - 1;
    if (rank < 1 || dim < -rank || dim >= rank)
        return fail(cx, E_VALUE, "dim %lld is out of range for rank %d", (long long)dim, rank);
    dim = dim < 0 ? dim + rank : dim;
    /* [n, a, b, c] along b: bring n in front of b, then merge the two */
    int64_t perm[MAX_RANK];
    Dim size[MAX_RANK];
    for (int64_t i = 0; i <= rank; i++)
        perm[i] = i < dim ? i + 1 : i == dim ? 0 : i;
    for (int64_t i = 0; i < rank; i++)
        size[i] = i == dim ? dim_mul(cx, l->stacked_n, ox_dim(l->stacked, (int)dim + 1)) : ox_dim(l->stacked, (int)i + 1);
    if (!size[dim])
        size[dim] = dim_int(cx, -1);
    Ox moved = ox_g_with(g, "Transpose", INPUTS(l->stacked), INT_LIST("perm", perm, (size_t)rank + 1));
    Ox shape = ox_dims(g, size, (size_t)rank);
    *out = val_tensor(cx, ox_g(g, "Reshape", moved, shape));
    return !ctx_failed(cx);
}

static bool stack_of_stacked(Eval *ev, const List *l, int64_t dim, Value *out)
{
    int64_t perm[MAX_RANK];
    int rank = ox_rank(l->stacked);
    if (dim < -rank || dim >= rank)
        return fail(ev->cx, E_VALUE, "dim %lld is out of range for rank %d", (long long)dim, rank);
    dim = dim < 0 ? dim + rank : dim;
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i < dim ? i + 1 : i == dim ? 0 : i;
    *out = val_tensor(ev->cx, dim == 0 ? l->stacked : ox_g_with(ev->g, "Transpose", INPUTS(l->stacked), INT_LIST("perm", perm, (size_t)rank)));
    return !ctx_failed(ev->cx);
}

bool stacked_op(Eval *ev, Str name, const OpArg *args, size_t n, bool *mine, Value *out)
{
    const List *l = NULL;
    Value dim = val_int(0);
    for (size_t i = 0; i < n; i++)
        if (args[i].v.tag == V_LIST && args[i].v.list->stacked)
            l = args[i].v.list;
    if (!l)
        return true;
    *mine = true;
    for (size_t i = 1; i < n; i++)
        if (args[i].name ? str_is(args[i].name, "dim") : i == 1)
            dim = args[i].v;
    if (str_is(name, "aten::len")) {
        *out = val_dim(ev->cx, l->stacked_n);
        return true;
    }
    if (str_is(name, "aten::stack") && dim.tag == V_INT)
        return stack_of_stacked(ev, l, dim.i, out);
    if (str_is(name, "aten::cat") && dim.tag == V_INT)
        return cat_of_stacked(ev, l, dim.i, out);
    if (str_is(name, "aten::__getitem__") && n == 2) {
        Expr list = { .kind = X_VALUE, .value = args[0].v }, index = { .kind = X_VALUE, .value = args[1].v };
        Expr e = { .kind = X_INDEX, .a = &list, .b = &index };
        return eval_expr(ev, &e, out);
    }
    return fail(ev->cx, E_UNSUPPORTED, "%s of a list that a loop of the model fills, whose length is not known: stack or cat it first", name->s);
}

/* ---- higher-order operators of .pt2 ---- */

typedef struct Call { Eval *ev; Value fn; OpArg *args; size_t n; } Call;

/* A list or tuple of operands as arguments, then those of `more`. */
static bool operands(Eval *ev, Value a, Value more, OpArg **out, size_t *n)
{
    Value both[2] = { a, more };
    *n = 0;
    for (int k = 0; k < 2; k++)
        *n += both[k].tag == V_LIST ? (size_t)both[k].list->n : both[k].tag == V_TUPLE ? (size_t)both[k].tuple->n : 0;
    *out = new_array(ev->cx, OpArg, *n + 1);
    size_t at = 0;
    for (int k = 0; *out && k < 2; k++)
        for (int64_t i = 0; i < (both[k].tag == V_LIST ? both[k].list->n : both[k].tag == V_TUPLE ? both[k].tuple->n : 0); i++)
            (*out)[at++].v = both[k].tag == V_LIST ? both[k].list->at[i].v : both[k].tuple->at[i];
    return *out != NULL;
}

static Flow call_arm(Eval *ev, void *arg, Value *result)
{
    const Call *c = arg;
    return call_value(ev, c->fn, c->args, c->n, result) ? FLOW_NEXT : ev->raised ? FLOW_RAISE : FLOW_FAIL;
}

static bool run_cond(Eval *ev, const OpArg *args, size_t n, Value *out)
{
    Value c;
    Call call = { .ev = ev };
    Arm arm[2] = { { 0 } };
    if (n < 3 || !condition_of(ev, args[0].v, &c) || !operands(ev, n > 3 ? args[3].v : val_none(), val_none(), &call.args, &call.n))
        return ctx_failed(ev->cx) ? false : fail(ev->cx, E_FORMAT, "cond takes a condition, two graphs and operands");
    Tri t = val_truth(ev->cx, c);
    if (t != UNKNOWN)
        return call_value(ev, args[t == YES ? 1 : 2].v, call.args, call.n, out);
    for (int k = 0; k < 2; k++) {
        call.fn = args[1 + k].v;
        Flow flow = run_arm(ev, &arm[k], call_arm, &call);
        if (flow != FLOW_NEXT)
            return ev->raised ? fail_at(ev->cx, ev->raised_at, E_UNSUPPORTED, "an arm of cond raises: %s", ev->raised->s) : false;
    }
    return join_arms(ev, c, &arm[0], &arm[1], out);
}

typedef struct WhileLoop { Value cond, body, additional; Obj *state; } WhileLoop;

static Value as_tuple(Ctx *cx, Value v)
{
    int64_t n;
    Value *items = v.tag == V_LIST ? list_values(cx, v.list, &n) : NULL;
    return v.tag == V_LIST ? val_tuple(cx, items, n) : v.tag == V_TUPLE ? v : val_tuple(cx, &v, 1);
}

static bool graph_body(Loop *l, Value trip)
{
    WhileLoop *w = l->arg;
    OpArg *args;
    size_t n;
    Value v;
    (void)trip;
    if (!operands(l->ev, w->state->slot[0].v, w->additional, &args, &n) || !call_value(l->ev, w->body, args, n, &v))
        return false;
    obj_set(l->ev->cx, w->state, 0, as_tuple(l->ev->cx, v));
    return true;
}

static bool graph_condition(Loop *l, Value *out)
{
    WhileLoop *w = l->arg;
    OpArg *args;
    size_t n;
    Value v;
    if (!operands(l->ev, w->state->slot[0].v, w->additional, &args, &n) || !call_value(l->ev, w->cond, args, n, &v))
        return false;
    if (v.tag == V_TUPLE && v.tuple->n == 1)
        v = v.tuple->at[0];
    return condition_of(l->ev, v, out);
}

static bool run_while_loop(Eval *ev, const OpArg *args, size_t n, Value *out)
{
    if (n < 3)
        return fail(ev->cx, E_FORMAT, "while_loop takes two graphs and carried values");
    WhileLoop w = { args[0].v, args[1].v, n > 3 ? args[3].v : val_none(), obj_new(ev->cx, NULL, 1, NULL, NULL) };
    Loop l = { .ev = ev, .body = graph_body, .condition = graph_condition, .arg = &w };
    obj_set(ev->cx, w.state, 0, as_tuple(ev->cx, args[2].v));
    for (;;) {
        if (!step(ev) || !graph_condition(&l, &l.starts))
            return false;
        Tri t = val_truth(ev->cx, l.starts);
        if (t == UNKNOWN && !run_loop(&l))
            return false;
        if (t != YES)
            break;
        if (!graph_body(&l, val_none()))
            return false;
    }
    *out = w.state->slot[0].v;
    return true;
}

static bool inline_graph(Eval *ev, const OpArg *args, size_t n, size_t graph, Value *out)
{
    return n > graph ? call_value(ev, args[graph].v, args + graph + 1, n - graph - 1, out) : fail(ev->cx, E_FORMAT, "a region without its graph");
}

bool higher_order(Eval *ev, const Expr *e, const OpArg *args, size_t n, bool *mine, Value *out)
{
    *mine = true;
    if (str_is(e->op, "higher_order::cond"))
        return run_cond(ev, args, n, out);
    if (str_is(e->op, "higher_order::while_loop"))
        return run_while_loop(ev, args, n, out);
    if (str_is(e->op, "higher_order::wrap_with_set_grad_enabled"))
        return inline_graph(ev, args, n, 1, out);
    if (str_is(e->op, "higher_order::wrap_with_autocast") && n > 4 && args[2].v.tag == V_BOOL) {
        if (!args[2].v.b)
            return inline_graph(ev, args, n, 4, out);
        fail(ev->cx, E_UNSUPPORTED, "an autocast region: the program does not say which operators it casts");
        fail_hint(ev->cx, "save exported_program.run_decompositions({}), which writes the casts down");
        return false;
    }
    if (str_is(e->op, "higher_order::invoke_subgraph"))
        return n > 2 && call_value(ev, args[0].v, args + 2, n - 2, out);
    *mine = false;
    return true;
}
