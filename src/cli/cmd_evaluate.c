/* priorboost evaluate: how well a model predicts the labels of a table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evaluate_classes.h"
#include "evaluation.h"
#include "labels.h"

static const cli_usage USAGE = {
    .synopsis = "--model model.json... --data FILE [--label COL] [--report FILE]",
    .text =
        "Prints the mean loss of a model on labelled data (linear: squared error; logistic: log\n"
        "loss; poisson: mu - y log mu), the family's usual measures, and whether predictions are\n"
        "right on average: 'ratio' is the sum of the predictions over the sum of the labels;\n"
        "'ece', the expected calibration error, is how far mean prediction and mean label are\n"
        "apart in ten groups of rows that have similar predictions.  Of a model of classes it\n"
        "prints the log loss (also 'constant', that of the classes' proportions alone), the\n"
        "accuracy, 'ratio' and 'ece' of each class, and how many rows of each class have which\n"
        "most likely class.  --model may be given several times: each is evaluated on the label\n"
        "that it was trained on, and {label} in --report is its name."};

typedef struct {
    cli_texts models;
    const char *model, *data, *label, *positive, *report; /* of the one that is evaluated */
    cli_list na;
    size_t hash;
    int threads;
    json_t *results; /* of several models; NULL: there is one, whose result is printed */
} arguments;

static pboost_status print_evaluation(cli_context *cli, const arguments *a, const evaluation *e,
                                      const char *label, pboost_error *err)
{
    if (isinf(e->measures.measure[0].value))
        cli_note(cli, "warning: the loss is infinite: a prediction overflows, or gives a label "
                      "that occurs the probability 0");
    if (cli->json && a->results != NULL) {
        json_t *result = evaluation_json(e);
        json_object_set_new(result, "label", json_string(label));
        json_array_append_new(a->results, result);
        return PBOOST_OK;
    }
    if (cli->json)
        return cli_print_json(evaluation_json(e), err);
    if (a->results != NULL && !cli->quiet)
        fprintf(cli_text(cli), "label %s\n", label);
    evaluation_print(cli_text(cli), e);
    return cli_flush(err);
}

/* What becomes of the blocks. */
typedef struct {
    const arguments *a;
    const pboost_model *model;
    const char *label;
    label_rule rule;
    pboost_evaluator *evaluator;
    unseen_cells unseen;
} job;

static pboost_status evaluate_block(job *j, const pboost_table *block, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = j->model;
    double *x = NULL, *y = NULL, *offset = NULL, *mean = NULL;
    predictions sparse = {0};
    pboost_unseen unseen = {0};
    size_t n = pboost_table_rows(block);

    TRY(data_labels(&y, &j->rule, block, j->label, model->family, err));
    if (model->sparse.columns > 0) {
        pboost_samples labels = {.n = n, .target = y};
        TRY(data_predict(&sparse, model, block, 0.0, j->a->threads, err));
        TRY(pboost_evaluator_add_means(j->evaluator, &labels, sparse.mean, err));
        goto done;
    }
    TRY(data_features(&x, &unseen, &model->encoding, block, err));
    unseen_cells_add(&j->unseen, &unseen, &model->encoding, block);
    TRY(data_numbers(&offset, block, model->offset, err));
    pboost_matrix matrix = pboost_matrix_f64(x, n, model->encoding.n_columns);
    pboost_samples samples = {.x = &matrix, .n = n, .target = y, .offset = offset};
    if (model->mixture.n > 0) {
        NEED(mean = pboost_alloc(n, sizeof *mean), err);
        TRY(data_mean(mean, model, block, &samples, j->a->threads, err));
        TRY(pboost_evaluator_add_means(j->evaluator, &samples, mean, err));
    } else {
        TRY(pboost_evaluator_add(j->evaluator, &samples, &model->coef, j->a->threads, err));
    }
done:
    predictions_free(&sparse);
    free(x);
    free(y);
    free(offset);
    free(mean);
    return st;
}

static pboost_status open_blocks(data_blocks *out, table_reading *text, const job *j,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = j->model;

    TRY(table_reading_add_n(text, j->label, strlen(j->label),
                            labels_are_text(model->family, j->rule.positive), err));
    TRY(table_reading_add_model(text, model, err));
    if (model->offset != NULL)
        TRY(table_reading_add_n(text, model->offset, strlen(model->offset), false, err));
    TRY(data_blocks_open(out, text, j->a->data, model->encoding.n_columns, err));
done:
    return st;
}

