/* eval.c - run a program and build its graph; run it again when an undecided question was answered
 * by an assumption.
 *
 * One evaluation lives in the run arena and is forgotten by a restart; what stays is the parsed
 * program and the facts. */
#include "eval/internal.h"

/* Program.run_setstate: obj.__setstate__(state), for a reader that builds the root. */
static bool run_setstate(Ctx *cx, Program *p, const Function *setstate, Value obj, Value state)
{
    Value ignored;
    OpArg args[2] = { { NULL, obj }, { NULL, state } };
    (void)cx;
    return call_function(p->eval, setstate, args, 2, &ignored);
}

/* ---- the root module's own hooks, which only its caller runs ---- */

static bool as_tuple(Ctx *cx, const OpArg *args, size_t n, Value *out)
{
    Value *items = new_array(cx, Value, n + 1);
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = args[i].v;
    *out = val_tuple(cx, items, (int64_t)n);
    return true;
}

/* What a pre-hook returns replaces the inputs: None keeps them, a lone value is one input. */
static bool run_pre_hooks(Eval *ev, Obj *o, OpArg **args, size_t *n)
{
    for (uint32_t i = 0; o->cls && i < o->cls->n_pre_hook; i++) {
        Value inputs, result;
        if (!as_tuple(ev->cx, *args, *n, &inputs) ||
            !call_method(ev, o, o->cls->pre_hook[i], &(OpArg){ NULL, inputs }, 1, &result))
            return false;
        if (result.tag == V_NONE)
            continue;
        size_t count = result.tag == V_TUPLE ? (size_t)result.tuple->n : 1;
        OpArg *more = new_array(ev->cx, OpArg, count + 1);
        if (!more)
            return false;
        for (size_t k = 0; k < count; k++)
            more[k].v = result.tag == V_TUPLE ? result.tuple->at[k] : result;
        *args = more;
        *n = count;
    }
    return true;
}

/* What a hook returns replaces *out; None keeps it. */
static bool run_post_hooks(Eval *ev, Obj *o, const OpArg *args, size_t n, Value *out)
{
    for (uint32_t i = 0; o->cls && i < o->cls->n_hook; i++) {
        Value inputs, result;
        if (!as_tuple(ev->cx, args, n, &inputs))
            return false;
        OpArg both[2] = { { NULL, inputs }, { NULL, *out } };
        if (!call_method(ev, o, o->cls->hook[i], both, 2, &result))
            return false;
        if (result.tag != V_NONE)
            *out = result;
    }
    return true;
}

/* ---- one evaluation ---- */

/* forward of the root: the entry need not be a method of its class (a .pt2 has no classes). */
static bool call_entry(Eval *ev, Obj *root, const OpArg *args, size_t n, Value *out)
{
    Ctx *cx = ev->cx;
    OpArg *all = new_array(cx, OpArg, n + 1);
    if (!all)
        return false;
    all[0] = (OpArg){ NULL, ev->p->root };
    if (n)
        memcpy(all + 1, args, n * sizeof *args);
    Where here = { .up = cx->at,
                   .kind = WHERE_MODULE,
                   .name = root->path ? root->path : str_of(cx, "") };
    cx->at = &here;
    bool ok = call_function(ev, ev->p->entry, all, n + 1, out);
    cx->at = here.up;
    if (ok && ev->p->on_module)
        ev->p->on_module(ev->p->module_user, here.name, NULL, *out);
    return ok;
}

static bool run_entry(Eval *ev, const Value *inputs, size_t n, Value *out)
{
    Program *p = ev->p;
    OpArg *args = new_array(ev->cx, OpArg, n + 1);
    if (!args)
        return false;
    for (size_t i = 0; i < n; i++)
        args[i].v = inputs[i];
    if (p->root.tag != V_OBJ)
        return call_function(ev, p->entry, args, n, out);
    Obj *root = p->root.obj;
    return run_pre_hooks(ev, root, &args, &n) && call_entry(ev, root, args, n, out) &&
        run_post_hooks(ev, root, args, n, out);
}

/* "encoder, decoder, head": the modules right inside o. */
static Str child_modules(Ctx *cx, const Obj *o)
{
    Buf b = buf_new(cx);
    for (int64_t i = 0; i < o->n; i++) {
        if (o->slot[i].v.tag != V_OBJ || !o->slot[i].v.obj->path)
            continue;
        buf_str(&b, b.n ? ", " : "");
        buf_str(&b, o->names ? o->names[i]->s : o->cls->field[i].name->s);
    }
    return b.n ? buf_done(&b) : str_of(cx, "none");
}

