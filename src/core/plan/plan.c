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
#include "data/family.h"
#include "data/fit_options.h"
#include "data/matrix.h"
#include "train/schedule.h"
#include "try.h"

#define CLEARLY 0.95       /* a loss below this fraction of another is clearly better */
#define AS_BAD_AS_MEAN 0.5 /* fraction of the constant model's excess that counts as no better */
#define BAGS_PER_WEIGHT 1  /* fewer are not forecast */
#define LEAST_BAGS 32      /* in all */
#define EVENTS_PER_WEIGHT 10
#define MAX_SIZES 24

/* How the rows are asked about: a row each. */
typedef struct {
    pboost_estimator estimator;
    pboost_strategy bags;
    size_t rounds;        /* 0: the trainer's default */
    bool improves;        /* rows within bags are more similar if the table is larger */
    bool comparison_only; /* never the best */
} manner;

static const manner MANNERS[] = {
    {PBOOST_AGGREGATE, PBOOST_BAGS_FEATURES, 1, true, false},
    {PBOOST_AGGREGATE, PBOOST_BAGS_FEATURES, 4, true, true},
    {PBOOST_AGGREGATE, PBOOST_BAGS_HYBRID, 2, true, false},
    {PBOOST_AGGREGATE, PBOOST_BAGS_PRIOR, 4, false, true},
    {PBOOST_AGGREGATE, PBOOST_BAGS_RANDOM, 1, false, true},
    {PBOOST_EVENT, PBOOST_BAGS_PRIOR, 0, false, true},
};
#define N_MANNERS (sizeof MANNERS / sizeof *MANNERS)

/* Those that the caller's options allow.  A manner that is otherwise only for comparison is a
 * candidate if the caller has chosen its bags; out holds N_MANNERS. */
static size_t open_manners(manner *out, const pboost_plan_options *o)
{
    const pboost_fixed *fixed = &o->fixed;
    size_t n = 0;
    for (size_t i = 0; i < N_MANNERS; i++) {
        manner m = MANNERS[i];
        if (fixed->has_bags ? m.bags != fixed->bags || m.estimator == PBOOST_EVENT
                            : o->brief && m.comparison_only)
            continue;
        m.comparison_only = m.comparison_only && !fixed->has_bags;
        if (fixed->rounds > 0)
            m.rounds = fixed->rounds;
        bool twice = n > 0 && out[n - 1].bags == m.bags && out[n - 1].estimator == m.estimator &&
                     (out[n - 1].rounds == m.rounds || o->brief);
        /* In one round there is no model to make hybrid bags with: they are bags by features. */
        bool by_features = m.bags == PBOOST_BAGS_HYBRID && m.rounds == 1 && !fixed->has_bags;
        if (!twice && !by_features)
            out[n++] = m;
    }
    return n;
}

/* ---- Bags as the trainer would make them ----------------------------------------------------- */

static pboost_status slice_bags(pboost_bags *out, const planner *p, const manner *how, size_t first,
                                size_t n, size_t bag_size, bool scored, pboost_error *err)
{
    const pboost_plan_options *o = p->options;
    pboost_samples samples = {.x = p->x, .row = p->order.row + first, .n = n};
    const double *score = p->score + first;
    if (how->bags == PBOOST_BAGS_RANDOM || (how->bags == PBOOST_BAGS_PRIOR && !scored))
        return pboost_bags_random(out, n, bag_size, o->seed, err);
    if (how->bags == PBOOST_BAGS_PRIOR)
        return pboost_bags_optimal(out, score, n, bag_size, o->threads, err);
    if (how->bags == PBOOST_BAGS_HYBRID && scored)
        return pboost_bags_hybrid(out, &samples, o->family, score, bag_size, o->threads, o->cancel,
                                  err);
    return pboost_bags_features(out, &samples, bag_size, o->threads, o->cancel, err);
}

