/* The hash chain: SHA-256 over an encoding in which every part has a fixed length or starts with
 * its length.  Nettle's SHA-256 uses the processor's instructions for it, libsodium's does not: 1.6
 * against 0.35 GB a second, and a large question is hashed whole. */
#include "chain.h"

#include <string.h>

/* ---- Hashing --------------------------------------------------------------------------------- */

void pboost_hash_bytes(hasher *h, const void *data, size_t length)
{
    if (length == 0)
        return;
    if (h->used + length > sizeof h->buffer) {
        sha256_update(&h->state, h->used, h->buffer);
        h->used = 0;
    }
    if (length > sizeof h->buffer) {
        sha256_update(&h->state, length, data);
        return;
    }
    memcpy(h->buffer + h->used, data, length);
    h->used += length;
}

void pboost_hash_number(hasher *h, uint64_t number)
{
    unsigned char byte[8];
    pboost_put_number(byte, number, sizeof byte);
    pboost_hash_bytes(h, byte, sizeof byte);
}

void pboost_hash_block(hasher *h, const void *data, size_t length)
{
    pboost_hash_number(h, length);
    pboost_hash_bytes(h, data, length);
}

void pboost_hash_start(hasher *h, const char *what)
{
    sha256_init(&h->state);
    h->used = 0;
    pboost_hash_block(h, what, strlen(what));
}

digest pboost_hash_end(hasher *h)
{
    digest d;
    sha256_update(&h->state, h->used, h->buffer);
    sha256_digest(&h->state, sizeof d.byte, d.byte);
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
    pboost_put_number(byte, number, sizeof byte);
    pboost_record_bytes(r, byte, sizeof byte);
}

void pboost_record_text(record *r, const char *text)
{
    pboost_record_bytes(r, text, strlen(text) + 1);
}

uint64_t pboost_read_number(record_reader *r)
{
    r->bad = r->bad || r->left < 8;
    uint64_t number = r->bad ? 0 : pboost_get_number(r->byte, 8);
    r->byte += r->bad ? 0 : 8;
    r->left -= r->bad ? 0 : 8;
    return number;
}

uint64_t pboost_rows_elsewhere(const void *data, size_t length)
{
    record_reader r = {data, length, false};

    (void)pboost_read_number(&r); /* see describe_answer in ledger.c */
    for (int i = 0; i < 3; i++)
        (void)pboost_read_digest(&r);
    (void)pboost_read_number(&r);
    (void)pboost_read_text(&r);
    uint64_t rows = r.left > 0 ? pboost_read_number(&r) : 0;
    return r.bad ? 0 : rows;
}

bool pboost_kind_answers(const char *kind)
{
    return strcmp(kind, "answer") == 0 || strcmp(kind, "claim") == 0;
}

void pboost_slots_write(unsigned char *out, const uint32_t *slot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pboost_put_number(out + SLOT_BYTES * i, slot[i], SLOT_BYTES);
}

digest pboost_slots_hash(const void *slots, size_t length)
{
    hasher h;

    pboost_hash_start(&h, "priorboost slots 1");
    pboost_hash_block(&h, slots, length);
    return pboost_hash_end(&h);
}

digest pboost_read_digest(record_reader *r)
{
    digest d = {{0}};

    r->bad = r->bad || r->left < sizeof d.byte;
    if (!r->bad) {
        memcpy(d.byte, r->byte, sizeof d.byte);
        r->byte += sizeof d.byte;
        r->left -= sizeof d.byte;
    }
    return d;
}

const char *pboost_read_text(record_reader *r)
{
    const char *text = (const char *)r->byte;
    size_t length = r->bad || r->left == 0 ? 0 : strnlen(text, r->left);

    r->bad = r->bad || length == r->left;
    if (r->bad)
        return "";
    r->byte += length + 1;
    r->left -= length + 1;
    return text;
}

/* A store of version 1 begins with "rules 1". */
int pboost_chain_version(int before, const chain_entry *entry)
{
    record_reader r = {entry->data, entry->data_length, false};

    if (strcmp(entry->kind, "init") == 0)
        return r.left > 8 && memcmp(r.byte, "rules 1 ", 8) == 0 ? 1 : CHAIN_VERSION;
    if (strcmp(entry->kind, "upgrade") == 0)
        return pboost_read_number(&r) < CHAIN_VERSION ? CHAIN_VERSION : before;
    return before;
}

chain_link pboost_chain_next(const chain_link *last, const chain_entry *entry)
{
    static const char *const WHAT[] = {"", "priorboost ledger entry 1",
                                       "priorboost ledger entry 2"};
    chain_link link = {.number = last->number + 1,
                       .version = pboost_chain_version(last->version, entry)};
    hasher h;

    pboost_hash_start(&h, WHAT[link.version]);
    pboost_hash_number(&h, (uint64_t)link.number);
    pboost_hash_bytes(&h, last->hash.byte, sizeof last->hash.byte);
    pboost_hash_bytes(&h, last->seal.byte, sizeof last->seal.byte);
    pboost_hash_block(&h, entry->kind, strlen(entry->kind));
    pboost_hash_number(&h, (uint64_t)entry->time);
    pboost_hash_number(&h, entry->rows);
    pboost_hash_number(&h, entry->bags);
    pboost_hash_block(&h, entry->data, entry->data_length);
    link.hash = pboost_hash_end(&h);
    pboost_chain_seal(&link, NULL, NULL, 0);
    return link;
}

