/* Bags of which the table has not every person: a sample of them, or their means.
 *
 * A fit needs the mean over all persons of a bag.  The mean of a sample is that mean and a sampling
 * error, and a fit to it shrinks the weights (errors in variables).  With T the covariance of the
 * sample means between bags and W their mean sampling covariance, both estimated from the rows, the
 * best linear prediction of the mean of a bag is
 *
 *     m + (T - W)(T - W + W_B)^-1 (x_B - m)  =  x_B - W_B (T - W + W_B)^-1 (x_B - m)
 *
 * with m the mean of all x_B and W_B = W c_B / mean c, c_B = (1 - rows/persons) / rows.  A linear
 * fit to predicted means is consistent (regression calibration).  T - W must be positive definite;
 * if it is not, W is multiplied by the largest number below 1 for which it is (Fuller). */
#include <math.h>
#include <string.h>

#include <priorboost/trainer.h>

#include "base/linalg.h"
#include "base/sizes.h"
#include "try.h"

#define LEAST_PIVOT 1e-9 /* of T - W scaled to unit diagonal */
#define HALVINGS 30

typedef struct {
    size_t d, bags;
    double *mean;           /* by bag: d numbers */
    double *grand;          /* their mean */
    double *factor;         /* c_B by bag */
    double average;         /* of c_B */
    double *total, *within; /* T and W: d x d, lower triangle */
    double *step;           /* d */
    unsigned char *useless; /* by column: T has nothing that the columns before it lack */
    pboost_cholesky solver;
} calibration;

static void calibration_free(calibration *c)
{
    free(c->mean);
    free(c->grand);
    free(c->factor);
    free(c->total);
    free(c->step);
    free(c->useless);
    free(c->solver.l);
    free(c->solver.scale);
    free(c->solver.dropped);
}

static pboost_status calibration_init(calibration *c, size_t bags, size_t d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    *c = (calibration){.d = d, .bags = bags, .solver.n = d};
    NEED(c->mean = calloc(larger(bags * d, 1), sizeof(double)), err);
    NEED(c->grand = calloc(larger(d, 1), sizeof(double)), err);
    NEED(c->factor = calloc(larger(bags, 1), sizeof(double)), err);
    NEED(c->total = calloc(larger(2 * d * d, 1), sizeof(double)), err);
    NEED(c->step = calloc(larger(d, 1), sizeof(double)), err);
    NEED(c->useless = calloc(larger(d, 1), 1), err);
    NEED(c->solver.l = calloc(larger(d * d, 1), sizeof(double)), err);
    NEED(c->solver.scale = calloc(larger(d, 1), sizeof(double)), err);
    NEED(c->solver.dropped = calloc(larger(d, 1), 1), err);
    c->within = c->total + d * d;
done:
    return st;
}

/* matrix += weight * v v', lower triangle. */
static void add_square(double *matrix, const double *v, size_t d, double weight)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++)
            matrix[i * d + j] += weight * v[i] * v[j];
}

/* The mean of a bag, and its part of W. */
static pboost_status measure_bag(calibration *c, const double *x, const pboost_bags *bags, size_t b,
                                 double persons, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = c->d, first = bags->start[b], end = bags->start[b + 1];
    double n = (double)(end - first), *mean = c->mean + b * d;

    if (!(persons >= n) || isinf(persons))
        FAIL(err, PBOOST_BAD_DATA, "bag %zu has %zu rows of %g persons; a sample has fewer", b,
             end - first, persons);
    c->factor[b] = (1.0 - n / persons) / n;
    if (end - first < 2 && c->factor[b] > 0.0)
        FAIL(err, PBOOST_BAD_DATA,
             "bag %zu has a sample of 1 row; its sampling error needs at least 2", b);
    for (size_t i = first; i < end; i++)
        for (size_t j = 0; j < d; j++)
            mean[j] += x[bags->row[i] * d + j] / n;
    for (size_t i = first; i < end && c->factor[b] > 0.0; i++) {
        for (size_t j = 0; j < d; j++)
            c->step[j] = x[bags->row[i] * d + j] - mean[j];
        add_square(c->within, c->step, d, c->factor[b] / (n - 1.0) / (double)c->bags);
    }
    for (size_t j = 0; j < d; j++)
        c->grand[j] += mean[j] / (double)c->bags;
    c->average += c->factor[b] / (double)c->bags;
done:
    return st;
}

