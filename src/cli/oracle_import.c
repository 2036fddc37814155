/* priorboost oracle import: rows and their labels, from a file into the store. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels.h"
#include "oracle.h"

static const cli_usage IMPORT = {
    .synopsis = "--store S --data FILE --id COL --label COL [OPTION...]",
    .text =
        "Adds the rows of a table: all of them, or none if one is wrong.  An id that is\n"
        "there already, a missing label and a label outside the bounds are refused.  Do not leave\n"
        "rows out because of their labels: whether a learner can ask about a row would then tell\n"
        "its label.  Correct the labels, or use --bad-label.  A service that runs on the store "
        "sees\n"
        "the new rows.",
    .operand = NULL};

typedef struct {
    oracle_place place;
    const char *data, *id, *label, *unit, *scope, *positive, *negative;
    bool clamp, replace_bad;
    double bad_label;
} import_arguments;

/* The ids in a column that was read as text, from which they borrow. */
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
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++) {
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

/* ---- Labels: NaN stands for one that is none ------------------------------------------------- */

/* The message shows no cell: it may be a label. */
static pboost_status refuse_cell(const pboost_table *table, size_t row, const import_arguments *a,
                                 const label_rule *rule, pboost_error *err)
{
    bool half = rule->guessed && (rule->one == NULL || rule->zero == NULL);
    const char *why = rule->kind == LABELS_UNDECIDED || half
                          ? "is text; --positive says which value counts as 1"
                      : rule->kind == LABELS_NUMBERS ? "is missing or not a finite number"
                      : a->negative != NULL
                          ? "is missing, or neither the value of --positive nor of --negative"
                          : "is missing or has a third value; --negative says which counts as 0";
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s:%zu: label '%s' %s; correct it, or import such rows with --bad-label",
                       pboost_table_row_path(table, row), pboost_table_line(table, row), a->label,
                       why);
}

static pboost_status read_labels(double **out, label_rule *rule, const pboost_table *table,
                                 const import_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *label = NULL, *value = NULL;
    size_t col, n = pboost_table_rows(table);

    TRY(pboost_table_find(&col, table, a->label, err));
    NEED(label = pboost_alloc(n, sizeof *label), err);
    TRY(label_rule_apply(&value, rule, table, col, err));
    if (rule->kind == LABELS_WORDS && !rule->guessed && rule->one == NULL && a->negative == NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: label '%s' never is '%s', the value of --positive; if that is right, say with "
             "--negative which value counts as 0",
             pboost_table_path(table), a->label, a->positive);
    const uint32_t *code = pboost_table_codes(table, col);
    for (size_t i = 0; i < n; i++) {
        label[i] = code[i] == UINT32_MAX ? (double)NAN : value[code[i]];
        if (!isfinite(label[i]) && !a->replace_bad)
            TRY(refuse_cell(table, i, a, rule, err));
    }
    *out = label;
    label = NULL;
done:
    free(label);
    free(value);
    return st;
}

/* ---- The import -------------------------------------------------------------------------------
 */

static bool show_progress(void *user, size_t done, size_t total)
{
    cli_progress(user, "importing", (double)done, (double)total);
    return !cli_interrupted();
}

/* The column of the file that a part of a row came from. */
static const char *column_of(const import_arguments *a, const char *part)
{
    return strcmp(part, "id") == 0      ? a->id
           : strcmp(part, "label") == 0 ? a->label
           : strcmp(part, "unit") == 0  ? a->unit
                                        : a->scope;
}

