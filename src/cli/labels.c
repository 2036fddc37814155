/* Labels: numbers as they are, two words as 1 and 0. */
#include "labels.h"

#include <math.h>
#include <string.h>

/* ---- Words that everybody knows -------------------------------------------------------------- */

static const char *const PAIRS[][2] = {/* 0 and 1 */
                                       {"no", "yes"}, {"false", "true"}, {"n", "y"},
                                       {"f", "t"},    {"0", "1"},        {"negative", "positive"}};
enum { N_PAIRS = sizeof PAIRS / sizeof *PAIRS };

/* Equal but for case, and for blanks around `text`. */
static bool is_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    text += strspn(text, " \t");
    return strncasecmp(text, word, n) == 0 && text[n + strspn(text + n, " \t")] == '\0';
}

/* 2 * pair + value of a known word; -1: it is none. */
static int known_word(const char *text)
{
    for (int i = 0; i < 2 * N_PAIRS; i++)
        if (is_word(text, PAIRS[i / 2][i % 2]))
            return i;
    return -1;
}

/* Two texts that mean the same: "Yes" and "yes", but not "A" and "a". */
static bool same(const char *a, const char *b)
{
    int word = known_word(a);
    return strcmp(a, b) == 0 || (word >= 0 && word == known_word(b));
}

/* ---- The rule -------------------------------------------------------------------------------- */

label_rule label_rule_of(const char *positive, const char *negative)
{
    return (label_rule){.positive = positive,
                        .negative = negative,
                        .kind = positive != NULL ? LABELS_WORDS : LABELS_UNDECIDED};
}

void label_rule_free(label_rule *rule)
{
    free(rule->one);
    free(rule->zero);
    *rule = (label_rule){0};
}

bool labels_are_text(pboost_family family, const char *positive)
{
    return family == PBOOST_LOGISTIC || positive != NULL;
}

const char *label_rule_positive(const label_rule *rule)
{
    return rule->kind != LABELS_WORDS ? NULL : rule->one != NULL ? rule->one : rule->positive;
}

void label_rule_note(const cli_context *cli, const label_rule *rule, const char *label)
{
    if (rule->guessed)
        cli_note(cli, "note: label '%s': '%s' counts as 1, '%s' as 0 (--positive says otherwise)",
                 label, rule->one != NULL ? rule->one : rule->positive,
                 rule->zero != NULL ? rule->zero : rule->negative);
}

pboost_status label_rule_check(const label_rule *rule, const char *path, const char *label,
                               pboost_error *err)
{
    if (rule->kind != LABELS_WORDS || rule->guessed || rule->one != NULL)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: label '%s' has no cell '%s' (--positive); its values are '%s'", path,
                       label, rule->positive, rule->zero != NULL ? rule->zero : "");
}

/* The first level that is a number or a known word decides. */
static void decide(label_rule *rule, const pboost_table *table, size_t col)
{
    for (size_t i = 0; i < pboost_table_n_levels(table, col); i++) {
        double number;
        int word = known_word(pboost_table_level(table, col, (uint32_t)i));
        if (pboost_table_level_number(&number, table, col, (uint32_t)i)) {
            rule->kind = LABELS_NUMBERS;
            return;
        }
        if (word >= 0) {
            rule->kind = LABELS_WORDS;
            rule->guessed = true;
            rule->positive = PAIRS[word / 2][1];
            rule->negative = PAIRS[word / 2][0];
            return;
        }
    }
}

/* The value of a word, remembered if it is the first one.  If no word is said to count as 0, that
 * is the first other one. */
static pboost_status word_value(double *value, label_rule *rule, const char *level,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *negative = rule->negative != NULL ? rule->negative : rule->zero;
    bool one = same(level, rule->positive);
    char **first = one ? &rule->one : &rule->zero;

    *value = (double)NAN;
    if (!one && negative != NULL && !same(level, negative))
        goto done;
    *value = one ? 1.0 : 0.0;
    if (*first == NULL)
        NEED(*first = strdup(level), err);
done:
    return st;
}

pboost_status label_rule_apply(double **out, label_rule *rule, const pboost_table *table,
                               size_t col, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_n_levels(table, col);
    double *value = NULL;

    *out = NULL;
    NEED(value = pboost_alloc(n, sizeof *value), err);
    if (rule->kind == LABELS_UNDECIDED)
        decide(rule, table, col);
    for (size_t i = 0; i < n; i++) {
        value[i] = (double)NAN;
        if (rule->kind == LABELS_WORDS)
            TRY(word_value(&value[i], rule, pboost_table_level(table, col, (uint32_t)i), err));
        else if (rule->kind == LABELS_NUMBERS)
            (void)pboost_table_level_number(&value[i], table, col, (uint32_t)i);
    }
    *out = value;
    value = NULL;
done:
    free(value);
    return st;
}

/* ---- Labels for a family --------------------------------------------------------------------- */

/* "'a', 'b', ..." for messages. */
static void list_levels(char *out, size_t size, const pboost_table *table, size_t col)
{
    size_t used = 0, n = pboost_table_n_levels(table, col), shown = n < 5 ? n : 5;
    *out = '\0';
    for (size_t i = 0; i < shown && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%.40s'", i > 0 ? ", " : "",
                                 pboost_table_level(table, col, (uint32_t)i));
    if (n > shown && used < size)
        snprintf(out + used, size - used, ", ...");
}

