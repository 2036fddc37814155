/* The dynamic program over sorted rows, window by window, chunk by chunk.
 *
 * Costs are kept less a constant: after each window the least one in reach is subtracted from the
 * 2k-1 that the next window needs.  So a rounding error is relative to the costs of a few bags, not
 * to the sum over all rows, and the cost of a path of a million bags is as accurate as that of one.
 */
#include "bags/partition.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <try.h>

#include "base/parallel.h"
#include "kernels/partition.h"
#include "kernels/simd.h"
#include "large.h"

#define ROW_NS 3.0 /* what a row takes on one thread, at least */

/* From this k on, bisection beats trying every size. */
#define MANY_FROM 20

/* From this many rows on, the path is sought from both ends. */
#define TWO_ENDS_ROWS 32768

/* The least number of cuts in a window, within which costs are relative to the same constant. */
#define WINDOW_ROWS 512

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

/* Whole blocks of the kernel. */
static size_t window_rows(size_t k)
{
    size_t block = k < MANY_FROM ? WINDOW_ROWS : k / PARTITION_PAD * PARTITION_PAD;
    return (WINDOW_ROWS + block - 1) / block * block;
}

/* Items before the first cut of a window that its kernel reads, with room for whole vectors. */
static size_t reach(size_t k)
{
    return 2 * k + PARTITION_PAD;
}

pboost_status pboost_partition_table_init(partition_table *out, size_t k, pboost_workspace *memory,
                                          pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (partition_table){.memory = memory};
    if (k > PARTITION_MAX_MIN_BAG)
        FAIL(err, PBOOST_INVALID, "min_bag is %zu; more than %zu is not supported", k,
             PARTITION_MAX_MIN_BAG);
    out->min_bag = k;
    out->length = 3 * k + 2 * PARTITION_PAD;
    NEED(out->number = pboost_acquire(memory, 4 * out->length, sizeof(double)), err);
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
    pboost_release(table->memory, table->number);
    *table = (partition_table){0};
}

pboost_status pboost_partition_work_init(partition_work *out, size_t max_rows, size_t k,
                                         pboost_workspace *memory, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t window = reach(k) + window_rows(k) + PARTITION_PAD;

    *out = (partition_work){.max_rows = max_rows, .memory = memory};
    NEED(out->x = pboost_acquire(memory, 2 * window + PARTITION_SCRATCH(k), sizeof(double)), err);
    out->cost = out->x + window;
    out->scratch = out->cost + window;
    NEED(out->step = pboost_acquire(memory, max_rows + 1 + window_rows(k) + PARTITION_PAD,
                                    sizeof *out->step),
         err);
    NEED(out->mark = pboost_acquire(memory, max_rows + 1, 1), err);
done:
    if (st != PBOOST_OK)
        pboost_partition_work_free(out);
    return st;
}

