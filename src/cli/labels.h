/* Labels: numbers as they are, two words as 1 and 0. */
#ifndef PBOOST_CLI_LABELS_H
#define PBOOST_CLI_LABELS_H

#include "data.h"

typedef enum { LABELS_UNDECIDED, LABELS_NUMBERS, LABELS_WORDS } label_kind;

/* How a column of text becomes labels.  The first values decide; all blocks of a table, and other
 * tables of the same labels, follow the same rule. */
typedef struct label_rule {
    const char *positive, *negative; /* the words that count as 1 and 0, if known */
    bool partly;                     /* a label may be missing: it is NaN */
    bool guessed;                    /* they are a pair that everybody knows, such as yes and no */
    label_kind kind;
    bool minus, nought; /* numbers: a -1, a 0 was there */
    char *one, *zero;   /* the first of these words, as the table writes them */
} label_rule;

/* positive and negative are what the user says; NULL: nothing. */
label_rule label_rule_of(const char *positive, const char *negative);
void label_rule_free(label_rule *rule);

/* Whether the column is to be read as text: labels of counts and measurements are numbers. */
bool labels_are_text(pboost_family family, const char *positive);

/* value[level] = the label that a level of the column stands for; NaN: none. */
pboost_status label_rule_apply(double **value, label_rule *rule, const pboost_table *table,
                               size_t col, pboost_error *err);

/* The word that counts as 1; NULL: labels are numbers. */
const char *label_rule_positive(const label_rule *rule);

/* Says which word counts as 1, if that was guessed. */
void label_rule_note(const cli_context *cli, const label_rule *rule, const char *label);

/* Labels that are right for the family, one per row, allocated for the caller. */
pboost_status data_labels(double **out, label_rule *rule, const pboost_table *table,
                          const char *name, pboost_family family, pboost_error *err);

/* A file for each of several labels: the path with the label in place of these bytes, allocated for
 * the caller.  NULL stays NULL. */
#define LABEL_IN_PATH "{label}"
pboost_status label_path(char **out, const char *option, const char *path, const char *label,
                         pboost_error *err);

/* At the end of a table: the word of --positive must have been there. */
pboost_status label_rule_check(const label_rule *rule, const char *path, const char *label,
                               pboost_error *err);

#endif
