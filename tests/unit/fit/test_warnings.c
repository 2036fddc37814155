/* Every warning has its condition: a good report gives no warning, and one with a single fault
 * gives exactly that warning. */
#include "testing.h"

#include <math.h>

enum { ROWS = 400, FEATURES = 4 };

typedef struct {
    double x[ROWS * FEATURES], theta[FEATURES];
    pboost_matrix matrix;
    pboost_coef coef;
    pboost_fit_report report;
    pboost_fit_options options;
    pboost_fitted fitted;
    pboost_warning warning[PBOOST_MAX_WARNINGS];
} fit;

/* An aggregate logistic fit with nothing to say. */
static void fit_well(fit *f)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < ROWS * FEATURES; i++)
        f->x[i] = (double)(i * 7919 % 101) / 50.0 - 1.0;
    f->matrix = pboost_matrix_f64(f->x, ROWS, FEATURES);
    f->coef = (pboost_coef){.n = FEATURES, .theta = f->theta};
    f->report = (pboost_fit_report){.converged = true,
                                    .iterations = 7,
                                    .rank = FEATURES,
                                    .first_dropped = SIZE_MAX,
                                    .l2_standardized = true,
                                    .bags = 5000,
                                    .dispersion = 1.0,
                                    .pearson = 1.0,
                                    .freedom = FEATURES + 1,
                                    .eta_sd = 1.0,
                                    .estimator = PBOOST_AGGREGATE};
    f->options = (pboost_fit_options)PBOOST_FIT_OPTIONS_INIT;
    f->options.family = PBOOST_LOGISTIC;
    f->fitted = (pboost_fitted){
        .report = &f->report, .options = &f->options, .x = &f->matrix, .coef = &f->coef};
}

static void assert_nothing(fit *f)
{
    assert_int_equal(pboost_warnings(f->warning, &f->fitted), 0);
    assert_true(pboost_fit_usable(&f->fitted));
}

static void assert_only(fit *f, pboost_warning_kind kind, const char *words)
{
    assert_int_equal(pboost_warnings(NULL, &f->fitted), 1);
    assert_int_equal(pboost_warnings(f->warning, &f->fitted), 1);
    assert_int_equal(f->warning[0].kind, kind);
    assert_int_equal(pboost_fit_usable(&f->fitted), kind > PBOOST_WARNING_CONSTANT);
    if (strstr(f->warning[0].text, words) == NULL)
        fail_msg("'%s' does not say '%s'", f->warning[0].text, words);
}

/* ---- One at a time --------------------------------------------------------------------------- */

static void a_good_fit_has_none(void **state)
{
    (void)state;
    fit f;
    fit_well(&f);
    assert_nothing(&f);
}

static void each_flag_has_its_words(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    f.report.converged = false;
    assert_only(&f, PBOOST_WARNING_CONVERGENCE, "did not converge in 7 iterations: do not use it");
    fit_well(&f);
    f.report.converged = false;
    f.report.separable = true;
    f.report.l2 = 0.0;
    assert_int_equal(pboost_warnings(f.warning, &f.fitted), 2);
    assert_int_equal(f.warning[0].kind, PBOOST_WARNING_CONVERGENCE);
    assert_non_null(strstr(f.warning[0].text, "have no limit: set l2 > 0"));
    fit_well(&f);
    f.report.worse_than_constant = true;
    assert_only(&f, PBOOST_WARNING_CONSTANT, "worse than a constant model does: do not use it");
    fit_well(&f);
    f.theta[FEATURES - 1] = NAN;
    assert_only(&f, PBOOST_WARNING_FINITE, "not a finite number");
    fit_well(&f);
    f.coef.intercept = -INFINITY;
    assert_only(&f, PBOOST_WARNING_FINITE, "not a finite number");
    fit_well(&f);
    f.report.separable = true;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "standard deviation 1: the answers almost separate");
    fit_well(&f);
    f.report.dispersion_floored = true;
    assert_only(&f, PBOOST_WARNING_DISPERSION, "its standard error, 1, is used instead");
    fit_well(&f);
    f.report.mean_masked = true;
    assert_only(&f, PBOOST_WARNING_MEAN, "too few events to estimate even the mean");
    assert_only(&f, PBOOST_WARNING_MEAN, "; use more rows or smaller bags");
    f.report.noisy = true;
    assert_only(&f, PBOOST_WARNING_MEAN, "masks even the mean");
    assert_only(&f, PBOOST_WARNING_MEAN, "; use larger bags, more rows or a larger epsilon");
    fit_well(&f);
    f.fitted.one_row_bags = 1;
    assert_only(&f, PBOOST_WARNING_ONE_ROW, "1 bag has one row: its answer is a label");
    f.fitted.one_row_bags = 2;
    assert_only(&f, PBOOST_WARNING_ONE_ROW, "2 bags have one row: the answer of each is a label");
}

