/* view_strides.h - the columns `strides` and `join` of view rows (view_strides.c), see StridesFn
 * and JoinFn in ops/ops.h. */
#ifndef PT2ONNX_OPS_VIEW_STRIDES_H
#define PT2ONNX_OPS_VIEW_STRIDES_H

#include "ops/internal.h"

bool strides_same(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_view(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_permute(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_transpose(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_t(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_m_t(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_slice(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_select(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_diagonal(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_unsqueeze(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_squeeze(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
bool strides_expand(Ctx *cx, const OpCall *call, Type old, const Dim *from, Type to, Dim *out);
/* A slice of a slice, along one axis, is one slice. */
const OpCall *join_slices(Ctx *cx, const OpCall *first, const OpCall *second, int rank);

#endif
