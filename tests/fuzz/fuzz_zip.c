/* fuzz_zip.c - any bytes as an archive. What is opened lies inside the file; two ways of reading a
 * record agree; an error has a text and an exit code for unreadable files. */
#include "archive/archive.h"

#include <stdlib.h>

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void read_record(Ctx *cx, Zip *z, const ZipEntry *e)
{
    Bytes b;
    Slice s;
    uint8_t last;
    if (!zip_slice(cx, z, e, &s))
        return;
    require(s.n == e->size);
    require(zip_bytes(cx, z, e, &b) && b.len == e->size);
    require(e->at >= z->off && e->at - z->off <= z->size &&
            e->packed <= z->size - (e->at - z->off));
    require(s.n == 0 || (bytes_read(cx, b, s.n - 1, &last, 1) && last == s.p[s.n - 1]));
    require(zip_check_crc(cx, z, e));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    require(cx != NULL);
    cx->limit[LIMIT_TEXT] = 1 << 20;
    Zip *z = NULL;
    FileKind k = kind_of(cx, source_memory(cx, p, n), &z);
    require((k == FILE_OTHER) == ctx_failed(cx));
    for (size_t i = 0; z && i < z->n && !ctx_failed(cx); i++) {
        require(zip_find(z, z->entry[i].name) == &z->entry[i]);
        read_record(cx, z, &z->entry[i]);
    }
    require(!ctx_failed(cx) ||
            (error_exit_code(cx->error.code) == 3 && error_text(cx, "fuzz", "x")->len > 10));
    require(arena_bytes(cx->keep) + arena_bytes(cx->run) < (64u << 20));
    ctx_free(cx);
    return 0;
}
