/* The planner: forecasts every way of asking and recommends one.
 *
 * For each strategy, number of rounds and bag size, bags are made of a sample of rows as the
 * trainer would make them, with the assumed model for a prior, and their information is turned into
 * loss (forecast.h).  Nothing of this needs a label.
 *
 * What the forecast cannot see is that the model is wrong.  A wrong model leaves in every answer a
 * deviation that larger bags do not average out: on real tables several per cent of the variance of
 * the means.  A second figure counts what that deviation does to the weights where bags are mixed
 * (forecast.c).  The worst ratio of a way of asking is the larger of its ratios to the best, if the
 * model is right and if it is wrong; the way with the smallest is recommended. */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/options.h"
#include "base/sizes.h"
#include "data/answers.h"
#include "data/family.h"
#include "data/fit_options.h"
#include "data/matrix.h"
#include "train/schedule.h"
#include "try.h"

#define CLEARLY 0.95       /* a loss below this fraction of another is clearly better */
#define AS_BAD_AS_MEAN 0.5 /* fraction of the constant model's excess that counts as no better */
#define EVENTS_PER_WEIGHT 10
/* Bags for trees, by real tables (docs/models.md). */
#define TREES_LEAST ((size_t)64)
#define TREES_LEAST_LEARNT ((size_t)32)
#define TREES_MAY_LOSE 0.01 /* of what all labels gain over the constant model */

/* ---- The recommendation ---------------------------------------------------------------------- */

static bool same_manner(const pboost_plan_point *a, const pboost_plan_point *b)
{
    return a->estimator == b->estimator && a->bags == b->bags && a->rounds == b->rounds;
}

static bool same_epsilon(pboost_rational a, pboost_rational b)
{
    return a.den == 0 ? b.den == 0 : b.den > 0 && a.num * b.den == b.num * a.den;
}

static bool is_candidate(const pboost_plan_point *point, pboost_rational epsilon)
{
    return !point->comparison_only && same_epsilon(point->epsilon, epsilon);
}

/* The least of each figure over all candidates; the points may differ. */
typedef struct {
    double excess, cautious;
} least_losses;

/* A loss over the least one; the least may be 0. */
static double times(double loss, double least)
{
    return loss > least ? loss / least : 1.0;
}

/* The worst ratio: the loss of a point over the least loss, if the model is right and if it is
 * wrong; the larger of both. */
static double worst_ratio(const pboost_plan_point *point, least_losses least)
{
    return fmax(times(point->excess, least.excess), times(point->cautious, least.cautious));
}

size_t pboost_plan_recommend(const pboost_plan_point *point, size_t n, pboost_rational epsilon)
{
    least_losses least = {INFINITY, INFINITY};
    double least_ratio = INFINITY;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        if (is_candidate(&point[i], epsilon)) {
            least.excess = fmin(least.excess, point[i].excess);
            least.cautious = fmin(least.cautious, point[i].cautious);
        }
    for (size_t i = 0; i < n; i++)
        if (is_candidate(&point[i], epsilon))
            least_ratio = fmin(least_ratio, worst_ratio(&point[i], least));
    for (size_t i = 0; i < n; i++) {
        double of_point = worst_ratio(&point[i], least);
        if (!is_candidate(&point[i], epsilon) || !(of_point * CLEARLY <= least_ratio))
            continue;
        if (best == SIZE_MAX ||
            (same_manner(&point[i], &point[best]) && of_point < worst_ratio(&point[best], least)))
            best = i;
    }
    return best;
}

/* Trees gain from more answers, and lose what every model loses if smaller bags let through more
 * noise.  What a GLM is forecast to lose measures that.  It may lose little only: where labels say
 * less than is assumed, it loses many times the forecast.  Counts of visits or claims vary more
 * than is assumed, unless their dispersion was given or learnt.  Where effects were learnt too, the
 * forecast is not an assumption any more, and says alone how small bags may be. */
size_t pboost_plan_tree_bag_size(const pboost_plan *plan, size_t point, size_t min_bag)
{
    const pboost_plan_point *best = &plan->point[point];
    double most = best->excess + TREES_MAY_LOSE * (plan->constant - plan->all_labels);
    bool learnt = !plan->default_coef && !plan->default_dispersion;
    size_t size = best->bag_size;
    size_t least = larger(learnt ? TREES_LEAST_LEARNT : larger(size / 2, TREES_LEAST), min_bag);

    bool unsure = plan->family == PBOOST_POISSON && plan->default_dispersion;
    if (best->epsilon.den == 0 || unsure)
        return size;
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        if (same_manner(p, best) && same_epsilon(p->epsilon, best->epsilon) &&
            p->bag_size >= least && p->bag_size < size && p->excess <= most)
            size = p->bag_size;
    }
    return size;
}

