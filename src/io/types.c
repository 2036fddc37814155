/* What a column is, decided from all of its cells: numbers, categories, dates, ids.
 *
 * Numbers are where every cell is a number or a word that stands for a missing one.  Where numbers
 * and other words are mixed, a column of codes ("250", "E11") is text; but a few words among many
 * numbers are more likely a mistake, and become an error when the column is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "date.h"
#include "mean.h"
#include "number.h"
#include "table.h"
#include "try.h"

bool pboost_means_missing(const char *text, size_t n)
{
    static const char *const WORD[] = {"?",    "-",    "--",      ".",       "n/a",   "#n/a",
                                       "null", "none", "unknown", "missing", "n.a.",  "nil",
                                       "-na-", "<na>", "#na",     "(null)",  "undef", "undefined"};
    char lower[16];

    if (n >= sizeof lower)
        return false;
    for (size_t i = 0; i < n; i++)
        lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    for (size_t i = 0; i < sizeof WORD / sizeof *WORD; i++)
        if (strlen(WORD[i]) == n && memcmp(WORD[i], lower, n) == 0)
            return true;
    return false;
}

bool pboost_comma_parse(double *out, const char *text, size_t n)
{
    char with_point[64];
    const char *comma = memchr(text, ',', n);

    if (comma == NULL || n >= sizeof with_point || memchr(text, '.', n) != NULL)
        return false;
    memcpy(with_point, text, n);
    with_point[comma - text] = '.';
    return pboost_number_parse(out, with_point, n) == NUMBER_FINITE;
}

/* ---- Numbers among words --------------------------------------------------------------------- */

/* More different numbers than this are a quantity rather than codes. */
enum { MAX_CODES = 20 };

/* What the cells of a column are, missing ones left out. */
typedef struct {
    size_t numbers, different; /* cells that are numbers; different ones, up to MAX_CODES + 1 */
    size_t words;              /* other cells */
    size_t first_word;         /* row of the first that does not stand for a missing number */
    double seen[MAX_CODES + 1];
} cells;

static void count_number(cells *found, double v)
{
    found->numbers++;
    for (size_t i = 0; i < found->different; i++)
        if (found->seen[i] == v)
            return;
    if (found->different <= MAX_CODES)
        found->seen[found->different++] = v;
}

static void count_word(cells *found, const column *c, size_t row)
{
    const char *word = pboost_dictionary_get(&c->levels, c->code[row]);

    found->words++;
    if (found->first_word == SIZE_MAX && !pboost_means_missing(word, strlen(word)))
        found->first_word = row;
}

/* There are few words among many numbers, so the words are probably mistakes. */
static bool likely_numbers(const cells *found)
{
    size_t all = found->numbers + found->words;
    return found->numbers >= found->words &&
           (found->different > MAX_CODES || found->words <= 1 || found->words <= all / 100);
}

static void note_word(column *c, size_t row)
{
    const char *word = pboost_dictionary_get(&c->levels, c->code[row]);

    if (c->offender != SIZE_MAX && c->offender < row)
        return;
    c->offender = row;
    c->offender_text = true;
    c->offender_cell = pboost_shown_text(word);
}

/* Words become missing numbers, as their cells already are. */
static void drop_words(column *c, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        if (c->code[i] == DICTIONARY_NONE)
            continue;
        const char *word = pboost_dictionary_get(&c->levels, c->code[i]);
        if (c->n_words++ == 0)
            c->word = pboost_shown_text(word);
        c->n_missing++;
        c->first_missing = c->first_missing < i ? c->first_missing : i;
    }
    free(c->code);
    c->code = NULL;
    pboost_dictionary_free(&c->levels);
}

