/* Answers of several numbers: their rules, what the oracle in memory answers, the log of answers,
 * and that models of one number refuse them before anything is asked. */
#include "testing.h"

#include "data/answers.h"

static pboost_rules classes(size_t width)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = 2;
    rules.answer = PBOOST_ANSWER_CLASSES;
    rules.width = width;
    return rules;
}

static const pboost_label_column TWO_COLUMNS[] = {{0, 1, 1, 1}, {-2, 2, 0.5, 3}};

static pboost_rules columns(void)
{
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = 2;
    rules.answer = PBOOST_ANSWER_COLUMNS;
    rules.width = 2;
    rules.bounded = true;
    rules.columns = TWO_COLUMNS;
    return rules;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* One label substituted changes two counts by 1, so each has half of epsilon for any number of
 * classes; columns have their shares, which add up to epsilon. */
static void epsilon_is_divided_exactly(void **state)
{
    (void)state;
    pboost_error err;
    pboost_rules rules, number;
    for (size_t width = 3; width < 12; width += 4) {
        rules = classes(width);
        rules.epsilon = (pboost_rational){7, 10};
        assert_ok(pboost_rules_number(&number, &rules, width - 1, &err), err);
        assert_int_equal(number.epsilon.num, 7);
        assert_int_equal(number.epsilon.den, 20);
        assert_true(number.bounded && number.lower == 0 && number.upper == 1 && number.step == 1);
        assert_int_equal(number.answer, PBOOST_ANSWER_MEAN);
    }
    rules = columns();
    rules.epsilon = (pboost_rational){4, 5};
    assert_ok(pboost_rules_number(&number, &rules, 0, &err), err);
    assert_int_equal(number.epsilon.num, 1);
    assert_int_equal(number.epsilon.den, 5);
    assert_ok(pboost_rules_number(&number, &rules, 1, &err), err);
    assert_int_equal(number.epsilon.num, 3);
    assert_int_equal(number.epsilon.den, 5);
    assert_true(number.lower == -2 && number.upper == 2 && number.step == 0.5);
    assert_fails(pboost_rules_number(&number, &rules, 2, &err), PBOOST_INVALID, err,
                 "the last is 1");
    rules.epsilon = (pboost_rational){1, UINT64_C(1) << 63};
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "fewer digits");
}

static void variances_are_those_of_each_number(void **state)
{
    (void)state;
    pboost_error err;
    double variance[5];
    pboost_rules rules = classes(5), alone = PBOOST_RULES_INIT;
    rules.epsilon = (pboost_rational){1, 1};
    assert_ok(pboost_rules_noise_variances(variance, &rules, 10, &err), err);
    double p = exp(-0.5);
    for (size_t j = 0; j < 5; j++)
        assert_close(variance[j], 2 * p / ((1 - p) * (1 - p)) / 100, 1e-12);
    assert_true(isnan(pboost_rules_noise_variance(&rules, 10)));

    rules = columns();
    rules.epsilon = (pboost_rational){1, 1};
    assert_ok(pboost_rules_noise_variances(variance, &rules, 10, &err), err);
    alone.bounded = true;
    alone.lower = -2;
    alone.upper = 2;
    alone.step = 0.5;
    alone.epsilon = (pboost_rational){3, 4};
    assert_close(variance[1], pboost_rules_noise_variance(&alone, 10), 1e-12);
}

static void contradictory_rules_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    static const pboost_label_column free_share[] = {{0, 1, 1, 1}, {0, 1, 1, 0}};
    static const pboost_label_column wrong[] = {{0, 1, 1, 1}, {1, 0, 0, 1}};
    pboost_rules rules = classes(2);
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "two classes are a mean");
    rules.width = 1;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "from 3 to 1024");
    rules.width = 1025;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "from 3 to 1024");
    rules = classes(3);
    rules.bounded = true;
    rules.upper = 2;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "bounds are [0, 2]");
    rules = classes(3);
    rules.round = true;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "cannot be rounded");
    rules = classes(3);
    rules.answer = (pboost_answer)3;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "answer 3 is unknown");
    rules = classes(3);
    rules.answer = PBOOST_ANSWER_MEAN;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "a mean is 1 number");
    rules = columns();
    rules.columns = free_share;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "column 1 in epsilon is 0");
    rules.columns = wrong;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "bounds are [1, 0]");
    rules = columns();
    rules.bounded = false;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "bounded is false");
    rules = classes(3);
    rules.columns = TWO_COLUMNS;
    assert_fails(pboost_rules_check(&rules, &err), PBOOST_INVALID, err, "an answer is classes");
}

