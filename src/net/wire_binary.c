/* Questions and answers as bytes, for bulk. */
#include "wire_forms.h"

#include <endian.h>
#include <string.h>

#include <sodium.h>

#include "buffer.h"
#include "scan.h"
#include "try.h"

enum { NUMBERS = 1, TEXT = 2, QUESTION_HEADER = 16, ANSWER_HEADER = 64, HASH = 32 };

static uint32_t get32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t get64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* As the header announces; what the body has no bytes for is refused before it is allocated. */
void pboost_wire_count_binary(size_t *rows, size_t *bags, const unsigned char *body, size_t length)
{
    *bags = length >= QUESTION_HEADER ? get32(body + 8) : 0;
    *rows = length >= QUESTION_HEADER ? get32(body + 12) : 0;
    if (*bags > length / 4)
        *bags = length / 4;
    if (*rows > length)
        *rows = length;
}

/* Bytes not yet read. */
typedef struct {
    const unsigned char *at, *end;
} rest;

/* The next n items of a size, or NULL if there are fewer. */
static const unsigned char *take(rest *r, size_t n, size_t size)
{
    const unsigned char *from = r->at;
    if (n > (size_t)(r->end - r->at) / size)
        return NULL;
    r->at += n * size;
    return from;
}

static pboost_status cut_short(pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA, "the body ends before what its header announces");
}

/* Text that is not empty, is UTF-8 and holds no zero. */
static bool is_text(const unsigned char *at, size_t length)
{
    const unsigned char *end = at + length;
    while (at < end) {
        size_t n = pboost_utf8_length(at, end);
        if (n == 0)
            return false;
        at += n;
    }
    return length > 0;
}

static pboost_status get_name(char out[PBOOST_ID_MAX + 1], rest *r, size_t length,
                              pboost_error *err)
{
    const unsigned char *name = take(r, length, 1);
    if (name == NULL)
        return cut_short(err);
    if (!is_text(name, length))
        return pboost_fail(err, PBOOST_BAD_DATA, "the request id is empty or not UTF-8 text");
    memcpy(out, name, length);
    out[length] = '\0';
    return PBOOST_OK;
}

static pboost_status get_head(char out[PBOOST_HEAD_TEXT], rest *r, pboost_error *err)
{
    const unsigned char *head = take(r, HASH, 1);
    if (head == NULL)
        return cut_short(err);
    sodium_bin2hex(out, PBOOST_HEAD_TEXT, head, HASH);
    return PBOOST_OK;
}

static pboost_status get_sizes(wire_question *q, rest *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unsigned char *size = take(r, q->n_bags, 4);

    if (size == NULL)
        return cut_short(err);
    NEED(q->start = pboost_alloc(q->n_bags + 1, sizeof *q->start), err);
    q->start[0] = 0;
    for (size_t b = 0; b < q->n_bags; b++)
        q->start[b + 1] = q->start[b] + get32(size + 4 * b);
    if (q->start[q->n_bags] != q->n_rows)
        FAIL(err, PBOOST_BAD_DATA, "the bags hold %zu rows, but the header says %zu",
             q->start[q->n_bags], q->n_rows);
done:
    return st;
}

static pboost_status get_numbers(wire_question *q, rest *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unsigned char *number = take(r, q->n_rows, 8);

    if (number == NULL)
        return cut_short(err);
    NEED(q->id = pboost_alloc(q->n_rows, sizeof *q->id), err);
    for (size_t i = 0; i < q->n_rows; i++)
        q->id[i] = (pboost_id){NULL, (int64_t)get64(number + 8 * i)};
done:
    return st;
}

static pboost_status get_text(wire_question *q, rest *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unsigned char *length = take(r, q->n_rows, 1);

    if (length == NULL)
        return cut_short(err);
    size_t bytes = (size_t)(r->end - r->at);
    NEED(q->text = pboost_alloc(bytes + q->n_rows, 1), err);
    NEED(q->id = pboost_alloc(q->n_rows, sizeof *q->id), err);
    char *to = q->text;
    for (size_t i = 0; i < q->n_rows; i++) {
        const unsigned char *from = take(r, length[i], 1);
        if (from == NULL)
            return cut_short(err);
        if (!is_text(from, length[i]))
            FAIL(err, PBOOST_BAD_DATA, "id number %zu is empty or not UTF-8 text", i);
        q->id[i] = (pboost_id){to, 0};
        memcpy(to, from, length[i]);
        to += length[i];
        *to++ = '\0';
    }
done:
    return st;
}

