/* Our sort of scores, and optimal bags, which begin with it, against other sorts of the same scores
 * with their rows: nanoseconds per row.
 *
 *     bench_sort [max_rows [shape]]
 *
 * prints JSON: the least of several turns.  One peer is vqsort of the Highway library, on pairs of
 * a key and a row (null where it was not built in); its time includes making the pairs and taking
 * them apart.  The other is a plain radix sort, a tenth of the size of ours.  It turns a score into
 * 64 bits of the same order, keeps the first 22 of those in which the list differs (33 from 32768
 * rows on) in one word with the row's number, distributes the words by 11 bits at a time, the
 * lowest first, and ends by insertion.  All must give the same order. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/trainer.h>

#include "bags/bags.h"
#include "bags/sort.h"
#include "base/parallel.h"
#include "large.h"
#include "shapes.h"

enum { TURNS = 9, DIGIT = 11, DIGITS = 1 << DIGIT, MOST_TASKS = 16, TASK_ROWS = 65536, AHEAD = 16 };

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

typedef struct {
    uint64_t row, key;
} pair;

#ifdef BENCH_VQSORT
void bench_vqsort(void *pairs, size_t n);
static const bool HAS_VQSORT = true;
#else
static const bool HAS_VQSORT = false;
static void bench_vqsort(void *pairs, size_t n)
{
    (void)pairs, (void)n;
}
#endif

typedef struct {
    const double *value;
    size_t n;
    int threads;
    double *sorted;
    size_t *row;
    pair *pairs;
    radix radix;
    pboost_bags bags;
    const size_t *order; /* what the last run found */
    pboost_workspace work;
} list;

static bool run_ours(list *l)
{
    l->order = l->row;
    return !pboost_sort_doubles(l->row, l->sorted, l->value, l->n, l->threads, &l->work, NULL);
}

static bool run_radix(list *l)
{
    radix_sort(&l->radix, l->threads);
    l->order = l->radix.row;
    return true;
}

/* One thread: it has no other way. */
static bool run_vqsort(list *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->pairs[i] = (pair){i, key_of(l->value[i])};
    bench_vqsort(l->pairs, l->n);
    for (size_t i = 0; i < l->n; i++) {
        l->row[i] = l->pairs[i].row;
        l->sorted[i] = l->value[l->row[i]];
    }
    l->order = l->row;
    return true;
}

/* In memory that is kept, as a round of training and the sorts above have it. */
static bool run_bags(list *l, size_t k)
{
    pboost_bags_release(&l->work, &l->bags);
    bool good = !pboost_bags_optimal_in(&l->work, &l->bags, l->value, l->n, k, l->threads, NULL);
    l->order = l->bags.row;
    return good;
}

/* A single call: each page of its memory is new. */
static bool run_bags_once(list *l)
{
    pboost_bags_release(&l->work, &l->bags);
    bool good = !pboost_bags_optimal(&l->bags, l->value, l->n, 8, l->threads, NULL);
    l->order = l->bags.row;
    return good;
}

static bool run_bags_8(list *l)
{
    return run_bags(l, 8);
}

static bool run_bags_64(list *l)
{
    return run_bags(l, 64);
}

static const struct {
    const char *name;
    bool (*run)(list *l);
} SIDES[] = {{"ours", run_ours},     {"radix", run_radix},     {"vqsort", run_vqsort},
             {"bags_8", run_bags_8}, {"bags_64", run_bags_64}, {"bags_8_once", run_bags_once}};
enum { N_SIDES = sizeof SIDES / sizeof *SIDES, OF_VQSORT = 2 };

static bool is_left_out(int side, int threads)
{
    return side == OF_VQSORT && (!HAS_VQSORT || threads > 1);
}

/* Of one thread processor time, to which the waiting on a busy machine does not count. */
static double seconds(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of all; false: out of memory, or they do not agree. */
static bool compare(double out[N_SIDES], list *l)
{
    size_t repeats = 1 + 100000 / l->n;
    size_t *expected = malloc(l->n * sizeof *expected);
    bool good = expected != NULL && run_ours(l);

    if (good)
        memcpy(expected, l->row, l->n * sizeof *expected);
    for (int turn = 0; good && turn < TURNS; turn++)
        for (int side = 0; good && side < N_SIDES; side++) {
            if (is_left_out(side, l->threads))
                continue;
            double start = seconds(l->threads);
            for (size_t i = 0; i < repeats; i++)
                good = good && SIDES[side].run(l);
            double took = 1e9 * (seconds(l->threads) - start) / (double)(repeats * l->n);
            out[side] = turn == 0 || took < out[side] ? took : out[side];
            good = good && memcmp(l->order, expected, l->n * sizeof *expected) == 0;
        }
    free(expected);
    return good;
}

static bool list_make(list *l, double (*draw)(void), size_t n)
{
    double *value = pboost_alloc_large(n, sizeof *value);
    *l = (list){.value = value,
                .n = n,
                .sorted = pboost_alloc_large(n, sizeof *l->sorted),
                .row = pboost_alloc_large(n, sizeof *l->row),
                .pairs = pboost_alloc_large(n, sizeof *l->pairs)};
    l->radix = (radix){.value = value,
                       .n = n,
                       .word = pboost_alloc_large(n, sizeof *l->radix.word),
                       .other = pboost_alloc_large(n, sizeof *l->radix.other),
                       .sorted = pboost_alloc_large(n, sizeof *l->radix.sorted),
                       .row = pboost_alloc_large(n, sizeof *l->radix.row),
                       .place = malloc(MOST_TASKS * sizeof *l->radix.place)};
    for (size_t i = 0; value != NULL && i < n; i++)
        value[i] = draw();
    return value && l->sorted && l->row && l->pairs && l->radix.word && l->radix.other &&
           l->radix.sorted && l->radix.row && l->radix.place;
}

static void list_free(list *l)
{
    pboost_bags_release(&l->work, &l->bags);
    pboost_workspace_free(&l->work);
    free((void *)(uintptr_t)l->value);
    free(l->sorted);
    free(l->row);
    free(l->pairs);
    free(l->radix.word);
    free(l->radix.other);
    free(l->radix.sorted);
    free(l->radix.row);
    free(l->radix.place);
}

static void print_row(const char *comma, const char *shape, const list *l,
                      const double took[N_SIDES])
{
    printf("%s\n  {\"shape\": \"%s\", \"n\": %zu, \"threads\": %d", comma, shape, l->n, l->threads);
    for (int side = 0; side < N_SIDES; side++)
        if (is_left_out(side, l->threads))
            printf(", \"%s\": null", SIDES[side].name);
        else
            printf(", \"%s\": %.2f", SIDES[side].name, took[side]);
    printf("}");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t SIZES[] = {4096, 10000, 100000, 1000000, 10000000};
    size_t max_rows = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 10000000;
    const char *comma = "[", *shape = argc > 2 ? argv[2] : NULL;

    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES && SIZES[i] <= max_rows; i++) {
            list l;
            double took[N_SIDES];
            if (shape != NULL && strcmp(shape, SHAPES[s].name) != 0)
                continue;
            if (!list_make(&l, SHAPES[s].draw, SIZES[i]))
                return 1;
            for (l.threads = 1; l.threads <= (l.n < 100000 ? 1 : 2); l.threads++) {
                if (!compare(took, &l))
                    return 1;
                print_row(comma, SHAPES[s].name, &l, took);
                comma = ",";
            }
            list_free(&l);
        }
    printf("\n]\n");
    return 0;
}
