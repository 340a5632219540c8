/* operator.h - a name that programs call, "aten::add" or "quantized::linear". */
#ifndef PT2ONNX_OPS_OPERATOR_H
#define PT2ONNX_OPS_OPERATOR_H

#include "base/base.h"

/* There is one for each name of a context. What it means is found when it is first asked for. */
typedef struct Operator {
    Str name;
    struct Entry *entry;           /* what table.c has of it */
    const struct OpTraits *traits; /* what eval/call.c knows of it */
} Operator;
/* Of a name that nothing defines too. */
Operator *op_find(Ctx *cx, Str name);
Operator *op_named(Ctx *cx, const char *name);

#endif
