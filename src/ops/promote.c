/* promote.c - PyTorch's type promotion.
 *
 * Categories: bool < int < float < complex. Operands fall into three groups - tensors with dims,
 * 0-d tensors, Python numbers (and tensors that carry the number flag). Within a group the common
 * type is promote_types of all; a lower group counts only when its category is higher than that of
 * the groups above. A Python float counts as float32, the default type; an int as int64. */
#include "ops/internal.h"
#include "value/walk.h"

#include <math.h>

typedef enum { CAT_NONE, CAT_BOOL, CAT_INT, CAT_FLOAT, CAT_COMPLEX } Category;

static Category category(DType t)
{
    if (t == DT_NONE)
        return CAT_NONE;
    if (t == DT_BOOL)
        return CAT_BOOL;
    if (dtype_is_int(t))
        return CAT_INT;
    return dtype_is_complex(t) ? CAT_COMPLEX : CAT_FLOAT;
}

/* The signed int types by width, from 1; 0 for any other type. */
static int signed_rank(DType t)
{
    switch (t) {
    case DT_INT8:  return 1;
    case DT_INT16: return 2;
    case DT_INT32: return 3;
    case DT_INT64: return 4;
    default:       return 0;
    }
}

static DType promote_ints(DType a, DType b)
{
    int x = signed_rank(a);
    int y = signed_rank(b);
    if (x && y)
        return x > y ? a : b;
    if (a == DT_UINT8 && y)
        return y == 1 ? DT_INT16 : b;
    if (b == DT_UINT8 && x)
        return x == 1 ? DT_INT16 : a;
    return DT_NONE; /* uint16 and wider promote with nothing but floats, in PyTorch too */
}

/* Two different float types: float16 with bfloat16 is float32 too, float8 promotes with nothing but
 * double. */
static DType promote_floats(DType a, DType b)
{
    if (a == DT_DOUBLE || b == DT_DOUBLE)
        return DT_DOUBLE;
    bool small_a = a == DT_FLOAT16 || a == DT_BFLOAT16 || a == DT_FLOAT;
    bool small_b = b == DT_FLOAT16 || b == DT_BFLOAT16 || b == DT_FLOAT;
    return small_a && small_b ? DT_FLOAT : DT_NONE;
}

DType promote_types(DType a, DType b)
{
    if (a == b || b == DT_NONE)
        return a;
    if (a == DT_NONE)
        return b;
    Category x = category(a);
    Category y = category(b);
    if (x == CAT_COMPLEX || y == CAT_COMPLEX)
        return a == DT_COMPLEX128 || b == DT_COMPLEX128 || a == DT_DOUBLE || b == DT_DOUBLE
            ? DT_COMPLEX128
            : DT_COMPLEX64;
    if (x != y)
        return x > y ? a : b;
    return x == CAT_INT ? promote_ints(a, b) : promote_floats(a, b);
}

DType type_of_all(const Ox *at, size_t n)
{
    DType t = DT_NONE;
    for (size_t i = 0; i < n; i++)
        t = promote_types(t, ox_dtype(at[i]));
    return t;
}

bool one_type(Op *op, Ox *at, size_t n)
{
    DType t = type_of_all(at, n);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        at[i] = ox_cast(op->g, at[i], t);
        ok = ok && ox_ok(at[i]);
    }
    return ok;
}

/* The type of two groups: above's, unless below's category is higher. float32 tensors and an int64
 * number give float32; int32 tensors and a float number give the number's float32. */
static DType combine(DType above, DType below)
{
    Category x = category(above);
    Category y = category(below);
    if (x == CAT_FLOAT && y == CAT_COMPLEX)
        return above == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
    return x >= y ? above : below;
}

bool dtype_can_store(DType from, DType to) { return category(from) <= category(to); }

/* The name of a type in PyTorch's messages: "Long" for int64. */
const char *torch_dtype_name(DType t)
{
    static const char *const names[DT_COUNT] = {
        [DT_FLOAT] = "Float",
        [DT_UINT8] = "Byte",
        [DT_INT8] = "Char",
        [DT_UINT16] = "UInt16",
        [DT_INT16] = "Short",
        [DT_INT32] = "Int",
        [DT_INT64] = "Long",
        [DT_BOOL] = "Bool",
        [DT_FLOAT16] = "Half",
        [DT_DOUBLE] = "Double",
        [DT_UINT32] = "UInt32",
        [DT_UINT64] = "UInt64",
        [DT_COMPLEX64] = "ComplexFloat",
        [DT_COMPLEX128] = "ComplexDouble",
        [DT_BFLOAT16] = "BFloat16",
    };
    return names[t] ? names[t] : dtype_name(t);
}

