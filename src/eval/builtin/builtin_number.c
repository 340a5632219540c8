/* builtin_number.c - arithmetic and conversion of Python numbers. builtin_math.c has functions of
 * them, builtin_compare.c comparison and logic.
 *
 * Concrete numbers are computed here as C does: int64 that wraps, doubles. An int that depends
 * on a dynamic dimension stays a Dim; a float that does becomes nodes in double. Such a float is
 * looked through when it is turned back into an int: int(h / 2) is again a Dim, so shapes stay
 * readable. */
#include <math.h>

#include "eval/builtin/builtin.h"
#include "value/autograd.h"

Ox double_of(Graph *g, Value v)
{
    if (is_real(v))
        return ox_number(g, DT_DOUBLE, real_of(v));
    if (v.tag == V_SYMINT)
        return ox_cast(g, ox_dim_value(g, v.dim), DT_DOUBLE);
    if (v.tag == V_SYMBOOL)
        return ox_cast(g, symbool_ox(g, v.sb), DT_DOUBLE);
    return v.tag == V_SYMFLOAT ? ox_cast(g, v.ox, DT_DOUBLE) : POISON;
}

bool float_of_operator(Builtin *b, const char *operator_name, Value *out)
{
    OpArg *arg = new_array(b->cx, OpArg, b->n);
    if (!arg)
        return false;
    for (size_t i = 0; i < b->n; i++)
        arg[i] = (OpArg){ .v = val_tensor(b->cx, double_of(b->g, b->arg[i].v)) };
    *out = op_call(b->g, str_of(b->cx, operator_name), NULL, arg, b->n, NULL, 0);
    if (out->tag != V_TENSOR)
        return !ctx_failed(b->cx);
    return give_ox(b, tensor_read(b->g, out->t), out);
}

bool int_of_operator(Builtin *b, const char *operator_name, Value *out)
{
    OpArg arg[2];
    for (size_t i = 0; i < b->n; i++) {
        Dim d;
        if (i == COUNT(arg) || !val_dim_of(b->arg[i].v, b->cx, &d))
            return fail(b->cx, E_BUG, "%s is no function of two ints", b->row->name);
        arg[i] = (OpArg){ .v = val_tensor(b->cx, ox_dim_value(b->g, d)) };
    }
    *out = op_call(b->g, str_of(b->cx, operator_name), NULL, arg, b->n, NULL, 0);
    if (out->tag != V_TENSOR)
        return !ctx_failed(b->cx);
    return give_ox(b, tensor_read(b->g, out->t), out);
}

static bool give_dim(Builtin *b, Dim d, Value *out)
{
    *out = val_dim(b->cx, d);
    return d && !ctx_failed(b->cx);
}

/* ---- floats that are fractions of dims ---- */

/* Up to here, and as far below 0, a double has all ints, and the roundings of a few steps do not
 * reach from a fraction to the next int. */
#define EXACT_INT ((int64_t)1 << 50)

typedef struct Fraction {
    Dim num;
    int64_t den;
} Fraction;

static bool fraction_of(Ctx *cx, Ox v, int depth, Fraction *out);

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

/* Doubles have fractions of 2, 4, 8, .. as they are. */
static bool is_exact(Fraction a) { return is_power_of_two(a.den); }

/* Is a*k whole only where a is exact? Not 9/16000 * 48000, which is 27, and 26.99.. of doubles. */
static bool stays_whole(Fraction a, Fraction k)
{
    int64_t number;
    return is_exact(k) && dim_known(k.num, &number) && is_power_of_two(dim_gcd(a.den, number));
}

/* The result of Cast, Div, Mul, Add or Sub whose operands are fractions. */
static bool fraction_of_node(Ctx *cx, const Node *n, int depth, Fraction *out)
{
    Fraction a, b;
    int64_t k, den;
    if (node_is(n, "Cast"))
        return fraction_of(cx, n->in[0], depth, out);
    if (n->n_in != 2 || !fraction_of(cx, n->in[0], depth, &a) ||
        !fraction_of(cx, n->in[1], depth, &b))
        return false;
    if (node_is(n, "Div") && dim_known(b.num, &k) && k > 0 && mul_ok(a.den, k, &den)) {
        *out = (Fraction){ dim_mul(cx, a.num, dim_int(cx, b.den)), den };
        return true;
    }
    bool whole = (is_exact(a) && is_exact(b)) || stays_whole(a, b) || stays_whole(b, a);
    if (node_is(n, "Mul") && whole && mul_ok(a.den, b.den, &den)) {
        *out = (Fraction){ dim_mul(cx, a.num, b.num), den };
        return true;
    }
    if ((node_is(n, "Add") || node_is(n, "Sub")) && a.den == b.den && is_exact(a)) {
        *out = (Fraction){ node_is(n, "Add") ? dim_add(cx, a.num, b.num)
                                             : dim_sub(cx, a.num, b.num),
                           a.den };
        return true;
    }
    return false;
}

