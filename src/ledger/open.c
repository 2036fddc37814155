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
    snprintf(version, sizeof version, "%d", PBOOST_STORE_VERSION);
    pboost_first_entry_print(&data, rules, id);
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

void pboost_files_free(store_files *files, bool remove)
{
    char **const path[] = {&files->key, &files->witness};

    for (size_t i = 0; i < 2; i++) {
        if (*path[i] != NULL && remove)
            (void)unlink(*path[i]);
        free(*path[i]);
        *path[i] = NULL;
    }
}

/* Only files that were made here are in `out`. */
pboost_status pboost_files_create(store_files *out, ledger_keys *keys, const char *url,
                                  const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char id[STORE_ID_TEXT];
    store_files made = {0};

    TRY(pboost_keys_draw(keys, err));
    pboost_store_id_text(id, keys);
    TRY(pboost_store_file(&made.key, options->key_file, url, id, ".key", err));
    TRY(pboost_store_file(&made.witness, options->witness_file, url, id, ".witness", err));
    TRY(pboost_keys_write(keys, made.key, false, err));
    out->key = made.key;
    made.key = NULL;
    TRY(pboost_witness_create(made.witness, keys, err));
    out->witness = made.witness;
    made.witness = NULL;
done:
    pboost_files_free(&made, false);
    return st;
}

/* The first record of the witness is written by whoever opens the store first. */
pboost_status pboost_ledger_create(const char *store_url, const pboost_ledger_rules *rules,
                                   const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules checked = *rules;
    pboost_ledger_options o;
    ledger_keys keys = {0};
    store_files files = {0};
    store *s = NULL;
    bool committing = false;

    TRY(start_sodium(err));
    TRY(check_options(&o, options, err));
    TRY(pboost_ledger_rules_check(&checked, err));
    TRY(pboost_store_open(&s, store_url, true, err));
    TRY(pboost_files_create(&files, &keys, store_url, &o, err));
    s->keys = &keys;
    TRY(write_rules(&committing, s, &checked, err));
done:
    if (s != NULL && st != PBOOST_OK)
        s->class->discard(s);
    else
        pboost_store_close(s);
    /* A PostgreSQL that was lost at commit may have the store, which then needs its key. */
    pboost_files_free(&files,
                      st != PBOOST_OK && (!committing || pboost_store_path(store_url) != NULL));
    pboost_keys_wipe(&keys);
    return st;
}

/* ---- Taking turns ---------------------------------------------------------------------------- */

void pboost_side_lock(ledger_side *side)
{
    pthread_mutex_lock(&side->mutex);
    uint64_t mine = side->next++;
    while (side->serving != mine)
        pthread_cond_wait(&side->turn, &side->mutex);
    pthread_mutex_unlock(&side->mutex);
}

void pboost_side_unlock(ledger_side *side)
{
    pthread_mutex_lock(&side->mutex);
    side->serving++;
    pthread_cond_broadcast(&side->turn);
    pthread_mutex_unlock(&side->mutex);
}

/* ---- Opening --------------------------------------------------------------------------------- */

int64_t pboost_ledger_now(const pboost_ledger *ledger)
{
    return ledger->options.now != NULL ? ledger->options.now(ledger->options.user)
                                       : (int64_t)time(NULL);
}

typedef struct {
    pboost_ledger_rules *rules;
    digest *hash;
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
    *first->hash = link.hash;
    TRY(pboost_first_entry_parse(first->rules, value[4].data, value[4].length, err));
done:
    return st;
}

pboost_status pboost_ledger_read_rules(pboost_ledger *l, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    first_entry first = {&l->rules, &l->first, false};

    TRY(s->class->run(
        s, "SELECT kind, time, rows, bags, data, hash FROM ledger_entry WHERE number = 0", NULL, 0,
        take_rules, &first, err));
    if (!first.found)
        FAIL(err, PBOOST_BAD_DATA, "the store holds no rules; 'priorboost oracle init' makes one");
    pboost_rules core = pboost_ledger_rules_core(&l->rules);
    free(l->number);
    TRY(pboost_numbers_make(&l->number, &core, err));
    l->labels.classes = core.answer == PBOOST_ANSWER_CLASSES ? (int64_t)core.width : 0;
    l->labels.columns = core.answer == PBOOST_ANSWER_COLUMNS ? core.width : 1;
    l->labels.units = l->rules.units;
    pboost_shares_free(&l->labels.shares);
    TRY(pboost_shares_parse(&l->labels.shares, l->rules.scope_rows, l->rules.unit_rows, err));
done:
    return st;
}

