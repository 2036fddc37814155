/* priorboost oracle import: rows and their labels, from a file into the store. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels.h"
#include "lines.h"
#include "oracle.h"
#include "remote.h"

static const cli_usage IMPORT = {
    .synopsis = "--store S --data FILE --id COL [--label COL] [OPTION...]",
    .text =
        "Adds the rows of a table: all of them, or none if one is wrong.  An id that is\n"
        "there already, a missing label and a label outside the bounds are refused.  Do not leave\n"
        "rows out because of their labels: whether a learner can ask about a row would then tell\n"
        "its label.  Correct the labels, or use --bad-label.  A service that runs on the store "
        "sees\n"
        "the new rows.  A store of several label columns takes them under their own names, "
        "without\n"
        "--label.  The rows are divided among all stores of an oracle; where only some are given,\n"
        "only their rows are taken.",
    .operand = NULL};

typedef struct {
    oracle_place place;
    const char *data, *id, *label, *unit, *scope, *positive, *negative;
    bool clamp;
    const char *bad_text; /* NULL: bad labels are refused */
    double bad_label;
} import_arguments;

/* ---- Rows, of which only what the store needs is kept ---------------------------------------- */

enum { PAGE_BYTES = 1 << 20 };

/* Text that stays where it is. */
typedef struct text_page {
    struct text_page *before;
    size_t used;
    char bytes[PAGE_BYTES];
} text_page;

/* From row `row` on, a row stands `shift` lines further down in this file. */
typedef struct {
    size_t row, shift;
    char *path;
} row_mark;

typedef struct {
    size_t n;
    pboost_id *id, *unit, *scope; /* unit and scope may be NULL */
    double *label;
    size_t id_capacity, unit_capacity, scope_capacity, label_capacity;
    text_page *text; /* of ids that are no integers */
    row_mark *mark;
    size_t n_marks, mark_capacity;
    label_rule rule;
    const char *names; /* of classes or label columns; "": the labels are numbers, or two words */
    size_t columns;    /* labels of a row */
    char column[PBOOST_LABEL_COLUMNS_MAX][LINE_TEXT]; /* their names in the table */
} import_rows;

static void rows_free(import_rows *r)
{
    for (text_page *page = r->text, *before; page != NULL; page = before) {
        before = page->before;
        free(page);
    }
    for (size_t i = 0; i < r->n_marks; i++)
        free(r->mark[i].path);
    free(r->mark);
    free(r->id);
    free(r->unit);
    free(r->scope);
    free(r->label);
    label_rule_free(&r->rule);
}

/* Where row i of all stands. */
static const row_mark *mark_of(const import_rows *r, size_t i)
{
    size_t k = r->n_marks;
    while (k > 1 && r->mark[k - 1].row > i)
        k--;
    return &r->mark[k - 1];
}

/* Notes where the rows of a block stand; in most files that is one mark. */
static pboost_status mark_rows(import_rows *r, const pboost_table *block, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < pboost_table_rows(block); i++) {
        size_t shift = pboost_table_line(block, i) - (r->n + i);
        const char *path = pboost_table_row_path(block, i);
        const row_mark *last = r->n_marks > 0 ? &r->mark[r->n_marks - 1] : NULL;
        if (last != NULL && last->shift == shift && strcmp(last->path, path) == 0)
            continue;
        GROW(r->mark, r->mark_capacity, r->n_marks + 1, err);
        NEED(r->mark[r->n_marks].path = strdup(path), err);
        r->mark[r->n_marks].row = r->n + i;
        r->mark[r->n_marks++].shift = shift;
    }
done:
    return st;
}

/* An id that needs the block no longer. */
static pboost_status keep_id(pboost_id *out, import_rows *r, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t size = strnlen(text, PBOOST_ID_MAX + 1) + 1; /* one that is too long stays so */

    *out = pboost_remote_id(text);
    if (out->text == NULL)
        goto done;
    text_page *page = r->text;
    if (page == NULL || page->used + size > PAGE_BYTES) {
        NEED(page = malloc(sizeof *page), err);
        page->before = r->text;
        page->used = 0;
        r->text = page;
    }
    char *to = page->bytes + page->used;
    memcpy(to, text, size - 1);
    to[size - 1] = '\0';
    page->used += size;
    out->text = to;
done:
    return st;
}

/* The ids in a column that was read as text; name NULL: there are none. */
static pboost_status add_ids(pboost_id **ids, size_t *capacity, import_rows *r,
                             const pboost_table *block, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, n = pboost_table_rows(block);
    pboost_id *level = NULL;

    if (name == NULL)
        return PBOOST_OK;
    TRY(pboost_table_find(&col, block, name, err));
    NEED(level = pboost_alloc(pboost_table_n_levels(block, col), sizeof *level), err);
    for (size_t i = 0; i < pboost_table_n_levels(block, col); i++)
        TRY(keep_id(&level[i], r, pboost_table_level(block, col, (uint32_t)i), err));
    GROW(*ids, *capacity, r->n + n, err);
    const uint32_t *code = pboost_table_codes(block, col);
    for (size_t i = 0; i < n; i++) {
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: '%s' is missing", pboost_table_row_path(block, i),
                 pboost_table_line(block, i), name);
        (*ids)[r->n + i] = level[code[i]];
    }
