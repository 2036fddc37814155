/* The study: every method over bag sizes and epsilon, on synthetic data and on a folder of tables.
 *
 *     study OUT.html [--runs R] [--rows N] [--tables FOLDER] [--results FILE [--seconds S]]
 *
 * FILE keeps every run, so that a study can be made in pieces: after S seconds nothing is begun,
 * and there is a page when everything is there.
 *
 * FOLDER/spec has one table a line: FILE LABEL FAMILY LO HI, the label a column of numbers; every
 * other column is a feature.  Tables are cut into four fifths for training and one for testing, at
 * random, once per run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <page.h>

#include "methods.h"
#include "results.h"

#define MAX_SIZES 4
#define MAX_METHODS 32
static const size_t SIZES[MAX_SIZES] = {4, 16, 64, 256};
static const char *const EPSILONS[] = {NULL, "1", "0.1"};
#define N_EPSILONS (sizeof EPSILONS / sizeof *EPSILONS)

typedef struct {
    const char *out, *tables, *results;
    size_t runs, rows;
    time_t until; /* 0: no end */
} arguments;

/* What is measured goes here; without a file, nowhere. */
typedef struct {
    results *kept; /* NULL: none */
    size_t subject, missing;
} progress;

static void problem_free(problem *p)
{
    free(p->x);
    free(p->y);
    free(p->test_x);
    free(p->test_y);
    *p = (problem){0};
}

static pboost_status problem_alloc(problem *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    NEED(p->x = pboost_alloc(p->n * p->d, sizeof *p->x), err);
    NEED(p->y = pboost_alloc(p->n, sizeof *p->y), err);
    NEED(p->test_x = pboost_alloc(p->test_n * p->d, sizeof *p->test_x), err);
    NEED(p->test_y = pboost_alloc(p->test_n, sizeof *p->test_y), err);
done:
    return st;
}

/* ---- Synthetic data -------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    pboost_family family;
    size_t features;
    bool wrong; /* the truth has a square that the model has not */
} setting;

static const setting SETTINGS[] = {
    {"linear, d = 8", PBOOST_LINEAR, 8, false},
    {"logistic, d = 8", PBOOST_LOGISTIC, 8, false},
    {"Poisson, d = 8", PBOOST_POISSON, 8, false},
    {"linear, d = 32", PBOOST_LINEAR, 32, false},
    {"logistic, d = 32", PBOOST_LOGISTIC, 32, false},
    {"linear, d = 8, the model is wrong", PBOOST_LINEAR, 8, true},
};
#define N_SETTINGS (sizeof SETTINGS / sizeof *SETTINGS)

static void add_square(double *y, const double *x, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++)
        y[i] += 0.5 * (x[i * d] * x[i * d] - 1.0);
}

static pboost_status make_synthetic(problem *p, const setting *s, size_t rows, uint64_t seed,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_synthetic how = PBOOST_SYNTHETIC_INIT;
    double *theta = NULL;

    *p = (problem){.family = s->family,
                   .n = rows,
                   .test_n = 20000,
                   .d = s->features,
                   .rules = PBOOST_RULES_INIT,
                   .seed = seed};
    how.family = s->family;
    how.features = s->features;
    how.noise = s->family == PBOOST_LINEAR ? 1.0 : 0.0;
    how.seed = seed;
    NEED(theta = pboost_alloc(s->features, sizeof *theta), err);
    TRY(problem_alloc(p, err));
    TRY(pboost_synthetic_theta(theta, &how, err));
    double norm = 0.0;
    for (size_t j = 0; j < s->features; j++)
        norm += theta[j] * theta[j];
    for (size_t j = 0; s->family != PBOOST_POISSON && j < s->features; j++)
        theta[j] *= 2.0 / sqrt(norm); /* the same signal whatever d */
    TRY(pboost_synthetic_rows(p->x, p->y, &how, theta, 0, 0, p->n, 0, err));
    TRY(pboost_synthetic_rows(p->test_x, p->test_y, &how, theta, 1, 0, p->test_n, 0, err));
    if (s->wrong) {
        add_square(p->y, p->x, p->n, p->d);
        add_square(p->test_y, p->test_x, p->test_n, p->d);
    }
    p->rules.bounded = true;
    p->rules.lower = s->family == PBOOST_LINEAR ? -12.0 : 0.0;
    p->rules.upper = s->family == PBOOST_LOGISTIC ? 1.0 : 12.0;
done:
    free(theta);
    if (st != PBOOST_OK)
        problem_free(p);
    return st;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef struct {
    char file[256], label[128];
    pboost_family family;
    double lower, upper;
} table_spec;

static pboost_status cut_table(problem *p, const double *x, const double *y, size_t rows,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags order = {0};
    size_t d = p->d;

    TRY(pboost_bags_random(&order, rows, rows, p->seed, err));
    TRY(problem_alloc(p, err));
    for (size_t i = 0; i < rows; i++) {
        bool train = i < p->n;
        size_t to = train ? i : i - p->n;
        memcpy((train ? p->x : p->test_x) + to * d, x + order.row[i] * d, d * sizeof *x);
        (train ? p->y : p->test_y)[to] = y[order.row[i]];
    }
    for (size_t j = 0; j < d; j++) { /* standardised on the training part */
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < p->n; i++)
            mean += p->x[i * d + j] / (double)p->n;
        for (size_t i = 0; i < p->n; i++)
            square += (p->x[i * d + j] - mean) * (p->x[i * d + j] - mean) / (double)p->n;
        double scale = square > 0.0 ? 1.0 / sqrt(square) : 1.0;
        for (size_t i = 0; i < p->n; i++)
            p->x[i * d + j] = (p->x[i * d + j] - mean) * scale;
        for (size_t i = 0; i < p->test_n; i++)
            p->test_x[i * d + j] = (p->test_x[i * d + j] - mean) * scale;
    }
done:
    pboost_bags_free(&order);
    return st;
}

