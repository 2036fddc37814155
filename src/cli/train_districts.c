/* priorboost train --rows sample|means: bags of which the table does not have every row.
 *
 * Each row then stands for persons/rows persons, which is a weight.  A sample is calibrated; means
 * become a few rows with the standard deviations that are given. */
#include <math.h>
#include <string.h>

#include "train_bags.h"

#define LARGE_FRACTION 0.3 /* of sampling error in the variance between bags */

static const char *const ROLES[] = {"count", "mean", "sum", "noise_variance"};
enum { N_ROLES = sizeof ROLES / sizeof *ROLES };

/* ---- Roles ----------------------------------------------------------------------------------- */

pboost_status train_districts_check(const train_arguments *a, pboost_error *err)
{
    for (size_t i = 0; i < a->answer_columns.n; i++) {
        const char *item = a->answer_columns.item[i], *equal = strchr(item, '=');
        size_t length = equal != NULL ? (size_t)(equal - item) : 0, role = 0;
        while (role < N_ROLES &&
               (strlen(ROLES[role]) != length || strncmp(ROLES[role], item, length) != 0))
            role++;
        if (role == N_ROLES || equal[1] == '\0')
            return pboost_fail(err, PBOOST_INVALID,
                               "--answer-columns has '%s'; it must be count=COL, mean=COL, sum=COL "
                               "or noise_variance=COL",
                               item);
    }
    return PBOOST_OK;
}

/* The length of the column's name without the suffix; 0: it has none. */
static size_t stem_of(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);
    return n > s && strcmp(name + n - s, suffix) == 0 ? n - s : 0;
}

static pboost_status find_stem(const pboost_table *table, size_t col, size_t length,
                               const char *suffix, pboost_error *err)
{
    const char *name = pboost_table_name(table, col);
    for (size_t j = 0; j < pboost_table_cols(table); j++) {
        const char *other = pboost_table_name(table, j);
        if (strlen(other) == length && strncmp(other, name, length) == 0)
            return PBOOST_OK;
    }
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "%s: column '%s' ends with --sd %s, but there is no column '%.*s'",
                       pboost_table_path(table), name, suffix, (int)length, name);
}

pboost_status train_districts_roles(bool *use, const pboost_table *table, const train_arguments *a,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_table_cols(table), col, found = 0;

    for (size_t i = 0; i < N_ROLES && strcmp(a->data, a->answers) == 0; i++)
        if (pboost_table_find(&col, table, train_answer_column(a, ROLES[i]), NULL) == PBOOST_OK)
            use[col] = false;
    train_class_roles(use, table, a);
    for (size_t j = 0; a->sd != NULL && j < n; j++) {
        size_t length = stem_of(pboost_table_name(table, j), a->sd);
        if (length == 0)
            continue;
        TRY(find_stem(table, j, length, a->sd, err));
        use[j] = false;
        found++;
    }
    if (a->sd != NULL && found == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: no column ends with --sd %s", pboost_table_path(table),
             a->sd);
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Rows of weight persons/rows, and times the weight of the user, if there is one. */
static pboost_status weigh(train_data *data, const pboost_bags *bags, const double *persons,
                           pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool own = data->weight != NULL;

    NEED(data->persons_weight = pboost_alloc(data->rows, sizeof(double)), err);
    if (!own)
        NEED(data->weight = pboost_alloc(data->rows, sizeof(double)), err);
    for (size_t b = 0; b < bags->n_bags; b++)
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++) {
            size_t row = bags->row[i];
            double each = persons[b] / (double)(bags->start[b + 1] - bags->start[b]);
            data->persons_weight[row] = each;
            data->weight[row] = own ? data->weight[row] * each : each;
        }
done:
    return st;
}

static pboost_status calibrate(train_data *data, const pboost_bags *bags, const double *persons,
                               const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t worst = 0;
    bool limited;
    double *fraction = NULL;

    NEED(fraction = pboost_alloc(data->cols, sizeof *fraction), err);
    TRY(pboost_bags_calibrate(data->x, data->cols, bags, persons, fraction, &limited, err));
    for (size_t j = 1; j < data->cols; j++)
        worst = fraction[j] > fraction[worst] ? j : worst;
    if (limited)
        snprintf(data->sample_warning[0].text, sizeof data->sample_warning[0].text,
                 "some combination of columns differs between bags by no more than sampling error, "
                 "so its weight is not known: use larger samples or fewer columns");
    else if (fraction[worst] > LARGE_FRACTION)
        snprintf(data->sample_warning[0].text, sizeof data->sample_warning[0].text,
                 "%.0f %% of the variance between bags of column '%.100s' is sampling error: its "
                 "weight depends much on the correction for it; use larger samples",
                 100.0 * fraction[worst], data->encoding.column[worst]);
    if (a->family == PBOOST_POISSON)
        snprintf(
            data->sample_warning[1].text, sizeof data->sample_warning[1].text,
            "the correction for sampling error is right to first order only: weights of counts "
            "are too small if features vary much within bags and samples are small");
done:
    free(fraction);
    return st;
}

