/* Prediction, losses of many models, and the measures of an evaluation. */
#include "fit_support.h"

#include "kernels/simd.h"

static const pboost_family FAMILIES[] = {PBOOST_LINEAR, PBOOST_LOGISTIC, PBOOST_POISSON};

static pboost_coef some_model(size_t d, test_rng *rng)
{
    pboost_coef coef;
    assert_int_equal(pboost_coef_init(&coef, d, NULL), PBOOST_OK);
    for (size_t j = 0; j < d; j++)
        coef.theta[j] = 0.7 * normal(rng) / sqrt((double)d);
    coef.intercept = 0.2 * normal(rng);
    return coef;
}

static long double eta_of(const pboost_samples *s, const pboost_coef *c, size_t i)
{
    size_t row = s->row != NULL ? s->row[i] : i;
    long double eta = c->intercept + (s->offset != NULL ? s->offset[row] : 0.0);
    for (size_t j = 0; j < c->n; j++)
        eta += (long double)c->theta[j] * element(s->x, row, j);
    return eta;
}

static void predictions_are_means(void **state)
{
    (void)state;
    test_rng rng = {4};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (size_t f = 0; f < 3; f++)
            for (size_t d = 1; d <= 20; d += d == 7 ? 1 : 6) {
                pboost_simd_force((simd_level_t)level);
                test_table t = make_table(FAMILIES[f], 777, d, d);
                pboost_samples s = samples_of(&t);
                pboost_coef coef = some_model(d, &rng);
                double *mean = calloc(t.n, sizeof *mean);
                s.offset = t.offset;
                s.target = NULL;
                assert_int_equal(pboost_predict(mean, FAMILIES[f], &s, &coef, 1, NULL), PBOOST_OK);
                for (size_t i = 0; i < t.n; i++)
                    assert_near(mean[i], (double)mean_of(FAMILIES[f], eta_of(&s, &coef, i)), 1e-12);
                free(mean);
                pboost_coef_free(&coef);
                free_table(&t);
            }
    pboost_simd_force(SIMD_AVX512);
}

/* Mean loss of one model, in long double. */
static double loss_ld(const pboost_samples *s, pboost_family family, const pboost_coef *c)
{
    long double sum = 0, total = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t row = s->row != NULL ? s->row[i] : i;
        long double w = s->weight != NULL ? s->weight[row] : 1.0L;
        sum += w * loss_of(family, eta_of(s, c, i), s->target[i]);
        total += w;
    }
    return (double)(sum / total * (family == PBOOST_LINEAR ? 2 : 1));
}

static void losses_of_many_models(void **state)
{
    (void)state;
    enum { MODELS = 40 };
    test_rng rng = {5};
    for (int level = 0; level < SIMD_LEVELS; level++)
        for (size_t f = 0; f < 3; f++)
            for (int extras = 0; extras < 3; extras++)
                for (size_t d = 3; d <= 13; d += 5) {
                    pboost_simd_force((simd_level_t)level);
                    test_table t = make_table(FAMILIES[f], 1111, d, d);
                    size_t row[500];
                    double y[500], loss[MODELS];
                    pboost_samples s = samples_of(&t);
                    if (extras > 0)
                        s.weight = t.weight;
                    if (extras > 1) {
                        s.offset = t.offset;
                        s.row = row;
                        s.target = y;
                        s.n = 500;
                        for (size_t i = 0; i < s.n; i++) {
                            row[i] = (i * 13) % t.n;
                            y[i] = t.y[row[i]];
                        }
                    }
                    pboost_coef coef[MODELS];
                    for (size_t k = 0; k < MODELS; k++)
                        coef[k] = some_model(d, &rng);
                    for (size_t m = 1; m <= MODELS; m += MODELS - 1) {
                        assert_int_equal(pboost_losses(loss, FAMILIES[f], &s, coef, m, 1, NULL),
                                         PBOOST_OK);
                        for (size_t k = 0; k < m; k++)
                            assert_near(loss[k], loss_ld(&s, FAMILIES[f], &coef[k]), 1e-12);
                    }
                    for (size_t k = 0; k < MODELS; k++)
                        pboost_coef_free(&coef[k]);
                    free_table(&t);
                }
    pboost_simd_force(SIMD_AVX512);
}

