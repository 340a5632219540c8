/* find_col2im.c - Col2Im where torch has taken it apart: what find.rules does not say of the places
 * that columns are added at.
 *
 *     ScatterND of x [N, C, taps, taps, windows, windows] into zeros,
 *         at places [taps, windows, taps, windows, 2]  ->  Col2Im
 *
 * Along each axis window j's tap i is at i * dilation + j * stride of the padded image, or it is no
 * Col2Im. */
#include "tidy/find/find.h"

enum { COLUMNS, PLACES, ROW_PLACES, COLUMN_PLACES, PADS, AXES = 2 };

typedef struct Axis {
    int64_t taps, windows, size, image, dilation, stride, before, after;
} Axis; /* size: of the padded image */
typedef struct Fold2d {
    Axis axis[AXES];
    Ox x;
} Fold2d;

static bool known_ints(Graph *g, Ox v, int64_t count, const int64_t **at)
{
    int64_t n;
    return v && ox_known_ints(g, v, at, &n) && n == count;
}

/* Places of one axis, [taps, windows] -> its dilation and stride. */
static bool on_lines(const int64_t *at, Axis *a)
{
    a->dilation = a->taps > 1 ? at[a->windows] - at[0] : 1;
    int64_t rest = a->size - a->dilation * (a->taps - 1);
    a->stride = a->windows > 1 ? at[1] - at[0] : rest;
    for (int64_t i = 0; i < a->taps; i++)
        for (int64_t j = 0; j < a->windows; j++)
            if (at[i * a->windows + j] != i * a->dilation + j * a->stride)
                return false;
    return a->dilation > 0 && a->stride > 0 && rest > 0 && (rest - 1) / a->stride + 1 == a->windows;
}

/* The places of both axes in one table, [taps, windows, taps, windows, 2]: each must depend on its
 * own axis only. */
static bool apart(Ctx *cx, const int64_t *both, const Axis *a, int64_t **at)
{
    int64_t rows = a[0].taps * a[0].windows;
    int64_t columns = a[1].taps * a[1].windows;
    at[0] = new_array(cx, int64_t, rows);
    at[1] = new_array(cx, int64_t, columns);
    if (!at[0] || !at[1])
        return false;
    for (int64_t i = 0; i < rows; i++)
        at[0][i] = both[2 * i * columns];
    for (int64_t i = 0; i < columns; i++)
        at[1][i] = both[2 * i + 1];
    for (int64_t i = 0; i < rows * columns; i++)
        if (both[2 * i] != at[0][i / columns] || both[2 * i + 1] != at[1][i % columns])
            return false;
    return true;
}

static bool is_shaped(Ox v, int64_t first, int64_t taps, int64_t windows)
{
    return v && ox_rank(v) >= first + 2 && dim_is(ox_dim(v, (int)first), taps) &&
        dim_is(ox_dim(v, (int)first + 1), windows);
}

/* Are the indices of a scatter those of a sliding window? They are one tensor of rows and columns,
 * or one of each. */
static bool places_fit(Graph *g, const Ox *in, Axis *a)
{
    const int64_t *at[AXES], *both;
    int64_t *own[AXES];
    int64_t rows = a[0].taps * a[0].windows;
    int64_t columns = a[1].taps * a[1].windows;
    int64_t all;
    if (in[PLACES]) {
        bool fits = mul_ok(rows, 2 * columns, &all) && known_ints(g, in[PLACES], all, &both) &&
            apart(g->cx, both, a, own);
        return fits && on_lines(own[0], &a[0]) && on_lines(own[1], &a[1]);
    }
    if (!known_ints(g, in[ROW_PLACES], rows, &at[0]) ||
        !known_ints(g, in[COLUMN_PLACES], columns, &at[1]))
        return false;
    bool shaped = ox_rank(in[ROW_PLACES]) == 4 &&
        is_shaped(in[ROW_PLACES], 0, a[0].taps, a[0].windows) &&
        is_shaped(in[COLUMN_PLACES], ox_rank(in[COLUMN_PLACES]) - 2, a[1].taps, a[1].windows);
    return shaped && on_lines(at[0], &a[0]) && on_lines(at[1], &a[1]);
}

/* Are the pads those that cut a border off the image, as Col2Im's pads do? */
static bool borders_fit(Graph *g, Ox pads, Axis *a)
{
    const int64_t *at;
    if (!pads)
        return true;
    if (!known_ints(g, pads, 8, &at) || at[0] || at[1] || at[4] || at[5])
        return false;
    for (int i = 0; i < AXES; i++) {
        a[i].before = -at[2 + i];
        a[i].after = -at[6 + i];
        a[i].size = a[i].image + a[i].before + a[i].after;
    }
    return a[0].before >= 0 && a[0].after >= 0 && a[1].before >= 0 && a[1].after >= 0;
}

static bool fold_of(Graph *g, const RuleMatch *m, const Ox *in, Fold2d *f)
{
    Ox x = in[COLUMNS];
    Ox y = m->result;
    *f = (Fold2d){ .x = x };
    if (ox_rank(x) != 6 || ox_rank(y) != 4 || ox_dtype(x) != DT_FLOAT)
        return false;
    for (int i = 0; i < AXES; i++) {
        Axis *a = &f->axis[i];
        if (!dim_known(ox_dim(x, 2 + i), &a->taps) || !dim_known(ox_dim(x, 4 + i), &a->windows) ||
            !dim_known(ox_dim(y, 2 + i), &a->image))
            return false;
        a->size = a->image;
        if (a->taps < 1 || a->windows < 1)
            return false;
    }
    return borders_fit(g, in[PADS], f->axis) && places_fit(g, in, f->axis);
}

bool columns_fit(Graph *g, const RuleMatch *m)
{
    Fold2d f;
    return fold_of(g, m, m->param, &f);
}

/* The columns as [N, C * taps * taps, windows * windows]: the input of x, where x is a Reshape
 * of that. */
static Ox flat_columns(Graph *g, const Fold2d *f)
{
    Ctx *cx = g->cx;
    const Axis *a = f->axis;
    Dim to[3] = { ox_dim(f->x, 0), dim_product(cx, f->x->type->dim + 1, 3),
                  dim_int(cx, a[0].windows * a[1].windows) };
    Node *n = made_by(f->x, "Reshape");
    bool same = n && ox_rank(n->in[0]) == 3;
    for (int i = 0; same && i < 3; i++)
        same = dim_eq(cx, ox_dim(n->in[0], i), to[i]) == YES;
    return same ? n->in[0] : ox_g(g, "Reshape", f->x, ox_dims(g, to, 3));
}

Ox columns_write(Graph *g, const RuleMatch *m, const Ox *in)
{
    Fold2d f;
    if (!fold_of(g, m, in, &f))
        return NULL;
    const Axis *a = f.axis;
    Ox x = flat_columns(g, &f);
    Ox image = ox_ints(g, (int64_t[]){ a[0].image, a[1].image }, AXES);
    Ox block = ox_ints(g, (int64_t[]){ a[0].taps, a[1].taps }, AXES);
    const int64_t dilations[] = { a[0].dilation, a[1].dilation };
    const int64_t strides[] = { a[0].stride, a[1].stride };
    const int64_t pads[] = { a[0].before, a[1].before, a[0].after, a[1].after };
    return ox_g_with(g, "Col2Im", INPUTS(x, image, block), INT_LIST("dilations", dilations, AXES),
                     INT_LIST("pads", pads, 2 * AXES), INT_LIST("strides", strides, AXES));
}
