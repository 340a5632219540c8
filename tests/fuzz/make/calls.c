#include "fuzz/make/calls.h"
#include "fuzz/make/schemas.h"

/* ---- choosing ---- */

static const InputType input_types[] = {
    { 7, 1, "float32", 2, { 2, 3 } },       { 7, 1, "float32", 3, { 2, 3, 4 } },
    { 7, 1, "float32", 1, { 3 } },          { 7, 1, "float32", 0, { 0 } },
    { 7, 1, "float32", 4, { 1, 2, 4, 4 } }, { 5, 7, "int64", 1, { 3 } },
    { 5, 7, "int64", 2, { 2, 3 } },         { 12, 9, "bool", 2, { 2, 3 } },
    { 8, 11, "float64", 2, { 2, 3 } },      { 7, 1, "float32", 2, { 0, 3 } },
    { 7, 1, "float32", 2, { 3, 3 } },       { 4, 6, "int32", 2, { 1, 3 } },
    { 6, 10, "float16", 2, { 2, 3 } },      { 1, 2, "uint8", 1, { 3 } },
    { 10, 14, "complex64", 2, { 2, 3 } },   { 7, 1, "float32", 3, { 1, 1, 3 } },
};

static uint32_t tensor_of(const Calls *p, Choices *c)
{
    return p->seen[p->n_seen - 1 - choose(c, p->n_seen)];
}

/* A value that the calls that follow may use. */
static void show(Calls *p, uint32_t value)
{
    if (p->n_seen < SEEN)
        p->seen[p->n_seen++] = value;
}

static int64_t int_of(Choices *c)
{
    static const int64_t usual[] = { 1, 0, 2, -1, 3, -2, 4, 5, 1, 2, 0 };
    static const int64_t odd[] = { INT64_MAX, INT64_MIN, 1 << 30, 65536, 100, -3 };
    return one_in(c, 40) ? CHOICE_OF(c, odd) : CHOICE_OF(c, usual);
}

static double float_of(Choices *c)
{
    static const double usual[] = { 0.5, 1.0, 0.0, -1.5, 2.0, 1e-5, 0.1, 1e30 };
    return CHOICE_OF(c, usual);
}

static const char *string_of(Choices *c)
{
    static const char *const usual[] = { "none",    "sum",      "mean",      "floor", "trunc",
                                         "reflect", "constant", "ij,jk->ik", "tanh",  "" };
    return CHOICE_OF(c, usual);
}

static void fill_item(const Calls *p, Choices *c, Given *g, size_t k)
{
    static const uint8_t dtypes[] = { 6, 4, 7, 5, 11, 0, 3, 2, 1, 9 };
    switch (g->kind) {
    case GIVEN_TENSOR: g->i[k] = tensor_of(p, c); break;
    case GIVEN_INT:    g->i[k] = int_of(c); break;
    case GIVEN_FLOAT:  g->f[k] = float_of(c); break;
    case GIVEN_BOOL:   g->i[k] = choose(c, 2); break;
    case GIVEN_STR:    g->s = string_of(c); break;
    case GIVEN_DTYPE:  g->i[k] = CHOICE_OF(c, dtypes); break;
    case GIVEN_FORMAT: g->i[k] = choose(c, 4); break;
    default:           break;
    }
}

static GivenKind kind_of_param(const Param *q, Choices *c)
{
    switch (q->base) {
    case A_TENSOR:        return GIVEN_TENSOR;
    case A_SCALAR:        return choose(c, 2) ? GIVEN_FLOAT : GIVEN_INT;
    case A_INT:           return GIVEN_INT;
    case A_FLOAT:         return GIVEN_FLOAT;
    case A_BOOL:          return GIVEN_BOOL;
    case A_STR:           return GIVEN_STR;
    case A_DTYPE:         return GIVEN_DTYPE;
    case A_MEMORY_FORMAT: return GIVEN_FORMAT;
    case A_LAYOUT:        return GIVEN_LAYOUT;
    case A_DEVICE:        return GIVEN_DEVICE;
    default:              return GIVEN_NONE;
    }
}

