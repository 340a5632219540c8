/* torchscript_legacy.c - archives of PyTorch 1.0 to 1.3, whose module tree is a JSON record instead
 * of a pickle.
 *
 * model.json is a protobuf message in protobuf's JSON: a table of tensors, and a tree of modules
 * with their parameters, attributes and one code record of bare functions each. It becomes what
 * later releases wrote: pickled objects of classes. So torchscript_tensor.c and torchscript_state.c
 * read both kinds of archive, and only this file knows of the older one. Values of attributes stand
 * in attributes.pkl, which names tensors by their place in the table; so does CONSTANTS.cN of the
 * code. */
#include <stdlib.h>

#include "base/limits.h"
#include "front/internal.h"

/* A module of the tree, while it is read. */
typedef struct Legacy {
    Ctx *cx;
    TorchScript *ts;
    VEC(Pickle *) tensors; /* the table */
    const Pickle *values;  /* attributes.pkl; NULL: there is none */
    uint32_t made;         /* ids of the pickled values that are made here */
} Legacy;

static const char *const attribute_globals[] = { "torch.jit._pickle *",     "__main__ TensorID",
                                                 "__main__ IntList",        "__torch__*",
                                                 "collections OrderedDict", NULL };

/* ---- pickled values that no pickle holds ---- */

static Pickle *made(Legacy *l, PickleTag tag) { return pickle_new(l->cx, tag, l->made++); }

static Pickle *made_int(Legacy *l, int64_t i)
{
    Pickle *p = made(l, P_INT);
    p->i = i;
    return p;
}

static Pickle *made_str(Legacy *l, Str s)
{
    Pickle *p = made(l, P_STR);
    p->s = s;
    return p;
}

static Pickle *made_global(Legacy *l, const char *module, Str name)
{
    Pickle *p = made(l, P_GLOBAL);
    p->global.module = str_of(l->cx, module);
    p->global.name = name;
    return p;
}

static Pickle *made_seq(Legacy *l, PickleTag tag, Pickle *const *items, size_t n)
{
    Pickle *p = made(l, tag);
    p->seq.at = mem_copy(l->cx, items, n * sizeof *items);
    p->seq.n = p->seq.at ? n : 0;
    return p;
}

#define TUPLE_OF(l, ...)                              \
    made_seq(l, P_TUPLE, (Pickle *[]){ __VA_ARGS__ }, \
             sizeof (Pickle *[]){ __VA_ARGS__ } / sizeof(Pickle *))

/* ---- protobuf's JSON ---- */

/* 64-bit integers are strings there. */
static bool read_int(Json *j, int64_t *out)
{
    if (json_peek(j) != J_STRING)
        return json_int(j, out);
    Str s;
    if (!json_str(j, &s))
        return false;
    Json digits = json_over(j->cx, j->record, (Slice){ (const uint8_t *)s->s, s->len });
    return json_int(&digits, out);
}

/* { "key": "tensors/0" } */
static bool read_record_ref(Json *j, Str *out)
{
    Str key;
    *out = NULL;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key))
        if (!(str_is(key, "key") ? json_str(j, out) : json_skip(j)))
            return false;
    return !j->failed;
}

static bool bad_model(Legacy *l, const char *what) { return fail(l->cx, E_FORMAT, "%s", what); }

/* ---- the table of tensors ---- */

typedef struct TensorDef {
    VEC(Pickle *) dims, strides;
    Str type, record;
    int64_t offset, zero_point;
    double scale;
    bool quantised;
} TensorDef;

static bool read_ints(Legacy *l, Json *j, TensorDef *t, bool dims)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j)) {
        int64_t i;
        if (!read_int(j, &i) ||
            !(dims ? vec_push(l->cx, &t->dims, made_int(l, i))
                   : vec_push(l->cx, &t->strides, made_int(l, i))))
            return false;
    }
    return !j->failed;
}

static bool read_tensor_field(Legacy *l, Json *j, Str key, TensorDef *t)
{
    if (str_is(key, "dims") || str_is(key, "strides"))
        return read_ints(l, j, t, str_is(key, "dims"));
    if (str_is(key, "offset"))
        return read_int(j, &t->offset);
    if (str_is(key, "dataType"))
        return json_str(j, &t->type);
    if (str_is(key, "data"))
        return read_record_ref(j, &t->record);
    if (str_is(key, "isQuantized"))
        return json_bool(j, &t->quantised);
    if (str_is(key, "scale"))
        return json_float(j, &t->scale);
    if (str_is(key, "zeroPoint"))
        return read_int(j, &t->zero_point);
    return json_skip(j);
}

