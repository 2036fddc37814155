/* The log of answers: it grows by whole rounds, and not at all when the oracle fails. */
#include "testing.h"

#include "data/answers.h"

/* An oracle that answers the first row of each bag, or a value that the test sets. */
typedef struct {
    size_t last_round, asked;
    pboost_status status;
    double override; /* answer of the last bag unless 0 */
} echo;

static pboost_status echo_ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                              pboost_error *err)
{
    echo *e = self;
    e->last_round = round;
    e->asked++;
    for (size_t b = 0; b < bags->n_bags; b++)
        answer[b] = (double)bags->row[bags->start[b]];
    if (e->override != 0)
        answer[bags->n_bags - 1] = e->override;
    if (e->status != PBOOST_OK)
        return pboost_fail(err, e->status, "as told");
    return PBOOST_OK;
}

static pboost_oracle echo_oracle(echo *e)
{
    pboost_oracle oracle = {PBOOST_RULES_INIT, e, echo_ask};
    oracle.rules.bounded = true;
    oracle.rules.upper = 1;
    oracle.rules.epsilon = (pboost_rational){1, 2};
    return oracle;
}

/* n bags of sizes 1, 2, 3, 1, 2, ... over rows first, first+1, ... */
enum { MAX_BAGS = 100 };
typedef struct {
    pboost_bags bags;
    size_t row[3 * MAX_BAGS], start[MAX_BAGS + 1];
} some_bags;

static const pboost_bags *fill(some_bags *s, size_t n, size_t first)
{
    size_t rows = 0;
    s->start[0] = 0;
    for (size_t b = 0; b < n; b++)
        s->start[b + 1] = rows += b % 3 + 1;
    for (size_t i = 0; i < rows; i++)
        s->row[i] = first + i;
    s->bags = (pboost_bags){rows, n, s->row, s->start};
    return &s->bags;
}

static void rounds_are_appended(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    some_bags s;
    size_t bags = 0, rows = 0;

    for (size_t round = 0; round < 60; round++) {
        size_t n = round * 37 % MAX_BAGS;
        const pboost_bags *asked = fill(&s, n, rows);
        assert_ok(pboost_answers_ask(&log, &oracle, asked, &err), err);
        assert_int_equal(e.last_round, round);
        bags += n;
        rows += asked->n_rows;
        assert_int_equal(log.n_rounds, round + 1);
        assert_int_equal(log.n_bags, bags);
        assert_int_equal(log.n_rows, rows);
        assert_int_equal(log.round_start[round + 1], bags);
        assert_true(log.round_capacity > log.n_rounds && log.bag_capacity > log.n_bags);
        assert_true(log.row_capacity >= log.n_rows);
    }
    assert_int_equal(log.round_start[0], 0);
    assert_int_equal(log.start[0], 0);
    assert_int_equal(log.start[bags], rows);
    for (size_t i = 0; i < rows; i++)
        assert_int_equal(log.row[i], i);
    for (size_t b = 0; b < bags; b++) {
        size_t size = log.start[b + 1] - log.start[b];
        assert_in_range(size, 1, 3);
        assert_true(log.mean[b] == (double)log.start[b]);
        assert_true(log.noise_variance[b] == pboost_rules_noise_variance(&oracle.rules, size));
        assert_true(log.noise_variance[b] > 0);
    }
    pboost_answers_clear(&log);
    assert_null(log.row);
    assert_int_equal(log.n_bags, 0);
    pboost_answers_clear(&log);
}

/* Laplace only if all noise is: that of given answers is not known, and once other noise is in the
 * log it stays there. */
