/* Memory that is kept from one round of training to the next.
 *
 * What a round needs depends on its slice alone, and slices are alike: a workspace keeps what was
 * given back and hands it out again, so that rounds after the first of their kind take nothing from
 * the system.  Whoever repeats owns one: the trainer for bags, the model for scores and fits.  A
 * single call has none, NULL: it takes memory from the system and gives it back there. */
#ifndef PBOOST_WORKSPACE_H
#define PBOOST_WORKSPACE_H

#include <priorboost/core.h>

#define WORKSPACE_BLOCKS 40 /* more than a round holds at once */

typedef struct pboost_workspace {
    size_t n_blocks;
    struct {
        void *memory;
        size_t bytes;
        bool taken;
    } block[WORKSPACE_BLOCKS];
} pboost_workspace;

/* Frees everything, taken or not. */
void pboost_workspace_free(pboost_workspace *work);

/* n items of uninitialised memory, at least one byte; NULL where there is none to be had.  Not for
 * several threads at once. */
void *pboost_take(pboost_workspace *work, size_t n, size_t size);
/* The same, all zeros. */
void *pboost_take_zeros(pboost_workspace *work, size_t n, size_t size);
/* Gives back what was taken; memory from elsewhere is freed.  NULL is let through. */
void pboost_give(pboost_workspace *work, void *memory);

/* ---- What a round does, each as the function of its name in core.h --------------------------- */

/* Bags of a workspace are given back to it. */
pboost_status pboost_bags_optimal_in(pboost_workspace *work, pboost_bags *out, const double *score,
                                     size_t n, size_t min_bag, int threads, pboost_error *err);
pboost_status pboost_bags_random_in(pboost_workspace *work, pboost_bags *out, size_t n,
                                    size_t min_bag, uint64_t seed, pboost_error *err);
void pboost_bags_give(pboost_workspace *work, pboost_bags *bags);

/* pboost_bags_check as far as the table need not be known: bags that are malformed or too small. */
pboost_status pboost_bags_check_starts(const pboost_bags *bags, size_t min_bag, pboost_error *err);

/* seen is of table_rows / 8 + 1 bytes, all zeros, before and after. */
pboost_status pboost_bags_check_in(unsigned char *seen, const pboost_bags *bags, size_t table_rows,
                                   size_t min_bag, pboost_error *err);

pboost_status pboost_predict_in(pboost_workspace *work, double *mean, pboost_family family,
                                const pboost_samples *samples, const pboost_coef *coef, int threads,
                                pboost_error *err);

/* The means by which bags are made.  A Poisson fit to answers that are mostly noise, or to rows unlike
 * these, can predict means that overflow.  For making bags they are just very large: the rows that
 * are left can still be asked about. */
pboost_status pboost_score_in(pboost_workspace *work, double *score, pboost_family family,
                              const pboost_samples *samples, const pboost_coef *coef, int threads,
                              pboost_error *err);

pboost_status pboost_event_fit_in(pboost_workspace *work, pboost_coef *coef,
                                  pboost_fit_report *report, const pboost_samples *samples,
                                  const pboost_fit_options *options, pboost_error *err);

pboost_status pboost_answers_fit_in(pboost_workspace *work, pboost_coef *coef,
                                    pboost_fit_report *report, double *covariance,
                                    const pboost_matrix *x, const double *weight,
                                    const double *offset, const pboost_answers *answers,
                                    size_t first_bag, const pboost_fit_options *options,
                                    pboost_error *err);

#endif