/* --module: the object that lies at this path. */
static bool find_module(Eval *ev, Str path, Obj **out)
{
    Ctx *cx = ev->cx;
    Obj *o = ev->p->root.obj;
    for (const char *s = path->s; *s;) {
        size_t n = strcspn(s, ".");
        int64_t i = slot_of(o, str_n(cx, s, n));
        if (i < 0 || o->slot[i].v.tag != V_OBJ)
            return fail(cx, E_USAGE, "--module %s: there is no %.*s; the modules there are %s",
                        path->s, (int)n, s, child_modules(cx, o)->s);
        o = o->slot[i].v.obj;
        s += n + (s[n] == '.');
    }
    *out = o;
    return true;
}

/* --module and --method: what is converted instead of the model's forward. What the file recorded
 * about inputs is forward's. */
static bool choose_entry(Eval *ev)
{
    Program *p = ev->p;
    const Options *o = ev->cx->opt;
    if (!o || (!o->module && !o->method))
        return true;
    if (p->root.tag != V_OBJ || !p->root.obj->cls)
        return fail(ev->cx, E_USAGE,
                    "the file holds one function: --module and --method choose nothing in it");
    Obj *root = p->root.obj;
    if (o->module && !find_module(ev, o->module, &root))
        return false;
    Str method = o->method ? o->method : str_of(ev->cx, "forward");
    Function *fn = root->cls ? map_get(&root->cls->method, method) : NULL;
    if (!fn) {
        const char *option = o->method ? "method" : "module";
        const char *what = root->path && root->path->len ? root->path->s : "the model";
        fail(ev->cx, E_USAGE, "--%s: %s has no method %s", option, what, method->s);
        fail_hint(ev->cx, "pt2onnx show FILE prints the program");
        return false;
    }
    if (root == p->root.obj && fn == p->entry)
        return true;
    p->root.obj = root;
    p->entry = fn;
    p->n_input = p->n_output_name = 0;
    return true;
}

static bool tell_specialized(Eval *ev)
{
    specialized_report(ev->cx, ev->g, ev->p->traced, ev->p->exported);
    return !ctx_failed(ev->cx);
}

/* Has each parameter an -i SPEC, or does the file say what each input is? */
static bool inputs_are_given(const Eval *ev)
{
    const Program *p = ev->p;
    const Options *o = ev->cx->opt;
    uint32_t n = p->entry->n_param - (p->root.tag == V_OBJ);
    for (uint32_t i = 0; i < p->n_input; i++)
        if (!p->input[i].known)
            return o && o->n_input >= n;
    return p->n_input >= n;
}

/* An evaluation whose inputs are given seldom begins again: what was read of the file goes at
 * once. */
static void settle_early(Eval *ev)
{
    if (ev->p->settled && inputs_are_given(ev))
        ev->p->settled(ev->cx, ev->p, false);
}

static bool evaluate(Eval *ev)
{
    Program *p = ev->p;
    Value *inputs, result;
    size_t n;
    facts_begin(ev->cx);
    p->graph = ev->g;
    p->eval = ev;
    p->run_setstate = run_setstate;
    if (p->build_root && !p->build_root(ev->cx, p, &p->root))
        return false;
    if (!choose_entry(ev))
        return false;
    settle_early(ev);
    return state_begin(ev) && make_inputs(ev, &inputs, &n) && run_entry(ev, inputs, n, &result) &&
        make_outputs(ev, result) && state_check(ev) && tell_guards(ev) && tell_specialized(ev);
}

/* One evaluation of the program: inputs, forward, outputs and state. The graph, or NULL after an
 * error. E_RESTART is one of these errors: the facts have what was learnt, and the caller begins
 * again. */
static Graph *run_once(Ctx *cx, Program *p)
{
    Eval ev = { .cx = cx, .p = p, .g = graph_new(cx, NULL, str_of(cx, "main")) };
    ev.g->target = cx->opt ? cx->opt->opset : ONNX_DEFAULT_TARGET;
    ev.g->ort = cx->opt && cx->opt->target_ort;
    cx->steps = 0;
    bool ok = evaluate(&ev) && !ctx_failed(cx);
    ok = !facts_of_loops(cx) && ok;
    if (cx->error.code != E_RESTART && cx->refusals.n > 0)
        scan_unsupported(&ev);
    p->eval = NULL;
    p->graph = NULL;
    return ok ? ev.g : NULL;
}

Graph *eval_program(Ctx *cx, Program *p)
{
    ops_set_version(cx, p->op_version);
    ops_set_default(cx, cx->opt ? cx->opt->default_dtype : DT_NONE);
    tell_progress(cx, "running the program", -1);
    Graph *g = run_once(cx, p);
    while (!g && (cx->error.code == E_RESTART || facts_decide_ranks(cx))) {
        ctx_restart(cx);
        if (!facts_may_restart(cx))
            return NULL;
        g = run_once(cx, p);
    }
    facts_report(cx); /* also after a failure, which an assumption may explain */
    return g;
}
