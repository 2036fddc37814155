/* What the system gives: see base/system.h. */
#include "testing.h"

#include "base/system.h"

/* In pieces of at most 256 bytes; the probability that 16 bytes are equal by chance is 2^-128. */
static void entropy_fills_every_byte(void **state)
{
    (void)state;
    enum { BYTES = 1000, PIECE = 16 };
    unsigned char byte[BYTES + 1] = {0};
    assert_int_equal(pboost_system_entropy(byte, BYTES), 0);
    assert_int_equal(byte[BYTES], 0);
    for (size_t i = 0; i + PIECE <= BYTES; i += PIECE)
        for (size_t j = 0; j < i; j += PIECE)
            assert_memory_not_equal(byte + i, byte + j, PIECE);
    assert_memory_not_equal(byte + BYTES - PIECE, (unsigned char[PIECE]){0}, PIECE);
    assert_int_equal(pboost_system_entropy(NULL, 0), 0);
}

static void wiped_memory_is_zero(void **state)
{
    (void)state;
    unsigned char byte[100], zero[100] = {0};
    memset(byte, 7, sizeof byte);
    pboost_system_wipe(byte, sizeof byte - 1);
    assert_memory_equal(byte, zero, sizeof byte - 1);
    assert_int_equal(byte[sizeof byte - 1], 7);
}

static void there_is_a_processor(void **state)
{
    (void)state;
    assert_true(pboost_system_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entropy_fills_every_byte),
        cmocka_unit_test(wiped_memory_is_zero),
        cmocka_unit_test(there_is_a_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
