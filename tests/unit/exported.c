/* exported.c - .pt2 programs made here from text: what becomes of nodes, arguments, results, state,
 * names; and damaged ones. */
#include "unit/test.h"
#include "unit/bytes.h"

#include "front/internal.h"

/* ---- making packages ---- */

#define T(dtype, sizes, strides)                                                      \
    "{\"dtype\": " #dtype ", \"sizes\": [" sizes                                      \
    "], \"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, " \
    "\"strides\": [" strides "], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"
#define I(n)             "{\"as_int\": " #n "}"
#define SYM(text)        "{\"as_expr\": {\"expr_str\": \"" text "\", \"hint\": {\"as_int\": 2}}}"
#define TENSOR(name)     "{\"as_tensor\": {\"name\": \"" name "\"}}"
#define ARG(name, value) "{\"name\": \"" name "\", \"arg\": " value ", \"kind\": 1}"
#define NODE(target, inputs, outputs)                                               \
    "{\"target\": \"" target "\", \"inputs\": [" inputs "], \"outputs\": [" outputs \
    "], \"metadata\": {}, \"is_hop_single_tensor_return\": null, \"name\": \"n\"}"
#define USER(name) "{\"user_input\": {\"arg\": " TENSOR(name) "}}"
#define OUT(name)  "{\"user_output\": {\"arg\": " TENSOR(name) "}}"

typedef struct Parts {
    const char *inputs, *outputs, *nodes, *tensors, *ints, *in_specs, *out_specs, *in_spec,
        *out_spec, *arg_names, *ranges, *version, *dialect, *guards;
} Parts;

static const char *or(const char *s, const char *deflt) { return s ? s : deflt; }

static char *program(const Parts *p)
{
    char *text = malloc(1 << 16);
    snprintf(
        text, 1 << 16,
        "{\"graph_module\": {\"graph\": {\"inputs\": [%s], \"outputs\": [%s], \"nodes\": [%s], "
        "\"tensor_values\": {%s}, \"sym_int_values\": {%s}, "
        "\"sym_bool_values\": {}, \"is_single_tensor_return\": false, \"custom_obj_values\": {}, "
        "\"sym_float_values\": {}}, "
        "\"signature\": {\"input_specs\": [%s], \"output_specs\": [%s]}, \"module_call_graph\": "
        "[{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], "
        "\"in_spec\": \"%s\", \"out_spec\": \"%s\", \"forward_arg_names\": %s}}, {\"fqn\": \"fc\", "
        "\"signature\": null}], \"metadata\": {}}, "
        "\"opset_version\": {\"aten\": 10}, \"range_constraints\": {%s}, \"schema_version\": %s, "
        "\"verifiers\": [\"%s\"], \"torch_version\": \"2.13.0\", \"guards_code\": [%s]}",
        or(p->inputs, TENSOR("x")), or(p->outputs, TENSOR("y")), p->nodes,
        or(p->tensors, "\"x\": " T(7, SYM("s77"), I(1)) ", \"y\": " T(7, SYM("s77"), I(1))),
        or(p->ints, ""), or(p->in_specs, USER("x")), or(p->out_specs, OUT("y")),
        or(p->in_spec, "null"), or(p->out_spec, "null"), or(p->arg_names, "[\"x\"]"),
        or(p->ranges, "\"s77\": {\"min_val\": 0, \"max_val\": null}"),
        or(p->version, "{\"major\": 8, \"minor\": 20}"), or(p->dialect, "TRAINING"),
        or(p->guards, ""));
    return text;
}

static const char weights_config[] =
    "{\"config\": {\"fc.weight\": {\"path_name\": \"weight_0\", \"is_param\": true, "
    "\"use_pickle\": false, \"tensor_meta\": " T(
        7, I(2) ", " I(3),
        I(3) ", " I(
            1)) "}, "
                "\"head.weight\": {\"path_name\": \"weight_0\", \"is_param\": true, "
                "\"use_pickle\": false, \"tensor_meta\": " T(
                    7, I(3) ", " I(2),
                    I(1) ", " I(
                        3)) "}, "
                            "\"tied.weight\": {\"path_name\": \"weight_0\", \"is_param\": true, "
                            "\"use_pickle\": false, \"tensor_meta\": " T(
                                7, I(2) ", " I(3),
                                I(3) ", " I(
                                    1)) "}, "
                                        "\"short\": {\"path_name\": \"weight_0\", \"is_param\": "
                                        "true, \"use_pickle\": false, \"tensor_meta\": " T(
                                            7, I(7),
                                            I(1)) "}, "
                                                  "\"fake\": {\"path_name\": \"weight_1\", "
                                                  "\"is_param\": true, \"use_pickle\": false, "
                                                  "\"tensor_meta\": " T(
                                                      7, I(2),
                                                      I(1)) "}, "
                                                            "\"n\": {\"path_name\": \"weight_2\", "
                                                            "\"is_param\": false, \"use_pickle\": "
                                                            "false, \"tensor_meta\": " T(5, "",
                                                                                         "") "}}}";

static Out package(const char *json)
{
    static const float weight[6] = { 1, 2, 3, 4, 5, 6 };
    static const int64_t counter = 3;
    ZipOut z = { 0 };
    zip_add(&z, "net/data/weights/weight_0", weight, sizeof weight, 0, NULL);
    zip_add(&z, "net/data/weights/weight_1", "", 0, 0, NULL);
    zip_add(&z, "net/data/weights/weight_2", &counter, sizeof counter, 0, NULL);
    zip_add(&z, "net/data/weights/model_weights_config.json", weights_config,
            sizeof weights_config - 1, 0, NULL);
    zip_add(&z, "net/data/constants/model_constants_config.json", "{\"config\": {}}", 14, 0, NULL);
    zip_add(&z, "net/models/model.json", json, strlen(json), 0, NULL);
    zip_add(&z, "net/archive_format", "pt2", 3, 0, NULL);
    zip_add(&z, "net/byteorder", "little", 6, 0, NULL);
    return zip_end(&z, true);
}

static Program *load_text(Ctx *cx, const char *json)
{
    Out o = package(json);
    keep_begin(cx);
    const uint8_t *bytes = mem_copy(cx, o.p, o.n);
    keep_end(cx);
    size_t n = o.n;
    out_free(&o);
    Zip *zip = NULL;
    FileKind kind = kind_of(cx, source_memory(cx, bytes, n), &zip);
    assert_int_equal(kind, FILE_PT2);
    return exported_load(cx, zip, kind);
}