static void explain(pboost_plan *plan, const planner *p)
{
    const pboost_plan_point *best = &plan->point[plan->best];
    size_t k = p->options->rules.min_bag;
    const pboost_plan_point *smallest = best;
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *other = &plan->point[i];
        if (same_manner(other, best) && other->bag_size == k &&
            same_epsilon(other->epsilon, best->epsilon))
            smallest = other;
    }
    const pboost_fixed *fixed = &p->options->fixed;
    bool chosen = fixed->rounds > 0 || fixed->bag_size > 0 || fixed->has_bags;
    if (best->bag_size > k && fixed->bag_size == 0)
        snprintf(plan->reason, sizeof plan->reason,
                 "larger bags reduce the noise by more than they lose: bags of %zu have a forecast "
                 "excess loss of %.3g, bags of %zu one of %.3g",
                 best->bag_size, best->excess, k, smallest->excess);
    else
        snprintf(plan->reason, sizeof plan->reason,
                 "%s bags of %zu have a forecast excess loss of %.3g, %.2g times that of all "
                 "labels; no other way of asking%s is clearly better",
                 pboost_strategy_name(best->bags), best->bag_size, best->excess,
                 times(best->excess, plan->all_labels), chosen ? " that the options allow" : "");
    size_t used = strlen(plan->reason);
    if (fixed->has_estimator && fixed->estimator != PBOOST_AGGREGATE)
        snprintf(plan->reason + used, sizeof plan->reason - used,
                 " (forecasts are those of the aggregate estimator)");
}

static void warn(pboost_plan *plan, bool noise)
{
    if (plan->no_better_than_mean)
        snprintf(plan->warning[plan->n_warnings++], sizeof *plan->warning,
                 "no way of asking is expected to do clearly better than a model that knows only "
                 "the mean (excess %.3g); ask for %smore rows",
                 plan->constant, noise ? "a larger epsilon or " : "");
    if (plan->rare)
        snprintf(plan->warning[plan->n_warnings++], sizeof *plan->warning,
                 "only about %.3g events are expected, fewer than ten for each of %zu weights",
                 plan->events, plan->n_columns + 1);
}

