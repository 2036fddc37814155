/* priorboost train --sums FILE: label sums by key, which may share rows.
 *
 * A line of the file is one sum: over the rows of the table that have its cells in the columns of
 * these names; an empty cell stands for any value.  Lines with cells in the same columns are a
 * pattern, and a row is in at most one line of a pattern.  So each row is looked up once for every
 * pattern. */
#include <math.h>
#include <string.h>

#include "train.h"

static const char *const ROLES[] = {"sum", "mean", "count", "variance"};
enum { SUM, MEAN, COUNT, VARIANCE, N_ROLES };

struct train_sums {
    pboost_table *table;
    const double *number[N_ROLES]; /* by line; NULL: no such column */
    size_t n_keys, *key;           /* columns of the file */
    size_t n_lines, *order;        /* lines by pattern and cells */
    size_t *data_key;              /* by key: the column of the data */
    uint32_t **level; /* by key and row of the data: the level here; none: UINT32_MAX */
};

void train_sums_free(train_sums *s)
{
    if (s == NULL)
        return;
    for (size_t k = 0; s->level != NULL && k < s->n_keys; k++)
        free(s->level[k]);
    free(s->level);
    free(s->data_key);
    free(s->order);
    free(s->key);
    pboost_table_free(s->table);
    free(s);
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool is_role(const char *name)
{
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(name, ROLES[i]) == 0)
            return true;
    return false;
}

/* Keys are text, whatever they look like; so the file is read twice, first for its names. */
static pboost_status read_file(train_sums *s, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    table_reading plain = {0}, text = {0};
    pboost_table *names = NULL;

    TRY(table_reading_read(&names, &plain, path, err));
    for (size_t j = 0; j < pboost_table_cols(names); j++)
        if (!is_role(pboost_table_name(names, j)))
            TRY(table_reading_add(&text, pboost_table_name(names, j), err));
    TRY(table_reading_read(&s->table, &text, path, err));
done:
    pboost_table_free(names);
    table_reading_free(&plain);
    table_reading_free(&text);
    return st;
}

static pboost_status find_columns(train_sums *s, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_cols(s->table), col;

    NEED(s->key = pboost_alloc(n, sizeof *s->key), err);
    for (size_t j = 0; j < n; j++)
        if (!is_role(pboost_table_name(s->table, j)))
            s->key[s->n_keys++] = j;
    for (size_t i = 0; i < N_ROLES; i++)
        if (pboost_table_find(&col, s->table, ROLES[i], NULL) == PBOOST_OK)
            TRY(pboost_table_numbers(&s->number[i], s->table, col, false, err));
    if ((s->number[SUM] != NULL) == (s->number[MEAN] != NULL))
        FAIL(err, PBOOST_BAD_DATA, "%s has %s; it must have one of them", path,
             s->number[SUM] != NULL ? "a column 'sum' and a column 'mean'"
                                    : "neither a column 'sum' nor a column 'mean'");
    s->n_lines = pboost_table_rows(s->table);
done:
    return st;
}

pboost_status train_sums_open(train_sums **out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_sums *s = NULL;

    if (strcmp(path, "-") == 0)
        FAIL(err, PBOOST_INVALID, "--sums is '-'; it must be a file, which is read twice");
    NEED(s = calloc(1, sizeof *s), err);
    TRY(read_file(s, path, err));
    TRY(find_columns(s, path, err));
    *out = s;
    s = NULL;
done:
    train_sums_free(s);
    return st;
}

bool train_sums_has_key(const train_sums *s, const char *name)
{
    for (size_t k = 0; s != NULL && k < s->n_keys; k++)
        if (strcmp(pboost_table_name(s->table, s->key[k]), name) == 0)
            return true;
    return false;
}

/* ---- Which rows --------------------------------------------------------------------------------
 */

/* The cell of a line; UINT32_MAX: any value. */
static uint32_t cell(const train_sums *s, size_t line, size_t key)
{
    return pboost_table_codes(s->table, s->key[key])[line];
}

/* The order of lines: by pattern, then by cells. */
static int compare(const train_sums *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->n_keys; k++) {
        bool any = cell(s, a, k) == UINT32_MAX, other = cell(s, b, k) == UINT32_MAX;
        if (any != other)
            return any ? -1 : 1;
    }
    for (size_t k = 0; k < s->n_keys; k++)
        if (cell(s, a, k) != cell(s, b, k))
            return cell(s, a, k) < cell(s, b, k) ? -1 : 1;
    return 0;
}

