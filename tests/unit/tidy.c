/* Unit tests of src/tidy: each pass on a small graph, told by the text of what it leaves. */
#include "unit/test.h"
#include "unit/graphs.h"

#include "tidy/tidy.h"

#include <math.h>

/* A float32 weight of that name whose elements count up from 1. */
static Ox weight(Graph *g, const char *name, int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    float *v = new_array(g->cx, float, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i + 1);
    Const *k = mem_copy(g->cx, const_make(g->cx, DT_FLOAT, rank, dims, v), sizeof *k);
    k->name = str_of(g->cx, name);
    return ox_const(g, k);
}
#define DIMS(...) \
    (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define LIST_OF(g, ...) \
    ox_ints((g), (int64_t[]){ __VA_ARGS__ }, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* The nodes after tidying, without head and foot: one "Name<attributes>(inputs)" a line, values
 * numbered as they come. */
static void assert_tidied(Graph *g, const TidyOptions *o, const char *want)
{
    Ctx *cx = g->cx;
    if (!tidy(g, o))
        fail_msg("%s", cx->error.text->s);
    const char *text = graph_text(g)->s;
    Buf b = buf_new(cx);
    for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        const char *eq = strstr(line, " = ");
        const char *end = strchr(line, '\n');
        if (!eq || eq > end)
            break;
        buf_add(&b, eq + 3, (size_t)(end - eq - 3));
        buf_str(&b, "\n");
    }
    assert_string_equal(buf_done(&b)->s, want);
}

static const TidyOptions newest = { .opset = ONNX_NEWEST },
                         kept = { .opset = ONNX_NEWEST, .keep_weights = true };

static void unused_nodes_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    ox_g(g, "Exp", ox_g(g, "Abs", x));
    graph_output(g, ox_g(g, "Neg", x), str_of(*state, "y"));
    assert_tidied(g, &newest, "Neg(%x)\n");
}

static void identities_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox y = ox_g_with(g, "Transpose", INPUTS(ox_g(g, "Identity", x)),
                     INT_LIST("perm", ((int64_t[]){ 0, 1 }), 2));
    y = ox_g(g, "Reshape", y, ox_shape(g, x));
    y = ox_g(g, "Dropout", ox_g_with(g, "Cast", INPUTS(y), INT("to", DT_FLOAT)));
    graph_output(g, ox_g(g, "Neg", ox_g_with(g, "Concat", INPUTS(y), INT("axis", 0))),
                 str_of(*state, "y"));
    assert_tidied(g, &newest, "Neg(%x)\n");
}

/* To the same size. A scale of its own may say other places, and sizes that data tells may
 * differ. */
static void a_resize_to_the_same_size_goes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "1,2,4,N");
    Ox scales = ox_const(
        g, const_make(*state, DT_FLOAT, 1, (int64_t[]){ 4 }, (float[]){ 1, 1, 1.1f, 1 }));
    Ox y = ox_g_with(g, "Resize", INPUTS(x, NULL, NULL, ox_shape(g, x)),
                     STRING("mode", str_of(*state, "cubic")));
    graph_output(
        g,
        ox_g_with(g, "Resize", INPUTS(y, NULL, scales), STRING("mode", str_of(*state, "linear"))),
        str_of(*state, "y"));
    assert_tidied(g, &newest,
                  "Resize<mode=\"linear\">(%x, -, {1, 1, 1.100000023841858, 1}: float32[4])\n");
}

/* The largest of one is it. Not its sum, which makes 0.0 of -0.0; of ints it is. */
static void reductions_of_one_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,1");
    Ox i = input(g, "i", DT_INT64, "N,1");
    Ox axis = LIST_OF(g, 1);
    graph_output(g, ox_g(g, "Neg", ox_g(g, "ReduceMax", x, axis)), str_of(*state, "a"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "ReduceSum", x, axis)), str_of(*state, "b"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "ReduceSum", i, axis)), str_of(*state, "c"));
    assert_tidied(g, &newest, "Neg(%x)\nReduceSum(%x, {1}: int64[1])\nNeg(%6)\nNeg(%i)\n");
}

/* x - -0.0 is x + 0.0. */
static void zeros_have_signs(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox minus = ox_number(g, DT_FLOAT, -0.0);
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Add", minus, x)), str_of(*state, "y"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Sub", x, minus)), str_of(*state, "z"));
    assert_tidied(g, &newest, "Neg(%x)\nSub(%x, {-0}: float32[])\nNeg(%5)\n");
}

static void truths_are_neutral(void **state)
{
    Graph *g = graph_of(*state);
    Ox c = input(g, "c", DT_BOOL, "N");
    graph_output(
        g, ox_g(g, "Not", ox_g(g, "And", ox_bool(g, true), ox_g(g, "Or", c, ox_bool(g, false)))),
        str_of(*state, "y"));
    graph_output(g, ox_g(g, "And", c, ox_bool(g, false)), str_of(*state, "z"));
    assert_tidied(g, &newest, "Not(%c)\nAnd(%c, {false}: bool[])\n");
}

static void a_weight_of_ones_stays(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,1");
    graph_output(g, ox_g(g, "Mul", x, weight(g, "scale", DIMS(1))), str_of(*state, "y"));
    assert_tidied(g, &newest, "Mul(%x, \"scale\": float32[1])\n");
}

/* A constant of rank 3 that repeats a number, too large to be computed while the program runs. */
static Ox repeated(Graph *g, double v, int64_t rows)
{
    return ox_g(g, "Expand", ox_number(g, DT_FLOAT, v), LIST_OF(g, 1, rows, 100));
}

/* x + 0 is x but for the sign of a 0, which no Softmax shows. */
static void a_mask_that_lets_everything_pass_goes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,100,100");
    Ox zeros = repeated(g, 0, 100);
    Ox y = ox_g_with(g, "Softmax", INPUTS(ox_g(g, "Add", x, zeros)), INT("axis", -1));
    y = ox_g(g, "Mul", repeated(g, 1, 100), y);
    Ox open = ox_g(g, "Equal", zeros, zeros);
    y = ox_g(g, "Where", open, y, ox_number(g, DT_FLOAT, -INFINITY));
    y = ox_g(g, "Where", ox_g(g, "Not", open), ox_number(g, DT_FLOAT, -INFINITY), y);
    graph_output(g, ox_g(g, "Neg", y), NULL);
    assert_tidied(g, &newest, "Softmax<axis=-1>(%x)\nNeg(%26)\n");
}

/* One widens its input, one adds something, one is a weight, and one is not in front of Softmax. */
static void masks_that_do_something_stay(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "1,60,100");
    Ox flat = input(g, "z", DT_FLOAT, "1,1,100");
    graph_output(
        g,
        ox_g_with(g, "Softmax", INPUTS(ox_g(g, "Add", flat, repeated(g, 0, 60))), INT("axis", -1)),
        NULL);
    graph_output(
        g, ox_g_with(g, "Softmax", INPUTS(ox_g(g, "Add", x, repeated(g, 2, 60))), INT("axis", -1)),
        NULL);
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Add", x, repeated(g, 0, 60))), NULL);
    Ox w = weight(g, "w", DIMS(1, 60, 100));
    graph_output(
        g,
        ox_g_with(g, "Softmax", INPUTS(ox_g(g, "Add", x, ox_g(g, "Sub", w, w))), INT("axis", -1)),
        NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 8);
}

static void an_attention_needs_no_open_mask(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "1,4,70,70");
    Ox zeros = ox_g(g, "Expand", ox_number(g, DT_FLOAT, 0), LIST_OF(g, 70, 70));
    graph_output(g, ox_g(g, "Attention", x, x, x, zeros), NULL);
    graph_output(g, ox_g(g, "Attention", x, x, x, ox_g(g, "Equal", zeros, zeros)), NULL);
    assert_tidied(g, &newest, "Attention(%x, %x, %x)\nAttention(%x, %x, %x)\n");
}

static void states_of_zeros_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "5,N,2");
    Ox h = input(g, "h", DT_FLOAT, "1,N,3");
    Ox zero = ox_number(g, DT_FLOAT, 0);
    Ox out[3];
    Ox w = weight(g, "w", DIMS(1, 12, 2));
    Ox r = weight(g, "r", DIMS(1, 12, 3));
    Ox zeros = ox_g_with(
        g, "Slice",
        INPUTS(ox_g(g, "Expand", zero,
                    ox_shape(g, ox_g_with(g, "Concat", INPUTS(h, h), INT("axis", 0)))),
               LIST_OF(g, 0), LIST_OF(g, 1), LIST_OF(g, 0)),
        NO_ATTR);
    Attr hidden = INT("hidden_size", 3);
    assert_true(
        ox_make_n(g, "LSTM", INPUTS(x, w, r, NULL, NULL, zeros, zeros), &hidden, 1, out, 3));
    graph_output(g, out[0], str_of(*state, "y"));
    assert_true(ox_make_n(g, "LSTM", INPUTS(x, w, r, NULL, NULL, h, zeros), &hidden, 1, out, 3));
    graph_output(g, out[0], str_of(*state, "z"));
    assert_tidied(
        g, &newest,
        "LSTM<hidden_size=3>(%x, \"w\": float32[1,12,2], \"r\": float32[1,12,3])\n"
        "LSTM<hidden_size=3>(%x, \"w\": float32[1,12,2], \"r\": float32[1,12,3], -, -, %h)\n");
}