static pboost_status judge(pboost_plan *plan, planner *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    population *pop = &p->population;
    forecast_result labels = {0};

    pboost_planner_penalty(p, false);
    TRY(pboost_forecast_labels(&labels, pop, (double)p->n, err));
    plan->all_labels = labels.excess;
    TRY(pboost_forecast_constant(&plan->constant, pop, pop->offset, err));
    plan->best = pboost_plan_recommend(plan->point, plan->n_points, p->options->rules.epsilon);
    if (plan->best == SIZE_MAX || !isfinite(plan->all_labels) || !isfinite(plan->constant))
        FAIL(err, PBOOST_BAD_DATA,
             "no loss can be forecast: the numbers overflow with the model that the plan assumes "
             "(mean %g, dispersion %g); give another prior, or rescale the columns",
             pop->mean, pop->phi);
    const pboost_plan_point *best = &plan->point[plan->best];
    plan->no_better_than_mean = best->excess >= AS_BAD_AS_MEAN * plan->constant;
    plan->events = NAN;
    if (pop->family == PBOOST_LOGISTIC)
        plan->events = (double)p->n * fmin(pop->mean, 1.0 - pop->mean);
    if (pop->family == PBOOST_POISSON)
        plan->events = (double)p->n * pop->mean;
    plan->rare = plan->events < EVENTS_PER_WEIGHT * (double)(plan->n_columns + 1);
    explain(plan, p);
    warn(plan, p->options->rules.epsilon.den > 0);

    NEED(plan->se = calloc(plan->n_columns, sizeof *plan->se), err);
    forecast_result result = {.column = plan->se};
    if (best->estimator == PBOOST_AGGREGATE)
        TRY(pboost_point_forecast(&result, p, best, err));
done:
    return st;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static pboost_status check_assumptions(const pboost_assumptions *b, size_t cols, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (b->coef != NULL && b->coef->n != cols)
        FAIL(err, PBOOST_INVALID, "the assumed model has %zu weights for %zu columns", b->coef->n,
             cols);
    for (size_t j = 0; b->coef != NULL && j <= cols; j++) {
        double weight = j < cols ? b->coef->theta[j] : b->coef->intercept;
        if (!isfinite(weight))
            FAIL(err, PBOOST_INVALID, "weight %zu of the assumed model is %g; it must be finite", j,
                 weight);
    }
    if (isinf(b->mean))
        FAIL(err, PBOOST_INVALID, "the mean label is %g; it must be finite", b->mean);
    if (b->model_error < 0.0 || isinf(b->model_error))
        FAIL(err, PBOOST_INVALID, "the model error is %g; it must be finite and not negative",
             b->model_error);
done:
    return st;
}

static pboost_status check(const pboost_matrix *x, const double *offset,
                           const pboost_plan_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_samples samples = {.x = x, .n = x->rows};
    pboost_rules rules = o->rules;
    const pboost_fixed *fixed = &o->fixed;

    TRY(pboost_family_check(o->family, err));
    TRY(pboost_samples_check(&samples, false, err));
    TRY(OPTIONS_INSIDE(&rules, PBOOST_RULES_INIT, err));
    TRY(pboost_rules_check(&rules, err));
    TRY(pboost_rules_check_scalar(&rules, "a plan", err));
    if (x->rows < o->rules.min_bag)
        FAIL(err, PBOOST_BAD_DATA, "min_bag is %zu, but the table has %zu rows", o->rules.min_bag,
             x->rows);
    TRY(pboost_l2_check(o->l2, err));
    for (size_t i = 0; offset != NULL && i < x->rows; i++)
        if (!isfinite(offset[i]))
            FAIL(err, PBOOST_BAD_DATA, "the offset of row %zu is %g; it must be finite", i,
                 offset[i]);
    if (fixed->has_estimator && fixed->estimator == PBOOST_EVENT)
        FAIL(err, PBOOST_INVALID, "a plan cannot be made for the event estimator");
    if (fixed->bag_size > 0 && fixed->bag_size < o->rules.min_bag)
        FAIL(err, PBOOST_REFUSED,
             "bag_size is %zu, but the oracle answers no bag of fewer than %zu rows",
             fixed->bag_size, o->rules.min_bag);
    TRY(pboost_schedule_check(fixed->has_schedule ? fixed->schedule : PBOOST_EQUAL, x->rows,
                              fixed->rounds > 0 ? fixed->rounds : 1,
                              fixed->bag_size > 0 ? fixed->bag_size : o->rules.min_bag, err));
    TRY(check_assumptions(&o->assumed, x->cols, err));
    if (!(o->target >= 0.0 && o->target < 1.0))
        FAIL(err, PBOOST_INVALID, "target is %g; it must be at least 0 (none) and below 1",
             o->target);
done:
    return st;
}

static pboost_status score_rows(planner *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_samples rows = {.x = p->x, .row = p->order.row, .n = p->n, .offset = p->offset};
    TRY(pboost_predict(p->score, p->options->family, &rows, &p->coef, p->options->threads, err));
    for (size_t i = 0; i < p->n; i++)
        if (!isfinite(p->score[i]))
            FAIL(err, PBOOST_BAD_DATA,
                 "the model that the plan assumes predicts a mean of %g for row %zu; give another "
                 "prior, or limit extreme values of the columns (winsorize)",
                 p->score[i], p->order.row[i]);
done:
    return st;
}

/* The rules' own epsilon first, then the others. */
static pboost_rational epsilon_at(const pboost_plan_options *o, size_t i)
{
    return i == 0 ? o->rules.epsilon : o->epsilon[i - 1];
}

static pboost_status add_points(void *context, planner *p, way *w, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan *plan = context;

    for (size_t i = 0; i <= p->options->n_epsilon; i++) {
        pboost_plan_point *point = &plan->point[plan->n_points];
        asking a = {epsilon_at(p->options, i), (double)p->n, 1.0};
        TRY(pboost_way_point(point, p, w, &a, err));
        if (isfinite(point->excess) && isfinite(point->cautious)) /* else nothing is forecast */
            plan->n_points++;
    }
done:
    return st;
}

pboost_status pboost_plan_make(pboost_plan *out, const pboost_features *features,
                               const pboost_plan_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options own = PBOOST_PLAN_OPTIONS_INIT, *options = &own;
    const pboost_matrix *x = &features->x;
    planner p = {.options = options, .x = x, .offset = features->offset, .n = x->rows};
    pboost_cancel inner = {0}; /* the stages within a forecast are not told */
    const pboost_cancel *cancel;

    *out = (pboost_plan){.rows = x->rows, .n_columns = x->cols, .least_epsilon = NAN};
    TRY(OPTIONS_READ(&own, given, PBOOST_PLAN_OPTIONS_INIT, err));
    out->family = own.family;
    cancel = own.cancel;
    if (cancel != NULL) {
        inner = (pboost_cancel){.stop = cancel->stop, .user = cancel->user};
        own.cancel = &inner;
    }
    TRY(check(x, p.offset, options, err));
    p.sample = options->max_rows > 0 && options->max_rows < p.n ? options->max_rows : p.n;
    out->sample_rows = p.sample;
    TRY(pboost_bags_random(&p.order, p.n, p.n, options->seed, err));
    TRY(pboost_planner_assume(&p, out, err));
    TRY(score_rows(&p, err));
    NEED(out->point = calloc(pboost_ways_most(&p) * (options->n_epsilon + 1), sizeof *out->point),
         err);
    p.watch = cancel;
    TRY(pboost_ways_visit(&p, add_points, out, err));
    p.watch = NULL;
    TRY(judge(out, &p, err));
    if (options->costs)
        TRY(pboost_plan_costs(out, &p, err));
    if (options->costs && options->target > 0.0)
        TRY(pboost_plan_target(out, &p, err));
done:
    pboost_bags_free(&p.order);
    pboost_population_free(&p.population);
    pboost_coef_free(&p.coef);
    free(p.score);
    if (st != PBOOST_OK)
        pboost_plan_free(out);
    return st;
}

void pboost_plan_free(pboost_plan *plan)
{
    free(plan->point);
    free(plan->se);
    free(plan->cost);
    *plan = (pboost_plan){0};
}
