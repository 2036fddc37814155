/* Stable order of 64-bit keys: that of doubles twice, as a double holds most of a key's bits. */
#include <float.h>
#include <string.h>

#include <try.h>

#include "bags/sort.h"

/* Puts rows whose keys agree but for their low bits in the order of those. */
static pboost_status sort_run(size_t *row, const uint64_t *key, size_t n, uint64_t low_bits,
                              pboost_workspace *memory, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *low = NULL;
    size_t *order = NULL;

    NEED(low = pboost_acquire(memory, n, 2 * sizeof *low), err);
    NEED(order = pboost_acquire(memory, n, 2 * sizeof *order), err);
    for (size_t i = 0; i < n; i++)
        low[i] = (double)(key[row[i]] & low_bits);
    TRY(pboost_sort_doubles(order, low + n, low, n, 1, memory, err));
    for (size_t i = 0; i < n; i++)
        order[n + i] = row[order[i]];
    memcpy(row, order + n, n * sizeof *row);
done:
    pboost_release(memory, order);
    pboost_release(memory, low);
    return st;
}

/* As doubles, by as many bits as a double holds; among keys that agree in these, by the others. */
pboost_status pboost_sort_keys(size_t *row, const uint64_t *key, size_t n, int threads,
                               pboost_workspace *memory, pboost_error *err)
{
    const int low = 64 - DBL_MANT_DIG;
    pboost_status st = PBOOST_OK;
    double *high = NULL, *sorted = NULL;

    NEED(high = pboost_acquire(memory, n, sizeof *high), err);
    NEED(sorted = pboost_acquire(memory, n, sizeof *sorted), err);
    for (size_t i = 0; i < n; i++)
        high[i] = (double)(key[i] >> low);
    TRY(pboost_sort_doubles(row, sorted, high, n, threads, memory, err));
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && sorted[to] == sorted[from];)
            to++;
        if (to - from > 1)
            TRY(sort_run(row + from, key, to - from, (UINT64_C(1) << low) - 1, memory, err));
    }
done:
    pboost_release(memory, sorted);
    pboost_release(memory, high);
    return st;
}
