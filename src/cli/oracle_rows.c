/* priorboost oracle import and forget: rows in, labels out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "oracle.h"

/* ---- import ---------------------------------------------------------------------------------- */

static const cli_usage IMPORT = {
    .synopsis = "--store S --data FILE --id COL --label COL [--unit COL] [--scope COL] [--clamp]",
    .text =
        "Adds the rows of a CSV or NPY file: all of them, or none if one is wrong.  An id that is\n"
        "there already, a missing label and a label outside the bounds are refused.  A service\n"
        "that runs on the store sees the new rows.",
    .operand = NULL};

typedef struct {
    oracle_place place;
    const char *data, *id, *label, *unit, *scope;
    bool clamp;
} import_arguments;

/* Ids in a column of numbers, which an NPY file has. */
static pboost_status number_ids(pboost_id *id, const pboost_table *table, size_t col,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;

    TRY(pboost_table_numbers(&number, table, col, false, err));
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        if (fabs(number[i]) > 9007199254740992.0 || number[i] != floor(number[i]))
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: '%s' is %.17g; an id must be a whole number or text",
                 pboost_table_row_path(table, i), pboost_table_line(table, i),
                 pboost_table_name(table, col), number[i]);
        id[i] = (pboost_id){NULL, (int64_t)number[i]};
    }
done:
    return st;
}

/* The ids in a column; text ones borrow from the table. */
static pboost_status read_ids(pboost_id **out, const pboost_table *table, const char *name,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_id *id = NULL;
    size_t col, n = pboost_table_rows(table);

    *out = NULL;
    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, table, name, err));
    NEED(id = pboost_alloc(n, sizeof *id), err);
    if (!pboost_table_is_text(table, col))
        TRY(number_ids(id, table, col, err));
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; pboost_table_is_text(table, col) && i < n; i++) {
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: '%s' is missing", pboost_table_row_path(table, i),
                 pboost_table_line(table, i), name);
        id[i] = (pboost_id){pboost_table_level(table, col, code[i]), 0};
    }
    *out = id;
    id = NULL;
done:
    free(id);
    return st;
}

/* A label that is missing or text is refused here; the message does not show its value. */
static pboost_status read_labels(const double **out, const pboost_table *table, const char *name,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col;

    TRY(pboost_table_find(&col, table, name, err));
    if (pboost_table_is_text(table, col) ||
        pboost_table_numbers(out, table, col, true, NULL) != PBOOST_OK)
        FAIL(err, PBOOST_BAD_DATA, "%s: label '%s' has a cell that is not a finite number",
             pboost_table_path(table), name);
done:
    return st;
}

static bool show_progress(void *user, size_t done, size_t total)
{
    cli_progress(user, "import", done, total);
    return !cli_interrupted();
}

static pboost_status import_table(pboost_import_report *report, cli_context *cli,
                                  pboost_ledger *ledger, const import_arguments *a,
                                  const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_id *id = NULL, *unit = NULL, *scope = NULL;
    pboost_error why = {0};

    in.n = pboost_table_rows(table);
    in.clamp = a->clamp;
    in.progress = show_progress;
    in.user = cli;
    TRY(read_ids(&id, table, a->id, err));
    TRY(read_ids(&unit, table, a->unit, err));
    TRY(read_ids(&scope, table, a->scope, err));
    TRY(read_labels(&in.label, table, a->label, err));
    in.id = id;
    in.unit = unit;
    in.scope = scope;
    st = pboost_ledger_import(report, ledger, &in, &why);
    if (st != PBOOST_OK && report->bad_row != SIZE_MAX)
        FAIL(err, st, "%s:%zu: %s", pboost_table_row_path(table, report->bad_row),
             pboost_table_line(table, report->bad_row), why.message);
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
done:
    free(id);
    free(unit);
    free(scope);
    return st;
}

pboost_status oracle_import(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    import_arguments a = {0};
    pboost_ledger *ledger = NULL;
    pboost_table *table = NULL;
    pboost_import_report report;
    text_columns text = {0};
    const cli_option options[] = {
        ORACLE_PLACE(a.place),
        {"--data", "FILE", cli_read_text, &a.data, NULL, "CSV or NPY; - is standard input"},
        {"--id", "COL", cli_read_text, &a.id, NULL, "the rows' ids: integers or text"},
        {"--label", "COL", cli_read_text, &a.label, NULL, "the labels: numbers"},
        {"--unit", "COL", cli_read_text, &a.unit, NULL, "the unit, such as a person, of each row"},
        {"--scope", "COL", cli_read_text, &a.scope, NULL,
         "the group of each row: a token with a scope may ask\nabout the rows of that group only"},
        {"--clamp", NULL, NULL, &a.clamp, NULL,
         "move labels outside the bounds to the nearest bound"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &IMPORT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.data == NULL || a.id == NULL || a.label == NULL)
        FAIL(err, PBOOST_INVALID,
             "--data, --id and --label are required; see 'priorboost oracle import --help'");
    TRY(oracle_open(&ledger, cli, &a.place, ORACLE_LABELS, err));
    TRY(text_columns_add(&text, a.id, err));
    if (a.unit != NULL)
        TRY(text_columns_add(&text, a.unit, err));
    if (a.scope != NULL)
        TRY(text_columns_add(&text, a.scope, err));
    TRY(text_columns_read(&table, &text, a.data, err));
    TRY(import_table(&report, cli, ledger, &a, table, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:I, s:I}", "rows", (json_int_t)report.rows, "clamped",
                                     (json_int_t)report.clamped),
                           err));
    else
        cli_note(cli, "%zu rows imported, %zu labels moved to a bound", report.rows,
                 report.clamped);
done:
    pboost_table_free(table);
    pboost_ledger_close(ledger);
    text_columns_free(&text);
    return st;
}

/* ---- forget ---------------------------------------------------------------------------------- */

static const cli_usage FORGET = {
    .synopsis = "--store S --id ID[,ID...]",
    .text = "Deletes the labels of these rows, for example when a person asks for it.  The rows\n"
            "count as spent.  Earlier answers do not change.  Copies of the store made earlier\n"
            "still hold the labels.",
    .operand = NULL};

pboost_status oracle_forget(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    cli_list ids = {0};
    pboost_id *id = NULL;
    pboost_ledger *ledger = NULL;
    size_t forgotten = 0;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--id", "ID,...", cli_read_list, &ids, NULL, "the rows"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &FORGET, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    if (ids.n == 0)
        FAIL(err, PBOOST_INVALID, "--id is required; see 'priorboost oracle forget --help'");
    NEED(id = calloc(ids.n, sizeof *id), err);
    for (size_t i = 0; i < ids.n; i++)
        id[i].text = ids.item[i];
    TRY(oracle_open(&ledger, cli, &place, ORACLE_LABELS, err));
    TRY(pboost_ledger_forget(&forgotten, ledger, id, ids.n, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:I}", "forgotten", (json_int_t)forgotten), err));
    else
        cli_note(cli, "%zu %s erased", forgotten, forgotten == 1 ? "label" : "labels");
done:
    pboost_ledger_close(ledger);
    free(id);
    cli_list_free(&ids);
    return st;
}
