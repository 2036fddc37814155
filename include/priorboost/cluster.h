/* priorboost/cluster.h — the pieces of a training whose rows are spread over machines.
 *
 * The Python package runs them inside Spark (docs/spark.md).  Each piece gives the bits that the
 * trainer of core.h gives for the same rows: keys and orders depend on ids alone, bags are cut by
 * the same grid of chunks, and only sums over rows are added up in another order.
 *
 * They are exported for that package, not a stable interface. */
#ifndef PRIORBOOST_CLUSTER_H
#define PRIORBOOST_CLUSTER_H

#include <priorboost/classes.h>

PBOOST_BEGIN

/* ---- Keys and orders ------------------------------------------------------------------------- */

/* pboost_id_key of n ids, one after the other in memory: id i is text[start[i] .. start[i+1]). */
void pboost_text_keys(uint64_t *key, const char *text, const int32_t *start, size_t n);

/* The same for whole numbers, whose ids are their decimal digits. */
void pboost_number_keys(uint64_t *key, const int64_t *id, size_t n);

/* The sort keys of a training's shuffles, for index[i], or first + i if index is NULL.  Stream
 * 0 orders rows by their keys, or with a round's seed positions in its slice; stream 1 turns the
 * number of a round into that seed. */
void pboost_shuffle_keys(uint64_t *key, size_t n, uint64_t seed, uint64_t stream,
                         const uint64_t *index, uint64_t first);

/* start[t] .. start[t+1] are the places of round t in the shuffled table; rounds + 1 entries. */
pboost_status pboost_slices(size_t *start, pboost_schedule schedule, size_t rows, size_t rounds,
                            size_t least_rows, pboost_error *err);

/* row = positions in the order (value, position); sorted, if not NULL, the values in it. */
pboost_status pboost_order_scores(size_t *row, double *sorted, const double *score, size_t n,
                                  int threads, pboost_error *err);
pboost_status pboost_order_keys(size_t *row, const uint64_t *key, size_t n, int threads,
                                pboost_error *err);

/* ---- Optimal bags in pieces ------------------------------------------------------------------ */

/* How n sorted scores are cut into chunks: chunk c ends at (c+1) * (n / n_chunks), the last at n,
 * and starts `overlap` rows before the end of the one before. */
void pboost_cut_grid(size_t *n_chunks, size_t *overlap, size_t n, size_t min_bag);

/* What all scores are multiplied by, from the least and the greatest of them. */
double pboost_cut_scale(double lowest, double highest);

typedef enum pboost_cut {
    PBOOST_CUT_COMMON, /* the cuts on a best path to any place beyond the piece */
    PBOOST_CUT_TO_END, /* those of the best path to the end of the piece */
    PBOOST_CUT_REST    /* the same, for a piece without common cuts */
} pboost_cut;

/* The cuts of sorted score[0 .. n), 0 among them, ascending; room for n / min_bag + 2.
 * min_bag >= 2, n >= min_bag. */
pboost_status pboost_cut_piece(size_t *cut, size_t *n_cuts, const double *score, size_t n,
                               size_t min_bag, double scale, pboost_cut how, int threads,
                               pboost_error *err);

/* ---- The event-level fit in parts ------------------------------------------------------------ */

/* What a part of the samples adds to the objective, for d columns: value, residual, curvature,
 * gradient (d), and with a Hessian cross (d) and gram (d x d, the lower triangle). */
#define PBOOST_PART_SIZE(d, hessian) (3 + (d) + ((hessian) ? (d) + (d) * (d) : 0))

/* Which columns should be shifted, and by how much (0: not at all), estimated from a few samples.
 * Returns whether any is shifted. */
bool pboost_part_shift(double *shift, const pboost_samples *samples);

/* Those sums at coef, in columns less shift (NULL: 0). */
pboost_status pboost_part_sums(double *sums, pboost_family family, const pboost_samples *samples,
                               const pboost_coef *coef, const double *shift, bool hessian,
                               int threads, pboost_error *err);

/* reach, slope and length along coef as a direction: the largest |x theta + intercept|, the total
 * slope of the losses at infinity and what to divide it by.  Parts combine by maximum, sum, sum. */
