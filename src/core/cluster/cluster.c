/* Keys, orders and cuts for rows that are spread over machines.  See priorboost/cluster.h. */
#include <priorboost/cluster.h>

#include "bags/partition.h"
#include "bags/sort.h"
#include "base/rng.h"
#include "train/schedule.h"
#include "try.h"

/* ---- Keys and orders ------------------------------------------------------------------------- */

/* pboost_id_key of text that no zero ends. */
static uint64_t text_key(const char *text, size_t length)
{
    uint64_t hash = pboost_id_key("");
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void pboost_text_keys(uint64_t *key, const char *text, const int32_t *start, size_t n)
{
    for (size_t i = 0; i < n; i++)
        key[i] = text_key(text + start[i], (size_t)(start[i + 1] - start[i]));
}

void pboost_number_keys(uint64_t *key, const int64_t *id, size_t n)
{
    char digits[24];
    for (size_t i = 0; i < n; i++) {
        char *end = digits + sizeof digits, *at = end;
        uint64_t rest = id[i] < 0 ? -(uint64_t)id[i] : (uint64_t)id[i];
        do
            *--at = (char)('0' + rest % 10);
        while ((rest /= 10) > 0);
        if (id[i] < 0)
            *--at = '-';
        key[i] = text_key(at, (size_t)(end - at));
    }
}

void pboost_shuffle_keys(uint64_t *key, size_t n, uint64_t seed, uint64_t stream,
                         const uint64_t *index, uint64_t first)
{
    for (size_t i = 0; i < n; i++)
        key[i] = pboost_rng_key(seed, RNG_SHUFFLE, stream,
                                index != NULL ? index[i] : first + (uint64_t)i);
}

pboost_status pboost_slices(size_t *start, pboost_schedule schedule, size_t rows, size_t rounds,
                            size_t least_rows, pboost_error *err)
{
    return pboost_schedule_slices(start, schedule, rows, rounds, least_rows, err);
}

pboost_status pboost_order_scores(size_t *row, double *sorted, const double *score, size_t n,
                                  int threads, pboost_error *err)
{
    return pboost_sort_doubles(row, sorted, score, n, threads, NULL, err);
}

pboost_status pboost_order_keys(size_t *row, const uint64_t *key, size_t n, int threads,
                                pboost_error *err)
{
    return pboost_sort_keys(row, key, n, threads, NULL, err);
}

/* ---- Optimal bags in pieces ------------------------------------------------------------------ */

void pboost_cut_grid(size_t *n_chunks, size_t *overlap, size_t n, size_t min_bag)
{
    partition_grid grid = pboost_partition_grid(n, min_bag);
    *n_chunks = grid.n_chunks;
    *overlap = grid.overlap;
}

double pboost_cut_scale(double lowest, double highest)
{
    return pboost_partition_scale(lowest, highest);
}

pboost_status pboost_cut_piece(size_t *cut, size_t *n_cuts, const double *score, size_t n,
                               size_t min_bag, double scale, pboost_cut how, int threads,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    partition_cuts cuts = {0, cut};

    *n_cuts = 0;
    if (min_bag < 2 || n < min_bag)
        FAIL(err, PBOOST_INVALID, "a piece of %zu rows cannot be cut into bags of %zu", n, min_bag);
    TRY(pboost_partition_piece(&cuts, score, n, min_bag, scale, how != PBOOST_CUT_COMMON,
                               how == PBOOST_CUT_REST, threads, err));
    *n_cuts = cuts.n_cuts;
done:
    return st;
}
