/* replay.c - runs a fuzz target without a fuzzer: every file of the folders and files given, then
 * mutations of each from a fixed seed, so that an ordinary test run is the same every time. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#ifndef MUTATIONS
#define MUTATIONS 400
#endif
enum { FILES_MAX = 4096 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* An allocation of exactly n bytes, so that a sanitizer sees each byte read beyond. */
static void run(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    memcpy(copy, p, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

/* One to four changes: a bit, a byte of a telling value, a cut, a piece copied over another. */
static void mutate_and_run(const uint8_t *p, size_t n, uint64_t *state)
{
    static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff, '(', '"', '{' };
    uint8_t *q = malloc(n);
    memcpy(q, p, n);
    for (uint64_t k = next_random(state) % 4 + 1; k > 0 && n > 0; k--) {
        size_t at = next_random(state) % n;
        size_t from = next_random(state) % n;
        size_t len = next_random(state) % 16 + 1;
        switch (next_random(state) % 4) {
        case 0: q[at] ^= (uint8_t)(1 << next_random(state) % 8); break;
        case 1: q[at] = telling[next_random(state) % sizeof telling]; break;
        case 2:
            if (next_random(state) % 8 == 0)
                n = at;
            break;
        case 3:
            if (at + len <= n && from + len <= n)
                memmove(q + at, q + from, len);
            break;
        }
    }
    run(q, n);
    free(q);
}

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    size_t cap = 1 << 20;
    uint8_t *p = malloc(cap);
    size_t n = fread(p, 1, cap, f);
    fclose(f);
    run(p, n);
    uint64_t state = 88172645463325252u ^ n;
    for (int i = 0; i < MUTATIONS && n > 0; i++)
        mutate_and_run(p, n, &state);
    free(p);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int replay_folder(const char *folder)
{
    static char *names[FILES_MAX];
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && n < FILES_MAX && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        names[n] = malloc(strlen(folder) + strlen(e->d_name) + 2);
        sprintf(names[n++], "%s/%s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        replay_file(names[i]);
        free(names[i]);
    }
    return n;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISREG(st.st_mode)) {
            replay_file(argv[i]);
            files++;
        } else {
            files += replay_folder(argv[i]);
        }
    }
    printf("%d files, %d mutations of each\n", files, MUTATIONS);
    return files > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
