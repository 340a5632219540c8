/* torchscript_load.c - a TorchScript archive (torch.jit.save) as a Program: which records it has,
 * its classes and functions, what its inputs are called. Section numbers are those of
 * docs/formats/torchscript.md.
 *
 * Code records are parsed when a name in them is first asked for: a model has hundreds, and most
 * are shared classes. */
#include "base/limits.h"
#include "value/options.h"
#include "front/internal.h"

/* Everything that may be called or made by the pickles of such an archive (section 3). */
static const char *const allowed_globals[] = { "torch._utils _rebuild_tensor_v2",
                                               "torch._utils _rebuild_qtensor",
                                               "torch._utils _rebuild_sparse_tensor",
                                               "torch.jit._pickle build_intlist",
                                               "torch.jit._pickle build_doublelist",
                                               "torch.jit._pickle build_boollist",
                                               "torch.jit._pickle build_tensorlist",
                                               "torch.jit._pickle restore_type_tag",
                                               "collections OrderedDict",
                                               "builtins complex",
                                               "torch device",
                                               "torch per_tensor_affine",
                                               "torch per_channel_affine",
                                               "torch per_tensor_symmetric",
                                               "torch per_channel_symmetric",
                                               "torch per_channel_affine_float_qparams",
                                               "torch ByteStorage",
                                               "torch CharStorage",
                                               "torch ShortStorage",
                                               "torch IntStorage",
                                               "torch LongStorage",
                                               "torch HalfStorage",
                                               "torch FloatStorage",
                                               "torch DoubleStorage",
                                               "torch ComplexHalfStorage",
                                               "torch ComplexFloatStorage",
                                               "torch ComplexDoubleStorage",
                                               "torch BoolStorage",
                                               "torch QInt8Storage",
                                               "torch QUInt8Storage",
                                               "torch QInt32Storage",
                                               "torch BFloat16Storage",
                                               "torch QUInt4x2Storage",
                                               "torch QUInt2x4Storage",
                                               "torch Bits*",
                                               "torch Float8_*",
                                               "torch Float4_*",
                                               "torch UInt*",
                                               "torch Int*",
                                               "__torch__*",
                                               "torch.jit *",
                                               NULL };
static const char torchbind[] = "__torch__.torch.classes.";

enum { OP_VERSION_NEWEST = 10 };

/* ---- code: found by name, parsed when asked for ---- */

static CodeFile *parse_record(Ctx *cx, TorchScript *ts, const ZipEntry *e, Str record)
{
    Slice source;
    if (!zip_slice(cx, ts->zip, e, &source))
        return NULL;
    Text *text = new(cx, Text);
    *text = (Text){ .name = record, .at = (const char *)source.p, .n = source.n };
    ts_attach_debug(cx, ts, text);
    Where here = { .up = cx->at, .kind = WHERE_RECORD, .name = record };
    cx->at = &here;
    CodeFile *file = torchscript_parse(cx, text);
    cx->at = here.up;
    return file;
}

static void remember_names(Ctx *cx, TorchScript *ts, const CodeFile *file)
{
    for (size_t i = 0; i < file->classes.n; i++)
        map_put(cx, &ts->classes, file->classes.at[i]->qualname, file->classes.at[i]);
    for (size_t i = 0; i < file->functions.n; i++)
        map_put(cx, &ts->functions, file->functions.at[i]->qualname, file->functions.at[i]);
}

/* "__torch__.a.b.C" stands in code/__torch__/a/b.py. */
static Str record_of(Ctx *cx, const TorchScript *ts, Str qualname)
{
    const char *dot = strrchr(qualname->s, '.');
    Buf b = buf_new(cx);
    buf_str(&b, ts->code_dir);
    for (const char *s = qualname->s; s != dot; s++)
        buf_add(&b, *s == '.' ? "/" : s, 1);
    buf_str(&b, ".py");
    return buf_done(&b);
}

