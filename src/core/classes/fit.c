/* A fit of classes: what it refuses, its memory, and its result. */
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "classes/fit.h"
#include "data/answers.h"
#include "data/fit_options.h"
#include "large.h"
#include "try.h"

#define SEPARABLE_SD 8.0 /* as in fit/aggregate/report.c */
#define NO_GAIN 1e-6     /* log likelihood per bag that counts as 0 */

/* ---- Checks ---------------------------------------------------------------------------------- */

pboost_status pboost_classes_check(const pboost_features *features, size_t classes,
                                   const pboost_fit_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t weights = pboost_class_weights(classes, features->x.cols);

    TRY(pboost_fit_options_check(o, err));
    if (classes < 2 || classes > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_INVALID, "there are %zu classes; there must be 2 to %d", classes,
             PBOOST_MAX_CLASSES);
    if (weights > PBOOST_MAX_CLASS_WEIGHTS)
        FAIL(err, PBOOST_INVALID,
             "%zu classes and %zu columns have %zu weights; there may be at most %d", classes,
             features->x.cols, weights, PBOOST_MAX_CLASS_WEIGHTS);
    if (o->estimator != PBOOST_EVENT && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "classes are fitted by event or aggregate, not by %s",
             pboost_estimator_name(o->estimator));
    if (o->l2.mode == PBOOST_L2_CV && o->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "l2 by cross-validation is for the aggregate estimator");
    TRY(pboost_fit_curves_check(o, features->x.cols, err));
    if (o->bag_effects)
        FAIL(err, PBOOST_INVALID, "bag effects are not there for classes");
    if (features->offset != NULL)
        FAIL(err, PBOOST_INVALID,
             "classes take no offset: a number that all classes share changes no probability");
done:
    return st;
}