static void the_log_knows_the_law_of_its_noise(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    some_bags s;
    const double mean[] = {1.0}, noise[] = {0.5};

    assert_ok(pboost_answers_ask(&log, &oracle, fill(&s, 5, 0), &err), err);
    assert_ok(pboost_answers_append(&log, fill(&s, 1, 100), mean, NULL, &err), err);
    assert_false(log.other_noise);
    assert_ok(pboost_answers_append(&log, fill(&s, 1, 200), mean, noise, &err), err);
    assert_true(log.other_noise);
    assert_ok(pboost_answers_ask(&log, &oracle, fill(&s, 5, 300), &err), err);
    assert_true(log.other_noise);
    pboost_answers_clear(&log);
    assert_false(log.other_noise);

    oracle.rules.mechanism = PBOOST_GAUSSIAN;
    oracle.rules.delta = (pboost_rational){1, 1000000};
    assert_ok(pboost_answers_ask(&log, &oracle, fill(&s, 5, 0), &err), err);
    assert_true(log.other_noise);
    pboost_answers_clear(&log);
}

/* As a user sees it: by calls alone, and empty at first. */
static void what_was_answered_can_be_read(void **state)
{
    (void)state;
    pboost_error err;
    pboost_answers *log;
    some_bags s;
    const double first[] = {1.5, 2.5}, second[] = {3.5}, noise[] = {0.25};

    assert_ok(pboost_answers_create(&log, &err), err);
    assert_int_equal(pboost_answers_rounds(log), 0);
    assert_int_equal(pboost_answers_bags(log).n_bags, 0);
    assert_int_equal(pboost_answers_round_start(log, 0), 0);
    assert_ok(pboost_answers_append(log, fill(&s, 2, 0), first, NULL, &err), err);
    size_t rows = s.bags.n_rows;
    assert_ok(pboost_answers_append(log, fill(&s, 1, rows), second, noise, &err), err);
    pboost_bags bags = pboost_answers_bags(log);
    assert_int_equal(bags.n_bags, 3);
    assert_int_equal(bags.n_rows, rows + s.bags.n_rows);
    assert_int_equal(bags.row[bags.start[2]], rows);
    assert_int_equal(pboost_answers_rounds(log), 2);
    assert_int_equal(pboost_answers_round_start(log, 0), 0);
    assert_int_equal(pboost_answers_round_start(log, 1), 2);
    assert_int_equal(pboost_answers_round_start(log, 2), 3);
    assert_int_equal(pboost_answers_width(log), 1);
    assert_true(pboost_answers_mean(log)[2] == 3.5);
    assert_true(pboost_answers_noise_variance(log)[1] == 0.0);
    assert_true(pboost_answers_noise_variance(log)[2] == 0.25);
    pboost_answers_free(log);
    pboost_answers_free(NULL);
}

static void capacity_at_least_doubles(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    some_bags s;
    size_t changes = 0, last = 0;
    for (size_t round = 0; round < 2000; round++) {
        assert_ok(pboost_answers_ask(&log, &oracle, fill(&s, 1, round), &err), err);
        changes += log.row_capacity != last;
        last = log.row_capacity;
    }
    assert_true(changes <= 13);
    assert_true(log.row_capacity <= 4096);
    pboost_answers_clear(&log);
}

static void a_failed_question_leaves_the_log_as_it_was(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    some_bags s;
    const pboost_bags *asked = fill(&s, 3, 0);

    e.status = PBOOST_REFUSED;
    assert_fails(pboost_answers_ask(&log, &oracle, asked, &err), PBOOST_REFUSED, err, "as told");
    assert_int_equal(log.n_rounds, 0);
    e.status = PBOOST_OK;
    assert_ok(pboost_answers_ask(&log, &oracle, asked, &err), err);
    e.status = PBOOST_ORACLE;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 90, 6), &err), PBOOST_ORACLE, err,
                 "as");
    e.status = PBOOST_OK;
    e.override = NAN;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 4, 6), &err), PBOOST_ORACLE, err,
                 "answered nan for bag 3");
    e.override = -INFINITY;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 4, 6), &err), PBOOST_ORACLE, err,
                 "answered -inf for bag 3");
    assert_int_equal(log.n_rounds, 1);
    assert_int_equal(log.n_bags, 3);
    assert_int_equal(log.n_rows, 6);
    assert_int_equal(log.round_start[1], 3);
    assert_int_equal(log.start[3], 6);
    assert_true(log.mean[2] == 3);
    e.override = 0;
    assert_ok(pboost_answers_ask(&log, &oracle, fill(&s, 4, 6), &err), err);
    assert_int_equal(e.last_round, 1);
    assert_int_equal(log.n_bags, 7);
    pboost_answers_clear(&log);
}

