/* priorboost evaluate with a model of classes. */
#ifndef PBOOST_CLI_EVALUATE_CLASSES_H
#define PBOOST_CLI_EVALUATE_CLASSES_H

#include "data.h"

typedef struct class_evaluation_task {
    const char *model_path, *data, *label, *report;
    const pboost_model *model;
    const cli_list *na;
    int threads;
} class_evaluation_task;

pboost_status evaluate_classes(cli_context *cli, const class_evaluation_task *task,
                               pboost_error *err);

#endif