static Given choose_argument(const Calls *p, const Param *q, Choices *c)
{
    Given g = { 0 };
    if (q->has_default && choose(c, 3) != 2)
        return g;
    if (q->optional && choose(c, 3) == 0)
        return (Given){ .kind = GIVEN_NONE };
    g.kind = kind_of_param(q, c);
    g.is_list = q->list && g.kind != GIVEN_NONE;
    g.n = g.is_list ? choose(c, LIST_ITEMS + 1) : 1;
    if (g.is_list && q->fixed && q->fixed <= LIST_ITEMS && !one_in(c, 8))
        g.n = (size_t)q->fixed;
    for (size_t k = 0; k < g.n; k++)
        fill_item(p, c, &g, k);
    return g;
}

/* Can all kinds of programs call it, and name what it gives? */
static bool is_callable(const Schema *s)
{
    if (s->n_ret == 0 || s->n_ret > RESULTS || s->n_param > PARAMS || s->varargs)
        return false;
    for (int i = 0; i < s->n_ret; i++)
        if (s->ret[i].base != A_TENSOR || (s->ret[i].list && s->n_ret > 1))
            return false;
    for (int i = 0; i < s->n_param; i++)
        if (!s->param[i].name)
            return false;
    return true;
}

static bool writes(const Schema *s)
{
    for (int i = 0; i < s->n_param; i++)
        if (s->param[i].writes)
            return true;
    return false;
}

/* A call with arguments that are left out; NULL where the program is full. */
static Call *add_step(Calls *p, StepKind kind, const Schema *s)
{
    if (p->n_call == CALLS)
        return NULL;
    Call *call = &p->call[p->n_call++];
    *call = (Call){ .kind = kind, .schema = s };
    return call;
}

static void add_results(Calls *p, Call *call, uint32_t n)
{
    call->n_result = n;
    for (uint32_t i = 0; i < n; i++) {
        call->result[i] = p->n_value++;
        show(p, call->result[i]);
    }
}

static Call *add_call(Calls *p, Choices *c, const Schema *s)
{
    Call *call = add_step(p, STEP_CALL, s);
    if (!call)
        return NULL;
    call->list = s->ret_list;
    for (int i = 0; i < s->n_param; i++)
        call->arg[i] = choose_argument(p, &s->param[i], c);
    add_results(p, call, s->ret_list ? 1 + choose(c, RESULTS) : (uint32_t)s->n_ret);
    return call;
}

static void begin(Calls *p, Choices *c)
{
    *p = (Calls){ .n_in = 1 + choose(c, CALL_INPUTS) };
    for (uint32_t i = 0; i < p->n_in; i++)
        p->in[i] = &CHOICE_OF(c, input_types);
    p->n_value = p->n_in + 1;
    for (uint32_t i = 0; i < p->n_value; i++)
        show(p, i);
}

static void end(Calls *p, Choices *c)
{
    p->n_out = 1 + choose(c, CALL_OUTPUTS);
    p->out[0] = p->seen[p->n_seen - 1];
    for (uint32_t i = 1; i < p->n_out; i++)
        p->out[i] = tensor_of(p, c);
}

Calls choose_calls(Choices *c)
{
    Calls p;
    begin(&p, c);
    uint32_t n = 1 + choose(c, STRAIGHT_CALLS);
    for (uint32_t i = 0; i < n; i++) {
        const Schema *s = choose_schema(c);
        if (is_callable(s) && !writes(s))
            add_call(&p, c, s);
    }
    end(&p, c);
    return p;
}

/* ---- growing a program ---- */

/* Where the program was, for steps that do not convert. */
typedef struct Mark {
    uint32_t n_call, n_value, n_seen;
} Mark;

static Mark mark_of(const Calls *p) { return (Mark){ p->n_call, p->n_value, p->n_seen }; }

static bool is_open(const Calls *p, uint32_t step)
{
    for (uint32_t i = 0; i < p->n_open; i++)
        if (p->open[i].first <= step && step <= p->open[i].last)
            return true;
    return false;
}

static void rename_all(uint32_t *value, uint32_t n, const uint32_t *name)
{
    for (uint32_t i = 0; i < n; i++)
        value[i] = name[value[i]];
}

static void rename_step(Call *step, const uint32_t *name)
{
    for (int i = 0; step->schema && i < step->schema->n_param; i++)
        for (size_t k = 0; step->arg[i].kind == GIVEN_TENSOR && k < step->arg[i].n; k++)
            step->arg[i].i[k] = name[step->arg[i].i[k]];
    rename_all(step->value, RESULTS, name);
    rename_all(step->from, RESULTS, name);
    rename_all(step->operand, step->n_operand, name);
}

