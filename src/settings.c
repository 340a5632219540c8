/* settings.c - the caller's options, checked once: numbers in range, SPECs parsed, limits raised,
 * rules and symbolics registered. An older caller's struct is shorter than ours (its `size` says
 * so): what it lacks has its default. */
#include "session.h"

#include <ctype.h>

#include "base/limits.h"
#include "ops/ops.h"
#include "tidy/tidy.h"

static const char *const limit_names[LIMIT_COUNT + 1] = {
#define X(id, name, deflt, why) [id] = name,
    PT2ONNX_LIMITS(X)
#undef X
};

/* What a message ends with, when the word is like one of these (NULL last). */
static const char *did_you_mean(Ctx *cx, const char *word, size_t n, const char *const *words)
{
    const char *near = word_nearest(word, n, words);
    return near ? str_fmt(cx, "; did you mean %s?", near)->s : "";
}

/* "NAME=VALUE" */
static bool read_limit(Ctx *cx, const char *text)
{
    const char *sep = strchr(text, '=');
    size_t n = sep ? (size_t)(sep - text) : strlen(text);
    int which = 0;
    while (which < LIMIT_COUNT &&
           (strlen(limit_names[which]) != n || strncmp(limit_names[which], text, n) != 0))
        which++;
    if (which == LIMIT_COUNT)
        return fail(cx, E_USAGE, "--limit %s: there is no limit of that name%s", text,
                    did_you_mean(cx, text, n, limit_names));
    int64_t v = 0;
    const char *at = sep ? sep + 1 : text + n;
    bool ok = isdigit((unsigned char)*at);
    for (; ok && isdigit((unsigned char)*at); at++)
        ok = mul_ok(v, 10, &v) && add_ok(v, *at - '0', &v);
    if (!ok || *at)
        return fail(cx, E_USAGE, "--limit %s: a whole number is expected: --limit %s=1000000", text,
                    limit_names[which]);
    cx->limit[which] = v;
    return true;
}

static bool read_rules(Session *s, const char *path)
{
    Ctx *cx = s->cx;
    s->subject = path;
    Source *src = source_file(cx, path);
    if (!src)
        return false;
    keep_begin(cx);
    Text *text = new(cx, Text);
    char *at = new_array(cx, char, src->size + 1);
    *text = (Text){ .name = str_of(cx, path), .at = at, .n = (size_t)src->size };
    bool ok = at && bytes_read(cx, (Bytes){ src, 0, src->size }, 0, at, text->n) &&
        ops_add_rules(cx, text);
    keep_end(cx);
    s->subject = ok ? s->file : path;
    return ok;
}

static bool read_inputs(Session *s)
{
    s->opt.n_input = s->o.n_inputs;
    s->opt.input = new_array(s->cx, InputSpec, s->o.n_inputs + 1);
    Map paths = { 0 };
    if (!s->opt.input)
        return false;
    for (size_t i = 0; i < s->o.n_inputs; i++) {
        InputSpec *spec = &s->opt.input[i];
        if (!spec_parse(s->cx, s->o.inputs[i], spec))
            return false;
        if (spec->path && !map_add(s->cx, &paths, spec->path, NULL))
            return fail(s->cx, E_USAGE, "-i: %s is given twice", spec->path->s);
    }
    return true;
}

static bool read_output_names(Session *s)
{
    s->opt.n_output_name = s->o.n_output_names;
    s->opt.output_name = new_array(s->cx, Str, s->o.n_output_names + 1);
    if (!s->opt.output_name)
        return false;
    for (size_t i = 0; i < s->o.n_output_names; i++) {
        s->opt.output_name[i] = str_of(s->cx, s->o.output_names[i]);
        if (s->o.output_names[i][0] == '\0')
            return fail(s->cx, E_USAGE, "--output-names: name %zu is empty", i + 1);
        for (size_t k = 0; k < i; k++)
            if (s->opt.output_name[k] == s->opt.output_name[i])
                return fail(s->cx, E_USAGE, "--output-names: %s is given twice",
                            s->o.output_names[i]);
    }
    return true;
}

static bool is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n > 0 && s[n] == '\0' && !(s[0] >= '0' && s[0] <= '9');
}

/* --dim OLD=NEW. NEW is a name of letters, digits and underscores; no OLD is given twice. */
static bool read_dims(Session *s)
{
    s->opt.n_dim = s->o.n_dims;
    s->opt.dim = new_array(s->cx, DimName, s->o.n_dims + 1);
    if (!s->opt.dim)
        return false;
    for (size_t i = 0; i < s->o.n_dims; i++) {
        const char *text = s->o.dims[i];
        const char *eq = strchr(text, '=');
        DimName *d = &s->opt.dim[i];
        if (!eq || !is_name(eq + 1))
            return fail(s->cx, E_USAGE,
                        "--dim %s: the file's name and the new one are expected, like s77=batch",
                        text);
        *d = (DimName){ str_n(s->cx, text, (size_t)(eq - text)), str_of(s->cx, eq + 1) };
        for (size_t k = 0; k < i; k++)
            if (s->opt.dim[k].from == d->from)
                return fail(s->cx, E_USAGE, "--dim: %s is given twice", d->from->s);
    }
    return true;
}