/* A nearly perfect model on data with large predictions and a column far from 0: the squared error
 * is 1e-12 of the squared labels, and a formula that subtracts those would give nonsense. */
static void squared_errors_do_not_cancel(void **state)
{
    (void)state;
    enum { MODELS = 30, D = 3 };
    test_rng rng = {15};
    test_table t = make_table(PBOOST_LINEAR, 2000, D, 1);
    pboost_samples s = samples_of(&t);
    pboost_coef coef[MODELS];
    double loss[MODELS];
    for (size_t i = 0; i < t.n; i++) {
        t.x[i * D + 2] += 1e4;
        t.y[i] = 1e3 * (t.x[i * D] - t.x[i * D + 1] + t.x[i * D + 2]) + 1e-2 * normal(&rng);
    }
    for (size_t k = 0; k < MODELS; k++) {
        assert_int_equal(pboost_coef_init(&coef[k], D, NULL), PBOOST_OK);
        coef[k].theta[0] = 1e3 + 1e-3 * (double)k;
        coef[k].theta[1] = -1e3;
        coef[k].theta[2] = 1e3;
    }
    assert_int_equal(pboost_losses(loss, PBOOST_LINEAR, &s, coef, MODELS, 1, NULL), PBOOST_OK);
    for (size_t k = 0; k < MODELS; k++) {
        assert_near(loss[k] / loss_ld(&s, PBOOST_LINEAR, &coef[k]), 1.0, 1e-4);
        pboost_coef_free(&coef[k]);
    }
    free_table(&t);
}

/* Models with predictions nearer and nearer to 0 or 1, right or wrong, beyond what an exponential
 * holds: a formula that subtracts large predictors from each other would be left with no digit of
 * the loss.
 */
static void log_losses_do_not_cancel(void **state)
{
    (void)state;
    enum { MODELS = 90, D = 3 };
    test_table t = make_table(PBOOST_LOGISTIC, 700, D, 1);
    pboost_samples s = samples_of(&t);
    pboost_coef coef[MODELS];
    double loss[MODELS];
    for (size_t i = 0; i < t.n; i++) {
        t.x[i * D] += t.x[i * D] < 0 ? -0.5 : 0.5;
        t.y[i] = t.x[i * D] > 0;
    }
    for (size_t k = 0; k < MODELS; k++) {
        assert_int_equal(pboost_coef_init(&coef[k], D, NULL), PBOOST_OK);
        coef[k].theta[0] = (k % 3 == 2 ? -1 : 1) * ldexp(0.01, (int)(k / 3));
        coef[k].theta[1] = k % 3 == 1 ? 0.01 : 0.0;
    }
    for (int level = 0; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        assert_int_equal(pboost_losses(loss, PBOOST_LOGISTIC, &s, coef, MODELS, 1, NULL),
                         PBOOST_OK);
        for (size_t k = 0; k < MODELS; k++) {
            double expected = loss_ld(&s, PBOOST_LOGISTIC, &coef[k]);
            assert_true(fabs(loss[k] - expected) <= 1e-12 * expected + 1e-16);
        }
    }
    pboost_simd_force(SIMD_AVX512);
    for (size_t k = 0; k < MODELS; k++)
        pboost_coef_free(&coef[k]);
    free_table(&t);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { MODELS = 21 };
    test_rng rng = {6};
    for (size_t f = 0; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 40000, 6, 2);
        pboost_samples s = samples_of(&t);
        pboost_coef coef[MODELS];
        double loss[3][MODELS], *mean[3];
        for (size_t k = 0; k < MODELS; k++)
            coef[k] = some_model(6, &rng);
        for (int i = 0; i < 3; i++) {
            mean[i] = calloc(t.n, sizeof *mean[i]);
            assert_int_equal(pboost_predict(mean[i], FAMILIES[f], &s, coef, 1 << i, NULL), 0);
            assert_int_equal(pboost_losses(loss[i], FAMILIES[f], &s, coef, MODELS, 1 << i, NULL),
                             0);
            assert_memory_equal(mean[i], mean[0], t.n * sizeof *mean[i]);
            assert_memory_equal(loss[i], loss[0], sizeof loss[0]);
        }
        for (int i = 0; i < 3; i++)
            free(mean[i]);
        for (size_t k = 0; k < MODELS; k++)
            pboost_coef_free(&coef[k]);
        free_table(&t);
    }
}

