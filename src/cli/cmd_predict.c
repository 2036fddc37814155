/* priorboost predict: a model's predictions for the rows of a table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "predict_classes.h"

static const cli_usage USAGE = {
    .synopsis = "--model model.json... --data FILE [--id COL] [--interval [LEVEL]] [--out FILE]",
    .text =
        "Predicts the mean response of every row: a CSV with the column 'prediction', and the\n"
        "ids before it with --id.  With --interval also 'lower' and 'upper', between which the\n"
        "mean response lies with that confidence; the model must have been fitted with\n"
        "--estimator aggregate and have no trees.  For a model of classes 'prediction' is the "
        "most\n"
        "likely class, and 'p_NAME' the probability of each, with 'lower_NAME' and 'upper_NAME'.\n"
        "--model may be given several times, for models of different labels: the columns are then\n"
        "'prediction_LABEL', 'lower_LABEL' and 'upper_LABEL'.\n"
        "The table is read in blocks: it may be larger than memory."};

typedef struct {
    cli_texts model;
    const char *data, *id, *out;
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

/* A model, and all its predictions where they are kept. */
typedef struct {
    pboost_model model;
    unseen_cells unseen;
    numbers mean, lower, upper;
} job_model;

/* What becomes of the blocks. */
typedef struct {
    const arguments *a;
    job_model *of; /* by model */
    size_t n;
    FILE *csv; /* NULL: the predictions are kept */
    size_t rows;
    key_set ids;
} job;

/* Of a model; one of them is filled. */
typedef struct {
    predictions numbers;
    class_predictions classes;
} block_predictions;

static void job_free(job *j)
{
    key_set_free(&j->ids);
    for (size_t m = 0; j->of != NULL && m < j->n; m++) {
        pboost_model_free(&j->of[m].model);
        free(j->of[m].mean.value);
        free(j->of[m].lower.value);
        free(j->of[m].upper.value);
    }
    free(j->of);
}

/* "NAME" or, where there are several models, "NAME_LABEL". */
static void write_name(const job *j, const char *name, const char *label, char end)
{
    fputs(name, j->csv);
    if (j->n > 1) {
        fputc('_', j->csv);
        fputs(label, j->csv);
    }
    fputc(end, j->csv);
}

static void write_header(const job *j)
{
    const arguments *a = j->a;
    if (a->id != NULL) {
        print_cell(j->csv, a->id);
        fputc(',', j->csv);
    }
    for (size_t m = 0; m < j->n; m++) {
        const pboost_model *model = &j->of[m].model;
        char end = m + 1 < j->n ? ',' : '\n';
        if (model->classes.n > 0) {
            class_write_header(j->csv, model, a->interval, print_cell);
            continue;
        }
        write_name(j, "prediction", model->label, a->interval ? ',' : end);
        if (a->interval) {
            write_name(j, "lower", model->label, ',');
            write_name(j, "upper", model->label, end);
        }
    }
}

