/* Audit files: one JSON object a line, entries of the chain and heads that are signed.
 *
 *     {"entry":0,"kind":"init","time":1,"rows":0,"bags":0,"data":"HEX","seal":"HEX","head":"HEX"}
 *     {"entries":1,"head":"HEX","signature":"HEX"}
 *
 * A head signs all entries before it.  More entries and another head may follow, so that a file
 * grows at its end. */
#include "wire_audit.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "try.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_hex(pboost_buffer *b, const unsigned char *data, size_t length)
{
    static const char DIGITS[] = "0123456789abcdef";

    pboost_buffer_text(b, "\"");
    for (size_t i = 0; i < length; i++)
        pboost_buffer_bytes(b, (char[]){DIGITS[data[i] >> 4], DIGITS[data[i] & 15]}, 2);
    pboost_buffer_text(b, "\"");
}

void pboost_wire_write_audit_entry(pboost_buffer *b, const pboost_ledger_entry *e)
{
    pboost_buffer_format(b, "{\"entry\":%" PRIu64 ",\"kind\":", e->number);
    pboost_buffer_json(b, e->kind);
    pboost_buffer_format(b, ",\"time\":%" PRId64 ",\"rows\":%" PRIu64 ",\"bags\":%" PRIu64, e->time,
                         e->rows, e->bags);
    pboost_buffer_text(b, ",\"data\":");
    put_hex(b, e->data, e->data_length);
    pboost_buffer_text(b, ",\"seal\":");
    put_hex(b, e->seal, PBOOST_SEAL);
    pboost_buffer_format(b, ",\"head\":\"%s\"}\n", e->head);
}

void pboost_wire_write_audit_head(pboost_buffer *b, const pboost_signed_head *head)
{
    pboost_buffer_format(b, "{\"entries\":%" PRIu64 ",\"head\":\"%s\",\"signature\":\"%s\"}\n",
                         head->entries, head->head, head->signature);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_hex(unsigned char *out, size_t room, size_t *length, const char *text)
{
    size_t digits = strlen(text);
    return digits % 2 == 0 && digits / 2 <= room &&
           sodium_hex2bin(out, room, text, digits, NULL, length, NULL) == 0 &&
           *length == digits / 2;
}

static bool read_head(char *out, size_t room, const char *text)
{
    size_t length = strlen(text);
    if (length != room - 1 || strspn(text, "0123456789abcdef") != length)
        return false;
    memcpy(out, text, room);
    return true;
}

static bool read_entry(wire_audit_line *out, json_t *line)
{
    json_int_t number = -1, time = 0, rows = -1, bags = -1;
    const char *kind, *data, *seal, *head;
    pboost_ledger_entry *e = &out->entry;
    size_t length = 0;

    if (json_unpack(line, "{s:I, s:s, s:I, s:I, s:I, s:s, s:s, s:s !}", "entry", &number, "kind",
                    &kind, "time", &time, "rows", &rows, "bags", &bags, "data", &data, "seal",
                    &seal, "head", &head) != 0 ||
        number < 0 || rows < 0 || bags < 0 || strlen(kind) >= sizeof out->kind ||
        !read_hex(out->seal, sizeof out->seal, &length, seal) || length != sizeof out->seal ||
        !read_hex(out->data, sizeof out->data, &e->data_length, data) ||
        !read_head(e->head, sizeof e->head, head))
        return false;
    memcpy(out->kind, kind, strlen(kind) + 1);
    e->number = (uint64_t)number;
    e->kind = out->kind;
    e->time = time;
    e->rows = (uint64_t)rows;
    e->bags = (uint64_t)bags;
    e->data = out->data;
    e->seal = out->seal;
    return true;
}

static bool read_signed_head(wire_audit_line *out, json_t *line)
{
    json_int_t entries = -1;
    const char *head, *signature;

    if (json_unpack(line, "{s:I, s:s, s:s !}", "entries", &entries, "head", &head, "signature",
                    &signature) != 0 ||
        entries < 1 || !read_head(out->head.head, sizeof out->head.head, head) ||
        !read_head(out->head.signature, sizeof out->head.signature, signature))
        return false;
    out->head.entries = (uint64_t)entries;
    return true;
}

pboost_status pboost_wire_read_audit(wire_audit_line *out, const char *text, size_t length,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

    *out = (wire_audit_line){.is_head = json_object_get(line, "signature") != NULL};
    if (!(out->is_head ? read_signed_head(out, line) : read_entry(out, line)))
        FAIL(err, PBOOST_BAD_DATA, "not a line of an audit file");
done:
    json_decref(line);
    return st;
}
