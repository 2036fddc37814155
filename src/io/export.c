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
#include "onnx.h"
#include "table.h"

static const char OUTPUT[] = "prediction";

/* A source column in the graph. */
typedef struct {
    const pboost_feature *feature;
    const date_part *part; /* of a date; NULL: none */
    size_t levels;
    onnx_value raw;      /* numbers with NaN, or the places of a category */
    onnx_value value;    /* numbers as the linear predictor takes them */
    size_t at, n;        /* its encoded columns */
    size_t splits, wide; /* category: the splits by it; the first of their columns for trees */
} input;

typedef struct {
    onnx_graph graph;
    const pboost_model *model;
    input *input;
    size_t n;
    onnx_value offset, zeros;
} exporter;

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
    size_t at = 0;
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

static void add(onnx_graph *g, onnx_value *sum, onnx_value term)
{
    *sum = ONNX(g, "Add", *sum, term);
}

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
    }
done:
    return st;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* Table of the splits by a category, places by splits: 0 goes left, 1 right, NaN is missing. */
static pboost_status make_splits(double **out, const input *in, size_t number,
                                 const pboost_forest *forest, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t places = in->feature->n_levels + 2, split = 0;
    double *table = NULL;

    NEED(*out = table = pboost_alloc(places * in->splits, sizeof *table), err);
    for (size_t k = 0; k < forest->n_nodes; k++) {
        const pboost_node *node = &forest->node[k];
        if (node->column != number)
            continue;
        for (size_t p = 0; p < places; p++)
            table[p * in->splits + split] = p == 0 || p > in->levels ? NAN : 1.0;
        for (size_t s = 0; s < node->n_set; s++)
            table[(forest->code[node->set + s] + 1) * in->splits + split] = 0.0;
        split++;
    }
done:
    return st;
}

/* The answers of all splits by a category, for each sample. */
static pboost_status put_splits(exporter *e, onnx_value *out, const input *in, size_t number,
                                const pboost_forest *forest, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const int64_t shape[] = {-1, (int64_t)in->splits};
    onnx_graph *g = &e->graph;
    double *table = NULL;

    TRY(make_splits(&table, in, number, forest, err));
    onnx_value rows = pboost_onnx_doubles(g, table, in->feature->n_levels + 2, in->splits);
    *out = ONNX(g, "Reshape", ONNX(g, "Gather", rows, in->raw), pboost_onnx_int64s(g, shape, 2));
done:
    free(table);
    return st;
}

/* The matrix that the operator for trees takes: numbers that are split, and the answers of splits
 * by categories. */
static pboost_status put_matrix(exporter *e, onnx_value *out, const pboost_forest *forest,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    onnx_value *parts = NULL;
    message axis = {0};
    size_t n = 0, wide = 0;

    NEED(parts = pboost_alloc(e->n, sizeof *parts), err);
    for (size_t i = 0; i < e->n; i++) {
        input *in = &e->input[i];
        in->wide = wide;
        if (in->splits == 0)
            continue;
        wide += in->levels > 0 ? in->splits : 1;
        parts[n] = in->raw;
        if (in->levels > 0)
            TRY(put_splits(e, &parts[n], in, i, forest, err));
        n++;
    }
    pboost_onnx_put_int(&axis, "axis", 1);
    *out = pboost_onnx_op(&e->graph, "Concat", &axis, parts, n);
done:
    free(parts);
    return st;
}

/* The attributes of the operator, by node and by leaf. */
typedef struct {
    int64_t *tree, *node, *feature, *left, *right, *missing, *leaf_tree, *leaf, *target;
    double *value, *weight;
    const char **mode;
    size_t n, leaves;
} ensemble;

