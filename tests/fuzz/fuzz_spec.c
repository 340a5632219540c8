/* fuzz_spec.c - any bytes as `-i` SPECs, a line each, of a program with inputs of several kinds. */
#include "fuzz/make/archives.h"
#include "fuzz/make/convert.h"

enum { SPECS = 8 };

static const char forward[] =
    "  def forward(self: __torch__.M, x: Tensor, n: int, xs: List[Tensor], d: Dict[str, Tensor],\n"
    "    p: Tuple[Tensor, float], o: Optional[Tensor], s: str) -> Any:\n"
    "    y = torch.add(x, n)\n"
    "    if torch.__is__(o, None):\n"
    "      z = y\n"
    "    else:\n"
    "      z = torch.mul(y, unchecked_cast(Tensor, o))\n"
    "    return (z, torch.cat(xs, 0), d[\"a\"], torch.mul(p[0], p[1]), torch.size(x))\n";

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    pt2onnx_options o = small_options();
    const char *spec[SPECS];
    Code code = { 0 };
    Out model;
    char *text = malloc(n + 1);
    memcpy(text, p, n);
    text[n] = 0;
    for (char *line = strtok(text, "\n"); line && o.n_inputs < SPECS; line = strtok(NULL, "\n"))
        spec[o.n_inputs++] = line;
    o.inputs = spec;
    out_text(&code.of_m, forward);
    Out file = archive_of_script(&code);
    convert_bytes(&file, &o, &model);
    out_free(&model);
    out_free(&file);
    code_free(&code);
    free(text);
    return 0;
}