static Program *load(Ctx *cx, const Parts *parts)
{
    char *json = program(parts);
    Program *p = load_text(cx, json);
    free(json);
    return p;
}

static void assert_text(Ctx *cx, Program *p, const char *want)
{
    if (!p)
        fail_msg("%s", error_text(cx, NULL, NULL)->s);
    Buf b = buf_new(cx);
    function_print(&b, p->entry, 0, TEXT_SHOW);
    assert_string_equal(buf_done(&b)->s, want);
}

static void assert_refused(Ctx *cx, const Parts *parts, const char *says)
{
    Program *p = load(cx, parts);
    if (p || !strstr(error_text(cx, NULL, NULL)->s, says))
        fail_msg("wanted \"%s\", got \"%s\"", says,
                 p ? "a program" : error_text(cx, NULL, NULL)->s);
    ctx_restart(cx);
}

/* ---- what becomes of a graph ---- */

static void every_kind_of_argument(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .nodes = NODE("torch.ops.aten.sym_size.int", ARG("self", TENSOR("x")) "," ARG("dim", I(0)), "{\"as_sym_int\": {\"as_name\": \"n\"}}") "," NODE(
                "torch.ops.my.op.default",
                ARG("a", "{\"as_none\": true}") "," ARG(
                    "b",
                    I(
                        -3)) "," ARG("c",
                                     "{\"as_float\": 1e-05}") "," ARG("d",
                                                                      "{\"as_float\": "
                                                                      "\"-Infinity\"}") "," ARG("e",
                                                                                                "{"
                                                                                                "\""
                                                                                                "as"
                                                                                                "_b"
                                                                                                "oo"
                                                                                                "l"
                                                                                                "\""
                                                                                                ": "
                                                                                                "tr"
                                                                                                "ue"
                                                                                                "}") "," ARG("f", "{\"as_string\": \"tanh\"}") "," ARG("g", "{\"as_ints\": [1, 2]}") "," ARG("h", "{\"as_sym_ints\": [{\"as_name\": \"n\"}, {\"as_int\": 4}]}") "," ARG("i", "{\"as_tensors\": [{\"name\": \"x\"}, {\"name\": \"x\"}]}") "," ARG("j", "{\"as_optional_tensors\": [{\"as_none\": true}, {\"as_tensor\": {\"name\": \"x\"}}]}") "," ARG("k", "{\"as_scalar_type\": 7}") "," ARG("l",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "{\"as_device\": {\"type\": \"cuda\", \"index\": 1}}") "," ARG("m",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                             "{\"as_memory_format\": 2}") "," ARG("n",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "{\"as_layout\": 7}") "," ARG("",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                "{\"as_bools\": [false]}") "," ARG("o",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "{\"as_floats\": []}"),
                TENSOR("y")),
            .ints = "\"n\": " SYM("s77") });
    assert_text(cx, p,
                "def forward(self, x):\n"
                "  n = aten::sym_size.int(self=x, dim=0)\n"
                "  y = my::op(a=None, b=-3, c=1e-05, d=-inf, e=True, f=\"tanh\", g=[1, 2], h=[n, "
                "4], i=[x, x], j=[None, x], k=float32, "
                "l=cuda:1, m=2, n=0, [False], o=[])\n"
                "  return y\n");
}

static void every_kind_of_result(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .nodes = NODE("torch.ops.aten.split.Tensor", ARG("self", TENSOR("x")), "{\"as_tensors\": [{\"name\": \"a\"}]}") "," NODE(
                "torch.ops.aten.max.dim", ARG("self", TENSOR("x")),
                TENSOR("b") "," TENSOR(
                    "c")) "," NODE("torch.ops.my.mixed.default", ARG("self", TENSOR("x")),
                                   TENSOR(
                                       "d") ", {\"as_tensors\": [{\"name\": \"e\"}, "
                                            "{\"name\": \"f\"}]}, {\"as_none\": "
                                            "true}") "," NODE("torch.ops.my.nothing."
                                                              "default",
                                                              ARG("self", TENSOR("x")),
                                                              "") "," NODE("_operator"
                                                                           ".add",
                                                                           ARG("a", I(1)) "," ARG(
                                                                               "b", I(2)),
                                                                           "{\"as_"
                                                                           "sym_"
                                                                           "int\": "
                                                                           "{\"as_"
                                                                           "name\": "
                                                                           "\"k\"}}") "," NODE("tor"
                                                                                               "ch."
                                                                                               "ops"
                                                                                               ".at"
                                                                                               "en."
                                                                                               "add"
                                                                                               ".Te"
                                                                                               "nso"
                                                                                               "r",
                                                                                               ARG("self", TENSOR("e")) "," ARG(
                                                                                                   "other",
                                                                                                   "{\"as_sym_int\": {\"as_name\": \"k\"}}"),
                                                                                               TENSOR(
                                                                                                   "y")) });
    assert_text(cx, p,
                "def forward(self, x):\n"
                "  a, = aten::split.Tensor(self=x)\n"
                "  b, c, = aten::max.dim(self=x)\n"
                "  d, _, _, = my::mixed(self=x)\n"
                "  e, f, = _\n"
                "  my::nothing(self=x)\n"
                "  k = _operator::add(a=1, b=2)\n"
                "  y = aten::add.Tensor(self=e, other=k)\n"
                "  return y\n");
    assert_int_equal(p->entry->body.at[1]->meta->n_recorded, 2);
}

static void recorded_types_go_with_the_statements(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("y")),
            .tensors = "\"x\": " T(
                7, SYM("Symbol('s77', positive=True, integer=True)") ", " I(3),
                I(3) ", " I(1)) ", \"y\": " T(13,
                                              SYM("OpaqueUnaryFn_sqrt(s77)") ", " SYM(
                                                  "Mul(Integer(2), Symbol('s77'))"),
                                              I(1) ", " I(1)) });
    assert_non_null(p);
    const Recorded *r = p->entry->body.at[0]->meta->recorded;
    assert_int_equal(r->dtype, DT_BFLOAT16);
    assert_int_equal(r->rank, 2);
    assert_true(r->dim[0].known == -1 && r->dim[0].expr == NULL);
    assert_string_equal(r->dim[1].expr->s, "2*s77");
    assert_int_equal(p->n_input, 1);
    assert_true(p->input[0].known && p->input[0].dtype == DT_FLOAT && p->input[0].rank == 2 &&
                p->input[0].dim[1].known == 3);
    assert_string_equal(p->input[0].dim[0].expr->s, "s77");
    assert_int_equal(p->n_symbol, 1);
    assert_true(p->symbol[0].lo == 0 && p->symbol[0].hi == DIM_MAX);
}

