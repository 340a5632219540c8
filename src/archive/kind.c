/* kind.c - what a file is, by its content.
 *
 * Three kinds are converted, one more can be shown. Every other file that people hand to a
 * converter is named as what it is, with the way to save the right one: the rows below, in the
 * order in which they are tried. */
#include "archive/archive.h"

#include <ctype.h>
#include <stdlib.h>

#define SAVE_IT                                                                                  \
    "in Python, with the model at hand: torch.jit.save(torch.jit.trace(model.eval(), example), " \
    "\"net.pt\"), or "                                                                           \
    "torch.export.save(torch.export.export(model.eval(), (example,)), \"net.pt2\")"

enum { HEAD = 4096 };

static FileKind other(Ctx *cx, const char *what, const char *hint)
{
    fail(cx, E_FORMAT, "%s", what);
    if (hint)
        fail_hint(cx, "%s", hint);
    return FILE_OTHER;
}

/* ---- files that are no ZIP, by their first bytes ---- */

typedef struct Magic {
    size_t at, n;
    const char *bytes, *what, *hint;
} Magic;
#define AT(at, bytes, what, hint) { (at), sizeof(bytes) - 1, (bytes), (what), (hint) }

static const Magic magics[] = {
    AT(4, "PTMF", "this is a mobile flatbuffer model, which holds bytecode and no program",
       "save it without _use_flatbuffer, or convert the model that it was made from"),
    AT(4, "ET", "this is an ExecuTorch program, already compiled", SAVE_IT),
    AT(4, "TFL3", "this is a TensorFlow Lite model, not a PyTorch one", NULL),
    AT(0, "PYTORCH1", "this was saved by a PyTorch 1.0 preview, too old to be read",
       "load it with PyTorch 1.0 and save it again"),
    AT(257, "ustar",
       "this is a tar archive: perhaps a torch.save file from before PyTorch 0.4, perhaps models "
       "packed together",
       "unpack it first; if it is a torch.save file, load it in PyTorch. " SAVE_IT),
    AT(0, "version https://git-lfs",
       "this is a git-lfs pointer, the model itself was not downloaded", "git lfs pull"),
    AT(0, "\x89HDF\r\n\x1a\n", "this is an HDF5 file (Keras?), not a PyTorch model", NULL),
    AT(0, "GGUF", "this is a GGUF file (llama.cpp): weights only, no program", SAVE_IT),
    AT(0, "\x93NUMPY", "this is a NumPy array, not a model", NULL),
    AT(0, "\x1f\x8b", "this file is compressed with gzip", "gunzip it first"),
    AT(0,
       "\xfd"
       "7zXZ",
       "this file is compressed with xz", "unxz it first"),
    AT(0, "BZh", "this file is compressed with bzip2", "bunzip2 it first"),
    AT(0, "\x28\xb5\x2f\xfd", "this file is compressed with zstd", "unzstd it first"),
    AT(0, "7z\xbc\xaf\x27\x1c", "this is a 7z archive", "unpack it first"),
    AT(0, "Rar!", "this is a RAR archive", "unpack it first"),
    AT(0,
       "\x7f"
       "ELF",
       "this is compiled code (AOTInductor?), which holds no program to convert", SAVE_IT),
};

static bool starts_text(Slice head, const char *word)
{
    size_t i = head.n >= 3 && memcmp(head.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < head.n && isspace(head.p[i]))
        i++;
    for (; *word; word++, i++)
        if (i >= head.n || tolower(head.p[i]) != *word)
            return false;
    return true;
}

static bool word_byte(uint8_t c) { return isalnum(c) || c == '_' || c == '.'; }

/* "torch.nn.modules.linear.Linear": the first GLOBAL, `c` module LF name LF. For a message, so
 * found by its look. */
static Str first_global(Ctx *cx, Slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != 'c')
            continue;
        size_t module = i + 1;
        size_t at = module;
        while (at < s.n && word_byte(s.p[at]))
            at++;
        size_t name = at + 1;
        if (at == module || at >= s.n || s.p[at] != '\n')
            continue;
        for (at = name; at < s.n && word_byte(s.p[at]);)
            at++;
        if (at > name && at < s.n && s.p[at] == '\n')
            return str_fmt(cx, "%.*s.%.*s", (int)(name - 1 - module), (const char *)s.p + module,
                           (int)(at - name), (const char *)s.p + name);
    }
    return NULL;
}

/* What torch.save put into the pickle that starts here. */
static FileKind pickled(Ctx *cx, Slice s, const char *container)
{
    bool dict = s.n > 2 && s.p[0] == 0x80 && s.p[2] == '}';
    Str cls = first_global(cx, s);
    if (dict || !cls || str_is(cls, "collections.OrderedDict"))
        fail(cx, E_FORMAT,
             "this %s holds only weights (a state_dict or a checkpoint), not the program that uses "
             "them",
             container);
    else if (str_starts(cls, "torch._utils._rebuild"))
        fail(cx, E_FORMAT, "this %s holds a tensor, not a program", container);
    else
        fail(cx, E_FORMAT,
             "this %s holds a pickled Python object of the class %s, which cannot be used without "
             "its Python source",
             container, cls->s);
    fail_hint(cx, "%s", SAVE_IT);
    return FILE_OTHER;
}

