/* describe_forms.c - what `pt2onnx ops` says of names that are no operators on tensors: the
 * builtins of the language, which are computed while a program is converted, and the forms of the
 * file formats (prim::If, higher_order::cond, assertions).
 *
 * The builtins are printed from their own table. The forms are recognised one by one by the readers
 * and the evaluator, so what they become is said here. */
#include "session.h"

/* refused: why nothing can be made of it. */
static const struct {
    const char *name, *what;
    bool refused;
} forms[] = {
    { "prim::If", "an if: the branch that is taken, or If where the model decides", false },
    { "prim::Loop", "a loop: unrolled, or Loop where the model decides", false },
    { "prim::Constant", "a constant of a trace graph", false },
    { "prim::ListConstruct", "a list", false },
    { "prim::ListUnpack", "the items of a list", false },
    { "prim::TupleConstruct", "a tuple", false },
    { "prim::TupleUnpack", "the items of a tuple", false },
    { "prim::Uninitialized", "a value that is never read", false },
    { "prim::unchecked_cast", "its argument", false },
    { "prim::PythonOp",
      "the call of an autograd.Function: its symbolic, or what the trace has recorded of it",
      false },
    { "prim::RaiseException",
      "raise: a branch that raises is not taken, and says what holds behind it", false },
    { "annotate", "its argument, as the type that is named", false },
    { "unchecked_cast", "its argument", false },
    { "uninitialized", "a value that is never read", false },
    { "isinstance", "decided while the model is converted", false },
    { "getattr", "an attribute, by a name that is no word", false },
    { "fork", "the call itself", false },
    { "aten::wait", "the result of the call that was forked", false },
    { "aten::_assert_tensor_metadata", "compared with the types that pt2onnx computes", false },
    { "aten::_assert_scalar", "dropped with a note: an assertion", false },
    { "aten::_assert_async", "dropped with a note: an assertion", false },
    { "aten::_functional_assert_scalar", "dropped with a note: an assertion", false },
    { "aten::_functional_assert_async", "dropped with a note: an assertion", false },
    { "aten::sym_constrain_range", "dropped with a note: an assertion", false },
    { "aten::sym_constrain_range_for_size", "dropped with a note: an assertion", false },
    { "higher_order::cond", "an if: the branch that is taken, or If", false },
    { "higher_order::while_loop", "Loop", false },
    { "higher_order::scan", "Scan's meaning, as a Loop or unrolled", false },
    { "higher_order::map_impl", "the body for each item, as a Loop or unrolled", false },
    { "higher_order::associative_scan", "as higher_order::scan", false },
    { "higher_order::wrap_with_set_grad_enabled", "the graph itself", false },
    { "higher_order::wrap_with_autocast", "the graph itself, with the casts of autocast", false },
    { "higher_order::invoke_subgraph", "the graph itself", false },
    { "higher_order::auto_functionalized_v2", "the operator that it holds, and what that writes",
      false },
    { "higher_order::with_effects", "the operator that it holds", false },
    { "_operator::getitem", "one of several results: read with the operator that gives them",
      false },
    { "prim::tolist", "the items of a tensor of known size, as numbers", false },
    { "prim::ConstantChunk",
      "aten::chunk, as a fuser writes it while a program runs: no file holds it", true },
    { "prim::ConstantSplit",
      "aten::split, as torch.onnx writes it in its own graph: no file holds it", true },
    { "onnx::Placeholder", "a mark in torch.onnx's own graph: no file holds it", true },
    { "aten::_floor_divide", "a function of torch.onnx, no operator", true },
    { "aten::get_pool_ceil_padding", "a function of torch.onnx, no operator", true },
    { "aten::getitem", "a function of torchlib, no operator", true },
    { "aten::scan", "a name in torch.onnx, no operator", true },
    { "torch._functorch.predispatch._add_batch_dim",
      "a sample of torch.vmap: one item along the dim, in an iteration of its loop", false },
    { "torch._functorch.predispatch._remove_batch_dim",
      "the samples of torch.vmap, stacked behind its loop", false },
    { "torch._functorch.predispatch._vmap_increment_nesting",
      "the beginning of torch.vmap: a Loop, or unrolled", false },
    { "torch._functorch.predispatch._vmap_decrement_nesting", "the end of torch.vmap's loop",
      false },
    { "torch._functorch.predispatch.lazy_load_decompositions",
      "dropped: it has no meaning in a file", false },
};

/* The type that a letter of a builtin's signature stands for (eval/builtin/builtin.h). */
static const char *kind_word(char kind)
{
    switch (kind) {
    case 'i':
    case 'I': return "int";
    case 'n':
    case 'N':
    case 'C': return "number";
    case 'f': return "float";
    case 'b':
    case 'B': return "bool";
    case 'c': return "complex";
    case 's': return "str";
    case 'l': return "list";
    case 'd': return "dict";
    case 't': return "tuple";
    case 'T': return "Tensor";
    case 'D': return "device";
    case 'e': return "enum";
    default:  return "any";
    }
}

/* "T|I?": (Tensor, int=None) */
static void put_builtin(Buf *out, const BuiltinInfo *b)
{
    bool optional = false;
    bool first = true;
    buf_fmt(out, "%s(", b->name);
    for (const char *k = b->kinds ? b->kinds : ""; *k; k++) {
        optional |= *k == '|';
        if (*k == '|' || *k == '?')
            continue;
        buf_str(out, first ? "" : ", ");
        buf_str(out, *k == '+' ? ".." : kind_word(*k));
        buf_str(out, optional || k[1] == '?' ? "=None" : "");
        first = false;
    }
    buf_str(out, ")");
}

static void list_builtins(Buf *out)
{
    BuiltinInfo b;
    const char *family = NULL;
    for (size_t i = 0; builtin_nth(i, &b); i++) {
        if (!family || strcmp(family, b.family) != 0)
            buf_fmt(out, "%s%s\n", family ? "        computed while the model is converted\n" : "",
                    b.family);
        family = b.family;
        buf_str(out, "    ");
        put_builtin(out, &b);
        buf_str(out, "\n");
    }
    buf_str(out, family ? "        computed while the model is converted\n" : "");
}

void describe_forms(Buf *out)
{
    list_builtins(out);
    buf_str(out, "forms\n");
    for (size_t i = 0; i < COUNT(forms); i++)
        buf_fmt(out, "    %s\n        %s%s\n", forms[i].name, forms[i].refused ? "refused: " : "",
                forms[i].what);
}

/* A word of the language (len, print) or an operator that the evaluator computes itself; a word may
 * name several rows of builtins. */
bool describe_form(const char *name, Buf *out)
{
    const char *op = builtin_of_word(name);
    const char *family = NULL;
    BuiltinInfo b;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (strcmp(forms[i].name, name) == 0) {
            buf_fmt(out, "%s\n    %s%s\n", name, forms[i].refused ? "refused: " : "",
                    forms[i].what);
            return true;
        }
    for (size_t i = 0; builtin_nth(i, &b); i++) {
        if (strcmp(b.name, op ? op : name) != 0)
            continue;
        family = b.family;
        put_builtin(out, &b);
        buf_str(out, "\n");
    }
    if (family)
        buf_fmt(out, "    a builtin of eval/builtin/%s.c: computed while the model is converted\n",
                family);
    return family != NULL;
}
