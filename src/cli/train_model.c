/* priorboost train --model: what is fitted to the answers of all rounds, and how it fits them.
 *
 * The rounds themselves are those of the GLM, whatever the model is: bags are asked about once and
 * serve every model. */
#include <math.h>
#include <string.h>

#include "train_effects.h"

/* ---- Options --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool curves, trees;
} MODELS[] = {
    {"glm", false, false}, {"smooth", true, false}, {"trees", false, true}, {"auto", true, true}};

enum { N_MODELS = sizeof MODELS / sizeof *MODELS };

static pboost_status refuse_options(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } of_glm[] = {
        {a->estimator != NULL && strcmp(a->estimator, "aggregate") != 0, "--estimator"},
        {a->method != NULL && strcmp(a->method, "paper") == 0, "--method paper"},
        {a->algorithm != NULL, "--algorithm"},
        {a->round, "--round"},
        {a->has_rho, "--rho"},
        {a->covariance != NULL, "--covariance"},
        {a->l2.mode != PBOOST_L2_AUTO, "--l2"},
        {a->no_intercept, "--no-intercept"},
        {a->standardize, "--standardize"},
        {a->given_rows != ROWS_ALL, "--rows sample or means"},
        {a->has_effects && a->effects, "--bag-effects yes"},
    };
    for (size_t i = 0; i < sizeof of_glm / sizeof *of_glm; i++)
        if (of_glm[i].given)
            return pboost_fail(err, PBOOST_INVALID,
                               "%s is for --model glm, not for %s; leave one of them out",
                               of_glm[i].name, a->model);
    return PBOOST_OK;
}

pboost_status train_model_check(train_arguments *a, pboost_error *err)
{
    size_t i = 0;

    a->model = a->model != NULL ? a->model : MODELS[0].name;
    while (i < N_MODELS && strcmp(MODELS[i].name, a->model) != 0)
        i++;
    if (i == N_MODELS)
        return pboost_fail(err, PBOOST_INVALID,
                           "--model is '%s'; it must be glm, smooth, trees or auto", a->model);
    a->curves = MODELS[i].curves;
    a->trees = MODELS[i].trees;
    if (a->curves && a->given_rows != ROWS_ALL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--rows sample or means is for --model glm: a curve needs all rows of "
                           "the bags");
    if (!a->trees)
        return PBOOST_OK;
    a->columns.take_missing = true; /* they are filled in for the bags; trees see that they miss */
    return refuse_options(a, err);
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* The warnings about the GLM of the rounds are not about the trees. */
static void take_warnings(train_result *result, bool worse)
{
    const pboost_member *member = &result->mixture.member[0];

    result->n_warnings = 0;
    result->usable = !worse;
    if (!result->usable)
        train_warn(result, "a constant model explains the answers better than the trees");
    else if (member->forest.n_trees == 0)
        train_warn(result,
                   "trees predict bags that were left out no better than a constant does, so the "
                   "model is constant; try --model glm, or ask for more bags");
}

static pboost_status fit_trees(train_result *result, cli_context *cli, const train_arguments *a,
                               const train_data *data, const pboost_answers *answers,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    pboost_forest_report report;
    pboost_member *m = NULL;

    NEED(result->mixture.member = m = calloc(1, sizeof *m), err);
    result->mixture.n = 1;
    m->weight = 1.0;
    TRY(pboost_coef_init(&m->coef, data->cols, err));
    o.family = a->family;
    o.threads = a->threads;
    o.seed = a->seed;
    o.cancel = &cli->interrupt;
    TRY(pboost_forest_fit(&m->forest, &m->coef.intercept, &report, NULL, &data->sources.columns,
                          data->offset, data->weight, answers, 0, &o, err));
    m->kind = m->forest.n_trees > 0 ? PBOOST_MEMBER_TREES : PBOOST_MEMBER_CONSTANT;
    result->misfit[PBOOST_MEMBER_TREES] = report.misfit;
    result->misfit[PBOOST_MEMBER_CONSTANT] = report.constant_misfit;
    result->mixture_misfit = report.misfit;
    take_warnings(result, report.worse_than_constant);
done:
    return st;
}