static pboost_status make_table(problem *p, const char *folder, const table_spec *spec,
                                uint64_t seed, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char path[1024];
    pboost_table *table = NULL;
    pboost_encoding encoding = {0};
    pboost_encoding_options options = PBOOST_ENCODING_OPTIONS_INIT;
    bool *use = NULL;
    double *x = NULL;
    const double *y;
    size_t label;

    *p = (problem){.family = spec->family, .rules = PBOOST_RULES_INIT, .seed = seed};
    snprintf(path, sizeof path, "%s/%s", folder, spec->file);
    TRY(pboost_table_read(&table, path, NULL, err));
    TRY(pboost_table_find(&label, table, spec->label, err));
    NEED(use = pboost_alloc(pboost_table_cols(table), sizeof *use), err);
    for (size_t j = 0; j < pboost_table_cols(table); j++)
        use[j] = j != label;
    options.use = use;
    options.impute = true;
    TRY(pboost_encoding_learn(&encoding, table, &options, err));
    size_t rows = pboost_table_rows(table);
    p->d = encoding.n_columns;
    p->n = rows * 4 / 5;
    p->test_n = rows - p->n;
    NEED(x = pboost_alloc(rows * p->d, sizeof *x), err);
    TRY(pboost_encoding_apply(x, NULL, &encoding, table, err));
    TRY(pboost_table_numbers(&y, table, label, false, err));
    TRY(cut_table(p, x, y, rows, err));
    p->rules.bounded = true;
    p->rules.lower = spec->lower;
    p->rules.upper = spec->upper;
done:
    pboost_table_free(table);
    pboost_encoding_free(&encoding);
    free(use);
    free(x);
    if (st != PBOOST_OK)
        problem_free(p);
    return st;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* What is studied: a synthetic setting or a table. */
typedef struct {
    const char *name, *folder;
    const setting *synthetic;
    const table_spec *table;
} subject;

typedef struct {
    double loss[MAX_SIZES];
} row_of_losses;

/* The test loss of one method in one run, or what is kept of it; NaN where no fit exists. */
static pboost_status run_method(double *loss, const problem *p, size_t m, const char *epsilon,
                                size_t run, progress *so_far, const arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char key[64];
    *loss = NAN;
    snprintf(key, sizeof key, "%zu/%s/%zu/%zu", so_far->subject, epsilon != NULL ? epsilon : "none",
             p->rules.min_bag, m);
    const double *known = so_far->kept != NULL ? results_find(so_far->kept, key, run) : NULL;
    if (known != NULL) {
        *loss = *known;
    } else if (a->until != 0 && time(NULL) >= a->until) {
        so_far->missing++;
    } else {
        st = METHODS[m].run(loss, p, &METHODS[m], err);
        if (st == PBOOST_BAD_DATA) { /* no fit exists: that is a result, not an end */
            *loss = NAN;
            st = PBOOST_OK;
        }
        if (st == PBOOST_OK && so_far->kept != NULL)
            st = results_add(so_far->kept, key, run, *loss, err);
    }
    return st;
}

/* The median over runs of the loss above that of all labels, which comes last and is the loss
 * itself.  A mean would show mostly the one run in which a fit to counts diverged.  No fit is
 * worse than any. */
static void summarise(row_of_losses *out, const row_of_losses *by_run, size_t runs, double *work)
{
    for (size_t m = 0; m < N_METHODS; m++)
        for (size_t i = 0; i < MAX_SIZES; i++) {
            size_t none = 0;
            for (size_t r = 0; r < runs; r++) {
                const row_of_losses *run = by_run + r * N_METHODS;
                double labels = m + 1 < N_METHODS ? run[N_METHODS - 1].loss[i] : 0.0;
                none += isnan(run[m].loss[i]);
                work[r] = isnan(run[m].loss[i]) ? INFINITY : run[m].loss[i] - labels;
            }
            out[m].loss[i] = none < runs ? median(work, runs) : NAN;
        }
}

/* Every method at each bag size, at one epsilon. */
static pboost_status measure(row_of_losses *out, const subject *s, const char *epsilon,
                             progress *so_far, const arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    problem p = {0};
    row_of_losses *by_run = NULL;
    double *work = NULL;

    NEED(by_run = pboost_alloc(a->runs * N_METHODS, sizeof *by_run), err);
    NEED(work = pboost_alloc(a->runs, sizeof *work), err);
    for (size_t run = 1; run <= a->runs; run++) {
        if (s->synthetic != NULL)
            TRY(make_synthetic(&p, s->synthetic, a->rows, run, err));
        else
            TRY(make_table(&p, s->folder, s->table, run, err));
        if (epsilon != NULL)
            TRY(pboost_rational_parse(&p.rules.epsilon, epsilon, err));
        for (size_t i = 0; i < MAX_SIZES; i++)
            for (size_t m = 0; m < N_METHODS; m++) {
                p.rules.min_bag = SIZES[i];
                TRY(run_method(&by_run[(run - 1) * N_METHODS + m].loss[i], &p, m, epsilon, run,
                               so_far, a, err));
            }
        problem_free(&p);
    }
    summarise(out, by_run, a->runs, work);
done:
    problem_free(&p);
    free(by_run);
    free(work);
    return st;
}

/* Every method but the last, with which the others are compared; those that do not apply left out.
 */
typedef struct {
    chart_series series[MAX_METHODS];
    double excess[MAX_METHODS][MAX_SIZES];
    size_t n;
} curves;

static chart_dash dash_of(const method *m)
{
    if (strncmp(m->name, "paper", 5) == 0)
        return CHART_DOTTED;
    return m->estimator == PBOOST_AGGREGATE ? CHART_SOLID : CHART_DASHED;
}

static void set_curves(curves *out, const double *sizes, const row_of_losses *losses)
{
    out->n = 0;
    for (size_t m = 0; m + 1 < N_METHODS; m++) {
        if (isnan(losses[m].loss[0]) && isnan(losses[m].loss[MAX_SIZES - 1]))
            continue;
        for (size_t i = 0; i < MAX_SIZES; i++)
            out->excess[m][i] = losses[m].loss[i];
        out->series[out->n++] = (chart_series){.colour_key = METHODS[m].name,
                                               .colour = (int)m % CHART_COLOURS,
                                               .dash = dash_of(&METHODS[m]),
                                               .points = true,
                                               .n = MAX_SIZES,
                                               .x = sizes,
                                               .y = out->excess[m]};
    }
}

/* A panel for each epsilon. */
static void draw(FILE *out, size_t number, const row_of_losses *losses, curves *shown,
                 const arguments *a)
{
    chart_panel panel[N_EPSILONS] = {0};
    double sizes[MAX_SIZES];
    char id[32], caption[160], title[N_EPSILONS][32];
    for (size_t i = 0; i < MAX_SIZES; i++)
        sizes[i] = (double)SIZES[i];
    for (size_t e = 0; e < N_EPSILONS; e++) {
        set_curves(&shown[e], sizes, losses + e * N_METHODS);
        snprintf(title[e], sizeof title[e], "%s%s", EPSILONS[e] != NULL ? "epsilon = " : "no noise",
                 EPSILONS[e] != NULL ? EPSILONS[e] : "");
        panel[e] = (chart_panel){.title = title[e],
                                 .x = {.label = "bag size", .scale = CHART_LOG2},
                                 .y = {.label = "excess test loss", .scale = CHART_LOG},
                                 .series = shown[e].series,
                                 .n_series = shown[e].n};
    }
    snprintf(id, sizeof id, "figure-%zu", number);
    snprintf(
        caption, sizeof caption,
        "Test loss above that of all labels (%.4g), median of %zu run%s, by bag size. Curves end "
        "where the loss is not above it.",
        losses[N_METHODS - 1].loss[0], a->runs, a->runs == 1 ? "" : "s");
    chart_figure figure = {.id = id,
                           .title = "Excess test loss by bag size",
                           .caption = caption,
                           .colour_name = "method",
                           .panels = panel,
                           .n_panels = N_EPSILONS};
    page_figure(out, &figure);
}

/* One line a method on standard output. */
static void print_losses(const subject *s, const char *epsilon, const row_of_losses *losses)
{
    for (size_t m = 0; m + 1 < N_METHODS; m++) {
        printf("{\"subject\": \"%s\", \"epsilon\": \"%s\", \"method\": \"%s\", \"excess\": [",
               s->name, epsilon != NULL ? epsilon : "none", METHODS[m].name);
        for (size_t i = 0; i < MAX_SIZES; i++) {
            double loss = losses[m].loss[i];
            if (isfinite(loss))
                printf("%s%.4g", i > 0 ? ", " : "", loss);
            else
                printf("%snull", i > 0 ? ", " : "");
        }
        printf("]}\n");
    }
}

static pboost_status study_subject(FILE *out, const subject *s, size_t *number, progress *so_far,
                                   const arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    row_of_losses *losses = NULL;
    curves *shown = NULL;
    char id[32];

    so_far->subject = *number;
    NEED(losses = calloc(N_EPSILONS * N_METHODS, sizeof *losses), err);
    NEED(shown = calloc(N_EPSILONS, sizeof *shown), err);
    for (size_t e = 0; e < N_EPSILONS; e++) {
        fprintf(stderr, "%s, epsilon %s\n", s->name, EPSILONS[e] != NULL ? EPSILONS[e] : "none");
        TRY(measure(losses + e * N_METHODS, s, EPSILONS[e], so_far, a, err));
        print_losses(s, EPSILONS[e], losses + e * N_METHODS);
    }
    snprintf(id, sizeof id, "subject-%zu", *number);
    page_section(out, id, s->name);
    draw(out, (*number)++, losses, shown, a);
done:
    free(losses);
    free(shown);
    return st;
}

static pboost_status study_tables(FILE *out, size_t *number, progress *so_far, const arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char path[1024], line[1024], family[32];
    FILE *specs = NULL;

    snprintf(path, sizeof path, "%s/spec", a->tables);
    specs = fopen(path, "r");
    if (specs == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, specs) != NULL) {
        table_spec spec = {0};
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (sscanf(line, "%255s %127s %31s %lf %lf", spec.file, spec.label, family, &spec.lower,
                   &spec.upper) != 5)
            FAIL(err, PBOOST_BAD_DATA, "%s: '%.80s' is not FILE LABEL FAMILY LO HI", path, line);
        TRY(pboost_family_parse(&spec.family, family, err));
        subject s = {.name = spec.file, .folder = a->tables, .table = &spec};
        TRY(study_subject(out, &s, number, so_far, a, err));
    }
done:
    if (specs != NULL)
        fclose(specs);
    return st;
}