static pboost_status ensemble_init(ensemble *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    int64_t **whole[] = {&out->tree,    &out->node,      &out->feature, &out->left,  &out->right,
                         &out->missing, &out->leaf_tree, &out->leaf,    &out->target};

    *out = (ensemble){0};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        NEED(*whole[i] = calloc(n + 1, sizeof **whole[i]), err);
    NEED(out->value = calloc(n + 1, sizeof *out->value), err);
    NEED(out->weight = calloc(n + 1, sizeof *out->weight), err);
    NEED(out->mode = calloc(n + 1, sizeof *out->mode), err);
done:
    return st;
}

static void ensemble_free(ensemble *t)
{
    void *block[] = {t->tree,      t->node, t->feature, t->left,  t->right,  t->missing,
                     t->leaf_tree, t->leaf, t->target,  t->value, t->weight, t->mode};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        free(block[i]);
}

/* A node, whose column in the matrix is `feature`. */
static void add_node(ensemble *to, const pboost_node *node, size_t tree, size_t number,
                     size_t feature, bool category)
{
    size_t i = to->n++;
    bool is_leaf = node->column == PBOOST_LEAF;

    to->tree[i] = (int64_t)tree;
    to->node[i] = (int64_t)number;
    to->mode[i] = is_leaf ? "LEAF" : "BRANCH_LEQ";
    if (is_leaf) {
        to->leaf_tree[to->leaves] = (int64_t)tree;
        to->leaf[to->leaves] = (int64_t)number;
        to->weight[to->leaves++] = node->value;
        return;
    }
    to->feature[i] = (int64_t)feature;
    to->value[i] = category ? 0.5 : node->value;
    to->left[i] = node->left;
    to->right[i] = node->right;
    to->missing[i] = node->missing_left;
}

/* Every tree from its root on, children after their parents; `feature` is by node. */
static pboost_status add_trees(ensemble *to, const exporter *e, const pboost_forest *forest,
                               const size_t *feature, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t *stack = NULL;

    NEED(stack = pboost_alloc(forest->n_nodes + 1, sizeof *stack), err);
    for (size_t t = 0; t < forest->n_trees; t++) {
        size_t depth = 0;
        stack[depth++] = forest->root[t];
        while (depth > 0) {
            uint32_t k = stack[--depth];
            const pboost_node *node = &forest->node[k];
            bool is_leaf = node->column == PBOOST_LEAF;
            add_node(to, node, t, k, feature[k], !is_leaf && e->input[node->column].levels > 0);
            if (!is_leaf) {
                stack[depth++] = node->right;
                stack[depth++] = node->left;
            }
        }
    }
done:
    free(stack);
    return st;
}

static onnx_value put_ensemble(exporter *e, const ensemble *t, onnx_value x)
{
    message a = {0}, to = {0};

    pboost_onnx_put_ints(&a, "nodes_treeids", t->tree, t->n);
    pboost_onnx_put_ints(&a, "nodes_nodeids", t->node, t->n);
    pboost_onnx_put_ints(&a, "nodes_featureids", t->feature, t->n);
    pboost_onnx_put_ints(&a, "nodes_truenodeids", t->left, t->n);
    pboost_onnx_put_ints(&a, "nodes_falsenodeids", t->right, t->n);
    pboost_onnx_put_ints(&a, "nodes_missing_value_tracks_true", t->missing, t->n);
    pboost_onnx_put_texts(&a, "nodes_modes", t->mode, t->n);
    pboost_onnx_put_doubles(&a, "nodes_values_as_tensor", t->value, t->n);
    pboost_onnx_put_ints(&a, "target_treeids", t->leaf_tree, t->leaves);
    pboost_onnx_put_ints(&a, "target_nodeids", t->leaf, t->leaves);
    pboost_onnx_put_ints(&a, "target_ids", t->target, t->leaves);
    pboost_onnx_put_doubles(&a, "target_weights_as_tensor", t->weight, t->leaves);
    pboost_onnx_put_int(&a, "n_targets", 1);
    pboost_onnx_put_int(&to, "to", ONNX_DOUBLE);
    onnx_value sum = pboost_onnx_ml_op(&e->graph, "TreeEnsembleRegressor", &a, &x);
    return pboost_onnx_op(&e->graph, "Cast", &to, &sum, 1);
}

