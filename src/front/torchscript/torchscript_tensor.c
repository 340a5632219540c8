/* torchscript_tensor.c - the pickled tensors of a TorchScript archive: views over storage records.
 *
 * Each is read once and checked against its record, whose bytes stay where they are. What describes
 * it goes with the values of its pickle; the constants that graphs are made of stay.
 * What cannot be used (sparse, a foreign element type, no data) is a SavedTensor too, with the
 * reason: only a program that needs it fails. */
#include "base/limits.h"
#include "front/internal.h"

/* ---- what a pickled value is ---- */

bool pickle_is_call(const Pickle *p, const char *module, const char *name)
{
    return p->tag == P_CALL && str_is(p->fn->global.module, module) &&
        str_is(p->fn->global.name, name);
}

bool pickle_is_tensor(const Pickle *p)
{
    return pickle_is_call(p, "torch._utils", "_rebuild_tensor_v2") ||
        pickle_is_call(p, "torch._utils", "_rebuild_qtensor") ||
        pickle_is_call(p, "torch._utils", "_rebuild_sparse_tensor");
}

/* A number, a bool, a string, None: nothing in it has a name. */
bool pickle_is_plain(const Pickle *p)
{
    return p->tag == P_NONE || p->tag == P_BOOL || p->tag == P_INT || p->tag == P_FLOAT ||
        p->tag == P_STR;
}

/* An object of model.json with a state of its own had its attributes set before: they are NEWOBJ's
 * argument. */
const Pickle *pickle_earlier_attributes(const Pickle *p)
{
    const Pickle *args = p->args;
    return args->tag == P_TUPLE && args->seq.n == 1 && args->seq.at[0]->tag == P_DICT
        ? args->seq.at[0]
        : NULL;
}

/* ---- storages and tensors ---- */

static bool bad_tensor(Ctx *cx, const char *what)
{
    return fail(cx, E_FORMAT, "a pickled tensor %s", what);
}

/* pid := ("storage", torch.XStorage, key, location, numel, ..) */
static bool read_pid(Ctx *cx, const Pickle *p, const Pickle **type, Str *key, Str *location,
                     int64_t *numel)
{
    if (p->tag != P_PERSISTENT || p->pid->tag != P_TUPLE || p->pid->seq.n < 5)
        return bad_tensor(cx, "has no storage");
    Pickle *const *at = p->pid->seq.at;
    if (at[0]->tag != P_STR || !str_is(at[0]->s, "storage") || at[1]->tag != P_GLOBAL ||
        at[2]->tag != P_STR || at[3]->tag != P_STR || at[4]->tag != P_INT || at[4]->i < 0)
        return bad_tensor(cx, "has a storage that is described in another way than torch does");
    *type = at[1];
    *key = at[2]->s;
    *location = at[3]->s;
    *numel = at[4]->i;
    return true;
}

/* The record's bytes; nothing is read. traced_inputs/ has empty records, and a storage without
 * elements may have none. */
static bool storage_bytes(Ctx *cx, TorchScript *ts, SavedStorage *st, const ZipEntry *record,
                          const char *dir, Str key, int64_t numel)
{
    if (record)
        return zip_bytes(cx, ts->zip, record, &st->bytes);
    if (numel > 0 && !st->meta && strcmp(dir, "traced_inputs/"))
        return fail(cx, E_FORMAT, "the archive has no record %s%s, which a tensor's storage names",
                    dir, key->s);
    st->bytes = (Bytes){ .src = source_memory(cx, "", 0) };
    return true;
}

/* Do the storages of data.pkl lie in this folder? */
static bool is_of_data(const TorchScript *ts, const char *dir)
{
    return strcmp(dir, ts->data_dir) == 0;
}

/* A storage of a record is known by the number of that, from 1 on, another one by its name. */
static SavedStorage *add_storage(Ctx *cx, SavedStorages *all, const void *identity)
{
    SavedStorage *st = new(cx, SavedStorage);
    st->identity = identity;
    st->older = all->newest;
    all->newest = st;
    return st;
}

/* The storage of a record, or the one that was made for it before. *made: is it new? NULL after an
 * error. */
static SavedStorage *storage_of_record(Ctx *cx, TorchScript *ts, SavedStorages *all,
                                       const ZipEntry *record, bool *made)
{
    if (!all->of_record)
        all->of_record = new_array(cx, SavedStorage *, ts->zip->n);
    if (!all->of_record)
        return NULL;
    size_t i = (size_t)(record - ts->zip->entry);
    *made = !all->of_record[i];
    if (*made)
        all->of_record[i] = add_storage(cx, all, (const void *)(i + 1));
    return all->of_record[i];
}

static SavedStorage *storage_of_missing(Ctx *cx, SavedStorages *all, Str name, bool *made)
{
    SavedStorage *st = map_get(&all->missing, name);
    *made = !st;
    if (st)
        return st;
    st = add_storage(cx, all, name);
    map_put(cx, &all->missing, name, st);
    return st;
}

