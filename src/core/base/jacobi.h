/* All eigenvalues and eigenvectors of a small symmetric matrix. */
#ifndef PBOOST_JACOBI_H
#define PBOOST_JACOBI_H

#include <stddef.h>

/* a (n x n, both triangles; lost) = vector diag(value) vector'; values descend, column j of vector
 * belongs to value j. */
void pboost_jacobi(double *value, double *vector, double *a, size_t n);

#endif
