/* Checks of the input of fits of trees. */
#include <math.h>

#include "data/family.h"
#include "trees/checks.h"
#include "try.h"

#define MOST_LEAVES 256 /* their number is a byte */
#define MOST_FOLDS 255

pboost_status pboost_columns_check(const pboost_columns *columns, const size_t *row, size_t n,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    for (size_t j = 0; j < columns->n; j++)
        if (columns->column[j].number == NULL && columns->column[j].code == NULL)
            FAIL(err, PBOOST_INVALID, "column %zu has neither numbers nor codes", j);
    if (row == NULL && n > columns->rows)
        FAIL(err, PBOOST_INVALID, "there are %zu samples, but the columns have %zu rows", n,
             columns->rows);
    for (size_t i = 0; row != NULL && i < n; i++)
        if (row[i] >= columns->rows)
            FAIL(err, PBOOST_INVALID, "sample %zu is row %zu, but the columns have %zu rows", i,
                 row[i], columns->rows);
done:
    return st;
}

pboost_status pboost_forest_options_check(const pboost_forest_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    TRY(pboost_family_check(o->family, err));
    if (o->trees == 0 && o->max_trees == 0)
        FAIL(err, PBOOST_INVALID, "trees and max_trees are 0; one of them must not be");
    if (o->leaves < 2 || o->leaves > MOST_LEAVES)
        FAIL(err, PBOOST_INVALID, "leaves is %zu; it must be from 2 to %d", o->leaves, MOST_LEAVES);
    if (!(o->rate > 0.0 && o->rate <= 1.0))
        FAIL(err, PBOOST_INVALID, "rate is %g; it must be above 0 and at most 1", o->rate);
    if (!(o->l2 >= 0.0) || isinf(o->l2))
        FAIL(err, PBOOST_INVALID, "l2 is %g; it must be finite and not negative", o->l2);
    if (!(o->bag_fraction > 0.0 && o->bag_fraction <= 1.0))
        FAIL(err, PBOOST_INVALID, "bag_fraction is %g; it must be above 0 and at most 1",
             o->bag_fraction);
    if (!(o->column_fraction > 0.0 && o->column_fraction <= 1.0))
        FAIL(err, PBOOST_INVALID, "column_fraction is %g; it must be above 0 and at most 1",
             o->column_fraction);
    if (o->folds > MOST_FOLDS)
        FAIL(err, PBOOST_INVALID, "folds is %zu; it must be at most %d", o->folds, MOST_FOLDS);
    if (o->folds < 2 && o->trees == 0)
        FAIL(err, PBOOST_INVALID,
             "folds is %zu and trees 0: to find the number of trees takes 2 folds or more",
             o->folds);
    if (o->fold_start != NULL && o->fold == NULL)
        FAIL(err, PBOOST_INVALID, "fold_start is set, but fold is not");
    if (o->threads < 0)
        FAIL(err, PBOOST_INVALID, "threads is %d; it must not be negative", o->threads);
done:
    return st;
}

pboost_status pboost_forest_rows_check(const pboost_columns *columns, const double *start,
                                       const double *weight, const size_t *row, size_t n,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (columns->n == 0)
        FAIL(err, PBOOST_INVALID, "there are no columns to grow trees on");
    if (n > UINT32_MAX)
        FAIL(err, PBOOST_BAD_DATA, "there are %zu rows; trees take at most %u", n, UINT32_MAX);
    TRY(pboost_columns_check(columns, row, n, err));
    double total = 0.0;
    for (size_t i = 0; i < n; i++) {
        size_t r = row != NULL ? row[i] : i;
        if (start != NULL && !isfinite(start[r]))
            FAIL(err, PBOOST_BAD_DATA, "the start of row %zu is %g; it must be finite", r,
                 start[r]);
        if (weight != NULL && (!(weight[r] >= 0.0) || isinf(weight[r])))
            FAIL(err, PBOOST_BAD_DATA,
                 "the weight of row %zu is %g; it must be finite and not negative", r, weight[r]);
        total += weight != NULL ? weight[r] : 1.0;
    }
    if (!(total > 0.0))
        FAIL(err, PBOOST_BAD_DATA, "all weights are 0; some must be positive");
done:
    return st;
}

pboost_status pboost_forest_data_check(const bag_data *data, const pboost_columns *columns,
                                       const pboost_answers *answers,
                                       const pboost_forest_options *o, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    const bag_rows *rows = &data->rows;

    fit.family = o->family;
    TRY(pboost_bag_answers_check(data, &fit, err));
    if (answers->rounded)
        FAIL(err, PBOOST_INVALID,
             "the answers are rounded to 0 or 1; trees need means as they are");
    size_t first = rows->start[0], n = rows->start[rows->n_bags] - first;
    TRY(pboost_forest_rows_check(columns, rows->offset, rows->weight, rows->row + first, n, err));
    for (size_t b = 0; o->fold != NULL && b < rows->n_bags; b++)
        if (o->fold[b] >= o->folds)
            FAIL(err, PBOOST_INVALID, "bag %zu is in fold %d, but there are %zu", b, o->fold[b],
                 o->folds);
    for (size_t f = 0; o->fold_start != NULL && f < o->folds; f++)
        TRY(pboost_forest_rows_check(columns, o->fold_start[f], NULL, rows->row + first, n, err));
done:
    return st;
}