/* The storage that later pickles name for an element type of caffe2. */
static Str storage_class(Legacy *l, const TensorDef *t)
{
    static const struct {
        const char *type, *plain, *quantised;
    } rows[] = {
        { "FLOAT", "FloatStorage", NULL },          { "DOUBLE", "DoubleStorage", NULL },
        { "FLOAT16", "HalfStorage", NULL },         { "INT64", "LongStorage", NULL },
        { "INT32", "IntStorage", "QInt32Storage" }, { "INT16", "ShortStorage", NULL },
        { "INT8", "CharStorage", "QInt8Storage" },  { "UINT8", "ByteStorage", "QUInt8Storage" },
        { "BYTE", "ByteStorage", "QUInt8Storage" }, { "BOOL", "BoolStorage", NULL },
    };
    if (t->type)
        for (size_t i = 0; i < COUNT(rows); i++)
            if (str_is(t->type, rows[i].type) && (!t->quantised || rows[i].quantised))
                return str_of(l->cx, t->quantised ? rows[i].quantised : rows[i].plain);
    const char *type = t->type ? t->type->s : "nothing";
    fail(l->cx, E_FORMAT, "a tensor of model.json has %s%s for its element type",
         t->quantised ? "quantised " : "", type);
    return NULL;
}

/* What torch._utils._rebuild_tensor_v2 or _rebuild_qtensor is called with. */
static Pickle *tensor_call(Legacy *l, TensorDef *t)
{
    Str cls = storage_class(l, t);
    if (!cls || !t->record)
        return cls ? bad_model(l, "a tensor of model.json names no record"), NULL : NULL;
    Pickle *pid = made(l, P_PERSISTENT);
    Pickle *none = made(l, P_NONE);
    pid->pid = TUPLE_OF(l, made_str(l, str_of(l->cx, "storage")), made_global(l, "torch", cls),
                        made_str(l, t->record), made_str(l, str_of(l->cx, "cpu")), made_int(l, 1));
    Pickle *dims = made_seq(l, P_TUPLE, t->dims.at, t->dims.n);
    Pickle *strides = made_seq(l, P_TUPLE, t->strides.at, t->strides.n);
    Pickle *p = made(l, P_CALL);
    Pickle *how = none;
    if (t->quantised) {
        Pickle *scale = made(l, P_FLOAT);
        scale->f = t->scale;
        how = TUPLE_OF(l, made_global(l, "torch", str_of(l->cx, "per_tensor_affine")), scale,
                       made_int(l, t->zero_point));
    }
    p->fn = made_global(l, "torch._utils",
                        str_of(l->cx, t->quantised ? "_rebuild_qtensor" : "_rebuild_tensor_v2"));
    p->args = TUPLE_OF(l, pid, made_int(l, t->offset), dims, strides, how, none);
    return p;
}

static bool read_tensors(Legacy *l, Json *j)
{
    Str key;
    if (!json_enter_array(j))
        return false;
    while (json_more(j)) {
        TensorDef t = { 0 };
        if (!limit_ok(l->cx, LIMIT_OBJECTS, l->tensors.n + 1, "tensors") || !json_enter_object(j))
            return false;
        while (json_key(j, &key))
            if (!read_tensor_field(l, j, key, &t))
                return false;
        Pickle *p = j->failed ? NULL : tensor_call(l, &t);
        if (!p || !vec_push(l->cx, &l->tensors, p))
            return false;
    }
    return !j->failed;
}

static Pickle *tensor_at(Legacy *l, int64_t id)
{
    if (id >= 0 && (uint64_t)id < l->tensors.n)
        return l->tensors.at[id];
    fail(l->cx, E_FORMAT, "tensor %lld is named, and model.json lists %zu", (long long)id,
         (size_t)l->tensors.n);
    return NULL;
}

/* ---- attributes.pkl ---- */

/* build_tensor_from_id(3), or, written by 1.1, an object TensorID with the state 3: that tensor. An
 * object IntList: its list. NULL: any other value. False after an error. */