/* Factors T - part W without the useless columns; the number of columns kept. */
static size_t factor(calibration *c, double part, double least_pivot, bool may_drop)
{
    for (size_t i = 0; i < c->d * c->d; i++)
        c->solver.l[i] = c->total[i] - part * c->within[i];
    memcpy(c->solver.dropped, c->useless, c->d);
    return pboost_cholesky_factor(&c->solver, least_pivot, may_drop);
}

/* The part of W that can be removed from T: 1 unless T - W is not positive definite. */
static double removable(calibration *c)
{
    size_t rank = factor(c, 0.0, pboost_rank_tolerance(c->d), true);
    double low = 0.0, high = 1.0, part = 1.0;
    memcpy(c->useless, c->solver.dropped, c->d);
    for (int i = 0; i < HALVINGS && low < 1.0; i++) {
        if (factor(c, part, LEAST_PIVOT, true) == rank)
            low = part;
        else
            high = part;
        part = 0.5 * (low + high);
    }
    return low;
}

/* Moves the rows of bag b by -W_B (T - W + W_B)^-1 (x_B - m). */
static void move_bag(calibration *c, double *x, const pboost_bags *bags, size_t b, double part)
{
    size_t d = c->d;
    double own = part * c->factor[b] / c->average;
    factor(c, part - own, LEAST_PIVOT, false);
    for (size_t j = 0; j < d; j++)
        c->step[j] = c->mean[b * d + j] - c->grand[j];
    pboost_cholesky_solve(c->step, &c->solver, c->step);
    for (size_t i = 0; i < d; i++) {
        double shift = 0.0;
        for (size_t j = 0; j < d; j++)
            shift += (j <= i ? c->within[i * d + j] : c->within[j * d + i]) * c->step[j];
        for (size_t r = bags->start[b]; r < bags->start[b + 1]; r++)
            x[bags->row[r] * d + i] -= own * shift;
    }
}

pboost_status pboost_bags_calibrate(double *x, size_t cols, const pboost_bags *bags,
                                    const double *persons, double *fraction, bool *limited,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    calibration c = {0};

    TRY(calibration_init(&c, bags->n_bags, cols, err));
    if (bags->n_bags < 2)
        FAIL(err, PBOOST_BAD_DATA, "there is %zu bag; samples need at least 2", bags->n_bags);
    for (size_t b = 0; b < bags->n_bags; b++)
        TRY(measure_bag(&c, x, bags, b, persons[b], err));
    for (size_t b = 0; b < bags->n_bags; b++) {
        for (size_t j = 0; j < cols; j++)
            c.step[j] = c.mean[b * cols + j] - c.grand[j];
        add_square(c.total, c.step, cols, 1.0 / (double)(bags->n_bags - 1));
    }
    double part = removable(&c);
    *limited = part < 1.0;
    for (size_t j = 0; j < cols; j++) {
        double between = c.total[j * (cols + 1)];
        fraction[j] = between > 0.0 ? fmin(c.within[j * (cols + 1)] / between, 1.0) : 0.0;
    }
    for (size_t b = 0; b < bags->n_bags && c.average > 0.0; b++)
        move_bag(&c, x, bags, b, part);
done:
    calibration_free(&c);
    return st;
}

/* ---- Means and standard deviations ----------------------------------------------------------- */

static bool varies(const double *sd, size_t rows, size_t cols, size_t col)
{
    for (size_t i = 0; i < rows; i++)
        if (sd[i * cols + col] != 0.0)
            return true;
    return false;
}

size_t pboost_spread_points(const double *sd, size_t rows, size_t cols)
{
    size_t n = 0;
    for (size_t j = 0; j < cols; j++)
        n += varies(sd, rows, cols, j);
    return n > 0 ? 2 * n : 1;
}

/* With q columns that vary, the points mean +- sqrt(q) sd_j along each of them have this mean and
 * these variances, and no covariance. */
void pboost_spread_rows(double *out, const double *mean, const double *sd, size_t rows, size_t cols)
{
    size_t points = pboost_spread_points(sd, rows, cols), at = 0;
    double width = sqrt((double)points / 2.0);
    for (size_t i = 0; i < rows * points; i++)
        memcpy(out + i * cols, mean + i / points * cols, cols * sizeof *out);
    for (size_t j = 0; j < cols; j++) {
        if (!varies(sd, rows, cols, j))
            continue;
        for (size_t i = 0; i < rows; i++) {
            out[(i * points + at) * cols + j] += width * sd[i * cols + j];
            out[(i * points + at + 1) * cols + j] -= width * sd[i * cols + j];
        }
        at += 2;
    }
}
