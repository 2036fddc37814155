/* Memory for later answers. */
#ifndef PBOOST_ANSWERS_H
#define PBOOST_ANSWERS_H

#include <priorboost/core.h>

/* Allocates memory for this many more rounds, bags and rows, so that asking allocates nothing. */
pboost_status pboost_answers_reserve(pboost_answers *answers, size_t rounds, size_t bags,
                                     size_t rows, pboost_error *err);

#endif
