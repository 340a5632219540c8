/* joined.c - text that grows: two texts behind one another, written out when they are looked at. */
#include "base/limits.h"
#include "value/heap.h"

/* Shorter text costs less to copy than to keep in parts. Longer text, and what --limit text
 * forbids, is left to whoever copies it, who says what is wrong. */
enum { JOINED_MIN = 256, JOINED_MAX = INT32_MAX };

struct Joined {
    Value left, right; /* each is text of one byte at least */
    int64_t n;
    Str whole; /* once it is written out, else NULL */
};

int64_t val_text_length(Value v)
{
    if (v.tag == V_JOINED)
        return v.joined->n;
    return v.tag == V_STR ? (int64_t)v.s->len : -1;
}

/* What a branch leaves behind is compared with what was there before, so text is whole there. */
bool val_join(Ctx *cx, Value left, Value right, Value *out)
{
    int64_t n_left = val_text_length(left);
    int64_t n_right = val_text_length(right);
    int64_t n = n_left + n_right;
    if (n_left < 1 || n_right < 1 || trail_is_open(cx))
        return false;
    if (n < JOINED_MIN || n > JOINED_MAX || n > cx->limit[LIMIT_TEXT])
        return false;
    Joined *j = new_value(cx, Joined);
    *j = (Joined){ .left = left, .right = right, .n = n };
    *out = (Value){ .tag = V_JOINED, .joined = j };
    return true;
}

/* From its end to its beginning, as most text grows at the end: few parts wait at a time then. No
 * recursion, as there may be a part for each iteration of a loop. */
static Str write_out(Ctx *cx, Value v)
{
    Values waiting = { 0 };
    size_t n = (size_t)v.joined->n;
    char *text = new_array(cx, char, n);
    char *at = text ? text + n : NULL;
    vec_push(cx, &waiting, v);
    while (!ctx_failed(cx) && waiting.n > 0) {
        Value part = waiting.at[--waiting.n];
        count_values(cx, 1);
        Str whole = part.tag == V_JOINED ? part.joined->whole : part.s;
        if (whole) {
            at -= whole->len;
            memcpy(at, whole->s, whole->len);
        } else {
            vec_push(cx, &waiting, part.joined->left);
            vec_push(cx, &waiting, part.joined->right);
        }
    }
    if (ctx_failed(cx))
        return NULL;
    Str whole = str_n(cx, text, n);
    mem_give(cx, text, n);
    return whole;
}

Value val_whole(Ctx *cx, Value v)
{
    if (v.tag != V_JOINED)
        return v;
    if (!v.joined->whole)
        v.joined->whole = write_out(cx, v);
    return v.joined->whole ? val_str(v.joined->whole) : val_poison();
}
