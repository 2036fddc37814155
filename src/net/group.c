/* Several oracles as one. */
#include "group.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "checkpoint.h"
#include "try.h"

typedef struct {
    pboost_remote *remote;
    const char *url;
    char *folder; /* of its questions and answers; NULL: none */
} member;

struct pboost_group {
    size_t n;
    member *member;
    const char *checkpoint;
    pboost_rules rules;
    const uint32_t *part;
    size_t rows;
};

pboost_status pboost_group_explain(const pboost_group *g, size_t i, pboost_status status,
                                   pboost_error *err)
{
    char message[sizeof err->message];
    const char *url = g->member[i].url;

    if (status == PBOOST_OK || g->n == 1 || err == NULL)
        return status;
    snprintf(message, sizeof message, "%s", err->message);
    if (strncmp(message, url, strlen(url)) == 0)
        return pboost_fail(err, status, "oracle %zu, %s", i + 1, message);
    return pboost_fail(err, status, "oracle %zu, %.120s: %s", i + 1, url, message);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* What one oracle is asked in a round. */
typedef struct {
    const member *to;
    size_t round;
    pboost_bags bags;
    double *answer;
    pthread_t thread;
    bool threaded;
    pboost_status status;
    pboost_error err;
} share;

static void free_shares(share *s, size_t n)
{
    for (size_t i = 0; s != NULL && i < n; i++) {
        pboost_bags_free(&s[i].bags);
        free(s[i].answer);
    }
    free(s);
}

/* The oracle of a bag: that of all its rows. */
static pboost_status part_of(size_t *out, const pboost_group *g, const pboost_bags *bags, size_t b,
                             pboost_error *err)
{
    for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++) {
        if (bags->row[i] >= g->rows || g->part[bags->row[i]] >= g->n)
            return pboost_fail(err, PBOOST_INVALID, "row %zu belongs to no oracle", bags->row[i]);
        size_t part = g->part[bags->row[i]];
        if (i > bags->start[b] && part != *out)
            return pboost_fail(
                err, PBOOST_INVALID,
                "bag %zu has rows of oracles %zu and %zu; a bag must have rows of one"
                " oracle, because noisy sums of its parts are no answer",
                b, *out + 1, part + 1);
        *out = part;
    }
    return PBOOST_OK;
}

/* Sorts the bags by oracle; those of one oracle keep their order. */
static pboost_status divide(share *s, const pboost_group *g, const pboost_bags *bags, size_t *part,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t b = 0; b < bags->n_bags; b++) {
        TRY(part_of(&part[b], g, bags, b, err));
        s[part[b]].bags.n_bags++;
        s[part[b]].bags.n_rows += bags->start[b + 1] - bags->start[b];
    }
    for (size_t i = 0; i < g->n; i++) {
        pboost_bags *own = &s[i].bags;
        NEED(own->row = pboost_alloc(own->n_rows, sizeof *own->row), err);
        NEED(own->start = pboost_alloc(own->n_bags + 1, sizeof *own->start), err);
        NEED(s[i].answer = pboost_alloc(own->n_bags * g->rules.width, sizeof *s[i].answer), err);
        own->n_bags = own->n_rows = 0;
        own->start[0] = 0;
    }
    for (size_t b = 0; b < bags->n_bags; b++) {
        pboost_bags *own = &s[part[b]].bags;
        size_t size = bags->start[b + 1] - bags->start[b];
        memcpy(own->row + own->n_rows, bags->row + bags->start[b], size * sizeof *own->row);
        own->n_rows += size;
        own->start[++own->n_bags] = own->n_rows;
    }
done:
    return st;
}

static void *ask_share(void *argument)
{
    share *s = argument;
    pboost_oracle oracle = pboost_remote_interface(s->to->remote);

    s->status = oracle.ask(oracle.self, s->round, &s->bags, s->answer, &s->err);
    return NULL;
}

/* Asks all at once; an oracle that fails does not stop the others, whose answers are kept. */
static pboost_status ask_all(share *s, const pboost_group *g, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < g->n; i++)
        if (s[i].bags.n_bags > 0)
            s[i].threaded = pthread_create(&s[i].thread, NULL, ask_share, &s[i]) == 0;
    for (size_t i = 0; i < g->n; i++) {
        if (s[i].threaded)
            pthread_join(s[i].thread, NULL);
        else if (s[i].bags.n_bags > 0)
            ask_share(&s[i]);
        if (s[i].status == PBOOST_OK || st != PBOOST_OK)
            continue;
        if (err != NULL)
            *err = s[i].err;
        st = pboost_group_explain(g, i, s[i].status, err);
    }
    return st;
}

static void name_round(char name[32], size_t round)
{
    snprintf(name, 32, "round-%06zu", round);
}

