/* map.c - vectors and maps in the arena, and the hash under them. Iteration is in insertion order,
 * so nothing that is printed depends on where memory happened to lie. */
#include "base/internal.h"

/* When memory runs out on the way, the error interns its place: where that has pushed to this very
 * vector, ours is not put over it. */
bool vec_room(Ctx *cx, void **at, size_t n, size_t *cap, size_t size)
{
    size_t before = *cap;
    if (n < before)
        return true;
    size_t grown = before ? before * 2 : 4;
    void *p = mem_grow(cx, *at, before, grown, size);
    if (!p || *cap != before)
        return false;
    *at = p;
    *cap = grown;
    return true;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static uint64_t little_endian(uint64_t word) { return word; }
#else
static uint64_t little_endian(uint64_t word) { return __builtin_bswap64(word); }
#endif

/* FNV-1a over eight bytes at a time, little-endian whatever the machine, with a final mix. */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *at = p;
    uint64_t h = seed ^ 0xcbf29ce484222325u ^ n, word;
    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        h = hash_also(h, little_endian(word));
    }
    for (; n > 0; n--)
        h = (h ^ *at++) * 0x100000001b3u;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return h ^ h >> 33;
}

static uint32_t key_hash(const void *key) { return (uint32_t)hash_also(0, (uintptr_t)key); }

/* The slot that holds key, or the empty one where it belongs. The hash beside the number saves
 * looking at entries of others, which in a large map are not in the cache. */
static MapSlot *find_slot(const Map *m, const void *key, uint32_t hash)
{
    size_t i = hash & (m->nslot - 1);
    for (; m->slot[i].entry; i = (i + 1) & (m->nslot - 1)) {
        const MapSlot *s = &m->slot[i];
        if (s->hash == hash && m->at[s->entry - 1].key == key)
            break;
    }
    return &m->slot[i];
}

/* Keys are mostly looked up in the order in which they were put. So the entry behind the last
 * one found is tried first: it is in the cache when its slot is not. */
MapEntry *map_find(const Map *m, const void *key)
{
    size_t i = m->next;
    if (i >= m->n || m->at[i].key != key) {
        i = m->n ? find_slot(m, key, key_hash(key))->entry : 0;
        if (i-- == 0)
            return NULL;
    }
    MUTABLE(Map, m)->next = i + 1; /* the guess is not part of the map's contents */
    return &m->at[i];
}

void *map_get(const Map *m, const void *key)
{
    MapEntry *e = map_find(m, key);
    return e ? e->val : NULL;
}

static MapSlot *free_slot(const Map *m, uint32_t hash)
{
    size_t i = hash & (m->nslot - 1);
    while (m->slot[i].entry)
        i = (i + 1) & (m->nslot - 1);
    return &m->slot[i];
}

/* At most two thirds full. */
static bool grow_slots(Ctx *cx, Map *m)
{
    size_t nslot = m->nslot ? m->nslot * 2 : 8;
    size_t old_n = m->nslot;
    MapSlot *old = m->slot;
    MapSlot *slot = new_array(cx, MapSlot, nslot);
    if (!slot || nslot > UINT32_MAX)
        return false;
    m->slot = slot;
    m->nslot = nslot;
    for (size_t i = 0; i < old_n; i++)
        if (old[i].entry)
            *free_slot(m, old[i].hash) = old[i];
    mem_give(cx, old, old_n * sizeof *old);
    return true;
}

/* Memory has run out, and the context has failed. Walks go by a map of what they have met: with one
 * that lacks it they would go round for ever. */
static MapEntry *no_room(Ctx *cx)
{
    give_up(cx);
    return NULL; /* a caller outside `bounded` */
}

/* The entry of key; a new one has this value. NULL when there is no memory. */
static MapEntry *entry_of(Ctx *cx, Map *m, const void *key, const void *val, bool *made)
{
    uint32_t hash = key_hash(key);
    MapSlot *slot = m->nslot ? find_slot(m, key, hash) : NULL;
    *made = !slot || !slot->entry;
    if (!*made)
        return &m->at[slot->entry - 1];
    if ((m->n + 1) * 3 > m->nslot * 2) {
        if (!grow_slots(cx, m))
            return no_room(cx);
        slot = free_slot(m, hash);
    }
    if (!vec_room(cx, (void **)&m->at, m->n, &m->cap, sizeof *m->at))
        return no_room(cx);
    m->at[m->n++] = (MapEntry){ key, MUTABLE(void, val) };
    *slot = (MapSlot){ (uint32_t)m->n, hash };
    return &m->at[m->n - 1];
}

void map_put(Ctx *cx, Map *m, const void *key, const void *val)
{
    bool made;
    MapEntry *e = entry_of(cx, m, key, val, &made);
    if (e)
        e->val = MUTABLE(void, val);
}

bool map_add(Ctx *cx, Map *m, const void *key, const void *val)
{
    bool made;
    return entry_of(cx, m, key, val, &made) && made;
}

void map_clear(Map *m)
{
    if (m->n)
        memset(m->slot, 0, m->nslot * sizeof *m->slot);
    m->n = 0;
    m->next = 0;
}

void map_give(Ctx *cx, Map *m)
{
    mem_give(cx, m->at, m->cap * sizeof *m->at);
    mem_give(cx, m->slot, m->nslot * sizeof *m->slot);
    *m = (Map){ 0 };
}
