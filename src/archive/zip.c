/* zip.c - ZIP archives: what lies where. The central directory is the only truth; local headers are
 * opened late, when somebody wants a record's bytes, and only to learn where the data begins.
 *
 *     [local header, data] ... [central directory] [zip64 end, locator] [end record, comment]
 *
 * No record is unpacked here but code, pickles and JSON (zip_slice); weights stay where they are.
 * Zip64, data descriptors and archives inside archives are normal; encryption, several disks and
 * methods other than stored and deflate are refused. */
#include "archive/archive.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    END_SIZE = 22,
    COMMENT_MAX = 65535,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    CENTRAL_SIZE = 46,
    LOCAL_SIZE = 30,
    SIG_LOCAL = 0x04034b50,
    SIG_CENTRAL = 0x02014b50,
    SIG_END = 0x06054b50,
    SIG_END64 = 0x06064b50,
    SIG_LOCATOR = 0x07064b50,
    EXTRA_ZIP64 = 1,
    FLAG_ENCRYPTED = 1,
    STORED = 0,
    DEFLATED = 8,
    DEFLATE_RATIO = 1032, /* deflate cannot do better: a size beyond is a lie */
};

typedef struct End {
    uint64_t at, n, size, directory;
} End; /* at: where the end records begin */

static bool read_at(Ctx *cx, const Zip *z, uint64_t at, void *out, size_t n)
{
    return bytes_read(cx, (Bytes){ z->src, z->off, z->size }, at, out, n);
}

/* ---- the end records ---- */

/* The last end record whose comment fits in what follows it. */
static bool find_end(Ctx *cx, const uint8_t *tail, size_t n, size_t *at)
{
    for (size_t i = n < END_SIZE ? 0 : n - END_SIZE + 1; i-- > 0;) {
        Cursor c = cur_over(tail + i, n - i);
        if (cur_u32(&c) != SIG_END)
            continue;
        cur_take(&c, 16);
        if (cur_u16(&c) <= cur_left(&c)) {
            *at = i;
            return true;
        }
    }
    return fail(cx, E_FORMAT, "the ZIP archive is cut short: its end record is missing");
}

/* ZIP64: a locator in front of the end record points at a larger end record, whose counts and
 * offsets replace those of e. True and e unchanged when there is no locator. */
static bool read_end64(Ctx *cx, const Zip *z, End *e, uint64_t end_at)
{
    uint8_t buf[END64_SIZE];
    if (end_at < LOCATOR_SIZE)
        return true;
    if (!read_at(cx, z, end_at - LOCATOR_SIZE, buf, LOCATOR_SIZE))
        return false;
    Cursor c = cur_over(buf, LOCATOR_SIZE);
    if (cur_u32(&c) != SIG_LOCATOR)
        return true;
    uint32_t disk = cur_u32(&c);
    uint64_t at = cur_u64(&c);
    uint64_t room = end_at - LOCATOR_SIZE;
    if (disk != 0 || room < END64_SIZE || at > room - END64_SIZE)
        return fail(cx, E_FORMAT, "the ZIP64 locator points outside the archive");
    if (!read_at(cx, z, at, buf, END64_SIZE))
        return false;
    c = cur_over(buf, END64_SIZE);
    if (cur_u32(&c) != SIG_END64)
        return fail(cx, E_FORMAT, "the ZIP64 end record is damaged");
    cur_take(&c, 8 + 4); /* its own size, versions */
    uint32_t this_disk = cur_u32(&c);
    uint32_t first_disk = cur_u32(&c);
    uint64_t n_here = cur_u64(&c);
    e->n = cur_u64(&c);
    e->size = cur_u64(&c);
    e->directory = cur_u64(&c);
    e->at = at;
    if (this_disk != 0 || first_disk != 0 || n_here != e->n)
        return fail(cx, E_FORMAT, "the ZIP archive is split over several files");
    return true;
}

/* The end record is sought from the end of the file, behind it only a comment. Whatever it says
 * about the directory lies inside the archive when this returns true. */
