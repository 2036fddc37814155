/* Our sort of scores against a plain radix sort, which is a tenth of its size: nanoseconds per row.
 *
 *     bench_sort [max_rows]
 *
 * prints JSON: medians of five turns.  The peer turns a score into 64 bits of the same order, keeps
 * the first 22 of those in which the list differs (33 from 32768 rows on) in one word with the
 * row's number, distributes the words by 11 bits at a time, the lowest first, and ends by
 * insertion.  The two must give the same order. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/core.h>

#include "bags/sort.h"
#include "base/large.h"
#include "base/parallel.h"
#include "shapes.h"

enum { TURNS = 5, DIGIT = 11, DIGITS = 1 << DIGIT, MOST_TASKS = 16, TASK_ROWS = 65536, AHEAD = 16 };

/* ---- The peer -------------------------------------------------------------------------------- */

typedef struct {
    const double *value;
    size_t n, n_tasks;
    uint64_t *word, *other; /* a step moves the words from one to the other */
    double *sorted;
    size_t *row;
    uint64_t least, most[MOST_TASKS], lowest[MOST_TASKS];
    int row_bits, drop, at;  /* bits: of a row's number; of a key, left out; where a digit begins */
    bool first;              /* step: words are made from the values */
    size_t (*place)[DIGITS]; /* by task and digit */
} radix;

static uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits ^ ((0 - (bits >> 63)) | UINT64_C(1) << 63);
}

static size_t begin(const radix *r, size_t task)
{
    return r->n / r->n_tasks * task + (task == r->n_tasks ? r->n % r->n_tasks : 0);
}

