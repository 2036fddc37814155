/* The weights of the members of a mixture. */
#ifndef PBOOST_MIXTURE_WEIGHTS_H
#define PBOOST_MIXTURE_WEIGHTS_H

#include <priorboost/curves.h>

#define MOST_MEMBERS 8

/* The predictions of members for bags that their fits had not seen. */
typedef struct {
    size_t n_members, n_bags;
    const double *const *predicted;   /* by member and bag */
    const double *answer, *precision; /* by bag: the answer and 1 / V */
} left_out_bags;

/* weight = the weights w >= 0 of sum 1 with the least
 *
 *     sum_B (answer_B - sum_m w_m predicted_mB)^2 / V_B  +  sum_m (w_m - expected_m)^2 / spread^2.
 *
 * The second term is a normal prior: where bags are few, the weights stay close to it. */
void pboost_mixture_weights(double *weight, const double *expected, double spread,
                            const left_out_bags *bags);

/* sum_B (answer_B - sum_m w_m predicted_mB)^2 / V_B. */
double pboost_mixture_misfit(const double *weight, const left_out_bags *bags);

/* Weights that are expected before the answers are seen, up to a factor, by kind of member. */
extern const double pboost_mixture_expected[PBOOST_MEMBER_KINDS];

/* Weighs members, whose kinds these are; the first is the constant.  expected: by kind.  Fills the
 * report: the weight and misfit of each, and the misfit of all. */
void pboost_mixture_weigh(pboost_mixture_report *report, const double *expected, const size_t *kind,
                          const left_out_bags *bags);

#endif