static double measure(const pboost_evaluation *e, const char *name)
{
    for (size_t i = 0; i < e->n_measures; i++)
        if (strcmp(e->measure[i].name, name) == 0)
            return e->measure[i].value;
    print_error("no measure %s\n", name);
    fail();
    return NAN;
}

/* One column that is the linear predictor itself. */
static pboost_status evaluate(pboost_evaluation *e, pboost_family family, const double *eta,
                              const double *y, const double *weight, size_t n, pboost_error *err)
{
    double one = 1.0;
    pboost_matrix x = pboost_matrix_f64(eta, n, 1);
    pboost_samples s = {.x = &x, .n = n, .target = y, .weight = weight};
    pboost_coef coef = {1, &one, 0.0};
    return pboost_evaluate(e, family, &s, &coef, 1, err);
}

static void linear_measures(void **state)
{
    (void)state;
    pboost_evaluation e;
    double eta[4] = {1, 2, 3, 4}, y[4] = {1, 3, 3, 6};
    assert_int_equal(evaluate(&e, PBOOST_LINEAR, eta, y, NULL, 4, NULL), PBOOST_OK);
    assert_int_equal(e.rows, 4);
    assert_string_equal(e.measure[0].name, "loss");
    assert_near(measure(&e, "loss"), 1.25, 1e-15);
    assert_near(measure(&e, "mse"), 1.25, 1e-15);
    assert_near(measure(&e, "rmse"), sqrt(1.25), 1e-15);
    assert_near(measure(&e, "mae"), 0.75, 1e-15);
    assert_near(measure(&e, "r2"), 1.0 - 5.0 / 12.75, 1e-15);
    double same[4] = {2, 2, 2, 2};
    assert_int_equal(evaluate(&e, PBOOST_LINEAR, eta, same, NULL, 4, NULL), PBOOST_OK);
    assert_true(isnan(measure(&e, "r2")));
}

static void logistic_measures(void **state)
{
    (void)state;
    pboost_evaluation e;
    double eta[6] = {-2, -1, -1, 0, 1, 3}, y[6] = {0, 1, 0, 1, 0, 1};
    assert_int_equal(evaluate(&e, PBOOST_LOGISTIC, eta, y, NULL, 6, NULL), PBOOST_OK);
    double loss = 0.0, brier = 0.0;
    for (int i = 0; i < 6; i++) {
        double mu = 1.0 / (1.0 + exp(-eta[i]));
        loss -= (y[i] == 1.0 ? log(mu) : log(1.0 - mu)) / 6.0;
        brier += (mu - y[i]) * (mu - y[i]) / 6.0;
    }
    assert_string_equal(e.measure[0].name, "loss");
    assert_near(measure(&e, "loss"), loss, 1e-14);
    assert_near(measure(&e, "log_loss"), loss, 1e-14);
    assert_near(measure(&e, "brier"), brier, 1e-14);
    assert_near(measure(&e, "accuracy"), 4.0 / 6.0, 1e-15);
    /* Positives -1, 0, 3 against negatives -2, -1, 1: 1.5 + 2 + 3 of 9. */
    assert_near(measure(&e, "auc"), 6.5 / 9.0, 1e-15);

    double weight[6] = {1, 2, 1, 1, 1, 1};
    assert_int_equal(evaluate(&e, PBOOST_LOGISTIC, eta, y, weight, 6, NULL), PBOOST_OK);
    assert_near(measure(&e, "auc"), 8.0 / 12.0, 1e-15);
    double ones[6] = {1, 1, 1, 1, 1, 1};
    assert_int_equal(evaluate(&e, PBOOST_LOGISTIC, eta, ones, NULL, 6, NULL), PBOOST_OK);
    assert_true(isnan(measure(&e, "auc")));
}

