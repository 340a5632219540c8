/* exported_state.c - weights, buffers and constants of a .pt2: where their bytes lie, and the root
 * object that holds them.
 *
 * Three ways of storing, by age: raw storages with a config that describes views of them (2.8 and
 * later); one archive of torch.save for all, nested in the package (the first of 2.8); the same in
 * a flat archive (2.1 to 2.7). All end as constants that point into the file. Nothing is read but
 * descriptions. */
#include "front/exported/exported.h"

/* ---- descriptions ---- */

/* One record of bytes, and the attributes that see it. */
typedef struct ExStorage {
    const char *archive, *record; /* "", or "weights.pt!" of one inside; for messages */
    Bytes bytes;
    uint32_t newest; /* of its users, one more than the number in Exported.state; 0: none */
} ExStorage;

/* A tensor as it is described: in a config, or in a pickle. */
typedef struct SavedView {
    ExStorage *st;
    DType dtype;
    int rank;
    int64_t size[MAX_RANK], stride[MAX_RANK], offset;
    int64_t numel, hi; /* elements [offset, hi) of the storage */
} SavedView;

/* PayloadMeta; of its TensorMeta what a weight needs. */
typedef struct Payload {
    Str path;
    bool use_pickle, has_meta, is_static;
    DType dtype;
    int rank;
    int64_t layout, offset;
    const int64_t *size, *stride; /* NULL unless is_static */
} Payload;

/* A torch.save archive inside this one. */
typedef struct Nested {
    Zip *zip;
    Pickle *root;
    Str prefix;
} Nested;

/* A pickled tensor, and the archive that holds its storages. */
typedef struct Saved {
    Nested from;
    const Pickle *p;
} Saved;

typedef struct Store {
    const char *folder; /* "data/weights/" */
    Map payload;        /* name -> Payload */
    Nested nested;      /* root is NULL when payloads stand alone */
    Map pickled;        /* name -> Pickle, of the nested archive's dict */
    Map parts;          /* "fc.weight.qdata" -> Saved, of tensors that were taken apart */
} Store;

typedef struct Stores {
    Store at[2];
    Map storages; /* ZipEntry -> ExStorage; the name of a record that is not there */
} Stores;

static Stores *stores_of(Exported *x) { return x->stores; }

static bool refuse_tensor(Exported *x, Str name, const char *why)
{
    return fail(x->cx, E_UNSUPPORTED, "the saved tensor %s: %s", name->s, why);
}

/* ---- storages ---- */

/* The bytes of a record of the archive, or of one inside it; NULL after an error. */
static ExStorage *storage_of(Exported *x, Zip *zip, const char *archive, const char *folder,
                             Str name)
{
    Stores *stores = stores_of(x);
    const ZipEntry *e = zip_find_in(zip, folder, name->s);
    const void *key = e ? (const void *)e : str_cat(x->cx, archive, folder, name->s);
    ExStorage *st = map_get(&stores->storages, key);
    if (st)
        return st;
    PhaseAround around = phase_begin(x->cx, PHASE_PICKLES);
    st = new(x->cx, ExStorage);
    phase_end(x->cx, around);
    st->archive = archive;
    st->record = e ? e->name : name->s;
    if (e && !zip_bytes(x->cx, zip, e, &st->bytes))
        return NULL;
    if (!e)
        st->bytes = (Bytes){ .src = source_memory(x->cx, "", 0) };
    map_put(x->cx, &stores->storages, key, st);
    return st;
}

/* Counts elements and the last one touched. */
static bool measure(Exported *x, Str name, SavedView *v)
{
    int64_t last = v->offset, step;
    v->numel = 1;
    for (int i = 0; i < v->rank; i++) {
        bool ok = v->size[i] >= 0 && v->stride[i] >= 0 && mul_ok(v->numel, v->size[i], &v->numel);
        if (ok && v->size[i] > 1)
            ok = mul_ok(v->size[i] - 1, v->stride[i], &step) && add_ok(last, step, &last);
        if (!ok)
            return fail(x->cx, E_FORMAT, "the saved tensor %s has sizes or strides that cannot be",
                        name->s);
    }
    v->hi = v->offset;
    return v->offset >= 0 && (v->numel == 0 || add_ok(last, 1, &v->hi))
        ? true
        : fail(x->cx, E_FORMAT, "the saved tensor %s has an offset that cannot be", name->s);
}

