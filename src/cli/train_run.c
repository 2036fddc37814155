/* priorboost train: the rounds, and what is recorded after each.
 *
 * Rounds are run one by one, so that each can be measured with its own model; nothing that is
 * measured here changes what the next round asks. */
#include <math.h>
#include <string.h>

#include "train_oracle.h"

/* ---- After a round --------------------------------------------------------------------------- */

void train_measure_bags(train_bags *out, const pboost_bags *bags, size_t first, size_t end,
                        const double *mean)
{
    size_t begin = bags->start[first], n = bags->start[end] - begin;
    double squares = 0.0;

    *out = (train_bags){.smallest = SIZE_MAX};
    for (size_t b = first; b < end; b++) {
        size_t size = bags->start[b + 1] - bags->start[b];
        const double *of_bag = mean + (bags->start[b] - begin);
        double centre = 0.0;
        out->smallest = size < out->smallest ? size : out->smallest;
        out->largest = size > out->largest ? size : out->largest;
        for (size_t i = 0; i < size; i++)
            centre += of_bag[i] / (double)size;
        for (size_t i = 0; i < size; i++)
            squares += (of_bag[i] - centre) * (of_bag[i] - centre);
    }
    out->spread = sqrt(squares / (double)n);
}

static pboost_status measure_bags(train_bags *out, const train_data *data,
                                  const pboost_fit_options *fit, const pboost_answers *answers,
                                  size_t first, size_t end, const pboost_coef *coef,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = train_features(data).x;
    pboost_bags bags = pboost_answers_bags(answers);
    size_t begin = bags.start[first], n = bags.start[end] - begin;
    pboost_samples samples = {.x = &x, .row = bags.row + begin, .n = n, .offset = data->offset};
    double *mean = NULL;

    NEED(mean = pboost_alloc(n, sizeof *mean), err);
    TRY(pboost_predict(mean, fit->family, &samples, coef, fit->threads, err));
    train_measure_bags(out, &bags, first, end, mean);
done:
    free(mean);
    return st;
}

/* Round t (from 0) is over: its bags, how well its model explains their answers, and how well the
 * model before it, if there was one, predicted them.  Both are in the units of x. */
static pboost_status measure_round(train_result *result, size_t t, const train_data *data,
                                   const pboost_answers *answers, const pboost_coef *coef,
                                   const pboost_coef *before, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_features(data);
    const pboost_fit_options *fit = &result->fit_options;
    size_t first = pboost_answers_round_start(answers, t);
    size_t end = result->given ? pboost_answers_bags(answers).n_bags
                               : pboost_answers_round_start(answers, t + 1);

    TRY(measure_bags(&result->bags_asked[t], data, fit, answers, first, end, coef, err));
    result->bag_deviance[t] = result->bag_deviance_ahead[t] = NAN;
    features.weight = data->persons_weight; /* answers are plain means, of more persons than rows */
    if (result->rules.round)
        return PBOOST_OK;
    TRY(pboost_bag_deviance(&result->bag_deviance[t], fit->family, &features, answers, first, end,
                            coef, fit->threads, err));
    if (before != NULL)
        TRY(pboost_bag_deviance(&result->bag_deviance_ahead[t], fit->family, &features, answers,
                                first, end, before, fit->threads, err));
done:
    return st;
}

/* The round's model, in the units of the file. */
static pboost_status keep_coef(pboost_coef *out, const pboost_coef *coef, const train_data *data,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_coef_init(out, coef->n, err));
    memcpy(out->theta, coef->theta, coef->n * sizeof *coef->theta);
    out->intercept = coef->intercept;
    train_data_unscale(out, data);
done:
    return st;
}

static pboost_status note_round(train_result *result, const pboost_run *run, size_t t,
                                const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_answers *answers = pboost_trainer_answers(pboost_run_trainer(run));
    const pboost_coef *coef = pboost_run_coef(run);
    pboost_coef before = {0};

    if (t > 0)
        before = pboost_run_coef_after(run, t);
    TRY(measure_round(result, t, data, answers, coef, t > 0 ? &before : NULL, err));
    TRY(keep_coef(&result->path[t], coef, data, err));
done:
    return st;
}

/* ---- The result ------------------------------------------------------------------------------ */

pboost_status train_result_rounds(train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rounds = result->options.rounds;

    NEED(result->path = calloc(rounds, sizeof *result->path), err);
    NEED(result->history = calloc(rounds, sizeof *result->history), err);
    NEED(result->bags_asked = calloc(rounds, sizeof *result->bags_asked), err);
    NEED(result->bag_deviance = calloc(rounds, sizeof(double)), err);
    NEED(result->bag_deviance_ahead = calloc(rounds, sizeof(double)), err);
done:
    return st;
}

