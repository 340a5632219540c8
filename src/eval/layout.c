/* layout.c - in which order the results of operators lie in memory.
 *
 * Whether `reshape` and `contiguous` give another view of their argument or a copy hangs on it, and
 * with it what a later write changes; so does what `as_strided` reads. A view's strides follow from
 * its base's (tensor.c). Here is what PyTorch's kernels make of a new tensor's: most are contiguous
 * where the arguments are, some never. What is not told is UNKNOWN, and a write that depends on it
 * is refused. tests/script/test_layouts.py has a case for each name. */
#include "eval/internal.h"

static bool is_one_of(Str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]);
        bool family = names[i][len - 1] == '*';
        if (family ? strncmp(name->s, names[i], len - 1) == 0 : str_is(name, names[i]))
            return true;
    }
    return false;
}

/* Operators whose result is contiguous whatever its arguments are. */
static bool always_contiguous(Str name)
{
    static const char *const names[] = {
        "aten::matmul",       "aten::linear",   "aten::bmm",        "aten::mm",
        "aten::addmm",        "aten::baddbmm",  "aten::layer_norm", "aten::embedding",
        "aten::index_select", "aten::gather",   "aten::new_ones",   "aten::new_zeros",
        "aten::new_full",     "aten::new_empty"
    };
    return is_one_of(name, names, COUNT(names));
}

/* Operators that lay their results out in an order of their own: matrices by columns, as LAPACK has
 * them; the transformed axis last; coordinates one after the other; batch_first as a transpose;
 * channels last. */
static bool has_own_order(Str name)
{
    static const char *const names[] = { "aten::cholesky*",
                                         "aten::geqrf",
                                         "aten::inverse",
                                         "aten::linalg_cholesky*",
                                         "aten::linalg_eig",
                                         "aten::linalg_eigh",
                                         "aten::_linalg_eigh",
                                         "aten::linalg_householder_product",
                                         "aten::linalg_inv*",
                                         "aten::linalg_ldl_*",
                                         "aten::linalg_lstsq",
                                         "aten::linalg_lu*",
                                         "aten::linalg_matrix_power",
                                         "aten::linalg_pinv",
                                         "aten::linalg_qr",
                                         "aten::linalg_solve*",
                                         "aten::_linalg_solve*",
                                         "aten::linalg_svd",
                                         "aten::_linalg_svd",
                                         "aten::linalg_tensorinv",
                                         "aten::linalg_tensorsolve",
                                         "aten::lu_*",
                                         "aten::_lu_with_info",
                                         "aten::matrix_power",
                                         "aten::orgqr",
                                         "aten::ormqr",
                                         "aten::pinverse",
                                         "aten::qr",
                                         "aten::svd",
                                         "aten::triangular_solve",
                                         "aten::fft_*",
                                         "aten::_fft_*",
                                         "aten::stft",
                                         "aten::istft",
                                         "aten::argwhere",
                                         "aten::nonzero",
                                         "aten::rot90",
                                         "aten::unique_dim",
                                         "aten::unique_consecutive",
                                         "aten::unique_dim_consecutive",
                                         "aten::einsum",
                                         "aten::lstm",
                                         "aten::gru",
                                         "aten::rnn_tanh",
                                         "aten::rnn_relu",
                                         "aten::scaled_dot_product_attention",
                                         "aten::_scaled_dot_product_*",
                                         "aten::empty_strided",
                                         "aten::new_empty_strided",
                                         "aten::empty_permuted",
                                         "quantized::conv*" };
    return is_one_of(name, names, COUNT(names));
}

/* Padding makes a new tensor, contiguous unless it has channels; what nothing is added to is a
 * clone. */
static bool is_padded(Str name, const OpArg *args, size_t n, const Tensor *result)
{
    bool pads = (str_is(name, "aten::pad") || str_is(name, "aten::constant_pad_nd")) && n >= 2 &&
        args[1].v.tag == V_LIST && !args[1].v.list->stacked;
    Type t = pads ? tensor_type(result) : NULL;
    bool more = false;
    for (int64_t i = 0; pads && i < args[1].v.list->n; i++)
        more = more || (args[1].v.list->at[i].v.tag == V_INT && args[1].v.list->at[i].v.i > 0);
    return more && t && t->rank >= 0 && t->rank < 4;
}

