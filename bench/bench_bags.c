/* How long optimal bags take: nanoseconds per row; and separately the sort, the partition, and
 * fresh memory from the system for the answer and the sorted scores.
 *
 *     bench_bags [max_rows [shape [threads]]]
 *
 * prints JSON: the best of several runs of each case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/trainer.h>

#include "bags/partition.h"
#include "bags/sort.h"
#include "large.h"
#include "shapes.h"

typedef struct {
    double whole, sort, partition, memory;
} seconds;

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

/* Sort and partition on their own write to memory that has been written to before. */
typedef struct {
    double *sorted;
    size_t *row, *start;
} room;

static bool touch(size_t n, size_t size)
{
    char *memory = pboost_alloc_large(n, size);
    if (memory == NULL)
        return false;
    for (size_t i = 0; i < n * size; i += 4096)
        *(volatile char *)(memory + i) = 1;
    free(memory);
    return true;
}

static bool run(seconds *best, const room *r, const double *score, size_t n, size_t k, int threads)
{
    pboost_bags bags = {0};
    size_t n_bags;
    double t0 = now();
    if (pboost_bags_optimal(&bags, score, n, k, threads, NULL) != PBOOST_OK)
        return false;
    double t1 = now();
    pboost_bags_free(&bags);
    double t2 = now();
    if (pboost_sort_doubles(r->row, r->sorted, score, n, threads, NULL, NULL) != PBOOST_OK)
        return false;
    double t3 = now();
    if (pboost_partition(r->start, &n_bags, r->sorted, n, k, threads, NULL, NULL) != PBOOST_OK)
        return false;
    double t4 = now();
    if (!touch(n, sizeof *r->row) || !touch(n, sizeof *r->sorted) ||
        !touch(n / k + 1, sizeof *r->start))
        return false;
    double t5 = now();
    keep_least(&best->whole, t1 - t0);
    keep_least(&best->sort, t3 - t2);
    keep_least(&best->partition, t4 - t3);
    keep_least(&best->memory, t5 - t4);
    return true;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4096, 1000000, 10000000};
    static const size_t ks[] = {2, 8, 16, 64, 1024};
    size_t max_rows = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 10000000;
    const char *shape = argc > 2 ? argv[2] : NULL;
    int most_threads = argc > 3 ? atoi(argv[3]) : 2;
    const char *comma = "";

    printf("[");
    for (size_t s = 0; s < N_SHAPES; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n = sizes[i];
            if (n > max_rows || (s > 0 && n == 10000000) ||
                (shape != NULL && strcmp(shape, SHAPES[s].name) != 0))
                continue;
            double *score = pboost_alloc_large(n, sizeof *score);
            room r = {pboost_alloc_large(n, sizeof *r.sorted), pboost_alloc_large(n, sizeof *r.row),
                      pboost_alloc_large(pboost_partition_room(n, 2), sizeof *r.start)};
            if (score == NULL || r.sorted == NULL || r.row == NULL || r.start == NULL)
                return 1;
            for (size_t row = 0; row < n; row++)
                score[row] = SHAPES[s].draw();
            for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
                for (int threads = 1; threads <= most_threads; threads++) {
                    seconds best = {0};
                    int repeats = n < 100000 ? 200 : n < 5000000 ? 7 : 3;
                    if (n < 100000 && threads > 1)
                        continue;
                    for (int repeat = 0; repeat < repeats; repeat++)
                        if (!run(&best, &r, score, n, ks[j], threads))
                            return 1;
                    double per_row = 1e9 / (double)n;
                    printf("%s\n  {\"shape\": \"%s\", \"n\": %zu, \"k\": %zu, \"threads\": %d, "
                           "\"ns_per_row\": %.2f, \"sort\": %.2f, \"partition\": %.2f, "
                           "\"memory\": %.2f}",
                           comma, SHAPES[s].name, n, ks[j], threads, best.whole * per_row,
                           best.sort * per_row, best.partition * per_row, best.memory * per_row);
                    fflush(stdout);
                    comma = ",";
                }
            free(score);
            free(r.sorted);
            free(r.row);
            free(r.start);
        }
    printf("\n]\n");
    return 0;
}
