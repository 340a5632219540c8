/* wire.h - writing ONNX files: what wire_plan.c, wire.c, wire_const.c and wire_put.c share. Nobody
 * else includes it. */
#ifndef PT2ONNX_ONNX_WIRE_H
#define PT2ONNX_ONNX_WIRE_H

#include "onnx/internal.h"
#include "onnx/wire/model_file.h"

/* An initializer: the constant, and where its bytes go. Or a Constant node: before `user`, the node
 * of the root graph that is the first to need it; NULL for one that only outputs need. */
typedef struct Init {
    Ox v;
    bool external, is_node;
    const Node *user;
    uint64_t offset, size;
} Init;
typedef struct NodeProps {
    Str source, module, type;
} NodeProps;

/* What is written, once it is decided: names, and the constants in use. */
struct Wire {
    Ctx *cx;
    const Graph *graph;
    const ModelInfo *info;
    uint64_t measured;  /* bytes of the model as it is planned; 0: not measured yet */
    Str data_name;      /* of the external file, NULL without one */
    Sink *out;          /* NULL while measuring */
    uint64_t n;         /* measuring: bytes so far of the message that is open */
    VEC(uint64_t) size; /* lengths of nested messages, in the order of their opening */
    size_t next;        /* writing: the next of them */
    bool failed;        /* writing: the sink has refused */

    Str *value, *node;                 /* names, by id */
    bool *is_output;                   /* of the graph that makes it; by id */
    uint32_t n_value, n_node, n_place; /* one more than the highest id */
    Str no_name;                       /* "": an input or output that is not there */
    Str source_key, module_key, class_key;
    bool *used;
    size_t n_used;     /* every name given, by its string's number */
    Map suffix;        /* a name that many wished for -> the last suffix tried for it */
    Str path, prefix;  /* the module path looked at last, "layer1.0", and its "/layer1/0" */
    Map dims;          /* Dim -> its text */
    NodeProps **props; /* by SourceId; those of the nodes */
    VEC(Init) inits;
    VEC(const Node *)
    calls; /* of functions that the model carries, the first of each body; put_functions */
    Map function_of;       /* the node's body -> the function's name */
    Map bodies, same_name; /* domain, name and body as text -> its name; domain and name -> how many
                              there are */
    const Node
        *user; /* while constants are collected: the node of the root graph that is looked at */

    size_t filled;
    uint8_t buf[16384];
};

static inline bool type_is_known(Type t)
{
    while (t && t->kind != T_TENSOR)
        t = t->elem;
    return t && t->dtype != DT_NONE;
}

/* ---- wire_plan.c: what is decided before a byte is written ---- */

/* The body of a custom node that is a function of the model; or NULL. */
const Graph *wire_function_body(const Node *n);

/* ---- wire_put.c: fields and nested messages ---- */

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

/* What is buffered goes to the sink. */
void wire_flush(Wire *w);
void put_raw(Wire *w, const void *p, size_t n);
void put_varint(Wire *w, uint64_t v);
void put_tag(Wire *w, int field, int type);
void put_int(Wire *w, int field, int64_t v);
void put_float(Wire *w, int field, double v);
void put_text(Wire *w, int field, const char *s);
void put_str(Wire *w, int field, Str s);

/* A nested message: what is put between open and close is its body. */
typedef struct Msg {
    int field;
    size_t slot;
    uint64_t outer;
} Msg;
Msg open_msg(Wire *w, int field);
void close_msg(Wire *w, Msg m);
/* A message of two texts: StringStringEntryProto. */
void put_prop(Wire *w, int field, Str key, Str value);

/* ---- wire_const.c: constants ---- */

static inline uint64_t const_bytes(const Const *k)
{
    return dtype_bytes(k->dtype, (uint64_t)const_numel(k));
}
/* The elements, straight to a sink: the kernel copies what is contiguous. */
void put_elements(Wire *w, const Const *k);
/* TensorProto. init: where an initializer's bytes go; NULL for an attribute's tensor, which stays
 * in place. */
void put_tensor(Wire *w, int field, const Const *k, Str name, const Init *init);

#endif
