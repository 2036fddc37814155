/* The quadratic program for the weights.  Members are few, so every set of members that may have a
 * positive weight is tried: within a set only the sum is a constraint, and the solution is that of
 * the set whose weights are all positive and whose value is the least. */
#include "mixture/weights.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/linalg.h"

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
