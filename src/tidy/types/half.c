/* half.c - a float32 graph that computes in float16 or bfloat16.
 *
 * A value stays in the type in which it is computed, and a Cast stands where somebody needs the
 * other one:
 *
 *     Softmax(MatMul(x, w))  ->  Softmax(Cast<to=float>(MatMul(Cast<to=float16>(x), w16)))
 *
 * Which of the two a node computes in:
 *   - float32, where it is in the list below (sums, exponentials, and what counts places), where
 *     --float32 names it, or where an input is out of reach: a number too large or too small for
 *     the type, an integer as a float, and what was computed from those item by item; or where a
 *     batch norm behind a product has seen numbers that are too large; or where an input of the
 *     model becomes an angle, as the timestep of a diffusion model does;
 *   - else the narrow type, where an input has it, is an input of the model, or is a large weight;
 *   - else float32: what follows from integers and small numbers alone, as rotary positions.
 *
 * Operators with graphs, sequences and operators of custom domains keep their types: what goes in
 * is cast back, and the graphs inside are looked at by the same rules. */
#include "tidy/types/types.h"

#include <math.h>

enum { WEIGHT_MIN = 1024 }; /* elements: a smaller constant alone is no reason to be narrow */

/* What a node's operator says about its type. */
typedef enum {
    ANY,       /* as its inputs */
    WHOLE,     /* float32, with small results */
    MEAN,      /* float32, with results as large as what goes in */
    SUM,       /* float32, with results that may be larger */
    PRODUCT,   /* sums of products: the inputs' reach ends here */
    BOUNDED,   /* the results are small numbers, whatever goes in */
    UNTOUCHED, /* takes what there is: only asks for sizes */
    AS_SAVED,  /* what goes in and out is of the type it had */
} Habit;

static const struct {
    const char *op;
    Habit habit;
} habits[] = {
    { "Attention", PRODUCT },
    { "BatchNormalization", WHOLE },
    { "BitCast", AS_SAVED },
    { "Cast", UNTOUCHED },
    { "CastLike", AS_SAVED },
    { "ConcatFromSequence", AS_SAVED },
    { "Conv", PRODUCT },
    { "ConvTranspose", PRODUCT },
    { "Cos", BOUNDED },
    { "Cosh", SUM },
    { "CumProd", SUM },
    { "CumSum", SUM },
    { "DFT", SUM },
    { "DequantizeLinear", AS_SAVED },
    { "DynamicQuantizeLinear", AS_SAVED },
    { "Einsum", PRODUCT },
    { "Erf", BOUNDED },
    { "Exp", SUM },
    { "GRU", PRODUCT },
    { "Gemm", PRODUCT },
    { "GlobalAveragePool", MEAN },
    { "GlobalLpPool", SUM },
    { "GridSample", MEAN },
    { "GroupNormalization", WHOLE },
    { "HardSigmoid", BOUNDED },
    { "If", AS_SAVED },
    { "InstanceNormalization", WHOLE },
    { "LRN", WHOLE },
    { "LSTM", PRODUCT },
    { "LogSoftmax", WHOLE },
    { "Loop", AS_SAVED },
    { "LpNormalization", WHOLE },
    { "LpPool", SUM },
    { "MatMul", PRODUCT },
    { "MeanVarianceNormalization", WHOLE },
    { "NegativeLogLikelihoodLoss", WHOLE },
    { "NonMaxSuppression", AS_SAVED },
    { "Optional", AS_SAVED },
    { "OptionalGetElement", AS_SAVED },
    { "Pow", SUM },
    { "QuantizeLinear", AS_SAVED },
    { "RNN", PRODUCT },
    { "Range", AS_SAVED },
    { "Reciprocal", SUM },
    { "ReduceL1", SUM },
    { "ReduceL2", SUM },
    { "ReduceLogSum", MEAN },
    { "ReduceLogSumExp", MEAN },
    { "ReduceMean", MEAN },
    { "ReduceProd", SUM },
    { "ReduceSum", SUM },
    { "ReduceSumSquare", SUM },
    { "RoiAlign", MEAN },
    { "STFT", SUM },
    { "Scan", AS_SAVED },
    { "SequenceAt", AS_SAVED },
    { "SequenceConstruct", AS_SAVED },
    { "SequenceEmpty", AS_SAVED },
    { "SequenceErase", AS_SAVED },
    { "SequenceInsert", AS_SAVED },
    { "SequenceMap", AS_SAVED },
    { "Shape", UNTOUCHED },
    { "Sigmoid", BOUNDED },
    { "Sin", BOUNDED },
    { "Sinh", SUM },
    { "Size", UNTOUCHED },
    { "Softmax", WHOLE },
    { "SoftmaxCrossEntropyLoss", WHOLE },
    { "Softplus", MEAN },
    { "SplitToSequence", AS_SAVED },
    { "Tanh", BOUNDED },
};

