/* Features in coordinates in which all directions are equal: mean 0, covariance the identity. */
#ifndef PBOOST_WHITEN_H
#define PBOOST_WHITEN_H

#include <priorboost/core.h>

/* Whitened samples: coordinate j of sample i is z[i * stride + j], zero for j >= rank; stride is a
 * multiple of PANEL_LANES (matrix.h).  Single precision is enough to say which samples are near
 * each other, and halves what is, beside the table itself, the most memory that bags need.  On a
 * line bags are exact, so with one coordinate `line` has it in double precision. */
typedef struct {
    size_t n, rank, stride;
    float *z;
    double *line; /* rank 1: by sample; else NULL */
} pboost_white;

/* Rotates and scales the samples so that their covariance (weighted, where they have weights) is
 * the identity; directions without variance are dropped.  There is room for `extra` more
 * coordinates, which are 0.  The cancel (NULL: none) is checked before each pass over the rows, and
 * during the last. */
pboost_status pboost_whiten(pboost_white *out, const pboost_samples *samples, size_t extra,
                            int threads, const pboost_cancel *cancel, pboost_error *err);
void pboost_white_free(pboost_white *white);

#endif
