/* Archives as programs: tests/programs/saved_values.py says what is in these two. Hostile ones are
 * made from them here. */
#include "unit/test.h"

#include "front/front.h"
#include "unit/bytes.h"

static Program *load(Ctx *cx, const char *path)
{
    Zip *zip = NULL;
    Source *s = source_file(cx, path);
    if (!s || kind_of(cx, s, &zip) != FILE_TORCHSCRIPT)
        fail_msg("%s: %s", path, error_text(cx, "test", NULL)->s);
    Program *p = torchscript_load(cx, zip);
    if (!p)
        fail_msg("%s: %s", path, error_text(cx, "test", NULL)->s);
    return p;
}

static Program *saved_values(Ctx *cx) { return load(cx, "tests/programs/saved_values.pt"); }

/* What the evaluator does for __setstate__, here: keep the state that it was given. */
static bool keep_state(Ctx *cx, Program *p, const Function *setstate, Value obj, Value state)
{
    (void)p;
    assert_string_equal(setstate->name->s, "__setstate__");
    for (int64_t i = 0; i < obj.obj->n; i++)
        obj_set(cx, obj.obj, i, state);
    return true;
}

static Value attr(const Obj *o, const char *name)
{
    for (int64_t i = 0; i < o->n; i++)
        if (str_is(o->names[i], name))
            return o->slot[i].v;
    fail_msg("no attribute %s", name);
    return val_none();
}

static Obj *root_of(Ctx *cx, Program *p)
{
    Value v;
    p->run_setstate = keep_state;
    if (!p->build_root(cx, p, &v))
        fail_msg("%s", error_text(cx, "test", NULL)->s);
    assert_int_equal(v.tag, V_OBJ);
    return v.obj;
}

static void the_program(void **state)
{
    Ctx *cx = *state;
    Program *p = saved_values(cx);
    assert_string_equal(p->kind->s,
                        "TorchScript archive (torch 2.1 or later, operators of version 3)");
    assert_false(p->traced);
    assert_string_equal(p->entry->qualname->s, "__torch__.Saved.forward");
    assert_int_equal(p->n_input, 4);
    assert_string_equal(p->input[0].name->s, "x");
    assert_false(p->input[0].has_default);
    assert_true(p->input[1].has_default && p->input[1].deflt.f == 1.5);
    assert_int_equal(p->input[2].deflt.tag, V_NONE);
    assert_string_equal(p->input[3].deflt.s->s, "a\tb");
}

static void every_kind_of_value(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *name, *text;
    } expected[] = {
        { "pair", "(4, 2.5)" },
        { "maybe", "None" },
        { "shapes", "{in: [1, 2], out: [3]}" },
        { "color", "__torch__.Color.GREEN" },
        { "device", "cuda:1" },
        { "z", "1.5-2.j" },
        { "name", "h\xc3\xa9 \"x\"" },
        { "flags", "[True, False]" },
        { "training", "False" },
    };
    Obj *root = root_of(cx, saved_values(cx));
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_string_equal(val_text(cx, attr(root, expected[i].name))->s, expected[i].text);
    assert_string_equal(attr(root, "pair").tuple->type->s, "__torch__.Pair");
    assert_string_equal(attr(root, "shapes").dict->type->s, "Dict[str, List[int]]");
}

static void modules_know_their_path(void **state)
{
    Ctx *cx = *state;
    Obj *root = root_of(cx, saved_values(cx));
    assert_string_equal(root->path->s, "");
    assert_string_equal(attr(attr(root, "children_").obj, "1").obj->path->s, "children_.1");
    assert_string_equal(attr(attr(root, "names").obj, "for").obj->path->s, "names.for");
}

static void own_states_are_handed_over(void **state)
{
    Ctx *cx = *state;
    Obj *packed = attr(root_of(cx, saved_values(cx)), "packed").obj;
    assert_string_equal(val_text(cx, attr(packed, "count"))->s, "(6, False)");
}

