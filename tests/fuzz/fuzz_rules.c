/* fuzz_rules.c - any bytes as a file of rules, which a program's calls of the operators my::f,
 * my::g, my::h and aten::relu look for. */
#include "fuzz/make/archives.h"
#include "fuzz/make/convert.h"

#include <sys/mman.h>
#include <unistd.h>

static const char forward[] = "  def forward(self: __torch__.M, x: Tensor, y: Tensor) -> Any:\n"
                              "    a = ops.my.f(x, 0.5, [2, 3], \"mean\")\n"
                              "    b, c, = ops.my.g([x, y], None, dim=1)\n"
                              "    d = ops.my.h(x, True, 3)\n"
                              "    return (a, b, c, d, torch.relu(y))\n";

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const specs[] = { "x:float32[N,3]", "y:float32[2,3]" };
    pt2onnx_options o = small_options();
    Code code = { 0 };
    Out model;
    char path[64];
    const char *rules = path;
    int fd = memfd_create("rules", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, p, n) == (ssize_t)n, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    o.inputs = specs;
    o.n_inputs = 2;
    o.rules = &rules;
    o.n_rules = 1;
    out_text(&code.of_m, forward);
    Out file = archive_of_script(&code);
    convert_bytes(&file, &o, &model);
    out_free(&model);
    out_free(&file);
    code_free(&code);
    close(fd);
    return 0;
}