static pboost_status result_reserve(train_result *result, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = cols + 1;

    TRY(train_result_rounds(result, err));
    if (result->fit_options.curves > 0)
        NEED(result->curve_freedom = calloc(result->fit_options.curves, sizeof(double)), err);
    result->fit_options.curve_freedom = result->curve_freedom;
    if (result->estimator == PBOOST_AGGREGATE || result->estimator == PBOOST_ESTIMATOR_CV)
        NEED(result->covariance = calloc(n * n, sizeof(double)), err);
done:
    return st;
}

void train_result_free(train_result *result)
{
    for (size_t t = 0; result->path != NULL && t < result->options.rounds; t++)
        pboost_coef_free(&result->path[t]);
    for (size_t t = 0; result->class_path != NULL && t < result->options.rounds; t++)
        pboost_class_coef_free(&result->class_path[t]);
    free(result->class_path);
    free(result->path);
    free(result->history);
    pboost_choice_free(&result->choice);
    free(result->covariance);
    free(result->curve_freedom);
    free(result->bags_asked);
    free(result->bag_deviance);
    free(result->bag_deviance_ahead);
    free(result->effect);
    pboost_mixture_free(&result->mixture);
}

/* With --estimator cv: the one that the last fit chose, which may have no covariance. */
static void take_chosen(train_result *result)
{
    result->estimator = result->fit.estimator;
    if (result->estimator == PBOOST_AGGREGATE)
        return;
    free(result->covariance);
    result->covariance = NULL;
}

void train_warn(train_result *result, const char *text)
{
    train_warning *w = &result->warning[result->n_warnings++];
    snprintf(w->text, sizeof w->text, "%.299s", text);
}

void train_warn_of_samples(train_result *result, const train_data *data)
{
    for (size_t i = 0; i < sizeof data->sample_warning / sizeof *data->sample_warning; i++)
        if (data->sample_warning[i].text[0] != '\0')
            train_warn(result, data->sample_warning[i].text);
}

pboost_status train_begin_round(cli_context *cli, const train_oracle *oracle,
                                pboost_trainer *trainer, size_t t, size_t rounds, pboost_error *err)
{
    cli->round = t + 1;
    cli->rounds = rounds > 1 ? rounds : 0;
    if (oracle->remote != NULL)
        return train_remote_recall(oracle->remote, trainer, err);
    return PBOOST_OK;
}

void train_take_one_round(train_result *result, const train_data *data,
                          const pboost_answers *answers)
{
    pboost_bags bags = pboost_answers_bags(answers);
    size_t rows = result->given ? data->table_rows : bags.n_rows; /* some may stand for more */

    if (result->given)
        result->rules.min_bag = data->least_bag;
    result->rounds = 1;
    result->rows_spent = rows;
    result->history[0] = (pboost_round){.round = 1,
                                        .rounds = 1,
                                        .rows = rows,
                                        .bags = bags.n_bags,
                                        .within = NAN,
                                        .test_loss = NAN};
}

/* Of the last fit, which gave coef. */
static void take_warnings(train_result *result, const train_data *data, const pboost_coef *coef)
{
    pboost_matrix x = train_features(data).x;
    pboost_fitted fit = {.report = &result->fit,
                         .options = &result->fit_options,
                         .x = &x,
                         .coef = coef,
                         .one_row_bags = data->one_row_bags,
                         .column = (const char *const *)data->encoding.column,
                         .feature_bags = "--bags features",
                         .sandwich = data->n_sums > 0 ? "a weight for each of the keys of the sums"
                                     : result->given  ? "--bag-effects yes"
                                                      : "--covariance sandwich"};
    pboost_warning found[PBOOST_MAX_WARNINGS];
    size_t n = pboost_warnings(found, &fit);
    result->usable = pboost_fit_usable(&fit);
    for (size_t i = 0; i < n; i++)
        train_warn(result, found[i].text);
}

/* What the plan expected; it was made again after a pilot. */
static void take_plan_warnings(train_result *result)
{
    const pboost_plan *plan = &result->choice.plan;
    for (size_t i = 0; i < plan->n_warnings; i++)
        train_warn(result, plan->warning[i]);
}

static void take_outcome(train_result *result, const pboost_run *run, const train_data *data)
{
    const pboost_trainer *trainer = pboost_run_trainer(run);
    pboost_outcome out = {
        .report = &result->fit, .history = result->history, .covariance = result->covariance};

    pboost_run_outcome(&out, run);
    result->rounds = pboost_trainer_rounds_done(trainer);
    result->rows_spent = pboost_answers_bags(pboost_trainer_answers(trainer)).n_rows;
    take_chosen(result);
    take_warnings(result, data, pboost_run_coef(run));
    if (result->covariance != NULL)
        train_data_unscale_covariance(result->covariance, data);
}

