/* The oracle of the paper's logistic experiments: the label 0 or 1 that a bag's noisy mean is
 * nearest to.
 *
 * Labels are 0 or 1 and only the rounded mean is released, so an answer is a coin whose chance
 * depends on the number of ones and the size of the bag.  This oracle tosses that coin; the
 * library's draws the noise, exactly and with the checks that an answer about real people needs.
 * The laws are the same (tests/unit/reproduce/test_rounded.c). */
#ifndef PBOOST_REPRODUCE_ROUNDED_H
#define PBOOST_REPRODUCE_ROUNDED_H

#include <priorboost/core.h>

typedef struct repro_rounded repro_rounded;

/* Borrows the labels.  epsilon 0/0 is no noise: then the answers are those of the library's oracle
 * with that seed.  The answers to question i are a function of the bags, the seed and i. */
pboost_status repro_rounded_create(repro_rounded **out, const unsigned char *label, size_t min_bag,
                                   pboost_rational epsilon, uint64_t seed, pboost_error *err);
void repro_rounded_free(repro_rounded *oracle);

/* No noise, 0/0, where the noise of epsilon changes an answer with a chance below 2^-63. */
pboost_rational repro_rounded_epsilon(pboost_rational epsilon);

/* Trusts its caller: each row in one bag, of at least min_bag rows of the table. */
pboost_oracle repro_rounded_interface(repro_rounded *oracle);

#endif
