/* test.h - what the unit tests share: cmocka with its headers in order, a context per test. */
#ifndef PT2ONNX_TEST_H
#define PT2ONNX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* ours is in base/error.h; tests use fail_msg, which must not go through it */
#undef fail_msg
#define fail_msg(...)              \
    do {                           \
        print_error(__VA_ARGS__);  \
        print_error("\n");         \
        _fail(__FILE__, __LINE__); \
    } while (0)

#include "base/base.h"

static inline int with_ctx(void **state) { return (*state = ctx_new()) ? 0 : -1; }
static inline int without_ctx(void **state)
{
    ctx_free(*state);
    return 0;
}
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, with_ctx, without_ctx)

#endif
