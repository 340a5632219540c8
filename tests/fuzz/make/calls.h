/* calls.h - a program of operator calls, branches and loops, described once and written as each
 * kind of saved program: a TorchScript archive, an exported graph, a trace in memory. */
#ifndef PT2ONNX_FUZZ_CALLS_H
#define PT2ONNX_FUZZ_CALLS_H

#include "fuzz/make/archives.h"
#include "fuzz/make/convert.h"
#include "ops/ops.h"

enum { STRAIGHT_CALLS = 8, BLOCK_STEPS = 8, NESTING = 2 };
/* Steps that are kept for what ends the blocks around a step. */
enum { BLOCK_ROOM = 8 };
enum { CALLS = 64, PARAMS = 24, RESULTS = 4, CALL_INPUTS = 3, CALL_OUTPUTS = 3, LIST_ITEMS = 4 };
enum { SEEN = CALL_INPUTS + 1 + CALLS * RESULTS };

typedef struct InputType {
    int pt2, onnx; /* numbers of its element type in a .pt2, in ONNX */
    const char *name;
    size_t rank;
    int64_t size[4];
} InputType;

typedef enum {
    GIVEN_DEFAULT, /* left out */
    GIVEN_NONE,
    GIVEN_TENSOR, /* i: the number of a value */
    GIVEN_INT,
    GIVEN_FLOAT,
    GIVEN_BOOL,
    GIVEN_STR,
    GIVEN_DTYPE, /* i: c10's number, as of the next two */
    GIVEN_FORMAT,
    GIVEN_LAYOUT,
    GIVEN_DEVICE,
} GivenKind;

typedef struct Given {
    GivenKind kind; /* of a list, what its items are */
    bool is_list;
    size_t n; /* items of a list */
    int64_t i[LIST_ITEMS];
    double f[LIST_ITEMS];
    const char *s;
} Given;

typedef enum {
    STEP_CALL,
    STEP_IF, /* value[0]: the condition */
    STEP_ELSE,
    STEP_END_IF,
    STEP_WHILE, /* while result[0] < bound */
    STEP_END_WHILE,
} StepKind;

/* A call, or where a branch or the body of a loop begins or ends. A loop's results are also the
 * names of what it carries. */
typedef struct Call {
    StepKind kind;
    const Schema *schema;
    bool in_place; /* relu_ for relu */
    Given arg[PARAMS];
    uint32_t result[RESULTS]; /* numbers of values */
    uint32_t n_result;
    bool list;               /* the results are members of one list */
    uint32_t value[RESULTS]; /* what a branch, an iteration ends with */
    uint32_t from[RESULTS];  /* what a loop begins with */
    uint32_t bound;
    uint32_t operand[SEEN]; /* what a branch or a loop may use */
    uint32_t n_operand;
} Call;

/* Values are numbered: inputs, the weight w, then results in order. */
typedef struct Calls {
    const InputType *in[CALL_INPUTS];
    uint32_t n_in, n_value;
    uint32_t seen[SEEN]; /* what may be used at the end */
    uint32_t n_seen;
    Call call[CALLS];
    uint32_t n_call;
    struct {
        uint32_t first, last; /* steps: where it begins, and the branch before the open one */
    } open[NESTING];
    uint32_t n_open;
    uint32_t out[CALL_OUTPUTS];
    uint32_t n_out;
} Calls;

/* Calls one behind the other, which write nothing. */
Calls choose_calls(Choices *c);
/* Calls, many of which give views or write, in branches and loops. It grows step by step: each is
 * converted with all before it, and only what converts stays. */
Calls choose_blocks(Choices *c);
/* The name of a value, of an operator without its namespace; of the four, the one last asked for.
 */
const char *value_name(const Calls *p, uint32_t v);
const char *call_name(const Call *call);
/* A .pt, and -i SPECs for its inputs. */
Out calls_as_script(const Calls *p, char spec[CALL_INPUTS][48]);
Out calls_as_graph(const Calls *p);

/* What both kinds of file become, and how that ended. */
typedef struct BothModels {
    Out script, graph;
    pt2onnx_status of_script, of_graph;
} BothModels;
BothModels convert_both(const Calls *p, pt2onnx_options o);

#endif
