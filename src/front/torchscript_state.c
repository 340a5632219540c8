/* torchscript_state.c - the pickles of a TorchScript archive as values: tensors over storage records, and the root object.
 *
 * Two lives: SavedTensor and the names of weights are made once (keep arena); objects, lists and tensors are made anew for
 * each evaluation (run arena), because the program may write to them. What is one value in the file is one value here:
 * the memo goes by the pickled value's pointer, and tensors that see the same elements share a Storage. */
#include <stdlib.h>

#include "base/limits.h"
#include "front/internal.h"

bool pickle_is_call(const Pickle *p, const char *module, const char *name)
{
    return p->tag == P_CALL && str_is(p->fn->global.module, module) && str_is(p->fn->global.name, name);
}

static Str global_name(Ctx *cx, const Pickle *global)
{
    return str_cat(cx, global->global.module->s, ".", global->global.name->s);
}

/* ---- storages and tensors: once ---- */

static bool bad_tensor(Ctx *cx, const char *what)
{
    return fail(cx, E_FORMAT, "a pickled tensor %s", what);
}

/* pid := ("storage", torch.XStorage, key, location, numel) */
static bool read_pid(Ctx *cx, const Pickle *p, const Pickle **type, Str *key, Str *location, int64_t *numel)
{
    if (p->tag != P_PERSISTENT || p->pid->tag != P_TUPLE || p->pid->seq.n != 5)
        return bad_tensor(cx, "has no storage");
    Pickle *const *at = p->pid->seq.at;
    if (at[0]->tag != P_STR || !str_is(at[0]->s, "storage") || at[1]->tag != P_GLOBAL || at[2]->tag != P_STR || at[3]->tag != P_STR ||
        at[4]->tag != P_INT || at[4]->i < 0)
        return bad_tensor(cx, "has a storage that is described in another way than torch does");
    *type = at[1];
    *key = at[2]->s;
    *location = at[3]->s;
    *numel = at[4]->i;
    return true;
}

/* The record's bytes; nothing is read. traced_inputs/ has empty records, and a storage without elements may have none. */
static bool storage_bytes(Ctx *cx, TorchScript *ts, SavedStorage *st, int64_t numel, bool described_only)
{
    const ZipEntry *e = zip_find_in_root(cx, ts->zip, st->record->s);
    if (e && !zip_bytes(cx, ts->zip, e, &st->bytes))
        return false;
    if (!e && numel > 0 && !st->meta && !described_only)
        return fail(cx, E_FORMAT, "the archive has no record %s, which a tensor's storage names", st->record->s);
    if (!e)
        st->bytes = (Bytes){ .src = source_memory(cx, "", 0) };
    return true;
}

static SavedStorage *storage_of(Ctx *cx, TorchScript *ts, const Pickle *pid, const char *dir)
{
    const Pickle *type;
    Str key, location;
    int64_t numel;
    if (!read_pid(cx, pid, &type, &key, &location, &numel))
        return NULL;
    Str record = str_cat(cx, dir, key->s, "");
    SavedStorage *st = map_get(&ts->storages, record);
    if (st)
        return st;
    st = new(cx, SavedStorage);
    st->record = record;
    st->meta = str_is(location, "meta");
    st->type_name = type->global.name;
    st->dtype = dtype_of_storage(type->global.name, &st->quantised);
    map_put(cx, &ts->storages, record, st);
    return storage_bytes(cx, ts, st, numel, !strcmp(dir, "traced_inputs/")) ? st : NULL;
}

static bool int_tuple(Ctx *cx, const Pickle *p, int64_t *out, int *n)
{
    if (p->tag != P_TUPLE || p->seq.n > MAX_RANK)
        return bad_tensor(cx, p->tag == P_TUPLE ? "has more than 32 dimensions" : "has no sizes");
    for (size_t i = 0; i < p->seq.n; i++) {
        if (p->seq.at[i]->tag != P_INT || p->seq.at[i]->i < 0)
            return bad_tensor(cx, "has a size or stride that is no natural number");
        out[i] = p->seq.at[i]->i;
    }
    *n = (int)p->seq.n;
    return true;
}

/* The elements of the storage that a tensor may touch are [offset, *hi). */
static bool extent(Ctx *cx, int64_t offset, int rank, const int64_t *dims, const int64_t *strides, int64_t *hi)
{
    int64_t last = offset, numel = 1;
    for (int i = 0; i < rank; i++) {
        int64_t step;
        if (!mul_ok(numel, dims[i], &numel))
            return bad_tensor(cx, "has more elements than 64 bits can count");
        if (dims[i] > 1 && (!mul_ok(dims[i] - 1, strides[i], &step) || !add_ok(last, step, &last)))
            return bad_tensor(cx, "reaches beyond 64 bits");
    }
    *hi = offset;
    if (numel > 0 && !add_ok(last, 1, hi))
        return bad_tensor(cx, "reaches beyond 64 bits");
    return true;
}