pboost_status pboost_part_direction(double direction[3], pboost_family family,
                                    const pboost_samples *samples, const pboost_coef *coef,
                                    const double *shift, int threads, pboost_error *err);

/* Sums and direction as above, over the samples of all parts.  After a call that fails there is no
 * other. */
typedef struct pboost_parts {
    void *self;
    pboost_status (*sums)(void *self, const pboost_coef *coef, bool hessian, double *sums,
                          pboost_error *err);
    pboost_status (*direction)(void *self, const pboost_coef *coef, double direction[3],
                               pboost_error *err);
} pboost_parts;

/* pboost_event_fit over parts.  target and noise (by bag) say what the targets are and the variance
 * of the noise in them; bag b has start[b+1] - start[b] samples.  As on one machine, the model is
 * constant if noise moved the mean of the targets out of the family's range.  options->cancel is
 * checked before every pass. */
pboost_status pboost_parts_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_parts *parts, size_t n_bags, const size_t *start,
                               const double *target, const double *noise, const double *shift,
                               const pboost_fit_options *options, pboost_error *err);

/* ---- The aggregate fit in parts -------------------------------------------------------------- */

/* A part of the bags, each whole: bag b is the rows start[b] .. start[b+1] of x. */
typedef struct pboost_part_bags {
    const pboost_matrix *x;
    size_t n_bags;
    const size_t *start;
} pboost_part_bags;

/* The parameters at which the moments of bags are computed.  Column j is
 * (x_j - shift_j - center_j) / scale_j; parameter has the intercept first, if there is one. */
typedef struct pboost_bag_point {
    pboost_family family;
    bool intercept;
    size_t cols;
    const double *shift, *center, *scale; /* shift NULL: 0 */
    const double *parameter;
} pboost_bag_point;

/* sums (2 cols): of x - base and of its square, by column. */
pboost_status pboost_part_columns(double *sums, const pboost_matrix *x, const double *base,
                                  pboost_error *err);

/* By bag: the mean that its answer is expected to be, and the variance of that per unit of
 * dispersion.  eta: sum and sum of squares of the linear predictors of all rows. */
pboost_status pboost_part_moments(double *mean, double *variance, double eta[2],
                                  const pboost_part_bags *bags, const pboost_bag_point *at,
                                  int threads, pboost_error *err);

/* With J_B the derivative of bag B's mean and n parameters: sum of weight_B J_B J_B' (n x n, the
 * lower triangle), then sum of weight_B residual_B J_B (n; zeros where residual is NULL). */
#define PBOOST_GRAM_SIZE(n) ((n) * (n) + (n))
pboost_status pboost_part_gram(double *sums, const pboost_part_bags *bags,
                               const pboost_bag_point *at, const double *weight,
                               const double *residual, int threads, pboost_error *err);

/* Values by bag, or summed, over the bags of all parts.  After a call that fails there is no other.
 */
typedef struct pboost_bag_parts {
    void *self;
    const double *base; /* of columns: a row of the table, or anything near its rows */
    pboost_status (*columns)(void *self, double *sums, pboost_error *err);
    pboost_status (*moments)(void *self, const pboost_bag_point *at, double *mean, double *variance,
                             double eta[2], pboost_error *err);
    pboost_status (*gram)(void *self, const pboost_bag_point *at, const double *weight,
                          const double *residual, double *sums, pboost_error *err);
    bool laplace; /* the noise of answers is Laplace; else normal, or of an unknown law */
} pboost_bag_parts;

/* pboost_aggregate_fit over parts.  Bag b has start[b+1] - start[b] rows, the answer answer[b] and
 * noise of variance noise[b].  covariance ((n+1) x (n+1)) may be NULL.  Neither l2 by
 * cross-validation nor the sandwich. */
pboost_status pboost_bag_parts_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                   const pboost_bag_parts *parts, size_t n_bags,
                                   const size_t *start, const double *answer, const double *noise,
                                   const pboost_fit_options *options, pboost_error *err);

/* ---- Several classes ------------------------------------------------------------------------- */

/* direction = where vectors of `classes` numbers vary most, of which cross (classes squared; lost)
 * has the cross products about their mean.  A row's score is its probabilities along it. */
