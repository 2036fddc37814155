/* What an epsilon costs, in figures that people know.
 *
 * The plan forecasts the excess loss, (1/2) tr(M H), at an assumed theta.  From the same
 * assumptions:
 *
 *   loss     the best model's expected loss plus the excess.
 *   kept     (constant - excess) / (constant - all labels), all of them excess losses.
 *   labels   the number of labelled rows with the same forecast excess: pboost_forecast_labels is
 *            solved for its rows.
 *   r2, d2   1 - (noise + excess) / (noise + that of the plain mean).  noise is the best model's
 *            loss above that of a perfect prediction: phi for linear models, and for Poisson half
 *            of phi times the expected deviance of a Poisson label about its own mean.
 *   auc      the mean over draws of the fitted weights, which are about normal: mean theta - bias,
 *            covariance that of the forecast.  Rows are ranked by the drawn weights, and row i
 *            counts as a positive with its probability p_i, as a negative with 1 - p_i.  The ridge
 *            shrinks all predictions together, which costs loss and no AUC: so the excess alone
 *            would not do. */
#include <math.h>
#include <string.h>

#include "base/linalg.h"
#include "base/rng.h"
#include "data/family.h"
#include "fit/predict.h"
#include "plan/plan.h"
#include "try.h"

enum { DRAWS = 16 }; /* in pairs of opposite sign */
enum { CURVE = 96 }; /* points of the curve of labels, 2^(1/2) apart */
/* Of the covariance, scaled to unit diagonal.  Where columns are collinear its last pivots are
 * rounding errors; the rows of the factor below them are divided by these. */
#define LEAST_PIVOT 1e-8
#define MORE_VARIANCE 1e-6 /* of a weight that is drawn */
#define LARGE_MEAN 100.0   /* of a Poisson label, beyond which its deviance is that of a normal */

/* ---- As many labels -------------------------------------------------------------------------- */

/* The excess of fewer and fewer labels: n, n / 2^(1/2), n / 2, ... */
typedef struct {
    size_t n;
    double rows[CURVE], excess[CURVE];
} label_curve;

static pboost_status extend(label_curve *c, planner *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forecast_result labels = {0};
    double rows = (double)p->n * pow(0.5, 0.5 * (double)c->n);

    pboost_planner_penalty(p, false);
    TRY(pboost_forecast_labels(&labels, &p->population, rows, err));
    c->rows[c->n] = rows;
    c->excess[c->n++] = labels.excess;
done:
    return st;
}

/* The number of labels with this excess; 0: fewer than parameters, where the forecast says nothing.
 * From the largest number down: with a ridge, very few labels may have a small excess again. */
static pboost_status labels_with(double *out, label_curve *c, planner *p, double excess,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double fewest = (double)p->population.n_parameters;

    *out = 0.0;
    for (size_t i = 0; i < CURVE; i++) {
        if (i == c->n)
            TRY(extend(c, p, err));
        if (c->excess[i] >= excess) {
            *out = c->rows[i];
            if (i > 0) /* excess is about 1 / rows: a line between logarithms */
                *out *= pow(c->rows[i - 1] / c->rows[i],
                            log(c->excess[i] / excess) / log(c->excess[i] / c->excess[i - 1]));
            break;
        }
        if (c->rows[i] < fewest)
            break;
    }
    if (*out < fewest)
        *out = 0.0;
done:
    return st;
}

/* ---- AUC ------------------------------------------------------------------------------------- */

typedef struct {
    double eta, positive; /* what ranks the row, and its probability */
} ranked;

static int by_eta(const void *a, const void *b)
{
    double x = ((const ranked *)a)->eta, y = ((const ranked *)b)->eta;
    return (x > y) - (x < y);
}

/* The chance that a positive is ranked above a negative, equal ranks counting half.  A row is no
 * pair with itself. */
static double auc(ranked *row, size_t n)
{
    double below = 0.0, positives = 0.0, wins = 0.0, self = 0.0;
    qsort(row, n, sizeof *row, by_eta);
    for (size_t i = 0, next; i < n; i = next) {
        double positive = 0.0, negative = 0.0;
        for (next = i; next < n && row[next].eta == row[i].eta; next++) {
            positive += row[next].positive;
            negative += 1.0 - row[next].positive;
            self += row[next].positive * (1.0 - row[next].positive);
        }
        wins += positive * (below + 0.5 * negative);
        below += negative;
        positives += positive;
    }
    double pairs = positives * below - self;
    return pairs > 0.0 ? (wins - 0.5 * self) / pairs : NAN;
}

