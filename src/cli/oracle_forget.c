/* priorboost oracle forget: labels out of the store, by id, by a file of ids, by unit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "oracle.h"

static const cli_usage FORGET = {
    .synopsis = "--store S (--id ID... | --id-file FILE | --unit UNIT...)",
    .text =
        "Deletes the labels of these rows, for example when a person asks for it.  The rows\n"
        "count as spent.  Earlier answers do not change.  Copies of the store made earlier\n"
        "still hold the labels.  All rows are erased, or none if one is not in the store.  If\n"
        "another process keeps the bytes in the store's files, the command ends with exit code 4\n"
        "and says what to do; run it again then.",
    .operand = NULL};

typedef struct {
    oracle_place place;
    const char *file, *column;
    cli_texts id, unit;
    char *lines; /* the file of ids: one piece of text, cut into lines */
    pboost_table *table;
} forget_arguments;

/* The whole file with a final zero; "-" is standard input. */
static pboost_status read_file(char **out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;

    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "--id-file %s: %s", path, strerror(errno));
    errno = 0;
    ssize_t length = getdelim(&text, &size, '\0', file);
    if (length < 0 && (ferror(file) || errno == ENOMEM))
        FAIL(err, PBOOST_BAD_DATA, "--id-file %s: %s", path, strerror(errno));
    if (length > 0 && fgetc(file) != EOF)
        FAIL(err, PBOOST_BAD_DATA, "--id-file %s holds a zero byte; it must be text", path);
    *out = text;
    text = NULL;
done:
    free(text);
    if (file != NULL && file != stdin)
        fclose(file);
    return st;
}

/* One id a line; empty lines count for nothing. */
static pboost_status add_lines(forget_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(read_file(&a->lines, a->file, err));
    for (char *line = a->lines, *next; line != NULL && *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n");
        next = line[n] == '\n' ? line + n + 1 : NULL;
        line[n] = '\0';
        if (n > 0 && line[n - 1] == '\r')
            line[n - 1] = '\0';
        if (*line != '\0')
            TRY(cli_texts_add(&a->id, line, err));
    }
done:
    return st;
}

static pboost_status add_column(forget_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.only_named = true};
    size_t col;

    TRY(table_reading_add(&text, a->column, err));
    TRY(table_reading_read(&a->table, &text, a->file, err));
    TRY(pboost_table_find(&col, a->table, a->column, err));
    const uint32_t *code = pboost_table_codes(a->table, col);
    for (size_t i = 0; i < pboost_table_rows(a->table); i++) {
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: '%s' is missing",
                 pboost_table_row_path(a->table, i), pboost_table_line(a->table, i), a->column);
        TRY(cli_texts_add(&a->id, pboost_table_level(a->table, col, code[i]), err));
    }
done:
    table_reading_free(&text);
    return st;
}

static pboost_status make_ids(pboost_id **out, const cli_texts *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(*out = pboost_alloc(text->n, sizeof **out), err);
    for (size_t i = 0; i < text->n; i++)
        (*out)[i] = (pboost_id){text->item[i], 0};
done:
    return st;
}

static pboost_status forget(size_t *forgotten, pboost_ledger *ledger, const forget_arguments *a,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_erasure erasure = PBOOST_ERASURE_INIT;
    pboost_id *id = NULL, *unit = NULL;

    TRY(make_ids(&id, &a->id, err));
    TRY(make_ids(&unit, &a->unit, err));
    erasure.id = id;
    erasure.n = a->id.n;
    erasure.unit = unit;
    erasure.n_units = a->unit.n;
    TRY(pboost_ledger_forget(forgotten, ledger, &erasure, err));
done:
    free(id);
    free(unit);
    return st;
}

static void free_arguments(forget_arguments *a)
{
    free(a->id.item);
    free(a->unit.item);
    free(a->lines);
    pboost_table_free(a->table);
}

pboost_status oracle_forget(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    forget_arguments a = {0};
    pboost_ledger *ledger = NULL;
    size_t forgotten = 0;
    const cli_option options[] = {
        ORACLE_PLACE(a.place),
        {"--id", "ID", cli_read_each, &a.id, NULL, "a row, any text; repeat it for more rows"},
        {"--id-file", "FILE", cli_read_text, &a.file, NULL,
         "rows, one id a line; - is standard input"},
        {"--id-column", "COL", cli_read_text, &a.column, NULL,
         "--id-file is a table (CSV, NPY or a query), and this\ncolumn has the ids"},
        {"--unit", "UNIT", cli_read_each, &a.unit, NULL,
         "all rows of a unit, such as a person; may be repeated"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &FORGET, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    if (a.column != NULL && a.file == NULL)
        FAIL(err, PBOOST_INVALID, "--id-column is '%s', but there is no --id-file", a.column);
    if (a.file != NULL)
        TRY(a.column != NULL ? add_column(&a, err) : add_lines(&a, err));
    if (a.id.n == 0 && a.unit.n == 0 && a.file != NULL)
        FAIL(err, PBOOST_BAD_DATA, "--id-file %s holds no ids", a.file);
    if (a.id.n == 0 && a.unit.n == 0)
        FAIL(err, PBOOST_INVALID,
             "--id, --id-file or --unit is required; see 'priorboost oracle forget --help'");
    TRY(oracle_open(&ledger, cli, &a.place, ORACLE_LABELS, err));
    TRY(forget(&forgotten, ledger, &a, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:I}", "forgotten", (json_int_t)forgotten), err));
    else
        cli_note(cli, "%zu %s erased", forgotten, forgotten == 1 ? "label" : "labels");
done:
    pboost_ledger_close(ledger);
    free_arguments(&a);
    return st;
}
