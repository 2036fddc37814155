/* Rules, status, health, metrics: everything except questions about rows. */
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "service.h"

/* The rules as they are for a token: of the units' shares it sees its own. */
static wire_config config_of(const request *r)
{
    const pboost_ledger *ledger = r->service->ledger;
    const pboost_ledger_rules *rules = pboost_ledger_get_rules(ledger);
    wire_config config = {.rules = rules->rules,
                          .units = rules->units,
                          .unit_rows = pboost_ledger_unit_rows(ledger, &r->token),
                          .max_body = r->service->options.max_body,
                          .sheet = rules->sheet};

    memcpy(config.names, rules->names, sizeof config.names);
    memcpy(config.column, rules->column, sizeof config.column);
    return config;
}

pboost_status pboost_handle_config(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_config config = config_of(r);
    unsigned char *body;
    size_t length;

    TRY(pboost_wire_write_config(&body, &length, &config, err));
    pboost_reply_take(r, 200, WIRE_JSON_TYPE, body, length);
done:
    return st;
}

/* ---- Status ---------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *limit_or_null(uint64_t limit)
{
    return limit > 0 ? json_integer((json_int_t)limit) : json_null();
}

static json_t *rows_left(const pboost_token *t)
{
    if (t->max_rows == 0)
        return json_null();
    return json_integer(t->max_rows > t->rows_used ? (json_int_t)(t->max_rows - t->rows_used) : 0);
}

json_t *pboost_describe_token(const pboost_token *t)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "name", t->name,
                     "role", pboost_role_name(t->role), "state", pboost_token_state_name(t->state),
                     "created", (json_int_t)t->created, "expires",
                     limit_or_null((uint64_t)t->expires), "rows_used", (json_int_t)t->rows_used,
                     "max_rows", limit_or_null(t->max_rows), "rows_left", rows_left(t), "scope",
                     text_or_null(t->scoped ? t->scope : NULL), "created_by",
                     text_or_null(t->created_by[0] != '\0' ? t->created_by : NULL), "approved_by",
                     text_or_null(t->approved_by[0] != '\0' ? t->approved_by : NULL));
}

static pboost_status list_tokens(json_t **out, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_token *token = NULL;
    size_t n = 0;

    *out = NULL;
    TRY(pboost_token_list(&token, &n, ledger, err));
    NEED(*out = json_array(), err);
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(*out, pboost_describe_token(&token[i])) != 0)
            FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    free(token);
    return st;
}

typedef struct {
    json_t *list;
    bool failed;
} entry_list;

static bool add_entry(void *user, const pboost_ledger_entry *e)
{
    entry_list *entries = user;
    json_t *entry = json_pack(
        "{s:I, s:s, s:I, s:o, s:o, s:I, s:I}", "number", (json_int_t)e->number, "kind", e->kind,
        "time", (json_int_t)e->time, "token", text_or_null(e->token), "request_id",
        text_or_null(e->request_id), "rows", (json_int_t)e->rows, "bags", (json_int_t)e->bags);
    entries->failed = json_array_insert_new(entries->list, 0, entry) != 0;
    return !entries->failed;
}

/* The last entries of the chain, the newest first. */
static pboost_status list_recent(json_t **out, pboost_ledger *ledger, uint64_t entries,
                                 pboost_error *err)
{
    enum { SHOWN = 25 };
    pboost_status st = PBOOST_OK;
    entry_list list = {0};

    NEED(*out = list.list = json_array(), err);
    TRY(pboost_ledger_entries(ledger, entries > SHOWN ? entries - SHOWN : 0, SHOWN, add_entry,
                              &list, err));
    if (list.failed)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    return st;
}

static bool add_refusal(void *user, const pboost_refusal *refusal)
{
    enum { SHOWN = 100 };
    entry_list *list = user;
    json_t *item = json_pack("{s:s, s:s, s:I, s:I, s:I}", "token", refusal->token, "problem",
                             refusal->problem, "hour", (json_int_t)refusal->hour, "count",
                             (json_int_t)refusal->count, "last", (json_int_t)refusal->last);
    list->failed = json_array_append_new(list->list, item) != 0;
    return !list->failed && json_array_size(list->list) < SHOWN;
}

/* What was refused in the last day, by token, hour and problem, the newest first. */
static pboost_status list_refused(json_t **out, pboost_ledger *ledger, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    entry_list list = {0};

    NEED(*out = list.list = json_array(), err);
    TRY(pboost_ledger_refusals(ledger, (int64_t)time(NULL) - 86400, add_refusal, &list, err));
    if (list.failed)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    return st;
}