/* ---- The oracle in memory -------------------------------------------------------------------- */

enum { N = 6 };
static const double CLASS[N] = {0, 2, 2, 1, 3, 0};
static const double PAIRS[2 * N] = {0, -2, 1, 0.5, 1, 2, 0, 1.3, 0, 0, 1, -0.5};
static size_t ROW[N] = {1, 2, 5, 0, 3, 4}, START[] = {0, 3, 6};
static const pboost_bags BAGS = {N, 2, ROW, START};

static void ask_memory(double *answer, const double *label, const pboost_rules *rules)
{
    pboost_error err;
    pboost_memory_oracle *oracle;
    double again[8];
    assert_ok(pboost_memory_oracle_create(&oracle, label, N, rules, NULL, &err), err);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    assert_int_equal(face.rules.width, rules->width);
    assert_ok(face.ask(face.self, 0, &BAGS, answer, &err), err);
    assert_fails(face.ask(face.self, 1, &BAGS, again, &err), PBOOST_REFUSED, err, "is spent");
    assert_true(again[2 * rules->width - 1] == 0); /* nothing is left behind of what was read */
    assert_int_equal(pboost_memory_oracle_rows_spent(oracle), N);
    pboost_memory_oracle_free(oracle);
}

static void proportions_and_means_are_by_bag(void **state)
{
    (void)state;
    double answer[8];
    pboost_rules rules = classes(4);
    ask_memory(answer, CLASS, &rules);
    static const double share[] = {1 / 3.0, 0, 2 / 3.0, 0, 1 / 3.0, 1 / 3.0, 0, 1 / 3.0};
    for (size_t i = 0; i < 8; i++)
        assert_close(answer[i], share[i], 1e-15);
    rules = columns();
    ask_memory(answer, PAIRS, &rules);
    static const double on_grid[] = {1, 2 / 3.0, 0, -0.5 / 3}; /* 1.3 is 1.5 on the grid */
    for (size_t i = 0; i < 4; i++)
        assert_close(answer[i], on_grid[i], 1e-15);
    rules.columns = NULL;
    rules.bounded = false;
    ask_memory(answer, PAIRS, &rules);
    assert_close(answer[3], (-2 + 1.3 + 0) / 3, 1e-15);
}

static void bad_labels_are_refused(void **state)
{
    (void)state;
    pboost_error err;
    pboost_memory_oracle *oracle;
    pboost_rules rules = classes(4);
    const double wrong[] = {4, -1, 0.5, NAN};
    for (size_t i = 0; i < 4; i++) {
        double label[N] = {0, 1, wrong[i], 3, 0, 0};
        assert_fails(pboost_memory_oracle_create(&oracle, label, N, &rules, NULL, &err),
                     PBOOST_BAD_DATA, err, "the class of row 2");
    }
    double label[2 * N] = {0};
    label[7] = 2.5;
    rules = columns();
    assert_fails(pboost_memory_oracle_create(&oracle, label, N, &rules, NULL, &err),
                 PBOOST_BAD_DATA, err, "the label of row 3 in column 1 is 2.5");
}

enum { MANY = 4000, SIZE = 4 };

/* Counts and columns have the noise that is stated, and noise of one number says nothing about
 * that of another. */