static const Weight *weight(const Program *p, const char *name)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (str_is(p->weights.at[i].name, name))
            return &p->weights.at[i];
    fail_msg("no weight %s", name);
    return NULL;
}

static void weights_are_the_state_dict(void **state)
{
    Ctx *cx = *state;
    Program *p = saved_values(cx);
    double turned[6];
    assert_int_equal(p->weights.n, 5);
    assert_true(weight(p, "w")->parameter);
    assert_false(weight(p, "front")->parameter);
    assert_ptr_equal(weight(p, "w")->k, weight(p, "tied")->k);
    assert_string_equal(weight(p, "w")->k->name->s, "w");
    const Const *k = weight(p, "turned")->k;
    assert_int_equal(k->rank, 2);
    assert_int_equal(k->dims[0], 3);
    assert_int_equal(k->strides[0], 1);
    assert_true(const_read(cx, k, turned));
    assert_true(turned[0] == 0 && turned[1] == 3 && turned[5] == 5);
}

/* Equal views are one storage, so a write is seen through both; views that only overlap refuse
 * writes. */
static void storages_are_shared(void **state)
{
    Ctx *cx = *state;
    Obj *root = root_of(cx, saved_values(cx));
    const Tensor *w = attr(root, "w").t;
    const Tensor *tied = attr(root, "tied").t;
    const Tensor *front = attr(root, "front").t;
    const Tensor *back = attr(root, "back").t;
    assert_ptr_equal(w->st, tied->st);
    assert_string_equal(w->st->name->s, "w");
    assert_true(w->st->state);
    assert_false(w->st->shared_bytes);
    assert_ptr_not_equal(front->st, back->st);
    assert_true(front->st->shared_bytes && back->st->shared_bytes);
}

static void each_evaluation_starts_from_the_file(void **state)
{
    Ctx *cx = *state;
    Program *p = saved_values(cx);
    Obj *first = root_of(cx, p);
    list_append(cx, attr(first, "flags").list, val_bool(true));
    Obj *second = root_of(cx, p);
    assert_ptr_not_equal(first, second);
    assert_int_equal(attr(second, "flags").list->n, 2);
}

static void positions_are_of_the_python_file(void **state)
{
    Ctx *cx = *state;
    Program *p = saved_values(cx);
    const Stmt *product =
        p->entry->body.at[p->entry->body.n - 2]; /* the return itself has no position in the file */
    Pos pos = { 0 };
    assert_true(p->entry->text->locate(cx, p->entry->text, product->value->start,
                                       product->value->end, &pos));
    assert_true(str_ends(pos.file, "saved_values.py"));
    assert_true(pos.line > 0 && pos.col > 0);
    assert_non_null(strstr(pos.source->s, "return self.packed("));
}

static void recorded_inputs_are_leaves(void **state)
{
    Ctx *cx = *state;
    static const struct {
        const char *name;
        DType dtype;
        int rank;
    } expected[] = {
        { "x", DT_FLOAT, 2 },   { "pair.0", DT_FLOAT, 1 }, { "pair.1", DT_FLOAT, 2 },
        { "d.a", DT_FLOAT, 1 }, { "xs.0", DT_FLOAT, 1 },   { "xs.1", DT_INT64, 1 },
    };
    Program *p = load(cx, "tests/programs/traced_tree.pt");
    assert_true(p->traced);
    assert_int_equal(p->n_input, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(p->input[i].name->s, expected[i].name);
        assert_true(p->input[i].known);
        assert_int_equal(p->input[i].dtype, expected[i].dtype);
        assert_int_equal(p->input[i].rank, expected[i].rank);
    }
    assert_int_equal(p->input[0].dim[1].known, 3);
}

/* ---- damaged and hostile archives ---- */

