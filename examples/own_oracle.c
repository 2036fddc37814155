/* Your own label holder: a clinic with its own records and its own log.  An oracle is one function
 * and its rules; the trainer passes on every refusal. */
#include <stdio.h>
#include <stdlib.h>

#include <priorboost/priorboost.h>

enum { ROWS = 20000, FEATURES = 3, MIN_BAG = 25 };

typedef struct {
    double outcome[ROWS];
    bool told[ROWS]; /* used in an answer */
    size_t answers;
} clinic;

/* All bags are answered or none: everything is checked before the first answer. */
static pboost_status check_question(const clinic *c, const pboost_bags *bags, pboost_error *err)
{
    for (size_t b = 0; b < bags->n_bags; b++) {
        size_t size = bags->start[b + 1] - bags->start[b];
        if (size < MIN_BAG)
            return pboost_fail(err, PBOOST_REFUSED, "bag %zu has %zu patients; we need %d", b, size,
                               (int)MIN_BAG);
    }
    for (size_t i = 0; i < bags->n_rows; i++)
        if (bags->row[i] >= ROWS || c->told[bags->row[i]])
            return pboost_fail(err, PBOOST_REFUSED, "patient %zu cannot be asked about",
                               bags->row[i]);
    return PBOOST_OK;
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    clinic *c = self;
    pboost_status status = check_question(c, bags, err);
    if (status != PBOOST_OK)
        return status;
    for (size_t b = 0; b < bags->n_bags; b++) {
        double sum = 0.0;
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++) {
            sum += c->outcome[bags->row[i]];
            c->told[bags->row[i]] = true;
        }
        answer[b] = sum / (double)(bags->start[b + 1] - bags->start[b]);
    }
    c->answers += bags->n_bags;
    printf("the clinic's log: question %zu, about %zu bags\n", round, bags->n_bags);
    return PBOOST_OK;
}

static void check(pboost_status status, const pboost_error *err)
{
    if (status != PBOOST_OK) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
}

int main(void)
{
    static clinic clinic;
    static double x[ROWS * FEATURES];
    double theta[FEATURES], answer;
    pboost_error err;

    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    data.family = PBOOST_LOGISTIC;
    data.features = FEATURES;
    check(pboost_synthetic_theta(theta, &data, &err), &err);
    check(pboost_synthetic_rows(x, clinic.outcome, &data, theta, 0, 0, ROWS, 0, &err), &err);

    pboost_oracle oracle = {.rules = PBOOST_RULES_INIT, .self = &clinic, .ask = ask};
    oracle.rules.min_bag = MIN_BAG;

    /* The learner: bags of similar patients, and the estimator that needs no more than their means.
     */
    pboost_features features = {.x = pboost_matrix_f64(x, ROWS, FEATURES)};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    fit.family = PBOOST_LOGISTIC;
    fit.estimator = PBOOST_AGGREGATE;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    options.bags = PBOOST_BAGS_FEATURES;
    pboost_run *run;
    check(pboost_run_create(&run, &features, &oracle, &fit, &options, &err), &err);
    check(pboost_run_rounds(run, options.rounds, &err), &err);
    for (size_t j = 0; j < FEATURES; j++)
        printf("weight %zu: %6.3f, truly %6.3f\n", j, pboost_run_coef(run)->theta[j], theta[j]);

    /* Nobody is asked about twice. */
    size_t row[MIN_BAG], start[] = {0, MIN_BAG};
    for (size_t i = 0; i < MIN_BAG; i++)
        row[i] = i;
    pboost_bags again = {MIN_BAG, 1, row, start};
    pboost_status refused = ask(&clinic, 2, &again, &answer, &err);
    printf("asked again: %s\n", err.message);

    pboost_run_free(run);
    return refused == PBOOST_REFUSED && clinic.answers > 0 ? 0 : 1;
}
