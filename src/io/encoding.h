/* What the model file shares with encodings. */
#ifndef PBOOST_ENCODING_H
#define PBOOST_ENCODING_H

#include "table.h"

enum { MAX_LEVELS = 1000 };

/* The order of levels. */
int pboost_by_bytes(const void *a, const void *b);

pboost_status pboost_refuse_missing(const pboost_table *table, const column *c, const char *advice,
                                    pboost_error *err);

/* Fills n_columns, n_curves and column from the features.  Two columns of one name are an error,
 * which says that they are in `where`. */
pboost_status pboost_encoding_name_columns(pboost_encoding *encoding, const char *where,
                                           pboost_error *err);

#endif
