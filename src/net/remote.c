/* An oracle behind an address.
 *
 * What it says is not trusted: the number of answers, their sizes and the claim about noise must be
 * those of the question and of the rules it announced; the trainer itself refuses what is not
 * finite. */
#include "remote.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "checkpoint.h"
#include "try.h"

struct pboost_remote {
    http_client *http;
    const char *checkpoint;
    wire_config config;
    const pboost_id *id;
    size_t n;
    char head[PBOOST_HEAD_TEXT]; /* the last one seen */
    size_t questions;            /* so far, in this run */
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

/* ---- What the oracle says when it does not answer -------------------------------------------- */

/* "row-spent (409): a row was answered for before: 3 rows, such as 'a', 'b'" */
static pboost_status tell_problem(const http_reply *reply, const char *what, pboost_error *err)
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

/* Bags first .. last of a round, as a question. */
static pboost_status make_question(wire_question *q, const pboost_remote *r,
                                   const pboost_bags *bags, size_t first, size_t last,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t from = bags->start[first];

    q->n_bags = last - first;
    q->n_rows = bags->start[last] - from;
    NEED(q->start = pboost_alloc(q->n_bags + 1, sizeof *q->start), err);
    NEED(q->id = pboost_alloc(q->n_rows, sizeof *q->id), err);
    for (size_t b = 0; b <= q->n_bags; b++)
        q->start[b] = bags->start[first + b] - from;
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t row = bags->row[from + i];
        if (row >= r->n)
            FAIL(err, PBOOST_INVALID, "row %zu has no id; there are %zu", row, r->n);
        q->id[i] = r->id[row];
    }
    TRY(pboost_wire_name_question(q, err));
done:
    return st;
}

/* The answer to q, not to another question, and of the kind that was announced. */
static pboost_status check_answer(const pboost_remote *r, const wire_question *q,
                                  const wire_answer *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_rational epsilon = r->config.rules.epsilon;

    if (strcmp(a->request_id, q->request_id) != 0)
        FAIL(err, PBOOST_ORACLE, "the oracle answered request '%.60s' instead of '%.60s'",
             a->request_id, q->request_id);
    if (a->n_bags != q->n_bags)
        FAIL(err, PBOOST_ORACLE, "the oracle gave %zu answers for %zu bags", a->n_bags, q->n_bags);
    for (size_t b = 0; b < q->n_bags; b++) {
        size_t size = q->start[b + 1] - q->start[b];
        if (a->size[b] != size)
            FAIL(err, PBOOST_ORACLE, "the oracle says that bag %zu has %zu rows; it has %zu", b,
                 a->size[b], size);
        if (!isfinite(a->mean[b]))
            FAIL(err, PBOOST_ORACLE, "the oracle answered %g for bag %zu; it must be finite",
                 a->mean[b], b);
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
                         12 * q->n_bags + (1 << 20), err));
    if (reply.status != 200)
        TRY(tell_problem(&reply, "the question", err));
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

/* The question is on the disk before it is sent, the answer before it is used. */
static pboost_status fetch_once(unsigned char **body, size_t *length, pboost_remote *r,
                                const wire_question *q, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char ask_name[40], answer_name[40];
    unsigned char *question = NULL;
    size_t n;
    bool same = true;

    *body = NULL;
    if (r->checkpoint == NULL)
        return fetch(body, length, r, q, err);
    snprintf(ask_name, sizeof ask_name, "ask-%06zu", r->questions);
    snprintf(answer_name, sizeof answer_name, "answer-%06zu", r->questions);
    TRY(pboost_wire_write_question(&question, &n, WIRE_BINARY, q, err));
    TRY(pboost_checkpoint_claim(&same, r->checkpoint, ask_name, question, n, err));
    if (!same)
        FAIL(err, PBOOST_INVALID,
             "%s/%s holds another question than this run asks; use the data, options and machine "
             "of the first run, or another folder",
             r->checkpoint, ask_name);
    TRY(pboost_checkpoint_read(body, length, r->checkpoint, answer_name, err));
    if (*body != NULL)
        goto done;
    TRY(fetch(body, length, r, q, err));
    TRY(pboost_checkpoint_write(r->checkpoint, answer_name, *body, *length, err));
done:
    free(question);
    return st;
}

static pboost_status ask_part(pboost_remote *r, const pboost_bags *bags, size_t first, size_t last,
                              double *answer, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_question q = {0};
    wire_answer a = {0};
    unsigned char *body = NULL;
    size_t length = 0;

    TRY(make_question(&q, r, bags, first, last, err));
    TRY(fetch_once(&body, &length, r, &q, err));
    st = pboost_wire_read_answer(&a, body, length, err);
    if (st == PBOOST_BAD_DATA) /* the oracle's fault, not that of the learner's files */
        st = err != NULL ? (err->status = PBOOST_ORACLE) : PBOOST_ORACLE;
    TRY(st);
    TRY(check_answer(r, &q, &a, err));
    memcpy(answer, a.mean, a.n_bags * sizeof *answer);
    memcpy(r->head, a.head, sizeof r->head);
    r->questions++;
done:
    free(body);
    pboost_wire_question_free(&q);
    pboost_wire_answer_free(&a);
    return st;
}

/* How far a question may go: as many bags as surely fit into a body. */
static size_t last_bag(const pboost_remote *r, const pboost_bags *bags, size_t first)
{
    enum { MOST_ROWS = 1 << 20, HEADER = 512 };
    size_t rows = 0, bytes = HEADER, last = first;

    while (last < bags->n_bags) {
        size_t more = 4;
        for (size_t i = bags->start[last]; i < bags->start[last + 1]; i++) {
            const pboost_id *id = bags->row[i] < r->n ? &r->id[bags->row[i]] : NULL;
            /* A number that shares a question with text is sent as up to 20 digits. */
            more += id != NULL && id->text != NULL ? 1 + strlen(id->text) : 21;
        }
        rows += bags->start[last + 1] - bags->start[last];
        bytes += more;
        if (last > first && (rows > MOST_ROWS || bytes > r->config.max_body))
            break;
        last++;
    }
    return last;
}

static pboost_status ask(void *self, size_t round, const pboost_bags *bags, double *answer,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_remote *r = self;
    (void)round;

    for (size_t first = 0, last; first < bags->n_bags; first = last) {
        last = last_bag(r, bags, first);
        TRY(ask_part(r, bags, first, last, answer + first, err));
    }
done:
    if (st != PBOOST_OK && bags->n_bags > 0)
        memset(answer, 0, bags->n_bags * sizeof *answer);
    return st;
}

pboost_oracle pboost_remote_interface(pboost_remote *remote)
{
    return (pboost_oracle){.rules = remote->config.rules, .self = remote, .ask = ask};
}

void pboost_remote_set_rows(pboost_remote *remote, const pboost_id *id, size_t n)
{
    remote->id = id;
    remote->n = n;
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
        TRY(tell_problem(&reply, "to say which rows are available", err));
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

/* ---- Set-up ---------------------------------------------------------------------------------- */

static pboost_status read_rules(pboost_remote *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    http_reply reply = {0};

    TRY(pboost_http_send(&reply, r->http, "/v1/config", NULL, NULL, 0, 1 << 16, err));
    if (reply.status != 200)
        TRY(tell_problem(&reply, "to tell its rules", err));
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
    r->checkpoint = options->checkpoint;
    if (r->checkpoint != NULL)
        TRY(pboost_checkpoint_open(r->checkpoint, err));
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
