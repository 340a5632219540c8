/* threads.c - conversions in several threads at once give the same bytes as one alone, on threads
 * with the 1 MB of stack that Java gives them. */
#include "unit/test.h"

#include <pthread.h>
#include <stdlib.h>

#include "pt2onnx.h"

enum { THREADS = 4, TIMES = 12, STACK = 1 << 20, ROOM = 1 << 20 };

static const char *const models[] = { "examples/digits_cnn.pt", "examples/digits_cnn.pt2",
                                      "tests/cli/files/net.pt" };

typedef struct Model {
    uint8_t at[ROOM];
    size_t n;
} Model;

static Model alone[COUNT(models)];

static int add_bytes(void *user, const void *bytes, size_t n)
{
    Model *m = user;
    if (n > ROOM - m->n)
        return 1;
    memcpy(m->at + m->n, bytes, n);
    m->n += n;
    return 0;
}

/* Of cmocka nothing is called on a thread of our own: its failures jump. */
static bool convert(size_t which, Model *to)
{
    pt2onnx_options o = PT2ONNX_OPTIONS;
    to->n = 0;
    return pt2onnx_convert_to(models[which], add_bytes, to, &o, NULL) == PT2ONNX_OK;
}

/* The models in turn, each thread beginning with another. */
static void *convert_all(void *first)
{
    Model *m = malloc(sizeof *m);
    size_t differ = m ? 0 : 1;
    for (size_t i = 0; m && i < TIMES * COUNT(models); i++) {
        size_t which = (*(size_t *)first + i) % COUNT(models);
        bool ok = convert(which, m);
        differ += !ok || m->n != alone[which].n || memcmp(m->at, alone[which].at, m->n) != 0;
    }
    free(m);
    *(size_t *)first = differ;
    return NULL;
}

static void threads_convert_at_once(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    pthread_attr_t attr;
    size_t job[THREADS];
    for (size_t i = 0; i < COUNT(models); i++) {
        assert_true(convert(i, &alone[i]));
        assert_true(alone[i].n > 0);
    }
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    for (size_t i = 0; i < THREADS; i++) {
        job[i] = i;
        assert_int_equal(pthread_create(&thread[i], &attr, convert_all, &job[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(job[i], 0);
    }
    assert_int_equal(pthread_attr_destroy(&attr), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_convert_at_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