static pboost_status evaluate(cli_context *cli, const arguments *a, const pboost_model *model,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli, .missing = a->na.item, .n_missing = a->na.n};
    data_blocks blocks = {0};
    const pboost_table *block;
    evaluation e = {.model = a->model, .data = a->data, .family = model->family};
    job j = {.a = a,
             .model = model,
             .label = a->label != NULL ? a->label : model->label,
             .unseen = {.trees = model->mixture.n > 0},
             .rule = label_rule_of(a->positive != NULL ? a->positive : model->positive, NULL)};

    cli->reading = "evaluating";
    if (j.label == NULL)
        FAIL(err, PBOOST_INVALID, "--label is required: the model file names no label column");
    TRY(open_blocks(&blocks, &text, &j, err));
    TRY(pboost_evaluator_create(&j.evaluator, model->family, err));
    for (;;) {
        TRY(data_blocks_next(&block, &blocks, err));
        if (block == NULL)
            break;
        TRY(evaluate_block(&j, block, err));
    }
    TRY(label_rule_check(&j.rule, a->data, j.label, err));
    label_rule_note(cli, &j.rule, j.label);
    unseen_cells_note(cli, &j.unseen);
    e.unseen = j.unseen.n;
    cli_progress(cli, "measuring", 0.0, 0.0);
    TRY(pboost_evaluator_finish(&e.measures, j.evaluator, err));
    TRY(pboost_evaluator_calibrate(&e.calibration, j.evaluator, EVALUATION_GROUPS, err));
    if (a->report != NULL)
        TRY(evaluation_write(a->report, &e, err));
    TRY(print_evaluation(cli, a, &e, j.label, err));
done:
    data_blocks_close(&blocks);
    table_reading_free(&text);
    label_rule_free(&j.rule);
    pboost_evaluator_free(j.evaluator);
    return st;
}

static pboost_status evaluate_model(cli_context *cli, arguments *a, const char *path,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model model = {0};
    const char *report = a->report;
    char *own = NULL;

    TRY(pboost_model_load(&model, path, err));
    TRY(data_check_hash(&model, a->hash, path, err));
    a->model = path;
    if (a->results != NULL && model.classes.n > 0)
        FAIL(err, PBOOST_INVALID, "%s is a model of classes; evaluate it alone", path);
    if (a->results != NULL && model.label == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s names no label column; evaluate it alone, with --label",
             path);
    if (a->results != NULL)
        TRY(label_path(&own, "--report", report, model.label, err));
    a->report = own != NULL ? own : report;
    if (model.classes.n > 0) {
        if (a->positive != NULL)
            FAIL(err, PBOOST_INVALID, "--positive cannot be used with %s: it is a model of classes",
                 path);
        class_evaluation_task task = {.model_path = path,
                                      .data = a->data,
                                      .label = a->label != NULL ? a->label : model.label,
                                      .report = a->report,
                                      .model = &model,
                                      .na = &a->na,
                                      .threads = a->threads};
        TRY(evaluate_classes(cli, &task, err));
    } else {
        TRY(evaluate(cli, a, &model, err));
    }
done:
    a->report = report;
    free(own);
    pboost_model_free(&model);
    return st;
}

/* Each on its own label; with --json {"labels": [a result for each]}. */
static pboost_status evaluate_several(cli_context *cli, arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->label != NULL || a->positive != NULL)
        FAIL(err, PBOOST_INVALID,
             "%s is for one model; of several, each is evaluated on the label it was trained on",
             a->label != NULL ? "--label" : "--positive");
    if (strcmp(a->data, "-") == 0)
        FAIL(err, PBOOST_INVALID,
             "--data is '-', which can be read once; several models need a file");
    NEED(a->results = json_array(), err);
    for (size_t i = 0; i < a->models.n; i++)
        TRY(evaluate_model(cli, a, a->models.item[i], err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:O}", "labels", a->results), err));
done:
    json_decref(a->results);
    return st;
}

pboost_status cli_evaluate(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {0};
    const cli_option options[] = {
        {"--model", "FILE", cli_read_each, &a.models, NULL,
         "the model, from train; may be repeated, one for each label"},
        {"--data", "FILE", cli_read_text, &a.data, NULL, "the table: " DATA_TABLE},
        {"--label", "COL", cli_read_text, &a.label, NULL,
         "the column of labels; default: the one it was trained on"},
        {"--positive", "VALUE", cli_read_text, &a.positive, NULL,
         "the label that counts as 1; default: as in training"},
        {"--na", "TEXT,...", cli_read_list, &a.na, NULL,
         "cells that are missing, beside empty ones and NA"},
        {"--hash", "BITS", cli_read_count, &a.hash, NULL, DATA_HASH},
        {"--report", "FILE", cli_read_text, &a.report, NULL,
         "a page with the measures and a chart of calibration; if\nthe name ends in .svg, only the "
         "chart"},
        {"--threads", "N", cli_read_threads, &a.threads, NULL, "default: all cores"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.models.n == 0 || a.data == NULL)
        FAIL(err, PBOOST_INVALID,
             "--model and --data are required; see 'priorboost evaluate --help'");
    if (a.models.n > 1)
        TRY(evaluate_several(cli, &a, err));
    else
        TRY(evaluate_model(cli, &a, a.models.item[0], err));
done:
    cli_list_free(&a.na);
    free(a.models.item);
    return st;
}
