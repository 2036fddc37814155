/* A run gives what its learner and trainer give, round by round; and a cancel ends it at every
 * check, without a further question. */
#include "testing.h"

#include "train/glm.h"

enum { ROWS = 3000, FEATURES = 3, MIN_BAG = 5, ROUNDS = 3 };

/* ---- A table, its oracle, and a cancel that counts ------------------------------------------- */

typedef struct {
    double x[ROWS * FEATURES], y[ROWS], theta[FEATURES];
    pboost_matrix matrix;
    pboost_memory_oracle *labels;
    pboost_oracle oracle;
    pboost_fit_options fit;
    pboost_trainer_options options;
    pboost_cancel cancel;
    size_t looks, patience; /* so far, and how many are let pass */
} table;

static bool has_enough(void *user)
{
    table *t = user;
    return t->looks++ >= t->patience;
}

static void table_open(table *t, pboost_family family)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_error err;

    memset(t, 0, sizeof *t);
    s.family = family;
    s.features = FEATURES;
    rules.min_bag = MIN_BAG;
    assert_ok(pboost_synthetic_theta(t->theta, &s, &err), err);
    assert_ok(pboost_synthetic_rows(t->x, t->y, &s, t->theta, 0, 0, ROWS, 1, &err), err);
    assert_ok(pboost_memory_oracle_create(&t->labels, t->y, ROWS, &rules, NULL, &err), err);
    t->matrix = pboost_matrix_f64(t->x, ROWS, FEATURES);
    t->oracle = pboost_memory_oracle_interface(t->labels);
    t->fit = (pboost_fit_options)PBOOST_FIT_OPTIONS_INIT;
    t->fit.family = family;
    t->options = (pboost_trainer_options)PBOOST_TRAINER_OPTIONS_INIT;
    t->options.family = family;
    t->options.rounds = ROUNDS;
    t->options.threads = 1;
    t->cancel = (pboost_cancel){.stop = has_enough, .user = t};
    t->patience = SIZE_MAX;
}

static void table_close(table *t)
{
    pboost_memory_oracle_free(t->labels);
}

static pboost_status open(pboost_run **run, table *t, pboost_error *err)
{
    return pboost_run_create(run, PLAIN(t->matrix), &t->oracle, &t->fit, &t->options, err);
}

/* ---- What a run gives ------------------------------------------------------------------------ */

static void a_run_is_its_rounds(void **state)
{
    (void)state;
    table t;
    pboost_error err;
    pboost_run *run;
    double path[ROUNDS][FEATURES + 1];

    table_open(&t, PBOOST_LOGISTIC);
    t.fit.estimator = PBOOST_AGGREGATE;
    t.options.bags = PBOOST_BAGS_HYBRID;
    assert_ok(open(&run, &t, &err), err);
    for (size_t i = 0; i < ROUNDS; i++) { /* by hand */
        assert_ok(pboost_trainer_step(pboost_run_trainer(run), &err), err);
        memcpy(path[i], pboost_run_coef(run)->theta, FEATURES * sizeof(double));
        path[i][FEATURES] = pboost_run_coef(run)->intercept;
    }
    pboost_run_free(run);
    table_close(&t);

    table_open(&t, PBOOST_LOGISTIC);
    t.fit.estimator = PBOOST_AGGREGATE;
    t.options.bags = PBOOST_BAGS_HYBRID;
    assert_ok(open(&run, &t, &err), err);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    assert_int_equal(pboost_trainer_rounds_done(pboost_run_trainer(run)), 1);
    assert_ok(pboost_run_rounds(run, SIZE_MAX, &err), err);
    assert_memory_equal(pboost_run_coef_after(run, 1).theta, path, sizeof path);
    assert_int_equal(pboost_trainer_history(pboost_run_trainer(run))[ROUNDS - 1].round, ROUNDS);
    assert_true(pboost_run_report(run)->converged);
    assert_non_null(pboost_run_covariance(run));
    assert_ok(pboost_run_rounds(run, 1, &err), err); /* none is left: nothing to do */
    pboost_run_free(run);
    table_close(&t);
}

/* ---- Progress -------------------------------------------------------------------------------- */

typedef struct {
    char stages[200]; /* each once, in order, where it changes */
    const char *last;
    double done; /* of the last stage */
} told;

