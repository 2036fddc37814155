/* Making, opening and closing a ledger. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

static pboost_status start_sodium(pboost_error *err)
{
    if (sodium_init() < 0)
        return pboost_fail(err, PBOOST_ORACLE, "libsodium cannot be used on this machine");
    return PBOOST_OK;
}

static pboost_status check_options(pboost_ledger_options *out, const pboost_ledger_options *options,
                                   pboost_error *err)
{
    const pboost_ledger_options defaults = PBOOST_LEDGER_OPTIONS_INIT;

    *out = options != NULL ? *options : defaults;
    if (out->struct_size != sizeof *out)
        return pboost_fail(
            err, PBOOST_INVALID,
            "ledger options: struct_size is %zu, not %zu; start from PBOOST_LEDGER_OPTIONS_INIT",
            out->struct_size, sizeof *out);
    return PBOOST_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* The first entry: the rules, and which store they are of. */
static pboost_status write_rules(bool *committing, store *s, const pboost_ledger_rules *rules,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const chain_link none = {.number = -1};
    char id[STORE_ID_TEXT], version[16];
    record data;

    pboost_store_id_text(id, s->keys);
    snprintf(version, sizeof version, "%d", CHAIN_VERSION);
    pboost_ledger_rules_print(&data, rules, CHAIN_VERSION);
    pboost_record_text(&data, id);
    chain_entry entry = {"init", (int64_t)time(NULL), 0, 0, data.byte, data.used};
    chain_link link = pboost_chain_next(&none, &entry);
    TRY(pboost_store_begin(s, true, err));
    TRY(pboost_store_make_tables(s, rules->unit_rows, err));
    TRY(pboost_store_set_word(s, "version", version, err));
    TRY(pboost_store_set_word(s, "store", id, err));
    TRY(pboost_chain_append(s, &link, &entry, NULL, 0, err));
    *committing = true;
    TRY(pboost_store_commit(s, err));
done:
    pboost_store_rollback(s);
    return st;
}

/* The key file comes first: a store without its key could never be opened. */
pboost_status pboost_ledger_new_keys(ledger_keys *out, char **path, const char *url,
                                     const char *key_file, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char id[STORE_ID_TEXT];

    TRY(pboost_keys_draw(out, err));
    pboost_store_id_text(id, out);
    TRY(pboost_store_file(path, key_file, url, id, ".key", err));
    TRY(pboost_keys_write(out, *path, false, err));
done:
    if (st != PBOOST_OK) {
        free(*path);
        *path = NULL;
    }
    return st;
}

pboost_status pboost_ledger_create(const char *store_url, const pboost_ledger_rules *rules,
                                   const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules checked = *rules;
    pboost_ledger_options o;
    ledger_keys keys = {0};
    char *key_file = NULL;
    store *s = NULL;
    bool committing = false;

    TRY(start_sodium(err));
    TRY(check_options(&o, options, err));
    TRY(pboost_ledger_rules_check(&checked, err));
    TRY(pboost_store_open(&s, store_url, true, err));
    TRY(pboost_ledger_new_keys(&keys, &key_file, store_url, o.key_file, err));
    s->keys = &keys;
    TRY(write_rules(&committing, s, &checked, err));
done:
    if (s != NULL && st != PBOOST_OK)
        s->class->discard(s);
    else
        pboost_store_close(s);
    /* A PostgreSQL that was lost at commit may have the store, which then needs its key. */
    if (key_file != NULL && st != PBOOST_OK &&
        (!committing || pboost_store_path(store_url) != NULL))
        (void)unlink(key_file);
    free(key_file);
    pboost_keys_wipe(&keys);
    return st;
}

/* ---- Opening --------------------------------------------------------------------------------- */

int64_t pboost_ledger_now(const pboost_ledger *ledger)
{
    return ledger->options.now != NULL ? ledger->options.now(ledger->options.user)
                                       : (int64_t)time(NULL);
}

typedef struct {
    pboost_ledger_rules *rules;
    bool found;
} first_entry;

/* kind, time, rows, bags, data, hash */
static pboost_status take_rules(void *user, const store_value *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    first_entry *first = user;
    const chain_link none = {.number = -1};
    chain_entry entry = {
        value[0].data, value[1].number, (uint64_t)value[2].number, (uint64_t)value[3].number,
        value[4].data, value[4].length};
    chain_link link = pboost_chain_next(&none, &entry);
    (void)n;

    first->found = true;
    if (value[5].length != sizeof link.hash.byte ||
        memcmp(value[5].data, link.hash.byte, sizeof link.hash.byte) != 0)
        FAIL(err, PBOOST_BAD_DATA,
             "the store's rules were changed: their hash is not the one in "
             "the ledger");
    record_reader r = {value[4].data, value[4].length, false};
    const char *text = pboost_read_text(&r);
    TRY(pboost_ledger_rules_parse(first->rules, text, strlen(text) + 1, err));
done:
    return st;
}