typedef enum { IN_REACH, TOO_LARGE, TOO_SMALL } Reach;

typedef struct Halves {
    DType type;
    const Graph *root;
    bool follow; /* inputs and outputs of the model have the narrow type too */
    bool begun;
    Map saved;        /* Graph -> DType of each of its outputs, before the pass */
    Map narrowed;     /* values of the narrow type that were float32 */
    Map out_of_reach; /* float32 values that the narrow type may not hold */
    Map reach;        /* Const -> Reach of its elements */
    Map overflows;    /* nodes whose results a batch norm behind them says are out of reach */
    Map angles;       /* nodes between an input of the model and its sine or cosine */
    Map looked;       /* nodes that have been looked at for that -> 2 * how far back + was it one */
    Map constants;    /* Const -> its narrow form */
    Map kept;         /* operator name -> how many nodes stay float32 */
    size_t n_narrow, n_kept;
    VEC(Ox) from, to; /* the model's inputs, where they change */
} Halves;

static Halves *halves_of(const Rewrite *rw) { return rw->arg; }

/* Does n add up, or multiply, all that falls on one element? */
static bool gathers_up(const Node *n)
{
    const char *reduction = node_str(n, "reduction", "none");
    return (node_is(n, "ScatterElements") || node_is(n, "ScatterND")) &&
        (strcmp(reduction, "add") == 0 || strcmp(reduction, "mul") == 0);
}

static Habit habit_of(const Node *n)
{
    if (!n->op)
        return AS_SAVED;
    for (size_t i = 0; i < COUNT(habits); i++)
        if (strcmp(habits[i].op, n->op->name) == 0)
            return habits[i].habit;
    bool is_square = node_is(n, "Mul") && n->in[0] == n->in[1];
    return is_square || gathers_up(n) ? SUM : ANY;
}

/* ---- --float32 ---- */

/* "encoder.0" matches the module encoder.0 and those inside it. */
static bool matches_module(const char *pattern, Str path)
{
    char part[512];
    if (!path || path->len >= sizeof part)
        return path && word_matches(pattern, path->s);
    memcpy(part, path->s, path->len + 1);
    for (char *end = part + path->len; end; end = strrchr(part, '.')) {
        *end = '\0';
        if (*part && word_matches(pattern, part))
            return true;
    }
    return false;
}

bool float32_asked(const TidyOptions *o, const Node *n)
{
    bool any = false;
    Str module = o->n_float32 ? place_module(n->graph->cx, n->at) : NULL;
    for (size_t i = 0; i < o->n_float32; i++) {
        bool hit = word_matches(o->float32[i], n->name->s) || matches_module(o->float32[i], module);
        o->float32_used[i] |= hit;
        any |= hit;
    }
    return any;
}

/* ---- values in the other type ---- */

static bool is_float32(Ox v)
{
    return v && v->type && v->type->kind == T_TENSOR && ox_dtype(v) == DT_FLOAT;
}

static bool is_narrow(const Halves *h, Ox v)
{
    return v && v->type && v->type->kind == T_TENSOR && ox_dtype(v) == h->type;
}

