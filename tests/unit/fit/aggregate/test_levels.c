/* Levels of a category: the ridge that a fit chooses shrinks each by what is known of it. */
#include "answers_support.h"

enum { LEVELS = 40, ROWS = 4000 };

/* The indicators of levels 1 .. LEVELS of a category; level 0 has none.  Level j has about 1 / (j +
 * 1) of the rows of level 0, and an effect that is normal. */
typedef struct {
    test_table table;
    double effect[LEVELS];
    size_t rows[LEVELS];
} levels;

static levels make_levels(double noise, uint64_t seed)
{
    levels l = {.table = make_table(PBOOST_LINEAR, ROWS, LEVELS, seed)};
    test_rng rng = {seed + 100};
    double total = 0.0;
    for (size_t j = 0; j < LEVELS; j++)
        l.effect[j] = normal(&rng);
    for (size_t j = 0; j <= LEVELS; j++)
        total += 1.0 / (double)(j + 1);
    memset(l.table.x, 0, ROWS * LEVELS * sizeof *l.table.x);
    for (size_t i = 0; i < ROWS; i++) {
        double u = uniform(&rng) * total;
        size_t j = 0;
        while (j < LEVELS && (u -= 1.0 / (double)(j + 1)) > 0.0)
            j++;
        l.table.y[i] = noise * normal(&rng);
        if (j == 0)
            continue;
        l.table.x[i * LEVELS + j - 1] = 1.0;
        l.table.y[i] += l.effect[j - 1];
        l.rows[j - 1]++;
    }
    return l;
}

static double label_mean(const levels *l, size_t level)
{
    double sum = 0.0;
    for (size_t i = 0; i < ROWS; i++)
        sum += l->table.x[i * LEVELS + level] * l->table.y[i];
    return sum / (double)l->rows[level];
}

/* With one row a bag and no intercept, the weight of a level is its mean times n / (n + lambda), n
 * being its rows.  The lambda of the units of x is the same for all levels. */
static void levels_have_the_same_ridge(void **state)
{
    (void)state;
    size_t category[LEVELS];
    levels l = make_levels(0.5, 1);
    pboost_answers a = make_answers(&l.table, 1, 0.0, false, 1);
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    o.intercept = false;
    for (size_t j = 0; j < LEVELS; j++)
        category[j] = 1;
    for (int shared = 0; shared < 2; shared++) {
        o.category_of = shared ? category : NULL;
        fitted f = fit_or_fail(&l.table.matrix, NULL, NULL, &a, &o);
        double least = INFINITY, most = 0.0;
        for (size_t j = 0; j < LEVELS; j++) {
            double n = (double)l.rows[j];
            double lambda = n * (label_mean(&l, j) / f.coef.theta[j] - 1.0);
            assert_true(n > 0.0 && lambda > 0.0);
            least = fmin(least, lambda);
            most = fmax(most, lambda);
        }
        assert_true(shared ? most < least * (1.0 + 1e-6) : most > 10.0 * least);
        fitted_free(&f);
    }
    pboost_answers_clear(&a);
    free_table(&l.table);
}

/* A ridge that is given is for the columns as they are. */
static void a_given_ridge_does_not_change(void **state)
{
    (void)state;
    const size_t category[LEVELS] = {1, 1, 1, 2, 2, 2};
    levels l = make_levels(0.5, 2);
    pboost_answers a = make_answers(&l.table, 4, 0.01, false, 2);
    pboost_fit_options o = options_for(PBOOST_LINEAR, pboost_l2_fixed(3.0));
    fitted apart = fit_or_fail(&l.table.matrix, NULL, NULL, &a, &o);
    o.category_of = category;
    fitted shared = fit_or_fail(&l.table.matrix, NULL, NULL, &a, &o);
    assert_same_coef(&apart.coef, &shared.coef, 1e-9);
    fitted_free(&apart);
    fitted_free(&shared);
    pboost_answers_clear(&a);
    free_table(&l.table);
}

static double squared_error(const levels *l, const pboost_answers *a, const size_t *category_of)
{
    pboost_fit_options o = options_for(PBOOST_LINEAR, L2_AUTO);
    double sum = 0.0;
    o.category_of = category_of;
    fitted f = fit_or_fail(&l->table.matrix, NULL, NULL, a, &o);
    for (size_t j = 0; j < LEVELS; j++)
        sum += (f.coef.theta[j] - l->effect[j]) * (f.coef.theta[j] - l->effect[j]);
    fitted_free(&f);
    return sum;
}

/* Without it rare levels, of which answers say least, would be shrunk least. */
static void rare_levels_are_closer_to_their_effects(void **state)
{
    (void)state;
    size_t category[LEVELS];
    double apart = 0.0, shared = 0.0;
    for (size_t j = 0; j < LEVELS; j++)
        category[j] = 1;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        levels l = make_levels(2.0, seed);
        pboost_answers a = make_answers(&l.table, 8, 0.5, false, seed);
        apart += squared_error(&l, &a, NULL);
        shared += squared_error(&l, &a, category);
        pboost_answers_clear(&a);
        free_table(&l.table);
    }
    print_message("squared error of levels that share a scale over that of others: %.2f\n",
                  shared / apart);
    assert_true(shared < 0.8 * apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_the_same_ridge),
        cmocka_unit_test(a_given_ridge_does_not_change),
        cmocka_unit_test(rare_levels_are_closer_to_their_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