/* A double that is num/den, but for rounding: see fraction_of(). */
static bool rounded_fraction(Ctx *cx, Ox v, int depth, Fraction *out)
{
    double f;
    const Dim *item;
    int64_t n;
    if (depth > 8 || !ox_ok(v))
        return false;
    if (v->kind == OX_NODE)
        return ox_dtype(v) == DT_DOUBLE && fraction_of_node(cx, v->node, depth + 1, out);
    if (ox_items(v, &item, &n) && n == 1) {
        *out = (Fraction){ item[0], 1 };
        return true;
    }
    if (!v->graph && !ox_known_scalar(&(Graph){ .cx = cx }, v, &f))
        return false;
    for (int64_t den = 1; v->kind == OX_CONST && den <= 1024; den *= 2)
        if (f * (double)den == floor(f * (double)den) && fabs(f) < 1e12) {
            *out = (Fraction){ dim_int(cx, (int64_t)(f * (double)den)), den };
            return true;
        }
    return false;
}

/* A double that is num/den, exactly so where that is a fraction of 2, 4, 8, ..: sums, products and
 * quotients of dims and whole or dyadic constants. Only those: 0.1 is not 1/10, and float(2**53 +
 * 1) is not that number. So it rounds to the int that num/den rounds to. */
static bool fraction_of(Ctx *cx, Ox v, int depth, Fraction *out)
{
    return rounded_fraction(cx, v, depth, out) && out->num && dim_is_small(cx, out->num, EXACT_INT);
}

typedef enum { ROUND_FLOOR, ROUND_CEIL, ROUND_TRUNC } Rounding;

/* floor, ceil or int of a symbolic float: a Dim when it is a fraction of dims, else nodes. */
static bool round_symbolic(Builtin *b, Ox v, Rounding how, Value *out)
{
    static const char *const op[] = { [ROUND_FLOOR] = "Floor", [ROUND_CEIL] = "Ceil" };
    Fraction q;
    if (fraction_of(b->cx, v, 0, &q)) {
        Dim den = dim_int(b->cx, q.den);
        if (how == ROUND_CEIL)
            return give_dim(b, dim_ceildiv(b->cx, q.num, den), out);
        if (how == ROUND_FLOOR || q.den == 1 || dim_le(b->cx, dim_int(b->cx, 0), q.num) == YES)
            return give_dim(b, dim_floordiv(b->cx, q.num, den), out);
    }
    Ox rounded = how == ROUND_TRUNC ? v : ox_g(b->g, op[how], v);
    return give_ox(b, ox_cast(b->g, rounded, DT_INT64), out);
}

/* ---- conversions ---- */

static bool fits_int(double f) { return f >= -0x1p63 && f < 0x1p63; }

/* f as an int as C++ converts it: toward zero. A float that does not fit, or NaN, becomes the
 * smallest int. */
static int64_t int_of_double(double f) { return fits_int(f) ? (int64_t)f : INT64_MIN; }

static bool int_of_text(Builtin *b, Str s, Value *out)
{
    int64_t v;
    if (!parse_int(s->s, s->len, &v))
        return builtin_fail(b, "'%s' is no integer of 64 bits", s->s);
    *out = val_int(v);
    return true;
}

static bool float_of_text(Builtin *b, Str s, Value *out)
{
    const char *end;
    double v = parse_double(s->s, s->len, &end);
    if (s->len == 0 || end != s->s + s->len || end == s->s)
        return builtin_fail(b, "'%s' is no number", s->s);
    *out = val_float(v);
    return true;
}

