/* files.h - a folder for one test, and files in it. */
#ifndef PT2ONNX_UNIT_FILES_H
#define PT2ONNX_UNIT_FILES_H

#include "unit/test.h"

#include <stdlib.h>

/* A fresh folder; the test's files go with it. */
static inline char *folder(void)
{
    char *dir = strdup("/tmp/pt2onnx-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static inline char *path_in(const char *dir, const char *name)
{
    char *path = malloc(strlen(dir) + strlen(name) + 2);
    sprintf(path, "%s/%s", dir, name);
    return path;
}

static inline void write_file(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

static inline size_t file_holds(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    uint8_t *got = malloc(n + 1);
    size_t m = fread(got, 1, n + 1, f);
    fclose(f);
    bool same = m == n && memcmp(got, p, n) == 0;
    free(got);
    return same;
}

static inline void remove_folder(char *dir)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    free(dir);
}

static inline size_t files_in(const char *dir)
{
    char command[128];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    FILE *f = popen(command, "r");
    unsigned n = 0;
    assert_int_equal(fscanf(f, "%u", &n), 1);
    pclose(f);
    return n;
}

#endif
