/* The options of train: those that go together, and what they set. */
#include <string.h>

#include "train_classes.h"
#include "train_columns.h"
#include "train_wide.h"

static pboost_status require_options(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } required[] = {
        {a->data != NULL, "--data"},
        {a->label != NULL || a->labels != NULL || train_is_given(a) || a->oracle != NULL,
         "--label"},
        {a->bag != NULL || a->answers == NULL, "--bag"},
        {a->answers != NULL || a->bag == NULL, "--answers"},
        {a->has_family, "--family"},
        {a->min_bag > 0 || train_is_given(a) || a->oracle != NULL, "--min-bag"}};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!required[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s is required; see 'priorboost train --help'",
                               required[i].name);
    if (a->epsilon.den > 0 && !a->has_bounds && !a->classes && a->labels == NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--epsilon needs --bounds LO,HI: the noise depends on the range of the "
                           "labels");
    if ((a->clamp || a->step > 0.0) && !a->has_bounds)
        return pboost_fail(err, PBOOST_INVALID, "%s needs --bounds LO,HI",
                           a->clamp ? "--clamp" : "--step");
    if (a->positive != NULL && a->family != PBOOST_LOGISTIC)
        return pboost_fail(err, PBOOST_INVALID, "--positive is for the logistic family, not for %s",
                           pboost_family_name(a->family));
    if (a->round && a->family != PBOOST_LOGISTIC)
        return pboost_fail(err, PBOOST_INVALID, "--round is for the logistic family, not for %s",
                           pboost_family_name(a->family));
    if (column_arguments_check(&a->columns, err) != PBOOST_OK)
        return PBOOST_INVALID;
    if ((a->has_rows || a->has_effects) && a->bag == NULL)
        return pboost_fail(err, PBOOST_INVALID, "%s needs --bag and --answers",
                           a->has_rows ? "--rows" : "--bag-effects");
    if (a->sd != NULL && a->given_rows != ROWS_MEANS)
        return pboost_fail(err, PBOOST_INVALID, "--sd needs --rows means");
    if (a->answer_columns.n > 0 && a->answers == NULL)
        return pboost_fail(err, PBOOST_INVALID, "--answer-columns needs --answers");
    if (train_districts_check(a, err) != PBOOST_OK)
        return PBOOST_INVALID;
    if (a->test != NULL && a->label == NULL && a->labels == NULL)
        return pboost_fail(err, PBOOST_INVALID, "--test needs --label");
    return train_oracle_check(a, err);
}

/* The method that was asked for, or the one that the other options imply: --algorithm, the event
 * estimator and rounded answers (only the event estimator takes them) imply the paper's. */
static pboost_status settle_method(train_arguments *a, pboost_error *err)
{
    bool paper = a->method != NULL && strcmp(a->method, "paper") == 0;
    bool event = a->estimator != NULL && strcmp(a->estimator, "event") == 0;
    const char *says_auto = a->automatic ? "--auto" : "--method auto";
    const struct {
        bool given;
        const char *option, *value;
    } of_paper[] = {{paper, "--method", " paper"},
                    {a->algorithm != NULL, "--algorithm ", a->algorithm},
                    {event, "--estimator event", ""},
                    {a->round, "--round", ""}};

    if (a->method != NULL && !paper && strcmp(a->method, "auto") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--method is '%s'; it must be auto or paper",
                           a->method);
    bool said = a->automatic || (a->method != NULL && !paper);
    a->automatic = true;
    for (size_t i = 0; i < sizeof of_paper / sizeof *of_paper; i++) {
        if (of_paper[i].given && said)
            return pboost_fail(
                err, PBOOST_INVALID, "%s and %s%s contradict each other: %s; leave one of them out",
                says_auto, of_paper[i].option, of_paper[i].value,
                i == 0 ? "a run has one method" : "the latter belongs to --method paper");
        a->automatic = a->automatic && !of_paper[i].given;
    }
    return PBOOST_OK;
}

