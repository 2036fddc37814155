/* What the two forms share: ids, the name of a question, the rules. */
#include "wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "buffer.h"
#include "try.h"
#include "utf8.h"
#include "wire_config.h"
#include "wire_forms.h"

/* ---- The two forms --------------------------------------------------------------------------- */

const char *pboost_wire_type(wire_format format)
{
    return format == WIRE_BINARY ? WIRE_BINARY_TYPE : WIRE_JSON_TYPE;
}

pboost_status pboost_wire_read_question(wire_question *out, wire_format format,
                                        const unsigned char *body, size_t length, pboost_error *err)
{
    wire_reader *read = format == WIRE_BINARY ? pboost_wire_read_binary : pboost_wire_read_json;
    return read(out, body, length, err);
}

pboost_status pboost_wire_write_question(unsigned char **body, size_t *length, wire_format format,
                                         const wire_question *q, pboost_error *err)
{
    wire_writer *write = format == WIRE_BINARY ? pboost_wire_write_binary : pboost_wire_write_json;
    return write(body, length, q, err);
}

pboost_status pboost_wire_write_answer(unsigned char **body, size_t *length, wire_format format,
                                       const pboost_ledger_answer *answer, pboost_error *err)
{
    wire_answer_writer *write =
        format == WIRE_BINARY ? pboost_wire_write_answer_binary : pboost_wire_write_answer_json;
    return write(body, length, answer, err);
}

size_t pboost_wire_cost(wire_format format, const unsigned char *body, size_t length, size_t width)
{
    /* A row: its id, its slot three times, its line in the database.  A bag: where it begins, size,
     * released size; its part of the reply, twice while that grows.  A number of it: value,
     * released sum, and its part of the reply. */
    enum { ROW = sizeof(pboost_id) + 32, BAG = 32, JSON_REPLY = 2 * 38, BINARY_REPLY = 2 * 4 };
    enum { NUMBER = 16, JSON_NUMBER = 2 * 26, BINARY_NUMBER = 2 * 8 };
    bool binary = format == WIRE_BINARY;
    wire_counter *count = binary ? pboost_wire_count_binary : pboost_wire_count_json;
    size_t rows, bags;

    count(&rows, &bags, body, length);
    size_t number = NUMBER + (binary ? BINARY_NUMBER : JSON_NUMBER);
    size_t bag = BAG + (binary ? BINARY_REPLY : JSON_REPLY) + width * number;
    return 2 * length + rows * ROW + bags * bag;
}

void pboost_wire_question_free(wire_question *q)
{
    free(q->start);
    free(q->id);
    free(q->text);
    *q = (wire_question){0};
}

void pboost_wire_answer_free(wire_answer *a)
{
    free(a->size);
    free(a->value);
    *a = (wire_answer){0};
}

const char *pboost_wire_id_text(char room[24], const pboost_id *id)
{
    if (id->text != NULL)
        return id->text;
    snprintf(room, 24, "%" PRId64, id->number);
    return room;
}

/* ---- The name of a question ------------------------------------------------------------------ */

pboost_status pboost_wire_name_question(wire_question *q, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    enum { HASH = 20 };
    unsigned char hash[HASH], *body = NULL;
    size_t length;
    wire_question nameless = *q;

    if (sodium_init() < 0)
        FAIL(err, PBOOST_INTERNAL, "libsodium does not start");
    nameless.request_id[0] = nameless.head[0] = '\0';
    TRY(pboost_wire_write_question(&body, &length, WIRE_BINARY, &nameless, err));
    crypto_generichash(hash, sizeof hash, body, length, NULL, 0);
    sodium_bin2hex(q->request_id, sizeof q->request_id, hash, sizeof hash);
done:
    free(body);
    return st;
}

/* ---- The rules ------------------------------------------------------------------------------- */

static const char *const SHEET[] = PBOOST_SHEET_NAMES;

/* {"label": "...", ...}; null: not given. */
static void write_sheet(pboost_buffer *b, const pboost_sheet *sheet)
{
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++) {
        pboost_buffer_format(b, "%s\"%s\":", i == 0 ? "{" : ",", SHEET[i]);
        if (sheet->text[i][0] != '\0')
            pboost_buffer_json(b, sheet->text[i]);
        else
            pboost_buffer_text(b, "null");
    }
    pboost_buffer_text(b, "}");
}

