/* fold_parts.c - the value of a node of constants, a part at a time: a chain of operators on a
 * weight is computed in tiles that stay in the cache, each item once, and no step of it lies in
 * memory whole.
 *
 *     Mul(Sub(w, mean), scale)    4096 items of w, minus mean, times scale; the next 4096
 *
 * Operators that work item by item go in runs, over which each input either follows the result or
 * is one number. Reductions along the last axes go row by row. Concat copies what of each input
 * lies in the part. */
#include "onnx/fold/fold.h"

enum {
    PART_INPUTS = 4,
    TILE_BYTES = 16 << 10, /* of each input are computed at a time */
    RUN_LEAST = 64,        /* shorter runs are not worth it */
    ROWS_BYTES = 64 << 10, /* rows of a reduction read at a time, if they are no longer */
    ROW_MOST = 4 << 20,
    SMALL_ITEMS = 4096, /* inputs of no more are read once */
};

typedef struct PartInput {
    bool follows;             /* item by item along a run; else one number for all of it */
    bool whole;               /* it has an item for each of the result */
    int64_t stride[MAX_RANK]; /* in items, along the axes in front of the runs */
    const void *small;        /* all items, once they are read */
    int same_as;              /* an earlier input that is the same value, or -1 */
} PartInput;

struct FoldParts {
    Node *node;
    bool reduces, joins;
    PartInput in[PART_INPUTS];
    int64_t dims[MAX_RANK]; /* of the result; of a reduction: of what is reduced */
    int outer;              /* axes in front of the runs; of a reduction: the axis of the rows */
    int64_t run;  /* items of a run, or of a row; of Concat: of all inputs, at one index of
                     the axes in front of its axis */
    int64_t most; /* items of a run that each input's tile has room for */
    int64_t rows;
};

/* ---- when ---- */

static bool works_by_item(const OnnxOp *op)
{
    for (const FoldRow *r = fold_elementwise; r->op; r++)
        if (strcmp(r->op, op->name) == 0)
            return true;
    return false;
}

static bool readable(Ox v)
{
    return v->kind == OX_CONST && v->k->bytes.src && item_size(v->k->dtype) &&
        const_contiguous(v->k) && const_numel(v->k) > 0;
}

/* The size of input v along axis a of a result of `rank` axes: 1 where it has none. */
static int64_t size_along(const Const *k, int rank, int a)
{
    int own = a - (rank - k->rank);
    return own < 0 ? 1 : k->dims[own];
}

/* Does v, over the axes from `from` on, either follow the result or stay one number? */
static bool runs_from(const Const *k, int rank, const int64_t *dims, int from)
{
    bool follows = true;
    bool stays = true;
    for (int a = from; a < rank; a++) {
        if (dims[a] == 1)
            continue;
        follows &= size_along(k, rank, a) == dims[a];
        stays &= size_along(k, rank, a) == 1;
    }
    return follows || stays;
}

static bool all_run_from(const FoldParts *p, int rank, int from)
{
    for (int i = 0; i < p->node->n_in; i++) {
        Ox v = p->node->in[i];
        if (v && !runs_from(v->k, rank, p->dims, from))
            return false;
    }
    return true;
}

/* How input i lies beside a result of that rank. Of a result [60, 350] with runs of 350, an input
 * [60, 1] is one number for a run, and goes on by 1 along axis 0. */
static void set_input(FoldParts *p, int rank, int i)
{
    PartInput *in = &p->in[i];
    const Const *k = p->node->in[i]->k;
    int64_t step = 1;
    in->same_as = -1;
    for (int j = 0; j < i && in->same_as < 0; j++)
        if (p->node->in[j] == p->node->in[i])
            in->same_as = j;
    for (int a = rank; a-- > 0;) {
        int64_t n = size_along(k, rank, a);
        if (a < p->outer)
            in->stride[a] = n == 1 ? 0 : step;
        else
            in->follows |= n > 1;
        step *= n;
    }
    in->whole = step == numel_of_ints(rank, p->dims);
    int64_t room = TILE_BYTES / (int64_t)item_size(k->dtype);
    p->most = room < p->most ? room : p->most;
}

/* Finds the longest runs: axes of the result, from the last one on, over which each input follows
 * the result or stays one number. */
static bool set_runs(FoldParts *p, Type t)
{
    const Node *n = p->node;
    if (n->n_in > PART_INPUTS || n->n_out != 1 || !item_size(t->dtype))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (!readable(n->in[i]) || n->in[i]->k->rank > t->rank))
            return false;
    p->run = 1;
    p->most = TILE_BYTES;
    p->outer = t->rank;
    while (p->outer > 0 && all_run_from(p, t->rank, p->outer - 1))
        p->run *= p->dims[--p->outer];
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            set_input(p, t->rank, i);
    return p->run >= RUN_LEAST;
}

