/* kind.c - every kind of file that people hand to a converter, made small. */
#include "unit/test.h"
#include "unit/bytes.h"

#include "archive/archive.h"

#include <sys/wait.h>
#include <unistd.h>

static FileKind kind(Ctx *cx, const void *p, size_t n)
{
    Zip *z;
    return kind_of(cx, source_memory(cx, p, n), &z);
}

static void assert_other(Ctx *cx, const void *p, size_t n, const char *says)
{
    if (kind(cx, p, n) != FILE_OTHER || !ctx_failed(cx) ||
        !strstr(error_text(cx, NULL, NULL)->s, says))
        fail_msg("wanted \"%s\", got \"%s\"", says,
                 ctx_failed(cx) ? error_text(cx, NULL, NULL)->s : "no error");
    assert_int_equal(error_exit_code(cx->error.code), 3);
    ctx_restart(cx);
}

static void files_that_are_no_zip(void **state)
{
    Ctx *cx = *state;
    static const struct {
        size_t n;
        const char *bytes, *says;
    } cases[] = {
#define FILE_(bytes, says) { sizeof(bytes) - 1, bytes, says }
        FILE_("", "the file is empty"),
        FILE_("hello", "this is no saved PyTorch program"),
        FILE_("P", "no saved PyTorch program"),
        FILE_("\x18\0\0\0PTMF\0\0\0\0", "mobile flatbuffer"),
        FILE_("\x18\0\0\0ET12\0\0\0\0", "ExecuTorch"),
        FILE_("PYTORCH1....", "PyTorch 1.0 preview"),
        FILE_("\x20\0\0\0TFL3\0\0\0\0", "TensorFlow Lite"),
        FILE_("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n",
              "git lfs pull"),
        FILE_("\xef\xbb\xbf \n<!DOCTYPE html><html>", "a web page"),
        FILE_("<html><body>404", "a web page"),
        FILE_("\x89HDF\r\n\x1a\n....", "HDF5"),
        FILE_("GGUF\3\0\0\0", "GGUF"),
        FILE_("\x1f\x8b\x08\0", "gunzip it first"),
        FILE_("\x93NUMPY\1\0", "NumPy array"),
        FILE_("\x7f"
              "ELF\2\1\1",
              "compiled code"),
        FILE_("\x10\0\0\0\0\0\0\0{\"__metadata__\":}", "safetensors"),
        FILE_("\x80\2}q\0.", "bare pickle holds only weights"),
        FILE_("\x80\4\x95\x10\0\0\0\0\0\0\0cmy.net\nNet\n)\x81.",
              "a pickled Python object of the class my.net.Net"),
        FILE_("\x80\2\x8a\x0al\xfc\x9c\x46\xf9 "
              "j\xa8P\x19.\x80\2M\xe9\3.\x80\2}.\x80\2ccollections\nOrderedDict\nq\0)R.",
              "before PyTorch 1.6 holds only weights"),
        FILE_("\x80\2\x8a\x0al\xfc\x9c\x46\xf9 "
              "j\xa8P\x19.\x80\2M\xe9\3.\x80\2}.\x80\2ctorch.nn.modules.linear\nLinear\n",
              "class torch.nn.modules.linear.Linear"),
        FILE_("\x80\2ctorch._utils\n_rebuild_tensor_v2\n", "holds a tensor"),
        FILE_("PK\3\4 and then the connection broke", "cut short"),
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_other(cx, cases[i].bytes, cases[i].n, cases[i].says);
    char tar[512] = { 0 };
    memcpy(tar + 257, "ustar", 5);
    assert_other(cx, tar, sizeof tar, "tar archive");
}

static void onnx_files_are_known(void **state)
{
    Ctx *cx = *state;
    static const char small[] = "\x08\x08\x12\x05torch\x3a\x04\x12\x02gg\x42\x02\x10\x12";
    assert_int_equal(kind(cx, small, sizeof small - 1), FILE_ONNX);
    assert_other(cx, small, sizeof small - 6,
                 "no saved PyTorch program"); /* the graph reaches past the end */
    assert_other(cx, "\x0a\x05hello", 7, "no saved PyTorch program");
}

typedef struct Names {
    const char *at[8];
} Names;

static Out archive(const Names *names, const char *content)
{
    ZipOut z = { 0 };
    for (int i = 0; names->at[i]; i++)
        zip_add(&z, names->at[i], content, strlen(content), 0, NULL);
    return zip_end(&z, true);
}

static void archives(void **state)
{
    Ctx *cx = *state;
    static const struct {
        Names names;
        const char *content;
        FileKind kind;
        const char *says;
    } cases[] = {
        { { { "net/data.pkl", "net/constants.pkl", "net/code/net.py" } },
          "x",
          FILE_TORCHSCRIPT,
          NULL },
        { { { "net/data.pkl", "net/constants.pkl", "net/code/net.py", "__MACOSX/x" } },
          "x",
          FILE_TORCHSCRIPT,
          NULL },
        { { { "net/archive_format", "net/models/model.json" } }, "pt2", FILE_PT2, NULL },
        { { { "archive_format", "models/a/b.json" } }, "pt2", FILE_PT2, NULL },
        { { { "serialized_exported_program.json", "version" } }, "x", FILE_PT2_OLD, NULL },
        { { { "net/archive_format", "net/data/aotinductor/model/a.so" } },
          "pt2",
          FILE_OTHER,
          "AOTInductor" },
        { { { "net/archive_format", "net/data/weights/weight_0" } },
          "pt2",
          FILE_OTHER,
          "this package holds no program" },
        { { { "net/archive_format", "net/models/model.json" } },
          "pt3",
          FILE_OTHER,
          "not as \"pt2\"" },
        { { { "net/model.json", "net/tensors/0" } }, "x", FILE_TORCHSCRIPT, NULL },
        { { { "net/data.pkl", "net/constants.pkl", "net/bytecode.pkl" } },
          "x",
          FILE_OTHER,
          "only mobile bytecode" },
        { { { "net/data.pkl", "net/data/0" } },
          "\x80\2ccollections\nOrderedDict\n",
          FILE_OTHER,
          "torch.save file holds only weights" },
        { { { "net/data.pkl", "net/data/0" } }, "\x80\2cnet\nNet\n", FILE_OTHER, "class net.Net" },
        { { { "net/version", "net/byteorder" } }, "x", FILE_OTHER, "saving it probably failed" },
        { { { "p/.data/extern_modules", "p/.data/version" } }, "x", FILE_OTHER, "torch.package" },
        { { { "MAR-INF/MANIFEST.json", "net.pt" } }, "x", FILE_OTHER, "TorchServe" },
        { { { "a.npy", "b.npy" } }, "x", FILE_OTHER, "NumPy arrays" },
        { { { "config.json", "model.weights.h5" } }, "x", FILE_OTHER, "Keras" },
        { { { "README.md" } }, "x", FILE_OTHER, "holds no saved PyTorch program" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Out o = archive(&cases[i].names, cases[i].content);
        if (cases[i].kind == FILE_OTHER)
            assert_other(cx, o.p, o.n, cases[i].says);
        else
            assert_int_equal(kind(cx, o.p, o.n), cases[i].kind);
        assert_false(ctx_failed(cx));
        out_free(&o);
    }
}

static void a_damaged_archive_says_its_size(void **state)
{
    Ctx *cx = *state;
    Out o = archive(&(Names){ { "net/data.pkl", "net/constants.pkl", "net/code/a.py" } }, "x");
    assert_other(cx, o.p, o.n / 2, "download or copy it again");
    out_free(&o);
}

static void a_file_that_is_still_written(void **state)
{
    Ctx *cx = *state;
    char path[] = "/tmp/pt2onnx-grows-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "PK\3\4", 4) == 4);
    Source *s = source_file(cx, path);
    pid_t child = fork();
    if (child == 0) {
        usleep(50000);
        _exit(write(fd, "more", 4) == 4 ? 0 : 1);
    }
    Zip *z;
    assert_int_equal(kind_of(cx, s, &z), FILE_OTHER);
    assert_string_equal(cx->error.hint->s,
                        "the file is still being written: wait until it is complete");
    waitpid(child, NULL, 0);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_are_no_zip),           TEST(onnx_files_are_known),         TEST(archives),
        TEST(a_damaged_archive_says_its_size), TEST(a_file_that_is_still_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
