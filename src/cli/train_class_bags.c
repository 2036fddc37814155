/* priorboost train --family classes --bag COL --answers FILE: a column for each class. */
#include <math.h>
#include <string.h>

#include "train_bags.h"

#define SUM_SLACK 1e-6 /* of counts that were printed as proportions: relative to their sum */

static bool is_role(const train_arguments *a, const char *name)
{
    return strcmp(name, a->bag) == 0 || strcmp(name, train_answer_column(a, "count")) == 0 ||
           strcmp(name, train_answer_column(a, "noise_variance")) == 0;
}

static pboost_status name_columns(class_names *names, const answers_file *f,
                                  const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < a->class_columns.n; i++)
        TRY(class_names_add(names, a->class_columns.item[i], err));
    for (size_t j = 0; a->class_columns.n == 0 && j < pboost_table_cols(f->table); j++)
        if (!is_role(a, pboost_table_name(f->table, j)))
            TRY(class_names_add(names, pboost_table_name(f->table, j), err));
    if (names->n < 3 || names->n > PBOOST_MAX_CLASSES)
        FAIL(err, PBOOST_BAD_DATA,
             "%s has %zu column%s of classes; there must be 3 to %d (--class-columns COL,... names "
             "them; two classes are --family logistic)",
             a->answers, names->n, names->n == 1 ? "" : "s", PBOOST_MAX_CLASSES);
done:
    return st;
}

pboost_status train_class_columns(answers_file *f, class_names *names, const train_arguments *a,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t col;

    TRY(name_columns(names, f, a, err));
    f->classes = names->n;
    NEED(f->share = calloc(names->n, sizeof *f->share), err);
    for (size_t c = 0; c < names->n; c++) {
        for (size_t k = 0; k < c; k++)
            if (strcmp(names->name[k], names->name[c]) == 0)
                FAIL(err, PBOOST_INVALID, "--class-columns has '%s' twice", names->name[c]);
        TRY(pboost_table_find(&col, f->table, names->name[c], err));
        TRY(pboost_table_numbers(&f->share[c], f->table, col, false, err));
    }
done:
    return st;
}

pboost_status train_class_line(double *mean, double *noise, const answers_file *f, size_t line,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_table_path(f->table), *bag = answers_bag_name(f, line);
    size_t at = pboost_table_line(f->table, line);
    double count = f->count[line], sum = 0.0, variance = f->noise != NULL ? f->noise[line] : 0.0;

    if (!(variance >= 0.0))
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: bag '%s' has noise_variance %.17g; it must be at least 0", path, at, bag,
             variance);
    for (size_t c = 0; c < f->classes; c++) {
        sum += f->share[c][line];
        if (variance == 0.0 && f->share[c][line] < 0.0)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: bag '%s' has %.17g of a class; it must be at least 0", path, at, bag,
                 f->share[c][line]);
    }
    bool counts = fabs(sum - count) < fabs(sum - 1.0) || count == 1.0;
    double whole = counts ? count : 1.0;
    if (variance == 0.0 && fabs(sum - whole) > SUM_SLACK * whole)
        FAIL(err, PBOOST_BAD_DATA,
             "%s:%zu: the classes of bag '%s' have sum %.17g; it must be the count, %.17g, or, for "
             "proportions, 1",
             path, at, bag, sum, count);
    for (size_t c = 0; c < f->classes; c++) {
        mean[c] = f->share[c][line] / whole;
        noise[c] = variance;
    }
done:
    return st;
}

void train_class_roles(bool *use, const pboost_table *table, const train_arguments *a)
{
    size_t col;
    for (size_t i = 0; i < a->class_columns.n; i++)
        if (pboost_table_find(&col, table, a->class_columns.item[i], NULL) == PBOOST_OK)
            use[col] = false;
}
