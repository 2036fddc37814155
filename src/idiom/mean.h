/* The mean of many finite numbers, with the same bits on every machine.
 *
 * A long double would do on x86 alone: it has 64 binary digits there, 113 on ARM under Linux, where
 * it is emulated, and 53 elsewhere.  Here every sum is kept as two doubles, of which the second has
 * what the first has rounded away (Knuth's two-sum), about 106 digits.  Numbers from 2^900 on are
 * summed apart, divided by 2^100, so that no sum of finite numbers overflows. */
#ifndef PBOOST_MEAN_H
#define PBOOST_MEAN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    struct {
        double sum, rest;
    } part[2]; /* of numbers below 2^900, and of the others */
    size_t count;
} running_mean;

static inline void running_mean_add(running_mean *m, double x)
{
    bool large = fabs(x) >= 0x1p900;
    double *sum = &m->part[large].sum, y = large ? x * 0x1p-100 : x;
    double total = *sum + y, added = total - *sum;
    m->part[large].rest += (*sum - (total - added)) + (y - added);
    *sum = total;
    m->count++;
}

/* (sum + rest) / n, rounded once: what the first quotient leaves over is divided too. */
static inline double running_mean_divide(double sum, double rest, double n)
{
    double quotient = sum / n;
    return quotient + (fma(-quotient, n, sum) + rest) / n;
}

/* NaN where nothing was added. */
static inline double running_mean_value(const running_mean *m)
{
    double n = (double)m->count;
    double small = running_mean_divide(m->part[0].sum, m->part[0].rest, n);
    double large = running_mean_divide(m->part[1].sum, m->part[1].rest, n);
    return small + large * 0x1p100;
}

#endif