/* A pickle of a magic number, one of a version, one of the system's description; then the
 * object's. */
static FileKind legacy(Ctx *cx, Slice head)
{
    static const uint8_t start[] = { 0x80, 2 };
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        const uint8_t *next = sys_find(head.p + at + 2, head.n - at - 2, start, sizeof start);
        if (!next)
            break;
        at = (size_t)(next - head.p);
    }
    return pickled(cx, (Slice){ head.p + at, head.n - at },
                   "torch.save file from before PyTorch 1.6");
}

static bool is_safetensors(Slice head, uint64_t size)
{
    Cursor c = cur_over(head.p, head.n);
    uint64_t n = cur_u64(&c);
    return cur_u8(&c) == '{' && n >= 2 && n <= size - 8;
}

/* ModelProto: known fields of the right wire type as far as the head goes, and an opset, a graph or
 * a version among them. */
static bool is_onnx(Slice head, uint64_t size)
{
    static const uint8_t wire[27] = { [1] = 1, [2] = 3, [3] = 3,  [4] = 3,  [5] = 1,  [6] = 3,
                                      [7] = 3, [8] = 3, [14] = 3, [20] = 3, [25] = 3, [26] = 3 };
    bool telling = false;
    for (uint64_t at = 0; at < head.n;) {
        uint8_t tag = head.p[at++];
        unsigned field = tag >> 3;
        if (tag & 0x80) {
            if (at >= head.n)
                return false;
            field = (tag & 0x7f) >> 3 | (unsigned)(head.p[at] & 0x7f) << 4;
            if (head.p[at++] & 0x80)
                return false;
        }
        if (field >= COUNT(wire) || !wire[field] || (tag & 7) != wire[field] - 1)
            return false;
        uint64_t v = 0;
        for (int shift = 0;; shift += 7) {
            if (at >= head.n)
                return telling;
            if (shift > 56)
                return false;
            v |= (uint64_t)(head.p[at] & 0x7f) << shift;
            if (!(head.p[at++] & 0x80))
                break;
        }
        if (field == 1 && (v < 1 || v > 100))
            return false;
        telling |= field == 1 || field == 7 || field == 8;
        if (wire[field] == 3) {
            if (v > size - at)
                return false;
            at += v;
        }
    }
    return telling;
}

/* What a file that is no ZIP archive is, by its first bytes, from formats with a signature to those
 * that are only likely. FILE_OTHER with an error that says what to do instead, except for those
 * that can be read. */
static FileKind not_zip(Ctx *cx, Slice head, uint64_t size)
{
    static const uint8_t legacy_start[] = { 0x80, 2,    0x8a, 0x0a, 0x6c, 0xfc, 0x9c,
                                            0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19 };
    for (size_t i = 0; i < COUNT(magics); i++) {
        const Magic *m = &magics[i];
        bool same = head.n >= m->at + m->n && memcmp(head.p + m->at, m->bytes, m->n) == 0;
        if (same && (m->bytes[0] != 'E' || (isdigit(head.p[6]) && isdigit(head.p[7])))) /* ET12 */
            return other(cx, m->what, m->hint);
    }
    if (head.n >= sizeof legacy_start && memcmp(head.p, legacy_start, sizeof legacy_start) == 0)
        return legacy(cx, head);
    if (head.n > 2 && head.p[0] == 0x80 && head.p[1] >= 2 && head.p[1] <= 5)
        return pickled(cx, head, "bare pickle");
    if (starts_text(head, "<!doctype html") || starts_text(head, "<html"))
        return other(
            cx, "this is a web page, not a model: the download brought an error or a login page",
            "download the file itself, with the link that ends in its name");
    if (is_safetensors(head, size))
        return other(cx, "this is a safetensors file: weights only, no program", SAVE_IT);
    if (is_onnx(head, size))
        return FILE_ONNX;
    return other(cx,
                 "this is no saved PyTorch program: neither a ZIP archive nor anything else that "
                 "is known here",
                 SAVE_IT);
}

/* ---- ZIP archives ---- */

static bool has(Zip *z, const char *rest) { return zip_find_in_root(z, rest) != NULL; }

/* A record below this folder of the root. */
static bool has_under(const Zip *z, const char *folder, const char *suffix)
{
    size_t n = strlen(suffix);
    for (size_t i = 0; i < z->n; i++) {
        const ZipEntry *e = &z->entry[i];
        if (zip_in_root(z, e) && strncmp(e->name + z->root->len, folder, strlen(folder)) == 0 &&
            n <= e->name_len && strcmp(e->name + e->name_len - n, suffix) == 0)
            return true;
    }
    return false;
}

/* Archives that were packed again may hold strange records beside the model's folder: the folder is
 * where the marker is. */
