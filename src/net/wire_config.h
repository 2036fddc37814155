/* What the rules on the wire say about answers: their kind, and classes or label columns. */
#ifndef PBOOST_NET_WIRE_CONFIG_H
#define PBOOST_NET_WIRE_CONFIG_H

#include <jansson.h>

#include "buffer.h"
#include "wire.h"

/* "1/3"; false: it is none. */
bool pboost_wire_fraction(pboost_rational *out, const char *text);

/* ,"answer":"classes","width":3,"classes":["a",...] or "columns":[{"name":"a",...},...] */
void pboost_config_write_answer(pboost_buffer *b, const wire_config *config);

/* Reads them into `config`, whose other rules are read, and checks the rules.  An oracle of before
 * has none: it answers with means. */
pboost_status pboost_config_read_answer(wire_config *config, const json_t *object,
                                        pboost_error *err);

#endif