bool need_kernel(Op *op, const char *kernel, DType t, bool has)
{
    return has ||
        fail(op->cx, E_VALUE, "\"%s\" not implemented for '%s'", kernel, torch_dtype_name(t));
}

/* The common types of the three groups of operands: tensors with dims, 0-d tensors, numbers. */
typedef struct Groups {
    DType dims, zero, number;
} Groups;

static DType common_type(Groups g) { return combine(g.dims, combine(g.zero, g.number)); }

/* The same of operands: a complex number among those of float16 makes complex32, which ONNX has no
 * parts for. */
static bool common_operands(Ctx *cx, Groups g, DType *out)
{
    *out = common_type(g);
    if (combine(g.dims, g.zero) == DT_FLOAT16 && category(g.number) == CAT_COMPLEX)
        return fail(cx, E_UNSUPPORTED, "complex numbers of float16 parts");
    return !ctx_failed(cx);
}

/* Count one value of a fragment of nodes. A 0-d constant is a Python number there, and a Python
 * float has torch's default type. */
static void count_operand(Groups *groups, Ox v)
{
    DType t = ox_dtype(v);
    if (ox_rank(v) != 0)
        groups->dims = promote_types(groups->dims, t);
    else if (v->kind != OX_CONST)
        groups->zero = promote_types(groups->zero, t);
    else
        groups->number = promote_types(groups->number, t == DT_DOUBLE ? DT_FLOAT : t);
}

DType promote_values(OxList in)
{
    Groups groups = { 0 };
    for (size_t i = 0; i < in.n; i++)
        if (in.at[i] && in.at[i]->type && in.at[i]->type->kind == T_TENSOR)
            count_operand(&groups, in.at[i]);
    return common_type(groups);
}

/* ---- the operands of a call ---- */

/* Make *into the common type of its group and t; fails with PyTorch's message where there is
 * none. */
static void join(Ctx *cx, DType *into, DType t)
{
    DType both = promote_types(*into, t);
    if (both == DT_NONE && t != DT_NONE)
        fail(cx, E_VALUE, "Promotion for %s and %s is not supported", torch_dtype_name(*into),
             torch_dtype_name(t));
    *into = both;
}

/* The type that a Python number of t's category has. */
static DType default_of(Ctx *cx, DType t)
{
    switch (category(t)) {
    case CAT_COMPLEX: return DT_COMPLEX64;
    case CAT_FLOAT:   return dtype_default(cx);
    case CAT_INT:     return DT_INT64;
    default:          return t;
    }
}

static void count_tensor(Ctx *cx, Groups *groups, Tensor *t)
{
    Type type = tensor_type(t);
    if (t->number)
        join(cx, &groups->number, default_of(cx, type->dtype));
    else if (type->rank == 0)
        join(cx, &groups->zero, type->dtype);
    else
        join(cx, &groups->dims, type->dtype);
}

typedef struct Counting {
    Ctx *cx;
    Groups *groups;
} Counting;

/* One operand joins its group; of a list each item does. */
static WalkStep count_in_groups(void *arg, Value v)
{
    Ctx *cx = ((Counting *)arg)->cx;
    Groups *groups = ((Counting *)arg)->groups;
    switch (v.tag) {
    case V_TENSOR:   count_tensor(cx, groups, v.t); break;
    case V_BOOL:
    case V_SYMBOOL:  join(cx, &groups->number, DT_BOOL); break;
    case V_INT:
    case V_SYMINT:   join(cx, &groups->number, DT_INT64); break;
    case V_FLOAT:
    case V_SYMFLOAT: join(cx, &groups->number, dtype_default(cx)); break;
    case V_COMPLEX:  join(cx, &groups->number, DT_COMPLEX64); break;
    case V_TUPLE:    return WALK_IN;
    default:         break;
    }
    return WALK_PAST;
}

static void count(Ctx *cx, Groups *groups, Value v)
{
    Counting c = { cx, groups };
    (void)val_walk_finds(cx, v, count_in_groups, &c);
}

bool result_type(Ctx *cx, const Value *at, size_t n, DType *out)
{
    Groups groups = { 0 };
    for (size_t i = 0; i < n; i++)
        count(cx, &groups, at[i]);
    return common_operands(cx, groups, out);
}

/* Is v in t's range, as PyTorch's Scalar::to sees it? An unsigned type takes negative numbers too,
 * which count from its end: -1 is 255 in uint8. */
