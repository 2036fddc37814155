/* What each feature does to the predictions of a model, from features alone.
 *
 * Both measures give rows of a sample the cells of other rows, the donors.  Shuffled donors show
 * how much the model uses a feature; one donor for all rows, with cells from small to large, shows
 * how predictions depend on it.  Cells are exchanged whole, in the encoded columns and in the
 * columns for trees, so nothing is encoded again. */
#include "train_effects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE_ROWS = 1000, CURVE_ROWS = 250 };

typedef struct {
    const train_data *data;
    const pboost_encoding *encoding;
    const pboost_mixture *mixture;
    const pboost_fit_options *fit;
    size_t n, cols; /* of x: without curves, which follow from it */
    double *x, *changed, *offset;
    pboost_sources sources;
    double *mean, *usual; /* predictions with and without donors */
    size_t *donor;
} sample;

static void sample_free(sample *s)
{
    free(s->x);
    free(s->changed);
    free(s->offset);
    pboost_sources_free(&s->sources);
    free(s->mean);
    free(s->usual);
    free(s->donor);
}

/* The first n rows of the sample, as they are. */
static pboost_status predict(double *mean, const sample *s, const double *x,
                             const pboost_columns *columns, size_t n, pboost_error *err)
{
    pboost_curved room;
    pboost_matrix matrix = train_matrix(&room, x, s->n, s->data);
    pboost_samples samples = {.x = &matrix, .n = n, .offset = s->offset};
    return pboost_mixture_predict(mean, s->fit->family, &samples, columns, s->mixture,
                                  s->fit->threads, err);
}

/* Rows at equal distances. */
static pboost_status sample_init(sample *s, const train_result *result, const train_data *data,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t d = data->cols - data->encoding.n_curves;
    pboost_sources sources = {0};

    *s = (sample){.data = data,
                  .encoding = &data->encoding,
                  .mixture = &result->mixture,
                  .fit = &result->fit_options,
                  .n = data->rows < SAMPLE_ROWS ? data->rows : SAMPLE_ROWS,
                  .cols = d};
    NEED(s->x = pboost_alloc(s->n, d * sizeof *s->x), err);
    NEED(s->changed = pboost_alloc(s->n, d * sizeof *s->changed), err);
    NEED(s->mean = pboost_alloc(s->n, sizeof *s->mean), err);
    NEED(s->usual = pboost_alloc(s->n, sizeof *s->usual), err);
    NEED(s->donor = pboost_alloc(s->n, sizeof *s->donor), err);
    if (data->offset != NULL)
        NEED(s->offset = pboost_alloc(s->n, sizeof *s->offset), err);
    for (size_t i = 0; i < s->n; i++) {
        size_t row = i * data->rows / s->n;
        s->donor[i] = row;
        memcpy(s->x + i * d, data->x + row * d, d * sizeof *s->x);
        if (s->offset != NULL)
            s->offset[i] = data->offset[row];
    }
    TRY(pboost_sources_gather(&sources, &data->sources.columns, s->donor, s->n, err));
    s->sources = sources;
    TRY(predict(s->usual, s, s->x, &s->sources.columns, s->n, err));
done:
    return st;
}

/* Where a feature is: columns of x and columns for trees. */
typedef struct {
    size_t x, n_x, source, n_sources;
} place;

static place find_feature(const pboost_encoding *encoding, size_t feature)
{
    place at = {0};
    pboost_source from;

    for (size_t i = 0; i < feature; i++)
        at.x += pboost_feature_columns(&encoding->feature[i]);
    at.n_x = pboost_feature_columns(&encoding->feature[feature]);
    for (size_t i = 0; pboost_encoding_source(&from, encoding, i); i++) {
        at.source += from.feature < feature;
        at.n_sources += from.feature == feature;
    }
    return at;
}

/* mean = what is predicted for the first n rows if they have a feature's cells of their donors. */
static pboost_status predict_with_donors(sample *s, place at, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_columns columns = s->sources.columns;
    pboost_sources donated = {0};
    pboost_column *all = NULL;

    NEED(all = pboost_alloc(columns.n, sizeof *all), err);
    memcpy(all, columns.column, columns.n * sizeof *all);
    memcpy(s->changed, s->x, s->n * s->cols * sizeof *s->x);
    for (size_t i = 0; i < n; i++) {
        double *to = s->changed + i * s->cols;
        const double *from = s->x + s->donor[i] * s->cols;
        memcpy(to + at.x, from + at.x, at.n_x * sizeof *to);
    }
    pboost_columns of_feature = {columns.rows, at.n_sources, columns.column + at.source};
    TRY(pboost_sources_gather(&donated, &of_feature, s->donor, s->n, err));
    memcpy(all + at.source, donated.columns.column, at.n_sources * sizeof *all);
    columns.column = all;
    TRY(predict(s->mean, s, s->changed, &columns, n, err));
done:
    pboost_sources_free(&donated);
    free(all);
    return st;
}