/* The labels, and whether the store is what its chain says. */
static pboost_status read_labels(pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_audit audit;

    TRY(pboost_side_enter(l, &l->write, false, err));
    TRY(pboost_ledger_audit_here(&audit, l, false, err));
    if (audit.problems > 0 && !l->options.inspect)
        FAIL(err, PBOOST_BAD_DATA,
             "the store was changed by another program, and is not used: %s ('priorboost oracle"
             " audit' says more; put back a backup and run 'priorboost oracle restore')",
             audit.first_problem);
done:
    pboost_side_leave(&l->write);
    return st;
}

static pboost_status check_version(store *s, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t version;

    TRY(pboost_store_version(&version, s, err));
    if (version < PBOOST_STORE_VERSION)
        FAIL(err, PBOOST_BAD_DATA,
             "the store has version %lld, this program needs %d; run 'priorboost oracle upgrade"
             " --store %s'",
             (long long)version, PBOOST_STORE_VERSION,
             pboost_store_path(url) != NULL ? url : "...");
done:
    return st;
}

pboost_status pboost_ledger_read_keys(pboost_ledger *l, store *s, const char *url,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char id[STORE_WORD] = "", key_id[STORE_ID_TEXT];

    TRY(pboost_store_word(id, s, "store", err));
    TRY(pboost_store_file(&l->witness.path, l->options.witness_file, url, id, ".witness", err));
    TRY(pboost_store_file(&l->key_file, l->options.key_file, url, id, ".key", err));
    TRY(pboost_keys_read(&l->keys, l->key_file, err));
    pboost_store_id_text(key_id, &l->keys);
    if (strcmp(id, key_id) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s is the key file of store %s, not of this one, which is %s",
             l->key_file, key_id, id);
    s->keys = &l->keys;
    s->key_file = l->key_file;
done:
    return st;
}

pboost_status pboost_ledger_open_stores(pboost_ledger *l, const char *url, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(l->url = strdup(url), err);
    TRY(pboost_store_open(&l->write.store, url, false, err));
    TRY(check_version(l->write.store, url, err));
    TRY(pboost_ledger_read_keys(l, l->write.store, url, err));
    TRY(pboost_ledger_read_rules(l, l->write.store, err));
    TRY(pboost_store_open(&l->read.store, url, false, err));
    l->read.store->keys = &l->keys;
    l->read.store->key_file = l->key_file;
    if (l->options.check_standbys && l->write.store->class->check_standbys != NULL) {
        TRY(l->write.store->class->check_standbys(l->write.store, err));
        TRY(l->read.store->class->check_standbys(l->read.store, err));
    }
    TRY(l->write.store->class->set_wait(l->write.store, l->rules.claim_seconds, err));
    TRY(l->read.store->class->set_wait(l->read.store, l->rules.claim_seconds, err));
done:
    return st;
}

static pboost_status refuse_broken(pboost_error *err)
{
    return pboost_fail(err, PBOOST_ORACLE,
                       "the store has failed; the process must end and be started again");
}

/* Whoever has the witness covers all who have committed by then; those who commit meanwhile wait,
 * and one of them covers all of these.  After a failed sync the next one may succeed although
 * something is lost, so none is tried. */
pboost_status pboost_ledger_cover(pboost_ledger *l, int64_t number, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    witness *w = &l->witness;

    if (!pboost_witness_acquire(w, number))
        return PBOOST_OK;
    st = pboost_ledger_broken(l) ? refuse_broken(err) : pboost_witness_append(w, &l->read, err);
    pboost_witness_release(w);
    return st;
}

static pboost_status open_witness(pboost_ledger *l, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_witness_open(&l->witness, NULL, NULL, err));
    TRY(pboost_witness_check(&l->witness, l->read.store, err));
    TRY(pboost_ledger_cover(l, INT64_MAX, err));
    l->write.seen = l->read.seen = l->witness.last;
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
    pthread_cond_init(&l->write.turn, NULL);
    pthread_cond_init(&l->read.turn, NULL);
    pthread_mutex_init(&l->witness.mutex, NULL);
    pthread_cond_init(&l->witness.released, NULL);
    l->witness.fd = -1;
    l->witness.covered = -1;
    l->write.seen.number = l->read.seen.number = -1;
    l->witness.keys = &l->keys;
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
    TRY(pboost_ledger_open_stores(l, store_url, err));
    if (!l->options.inspect)
        TRY(open_witness(l, err));
    if (!l->options.without_labels)
        TRY(read_labels(l, err));
    *out = l;