static double auc_of(ranked *work, const population *p, const double *eta)
{
    size_t n = p->pass.bags.n_bags;
    for (size_t i = 0; i < n; i++)
        work[i] = (ranked){eta != NULL ? eta[i] : 0.0, p->row.mean[i]};
    return auc(work, n);
}

/* How many times as far as `spread` says the weights are drawn, so that their excess is the one
 * that is forecast: a ridge that is estimated adds to it. */
static double draw_scale(const population *p, const forecast_result *f)
{
    size_t m = p->n_parameters;
    double of_spread = 0.0, of_bias = 0.0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            of_spread += 0.5 * p->loss_scale * f->spread[i * m + j] * p->hessian[i * m + j];
            of_bias += 0.5 * p->loss_scale * f->bias[i] * f->bias[j] * p->hessian[i * m + j];
        }
    return of_spread > 0.0 ? sqrt(fmax((f->excess - of_bias) / of_spread, 0.0)) : 0.0;
}

/* out = scale times a normal vector with the covariance that was factored, by `stream`. */
static void draw(double *out, const pboost_cholesky *c, double scale, uint64_t seed,
                 uint64_t stream)
{
    size_t m = c->n;
    for (size_t i = 0; i < m; i++) {
        double normal[2];
        pboost_rng_normals(normal, 1, seed, RNG_RESPONSES, stream, i);
        out[i] = normal[0];
    }
    for (size_t i = m; i-- > 0;) { /* a row needs only those before it */
        double sum = 0.0;
        for (size_t j = 0; j <= i; j++)
            sum += c->l[i * m + j] * out[j];
        out[i] = c->scale[i] > 0.0 ? scale * sum / c->scale[i] : 0.0;
    }
}

/* The AUC of weights that are drawn about theta - bias; spread is overwritten. */
static pboost_status expected_auc(double *out, const planner *p, const forecast_result *f,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const population *pop = &p->population;
    size_t m = pop->n_parameters, n = pop->pass.bags.n_bags;
    pboost_samples rows = {.x = p->x, .row = pop->pass.bags.row, .n = n, .offset = p->offset};
    pboost_cholesky c = {.n = m, .l = f->spread};
    double *eta = NULL, *theta = NULL, *off = NULL, scale = draw_scale(pop, f);
    pboost_coef coef = {0};
    ranked *work = NULL;

    *out = 0.0;
    NEED(c.scale = pboost_alloc(m, sizeof *c.scale), err);
    NEED(c.dropped = calloc(m, 1), err);
    NEED(eta = pboost_alloc(n, sizeof *eta), err);
    NEED(theta = pboost_alloc(m, sizeof *theta), err);
    NEED(off = pboost_alloc(m, sizeof *off), err);
    NEED(work = pboost_alloc(n, sizeof *work), err);
    TRY(pboost_coef_init(&coef, p->x->cols, err));
    for (size_t i = 0; i < m; i++) /* of collinear columns it is singular but for rounding */
        f->spread[i * m + i] *= 1.0 + MORE_VARIANCE;
    pboost_cholesky_factor(&c, LEAST_PIVOT, false);
    for (uint64_t i = 0; i < 2 * DRAWS; i++) {
        if (i % 2 == 0)
            draw(off, &c, scale, p->options->seed, i / 2);
        for (size_t j = 0; j < m; j++)
            theta[j] = pop->parameter[j] - f->bias[j] + (i % 2 == 0 ? off[j] : -off[j]);
        pboost_units_leave(&coef, &pop->units, theta, pop->intercept);
        TRY(pboost_predict_eta(eta, &rows, &coef, p->options->threads, err));
        *out += auc_of(work, pop, eta) / (2 * DRAWS);
    }
done:
    free(c.scale);
    free(c.dropped);
    free(eta);
    free(theta);
    free(off);
    free(work);
    pboost_coef_free(&coef);
    return st;
}

/* That of the constant model: by offsets, if there are any. */
static pboost_status constant_auc(double *out, const population *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = p->pass.bags.n_bags;
    double *eta = NULL;
    ranked *work = NULL;

    NEED(work = pboost_alloc(n, sizeof *work), err);
    NEED(eta = calloc(n, sizeof *eta), err);
    for (size_t i = 0; p->offset != NULL && i < n; i++)
        eta[i] = p->offset[p->pass.bags.row[i]];
    *out = auc_of(work, p, eta);
done:
    free(work);
    free(eta);
    return st;
}

/* ---- Share explained ------------------------------------------------------------------------- */

