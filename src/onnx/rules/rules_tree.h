/* rules_tree.h - what a rule's text becomes: made by rules.c, applied to values by
 * rules_apply.c, matched with them by rules_find.c. Included by these files alone. */
#ifndef PT2ONNX_ONNX_RULES_TREE_H
#define PT2ONNX_ONNX_RULES_TREE_H

#include "onnx/rules/rules.h"

typedef enum {
    N_INT,
    N_FLOAT,
    N_STR,
    N_BOOL,
    N_NONE,
    N_NAME,
    N_LIST,
    N_NEG,
    N_ARITH,
    N_CALL,
    N_DTYPE,
    N_RANK,
    N_CAST,
    N_LIKE
} TreeKind;

typedef struct Tree Tree;
typedef struct Setting {
    Str name;
    Tree *value;
} Setting;
struct Tree {
    TreeKind kind;
    uint32_t at; /* offset in the text */
    int64_t i;
    double f;       /* N_INT, N_FLOAT, N_BOOL; N_ARITH: i is the operator's character */
    Str s;          /* N_STR, N_NAME; N_CALL: the operator */
    Str domain, as; /* N_CALL: a custom one's, and what its result is like */
    Tree **arg;
    size_t n_arg;
    Setting *attr;
    size_t n_attr;
};

typedef enum {
    G_NOT,
    G_FLOAT,
    G_INT,
    G_BOOL,
    G_COMPLEX,
    G_CONST,
    G_GIVEN,
    G_NONE,
    G_NAN,
    G_EQ,
    G_NE,
    G_LT,
    G_LE,
    G_GT,
    G_GE
} GuardKind;
typedef struct Guard {
    GuardKind kind;
    struct Guard *inner;
    Tree *a, *b;
} Guard;
typedef struct Let {
    Str *name;
    size_t n_name;
    Tree *value;
} Let;
typedef struct Alternative {
    VEC(Guard *) guards;
    VEC(Let) lets;
    VEC(Tree *) results;
} Alternative;
/* `derivative self = EXPR`; a text in place of EXPR says why there is none. EXPR is read when a
 * gradient first asks for it: it is NULL until then, and begins at `start` in the text. */
typedef struct Derivative {
    Str param;
    Tree *value;
    uint32_t start;
} Derivative;
struct Derivatives {
    VEC(Derivative) at;
};
typedef VEC(Str) RuleTops;
MUST_USE bool derivative_read(Ctx *cx, const Rule *rule, Derivative *d);
/* The outermost operators of the rule's results, "Mul" or "one.of::square", and casts around
 * them. The rest of the results is not read. */
MUST_USE bool rule_tops(Ctx *cx, const Rule *rule, RuleTops *out);

struct RuleBody {
    VEC(Alternative) at;
    bool read;
    uint32_t start;
}; /* read: `at` has the alternatives that begin at `start` in the text */

/* a + b, a - b, a * b or a / b. */
double arith_result(char operator, double a, double b);
/* `a kind b`, for the kinds from G_EQ on. */
bool compare_numbers(GuardKind kind, double a, double b);

#endif