#define GRAPH(name, nodes)                                                              \
    "{\"as_graph\": {\"name\": \"" name                                                 \
    "\", \"graph\": {\"inputs\": [" TENSOR("x") "], \"outputs\": [" TENSOR(             \
        "s") "], \"nodes\": [" nodes "], "                                              \
             "\"tensor_values\": {}, \"sym_int_values\": {}, \"sym_bool_values\": {}, " \
             "\"is_single_tensor_return\": false, \"custom_obj_values\": {}, "          \
             "\"sym_float_values\": {}}}}"

static void graphs_inside_nodes(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .nodes = NODE(
                "torch.ops.higher_order.cond",
                ARG("", "{\"as_bool\": true}") "," ARG(
                    "",
                    GRAPH("yes",
                          NODE("torch.ops.aten.sin.default", ARG("self", TENSOR("x")),
                               TENSOR(
                                   "s")))) "," ARG("",
                                                   GRAPH("no",
                                                         NODE("torch.ops.aten.cos.default",
                                                              ARG("self", TENSOR("x")),
                                                              TENSOR(
                                                                  "s")))) "," ARG("",
                                                                                  "{\"as_tensors\":"
                                                                                  " [{\"name\": "
                                                                                  "\"x\"}]}"),
                TENSOR("y")) });
    assert_text(
        cx, p,
        "def forward(self, x):\n  y, = higher_order::cond(True, yes, no, [x])\n  return y\n");
    const Function *yes = p->entry->body.at[0]->value->args[1].value->fn;
    assert_int_equal(yes->n_param, 1);
    assert_int_equal(yes->body.n, 2);
    assert_string_equal(yes->body.at[0]->value->op->name->s, "aten::sin");
    assert_int_equal(yes->body.at[1]->value->kind, X_TUPLE);
}

#define FOLD(op)                                                                                     \
    "{\"as_graph\": {\"name\": \"f\", \"graph\": {\"inputs\": [" TENSOR("a") ", " TENSOR(            \
        "b") "], \"outputs\": [" TENSOR("s") "], \"nodes\": [" NODE(op,                              \
                                                                    ARG("self",                      \
                                                                        TENSOR(                      \
                                                                            "a")) "," ARG("other",   \
                                                                                          TENSOR(    \
                                                                                              "b")), \
                                                                    TENSOR(                          \
                                                                        "s")) "], "                  \
                                                                              "\"tensor_values\":"   \
                                                                              " {}, "                \
                                                                              "\"sym_int_"           \
                                                                              "values\": {}, "       \
                                                                              "\"sym_bool_"          \
                                                                              "values\": {}, "       \
                                                                              "\"is_single_"         \
                                                                              "tensor_return\": "    \
                                                                              "false, "              \
                                                                              "\"custom_obj_"        \
                                                                              "values\": {}, "       \
                                                                              "\"sym_float_"         \
                                                                              "values\": {}}}}"
/* A body whose result has a size that data decides: it is another one in each iteration. */
#define FOUND                                                                                           \
    "{\"as_graph\": {\"name\": \"f\", \"graph\": {\"inputs\": [" TENSOR(                                \
        "a") "], \"outputs\": [" TENSOR("s") "], \"nodes\": [" NODE("torch.ops.aten.nonzero."           \
                                                                    "default",                          \
                                                                    ARG("self", TENSOR("a")),           \
                                                                    TENSOR(                             \
                                                                        "s")) "], "                     \
                                                                              "\"tensor_values\":"      \
                                                                              " {\"s\": " T(            \
                                                                                  5,                    \
                                                                                  SYM("u0") ","         \
                                                                                            " " SYM(    \
                                                                                                "s77"), \
                                                                                  I(1) ", " I(          \
                                                                                      1)) "}, "         \
                                                                                          "\"sym_"      \
                                                                                          "int_"        \
                                                                                          "values"      \
                                                                                          "\": "        \
                                                                                          "{}, "        \
                                                                                          "\"sym_"      \
                                                                                          "bool_"       \
                                                                                          "values"      \
                                                                                          "\": "        \
                                                                                          "{}, "        \
                                                                                          "\"is_"       \
                                                                                          "single"      \
                                                                                          "_tenso"      \
                                                                                          "r_"          \
                                                                                          "return"      \
                                                                                          "\": "        \
                                                                                          "false,"      \
                                                                                          " \"cus"      \
                                                                                          "tom_"        \
                                                                                          "obj_"        \
                                                                                          "values"      \
                                                                                          "\": "        \
                                                                                          "{}, "        \
                                                                                          "\"sym_"      \
                                                                                          "float_"      \
                                                                                          "values"      \
                                                                                          "\": "        \
                                                                                          "{}}}}"
#define TENSORS_OF(name) "{\"as_tensors\": [{\"name\": \"" name "\"}]}"

