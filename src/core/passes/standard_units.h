/* The units in which bags are fitted: features of mean 0 and variance 1 over the rows in use;
 * levels of a category have variance 1 on average. */
#ifndef PBOOST_STANDARD_UNITS_H
#define PBOOST_STANDARD_UNITS_H

#include "passes/bag_pass.h"

typedef struct {
    size_t cols;
    bag_units units;
    double *shift, *center, *scale;
    unsigned char *constant; /* 1: the intercept has all that the column can say */
} standard_units;

/* What a fit's options say of the columns. */
typedef struct {
    bool intercept;
    const size_t *category_of; /* as in pboost_fit_options */
} column_options;

static inline column_options pboost_column_options(const pboost_fit_options *o)
{
    return (column_options){o->intercept, o->category_of};
}

/* From the sums over n rows of x - base and of its square, by column.  Without an intercept to
 * absorb it nothing is taken off, and the scale is the root mean square.  A column that is constant
 * (with an intercept) or 0 has scale 1.  The levels of a category share a scale.  A column that
 * overflows is refused. */
pboost_status pboost_units_from_sums(standard_units *out, size_t cols, const double *base,
                                     const double *sum, const double *square, size_t n,
                                     column_options options, pboost_error *err);
/* From the rows of bags; features that are not finite are refused by name. */
pboost_status pboost_units_init(standard_units *out, const bag_rows *bags, column_options options,
                                int threads, pboost_error *err);
void pboost_units_free(standard_units *units);

/* Between the units of x (theta, intercept) and parameters in standard units, intercept first. */
void pboost_units_enter(double *parameter, const standard_units *u, const pboost_coef *coef,
                        bool intercept);
void pboost_units_leave(pboost_coef *coef, const standard_units *u, const double *parameter,
                        bool intercept);

/* The ridge of each weight in standard units: l2 where it is fixed, which is for the units of x;
 * otherwise `own`. */
void pboost_units_penalty(double *penalty, const standard_units *u, pboost_l2 l2, double own);

/* Finds the first column that says nothing, if it is before *first: one that the factor dropped (by
 * parameter), or one of the first `straight` columns that is constant.  A ridge keeps such a column
 * in the factor; then it is taken off the rank. */
void pboost_units_find_dropped(size_t *rank, size_t *first, const standard_units *u,
                               const unsigned char *dropped, size_t straight, bool intercept);

/* The rows of bags side by side in the order of the bags: passes over them read memory in order,
 * which is faster than rows from all over a table. */
typedef struct {
    bag_rows rows;
    bag_units units; /* that a pass must use: those found, or none where features are in them */
    pboost_matrix matrix;
    double *x, *weight, *offset;
    size_t *start;
} gathered_rows;

/* Finds the units in the same pass.  Where `convert`, or where a column is so far from 0 that it
 * must be shifted, features are put into them, which takes another pass.  out must not move: rows
 * points into it. */
pboost_status pboost_gather_rows(gathered_rows *out, standard_units *units, const bag_rows *bags,
                                 column_options options, bool convert, int threads,
                                 pboost_error *err);
void pboost_gathered_free(gathered_rows *gathered);

/* covariance ((cols+1) squared, intercept last, in the units of x) from that of the parameters.  A
 * constant column has none: its weight is 0 and adds nothing to what is unknown of the intercept.
 */
void pboost_units_covariance(double *covariance, const standard_units *u, const double *standard,
                             bool intercept);

#endif
