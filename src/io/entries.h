/* Sparse rows while they are made: entries are added to the last row, rows are ended. */
#ifndef PBOOST_ENTRIES_H
#define PBOOST_ENTRIES_H

#include <priorboost/io.h>

typedef struct entry_list {
    size_t rows;      /* that are ended */
    size_t n;         /* entries, also those of the row that is not ended */
    uint64_t *start;  /* by row that is ended: the end of its entries */
    uint32_t *column; /* by entry */
    double *value;
    size_t start_capacity, column_capacity, value_capacity;
} entry_list;

pboost_status pboost_entry_list_add(entry_list *list, uint32_t column, double value,
                                    pboost_error *err);
pboost_status pboost_entry_list_end_row(entry_list *list, pboost_error *err);
void pboost_entry_list_free(entry_list *list);

/* Moves the rows to *out, in the least memory that holds their values exactly. */
pboost_status pboost_entry_list_finish(pboost_entries *out, entry_list *list, size_t cols,
                                       pboost_error *err);

#endif
