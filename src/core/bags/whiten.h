/* Features in coordinates in which all directions are equal: mean 0, covariance the identity. */
#ifndef PBOOST_WHITEN_H
#define PBOOST_WHITEN_H

#include <priorboost/core.h>

/* Whitened samples as one panel (matrix.h) of capacity n: coordinate j of sample i is
 * z[(j / LANES * n + i) * LANES + j % LANES], zero for j >= rank. */
typedef struct {
    size_t n, rank, blocks;
    double *z;
} pboost_white;

/* Rotates and scales the samples so that their covariance (weighted, where they have weights) is
 * the identity; directions without variance are dropped.  There is room for `extra` more
 * coordinates, which are 0.  The cancel (NULL: none) is checked before each pass over the rows, and
 * during the last. */
pboost_status pboost_whiten(pboost_white *out, const pboost_samples *samples, size_t extra,
                            int threads, const pboost_cancel *cancel, pboost_error *err);
void pboost_white_free(pboost_white *white);

/* The address of coordinate j of sample 0; the next sample's is PANEL_LANES further. */
double *pboost_white_coordinate(const pboost_white *white, size_t j);

#endif
