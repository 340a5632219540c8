/* conversions.c - many conversions in one process, for tests/python/test_numbers.py: of a sanitized
 * build each costs milliseconds, where a process of its own costs fifty.
 *
 * A request on stdin is a line "BYTES<tab>SPEC<tab>SPEC.." and so many bytes of an archive; the
 * answer is a line "STATUS BYTES MESSAGE" and so many bytes of a model, with limits and demands of
 * fuzz/make/convert.h. Whoever aborts or is stopped by a sanitizer gives no answer. */
#include "fuzz/make/convert.h"

enum { LINE_MAX_BYTES = 1 << 16, SPECS_MAX = 8 };

/* "BYTES<tab>SPEC<tab>SPEC.." without its end. False: stdin has ended. */
static bool read_request(char *line, size_t *bytes, const char **specs, size_t *n_specs)
{
    if (!fgets(line, LINE_MAX_BYTES, stdin))
        return false;
    line[strcspn(line, "\n")] = 0;
    *bytes = strtoull(line, NULL, 10);
    *n_specs = 0;
    for (char *at = strchr(line, '\t'); at && *n_specs < SPECS_MAX; at = strchr(at, '\t')) {
        *at++ = 0;
        specs[(*n_specs)++] = at;
    }
    return true;
}

static void answer(pt2onnx_status status, const Out *message, const Out *model)
{
    printf("%d %zu ", (int)status, model->n);
    for (size_t i = 0; i < message->n; i++)
        putchar(message->p[i] == '\n' ? '\t' : message->p[i]);
    putchar('\n');
    if (model->n)
        fwrite(model->p, 1, model->n, stdout);
    fflush(stdout);
}

static Out read_file(size_t bytes)
{
    Out file = { .p = malloc(bytes + 1), .cap = bytes + 1 };
    file.n = fread(file.p, 1, bytes, stdin);
    require(file.n == bytes, "a request that ends too soon");
    return file;
}

int main(void)
{
    static char line[LINE_MAX_BYTES];
    const char *specs[SPECS_MAX];
    pt2onnx_options o = small_options();
    o.inputs = specs;
    size_t bytes;
    while (read_request(line, &bytes, specs, &o.n_inputs)) {
        Out file = read_file(bytes);
        Out model, message = { 0 };
        pt2onnx_status status = convert_with_message(&file, &o, &model, &message);
        answer(status, &message, &model);
        out_free(&message);
        out_free(&model);
        out_free(&file);
    }
    return 0;
}