/* Of floats x + 0 is not x: -0.0 becomes 0.0. What widens x or its type is no identity either. */
static void neutral_numbers_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox i = input(g, "i", DT_INT64, "N");
    Ox one = ox_number(g, DT_FLOAT, 1);
    Ox zero = ox_number(g, DT_FLOAT, 0);
    Ox y = ox_g(g, "Sub", ox_g(g, "Div", ox_g(g, "Mul", one, ox_g(g, "Mul", x, one)), one), zero);
    graph_output(g, ox_g(g, "Neg", y), str_of(*state, "y"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Add", i, ox_int(g, 0))), str_of(*state, "z"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Add", x, zero)), str_of(*state, "v"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Mul", x, ox_g(g, "Expand", one, LIST_OF(g, 2, 1, 3)))),
                 str_of(*state, "w"));
    assert_tidied(g, &newest,
                  "Neg(%x)\nNeg(%i)\nAdd(%x, {0}: float32[])\nNeg(%13)\nMul(%x, {1, 1, 1, 1, 1, "
                  "1}: float32[2,1,3])\nNeg(%18)\n");
}

static void empty_parts_of_concat_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox none = input(g, "none", DT_FLOAT, "N,0");
    graph_output(g, ox_g(g, "Neg", ox_g_with(g, "Concat", INPUTS(x, none, x), INT("axis", -1))),
                 str_of(*state, "y"));
    graph_output(g, ox_g(g, "Neg", ox_g_with(g, "Concat", INPUTS(none, x), INT("axis", 1))),
                 str_of(*state, "z"));
    assert_tidied(g, &newest, "Concat<axis=-1>(%x, %x)\nNeg(%7)\nNeg(%x)\n");
}

static void unsqueezes_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox y = ox_g(g, "Unsqueeze", ox_g(g, "Unsqueeze", x, LIST_OF(g, 1)), LIST_OF(g, 0, -1));
    graph_output(g, ox_g(g, "Neg", y), str_of(*state, "y"));
    assert_tidied(g, &newest, "Unsqueeze(%x, {0, 2, 4}: int64[3])\nNeg(%8)\n");
}

static void squeezes_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "1,N,1,M,1");
    Ox y = ox_g(g, "Squeeze", ox_g(g, "Squeeze", x, LIST_OF(g, 2)), LIST_OF(g, 0, -1));
    graph_output(g, ox_g(g, "Neg", y), str_of(*state, "y"));
    assert_tidied(g, &newest, "Squeeze(%x, {0, 2, 4}: int64[3])\nNeg(%8)\n");
}

/* What is added and taken away again; and a Reshape of either kind, while its shape is a
 * constant. */
static void views_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,M,1");
    Ox z = input(g, "z", DT_FLOAT, "N,6");
    Ox there = ox_g(g, "Unsqueeze", ox_g(g, "Squeeze", x, LIST_OF(g, 2)), LIST_OF(g, -1));
    graph_output(g, ox_g(g, "Neg", there), str_of(*state, "a"));
    Ox parts = ox_g(g, "Reshape", z, LIST_OF(g, -1, 2, 3));
    Ox flat = ox_g(g, "Reshape", x, LIST_OF(g, 0, -1));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Unsqueeze", parts, LIST_OF(g, 0))),
                 str_of(*state, "b"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Unsqueeze", flat, LIST_OF(g, 0))), str_of(*state, "c"));
    assert_tidied(
        g, &newest,
        "Neg(%x)\nReshape(%x, {0, -1}: int64[2])\nReshape(%z, {1, -1, 2, 3}: int64[4])\nNeg(%18)\n"
        "Unsqueeze(%11, {0}: int64[1])\nNeg(%15)\n");
}

static Ox turned(Graph *g, Ox x, int64_t a, int64_t b, int64_t c)
{
    return ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", ((int64_t[]){ a, b, c }), 3));
}

/* Multi-head attention: [S, N*4, 2] is [N*4, S, 2], and [N, 4, S, 2]. */
static void heads_part_before_they_turn(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "S,N,8");
    Dim s = ox_dim(x, 0);
    Dim n = ox_dim(x, 1);
    Dim two = dim_int(*state, 2);
    Dim four = dim_int(*state, 4);
    Dim all = dim_mul(*state, n, four);
    Ox heads = ox_g(g, "Reshape", x, ox_dims(g, (Dim[]){ s, all, two }, 3));
    Ox parts = ox_dims(g, (Dim[]){ n, four, s, two }, 4);
    Ox y = ox_g(g, "Reshape", turned(g, heads, 1, 0, 2), parts);
    graph_output(g, ox_g(g, "Neg", y), str_of(*state, "y"));
    assert_tidied(
        g, &newest,
        "Reshape(%x, {0, 0, 4, 2}: int64[4])\nTranspose<perm=[1, 2, 0, 3]>(%11)\nNeg(%10)\n");
}

/* Windows of an image: turned, cut, turned again. */
static void windows_are_cut_before_they_turn(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "2,8,6");
    Ox parts = ox_g(g, "Reshape", turned(g, x, 0, 2, 1), LIST_OF(g, 2, 3, 2, 8));
    graph_output(
        g,
        ox_g_with(g, "Transpose", INPUTS(parts), INT_LIST("perm", ((int64_t[]){ 0, 2, 1, 3 }), 4)),
        str_of(*state, "y"));
    assert_tidied(g, &newest,
                  "Reshape(%x, {2, 8, 3, 2}: int64[4])\nTranspose<perm=[0, 3, 2, 1]>(%7)\n");
}

/* Where axes merge, the Reshape stays behind. */
static void what_merges_stays_behind(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "6,4");
    Ox parts = ox_g(g, "Reshape", x, LIST_OF(g, 2, 3, 4));
    graph_output(g, ox_g(g, "Reshape", turned(g, parts, 1, 0, 2), LIST_OF(g, 6, 4)),
                 str_of(*state, "y"));
    assert_tidied(g, &newest,
                  "Reshape(%x, {2, 3, 4}: int64[3])\nTranspose<perm=[1, 0, 2]>(%3)\nReshape(%4, "
                  "{6, 4}: int64[2])\n");
}

/* What is added, turned and taken away is a Transpose alone. */
static void an_axis_of_one_on_the_way_goes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,M");
    Ox y = ox_g(g, "Squeeze", turned(g, ox_g(g, "Unsqueeze", x, LIST_OF(g, 0)), 2, 0, 1),
                LIST_OF(g, 1));
    graph_output(g, ox_g(g, "Neg", y), str_of(*state, "y"));
    assert_tidied(g, &newest, "Transpose<perm=[1, 0]>(%x)\nNeg(%10)\n");
}

/* A turn that moves nothing is a Reshape, which the two around it take up; what they leave is the
 * input. */
static void views_all_the_way_back_go(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,4,5");
    Ox there = ox_g(g, "Reshape", ox_g(g, "Neg", x), LIST_OF(g, -1, 4, 1, 5));
    Ox turn = ox_g_with(g, "Transpose", INPUTS(there),
                        INT_LIST("perm", ((int64_t[]){ 0, 1, 3, 2 }), 4));
    graph_output(g, ox_g(g, "Abs", ox_g(g, "Reshape", turn, LIST_OF(g, -1, 4, 5))),
                 str_of(*state, "y"));
    assert_tidied(g, &newest, "Neg(%x)\nAbs(%2)\n");
}

/* As aten::addmm and aten::mm have it. A product that is wanted as it is stays. */
static void linears_get_their_axes_back(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,M,4");
    Ox w = weight(g, "w", DIMS(3, 4));
    Ox b = weight(g, "b", DIMS(3));
    Ox v = weight(g, "v", DIMS(4, 5));
    Dim rows = dim_mul(*state, ox_dim(x, 0), ox_dim(x, 1));
    Dim flat[] = { rows, dim_int(*state, 4) };
    Dim own[] = { ox_dim(x, 0), ox_dim(x, 1), dim_int(*state, 3) };
    Dim five[] = { ox_dim(x, 0), ox_dim(x, 1), dim_int(*state, 5) };
    Ox f = ox_g(g, "Reshape", x, ox_dims(g, flat, 2));
    Ox sum = ox_g_with(g, "Gemm", INPUTS(f, w, b), INT("transB", 1));
    Ox product = ox_g(g, "MatMul", f, v);
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Reshape", sum, ox_dims(g, own, 3))),
                 str_of(*state, "a"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Reshape", product, ox_dims(g, five, 3))),
                 str_of(*state, "b"));
    assert_tidied(g, &newest,
                  "MatMul(%x, \"w.t\": float32[4,3])\nAdd(%16, \"b\": "
                  "float32[3])\nNeg(%17)\nMatMul(%x, \"v\": float32[4,5])\nNeg(%18)\n");
}

/* x[:, ::2, 1:N]; of one axis where its size is known. */
static void slices_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,6,M");
    Ox one = LIST_OF(g, 1);
    Ox two = LIST_OF(g, 2);
    Ox end = LIST_OF(g, INT64_MAX);
    Ox rows = ox_g(g, "Slice", x, LIST_OF(g, 0), end, one, two);
    Ox cut = ox_g(g, "Slice", rows, one, ox_dims(g, &x->type->dim[0], 1), two);
    graph_output(g, ox_g(g, "Neg", cut), str_of(*state, "y"));
    graph_output(g, ox_g(g, "Slice", ox_g(g, "Slice", x, one, end, one), one, end, one),
                 str_of(*state, "z"));
    graph_output(g, ox_g(g, "Slice", ox_g(g, "Slice", x, one, end, two), one, end, two),
                 str_of(*state, "open"));
    assert_tidied(g, &newest,
                  "Shape(%x)\nGather<axis=0>(%21, {0}: "
                  "int64[1])\nConcat<axis=0>({9223372036854775807}: int64[1], %22)\n"
                  "Slice(%x, {0, 1}: int64[2], %23, {1, 2}: int64[2], {2, 1}: int64[2])\nNeg(%18)\n"
                  "Slice(%x, {2}: int64[1], {6}: int64[1], {1}: int64[1])\n"
                  "Slice(%x, {1}: int64[1], {9223372036854775807}: int64[1], {2}: int64[1])\n"
                  "Slice(%12, {1}: int64[1], {9223372036854775807}: int64[1], {2}: int64[1])\n");
}

