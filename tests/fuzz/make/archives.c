#include "fuzz/make/archives.h"

/* ---- pickles ---- */

static void put_str(Out *o, const char *s)
{
    out_text(o, "X");
    out_le(o, strlen(s), 4);
    out_text(o, s);
}

static void put_int(Out *o, uint32_t v)
{
    out_text(o, "J");
    out_le(o, v, 4);
}

static void put_ints(Out *o, const uint32_t *v, size_t n)
{
    out_text(o, "(");
    for (size_t i = 0; i < n; i++)
        put_int(o, v[i]);
    out_text(o, "t");
}

typedef struct Stored {
    const char *type, *key; /* "FloatStorage", "0" */
    uint32_t elements;
    uint32_t size[2], stride[2];
    size_t rank;
} Stored;

static void put_tensor(Out *o, const Stored *t)
{
    out_text(o, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_str(o, "storage");
    out_fmt(o, "ctorch\n%s\n", t->type);
    put_str(o, t->key);
    put_str(o, "cpu");
    put_int(o, t->elements);
    out_text(o, "tQ");
    put_int(o, 0);
    put_ints(o, t->size, t->rank);
    put_ints(o, t->stride, t->rank);
    out_text(o,
             "\x89"
             "ccollections\nOrderedDict\n)RtR");
}

static const Stored weight = { "FloatStorage", "0", 6, { 2, 3 }, { 3, 1 }, 2 };
static const Stored bias = { "FloatStorage", "1", 3, { 3 }, { 1 }, 1 };
static const Stored matrix = { "FloatStorage", "3", 4096, { 64, 64 }, { 64, 1 }, 2 };
static const Stored numbers = { "LongStorage", "2", 4, { 4 }, { 1 }, 1 };

static void put_attribute_tensor(Out *o, const char *name, const Stored *t)
{
    put_str(o, name);
    put_tensor(o, t);
}

static void put_attribute_int(Out *o, const char *name, uint32_t v)
{
    put_str(o, name);
    put_int(o, v);
}

static void begin_object(Out *o, const char *cls) { out_fmt(o, "c__torch__\n%s\n)\x81}(", cls); }
static void end_object(Out *o) { out_text(o, "ub"); }

static void put_containers(Out *o)
{
    put_str(o, "l");
    out_text(o, "ctorch.jit._pickle\nbuild_intlist\n(](");
    put_int(o, 1);
    put_int(o, 2);
    out_text(o, "etR");
    put_str(o, "ts");
    out_text(o, "ctorch.jit._pickle\nbuild_tensorlist\n(](");
    put_tensor(o, &weight);
    put_tensor(o, &bias);
    out_text(o, "etR");
    put_str(o, "d");
    out_text(o, "ctorch.jit._pickle\nrestore_type_tag\n(}(");
    put_attribute_tensor(o, "a", &weight);
    out_text(o, "u");
    put_str(o, "Dict[str, Tensor]");
    out_text(o, "tR");
}

static Out root_pickle(void)
{
    Out o = { 0 };
    out_text(&o, "\x80\x02");
    begin_object(&o, "M");
    put_attribute_tensor(&o, "w", &weight);
    put_attribute_tensor(&o, "b", &bias);
    put_attribute_tensor(&o, "m", &matrix);
    put_attribute_tensor(&o, "i", &numbers);
    put_str(&o, "training");
    out_text(&o, "\x89");
    put_attribute_int(&o, "k", 3);
    put_str(&o, "x");
    out_text(&o, "G");
    out_put(&o, "\x3f\xe0\0\0\0\0\0\0", 8); /* 0.5 */
    put_containers(&o);
    put_str(&o, "o");
    begin_object(&o, "C");
    put_attribute_tensor(&o, "v", &bias);
    put_attribute_int(&o, "n", 1);
    put_str(&o, "nx");
    out_text(&o, "N");
    end_object(&o);
    put_str(&o, "sub");
    begin_object(&o, "S");
    put_attribute_tensor(&o, "w", &weight);
    put_attribute_int(&o, "k", 2);
    put_str(&o, "training");
    out_text(&o, "\x88");
    end_object(&o);
    end_object(&o);
    out_text(&o, ".");
    return o;
}

static Out constants_pickle(void)
{
    Out o = { 0 };
    out_text(&o, "\x80\x02(");
    put_tensor(&o, &(Stored){ "FloatStorage", "0", 3, { 3 }, { 1 }, 1 });
    out_text(&o, "t.");
    return o;
}

/* ---- archives ---- */

static const char classes[] = "class C:\n"
                              "  v : Tensor\n"
                              "  n : int\n"
                              "  nx : Optional[__torch__.C]\n"
                              "  def __init__(self: __torch__.C, v: Tensor, n: int) -> NoneType:\n"
                              "    self.v = v\n"
                              "    self.n = n\n"
                              "    self.nx = None\n"
                              "    return None\n"
                              "  def link(self: __torch__.C, to: __torch__.C) -> NoneType:\n"
                              "    self.nx = to\n"
                              "    return None\n"
                              "  def count(self: __torch__.C, i: int) -> int:\n"
                              "    self.n = torch.add(self.n, i)\n"
                              "    return self.n\n";
static const char module_s[] = "class S(Module):\n"
                               "  __parameters__ = [\"w\", ]\n"
                               "  __buffers__ = []\n"
                               "  w : Tensor\n"
                               "  k : int\n"
                               "  training : bool\n";
static const char module_m[] = "class M(Module):\n"
                               "  __parameters__ = [\"w\", \"m\", ]\n"
                               "  __buffers__ = [\"b\", \"i\", ]\n"
                               "  w : Tensor\n"
                               "  b : Tensor\n"
                               "  m : Tensor\n"
                               "  i : Tensor\n"
                               "  training : bool\n"
                               "  k : int\n"
                               "  x : float\n"
                               "  l : List[int]\n"
                               "  ts : List[Tensor]\n"
                               "  d : Dict[str, Tensor]\n"
                               "  o : __torch__.C\n"
                               "  sub : __torch__.S\n";

static const float floats[6] = { 0.5f, -1.25f, 2.0f, 0.0f, 3.5f, -0.75f };
static const int64_t longs[4] = { 0, 1, 2, -1 };

/* So large that --weights-type int8 takes it. */
static Out large_matrix(void)
{
    Out o = { 0 };
    for (int i = 0; i < 64 * 64; i++) {
        float f = (float)(i * 37 % 101 - 50) / 16;
        out_put(&o, &f, sizeof f);
    }
    return o;
}

void code_free(Code *code)
{
    out_free(&code->of_s);
    out_free(&code->of_m);
    out_free(&code->functions);
}

static Out whole_text(const Code *code)
{
    Out o = { 0 };
    out_text(&o, classes);
    out_text(&o, module_s);
    out_put(&o, code->of_s.p, code->of_s.n);
    out_text(&o, module_m);
    out_put(&o, code->of_m.p, code->of_m.n);
    out_put(&o, code->functions.p, code->functions.n);
    return o;
}

Out archive_of_script(const Code *code)
{
    ZipOut z = { 0 };
    Out text = whole_text(code);
    Out root = root_pickle();
    Out constants = constants_pickle();
    Out large = large_matrix();
    zip_add(&z, "m/data.pkl", root.p, root.n, 0, NULL);
    zip_add(&z, "m/code/__torch__.py", text.p, text.n, 0, NULL);
    zip_add(&z, "m/constants.pkl", constants.p, constants.n, 0, NULL);
    zip_add(&z, "m/constants/0", floats, 12, 0, NULL);
    zip_add(&z, "m/data/0", floats, 24, 0, NULL);
    zip_add(&z, "m/data/1", floats, 12, 0, NULL);
    zip_add(&z, "m/data/2", longs, sizeof longs, 0, NULL);
    zip_add(&z, "m/data/3", large.p, large.n, 0, NULL);
    zip_add(&z, "m/version", "10\n", 3, 0, NULL);
    out_free(&text);
    out_free(&root);
    out_free(&constants);
    out_free(&large);
    return zip_end(&z, false);
}

Out archive_of_graph(const Out *json)
{
    static const char weights[] =
        "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": "
        "false, \"tensor_meta\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}, {\"as_int\": 3}], "
        "\"requires_grad\": true, \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "
        "[{\"as_int\": 3}, {\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": "
        "7}}}}";
    static const char nothing[] = "{\"config\": {}}";
    ZipOut z = { 0 };
    zip_add(&z, "m/data/weights/weight_0", floats, 24, 0, NULL);
    zip_add(&z, "m/data/weights/model_weights_config.json", weights, sizeof weights - 1, 0, NULL);
    zip_add(&z, "m/data/constants/model_constants_config.json", nothing, sizeof nothing - 1, 0,
            NULL);
    zip_add(&z, "m/models/model.json", json->p, json->n, 0, NULL);
    zip_add(&z, "m/archive_format", "pt2", 3, 0, NULL);
    zip_add(&z, "m/archive_version", "0", 1, 0, NULL);
    zip_add(&z, "m/byteorder", "little", 6, 0, NULL);
    return zip_end(&z, false);
}