static bool fits(int64_t v, DType t)
{
    int bits = (int)dtype_size(t) * 8 - dtype_is_signed(t);
    if (!dtype_is_int(t) || bits >= 63)
        return true;
    int64_t beyond = INT64_C(1) << bits;
    return v < beyond && v >= (dtype_is_signed(t) ? -beyond : 1 - beyond);
}

/* The int v as a tensor of type t. As an operand it wraps around: x == 256 of a uint8 x compares
 * with 0. As any other argument it has to fit. */
static Ox int_number(Op *op, const Param *p, int64_t v, DType t)
{
    bool operand = str_is(p->name, "self") || str_is(p->name, "other");
    if (!operand && !fits(v, t))
        return op_fail(op, E_VALUE, "value %lld cannot be converted to type %s without overflow",
                       (long long)v, torch_dtype_name(t));
    return t == DT_BOOL ? ox_bool(op->g, v != 0) : ox_integer(op->g, t, v);
}

/* The value of p as a tensor of type t; NULL for None. A complex tensor loses its imaginary part
 * where t is real, because dtype= asks for that. */
static Ox as_type(Op *op, const Param *p, Value v, DType t)
{
    Graph *g = op->g;
    switch (v.tag) {
    case V_TENSOR: {
        Ox x = v.t == op->call->arg[0].t && op->base ? op->base : tensor_read(g, v.t);
        bool keeps_parts = dtype_is_complex(t) || t == DT_BOOL;
        return ox_cast(g, keeps_parts ? x : each_real(op, x), t);
    }
    case V_BOOL:     return t == DT_BOOL ? ox_bool(g, v.b) : ox_integer(g, t, v.b);
    case V_INT:      return int_number(op, p, v.i, t);
    case V_FLOAT:    return ox_number(g, t, v.f);
    case V_COMPLEX:  return number_as(op, v, t);
    case V_SYMINT:   return ox_cast(g, ox_dim_value(g, v.dim), t);
    case V_SYMFLOAT: return ox_cast(g, v.ox, t);
    case V_SYMBOOL:  return ox_cast(g, symbool_ox(g, v.sb), t);
    case V_NONE:     return NULL;
    default:         return op_refuse(op, "%s operands are not supported here", val_kind(v));
    }
}

/* Promote parameter i, a list; None items stay NULL. */
static bool make_list(Op *op, int i, Value v)
{
    Oxs list = { 0 };
    for (int64_t k = 0; k < v.tuple->n; k++) {
        Ox x = as_type(op, &op->call->schema->param[i], v.tuple->at[k], op->common);
        if (x && !ox_ok(x))
            return false;
        vec_push(op->cx, &list, x);
    }
    op->promoted_list[i] = list;
    return true;
}

/* The next of the names between the parentheses of a column; NULL behind the last. */
static Str next_name(Ctx *cx, const char **column)
{
    const char *p = *column + strspn(*column, "(, ");
    size_t n = strcspn(p, ",) ");
    *column = p + n;
    return n ? str_n(cx, p, n) : NULL;
}

/* The indices of the parameters that a column names: default(self, other) of add gives 0 and 1.
 * out has room for as many as the column has characters. */
static bool column_params(Op *op, const char *column, int *out, int *n)
{
    const Schema *s = op->call->schema;
    const char *p = strchr(column, '(');
    *n = 0;
    if (!p)
        return true;
    for (;; (*n)++) {
        Str name = next_name(op->cx, &p);
        if (!name)
            return true;
        out[*n] = param_index(s, name);
        if (out[*n] < 0)
            return fail(op->cx, E_BUG, "'%s' names no parameter of %s", column, s->text->s);
    }
}

/* The type that dtype= asks for: sum(x, dtype=..) and its like compute in it. DT_NONE: none. */
static DType asked_dtype(Op *op)
{
    int i = param_named(op->call->schema, "dtype");
    if (i < 0 || op->call->schema->param[i].base != A_DTYPE)
        return DT_NONE;
    return arg_dtype(op, "dtype", DT_NONE);
}

/* "wide default(..)" -> "default(..)", and whether it was wide. */
static const char *without_wide(const char *column, bool *wide)
{
    *wide = strncmp(column, "wide ", 5) == 0;
    return *wide ? column + 5 : column;
}

/* Does float16 hold every size that this may be, without rounding? */
static bool is_small_size(Op *op, Dim d)
{
    int64_t least, most;
    dim_range(op->cx, d, &least, &most);
    return least >= -2048 && most <= 2048;
}

