/* priorboost train --method auto: run what the planner recommends. */
#include "train.h"

static pboost_plan_options plan_options(const train_result *result, const train_arguments *a)
{
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    o.family = a->family;
    o.rules = result->rules;
    o.intercept = !a->no_intercept;
    o.l2 = a->l2;
    o.seed = a->seed;
    o.threads = a->threads;
    o.fixed = result->fixed;
    o.trees = a->trees;
    o.cancel = result->fit_options.cancel;
    return o;
}

static void follow(train_result *result)
{
    const pboost_choice *choice = &result->choice;
    result->estimator = choice->estimator;
    result->options.algorithm = choice->algorithm;
    result->options.bags = choice->bags;
    result->options.schedule = choice->schedule;
    result->options.rounds = choice->rounds;
    result->options.bag_size = choice->bag_size;
}

pboost_status train_auto_choose(train_result *result, const train_arguments *a,
                                const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_straight_features(data);
    pboost_plan_options o = plan_options(result, a);
    TRY(pboost_choice_make(&result->choice, &features, data->prior_score, &o, err));
    follow(result);
done:
    return st;
}

pboost_status train_plan_bag_size(size_t *out, const train_result *result, const train_arguments *a,
                                  const train_data *data, const pboost_rules *rules,
                                  pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_straight_features(data);
    pboost_plan_options o = plan_options(result, a);
    pboost_choice choice = {0};

    o.family = family;
    o.rules = *rules;
    o.fixed = (pboost_fixed){.rounds = 1,
                             .has_estimator = true,
                             .has_bags = true,
                             .estimator = PBOOST_AGGREGATE,
                             .bags = PBOOST_BAGS_FEATURES};
    TRY(pboost_choice_make(&choice, &features, NULL, &o, err));
    *out = choice.bag_size;
done:
    pboost_choice_free(&choice);
    return st;
}

pboost_status train_auto_revise(train_result *result, pboost_trainer *trainer,
                                const train_arguments *a, const train_data *data,
                                const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_features features = train_straight_features(data);
    pboost_plan_options o = plan_options(result, a);
    pboost_coef straight = {features.x.cols, coef->theta, coef->intercept};
    TRY(pboost_choice_revise(&result->choice, trainer, &features, &straight, &o, err));
    follow(result);
done:
    return st;
}
