/* output_files.c - where a model goes: the file that the caller names, one beside it for weights, a
 * pipe or a callback.
 *
 * Files are opened before the work begins and get their names when all of it is done: what cannot
 * be written is refused at once, and behind that point no path is looked up any more. */
#include "session.h"

/* ---- weights that stay in the archive ---- */

static bool folder_info(Ctx *cx, const char *path, SysInfo *out)
{
    size_t n = sys_folder_length(path);
    return sys_path_info(n ? str_n(cx, path, n)->s : ".", out);
}

static bool same_folder(Ctx *cx, const char *a, const char *b)
{
    SysInfo in_a, in_b;
    return folder_info(cx, a, &in_a) && folder_info(cx, b, &in_b) && sys_same(&in_a, &in_b);
}

/* Linked weights stay in the archive: runtimes open nothing outside the model's own folder. */
bool outputs_check_link(Session *s, const char *out)
{
    if (s->opt.weights != WEIGHTS_LINK)
        return true;
    if (!out || strcmp(out, "-") == 0)
        return fail(s->cx, E_USAGE, "--weights=link needs a file as output, beside the archive");
    return same_folder(s->cx, s->file, out) ||
        fail(s->cx, E_USAGE,
             "--weights=link: %s must lie in the same "
             "folder as %s, because runtimes open no other",
             out, s->file);
}

/* ---- opening ---- */

static bool needs_file(Session *s)
{
    fail(s->cx, E_USAGE, "the weights need a file of their own, which a stream cannot have");
    fail_hint(s->cx, "-o FILE.onnx");
    return false;
}

bool outputs_check_stream(Session *s)
{
    return s->opt.weights != WEIGHTS_EXTERNAL || needs_file(s);
}

/* The output can be written, and takes the place of no file that is read. */
static bool output_ready(Session *s, const OutFile *f, const char *path)
{
    const Source *read = out_harms(s->cx, f);
    if (!out_ready(s->cx, f) || !read)
        return !ctx_failed(s->cx);
    if (read == s->src)
        return fail(s->cx, E_USAGE, "the output %s is the model itself; -o names another", path);
    return fail(s->cx, E_USAGE, "the output %s is the rule file %s; -o names another", path,
                read->name->s);
}

/* The weights' file: can it be written, and not in the model's own place? */
static bool data_ready(Session *s)
{
    if (out_same(s->data, s->model))
        return fail(s->cx, E_USAGE, "%s leads to %s, which is for the weights; -o names another",
                    out_path(s->model), out_path(s->data));
    return output_ready(s, s->data, out_path(s->data));
}

/* Weights of their own go to out.data. Whether the model needs that is not always known yet (auto):
 * then what is wrong with that place is an error only when it does. */
static bool open_data(Session *s, const char *out)
{
    if (s->opt.weights != WEIGHTS_EXTERNAL && s->opt.weights != WEIGHTS_AUTO)
        return true;
    s->data = out_open_file(s->cx, str_fmt(s->cx, "%s.data", out)->s);
    return s->opt.weights != WEIGHTS_EXTERNAL || data_ready(s);
}

bool outputs_open(Session *s, const char *out)
{
    if (strcmp(out, "-") == 0)
        return outputs_check_stream(s);
    if (out_leads_to_stream(out) && !outputs_check_stream(s))
        return false;
    s->model = out_open(s->cx, out);
    if (!output_ready(s, s->model, out))
        return false;
    return out_is_stream(s->model) || open_data(s, out);
}

/* ---- writing ---- */

/* Must the weights go to a file of their own? auto: only when one file cannot hold the model. */
static bool wants_data(Session *s, Wire *w)
{
    return s->opt.weights == WEIGHTS_EXTERNAL || (s->opt.weights == WEIGHTS_AUTO && !wire_fits(w));
}

static bool write_stream(Session *s, Wire *w)
{
    Sink *sink = s->model ? out_sink(s->model) : &s->stream;
    if (wants_data(s, w) && !ctx_failed(s->cx))
        return needs_file(s);
    return !ctx_failed(s->cx) && wire_write_planned(w, sink, NULL, NULL);
}

/* The weights' file is committed first: a model that is there is whole. */
static bool write_two_files(Session *s, Wire *w)
{
    OutFile *files[] = { s->data, s->model };
    return data_ready(s) &&
        wire_write_planned(w, out_sink(s->model), out_sink(s->data), sys_base(out_path(s->data))) &&
        out_commit(s->cx, files, COUNT(files));
}

/* The weights of an earlier model are not ours to remove: somebody else may read them. */
static void note_left_data(Session *s)
{
    if (s->data && out_replaces(s->data) && !out_harms(s->cx, s->data))
        note(s->cx, NOTE_CHANGED, "%s has its weights in itself; %s is left from an earlier model",
             out_path(s->model), out_path(s->data));
}

bool outputs_write(Session *s, Graph *g, const ModelInfo *info)
{
    Wire *w = wire_plan(s->cx, g, info);
    if (!w)
        return false;
    if (!s->model || out_is_stream(s->model))
        return write_stream(s, w) && (!s->model || out_commit(s->cx, &s->model, 1));
    bool two = wants_data(s, w);
    if (ctx_failed(s->cx))
        return false;
    if (two)
        return write_two_files(s, w);
    if (!wire_write_planned(w, out_sink(s->model), NULL, NULL) || !out_commit(s->cx, &s->model, 1))
        return false;
    note_left_data(s);
    return true;
}
