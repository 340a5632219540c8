/* program.c - the parts of a program are made here, whoever reads it. */
#include "eval/program.h"

Expr *expr_new(Ctx *cx, ExprKind kind)
{
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    Expr *e = new(cx, Expr);
    phase_end(cx, around);
    e->kind = kind;
    return e;
}

static const StmtMeta nothing = { 0 };

Stmt *stmt_new(Ctx *cx, StmtKind kind)
{
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    Stmt *s = new(cx, Stmt);
    phase_end(cx, around);
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
