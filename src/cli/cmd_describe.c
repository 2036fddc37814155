/* priorboost describe: what the columns of a file are, and what training makes of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "columns.h"

static const cli_usage USAGE = {
    .synopsis = "FILE [OPTION...]",
    .text =
        "Prints for each column of a table its type, how many cells are missing, its values, and\n"
        "what train makes of it with the same options.",
    .operand = "FILE"};

static const char *const KIND[] = {[PBOOST_COLUMN_NUMBER] = "number",
                                   [PBOOST_COLUMN_CATEGORY] = "category",
                                   [PBOOST_COLUMN_DATE] = "date",
                                   [PBOOST_COLUMN_ID] = "id",
                                   [PBOOST_COLUMN_EMPTY] = "empty"};

/* What training does with one column alone. */
typedef struct {
    pboost_column_info info;
    size_t features;  /* columns that it makes; 0: none */
    pboost_error why; /* where it is an error */
    bool refused, left_out;
} description;

static pboost_status describe_column(description *out, const cli_context *cli,
                                     const pboost_table *table, size_t col,
                                     const column_arguments *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_cols(table);
    pboost_encoding encoding = {0};
    const cli_context silent = {.command = cli->command, .quiet = true};
    column_arguments filled = *c; /* missing cells are reported in any case */
    bool *use = NULL;

    *out = (description){0};
    pboost_table_describe(&out->info, table, col);
    NEED(use = calloc(n, sizeof *use), err);
    use[col] = true;
    filled.impute = "mean";
    st = columns_learn(&encoding, use, &silent, table, &filled, &out->why);
    if (st == PBOOST_NO_MEMORY || st == PBOOST_INVALID) {
        if (err != NULL)
            *err = out->why;
        goto done;
    }
    out->left_out = !use[col];
    out->refused = st != PBOOST_OK && use[col];
    out->features = encoding.n_columns;
    st = PBOOST_OK;
done:
    pboost_encoding_free(&encoding);
    free(use);
    return st;
}

static void print_values(char *out, size_t size, const description *d)
{
    const pboost_column_info *info = &d->info;

    if (info->kind == PBOOST_COLUMN_EMPTY)
        snprintf(out, size, "none");
    else if (!isnan(info->mean))
        snprintf(out, size, "%.6g to %.6g, mean %.6g", info->lower, info->upper, info->mean);
    else
        snprintf(out, size, "%zu different", info->levels);
}

static void print_use(char *out, size_t size, const description *d, bool impute, const char *path)
{
    size_t skip = strlen(path);

    if (d->refused) /* without the name of the file, which all lines would repeat */
        snprintf(out, size, "error: %s",
                 strncmp(d->why.message, path, skip) == 0
                     ? d->why.message + skip + strspn(d->why.message + skip, ": ")
                     : d->why.message);
    else if (d->left_out)
        snprintf(out, size, "left out");
    else if (d->features == 0)
        snprintf(out, size, "nothing: it has one value");
    else
        snprintf(out, size, "%zu feature%s%s%s%s%s%s%s", d->features, d->features == 1 ? "" : "s",
                 d->info.lower == d->info.upper ? "; one value: its weight is 0" : "",
                 d->info.decimal_comma ? "; decimal comma" : "",
                 d->info.words > 0 ? "; missing are cells such as '" : "",
                 d->info.words > 0 ? d->info.word : "", d->info.words > 0 ? "'" : "",
                 d->info.missing > 0 && !impute ? "; needs --impute mean" : "");
}

static json_t *describe_json(const description *d, const char *name, const char *use)
{
    const pboost_column_info *info = &d->info;

    return json_pack(
        "{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:b, s:s}", "name", name, "type", KIND[info->kind],
        "missing", (json_int_t)info->missing, "features", (json_int_t)d->features, "levels",
        info->levels > 0 ? json_integer((json_int_t)info->levels) : json_null(), "lower",
        report_json_number(info->lower), "upper", report_json_number(info->upper), "decimal_comma",
        info->decimal_comma, "use", use);
}

static pboost_status describe(cli_context *cli, const char *path, const column_arguments *c,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli};
    pboost_table *table = NULL;
    json_t *columns = json_array();
    int width = 6;

    TRY(columns_read(&table, &text, c, path, err));
    for (size_t j = 0; j < pboost_table_cols(table); j++) {
        int n = (int)strlen(pboost_table_name(table, j));
        width = n > width ? n < 30 ? n : 30 : width;
    }
    cli_progress_end();
    if (!cli->json)
        printf("%zu rows\n\n%-*s  %-8s  %8s  %-34s  %s\n", pboost_table_rows(table), width,
               "column", "type", "missing", "values", "training makes of it");
    for (size_t j = 0; j < pboost_table_cols(table); j++) {
        const char *name = pboost_table_name(table, j);
        description d;
        char values[80], use[600];
        TRY(describe_column(&d, cli, table, j, c, err));
        print_values(values, sizeof values, &d);
        print_use(use, sizeof use, &d, c->impute != NULL, pboost_table_path(table));
        if (cli->json)
            json_array_append_new(columns, describe_json(&d, name, use));
        else
            printf("%-*.*s  %-8s  %8zu  %-34s  %s\n", width, width, name, KIND[d.info.kind],
                   d.info.missing, values, use);
    }
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:I, s:O}", "rows", (json_int_t)pboost_table_rows(table),
                                     "columns", columns),
                           err));
    TRY(cli_flush(err));
done:
    json_decref(columns);
    table_reading_free(&text);
    pboost_table_free(table);
    return st;
}

pboost_status cli_describe(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    column_arguments c = {0};
    const char *path = NULL;
    const cli_option options[] = {COLUMN_OPTIONS(c)};

    TRY(cli_parse(cli, &path, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    if (path == NULL)
        FAIL(err, PBOOST_INVALID, "FILE is required; see 'priorboost describe --help'");
    TRY(column_arguments_check(&c, err));
    TRY(describe(cli, path, &c, err));
done:
    column_arguments_free(&c);
    return st;
}