#define CLASS   "class M(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n  w : Tensor\n"
#define FORWARD "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return x\n"
#define OBJECT  "c__torch__\nM\n)\x81}("
#define NAME_W  "X\1\0\0\0w"
#define STORAGE(type, more)                        \
    "(X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" \
    "0"                                            \
    "X\3\0\0\0cpuK\4" more "tQ"
#define BUILT(function, storage, scale)                                       \
    "ctorch._utils\n" function "\n(" storage "K\0K\4\x85K\1\x85" scale "\x89" \
    "ccollections\nOrderedDict\n)RtR"
#define SCALE(scheme) "(" scheme "G\x3f\xe0\0\0\0\0\0\0K\1t"
#define PER_TENSOR    "ctorch\nper_tensor_affine\n"
/* a float tensor over data/0 with this offset, sizes and strides; numel of the storage is 4 */
#define TENSOR(offset, size, stride)                                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" \
    "0"                                                                                    \
    "X\3\0\0\0cpuK\4tQ" offset size stride "\x89"                                          \
    "ccollections\nOrderedDict\n)RtR"
#define GOOD_TENSOR TENSOR("K\0", "K\4\x85", "K\1\x85")

typedef struct Damage {
    const char *version, *code;
    const char *data;
    size_t n_data;
    const char *byteorder, *message;
} Damage;
#define DATA(text) .data = "\x80\2" text, .n_data = sizeof("\x80\2" text) - 1

static const Damage damages[] = {
    { .version = "x\n", .message = "the version record holds no version number" },
    { .byteorder = "big", .message = "the weights are stored big-endian" },
    { .code = "class M(Module):\n  w : Tensor\n  def f(self):\n    pass\n",
      .message = "the saved __torch__.M has no method forward" },
    { DATA("cos\nsystem\nX\2\0\0\0ls\x85R."),
      .message = "the pickle names the class os.system, which such a file does not hold" },
    { DATA("]."), .message = "data.pkl holds no module" },
    { DATA("c__torch__\nN\n)\x81}b."),
      .message = "the archive has no source of the class __torch__.N" },
    { DATA(OBJECT NAME_W "NX\1\0\0\0vNub."),
      .message = "the saved __torch__.M has the attribute 'v', which its class does not declare" },
    { DATA("c__torch__\nM\n)\x81}b."), .message = "the saved __torch__.M lacks the attribute 'w'" },
    { DATA(OBJECT NAME_W TENSOR("K\1", "K\4\x85", "K\1\x85") "ub."),
      .message = "a tensor needs 5 elements of data/0, which has 16 bytes" },
    { DATA(OBJECT NAME_W TENSOR("K\0", "J\xff\xff\xff\xff\x85", "K\1\x85") "ub."),
      .message = "a pickled tensor has a size or stride that is no natural number" },
    { DATA(OBJECT NAME_W TENSOR("K\0", "K\2K\2\x86", "K\1\x85") "ub."),
      .message = "a pickled tensor has an offset, sizes and strides that do not go together" },
    { DATA(OBJECT NAME_W TENSOR("K\0", "\x8a\10\0\0\0\0\0\0\0\x40K\4\x86", "K\0K\1\x86") "ub."),
      .message = "a pickled tensor has more elements than 64 bits can count" },
    { DATA(OBJECT NAME_W "ctorch._utils\n_rebuild_sparse_tensor\nK\1\x85Rub."),
      .message = "the saved tensor w (sparse): it is sparse; save x.to_dense()" },
    { DATA(OBJECT NAME_W BUILT("_rebuild_tensor_v2", "N", "") "ub."),
      .message = "a pickled tensor has no storage" },
    { DATA(OBJECT NAME_W BUILT("_rebuild_tensor_v2",
                               "ctorch._utils\n_rebuild_sparse_tensor\nK\1\x85R", "") "ub."),
      .message = "a pickled tensor is built on a tensor that has no storage" },
    { DATA(OBJECT NAME_W BUILT("_rebuild_qtensor", STORAGE("CharStorage", ""),
                               SCALE(PER_TENSOR)) "ub."),
      .message = "a pickled tensor is quantised, but its storage is not" },
    { DATA(
          OBJECT NAME_W BUILT("_rebuild_qtensor", STORAGE("QInt8Storage", ""), SCALE("K\2")) "ub."),
      .message = "a pickled tensor has no quantisation parameters" },
};

