/* Bags of rows: optimal for given scores, or random; and functions that all ways to make bags use.
 */
#include <math.h>
#include <string.h>

#include <try.h>

#include "bags/bags.h"
#include "bags/partition.h"
#include "bags/sort.h"
#include "base/rng.h"
#include "large.h"

void pboost_bags_free(pboost_bags *bags)
{
    if (bags == NULL)
        return;
    free(bags->row);
    free(bags->start);
    *bags = (pboost_bags){0};
}

void pboost_bags_release(pboost_workspace *work, pboost_bags *bags)
{
    pboost_release(work, bags->row);
    pboost_release(work, bags->start);
    *bags = (pboost_bags){0};
}

static pboost_status check_min_bag(size_t n, size_t min_bag, pboost_error *err)
{
    if (min_bag == 0)
        return pboost_fail(err, PBOOST_INVALID, "min_bag is 0; it must be at least 1");
    if (n < min_bag)
        return pboost_fail(err, PBOOST_BAD_DATA, "min_bag is %zu, but there are only %zu rows",
                           min_bag, n);
    return PBOOST_OK;
}

/* Memory for bags of n rows, at most max_bags of them; the caller fills in the numbers. */
static pboost_status bags_init(pboost_workspace *work, pboost_bags *out, size_t n, size_t max_bags,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    out->n_rows = n;
    NEED(out->row = pboost_acquire(work, n, sizeof *out->row), err);
    NEED(out->start = pboost_acquire(work, max_bags + 1, sizeof *out->start), err);
done:
    return st;
}

pboost_status pboost_bags_optimal_in(pboost_workspace *work, pboost_bags *out, const double *score,
                                     size_t n, size_t min_bag, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *sorted = NULL;

    *out = (pboost_bags){0};
    TRY(check_min_bag(n, min_bag, err));
    TRY(bags_init(work, out, n, pboost_partition_room(n, min_bag) - 1, err));
    NEED(sorted = pboost_acquire(work, n, sizeof *sorted), err);
    TRY(pboost_sort_doubles(out->row, sorted, score, n, threads, work, err));
    TRY(pboost_partition(out->start, &out->n_bags, sorted, n, min_bag, threads, work, err));
done:
    pboost_release(work, sorted);
    if (st != PBOOST_OK)
        pboost_bags_release(work, out);
    return st;
}

pboost_status pboost_bags_random_in(pboost_workspace *work, pboost_bags *out, size_t n,
                                    size_t min_bag, uint64_t seed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint64_t *key = NULL;

    *out = (pboost_bags){0};
    TRY(check_min_bag(n, min_bag, err));
    size_t n_bags = n / min_bag, size = n / n_bags, longer = n % n_bags;
    TRY(bags_init(work, out, n, n_bags, err));
    NEED(key = pboost_acquire(work, n, sizeof *key), err);
    pboost_rng_keys(key, n, seed, RNG_SHUFFLE, 0);
    TRY(pboost_sort_keys(out->row, key, n, 1, work, err));
    out->n_bags = n_bags;
    for (size_t b = 0; b <= n_bags; b++)
        out->start[b] = b * size + (b < longer ? b : longer);
done:
    pboost_release(work, key);
    if (st != PBOOST_OK)
        pboost_bags_release(work, out);
    return st;
}

pboost_status pboost_bags_optimal(pboost_bags *out, const double *score, size_t n, size_t min_bag,
                                  int threads, pboost_error *err)
{
    return pboost_bags_optimal_in(NULL, out, score, n, min_bag, threads, err);
}

pboost_status pboost_bags_random(pboost_bags *out, size_t n, size_t min_bag, uint64_t seed,
                                 pboost_error *err)
{
    return pboost_bags_random_in(NULL, out, n, min_bag, seed, err);
}

