/* Stable order of doubles, by distribution.
 *
 * The range of the values is divided into equal cells; a cell is a monotone function of the value,
 * whatever the rounding, so scattering records to their cells in order of input is one stable step
 * of a sort.  A long list goes to buckets of a thousand records or so, each a run of cells, with the
 * runs chosen from a sample; a short one goes to as many cells as it has records and is finished by
 * insertion.  What a skewed distribution leaves together is distributed again over its own, smaller
 * range, and merged if that does not help.  The result is unique, so it does not depend on the
 * sample, the buckets or the threads. */
#include "sort.h"

#include <math.h>
#include <string.h>

#include <try.h>

#include "parallel.h"

typedef struct {
    double value;
    size_t row;
} record;

/* Lists up to this long are sorted in the cache. */
#define SHORT 4096

/* Lists up to this long are sorted by insertion. */
#define TINY 24

/* Records per bucket of a long list. */
#define BUCKET 1024

#define MAX_CELLS 65536

/* Distribute at most so often before merging. */
#define MAX_DEPTH 8

/* ---- Short lists ----------------------------------------------------------------------------- */

static void insertion_sort(record *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        record r = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1].value > r.value; j--)
            a[j] = a[j - 1];
        a[j] = r;
    }
}

/* Sorts a with the help of b, which holds as many. */
static void merge_sort(record *a, record *b, size_t n)
{
    for (size_t i = 0; i < n; i += TINY)
        insertion_sort(a + i, n - i < TINY ? n - i : TINY);
    record *from = a, *to = b;
    for (size_t width = TINY; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = n - low < width ? n : low + width;
            size_t high = n - low < 2 * width ? n : low + 2 * width;
            size_t i = low, j = middle;
            for (size_t o = low; o < high; o++)
                to[o] = j == high || (i < middle && from[i].value <= from[j].value) ? from[i++]
                                                                                    : from[j++];
        }
        record *other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
}

/* Where values of a range fall: cell = (value - low) * scale, less than n_cells. */
typedef struct {
    double low, scale;
} cells;

/* False where the range is empty, or so wide or narrow that its size overflows. */
static bool cells_init(cells *out, double low, double high, size_t n_cells)
{
    out->low = low;
    out->scale = ((double)n_cells - 0.5) / (high - low);
    return high - low < (double)INFINITY && out->scale < (double)INFINITY;
}

static inline uint32_t cell_of(const cells *c, double value)
{
    return (uint32_t)((value - c->low) * c->scale);
}

typedef struct {
    uint32_t count[SHORT + 1];
    uint32_t cell[SHORT];
} short_work;

/* Sorts a, n <= SHORT, with the help of b. */
static void short_sort(record *a, record *b, size_t n, short_work *work, int depth)
{
    cells c;
    double low = a[0].value, high = low;

    if (n <= TINY) {
        insertion_sort(a, n);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        low = a[i].value < low ? a[i].value : low;
        high = a[i].value > high ? a[i].value : high;
    }
    if (low == high)
        return;
    if (depth >= MAX_DEPTH || !cells_init(&c, low, high, n)) {
        merge_sort(a, b, n);
        return;
    }
    memset(work->count, 0, (n + 1) * sizeof *work->count);
    for (size_t i = 0; i < n; i++)
        work->count[work->cell[i] = cell_of(&c, a[i].value)]++;
    uint32_t start = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t count = work->count[i];
        most = count > most ? count : most;
        work->count[i] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++)
        b[work->count[work->cell[i]]++] = a[i];
    memcpy(a, b, n * sizeof *a);
    if (most <= TINY) {
        insertion_sort(a, n);
        return;
    }
    /* the counts are about to be used again: find the cells by their values */
    for (size_t from = 0, to; from < n; from = to) {
        uint32_t cell = cell_of(&c, a[from].value);
        for (to = from + 1; to < n && cell_of(&c, a[to].value) == cell; to++)
            ;
        short_sort(a + from, b + from, to - from, work, depth + 1);
    }
}

/* ---- Long lists ------------------------------------------------------------------------------ */

/* Rows per task where a long list is read. */
#define TASK_ROWS 65536

typedef struct {
    const double *value;
    size_t n, n_tasks, n_cells, n_buckets;
    cells cells;
    uint16_t *bucket_of_cell;
    uint16_t *bucket; /* by row */
    size_t *offset;   /* by task and bucket: count, then where its next record goes */
    record *rec;
    record **spare;    /* by worker, of spare_length */
    short_work **work; /* by worker */
    size_t *row;
    double *sorted;
} long_list;

static size_t task_end(const long_list *s, size_t task)
{
    return task + 1 == s->n_tasks ? s->n : (task + 1) * TASK_ROWS;
}

