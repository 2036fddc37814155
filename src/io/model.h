/* What the parts of the model file agree on. */
#ifndef PBOOST_MODEL_H
#define PBOOST_MODEL_H

#include <jansson.h>

#include <priorboost/io.h>

#define MODEL_FORMAT "priorboost-model"

enum { MODEL_VERSION = 2 }; /* newest that is understood */

/* members.c */
pboost_status pboost_model_put_members(json_t *root, const pboost_model *m, pboost_error *err);
pboost_status pboost_model_get_members(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err);

#endif