static bool fits(Exported *x, Str name, const SavedView *v)
{
    int64_t bytes;
    uint64_t have = v->st->bytes.len;
    if (v->numel == 0)
        return true;
    if (have == 0)
        return refuse_tensor(
            x, name, "the file has no data for it; the model was saved with fake or meta weights");
    if (!mul_ok(v->hi, (int64_t)dtype_size(v->dtype), &bytes) || (uint64_t)bytes > have)
        return fail(x->cx, E_FORMAT,
                    "the saved tensor %s needs %lld elements of %s%s, which has %llu bytes",
                    name->s, (long long)v->hi, v->st->archive, v->st->record,
                    (unsigned long long)have);
    return true;
}

static bool contiguous(const SavedView *v)
{
    int64_t expected = 1;
    for (int i = v->rank - 1; i >= 0 && v->numel > 0; i--) {
        if (v->size[i] != 1 && v->stride[i] != expected)
            return false;
        expected *= v->size[i];
    }
    return true;
}

/* The constant of a saved view: its bytes are the storage's from the view's first element on,
 * strides only where the view is not contiguous. Entries of the state_dict keep their name, others
 * only derive theirs from it. */
static const Const *const_of(Exported *x, const SavedView *v, Str name, bool is_entry)
{
    keep_begin(x->cx);
    Const *k = new(x->cx, Const);
    k->dtype = v->dtype;
    k->rank = v->rank;
    k->dims = mem_copy(x->cx, v->size, (size_t)v->rank * sizeof *v->size);
    if (!contiguous(v))
        k->strides = mem_copy(x->cx, v->stride, (size_t)v->rank * sizeof *v->stride);
    keep_end(x->cx);
    k->bytes = v->st->bytes;
    if (v->numel > 0) {
        uint64_t skip = (uint64_t)v->offset * dtype_size(v->dtype);
        k->bytes.off += skip;
        k->bytes.len -= skip;
    }
    k->name = is_entry ? name : NULL;
    k->derived = is_entry ? NULL : name;
    k->storage = v->numel > 0 ? v->st : NULL;
    return k;
}

/* ---- configs ---- */

static bool read_meta(Exported *x, Json *j, Payload *p)
{
    ExTensor t;
    if (!ex_tensor_meta(x, j, &t))
        return false;
    p->has_meta = true;
    p->dtype = t.type.dtype;
    p->rank = t.type.rank;
    p->layout = t.layout;
    p->is_static = t.is_static;
    if (!t.is_static)
        return true;
    p->offset = t.offset;
    p->size = mem_copy(x->cx, t.size, (size_t)p->rank * sizeof *t.size);
    p->stride = mem_copy(x->cx, t.stride, (size_t)p->rank * sizeof *t.stride);
    return p->size && p->stride;
}

/* An entry of a config: {"path_name": "weight_0", "is_param": true, "use_pickle": false,
 * "tensor_meta": {..}}. */
static bool read_payload(Exported *x, Json *j, Payload *p)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        bool meta = str_is(key, "tensor_meta") && json_peek(j) != J_NULL;
        bool ok;
        if (meta)
            ok = read_meta(x, j, p);
        else if (str_is(key, "path_name"))
            ok = json_str(j, &p->path);
        else if (str_is(key, "use_pickle"))
            ok = json_bool(j, &p->use_pickle);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    return !j->failed;
}

/* {name: PayloadMeta, ..} */
static bool read_payloads(Exported *x, Json *j, Store *s)
{
    Str name;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &name)) {
        Payload *p = new(x->cx, Payload);
        if (!read_payload(x, j, p))
            return false;
        if (map_find(&s->payload, name))
            return fail(x->cx, E_FORMAT, "%s describes %s twice", j->record, name->s);
        map_put(x->cx, &s->payload, name, p);
    }
    return !j->failed;
}

/* {"config": {..}} */
static bool read_config(Exported *x, Store *s, const char *record)
{
    const ZipEntry *e = zip_find_in_root(x->zip, record);
    Slice text;
    Str key;
    if (!e)
        return fail(x->cx, E_FORMAT, "the package has no record %s", record);
    if (!zip_slice(x->cx, x->zip, e, &text))
        return false;
    Json j = json_over(x->cx, record, text);
    if (!json_enter_object(&j))
        return false;
    while (json_key(&j, &key))
        if (!(str_is(key, "config") ? read_payloads(x, &j, s) : json_skip(&j)))
            return false;
    zip_give(x->cx, text);
    return !j.failed;
}

