/* joined.c - text that grows: two texts behind one another, written out when they are looked at. */
#include "base/limits.h"
#include "value/heap.h"

/* Shorter text costs less to copy than to keep in parts. Longer text, and what --limit text
 * forbids, is left to whoever copies it, who says what is wrong. */
enum { JOINED_MIN = 256, JOINED_MAX = INT32_MAX };

struct Joined {
    Value left, right; /* text of one byte at least; one of them is a V_STR */
    int64_t n;
    Str whole; /* once it is written out, else NULL */
};

int64_t val_text_length(Value v)
{
    if (v.tag == V_JOINED)
        return v.joined->n;
    return v.tag == V_STR ? (int64_t)v.s->len : -1;
}

/* What a branch leaves behind is compared with what was there before, so text is whole there. Of
 * two that have grown neither is a part: `s + s`, again and again, would have parts without number.
 */
bool val_join(Ctx *cx, Value left, Value right, Value *out)
{
    int64_t n_left = val_text_length(left);
    int64_t n_right = val_text_length(right);
    int64_t n = n_left + n_right;
    if (left.tag == V_JOINED && right.tag == V_JOINED)
        return false;
    if (n_left < 1 || n_right < 1 || trail_is_open(cx))
        return false;
    if (n < JOINED_MIN || n > JOINED_MAX || n > cx->limit[LIMIT_TEXT])
        return false;
    Joined *j = new_value(cx, Joined);
    *j = (Joined){ .left = left, .right = right, .n = n };
    *out = (Value){ .tag = V_JOINED, .joined = j };
    return true;
}

static char *put(char *at, Str s)
{
    memcpy(at, s->s, s->len);
    return at + s->len;
}

/* From both ends inwards: what was added last stands outermost. */
static Str write_out(Ctx *cx, Value v)
{
    size_t n = (size_t)v.joined->n;
    char *text = new_array(cx, char, n);
    if (!text)
        return NULL;
    char *front = text;
    char *back = text + n;
    for (; v.tag == V_JOINED && !v.joined->whole; count_values(cx, 1)) {
        const Joined *j = v.joined;
        if (j->right.tag == V_STR) {
            back -= j->right.s->len;
            put(back, j->right.s);
            v = j->left;
        } else {
            front = put(front, j->left.s);
            v = j->right;
        }
    }
    put(front, v.tag == V_JOINED ? v.joined->whole : v.s);
    Str whole = str_n(cx, text, n);
    mem_give(cx, text, n);
    return ctx_failed(cx) ? NULL : whole;
}

Value val_whole(Ctx *cx, Value v)
{
    if (v.tag != V_JOINED)
        return v;
    if (!v.joined->whole)
        v.joined->whole = write_out(cx, v);
    return v.joined->whole ? val_str(v.joined->whole) : val_poison();
}
