/* What every test program needs: cmocka's headers in the order it wants them, and two checks. */
#ifndef PBOOST_TESTING_H
#define PBOOST_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <priorboost/priorboost.h>

/* assert_ok(f(..., &err), err): the call succeeded; shows its message if not. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        pboost_status assert_ok_status = (call);                                                   \
        if (assert_ok_status != PBOOST_OK)                                                         \
            fail_msg("%s: %s", pboost_status_name(assert_ok_status), (err).message);               \
    } while (0)

/* assert_fails(f(..., &err), PBOOST_INVALID, err, "is 0"): the status, and a part of the
 * message. */
#define assert_fails(call, expected, err, part)                                                    \
    do {                                                                                           \
        memset(&(err), 0, sizeof(err));                                                            \
        pboost_status assert_fails_status = (call);                                                \
        if (assert_fails_status != (expected))                                                     \
            fail_msg("status is %s, not %s: %s", pboost_status_name(assert_fails_status),          \
                     pboost_status_name(expected), (err).message);                                 \
        assert_int_equal((err).status, (expected));                                                \
        if (strstr((err).message, (part)) == NULL)                                                 \
            fail_msg("\"%s\" does not say \"%s\"", (err).message, (part));                         \
    } while (0)

/* |a - b| <= tolerance * max(1, |b|), and neither is NaN. */
#define assert_close(a, b, tolerance)                                                              \
    do {                                                                                           \
        double assert_close_a = (a), assert_close_b = (b);                                         \
        if (!(fabs(assert_close_a - assert_close_b) <=                                             \
              (tolerance)*fmax(1.0, fabs(assert_close_b))))                                        \
            fail_msg("%s is %.17g, not %.17g", #a, assert_close_a, assert_close_b);                \
    } while (0)

/* The features of a table without weights and offsets. */
#define PLAIN(matrix) (&(pboost_features){.x = (matrix)})

/* For a cancel: stops after this many checks. */
typedef struct {
    size_t looks, most;
} look_limit;

static inline bool runs_out(void *user)
{
    look_limit *p = user;
    return ++p->looks > p->most;
}

#endif
