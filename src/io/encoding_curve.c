/* Curves of the number features of an encoding. */
#include <math.h>
#include <string.h>

#include "encoding.h"
#include "try.h"

enum { LEAST_COLUMNS = 4, ALL_COLUMNS = 200 };

/* The curve of one feature, from the cells as the encoding limits them. */
static pboost_status learn_curve(pboost_curve *out, const pboost_encoding *encoding,
                                 const pboost_feature *f, const pboost_table *table, size_t columns,
                                 int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const double *number;
    double *cell = NULL, *time = NULL;
    size_t n = pboost_table_rows(table), col;
    pboost_error why;

    TRY(pboost_table_find(&col, table, f->name, err));
    if (f->date != 0)
        TRY(pboost_encoding_times(&time, encoding, f, table, err));
    else
        TRY(pboost_table_numbers(&number, table, col, true, err));
    number = f->date != 0 ? time : number;
    NEED(cell = pboost_alloc(n, sizeof *cell), err);
    for (size_t i = 0; i < n; i++)
        cell[i] = !f->winsorize          ? number[i]
                  : number[i] < f->lower ? f->lower
                  : number[i] > f->upper ? f->upper
                                         : number[i];
    st = pboost_curve_learn(out, cell, 1, n, columns, threads, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "%s: column '%s': %s", table->path, pboost_shown_text(f->name).text,
             why.message);
done:
    free(cell);
    free(time);
    return st;
}

/* A fit takes time with the cube of its columns. */
static size_t default_columns(const pboost_encoding *encoding)
{
    size_t numbers = 0, most = PBOOST_CURVE_COLUMNS;
    for (size_t i = 0; i < encoding->n_features; i++)
        numbers += pboost_feature_can_bend(&encoding->feature[i]);
    size_t each = ALL_COLUMNS / (numbers > 0 ? numbers : 1);
    return each > most ? most : each < LEAST_COLUMNS ? LEAST_COLUMNS : each;
}

static void free_names(pboost_encoding *encoding)
{
    for (size_t i = 0; encoding->column != NULL && i < encoding->n_columns; i++)
        free(encoding->column[i]);
    free(encoding->column);
    encoding->column = NULL;
}

pboost_status pboost_encoding_curve(pboost_encoding *encoding, const pboost_table *table,
                                    size_t columns, int threads, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_encoding before = *encoding;
    size_t n = encoding->n_features;
    pboost_curve *old = NULL;

    if (columns == 0)
        columns = default_columns(encoding);
    NEED(old = calloc(n > 0 ? n : 1, sizeof *old), err);
    for (size_t i = 0; i < n; i++) {
        old[i] = encoding->feature[i].curve;
        encoding->feature[i].curve = (pboost_curve){0};
    }
    encoding->column = NULL;
    for (size_t i = 0; i < n; i++) {
        pboost_feature *f = &encoding->feature[i];
        if (pboost_feature_can_bend(f))
            TRY(learn_curve(&f->curve, encoding, f, table, columns, threads, err));
    }
    TRY(pboost_encoding_name_columns(encoding, table->path, err));
done:
    for (size_t i = 0; old != NULL && i < n; i++) {
        pboost_curve *unused = st == PBOOST_OK ? &old[i] : &encoding->feature[i].curve;
        pboost_curve_free(unused);
        if (st != PBOOST_OK)
            *unused = old[i];
    }
    if (st == PBOOST_OK) {
        free_names(&before);
    } else if (old != NULL) {
        free_names(encoding);
        *encoding = before;
    }
    free(old);
    return st;
}

size_t pboost_encoding_bends(pboost_bend *bend, const pboost_encoding *encoding)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < encoding->n_features; i++) {
        const pboost_feature *f = &encoding->feature[i];
        if (f->curve.n > 0)
            bend[n++] = (pboost_bend){at, &f->curve};
        at += pboost_feature_columns(f);
    }
    return n;
}
