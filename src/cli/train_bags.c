/* priorboost train --bag COL --answers FILE: bags that someone else made, with their means.
 *
 * Rows name their bag; the answers file has one line a bag.  The two must agree: a bag that only
 * one of them has, or has with another number of rows, is named. */
#include <math.h>
#include <string.h>

#include "train.h"

/* The answers file, its columns found. */
typedef struct {
    pboost_table *table;
    size_t bag;
    const double *count, *mean, *sum, *noise; /* mean or sum, and noise, may be NULL */
} answers_file;

static pboost_status open_column(const double **out, const pboost_table *table, const char *name,
                                 bool needed, pboost_error *err)
{
    size_t col;
    *out = NULL;
    if (!needed && pboost_table_find(&col, table, name, NULL) != PBOOST_OK)
        return PBOOST_OK;
    pboost_status st = pboost_table_find(&col, table, name, err);
    return st != PBOOST_OK ? st : pboost_table_numbers(out, table, col, false, err);
}

static pboost_status open_answers(answers_file *out, const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {0};

    TRY(table_reading_add(&text, a->bag, err));
    TRY(table_reading_read(&out->table, &text, a->answers, err));
    TRY(pboost_table_find(&out->bag, out->table, a->bag, err));
    TRY(open_column(&out->count, out->table, "count", true, err));
    TRY(open_column(&out->mean, out->table, "mean", false, err));
    TRY(open_column(&out->sum, out->table, "sum", false, err));
    TRY(open_column(&out->noise, out->table, "noise_variance", false, err));
    if (out->mean == NULL && out->sum == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s has neither a column 'mean' nor a column 'sum'", a->answers);
done:
    table_reading_free(&text);
    return st;
}

static const char *bag_name(const pboost_table *table, size_t col, size_t row)
{
    uint32_t code = pboost_table_codes(table, col)[row];
    return code != UINT32_MAX ? pboost_table_level(table, col, code) : "";
}

/* Bags in the order of their first rows: bag b holds the rows whose code is b. */
static pboost_status group_rows(pboost_bags *out, const pboost_table *table, size_t col,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const uint32_t *code = pboost_table_codes(table, col);
    size_t n = pboost_table_rows(table), m = pboost_table_n_levels(table, col);

    NEED(out->row = pboost_alloc(n, sizeof *out->row), err);
    NEED(out->start = calloc(m + 2, sizeof *out->start), err);
    for (size_t i = 0; i < n; i++) {
        if (code[i] == UINT32_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' is missing",
                 pboost_table_row_path(table, i), pboost_table_line(table, i),
                 pboost_table_name(table, col));
        out->start[code[i] + 2]++;
    }
    for (size_t b = 2; b <= m; b++)
        out->start[b + 1] += out->start[b];
    for (size_t i = 0; i < n; i++)
        out->row[out->start[code[i] + 1]++] = i;
    out->n_rows = n;
    out->n_bags = m;
done:
    return st;
}

/* What one line says of its bag. */
static pboost_status take_line(double *mean, double *noise, const answers_file *f, size_t line,
                               size_t rows, pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_table_path(f->table), *bag = bag_name(f->table, f->bag, line);
    size_t at = pboost_table_line(f->table, line);
    double count = f->count[line];

    if (!(count > 0.0))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' is empty: its count is %.17g", path, at, bag,
             count);
    if (count != (double)rows)
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' has count %.17g, but %zu rows name it", path,
             at, bag, count, rows);
    /* cppcheck-suppress nullPointerRedundantCheck; a file has means or sums, or both */
    *mean = f->mean != NULL ? f->mean[line] : f->sum[line] / count;
    *noise = f->noise != NULL ? f->noise[line] : 0.0;
    if (!(*noise >= 0.0))
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has noise_variance %.17g; it must be at least 0", path, at, bag,
             *noise);
    if (f->mean != NULL && f->sum != NULL &&
        fabs(f->sum[line] / count - *mean) > 1e-6 * (fabs(*mean) + 1e-6))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' has sum %.17g of %.17g rows, but mean %.17g",
             path, at, bag, f->sum[line], count, *mean);
    if (*noise == 0.0 && ((family == PBOOST_LOGISTIC && (*mean < 0.0 || *mean > 1.0)) ||
                          (family == PBOOST_POISSON && *mean < 0.0)))
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has mean %.17g, which no %s labels have; a column 'noise_variance' "
             "says that means are noisy",
             path, at, bag, *mean, pboost_family_name(family));
done:
    return st;
}

