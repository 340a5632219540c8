/* tidy.c - the passes in order. A graph leaves the evaluator correct; these make it what a person would have written, and
 * legalise takes it to the target. */
#include "tidy/internal.h"

const Pass tidy_passes[] = {
    { "drop-identities", pass_drop_identities, "remove nodes that return their input" },
    { "drop-dead", pass_drop_dead, "remove nodes whose results nobody reads" },
    { "fuse-conv-bn", pass_fuse_conv_bn, "Conv then BatchNormalization -> Conv with computed weights" },
    { "join-transposes", pass_join_transposes, "Transpose(Transpose(x, p), q) -> Transpose(x, p*q)" },
    { "join-reshapes", pass_join_reshapes, "Reshape of a Reshape -> the last one" },
    { "fold-weights", pass_fold_weights, "nodes over weights alone -> weights computed when the file is written" },
    { "fuse-gemm", pass_fuse_gemm, "MatMul then Add of matrices -> Gemm" },
    { "materialise-dims", pass_materialise_dims, "sizes that an operator needs as numbers -> nodes" },
    { "drop-identities", pass_drop_identities, "remove nodes that return their input, once more" },
    { "drop-dead", pass_drop_dead, "remove nodes whose results nobody reads, once more" },
    { "legalise", legalise, "take the newest form down to the target opset and to types it runs" },
    { "drop-dead", pass_drop_dead, "remove what legalising left over" },
    { NULL, NULL, NULL },
};

bool tidy(Graph *g, const TidyOptions *o)
{
    for (const Pass *p = tidy_passes; p->name; p++) {
        if (!p->run(g, o) || ctx_failed(g->cx))
            return false;
        if (o->dump && o->dump_after && strcmp(o->dump_after, p->name) == 0)
            o->dump(o->dump_user, p->name, graph_text(g));
    }
    return true;
}
