/* The ways of asking that a plan forecasts: their bags, made as the trainer would make them, and
 * what they give at any epsilon and for any number of rows. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "plan/plan.h"
#include "train/schedule.h"
#include "try.h"

#define BAGS_PER_WEIGHT 1 /* fewer are not forecast */
#define LEAST_BAGS 32     /* in all */
#define MAX_SIZES 24

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

/* Sizes k, 2k, 4k, ... as long as there are enough bags; k alone without noise, because only noise
 * makes larger ones better. */
static size_t bag_sizes(size_t *size, size_t n, size_t cols, const pboost_plan_options *o)
{
    size_t count = 0, least = BAGS_PER_WEIGHT * (cols + 1), k = o->rules.min_bag;
    size[0] = o->fixed.bag_size > 0 ? o->fixed.bag_size : k;
    if (o->fixed.bag_size > 0 ||
        (o->brief && o->rules.epsilon.den == 0 && o->n_epsilon == 0 && !(o->target > 0.0)))
        return 1;
    least = least > LEAST_BAGS ? least : LEAST_BAGS;
    for (size_t s = k; count < MAX_SIZES && (count == 0 || n / s >= least); s *= 2)
        size[count++] = s;
    return count;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

static void way_free(way *w)
{
    pboost_asked_free(&w->asked);
    pboost_bags_free(&w->bags);
    *w = (way){0};
}

/* Makes the bags, unless the options or the number of rows leave the way out: then rows is 0. */
static pboost_status way_init(way *w, const planner *p, const manner *how, size_t bag_size,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    manner m = *how;

    *w = (way){.bag_size = bag_size, .excess = NAN};
    TRY(pboost_cancel_check(o->cancel, err));
    if (m.bags == PBOOST_BAGS_FEATURES && m.comparison_only && bag_size > o->rules.min_bag)
        goto done; /* one size is enough to show that rounds do not help */
    if (m.rounds == 0)
        m.rounds = pboost_rounds_default(p->n, p->x->cols, bag_size);
    while (o->fixed.has_bags && o->fixed.rounds == 0 && m.rounds > 1 &&
           !fits(p, p->n, m.rounds, bag_size))
        m.rounds /= 2; /* there is nothing else to recommend */
    size_t rows = rows_for(p, p->sample, m.rounds, bag_size);
    if (!fits(p, rows, m.rounds, bag_size))
        goto done;
    w->how = m;
    if (m.estimator == PBOOST_EVENT) {
        TRY(pboost_plan_event(&w->excess, &w->forecast, p, rows, m.rounds, bag_size, err));
    } else {
        TRY(make_bags(&w->bags, p, &m, rows, bag_size, err));
        TRY(pboost_asked_init(&w->asked, &p->population, &w->bags, err));
    }
    w->rows = rows;
done:
    return st;
}

size_t pboost_ways_most(const planner *p)
{
    size_t size[MAX_SIZES];
    manner manners[N_MANNERS];
    return open_manners(manners, p->options) * bag_sizes(size, p->n, p->x->cols, p->options);
}

pboost_status pboost_ways_visit(planner *p, way_visitor *visit, void *context, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size[MAX_SIZES], n_sizes = bag_sizes(size, p->n, p->x->cols, p->options);
    manner manners[N_MANNERS];
    size_t n_manners = open_manners(manners, p->options);
    way w = {0};

    for (size_t m = 0; m < n_manners; m++)
        for (size_t i = 0; i < n_sizes; i++) {
            pboost_progress(p->watch, "planning", (double)(m * n_sizes + i),
                            (double)(n_manners * n_sizes));
            TRY(way_init(&w, p, &manners[m], size[i], err));
            if (w.rows > 0)
                TRY(visit(context, p, &w, err));
            way_free(&w);
        }
done:
    way_free(&w);
    return st;
}

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

static pboost_status forecast_way(forecast_result *out, planner *p, way *w, const asking *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double repeat = a->rows / ((double)w->rows * a->larger);
    forecast_table f = {.repeat = repeat,
                        .larger = a->larger,
                        .levels = w->how.improves ? log2(repeat) : 0.0,
                        .model_error = p->model_error};

    TRY(noise_scale(&f.noise_scale, &p->options->rules, a->epsilon, err));
    f.laplace = p->options->rules.mechanism == PBOOST_LAPLACE;
    pboost_planner_penalty(p, f.noise_scale > 0.0);
    TRY(pboost_forecast_bags(out, &p->population, &w->asked, &f, err));
done:
    return st;
}

pboost_status pboost_way_point(pboost_plan_point *point, planner *p, way *w, const asking *a,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forecast_result result = {.excess = w->excess, .cautious = w->excess, .se = NAN};
    size_t size = (size_t)((double)w->bag_size * a->larger);

    /* The theorems know no noise; for other bags by the prior see taken_for_random. */
    if (w->how.bags == PBOOST_BAGS_PRIOR && a->epsilon.den > 0 && !p->options->fixed.has_bags)
        result.excess = NAN;
    else if (w->how.estimator != PBOOST_EVENT)
        TRY(forecast_way(&result, p, w, a, err));
    *point = (pboost_plan_point){.estimator = w->how.estimator,
                                 .bags = w->how.bags,
                                 .rounds = w->how.rounds,
                                 .bag_size = size,
                                 .n_bags = (size_t)(a->rows / (double)size),
                                 .epsilon = a->epsilon,
                                 .forecast = w->forecast,
                                 .excess = result.excess,
                                 .cautious = result.cautious,
                                 .se = result.se,
                                 .comparison_only = w->how.comparison_only};
done:
    return st;
}

pboost_status pboost_point_forecast(forecast_result *out, planner *p,
                                    const pboost_plan_point *point, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool improves = point->bags == PBOOST_BAGS_FEATURES || point->bags == PBOOST_BAGS_HYBRID;
    manner how = {point->estimator, point->bags, point->rounds, improves, false};
    asking a = {point->epsilon, (double)p->n, 1.0};
    way w = {0};

    TRY(way_init(&w, p, &how, point->bag_size, err));
    TRY(forecast_way(out, p, &w, &a, err));
done:
    way_free(&w);
    return st;
}
