/* One pass over samples: value, gradient and Hessian of the sum of losses.
 *
 * Samples are cut into chunks by the problem alone; each chunk adds up in its own memory and the
 * chunks are added in order, so the sums have the same bits for any number of threads. */
#ifndef PBOOST_PASS_H
#define PBOOST_PASS_H

#include <priorboost/core.h>

#include "base/workspace.h"
#include "data/family.h"
#include "data/matrix.h"

typedef struct pass_plan {
    const pboost_samples *samples;
    const family_info *family;
    const glm_kernels *kernels;
    int threads;
    size_t stride;       /* one group of samples in this many is used */
    size_t count;        /* samples that are taken */
    double scale;        /* what every sum is multiplied by: all samples over those taken */
    const double *shift; /* of columns; NULL: none */
    size_t cols, padded, blocks;
    bool cross;      /* cross terms are wanted with gram; set to false they may be left out */
    bool in_columns; /* a turned panel is the matrix itself */
    bool in_place;   /* a pass without gram reads rows in place */
    bool turned;     /* panels hold columns: there are few enough for that to be faster */
    size_t panel_rows;
    size_t pitch; /* rows from one block of a panel to the next */
    size_t n_chunks, chunk_rows;
    size_t n_workers, sums_size, work_size;
    double *sums; /* by chunk */
    double *work; /* by worker; part of block, aligned */
    double *block;
    pboost_workspace *memory; /* what the arrays are taken from */
    double *cache; /* the panels of a small problem, kept from the first pass on; NULL: none */
    bool cached;
} pass_plan;

/* What a pass adds up.  Row j of gram starts at j * stride; its entries up to the diagonal are
 * filled. */
typedef struct {
    double value, residual, curvature; /* sums over the samples */
    double squares;                    /* of curvatures, with gram if rows are not turned */
    double *gradient, *cross, *gram;   /* cross and gram only of a pass that was asked for them */
    size_t stride;
} pass_sums;

/* A column whose mean is much larger than its deviation (a year, a time stamp) is almost constant
 * in a Gram matrix.  With an intercept such a column can be shifted by one of its own values; only
 * the intercept changes.  Returns whether any column is shifted. */
bool pboost_pass_shift(double *shift, const pboost_samples *samples);

pboost_status pboost_pass_init(pass_plan *plan, const pboost_samples *samples,
                               const family_info *family, const double *shift, int threads,
                               pboost_error *err);
/* The same over one of `stride` samples, 16 at a time from all over the table, every sum multiplied
 * so that it estimates that over all of them; there must be 16 * stride samples. */
pboost_status pboost_pass_init_part(pass_plan *plan, const pboost_samples *samples,
                                    const family_info *family, size_t stride, const double *shift,
                                    int threads, pboost_workspace *memory, pboost_error *err);
void pboost_pass_free(pass_plan *plan);

/* theta has plan->padded entries, zeros after the columns.  The arrays of the result belong to the
 * plan and last until the next pass; gram is filled where wanted. */
pass_sums pboost_pass_run(pass_plan *plan, const double *theta, double intercept, bool gram);

/* The largest |x theta + intercept| and, where y decides it, the total slope at infinity along that
 * direction relative to the total of |v|. */
typedef struct {
    double reach, slope, length; /* length: that total of |v| */
} pass_direction;

pass_direction pboost_pass_direction(pass_plan *plan, const double *theta, double intercept);

/* A pass as a fit uses it, with rows on this machine or on others (cluster).  A failure on another
 * machine gives NaN as the value. */
typedef struct {
    void *self;
    pass_sums (*sums)(void *self, const double *theta, double intercept, bool gram);
    pass_direction (*direction)(void *self, const double *theta, double intercept);
} row_pass;

row_pass pboost_pass_local(pass_plan *plan);

#endif