static void noise_is_stated_and_independent(void **state)
{
    (void)state;
    pboost_error err;
    static double label[2 * MANY * SIZE], answer[3 * MANY];
    static size_t row[MANY * SIZE], start[MANY + 1];
    pboost_bags bags = {MANY * SIZE, MANY, row, start};
    pboost_memory_oracle_options options = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    options.simulated = true;
    for (size_t i = 0; i < MANY * SIZE; i++)
        row[i] = i;
    for (size_t b = 0; b <= MANY; b++)
        start[b] = b * SIZE;
    const pboost_rules both[] = {classes(3), columns()};
    for (size_t kind = 0; kind < 2; kind++) {
        pboost_rules rules = both[kind];
        pboost_memory_oracle *oracle;
        double stated[3], square[3] = {0}, product = 0;
        rules.epsilon = (pboost_rational){1, 2};
        assert_ok(pboost_rules_noise_variances(stated, &rules, SIZE, &err), err);
        assert_ok(pboost_memory_oracle_create(&oracle, label, MANY * SIZE, &rules, &options, &err),
                  err);
        pboost_oracle face = pboost_memory_oracle_interface(oracle);
        assert_ok(face.ask(face.self, 0, &bags, answer, &err), err);
        for (size_t b = 0; b < MANY; b++) {
            const double *a = answer + b * rules.width;
            for (size_t j = 0; j < rules.width; j++) {
                double noise = a[j] - (kind == 0 && j == 0 ? 1 : 0);
                square[j] += noise * noise / MANY;
            }
            product += (a[0] - (kind == 0 ? 1 : 0)) * a[1] / MANY;
        }
        for (size_t j = 0; j < rules.width; j++)
            assert_true(fabs(square[j] / stated[j] - 1) < 5 * sqrt(5.0 / MANY));
        assert_true(fabs(product) < 5 * sqrt(stated[0] * stated[1] / MANY));
        pboost_memory_oracle_free(oracle);
    }
}

/* ---- The log, and models of one number ------------------------------------------------------- */

static void the_log_keeps_vectors(void **state)
{
    (void)state;
    pboost_error err;
    pboost_answers *log;
    pboost_memory_oracle *oracle;
    pboost_rules rules = classes(4);
    static const double other[] = {0.5, 0.5};
    rules.epsilon = (pboost_rational){1, 1};
    assert_ok(pboost_answers_create(&log, &err), err);
    assert_int_equal(pboost_answers_width(log), 1);
    assert_ok(pboost_memory_oracle_create(&oracle, CLASS, N, &rules, NULL, &err), err);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    assert_ok(pboost_answers_ask(log, &face, &BAGS, &err), err);
    assert_int_equal(pboost_answers_width(log), 4);
    double p = exp(-0.5), variance = 2 * p / ((1 - p) * (1 - p)) / 9;
    for (size_t i = 0; i < 8; i++)
        assert_close(pboost_answers_noise_variance(log)[i], variance, 1e-12);
    assert_fails(pboost_answers_append(log, &BAGS, other, NULL, &err), PBOOST_INVALID, err,
                 "answers of 1 numbers a bag are added to a log of answers of 4");
    static const double given[] = {0, 1, 2, 3, 4, 5, 6, 7}, bad[] = {0, 1, 2, 3, 4, 5, NAN, 7};
    assert_ok(pboost_answers_append_vectors(log, &BAGS, 4, given, NULL, &err), err);
    assert_close(pboost_answers_mean(log)[8 + 5], 5, 0);
    assert_fails(pboost_answers_append_vectors(log, &BAGS, 4, bad, NULL, &err), PBOOST_BAD_DATA,
                 err, "the mean of bag 1, number 2 is nan");
    assert_int_equal(pboost_answers_rounds(log), 2);
    pboost_answers_free(log);
    pboost_memory_oracle_free(oracle);
}

