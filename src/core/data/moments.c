/* Mean and standard deviation of the columns of a matrix, by rows in their order, so that the bits
 * depend on neither type nor strides of the matrix. */
#include <math.h>

#include "data/matrix.h"
#include "try.h"

pboost_status pboost_matrix_moments(double *mean, double *sd, const pboost_matrix *x,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_samples all = {.x = x, .n = x->rows};

    TRY(pboost_samples_check(&all, false, err));
    for (size_t j = 0; j < x->cols; j++)
        mean[j] = sd[j] = 0.0;
    for (size_t i = 0; i < x->rows; i++)
        for (size_t j = 0; j < x->cols; j++)
            mean[j] += (pboost_matrix_at(x, i, j) - mean[j]) / (double)(i + 1);
    for (size_t i = 0; i < x->rows; i++) {
        for (size_t j = 0; j < x->cols; j++) {
            double r = pboost_matrix_at(x, i, j) - mean[j];
            sd[j] += r * r / (double)x->rows;
        }
    }
    for (size_t j = 0; j < x->cols; j++)
        sd[j] = sqrt(sd[j]);
done:
    return st;
}