/* A reduction along the last axes of a tensor that has no more than one axis in front of them. */
static bool set_rows(FoldParts *p)
{
    const Node *n = p->node;
    const int64_t *axes;
    int64_t n_axes;
    bool drop[MAX_RANK] = { false };
    if (strncmp(n->op->name, "Reduce", 6) || n->n_in != 2 || n->n_out != 1 || !n->in[1] ||
        !readable(n->in[0]) || !ox_known_ints(n->graph, n->in[1], &axes, &n_axes) || n_axes == 0)
        return false;
    const Const *k = n->in[0]->k;
    for (int64_t i = 0; i < n_axes; i++)
        drop[axes[i] < 0 ? axes[i] + k->rank : axes[i]] = true;
    int kept = 0;
    p->run = 1;
    for (int a = 0; a < k->rank; a++) {
        p->dims[a] = k->dims[a];
        if (drop[a])
            p->run *= k->dims[a];
        else if (k->dims[a] > 1 && (kept++ || p->run > 1))
            return false;
        else if (k->dims[a] > 1)
            p->outer = a;
    }
    p->rows = k->dims[p->outer];
    p->reduces = true;
    return kept == 1 && (uint64_t)p->run * dtype_size(k->dtype) <= ROW_MOST;
}

/* How many items of k lie one behind the other: those of its last axes. */
static int64_t items_in_line(const Const *k)
{
    int64_t n = 1;
    for (int a = k->rank; a-- > 0; n *= k->dims[a])
        if (k->strides && k->dims[a] != 1 && k->strides[a] != n)
            break;
    return n;
}

/* Can any part of v be read for itself, about as fast as the whole? */
static bool reads_in_parts(Ox v)
{
    if (v->kind != OX_CONST || !v->k->bytes.src || !item_size(v->k->dtype))
        return false;
    SourceKind kind = v->k->bytes.src->kind;
    return (kind == SRC_FILE || kind == SRC_MEMORY) && const_numel(v->k) > 0 &&
        (const_contiguous(v->k) || items_in_line(v->k) >= RUN_LEAST);
}

/* Items of input i of a Concat at one index of the axes in front of its axis. */
static int64_t joined_items(const FoldParts *p, int i)
{
    const Const *k = p->node->in[i]->k;
    int64_t n = 1;
    for (int a = p->outer; a < k->rank; a++)
        n *= k->dims[a];
    return n;
}

/* A Concat of what lies in files or memory, of each input some items in a row. What must be
 * unpacked or computed is read once instead, as a whole. */
static bool set_joined(FoldParts *p, Type t)
{
    const Node *n = p->node;
    if (strcmp(n->op->name, "Concat") != 0)
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (!reads_in_parts(n->in[i]))
            return false;
    int64_t axis = node_int(n, "axis", 0);
    p->outer = (int)(axis < 0 ? axis + t->rank : axis);
    p->joins = true;
    p->run = 0;
    bool short_ones = false;
    for (int i = 0; i < n->n_in; i++) {
        p->run += joined_items(p, i);
        short_ones |= joined_items(p, i) < RUN_LEAST;
    }
    return !short_ones || dim_is(type_numel(node_cx(n), t), p->run);
}

/* See edit.h. */
const FoldParts *fold_parts(Node *n)
{
    Ctx *cx = node_cx(n);
    int64_t dims[MAX_RANK];
    uint64_t numel = 0;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->k)
            numel += (uint64_t)const_numel(n->in[i]->k);
    if (numel <= SMALL_ITEMS || n->n_out != 1 || !type_static(n->out[0]->type, dims))
        return NULL;
    FoldParts *p = new(cx, FoldParts);
    *p = (FoldParts){ .node = n };
    if (!works_by_item(n->op))
        return set_rows(p) || set_joined(p, n->out[0]->type) ? p : NULL;
    memcpy(p->dims, dims, (size_t)n->out[0]->type->rank * sizeof *dims);
    return set_runs(p, n->out[0]->type) ? p : NULL;
}

/* ---- how ---- */

/* All items of a small input; NULL: it is large, or is computed as far as it is asked for, or there
 * is no memory. */
static const uint8_t *small_input(Ctx *cx, const FoldParts *p, int i)
{
    PartInput *in = MUTABLE(PartInput, &p->in[i]);
    const Const *k = p->node->in[i]->k;
    int64_t numel = const_numel(k);
    if (in->small || numel > SMALL_ITEMS || k->bytes.src->part)
        return in->small;
    size_t bytes = (size_t)numel * item_size(k->dtype);
    keep_begin(cx);
    void *all = new_array(cx, uint8_t, bytes);
    keep_end(cx);
    in->small = all && bytes_read(cx, k->bytes, 0, all, bytes) ? all : NULL;
    return in->small;
}

