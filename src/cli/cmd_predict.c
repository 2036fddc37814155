/* priorboost predict: a model's predictions for the rows of a table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "predict_classes.h"

static const cli_usage USAGE = {
    .synopsis = "--model model.json --data FILE [--id COL] [--interval [LEVEL]] [--out preds.csv]",
    .text =
        "Predicts the mean response of every row: a CSV with the column 'prediction', and the\n"
        "ids before it with --id.  With --interval also 'lower' and 'upper', between which the\n"
        "mean response lies with that confidence; the model must have been fitted with\n"
        "--estimator aggregate and have no trees.  For a model of classes 'prediction' is the "
        "most\n"
        "likely class, and 'p_NAME' the probability of each, with 'lower_NAME' and 'upper_NAME'.\n"
        "The table is read in blocks: it may be larger than memory."};

typedef struct {
    const char *model, *data, *id, *out;
    cli_list na;
    size_t hash;
    int threads;
    double level;
    bool interval;
} arguments;

static bool needs_quotes(const char *text)
{
    return strpbrk(text, ",;\t\"\n\r") != NULL;
}

static void print_cell(FILE *stream, const char *text)
{
    if (!needs_quotes(text)) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* All predictions, for JSON without --out. */
typedef struct {
    double *value;
    size_t n, capacity;
} numbers;

static pboost_status append(numbers *to, const double *value, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (value == NULL)
        goto done;
    GROW(to->value, to->capacity, to->n + n, err);
    memcpy(to->value + to->n, value, n * sizeof *value);
    to->n += n;
done:
    return st;
}

/* What becomes of the blocks. */
typedef struct {
    const arguments *a;
    const pboost_model *model;
    FILE *csv; /* NULL: the predictions are kept */
    size_t rows;
    key_set ids;
    unseen_cells unseen;
    numbers mean, lower, upper;
} job;

/* One of them is filled. */
typedef struct {
    predictions numbers;
    class_predictions classes;
} block_predictions;

static void job_free(job *j)
{
    key_set_free(&j->ids);
    free(j->mean.value);
    free(j->lower.value);
    free(j->upper.value);
}

static void write_header(FILE *stream, const job *j)
{
    const arguments *a = j->a;
    if (a->id != NULL) {
        print_cell(stream, a->id);
        fputc(',', stream);
    }
    if (j->model->classes.n > 0)
        class_write_header(stream, j->model, a->interval, print_cell);
    else
        fputs(a->interval ? "prediction,lower,upper\n" : "prediction\n", stream);
}

static void write_row(const job *j, const block_predictions *p, size_t i)
{
    if (j->model->classes.n > 0) {
        class_write_row(j->csv, j->model, &p->classes, i, print_cell);
        return;
    }
    fprintf(j->csv, "%.17g", p->numbers.mean[i]);
    if (p->numbers.lower != NULL)
        fprintf(j->csv, ",%.17g,%.17g", p->numbers.lower[i], p->numbers.upper[i]);
    fputc('\n', j->csv);
}

/* The header comes with the first rows: a table that is wrong from the start prints nothing. */
static pboost_status write_block(const job *j, const pboost_table *block,
                                 const block_predictions *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const uint32_t *code = NULL;
    size_t col = 0;

    if (j->a->id != NULL) {
        TRY(pboost_table_find(&col, block, j->a->id, err));
        code = pboost_table_codes(block, col);
    }
    if (j->rows == 0)
        write_header(j->csv, j);
    for (size_t i = 0; i < pboost_table_rows(block); i++) {
        if (code != NULL) {
            print_cell(j->csv, pboost_table_level(block, col, code[i]));
            fputc(',', j->csv);
        }
        write_row(j, p, i);
    }
done:
    return st;
}

static pboost_status predict_block(job *j, const pboost_table *block, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const arguments *a = j->a;
    block_predictions p = {0};
    size_t n = pboost_table_rows(block), classes = j->model->classes.n;
    double level = a->interval ? a->level : 0.0;

    TRY(key_set_add_block(&j->ids, block, a->id, err)); /* ids must name rows */
    TRY(classes > 0 ? class_predict(&p.classes, j->model, block, level, a->threads, err)
                    : data_predict(&p.numbers, j->model, block, level, a->threads, err));
    unseen_cells_add(&j->unseen, classes > 0 ? &p.classes.unseen : &p.numbers.unseen,
                     &j->model->encoding, block);
    if (j->csv != NULL) {
        TRY(write_block(j, block, &p, err));
    } else if (classes > 0) {
        TRY(append(&j->mean, p.classes.probability, n * classes, err));
        TRY(append(&j->lower, p.classes.lower, n * classes, err));
        TRY(append(&j->upper, p.classes.upper, n * classes, err));
    } else {
        TRY(append(&j->mean, p.numbers.mean, n, err));
        TRY(append(&j->lower, p.numbers.lower, n, err));
        TRY(append(&j->upper, p.numbers.upper, n, err));
    }
    j->rows += n;
done:
    predictions_free(&p.numbers);
    class_predictions_free(&p.classes);
    return st;
}

/* By row an array with a number for each class. */
static json_t *by_class(const numbers *of, size_t classes)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows != NULL && i < of->n; i += classes)
        json_array_append_new(rows, report_json_numbers(of->value + i, classes));
    return rows;
}

