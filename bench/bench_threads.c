/* Whether two threads are ever slower than one.
 *
 *     bench_threads [max_rows [seconds]]
 *
 * prints JSON: for every kind of work and number of rows the least time of one and of two threads,
 * which take turns for `seconds` by case, and the least processor time of all threads together: on
 * a busy machine threads wait for a core, which only the first of these counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <priorboost/priorboost.h>

#include "shapes.h"

enum { COLS = 8, MANY = 64, BAG = 16, TREES = 10, MODELS = 16, LEAST_TURNS = 5 };

typedef struct {
    size_t n;
    double *x, *y, *score, *out;
    pboost_matrix narrow, wide; /* of COLS and of MANY columns; the wide one has fewer rows */
    pboost_column column[COLS];
    pboost_columns columns;
    pboost_answers *answers;
    pboost_forest forest;
    pboost_coef coef[MODELS];
} problem;

static void need(pboost_status st, const pboost_error *err)
{
    if (st == PBOOST_OK)
        return;
    fprintf(stderr, "bench_threads: %s\n", err->message);
    exit(1);
}

/* ---- Kinds of work --------------------------------------------------------------------------- */

static void bags_of(problem *p, size_t k, int threads)
{
    pboost_error err;
    pboost_bags bags;
    need(pboost_bags_optimal(&bags, p->score, p->n, k, threads, &err), &err);
    pboost_bags_free(&bags);
}

static void bags_8(problem *p, int threads)
{
    bags_of(p, 8, threads);
}

static void bags_64(problem *p, int threads)
{
    bags_of(p, 64, threads);
}

static void bags_features(problem *p, int threads)
{
    pboost_error err;
    pboost_bags bags;
    pboost_samples s = {.x = &p->narrow, .n = p->n};
    need(pboost_bags_features(&bags, &s, BAG, threads, NULL, &err), &err);
    pboost_bags_free(&bags);
}

static void fit_event(problem *p, const pboost_matrix *x, int threads)
{
    pboost_error err;
    pboost_coef coef;
    pboost_samples s = {.x = x, .n = x->rows, .target = p->y};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = PBOOST_LOGISTIC;
    o.l2 = pboost_l2_fixed(10.0);
    o.threads = threads;
    need(pboost_coef_init(&coef, x->cols, &err), &err);
    need(pboost_event_fit(&coef, NULL, &s, &o, &err), &err);
    pboost_coef_free(&coef);
}

static void fit_narrow(problem *p, int threads)
{
    fit_event(p, &p->narrow, threads);
}

static void fit_wide(problem *p, int threads)
{
    fit_event(p, &p->wide, threads);
}

static void fit_aggregate(problem *p, int threads)
{
    pboost_error err;
    pboost_coef coef;
    const pboost_features features = {.x = p->narrow};
    pboost_fit_options o = PBOOST_FIT_OPTIONS_INIT;
    o.family = PBOOST_LOGISTIC;
    o.estimator = PBOOST_AGGREGATE;
    o.l2 = pboost_l2_fixed(10.0);
    o.threads = threads;
    need(pboost_coef_init(&coef, COLS, &err), &err);
    need(pboost_answers_fit(&coef, NULL, NULL, &features, p->answers, 0, &o, &err), &err);
    pboost_coef_free(&coef);
}

static void fit_trees(problem *p, int threads)
{
    pboost_error err;
    double intercept;
    pboost_forest_report report;
    pboost_forest_options o = PBOOST_FOREST_OPTIONS_INIT;
    o.family = PBOOST_LOGISTIC;
    o.trees = TREES;
    o.folds = 0;
    o.threads = threads;
    pboost_forest_free(&p->forest);
    need(pboost_forest_fit(&p->forest, &intercept, &report, NULL, &p->columns, NULL, NULL,
                           p->answers, 0, &o, &err),
         &err);
}

static void predict_linear(problem *p, int threads)
{
    pboost_error err;
    pboost_samples s = {.x = &p->narrow, .n = p->n};
    need(pboost_predict(p->out, PBOOST_LOGISTIC, &s, p->coef, threads, &err), &err);
}

static void predict_trees(problem *p, int threads)
{
    pboost_error err;
    memset(p->out, 0, p->n * sizeof *p->out);
    need(pboost_forest_add(p->out, &p->forest, &p->columns, NULL, p->n, threads, &err), &err);
}

static void losses(problem *p, int threads)
{
    pboost_error err;
    double loss[MODELS];
    pboost_samples s = {.x = &p->narrow, .n = p->n, .target = p->y};
    need(pboost_losses(loss, PBOOST_LOGISTIC, &s, p->coef, MODELS, threads, &err), &err);
}

