/* The log of answers, as the core sees it.  oracle/answers.c fills it. */
#ifndef PBOOST_ANSWERS_H
#define PBOOST_ANSWERS_H

#include <priorboost/trainer.h>

/* Round t holds bags round_start[t] .. round_start[t+1], bag b the rows row[start[b] ..
 * start[b+1]). {0} is an empty log. */
struct pboost_answers {
    size_t n_rounds, n_bags, n_rows;
    size_t *round_start, *start, *row;
    double *mean;           /* by bag: the oracle's answer */
    double *noise_variance; /* by bag: c_B of the mechanism */
    size_t round_capacity, bag_capacity, row_capacity;
    bool rounded; /* some answers are means rounded to 0 or 1 */
};

/* Allocates memory for this many more rounds, bags and rows, so that asking allocates nothing.
 */
pboost_status pboost_answers_reserve(pboost_answers *answers, size_t rounds, size_t bags,
                                     size_t rows, pboost_error *err);

/* Frees what it holds: it is an empty log again. */
void pboost_answers_clear(pboost_answers *answers);

#endif