static json_t *describe_ledger(const pboost_ledger_status *l)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "store", l->store, "rows",
                     (json_int_t)l->rows, "spent", (json_int_t)l->spent, "left",
                     (json_int_t)(l->rows - l->spent), "forgotten", (json_int_t)l->forgotten,
                     "answers", (json_int_t)l->answers, "bags", (json_int_t)l->bags, "entries",
                     (json_int_t)l->entries, "head", l->head);
}

static pboost_status add_tokens(json_t *status, service *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *tokens = NULL;

    TRY(list_tokens(&tokens, s->ledger, err));
    if (json_object_set(status, "tokens", tokens) != 0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    json_decref(tokens);
    return st;
}

static pboost_status add_ledger(json_t *status, service *s, const pboost_ledger_status *l,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *recent = NULL, *refused = NULL;

    TRY(list_recent(&recent, s->ledger, l->entries, err));
    TRY(list_refused(&refused, s->ledger, err));
    if (json_object_set(status, "refused", refused) != 0 ||
        json_object_set(status, "recent", recent) != 0 ||
        json_object_set_new(status, "ledger", describe_ledger(l)) != 0 ||
        json_object_set_new(status, "rate", pboost_metrics_rate(&s->metrics)) != 0 ||
        json_object_set_new(status, "refusals", pboost_metrics_refusals(&s->metrics)) != 0 ||
        json_object_set_new(status, "connections",
                            json_integer((json_int_t)pboost_connections_count(&s->connections))) !=
            0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    json_decref(recent);
    json_decref(refused);
    return st;
}

/* The document with the rules before its other members, in the words of /v1/config. */
static pboost_status reply_with_rules(request *r, const json_t *status, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_config config = config_of(r);
    unsigned char *rules = NULL, *rest = NULL, *body;
    size_t length, rest_length;
    pboost_buffer b = {0};

    TRY(pboost_wire_write_config(&rules, &length, &config, err));
    TRY(pboost_json_print(&rest, &rest_length, status, 0, err));
    pboost_buffer_text(&b, "{\"rules\":");
    pboost_buffer_bytes(&b, rules, length);
    pboost_buffer_text(&b, ",");
    pboost_buffer_bytes(&b, rest + 1, rest_length - 1);
    TRY(pboost_buffer_take(&body, &length, &b, err));
    pboost_reply_take(r, 200, WIRE_JSON_TYPE, body, length);
done:
    free(rules);
    free(rest);
    return st;
}

pboost_status pboost_handle_status(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    service *s = r->service;
    pboost_ledger_status ledger;
    json_t *status = NULL;

    TRY(pboost_ledger_get_status(&ledger, s->ledger, err));
    status = json_pack("{s:s, s:I, s:I, s:b, s:o, s:s}", "version", pboost_version(), "time",
                       (json_int_t)time(NULL), "started", (json_int_t)s->started, "healthy",
                       !atomic_load(&s->broken), "token", pboost_describe_token(&r->token), "head",
                       ledger.head);
    NEED(status, err);
    unsigned role = PBOOST_MAY(r->token.role); /* a learner sees itself */
    if ((role & (AUDITORS | APPROVER)) != 0)
        TRY(add_tokens(status, s, err));
    if ((role & AUDITORS) != 0)
        TRY(add_ledger(status, s, &ledger, err));
    TRY(reply_with_rules(r, status, err));
done:
    json_decref(status);
    return st;
}

/* ---- Health ---------------------------------------------------------------------------------- */

pboost_status pboost_handle_healthy(request *r, pboost_error *err)
{
    (void)err;
    if (atomic_load(&r->service->broken))
        pboost_problem_reply(r, 503, "unavailable", "The oracle cannot answer now", NULL);
    else
        pboost_reply_lend(r, 200, "text/plain; charset=utf-8", "ok\n");
    return PBOOST_OK;
}

pboost_status pboost_handle_ready(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_status ledger;

    TRY(pboost_ledger_get_status(&ledger, r->service->ledger, err));
    if (atomic_load(&r->service->draining))
        pboost_problem_reply(r, 503, "unavailable", "The oracle is about to stop", NULL);
    else
        pboost_reply_lend(r, 200, "text/plain; charset=utf-8", "ready\n");
done:
    return st;
}

pboost_status pboost_handle_metrics(request *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_status ledger;
    unsigned char *body;
    size_t length;

    TRY(pboost_ledger_get_status(&ledger, r->service->ledger, err));
    TRY(pboost_metrics_print(&body, &length, r->service, &ledger, err));
    pboost_reply_take(r, 200, "text/plain; version=0.0.4; charset=utf-8", body, length);
done:
    return st;
}
