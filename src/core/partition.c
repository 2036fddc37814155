/* The dynamic program over sorted rows, block by block, chunk by chunk.
 *
 * Costs are kept less a constant: after each block the least one in reach is subtracted from the
 * 2k-1 that the next block needs.  So a rounding error is relative to the costs of a few bags, not
 * to the sum over all rows, and the cost of a path of a million bags is as good as that of one. */
#include "partition.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <try.h>

#include "kernels/partition.h"
#include "large.h"
#include "parallel.h"
#include "simd.h"

/* From this k on, bisection beats trying every size. */
#define MANY_FROM 16

/* Cuts per block where a block is not bound to k. */
#define FEW_ROWS 512

static partition_kernel *const FEW[SIMD_LEVELS] = {
    pboost_partition_few_plain,
#ifdef PBOOST_SIMD_X86
    pboost_partition_few_avx2,
    pboost_partition_few_avx512,
#endif
};

static partition_kernel *const MANY[SIMD_LEVELS] = {
    pboost_partition_many_plain,
#ifdef PBOOST_SIMD_X86
    pboost_partition_many_avx2,
    pboost_partition_many_avx512,
#endif
};

static partition_rebase *const REBASE[SIMD_LEVELS] = {
    pboost_partition_rebase_plain,
#ifdef PBOOST_SIMD_X86
    pboost_partition_rebase_avx2,
    pboost_partition_rebase_avx512,
#endif
};

static size_t block_rows(size_t k)
{
    return k < MANY_FROM ? FEW_ROWS : k / PARTITION_PAD * PARTITION_PAD;
}

/* Items before the first cut of a block that its kernel reads, with room for whole vectors. */
static size_t reach(size_t k)
{
    return 2 * k + PARTITION_PAD;
}

pboost_status pboost_partition_table_init(partition_table *out, size_t k, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (partition_table){0};
    if (k > PARTITION_MAX_MIN_BAG)
        FAIL(err, PBOOST_INVALID, "min_bag is %zu; more than %zu is not supported", k,
             PARTITION_MAX_MIN_BAG);
    out->min_bag = k;
    out->length = 3 * k + 2 * PARTITION_PAD;
    NEED(out->number = pboost_alloc(4 * out->length, sizeof(double)), err);
    out->inverse = out->number + out->length;
    out->ratio = out->inverse + out->length;
    out->weight = out->ratio + out->length;
    for (size_t t = 0; t < out->length; t++) {
        double number = (double)t;
        out->number[t] = number;
        out->inverse[t] = t > 0 ? 1 / number : 0;
        out->ratio[t] = t > 1 ? number / (number - 1) : 0;
        out->weight[t] = t >= k && t < 2 * k ? 1 / number : (double)INFINITY;
    }
done:
    return st;
}

void pboost_partition_table_free(partition_table *table)
{
    free(table->number);
    *table = (partition_table){0};
}

pboost_status pboost_partition_work_init(partition_work *out, size_t max_rows, size_t k,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t window = reach(k) + block_rows(k) + PARTITION_PAD;

    *out = (partition_work){.max_rows = max_rows};
    NEED(out->x = pboost_alloc(2 * window + PARTITION_SCRATCH(k), sizeof(double)), err);
    out->cost = out->x + window;
    out->scratch = out->cost + window;
    NEED(out->step =
             pboost_alloc_large(max_rows + 1 + block_rows(k) + PARTITION_PAD, sizeof *out->step),
         err);
    NEED(out->mark = pboost_alloc_large(max_rows + 1, 1), err);
done:
    if (st != PBOOST_OK)
        pboost_partition_work_free(out);
    return st;
}

void pboost_partition_work_free(partition_work *work)
{
    free(work->x);
    free(work->step);
    free(work->mark);
    *work = (partition_work){0};
}

/* The last cut (less first) that the paths to all of the 2k-1 open cuts up to `rows` share: replace
 * the greatest of a set of cuts by the one before it on its path until one is left. */
static size_t common_cut(partition_work *work, size_t rows, size_t k)
{
    size_t open = 2 * k - 1, cut = rows;
    if (rows < 4 * k)
        return 0;
    memset(work->mark, 0, rows + 1);
    memset(work->mark + rows + 1 - open, 1, open);
    while (open > 1) {
        while (!work->mark[cut])
            cut--;
        size_t before = cut - k - work->step[cut];
        open -= work->mark[before];
        work->mark[before] = 1;
        cut--;
    }
    while (!work->mark[cut])
        cut--;
    return cut;
}

void pboost_partition_chunk(partition_cuts *out, partition_work *work, const partition_table *table,
                            const double *x, size_t first, size_t last, double scale, int to_end)
{
    size_t k = table->min_bag, rows = last - first, behind = reach(k), block = block_rows(k);
    simd_level_t level = pboost_simd_level();
    partition_kernel *kernel = (k < MANY_FROM ? FEW : MANY)[level];

    /* window[behind] is the first cut of the block, and the row after it */
    for (size_t i = 0; i < behind; i++) {
        work->x[i] = x[first] * scale;
        work->cost[i] = (double)INFINITY;
    }
    work->cost[behind - 1] = 0;
    for (size_t done = 1; done <= rows; done += block) {
        size_t have = rows - done < block ? rows - done : block;
        for (size_t i = 0; i < have; i++)
            work->x[behind + i] = x[first + done + i] * scale;
        for (size_t i = have; i < block + PARTITION_PAD; i++)
            work->x[behind + i] = x[last - 1] * scale;
        kernel(work->cost + behind, work->step + done, work->x + behind, block, table,
               work->scratch);
        memmove(work->x, work->x + block, behind * sizeof *work->x);
        memmove(work->cost, work->cost + block, behind * sizeof *work->cost);
        REBASE[level](work->cost + behind - (2 * k - 1), 2 * k - 1);
    }

    size_t cut = to_end ? rows : common_cut(work, rows, k), n_cuts = 1;
    for (size_t c = cut; c > 0; c -= k + work->step[c])
        n_cuts++;
    out->n_cuts = n_cuts;
    for (size_t c = cut; n_cuts-- > 0; c -= c > 0 ? k + work->step[c] : 0)
        out->cut[n_cuts] = first + c;
}