/* torch 2.13 saves no associative_scan that was made on a CPU: this one is written by hand. */
static void scans_are_loops(void **state)
{
    Ctx *cx = *state;
    static const char *const associative = NODE(
        "torch.ops.higher_order.associative_scan",
        ARG("", FOLD("torch.ops.aten.mul.Tensor")) "," ARG("", TENSORS_OF("x")) "," ARG(
            "", "{\"as_tensors\": []}"),
        TENSOR("y"));
    assert_text(cx, load(cx, &(Parts){ .nodes = associative }),
                "def forward(self, x):\n  ys = []\n  row = aten::select(x, 0, 0)\n  carried = "
                "row\n  aten::append(ys, carried)\n"
                "  for i in range(aten::sub(aten::sym_size(x, 0), 1)):\n    row = aten::select(x, "
                "0, aten::add(i, 1))\n    a = carried\n    b = row\n"
                "    s = aten::mul.Tensor(self=a, other=b)\n    next = s\n    carried = next\n    "
                "aten::append(ys, carried)\n  rows = aten::stack(ys)\n  y = rows\n  return y\n");
    static const char *const map = NODE("torch.ops.higher_order.map_impl",
                                        ARG("", FOLD("torch.ops.aten.mul.Tensor")) "," ARG(
                                            "", TENSORS_OF("x")) "," ARG("", TENSORS_OF("x")),
                                        TENSOR("y"));
    assert_text(cx, load(cx, &(Parts){ .nodes = map }),
                "def forward(self, x):\n  ys = []\n  for i in range(aten::sym_size(x, 0)):\n    "
                "row = aten::select(x, 0, i)\n    a = row\n    b = x\n"
                "    s = aten::mul.Tensor(self=a, other=b)\n    next = s\n    aten::append(ys, "
                "next)\n  rows = aten::stack(ys)\n  y = rows\n  return y\n");
    static const char *const short_of_results = NODE(
        "torch.ops.higher_order.scan",
        ARG("", FOLD("torch.ops.aten.mul.Tensor")) "," ARG("", TENSORS_OF("x")) "," ARG(
            "", TENSORS_OF("x")) "," ARG("", "{\"as_tensors\": []}"),
        TENSOR("y") "," TENSOR("z"));
    assert_refused(cx, &(Parts){ .nodes = short_of_results }, "another number of results");
    static const char *const no_rows = NODE(
        "torch.ops.higher_order.map_impl",
        ARG("", FOLD("torch.ops.aten.mul.Tensor")) "," ARG("", "{\"as_tensors\": []}"),
        TENSOR("y"));
    assert_refused(cx, &(Parts){ .nodes = no_rows }, "without its graph or its rows");
}

static void sizes_of_a_trip_stay_in_it(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){ .nodes = NODE("torch.ops.higher_order.map_impl",
                                ARG("", FOUND) "," ARG("", TENSORS_OF("x")), TENSOR("y")),
                  .ranges = "\"s77\": {\"min_val\": 0, \"max_val\": null}, \"u0\": "
                            "{\"min_val\": 0, \"max_val\": null}" });
    assert_non_null(p);
    const Stmt *loop = p->entry->body.at[1];
    assert_int_equal(loop->kind, S_FOR);
    const Recorded *found = NULL;
    for (uint32_t i = 0; i < loop->body.n; i++)
        if (loop->body.at[i]->value->kind == X_OP &&
            str_is(loop->body.at[i]->value->op->name, "aten::nonzero"))
            found = loop->body.at[i]->meta->recorded;
    assert_non_null(found);
    assert_true(found->rank == 2 && found->dim[0].known == -1 && found->dim[0].expr == NULL);
    assert_string_equal(found->dim[1].expr->s, "s77");
}

static void regions_dissolve(void **state)
{
    Ctx *cx = *state;
    static const char *const no_grad = NODE(
        "torch.ops.higher_order.wrap_with_set_grad_enabled",
        ARG("", "{\"as_bool\": false}") "," ARG(
            "",
            GRAPH("g",
                  NODE("torch.ops.aten.sin.default", ARG("self", TENSOR("x")),
                       TENSOR("s")))) "," ARG("", TENSOR("x")),
        TENSOR("y"));
    assert_text(cx, load(cx, &(Parts){ .nodes = no_grad }),
                "def forward(self, x):\n  x = x\n  s = aten::sin(self=x)\n  y = s\n  return y\n");
#define AUTOCAST(device, type, on, op)                                                                                                                  \
    NODE(                                                                                                                                               \
        "torch.ops.higher_order.wrap_with_autocast",                                                                                                    \
        ARG("", "{\"as_string\": \"" device "\"}") "," ARG("", type) "," ARG(                                                                           \
            "",                                                                                                                                         \
            "{\"as_bool\":"                                                                                                                             \
            " " on                                                                                                                                      \
            "}") "," ARG("",                                                                                                                            \
                         "{\"as_none\": true}") "," ARG("",                                                                                             \
                                                        "{\"as_graph\": {\"name\": \"g\", "                                                             \
                                                        "\"graph\": {\"inputs\": [" TENSOR("x") "], \"outputs\": [" TENSOR("s") "], \"nodes\": [" NODE( \
                                                            "torch.ops.aten." op ".default",                                                            \
                                                            ARG("self", TENSOR("x")) "," ARG(                                                           \
                                                                "mat2", TENSOR("x")),                                                                   \
                                                            TENSOR(                                                                                     \
                                                                "s")) "], \"tensor_values\": "                                                          \
                                                                      "{\"x\": " T(7, I(2), I(1)) ", \"s\": " T(                                        \
                                                                          13, I(2),                                                                     \
                                                                          I(1)) "}, "                                                                   \
                                                                                "\"sym_int_"                                                            \
                                                                                "values\": {}, "                                                        \
                                                                                "\"sym_bool_"                                                           \
                                                                                "values\": {}, "                                                        \
                                                                                "\"is_single_"                                                          \
                                                                                "tensor_"                                                               \
                                                                                "return\": "                                                            \
                                                                                "false, "                                                               \
                                                                                "\"custom_obj_"                                                         \
                                                                                "values\": {}, "                                                        \
                                                                                "\"sym_float_"                                                          \
                                                                                "values\": "                                                            \
                                                                                "{}}}}") "," ARG("",                                                    \
                                                                                                 TENSOR(                                                \
                                                                                                     "x")),                                             \
        TENSOR("y"))
#define CALLED(call) "def forward(self, x):\n  x = x\n  s = " call "\n  y = s\n  return y\n"
    static const char *const cast = CALLED("aten::mm(self=aten::to.dtype(self=x, dtype=bfloat16), "
                                           "mat2=aten::to.dtype(self=x, dtype=bfloat16))");
    assert_text(
        cx,
        load(cx, &(Parts){ .nodes = AUTOCAST("cpu", "{\"as_scalar_type\": 13}", "true", "mm") }),
        cast);
    assert_text(cx,
                load(cx, &(Parts){ .nodes = AUTOCAST("cpu", "{\"as_none\": true}", "true", "mm") }),
                cast);
    assert_refused(cx,
                   &(Parts){ .nodes = AUTOCAST("cpu", "{\"as_scalar_type\": 13}", "false", "mm") },
                   "exported while autocast was on outside of the model");
    assert_text(
        cx,
        load(cx, &(Parts){ .nodes = AUTOCAST("cpu", "{\"as_scalar_type\": 13}", "true", "add") }),
        CALLED("aten::add(self=x, mat2=x)"));
    assert_refused(cx,
                   &(Parts){ .nodes = AUTOCAST("cpu", "{\"as_scalar_type\": 8}", "true", "mm") },
                   "an autocast region of an unknown type");
}

