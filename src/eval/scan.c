/* scan.c - every operator reachable from forward that cannot be converted, so that one run lists
 * them all.
 *
 * The scan looks at code, not at values: branches that are not taken count too. So it only adds to
 * the message of a conversion that has failed for an unsupported operator already, and except for
 * the entry's own statements the message says that the program may get there. Calls of methods are
 * followed by name through every class of the root's objects. */
#include "eval/internal.h"

typedef struct Scan {
    Eval *ev;
    const Function *fn; /* being looked at */
    int inside;         /* branches and loops around */
    Map seen;           /* functions, operators' names, classes, objects */
    VEC(const Function *) todo;
    VEC(const ClassDef *) classes; /* of the objects that the root holds */
} Scan;

static void scan_expr(Scan *s, const Expr *e);
static void scan_block(Scan *s, const Block *b);

static bool first_time(Scan *s, const void *what)
{
    if (!what || map_find(&s->seen, what))
        return false;
    map_put(s->ev->cx, &s->seen, what, NULL);
    return true;
}

static void scan_function(Scan *s, const Function *fn)
{
    if (first_time(s, fn))
        vec_push(s->ev->cx, &s->todo, fn);
}

static bool is_known(Ctx *cx, const Operator *op)
{
    return builtin_named(op->name) || is_control_call(op->name) ||
        (op_exists(cx, op) && !op_refused(cx, op));
}

static void refuse_op(Scan *s, const Expr *e)
{
    Ctx *cx = s->ev->cx;
    const char *why = op_refused(cx, e->op);
    Where here = { .kind = WHERE_STATEMENT, .text = s->fn->text, .start = e->start, .end = e->end };
    Where *before = cx->at;
    cx->at = &here;
    why = why ? why : "pt2onnx does not know this operator";
    if (s->inside == 0 && s->fn == s->ev->p->entry)
        refuse(cx, where_intern(cx), e->op->name, "%s", why);
    else
        refuse_unreached(cx, where_intern(cx), e->op->name, why);
    cx->at = before;
}

static void scan_op(Scan *s, const Expr *e)
{
    Ctx *cx = s->ev->cx;
    if (first_time(s, e->op) && !is_known(cx, e->op) && first_time(s, e->op->name))
        refuse_op(s, e);
}

/* Scans the methods of this name of all classes, as the class of the object is not known. */
static void scan_method(Scan *s, Str name)
{
    for (size_t i = 0; i < s->classes.n; i++)
        scan_function(s, map_get(&s->classes.at[i]->method, name));
}

static void scan_callee(Scan *s, const Expr *e)
{
    if (e->callee->kind == X_ATTR) {
        scan_method(s, e->callee->name);
        scan_expr(s, e->callee->a);
    } else if (e->callee->kind == X_NAME && s->ev->p->find_function &&
               strchr(e->callee->name->s, '.')) {
        scan_function(s, s->ev->p->find_function(s->ev->cx, s->ev->p, e->callee->name));
    } else if (e->callee->kind != X_NAME) {
        scan_expr(s, e->callee);
    }
}

/* Scans an expression. A name with a dot may be that of a function wherever it stands: fork
 * takes one as an argument. */
static void scan_expr(Scan *s, const Expr *e)
{
    if (!e)
        return;
    switch (e->kind) {
    case X_OP:
    case X_CALL:
        if (e->kind == X_OP)
            scan_op(s, e);
        else
            scan_callee(s, e);
        for (uint32_t i = 0; i < e->n_args; i++)
            scan_expr(s, e->args[i].value);
        break;
    case X_TUPLE:
    case X_LIST:
    case X_DICT:
        for (uint32_t i = 0; i < e->n; i++)
            scan_expr(s, e->items[i]);
        break;
    case X_INDEX:
    case X_BINARY:
        scan_expr(s, e->b);
        scan_expr(s, e->a);
        break;
    case X_ATTR:
    case X_TUPLE_SLICE:
    case X_NEG:         scan_expr(s, e->a); break;
    case X_NAME:
        if (s->ev->p->find_function && strchr(e->name->s, '.'))
            scan_function(s, s->ev->p->find_function(s->ev->cx, s->ev->p, e->name));
        break;
    case X_GRAPH: scan_function(s, e->fn); break;
    default:      break;
    }
}

static void scan_stmt(Scan *s, const Stmt *st)
{
    scan_expr(s, st->value);
    scan_expr(s, st->kind == S_SET_ATTR ? st->object : NULL);
    for (uint32_t i = 0; i < st->n_values; i++)
        scan_expr(s, st->values[i]);
    scan_function(s, st->kind == S_DEF ? st->def : NULL);
    if (!stmt_has_blocks(st))
        return;
    s->inside++;
    scan_block(s, &st->body);
    scan_block(s, &st->other);
    s->inside--;
}

static void scan_block(Scan *s, const Block *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        scan_stmt(s, b->at[i]);
}

/* The classes of the root's objects, in order. */
static void find_classes(Scan *s, Value root)
{
    VEC(Obj *) todo = { 0 };
    if (root.tag == V_OBJ)
        vec_push(s->ev->cx, &todo, root.obj);
    while (todo.n) {
        const Obj *o = todo.at[--todo.n];
        if (!first_time(s, o))
            continue;
        if (first_time(s, o->cls))
            vec_push(s->ev->cx, &s->classes, o->cls);
        for (int64_t i = 0; i < o->n; i++)
            if (o->slot[i].v.tag == V_OBJ)
                vec_push(s->ev->cx, &todo, o->slot[i].v.obj);
    }
}

void scan_unsupported(Eval *ev)
{
    Scan s = { .ev = ev };
    for (size_t i = 0; i < ev->cx->refusals.n; i++)
        first_time(&s, ev->cx->refusals.at[i].op);
    find_classes(&s, ev->p->root);
    scan_function(&s, ev->p->entry);
    while (s.todo.n) {
        s.fn = s.todo.at[--s.todo.n];
        scan_block(&s, &s.fn->body);
    }
}
