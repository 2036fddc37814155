/* priorboost/trainer.h — the parts of a run: bags, the log of answers, fits to it, and the trainer
 * that drives any oracle and any model.  Conventions are those of core.h. */
#ifndef PRIORBOOST_TRAINER_H
#define PRIORBOOST_TRAINER_H

#include <priorboost/core.h>

PBOOST_BEGIN

/* ---- Bags ------------------------------------------------------------------------------------ */

/* In all of these rows are numbered 0 .. n-1, in the order of score or samples. */

/* The bags of least total within-bag sum of squares among all partitions of score[0 .. n) into bags
 * of at least min_bag (paper, eq. 1dimKmeans): bags of k to 2k-1 rows, contiguous in the order of
 * score; equal scores keep their order of input. */
pboost_status pboost_bags_optimal(pboost_bags *out, const double *score, size_t n, size_t min_bag,
                                  int threads, pboost_error *err);

/* Bags of min_bag rows or a few more: a seeded shuffle of 0 .. n-1 cut into floor(n/k) parts. */
pboost_status pboost_bags_random(pboost_bags *out, size_t n, size_t min_bag, uint64_t seed,
                                 pboost_error *err);

/* Bags that differ as much as possible in every direction of the features, which is what the
 * aggregate estimator learns from: floor(n/k) of them, of k to 2k-1 rows (where the features have
 * one direction alone, the optimal bags along it).  They need no prior.  Only x and row of samples
 * are used.  cancel (NULL: none) is checked from time to time. */
pboost_status pboost_bags_features(pboost_bags *out, const pboost_samples *samples, size_t min_bag,
                                   int threads, const pboost_cancel *cancel, pboost_error *err);

/* The same with a prior's mean by sample, `score`: rows count by the variance there, and the score
 * is one more direction. */
pboost_status pboost_bags_hybrid(pboost_bags *out, const pboost_samples *samples,
                                 pboost_family family, const double *score, size_t min_bag,
                                 int threads, const pboost_cancel *cancel, pboost_error *err);

/* The k-means objective: sum over bags of the squared distances of score to the bag's mean. */
double pboost_bags_cost(const pboost_bags *bags, const double *score);

/* ---- Bags of more persons than rows ---------------------------------------------------------- */

/* A table may have a sample of the persons of each bag, or only the means of the features.  In both
 * cases a weight of persons/rows for every row of a bag says how many labels its answer averages,
 * and bag_effects allow for what the rows do not show. */

/* The rows of x (row-major, `cols` numbers each) are random samples of the persons of their bags.
 * Moves the rows of each bag together, so that their mean is the best linear prediction of that of
 * all its persons: a fit to means with sampling error would shrink the weights.  persons: by bag.
 * fraction (by column) gets the part of the variance between bags that is sampling error.  limited:
 * some combination of columns varies no more between bags than sampling error does. */
pboost_status pboost_bags_calibrate(double *x, size_t cols, const pboost_bags *bags,
                                    const double *persons, double *fraction, bool *limited,
                                    pboost_error *err);

/* Rows that stand for bags of which means and standard deviations are known (rows x cols each): out
 * gets `points` rows for each of them, side by side, with this mean and these variances, and with
 * covariance 0. */
size_t pboost_spread_points(const double *sd, size_t rows, size_t cols);
void pboost_spread_rows(double *out, const double *mean, const double *sd, size_t rows,
                        size_t cols);

/* ---- Answers --------------------------------------------------------------------------------- */

/* The append-only log of bags asked and answers received.  Bags are numbered across rounds. */
typedef struct pboost_answers pboost_answers;

pboost_status pboost_answers_create(pboost_answers **out, pboost_error *err);
void pboost_answers_free(pboost_answers *answers);

/* Asks the oracle about the bags as the next round and appends its answers.  After a failure the
 * log is as it was.  The rows may be spent.  Ask about the same bags again if the oracle answers a
 * repeated question with the same answers, as a remote oracle does. */
pboost_status pboost_answers_ask(pboost_answers *answers, const pboost_oracle *oracle,
                                 const pboost_bags *bags, pboost_error *err);

/* Appends bags whose means are known already, as the next round: districts, clinics, exports.
 * noise_variance (by bag) may be NULL: 0.  Bags may share rows, as the margins of a table do: the
 * aggregate estimator allows for it, and takes a bag of one row as a known label.  After a failure
 * the log is as it was. */
pboost_status pboost_answers_append(pboost_answers *answers, const pboost_bags *bags,
                                    const double *mean, const double *noise_variance,
                                    pboost_error *err);
/* The same for answers of `width` numbers by bag. */
pboost_status pboost_answers_append_vectors(pboost_answers *answers, const pboost_bags *bags,
                                            size_t width, const double *mean,
                                            const double *noise_variance, pboost_error *err);

/* A log of one number of each answer, such as that of a label column, with the same rounds and
 * bags: for a fit that takes one number.  *out is freed with pboost_answers_free. */
