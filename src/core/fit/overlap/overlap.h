/* The aggregate estimator for bags that share rows, for its own files and the table of estimators.
 */
#ifndef PBOOST_OVERLAP_H
#define PBOOST_OVERLAP_H

#include "fit/aggregate/aggregate.h"

/* Bags with a common covariance, at most; the work grows with the third power. */
#define MOST_SHARED ((size_t)4096)

/* Bags as they are fitted: rows whose labels are known are bags of one row and in no other bag, and
 * no answer follows from others.  Bags that share rows, directly or through others, are a block:
 * answers of different blocks are independent. */
typedef struct {
    const bag_rows *table; /* x, weight and offset */
    size_t n;              /* bags */
    size_t *start, *row;   /* rows of bag b: row[start[b] .. start[b+1]) */
    double *answer, *noise;
    size_t *origin;                /* by bag: its number as given */
    size_t n_blocks, *block;       /* block c is the bags block[c] .. block[c+1) */
    size_t n_rows, *used;          /* different rows, ascending */
    size_t *at;                    /* by entry of row: its position in used */
    size_t *holder_start, *holder; /* by position: the bags that hold the row, ascending */
    size_t redundant;              /* answers left out because they follow from others */
} shared_bags;

/* Refuses answers without noise that contradict each other, and blocks that are too large. */
pboost_status pboost_shared_bags_init(shared_bags *out, const bag_data *data, int threads,
                                      pboost_error *err);
void pboost_shared_bags_free(shared_bags *bags);
/* Keeps the bags order[0 .. n), in this order, and finds their blocks and rows again. */
pboost_status pboost_shared_bags_keep(shared_bags *bags, const size_t *order, size_t n,
                                      pboost_error *err);

/* The covariance of the answers over phi, in blocks: C + N/phi, with C from the labels and N from
 * the noise. */
typedef struct {
    double *memory;         /* of all blocks */
    double **matrix;        /* by block: the factor below the diagonal, C above it */
    double *own;            /* by bag: the diagonal of C */
    double *scale;          /* by bag, of the factor */
    unsigned char *dropped; /* by bag, of the factor */
    int threads;
} correlation;

pboost_status pboost_correlation_init(correlation *out, const shared_bags *bags, int threads,
                                      pboost_error *err);
void pboost_correlation_free(correlation *c);

/* Fills and factors it.  variance: by position of a row, that of its label over phi; NULL: 1.
 * may_drop: answers that follow from those before them are marked in `dropped`. */
void pboost_correlation_set(correlation *c, const shared_bags *bags, const double *variance,
                            double phi, bool may_drop);
pboost_cholesky pboost_correlation_block(const correlation *c, const shared_bags *bags,
                                         size_t block);
/* Multiplies the rows of x (bags x stride) by the inverse of the factor: then they are independent,
 * with variance phi. */
void pboost_correlation_whiten(double *x, size_t stride, const correlation *c,
                               const shared_bags *bags);
/* log |C + N/phi| */
double pboost_correlation_log_determinant(const correlation *c, const shared_bags *bags);
/* x' (C + N/phi)^-1 C (C + N/phi)^-1 x; work: `bags` numbers. */
double pboost_correlation_label_part(const correlation *c, const shared_bags *bags, const double *x,
                                     double *work);
/* The trace of (C + N/phi)^-1 C; work: `bags` numbers. */
double pboost_correlation_label_trace(const correlation *c, const shared_bags *bags, double phi,
                                      double *work);

/* Whether a row is in two of the bags. */
pboost_status pboost_bags_share_rows(bool *out, const bag_data *data, pboost_error *err);

/* Checks and fits.  The arguments are those of pboost_answers_fit. */
pboost_status pboost_overlap_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                 const pboost_features *features, const pboost_answers *answers,
                                 size_t first_bag, const pboost_fit_options *options,
                                 pboost_error *err);

#endif
