/* How long fits and losses take, as JSON: milliseconds per case, the best of a few repetitions;
 * cpu_ms is processor time, which other programs on the machine disturb less. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <priorboost/predict.h>
#include <priorboost/trainer.h>

typedef struct {
    pboost_family family;
    size_t rows, cols;
    double correlation; /* of every column with a common factor */
    bool warm;          /* start from a fit of other rows of the same kind */
    int repetitions;
} fit_case;

static const fit_case CASES[] = {
    {PBOOST_LOGISTIC, 4096, 8, 0.0, false, 200},   {PBOOST_LOGISTIC, 4096, 8, 0.0, true, 200},
    {PBOOST_LINEAR, 4096, 8, 0.0, true, 200},      {PBOOST_POISSON, 4096, 8, 0.0, true, 200},
    {PBOOST_LOGISTIC, 1000000, 8, 0.0, false, 5},  {PBOOST_POISSON, 1000000, 8, 0.0, false, 5},
    {PBOOST_LINEAR, 1000000, 8, 0.0, false, 5},    {PBOOST_LOGISTIC, 1000000, 64, 0.0, false, 3},
    {PBOOST_LOGISTIC, 1000000, 64, 0.9, false, 3}, {PBOOST_LINEAR, 1000000, 64, 0.0, false, 3},
    {PBOOST_POISSON, 1000000, 64, 0.0, false, 3},  {PBOOST_LOGISTIC, 200000, 512, 0.0, false, 2},
};

static uint64_t state = 1;

static double uniform(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* Nearly normal, and cheap. */
static double normal(void)
{
    return (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7320508;
}

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void fill(double *x, double *y, const fit_case *c, const double *theta)
{
    for (size_t i = 0; i < c->rows; i++) {
        double eta = 0.0, common = c->correlation * normal();
        double own = sqrt(1.0 - c->correlation * c->correlation);
        for (size_t j = 0; j < c->cols; j++) {
            double v = common + own * normal();
            x[i * c->cols + j] = v;
            eta += v * theta[j];
        }
        if (c->family == PBOOST_LINEAR)
            y[i] = eta + normal();
        else if (c->family == PBOOST_LOGISTIC)
            y[i] = uniform() < 1.0 / (1.0 + exp(-eta));
        else
            y[i] = floor(exp(eta) + uniform());
    }
}

static void run(const fit_case *c, int threads, const char *separator)
{
    double *x = malloc(c->rows * c->cols * sizeof *x), *y = malloc(c->rows * sizeof *y);
    double *theta = malloc(c->cols * sizeof *theta), best = INFINITY, cpu = INFINITY;
    pboost_coef start, coef;
    pboost_fit_report report = {0};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    pboost_error err = {0};
    if (x == NULL || y == NULL || theta == NULL ||
        pboost_coef_init(&start, c->cols, &err) != PBOOST_OK ||
        pboost_coef_init(&coef, c->cols, &err) != PBOOST_OK)
        exit(1);
    state = 1;
    for (size_t j = 0; j < c->cols; j++)
        theta[j] = normal() / sqrt((double)c->cols);
    pboost_matrix matrix = pboost_matrix_f64(x, c->rows, c->cols);
    pboost_samples samples = {.x = &matrix, .n = c->rows, .target = y};
    o.family = c->family;
    o.l2 = pboost_l2_fixed(10.0);
    o.threads = threads;
    fill(x, y, c, theta);
    if (c->warm) {
        pboost_event_fit(&start, NULL, &samples, &o, &err);
        fill(x, y, c, theta);
    }
    for (int r = 0; r < c->repetitions; r++) {
        memcpy(coef.theta, start.theta, c->cols * sizeof *coef.theta);
        coef.intercept = start.intercept;
        double from = clock_ms(CLOCK_MONOTONIC), cpu_from = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        if (pboost_event_fit(&coef, &report, &samples, &o, &err) != PBOOST_OK)
            fprintf(stderr, "%s\n", err.message);
        best = fmin(best, clock_ms(CLOCK_MONOTONIC) - from);
        cpu = fmin(cpu, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_from);
    }
    printf("%s\n  {\"case\": \"fit\", \"family\": \"%s\", \"rows\": %zu, \"cols\": %zu, "
           "\"correlation\": %g, \"warm\": %s, \"threads\": %d, \"ms\": %.4g, \"cpu_ms\": %.4g, "
           "\"iterations\": %zu, "
           "\"converged\": %s, \"gradient\": %.2g}",
           separator, pboost_family_name(c->family), c->rows, c->cols, c->correlation,
           c->warm ? "true" : "false", threads, best, cpu, report.iterations,
           report.converged ? "true" : "false", report.gradient_norm);
    fflush(stdout);
    pboost_coef_free(&start);
    pboost_coef_free(&coef);
    free(x);
    free(y);
    free(theta);
}

static void run_losses(pboost_family family, int threads)
{
    enum { MODELS = 256 };
    fit_case c = {family, (size_t)1 << 20, 8, 0.0, false, 3};
    double *x = malloc(c.rows * c.cols * sizeof *x), *y = malloc(c.rows * sizeof *y);
    double theta[8], loss[MODELS], best = INFINITY, cpu = INFINITY;
    pboost_coef coef[MODELS];
    pboost_error err = {0};
    if (x == NULL || y == NULL)
        exit(1);
    state = 1;
    for (size_t j = 0; j < 8; j++)
        theta[j] = normal() / 2.0;
    fill(x, y, &c, theta);
    for (size_t m = 0; m < MODELS; m++) {
        if (pboost_coef_init(&coef[m], 8, &err) != PBOOST_OK)
            exit(1);
        for (size_t j = 0; j < 8; j++)
            coef[m].theta[j] = theta[j] + 0.1 * normal();
    }
    pboost_matrix matrix = pboost_matrix_f64(x, c.rows, c.cols);
    pboost_samples samples = {.x = &matrix, .n = c.rows, .target = y};
    for (int r = 0; r < c.repetitions; r++) {
        double from = clock_ms(CLOCK_MONOTONIC), cpu_from = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        if (pboost_losses(loss, family, &samples, coef, MODELS, threads, &err) != PBOOST_OK)
            fprintf(stderr, "%s\n", err.message);
        best = fmin(best, clock_ms(CLOCK_MONOTONIC) - from);
        cpu = fmin(cpu, clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_from);
    }
    printf(",\n  {\"case\": \"losses\", \"family\": \"%s\", \"rows\": %zu, \"cols\": 8, "
           "\"models\": %d, \"threads\": %d, \"ms\": %.4g, \"cpu_ms\": %.4g}",
           pboost_family_name(family), c.rows, MODELS, threads, best, cpu);
    fflush(stdout);
    for (size_t m = 0; m < MODELS; m++)
        pboost_coef_free(&coef[m]);
    free(x);
    free(y);
}

/* bench_fit [threads [case]] */
int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    size_t only = argc > 2 ? (size_t)atoi(argv[2]) : SIZE_MAX;
    printf("[");
    for (size_t i = 0, printed = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (only == SIZE_MAX || only == i)
            run(&CASES[i], threads, printed++ ? "," : "");
    if (only == SIZE_MAX)
        for (int family = 0; family < 3; family++)
            run_losses((pboost_family)family, threads);
    printf("\n]\n");
    return 0;
}
