/* Labels as the store keeps them. */
#include "seal.h"

#include <string.h>

#include "bytes.h"

void pboost_seals_free(label_seals *seals)
{
    if (seals->seal != NULL)
        sodium_memzero(seals->seal, seals->capacity * sizeof *seals->seal);
    free(seals->seal);
    *seals = (label_seals){0};
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static const label_key *find_key(const ledger_keys *keys, int64_t number)
{
    for (size_t i = 0; i < keys->n_labels; i++)
        if (keys->label[i].number == number)
            return &keys->label[i];
    return NULL;
}

static void derive(label_seal *seal, const ledger_keys *keys, const label_key *key,
                   const unsigned char salt[SALT_BYTES])
{
    static const char WHAT[] = "priorboost labels 1";
    unsigned char text[sizeof WHAT + SALT_BYTES];

    memcpy(text, WHAT, sizeof WHAT);
    memcpy(text + sizeof WHAT, salt, SALT_BYTES);
    crypto_generichash(seal->key, sizeof seal->key, text, sizeof text, key->key, KEY_BYTES);
    memcpy(seal->store_id, keys->store_id, sizeof seal->store_id);
}

typedef struct {
    label_seals *seals;
    store *store;
} reading;

/* slot, rows, label_key, salt */
static pboost_status take_seal(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const reading *r = user;
    label_seals *seals = r->seals;
    (void)n;

    if (value[3].length != SALT_BYTES)
        FAIL(err, PBOOST_BAD_DATA, "the store is damaged: seal %lld makes no sense",
             (long long)value[0].number);
    const label_key *key = find_key(r->store->keys, value[2].number);
    if (key == NULL) { /* it may have come since the file was read */
        TRY(pboost_keys_reload(r->store->keys, r->store->key_file, err));
        key = find_key(r->store->keys, value[2].number);
    }
    if (key == NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "the key file has no label key %lld, with which the store's labels are encrypted; put"
             " back the newest key file, or, if the store is a backup from before 'oracle rekey',"
             " the key file of then",
             (long long)value[2].number);
    GROW(seals->seal, seals->capacity, seals->n + 1, err);
    label_seal *seal = &seals->seal[seals->n++];
    seal->first = value[0].number;
    seal->n = value[1].number;
    derive(seal, r->store->keys, key, value[3].data);
done:
    return st;
}

pboost_status pboost_seals_read(label_seals *out, store *s, int64_t first, pboost_error *err)
{
    reading r = {out, s};
    return RUN(s,
               "SELECT slot, rows, label_key, salt FROM ledger_seal WHERE slot + rows > $1"
               " ORDER BY slot",
               take_seal, &r, err, value_number(first));
}

pboost_status pboost_seal_make(label_seal *out, store *s, int64_t first, int64_t n,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char salt[SALT_BYTES];

    TRY(pboost_keys_reload(s->keys, s->key_file, err));
    const label_key *key = &s->keys->label[s->keys->n_labels - 1];
    TRY(pboost_draw_bytes(salt, sizeof salt, err));
    out->first = first;
    out->n = n;
    derive(out, s->keys, key, salt);
    TRY(RUN(s, "INSERT INTO ledger_seal VALUES ($1, $2, $3, $4)", NULL, NULL, err,
            value_number(first), value_number(n), value_number(key->number),
            value_bytes(salt, sizeof salt)));
done:
    return st;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

enum { NONCE = crypto_aead_chacha20poly1305_ietf_NPUBBYTES };

/* A slot is sealed once under a key: at its import, or when the key is new. */
static void make_nonce(unsigned char out[NONCE], int64_t slot)
{
    memset(out, 0, NONCE);
    pboost_put_number(out, (uint64_t)slot, 8);
}

void pboost_label_seal(unsigned char *out, const label_seal *seal, int64_t slot,
                       const int64_t *label, size_t n)
{
    unsigned char nonce[NONCE], plain[8 * LABELS_MAX];

    make_nonce(nonce, slot);
    for (size_t j = 0; j < n; j++)
        pboost_put_number(plain + 8 * j, (uint64_t)label[j], 8);
    crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, plain, 8 * n, seal->store_id,
                                              sizeof seal->store_id, NULL, nonce, seal->key);
    sodium_memzero(plain, sizeof plain);
}

static const label_seal *find_seal(label_seals *seals, int64_t slot)
{
    for (size_t tried = 0; tried < seals->n; tried++) {
        const label_seal *seal = &seals->seal[seals->at];
        if (slot >= seal->first && slot - seal->first < seal->n)
            return seal;
        seals->at = (seals->at + 1) % seals->n;
    }
    return NULL;
}

bool pboost_label_open(int64_t *out, size_t n, label_seals *seals, int64_t slot,
                       const store_value *value)
{
    unsigned char nonce[NONCE], plain[8 * LABELS_MAX];
    const label_seal *seal = find_seal(seals, slot);
    bool labelled = true;

    for (size_t j = 0; j < n; j++)
        out[j] = NO_LABEL;
    if (value->kind == VALUE_NULL)
        return true;
    make_nonce(nonce, slot);
    if (value->kind != VALUE_BYTES || value->length != SEALED_BYTES(n) || seal == NULL ||
        crypto_aead_chacha20poly1305_ietf_decrypt(plain, NULL, NULL, value->data, SEALED_BYTES(n),
                                                  seal->store_id, sizeof seal->store_id, nonce,
                                                  seal->key) != 0)
        return false;
    for (size_t j = 0; j < n; j++) {
        out[j] = (int64_t)pboost_get_number(plain + 8 * j, 8);
        labelled = labelled && out[j] != NO_LABEL;
    }
    sodium_memzero(plain, sizeof plain);
    return labelled;
}