static void poisson_measures(void **state)
{
    (void)state;
    pboost_evaluation e;
    double eta[4] = {0, 0.5, 1, -1}, y[4] = {0, 2, 4, 1};
    assert_int_equal(evaluate(&e, PBOOST_POISSON, eta, y, NULL, 4, NULL), PBOOST_OK);
    double loss = 0.0, deviance = 0.0, null = 0.0, mae = 0.0;
    for (int i = 0; i < 4; i++) {
        double mu = exp(eta[i]);
        loss += (mu - y[i] * eta[i]) / 4.0;
        mae += fabs(mu - y[i]) / 4.0;
        deviance += 2.0 * ((y[i] > 0 ? y[i] * log(y[i] / mu) : 0.0) - (y[i] - mu)) / 4.0;
        null += 2.0 * ((y[i] > 0 ? y[i] * log(y[i] / 1.75) : 0.0) - (y[i] - 1.75)) / 4.0;
    }
    assert_string_equal(e.measure[0].name, "loss");
    assert_near(measure(&e, "loss"), loss, 1e-14);
    assert_near(measure(&e, "deviance"), deviance, 1e-14);
    assert_near(measure(&e, "d2"), 1.0 - deviance / null, 1e-14);
    assert_near(measure(&e, "mae"), mae, 1e-14);
}

/* Blocks of any size give what one block does; the area under the curve even the same bits. */
static void blocks_are_one_table(void **state)
{
    (void)state;
    enum { N = 1000, D = 3 };
    for (size_t f = 0; f < 3; f++)
        for (size_t size = 1; size <= N; size = size * 7 + 3)
            for (int weighted = 0; weighted < 2; weighted++) {
                test_table t = make_table(FAMILIES[f], N, D, f);
                test_rng rng = {8};
                pboost_coef coef = some_model(D, &rng);
                pboost_samples s = samples_of(&t);
                pboost_evaluator *e;
                pboost_evaluation one, many;
                s.offset = t.offset;
                s.weight = weighted ? t.weight : NULL;
                assert_int_equal(pboost_evaluate(&one, FAMILIES[f], &s, &coef, 1, NULL), 0);
                assert_int_equal(pboost_evaluator_create(&e, FAMILIES[f], NULL), 0);
                for (size_t at = 0; at < N; at += size) {
                    size_t n = N - at < size ? N - at : size;
                    pboost_matrix x = pboost_matrix_f64(t.x + at * D, n, D);
                    pboost_samples block = {.x = &x,
                                            .n = n,
                                            .target = t.y + at,
                                            .weight = weighted ? t.weight + at : NULL,
                                            .offset = t.offset + at};
                    assert_int_equal(pboost_evaluator_add(e, &block, &coef, 1, NULL), 0);
                }
                assert_int_equal(pboost_evaluator_finish(&many, e, NULL), 0);
                assert_int_equal(many.rows, N);
                assert_int_equal(many.n_measures, one.n_measures);
                for (size_t k = 0; k < one.n_measures; k++) {
                    assert_string_equal(many.measure[k].name, one.measure[k].name);
                    assert_near(many.measure[k].value / one.measure[k].value, 1.0, 1e-12);
                }
                if (FAMILIES[f] == PBOOST_LOGISTIC)
                    assert_true(measure(&many, "auc") == measure(&one, "auc"));
                pboost_evaluator_free(e);
                pboost_coef_free(&coef);
                free_table(&t);
            }
}

static void an_evaluator_refuses_what_does_not_fit(void **state)
{
    (void)state;
    double eta[2] = {0.0, 1.0}, y[2] = {0.0, 1.0}, one = 1.0;
    pboost_matrix x = pboost_matrix_f64(eta, 2, 1);
    pboost_samples s = {.x = &x, .n = 2, .target = y};
    pboost_coef coef = {1, &one, 0.0};
    pboost_evaluator *e;
    pboost_evaluation out;
    pboost_error err;

    assert_int_equal(pboost_evaluator_create(&e, (pboost_family)7, &err), PBOOST_INVALID);
    assert_null(e);
    assert_int_equal(pboost_evaluator_create(&e, PBOOST_LOGISTIC, &err), PBOOST_OK);
    assert_int_equal(pboost_evaluator_finish(&out, e, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "no samples"));
    assert_int_equal(pboost_evaluator_add(e, &s, &coef, 1, &err), PBOOST_OK);
    s.weight = y;
    assert_int_equal(pboost_evaluator_add(e, &s, &coef, 1, &err), PBOOST_INVALID);
    assert_non_null(strstr(err.message, "weights"));
    pboost_evaluator_free(e);
    pboost_evaluator_free(NULL);
}