/* The program up to here, of what is open around its end only the steps themselves: a branch is
 * taken, and of a loop it is the first iteration. */
static void so_far(const Calls *p, Calls *out)
{
    uint32_t name[SEEN];
    for (uint32_t i = 0; i < SEEN; i++)
        name[i] = i;
    *out = *p;
    out->n_call = 0;
    for (uint32_t i = 0; i < p->n_call; i++) {
        const Call *step = &p->call[i];
        Call *copy = &out->call[out->n_call];
        *copy = *step;
        rename_step(copy, name);
        if (!is_open(p, i))
            out->n_call++;
        else if (step->kind == STEP_WHILE)
            for (uint32_t k = 0; k < step->n_result; k++)
                name[step->result[k]] = copy->from[k];
    }
    out->n_out = 1;
    out->out[0] = name[p->seen[p->n_seen - 1]];
}

/* Does it convert with the steps since the mark? Else they are taken back. */
static bool keep(Calls *p, Mark m)
{
    static Calls whole;
    pt2onnx_options o = small_options();
    Out model;
    so_far(p, &whole);
    Out file = calls_as_graph(&whole);
    bool ok = convert_bytes(&file, &o, &model) == PT2ONNX_OK;
    out_free(&file);
    out_free(&model);
    if (ok)
        return true;
    p->n_call = m.n_call;
    p->n_value = m.n_value;
    p->n_seen = m.n_seen;
    return false;
}

/* ---- choosing branches, loops and writes ---- */

/* overload of name(x, number), its other arguments left out: the number of its result. */
static uint32_t add_plain(Calls *p, const char *name, const char *overload, uint32_t x,
                          int64_t number)
{
    const Schema *s = find_schema(name, overload);
    Call *call = add_step(p, STEP_CALL, s);
    call->arg[0] = (Given){ .kind = GIVEN_TENSOR, .n = 1, .i = { x } };
    if (!s->param[1].has_default)
        call->arg[1] = (Given){ .kind = GIVEN_INT, .n = 1, .i = { number } };
    add_results(p, call, 1);
    return call->result[0];
}

/* An operator, as often as not one that gives a view; sometimes in place, where it has one result
 * of one tensor. */
static void choose_write(Calls *p, Choices *c)
{
    Mark m = mark_of(p);
    uint32_t kind = choose(c, 4);
    const Schema *s = kind == 0 ? choose_schema(c) : kind == 1 ? choose_writer(c) : choose_view(c);
    if (!is_callable(s))
        return;
    Call *call = add_call(p, c, s);
    call->in_place = kind == 1 && s->n_ret == 1 && !s->ret_list && !writes(s) &&
        s->param[0].base == A_TENSOR && !s->param[0].list;
    keep(p, m);
}

static void choose_block(Calls *p, Choices *c, uint32_t depth);

/* Where a branch or an iteration ends: what its results are. More often than not they are made of
 * `like`, so that they have its type. They are new tensors: torch.cond and while_loop let none be
 * the same as an operand, whereas `if` and `while` do. */
static void end_block(Calls *p, Choices *c, const Call *first, StepKind kind, const uint32_t *like)
{
    uint32_t value[RESULTS] = { 0 };
    for (uint32_t i = 0; i < first->n_result; i++) {
        if (kind == STEP_END_WHILE && i == 0)
            value[i] = add_plain(p, "aten::add", "Scalar", like[0], 1);
        else if (choose(c, 3) != 2)
            value[i] = add_plain(p, "aten::mul", "Scalar", like[i], choose(c, 4));
        else
            value[i] = add_plain(p, "aten::clone", "", tensor_of(p, c), 0);
    }
    Call *last = add_step(p, kind, NULL);
    *last = *first;
    last->kind = kind;
    memcpy(last->value, value, sizeof value);
}

/* What begins with the last step; its operands are all that it could use. */
static Call *begin_block(Calls *p, StepKind kind, uint32_t n)
{
    Call *first = add_step(p, kind, NULL);
    first->n_result = n;
    for (uint32_t i = 0; i < n; i++)
        first->result[i] = p->n_value++;
    first->n_operand = p->n_seen;
    memcpy(first->operand, p->seen, sizeof p->seen);
    p->open[p->n_open].first = p->open[p->n_open].last = p->n_call - 1;
    p->n_open++;
    return first;
}

static void show_results(Calls *p, const Call *call)
{
    for (uint32_t i = 0; i < call->n_result; i++)
        show(p, call->result[i]);
}

