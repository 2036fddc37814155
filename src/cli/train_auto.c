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
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_plan_options o = plan_options(result, a);
    TRY(pboost_choice_make(&result->choice, &x, data->offset, data->prior_score, &o, err));
    follow(result);
done:
    return st;
}

pboost_status train_auto_revise(train_result *result, pboost_trainer *trainer,
                                const train_arguments *a, const train_data *data,
                                const pboost_coef *coef, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_plan_options o = plan_options(result, a);
    TRY(pboost_choice_revise(&result->choice, trainer, &x, data->offset, coef, &o, err));
    follow(result);
done:
    return st;
}

json_t *train_describe_plan(const train_result *r)
{
    const pboost_choice *choice = &r->choice;
    const pboost_plan *plan = &choice->plan;
    const pboost_plan_point *best = &plan->point[plan->best];
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:s}", "planned_bag_size",
        (json_int_t)choice->planned_bag_size, "forecast_excess", cli_json_number(best->excess),
        "forecast_cautious", cli_json_number(best->cautious), "forecast_all_labels",
        cli_json_number(plan->all_labels), "forecast_constant", cli_json_number(plan->constant),
        "learnt_dispersion", cli_json_number(choice->learnt.dispersion), "learnt_model_error",
        cli_json_number(choice->learnt.model_error), "no_better_than_mean",
        (int)plan->no_better_than_mean, "rare", (int)plan->rare, "reason", plan->reason);
}