/* int(v): toward zero */
static bool number_to_int(Builtin *b, Value v, Value *out)
{
    switch (v.tag) {
    case V_INT:
    case V_SYMINT:   *out = v; return true;
    case V_BOOL:     *out = val_int(v.b); return true;
    case V_FLOAT:    *out = val_int(int_of_double(v.f)); return true;
    case V_SYMFLOAT: return round_symbolic(b, v.ox, ROUND_TRUNC, out);
    case V_SYMBOOL:  return give_ox(b, ox_cast(b->g, symbool_ox(b->g, v.sb), DT_INT64), out);
    case V_STR:      return int_of_text(b, v.s, out);
    default:         return builtin_fail(b, "int() does not take %s", val_kind(v));
    }
}

static bool number_to_float(Builtin *b, Value v, Value *out)
{
    switch (v.tag) {
    case V_FLOAT:
    case V_SYMFLOAT: *out = v; return true;
    case V_INT:
    case V_BOOL:     *out = val_float(real_of(v)); return true;
    case V_COMPLEX:  *out = val_float(v.c[0]); return true;
    case V_SYMINT:
    case V_SYMBOOL:  return give_ox(b, double_of(b->g, v), out);
    case V_STR:      return float_of_text(b, v.s, out);
    default:         return builtin_fail(b, "float() does not take %s", val_kind(v));
    }
}

/* bool(v); of a symbolic number the relation v != 0. */
static bool number_to_bool(Builtin *b, Value v, Value *out)
{
    Dim d;
    Tri t = val_truth(b->cx, v);
    if (t != UNKNOWN) {
        *out = val_bool(t == YES);
        return true;
    }
    if (v.tag == V_SYMBOOL) {
        *out = v;
        return true;
    }
    if (v.tag == V_SYMINT && val_dim_of(v, b->cx, &d)) {
        *out = val_rel(b->cx, REL_NE, d, dim_int(b->cx, 0));
        return true;
    }
    if (v.tag != V_SYMFLOAT)
        return builtin_fail(b, "bool() does not take %s", val_kind(v));
    *out = val_symbool(b->cx, ox_cast(b->g, v.ox, DT_BOOL));
    return !ctx_failed(b->cx);
}

/* A tensor of one element first becomes the number that it holds. */
static bool number_in(Builtin *b, Value v, Value *out)
{
    *out = v;
    if (v.tag != V_TENSOR)
        return true;
    Ox x = tensor_read(b->g, v.t);
    if (ox_ok(x) && ox_rank(x) > 0 &&
        dim_eq(b->cx, type_numel(b->cx, x->type), dim_int(b->cx, 1)) == NO)
        return builtin_fail(b, "only a tensor of one element can become a number; this one is %s",
                            type_text(b->cx, x->type)->s);
    *out = autograd_number(b->g, x);
    return !ctx_failed(b->cx);
}

static bool to_int(Builtin *b, Value *out)
{
    Value v;
    return number_in(b, b->arg[0].v, &v) &&
        (v.tag == V_POISON ? (*out = v, true) : number_to_int(b, v, out));
}

static bool to_float(Builtin *b, Value *out)
{
    Value v;
    return number_in(b, b->arg[0].v, &v) &&
        (v.tag == V_POISON ? (*out = v, true) : number_to_float(b, v, out));
}

static bool to_bool(Builtin *b, Value *out)
{
    Value v;
    return number_in(b, b->arg[0].v, &v) &&
        (v.tag == V_POISON ? (*out = v, true) : number_to_bool(b, v, out));
}

static bool to_complex(Builtin *b, Value *out)
{
    Value a = b->arg[0].v;
    Value im = arg_of(b, 1);
    if (a.tag == V_COMPLEX && b->n == 1) {
        *out = a;
        return true;
    }
    if (!is_real(a) || !(b->n < 2 || is_real(im)))
        return builtin_fail(b, "Complex does not take (%s, %s)", val_kind(a), val_kind(im));
    *out = val_complex(b->cx, real_of(a), b->n > 1 ? real_of(im) : 0);
    return true;
}

/* str(v). A value that only the running model knows is named in the text, or its type is; call.c
 * allows such texts in messages alone. */
static bool to_text(Builtin *b, Value *out)
{
    *out = val_str(val_text(b->cx, b->arg[0].v));
    return true;
}

/* ---- arithmetic ---- */