static void assertions_are_dropped_and_said(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){ .nodes = NODE("torch.ops.aten._assert_scalar.default",
                                ARG("self", "{\"as_bool\": true}") "," ARG(
                                    "assert_msg", "{\"as_string\": \"no\"}"),
                                "") "," NODE("torch.ops.aten._assert_tensor_metadata.default",
                                             ARG("a", TENSOR("x")),
                                             "") "," NODE("torch.ops.aten.relu.default",
                                                          ARG("self", TENSOR("x")), TENSOR("y")) });
    assert_text(cx, p, "def forward(self, x):\n  y = aten::relu(self=x)\n  return y\n");
    ctx_restart(cx);
    assert_int_equal(cx->notes.n, 1);
    assert_string_equal(cx->notes.at[0].text->s,
                        "1 assertion about sizes and values, which ONNX cannot say");
}

#define MARK(name, args, outputs) NODE("torch._functorch.predispatch." name, args, outputs)
#define BEGIN_VMAP                                                                           \
    MARK("_vmap_increment_nesting", ARG("", I(2)) "," ARG("", "{\"as_string\": \"error\"}"), \
         "{\"as_none\": true}")
#define SAMPLE(of, level, to) \
    MARK("_add_batch_dim", ARG("", TENSOR(of)) "," ARG("", I(0)) "," ARG("", I(level)), TENSOR(to))
#define SAMPLES(of, level, dim, to)                                                       \
    MARK("_remove_batch_dim",                                                             \
         ARG("", TENSOR(of)) "," ARG("", I(level)) "," ARG("", I(2)) "," ARG("", I(dim)), \
         TENSOR(to))
#define END_VMAP MARK("_vmap_decrement_nesting", "", "{\"as_none\": true}")

static void a_vmap_is_a_loop(void **state)
{
    Ctx *cx = *state;
    static const char *const nested = BEGIN_VMAP
        "," SAMPLE("x", 1, "a") "," BEGIN_VMAP "," SAMPLE("x", 2, "b") "," NODE(
            "torch.ops.aten.mul.Tensor", ARG("self", TENSOR("a")) "," ARG("other", TENSOR("b")),
            TENSOR("s")) "," SAMPLES("s", 2, 0, "row") "," END_VMAP
                                                       "," SAMPLES("row", 1, 1, "y") "," END_VMAP;
    assert_text(cx, load(cx, &(Parts){ .nodes = nested }),
                "def forward(self, x):\n  samples = []\n  for i in range(2):\n    a = "
                "aten::select(x, 0, i)\n    samples = []\n    for i in range(2):\n"
                "      b = aten::select(x, 0, i)\n      s = aten::mul.Tensor(self=a, other=b)\n    "
                "  aten::append(samples, s)\n    row = aten::stack(samples, 0)\n"
                "    aten::append(samples, row)\n  y = aten::stack(samples, 1)\n  return y\n");
    assert_refused(cx, &(Parts){ .nodes = BEGIN_VMAP "," SAMPLE("x", 1, "y") },
                   "a vmap that does not end");
    assert_refused(cx, &(Parts){ .nodes = BEGIN_VMAP "," SAMPLE("x", 2, "y") "," END_VMAP },
                   "not the one around it");
    assert_refused(cx, &(Parts){ .nodes = END_VMAP }, "has not begun");
    assert_refused(cx,
                   &(Parts){ .nodes = MARK("_jvp_increment_nesting", "", "{\"as_none\": true}") },
                   "run_decompositions({})");
}

static void what_the_export_relies_on_is_kept(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("y")),
            .guards = "\"(L['x'].size()[0] % 4) == 0\", \"L['x'].size()[0] != 1\"" });
    assert_int_equal(p->n_guard, 2);
    assert_string_equal(p->guard[0]->s, "(L['x'].size()[0] % 4) == 0");
    assert_string_equal(p->guard[1]->s, "L['x'].size()[0] != 1");
}

/* An dynamic number that torch.export found to be always the same: the program is right for that
 * one only. */
static void a_number_of_one_value_is_no_input(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){ .inputs = TENSOR("x") ",{\"as_sym_int\": {\"as_name\": \"n\"}}",
                  .ints = "\"n\": " I(1),
                  .in_specs = USER(
                      "x") ",{\"user_input\": {\"arg\": {\"as_sym_int\": {\"as_name\": \"n\"}}}}",
                  .nodes = NODE("torch.ops.aten.mul.Tensor",
                                ARG("self", TENSOR("x")) "," ARG(
                                    "other", "{\"as_sym_int\": {\"as_name\": \"n\"}}"),
                                TENSOR("y")) });
    assert_text(
        cx, p,
        "def forward(self, x):\n  n = 1\n  y = aten::mul.Tensor(self=x, other=n)\n  return y\n");
    assert_int_equal(p->n_input, 1);
    ctx_restart(cx);
    assert_string_equal(cx->notes.at[0].text->s,
                        "the input n: torch.export made the program for n = 1 only");
}

/* What is computed for a dropped assertion goes with it; a size that is used stays. */
static void numbers_for_assertions_go(void **state)
{
    Ctx *cx = *state;
    static const char *const checked =
        NODE("torch.ops.aten.sym_size.int", ARG("self", TENSOR("x")) "," ARG("dim", I(0)), "{\"as_sym_int\": {\"as_name\": \"n\"}}") "," NODE(
            "torch.ops.aten.sym_storage_offset.default", ARG("self", TENSOR("x")),
            "{\"as_sym_int\": {\"as_name\": \"o\"}}") "," NODE("_operator.ge",
                                                               ARG("a",
                                                                   "{\"as_sym_int\": {\"as_name\": "
                                                                   "\"o\"}}") "," ARG("b", I(0)),
                                                               "{\"as_sym_bool\": {\"as_name\": "
                                                               "\"ok\"}}") "," NODE("torch.ops."
                                                                                    "aten._assert_"
                                                                                    "scalar."
                                                                                    "default",
                                                                                    ARG("self",
                                                                                        "{\"as_sym_"
                                                                                        "bool\": "
                                                                                        "{\"as_"
                                                                                        "name\": "
                                                                                        "\"ok\"}}"),
                                                                                    "") "," NODE("t"
                                                                                                 "o"
                                                                                                 "r"
                                                                                                 "c"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "o"
                                                                                                 "p"
                                                                                                 "s"
                                                                                                 "."
                                                                                                 "a"
                                                                                                 "t"
                                                                                                 "e"
                                                                                                 "n"
                                                                                                 "."
                                                                                                 "m"
                                                                                                 "u"
                                                                                                 "l"
                                                                                                 "."
                                                                                                 "T"
                                                                                                 "e"
                                                                                                 "n"
                                                                                                 "s"
                                                                                                 "o"
                                                                                                 "r",
                                                                                                 ARG("self", TENSOR("x")) "," ARG(
                                                                                                     "other",
                                                                                                     "{\"as_sym_int\": {\"as_name\": \"n\"}}"),
                                                                                                 TENSOR(
                                                                                                     "y"));
    assert_text(cx, load(cx, &(Parts){ .nodes = checked }),
                "def forward(self, x):\n  n = aten::sym_size.int(self=x, dim=0)\n  y = "
                "aten::mul.Tensor(self=x, other=n)\n  return y\n");
}