static void count_splits(exporter *e, const pboost_forest *forest)
{
    for (size_t i = 0; i < e->n; i++)
        e->input[i].splits = 0;
    for (size_t k = 0; k < forest->n_nodes; k++)
        if (forest->node[k].column != PBOOST_LEAF)
            e->input[forest->node[k].column].splits++;
}

/* feature[k] = the column of the matrix that node k splits. */
static void number_features(size_t *feature, const exporter *e, const pboost_forest *forest)
{
    for (size_t i = 0; i < e->n; i++) {
        size_t seen = 0;
        for (size_t k = 0; k < forest->n_nodes; k++)
            if (forest->node[k].column == i)
                feature[k] = e->input[i].wide + (e->input[i].levels > 0 ? seen++ : 0);
    }
}

static pboost_status add_forest(exporter *e, onnx_value *eta, const pboost_forest *forest,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    ensemble trees = {0};
    size_t *feature = NULL;
    double constant = 0.0;
    onnx_value x;

    count_splits(e, forest);
    for (size_t t = 0; forest->n_nodes == forest->n_trees && t < forest->n_trees; t++)
        constant += forest->node[forest->root[t]].value;
    if (forest->n_nodes == forest->n_trees) { /* nothing is split */
        add(&e->graph, eta, pboost_onnx_double(&e->graph, constant));
        goto done;
    }
    NEED(feature = calloc(forest->n_nodes, sizeof *feature), err);
    TRY(ensemble_init(&trees, forest->n_nodes, err));
    TRY(put_matrix(e, &x, forest, err));
    number_features(feature, e, forest);
    TRY(add_trees(&trees, e, forest, feature, err));
    add(&e->graph, eta, put_ensemble(e, &trees, x));
done:
    ensemble_free(&trees);
    free(feature);
    return st;
}

/* ---- The model ------------------------------------------------------------------------------- */

static pboost_status put_member(exporter *e, onnx_value *mean, const pboost_member *m,
                                pboost_error *err)
{
    static const char *const LINK[] = {
        [PBOOST_LINEAR] = NULL, [PBOOST_LOGISTIC] = "Sigmoid", [PBOOST_POISSON] = "Exp"};
    pboost_status st = PBOOST_OK;
    onnx_graph *g = &e->graph;
    /* a column of zeros has the right number of rows, whatever the member uses */
    onnx_value eta = ONNX(g, "Add", e->zeros, pboost_onnx_double(g, m->coef.intercept));

    if (e->model->offset != NULL)
        add(g, &eta, e->offset);
    if (m->kind == PBOOST_MEMBER_GLM || m->kind == PBOOST_MEMBER_SMOOTH ||
        m->kind == PBOOST_MEMBER_GLM_TREES)
        TRY(add_linear(e, &eta, &m->coef, err));
    if (m->forest.n_trees > 0)
        TRY(add_forest(e, &eta, &m->forest, err));
    if (LINK[e->model->family] != NULL)
        eta = ONNX(g, LINK[e->model->family], eta);
    *mean = ONNX(g, "Mul", eta, pboost_onnx_double(g, m->weight));
done:
    return st;
}

static pboost_status put_model(exporter *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_model *model = e->model;
    pboost_member glm = {.kind = PBOOST_MEMBER_GLM, .weight = 1.0, .coef = model->coef};
    pboost_mixture alone = {1, &glm};
    const pboost_mixture *all = model->mixture.n > 0 ? &model->mixture : &alone;
    onnx_value sum, mean;

    TRY(put_inputs(e, err));
    if (e->n == 0)
        FAIL(err, PBOOST_BAD_DATA, "the model has no columns, so there is nothing to export");
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
