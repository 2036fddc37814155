/* priorboost train --bag COL --answers FILE: the answers file. */
#ifndef PBOOST_CLI_TRAIN_BAGS_H
#define PBOOST_CLI_TRAIN_BAGS_H

#include "train.h"

/* The answers file, its columns found. */
typedef struct answers_file {
    pboost_table *table;
    size_t bag;
    const double *count, *mean, *sum, *noise; /* mean or sum, and noise, may be NULL */
    const double **share;                     /* by class; NULL: labels are numbers */
    size_t classes;
} answers_file;

/* The name of the bag of a line. */
const char *answers_bag_name(const answers_file *f, size_t line);

/* The columns of the classes, and in `names` what they are called. */
pboost_status train_class_columns(answers_file *f, class_names *names, const train_arguments *a,
                                  pboost_error *err);
/* What one line says of its bag: the proportion of each class, from counts or proportions, and the
 * variance of the noise in each. */
pboost_status train_class_line(double *mean, double *noise, const answers_file *f, size_t line,
                               pboost_error *err);
/* Columns of classes in a file that also has the features are not features. */
void train_class_roles(bool *use, const pboost_table *table, const train_arguments *a);

#endif