/* An input of the model is float32 only for those who feed it. */
static bool counts_as_narrow(const Halves *h, Ox v)
{
    return is_narrow(h, v) || (is_float32(v) && v->kind == OX_INPUT && v->graph == h->root);
}

static Ox narrow_const(Rewrite *rw, Graph *g, const Const *k)
{
    Halves *h = halves_of(rw);
    const Const *made = map_get(&h->constants, k);
    if (!made && !(made = const_as_half(rw->cx, k, h->type)))
        return POISON;
    map_put(rw->cx, &h->constants, k, made);
    return ox_const(g, made);
}

/* v in the narrow type. Finite numbers that are out of range stay finite. */
static Ox narrow(Rewrite *rw, Graph *g, Ox v)
{
    Halves *h = halves_of(rw);
    if (!is_float32(v))
        return v;
    if (is_const(v))
        return narrow_const(rw, g, v->k);
    if (map_find(&h->out_of_reach, v)) {
        Ox low = ox_number(g, DT_FLOAT, -half_max(h->type));
        Ox high = ox_number(g, DT_FLOAT, half_max(h->type));
        v = ox_g(g, "Clip", v, low, high);
    }
    return ox_cast(g, v, h->type);
}

/* v in float32, where it was float32 before the pass. */
static Ox whole(Rewrite *rw, Graph *g, Ox v)
{
    Halves *h = halves_of(rw);
    return is_narrow(h, v) && map_find(&h->narrowed, v) ? ox_cast(g, v, DT_FLOAT) : v;
}

/* ---- reach ---- */

/* Has the type all digits of v? It has 11 or 8 bits. */
static bool has_digits_of(DType t, double v)
{
    int exponent;
    double bits = ldexp(frexp(v, &exponent), t == DT_FLOAT16 ? 11 : 8);
    return bits == floor(bits);
}

/* Are the n numbers, more than one, all whole, as places in a row are, and some lose digits? */
static bool are_counts(DType t, const float *at, int64_t n)
{
    bool lost = false;
    for (int64_t i = 0; i < n; i++) {
        double v = (double)at[i];
        if (!isfinite(v) || v != floor(v))
            return false;
        lost |= !has_digits_of(t, v);
    }
    return lost && n > 1;
}

/* Does the narrow type hold what k says? A large weight is not looked into. Numbers that would all
 * lose their digits, as an epsilon of 1e-12 or the scale of a layer of 1e-5, are such as it does
 * not hold. */
static Reach reach_of(Rewrite *rw, const Const *k)
{
    Halves *h = halves_of(rw);
    int64_t n = const_numel(k);
    const MapEntry *known = map_find(&h->reach, k);
    if (n > FOLD_NUMEL || known)
        return known ? (Reach)(uintptr_t)known->val : IN_REACH;
    double least = h->type == DT_FLOAT16 ? 0x1p-14 : 0x1p-126;
    const float *at = const_data(rw->cx, k);
    if (!at)
        return IN_REACH;
    Reach reach = are_counts(h->type, at, n) ? TOO_LARGE : IN_REACH;
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs((double)at[i]);
        if (size > half_max(h->type) && isfinite(size))
            reach = TOO_LARGE;
        if (!(size <= most)) /* a NaN too */
            most = size;
    }
    if (most > 0 && most < least)
        reach = TOO_SMALL;
    map_put(rw->cx, &h->reach, k, (void *)(uintptr_t)reach);
    return reach;
}

/* An integer of 16 bits or more as a float32 is out of reach: counts, positions. */
static bool is_count(const Node *n)
{
    if (!node_is(n, "Cast") || !is_float32(n->out[0]))
        return false;
    DType from = ox_dtype(n->in[0]);
    return dtype_is_int(from) && dtype_size(from) >= 2;
}

/* Is input i of n out of reach? A limit of Clip that is too large lets through what the largest
 * number does. */
static bool beyond(Rewrite *rw, const Node *n, int i)
{
    Ox v = n->in[i];
    if (!is_float32(v))
        return false;
    if (!is_const(v))
        return map_find(&halves_of(rw)->out_of_reach, v) != NULL;
    Reach reach = reach_of(rw, v->k);
    return reach == TOO_SMALL || (reach == TOO_LARGE && !(i > 0 && node_is(n, "Clip")));
}

