/* call.c - calls: operators, builtins, functions, methods, classes, and the few forms that look
 * like calls.
 *
 * An operator goes to the first that knows it, in the order of the table asked[]: what needs the
 * evaluator itself (raise, wait, stacked lists, higher-order operators), then builtin.c (values
 * that are not tensors), then op_call, which refuses an unknown operator. Each function and module
 * pushes a Where record, so that an error and a node can say where in the user's model they come
 * from. */
#include "eval/branch/choice.h"
#include "eval/branch/higher_order.h"
#include "eval/lists/dynamic_parts.h"
#include "eval/lists/stacked_ops.h"
#include "value/walk.h"

/* ---- positions ---- */

/* "torchvision.models.resnet.BasicBlock" of
 * "__torch__.torchvision.models.resnet.___torch_mangle_3.BasicBlock". */
static Str find_python_name(Ctx *cx, Str qualname)
{
    char *name = new_array(cx, char, qualname->len + 1);
    size_t n = 0;
    const char *s = qualname->s, *dot;
    for (; name && *s; s = *dot ? dot + 1 : dot) {
        dot = strchr(s, '.');
        dot = dot ? dot : s + strlen(s);
        if (strncmp(s, "__torch__", 9) == 0 || strncmp(s, "___torch_mangle_", 16) == 0)
            continue;
        if (n)
            name[n++] = '.';
        memcpy(name + n, s, (size_t)(dot - s));
        n += (size_t)(dot - s);
    }
    return str_n(cx, name, n);
}

/* "net.Net.forward" -> "Net.forward": how a traceback would say it, with the class. */
static Str find_short_name(Ctx *cx, Str qualname)
{
    Str full = find_python_name(cx, qualname);
    const char *last = strrchr(full->s, '.');
    const char *from = last;
    while (from && from > full->s && from[-1] != '.')
        from--;
    return from ? str_of(cx, from) : full;
}

/* Found once for each name: a class is called by all of its modules. */
static Str remembered(Ctx *cx, Map *names, Str qualname, Str (*find)(Ctx *cx, Str qualname))
{
    Str known = map_get(names, qualname);
    if (known)
        return known;
    known = find(cx, qualname);
    map_put(cx, names, qualname, known);
    return known;
}

static Str python_name(Eval *ev, Str qualname)
{
    return remembered(ev->cx, &ev->python_names, qualname, find_python_name);
}

static Str short_name(Eval *ev, Str qualname)
{
    return remembered(ev->cx, &ev->short_names, qualname, find_short_name);
}

/* ---- names ---- */

static bool enum_member(Eval *ev, const ClassDef *c, Str name, Value *out)
{
    for (uint32_t i = 0; i < c->n_field; i++)
        if (c->field[i].name == name && c->field[i].constant) {
            EnumMember *m = new(ev->cx, EnumMember);
            *m = (EnumMember){ .cls = c, .name = name };
            *out = (Value){ .tag = V_ENUM, .e = m };
            return eval_expr(ev, c->field[i].constant, &m->value);
        }
    return fail(ev->cx, E_FORMAT, "the enum %s has no member %s", c->plain->s, name->s);
}

/* A path CLASS.member: an enum's constant, or a method, which hooks are called as. *found: the path
 * begins with a class. False after an error. */
static bool member_of_class(Eval *ev, Str path, Value *out, bool *found)
{
    const char *dot = strrchr(path->s, '.');
    if (!dot || !ev->p->find_class)
        return true;
    ClassDef *c = ev->p->find_class(ev->cx, ev->p, str_n(ev->cx, path->s, (size_t)(dot - path->s)));
    Str name = str_of(ev->cx, dot + 1);
    if (!c)
        return !ctx_failed(ev->cx);
    *found = true;
    if (c->kind == CLASS_ENUM)
        return enum_member(ev, c, name, out);
    const Function *fn = map_get(&c->method, name);
    if (!fn)
        return fail(ev->cx, E_FORMAT, "the class %s has no method %s", c->plain->s, name->s);
    *out = (Value){ .tag = V_FUNCTION, .any = fn };
    return true;
}

/* A function or a class of the program, by its whole path. */
static bool is_defined(Eval *ev, Str path, Value *out)
{
    Program *p = ev->p;
    *out = (Value){ .tag = V_FUNCTION };
    if (p->find_function)
        out->any = p->find_function(ev->cx, p, path);
    if (out->any || ctx_failed(ev->cx) || !p->find_class)
        return out->any != NULL;
    *out = (Value){ .tag = V_CLASS, .any = p->find_class(ev->cx, p, path) };
    return out->any != NULL;
}

static bool find_name(Eval *ev, Str path, Value *out)
{
    bool found = false;
    if (is_defined(ev, path, out))
        return true;
    if (ctx_failed(ev->cx) || !member_of_class(ev, path, out, &found))
        return false;
    if (!found)
        *out = (Value){ .tag = V_NAMESPACE, .s = path };
    return true;
}

bool resolve_name(Eval *ev, Str path, Value *out)
{
    Value *known = map_get(&ev->names, path);
    if (!known) {
        known = new(ev->cx, Value);
        if (!find_name(ev, path, known))
            return false;
        map_put(ev->cx, &ev->names, path, known);
    }
    *out = *known;
    return true;
}

/* ---- functions ---- */