/* What a fit of one label column takes: its numbers, with the rounds and bags of the whole log. */
static void a_number_of_the_log_is_a_log(void **state)
{
    (void)state;
    pboost_error err;
    static const double first[] = {0, 1, 2, 3, 4, 5}, noise[] = {9, 8, 7, 6, 5, 4};
    static const double second[] = {10, 11, 12, 13, 14, 15};
    pboost_answers *log, *one;
    assert_ok(pboost_answers_create(&log, &err), err);
    assert_ok(pboost_answers_append_vectors(log, &BAGS, 3, first, noise, &err), err);
    assert_ok(pboost_answers_append_vectors(log, &BAGS, 3, second, NULL, &err), err);
    assert_ok(pboost_answers_number(&one, log, 1, &err), err);
    pboost_bags bags = pboost_answers_bags(one), all = pboost_answers_bags(log);
    assert_int_equal(pboost_answers_width(one), 1);
    assert_int_equal(pboost_answers_rounds(one), 2);
    assert_int_equal(pboost_answers_round_start(one, 1), 2);
    assert_int_equal(bags.n_bags, 4);
    assert_memory_equal(bags.row, all.row, all.n_rows * sizeof *all.row);
    assert_memory_equal(bags.start, all.start, 5 * sizeof *all.start);
    static const double mean[] = {1, 4, 11, 14}, variance[] = {8, 5, 0, 0};
    assert_memory_equal(pboost_answers_mean(one), mean, sizeof mean);
    assert_memory_equal(pboost_answers_noise_variance(one), variance, sizeof variance);
    pboost_answers_free(one);
    assert_fails(pboost_answers_number(&one, log, 3, &err), PBOOST_INVALID, err, "the last is 2");
    assert_null(one);
    pboost_answers_free(log);
}

static void models_of_one_number_refuse_vectors(void **state)
{
    (void)state;
    pboost_error err;
    double x[N] = {1, 2, 3, 4, 5, 6}, theta[1] = {0}, deviance;
    pboost_matrix matrix = pboost_matrix_f64(x, N, 1);
    pboost_rules rules = classes(4);
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_memory_oracle *oracle;
    pboost_run *run;
    pboost_coef coef = {1, theta, 0};
    pboost_answers *log;
    assert_ok(pboost_memory_oracle_create(&oracle, CLASS, N, &rules, NULL, &err), err);
    pboost_oracle face = pboost_memory_oracle_interface(oracle);
    for (size_t width = 1; width <= 4; width += 3) {
        options.width = width;
        assert_fails(pboost_run_create(&run, PLAIN(matrix), &face, &fit, &options, &err),
                     PBOOST_INVALID, err, "answers with classes, 4 numbers a bag");
    }
    assert_int_equal(pboost_memory_oracle_rows_spent(oracle), 0);

    assert_ok(pboost_answers_create(&log, &err), err);
    assert_ok(pboost_answers_ask(log, &face, &BAGS, &err), err);
    assert_fails(pboost_answers_fit(&coef, NULL, NULL, PLAIN(matrix), log, 0, &fit, &err),
                 PBOOST_INVALID, err, "4 numbers a bag");
    assert_fails(
        pboost_bag_deviance(&deviance, PBOOST_LINEAR, PLAIN(matrix), log, 0, 2, &coef, 1, &err),
        PBOOST_INVALID, err, "4 numbers a bag");
    pboost_mixture mixture;
    pboost_mixture_report report;
    pboost_mixture_options mixing = PBOOST_MIXTURE_OPTIONS_INIT;
    assert_fails(pboost_mixture_fit(&mixture, &report, PLAIN(matrix), NULL, log, 0, &mixing, &err),
                 PBOOST_INVALID, err, "4 numbers a bag");
    pboost_forest forest;
    pboost_forest_report grown;
    pboost_forest_options growing = PBOOST_FOREST_OPTIONS_INIT;
    double intercept;
    assert_fails(pboost_forest_fit(&forest, &intercept, &grown, NULL, NULL, NULL, NULL, log, 0,
                                   &growing, &err),
                 PBOOST_INVALID, err, "4 numbers a bag");
    pboost_samples samples = {.x = &matrix, .n = N};
    double information[4];
    assert_fails(pboost_information(information, PBOOST_LINEAR, &samples, &BAGS, &rules, &coef, 1,
                                    true, 1, &err),
                 PBOOST_INVALID, err, "4 numbers a bag");
    pboost_answers_free(log);
    pboost_memory_oracle_free(oracle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilon_is_divided_exactly),
        cmocka_unit_test(variances_are_those_of_each_number),
        cmocka_unit_test(contradictory_rules_are_refused),
        cmocka_unit_test(proportions_and_means_are_by_bag),
        cmocka_unit_test(bad_labels_are_refused),
        cmocka_unit_test(noise_is_stated_and_independent),
        cmocka_unit_test(the_log_keeps_vectors),
        cmocka_unit_test(a_number_of_the_log_is_a_log),
        cmocka_unit_test(models_of_one_number_refuse_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