int pboost_partition_splice(partition_cuts *cuts, const partition_cuts *chunk)
{
    size_t at = cuts->cut[cuts->n_cuts - 1], low = 0, high = chunk->n_cuts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chunk->cut[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == chunk->n_cuts || chunk->cut[low] != at)
        return 0;
    memmove(cuts->cut + cuts->n_cuts, chunk->cut + low + 1,
            (chunk->n_cuts - low - 1) * sizeof *cuts->cut);
    cuts->n_cuts += chunk->n_cuts - low - 1;
    return 1;
}

partition_grid pboost_partition_grid(size_t n, size_t k)
{
    partition_grid grid = {1, 0};
    size_t least = (size_t)1 << 17;

    if (__builtin_mul_overflow(4 * k, k, &grid.overlap) || grid.overlap > n)
        return (partition_grid){1, 0};
    grid.overlap += 64 * k;
    if (least < 2 * grid.overlap)
        least = 2 * grid.overlap;
    while (n / (2 * grid.n_chunks) >= least)
        grid.n_chunks *= 2;
    return grid;
}

/* A power of two that brings the range of x to where squares neither overflow nor vanish. */
static double safe_scale(const double *x, size_t n)
{
    double range = x[n - 1] / 2 - x[0] / 2;
    int exponent;
    if (range == 0 || (range > 0x1p-300 && range < 0x1p+300))
        return 1;
    frexp(range, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

typedef struct {
    const double *x;
    size_t n;
    double scale;
    partition_grid grid;
    partition_table table;
    partition_work *work;  /* by worker */
    partition_cuts *chunk; /* by chunk */
} problem;

static size_t chunk_last(const problem *p, size_t c)
{
    size_t share = p->n / p->grid.n_chunks;
    return c + 1 == p->grid.n_chunks ? p->n : (c + 1) * share;
}

static size_t chunk_first(const problem *p, size_t c)
{
    return c == 0 ? 0 : chunk_last(p, c - 1) - p->grid.overlap;
}

static void solve_chunk(void *context, size_t c, int worker)
{
    problem *p = context;
    pboost_partition_chunk(&p->chunk[c], &p->work[worker], &p->table, p->x, chunk_first(p, c),
                           chunk_last(p, c), p->scale, c + 1 == p->grid.n_chunks);
}

/* Solves from the last of cuts to the end, without chunks. */
static pboost_status solve_rest(problem *p, partition_cuts *cuts, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    partition_work work = {0};
    partition_cuts rest = {0};
    size_t first = cuts->cut[cuts->n_cuts - 1];

    TRY(pboost_partition_work_init(&work, p->n - first, p->table.min_bag, err));
    rest.cut = cuts->cut + cuts->n_cuts - 1;
    pboost_partition_chunk(&rest, &work, &p->table, p->x, first, p->n, p->scale, 1);
    cuts->n_cuts += rest.n_cuts - 1;
done:
    pboost_partition_work_free(&work);
    return st;
}

static pboost_status solve(problem *p, partition_cuts *cuts, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n_chunks = p->grid.n_chunks, k = p->table.min_bag, cap, n_workers;
    size_t *cut = NULL;

    n_workers = (size_t)pboost_threads(threads);
    if (n_workers > n_chunks)
        n_workers = n_chunks;
    size_t max_rows = p->n / n_chunks + n_chunks + p->grid.overlap;
    cap = max_rows / k + 2;
    NEED(p->chunk = calloc(n_chunks, sizeof *p->chunk), err);
    NEED(p->work = calloc(n_workers, sizeof *p->work), err);
    NEED(cut = pboost_alloc_large(n_chunks * cap, sizeof *cut), err);
    for (size_t w = 0; w < n_workers; w++)
        TRY(pboost_partition_work_init(&p->work[w], max_rows, k, err));
    for (size_t c = 0; c < n_chunks; c++)
        p->chunk[c].cut = cut + c * cap;

    pboost_parallel(n_chunks, (int)n_workers, solve_chunk, p);
    for (size_t c = 0; c < n_chunks; c++)
        if (!pboost_partition_splice(cuts, &p->chunk[c])) {
            TRY(solve_rest(p, cuts, err));
            break;
        }
done:
    if (p->work != NULL)
        for (size_t w = 0; w < n_workers; w++)
            pboost_partition_work_free(&p->work[w]);
    free(p->work);
    free(p->chunk);
    free(cut);
    return st;
}

pboost_status pboost_partition(size_t *start, size_t *n_bags, const double *x, size_t n, size_t k,
                               int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    problem p = {.x = x, .n = n};
    partition_cuts cuts = {1, start};

    start[0] = 0;
    *n_bags = 0;
    if (k == 1) {
        for (size_t i = 0; i <= n; i++)
            start[i] = i;
        *n_bags = n;
        return PBOOST_OK;
    }
    if (n / 2 < k) {
        start[1] = n;
        *n_bags = 1;
        return PBOOST_OK;
    }
    p.scale = safe_scale(x, n);
    p.grid = pboost_partition_grid(n, k);
    TRY(pboost_partition_table_init(&p.table, k, err));
    TRY(solve(&p, &cuts, threads, err));
    *n_bags = cuts.n_cuts - 1;
done:
    pboost_partition_table_free(&p.table);
    return st;
}