static void describe_classes(json_t *report, const job *j)
{
    const pboost_model *model = j->model;
    json_t *names = json_array(), *likely = json_array();
    for (size_t c = 0; c < model->classes.n; c++)
        json_array_append_new(names, json_string(model->classes.name[c]));
    for (size_t i = 0; i < j->mean.n; i += model->classes.n)
        json_array_append_new(likely, json_string(class_most_likely(model, j->mean.value + i)));
    json_object_set_new(report, "classes", names);
    if (j->a->out == NULL)
        json_object_set_new(report, "prediction", likely);
    else
        json_decref(likely);
}

static pboost_status print_json(const job *j, pboost_error *err)
{
    const arguments *a = j->a;
    size_t classes = j->model->classes.n;
    json_t *report = json_pack("{s:I, s:s, s:I, s:o}", "rows", (json_int_t)j->rows, "family",
                               classes > 0 ? "classes" : pboost_family_name(j->model->family),
                               "unseen", (json_int_t)j->unseen.n, "out", report_json_text(a->out));
    const struct {
        const char *name;
        const numbers *of;
    } kept[] = {{classes > 0 ? "probability" : "prediction", &j->mean},
                {"lower", &j->lower},
                {"upper", &j->upper}};

    for (size_t i = 0; report != NULL && a->out == NULL && i < (a->interval ? 3 : 1); i++)
        json_object_set_new(report, kept[i].name,
                            classes > 0 ? by_class(kept[i].of, classes)
                                        : report_json_numbers(kept[i].of->value, kept[i].of->n));
    if (report != NULL && classes > 0)
        describe_classes(report, j);
    if (report != NULL && a->interval)
        json_object_set_new(report, "level", report_json_number(a->level));
    return cli_print_json(report, err);
}

/* Block by block, so that memory does not limit the table.  What cannot be taken back, such as
 * standard output, ends in the middle if a row is wrong. */
static pboost_status predict(cli_context *cli, const arguments *a, const pboost_model *model,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli, .missing = a->na.item, .n_missing = a->na.n};
    data_blocks blocks = {0};
    const pboost_table *block;
    pboost_output *output = NULL;
    job j = {.a = a, .model = model, .unseen = {.trees = model->mixture.n > 0}};

    cli->reading = "predicting";
    if (a->out == NULL && isatty(STDOUT_FILENO)) /* the rows show how far it is */
        text.cli = NULL;
    TRY(table_reading_add_model(&text, model, err));
    if (a->id != NULL)
        TRY(table_reading_add(&text, a->id, err));
    if (model->offset != NULL)
        TRY(table_reading_add_n(&text, model->offset, strlen(model->offset), false, err));
    TRY(data_blocks_open(&blocks, &text, a->data, model->encoding.n_columns, err));
    TRY(data_blocks_next(&block, &blocks, err));
    if (a->out != NULL || !cli->json) {
        TRY(pboost_output_open(&output, a->out != NULL ? a->out : "-", err));
        j.csv = pboost_output_stream(output);
    }
    while (block != NULL) {
        TRY(predict_block(&j, block, err));
        if (j.csv != NULL && ferror(j.csv)) /* such as a full disk: commit says what */
            break;
        TRY(data_blocks_next(&block, &blocks, err));
    }
    unseen_cells_note(cli, &j.unseen);
    if (output != NULL) {
        st = pboost_output_commit(output, err);
        output = NULL;
        TRY(st);
    }
    if (cli->json)
        TRY(print_json(&j, err));
done:
    pboost_output_discard(output);
    data_blocks_close(&blocks);
    table_reading_free(&text);
    job_free(&j);
    return st;
}

pboost_status cli_predict(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.level = 0.95};
    pboost_model model = {0};
    const cli_option options[] = {
        {"--model", "FILE", cli_read_text, &a.model, NULL, "the model, from train"},
        {"--data", "FILE", cli_read_text, &a.data, NULL, "the table: " DATA_TABLE},
        {"--id", "COL", cli_read_text, &a.id, NULL, "write this column before the predictions"},
        {"--na", "TEXT,...", cli_read_list, &a.na, NULL,
         "cells that are missing, beside empty ones and NA"},
        {"--hash", "BITS", cli_read_count, &a.hash, NULL, DATA_HASH},
        {"--interval", "[LEVEL]", cli_read_positive, &a.level, &a.interval,
         "also the lower and upper ends of an interval for the\nmean response; default level 0.95"},
        {"--out", "FILE", cli_read_text, &a.out, NULL, "the predictions; default: stdout"},
        {"--threads", "N", cli_read_threads, &a.threads, NULL, "default: all cores"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.model == NULL || a.data == NULL)
        FAIL(err, PBOOST_INVALID,
             "--model and --data are required; see 'priorboost predict --help'");
    if (!(a.level < 1.0))
        FAIL(err, PBOOST_INVALID, "--interval is %g; it must be between 0 and 1", a.level);
    TRY(pboost_model_load(&model, a.model, err));
    if (a.interval && model.mixture.n > 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: trees and means of several models have no intervals; leave --interval out, or "
             "train with --model glm or smooth",
             a.model);
    TRY(data_check_hash(&model, a.hash, a.model, err));
    if (a.interval && model.sparse.columns > 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: models of sparse rows have no intervals", a.model);
    if (a.interval && model.covariance == NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s has no covariance, so there are no intervals; train with --estimator aggregate",
             a.model);
    TRY(predict(cli, &a, &model, err));
done:
    cli_list_free(&a.na);
    pboost_model_free(&model);
    return st;
}
