/* priorboost predict with a model of classes. */
#ifndef PBOOST_CLI_PREDICT_CLASSES_H
#define PBOOST_CLI_PREDICT_CLASSES_H

#include <stdio.h>

#include "data.h"

/* By row of a table and class. */
typedef struct class_predictions {
    double *probability;
    double *lower, *upper; /* NULL: not wanted */
    pboost_unseen unseen;
} class_predictions;

void class_predictions_free(class_predictions *p);

/* With level > 0 also intervals; the model must have a covariance then. */
pboost_status class_predict(class_predictions *out, const pboost_model *model,
                            const pboost_table *table, double level, int threads,
                            pboost_error *err);

/* The name of the most likely class. */
const char *class_most_likely(const pboost_model *model, const double *probability);

/* "prediction,p_a,p_b", or "prediction,p_a,lower_a,upper_a,..."; and a row of it.  cell writes a
 * text with the quotes it needs. */
void class_write_header(FILE *stream, const pboost_model *model, bool interval,
                        void (*cell)(FILE *stream, const char *text));
void class_write_row(FILE *stream, const pboost_model *model, const class_predictions *p,
                     size_t row, void (*cell)(FILE *stream, const char *text));

#endif
