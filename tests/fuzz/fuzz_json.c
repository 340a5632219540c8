/* fuzz_json.c - any bytes as JSON. What is read can be written and read again to the same; skipping
 * a value ends where reading it ends, the second time too. */
#include "archive/archive.h"

#include <stdlib.h>

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void put_string(Buf *b, Str s)
{
    buf_str(b, "\"");
    for (uint32_t i = 0; i < s->len; i++) {
        uint8_t c = (uint8_t)s->s[i];
        if (c < 0x20 || c == '"' || c == '\\')
            buf_fmt(b, "\\u%04x", c);
        else
            buf_add(b, &c, 1);
    }
    buf_str(b, "\"");
}

/* The text again without spaces and needless escapes. False when it is not sound. */
static bool rewrite(Json *j, Buf *b)
{
    bool comma = false;
    bool after_key = false;
    for (;;) {
        bool in_object_key = j->key && j->depth > 0;
        JsonTag t = json_next(j);
        if (t == J_END || t == J_ERROR)
            return t == J_END;
        bool closes = t == J_ARRAY_END || t == J_OBJECT_END;
        if (comma && !closes && !after_key)
            buf_str(b, ",");
        after_key = false;
        comma = true;
        switch (t) {
        case J_NULL:  buf_str(b, "null"); break;
        case J_TRUE:  buf_str(b, "true"); break;
        case J_FALSE: buf_str(b, "false"); break;
        case J_INT:
        case J_FLOAT: buf_add(b, j->raw.p, j->raw.n); break;
        case J_STRING:
            put_string(b, json_string(j));
            if (in_object_key) {
                buf_str(b, ":");
                after_key = true;
            }
            break;
        case J_ARRAY:
            buf_str(b, "[");
            comma = false;
            break;
        case J_OBJECT:
            buf_str(b, "{");
            comma = false;
            break;
        case J_ARRAY_END:  buf_str(b, "]"); break;
        case J_OBJECT_END: buf_str(b, "}"); break;
        default:           abort();
        }
    }
}

/* Each value is skipped from its begin on, of which the ends may be known, before it is read. */
static void skip_each(Ctx *cx, Slice text)
{
    size_t behind[JSON_DEPTH_MAX + 1];
    JsonEnds ends = { 0 };
    Json all = json_over(cx, "all", text);
    all.ends = &ends;
    Json j = all;
    require(json_skip(&all));
    for (;;) {
        Json skipper = j;
        JsonTag t = json_next(&j);
        if (t == J_END)
            break;
        if (t == J_ARRAY_END || t == J_OBJECT_END) {
            require(behind[j.depth] == j.at);
            continue;
        }
        if (skipper.key)
            continue;
        require(json_skip(&skipper));
        if (t == J_ARRAY || t == J_OBJECT)
            behind[skipper.depth] = skipper.at;
        else
            require(skipper.at == j.at);
    }
    json_forget(cx, &ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    require(cx != NULL);
    Slice text = { p, n };
    Json j = json_over(cx, "fuzz", text);
    Buf once = buf_new(cx);
    bool ok = rewrite(&j, &once);
    require(ok == !ctx_failed(cx));
    if (ok) {
        Json again = json_over(cx, "again", (Slice){ (uint8_t *)once.s, once.n });
        Json skipper = json_over(cx, "skip", text);
        Buf twice = buf_new(cx);
        require(rewrite(&again, &twice));
        require(twice.n == once.n && memcmp(twice.s, once.s, once.n) == 0);
        require(json_skip(&skipper) && json_next(&skipper) == J_END);
        skip_each(cx, text);
    }
    ctx_free(cx);
    return 0;
}