/* Trees are predicted by those that were fitted last. */
static const struct {
    const char *name;
    void (*run)(problem *p, int threads);
} KINDS[] = {{"optimal bags, k = 8", bags_8},
             {"optimal bags, k = 64", bags_64},
             {"bags from features, 8 columns", bags_features},
             {"event fit, 8 columns", fit_narrow},
             {"event fit, 64 columns, an 8th of the rows", fit_wide},
             {"aggregate fit, 8 columns, k = 16", fit_aggregate},
             {"10 boosted trees, 8 columns, k = 16", fit_trees},
             {"predictions, 8 columns", predict_linear},
             {"predictions by 10 trees", predict_trees},
             {"losses of 16 models, 8 columns", losses}};
#define N_KINDS (sizeof KINDS / sizeof *KINDS)

/* ---- Data ------------------------------------------------------------------------------------ */

static void ask(problem *p)
{
    pboost_error err;
    pboost_bags bags;
    pboost_memory_oracle *oracle;
    pboost_rules rules = PBOOST_RULES_INIT;

    rules.min_bag = BAG;
    need(pboost_bags_optimal(&bags, p->score, p->n, BAG, 1, &err), &err);
    need(pboost_memory_oracle_create(&oracle, p->y, p->n, &rules, NULL, &err), &err);
    const pboost_oracle interface = pboost_memory_oracle_interface(oracle);
    need(pboost_answers_create(&p->answers, &err), &err);
    need(pboost_answers_ask(p->answers, &interface, &bags, &err), &err);
    pboost_memory_oracle_free(oracle);
    pboost_bags_free(&bags);
}

static problem problem_make(size_t n)
{
    pboost_error err;
    problem p = {.n = n,
                 .x = malloc(n * COLS * sizeof *p.x),
                 .y = malloc(n * sizeof *p.y),
                 .score = malloc(n * sizeof *p.score),
                 .out = malloc(n * sizeof *p.out)};

    if (p.x == NULL || p.y == NULL || p.score == NULL || p.out == NULL)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < COLS; j++) {
            p.x[i * COLS + j] = gaussian();
            eta += 0.3 * p.x[i * COLS + j];
        }
        p.score[i] = 1.0 / (1.0 + exp(-eta));
        p.y[i] = uniform() < p.score[i];
    }
    p.narrow = pboost_matrix_f64(p.x, n, COLS);
    p.wide = pboost_matrix_f64(p.x, n * COLS / MANY, MANY);
    for (size_t m = 0; m < MODELS; m++) {
        need(pboost_coef_init(&p.coef[m], COLS, &err), &err);
        for (size_t j = 0; j < COLS; j++)
            p.coef[m].theta[j] = 0.3 * gaussian();
    }
    ask(&p);
    return p;
}

static void problem_free(problem *p)
{
    for (size_t m = 0; m < MODELS; m++)
        pboost_coef_free(&p->coef[m]);
    pboost_answers_free(p->answers);
    pboost_forest_free(&p->forest);
    free(p->x);
    free(p->y);
    free(p->score);
    free(p->out);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

typedef struct {
    double wall, cpu; /* the least seconds so far; cpu: of all threads */
} least;

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void take_turn(least *out, problem *p, size_t kind, int threads)
{
    double from = now(), cpu_from = cpu_seconds();
    KINDS[kind].run(p, threads);
    out->wall = fmin(out->wall, now() - from);
    out->cpu = fmin(out->cpu, cpu_seconds() - cpu_from);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1000, 3000, 10000, 30000, 100000, 300000, 1000000};
    size_t max_rows = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    double seconds = argc > 2 ? atof(argv[2]) : 0.5;
    const char *comma = "";

    printf("[");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= max_rows; i++) {
        problem p = problem_make(sizes[i]);
        for (size_t j = 0; j < COLS; j++)
            p.column[j] = (pboost_column){.number = p.x + j, .stride = COLS};
        p.columns = (pboost_columns){.n = COLS, .rows = p.n, .column = p.column};
        for (size_t kind = 0; kind < N_KINDS; kind++) {
            least side[2] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
            double from = now();
            for (int turn = 0; turn < LEAST_TURNS || now() - from < seconds; turn++)
                for (int threads = 1; threads <= 2; threads++)
                    take_turn(&side[threads - 1], &p, kind, threads);
            printf("%s\n  {\"kind\": \"%s\", \"n\": %zu, \"one\": %.4g, \"two\": %.4g, "
                   "\"cpu_one\": %.4g, \"cpu_two\": %.4g}",
                   comma, KINDS[kind].name, p.n, side[0].wall, side[1].wall, side[0].cpu,
                   side[1].cpu);
            fflush(stdout);
            comma = ",";
        }
        problem_free(&p);
    }
    printf("\n]\n");
    return 0;
}
