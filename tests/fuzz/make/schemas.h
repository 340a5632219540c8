/* schemas.h - the operators that generated programs call: those of the tables of src/ops. */
#ifndef PT2ONNX_FUZZ_SCHEMAS_H
#define PT2ONNX_FUZZ_SCHEMAS_H

#include "fuzz/make/choices.h"
#include "ops/ops.h"

/* Any of them. Those of aten come four times as often as the other namespaces. */
const Schema *choose_schema(Choices *c);

#endif