static void find_root(Ctx *cx, Zip *z)
{
    static const char *const markers[] = { "data.pkl", "archive_format", "model.json" };
    for (size_t m = 0; z->root->len == 0 && m < COUNT(markers); m++)
        for (size_t i = 0; i < z->n && !has(z, markers[m]); i++) {
            const char *name = z->entry[i].name;
            const char *slash = strchr(name, '/');
            if (slash && strcmp(slash + 1, markers[m]) == 0) {
                z->root = str_n(cx, name, (size_t)(slash - name) + 1);
                return;
            }
        }
}

static FileKind exported(Ctx *cx, Zip *z)
{
    const ZipEntry *marker = zip_find_in_root(z, "archive_format");
    Slice s;
    if (!zip_slice(cx, z, marker, &s))
        return FILE_OTHER;
    if (s.n != 3 || memcmp(s.p, "pt2", 3) != 0)
        return other(
            cx, "the archive's format is named by its record archive_format, but not as \"pt2\"",
            SAVE_IT);
    if (has_under(z, "models/", ".json"))
        return FILE_PT2;
    if (has_under(z, "data/aotinductor/", ""))
        return other(cx, "this is a compiled package (AOTInductor): it holds no program to convert",
                     "save the ExportedProgram itself: torch.export.save(program, \"net.pt2\")");
    return other(cx, "this package holds no program: saving it probably failed",
                 "look for an error of torch.export.save, and save it again");
}

static FileKind saved(Ctx *cx, Zip *z)
{
    uint8_t head[HEAD];
    const ZipEntry *e = zip_find_in_root(z, "data.pkl");
    size_t n = e->size < sizeof head ? (size_t)e->size : sizeof head;
    Bytes b;
    if (!zip_bytes(cx, z, e, &b) || !bytes_read(cx, b, 0, head, n))
        return FILE_OTHER;
    return pickled(cx, (Slice){ head, n }, "torch.save file");
}

/* What an archive is, by the names of its records. The order matters: a program is recognised
 * before what other archives share with it (data.pkl, version). */
static FileKind in_zip(Ctx *cx, Zip *z)
{
    bool code = has_under(z, "code/", "");
    bool pickle = has(z, "data.pkl");
    if (has(z, "archive_format"))
        return exported(cx, z);
    if (has(z, "serialized_exported_program.json"))
        return FILE_PT2_OLD;
    if (has(z, "model.json") && !pickle)
        return FILE_TORCHSCRIPT;
    if (pickle && !code && has(z, "bytecode.pkl"))
        return other(cx, "only mobile bytecode is in this file, its source was stripped",
                     "convert the model that it was made from. " SAVE_IT);
    if (pickle && (code || has(z, "constants.pkl")))
        return FILE_TORCHSCRIPT;
    if (pickle)
        return saved(cx, z);
    if (has_under(z, ".data/ts_code/", "") || has(z, ".data/extern_modules"))
        return other(cx, "this is a torch.package archive",
                     "load it with torch.package and save the module in it. " SAVE_IT);
    if (has_under(z, "MAR-INF/", ""))
        return other(cx, "this is a TorchServe archive (.mar)",
                     "unzip it and convert the model inside");
    if (has(z, "version") || has(z, ".data/version"))
        return other(cx, "this archive holds no model: saving it probably failed",
                     "look for an error of the save, and save it again");
    if (has_under(z, "", ".npy"))
        return other(cx, "these are NumPy arrays (.npz), not a model", NULL);
    if (has(z, "model.weights.h5"))
        return other(cx, "this is a Keras model, not a PyTorch one", NULL);
    return other(cx, "this ZIP archive holds no saved PyTorch program",
                 "if it packs a model together with other files, unzip it first");
}

static FileKind damaged_zip(Ctx *cx, const Source *src)
{
    if (source_grows(src))
        fail_hint(cx, "the file is still being written: wait until it is complete");
    else
        fail_hint(cx,
                  "the file has %llu bytes: compare that with the original, and download or copy "
                  "it again",
                  (unsigned long long)src->size);
    return FILE_OTHER;
}

/* *zip is the opened archive, NULL for any other file. FILE_OTHER: an error says what the file is.
 */
FileKind kind_of(Ctx *cx, Source *src, Zip **zip)
{
    static const uint8_t record[] = { 'P', 'K', 3, 4 };
    static const uint8_t empty[] = { 'P', 'K', 5, 6 };
    uint8_t bytes[HEAD];
    Slice head = { bytes, src->size < sizeof bytes ? (size_t)src->size : sizeof bytes };
    *zip = NULL;
    if (src->size == 0)
        return other(cx, "the file is empty", "save or download it again");
    if (!bytes_read(cx, (Bytes){ src, 0, src->size }, 0, bytes, head.n))
        return FILE_OTHER;
    if (head.n < 4 || (memcmp(head.p, record, 4) != 0 && memcmp(head.p, empty, 4) != 0))
        return not_zip(cx, head, src->size);
    *zip = zip_open(cx, src, 0, src->size);
    if (!*zip)
        return damaged_zip(cx, src);
    find_root(cx, *zip);
    return in_zip(cx, *zip);
}