/* An oracle before 0.3 has none.  What it tells is shown on a terminal: nothing but text passes. */
static bool read_sheet(pboost_sheet *out, const json_t *sheet)
{
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++) {
        const char *text = json_string_value(json_object_get(sheet, SHEET[i]));
        if (text == NULL)
            continue;
        if (strlen(text) >= PBOOST_SHEET_TEXT || !pboost_utf8_printable(text))
            return false;
        memcpy(out->text[i], text, strlen(text) + 1);
    }
    return true;
}

pboost_status pboost_wire_write_config(unsigned char **body, size_t *length,
                                       const wire_config *config, pboost_error *err)
{
    pboost_buffer b = {0};
    const pboost_rules *r = &config->rules;

    pboost_buffer_format(&b, "{\"min_bag\":%zu,\"dp\":%s,\"epsilon\":", r->min_bag,
                         r->epsilon.den > 0 ? "true" : "false");
    pboost_buffer_number(&b, pboost_rational_value(r->epsilon));
    if (r->epsilon.den > 0)
        pboost_buffer_format(&b, ",\"epsilon_fraction\":\"%" PRIu64 "/%" PRIu64 "\"",
                             r->epsilon.num, r->epsilon.den);
    pboost_buffer_text(&b, ",\"lower\":");
    pboost_buffer_number(&b, r->lower);
    pboost_buffer_text(&b, ",\"upper\":");
    pboost_buffer_number(&b, r->upper);
    pboost_buffer_text(&b, ",\"step\":");
    pboost_buffer_number(&b, r->step);
    pboost_buffer_format(&b, ",\"units\":%s,\"unit_rows\":%zu,\"max_body\":%zu,\"version\":",
                         config->units ? "true" : "false", config->unit_rows, config->max_body);
    pboost_buffer_json(&b, pboost_version());
    pboost_buffer_text(&b, ",\"sheet\":");
    write_sheet(&b, &config->sheet);
    pboost_config_write_answer(&b, config);
    pboost_buffer_text(&b, "}\n");
    return pboost_buffer_take(body, length, &b, err);
}

bool pboost_wire_fraction(pboost_rational *out, const char *text)
{
    int used = 0;
    return text != NULL &&
           sscanf(text, "%" SCNu64 "/%" SCNu64 "%n", &out->num, &out->den, &used) == 2 &&
           text[used] == '\0' && out->num > 0 && out->den > 0;
}

pboost_status pboost_wire_read_config(wire_config *out, const unsigned char *body, size_t length,
                                      pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_int_t min_bag = 0, unit_rows = 1, max_body = 0;
    int dp = 0, units = 0;
    const char *fraction = NULL;
    pboost_rules rules = PBOOST_RULES_INIT;
    wire_config read = {0};

    *out = (wire_config){0};
    json_t *config = json_loadb((const char *)body, length, 0, NULL);
    if (json_unpack(config, "{s:I, s:b, s?s, s:F, s:F, s:F, s:b, s:I, s:I}", "min_bag", &min_bag,
                    "dp", &dp, "epsilon_fraction", &fraction, "lower", &rules.lower, "upper",
                    &rules.upper, "step", &rules.step, "units", &units, "unit_rows", &unit_rows,
                    "max_body", &max_body) != 0)
        FAIL(err, PBOOST_ORACLE,
             "the service did not send the rules of an oracle; check its address");
    if (min_bag < 1 || unit_rows < 1 || max_body < 1024 ||
        (dp && !pboost_wire_fraction(&rules.epsilon, fraction)) ||
        !read_sheet(&read.sheet, json_object_get(config, "sheet")))
        FAIL(err, PBOOST_ORACLE, "the oracle's rules are not valid");
    rules.min_bag = (size_t)min_bag;
    rules.bounded = true;
    read.rules = rules;
    read.units = units != 0;
    read.unit_rows = (size_t)unit_rows;
    read.max_body = (size_t)max_body;
    TRY(pboost_config_read_answer(&read, config, err));
    *out = read;
done:
    json_decref(config);
    return st;
}