/* May float16 be no place for this number: is it infinite there, of fewer digits, or not known? */
static bool leaves_float16(Op *op, Value v)
{
    double number = 0;
    switch (v.tag) {
    case V_FLOAT:    number = v.f; break;
    case V_INT:      number = (double)v.i; break;
    case V_SYMINT:   return !is_small_size(op, v.dim);
    case V_SYMFLOAT: return true;
    case V_TENSOR:   {
        Type t = tensor_type(v.t);
        if (t->rank != 0 || t->dtype == DT_FLOAT16 || t->dtype == DT_BOOL)
            return false;
        if (!ox_known_scalar(op->g, tensor_read(op->g, v.t), &number))
            return true;
        break;
    }
    default: return false;
    }
    double size = fabs(number);
    return isfinite(size) && (size >= 65520 || (size > 0 && size < 0x1p-14));
}

/* What a column makes of the common type t: int-to-float(..) of int64 gives float32. */
static DType column_type(Ctx *cx, const char *column, DType t)
{
    bool integral = dtype_is_int(t) || t == DT_BOOL;
    if (strncmp(column, "int-to-float", 12) == 0)
        return integral ? dtype_default(cx) : t;
    if (strncmp(column, "bool-to-long", 12) == 0)
        return integral ? DT_INT64 : t;
    return t;
}

/* See internal.h: "default(self, other)" is a column of add; "defalt(self)" and "default(x)" are
 * errors at the place. */
bool column_check(Ctx *cx, const Schema *s, const char *column, Str place)
{
    static const char *const names[] = { "default", "int-to-float", "always-bool", "bool-to-long",
                                         "complex-to-float" };
    bool wide;
    const char *kind = without_wide(column, &wide);
    const char *p = strchr(kind, '(');
    size_t n = p ? (size_t)(p - kind) : 0;
    bool known = false;
    for (size_t i = 0; i < COUNT(names); i++)
        known |= n == strlen(names[i]) && strncmp(kind, names[i], n) == 0;
    if (!known || column[strlen(column) - 1] != ')')
        return fail(cx, E_USAGE,
                    "%s: 'promote %s' is none of default(..), int-to-float(..), always-bool(..), "
                    "bool-to-long(..), complex-to-float(..)",
                    place->s, column);
    for (;;) {
        Str name = next_name(cx, &p);
        if (!name)
            return true;
        if (param_index(s, name) < 0)
            return fail(cx, E_USAGE, "%s: promote names no parameter '%s' of %s", place->s, name->s,
                        s->name->s);
    }
}

/* Promote parameter i to op->common; false when it is poison then. */
static bool promote_one(Op *op, int i)
{
    Value v = op->call->arg[i];
    if (v.tag == V_TUPLE)
        return make_list(op, i, v);
    op->promoted[i] = as_type(op, &op->call->schema->param[i], v, op->common);
    return op->promoted[i] != POISON;
}

/* The type in which the operator computes: float32 where a wide column's second operand is a number
 * that float16 cannot hold. op->narrow is then what its result is rounded to. */
static DType computing_type(Op *op, DType t, bool wide, const int *params, int n)
{
    if (!wide || t != DT_FLOAT16 || n < 2 || !leaves_float16(op, op->call->arg[params[1]]))
        return t;
    op->narrow = t;
    return DT_FLOAT;
}

/* See internal.h. default(self, other) of an int32 tensor and 0.5: the common type is float32, and
 * op->promoted has a Cast of self and a constant. A user's rule may name any number of
 * parameters, so their list is allocated. */
bool promote_args(Op *op, const char *column)
{
    const Schema *s = op->call->schema;
    int n = 0;
    bool wide;
    const char *kind = without_wide(column, &wide);
    Groups groups = { 0 };
    int *params = new_array(op->cx, int, strlen(column));
    if (!params || !column_params(op, column, params, &n))
        return false;
    for (int i = 0; i < n; i++)
        count(op->cx, &groups, op->call->arg[params[i]]);
    DType asked = asked_dtype(op);
    DType common = asked;
    if (!asked && !common_operands(op->cx, groups, &common))
        return false;
    op->common = asked ? asked : column_type(op->cx, kind, common);
    if (!asked)
        op->common = computing_type(op, op->common, wide, params, n);
    op->promoted = new_array(op->cx, Ox, s->n_param + 1);
    op->promoted_list = new_array(op->cx, Oxs, s->n_param + 1);
    if (!op->promoted || !op->promoted_list || ctx_failed(op->cx))
        return false;
    for (int i = 0; i < n; i++)
        if (!promote_one(op, params[i]))
            return false;
    return true;
}
