/* priorboost predict: a model's predictions for the rows of a table. */
#include <stdio.h>
#include <string.h>

#include "data.h"

static const cli_usage USAGE = {
    .synopsis = "--model model.json --data FILE [--id COL] [--interval [LEVEL]] [--out preds.csv]",
    .text =
        "Predicts the mean response of every row: a CSV with the column 'prediction', and the\n"
        "ids before it with --id.  With --interval also 'lower' and 'upper', between which the\n"
        "mean response lies with that confidence; the model must have been fitted with\n"
        "--estimator aggregate and have no trees."};

typedef struct {
    const char *model, *data, *id, *out;
    cli_list na;
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

static pboost_status write_csv(const char *path, const pboost_table *table, const char *id,
                               const predictions *p, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    size_t col = 0;

    if (id != NULL)
        TRY(pboost_table_find(&col, table, id, err));
    TRY(pboost_output_open(&output, path, err));
    FILE *stream = pboost_output_stream(output);
    if (id != NULL) {
        print_cell(stream, id);
        fputc(',', stream);
    }
    fputs(p->lower != NULL ? "prediction,lower,upper\n" : "prediction\n", stream);
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        if (id != NULL) {
            print_cell(stream, pboost_table_level(table, col, pboost_table_codes(table, col)[i]));
            fputc(',', stream);
        }
        fprintf(stream, "%.17g", p->mean[i]);
        if (p->lower != NULL)
            fprintf(stream, ",%.17g,%.17g", p->lower[i], p->upper[i]);
        fputc('\n', stream);
    }
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}

static pboost_status predict(cli_context *cli, const arguments *a, const pboost_model *model,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {0};
    pboost_table *table = NULL;
    uint64_t *key = NULL;
    predictions p = {0};

    TRY(table_reading_add_encoding(&text, &model->encoding, err));
    if (a->id != NULL)
        TRY(table_reading_add(&text, a->id, err));
    text.missing = a->na.item;
    text.n_missing = a->na.n;
    TRY(table_reading_read(&table, &text, a->data, err));
    TRY(data_row_keys(&key, table, a->id, err)); /* ids must name rows */
    TRY(data_predict(&p, model, table, a->interval ? a->level : 0.0, a->threads, err));
    data_note_unseen(cli, &p.unseen, &model->encoding, model->mixture.n > 0, table);
    if (a->out != NULL || !cli->json)
        TRY(write_csv(a->out != NULL ? a->out : "-", table, a->id, &p, err));
    if (cli->json) {
        size_t n = pboost_table_rows(table);
        json_t *report = json_pack("{s:I, s:s, s:I, s:o}", "rows", (json_int_t)n, "family",
                                   pboost_family_name(model->family), "unseen",
                                   (json_int_t)p.unseen.cells, "out", report_json_text(a->out));
        if (report != NULL && a->out == NULL)
            json_object_set_new(report, "prediction", report_json_numbers(p.mean, n));
        if (report != NULL && a->out == NULL && a->interval) {
            json_object_set_new(report, "lower", report_json_numbers(p.lower, n));
            json_object_set_new(report, "upper", report_json_numbers(p.upper, n));
        }
        if (report != NULL && a->interval)
            json_object_set_new(report, "level", report_json_number(a->level));
        TRY(cli_print_json(report, err));
    }
done:
    table_reading_free(&text);
    pboost_table_free(table);
    free(key);
    predictions_free(&p);
    return st;
}

pboost_status cli_predict(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    arguments a = {.level = 0.95};
    pboost_model model = {0};
    const cli_option options[] = {
        {"--model", "FILE", cli_read_text, &a.model, NULL, "the model, from train"},
        {"--data", "FILE", cli_read_text, &a.data, NULL, "the table (CSV or NPY); - is stdin"},
        {"--id", "COL", cli_read_text, &a.id, NULL, "write this column before the predictions"},
        {"--na", "TEXT,...", cli_read_list, &a.na, NULL,
         "cells that are missing, beside empty ones and NA"},
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