static bool view_of_payload(Exported *x, Store *s, const Payload *p, Str name, SavedView *v)
{
    if (!p->has_meta || !p->path)
        return refuse_tensor(x, name, "it is an object of a class, not a tensor");
    if (p->layout != 7)
        return refuse_tensor(x, name, "it is sparse; save x.to_dense()");
    if (!p->is_static)
        return fail(x->cx, E_FORMAT, "the saved tensor %s has no fixed size", name->s);
    v->dtype = p->dtype;
    v->rank = p->rank;
    v->offset = p->offset;
    memcpy(v->size, p->size, (size_t)p->rank * sizeof *p->size);
    memcpy(v->stride, p->stride, (size_t)p->rank * sizeof *p->stride);
    v->st = storage_of(x, x->zip, "", s->folder, p->path);
    return v->st != NULL;
}

/* ---- nested archives of torch.save ---- */

static const char *const allowed[] = {
    "collections OrderedDict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_tensor_v3",
    "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_meta_tensor_no_storage",
    "torch *",
    "torch.storage *",
    "torch.nn.parameter *",
    NULL,
};

/* classes: those that the pickle may name; NULL: any, as what it is shall be said. */
static bool open_nested(Exported *x, const ZipEntry *e, const char *const *classes, Nested *out)
{
    Bytes b;
    Slice text;
    if (!zip_bytes(x->cx, x->zip, e, &b))
        return false;
    Where here = { .up = x->cx->at, .kind = WHERE_RECORD, .name = str_of(x->cx, e->name) };
    x->cx->at = &here;
    out->zip = zip_open(x->cx, b.src, b.off, b.len);
    const ZipEntry *data = out->zip ? zip_find_in_root(out->zip, "data.pkl") : NULL;
    if (out->zip && !data)
        fail(x->cx, E_FORMAT, "it is no torch.save archive: it has no data.pkl");
    if (data && zip_slice(x->cx, out->zip, data, &text)) {
        out->root = pickle_read(x->cx, text, "data.pkl", classes);
        zip_give(x->cx, text);
    }
    out->prefix = str_fmt(x->cx, "%s!", e->name);
    x->cx->at = here.up;
    return out->root != NULL;
}

static bool is_call(const Pickle *p, const char *name)
{
    return p->tag == P_CALL && str_is(p->fn->global.module, "torch._utils") &&
        str_is(p->fn->global.name, name) && p->args->tag == P_TUPLE;
}

static bool ints_of(const Pickle *p, int64_t out[MAX_RANK], int *n)
{
    if ((p->tag != P_TUPLE && p->tag != P_LIST) || p->seq.n > MAX_RANK)
        return false;
    for (size_t i = 0; i < p->seq.n; i++) {
        if (p->seq.at[i]->tag != P_INT)
            return false;
        out[i] = p->seq.at[i]->i;
    }
    *n = (int)p->seq.n;
    return true;
}

/* pid := ("storage", torch.XStorage, key, location, numel) */
static bool storage_of_pid(Exported *x, const Nested *from, const Pickle *p, SavedView *v)
{
    bool quantised;
    if (p->tag != P_PERSISTENT || p->pid->tag != P_TUPLE || p->pid->seq.n != 5 ||
        p->pid->seq.at[1]->tag != P_GLOBAL || p->pid->seq.at[2]->tag != P_STR)
        return fail(x->cx, E_FORMAT, "a pickled tensor has no storage");
    v->dtype = dtype_of_storage(p->pid->seq.at[1]->global.name, &quantised);
    if (quantised)
        v->dtype = DT_NONE;
    v->st = storage_of(x, from->zip, from->prefix->s, "data/", p->pid->seq.at[2]->s);
    return v->st != NULL;
}

/* _rebuild_from_type_v2(function, class, ..): a tensor of a class of its own, whose parts are plain
 * ones. */
