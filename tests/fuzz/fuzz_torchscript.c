/* fuzz_torchscript.c - any bytes as a code record. What parses can be printed, and the print parses
 * to the same print. The one excuse is depth: infix operators become calls, which may nest a level
 * deeper. */
#include "base/limits.h"
#include "front/front.h"

#include <stdlib.h>

static void require(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    require(cx != NULL);
    cx->limit[LIMIT_HEAP] = 256 << 20;
    Text text = { .name = str_of(cx, "code/__torch__/net.py"), .at = (const char *)p, .n = n };
    CodeFile *file = torchscript_parse(cx, &text);
    require((file == NULL) == ctx_failed(cx));
    if (file) {
        Str once = torchscript_print(cx, file);
        Text printed = { .name = text.name, .at = once->s, .n = once->len };
        CodeFile *again = torchscript_parse(cx, &printed);
        require(again || cx->error.code == E_LIMIT);
        require(!again || torchscript_print(cx, again) == once);
    } else {
        require(error_text(cx, "pt2onnx", NULL)->len > 0);
    }
    ctx_free(cx);
    return 0;
}
