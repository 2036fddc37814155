/* How long one pass over a table takes, as JSON: for value and gradient, with the Hessian, and with
 * that of an eighth of the rows.  What a fit takes is a few of these.
 *
 *     bench_pass [max_values]      the best of several passes of each kind, one thread, logistic */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "large.h"
#include "passes/row_pass.h"

static const struct {
    size_t rows, cols;
    int repeats;
} CASES[] = {{4096, 8, 200}, {1000000, 8, 7}, {1000000, 64, 5}, {200000, 512, 3}};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Small numbers of either sign. */
static void fill(double *x, size_t n)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
}

static bool time_passes(double *best, const pboost_samples *samples, size_t stride, bool gram,
                        int repeats)
{
    pass_plan plan = {0};
    double *theta = calloc(samples->x->cols + PANEL_LANES, sizeof *theta);
    bool ok =
        theta != NULL && pboost_pass_init_part(&plan, samples, pboost_family_info(PBOOST_LOGISTIC),
                                               stride, NULL, 1, NULL, NULL) == PBOOST_OK;
    *best = INFINITY;
    for (int r = 0; ok && r < repeats; r++) {
        double from = now();
        pboost_pass_run(&plan, theta, 0.0, gram);
        *best = fmin(*best, now() - from);
    }
    pboost_pass_free(&plan);
    free(theta);
    return ok;
}

int main(int argc, char **argv)
{
    size_t max_values = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : SIZE_MAX;
    const char *comma = "";
    printf("[");
    for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
        size_t rows = CASES[c].rows, cols = CASES[c].cols;
        int repeats = CASES[c].repeats;
        if (rows * cols > max_values)
            continue;
        double *x = pboost_alloc_large(rows * cols, sizeof *x), gradient, gram, part;
        double *y = pboost_alloc_large(rows, sizeof *y);
        if (x == NULL || y == NULL)
            return 1;
        fill(x, rows * cols);
        for (size_t i = 0; i < rows; i++)
            y[i] = (double)(i % 2);
        pboost_matrix matrix = pboost_matrix_f64(x, rows, cols);
        pboost_samples samples = {.x = &matrix, .n = rows, .target = y};
        if (!time_passes(&gradient, &samples, 1, false, repeats) ||
            !time_passes(&gram, &samples, 1, true, cols > 100 ? 1 : repeats) ||
            !time_passes(&part, &samples, 8, true, repeats))
            return 1;
        printf("%s\n  {\"rows\": %zu, \"cols\": %zu, \"gradient\": %.4g, \"gram\": %.4g, "
               "\"part\": %.4g}",
               comma, rows, cols, gradient, gram, part);
        fflush(stdout);
        comma = ",";
        free(x);
        free(y);
    }
    printf("\n]\n");
    return 0;
}
