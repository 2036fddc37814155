/* An oracle at an address.
 *
 * Its replies are not trusted: the number of answers, their sizes and the claim about noise must be
 * those of the question and of the rules it announced; the trainer itself refuses what is not
 * finite. */
#include "remote.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "checkpoint.h"
#include "head.h"
#include "idindex.h"
#include "rounds.h"
#include "try.h"

struct pboost_remote {
    http_client *http;
    pboost_remote_options options;
    const char *checkpoint;
    wire_config config;
    const pboost_id *id;
    size_t n;
    char head[PBOOST_HEAD_TEXT]; /* the last one seen, in this fit or an earlier one */
    bool forgetful;              /* it cannot be kept, which was said */
};

pboost_id pboost_remote_id(const char *text)
{
    char *end, again[24];
    pboost_id number = {NULL, 0};

    errno = 0;
    number.number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' ||
        strcmp(pboost_wire_id_text(again, &number), text) != 0)
        return (pboost_id){text, 0};
    return number;
}

/* ---- Refusals and errors of the oracle ------------------------------------------------------- */

/* "row-spent (status 409): a row is spent ...; such as 'a', 'b'" */
static pboost_status report_problem(const http_reply *reply, const char *what, pboost_error *err)
{
    json_t *document = json_loadb((const char *)reply->body, reply->length, 0, NULL);
    const char *problem = json_string_value(json_object_get(document, "problem"));
    const char *detail = json_string_value(json_object_get(document, "detail"));
    json_t *rows = json_object_get(document, "rows");
    char sample[160] = "";
    size_t used = 0;

    if (detail == NULL)
        detail = json_string_value(json_object_get(document, "title"));
    for (size_t i = 0; i < json_array_size(rows) && i < 3 && used < sizeof sample; i++) {
        const char *row = json_string_value(json_array_get(rows, i));
        used += (size_t)snprintf(sample + used, sizeof sample - used, "%s'%.40s'",
                                 i == 0 ? "; such as " : ", ", row != NULL ? row : "");
    }
    bool refused = problem != NULL && reply->status >= 400 && reply->status < 500;
    pboost_status st = pboost_fail(
        err, refused ? PBOOST_REFUSED : PBOOST_ORACLE, "the oracle %s %s: %s (status %ld)%s%s%s",
        refused ? "refused" : "failed at", what, problem != NULL ? problem : "no reason given",
        reply->status, detail != NULL ? "; " : "", detail != NULL ? detail : "", sample);
    json_decref(document);
    return st;
}

static bool has_type(const http_reply *reply, const char *type)
{
    size_t n = strlen(type);
    return strncmp(reply->type, type, n) == 0 && (reply->type[n] == '\0' || reply->type[n] == ';');
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* The bags by id, cut as this oracle takes them. */
static pboost_status make_round(asked_round *out, const pboost_remote *r, const pboost_bags *bags,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_question *q = &out->all;

    q->answer = r->config.rules.answer;
    q->n_bags = bags->n_bags;
    q->n_rows = bags->n_rows;
    NEED(q->start = pboost_alloc(q->n_bags + 1, sizeof *q->start), err);
    NEED(q->id = pboost_alloc(q->n_rows, sizeof *q->id), err);
    memcpy(q->start, bags->start, (q->n_bags + 1) * sizeof *q->start);
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t row = bags->row[i];
        if (row >= r->n)
            FAIL(err, PBOOST_INVALID, "row %zu has no id; there are %zu", row, r->n);
        q->id[i] = r->id[row];
    }
    TRY(pboost_wire_name_question(q, err));
    TRY(pboost_round_cut(out, r->config.max_body, err));
done:
    return st;
}

/* Counts of classes are whole numbers, and noise keeps them whole.  Without noise none is below 0
 * and they add up to the size of the bag. */
static pboost_status check_counts(const wire_answer *a, size_t b, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *count = a->value + b * a->width;
    double sum = 0;

    for (size_t j = 0; j < a->width; j++) {
        if (count[j] != rint(count[j]) || (!a->dp && count[j] < 0))
            FAIL(err, PBOOST_ORACLE,
                 "the oracle counted %.17g rows of class %zu in bag %zu; a count must be a whole "
                 "number%s",
                 count[j], j, b, a->dp ? "" : ", not below 0");
        sum += count[j];
    }
    if (!a->dp && sum != (double)a->size[b])
        FAIL(
            err, PBOOST_ORACLE,
            "the oracle's counts of bag %zu add up to %.17g; the bag has %zu rows, and there is no "
            "noise",
            b, sum, a->size[b]);
done:
    return st;
}

