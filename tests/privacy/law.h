/* Noise against its law, P(z) = (1-p)/(1+p) p^|z| with p = exp(-rate).
 *
 * Every check gives a normal deviate, or a limit a given number of deviates from the truth, so that
 * a test chooses how often it may fail by chance. */
#ifndef PBOOST_TEST_LAW_H
#define PBOOST_TEST_LAW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAW_CELLS = 48, LAW_JOINT_CELLS = 4 };

/* P(Z >= z) */
static inline double at_least(double z, double rate)
{
    if (z <= 0)
        return 1 - at_least(1 - z, rate);
    return exp(-rate * z) / (1 + exp(-rate));
}

/* The least integer z >= 1 with P(Z >= z) <= probability. */
static inline double upper_quantile(double probability, double rate)
{
    return fmax(1, ceil(-log(probability * (1 + exp(-rate))) / rate));
}

/* Cells of about equal mass under the law, symmetric about 0: up to 2 * cells - 1 of them, with
 * borders between. */
typedef struct {
    size_t n; /* borders */
    double border[2 * LAW_CELLS], rate;
} law_cells;

static inline law_cells cells_of_law(int cells, double rate)
{
    law_cells out = {.rate = rate};
    double border[2 * LAW_CELLS];
    size_t n = 0;

    for (int i = 1; i < cells; i++) {
        double z = upper_quantile((double)i / (2 * cells), rate);
        border[n++] = z;
        border[n++] = 1 - z;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && border[j - 1] > border[j]; j--) {
            double swap = border[j];
            border[j] = border[j - 1];
            border[j - 1] = swap;
        }
    for (size_t i = 0; i < n; i++)
        if (out.n == 0 || border[i] > out.border[out.n - 1])
            out.border[out.n++] = border[i];
    return out;
}

static inline size_t cell_of(const law_cells *c, int64_t z)
{
    size_t cell = 0;
    while (cell < c->n && (double)z >= c->border[cell])
        cell++;
    return cell;
}

static inline double cell_mass(const law_cells *c, size_t cell)
{
    double above = cell == 0 ? 1 : at_least(c->border[cell - 1], c->rate);
    double below = cell == c->n ? 0 : at_least(c->border[cell], c->rate);
    return above - below;
}

/* Wilson and Hilferty's approximation: the normal deviate of a chi-square. */
static inline double chi_square_deviate(double chi2, double freedom)
{
    double v = 2 / (9 * freedom);
    return (cbrt(chi2 / freedom) - (1 - v)) / sqrt(v);
}

/* How far the draws are from the law of that rate, as a normal deviate. */
static inline double distance(const int64_t *z, size_t n, double rate)
{
    law_cells c = cells_of_law(LAW_CELLS, rate);
    size_t count[2 * LAW_CELLS + 1] = {0};
    double chi2 = 0;

    for (size_t i = 0; i < n; i++)
        count[cell_of(&c, z[i])]++;
    for (size_t cell = 0; cell <= c.n; cell++) {
        double expected = (double)n * cell_mass(&c, cell);
        chi2 += ((double)count[cell] - expected) * ((double)count[cell] - expected) / expected;
    }
    return chi_square_deviate(chi2, (double)c.n);
}

/* How far the pairs (a[i], b[i]) are from two independent draws of the law, as a normal deviate. */
static inline double dependence(const int64_t *a, const int64_t *b, size_t n, double rate)
{
    enum { MOST = 2 * LAW_JOINT_CELLS };
    law_cells c = cells_of_law(LAW_JOINT_CELLS, rate);
    size_t count[MOST][MOST] = {{0}};
    double chi2 = 0;

    for (size_t i = 0; i < n; i++)
        count[cell_of(&c, a[i])][cell_of(&c, b[i])]++;
    for (size_t i = 0; i <= c.n; i++)
        for (size_t j = 0; j <= c.n; j++) {
            double expected = (double)n * cell_mass(&c, i) * cell_mass(&c, j);
            double off = (double)count[i][j] - expected;
            chi2 += off * off / expected;
        }
    return chi_square_deviate(chi2, (double)((c.n + 1) * (c.n + 1) - 1));
}

/* ---- The epsilon audit ----------------------------------------------------------------------- */

/* Sums of bags, in steps, that an observer wants to distinguish. */
typedef struct {
    size_t n;
    const int64_t *total;
} observed;

static inline double count_above(observed o, int64_t t)
{
    double above = 0;
    for (size_t i = 0; i < o.n; i++)
        above += o.total[i] >= t;
    return above;
}

/* log of a ratio of frequencies less a number of its standard deviations. */
static inline double lower_limit(double a, double of_a, double b, double of_b, double deviates)
{
    if (a < 50 || b < 50)
        return 0;
    return log(a / of_a * of_b / b) - deviates * sqrt(1 / a - 1 / of_a + 1 / b - 1 / of_b);
}

/* The most that an observer is shown to gain by the events "total >= t" and "total < t". */
static inline double observed_gain(observed plain, observed changed, int64_t from, int64_t to,
                                   double deviates)
{
    double n = (double)plain.n, m = (double)changed.n, gain = 0;

    for (int64_t t = from; t <= to; t++) {
        double a = count_above(changed, t), b = count_above(plain, t);
        gain = fmax(gain, lower_limit(a, m, b, n, deviates));
        gain = fmax(gain, lower_limit(n - b, n, m - a, m, deviates));
    }
    return gain;
}

#endif