/* Whether the bags of the round are in the folders of all oracles. */
static pboost_status round_begun(bool *out, const pboost_group *g, size_t round, pboost_error *err)
{
    unsigned char *mark = NULL;
    size_t length;
    char name[32];

    name_round(name, round);
    pboost_status st = pboost_checkpoint_read(&mark, &length, g->checkpoint, name, err);
    *out = mark != NULL;
    free(mark);
    return st;
}

/* All bags are on the disk before one is sent: a run that is started again must not make others of
 * rows that were spent.  Without the mark what is in the folders was never sent. */
static pboost_status keep_round(const share *s, const pboost_group *g, size_t round,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool begun;
    char name[32];

    if (g->checkpoint == NULL)
        return PBOOST_OK;
    TRY(round_begun(&begun, g, round, err));
    for (size_t i = 0; i < g->n; i++) {
        TRY(pboost_checkpoint_open(g->member[i].folder, err));
        TRY(pboost_remote_keep(g->member[i].remote, round, &s[i].bags, !begun, err));
    }
    name_round(name, round);
    if (!begun)
        TRY(pboost_checkpoint_write(g->checkpoint, name, (const unsigned char *)"", 0, err));
done:
    return st;
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_group *g = self;
    share *s = NULL;
    size_t *part = NULL, next[PBOOST_GROUP_MAX] = {0}, width = g->rules.width;

    if (g->n == 1) {
        pboost_oracle only = pboost_remote_interface(g->member[0].remote);
        return only.ask(only.self, round, bags, answer, err);
    }
    NEED(s = calloc(g->n, sizeof *s), err);
    NEED(part = pboost_alloc(bags->n_bags, sizeof *part), err);
    for (size_t i = 0; i < g->n; i++)
        s[i] = (share){.to = &g->member[i], .round = round};
    TRY(divide(s, g, bags, part, err));
    TRY(keep_round(s, g, round, err));
    TRY(ask_all(s, g, err));
    for (size_t b = 0; b < bags->n_bags; b++)
        memcpy(answer + b * width, s[part[b]].answer + width * next[part[b]]++,
               width * sizeof *answer);
done:
    free_shares(s, g->n);
    free(part);
    return st;
}

pboost_oracle pboost_group_interface(pboost_group *g)
{
    return (pboost_oracle){.rules = g->rules, .self = g, .ask = ask};
}

void pboost_group_set_rows(pboost_group *g, const pboost_id *id, const uint32_t *part, size_t n)
{
    for (size_t i = 0; i < g->n; i++)
        pboost_remote_set_rows(g->member[i].remote, id, n);
    g->part = part;
    g->rows = n;
}

/* ---- Continuing an earlier run --------------------------------------------------------------- */

static pboost_status append_bags(pboost_bags *out, const pboost_bags *more, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = out->n_rows + more->n_rows, bags = out->n_bags + more->n_bags;
    size_t *row, *start;

    NEED(row = realloc(out->row, (rows + 1) * sizeof *row), err);
    out->row = row;
    NEED(start = realloc(out->start, (bags + 1) * sizeof *start), err);
    out->start = start;
    memcpy(row + out->n_rows, more->row, more->n_rows * sizeof *row);
    for (size_t b = 0; b <= more->n_bags; b++)
        start[out->n_bags + b] = out->n_rows + more->start[b];
    out->n_rows = rows;
    out->n_bags = bags;
done:
    return st;
}

