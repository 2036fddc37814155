/* Which rows are spent, as the store keeps it: one bit by row, in blocks.
 *
 * The entries of the chain name the rows that they claim.  The bits say the same a second time, so
 * that a claim is compared to what the store itself holds, not only to the copy in memory.  Opening
 * a ledger compares the two. */
#ifndef PBOOST_LEDGER_CLAIMS_H
#define PBOOST_LEDGER_CLAIMS_H

#include "store.h"

/* Rows and bytes of a block.  A block stays below the 2 KB from which PostgreSQL stores a value
 * apart, and three of them fit into a page of SQLite; so a claim of a few rows writes little. */
enum { CLAIM_ROWS = 1 << 13, CLAIM_BYTES = CLAIM_ROWS / 8 };

/* Marks rows as spent, in the transaction that is open; rows is how many there are.
 * PBOOST_REFUSED: one of them is spent already, or is named twice. */
pboost_status pboost_claims_add(store *s, const uint32_t *slot, size_t n, size_t rows,
                                pboost_error *err);

/* Sets the bits of all spent rows in spent[0 .. rows / 64], which are zero before. */
pboost_status pboost_claims_read(uint64_t *spent, size_t rows, store *s, pboost_error *err);

#endif
