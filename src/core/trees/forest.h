/* Forests, for the files of this room. */
#ifndef PBOOST_FOREST_H
#define PBOOST_FOREST_H

#include <priorboost/curves.h>

/* Refuses columns without cells, and samples outside them (row NULL: rows 0 .. n-1). */
pboost_status pboost_columns_check(const pboost_columns *columns, const size_t *row, size_t n,
                                   pboost_error *err);

#endif
