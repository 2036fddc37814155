/* Without entropy the oracle answers nothing and spends nothing, at any call; when entropy is back
 * the same question is answered. */
#include "testing.h"

#include "base/rng.h"
#include "fault/inject.h"

enum { BAGS = 40, SIZE = 2, N = BAGS * SIZE };

typedef struct {
    double label[N];
    size_t row[N], start[BAGS + 1];
    pboost_bags bags;
} question;

static pboost_memory_oracle *make(question *q, bool noise)
{
    pboost_error err;
    pboost_memory_oracle *oracle;
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = SIZE;
    rules.bounded = true;
    rules.upper = 1;
    if (noise)
        rules.epsilon = (pboost_rational){1, 10};
    rules.round = !noise;
    for (size_t i = 0; i < N; i++) {
        q->label[i] = (double)(i % 2);
        q->row[i] = i;
    }
    for (size_t b = 0; b <= BAGS; b++)
        q->start[b] = b * SIZE;
    q->bags = (pboost_bags){N, BAGS, q->row, q->start};
    assert_ok(pboost_memory_oracle_create(&oracle, q->label, N, &rules, NULL, &err), err);
    return oracle;
}

/* With noise, and without noise where every bag needs a coin. */
static void every_entropy_call_may_fail(void **state)
{
    (void)state;
    static const int errors[] = {ENOSYS, EFAULT, EIO, 0};
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
        for (int noise = 0; noise <= 1; noise++) {
            long n = 1;
            for (; n == 1 || injected(); n++) {
                pboost_error err = {0};
                question q;
                double answer[BAGS];
                pboost_memory_oracle *oracle = make(&q, noise);
                pboost_oracle face = pboost_memory_oracle_interface(oracle);

                inject_entropy(n, errors[e], true);
                pboost_status st = face.ask(face.self, 0, &q.bags, answer, &err);
                inject_nothing();
                if (injected()) {
                    assert_int_equal(st, PBOOST_ORACLE);
                    assert_non_null(strstr(err.message, "no entropy"));
                    assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 0);
                    for (size_t b = 0; b < BAGS; b++)
                        assert_true(answer[b] == 0);
                    st = face.ask(face.self, 0, &q.bags, answer, &err);
                }
                assert_ok(st, err);
                assert_int_equal(pboost_memory_oracle_rows_spent(oracle), N);
                pboost_memory_oracle_free(oracle);
            }
            assert_true(n > (noise ? 3 : 2));
        }
}

/* getentropy gives 256 bytes at most; a refill takes more. */
static void every_byte_is_filled(void **state)
{
    (void)state;
    enum { WORDS = 300 };
    pboost_error err;
    rng_source source;
    uint64_t word[WORDS];
    inject_nothing();
    pboost_rng_source_system(&source);
    for (size_t i = 0; i < WORDS; i++)
        assert_ok(pboost_rng_next(&word[i], &source, &err), err);
    for (size_t i = 0; i < WORDS; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(word[i] != word[j]);
}

static void simulated_noise_needs_no_entropy(void **state)
{
    (void)state;
    pboost_error err;
    rng_source source;
    uint64_t word;
    inject_entropy(1, ENOSYS, true);
    pboost_rng_source_seeded(&source, 1, RNG_NOISE, 0);
    for (size_t i = 0; i < 200; i++)
        assert_ok(pboost_rng_next(&word, &source, &err), err);
    inject_nothing();
    assert_false(injected());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entropy_call_may_fail),
        cmocka_unit_test(every_byte_is_filled),
        cmocka_unit_test(simulated_noise_needs_no_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
