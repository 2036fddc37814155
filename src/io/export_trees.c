/* Trees of an ONNX file: the operator for trees, and the matrix that it takes.
 *
 * The operator splits numbers only.  So each split by a category is a column of the matrix, 0 for
 * rows that go left and 1 for rows that go right, from a table over the places of the category. */
#include <string.h>

#include "export.h"

/* Table of the splits by a category, places by splits: 0 goes left; 1 right, as do missing cells.
 */
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
            table[p * in->splits + split] = 1.0;
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

pboost_status pboost_export_trees(exporter *e, onnx_value *eta, const pboost_forest *forest,
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
    NEED(feature = calloc(forest->n_nodes + 1, sizeof *feature), err);
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