static bool same_pattern(const train_sums *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->n_keys; k++)
        if ((cell(s, a, k) == UINT32_MAX) != (cell(s, b, k) == UINT32_MAX))
            return false;
    return true;
}

/* Sorts by merging, as qsort has no argument for the file. */
static void sort_lines(const train_sums *s, size_t *order, size_t *work, size_t n)
{
    size_t half = n / 2, i = 0, j = half;
    if (n < 2)
        return;
    sort_lines(s, order, work, half);
    sort_lines(s, order + half, work, n - half);
    for (size_t k = 0; k < n; k++)
        work[k] =
            j == n || (i < half && compare(s, order[i], order[j]) <= 0) ? order[i++] : order[j++];
    memcpy(order, work, n * sizeof *order);
}

static pboost_status order_lines(train_sums *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *work = NULL;

    NEED(s->order = pboost_alloc(s->n_lines, sizeof *s->order), err);
    NEED(work = pboost_alloc(s->n_lines, sizeof *work), err);
    for (size_t i = 0; i < s->n_lines; i++)
        s->order[i] = i;
    sort_lines(s, s->order, work, s->n_lines);
    for (size_t i = 1; i < s->n_lines; i++)
        if (compare(s, s->order[i - 1], s->order[i]) == 0)
            FAIL(err, PBOOST_BAD_DATA, "%s:%zu: line %zu has the same keys",
                 pboost_table_path(s->table), pboost_table_line(s->table, s->order[i]),
                 pboost_table_line(s->table, s->order[i - 1]));
done:
    free(work);
    return st;
}

typedef struct {
    const char *name;
    double number;
    uint32_t level;
} named_level;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named_level *)a)->name, ((const named_level *)b)->name);
}

static int by_number(const void *a, const void *b)
{
    double x = ((const named_level *)a)->number, y = ((const named_level *)b)->number;
    return (x > y) - (x < y);
}

/* level[row] = the level of the key that the row has.  Numbers are the same if their values are: 1
 * and 1.0. */
static pboost_status match_key(uint32_t *level, const train_sums *s, size_t k,
                               const pboost_table *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col = s->key[k], n = pboost_table_n_levels(s->table, col), count = 0;
    bool text = pboost_table_is_text(data, s->data_key[k]);
    int (*order)(const void *, const void *) = text ? by_name : by_number;
    named_level *known = NULL;
    uint32_t *by_code = NULL;
    const double *number = NULL;

    NEED(known = pboost_alloc(n, sizeof *known), err);
    for (uint32_t i = 0; i < n; i++) {
        named_level l = {pboost_table_level(s->table, col, i), 0.0, i};
        if (text || pboost_table_level_number(&l.number, s->table, col, i))
            known[count++] = l;
    }
    qsort(known, count, sizeof *known, order);
    size_t rows = pboost_table_rows(data),
           levels = text ? pboost_table_n_levels(data, s->data_key[k]) : rows;
    if (!text)
        TRY(pboost_table_cells(&number, data, s->data_key[k], err));
    NEED(by_code = pboost_alloc(levels, sizeof *by_code), err);
    for (size_t i = 0; i < levels; i++) {
        named_level l = {.name = text ? pboost_table_level(data, s->data_key[k], (uint32_t)i) : "",
                         .number = text ? 0.0 : number[i]};
        const named_level *found =
            isnan(l.number) ? NULL : bsearch(&l, known, count, sizeof l, order);
        by_code[i] = found != NULL ? found->level : UINT32_MAX;
    }
    const uint32_t *code = text ? pboost_table_codes(data, s->data_key[k]) : NULL;
    for (size_t i = 0; i < rows; i++)
        level[i] = !text ? by_code[i] : code[i] == UINT32_MAX ? UINT32_MAX : by_code[code[i]];
done:
    free(known);
    free(by_code);
    return st;
}

static pboost_status match_keys(train_sums *s, const pboost_table *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t rows = pboost_table_rows(data);

    NEED(s->data_key = pboost_alloc(s->n_keys, sizeof *s->data_key), err);
    NEED(s->level = calloc(s->n_keys + 1, sizeof *s->level), err);
    for (size_t k = 0; k < s->n_keys; k++) {
        const char *name = pboost_table_name(s->table, s->key[k]);
        if (pboost_table_find(&s->data_key[k], data, name, NULL) != PBOOST_OK)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s has a column '%s', which is neither a column of %s nor sum, mean, count or "
                 "variance",
                 pboost_table_path(s->table), name, pboost_table_path(data));
        NEED(s->level[k] = pboost_alloc(rows, sizeof **s->level), err);
        TRY(match_key(s->level[k], s, k, data, err));
    }