typedef enum {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_FLOORDIV,
    OP_REMAINDER,
    OP_DIV,
    OP_POW,
    OP_FMOD,
    OP_IEEE_REMAINDER,
    OP_ROUND_DIV,
    OP_MIN,
    OP_MAX,
    OP_ATAN2,
    OP_COPYSIGN,
    OP_LOG
} Arith;

static bool div_by_zero(Builtin *b) { return builtin_fail(b, "division by 0"); }

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static bool arith_ints(Builtin *b, Arith op, int64_t x, int64_t y, Value *out)
{
    uint64_t ux = (uint64_t)x;
    uint64_t uy = (uint64_t)y;
    if (y == 0 && (op == OP_FLOORDIV || op == OP_REMAINDER || op == OP_ROUND_DIV))
        return div_by_zero(b);
    switch (op) {
    case OP_ADD:       *out = val_int((int64_t)(ux + uy)); return true;
    case OP_SUB:       *out = val_int((int64_t)(ux - uy)); return true;
    case OP_MUL:       *out = val_int((int64_t)(ux * uy)); return true;
    case OP_FLOORDIV:  *out = val_int(floor_div(x, y)); return true;
    case OP_REMAINDER: *out = val_int(floor_mod(x, y)); return true;
    case OP_ROUND_DIV: *out = val_int(y == -1 ? (int64_t)(0 - ux) : x / y); return true;
    case OP_MIN:       *out = val_int(x < y ? x : y); return true;
    case OP_MAX:       *out = val_int(x > y ? x : y); return true;
    default:           return builtin_fail(b, "no such operation on integers");
    }
}

/* One case for each operation on floats; y is the right operand. */
static bool arith_floats(Builtin *b, Arith op, double x, double y, Value *out)
{
    double r = 0;
    if (op == OP_POW && x == 0 && y < 0)
        return builtin_fail(b, "0.0 cannot be raised to a negative power");
    switch (op) {
    case OP_ADD:            r = x + y; break;
    case OP_SUB:            r = x - y; break;
    case OP_MUL:            r = x * y; break;
    case OP_DIV:            r = x / y; break;
    case OP_FLOORDIV:       r = floor(x / y); break;
    case OP_REMAINDER:      r = fmod(y + fmod(x, y), y); break;
    case OP_POW:            r = pow(x, y); break;
    case OP_FMOD:           r = fmod(x, y); break;
    case OP_IEEE_REMAINDER: r = remainder(x, y); break;
    case OP_MIN:            r = x < y ? x : y; break;
    case OP_MAX:            r = x > y ? x : y; break;
    case OP_ATAN2:          r = atan2(x, y); break;
    case OP_COPYSIGN:       r = copysign(x, y); break;
    case OP_LOG:            r = log(x) / log(y); break;
    case OP_ROUND_DIV:      return builtin_fail(b, "no such operation on floats");
    }
    *out = val_float(r);
    return true;
}

/* The operation on dimensions. Rounding toward zero is floor where no operand is negative. */
static bool arith_dims(Builtin *b, Arith op, Value *out)
{
    Ctx *cx = b->cx;
    Dim x, y, zero = dim_int(cx, 0);
    if (!val_dim_of(b->arg[0].v, cx, &x) || !val_dim_of(b->arg[1].v, cx, &y))
        return builtin_fail(b, "no such operation on these numbers");
    switch (op) {
    case OP_ADD: return give_dim(b, dim_add(cx, x, y), out);
    case OP_SUB: return give_dim(b, dim_sub(cx, x, y), out);
    case OP_MUL: return give_dim(b, dim_mul(cx, x, y), out);
    case OP_FLOORDIV:
        return dim_is(y, 0) ? div_by_zero(b) : give_dim(b, dim_floordiv(cx, x, y), out);
    case OP_REMAINDER: return dim_is(y, 0) ? div_by_zero(b) : give_dim(b, dim_mod(cx, x, y), out);
    case OP_MIN:       return give_dim(b, dim_min(cx, x, y), out);
    case OP_MAX:       return give_dim(b, dim_max(cx, x, y), out);
    case OP_ROUND_DIV:
        if (dim_is(y, 0))
            return div_by_zero(b);
        if (dim_le(cx, zero, x) == YES && dim_lt(cx, zero, y) == YES)
            return give_dim(b, dim_floordiv(cx, x, y), out);
        Ox top = ox_dim_value(b->g, x);
        Ox bottom = ox_dim_value(b->g, y);
        return give_ox(b, ox_g(b->g, "Div", top, bottom),
                       out); /* ONNX's Div of ints rounds toward zero */
    default: return builtin_fail(b, "no such operation on these numbers");
    }
}