static void count_task(void *context, size_t task, int worker)
{
    long_list *s = context;
    size_t *count = s->offset + task * s->n_buckets;
    (void)worker;
    memset(count, 0, s->n_buckets * sizeof *count);
    for (size_t i = task * TASK_ROWS; i < task_end(s, task); i++)
        count[s->bucket[i] = s->bucket_of_cell[cell_of(&s->cells, s->value[i])]]++;
}

static void scatter_task(void *context, size_t task, int worker)
{
    long_list *s = context;
    size_t *offset = s->offset + task * s->n_buckets;
    (void)worker;
    for (size_t i = task * TASK_ROWS; i < task_end(s, task); i++)
        s->rec[offset[s->bucket[i]]++] = (record){s->value[i], i};
}

/* After the scatter the offsets of the last task are the ends of the buckets. */
static void bucket_task(void *context, size_t bucket, int worker)
{
    long_list *s = context;
    const size_t *end = s->offset + (s->n_tasks - 1) * s->n_buckets;
    size_t from = bucket > 0 ? end[bucket - 1] : 0, n = end[bucket] - from;
    record *a = s->rec + from;
    if (n == 0)
        return;
    if (n <= SHORT)
        short_sort(a, s->spare[worker], n, s->work[worker], 0);
    for (size_t i = 0; i < n; i++) {
        s->row[from + i] = a[i].row;
        s->sorted[from + i] = a[i].value;
    }
}

/* Sorts the few buckets that are too long, one by one: again as a long list, or by merging. */
static pboost_status sort_rest(long_list *s, int threads, int depth, pboost_error *err);

/* Groups cells to buckets of about BUCKET rows, judged from every 16th row. */
static void group_cells(long_list *s, uint32_t *count)
{
    const size_t stride = 16;
    size_t bucket = 0, in_bucket = 0;
    for (size_t i = 0; i < s->n; i += stride)
        count[cell_of(&s->cells, s->value[i])]++;
    for (size_t c = 0; c < s->n_cells; c++) {
        if (in_bucket > 0 && (in_bucket + count[c]) * stride > BUCKET && bucket < UINT16_MAX) {
            bucket++;
            in_bucket = 0;
        }
        s->bucket_of_cell[c] = (uint16_t)bucket;
        in_bucket += count[c];
    }
    s->n_buckets = bucket + 1;
}

static void make_offsets(long_list *s)
{
    size_t start = 0;
    for (size_t b = 0; b < s->n_buckets; b++)
        for (size_t t = 0; t < s->n_tasks; t++) {
            size_t *at = &s->offset[t * s->n_buckets + b], count = *at;
            *at = start;
            start += count;
        }
}

static pboost_status sort_long(size_t *row, double *sorted, const double *value, size_t n,
                               double low, double high, int threads, int depth, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    long_list s = {.value = value, .n = n, .row = row, .sorted = sorted};
    uint32_t *count = NULL;
    size_t n_workers = (size_t)pboost_threads(threads);
    char *memory = NULL;

    s.n_tasks = (n + TASK_ROWS - 1) / TASK_ROWS;
    s.n_cells = n / 64 < MAX_CELLS ? n / 64 : MAX_CELLS;
    NEED(s.rec = pboost_alloc(n, sizeof *s.rec), err);
    if (depth >= MAX_DEPTH || !cells_init(&s.cells, low, high, s.n_cells)) {
        NEED(memory = pboost_alloc(n, sizeof *s.rec), err);
        for (size_t i = 0; i < n; i++)
            s.rec[i] = (record){value[i], i};
        merge_sort(s.rec, (record *)(void *)memory, n);
        for (size_t i = 0; i < n; i++) {
            row[i] = s.rec[i].row;
            sorted[i] = s.rec[i].value;
        }
        goto done;
    }
    NEED(count = calloc(s.n_cells, sizeof *count), err);
    NEED(s.bucket_of_cell = pboost_alloc(s.n_cells, sizeof *s.bucket_of_cell), err);
    NEED(s.bucket = pboost_alloc(n, sizeof *s.bucket), err);
    group_cells(&s, count);
    NEED(s.offset = pboost_alloc(s.n_tasks * s.n_buckets, sizeof *s.offset), err);
    NEED(s.spare = calloc(n_workers, sizeof *s.spare), err);
    NEED(s.work = calloc(n_workers, sizeof *s.work), err);
    NEED(memory = pboost_alloc(n_workers, sizeof(short_work) + SHORT * sizeof(record)), err);
    for (size_t w = 0; w < n_workers; w++) {
        s.spare[w] = (record *)(void *)memory + w * SHORT;
        s.work[w] = (short_work *)(void *)((record *)(void *)memory + n_workers * SHORT) + w;
    }

    pboost_parallel(s.n_tasks, threads, count_task, &s);
    make_offsets(&s);
    pboost_parallel(s.n_tasks, threads, scatter_task, &s);
    pboost_parallel(s.n_buckets, threads, bucket_task, &s);
    TRY(sort_rest(&s, threads, depth, err));
done:
    free(memory);
    free(s.work);
    free(s.spare);
    free(s.offset);
    free(s.bucket);
    free(s.bucket_of_cell);
    free(count);
    free(s.rec);
    return st;
}

