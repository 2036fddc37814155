/* One aggregate fit on bags from features, against the bandwidth of its passes.
 *
 *     bench_aggregate [max_rows]
 *
 * prints JSON: the least processor time of several fits on one thread, the number of passes over
 * the table, and what this machine needs in the same run to read the table once, and to copy its
 * rows once in the order of the bags, which is how a fit begins: rows of a bag are anywhere in the
 * table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/priorboost.h>

#include "kernels/glm.h"
#include "shapes.h"

enum { BAG = 16, TURNS = 5, AHEAD = 12 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(pboost_status st, const pboost_error *err)
{
    if (st == PBOOST_OK)
        return;
    fprintf(stderr, "bench_aggregate: %s\n", err->message);
    exit(1);
}

static double *draw_table(double **label, pboost_family family, size_t n, size_t d)
{
    double *x = malloc(n * d * sizeof *x), *y = malloc(n * sizeof *y);
    if (x == NULL || y == NULL)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < d; j++) {
            x[i * d + j] = gaussian();
            eta += x[i * d + j] / sqrt((double)d);
        }
        y[i] = family == PBOOST_LINEAR ? eta + gaussian() : uniform() < 1.0 / (1.0 + exp(-eta));
    }
    *label = y;
    return x;
}

static pboost_answers *ask(const pboost_matrix *x, const double *label)
{
    pboost_error err;
    pboost_bags bags;
    pboost_answers *answers;
    pboost_memory_oracle *oracle;
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_samples s = {.x = x, .n = x->rows};

    rules.min_bag = BAG;
    need(pboost_bags_features(&bags, &s, BAG, 0, NULL, &err), &err);
    need(pboost_memory_oracle_create(&oracle, label, x->rows, &rules, NULL, &err), &err);
    const pboost_oracle interface = pboost_memory_oracle_interface(oracle);
    need(pboost_answers_create(&answers, &err), &err);
    need(pboost_answers_ask(answers, &interface, &bags, &err), &err);
    pboost_memory_oracle_free(oracle);
    pboost_bags_free(&bags);
    return answers;
}

/* The least time in which the table is read once. */
static double read_seconds(const double *x, size_t values)
{
    double least = INFINITY;
    volatile double sum = 0.0;
    for (int turn = 0; turn < TURNS; turn++) {
        double from = cpu_seconds();
        sum = pboost_glm_kernels()->sum(x, values);
        least = fmin(least, cpu_seconds() - from);
    }
    return isfinite(sum) ? least : NAN;
}

/* The least time in which the rows are put side by side in the order of the bags, in memory that
 * was used before. */
static double gather_seconds(const double *x, size_t d, const pboost_bags *bags)
{
    double least = INFINITY, *copy = malloc(bags->n_rows * d * sizeof *copy);
    if (copy == NULL)
        exit(1);
    for (int turn = 0; turn < TURNS; turn++) {
        double from = cpu_seconds();
        for (size_t i = 0; i < bags->n_rows; i++) {
            size_t ahead = i + AHEAD < bags->n_rows ? i + AHEAD : i;
            for (size_t j = 0; j < d; j += 8)
                __builtin_prefetch(x + bags->row[ahead] * d + j);
            memcpy(copy + i * d, x + bags->row[i] * d, d * sizeof *copy);
        }
        least = fmin(least, cpu_seconds() - from);
    }
    least = isfinite(copy[bags->n_rows * d - 1]) ? least : NAN; /* so that copies are made */
    free(copy);
    return least;
}

static void run(const char *comma, pboost_family family, size_t n, size_t d)
{
    pboost_error err;
    pboost_fit_report report = {0};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    double *label, *x = draw_table(&label, family, n, d), least = INFINITY;
    pboost_matrix matrix = pboost_matrix_f64(x, n, d);
    const pboost_features features = {.x = matrix};
    pboost_answers *answers = ask(&matrix, label);
    pboost_coef coef;

    o.family = family;
    o.estimator = PBOOST_AGGREGATE;
    o.l2 = pboost_l2_fixed(1.0);
    o.threads = 1;
    for (int turn = 0; turn < TURNS; turn++) {
        need(pboost_coef_init(&coef, d, &err), &err);
        double from = cpu_seconds();
        need(pboost_answers_fit(&coef, &report, NULL, &features, answers, 0, &o, &err), &err);
        least = fmin(least, cpu_seconds() - from);
        pboost_coef_free(&coef);
    }
    double once = read_seconds(x, n * d), passes = (double)report.iterations + 1.0;
    pboost_bags bags = pboost_answers_bags(answers);
    double gather = gather_seconds(x, d, &bags);
    printf("%s\n  {\"family\": \"%s\", \"rows\": %zu, \"cols\": %zu, \"k\": %d, \"seconds\": %.4g, "
           "\"passes\": %.0f, \"read\": %.4g, \"gather\": %.4g, \"gb_per_second\": %.3g, "
           "\"over_limit\": %.3g}",
           comma, pboost_family_name(family), n, d, (int)BAG, least, passes, once, gather,
           (double)(n * d) * 8e-9 / once, least / (gather + passes * once));
    fflush(stdout);
    pboost_answers_free(answers);
    free(x);
    free(label);
}

int main(int argc, char **argv)
{
    static const size_t COLS[] = {8, 32};
    size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    const char *comma = "[";

    for (size_t i = 0; i < sizeof COLS / sizeof *COLS; i++)
        for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_LOGISTIC; family++) {
            run(comma, family, n / (COLS[i] / 8), COLS[i]);
            comma = ",";
        }
    printf("\n]\n");
    return 0;
}