static bool refuse_class(Exported *x, Str name, const Pickle *p)
{
    bool subclass = p->tag == P_CALL && str_is(p->fn->global.name, "_rebuild_from_type_v2") &&
        p->args->tag == P_TUPLE && p->args->seq.n > 1 && p->args->seq.at[1]->tag == P_GLOBAL;
    if (!subclass)
        return refuse_tensor(x, name, "it is no plain tensor");
    const Pickle *cls = p->args->seq.at[1];
    refuse_tensor(x, name,
                  str_fmt(x->cx, "it is a tensor of a class of its own, %s.%s",
                          cls->global.module->s, cls->global.name->s)
                      ->s);
    fail_hint(x->cx, "save program.run_decompositions({}), which takes such tensors apart");
    return false;
}

/* _rebuild_tensor_v2(storage, offset, sizes, strides, ..), whose storage has the type; of types
 * that have no storage class (float8, uint16) _rebuild_tensor_v3, with the type as argument 6. */
static bool view_of_pickle(Exported *x, const Nested *from, const Pickle *p, Str name, SavedView *v)
{
    int n_stride = 0;
    if (is_call(p, "_rebuild_parameter") && p->args->seq.n > 0)
        p = p->args->seq.at[0];
    if (is_call(p, "_rebuild_meta_tensor_no_storage"))
        return refuse_tensor(x, name, "it is on the meta device and has no data");
    bool typed = is_call(p, "_rebuild_tensor_v3");
    if (!typed && !is_call(p, "_rebuild_tensor_v2"))
        return refuse_class(x, name, p);
    Pickle *const *at = p->args->seq.at;
    if (p->args->seq.n < (typed ? 7 : 4) || (typed && at[6]->tag != P_GLOBAL) ||
        at[1]->tag != P_INT || !ints_of(at[2], v->size, &v->rank) ||
        !ints_of(at[3], v->stride, &n_stride) || n_stride != v->rank)
        return fail(x->cx, E_FORMAT,
                    "the saved tensor %s is described in another way than torch does", name->s);
    v->offset = at[1]->i;
    if (!storage_of_pid(x, from, at[0], v))
        return false;
    if (typed)
        v->dtype = dtype_named(at[6]->global.name->s, at[6]->global.name->len);
    return true;
}

static bool index_nested(Exported *x, Store *s)
{
    const Pickle *root = s->nested.root;
    if (root->tag != P_DICT)
        return fail(x->cx, E_FORMAT, "%s holds no dict of tensors", s->nested.prefix->s);
    for (size_t i = 0; i + 1 < root->seq.n; i += 2)
        if (root->seq.at[i]->tag == P_STR)
            map_put(x->cx, &s->pickled, root->seq.at[i]->s, root->seq.at[i + 1]);
    return true;
}

/* The first of these records that is there: all of the store is in it. */
static bool open_store(Exported *x, Store *s, const char *const *records, const char *config)
{
    for (; *records; records++) {
        const ZipEntry *e = zip_find_in_root(x->zip, *records);
        if (e && e->size == 0)
            return true;
        if (e)
            return open_nested(x, e, allowed, &s->nested) && index_nested(x, s);
    }
    return config ? read_config(x, s, config) : true;
}

/* What is read lies in memory of its own, until ex_close_stores. */
static bool open_in_phase(Exported *x, Store *s, const char *const *records, const char *config)
{
    PhaseAround around = phase_begin(x->cx, PHASE_PICKLES);
    bool ok = open_store(x, s, records, config);
    phase_end(x->cx, around);
    return ok;
}

/* Where weights and constants are: one .pt for each in old packages, else a folder with a record
 * for each tensor and a config that names them, or a .pt inside that folder. */
bool ex_open_stores(Exported *x)
{
    Stores *st = x->stores = new(x->cx, Stores);
    st->at[EX_WEIGHTS].folder = "data/weights/";
    st->at[EX_CONSTANTS].folder = "data/constants/";
    if (x->generation == FILE_PT2_OLD) {
        static const char *const weights[] = { "serialized_state_dict.pt",
                                               "serialized_state_dict.json", NULL };
        static const char *const constants[] = { "serialized_constants.pt",
                                                 "serialized_constants.json", NULL };
        return open_in_phase(x, &st->at[EX_WEIGHTS], weights, NULL) &&
            open_in_phase(x, &st->at[EX_CONSTANTS], constants, NULL);
    }
    static const char *const folders[] = { "data/weights/", "data/constants/" };
    static const char *const kinds[] = { "weights", "constants" };
    for (int i = 0; i < 2; i++) {
        const char *nested[] = { str_fmt(x->cx, "%s%s.pt", folders[i], x->model->s)->s, NULL };
        if (!open_in_phase(
                x, &st->at[i], nested,
                str_fmt(x->cx, "%s%s_%s_config.json", folders[i], x->model->s, kinds[i])->s))
            return false;
    }
    return true;
}

