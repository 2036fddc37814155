/* Whether the answers say that a GLM is too straight.
 *
 * Some trees are grown on top of the GLM and tested on bags that were left out.  If they explain
 * these answers better by more than chance, `train` names the other models.  Nothing is asked for
 * it, and the model stays as it is.
 *
 * How much more they explain is the variance of their predictions over rows against that of the
 * GLM's: a calibrated model explains as much of the labels as its predictions vary.  Bags show only
 * the part of it that differs between bags. */
#include <math.h>

#include <priorboost/curves.h>

#include "train_effects.h"

enum {
    FEWEST_BAGS = 100, /* that can show it */
    MOST_BAGS = 1000,  /* that are looked at, and columns: the hint may not take long */
    MOST_COLUMNS = 200,
    TREES = 100
};
#define LEAST_GAIN 0.03 /* of what the GLM explains */

/* Every so many bags, as a log of their own. */
static pboost_status take_bags(pboost_answers **out, const pboost_answers *all, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = pboost_answers_bags(all);
    size_t step = (bags.n_bags + MOST_BAGS - 1) / MOST_BAGS;

    TRY(pboost_answers_create(out, err));
    for (size_t b = 0; b < bags.n_bags; b += step) {
        size_t start[] = {0, bags.start[b + 1] - bags.start[b]};
        pboost_bags one = {start[1], 1, bags.row + bags.start[b], start};
        TRY(pboost_answers_append(*out, &one, pboost_answers_mean(all) + b,
                                  pboost_answers_noise_variance(all) + b, err));
    }
done:
    return st;
}

/* What is compared: the GLM and the trees on top of it, on the rows of some bags. */
typedef struct {
    const train_result *result;
    const train_data *data;
    const pboost_coef *coef; /* of the GLM */
    pboost_answers *answers;
    pboost_bags bags;          /* of the answers */
    double *eta;               /* by row of the table: the GLM's linear predictor */
    double *left_out;          /* by bag: what trees that had not seen it predict */
    double *straight, *curved; /* by row of the bags: the mean that each predicts */
} comparison;

static void comparison_free(comparison *c)
{
    pboost_answers_free(c->answers);
    free(c->eta);
    free(c->left_out);
    free(c->straight);
    free(c->curved);
}

/* The trees see the features as the GLM does: encoded. */
static pboost_status grow(comparison *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const train_data *data = c->data;
    const pboost_fit_options *fit = &c->result->fit_options;
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_columns columns = {.rows = data->rows, .n = data->cols};
    pboost_column *column = NULL;
    pboost_forest forest = {0};
    double intercept;

    NEED(column = calloc(data->cols, sizeof *column), err);
    for (size_t j = 0; j < data->cols; j++)
        column[j] = (pboost_column){.number = data->x + j, .stride = (ptrdiff_t)data->cols};
    columns.column = column;
    o.family = fit->family;
    o.threads = fit->threads;
    o.cancel = fit->cancel;
    o.trees = TREES;
    TRY(pboost_forest_fit(&forest, &intercept, NULL, c->left_out, &columns, c->eta, data->weight,
                          c->answers, 0, &o, err));
    pboost_member both = {.weight = 1.0, .coef = *c->coef, .forest = forest};
    both.coef.intercept += intercept;
    pboost_samples rows = {
        .x = &x, .row = c->bags.row, .n = c->bags.n_rows, .offset = data->offset};
    TRY(pboost_mixture_predict(c->curved, fit->family, &rows, &columns, &(pboost_mixture){1, &both},
                               fit->threads, err));
done:
    free(column);
    pboost_forest_free(&forest);
    return st;
}

static double variance(const double *x, size_t n)
{
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    return square;
}

/* Whether the trees predict the answers left out better than the GLM, which has seen them, by more
 * than two standard errors. */
static bool is_clear(const comparison *c)
{
    const double *answer = pboost_answers_mean(c->answers);
    double gain = 0.0, square = 0.0;

    for (size_t b = 0; b < c->bags.n_bags; b++) {
        size_t first = c->bags.start[b], size = c->bags.start[b + 1] - first;
        double straight = 0.0;
        for (size_t i = first; i < first + size; i++)
            straight += c->straight[i] / (double)size;
        double better = pow(answer[b] - straight, 2) - pow(answer[b] - c->left_out[b], 2);
        gain += better;
        square += better * better;
    }
    return gain > 2.0 * sqrt(square);
}

static pboost_status compare(comparison *c, const pboost_answers *all, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const train_data *data = c->data;
    const pboost_fit_options *fit = &c->result->fit_options;
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_samples rows = {.x = &x, .n = data->rows, .offset = data->offset};

    TRY(take_bags(&c->answers, all, err));
    c->bags = pboost_answers_bags(c->answers);
    NEED(c->eta = pboost_alloc(data->rows, sizeof(double)), err);
    NEED(c->left_out = pboost_alloc(c->bags.n_bags, sizeof(double)), err);
    NEED(c->straight = pboost_alloc(c->bags.n_rows, sizeof(double)), err);
    NEED(c->curved = pboost_alloc(c->bags.n_rows, sizeof(double)), err);
    TRY(pboost_predict(c->eta, PBOOST_LINEAR, &rows, c->coef, fit->threads, err));
    rows.row = c->bags.row;
    rows.n = c->bags.n_rows;
    TRY(pboost_predict(c->straight, fit->family, &rows, c->coef, fit->threads, err));
    TRY(grow(c, err));
done:
    return st;
}

void train_hint(const cli_context *cli, const train_result *result, const train_data *data,
                const pboost_answers *answers, const pboost_coef *coef)
{
    pboost_error ignored;
    comparison c = {.result = result, .data = data, .coef = coef};

    if (cli->quiet || result->estimator != PBOOST_AGGREGATE || !result->usable ||
        pboost_answers_bags(answers).n_bags < FEWEST_BAGS || data->cols > MOST_COLUMNS)
        return;
    if (compare(&c, answers, &ignored) == PBOOST_OK && is_clear(&c)) {
        size_t n = c.bags.n_rows;
        double gain = variance(c.curved, n) / variance(c.straight, n) - 1.0;
        if (gain > LEAST_GAIN && isfinite(gain))
            cli_note(cli,
                     "note: bags left out show effects that are not straight lines; --model auto "
                     "would explain about %.0f %% more",
                     100.0 * gain);
    }
    comparison_free(&c);
}
