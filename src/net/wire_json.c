/* Questions and answers as JSON. */
#include "wire_forms.h"

#include <string.h>

#include "buffer.h"
#include "scan.h"
#include "try.h"

static size_t count(const unsigned char *body, size_t length, unsigned char c)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += body[i] == c;
    return n;
}

/* Every id has two quotes, every bag a bracket. */
void pboost_wire_count_json(size_t *rows, size_t *bags, const unsigned char *body, size_t length)
{
    *rows = count(body, length, '"') / 2 + 1;
    *bags = count(body, length, '[') + 1;
}

/* Room for whatever the body may hold. */
static pboost_status make_room(wire_question *q, const unsigned char *body, size_t length,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows, bags;

    pboost_wire_count_json(&rows, &bags, body, length);
    NEED(q->text = malloc(length + 1), err);
    NEED(q->id = pboost_alloc(rows, sizeof *q->id), err);
    NEED(q->start = pboost_alloc(bags + 1, sizeof *q->start), err);
    q->start[0] = 0;
done:
    return st;
}

/* ["id", ...]: the next bag. */
static pboost_status scan_bag(wire_question *q, pboost_scan *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_scan_expect(s, '[', err));
    if (!pboost_scan_take(s, ']')) {
        do {
            pboost_id *id = &q->id[q->n_rows];
            *id = (pboost_id){0};
            TRY(pboost_scan_string(&id->text, s, err));
            q->n_rows++;
        } while (pboost_scan_take(s, ','));
        TRY(pboost_scan_expect(s, ']', err));
    }
    q->start[++q->n_bags] = q->n_rows;
done:
    return st;
}

static pboost_status scan_bags(wire_question *q, pboost_scan *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_scan_expect(s, '[', err));
    if (pboost_scan_take(s, ']'))
        return PBOOST_OK;
    do
        TRY(scan_bag(q, s, err));
    while (pboost_scan_take(s, ','));
    TRY(pboost_scan_expect(s, ']', err));
done:
    return st;
}

static pboost_status scan_text(char *out, size_t size, const char *name, pboost_scan *s,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *text;

    TRY(pboost_scan_string(&text, s, err));
    if (strlen(text) >= size)
        FAIL(err, PBOOST_BAD_DATA, "%s has %zu bytes; it may have %zu", name, strlen(text),
             size - 1);
    memcpy(out, text, strlen(text) + 1);
done:
    return st;
}

static pboost_status scan_answer(wire_question *q, pboost_scan *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char name[PBOOST_ID_MAX + 1];

    TRY(scan_text(name, sizeof name, "answer", s, err));
    if (pboost_answer_parse(&q->answer, name, err) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA,
             "answer is \"%.40s\"; it must be \"mean\", \"classes\" or \"columns\"", name);
done:
    return st;
}

/* The members of a question, one bit each. */
enum { REQUEST_ID = 1, BAGS = 2, HEAD = 4, ROWS = 8, ANSWER = 16 };

static unsigned member_named(const char *name)
{
    return strcmp(name, "request_id") == 0 ? REQUEST_ID
           : strcmp(name, "bags") == 0     ? BAGS
           : strcmp(name, "head") == 0     ? HEAD
           : strcmp(name, "rows") == 0     ? ROWS
           : strcmp(name, "answer") == 0   ? ANSWER
                                           : 0;
}

static pboost_status scan_member(unsigned *seen, unsigned allowed, wire_question *q, pboost_scan *s,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *name;

    TRY(pboost_scan_string(&name, s, err));
    unsigned member = member_named(name);
    if (!(member & allowed))
        FAIL(err, PBOOST_BAD_DATA, "member \"%.40s\" is unknown here", name);
    if (*seen & member)
        FAIL(err, PBOOST_BAD_DATA, "member \"%s\" occurs twice", name);
    *seen |= member;
    TRY(pboost_scan_expect(s, ':', err));
    if (member == REQUEST_ID)
        TRY(scan_text(q->request_id, sizeof q->request_id, "request_id", s, err));
    else if (member == BAGS)
        TRY(scan_bags(q, s, err));
    else if (member == ROWS)
        TRY(scan_bag(q, s, err));
    else if (member == ANSWER)
        TRY(scan_answer(q, s, err));
    else if (!pboost_scan_null(s))
        TRY(scan_text(q->head, sizeof q->head, "head", s, err));
done:
    return st;
}

