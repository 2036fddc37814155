/* A model as an ONNX file.
 *
 * Each source column is an input: numbers and the parts of dates as doubles, NaN where missing;
 * categories as text, "" or NA where missing.  All numbers of the graph are doubles, but the
 * operator for trees gives their sum in single precision.
 *
 * A category becomes a place in tables: 0 where it is missing, its level from 1 on, and behind the
 * last level for values that are none.  Its weights are one such table, and so are the splits of
 * trees by it.  A cell that `priorboost predict` refuses makes the prediction of a GLM NaN. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "date.h"
#include "encoding.h"
#include "export.h"

static const char OUTPUT[] = "prediction";

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* From text to places. */
static pboost_status put_category(exporter *e, input *in, pboost_error *err)
{
    static const char *const MISSING[] = {"", "NA"};
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = in->feature;
    message attributes = {0};
    const char **key = NULL;
    int64_t *places = NULL;
    size_t n = f->n_levels;

    NEED(key = pboost_alloc(n + 2, sizeof *key), err);
    NEED(places = pboost_alloc(n + 2, sizeof *places), err);
    for (size_t k = 0; k < n; k++) {
        key[k] = f->level[k];
        places[k] = (int64_t)k + 1;
    }
    for (size_t i = 0; i < sizeof MISSING / sizeof *MISSING; i++)
        if (bsearch(&MISSING[i], f->level, f->n_levels, sizeof *f->level, pboost_by_bytes) ==
            NULL) {
            key[n] = MISSING[i];
            places[n++] = 0;
        }
    pboost_onnx_put_texts(&attributes, "keys_strings", key, n);
    pboost_onnx_put_ints(&attributes, "values_int64s", places, n);
    pboost_onnx_put_int(&attributes, "default_int64", (int64_t)f->n_levels + 1);
    onnx_value text = pboost_onnx_input(&e->graph, f->name);
    in->raw = pboost_onnx_ml_op(&e->graph, "LabelEncoder", &attributes, &text);
done:
    free(key);
    free(places);
    return st;
}

static void put_number_input(exporter *e, input *in, const char *name)
{
    const pboost_feature *f = in->feature;
    onnx_graph *g = &e->graph;

    in->raw = in->value = pboost_onnx_input(g, name);
    if (f->impute) {
        double fill = in->part != NULL ? pboost_date_number(f->fill, in->part) : f->fill;
        in->value =
            ONNX(g, "Where", ONNX(g, "IsNaN", in->raw), pboost_onnx_double(g, fill), in->raw);
    }
    if (f->winsorize)
        in->value = ONNX(g, "Clip", in->value, pboost_onnx_double(g, f->lower),
                         pboost_onnx_double(g, f->upper));
}

static pboost_status put_input(exporter *e, input *in, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = in->feature;
    size_t size = strlen(f->name) + 16;
    char *name = NULL;

    NEED(name = pboost_alloc(size, 1), err);
    snprintf(name, size, "%s%s%s", f->name, in->part != NULL ? ":" : "",
             in->part != NULL ? in->part->name : "");
    if (strcmp(name, OUTPUT) == 0)
        FAIL(err, PBOOST_BAD_DATA,
             "a column of the model is named '%s', which is the name of the output; rename the "
             "column and train again",
             OUTPUT);
    pboost_onnx_put_column(&e->graph, false, name, in->levels > 0 ? ONNX_STRING : ONNX_DOUBLE);
    if (in->levels > 0)
        TRY(put_category(e, in, err));
    else
        put_number_input(e, in, name);
done:
    free(name);
    return st;
}

/* A zero for each sample. */
static onnx_value put_zeros(exporter *e)
{
    const input *in = &e->input[0];
    onnx_graph *g = &e->graph;
    message to = {0};

    pboost_onnx_put_int(&to, "to", ONNX_DOUBLE);
    onnx_value missing = in->levels > 0 ? in->raw : ONNX(g, "IsNaN", in->raw);
    return ONNX(g, "Mul", pboost_onnx_op(g, "Cast", &to, &missing, 1), pboost_onnx_double(g, 0.0));
}