pboost_status pboost_answers_number(pboost_answers **out, const pboost_answers *answers,
                                    size_t number, pboost_error *err);

/* What is in the log, borrowed until the next round is added; bags are not to be freed. */
pboost_bags pboost_answers_bags(const pboost_answers *answers);
size_t pboost_answers_rounds(const pboost_answers *answers);
/* The first bag of a round (from 0); of the round after the last: the number of bags. */
size_t pboost_answers_round_start(const pboost_answers *answers, size_t round);
/* By bag, `width` numbers each: what the oracle said, and the variance of the noise in it.  All
 * rounds of a log have the width of the first; it is 1 before that. */
const double *pboost_answers_mean(const pboost_answers *answers);
const double *pboost_answers_noise_variance(const pboost_answers *answers);
size_t pboost_answers_width(const pboost_answers *answers);

/* ---- Fits ------------------------------------------------------------------------------------ */

/* Fits the bags from first_bag on with options->estimator, starting from coef; the equations are in
 * docs/estimators-appendix.md.  covariance, if not NULL, gets (n+1) x (n+1) entries, those of the
 * intercept last (0 where there is none); NaN where the estimator has none.  A weight w of the
 * aggregate estimator says that the label's variance is that of the family divided by w; answers
 * are plain means, so it cannot say that a row counts more.  After a failure coef is as it was, or
 * is the fit where only the check against a constant model failed (out of memory). */
pboost_status pboost_answers_fit(pboost_coef *coef, pboost_fit_report *report, double *covariance,
                                 const pboost_features *features, const pboost_answers *answers,
                                 size_t first_bag, const pboost_fit_options *options,
                                 pboost_error *err);

/* Minimises sum_i weight_i * loss(target_i, x_i theta + intercept + offset_i) + (l2/2) |theta|^2,
 * starting from coef (paper, eq. 1).  Logistic targets may be anything between 0 and 1, or outside
 * when noise put them there.  A column that adds nothing gets weight 0 and is reported.  After a
 * failure or a cancel coef does not change. */
pboost_status pboost_event_fit(pboost_coef *coef, pboost_fit_report *report,
                               const pboost_samples *samples, const pboost_fit_options *options,
                               pboost_error *err);

/* How well coef explains the answers of bags first_bag .. end_bag-1 without any label: the
 * dispersion D for which sum_B (answer_B - mu_B)^2 / (D a_B + c_B) is the number of bags.  At best
 * that of the labels: 1 for logistic, the residual variance for linear. */
pboost_status pboost_bag_deviance(double *out, pboost_family family,
                                  const pboost_features *features, const pboost_answers *answers,
                                  size_t first_bag, size_t end_bag, const pboost_coef *coef,
                                  int threads, pboost_error *err);

/* ---- The trainer ----------------------------------------------------------------------------- */

/* A model under training.  It owns or borrows the features and sees labels only as answers. */
typedef struct pboost_learner {
    void *self;
    /* score[i] = predicted mean response of row[i], on the response scale */
    pboost_status (*score)(void *self, const size_t *row, size_t n, double *score,
                           pboost_error *err);
    /* refit on the answers from bag first_bag to the last; after a failure the next step calls it
     * again, with the same answers */
    pboost_status (*fit)(void *self, const pboost_answers *answers, size_t first_bag,
                         pboost_error *err);
} pboost_learner;

/* oracle and learner are copied (as interfaces) and must outlive the trainer. */
pboost_status pboost_trainer_create(pboost_trainer **out, size_t rows, const pboost_oracle *oracle,
                                    const pboost_learner *learner,
                                    const pboost_trainer_options *options, pboost_error *err);
void pboost_trainer_free(pboost_trainer *trainer);

/* One round, or all rounds that are left.  Both may be called again after any failure, and continue
 * from there:
 *   - before or while the oracle is asked: the next step makes the same bags and asks about them;
 *   - in learner.fit, also by a cancel: the answers are in the log; the next step does not ask, it
 *     calls learner.fit on them;
 *   - PBOOST_CANCELLED by on_round: that round is done.
 * When all rounds are done, a step fails with PBOOST_INVALID. */
pboost_status pboost_trainer_step(pboost_trainer *trainer, pboost_error *err);
pboost_status pboost_trainer_run(pboost_trainer *trainer, pboost_error *err);

/* Makes the next round ask about these bags: those that an earlier run of the same training asked
 * about in this round.  The bags are copied; they must hold the rows of the round, each once
 * (PBOOST_INVALID), in bags of at least the oracle's min_bag (PBOOST_REFUSED).  After a failure the
 * trainer is as it was. */
pboost_status pboost_trainer_recall(pboost_trainer *trainer, const pboost_bags *bags,
                                    pboost_error *err);
bool pboost_trainer_done(const pboost_trainer *trainer);
size_t pboost_trainer_rounds_done(const pboost_trainer *trainer);
const pboost_round *pboost_trainer_history(const pboost_trainer *trainer); /* by round */
const pboost_answers *pboost_trainer_answers(const pboost_trainer *trainer);

PBOOST_END

#endif
