/* Audit files: the chain as it can be given away, and its check by someone without the store.
 *
 * An entry is hashed with all that the file says of it, so nothing in the file can be changed; the
 * head after the last entry is signed with the store's Ed25519 key, so nothing can be cut off its
 * end or put in its place by anyone but the store.  Replies, nonces, ids and labels are not in it.
 */
#include <stdio.h>
#include <string.h>

#include "replay.h"

static digest hash_head(const chain_link *link)
{
    hasher h;

    pboost_hash_start(&h, "priorboost audit head 1");
    pboost_hash_number(&h, (uint64_t)link->number);
    pboost_hash_bytes(&h, link->hash.byte, sizeof link->hash.byte);
    pboost_hash_bytes(&h, link->seal.byte, sizeof link->seal.byte);
    return pboost_hash_end(&h);
}

static bool read_entry(chain_link *out, const pboost_ledger_entry *e)
{
    out->number = (int64_t)e->number;
    memcpy(out->seal.byte, e->seal, sizeof out->seal.byte);
    return pboost_digest_read(&out->hash, e->head);
}

/* ---- The store's side ------------------------------------------------------------------------ */

static void signing_keys(unsigned char public_key[PBOOST_PUBLIC_KEY],
                         unsigned char secret_key[crypto_sign_SECRETKEYBYTES],
                         const pboost_ledger *ledger)
{
    crypto_sign_seed_keypair(public_key, secret_key, ledger->keys.signing_seed);
}

void pboost_ledger_public_key(char out[PBOOST_PUBLIC_KEY_TEXT], const pboost_ledger *ledger)
{
    unsigned char public_key[PBOOST_PUBLIC_KEY], secret_key[crypto_sign_SECRETKEYBYTES];

    signing_keys(public_key, secret_key, ledger);
    sodium_bin2hex(out, PBOOST_PUBLIC_KEY_TEXT, public_key, sizeof public_key);
    sodium_memzero(secret_key, sizeof secret_key);
}

static void sign_head(char out[PBOOST_SIGNATURE_TEXT], const chain_link *link,
                      const pboost_ledger *ledger)
{
    unsigned char public_key[PBOOST_PUBLIC_KEY], secret_key[crypto_sign_SECRETKEYBYTES],
        signature[PBOOST_SIGNATURE];
    digest head = hash_head(link);

    signing_keys(public_key, secret_key, ledger);
    crypto_sign_detached(signature, NULL, head.byte, sizeof head.byte, secret_key);
    sodium_bin2hex(out, PBOOST_SIGNATURE_TEXT, signature, sizeof signature);
    sodium_memzero(secret_key, sizeof secret_key);
}

typedef struct {
    pboost_entry_visit *visit;
    void *user;
    chain_link last;
    bool failed;
} exporting;

static bool visit_entry(void *user, const pboost_ledger_entry *e)
{
    exporting *x = user;

    x->failed = !read_entry(&x->last, e) || !x->visit(x->user, e);
    return !x->failed;
}

pboost_status pboost_ledger_audit_file(pboost_signed_head *out, pboost_ledger *ledger,
                                       uint64_t first, uint64_t most, pboost_entry_visit *visit,
                                       void *user, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exporting x = {visit, user, {.number = -1}, false};

    *out = (pboost_signed_head){0};
    TRY(pboost_ledger_entries(ledger, first, most, visit_entry, &x, err));
    if (x.last.number < 0 || x.failed)
        goto done;
    out->entries = (uint64_t)x.last.number + 1;
    pboost_digest_text(out->head, &x.last.hash);
    sign_head(out->signature, &x.last, ledger);
done:
    return st;
}

/* ---- The auditor's side ---------------------------------------------------------------------- */

struct pboost_verifier {
    unsigned char public_key[PBOOST_PUBLIC_KEY];
    chain_link link;
    token_replay tokens;
    int64_t signed_to; /* the last entry under a signature; -1: none */
};