/* What torch.jit.load reads besides what it writes: a storage with one more word about it, a tensor
 * in a storage's place, a scheme by its number. */
static const Damage read_too[] = {
    { DATA(OBJECT NAME_W BUILT("_rebuild_tensor_v2", STORAGE("FloatStorage", "N"), "") "ub.") },
    { DATA(OBJECT NAME_W BUILT("_rebuild_tensor_v2", GOOD_TENSOR, "") "ub.") },
    { DATA(OBJECT NAME_W BUILT(
        "_rebuild_qtensor",
        BUILT("_rebuild_qtensor", STORAGE("QInt8Storage", ""), SCALE(PER_TENSOR)),
        SCALE("K\0")) "ub.") },
};

static Out archive_of(const Damage *d)
{
    static const char good[] = "\x80\2" OBJECT NAME_W GOOD_TENSOR "ub.";
    const char *code = d->code ? d->code : CLASS FORWARD;
    const char *version = d->version ? d->version : "3\n";
    ZipOut z = { 0 };
    zip_add(&z, "m/data.pkl", d->data ? d->data : good, d->data ? d->n_data : sizeof good - 1, 0,
            NULL);
    zip_add(&z, "m/data/0", "0123456789abcdef", 16, 0, NULL);
    zip_add(&z, "m/code/__torch__.py", code, strlen(code), 0, NULL);
    zip_add(&z, "m/constants.pkl", "\x80\2).", 4, 0, NULL);
    zip_add(&z, "m/version", version, strlen(version), 0, NULL);
    if (d->byteorder)
        zip_add(&z, "m/byteorder", d->byteorder, strlen(d->byteorder), 0, NULL);
    return zip_end(&z, true);
}

/* Loads and builds; what is wrong with it, or NULL. */
static const char *complaint(Ctx *cx, const Out *file)
{
    Zip *zip = NULL;
    Value root;
    if (kind_of(cx, source_memory(cx, file->p, file->n), &zip) != FILE_TORCHSCRIPT)
        fail_msg("%s", error_text(cx, "test", NULL)->s);
    Program *p = torchscript_load(cx, zip);
    return p && p->build_root(cx, p, &root) ? NULL : cx->error.text->s;
}

static void damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        Ctx *cx = ctx_new();
        Out file = archive_of(&damages[i]);
        const char *said = complaint(cx, &file);
        if (!said || strcmp(said, damages[i].message))
            fail_msg("expected: %s\ngot: %s", damages[i].message, said ? said : "no error");
        ctx_free(cx);
        out_free(&file);
    }
}

static void what_torch_reads_loads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(read_too); i++) {
        Ctx *cx = ctx_new();
        Out file = archive_of(&read_too[i]);
        const char *said = complaint(cx, &file);
        if (said)
            fail_msg("%zu: %s", i, said);
        ctx_free(cx);
        out_free(&file);
    }
}

static void undamaged_it_loads(void **state)
{
    Out file = archive_of(&(Damage){ 0 });
    assert_null(complaint(*state, &file));
    out_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_program),
        TEST(every_kind_of_value),
        TEST(modules_know_their_path),
        TEST(own_states_are_handed_over),
        TEST(weights_are_the_state_dict),
        TEST(storages_are_shared),
        TEST(each_evaluation_starts_from_the_file),
        TEST(positions_are_of_the_python_file),
        TEST(recorded_inputs_are_leaves),
        TEST(damage_is_named),
        TEST(what_torch_reads_loads),
        TEST(undamaged_it_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