static void settle_numbers(pboost_table *table, column *c)
{
    cells found = {.first_word = SIZE_MAX};

    if (c->code == NULL)
        return;
    for (size_t i = 0; i < table->rows; i++)
        if (c->code[i] != DICTIONARY_NONE)
            count_word(&found, c, i);
        else if (!isnan(c->number[i]))
            count_number(&found, c->number[i]);
    if (found.first_word == SIZE_MAX)
        drop_words(c, table->rows);
    else
        note_word(c, found.first_word);
    if (found.first_word != SIZE_MAX && !c->forced && !likely_numbers(&found))
        table->read_again = c->read_again = true;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool all_dates(const dictionary *levels)
{
    int64_t seconds;

    for (size_t i = 0; i < levels->n; i++)
        if (!pboost_date_parse(&seconds, pboost_dictionary_get(levels, (uint32_t)i)))
            return false;
    return levels->n > 0;
}

static void settle_text(pboost_table *table, column *c)
{
    cells found = {.first_word = SIZE_MAX};
    double v;

    for (size_t i = 0; i < table->rows; i++) {
        if (c->code[i] == DICTIONARY_NONE)
            continue;
        const char *level = pboost_dictionary_get(&c->levels, c->code[i]);
        if (pboost_number_parse(&v, level, strlen(level)) == NUMBER_FINITE)
            count_number(&found, v);
        else
            count_word(&found, c, i);
    }
    if (found.first_word != SIZE_MAX && likely_numbers(&found))
        note_word(c, found.first_word);
}

/* A column of nothing but words such as "unknown" is text of these levels. */
static void settle_unknown(column *c)
{
    if (c->code == NULL)
        return;
    free(c->number);
    c->number = NULL;
    c->kind = COLUMN_TEXT;
}

void pboost_column_settle(pboost_table *table, column *c)
{
    if (c->kind == COLUMN_NUMBER)
        settle_numbers(table, c);
    else if (c->kind == COLUMN_UNKNOWN)
        settle_unknown(c);
    else if (!c->forced && !(c->date = all_dates(&c->levels)))
        settle_text(table, c);
}

/* ---- Describing ------------------------------------------------------------------------------ */

/* Fewer rows may all differ by chance. */
enum { MIN_ID_ROWS = 100 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether some number comes twice; most columns show one among their first rows. */
static bool repeats(const double *number, size_t n)
{
    double *sorted = pboost_alloc(n, sizeof *sorted);
    bool found = sorted == NULL; /* out of memory: not an id */

    if (sorted != NULL) {
        memcpy(sorted, number, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_value);
    }
    for (size_t i = 1; sorted != NULL && i < n && !found; i++)
        found = sorted[i] == sorted[i - 1];
    free(sorted);
    return found;
}

static bool is_id(const pboost_table *table, const column *c)
{
    size_t n = table->rows, few = n < 1000 ? n : 1000;

    if (n < MIN_ID_ROWS || c->n_missing > 0 || c->forced || c->offender != SIZE_MAX)
        return false;
    if (c->kind == COLUMN_TEXT)
        return c->levels.n == n;
    for (size_t i = 0; i < n; i++)
        if (c->number[i] != floor(c->number[i]))
            return false;
    return !repeats(c->number, few) && !repeats(c->number, n);
}

static void describe_numbers(pboost_column_info *out, const pboost_table *table, const column *c)
{
    running_mean mean = {0};

    out->lower = INFINITY;
    out->upper = -INFINITY;
    for (size_t i = 0; i < table->rows; i++) {
        double v = c->number[i];
        if (isnan(v))
            continue;
        running_mean_add(&mean, v);
        out->lower = v < out->lower ? v : out->lower;
        out->upper = v > out->upper ? v : out->upper;
    }
    out->mean = running_mean_value(&mean);
}

void pboost_table_describe(pboost_column_info *out, const pboost_table *table, size_t col)
{
    const column *c = &table->column[col];
    bool text = c->kind == COLUMN_TEXT;

    *out = (pboost_column_info){.missing = c->n_missing,
                                .levels = text ? c->levels.n : 0,
                                .words = c->n_words,
                                .word = c->word.text,
                                .decimal_comma = c->n_commas > 0,
                                .lower = NAN,
                                .upper = NAN,
                                .mean = NAN,
                                .offender = c->offender,
                                .offending = c->offender_cell.text};
    out->kind = PBOOST_COLUMN_EMPTY;
    if (c->skipped)
        return;
    if (!text)
        describe_numbers(out, table, c);
    out->kind = c->n_missing == table->rows ? PBOOST_COLUMN_EMPTY
                : c->date                   ? PBOOST_COLUMN_DATE
                : is_id(table, c)           ? PBOOST_COLUMN_ID
                : text                      ? PBOOST_COLUMN_CATEGORY
                                            : PBOOST_COLUMN_NUMBER;
}
