/* priorboost plan on sparse rows: what bags are expected to keep, through the sketch. */
#ifndef PBOOST_CLI_PLAN_WIDE_H
#define PBOOST_CLI_PLAN_WIDE_H

#include "train.h"

/* What is asked for: every k and every epsilon (den == 0: no noise). */
typedef struct {
    size_t n, n_epsilon;
    const size_t *min_bag;
    const pboost_rational *epsilon;
    pboost_rules rules;      /* their bounds and step */
    double mean, dispersion; /* NaN: assumed */
} plan_wide_options;

pboost_status plan_wide(cli_context *cli, const train_arguments *a, const plan_wide_options *o,
                        pboost_error *err);

#endif
