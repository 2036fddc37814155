/* How long optimal bags take: nanoseconds per row, sort and partition apart.
 *
 *     bench_bags [max_rows]      prints JSON; the best of several runs of each case */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <priorboost/core.h>

#include "partition.h"
#include "sort.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;

static double uniform(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double logistic(void)
{
    return 1 / (1 + exp(-3 * gaussian()));
}

static double cauchy(void)
{
    return tan(3.141592653589793 * (uniform() - 0.5));
}

/* As many levels as a few categorical features give. */
static double levels(void)
{
    return floor(100 * uniform());
}

static double ordered(void)
{
    static double last;
    return last += uniform();
}

static const struct {
    const char *name;
    double (*draw)(void);
} SHAPES[] = {{"gaussian", gaussian},
              {"logistic", logistic},
              {"cauchy", cauchy},
              {"levels", levels},
              {"sorted", ordered}};

typedef struct {
    double whole, sort, partition;
} seconds;

static void keep_least(double *least, double value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

static int run(seconds *best, const double *score, size_t n, size_t k, int threads)
{
    int ok = 0;
    pboost_bags bags = {0};
    double *sorted = malloc(n * sizeof *sorted);
    size_t *row = malloc(n * sizeof *row), *start = malloc((n / k + 1) * sizeof *start), n_bags;
    if (sorted == NULL || row == NULL || start == NULL)
        goto done;
    double t0 = now();
    if (pboost_bags_optimal(&bags, score, n, k, threads, NULL) != PBOOST_OK)
        goto done;
    double t1 = now();
    if (pboost_sort_doubles(row, sorted, score, n, threads, NULL, NULL) != PBOOST_OK)
        goto done;
    double t2 = now();
    if (pboost_partition(start, &n_bags, sorted, n, k, threads, NULL, NULL) != PBOOST_OK)
        goto done;
    double t3 = now();
    keep_least(&best->whole, t1 - t0);
    keep_least(&best->sort, t2 - t1);
    keep_least(&best->partition, t3 - t2);
    ok = 1;
done:
    pboost_bags_free(&bags);
    free(sorted);
    free(row);
    free(start);
    return ok;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4096, 1000000, 10000000};
    static const size_t ks[] = {2, 8, 16, 64, 1024};
    size_t max_rows = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 10000000;
    const char *comma = "";

    printf("[");
    for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n = sizes[i];
            if (n > max_rows || (s > 0 && n == 10000000))
                continue;
            double *score = malloc(n * sizeof *score);
            if (score == NULL)
                return 1;
            for (size_t r = 0; r < n; r++)
                score[r] = SHAPES[s].draw();
            for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
                for (int threads = 1; threads <= 2; threads++) {
                    seconds best = {0};
                    int repeats = n < 100000 ? 200 : n < 5000000 ? 7 : 3;
                    if (n < 100000 && threads > 1)
                        continue;
                    for (int r = 0; r < repeats; r++)
                        if (!run(&best, score, n, ks[j], threads))
                            return 1;
                    double per_row = 1e9 / (double)n;
                    printf("%s\n  {\"shape\": \"%s\", \"n\": %zu, \"k\": %zu, \"threads\": %d, "
                           "\"ns_per_row\": %.2f, \"sort\": %.2f, \"partition\": %.2f}",
                           comma, SHAPES[s].name, n, ks[j], threads, best.whole * per_row,
                           best.sort * per_row, best.partition * per_row);
                    fflush(stdout);
                    comma = ",";
                }
            free(score);
        }
    printf("\n]\n");
    return 0;
}