/* x with v in place of its columns from..to, as a write through a view leaves it */
static Ox written(Graph *g, Ox x, int64_t from, int64_t to, Ox v)
{
    Ox axis = LIST_OF(g, 1);
    Ox before = ox_g(g, "Slice", x, LIST_OF(g, 0), LIST_OF(g, from), axis);
    Ox behind = ox_g(g, "Slice", x, LIST_OF(g, to), LIST_OF(g, INT64_MAX), axis);
    return ox_g_with(g, "Concat", INPUTS(before, v, behind), INT("axis", 1));
}

/* x[:, 2:4] = v; x[:, 4:6] = w: what is read next is v, w, or what x was. */
static void what_was_written_is_read_from_where_it_comes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,8");
    Ox v = input(g, "v", DT_FLOAT, "N,2");
    Ox w = input(g, "w", DT_FLOAT, "N,2");
    Ox axis = LIST_OF(g, 1);
    Ox y = written(g, written(g, x, 2, 4, v), 4, 6, w);
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Slice", y, LIST_OF(g, 2), LIST_OF(g, 4), axis)),
                 str_of(*state, "v_again"));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Slice", y, LIST_OF(g, -3), LIST_OF(g, -2), axis)),
                 str_of(*state, "part_of_w"));
    graph_output(g, ox_g(g, "Slice", y, LIST_OF(g, 6), LIST_OF(g, INT64_MAX), axis),
                 str_of(*state, "of_x"));
    graph_output(g, ox_g_with(g, "Gather", INPUTS(y, ox_int(g, 1)), INT("axis", 1)),
                 str_of(*state, "column"));
    assert_tidied(g, &newest,
                  "Slice(%x, {6}: int64[1], {8}: int64[1], {1}: int64[1])\n"
                  "Neg(%v)\n"
                  "Slice(%w, {1}: int64[1], {2}: int64[1], {1}: int64[1])\nNeg(%27)\n"
                  "Gather<axis=1>(%x, {1}: int64[])\n");
}

/* A span of two parts is no part, nor is one of another axis or with a step. */
static void what_lies_in_two_parts_is_a_slice_of_both(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "4,3");
    Ox y = input(g, "y", DT_FLOAT, "4,3");
    Ox both = ox_g_with(g, "Concat", INPUTS(x, y), INT("axis", 1));
    Ox one = LIST_OF(g, 1);
    graph_output(g, ox_g(g, "Slice", both, LIST_OF(g, 2), LIST_OF(g, 4), one), NULL);
    graph_output(g, ox_g(g, "Slice", both, LIST_OF(g, 0), LIST_OF(g, 2), LIST_OF(g, 0)), NULL);
    graph_output(g, ox_g(g, "Slice", both, LIST_OF(g, 0), LIST_OF(g, 3), one, LIST_OF(g, 2)), NULL);
    assert_tidied(g, &newest,
                  "Concat<axis=1>(%x, %y)\n"
                  "Slice(%3, {2}: int64[1], {4}: int64[1], {1}: int64[1])\n"
                  "Slice(%3, {0}: int64[1], {2}: int64[1], {0}: int64[1])\n"
                  "Slice(%3, {0}: int64[1], {3}: int64[1], {1}: int64[1], {2}: int64[1])\n");
}

/* As the cell of an LSTM reads its gates. */
static void a_slice_is_the_output_of_a_split(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,6");
    Ox parts[3];
    Ox axis = LIST_OF(g, 1);
    assert_true(
        ox_make_n(g, "Split", INPUTS(x, LIST_OF(g, 2, 2, 2)), ATTRS(INT("axis", 1)), parts, 3));
    Ox y = written(g, x, 0, 2, ox_g(g, "Neg", parts[0]));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Slice", y, LIST_OF(g, 2), LIST_OF(g, 4), axis)), NULL);
    graph_output(g, ox_g(g, "Slice", y, LIST_OF(g, 3), LIST_OF(g, 5), axis), NULL);
    assert_tidied(g, &newest,
                  "Split<axis=1>(%x, {2, 2, 2}: int64[3])\nNeg(%5)\n"
                  "Slice(%x, {3}: int64[1], {5}: int64[1], {1}: int64[1])\n");
}

/* Of one axis, where nothing else reads what is joined first. */
static void concats_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,2");
    Ox y = input(g, "y", DT_FLOAT, "N,2");
    Attr columns = INT("axis", 1), last = INT("axis", -1), rows = INT("axis", 0);
    Ox inner = ox_make(g, "Concat", INPUTS(x, y), &last, 1);
    Ox middle = ox_make(g, "Concat", INPUTS(y, inner, x), &columns, 1);
    graph_output(g, ox_make(g, "Concat", INPUTS(middle, y), &columns, 1), str_of(*state, "all"));
    Ox read = ox_make(g, "Concat", INPUTS(x, x), &columns, 1);
    graph_output(g, ox_g(g, "Neg", read), str_of(*state, "read"));
    graph_output(g, ox_make(g, "Concat", INPUTS(read, y), &columns, 1), str_of(*state, "twice"));
    Ox below = ox_make(g, "Concat", INPUTS(y, y), &rows, 1);
    graph_output(g, ox_make(g, "Concat", INPUTS(below, below), &columns, 1),
                 str_of(*state, "other"));
    assert_tidied(g, &newest,
                  "Concat<axis=1>(%y, %x, %y, %x, %y)\n"
                  "Concat<axis=1>(%x, %x)\nNeg(%6)\nConcat<axis=1>(%6, %y)\n"
                  "Concat<axis=0>(%y, %y)\nConcat<axis=1>(%9, %9)\n");
}

static void a_choice_turned_round_is_one(void **state)
{
    Graph *g = graph_of(*state);
    Ox c = input(g, "c", DT_BOOL, "N");
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox y = input(g, "y", DT_FLOAT, "N");
    graph_output(g, ox_g(g, "Where", ox_g(g, "Not", c), x, y), str_of(*state, "z"));
    assert_tidied(g, &newest, "Where(%c, %y, %x)\n");
}

static void a_number_turned_round_twice_is_itself(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox y = input(g, "y", DT_FLOAT, "N");
    Ox turned = ox_g(g, "Neg", y);
    graph_output(g, ox_g(g, "Add", x, turned), str_of(*state, "a"));
    graph_output(g, ox_g(g, "Add", turned, x), str_of(*state, "b"));
    graph_output(g, ox_g(g, "Sub", x, turned), str_of(*state, "c"));
    graph_output(g, ox_g(g, "Neg", turned), str_of(*state, "d"));
    graph_output(g, ox_g(g, "Sub", turned, x), str_of(*state, "e"));
    assert_tidied(g, &newest,
                  "Neg(%y)\n"
                  "Sub(%x, %y)\n"
                  "Add(%x, %y)\n"
                  "Sub(%3, %x)\n"
                  "Identity(%a)\n"
                  "Identity(%y)\n");
}

/* Where the operands without it do not give the same shape for certain, the Expand stays. */
static void an_expand_before_what_broadcasts_goes(void **state)
{
    Graph *g = graph_of(*state);
    Ox c = input(g, "c", DT_BOOL, "N,1");
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox y = input(g, "y", DT_FLOAT, "1");
    Ox m = input(g, "m", DT_FLOAT, "M,3");
    Ox wide = ox_g(g, "Expand", y, ox_shape(g, x));
    graph_output(g, ox_g(g, "Where", c, x, wide), str_of(*state, "p"));
    graph_output(g, ox_g(g, "Add", wide, x), str_of(*state, "q"));
    graph_output(g, ox_g(g, "Mul", y, ox_g(g, "Expand", y, ox_shape(g, m))), str_of(*state, "r"));
    graph_output(g, ox_g(g, "Sub", wide, wide), str_of(*state, "s"));
    assert_tidied(g, &newest,
                  "Shape(%c)\n"
                  "Gather<axis=0>(%16, {0}: int64[1])\n"
                  "Concat<axis=0>(%18, {3}: int64[1])\n"
                  "Expand(%y, %20)\n"
                  "Where(%c, %x, %y)\n"
                  "Add(%y, %x)\n"
                  "Shape(%m)\n"
                  "Gather<axis=0>(%21, {0}: int64[1])\n"
                  "Concat<axis=0>(%22, {3}: int64[1])\n"
                  "Expand(%y, %23)\n"
                  "Mul(%y, %10)\n"
                  "Sub(%y, %6)\n");
}

/* With more than one dynamic size the shape would have to be computed. */
static void transposes_that_move_nothing_are_reshapes(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "1,N,3");
    Ox y = input(g, "y", DT_FLOAT, "1,N,M");
    const int64_t perm[3] = { 1, 0, 2 };
    graph_output(g, ox_g(g, "Neg", ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", perm, 3))),
                 str_of(*state, "a"));
    graph_output(g, ox_g(g, "Neg", ox_g_with(g, "Transpose", INPUTS(y), INT_LIST("perm", perm, 3))),
                 str_of(*state, "b"));
    assert_tidied(
        g, &newest,
        "Reshape(%x, {-1, 1, 3}: int64[3])\nNeg(%8)\nTranspose<perm=[1, 0, 2]>(%y)\nNeg(%5)\n");
}

/* An output's name moves to the node that now makes the value; an input returned as it is needs its
 * Identity. */
static void output_names_stay(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    graph_output(g, ox_g(g, "Dropout", ox_g(g, "Neg", x)), str_of(*state, "y"));
    graph_output(g, ox_g(g, "Dropout", x), str_of(*state, "z"));
    assert_tidied(g, &newest, "Neg(%x)\nIdentity(%x)\n");
    assert_string_equal(g->outputs.at[0]->name->s, "y");
    assert_string_equal(g->outputs.at[1]->name->s, "z");
}

