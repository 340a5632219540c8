/* internal.h - what only the files of src/base share. */
#ifndef PT2ONNX_BASE_INTERNAL_H
#define PT2ONNX_BASE_INTERNAL_H

#include "base/base.h"

/* malloc and free of the whole library: the one place where a test makes memory run out. */
MUST_USE void *base_malloc(size_t size);
void base_free(void *p);
/* `size` zeroed bytes behind a head of up to 64, NULL when there is no memory (pages.c). What
 * pages_grow adds is anything. */
MUST_USE void *pages_new(size_t head, size_t size);
MUST_USE void *pages_grow(void *p, size_t head, size_t old, size_t size);
void pages_free(void *p, size_t head, size_t size);
/* The same of what may stay empty for the most part: no page of it takes memory before it is
 * touched. */
MUST_USE void *pages_untouched(size_t head, size_t size);
void pages_untouched_free(void *p, size_t head, size_t size);

#ifdef PT2ONNX_FAULTS
bool fault_of_size(size_t size); /* is an array of so many bytes to be refused? */
#else
static inline bool fault_of_size(size_t size) { return (void)size, false; }
#endif

bool arena_spent(const Arena *a); /* malloc has refused: the arena lives on its reserve */

bool strings_init(Ctx *cx);
void sources_close(Ctx *cx);
void outs_discard(Ctx *cx);
const OutFile *out_next(const OutFile *f); /* of cx->outs */
SysFile out_folder(const OutFile *f);      /* open; SYS_NONE: none */
void places_forget(Ctx *cx);
bool place_own_pos(Ctx *cx, const Place *p, Pos *out); /* this place's own, not an outer one's */

#endif