done:
    free(level);
    return st;
}

/* ---- Labels: NaN stands for one that is none ------------------------------------------------- */

/* Whether no label was the value of --positive, and nothing says that this is right. */
static bool is_absent(const label_rule *rule)
{
    return rule->kind == LABELS_WORDS && rule->one == NULL && rule->negative == NULL;
}

static pboost_status refuse_absent(const import_arguments *a, pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: label '%s' never is '%s', the value of --positive; if that is right, "
                       "say with --negative which value counts as 0",
                       a->data, a->label, a->positive);
}

/* The message shows no cell: it may be a label. */
static pboost_status refuse_class(const pboost_table *table, size_t row, const char *column,
                                  const char *names, pboost_error *err)
{
    char list[200];

    snprintf(list, sizeof list, "%s", names);
    for (char *c = list; *c != '\0'; c++)
        *c = *c == '\n' ? ',' : *c;
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s:%zu: label '%s' is missing or none of the store's %zu classes (%s%s); "
                       "correct it, or import such rows with --bad-label",
                       pboost_table_row_path(table, row), pboost_table_line(table, row), column,
                       pboost_lines_count(names), list, strlen(names) >= sizeof list ? "..." : "");
}

static pboost_status refuse_cell(const pboost_table *table, size_t row, const char *column,
                                 const import_arguments *a, const label_rule *rule,
                                 pboost_error *err)
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
                       pboost_table_row_path(table, row), pboost_table_line(table, row), column,
                       why);
}

/* value[level] = the number of the class that a level is; NaN: none. */
static pboost_status find_classes(double **value, const char *names, const pboost_table *table,
                                  size_t col, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_n_levels(table, col);

    NEED(*value = pboost_alloc(n, sizeof **value), err);
    for (size_t i = 0; i < n; i++) {
        size_t class = pboost_line_find(names, pboost_table_level(table, col, (uint32_t)i));
        (*value)[i] = class != SIZE_MAX ? (double)class : (double)NAN;
    }
done:
    return st;
}

/* Labels of column j of the store. */
static pboost_status add_labels(import_rows *r, const pboost_table *block, size_t j,
                                const import_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, n = pboost_table_rows(block);
    double *value = NULL;
    const char *name = r->column[j];
    bool classes = *r->names != '\0' && r->columns == 1;

    TRY(pboost_table_find(&col, block, name, err));
    GROW(r->label, r->label_capacity, (r->n + n) * r->columns, err);
    TRY(classes ? find_classes(&value, r->names, block, col, err)
                : label_rule_apply(&value, &r->rule, block, col, err));
    const uint32_t *code = pboost_table_codes(block, col);
    for (size_t i = 0; i < n; i++) {
        double label = code[i] == UINT32_MAX ? (double)NAN : value[code[i]];
        if (!isfinite(label) && a->bad_text == NULL)
            TRY(classes               ? refuse_class(block, i, name, r->names, err)
                : is_absent(&r->rule) ? refuse_absent(a, err)
                                      : refuse_cell(block, i, name, a, &r->rule, err));
        r->label[(r->n + i) * r->columns + j] = label;
    }
done:
    free(value);
    return st;
}

static pboost_status add_block(import_rows *r, const pboost_table *block, const import_arguments *a,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(mark_rows(r, block, err));
    TRY(add_ids(&r->id, &r->id_capacity, r, block, a->id, err));
    TRY(add_ids(&r->unit, &r->unit_capacity, r, block, a->unit, err));
    TRY(add_ids(&r->scope, &r->scope_capacity, r, block, a->scope, err));
    for (size_t j = 0; j < r->columns; j++)
        TRY(add_labels(r, block, j, a, err));
    r->n += pboost_table_rows(block);
done:
    return st;
}

static pboost_status read_rows(import_rows *out, const cli_context *cli, const import_arguments *a,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.cli = cli};
    data_blocks blocks = {0};
    const pboost_table *block;
    const char *const column[] = {a->id, a->unit, a->scope};
    size_t n_columns = sizeof column / sizeof *column;

    out->rule = label_rule_of(a->positive, a->negative);
    for (size_t i = 0; i < n_columns; i++)
        if (column[i] != NULL)
            TRY(table_reading_add(&text, column[i], err));
    for (size_t j = 0; j < out->columns; j++)
        TRY(table_reading_add(&text, out->column[j], err));
    TRY(data_blocks_open(&blocks, &text, a->data, n_columns + out->columns, err));
    for (;;) {
        TRY(data_blocks_next(&block, &blocks, err));
        if (block == NULL)
            break;
        TRY(add_block(out, block, a, err));
    }
    if (is_absent(&out->rule))
        TRY(refuse_absent(a, err));
    label_rule_note(cli, &out->rule, out->column[0]);
