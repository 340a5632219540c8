/* program.c - the parts of a program are made here, whoever reads it. */
#include "eval/program.h"

Expr *expr_new(Ctx *cx, ExprKind kind)
{
    int around = program_begin(cx);
    Expr *e = new(cx, Expr);
    program_end(cx, around);
    e->kind = kind;
    return e;
}

static const StmtMeta nothing = { 0 };

Stmt *stmt_new(Ctx *cx, StmtKind kind)
{
    int around = program_begin(cx);
    Stmt *s = new(cx, Stmt);
    program_end(cx, around);
    s->kind = kind;
    s->meta = &nothing;
    return s;
}

StmtMeta *stmt_meta(Ctx *cx, Stmt *s)
{
    if (s->meta == &nothing)
        s->meta = new(cx, StmtMeta);
    return MUTABLE(StmtMeta, s->meta);
}

bool stmt_has_blocks(const Stmt *s)
{
    return s->kind == S_IF || s->kind == S_FOR || s->kind == S_WHILE || s->kind == S_WITH;
}