static bool stands_for(Legacy *l, const Pickle *p, Pickle **out)
{
    *out = NULL;
    const Pickle *id = NULL;
    if (pickle_is_call(p, "torch.jit._pickle", "build_tensor_from_id"))
        id = p->args->tag == P_TUPLE && p->args->seq.n == 1 ? p->args->seq.at[0] : p;
    else if (p->tag == P_OBJECT && str_is(p->fn->global.module, "__main__") &&
             str_is(p->fn->global.name, "TensorID"))
        id = p->state ? p->state : p;
    else if (p->tag == P_OBJECT && str_is(p->fn->global.module, "__main__"))
        *out = p->state;
    if (!id)
        return true;
    if (id->tag != P_INT)
        return bad_model(l, "attributes.pkl names a tensor in another way than torch does");
    return (*out = tensor_at(l, id->i)) != NULL;
}

static bool resolve(Legacy *l, Map *seen, Pickle **at);

static bool resolve_items(Legacy *l, Map *seen, Pickle *p)
{
    for (size_t i = 0; i < p->seq.n; i++)
        if (!resolve(l, seen, &p->seq.at[i]))
            return false;
    return true;
}

/* Puts the tensors in their places; each value once, because a list may be reached by many ways. */
static bool resolve(Legacy *l, Map *seen, Pickle **at)
{
    Pickle *p = *at, *instead;
    if (!stands_for(l, p, &instead))
        return false;
    if (instead)
        p = *at = instead;
    if (map_find(seen, p))
        return true;
    map_put(l->cx, seen, p, p);
    if (p->tag == P_TUPLE || p->tag == P_LIST || p->tag == P_DICT)
        return resolve_items(l, seen, p);
    if (p->tag == P_CALL && str_is(p->fn->global.module, "torch.jit._pickle"))
        return resolve(l, seen, &p->args);
    return p->tag != P_OBJECT || !p->state || resolve(l, seen, &p->state);
}

static bool read_attributes(Legacy *l)
{
    Slice data;
    const ZipEntry *e = zip_find_in_root(l->ts->zip, "attributes.pkl");
    if (!e)
        return true;
    if (!zip_slice(l->cx, l->ts->zip, e, &data))
        return false;
    Pickle *all = pickle_read(l->cx, data, "attributes.pkl", attribute_globals);
    Map seen = { 0 };
    if (all && all->tag != P_TUPLE && all->tag != P_LIST)
        return bad_model(l, "attributes.pkl holds neither a tuple nor a list");
    l->values = all;
    return all && resolve(l, &seen, &all);
}

/* -1: what __setstate__ will set. */
static Pickle *value_at(Legacy *l, int64_t id)
{
    if (id < 0)
        return made(l, P_NONE);
    if (l->values && (uint64_t)id < l->values->seq.n)
        return l->values->seq.at[id];
    fail(l->cx, E_FORMAT, "attribute %lld is named, and attributes.pkl has %zu", (long long)id,
         l->values ? l->values->seq.n : (size_t)0);
    return NULL;
}

/* ---- modules ---- */

typedef struct ModuleDef {
    ClassDef *def;
    Str path;
    VEC(Field) fields;
    VEC(Pickle *) state; /* name, value, name, value.. */
    VEC(Str) parameters, buffers;
    Str code;          /* record */
    Pickle *own_state; /* for __setstate__ */
} ModuleDef;

static bool add_attribute(Legacy *l, ModuleDef *m, Str name, const TypeExpr *type, Pickle *value)
{
    if (!name)
        return bad_model(l, "an attribute of model.json has no name");
    if (map_find(&m->def->field_index,
                 name)) /* a buffer is listed a second time, among the attributes */
        return true;
    Field f = { .name = name, .type = type };
    map_put(l->cx, &m->def->field_index, name, (void *)(uintptr_t)(m->fields.n + 1));
    return value && type && vec_push(l->cx, &m->fields, f) &&
        vec_push(l->cx, &m->state, made_str(l, name)) && vec_push(l->cx, &m->state, value);
}

/* {"name": "weight", "isBuffer": false, "tensorId": "3"} */
static bool read_parameter(Legacy *l, Json *j, ModuleDef *m)
{
    Str key, name = NULL;
    int64_t id = -1;
    bool buffer = false;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "name"))
            ok = json_str(j, &name);
        else if (str_is(key, "tensorId"))
            ok = read_int(j, &id);
        else if (str_is(key, "isBuffer"))
            ok = json_bool(j, &buffer);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed ||
        !add_attribute(l, m, name, ts_type(l->cx, l->ts, str_of(l->cx, "Tensor")),
                       tensor_at(l, id)))
        return false;
    return buffer ? vec_push(l->cx, &m->buffers, name) : vec_push(l->cx, &m->parameters, name);
}