static void note_stage(void *user, const char *stage, double done, double total)
{
    told *t = user;

    assert_true(done >= 0.0 && (total == 0.0 || done <= total));
    if (t->last == NULL || strcmp(t->last, stage) != 0)
        snprintf(t->stages + strlen(t->stages), sizeof t->stages - strlen(t->stages), "%s ", stage);
    t->last = stage;
    t->done = done;
}

static bool goes_on(void *user)
{
    (void)user;
    return false;
}

/* Every round tells of its bags, its question and its fit. */
static void a_run_tells_its_stages(void **state)
{
    static const pboost_estimator ESTIMATOR[] = {PBOOST_EVENT, PBOOST_AGGREGATE,
                                                 PBOOST_INTERPOLATED};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        table t;
        pboost_error err;
        pboost_run *run;
        told seen = {0};
        const pboost_cancel watch = {goes_on, &seen, note_stage};

        table_open(&t, PBOOST_LOGISTIC);
        t.fit.estimator = ESTIMATOR[i];
        t.options.bags = i == 1 ? PBOOST_BAGS_FEATURES : PBOOST_BAGS_PRIOR;
        t.fit.cancel = t.options.cancel = &watch;
        assert_ok(open(&run, &t, &err), err);
        assert_ok(pboost_run_rounds(run, 2, &err), err);
        assert_string_equal(seen.stages, "bags asking fitting bags asking fitting ");
        pboost_run_free(run);
        table_close(&t);
    }
}

/* Who lets the bags choose the estimator has its covariance, where what they chose has one. */
static void a_chosen_estimator_has_its_covariance(void **state)
{
    (void)state;
    table t;
    pboost_error err;
    pboost_run *run;

    table_open(&t, PBOOST_LINEAR);
    t.fit.estimator = PBOOST_ESTIMATOR_CV;
    t.options.bags = PBOOST_BAGS_FEATURES;
    assert_ok(open(&run, &t, &err), err);
    assert_null(pboost_run_covariance(run));
    assert_ok(pboost_run_rounds(run, SIZE_MAX, &err), err);
    assert_int_equal(pboost_run_report(run)->estimator, PBOOST_AGGREGATE);
    assert_non_null(pboost_run_covariance(run));
    assert_true(pboost_run_covariance(run)[0] > 0.0);
    pboost_run_free(run);
    table_close(&t);
}

/* Labels in memory: the same as an oracle and a run on it. */
static void a_simulation_is_a_run(void **state)
{
    (void)state;
    table t;
    pboost_error err;
    pboost_run *by_hand;
    double path[ROUNDS * (FEATURES + 1)], before;
    pboost_outcome out = {.path = path};

    table_open(&t, PBOOST_POISSON);
    pboost_simulation simulation = {sizeof simulation, t.oracle.rules,
                                    PBOOST_MEMORY_ORACLE_OPTIONS_INIT, t.fit, t.options};
    assert_ok(open(&by_hand, &t, &err), err);
    assert_ok(pboost_run_rounds(by_hand, SIZE_MAX, &err), err);
    assert_ok(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), err);
    assert_memory_equal(path, pboost_run_coef_after(by_hand, 1).theta, sizeof path);
    path[0] = before = 77.0;
    simulation.rules.min_bag = ROWS; /* more than a slice has */
    assert_fails(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), PBOOST_BAD_DATA,
                 err, "rounds");
    t.cancel.user = &t;
    simulation.rules.min_bag = MIN_BAG;
    simulation.trainer.cancel = &t.cancel; /* stopped after a round: nothing is written */
    t.patience = 1;
    assert_fails(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), PBOOST_CANCELLED,
                 err, "stopped");
    assert_true(path[0] == before);
    pboost_run_free(by_hand);
    table_close(&t);
}

