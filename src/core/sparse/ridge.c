/* The ridge of a wide model: the one that predicts bags left out best.
 *
 * The evidence that chooses it for narrow models needs traces of d x d matrices, so here bags are
 * left out.  Candidates are multiples of lambda = phi S / spread, with which the linear predictor
 * varies between rows about as much as the family expects (`spread`); S, the mean squared distance
 * of a row from the mean row, is what d is for standardised columns.  The columns themselves are
 * not standardised: to divide a rare category by its small standard deviation would leave its
 * weight, of which least is known, almost without a ridge.
 *
 * Every fold is fitted from the largest candidate down, each fit from the one before, until a
 * candidate is worse.  What counts is the sum of r^2 / V over the bags left out.  V is that of the
 * start, the same for all candidates.  Where bags are many, one or two of the folds say enough. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/sizes.h"
#include "sparse/aggregate.h"
#include "try.h"

#define CANDIDATES 8
#define NEIGHBOURS 3             /* candidates, if it is about known */
#define STEP 0.31622776601683794 /* ten to the minus a half */
#define LARGEST 31.622776601683793
#define ENOUGH_BAGS 5000 /* left out, in all */
#define ROUGH 1e-4       /* tolerance of these fits: they are only compared */

typedef struct {
    wide_fit *fit;
    unsigned char *fold; /* by bag */
    double *weight;      /* by bag: 1/V */
    double *at;          /* by fold: where its last fit ended */
    size_t folds;        /* that are left out in turn */
    double *mean, *best; /* parameters: the mean of the folds, now and for the best candidate */
} left_out;

static void left_out_free(left_out *c)
{
    free(c->fold);
    free(c->weight);
    free(c->at);
}

static pboost_status left_out_init(left_out *out, wide_fit *f, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t bags = f->bags.data.rows.n_bags, n = f->problem.n;
    *out = (left_out){.fit = f};
    NEED(out->fold = pboost_alloc(bags, 1), err);
    NEED(out->weight = pboost_alloc(bags, sizeof(double)), err);
    NEED(out->at = pboost_alloc(n, (CROSSVAL_FOLDS + 2) * sizeof(double)), err);
    out->mean = out->at + n * CROSSVAL_FOLDS;
    out->best = out->mean + n;
    out->folds = smaller(CROSSVAL_FOLDS, ENOUGH_BAGS * CROSSVAL_FOLDS / bags + 1);
    pboost_crossval_folds(out->fold, bags, CROSSVAL_FOLDS, f->options.seed);
    for (size_t k = 0; k < CROSSVAL_FOLDS; k++)
        memcpy(out->at + k * n, f->parameter, n * sizeof(double));
    pboost_wide_refresh_sizes(f, 1);
    memcpy(out->weight, f->bags.weight, bags * sizeof *out->weight);
done:
    return st;
}

double pboost_wide_row_variance(const wide_rows *r)
{
    double square = 0.0, n = (double)r->n;
    for (size_t j = 0; j < r->cols; j++) {
        double sum = 0.0, squares = 0.0;
        for (size_t p = r->first[j]; p < r->first[j + 1]; p++) {
            double v = pboost_wide_cell(r, p);
            sum += v;
            squares += v * v;
        }
        square += fmax(squares / n - sum / n * (sum / n), 0.0);
    }
    return square;
}

static double default_l2(const wide_fit *f)
{
    const family_info *family = f->bags.family;
    double phi = f->bags.phi > 0.0 ? f->bags.phi : 1.0;
    double l2 = phi * pboost_wide_row_variance(&f->rows) / pboost_prior_spread(family, 0.0, phi);
    return l2 > 0.0 ? l2 : 1.0;
}

/* Fits all folds with the ridge of the fit; returns what they say about the bags left out. */
static pboost_status run_folds(double *criterion, left_out *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wide_fit *f = c->fit;
    size_t n = f->problem.n, bags = f->bags.data.rows.n_bags;
    pboost_fit_report ignored;
    *criterion = 0.0;
    memset(c->mean, 0, n * sizeof *c->mean);
    f->fold = c->fold;
    for (size_t k = 0; k < c->folds; k++) {
        f->left_out = (unsigned char)k;
        pboost_wide_move(f, c->at + k * n);
        TRY(pboost_wide_fit_solve(f, &ignored, ROUGH, err));
        memcpy(c->at + k * n, f->parameter, n * sizeof(double));
        for (size_t i = 0; i < n; i++)
            c->mean[i] += f->parameter[i] / (double)c->folds;
        for (size_t b = 0; b < bags; b++) {
            double r = f->bags.residual[b];
            *criterion += c->fold[b] == k && c->weight[b] > 0.0 ? c->weight[b] * r * r : 0.0;
        }
    }
done:
    f->fold = NULL;
    return st;
}

pboost_status pboost_wide_choose_l2(wide_fit *f, double near, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    left_out c = {0};
    bool known = near > 0.0, worse = false;
    size_t n = f->problem.n, candidates = known ? NEIGHBOURS : CANDIDATES;
    double least = INFINITY, criterion, best = known ? near : default_l2(f);
    double l2 = best * (known ? 1.0 / STEP : LARGEST);

    f->l2 = best;
    if (f->bags.data.rows.n_bags < 2 * CROSSVAL_FOLDS)
        return PBOOST_OK;
    TRY(left_out_init(&c, f, err));
    for (size_t i = 0; i < candidates && !worse; i++) {
        pboost_progress(f->options.cancel, "ridge", (double)i, (double)candidates);
        f->l2 = l2;
        TRY(run_folds(&criterion, &c, err));
        worse = !(criterion < least);
        if (!worse) {
            least = criterion;
            best = l2;
            memcpy(c.best, c.mean, n * sizeof *c.best);
        }
        l2 *= STEP;
    }
    f->l2 = best;
    if (least < INFINITY)
        pboost_wide_move(f, c.best);
done:
    left_out_free(&c);
    return st;
}
