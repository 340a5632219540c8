/* symint.c - what a .pt2 computes with sizes and with numbers out of tensors: _operator.add,
 * math.trunc, torch.sym_max.
 *
 * Ints are dimensions as long as a dimension can say it; known numbers are computed here, in
 * double, as Python does; a float that is not known before the model runs is a 0-d double in the
 * graph. Python's rules: // and % round down, / gives a float, a bool counts as an int. */
#include "ops/internal.h"

#include <math.h>

typedef enum {
    N_ADD,
    N_SUB,
    N_MUL,
    N_FLOORDIV,
    N_TRUEDIV,
    N_MOD,
    N_POW,
    N_MIN,
    N_MAX,
    N_LSHIFT,
    N_RSHIFT
} Arith;
typedef enum { N_EQ, N_NE, N_LT, N_LE, N_GT, N_GE } Compare;
typedef enum { N_TRUNC, N_FLOOR, N_CEIL } Rounding;

enum { POWER_MAX = 64 };

/* ---- kinds of numbers ---- */

static bool is_int(Value v) { return v.tag == V_BOOL || v.tag == V_INT || v.tag == V_SYMINT; }

static bool known_float(Value v, double *out)
{
    if (v.tag != V_FLOAT && v.tag != V_INT && v.tag != V_BOOL)
        return false;
    if (v.tag == V_FLOAT)
        *out = v.f;
    else
        *out = v.tag == V_INT ? (double)v.i : (double)v.b;
    return true;
}

/* Any number as a 0-d double in the graph. */
static Ox as_double(Op *op, Value v)
{
    double f;
    Dim d;
    if (known_float(v, &f))
        return ox_number(op->g, DT_DOUBLE, f);
    if (v.tag == V_SYMFLOAT)
        return ox_cast(op->g, v.ox, DT_DOUBLE);
    if (v.tag == V_SYMBOOL)
        return ox_cast(op->g, symbool_ox(op->g, v.sb), DT_DOUBLE);
    if (val_dim_of(v, op->cx, &d))
        return ox_cast(op->g, ox_dim_value(op->g, d), DT_DOUBLE);
    return op_fail(op, E_VALUE, "a number is expected, not %s", val_kind(v));
}

/* A number that no dimension expression can be: computed by an operator on 0-d tensors. */
static Value of_tensors(Op *op, const char *name, Dim a, Dim b)
{
    Ox x = ox_dim_value(op->g, a);
    Ox y = ox_dim_value(op->g, b);
    Value args[] = { val_tensor(op->cx, x), val_tensor(op->cx, y) };
    Value out = call_op(op, name, args, 2);
    return out.tag == V_TENSOR ? val_number_of(op->g, tensor_read(op->g, out.t)) : val_poison();
}

/* ---- arithmetic ---- */

static Value of_graph(Op *op, Arith what, Ox a, Ox b);

/* a ** b of ints: a product of dims where b is known and small, a shift for 2 ** b, else a node. A
 * negative power is a float; one of unknown sign is assumed not to be. */
static Value power_of_dim(Op *op, Dim a, Dim b)
{
    Ctx *cx = op->cx;
    int64_t n;
    if (dim_known(b, &n) && n < 0)
        return of_graph(op, N_POW, as_double(op, val_dim(cx, a)),
                        ox_number(op->g, DT_DOUBLE, (double)n));
    if (!dim_known(b, &n) && dim_le(cx, dim_int(cx, 0), b) != YES)
        note(cx, NOTE_ASSUMED, "%s is not negative: a power of it is an int then",
             dim_text(cx, b)->s);
    if (dim_is(a, 2) && !dim_known(b, NULL))
        return of_tensors(op, "aten::__lshift__", dim_int(cx, 1), b);
    if (!dim_known(b, &n) || n > POWER_MAX)
        return of_tensors(op, "aten::pow", a, b);
    Dim out = dim_int(cx, 1);
    while (n-- > 0)
        out = dim_mul(cx, out, a);
    return val_dim(cx, out);
}