pboost_status pboost_leading_direction(double *direction, double *cross, size_t classes,
                                       pboost_error *err);

/* The parameters at which bags of classes are computed: those of class 1 first, of each class as in
 * pboost_bag_point.  There are n = (classes - 1) (cols + intercept). */
typedef struct pboost_class_point {
    size_t classes, cols;
    bool intercept;
    const double *shift, *center, *scale; /* shift NULL: 0 */
    const double *parameter;
} pboost_class_point;

/* What the fit knows of each bag: its answer (`classes` numbers), the variance of their noise
 * (NULL: none), and the size and noise that its weights are made of. */
typedef struct pboost_class_bags {
    const double *answer, *noise;
    const double *size, *blur;
} pboost_class_bags;

/* By bag and class: the expected proportion and its variance.  eta, by class: sum of the linear
 * predictors of all rows, then sum of their squares. */
pboost_status pboost_part_class_moments(double *mean, double *variance, double *eta,
                                        const pboost_part_bags *bags, const pboost_class_point *at,
                                        int threads, pboost_error *err);

/* The matrix (n x n, lower triangle) and the vector (n) of the fit's next step: PBOOST_GRAM_SIZE(n)
 * numbers. */
pboost_status pboost_part_class_gram(double *sums, const pboost_part_bags *bags,
                                     const pboost_class_point *at, const pboost_class_bags *known,
                                     int threads, pboost_error *err);

/* What the covariance is made of (n x n, lower triangle), and by bag how far its answer is from
 * what is expected, squared, in standard deviations. */
pboost_status pboost_part_class_meat(double *sums, double *misfit, const pboost_part_bags *bags,
                                     const pboost_class_point *at, const pboost_class_bags *known,
                                     int threads, pboost_error *err);

/* The sum of s s' (n x n, lower triangle), where s is what a bag adds to that vector: ridge and
 * sandwich are made of it. */
pboost_status pboost_part_class_scores(double *sums, const pboost_part_bags *bags,
                                       const pboost_class_point *at, const pboost_class_bags *known,
                                       int threads, pboost_error *err);

/* The event-level fit, whose rows have the answers of their bags (answer: by row and class): the
 * loss, its rounding, eta as above, then matrix and vector. */
#define PBOOST_CLASS_ROWS_SIZE(classes, n) (2 + 2 * (classes) + PBOOST_GRAM_SIZE(n))
pboost_status pboost_part_class_rows(double *sums, const pboost_matrix *x, const double *answer,
                                     const pboost_class_point *at, int threads, pboost_error *err);

/* These over all parts; `rows` is for the event estimator, moments, gram, meat and scores
 * are for aggregate.  After a call that fails there is no other. */
typedef struct pboost_class_parts {
    void *self;
    const double *base; /* as in pboost_bag_parts */
    pboost_status (*columns)(void *self, double *sums, pboost_error *err);
    pboost_status (*moments)(void *self, const pboost_class_point *at, double *mean,
                             double *variance, double *eta, pboost_error *err);
    pboost_status (*gram)(void *self, const pboost_class_point *at, const pboost_class_bags *known,
                          double *sums, pboost_error *err);
    pboost_status (*meat)(void *self, const pboost_class_point *at, const pboost_class_bags *known,
                          double *sums, double *misfit, pboost_error *err);
    pboost_status (*scores)(void *self, const pboost_class_point *at,
                            const pboost_class_bags *known, double *sums, pboost_error *err);
    pboost_status (*rows)(void *self, const pboost_class_point *at, double *sums,
                          pboost_error *err);
} pboost_class_parts;

/* pboost_classes_fit over parts.  Bag b has start[b+1] - start[b] rows and `classes` numbers of
 * answer and noise.  After the event estimator worse_than_constant is not
 * known. */
pboost_status pboost_class_parts_fit(pboost_class_coef *coef, pboost_fit_report *report,
                                     double *covariance, const pboost_class_parts *parts,
                                     size_t n_bags, const size_t *start, const double *answer,
                                     const double *noise, const pboost_fit_options *options,
                                     pboost_error *err);

PBOOST_END

#endif