pboost_status pboost_group_recall(pboost_bags *out, pboost_group *g, size_t round,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags own = {0};
    bool begun = false;

    *out = (pboost_bags){0};
    if (g->n == 1)
        return pboost_remote_recall(out, g->member[0].remote, round, err);
    if (g->checkpoint != NULL)
        TRY(round_begun(&begun, g, round, err));
    for (size_t i = 0; begun && i < g->n; i++) {
        TRY(pboost_remote_recall(&own, g->member[i].remote, round, err));
        if (own.n_bags > 0)
            TRY(append_bags(out, &own, err));
        pboost_bags_free(&own);
    }
done:
    pboost_bags_free(&own);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

/* All bags of a question are answered or none, and the questions of an oracle are asked one after
 * the other. */
bool pboost_group_answered(const pboost_group *g)
{
    bool answered = false;

    for (size_t i = 0; i < g->n && g->member[i].folder != NULL; i++) {
        unsigned char *answer = NULL;
        size_t length;
        pboost_status st = pboost_checkpoint_read(&answer, &length, g->member[i].folder,
                                                  "answer-000000-000000", NULL);
        answered = answered || st != PBOOST_OK || answer != NULL;
        free(answer);
    }
    return answered;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* What each oracle may have for itself. */
static bool is_own(const char *rule)
{
    static const char *const OWN[] = {"min_bag",  "units",   "unit_rows",
                                      "max_body", "version", "sheet"};

    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (strcmp(rule, OWN[i]) == 0)
            return true;
    return false;
}

/* The rules as the wire has them. */
static pboost_status describe_rules(json_t **out, const pboost_remote *remote, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *body = NULL;
    size_t length;

    TRY(pboost_wire_write_config(&body, &length, pboost_remote_config(remote), err));
    NEED(*out = json_loadb((const char *)body, length, JSON_DECODE_ANY, NULL), err);
done:
    free(body);
    return st;
}

/* A rule of a that b does not have, or has otherwise; NULL: there is none. */
static const char *find_difference(json_t *a, const json_t *b)
{
    const char *rule;
    json_t *value;

    json_object_foreach(a, rule, value)
    {
        if (!is_own(rule) && !json_equal(value, json_object_get(b, rule)))
            return rule;
    }
    return NULL;
}

/* The rules of member i are those of the first: the fit takes all answers as of one kind, with one
 * law of noise. */
static pboost_status compare_rules(const pboost_group *g, size_t i, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *first = NULL, *other = NULL;
    char *here = NULL, *there = NULL;

    TRY(describe_rules(&first, g->member[0].remote, err));
    TRY(describe_rules(&other, g->member[i].remote, err));
    const char *rule = find_difference(first, other);
    if (rule == NULL)
        rule = find_difference(other, first);
    if (rule == NULL)
        goto done;
    here = json_dumps(json_object_get(first, rule), JSON_ENCODE_ANY);
    there = json_dumps(json_object_get(other, rule), JSON_ENCODE_ANY);
    FAIL(err, PBOOST_REFUSED,
         "the oracles have different rules: %s is %.60s at oracle 1, %.100s, and %.60s at oracle "
         "%zu, %.100s; it must be equal; nothing was asked",
         rule, here != NULL ? here : "not set", g->member[0].url, there != NULL ? there : "not set",
         i + 1, g->member[i].url);
done:
    json_decref(first);
    json_decref(other);
    free(here);
    free(there);
    return st;
}

static pboost_status open_member(pboost_group *g, size_t i, const char *url,
                                 const pboost_remote_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_remote_options own = *options;
    member *m = &g->member[i];

    m->url = url;
    if (g->checkpoint != NULL) {
        size_t size = strlen(g->checkpoint) + 32;
        NEED(m->folder = malloc(size), err);
        if (g->n == 1)
            snprintf(m->folder, size, "%s", g->checkpoint);
        else
            snprintf(m->folder, size, "%s/oracle-%zu", g->checkpoint, i + 1);
    }
    own.checkpoint = m->folder;
    TRY(pboost_group_explain(g, i, pboost_remote_open(&m->remote, url, &own, err), err));
done:
    return st;
}

pboost_status pboost_group_open(pboost_group **out, const char *const *url,
                                const pboost_remote_options *options, size_t n,
                                const char *checkpoint, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_group *g = NULL;

    *out = NULL;
    if (n == 0 || n > PBOOST_GROUP_MAX)
        FAIL(err, PBOOST_INVALID, "there are %zu oracles; there must be 1 to %d", n,
             (int)PBOOST_GROUP_MAX);
    NEED(g = calloc(1, sizeof *g), err);
    NEED(g->member = calloc(n, sizeof *g->member), err);
    g->n = n;
    g->checkpoint = checkpoint;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            if (strcmp(url[i], url[j]) == 0)
                FAIL(err, PBOOST_INVALID, "oracles %zu and %zu have the same address, %.200s",
                     j + 1, i + 1, url[i]);
        TRY(open_member(g, i, url[i], &options[i], err));
        const pboost_rules rules = pboost_wire_rules(pboost_remote_config(g->member[i].remote));
        size_t k = rules.min_bag > g->rules.min_bag ? rules.min_bag : g->rules.min_bag;
        g->rules = i == 0 ? rules : g->rules;
        g->rules.min_bag = k;
        if (i > 0)
            TRY(compare_rules(g, i, err));
    }
    *out = g;
    g = NULL;
done:
    pboost_group_close(g);
    return st;
}

void pboost_group_close(pboost_group *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; g->member != NULL && i < g->n; i++) {
        pboost_remote_close(g->member[i].remote);
        free(g->member[i].folder);
    }
    free(g->member);
    free(g);
}

size_t pboost_group_size(const pboost_group *g)
{
    return g->n;
}

pboost_remote *pboost_group_member(pboost_group *g, size_t i)
{
    return g->member[i].remote;
}

const char *pboost_group_url(const pboost_group *g, size_t i)
{
    return g->member[i].url;
}