static pboost_status put_inputs(exporter *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_encoding *encoding = &e->model->encoding;
    size_t at = 0, curve_at = encoding->n_columns - encoding->n_curves;
    pboost_source from;

    e->n = pboost_encoding_n_sources(encoding);
    NEED(e->input = calloc(e->n + 1, sizeof *e->input), err);
    for (size_t i = 0; pboost_encoding_source(&from, encoding, i); i++) {
        input *in = &e->input[i];
        size_t p = 0;
        in->feature = &encoding->feature[from.feature];
        in->levels = from.levels;
        while (from.part != NULL && PBOOST_DATE_PARTS[p].name != from.part)
            p++;
        in->part = from.part != NULL ? &PBOOST_DATE_PARTS[p] : NULL;
        in->at = at;
        in->n =
            in->part != NULL ? pboost_date_part_columns(p) : pboost_feature_columns(in->feature);
        if (i == 0 ||
            in->feature != e->input[i - 1].feature) { /* a date has it on its first part */
            in->curve = &in->feature->curve;
            in->curve_at = curve_at;
            curve_at += in->curve->n;
        }
        at += in->n;
        TRY(put_input(e, in, err));
    }
    if (e->model->offset != NULL) {
        pboost_onnx_put_column(&e->graph, false, e->model->offset, ONNX_DOUBLE);
        e->offset = pboost_onnx_input(&e->graph, e->model->offset);
    }
    if (e->n > 0)
        e->zeros = put_zeros(e);
done:
    return st;
}

/* ---- The linear predictor -------------------------------------------------------------------- */

/* The weights of a category by place. */
static pboost_status add_category(exporter *e, onnx_value *eta, const input *in,
                                  const double *theta, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_feature *f = in->feature;
    double *table = NULL;

    NEED(table = calloc(f->n_levels + 2, sizeof *table), err);
    table[0] = f->impute ? 0.0 : NAN;
    memcpy(table + 2, theta, in->n * sizeof *table); /* with "(other)", where there is one */
    if (!f->other)
        table[f->n_levels + 1] = e->model->encoding.refuse_unseen ? NAN : 0.0;
    add(&e->graph, eta,
        ONNX(&e->graph, "Gather", pboost_onnx_doubles(&e->graph, table, f->n_levels + 2, 0),
             in->raw));
done:
    free(table);
    return st;
}

/* The weights of the values of a part of a date; behind the last for missing dates. */
static void add_part(exporter *e, onnx_value *eta, const input *in, const double *theta)
{
    double table[32] = {0.0}, end = (double)in->part->values;
    onnx_graph *g = &e->graph;
    message to = {0};

    memcpy(table + 1, theta, in->n * sizeof *table);
    table[in->part->values] = NAN;
    onnx_value at = ONNX(g, "Sub", in->value, pboost_onnx_double(g, in->part->first));
    onnx_value inside =
        ONNX(g, "Clip", at, pboost_onnx_double(g, 0.0), pboost_onnx_double(g, end - 1.0));
    at = ONNX(g, "Where", ONNX(g, "IsNaN", at), pboost_onnx_double(g, end), inside);
    pboost_onnx_put_int(&to, "to", ONNX_INT64);
    at = pboost_onnx_op(g, "Cast", &to, &at, 1);
    add(g, eta, ONNX(g, "Gather", pboost_onnx_doubles(g, table, in->part->values + 1, 0), at));
}

/* All numbers at once: a matrix times their weights. */
static pboost_status add_numbers(exporter *e, onnx_value *eta, const pboost_coef *coef,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    onnx_value *numbers = NULL;
    double *theta = NULL;
    message axis = {0};
    size_t n = 0;

    NEED(numbers = pboost_alloc(e->n, sizeof *numbers), err);
    NEED(theta = pboost_alloc(e->n, sizeof *theta), err);
    for (size_t i = 0; i < e->n; i++) {
        const input *in = &e->input[i];
        if (in->levels > 0 || (in->part != NULL && in->part->values > 0))
            continue;
        numbers[n] = in->value;
        theta[n++] = coef->theta[in->at];
    }
    if (n == 0)
        goto done;
    pboost_onnx_put_int(&axis, "axis", 1);
    onnx_value x = pboost_onnx_op(&e->graph, "Concat", &axis, numbers, n);
    add(&e->graph, eta, ONNX(&e->graph, "MatMul", x, pboost_onnx_doubles(&e->graph, theta, n, 1)));
done:
    free(numbers);
    free(theta);
    return st;
}

/* A weighted sum of the functions of a curve is one cubic spline f.  With t from 0 to 1 between the
 * outer knots, and d_k the jumps of its third derivative,
 *
 *     f = f(0) + f'(0) t + sum_k d_k/6 max(c - t_k, 0)^3 + (f'(1) - f'(0)) max(t - 1, 0)
 *
 * with c = t limited to 0 .. 1, so that the cubes need not cancel beyond the knots. */
