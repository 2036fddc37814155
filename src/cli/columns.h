/* What the user says about the columns of a table, and what becomes of each. */
#ifndef PBOOST_CLI_COLUMNS_H
#define PBOOST_CLI_COLUMNS_H

#include "data.h"

typedef struct column_arguments {
    cli_list exclude, drop, keep, categorical, types, na, date;
    const char *impute, *unseen;
    bool take_missing; /* without --impute, too: the model has a use for missing cells */
} column_arguments;

/* The rows of an option table for the column_arguments c. */
#define COLUMN_OPTIONS(c)                                                                          \
    {"--exclude", "COL,...", cli_read_list, &(c).exclude, NULL, "columns that are not features"},  \
        {"--drop", "COL,...", cli_read_list, &(c).drop, NULL, "the same as --exclude"},            \
        {"--keep",  "COL,...", cli_read_list,                                                      \
         &(c).keep, NULL,      "features although their values all differ, like ids"},             \
        {"--types",                                                                                \
         "COL=KIND,...",                                                                           \
         cli_read_list,                                                                            \
         &(c).types,                                                                               \
         NULL,                                                                                     \
         "what columns hold: number, category or date; default:\n"                                 \
         "all cells decide, see 'priorboost describe'"},                                           \
        {"--categorical",  "COL,...", cli_read_list,                                               \
         &(c).categorical, NULL,      "columns of numbers that are codes of categories"},          \
        {"--date",                                                                                 \
         "COL[=PARTS],...",                                                                        \
         cli_read_list,                                                                            \
         &(c).date,                                                                                \
         NULL,                                                                                     \
         "dates become numbers: days (default), year, and\n"                                       \
         "indicators: month, weekday, hour; COL=days+month"},                                      \
        {"--na",  "TEXT,...", cli_read_list,                                                       \
         &(c).na, NULL,       "cells that are missing, beside empty ones and NA"},                 \
        {"--impute",                                                                               \
         "mean",                                                                                   \
         cli_read_text,                                                                            \
         &(c).impute,                                                                              \
         NULL,                                                                                     \
         "replace missing numbers by the mean, missing categories\nby the first level"},           \
    {                                                                                              \
        "--unseen", "baseline|error", cli_read_text, &(c).unseen, NULL,                            \
            "categories that were not in training, when the model\n"                               \
            "predicts: baseline (default): the first level; error"                                 \
    }

void column_arguments_free(column_arguments *c);
pboost_status column_arguments_check(const column_arguments *c, pboost_error *err);

/* Reads a table with what is said of its columns; `text` has those that must be text. */
pboost_status columns_read(pboost_table **out, table_reading *text, const column_arguments *c,
                           const char *path, pboost_error *err);

/* Leaves in use[col] the columns that are features, as columns_learn does; dates are categories. */
pboost_status columns_choose(bool *use, const cli_context *cli, const pboost_table *table,
                             const column_arguments *c, pboost_error *err);

/* Learns the encoding of the columns that have no other role: use[col].  Notes say what is unusual:
 * columns that are left out, words that count as missing, rare categories. */
pboost_status columns_learn(pboost_encoding *out, bool *use, const cli_context *cli,
                            const pboost_table *table, const column_arguments *c,
                            pboost_error *err);

#endif
