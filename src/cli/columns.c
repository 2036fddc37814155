/* What the user says about the columns of a table, and what becomes of each. */
#include "columns.h"

#include <string.h>

void column_arguments_free(column_arguments *c)
{
    cli_list *const list[] = {&c->exclude, &c->drop, &c->keep, &c->categorical,
                              &c->types,   &c->na,   &c->date};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        cli_list_free(list[i]);
}

pboost_status column_arguments_check(const column_arguments *c, pboost_error *err)
{
    if (c->impute != NULL && strcmp(c->impute, "mean") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--impute is '%s'; it must be mean", c->impute);
    if (c->unseen != NULL && strcmp(c->unseen, "baseline") != 0 && strcmp(c->unseen, "error") != 0)
        return pboost_fail(err, PBOOST_INVALID, "--unseen is '%s'; it must be baseline or error",
                           c->unseen);
    return PBOOST_OK;
}

/* ---- COL=WORD -------------------------------------------------------------------------------- */

/* The word after the last '='; NULL: there is none.  *length is that of the name before it. */
static const char *word_of(const char *item, size_t *length)
{
    const char *equals = strrchr(item, '=');
    *length = equals != NULL ? (size_t)(equals - item) : strlen(item);
    return equals != NULL ? equals + 1 : NULL;
}

static bool is_column(const char *item, const char *name)
{
    size_t length;
    (void)word_of(item, &length);
    return strcmp(item, name) == 0 || (strlen(name) == length && memcmp(item, name, length) == 0);
}

/* The item about a column; NULL: there is none. */
static const char *find(const cli_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_column(list->item[i], name))
            return list->item[i];
    return NULL;
}

static bool has(const cli_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->item[i], name) == 0)
            return true;
    return false;
}

/* Every item must be about a column that the table has. */
static pboost_status check_names(const cli_list *list, const char *option,
                                 const pboost_table *table, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_error why;
    size_t col;

    for (size_t i = 0; i < list->n; i++) {
        bool found = false;
        for (size_t j = 0; j < pboost_table_cols(table) && !found; j++)
            found = is_column(list->item[i], pboost_table_name(table, j));
        if (!found && pboost_table_find(&col, table, list->item[i], &why) != PBOOST_OK)
            FAIL(err, PBOOST_BAD_DATA, "%s: %s", option, why.message);
    }
done:
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static pboost_status add_types(table_reading *text, const cli_list *types, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < types->n; i++) {
        size_t length;
        const char *kind = word_of(types->item[i], &length);
        if (kind != NULL && strcmp(kind, "category") == 0)
            TRY(table_reading_add_n(text, types->item[i], length, true, err));
        else if (kind != NULL && strcmp(kind, "number") == 0)
            TRY(table_reading_add_n(text, types->item[i], length, false, err));
        else if (kind == NULL || strcmp(kind, "date") != 0)
            FAIL(err, PBOOST_INVALID,
                 "--types has '%s'; it must be COL=number, COL=category or COL=date",
                 types->item[i]);
    }
done:
    return st;
}

pboost_status columns_read(pboost_table **out, table_reading *text, const column_arguments *c,
                           const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    for (size_t i = 0; i < c->categorical.n; i++)
        TRY(table_reading_add(text, c->categorical.item[i], err));
    TRY(add_types(text, &c->types, err));
    text->missing = c->na.item;
    text->n_missing = c->na.n;
    TRY(table_reading_read(out, text, path, err));
done:
    return st;
}

/* ---- Learning -------------------------------------------------------------------------------- */

/* The parts of a date that the user asked for; 0: it is not said to be a date. */
static pboost_status date_parts(unsigned *out, const column_arguments *c, const char *name,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *date = find(&c->date, name), *type = find(&c->types, name), *word;
    pboost_error why;
    size_t length;

    *out = 0;
    if (date != NULL && (word = word_of(date, &length)) != NULL && strcmp(date, name) != 0) {
        if (pboost_date_parts_parse(out, word, &why) != PBOOST_OK)
            FAIL(err, PBOOST_INVALID, "--date %s: %s", date, why.message);
    } else if (date != NULL || (type != NULL && strcmp(word_of(type, &length), "date") == 0)) {
        *out = PBOOST_DATE_DAYS;
    }
done:
    return st;
}