/* An object with the needed members, and perhaps the others. */
static pboost_status read_object(wire_question *out, unsigned needed, unsigned optional,
                                 const unsigned char *body, size_t length, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned seen = 0;

    *out = (wire_question){0};
    TRY(make_room(out, body, length, err));
    pboost_scan s = {body, body, body + length, out->text};
    TRY(pboost_scan_expect(&s, '{', err));
    if (!pboost_scan_take(&s, '}')) {
        do
            TRY(scan_member(&seen, needed | optional, out, &s, err));
        while (pboost_scan_take(&s, ','));
        TRY(pboost_scan_expect(&s, '}', err));
    }
    TRY(pboost_scan_finish(&s, err));
    if ((seen & needed) != needed)
        FAIL(err, PBOOST_BAD_DATA, "member \"%s\" is missing",
             needed & ~seen & REQUEST_ID ? "request_id"
             : needed & ~seen & BAGS     ? "bags"
                                         : "rows");
done:
    if (st != PBOOST_OK)
        pboost_wire_question_free(out);
    return st;
}

pboost_status pboost_wire_read_json(wire_question *out, const unsigned char *body, size_t length,
                                    pboost_error *err)
{
    return read_object(out, REQUEST_ID | BAGS, HEAD | ANSWER, body, length, err);
}

