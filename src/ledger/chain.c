/* The hash chain: SHA-256 over an encoding in which every part has a fixed length or starts with
 * its length. */
#include "chain.h"

#include <string.h>

/* ---- Hashing --------------------------------------------------------------------------------- */

void pboost_hash_bytes(hasher *h, const void *data, size_t length)
{
    if (length == 0)
        return;
    if (h->used + length > sizeof h->buffer) {
        crypto_hash_sha256_update(&h->state, h->buffer, h->used);
        h->used = 0;
    }
    if (length > sizeof h->buffer) {
        crypto_hash_sha256_update(&h->state, data, length);
        return;
    }
    memcpy(h->buffer + h->used, data, length);
    h->used += length;
}

void pboost_hash_number(hasher *h, uint64_t number)
{
    unsigned char byte[8];
    for (int i = 0; i < 8; i++)
        byte[i] = (unsigned char)(number >> 8 * i);
    pboost_hash_bytes(h, byte, sizeof byte);
}

void pboost_hash_block(hasher *h, const void *data, size_t length)
{
    pboost_hash_number(h, length);
    pboost_hash_bytes(h, data, length);
}

void pboost_hash_start(hasher *h, const char *what)
{
    crypto_hash_sha256_init(&h->state);
    h->used = 0;
    pboost_hash_block(h, what, strlen(what));
}

digest pboost_hash_end(hasher *h)
{
    digest d;
    crypto_hash_sha256_update(&h->state, h->buffer, h->used);
    crypto_hash_sha256_final(&h->state, d.byte);
    return d;
}

void pboost_digest_text(char out[PBOOST_HEAD_TEXT], const digest *d)
{
    sodium_bin2hex(out, PBOOST_HEAD_TEXT, d->byte, sizeof d->byte);
}

bool pboost_digest_read(digest *out, const char *text)
{
    size_t length = 0;
    return strnlen(text, PBOOST_HEAD_TEXT) == 2 * sizeof out->byte &&
           sodium_hex2bin(out->byte, sizeof out->byte, text, 2 * sizeof out->byte, NULL, &length,
                          NULL) == 0 &&
           length == sizeof out->byte;
}

bool pboost_digest_equal(const digest *a, const digest *b)
{
    return sodium_memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

/* ---- Entries --------------------------------------------------------------------------------- */

void pboost_record_bytes(record *r, const void *data, size_t length)
{
    if (length <= sizeof r->byte - r->used) {
        memcpy(r->byte + r->used, data, length);
        r->used += length;
    }
}

void pboost_record_number(record *r, uint64_t number)
{
    unsigned char byte[8];
    for (int i = 0; i < 8; i++)
        byte[i] = (unsigned char)(number >> 8 * i);
    pboost_record_bytes(r, byte, sizeof byte);
}

void pboost_record_text(record *r, const char *text)
{
    pboost_record_bytes(r, text, strlen(text) + 1);
}

chain_link pboost_chain_next(const chain_link *last, const chain_entry *entry)
{
    chain_link link = {.number = last->number + 1};
    hasher h;

    pboost_hash_start(&h, "priorboost ledger entry 1");
    pboost_hash_number(&h, (uint64_t)link.number);
    pboost_hash_bytes(&h, last->hash.byte, sizeof last->hash.byte);
    pboost_hash_bytes(&h, last->seal.byte, sizeof last->seal.byte);
    pboost_hash_block(&h, entry->kind, strlen(entry->kind));
    pboost_hash_number(&h, (uint64_t)entry->time);
    pboost_hash_number(&h, entry->rows);
    pboost_hash_number(&h, entry->bags);
    pboost_hash_block(&h, entry->data, entry->data_length);
    link.hash = pboost_hash_end(&h);
    pboost_chain_seal(&link, NULL, 0);
    return link;
}

void pboost_chain_seal(chain_link *link, const void *body, size_t length)
{
    hasher h;

    pboost_hash_start(&h, "priorboost ledger seal 1");
    pboost_hash_bytes(&h, link->hash.byte, sizeof link->hash.byte);
    pboost_hash_block(&h, body, length);
    link->seal = pboost_hash_end(&h);
}

/* ---- In the store ---------------------------------------------------------------------------- */

static bool take_digest(digest *out, const store_value *value)
{
    if (value->kind != VALUE_BYTES || value->length != sizeof out->byte)
        return false;
    memcpy(out->byte, value->data, sizeof out->byte);
    return true;
}

static pboost_status take_link(void *user, const store_value *value, size_t n, pboost_error *err)
{
    (void)n;
    chain_link *link = user;
    link->number = value[0].number;
    if (!take_digest(&link->hash, &value[1]) || !take_digest(&link->seal, &value[2]))
        return pboost_fail(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged",
                           (long long)link->number);
    return PBOOST_OK;
}

pboost_status pboost_chain_last(chain_link *out, store *s, pboost_error *err)
{
    *out = (chain_link){.number = -1};
    return s->class->run(s,
                         "SELECT number, hash, seal FROM ledger_entry ORDER BY number DESC LIMIT 1",
                         NULL, 0, take_link, out, err);
}

pboost_status pboost_chain_at(chain_link *out, store *s, int64_t number, pboost_error *err)
{
    *out = (chain_link){.number = -1};
    return RUN(s, "SELECT number, hash, seal FROM ledger_entry WHERE number = $1", take_link, out,
               err, value_number(number));
}

pboost_status pboost_chain_knows(bool *out, store *s, const digest *hash, pboost_error *err)
{
    int64_t count = 0;
    pboost_status st =
        RUN(s, "SELECT count(*) FROM ledger_entry WHERE hash = $1", pboost_store_number, &count,
            err, value_bytes(hash->byte, sizeof hash->byte));
    *out = count > 0;
    return st;
}

pboost_status pboost_chain_append(store *s, const chain_link *link, const chain_entry *entry,
                                  const void *slots, size_t slots_length, pboost_error *err)
{
    return RUN(s, "INSERT INTO ledger_entry VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)", NULL,
               NULL, err, value_number(link->number), value_text(entry->kind),
               value_number(entry->time), value_number((int64_t)entry->rows),
               value_number((int64_t)entry->bags), value_bytes(entry->data, entry->data_length),
               value_bytes(link->hash.byte, sizeof link->hash.byte),
               value_bytes(link->seal.byte, sizeof link->seal.byte),
               slots != NULL ? value_bytes(slots, slots_length) : value_text(NULL));
}