static pboost_status sort_rest(long_list *s, int threads, int depth, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const size_t *end = s->offset + (s->n_tasks - 1) * s->n_buckets;
    double *value = NULL;
    size_t *order = NULL;

    for (size_t b = 0; b < s->n_buckets; b++) {
        size_t from = b > 0 ? end[b - 1] : 0, n = end[b] - from;
        const record *a = s->rec + from;
        if (n <= SHORT)
            continue;
        double low = a[0].value, high = low;
        NEED(value = pboost_alloc(n, sizeof *value), err);
        for (size_t i = 0; i < n; i++) {
            value[i] = a[i].value;
            low = value[i] < low ? value[i] : low;
            high = value[i] > high ? value[i] : high;
        }
        if (low < high) {
            NEED(order = pboost_alloc(n, sizeof *order), err);
            TRY(sort_long(order, s->sorted + from, value, n, low, high, threads, depth + 1, err));
            for (size_t i = 0; i < n; i++)
                s->row[from + i] = a[order[i]].row;
        }
        free(order);
        free(value);
        order = NULL;
        value = NULL;
    }
done:
    free(order);
    free(value);
    return st;
}

/* ---- Entry ----------------------------------------------------------------------------------- */

static pboost_status sort_few(size_t *row, double *sorted, const double *value, size_t n,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    record *rec = NULL;
    short_work *work = NULL;

    NEED(rec = pboost_alloc(2 * n, sizeof *rec), err);
    NEED(work = pboost_alloc(1, sizeof *work), err);
    for (size_t i = 0; i < n; i++)
        rec[i] = (record){value[i], i};
    short_sort(rec, rec + n, n, work, 0);
    for (size_t i = 0; i < n; i++) {
        row[i] = rec[i].row;
        sorted[i] = rec[i].value;
    }
done:
    free(work);
    free(rec);
    return st;
}

pboost_status pboost_sort_doubles(size_t *row, double *sorted, const double *value, size_t n,
                                  int threads, pboost_error *err)
{
    bool in_order = true, finite = true;
    double low = n > 0 ? value[0] : 0, high = low, before = low;

    for (size_t i = 0; i < n; i++) {
        double v = value[i];
        finite &= v - v == 0;
        in_order &= before <= v;
        before = v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    if (!finite)
        for (size_t i = 0; i < n; i++)
            if (!isfinite(value[i]))
                return pboost_fail(err, PBOOST_BAD_DATA,
                                   "score %zu is %g; every score must be a finite number", i,
                                   value[i]);
    if (in_order) {
        for (size_t i = 0; i < n; i++)
            row[i] = i;
        memcpy(sorted, value, n * sizeof *value);
        return PBOOST_OK;
    }
    if (n <= SHORT)
        return sort_few(row, sorted, value, n, err);
    return sort_long(row, sorted, value, n, low, high, threads, 0, err);
}

pboost_status pboost_sort_keys(size_t *row, const uint64_t *key, size_t n, pboost_error *err)
{
    typedef struct {
        uint64_t key;
        size_t row;
    } keyed;
    pboost_status st = PBOOST_OK;
    keyed *from = NULL, *to = NULL;
    size_t count[8][256] = {{0}};

    NEED(from = pboost_alloc(n, sizeof *from), err);
    NEED(to = pboost_alloc(n, sizeof *to), err);
    for (size_t i = 0; i < n; i++) {
        from[i] = (keyed){key[i], i};
        for (int byte = 0; byte < 8; byte++)
            count[byte][key[i] >> 8 * byte & 255]++;
    }
    for (int byte = 0; byte < 8; byte++) {
        size_t *at = count[byte], start = 0;
        if (n == 0 || at[key[0] >> 8 * byte & 255] == n)
            continue;
        for (int digit = 0; digit < 256; digit++) {
            size_t c = at[digit];
            at[digit] = start;
            start += c;
        }
        for (size_t i = 0; i < n; i++)
            to[at[from[i].key >> 8 * byte & 255]++] = from[i];
        keyed *other = from;
        from = to;
        to = other;
    }
    for (size_t i = 0; i < n; i++)
        row[i] = from[i].row;
done:
    free(to);
    free(from);
    return st;
}