/* "NAME=VALUE" each */
static bool check_pairs(Ctx *cx, const char *what, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(texts[i], '='))
            return fail(cx, E_USAGE, "%s: NAME=VALUE is expected, not '%s'", what, texts[i]);
    return true;
}

/* "DOMAIN=VERSION" each */
static bool check_domains(Ctx *cx, const char *const *texts, size_t n)
{
    if (!check_pairs(cx, "domains", texts, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *version = strchr(texts[i], '=') + 1;
        int64_t v;
        if (!parse_int(version, strlen(version), &v))
            return fail(cx, E_USAGE, "domains: a version of 64 bits is expected, not '%s'",
                        texts[i]);
    }
    return true;
}

static bool check_pass(Ctx *cx, const char *name)
{
    Buf all = buf_new(cx);
    VEC(const char *) names = { 0 };
    for (const Pass *p = tidy_passes; p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return true;
        buf_fmt(&all, "%s%s", all.n ? ", " : "", p->name);
        vec_push(cx, &names, p->name);
    }
    const char *near = vec_push(cx, &names, NULL) ? did_you_mean(cx, name, strlen(name), names.at)
                                                  : "";
    return fail(cx, E_USAGE, "--dump-after %s: the passes are %s%s", name, buf_done(&all)->s, near);
}

static void pass_dump(void *user, const char *pass, Str text)
{
    const pt2onnx_options *o = user;
    if (o->on_dump)
        o->on_dump(o->user, pass, text->s);
}

static Str str_or_null(Ctx *cx, const char *text) { return text ? str_of(cx, text) : NULL; }

enum { BLOCK_DEFAULT = 32, BLOCK_LEAST = 16, BLOCK_MOST = 256 };

/* Options about the types of weights: which of them go together. */
static bool check_types(Session *s)
{
    const pt2onnx_options *o = &s->o;
    bool half = o->weights_type == PT2ONNX_TYPE_FLOAT16 || o->weights_type == PT2ONNX_TYPE_BFLOAT16;
    bool whole = o->weights_type == PT2ONNX_TYPE_INT8 || o->weights_type == PT2ONNX_TYPE_INT4;
    int block = o->weights_block;
    if ((half || whole) && o->weights == PT2ONNX_WEIGHTS_LINK)
        return fail(s->cx, E_USAGE,
                    "--weights=link leaves weights as they are in the archive; --weights-type "
                    "writes others");
    if (o->weights_type == PT2ONNX_TYPE_INT8 && o->opset < 13 && !o->fuse)
        return fail(s->cx, E_USAGE, "int8 weights need ONNX opset 13, the target is %d", o->opset);
    if (o->weights_type == PT2ONNX_TYPE_INT4 && o->opset < 21 && !o->fuse)
        return fail(s->cx, E_USAGE,
                    "int4 weights need ONNX opset 21, the target is %d; with --fuse ONNX Runtime "
                    "takes them at any opset",
                    o->opset);
    if (o->weights_type == PT2ONNX_TYPE_BFLOAT16 && o->opset < 13)
        return fail(s->cx, E_USAGE, "bfloat16 needs ONNX opset 13, the target is %d", o->opset);
    if (o->change_io_types && !half)
        return fail(s->cx, E_USAGE, "--keep-io-types=no needs --weights-type float16 or bfloat16");
    if (o->n_float32 && !half)
        return fail(s->cx, E_USAGE, "--float32 needs --weights-type float16 or bfloat16");
    if (block && !whole)
        return fail(s->cx, E_USAGE, "--weights-block needs --weights-type int8 or int4");
    if (block && (block < BLOCK_LEAST || block > BLOCK_MOST || (block & (block - 1))))
        return fail(s->cx, E_USAGE, "--weights-block %d: one of 16, 32, 64, 128, 256 is expected",
                    block);
    return !o->fuse || o->target == PT2ONNX_TARGET_ORT ||
        fail(s->cx, E_USAGE, "--fuse writes operators of ONNX Runtime, which --target=onnx is not");
}

/* Options that are numbers, enums and flags, checked one by one: what lies deeper relies on it. */
static bool read_scalars(Session *s)
{
    const pt2onnx_options *o = &s->o;
    if (o->opset < ONNX_OLDEST_TARGET || o->opset > ONNX_LAST_TARGET)
        return fail(s->cx, E_USAGE, "--opset %d: the opsets that can be written are %d to %d",
                    o->opset, ONNX_OLDEST_TARGET, ONNX_LAST_TARGET);
    if ((unsigned)o->mode > PT2ONNX_MODE_SAVED || (unsigned)o->weights > PT2ONNX_WEIGHTS_LINK ||
        (unsigned)o->target > PT2ONNX_TARGET_ONNX || (unsigned)o->state > PT2ONNX_STATE_DEFAULTS ||
        (unsigned)o->loops > PT2ONNX_LOOPS_UNROLL ||
        (unsigned)o->unknown > PT2ONNX_UNKNOWN_CUSTOM ||
        (unsigned)o->weights_type > PT2ONNX_TYPE_INT4)
        return fail(s->cx, E_USAGE,
                    "mode, weights, target, state, loops, unknown or weights_type is out of range");
    if (o->default_dtype != 0 && o->default_dtype != DT_FLOAT && o->default_dtype != DT_DOUBLE &&
        o->default_dtype != DT_FLOAT16 && o->default_dtype != DT_BFLOAT16)
        return fail(s->cx, E_USAGE, "default_dtype is a float type of PyTorch: %d is none",
                    o->default_dtype);
    if (o->dump_after && !check_pass(s->cx, o->dump_after))
        return false;
    if (!check_types(s))
        return false;
    static const DType types[] = { DT_NONE, DT_FLOAT16, DT_BFLOAT16, DT_INT8, DT_INT4 };
    static const LoopsMode loops[] = { LOOPS_AUTO, LOOPS_KEEP, LOOPS_UNROLL };
    static const StateMode state[] = { STATE_IO, STATE_CONSTANT, STATE_REFUSE, STATE_DEFAULTS };
    static const WeightsMode weights[] = { WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_EXTERNAL,
                                           WEIGHTS_LINK };
    s->opt = (Options){
        .opset = o->opset,
        .state = state[o->state],
        .module = str_or_null(s->cx, o->module),
        .method = str_or_null(s->cx, o->method),
        .mode_saved = o->mode == PT2ONNX_MODE_SAVED,
        .soft_sizes = o->soft_sizes,
        .sequence_lists = o->sequence_lists,
        .keep_weights = o->keep_weights || o->weights == PT2ONNX_WEIGHTS_LINK,
        .dynamic = o->dynamic != 0,
        .unknown_custom = o->unknown == PT2ONNX_UNKNOWN_CUSTOM,
        .loops = o->keep_loops ? LOOPS_KEEP : loops[o->loops],
        .check_crc = o->check_crc != 0,
        .target_ort = o->target == PT2ONNX_TARGET_ORT,
        .weights = weights[o->weights],
        .weights_type = types[o->weights_type],
        .change_io_types = o->change_io_types != 0,
        .block = o->weights_block ? o->weights_block : BLOCK_DEFAULT,
        .fuse = o->fuse != 0,
        .default_dtype = (DType)o->default_dtype,
        .dump_after = o->dump_after,
        .dump = pass_dump,
        .dump_user = &s->o,
    };
    return true;
}

/* The caller's struct may be older and shorter: what it does not have keeps its default. Everything
 * that a message may need (progress, options) is set before the first check. */
bool settings_read(Session *s, const pt2onnx_options *o)
{
    s->o = (pt2onnx_options)PT2ONNX_OPTIONS;
    if (o && o->size < offsetof(pt2onnx_options, opset) + sizeof o->opset)
        return fail(s->cx, E_USAGE, "options: size is not set; start from PT2ONNX_OPTIONS");
    if (o)
        memcpy(&s->o, o, o->size < sizeof s->o ? o->size : sizeof s->o);
    s->cx->progress = s->o.on_progress;
    s->cx->amount = s->o.on_amount;
    s->cx->progress_user = s->o.user;
    tell_progress(s->cx, "reading the file", -1);
    s->cx->opt = &s->opt;
    if (!read_scalars(s))
        return false;
    for (size_t i = 0; i < s->o.n_limits; i++)
        if (!read_limit(s->cx, s->o.limits[i]))
            return false;
    if (!check_domains(s->cx, s->o.domains, s->o.n_domains) ||
        !check_pairs(s->cx, "output_dims", s->o.output_dims, s->o.n_output_dims))
        return false;
    keep_begin(s->cx); /* SPECs outlive restarts */
    bool ok = read_inputs(s) && read_output_names(s) && read_dims(s);
    s->opt.model = s->o.model_name ? str_of(s->cx, s->o.model_name) : NULL;
    keep_end(s->cx);
    for (size_t i = 0; ok && i < s->o.n_rules; i++)
        ok = read_rules(s, s->o.rules[i]);
    symbolics_register(s);
    return ok;
}
