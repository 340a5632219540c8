/* names.c - tables from names to rows and rules that the build has hashed. */
#include "base/base.h"

static bool is_name(const NameTable *t, const NameRow *row, const char *name, size_t len)
{
    return row->len == len && memcmp(t->text + row->text, name, len) == 0;
}

const NameItem *names_find(const NameTable *t, const char *name, size_t len, size_t *n)
{
    *n = 0;
    if (t->n_slot == 0)
        return NULL;
    uint32_t last = t->n_slot - 1;
    for (uint32_t i = (uint32_t)hash_bytes(name, len, 0) & last; t->slot[i]; i = (i + 1) & last) {
        const NameRow *row = &t->row[t->slot[i] - 1];
        if (is_name(t, row, name, len)) {
            *n = row->n_item;
            return t->item + row->item;
        }
    }
    return NULL;
}