/* The answer to q, not to another question, and of the kind that was announced. */
static pboost_status check_answer(const pboost_remote *r, const wire_question *q,
                                  const wire_answer *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rules *rules = &r->config.rules;
    const pboost_rational epsilon = rules->epsilon;

    if (strcmp(a->request_id, q->request_id) != 0)
        FAIL(err, PBOOST_ORACLE, "the oracle answered request '%.60s' instead of '%.60s'",
             a->request_id, q->request_id);
    if (a->n_bags != q->n_bags)
        FAIL(err, PBOOST_ORACLE, "the oracle gave %zu answers for %zu bags", a->n_bags, q->n_bags);
    if (a->answer != rules->answer || a->width != rules->width)
        FAIL(err, PBOOST_ORACLE,
             "the oracle answered with %s, %zu numbers a bag, but its rules say %s, %zu",
             pboost_answer_name(a->answer), a->width, pboost_answer_name(rules->answer),
             rules->width);
    for (size_t b = 0; b < q->n_bags; b++) {
        size_t size = q->start[b + 1] - q->start[b];
        if (a->size[b] != size)
            FAIL(err, PBOOST_ORACLE, "the oracle says that bag %zu has %zu rows; it has %zu", b,
                 a->size[b], size);
        for (size_t i = b * a->width; i < (b + 1) * a->width; i++)
            if (!isfinite(a->value[i]))
                FAIL(err, PBOOST_ORACLE, "the oracle answered %g for bag %zu; it must be finite",
                     a->value[i], b);
        if (a->answer == PBOOST_ANSWER_CLASSES)
            TRY(check_counts(a, b, err));
    }
    if (a->dp != (epsilon.den > 0) || a->epsilon.num != epsilon.num ||
        a->epsilon.den != epsilon.den)
        FAIL(err, PBOOST_ORACLE, "the oracle answered with epsilon %g, but its rules say %g",
             pboost_rational_value(a->epsilon), pboost_rational_value(epsilon));
done:
    return st;
}

/* Sends the body and gets the bytes of the answer. */
static pboost_status fetch(unsigned char **reply_body, size_t *reply_length, pboost_remote *r,
                           const wire_question *q, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *body = NULL;
    size_t length;
    http_reply reply = {0};
    wire_question sent = *q;

    memcpy(sent.head, r->head, sizeof sent.head);
    TRY(pboost_wire_write_question(&body, &length, WIRE_BINARY, &sent, err));
    TRY(pboost_http_send(&reply, r->http, "/v1/queries", WIRE_BINARY_TYPE, body, length,
                         (4 + 8 * r->config.rules.width) * q->n_bags + (1 << 20), err));
    if (reply.status != 200)
        TRY(report_problem(&reply, "the question", err));
    if (!has_type(&reply, WIRE_BINARY_TYPE))
        FAIL(err, PBOOST_ORACLE, "the oracle answered with '%.60s'; %s was expected", reply.type,
             WIRE_BINARY_TYPE);
    *reply_body = reply.body;
    *reply_length = reply.length;
    reply.body = NULL;
done:
    free(body);
    pboost_http_reply_free(&reply);
    return st;
}

/* The bags, as they are asked about: on the disk before a question is sent, and cut as they were if
 * this is not the first start. */
static pboost_status begin_round(asked_round *out, const pboost_remote *r, size_t round,
                                 const pboost_bags *bags, bool replace, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asked_round kept = {0};

    *out = (asked_round){0};
    TRY(make_round(out, r, bags, err));
    if (r->checkpoint == NULL)
        goto done;
    if (!replace)
        TRY(pboost_round_read(&kept, r->checkpoint, round, err));
    if (kept.n_parts == 0) {
        TRY(pboost_round_write(out, r->checkpoint, round, err));
        goto done;
    }
    if (strcmp(kept.all.request_id, out->all.request_id) != 0)
        FAIL(err, PBOOST_INVALID,
             "%s/ask-%06zu holds other bags than this run asks about; use the data and options of "
             "that run, or another folder",
             r->checkpoint, round);
    size_t *end = out->end;
    out->end = kept.end;
    out->n_parts = kept.n_parts;
    kept.end = end;
done:
    pboost_round_free(&kept);
    return st;
}

/* The oracle's reply, or the kept one, if it is an answer to q. */
static pboost_status read_reply(wire_answer *out, const pboost_remote *r, const wire_question *q,
                                const unsigned char *body, size_t length, pboost_error *err)
{
    pboost_status st = pboost_wire_read_answer(out, body, length, err);

    if (st == PBOOST_BAD_DATA) /* the oracle's fault, not that of the learner's files */
        st = err != NULL ? (err->status = PBOOST_ORACLE) : PBOOST_ORACLE;
    TRY(st);
    TRY(check_answer(r, q, out, err));
done:
    return st;
}

