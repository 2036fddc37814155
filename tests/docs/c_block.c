/* The frame of C blocks that are not whole programs: the variables they may use, and the result
 * that they must have. */
#include <math.h>
#include <stdio.h>

#include <priorboost/priorboost.h>

enum { rows = 20000, cols = 4 };
static double x[rows * cols], y[rows], theta[cols];

int main(void)
{
    pboost_error err;
    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    data.features = cols;
    if (pboost_synthetic_theta(theta, &data, &err) != PBOOST_OK ||
        pboost_synthetic_rows(x, y, &data, theta, 0, 0, rows, 0, &err) != PBOOST_OK)
        return 1;

    /* clang-format off */
BLOCK
    /* clang-format on */

    for (size_t j = 0; j < cols; j++)
        if (!(fabs(weight[j] - theta[j]) < 0.02))
            return 2;
    return 0;
}
