/* Reading a pboost_sparse. */
#ifndef PBOOST_CSR_H
#define PBOOST_CSR_H

#include <priorboost/sparse.h>

/* The place of the first entry of row i; i may be `rows`. */
static inline size_t pboost_csr_start(const pboost_sparse *x, size_t i)
{
    return x->start_bytes == 4 ? ((const uint32_t *)x->start)[i]
                               : (size_t)((const uint64_t *)x->start)[i];
}

static inline double pboost_csr_value(const pboost_sparse *x, size_t place)
{
    if (x->value == NULL)
        return 1.0;
    return x->type == PBOOST_F64 ? ((const double *)x->value)[place]
                                 : (double)((const float *)x->value)[place];
}

/* x_i v */
static inline double pboost_csr_dot(const pboost_sparse *x, size_t i, const double *v)
{
    size_t end = pboost_csr_start(x, i + 1);
    double sum = 0.0;
    for (size_t p = pboost_csr_start(x, i); p < end; p++)
        sum += pboost_csr_value(x, p) * v[x->column[p]];
    return sum;
}

/* The same samples as those of a dense table of this shape, for checks that read no features. */
#define WIDE_SHAPE(x)                                                                              \
    ((pboost_matrix){.data = (x)->start, .type = PBOOST_F64, .rows = (x)->rows, .cols = (x)->cols})

/* check.c: refuses a matrix that cannot be read at all: no arrays, an offset size that is unknown.
 * Reads no entry. */
pboost_status pboost_csr_check_shape(const pboost_sparse *x, pboost_error *err);

/* Refuses samples that are empty or name rows outside the table, weights and offsets that are not
 * valid and, with need_target, targets that are not finite; options of a fit that are not for wide
 * models. */
pboost_status pboost_wide_check_samples(const pboost_wide_samples *samples, bool need_target,
                                        pboost_error *err);
pboost_status pboost_wide_check_options(const pboost_fit_options *options, pboost_error *err);
pboost_status pboost_wide_check_coef(const pboost_coef *coef, size_t cols, pboost_error *err);

#endif
