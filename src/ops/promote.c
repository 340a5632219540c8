/* promote.c - PyTorch's type promotion.
 *
 * Categories: bool < int < float < complex. Operands fall into three groups - tensors with dims,
 * 0-d tensors, Python numbers (and tensors that carry the number flag). Within a group the common
 * type is promote_types of all; a lower group counts only when its category is higher than that of
 * the groups above. A Python float counts as float32, the default type; an int as int64. */
#include "ops/internal.h"

typedef enum { CAT_NONE, CAT_BOOL, CAT_INT, CAT_FLOAT, CAT_COMPLEX } Category;

static Category category(DType t)
{
    return t == DT_NONE       ? CAT_NONE
        : t == DT_BOOL        ? CAT_BOOL
        : dtype_is_int(t)     ? CAT_INT
        : dtype_is_complex(t) ? CAT_COMPLEX
                              : CAT_FLOAT;
}

static int signed_rank(DType t) /* by width; 0 for anything else */
{
    return t == DT_INT8 ? 1 : t == DT_INT16 ? 2 : t == DT_INT32 ? 3 : t == DT_INT64 ? 4 : 0;
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

static DType promote_floats(DType a, DType b)
{
    if (a == DT_DOUBLE || b == DT_DOUBLE)
        return DT_DOUBLE;
    bool small_a = a == DT_FLOAT16 || a == DT_BFLOAT16 || a == DT_FLOAT;
    bool small_b = b == DT_FLOAT16 || b == DT_BFLOAT16 || b == DT_FLOAT;
    return small_a && small_b
        ? DT_FLOAT
        : DT_NONE; /* float16 with bfloat16 too; float8 promotes with itself only */
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

/* The group above decides unless the one below is of a higher category. */
static DType combine(DType above, DType below)
{
    Category x = category(above);
    Category y = category(below);
    if (x == CAT_FLOAT && y == CAT_COMPLEX)
        return above == DT_DOUBLE ? DT_COMPLEX128 : DT_COMPLEX64;
    return x >= y ? above : below;
}

bool dtype_can_store(DType from, DType to) { return category(from) <= category(to); }

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

DType promote_values(OxList in)
{
    DType dims = DT_NONE;
    DType zero = DT_NONE;
    DType number = DT_NONE;
    for (size_t i = 0; i < in.n; i++) {
        if (!in.at[i] || !in.at[i]->type || in.at[i]->type->kind != T_TENSOR)
            continue;
        DType t = ox_dtype(in.at[i]);
        DType *group = ox_rank(in.at[i]) != 0 ? &dims
            : in.at[i]->kind == OX_CONST      ? &number
                                              : &zero;
        if (group == &number && t == DT_DOUBLE)
            t = DT_FLOAT; /* a Python float in a fragment: torch's default type */
        *group = promote_types(*group, t);
    }
    return combine(dims, combine(zero, number));
}

/* ---- the operands of a call ---- */

typedef struct Groups {
    DType dims, zero, number;
} Groups;

static void join(Op *op, DType *into, DType t)
{
    DType both = promote_types(*into, t);
    if (both == DT_NONE && t != DT_NONE)
        fail(op->cx, E_VALUE, "Promotion for %s and %s is not supported", torch_dtype_name(*into),
             torch_dtype_name(t));
    *into = both;
}

static DType default_of(Ctx *cx, DType t)
{
    return dtype_is_complex(t) ? DT_COMPLEX64
        : dtype_is_float(t)    ? dtype_default(cx)
        : dtype_is_int(t)      ? DT_INT64
                               : t;
}

static void count_tensor(Op *op, Groups *groups, Tensor *t)
{
    Type type = tensor_type(t);
    if (t->number)
        join(op, &groups->number, default_of(op->cx, type->dtype));
    else if (type->rank == 0)
        join(op, &groups->zero, type->dtype);
    else
        join(op, &groups->dims, type->dtype);
}

static void count(Op *op, Groups *groups, Value v)
{
    switch (v.tag) {
    case V_TENSOR:   count_tensor(op, groups, v.t); break;
    case V_BOOL:
    case V_SYMBOOL:  join(op, &groups->number, DT_BOOL); break;
    case V_INT:
    case V_SYMINT:   join(op, &groups->number, DT_INT64); break;
    case V_FLOAT:
    case V_SYMFLOAT: join(op, &groups->number, dtype_default(op->cx)); break;
    case V_COMPLEX:  join(op, &groups->number, DT_COMPLEX64); break;
    case V_TUPLE:
        for (int64_t i = 0; i < v.tuple->n; i++)
            count(op, groups, v.tuple->at[i]);
        break;
    default: break;
    }
}

/* As PyTorch's Scalar::to has it: a negative number of an unsigned type counts from its end. */
static bool fits(int64_t v, DType t)
{
    int bits = (int)dtype_size(t) * 8 - dtype_is_signed(t);
    if (!dtype_is_int(t) || bits >= 63)
        return true;
    int64_t beyond = INT64_C(1) << bits;
    return v < beyond && v >= (dtype_is_signed(t) ? -beyond : 1 - beyond);
}

/* A number in the place of a tensor wraps around: uint8 == 256 asks for 0. Any other has to fit. */
static Ox int_number(Op *op, const Param *p, int64_t v, DType t)
{
    bool operand = str_is(p->name, "self") || str_is(p->name, "other");
    if (!operand && !fits(v, t))
        return op_fail(op, E_VALUE, "value %lld cannot be converted to type %s without overflow",
                       (long long)v, torch_dtype_name(t));
    return t == DT_BOOL ? ox_bool(op->g, v != 0) : ox_integer(op->g, t, v);
}

/* The value of p as a tensor of type t; NULL for None. */
static Ox as_type(Op *op, const Param *p, Value v, DType t)
{
    Graph *g = op->g;
    switch (v.tag) {
    case V_TENSOR: {
        Ox x = v.t == op->call->arg[0].t && op->base ? op->base : tensor_read(g, v.t);
        return ox_cast(g, dtype_is_complex(t) || t == DT_BOOL ? x : each_real(op, x),
                       t); /* dtype= asks for a real type */
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

/* The parameters that a column names. */
static bool column_params(Op *op, const char *column, int *out, int *n)
{
    const char *p = strchr(column, '(');
    *n = 0;
    for (Str name; p && (name = next_name(op->cx, &p));
         out[(*n)++] = param_index(op->call->schema, name))
        if (param_index(op->call->schema, name) < 0)
            return fail(op->cx, E_BUG, "'%s' names no parameter of %s", column,
                        op->call->schema->text->s);
    return true;
}

/* sum(x, dtype=..) and its like compute in the type that is asked for. */
static DType asked_dtype(Op *op)
{
    int i = param_index(op->call->schema, str_of(op->cx, "dtype"));
    return i >= 0 && op->call->schema->param[i].base == A_DTYPE ? arg_dtype(op, "dtype", DT_NONE)
                                                                : DT_NONE;
}

static DType column_type(Ctx *cx, const char *column, DType t)
{
    bool integral = dtype_is_int(t) || t == DT_BOOL;
    if (strncmp(column, "int-to-float", 12) == 0)
        return integral ? dtype_default(cx) : t;
    if (strncmp(column, "bool-to-long", 12) == 0)
        return integral ? DT_INT64 : t;
    return t;
}

bool column_check(Ctx *cx, const Schema *s, const char *column, Str place)
{
    static const char *const names[] = { "default", "int-to-float", "always-bool", "bool-to-long",
                                         "complex-to-float" };
    const char *p = strchr(column, '(');
    size_t n = p ? (size_t)(p - column) : 0;
    bool known = false;
    for (size_t i = 0; i < COUNT(names); i++)
        known |= n == strlen(names[i]) && strncmp(column, names[i], n) == 0;
    if (!known || column[strlen(column) - 1] != ')')
        return fail(cx, E_USAGE,
                    "%s: 'promote %s' is none of default(..), int-to-float(..), always-bool(..), "
                    "bool-to-long(..), complex-to-float(..)",
                    place->s, column);
    for (Str name; (name = next_name(cx, &p));)
        if (param_index(s, name) < 0)
            return fail(cx, E_USAGE, "%s: promote names no parameter '%s' of %s", place->s, name->s,
                        s->name->s);
    return true;
}

bool promote_args(Op *op, const char *column)
{
    const Schema *s = op->call->schema;
    int *params = new_array(op->cx, int, strlen(column)), n; /* a user's rule may name any number */
    Groups groups = { 0 };
    if (!params || !column_params(op, column, params, &n))
        return false;
    for (int i = 0; i < n; i++)
        count(op, &groups, op->call->arg[params[i]]);
    DType asked = asked_dtype(op);
    op->common = asked
        ? asked
        : column_type(op->cx, column, combine(groups.dims, combine(groups.zero, groups.number)));
    if (ctx_failed(op->cx))
        return false;
    op->promoted = new_array(op->cx, Ox, s->n_param + 1);
    op->promoted_list = new_array(op->cx, Oxs, s->n_param + 1);
    for (int i = 0; i < n; i++) {
        Value v = op->call->arg[params[i]];
        if (v.tag == V_TUPLE ? !make_list(op, params[i], v)
                             : (op->promoted[params[i]] = as_type(op, &s->param[params[i]], v,
                                                                  op->common)) == POISON)
            return false;
    }
    return true;
}
