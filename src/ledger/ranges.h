/* What an import brought: a range of rows, one of units and one of scopes, each with a hash.
 *
 * Without them a person could be given a second name, or a row another scope, by an edit that the
 * chain does not show. */
#ifndef PBOOST_LEDGER_RANGES_H
#define PBOOST_LEDGER_RANGES_H

#include "labels.h"

typedef enum { RANGE_ROWS, RANGE_UNITS, RANGE_SCOPES, RANGE_KINDS } range_kind;

typedef struct {
    int64_t first, n;
    digest hash; /* of the digests of its rows or names, in order */
    int version; /* of the entry that has it */
    bool erased; /* the range has an id that was erased: see pboost_ranges_hash */
} name_range;

typedef struct {
    name_range of[RANGE_KINDS];
} name_ranges;

typedef struct {
    const char *table, *what, *sql;
} range_info;

extern const range_info RANGES[RANGE_KINDS];

void pboost_ranges_write(record *r, const name_ranges *ranges);
name_ranges pboost_ranges_read(record_reader *r);

/* Hashes ranges of one table as the store has them now; they are in order and do not overlap.
 * *total gets how many rows the table has.  Version 1 knew rows by their ids only, so its hash
 * cannot be computed where an id was erased. */
pboost_status pboost_ranges_hash(name_range *range, size_t n, int64_t *total, range_kind kind,
                                 store *s, pboost_error *err);

#endif