const CodeFile *ts_open_record(Ctx *cx, TorchScript *ts, Str record)
{
    MapEntry *known = map_find(&ts->files, record);
    if (known)
        return known->val;
    if (!zip_again(cx, ts->zip))
        return NULL;
    const ZipEntry *e = zip_find_in_root(ts->zip, record->s);
    CodeFile *file = e ? parse_record(cx, ts, e, record) : NULL;
    map_put(cx, &ts->files, record, file);
    if (file)
        remember_names(cx, ts, file);
    return file;
}

/* Make sure that the record is read in which a name would stand. A record that is not there is no
 * error. */
static bool open_record_of(Ctx *cx, TorchScript *ts, Str qualname)
{
    if (strrchr(qualname->s, '.') && strlen(qualname->s) == qualname->len)
        ts_open_record(cx, ts, record_of(cx, ts, qualname));
    return !ctx_failed(cx);
}

/* Torchbind classes have no source: one attribute holds whatever their C++ side saved. */
static ClassDef *torchbind_class(Ctx *cx, Str qualname)
{
    ClassDef *c = new(cx, ClassDef);
    c->qualname = c->plain = qualname;
    c->kind = CLASS_TORCHBIND;
    Field *field = new(cx, Field);
    field->name = str_of(cx, "state");
    map_put(cx, &c->field_index, field->name, (void *)1);
    class_set_fields(cx, c, field, 1);
    return c;
}

ClassDef *ts_find_class(Ctx *cx, Program *p, Str qualname)
{
    TorchScript *ts = p->front;
    MapEntry *known = map_find(&ts->classes, qualname);
    if (known)
        return known->val;
    keep_begin(cx);
    if (str_starts(qualname, torchbind))
        map_put(cx, &ts->classes, qualname, torchbind_class(cx, qualname));
    else if (open_record_of(cx, ts, qualname) && !map_find(&ts->classes, qualname))
        map_put(cx, &ts->classes, qualname, NULL);
    keep_end(cx);
    return map_get(&ts->classes, qualname);
}

/* A hook is a function of the class's own record or a method of the class: code calls both
 * __torch__.Class.hook(..). */
static Function *hook_method(Ctx *cx, Program *p, Str qualname)
{
    const char *dot = strrchr(qualname->s, '.');
    ClassDef *c = dot ? ts_find_class(cx, p, str_n(cx, qualname->s, (size_t)(dot - qualname->s)))
                      : NULL;
    return c ? map_get(&c->method, str_of(cx, dot + 1)) : NULL;
}

static Function *find_function(Ctx *cx, Program *p, Str qualname)
{
    TorchScript *ts = p->front;
    MapEntry *known = map_find(&ts->functions, qualname);
    if (known)
        return known->val;
    keep_begin(cx);
    if (open_record_of(cx, ts, qualname) && !map_find(&ts->functions, qualname))
        map_put(cx, &ts->functions, qualname, hook_method(cx, p, qualname));
    keep_end(cx);
    return map_get(&ts->functions, qualname);
}

/* Its source is parsed now, if it was not yet. */
const ClassDef *ts_class_of(Ctx *cx, TorchScript *ts, const Pickle *global)
{
    Str module = global->global.module;
    Str name = str_cat(cx, module->s, ".", global->global.name->s);
    if (str_starts(module, "torch.jit")) {
        fail(cx, E_UNSUPPORTED,
             "the module was lowered for another backend (%s): its program is a blob that only "
             "that backend reads",
             name->s);
        fail_hint(cx, "save the module before it is lowered");
        return NULL;
    }
    const ClassDef *c = ts_find_class(cx, ts->p, name);
    if (!c && !ctx_failed(cx)) {
        fail(cx, E_FORMAT, "the archive has no source of the class %s", name->s);
        if (!zip_find_in_root(ts->zip, "code/__torch__.py") &&
            zip_find_in_root(ts->zip, "bytecode.pkl"))
            fail_hint(cx,
                      "only mobile bytecode is left in this file; convert the one saved with "
                      "torch.jit.save");
    }
    return c;
}

const TypeExpr *ts_type(Ctx *cx, TorchScript *ts, Str text)
{
    const TypeExpr *t = map_get(&ts->types, text);
    if (t)
        return t;
    keep_begin(cx);
    t = torchscript_parse_type(cx, text);
    if (t)
        map_put(cx, &ts->types, text, t);
    keep_end(cx);
    return t;
}

