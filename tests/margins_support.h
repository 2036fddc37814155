/* Margins of a table: answers about bags that share rows. */
#ifndef MARGINS_SUPPORT_H
#define MARGINS_SUPPORT_H

#include "answers_support.h"

/* The level of a row by a key: a stretch of column `key`, which is normal. */
static inline size_t level_of(const test_table *t, size_t row, size_t key, size_t levels)
{
    double at = 0.5 * (1.0 + erf(t->x[row * t->d + key] * M_SQRT1_2));
    size_t level = (size_t)(at * (double)levels);
    return level < levels ? level : levels - 1;
}

/* Appends one bag: its rows, their mean and Laplace noise of this variance in the mean. */
static inline void append_bag(pboost_answers *a, const test_table *t, size_t *row, size_t n,
                              double noise, test_rng *rng)
{
    pboost_error err = {0};
    size_t start[] = {0, n};
    double mean = 0.0, u = uniform(rng) - 0.5;
    for (size_t i = 0; i < n; i++)
        mean += t->y[row[i]] / (double)n;
    mean -= sqrt(noise / 2.0) * (u < 0.0 ? -1.0 : 1.0) * log(1.0 - 2.0 * fabs(u));
    pboost_bags bag = {n, 1, row, start};
    assert_int_equal(pboost_answers_append(a, &bag, &mean, &noise, &err), PBOOST_OK);
}

/* One-way margins of the first `keys` columns, of `levels` levels each, and two-way margins of each
 * pair of them; noise: its variance in a sum. */
static inline pboost_answers make_margins(const test_table *t, size_t keys, size_t levels,
                                          bool two_way, double noise, uint64_t seed)
{
    pboost_answers a = {0};
    test_rng rng = {seed};
    size_t *row = calloc(t->n, sizeof *row), cells = levels * levels;
    for (size_t k = 0; k < keys; k++)
        for (size_t other = k; other < (two_way ? keys : k + 1); other++)
            for (size_t cell = 0; cell < (other == k ? levels : cells); cell++) {
                size_t n = 0;
                for (size_t i = 0; i < t->n; i++)
                    if (level_of(t, i, k, levels) == cell % levels &&
                        (other == k || level_of(t, i, other, levels) == cell / levels))
                        row[n++] = i;
                if (n > 0)
                    append_bag(&a, t, row, n, noise / (double)(n * n), &rng);
            }
    free(row);
    return a;
}

/* The labels of rows 0, step, 2 step ... as bags of one row. */
static inline void append_labels(pboost_answers *a, const test_table *t, size_t step)
{
    test_rng rng = {1};
    for (size_t i = 0; i < t->n; i += step)
        append_bag(a, t, &i, 1, 0.0, &rng);
}

#endif
