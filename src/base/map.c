/* map.c - vectors and maps in the arena, and the hash under them. Iteration is in insertion order, so nothing that is
 * printed depends on where memory happened to lie. */
#include "base/internal.h"

#include <endian.h>

bool vec_room(Ctx *cx, void **at, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t grown = *cap ? *cap * 2 : 8;
    void *p = mem_array(cx, grown, size);
    if (!p)
        return false;
    if (n)
        memcpy(p, *at, n * size);
    *at = p;
    *cap = grown;
    return true;
}

/* FNV-1a over eight bytes at a time, little-endian whatever the machine, with a final mix. */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *at = p;
    uint64_t h = seed ^ 0xcbf29ce484222325u ^ n, word;
    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = (h ^ le64toh(word)) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
    }
    for (; n > 0; n--)
        h = (h ^ *at++) * 0x100000001b3u;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return h ^ h >> 33;
}

static size_t key_slot(const Map *m, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return (h ^ h >> 32) & (m->nslot - 1);
}

/* The slot that holds key, or the empty one where it belongs. */
static uint32_t *find_slot(const Map *m, const void *key)
{
    size_t i = key_slot(m, key);
    while (m->slot[i] && m->at[m->slot[i] - 1].key != key)
        i = (i + 1) & (m->nslot - 1);
    return &m->slot[i];
}

MapEntry *map_find(const Map *m, const void *key)
{
    if (m->n == 0)
        return NULL;
    uint32_t s = *find_slot(m, key);
    return s ? &m->at[s - 1] : NULL;
}

void *map_get(const Map *m, const void *key)
{
    MapEntry *e = map_find(m, key);
    return e ? e->val : NULL;
}

/* At most two thirds full. */
static bool grow_slots(Ctx *cx, Map *m)
{
    if ((m->n + 1) * 3 <= m->nslot * 2)
        return true;
    size_t nslot = m->nslot ? m->nslot * 2 : 16;
    uint32_t *slot = new_array(cx, uint32_t, nslot);
    if (!slot || nslot > UINT32_MAX)
        return false;
    m->slot = slot;
    m->nslot = nslot;
    for (size_t i = 0; i < m->n; i++)
        *find_slot(m, m->at[i].key) = (uint32_t)i + 1;
    return true;
}

void map_put(Ctx *cx, Map *m, const void *key, void *val)
{
    MapEntry *e = map_find(m, key);
    if (e) {
        e->val = val;
        return;
    }
    if (!grow_slots(cx, m) || !vec_room(cx, (void **)&m->at, m->n, &m->cap, sizeof *m->at))
        return;
    m->at[m->n++] = (MapEntry){ key, val };
    *find_slot(m, key) = (uint32_t)m->n;
}
