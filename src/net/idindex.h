/* From the id of a row to its number in the table. */
#ifndef PBOOST_NET_IDINDEX_H
#define PBOOST_NET_IDINDEX_H

#include <priorboost/ledger.h>

typedef struct id_index {
    const pboost_id *id; /* by row; borrowed */
    const pboost_id **sorted;
    size_t n;
} id_index;

/* The text of a number and the number are the same id: see pboost_remote_id. */
pboost_status pboost_id_index_make(id_index *out, const pboost_id *id, size_t n, pboost_error *err);
void pboost_id_index_free(id_index *index);

/* The row with this id; SIZE_MAX: there is none. */
size_t pboost_id_index_find(const id_index *index, const pboost_id *id);

#endif