/* The same in the caller's memory, which does not change after a failure. */
static void an_outcome_is_that_of_a_run(void **state)
{
    (void)state;
    enum { N = FEATURES + 1 };
    table t;
    pboost_error err;
    pboost_run *run;
    pboost_fit_report report;
    pboost_round history[ROUNDS];
    double path[ROUNDS * N], covariance[N * N];
    pboost_outcome out = {&report, history, path, covariance, 99};

    table_open(&t, PBOOST_LOGISTIC);
    pboost_simulation simulation = {sizeof simulation, t.oracle.rules,
                                    PBOOST_MEMORY_ORACLE_OPTIONS_INIT, t.fit, t.options};
    memset(covariance, 7, sizeof covariance);
    simulation.rules.min_bag = ROWS;
    memset(path, 7, sizeof path);
    assert_fails(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), PBOOST_BAD_DATA,
                 err, "rounds");
    assert_int_equal(out.warnings, 99);
    assert_memory_equal(path, covariance, sizeof path);

    simulation.rules.min_bag = MIN_BAG;
    for (int aggregate = 0; aggregate < 2; aggregate++) {
        double before = covariance[0];
        table_close(&t); /* whose labels the last run spent */
        table_open(&t, PBOOST_LOGISTIC);
        simulation.fit.estimator = aggregate ? PBOOST_AGGREGATE : PBOOST_EVENT;
        assert_ok(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), err);
        t.fit = simulation.fit;
        assert_ok(open(&run, &t, &err), err);
        assert_ok(pboost_run_rounds(run, SIZE_MAX, &err), err);
        assert_memory_equal(path, pboost_run_coef_after(run, 1).theta, sizeof path);
        assert_int_equal(history[ROUNDS - 1].bags,
                         pboost_trainer_history(pboost_run_trainer(run))[ROUNDS - 1].bags);
        assert_int_equal(report.estimator, simulation.fit.estimator);
        assert_true(report.objective == pboost_run_report(run)->objective);
        assert_int_equal(out.warnings, 0);
        if (aggregate)
            assert_memory_equal(covariance, pboost_run_covariance(run), sizeof covariance);
        else
            assert_true(covariance[0] == before); /* there is none to give */
        pboost_run_free(run);
    }
    out = (pboost_outcome){.report = &report, .warnings = 99}; /* the rest is not wanted */
    simulation.fit.max_iterations = 1;
    assert_ok(pboost_simulate(&out, PLAIN(t.matrix), t.y, &simulation, &err), err);
    assert_false(report.converged);
    assert_int_equal(out.warnings, 1);
    table_close(&t);
}

static void a_run_that_fails_to_open_is_empty(void **state)
{
    (void)state;
    table t;
    pboost_error err;
    pboost_run *run;

    table_open(&t, PBOOST_LINEAR);
    t.options.rounds = ROWS;
    assert_fails(open(&run, &t, &err), PBOOST_BAD_DATA, err, "rounds");
    assert_null(run);
    pboost_run_free(run);
    table_close(&t);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

/* Runs a round that is cancelled after this many checks; returns how many rows it spent. */
static size_t spend(table *t, size_t patience, pboost_status expected)
{
    pboost_error err;
    pboost_run *run;

    t->looks = 0;
    t->patience = patience;
    assert_ok(open(&run, t, &err), err);
    if (expected == PBOOST_OK)
        assert_ok(pboost_run_rounds(run, 1, &err), err);
    else
        assert_fails(pboost_run_rounds(run, 1, &err), expected, err, "stopped");
    pboost_run_free(run);
    return pboost_memory_oracle_rows_spent(t->labels);
}

/* Bags are made level by level, and a stop before they are asked about spends no label. */
/* What no fit can use is refused before the first question: a label is spent only once. */
static void nothing_is_spent_on_what_cannot_be_fitted(void **state)
{
    (void)state;
    table *t = malloc(sizeof *t);
    double *weight = calloc(ROWS, sizeof *weight), *offset = calloc(ROWS, sizeof *offset);
    pboost_error err;
    pboost_run *run;
    table_open(t, PBOOST_LINEAR);
    pboost_fit_options good = t->fit;
    pboost_matrix whole = t->matrix;

    t->x[7] = NAN;
    assert_fails(open(&run, t, &err), PBOOST_BAD_DATA, err, "row 2, column 1 is nan");
    t->x[7] = 0.0;
    offset[5] = INFINITY;
    assert_fails(pboost_run_create(&run, &(pboost_features){.x = whole, .offset = offset},
                                   &t->oracle, &good, &t->options, &err),
                 PBOOST_BAD_DATA, err, "the offset of row 5 is inf");
    assert_fails(pboost_run_create(&run, &(pboost_features){.x = whole, .weight = weight},
                                   &t->oracle, &good, &t->options, &err),
                 PBOOST_BAD_DATA, err, "all 3000 weights are 0");
    t->matrix.cols = 0;
    assert_fails(open(&run, t, &err), PBOOST_BAD_DATA, err, "no feature columns");
    t->matrix = whole;
    t->matrix.data = NULL;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "no feature matrix");
    t->matrix = whole;
    t->fit.tolerance = NAN;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "tolerance is nan");
    t->fit = good;
    t->fit.l2.mode = PBOOST_L2_CV;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "l2 by cross-validation");
    t->fit = good;
    t->fit.family = (pboost_family)9;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "9 is not a family");
    t->fit = good;
    t->fit.estimator = (pboost_estimator)9;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "estimator 9 is unknown");
    t->fit.estimator = PBOOST_INTERPOLATED;
    weight[0] = 1.0;
    assert_fails(pboost_run_create(&run, &(pboost_features){.x = whole, .weight = weight},
                                   &t->oracle, &t->fit, &t->options, &err),
                 PBOOST_INVALID, err, "takes no weights");
    t->fit.estimator = PBOOST_AGGREGATE;
    t->oracle.rules.round = true;
    assert_fails(open(&run, t, &err), PBOOST_INVALID, err, "rounds its answers");
    assert_int_equal(pboost_memory_oracle_rows_spent(t->labels), 0);
    table_close(t);
    free(t);
    free(weight);
    free(offset);
}