pboost_status pboost_wire_read_binary(wire_question *out, const unsigned char *body, size_t length,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    rest r = {body, body + length};

    *out = (wire_question){0};
    const unsigned char *header = take(&r, QUESTION_HEADER, 1);
    if (header == NULL || memcmp(header, "PBQ1", 4) != 0)
        FAIL(err, PBOOST_BAD_DATA, "the body does not begin with PBQ1 and a header of 16 bytes");
    if ((header[4] != NUMBERS && header[4] != TEXT) || header[6] > 1 ||
        header[7] > PBOOST_ANSWER_COLUMNS)
        FAIL(err, PBOOST_BAD_DATA,
             "the header has kind %d, head %d and answers %d; they "
             "must be 1 or 2, 0 or 1, and 0 to 2",
             header[4], header[6], header[7]);
    out->answer = (pboost_answer)header[7];
    out->n_bags = get32(header + 8);
    out->n_rows = get32(header + 12);
    TRY(get_name(out->request_id, &r, header[5], err));
    if (header[6] == 1)
        TRY(get_head(out->head, &r, err));
    TRY(get_sizes(out, &r, err));
    TRY(header[4] == NUMBERS ? get_numbers(out, &r, err) : get_text(out, &r, err));
    if (r.at != r.end)
        FAIL(err, PBOOST_BAD_DATA, "%zu bytes follow the last id", (size_t)(r.end - r.at));
done:
    if (st != PBOOST_OK)
        pboost_wire_question_free(out);
    return st;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_head(pboost_buffer *b, const char *head)
{
    unsigned char hash[HASH] = {0};
    size_t n = 0;
    sodium_hex2bin(hash, sizeof hash, head, strlen(head), NULL, &n, NULL);
    pboost_buffer_bytes(b, hash, sizeof hash);
}

static void put_ids(pboost_buffer *b, const wire_question *q, int kind)
{
    char room[24];

    for (size_t i = 0; i < q->n_rows; i++) {
        if (kind == NUMBERS) {
            pboost_buffer_u64(b, (uint64_t)q->id[i].number);
        } else {
            unsigned char length = (unsigned char)strlen(pboost_wire_id_text(room, &q->id[i]));
            pboost_buffer_bytes(b, &length, 1);
        }
    }
    for (size_t i = 0; kind == TEXT && i < q->n_rows; i++)
        pboost_buffer_text(b, pboost_wire_id_text(room, &q->id[i]));
}

pboost_status pboost_wire_write_binary(unsigned char **body, size_t *length, const wire_question *q,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_buffer b = {0};
    int kind = NUMBERS;

    *body = NULL;
    *length = 0;
    if (q->n_bags > UINT32_MAX || q->n_rows > UINT32_MAX)
        FAIL(err, PBOOST_INVALID, "%zu rows are too many for one question", q->n_rows);
    for (size_t i = 0; i < q->n_rows; i++) {
        if (q->id[i].text == NULL)
            continue;
        kind = TEXT;
        size_t n = strlen(q->id[i].text);
        if (n == 0 || n > PBOOST_ID_MAX)
            FAIL(err, PBOOST_INVALID, "an id has %zu bytes; it must have 1 to %d", n,
                 (int)PBOOST_ID_MAX);
    }
    const unsigned char header[] = {'P',
                                    'B',
                                    'Q',
                                    '1',
                                    (unsigned char)kind,
                                    (unsigned char)strlen(q->request_id),
                                    q->head[0] != '\0',
                                    (unsigned char)q->answer};
    pboost_buffer_bytes(&b, header, sizeof header);
    pboost_buffer_u32(&b, (uint32_t)q->n_bags);
    pboost_buffer_u32(&b, (uint32_t)q->n_rows);
    pboost_buffer_text(&b, q->request_id);
    if (q->head[0] != '\0')
        put_head(&b, q->head);
    for (size_t i = 0; i < q->n_bags; i++)
        pboost_buffer_u32(&b, (uint32_t)(q->start[i + 1] - q->start[i]));
    put_ids(&b, q, kind);
    TRY(pboost_buffer_take(body, length, &b, err));
done:
    return st;
}

pboost_status pboost_wire_write_answer_binary(unsigned char **body, size_t *length,
                                              const pboost_ledger_answer *a, pboost_error *err)
{
    pboost_buffer b = {0};
    bool mean = a->answer == PBOOST_ANSWER_MEAN;
    const unsigned char header[] = {'P',
                                    'B',
                                    'A',
                                    mean ? '1' : '2',
                                    a->dp,
                                    (unsigned char)strlen(a->request_id),
                                    (unsigned char)a->answer,
                                    0};

    pboost_buffer_bytes(&b, header, sizeof header);
    pboost_buffer_u32(&b, (uint32_t)a->n_bags);
    pboost_buffer_u32(&b, mean ? 0 : (uint32_t)a->width);
    pboost_buffer_u64(&b, a->epsilon.num);
    pboost_buffer_u64(&b, a->epsilon.den);
    put_head(&b, a->head);
    pboost_buffer_text(&b, a->request_id);
    for (size_t i = 0; i < a->n_bags * a->width; i++) {
        uint64_t bits;
        memcpy(&bits, &a->value[i], sizeof bits);
        pboost_buffer_u64(&b, bits);
    }
    for (size_t i = 0; i < a->n_bags; i++)
        pboost_buffer_u32(&b, (uint32_t)a->size[i]);
    return pboost_buffer_take(body, length, &b, err);
}

/* ---- Reading an answer ----------------------------------------------------------------------- */

static pboost_status get_values(wire_answer *a, rest *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const unsigned char *value = take(r, a->n_bags, 8 * a->width);
    const unsigned char *size = value != NULL ? take(r, a->n_bags, 4) : NULL;

    if (size == NULL)
        return cut_short(err);
    NEED(a->value = pboost_alloc(a->n_bags, a->width * sizeof *a->value), err);
    NEED(a->size = pboost_alloc(a->n_bags, sizeof *a->size), err);
    for (size_t i = 0; i < a->n_bags * a->width; i++) {
        uint64_t bits = get64(value + 8 * i);
        memcpy(&a->value[i], &bits, sizeof bits);
    }
    for (size_t b = 0; b < a->n_bags; b++)
        a->size[b] = get32(size + 4 * b);
done:
    return st;
}

pboost_status pboost_wire_read_answer(wire_answer *out, const unsigned char *body, size_t length,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    rest r = {body, body + length};

    *out = (wire_answer){0};
    const unsigned char *header = take(&r, ANSWER_HEADER - HASH, 1);
    if (header == NULL || memcmp(header, "PBA", 3) != 0 || (header[3] != '1' && header[3] != '2') ||
        header[4] > 1)
        FAIL(err, PBOOST_BAD_DATA,
             "the answer does not begin with PBA1 or PBA2 and a header of 64 bytes");
    out->dp = header[4] == 1;
    out->width = 1;
    if (header[3] == '2') {
        out->answer = (pboost_answer)header[6];
        out->width = get32(header + 12);
        if (header[6] > PBOOST_ANSWER_COLUMNS || out->width < 1 || out->width > PBOOST_WIDTH_MAX)
            FAIL(err, PBOOST_BAD_DATA, "the answer is of kind %d and has %zu numbers a bag",
                 header[6], out->width);
    }
    out->n_bags = get32(header + 8);
    out->epsilon = (pboost_rational){get64(header + 16), get64(header + 24)};
    TRY(get_head(out->head, &r, err));
    TRY(get_name(out->request_id, &r, header[5], err));
    TRY(get_values(out, &r, err));
    if (r.at != r.end)
        FAIL(err, PBOOST_BAD_DATA, "%zu bytes follow the answer", (size_t)(r.end - r.at));
done:
    if (st != PBOOST_OK)
        pboost_wire_answer_free(out);
    return st;
}
