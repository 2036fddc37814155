/* priorboost train --auto: run what the planner recommends. */
#include <math.h>

#include "train.h"

/* A pilot teaches where it has so many bags a weight. */
#define PILOT_BAGS_PER_WEIGHT 4
#define PILOT_LEAST_BAGS 32
#define PILOT_PART 17 /* the geometric schedule's first of two rounds */

static pboost_plan_options plan_options(const train_result *result, const train_arguments *a)
{
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    o.family = a->family;
    o.rules = result->rules;
    o.intercept = !a->no_intercept;
    o.l2 = a->l2;
    o.brief = true;
    o.seed = a->seed;
    o.threads = a->threads;
    return o;
}

static void follow(train_result *result, const pboost_plan_point *point)
{
    result->estimator = point->estimator;
    result->options.bags = point->bags;
    result->options.bag_size = point->bag_size;
    result->options.rounds = point->rounds;
    /* Nothing is forgotten: the aggregate estimator pools the answers of all rounds. */
    result->options.algorithm =
        point->estimator == PBOOST_AGGREGATE ? PBOOST_PBPREFIX : PBOOST_PRIORBOOST;
}

pboost_status train_auto_choose(train_result *result, const train_arguments *a,
                                const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_matrix x = pboost_matrix_f64(data->x, data->rows, data->cols);
    pboost_plan_options o = plan_options(result, a);

    result->learnt = (pboost_belief){NULL, NAN, NAN, NAN};
    for (size_t i = 0; data->prior_score != NULL && i < data->rows; i++)
        o.belief.mean = (i == 0 ? 0.0 : o.belief.mean) + data->prior_score[i] / (double)data->rows;
    TRY(pboost_plan_make(&result->plan, &x, data->offset, &o, err));
    const pboost_plan_point *best = &result->plan.point[result->plan.best];
    follow(result, best);
    result->planned_bag_size = best->bag_size;
    size_t least = PILOT_BAGS_PER_WEIGHT * (data->cols + 1);
    least = least > PILOT_LEAST_BAGS ? least : PILOT_LEAST_BAGS;
    size_t size = best->bag_size;
    while (size > result->rules.min_bag && data->rows / PILOT_PART / size < least)
        size = size / 2 > result->rules.min_bag ? size / 2 : result->rules.min_bag;
    /* Only noise makes larger bags better, so only under noise is there anything to learn. */
    if (best->estimator == PBOOST_AGGREGATE && result->rules.epsilon.den > 0 && best->rounds == 1 &&
        data->rows / PILOT_PART / size >= least) {
        result->options.rounds = 2;
        result->options.schedule = PBOOST_GEOMETRIC;
        result->options.bag_size = size;
    }
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
    pboost_plan revised = {0};

    if (result->options.schedule != PBOOST_GEOMETRIC)
        goto done; /* these rounds are the plan's own, not a pilot */
    o.belief.coef = coef;
    TRY(pboost_belief_learn(&o.belief, a->family, &x, data->offset, pboost_trainer_answers(trainer),
                            coef, a->threads, err));
    TRY(pboost_plan_make(&revised, &x, data->offset, &o, err));
    pboost_plan_free(&result->plan);
    result->plan = revised;
    result->learnt = o.belief;
    result->learnt.coef = NULL;
    const pboost_plan_point *best = &result->plan.point[result->plan.best];
    size_t size = best->bag_size, rest = data->rows - data->rows / PILOT_PART;
    result->options.bag_size = size < rest ? size : rest;
    result->options.bags = best->rounds > 1 ? PBOOST_BAGS_HYBRID : best->bags;
    if (best->estimator != PBOOST_AGGREGATE)
        goto done;
    TRY(pboost_trainer_ask_for(trainer, result->options.bags, result->options.bag_size, err));
done:
    return st;
}

json_t *train_describe_plan(const train_result *r)
{
    const pboost_plan *plan = &r->plan;
    const pboost_plan_point *best = &plan->point[plan->best];
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:s}", "planned_bag_size",
        (json_int_t)r->planned_bag_size, "forecast_excess", cli_json_number(best->excess),
        "forecast_cautious", cli_json_number(best->cautious), "forecast_all_labels",
        cli_json_number(plan->all_labels), "forecast_constant", cli_json_number(plan->constant),
        "learnt_dispersion", cli_json_number(r->learnt.dispersion), "learnt_model_error",
        cli_json_number(r->learnt.model_error), "hopeless", (int)plan->hopeless, "rare",
        (int)plan->rare, "reason", plan->reason);
}