bool eval_raise(Eval *ev, Str message)
{
    if (ev->staged > 0) { /* the innermost branch takes it */
        ev->raised = message;
        ev->raised_at = where_intern(ev->cx);
        return false;
    }
    if (ev->cx->refusals.n > 0) /* the program may have come here because an operator was refused:
                                   the error lists that */
        return refusals_fail(ev->cx);
    if (facts_other_rank(ev->cx, message))
        return false;
    return fail(ev->cx, E_VALUE, "the model raises an error: %s", message->s);
}

/* The argument for parameter i of a function: the i-th without a name, or the one of its name. */
static const OpArg *arg_for(const ParamDecl *p, uint32_t i, const OpArg *args, size_t n)
{
    if (i < n && !args[i].name)
        return &args[i];
    for (size_t k = 0; k < n; k++)
        if (args[k].name == p->name)
            return &args[k];
    return NULL;
}

/* Fills the parameters among a new frame's locals, each converted to its declared type; a default
 * is evaluated in the caller's frame. */
static bool bind_params(Eval *ev, const Function *fn, const OpArg *args, size_t n, Obj *locals)
{
    Value v;
    if (n > fn->n_param)
        return fail(ev->cx, E_VALUE, "%s takes %u arguments, got %zu", fn->name->s, fn->n_param, n);
    for (uint32_t i = 0; i < fn->n_param; i++) {
        const ParamDecl *p = &fn->param[i];
        const OpArg *given = arg_for(p, i, args, n);
        if (!given && !p->deflt)
            return fail(ev->cx, E_VALUE, "%s: the argument '%s' is missing", fn->name->s,
                        p->name->s);
        if (given)
            v = given->v;
        else if (!eval_expr(ev, p->deflt, &v))
            return false;
        if (!convert_to(ev, v, p->type, p->name->s, &v))
            return false;
        cell_init(&locals->slot[p->slot], v);
    }
    return true;
}

/* A nested function (fork's) reads the locals that it captures when it starts. */
static bool run_function(Eval *ev, const Function *fn, const OpArg *args, size_t n, Value *out)
{
    Frame frame = { .up = ev->frame,
                    .fn = fn,
                    .locals = obj_of_locals(ev->cx, fn->n_slot, fn->slot_name),
                    .result = val_none() };
    if (frame.locals->n < (int64_t)fn->n_slot || !bind_params(ev, fn, args, n, frame.locals))
        return false;
    for (uint32_t i = 0; i < fn->n_capture && ev->frame; i++)
        cell_init(&frame.locals->slot[fn->capture[2 * i + 1]],
                  ev->frame->locals->slot[fn->capture[2 * i]].v);
    ev->frame = &frame;
    Flow flow = run_block(ev, &fn->body);
    ev->frame = frame.up;
    if (flow == FLOW_FAIL || flow == FLOW_RAISE)
        return false;
    return convert_to(ev, frame.result, fn->ret, "the result", out);
}

/* nn.Transformer asks whether its mask is the causal one, to leave the mask out then. The answer
 * rests on data where the mask is an input: with False the mask is used, which gives the same. */
static void answer_hint(const Function *fn, Value *out)
{
    if (out->tag == V_SYMBOOL && fn->qualname &&
        str_is(fn->qualname, "__torch__.torch.nn.modules.transformer._detect_is_causal_mask"))
        *out = val_bool(false);
}

static Where where_called(Eval *ev, const Function *fn)
{
    return (Where){ .up = ev->cx->at,
                    .kind = WHERE_FUNCTION,
                    .name = short_name(ev, fn->qualname ? fn->qualname : fn->name),
                    .text = fn->text,
                    .start = fn->start,
                    .end = fn->start };
}

/* 0: fn has no statement. */
SourceId place_of_end(Eval *ev, const Function *fn)
{
    Where function = where_called(ev, fn);
    Where here = { .up = &function, .kind = WHERE_STATEMENT };
    Where *before = ev->cx->at;
    if (fn->body.n == 0)
        return 0;
    const Stmt *last = fn->body.at[fn->body.n - 1];
    here.text = last->meta->text ? last->meta->text : fn->text;
    here.start = last->start;
    here.end = last->end;
    ev->cx->at = &here;
    SourceId id = where_intern(ev->cx);
    ev->cx->at = before;
    return id;
}

/* Calls the function with its place pushed; the depth of calls counts against --limit calls. */
bool call_function(Eval *ev, const Function *fn, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    if (ev->calls >= cx->limit[LIMIT_CALLS] || ev->nesting >= NESTING_MAX) {
        fail(cx, E_LIMIT, "the model's functions call each other more than %lld deep",
             (long long)ev->calls);
        fail_hint(cx, "--limit calls=N raises this limit");
        return false;
    }
    Where here = where_called(ev, fn);
    cx->at = &here;
    ev->calls++;
    bool ok = run_function(ev, fn, args, n, out);
    if (ok)
        answer_hint(fn, out);
    ev->calls--;
    cx->at = here.up;
    return ok;
}

bool call_value(Eval *ev, Value f, const OpArg *args, size_t n, Value *out)
{
    if (f.tag != V_FUNCTION)
        return must_be_set(ev, f) && fail(ev->cx, E_VALUE, "%s cannot be called", val_kind(f));
    return call_function(ev, f.any, args, n, out);
}

/* ---- methods ---- */

