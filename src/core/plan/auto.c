/* Running what the planner recommends.
 *
 * Before anything is asked, the plan uses assumptions.  Under noise the best bag size depends on
 * them: larger bags reduce the noise, but a wrong model does more harm in them.  So if one row in
 * seventeen makes enough bags to measure more than is assumed, these rows are asked first.  Their
 * residuals show the dispersion and the model's error, and a second plan decides how to ask about
 * the rest. Without noise the smallest bags are the best, and there is no such round. */
#include <math.h>

#include <priorboost/plan.h>

#include "base/options.h"
#include "data/family.h"
#include "plan/plan.h"
#include "train/trainer.h"
#include "try.h"

#define PILOT_BAGS_PER_WEIGHT 4
#define PILOT_LEAST_BAGS 32
#define PILOT_PART 17 /* the geometric schedule's first of two rounds */

static size_t pilot_rows(size_t rows)
{
    return rows / PILOT_PART;
}

static size_t size_of(const pboost_plan *plan, const pboost_plan_options *o)
{
    return o->trees ? pboost_plan_tree_bag_size(plan, plan->best, o->rules.min_bag)
                    : plan->point[plan->best].bag_size;
}

static void follow(pboost_choice *choice, const pboost_plan_options *o)
{
    const pboost_fixed *fixed = &o->fixed;
    const pboost_plan_point *point = &choice->plan.point[choice->plan.best];
    choice->estimator = fixed->has_estimator ? fixed->estimator : point->estimator;
    choice->bags = point->bags;
    choice->rounds = point->rounds;
    choice->bag_size = choice->planned_bag_size = size_of(&choice->plan, o);
    choice->schedule = fixed->has_schedule ? fixed->schedule : PBOOST_EQUAL;
    choice->algorithm = PBOOST_PBPREFIX; /* the answers of all rounds are used */
}

/* Whether this many bags of that size measure the dispersion, or the model's error by groups of 16
 * (pilot.c), better than they are assumed.  If not, their rows would only be spent in worse bags.
 */
static bool can_tell(const pboost_choice *choice, const pboost_plan_options *o, size_t size,
                     size_t bags)
{
    const pboost_plan *plan = &choice->plan;
    double phi = plan->dispersion, s = (double)size, m = (double)bags;
    double variance = pboost_family_info(o->family)->variance_at(plan->mean);
    double spread = phi * variance / s + pboost_rules_noise_variance(&o->rules, size);
    bool of_phi = o->family != PBOOST_LOGISTIC && sqrt(5.0 / m) * spread * s / variance < phi;
    bool of_error = sqrt(2.0 * 16.0 / m) * spread / 16.0 < plan->model_error;
    return of_phi || of_error;
}

/* Plans a first round, with bags of about the recommended size if it has enough of them.  Its
 * purpose is to choose the size of the other bags, so there is none if that size, the rounds or
 * equal slices are fixed. */
static void set_pilot(pboost_choice *choice, const pboost_matrix *x, const pboost_plan_options *o)
{
    const pboost_rules *rules = &o->rules;
    const pboost_fixed *fixed = &o->fixed;
    size_t least = PILOT_BAGS_PER_WEIGHT * (x->cols + 1), size = choice->bag_size;
    bool open = fixed->rounds == 0 && fixed->bag_size == 0 &&
                !(fixed->has_schedule && fixed->schedule != PBOOST_GEOMETRIC);
    least = least > PILOT_LEAST_BAGS ? least : PILOT_LEAST_BAGS;
    while (size > rules->min_bag && pilot_rows(x->rows) / size < least)
        size = size / 2 > rules->min_bag ? size / 2 : rules->min_bag;
    choice->pilot = open && choice->estimator == PBOOST_AGGREGATE && rules->epsilon.den > 0 &&
                    choice->rounds == 1 && pilot_rows(x->rows) / size >= least &&
                    can_tell(choice, o, size, pilot_rows(x->rows) / size);
    if (!choice->pilot)
        return;
    choice->rounds = 2;
    choice->schedule = PBOOST_GEOMETRIC;
    choice->bag_size = size;
}

pboost_status pboost_choice_make(pboost_choice *out, const pboost_features *features,
                                 const double *prior_score, const pboost_plan_options *options,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    *out = (pboost_choice){.learnt = {NULL, NAN, NAN, NAN}};
    TRY(OPTIONS_READ(&o, options, PBOOST_PLAN_OPTIONS_INIT, err));
    o.brief = true;
    for (size_t i = 0; prior_score != NULL && i < features->x.rows; i++) {
        if (!isfinite(prior_score[i]))
            FAIL(err, PBOOST_BAD_DATA, "the prior score of row %zu is %g; it must be finite", i,
                 prior_score[i]);
        o.assumed.mean =
            (i == 0 ? 0.0 : o.assumed.mean) + prior_score[i] / (double)features->x.rows;
    }
    TRY(pboost_plan_make(&out->plan, features, &o, err));
    follow(out, &o);
    set_pilot(out, &features->x, &o);
done:
    return st;
}

/* Plans again with what was learnt from round 1; on failure the choice does not change. */
static pboost_status plan_again(pboost_choice *choice, const pboost_features *features,
                                const pboost_answers *answers, const pboost_coef *coef,
                                const pboost_plan_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    pboost_plan revised = {0};

    TRY(OPTIONS_READ(&o, options, PBOOST_PLAN_OPTIONS_INIT, err));
    o.brief = true;
    o.assumed.coef = coef;
    o.assumed.dispersion = choice->plan.dispersion; /* combined with what is measured */
    TRY(pboost_assumptions_learn(&o.assumed, o.family, features, answers, coef, o.threads, err));
    TRY(pboost_plan_make(&revised, features, &o, err));
    pboost_plan_free(&choice->plan);
    choice->plan = revised;
    choice->learnt = o.assumed;
    choice->learnt.coef = NULL;
done:
    return st;
}

pboost_status pboost_choice_revise(pboost_choice *choice, pboost_trainer *trainer,
                                   const pboost_features *features, const pboost_coef *coef,
                                   const pboost_plan_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;

    TRY(OPTIONS_READ(&o, options, PBOOST_PLAN_OPTIONS_INIT, err));
    if (!choice->pilot || pboost_trainer_rounds_done(trainer) != 1)
        goto done;
    st = plan_again(choice, features, pboost_trainer_answers(trainer), coef, options, err);
    /* A fit to few rows can predict means that overflow on others, and then it cannot be used for a
     * plan. The labels of round 1 are spent, so the training continues with the first plan. */
    if (st == PBOOST_BAD_DATA) {
        st = PBOOST_OK;
        if (err != NULL)
            *err = (pboost_error){0};
    }
    TRY(st);
    const pboost_plan_point *best = &choice->plan.point[choice->plan.best];
    size_t rest = features->x.rows - pilot_rows(features->x.rows);
    size_t size = size_of(&choice->plan, &o);
    choice->bag_size = size < rest ? size : rest;
    choice->bags = best->bags;
    TRY(pboost_trainer_ask_for(trainer, choice->bags, choice->bag_size, err));
done:
    return st;
}

void pboost_choice_free(pboost_choice *choice)
{
    pboost_plan_free(&choice->plan);
    *choice = (pboost_choice){0};
}
