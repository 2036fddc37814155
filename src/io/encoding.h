/* What the model file shares with encodings. */
#ifndef PBOOST_ENCODING_H
#define PBOOST_ENCODING_H

#include "table.h"

enum { MAX_LEVELS = 1000 };

/* The order of levels. */
int pboost_by_bytes(const void *a, const void *b);

pboost_status pboost_refuse_missing(const pboost_table *table, const column *c, const char *advice,
                                    pboost_error *err);

/* Whether the first column of a feature is a number, which can have a curve: a number, or a date by
 * its days or years. */
static inline bool pboost_feature_can_bend(const pboost_feature *f)
{
    return f->n_levels == 0 && (f->date == 0 || (f->date & (PBOOST_DATE_DAYS | PBOOST_DATE_YEAR)));
}

/* The first part of the dates of a feature, by row; NaN where they are missing. */
pboost_status pboost_encoding_times(double **out, const pboost_encoding *encoding,
                                    const pboost_feature *feature, const pboost_table *table,
                                    pboost_error *err);

/* Fills n_columns, n_curves and column from the features.  Two columns of one name are an error,
 * which says that they are in `where`. */
pboost_status pboost_encoding_name_columns(pboost_encoding *encoding, const char *where,
                                           pboost_error *err);

#endif
