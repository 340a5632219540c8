/* schemas.h - the operators that generated programs call: those of the tables of src/ops. */
#ifndef PT2ONNX_FUZZ_SCHEMAS_H
#define PT2ONNX_FUZZ_SCHEMAS_H

#include "fuzz/make/choices.h"
#include "ops/ops.h"

/* Any of them. Those of aten come four times as often as the other namespaces. */
const Schema *choose_schema(Choices *c);
/* One of aten whose result is a view; one that writes into its first argument, itself or with `_`
 * behind its name. */
const Schema *choose_view(Choices *c);
const Schema *choose_writer(Choices *c);
/* find_schema("aten::add", "Scalar"), which is there. */
const Schema *find_schema(const char *name, const char *overload);

#endif