static bool read_end(Ctx *cx, const Zip *z, End *e)
{
    size_t n = z->size < END_SIZE + COMMENT_MAX ? (size_t)z->size : END_SIZE + COMMENT_MAX, at;
    uint8_t *tail = new_array(cx, uint8_t, n);
    if (!tail || !read_at(cx, z, z->size - n, tail, n) || !find_end(cx, tail, n, &at))
        return false;
    Cursor c = cur_over(tail + at, n - at);
    cur_u32(&c);
    uint16_t this_disk = cur_u16(&c);
    uint16_t first_disk = cur_u16(&c);
    uint16_t n_here = cur_u16(&c);
    uint16_t n_all = cur_u16(&c);
    uint32_t size = cur_u32(&c);
    uint32_t directory = cur_u32(&c);
    uint64_t end_at = z->size - n + at;
    *e = (End){ end_at, n_all, size, directory };
    if (!read_end64(cx, z, e, end_at))
        return false;
    bool has64 = e->at != end_at;
    if (!has64 && (size == 0xffffffff || directory == 0xffffffff))
        return fail(cx, E_FORMAT, "the ZIP64 end record is missing");
    if (!has64 && (this_disk != 0 || first_disk != 0 || n_here != n_all))
        return fail(cx, E_FORMAT, "the ZIP archive is split over several files");
    mem_give(cx, tail, n);
    if (e->directory > e->at || e->size > e->at - e->directory)
        return fail(cx, E_FORMAT, "the ZIP archive's directory lies outside the archive");
    return true;
}

/* ---- the central directory ---- */

/* Field id 1 holds, in this order, whichever of size, packed size and offset did not fit 32
 * bits. */
static bool widen(ZipEntry *e, Slice extra)
{
    if (e->size != 0xffffffff && e->packed != 0xffffffff && e->header != 0xffffffff)
        return true;
    Cursor c = cur_over(extra.p, extra.n);
    while (cur_left(&c) >= 4) {
        uint16_t id = cur_u16(&c);
        uint16_t n = cur_u16(&c);
        Slice field = cur_take(&c, n);
        if (id != EXTRA_ZIP64)
            continue;
        Cursor f = cur_over(field.p, field.n);
        uint64_t *wide[] = { &e->size, &e->packed, &e->header };
        for (int i = 0; i < 3; i++)
            if (*wide[i] == 0xffffffff)
                *wide[i] = cur_u64(&f);
        return !f.failed;
    }
    return true; /* exactly 2^32 - 1 bytes: no lie by itself, bounds are checked below */
}

static bool entry_fits(Ctx *cx, const Zip *z, const ZipEntry *e)
{
    uint64_t begins, ends;
    if (!uadd_ok(e->header, LOCAL_SIZE + (uint64_t)e->name_len, &begins) ||
        !uadd_ok(begins, e->packed, &ends) || ends > z->directory)
        return fail(cx, E_FORMAT, "record %s lies outside the archive", e->name);
    if (e->method == STORED && e->packed != e->size)
        return fail(cx, E_FORMAT, "record %s is stored, but its two sizes differ", e->name);
    if (e->method == DEFLATED && e->size / DEFLATE_RATIO > e->packed)
        return fail(cx, E_FORMAT,
                    "record %s claims to unpack %llu bytes to %llu, which deflate cannot", e->name,
                    (unsigned long long)e->packed, (unsigned long long)e->size);
    return true;
}

/* The next of z->names. */
static const char *keep_name(Zip *z, Slice name)
{
    char *at = z->names + z->names_used;
    memcpy(at, name.p, name.n);
    z->names_used += name.n + 1;
    return at;
}