/* More bags than memory could hold: refused before the oracle is asked, nothing is spent. */
static void room_is_made_before_the_question(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    pboost_bags huge = {SIZE_MAX / 2, 1, NULL, NULL}, many = {1, SIZE_MAX, NULL, NULL};
    assert_fails(pboost_answers_ask(&log, &oracle, &huge, &err), PBOOST_NO_MEMORY, err, "memory");
    assert_fails(pboost_answers_ask(&log, &oracle, &many, &err), PBOOST_NO_MEMORY, err, "memory");
    assert_int_equal(e.asked, 0);
    assert_int_equal(log.n_rounds, 0);
    pboost_answers_clear(&log);
}

/* Bags whose offsets do not lead through their rows are refused before anything is read or asked.
 */
static void malformed_bags_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_oracle oracle = echo_oracle(&e);
    pboost_answers log = {0};
    some_bags s;
    const double mean[3] = {1.0, 2.0, 3.0};
    const struct {
        size_t place, start;
        const char *message;
    } wrong[] = {{0, 1, "cover rows 1 to 6 of a list of 6"},
                 {3, 5, "cover rows 0 to 5 of a list of 6"},
                 {3, 600, "cover rows 0 to 600 of a list of 6"},
                 {2, 0, "bag 1 ends at 0, but starts at 1"},
                 {1, 700, "bag 0 ends at 700, but starts at 0 of 6 rows"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fill(&s, 3, 0);
        s.start[wrong[i].place] = wrong[i].start;
        assert_fails(pboost_answers_append(&log, &s.bags, mean, NULL, &err), PBOOST_INVALID, err,
                     wrong[i].message);
        assert_fails(pboost_answers_ask(&log, &oracle, &s.bags, &err), PBOOST_INVALID, err,
                     wrong[i].message);
    }
    fill(&s, 3, 0);
    s.start[1] = 0;
    assert_fails(pboost_answers_append(&log, &s.bags, mean, NULL, &err), PBOOST_BAD_DATA, err,
                 "bag 0 has no rows");
    oracle.rules.min_bag = 2;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 3, 0), &err), PBOOST_REFUSED, err,
                 "bag 0 has 1 rows, but min_bag is 2");
    s.bags = (pboost_bags){6, 0, s.row, s.start};
    assert_fails(pboost_answers_append(&log, &s.bags, mean, NULL, &err), PBOOST_INVALID, err,
                 "6 rows, but no bags");
    assert_int_equal(e.asked, 0);
    assert_int_equal(log.n_rounds, 0);
    pboost_answers_clear(&log);
}

/* Without valid rules the noise in the answers is not known: nothing is asked. */
static void senseless_rules_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    echo e = {0};
    pboost_answers log = {0};
    some_bags s;
    pboost_oracle oracle = echo_oracle(&e);
    oracle.rules.bounded = false;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 3, 0), &err), PBOOST_INVALID, err,
                 "labels have no bounds");
    oracle = echo_oracle(&e);
    oracle.rules.upper = NAN;
    assert_fails(pboost_answers_ask(&log, &oracle, fill(&s, 3, 0), &err), PBOOST_INVALID, err,
                 "bounds are [0, nan]");
    assert_int_equal(e.asked, 0);
    pboost_answers_clear(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_appended),
        cmocka_unit_test(the_log_knows_the_law_of_its_noise),
        cmocka_unit_test(what_was_answered_can_be_read),
        cmocka_unit_test(capacity_at_least_doubles),
        cmocka_unit_test(a_failed_question_leaves_the_log_as_it_was),
        cmocka_unit_test(room_is_made_before_the_question),
        cmocka_unit_test(malformed_bags_are_refused),
        cmocka_unit_test(senseless_rules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
