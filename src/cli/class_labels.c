#include "class_labels.h"

#include <stdlib.h>
#include <string.h>

void class_names_free(class_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
    *names = (class_names){0};
}

pboost_status class_names_add(class_names *names, const char *name, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char **grown = NULL;

    NEED(grown = realloc(names->name, (names->n + 1) * sizeof *grown), err);
    names->name = grown;
    NEED(names->name[names->n] = strdup(name), err);
    names->n++;
done:
    return st;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    double left = strtod(*(char *const *)a, NULL), right = strtod(*(char *const *)b, NULL);
    return left != right ? (left > right) - (left < right) : by_bytes(a, b);
}

static bool all_numbers(const pboost_table *table, size_t col)
{
    double number;
    for (size_t i = 0; i < pboost_table_n_levels(table, col); i++)
        if (!pboost_table_level_number(&number, table, col, (uint32_t)i))
            return false;
    return true;
}

pboost_status class_names_learn(class_names *out, const pboost_table *table, const char *label,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, n;

    TRY(pboost_table_find(&col, table, label, err));
    n = pboost_table_n_levels(table, col);
    if (n < 3)
        FAIL(err, PBOOST_BAD_DATA, "%s: label '%s' has %zu value%s; classes are 3 or more%s",
             pboost_table_path(table), label, n, n == 1 ? "" : "s",
             n == 2 ? ", and two are --family logistic with --positive VALUE" : "");
    if (n > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: label '%s' has %zu values; there may be at most %d classes (numbers are --family "
             "linear or poisson)",
             pboost_table_path(table), label, n, PBOOST_MAX_CLASSES);
    for (size_t i = 0; i < n; i++)
        TRY(class_names_add(out, pboost_table_level(table, col, (uint32_t)i), err));
    qsort(out->name, n, sizeof *out->name, all_numbers(table, col) ? by_number : by_bytes);
done:
    return st;
}

/* number[level] = that of its class; -1: it is none. */
static pboost_status match_levels(double **out, const class_names *names, const pboost_table *table,
                                  size_t col, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_n_levels(table, col);
    double *number = NULL;

    NEED(number = pboost_alloc(n, sizeof *number), err);
    for (size_t i = 0; i < n; i++) {
        number[i] = -1.0;
        for (size_t c = 0; c < names->n; c++)
            if (strcmp(names->name[c], pboost_table_level(table, col, (uint32_t)i)) == 0)
                number[i] = (double)c;
    }
    *out = number;
done:
    return st;
}

/* "'a', 'b', ..." for messages. */
static void list_names(char *out, size_t size, const class_names *names)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; i < names->n && i < 5 && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%.40s'", i > 0 ? ", " : "",
                                 names->name[i]);
    if (names->n > 5 && used < size)
        snprintf(out + used, size - used, ", ...");
}

pboost_status class_labels(double **out, const class_names *names, const pboost_table *table,
                           const char *label, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, rows = pboost_table_rows(table);
    double *y = NULL, *number = NULL;
    const uint32_t *code;
    char known[300];

    *out = NULL;
    TRY(pboost_table_find(&col, table, label, err));
    TRY(match_levels(&number, names, table, col, err));
    NEED(y = pboost_alloc(rows, sizeof *y), err);
    code = pboost_table_codes(table, col);
    for (size_t i = 0; i < rows; i++) {
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is missing",
                 pboost_table_row_path(table, i), pboost_table_line(table, i), label);
        y[i] = number[code[i]];
        if (y[i] >= 0.0)
            continue;
        list_names(known, sizeof known, names);
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: label '%s' is '%.60s', which is no class; these are %s",
             pboost_table_row_path(table, i), pboost_table_line(table, i), label,
             pboost_table_level(table, col, code[i]), known);
    }
    *out = y;
    y = NULL;
done:
    free(number);
    free(y);
    return st;
}

/* Values of one block that were not in a block before. */
static pboost_status add_values(class_names *seen, bool *numbers, const pboost_table *block,
                                const char *label, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col, known = seen->n;
    double number;

    TRY(pboost_table_find(&col, block, label, err));
    for (size_t i = 0; i < pboost_table_n_levels(block, col); i++) {
        const char *level = pboost_table_level(block, col, (uint32_t)i);
        size_t c = 0;
        while (c < known && strcmp(seen->name[c], level) != 0)
            c++;
        *numbers = *numbers && pboost_table_level_number(&number, block, col, (uint32_t)i);
        if (c == known && seen->n <= PBOOST_MAX_CLASSES)
            TRY(class_names_add(seen, level, err));
    }
done:
    return st;
}

pboost_status class_values_count(size_t *count, bool *numbers, const char *path, const char *label,
                                 const cli_list *missing, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {.missing = missing->item, .n_missing = missing->n};
    data_blocks blocks = {0};
    class_names seen = {0};
    const pboost_table *block;

    *numbers = true;
    TRY(table_reading_add(&text, label, err));
    TRY(data_blocks_open(&blocks, &text, path, 1, err));
    do {
        TRY(data_blocks_next(&block, &blocks, err));
        if (block != NULL)
            TRY(add_values(&seen, numbers, block, label, err));
    } while (block != NULL);
    *count = seen.n;
done:
    data_blocks_close(&blocks);
    table_reading_free(&text);
    class_names_free(&seen);
    return st;
}
