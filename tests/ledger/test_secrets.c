/* Secrets are compared in constant time.
 *
 * Time cannot be asserted, so the call can: the linker puts __wrap_sodium_memcmp in the place of
 * libsodium's comparison, which is the one that takes the same time whatever it compares.  An
 * authentication must compare the whole hash of every token with it, wherever the right one is and
 * whether there is one. */
#include "ledger_testing.h"

enum { TOKENS = 5 };

static size_t comparisons, bytes;

int __real_sodium_memcmp(const void *a, const void *b, size_t length);
int __wrap_sodium_memcmp(const void *a, const void *b, size_t length);
int __wrap_sodium_memcmp(const void *a, const void *b, size_t length)
{
    comparisons++;
    bytes += length;
    return __real_sodium_memcmp(a, b, length);
}

static void every_secret_is_compared_in_constant_time(void **state)
{
    (void)state;
    pboost_ledger_rules rules = plain_rules();
    test_store t;
    pboost_ledger *ledger = make_ledger(&t, &rules, 0, NULL);
    pboost_error err = {0};
    char secret[TOKENS + 1][PBOOST_TOKEN_TEXT], name[] = "a";

    for (size_t i = 0; i < TOKENS; i++, name[0]++) {
        pboost_token_options options = PBOOST_TOKEN_OPTIONS_INIT;
        options.name = name;
        assert_ok(pboost_token_create(secret[i], ledger, &options, &err), err);
    }
    strcpy(secret[TOKENS], secret[0]); /* like the first, but for its end */
    char *end = &secret[TOKENS][strlen(secret[TOKENS]) - 2];
    *end = *end == 'a' ? 'b' : 'a';
    for (size_t i = 0; i <= TOKENS; i++) {
        pboost_token token;
        pboost_problem problem;
        comparisons = bytes = 0;
        pboost_status st = pboost_token_authenticate(&token, &problem, ledger, secret[i],
                                                     PBOOST_MAY(PBOOST_LEARNER), &err);
        assert_int_equal(st, i < TOKENS ? PBOOST_OK : PBOOST_REFUSED);
        assert_int_equal(comparisons, 2 * TOKENS); /* the MAC of a row, and its secret */
        assert_int_equal(bytes, 2 * TOKENS * sizeof(digest));
    }
    pboost_ledger_close(ledger);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_secret_is_compared_in_constant_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