/* ---- records ---- */

static bool read_record(Ctx *cx, TorchScript *ts, const char *name, Slice *out)
{
    const ZipEntry *e = zip_again(cx, ts->zip) ? zip_find_in_root(ts->zip, name) : NULL;
    if (!e)
        return fail(cx, E_FORMAT, "the archive has no record %s", name);
    return zip_slice(cx, ts->zip, e, out);
}

static Pickle *read_pickle(Ctx *cx, TorchScript *ts, const char *name, Phase phase, uint32_t *id)
{
    Slice data;
    if (!read_record(cx, ts, name, &data))
        return NULL;
    PhaseAround around = phase_begin(cx, phase);
    Pickle *p = pickle_read_from(cx, data, name, allowed_globals, id);
    phase_end(cx, around);
    mem_give(cx, data.p, data.n + 1);
    return p;
}

bool ts_read_data(Ctx *cx, TorchScript *ts)
{
    ts->data_end = ts->data_id;
    ts->data = read_pickle(cx, ts, "data.pkl", PHASE_PICKLES, &ts->data_end);
    if (ts->next_id < ts->data_end)
        ts->next_id = ts->data_end;
    return ts->data;
}

void ts_forget_data(Ctx *cx, TorchScript *ts)
{
    phase_forget(cx, PHASE_PICKLES);
    ts->data = NULL;
    ts->storages = (SavedStorages){ 0 };
}

bool ts_read_data_again(Ctx *cx, TorchScript *ts)
{
    keep_begin(cx);
    bool good = ts_read_data(cx, ts) && ts_name_tensors(cx, ts, true);
    keep_end(cx);
    return good;
}