void pboost_partition_work_free(partition_work *work)
{
    pboost_release(work->memory, work->x);
    pboost_release(work->memory, work->step);
    pboost_release(work->memory, work->mark);
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

/* ahead[0 .. n) = the rows of the piece from number `row` on, padded with the last. */
static void fetch_rows(double *restrict ahead, size_t n, const partition_piece *p, size_t row)
{
    size_t rows = p->last - p->first, have = row >= rows ? 0 : rows - row < n ? rows - row : n;
    double scale = p->backward ? -p->scale : p->scale;
    double pad = p->backward ? p->x[p->first] : p->x[p->last - 1];

    if (have > 0 && p->backward) {
        const double *from = p->x + (p->last - row - have);
        for (size_t i = 0; i < have; i++)
            ahead[i] = from[have - 1 - i] * scale;
    } else if (have > 0) {
        const double *from = p->x + (p->first + row);
        for (size_t i = 0; i < have; i++)
            ahead[i] = from[i] * scale;
    }
    for (size_t i = have; i < n; i++)
        ahead[i] = pad * scale;
}

/* Row number `cut` of the piece, with the rows that a window from there on reads around it: in
 * place, or copied if they must be scaled or reversed, or are not all in the list. */
static const double *rows_around(partition_work *work, const partition_piece *p, size_t cut,
                                 size_t behind, size_t window)
{
    size_t ahead = window + PARTITION_PAD, lack = cut < behind ? behind - cut : 0;
    if (lack == 0 && p->last - p->first - cut >= ahead && p->scale == 1 && !p->backward)
        return p->x + p->first + cut;
    fetch_rows(work->x + lack, behind - lack + ahead, p, cut + lack - behind);
    for (size_t i = 0; i < lack; i++)
        work->x[i] = work->x[lack];
    return work->x + behind;
}

void pboost_partition_sweep(partition_work *work, const partition_table *table,
                            const partition_piece *piece)
{
    size_t k = table->min_bag, rows = piece->last - piece->first;
    size_t behind = reach(k), window = window_rows(k);
    simd_level_t level = pboost_simd_level();
    partition_kernel *kernel = (k < MANY_FROM ? FEW : MANY)[level];
    double *cost = work->cost + behind;

    /* cuts before 0 exist in memory, but no path uses them */
    for (size_t i = 0; i < behind; i++)
        work->cost[i] = (double)INFINITY;
    cost[-1] = 0;
    work->step[0] = (uint32_t)k - 1; /* as long as a step may be: it bounds nothing */
    for (size_t cut = 1;; cut += window) {
        const double *x = rows_around(work, piece, cut, behind, window);
        kernel(cost, work->step + cut, x, window, table, work->scratch);
        if (rows - cut < window) {
            work->end = cost + (rows - cut);
            return;
        }
        memmove(work->cost, work->cost + window, behind * sizeof *work->cost);
        REBASE[level](cost - (2 * k - 1), 2 * k - 1);
    }
}

/* Writes the cuts of the path to `cut`, counted from where the sweep began, in the order of x. */
static void trace(partition_cuts *out, const partition_work *work, const partition_piece *piece,
                  size_t k, size_t cut)
{
    size_t n = 0;
    for (; cut > 0; cut -= k + work->step[cut])
        out->cut[n++] = piece->backward ? piece->last - cut : piece->first + cut;
    out->cut[n++] = piece->backward ? piece->last : piece->first;
    out->n_cuts = n;
    for (size_t i = 0; !piece->backward && i < n / 2; i++) {
        size_t swap = out->cut[i];
        out->cut[i] = out->cut[n - 1 - i];
        out->cut[n - 1 - i] = swap;
    }
}

void pboost_partition_chunk(partition_cuts *out, partition_work *work, const partition_table *table,
                            const partition_piece *piece, bool to_end)
{
    size_t k = table->min_bag, rows = piece->last - piece->first;
    pboost_partition_sweep(work, table, piece);
    trace(out, work, piece, k, to_end ? rows : common_cut(work, rows, k));
}

bool pboost_partition_splice(partition_cuts *cuts, const partition_cuts *chunk)
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
        return false;
    memmove(cuts->cut + cuts->n_cuts, chunk->cut + low + 1,
            (chunk->n_cuts - low - 1) * sizeof *cuts->cut);
    cuts->n_cuts += chunk->n_cuts - low - 1;
    return true;
}

partition_grid pboost_partition_grid(size_t n, size_t k)
{
    const size_t least = (size_t)1 << 17;
    partition_grid grid = {1, 0};

    /* of 600 pairs of chunks, k = 8 to 192, all were joined with 2 k^2 + 64 k, most with less */
    if (k > n / k / 6)
        return grid;
    grid.overlap = 3 * k * k + 64 * k;
    while (n / (2 * grid.n_chunks) >= (least > 4 * grid.overlap ? least : 4 * grid.overlap))
        grid.n_chunks *= 2;
    return grid;
}

/* The most rows of a chunk, and the most cuts. */
static size_t chunk_rows(size_t n, partition_grid grid)
{
    return n / grid.n_chunks + grid.n_chunks + grid.overlap;
}

static size_t chunk_cuts(size_t n, size_t k, partition_grid grid)
{
    return chunk_rows(n, grid) / k + 2;
}