static void add_curve(exporter *e, onnx_value *eta, const input *in, const double *theta)
{
    const pboost_curve *c = in->curve;
    enum { MOST = PBOOST_CURVE_COLUMNS + 2 };
    size_t n = c->n_knots, last = n - 1;
    double t[MOST] = {0.0}, value[MOST] = {0.0}, bend[MOST] = {0.0}, jump[MOST], slope = 0.0;
    double range = c->knot[last] - c->knot[0], before = 0.0;
    onnx_graph *g = &e->graph;

    for (size_t k = 0; k < n; k++) {
        t[k] = (c->knot[k] - c->knot[0]) / range;
        for (size_t j = 0; j < c->n; j++) {
            value[k] += theta[j] * c->value[j * n + k];
            bend[k] += theta[j] * c->bend[j * n + k];
        }
    }
    for (size_t k = 0; k < n; k++) {
        double third = k < last ? (bend[k + 1] - bend[k]) / (t[k + 1] - t[k]) : 0.0;
        jump[k] = (third - before) / 6.0;
        before = third;
        slope += k < last ? 0.5 * (bend[k] + bend[k + 1]) * (t[k + 1] - t[k]) : 0.0;
    }
    double first = (value[1] - value[0]) / t[1] - t[1] * bend[1] / 6.0;
    onnx_value zero = pboost_onnx_double(g, 0.0), one = pboost_onnx_double(g, 1.0);
    onnx_value at = ONNX(g, "Sub", in->value, pboost_onnx_double(g, c->knot[0]));
    at = ONNX(g, "Div", at, pboost_onnx_double(g, range));
    onnx_value inside = ONNX(g, "Clip", at, zero, one);
    onnx_value beyond = ONNX(g, "Max", ONNX(g, "Sub", at, one), zero);
    onnx_value over = ONNX(g, "Sub", inside, pboost_onnx_doubles(g, t, 1, n));
    over = ONNX(g, "Max", over, zero);
    over = ONNX(g, "Mul", ONNX(g, "Mul", over, over), over);
    add(g, eta, ONNX(g, "MatMul", over, pboost_onnx_doubles(g, jump, n, 1)));
    add(g, eta, ONNX(g, "Mul", at, pboost_onnx_double(g, first)));
    add(g, eta, ONNX(g, "Mul", beyond, pboost_onnx_double(g, slope)));
    add(g, eta, pboost_onnx_double(g, value[0]));
}

static pboost_status add_linear(exporter *e, onnx_value *eta, const pboost_coef *coef,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(add_numbers(e, eta, coef, err));
    for (size_t i = 0; i < e->n; i++) {
        const input *in = &e->input[i];
        if (in->levels > 0)
            TRY(add_category(e, eta, in, coef->theta + in->at, err));
        else if (in->part != NULL && in->part->values > 0)
            add_part(e, eta, in, coef->theta + in->at);
        if (in->curve != NULL && in->curve->n > 0)
            add_curve(e, eta, in, coef->theta + in->curve_at);
    }
done:
    return st;
}

/* ---- The model ------------------------------------------------------------------------------- */

static pboost_status put_predictor(exporter *e, onnx_value *eta, const pboost_member *m,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    onnx_graph *g = &e->graph;

    /* a column of zeros has the right number of rows, whatever the member uses */
    *eta = ONNX(g, "Add", e->zeros, pboost_onnx_double(g, m->coef.intercept));
    if (e->model->offset != NULL)
        add(g, eta, e->offset);
    if (m->kind == PBOOST_MEMBER_GLM || m->kind == PBOOST_MEMBER_SMOOTH ||
        m->kind == PBOOST_MEMBER_GLM_TREES)
        TRY(add_linear(e, eta, &m->coef, err));
    if (m->forest.n_trees > 0)
        TRY(pboost_export_trees(e, eta, &m->forest, err));
done:
    return st;
}

static pboost_status put_member(exporter *e, onnx_value *mean, const pboost_member *m,
                                pboost_error *err)
{
    static const char *const LINK[] = {
        [PBOOST_LINEAR] = NULL, [PBOOST_LOGISTIC] = "Sigmoid", [PBOOST_POISSON] = "Exp"};
    pboost_status st = PBOOST_OK;
    onnx_graph *g = &e->graph;
    onnx_value eta;

    TRY(put_predictor(e, &eta, m, err));
    if (LINK[e->model->family] != NULL)
        eta = ONNX(g, LINK[e->model->family], eta);
    *mean = ONNX(g, "Mul", eta, pboost_onnx_double(g, m->weight));
done:
    return st;
}

