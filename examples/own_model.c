/* Any model in the paper's loop: here a table of means by the sign of each feature, not a GLM.
 * A learner is two functions; the trainer does the rest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <priorboost/priorboost.h>

enum { ROWS = 40000, FEATURES = 3, CELLS = 1 << FEATURES, ROUNDS = 16, MIN_BAG = 8 };

typedef struct {
    double x[ROWS * FEATURES];
    double mean[CELLS];
} cell_model;

static size_t cell_of(const cell_model *m, size_t row)
{
    size_t cell = 0;
    for (size_t j = 0; j < FEATURES; j++)
        cell |= (size_t)(m->x[row * FEATURES + j] > 0.0) << j;
    return cell;
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    const cell_model *m = self;
    (void)err;
    for (size_t i = 0; i < n; i++)
        out[i] = m->mean[cell_of(m, row[i])];
    return PBOOST_OK;
}

/* Eq. (1) for this model: the mean of the answers of the rows of a cell. */
static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    cell_model *m = self;
    double sum[CELLS] = {0}, count[CELLS] = {0};
    pboost_bags bags = pboost_answers_bags(answers);
    const double *mean = pboost_answers_mean(answers);
    (void)err;
    for (size_t b = first_bag; b < bags.n_bags; b++) {
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++) {
            size_t cell = cell_of(m, bags.row[i]);
            sum[cell] += mean[b];
            count[cell] += 1.0;
        }
    }
    for (size_t cell = 0; cell < CELLS; cell++)
        m->mean[cell] = count[cell] > 0.0 ? sum[cell] / count[cell] : 0.0;
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
    static cell_model model;
    static double label[ROWS], linear[ROWS];
    double theta[FEATURES], worst = 0.0;
    pboost_error err;

    /* Labels that depend on the cell alone: its number. */
    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    data.features = FEATURES;
    check(pboost_synthetic_theta(theta, &data, &err), &err);
    check(pboost_synthetic_rows(model.x, linear, &data, theta, 0, 0, ROWS, 0, &err), &err);
    for (size_t i = 0; i < ROWS; i++)
        label[i] = (double)cell_of(&model, i);

    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = MIN_BAG;
    pboost_memory_oracle *holder;
    check(pboost_memory_oracle_create(&holder, label, ROWS, &rules, NULL, &err), &err);
    pboost_oracle oracle = pboost_memory_oracle_interface(holder);
    pboost_learner learner = {&model, score, fit};
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    options.rounds = ROUNDS;
    pboost_trainer *trainer;
    check(pboost_trainer_create(&trainer, ROWS, &oracle, &learner, &options, &err), &err);
    check(pboost_trainer_run(trainer, &err), &err);

    for (size_t cell = 0; cell < CELLS; cell++) {
        printf("cell %zu: %.3f\n", cell, model.mean[cell]);
        worst = fmax(worst, fabs(model.mean[cell] - (double)cell));
    }
    pboost_trainer_free(trainer);
    pboost_memory_oracle_free(holder);
    return worst < 0.1 ? 0 : 1;
}