double pboost_bags_cost(const pboost_bags *bags, const double *score)
{
    double total = 0, lost = 0;
    for (size_t b = 0; b < bags->n_bags; b++) {
        const size_t *row = bags->row + bags->start[b];
        size_t size = bags->start[b + 1] - bags->start[b];
        if (size < 2)
            continue;
        double origin = score[row[0]], sum = 0, within = 0;
        for (size_t i = 0; i < size; i++)
            sum += score[row[i]] - origin;
        double mean = sum / (double)size;
        for (size_t i = 0; i < size; i++) {
            double off = score[row[i]] - origin - mean;
            within += off * off;
        }
        /* Kahan's sum: a bag counts, even after a million others */
        double add = within - lost, next = total + add;
        lost = (next - total) - add;
        total = next;
    }
    return total;
}

void pboost_bags_renumber(pboost_bags *bags, const size_t *row)
{
    for (size_t i = 0; i < bags->n_rows; i++)
        bags->row[i] = row[bags->row[i]];
}

pboost_status pboost_bags_check_starts(const pboost_bags *bags, size_t min_bag, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (bags->n_bags == 0) {
        if (bags->n_rows != 0)
            FAIL(err, PBOOST_INVALID, "there are %zu rows, but no bags", bags->n_rows);
        goto done;
    }
    if (bags->start == NULL || (bags->row == NULL && bags->n_rows > 0))
        FAIL(err, PBOOST_INVALID, "there are %zu bags of %zu rows, but no row numbers",
             bags->n_bags, bags->n_rows);
    if (bags->start[0] != 0 || bags->start[bags->n_bags] != bags->n_rows)
        FAIL(err, PBOOST_INVALID, "the bags cover rows %zu to %zu of a list of %zu; it must be all",
             bags->start[0], bags->start[bags->n_bags], bags->n_rows);
    for (size_t b = 0; b < bags->n_bags; b++) {
        if (bags->start[b + 1] < bags->start[b] || bags->start[b + 1] > bags->n_rows)
            FAIL(err, PBOOST_INVALID, "bag %zu ends at %zu, but starts at %zu of %zu rows", b,
                 bags->start[b + 1], bags->start[b], bags->n_rows);
        if (bags->start[b + 1] - bags->start[b] < min_bag)
            FAIL(err, PBOOST_REFUSED, "bag %zu has %zu rows, but min_bag is %zu", b,
                 bags->start[b + 1] - bags->start[b], min_bag);
    }
done:
    return st;
}

/* Leaves the bits of seen as they were: all zeros. */
static pboost_status check_rows(const pboost_bags *bags, size_t table_rows, unsigned char *seen,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t i = 0;

    for (; i < bags->n_rows; i++) {
        size_t r = bags->row[i];
        if (r >= table_rows)
            FAIL(err, PBOOST_INVALID, "the bags name row %zu, but there are only %zu rows", r,
                 table_rows);
        if (seen[r / 8] >> r % 8 & 1)
            FAIL(err, PBOOST_REFUSED,
                 "row %zu is in the bags twice; each label can be used in one answer only", r);
        seen[r / 8] |= (unsigned char)(1u << r % 8);
    }
done:
    while (i-- > 0)
        seen[bags->row[i] / 8] = 0;
    return st;
}

pboost_status pboost_bags_check_in(unsigned char *seen, const pboost_bags *bags, size_t table_rows,
                                   size_t min_bag, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_bags_check_starts(bags, min_bag, err));
    TRY(check_rows(bags, table_rows, seen, err));
done:
    return st;
}

pboost_status pboost_bags_check(const pboost_bags *bags, size_t table_rows, size_t min_bag,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *seen = NULL;

    TRY(pboost_bags_check_starts(bags, min_bag, err));
    if (bags->n_bags == 0)
        goto done;
    NEED(seen = calloc(table_rows / 8 + 1, 1), err);
    TRY(check_rows(bags, table_rows, seen, err));
done:
    free(seen);
    return st;
}