/* a << n is a * 2^n; a >> n is a // 2^n */
static Value shift_of_dim(Op *op, Dim a, Dim b, bool left)
{
    int64_t n;
    if (!dim_known(b, &n) || n < 0 || n > 62)
        return of_tensors(op, left ? "aten::__lshift__" : "aten::__rshift__", a, b);
    Dim power = dim_int(op->cx, (int64_t)1 << n);
    return val_dim(op->cx, left ? dim_mul(op->cx, a, power) : dim_floordiv(op->cx, a, power));
}

static Value of_floats(Op *op, Arith what, double a, double b);

/* Arithmetic of two ints, known or not. A true division is a float. */
static Value of_dims(Op *op, Arith what, Dim a, Dim b)
{
    Ctx *cx = op->cx;
    switch (what) {
    case N_ADD:      return val_dim(cx, dim_add(cx, a, b));
    case N_SUB:      return val_dim(cx, dim_sub(cx, a, b));
    case N_MUL:      return val_dim(cx, dim_mul(cx, a, b));
    case N_FLOORDIV: return val_dim(cx, dim_floordiv(cx, a, b));
    case N_MOD:      return val_dim(cx, dim_mod(cx, a, b));
    case N_MIN:      return val_dim(cx, dim_min(cx, a, b));
    case N_MAX:      return val_dim(cx, dim_max(cx, a, b));
    case N_POW:      return power_of_dim(op, a, b);
    case N_LSHIFT:   return shift_of_dim(op, a, b, true);
    case N_RSHIFT:   return shift_of_dim(op, a, b, false);
    case N_TRUEDIV:  break;
    }
    int64_t x, y;
    if (dim_known(a, &x) && dim_known(b, &y))
        return of_floats(op, N_TRUEDIV, (double)x, (double)y);
    Ox top = ox_cast(op->g, ox_dim_value(op->g, a), DT_DOUBLE);
    Ox bottom = ox_cast(op->g, ox_dim_value(op->g, b), DT_DOUBLE);
    return val_number_of(op->g, ox(op, "Div", top, bottom));
}