/* The storage that a persistent id names: dir is the folder of its record. Made once for each
 * record; NULL after an error. */
static SavedStorage *storage_of(Ctx *cx, TorchScript *ts, const Pickle *pid, const char *dir)
{
    const Pickle *type;
    Str key, location;
    int64_t numel;
    bool made;
    if (!read_pid(cx, pid, &type, &key, &location, &numel) || !zip_again(cx, ts->zip))
        return NULL;
    SavedStorages *all = is_of_data(ts, dir) ? &ts->storages : &ts->other_storages;
    const ZipEntry *record = zip_find_in(ts->zip, dir, key->s);
    SavedStorage *st = record ? storage_of_record(cx, ts, all, record, &made)
                              : storage_of_missing(cx, all, str_cat(cx, dir, key->s, ""), &made);
    if (!st || !made)
        return st;
    st->meta = str_is(location, "meta");
    st->type_name = type->global.name;
    st->dtype = dtype_of_storage(type->global.name, &st->quantised);
    return storage_bytes(cx, ts, st, record, dir, key, numel) ? st : NULL;
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
static bool extent(Ctx *cx, int64_t offset, int rank, const int64_t *dims, const int64_t *strides,
                   int64_t *hi)
{
    int64_t last = offset;
    int64_t numel = 1;
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

/* "data/12" */
static const char *record_name(const TorchScript *ts, const SavedStorage *st)
{
    uintptr_t number = (uintptr_t)st->identity;
    return number <= ts->zip->n ? ts->zip->entry[number - 1].name + ts->zip->root->len
                                : ((Str)st->identity)->s;
}

static bool fits_record(Ctx *cx, const TorchScript *ts, const SavedTensor *t)
{
    int64_t most;
    if (t->hi == t->lo)
        return true;
    if (!mul_ok(t->hi, (int64_t)dtype_size(t->st->dtype), &most) ||
        dtype_bytes(t->st->dtype, (uint64_t)t->hi) > t->st->bytes.len)
        return fail(cx, E_FORMAT, "a tensor needs %lld elements of %s, which has %llu bytes",
                    (long long)t->hi, record_name(ts, t->st), (unsigned long long)t->st->bytes.len);
    return true;
}

/* The tensor's constant, which stays when the tensor is forgotten: graphs are made of it. */
static bool make_const(Ctx *cx, SavedTensor *t, int rank, const int64_t *dims,
                       const int64_t *strides)
{
    keep_begin(cx);
    Const *k = new(cx, Const);
    uint64_t skip = (uint64_t)t->lo * dtype_size(t->st->dtype);
    k->dtype = t->st->dtype;
    k->rank = rank;
    k->dims = mem_copy(cx, dims, (size_t)rank * sizeof *dims);
    if (!is_contiguous(rank, dims, strides))
        k->strides = mem_copy(cx, strides, (size_t)rank * sizeof *strides);
    keep_end(cx);
    k->bytes = t->st->bytes;
    if (t->hi > t->lo) {
        k->bytes.off += skip;
        k->bytes.len -= skip;
    }
    k->storage = t->st->identity;
    t->k = k;
    return true;
}

/* Lazily conjugated or negated data would need arithmetic that nothing here does. */
static const char *lazy_flag(const Pickle *args, size_t at)
{
    if (args->seq.n <= at || args->seq.at[at]->tag != P_CALL)
        return NULL;
    const Pickle *tagged = args->seq.at[at]->args;
    bool any = tagged->tag == P_TUPLE && tagged->seq.n > 0 && tagged->seq.at[0]->tag == P_DICT &&
        tagged->seq.at[0]->seq.n > 0;
    return any ? "it is lazily conjugated or negated; save x.resolve_conj().resolve_neg()" : NULL;
}

/* The storage that a tensor is built on: a persistent id, or another tensor, whose storage it
 * shares, as PyTorch's C++ takes the one for the other. NULL after an error. */
static SavedStorage *storage_under(Ctx *cx, TorchScript *ts, const Pickle *p, const char *dir)
{
    if (!pickle_is_tensor(p))
        return storage_of(cx, ts, p, dir);
    SavedTensor *t = ts_tensor(cx, ts, p, dir);
    if (t && !t->st)
        bad_tensor(cx, "is built on a tensor that has no storage");
    return t ? t->st : NULL;
}

/* (storage, offset, size, stride, ..) */
static bool strided(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *args, const char *dir,
                    size_t flags_at)
{
    int64_t dims[MAX_RANK], strides[MAX_RANK];
    int rank, n_strides;
    if (args->tag != P_TUPLE || args->seq.n < 6)
        return bad_tensor(cx, "has too few arguments");
    Pickle *const *at = args->seq.at;
    if (!(t->st = storage_under(cx, ts, at[0], dir)) || !int_tuple(cx, at[2], dims, &rank) ||
        !int_tuple(cx, at[3], strides, &n_strides))
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
    else if (t->st->dtype == DT_UINT4 && (t->lo > 0 || !is_contiguous(rank, dims, strides)))
        t->why = "it is a part of a tensor of 4 bits; save x.contiguous()";
    if (!t->why && strcmp(dir, "traced_inputs/") && !fits_record(cx, ts, t))
        return false;
    t->older = t->st->newest;
    t->st->newest = t;
    return make_const(cx, t, rank, dims, strides);
}

enum { PER_TENSOR, PER_CHANNEL };

/* A scheme is torch.per_tensor_affine, torch.per_channel_affine.. or its number in c10::QScheme.
 * -1: no scheme. */
static int scheme_of(const Pickle *p)
{
    if (p->tag == P_GLOBAL)
        return str_is(p->global.name, "per_tensor_affine") ? PER_TENSOR : PER_CHANNEL;
    return p->tag == P_INT && (p->i == PER_TENSOR || p->i == PER_CHANNEL) ? (int)p->i : -1;
}

/* Is v a number of this type of quantised integers, which have 32 bits at most? */
static bool holds(DType t, int64_t v)
{
    int64_t numbers = INT64_C(1) << dtype_bits(t);
    int64_t least = dtype_is_signed(t) ? -numbers / 2 : 0;
    return v >= least && v < least + numbers;
}

/* qparams := (per_tensor, scale, zero_point) | (per_channel, scales, zero_points, axis) */
static bool quantised(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *args, const char *dir)
{
    const Pickle *q = args->tag == P_TUPLE && args->seq.n > 4 ? args->seq.at[4] : NULL;
    if (!q || q->tag != P_TUPLE || q->seq.n < 3 || scheme_of(q->seq.at[0]) < 0)
        return bad_tensor(cx, "has no quantisation parameters");
    Pickle *const *at = q->seq.at;
    SavedQuant *made = new(cx, SavedQuant);
    t->quant = made;
    if (scheme_of(at[0]) == PER_TENSOR) {
        if (at[1]->tag != P_FLOAT || at[2]->tag != P_INT)
            return bad_tensor(cx, "has a scale or zero point that is no number");
        made->axis = -1;
        made->scale = at[1]->f;
        made->zero_point = at[2]->i;
    } else {
        if (q->seq.n < 4 || at[3]->tag != P_INT || at[3]->i < 0 || at[3]->i >= MAX_RANK)
            return bad_tensor(cx, "is quantised by channel without an axis");
        made->axis = (int)at[3]->i;
        if (!(made->scales = ts_tensor(cx, ts, at[1], dir)) ||
            !(made->zero_points = ts_tensor(cx, ts, at[2], dir)))
            return false;
    }
    if (!strided(cx, ts, t, args, dir, 7))
        return false;
    if (t->st->dtype == DT_NONE)
        return true;
    if (!t->st->quantised)
        return bad_tensor(cx, "is quantised, but its storage is not");
    if (made->axis >= t->k->rank)
        return bad_tensor(cx, "is quantised along an axis that it does not have");
    return made->axis >= 0 || holds(t->st->dtype, made->zero_point) ||
        bad_tensor(cx, "has a zero point that is no number of its type");
}

static bool read_tensor(Ctx *cx, TorchScript *ts, SavedTensor *t, const Pickle *call,
                        const char *dir)
{
    if (pickle_is_call(call, "torch._utils", "_rebuild_tensor_v2")) {
        bool good = strided(cx, ts, t, call->args, dir, 6);
        if (good && t->st->quantised && !t->why)
            t->why = "its storage is quantised, but nothing tells the scale";
        return good;
    }
    if (pickle_is_call(call, "torch._utils", "_rebuild_qtensor"))
        return quantised(cx, ts, t, call->args, dir);
    t->why = "it is sparse; save x.to_dense()";
    return true;
}

SavedTensor *ts_known_tensor(const Pickle *call) { return call->tag == P_CALL ? call->made : NULL; }

/* The tensor that a call of the pickle rebuilds. dir is the folder of its storages. Made once for
 * each call; NULL after an error. */
SavedTensor *ts_tensor(Ctx *cx, TorchScript *ts, const Pickle *call, const char *dir)
{
    SavedTensor *t = ts_known_tensor(call);
    if (t)
        return t;
    if (!pickle_is_tensor(call)) {
        bad_tensor(cx, "is expected where the pickle has something else");
        return NULL;
    }
    PhaseAround around = phase_begin(cx, is_of_data(ts, dir) ? PHASE_PICKLES : PHASE_PROGRAM);
    t = new(cx, SavedTensor);
    t->id = call->id;
    t->same = t;
    MUTABLE(Pickle, call)->made = t;
    bool good = read_tensor(cx, ts, t, call, dir);
    phase_end(cx, around);
    return good ? t : NULL;
}