/* The advice uses the names of the front end. */
static void remedies_are_in_the_readers_words(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    f.report.undercovers = true;
    assert_only(&f, PBOOST_WARNING_INTERVALS, "logistic with noise");
    assert_only(&f, PBOOST_WARNING_INTERVALS, "(PBOOST_BAGS_FEATURES)");
    f.fitted.feature_bags = "--bags features";
    assert_only(&f, PBOOST_WARNING_INTERVALS, "(--bags features)");
    fit_well(&f);
    f.report.pearson = 1.7;
    assert_only(&f, PBOOST_WARNING_FORM, "squared bag residuals are 1.7 times larger");
    assert_only(&f, PBOOST_WARNING_FORM, "; PBOOST_COVARIANCE_SANDWICH gives");
    f.fitted.sandwich = "--covariance sandwich";
    assert_only(&f, PBOOST_WARNING_FORM, "; --covariance sandwich gives");
}

/* ---- Thresholds ------------------------------------------------------------------------------ */

static void residuals_must_be_large_and_surprising(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    f.report.pearson = 1.49; /* far more than chance, but not large */
    assert_nothing(&f);
    f.report.pearson = 1.51;
    assert_only(&f, PBOOST_WARNING_FORM, "1.51");
    f.report.bags = 100; /* chance may be 1 + 4 sqrt(2/100) = 1.57 */
    assert_nothing(&f);
    f.report.pearson = 1.58;
    assert_only(&f, PBOOST_WARNING_FORM, "1.58");
    f.options.family = PBOOST_POISSON; /* whose dispersion is estimated */
    assert_nothing(&f);
    f.options.family = PBOOST_LOGISTIC;
    f.report.pearson = NAN;
    assert_nothing(&f);
}

static void parameters_need_answers(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    f.report.bags = 10; /* two for each of the four weights and the intercept */
    assert_nothing(&f);
    f.report.bags = 9;
    assert_only(&f, PBOOST_WARNING_BAGS, "only 9 bags for 5 parameters");
    f.options.intercept = false;
    assert_nothing(&f);
    f.options.intercept = true;
    f.report.estimator = PBOOST_EVENT; /* reports no bags */
    assert_nothing(&f);

    fit_well(&f);
    f.report.freedom = 2.0; /* the intercept and a quarter of the weights */
    assert_nothing(&f);
    f.report.freedom = 1.9;
    assert_only(&f, PBOOST_WARNING_FREEDOM, "1.9 effective parameters of 5");
    assert_only(&f, PBOOST_WARNING_FREEDOM, "; use more rows or smaller bags");
    f.report.noisy = true;
    assert_only(&f, PBOOST_WARNING_FREEDOM, "; use larger bags, more rows or a larger epsilon");
    f.report.l2_standardized = false; /* the penalty is the user's own */
    assert_nothing(&f);
    f.report.l2_standardized = true;
    f.report.mean_masked = true; /* says more */
    assert_only(&f, PBOOST_WARNING_MEAN, "even the mean");
    f.report.mean_masked = false;
    f.report.estimator = PBOOST_INTERPOLATED;
    assert_nothing(&f);
}

/* ---- The linear predictor -------------------------------------------------------------------- */

static void an_aggregate_fit_reports_its_spread(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    f.theta[0] = 1e6; /* is not looked at */
    f.report.eta_sd = 8.0;
    assert_nothing(&f);
    f.report.eta_sd = 8.5;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "deviation 8.5:");
    f.report.eta_sd = -NAN;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "deviation nan:");
    f.report.eta_sd = 9.0;
    f.options.family = PBOOST_POISSON;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "deviation 9, more than counts have");
    f.options.family = PBOOST_LINEAR; /* any spread is as good as another */
    assert_nothing(&f);
}