void ex_close_stores(Exported *x)
{
    map_give(x->cx, &x->stores->storages);
    x->stores = NULL;
    phase_forget(x->cx, PHASE_PICKLES);
}

/* ---- attributes of the root ---- */

/* A payload that is a torch.save archive of one tensor (a subclass, a custom object). */
static bool open_payload(Exported *x, const Store *s, const Payload *p, Str name, Saved *out)
{
    const ZipEntry *e = p->path ? zip_find_in(x->zip, s->folder, p->path->s) : NULL;
    if (!e)
        return fail(x->cx, E_FORMAT, "the package has no data for %s", name->s);
    PhaseAround around = phase_begin(x->cx, PHASE_PICKLES);
    bool ok = open_nested(x, e, NULL, &out->from);
    phase_end(x->cx, around);
    out->p = out->from.root;
    return ok;
}

/* The pickle of this name; out->p stays NULL where the tensor is stored without one. */
static bool find_pickle(Exported *x, const Store *s, Str name, Saved *out)
{
    const Saved *part = map_get(&s->parts, name);
    const Pickle *pickled = map_get(&s->pickled, name);
    const Payload *payload = map_get(&s->payload, name);
    *out = (Saved){ .from = s->nested, .p = pickled };
    if (part)
        *out = *part;
    else if (!pickled && payload && payload->use_pickle)
        return open_payload(x, s, payload, name, out);
    return true;
}

static bool find_view(Exported *x, Store *s, Str name, SavedView *v)
{
    const Payload *payload = map_get(&s->payload, name);
    Saved saved;
    if (!find_pickle(x, s, name, &saved))
        return false;
    if (saved.p)
        return view_of_pickle(x, &saved.from, saved.p, name, v);
    if (!payload)
        return fail(x->cx, E_FORMAT, "the file has no data for %s", name->s);
    return view_of_payload(x, s, payload, name, v);
}

/* The dict of a tensor subclass that wraps others:
 * _rebuild_from_type_v2(_rebuild_wrapper_subclass, class, args, {"qdata": tensor, ..}). NULL: p is
 * none. */
static const Pickle *wrapper_dict(const Pickle *p)
{
    bool typed = p->tag == P_CALL && str_is(p->fn->global.module, "torch._tensor") &&
        str_is(p->fn->global.name, "_rebuild_from_type_v2") && p->args->tag == P_TUPLE &&
        p->args->seq.n == 4;
    if (!typed)
        return NULL;
    const Pickle *function = p->args->seq.at[0];
    const Pickle *dict = p->args->seq.at[3];
    bool wrapper = function->tag == P_GLOBAL &&
        str_is(function->global.name, "_rebuild_wrapper_subclass") && dict->tag == P_DICT;
    return wrapper ? dict : NULL;
}

/* *apart: the entry is a tensor subclass that wraps others (torchao's weights), which are entries
 * now: fc.weight.qdata, fc.weight.scale. */
bool ex_take_apart(Exported *x, ExStore store, Str name, bool *apart)
{
    Store *s = &stores_of(x)->at[store];
    Saved whole;
    *apart = false;
    if (!find_pickle(x, s, name, &whole))
        return false;
    const Pickle *dict = whole.p ? wrapper_dict(whole.p) : NULL;
    size_t n = dict ? dict->seq.n : 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        if (dict->seq.at[i]->tag != P_STR)
            continue;
        Saved *part = new(x->cx, Saved);
        *part = (Saved){ .from = whole.from, .p = dict->seq.at[i + 1] };
        map_put(x->cx, &s->parts, str_fmt(x->cx, "%s.%s", name->s, dict->seq.at[i]->s->s), part);
    }
    *apart = dict != NULL;
    return !ctx_failed(x->cx);
}

static bool same_view(const Const *a, const Const *b)
{
    size_t n = (size_t)a->rank * sizeof *a->dims;
    return a->dtype == b->dtype && a->rank == b->rank && a->bytes.off == b->bytes.off &&
        memcmp(a->dims, b->dims, n) == 0 && !a->strides == !b->strides &&
        (!a->strides || memcmp(a->strides, b->strides, n) == 0);
}