bool is_autocast(const ClassDef *c)
{
    return c && c->plain &&
        (str_is(c->plain, "__torch__.torch.amp.autocast_mode.autocast") ||
         str_is(c->plain, "__torch__.torch.cuda.amp.autocast_mode.autocast") ||
         str_is(c->plain, "__torch__.torch.cpu.amp.autocast_mode.autocast"));
}

/* The methods of autocast do nothing but note that the region is dropped, unless it is made with
 * enabled=False. The archive's own __init__ and __enter__ are stubs, as PyTorch handles the class
 * in a compiler pass. */
static bool autocast_method(Eval *ev, const Obj *o, Str name, const OpArg *args, size_t n,
                            Value *out)
{
    const Function *fn = map_get(&o->cls->method, name);
    *out = val_none();
    if (!str_is(name, "__init__"))
        return true;
    if (fn)
        for (size_t i = 0; i < n && i + 1 < fn->n_param; i++)
            if (str_is(fn->param[i + 1].name, "enabled") && args[i].v.tag == V_BOOL && !args[i].v.b)
                return true;
    note(ev->cx, NOTE_DROPPED,
         "an autocast region: its operators keep the types that the program gives them");
    return true;
}

static bool run_method(Eval *ev, Obj *o, Str name, const OpArg *args, size_t n, Value *out)
{
    const Function *fn = o->cls ? map_get(&o->cls->method, name) : NULL;
    if (!fn)
        return fail(ev->cx, E_UNSUPPORTED, "%s has no method '%s'",
                    o->cls ? python_name(ev, o->cls->qualname)->s : "this object", name->s);
    OpArg *all = scratch_array(ev->cx, OpArg, n + 1);
    if (!all)
        return false;
    all[0] = (OpArg){ NULL, { .tag = V_OBJ, .obj = o } };
    if (n)
        memcpy(all + 1, args, n * sizeof *args);
    return call_function(ev, fn, all, n + 1, out);
}

/* Calls the method, with the module's path pushed if o is a module. */
bool call_method(Eval *ev, Obj *o, Str name, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    if (is_autocast(o->cls))
        return autocast_method(ev, o, name, args, n, out);
    if (!o->path)
        return run_method(ev, o, name, args, n, out);
    Where here = { .up = cx->at,
                   .kind = WHERE_MODULE,
                   .name = o->path,
                   .type = o->cls ? python_name(ev, o->cls->qualname) : NULL };
    cx->at = &here;
    bool ok = run_method(ev, o, name, args, n, out);
    cx->at = here.up;
    if (ok && ev->p->on_module)
        ev->p->on_module(ev->p->module_user, o->path, here.type, *out);
    return ok;
}

/* ---- operators ---- */

typedef bool EvalArg(Eval *ev, const Expr *e, Value *out);

static bool eval_args_by(Eval *ev, const Expr *e, EvalArg *eval, OpArg **out)
{
    *out = scratch_array(ev->cx, OpArg, e->n_args ? e->n_args : 1);
    if (!*out)
        return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        (*out)[i].name = e->args[i].name;
        if (!eval(ev, e->args[i].value, &(*out)[i].v))
            return false;
    }
    return true;
}

static bool eval_args(Eval *ev, const Expr *e, OpArg **out)
{
    return eval_args_by(ev, e, eval_expr, out);
}

/* What the file recorded about the results, as types; returns how many: 0 when it recorded nothing
 * that op_call can compare. */
static size_t expected_types(Eval *ev, const Stmt *s, Type out[4])
{
    if (!s || !s->meta->recorded || s->meta->n_recorded == 0 || s->meta->n_recorded > 4)
        return 0;
    for (uint32_t i = 0; i < s->meta->n_recorded; i++)
        if (!(out[i] = recorded_type(ev->cx, &s->meta->recorded[i])))
            return 0;
    return s->meta->n_recorded;
}

/* ---- texts about what only the running model knows ---- */

static Str staged_text(Value v)
{
    return v.tag == V_UNINIT && v.any ? ((const Unset *)v.any)->text : NULL;
}

static WalkStep stop_at_name(void *arg, Value v)
{
    (void)arg;
    bool by_name = v.tag == V_MAYBE || v.tag == V_CHOICE || v.tag == V_SYMINT ||
        v.tag == V_SYMFLOAT || v.tag == V_SYMBOOL || v.tag == V_TENSOR || v.tag == V_OBJ ||
        staged_text(v) || (v.tag == V_LIST && v.list->stacked);
    return by_name ? WALK_STOP : WALK_IN;
}

/* Would str(v) contain a value that only the running model knows? The text has the value's name
 * in its place. */
static bool is_given_by_name(Ctx *cx, Value v)
{
    enum { DEEP = 9 };
    return val_walk(cx, v, DEEP, stop_at_name, NULL) == WALK_STOPPED;
}

/* v with staged texts as plain ones, in a list or tuple too. Without memory, v itself. */
static Value plain_text(Ctx *cx, Value v)
{
    if (staged_text(v))
        return val_str(staged_text(v));
    if ((v.tag != V_LIST || v.list->stacked) && v.tag != V_TUPLE)
        return v;
    int64_t n = v.tag == V_TUPLE ? v.tuple->n : v.list->n;
    Value *items = new_array(cx, Value, n + 1);
    bool found = false;
    if (!items)
        return v;
    for (int64_t i = 0; i < n; i++) {
        items[i] = v.tag == V_TUPLE ? v.tuple->at[i] : v.list->at[i].v;
        Str text = staged_text(items[i]);
        found = found || text;
        if (text)
            items[i] = val_str(text);
    }
    if (!found)
        return v;
    return v.tag == V_TUPLE ? val_tuple(cx, items, n) : val_list(cx, items, n, "str");
}