/* The memory format that the call asks for: -1 none, or that of its argument. */
static int64_t wanted_format(Str name, const OpArg *args, size_t n)
{
    enum { CONTIGUOUS, PRESERVE };
    for (size_t i = 0; i < n; i++)
        if (args[i].name && str_is(args[i].name, "memory_format") && args[i].v.tag == V_INT)
            return args[i].v.i == PRESERVE ? -1 : args[i].v.i;
    if (str_is(name, "aten::contiguous"))
        return n > 1 && args[1].v.tag == V_INT ? args[1].v.i : CONTIGUOUS;
    bool last = str_is(name, "aten::to") && n >= 5 &&
        args[n - 1].v.tag == V_INT; /* behind dtype or device, non_blocking, copy */
    return last && args[n - 1].v.i != PRESERVE ? args[n - 1].v.i : -1;
}

/* Do the axes lie in memory in their own order, but for those that stand still (after `expand`) or
 * have one element? A part of a contiguous tensor does. What an operator makes of such is
 * contiguous: TensorIterator orders its axes by the arguments' strides. */
static bool in_order(Ctx *cx, Tensor *t)
{
    Dim stride[MAX_RANK], one = dim_int(cx, 1);
    Type type = tensor_type(t);
    if (!tensor_strides(cx, t, stride))
        return false;
    for (int i = type->rank - 1, inner = -1; i >= 0; i--) {
        if (dim_is(stride[i], 0) || dim_eq(cx, type->dim[i], one) == YES)
            continue;
        Dim extent = inner < 0 ? one : dim_mul(cx, stride[inner], type->dim[inner]);
        if (!extent || dim_le(cx, extent, stride[i]) != YES)
            return false;
        inner = i;
    }
    return true;
}

static bool surely_contiguous(Ctx *cx, Tensor *t)
{
    return (t->contiguous == YES && !t->stride && !t->strides) || tensor_contiguous(cx, t) == YES;
}

static bool is_copy_with_a_part(Str name)
{
    size_t n = strlen(name->s);
    size_t tail = strlen("_scatter");
    return n > tail && strcmp(name->s + n - tail, "_scatter") == 0;
}

/* Are all tensors of v contiguous, or with `gaps` at least in order? */
static bool are_in_order(Ctx *cx, Value v, bool gaps)
{
    bool all = v.tag != V_TENSOR || surely_contiguous(cx, v.t) || (gaps && in_order(cx, v.t));
    for (int64_t i = 0; v.tag == V_LIST && !v.list->stacked && all && i < v.list->n; i++)
        all = are_in_order(cx, v.list->at[i].v, gaps);
    return all;
}

/* A new tensor's layout. */
static Tri layout_of(Eval *ev, Str name, const OpArg *args, size_t n, const Tensor *t)
{
    int64_t format = wanted_format(name, args, n);
    if (always_contiguous(name) || format == 0 || is_padded(name, args, n, t))
        return YES;
    if (format > 0 || has_own_order(name))
        return UNKNOWN;
    if (str_is(name, "aten::type_as") && n > 1)
        n = 1; /* the other one gives its type only */
    bool ordered = true;
    for (size_t i = 0; i < n && ordered; i++)
        ordered = are_in_order(ev->cx, args[i].v,
                               !is_copy_with_a_part(name)); /* a clone, which keeps gaps */
    return ordered ? YES : UNKNOWN;
}

void layout_of_results(Eval *ev, Str name, const OpArg *args, size_t n, Value v)
{
    for (int64_t i = 0; v.tag == V_TUPLE && i < v.tuple->n; i++)
        layout_of_results(ev, name, args, n, v.tuple->at[i]);
    for (int64_t i = 0; v.tag == V_LIST && !v.list->stacked && i < v.list->n; i++)
        layout_of_results(ev, name, args, n, v.list->at[i].v);
    if (v.tag != V_TENSOR || v.t->base || v.t->stride || v.t->strides || v.t->contiguous != YES)
        return;
    for (size_t i = 0; i < n; i++)
        if (args[i].v.tag == V_TENSOR && args[i].v.t->st == v.t->st)
            return; /* in place */
    v.t->contiguous = layout_of(ev, name, args, n, v.t);
}