static pboost_status import_table(pboost_import_report *report, cli_context *cli,
                                  pboost_ledger *ledger, const import_arguments *a,
                                  const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_import in = PBOOST_IMPORT_INIT;
    pboost_id *id = NULL, *unit = NULL, *scope = NULL;
    double *label = NULL;
    label_rule rule = label_rule_of(a->positive, a->negative);
    pboost_error why = {0};

    in.n = pboost_table_rows(table);
    in.clamp = a->clamp;
    in.replace_bad = a->replace_bad;
    in.bad_label = a->bad_label;
    in.progress = show_progress;
    in.user = cli;
    TRY(read_ids(&id, table, a->id, err));
    TRY(read_ids(&unit, table, a->unit, err));
    TRY(read_ids(&scope, table, a->scope, err));
    TRY(read_labels(&label, &rule, table, a, err));
    label_rule_note(cli, &rule, a->label);
    in.id = id;
    in.label = label;
    in.unit = unit;
    in.scope = scope;
    st = pboost_ledger_import(report, ledger, &in, &why);
    if (st != PBOOST_OK && report->bad_row != SIZE_MAX)
        FAIL(err, st, "%s:%zu: '%s': %s", pboost_table_row_path(table, report->bad_row),
             pboost_table_line(table, report->bad_row), column_of(a, report->bad_part),
             why.message);
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
done:
    free(id);
    free(unit);
    free(scope);
    free(label);
    label_rule_free(&rule);
    return st;
}

static pboost_status print_report(const cli_context *cli, const pboost_import_report *report,
                                  const import_arguments *a, pboost_error *err)
{
    if (cli->json)
        return cli_print_json(json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)report->rows,
                                        "clamped", (json_int_t)report->clamped, "bad_labels",
                                        (json_int_t)report->replaced),
                              err);
    cli_note(cli, "%zu rows imported, %zu labels moved to a bound", report->rows, report->clamped);
    if (a->replace_bad)
        cli_note(cli, "%zu bad labels taken in as %g", report->replaced, a->bad_label);
    return PBOOST_OK;
}

pboost_status oracle_import(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    import_arguments a = {0};
    pboost_ledger *ledger = NULL;
    pboost_table *table = NULL;
    pboost_import_report report;
    table_reading text = {.cli = cli, .only_named = true};
    const cli_option options[] = {
        ORACLE_PLACE(a.place),
        {"--data", "FILE", cli_read_text, &a.data, NULL, DATA_TABLE},
        {"--id", "COL", cli_read_text, &a.id, NULL, "the rows' ids: integers or text"},
        {"--label", "COL", cli_read_text, &a.label, NULL, "the labels: numbers, or two words"},
        {"--positive", "VALUE", cli_read_text, &a.positive, NULL,
         "labels are words: this one counts as 1, the other as 0;\nnot needed for yes/no, "
         "true/false, y/n, t/f and\npositive/negative"},
        {"--negative", "VALUE", cli_read_text, &a.negative, NULL,
         "the value that counts as 0, if --positive is never\nthere or there are more than two"},
        {"--unit", "COL", cli_read_text, &a.unit, NULL, "the unit, such as a person, of each row"},
        {"--scope", "COL", cli_read_text, &a.scope, NULL,
         "the group of each row: a token with a scope may ask\nabout the rows of that group only"},
        {"--clamp", NULL, NULL, &a.clamp, NULL,
         "move labels outside the bounds to the nearest bound"},
        {"--bad-label", "VALUE", cli_read_number, &a.bad_label, &a.replace_bad,
         "take rows with a bad label (missing, no number,\noutside the bounds) in with this label"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &IMPORT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.data == NULL || a.id == NULL || a.label == NULL)
        FAIL(err, PBOOST_INVALID,
             "--data, --id and --label are required; see 'priorboost oracle import --help'");
    if (a.negative != NULL && a.positive == NULL)
        FAIL(err, PBOOST_INVALID, "--negative is '%s', but there is no --positive", a.negative);
    if (a.negative != NULL && strcmp(a.negative, a.positive) == 0)
        FAIL(err, PBOOST_INVALID, "--positive and --negative are both '%s'", a.negative);
    TRY(oracle_open(&ledger, cli, &a.place, ORACLE_LABELS, err));
    TRY(table_reading_add(&text, a.id, err));
    TRY(table_reading_add(&text, a.label, err));
    if (a.unit != NULL)
        TRY(table_reading_add(&text, a.unit, err));
    if (a.scope != NULL)
        TRY(table_reading_add(&text, a.scope, err));
    TRY(table_reading_read(&table, &text, a.data, err));
    TRY(import_table(&report, cli, ledger, &a, table, err));
    TRY(print_report(cli, &report, &a, err));
done:
    pboost_table_free(table);
    pboost_ledger_close(ledger);
    table_reading_free(&text);
    return st;
}
