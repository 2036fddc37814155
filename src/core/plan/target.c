/* The smallest epsilon, and the number of rows, that come as close to all labels as the user wants.
 *
 * The gap is (excess - all labels) / (constant - all labels) of what is recommended: 0 is as good
 * as all labels, 1 as bad as the constant model.  It is the gap of the same forecasts that the plan
 * shows.  It falls with epsilon and with rows, so that digits of epsilon are found one after the
 * other; but not strictly, as the recommended bag size changes. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "plan/plan.h"
#include "try.h"

enum { DECADES = 6, DIGITS = 10 }; /* of epsilon */
enum { STEPS = 16, LARGER = 3 };   /* of numbers of rows; of bags among them */
#define CLOSE 1.03                 /* ratio of numbers of rows that need not be told apart */

/* Forecasts for several askings at once, because bags are costly to make: by asking and way. */
typedef struct {
    const asking *asking;
    size_t n_askings, most; /* most: room for ways */
    size_t *n;              /* ways, by asking */
    pboost_plan_point *point;
} forecasts;

static pboost_status forecast_all(void *context, planner *p, way *w, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forecasts *f = context;

    for (size_t i = 0; i < f->n_askings; i++) {
        pboost_plan_point *point = &f->point[i * f->most + f->n[i]];
        TRY(pboost_way_point(point, p, w, &f->asking[i], err));
        if (isfinite(point->excess) && isfinite(point->cautious))
            f->n[i]++;
    }
done:
    return st;
}

/* gap[i] for asking i; INFINITY where nothing can be forecast. */
static pboost_status find_gaps(double *gap, planner *p, double constant, const asking *a, size_t n,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forecasts f = {.asking = a, .n_askings = n, .most = pboost_ways_most(p)};

    NEED(f.n = calloc(n, sizeof *f.n), err);
    NEED(f.point = calloc(n * f.most, sizeof *f.point), err);
    TRY(pboost_ways_visit(p, forecast_all, &f, err));
    for (size_t i = 0; i < n; i++) {
        forecast_result labels = {0};
        const pboost_plan_point *point = &f.point[i * f.most];
        size_t best = pboost_plan_recommend(point, f.n[i], a[i].epsilon);
        pboost_planner_penalty(p, false);
        TRY(pboost_forecast_labels(&labels, &p->population, a[i].rows, err));
        double gain = constant - labels.excess;
        gap[i] = best == SIZE_MAX || !(gain > 0.0) ? INFINITY
                                                   : (point[best].excess - labels.excess) / gain;
    }
done:
    free(f.n);
    free(f.point);
    return st;
}

/* ---- Epsilon --------------------------------------------------------------------------------- */

/* tenths / 10 times 10^power. */
static pboost_rational decimal(unsigned tenths, int power)
{
    pboost_rational r = {tenths, 10};
    for (; power > 0; power--)
        r.num *= 10;
    for (; power < 0; power++)
        r.den *= 10;
    return r;
}

/* The first of n candidates whose gap is within the target; n: none. */
static pboost_status first_within(size_t *out, planner *p, double constant,
                                  const pboost_rational *epsilon, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asking a[DIGITS + 1];
    double gap[DIGITS + 1];

    for (size_t i = 0; i < n; i++)
        a[i] = (asking){epsilon[i], (double)p->n, 1.0};
    TRY(find_gaps(gap, p, constant, a, n, err));
    for (*out = 0; *out < n && !(gap[*out] <= p->options->target);)
        (*out)++;
done:
    return st;
}

