/* optable.c - ONNX's operators by name: the generated facts (optable_data.c) joined with our
 * inference and folding.
 *
 * The join is made once a context, on first use: facts are constant data, rows stand at the foot of
 * each infer_*.c and fold_*.c, and a name that stands in neither has no inference, which
 * `pt2onnx_tables` in tests lists. */
#include "onnx/fold/fold.h"
#include "onnx/infer/infer.h"

#include <stdlib.h>

static const InferRow *const infer_families[] = {
    infer_elementwise, infer_shape,   infer_index, infer_reduce, infer_nn,
    infer_linalg,      infer_control, infer_misc,  infer_text,
};
static const FoldRow *const fold_families[] = {
    fold_elementwise, fold_shape, fold_reduce, fold_linalg, fold_nn, fold_misc,
};
/* Two of these with equal inputs are not one. Dropout counts: it draws when it trains. */
static const char *const random_ops[] = {
    "Bernoulli",        "Dropout",       "Multinomial",       "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike",
};

struct OnnxTable {
    OnnxOp *op;
    Map by_name;
};

static OnnxOp *table_find(Ctx *cx, const struct OnnxTable *t, const char *name)
{
    return map_get(&t->by_name, str_of(cx, name));
}

/* What ONNX says of each operator (optable_data.c), and what we know of it: how it infers, folds,
 * and whether it draws random numbers. NULL without memory. */
static struct OnnxTable *table_make(Ctx *cx)
{
    struct OnnxTable *t = new(cx, struct OnnxTable);
    t->op = new_array(cx, OnnxOp, onnx_facts_count);
    if (!t->op)
        return NULL;
    for (int i = 0; i < onnx_facts_count; i++) {
        t->op[i] = (OnnxOp){ .name = onnx_facts[i].name,
                             .version = onnx_facts[i].version,
                             .n_version = onnx_facts[i].n_version };
        map_put(cx, &t->by_name, str_of(cx, onnx_facts[i].name), &t->op[i]);
    }
    for (size_t i = 0; i < COUNT(infer_families); i++)
        for (const InferRow *r = infer_families[i]; r->op; r++) {
            OnnxOp *op = table_find(cx, t, r->op);
            if (op)
                op->infer = r->fn;
        }
    for (size_t i = 0; i < COUNT(fold_families); i++)
        for (const FoldRow *r = fold_families[i]; r->op; r++) {
            OnnxOp *op = table_find(cx, t, r->op);
            if (op)
                op->fold = r->fn;
        }
    for (size_t i = 0; i < COUNT(random_ops); i++) {
        OnnxOp *op = table_find(cx, t, random_ops[i]);
        if (op)
            op->random = true;
    }
    return t;
}

static const struct OnnxTable *table(Ctx *cx)
{
    if (!cx->onnx) {
        keep_begin(cx);
        cx->onnx = table_make(cx);
        keep_end(cx);
    }
    return cx->onnx;
}

const OnnxOp *onnx_op(Ctx *cx, const char *name)
{
    const struct OnnxTable *t = table(cx);
    return t ? table_find(cx, t, name) : NULL;
}

const OnnxOp *onnx_op_at(Ctx *cx, int i)
{
    const struct OnnxTable *t = table(cx);
    return t && i >= 0 && i < onnx_facts_count ? &t->op[i] : NULL;
}

const OpVersion *onnx_version(const OnnxOp *op, int opset)
{
    const OpVersion *found = NULL;
    if (!op)
        return NULL;
    for (int i = 0; i < op->n_version && op->version[i].since <= opset; i++)
        found = &op->version[i];
    return found;
}

bool onnx_takes(const OnnxOp *op, int opset, int i, DType t)
{
    const OpVersion *v = onnx_version(op, opset);
    if (!v || v->n_in == 0 || i < 0)
        return false;
    if (i >= v->n_in && v->in[v->n_in - 1].option != 2)
        return false;
    const FormalArg *a = &v->in[i < v->n_in ? i : v->n_in - 1];
    for (int j = 0; j < v->n_type; j++)
        if (strcmp(v->type[j].name, a->type) == 0)
            return v->type[j].dtypes >> t & 1;
    return false;
}

const FormalAttr *onnx_attr(const OpVersion *v, const char *name)
{
    if (!v)
        return NULL;
    for (int i = 0; i < v->n_attr; i++)
        if (strcmp(v->attr[i].name, name) == 0)
            return &v->attr[i];
    return NULL;
}

Attr onnx_default(Ctx *cx, const FormalAttr *a)
{
    const char *text = a ? a->deflt : NULL, *end;
    if (!text)
        return NO_ATTR;
    switch (a->kind) {
    case ATTR_INT:    return INT(a->name, strtoll(text, NULL, 10));
    case ATTR_FLOAT:  return FLOAT(a->name, parse_double(text, strlen(text), &end));
    case ATTR_STRING: return STRING(a->name, str_of(cx, text));
    default:          return NO_ATTR;
    }
}

bool onnx_says_default(Ctx *cx, const FormalAttr *formal, const Attr *a)
{
    Attr d = onnx_default(cx, formal);
    if (d.kind != a->kind)
        return false;
    switch (d.kind) {
    case ATTR_INT:    return a->i == d.i;
    case ATTR_FLOAT:  return (float)a->f == (float)d.f;
    case ATTR_STRING: return a->s == d.s;
    default:          return false;
    }
}
