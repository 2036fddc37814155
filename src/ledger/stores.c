/* An oracle whose rows lie in several stores: making them, opening them as one ledger. */
#include <stdio.h>
#include <string.h>

#include "state.h"

/* ---- Making ---------------------------------------------------------------------------------- */

static pboost_status draw_oracle(char out[PBOOST_ORACLE_TEXT], pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char byte[(PBOOST_ORACLE_TEXT - 1) / 2];

    TRY(pboost_draw_bytes(byte, sizeof byte, err));
    sodium_bin2hex(out, PBOOST_ORACLE_TEXT, byte, sizeof byte);
done:
    return st;
}

pboost_status pboost_ledger_create_all(const char *const *store_url, size_t n,
                                       const pboost_ledger_rules *rules,
                                       const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules own = *rules;
    pboost_error why = {0};

    if (n > PBOOST_STORES_MAX)
        FAIL(err, PBOOST_INVALID, "--store is given %zu times; an oracle has at most %d stores", n,
             PBOOST_STORES_MAX);
    if (n > 1)
        TRY(draw_oracle(own.oracle, err));
    for (size_t i = 0; i < n; i++) {
        own.store = n > 1 ? i + 1 : 0;
        own.stores = n > 1 ? n : 0;
        st = pboost_ledger_create(store_url[i], &own, options != NULL ? &options[i] : NULL, &why);
        if (st != PBOOST_OK && i > 0)
            FAIL(err, st,
                 "store %zu of %zu: %s; remove the %zu that were made before you try again", i + 1,
                 n, why.message, i);
        if (st != PBOOST_OK)
            FAIL(err, st, "%s", why.message);
    }
done:
    return st;
}

/* ---- Opening --------------------------------------------------------------------------------- */

typedef struct {
    pboost_ledger *ledger;
    const char *url;
    const pboost_ledger_options *options;
    pboost_status st;
    pboost_error err;
    pthread_t thread;
    bool started;
} opening;

static void *open_one(void *user)
{
    opening *o = user;
    o->st = pboost_ledger_open(&o->ledger, o->url, o->options, &o->err);
    return NULL;
}

/* At the same time: each reads its labels and follows its chain. */
static pboost_status open_each(pboost_ledger **out, const char *const *store_url, size_t n,
                               const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    opening *o = NULL;

    NEED(o = calloc(n, sizeof *o), err);
    for (size_t i = 0; i < n; i++) {
        o[i].url = store_url[i];
        o[i].options = options != NULL ? &options[i] : NULL;
        o[i].started = i + 1 < n && pthread_create(&o[i].thread, NULL, open_one, &o[i]) == 0;
        if (!o[i].started)
            (void)open_one(&o[i]);
    }
    for (size_t i = 0; i < n; i++) {
        if (o[i].started)
            pthread_join(o[i].thread, NULL);
        out[i] = o[i].ledger;
    }
    for (size_t i = 0; i < n; i++)
        if (o[i].st != PBOOST_OK)
            FAIL(err, o[i].st, "%s", o[i].err.message);
done:
    free(o);
    return st;
}

/* What the first entry of both says, the store's own number aside, is the same. */
static pboost_status check_same_rules(const pboost_ledger *a, const pboost_ledger *b,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules rules = b->rules;
    record mine, other;

    rules.store = a->rules.store;
    pboost_first_entry_print(&mine, &a->rules, "");
    pboost_first_entry_print(&other, &rules, "");
    if (mine.used != other.used || memcmp(mine.byte, other.byte, mine.used) != 0)
        FAIL(err, PBOOST_BAD_DATA,
             "stores %zu and %zu have different rules or data sheets: '%.120s' and '%.120s'; the"
             " stores of an oracle are made together, by one 'priorboost oracle init'",
             a->rules.store, b->rules.store, (const char *)mine.byte, (const char *)other.byte);
done:
    return st;
}

static pboost_status check_together(pboost_ledger *const *l, const char *const *store_url, size_t n,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        const pboost_ledger_rules *r = &l[i]->rules;
        const char *name = pboost_store_path(store_url[i]);
        name = name != NULL ? name : "a PostgreSQL store";
        if (r->stores == 0 || strcmp(r->oracle, l[0]->rules.oracle) != 0)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s does not belong to the same oracle as the first --store; the stores of an"
                 " oracle are made together, by one 'priorboost oracle init'",
                 name);
        for (size_t j = 0; j < i; j++)
            if (l[j]->rules.store == r->store)
                FAIL(err, PBOOST_INVALID, "store %zu of the oracle is given twice, last as %s",
                     r->store, name);
        TRY(check_same_rules(l[0], l[i], err));
    }
done:
    return st;
}

static int by_number(const void *a, const void *b)
{
    size_t x = (*(pboost_ledger *const *)a)->rules.store;
    size_t y = (*(pboost_ledger *const *)b)->rules.store;
    return (x > y) - (x < y);
}

pboost_status pboost_ledger_open_all(pboost_ledger **out, const char *const *store_url, size_t n,
                                     const pboost_ledger_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger **l = NULL;

    *out = NULL;
    if (n == 1)
        return pboost_ledger_open(out, store_url[0], options, err);
    NEED(l = calloc(n, sizeof *l), err);
    TRY(open_each(l, store_url, n, options, err));
    TRY(check_together(l, store_url, n, err));
    qsort(l, n, sizeof *l, by_number);
    NEED(l[0]->other = calloc(n, sizeof *l[0]->other), err);
    memcpy(l[0]->other, l + 1, (n - 1) * sizeof *l);
    l[0]->n_others = n - 1;
    *out = l[0];
    memset(l, 0, n * sizeof *l);
    if (!(*out)->options.inspect && !(*out)->options.without_labels)
        TRY(pboost_stores_check(*out, err));
done:
    if (st != PBOOST_OK) {
        pboost_ledger_close(*out);
        *out = NULL;
    }
    for (size_t i = 0; l != NULL && i < n; i++)
        pboost_ledger_close(l[i]);
    free(l);
    return st;
}

pboost_status pboost_ledger_check_whole(const pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t stores = ledger->rules.stores, here = 1 + ledger->n_others;

    if (stores > here)
        FAIL(err, PBOOST_INVALID,
             "the oracle has %zu stores, of which %zu %s given; give --store for each of them",
             stores, here, here == 1 ? "is" : "are");
done:
    return st;
}

pboost_status pboost_ledger_check_first(const pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (ledger->rules.store > 1)
        FAIL(err, PBOOST_INVALID,
             "this is store %zu of %zu; tokens are in store 1, and are valid for all",
             ledger->rules.store, ledger->rules.stores);
done:
    return st;
}
