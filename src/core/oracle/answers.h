/* Room for answers to come. */
#ifndef PBOOST_ANSWERS_H
#define PBOOST_ANSWERS_H

#include <priorboost/core.h>

/* Makes room for so many more rounds, bags and rows, so that asking about them allocates nothing.
 */
pboost_status pboost_answers_reserve(pboost_answers *answers, size_t rounds, size_t bags,
                                     size_t rows, pboost_error *err);

#endif