static void write_row(const job *j, const block_predictions *p, size_t i)
{
    for (size_t m = 0; m < j->n; m++) {
        const predictions *of = &p[m].numbers;
        if (j->of[m].model.classes.n > 0) {
            class_write_row(j->csv, &j->of[m].model, &p[m].classes, i, print_cell);
            continue;
        }
        fprintf(j->csv, "%.17g", of->mean[i]);
        if (of->lower != NULL)
            fprintf(j->csv, ",%.17g,%.17g", of->lower[i], of->upper[i]);
        fputc(m + 1 < j->n ? ',' : '\n', j->csv);
    }
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
        write_header(j);
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

static pboost_status predict_model(block_predictions *p, job_model *of, const arguments *a,
                                   const pboost_table *block, bool keep, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = &of->model;
    size_t n = pboost_table_rows(block), classes = model->classes.n;
    double level = a->interval ? a->level : 0.0;

    TRY(classes > 0 ? class_predict(&p->classes, model, block, level, a->threads, err)
                    : data_predict(&p->numbers, model, block, level, a->threads, err));
    unseen_cells_add(&of->unseen, classes > 0 ? &p->classes.unseen : &p->numbers.unseen,
                     &model->encoding, block);
    if (!keep)
        goto done;
    n *= classes > 0 ? classes : 1;
    TRY(append(&of->mean, classes > 0 ? p->classes.probability : p->numbers.mean, n, err));
    TRY(append(&of->lower, classes > 0 ? p->classes.lower : p->numbers.lower, n, err));
    TRY(append(&of->upper, classes > 0 ? p->classes.upper : p->numbers.upper, n, err));
done:
    return st;
}

static pboost_status predict_block(job *j, const pboost_table *block, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    block_predictions *p = NULL;

    NEED(p = calloc(j->n, sizeof *p), err);
    TRY(key_set_add_block(&j->ids, block, j->a->id, err)); /* ids must name rows */
    for (size_t m = 0; m < j->n; m++)
        TRY(predict_model(&p[m], &j->of[m], j->a, block, j->csv == NULL, err));
    if (j->csv != NULL)
        TRY(write_block(j, block, p, err));
    j->rows += pboost_table_rows(block);
done:
    for (size_t m = 0; p != NULL && m < j->n; m++) {
        predictions_free(&p[m].numbers);
        class_predictions_free(&p[m].classes);
    }
    free(p);
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

static void describe_classes(json_t *report, const job_model *of, bool kept)
{
    const pboost_model *model = &of->model;
    json_t *names = json_array(), *likely = json_array();
    for (size_t c = 0; c < model->classes.n; c++)
        json_array_append_new(names, json_string(model->classes.name[c]));
    for (size_t i = 0; i < of->mean.n; i += model->classes.n)
        json_array_append_new(likely, json_string(class_most_likely(model, of->mean.value + i)));
    json_object_set_new(report, "classes", names);
    if (kept)
        json_object_set_new(report, "prediction", likely);
    else
        json_decref(likely);
}

static json_t *describe(const job *j, const job_model *of)
{
    const arguments *a = j->a;
    size_t classes = of->model.classes.n;
    json_t *report = json_pack("{s:I, s:s, s:I, s:o}", "rows", (json_int_t)j->rows, "family",
                               classes > 0 ? "classes" : pboost_family_name(of->model.family),
                               "unseen", (json_int_t)of->unseen.n, "out", report_json_text(a->out));
    const struct {
        const char *name;
        const numbers *of;
    } kept[] = {{classes > 0 ? "probability" : "prediction", &of->mean},
                {"lower", &of->lower},
                {"upper", &of->upper}};

    for (size_t i = 0; report != NULL && a->out == NULL && i < (a->interval ? 3 : 1); i++)
        json_object_set_new(report, kept[i].name,
                            classes > 0 ? by_class(kept[i].of, classes)
                                        : report_json_numbers(kept[i].of->value, kept[i].of->n));
    if (report != NULL && classes > 0)
        describe_classes(report, of, a->out == NULL);
    if (report != NULL && a->interval)
        json_object_set_new(report, "level", report_json_number(a->level));
    return report;
}

/* Several models: {"labels": [an object for each]}. */
static pboost_status print_json(const job *j, pboost_error *err)
{
    json_t *list, *report;

    if (j->n == 1)
        return cli_print_json(describe(j, j->of), err);
    list = json_array();
    for (size_t m = 0; m < j->n; m++) {
        report = describe(j, &j->of[m]);
        json_object_set_new(report, "label", json_string(j->of[m].model.label));
        json_array_append_new(list, report);
    }
    return cli_print_json(json_pack("{s:o}", "labels", list), err);
}

/* Block by block, so that memory does not limit the table.  What cannot be taken back, such as
 * standard output, ends in the middle if a row is wrong. */
static pboost_status predict(cli_context *cli, job *j, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const arguments *a = j->a;
    table_reading text = {.cli = cli, .missing = a->na.item, .n_missing = a->na.n};
    data_blocks blocks = {0};
    const pboost_table *block;
    pboost_output *output = NULL;
    size_t columns = 0;

    cli->reading = "predicting";
    if (a->out == NULL && isatty(STDOUT_FILENO)) /* the rows show how far it is */
        text.cli = NULL;
    if (a->id != NULL)
        TRY(table_reading_add(&text, a->id, err));
    for (size_t m = 0; m < j->n; m++) {
        const pboost_model *model = &j->of[m].model;
        TRY(table_reading_add_model(&text, model, err));
        if (model->offset != NULL)
            TRY(table_reading_add_n(&text, model->offset, strlen(model->offset), false, err));
        columns += model->encoding.n_columns;
    }
    TRY(data_blocks_open(&blocks, &text, a->data, columns, err));
    TRY(data_blocks_next(&block, &blocks, err));
    if (a->out != NULL || !cli->json) {
        TRY(pboost_output_open(&output, a->out != NULL ? a->out : "-", err));
        j->csv = pboost_output_stream(output);
    }
    while (block != NULL) {
        TRY(predict_block(j, block, err));
        if (j->csv != NULL && ferror(j->csv)) /* such as a full disk: commit says what */
            break;
        TRY(data_blocks_next(&block, &blocks, err));
    }
    for (size_t m = 0; m < j->n; m++)
        unseen_cells_note(cli, &j->of[m].unseen);
    if (output != NULL) {
        st = pboost_output_commit(output, err);
        output = NULL;
        TRY(st);
    }
    if (cli->json)
        TRY(print_json(j, err));
done:
    pboost_output_discard(output);
    data_blocks_close(&blocks);
    table_reading_free(&text);
    return st;
}

static pboost_status load_model(job_model *out, const arguments *a, const char *path,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_model *model = &out->model;

    TRY(pboost_model_load(model, path, err));
    out->unseen.trees = model->mixture.n > 0;
    if (a->interval && model->mixture.n > 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: trees and means of several models have no intervals; leave --interval out, or "
             "train with --model glm or smooth",
             path);
    TRY(data_check_hash(model, a->hash, path, err));
    if (a->interval && model->sparse.columns > 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: models of sparse rows have no intervals", path);
    if (a->interval && model->covariance == NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s has no covariance, so there are no intervals; train with --estimator aggregate",
             path);
done:
    return st;
}

/* Several models: their labels name the columns. */
static pboost_status check_labels(const job *j, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t m = 0; j->n > 1 && m < j->n; m++) {
        const pboost_model *model = &j->of[m].model;
        const char *path = j->a->model.item[m];
        if (model->classes.n > 0)
            FAIL(err, PBOOST_INVALID,
                 "%s is a model of classes, which has columns for itself; use it alone", path);
        if (model->label == NULL)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s names no label, after which its column could be named; use it alone", path);
        for (size_t i = 0; i < m; i++)
            if (strcmp(j->of[i].model.label, model->label) == 0)
                FAIL(err, PBOOST_INVALID,
                     "%s and %s have the same label, '%s', so their columns would have the same "
                     "name; use them one after the other",
                     j->a->model.item[i], path, model->label);
    }
done:
    return st;
}

pboost_status cli_predict(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.level = 0.95};
    job j = {.a = &a};
    const cli_option options[] = {
        {"--model", "FILE", cli_read_each, &a.model, NULL,
         "the model, from train; may be repeated, one for each label"},
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
    if (a.model.n == 0 || a.data == NULL)
        FAIL(err, PBOOST_INVALID,
             "--model and --data are required; see 'priorboost predict --help'");
    if (!(a.level < 1.0))
        FAIL(err, PBOOST_INVALID, "--interval is %g; it must be between 0 and 1", a.level);
    NEED(j.of = calloc(a.model.n, sizeof *j.of), err);
    while (j.n < a.model.n) {
        j.n++; /* also a model that is refused is freed */
        TRY(load_model(&j.of[j.n - 1], &a, a.model.item[j.n - 1], err));
    }
    TRY(check_labels(&j, err));
    TRY(predict(cli, &j, err));
done:
    cli_list_free(&a.na);
    free(a.model.item);
    job_free(&j);
    return st;
}
