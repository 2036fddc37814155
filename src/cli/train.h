/* priorboost train: what its three files share. */
#ifndef PBOOST_CLI_TRAIN_H
#define PBOOST_CLI_TRAIN_H

#include <priorboost/ledger.h>

#include "data.h"

/* The command line, read. */
typedef struct train_arguments {
    const char *data, *test, *out, *prior;
    const char *label, *positive, *id, *unit, *weight, *offset;
    cli_list exclude, categorical;
    const char *impute;
    bool standardize;

    pboost_family family;
    bool has_family;
    const char *algorithm, *estimator, *bags, *schedule;
    size_t min_bag, bag_size, rounds;
    double l2;
    bool no_intercept;

    pboost_rational epsilon;
    cli_bounds bounds;
    bool has_bounds, clamp, round;
    double step;

    const char *oracle, *token_file, *ca, *checkpoint; /* labels stay at the oracle */
    bool skip_unavailable;
    size_t patience;

    uint64_t seed;
    bool has_seed;
    int threads;
} train_arguments;

/* The files, read: the learner's side and, apart from it, the labels. */
typedef struct train_data {
    size_t rows, cols;
    pboost_encoding encoding;
    double *x;            /* standardised where asked */
    double *mean, *scale; /* by column, what standardising took away; NULL: nothing */
    double *weight, *offset, *prior_score;
    uint64_t *row_key;
    pboost_id *id; /* with --oracle; text in id_text */
    char *id_text;
    uint32_t *unit; /* by row, numbered from 0; NULL: every row is its own */
    size_t n_units;
    size_t test_rows;
    double *test_x, *test_offset; /* in the units of the file */
    double *label, *test_label;   /* label is NULL with --oracle */
} train_data;

pboost_status train_data_load(train_data *out, const train_arguments *a, pboost_error *err);
void train_data_free(train_data *data);

/* From the units of x to those of the file. */
void train_data_unscale(pboost_coef *coef, const train_data *data);

/* What a run gave. */
typedef struct train_result {
    pboost_trainer_options options;
    pboost_rules rules;
    pboost_estimator estimator;
    pboost_coef *path; /* by round, in the units of the file */
    pboost_round *history;
    size_t rounds, rows_spent;
    pboost_fit_report fit;
    bool simulated;
    size_t unavailable, same_unit; /* rows left out */
    double seconds;
} train_result;

pboost_status train_print(cli_context *cli, const train_arguments *a, const train_data *data,
                          const train_result *result, pboost_error *err);
pboost_status train_print_json(const train_arguments *a, const train_data *data,
                               const train_result *result, pboost_error *err);
/* Into an output that was opened before any label was spent. */
pboost_status train_write_model(pboost_output *output, const train_arguments *a, train_data *data,
                                const train_result *result, pboost_error *err);

#endif