static bool makes_text(Str name)
{
    return str_is(name, "aten::str") || str_is(name, "str") || str_is(name, "aten::format") ||
        str_is(name, "aten::percentFormat");
}

static bool is_add(Str name) { return str_is(name, "aten::add"); }
static bool is_len(Str name) { return str_is(name, "aten::len"); }

static bool passes_text(Str name)
{
    return is_add(name) || str_is(name, "aten::join") || str_is(name, "prim::Print") ||
        str_is(name, "print") || str_is(name, "aten::warn");
}

/* Operators that make texts, or only pass them on. NOT_MINE: no argument makes the result a text of
 * this kind. */
static Outcome text_op(Eval *ev, Str name, const OpArg *args, size_t n, Value *out)
{
    bool makes = makes_text(name);
    bool passes = passes_text(name);
    bool staged = false;
    for (size_t i = 0; i < n && (makes || passes) && !staged; i++)
        staged = makes ? is_given_by_name(ev->cx, args[i].v)
                       : plain_text(ev->cx, args[i].v).any != args[i].v.any;
    if (!staged)
        return NOT_MINE;
    OpArg *plain = new_array(ev->cx, OpArg, n + 1);
    if (!plain)
        return FAILED;
    for (size_t i = 0; i < n; i++)
        plain[i] = (OpArg){ args[i].name, plain_text(ev->cx, args[i].v) };
    if (builtin_call(ev, name, plain, n, out) != DONE)
        return FAILED;
    if (out->tag == V_STR)
        *out = val_staged_text(ev->cx, out->s);
    return outcome_done(ev->cx);
}

static Str op_raise_message(Ctx *cx, const OpArg *args, size_t n)
{
    Value message = n ? plain_text(cx, args[0].v) : val_none();
    Str text = message.tag == V_STR ? message.s : str_of(cx, "?");
    return n > 1 && args[1].v.tag == V_STR ? str_fmt(cx, "%s: %s", args[1].v.s->s, text->s) : text;
}

/* Operators on a container that do not read its items: an item may be poison, or never set, and a
 * long list is not gone through for each append. */
static bool is_container_op(Str name)
{
    static const char *const names[] = { "aten::append", "aten::_set_item", "aten::insert",
                                         "aten::extend", "aten::pop",       "aten::__getitem__" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_is(name, names[i]))
            return true;
    return is_len(name);
}

/* Poison itself, or a list or tuple with poison in it: cat([x, poison]). */
static bool is_poison(Value v)
{
    bool found = v.tag == V_POISON;
    for (int64_t i = 0; v.tag == V_LIST && i < v.list->n && !found; i++)
        found = v.list->at[i].v.tag == V_POISON;
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n && !found; i++)
        found = v.tuple->at[i].tag == V_POISON;
    return found;
}

static bool has_poison(const OpArg *args, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_poison(args[i].v))
            return true;
    return false;
}

/* How far an operator reads its arguments: of a list its items, but not what those hold
 * (`l + l`); what the items hold too (`torch.tensor(l)`); whatever an argument holds (`str(d)`). */
typedef enum { READS_ITEMS, READS_IN_ITEMS, READS_ALL } Reads;

static Reads how_far_it_reads(Str name)
{
    if (makes_text(name))
        return READS_ALL;
    return builtin_passes_items(name) ? READS_ITEMS : READS_IN_ITEMS;
}

/* False, after an error, where an item of the list may not be read. */
static bool items_are_set(Eval *ev, const List *l)
{
    for (int64_t k = 0; k < l->n; k++)
        if (l->at[k].v.tag == V_UNINIT && !must_be_set(ev, l->at[k].v))
            return false;
    return true;
}

/* False, after an error, where an argument, or what is read in it, may not be read. */
static bool args_are_set(Eval *ev, Reads reads, const OpArg *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        Value v = args[i].v;
        if (!must_be_set(ev, v))
            return false;
        bool plain = v.tag == V_LIST && !v.list->stacked;
        if (plain && !(reads == READS_ITEMS ? items_are_set : items_must_be_set)(ev, v.list))
            return false;
        if (reads == READS_ALL && !containers_must_be_set(ev, v))
            return false;
    }
    return true;
}

/* args_are_set for is_container_op: items that were never set may be there, while a container
 * that is invalid is an error. */
static bool containers_are_readable(Eval *ev, Str name, const OpArg *args, size_t n)
{
    for (size_t i = 0; i < n && i < (str_is(name, "aten::extend") ? 2 : 1); i++)
        if (container_invalid(args[i].v) && !must_be_set(ev, args[i].v))
            return false;
    return true;
}

/* The types that the file recorded of a statement's n results; NULL: not of all. */
static Type *recorded_types(Ctx *cx, const Stmt *s, size_t n)
{
    if (!s || !s->meta->recorded || s->meta->n_recorded != n)
        return NULL;
    Type *types = new_array(cx, Type, n);
    if (!types)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        types[i] = recorded_type(cx, &s->meta->recorded[i]);
        if (!types[i])
            return NULL;
    }
    return types;
}