static Ox fmod_ox(Graph *g, Ox x, Ox y)
{
    return ox_g_with(g, "Mod", INPUTS(x, y), INT("fmod", 1));
}

/* The remainder with the sign of y, in the same steps as arith_floats computes it. */
static Ox remainder_ox(Graph *g, Ox x, Ox y)
{
    Ox shifted = ox_g(g, "Add", y, fmod_ox(g, x, y));
    return fmod_ox(g, shifted, y);
}

/* min(x, y) or max(x, y) as Python has them: where x is NaN this gives y, while ONNX's Min and
 * Max give NaN. */
static Ox lesser_or_greater_ox(Graph *g, Ox x, Ox y, const char *relation)
{
    Ox first = ox_g(g, relation, x, y);
    return ox_g(g, "Where", first, x, y);
}

/* The operation on floats of which one is symbolic: nodes that compute in double, as PyTorch does.
 */
static bool arith_nodes(Builtin *b, Arith op, Value *out)
{
    static const char *const names[] = {
        [OP_ADD] = "Add", [OP_SUB] = "Sub", [OP_MUL] = "Mul", [OP_DIV] = "Div", [OP_POW] = "Pow"
    };
    if (op == OP_ATAN2 || op == OP_COPYSIGN)
        return float_of_operator(b, b->row->name, out);
    Ox x = double_of(b->g, b->arg[0].v);
    Ox y = double_of(b->g, b->arg[1].v);
    if (op == OP_REMAINDER)
        return give_ox(b, remainder_ox(b->g, x, y), out);
    if (op == OP_FLOORDIV)
        return give_ox(b, ox_g(b->g, "Floor", ox_g(b->g, "Div", x, y)), out);
    if (op == OP_FMOD)
        return give_ox(b, fmod_ox(b->g, x, y), out);
    if (op == OP_MIN || op == OP_MAX)
        return give_ox(b, lesser_or_greater_ox(b->g, x, y, op == OP_MIN ? "Less" : "Greater"), out);
    if (op == OP_LOG)
        return give_ox(b, ox_g(b->g, "Div", ox_g(b->g, "Log", x), ox_g(b->g, "Log", y)), out);
    if ((size_t)op >= COUNT(names) || !names[op])
        return fail(b->cx, E_UNSUPPORTED, "%s of numbers that are only known when the model runs",
                    b->row->name);
    return give_ox(b, ox_g(b->g, names[op], x, y), out);
}

/* add sub mul floordiv remainder min max: ints stay ints */
static bool arith(Builtin *b, Value *out)
{
    Arith op = (Arith)b->row->datum;
    Value x = b->arg[0].v;
    Value y = b->arg[1].v;
    if (all_int(b))
        return any_symbolic(b) ? arith_dims(b, op, out) : arith_ints(b, op, x.i, y.i, out);
    return any_symbolic(b) ? arith_nodes(b, op, out)
                           : arith_floats(b, op, real_of(x), real_of(y), out);
}

/* div pow fmod ..: always a float */
static bool arith_float(Builtin *b, Value *out)
{
    Arith op = (Arith)b->row->datum;
    return any_symbolic(b) ? arith_nodes(b, op, out)
                           : arith_floats(b, op, real_of(b->arg[0].v), real_of(b->arg[1].v), out);
}

static bool negate(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    if (v.tag == V_INT)
        *out = val_int((int64_t)(0 - (uint64_t)v.i));
    else if (v.tag == V_FLOAT)
        *out = val_float(-v.f);
    else if (v.tag == V_COMPLEX)
        *out = val_complex(b->cx, -v.c[0], -v.c[1]);
    else if (v.tag == V_SYMINT)
        return give_dim(b, dim_sub(b->cx, dim_int(b->cx, 0), v.dim), out);
    else
        return give_ox(b, ox_g(b->g, "Neg", v.ox), out);
    return true;
}

