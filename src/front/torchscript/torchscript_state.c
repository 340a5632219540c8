/* torchscript_state.c - the pickles of a TorchScript archive as values: the root object, constants
 * and defaults.
 *
 * Made anew for each evaluation (run arena), because the program may write to them; the tensors'
 * records were read once (torchscript_tensor.c). What is one value in the file is one value here:
 * the memo goes by the pickled value's pointer, and tensors that see the same elements share a
 * Storage. */
#include "front/internal.h"

enum { VALUES_READ_PER_STEP = 16 }; /* a chain of layers has then run a tenth of its steps */

typedef struct Builder {
    Ctx *cx;
    TorchScript *ts;
    const char *dir; /* of the storages */
} Builder;

static bool build(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out);

static bool remember(Builder *b, const Pickle *p, Value v)
{
    TorchScript *ts = b->ts;
    if (!vec_push(b->cx, &ts->made, v))
        return false;
    map_put(b->cx, &ts->values, p, (const void *)(uintptr_t)ts->made.n);
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

/* Two numbers of 4 bits to a byte, as long as a row is whole bytes. */
static Ox packed_bytes(Builder *b, const Const *k)
{
    if (k->rank == 0 || k->dims[k->rank - 1] % 2 != 0)
        return NULL;
    Const *bytes = new(b->cx, Const);
    *bytes = *k;
    bytes->dtype = DT_UINT8;
    int64_t *dims = mem_copy(b->cx, k->dims, (size_t)k->rank * sizeof *dims);
    if (!dims)
        return NULL;
    dims[k->rank - 1] /= 2;
    bytes->dims = dims;
    return ox_const(b->ts->g, bytes);
}

/* One scale and zero point for the whole tensor (axis < 0), or a constant of each for every index
 * of an axis. Zero points of floats stay floats. */
static QuantInfo *quant_info(Builder *b, const SavedTensor *t)
{
    Graph *g = b->ts->g;
    QuantInfo *q = new(b->cx, QuantInfo);
    q->axis = t->quant->axis;
    q->dtype = t->st->dtype;
    q->bytes = q->dtype == DT_UINT4 ? packed_bytes(b, t->k) : NULL;
    if (q->axis < 0) {
        q->exact = t->quant->scale;
        q->scale = ox_number(g, DT_FLOAT, t->quant->scale);
        q->zero_point = ox_integer(g, q->dtype, t->quant->zero_point);
    } else {
        q->scale = ox_cast(g, ox_const(g, t->quant->scales->k), DT_FLOAT);
        Ox zeros = ox_const(g, t->quant->zero_points->k);
        q->zero_point = dtype_is_float(ox_dtype(zeros)) ? ox_cast(g, zeros, DT_FLOAT)
                                                        : ox_cast(g, zeros, q->dtype);
    }
    return q;
}

static Str shown_name(const SavedTensor *t, Str path) { return t->name ? t->name : path; }

/* Tensors that see the same elements share a Storage: a write through one is seen by the other. */
static Tensor *tensor_of(Builder *b, SavedTensor *t, Str path)
{
    if (t->tensor)
        return t->tensor;
    Tensor *made = t->tensor = tensor_saved(b->cx, ox_const(b->ts->g, t->k), t->k);
    made->kind = t->st->quantised ? QUANT : PLAIN;
    if (t->quant)
        made->quant = quant_info(b, t);
    if (t->same != t) {
        made->st = tensor_of(b, t->same, path)->st;
        return made;
    }
    made->st->name = shown_name(t, path);
    made->st->state = true;
    made->st->shared_bytes = t->shared_bytes;
    return made;
}

static bool build_tensor(Builder *b, const Pickle *p, Str path, Value *out)
{
    SavedTensor *t = ts_tensor(b->cx, b->ts, p, b->dir);
    if (!t)
        return false;
    if (t->why)
        return fail(b->cx, E_UNSUPPORTED, "the saved tensor %s (%s): %s", shown_name(t, path)->s,
                    t->st ? t->st->type_name->s : "sparse", t->why);
    *out = (Value){ .tag = V_TENSOR, .t = tensor_of(b, t, path) };
    return !ctx_failed(b->cx);
}

static Str item_path(Ctx *cx, Str path, size_t i)
{
    return path ? str_fmt(cx, "%s.%zu", path->s, i) : NULL;
}

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
        Str child = path && p->seq.at[i]->tag == P_STR
            ? ts_child_name(b->cx, path, p->seq.at[i]->s->s)
            : item_path(b->cx, path, i / 2);
        if (!build(b, p->seq.at[i], type_arg(t, "Dict", 0), NULL, &key) ||
            !build(b, p->seq.at[i + 1], type_arg(t, "Dict", 1), child, &v))
            return false;
        dict_set(b->cx, d, key, v);
    }
    *out = (Value){ .tag = V_DICT, .dict = d };
    return remember(b, p, *out);
}

