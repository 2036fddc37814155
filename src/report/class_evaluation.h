/* An evaluation of a model of classes: text, JSON, and a page. */
#ifndef PBOOST_CLASS_EVALUATION_H
#define PBOOST_CLASS_EVALUATION_H

#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>

typedef struct class_evaluation {
    const char *model, *data; /* names of the files */
    const char *const *class_name;
    size_t unseen;
    pboost_class_evaluation measures;
} class_evaluation;

void class_evaluation_print(FILE *out, const class_evaluation *e);
json_t *class_evaluation_json(const class_evaluation *e);
/* The measures, what each class was taken for, and whether its probabilities are right. */
pboost_status class_evaluation_write(const char *path, const class_evaluation *e,
                                     pboost_error *err);

#endif