/* ---- which inputs and outputs a type goes with ---- */

static const FormalArg *formal_of(const FormalArg *list, int n, int i)
{
    enum { VARIADIC = 2 };
    if (i < n)
        return &list[i];
    return n && list[n - 1].option == VARIADIC ? &list[n - 1] : NULL;
}

/* Is f of a type variable that may be float32 and t? */
static bool may_change(const OpVersion *v, const FormalArg *f, DType t)
{
    uint32_t both = 1u << DT_FLOAT | 1u << t;
    if (!f)
        return false;
    for (int i = 0; i < v->n_type; i++)
        if (strcmp(v->type[i].name, f->type) == 0)
            return (v->type[i].dtypes & both) == both;
    return false;
}

static bool changes_in(const Halves *h, const Node *n, const OpVersion *v, int i)
{
    Ox x = n->in[i];
    return (is_float32(x) || is_narrow(h, x)) &&
        may_change(v, formal_of(v->in, v->n_in, i), h->type);
}

/* Of one type variable: "T" and "T". */
static bool are_of_one_type(const FormalArg *a, const FormalArg *b)
{
    return a && b && strcmp(a->type, b->type) == 0;
}

/* An output changes with the inputs of its type variable. */
static bool changes_out(const Halves *h, const Node *n, const OpVersion *v, int i)
{
    const FormalArg *f = formal_of(v->out, v->n_out, i);
    if (!is_float32(n->out[i]) || !may_change(v, f, h->type))
        return false;
    for (int k = 0; k < n->n_in; k++) {
        if (changes_in(h, n, v, k) && are_of_one_type(formal_of(v->in, v->n_in, k), f))
            return true;
    }
    return false;
}

/* ---- what stands behind a convolution ---- */

enum { MOST_BEFORE = 8 }; /* nodes between a product and a batch norm: a sum, a Reshape, a Relu */

/* Do the mean and variance of a batch norm say that four standard deviations from the mean the type
 * has no numbers? The results of the Conv before it then become infinite. */
static bool norm_of_large(Rewrite *rw, const Node *n)
{
    double limit = half_max(halves_of(rw)->type);
    if (!node_is(n, "BatchNormalization") || node_int(n, "training_mode", 0) ||
        !is_float32(n->in[3]) || !is_float32(n->in[4]) || !is_const(n->in[3]) ||
        !is_const(n->in[4]))
        return false;
    int64_t channels = const_numel(n->in[3]->k);
    if (channels > FOLD_NUMEL || const_numel(n->in[4]->k) != channels)
        return false;
    const float *mean = const_data(rw->cx, n->in[3]->k);
    const float *var = const_data(rw->cx, n->in[4]->k);
    if (!mean || !var)
        return false;
    for (int64_t c = 0; c < channels; c++)
        if (fabs((double)mean[c]) + 4 * sqrt((double)var[c]) > limit)
            return true;
    return false;
}

/* Does n multiply a convolution's result by so small a constant that scale.c has kept it out of the
 * weights? ONNX Runtime's default session would multiply it into the weights of float16, but not
 * with a Cast between the two. */
static bool scales_conv(Rewrite *rw, const Node *n)
{
    if (!node_is(n, "Mul") || halves_of(rw)->type != DT_FLOAT16)
        return false;
    for (int i = 0; i < 2; i++) {
        Ox by = n->in[1 - i];
        if (made_by(n->in[i], "Conv") && is_const(by) && is_float32(by) &&
            const_numel(by->k) <= FOLD_NUMEL && largest_of(rw->cx, by->k) < LEAST_FACTOR)
            return true;
    }
    return false;
}

/* What comes before a value, up to the product that it is made of. */
static void note_overflows(Rewrite *rw, Ox v)
{
    for (int i = 0; i < MOST_BEFORE && v && v->kind == OX_NODE; i++) {
        const Node *n = v->node;
        Habit habit = habit_of(n);
        if (habit != ANY && habit != PRODUCT)
            return;
        map_put(rw->cx, &halves_of(rw)->overflows, n, NULL);
        if (habit == PRODUCT || n->n_in == 0)
            return;
        v = n->in[0];
    }
}

