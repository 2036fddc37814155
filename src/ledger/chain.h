/* The hash chain: every entry's hash covers the entry and the one before it, down to the rules.
 *
 * A store that was restored from an old copy has another hash at the same number as soon as it adds
 * an entry, and lacks the hashes that clients have seen since.  The reply to a question names the
 * hash of its own entry, so the reply cannot be part of what is hashed; the entry's seal covers it,
 * and the next entry's hash covers the seal.
 *
 * The hashes of an answer cover 32 random bytes, its nonce, which is never shown: without it, a
 * reader of an exported ledger could find the sum of a bag by trying the few possible values.  The
 * store holds a MAC beside each link, so that an entry cannot be written without the key file. */
#ifndef PBOOST_CHAIN_H
#define PBOOST_CHAIN_H

#include <nettle/sha2.h>
#include <priorboost/ledger.h>

#include "bytes.h"
#include "key.h"
#include "store.h"

/* The version of what is hashed.  Version 3 of stores has other tables, but hashes as version 2. */
enum { CHAIN_VERSION = 2, NONCE_BYTES = 32 };

/* ---- Hashing --------------------------------------------------------------------------------- */

typedef struct {
    struct sha256_ctx state;
    size_t used;
    unsigned char buffer[4096];
} hasher;

void pboost_hash_start(hasher *h,
                       const char *what); /* what is hashed: each kind has its own name */
void pboost_hash_bytes(hasher *h, const void *data,
                       size_t length); /* of a length that was hashed before, or is fixed */
void pboost_hash_number(hasher *h, uint64_t number);
void pboost_hash_block(hasher *h, const void *data, size_t length); /* with its length */
digest pboost_hash_end(hasher *h);

void pboost_digest_text(char out[PBOOST_HEAD_TEXT], const digest *d);
bool pboost_digest_read(digest *out, const char *text);
bool pboost_digest_equal(const digest *a, const digest *b);

/* ---- Entries --------------------------------------------------------------------------------- */

/* What an entry says beside its numbers; small. */
typedef struct {
    size_t used;
    unsigned char byte[8192]; /* names of classes take most of the first entry */
} record;

void pboost_record_number(record *r, uint64_t number);
void pboost_record_bytes(record *r, const void *data, size_t length);
void pboost_record_text(record *r, const char *text); /* with its final zero */

/* Reading one: each takes the next part; a part that is not there sets `bad`. */
typedef struct {
    const unsigned char *byte;
    size_t left;
    bool bad;
} record_reader;

uint64_t pboost_read_number(record_reader *r);
digest pboost_read_digest(record_reader *r);
const char *pboost_read_text(record_reader *r); /* "" where it is bad */

typedef struct {
    const char *kind;
    int64_t time;
    uint64_t rows, bags;
    const void *data;
    size_t data_length;
} chain_entry;

typedef struct {
    int64_t number; /* -1: before the first */
    int version;    /* of its hash */
    digest hash, seal;
} chain_link;

/* The version of an entry's hash: that of the one before, except where it begins a new one. */
int pboost_chain_version(int before, const chain_entry *entry);

/* The link of an entry that follows `last`; its seal covers nonce and body (NULL: there is none).
 */
chain_link pboost_chain_next(const chain_link *last, const chain_entry *entry);
void pboost_chain_seal(chain_link *link, const unsigned char nonce[NONCE_BYTES], const void *body,
                       size_t length);

/* What is released by an answer, and its nonce. */
digest pboost_hash_released(int version, const unsigned char nonce[NONCE_BYTES], const void *data,
                            size_t length);

digest pboost_chain_mac(const ledger_keys *keys, const chain_link *link);

/* The last link of the store; number -1 where it is empty.  One whose MAC is wrong breaks the
 * store. */
pboost_status pboost_chain_last(chain_link *out, store *s, pboost_error *err);
/* A link from the columns number, hash, seal, mac. */
pboost_status pboost_chain_take(chain_link *out, store *s, const store_value value[4],
                                pboost_error *err);
pboost_status pboost_chain_at(chain_link *out, store *s, int64_t number, pboost_error *err);
pboost_status pboost_chain_knows(bool *out, store *s, const digest *hash, pboost_error *err);

/* What an answer released: by bag its sums with noise, then its size, and where the oracle has
 * several stores how many of its rows are in this one, 64 bits each.  An entry that claims rows for
 * an answer in another store has that last number alone. */
#define RELEASED_BYTES(width, stores) (8 * ((width) + 1 + ((stores) > 0)))

/* The rows of an answer that other stores have claimed, as its entry says after the request id; 0
 * where the oracle has one store. */
uint64_t pboost_rows_elsewhere(const void *data, size_t length);

/* "answer", and "claim" of another store's answer: entries that have a row of ledger_answer. */
bool pboost_kind_answers(const char *kind);

/* The rows that an entry claims or erases: 32 bits each. */
enum { SLOT_BYTES = 4 };
void pboost_slots_write(unsigned char *out, const uint32_t *slot, size_t n);
digest pboost_slots_hash(const void *slots, size_t length);

static inline uint32_t pboost_slot_read(const unsigned char *slots, size_t i)
{
    return (uint32_t)pboost_get_number(slots + SLOT_BYTES * i, SLOT_BYTES);
}

/* slots: as pboost_slots_write made them; NULL: none. */
pboost_status pboost_chain_append(store *s, const chain_link *link, const chain_entry *entry,
                                  const void *slots, size_t slots_length, pboost_error *err);

#endif
