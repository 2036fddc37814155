/* Bags from features: how long they take, and how much of the information of all labels they keep.
 * bench_tree [ROWS [COLS [K [THREADS]]]] prints one JSON object for normal features and one for a
 * mixture of normal, heavy-tailed, correlated and rare 0/1 columns.  `error` is tr I^-1 (slopes of
 * a linear model) relative to that with every label. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <priorboost/plan.h>
#include <priorboost/theory.h>
#include <priorboost/trainer.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double mixed_column(size_t kind, double normal, double other)
{
    switch (kind) {
    case 1:
        return exp(normal);
    case 2:
        return normal > 2.3 ? 1.0 : 0.0; /* one row in a hundred */
    case 3:
        return 0.9 * other + 0.4 * normal;
    case 4:
        return normal > 0.0 ? 1.0 : 0.0;
    default:
        return normal;
    }
}

/* The sum of the inverse's diagonal over the slopes, by elimination. */
static double trace_of_inverse(double *a, size_t n)
{
    double *b = calloc(n * n, sizeof *b), trace = 0.0;
    for (size_t i = 0; i < n; i++)
        b[i * n + i] = 1.0;
    for (size_t p = 0; p < n; p++) {
        double pivot = a[p * n + p];
        for (size_t j = 0; j < n; j++) {
            a[p * n + j] /= pivot;
            b[p * n + j] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + p];
            for (size_t j = 0; i != p && j < n; j++) {
                a[i * n + j] -= factor * a[p * n + j];
                b[i * n + j] -= factor * b[p * n + j];
            }
        }
    }
    for (size_t i = 0; i + 1 < n; i++)
        trace += b[i * n + i];
    free(b);
    return trace;
}

static double error_of(const pboost_samples *s, const pboost_bags *bags)
{
    size_t m = s->x->cols + 1;
    double *information = calloc(m * m, sizeof *information);
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_coef coef;
    pboost_coef_init(&coef, s->x->cols, NULL);
    pboost_information(information, PBOOST_LINEAR, s, bags, &rules, &coef, 1.0, true, 0, NULL);
    double error = trace_of_inverse(information, m);
    pboost_coef_free(&coef);
    free(information);
    return error;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20;
    size_t d = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
    size_t k = argc > 3 ? strtoul(argv[3], NULL, 10) : 16;
    int threads = argc > 4 ? atoi(argv[4]) : 1;
    double *x = malloc(n * d * sizeof *x), *y = malloc(n * sizeof *y);
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    double *theta = calloc(d, sizeof *theta);
    pboost_error err = {0};
    s.features = d;
    for (int mixed = 0; mixed < 2; mixed++) {
        if (pboost_synthetic_rows(x, y, &s, theta, 0, 0, n, 0, &err) != PBOOST_OK)
            break;
        for (size_t i = 0; mixed && i < n; i++)
            for (size_t j = d; j-- > 0;)
                x[i * d + j] = mixed_column(j % 5, x[i * d + j], x[i * d + (j > 0 ? j - 1 : 0)]);
        pboost_matrix matrix = pboost_matrix_f64(x, n, d);
        pboost_samples samples = {.x = &matrix, .n = n};
        pboost_bags bags, single;
        double began = seconds();
        if (pboost_bags_features(&bags, &samples, k, threads, NULL, &err) != PBOOST_OK)
            break;
        double took = seconds() - began;
        if (pboost_bags_random(&single, n, 1, 0, &err) != PBOOST_OK)
            break;
        printf("{\"features\": \"%s\", \"rows\": %zu, \"cols\": %zu, \"k\": %zu, \"threads\": %d, "
               "\"seconds\": %.3f, \"error\": %.4f}\n",
               mixed ? "mixed" : "normal", n, d, k, threads, took,
               error_of(&samples, &bags) / error_of(&samples, &single));
        fflush(stdout);
        pboost_bags_free(&bags);
        pboost_bags_free(&single);
    }
    if (err.message[0] != '\0')
        fprintf(stderr, "%s\n", err.message);
    free(x);
    free(y);
    free(theta);
    return err.message[0] != '\0';
}
