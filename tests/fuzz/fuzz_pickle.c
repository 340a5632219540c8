/* fuzz_pickle.c - any bytes as a pickle. What is read has no cycle, is nested within the limit, and
 * can be written and read again to the same value. */
#include "archive/archive.h"

#include <stdlib.h>

static void require(bool ok)
{
    if (!ok)
        abort();
}

enum { WRITTEN_MAX = 1 << 20 };

static void put_le(Buf *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++, v >>= 8)
        buf_add(b, &(uint8_t){ (uint8_t)v }, 1);
}

static void write_value(Buf *b, const Pickle *p, int depth);

static void write_seq(Buf *b, const Pickle *p, int depth, const char *before, const char *after)
{
    buf_str(b, before);
    for (size_t i = 0; i < p->seq.n && b->n < WRITTEN_MAX; i++)
        write_value(b, p->seq.at[i], depth);
    buf_str(b, after);
}

static void write_call(Buf *b, const Pickle *p, int depth, const char *opcode)
{
    write_value(b, p->fn, depth);
    write_value(b, p->args, depth);
    buf_str(b, opcode);
    if (p->state) {
        write_value(b, p->state, depth);
        buf_str(b, "b");
    }
}

static void write_value(Buf *b, const Pickle *p, int depth)
{
    require(depth < 300);
    double f = p->f;
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    switch (p->tag) {
    case P_NONE: buf_str(b, "N"); break;
    case P_BOOL: buf_str(b, p->b ? "\x88" : "\x89"); break;
    case P_INT:
        buf_str(b, "\x8a\x08");
        put_le(b, (uint64_t)p->i, 8);
        break;
    case P_FLOAT:
        buf_str(b, "G");
        put_le(b, __builtin_bswap64(bits), 8);
        break;
    case P_STR:
        buf_str(b, "X");
        put_le(b, p->s->len, 4);
        buf_add(b, p->s->s, p->s->len);
        break;
    case P_TUPLE: write_seq(b, p, depth + 1, "(", "t"); break;
    case P_LIST:  write_seq(b, p, depth + 1, "](", "e"); break;
    case P_DICT:  write_seq(b, p, depth + 1, "}(", "u"); break;
    case P_GLOBAL:
        buf_str(b, "c");
        buf_add(b, p->global.module->s, p->global.module->len), buf_str(b, "\n");
        buf_add(b, p->global.name->s, p->global.name->len), buf_str(b, "\n");
        break;
    case P_CALL:   write_call(b, p, depth + 1, "R"); break;
    case P_OBJECT: write_call(b, p, depth + 1, "\x81"); break;
    case P_PERSISTENT:
        write_value(b, p->pid, depth + 1);
        buf_str(b, "Q");
        break;
    }
}

static Buf written(Ctx *cx, const Pickle *p)
{
    Buf b = buf_new(cx);
    buf_str(&b, "\x80\x02");
    write_value(&b, p, 0);
    buf_str(&b, ".");
    return b;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    require(cx != NULL);
    cx->limit[LIMIT_HEAP] = 256 << 20;
    Pickle *v = pickle_read(cx, (Slice){ p, n }, "fuzz", NULL);
    require((v != NULL) == !ctx_failed(cx));
    if (v) {
        Buf once = written(cx, v);
        if (once.n < WRITTEN_MAX) { /* a DAG can be exponentially larger when it is spelt out */
            Pickle *again = pickle_read(cx, (Slice){ (uint8_t *)once.s, once.n }, "again", NULL);
            require(again != NULL);
            Buf twice = written(cx, again);
            require(twice.n == once.n && memcmp(twice.s, once.s, once.n) == 0);
        }
    }
    ctx_free(cx);
    return 0;
}