static bool absolute(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    if (v.tag == V_INT)
        *out = val_int(v.i < 0 ? (int64_t)(0 - (uint64_t)v.i) : v.i);
    else if (v.tag == V_FLOAT)
        *out = val_float(fabs(v.f));
    else if (v.tag == V_COMPLEX)
        *out = val_float(hypot(v.c[0], v.c[1]));
    else if (v.tag == V_SYMINT)
        return give_dim(b, dim_max(b->cx, v.dim, dim_sub(b->cx, dim_int(b->cx, 0), v.dim)), out);
    else
        return give_ox(b, ox_g(b->g, "Abs", v.ox), out);
    return true;
}

/* floor(v) or ceil(v) as an int; of a float that is none an error, as in PyTorch. */
static bool floor_or_ceil(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    bool up = b->row->datum == ROUND_CEIL;
    if (is_int(v)) {
        *out = v;
        return true;
    }
    if (v.tag == V_SYMFLOAT)
        return round_symbolic(b, v.ox, (Rounding)b->row->datum, out);
    const char *name = up ? "ceil" : "floor";
    if (!isfinite(v.f))
        return builtin_fail(b, "%s of %s", name, isnan(v.f) ? "nan" : "infinity");
    double whole = up ? ceil(v.f) : floor(v.f);
    if (!fits_int(whole))
        return builtin_fail(b, "%s of a float that is no int of 64 bits", name);
    *out = val_int((int64_t)whole);
    return true;
}

/* round(v): half to even. The result is a float, also of an int. */
static bool round_number(Builtin *b, Value *out)
{
    Value v = b->arg[0].v;
    if (is_int(v))
        return number_to_float(b, v, out);
    if (v.tag == V_SYMFLOAT)
        return give_ox(b, ox_g(b->g, "Round", v.ox), out);
    *out = val_float(nearbyint(v.f));
    return true;
}

/* divmod of floats. The quotient is computed from the remainder, which has the sign of y, so it
 * may differ from x // y. */
static bool div_mod_floats(Builtin *b, Value *quotient, Value *rest)
{
    double x = real_of(b->arg[0].v);
    double y = real_of(b->arg[1].v);
    double r = fmod(x, y);
    r = r != 0 && (r < 0) != (y < 0) ? r + y : r;
    *quotient = val_float((x - r) / y);
    *rest = val_float(r);
    return true;
}

static bool div_mod_nodes(Builtin *b, Value *quotient, Value *rest)
{
    Graph *g = b->g;
    Ox x = double_of(g, b->arg[0].v);
    Ox y = double_of(g, b->arg[1].v);
    Ox zero = ox_number(g, DT_DOUBLE, 0);
    Ox r = fmod_ox(g, x, y);
    Ox signs = ox_g(g, "Xor", ox_g(g, "Less", r, zero), ox_g(g, "Less", y, zero));
    Ox some = ox_g(g, "Not", ox_g(g, "Equal", r, zero));
    Ox shifted = ox_g(g, "Add", r, y);
    r = ox_g(g, "Where", ox_g(g, "And", some, signs), shifted, r);
    Ox whole = ox_g(g, "Sub", x, r);
    return give_ox(b, ox_g(g, "Div", whole, y), quotient) && give_ox(b, r, rest);
}

/* divmod of an int and a float. PyTorch computes in float32, and the remainder from the quotient
 * in one fused step; of a float that is no int of 64 bits it gives what its C++ happens to give. */
static bool div_mod_mixed(Builtin *b, Value *quotient, Value *rest)
{
    double left = real_of(b->arg[0].v);
    double right = real_of(b->arg[1].v);
    if (!fits_int(left) || !fits_int(right))
        return builtin_fail(b, "divmod() of an int and a float that is no int of 64 bits");
    float x = (float)left;
    float y = (float)right;
    if (y == 0)
        return div_by_zero(b);
    float whole = floorf(x / y);
    *quotient = val_float(whole);
    *rest = val_float(fmaf(-whole, y, x));
    return true;
}

static bool div_mod_mixed_nodes(Builtin *b, Value *quotient, Value *rest)
{
    Graph *g = b->g;
    Ox x = ox_cast(g, double_of(g, b->arg[0].v), DT_FLOAT);
    Ox y = ox_cast(g, double_of(g, b->arg[1].v), DT_FLOAT);
    Ox whole = ox_cast(g, ox_g(g, "Floor", ox_g(g, "Div", x, y)), DT_DOUBLE);
    Ox taken = ox_g(g, "Mul", whole, ox_cast(g, y, DT_DOUBLE));
    Ox left = ox_cast(g, ox_g(g, "Sub", ox_cast(g, x, DT_DOUBLE), taken), DT_FLOAT);
    return give_ox(b, whole, quotient) && give_ox(b, ox_cast(g, left, DT_DOUBLE), rest);
}

