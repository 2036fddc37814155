/* Bags of which the table has a sample, or the means alone. */
#include "fit_support.h"

#include <priorboost/trainer.h>

/* Two columns of noise around district means that differ in the first column only. */
enum { BAGS = 40, EACH = 25, ROWS = BAGS * EACH, COLS = 2 };

typedef struct {
    double x[ROWS * COLS], persons[BAGS], fraction[COLS];
    size_t row[ROWS], start[BAGS + 1];
    bool limited;
    pboost_bags bags;
} sample;

static void draw(sample *s, double between, double persons, uint64_t seed)
{
    test_rng rng = {seed};
    for (size_t b = 0; b < BAGS; b++) {
        double mean = between * normal(&rng), other = between * normal(&rng);
        s->start[b] = b * EACH;
        s->persons[b] = persons;
        for (size_t i = b * EACH; i < (b + 1) * EACH; i++) {
            s->row[i] = ROWS - 1 - i; /* bags are not in the order of the rows */
            s->x[s->row[i] * COLS] = mean + normal(&rng);
            s->x[s->row[i] * COLS + 1] = other + 2.0 * normal(&rng);
        }
    }
    s->start[BAGS] = ROWS;
    s->bags = (pboost_bags){ROWS, BAGS, s->row, s->start};
}

static double bag_mean(const sample *s, const double *x, size_t b, size_t j)
{
    double sum = 0.0;
    for (size_t i = s->start[b]; i < s->start[b + 1]; i++)
        sum += x[s->row[i] * COLS + j] / EACH;
    return sum;
}

static pboost_status calibrate(sample *s, pboost_error *err)
{
    return pboost_bags_calibrate(s->x, COLS, &s->bags, s->persons, s->fraction, &s->limited, err);
}

static void a_whole_population_is_left_alone(void **state)
{
    (void)state;
    static sample s, before;
    draw(&s, 1.0, EACH, 1);
    before = s;
    assert_int_equal(calibrate(&s, NULL), PBOOST_OK);
    assert_memory_equal(s.x, before.x, sizeof s.x);
    assert_true(s.fraction[0] == 0.0 && !s.limited);
}

/* Rows of a bag move together, towards the mean of all bags, and less where bags differ more. */
static void means_of_samples_are_shrunk(void **state)
{
    (void)state;
    static sample s, before;
    draw(&s, 1.0, 1e9, 2);
    before = s;
    assert_int_equal(calibrate(&s, NULL), PBOOST_OK);
    double old[COLS] = {0}, new[COLS] = {0};
    for (size_t b = 0; b < BAGS; b++) {
        size_t first = s.row[s.start[b]];
        for (size_t j = 0; j < COLS; j++) {
            double shift = s.x[first * COLS + j] - before.x[first * COLS + j];
            for (size_t i = s.start[b]; i < s.start[b + 1]; i++)
                assert_true(fabs(s.x[s.row[i] * COLS + j] - before.x[s.row[i] * COLS + j] - shift) <
                            1e-12);
            old[j] += bag_mean(&before, before.x, b, j) / BAGS;
            new[j] += bag_mean(&s, s.x, b, j) / BAGS;
        }
    }
    for (size_t j = 0; j < COLS; j++) {
        double was = 0.0, is = 0.0;
        assert_true(fabs(old[j] - new[j]) < 1e-12);
        for (size_t b = 0; b < BAGS; b++) {
            was += pow(bag_mean(&before, before.x, b, j) - old[j], 2);
            is += pow(bag_mean(&s, s.x, b, j) - new[j], 2);
        }
        /* All bags have the same number of rows: the variance falls from T to (T - W)^2 / T. */
        assert_true(fabs(is / was - pow(1.0 - s.fraction[j], 2)) < 0.01);
        double sampling = (j + 1.0) * (j + 1.0) / EACH / (was / (BAGS - 1)); /* W/T by the draw */
        assert_true(fabs(s.fraction[j] / sampling - 1.0) < 0.15);
    }
    assert_false(s.limited);
}

static void bags_that_differ_by_chance_are_told(void **state)
{
    (void)state;
    static sample s;
    draw(&s, 0.0, 1e9, 3);
    assert_int_equal(calibrate(&s, NULL), PBOOST_OK);
    assert_true(s.limited);
    for (size_t i = 0; i < ROWS * COLS; i++)
        assert_true(isfinite(s.x[i]));
}

static void samples_that_are_none_are_refused(void **state)
{
    (void)state;
    static sample s;
    pboost_error err = {0};
    draw(&s, 1.0, EACH - 1, 4);
    assert_int_equal(calibrate(&s, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "bag 0 has 25 rows of 24 persons"));
    draw(&s, 1.0, 1000, 4);
    s.start[0] = EACH - 1;
    assert_int_equal(calibrate(&s, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "at least 2"));
    draw(&s, 1.0, 1000, 4);
    s.bags.n_bags = 1;
    assert_int_equal(calibrate(&s, &err), PBOOST_BAD_DATA);
}

static void points_have_the_means_and_variances(void **state)
{
    (void)state;
    const double mean[] = {1.0, 2.0, 3.0, -1.0, 0.0, 5.0};
    const double sd[] = {0.5, 0.0, 2.0, 0.0, 0.0, 1.0};
    double out[2 * 4 * 3];
    assert_int_equal(pboost_spread_points(sd, 2, 3), 4);
    pboost_spread_rows(out, mean, sd, 2, 3);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++) {
            double sum = 0.0, square = 0.0;
            for (size_t p = 0; p < 4; p++) {
                double e = out[(i * 4 + p) * 3 + j] - mean[i * 3 + j];
                sum += e;
                square += e * e / 4.0;
            }
            assert_true(fabs(sum) < 1e-14);
            assert_true(fabs(square - sd[i * 3 + j] * sd[i * 3 + j]) < 1e-14);
        }
    const double none[] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    assert_int_equal(pboost_spread_points(none, 2, 3), 1);
    pboost_spread_rows(out, mean, none, 2, 3);
    assert_memory_equal(out, mean, sizeof mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_population_is_left_alone),
        cmocka_unit_test(means_of_samples_are_shrunk),
        cmocka_unit_test(bags_that_differ_by_chance_are_told),
        cmocka_unit_test(samples_that_are_none_are_refused),
        cmocka_unit_test(points_have_the_means_and_variances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