/* One entry; *e has a NULL name for a folder. */
static bool read_entry(Ctx *cx, Zip *z, Cursor *c, size_t i, ZipEntry *e)
{
    uint32_t sig = cur_u32(c);
    cur_take(c, 4); /* versions */
    uint16_t flags = cur_u16(c);
    e->method = cur_u16(c);
    cur_take(c, 4); /* time and date */
    e->crc = cur_u32(c);
    e->packed = cur_u32(c);
    e->size = cur_u32(c);
    uint16_t name_len = cur_u16(c);
    uint16_t extra_len = cur_u16(c);
    uint16_t comment_len = cur_u16(c);
    cur_take(c, 8); /* disk, attributes */
    e->header = cur_u32(c);
    Slice name = cur_take(c, name_len);
    Slice extra = cur_take(c, extra_len);
    cur_take(c, comment_len);
    if (c->failed || sig != SIG_CENTRAL)
        return fail(cx, E_FORMAT, "entry %zu of the ZIP archive's directory is damaged", i);
    if (!limit_ok(cx, LIMIT_NAME, name_len, "bytes in a record's name"))
        return false;
    if (name_len == 0 || memchr(name.p, 0, name_len))
        return fail(cx, E_FORMAT, "entry %zu of the ZIP archive has a damaged name", i);
    e->name = keep_name(z, name);
    e->name_len = name_len;
    if (flags & FLAG_ENCRYPTED)
        return fail(cx, E_FORMAT, "record %s is encrypted", e->name);
    if (!widen(e, extra))
        return fail(cx, E_FORMAT, "record %s has a damaged ZIP64 field", e->name);
    if (!entry_fits(cx, z, e))
        return false;
    if (name.p[name_len - 1] == '/')
        e->name = NULL;
    return true;
}

static int by_header(const void *a, const void *b)
{
    const ZipEntry *x = *(const ZipEntry *const *)a;
    const ZipEntry *y = *(const ZipEntry *const *)b;
    if (x->header != y->header)
        return x->header < y->header ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Two records on the same bytes are how a small file claims to be a huge one. */
static bool check_overlap(Ctx *cx, const Zip *z)
{
    const ZipEntry **order = new_array(cx, const ZipEntry *, z->n);
    if (!order)
        return false;
    for (size_t i = 0; i < z->n; i++)
        order[i] = &z->entry[i];
    qsort(order, z->n, sizeof *order, by_header);
    for (size_t i = 1; i < z->n; i++) {
        const ZipEntry *a = order[i - 1];
        const ZipEntry *b = order[i];
        if (a->header + LOCAL_SIZE + a->name_len + a->packed > b->header)
            return fail(cx, E_FORMAT, "records %s and %s overlap", a->name, b->name);
    }
    mem_give(cx, order, z->n * sizeof *order);
    return true;
}

/* ---- names ---- */

/* A name in three parts, so that none need be put together to look for a record in a folder. */
typedef struct Name {
    const char *part[3];
} Name;

static bool is_called(const ZipEntry *e, Name name)
{
    const char *at = e->name;
    for (size_t i = 0; i < COUNT(name.part); i++) {
        size_t n = strlen(name.part[i]);
        if (strncmp(at, name.part[i], n) != 0)
            return false;
        at += n;
    }
    return *at == 0;
}

/* The slot of the entry called so, or the free one where it belongs. */
static uint32_t *find_slot(const Zip *z, Name name)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < COUNT(name.part); i++)
        for (const char *c = name.part[i]; *c; c++)
            hash = hash_also(hash, (unsigned char)*c);
    size_t i = hash & (z->nslot - 1);
    while (z->slot[i] && !is_called(&z->entry[z->slot[i] - 1], name))
        i = (i + 1) & (z->nslot - 1);
    return &z->slot[i];
}

/* At most two thirds of the slots are taken. */
static bool index_entries(Ctx *cx, Zip *z)
{
    z->nslot = 8;
    while (z->nslot * 2 < z->n * 3)
        z->nslot *= 2;
    z->slot = new_array(cx, uint32_t, z->nslot);
    if (!z->slot)
        return false;
    for (size_t i = 0; i < z->n; i++) {
        const char *name = z->entry[i].name;
        uint32_t *slot = find_slot(z, (Name){ { "", "", name } });
        if (*slot)
            return fail(cx, E_FORMAT, "the archive holds two records named %s", name);
        *slot = (uint32_t)(i + 1);
    }
    return true;
}

