/* What a plan assumes before anything is asked: the effect, the mean, the dispersion, the ridge. */
#include <math.h>

#include "data/family.h"
#include "data/fit_options.h"
#include "plan/plan.h"
#include "try.h"

#define BOUNDS_SLACK 1.5 /* bounds are this many times as wide as the labels need */
#define TAIL_SLACK                                                                                 \
    2.0 /* times as far as a normal column would go, an assumed effect may move a row */

/* How many standard deviations the farthest of n normal values is from the mean. */
static double farthest(size_t n)
{
    return sqrt(2.0 * log((double)n + 2.0));
}

/* Labels outside the bounds are refused, so the bounds hold the most extreme of n labels; and they
 * were chosen without looking at labels, so they are wider than that. */
static double label_sd(const pboost_plan_options *o, size_t n)
{
    return o->rules.bounded ? 0.5 * (o->rules.upper - o->rules.lower) / (BOUNDS_SLACK * farthest(n))
                            : 1.0;
}

static double default_effect(const pboost_plan_options *o, size_t n)
{
    if (o->family == PBOOST_LINEAR)
        return sqrt(0.5) * label_sd(o, n);
    return o->family == PBOOST_POISSON ? 0.5 : 1.0;
}

/* How far one column may move the linear predictor of a row.  That of a linear model cannot
 * overflow. */
static double largest_move(const pboost_plan_options *o, size_t n)
{
    return pboost_family_info(o->family)->curved ? TAIL_SLACK * farthest(n) * default_effect(o, n)
                                                 : INFINITY;
}

static double default_mean(const pboost_plan_options *o, size_t n)
{
    bool bounded = o->rules.bounded;
    if (o->family == PBOOST_LOGISTIC)
        return 0.5;
    double sd = default_effect(o, n); /* Poisson: the largest mean is at the bound */
    if (o->family == PBOOST_POISSON)
        return bounded && o->rules.upper > 0.0
                   ? o->rules.upper / BOUNDS_SLACK * exp(0.5 * sd * sd - sd * farthest(n))
                   : 1.0;
    return bounded ? 0.5 * (o->rules.lower + o->rules.upper) : 0.0;
}

static double default_dispersion(const pboost_plan_options *o, size_t n, double mean)
{
    double sd = label_sd(o, n);
    if (o->family == PBOOST_LINEAR)
        return 0.5 * sd * sd;
    /* Counts are seldom Poisson: a tenth of the mean's square is usual. */
    return o->family == PBOOST_POISSON ? 1.0 + 0.1 * mean : 1.0;
}

void pboost_planner_penalty(planner *of, bool noise)
{
    population *p = &of->population;
    const pboost_plan_options *o = of->options;
    const family_info *family = pboost_family_info(p->family);
    double sd = p->row.eta_sd, d = (double)p->x->cols;
    pboost_l2 over_phi = {o->l2.mode, o->l2.value / p->phi};
    double spread = pboost_prior_spread(family, sd, p->phi);
    p->ridge_judged = noise && family->ridge_judged && o->l2.mode != PBOOST_L2_FIXED;
    if (p->ridge_judged && family->prior_spread > 0.0)
        spread = fmin(spread, sd * sd);
    pboost_units_penalty(p->penalty + p->intercept, &p->units, over_phi, d / spread);
}

pboost_status pboost_planner_assume(planner *p, pboost_plan *plan, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    const pboost_assumptions *assumed = &o->assumed;
    population *pop = &p->population;
    size_t rows = plan->sample_rows < 8192 ? plan->sample_rows : 8192;

    TRY(pboost_population_init(pop, o->family, p->x, p->offset, p->order.row, rows, o->intercept,
                               o->threads, err));
    plan->default_coef = assumed->coef == NULL;
    double mean = isnan(assumed->mean) ? default_mean(o, p->n) : assumed->mean;
    if (o->family == PBOOST_LOGISTIC && !(mean > 0.0 && mean < 1.0))
        FAIL(err, PBOOST_INVALID, "the mean label is %g; it must be between 0 and 1", mean);
    if (o->family == PBOOST_POISSON && !(mean > 0.0))
        FAIL(err, PBOOST_INVALID, "the mean label is %g; it must be positive", mean);
    if (assumed->coef != NULL)
        pboost_population_set(pop, assumed->coef);
    else
        TRY(pboost_population_assume(pop, mean, default_effect(o, p->n), largest_move(o, p->n),
                                     o->seed, err));
    TRY(pboost_population_measure(pop, err));

    plan->default_dispersion = isnan(assumed->dispersion);
    pop->phi =
        plan->default_dispersion ? default_dispersion(o, p->n, pop->mean) : assumed->dispersion;
    if (!(pop->phi > 0.0) || isinf(pop->phi))
        FAIL(err, PBOOST_INVALID, "dispersion is %g; it must be positive and finite", pop->phi);
    p->model_error =
        isnan(assumed->model_error) ? PLAN_MODEL_ERROR * pop->mean_variance : assumed->model_error;
    pboost_planner_penalty(p, false);
    plan->mean = plan->default_coef && o->intercept ? mean : pop->mean; /* equal but for rounding */
    plan->dispersion = pop->phi;
    plan->model_error = p->model_error;

    TRY(pboost_coef_init(&p->coef, p->x->cols, err));
    pboost_units_leave(&p->coef, &pop->units, pop->parameter, o->intercept);
    NEED(p->score = pboost_alloc(plan->n_columns > 0 ? p->n : 1, sizeof *p->score), err);
done:
    return st;
}
