/* tensor.h - tensors of a running program: storages, views over them, how they lie in memory, what
 * they may share.
 *
 * A tensor is the last link of a chain of views over a storage. Reading it gives the value of the
 * ONNX graph that it holds now (tensor_read); writing it gives its storage a new value
 * (tensor_write), which every other tensor of the storage sees when it is read next. Two tensors of
 * which it is not known whether they share memory are aliases: writing one makes the other invalid,
 * and reading an invalid tensor is an error. */
#ifndef PT2ONNX_VALUE_TENSOR_H
#define PT2ONNX_VALUE_TENSOR_H

#include "value/value.h"

/* What a tensor is besides numbers in a shape; as a set, what an operator takes. */
typedef enum { PLAIN = 1, QUANT = 2, NESTED = 4 } Kinds;

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

/* The memory that several tensors see. Written by heap.c only (storage_set). */
struct Storage {
    Ox now;   /* the whole, in the shape of the tensor that made it; NULL: a container's mark */
    Str name; /* state_dict name, or the input's name; NULL for a computed one */
    struct Alias *aliases; /* storages that may be this very memory, and its parts (tensor.c) */
    Str invalid; /* why its contents are not known while `now` is POISON: an alias was written */
    uint64_t created; /* heap_now() when it was made: a branch that has made it logs no write */
    uint32_t
        version; /* another one after each write, also after one that is undone; 0: never written */
    SourceId written; /* of state: where the last write was */
    bool state;       /* a parameter, buffer or attribute of the saved model */
    bool input;
    bool tracked;      /* eval/state/state.c has met it */
    bool shared_bytes; /* another storage of the file overlaps it: a write is refused */
};

/* How the integers of a quantised tensor stand for numbers: (integer - zero_point) * scale. */
typedef struct QuantInfo {
    Ox scale;
    Ox zero_point; /* of type dtype; float32 where it need not be whole (of a quantised table) */
    int axis;      /* along which scale and zero_point differ; -1: there is one of each */
    DType dtype;
    Ox bytes;     /* of a saved tensor of 4 bits whose rows are whole bytes: two numbers a byte, the
                     low half first; else NULL */
    double exact; /* the one scale as PyTorch keeps it, where it is known; else 0 */
} QuantInfo;

struct Tensor {
    Storage *st;
    Tensor *base;          /* of a view: the tensor it was made from; NULL: the storage itself */
    const View *view;      /* of a view: the call that made it, to read again and to write back */
    Ox read;               /* the value .. */
    uint32_t read_version; /* .. while st->version is this */
    Kinds kind : 8;
    bool number; /* PyTorch's "wrapped number": CONSTANTS.cN (0-d); no operator's result is one */
    /* How it lies in memory, per axis in elements: of a saved tensor, and of a view where that
     * follows from its base; NULL: `contiguous` says all that is known. */
    Tri contiguous : 8;
    const Dim *stride;
    const QuantInfo *quant; /* of QUANT, else NULL */
    Ox lengths; /* of NESTED, else NULL: its values are sequences padded to one length, and of each
                   so many rows are its own; int64 [N, 1] */
};

/* ---- making tensors ---- */

Tensor *tensor_new(Ctx *cx, Ox v); /* with a fresh storage; contiguous */
/* The same of a weight k, which need not be contiguous. */
Tensor *tensor_saved(Ctx *cx, Ox v, const Const *k);
/* The result of a view, whose value now is `read`: shares base's storage. */
Tensor *tensor_view(Ctx *cx, Tensor *base, const View *view, Ox read);
/* The same contents in memory of its own: what reshape or contiguous make where they have to
 * copy. */
Tensor *tensor_copy(Ctx *cx, const Tensor *base, Ox read);
/* A view or a copy, which of them is not known: a copy, and base's alias from now on. `op`, for
 * messages, is the operator that made it. */
Tensor *tensor_maybe_view(Ctx *cx, Tensor *base, Str op, Ox read);
Tensor *tensor_alias(Ctx *cx, Tensor *t); /* detach: same storage, same view, another identity */
/* t itself as an operator gives it back; another tensor in place of a wrapped number. */
Tensor *tensor_given_back(Ctx *cx, Tensor *t);

/* ---- tensors that become others. Views that were made of t stay what they are; false after an
 * error: what the model keeps, and what is outside of an open branch, cannot change so ---- */

/* squeeze_, t_ and the like: t itself becomes `now`, a view of what it was. */
MUST_USE bool tensor_become(Ctx *cx, Tensor *t, const Tensor *now);
/* out=: a tensor that is no view takes the shape of what is written to it, in memory of its own.
 * The tensors that shared its old memory become invalid, unless that was empty. */
