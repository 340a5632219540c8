/* rules.h - the rule language: lowerings that are formulas, as text.
 *
 *     aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
 *         promote default(self, tensor1, tensor2)
 *         = Add(self, Mul(value, Mul(tensor1, tensor2)))
 *     onnx::HardSwish(X) before 14
 *         = Mul(X, HardSigmoid<alpha=1/6, beta=0.5>(X))
 *
 * A rule is a head (a PyTorch schema line, or an ONNX operator with `before N`; several heads may
 * share what follows), optional `kinds`, `promote`, `layout`, `derivative`, `function`, and one or
 * more alternatives `[when GUARD and GUARD] = EXPR`, tried in order; no matching alternative means
 * refuse, never fall through. EXPR: Op<attr=const, ..>(args), domain::Op<..>(args), NAME, number,
 * `let NAME = EXPR` before the `=`, (a, b) for several results, dtype(x), cast(x, dtype), like(c,
 * x) (a constant of x's type), rank(x). GUARD: float(x) int(x) bool(x) complex(x), rank(x) = 4,
 * const(axes), given(x) / none(x), name = literal, opset >= 20, not GUARD. Attributes are constant
 * expressions over numbers, strings, lists and non-tensor arguments. No loops, no recursion: that
 * is C. Used by ops (built-in and --rules files) and by tidy/legalise; tidy/find reads formulas
 * from right to left. Errors name file, line and column. Full grammar: docs/rules.md. */
#ifndef PT2ONNX_RULES_H
#define PT2ONNX_RULES_H

#include "onnx/onnx.h"

typedef enum {
    RV_NONE,
    RV_OX,
    RV_INT,
    RV_FLOAT,
    RV_BOOL,
    RV_STR,
    RV_INTS,
    RV_FLOATS,
    RV_OXS
} RuleTag;
typedef struct RuleVal {
    RuleTag tag;
    bool number; /* RV_OX: a number that the running model computes; as an input of an operator it
                    takes the type that a number known here would take */
    union {
        Ox ox;
        int64_t i;
        double f;
        bool b;
        Str s;
        struct {
            const int64_t *at;
            size_t n;
        } ints;
        struct {
            const double *at;
            size_t n;
        } floats;
        struct {
            const Ox *at;
            size_t n;
        } oxs;
    };
} RuleVal;

/* How a rule sees what it is applied to. false: no such name. */
typedef struct RuleEnv {
    Graph *g;
    int target; /* for `opset` guards */
    bool (*lookup)(void *arg, Str name, RuleVal *out);
    /* aten::NAME(args) in a derivative; NULL: any domain is a custom one */
    Ox (*call)(void *arg, Str name, const RuleVal *args, size_t n);
    void *arg;
    Ox like; /* numbers in EXPR take this one's dtype when an ONNX operator wants a tensor; NULL:
                the other operand's */
} RuleEnv;

typedef struct Rule {
    Str head;    /* the schema line as written, or "onnx::HardSwish" */
    Str promote; /* "default(self, other)" or NULL */
    Str kinds;   /* "plain complex" or NULL */
    Str layout;  /* "own", "contiguous" or NULL */
    Str domain,
        function; /* the function of which the rule is the body; NULL: its nodes replace the call */
    uint32_t kinds_at, promote_at, layout_at; /* places of these clauses in the text */
    struct Derivatives *derivatives;          /* the clauses `derivative`; NULL: none */
    bool users;    /* from a --rules file: a node that ONNX does not take is the user's error */
    bool own_name; /* the function is called as the operator */
    int before;    /* legal rules: applies to targets below this opset */
    const Str *params;
    size_t n_params; /* legal rules: names of inputs; attributes are visible by their own names */
    SourceId at;
    struct RuleBody *body; /* read when the rule is first applied */
    const Text *text;
    uint32_t start, end;
} Rule;
typedef VEC(Rule *) RuleList;

/* The heads of a whole text; rules are appended in order. False after an error that names file,
 * line and column. What a rule does is read when it is first applied: a run uses a few of a
 * thousand. */
MUST_USE bool rules_scan(Ctx *cx, const Text *text, RuleList *out);
MUST_USE bool rule_read(Ctx *cx, const Rule *rule);
/* Reads heads and bodies at once, for a text of a user, which may have errors. */
MUST_USE bool rules_parse(Ctx *cx, const Text *text, RuleList *out);
Str rule_place(Ctx *cx, const Rule *rule);                 /* "my.rules:3", the line of its head */
Str rule_position(Ctx *cx, const Rule *rule, uint32_t at); /* "my.rules:4:11" */
typedef enum { RULE_DONE, RULE_NO_MATCH, RULE_FAILED } RuleOutcome;
RuleOutcome rule_apply(const Rule *r, RuleEnv *env, Ox *out, size_t n_out);

/* ---- the rules of a text of our own, which the build has read and indexed ---- */

/* Rules of a text by name; each is read when it is first asked for. Without an index (names NULL)
 * only those are found that map_put has put under their name into `put`. */
typedef struct RuleSet {
    const Text *text;
    const NameTable *names;
    Map read; /* place of a head -> Rule */
    Map put;
} RuleSet;
RuleSet rule_set(Ctx *cx, const char *file, const char *text, const NameTable *names);
/* The rule of this place, which is of the set's text. NULL after an error. */
const Rule *rule_at(Ctx *cx, RuleSet *set, NameItem at);
/* NULL: there is none, or an error. */
const Rule *rule_named(Ctx *cx, RuleSet *set, const char *name, size_t len);

/* ---- derivatives: derivative self = Div(grad, Add(self, 1)) ---- */

/* Reads the clauses of a row that is no rule, "self = EXPR other = EXPR", into a rule that has only
 * these. NULL after an error. */
const Rule *rule_of_derivatives(Ctx *cx, const char *head, const char *text);
/* The gradient of one of its parameters; env knows `grad` and `result` beside the parameters.
 * RULE_NO_MATCH: there is none, *why is the reason, or NULL. */
RuleOutcome rule_derivative(const Rule *r, Str param, RuleEnv *env, Ox *out, Str *why);
/* The parameters in order of their clauses; NULL past the end. */
Str rule_derivative_of(const Rule *r, size_t i);

/* ---- read from right to left (rules_find.c): a graph has the formula, what is it? ----
 * forms: those for use in other rules, "one.of::square(X)". */

enum { RULE_PARAMS = 8 };
typedef struct RuleMatch {
    const Rule *rule;
    Ox result;             /* what the formula computes */
    Ox param[RULE_PARAMS]; /* the value of each parameter; NULL: the alternative has no such
                              parameter */
    Attr attr[RULE_PARAMS];
    size_t n_attr; /* attributes of the head's operator */
    const Ox *inner;
    size_t n_inner; /* values inside the formula, each as often as the formula uses it */
} RuleMatch;
/* Does one of r's alternatives match the first output of `root`? `accept` may refuse a match;
 * then the next one is tried. */
bool rule_find(const Rule *r, RuleSet *forms, const Node *root,
               bool (*accept)(void *arg, const RuleMatch *m), void *arg, RuleMatch *out);
/* Names of the operators that the outermost node of a match of r may have. The body of r is not
 * read for this. */
MUST_USE bool rule_roots(Ctx *cx, const Rule *r, RuleSet *forms, Map *names);

#endif
