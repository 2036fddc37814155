/* The key file of a store: it authenticates the store, and is kept outside the store and its
 * backups.
 *
 * A person who can write to the database but does not have this file cannot write an entry, a token
 * or a witness record that the ledger takes for its own.  The file is text, one secret a line:
 *
 *     priorboost key 1
 *     store 32 hexadecimal digits      the store's random id, also in ledger_meta
 *     ledger 64 digits                 authenticates entries, tokens, rows and the witness
 *     signing 64 digits                seed of the Ed25519 key that signs what is exported
 *     label 1 64 digits                encrypts labels; one line by key, the last one is in use */
#ifndef PBOOST_LEDGER_KEY_H
#define PBOOST_LEDGER_KEY_H

#include <sodium.h>

#include "try.h"

enum { KEY_BYTES = 32, STORE_ID_BYTES = 16, STORE_ID_TEXT = 33, LABEL_KEYS_MAX = 64 };

/* What a key is derived for: no two purposes share one. */
typedef enum { KEY_ENTRY, KEY_TOKEN, KEY_ROW, KEY_WITNESS, KEY_PURPOSES } key_purpose;

typedef struct {
    uint32_t number;
    unsigned char key[KEY_BYTES];
} label_key;

typedef struct ledger_keys {
    unsigned char store_id[STORE_ID_BYTES];
    unsigned char ledger[KEY_BYTES], signing_seed[KEY_BYTES];
    size_t n_labels;
    label_key label[LABEL_KEYS_MAX];
    unsigned char derived[KEY_PURPOSES][KEY_BYTES]; /* from ledger */
} ledger_keys;

typedef struct {
    unsigned char byte[crypto_hash_sha256_BYTES];
} digest;

/* Bytes from the operating system; fails rather than give weak ones. */
pboost_status pboost_draw_bytes(void *out, size_t n, pboost_error *err);

pboost_status pboost_keys_draw(ledger_keys *out, pboost_error *err);
void pboost_keys_wipe(ledger_keys *keys);

/* One more label key, which is then the one in use. */
pboost_status pboost_keys_add_label(ledger_keys *keys, pboost_error *err);

/* A file that others can read is refused. */
pboost_status pboost_keys_read(ledger_keys *out, const char *path, pboost_error *err);

/* The label keys as the file has them now; file NULL: those that there are.  The file must still be
 * of the same store. */
pboost_status pboost_keys_reload(ledger_keys *keys, const char *file, pboost_error *err);

/* Mode 0600, durable when it returns.  replace: the file is there, and it is exchanged at once;
 * otherwise it must not be there. */
pboost_status pboost_keys_write(const ledger_keys *keys, const char *path, bool replace,
                                pboost_error *err);

digest pboost_keys_mac(const ledger_keys *keys, key_purpose purpose, const void *data,
                       size_t length);

/* The name of a new file is on the disk as well. */
bool pboost_sync_folder(const char *path);

void pboost_store_id_text(char out[STORE_ID_TEXT], const ledger_keys *keys);

/* Where a file that belongs to a store is: `given`, unless it is NULL; beside a SQLite file, with
 * this ending; for PostgreSQL in priorboost/ under $XDG_STATE_HOME (default: ~/.local/state), named
 * by the store's id.  The caller frees it. */
pboost_status pboost_store_file(char **out, const char *given, const char *url,
                                const char *store_id, const char *ending, pboost_error *err);

#endif