static pboost_status check_answers(const pboost_answers *a, size_t first_bag, size_t classes,
                                   size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t width = pboost_answers_width(a);

    if (first_bag >= a->n_bags)
        FAIL(err, PBOOST_BAD_DATA, "there are no answers from bag %zu on", first_bag);
    if (width != classes)
        FAIL(err, PBOOST_INVALID, "answers have %zu number%s a bag, but there are %zu classes",
             width, width == 1 ? "" : "s", classes);
    if (a->rounded)
        FAIL(err, PBOOST_INVALID, "answers are rounded; classes need proportions as they are");
    for (size_t i = a->start[first_bag]; i < a->start[a->n_bags]; i++)
        if (a->row[i] >= rows)
            FAIL(err, PBOOST_BAD_DATA, "an answer is about row %zu of a table of %zu rows",
                 a->row[i], rows);
done:
    return st;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void pboost_class_fit_free(class_fit *fit)
{
    pboost_units_free(&fit->units);
    pboost_gathered_free(&fit->rows);
    pboost_class_pass_free(&fit->pass);
    pboost_class_moments_free(&fit->point);
    pboost_class_moments_free(&fit->trial);
    pboost_levenberg_free(&fit->lm);
    free(fit->single);
    free(fit->answer);
    free(fit->noise);
    free(fit->size);
    free(fit->blur);
    free(fit->slope);
    free(fit->parameter);
    free(fit->start);
    free(fit->penalty);
    free(fit->ridge);
    free(fit->evidence);
}

void pboost_class_sum_one(double *answer, const double *proportion, size_t classes)
{
    double excess = -1.0;
    for (size_t c = 0; c < classes; c++)
        excess += proportion[c];
    for (size_t c = 0; c < classes; c++)
        answer[c] = proportion[c] - excess / (double)classes;
}

pboost_status pboost_class_load_answers(class_fit *fit, const bag_proportions *given,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool event = fit->single != NULL;
    size_t n = fit->classes, m = fit->pass.n_bags, at = 0;

    for (size_t i = 0; i < fit->n_bags * n; i++)
        fit->noisy = fit->noisy || given->noise[i] > 0.0;
    NEED(fit->answer = pboost_alloc_large(m * n, sizeof(double)), err);
    if (fit->noisy && !event)
        NEED(fit->noise = pboost_alloc(m * n, sizeof(double)), err);
    for (size_t b = 0; b < fit->n_bags; b++) {
        size_t times = event ? given->start[b + 1] - given->start[b] : 1;
        for (size_t i = 0; i < times; i++, at++)
            pboost_class_sum_one(fit->answer + at * n, given->mean + b * n, n);
    }
    if (fit->noise != NULL)
        memcpy(fit->noise, given->noise, m * n * sizeof *fit->noise);
done:
    return st;
}

pboost_status pboost_class_reserve(class_fit *fit, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = fit->pass.n_bags;

    TRY(pboost_class_moments_init(&fit->point, &fit->pass, err));
    TRY(pboost_class_moments_init(&fit->trial, &fit->pass, err));
    TRY(pboost_levenberg_init(&fit->lm, fit->pass.n_parameters, err));
    NEED(fit->size = pboost_alloc(m, sizeof(double)), err);
    NEED(fit->blur = pboost_alloc(m, sizeof(double)), err);
    NEED(fit->slope = pboost_alloc_large(m * fit->classes, sizeof(double)), err);
    NEED(fit->parameter = calloc(fit->pass.n_parameters, sizeof(double)), err);
    NEED(fit->start = calloc(fit->pass.n_parameters, sizeof(double)), err);
    NEED(fit->penalty = calloc(fit->pass.width + 1, sizeof(double)), err);
done:
    return st;
}

static pboost_status fit_init(class_fit *fit, const pboost_features *features,
                              const bag_proportions *given, const size_t *row, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_fit_options *o = fit->options;
    bag_rows bags = {.x = &features->x,
                     .weight = features->weight,
                     .n_bags = fit->n_bags,
                     .start = given->start,
                     .row = row};
    size_t n_rows = given->start[fit->n_bags] - given->start[0], m = fit->n_bags;
    size_t *begin;

    TRY(pboost_gather_rows(&fit->rows, &fit->units, &bags, pboost_column_options(o), true,
                           o->threads, err));
    begin = fit->rows.start;
    if (o->estimator == PBOOST_EVENT) {
        m = n_rows;
        NEED(fit->single = pboost_alloc(n_rows + 1, sizeof *fit->single), err);
        for (size_t i = 0; i <= n_rows; i++)
            fit->single[i] = i;
        begin = fit->single;
    }
    TRY(pboost_class_pass_init(&fit->pass, &fit->rows, begin, m, fit->classes, o->intercept,
                               o->threads, err));
    TRY(pboost_class_load_answers(fit, given, err));
    TRY(pboost_class_reserve(fit, err));
    TRY(pboost_class_ridges_init(fit, err));
done:
    return st;
}

/* ---- Units ----------------------------------------------------------------------------------- */

void pboost_class_enter(double *parameter, const class_fit *fit, const pboost_class_coef *coef)
{
    for (size_t c = 1; c < coef->classes; c++) {
        double *theta = coef->theta + c * (coef->cols + 1);
        pboost_coef of_class = {coef->cols, theta, theta[coef->cols]};
        pboost_units_enter(parameter + (c - 1) * fit->pass.width, &fit->units, &of_class,
                           fit->pass.intercept);
    }
}

void pboost_class_leave(pboost_class_coef *coef, const class_fit *fit)
{
    memset(coef->theta, 0, (coef->cols + 1) * sizeof *coef->theta);
    for (size_t c = 1; c < coef->classes; c++) {
        double *theta = coef->theta + c * (coef->cols + 1);
        pboost_coef of_class = {coef->cols, theta, 0.0};
        pboost_units_leave(&of_class, &fit->units, fit->parameter + (c - 1) * fit->pass.width,
                           fit->pass.intercept);
        theta[coef->cols] = of_class.intercept;
    }
}

/* ---- The result ------------------------------------------------------------------------------ */

bool pboost_class_is_worse(const class_fit *fit, const double *model, const double *constant,
                           const bag_proportions *given)
{
    size_t n = fit->classes;
    double gain = 0.0;

    for (size_t b = 0; b < fit->n_bags; b++) {
        double rows = (double)(given->start[b + 1] - given->start[b]);
        for (size_t i = b * n; i < (b + 1) * n; i++) {
            double blur = rows * given->noise[i] + 1e-9;
            gain += rows * (given->mean[i] + blur) * log((model[i] + blur) / (constant[i] + blur));
        }
    }
    return !(gain >= -NO_GAIN * (double)fit->n_bags);
}

/* pboost_class_is_worse of the rows that are here. */
static pboost_status judge(bool *worse, const class_fit *fit, const bag_proportions *given,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_pass bags = {0};
    class_moments model = {0}, constant = {0};

    TRY(pboost_class_pass_init(&bags, &fit->rows, fit->rows.start, fit->n_bags, fit->classes,
                               fit->pass.intercept, fit->pass.threads, err));
    TRY(pboost_class_moments_init(&model, &bags, err));
    TRY(pboost_class_moments_init(&constant, &bags, err));
    pboost_class_pass_run(&model, &bags, fit->parameter);
    pboost_class_pass_run(&constant, &bags, fit->start);
    *worse = pboost_class_is_worse(fit, model.mean, constant.mean, given);
done:
    pboost_class_pass_free(&bags);
    pboost_class_moments_free(&model);
    pboost_class_moments_free(&constant);
    return st;
}

void pboost_class_fill_report(pboost_fit_report *report, const class_fit *fit)
{
    bool aggregate = fit->options->estimator == PBOOST_AGGREGATE;
    size_t width = fit->pass.width;

    report->estimator = fit->options->estimator;
    report->rank = fit->lm.rank - (fit->classes - 1) * fit->pass.intercept;
    report->l2 = fit->lambda;
    report->l2_standardized = aggregate && fit->options->l2.mode != PBOOST_L2_FIXED;
    report->noisy = fit->noisy;
    report->eta_sd = pboost_class_eta_sd(&fit->point, &fit->pass);
    report->separable = report->eta_sd > SEPARABLE_SD;
    report->converged = report->converged && !(report->separable && fit->lambda == 0.0);
    report->bags = aggregate ? fit->n_bags : 0;
    report->dispersion = aggregate ? 1.0 : (double)NAN;
    report->pearson = aggregate ? fit->pearson : (double)NAN;
    report->freedom = aggregate ? fit->freedom : (double)NAN;
    for (size_t c = 0; c + 1 < fit->classes; c++)
        pboost_units_find_dropped(&report->rank, &report->first_dropped, &fit->units,
                                  fit->lm.factor.dropped + c * width, fit->units.cols,
                                  fit->pass.intercept);
}

pboost_status pboost_class_fit_multiple(pboost_class_coef *coef, pboost_fit_report *report,
                                        double *covariance, const pboost_features *features,
                                        const pboost_answers *answers, size_t first_bag,
                                        const pboost_fit_options *options, double multiple,
                                        pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report found = {.first_dropped = SIZE_MAX};
    class_fit fit = {.options = options,
                     .access = &PBOOST_CLASS_LOCAL,
                     .classes = coef->classes,
                     .multiple = multiple};
    size_t n = pboost_class_weights(coef->classes, features->x.cols);

    fit.n_bags = answers->n_bags - first_bag;
    bag_proportions given = {answers->start + first_bag, answers->mean + first_bag * fit.classes,
                             answers->noise_variance + first_bag * fit.classes};
    TRY(fit_init(&fit, features, &given, answers->row, err));
    TRY(pboost_class_solve(&fit, &found, coef, err));
    if (options->estimator == PBOOST_AGGREGATE)
        TRY(pboost_class_covariance(covariance, &fit, err));
    else
        for (size_t i = 0; covariance != NULL && i < n * n; i++)
            covariance[i] = (double)NAN;
    pboost_class_fill_report(&found, &fit);
    TRY(judge(&found.worse_than_constant, &fit, &given, err));
    pboost_class_leave(coef, &fit);
done:
    if (report != NULL)
        *report = found;
    pboost_class_fit_free(&fit);
    return st;
}

pboost_status pboost_classes_fit(pboost_class_coef *coef, pboost_fit_report *report,
                                 double *covariance, const pboost_features *features,
                                 const pboost_answers *answers, size_t first_bag,
                                 const pboost_fit_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options own = PBOOST_FIT_OPTIONS_INIT;
    double multiple = 0.0;

    if (report != NULL)
        *report = (pboost_fit_report){.first_dropped = SIZE_MAX};
    TRY(OPTIONS_READ(&own, options, PBOOST_FIT_OPTIONS_INIT, err));
    TRY(pboost_classes_check(features, coef->classes, &own, err));
    if (coef->cols != features->x.cols)
        FAIL(err, PBOOST_INVALID, "the weights are for %zu columns, but the features have %zu",
             coef->cols, features->x.cols);
    TRY(check_answers(answers, first_bag, coef->classes, features->x.rows, err));
    if (own.l2.mode == PBOOST_L2_CV)
        TRY(pboost_class_choose_l2(&multiple, coef->classes, features, answers, first_bag, &own,
                                   err));
    TRY(pboost_class_fit_multiple(coef, report, covariance, features, answers, first_bag, &own,
                                  multiple, err));
done:
    return st;
}