static bool read_hex(unsigned char *out, size_t bytes, const char *text)
{
    size_t length = 0;
    return strlen(text) == 2 * bytes &&
           sodium_hex2bin(out, bytes, text, 2 * bytes, NULL, &length, NULL) == 0 && length == bytes;
}

pboost_status pboost_verifier_open(pboost_verifier **out, const char *public_key, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_verifier *v = NULL;

    *out = NULL;
    if (sodium_init() < 0)
        FAIL(err, PBOOST_ORACLE, "libsodium cannot be used on this machine");
    NEED(v = calloc(1, sizeof *v), err);
    v->link.number = v->signed_to = -1;
    if (!read_hex(v->public_key, sizeof v->public_key, public_key))
        FAIL(
            err, PBOOST_INVALID,
            "the public key is '%.80s'; it has %d hexadecimal digits, as 'oracle public-key' prints"
            " them",
            public_key, PBOOST_PUBLIC_KEY_TEXT - 1);
    *out = v;
    v = NULL;
done:
    pboost_verifier_close(v);
    return st;
}

void pboost_verifier_close(pboost_verifier *v)
{
    if (v == NULL)
        return;
    pboost_replay_free(&v->tokens);
    free(v);
}

pboost_status pboost_verifier_entry(pboost_verifier *v, const pboost_ledger_entry *e,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_entry entry = {e->kind, e->time, e->rows, e->bags, e->data, e->data_length};
    chain_link link = pboost_chain_next(&v->link, &entry), told = {0};
    char problem[REPLAY_PROBLEM];

    if (!read_entry(&told, e))
        FAIL(err, PBOOST_BAD_DATA, "entry %llu has no head", (unsigned long long)e->number);
    if (told.number != link.number)
        FAIL(err, PBOOST_BAD_DATA, "entry %lld is in the place of entry %lld",
             (long long)told.number, (long long)link.number);
    if (!pboost_digest_equal(&told.hash, &link.hash))
        FAIL(err, PBOOST_BAD_DATA, "entry %lld was changed: its hash differs",
             (long long)link.number);
    if (!pboost_kind_answers(e->kind) && !pboost_digest_equal(&told.seal, &link.seal))
        FAIL(err, PBOOST_BAD_DATA, "entry %lld was changed: its seal differs",
             (long long)link.number);
    link.seal = told.seal;
    v->link = link;
    TRY(pboost_replay_entry(&v->tokens, problem, &entry, &link, err));
    if (problem[0] != '\0')
        FAIL(err, PBOOST_BAD_DATA, "entry %lld: %s", (long long)link.number, problem);
done:
    return st;
}

pboost_status pboost_verifier_head(pboost_verifier *v, const pboost_signed_head *head,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char byte[PBOOST_SIGNATURE];
    char mine[PBOOST_HEAD_TEXT];
    digest d = hash_head(&v->link);

    pboost_digest_text(mine, &v->link.hash);
    if (v->link.number < 0 || head->entries != (uint64_t)v->link.number + 1 ||
        strcmp(head->head, mine) != 0)
        FAIL(err, PBOOST_BAD_DATA, "the signed head is not that of the %lld entries before it",
             (long long)v->link.number + 1);
    if (!read_hex(byte, sizeof byte, head->signature) ||
        crypto_sign_verify_detached(byte, d.byte, sizeof d.byte, v->public_key) != 0)
        FAIL(err, PBOOST_BAD_DATA,
             "the head after %llu entries was not signed by the store with this public key",
             (unsigned long long)head->entries);
    v->signed_to = v->link.number;
done:
    return st;
}

void pboost_verifier_result(pboost_verified *out, const pboost_verifier *v)
{
    *out = (pboost_verified){.entries = (uint64_t)v->link.number + 1,
                             .whole = v->link.number >= 0 && v->signed_to == v->link.number};
    pboost_digest_text(out->head, &v->link.hash);
    for (size_t i = 0; i < v->tokens.n; i++)
        out->rows += v->tokens.token[i].rows_used;
    out->tokens = v->tokens.n;
}