static void transposes_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3,5");
    const int64_t turn[] = { 1, 2, 0 };
    Ox once = ox_g_with(g, "Transpose", INPUTS(x), INT_LIST("perm", turn, 3));
    Ox twice = ox_g_with(g, "Transpose", INPUTS(once), INT_LIST("perm", turn, 3));
    Ox thrice = ox_g_with(g, "Transpose", INPUTS(twice), INT_LIST("perm", turn, 3));
    graph_output(g, ox_g(g, "Neg", twice), NULL);
    graph_output(g, ox_g(g, "Abs", thrice), NULL);
    assert_tidied(g, &newest, "Transpose<perm=[2, 0, 1]>(%x)\nNeg(%7)\nAbs(%x)\n");
}

static void reshapes_join(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "2,3,4");
    Ox y = ox_g(g, "Reshape", ox_g_with(g, "Flatten", INPUTS(x), INT("axis", 1)), LIST_OF(g, 4, 6));
    graph_output(g, ox_g(g, "Neg", ox_g(g, "Reshape", y, LIST_OF(g, 3, 8))), NULL);
    assert_tidied(g, &newest, "Reshape(%x, {3, 8}: int64[2])\nNeg(%9)\n");
}

static void conv_and_batch_norm_fuse(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,1,4,4");
    Ox y = ox_g(g, "Conv", x, weight(g, "conv.weight", DIMS(2, 1, 1, 1)));
    y = ox_g_with(g, "BatchNormalization",
                  INPUTS(y, weight(g, "bn.weight", DIMS(2)), weight(g, "bn.bias", DIMS(2)),
                         weight(g, "bn.running_mean", DIMS(2)),
                         weight(g, "bn.running_var", DIMS(2))),
                  FLOAT("epsilon", 0));
    graph_output(g, y, NULL);
    if (!tidy(g, &newest))
        fail_msg("%s", cx->error.text->s);
    assert_int_equal(g->nodes.n, 1);
    const Node *conv = g->nodes.at[0];
    assert_true(node_is(conv, "Conv"));
    assert_string_equal(conv->in[1]->k->derived->s, "conv.weight.bn");
    assert_string_equal(conv->in[2]->k->derived->s, "conv.bias.bn");
    float w[2], b[2];
    assert_true(const_read(cx, conv->in[1]->k, w) && const_read(cx, conv->in[2]->k, b));
    const float root = 1.41421356237309504880f; /* w = 1 2, scale = shift = mean = var = 1 2 */
    assert_true(w[0] == 1 && w[1] == 2 * root);
    assert_true(b[0] == 0 && b[1] == (float)(2 - 2 * 1.41421356237309504880));
}

/* A variance and an epsilon of 0 make the factor of a channel infinite. */
static void a_batch_norm_of_no_variance_stays(void **state)
{
    Graph *g = graph_of(*state);
    static const float none[2] = { 1, 0 };
    Ox s = weight(g, "s", DIMS(2));
    Ox var = ox_const(g, const_make(*state, DT_FLOAT, DIMS(2), none));
    Ox y = ox_g(g, "Conv", input(g, "x", DT_FLOAT, "N,1,4,4"), weight(g, "w", DIMS(2, 1, 1, 1)));
    graph_output(
        g, ox_g_with(g, "BatchNormalization", INPUTS(y, s, s, s, var), FLOAT("epsilon", 0)), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 2);
}

/* Half precision would round twice. */
static void what_fuses_is_single_or_double(void **state)
{
    static const struct {
        DType t;
        size_t n;
    } cases[] = { { DT_DOUBLE, 1 }, { DT_FLOAT, 1 }, { DT_FLOAT16, 2 } };
    static const uint8_t zeros[16];
    for (size_t i = 0; i < COUNT(cases); i++) {
        Graph *g = graph_of(*state);
        Ox numbers = ox_const(g, const_make(*state, DT_FLOAT, DIMS(2), zeros));
        Ox w = ox_const(g, const_make(*state, cases[i].t, DIMS(2, 1, 1, 1), zeros));
        Ox s = weight(g, "s", DIMS(2));
        Ox y = ox_g(g, "Conv", input(g, "x", cases[i].t, "N,1,4,4"), w);
        graph_output(g, ox_g(g, "BatchNormalization", y, s, s, numbers, s), NULL);
        assert_true(tidy(g, &newest));
        assert_int_equal(g->nodes.n, cases[i].n);
    }
}

/* A frozen batch norm, written out: Conv, Mul, Add. The weight is computed when it is written. */
static void numbers_of_channels_go_into_the_weights(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,3,8,8");
    Ox w = weight(g, "w", DIMS(4, 3, 5, 5));
    Ox b = weight(g, "b", DIMS(4));
    Ox s = weight(g, "s", DIMS(4, 1, 1));
    Ox y = ox_g(g, "Add", ox_g(g, "Mul", s, ox_g(g, "Conv", x, w, b)),
                weight(g, "c", DIMS(1, 4, 1, 1)));
    graph_output(g, ox_g(g, "Relu", y), NULL);
    assert_tidied(g, &newest,
                  "Conv(%x, \"w.mul\": float32[4,3,5,5], \"b.mul.add\": float32[4])\nRelu(%19)\n");
    float got[300], bias[4];
    assert_true(const_read(cx, g->nodes.at[0]->in[1]->k, got) &&
                const_read(cx, g->nodes.at[0]->in[2]->k, bias));
    assert_true(got[0] == 1 && got[74] == 75 && got[75] == 2 * 76 && got[299] == 4 * 300 &&
                bias[0] == 2 && bias[3] == 4 * 4 + 4);
}

/* A layer's scale, and that of a Gemm; not where it stretches the result, and not for a weight that
 * others need. */
static void scales_of_layers_go_into_the_weights(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,T,3");
    Ox m = input(g, "m", DT_FLOAT, "N,3");
    Ox s = weight(g, "s", DIMS(4));
    Ox shared = weight(g, "shared", DIMS(3, 4));
    Ox y = ox_g(g, "Add", ox_g(g, "MatMul", x, weight(g, "v", DIMS(3, 4))),
                weight(g, "b", DIMS(4)));
    graph_output(g, ox_g(g, "Mul", y, s), NULL);
    Ox z = ox_g_with(g, "Gemm", INPUTS(m, weight(g, "w", DIMS(4, 3)), weight(g, "c", DIMS(4))),
                     INT("transB", 1));
    graph_output(g, ox_g(g, "Mul", z, ox_number(g, DT_FLOAT, 3)), NULL);
    graph_output(g, ox_g(g, "Mul", ox_g(g, "MatMul", m, shared), s), NULL);
    graph_output(g, ox_g(g, "Mul", ox_g(g, "MatMul", x, weight(g, "u", DIMS(3, 1))), s), NULL);
    graph_output(g, ox_g(g, "MatMul", x, shared), NULL);
    assert_tidied(g, &newest,
                  "MatMul(%x, \"v.mul\": float32[3,4])\nAdd(%31, \"b.reshape.mul\": float32[4])\n"
                  "Gemm<transB=1>(%m, \"w.mul\": float32[4,3], \"c.mul\": float32[4])\n"
                  "MatMul(%m, \"shared\": float32[3,4])\nMul(%15, \"s\": float32[4])\n"
                  "MatMul(%x, \"u\": float32[3,1])\nMul(%18, \"s\": float32[4])\nMatMul(%x, "
                  "\"shared\": float32[3,4])\n");
}

/* Infinity times a sum of weights is not the sum of each times infinity. */
static void factors_that_are_not_finite_stay(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3");
    Ox infinite = ox_number(g, DT_FLOAT, INFINITY);
    Ox nan = ox_number(g, DT_FLOAT, NAN);
    Ox y = ox_g(g, "MatMul", x, weight(g, "v", DIMS(3, 4)));
    Ox z = ox_g(g, "MatMul", x, weight(g, "w", DIMS(3, 4)));
    graph_output(g, ox_g(g, "Mul", y, infinite), NULL);
    graph_output(g, ox_g(g, "Mul", ox_g(g, "Add", z, weight(g, "b", DIMS(4))), nan), NULL);
    assert_tidied(g, &newest,
                  "MatMul(%x, \"v\": float32[3,4])\nMul(%5, {inf}: float32[])\n"
                  "Gemm(%x, \"w\": float32[3,4], \"b\": float32[4])\nMul(%16, {nan}: float32[])\n");
}

static void a_batch_norm_goes_into_the_turned_convolution(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox w = weight(g, "up.weight", DIMS(2, 3, 1));
    Ox x = input(g, "x", DT_FLOAT, "N,2,5");
    Ox scale = weight(g, "bn.weight", DIMS(3));
    Ox shift = weight(g, "bn.bias", DIMS(3));
    Ox mean = weight(g, "bn.mean", DIMS(3));
    Ox var = weight(g, "bn.var", DIMS(3));
    Ox y = ox_g(g, "ConvTranspose", x, w);
    graph_output(g,
                 ox_g_with(g, "BatchNormalization", INPUTS(y, scale, shift, mean, var),
                           FLOAT("epsilon", 0.0)),
                 NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 1);
    float got[6], bias[3];
    assert_true(const_read(cx, g->nodes.at[0]->in[1]->k, got) &&
                const_read(cx, g->nodes.at[0]->in[2]->k, bias));
    for (int i = 0; i < 3; i++) { /* scale, shift, mean and variance are all i + 1 */
        float f = (float)((i + 1) / sqrt(i + 1));
        assert_true(got[i] == (float)(i + 1) * f && got[3 + i] == (float)(i + 4) * f);
        assert_true(fabsf(bias[i] - (float)(i + 1) * (1 - f)) < 1e-6f);
    }
}