static bool is_contiguous(int rank, const int64_t *dims, const int64_t *strides)
{
    int64_t expected = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            return true;
    for (int i = rank - 1; i >= 0; i--) {
        if (dims[i] != 1 && strides[i] != expected)
            return false;
        expected *= dims[i];
    }
    return true;
}

static bool fits_record(Ctx *cx, const SavedTensor *t)
{
    int64_t bytes;
    size_t size = dtype_size(t->st->dtype);
    if (t->hi == t->lo)
        return true;
    if (!mul_ok(t->hi, (int64_t)size, &bytes) || (uint64_t)bytes > t->st->bytes.len)
        return fail(cx, E_FORMAT, "a tensor needs %lld elements of %s, which has %llu bytes", (long long)t->hi, t->st->record->s,
                    (unsigned long long)t->st->bytes.len);
    return true;
}

static bool make_const(Ctx *cx, SavedTensor *t, int rank, const int64_t *dims, const int64_t *strides)
{
    Const *k = new(cx, Const);
    uint64_t skip = (uint64_t)t->lo * dtype_size(t->st->dtype);
    k->dtype = t->st->dtype;
    k->rank = rank;
    k->dims = mem_copy(cx, dims, (size_t)rank * sizeof *dims);
    if (!is_contiguous(rank, dims, strides))
        k->strides = mem_copy(cx, strides, (size_t)rank * sizeof *strides);
    k->bytes = t->st->bytes;
    if (t->hi > t->lo) {
        k->bytes.off += skip;
        k->bytes.len -= skip;
    }
    k->storage = t->st;
    t->k = k;
    return true;
}

/* Lazily conjugated or negated data would need arithmetic that nothing here does. */
static const char *lazy_flag(const Pickle *args, size_t at)
{
    if (args->seq.n <= at || args->seq.at[at]->tag != P_CALL)
        return NULL;
    const Pickle *tagged = args->seq.at[at]->args;
    bool any = tagged->tag == P_TUPLE && tagged->seq.n > 0 && tagged->seq.at[0]->tag == P_DICT && tagged->seq.at[0]->seq.n > 0;
    return any ? "it is lazily conjugated or negated; save x.resolve_conj().resolve_neg()" : NULL;
}

/* (storage, offset, size, stride, ..) */
static bool strided(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *args, const char *dir, size_t flags_at)
{
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    int rank, n_strides;
    if (args->tag != P_TUPLE || args->seq.n < 6)
        return bad_tensor(cx, "has too few arguments");
    Pickle *const *at = args->seq.at;
    if (!(t->st = storage_of(cx, ts, at[0], dir)) || !int_tuple(cx, at[2], dims, &rank) || !int_tuple(cx, at[3], strides, &n_strides))
        return false;
    if (rank != n_strides || at[1]->tag != P_INT || at[1]->i < 0)
        return bad_tensor(cx, "has an offset, sizes and strides that do not go together");
    t->lo = at[1]->i;
    if (!extent(cx, t->lo, rank, dims, strides, &t->hi))
        return false;
    t->why = lazy_flag(args, flags_at);
    if (t->st->meta)
        t->why = "it is on the meta device and has no data";
    else if (t->st->dtype == DT_NONE)
        t->why = "ONNX has no such element type";
    if (!t->why && strcmp(dir, "traced_inputs/") && !fits_record(cx, t))
        return false;
    vec_push(cx, &t->st->tensors, t);
    return make_const(cx, t, rank, dims, strides);
}

/* qparams := (torch.per_tensor_affine, scale, zero_point) | (torch.per_channel_affine.., scales, zero_points, axis) */
static bool quantised(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *args, const char *dir)
{
    const Pickle *q = args->tag == P_TUPLE && args->seq.n > 4 ? args->seq.at[4] : NULL;
    if (!q || q->tag != P_TUPLE || q->seq.n < 3 || q->seq.at[0]->tag != P_GLOBAL)
        return bad_tensor(cx, "has no quantisation parameters");
    Pickle *const *at = q->seq.at;
    if (str_is(at[0]->global.name, "per_tensor_affine")) {
        if (at[1]->tag != P_FLOAT || at[2]->tag != P_INT)
            return bad_tensor(cx, "has a scale or zero point that is no number");
        t->axis = -1;
        t->scale = at[1]->f;
        t->zero_point = at[2]->i;
    } else {
        if (q->seq.n < 4 || at[3]->tag != P_INT || at[3]->i < 0 || at[3]->i >= MAX_RANK)
            return bad_tensor(cx, "is quantised by channel without an axis");
        t->axis = (int)at[3]->i;
        if (!(t->scales = ts_tensor(cx, ts, at[1], dir)) || !(t->zero_points = ts_tensor(cx, ts, at[2], dir)))
            return false;
        if (str_is(at[0]->global.name, "per_channel_affine_float_qparams"))
            t->why = "its zero points are floats, which ONNX cannot say";
    }
    return strided(cx, ts, t, args, dir, 7);
}