/* A label that is the same everywhere leaves nothing to explain, also where its sum is rounded. */
static void equal_labels_have_no_spread(void **state)
{
    (void)state;
    pboost_evaluation e;
    double eta[7] = {1, 2, 3, 4, 5, 6, 7}, tenth[7], three[7];
    for (size_t i = 0; i < 7; i++) {
        tenth[i] = 0.1;
        three[i] = 3;
    }
    assert_int_equal(evaluate(&e, PBOOST_LINEAR, eta, tenth, NULL, 7, NULL), PBOOST_OK);
    assert_true(isnan(measure(&e, "r2")));
    assert_int_equal(evaluate(&e, PBOOST_POISSON, eta, three, NULL, 7, NULL), PBOOST_OK);
    assert_true(isnan(measure(&e, "d2")));
}

static void wrong_labels_are_refused(void **state)
{
    (void)state;
    pboost_evaluation e;
    pboost_error err;
    double eta[3] = {0, 1, 2}, half[3] = {0, 0.5, 1}, negative[3] = {0, 1, -2};
    assert_int_equal(evaluate(&e, PBOOST_LOGISTIC, eta, half, NULL, 3, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "row 1"));
    assert_non_null(strstr(err.message, "0.5"));
    assert_int_equal(e.n_measures, 0);
    assert_int_equal(evaluate(&e, PBOOST_POISSON, eta, negative, NULL, 3, &err), PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "row 2"));
    assert_non_null(strstr(err.message, "-2"));
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    pboost_error err;
    double loss[2], out[50];
    test_table t = make_table(PBOOST_LOGISTIC, 50, 3, 3);
    pboost_samples s = samples_of(&t);
    pboost_coef coef;
    assert_int_equal(pboost_coef_init(&coef, 2, NULL), PBOOST_OK);
    assert_int_equal(pboost_predict(out, PBOOST_LOGISTIC, &s, &coef, 1, &err), PBOOST_INVALID);
    assert_non_null(strstr(err.message, "2 coefficients for 3 columns"));
    pboost_coef_free(&coef);
    assert_int_equal(pboost_coef_init(&coef, 3, NULL), PBOOST_OK);
    assert_int_equal(pboost_predict(out, (pboost_family)5, &s, &coef, 1, &err), PBOOST_INVALID);
    assert_int_equal(pboost_predict(out, PBOOST_LOGISTIC, &s, &coef, -2, &err), PBOOST_INVALID);
    s.n = 0;
    assert_int_equal(pboost_losses(loss, PBOOST_LOGISTIC, &s, &coef, 1, 1, &err), PBOOST_BAD_DATA);
    s.n = 50;
    s.target = NULL;
    assert_int_equal(pboost_losses(loss, PBOOST_LOGISTIC, &s, &coef, 1, 1, &err), PBOOST_INVALID);
    s.target = t.y;
    t.x[7 * 3 + 2] = INFINITY;
    for (size_t f = 0; f < 3; f++) {
        assert_int_equal(pboost_predict(out, FAMILIES[f], &s, &coef, 1, &err), PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "row 7, column 2"));
        assert_int_equal(pboost_losses(loss, FAMILIES[f], &s, &coef, 1, 1, &err), PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "row 7, column 2"));
    }
    t.x[7 * 3 + 2] = 0.0;
    t.weight[3] = -1.0;
    s.weight = t.weight;
    assert_int_equal(pboost_losses(loss, PBOOST_LOGISTIC, &s, &coef, 1, 1, &err), PBOOST_BAD_DATA);
    pboost_evaluation e;
    assert_int_equal(pboost_evaluate(&e, PBOOST_LOGISTIC, &s, &coef, 1, &err), PBOOST_BAD_DATA);
    pboost_coef_free(&coef);
    free_table(&t);
}

/* Large predictions are not an error: Poisson means may be infinite, and losses too. */
static void overflow_is_let_through(void **state)
{
    (void)state;
    double x = 1000.0, one = 1.0, mean, y = 1.0, loss;
    pboost_matrix matrix = pboost_matrix_f64(&x, 1, 1);
    pboost_samples s = {.x = &matrix, .n = 1, .target = &y};
    pboost_coef coef = {1, &one, 0.0};
    assert_int_equal(pboost_predict(&mean, PBOOST_POISSON, &s, &coef, 1, NULL), PBOOST_OK);
    assert_true(isinf(mean));
    assert_int_equal(pboost_losses(&loss, PBOOST_POISSON, &s, &coef, 1, 1, NULL), PBOOST_OK);
    assert_true(isinf(loss));
}

