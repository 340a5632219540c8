#include "fuzz/make/convert.h"
#include "onnx/wire/model_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

pt2onnx_options small_options(void)
{
    static const char *const limits[] = { "steps=200000",    "heap=300000000", "seconds=10",
                                          "nodes=20000",     "unroll=300",     "calls=100",
                                          "output=50000000", "restarts=40" };
    pt2onnx_options o = PT2ONNX_OPTIONS;
    o.limits = limits;
    o.n_limits = sizeof limits / sizeof *limits;
    return o;
}

/* What a conversion may be asked for beside the rest. The words are the program's options. */
static const struct Asked {
    const char *words;
    pt2onnx_weights_type type;
    int least, fuse, change_io_types, block, dynamic, keep_weights, sequence_lists;
    bool as_torch;
} asked[] = {
    { .words = "" },
    { .words = " --fuse", .fuse = 1 },
    { .words = " --weights-type float16", .type = PT2ONNX_TYPE_FLOAT16 },
    { .words = " --weights-type float16 --fuse", .type = PT2ONNX_TYPE_FLOAT16, .fuse = 1 },
    { .words = " --weights-type bfloat16 --keep-io-types no",
      .type = PT2ONNX_TYPE_BFLOAT16,
      .least = 13,
      .change_io_types = 1 },
    { .words = " --weights-type int8 --weights-block 16",
      .type = PT2ONNX_TYPE_INT8,
      .least = 13,
      .block = 16 },
    { .words = " --weights-type int4 --weights-block 16",
      .type = PT2ONNX_TYPE_INT4,
      .least = 21,
      .block = 16 },
    { .words = " --weights-type int4 --fuse", .type = PT2ONNX_TYPE_INT4, .fuse = 1 },
    { .words = " --dynamic", .dynamic = 1 },
    { .words = " --keep-weights", .keep_weights = 1 },
    { .words = " # and sequence_lists", .sequence_lists = 1 },
    { .words = " # and the form of torch.onnx", .as_torch = true },
};

/* The last byte, which no program ends with, says which; one that is 0 asks for nothing. */
static const struct Asked *choose_asked(Choices *c)
{
    uint32_t which = c->n > 0 ? c->at[--c->n] : 0;
    return which < 128 ? &asked[which % COUNT(asked)] : &asked[0];
}

static void ask_for(pt2onnx_options *o, const struct Asked *a)
{
    o->weights_type = a->type;
    o->fuse = a->fuse;
    o->change_io_types = a->change_io_types;
    o->weights_block = a->block;
    o->dynamic = a->dynamic;
    o->keep_weights = a->keep_weights;
    o->sequence_lists = a->sequence_lists;
    o->constant_nodes = o->initializers_as_inputs = o->drop_unused_inputs = a->as_torch;
    o->torch_names = o->doc_strings = o->soft_sizes = a->as_torch;
    if (o->opset < a->least)
        o->opset = a->least;
    if (a->fuse)
        o->target = PT2ONNX_TARGET_ORT; /* which --fuse asks for */
}

static const char *words_of(const pt2onnx_options *o)
{
    for (size_t i = 0; i < COUNT(asked); i++) {
        pt2onnx_options same = *o;
        ask_for(&same, &asked[i]);
        if (memcmp(&same, o, sizeof same) == 0)
            return asked[i].words;
    }
    return "";
}

pt2onnx_options choose_options(Choices *c)
{
    static const int opsets[] = { 18, 9, 11, 13, 16, 17, 20, 21, 23, 24, 26, 28 };
    static const pt2onnx_loops loops[] = { PT2ONNX_LOOPS_AUTO, PT2ONNX_LOOPS_KEEP,
                                           PT2ONNX_LOOPS_AUTO, PT2ONNX_LOOPS_UNROLL };
    static const pt2onnx_state states[] = { PT2ONNX_STATE_IO, PT2ONNX_STATE_IO,
                                            PT2ONNX_STATE_DEFAULTS, PT2ONNX_STATE_CONSTANT };
    pt2onnx_options o = small_options();
    o.opset = CHOICE_OF(c, opsets);
    uint32_t rest = choose(c, 256);
    o.loops = loops[rest % 4];
    o.mode = rest & 8 ? PT2ONNX_MODE_SAVED : PT2ONNX_MODE_EVAL;
    o.state = states[rest / 16 % 4];
    o.target = rest & 64 ? PT2ONNX_TARGET_ONNX : PT2ONNX_TARGET_ORT;
    o.unknown = rest & 128 ? PT2ONNX_UNKNOWN_CUSTOM : PT2ONNX_UNKNOWN_REFUSE;
    ask_for(&o, choose_asked(c));
    return o;
}