pboost_status pboost_ledger_read_rules(pboost_ledger *l, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    first_entry first = {&l->rules, false};

    TRY(s->class->run(
        s, "SELECT kind, time, rows, bags, data, hash FROM ledger_entry WHERE number = 0", NULL, 0,
        take_rules, &first, err));
    if (!first.found)
        FAIL(err, PBOOST_BAD_DATA, "the store holds no rules; 'priorboost oracle init' makes one");
    l->grid = pboost_grid(&l->rules.rules);
    if (l->rules.rules.epsilon.den != 0)
        l->noise = pboost_laplace_sampler(pboost_laplace_scale(&l->grid, l->rules.rules.epsilon));
    l->labels.units = l->rules.units;
    pboost_shares_free(&l->labels.shares);
    TRY(pboost_shares_parse(&l->labels.shares, l->rules.scope_rows, l->rules.unit_rows, err));
done:
    return st;
}

static pboost_status read_labels(pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_side_enter(l, &l->write, false, err));
    TRY(pboost_labels_refresh(&l->labels, l->write.store, err));
done:
    pboost_side_leave(&l->write);
    return st;
}

static pboost_status check_version(store *s, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t version;

    TRY(pboost_store_version(&version, s, err));
    if (version < CHAIN_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "the store has version %lld, this program needs %d; run 'priorboost oracle upgrade"
             " --store %s'",
             (long long)version, CHAIN_VERSION, pboost_store_path(url) != NULL ? url : "...");
    if (version > CHAIN_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "the store has version %lld, this program knows versions up to %d; install a newer"
             " priorboost",
             (long long)version, CHAIN_VERSION);
done:
    return st;
}

static pboost_status read_keys(pboost_ledger *l, store *s, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char id[STORE_WORD] = "", key_id[STORE_ID_TEXT];

    TRY(pboost_store_word(id, s, "store", err));
    TRY(pboost_store_file(&l->key_file, l->options.key_file, url, id, ".key", err));
    TRY(pboost_keys_read(&l->keys, l->key_file, err));
    pboost_store_id_text(key_id, &l->keys);
    if (strcmp(id, key_id) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is the key file of store %s, not of this one, which is %s",
             l->key_file, key_id, id);
done:
    return st;
}

static pboost_status open_stores(pboost_ledger *l, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_store_open(&l->write.store, url, false, err));
    TRY(check_version(l->write.store, url, err));
    TRY(read_keys(l, l->write.store, url, err));
    l->write.store->keys = &l->keys;
    l->write.store->key_file = l->key_file;
    TRY(pboost_ledger_read_rules(l, l->write.store, err));
    TRY(pboost_store_open(&l->read.store, url, false, err));
    l->read.store->keys = &l->keys;
    l->read.store->key_file = l->key_file;
    TRY(l->write.store->class->set_wait(l->write.store, l->rules.claim_seconds, err));
    TRY(l->read.store->class->set_wait(l->read.store, l->rules.claim_seconds, err));
done:
    return st;
}

pboost_status pboost_ledger_begin(pboost_ledger **out, const pboost_ledger_options *options,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger *l = NULL;

    TRY(start_sodium(err));
    NEED(l = calloc(1, sizeof *l), err);
    pthread_mutex_init(&l->write.mutex, NULL);
    pthread_mutex_init(&l->read.mutex, NULL);
    TRY(check_options(&l->options, options, err));
    *out = l;
    l = NULL;
done:
    pboost_ledger_close(l);
    return st;
}

pboost_status pboost_ledger_open(pboost_ledger **out, const char *store_url,
                                 const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger *l = NULL;

    *out = NULL;
    TRY(pboost_ledger_begin(&l, options, err));
    TRY(open_stores(l, store_url, err));
    if (!l->options.without_labels)
        TRY(read_labels(l, err));
    *out = l;
done:
    if (st != PBOOST_OK)
        pboost_ledger_close(l);
    return st;
}

void pboost_ledger_close(pboost_ledger *ledger)
{
    if (ledger == NULL)
        return;
    pboost_store_close(ledger->read.store);
    pboost_store_close(ledger->write.store);
    pboost_labels_free(&ledger->labels);
    pboost_shares_free(&ledger->labels.shares);
    pboost_keys_wipe(&ledger->keys);
    free(ledger->key_file);
    pthread_mutex_destroy(&ledger->write.mutex);
    pthread_mutex_destroy(&ledger->read.mutex);
    free(ledger);
}

const pboost_ledger_rules *pboost_ledger_get_rules(const pboost_ledger *ledger)
{
    return &ledger->rules;
}

size_t pboost_ledger_unit_rows(const pboost_ledger *ledger, const pboost_token *token)
{
    const unit_shares *shares = &ledger->labels.shares;
    uint32_t share = token->scoped ? pboost_shares_find(shares, token->scope) : NO_NUMBER;
    return share != NO_NUMBER ? pboost_shares_rows(shares, share) : ledger->rules.unit_rows;
}

bool pboost_ledger_broken(const pboost_ledger *ledger)
{
    return ledger->write.store->broken || ledger->read.store->broken;
}

/* ---- Transactions ---------------------------------------------------------------------------- */

pboost_status pboost_side_enter(pboost_ledger *ledger, ledger_side *side, bool write,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    pthread_mutex_lock(&side->mutex);
    if (ledger->read.store != NULL && pboost_ledger_broken(ledger))
        FAIL(err, PBOOST_ORACLE, "the store has failed; the process must end and be started again");
    TRY(pboost_store_begin(side->store, write, err));
done:
    return st;
}

void pboost_side_leave(ledger_side *side)
{
    pboost_store_rollback(side->store);
    pthread_mutex_unlock(&side->mutex);
}