static double measure_of(const pboost_evaluation *e, const char *name)
{
    for (size_t i = 0; i < e->n_measures; i++)
        if (strcmp(e->measure[i].name, name) == 0)
            return e->measure[i].value;
    fail_msg("there is no %s", name);
    return NAN;
}

/* A weight that is not a number is an error that names it; it once made the AUC loop without end.
 */
static void weights_must_be_finite(void **state)
{
    (void)state;
    double mean[8], loss[2];
    pboost_error err;
    pboost_evaluation e;
    for (size_t f = 0; f < 3; f++) {
        test_table t = make_table(FAMILIES[f], 8, 2, 3);
        pboost_samples s = samples_of(&t);
        double theta[2][2] = {{0.1, 0.2}, {0.1, NAN}};
        pboost_coef coef[2] = {{2, theta[0], 0.0}, {2, theta[1], 0.0}};
        assert_int_equal(pboost_evaluate(&e, FAMILIES[f], &s, &coef[1], 1, &err), PBOOST_BAD_DATA);
        assert_string_equal(err.message, "weight 1 of model 0 is nan; it must be finite");
        assert_int_equal(e.n_measures, 0);
        assert_int_equal(pboost_predict(mean, FAMILIES[f], &s, &coef[1], 1, &err), PBOOST_BAD_DATA);
        assert_int_equal(pboost_losses(loss, FAMILIES[f], &s, coef, 2, 1, &err), PBOOST_BAD_DATA);
        assert_string_equal(err.message, "weight 1 of model 1 is nan; it must be finite");
        coef[0].intercept = -INFINITY;
        assert_int_equal(pboost_evaluate(&e, FAMILIES[f], &s, coef, 1, &err), PBOOST_BAD_DATA);
        assert_string_equal(err.message, "the intercept of model 0 is -inf; it must be finite");
        free_table(&t);
    }
}

/* Predictors of plus and minus infinity: x is the sign, the weight is as large as can be. */
static void infinite_predictors(void **state)
{
    (void)state;
    double x[] = {2.0, -2.0, 2.0, -2.0}, right[] = {1.0, 0.0, 1.0, 0.0}, wrong[] = {1, 0, 0, 0};
    double weight[] = {1.0, 1.0, 0.0, 1.0}, huge = 1.7e308, mean[4], loss;
    pboost_matrix matrix = pboost_matrix_f64(x, 4, 1);
    pboost_samples s = {.x = &matrix, .n = 4, .target = right};
    pboost_coef coef = {1, &huge, 0.0};
    pboost_evaluation e;
    for (int level = 0; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        s.target = right;
        s.weight = NULL;
        assert_int_equal(pboost_predict(mean, PBOOST_LOGISTIC, &s, &coef, 1, NULL), PBOOST_OK);
        for (size_t i = 0; i < 4; i++)
            assert_true(mean[i] == right[i]);
        assert_int_equal(pboost_evaluate(&e, PBOOST_LOGISTIC, &s, &coef, 1, NULL), PBOOST_OK);
        assert_true(measure_of(&e, "loss") == 0.0 && measure_of(&e, "auc") == 1.0);
        assert_true(measure_of(&e, "accuracy") == 1.0 && measure_of(&e, "brier") == 0.0);
        assert_int_equal(pboost_losses(&loss, PBOOST_LOGISTIC, &s, &coef, 1, 1, NULL), PBOOST_OK);
        assert_true(loss == 0.0);

        s.target = wrong; /* certain, and wrong in one row */
        assert_int_equal(pboost_evaluate(&e, PBOOST_LOGISTIC, &s, &coef, 1, NULL), PBOOST_OK);
        assert_true(isinf(measure_of(&e, "loss")));
        assert_near(measure_of(&e, "auc"), 2.5 / 3.0, 1e-15);
        s.weight = weight; /* which does not count */
        assert_int_equal(pboost_evaluate(&e, PBOOST_LOGISTIC, &s, &coef, 1, NULL), PBOOST_OK);
        assert_true(measure_of(&e, "loss") == 0.0);
        assert_int_equal(pboost_losses(&loss, PBOOST_LOGISTIC, &s, &coef, 1, 1, NULL), PBOOST_OK);
        assert_true(loss == 0.0);

        s.weight = NULL;
        assert_int_equal(pboost_evaluate(&e, PBOOST_POISSON, &s, &coef, 1, NULL), PBOOST_OK);
        assert_true(isinf(measure_of(&e, "loss")) && isinf(measure_of(&e, "deviance")));
        assert_int_equal(pboost_losses(&loss, PBOOST_POISSON, &s, &coef, 1, 1, NULL), PBOOST_OK);
        assert_true(isinf(loss) && loss > 0.0);
        assert_int_equal(pboost_evaluate(&e, PBOOST_LINEAR, &s, &coef, 1, NULL), PBOOST_OK);
        assert_true(isinf(measure_of(&e, "loss")) && isinf(measure_of(&e, "r2")));
    }
    pboost_simd_force(SIMD_AVX512);
}