/* --unknown=custom: as many results as the statement takes, of the types that the file recorded. */
static Value call_unknown(Eval *ev, const Expr *e, const OpArg *args, const Stmt *s)
{
    size_t n = s && s->n_target > 0 ? s->n_target : 1;
    return op_call_custom(ev->g, e->op->name, e->overload, args, e->n_args,
                          recorded_types(ev->cx, s, n), n, s && (n > 1 || s->unpack));
}

static bool gives_nothing(const Stmt *s) { return s && s->kind == S_EXPR; }

/* A node of a custom domain, or a rule whose head marks nothing as written, only gives results. An
 * operator that writes, or has no result, cannot become one: true, after an error. */
static bool loses_all_writes(Eval *ev, const Expr *e, const Stmt *s)
{
    bool custom = !op_exists(ev->cx, e->op);
    if ((!e->writes && !gives_nothing(s)) || !op_only_gives(ev->cx, e->op))
        return false;
    const char *does = e->writes
        ? "writes to its arguments"
        : "gives nothing, so it writes to its arguments or acts outside of the model";
    fail(ev->cx, E_UNSUPPORTED, "%s %s, which %s", e->op->name->s, does,
         custom ? "a node cannot" : "the head of its rule does not say");
    if (custom)
        fail_hint(ev->cx,
                  "--rules FILE, with a rule for %s whose head marks what it writes, Tensor(a!) x "
                  "(docs/rules.md)",
                  e->op->name->s);
    else
        fail_hint(ev->cx,
                  "write Tensor(a!) for the argument there, and what it becomes behind the "
                  "results (docs/rules.md)");
    return true;
}

/* True, after an error, where a write that the file knows of would be dropped. */
static bool loses_writes(Eval *ev, const Expr *e, const Stmt *s)
{
    if (loses_all_writes(ev, e, s))
        return true;
    for (const Str *w = e->writes; w && *w; w++) {
        if (op_writes_to(ev->cx, e->op, *w, w == e->writes))
            continue;
        fail(ev->cx, E_UNSUPPORTED,
             "%s writes to its argument %s, which its rule, or the function registered for it, "
             "does not say",
             e->op->name->s, (*w)->s);
        fail_hint(ev->cx,
                  "in a rule write Tensor(a!) for the argument in the head, and what it "
                  "becomes behind the results (docs/rules.md)");
        return true;
    }
    return false;
}

/* True, after an error, where a user's function returns a value v for an operator that has no
 * result. */
static bool loses_result(Eval *ev, const Expr *e, const Stmt *s, Value v)
{
    if (!gives_nothing(s) || v.tag == V_NONE || !val_ok(v) || !op_is_callback(ev->cx, e->op))
        return false;
    fail(ev->cx, E_UNSUPPORTED,
         "%s gives nothing, and the function registered for it gives a value, which would be lost",
         e->op->name->s);
    fail_hint(ev->cx,
              "--rules FILE instead, with a rule for %s whose head marks what it writes, "
              "Tensor(a!) x (docs/rules.md)",
              e->op->name->s);
    return true;
}

/* Into how many items the statement, or a later one, unpacks its list; 0: not known. */
static uint32_t parts_wanted(const Stmt *s)
{
    if (!s)
        return 0;
    return s->unpack || s->n_target > 1 ? s->n_target : s->parts;
}

/* ---- who is asked in turn ---- */

/* What the name of an operator tells of its calls, found when it is first called. */
typedef struct OpTraits {
    uint32_t asked;     /* bit i: asked[i] may take them */
    bool of_container;  /* is_container_op() */
    Reads reads;        /* how_far_it_reads() */
    bool takes_growing; /* text that grows as it is: is_add() or is_len() */
} OpTraits;

/* One call of an operator. */
typedef struct OpUse {
    Eval *ev;
    const Expr *e;
    const OpTraits *traits;
    Str name;
    OpArg *args;
    size_t n;
    const Stmt *s; /* the statement, with what the file recorded about the results; or NULL */
    Value *out;
} OpUse;

static bool is_raise(Str name) { return str_is(name, "prim::RaiseException"); }

static Outcome ask_raise(OpUse *u)
{
    return outcome_of(eval_raise(u->ev, op_raise_message(u->ev->cx, u->args, u->n)));
}

static Outcome ask_choice(OpUse *u) { return choice_op(u->ev, u->name, u->args, u->n, u->out); }

static bool is_text_op(Str name) { return makes_text(name) || passes_text(name); }
static Outcome ask_text(OpUse *u) { return text_op(u->ev, u->name, u->args, u->n, u->out); }

/* Whoever is asked behind ask_join and ask_length gets text that grows whole. */
static Outcome with_whole_text(OpUse *u)
{
    for (size_t i = 0; i < u->n; i++)
        u->args[i].v = val_whole(u->ev->cx, u->args[i].v);
    return ctx_failed(u->ev->cx) ? FAILED : NOT_MINE;
}

static Outcome ask_join(OpUse *u)
{
    const OpArg *a = u->args;
    bool both = u->n == 2 && !a[0].name && !a[1].name;
    if (!both || !val_join(u->ev->cx, a[0].v, a[1].v, u->out))
        return with_whole_text(u);
    return outcome_done(u->ev->cx);
}