done:
    if (st != PBOOST_OK)
        pboost_ledger_close(l);
    return st;
}

/* Both are left as they are where one is broken: the last to close would otherwise move the log,
 * which may not be whole, into the file. */
static void close_stores(const pboost_ledger *l)
{
    store *const side[] = {l->read.store, l->write.store};
    bool broken = false;

    for (size_t i = 0; i < 2; i++)
        broken = broken || (side[i] != NULL && side[i]->broken);
    for (size_t i = 0; i < 2; i++) {
        if (side[i] != NULL)
            side[i]->broken = broken;
        pboost_store_close(side[i]);
    }
}

void pboost_ledger_close(pboost_ledger *ledger)
{
    if (ledger == NULL)
        return;
    for (size_t i = 0; i < ledger->n_others; i++)
        pboost_ledger_close(ledger->other[i]);
    free(ledger->other);
    close_stores(ledger);
    pboost_labels_free(&ledger->labels);
    free(ledger->number);
    pboost_shares_free(&ledger->labels.shares);
    pboost_keys_wipe(&ledger->keys);
    free(ledger->key_file);
    pboost_witness_close(&ledger->witness);
    free(ledger->url);
    pthread_mutex_destroy(&ledger->witness.mutex);
    pthread_cond_destroy(&ledger->witness.released);
    pthread_mutex_destroy(&ledger->write.mutex);
    pthread_mutex_destroy(&ledger->read.mutex);
    pthread_cond_destroy(&ledger->write.turn);
    pthread_cond_destroy(&ledger->read.turn);
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

static const store *broken_store(const pboost_ledger *l)
{
    const store *broken = l->write.store->broken  ? l->write.store
                          : l->read.store->broken ? l->read.store
                                                  : NULL;

    for (size_t i = 0; broken == NULL && i < l->n_others; i++)
        broken = broken_store(l->other[i]);
    return broken;
}

bool pboost_ledger_broken(const pboost_ledger *ledger)
{
    return broken_store(ledger) != NULL;
}

const char *pboost_ledger_why_broken(const pboost_ledger *ledger)
{
    const store *s = broken_store(ledger);
    return s != NULL ? s->why.message : "";
}

/* ---- Transactions ---------------------------------------------------------------------------- */

/* Is the last entry that this side knew still there?  SQLite is asked through a connection of its
 * own, which remembers nothing; PostgreSQL has just been connected to anew, and a pooler may have
 * no second connection. */
static pboost_status check_same(pboost_ledger *l, ledger_side *side, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    chain_link here;
    store *s = NULL;

    if (side->seen.number < 0)
        return PBOOST_OK;
    if (pboost_store_path(l->url) != NULL) {
        TRY(pboost_store_open(&s, l->url, false, err));
        s->keys = &l->keys;
    }
    TRY(pboost_chain_at(&here, s != NULL ? s : side->store, side->seen.number, err));
    if (here.number < 0 || !pboost_digest_equal(&here.hash, &side->seen.hash))
        st = pboost_store_break(side->store, err, "%s", STORE_EXCHANGED);
done:
    if (s != NULL && s->broken)
        (void)pboost_store_break(side->store, NULL, "%s", s->why.message);
    pboost_store_close(s);
    return st;
}

pboost_status pboost_side_enter(pboost_ledger *ledger, ledger_side *side, bool write,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    pboost_side_lock(side);
    if (ledger->read.store != NULL && pboost_ledger_broken(ledger))
        TRY(refuse_broken(err));
    TRY(pboost_store_begin(side->store, write, err));
    if (side->store->touched) {
        TRY(check_same(ledger, side, err));
        side->store->touched = false;
    }
    if (side == &ledger->write && ledger->labels.valid)
        side->seen = ledger->labels.link;
done:
    return st;
}

void pboost_side_leave(ledger_side *side)
{
    pboost_store_rollback(side->store);
    pboost_side_unlock(side);
}