/* version := digits newline      in .data/version from 6 on */
static bool read_version(Ctx *cx, TorchScript *ts)
{
    Slice s;
    int64_t v = 0;
    bool late = zip_find_in_root(ts->zip, ".data/version") != NULL;
    if (!read_record(cx, ts, late ? ".data/version" : "version", &s))
        return false;
    size_t i = 0;
    for (; i < s.n && i < 9 && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        v = v * 10 + (s.p[i] - '0');
    if (i == 0 || v == 0 || (i < s.n && s.p[i] != '\n' && s.p[i] != '\r'))
        return fail(cx, E_FORMAT, "the version record holds no version number");
    if (v > OP_VERSION_NEWEST)
        note(cx, NOTE_ASSUMED,
             "the archive's version is %lld, the newest known is %d: operators are taken to mean "
             "what they meant then",
             (long long)v, OP_VERSION_NEWEST);
    ts->p->op_version = (int)v;
    return true;
}

static bool check_byteorder(Ctx *cx, TorchScript *ts)
{
    Slice s;
    if (!zip_find_in_root(ts->zip, "byteorder"))
        return true;
    if (!read_record(cx, ts, "byteorder", &s))
        return false;
    if (s.n >= 6 && !memcmp(s.p, "little", 6))
        return true;
    if (s.n < 3 || memcmp(s.p, "big", 3))
        return fail(cx, E_FORMAT, "the byteorder record says neither little nor big");
    fail(cx, E_UNSUPPORTED, "the weights are stored big-endian");
    fail_hint(cx, "load the model in PyTorch on a little-endian machine and save it again");
    return false;
}

/* ---- inputs ---- */

/* forward's parameters, without self */
static bool declare_inputs(Ctx *cx, Program *p)
{
    const Function *f = p->entry;
    uint32_t n = f && f->n_param ? f->n_param - 1 : 0;
    p->input = new_array(cx, InputDecl, n);
    if (!p->input)
        return false;
    for (uint32_t i = 0; i < n; i++)
        p->input[i] = (InputDecl){ .name = f->param[i + 1].name,
                                   .type = f->param[i + 1].type,
                                   .rank = -1 };
    p->n_input = n;
    return true;
}

bool ts_defaults(Ctx *cx, TorchScript *ts)
{
    Program *p = ts->p;
    for (uint32_t k = 1; p->entry && k < p->entry->n_param; k++) {
        const ParamDecl *d = &p->entry->param[k];
        if (!d->deflt)
            continue;
        for (uint32_t i = 0; i < p->n_input; i++) {
            if (d->name != p->input[i].name)
                continue;
            if (!ts_literal(cx, ts, d->deflt, &p->input[i].deflt))
                return false;
            p->input[i].has_default = true;
        }
    }
    return true;
}

/* The example inputs of a trace, as leaves: a tensor by its parameter's name, those of a tuple by
 * "name.0". */
typedef struct Leaves {
    Ctx *cx;
    TorchScript *ts;
    VEC(InputDecl) at;
} Leaves;

static bool add_leaf(Leaves *l, Str name, const Pickle *call)
{
    SavedTensor *t = ts_tensor(l->cx, l->ts, call, "traced_inputs/");
    if (!t)
        return false;
    InputDecl in = { .name = name, .rank = -1 };
    if (t->k && t->st->dtype != DT_NONE && !t->st->quantised) {
        RecordedDim *dim = new_array(l->cx, RecordedDim, t->k->rank);
        if (dim)
            for (int i = 0; i < t->k->rank; i++)
                dim[i].known = t->k->dims[i];
        in.known = in.example = dim != NULL;
        in.dtype = t->st->dtype;
        in.rank = t->k->rank;
        in.dim = dim;
    }
    return vec_push(l->cx, &l->at, in);
}

/* The tensors of a recorded input, named by their way there (x.0.mask): tuples and lists by number,
 * dicts by key. Wrappers of torch.jit._pickle count as what they wrap. */
static bool add_leaves(Leaves *l, Str name, const Pickle *p)
{
    if (p->tag == P_CALL && str_is(p->fn->global.module, "torch.jit._pickle") &&
        p->args->tag == P_TUPLE && p->args->seq.n > 0)
        p = p->args->seq.at[0];
    if (p->tag == P_CALL)
        return add_leaf(l, name, p);
    size_t step = p->tag == P_DICT ? 2 : 1;
    if (p->tag != P_TUPLE && p->tag != P_LIST && p->tag != P_DICT)
        return true; /* a number: the trace has it as a constant */
    for (size_t i = 0; i + step <= p->seq.n; i += step) {
        const Pickle *key = p->seq.at[i];
        Str child = p->tag == P_DICT && key->tag == P_STR
            ? str_fmt(l->cx, "%s.%s", name->s, key->s->s)
            : str_fmt(l->cx, "%s.%zu", name->s, i / step);
        if (!add_leaves(l, child, p->seq.at[i + step - 1]))
            return false;
    }
    return true;
}

/* restore_type_tag({"forward": [input, ..], ..}, "Dict[str, List[Any]]") */
static const Pickle *inputs_of_forward(const Pickle *p)
{
    const Pickle *methods = pickle_is_call(p, "torch.jit._pickle", "restore_type_tag") &&
            p->args->tag == P_TUPLE && p->args->seq.n > 0
        ? p->args->seq.at[0]
        : p;
    for (size_t i = 0; methods->tag == P_DICT && i + 1 < methods->seq.n; i += 2) {
        const Pickle *key = methods->seq.at[i];
        const Pickle *list = methods->seq.at[i + 1];
        if (key->tag != P_STR || !str_is(key->s, "forward"))
            continue;
        if (list->tag == P_CALL && list->args->tag == P_TUPLE && list->args->seq.n > 0)
            list = list->args->seq.at[0];
        return list->tag == P_LIST ? list : NULL;
    }
    return NULL;
}

/* traced_inputs.pkl: written by torch 2.x beside a trace. When it does not fit forward's parameters
 * nothing is taken from it. */
static bool read_traced_inputs(Ctx *cx, TorchScript *ts)
{
    if (!zip_find_in_root(ts->zip, "traced_inputs.pkl"))
        return true;
    const Pickle *p = read_pickle(cx, ts, "traced_inputs.pkl", PHASE_PROGRAM, &ts->next_id);
    const Pickle *list = p ? inputs_of_forward(p) : NULL;
    if (!p)
        return false;
    if (!list)
        return true;
    ts->p->traced = true;
    if (list->seq.n != ts->p->n_input)
        return true;
    Leaves l = { .cx = cx, .ts = ts };
    for (size_t i = 0; i < list->seq.n; i++) {
        const InputDecl *in = &ts->p->input[i];
        size_t before = l.at.n;
        if (!add_leaves(&l, in->name, list->seq.at[i]))
            return false;
        if (l.at.n == before && !vec_push(cx, &l.at, *in))
            return false;
        if (l.at.n == before + 1 && l.at.at[before].name == in->name)
            l.at.at[before].type = in->type;
    }
    ts->p->input = l.at.at;
    ts->p->n_input = (uint32_t)l.at.n;
    return true;
}

/* ---- the program ---- */

/* The entry is the method forward of the saved module; without one, --module or --method must
 * choose another. */
static bool find_forward(Ctx *cx, TorchScript *ts)
{
    if (ts->data->tag != P_OBJECT)
        return fail(cx, E_FORMAT, "data.pkl holds no module");
    const ClassDef *c = ts_class_of(cx, ts, ts->data->fn);
    if (!c)
        return false;
    ts->p->entry = map_get(&c->method, str_of(cx, "forward"));
    if (ts->p->entry ||
        (cx->opt && (cx->opt->module || cx->opt->method))) /* they choose another (eval.c) */
        return true;
    Buf b = buf_new(cx);
    for (size_t i = 0; i < c->method.n; i++)
        buf_fmt(&b, "%s%s", i ? ", " : "", ((Function *)c->method.at[i].val)->name->s);
    fail(cx, E_UNSUPPORTED, "the saved %s has no method forward", c->plain->s);
    if (b.n)
        fail_hint(cx, "--method NAME, with one of its methods: %s", buf_done(&b)->s);
    return false;
}

static Str kind_text(Ctx *cx, TorchScript *ts)
{
    if (ts->legacy)
        return str_of(cx, "TorchScript archive (model.json, PyTorch 1.0 to 1.3)");
    const char *age = ts->p->op_version < 3 ? "before torch 1.5, " : "";
    if (zip_find_in_root(ts->zip, "byteorder"))
        age = "torch 2.1 or later, ";
    return str_fmt(cx, "TorchScript archive (%s%soperators of version %d)",
                   ts->p->traced ? "traced, " : "", age, ts->p->op_version);
}

static bool read_pickles(Ctx *cx, TorchScript *ts)
{
    ts->code_dir = "code/";
    ts->data_dir = "data/";
    ts->constants_dir = "constants/";
    ts->constants = read_pickle(cx, ts, "constants.pkl", PHASE_PROGRAM, &ts->next_id);
    ts->data_id = ts->next_id;
    if (!ts->constants || !ts_read_data(cx, ts))
        return false;
    return ts->constants->tag == P_TUPLE || fail(cx, E_FORMAT, "constants.pkl holds no tuple");
}

static bool load(Ctx *cx, TorchScript *ts)
{
    ts->legacy = !zip_find_in_root(ts->zip, "data.pkl");
    if (!read_version(cx, ts) || !check_byteorder(cx, ts) ||
        !(ts->legacy ? ts_read_legacy(cx, ts) : read_pickles(cx, ts)))
        return false;
    if (!find_forward(cx, ts) || !declare_inputs(cx, ts->p) || !read_traced_inputs(cx, ts) ||
        !ts_name_tensors(cx, ts, false))
        return false;
    ts->g = graph_new(cx, NULL, str_of(cx, "saved"));
    ts->p->kind = kind_text(cx, ts);
    bool good = ts_defaults(cx, ts);
    ts_forget_values(ts);
    return good && !ctx_failed(cx);
}

Program *torchscript_load(Ctx *cx, Zip *zip)
{
    keep_begin(cx);
    TorchScript *ts = new(cx, TorchScript);
    Program *p = new(cx, Program);
    ts->zip = zip;
    ts->p = p;
    p->file = zip->src->name ? zip->src->name : str_of(cx, "model");
    p->front = ts;
    p->find_class = ts_find_class;
    p->find_function = find_function;
    p->constant = ts_constant;
    p->build_root = ts_build_root;
    bool good = load(cx, ts);
    keep_end(cx);
    return good ? p : NULL;
}