/* Of zeros, along the axes that slide, and nobody else's. */
static void a_border_of_zeros_is_the_convolutions(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3,8,8");
    Ox w = weight(g, "w", DIMS(4, 3, 3, 3));
    Ox one = ox_number(g, DT_FLOAT, 1);
    const Attr pads[] = { INT_LIST("pads", ((int64_t[]){ 1, 0, 0, 1 }), 4) };
    Ox padded = ox_g(g, "Pad", x, LIST_OF(g, 0, 0, 0, 2, 0, 0, 1, 0));
    graph_output(g, ox_make(g, "Conv", INPUTS(padded, w), pads, 1), NULL);
    graph_output(g, ox_g(g, "Conv", ox_g(g, "Pad", x, LIST_OF(g, 0, 0, 1, 1, 0, 0, 1, 1), one), w),
                 NULL);
    graph_output(g, ox_g(g, "Conv", ox_g(g, "Pad", x, LIST_OF(g, 0, 1, 0, 0, 0, -1, 0, 0)), w),
                 NULL);
    assert_tidied(
        g, &newest,
        "Conv<pads=[1, 2, 1, 1]>(%x, \"w\": float32[4,3,3,3])\n"
        "Pad(%x, {0, 0, 1, 1, 0, 0, 1, 1}: int64[8], {1}: float32[])\nConv(%8, \"w\": "
        "float32[4,3,3,3])\n"
        "Pad(%x, {0, 1, 0, 0, 0, -1, 0, 0}: int64[8])\nConv(%11, \"w\": float32[4,3,3,3])\n");
}

static void keep_weights_keeps_them(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,1,4,4");
    Ox s = weight(g, "s", DIMS(2));
    Ox y = ox_g(g, "Conv", x, weight(g, "w", DIMS(2, 1, 1, 1)));
    y = ox_make(g, "BatchNormalization", INPUTS(y, s, s, s, s), NULL, 0);
    graph_output(g, y, NULL);
    assert_true(tidy(g, &kept));
    assert_int_equal(g->nodes.n, 2);
}

static void a_convolution_used_twice_does_not_fuse(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,1,4,4");
    Ox s = weight(g, "s", DIMS(2));
    Ox y = ox_g(g, "Conv", x, weight(g, "w", DIMS(2, 1, 1, 1)));
    graph_output(g, ox_make(g, "BatchNormalization", INPUTS(y, s, s, s, s), NULL, 0), NULL);
    graph_output(g, ox_g(g, "Neg", y), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 3);
}

static void matmul_and_add_are_gemm(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,2");
    Ox w = weight(g, "w", DIMS(2, 3));
    Ox b = weight(g, "b", DIMS(3));
    Ox wide = input(g, "c", DT_FLOAT, "4,1,3");
    Ox one = input(g, "d", DT_FLOAT, "1,N,3");
    graph_output(g, ox_g(g, "Add", b, ox_g(g, "MatMul", x, w)), NULL);
    graph_output(g, ox_g(g, "Add", ox_g(g, "MatMul", ox_g(g, "Neg", x), w), wide), NULL);
    graph_output(g, ox_g(g, "Add", ox_g(g, "MatMul", ox_g(g, "Abs", x), w), one), NULL);
    assert_tidied(g, &newest,
                  "Gemm(%x, \"w\": float32[2,3], \"b\": float32[3])\nNeg(%x)\nMatMul(%8, \"w\": "
                  "float32[2,3])\nAdd(%9, %c)\n"
                  "Abs(%x)\nMatMul(%11, \"w\": float32[2,3])\nAdd(%12, %d)\n");
}

static void a_transposed_weight_is_gathered(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,T,2");
    Ox w = weight(g, "w", DIMS(3, 2));
    Ox t = ox_g_with(g, "Transpose", INPUTS(w), INT_LIST("perm", ((int64_t[]){ 1, 0 }), 2));
    graph_output(g, ox_g(g, "MatMul", x, t), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 1);
    const Const *k = g->nodes.at[0]->in[1]->k;
    assert_string_equal(k->derived->s, "w.t");
    float got[6];
    assert_true(const_read(cx, k, got));
    for (int i = 0; i < 6; i++)
        assert_true(got[i] == (float)(i % 3 * 2 + i / 3 + 1));
}

static void a_tied_weight_stays_single(void **state)
{
    Graph *g = graph_of(*state);
    Ox ids = input(g, "ids", DT_INT64, "N,T");
    Ox w = weight(g, "w", DIMS(1000, 8));
    Ox e = ox_g(g, "Gather", w, ids);
    Ox t = ox_g_with(g, "Transpose", INPUTS(w), INT_LIST("perm", ((int64_t[]){ 1, 0 }), 2));
    graph_output(g, ox_g(g, "MatMul", e, t), NULL);
    assert_tidied(g, &newest,
                  "Gather(\"w\": float32[1000,8], %ids)\nTranspose<perm=[1, 0]>(\"w\": "
                  "float32[1000,8])\nMatMul(%3, %4)\n");
}

/* The experts of a layer: each place of the weight has its own use. Where the whole is wanted too,
 * it stays single. */
static void a_weight_that_is_used_in_parts_is_cut(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,100");
    Ox experts = weight(g, "experts", DIMS(2, 100, 50));
    Ox all = weight(g, "all", DIMS(2, 50, 100));
    Ox sum = NULL;
    for (int i = 0; i < 2; i++) {
        Ox at = ox_int(g, i);
        Ox y = ox_g(g, "MatMul", x, ox_g(g, "Gather", experts, at));
        sum = sum ? ox_g(g, "Sub", sum, ox_g(g, "MatMul", y, ox_g(g, "Gather", all, at)))
                  : ox_g(g, "MatMul", y, ox_g(g, "Gather", all, at));
    }
    graph_output(g, sum, str_of(*state, "y"));
    graph_output(g, ox_g(g, "Neg", all), str_of(*state, "z"));
    assert_tidied(g, &newest,
                  "MatMul(%x, \"experts.gather\": float32[100,50])\nGather(\"all\": "
                  "float32[2,50,100], {0}: int64[])\nMatMul(%6, %7)\n"
                  "MatMul(%x, \"experts.gather\": float32[100,50])\nGather(\"all\": "
                  "float32[2,50,100], {1}: int64[])\nMatMul(%11, %12)\n"
                  "Sub(%8, %13)\nNeg(\"all\": float32[2,50,100])\n");
}

/* The shifts of anchors: all uses are of the node that goes. */
static void a_weight_that_one_node_reads_twice_is_its_own(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,60,100");
    Ox w = weight(g, "w", DIMS(30, 100));
    graph_output(g, ox_g(g, "Add", x, ox_g_with(g, "Concat", INPUTS(w, w), INT("axis", 0))),
                 str_of(*state, "y"));
    assert_tidied(g, &newest, "Add(%x, \"w.concat\": float32[60,100])\n");
}

/* w[:, from:to] */
static Ox rows_of(Graph *g, Ox w, int64_t from, int64_t to)
{
    return ox_g(g, "Slice", w, LIST_OF(g, from), LIST_OF(g, to), LIST_OF(g, 1));
}

/* Rows 40 to 59 of each layer, then rows 0 to 39. */
static Ox rolled(Graph *g, Ox w)
{
    Ox last = rows_of(g, w, 40, 60);
    Ox first = rows_of(g, w, 0, 40);
    return ox_g_with(g, "Concat", INPUTS(last, first), INT("axis", 1));
}

static void what_several_nodes_make_of_a_weight_is_folded(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,60,100");
    Ox w = rolled(g, weight(g, "w", DIMS(3, 60, 100)));
    Ox y = x;
    for (int64_t i = 0; i < 3; i++)
        y = ox_g(g, "Add", y, ox_g(g, "Gather", w, ox_int(g, i)));
    graph_output(g, y, NULL);
    assert_tidied(g, &newest,
                  "Add(%x, \"w.slice.concat.gather\": float32[60,100])\n"
                  "Add(%12, \"w.slice.concat.gather\": float32[60,100])\n"
                  "Add(%15, \"w.slice.concat.gather\": float32[60,100])\n");
    const Const *last = g->nodes.at[2]->in[1]->k;
    float got[100];
    assert_true(bytes_read(cx, last->bytes, 15 * 400, got, sizeof got));
    assert_true(got[0] == 17501 && got[99] == 17600);
    float all[6000];
    assert_true(const_read(cx, last, all));
    for (int i = 0; i < 6000; i++)
        assert_true(all[i] == (float)(12001 + (i + 4000) % 6000));
}

/* One of the weights has another reader, and what is made of the other takes more bytes. */
static void what_is_made_of_a_weight_that_stays_is_not_folded(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,60,100");
    Ox read = weight(g, "read", DIMS(2, 60, 100));
    Ox grows = weight(g, "grows", DIMS(2, 60, 100));
    graph_output(g, ox_g(g, "Add", ox_g(g, "Gather", rolled(g, read), ox_int(g, 0)), x), NULL);
    graph_output(g, ox_g(g, "Gather", read, input(g, "i", DT_INT64, "M")), NULL);
    Ox joined = ox_g_with(g, "Concat", INPUTS(rolled(g, grows), rows_of(g, grows, 3, 9)),
                          INT("axis", 1));
    graph_output(g, ox_g_with(g, "Concat", INPUTS(joined, x), INT("axis", 1)), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 10); /* Concats of one axis are one */
}

