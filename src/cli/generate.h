/* priorboost generate: what its designs share. */
#ifndef PBOOST_CLI_GENERATE_H
#define PBOOST_CLI_GENERATE_H

#include "cli.h"

typedef struct generate_arguments {
    const char *design; /* NULL: paper */
    pboost_synthetic synthetic;
    bool has_family, has_noise, has_seed, with_ids;
    double rate; /* clicks */
    bool has_rate;
    size_t rows, test_rows;
    const char *out, *test_out, *truth;
    int threads;
} generate_arguments;

enum { GENERATE_TRAIN_STREAM, GENERATE_TEST_STREAM }; /* tables with the same truth */
enum { GENERATE_ROWS_AT_ONCE = 8192 };

/* value with 9 decimals, without trailing zeros; returns the end. */
char *generate_decimal(char *out, double value);

pboost_status generate_write_truth(const char *path, json_t *truth, pboost_error *err);

/* --design clicks */
pboost_status generate_clicks_check(const generate_arguments *a, pboost_error *err);
pboost_status generate_clicks(cli_context *cli, const generate_arguments *a, pboost_error *err);

#endif