done:
    return st;
}

/* How a row compares with the cells of a line of its pattern. */
static int compare_row(const train_sums *s, size_t row, size_t line)
{
    for (size_t k = 0; k < s->n_keys; k++) {
        uint32_t wanted = cell(s, line, k), has = s->level[k][row];
        if (wanted != UINT32_MAX && has != wanted)
            return has < wanted ? -1 : 1;
    }
    return 0;
}

/* The line among order[first .. end), which are of one pattern, that holds the row; SIZE_MAX: none.
 */
static size_t line_of(const train_sums *s, size_t row, size_t first, size_t end)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        int side = compare_row(s, row, s->order[middle]);
        if (side == 0)
            return s->order[middle];
        if (side < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return SIZE_MAX;
}

/* Calls take(context, row, line) for every row and every line that holds it. */
static void visit(const train_sums *s, size_t rows, void (*take)(void *, size_t, size_t),
                  void *context)
{
    for (size_t first = 0, end; first < s->n_lines; first = end) {
        for (end = first + 1; end < s->n_lines && same_pattern(s, s->order[first], s->order[end]);)
            end++;
        for (size_t i = 0; i < rows; i++) {
            size_t line = line_of(s, i, first, end);
            if (line != SIZE_MAX)
                take(context, i, line);
        }
    }
}

static void count_row(void *context, size_t row, size_t line)
{
    (void)row;
    ((size_t *)context)[line + 2]++;
}

static void place_row(void *context, size_t row, size_t line)
{
    pboost_bags *bags = context;
    bags->row[bags->start[line + 1]++] = row;
}

/* Bag b is line b; it may be empty. */
static pboost_status find_rows(pboost_bags *out, const train_sums *s, size_t rows,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    NEED(out->start = calloc(s->n_lines + 2, sizeof *out->start), err);
    visit(s, rows, count_row, out->start);
    for (size_t b = 2; b < s->n_lines + 2; b++)
        out->start[b] += out->start[b - 1];
    out->n_rows = out->start[s->n_lines + 1];
    out->n_bags = s->n_lines;
    NEED(out->row = pboost_alloc(out->n_rows, sizeof *out->row), err);
    visit(s, rows, place_row, out);
done:
    return st;
}

/* ---- What the lines say
 * -------------------------------------------------------------------------- */

/* "region=north, age=30-39", as far as there is room. */
static void describe_line(char *out, size_t size, const train_sums *s, size_t line)
{
    size_t used = 0;
    snprintf(out, size, "all rows");
    for (size_t k = 0; k < s->n_keys && used + 1 < size; k++) {
        uint32_t code = cell(s, line, k);
        if (code != UINT32_MAX)
            used += (size_t)snprintf(out + used, size - used, "%s%s=%s", used > 0 ? ", " : "",
                                     pboost_table_name(s->table, s->key[k]),
                                     pboost_table_level(s->table, s->key[k], code));
    }
}

static pboost_status take_line(double *mean, double *noise, const train_sums *s, size_t line,
                               size_t rows, const pboost_table *data, pboost_family family,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_table_path(s->table);
    size_t at = pboost_table_line(s->table, line);
    double n = (double)rows,
           variance = s->number[VARIANCE] != NULL ? s->number[VARIANCE][line] : 0.0;
    char keys[200];

    describe_line(keys, sizeof keys, s, line);
    if (s->number[COUNT] != NULL && s->number[COUNT][line] != n)
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: count is %.17g, but %zu row%s of %s ha%s %s", path, at,
             s->number[COUNT][line], rows, rows == 1 ? "" : "s", pboost_table_path(data),
             rows == 1 ? "s" : "ve", keys);
    if (!(variance >= 0.0))
        FAIL(err, PBOOST_BAD_DATA, "%s:%zu: variance is %.17g; it must be at least 0", path, at,
             variance);
    if (rows == 0) /* says so itself */
        goto done;
    *mean = s->number[SUM] != NULL ? s->number[SUM][line] / n : s->number[MEAN][line];
    *noise = s->number[SUM] != NULL ? variance / (n * n) : variance;
    if (variance == 0.0 && ((family == PBOOST_LOGISTIC && (*mean < 0.0 || *mean > 1.0)) ||
                            (family == PBOOST_POISSON && *mean < 0.0)))
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: the mean of the %zu row%s with %s is %.17g, which no %s labels have; a "
             "column 'variance' says that sums are noisy",
             path, at, rows, rows == 1 ? "" : "s", keys, *mean, pboost_family_name(family));
