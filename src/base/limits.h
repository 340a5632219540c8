/* limits.h - every limit on what a file may make us do, with its reason. One row each: the option's
 * name, the default, what it bounds. `--limit NAME=VALUE` raises one; a message about a limit names
 * it. */
#ifndef PT2ONNX_LIMITS_H
#define PT2ONNX_LIMITS_H

/*        enum          name          default          why this much */
#define PT2ONNX_LIMITS(X)                                                                         \
    X(LIMIT_RECORDS, "records", 1000000,                                                          \
      "records in an archive; a 100B model sharded per tensor has under 100,000")                 \
    X(LIMIT_NAME, "name", 4096, "bytes in one name; the longest module path seen has 200")        \
    X(LIMIT_DEPTH, "depth", 200,                                                                  \
      "nesting of expressions, blocks, pickled values, JSON and results; bounds the C stack")     \
    X(LIMIT_CALLS, "calls", 500,                                                                  \
      "depth of calls in the model's own code; PyTorch's own modules stay under 60")              \
    X(LIMIT_STEPS, "steps", 50000000,                                                             \
      "statements, operators, and values compared or copied; ends endless loops in about 10 s")   \
    X(LIMIT_UNROLL, "unroll", 50000,                                                              \
      "nodes that a loop of known iterations may unroll to; beyond it becomes a Loop where ONNX " \
      "can "                                                                                      \
      "say it")                                                                                   \
    X(LIMIT_NODES, "nodes", 5000000, "nodes in the graph; 48,000 is the largest real one seen")   \
    X(LIMIT_OBJECTS, "objects", 20000000, "pickled values")                                       \
    X(LIMIT_HEAP, "heap", 4294967296, "bytes of memory for everything but weights")               \
    X(LIMIT_TEXT, "text", 2147483647,                                                             \
      "bytes of one record of code, pickle or JSON; also bounds what a deflated one may grow to") \
    X(LIMIT_SECONDS, "seconds", 60,                                                               \
      "processor time without progress: reading, running, each pass, each weight written")        \
    X(LIMIT_OUTPUT, "output", 0,                                                                  \
      "bytes of weights that are written; 0: 256 MB, and 16 times what the file has")             \
    X(LIMIT_RESTARTS, "restarts", 64,                                                             \
      "evaluations, and 4 more for each input: each restart has learnt one new fact")

enum {
#define X(id, name, deflt, why) id,
    PT2ONNX_LIMITS(X)
#undef X
        LIMIT_COUNT
};
#endif
