/* dim.h - what the files of dimensions share: the records, and expressions below the public names.
 * Nobody else includes it.
 *
 * dim.c makes expressions, dim_divide.c has division, modulo, min and max, dim_prove.c what is
 * known of one, dim_facts.c what was learnt, dim_text.c the language that they are written in,
 * dim_nodes.c the nodes that compute one. Functions here take expressions in which all replacements
 * are done (dim_now), the public ones any; those that make one return NULL after an error. */
#ifndef PT2ONNX_ONNX_DIM_H
#define PT2ONNX_ONNX_DIM_H

#include "onnx/internal.h"

typedef enum { D_SUM, D_SYM, D_DIV, D_MOD, D_MIN, D_MAX } Kind;

typedef struct Term {
    int64_t coef;
    uint32_t n;
    const Dim *atom;
} Term; /* atoms sorted by id; none: a constant */

struct DimRec {
    uint8_t kind;
    uint32_t id; /* in order of making */
    uint32_t hash;
    uint32_t levels; /* how deep, as a tree */
    struct Dims *owner;
    Dim self;          /* an atom as the one factor of its term */
    struct DimRec *is; /* an atom that a fact has replaced */
    Dim now;
    uint32_t now_epoch; /* the expression with all replacements done, as of that epoch */
    /* What was found out about it, as of `learned`: shared parts of a large expression are looked
     * at once. */
    int64_t lo, hi;
    uint32_t range_learned;
    bool nonneg, nonneg_always;
    uint32_t nonneg_learned;
    union {
        struct {
            uint32_t n;
            const Term *term;
        } sum;
        struct {
            uint32_t n;
            const Dim *arg;
        } of; /* DIV, MOD: 2; MIN, MAX: 2 or more, sorted by id */
        struct {
            Str name;
            int64_t lo, hi;
            bool fresh;      /* made by dim_fresh: the size of no input */
            int64_t example; /* dim_set_example's; -1: none, -2: several */
            Ox origin;
            int axis;
            struct DimRec *next; /* of those with this origin */
            Dim left, right;     /* a broadcast of these two; else NULL */
        } sym;
    };
};

/* A dimension is const outside src/onnx/dim, which writes down what is learnt about it. */
static inline struct DimRec *dim_record(Dim d) { return MUTABLE(struct DimRec, d); }

typedef struct Fact {
    Rel rel;
    Dim e;
} Fact; /* REL_LE: e >= 0. REL_NE: e != 0 */
/* A fact among those about the same product of atoms. */
typedef struct About {
    Dim e;         /* e >= 0 */
    uint32_t next; /* 1 + the next one's number; 0: it is the last */
} About;
typedef struct Pair {
    Dim a, b, result;
    uint32_t next; /* as of About: those with the same younger one of the two */
} Pair;            /* equal, or one is 1 */

/* What dim_scope_close undoes: a symbol's range, an atom's replacement. */
typedef struct Undo {
    struct DimRec *atom;
    bool is_range;
    int64_t lo, hi;
} Undo;
typedef struct Scope {
    size_t undo, facts, pairs;
    uint32_t first; /* ids from here on were made in it: what is learnt about those stays */
} Scope;

struct Dims {
    Ctx *cx;
    struct DimRec **slot;
    size_t n_slot, n;
    uint32_t next_id, epoch;
    uint32_t learned; /* counts facts and narrowed ranges, from 1: what was found out before may be
                         too little now */
    uint32_t closed; /* `learned` when a scope last ended: what was proven in one before may hold no
                        longer */
    int next_fresh;
    Map symbols; /* Str -> DimRec */
    VEC(Fact) facts;
    VEC(Pair) pairs;
    /* The first so many facts and pairs, as of sorted_epoch, by what they are about: a proof looks
     * at few of many. */
    size_t sorted_facts, sorted_pairs;
    uint32_t sorted_epoch;
    Map about, paired; /* a product, the younger of a pair -> 1 + the number of the newest */
    VEC(About) abouts;
    Map unequal; /* Dim -> not NULL: it is not 0 */
    VEC(Undo) undo;
    VEC(Scope) scopes;
    DimPin pin;
    Dim small[257]; /* 0..256 */
};

/* MAX_LEVELS: what walks an expression goes down all of it. */
enum { MAX_LEVELS = 5000 };
enum { MAX_TERMS = 256, MAX_DEGREE = 64, MAX_ARGS = 64, PROOF_DEPTH = 5, PROOF_BUDGET = 400 };
#define NO_LOW INT64_MIN

struct Dims *dims_of(Ctx *cx);

/* ---- dim.c ---- */

/* d as terms; one[0] is room for an atom. */
static inline const Term *dim_terms(Dim d, Term one[1], size_t *n)
{
    if (d->kind == D_SUM) {
        *n = d->sum.n;
        return d->sum.term;
    }
    one[0] = (Term){ 1, 1, &d->self };
    *n = 1;
    return one;
}