/* ---- what becomes an angle ---- */

/* Is v an input of the model, or computed from one item by item? Then the nodes on the way keep
 * float32: of 999 radians float16 has one digit behind the point, and no multiple of them. */
static bool note_angle(Rewrite *rw, Ox v, int depth)
{
    Halves *h = halves_of(rw);
    if (!v || depth == 0)
        return false;
    if (v->kind == OX_INPUT)
        return is_float32(v) && v->graph == h->root;
    if (v->kind != OX_NODE || habit_of(v->node) != ANY)
        return false;
    uintptr_t seen = (uintptr_t)map_get(&h->looked, v->node);
    if (seen / 2 >= (uintptr_t)depth) /* one that others read too is looked at once a depth */
        return seen % 2;
    bool is = false;
    for (int i = 0; i < v->node->n_in; i++)
        is |= note_angle(rw, v->node->in[i], depth - 1);
    if (is)
        map_put(rw->cx, &h->angles, v->node, NULL);
    map_put(rw->cx, &h->looked, v->node, (void *)(2 * (uintptr_t)depth + is));
    return is;
}

static void look_at(void *arg, const Node *n)
{
    Rewrite *rw = arg;
    if (norm_of_large(rw, n))
        note_overflows(rw, n->in[0]);
    if ((node_is(n, "Sin") || node_is(n, "Cos")) && note_angle(rw, n->in[0], MOST_BEFORE))
        map_put(rw->cx, &halves_of(rw)->angles, n, NULL);
}

/* What is known of nodes before any of them changes. */
static void look_ahead(Rewrite *rw, const Graph *g) { each_node(g, look_at, rw); }

/* ---- one node ---- */

typedef struct View {
    bool narrow, large, beyond; /* an input is of the narrow type, a large weight, out of reach */
    bool lost;                  /* weights would become 0, or lose their digits */
    bool overflows;             /* the results are out of reach */
    bool angle;                 /* an input of the model becomes an angle here */
    bool ours;                  /* some float32 input, or a narrow one that was float32 */
} View;

/* What the inputs of n say about its type, and what was seen ahead. */
static View view_inputs(Rewrite *rw, const Node *n, const OpVersion *v)
{
    const Halves *h = halves_of(rw);
    View seen = { .overflows = map_find(&h->overflows, n),
                  .angle = map_find(&h->angles, n),
                  .lost = scales_conv(rw, n) };
    for (int i = 0; i < n->n_in; i++) {
        Ox x = n->in[i];
        if (!x || !changes_in(h, n, v, i))
            continue;
        bool weight = is_const(x) && const_numel(x->k) >= WEIGHT_MIN;
        seen.large |= weight && is_float32(x) && const_is_weight(x->k);
        seen.narrow |= !is_const(x) && counts_as_narrow(h, x);
        seen.beyond |= beyond(rw, n, i);
        seen.lost |= i < 2 && is_const(x) && is_float32(x) && reach_of(rw, x->k) == TOO_SMALL;
        seen.ours |= is_float32(x) || map_find(&h->narrowed, x);
    }
    return seen;
}

static bool stays_whole(Rewrite *rw, const Node *n, Habit habit, View seen)
{
    bool asked = float32_asked(rw->o, n);
    if (asked || habit == WHOLE || habit == MEAN || habit == SUM)
        return true;
    if (seen.lost || seen.overflows || seen.angle || (seen.beyond && habit != PRODUCT))
        return true;
    return !seen.narrow && !seen.large;
}

/* Which of the results of a node that stays float32 may be out of reach. */
static void mark_reach(Rewrite *rw, const Node *n, Habit habit, bool is_beyond)
{
    Halves *h = halves_of(rw);
    if (habit != SUM && !(is_beyond && (habit == ANY || habit == MEAN)))
        return;
    for (int i = 0; i < n->n_out; i++)
        if (is_float32(n->out[i]))
            map_put(rw->cx, &h->out_of_reach, n->out[i], NULL);
}

