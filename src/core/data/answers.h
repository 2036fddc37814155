/* The log of answers, as the core sees it.  oracle/answers.c fills it. */
#ifndef PBOOST_ANSWERS_H
#define PBOOST_ANSWERS_H

#include <priorboost/trainer.h>

/* Round t holds bags round_start[t] .. round_start[t+1], bag b the rows row[start[b] ..
 * start[b+1]). {0} is an empty log. */
struct pboost_answers {
    size_t n_rounds, n_bags, n_rows;
    size_t *round_start, *start, *row;
    size_t width;           /* numbers by bag; 0 before memory is reserved */
    double *mean;           /* by bag, `width` each: the oracle's answer */
    double *noise_variance; /* by bag, `width` each: c_B of the mechanism */
    size_t round_capacity, bag_capacity, number_capacity, row_capacity;
    bool rounded;     /* some answers are means rounded to 0 or 1 */
    bool other_noise; /* some noise is not Laplace, or of an unknown law */
};

/* Allocates memory for this many more rounds, bags of `width` numbers and rows, so that asking
 * allocates nothing.  Refuses a width that is not that of the rounds in the log. */
pboost_status pboost_answers_reserve(pboost_answers *answers, size_t width, size_t rounds,
                                     size_t bags, size_t rows, pboost_error *err);

/* `who`, which can use one number by bag only, refuses other answers; and rules (checked before)
 * of an oracle that will give such answers. */
pboost_status pboost_answers_check_scalar(const pboost_answers *answers, const char *who,
                                          pboost_error *err);
pboost_status pboost_rules_check_scalar(const pboost_rules *rules, const char *who,
                                        pboost_error *err);

/* Frees what it holds: it is an empty log again. */
void pboost_answers_clear(pboost_answers *answers);

#endif