static bool div_mod_ints(Builtin *b, Value *quotient, Value *rest)
{
    Builtin parts = *b;
    BuiltinRow div = { .name = "aten::floordiv", .datum = OP_FLOORDIV };
    BuiltinRow mod = { .name = "aten::remainder", .datum = OP_REMAINDER };
    parts.row = &div;
    if (!arith(&parts, quotient))
        return false;
    parts.row = &mod;
    return arith(&parts, rest);
}

static bool div_mod(Builtin *b, Value *out)
{
    Value both[2], by = b->arg[1].v;
    if ((by.tag == V_FLOAT && by.f == 0) || (by.tag == V_INT && by.i == 0))
        return div_by_zero(b);
    static bool (*const of_floats[2][2])(Builtin *, Value *,
                                         Value *) = { { div_mod_floats, div_mod_nodes },
                                                      { div_mod_mixed, div_mod_mixed_nodes } };
    if (!(all_int(b) ? div_mod_ints : of_floats[any_is(b, is_int)][any_symbolic(b)])(b, &both[0],
                                                                                     &both[1]))
        return false;
    *out = val_tuple(b->cx, both, 2);
    return true;
}

/* ---- complex ---- */

typedef struct Pair {
    double re, im;
} Pair;

static Pair pair_of(Value v)
{
    return v.tag == V_COMPLEX ? (Pair){ v.c[0], v.c[1] } : (Pair){ real_of(v), 0 };
}