/* Where the run that begins at item `at` of the result begins in input i. */
static int64_t start_of(const FoldParts *p, int i, int64_t at)
{
    int64_t block = at / p->run;
    int64_t from = p->in[i].follows ? at % p->run : 0;
    for (int a = p->outer; a-- > 0; block /= p->dims[a])
        from += block % p->dims[a] * p->in[i].stride[a];
    return from;
}

/* What is read of an input. */
typedef struct Tile {
    _Alignas(8) uint8_t at[TILE_BYTES];
    int64_t from, n; /* of an input that is as large as the result: which of its items */
} Tile;

/* Those of a node that is being computed. They do not lie on the stack, as a chain of operators
 * computes one inside the other. */
typedef struct FoldTiles {
    struct FoldTiles *next; /* of those that are free */
    Tile of[PART_INPUTS];
} FoldTiles;

static FoldTiles *tiles_take(Ctx *cx)
{
    FoldTiles *t = cx->tiles;
    if (t) {
        cx->tiles = t->next;
        return t;
    }
    keep_begin(cx);
    t = new_array(cx, FoldTiles, 1);
    keep_end(cx);
    return t;
}

static void tiles_give(Ctx *cx, FoldTiles *t)
{
    t->next = cx->tiles;
    cx->tiles = t;
}

/* n items of one run, of an input that is as large as the result: as many runs as fit the tile are
 * read at once. No more than up to `end` is wanted. */
static bool load_ahead(Ctx *cx, const FoldParts *p, int i, int64_t at, int64_t n, int64_t end,
                       Tile *tile, Data *out)
{
    const Const *k = p->node->in[i]->k;
    size_t size = item_size(k->dtype);
    if (at < tile->from || at + n > tile->from + tile->n) {
        int64_t runs = p->most / p->run * p->run;
        int64_t some = runs > n ? runs : n;
        tile->from = at;
        tile->n = some < end - at ? some : end - at;
        if (!bytes_read(cx, k->bytes, (uint64_t)at * size, tile->at, (size_t)tile->n * size))
            return false;
    }
    *out = (Data){ .dtype = k->dtype, .rank = 1, .numel = n };
    out->at = tile->at + (size_t)(at - tile->from) * size;
    return true;
}

/* What input i gives to n items of one run, in the tile or where it lies. */
static bool load_input(Ctx *cx, const FoldParts *p, int i, int64_t at, int64_t n, int64_t end,
                       Tile *tile, Data *out)
{
    const Const *k = p->node->in[i]->k;
    size_t size = item_size(k->dtype);
    bool follows = p->in[i].follows;
    int64_t count = follows ? n : 1;
    int64_t from = start_of(p, i, at);
    const uint8_t *small = small_input(cx, p, i);
    if (p->in[i].whole && !small)
        return load_ahead(cx, p, i, at, n, end, tile, out);
    *out = (Data){ .dtype = k->dtype, .rank = follows, .numel = count };
    out->at = small ? MUTABLE(void, small + (size_t)from * size) : tile->at;
    return small || bytes_read(cx, k->bytes, (uint64_t)from * size, tile->at, (size_t)count * size);
}

/* n items from `at` on, which lie in one run; it goes on up to `end`. */
static bool compute_run(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, int64_t end, Tile *tile,
                        uint8_t *out)
{
    Data in[PART_INPUTS] = { { 0 } };
    Node *node = p->node;
    for (int i = 0; i < node->n_in; i++) {
        int same = node->in[i] ? p->in[i].same_as : -1;
        if (same >= 0)
            in[i] = in[same];
        else if (node->in[i] && !load_input(cx, p, i, at, n, end, &tile[i], &in[i]))
            return false;
        in[i].dims = in[i].rank ? &n : NULL;
    }
    Data result = { .dtype = ox_dtype(node->out[0]), .rank = 1, .dims = &n, .numel = n, .at = out };
    return node->op->fold(&(Fold){ cx, node, in, &result });
}

/* n items from `at` on, run by run, and long runs in pieces: those of 10,000 float32 in three, of
 * 4096, 4096 and 1808 items. */
static bool each_run(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, Tile *tile, uint8_t *out)
{
    size_t size = item_size(ox_dtype(p->node->out[0]));
    for (int i = 0; i < PART_INPUTS; i++)
        tile[i].from = tile[i].n = 0;
    for (int64_t some; n > 0; n -= some, at += some, out += (size_t)some * size) {
        int64_t left = p->run - at % p->run;
        some = n < p->most ? n : p->most;
        some = some < left ? some : left;
        if (!compute_run(cx, p, at, some, at + n, tile, out))
            return false;
    }
    return true;
}

