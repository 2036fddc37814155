/* Any bytes as a message to the oracle, or as a message from an oracle.
 *
 * The first byte chooses the reader.  A question that is read must be the same after it is written
 * and read again. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"
#include "wire_audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_question(wire_format format, const uint8_t *data, size_t size)
{
    wire_question q, again;
    unsigned char *body = NULL, *twice = NULL;
    size_t length = 0, length_twice = 0;

    if (pboost_wire_read_question(&q, format, data, size, NULL) == PBOOST_OK) {
        if (pboost_wire_write_question(&body, &length, format, &q, NULL) == PBOOST_OK &&
            (format == WIRE_JSON || q.request_id[0] != '\0')) {
            if (pboost_wire_read_question(&again, format, body, length, NULL) != PBOOST_OK ||
                pboost_wire_write_question(&twice, &length_twice, format, &again, NULL) !=
                    PBOOST_OK ||
                length != length_twice || memcmp(body, twice, length) != 0)
                abort();
            pboost_wire_question_free(&again);
        }
        pboost_wire_name_question(&q, NULL);
        pboost_wire_question_free(&q);
    }
    free(body);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pboost_id ids[] = {{"a", 0}, {NULL, 12}, {"b", 0}};
    wire_question rows;
    wire_answer answer;
    wire_config config;
    wire_audit_line line;
    bool available[3];

    if (size == 0)
        return 0;
    uint8_t kind = *data++;
    size--;
    switch (kind % 8) {
    case 0:
        read_question(WIRE_JSON, data, size);
        break;
    case 1:
        read_question(WIRE_BINARY, data, size);
        break;
    case 2:
        if (pboost_wire_read_answer(&answer, data, size, NULL) == PBOOST_OK)
            pboost_wire_answer_free(&answer);
        break;
    case 3:
        if (pboost_wire_read_rows(&rows, data, size, NULL) == PBOOST_OK)
            pboost_wire_question_free(&rows);
        break;
    case 4:
        pboost_wire_read_available(available, ids, 3, data, size, NULL);
        break;
    case 5:
        pboost_wire_read_config(&config, data, size, NULL);
        break;
    default:
        pboost_wire_read_audit(&line, (const char *)data, size, NULL);
    }
    return 0;
}
