/* program_text.c - a whole program as text for `show`: the entry function, the methods of every
 * class that the saved objects have, and the free functions that these call, each once, in the
 * order in which they are met. */
#include "eval/program.h"

typedef struct Listing {
    Ctx *cx;
    Program *p;
    Buf text;
    Map seen;                   /* classes, functions and objects that have been met */
    VEC(const Function *) todo; /* free functions to print */
    int depth;
} Listing;

static bool first_time(Listing *l, const void *what)
{
    if (!what || map_find(&l->seen, what))
        return false;
    map_put(l->cx, &l->seen, what, NULL);
    return true;
}

/* ---- free functions called from a block ---- */

static void visit_block(Listing *l, const Block *b);

/* Adds the free functions that e names to l->todo, each once. */
static void visit_expr(Listing *l, const Expr *e)
{
    if (!e)
        return;
    switch (e->kind) {
    case X_ATTR:
    case X_TUPLE_SLICE:
    case X_NEG:         visit_expr(l, e->a); break;
    case X_INDEX:
    case X_BINARY:
        visit_expr(l, e->a);
        visit_expr(l, e->b);
        break;
    case X_NAME:
        if (l->p->find_function && str_starts(e->name, "__torch__.")) {
            Function *f = l->p->find_function(l->cx, l->p, e->name);
            if (first_time(l, f))
                vec_push(l->cx, &l->todo, f);
        }
        break;
    case X_CALL:
    case X_OP:
        visit_expr(l, e->kind == X_CALL ? e->callee : NULL);
        for (uint32_t i = 0; i < e->n_args; i++)
            visit_expr(l, e->args[i].value);
        break;
    case X_TUPLE:
    case X_LIST:
    case X_DICT:
        for (uint32_t i = 0; i < e->n; i++)
            visit_expr(l, e->items[i]);
        break;
    case X_GRAPH: visit_block(l, &e->fn->body); break;
    default:      break;
    }
}

static void visit_block(Listing *l, const Block *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const Stmt *s = b->at[i];
        visit_expr(l, s->value);
        visit_expr(l, s->kind == S_SET_ATTR ? s->object : NULL);
        for (uint32_t k = 0; k < s->n_values; k++)
            visit_expr(l, s->values[k]);
        if (stmt_has_blocks(s)) {
            visit_block(l, &s->body);
            visit_block(l, &s->other);
        }
        if (s->kind == S_DEF)
            visit_block(l, &s->def->body);
    }
}

static void print(Listing *l, const Function *f, int indent)
{
    function_print(&l->text, f, indent, TEXT_SHOW);
    visit_block(l, &f->body);
}

/* ---- classes of the saved objects ---- */

static void list_class(Listing *l, const ClassDef *c)
{
    if (c->method.n == 0)
        return;
    buf_fmt(&l->text, "class %s:\n", c->plain ? c->plain->s : c->qualname->s);
    for (size_t i = 0; i < c->method.n; i++)
        print(l, c->method.at[i].val, 2);
    buf_str(&l->text, "\n");
}

static void list_object(Listing *l, const Obj *o)
{
    if (!first_time(l, o) || l->depth > 200)
        return;
    if (first_time(l, o->cls))
        list_class(l, o->cls);
    l->depth++;
    for (int64_t i = 0; i < o->n; i++)
        if (o->slot[i].v.tag == V_OBJ)
            list_object(l, o->slot[i].v.obj);
    l->depth--;
}

Str program_text(Ctx *cx, Program *p)
{
    Listing l = { .cx = cx, .p = p, .text = buf_new(cx) };
    if (p->root.tag == V_OBJ)
        list_object(&l, p->root.obj);
    else if (p->entry)
        print(&l, p->entry, 0);
    for (size_t i = 0; i < l.todo.n && !ctx_failed(cx); i++)
        print(&l, l.todo.at[i], 0);
    return buf_done(&l.text);
}