static bool make_whole(Rewrite *rw, Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !ox_ok(n->in[i] = whole(rw, n->graph, n->in[i])))
            return false;
    return true;
}

/* n in the narrow type: those of its inputs and outputs that go with it. */
static bool make_narrow(Rewrite *rw, Node *n, const OpVersion *v)
{
    Halves *h = halves_of(rw);
    bool out[16] = { false };
    for (int i = 0; i < n->n_out && i < (int)COUNT(out); i++)
        out[i] = changes_out(h, n, v, i);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && changes_in(h, n, v, i) && !ox_ok(n->in[i] = narrow(rw, n->graph, n->in[i])))
            return false;
    if (node_is(n, "Attention"))
        node_set_attr(n, INT("softmax_precision", DT_FLOAT));
    for (int i = 0; i < n->n_out; i++)
        if (i < (int)COUNT(out) ? out[i] : is_float32(n->out[i])) {
            Ox old = node_retype_out(n, i, h->type);
            map_put(rw->cx, &h->narrowed, n->out[i], NULL);
            replace(rw, old, n->out[i]);
        }
    return true;
}

/* Outputs of g are of the types that they had, or of the narrow one where `follow`. */
static bool settle_outputs(Rewrite *rw, Graph *g, bool follow)
{
    Halves *h = halves_of(rw);
    const DType *saved = map_get(&h->saved, g);
    if (!saved)
        return true;
    for (size_t i = 0; i < g->outputs.n; i++) {
        Ox v = g->outputs.at[i];
        Ox to = v;
        if (saved[i] != DT_FLOAT || !v->type)
            continue;
        if (follow)
            to = narrow(rw, g, v);
        else if (is_narrow(h, v))
            to = ox_cast(g, v, DT_FLOAT);
        if (!ox_ok(to))
            return false;
        if (to == v)
            continue;
        if (to->kind != OX_NODE || to->graph != g || to->is_output)
            to = ox_identity(g, to);
        v->is_output = false;
        to->is_output = true;
        to->name = v->name;
        v->name = NULL;
        g->outputs.at[i] = to;
    }
    return !ctx_failed(rw->cx);
}

static bool settle_graphs(Rewrite *rw, Node *n)
{
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].kind == ATTR_GRAPH && !settle_outputs(rw, n->attr[i].g, false))
            return false;
    return true;
}

static void count_kept(Rewrite *rw, const Node *n)
{
    Halves *h = halves_of(rw);
    h->n_kept++;
    uintptr_t before = (uintptr_t)map_get(&h->kept, n->name);
    map_put(rw->cx, &h->kept, n->name, (void *)(before + 1));
}

/* The pass's step. The model's inputs are replaced before the first node, which may be one of a
 * graph inside a node whose own inputs are known already. */
static bool half_step(Rewrite *rw, Node *n)
{
    Halves *h = halves_of(rw);
    if (!h->begun)
        for (size_t i = 0; i < h->from.n; i++)
            replace(rw, h->from.at[i], h->to.at[i]);
    h->begun = true;
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = current(rw, n->in[i]);
    Habit habit = habit_of(n);
    const OpVersion *v = n->op ? onnx_version(n->op, ONNX_NEWEST) : NULL;
    if (habit == UNTOUCHED) {
        if (is_count(n))
            map_put(rw->cx, &h->out_of_reach, n->out[0], NULL);
        return true;
    }
    if (habit == AS_SAVED || !v)
        return settle_graphs(rw, n) && make_whole(rw, n);
    View seen = view_inputs(rw, n, v);
    if (!seen.ours)
        return true;
    if (!stays_whole(rw, n, habit, seen)) {
        h->n_narrow++;
        return make_narrow(rw, n, v);
    }
    if (seen.narrow || seen.large)
        count_kept(rw, n);
    mark_reach(rw, n, seen.overflows ? SUM : habit, seen.beyond);
    return make_whole(rw, n);
}