/* ---- How much a feature is used -------------------------------------------------------------- */

/* A step that shares no divisor with n visits every row once and keeps no neighbours. */
static size_t shuffle_step(size_t n)
{
    size_t step = (size_t)(0.6180339887 * (double)n), a, b;
    for (step = step > 0 ? step : 1;; step++) {
        for (a = n, b = step; b > 0;) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

static pboost_status measure_change(train_effect *out, sample *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t step = shuffle_step(s->n);
    double squares = 0.0;

    for (size_t i = 0; i < s->n; i++)
        s->donor[i] = (i + 1) * step % s->n;
    TRY(predict_with_donors(s, find_feature(s->encoding, out->feature), s->n, err));
    for (size_t i = 0; i < s->n; i++)
        squares += (s->mean[i] - s->usual[i]) * (s->mean[i] - s->usual[i]);
    out->change = sqrt(squares / (double)s->n);
done:
    return st;
}

static int by_change(const void *a, const void *b)
{
    const train_effect *x = a, *y = b;
    return x->change != y->change ? (x->change < y->change) - (x->change > y->change)
                                  : (x->feature > y->feature) - (x->feature < y->feature);
}

/* ---- How predictions depend on it ------------------------------------------------------------ */

typedef struct {
    double cell;
    size_t row;
} ranked;

static int by_cell(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->cell != y->cell ? (x->cell > y->cell) - (x->cell < y->cell)
                              : (x->row > y->row) - (x->row < y->row);
}

/* Rows whose cells are the points: quantiles of numbers, levels of a category; missing ones left
 * out.  Returns how many. */
static size_t choose_points(size_t point[EFFECT_POINTS], ranked *order, const sample *s,
                            const pboost_column *c)
{
    size_t n = 0, m = 0;
    for (size_t i = 0; i < s->n; i++) {
        double cell = c->code == NULL           ? c->number[i]
                      : c->code[i] >= c->levels ? NAN
                                                : (double)c->code[i];
        if (!isnan(cell))
            order[n++] = (ranked){cell, i};
    }
    qsort(order, n, sizeof *order, by_cell);
    size_t different = n > 0;
    for (size_t i = 1; i < n; i++)
        different += order[i].cell > order[i - 1].cell;
    bool every = different <= EFFECT_POINTS;
    for (size_t i = 0; i < n && every; i++)
        if (i == 0 || order[i].cell > order[i - 1].cell)
            point[m++] = order[i].row;
    for (size_t k = 0; k < EFFECT_POINTS && !every; k++) {
        ranked at = order[k * (n - 1) / (EFFECT_POINTS - 1)];
        if (m == 0 || c->code != NULL || c->number[at.row] > c->number[point[m - 1]])
            point[m++] = at.row;
    }
    return m;
}

static void name_point(train_effect *out, size_t k, const pboost_feature *f, const pboost_column *c,
                       size_t row)
{
    out->at[k] = c->code == NULL ? c->number[row] : NAN;
    if (c->code != NULL)
        snprintf(out->text[k], sizeof out->text[k], "%.31s",
                 c->code[row] < f->n_levels ? f->level[c->code[row]] : "(other)");
}

static pboost_status draw_curve(train_effect *out, sample *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    place at = find_feature(s->encoding, out->feature);
    const pboost_column *c = &s->sources.columns.column[at.source];
    size_t point[EFFECT_POINTS], n = s->n < CURVE_ROWS ? s->n : CURVE_ROWS;
    ranked *order = NULL;

    NEED(order = pboost_alloc(s->n, sizeof *order), err);
    size_t points = choose_points(point, order, s, c);
    for (size_t k = 0; k < points; k++) {
        for (size_t i = 0; i < s->n; i++)
            s->donor[i] = point[k];
        TRY(predict_with_donors(s, at, n, err));
        name_point(out, k, &s->encoding->feature[out->feature], c, point[k]);
        for (size_t i = 0; i < n; i++)
            out->mean[k] += s->mean[i] / (double)n;
    }
    out->n = points;
done:
    free(order);
    return st;
}

pboost_status train_effects(train_result *result, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = data->encoding.n_features;
    sample s;

    TRY(sample_init(&s, result, data, err));
    NEED(result->effect = calloc(n, sizeof *result->effect), err);
    result->n_effects = n;
    for (size_t i = 0; i < n; i++) {
        result->effect[i].feature = i;
        TRY(measure_change(&result->effect[i], &s, err));
    }
    qsort(result->effect, n, sizeof *result->effect, by_change);
    for (size_t i = 0; i < n && i < MAX_EFFECTS && result->effect[i].change > 0.0; i++)
        TRY(draw_curve(&result->effect[i], &s, err));
done:
    sample_free(&s);
    return st;
}