static void bags_can_be_stopped(void **state)
{
    (void)state;
    const pboost_strategy made_by_tree[] = {PBOOST_BAGS_FEATURES, PBOOST_BAGS_HYBRID};
    double score[ROWS];
    table t;

    for (size_t i = 0; i < 2; i++) {
        table_open(&t, PBOOST_LINEAR);
        memcpy(score, t.y, sizeof score);
        t.options.bags = made_by_tree[i];
        t.options.rounds = 1;
        t.options.prior_score = made_by_tree[i] == PBOOST_BAGS_HYBRID ? score : NULL;
        t.options.cancel = &t.cancel;
        for (size_t patience = 0; patience < 8; patience++) /* 600 bags: nine levels or more */
            assert_int_equal(spend(&t, patience, PBOOST_CANCELLED), 0);
        assert_int_equal(spend(&t, SIZE_MAX, PBOOST_OK), ROWS);
        assert_true(t.looks >= 10);
        table_close(&t);
    }
    table_open(&t,
               PBOOST_LINEAR); /* other bags are made at once; the question is still not asked */
    t.options.cancel = &t.cancel;
    assert_int_equal(spend(&t, 0, PBOOST_CANCELLED), 0);
    assert_int_equal(spend(&t, 1, PBOOST_OK), ROWS / ROUNDS);
    table_close(&t);
}

/* A fit is stopped at each of its checks; there is at least one an iteration. */
static void fits_can_be_stopped(void **state)
{
    (void)state;
    const struct {
        pboost_estimator estimator;
        pboost_l2 l2;
        size_t least_looks;
    } fits[] = {{PBOOST_EVENT, {PBOOST_L2_FIXED, 1.0}, 3},
                {PBOOST_AGGREGATE, {PBOOST_L2_AUTO, 0.0}, 3},
                {PBOOST_AGGREGATE, {PBOOST_L2_CV, 0.0}, 100},
                {PBOOST_INTERPOLATED, {PBOOST_L2_FIXED, 1.0}, 3}};
    pboost_error err;

    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        size_t looks = fits[i].least_looks;
        for (size_t patience = 0; patience <= looks; patience += looks > 10 ? 11 : 1) {
            table t;
            pboost_run *run;
            table_open(&t, PBOOST_LOGISTIC);
            t.options.rounds = 1;
            t.fit.estimator = fits[i].estimator;
            t.fit.l2 = fits[i].l2;
            t.fit.cancel = &t.cancel;
            t.patience = patience < looks ? patience : SIZE_MAX;
            assert_ok(open(&run, &t, &err), err);
            if (patience < looks) {
                assert_fails(pboost_run_rounds(run, 1, &err), PBOOST_CANCELLED, err, "stopped");
                assert_true(t.looks <= patience + 3); /* it ends soon */
            } else {
                assert_ok(pboost_run_rounds(run, 1, &err), err);
                assert_true(t.looks >= looks);
            }
            pboost_run_free(run);
            table_close(&t);
        }
    }
}