done:
    return st;
}

/* Lines about no row are left out if they have the count 0, and are errors if they have none. */
static pboost_status append_lines(train_data *out, train_sums *s, pboost_bags *bags,
                                  const pboost_table *data, pboost_family family, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t kept = 0;
    double *mean = NULL, *noise = NULL;
    char keys[200];

    NEED(mean = pboost_alloc(s->n_lines, sizeof *mean), err);
    NEED(noise = pboost_alloc(s->n_lines, sizeof *noise), err);
    for (size_t i = 0; i < s->n_lines; i++) {
        size_t rows = bags->start[i + 1] - bags->start[i];
        TRY(take_line(&mean[kept], &noise[kept], s, i, rows, data, family, err));
        if (rows == 0 && s->number[COUNT] == NULL) {
            describe_line(keys, sizeof keys, s, i);
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: no row of %s has %s; if that is right, a column 'count' with 0 says so",
                 pboost_table_path(s->table), pboost_table_line(s->table, i),
                 pboost_table_path(data), keys);
        }
        if (rows == 0)
            continue;
        out->one_row_bags += rows == 1;
        out->least_bag = rows < out->least_bag ? rows : out->least_bag;
        out->sum_line[kept] = pboost_table_line(s->table, i);
        bags->start[++kept] = bags->start[i + 1]; /* empty ones end where they start */
    }
    bags->n_bags = kept;
    out->n_sums = kept;
    TRY(pboost_answers_append(out->given, bags, mean, noise, err));
done:
    free(mean);
    free(noise);
    return st;
}

/* Known labels are bags of one row. */
static pboost_status append_labels(train_data *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};
    double *mean = NULL;

    if (out->label == NULL)
        goto done;
    NEED(bags.row = pboost_alloc(out->rows, sizeof *bags.row), err);
    NEED(bags.start = calloc(out->rows + 1, sizeof *bags.start), err);
    NEED(mean = pboost_alloc(out->rows, sizeof *mean), err);
    for (size_t i = 0; i < out->rows; i++)
        if (!isnan(out->label[i])) {
            mean[bags.n_bags] = out->label[i];
            bags.row[bags.n_bags] = i;
            bags.start[++bags.n_bags] = ++bags.n_rows;
        }
    if (bags.n_bags > 0)
        TRY(pboost_answers_append(out->given, &bags, mean, NULL, err));
done:
    pboost_bags_free(&bags);
    free(mean);
    return st;
}

pboost_status train_sums_load(train_data *out, train_sums *s, const pboost_table *data,
                              const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};

    TRY(order_lines(s, err));
    TRY(match_keys(s, data, err));
    TRY(find_rows(&bags, s, pboost_table_rows(data), err));
    if (out->given == NULL) {
        TRY(pboost_answers_create(&out->given, err));
        out->least_bag = SIZE_MAX;
    }
    out->given_bags = pboost_answers_bags(out->given).n_bags;
    NEED(out->sum_line = pboost_alloc(s->n_lines, sizeof *out->sum_line), err);
    TRY(append_lines(out, s, &bags, data, a->family, err));
    TRY(append_labels(out, err));
done:
    pboost_bags_free(&bags);
    return st;
}

/* The fit knows answers by number: names the file and the line, if the answer is a sum. */
void train_sums_explain(pboost_error *err, const train_data *data, const train_arguments *a)
{
    pboost_error said = *err;
    size_t bag;
    int used = 0;

    if (a->sums == NULL || sscanf(said.message, "bag %zu has %n", &bag, &used) != 1 || used == 0 ||
        bag < data->given_bags || bag - data->given_bags >= data->n_sums)
        return;
    (void)pboost_fail(err, PBOOST_BAD_DATA, "%s:%zu: this line has %s", a->sums,
                      data->sum_line[bag - data->given_bags], said.message + used);
}