/* The bytes that k touches, from the start of its source. */
static uint64_t end_of(const Const *k)
{
    uint64_t last = 0;
    if (!k->strides)
        return k->bytes.off + (uint64_t)const_numel(k) * dtype_size(k->dtype);
    for (int i = 0; i < k->rank; i++)
        last += (uint64_t)(k->dims[i] - 1) * (uint64_t)k->strides[i];
    return k->bytes.off + (last + 1) * dtype_size(k->dtype);
}

/* Tied weights are one storage; views that overlap without being equal may not be written to. */
static void find_sharing(Exported *x, const SavedView *v, ExState *made, uint32_t index)
{
    made->same = index;
    made->older = v->st->newest;
    uint32_t next = made->k->storage ? made->older : 0;
    for (; next > 0; next = x->state.at[next - 1].older) {
        ExState *other = &x->state.at[next - 1];
        if (same_view(other->k, made->k)) {
            made->same = other->same;
            made->k = other->k;
            made->shared_bytes = other->shared_bytes;
            return;
        }
        if (other->k->bytes.off < end_of(made->k) && made->k->bytes.off < end_of(other->k))
            made->shared_bytes = other->shared_bytes = true;
    }
    v->st->newest = index + 1;
}

/* *index: the tensor's place in x->state, the same for the same name. It is loaded once, checked
 * against its storage, and known as sharing memory with what was loaded before. */
bool ex_state(Exported *x, ExStore store, Str name, bool parameter, bool persistent, size_t *index)
{
    uintptr_t known = (uintptr_t)map_get(&x->state_by_name, name);
    if (known) {
        *index = known - 1;
        return true;
    }
    SavedView v = { 0 };
    if (!find_view(x, &stores_of(x)->at[store], name, &v))
        return false;
    if (v.dtype == DT_NONE)
        return refuse_tensor(x, name, "ONNX has no such element type");
    if (!measure(x, name, &v) || !fits(x, name, &v))
        return false;
    bool is_entry = store == EX_WEIGHTS;
    ExState made = { .name = name,
                     .k = const_of(x, &v, name, is_entry),
                     .parameter = parameter,
                     .persistent = persistent };
    *index = x->state.n;
    if (*index >= UINT32_MAX)
        return fail(x->cx, E_LIMIT, "more than %u weights", UINT32_MAX);
    find_sharing(x, &v, &made, (uint32_t)*index);
    map_put(x->cx, &x->state_by_name, name, (void *)(*index + 1));
    if (is_entry && program_is_shown(x->cx))
        vec_push(x->cx, &x->p->weights,
                 (Weight){
                     .name = name, .k = made.k, .parameter = parameter, .persistent = persistent });
    return vec_push(x->cx, &x->state, made);
}

/* ---- the root object, for each evaluation ---- */

static Value tensor_of(Ctx *cx, Program *p, const Exported *x, const ExState *s, Storage **shared)
{
    Tensor *t = tensor_saved(cx, ox_const(p->graph, s->k), s->k);
    Storage **same = &shared[s->same];
    if (!*same) {
        *same = t->st;
        t->st->name = x->state.at[s->same].name;
        t->st->state = true;
        t->st->shared_bytes = s->shared_bytes;
    }
    t->st = *same;
    return (Value){ .tag = V_TENSOR, .t = t };
}

bool ex_build_root(Ctx *cx, Program *p, Value *out)
{
    const Exported *x = p->front;
    size_t n = x->state.n;
    Str *names = new_array(cx, Str, n);
    Storage **shared = new_array(cx, Storage *, n);
    if (!names || !shared)
        return false;
    for (size_t i = 0; i < n; i++)
        names[i] = x->state.at[i].name;
    Obj *root = obj_new(cx, x->cls, (int64_t)n, names, str_of(cx, ""));
    for (size_t i = 0; i < n && !ctx_failed(cx); i++)
        cell_init(&root->slot[i], tensor_of(cx, p, x, &x->state.at[i], shared));
    mem_give(cx, shared, n * sizeof *shared);
    *out = (Value){ .tag = V_OBJ, .obj = root };
    return !ctx_failed(cx);
}
