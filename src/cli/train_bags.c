/* priorboost train --bag COL --answers FILE: bags that someone else made, with their means.
 *
 * Rows name their bag; the answers file has one line a bag.  The two must agree: a bag that only
 * one of them has, or has with another number of rows, is named.  With --rows sample or means the
 * count is the number of persons, of which the table does not have every row. */
#include <math.h>
#include <string.h>

#include "train_bags.h"

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

const char *train_answer_column(const train_arguments *a, const char *role)
{
    size_t n = strlen(role);
    for (size_t i = 0; i < a->answer_columns.n; i++)
        if (strncmp(a->answer_columns.item[i], role, n) == 0 && a->answer_columns.item[i][n] == '=')
            return a->answer_columns.item[i] + n + 1;
    return role;
}

static pboost_status open_role(const double **out, const answers_file *f, const char *role,
                               bool needed, const train_arguments *a, pboost_error *err)
{
    const char *name = train_answer_column(a, role);
    return open_column(out, f->table, name, needed || name != role, err);
}

/* classes: gets their names, if there are any. */
static pboost_status open_answers(answers_file *out, class_names *classes, const train_arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading text = {0};

    TRY(table_reading_add(&text, a->bag, err));
    TRY(table_reading_read(&out->table, &text, a->answers, err));
    TRY(pboost_table_find(&out->bag, out->table, a->bag, err));
    TRY(open_role(&out->count, out, "count", true, a, err));
    TRY(open_role(&out->noise, out, "noise_variance", false, a, err));
    if (a->classes) {
        TRY(train_class_columns(out, classes, a, err));
        goto done;
    }
    TRY(open_role(&out->mean, out, "mean", false, a, err));
    TRY(open_role(&out->sum, out, "sum", false, a, err));
    if (out->mean == NULL && out->sum == NULL)
        FAIL(err, PBOOST_BAD_DATA,
             "%s has neither a column 'mean' nor a column 'sum'; --answer-columns sum=COL names "
             "another one",
             a->answers);
done:
    table_reading_free(&text);
    return st;
}

static const char *bag_name(const pboost_table *table, size_t col, size_t row)
{
    uint32_t code = pboost_table_codes(table, col)[row];
    return code != UINT32_MAX ? pboost_table_level(table, col, code) : "";
}

const char *answers_bag_name(const answers_file *f, size_t line)
{
    return bag_name(f->table, f->bag, line);
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

/* The count of a line must fit the rows of its bag. */
static pboost_status check_count(const answers_file *f, size_t line, size_t rows,
                                 train_rows_kind kind, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_table_path(f->table), *bag = bag_name(f->table, f->bag, line);
    size_t at = pboost_table_line(f->table, line);
    double count = f->count[line];

    if (!(count > 0.0))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: bag '%s' is empty: its count is %.17g", path, at, bag,
             count);
    if (kind == ROWS_ALL && count != (double)rows)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has count %.17g, but %zu row%s it (--rows sample or means says that "
             "the table does not have every row)",
             path, at, bag, count, rows, rows == 1 ? " names" : "s name");
    if (kind == ROWS_MEANS && rows != 1)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has %zu rows; with --rows means it has one, the means of its "
             "features",
             path, at, bag, rows);
    if (kind == ROWS_SAMPLE && count < (double)rows)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has count %.17g, but %zu rows name it: a sample has no more rows "
             "than there are persons",
             path, at, bag, count, rows);
    if (kind == ROWS_SAMPLE && rows == 1 && count > 1.0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has a sample of one row; a sample has at least 2, so that its "
             "sampling error can be estimated",
             path, at, bag);
done:
    return st;
}

/* What one line says of its bag. */
static pboost_status take_line(double *mean, double *noise, const answers_file *f, size_t line,
                               pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_table_path(f->table), *bag = bag_name(f->table, f->bag, line);
    size_t at = pboost_table_line(f->table, line);
    double count = f->count[line];

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

/* By bag of the data; mean and noise have `width` numbers each. */
typedef struct {
    size_t width;
    double *mean, *noise, *persons;
} bag_answers;

/* Every bag has one line, and every line its bag. */
static pboost_status match(const bag_answers *out, const answers_file *f, const pboost_table *table,
                           size_t col, const pboost_bags *bags, const train_arguments *a,
                           pboost_error *err)
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
        TRY(check_count(f, i, bags->start[b + 1] - bags->start[b], a->given_rows, err));
        double *mean = out->mean + b * out->width, *noise = out->noise + b * out->width;
        TRY(a->classes ? train_class_line(mean, noise, f, i, err)
                       : take_line(mean, noise, f, i, a->family, err));
        out->persons[b] = f->count[i];
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
    bag_answers by_bag = {0};
    size_t col;

    TRY(pboost_table_find(&col, table, a->bag, err));
    TRY(open_answers(&answers, &out->classes, a, err));
    TRY(group_rows(&bags, table, col, err));
    by_bag.width = a->classes ? answers.classes : 1;
    NEED(by_bag.mean = pboost_alloc(bags.n_bags * by_bag.width, sizeof(double)), err);
    NEED(by_bag.noise = pboost_alloc(bags.n_bags * by_bag.width, sizeof(double)), err);
    NEED(by_bag.persons = pboost_alloc(bags.n_bags, sizeof(double)), err);
    TRY(match(&by_bag, &answers, table, col, &bags, a, err));
    if (a->given_rows != ROWS_ALL)
        TRY(train_districts_apply(out, &bags, by_bag.persons, table, a, err));
    TRY(pboost_answers_create(&out->given, err));
    TRY(pboost_answers_append_vectors(out->given, &bags, by_bag.width, by_bag.mean, by_bag.noise,
                                      err));
    out->least_bag = SIZE_MAX;
    for (size_t b = 0; b < bags.n_bags; b++) {
        double size = fmin(by_bag.persons[b], 0x1p53);
        out->one_row_bags += size == 1.0;
        out->least_bag = size < (double)out->least_bag ? (size_t)size : out->least_bag;
    }
done:
    pboost_table_free(answers.table);
    free(answers.share);
    pboost_bags_free(&bags);
    free(by_bag.mean);
    free(by_bag.noise);
    free(by_bag.persons);
    return st;
}
