/* fuzz_exported.c - any bytes as the program of a .pt2. What is loaded can be printed, and loading
 * it again gives the same text; every slot that a statement names exists. */
#include "front/internal.h"
#include "unit/bytes.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_slots(const Function *f)
{
    for (uint32_t i = 0; i < f->n_param; i++)
        require(f->param[i].slot < f->n_slot);
    for (uint32_t i = 0; i < f->body.n; i++) {
        const Stmt *s = f->body.at[i];
        for (uint32_t k = 0; k < s->n_target; k++)
            require(s->target[k] < f->n_slot);
        require(s->meta->n_recorded == 0 || s->meta->n_recorded == s->n_target);
        for (uint32_t k = 0; s->value && s->value->kind == X_OP && k < s->value->n_args; k++) {
            const Expr *a = s->value->args[k].value;
            require(a->kind != X_LOCAL || a->slot < f->n_slot);
            if (a->kind == X_GRAPH)
                check_slots(a->fn);
        }
    }
}

static Str loaded(Ctx *cx, const Out *file)
{
    Zip *zip = NULL;
    FileKind kind = kind_of(cx, source_memory(cx, file->p, file->n), &zip);
    require(kind == FILE_PT2_OLD);
    Program *p = exported_load(cx, zip, kind);
    require((p != NULL) == !ctx_failed(cx));
    if (!p)
        return NULL;
    check_slots(p->entry);
    Buf b = buf_new(cx);
    function_print(&b, p->entry, 0, TEXT_SHOW);
    return buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    Ctx *cx = ctx_new();
    Ctx *again = ctx_new();
    require(cx && again);
    ZipOut z = { 0 };
    zip_add(&z, "serialized_exported_program.json", p, n, 0, NULL);
    zip_add(&z, "version", "8.3", 3, 0, NULL);
    Out file = zip_end(&z, false);
    Str once = loaded(cx, &file);
    Str twice = loaded(again, &file);
    require(!once == !twice && (!once || !strcmp(once->s, twice->s)));
    ctx_free(cx);
    ctx_free(again);
    out_free(&file);
    return 0;
}