/* Python's %: the sign of b, of a zero too. */
static double mod_of(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

/* Arithmetic of two known numbers in double, as Python's floats. */
static Value of_floats(Op *op, Arith what, double a, double b)
{
    if (b == 0 && (what == N_FLOORDIV || what == N_TRUEDIV || what == N_MOD)) {
        fail(op->cx, E_VALUE, "division by zero");
        return val_poison();
    }
    switch (what) {
    case N_ADD:      return val_float(a + b);
    case N_SUB:      return val_float(a - b);
    case N_MUL:      return val_float(a * b);
    case N_FLOORDIV: return val_float(floor(a / b));
    case N_TRUEDIV:  return val_float(a / b);
    case N_MOD:      return val_float(mod_of(a, b));
    case N_POW:      return val_float(pow(a, b));
    case N_MIN:      return val_float(b < a ? b : a);
    case N_MAX:      return val_float(b > a ? b : a);
    case N_LSHIFT:
    case N_RSHIFT:   break;
    }
    fail(op->cx, E_VALUE, "a float cannot be shifted");
    return val_poison();
}

/* Arithmetic of two doubles that the model computes. */
static Value of_graph(Op *op, Arith what, Ox a, Ox b)
{
    static const char *const names[] = { [N_ADD] = "Add",     [N_SUB] = "Sub", [N_MUL] = "Mul",
                                         [N_TRUEDIV] = "Div", [N_POW] = "Pow", [N_MIN] = "Min",
                                         [N_MAX] = "Max" };
    if (what == N_LSHIFT || what == N_RSHIFT) {
        fail(op->cx, E_VALUE, "a float cannot be shifted");
        return val_poison();
    }
    if (what != N_FLOORDIV && what != N_MOD)
        return val_number_of(op->g, ox_make(op->g, names[what], INPUTS(a, b), NULL, 0));
    Ox floors = ox(op, "Floor", ox(op, "Div", a, b));
    if (what == N_FLOORDIV)
        return val_number_of(op->g, floors);
    return val_number_of(op->g, ox(op, "Sub", a, ox(op, "Mul", floors, b)));
}

static Value lower_arith(Op *op)
{
    Value a = arg_value(op, "a");
    Value b = arg_value(op, "b");
    Arith what = (Arith)op->row->datum;
    Dim x, y;
    double f, g;
    if (is_int(a) && is_int(b) && val_dim_of(a, op->cx, &x) && val_dim_of(b, op->cx, &y))
        return of_dims(op, what, x, y);
    if (known_float(a, &f) && known_float(b, &g))
        return of_floats(op, what, f, g);
    Ox left = as_double(op, a);
    Ox right = as_double(op, b);
    return of_graph(op, what, left, right);
}

static Value lower_neg(Op *op)
{
    Value a = arg_value(op, "a");
    Dim d;
    double f;
    if (is_int(a) && val_dim_of(a, op->cx, &d))
        return val_dim(op->cx, dim_sub(op->cx, dim_int(op->cx, 0), d));
    if (known_float(a, &f))
        return val_float(-f);
    return val_number_of(op->g, ox(op, "Neg", as_double(op, a)));
}

static Value lower_pos(Op *op) { return arg_value(op, "a"); }

/* ---- comparison and logic ---- */

static Value compare_floats(Compare what, double a, double b)
{
    switch (what) {
    case N_EQ: return val_bool(a == b);
    case N_NE: return val_bool(a != b);
    case N_LT: return val_bool(a < b);
    case N_LE: return val_bool(a <= b);
    case N_GT: return val_bool(a > b);
    case N_GE: return val_bool(a >= b);
    }
    return val_poison();
}

static Value compare_dims(Op *op, Compare what, Dim a, Dim b)
{
    switch (what) {
    case N_EQ: return val_rel(op->cx, REL_EQ, a, b);
    case N_NE: return val_rel(op->cx, REL_NE, a, b);
    case N_LT: return val_rel(op->cx, REL_LT, a, b);
    case N_LE: return val_rel(op->cx, REL_LE, a, b);
    case N_GT: return val_rel(op->cx, REL_LT, b, a);
    case N_GE: return val_rel(op->cx, REL_LE, b, a);
    }
    return val_poison();
}

static Value compare_staged(Op *op, Compare what, Ox a, Ox b)
{
    static const char *const names[] = { "Equal",       "Equal",   "Less",
                                         "LessOrEqual", "Greater", "GreaterOrEqual" };
    Ox out = ox_make(op->g, names[what], INPUTS(a, b), NULL, 0);
    return val_symbool(op->cx, what == N_NE ? ox(op, "Not", out) : out);
}

static Value lower_compare(Op *op)
{
    Value a = arg_value(op, "a");
    Value b = arg_value(op, "b");
    Compare what = (Compare)op->row->datum;
    Dim x, y;
    double f, g;
    if (is_int(a) && is_int(b) && val_dim_of(a, op->cx, &x) && val_dim_of(b, op->cx, &y))
        return compare_dims(op, what, x, y);
    if (known_float(a, &f) && known_float(b, &g))
        return compare_floats(what, f, g);
    Ox left = as_double(op, a);
    Ox right = as_double(op, b);
    return compare_staged(op, what, left, right);
}

/* A condition as a 0-d bool. */
static Ox as_bool(Op *op, Value v)
{
    if (v.tag == V_BOOL)
        return ox_bool(op->g, v.b);
    if (v.tag == V_SYMBOOL)
        return symbool_ox(op->g, v.sb);
    return op_fail(op, E_VALUE, "a condition is expected, not %s", val_kind(v));
}

/* and, or of conditions, bitwise & and | of ints. row->datum: 1 is or. A known condition decides
 * without a node: True or b is True, False or b is b. */
static Value lower_logic(Op *op)
{
    Value a = arg_value(op, "a");
    Value b = arg_value(op, "b");
    bool is_or = op->row->datum;
    Dim x, y;
    if (a.tag == V_INT && b.tag == V_INT)
        return val_int(is_or ? a.i | b.i : a.i & b.i);
    if (a.tag == V_BOOL && (b.tag == V_BOOL || b.tag == V_SYMBOOL))
        return a.b == is_or ? a : b;
    if (b.tag == V_BOOL && a.tag == V_SYMBOOL)
        return b.b == is_or ? b : a;
    if (is_int(a) && is_int(b) && val_dim_of(a, op->cx, &x) && val_dim_of(b, op->cx, &y))
        return of_tensors(op, is_or ? "aten::bitwise_or" : "aten::bitwise_and", x, y);
    Ox left = as_bool(op, a);
    Ox right = as_bool(op, b);
    if (!ox_ok(left) || !ox_ok(right))
        return val_poison();
    return is_or ? val_symbool(op->cx, ox(op, "Or", left, right)) : val_both(op->g, a, b);
}

static Value lower_not(Op *op)
{
    Value a = arg_value(op, "a");
    if (a.tag == V_BOOL)
        return val_bool(!a.b);
    return val_symbool(op->cx, ox(op, "Not", as_bool(op, a)));
}

/* t if b else f: one of both where b is known, else a Where. */
static Value lower_ite(Op *op)
{
    Value b = arg_value(op, "b");
    Value t = arg_value(op, "t");
    Value f = arg_value(op, "f");
    Dim x, y;
    if (b.tag == V_BOOL)
        return b.b ? t : f;
    Ox condition = as_bool(op, b);
    if (is_int(t) && is_int(f) && val_dim_of(t, op->cx, &x) && val_dim_of(f, op->cx, &y)) {
        Ox yes = ox_dim_value(op->g, x);
        Ox no = ox_dim_value(op->g, y);
        return val_number_of(op->g, ox(op, "Where", condition, yes, no));
    }
    Ox yes = as_double(op, t);
    Ox no = as_double(op, f);
    return val_number_of(op->g, ox(op, "Where", condition, yes, no));
}

/* ---- conversions ---- */

static Value lower_sym_float(Op *op)
{
    Value a = arg_value(op, "a");
    double f;
    if (known_float(a, &f))
        return val_float(f);
    return a.tag == V_SYMFLOAT ? a : val_number_of(op->g, as_double(op, a));
}

static double rounded(double f, Rounding how)
{
    switch (how) {
    case N_FLOOR: return floor(f);
    case N_CEIL:  return ceil(f);
    default:      return trunc(f);
    }
}

/* trunc, floor or ceil (row->datum) to an int, which a float beyond 64 bits has not. */
static Value lower_round(Op *op)
{
    Value x = arg_value(op, "x");
    Rounding how = (Rounding)op->row->datum;
    double f;
    if (is_int(x))
        return x;
    if (known_float(x, &f)) {
        f = rounded(f, how);
        if (f >= -0x1p63 && f < 0x1p63)
            return val_int((int64_t)f);
        fail(op->cx, E_VALUE, "a float that is beyond 64 bits, or not finite, becomes an int");
        return val_poison();
    }
    Ox v = as_double(op, x);
    if (how != N_TRUNC)
        v = ox_make(op->g, how == N_FLOOR ? "Floor" : "Ceil", INPUTS(v), NULL, 0);
    return val_number_of(op->g, ox_cast(op->g, v, DT_INT64)); /* Cast truncates */
}

static Value lower_sqrt(Op *op)
{
    Value a = arg_value(op, "a");
    double f;
    if (known_float(a, &f) && f >= 0)
        return val_float(sqrt(f));
    return val_number_of(op->g, ox(op, "Sqrt", as_double(op, a)));
}

/* ---- what a tensor is ---- */

static Value lower_sym_numel(Op *op)
{
    Ox x = arg(op, "self");
    if (!ox_ok(x))
        return val_poison();
    if (ox_rank(x) < 0)
        return val_number_of(op->g, ox(op, "Size", x));
    return val_dim(op->cx, type_numel(op->cx, x->type));
}

static Value lower_abs(Op *op)
{
    Value a = arg_value(op, "a");
    Dim d;
    double f;
    if (is_int(a) && val_dim_of(a, op->cx, &d))
        return val_dim(op->cx, dim_max(op->cx, d, dim_sub(op->cx, dim_int(op->cx, 0), d)));
    if (known_float(a, &f))
        return val_float(f < 0 ? -f : f);
    return val_number_of(op->g, ox(op, "Abs", as_double(op, a)));
}

/* 0 of a tensor that is no view. Where a view begins in its memory is not tracked. */
static Value lower_sym_storage_offset(Op *op)
{
    Tensor *t = arg_tensor(op, "self");
    if (t && t->base)
        return val_tensor(op->cx, op_refuse(op, "the place of a view in its memory is not known"));
    return t ? val_int(0) : val_poison();
}

static Value lower_sym_stride(Op *op)
{
    Tensor *t = arg_tensor(op, "self");
    Dim stride[MAX_RANK];
    int axis;
    int rank;
    if (!t || !need_rank(op, tensor_read(op->g, t), -1, &rank) || !arg_dim(op, "dim", rank, &axis))
        return val_poison();
    if (rank == 0)
        return no_dimensions(op, "dim");
    if (!tensor_strides(op->cx, t, stride))
        return val_tensor(op->cx, op_refuse(op, "the stride of this tensor is not known"));
    return val_dim(op->cx, stride[axis]);
}

#define ARITH(what, name) \
    CALL_FAMILY(lower_arith, what, NULL, PLAIN, name "(Scalar a, Scalar b) -> Scalar")
#define COMPARE(what, name) \
    CALL_FAMILY(lower_compare, what, NULL, PLAIN, name "(Scalar a, Scalar b) -> bool")

OP_ROWS(symint)
{
    ARITH(N_ADD, "_operator::add");
    ARITH(N_SUB, "_operator::sub");
    ARITH(N_MUL, "_operator::mul");
    ARITH(N_FLOORDIV, "_operator::floordiv");
    ARITH(N_TRUEDIV, "_operator::truediv");
    ARITH(N_MOD, "_operator::mod");
    ARITH(N_POW, "_operator::pow");
    ARITH(N_LSHIFT, "_operator::lshift");
    ARITH(N_RSHIFT, "_operator::rshift");
    ARITH(N_LSHIFT, "_operator::__lshift__");
    ARITH(N_RSHIFT, "_operator::__rshift__");
    ARITH(N_MIN, "torch::sym_min");
    ARITH(N_MAX, "torch::sym_max");
    COMPARE(N_EQ, "_operator::eq");
    COMPARE(N_NE, "_operator::ne");
    COMPARE(N_LT, "_operator::lt");
    COMPARE(N_LE, "_operator::le");
    COMPARE(N_GT, "_operator::gt");
    COMPARE(N_GE, "_operator::ge");
    CALL_FAMILY(lower_logic, false, NULL, PLAIN, "_operator::and_(Scalar a, Scalar b) -> Scalar");
    CALL_FAMILY(lower_logic, true, NULL, PLAIN, "_operator::or_(Scalar a, Scalar b) -> Scalar");
    CALL(lower_neg, NULL, PLAIN, "_operator::neg(Scalar a) -> Scalar");
    CALL(lower_abs, NULL, PLAIN, "_operator::abs(Scalar a) -> Scalar");
    CALL(lower_pos, NULL, PLAIN, "_operator::pos(Scalar a) -> Scalar");
    CALL(lower_not, NULL, PLAIN, "torch::sym_not(Scalar a) -> bool");
    CALL(lower_ite, NULL, PLAIN, "torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar");
    CALL(lower_sym_float, NULL, PLAIN, "torch::sym_float(Scalar a) -> float");
    CALL(lower_sqrt, NULL, PLAIN, "torch::_sym_sqrt(Scalar a) -> float");
    CALL_FAMILY(lower_round, N_TRUNC, NULL, PLAIN, "torch::sym_int(Scalar x) -> int");
    CALL_FAMILY(lower_round, N_TRUNC, NULL, PLAIN, "math::trunc(Scalar x) -> int");
    CALL_FAMILY(lower_round, N_FLOOR, NULL, PLAIN, "math::floor(Scalar x) -> int");
    CALL_FAMILY(lower_round, N_CEIL, NULL, PLAIN, "math::ceil(Scalar x) -> int");
    CALL(lower_sym_numel, NULL, PLAIN, "aten::sym_numel(Tensor self) -> SymInt");
    CALL(lower_sym_storage_offset, NULL, PLAIN, "aten::sym_storage_offset(Tensor self) -> SymInt");
    CALL(lower_sym_stride, NULL, PLAIN, "aten::sym_stride.int(Tensor self, int dim) -> SymInt");
}