static bool is_other(const char *word, const char *usual)
{
    return word != NULL && strcmp(word, usual) != 0;
}

/* Sums may share rows; what has no form for that is an error. */
static pboost_status refuse_with_sums(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } senseless[] = {
        {is_other(a->estimator, "aggregate"), "--estimator, unless it is aggregate,"},
        {is_other(a->model, "glm"), "--model, unless it is glm,"},
        {is_other(a->covariance, "model"), "--covariance, unless it is model,"},
        {a->method != NULL, "--method"},
        {a->l2.mode == PBOOST_L2_CV, "--l2 cv"},
        {a->has_effects && a->effects, "--bag-effects yes"},
        {a->given_rows != ROWS_ALL, "--rows, unless it is all,"},
    };
    for (size_t i = 0; a->sums != NULL && i < sizeof senseless / sizeof *senseless; i++)
        if (senseless[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s cannot be used with --sums",
                               senseless[i].name);
    return PBOOST_OK;
}

/* With given bags nothing is asked, so options about asking are errors. */
static pboost_status refuse_with_bags(const train_arguments *a, pboost_error *err)
{
    const struct {
        bool given;
        const char *name;
    } senseless[] = {
        {a->min_bag > 0, "--min-bag"},   {a->bag_size > 0, "--bag-size"},
        {a->rounds > 0, "--rounds"},     {a->algorithm != NULL, "--algorithm"},
        {a->bags != NULL, "--bags"},     {a->schedule != NULL, "--schedule"},
        {a->prior != NULL, "--prior"},   {a->epsilon.den > 0, "--epsilon"},
        {a->has_bounds, "--bounds"},     {a->round, "--round"},
        {a->id != NULL, "--id"},         {a->unit != NULL, "--unit"},
        {a->oracle != NULL, "--oracle"},
    };
    for (size_t i = 0; train_is_given(a) && i < sizeof senseless / sizeof *senseless; i++)
        if (senseless[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s cannot be used with %s: %s are given",
                               senseless[i].name, a->bag != NULL ? "--bag" : "--sums",
                               a->bag != NULL ? "the bags and their answers" : "the answers");
    return refuse_with_sums(a, err);
}

/* The estimator, and the options of single estimators. */
static pboost_status choose_estimator(train_result *result, const train_arguments *a,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options *fit = &result->fit_options;

    result->given = train_is_given(a);
    result->estimator = a->automatic ? PBOOST_AGGREGATE : PBOOST_EVENT;
    if (a->estimator != NULL)
        TRY(pboost_estimator_parse(&result->estimator, a->estimator, err));
    if (a->round && result->estimator != PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID,
             "--round cannot be used with --estimator %s, which needs means that are not rounded",
             pboost_estimator_name(result->estimator));
    bool chosen = result->estimator == PBOOST_ESTIMATOR_CV;
    if (a->has_rho && result->estimator != PBOOST_INTERPOLATED && !chosen)
        FAIL(err, PBOOST_INVALID, "--rho is for --estimator interpolated, not for %s",
             pboost_estimator_name(result->estimator));
    if (a->has_rho && !(a->rho <= 1.0))
        FAIL(err, PBOOST_INVALID, "--rho is %g; it must be between 0 and 1", a->rho);
    if (a->l2.mode == PBOOST_L2_CV && result->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "--l2 cv is for --estimator aggregate, not for %s",
             pboost_estimator_name(result->estimator));
    if (a->covariance != NULL) {
        bool sandwich = strcmp(a->covariance, "sandwich") == 0;
        if (!sandwich && strcmp(a->covariance, "model") != 0)
            FAIL(err, PBOOST_INVALID, "--covariance is '%s'; it must be model or sandwich",
                 a->covariance);
        if (result->estimator != PBOOST_AGGREGATE && !chosen)
            FAIL(err, PBOOST_INVALID, "--covariance is for --estimator aggregate, not for %s",
                 pboost_estimator_name(result->estimator));
        fit->covariance = sandwich ? PBOOST_COVARIANCE_SANDWICH : PBOOST_COVARIANCE_MODEL;
    }
    fit->bag_effects = a->has_effects ? a->effects : a->given_rows != ROWS_ALL && !a->classes;
    if (a->classes && a->given_rows != ROWS_ALL && a->covariance == NULL)
        fit->covariance = PBOOST_COVARIANCE_SANDWICH;
    if ((fit->bag_effects || a->given_rows != ROWS_ALL) && result->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "%s is for --estimator aggregate, not for %s",
             a->given_rows == ROWS_ALL ? "--bag-effects" : "--rows sample or means",
             pboost_estimator_name(result->estimator));
    train_districts_assume(result, a);
    if (a->curves && result->estimator != PBOOST_AGGREGATE)
        FAIL(err, PBOOST_INVALID, "--model smooth is for --estimator aggregate, not for %s",
             pboost_estimator_name(result->estimator));
    fit->family = a->family;
    fit->estimator = result->estimator;
    fit->l2 = a->l2;
    fit->rho = a->has_rho ? a->rho : fit->rho;
    fit->intercept = !a->no_intercept;
    fit->threads = a->threads;
    fit->seed = a->seed;
done:
    return st;
}

pboost_status train_settings_choose(train_result *result, const train_arguments *a,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_trainer_options *o = &result->options;

    if (a->algorithm != NULL)
        TRY(pboost_algorithm_parse(&o->algorithm, a->algorithm, err));
    TRY(choose_estimator(result, a, err));
    if (a->bags != NULL)
        TRY(pboost_strategy_parse(&o->bags, a->bags, err));
    if (a->schedule != NULL)
        TRY(pboost_schedule_parse(&o->schedule, a->schedule, err));
    if (o->algorithm == PBOOST_ONESHOT && a->rounds > 1)
        FAIL(err, PBOOST_INVALID, "--rounds is %zu, but oneshot has one round by definition",
             a->rounds);
    if (o->algorithm == PBOOST_ONESHOT && a->bags != NULL && o->bags != PBOOST_BAGS_RANDOM)
        FAIL(err, PBOOST_INVALID, "--bags is %s, but oneshot means random bags", a->bags);
    if (a->bag_size > 0 && a->bag_size < a->min_bag)
        FAIL(err, PBOOST_INVALID, "--bag-size is %zu; it must be at least --min-bag, %zu",
             a->bag_size, a->min_bag);
    o->bag_size = a->bag_size;
    result->fixed = (pboost_fixed){.rounds = a->rounds,
                                   .bag_size = a->bag_size,
                                   .has_estimator = a->estimator != NULL,
                                   .has_bags = a->bags != NULL,
                                   .has_schedule = a->schedule != NULL,
                                   .estimator = result->estimator,
                                   .bags = o->bags,
                                   .schedule = o->schedule};
    o->seed = a->seed;
    o->threads = a->threads;
    if (a->oracle != NULL) /* it has its own rules */
        goto done;
    result->rules.min_bag = train_is_given(a) ? 1 : a->min_bag;
    result->rules.epsilon = a->epsilon;
    result->rules.bounded = a->has_bounds;
    result->rules.lower = a->bounds.lower;
    result->rules.upper = a->bounds.upper;
    result->rules.step = a->step;
    result->rules.round = a->round;
    if (!a->classes && a->labels == NULL) /* these are known once the table is read */
        TRY(pboost_rules_check(&result->rules, err));
    result->simulated = a->has_seed && (a->epsilon.den > 0 || a->round);
done:
    return st;
}

pboost_status train_settings_check(cli_context *cli, train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(train_wide_check(a, err));
    TRY(train_classes_guess(cli, a, err));
    TRY(train_classes_check(a, err));
    TRY(train_columns_check(a, err));
    TRY(require_options(a, err));
    TRY(refuse_with_bags(a, err));
    TRY(train_model_check(a, err));
    TRY(settle_method(a, err));
done:
    return st;
}
