/* ctx.c - the context of one conversion: made, restarted, freed. */
#include "base/internal.h"
#include "base/limits.h"

/* A context with the default limits and its arenas; NULL when there is no memory for them. */
Ctx *ctx_new(void)
{
    Arena *keep = arena_new();
    Arena *run = arena_new();
    Arena *scratch = arena_new();
    Ctx *cx = keep && run && scratch ? base_malloc(sizeof *cx) : NULL;
    if (!cx) {
        arena_free(keep);
        arena_free(run);
        arena_free(scratch);
        return NULL;
    }
    *cx = (Ctx){ .run = run, .keep = keep, .scratch = scratch };
#define X(id, name, deflt, why) cx->limit[id] = (deflt);
    PT2ONNX_LIMITS(X)
#undef X
    if (strings_init(cx))
        return cx;
    ctx_free(cx);
    return NULL;
}

void ctx_free(Ctx *cx)
{
    if (!cx)
        return;
    outs_discard(cx);
    sources_close(cx);
    arena_free(cx->run);
    arena_free(cx->scratch);
    for (Phase p = 0; p < PHASES; p++)
        arena_free(cx->phase[p]);
    arena_free(cx->keep);
    base_free(cx);
}

void ctx_restart(Ctx *cx)
{
    arena_reset(cx->run, (ArenaMark){ 0 });
    arena_reset(cx->scratch, (ArenaMark){ 0 });
    if (cx->phase[PHASE_VALUES]) /* its chunks serve the next evaluation */
        arena_reset(cx->phase[PHASE_VALUES], (ArenaMark){ 0 });
    cx->error = (Error){ .code = E_NONE };
    cx->refusals.n = 0;
    notes_keep(cx, cx->kept_notes, 0);
    cx->at = NULL;
    cx->dims = NULL;
    cx->heap = NULL;
    cx->autograd = NULL;
    cx->record_errors = NULL;
    cx->specialized = NULL;
    cx->types = NULL;
    places_forget(cx);
}