static bool read_tensor(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *call, const char *dir)
{
    if (pickle_is_call(call, "torch._utils", "_rebuild_tensor_v2"))
        return strided(cx, ts, t, call->args, dir, 6);
    if (pickle_is_call(call, "torch._utils", "_rebuild_qtensor"))
        return quantised(cx, ts, t, call->args, dir);
    t->why = "it is sparse; save x.to_dense()";
    return true;
}

static bool is_tensor(const Pickle *p)
{
    return pickle_is_call(p, "torch._utils", "_rebuild_tensor_v2") || pickle_is_call(p, "torch._utils", "_rebuild_qtensor") ||
           pickle_is_call(p, "torch._utils", "_rebuild_sparse_tensor");
}

SavedTensor *ts_tensor(Ctx *cx, TorchScript *ts, const Pickle *call, const char *dir)
{
    SavedTensor *t = map_get(&ts->tensors, call);
    if (t)
        return t;
    if (!is_tensor(call)) {
        bad_tensor(cx, "is expected where the pickle has something else");
        return NULL;
    }
    keep_begin(cx);
    t = new(cx, SavedTensor);
    t->from = call;
    t->same = t;
    t->axis = -1;
    map_put(cx, &ts->tensors, call, t);
    bool good = read_tensor(cx, ts, t, call, dir);
    keep_end(cx);
    return good ? t : NULL;
}

/* ---- names: once ---- */

typedef struct Namer {
    Ctx *cx;
    TorchScript *ts;
    const char *dir;
    uint64_t seen;                  /* values met: a module reached by many ways counts each time */
    VEC(SavedTensor *) weights;     /* of Program.weights, in the same order */
} Namer;

static bool name_value(Namer *n, const Pickle *p, Str name);

static Str join(Ctx *cx, Str path, const char *name)
{
    return path->len ? str_cat(cx, path->s, ".", name) : str_of(cx, name);
}

/* A number, a bool, a string, None: nothing in it has a name. */
static bool is_plain(const Pickle *p)
{
    return p->tag == P_NONE || p->tag == P_BOOL || p->tag == P_INT || p->tag == P_FLOAT || p->tag == P_STR;
}

/* A name for the tensor itself: the first that it is found under. */
static bool name_tensor(Namer *n, const Pickle *p, Str name, bool parameter, SavedTensor **out)
{
    SavedTensor *t = ts_tensor(n->cx, n->ts, p, n->dir);
    if (!t)
        return false;
    if (!t->name) {
        t->name = name;
        t->parameter = parameter;
        if (t->k)
            t->k->derived = name;
        if (t->scales && t->scales->k && t->zero_points->k) {
            t->scales->k->derived = join(n->cx, name, "scale");
            t->zero_points->k->derived = join(n->cx, name, "zero_point");
        }
    }
    *out = t;
    return true;
}

/* An entry of the state_dict. */
static bool name_weight(Namer *n, const Pickle *p, Str name, bool parameter)
{
    SavedTensor *t;
    if (!name_tensor(n, p, name, parameter, &t))
        return false;
    if (t->k && !t->k->name && t->axis < 0 && !t->st->quantised) {
        t->k->name = t->name;
        t->k->derived = NULL;
    }
    Weight w = { .name = name, .parameter = parameter, .persistent = true };
    return !t->k || (vec_push(n->cx, &n->weights, t) && vec_push(n->cx, &n->ts->p->weights, w));
}

static bool name_items(Namer *n, const Pickle *p, Str name)
{
    size_t step = p->tag == P_DICT ? 2 : 1;
    for (size_t i = 0; i + step <= p->seq.n; i += step) {
        const Pickle *key = p->seq.at[i];
        Str child = p->tag == P_DICT && key->tag == P_STR ? join(n->cx, name, key->s->s) : str_fmt(n->cx, "%s.%zu", name->s, i / step);
        if (!name_value(n, p->seq.at[i + step - 1], child))
            return false;
    }
    return true;
}

/* Which attributes of a class are parameters (1) and buffers (2). */
static Map roles_of(Ctx *cx, const ClassDef *c)
{
    Map roles = { 0 };
    for (uint32_t i = 0; i < c->n_parameter; i++)
        map_put(cx, &roles, c->parameter[i], (void *)1);
    for (uint32_t i = 0; i < c->n_buffer; i++)
        map_put(cx, &roles, c->buffer[i], (void *)2);
    return roles;
}

/* The state_dict's order: a module's own tensors first, then its children. Files before PyTorch 1.4 do not list buffers:
 * there every other tensor of a module is one. */
static bool name_attributes(Namer *n, const ClassDef *c, const Pickle *state, Str path)
{
    Map roles = roles_of(n->cx, c);
    for (int children = 0; children < 2; children++)
        for (size_t i = 0; i + 1 < state->seq.n; i += 2) {
            const Pickle *key = state->seq.at[i], *value = state->seq.at[i + 1];
            if (key->tag != P_STR || (value->tag == P_OBJECT) != (children == 1))
                continue;
            Str name = is_plain(value) ? key->s : join(n->cx, path, key->s->s);
            uintptr_t role = (uintptr_t)map_get(&roles, key->s);
            bool buffer = role == 2 || (role == 0 && c->kind == CLASS_MODULE && n->ts->p->op_version < 2);
            if (is_tensor(value) && (role == 1 || buffer) ? !name_weight(n, value, name, role == 1) : !name_value(n, value, name))
                return false;
        }
    return true;
}

