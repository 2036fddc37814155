/* Whichever allocation fails while an oracle is made and asked through the log of answers: the call
 * says so, nothing is spent that was not answered, nothing leaks (under the address sanitizer), and
 * the same call succeeds afterwards. */
#include "testing.h"

#include "data/answers.h"
#include "fault/inject.h"

enum { N = 12, SIZE = 3 };

static const double LABEL[N] = {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0};

static pboost_rules noisy_rules(bool bounded)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = SIZE;
    rules.bounded = bounded;
    if (bounded) {
        rules.upper = 1;
        rules.epsilon = (pboost_rational){1, 2};
    }
    return rules;
}

static void making_an_oracle_may_run_out_of_memory(void **state)
{
    (void)state;
    for (int bounded = 0; bounded <= 1; bounded++) {
        pboost_rules rules = noisy_rules(bounded);
        long n = 1;
        for (; n == 1 || injected(); n++) {
            pboost_error err = {0};
            pboost_memory_oracle *oracle = (void *)&rules;
            inject_allocation(n);
            pboost_status st = pboost_memory_oracle_create(&oracle, LABEL, N, &rules, NULL, &err);
            inject_nothing();
            if (injected()) {
                assert_int_equal(st, PBOOST_NO_MEMORY);
                assert_null(oracle);
            } else {
                assert_ok(st, err);
            }
            pboost_memory_oracle_free(oracle);
        }
        assert_true(n >= 5);
    }
}

static void asking_may_run_out_of_memory(void **state)
{
    (void)state;
    pboost_rules rules = noisy_rules(true);
    size_t row[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, start[] = {0, 3, 6, 9};
    pboost_bags bags = {9, 3, row, start};
    long n = 1;

    for (; n == 1 || injected(); n++) {
        pboost_error err = {0};
        pboost_memory_oracle *oracle;
        pboost_answers log = {0};
        assert_ok(pboost_memory_oracle_create(&oracle, LABEL, N, &rules, NULL, &err), err);
        pboost_oracle face = pboost_memory_oracle_interface(oracle);
        inject_allocation(n);
        pboost_status st = pboost_answers_ask(&log, &face, &bags, &err);
        inject_nothing();
        if (injected()) {
            assert_int_equal(st, PBOOST_NO_MEMORY);
            assert_int_equal(log.n_rounds, 0);
            assert_int_equal(log.n_bags, 0);
            assert_int_equal(log.n_rows, 0);
            assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 0);
            st = pboost_answers_ask(&log, &face, &bags, &err);
        }
        assert_ok(st, err);
        assert_int_equal(log.n_rounds, 1);
        assert_int_equal(log.n_rows, pboost_memory_oracle_rows_spent(oracle));
        pboost_answers_clear(&log);
        pboost_memory_oracle_free(oracle);
    }
    assert_true(n >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_an_oracle_may_run_out_of_memory),
        cmocka_unit_test(asking_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