size_t pboost_partition_room(size_t n, size_t k)
{
    partition_grid grid = pboost_partition_grid(n, k);
    return grid.n_chunks > 1 ? grid.n_chunks * chunk_cuts(n, k, grid) + 1 : n / k + 1;
}

/* A power of two that brings the range of x to where squares neither overflow nor vanish. */
double pboost_partition_scale(double lowest, double highest)
{
    double range = highest / 2 - lowest / 2;
    int exponent;
    if (range == 0 || (range > 0x1p-300 && range < 0x1p+300))
        return 1;
    frexp(range, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

typedef struct {
    const double *x;
    size_t n;
    pboost_workspace *memory;
    double scale;
    partition_grid grid;
    partition_table table;
    partition_work *work;  /* by worker, or by direction */
    partition_cuts *chunk; /* by chunk */
} problem;

static partition_piece piece_of(const problem *p, size_t first, size_t last, bool backward)
{
    return (partition_piece){p->x, first, last, p->scale, backward};
}

/* ---- From both ends -------------------------------------------------------------------------- */

typedef struct {
    const problem *p;
    partition_work work[2];
    partition_piece piece[2]; /* forward and backward, both with the 2k-1 cuts in the middle */
} two_ends;

static void sweep_end(void *context, size_t end, int worker)
{
    two_ends *t = context;
    (void)worker;
    pboost_partition_sweep(&t->work[end], &t->p->table, &t->piece[end]);
}

/* Appends the shortest path from the last of cuts to the end. */
static pboost_status solve_two_ends(const problem *p, partition_cuts *cuts, int threads,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t k = p->table.min_bag, first = cuts->cut[cuts->n_cuts - 1];
    size_t middle = first + (p->n - first) / 2 + k, best = 0;
    partition_cuts part = {0, cuts->cut + cuts->n_cuts - 1};
    two_ends t = {.p = p};

    t.piece[0] = piece_of(p, first, middle, false);
    t.piece[1] = piece_of(p, middle - (2 * k - 2), p->n, true);
    for (int end = 0; end < 2; end++)
        TRY(pboost_partition_work_init(&t.work[end], t.piece[end].last - t.piece[end].first, k,
                                       p->memory, err));
    pboost_parallel(2, pboost_threads_for(threads, ROW_NS * (double)(p->n - first)), sweep_end, &t);

    /* cut middle - i is end[-i] of one sweep and end[-(2k-2-i)] of the other */
    const double *forward = t.work[0].end, *backward = t.work[1].end - (2 * k - 2);
    for (size_t i = 1; i < 2 * k - 1; i++)
        if (*(forward - i) + backward[i] < *(forward - best) + backward[best])
            best = i;
    trace(&part, &t.work[0], &t.piece[0], k, middle - best - first);
    cuts->n_cuts += part.n_cuts - 1;
    part.cut = cuts->cut + cuts->n_cuts - 1;
    trace(&part, &t.work[1], &t.piece[1], k, p->n - (middle - best));
    cuts->n_cuts += part.n_cuts - 1;
done:
    pboost_partition_work_free(&t.work[0]);
    pboost_partition_work_free(&t.work[1]);
    return st;
}

/* Appends the common cuts, or with to_end all, of the rows from the last of cuts to `last`. */
static pboost_status solve_one(const problem *p, partition_cuts *cuts, size_t last, bool to_end,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    partition_work work = {0};
    partition_piece piece = piece_of(p, cuts->cut[cuts->n_cuts - 1], last, false);
    partition_cuts part = {0, cuts->cut + cuts->n_cuts - 1};

    TRY(pboost_partition_work_init(&work, last - piece.first, p->table.min_bag, p->memory, err));
    pboost_partition_chunk(&part, &work, &p->table, &piece, to_end);
    cuts->n_cuts += part.n_cuts - 1;
done:
    pboost_partition_work_free(&work);
    return st;
}

static pboost_status solve_rest(const problem *p, partition_cuts *cuts, int threads,
                                pboost_error *err)
{
    size_t rows = p->n - cuts->cut[cuts->n_cuts - 1];
    if (rows < TWO_ENDS_ROWS || rows / 8 < p->table.min_bag)
        return solve_one(p, cuts, p->n, true, err);
    return solve_two_ends(p, cuts, threads, err);
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

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
    partition_piece piece = piece_of(p, chunk_first(p, c), chunk_last(p, c), false);
    pboost_partition_chunk(&p->chunk[c], &p->work[worker], &p->table, &piece,
                           c + 1 == p->grid.n_chunks);
}

/* A chunk that does not fit is solved again from where the others end; if that adds nothing either,
 * there are no common cuts. */
static pboost_status splice_all(const problem *p, partition_cuts *cuts, int threads,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t c = 0; c < p->grid.n_chunks; c++) {
        size_t n_before = cuts->n_cuts;
        if (pboost_partition_splice(cuts, &p->chunk[c]))
            continue;
        TRY(solve_one(p, cuts, chunk_last(p, c), c + 1 == p->grid.n_chunks, err));
        if (cuts->n_cuts == n_before)
            return solve_rest(p, cuts, threads, err);
    }
done:
    return st;
}

/* Each chunk writes its cuts to its own part of the array, and the cuts are then moved together. No
 * cut moves to a later place: those up to the end of a chunk are no more than the chunks so far
 * have places for. */
static pboost_status solve_chunks(problem *p, partition_cuts *cuts, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_workspace *memory = p->memory;
    size_t n_chunks = p->grid.n_chunks, k = p->table.min_bag;
    size_t max_rows = chunk_rows(p->n, p->grid), max_cuts = chunk_cuts(p->n, k, p->grid);
    size_t n_workers = (size_t)pboost_threads_for(threads, ROW_NS * (double)p->n);

    if (n_workers > n_chunks)
        n_workers = n_chunks;
    NEED(p->chunk = pboost_acquire_zeros(memory, n_chunks, sizeof *p->chunk), err);
    NEED(p->work = pboost_acquire_zeros(memory, n_workers, sizeof *p->work), err);
    for (size_t w = 0; w < n_workers; w++)
        TRY(pboost_partition_work_init(&p->work[w], max_rows, k, memory, err));
    for (size_t c = 0; c < n_chunks; c++)
        p->chunk[c].cut = cuts->cut + 1 + c * max_cuts;

    pboost_parallel(n_chunks, (int)n_workers, solve_chunk, p);
    TRY(splice_all(p, cuts, threads, err));
done:
    if (p->work != NULL)
        for (size_t w = 0; w < n_workers; w++)
            pboost_partition_work_free(&p->work[w]);
    pboost_release(memory, p->work);
    pboost_release(memory, p->chunk);
    return st;
}

pboost_status pboost_partition(size_t *start, size_t *n_bags, const double *x, size_t n, size_t k,
                               int threads, pboost_workspace *memory, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    problem p = {.x = x, .n = n, .memory = memory};
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
    p.scale = pboost_partition_scale(x[0], x[n - 1]);
    p.grid = pboost_partition_grid(n, k);
    TRY(pboost_partition_table_init(&p.table, k, memory, err));
    if (p.grid.n_chunks > 1)
        TRY(solve_chunks(&p, &cuts, threads, err));
    else
        TRY(solve_rest(&p, &cuts, threads, err));
    *n_bags = cuts.n_cuts - 1;
done:
    pboost_partition_table_free(&p.table);
    return st;
}

pboost_status pboost_partition_piece(partition_cuts *out, const double *x, size_t n, size_t k,
                                     double scale, bool to_end, bool both_ends, int threads,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    problem p = {.x = x, .n = n, .scale = scale};

    out->cut[0] = 0;
    out->n_cuts = 1;
    TRY(pboost_partition_table_init(&p.table, k, NULL, err));
    if (both_ends)
        TRY(solve_rest(&p, out, threads, err));
    else
        TRY(solve_one(&p, out, n, to_end, err));
done:
    pboost_partition_table_free(&p.table);
    return st;
}
