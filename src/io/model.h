/* What the parts of the model file agree on. */
#ifndef PBOOST_MODEL_H
#define PBOOST_MODEL_H

#include <jansson.h>

#include <priorboost/io.h>

#define MODEL_FORMAT "priorboost-model"
#define MODEL_CLASSES "classes" /* the family of a model of classes */

enum { MODEL_VERSION = 2 }; /* newest that is understood */

/* Sets key to text, which must be UTF-8; NULL: null. */
pboost_status pboost_model_put_text(json_t *object, const char *key, const char *text,
                                    pboost_error *err);

/* sparse_model.c */
pboost_status pboost_model_put_sparse(json_t *root, const pboost_model *m, pboost_error *err);
pboost_status pboost_model_get_sparse(pboost_model *out, const json_t *root, const char *name,
                                      pboost_error *err);

/* class_model.c */
pboost_status pboost_model_put_classes(json_t *root, const pboost_model *m, pboost_error *err);
pboost_status pboost_model_get_classes(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err);

/* members.c */
pboost_status pboost_model_put_members(json_t *root, const pboost_model *m, pboost_error *err);
pboost_status pboost_model_get_members(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err);

#endif
