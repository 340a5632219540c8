/* tensor.h - tensors of a running program: storages, views over them, how they lie in memory, what
 * they may share. */
#ifndef PT2ONNX_VALUE_TENSOR_H
#define PT2ONNX_VALUE_TENSOR_H

#include "value/value.h"

typedef enum { PLAIN = 1, QUANT = 2, PACKED_SEQUENCE = 4 } Kinds; /* a set */

/* How a view looks at its base: begins an operator's bound call (OpCall of ops/ops.h), which alone
 * knows more. */
typedef struct View {
    const struct ViewKind *kind;
} View;
typedef struct ViewKind {
    /* What the view reads when its base reads `base`; POISON after an error. */
    Ox (*read)(Graph *g, const View *v, Ox base);
    /* What the base becomes once the view reads `part`. A view that cannot be written through is
     * E_UNSUPPORTED. */
    Ox (*write)(Graph *g, const View *v, Ox base, Ox part);
    /* The strides of the result, of type `to`, from those of its base, in elements. False: they do
     * not follow. */
    bool (*strides)(Ctx *cx, const View *v, Type old, const Dim *from, Type to, Dim *out);
    /* One view that does what `first`, of a base of that rank, and then v do; NULL: there is
     * none. */
    const View *(*join)(Ctx *cx, const View *first, const View *v, int rank);
    /* May one element of its base stand for several of its own, as after expand? */
    bool (*repeats)(const View *v);
} ViewKind;

/* What several tensors see. Written through any of them; `version` counts writes. */
struct Storage {
    Ox now;           /* the whole, in the shape of the tensor that made it */
    uint32_t version; /* never the same twice in one evaluation, undone branches included; 0: never
                         written */
    Str name;         /* state_dict name, or the input's name; NULL for a computed one */
    bool state;       /* a parameter, buffer or attribute of the saved model */
    SourceId written; /* of state: where the last write was */
    bool input;
    bool tracked;          /* state.c has met it */
    bool shared_bytes;     /* another storage of the file overlaps it: a write is refused */
    struct Alias *aliases; /* storages that may or may not be this very memory (tensor.c) */
    Str invalid; /* why nobody can tell what it holds, once a peer was written (`now` is POISON
                 then) */
    uint64_t
        created; /* heap.c's clock when it was made: what a branch itself made needs no trail */
};

/* zero_point: of type dtype; float32 where it need not be whole (of a quantised table). axis -1:
 * one of each. bytes: of a saved tensor of 4 bits the bytes that hold two numbers each, the low
 * half first, where its rows are whole bytes; else NULL. exact: the one scale as PyTorch keeps it,
 * where it is known; else 0. */
typedef struct QuantInfo {
    Ox scale, zero_point;
    int axis;
    DType dtype;
    Ox bytes;
    double exact;
} QuantInfo;

struct Tensor {
    Storage *st;
    Tensor *base;     /* of a view: the tensor it was made from; NULL: the storage itself */
    const View *view; /* of a view: the call that made it, to read again and to write back */
    Ox read;
    uint32_t read_version; /* the value when st->version was this */
    Kinds kind;
    bool number; /* PyTorch's "wrapped number": set when CONSTANTS.cN (0-d) is read, dropped by any
                    operator */
    const int64_t *strides; /* static multipliers in elements; NULL: contiguous if `contiguous`,
                               else unknown */
    Tri contiguous;         /* when neither strides nor stride tell */
    const Dim *stride;      /* of views: per axis, in elements; NULL: not told by the view */
    const QuantInfo *quant;
};

Tensor *tensor_new(Ctx *cx, Ox v); /* with a fresh storage; contiguous */
/* The result of a view, whose value now is `read`: shares base's storage. */
Tensor *tensor_view(Ctx *cx, Tensor *base, const View *view, Ox read);
/* The same contents in memory of its own: what reshape or contiguous make where they have to
 * copy. */
Tensor *tensor_copy(Ctx *cx, const Tensor *base, Ox read);
/* Nobody can tell which of the two it is: `op`, for messages, is the operator that made it. The two
 * become peers. */
