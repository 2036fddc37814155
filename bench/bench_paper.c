/* Where the time of one run of the paper goes, as JSON.
 *
 *     bench_paper [rows [rounds [min_bag [repeats]]]]
 *
 * Linear and logistic PriorBoost on the paper's data, one thread.  Learner and oracle are timed
 * where the trainer calls them; sorting and partition, which are inside one call, are done again on
 * the same scores and timed there.  The repeat with the median total is printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <priorboost/predict.h>
#include <priorboost/theory.h>

#include "bags/partition.h"
#include "bags/sort.h"
#include "train/glm.h"

enum { FEATURES = 8 };

typedef struct {
    double shuffle, score, sort, partition, ask, fit, rest, train, evaluate, loss;
    size_t iterations;
} profile;

typedef struct {
    pboost_learner learner;
    pboost_oracle oracle;
    pboost_glm *glm;
    profile time;
    double *score, *sorted; /* of the last slice */
    size_t *row, *start;
    size_t n_scored;
    pboost_coef *model; /* by round */
} watch;

typedef struct {
    size_t rows, rounds, min_bag;
    double *x, *y, *test_x, *test_y, *score, *sorted, *loss;
    size_t *row, *start;
    pboost_coef *model;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(pboost_status st, const pboost_error *err)
{
    if (st == PBOOST_OK)
        return;
    fprintf(stderr, "bench_paper: %s\n", err->message);
    exit(1);
}

static void *need(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (memory == NULL) {
        fprintf(stderr, "bench_paper: out of memory\n");
        exit(1);
    }
    return memory;
}

/* ---- What the trainer calls ------------------------------------------------------------------ */

static pboost_status timed_score(void *self, const size_t *row, size_t n, double *score,
                                 pboost_error *err)
{
    watch *w = self;
    double from = now();
    pboost_status st = w->learner.score(w->learner.self, row, n, score, err);
    w->time.score += now() - from;
    w->n_scored = n;
    memcpy(w->score, score, n * sizeof *score);
    return st;
}

static pboost_status timed_fit(void *self, const pboost_answers *answers, size_t first_bag,
                               pboost_error *err)
{
    watch *w = self;
    double from = now();
    pboost_status st = w->learner.fit(w->learner.self, answers, first_bag, err);
    w->time.fit += now() - from;
    w->time.iterations += pboost_glm_report(w->glm)->iterations;
    return st;
}

static pboost_status timed_ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                               pboost_error *err)
{
    watch *w = self;
    double from = now();
    pboost_status st = w->oracle.ask(w->oracle.self, round, bags, answer, err);
    w->time.ask += now() - from;
    return st;
}

static bool keep_model(void *user, pboost_round *round)
{
    watch *w = user;
    const pboost_coef *coef = pboost_glm_coef(w->glm);
    pboost_coef *to = &w->model[round->round - 1];
    memcpy(to->theta, coef->theta, coef->n * sizeof *coef->theta);
    to->intercept = coef->intercept;
    return true;
}

/* ---- One run --------------------------------------------------------------------------------- */

/* Sorting and partition of the last slice once more, with the time each takes. */
static void split_bags(watch *w, size_t min_bag, pboost_error *err)
{
    size_t n_bags;
    double from = now();
    must(pboost_sort_doubles(w->row, w->sorted, w->score, w->n_scored, 1, NULL, err), err);
    double sorted = now();
    must(pboost_partition(w->start, &n_bags, w->sorted, w->n_scored, min_bag, 1, NULL, err), err);
    w->time.partition += now() - sorted;
    w->time.sort += sorted - from;
}