static Outcome ask_length(OpUse *u)
{
    if (u->n != 1 || u->args[0].name || u->args[0].v.tag != V_JOINED)
        return with_whole_text(u);
    *u->out = val_int(val_text_length(u->args[0].v));
    return DONE;
}

/* `x is None` of what the running model decides, and x once that has been asked. */
static Outcome ask_optional(OpUse *u)
{
    Value x = u->n ? u->args[0].v : val_none();
    if (x.tag != V_MAYBE && x.tag != V_LIST)
        return NOT_MINE;
    bool is = str_is(u->name, "aten::__is__");
    bool is_not = str_is(u->name, "aten::__isnot__");
    if (u->n == 2 && (is || is_not) && x.tag == V_MAYBE && u->args[1].v.tag == V_NONE)
        *u->out = is_not ? val_present(x) : val_not(u->ev->g, val_present(x));
    else if (u->n == 2 && (is || is_not) && x.tag == V_LIST && u->args[1].v.tag == V_NONE)
        *u->out = val_bool(is_not); /* a stacked list is not None either */
    else if (u->n == 1 && x.tag == V_MAYBE &&
             (str_is(u->name, "aten::_unwrap_optional") ||
              str_is(u->name, "prim::unchecked_unwrap_optional")))
        *u->out = x.maybe->value;
    else
        return NOT_MINE;
    return outcome_done(u->ev->cx);
}

/* FAILED where an argument may not be read. What is asked before this takes such arguments. */
static Outcome ask_unset(OpUse *u)
{
    bool set = u->traits->of_container ? containers_are_readable(u->ev, u->name, u->args, u->n)
                                       : args_are_set(u->ev, u->traits->reads, u->args, u->n);
    if (!set)
        return FAILED;
    /* also for an operator on a container, such as len of a text */
    if (u->n && staged_text(u->args[0].v) && !must_be_set(u->ev, u->args[0].v))
        return FAILED;
    return NOT_MINE;
}

/* Poison, or an operator that reads poison. */
static Outcome ask_poison(OpUse *u)
{
    bool itself = u->n > 0 && u->args[0].v.tag == V_POISON;
    if (!itself && (u->traits->of_container || !has_poison(u->args, u->n)))
        return NOT_MINE;
    *u->out = val_poison();
    return DONE;
}

static bool is_wait(Str name) { return str_is(name, "aten::wait"); }

static Outcome ask_wait(OpUse *u)
{
    if (u->n != 1 || u->args[0].v.tag != V_FUTURE)
        return NOT_MINE;
    *u->out = *u->args[0].v.future;
    return DONE;
}

static bool is_higher_order(Str name) { return str_starts(name, "higher_order::"); }

bool is_control_call(Str name) { return is_raise(name) || is_wait(name) || is_higher_order(name); }

static Outcome ask_higher_order(OpUse *u)
{
    return higher_order(u->ev, u->e, u->args, u->n, u->out);
}

static Outcome ask_stacked(OpUse *u) { return stacked_op(u->ev, u->name, u->args, u->n, u->out); }

static Outcome ask_parts(OpUse *u)
{
    return dynamic_parts(u->ev, u->name, u->args, u->n, parts_wanted(u->s), u->out);
}

static Outcome ask_builtin(OpUse *u) { return builtin_call(u->ev, u->name, u->args, u->n, u->out); }

/* FAILED: the file says that the operator writes to an argument, while its rule or registered
 * function does not, so the write would be dropped. */
static Outcome ask_writes(OpUse *u)
{
    Ctx *cx = u->ev->cx;
    if (!u->e->writes && !gives_nothing(u->s))
        return NOT_MINE;
    bool custom = cx->opt && cx->opt->unknown_custom;
    bool exists = op_exists(cx, u->e->op);
    return (exists || custom) && loses_writes(u->ev, u->e, u->s) ? FAILED : NOT_MINE;
}

/* An operator that pt2onnx does not know: with --unknown=custom a custom operator; else one that
 * writes, which a refusal must note as its effect would be missing. NOT_MINE: the tables have
 * it, or it is left to ask_operator. */
static Outcome ask_unknown(OpUse *u)
{
    Ctx *cx = u->ev->cx;
    if (op_exists(cx, u->e->op))
        return NOT_MINE;
    if (cx->opt && cx->opt->unknown_custom)
        *u->out = call_unknown(u->ev, u->e, u->args, u->s);
    else if (u->e->writes || gives_nothing(u->s))
        *u->out = op_unknown_writer(u->ev->g, u->name, u->e->writes != NULL);
    else
        return NOT_MINE;
    return outcome_done(cx);
}

/* Asked last: an operator of the tables; any other is refused by name. */
static Outcome ask_operator(OpUse *u)
{
    Eval *ev = u->ev;
    Type expect[4];
    size_t n = expected_types(ev, u->s, expect);
    *u->out = op_run(ev->g, u->e->op, u->e->overload, u->args, u->n, n ? expect : NULL, n);
    return loses_result(ev, u->e, u->s, *u->out) ? FAILED : outcome_done(ev->cx);
}