/* Whether a column is a feature.  date NULL: one that holds dates is a category. */
static pboost_status choose(bool *use, unsigned *date, const cli_context *cli,
                            const pboost_table *table, size_t col, const column_arguments *c,
                            pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *name = pboost_table_name(table, col);
    pboost_column_info info;

    pboost_table_describe(&info, table, col);
    if (date != NULL)
        TRY(date_parts(date, c, name, err));
    if (info.kind == PBOOST_COLUMN_EMPTY) {
        *use = false;
        cli_note(cli, "note: column '%s' is missing in every row; it is left out", name);
    } else if (info.kind == PBOOST_COLUMN_ID && !has(&c->keep, name)) {
        *use = false;
        cli_note(cli,
                 "note: the values of column '%s' all differ, like ids; it is left out (--keep %s "
                 "makes it a feature)",
                 name, name);
    } else if (info.kind == PBOOST_COLUMN_DATE && date != NULL && *date == 0) {
        FAIL(err, PBOOST_BAD_DATA,
             "%s: column '%s' holds dates such as '%s'; say --date %s (days since 1970), --date "
             "%s=days+month+weekday, or --drop %s",
             pboost_table_path(table), name, pboost_table_level(table, col, 0), name, name, name);
    }
    if (*use && info.words > 0)
        cli_note(cli, "note: column '%s': %zu cell%s such as '%s' count%s as missing", name,
                 info.words, info.words == 1 ? "" : "s", info.word, info.words == 1 ? "s" : "");
    if (*use && info.decimal_comma)
        cli_note(cli, "note: column '%s': its numbers have a decimal comma", name);
done:
    return st;
}

static void note_rare(const cli_context *cli, const pboost_encoding *encoding)
{
    for (size_t i = 0; i < encoding->n_features; i++)
        if (encoding->feature[i].other)
            cli_note(cli,
                     "note: column '%s' has many categories: %zu frequent ones get a weight each, "
                     "the others share one",
                     encoding->feature[i].name, encoding->feature[i].n_levels);
}

/* date: by column; NULL: dates are categories. */
static pboost_status choose_all(bool *use, unsigned *date, const cli_context *cli,
                                const pboost_table *table, const column_arguments *c,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_cols(table), n_used = 0;
    const struct {
        const cli_list *list;
        const char *option;
    } named[] = {{&c->exclude, "--exclude"},         {&c->drop, "--drop"},   {&c->keep, "--keep"},
                 {&c->categorical, "--categorical"}, {&c->types, "--types"}, {&c->date, "--date"}};

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        TRY(check_names(named[i].list, named[i].option, table, err));
    for (size_t j = 0; j < n; j++) {
        const char *name = pboost_table_name(table, j);
        use[j] = use[j] && !has(&c->exclude, name) && !has(&c->drop, name);
        if (use[j])
            TRY(choose(&use[j], date != NULL ? &date[j] : NULL, cli, table, j, c, err));
        n_used += use[j];
    }
    if (n_used == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: no column is left to learn from", pboost_table_path(table));
done:
    return st;
}

pboost_status columns_choose(bool *use, const cli_context *cli, const pboost_table *table,
                             const column_arguments *c, pboost_error *err)
{
    return choose_all(use, NULL, cli, table, c, err);
}

pboost_status columns_learn(pboost_encoding *out, bool *use, const cli_context *cli,
                            const pboost_table *table, const column_arguments *c, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_encoding_options o = PBOOST_ENCODING_OPTIONS_INIT;
    unsigned *date = NULL;

    NEED(date = calloc(pboost_table_cols(table), sizeof *date), err);
    TRY(choose_all(use, date, cli, table, c, err));
    o.use = use;
    o.date = date;
    o.impute = c->impute != NULL || c->take_missing;
    o.refuse_unseen = c->unseen != NULL && strcmp(c->unseen, "error") == 0;
    TRY(pboost_encoding_learn(out, table, &o, err));
    note_rare(cli, out);
done:
    free(date);
    return st;
}
