/* The two forms, for wire.c to choose from. */
#ifndef PBOOST_NET_WIRE_FORMS_H
#define PBOOST_NET_WIRE_FORMS_H

#include "wire.h"

typedef pboost_status wire_reader(wire_question *out, const unsigned char *body, size_t length,
                                  pboost_error *err);
typedef pboost_status wire_writer(unsigned char **body, size_t *length, const wire_question *q,
                                  pboost_error *err);
typedef pboost_status wire_answer_writer(unsigned char **body, size_t *length,
                                         const pboost_ledger_answer *a, pboost_error *err);

/* At most how many rows and bags the body holds. */
typedef void wire_counter(size_t *rows, size_t *bags, const unsigned char *body, size_t length);

wire_counter pboost_wire_count_json, pboost_wire_count_binary;
wire_reader pboost_wire_read_json, pboost_wire_read_binary;
wire_writer pboost_wire_write_json, pboost_wire_write_binary;
wire_answer_writer pboost_wire_write_answer_json, pboost_wire_write_answer_binary;

#endif
