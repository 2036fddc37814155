/* Draws against the law of discrete Gaussian noise, P(z) proportional to exp(-z^2 / (2 v)). */
#ifndef PBOOST_TEST_GAUSSIAN_LAW_H
#define PBOOST_TEST_GAUSSIAN_LAW_H

#include <stdlib.h>

#include "privacy/law.h"

/* The chi-square of the draws as a normal deviate.  Single values are cells where sigma is small;
 * above, `width` of them are one cell.  Both tails beyond 4 sigma are cells of their own. */
static inline double gaussian_distance(const int64_t *z, size_t n, double v)
{
    int64_t width = (int64_t)(sqrt(v) / 8) + 1, reach = (int64_t)(4 * sqrt(v)) / width + 1;
    size_t cells = (size_t)(2 * reach + 3);
    double *mass = calloc(cells, sizeof *mass), *count = calloc(cells, sizeof *count);
    double total = 0, chi2 = 0, freedom = -1, rest_mass = 0, rest_count = 0;
    int64_t far = (int64_t)(12 * sqrt(v)) + 20;

    for (int64_t at = -far; at <= far; at++) {
        int64_t cell = (at >= 0 ? at : at - width + 1) / width;
        cell = cell < -reach - 1 ? -reach - 1 : cell > reach + 1 ? reach + 1 : cell;
        double p = exp(-(double)at * (double)at / (2 * v));
        mass[cell + reach + 1] += p;
        total += p;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t cell = (z[i] >= 0 ? z[i] : z[i] - width + 1) / width;
        cell = cell < -reach - 1 ? -reach - 1 : cell > reach + 1 ? reach + 1 : cell;
        count[cell + reach + 1]++;
    }
    for (size_t i = 0; i < cells; i++) {
        double expected = (double)n * mass[i] / total;
        if (expected < 20) { /* together in one cell */
            rest_mass += expected;
            rest_count += count[i];
            continue;
        }
        chi2 += (count[i] - expected) * (count[i] - expected) / expected;
        freedom++;
    }
    if (rest_mass >= 5) {
        chi2 += (rest_count - rest_mass) * (rest_count - rest_mass) / rest_mass;
        freedom++;
    } else if (rest_count > 25) {
        chi2 += 1e6; /* far beyond where draws can be */
    }
    free(mass);
    free(count);
    return chi_square_deviate(chi2, freedom);
}

#endif
