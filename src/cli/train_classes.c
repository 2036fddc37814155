/* priorboost train --family classes: labels that are one of several classes. */
#include "train_classes.h"

#include <math.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

pboost_status train_classes_guess(cli_context *cli, train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t count;
    bool numbers;

    if (a->has_family || a->data == NULL || a->label == NULL || train_is_given(a) ||
        a->oracle != NULL || strcmp(a->data, "-") == 0)
        return PBOOST_OK;
    TRY(class_values_count(&count, &numbers, a->data, a->label, &a->columns.na, err));
    if (numbers || count < 3)
        FAIL(err, PBOOST_INVALID,
             "--family is required: label '%s' has %s; see 'priorboost train --help'", a->label,
             numbers ? "numbers, which may be measurements, counts or classes" : "two values");
    a->has_family = a->classes = true;
    a->family = PBOOST_LOGISTIC;
    cli_note(cli, "note: label '%s' is text with %zu%s values: --family classes", a->label,
             count > PBOOST_MAX_CLASSES ? (size_t)PBOOST_MAX_CLASSES : count,
             count > PBOOST_MAX_CLASSES ? " or more" : "");
done:
    return st;
}

pboost_status train_classes_check(const train_arguments *a, pboost_error *err)
{
    const char *estimator = a->estimator != NULL ? a->estimator : "aggregate";
    const struct {
        bool given;
        const char *option, *reason;
    } never[] = {
        {a->sums != NULL, "--sums", "its sums are of numbers"},
        {a->positive != NULL, "--positive", "it is for labels of two values"},
        {a->has_bounds, "--bounds", "a class has no size, and its counts are known to be 0 or 1"},
        {a->step > 0.0, "--step", "a class has no size"},
        {a->clamp, "--clamp", "a class has no size"},
        {a->round, "--round", "proportions are needed as they are"},
        {a->offset != NULL, "--offset", "a number that all classes share changes no probability"},
        {a->sums != NULL, "--sums", "they are of numbers"},
        {a->prior != NULL, "--prior", "bags of round 1 are random, or made from features"},
        {a->has_rho, "--rho", "it is for the interpolated estimator"},
        {strcmp(estimator, "aggregate") != 0 && strcmp(estimator, "event") != 0, "--estimator",
         "it must be aggregate or event"},
        {a->l2.mode == PBOOST_L2_CV && strcmp(estimator, "event") == 0, "--l2 cv",
         "it is for --estimator aggregate"},
        {a->has_effects && a->effects, "--bag-effects yes",
         "--covariance sandwich allows for what features do not explain"},
    };
    for (size_t i = 0; a->classes && i < sizeof never / sizeof *never; i++)
        if (never[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s cannot be used with --family classes: %s",
                               never[i].option, never[i].reason);
    if (a->classes && a->oracle != NULL && a->test != NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--test cannot be used with --oracle and --family classes; 'priorboost "
                           "evaluate' evaluates the model");
    if (a->class_columns.n > 0 && (!a->classes || a->answers == NULL))
        return pboost_fail(err, PBOOST_INVALID,
                           "--class-columns needs --family classes and --answers");
    if (a->classes && a->answers != NULL && a->data != NULL && a->class_columns.n == 0 &&
        strcmp(a->answers, a->data) == 0)
        return pboost_fail(err, PBOOST_INVALID,
                           "--class-columns is required: --data and --answers are one file, so its "
                           "other columns may be features");
    return PBOOST_OK;
}

pboost_status train_classes_rules(train_result *result, const train_data *data, pboost_error *err)
{
    result->rules.answer = PBOOST_ANSWER_CLASSES;
    result->rules.width = data->classes.n;
    return pboost_rules_check(&result->rules, err);
}

/* ---- Plan ------------------------------------------------------------------------------------ */

pboost_status train_classes_plan(train_result *result, const train_arguments *a,
                                 const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules count;

    if (!result->fixed.has_bags)
        result->options.bags = PBOOST_BAGS_FEATURES;
    bool learns = result->options.bags == PBOOST_BAGS_PRIOR ||
                  result->options.bags == PBOOST_BAGS_HYBRID; /* from the round before */
    if (a->rounds == 0 && !learns)
        result->options.rounds = 1;
    if (a->bag_size == 0 && result->rules.epsilon.den != 0) { /* one class against the others */
        TRY(pboost_rules_number(&count, &result->rules, 0, err));
        TRY(train_plan_bag_size(&result->options.bag_size, result, a, data, &count, PBOOST_LOGISTIC,
                                err));
    }
done:
    return st;
}

/* ---- After a round --------------------------------------------------------------------------- */

static void unscale(pboost_class_coef *coef, const train_data *data)
{
    for (size_t c = 0; c < coef->classes; c++) {
        double *theta = coef->theta + c * (coef->cols + 1);
        pboost_coef of_class = {coef->cols, theta, theta[coef->cols]};
        train_data_unscale(&of_class, data);
        theta[coef->cols] = of_class.intercept;
    }
}

/* The covariance of two classes' weights changes as that of one class does. */
static pboost_status unscale_covariance(double *covariance, const train_data *data,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = data->cols + 1, n = pboost_class_weights(data->classes.n, data->cols);
    double *block = NULL;

    NEED(block = pboost_alloc(d * d, sizeof *block), err);
    for (size_t a = 0; a < n; a += d)
        for (size_t b = 0; b < n; b += d) {
            for (size_t i = 0; i < d; i++)
                memcpy(block + i * d, covariance + (a + i) * n + b, d * sizeof *block);
            train_data_unscale_covariance(block, data);
            for (size_t i = 0; i < d; i++)
                memcpy(covariance + (a + i) * n + b, block + i * d, d * sizeof *block);
        }
done:
    free(block);
    return st;
}

static pboost_status keep_coef(pboost_class_coef *out, const pboost_class_coef *coef,
                               const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_class_coef_init(out, coef->classes, coef->cols, err));
    memcpy(out->theta, coef->theta, coef->classes * (coef->cols + 1) * sizeof *coef->theta);
    unscale(out, data);
done:
    return st;
}