bool zip_in_root(const Zip *z, const ZipEntry *e)
{
    return strncmp(e->name, z->root->s, z->root->len) == 0;
}

/* Makes the first folder of entry 0 the root, when all records lie in it. */
static void find_common_root(Ctx *cx, Zip *z)
{
    const char *slash = z->n ? strchr(z->entry[0].name, '/') : NULL;
    size_t n = slash ? (size_t)(slash - z->entry[0].name) + 1 : 0;
    z->root = str_n(cx, slash ? z->entry[0].name : "", n);
    for (size_t i = 1; i < z->n; i++)
        if (!zip_in_root(z, &z->entry[i]))
            z->root = str_of(cx, "");
}

/* All entries, in the order of the directory; folders are left out. The number of records is
 * checked against the directory's size before anything is allocated. */
static bool read_directory(Ctx *cx, Zip *z)
{
    End end;
    if (!read_end(cx, z, &end) || !limit_ok(cx, LIMIT_RECORDS, end.n, "records"))
        return false;
    if (end.n * CENTRAL_SIZE > end.size)
        return fail(cx, E_FORMAT, "the ZIP archive's directory is too small for its %llu records",
                    (unsigned long long)end.n);
    z->directory = end.directory;
    uint8_t *text = new_array(cx, uint8_t, end.size);
    z->entry = new_array(cx, ZipEntry, end.n);
    z->names_size = (size_t)(end.size - end.n * (CENTRAL_SIZE - 1)); /* and a NUL each */
    z->names = new_array(cx, char, z->names_size);
    if (!text || !z->entry || !z->names || !read_at(cx, z, end.directory, text, (size_t)end.size))
        return false;
    Cursor c = cur_over(text, (size_t)end.size);
    for (size_t i = 0; i < end.n; i++) {
        if (!read_entry(cx, z, &c, i, &z->entry[z->n]))
            return false;
        z->n += z->entry[z->n].name != NULL;
    }
    mem_give(cx, text, (size_t)end.size);
    return check_overlap(cx, z) && index_entries(cx, z);
}

Zip *zip_open(Ctx *cx, Source *src, uint64_t off, uint64_t size)
{
    keep_begin(cx);
    Zip *z = new(cx, Zip);
    *z = (Zip){ .src = src, .off = off, .size = size };
    bool ok = off <= src->size && size <= src->size - off
        ? read_directory(cx, z)
        : fail(cx, E_FORMAT, "a ZIP archive lies outside its file");
    if (ok)
        find_common_root(cx, z);
    keep_end(cx);
    return ok && !ctx_failed(cx) ? z : NULL;
}

/* ---- records ---- */

static const ZipEntry *find(const Zip *z, Name name)
{
    uint32_t number = z->entry ? *find_slot(z, name) : 0;
    return number ? &z->entry[number - 1] : NULL;
}

const ZipEntry *zip_find(const Zip *z, const char *name)
{
    return find(z, (Name){ { "", "", name } });
}

/* Mostly it is the record behind the one found last. */
const ZipEntry *zip_find_in(Zip *z, const char *folder, const char *rest)
{
    Name name = { { z->root->s, folder, rest } };
    const ZipEntry *e = z->last ? z->last + 1 : z->entry;
    if (!e || e == z->entry + z->n || !is_called(e, name))
        e = find(z, name);
    if (e)
        z->last = e;
    return e;
}

const ZipEntry *zip_find_in_root(Zip *z, const char *rest) { return zip_find_in(z, "", rest); }