/* A head that cannot be kept, such as beside a token that is read-only, is no reason to stop. */
static void keep_head(pboost_remote *r, const char *head)
{
    const http_options *http = &r->options.http;
    pboost_error why = {0};
    char message[400];

    memcpy(r->head, head, sizeof r->head);
    if (r->options.token_file == NULL || r->forgetful ||
        pboost_head_write(head, r->options.token_file, http->token, &why) == PBOOST_OK)
        return;
    r->forgetful = true;
    snprintf(message, sizeof message,
             "the next fit cannot show the oracle the last head of its ledger: %.300s",
             why.message);
    if (http->warn != NULL)
        http->warn(http->user, message);
}

/* An answer is kept once it is known to be one, and before it is used. */
static pboost_status answer_part(wire_answer *out, pboost_remote *r, const wire_question *q,
                                 const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *body = NULL;
    size_t length = 0;
    pboost_error why = {0};

    if (r->checkpoint != NULL)
        TRY(pboost_checkpoint_read(&body, &length, r->checkpoint, name, err));
    bool kept = body != NULL;
    if (!kept)
        TRY(fetch(&body, &length, r, q, err));
    st = read_reply(out, r, q, body, length, kept ? &why : err);
    if (kept && st != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA, "%s/%s is damaged: %.200s", r->checkpoint, name, why.message);
    TRY(st);
    if (r->checkpoint != NULL && !kept)
        TRY(pboost_checkpoint_write(r->checkpoint, name, body, length, err));
    if (!kept)
        keep_head(r, out->head);
    else if (r->head[0] == '\0')
        memcpy(r->head, out->head, sizeof r->head);
done:
    free(body);
    return st;
}

static pboost_status ask_part(double *answer, pboost_remote *r, const asked_round *asked,
                              size_t round, size_t p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_question q = {0};
    wire_answer a = {0};
    char name[64];

    snprintf(name, sizeof name, "answer-%06zu-%06zu", round, p);
    TRY(pboost_round_part(&q, asked, p, err));
    TRY(answer_part(&a, r, &q, name, err));
    for (size_t i = 0; i < a.n_bags * a.width; i++) { /* counts become proportions */
        size_t bag = i / a.width;
        answer[i] =
            a.answer == PBOOST_ANSWER_CLASSES ? a.value[i] / (double)a.size[bag] : a.value[i];
    }
done:
    pboost_wire_question_free(&q);
    pboost_wire_answer_free(&a);
    return st;
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_remote *r = self;
    asked_round asked = {0};
    size_t width = r->config.rules.width;

    TRY(begin_round(&asked, r, round, bags, false, err));
    for (size_t p = 0; p < asked.n_parts; p++)
        TRY(ask_part(answer + width * (p > 0 ? asked.end[p - 1] : 0), r, &asked, round, p, err));
done:
    if (st != PBOOST_OK && bags->n_bags > 0)
        memset(answer, 0, bags->n_bags * width * sizeof *answer);
    pboost_round_free(&asked);
    return st;
}

pboost_status pboost_remote_keep(const pboost_remote *r, size_t round, const pboost_bags *bags,
                                 bool replace, pboost_error *err)
{
    asked_round asked = {0};
    pboost_status st = PBOOST_OK;

    if (r->checkpoint != NULL && bags->n_bags > 0)
        st = begin_round(&asked, r, round, bags, replace, err);
    pboost_round_free(&asked);
    return st;
}

pboost_oracle pboost_remote_interface(pboost_remote *remote)
{
    return (pboost_oracle){.rules = pboost_wire_rules(&remote->config), .self = remote, .ask = ask};
}

void pboost_remote_set_rows(pboost_remote *remote, const pboost_id *id, size_t n)
{
    remote->id = id;
    remote->n = n;
}

/* ---- Continuing an earlier run --------------------------------------------------------------- */

/* The rows of the table that the ids are, as bags. */
static pboost_status find_rows(pboost_bags *out, const pboost_remote *r, const wire_question *q,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    id_index index = {0};
    char room[24];

    TRY(pboost_id_index_make(&index, r->id, r->n, err));
    out->n_bags = q->n_bags;
    out->n_rows = q->n_rows;
    NEED(out->row = pboost_alloc(q->n_rows, sizeof *out->row), err);
    NEED(out->start = pboost_alloc(q->n_bags + 1, sizeof *out->start), err);
    memcpy(out->start, q->start, (q->n_bags + 1) * sizeof *out->start);
    for (size_t i = 0; i < q->n_rows; i++) {
        pboost_id id = q->id[i].text != NULL ? pboost_remote_id(q->id[i].text) : q->id[i];
        out->row[i] = pboost_id_index_find(&index, &id);
        if (out->row[i] == SIZE_MAX)
            FAIL(err, PBOOST_INVALID,
                 "checkpoint %s holds a question about row '%.60s', which the table does not have",
                 r->checkpoint, pboost_wire_id_text(room, &id));
    }
done:
    pboost_id_index_free(&index);
    return st;
}