static bool complex_arith(Builtin *b, Value *out)
{
    Pair x = pair_of(b->arg[0].v);
    Pair y = pair_of(b->arg[1].v);
    double d = y.re * y.re + y.im * y.im;
    switch ((Arith)b->row->datum) {
    case OP_ADD: *out = val_complex(b->cx, x.re + y.re, x.im + y.im); return true;
    case OP_SUB: *out = val_complex(b->cx, x.re - y.re, x.im - y.im); return true;
    case OP_MUL:
        *out = val_complex(b->cx, x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
        return true;
    case OP_DIV:
        *out = val_complex(b->cx, (x.re * y.re + x.im * y.im) / d, (x.im * y.re - x.re * y.im) / d);
        return true;
    default: return fail(b->cx, E_UNSUPPORTED, "%s of complex numbers", b->row->name);
    }
}

/* ---- loops over ranges ---- */

/* The number of iterations of range(start, end, step), where the running model knows a bound. */
static bool dynamic_range_length(Builtin *b, Value *out)
{
    Ctx *cx = b->cx;
    Dim lo, hi, step, none = dim_int(cx, 0);
    if (!val_dim_of(b->arg[0].v, cx, &lo) || !val_dim_of(b->arg[1].v, cx, &hi) ||
        !val_dim_of(b->arg[2].v, cx, &step) || dim_is(step, INT64_MIN))
        return builtin_fail(b, "range() of values that are no ints");
    if (dim_is(step, 0))
        return builtin_fail(b, "range() with step 0");
    bool forth = dim_lt(cx, none, step) == YES;
    if (!forth && dim_lt(cx, step, none) != YES) {
        fail(cx, E_UNSUPPORTED,
             "range() with a step of which only the running model knows whether it goes back");
        fail_hint(cx, "max(step, 1) says that it goes forth");
        return false;
    }
    Dim span = forth ? dim_sub(cx, hi, lo) : dim_sub(cx, lo, hi);
    Dim length = dim_ceildiv(cx, span, forth ? step : dim_sub(cx, none, step));
    return give_dim(b, length ? dim_max(cx, length, none) : NULL, out);
}

/* range(start, end, step) as the number of its iterations: of (7, 0, -2) it is 4. */
static bool range_length(Builtin *b, Value *out)
{
    int64_t step = b->arg[2].v.i;
    if (b->arg[0].v.tag != V_INT || b->arg[1].v.tag != V_INT || b->arg[2].v.tag != V_INT)
        return dynamic_range_length(b, out);
    if (step == 0)
        return builtin_fail(b, "range() with step 0");
    int64_t from = step > 0 ? b->arg[0].v.i : b->arg[1].v.i;
    int64_t to = step > 0 ? b->arg[1].v.i : b->arg[0].v.i;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    int64_t span;
    *out = val_int(0);
    if (from >= to)
        return true;
    if (!sub_ok(to, from, &span))
        return builtin_fail(b, "range() over more than 64 bits");
    *out = val_int((int64_t)(((uint64_t)span - 1) / stride + 1));
    return true;
}

/* start + i * step; of ints it wraps, as the operators do. */
static bool derive_index(Builtin *b, Value *out)
{
    Dim i, start, step;
    const OpArg *a = b->arg;
    if (a[0].v.tag == V_INT && a[1].v.tag == V_INT && a[2].v.tag == V_INT) {
        uint64_t way = (uint64_t)a[0].v.i * (uint64_t)a[2].v.i;
        *out = val_int((int64_t)((uint64_t)a[1].v.i + way));
        return true;
    }
    if (!val_dim_of(b->arg[0].v, b->cx, &i) || !val_dim_of(b->arg[1].v, b->cx, &start) ||
        !val_dim_of(b->arg[2].v, b->cx, &step))
        return builtin_fail(b, "an index that is no int");
    return give_dim(b, dim_add(b->cx, start, dim_mul(b->cx, i, step)), out);
}

#define ARITH(word, op) { .name = "aten::" word, .kinds = "nn", .fn = arith, .datum = op }
#define ARITH_FLOAT(word, op) \
    { .name = "aten::" word, .kinds = "nn", .fn = arith_float, .datum = op }
#define COMPLEX_ARITH(word, op) \
    { .name = "aten::" word, .kinds = "CC", .fn = complex_arith, .datum = op }
const BuiltinRow builtin_numbers[] = {
    { .name = "aten::Int", .kinds = "*", .fn = to_int },
    { .name = "aten::Float", .kinds = "*", .fn = to_float },
    { .name = "aten::Bool", .kinds = "*", .fn = to_bool },
    { .name = "aten::IntImplicit", .kinds = "T", .fn = to_int },
    { .name = "aten::FloatImplicit", .kinds = "T", .fn = to_float },
    { .name = "aten::Complex", .kinds = "*|*", .fn = to_complex },
    { .name = "aten::str", .kinds = "*", .fn = to_text },

    ARITH("add", OP_ADD),
    ARITH("sub", OP_SUB),
    ARITH("mul", OP_MUL),
    ARITH("floordiv", OP_FLOORDIV),
    ARITH("remainder", OP_REMAINDER),
    ARITH_FLOAT("div", OP_DIV),
    ARITH_FLOAT("pow", OP_POW),
    ARITH_FLOAT("fmod", OP_FMOD),
    ARITH_FLOAT("mathremainder", OP_IEEE_REMAINDER),
    ARITH_FLOAT("atan2", OP_ATAN2),
    ARITH_FLOAT("copysign", OP_COPYSIGN),
    ARITH_FLOAT("log", OP_LOG),
    { .name = "aten::__round_to_zero_floordiv", .kinds = "ii", .fn = arith, .datum = OP_ROUND_DIV },
    { .name = "prim::min", .kinds = "nn", .fn = arith, .datum = OP_MIN },
    { .name = "prim::max", .kinds = "nn", .fn = arith, .datum = OP_MAX },
    COMPLEX_ARITH("add", OP_ADD),
    COMPLEX_ARITH("sub", OP_SUB),
    COMPLEX_ARITH("mul", OP_MUL),
    COMPLEX_ARITH("div", OP_DIV),
    { .name = "aten::neg", .kinds = "n", .fn = negate },
    { .name = "aten::neg", .kinds = "c", .fn = negate },
    { .name = "prim::abs", .kinds = "n", .fn = absolute },
    { .name = "prim::abs", .kinds = "c", .fn = absolute },
    { .name = "aten::floor", .kinds = "n", .fn = floor_or_ceil, .datum = ROUND_FLOOR },
    { .name = "aten::ceil", .kinds = "n", .fn = floor_or_ceil, .datum = ROUND_CEIL },
    { .name = "aten::round", .kinds = "n", .fn = round_number },
    { .name = "aten::divmod", .kinds = "nn", .fn = div_mod },

    { .name = "aten::__range_length", .kinds = "iii", .fn = range_length },
    { .name = "aten::__derive_index", .kinds = "iii", .fn = derive_index },
    { 0 }
};