Tensor *tensor_maybe_view(Ctx *cx, Tensor *base, Str op, Ox read);
/* squeeze_, t_ and the like: t itself becomes `now`, a view of what it was. Views that were made of
 * it stay what they are. */
MUST_USE bool tensor_become(Ctx *cx, Tensor *t, const Tensor *now);
/* out=: a tensor that is no view takes the shape of what is written to it. Whatever shared its
 * memory is lost, unless it was empty. */
MUST_USE bool tensor_refill(Ctx *cx, Tensor *t, Ox v);
/* set_: t itself becomes another tensor of source's memory. Views that were made of it stay what
 * they are. */
MUST_USE bool tensor_take(Ctx *cx, Tensor *t, Tensor *source);
bool tensor_is_invalid(const Tensor *t);             /* reading it fails */
Ox storage_fail_invalid(Ctx *cx, const Storage *st); /* why it does; POISON */
Ox tensor_read(Graph *g,
               Tensor *t); /* the value now; views are recomputed when their storage has changed */
Ox tensor_read_as(Graph *g, const Tensor *t,
                  Ox whole); /* what it would be if its storage held that */
/* Write `v` (of t's shape and dtype) through t: every tensor of the storage sees it. False:
 * refused. */
MUST_USE bool tensor_write(Graph *g, Tensor *t, Ox v);
Tri tensor_contiguous(Ctx *cx, Tensor *t); /* is_contiguous() */
Tri tensor_repeats(
    Ctx *cx, Tensor *t); /* does one element of memory stand for several of t, as after expand? */
bool tensor_strides(Ctx *cx, Tensor *t, Dim out[MAX_RANK]); /* stride(); false: unknown */
Type tensor_type(const Tensor *t); /* dtype and shape never change by writing */
/* Nobody can tell whether a and b are the same memory: once one is written, reading the other is
 * refused with `why`. */
void tensor_maybe_shared(Ctx *cx, Tensor *a, Tensor *b, Str why);
/* `part` is, or may be, one of the things that `whole` is made of: writing one loses the other, but
 * not the other parts. */
void tensor_holds(Ctx *cx, Tensor *whole, Tensor *part, Str why);
/* Adds to out, as keys, every storage that is or may be this very memory. */
void storage_may_be(Ctx *cx, Storage *st, Map *out);
/* Adds it, what it holds, and what may be the same memory as any of these. What is in out already
 * is not gone through. */
void storage_parts(Ctx *cx, Storage *st, Map *out);
/* st was written: what its peers hold, and theirs, nobody knows any more. */
void storage_invalidate_aliases(Ctx *cx, Storage *st);
/* How often that was a tensor's memory that has peers. */
uint64_t heap_shared_writes(Ctx *cx);
void heap_note_shared_write(Ctx *cx);
Tensor *tensor_alias(Ctx *cx, Tensor *t); /* detach: same storage, same view, another identity */

/* Are they of one kind, and quantised alike? Of 4 bits only the same tensor's are: its bytes lie
 * beside its numbers. */
bool tensors_same_kind(Ctx *cx, const Tensor *a, const Tensor *b);
/* Becomes like `one`, plain or quantised, in g. False: its scale is computed deeper. */
MUST_USE bool tensor_set_kind(const Graph *g, Tensor *t, const Tensor *one);
/* The very same memory, looked at in the same way: x += 1 gives x. */
static inline bool same_tensor(const Tensor *a, const Tensor *b)
{
    return a == b || (a->st == b->st && a->base == b->base && a->view == b->view);
}

/* ---- strides.c: what follows from how tensors lie in memory ---- */

/* The strides of a contiguous tensor of this type. False: not expressible. */
bool contiguous_strides(Ctx *cx, Type t, Dim out[MAX_RANK]);
/* Strides of a view of shape `to` over memory of type `old`. NO: such a view does not exist,
 * reshape copies. UNKNOWN: the sizes do not tell. */
Tri view_strides(Ctx *cx, Type old, const Dim *stride, Type to, Dim out[MAX_RANK]);
/* Does a view of shape `to` over all of base's elements exist? */
Tri tensor_can_view(Ctx *cx, Tensor *base, Type to);

#endif
