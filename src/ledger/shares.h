/* How often a unit may be used in each scope: fixed shares of unit_rows.
 *
 * The uses of a unit have the numbers 0 .. unit_rows - 1, and each scope has a range of them for
 * itself.  So the store's constraint on (unit, use) bounds all uses of a unit together, and what is
 * asked in one scope changes nothing in another.  Without shares all numbers belong to the scope of
 * the unit's first row, and a unit in two scopes is not imported. */
#ifndef PBOOST_SHARES_H
#define PBOOST_SHARES_H

#include "ids.h"

typedef struct {
    size_t n;        /* at least 1 */
    bool named;      /* false: there are no shares, only one range */
    id_map scope;    /* names, by share */
    uint32_t *first; /* by share: its first use; n + 1 of them */
} unit_shares;

/* "A=2,B=1", or "" for none.  Names have no blank, comma or equals sign; the sum is at most
 * unit_rows. */
pboost_status pboost_shares_parse(unit_shares *out, const char *text, size_t unit_rows,
                                  pboost_error *err);
void pboost_shares_free(unit_shares *shares);

/* The share of a scope by name; NO_NUMBER: it has none. */
uint32_t pboost_shares_find(const unit_shares *shares, const char *scope);

static inline uint32_t pboost_shares_rows(const unit_shares *shares, uint32_t share)
{
    return shares->first[share + 1] - shares->first[share];
}

/* The share that a use belongs to; NO_NUMBER: none. */
uint32_t pboost_shares_of_use(const unit_shares *shares, int64_t use);

#endif
