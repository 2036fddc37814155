/* Running one series.
 *
 * PriorBoost and PBPrefix go through the library's trainer with a learner of our own, which keeps
 * the model of every round and knows both readings of the penalty.  Slices are cut from the table
 * in its order, because its rows are independent draws; so all rows of a fit are neighbours in
 * memory and are read in order.  OneShot is one question about bags that are random with respect to
 * the data; for rows that are independent draws, neighbours make such bags.
 *
 * All models of a series are measured on the test table in one pass. */
#include "series.h"

#include <math.h>
#include <string.h>

#include <priorboost/predict.h>
#include <priorboost/trainer.h>

#include "data/matrix.h"
#include "kernels/glm.h"
#include "refit.h"
#include "rounded.h"
#include "try.h"

/* The objective is minimised to this relative distance.  With d features, n rows and a mean loss of
 * l a model at that distance has a test loss that is off by about sqrt(2 d/n * TOLERANCE / l) of
 * itself: below 1e-4 for a slice, 1e-5 for all rows.  Draws of the labels change it by 1e-2. */
#define TOLERANCE 1e-7

/* From this number of features on a Gram matrix takes as long as many gradients. */
#define COSTLY_FEATURES 24

/* Everything about a series that does not depend on the point. */
typedef struct {
    const repro_series *series;
    const experiment_setup *setup;
    const experiment_info *info;
    const repro_data *data;
    const series_host *host;
    uint64_t seed;
    double shares; /* that one training is worth to the host */
} runner;

/* ---- The model under training ---------------------------------------------------------------- */

typedef struct {
    const data_table *table;
    pboost_fit_options options;
    double l2_per_row;     /* > 0: the penalty grows with the rows */
    pboost_coef *path;     /* the model of every round */
    size_t n_fits, n_path; /* with n_path == 1 only the last is kept */
    double *target;        /* by row of the table */
    pboost_refit *refit;   /* lets each fit continue from the one before; or NULL */
    bool others;           /* fits have no rows in common */
} model;

static pboost_coef *current(model *m)
{
    return &m->path[m->n_path == 1 || m->n_fits == 0 ? 0 : m->n_fits - 1];
}

/* Fits rows first .. first+n of the table, starting from the last model. */
static pboost_status fit_range(model *m, size_t first, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_report report = {0};
    pboost_fit_options options = m->options;
    const pboost_coef *last = current(m);
    pboost_matrix x = repro_data_rows(m->table, first, n);
    pboost_samples samples = {.x = &x, .n = n, .target = m->target + first};

    if (m->l2_per_row > 0.0)
        options.l2 = pboost_l2_fixed(m->l2_per_row * (double)n);
    m->n_fits++;
    pboost_coef *next = current(m);
    if (next != last)
        memcpy(next->theta, last->theta, last->n * sizeof *last->theta);
    if (m->refit != NULL)
        TRY((m->others ? pboost_refit_others : pboost_refit_solve)(next, &report, m->refit,
                                                                   &samples, &options, err));
    else
        TRY(pboost_event_fit(next, &report, &samples, &options, err));
    if (!report.converged)
        FAIL(err, PBOOST_INTERNAL, "a fit of %zu rows did not converge in %zu steps", n,
             report.iterations);
done:
    return st;
}

static pboost_status add_range(model *m, size_t first, size_t n, pboost_error *err)
{
    pboost_matrix x = repro_data_rows(m->table, first, n);
    pboost_samples added = {.x = &x, .n = n, .target = m->target + first};
    return pboost_refit_add(m->refit, &added, err);
}

/* The trainer asks in the order of the table: row[0 .. n) follow each other. */
static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    model *m = self;

    (void)err;
    repro_data_predict(out, m->table, row[0], n, m->options.family, current(m));
    return PBOOST_OK;
}

/* The event-level targets of eq. (1); the bags from first_bag on hold the last rows asked about. */
static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    model *m = self;
    pboost_bags bags = pboost_answers_bags(answers);
    const double *mean = pboost_answers_mean(answers);
    size_t newest = pboost_answers_round_start(answers, pboost_answers_rounds(answers) - 1);

    for (size_t b = newest; b < bags.n_bags; b++)
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++)
            m->target[bags.row[i]] = mean[b];
    if (m->refit != NULL && !m->others)
        TRY(add_range(m, bags.start[newest], bags.n_rows - bags.start[newest], err));
    TRY(fit_range(m, bags.start[first_bag], bags.n_rows - bags.start[first_bag], err));
