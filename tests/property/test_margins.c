/* Margins: sums of labels by one key and by two keys, which share rows, with and without noise, and
 * some labels.  Estimates are not biased, and 95 % intervals cover; those of a fit that takes the
 * sums for independent do not.  The bounds leave room for 4 standard deviations of a fraction of
 * 4 weights in 60 runs.
 *
 *     property_margins RUNS    prints all cases instead */
#include "margins_support.h"

#include "fit/aggregate/aggregate.h"
#include "fit/overlap/overlap.h"

enum { RUNS = 60, ROWS = 3000, COLUMNS = 4, KEYS = 3, LEVELS = 6 };

static const double THETA[COLUMNS] = {0.8, -0.5, 0.4, 0.0};

typedef struct {
    pboost_family family;
    double noise;  /* variance in a sum */
    size_t labels; /* every so many rows is labelled; 0: none */
    bool apart;    /* fitted as if the sums were independent */
} margin_case;

typedef struct {
    double covered, z2, first; /* z2: mean square of error over standard error; first: of 0.8 */
    size_t failed;
} margin_result;

static test_table draw_table(pboost_family family, uint64_t seed)
{
    test_table t = make_table(family, ROWS, COLUMNS, seed);
    test_rng rng = {seed + 7777};
    for (size_t i = 0; i < ROWS; i++) {
        double eta = -0.4;
        for (size_t j = 0; j < COLUMNS; j++)
            eta += THETA[j] * t.x[i * COLUMNS + j];
        t.y[i] = family == PBOOST_LINEAR     ? eta + normal(&rng)
                 : family == PBOOST_LOGISTIC ? uniform(&rng) < 1.0 / (1.0 + exp(-eta))
                                             : poisson_draw(&rng, exp(eta));
    }
    return t;
}

static void run_once(margin_result *r, const margin_case *c, uint64_t seed)
{
    pboost_fit_options o = options_for(c->family, L2_AUTO);
    test_table t = draw_table(c->family, seed);
    pboost_answers a = make_margins(&t, KEYS, LEVELS, true, c->noise, seed);
    pboost_features features = {.x = t.matrix};
    pboost_fit_report report;
    pboost_coef coef;
    double covariance[(COLUMNS + 1) * (COLUMNS + 1)];
    if (c->labels > 0)
        append_labels(&a, &t, c->labels);
    assert_int_equal(pboost_coef_init(&coef, COLUMNS, NULL), PBOOST_OK);
    assert_int_equal((c->apart ? pboost_aggregate_fit : pboost_overlap_fit)(
                         &coef, &report, covariance, &features, &a, 0, &o, NULL),
                     PBOOST_OK);
    for (size_t j = 0; j < COLUMNS; j++) {
        double z = (coef.theta[j] - THETA[j]) / sqrt(covariance[j * (COLUMNS + 2)]);
        r->covered += fabs(z) <= 1.959964;
        r->z2 += z * z;
    }
    r->first += coef.theta[0];
    r->failed += !report.converged;
    pboost_coef_free(&coef);
    pboost_answers_clear(&a);
    free_table(&t);
}

static margin_result runs_of(margin_case c, size_t runs)
{
    margin_result r = {0};
    for (uint64_t run = 0; run < runs; run++)
        run_once(&r, &c, 1000 + run);
    r.covered /= (double)(runs * COLUMNS);
    r.z2 /= (double)(runs * COLUMNS);
    r.first /= (double)runs;
    return r;
}

static void assert_covers(margin_case c)
{
    margin_result r = runs_of(c, RUNS);
    if (r.failed > 0 || r.covered < 0.894 || r.covered > 0.996 || r.z2 < 0.65 || r.z2 > 1.4 ||
        fabs(r.first - THETA[0]) > 0.04) {
        print_error("%s, noise %g, labels %zu: coverage %.3f, z2 %.3f, 0.8 is %.3f, %zu failed\n",
                    pboost_family_name(c.family), c.noise, c.labels, r.covered, r.z2, r.first,
                    r.failed);
        fail();
    }
}

static void intervals_cover(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        assert_covers((margin_case){.family = (pboost_family)family});
        assert_covers((margin_case){.family = (pboost_family)family, .noise = 100.0});
        assert_covers((margin_case){.family = (pboost_family)family, .labels = 30});
        assert_covers((margin_case){.family = (pboost_family)family, .noise = 100.0, .labels = 30});
    }
}

static void sums_taken_for_independent_do_not_cover(void **state)
{
    (void)state;
    for (int family = 0; family < 3; family++) {
        margin_result r =
            runs_of((margin_case){.family = (pboost_family)family, .apart = true}, 30);
        assert_true(r.covered < 0.85);
    }
}

static void print_all(size_t runs)
{
    printf("%-10s %6s %9s %9s %9s %9s %9s %9s\n", "family", "noise", "labels", "apart", "covers",
           "z2", "0.8 is", "failed");
    for (int i = 0; i < 12; i++) {
        margin_case c = {.family = (pboost_family)(i / 4),
                         .noise = i % 2 == 0 ? 0.0 : 100.0,
                         .labels = i / 2 % 2 == 0 ? 0 : 30};
        margin_result r = runs_of(c, runs);
        c.apart = true;
        margin_result apart = runs_of(c, runs);
        printf("%-10s %6g %9zu %9.3f %9.3f %9.3f %9.3f %9zu\n", pboost_family_name(c.family),
               c.noise, c.labels, apart.covered, r.covered, r.z2, r.first, r.failed);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(sums_taken_for_independent_do_not_cover),
    };
    if (argc > 1) {
        print_all((size_t)strtoul(argv[1], NULL, 10));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