pboost_status pboost_wire_read_rows(wire_question *out, const unsigned char *body, size_t length,
                                    pboost_error *err)
{
    return read_object(out, ROWS, 0, body, length, err);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_ids(pboost_buffer *b, const pboost_id *id, const bool *which, size_t n)
{
    char room[24];
    bool first = true;

    pboost_buffer_text(b, "[");
    for (size_t i = 0; i < n; i++) {
        if (which != NULL && !which[i])
            continue;
        pboost_buffer_text(b, first ? "" : ",");
        pboost_buffer_json(b, pboost_wire_id_text(room, &id[i]));
        first = false;
    }
    pboost_buffer_text(b, "]");
}

pboost_status pboost_wire_write_json(unsigned char **body, size_t *length, const wire_question *q,
                                     pboost_error *err)
{
    pboost_buffer b = {0};

    pboost_buffer_text(&b, "{\"request_id\":");
    pboost_buffer_json(&b, q->request_id);
    pboost_buffer_text(&b, ",\"bags\":[");
    for (size_t i = 0; i < q->n_bags; i++) {
        pboost_buffer_text(&b, i > 0 ? "," : "");
        put_ids(&b, q->id + q->start[i], NULL, q->start[i + 1] - q->start[i]);
    }
    pboost_buffer_text(&b, "]");
    if (q->answer != PBOOST_ANSWER_MEAN) {
        pboost_buffer_text(&b, ",\"answer\":");
        pboost_buffer_json(&b, pboost_answer_name(q->answer));
    }
    if (q->head[0] != '\0') {
        pboost_buffer_text(&b, ",\"head\":");
        pboost_buffer_json(&b, q->head);
    }
    pboost_buffer_text(&b, "}");
    return pboost_buffer_take(body, length, &b, err);
}

/* {"mean":0.25, {"counts":[20,5,7], or {"means":[0.25,3] */
static void put_values(pboost_buffer *b, const pboost_ledger_answer *a, const double *value)
{
    static const char *const NAMES[] = {"{\"mean\":", "{\"counts\":[", "{\"means\":["};

    pboost_buffer_text(b, NAMES[a->answer]);
    for (size_t j = 0; j < a->width; j++) {
        pboost_buffer_text(b, j > 0 ? "," : "");
        if (a->answer == PBOOST_ANSWER_CLASSES)
            pboost_buffer_format(b, "%.0f", value[j]);
        else
            pboost_buffer_number(b, value[j]);
    }
    pboost_buffer_text(b, a->answer != PBOOST_ANSWER_MEAN ? "]" : "");
}

pboost_status pboost_wire_write_answer_json(unsigned char **body, size_t *length,
                                            const pboost_ledger_answer *a, pboost_error *err)
{
    pboost_buffer b = {0};

    pboost_buffer_text(&b, "{\"request_id\":");
    pboost_buffer_json(&b, a->request_id);
    pboost_buffer_text(&b, ",\"answers\":[");
    for (size_t i = 0; i < a->n_bags; i++) {
        pboost_buffer_text(&b, i > 0 ? "," : "");
        put_values(&b, a, a->value + i * a->width);
        pboost_buffer_format(&b, ",\"size\":%zu}", a->size[i]);
    }
    pboost_buffer_format(&b, "],\"dp\":%s,\"epsilon\":", a->dp ? "true" : "false");
    pboost_buffer_number(&b, pboost_rational_value(a->epsilon));
    pboost_buffer_text(&b, ",\"head\":");
    pboost_buffer_json(&b, a->head);
    pboost_buffer_text(&b, "}\n");
    return pboost_buffer_take(body, length, &b, err);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

pboost_status pboost_wire_write_rows(unsigned char **body, size_t *length, const pboost_id *id,
                                     size_t n, pboost_error *err)
{
    pboost_buffer b = {0};
    pboost_buffer_text(&b, "{\"rows\":");
    put_ids(&b, id, NULL, n);
    pboost_buffer_text(&b, "}");
    return pboost_buffer_take(body, length, &b, err);
}

pboost_status pboost_wire_write_available(unsigned char **body, size_t *length, const pboost_id *id,
                                          const bool *available, size_t n, pboost_error *err)
{
    pboost_buffer b = {0};
    pboost_buffer_text(&b, "{\"available\":");
    put_ids(&b, id, available, n);
    pboost_buffer_text(&b, "}\n");
    return pboost_buffer_take(body, length, &b, err);
}

/* The listed ids are looked for in the order of those asked about, so one walk finds them all. */
pboost_status pboost_wire_read_available(bool *available, const pboost_id *id, size_t n,
                                         const unsigned char *body, size_t length,
                                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = NULL, room[24];
    const char *name, *listed;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        available[i] = false;
    NEED(text = malloc(length + 1), err);
    pboost_scan s = {body, body, body + length, text};
    TRY(pboost_scan_expect(&s, '{', err));
    TRY(pboost_scan_string(&name, &s, err));
    if (strcmp(name, "available") != 0)
        FAIL(err, PBOOST_BAD_DATA, "member is \"%.40s\"; it must be \"available\"", name);
    TRY(pboost_scan_expect(&s, ':', err));
    TRY(pboost_scan_expect(&s, '[', err));
    if (pboost_scan_take(&s, ']'))
        goto end;
    do {
        TRY(pboost_scan_string(&listed, &s, err));
        while (at < n && strcmp(pboost_wire_id_text(room, &id[at]), listed) != 0)
            at++;
        if (at == n)
            FAIL(err, PBOOST_BAD_DATA,
                 "row \"%.60s\" was not in the question, or not in this order", listed);
        available[at++] = true;
    } while (pboost_scan_take(&s, ','));
    TRY(pboost_scan_expect(&s, ']', err));
end:
    TRY(pboost_scan_expect(&s, '}', err));
    TRY(pboost_scan_finish(&s, err));
done:
    free(text);
    return st;
}