static inline bool dim_constant(Dim d, int64_t *v)
{
    if (d->kind != D_SUM || d->sum.n > 1 || (d->sum.n == 1 && d->sum.term->n))
        return false;
    *v = d->sum.n ? d->sum.term->coef : 0;
    return true;
}

static inline bool dim_is_value(Dim d, int64_t v)
{
    int64_t k;
    return dim_constant(d, &k) && k == v;
}

static inline int64_t floordiv(int64_t a, int64_t b) /* b > 0 */ { return a / b - (a % b < 0); }
static inline int64_t floormod(int64_t a, int64_t b) /* b > 0 */
{
    return a % b < 0 ? a % b + b : a % b;
}

const Dim *dim_copy_list(Ctx *cx, const Dim *d, uint32_t n);
Dim dim_make_sum(Ctx *cx, const Term *t,
                 size_t n); /* sorted terms of different monomials, none 0 */
Dim dim_make_atom(Ctx *cx, Kind kind, const Dim *arg, size_t n);
Dim dim_sum_terms(Ctx *cx, Term *t, size_t n);     /* any terms: sorted and joined in place */
Dim dim_overflow(Ctx *cx);                         /* the error; NULL */
Dim dim_combine(Ctx *cx, Dim a, int64_t k, Dim b); /* a + k*b */
/* The n terms of a + k*b, at most 2 * MAX_TERMS, without an expression for them; false: a number
 * does not fit into 64 bits. */
bool dim_merge(Dim a, int64_t k, Dim b, Term *t, size_t *n);
Dim dim_plus(Ctx *cx, Dim a, int64_t k);
Dim dim_times(Ctx *cx, Dim a, Dim b);
Dim dim_now(Dim d); /* with everything replaced that facts have replaced so far */
/* Nothing outside of the innermost scope has the atom, or there is no scope: a symbol that was made
 * in it. N//2 is the same number outside, wherever it was asked for first. */
bool dim_is_of_scope(const struct Dims *ds, Dim atom);
void dim_replace_atom(Dim atom, Dim by);

/* One level of an expression, for dim_nodes.c: what is done to which arguments. */
typedef enum {
    DIM_NUMBER,
    DIM_SYMBOL,
    DIM_TOTAL,
    DIM_FACTORS,
    DIM_QUOTIENT,
    DIM_REMAINDER,
    DIM_LEAST,
    DIM_GREATEST
} DimShape;
typedef struct DimView {
    DimShape shape;
    int64_t number;
    uint32_t n;
    const Dim *arg;
} DimView;
DimView dim_view(Ctx *cx, Dim d);
/* Is this symbol the broadcast of two dims, equal or one of them 1? */
bool dim_broadcast_of(Dim sym, Dim *a, Dim *b);

/* ---- dim_facts.c ---- */

/* The newest fact about t's product with this sign, and the one before; NULL: there is none. */
const About *dim_fact_about(Ctx *cx, const Term *t);
const About *dim_next_about(Ctx *cx, const About *a);
bool dim_is_unequal(Ctx *cx, Dim e);              /* is e != 0 a fact? */
const Pair *dim_find_pair(Ctx *cx, Dim a, Dim b); /* the first of these two; NULL: there is none */

/* ---- dim_divide.c ---- */

int64_t dim_common(
    Dim a,
    int64_t c); /* the greatest common divisor of c and a's coefficients, without its number */
bool dim_divide_exact(Ctx *cx, Dim a, Dim b, Dim *out);
Dim dim_floor_div(Ctx *cx, Dim a, Dim b);
Dim dim_modulo(Ctx *cx, Dim a, Dim b);
Dim dim_extreme(Ctx *cx, Kind kind, Dim a, Dim b); /* D_MIN or D_MAX */

/* ---- dim_prove.c ---- */

typedef struct {
    int64_t lo, hi;
} Range; /* NO_LOW and DIM_MAX stand for "no bound" */
static inline bool dim_unbounded(int64_t v) { return v == NO_LOW || v == DIM_MAX; }

Range dim_range_of(Dim d);
Range dim_range_atom(Dim d); /* by what it is, not by what was found out before */
Dim dim_without(Ctx *cx, Dim e, const Term *t); /* e less one of its terms */
Dim dim_difference(Ctx *cx, Dim a, Dim b);
bool dim_nonneg(Ctx *cx, Dim e);    /* proven to be 0 or more */
bool dim_is_free(Ctx *cx, Dim sym); /* a symbol that is proven equal to no other expression */
Tri dim_at_most(Ctx *cx, Dim a, Dim b);
Tri dim_equal(Ctx *cx, Dim a, Dim b);

#endif