pboost_status train_fit_mixture(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const pboost_answers *answers,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_features(data);
    pboost_mixture_options o = PBOOST_MIXTURE_OPTIONS_INIT;
    pboost_mixture_report report = {0};

    o.fit = result->fit_options;
    o.fit.estimator = PBOOST_AGGREGATE;
    o.fit.seed = a->seed;
    o.fit.cancel = &cli->interrupt;
    TRY((data->classes.n > 0 ? pboost_classes_fit_mixture : pboost_mixture_fit)(
        &result->mixture, &report, &features, &data->sources.columns, answers, 0, &o, err));
    for (size_t k = 0; k < PBOOST_MEMBER_KINDS; k++)
        result->misfit[k] = report.member[k].fitted ? report.member[k].misfit : NAN;
    result->mixture_misfit = report.misfit;
    result->n_warnings = 0; /* those of the rounds are about their GLM alone */
    result->usable = true;  /* the constant model is a member */
    if (report.worse_than_constant)
        train_warn(result, "a constant predicts bags that were left out better than this model "
                           "does: the answers say too little; ask for more bags");
done:
    return st;
}

/* ---- Predicted against answered -------------------------------------------------------------- */

/* A file that holds a model may travel further than the answers may.  So what is kept is no answer,
 * but means over groups of at least this many. */
enum { GROUP_BAGS = 5 };

static pboost_status predict_rows(double *mean, const train_result *result, const train_data *data,
                                  const pboost_samples *samples, const pboost_coef *coef,
                                  pboost_error *err)
{
    const pboost_fit_options *fit = &result->fit_options;
    if (result->mixture.n == 0)
        return pboost_predict(mean, fit->family, samples, coef, fit->threads, err);
    return pboost_mixture_predict(mean, fit->family, samples, &data->sources.columns,
                                  &result->mixture, fit->threads, err);
}

static pboost_status compare_bags(train_result *result, const train_data *data,
                                  const pboost_answers *answers, const pboost_coef *coef,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = train_features(data).x;
    pboost_bags bags = pboost_answers_bags(answers);
    pboost_samples samples = {.x = &x, .row = bags.row, .n = bags.n_rows, .offset = data->offset};
    size_t groups = bags.n_bags / GROUP_BAGS;
    double *mean = NULL, *of_bag = NULL;

    groups = groups < PBOOST_MAX_GROUPS ? groups : PBOOST_MAX_GROUPS;
    if (groups < 2 || result->rules.round)
        goto done;
    NEED(mean = pboost_alloc(bags.n_rows, sizeof *mean), err);
    NEED(of_bag = calloc(bags.n_bags, sizeof *of_bag), err);
    TRY(predict_rows(mean, result, data, &samples, coef, err));
    for (size_t b = 0; b < bags.n_bags; b++)
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            of_bag[b] += mean[i] / (double)(bags.start[b + 1] - bags.start[b]);
    for (size_t b = 0; b < bags.n_bags; b++)
        if (!isfinite(of_bag[b])) /* the fit is refused for it */
            goto done;
    TRY(pboost_calibrate(&result->by_bag, of_bag, pboost_answers_mean(answers), bags.n_bags, groups,
                         err));
done:
    free(mean);
    free(of_bag);
    return st;
}

pboost_status train_fit_model(train_result *result, cli_context *cli, const train_arguments *a,
                              const train_data *data, const pboost_answers *answers,
                              const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    result->model = a->model;
    for (size_t k = 0; k < PBOOST_MEMBER_KINDS; k++)
        result->misfit[k] = NAN;
    if (a->trees && a->curves)
        TRY(train_fit_mixture(result, cli, a, data, answers, err));
    else if (a->trees)
        TRY(fit_trees(result, cli, a, data, answers, err));
    for (size_t t = 0; a->trees && t < result->rounds; t++) /* these are of the GLM */
        result->bag_deviance[t] = result->bag_deviance_ahead[t] = NAN;
    TRY(compare_bags(result, data, answers, coef, err));
    if (a->trees)
        TRY(train_effects(result, data, err));
    if (!a->trees && !a->curves && a->sums == NULL) /* bags it leaves out share no rows */
        train_hint(cli, result, data, answers, coef);
done:
    return st;
}