/* Among 0.001, 0.01, ... 1000; then the first digit, then the second. */
static pboost_status least_epsilon(double *out, planner *p, double constant, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_rational e[DIGITS + 1];
    size_t at, lower = 10;

    for (int i = 0; i <= DECADES; i++)
        e[i] = decimal(10, i - 3);
    TRY(first_within(&at, p, constant, e, DECADES + 1, err));
    *out = at > DECADES ? INFINITY : pboost_rational_value(e[at]);
    if (at > DECADES || at == 0)
        goto done;
    int power = (int)at - 4;
    for (unsigned i = 1; i <= DIGITS; i++)
        e[i - 1] = decimal(10 * i, power);
    TRY(first_within(&at, p, constant, e, DIGITS, err));
    if (at > 0 && at < DIGITS)
        lower = 10 * at;
    for (unsigned i = 0; i <= DIGITS; i++)
        e[i] = decimal((unsigned)lower + i, power);
    TRY(first_within(&at, p, constant, e, DIGITS + 1, err));
    if (at <= DIGITS)
        *out = pboost_rational_value(e[at]);
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The first of first * step, first * step^2, ... that is enough; INFINITY: none of STEPS.  The bags
 * of this table are forecast for the larger one as they are, and with as many times as many rows as
 * it has: all bag sizes of that table but the middle ones, so those are a third case. */
static pboost_status enough_rows(double *out, planner *p, double constant, pboost_rational epsilon,
                                 double first, double step, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asking a[STEPS][LARGER];
    double gap[STEPS][LARGER], rows = first;

    for (int i = 0; i < STEPS; i++) {
        rows *= step;
        double doublings = floor(log2(rows / (double)p->n) + 1e-9);
        a[i][0] = (asking){epsilon, rows, 1.0};
        a[i][1] = (asking){epsilon, rows, exp2(floor(doublings / 2.0))};
        a[i][2] = (asking){epsilon, rows, exp2(doublings)};
    }
    TRY(find_gaps(gap[0], p, constant, a[0], STEPS * LARGER, err));
    *out = INFINITY;
    for (int i = STEPS - 1; i >= 0; i--)
        if (fmin(gap[i][0], fmin(gap[i][1], gap[i][2])) <= p->options->target)
            *out = a[i][0].rows;
done:
    return st;
}

/* More rows than the table has: the power of two, then a sixteenth of it. */
static pboost_status more_rows(double *out, planner *p, double constant, pboost_rational epsilon,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(enough_rows(out, p, constant, epsilon, (double)p->n, 2.0, err));
    if (isfinite(*out))
        TRY(enough_rows(out, p, constant, epsilon, 0.5 * *out, exp2(1.0 / STEPS), err));
done:
    return st;
}

/* Fewer rows: the first ones of the table's order, with bags of their own.  The gap jumps where a
 * larger bag size becomes possible, so there is no line to follow. */
static pboost_status fewer_rows(double *out, planner *p, double constant, pboost_rational epsilon,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    planner part = *p;
    double fewer = 0.0, more = (double)p->n, gap; /* too few; enough */

    while (more > CLOSE * fewer && more > fewer + 1.0) { /* whole rows between them */
        part.n = (size_t)(fewer > 0.0 ? 0.5 + sqrt(fewer * more) : 0.5 * more);
        if ((double)part.n <= fewer || (double)part.n >= more)
            part.n = (size_t)fewer + 1;
        part.sample = part.n < p->sample ? part.n : p->sample;
        asking a = {epsilon, (double)part.n, 1.0};
        if (part.n < p->options->rules.min_bag)
            gap = INFINITY;
        else
            TRY(find_gaps(&gap, &part, constant, &a, 1, err));
        *(gap <= p->options->target ? &more : &fewer) = (double)part.n;
    }
    *out = more;
done:
    return st;
}

static pboost_status rows_needed(double *out, planner *p, double constant, pboost_rational epsilon,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asking a = {epsilon, (double)p->n, 1.0};
    double gap;

    TRY(find_gaps(&gap, p, constant, &a, 1, err));
    if (gap > p->options->target)
        TRY(more_rows(out, p, constant, epsilon, err));
    else
        TRY(fewer_rows(out, p, constant, epsilon, err));
    if (isfinite(*out)) { /* two digits, rounded up */
        double unit = pow(10.0, floor(log10(*out)) - 1.0);
        *out = fmax(ceil(*out / unit - 1e-9) * unit, 1.0);
    }
done:
    return st;
}

pboost_status pboost_plan_target(pboost_plan *plan, planner *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_plan_options candidates = *p->options;
    planner own = *p;

    candidates.brief = true; /* what is never recommended is not needed */
    own.options = &candidates;
    if (candidates.rules.bounded)
        TRY(least_epsilon(&plan->least_epsilon, &own, plan->constant, err));
    for (size_t i = 0; i < plan->n_costs; i++)
        TRY(rows_needed(&plan->cost[i].rows_needed, &own, plan->constant,
                        plan->point[plan->cost[i].point].epsilon, err));
done:
    return st;
}