/* Round t (from 0) is over: its bags, and how well its model explains all answers so far. */
static pboost_status note_round(train_result *result, size_t t, const train_data *data,
                                const pboost_answers *answers, const pboost_class_coef *coef,
                                const pboost_fit_report *report, pboost_error *err)
{
    pboost_bags bags = pboost_answers_bags(answers);
    train_bags *asked = &result->bags_asked[t];

    *asked = (train_bags){.smallest = SIZE_MAX, .spread = (double)NAN};
    for (size_t b = pboost_answers_round_start(answers, t);
         b < pboost_answers_round_start(answers, t + 1); b++) {
        size_t size = bags.start[b + 1] - bags.start[b];
        asked->smallest = size < asked->smallest ? size : asked->smallest;
        asked->largest = size > asked->largest ? size : asked->largest;
    }
    result->bag_deviance[t] = report->pearson;
    result->bag_deviance_ahead[t] = (double)NAN;
    return keep_coef(&result->class_path[t], coef, data, err);
}

/* ---- The result ------------------------------------------------------------------------------ */

/* Trees have no covariance. */
static pboost_status reserve(train_result *result, const train_data *data, bool trees,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rounds = result->options.rounds, n = pboost_class_weights(data->classes.n, data->cols);

    NEED(result->class_path = calloc(rounds, sizeof *result->class_path), err);
    NEED(result->history = calloc(rounds, sizeof *result->history), err);
    NEED(result->bags_asked = calloc(rounds, sizeof *result->bags_asked), err);
    NEED(result->bag_deviance = calloc(rounds, sizeof(double)), err);
    NEED(result->bag_deviance_ahead = calloc(rounds, sizeof(double)), err);
    if (result->estimator == PBOOST_AGGREGATE && n <= PBOOST_MAX_CLASS_WEIGHTS && !trees)
        NEED(result->covariance = calloc(n * n, sizeof(double)), err);
done:
    return st;
}