/* The expected deviance of a Poisson label about its own mean: 2 E y log(y / mean). */
static double poisson_deviance(double mean)
{
    if (mean > LARGE_MEAN)
        return 1.0 + 1.0 / (6.0 * mean);
    if (!(mean > 0.0)) /* exp underflowed */
        return 0.0;
    double sum = 0.0, chance = exp(-mean);
    int last = (int)(mean + 12.0 * sqrt(mean) + 20.0);
    for (int y = 1; y < last; y++) {
        chance *= mean / y;
        sum += 2.0 * chance * y * log(y / mean);
    }
    return sum;
}

/* The best model's loss above that of a perfect prediction. */
static double noise_of(const population *p)
{
    size_t n = p->pass.bags.n_bags;
    double sum = 0.0;
    if (p->family == PBOOST_LINEAR)
        return p->phi;
    for (size_t i = 0; i < n; i++)
        sum += 0.5 * p->phi * poisson_deviance(p->row.mean[i]);
    return sum / (double)n;
}

/* ---- The costs ------------------------------------------------------------------------------- */

/* What all figures of a plan share. */
typedef struct {
    planner *p;
    double best;        /* loss of the best model */
    double noise, null; /* of the share explained; null: excess of the plain mean */
    label_curve curve;
    double *spread, *bias;
} translation;

static const char *const MEASURES[] = {
    [PBOOST_LINEAR] = "r2", [PBOOST_LOGISTIC] = "auc", [PBOOST_POISSON] = "d2"};

/* R^2 or D^2. */
static double explained(const translation *t, double excess)
{
    double all = t->noise + t->null;
    return all > 0.0 ? 1.0 - (t->noise + excess) / all : NAN;
}

/* details: the spread and the bias are used for an AUC. */
static pboost_status measure(double *out, const translation *t, const forecast_result *details,
                             double excess, pboost_error *err)
{
    if (t->p->options->family == PBOOST_LOGISTIC)
        return expected_auc(out, t->p, details, err);
    *out = explained(t, excess);
    return PBOOST_OK;
}

static pboost_status set_ends(pboost_plan *plan, translation *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    planner *p = t->p;
    forecast_result labels = {.spread = t->spread, .bias = t->bias};

    plan->measure = MEASURES[p->options->family];
    TRY(pboost_forecast_best(&t->best, &p->population, err));
    TRY(pboost_forecast_constant(&t->null, &p->population, NULL, err));
    t->noise = noise_of(&p->population);
    plan->loss_all_labels = t->best + plan->all_labels;
    plan->loss_constant = t->best + plan->constant;
    pboost_planner_penalty(p, false);
    TRY(pboost_forecast_labels(&labels, &p->population, (double)p->n, err));
    TRY(measure(&plan->measure_all_labels, t, &labels, plan->all_labels, err));
    if (p->options->family == PBOOST_LOGISTIC)
        TRY(constant_auc(&plan->measure_constant, &p->population, err));
    else
        plan->measure_constant = explained(t, plan->constant);
done:
    return st;
}

static pboost_status add_cost(pboost_plan *plan, translation *t, pboost_rational epsilon,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    planner *p = t->p;
    pboost_cost *cost = &plan->cost[plan->n_costs];
    forecast_result details = {.spread = t->spread, .bias = t->bias};
    double gain = plan->constant - plan->all_labels;

    *cost = (pboost_cost){.rows_needed = NAN};
    cost->point = pboost_plan_recommend(plan->point, plan->n_points, epsilon);
    if (cost->point == SIZE_MAX)
        FAIL(err, PBOOST_BAD_DATA, "no loss can be forecast for epsilon %g: the numbers overflow",
             pboost_rational_value(epsilon));
    const pboost_plan_point *point = &plan->point[cost->point];
    TRY(pboost_point_forecast(&details, p, point, err));
    cost->loss = t->best + point->excess;
    cost->kept = gain > 0.0 ? (plan->constant - point->excess) / gain : NAN;
    TRY(labels_with(&cost->labels, &t->curve, p, point->excess, err));
    TRY(measure(&cost->measure, t, &details, point->excess, err));
    plan->n_costs++;
done:
    return st;
}

pboost_status pboost_plan_costs(pboost_plan *plan, planner *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_plan_options *o = p->options;
    size_t m = p->population.n_parameters;
    translation t = {.p = p};

    NEED(plan->cost = calloc(o->n_epsilon + 1, sizeof *plan->cost), err);
    NEED(t.spread = pboost_alloc(m * m, sizeof *t.spread), err);
    NEED(t.bias = pboost_alloc(m, sizeof *t.bias), err);
    TRY(set_ends(plan, &t, err));
    for (size_t i = 0; i <= o->n_epsilon; i++)
        TRY(add_cost(plan, &t, i == 0 ? o->rules.epsilon : o->epsilon[i - 1], err));
done:
    free(t.spread);
    free(t.bias);
    return st;
}
