/* calls.h - a straight program of operator calls, described once and written as each kind of saved
 * program: a TorchScript archive, an exported graph, a trace in memory. */
#ifndef PT2ONNX_FUZZ_CALLS_H
#define PT2ONNX_FUZZ_CALLS_H

#include "fuzz/make/archives.h"
#include "ops/ops.h"

enum { CALLS = 8, PARAMS = 24, RESULTS = 4, CALL_INPUTS = 3, CALL_OUTPUTS = 3, LIST_ITEMS = 4 };

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

typedef struct Call {
    const Schema *schema;
    Given arg[PARAMS];
    uint32_t result[RESULTS]; /* numbers of values */
    uint32_t n_result;
    bool list; /* the results are members of one list */
} Call;

/* Values are numbered: inputs, the weight w, then results in order. */
typedef struct Calls {
    const InputType *in[CALL_INPUTS];
    uint32_t n_in, n_value;
    Call call[CALLS];
    uint32_t n_call;
    uint32_t out[CALL_OUTPUTS];
    uint32_t n_out;
} Calls;

Calls choose_calls(Choices *c);
/* A .pt, and -i SPECs for its inputs. */
Out calls_as_script(const Calls *p, char spec[CALL_INPUTS][48]);
Out calls_as_graph(const Calls *p);

#endif