static void take_warnings(train_result *result, const train_data *data,
                          const pboost_class_coef *coef)
{
    pboost_matrix x = train_features(data).x;
    pboost_fitted fit = {.report = &result->fit,
                         .options = &result->fit_options,
                         .x = &x,
                         .one_row_bags = data->one_row_bags,
                         .column = (const char *const *)data->encoding.column,
                         .feature_bags = "--bags features",
                         .sandwich = "--covariance sandwich"};
    pboost_warning found[PBOOST_MAX_WARNINGS];
    size_t n = pboost_classes_warnings(found, &result->usable, coef, &fit);
    for (size_t i = 0; i < n; i++)
        train_warn(result, found[i].text);
    train_warn_of_samples(result, data);
}

static pboost_status test_losses(train_result *result, const train_arguments *a,
                                 const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_curved room;
    pboost_matrix x = train_matrix(&room, data->test_x, data->test_rows, data);
    pboost_samples samples = {.x = &x, .n = data->test_rows};
    size_t n = data->classes.n;
    double *p = NULL;
    pboost_class_evaluation e = {0};

    NEED(p = pboost_alloc(data->test_rows * n, sizeof *p), err);
    bool members = result->mixture.n > 0;
    for (size_t t = 0; t < result->rounds; t++) {
        if (members && t + 1 < result->rounds) { /* earlier rounds have a GLM */
            result->history[t].test_loss = (double)NAN;
            continue;
        }
        TRY(members ? pboost_classes_predict_mixture(p, &result->mixture, n, &samples,
                                                     &data->test_sources.columns, a->threads, err)
                    : pboost_classes_predict(p, &samples, &result->class_path[t], a->threads, err));
        TRY(pboost_classes_evaluate(&e, p, data->test_label, data->test_rows, n, 1, err));
        result->history[t].test_loss = e.loss;
        pboost_class_evaluation_free(&e);
    }
done:
    free(p);
    return st;
}

/* ---- Trees and mixtures ---------------------------------------------------------------------- */

static pboost_status fit_trees(train_result *result, cli_context *cli, const train_arguments *a,
                               const train_data *data, const pboost_answers *answers,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_forest_report *report = NULL;
    size_t n = data->classes.n, trees = 0;

    o.threads = a->threads;
    o.seed = a->seed;
    o.cancel = &cli->interrupt;
    NEED(report = calloc(n, sizeof *report), err);
    TRY(pboost_classes_fit_trees(&result->mixture, report, &data->sources.columns, data->cols,
                                 data->weight, answers, 0, &o, err));
    result->mixture_misfit = result->misfit[PBOOST_MEMBER_CONSTANT] = 0.0;
    for (size_t c = 0; c < n; c++) {
        bool used = result->mixture.member[c].forest.n_trees > 0;
        trees += result->mixture.member[c].forest.n_trees;
        result->mixture_misfit += used ? report[c].misfit : report[c].constant_misfit;
        result->misfit[PBOOST_MEMBER_CONSTANT] += report[c].constant_misfit;
    }
    if (trees == 0)
        train_warn(result, "trees predict bags that were left out no better than a constant does, "
                           "so the model is constant; try --model glm, or ask for more bags");
done:
    free(report);
    return st;
}

/* --model trees and auto are fitted to the answers of all rounds, whose bags are those of the GLM.
 */
static pboost_status fit_members(train_result *result, cli_context *cli, const train_arguments *a,
                                 const train_data *data, const pboost_answers *answers,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t k = 0; k < PBOOST_MEMBER_KINDS; k++)
        result->misfit[k] = (double)NAN;
    if (!a->trees)
        return PBOOST_OK;
    result->n_warnings = 0; /* those of the rounds are about their GLM */
    result->usable = true;  /* where trees are worse than a constant, there is a constant */
    TRY(a->curves ? train_fit_mixture(result, cli, a, data, answers, err)
                  : fit_trees(result, cli, a, data, answers, err));
    for (size_t t = 0; t < result->options.rounds; t++) /* these are of the GLM */
        result->bag_deviance[t] = (double)NAN;
