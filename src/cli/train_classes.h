/* priorboost train --family classes: labels that are one of several classes. */
#ifndef PBOOST_CLI_TRAIN_CLASSES_H
#define PBOOST_CLI_TRAIN_CLASSES_H

#include "train_bags.h"
#include "train_oracle.h"

/* Without --family: labels of text with 3 values or more are classes. */
pboost_status train_classes_guess(cli_context *cli, train_arguments *a, pboost_error *err);

/* Refuses options that classes do not have. */
pboost_status train_classes_check(const train_arguments *a, pboost_error *err);

/* The rules of the oracle in the program: an answer has a proportion for each class. */
pboost_status train_classes_rules(train_result *result, const train_data *data, pboost_error *err);

/* What the command line leaves open: bags from features in one round; under noise as large as a
 * plan for one class against the others recommends. */
pboost_status train_classes_plan(train_result *result, const train_arguments *a,
                                 const train_data *data, pboost_error *err);

/* Asks and fits round by round (oracle NULL: fits the bags that are given), with the test loss of
 * every round if there is a test table. */
pboost_status train_classes_run(train_result *result, cli_context *cli, const train_arguments *a,
                                const train_data *data, const train_oracle *oracle,
                                pboost_error *err);

#endif