done:
    data_blocks_close(&blocks);
    table_reading_free(&text);
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
static const char *column_of(const import_arguments *a, const import_rows *rows,
                             const pboost_import_report *report)
{
    const char *part = report->bad_part;
    return strcmp(part, "id") == 0      ? a->id
           : strcmp(part, "label") == 0 ? rows->column[report->bad_column]
           : strcmp(part, "unit") == 0  ? a->unit
                                        : a->scope;
}

/* Where the labels are in the table, as the store and --label say. */
static pboost_status name_columns(import_rows *out, const pboost_ledger_rules *rules,
                                  const import_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool columns = rules->rules.answer == PBOOST_ANSWER_COLUMNS;

    out->names = rules->names;
    out->columns = columns ? rules->rules.width : 1;
    if (!columns && a->label == NULL)
        FAIL(err, PBOOST_INVALID, "--label is required; see 'priorboost oracle import --help'");
    if (columns && a->label != NULL)
        FAIL(err, PBOOST_INVALID,
             "--label is '%.60s', but the store has %zu label columns, which are taken by name",
             a->label, out->columns);
    if (*out->names != '\0' && a->positive != NULL)
        FAIL(err, PBOOST_INVALID, "--positive is '%.60s', but the store has %s", a->positive,
             columns ? "label columns" : "classes, which it knows by name");
    for (size_t j = 0; columns && j < out->columns; j++)
        (void)pboost_line_copy(out->column[j], out->names, j);
    if (!columns)
        snprintf(out->column[0], sizeof out->column[0], "%s", a->label);
done:
    return st;
}

/* The value of --bad-label: a number, or the name of a class. */
static pboost_status read_bad_label(import_arguments *a, const pboost_ledger_rules *rules,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool classes = *rules->names != '\0' && rules->rules.answer != PBOOST_ANSWER_COLUMNS;

    if (a->bad_text == NULL)
        goto done;
    if (!classes) {
        TRY(cli_read_number(&a->bad_label, "--bad-label", a->bad_text, err));
        goto done;
    }
    size_t class = pboost_line_find(rules->names, a->bad_text);
    if (class == SIZE_MAX)
        FAIL(err, PBOOST_INVALID, "--bad-label is '%.60s', which is none of the store's classes",
             a->bad_text);
    a->bad_label = (double)class;
done:
    return st;
}

static pboost_status import_all(pboost_import_report *report, cli_context *cli,
                                pboost_ledger *ledger, const import_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_import in = PBOOST_IMPORT_INIT;
    import_rows rows = {0};
    pboost_error why = {0};

    TRY(name_columns(&rows, pboost_ledger_get_rules(ledger), a, err));
    TRY(read_rows(&rows, cli, a, err));
    in.n = rows.n;
    in.clamp = a->clamp;
    in.replace_bad = a->bad_text != NULL;
    in.bad_label = a->bad_label;
    in.progress = show_progress;
    in.user = cli;
    in.id = rows.id;
    in.label = rows.label;
    in.unit = rows.unit;
    in.scope = rows.scope;
    st = pboost_ledger_import(report, ledger, &in, &why);
    if (st != PBOOST_OK && report->bad_row != SIZE_MAX) {
        const row_mark *mark = mark_of(&rows, report->bad_row);
        FAIL(err, st, "%s:%zu: '%s': %s", mark->path, report->bad_row + mark->shift,
             column_of(a, &rows, report), why.message);
    }
    if (st != PBOOST_OK)
        FAIL(err, st, "%s", why.message);
done:
    rows_free(&rows);
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
    if (a->bad_text != NULL)
        cli_note(cli, "%zu bad labels taken in as %s", report->replaced, a->bad_text);
    return PBOOST_OK;
}

pboost_status oracle_import(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    import_arguments a = {0};
    pboost_ledger *ledger = NULL;
    pboost_import_report report;
    const cli_option options[] = {
        ORACLE_PLACE(a.place),
        {"--data", "FILE", cli_read_text, &a.data, NULL, DATA_TABLE},
        {"--id", "COL", cli_read_text, &a.id, NULL, "the rows' ids: integers or text"},
        {"--label", "COL", cli_read_text, &a.label, NULL,
         "the labels: numbers, two words, or the store's classes"},
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
        {"--bad-label", "VALUE", cli_read_text, &a.bad_text, NULL,
         "take rows with a bad label (missing, no number,\noutside the bounds, no class) in with "
         "this label"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &IMPORT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (a.data == NULL || a.id == NULL)
        FAIL(err, PBOOST_INVALID,
             "--data, --id and --label are required; see 'priorboost oracle import --help'");
    if (a.negative != NULL && a.positive == NULL)
        FAIL(err, PBOOST_INVALID, "--negative is '%s', but there is no --positive", a.negative);
    if (a.negative != NULL && strcmp(a.negative, a.positive) == 0)
        FAIL(err, PBOOST_INVALID, "--positive and --negative are both '%s'", a.negative);
    TRY(oracle_open(&ledger, cli, &a.place, ORACLE_LABELS, err));
    TRY(read_bad_label(&a, pboost_ledger_get_rules(ledger), err));
    TRY(import_all(&report, cli, ledger, &a, err));
    TRY(print_report(cli, &report, &a, err));
done:
    pboost_ledger_close(ledger);
    return st;
}