/* sd (rows x cols) of the encoded columns: 0 where the table has none. */
static pboost_status load_sd(double *sd, const train_data *data, const pboost_table *table,
                             const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *value;

    for (size_t j = 0; j < pboost_table_cols(table); j++) {
        const char *name = pboost_table_name(table, j);
        size_t length = stem_of(name, a->sd), col = 0;
        while (length > 0 && col < data->cols &&
               (strlen(data->encoding.column[col]) != length ||
                strncmp(data->encoding.column[col], name, length) != 0))
            col++;
        if (length == 0 || col == data->cols) /* or the feature is constant, or was excluded */
            continue;
        TRY(pboost_table_numbers(&value, table, j, false, err));
        for (size_t i = 0; i < data->rows; i++) {
            if (!(value[i] >= 0.0))
                FAIL(err, PBOOST_BAD_DATA,
                     "%s:%zu: '%s' is %.17g; a standard deviation is not negative",
                     pboost_table_row_path(table, i), pboost_table_line(table, i), name, value[i]);
            sd[i * data->cols + col] = data->scale != NULL ? value[i] / data->scale[col] : value[i];
        }
    }
done:
    return st;
}

/* Each entry `points` times. */
static pboost_status repeat(double **values, size_t n, size_t points, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    double *out = NULL;

    if (*values == NULL)
        goto done;
    NEED(out = pboost_alloc(n * points, sizeof *out), err);
    for (size_t i = 0; i < n * points; i++)
        out[i] = (*values)[i / points];
    free(*values);
    *values = out;
done:
    return st;
}

/* Every row, which has the means of its bag, becomes rows with its standard deviations. */
static pboost_status spread(train_data *data, pboost_bags *bags, const pboost_table *table,
                            const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = data->rows, d = data->cols, points, *row = NULL;
    double *sd = NULL, *x = NULL;

    NEED(sd = calloc(n * d, sizeof *sd), err);
    TRY(load_sd(sd, data, table, a, err));
    points = pboost_spread_points(sd, n, d);
    NEED(x = pboost_alloc(n * points * d, sizeof *x), err);
    NEED(row = pboost_alloc(n * points, sizeof *row), err);
    pboost_spread_rows(x, data->x, sd, n, d);
    TRY(repeat(&data->weight, n, points, err));
    TRY(repeat(&data->offset, n, points, err));
    for (size_t i = 0; i < n * points; i++)
        row[i] = bags->row[i / points] * points + i % points;
    for (size_t b = 0; b <= bags->n_bags; b++)
        bags->start[b] *= points;
    free(bags->row);
    free(data->x);
    bags->row = row;
    bags->n_rows = data->rows = n * points;
    data->x = x;
    row = NULL;
    x = NULL;
done:
    free(sd);
    free(x);
    free(row);
    return st;
}

pboost_status train_districts_apply(train_data *data, pboost_bags *bags, const double *persons,
                                    const pboost_table *table, const train_arguments *a,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (a->given_rows == ROWS_SAMPLE)
        TRY(calibrate(data, bags, persons, a, err));
    if (a->sd != NULL && a->family != PBOOST_LINEAR) /* a linear model needs only the means */
        TRY(spread(data, bags, table, a, err));
    TRY(weigh(data, bags, persons, err));
done:
    return st;
}

/* ---- Assumptions ----------------------------------------------------------------------------- */

void train_districts_assume(train_result *result, const train_arguments *a)
{
    bool means = a->given_rows == ROWS_MEANS && a->family != PBOOST_LINEAR;
    const struct {
        bool holds;
        const char *text;
    } assumed[TRAIN_MAX_ASSUMPTIONS] = {
        {a->given_rows != ROWS_ALL,
         "what bags have in common beyond their features is not related to the features; else the "
         "weights have ecological bias, and nothing in the answers shows it"},
        {a->given_rows == ROWS_SAMPLE,
         "the rows of each bag are a simple random sample of its persons"},
        {means, a->sd != NULL
                    ? "the features of a person vary within a bag as the standard deviations say, "
                      "without correlation"
                    : "all persons of a bag have its means; if they differ, weights of a logistic "
                      "model are too small, and the intercept of counts is too large (--sd SUFFIX "
                      "gives standard deviations)"},
    };
    for (size_t i = 0; i < TRAIN_MAX_ASSUMPTIONS; i++)
        if (assumed[i].holds)
            result->assumption[result->n_assumptions++] = assumed[i].text;
}
