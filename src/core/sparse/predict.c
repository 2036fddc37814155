#include "sparse/predict.h"

#include <math.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "base/sizes.h"
#include "data/family.h"
#include "sparse/csr.h"
#include "try.h"

#define CHUNK_ROWS ((size_t)1 << 12)

typedef struct {
    double *mean;
    const pboost_wide_samples *samples;
    const pboost_coef *coef;
    const family_kernels *kernels;
} predict_task;

static pboost_status predict_chunk(void *context, size_t chunk, int worker, pboost_error *err)
{
    predict_task *t = context;
    const pboost_wide_samples *s = t->samples;
    size_t from = chunk * CHUNK_ROWS, end = smaller(from + CHUNK_ROWS, s->n);
    (void)worker;
    for (size_t i = from; i < end; i++) {
        size_t row = s->row != NULL ? s->row[i] : i;
        double eta = t->coef->intercept + pboost_csr_dot(s->x, row, t->coef->theta);
        t->mean[i] = eta + (s->offset != NULL ? s->offset[row] : 0.0);
        if (isnan(t->mean[i]))
            return pboost_fail(err, PBOOST_BAD_DATA,
                               "the linear predictor of row %zu is not a number: the products of "
                               "weights and values overflow",
                               row);
    }
    t->kernels->mean(t->mean + from, t->mean + from, end - from);
    return PBOOST_OK;
}

pboost_status pboost_wide_means(double *mean, pboost_family family, const pboost_wide_samples *s,
                                const pboost_coef *coef, int threads, pboost_error *err)
{
    predict_task task = {mean, s, coef, pboost_family_kernels(family)};
    return pboost_parallel_try((s->n + CHUNK_ROWS - 1) / CHUNK_ROWS, threads, predict_chunk, &task,
                               err);
}

pboost_status pboost_wide_predict(double *mean, pboost_family family,
                                  const pboost_wide_samples *samples, const pboost_coef *coef,
                                  int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_wide_samples s = *samples;
    s.weight = NULL; /* not used */
    TRY(pboost_family_check(family, err));
    if (threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", threads);
    TRY(pboost_wide_check_samples(&s, false, err));
    TRY(pboost_wide_check_coef(coef, s.x->cols, err));
    TRY(pboost_wide_means(mean, family, &s, coef, threads, err));
done:
    return st;
}