static profile run(const bench *b, pboost_family family)
{
    pboost_matrix x = pboost_matrix_f64(b->x, b->rows, FEATURES);
    pboost_matrix test = pboost_matrix_f64(b->test_x, b->rows, FEATURES);
    pboost_samples samples = {.x = &test, .n = b->rows, .target = b->test_y};
    pboost_rules rules = PBOOST_RULES_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_memory_oracle_options simulated = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_memory_oracle *holder = NULL;
    pboost_trainer *trainer = NULL;
    pboost_error err = {0};
    watch w = {.score = b->score,
               .sorted = b->sorted,
               .row = b->row,
               .start = b->start,
               .model = b->model};

    rules.min_bag = b->min_bag;
    rules.round = family == PBOOST_LOGISTIC;
    simulated.simulated = true;
    fit.family = family;
    fit.l2 = pboost_l2_fixed(family == PBOOST_LOGISTIC ? 10 : 0); /* as the paper */
    fit.intercept = false;
    options.rounds = b->rounds;
    options.threads = 1;
    options.on_round = keep_model;
    options.user = &w;
    must(pboost_memory_oracle_create(&holder, b->y, b->rows, &rules, &simulated, &err), &err);
    must(pboost_glm_create(&w.glm, &(pboost_features){.x = x}, &fit, &err), &err);
    w.learner = pboost_glm_learner(w.glm);
    w.oracle = pboost_memory_oracle_interface(holder);
    pboost_learner learner = {.self = &w, .score = timed_score, .fit = timed_fit};
    pboost_oracle oracle = {.rules = w.oracle.rules, .self = &w, .ask = timed_ask};

    double from = now();
    must(pboost_trainer_create(&trainer, b->rows, &oracle, &learner, &options, &err), &err);
    w.time.shuffle = now() - from;
    while (!pboost_trainer_done(trainer)) {
        from = now();
        must(pboost_trainer_step(trainer, &err), &err);
        w.time.train += now() - from;
        if (w.n_scored > 0)
            split_bags(&w, b->min_bag, &err);
    }
    w.time.rest =
        w.time.train - w.time.score - w.time.sort - w.time.partition - w.time.ask - w.time.fit;
    w.time.train += w.time.shuffle;
    from = now();
    must(pboost_losses(b->loss, family, &samples, b->model, b->rounds, 1, &err), &err);
    w.time.evaluate = now() - from;
    w.time.loss = b->loss[b->rounds - 1];
    pboost_trainer_free(trainer);
    pboost_glm_free(w.glm);
    pboost_memory_oracle_free(holder);
    return w.time;
}

static int by_train(const void *a, const void *b)
{
    const profile *p = a, *q = b;
    return (p->train > q->train) - (p->train < q->train);
}

static void print(const bench *b, pboost_family family, const profile *p, const char *comma)
{
    printf("%s\n  {\"family\": \"%s\", \"rows\": %zu, \"rounds\": %zu, \"min_bag\": %zu, "
           "\"features\": %d, \"iterations\": %zu, \"test_loss\": %.17g,\n"
           "   \"train\": %.6f, \"shuffle\": %.6f, \"score\": %.6f, \"sort\": %.6f, "
           "\"partition\": %.6f, \"oracle\": %.6f, \"fit\": %.6f, \"rest\": %.6f, "
           "\"evaluation\": %.6f}",
           comma, pboost_family_name(family), b->rows, b->rounds, b->min_bag, FEATURES,
           p->iterations, p->loss, p->train, p->shuffle, p->score, p->sort, p->partition, p->ask,
           p->fit, p->rest, p->evaluate);
}

static size_t argument(int argc, char **argv, int i, size_t otherwise)
{
    return argc > i ? (size_t)strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    bench b = {.rows = argument(argc, argv, 1, (size_t)1 << 20),
               .rounds = argument(argc, argv, 2, 256),
               .min_bag = argument(argc, argv, 3, 16)};
    size_t repeats = argument(argc, argv, 4, 3);
    profile *found = need(repeats, sizeof *found);
    double theta[FEATURES];
    pboost_error err = {0};

    b.x = need(b.rows * FEATURES, sizeof *b.x);
    b.y = need(b.rows, sizeof *b.y);
    b.test_x = need(b.rows * FEATURES, sizeof *b.x);
    b.test_y = need(b.rows, sizeof *b.y);
    b.score = need(b.rows, sizeof *b.score);
    b.sorted = need(b.rows, sizeof *b.sorted);
    b.row = need(b.rows, sizeof *b.row);
    b.start = need(b.rows + 1, sizeof *b.start);
    b.loss = need(b.rounds, sizeof *b.loss);
    b.model = need(b.rounds, sizeof *b.model);
    for (size_t t = 0; t < b.rounds; t++)
        must(pboost_coef_init(&b.model[t], FEATURES, &err), &err);

    printf("[");
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_LOGISTIC; family++) {
        pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
        s.family = family;
        s.round_labels = family == PBOOST_LOGISTIC;
        must(pboost_synthetic_theta(theta, &s, &err), &err);
        must(pboost_synthetic_rows(b.x, b.y, &s, theta, 0, 0, b.rows, 0, &err), &err);
        must(pboost_synthetic_rows(b.test_x, b.test_y, &s, theta, 1, 0, b.rows, 0, &err), &err);
        for (size_t r = 0; r < repeats; r++)
            found[r] = run(&b, family);
        qsort(found, repeats, sizeof *found, by_train);
        print(&b, family, &found[repeats / 2], family > PBOOST_LINEAR ? "," : "");
    }
    printf("\n]\n");

    for (size_t t = 0; t < b.rounds; t++)
        pboost_coef_free(&b.model[t]);
    free(b.x);
    free(b.y);
    free(b.test_x);
    free(b.test_y);
    free(b.score);
    free(b.sorted);
    free(b.row);
    free(b.start);
    free(b.loss);
    free(b.model);
    free(found);
    return 0;
}