/* ---- weights, state, names ---- */

#define PARAM(name, fqn) \
    "{\"parameter\": {\"arg\": {\"name\": \"" name "\"}, \"parameter_name\": \"" fqn "\"}}"

static void weights_point_into_the_file(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .inputs = TENSOR("w") "," TENSOR("h") "," TENSOR("t") "," TENSOR("c") "," TENSOR("x"),
            .in_specs = PARAM("w", "fc.weight") "," PARAM("h", "head.weight") "," PARAM(
                "t", "tied.weight") ", {\"buffer\": {\"arg\": {\"name\": \"c\"}, \"buffer_name\": "
                                    "\"n\", \"persistent\": true}}," USER("x"),
            .nodes = NODE(
                "torch.ops.aten.add.Tensor", ARG("self", TENSOR("c")) "," ARG("other", I(1)),
                TENSOR("c1")) "," NODE("torch.ops.aten.linear.default",
                                       ARG("input", TENSOR("x")) "," ARG("weight", TENSOR("t")),
                                       TENSOR("y")),
            .outputs = TENSOR("c1") "," TENSOR("y"),
            .out_specs =
                "{\"buffer_mutation\": {\"arg\": {\"name\": \"c1\"}, \"buffer_name\": \"n\"}}," OUT(
                    "y") });
    assert_text(cx, p,
                "def forward(self, x):\n"
                "  w = getattr(self, \"fc.weight\")\n  h = getattr(self, \"head.weight\")\n  t = "
                "getattr(self, \"tied.weight\")\n  c = self.n\n"
                "  c1 = aten::add.Tensor(self=c, other=1)\n  y = aten::linear(input=x, weight=t)\n"
                "  aten::copy_(self.n, c1)\n  return y\n");
    assert_int_equal(p->weights.n, 4);
    const Const *w = p->weights.at[0].k;
    const Const *h = p->weights.at[1].k;
    const Const *t = p->weights.at[2].k;
    float out[6];
    assert_true(const_read(cx, w, out) && out[1] == 2 && out[5] == 6);
    assert_true(const_read(cx, h, out) && out[1] == 4 &&
                out[2] == 2); /* transposed by its strides */
    assert_ptr_equal(w, t);
    assert_ptr_equal(w->storage, h->storage);
    assert_true(w->bytes.src->kind == SRC_MEMORY && w->strides == NULL && h->strides != NULL);
    p->graph = graph_new(cx, NULL, str_of(cx, "g"));
    Value root;
    assert_true(p->build_root(cx, p, &root));
    Obj *o = root.obj;
    assert_ptr_equal(o->slot[0].v.t->st, o->slot[2].v.t->st);
    assert_true(o->slot[0].v.t->st != o->slot[1].v.t->st && o->slot[1].v.t->st->shared_bytes &&
                o->slot[0].v.t->st->shared_bytes);
    assert_string_equal(o->slot[3].v.t->st->name->s, "n");
    assert_true(o->slot[3].v.t->st->state && !o->slot[3].v.t->st->shared_bytes);
}

static void weights_that_cannot_be(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *fqn, *says;
    } cases[] = {
        { "short", "needs 7 elements of net/data/weights/weight_0, which has 24 bytes" },
        { "fake", "saved with fake or meta weights" },
        { "nowhere", "no data for nowhere" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char spec[200];
        snprintf(spec, sizeof spec, PARAM("w", "%s") "," USER("x"), cases[i].fqn);
        assert_refused(cx,
                       &(Parts){ .inputs = TENSOR("w") "," TENSOR("x"),
                                 .in_specs = spec,
                                 .nodes = NODE("torch.ops.aten.relu.default",
                                               ARG("self", TENSOR("x")), TENSOR("y")) },
                       cases[i].says);
    }
}

#define LEAF "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}"
#define TREE(type, context, children)                            \
    "{\\\"type\\\": \\\"" type "\\\", \\\"context\\\": " context \
    ", \\\"children_spec\\\": [" children "]}"

static void names_follow_the_nesting(void **state)
{
    Ctx *cx = *state;
    Program *p = load(
        cx,
        &(Parts){
            .inputs = TENSOR("a") "," TENSOR("b") "," I(3) "," TENSOR("c"),
            .in_specs = USER("a") "," USER("b") ", {\"constant_input\": {\"name\": \"k\", "
                                                "\"value\": {\"as_int\": 3}}}," USER("c"),
            .nodes = "",
            .outputs = TENSOR("a") "," TENSOR("b") ", {\"as_none\": true}," TENSOR("c"),
            .out_specs = OUT("a") "," OUT(
                "b") ", {\"user_output\": {\"arg\": {\"as_none\": true}}}," OUT("c"),
            .in_spec = "[1, " TREE(
                "builtins.tuple", "\\\"null\\\"",
                TREE("builtins.tuple", "\\\"null\\\"",
                     TREE("builtins.dict", "\\\"[\\\\\\\"image\\\\\\\", \\\\\\\"mask\\\\\\\"]\\\"",
                          LEAF "," LEAF) "," LEAF) "," TREE("builtins.dict",
                                                            "\\\"[\\\\\\\"scale\\\\\\\"]\\\"",
                                                            LEAF)) "]",
            .out_spec = "[1, " TREE(
                "my.Output", "\\\"[[\\\\\\\"logits\\\\\\\", \\\\\\\"hidden\\\\\\\"], [null]]\\\"",
                LEAF "," TREE("builtins.list", "\\\"null\\\"", LEAF "," LEAF "," LEAF)) "]",
            .arg_names = "[\"batch\", \"k\", \"scale\"]" });
    assert_non_null(p);
    assert_int_equal(p->n_input, 3);
    assert_string_equal(p->input[0].name->s, "batch.image");
    assert_string_equal(p->input[1].name->s, "batch.mask");
    assert_string_equal(p->input[2].name->s, "scale");
    assert_int_equal(p->n_output_name, 3);
    assert_string_equal(p->output_name[0]->s, "logits");
    assert_string_equal(p->output_name[1]->s, "hidden.0");
    assert_string_equal(p->output_name[2]->s, "hidden.2");
}