/* Where the data begins: after the local header, whose extra field differs from the directory's. */
static bool find_data(Ctx *cx, Zip *z, ZipEntry *e)
{
    uint8_t buf[LOCAL_SIZE];
    if (!read_at(cx, z, e->header, buf, sizeof buf))
        return false;
    Cursor c = cur_over(buf, sizeof buf);
    uint32_t sig = cur_u32(&c);
    cur_take(&c, 22);
    uint16_t name_len = cur_u16(&c);
    uint16_t extra_len = cur_u16(&c);
    uint64_t at = e->header + LOCAL_SIZE + name_len + extra_len;
    if (sig != SIG_LOCAL || name_len != e->name_len)
        return fail(cx, E_FORMAT, "record %s has a damaged header", e->name);
    if (at > z->directory || e->packed > z->directory - at)
        return fail(cx, E_FORMAT, "record %s lies outside the archive", e->name);
    e->at = z->off + at;
    return true;
}

bool zip_bytes(Ctx *cx, Zip *z, const ZipEntry *entry, Bytes *out)
{
    ZipEntry *e = &z->entry[entry - z->entry];
    if (e->method != STORED && e->method != DEFLATED)
        return fail(cx, E_FORMAT,
                    "record %s is packed by method %d; only stored and deflate are read: pack the "
                    "archive again",
                    e->name, e->method);
    if (e->at == 0 && !find_data(cx, z, e))
        return false;
    if (e->method == STORED)
        *out = (Bytes){ z->src, e->at, e->size };
    else
        *out = (Bytes){ source_deflated(cx, z->src, e->at, e->packed, e->size), 0, e->size };
    return !ctx_failed(cx);
}

static bool crc_is(Ctx *cx, const ZipEntry *e, uint32_t crc)
{
    return crc == e->crc ||
        fail(cx, E_FORMAT, "record %s is damaged: its checksum is %08x, not %08x", e->name, crc,
             e->crc);
}

bool zip_slice(Ctx *cx, Zip *z, const ZipEntry *e, Slice *out)
{
    Bytes b;
    if (!limit_ok(cx, LIMIT_TEXT, e->size, "bytes in one record") || !zip_bytes(cx, z, e, &b))
        return false;
    keep_begin(cx);
    uint8_t *p = new_array(cx, uint8_t, b.len + 1); /* and a NUL, for those who look for text */
    keep_end(cx);
    if (!p || !bytes_read(cx, b, 0, p, (size_t)b.len))
        return false;
    *out = (Slice){ p, (size_t)b.len };
    return crc_is(cx, e, (uint32_t)crc32_z(0, p, (size_t)b.len));
}

void zip_close(Ctx *cx, Zip *z)
{
    mem_give(cx, z->entry, z->n * sizeof *z->entry);
    mem_give(cx, z->names, z->names_size);
    mem_give(cx, z->slot, z->nslot * sizeof *z->slot);
    z->entry = NULL;
    z->names = NULL;
    z->slot = NULL;
    z->last = NULL;
}

bool zip_again(Ctx *cx, Zip *z)
{
    Zip now = { .src = z->src, .off = z->off, .size = z->size, .root = z->root };
    if (z->entry)
        return true;
    keep_begin(cx);
    bool ok = read_directory(cx, &now);
    keep_end(cx);
    if (!ok)
        return false;
    if (now.n != z->n || now.directory != z->directory)
        return fail(cx, E_IO, "the file has changed while it was read");
    *z = now;
    return true;
}

void zip_give(Ctx *cx, Slice s) { mem_give(cx, s.p, s.n + 1); }

bool zip_check_crc(Ctx *cx, Zip *z, const ZipEntry *e)
{
    uint8_t tile[16384];
    Bytes b;
    if (!zip_bytes(cx, z, e, &b))
        return false;
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t at = 0; at < b.len;) {
        size_t n = b.len - at < sizeof tile ? (size_t)(b.len - at) : sizeof tile;
        if (!bytes_read(cx, b, at, tile, n))
            return false;
        crc = crc32_z(crc, tile, n);
        at += n;
    }
    return crc_is(cx, e, (uint32_t)crc);
}
