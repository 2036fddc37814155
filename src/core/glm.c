/* The generalised linear model as a learner: scores rows with its coefficients and refits them on
 * the oracle's answers.  It sees labels only as answers. */
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "try.h"

static const char *const ESTIMATORS[] = {"event"};
#define N_ESTIMATORS (sizeof ESTIMATORS / sizeof *ESTIMATORS)

const char *pboost_estimator_name(pboost_estimator estimator)
{
    return pboost_name_of(ESTIMATORS, N_ESTIMATORS, (size_t)estimator);
}

pboost_status pboost_estimator_parse(pboost_estimator *out, const char *name, pboost_error *err)
{
    size_t i = 0;
    pboost_status st = pboost_name_parse(&i, ESTIMATORS, N_ESTIMATORS, "estimator", name, err);
    *out = (pboost_estimator)i;
    return st;
}

struct pboost_glm {
    pboost_matrix x;
    const double *weight, *offset;
    pboost_fit_options options;
    pboost_coef coef;
    pboost_fit_report report;
    double *target; /* by row of the answers in use */
    size_t target_capacity;
};

pboost_status pboost_glm_create(pboost_glm **out, const pboost_matrix *x, const double *weight,
                                const double *offset, const pboost_fit_options *options,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_glm *glm = NULL;

    *out = NULL;
    NEED(glm = calloc(1, sizeof *glm), err);
    glm->x = *x;
    glm->weight = weight;
    glm->offset = offset;
    glm->options = *options;
    TRY(pboost_coef_init(&glm->coef, x->cols, err));
    *out = glm;
    glm = NULL;
done:
    pboost_glm_free(glm);
    return st;
}

void pboost_glm_free(pboost_glm *glm)
{
    if (glm == NULL)
        return;
    pboost_coef_free(&glm->coef);
    free(glm->target);
    free(glm);
}

const pboost_coef *pboost_glm_coef(const pboost_glm *glm)
{
    return &glm->coef;
}

const pboost_fit_report *pboost_glm_report(const pboost_glm *glm)
{
    return &glm->report;
}

static pboost_status score(void *self, const size_t *row, size_t n, double *out, pboost_error *err)
{
    pboost_glm *glm = self;
    pboost_samples samples = {&glm->x, row, n, NULL, NULL, glm->offset};
    return pboost_predict(out, glm->options.family, &samples, &glm->coef, glm->options.threads,
                          err);
}

/* The event-level targets of eq. (1): every row stands for its bag's answer. */
static pboost_status spread_answers(pboost_glm *glm, const pboost_answers *answers,
                                    size_t first_bag, pboost_error *err)
{
    size_t first_row = answers->start[first_bag];
    size_t n = answers->n_rows - first_row;

    if (n > glm->target_capacity) {
        double *target = realloc(glm->target, n * sizeof *target);
        if (target == NULL)
            return pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
        glm->target = target;
        glm->target_capacity = n;
    }
    for (size_t b = first_bag; b < answers->n_bags; b++)
        for (size_t i = answers->start[b]; i < answers->start[b + 1]; i++)
            glm->target[i - first_row] = answers->mean[b];
    return PBOOST_OK;
}

static pboost_status fit(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_glm *glm = self;
    size_t first_row = answers->start[first_bag];

    TRY(spread_answers(glm, answers, first_bag, err));
    pboost_samples samples = {.x = &glm->x,
                              .row = answers->row + first_row,
                              .n = answers->n_rows - first_row,
                              .target = glm->target,
                              .weight = glm->weight,
                              .offset = glm->offset};
    TRY(pboost_event_fit(&glm->coef, &glm->report, &samples, &glm->options, err));
done:
    return st;
}

pboost_learner pboost_glm_learner(pboost_glm *glm)
{
    return (pboost_learner){.self = glm, .score = score, .fit = fit};
}