/* A run whose fits are stopped once a round continues and ends with the same bits. */
static void a_stopped_run_goes_on(void **state)
{
    (void)state;
    const pboost_estimator estimators[] = {PBOOST_EVENT, PBOOST_AGGREGATE, PBOOST_INTERPOLATED};
    double path[ROUNDS][FEATURES + 1];
    pboost_error err;

    for (size_t i = 0; i < sizeof estimators / sizeof *estimators; i++)
        for (size_t stop = 0; stop < 3; stop++) { /* at no look, the first, the second */
            table t;
            pboost_run *run;
            table_open(&t, PBOOST_LOGISTIC);
            t.fit.estimator = estimators[i];
            t.fit.cancel = &t.cancel;
            assert_ok(open(&run, &t, &err), err);
            for (size_t r = 0; r < ROUNDS; r++) {
                t.looks = 0;
                t.patience = stop - 1;
                if (stop > 0)
                    assert_fails(pboost_run_rounds(run, 1, &err), PBOOST_CANCELLED, err, "stopped");
                t.patience = SIZE_MAX;
                assert_ok(pboost_run_rounds(run, 1, &err), err);
                assert_int_equal(pboost_memory_oracle_rows_spent(t.labels),
                                 (r + 1) * ROWS / ROUNDS);
            }
            if (stop == 0)
                memcpy(path, pboost_run_coef_after(run, 1).theta, sizeof path);
            assert_memory_equal(pboost_run_coef_after(run, 1).theta, path, sizeof path);
            pboost_run_free(run);
            table_close(&t);
        }
}

static bool stop_at_once(void *user, pboost_round *round)
{
    (void)user;
    (void)round;
    return false;
}

/* What on_round stops has been fitted: the path has it. */
static void a_round_that_on_round_stops_is_in_the_path(void **state)
{
    (void)state;
    table t;
    pboost_error err;
    pboost_run *run;

    table_open(&t, PBOOST_LOGISTIC);
    t.options.on_round = stop_at_once;
    assert_ok(open(&run, &t, &err), err);
    for (size_t r = 0; r < ROUNDS; r++) {
        assert_fails(pboost_run_rounds(run, 1, &err), PBOOST_CANCELLED, err, "stopped");
        assert_memory_equal(pboost_run_coef_after(run, r + 1).theta, pboost_run_coef(run)->theta,
                            FEATURES * sizeof(double));
    }
    assert_true(pboost_trainer_done(pboost_run_trainer(run)));
    pboost_run_free(run);
    table_close(&t);
}

/* A plan is stopped at its looks: before a forecast, in the trees and in the paper's loop. */
static void plans_can_be_stopped(void **state)
{
    (void)state;
    enum { FORECASTS = 15, LEVELS = 50 }; /* at the least */
    table t;
    pboost_error err;
    pboost_plan plan;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    table_open(&t, PBOOST_LINEAR);
    o.rules.min_bag = MIN_BAG;
    o.cancel = &t.cancel;
    assert_ok(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), err);
    pboost_plan_free(&plan);
    size_t looks = t.looks;
    assert_true(looks >= FORECASTS + LEVELS);
    for (size_t patience = 0; patience < looks; patience += 1 + looks / 16) {
        t.looks = 0;
        t.patience = patience;
        assert_fails(pboost_plan_make(&plan, PLAIN(t.matrix), &o, &err), PBOOST_CANCELLED, err,
                     "stopped");
        assert_null(plan.point);
        assert_true(t.looks <= patience + 2);
    }
    table_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_its_rounds),
        cmocka_unit_test(a_run_tells_its_stages),
        cmocka_unit_test(a_chosen_estimator_has_its_covariance),
        cmocka_unit_test(a_simulation_is_a_run),
        cmocka_unit_test(an_outcome_is_that_of_a_run),
        cmocka_unit_test(a_run_that_fails_to_open_is_empty),
        cmocka_unit_test(nothing_is_spent_on_what_cannot_be_fitted),
        cmocka_unit_test(bags_can_be_stopped),
        cmocka_unit_test(fits_can_be_stopped),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(a_round_that_on_round_stops_is_in_the_path),
        cmocka_unit_test(plans_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