/* if sum(x) > n, of an input: what weights decide, ONNX Runtime decides when it loads the model,
 * and refuses a branch of another rank than the file states. */
static void choose_if(Calls *p, Choices *c, uint32_t depth)
{
    Mark m = mark_of(p);
    uint32_t sum = add_plain(p, "aten::sum", "", choose(c, p->n_in), 0);
    uint32_t condition = add_plain(p, "aten::gt", "Scalar", sum, choose(c, 3));
    if (!keep(p, m))
        return;
    Call *first = begin_block(p, STEP_IF, 1 + choose(c, 2));
    uint32_t like[RESULTS];
    first->value[0] = condition;
    for (uint32_t i = 0; i < first->n_result; i++)
        like[i] = tensor_of(p, c);
    for (int k = 0; k < 2; k++) {
        choose_block(p, c, depth);
        end_block(p, c, first, k ? STEP_END_IF : STEP_ELSE, like);
        p->open[p->n_open - 1].last = p->n_call - 1;
        p->n_seen = first->n_operand;
    }
    p->n_open--;
    show_results(p, first);
    keep(p, m);
}

/* while i < n, where i counts from 0, or from what a sum leaves when it is divided by 3. */
static void choose_while(Calls *p, Choices *c, uint32_t depth)
{
    Mark m = mark_of(p);
    uint32_t sum = add_plain(p, "aten::sum", "", choose(c, p->n_in), 0);
    uint32_t count = add_plain(p, "aten::remainder", "Scalar", sum, choose(c, 2) ? 3 : 1);
    if (!keep(p, m))
        return;
    uint32_t carried = 1 + choose(c, 2);
    uint32_t from[RESULTS] = { count };
    for (uint32_t i = 1; i <= carried; i++)
        from[i] = add_plain(p, "aten::clone", "", tensor_of(p, c), 0);
    Call *first = begin_block(p, STEP_WHILE, 1 + carried);
    first->bound = choose(c, 5);
    memcpy(first->value, from, sizeof from);
    memcpy(first->from, from, sizeof from);
    show_results(p, first);
    choose_block(p, c, depth);
    end_block(p, c, first, STEP_END_WHILE, first->result);
    p->n_open--;
    p->n_seen = first->n_operand;
    show_results(p, first);
    keep(p, m);
}

static void choose_block(Calls *p, Choices *c, uint32_t depth)
{
    uint32_t n = 1 + choose(c, BLOCK_STEPS);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = choose(c, 6);
        uint32_t left = CALLS - p->n_call;
        if (kind == 4 && depth > 0 && left > BLOCK_ROOM * (depth + 1))
            choose_if(p, c, depth - 1);
        else if (kind == 5 && depth > 0 && left > BLOCK_ROOM * (depth + 1))
            choose_while(p, c, depth - 1);
        else if (left > BLOCK_ROOM * (NESTING + 1 - depth))
            choose_write(p, c);
    }
}

Calls choose_blocks(Choices *c)
{
    Calls p;
    begin(&p, c);
    choose_block(&p, c, NESTING);
    choose_block(&p, c, NESTING);
    end(&p, c);
    return p;
}

const char *value_name(const Calls *p, uint32_t v)
{
    static char names[4][16];
    static unsigned next;
    char *name = names[next++ % COUNT(names)];
    if (v == p->n_in)
        return "p_w";
    snprintf(name, sizeof names[0], v < p->n_in ? "x%u" : "v%u", v);
    return name;
}

const char *call_name(const Call *call)
{
    static char name[128];
    snprintf(name, sizeof name, "%s%s", strstr(call->schema->name->s, "::") + 2,
             call->in_place ? "_" : "");
    return name;
}

/* ---- both kinds of file ---- */

BothModels convert_both(const Calls *p, pt2onnx_options o)
{
    BothModels models;
    char spec[CALL_INPUTS][48];
    const char *specs[CALL_INPUTS];
    Out pt = calls_as_script(p, spec);
    Out pt2 = calls_as_graph(p);
    for (uint32_t i = 0; i < p->n_in; i++)
        specs[i] = spec[i];
    models.of_graph = convert_bytes(&pt2, &o, &models.graph);
    o.inputs = specs;
    o.n_inputs = p->n_in;
    models.of_script = convert_bytes(&pt, &o, &models.script);
    out_free(&pt);
    out_free(&pt2);
    return models;
}