void pboost_chain_seal(chain_link *link, const unsigned char nonce[NONCE_BYTES], const void *body,
                       size_t length)
{
    static const char *const WHAT[] = {"", "priorboost ledger seal 1", "priorboost ledger seal 2"};
    hasher h;

    pboost_hash_start(&h, WHAT[link->version]);
    pboost_hash_bytes(&h, link->hash.byte, sizeof link->hash.byte);
    if (link->version > 1)
        pboost_hash_block(&h, nonce, nonce != NULL ? NONCE_BYTES : 0);
    pboost_hash_block(&h, body, length);
    link->seal = pboost_hash_end(&h);
}

digest pboost_hash_released(int version, const unsigned char nonce[NONCE_BYTES], const void *data,
                            size_t length)
{
    hasher h;

    pboost_hash_start(&h, version == 1 ? "priorboost released 1" : "priorboost released 2");
    if (version > 1)
        pboost_hash_block(&h, nonce, NONCE_BYTES);
    pboost_hash_block(&h, data, length);
    return pboost_hash_end(&h);
}

digest pboost_chain_mac(const ledger_keys *keys, const chain_link *link)
{
    record r = {0};

    pboost_record_number(&r, (uint64_t)link->number);
    pboost_record_bytes(&r, link->hash.byte, sizeof link->hash.byte);
    pboost_record_bytes(&r, link->seal.byte, sizeof link->seal.byte);
    return pboost_keys_mac(keys, KEY_ENTRY, r.byte, r.used);
}

/* ---- In the store ---------------------------------------------------------------------------- */

static bool take_digest(digest *out, const store_value *value)
{
    if (value->kind != VALUE_BYTES || value->length != sizeof out->byte)
        return false;
    memcpy(out->byte, value->data, sizeof out->byte);
    return true;
}

pboost_status pboost_chain_take(chain_link *link, store *s, const store_value value[4],
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    digest mac;

    link->number = value[0].number;
    link->version = CHAIN_VERSION;
    if (!take_digest(&link->hash, &value[1]) || !take_digest(&link->seal, &value[2]) ||
        !take_digest(&mac, &value[3]))
        FAIL(err, PBOOST_BAD_DATA, "entry %lld of the ledger is damaged", (long long)link->number);
    digest right = pboost_chain_mac(s->keys, link);
    if (!pboost_digest_equal(&mac, &right))
        st = pboost_store_break(s, err,
                                "entry %lld of the ledger was not written with this key file: the"
                                " store was edited, or the key file is that of another store",
                                (long long)link->number);
done:
    return st;
}

typedef struct {
    store *s;
    chain_link *link;
} link_reader;

static pboost_status take_link(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const link_reader *r = user;
    (void)n;
    return pboost_chain_take(r->link, r->s, value, err);
}

pboost_status pboost_chain_last(chain_link *out, store *s, pboost_error *err)
{
    link_reader reader = {s, out};
    *out = (chain_link){.number = -1, .version = CHAIN_VERSION};
    return s->class->run(
        s, "SELECT number, hash, seal, mac FROM ledger_entry ORDER BY number DESC LIMIT 1", NULL, 0,
        take_link, &reader, err);
}

pboost_status pboost_chain_at(chain_link *out, store *s, int64_t number, pboost_error *err)
{
    link_reader reader = {s, out};
    *out = (chain_link){.number = -1, .version = CHAIN_VERSION};
    return RUN(s, "SELECT number, hash, seal, mac FROM ledger_entry WHERE number = $1", take_link,
               &reader, err, value_number(number));
}

/* A head that was lost in a restore is known too: who echoes it has done nothing wrong. */
pboost_status pboost_chain_knows(bool *out, store *s, const digest *hash, pboost_error *err)
{
    int64_t count = 0;
    pboost_status st =
        RUN(s,
            "SELECT (SELECT count(*) FROM ledger_entry WHERE hash = $1)"
            " + (SELECT count(*) FROM ledger_lost_head WHERE hash = $1)",
            pboost_store_number, &count, err, value_bytes(hash->byte, sizeof hash->byte));
    *out = count > 0;
    return st;
}

pboost_status pboost_chain_append(store *s, const chain_link *link, const chain_entry *entry,
                                  const void *slots, size_t slots_length, pboost_error *err)
{
    digest mac = pboost_chain_mac(s->keys, link);

    return RUN(s, "INSERT INTO ledger_entry VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", NULL,
               NULL, err, value_number(link->number), value_text(entry->kind),
               value_number(entry->time), value_number((int64_t)entry->rows),
               value_number((int64_t)entry->bags), value_bytes(entry->data, entry->data_length),
               value_bytes(link->hash.byte, sizeof link->hash.byte),
               value_bytes(link->seal.byte, sizeof link->seal.byte),
               slots != NULL ? value_bytes(slots, slots_length) : value_text(NULL),
               value_bytes(mac.byte, sizeof mac.byte));
}