static void survey(void *context, size_t task, int worker)
{
    radix *r = context;
    uint64_t low = UINT64_MAX, high = 0;
    (void)worker;
    for (size_t i = begin(r, task); i < begin(r, task + 1); i++) {
        uint64_t key = key_of(r->value[i]);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    r->lowest[task] = low;
    r->most[task] = high;
}

static uint64_t word_at(const radix *r, size_t i)
{
    return r->first ? (key_of(r->value[i]) - r->least) >> r->drop << r->row_bits | i : r->word[i];
}

static void count(void *context, size_t task, int worker)
{
    radix *r = context;
    size_t *place = r->place[task];
    (void)worker;
    memset(place, 0, sizeof *r->place);
    for (size_t i = begin(r, task), end = begin(r, task + 1); i < end; i++)
        place[word_at(r, i) >> r->at & (DIGITS - 1)]++;
}

static void move(void *context, size_t task, int worker)
{
    radix *r = context;
    size_t *place = r->place[task];
    uint64_t *restrict to = r->other;
    (void)worker;
    for (size_t i = begin(r, task), end = begin(r, task + 1); i < end; i++) {
        uint64_t word = word_at(r, i);
        to[place[word >> r->at & (DIGITS - 1)]++] = word;
    }
}

static void fetch(void *context, size_t task, int worker)
{
    radix *r = context;
    const uint64_t mask = (UINT64_C(1) << r->row_bits) - 1;
    (void)worker;
    for (size_t i = begin(r, task), end = begin(r, task + 1); i < end; i++) {
        if (i + AHEAD < end)
            __builtin_prefetch(r->value + (r->word[i + AHEAD] & mask));
        r->row[i] = r->word[i] & mask;
        r->sorted[i] = r->value[r->row[i]];
    }
}

static void insert_all(radix *r)
{
    for (size_t i = 1; i < r->n; i++) {
        double value = r->sorted[i];
        size_t row = r->row[i], j = i;
        for (; j > 0 && r->sorted[j - 1] > value; j--) {
            r->sorted[j] = r->sorted[j - 1];
            r->row[j] = r->row[j - 1];
        }
        r->sorted[j] = value;
        r->row[j] = row;
    }
}

static void step(radix *r, int threads)
{
    size_t next = 0;
    pboost_parallel(r->n_tasks, threads, count, r);
    for (size_t d = 0; d < DIGITS; d++)
        for (size_t t = 0; t < r->n_tasks; t++) {
            size_t here = r->place[t][d];
            r->place[t][d] = next;
            next += here;
        }
    pboost_parallel(r->n_tasks, threads, move, r);
    uint64_t *swap = r->word;
    r->word = r->other;
    r->other = swap;
    r->first = false;
}

static void radix_sort(radix *r, int threads)
{
    uint64_t high = 0;
    int digits = r->n < 32768 ? 2 : 3, used = 0;
    r->n_tasks = threads == 1 ? 1 : r->n / TASK_ROWS + 1;
    r->n_tasks = r->n_tasks < MOST_TASKS ? r->n_tasks : MOST_TASKS;
    pboost_parallel(r->n_tasks, threads, survey, r);
    r->least = UINT64_MAX;
    for (size_t t = 0; t < r->n_tasks; t++) {
        r->least = r->lowest[t] < r->least ? r->lowest[t] : r->least;
        high = r->most[t] > high ? r->most[t] : high;
    }
    while (used < 64 && (high - r->least) >> used > 0)
        used++;
    for (r->row_bits = 1; r->n >> r->row_bits > 0;)
        r->row_bits++;
    r->drop = used > digits * DIGIT ? used - digits * DIGIT : 0;
    r->first = true;
    for (int d = 0; d < digits; d++) {
        r->at = r->row_bits + d * DIGIT;
        step(r, threads);
    }
    pboost_parallel(r->n_tasks, threads, fetch, r);
    insert_all(r);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians of both; false: out of memory, or they do not agree. */
static bool compare(double out[2], const double *value, size_t n, int threads)
{
    double *sorted = pboost_alloc_large(n, sizeof *sorted), took[2][TURNS];
    size_t *row = pboost_alloc_large(n, sizeof *row), repeats = 1 + 1000000 / n;
    radix r = {.value = value,
               .n = n,
               .word = pboost_alloc_large(n, sizeof *r.word),
               .other = pboost_alloc_large(n, sizeof *r.other),
               .sorted = pboost_alloc_large(n, sizeof *r.sorted),
               .row = pboost_alloc_large(n, sizeof *r.row),
               .place = malloc(MOST_TASKS * sizeof *r.place)};
    bool good = sorted && row && r.word && r.other && r.sorted && r.row && r.place;
    pboost_workspace work = {0};

    for (int turn = 0; good && turn < TURNS; turn++) {
        double start = now();
        for (size_t i = 0; i < repeats; i++)
            good = good && !pboost_sort_doubles(row, sorted, value, n, threads, &work, NULL);
        double middle = now();
        for (size_t i = 0; i < repeats; i++)
            radix_sort(&r, threads);
        took[0][turn] = middle - start;
        took[1][turn] = now() - middle;
        good = good && memcmp(row, r.row, n * sizeof *row) == 0;
    }
    for (int side = 0; good && side < 2; side++) {
        qsort(took[side], TURNS, sizeof **took, by_value);
        out[side] = 1e9 * took[side][TURNS / 2] / (double)(repeats * n);
    }
    pboost_workspace_free(&work);
    free(sorted);
    free(row);
    free(r.word);
    free(r.other);
    free(r.sorted);
    free(r.row);
    free(r.place);
    return good;
}

int main(int argc, char **argv)
{
    static const size_t SIZES[] = {4096, 10000, 100000, 1000000, 10000000};
    size_t max_rows = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 10000000;
    const char *comma = "[";

    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES && SIZES[i] <= max_rows; i++) {
            size_t n = SIZES[i];
            double *value = pboost_alloc_large(n, sizeof *value), took[2];
            for (size_t row = 0; value != NULL && row < n; row++)
                value[row] = SHAPES[s].draw();
            for (int threads = 1; threads <= (n < 100000 ? 1 : 2); threads++) {
                if (value == NULL || !compare(took, value, n, threads))
                    return 1;
                printf("%s\n  {\"shape\": \"%s\", \"n\": %zu, \"threads\": %d, \"ours\": %.2f, "
                       "\"radix\": %.2f, \"radix_over_ours\": %.2f}",
                       comma, SHAPES[s].name, n, threads, took[0], took[1], took[1] / took[0]);
                fflush(stdout);
                comma = ",";
            }
            free(value);
        }
    printf("\n]\n");
    return 0;
}