done:
    return st;
}

/* What the model of the rounds is fitted to: with curves, if the model is smooth. */
static pboost_features round_features(pboost_fit_options *fit, const train_result *result,
                                      const train_arguments *a, const train_data *data)
{
    *fit = result->fit_options;
    if (!a->trees)
        return train_features(data);
    fit->curves = 0;
    return train_straight_features(data);
}

/* ---- The two ways to a model ----------------------------------------------------------------- */

static pboost_status fit_given(train_result *result, cli_context *cli, const train_arguments *a,
                               const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options fit;
    pboost_features features = round_features(&fit, result, a, data);
    pboost_class_coef coef = {0};

    TRY(pboost_class_coef_init(&coef, data->classes.n, features.x.cols, err));
    TRY(pboost_classes_fit(&coef, &result->fit, result->covariance, &features, data->given, 0, &fit,
                           err));
    train_take_one_round(result, data, data->given);
    TRY(note_round(result, 0, data, data->given, &coef, &result->fit, err));
    take_warnings(result, data, &coef);
    TRY(fit_members(result, cli, a, data, data->given, err));
done:
    pboost_class_coef_free(&coef);
    return st;
}

static pboost_status ask_rounds(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const train_oracle *oracle,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options fit;
    pboost_features features = round_features(&fit, result, a, data);
    pboost_matrix straight = train_straight_features(data).x; /* what bags are made from */
    pboost_classes *model = NULL;
    pboost_trainer *trainer = NULL;
    pboost_learner learner;
    size_t rounds = result->options.rounds;

    result->options.x = &straight;
    result->options.family = PBOOST_LINEAR; /* of the scores: a direction of probabilities */
    result->options.width = data->classes.n;
    result->rules = oracle->interface.rules;
    TRY(pboost_classes_create(&model, &features, data->classes.n, &fit, err));
    learner = pboost_classes_learner(model);
    TRY(pboost_trainer_create(&trainer, data->rows, &oracle->interface, &learner, &result->options,
                              err));
    for (size_t t = 0; t < rounds; t++) {
        TRY(train_begin_round(cli, oracle, trainer, t, rounds, err));
        TRY(pboost_trainer_step(trainer, err));
        TRY(note_round(result, t, data, pboost_trainer_answers(trainer), pboost_classes_coef(model),
                       pboost_classes_report(model), err));
    }
    cli->rounds = 0;
    result->rounds = rounds;
    result->rows_spent = pboost_answers_bags(pboost_trainer_answers(trainer)).n_rows;
    result->fit = *pboost_classes_report(model);
    memcpy(result->history, pboost_trainer_history(trainer), rounds * sizeof *result->history);
    if (result->covariance != NULL)
        memcpy(result->covariance, pboost_classes_covariance(model),
               pboost_class_weights(data->classes.n, data->cols) *
                   pboost_class_weights(data->classes.n, data->cols) * sizeof(double));
    take_warnings(result, data, pboost_classes_coef(model));
    TRY(fit_members(result, cli, a, data, pboost_trainer_answers(trainer), err));
done:
    result->options.x = NULL;
    pboost_trainer_free(trainer);
    pboost_classes_free(model);
    return st;
}

pboost_status train_classes_run(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const train_oracle *oracle,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    cli_interrupted(); /* listen from now on */
    result->model = a->model;
    result->fit_options.estimator = result->estimator;
    result->fit_options.cancel = result->options.cancel = &cli->interrupt;
    result->options.rounds = a->bag != NULL ? 1 : result->options.rounds;
    TRY(reserve(result, data, a->trees, err));
    TRY(a->bag != NULL ? fit_given(result, cli, a, data, err)
                       : ask_rounds(result, cli, a, data, oracle, err));
    if (result->covariance != NULL)
        TRY(unscale_covariance(result->covariance, data, err));
    if (a->test != NULL)
        TRY(test_losses(result, a, data, err));
done:
    return st;
}