/* Class c of the kind whose members start at `first`: its weights, or its trees. */
static pboost_member class_member(const pboost_model *model, size_t first, size_t c)
{
    const pboost_class_coef *coef = &model->classes.coef;
    if (model->mixture.n > 0)
        return model->mixture.member[first + c];
    double *theta = coef->theta + c * (coef->cols + 1);
    return (pboost_member){.kind = PBOOST_MEMBER_GLM,
                           .coef = {coef->cols, theta, theta[coef->cols]}};
}

/* share, by class: what the class has of the sum, times the weight of the kind.  Of weights that is
 * the exponential, of which the largest is made 1 so that none overflows; of trees it is the
 * probability of the class against all others. */
static pboost_status put_kind(exporter *e, onnx_value *share, size_t first, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = e->model->classes.n;
    onnx_graph *g = &e->graph;
    bool weights = false;

    for (size_t c = 0; c < n; c++) {
        pboost_member member = class_member(e->model, first, c);
        weights = member.kind == PBOOST_MEMBER_GLM || member.kind == PBOOST_MEMBER_SMOOTH;
        TRY(put_predictor(e, &share[c], &member, err));
    }
    onnx_value largest = weights ? pboost_onnx_op(g, "Max", NULL, share, n) : share[0];
    for (size_t c = 0; c < n; c++)
        share[c] = weights ? ONNX(g, "Exp", ONNX(g, "Sub", share[c], largest))
                           : ONNX(g, "Sigmoid", share[c]);
    onnx_value sum = pboost_onnx_op(g, "Sum", NULL, share, n);
    for (size_t c = 0; c < n; c++)
        share[c] = ONNX(g, "Div", share[c], sum);
    for (size_t c = 0; e->model->mixture.n > n && c < n; c++) {
        double weight = (double)n * e->model->mixture.member[first].weight;
        share[c] = ONNX(g, "Mul", share[c], pboost_onnx_double(g, weight));
    }
done:
    return st;
}

/* A column p_CLASS for each class. */
static pboost_status put_classes(exporter *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = e->model;
    size_t n = model->classes.n, end = model->mixture.n > n ? model->mixture.n : n;
    onnx_graph *g = &e->graph;
    onnx_value *share = NULL, *sum;
    char name[300];

    NEED(share = pboost_alloc(2 * n, sizeof *share), err);
    sum = share + n;
    for (size_t first = 0; first < end; first += n) {
        TRY(put_kind(e, share, first, err));
        for (size_t c = 0; c < n; c++)
            sum[c] = first == 0 ? share[c] : ONNX(g, "Add", sum[c], share[c]);
    }
    for (size_t c = 0; c < n; c++) {
        snprintf(name, sizeof name, "p_%.280s", model->classes.name[c]);
        pboost_onnx_name_output(g, sum[c], name);
        pboost_onnx_put_column(g, true, name, ONNX_DOUBLE);
    }
done:
    free(share);
    return st;
}

static pboost_status put_model(exporter *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = e->model;
    pboost_member glm = {.kind = PBOOST_MEMBER_GLM, .weight = 1.0, .coef = model->coef};
    pboost_mixture alone = {1, &glm};
    const pboost_mixture *all = model->mixture.n > 0 ? &model->mixture : &alone;
    onnx_value sum = {0}, mean = {0};

    if (model->sparse.columns > 0)
        FAIL(err, PBOOST_BAD_DATA,
             "the model is one of sparse rows, which an ONNX file cannot have as inputs; "
             "'priorboost "
             "predict' reads it");
    TRY(put_inputs(e, err));
    if (e->n == 0)
        FAIL(err, PBOOST_BAD_DATA, "the model has no columns, so there is nothing to export");
    if (model->classes.n > 0)
        return put_classes(e, err);
    for (size_t i = 0; i < all->n; i++) {
        TRY(put_member(e, &mean, &all->member[i], err));
        sum = i == 0 ? mean : ONNX(&e->graph, "Add", sum, mean);
    }
    pboost_onnx_name_output(&e->graph, sum, OUTPUT);
    pboost_onnx_put_column(&e->graph, true, OUTPUT, ONNX_DOUBLE);
done:
    return st;
}

pboost_status pboost_model_export_onnx(const pboost_model *model, const char *path,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exporter e = {.model = model};
    pboost_output *output = NULL;
    message file = {0};

    TRY(put_model(&e, err));
    file = pboost_onnx_model(&e.graph, model->label != NULL ? model->label : "priorboost",
                             pboost_version());
    if (file.failed)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
    TRY(pboost_output_open(&output, path, err));
    fwrite(file.data, 1, file.n, pboost_output_stream(output)); /* commit notices what went wrong */
    st = pboost_output_commit(output, err);
done:
    free(file.data);
    free(e.graph.body.data);
    free(e.input);
    return st;
}
