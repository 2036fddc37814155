/* Train, predict and evaluate in C: both parties in one process.
 * Build: cc train.c $(pkg-config --cflags --libs priorboost) */
#include <stdio.h>
#include <stdlib.h>

#include <priorboost/priorboost.h>

enum { ROWS = 100000, TEST_ROWS = 5000, FEATURES = 4 };

static void check(pboost_status status, const pboost_error *err)
{
    if (status != PBOOST_OK) {
        fprintf(stderr, "%s: %s\n", pboost_status_name(status), err->message);
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    static double x[ROWS * FEATURES], y[ROWS], test_x[TEST_ROWS * FEATURES], test_y[TEST_ROWS];
    double theta[FEATURES];
    pboost_error err;

    /* A table: features for the learner, labels for the label holder. */
    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    data.features = FEATURES;
    check(pboost_synthetic_theta(theta, &data, &err), &err);
    check(pboost_synthetic_rows(x, y, &data, theta, 0, 0, ROWS, 0, &err), &err);
    check(pboost_synthetic_rows(test_x, test_y, &data, theta, 1, 0, TEST_ROWS, 0, &err), &err);

    /* The label holder: means of at least 16 rows; each label is used in one answer only. */
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = 16;
    pboost_memory_oracle *holder;
    check(pboost_memory_oracle_create(&holder, y, ROWS, &rules, NULL, &err), &err);
    pboost_oracle oracle = pboost_memory_oracle_interface(holder);

    /* The learner: how answers become a linear model, and which bags it asks for. */
    pboost_features features = {.x = pboost_matrix_f64(x, ROWS, FEATURES)};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    options.rounds = 32;
    pboost_run *run;
    check(pboost_run_create(&run, &features, &oracle, &fit, &options, &err), &err);
    check(pboost_run_rounds(run, options.rounds, &err), &err);

    /* How good is it on rows whose labels we have? */
    pboost_matrix test = pboost_matrix_f64(test_x, TEST_ROWS, FEATURES);
    pboost_samples samples = {&test, NULL, TEST_ROWS, test_y, NULL, NULL};
    pboost_evaluation evaluation;
    check(pboost_evaluate(&evaluation, PBOOST_LINEAR, &samples, pboost_run_coef(run), 0, &err),
          &err);
    for (size_t i = 0; i < evaluation.n_measures; i++)
        printf("%-6s %.5f\n", evaluation.measure[i].name, evaluation.measure[i].value);

    pboost_run_free(run);
    pboost_memory_oracle_free(holder);
    return evaluation.measure[0].value < 0.02 ? 0 : 1;
}