static void what_depends_on_weights_only_is_a_recipe(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,2");
    Ox w = ox_g(g, "Mul", weight(g, "v", DIMS(2, 2)), weight(g, "s", DIMS(2, 2)));
    graph_output(g, ox_g(g, "MatMul", x, ox_g(g, "Exp", ox_g(g, "Sub", w, w))), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 1);
    float got[4];
    assert_true(const_read(cx, g->nodes.at[0]->in[1]->k, got));
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == 1);
    Graph *same = graph_of(cx);
    x = input(same, "x", DT_FLOAT, "N,2");
    graph_output(same, ox_g(same, "MatMul", x, ox_g(same, "Exp", weight(same, "v", DIMS(2, 2)))),
                 NULL);
    assert_true(tidy(same, &kept));
    assert_int_equal(same->nodes.n, 2);
}

/* -inf is no integer: what a runtime makes of it is left to the runtime. A large one is not
 * tried. */
static void what_may_be_undefined_stays_a_node(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_INT64, "N,1");
    Ox zero = ox_g(g, "Sub", weight(g, "v", DIMS(2)), weight(g, "v", DIMS(2)));
    Ox cut = ox_g_with(g, "Cast", INPUTS(ox_g(g, "Log", zero)), INT("to", DT_INT64));
    Ox large = ox_g_with(g, "Cast", INPUTS(weight(g, "w", DIMS(1 << 21))), INT("to", DT_INT32));
    graph_output(g, ox_g(g, "Add", x, cut), NULL);
    graph_output(g, ox_g(g, "Add", ox_g_with(g, "Cast", INPUTS(x), INT("to", DT_INT32)), large),
                 NULL);
    assert_tidied(g, &newest,
                  "Cast<to=7>(\"v.sub.log\": float32[2])\nCast<to=6>(\"w\": "
                  "float32[2097152])\nAdd(%x, %6)\nCast<to=6>(%x)\nAdd(%10, %8)\n");
}

/* The logarithm of 0 is no integer, but nobody takes it: the buckets of relative positions. */
static void what_a_where_does_not_take_may_be_undefined(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_INT64, "N,3");
    Ox far = weight(g, "far", DIMS(3));
    Ox at = ox_g(g, "Sub", far, ox_number(g, DT_FLOAT, 1));
    Ox takes_it = ox_g(g, "Less", at, ox_number(g, DT_FLOAT, 2));
    Ox near = ox_g(g, "Less", at, ox_number(g, DT_FLOAT, 1));
    Ox cut = ox_g_with(g, "Cast", INPUTS(ox_g(g, "Log", at)), INT("to", DT_INT64));
    Ox bucket = ox_g(g, "Where", near, ox_int(g, 7),
                     ox_g(g, "Min", ox_g(g, "Add", cut, ox_int(g, 4)), ox_int(g, 9)));
    Ox y = ox_g(g, "Add", x, bucket);
    graph_output(g, y, NULL);
    graph_output(g, ox_g(g, "Add", x, ox_g(g, "Where", takes_it, cut, ox_int(g, 5))), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 4); /* Add; Cast, Where, Add */
    int64_t got[3];
    assert_true(const_read(cx, y->node->in[1]->k, got));
    assert_true(got[0] == 7 && got[1] == 4 && got[2] == 4);
}

/* A larger constant is no gain by itself. What is made of it may be small, or take enough nodes
 * along. */
/* One condition for all of them: which it takes is not looked at. */
static void a_condition_of_another_size_tells_nothing(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_INT64, "N,3");
    Ox at = ox_g(g, "Sub", weight(g, "far", DIMS(3)), ox_number(g, DT_FLOAT, 1));
    Ox cut = ox_g_with(g, "Cast", INPUTS(ox_g(g, "Log", at)), INT("to", DT_INT64));
    Ox never = ox_g(g, "Less", weight(g, "w", DIMS(1)), ox_number(g, DT_FLOAT, 1));
    graph_output(g, ox_g(g, "Add", x, ox_g(g, "Where", never, cut, ox_int(g, 5))), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 3); /* Cast, Where, Add */
}

/* The Cast and seven nodes behind it. */
static void what_few_nodes_make_of_it_is_taken_along(void **state)
{
    for (int sums = 7; sums <= 8; sums++) {
        Graph *g = graph_of(*state);
        Ox x = input(g, "x", DT_INT64, "N,3");
        Ox far = weight(g, "far", DIMS(3));
        Ox one = ox_number(g, DT_FLOAT, 1);
        Ox at = ox_g(g, "Sub", far, one);
        Ox side = ox_g_with(g, "Cast", INPUTS(ox_g(g, "Log", at)), INT("to", DT_INT64));
        for (int i = 0; i < sums; i++)
            side = ox_g(g, "Add", side, ox_int(g, i + 1));
        graph_output(
            g, ox_g(g, "Add", x, ox_g(g, "Where", ox_g(g, "Less", at, one), ox_int(g, 7), side)),
            NULL);
        assert_true(tidy(g, &newest));
        assert_int_equal(g->nodes.n, sums == 7 ? 1 : 11);
    }
}

/* However large the weight is. Its numbers are not there: they are not read before the model is
 * written. */
static void a_single_node_of_a_weight_is_a_recipe(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Const *k = mem_copy(cx, weight(g, "w", DIMS(2, 2))->k, sizeof *k);
    k->dims = mem_copy(cx, (int64_t[]){ 1 << 14, 1 << 13 }, 2 * sizeof *k->dims);
    Ox x = input(g, "x", DT_FLOAT, "N,8192");
    Ox t = ox_g_with(g, "Transpose", INPUTS(ox_const(g, k)),
                     INT_LIST("perm", ((int64_t[]){ 1, 0 }), 2));
    graph_output(g, ox_g(g, "MatMul", x, t), NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 1);
}

static void a_large_constant_waits_for_what_is_made_of_it(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,2");
    Ox w = weight(g, "w", DIMS(2));
    Ox large = ox_g(g, "Expand", w, LIST_OF(g, 300000, 2));
    Ox part = ox_g(g, "Slice", large, LIST_OF(g, 7), LIST_OF(g, 8), LIST_OF(g, 0));
    graph_output(g, ox_g(g, "Mul", x, part), NULL);
    graph_output(g, ox_g(g, "Sub", ox_g(g, "Expand", w, LIST_OF(g, 3000, 2)), x), NULL);
    Ox mask = ox_g(g, "Unsqueeze", ox_g(g, "Expand", ox_g(g, "Neg", w), LIST_OF(g, 4000, 2)),
                   LIST_OF(g, 0));
    graph_output(g, ox_g(g, "Add", mask, x), NULL);
    assert_tidied(g, &newest,
                  "Mul(%x, \"w.expand.slice\": float32[1,2])\nExpand(\"w\": float32[2], {3000, 2}: "
                  "int64[2])\nSub(%11, %x)\n"
                  "Add(\"w.neg.expand.reshape\": float32[1,4000,2], %x)\n");
}

/* Zeros to add to, up to 256 KB: what a slimmer would put in their place. */
static void a_number_is_repeated_beforehand(void **state)
{
    Graph *g = graph_of(*state);
    Ox zero = ox_number(g, DT_FLOAT, 0);
    Ox some = ox_g(g, "Expand", zero, LIST_OF(g, 256, 256));
    Ox more = ox_g(g, "Expand", zero, LIST_OF(g, 256, 257));
    Ox x = input(g, "x", DT_FLOAT, "N,256");
    Ox y = input(g, "y", DT_FLOAT, "N,257");
    graph_output(g, ox_g_with(g, "Concat", INPUTS(some, x), INT("axis", 0)), NULL);
    graph_output(g, ox_g_with(g, "Concat", INPUTS(more, y), INT("axis", 0)), NULL);
    assert_tidied(g, &newest,
                  "Expand({0}: float32[], {256, 257}: int64[2])\n"
                  "Concat<axis=0>(constant: float32[256,256], %x)\nConcat<axis=0>(%5, %y)\n");
}

/* ---- dims
 * -------------------------------------------------------------------------------------------------------
 */

static void one_unknown_extent_needs_no_node(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,3,4");
    graph_output(g, ox_g(g, "Reshape", x, ox_dims(g, (Dim[]){ ox_dim(x, 0), dim_int(cx, 12) }, 2)),
                 NULL);
    graph_output(g,
                 ox_g(g, "Expand", input(g, "e", DT_FLOAT, "N,1"),
                      ox_dims(g, (Dim[]){ ox_dim(x, 0), dim_int(cx, 4) }, 2)),
                 NULL);
    assert_tidied(g, &newest, "Reshape(%x, {-1, 12}: int64[2])\nExpand(%e, {1, 4}: int64[2])\n");
}

static void sizes_are_computed_once(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N,H");
    Dim half = dim_floordiv(cx, ox_dim(x, 1), dim_int(cx, 2));
    Dim two = dim_int(cx, 2);
    Ox zeros = ox_g(g, "ConstantOfShape", ox_dims(g, (Dim[]){ ox_dim(x, 0), half }, 2));
    Ox more = ox_g(g, "ConstantOfShape", ox_dims(g, (Dim[]){ two, half, two }, 3));
    graph_output(g, zeros, NULL);
    graph_output(g, more, NULL);
    assert_tidied(g, &newest,
                  "Shape(%x)\nGather<axis=0>(%6, {0}: int64[1])\nGather<axis=0>(%6, {1}: "
                  "int64[1])\nDiv(%11, {2}: int64[1])\n"
                  "Concat<axis=0>(%8, %13)\nConstantOfShape(%14)\nConcat<axis=0>({2}: int64[1], "
                  "%13, {2}: int64[1])\nConstantOfShape(%15)\n");
}

