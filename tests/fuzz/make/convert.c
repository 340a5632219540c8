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

pt2onnx_options choose_options(Choices *c)
{
    static const int opsets[] = { 18, 9, 11, 13, 16, 17, 20, 21, 23, 24, 26, 28 };
    pt2onnx_options o = small_options();
    o.opset = CHOICE_OF(c, opsets);
    uint32_t rest = choose(c, 256);
    o.loops = (pt2onnx_loops)(rest % 3);
    o.mode = rest & 8 ? PT2ONNX_MODE_SAVED : PT2ONNX_MODE_EVAL;
    o.state = (rest & 48) == 48 ? PT2ONNX_STATE_CONSTANT : PT2ONNX_STATE_IO;
    o.target = rest & 64 ? PT2ONNX_TARGET_ONNX : PT2ONNX_TARGET_ORT;
    o.unknown = rest & 128 ? PT2ONNX_UNKNOWN_CUSTOM : PT2ONNX_UNKNOWN_REFUSE;
    return o;
}

/* ---- a find as a file and a command ---- */

/* PT2ONNX_FUZZ_FILE=find.pt: where the archive goes; the command that shows the same is printed. */
static void write_find(const Out *file, const pt2onnx_options *o)
{
    static const char *const loops[] = { "auto", "keep", "unroll" };
    const char *path = getenv("PT2ONNX_FUZZ_FILE");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (!f)
        return;
    fwrite(file->p, 1, file->n, f);
    fclose(f);
    fprintf(stderr, "pt2onnx %s -o /dev/null --opset %d --loops=%s%s%s%s%s", path, o->opset,
            loops[o->loops], o->mode ? " --mode=saved" : "", o->state ? " --state=constant" : "",
            o->target ? " --target=onnx" : "", o->unknown ? " --unknown=custom" : "");
    for (size_t i = 0; i < o->n_inputs; i++)
        fprintf(stderr, " -i '%s'", o->inputs[i]);
    for (size_t i = 0; i < o->n_limits; i++)
        fprintf(stderr, " --limit %s", o->limits[i]);
    fprintf(stderr, "\n");
}

/* ---- converting ---- */

static int collect(void *user, const void *p, size_t n)
{
    out_put(user, p, n);
    return 0;
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
    require(status == PT2ONNX_OK || model->n == 0, "output after an error");
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