/* An object of model.json with a state of its own had its attributes set before: they are NEWOBJ's argument. */
static const Pickle *earlier_attributes(const Pickle *p)
{
    const Pickle *args = p->args;
    return args->tag == P_TUPLE && args->seq.n == 1 && args->seq.at[0]->tag == P_DICT ? args->seq.at[0] : NULL;
}

static bool name_object(Namer *n, const Pickle *p, Str path)
{
    const ClassDef *c = ts_class_of(n->cx, n->ts, p->fn);
    if (!c)
        return false;
    const Pickle *earlier = earlier_attributes(p);
    if (earlier && !name_attributes(n, c, earlier, path))
        return false;
    if (!p->state)
        return true;
    if (p->state->tag == P_DICT && c->kind != CLASS_TORCHBIND)
        return name_attributes(n, c, p->state, path);
    return name_value(n, p->state, path);
}

static bool name_value(Namer *n, const Pickle *p, Str name)
{
    SavedTensor *t;
    if (!limit_ok(n->cx, LIMIT_OBJECTS, ++n->seen, "values of the saved model") || !limit_ok(n->cx, LIMIT_NAME, name->len, "bytes in a name"))
        return false;
    switch (p->tag) {
    case P_TUPLE: case P_LIST: case P_DICT:
        return name_items(n, p, name);
    case P_OBJECT:
        return name_object(n, p, name);
    case P_CALL:
        if (is_tensor(p))
            return name_tensor(n, p, name, false, &t);
        if (p->args->tag == P_TUPLE && p->args->seq.n > 0)       /* build_tensorlist(list), restore_type_tag(list, tag) */
            return name_value(n, p->args->seq.at[0], name);
        return true;
    default:
        return true;
    }
}

/* ---- what shares bytes: once ---- */