static pboost_status study(const arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    size_t number = 1;
    results kept = {0};
    progress so_far = {0};

    if (a->results != NULL) {
        TRY(results_open(&kept, a->results, err));
        so_far.kept = &kept;
    }
    TRY(pboost_output_open(&output, a->out, err));
    FILE *out = pboost_output_stream(output);
    page_begin(out, "Learning from bags: a comparison",
               "the paper's algorithm, its baselines, and estimators that know about bags");
    for (size_t i = 0; a->tables == NULL && i < N_SETTINGS; i++) {
        subject s = {.name = SETTINGS[i].name, .synthetic = &SETTINGS[i]};
        TRY(study_subject(out, &s, &number, &so_far, a, err));
    }
    if (a->tables != NULL)
        TRY(study_tables(out, &number, &so_far, a, err));
    page_end(out);
    printf("{\"unfinished\": %zu}\n", so_far.missing);
    if (so_far.missing > 0)
        goto done;
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    results_close(&kept);
    return st;
}

int main(int argc, char **argv)
{
    pboost_error err = {0};
    arguments a = {.runs = 5, .rows = 32768};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            a.runs = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            a.rows = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--tables") == 0 && i + 1 < argc)
            a.tables = argv[++i];
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            a.results = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            a.until = time(NULL) + strtol(argv[++i], NULL, 10);
        else
            a.out = argv[i];
    }
    if (a.out == NULL || a.runs == 0 || a.rows < 1024) {
        fprintf(stderr, "usage: study OUT.html [--runs R] [--rows N] [--tables FOLDER] "
                        "[--results FILE [--seconds S]]\n");
        return 2;
    }
    pboost_status st = study(&a, &err);
    if (st != PBOOST_OK)
        fprintf(stderr, "study: %s\n", err.message);
    return st != PBOOST_OK;
}
