/* Labels that are one of several classes: their names, and the number of each row's class. */
#ifndef PBOOST_CLI_CLASS_LABELS_H
#define PBOOST_CLI_CLASS_LABELS_H

#include "data.h"

typedef struct class_names {
    size_t n;
    char **name; /* the first is the base */
} class_names;

void class_names_free(class_names *names);
pboost_status class_names_add(class_names *names, const char *name, pboost_error *err);

/* The classes of a column of text, in the order of their numbers if all are numbers, otherwise in
 * that of their bytes.  Fewer than 3 and more than PBOOST_MAX_CLASSES are refused. */
pboost_status class_names_learn(class_names *out, const pboost_table *table, const char *label,
                                pboost_error *err);

/* By row, the number of its class, allocated for the caller; another value is an error that names
 * the line. */
pboost_status class_labels(double **out, const class_names *names, const pboost_table *table,
                           const char *label, pboost_error *err);

/* The different values of a column of a table that is read for this; *numbers: all are numbers. */
pboost_status class_values_count(size_t *count, bool *numbers, const char *path, const char *label,
                                 const cli_list *missing, pboost_error *err);

#endif