/* Both branches need N*2: it is computed outside of them, before the If. */
static void arms_share_what_inputs_decide(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Graph *branch[2] = { graph_new(cx, g, str_of(cx, "then")),
                         graph_new(cx, g, str_of(cx, "else")) };
    Ox c = input(g, "c", DT_BOOL, "");
    Ox x = input(g, "x", DT_FLOAT, "N");
    for (int i = 0; i < 2; i++) {
        Ox shape = ox_dims(branch[i], (Dim[]){ dim_mul(cx, ox_dim(x, 0), dim_int(cx, 2)) }, 1);
        graph_output(branch[i],
                     ox_g(branch[i], i ? "Neg" : "Abs", ox_g(branch[i], "ConstantOfShape", shape)),
                     NULL);
    }
    graph_output(g,
                 ox_g_with(g, "If", INPUTS(c), SUBGRAPH("then_branch", branch[0]),
                           SUBGRAPH("else_branch", branch[1])),
                 NULL);
    assert_true(tidy(g, &newest));
    assert_int_equal(g->nodes.n, 4); /* Shape, Gather, Mul, If */
    assert_true(node_is(g->nodes.at[3], "If"));
    assert_int_equal(branch[0]->nodes.n, 2);
    assert_int_equal(branch[1]->nodes.n, 2);
}

/* A size that data decides is read from the value that has it. */
static void sizes_that_data_decides(void **state)
{
    Graph *g = graph_of(*state);
    Ox found = ox_g(g, "NonZero", input(g, "x", DT_FLOAT, "N"));
    graph_output(g, ox_g(g, "ConstantOfShape", ox_dims(g, &found->type->dim[1], 1)), NULL);
    assert_tidied(
        g, &newest,
        "NonZero(%x)\nShape(%2)\nGather<axis=0>(%5, {1}: int64[1])\nConstantOfShape(%7)\n");
}

/* ---- modules as functions ---- */

/* op(x) in these calls of modules. */
static Ox in_calls(Graph *g, const char *calls, const char *op, Ox x)
{
    Where here = { .kind = WHERE_CALLS, .name = str_of(g->cx, calls) };
    g->cx->at = &here;
    Ox y = ox_g(g, op, x);
    g->cx->at = NULL;
    return y;
}

static const TidyOptions functions = { .opset = ONNX_NEWEST, .functions = true };

static void calls_of_modules_nest(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox y = in_calls(g, "1 m A a\n2 m B a.b", "Exp", in_calls(g, "1 m A a", "Abs", x));
    graph_output(g, in_calls(g, "3 m B b", "Exp", y), str_of(*state, "y"));
    assert_true(tidy(g, &functions));
    assert_int_equal(g->nodes.n, 2);
    assert_string_equal(g->nodes.at[0]->name->s, "A");
    assert_string_equal(g->nodes.at[1]->name->s, "B");
    assert_string_equal(g->outputs.at[0]->name->s, "y");
    const Graph *body = node_attr(g->nodes.at[0], FUNCTION_BODY)->g;
    assert_int_equal(body->nodes.n, 2);
    assert_string_equal(body->nodes.at[0]->name->s, "Abs");
    assert_string_equal(body->nodes.at[1]->name->s, "B");
}

/* What the call's nodes need comes before it, what needs them behind it. */
static void others_make_room_for_a_call(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox a = in_calls(g, "1 m A a", "Abs", x);
    Ox late = ox_g(g, "Cos", a);
    Ox early = ox_g(g, "Exp", x);
    graph_output(g, ox_g(g, "Add", in_calls(g, "1 m A a", "Sin", early), late), NULL);
    assert_true(tidy(g, &functions));
    static const char *const order[] = { "Exp", "A", "Cos", "Add" };
    assert_int_equal(g->nodes.n, COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++)
        assert_string_equal(g->nodes.at[i]->name->s, order[i]);
}

/* A way out of the call and back: it stays in place, what it calls is cut out all the same. */
static void a_call_with_a_way_back_stays(void **state)
{
    Ctx *cx = *state;
    Graph *g = graph_of(cx);
    Ox x = input(g, "x", DT_FLOAT, "N");
    Ox back = ox_g(g, "Neg", in_calls(g, "1 m A a", "Abs", x));
    graph_output(g, in_calls(g, "1 m A a\n2 m B a.b", "Sin", back), NULL);
    assert_true(tidy(g, &functions));
    assert_int_equal(g->nodes.n, 3);
    assert_string_equal(g->nodes.at[0]->name->s, "Abs");
    assert_string_equal(g->nodes.at[2]->name->s, "B");
    assert_int_equal(cx->notes.n, 1);
    assert_non_null(strstr(cx->notes.at[0].text->s, "the function A of module 'a'"));
}

/* Each of 2 heads of x twice, next to itself. */
static Ox repeated_heads(Graph *g, Ox x, Dim length)
{
    Ctx *cx = g->cx;
    Dim wide[] = { dim_int(cx, 3), dim_int(cx, 2), dim_int(cx, 2), length, dim_int(cx, 8) };
    Dim flat[] = { dim_int(cx, 3), dim_int(cx, 4), length, dim_int(cx, 8) };
    Ox apart = ox_g(g, "Unsqueeze", x, LIST_OF(g, 2));
    Ox repeated = ox_g(g, "Expand", apart, ox_dims(g, wide, 5));
    return ox_g(g, "Reshape", repeated, ox_dims(g, flat, 4));
}

/* The cache goes in and out of Attention, and its heads stay grouped. A Concat that is no output
 * stays. */
static void a_cache_goes_into_attention(void **state)
{
    for (int outputs = 0; outputs < 2; outputs++) {
        Graph *g = graph_of(*state);
        Ox q = input(g, "q", DT_FLOAT, "3,4,5,8");
        Ox k = input(g, "k", DT_FLOAT, "3,2,5,8");
        Ox v = input(g, "v", DT_FLOAT, "3,2,5,8");
        Ox p = input(g, "p", DT_FLOAT, "3,2,P,8");
        Ox r = input(g, "r", DT_FLOAT, "3,2,P,8");
        Ox keys = ox_g_with(g, "Concat", INPUTS(p, k), INT("axis", 2));
        Ox values = ox_g_with(g, "Concat", INPUTS(r, v), INT("axis", 2));
        Dim total = ox_dim(keys, 2);
        Ox y = ox_g(g, "Attention", q, repeated_heads(g, keys, total),
                    repeated_heads(g, values, total));
        graph_output(g, y, str_of(*state, "y"));
        if (outputs) {
            graph_output(g, keys, str_of(*state, "keys"));
            graph_output(g, values, str_of(*state, "values"));
        }
        assert_tidied(g, &newest,
                      outputs ? "Attention(%q, %k, %v, -, %p, %r)\n"
                              : "Concat<axis=2>(%p, %k)\nConcat<axis=2>(%r, %v)\n"
                                "Attention(%q, %6, %7)\n");
    }
}

/* ---- quantised values, for ONNX Runtime ---- */

static const TidyOptions for_ort = { .opset = ONNX_NEWEST, .target_ort = true };

static Ox codes(Graph *g, DType t, int rank, const int64_t *dims)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    Const *k = mem_copy(g->cx, const_make(g->cx, t, rank, dims, new_array(g->cx, int8_t, n)),
                        sizeof *k);
    k->name = str_of(g->cx, "codes");
    return ox_const(g, k);
}

static Ox dequantized(Graph *g, Ox x, Ox scale, Ox zero)
{
    return ox_g_with(g, "DequantizeLinear", INPUTS(x, scale, zero), INT("axis", 0));
}

/* x as steps of this type and scale, and back. */
static Ox rounded(Graph *g, Ox x, DType t, Ox scale)
{
    Ox zero = ox_integer(g, t, 3);
    return ox_g(g, "DequantizeLinear", ox_g(g, "QuantizeLinear", x, scale, zero), scale, zero);
}

/* A weight [N, K] of int8 with a scale for each row, as columns. */
static Ox columns(Graph *g, int64_t n, int64_t k)
{
    int64_t dims[] = { n, k };
    Ox w = codes(g, DT_INT8, 2, dims);
    Ox zeros = ox_const(g, const_make(g->cx, DT_INT8, 1, dims, new_array(g->cx, int8_t, n)));
    w = dequantized(g, w, weight(g, "scales", 1, dims), zeros);
    return ox_g_with(g, "Transpose", INPUTS(w), INT_LIST("perm", ((int64_t[]){ 1, 0 }), 2));
}

static void products_of_steps_are_of_integers(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3,4");
    Ox scale = input(g, "s", DT_FLOAT, "");
    Ox y = ox_g(g, "MatMul", rounded(g, x, DT_INT8, scale), columns(g, 2, 4));
    graph_output(g, y, str_of(*state, "y"));
    assert_tidied(g, &for_ort,
                  "QuantizeLinear(%x, %s, {131}: uint8[])\n"
                  "MatMulInteger(%26, \"codes.t.cast.add.cast\": uint8[4,2], {131}: uint8[], "
                  "{128}: uint8[])\n"
                  "Mul(%s, \"scales\": float32[2])\n"
                  "Cast<to=1>(%35)\n"
                  "Mul(%37, %36)\n");
}

static void products_of_int8_are_of_uint8(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,4");
    Ox least = ox_number(g, DT_FLOAT, -127);
    Ox most = ox_number(g, DT_FLOAT, 127);
    Ox cut = ox_g(g, "Clip", ox_g(g, "Round", x), least, most);
    Ox w = codes(g, DT_INT8, DIMS(4, 2));
    Ox y = ox_g(g, "MatMulInteger", ox_cast(g, cut, DT_INT8), w);
    Ox z = ox_g(g, "MatMulInteger", input(g, "q", DT_INT8, "N,4"), w);
    graph_output(g, y, str_of(*state, "y"));
    graph_output(g, z, str_of(*state, "z"));
    assert_tidied(
        g, &for_ort,
        "Round(%x)\n"
        "Clip(%4, {-127}: float32[], {127}: float32[])\n"
        "Add(%5, {128}: float32[])\n"
        "Cast<to=2>(%12)\n"
        "MatMulInteger(%13, \"codes.cast.add.cast\": uint8[4,2], {128}: uint8[], {128}: uint8[])\n"
        "Cast<to=5>(%q)\n"
        "Add(%20, constant: int16[])\n"
        "Cast<to=2>(%21)\n"
        "MatMulInteger(%22, \"codes.cast.add.cast\": uint8[4,2], {128}: uint8[], {128}: "
        "uint8[])\n");
}

