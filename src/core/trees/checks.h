/* Checks of the input of fits of trees. */
#ifndef PBOOST_TREES_CHECKS_H
#define PBOOST_TREES_CHECKS_H

#include <priorboost/curves.h>

#include "fit/aggregate/aggregate.h"

/* Refuses columns without cells, and samples outside them (row NULL: rows 0 .. n-1). */
pboost_status pboost_columns_check(const pboost_columns *columns, const size_t *row, size_t n,
                                   pboost_error *err);

/* Refuses options of a fit that are not valid. */
pboost_status pboost_forest_options_check(const pboost_forest_options *options, pboost_error *err);

/* Refuses a table without columns, and starts and weights (NULL: none) that are not valid. */
pboost_status pboost_forest_rows_check(const pboost_columns *columns, const double *start,
                                       const double *weight, const size_t *row, size_t n,
                                       pboost_error *err);

/* Refuses bags, answers, rows and folds that are not valid. */
pboost_status pboost_forest_data_check(const bag_data *data, const pboost_columns *columns,
                                       const pboost_answers *answers,
                                       const pboost_forest_options *options, pboost_error *err);

#endif