static int compare_ints(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* By offset first; then so that equal views are neighbours. */
static int compare_views(const SavedTensor *a, const SavedTensor *b)
{
    int c = compare_ints(a->lo, b->lo);
    if (!c)
        c = compare_ints(a->k->rank, b->k->rank);
    for (int i = 0; !c && i < a->k->rank; i++)
        c = compare_ints(a->k->dims[i], b->k->dims[i]);
    if (!c)
        c = compare_ints(a->k->strides != NULL, b->k->strides != NULL);
    for (int i = 0; !c && a->k->strides && i < a->k->rank; i++)
        c = compare_ints(a->k->strides[i], b->k->strides[i]);
    return c;
}

static int compare_tensors(const void *x, const void *y)
{
    const SavedTensor *a = *(SavedTensor *const *)x, *b = *(SavedTensor *const *)y;
    int c = compare_views(a, b);
    return c ? c : compare_ints(a->from->id, b->from->id);
}

/* Runs of tensors that overlap one another, in order of offset: all of a run with two different views are marked. */
static void mark_overlaps(SavedStorage *st)
{
    SavedTensor **at = st->tensors.at;
    for (size_t from = 0, to; from < st->tensors.n; from = to) {
        int64_t hi = at[from]->hi;
        bool differ = false;
        for (to = from + 1; to < st->tensors.n && at[to]->lo < hi; to++) {
            hi = at[to]->hi > hi ? at[to]->hi : hi;
            differ = differ || at[to]->same != at[from]->same;
        }
        for (size_t i = from; differ && i < to; i++)
            at[i]->shared_bytes = true;
    }
}

static void find_sharing(SavedStorage *st)
{
    if (st->tensors.n < 2)
        return;
    qsort(st->tensors.at, st->tensors.n, sizeof *st->tensors.at, compare_tensors);
    for (size_t i = 1; i < st->tensors.n; i++) {
        SavedTensor *t = st->tensors.at[i], *before = st->tensors.at[i - 1];
        if (t->axis >= 0 || before->axis >= 0 || compare_views(t, before))
            continue;
        t->same = before->same;
        if (!t->same->k->name && t->k->name) {
            t->same->k->name = t->k->name;
            t->same->k->derived = NULL;
        }
        t->k = t->same->k;
    }
    mark_overlaps(st);
}

bool ts_name_tensors(Ctx *cx, TorchScript *ts)
{
    Namer data = { .cx = cx, .ts = ts, .dir = ts->data_dir }, constants = { .cx = cx, .ts = ts, .dir = ts->constants_dir };
    if (!name_value(&data, ts->data, str_of(cx, "")))
        return false;
    for (size_t i = 0; i < ts->constants->seq.n; i++)
        if (!name_value(&constants, ts->constants->seq.at[i], str_fmt(cx, "CONSTANTS.c%zu", i)))
            return false;
    for (size_t i = 0; i < ts->storages.n; i++)
        find_sharing(ts->storages.at[i].val);
    for (size_t i = 0; i < ts->p->weights.n; i++)
        ts->p->weights.at[i].k = data.weights.at[i]->k;
    return !ctx_failed(cx);
}

/* ---- values: for each evaluation ---- */

typedef struct Builder {
    Ctx *cx;
    TorchScript *ts;
    const char *dir;                /* of the storages */
} Builder;

static bool build(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out);

static bool remember(Builder *b, const Pickle *p, Value v)
{
    map_put(b->cx, &b->ts->values, p, mem_copy(b->cx, &v, sizeof v));
    return true;
}

/* The type behind Optional[..]; NULL stays NULL. */
static const TypeExpr *without_optional(const TypeExpr *t)
{
    while (t && t->n == 1 && (str_is(t->name, "Optional") || str_is(t->name, "Final")))
        t = t->args[0];
    return t;
}

static const TypeExpr *type_arg(const TypeExpr *t, const char *name, uint32_t i)
{
    return t && str_is(t->name, name) && i < t->n ? t->args[i] : NULL;
}

static QuantInfo *quant_info(Builder *b, const SavedTensor *t)
{
    Graph *g = b->ts->g;
    QuantInfo *q = new(b->cx, QuantInfo);
    q->axis = t->axis;
    q->dtype = t->st->dtype;
    if (t->axis < 0) {
        q->scale = ox_number(g, DT_FLOAT, t->scale);
        q->zero_point = ox_integer(g, q->dtype, t->zero_point);
    } else {
        q->scale = ox_cast(g, ox_const(g, t->scales->k), DT_FLOAT);
        q->zero_point = ox_cast(g, ox_const(g, t->zero_points->k), q->dtype);
    }
    return q;
}

static Str shown_name(const SavedTensor *t, Str path) { return t->name ? t->name : path; }

/* Tensors that see the same elements share a Storage: a write through one is seen by the other. */
static bool build_tensor(Builder *b, const Pickle *p, Str path, Value *out)
{
    SavedTensor *t = ts_tensor(b->cx, b->ts, p, b->dir);
    if (!t)
        return false;
    if (t->why)
        return fail(b->cx, E_UNSUPPORTED, "the saved tensor %s (%s): %s", shown_name(t, path)->s, t->st ? t->st->type_name->s : "sparse", t->why);
    Tensor *made = tensor_new(b->cx, ox_const(b->ts->g, t->k));
    made->kind = t->st->quantised ? QUANT : PLAIN;
    made->strides = t->k->strides;
    made->contiguous = t->k->strides ? NO : YES;
    if (t->st->quantised)
        made->quant = quant_info(b, t);
    Storage *st = map_get(&b->ts->cells, t->same);
    if (!st) {
        st = made->st;
        st->name = shown_name(t->same, path);
        st->state = true;
        st->shared_bytes = t->shared_bytes;
        map_put(b->cx, &b->ts->cells, t->same, st);
    }
    made->st = st;
    *out = (Value){ .tag = V_TENSOR, .t = made };
    return !ctx_failed(b->cx) && remember(b, p, *out);
}

static Str item_path(Ctx *cx, Str path, size_t i) { return path ? str_fmt(cx, "%s.%zu", path->s, i) : NULL; }

static bool build_list(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    const TypeExpr *elem = type_arg(t, "List", 0);
    List *l = list_new(b->cx, (int64_t)p->seq.n, elem ? type_expr_text(b->cx, elem) : NULL);
    for (size_t i = 0; i < p->seq.n; i++) {
        Value v;
        if (!build(b, p->seq.at[i], elem, item_path(b->cx, path, i), &v))
            return false;
        list_append(b->cx, l, v);
    }
    *out = (Value){ .tag = V_LIST, .list = l };
    return remember(b, p, *out);
}

static bool build_dict(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    Dict *d = dict_new(b->cx, t ? type_expr_text(b->cx, t) : NULL);
    for (size_t i = 0; i + 1 < p->seq.n; i += 2) {
        Value key, v;
        Str child = path && p->seq.at[i]->tag == P_STR ? join(b->cx, path, p->seq.at[i]->s->s) : item_path(b->cx, path, i / 2);
        if (!build(b, p->seq.at[i], type_arg(t, "Dict", 0), NULL, &key) || !build(b, p->seq.at[i + 1], type_arg(t, "Dict", 1), child, &v))
            return false;
        dict_set(b->cx, d, key, v);
    }
    *out = (Value){ .tag = V_DICT, .dict = d };
    return remember(b, p, *out);
}

/* A NamedTuple is a plain tuple in the file; only the attribute's type tells. */
static const ClassDef *named_tuple(Builder *b, const TypeExpr *t, size_t n)
{
    if (!t || t->n || !strchr(t->name->s, '.'))
        return NULL;
    const ClassDef *c = ts_find_class(b->cx, b->ts->p, t->name);
    return c && c->kind == CLASS_NAMEDTUPLE && c->n_field == n ? c : NULL;
}

static const Str *field_names(Ctx *cx, const ClassDef *c)
{
    Str *names = new_array(cx, Str, c->n_field);
    for (uint32_t i = 0; names && i < c->n_field; i++)
        names[i] = c->field[i].name;
    return names;
}

static bool build_tuple(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    const ClassDef *nt = named_tuple(b, t, p->seq.n);
    Value *items = new_array(b->cx, Value, p->seq.n);
    if (!items)
        return false;
    for (size_t i = 0; i < p->seq.n; i++)
        if (!build(b, p->seq.at[i], nt ? nt->field[i].type : type_arg(t, "Tuple", (uint32_t)i), item_path(b->cx, path, i), &items[i]))
            return false;
    *out = val_tuple(b->cx, items, (int64_t)p->seq.n);
    if (nt && out->tag == V_TUPLE) {
        out->tuple->type = nt->plain;
        out->tuple->fields = field_names(b->cx, nt);
    }
    return remember(b, p, *out);
}

/* ---- calls ---- */

static bool bad_call(Builder *b, const Pickle *p)
{
    return fail(b->cx, E_FORMAT, "the pickle calls %s in a way that torch does not write", global_name(b->cx, p->fn)->s);
}

static bool build_complex(Builder *b, const Pickle *p, Value *out)
{
    if (p->args->tag != P_TUPLE || p->args->seq.n != 2 || p->args->seq.at[0]->tag != P_FLOAT || p->args->seq.at[1]->tag != P_FLOAT)
        return bad_call(b, p);
    *out = val_complex(b->cx, p->args->seq.at[0]->f, p->args->seq.at[1]->f);
    return true;
}

static bool build_device(Builder *b, const Pickle *p, Value *out)
{
    if (p->args->tag != P_TUPLE || p->args->seq.n != 1 || p->args->seq.at[0]->tag != P_STR)
        return bad_call(b, p);
    *out = (Value){ .tag = V_DEVICE, .s = p->args->seq.at[0]->s };
    return true;
}

/* torch.jit._pickle: a list or dict with its type. build_intlist(list), restore_type_tag(value, "Dict[str, int]") */
static bool build_typed(Builder *b, const Pickle *p, Str path, Value *out)
{
    static const struct { const char *name, *type; } lists[] = {
        { "build_intlist", "List[int]" }, { "build_doublelist", "List[float]" }, { "build_boollist", "List[bool]" },
        { "build_tensorlist", "List[Tensor]" },
    };
    const Pickle *args = p->args;
    Str type = NULL;
    if (args->tag != P_TUPLE || args->seq.n < 1 || (args->seq.at[0]->tag != P_LIST && args->seq.at[0]->tag != P_DICT))
        return bad_call(b, p);
    for (size_t i = 0; i < COUNT(lists); i++)
        if (str_is(p->fn->global.name, lists[i].name))
            type = str_of(b->cx, lists[i].type);
    if (!type && args->seq.n == 2 && args->seq.at[1]->tag == P_STR)
        type = args->seq.at[1]->s;
    const TypeExpr *t = type ? ts_type(b->cx, b->ts, type) : NULL;
    if (!t)
        return ctx_failed(b->cx) ? false : bad_call(b, p);
    return build(b, args->seq.at[0], t, path, out) && remember(b, p, *out);
}

/* An enum's member is saved by its value. */
static bool build_enum(Builder *b, const Pickle *p, Value *out)
{
    const ClassDef *c = ts_class_of(b->cx, b->ts, p->fn);
    Value saved;
    if (!c)
        return false;
    if (c->kind != CLASS_ENUM)
        return bad_call(b, p);
    if (!build(b, p->args, NULL, NULL, &saved))
        return false;
    for (uint32_t i = 0; i < c->n_field; i++) {
        Value v;
        if (!ts_literal(b->cx, b->ts, c->field[i].constant, &v))
            return false;
        if (v.tag == V_INT && saved.tag == V_FLOAT)                     /* 1e10 is printed without a dot */
            v = val_float((double)v.i);
        if (v.tag == saved.tag && val_equal(b->cx, v, saved)) {
            EnumMember member = { .cls = c, .name = c->field[i].name, .value = v };
            *out = (Value){ .tag = V_ENUM, .e = mem_copy(b->cx, &member, sizeof member) };
            return true;
        }
    }
    return fail(b->cx, E_FORMAT, "the enum %s has no member of the saved value %s", c->qualname->s, val_text(b->cx, saved)->s);
}

static bool build_call(Builder *b, const Pickle *p, Str path, Value *out)
{
    Str module = p->fn->global.module;
    if (is_tensor(p))
        return build_tensor(b, p, path ? path : str_of(b->cx, ""), out);
    if (str_is(module, "torch.jit._pickle"))
        return build_typed(b, p, path, out);
    if (pickle_is_call(p, "builtins", "complex"))
        return build_complex(b, p, out);
    if (pickle_is_call(p, "torch", "device"))
        return build_device(b, p, out);
    if (str_starts(module, "__torch__"))
        return build_enum(b, p, out);
    return bad_call(b, p);
}

/* ---- objects ---- */

static Obj *new_object(Builder *b, const ClassDef *c, Str path)
{
    Obj *o = obj_new(b->cx, c, c->n_field, field_names(b->cx, c), path);
    for (int64_t i = 0; o && i < o->n; i++)
        cell_set(b->cx, &o->slot[i], (Value){ .tag = V_UNINIT });
    return o;
}

/* What errors call the value: NULL for a plain one, and for a tensor that has a name already. */
static Str child_path(Builder *b, Str path, Str attr, const Pickle *value)
{
    const SavedTensor *t = is_plain(value) ? NULL : map_get(&b->ts->tensors, value);
    return !path || is_plain(value) || (t && t->name && t->same->name) ? NULL : join(b->cx, path, attr->s);
}

/* The state is a dict of attributes; what the class does not declare is damage. */
static bool set_attributes(Builder *b, const ClassDef *c, Obj *o, const Pickle *state, Str path)
{
    for (size_t i = 0; i + 1 < state->seq.n; i += 2) {
        const Pickle *key = state->seq.at[i];
        uintptr_t field = key->tag == P_STR ? (uintptr_t)map_get(&c->field_index, key->s) : 0;
        if (!field)
            return fail(b->cx, E_FORMAT, "the saved %s has the attribute '%s', which its class does not declare", c->plain->s,
                        key->tag == P_STR ? key->s->s : "?");
        Value v;
        const Pickle *value = state->seq.at[i + 1];
        if (!build(b, value, c->field[field - 1].type, child_path(b, path, key->s, value), &v))
            return false;
        cell_set(b->cx, &o->slot[field - 1], v);
    }
    return true;
}

/* What the state lacks is damage too. */
static bool all_set(Builder *b, const ClassDef *c, const Obj *o)
{
    for (uint32_t i = 0; i < c->n_field; i++)
        if (!c->field[i].constant && o->slot[i].v.tag == V_UNINIT)
            return fail(b->cx, E_FORMAT, "the saved %s lacks the attribute '%s'", c->plain->s, c->field[i].name->s);
    return true;
}

/* A C++ object: its state, to be opened by the operators that take it. */
static bool build_torchbind(Builder *b, const ClassDef *c, Obj *o, const Pickle *state, Str path)
{
    Value v = val_none();
    (void)c;
    if (state && !build(b, state, NULL, path, &v))
        return false;
    cell_set(b->cx, &o->slot[0], v);
    return true;
}

/* The class chose its own form of state: its __setstate__ puts it into the attributes. Without an evaluator (show) they
 * stay uninitialised. */
static bool run_setstate(Builder *b, const Function *setstate, Obj *o, const Pickle *state, Str path)
{
    Value v = val_none();
    Program *p = b->ts->p;
    if (state && !build(b, state, setstate->n_param > 1 ? setstate->param[1].type : NULL, path, &v))
        return false;
    return !p->run_setstate || p->run_setstate(b->cx, p, setstate, (Value){ .tag = V_OBJ, .obj = o }, v);
}

static bool build_object(Builder *b, const Pickle *p, Str path, Value *out)
{
    const ClassDef *c = ts_class_of(b->cx, b->ts, p->fn);
    if (!c)
        return false;
    Obj *o = new_object(b, c, c->kind == CLASS_MODULE ? path : NULL);
    if (!o)
        return false;
    *out = (Value){ .tag = V_OBJ, .obj = o };
    const Function *setstate = map_get(&c->method, str_of(b->cx, "__setstate__"));
    bool own_state = setstate && map_find(&c->method, str_of(b->cx, "__getstate__"));
    const Pickle *earlier = earlier_attributes(p);
    bool good;
    if (earlier && !set_attributes(b, c, o, earlier, path))
        return false;
    if (c->kind == CLASS_TORCHBIND)
        good = build_torchbind(b, c, o, p->state, path);
    else if (own_state)
        good = run_setstate(b, setstate, o, p->state, path);
    else if (p->state && p->state->tag != P_DICT)
        good = fail(b->cx, E_FORMAT, "the saved %s has a state that is no dict, and no __setstate__", c->plain->s);
    else
        good = !p->state || (set_attributes(b, c, o, p->state, path) && all_set(b, c, o));
    return good && remember(b, p, *out);
}

/* ---- any value ---- */

/* An int where a float is declared: the file may be of a writer that does not tell them apart. */
static Value number_as(const TypeExpr *t, int64_t i)
{
    return t && str_is(t->name, "float") ? val_float((double)i) : val_int(i);
}

static bool build(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    const Value *made = is_plain(p) ? NULL : map_get(&b->ts->values, p);
    if (made) {
        *out = *made;
        return true;
    }
    if (ctx_failed(b->cx))
        return false;
    t = without_optional(t);
    switch (p->tag) {
    case P_NONE:   *out = val_none(); return true;
    case P_BOOL:   *out = val_bool(p->b); return true;
    case P_INT:    *out = number_as(t, p->i); return true;
    case P_FLOAT:  *out = val_float(p->f); return true;
    case P_STR:    *out = val_str(p->s); return true;
    case P_TUPLE:  return build_tuple(b, p, t, path, out);
    case P_LIST:   return build_list(b, p, t, path, out);
    case P_DICT:   return build_dict(b, p, t, path, out);
    case P_CALL:   return build_call(b, p, path, out);
    case P_OBJECT: return build_object(b, p, path, out);
    default:
        return fail(b->cx, E_FORMAT, "the pickle has a class or storage where a value is expected");
    }
}

bool ts_build_root(Ctx *cx, Program *p, Value *out)
{
    TorchScript *ts = p->front;
    Where here = { .up = cx->at, .kind = WHERE_RECORD, .name = str_of(cx, "data.pkl") };
    cx->at = &here;
    ts->values = ts->cells = (Map){ 0 };
    ts->g = p->graph ? p->graph : graph_new(cx, NULL, str_of(cx, "saved"));
    Builder b = { .cx = cx, .ts = ts, .dir = ts->data_dir };
    bool good = build(&b, ts->data, NULL, str_of(cx, ""), out);
    cx->at = here.up;
    p->root = good ? *out : val_none();
    return good && ts_defaults(cx, ts);
}

/* PyTorch writes a Python number of a trace as a tensor without dimensions: it counts as the number it was. */
static void mark_number(Value v)
{
    if (v.tag == V_TENSOR && tensor_type(v.t)->rank == 0 && (tensor_type(v.t)->dtype == DT_INT64 || tensor_type(v.t)->dtype == DT_DOUBLE))
        v.t->number = true;
}

bool ts_constant(Ctx *cx, Program *p, int64_t n, Value *out)
{
    TorchScript *ts = p->front;
    if (n < 0 || (uint64_t)n >= ts->constants->seq.n)
        return fail(cx, E_FORMAT, "the code names constant c%lld, the archive has %zu", (long long)n, ts->constants->seq.n);
    Builder b = { .cx = cx, .ts = ts, .dir = ts->constants_dir };
    if (!build(&b, ts->constants->seq.at[n], NULL, str_fmt(cx, "CONSTANTS.c%lld", (long long)n), out))
        return false;
    mark_number(*out);
    return true;
}

/* ---- constant expressions ---- */

static bool literal_items(Ctx *cx, TorchScript *ts, const Expr *e, Value *items)
{
    for (uint32_t i = 0; i < e->n; i++)
        if (!ts_literal(cx, ts, e->items[i], &items[i]))
            return false;
    return true;
}

static bool literal_sequence(Ctx *cx, TorchScript *ts, const Expr *e, Value *out)
{
    Value *items = new_array(cx, Value, e->n);
    if (!items || !literal_items(cx, ts, e, items))
        return false;
    *out = e->kind == X_TUPLE ? val_tuple(cx, items, e->n) : val_list(cx, items, e->n, NULL);
    return true;
}

/* __torch__.Color.RED */
static bool literal_member(Ctx *cx, TorchScript *ts, const Expr *e, Value *out)
{
    const char *dot = strrchr(e->name->s, '.');
    const ClassDef *c = dot ? ts_find_class(cx, ts->p, str_n(cx, e->name->s, (size_t)(dot - e->name->s))) : NULL;
    uintptr_t field = c && c->kind == CLASS_ENUM ? (uintptr_t)map_get(&c->field_index, str_of(cx, dot + 1)) : 0;
    EnumMember member = { .cls = c };
    if (!field)
        return ctx_failed(cx) ? false : fail(cx, E_FORMAT, "'%s' is no constant", e->name->s);
    member.name = c->field[field - 1].name;
    if (!ts_literal(cx, ts, c->field[field - 1].constant, &member.value))
        return false;
    *out = (Value){ .tag = V_ENUM, .e = mem_copy(cx, &member, sizeof member) };
    return true;
}

bool ts_literal(Ctx *cx, TorchScript *ts, const Expr *e, Value *out)
{
    switch (e->kind) {
    case X_NONE:    *out = val_none(); return true;
    case X_TRUE:    *out = val_bool(true); return true;
    case X_FALSE:   *out = val_bool(false); return true;
    case X_INT:     *out = val_int(e->i); return true;
    case X_FLOAT:   *out = val_float(e->f); return true;
    case X_COMPLEX: *out = val_complex(cx, e->c[0], e->c[1]); return true;
    case X_STR:     *out = val_str(e->s); return true;
    case X_TUPLE:
    case X_LIST:    return literal_sequence(cx, ts, e, out);
    case X_NAME:    return literal_member(cx, ts, e, out);
    case X_CONSTANT: return ts_constant(cx, ts->p, e->i, out);
    case X_CALL:
        if (e->type && e->n_args == 1)
            return ts_literal(cx, ts, e->args[0].value, out);
        break;
    case X_OP:
        if (str_is(e->op, "aten::device") && e->n_args == 1 && e->args[0].value->kind == X_STR) {
            *out = (Value){ .tag = V_DEVICE, .s = e->args[0].value->s };
            return true;
        }
        break;
    default:
        break;
    }
    return fail(cx, E_FORMAT, "this is no constant: %s", expr_text(cx, NULL, e)->s);
}
