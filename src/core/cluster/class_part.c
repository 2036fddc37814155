/* What one part of the rows adds to a fit of classes.
 *
 * A part is a fit that stops before it solves anything: its pass, answers and sizes are those of
 * its bags, so the sums are made by the functions that a fit on one machine uses. */
#include <priorboost/cluster.h>

#include <string.h>

#include "classes/fit.h"
#include "cluster/part.h"
#include "data/matrix.h"
#include "try.h"

typedef struct {
    class_fit fit;
    size_t *start;
} class_part;

static void part_free(class_part *p)
{
    pboost_class_fit_free(&p->fit);
    free(p->start);
}

/* The rows in standard units. */
static pboost_status standardise(gathered_rows *out, const pboost_part_bags *bags,
                                 const pboost_class_point *at, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = at->cols, first = bags->start[0], n = bags->start[bags->n_bags] - first;

    NEED(out->x = pboost_alloc(n * d, sizeof *out->x), err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            double shift = at->shift != NULL ? at->shift[j] : 0.0;
            double value = pboost_matrix_at(bags->x, first + i, j);
            out->x[i * d + j] = ((value - shift) - at->center[j]) / at->scale[j];
        }
    out->matrix = pboost_matrix_f64(out->x, n, d);
done:
    return st;
}

/* The part at the point, with its moments. */
static pboost_status part_open(class_part *p, const pboost_part_bags *bags,
                               const pboost_class_point *at, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_fit *fit = &p->fit;

    TRY(pboost_part_bags_check(bags, at->cols, err));
    if (at->classes < 2 || at->classes > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_INVALID, "the point has %zu classes; there must be 2 to %d", at->classes,
             PBOOST_MAX_CLASSES);
    *fit = (class_fit){.access = &PBOOST_CLASS_LOCAL, .classes = at->classes};
    TRY(standardise(&fit->rows, bags, at, err));
    NEED(p->start = pboost_alloc(bags->n_bags + 1, sizeof *p->start), err);
    for (size_t b = 0; b <= bags->n_bags; b++)
        p->start[b] = bags->start[b] - bags->start[0];
    TRY(pboost_class_pass_init(&fit->pass, &fit->rows, p->start, bags->n_bags, at->classes,
                               at->intercept, threads, err));
    TRY(pboost_class_reserve(fit, err));
    fit->access->run(&fit->point, fit, at->parameter);
done:
    return st;
}

/* Copies what the fit knows of the bags; pass.n_bags of them. */
static pboost_status part_know(class_fit *fit, const pboost_class_bags *known, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = fit->pass.n_bags, n = m * fit->classes;

    NEED(fit->answer = pboost_alloc(n, sizeof *fit->answer), err);
    memcpy(fit->answer, known->answer, n * sizeof *fit->answer);
    if (known->noise != NULL) {
        NEED(fit->noise = pboost_alloc(n, sizeof *fit->noise), err);
        memcpy(fit->noise, known->noise, n * sizeof *fit->noise);
    }
    memcpy(fit->size, known->size, m * sizeof *fit->size);
    memcpy(fit->blur, known->blur, m * sizeof *fit->blur);
    pboost_class_set_slopes(fit);
done:
    return st;
}

static pboost_status part_open_known(class_part *p, const pboost_part_bags *bags,
                                     const pboost_class_point *at, const pboost_class_bags *known,
                                     int threads, pboost_error *err)
{
    pboost_status st = part_open(p, bags, at, threads, err);
    return st != PBOOST_OK ? st : part_know(&p->fit, known, err);
}

pboost_status pboost_part_class_moments(double *mean, double *variance, double *eta,
                                        const pboost_part_bags *bags, const pboost_class_point *at,
                                        int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_part p = {0};
    size_t bytes = bags->n_bags * at->classes * sizeof *mean;

    TRY(part_open(&p, bags, at, threads, err));
    memcpy(mean, p.fit.point.mean, bytes);
    memcpy(variance, p.fit.point.variance, bytes);
    memcpy(eta, p.fit.point.eta, 2 * at->classes * sizeof *eta);
done:
    part_free(&p);
    return st;
}

pboost_status pboost_part_class_gram(double *sums, const pboost_part_bags *bags,
                                     const pboost_class_point *at, const pboost_class_bags *known,
                                     int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_part p = {0};

    TRY(part_open_known(&p, bags, at, known, threads, err));
    size_t n = p.fit.pass.n_parameters;
    memset(sums, 0, PBOOST_GRAM_SIZE(n) * sizeof *sums);
    p.fit.access->gram(sums, sums + n * n, &p.fit);
done:
    part_free(&p);
    return st;
}

pboost_status pboost_part_class_meat(double *sums, double *misfit, const pboost_part_bags *bags,
                                     const pboost_class_point *at, const pboost_class_bags *known,
                                     int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_part p = {0};

    TRY(part_open_known(&p, bags, at, known, threads, err));
    size_t n = p.fit.pass.n_parameters;
    memset(sums, 0, n * n * sizeof *sums);
    p.fit.access->meat(sums, misfit, &p.fit);
done:
    part_free(&p);
    return st;
}

pboost_status pboost_part_class_scores(double *sums, const pboost_part_bags *bags,
                                       const pboost_class_point *at, const pboost_class_bags *known,
                                       int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_part p = {0};

    TRY(part_open_known(&p, bags, at, known, threads, err));
    size_t n = p.fit.pass.n_parameters;
    memset(sums, 0, n * n * sizeof *sums);
    p.fit.access->scores(sums, &p.fit);
done:
    part_free(&p);
    return st;
}

/* Every row is a bag of size 1 without noise of its own. */
static pboost_status know_rows(class_fit *fit, const double *answer, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = fit->pass.n_bags, n = fit->classes;

    NEED(fit->answer = pboost_alloc(m * n, sizeof *fit->answer), err);
    for (size_t i = 0; i < m; i++) {
        pboost_class_sum_one(fit->answer + i * n, answer + i * n, n);
        fit->size[i] = 1.0;
        fit->blur[i] = 0.0;
    }
    pboost_class_set_slopes(fit);
done:
    return st;
}

pboost_status pboost_part_class_rows(double *sums, const pboost_matrix *x, const double *answer,
                                     const pboost_class_point *at, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    class_part p = {0};
    size_t *single = NULL;

    NEED(single = pboost_alloc(x->rows + 1, sizeof *single), err);
    for (size_t i = 0; i <= x->rows; i++)
        single[i] = i;
    TRY(part_open(&p, &(pboost_part_bags){x, x->rows, single}, at, threads, err));
    TRY(know_rows(&p.fit, answer, err));
    size_t n = p.fit.pass.n_parameters;
    memset(sums, 0, PBOOST_CLASS_ROWS_SIZE(at->classes, n) * sizeof *sums);
    sums[0] = pboost_class_loss(&p.fit, p.fit.point.mean);
    sums[1] = pboost_class_rounding(&p.fit);
    memcpy(sums + 2, p.fit.point.eta, 2 * at->classes * sizeof *sums);
    double *gram = sums + 2 + 2 * at->classes;
    p.fit.access->gram(gram, gram + n * n, &p.fit);
done:
    part_free(&p);
    free(single);
    return st;
}