/* Of other fits it is measured: here half of the rows are at 0 and half at theta. */
static void the_spread_of_other_fits_is_measured(void **state)
{
    (void)state;
    fit f;

    fit_well(&f);
    for (size_t i = 0; i < ROWS; i++)
        f.x[i * FEATURES + 1] = (double)(i % 2);
    f.report.estimator = PBOOST_EVENT;
    f.report.eta_sd = NAN;
    f.report.pearson = NAN;
    f.theta[1] = 15.9;
    f.coef.intercept = 1e6; /* moves all alike */
    assert_nothing(&f);
    f.theta[1] = -16.2;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "deviation 8.1:");
    f.theta[1] = 0.0;
    f.x[7] = NAN;
    assert_only(&f, PBOOST_WARNING_SEPARABLE, "deviation nan:");
}

/* Two rows are the table however often they are repeated; strides of 0 repeat them for free. */
static void many_rows_are_sampled(void **state)
{
    (void)state;
    fit f;
    double row[FEATURES] = {1.0, 2.0, 3.0, 4.0};

    fit_well(&f);
    f.matrix = (pboost_matrix){.data = row,
                               .type = PBOOST_F64,
                               .rows = SIZE_MAX / 2,
                               .cols = FEATURES,
                               .row_stride = 0,
                               .col_stride = 1};
    f.report.estimator = PBOOST_EVENT;
    f.theta[0] = 1e3;
    assert_nothing(&f); /* and ends */
}

/* ---- Columns --------------------------------------------------------------------------------- */

static void a_column_is_called_by_its_name(void **state)
{
    (void)state;
    fit f;
    const char *name[FEATURES] = {"age", "height", "weight", "income"};
    char expected[200], long_name[300] = "";

    fit_well(&f);
    f.report.rank = 3;
    f.report.first_dropped = 2;
    assert_only(&f, PBOOST_WARNING_RANK, "have rank 3: column 'x2' adds nothing");
    f.fitted.column = name;
    assert_only(&f, PBOOST_WARNING_RANK, "column 'weight' adds");
    f.report.first_dropped = FEATURES; /* the intercept's place */
    assert_nothing(&f);

    for (size_t i = 0; i < 99; i++)
        strcat(long_name, "a");
    strcat(long_name, "\xC3\xA9t\xC3\xA9"); /* the 100th byte would be half an e with an accent */
    name[2] = long_name;
    f.report.first_dropped = 2;
    snprintf(expected, sizeof expected, "column '%.99s' adds", long_name);
    assert_only(&f, PBOOST_WARNING_RANK, expected);
    long_name[99] = 'b';
    long_name[100] = '\0';
    snprintf(expected, sizeof expected, "column '%.100s' adds", long_name);
    assert_only(&f, PBOOST_WARNING_RANK, expected);
}

/* All at once fit into the room that is promised, none is cut, and they come in order. */
static void there_is_room_for_all(void **state)
{
    (void)state;
    fit f;
    char name[101];
    const char *names[FEATURES] = {name, name, name, name};
    size_t n = 0;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int hidden = 0; hidden < 2; hidden++) {
        fit_well(&f);
        f.fitted.column = names;
        f.fitted.one_row_bags = SIZE_MAX;
        f.report = (pboost_fit_report){.iterations = SIZE_MAX,
                                       .rank = SIZE_MAX,
                                       .bags = 3,
                                       .l2_standardized = true,
                                       .dispersion = -1.23e-300,
                                       .pearson = 1.23e300,
                                       .freedom = -1.2e-300,
                                       .eta_sd = 1.23e300,
                                       .separable = true,
                                       .dispersion_floored = true,
                                       .undercovers = true,
                                       .mean_masked = hidden != 0,
                                       .worse_than_constant = true,
                                       .estimator = PBOOST_AGGREGATE};
        f.theta[0] = NAN;
        n = pboost_warnings(f.warning, &f.fitted);
        assert_int_equal(n, PBOOST_MAX_WARNINGS -
                                1); /* a masked mean replaces the warning about freedom */
        for (size_t i = 0; i < n; i++) {
            assert_in_range(strlen(f.warning[i].text), 20, sizeof f.warning->text - 2);
            assert_true(i == 0 || f.warning[i].kind > f.warning[i - 1].kind);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_fit_has_none),
        cmocka_unit_test(each_flag_has_its_words),
        cmocka_unit_test(remedies_are_in_the_readers_words),
        cmocka_unit_test(residuals_must_be_large_and_surprising),
        cmocka_unit_test(parameters_need_answers),
        cmocka_unit_test(an_aggregate_fit_reports_its_spread),
        cmocka_unit_test(the_spread_of_other_fits_is_measured),
        cmocka_unit_test(many_rows_are_sampled),
        cmocka_unit_test(a_column_is_called_by_its_name),
        cmocka_unit_test(there_is_room_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
