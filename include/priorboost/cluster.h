/* priorboost/cluster.h — the pieces of a training whose rows are spread over machines.
 *
 * The Python package runs them inside Spark (docs/spark.md).  Each piece gives the bits that the
 * trainer of core.h gives for the same rows: keys and orders depend on ids alone, bags are cut by the
 * same grid of chunks, and only sums over rows are added up in another order.
 *
 * They are exported for that package, not a stable interface. */
#ifndef PRIORBOOST_CLUSTER_H
#define PRIORBOOST_CLUSTER_H

#include <priorboost/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Keys and orders ------------------------------------------------------------------------- */

/* pboost_id_key of n ids that lie one after the other: id i is text[start[i] .. start[i+1]). */
PBOOST_API void pboost_text_keys(uint64_t *key, const char *text, const int32_t *start, size_t n);

/* The same for whole numbers, whose ids are their decimal digits. */
PBOOST_API void pboost_number_keys(uint64_t *key, const int64_t *id, size_t n);

/* What the shuffles of a training sort by, for index[i], or first + i where index is NULL.  Stream 0
 * orders rows by their keys, or with a round's seed positions in its slice; stream 1 turns the number
 * of a round into that seed. */
PBOOST_API void pboost_shuffle_keys(uint64_t *key, size_t n, uint64_t seed, uint64_t stream,
                                    const uint64_t *index, uint64_t first);

/* start[t] .. start[t+1] are the places of round t in the shuffled table; rounds + 1 entries. */
PBOOST_API pboost_status pboost_slices(size_t *start, pboost_schedule schedule, size_t rows,
                                       size_t rounds, size_t least_rows, pboost_error *err);

/* row = positions in the order (value, position); sorted, if not NULL, the values in it. */
PBOOST_API pboost_status pboost_order_scores(size_t *row, double *sorted, const double *score,
                                             size_t n, int threads, pboost_error *err);
PBOOST_API pboost_status pboost_order_keys(size_t *row, const uint64_t *key, size_t n, int threads,
                                           pboost_error *err);

/* ---- Optimal bags in pieces ------------------------------------------------------------------ */

/* How n sorted scores are cut into chunks: chunk c ends at (c+1) * (n / n_chunks), the last at n, and
 * starts `overlap` rows before the end of the one before. */
PBOOST_API void pboost_cut_grid(size_t *n_chunks, size_t *overlap, size_t n, size_t min_bag);

/* What all scores are multiplied by, from the least and the greatest of them. */
PBOOST_API double pboost_cut_scale(double lowest, double highest);

typedef enum pboost_cut {
    PBOOST_CUT_COMMON, /* the cuts that lie on a best path to anywhere beyond the piece */
    PBOOST_CUT_TO_END, /* those of the best path to the end of the piece */
    PBOOST_CUT_REST    /* the same, as is done where there are no common cuts to be had */
} pboost_cut;

/* The cuts of sorted score[0 .. n), 0 among them, ascending; room for n / min_bag + 2.
 * min_bag >= 2, n >= min_bag. */
PBOOST_API pboost_status pboost_cut_piece(size_t *cut, size_t *n_cuts, const double *score,
                                          size_t n, size_t min_bag, double scale, pboost_cut how,
                                          int threads, pboost_error *err);

/* ---- The event-level fit in parts ------------------------------------------------------------ */

/* What a part of the samples adds to the objective, for d columns: value, residual, curvature,
 * gradient (d), and with a Hessian cross (d) and gram (d x d, the lower triangle). */
#define PBOOST_PART_SIZE(d, hessian) (3 + (d) + ((hessian) ? (d) + (d) * (d) : 0))

/* Which columns are better moved, and by how much (0: not at all), judging by a few samples.  Returns
 * whether any is. */
PBOOST_API bool pboost_part_shift(double *shift, const pboost_samples *samples);

/* Those sums at coef, in columns less shift (NULL: 0). */
PBOOST_API pboost_status pboost_part_sums(double *sums, pboost_family family,
                                          const pboost_samples *samples, const pboost_coef *coef,
                                          const double *shift, bool hessian, int threads,
                                          pboost_error *err);

/* reach, slope and length along coef as a direction: the largest |x theta + intercept|, the total
 * slope of the losses at infinity and what to divide it by.  Parts combine by maximum, sum, sum. */
PBOOST_API pboost_status pboost_part_direction(double direction[3], pboost_family family,
                                               const pboost_samples *samples,
                                               const pboost_coef *coef, const double *shift,
                                               int threads, pboost_error *err);

/* All samples together, wherever they are: sums and direction as above, over all parts.  The first
 * call that fails is the last. */
typedef struct pboost_parts {
    void *self;
    pboost_status (*sums)(void *self, const pboost_coef *coef, bool hessian, double *sums,
                          pboost_error *err);
    pboost_status (*direction)(void *self, const pboost_coef *coef, double direction[3],
                               pboost_error *err);
} pboost_parts;

/* pboost_event_fit over parts.  target and rows (by bag) say what the targets are and how many
 * samples have each. */
PBOOST_API pboost_status pboost_parts_fit(pboost_coef *coef, pboost_fit_report *report,
                                          const pboost_parts *parts, const double *target,
                                          const double *rows, size_t n_bags, const double *shift,
                                          const pboost_fit_options *options, pboost_error *err);

#ifdef __cplusplus
}
#endif

#endif