static bool compute_runs(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, uint8_t *out)
{
    FoldTiles *tiles = tiles_take(cx);
    if (!tiles)
        return false;
    bool ok = each_run(cx, p, at, n, tiles->of, out);
    tiles_give(cx, tiles);
    return ok;
}

/* `n` results from row `at` on; the rows fit the room. */
static bool reduce_rows(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, uint8_t *room,
                        uint8_t *out)
{
    const Const *k = p->node->in[0]->k;
    uint64_t row = (uint64_t)p->run * item_size(k->dtype);
    int64_t dims[MAX_RANK];
    memcpy(dims, p->dims, sizeof dims);
    dims[p->outer] = n;
    Data in[2] = { { .dtype = k->dtype, .rank = k->rank, .dims = dims, .numel = n * p->run } };
    in[0].at = room;
    if (!bytes_read(cx, k->bytes, (uint64_t)at * row, room, (size_t)((uint64_t)n * row)))
        return false;
    ArenaMark m = arena_mark(cx->run);
    Data result = { .dtype = ox_dtype(p->node->out[0]), .rank = 1, .dims = &n, .numel = n };
    result.at = out;
    bool ok = const_to_data(cx, p->node->in[1]->k, &in[1]) &&
        p->node->op->fold(&(Fold){ cx, p->node, in, &result });
    arena_reset(cx->run, m);
    return ok;
}

static bool compute_rows(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, uint8_t *out)
{
    int64_t row = p->run * (int64_t)item_size(p->node->in[0]->k->dtype);
    int64_t most = row < ROWS_BYTES ? ROWS_BYTES / row : 1;
    size_t size = item_size(ox_dtype(p->node->out[0]));
    uint8_t *room = room_take(cx, (uint64_t)(most * row));
    if (!room)
        return fail(cx, E_MEMORY, "out of memory");
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i += most)
        ok = reduce_rows(cx, p, at + i, n - i < most ? n - i : most, room, out + (size_t)i * size);
    room_give(cx, room, (uint64_t)(most * row));
    return ok;
}

/* Where item `at` of k lies, of which `line` items lie one behind the other; in items. */
static int64_t place_of(const Const *k, int64_t line, int64_t at)
{
    int64_t from = at % line;
    int64_t block = at / line;
    int64_t inner = 1;
    if (block == 0)
        return from;
    for (int a = k->rank; a-- > 0; inner *= k->dims[a]) {
        if (inner < line)
            continue;
        from += block % k->dims[a] * k->strides[a];
        block /= k->dims[a];
    }
    return from;
}

/* n items of k from item `at` on, in its order. */
static bool read_items(Ctx *cx, const Const *k, int64_t at, int64_t n, uint8_t *out)
{
    size_t size = item_size(k->dtype);
    int64_t line = const_contiguous(k) ? const_numel(k) : items_in_line(k);
    for (int64_t some; n > 0; n -= some, at += some, out += (size_t)some * size) {
        int64_t left = line - at % line;
        some = n < left ? n : left;
        uint64_t from = (uint64_t)place_of(k, line, at) * size;
        if (!bytes_read(cx, k->bytes, from, out, (size_t)some * size))
            return false;
    }
    return true;
}

/* n items of a Concat from item `at` on: at each index of the axes in front of its axis, some of
 * each input. */
static bool compute_joined(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, uint8_t *out)
{
    size_t size = item_size(ox_dtype(p->node->out[0]));
    while (n > 0) {
        int64_t row = at / p->run;
        int64_t in_row = at % p->run;
        for (int i = 0; i < p->node->n_in && n > 0; i++) {
            int64_t mine = joined_items(p, i);
            if (in_row >= mine) {
                in_row -= mine;
                continue;
            }
            int64_t some = n < mine - in_row ? n : mine - in_row;
            if (!read_items(cx, p->node->in[i]->k, row * mine + in_row, some, out))
                return false;
            in_row = 0;
            at += some;
            n -= some;
            out += (size_t)some * size;
        }
    }
    return true;
}

static bool compute_part(Ctx *cx, const FoldParts *p, int64_t at, int64_t n, uint8_t *out)
{
    if (p->joins)
        return compute_joined(cx, p, at, n, out);
    return p->reduces ? compute_rows(cx, p, at, n, out) : compute_runs(cx, p, at, n, out);
}

/* See edit.h. */
bool fold_part(Ctx *cx, const FoldParts *p, uint64_t at, uint8_t *out, uint64_t n)
{
    size_t size = item_size(ox_dtype(p->node->out[0]));
    check_stack(cx);
    count_numbers(cx, n / size);
    bool ok = compute_part(cx, p, (int64_t)(at / size), (int64_t)(n / size), out);
    return ok || ctx_failed(cx) ||
        fail_at(cx, p->node->at, E_BUG, "%s of a weight cannot be computed", p->node->name->s);
}