/* In this order. may: can it take calls of this name? NULL: only their arguments tell. */
static const struct {
    Outcome (*ask)(OpUse *u);
    bool (*may)(Str name);
} asked[] = {
    { ask_join, is_add },
    { ask_length, is_len },
    { ask_raise, is_raise },
    { ask_choice, NULL },
    { ask_text, is_text_op },
    { ask_optional, NULL },
    { ask_unset, NULL },
    { ask_poison, NULL },
    { ask_wait, is_wait },
    { ask_higher_order, is_higher_order },
    { ask_stacked, NULL },
    { ask_parts, is_cut },
    { ask_builtin, builtin_named },
    { ask_writes, NULL },
    { ask_unknown, NULL },
    { ask_operator, NULL },
};

/* Found once for each operator, and kept. */
static const OpTraits *traits_of(Ctx *cx, Operator *op)
{
    if (op->traits)
        return op->traits;
    keep_begin(cx);
    OpTraits *t = new(cx, OpTraits);
    keep_end(cx);
    t->of_container = is_container_op(op->name);
    t->reads = how_far_it_reads(op->name);
    t->takes_growing = is_add(op->name) || is_len(op->name);
    for (size_t i = 0; i < COUNT(asked); i++)
        if (!asked[i].may || asked[i].may(op->name))
            t->asked |= (uint32_t)1 << i;
    return op->traits = t;
}

/* Runs the operator e with these arguments: the first of asked[] that takes it gives the result.
 * False after an error. */
static bool run_op(Eval *ev, const Expr *e, OpArg *args, const Stmt *s, Value *out)
{
    const OpTraits *t = traits_of(ev->cx, e->op);
    OpUse u = { ev, e, t, e->op->name, args, e->n_args, s, out };
    Outcome r = NOT_MINE;
    for (size_t i = 0; r == NOT_MINE && i < COUNT(asked); i++)
        if (t->asked >> i & 1)
            r = asked[i].ask(&u);
    return r == DONE && !ctx_failed(ev->cx);
}

/* At the operator's own place in a longer statement, which stands in place of the statement's. */
static bool run_op_at_its_place(Eval *ev, const Expr *e, OpArg *args, const Stmt *s, Value *out)
{
    Ctx *cx = ev->cx;
    Where *before = cx->at;
    const Text *text = ev->frame ? ev->frame->fn->text : NULL;
    if (!text || e->end <= e->start)
        return run_op(ev, e, args, s, out);
    bool narrower = before && before->kind == WHERE_STATEMENT && before->text == text;
    Where here = { .up = narrower ? before->up : before,
                   .kind = WHERE_STATEMENT,
                   .text = text,
                   .start = e->start,
                   .end = e->end };
    cx->at = &here;
    bool ok = run_op(ev, e, args, s, out);
    cx->at = before;
    return ok;
}

bool eval_op(Eval *ev, const Expr *e, const Stmt *recorded, Value *out)
{
    OpArg *args;
    ArenaMark before = scratch_begin(ev->cx);
    EvalArg *eval = traits_of(ev->cx, e->op)->takes_growing ? eval_growing : eval_expr;
    *out = val_none();
    bool ok = step(ev) && eval_args_by(ev, e, eval, &args) &&
        run_op_at_its_place(ev, e, args, recorded, out);
    scratch_end(ev->cx, before);
    return ok;
}

/* ---- the forms that look like calls ---- */

/* annotate(T, e), unchecked_cast(T, e), isinstance(e, T), uninitialized(T) */
static bool typed_form(Eval *ev, const Expr *e, Value *out)
{
    Str form = e->callee->name;
    Value v = val_none();
    if (str_is(form, "uninitialized")) {
        *out = (Value){ .tag = V_UNINIT };
        return true;
    }
    if (e->n_args != 1)
        return fail(ev->cx, E_FORMAT, "%s takes a type and a value", form->s);
    if (!eval_expr(ev, e->args[0].value, &v))
        return false;
    if (str_is(form, "annotate"))
        return convert_to(ev, v, e->type, "annotate", out);
    if (str_is(form, "unchecked_cast")) {
        *out = v.tag == V_MAYBE && !str_is(e->type->name, "Optional") ? v.maybe->value : v;
        return true;
    }
    *out = str_is(form, "isinstance") ? val_bool(val_is_a(ev, v, e->type)) : v;
    return must_be_set(ev, v);
}

static bool new_object(Eval *ev, const ClassDef *c, Value *out)
{
    *out = (Value){ .tag = V_OBJ, .obj = obj_new(ev->cx, c, c->n_field, NULL, NULL) };
    return !ctx_failed(ev->cx);
}

/* One value for each field, converted to the field's type. */
static bool new_named_tuple(Eval *ev, const ClassDef *c, const OpArg *args, size_t n, Value *out)
{
    Value *items = scratch_array(ev->cx, Value, n + 1);
    Str *names = new_array(ev->cx, Str, n + 1);
    if (!items || !names)
        return false;
    if (n != c->n_field)
        return fail(ev->cx, E_VALUE, "%s has %u fields, got %zu values",
                    python_name(ev, c->qualname)->s, c->n_field, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = c->field[i].name;
        if (!convert_to(ev, args[i].v, c->field[i].type, names[i]->s, &items[i]))
            return false;
    }
    *out = val_tuple(ev->cx, items, (int64_t)n);
    out->tuple->type = c->plain;
    out->tuple->fields = names;
    return true;
}

