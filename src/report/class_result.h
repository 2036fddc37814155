/* The weights of a model of classes, as text, as JSON and in the page. */
#ifndef PBOOST_CLASS_RESULT_H
#define PBOOST_CLASS_RESULT_H

#include "train_result.h"

/* The standard error of weight j of class c, or of its intercept for j == cols; NaN: unknown. */
double class_error(const pboost_class_coef *coef, const double *covariance, size_t c, size_t j);

void class_print(FILE *out, const train_description *d);
/* "classes", "theta", "intercept" and, if they are known, "standard_errors". */
void class_describe(json_t *report, const train_description *d);
void class_describe_errors(json_t *report, const train_description *d);

/* A table of the weights of a model. */
void class_write_weights(FILE *out, const pboost_model *model, const char *name);

#endif