static pboost_schedule schedule_of(const planner *p)
{
    const pboost_fixed *fixed = &p->options->fixed;
    return fixed->has_schedule ? fixed->schedule : PBOOST_EQUAL;
}

/* A forecast for bags by the prior alone assumes that the prior is right, which under noise it is
 * not: forecasts were ten times too good.  If the caller wants such bags, the forecast is that of
 * random bags, which are never better. */
static bool taken_for_random(const planner *p, const manner *how)
{
    return how->bags == PBOOST_BAGS_PRIOR && p->options->rules.epsilon.den > 0;
}

/* The bags of all rounds over the first `rows` of the order. */
static pboost_status make_bags(pboost_bags *out, const planner *p, const manner *how, size_t rows,
                               size_t bag_size, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags part = {0};
    manner m = *how;
    size_t *start = NULL;

    *out = (pboost_bags){0};
    if (taken_for_random(p, how))
        m.bags = PBOOST_BAGS_RANDOM;
    NEED(start = pboost_alloc(m.rounds + 1, sizeof *start), err);
    TRY(pboost_schedule_slices(start, schedule_of(p), rows, m.rounds, bag_size, err));
    NEED(out->row = pboost_alloc(rows, sizeof *out->row), err);
    NEED(out->start = pboost_alloc(rows / bag_size + 1, sizeof *out->start), err);
    out->start[0] = 0;
    for (size_t t = 0; t < m.rounds; t++) {
        size_t first = start[t], n = start[t + 1] - first;
        TRY(slice_bags(&part, p, &m, first, n, bag_size, t > 0, err));
        for (size_t i = 0; i < n; i++)
            out->row[first + i] = p->order.row[first + part.row[i]];
        for (size_t b = 1; b <= part.n_bags; b++)
            out->start[out->n_bags + b] = first + part.start[b];
        out->n_bags += part.n_bags;
        pboost_bags_free(&part);
    }
    out->n_rows = rows;
done:
    pboost_bags_free(&part);
    free(start);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

static bool fits(const planner *p, size_t rows, size_t rounds, size_t bag_size)
{
    return pboost_schedule_check(schedule_of(p), rows, rounds, bag_size, NULL) == PBOOST_OK;
}

/* How many rows to forecast on: the sample, or more where it is too small for such bags. */
static size_t rows_for(const planner *p, size_t rows, size_t rounds, size_t bag_size)
{
    size_t want = LEAST_BAGS * 8 * bag_size;
    if (want > rows)
        rows = want < p->n ? want : p->n;
    return fits(p, rows, rounds, bag_size) ? rows : p->n;
}

/* ---- Points ---------------------------------------------------------------------------------- */

/* c_B times the square of the bag's size. */
static pboost_status noise_scale(double *out, const pboost_rules *rules, pboost_rational epsilon,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rules with = *rules;
    with.epsilon = epsilon;
    TRY(pboost_rules_check(&with, err));
    *out = pboost_rules_noise_variance(&with, 1);
done:
    return st;
}

/* Both forecasts of one set of bags at one epsilon. */
static pboost_status aggregate_point(pboost_plan_point *point, planner *p,
                                     const forecast_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forecast_result result = {0};
    forecast_bags f = *bags;

    f.model_error = p->model_error;
    TRY(noise_scale(&f.noise_scale, &p->options->rules, point->epsilon, err));
    pboost_planner_penalty(p, f.noise_scale > 0.0);
    TRY(pboost_forecast_bags(&result, &p->population, &f, err));
    point->excess = result.excess;
    point->cautious = result.cautious;
    point->se = result.se;
done:
    return st;
}

/* The rules' own epsilon first, then the others. */
static pboost_rational epsilon_at(const pboost_plan_options *o, size_t i)
{
    return i == 0 ? o->rules.epsilon : o->epsilon[i - 1];
}

static pboost_status add_points(pboost_plan *plan, planner *p, const manner *how, size_t bag_size,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    pboost_bags bags = {0};
    manner m = *how;
    double excess = NAN;
    pboost_forecast forecast = PBOOST_FORECAST_INFORMATION;

    TRY(pboost_cancel_check(o->cancel, err));
    if (m.bags == PBOOST_BAGS_FEATURES && m.comparison_only && bag_size > o->rules.min_bag)
        goto done; /* one size is enough to show that rounds do not help */
    if (m.rounds == 0)
        m.rounds = pboost_rounds_default(p->n, p->x->cols, bag_size);
    while (o->fixed.has_bags && o->fixed.rounds == 0 && m.rounds > 1 &&
           !fits(p, p->n, m.rounds, bag_size))
        m.rounds /= 2; /* there is nothing else to recommend */
    size_t rows = rows_for(p, plan->sample_rows, m.rounds, bag_size);
    if (!fits(p, rows, m.rounds, bag_size))
        goto done;
    if (m.estimator == PBOOST_EVENT)
        TRY(pboost_plan_event(&excess, &forecast, p, rows, m.rounds, bag_size, err));
    else
        TRY(make_bags(&bags, p, &m, rows, bag_size, err));
    for (size_t i = 0; i <= o->n_epsilon; i++) {
        pboost_plan_point *point = &plan->point[plan->n_points];
        *point = (pboost_plan_point){.estimator = m.estimator,
                                     .bags = m.bags,
                                     .rounds = m.rounds,
                                     .bag_size = bag_size,
                                     .n_bags = p->n / bag_size,
                                     .epsilon = epsilon_at(o, i),
                                     .forecast = forecast,
                                     .excess = excess,
                                     .cautious = excess,
                                     .se = NAN,
                                     .comparison_only = m.comparison_only};
        double repeat = (double)p->n / (double)rows;
        forecast_bags f = {
            .bags = &bags, .repeat = repeat, .levels = m.improves ? log2(repeat) : 0.0};
        /* The theorems know no noise; for the others see taken_for_random. */
        if (m.bags == PBOOST_BAGS_PRIOR && point->epsilon.den > 0 && !o->fixed.has_bags)
            continue;
        if (m.estimator != PBOOST_EVENT)
            TRY(aggregate_point(point, p, &f, err));
        if (isfinite(point->excess) && isfinite(point->cautious)) /* else nothing is forecast */
            plan->n_points++;
    }
done:
    pboost_bags_free(&bags);
    return st;
}

static bool same_epsilon(pboost_rational a, pboost_rational b)
{
    return a.den == 0 ? b.den == 0 : b.den > 0 && a.num * b.den == b.num * a.den;
}

/* ---- The recommendation ---------------------------------------------------------------------- */

static bool same_manner(const pboost_plan_point *a, const pboost_plan_point *b)
{
    return a->estimator == b->estimator && a->bags == b->bags && a->rounds == b->rounds;
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

/* The best bag size of the first, simplest manner that no other beats clearly; SIZE_MAX: nothing is
 * forecast for that epsilon. */
static size_t recommend(const pboost_plan *plan, pboost_rational epsilon)
{
    const pboost_plan_point *point = plan->point;
    least_losses least = {INFINITY, INFINITY};
    double least_ratio = INFINITY;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < plan->n_points; i++)
        if (is_candidate(&point[i], epsilon)) {
            least.excess = fmin(least.excess, point[i].excess);
            least.cautious = fmin(least.cautious, point[i].cautious);
        }
    for (size_t i = 0; i < plan->n_points; i++)
        if (is_candidate(&point[i], epsilon))
            least_ratio = fmin(least_ratio, worst_ratio(&point[i], least));
    for (size_t i = 0; i < plan->n_points; i++) {
        double of_point = worst_ratio(&point[i], least);
        if (!is_candidate(&point[i], epsilon) || !(of_point * CLEARLY <= least_ratio))
            continue;
        if (best == SIZE_MAX ||
            (same_manner(&point[i], &point[best]) && of_point < worst_ratio(&point[best], least)))
            best = i;
    }
    return best;
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
    pboost_bags bags = {0};

    pboost_planner_penalty(p, false);
    TRY(pboost_forecast_labels(&labels, pop, (double)p->n, err));
    plan->all_labels = labels.excess;
    plan->constant = pboost_forecast_constant(pop);
    plan->best = recommend(plan, p->options->rules.epsilon);
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
    if (best->estimator != PBOOST_AGGREGATE)
        goto done;
    manner how = {best->estimator, best->bags, best->rounds, false, false};
    size_t rows = plan->sample_rows;
    if (!fits(p, rows, best->rounds, best->bag_size))
        rows = p->n;
    TRY(make_bags(&bags, p, &how, rows, best->bag_size, err));
    double repeat = (double)p->n / (double)rows;
    forecast_bags f = {.bags = &bags, .repeat = repeat, .levels = log2(repeat)};
    forecast_result result = {.column = plan->se};
    TRY(noise_scale(&f.noise_scale, &p->options->rules, best->epsilon, err));
    pboost_planner_penalty(p, f.noise_scale > 0.0);
    TRY(pboost_forecast_bags(&result, pop, &f, err));
done:
    pboost_bags_free(&bags);
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

/* Sizes k, 2k, 4k, ... as long as there are enough bags; k alone without noise, because only noise
 * makes larger ones better. */
static size_t bag_sizes(size_t *size, size_t n, size_t cols, const pboost_plan_options *o)
{
    size_t count = 0, least = BAGS_PER_WEIGHT * (cols + 1), k = o->rules.min_bag;
    size[0] = o->fixed.bag_size > 0 ? o->fixed.bag_size : k;
    if (o->fixed.bag_size > 0 || (o->brief && o->rules.epsilon.den == 0 && o->n_epsilon == 0))
        return 1;
    least = least > LEAST_BAGS ? least : LEAST_BAGS;
    for (size_t s = k; count < MAX_SIZES && (count == 0 || n / s >= least); s *= 2)
        size[count++] = s;
    return count;
}

pboost_status pboost_plan_make(pboost_plan *out, const pboost_features *features,
                               const pboost_plan_options *given, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size[MAX_SIZES];
    manner manners[N_MANNERS];
    pboost_plan_options own = PBOOST_PLAN_OPTIONS_INIT, *options = &own;
    const pboost_matrix *x = &features->x;
    planner p = {.options = options, .x = x, .offset = features->offset, .n = x->rows};
    pboost_cancel inner = {0}; /* the stages within a forecast are not told */
    const pboost_cancel *cancel;

    *out = (pboost_plan){.rows = x->rows, .n_columns = x->cols};
    TRY(OPTIONS_READ(&own, given, PBOOST_PLAN_OPTIONS_INIT, err));
    cancel = own.cancel;
    if (cancel != NULL) {
        inner = (pboost_cancel){.stop = cancel->stop, .user = cancel->user};
        own.cancel = &inner;
    }
    TRY(check(x, p.offset, options, err));
    out->sample_rows = options->max_rows > 0 && options->max_rows < p.n ? options->max_rows : p.n;
    TRY(pboost_bags_random(&p.order, p.n, p.n, options->seed, err));
    TRY(pboost_planner_assume(&p, out, err));
    TRY(score_rows(&p, err));
    size_t n_sizes = bag_sizes(size, p.n, x->cols, options);
    size_t n_manners = open_manners(manners, options);
    NEED(out->point = calloc(n_manners * n_sizes * (options->n_epsilon + 1), sizeof *out->point),
         err);
    for (size_t m = 0; m < n_manners; m++)
        for (size_t i = 0; i < n_sizes; i++) {
            pboost_progress(cancel, "planning", (double)(m * n_sizes + i),
                            (double)(n_manners * n_sizes));
            TRY(add_points(out, &p, &manners[m], size[i], err));
        }
    TRY(judge(out, &p, err));
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
    *plan = (pboost_plan){0};
}