/* {"name": "scale", "type": "float", "id": "0"}: id counts the values of attributes.pkl. */
static bool read_attribute(Legacy *l, Json *j, ModuleDef *m)
{
    Str key;
    Str name = NULL;
    Str type = NULL;
    int64_t id = -1;
    while (json_key(j, &key)) {
        bool ok;
        if (str_is(key, "name"))
            ok = json_str(j, &name);
        else if (str_is(key, "type"))
            ok = json_str(j, &type);
        else if (str_is(key, "id"))
            ok = read_int(j, &id);
        else
            ok = json_skip(j);
        if (!ok)
            return false;
    }
    if (j->failed)
        return false;
    if (!type)
        return bad_model(l, "an attribute of model.json has no type");
    return add_attribute(l, m, name, ts_type(l->cx, l->ts, type), value_at(l, id));
}

static Pickle *read_module(Legacy *l, Json *j, Str parent, Str *name);

/* A class path that no text can name: modules here have no classes of their own. */
static const char class_prefix[] = "model.json";

static bool read_submodule(Legacy *l, Json *j, ModuleDef *m)
{
    Str name;
    Pickle *p = read_module(l, j, m->path, &name);
    return p && add_attribute(l, m, name, ts_type(l->cx, l->ts, str_of(l->cx, "Module")), p);
}

typedef bool ItemReader(Legacy *l, Json *j, ModuleDef *m);

static bool read_each(Legacy *l, Json *j, ModuleDef *m, ItemReader *item)
{
    if (!json_enter_array(j))
        return false;
    while (json_more(j))
        if (!json_enter_object(j) || !item(l, j, m))
            return false;
    return !j->failed;
}

/* The methods of a module stand in a record of their own, as functions. */
static bool add_methods(Legacy *l, ModuleDef *m)
{
    const CodeFile *file = m->code ? ts_open_record(l->cx, l->ts, m->code) : NULL;
    if (m->code && !file)
        return ctx_failed(l->cx)
            ? false
            : fail(l->cx, E_FORMAT, "the archive has no record %s", m->code->s);
    if (!file)
        return true;
    for (size_t i = 0; i < file->functions.n; i++)
        map_put(l->cx, &m->def->method, file->functions.at[i]->name, file->functions.at[i]);
    return true;
}

/* An object of the class that the module becomes. With a state of its own the attributes are set
 * first (its NEWOBJ's arguments), and __setstate__ changes them. */
static Pickle *finish_module(Legacy *l, ModuleDef *m)
{
    ClassDef *c = m->def;
    c->kind = CLASS_MODULE;
    class_set_fields(l->cx, c, m->fields.at, m->fields.n);
    c->parameter = m->parameters.at;
    c->n_parameter = (uint32_t)m->parameters.n;
    c->buffer = m->buffers.at;
    c->n_buffer = (uint32_t)m->buffers.n;
    c->qualname = str_fmt(l->cx, "%s.%s", class_prefix, m->path->s);
    c->plain = m->path;
    map_put(l->cx, &l->ts->classes, c->qualname, c);
    Pickle *p = made(l, P_OBJECT);
    Pickle *attributes = made_seq(l, P_DICT, m->state.at, m->state.n);
    p->fn = made_global(l, class_prefix, m->path);
    p->args = m->own_state ? TUPLE_OF(l, attributes) : made_seq(l, P_TUPLE, NULL, 0);
    p->state = m->own_state ? m->own_state : attributes;
    return p;
}

/* Reads one field of a module. Fields come in the order of the file; an attribute's place in the
 * class is that of its first mention. */
static bool read_module_field(Legacy *l, Json *j, Str key, ModuleDef *m)
{
    int64_t id;
    if (str_is(key, "parameters"))
        return read_each(l, j, m, read_parameter);
    if (str_is(key, "attributes"))
        return read_each(l, j, m, read_attribute);
    if (str_is(key, "submodules"))
        return read_each(l, j, m, read_submodule);
    if (str_is(key, "torchscriptArena"))
        return read_record_ref(j, &m->code);
    if (str_is(key, "getStateAttributeId"))
        return read_int(j, &id) && (m->own_state = value_at(l, id)) != NULL;
    return json_skip(j);
}

/* The name of the module whose object has just been entered; j stays. */
static bool find_name(const Json *j, Str *out)
{
    Json ahead = *j;
    Str key;
    *out = NULL;
    while (json_key(&ahead, &key))
        if (!(str_is(key, "name") ? json_str(&ahead, out) : json_skip(&ahead)))
            return false;
    return !ahead.failed;
}