done:
    return st;
}

static model model_make(const runner *r, size_t rows, pboost_coef *path, size_t n_path,
                        double *target)
{
    model m = {.table = &r->data->train,
               .options = PBOOST_FIT_OPTIONS_INIT,
               .path = path,
               .n_path = n_path,
               .target = target};
    m.options.tolerance = TOLERANCE;
    m.options.family = r->info->family;
    m.options.l2 = pboost_l2_fixed(r->setup->l2);
    m.options.intercept = false;
    if (r->series->penalty == PENALTY_PER_ROW)
        m.l2_per_row = r->setup->l2 * (double)r->setup->rounds / (double)rows;
    return m;
}

/* ---- Training -------------------------------------------------------------------------------- */

/* The oracle of the paper: rounds for logistic regression, adds noise where epsilon is given. */
typedef struct {
    pboost_memory_oracle *means;
    repro_rounded *rounded;
    pboost_oracle interface;
} paper_oracle;

static void oracle_free(paper_oracle *oracle)
{
    pboost_memory_oracle_free(oracle->means);
    repro_rounded_free(oracle->rounded);
}

static pboost_status oracle_make(paper_oracle *out, const runner *r, size_t rows,
                                 pboost_rational epsilon, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const data_table *train = &r->data->train;
    pboost_rules rules = PBOOST_RULES_INIT;
    uint64_t seed = repro_mix(r->seed, 2, (uint64_t)r->series->algorithm);

    epsilon = repro_rounded_epsilon(epsilon);
    seed = repro_mix(repro_mix(seed, epsilon.num, epsilon.den), r->series->min_bag, rows);
    rules.min_bag = r->series->min_bag;
    if (r->info->family == PBOOST_LOGISTIC) {
        TRY(repro_rounded_create(&out->rounded, train->bit, rules.min_bag, epsilon, seed, err));
        out->interface = repro_rounded_interface(out->rounded);
    } else {
        TRY(pboost_memory_oracle_create(&out->means, train->y, rows, &rules, NULL, err));
        out->interface = pboost_memory_oracle_interface(out->means);
    }
done:
    return st;
}

static bool on_round(void *user, pboost_round *round)
{
    const runner *r = user;
    return r->host->advance(r->host->user, r->shares / (double)round->rounds);
}

static pboost_status train_rounds(pboost_coef *path, size_t n_path, const runner *r, size_t rows,
                                  pboost_rational epsilon, double *target, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    paper_oracle oracle = {0};
    pboost_trainer *trainer = NULL;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    model m = model_make(r, rows, path, n_path, target);
    const pboost_learner learner = {.self = &m, .score = score, .fit = fit};

    options.algorithm = r->series->algorithm;
    options.rounds = r->setup->rounds;
    options.seed = repro_mix(r->seed, 3, 0);
    options.in_order = true;
    options.threads = 1;
    options.on_round = on_round;
    options.user = (void *)(uintptr_t)r;
    m.others = r->series->algorithm == PBOOST_PRIORBOOST;
    if (!m.others || (m.table->features >= COSTLY_FEATURES && r->setup->l2 > 0.0))
        TRY(pboost_refit_create(&m.refit, m.options.family, m.table->features, m.table->longest,
                                err));
    TRY(oracle_make(&oracle, r, rows, epsilon, err));
    TRY(pboost_trainer_create(&trainer, rows, &oracle.interface, &learner, &options, err));
    TRY(pboost_trainer_run(trainer, err));
done:
    pboost_trainer_free(trainer);
    oracle_free(&oracle);
    pboost_refit_free(m.refit);
    return st;
}