static void an_argument_without_a_name_has_the_graphs(void **state)
{
    Program *p = load(
        *state,
        &(Parts){
            .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("y")),
            .in_spec = "[1, " TREE("builtins.tuple", "\\\"null\\\"",
                                   TREE("builtins.tuple", "\\\"null\\\"",
                                        LEAF) "," TREE("builtins.dict", "\\\"[]\\\"", "")) "]",
            .arg_names = "[\"\"]" });
    assert_non_null(p);
    assert_string_equal(p->input[0].name->s, "x");
}

static void nesting_that_cannot_be_read_costs_only_names(void **state)
{
    Ctx *cx = *state;
    static const char *const specs[] = {
        "[1", "7", "[1, {}]", "[1, {\\\"type\\\": \\\"x\\\"}]", "[1, " LEAF "]", ""
    };
    for (size_t i = 0; i < COUNT(specs); i++) {
        Program *p = load(cx,
                          &(Parts){ .nodes = NODE("torch.ops.aten.relu.default",
                                                  ARG("self", TENSOR("x")), TENSOR("y")),
                                    .in_spec = specs[i],
                                    .out_spec = specs[i] });
        assert_non_null(p);
        assert_string_equal(p->input[0].name->s, "x");
        assert_null(p->output_name[0]);
    }
}

/* ---- where it came from ---- */

#define TRACED(trace, modules)                                                                  \
    "{\"target\": \"torch.ops.aten.relu.default\", \"inputs\": [" ARG(                          \
        "self",                                                                                 \
        TENSOR("x")) "], \"outputs\": [" TENSOR("y") "], "                                      \
                                                     "\"metadata\": {\"stack_trace\": \"" trace \
                                                     "\", \"nn_module_stack\": \"" modules      \
                                                     "\", \"from_node\": \"[]\"}}"

static void the_users_line_is_found(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *node, *file, *source, *function, *module, *type;
        unsigned line;
    } cases[] = {
        { TRACED("File \\\"m.py\\\", line 41, in forward\\n    x = self.fc(x)\\n  File "
                 "\\\"/lib/torch/nn/modules/linear.py\\\", line 7, in forward\\n    return "
                 "F.linear(x)",
                 "L__self__,,m.Net;L__self__fc,fc@1,torch.nn.Linear"),
          "m.py", "x = self.fc(x)", "forward", "fc", "torch.nn.Linear", 41 },
        { TRACED("  File \\\"/a/torch/fx/trace.py\\\", line 1, in f\\n    go()\\n  File "
                 "\\\"m.py\\\", line 9, in forward\\n    y = x.relu()\\n        ^^^^\\n",
                 "L__self__,,m.Net"),
          "m.py", "y = x.relu()", "forward", "", "m.Net", 9 },
        { TRACED("File \\\"/lib/torch/nn/modules/linear.py\\\", line 7, in forward\\n    return "
                 "F.linear(x)\\n  File \\\"<eval_with_key>.3\\\", line 2, in g\\n",
                 ""),
          "/lib/torch/nn/modules/linear.py", "return F.linear(x)", "forward", NULL, NULL, 7 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Program *p = load(cx, &(Parts){ .nodes = cases[i].node });
        assert_non_null(p);
        const Stmt *s = p->entry->body.at[0];
        Pos pos;
        assert_true(s->meta->text->locate(cx, s->meta->text, 0, 0, &pos));
        assert_string_equal(pos.file->s, cases[i].file);
        assert_string_equal(pos.source->s, cases[i].source);
        assert_string_equal(pos.function->s, cases[i].function);
        assert_int_equal(pos.line, cases[i].line);
        assert_true(cases[i].module ? str_is(s->meta->module, cases[i].module) &&
                            str_is(s->meta->module_type, cases[i].type)
                                    : s->meta->module == NULL);
    }
}

/* ---- files that torch wrote (tests/programs/exported.py) ---- */

static Program *load_file(Ctx *cx, const char *path, FileKind want)
{
    Zip *zip = NULL;
    Source *file = source_file(cx, path);
    assert_non_null(file);
    assert_int_equal(kind_of(cx, file, &zip), want);
    Program *p = exported_load(cx, zip, want);
    if (!p)
        fail_msg("%s", error_text(cx, NULL, path)->s);
    return p;
}

/* The first format nests archives of torch.save, the second has records of raw bytes: the same
 * program, the same numbers. */
static void both_generations_are_one_program(void **state)
{
    Ctx *cx = *state;
    Program *p[2] = { load_file(cx, "tests/programs/exported_a.pt2", FILE_PT2_OLD),
                      load_file(cx, "tests/programs/exported_b.pt2", FILE_PT2) };
    for (int i = 0; i < 2; i++) {
        float weight[6], scale[2];
        assert_text(cx, p[i],
                    "def forward(self, batch.image, batch.mask, power):\n"
                    "  p_weight = self.weight\n  p_tied = self.tied\n  b_scale = self.scale\n  "
                    "b_shift = self.shift\n  c_lifted_tensor_0 = self.lifted_tensor_0\n"
                    "  sym_size_int_1 = aten::sym_size.int(self=batch_image, dim=0)\n"
                    "  linear = aten::linear(input=batch_image, weight=p_tied)\n"
                    "  mul = aten::mul.Tensor(self=linear, other=b_scale)\n"
                    "  sum_1 = aten::sum(self=mul)\n"
                    "  gt = aten::gt.Scalar(self=sum_1, other=0)\n"
                    "  getitem, = higher_order::cond(gt, true_graph_0, false_graph_0, [mul])\n"
                    "  add = aten::add.Tensor(self=getitem, other=b_shift)\n"
                    "  mul_1 = _operator::mul(a=sym_size_int_1, b=2)\n"
                    "  reshape = aten::reshape(self=mul, shape=[mul_1])\n"
                    "  lift_fresh_copy = aten::lift_fresh_copy(self=c_lifted_tensor_0)\n"
                    "  detach_ = aten::detach(self=lift_fresh_copy)\n"
                    "  add_1 = aten::add.Tensor(self=batch_mask, other=detach_)\n"
                    "  mul_2 = aten::mul.Tensor(self=power, other=2)\n"
                    "  return (add, reshape, add_1, mul_2)\n");
        assert_int_equal(p[i]->weights.n, 3);
        assert_string_equal(p[i]->weights.at[1].name->s, "tied");
        assert_ptr_equal(p[i]->weights.at[0].k, p[i]->weights.at[1].k);
        assert_true(const_read(cx, p[i]->weights.at[0].k, weight) && weight[0] == 0 &&
                    weight[5] == 5);
        assert_true(const_read(cx, p[i]->weights.at[2].k, scale) && scale[1] == 0.5f);
        assert_int_equal(p[i]->weights.at[0].k->bytes.src->kind, SRC_FILE);
        assert_true(p[i]->symbol[0].lo == 1 && p[i]->symbol[0].hi == 64);
        assert_string_equal(p[i]->output_name[2]->s, "rest.1");
    }
}

