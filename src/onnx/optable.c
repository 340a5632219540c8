/* optable.c - ONNX's operators by name: the generated facts (optable_data.c) joined with our
 * inference and folding.
 *
 * Facts are constant data, rows stand at the foot of each infer_*.c and fold_*.c, and the build
 * writes down which operator has which rows (tools/compile_tables.c); a context joins them of the
 * operators that it asks for. One without a row has no inference, which `pt2onnx_tables` in tests
 * lists. */
#include "onnx/fold/fold.h"
#include "onnx/infer/infer.h"

#include <stdlib.h>

const InferRow *const infer_families[] = {
    infer_elementwise, infer_shape,   infer_index, infer_reduce, infer_nn,
    infer_linalg,      infer_control, infer_misc,  infer_text,   NULL,
};
const FoldRow *const fold_families[] = {
    fold_elementwise, fold_shape, fold_reduce, fold_linalg, fold_nn, fold_misc, NULL,
};
extern const NameTable infer_names, fold_names;

/* Two of these with equal inputs are not one. Dropout counts: it draws when it trains. */
static const char *const random_ops[] = {
    "Bernoulli",        "Dropout",       "Multinomial",       "RandomNormal",
    "RandomNormalLike", "RandomUniform", "RandomUniformLike",
};

/* By number of its facts; NULL: it was not asked for. */
struct OnnxTable {
    OnnxOp **op;
};

/* NULL without memory. */
static struct OnnxTable *table(Ctx *cx)
{
    if (!cx->onnx) {
        keep_begin(cx);
        struct OnnxTable *t = new(cx, struct OnnxTable);
        t->op = new_array(cx, OnnxOp *, onnx_facts_count);
        cx->onnx = t->op ? t : NULL;
        keep_end(cx);
    }
    return cx->onnx;
}

static bool is_random(const char *name)
{
    for (size_t i = 0; i < COUNT(random_ops); i++)
        if (strcmp(random_ops[i], name) == 0)
            return true;
    return false;
}

static OpVersion version_of(const VersionFacts *v)
{
    return (OpVersion){ .since = v->since,
                        .deprecated = v->deprecated,
                        .min_in = v->min_in,
                        .max_in = v->max_in,
                        .min_out = v->min_out,
                        .max_out = v->max_out,
                        .n_in = v->n_in,
                        .n_out = v->n_out,
                        .n_attr = v->n_attr,
                        .n_type = v->n_type,
                        .in = &onnx_args[v->in],
                        .out = &onnx_args[v->out],
                        .attr = &onnx_attrs[v->attr],
                        .type = &onnx_types[v->type] };
}

/* NULL without memory. */
static const OpVersion *versions_of(Ctx *cx, const OpFacts *facts)
{
    OpVersion *at = new_array(cx, OpVersion, facts->n_version);
    for (int i = 0; at && i < facts->n_version; i++)
        at[i] = version_of(&onnx_versions[facts->version + i]);
    return at;
}

/* What ONNX says of an operator (optable_data.c), and what we know of it: how it infers, folds,
 * and whether it draws random numbers. */
static OnnxOp join(const OpFacts *facts, const OpVersion *version)
{
    size_t n, len = strlen(facts->name);
    const NameItem *infer = names_find(&infer_names, facts->name, len, &n);
    const NameItem *fold = names_find(&fold_names, facts->name, len, &n);
    return (OnnxOp){ .name = facts->name,
                     .version = version,
                     .n_version = facts->n_version,
                     .infer = infer ? infer_families[infer->family][infer->number].fn : NULL,
                     .fold = fold ? fold_families[fold->family][fold->number].fn : NULL,
                     .random = is_random(facts->name) };
}

/* In the keep arena; NULL without memory. */
static OnnxOp *joined(Ctx *cx, const OpFacts *facts)
{
    keep_begin(cx);
    const OpVersion *version = versions_of(cx, facts);
    OnnxOp *op = version ? new(cx, OnnxOp) : NULL;
    keep_end(cx);
    if (op)
        *op = join(facts, version);
    return op;
}

const OnnxOp *onnx_op_at(Ctx *cx, int i)
{
    struct OnnxTable *t = table(cx);
    if (!t || i < 0 || i >= onnx_facts_count)
        return NULL;
    if (!t->op[i])
        t->op[i] = joined(cx, &onnx_facts[i]);
    return t->op[i];
}

const OnnxOp *onnx_op(Ctx *cx, const char *name)
{
    int low = 0;
    int high = onnx_facts_count;
    while (low < high) {
        int middle = (low + high) / 2;
        int order = strcmp(onnx_facts[middle].name, name);
        if (order == 0)
            return onnx_op_at(cx, middle);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
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
    const char *text = a ? a->deflt : "";
    const char *end;
    if (!*text)
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