/* floor(n/k) bags of neighbours. */
static pboost_status neighbour_bags(pboost_bags *out, size_t n, size_t min_bag, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (pboost_bags){.n_rows = n, .n_bags = n / min_bag};
    NEED(out->row = pboost_alloc(n, sizeof *out->row), err);
    NEED(out->start = pboost_alloc(out->n_bags + 1, sizeof *out->start), err);
    for (size_t i = 0; i < n; i++)
        out->row[i] = i;
    for (size_t b = 0; b <= out->n_bags; b++)
        out->start[b] = n / out->n_bags * b + (b < n % out->n_bags ? b : n % out->n_bags);
done:
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

/* What the trainings of OneShot at every epsilon have in common: the bags, and so the sums of their
 * features; X^T y is the sum of these by answer. */
typedef struct {
    pboost_bags bags;
    double *answer;
    const double *sums; /* by column, `pitch` apart */
    size_t pitch;
    double *own_sums;        /* NULL where bags are rows, and the table is stored by column */
    double *moment, *change; /* X^T y, and what was last added to it */
} oneshot;

static void oneshot_free(oneshot *o)
{
    pboost_bags_free(&o->bags);
    free(o->answer);
    free(o->own_sums);
    free(o->moment);
    free(o->change);
    *o = (oneshot){0};
}

static pboost_status oneshot_make(oneshot *out, const runner *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = r->setup->features;
    const data_table *train = &r->data->train;
    pboost_matrix x = repro_data_rows(train, 0, r->setup->rows);

    *out = (oneshot){.sums = train->x, .pitch = (size_t)train->col_stride};
    TRY(neighbour_bags(&out->bags, r->setup->rows, r->series->min_bag, err));
    NEED(out->answer = pboost_alloc(out->bags.n_bags, sizeof *out->answer), err);
    NEED(out->moment = calloc(d, sizeof *out->moment), err);
    NEED(out->change = calloc(d, sizeof *out->change), err);
    if (r->series->min_bag == 1 && train->row_stride == 1)
        goto done;
    NEED(out->own_sums = calloc(out->bags.n_bags * d, sizeof *out->own_sums), err);
    for (size_t j = 0; j < d; j++)
        for (size_t b = 0; b < out->bags.n_bags; b++)
            for (size_t i = out->bags.start[b]; i < out->bags.start[b + 1]; i++)
                out->own_sums[j * out->bags.n_bags + b] += pboost_matrix_at(&x, i, j);
    out->sums = out->own_sums;
    out->pitch = out->bags.n_bags;
done:
    if (st != PBOOST_OK)
        oneshot_free(out);
    return st;
}

/* By blocks, in which the answers stay in the cache while all columns use them. */
static void change_moment(oneshot *o, size_t features)
{
    enum { BLOCK = 2048 };
    for (size_t j = 0; j < features; j++) {
        o->change[j] = -o->moment[j];
        o->moment[j] = 0.0;
    }
    for (size_t first = 0; first < o->bags.n_bags; first += BLOCK) {
        size_t left = o->bags.n_bags - first, n = left < BLOCK ? left : BLOCK;
        for (size_t j = 0; j < features; j++)
            o->moment[j] +=
                pboost_glm_kernels()->dot(o->answer + first, o->sums + j * o->pitch + first, n);
    }
    for (size_t j = 0; j < features; j++)
        o->change[j] += o->moment[j];
}

/* The targets are put in the order of the table, in which it is fastest read. */
static pboost_status ask_oneshot(oneshot *o, const runner *r, pboost_rational epsilon,
                                 double *target, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_bags *bags = &o->bags;
    paper_oracle oracle = {0};

    TRY(oracle_make(&oracle, r, bags->n_rows, epsilon, err));
    TRY(oracle.interface.ask(oracle.interface.self, 0, bags, o->answer, err));
    for (size_t b = 0; b < bags->n_bags; b++)
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            target[i] = o->answer[b];
    change_moment(o, r->setup->features);
done:
    oracle_free(&oracle);
    return st;
}

/* Whether the training at epsilon i is that at the one before, because noise changes no answer. */
static bool repeats(const experiment_setup *setup, size_t i)
{
    if (i == 0)
        return false;
    return repro_rounded_epsilon(setup->epsilon[i]).den == 0 &&
           repro_rounded_epsilon(setup->epsilon[i - 1]).den == 0;
}

static pboost_status repeat(pboost_coef *coef, const runner *r, pboost_error *err)
{
    memcpy(coef->theta, coef[-1].theta, coef->n * sizeof *coef->theta);
    if (!r->host->advance(r->host->user, r->shares))
        return pboost_fail(err, PBOOST_CANCELLED, "stopped by the user");
    return PBOOST_OK;
}

/* One fit for each epsilon; each continues from the one before. */
static pboost_status train_oneshots(pboost_coef *coef, const runner *r, double *target,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oneshot o = {0};
    pboost_refit *refit = NULL;
    const experiment_setup *setup = r->setup;
    bool goes_on = setup->n_epsilons > 1 && r->info->family != PBOOST_LINEAR;

    TRY(oneshot_make(&o, r, err));
    if (goes_on)
        TRY(pboost_refit_create(&refit, r->info->family, setup->features, r->data->train.longest,
                                err));
    for (size_t i = 0; i < setup->n_epsilons; i++) {
        if (repeats(setup, i)) {
            TRY(repeat(&coef[i], r, err));
            continue;
        }
        model m = model_make(r, setup->rows, &coef[i], 1, target);
        TRY(ask_oneshot(&o, r, setup->epsilon[i], target, err));
        m.refit = refit;
        if (goes_on && i == 0)
            TRY(add_range(&m, 0, setup->rows, err));
        else if (goes_on)
            pboost_refit_retarget(refit, o.change);
        TRY(fit_range(&m, 0, setup->rows, err));
        if (!r->host->advance(r->host->user, r->shares))
            FAIL(err, PBOOST_CANCELLED, "stopped by the user");
    }
done:
    pboost_refit_free(refit);
    oneshot_free(&o);
    return st;
}

/* ---- The series ------------------------------------------------------------------------------ */

/* The models of the series in the order of its points; OneShot on steps has one for all. */
static pboost_status train(pboost_coef *coef, runner *r, double *target, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const experiment_setup *setup = r->setup;

    if (r->series->algorithm == PBOOST_ONESHOT) {
        r->shares = 1.0 / (double)setup->n_epsilons;
        TRY(train_oneshots(coef, r, target, err));
    } else if (r->info->axis == AXIS_STEP) {
        r->shares = 1.0;
        TRY(train_rounds(coef, setup->rounds, r, setup->rows, setup->epsilon[0], target, err));
    } else if (r->info->axis == AXIS_EPSILON) {
        r->shares = 1.0 / (double)setup->n_epsilons;
        for (size_t i = 0; i < setup->n_epsilons; i++)
            TRY(repeats(setup, i)
                    ? repeat(&coef[i], r, err)
                    : train_rounds(&coef[i], 1, r, setup->rows, setup->epsilon[i], target, err));
    } else {
        double total = 0.0;
        for (size_t i = 0; i < setup->n_sizes; i++)
            total += (double)setup->size[i];
        for (size_t i = 0; i < setup->n_sizes; i++) {
            r->shares = (double)setup->size[i] / total;
            TRY(train_rounds(&coef[i], 1, r, setup->size[i], setup->epsilon[0], target, err));
        }
    }
done:
    return st;
}

static pboost_status measure(repro_series *series, const pboost_coef *coef, size_t n_coef,
                             const runner *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const data_table *test = &r->data->test;
    pboost_matrix x = pboost_matrix_f64(test->x, test->rows, r->setup->features);
    pboost_samples samples = {
        .x = &x, .n = test->rows, .target = repro_data_responses(test, r->info->family)};

    TRY(pboost_losses(series->loss, r->info->family, &samples, coef, n_coef, 1, err));
    for (size_t i = n_coef; i < series->n_points; i++)
        series->loss[i] = series->loss[0];
    for (size_t i = 0; i < series->n_points; i++)
        if (!isfinite(series->loss[i]))
            FAIL(err, PBOOST_INTERNAL, "%s: a test loss is %g", r->info->name, series->loss[i]);
done:
    return st;
}

pboost_status repro_series_run(repro_series *series, const repro_settings *settings,
                               const repro_data *data, const series_host *host, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    runner r = {.series = series,
                .setup = &settings->setup[series->experiment],
                .info = repro_experiment(series->experiment),
                .data = data,
                .host = host,
                .seed = data->key.seed};
    pboost_coef *coef = NULL;
    double *target = NULL;
    bool one_model = series->algorithm == PBOOST_ONESHOT && r.info->axis == AXIS_STEP;
    size_t n_coef = one_model ? 1 : series->n_points;

    NEED(coef = calloc(n_coef, sizeof *coef), err);
    for (size_t i = 0; i < n_coef; i++)
        TRY(pboost_coef_init(&coef[i], r.setup->features, err));
    NEED(target = pboost_alloc(r.setup->rows, sizeof *target), err);
    TRY(train(coef, &r, target, err));
    TRY(measure(series, coef, n_coef, &r, err));
done:
    for (size_t i = 0; coef != NULL && i < n_coef; i++)
        pboost_coef_free(&coef[i]);
    free(coef);
    free(target);
    return st;
}