/* Terms that overflow in both directions leave nothing to predict. */
static void terms_that_overflow_both_ways(void **state)
{
    (void)state;
    double x[] = {1.0, 1.0, 2.0, 2.0}, y[] = {1.0, 0.0}, mean[2], lower[2], upper[2], loss;
    double theta[] = {1.7e308, -1.7e308}, covariance[9] = {0};
    pboost_matrix matrix = pboost_matrix_f64(x, 2, 2);
    pboost_samples s = {.x = &matrix, .n = 2, .target = y};
    pboost_coef coef = {2, theta, 0.0};
    pboost_evaluation e;
    pboost_error err;
    for (size_t f = 0; f < 3; f++) {
        assert_int_equal(pboost_predict(mean, FAMILIES[f], &s, &coef, 1, &err), PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "the linear predictor of row 1 is"));
        assert_int_equal(pboost_evaluate(&e, FAMILIES[f], &s, &coef, 1, &err), PBOOST_BAD_DATA);
        assert_non_null(strstr(err.message, "the linear predictor of row 1 is"));
        assert_int_equal(pboost_losses(&loss, FAMILIES[f], &s, &coef, 1, 1, &err), PBOOST_BAD_DATA);
        assert_int_equal(
            pboost_predict_interval(lower, upper, FAMILIES[f], &s, &coef, covariance, 0.9, 1, &err),
            PBOOST_BAD_DATA);
    }
}

static void intervals_of_a_bad_covariance(void **state)
{
    (void)state;
    double x[] = {1.0, 1e200}, theta = 1.0, lower[2], upper[2];
    double covariance[4] = {1.0, 0.0, 0.0, NAN};
    pboost_matrix matrix = pboost_matrix_f64(x, 2, 1);
    pboost_samples s = {.x = &matrix, .n = 2};
    pboost_coef coef = {1, &theta, 0.0};
    pboost_error err;
    assert_int_equal(
        pboost_predict_interval(lower, upper, PBOOST_LOGISTIC, &s, &coef, covariance, 0.9, 1, &err),
        PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "entry 1, 1 of the covariance is nan"));
    covariance[3] = 1.0; /* the standard error of row 1 overflows, the interval is all there is */
    assert_int_equal(
        pboost_predict_interval(lower, upper, PBOOST_LOGISTIC, &s, &coef, covariance, 0.9, 1, &err),
        PBOOST_OK);
    assert_true(lower[1] == 0.0 && upper[1] == 1.0);
    x[1] = 1e308;
    theta = 1e308; /* infinity, give or take infinity */
    assert_int_equal(
        pboost_predict_interval(lower, upper, PBOOST_LOGISTIC, &s, &coef, covariance, 0.9, 1, &err),
        PBOOST_BAD_DATA);
    assert_non_null(strstr(err.message, "row 1 has no interval"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_must_be_finite),
        cmocka_unit_test(infinite_predictors),
        cmocka_unit_test(terms_that_overflow_both_ways),
        cmocka_unit_test(intervals_of_a_bad_covariance),
        cmocka_unit_test(predictions_are_means),
        cmocka_unit_test(losses_of_many_models),
        cmocka_unit_test(log_losses_do_not_cancel),
        cmocka_unit_test(squared_errors_do_not_cancel),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(linear_measures),
        cmocka_unit_test(logistic_measures),
        cmocka_unit_test(poisson_measures),
        cmocka_unit_test(blocks_are_one_table),
        cmocka_unit_test(an_evaluator_refuses_what_does_not_fit),
        cmocka_unit_test(equal_labels_have_no_spread),
        cmocka_unit_test(wrong_labels_are_refused),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(overflow_is_let_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