/* The number of the bag in the data that this line of the answers is about. */
static pboost_status find_bag(size_t *out, const answers_file *f, size_t line,
                              const pboost_table *table, size_t col, const size_t *by_level,
                              pboost_error *err)
{
    uint32_t code = pboost_table_codes(f->table, f->bag)[line];
    if (code == UINT32_MAX)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' is missing",
                           pboost_table_row_path(f->table, line), pboost_table_line(f->table, line),
                           pboost_table_name(f->table, f->bag));
    *out = by_level[code];
    if (*out != SIZE_MAX)
        return PBOOST_OK;
    if (f->count[line] == 0.0)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' is empty: its count is 0",
                           pboost_table_row_path(f->table, line), pboost_table_line(f->table, line),
                           bag_name(f->table, f->bag, line));
    return pboost_fail(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' has no rows in %s (column '%s')",
                       pboost_table_row_path(f->table, line), pboost_table_line(f->table, line),
                       bag_name(f->table, f->bag, line), pboost_table_path(table),
                       pboost_table_name(table, col));
}

typedef struct {
    const char *name;
    size_t level;
} named_level;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_level *)a)->name, ((const named_level *)b)->name);
}

/* by_level[l] = the level of `table` that has the name of level l of the answers; SIZE_MAX: none.
 */
static pboost_status match_levels(size_t *by_level, const answers_file *f,
                                  const pboost_table *table, size_t col, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_n_levels(table, col);
    named_level *level = NULL;

    NEED(level = pboost_alloc(n, sizeof *level), err);
    for (size_t i = 0; i < n; i++)
        level[i] = (named_level){pboost_table_level(table, col, (uint32_t)i), i};
    qsort(level, n, sizeof *level, by_name);
    for (size_t i = 0; i < pboost_table_n_levels(f->table, f->bag); i++) {
        named_level key = {pboost_table_level(f->table, f->bag, (uint32_t)i), 0};
        const named_level *found = bsearch(&key, level, n, sizeof *level, by_name);
        by_level[i] = found != NULL ? found->level : SIZE_MAX;
    }
done:
    free(level);
    return st;
}

/* mean and noise by bag of the data; every bag has one line, and every line its bag. */
static pboost_status match(double *mean, double *noise, const answers_file *f,
                           const pboost_table *table, size_t col, const pboost_bags *bags,
                           pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *by_level = NULL, *line_of = NULL, b;

    NEED(by_level = pboost_alloc(pboost_table_n_levels(f->table, f->bag), sizeof *by_level), err);
    NEED(line_of = pboost_alloc(bags->n_bags, sizeof *line_of), err);
    for (b = 0; b < bags->n_bags; b++)
        line_of[b] = SIZE_MAX;
    TRY(match_levels(by_level, f, table, col, err));
    for (size_t i = 0; i < pboost_table_rows(f->table); i++) {
        TRY(find_bag(&b, f, i, table, col, by_level, err));
        if (line_of[b] != SIZE_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' has an answer on line %zu already",
                 pboost_table_row_path(f->table, i), pboost_table_line(f->table, i),
                 bag_name(f->table, f->bag, i), pboost_table_line(f->table, line_of[b]));
        line_of[b] = i;
        TRY(take_line(&mean[b], &noise[b], f, i, bags->start[b + 1] - bags->start[b], family, err));
    }
    for (b = 0; b < bags->n_bags; b++)
        if (line_of[b] == SIZE_MAX)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' has no answer in %s",
                 pboost_table_row_path(table, bags->row[bags->start[b]]),
                 pboost_table_line(table, bags->row[bags->start[b]]),
                 pboost_table_level(table, col, (uint32_t)b), pboost_table_path(f->table));
done:
    free(by_level);
    free(line_of);
    return st;
}

pboost_status train_bags_load(train_data *out, const pboost_table *table, const train_arguments *a,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    answers_file answers = {0};
    pboost_bags bags = {0};
    double *mean = NULL, *noise = NULL;
    size_t col;

    TRY(pboost_table_find(&col, table, a->bag, err));
    TRY(open_answers(&answers, a, err));
    TRY(group_rows(&bags, table, col, err));
    NEED(mean = pboost_alloc(bags.n_bags, sizeof *mean), err);
    NEED(noise = pboost_alloc(bags.n_bags, sizeof *noise), err);
    TRY(match(mean, noise, &answers, table, col, &bags, a->family, err));
    TRY(pboost_answers_create(&out->given, err));
    TRY(pboost_answers_append(out->given, &bags, mean, noise, err));
    out->least_bag = SIZE_MAX;
    for (size_t b = 0; b < bags.n_bags; b++) {
        size_t size = bags.start[b + 1] - bags.start[b];
        out->one_row_bags += size == 1;
        out->least_bag = size < out->least_bag ? size : out->least_bag;
    }
done:
    pboost_table_free(answers.table);
    pboost_bags_free(&bags);
    free(mean);
    free(noise);
    return st;
}