static bool call_class(Eval *ev, const ClassDef *c, const OpArg *args, size_t n, Value *out)
{
    Value none;
    if (c->kind == CLASS_NAMEDTUPLE)
        return new_named_tuple(ev, c, args, n, out);
    if (c->kind == CLASS_TORCHBIND || c->kind == CLASS_INTERFACE || c->kind == CLASS_ENUM)
        return fail(ev->cx, E_UNSUPPORTED, "%s cannot be made by the model",
                    python_name(ev, c->qualname)->s);
    return new_object(ev, c, out) &&
        call_method(ev, out->obj, str_of(ev->cx, "__init__"), args, n, &none);
}

/* fork(f, args): f runs here and now, as ONNX has no tasks; wait() gives what it returned. */
static bool fork_call(Eval *ev, const OpArg *args, size_t n, Value *out)
{
    Value *made = new(ev->cx, Value);
    if (n == 0 || !call_value(ev, args[0].v, args + 1, n - 1, made))
        return false;
    *out = (Value){ .tag = V_FUTURE, .future = made };
    return true;
}

/* A bare word of the program's text: fork, print, len, int, .. */
static bool call_word(Eval *ev, Str word, const OpArg *args, size_t n, Value *out)
{
    if (str_is(word, "fork"))
        return fork_call(ev, args, n, out);
    Outcome r = text_op(ev, word, args, n, out);
    if (r != NOT_MINE)
        return r == DONE;
    if (!args_are_set(ev, how_far_it_reads(word), args, n))
        return false;
    if (has_poison(args, n)) {
        *out = val_poison();
        return true;
    }
    const char *op = builtin_of_word(word->s);
    if (op)
        r = stacked_op(ev, str_of(ev->cx, op), args, n, out);
    if (r == NOT_MINE)
        r = builtin_call(ev, word, args, n, out);
    if (r == NOT_MINE)
        return fail(ev->cx, E_UNSUPPORTED, "there is no function '%s' for these arguments",
                    word->s);
    return r == DONE && !ctx_failed(ev->cx);
}

/* path(args): a class is made, a function called; CLASS.__new__ makes an object without __init__; a
 * single word is a builtin. */
static bool call_path(Eval *ev, Str path, const OpArg *args, size_t n, Value *out)
{
    Value callee;
    if (str_ends(path, ".__new__")) {
        if (!resolve_name(ev, str_n(ev->cx, path->s, path->len - strlen(".__new__")), &callee))
            return false;
        return callee.tag == V_CLASS ? new_object(ev, callee.any, out)
                                     : fail(ev->cx, E_FORMAT, "%s: no such class", path->s);
    }
    if (!resolve_name(ev, path, &callee))
        return false;
    if (callee.tag == V_CLASS)
        return call_class(ev, callee.any, args, n, out);
    if (callee.tag == V_FUNCTION)
        return call_function(ev, callee.any, args, n, out);
    return strchr(path->s, '.') ? fail(ev->cx, E_FORMAT, "the archive has no function %s", path->s)
                                : call_word(ev, path, args, n, out);
}

/* self.name(args): a method of an object, a function of a namespace, or what method.c knows. */
static bool call_attr(Eval *ev, const Expr *callee, const Expr *e, Value *out)
{
    Value self;
    OpArg *args;
    if (!eval_expr(ev, callee->a, &self) || !must_be_set(ev, self))
        return false;
    if (!eval_args(ev, e, &args))
        return false;
    if (self.tag == V_OBJ)
        return call_method(ev, self.obj, callee->name, args, e->n_args, out);
    if (self.tag == V_NAMESPACE)
        return call_path(ev, str_fmt(ev->cx, "%s.%s", self.s->s, callee->name->s), args, e->n_args,
                         out);
    if (self.tag == V_CLASS && str_is(callee->name, "__new__"))
        return new_object(ev, self.any, out);
    if (self.tag == V_POISON || has_poison(args, e->n_args)) {
        *out = val_poison();
        return true;
    }
    Outcome r = method_call(ev, self, callee->name, args, e->n_args, out);
    return r == NOT_MINE
        ? fail(ev->cx, E_UNSUPPORTED, "%s has no method '%s'", val_kind(self), callee->name->s)
        : r == DONE && !ctx_failed(ev->cx);
}

/* callee(args), in the forms that TorchScript prints: typed forms, methods, names, and values that
 * are functions or classes. */
static bool call_of_form(Eval *ev, const Expr *e, Value *out)
{
    OpArg *args;
    Value callee;
    if (e->type)
        return typed_form(ev, e, out);
    if (e->callee->kind == X_ATTR)
        return call_attr(ev, e->callee, e, out);
    if (e->callee->kind == X_NAME)
        return eval_args(ev, e, &args) && call_path(ev, e->callee->name, args, e->n_args, out);
    if (!eval_expr(ev, e->callee, &callee) || !eval_args(ev, e, &args))
        return false;
    if (callee.tag == V_CLASS)
        return call_class(ev, callee.any, args, e->n_args, out);
    return call_value(ev, callee, args, e->n_args, out);
}

bool eval_call(Eval *ev, const Expr *e, Value *out)
{
    ArenaMark before = scratch_begin(ev->cx);
    *out = val_none();
    bool ok = step(ev) && call_of_form(ev, e, out);
    scratch_end(ev->cx, before);
    return ok;
}
