/* infer_text.c - strings and their features, mel weights, pictures: what no PyTorch program calls,
 * but models that are read (`show`, a rule's local function) may hold. */
#include "onnx/infer/infer.h"

static bool concat_strings(Node *n)
{
    Shape s = shape_of(n->in[0]);
    Shape with = shape_of(n->in[1]);
    return shape_broadcast(n, &s, &with) && out_shape(n, 0, DT_STRING, &s);
}

static bool full_match(Node *n) { return out_like(n, 0, DT_BOOL, n->in[0]); }

/* [C] or [1, C]: stop words go, so C is open. */
static bool normalised(Node *n)
{
    Shape s = shape_of(n->in[0]);
    if (!need_rank_of(n, n->in[0], "X", 1, 2))
        return false;
    if (s.rank > 0)
        s.d[s.rank - 1] = NULL;
    return out_partial(n, 0, DT_STRING, &s);
}

/* Pieces, padded to the longest, and how many each string has. */
static bool split(Node *n)
{
    Shape s = shape_of(n->in[0]);
    Shape counts = s;
    if (s.rank >= MAX_RANK)
        return node_fail(n, "rank %d is more than %d", s.rank + 1, MAX_RANK);
    if (s.rank >= 0)
        s.d[s.rank++] = NULL;
    return out_partial(n, 0, DT_STRING, &s) && out_shape(n, 1, DT_INT64, &counts);
}

/* One column for every index of ngram_indexes. */
static bool tfidf(Node *n)
{
    Shape s = shape_of(n->in[0]);
    const int64_t *index;
    size_t count;
    int64_t most = -1;
    if (!need_rank_of(n, n->in[0], "X", 1, 2))
        return false;
    if (!node_ints(n, "ngram_indexes", &index, &count))
        return node_fail(n, "the attribute ngram_indexes is missing");
    for (size_t i = 0; i < count; i++)
        most = index[i] > most ? index[i] : most;
    if (s.rank > 0)
        s.d[s.rank - 1] = dim_int(node_cx(n), most + 1);
    return out_partial(n, 0, DT_FLOAT, &s);
}

/* MelWeightMatrix(bins, dft_length, ..) -> [dft_length / 2 + 1, bins] */
static bool mel_weights(Node *n)
{
    Ctx *cx = node_cx(n);
    Dim bins = item_at(n->in[0], 0);
    Dim length = item_at(n->in[1], 0);
    Shape s = { .rank = 2,
                .d = { length
                           ? dim_add(cx, dim_floordiv(cx, length, dim_int(cx, 2)), dim_int(cx, 1))
                           : NULL,
                       bins } };
    return out_partial(n, 0, (DType)node_int(n, "output_datatype", DT_FLOAT), &s);
}

static bool picture(Node *n)
{
    bool grey = !strcmp(node_str(n, "pixel_format", "RGB"), "Grayscale");
    Shape s = { .rank = 3, .d = { NULL, NULL, dim_int(node_cx(n), grey ? 1 : 3) } };
    return out_partial(n, 0, DT_UINT8, &s);
}

const InferRow infer_text[] = {
    { "ImageDecoder", picture },        { "MelWeightMatrix", mel_weights },
    { "RegexFullMatch", full_match },   { "StringConcat", concat_strings },
    { "StringNormalizer", normalised }, { "StringSplit", split },
    { "TfIdfVectorizer", tfidf },       { 0 }
};
