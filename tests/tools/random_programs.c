/* random_programs.c - programs of the generators of tests/fuzz/make as files, for tests in Python.
 *
 *     random_programs script FOLDER FIRST COUNT
 *
 * writes FOLDER/N.pt for each number N from FIRST on, and N.args: the options that it is converted
 * with, a line each. `calls` and `blocks` write N.pt2 too, of the same program. The same number is
 * always the same program, while the tables of operators stay. */
#include "fuzz/make/calls.h"
#include "fuzz/make/convert.h"
#include "fuzz/make/script.h"

enum { BYTES = 1200 };

static void fill(uint8_t *bytes, uint64_t seed)
{
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < BYTES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (uint8_t)(state >> 32);
    }
}

static void write_file(const char *folder, unsigned long number, const char *ending, Out *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%lu%s", folder, number, ending);
    FILE *f = fopen(path, "wb");
    require(f && fwrite(file->p, 1, file->n, f) == file->n && fclose(f) == 0, "cannot write");
    out_free(file);
}

static void write_script(const char *folder, unsigned long number, Choices *c)
{
    Out args = { 0 };
    Script s = choose_script(c);
    Out file = archive_of_script(&s.code);
    for (size_t i = 0; i < s.n_spec; i++)
        out_fmt(&args, "-i\n%s\n", s.spec[i]);
    write_file(folder, number, ".pt", &file);
    write_file(folder, number, ".args", &args);
    code_free(&s.code);
}

static void write_calls(const char *folder, unsigned long number, Calls calls)
{
    char spec[CALL_INPUTS][48];
    Out args = { 0 };
    Out pt = calls_as_script(&calls, spec);
    Out pt2 = calls_as_graph(&calls);
    for (uint32_t i = 0; i < calls.n_in; i++)
        out_fmt(&args, "-i\n%s\n", spec[i]);
    write_file(folder, number, ".pt", &pt);
    write_file(folder, number, ".pt2", &pt2);
    write_file(folder, number, ".args", &args);
}

int main(int argc, char **argv)
{
    uint8_t bytes[BYTES];
    require(argc == 5, "random_programs script|calls|blocks FOLDER FIRST COUNT");
    unsigned long first = strtoul(argv[3], NULL, 10);
    unsigned long count = strtoul(argv[4], NULL, 10);
    for (unsigned long n = first; n < first + count; n++) {
        fill(bytes, n);
        Choices c = { bytes, sizeof bytes };
        if (strcmp(argv[1], "calls") == 0)
            write_calls(argv[2], n, choose_calls(&c));
        else if (strcmp(argv[1], "blocks") == 0)
            write_calls(argv[2], n, choose_blocks(&c));
        else
            write_script(argv[2], n, &c);
    }
    return 0;
}
