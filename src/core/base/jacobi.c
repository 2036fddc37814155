/* Jacobi's method: rotations that make one entry off the diagonal 0 each, in sweeps. */
#include "base/jacobi.h"

#include <float.h>
#include <math.h>

#define MOST_SWEEPS 60 /* about 8 suffice */

/* Rotates rows and columns p and q so that entry (p, q) is 0. */
static void rotate(double *a, double *vector, size_t n, size_t p, size_t q)
{
    double apq = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    double t = copysign(1.0, theta) / (fabs(theta) + hypot(1.0, theta));
    double c = 1.0 / hypot(1.0, t), s = c * t;
    for (size_t k = 0; k < n; k++) {
        double kp = a[k * n + p], kq = a[k * n + q];
        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
    }
    for (size_t k = 0; k < n; k++) {
        double pk = a[p * n + k], qk = a[q * n + k];
        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
    }
    for (size_t k = 0; k < n; k++) {
        double kp = vector[k * n + p], kq = vector[k * n + q];
        vector[k * n + p] = c * kp - s * kq;
        vector[k * n + q] = s * kp + c * kq;
    }
}

static void sort_descending(double *value, double *vector, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            best = value[j] > value[best] ? j : best;
        double swap = value[i];
        value[i] = value[best];
        value[best] = swap;
        for (size_t k = 0; k < n; k++) {
            swap = vector[k * n + i];
            vector[k * n + i] = vector[k * n + best];
            vector[k * n + best] = swap;
        }
    }
}

void pboost_jacobi(double *value, double *vector, double *a, size_t n)
{
    for (size_t i = 0; i < n * n; i++)
        vector[i] = i / n == i % n ? 1.0 : 0.0;
    for (int sweep = 0, moved = 1; moved && sweep < MOST_SWEEPS; sweep++) {
        moved = 0;
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double size = sqrt(fabs(a[p * n + p]) * fabs(a[q * n + q]));
                if (!(fabs(a[p * n + q]) > DBL_EPSILON * size))
                    continue;
                rotate(a, vector, n, p, q);
                moved = 1;
            }
    }
    for (size_t i = 0; i < n; i++)
        value[i] = a[i * n + i];
    sort_descending(value, vector, n);
}