static Pickle *read_module(Legacy *l, Json *j, Str parent, Str *name)
{
    ModuleDef m = { .def = new(l->cx, ClassDef) };
    Str key;
    if (!find_name(j, name) ||
        !limit_ok(l->cx, LIMIT_OBJECTS, (uint64_t)l->ts->classes.n + 1, "modules"))
        return NULL;
    if (!*name || !(*name)->len)
        *name = str_of(l->cx, "model");
    m.path = parent ? str_fmt(l->cx, "%s.%s", parent->s, (*name)->s) : *name;
    while (json_key(j, &key))
        if (!read_module_field(l, j, key, &m))
            return NULL;
    return !j->failed && add_methods(l, &m) ? finish_module(l, &m) : NULL;
}

/* ---- the file ---- */

/* The value of a field of the root object, wherever it stands. False when it is not there, or after
 * an error. */
static bool find_field(Json *j, const char *name)
{
    Str key;
    if (!json_enter_object(j))
        return false;
    while (json_key(j, &key)) {
        if (str_is(key, name))
            return true;
        if (!json_skip(j))
            return false;
    }
    return false;
}

/* A class of 1.1 declares no attributes: they are what its __init__ sets. */
static bool learn_fields(Legacy *l, ClassDef *c)
{
    const Function *init = map_get(&c->method, str_of(l->cx, "__init__"));
    VEC(Field) fields = { 0 };
    if (!init)
        return true;
    for (uint32_t i = 0; i < init->body.n; i++) {
        const Stmt *s = init->body.at[i];
        if (s->kind != S_SET_ATTR || s->object->kind != X_LOCAL || s->object->slot != 0 ||
            map_find(&c->field_index, s->attr))
            continue;
        map_put(l->cx, &c->field_index, s->attr, (void *)(uintptr_t)(fields.n + 1));
        if (!vec_push(l->cx, &fields, (Field){ .name = s->attr }))
            return false;
    }
    class_set_fields(l->cx, c, fields.at, fields.n);
    return true;
}

/* 1.1 has all classes in one record, and names them without a path. */
static bool read_library(Legacy *l, Json j)
{
    Str key, record = NULL;
    if (!find_field(&j, "libs"))
        return !j.failed;
    if (!json_enter_object(&j))
        return false;
    while (json_key(&j, &key))
        if (!(str_is(key, "torchscriptArena") ? read_record_ref(&j, &record) : json_skip(&j)))
            return false;
    const CodeFile *file = record && !j.failed ? ts_open_record(l->cx, l->ts, record) : NULL;
    if (!file)
        return !ctx_failed(l->cx);
    for (size_t i = 0; i < file->classes.n; i++) {
        ClassDef *c = file->classes.at[i];
        const char *plain = strrchr(c->qualname->s, '.');
        map_put(l->cx, &l->ts->classes, str_of(l->cx, plain ? plain + 1 : c->qualname->s), c);
        if (c->n_field == 0 && !learn_fields(l, c))
            return false;
    }
    return !ctx_failed(l->cx);
}

static bool read_model(Legacy *l, Json all)
{
    Json tensors = all;
    Json main = all;
    Str name;
    if (find_field(&tensors, "tensors") && !read_tensors(l, &tensors))
        return false;
    if (tensors.failed || !read_library(l, all) || !read_attributes(l))
        return false;
    if (!find_field(&main, "mainModule"))
        return main.failed ? false : bad_model(l, "model.json has no mainModule");
    if (!json_enter_object(&main) || !(l->ts->data = read_module(l, &main, NULL, &name)))
        return false;
    l->ts->constants = made_seq(l, P_TUPLE, l->tensors.at, l->tensors.n);
    return !ctx_failed(l->cx);
}

bool ts_read_legacy(Ctx *cx, TorchScript *ts)
{
    Slice text;
    const ZipEntry *e = zip_find_in_root(ts->zip, "model.json");
    Where here = { .up = cx->at, .kind = WHERE_RECORD, .name = str_of(cx, "model.json") };
    cx->at = &here;
    Legacy l = { .cx = cx, .ts = ts };
    ts->code_dir = "libs/";
    ts->data_dir = ts->constants_dir = ""; /* the table of tensors names whole records */
    bool good = zip_slice(cx, ts->zip, e, &text) &&
        read_model(&l, json_over(cx, "model.json", text));
    cx->at = here.up;
    return good;
}