/* Neither numbers nor words that are known. */
static pboost_status refuse_text(const label_rule *rule, const pboost_table *table, size_t col,
                                 pboost_family family, pboost_error *err)
{
    char levels[300];

    list_levels(levels, sizeof levels, table, col);
    if (rule->positive != NULL && !rule->guessed)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s: label '%s' has no cell '%.60s' (--positive); its values are %s",
                           pboost_table_path(table), pboost_table_name(table, col), rule->positive,
                           levels);
    return pboost_fail(
        err, PBOOST_BAD_DATA, "%s: label '%s' is text (%s), but %s needs numbers%s",
        pboost_table_path(table), pboost_table_name(table, col), levels, pboost_family_name(family),
        family != PBOOST_LOGISTIC               ? ""
        : pboost_table_n_levels(table, col) > 2 ? "; say with --positive VALUE which value counts "
                                                  "as 1, or train with --family classes"
                                                : "; say with --positive VALUE which value counts "
                                                  "as 1");
}

/* A row whose cell is a level that is no label. */
static pboost_status refuse_level(const label_rule *rule, const pboost_table *table, size_t col,
                                  size_t row, uint32_t code, pboost_family family,
                                  pboost_error *err)
{
    const char *level = pboost_table_level(table, col, code);
    size_t line = pboost_table_line(table, row);

    if (rule->kind == LABELS_NUMBERS)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s:%zu: label '%s' is '%.60s'; %s labels must be %s%s",
                           pboost_table_row_path(table, row), line, pboost_table_name(table, col),
                           level, pboost_family_name(family), pboost_family_labels(family),
                           family == PBOOST_LOGISTIC ? ", or use --positive VALUE" : "");
    if (rule->kind == LABELS_UNDECIDED || rule->one == NULL || rule->zero == NULL)
        return refuse_text(rule, table, col, family, err);
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s:%zu: label '%s' is '%.60s', a third value beside '%.60s' and '%.60s'; a "
                       "logistic label has two (train with --family classes takes more)",
                       pboost_table_row_path(table, row), line, pboost_table_name(table, col),
                       level, rule->one, rule->zero);
}

/* 1 and -1 count as 1 and 0, unless there is a 0 too. */
static void take_signs(double *value, size_t n, label_rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        rule->minus = rule->minus || value[i] == -1.0;
        rule->nought = rule->nought || value[i] == 0.0;
    }
    for (size_t i = 0; i < n && !rule->nought; i++)
        value[i] = value[i] == -1.0 ? 0.0 : value[i];
    for (size_t i = 0; i < n && rule->nought && rule->minus; i++)
        value[i] = value[i] == 0.0 ? (double)NAN : value[i];
}

static pboost_status text_labels(double *y, label_rule *rule, const pboost_table *table, size_t col,
                                 pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const uint32_t *code = pboost_table_codes(table, col);
    double *value = NULL;

    TRY(label_rule_apply(&value, rule, table, col, err));
    if (rule->kind == LABELS_NUMBERS && family == PBOOST_LOGISTIC)
        take_signs(value, pboost_table_n_levels(table, col), rule);
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        y[i] = NAN;
        if (code[i] == UINT32_MAX && rule->partly)
            continue;
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is missing",
                 pboost_table_row_path(table, i), pboost_table_line(table, i),
                 pboost_table_name(table, col));
        y[i] = value[code[i]];
        if (isnan(y[i]) || !pboost_family_allows(family, y[i]))
            TRY(refuse_level(rule, table, col, i, code[i], family, err));
    }
done:
    free(value);
    return st;
}

static pboost_status number_labels(double *y, const label_rule *rule, const pboost_table *table,
                                   size_t col, pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;

    if (pboost_table_is_text(table, col))
        TRY(refuse_text(rule, table, col, family, err));
    TRY(pboost_table_numbers(&number, table, col, rule->partly, err));
    for (size_t i = 0; i < pboost_table_rows(table); i++) {
        if (!isnan(number[i]) && !pboost_family_allows(family, number[i]))
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is %.17g; %s labels must be %s",
                 pboost_table_row_path(table, i), pboost_table_line(table, i),
                 pboost_table_name(table, col), number[i], pboost_family_name(family),
                 pboost_family_labels(family));
        y[i] = number[i];
    }
done:
    return st;
}

pboost_status data_labels(double **out, label_rule *rule, const pboost_table *table,
                          const char *name, pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *y = NULL;
    size_t col;

    *out = NULL;
    TRY(pboost_table_find(&col, table, name, err));
    NEED(y = pboost_alloc(pboost_table_rows(table), sizeof *y), err);
    TRY(labels_are_text(family, rule->positive) ? text_labels(y, rule, table, col, family, err)
                                                : number_labels(y, rule, table, col, family, err));
    *out = y;
    y = NULL;
done:
    free(y);
    return st;
}

pboost_status label_path(char **out, const char *option, const char *path, const char *label,
                         pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *at = path != NULL ? strstr(path, LABEL_IN_PATH) : NULL;

    *out = NULL;
    if (path == NULL)
        return PBOOST_OK;
    if (at == NULL)
        FAIL(err, PBOOST_INVALID,
             "%s is '%s'; with several labels it must have " LABEL_IN_PATH
             " where the label's name goes, such as model-" LABEL_IN_PATH ".json",
             option, path);
    if (strchr(label, '/') != NULL)
        FAIL(err, PBOOST_INVALID,
             "%s is '%s', but label '%s' has a / in its name; give the column another name", option,
             path, label);
    size_t before = (size_t)(at - path), room = strlen(path) + strlen(label) + 1;
    NEED(*out = malloc(room), err);
    snprintf(*out, room, "%.*s%s%s", (int)before, path, label, at + strlen(LABEL_IN_PATH));
done:
    return st;
}