/* The class of an attribute that is a NamedTuple; else NULL. The file has a plain tuple, so only
 * the attribute's declared type says what it is. */
static const ClassDef *named_tuple(Builder *b, const TypeExpr *t, size_t n)
{
    if (!t || t->n || !strchr(t->name->s, '.'))
        return NULL;
    const ClassDef *c = ts_find_class(b->cx, b->ts->p, t->name);
    return c && c->kind == CLASS_NAMEDTUPLE && c->n_field == n ? c : NULL;
}

static bool build_tuple(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    const ClassDef *nt = named_tuple(b, t, p->seq.n);
    Value *items = new_array(b->cx, Value, p->seq.n);
    if (!items)
        return false;
    for (size_t i = 0; i < p->seq.n; i++)
        if (!build(b, p->seq.at[i], nt ? nt->field[i].type : type_arg(t, "Tuple", (uint32_t)i),
                   item_path(b->cx, path, i), &items[i]))
            return false;
    *out = val_tuple(b->cx, items, (int64_t)p->seq.n);
    if (nt && out->tag == V_TUPLE) {
        out->tuple->type = nt->plain;
        out->tuple->fields = nt->field_name;
    }
    return pickle_is_ints(p) || remember(b, p, *out);
}

/* ---- calls ---- */

static Str global_name(Ctx *cx, const Pickle *global)
{
    return str_cat(cx, global->global.module->s, ".", global->global.name->s);
}

static bool bad_call(Builder *b, const Pickle *p)
{
    return fail(b->cx, E_FORMAT, "the pickle calls %s in a way that torch does not write",
                global_name(b->cx, p->fn)->s);
}

static bool build_complex(Builder *b, const Pickle *p, Value *out)
{
    if (p->args->tag != P_TUPLE || p->args->seq.n != 2 || p->args->seq.at[0]->tag != P_FLOAT ||
        p->args->seq.at[1]->tag != P_FLOAT)
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

/* torch.jit._pickle: a list or dict with its type. build_intlist(list), restore_type_tag(value,
 * "Dict[str, int]") */
static bool build_typed(Builder *b, const Pickle *p, Str path, Value *out)
{
    static const struct {
        const char *name, *type;
    } lists[] = {
        { "build_intlist", "List[int]" },
        { "build_doublelist", "List[float]" },
        { "build_boollist", "List[bool]" },
        { "build_tensorlist", "List[Tensor]" },
    };
    const Pickle *args = p->args;
    Str type = NULL;
    if (args->tag != P_TUPLE || args->seq.n < 1 ||
        (args->seq.at[0]->tag != P_LIST && args->seq.at[0]->tag != P_DICT))
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
        if (v.tag == V_INT && saved.tag == V_FLOAT) /* 1e10 is printed without a dot */
            v = val_float((double)v.i);
        if (v.tag == saved.tag && val_equal(b->cx, v, saved)) {
            EnumMember member = { .cls = c, .name = c->field[i].name, .value = v };
            *out = (Value){ .tag = V_ENUM, .e = mem_copy(b->cx, &member, sizeof member) };
            return true;
        }
    }
    return fail(b->cx, E_FORMAT, "the enum %s has no member of the saved value %s", c->qualname->s,
                val_text(b->cx, saved)->s);
}

static bool build_call(Builder *b, const Pickle *p, Str path, Value *out)
{
    Str module = p->fn->global.module;
    if (pickle_is_tensor(p))
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
    Obj *o = obj_new(b->cx, c, c->n_field, c->field_name, path);
    if (!o)
        return NULL;
    for (int64_t i = 0; i < o->n; i++)
        cell_set(b->cx, &o->slot[i], (Value){ .tag = V_UNINIT });
    return o;
}