/* ---- damage ---- */

static void damaged_programs_are_refused(void **state)
{
    Ctx *cx = *state;
    const char *relu = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("y"));
    const struct {
        Parts parts;
        const char *says;
    } cases[] = {
        { { .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("z")), TENSOR("y")) },
          "the value z is used before it is defined" },
        { { .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("x")) },
          "the value x is defined twice" },
        { { .nodes = NODE("torch.ops.aten.relu.default",
                          ARG("self", "{\"as_int\": 1, \"as_none\": true}"), TENSOR("y")) },
          "exactly one kind of value" },
        { { .nodes = NODE("torch.ops.aten.relu.default", ARG("self", "{\"as_quark\": 1}"),
                          TENSOR("y")) },
          "the kind as_quark is not known" },
        { { .nodes = NODE("torch.ops.aten.relu.default",
                          ARG("self", "{\"as_custom_obj\": {\"name\": \"q\"}}"), TENSOR("y")) },
          "TorchBind" },
        { { .nodes = "{\"target\": \"a\"}" }, "a node without target, inputs or outputs" },
        { { .nodes = "" }, "the value y is used before" },
        { { .nodes = relu, .tensors = "\"x\": " T(7, I(-1), I(1)) }, "a negative size" },
        { { .nodes = relu, .tensors = "\"x\": 3" }, "an object is expected" },
        { { .nodes = relu, .tensors = "\"x\": " T(0, I(2), I(1)) },
          "dtype: no element type has the number 0" },
        { { .nodes = relu, .tensors = "\"y\": " T(99, I(2), I(1)) },
          "dtype: no element type has the number 99" },
        { { .nodes = relu, .tensors = "\"x\": " T(-1, I(2), I(1)) },
          "dtype: no element type has the number -1" },
        { { .nodes = relu, .tensors = "\"x\": " T(9, I(2), I(1)) },
          "the input x is of complex32, which ONNX does not have" },
        { { .nodes = "", .inputs = TENSOR(""), .outputs = TENSOR(""), .in_specs = USER("") },
          "an input of the program has no name" },
        { { .nodes = relu,
            .in_specs = "{\"buffer\": {\"arg\": {\"name\": \"x\"}, \"buffer_name\": \"\"}}" },
          "an input of the kind buffer has no name" },
        { { .nodes = relu, .tensors = "\"x\": " T(7, "", "") ", \"x\": " T(7, "", "") },
          "x is described twice" },
        { { .nodes = relu, .in_specs = "" },
          "the signature has 0 inputs and 1 outputs, the graph 1 and 1" },
        { { .nodes = relu,
            .in_specs =
                "{\"custom_obj\": {\"arg\": {\"name\": \"x\"}, \"custom_obj_name\": \"tok\"}}" },
          "an input of the kind custom_obj" },
        { { .nodes = relu, .out_specs = "{\"loss_output\": {\"arg\": {\"name\": \"y\"}}}" },
          "training graph" },
        { { .nodes = relu,
            .out_specs =
                "{\"buffer_mutation\": {\"arg\": {\"name\": \"y\"}, \"buffer_name\": \"none\"}}" },
          "changes what the program does not have" },
        { { .nodes = relu, .version = "{\"major\": 9, \"minor\": 0}" }, "schema 9" },
        { { .nodes = relu, .version = "3" }, "torch 2.6 or later" },
        { { .nodes = relu, .version = "1" }, "schemas 2 and 5 to 8" },
        { { .nodes = relu, .dialect = "EDGE" }, "the dialect EDGE" },
        { { .nodes = relu, .ranges = "\"s77\": 3" }, "an object is expected" },
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_refused(cx, &cases[i].parts, cases[i].says);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    char *json = program(&(Parts){
        .nodes = NODE("torch.ops.aten.relu.default", ARG("self", TENSOR("x")), TENSOR("y")) });
    size_t n = strlen(json);
    for (size_t cut = 0; cut < n; cut++) {
        char last = json[cut];
        json[cut] = 0;
        Ctx *cx = ctx_new();
        assert_null(load_text(cx, json));
        assert_true(ctx_failed(cx) && error_exit_code(cx->error.code) == 3);
        ctx_free(cx);
        json[cut] = last;
    }
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_kind_of_argument),
        TEST(every_kind_of_result),
        TEST(recorded_types_go_with_the_statements),
        TEST(graphs_inside_nodes),
        TEST(scans_are_loops),
        TEST(sizes_of_a_trip_stay_in_it),
        TEST(regions_dissolve),
        TEST(assertions_are_dropped_and_said),
        TEST(a_vmap_is_a_loop),
        TEST(what_the_export_relies_on_is_kept),
        TEST(a_number_of_one_value_is_no_input),
        TEST(numbers_for_assertions_go),
        TEST(weights_point_into_the_file),
        TEST(weights_that_cannot_be),
        TEST(names_follow_the_nesting),
        TEST(an_argument_without_a_name_has_the_graphs),
        TEST(nesting_that_cannot_be_read_costs_only_names),
        TEST(the_users_line_is_found),
        TEST(both_generations_are_one_program),
        TEST(damaged_programs_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
