/* Labels as the store keeps them: encrypted and authenticated, row by row.
 *
 * The rows of an import are a range with a key of its own, derived from a label key of the key file
 * and from random bytes that the store keeps (ledger_seal).  Under that key a row's slot is its
 * nonce, so no nonce is used twice; a label that was changed, or moved to another row or store,
 * does not open.  A row has one label, or one in each of several columns: 16 bytes and 8 for each
 * label. */
#ifndef PBOOST_SEAL_H
#define PBOOST_SEAL_H

#include <priorboost/ledger.h>

#include "key.h"
#include "store.h"

#define NO_LABEL INT64_MIN

enum { LABELS_MAX = PBOOST_LABEL_COLUMNS_MAX, SALT_BYTES = 32 };
#define SEALED_BYTES(n) (8 * (n) + crypto_aead_chacha20poly1305_ietf_ABYTES)
enum { SEALED_MAX = SEALED_BYTES(LABELS_MAX) };

typedef struct {
    int64_t first, n; /* slots */
    unsigned char key[KEY_BYTES];
    unsigned char store_id[STORE_ID_BYTES];
} label_seal;

typedef struct {
    size_t n, capacity;
    size_t at; /* the one that was used last: rows come in order */
    label_seal *seal;
} label_seals;

/* Those of slots from `first` on; a label key that is new in the key file is read from there. */
pboost_status pboost_seals_read(label_seals *out, store *s, int64_t first, pboost_error *err);
void pboost_seals_free(label_seals *seals);

/* A new one for these rows, with the label key that the key file says is in use now.  It is called
 * in a transaction that writes: see pboost_ledger_rekey. */
pboost_status pboost_seal_make(label_seal *out, store *s, int64_t first, int64_t n,
                               pboost_error *err);

/* The n labels of a row: SEALED_BYTES(n). */
void pboost_label_seal(unsigned char *out, const label_seal *seal, int64_t slot,
                       const int64_t *label, size_t n);

/* Null is NO_LABEL, n times; false: it does not open. */
bool pboost_label_open(int64_t *out, size_t n, label_seals *seals, int64_t slot,
                       const store_value *value);

#endif