/* What errors call the value: NULL for a plain one, and for a tensor that has a name already. */
static Str child_path(Builder *b, Str path, Str attr, const Pickle *value)
{
    const SavedTensor *t = pickle_is_plain(value) ? NULL : ts_known_tensor(value);
    return !path || pickle_is_plain(value) || (t && t->name && t->same->name)
        ? NULL
        : ts_child_name(b->cx, path, attr->s);
}

/* The state is a dict of attributes; what the class does not declare is damage. */
static bool set_attributes(Builder *b, const ClassDef *c, Obj *o, const Pickle *state, Str path)
{
    for (size_t i = 0; i + 1 < state->seq.n; i += 2) {
        const Pickle *key = state->seq.at[i];
        uintptr_t field = key->tag == P_STR ? (uintptr_t)map_get(&c->field_index, key->s) : 0;
        if (!field)
            return fail(b->cx, E_FORMAT,
                        "the saved %s has the attribute '%s', which its class does not declare",
                        c->plain->s, key->tag == P_STR ? key->s->s : "?");
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
            return fail(b->cx, E_FORMAT, "the saved %s lacks the attribute '%s'", c->plain->s,
                        c->field[i].name->s);
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

/* The class chose its own form of state: its __setstate__ puts it into the attributes. Without an
 * evaluator (show) they stay uninitialised. */
static bool run_setstate(Builder *b, const Function *setstate, Obj *o, const Pickle *state,
                         Str path)
{
    Value v = val_none();
    Program *p = b->ts->p;
    if (state && !build(b, state, setstate->n_param > 1 ? setstate->param[1].type : NULL, path, &v))
        return false;
    return !p->run_setstate ||
        p->run_setstate(b->cx, p, setstate, (Value){ .tag = V_OBJ, .obj = o }, v);
}

/* A module keeps its path, so that messages and state can name it. With __getstate__ and
 * __setstate__ the class restores itself; otherwise the saved attributes are set, and all that are
 * declared must be there. */
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
    const Pickle *earlier = pickle_earlier_attributes(p);
    bool good;
    if (earlier && !set_attributes(b, c, o, earlier, path))
        return false;
    if (c->kind == CLASS_TORCHBIND)
        good = build_torchbind(b, c, o, p->state, path);
    else if (own_state)
        good = run_setstate(b, setstate, o, p->state, path);
    else if (p->state && p->state->tag != P_DICT)
        good = fail(b->cx, E_FORMAT,
                    "the saved %s has a state that is no dict, and no __setstate__", c->plain->s);
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

/* The value of a saved pickle; t is its declared type, or NULL. What is saved twice is built once:
 * identity is kept. */
static bool build(Builder *b, const Pickle *p, const TypeExpr *t, Str path, Value *out)
{
    uintptr_t made = pickle_is_plain(p) ? 0 : (uintptr_t)map_get(&b->ts->values, p);
    if (made) {
        *out = b->ts->made.at[made - 1];
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

static void forget_tensors(const SavedStorages *all)
{
    for (const SavedStorage *st = all->newest; st; st = st->older)
        for (SavedTensor *t = st->newest; t; t = t->older)
            t->tensor = NULL;
}

void ts_forget_values(TorchScript *ts)
{
    forget_tensors(&ts->storages);
    forget_tensors(&ts->other_storages);
    ts->values = (Map){ 0 };
    ts->made.at = NULL;
    ts->made.n = ts->made.cap = 0;
}

/* No constant is a value of data.pkl: what was made of that need not be known any more. Those of
 * model.json are. */
static void give_values(Ctx *cx, TorchScript *ts)
{
    if (ts->legacy)
        return;
    map_give(cx, &ts->values);
    mem_give(cx, ts->made.at, ts->made.cap * sizeof *ts->made.at);
    ts->made.at = NULL;
    ts->made.n = ts->made.cap = 0;
}

static void forget_data(Ctx *cx, Program *p, bool again)
{
    TorchScript *ts = p->front;
    ts_forget_data(cx, ts);
    if (!again)
        zip_close(cx, ts->zip);
    p->settled = NULL;
}

/* Of the values that were read of the file, which stay until the evaluation has settled. */
bool ts_build_root(Ctx *cx, Program *p, Value *out)
{
    TorchScript *ts = p->front;
    p->settled = NULL;
    if (!ts->data && !ts_read_data_again(cx, ts))
        return false;
    Where here = { .up = cx->at, .kind = WHERE_RECORD, .name = str_of(cx, "data.pkl") };
    cx->at = &here;
    ts_forget_values(ts);
    ts->g = p->graph ? p->graph : graph_new(cx, NULL, str_of(cx, "saved"));
    Builder b = { .cx = cx, .ts = ts, .dir = ts->data_dir };
    bool good = build(&b, ts->data, NULL, str_of(cx, ""), out);
    cx->at = here.up;
    give_values(cx, ts);
    p->settled = ts->legacy ? NULL : forget_data;
    p->settled_at = cx->steps + (ts->data_end - ts->data_id) / VALUES_READ_PER_STEP;
    p->root = good ? *out : val_none();
    return good && ts_defaults(cx, ts);
}

/* PyTorch writes a Python number of a trace as a tensor without dimensions: it counts as the number
 * it was. */
static void mark_number(Value v)
{
    if (v.tag == V_TENSOR && tensor_type(v.t)->rank == 0 &&
        (tensor_type(v.t)->dtype == DT_INT64 || tensor_type(v.t)->dtype == DT_DOUBLE))
        v.t->number = true;
}

bool ts_constant(Ctx *cx, Program *p, int64_t n, Value *out)
{
    TorchScript *ts = p->front;
    if (n < 0 || (uint64_t)n >= ts->constants->seq.n)
        return fail(cx, E_FORMAT, "the code names constant c%lld, the archive has %zu",
                    (long long)n, ts->constants->seq.n);
    Builder b = { .cx = cx, .ts = ts, .dir = ts->constants_dir };
    if (!build(&b, ts->constants->seq.at[n], NULL, str_fmt(cx, "CONSTANTS.c%lld", (long long)n),
               out))
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
    const ClassDef *c = dot
        ? ts_find_class(cx, ts->p, str_n(cx, e->name->s, (size_t)(dot - e->name->s)))
        : NULL;
    uintptr_t field = c && c->kind == CLASS_ENUM
        ? (uintptr_t)map_get(&c->field_index, str_of(cx, dot + 1))
        : 0;
    EnumMember member = { .cls = c };
    if (!field)
        return ctx_failed(cx) ? false : fail(cx, E_FORMAT, "'%s' is no constant", e->name->s);
    member.name = c->field[field - 1].name;
    if (!ts_literal(cx, ts, c->field[field - 1].constant, &member.value))
        return false;
    *out = (Value){ .tag = V_ENUM, .e = mem_copy(cx, &member, sizeof member) };
    return true;
}

/* The value of an expression that is constant without running anything: literals, members of enums,
 * constants of the archive, torch.device("cpu"). */
bool ts_literal(Ctx *cx, TorchScript *ts, const Expr *e, Value *out)
{
    switch (e->kind) {
    case X_NONE:     *out = val_none(); return true;
    case X_TRUE:     *out = val_bool(true); return true;
    case X_FALSE:    *out = val_bool(false); return true;
    case X_INT:      *out = val_int(e->i); return true;
    case X_FLOAT:    *out = val_float(e->f); return true;
    case X_COMPLEX:  *out = val_complex(cx, e->c[0], e->c[1]); return true;
    case X_STR:      *out = val_str(e->s); return true;
    case X_TUPLE:
    case X_LIST:     return literal_sequence(cx, ts, e, out);
    case X_NAME:     return literal_member(cx, ts, e, out);
    case X_CONSTANT: return ts_constant(cx, ts->p, e->i, out);
    case X_CALL:
        if (e->type && e->n_args == 1)
            return ts_literal(cx, ts, e->args[0].value, out);
        break;
    case X_OP:
        if (str_is(e->op->name, "aten::device") && e->n_args == 1 &&
            e->args[0].value->kind == X_STR) {
            *out = (Value){ .tag = V_DEVICE, .s = e->args[0].value->s };
            return true;
        }
        break;
    default: break;
    }
    return fail(cx, E_FORMAT, "this is no constant: %s", expr_text(cx, NULL, e)->s);
}