static void activations_are_unsigned(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,3,4");
    Ox y = ox_g(g, "Neg", rounded(g, x, DT_INT8, ox_number(g, DT_FLOAT, 0.5)));
    graph_output(g, y, str_of(*state, "y"));
    assert_tidied(g, &for_ort,
                  "QuantizeLinear(%x, {0.5}: float32[], {131}: uint8[])\n"
                  "DequantizeLinear(%14, {0.5}: float32[], {131}: uint8[])\n"
                  "Neg(%18)\n");
}

static void weights_in_training_stay_signed(void **state)
{
    Graph *g = graph_of(*state);
    Ox x = input(g, "x", DT_FLOAT, "N,4");
    Ox w = rounded(g, weight(g, "w", DIMS(4, 2)), DT_INT8, ox_number(g, DT_FLOAT, 0.5));
    graph_output(g, ox_g(g, "MatMul", x, w), str_of(*state, "y"));
    assert_tidied(
        g, &for_ort,
        "DequantizeLinear(\"w.quantizelinear\": int8[4,2], {0.5}: float32[], {3}: int8[])\n"
        "MatMul(%x, %6)\n");
}

static void summands_of_floats_stand_behind(void **state)
{
    Graph *g = graph_of(*state);
    Ox scale = ox_number(g, DT_FLOAT, 0.5);
    Ox b = weight(g, "b", DIMS(2));
    for (int rank = 2; rank < 4; rank++) {
        Ox x = input(g, rank == 2 ? "x" : "z", DT_FLOAT, rank == 2 ? "N,4" : "N,3,4");
        Ox y = ox_g(g, "MatMul", rounded(g, x, DT_UINT8, scale), columns(g, 2, 4));
        graph_output(g, ox_g(g, "Add", y, b), str_of(*state, rank == 2 ? "y2" : "y3"));
    }
    assert_tidied(
        g, &for_ort,
        "QuantizeLinear(%x, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear(%5, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear<axis=0>(\"codes\": int8[2,4], \"scales\": float32[2], {0, 0}: int8[2])\n"
        "Transpose<perm=[1, 0]>(%10)\n"
        "Gemm(%6, %11)\n"
        "Add(%24, \"b\": float32[2])\n"
        "QuantizeLinear(%z, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear(%15, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear<axis=0>(\"codes\": int8[2,4], \"scales\": float32[2], {0, 0}: int8[2])\n"
        "Transpose<perm=[1, 0]>(%19)\n"
        "MatMul(%16, %20)\n"
        "Add(%21, \"b.view\": float32[1,2])\n");
}

/* QGemm adds in integers. */
static void summands_before_steps_stay(void **state)
{
    Graph *g = graph_of(*state);
    Ox scale = ox_number(g, DT_FLOAT, 0.5);
    Ox x = input(g, "x", DT_FLOAT, "N,4");
    Ox y = ox_g(g, "MatMul", rounded(g, x, DT_UINT8, scale), columns(g, 2, 4));
    y = ox_g(g, "Relu", ox_g(g, "Add", y, weight(g, "b", DIMS(2))));
    graph_output(g, rounded(g, y, DT_UINT8, scale), str_of(*state, "y"));
    assert_tidied(
        g, &for_ort,
        "QuantizeLinear(%x, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear(%4, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear<axis=0>(\"codes\": int8[2,4], \"scales\": float32[2], {0, 0}: int8[2])\n"
        "Transpose<perm=[1, 0]>(%9)\n"
        "Gemm(%5, %10, \"b\": float32[2])\n"
        "Relu(%17)\n"
        "QuantizeLinear(%14, {0.5}: float32[], {3}: uint8[])\n"
        "DequantizeLinear(%15, {0.5}: float32[], {3}: uint8[])\n");
}

/* z's elements at indices, and those of src, put together by `how`. */
static bool complex_scatter(Ctx *cx, const char *op, const char *how)
{
    Graph *g = graph_of(cx);
    Ox z = input(g, "z", DT_COMPLEX64, "3,3");
    bool rows = strcmp(op, "ScatterND") == 0;
    Ox at = input(g, "at", DT_INT64, rows ? "2,1" : "2,3");
    Ox src = input(g, "src", DT_COMPLEX64, "2,3");
    Ox y = ox_g_with(g, op, INPUTS(z, at, src), STRING("reduction", str_of(cx, how)));
    graph_output(g, y, str_of(cx, "y"));
    return tidy(g, &newest);
}

static void complex_elements_are_replaced_and_added(void **state)
{
    const char *const ops[] = { "ScatterElements", "ScatterND" };
    for (size_t i = 0; i < COUNT(ops); i++) {
        assert_true(complex_scatter(*state, ops[i], "none"));
        assert_true(complex_scatter(*state, ops[i], "add"));
    }
}

/* Of (1+i) * (1+i) the parts are not 1 * 1 and 1 * 1. */
static void complex_elements_are_not_multiplied(void **state)
{
    Ctx *cx = *state;
    assert_false(complex_scatter(cx, "ScatterElements", "mul"));
    assert_int_equal(cx->error.code, E_UNSUPPORTED);
    assert_non_null(strstr(cx->error.hint->s, "torch.ones_like(z).scatter("));
}

static void complex_rows_are_not_multiplied(void **state)
{
    Ctx *cx = *state;
    assert_false(complex_scatter(cx, "ScatterND", "mul"));
    assert_int_equal(cx->error.code, E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unused_nodes_go),
        TEST(identities_go),
        TEST(a_resize_to_the_same_size_goes),
        TEST(neutral_numbers_go),
        TEST(empty_parts_of_concat_go),
        TEST(unsqueezes_join),
        TEST(reductions_of_one_go),
        TEST(zeros_have_signs),
        TEST(a_weight_of_ones_stays),
        TEST(truths_are_neutral),
        TEST(a_mask_that_lets_everything_pass_goes),
        TEST(masks_that_do_something_stay),
        TEST(an_attention_needs_no_open_mask),
        TEST(states_of_zeros_go),
        TEST(squeezes_join),
        TEST(views_join),
        TEST(slices_join),
        TEST(what_was_written_is_read_from_where_it_comes),
        TEST(what_lies_in_two_parts_is_a_slice_of_both),
        TEST(a_slice_is_the_output_of_a_split),
        TEST(concats_join),
        TEST(heads_part_before_they_turn),
        TEST(windows_are_cut_before_they_turn),
        TEST(what_merges_stays_behind),
        TEST(an_axis_of_one_on_the_way_goes),
        TEST(views_all_the_way_back_go),
        TEST(linears_get_their_axes_back),
        TEST(a_choice_turned_round_is_one),
        TEST(a_number_turned_round_twice_is_itself),
        TEST(an_expand_before_what_broadcasts_goes),
        TEST(transposes_that_move_nothing_are_reshapes),
        TEST(output_names_stay),
        TEST(transposes_join),
        TEST(reshapes_join),
        TEST(conv_and_batch_norm_fuse),
        TEST(a_batch_norm_of_no_variance_stays),
        TEST(what_fuses_is_single_or_double),
        TEST(keep_weights_keeps_them),
        TEST(numbers_of_channels_go_into_the_weights),
        TEST(scales_of_layers_go_into_the_weights),
        TEST(factors_that_are_not_finite_stay),
        TEST(a_batch_norm_goes_into_the_turned_convolution),
        TEST(a_border_of_zeros_is_the_convolutions),
        TEST(a_convolution_used_twice_does_not_fuse),
        TEST(matmul_and_add_are_gemm),
        TEST(a_transposed_weight_is_gathered),
        TEST(a_tied_weight_stays_single),
        TEST(a_weight_that_is_used_in_parts_is_cut),
        TEST(a_weight_that_one_node_reads_twice_is_its_own),
        TEST(what_several_nodes_make_of_a_weight_is_folded),
        TEST(what_is_made_of_a_weight_that_stays_is_not_folded),
        TEST(what_depends_on_weights_only_is_a_recipe),
        TEST(what_may_be_undefined_stays_a_node),
        TEST(what_a_where_does_not_take_may_be_undefined),
        TEST(a_condition_of_another_size_tells_nothing),
        TEST(what_few_nodes_make_of_it_is_taken_along),
        TEST(a_single_node_of_a_weight_is_a_recipe),
        TEST(a_large_constant_waits_for_what_is_made_of_it),
        TEST(a_number_is_repeated_beforehand),
        TEST(one_unknown_extent_needs_no_node),
        TEST(sizes_are_computed_once),
        TEST(arms_share_what_inputs_decide),
        TEST(sizes_that_data_decides),
        TEST(calls_of_modules_nest),
        TEST(others_make_room_for_a_call),
        TEST(a_call_with_a_way_back_stays),
        TEST(a_cache_goes_into_attention),
        TEST(products_of_steps_are_of_integers),
        TEST(products_of_int8_are_of_uint8),
        TEST(activations_are_unsigned),
        TEST(weights_in_training_stay_signed),
        TEST(summands_of_floats_stand_behind),
        TEST(summands_before_steps_stay),
        TEST(complex_elements_are_replaced_and_added),
        TEST(complex_elements_are_not_multiplied),
        TEST(complex_rows_are_not_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