/* ---- The two ways to a model ----------------------------------------------------------------- */

pboost_status train_run(train_result *result, cli_context *cli, const train_arguments *a,
                        const train_data *data, train_oracle *oracle, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_features(data);
    pboost_run *run = NULL;
    size_t rounds = result->options.rounds;

    cli_interrupted();                                 /* listen from now on */
    result->fit_options.estimator = result->estimator; /* a plan may have chosen it */
    result->fit_options.cancel = result->options.cancel = &cli->interrupt;
    result->options.family = a->family;
    result->rules = oracle->interface.rules;
    TRY(result_reserve(result, data->cols, err));
    TRY(pboost_run_create(&run, &features, &oracle->interface, &result->fit_options,
                          &result->options, err));
    for (size_t t = 0; t < rounds; t++) {
        TRY(train_begin_round(cli, oracle, pboost_run_trainer(run), t, rounds, err));
        TRY(pboost_run_rounds(run, 1, err));
        TRY(note_round(result, run, t, data, err));
        if (t == 0 && a->automatic && rounds > 1)
            TRY(train_auto_revise(result, pboost_run_trainer(run), a, data, pboost_run_coef(run),
                                  err));
    }
    cli->rounds = 0;
    train_oracle_free_labels(oracle);
    take_outcome(result, run, data);
    TRY(train_fit_model(result, cli, a, data, pboost_trainer_answers(pboost_run_trainer(run)),
                        pboost_run_coef(run), err));
    if (a->automatic)
        take_plan_warnings(result);
done:
    pboost_run_free(run);
    return st;
}

pboost_status train_fit_answers(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const pboost_answers *answers,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_features(data);
    pboost_coef coef = {0};

    TRY(result_reserve(result, data->cols, err));
    TRY(pboost_coef_init(&coef, data->cols, err));
    st = pboost_answers_fit(&coef, &result->fit, result->covariance, &features, answers, 0,
                            &result->fit_options, err);
    if (st == PBOOST_BAD_DATA)
        train_sums_explain(err, data, a);
    TRY(st);
    take_chosen(result);
    take_warnings(result, data, &coef);
    train_warn_of_samples(result, data);
    TRY(measure_round(result, 0, data, answers, &coef, NULL, err));
    TRY(keep_coef(&result->path[0], &coef, data, err));
    if (result->covariance != NULL)
        train_data_unscale_covariance(result->covariance, data);
    train_take_one_round(result, data, answers);
    TRY(train_fit_model(result, cli, a, data, answers, &coef, err));
done:
    pboost_coef_free(&coef);
    return st;
}

pboost_status train_run_given(train_result *result, cli_context *cli, const train_arguments *a,
                              const train_data *data, pboost_error *err)
{
    result->options.rounds = 1;
    return train_fit_answers(result, cli, a, data, data->given, err);
}

/* Only the model of all rounds is a mixture. */
static pboost_status mixture_loss(double *out, const train_result *result, const train_arguments *a,
                                  const train_data *data, const pboost_samples *samples,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_evaluator *evaluator = NULL;
    pboost_evaluation evaluation;
    double *mean = NULL;

    NEED(mean = pboost_alloc(samples->n, sizeof *mean), err);
    TRY(pboost_mixture_predict(mean, a->family, samples, &data->test_sources.columns,
                               &result->mixture, a->threads, err));
    TRY(pboost_evaluator_create(&evaluator, a->family, err));
    TRY(pboost_evaluator_add_means(evaluator, samples, mean, err));
    TRY(pboost_evaluator_finish(&evaluation, evaluator, err));
    *out = evaluation.measure[0].value;
done:
    pboost_evaluator_free(evaluator);
    free(mean);
    return st;
}

/* All models in one pass. */
pboost_status train_test_losses(train_result *result, const train_arguments *a,
                                const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_curved room;
    pboost_matrix x = train_matrix(&room, data->test_x, data->test_rows, data);
    pboost_samples samples = {
        .x = &x, .n = data->test_rows, .target = data->test_label, .offset = data->test_offset};
    double *loss = NULL;

    if (result->mixture.n > 0)
        return mixture_loss(&result->history[result->rounds - 1].test_loss, result, a, data,
                            &samples, err);
    NEED(loss = pboost_alloc(result->rounds, sizeof *loss), err);
    TRY(pboost_losses(loss, a->family, &samples, result->path, result->rounds, a->threads, err));
    for (size_t t = 0; t < result->rounds; t++)
        result->history[t].test_loss = loss[t];
done:
    free(loss);
    return st;
}
