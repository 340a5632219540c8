/* program.c - the parts of a program are made here, whoever reads it. */
#include "eval/program.h"

#define UP_TO(T, field) (offsetof(T, field) + sizeof((T){ 0 }.field))

/* How far the fields of a kind reach. */
static size_t expr_bytes(ExprKind kind)
{
    switch (kind) {
    case X_NONE:
    case X_TRUE:
    case X_FALSE:       return UP_TO(Expr, n);
    case X_INT:
    case X_FLOAT:
    case X_STR:
    case X_LOCAL:
    case X_CONSTANT:
    case X_GRAPH:
    case X_NEG:
    case X_TUPLE:
    case X_LIST:
    case X_DICT:        return UP_TO(Expr, i);
    case X_COMPLEX:     return UP_TO(Expr, c);
    case X_VALUE:       return UP_TO(Expr, value);
    case X_NAME:
    case X_ATTR:        return UP_TO(Expr, name);
    case X_INDEX:
    case X_BINARY:      return UP_TO(Expr, b);
    case X_TUPLE_SLICE: return UP_TO(Expr, hi);
    case X_CALL:
    case X_OP:          return sizeof(Expr);
    }
    return sizeof(Expr);
}

static size_t stmt_bytes(StmtKind kind)
{
    switch (kind) {
    case S_RETURN:
    case S_PASS:     return UP_TO(Stmt, parts);
    case S_EXPR:
    case S_ASSIGN:
    case S_DEF:      return UP_TO(Stmt, type);
    case S_SET_ATTR: return UP_TO(Stmt, attr);
    default:         return sizeof(Stmt);
    }
}

Expr *expr_new(Ctx *cx, ExprKind kind)
{
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    Expr *e = new_part(cx, Expr, expr_bytes(kind));
    phase_end(cx, around);
    e->kind = kind;
    return e;
}

static const StmtMeta nothing = { 0 };

Stmt *stmt_new(Ctx *cx, StmtKind kind)
{
    PhaseAround around = phase_begin(cx, PHASE_PROGRAM);
    Stmt *s = new_part(cx, Stmt, stmt_bytes(kind));
    phase_end(cx, around);
    s->kind = kind;
    s->meta = &nothing;
    return s;
}

Stmt *stmt_copy(Ctx *cx, const Stmt *from)
{
    Stmt *s = stmt_new(cx, from->kind);
    memcpy(s, from, stmt_bytes(from->kind));
    s->meta = &nothing;
    return s;
}

StmtMeta *stmt_meta(Ctx *cx, Stmt *s)
{
    if (s->meta == &nothing)
        s->meta = new(cx, StmtMeta);
    return MUTABLE(StmtMeta, s->meta);
}

void class_set_fields(Ctx *cx, ClassDef *c, Field *field, size_t n)
{
    Str *names = new_array(cx, Str, n);
    if (!names)
        return;
    for (size_t i = 0; i < n; i++)
        names[i] = field[i].name;
    c->field = field;
    c->field_name = names;
    c->n_field = (uint32_t)n;
}

bool stmt_has_blocks(const Stmt *s)
{
    return s->kind == S_IF || s->kind == S_FOR || s->kind == S_WHILE || s->kind == S_WITH;
}
