/* One realization of the paper's data, in memory. */
#ifndef PBOOST_REPRODUCE_DATA_H
#define PBOOST_REPRODUCE_DATA_H

#include <priorboost/theory.h>

typedef struct {
    size_t rows, test_rows, features;
    double noise;
    uint64_t seed;
} data_key;

/* x with its real responses y and their rounded labels in {0, 1}, as numbers and as bytes. */
typedef struct {
    size_t rows, features;
    double *x, *y, *label;
    ptrdiff_t row_stride, col_stride; /* of x */
    unsigned char *bit;
    double longest; /* the largest Euclidean norm of a row */
} data_table;

typedef struct {
    data_key key;
    double *theta; /* theta* */
    data_table train, test;
} repro_data;

pboost_status repro_data_make(repro_data *out, const data_key *key, int threads, pboost_error *err);
void repro_data_free(repro_data *data);

/* The responses that the family learns from. */
const double *repro_data_responses(const data_table *table, pboost_family family);

/* Rows first .. first+n of x. */
pboost_matrix repro_data_rows(const data_table *table, size_t first, size_t n);

/* The model's predicted means of these rows. */
void repro_data_predict(double *mean, const data_table *table, size_t first, size_t n,
                        pboost_family family, const pboost_coef *coef);

#endif