pboost_status pboost_remote_recall(pboost_bags *out, const pboost_remote *r, size_t round,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    asked_round kept = {0};

    *out = (pboost_bags){0};
    if (r->checkpoint == NULL)
        return PBOOST_OK;
    TRY(pboost_round_read(&kept, r->checkpoint, round, err));
    if (kept.n_parts > 0)
        TRY(find_rows(out, r, &kept.all, err));
done:
    pboost_round_free(&kept);
    if (st != PBOOST_OK)
        pboost_bags_free(out);
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pboost_status ask_available(bool *available, pboost_remote *r, const pboost_id *id, size_t n,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *body = NULL;
    size_t length;
    http_reply reply = {0};

    TRY(pboost_wire_write_rows(&body, &length, id, n, err));
    TRY(pboost_http_send(&reply, r->http, "/v1/available", WIRE_JSON_TYPE, body, length,
                         2 * length + 1024, err));
    if (reply.status != 200)
        TRY(report_problem(&reply, "to say which rows are available", err));
    st = pboost_wire_read_available(available, id, n, reply.body, reply.length, err);
    if (st == PBOOST_BAD_DATA)
        FAIL(err, PBOOST_ORACLE, "the oracle's list of available rows cannot be read");
done:
    free(body);
    pboost_http_reply_free(&reply);
    return st;
}

pboost_status pboost_remote_available(bool *available, pboost_remote *remote, const pboost_id *id,
                                      size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    /* An id of 255 bytes that must all be escaped takes 6 times as many. */
    size_t most = remote->config.max_body / (6 * PBOOST_ID_MAX + 3);
    size_t step = most < 1 ? 1 : most < 50000 ? most : 50000;

    for (size_t i = 0; i < n; i += step)
        TRY(ask_available(available + i, remote, id + i, n - i < step ? n - i : step, err));
done:
    return st;
}

pboost_status pboost_remote_rows_left(uint64_t *out, pboost_remote *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    http_reply reply = {0};
    json_t *status = NULL;

    TRY(pboost_http_send(&reply, r->http, "/v1/status", NULL, NULL, 0, 1 << 20, err));
    if (reply.status != 200)
        TRY(report_problem(&reply, "to say how many rows are left", err));
    status = json_loadb((const char *)reply.body, reply.length, 0, NULL);
    json_t *left = json_object_get(json_object_get(status, "token"), "rows_left");
    if (!json_is_null(left) && (!json_is_integer(left) || json_integer_value(left) < 0))
        FAIL(err, PBOOST_ORACLE, "the oracle does not say how many rows its token has left");
    *out = json_is_null(left) ? UINT64_MAX : (uint64_t)json_integer_value(left);
done:
    json_decref(status);
    pboost_http_reply_free(&reply);
    return st;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

static pboost_status read_rules(pboost_remote *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    http_reply reply = {0};

    TRY(pboost_http_send(&reply, r->http, "/v1/config", NULL, NULL, 0, 1 << 17, err));
    if (reply.status != 200)
        TRY(report_problem(&reply, "to send its rules", err));
    TRY(pboost_wire_read_config(&r->config, reply.body, reply.length, err));
done:
    pboost_http_reply_free(&reply);
    return st;
}

pboost_status pboost_remote_open(pboost_remote **out, const char *url,
                                 const pboost_remote_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_remote *r = NULL;

    *out = NULL;
    NEED(r = calloc(1, sizeof *r), err);
    r->options = *options;
    r->checkpoint = options->checkpoint;
    if (options->token_file != NULL)
        TRY(pboost_head_read(r->head, options->token_file, options->http.token, err));
    TRY(pboost_http_open(&r->http, url, &options->http, err));
    TRY(read_rules(r, err));
    *out = r;
    r = NULL;
done:
    pboost_remote_close(r);
    return st;
}

void pboost_remote_close(pboost_remote *remote)
{
    if (remote == NULL)
        return;
    pboost_http_close(remote->http);
    free(remote);
}

const wire_config *pboost_remote_config(const pboost_remote *remote)
{
    return &remote->config;
}