/* A Cast to the type that its input has by now. Until all is done it tells a value of the program's
 * own in that type from one that has become so. */
static bool drop_cast(Rewrite *rw, Node *n)
{
    if (node_is(n, "Cast") && ox_dtype(n->in[0]) == ox_dtype(n->out[0]))
        replace(rw, n->out[0], n->in[0]);
    return true;
}

/* ---- the pass ---- */

static bool note_outputs(Halves *h, const Graph *g)
{
    DType *types = new_array(g->cx, DType, g->outputs.n + 1);
    if (!types)
        return false;
    for (size_t i = 0; i < g->outputs.n; i++)
        types[i] = g->outputs.at[i]->type && g->outputs.at[i]->type->kind == T_TENSOR
            ? ox_dtype(g->outputs.at[i])
            : DT_NONE;
    map_put(g->cx, &h->saved, g, types);
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i]->n_attr; k++)
            if (g->nodes.at[i]->attr[k].kind == ATTR_GRAPH &&
                !note_outputs(h, g->nodes.at[i]->attr[k].g))
                return false;
    return true;
}

/* With --keep-io-types=no the model's inputs have the narrow type, and defaults of state too. */
static bool narrow_inputs(Halves *h, Graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        Ox v = g->inputs.at[i];
        if (!is_float32(v))
            continue;
        Type t = type_tensor(g->cx, h->type, ox_rank(v), v->type->dim);
        Ox to = graph_input(g, v->name, t);
        g->inputs.n--;
        g->inputs.at[i] = to;
        if (v->k) {
            const Const *k = const_as_half(g->cx, v->k, h->type);
            if (!k)
                return false;
            graph_input_default(to, k);
        }
        map_put(g->cx, &h->narrowed, to, NULL);
        vec_push(g->cx, &h->from, v);
        vec_push(g->cx, &h->to, to);
    }
    return !ctx_failed(g->cx);
}

/* What the file says of outputs whose rank differs between runs. */
static void restate_outputs(const Halves *h, Graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++) {
        const void *key = (const void *)(uintptr_t)(i + 1);
        Type t = map_get(&g->stated, key);
        if (t && t->kind == T_TENSOR && t->dtype == DT_FLOAT)
            map_put(g->cx, &g->stated, key, type_tensor(g->cx, h->type, t->rank, t->dim));
    }
}

static void tell(const Halves *h, Ctx *cx)
{
    Buf b = buf_new(cx);
    for (size_t i = 0; i < h->kept.n; i++) {
        Str op = MUTABLE(struct StrRec, h->kept.at[i].key);
        buf_fmt(&b, "%s%s %zu", i ? ", " : ": ", op->s, (size_t)(uintptr_t)h->kept.at[i].val);
    }
    note(cx, NOTE_INFO, "%zu operators compute in %s, %zu beside them in float32%s", h->n_narrow,
         dtype_name(h->type), h->n_kept, buf_done(&b)->s);
}

static bool patterns_used(Ctx *cx, const TidyOptions *o)
{
    for (size_t i = 0; i < o->n_float32; i++)
        if (!o->float32_used[i])
            return fail(cx, E_USAGE,
                        "--float32 %s: no operator and no module of the model is "
                        "called so",
                        o->float32[i]);
    return true;
}

bool pass_half(Graph *g, const TidyOptions *o)
{
    if (o->weights_type != DT_FLOAT16 && o->weights_type != DT_BFLOAT16)
        return true;
    Halves h = { .type = o->weights_type, .root = g, .follow = o->change_io_types };
    Rewrite ends = { .cx = g->cx, .o = o, .arg = &h };
    if (!note_outputs(&h, g) || (h.follow && !narrow_inputs(&h, g)) ||
        !rewrite_planned(g, o, look_ahead, half_step, &h) || !settle_outputs(&ends, g, h.follow) ||
        !rewrite(g, o, drop_cast, NULL))
        return false;
    if (h.follow)
        restate_outputs(&h, g);
    tell(&h, g->cx);
    return patterns_used(g->cx, o);
}