/* ---- a find as a file and a command ---- */

/* PT2ONNX_FUZZ_FILE=find.pt: where the archive goes; the command that shows the same is printed. */
static void write_find(const Out *file, const pt2onnx_options *o)
{
    static const char *const loops[] = { "auto", "keep", "unroll" };
    static const char *const states[] = { "io", "constant", "refuse", "defaults" };
    const char *path = getenv("PT2ONNX_FUZZ_FILE");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (!f)
        return;
    fwrite(file->p, 1, file->n, f);
    fclose(f);
    fprintf(stderr, "pt2onnx %s -o /dev/null --opset %d --loops=%s --state=%s%s%s%s", path,
            o->opset, loops[o->loops], states[o->state], o->mode ? " --mode=saved" : "",
            o->target ? " --target=onnx" : "", o->unknown ? " --unknown=custom" : "");
    for (size_t i = 0; i < o->n_inputs; i++)
        fprintf(stderr, " -i '%s'", o->inputs[i]);
    for (size_t i = 0; i < o->n_limits; i++)
        fprintf(stderr, " --limit %s", o->limits[i]);
    fprintf(stderr, "%s\n", words_of(o));
}

/* ---- converting ---- */

static int collect(void *user, const void *p, size_t n)
{
    out_put(user, p, n);
    return 0;
}

/* A clock that runs out while a weight is computed has let a part of the model through. */
static bool out_of_time(const char *text)
{
    return text && strstr(text, "of processor time were spent") != NULL;
}

static pt2onnx_status convert_path(const char *path, const pt2onnx_options *o, Out *model,
                                   Out *message)
{
    pt2onnx_error *e = NULL;
    *model = (Out){ 0 };
    pt2onnx_status status = pt2onnx_convert_to(path, collect, model, o, &e);
    const char *text = pt2onnx_error_message(e);
    if (status == PT2ONNX_BUG)
        fprintf(stderr, "%s\n", text);
    require(status != PT2ONNX_BUG, "pt2onnx reports a bug of its own");
    require((status == PT2ONNX_OK) == (e == NULL), "an error without a text, or the other way");
    require(status == PT2ONNX_OK || strlen(text) > 10, "an error without a text");
    require(status == PT2ONNX_OK || model->n == 0 || out_of_time(text), "output after an error");
    if (out_of_time(text))
        out_free(model);
    if (getenv("PT2ONNX_FUZZ_FILE"))
        fprintf(stderr, "status %d %s\n", status, text);
    if (message && text)
        out_text(message, text);
    pt2onnx_error_free(e);
    return status;
}

static void read_back(const Out *model)
{
    Ctx *cx = ctx_new();
    ModelInfo info;
    require(cx != NULL, "no memory");
    Graph *g = wire_read(cx, source_memory(cx, model->p, model->n), &info);
    require(g && !ctx_failed(cx), "a model that does not read back");
    ctx_free(cx);
}

/* A model of these bytes is converted a second time: one of eight. */
static bool is_sample(const Out *file) { return crc32(0, file->p, (uInt)file->n) % 8 == 0; }

pt2onnx_status convert_bytes(const Out *file, const pt2onnx_options *o, Out *model)
{
    return convert_with_message(file, o, model, NULL);
}

pt2onnx_status convert_with_message(const Out *file, const pt2onnx_options *o, Out *model,
                                    Out *message)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, file->p, file->n) == (ssize_t)file->n, "no file in memory");
    /* Of an old file nobody waits whether it grows: a file that is cut short is refused at once. */
    require(futimens(fd, (struct timespec[2]){ { 0 }, { 0 } }) == 0, "no time of a file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    write_find(file, o);
    pt2onnx_status status = convert_path(path, o, model, message);
    if (status == PT2ONNX_OK)
        read_back(model);
    if (is_sample(file)) {
        Out again;
        require(convert_path(path, o, &again, NULL) == status, "another outcome of the same file");
        require(again.n == model->n && (model->n == 0 || !memcmp(again.p, model->p, again.n)),
                "other bytes of the same file");
        out_free(&again);
    }
    close(fd);
    return status;
}
