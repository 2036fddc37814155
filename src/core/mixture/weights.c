/* The quadratic program for the weights.  Members are few, so every set of members that may have a
 * positive weight is tried: within a set only the sum is a constraint, and the solution is that of
 * the set whose weights are all positive and whose value is the least. */
#include "mixture/weights.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/linalg.h"

/* Weights that are expected before the answers are seen, and how far they are from that: on real
 * tables the plain mean of the curved models predicts better than the one chosen. */
const double pboost_mixture_expected[PBOOST_MEMBER_KINDS] = {[PBOOST_MEMBER_GLM] = 0.5,
                                                             [PBOOST_MEMBER_SMOOTH] = 1.0,
                                                             [PBOOST_MEMBER_TREES] = 1.0,
                                                             [PBOOST_MEMBER_GLM_TREES] = 1.0};
#define SPREAD 0.1
#define ENOUGH_FOR_TREES 20.0 /* the gain at which trees are expected to have half of that */

typedef struct {
    size_t n;
    double gram[MOST_MEMBERS][MOST_MEMBERS], cross[MOST_MEMBERS];
} quadratic;

/* The objective is w' gram w - 2 cross' w + constant.  Predictions are taken relative to the first
 * member's: the weights sum to 1, so nothing changes but rounding. */
static quadratic make_quadratic(const double *expected, double spread, const left_out_bags *bags)
{
    quadratic q = {.n = bags->n_members};
    double ridge = 1.0 / (spread * spread);

    for (size_t b = 0; b < bags->n_bags; b++) {
        double base = bags->predicted[0][b], difference[MOST_MEMBERS];
        for (size_t i = 0; i < q.n; i++)
            difference[i] = bags->predicted[i][b] - base;
        for (size_t i = 0; i < q.n; i++) {
            double scaled = bags->precision[b] * difference[i];
            q.cross[i] += scaled * (bags->answer[b] - base);
            for (size_t j = 0; j <= i; j++)
                q.gram[i][j] += scaled * difference[j];
        }
    }
    for (size_t i = 0; i < q.n; i++) {
        q.gram[i][i] += ridge;
        q.cross[i] += ridge * expected[i];
        for (size_t j = 0; j < i; j++)
            q.gram[j][i] = q.gram[i][j];
    }
    return q;
}

/* The solution whose support is within `set`, a bit for each member; false: a weight is negative.
 */
static bool solve_set(double *weight, double *value, const quadratic *q, unsigned set)
{
    double l[MOST_MEMBERS * MOST_MEMBERS], scale[MOST_MEMBERS], x[MOST_MEMBERS], y[MOST_MEMBERS];
    unsigned char dropped[MOST_MEMBERS] = {0};
    size_t member[MOST_MEMBERS], n = 0;
    double sum_x = 0.0, sum_y = 0.0;
    bool positive = true;

    for (size_t i = 0; i < q->n; i++)
        if (set >> i & 1)
            member[n++] = i;
    for (size_t i = 0; i < n; i++) {
        x[i] = q->cross[member[i]];
        y[i] = 1.0;
        for (size_t j = 0; j < n; j++)
            l[i * n + j] = q->gram[member[i]][member[j]];
    }
    pboost_cholesky factor = {n, l, scale, dropped};
    pboost_cholesky_factor(&factor, pboost_rank_tolerance(n), false);
    pboost_cholesky_solve(x, &factor, x);
    pboost_cholesky_solve(y, &factor, y);
    for (size_t i = 0; i < n; i++) {
        sum_x += x[i];
        sum_y += y[i];
    }
    memset(weight, 0, q->n * sizeof *weight);
    *value = 0.0;
    for (size_t i = 0; i < n; i++) {
        weight[member[i]] = x[i] + y[i] * (1.0 - sum_x) / sum_y;
        positive = positive && weight[member[i]] >= 0.0;
    }
    for (size_t i = 0; i < q->n; i++) {
        *value -= 2.0 * q->cross[i] * weight[i];
        for (size_t j = 0; j < q->n; j++)
            *value += weight[i] * q->gram[i][j] * weight[j];
    }
    return positive;
}

void pboost_mixture_weights(double *weight, const double *expected, double spread,
                            const left_out_bags *bags)
{
    quadratic q = make_quadratic(expected, spread, bags);
    double best = INFINITY, trial[MOST_MEMBERS], value;

    memcpy(weight, expected, q.n * sizeof *weight); /* where predictions overflow */
    for (unsigned set = 1; set < 1u << q.n; set++)
        if (solve_set(trial, &value, &q, set) && value < best) {
            best = value;
            memcpy(weight, trial, q.n * sizeof *weight);
        }
}

double pboost_mixture_misfit(const double *weight, const left_out_bags *bags)
{
    double sum = 0.0;
    for (size_t b = 0; b < bags->n_bags; b++) {
        double r = bags->answer[b];
        for (size_t i = 0; i < bags->n_members; i++)
            r -= weight[i] * bags->predicted[i][b];
        sum += bags->precision[b] * r * r;
    }
    return sum;
}

/* The weights that are expected before bags left out are compared; they sum to 1.  `gain` is what
 * the members learnt from the answers: by how much the best of them misses bags left out less than
 * the constant does, in units of their variance.  Where it is small, noise hides most of the
 * signal. Then trees, which choose among many splits, have learnt more of the noise than linear
 * members. */
static void expect(double *expected, const double *of_kind, const size_t *kind, size_t n,
                   double gain)
{
    double g = gain / ENOUGH_FOR_TREES, total = 0.0;
    double part = gain > 0.0 ? 1.0 - 1.0 / (1.0 + g * g) : 0.0; /* of NaN, if all overflow: 0 */
    for (size_t i = 0; i < n; i++) {
        bool trees = kind[i] >= PBOOST_MEMBER_TREES;
        expected[i] = of_kind[kind[i]] * (trees ? part : 1.0);
        total += expected[i];
    }
    for (size_t i = 0; i < n; i++)
        expected[i] = total > 0.0 ? expected[i] / total : kind[i] == PBOOST_MEMBER_CONSTANT;
}

void pboost_mixture_weigh(pboost_mixture_report *report, const double *of_kind, const size_t *kind,
                          const left_out_bags *bags)
{
    double weight[MOST_MEMBERS] = {0}, expected[MOST_MEMBERS] = {0}, least = INFINITY;
    size_t n = bags->n_members;

    for (size_t i = 0; i < n; i++) {
        double alone[MOST_MEMBERS] = {0};
        alone[i] = 1.0;
        report->member[kind[i]].fitted = true;
        report->member[kind[i]].misfit = pboost_mixture_misfit(alone, bags);
        least = fmin(least, report->member[kind[i]].misfit);
    }
    /* Where even the best member misses the answers by more than V, they say less of the weights.
     */
    double scale = fmax(least / (double)bags->n_bags, 0.01);
    double gain = (report->member[PBOOST_MEMBER_CONSTANT].misfit - least) / scale;
    expect(expected, of_kind, kind, n, gain);
    pboost_mixture_weights(weight, expected, SPREAD / sqrt(scale), bags);
    report->misfit = pboost_mixture_misfit(weight, bags);
    report->worse_than_constant = report->misfit > report->member[PBOOST_MEMBER_CONSTANT].misfit;
    for (size_t i = 0; i < n; i++)
        report->member[kind[i]].weight = weight[i];
}