MUST_USE bool tensor_refill(Ctx *cx, Tensor *t, Ox v);
/* set_: t itself becomes another tensor of source's memory. */
MUST_USE bool tensor_take(Ctx *cx, Tensor *t, Tensor *source);

/* ---- reading and writing ---- */

/* The value now; a view is read again, by nodes of g, when its storage has changed. POISON after an
 * error, and where the tensor is invalid. */
Ox tensor_read(Graph *g, Tensor *t);
/* What t would be if its storage held `whole`. */
Ox tensor_read_as(Graph *g, const Tensor *t, Ox whole);
/* Write v, of t's shape and dtype, through t: every tensor of the storage sees it. False after an
 * error. */
MUST_USE bool tensor_write(Graph *g, Tensor *t, Ox v);
Type tensor_type(const Tensor *t); /* dtype and shape: no write changes them */
bool tensor_is_invalid(const Tensor *t);
/* The error of who reads an invalid tensor of st; POISON. */
Ox storage_fail_invalid(Ctx *cx, const Storage *st);

/* ---- what may be the same memory ---- */

/* It is not known whether a and b are the same memory: once one is written, the other is invalid
 * because of `why`. */
void tensor_maybe_shared(Ctx *cx, Tensor *a, Tensor *b, Str why);
/* `part` is, or may be, one of the things that `whole` is made of: writing one makes the other
 * invalid, but not the other parts. */
void tensor_holds(Ctx *cx, Tensor *whole, Tensor *part, Str why);
/* Adds to out, as keys, st and every storage that may be the same memory. */
void storage_may_be(Ctx *cx, Storage *st, Map *out);
typedef bool IsStorage(void *arg, const Storage *st);
/* Does a write to st make something invalid that `is` wants, or is it st itself? The keys of met
 * are not gone through; what was met is added. */
bool storage_reaches(Ctx *cx, Storage *st, Map *met, IsStorage *is, void *arg);
/* Adds to out, as keys, st, its parts, and what may be the same memory as any of these; not the
 * parts of what is in out already. */
void storage_parts(Ctx *cx, Storage *st, Map *out);
/* st was written: its aliases are invalid, and theirs. */
void storage_invalidate_aliases(Ctx *cx, Storage *st);

/* ---- kinds ---- */

/* Are they of one kind, and quantised alike? Two tensors of 4 bits are not, unless they share their
 * QuantInfo, as its bytes belong to one tensor's numbers. */
bool tensors_same_kind(Ctx *cx, const Tensor *a, const Tensor *b);
/* t becomes plain or quantised as `one` is, in g. False, without an error: g does not see one's
 * scale, or its bytes belong to other numbers. */
MUST_USE bool tensor_set_kind(const Graph *g, Tensor *t, const Tensor *one);
/* The very same memory, looked at in the same way: x += 1 gives x. */
static inline bool same_tensor(const Tensor *a, const Tensor *b)
{
    return a == b || (a->st == b->st && a->base == b->base && a->view == b->view);
}

/* ---- how tensors lie in memory (strides.c). Strides are in elements ---- */

/* torch.memory_format, as the file writes it */
enum { FORMAT_CONTIGUOUS, FORMAT_PRESERVE, FORMAT_CHANNELS_LAST, FORMAT_CHANNELS_LAST_3D };

bool tensor_strides(Ctx *cx, Tensor *t, Dim out[MAX_RANK]); /* stride(); false: not known */
/* The strides of a new tensor of that type and format; false: not known. */
bool format_strides(Ctx *cx, Type t, int64_t format, Dim out[MAX_RANK]);
/* is_contiguous(memory_format=format) */
Tri tensor_has_format(Ctx *cx, Tensor *t, int64_t format);
Tri tensor_contiguous(Ctx *cx, Tensor *t); /* is_contiguous() */
/* Does one element of memory stand for several of t, as after expand? */
Tri tensor_repeats(Ctx *cx, Tensor *t);
/* Strides of a view of shape `to` over memory of type `old`. NO: no such view exists, so reshape
 * copies. UNKNOWN: it depends on dynamic sizes. */
Tri view_strides(Ctx *cx, Type old, const Dim *stride, Type to, Dim out[MAX_RANK]);
/* Does a view of shape `to` over all of base's elements exist? */
Tri tensor_can_view(Ctx *cx, Tensor *base, Type to);

#endif
