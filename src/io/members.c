/* The members of a model in its file: weights, coefficients, trees.
 *
 * A tree is a few arrays over its nodes in preorder: the left child of a node is the node after it,
 * and "right" is where the other child is.  The reader computes the size of every subtree from the
 * last node back to the first and asks that "right" is just behind the left subtree.  So a file
 * cannot have a cycle, a node with two parents or a node that no row reaches. */
#include <stdio.h>
#include <string.h>

#include "copy.h"
#include "json.h"
#include "model.h"
#include "table.h"

/* What the kinds of members have. */
static const struct {
    bool theta, trees;
} PARTS[PBOOST_MEMBER_KINDS] = {[PBOOST_MEMBER_GLM] = {.theta = true},
                                [PBOOST_MEMBER_SMOOTH] = {.theta = true},
                                [PBOOST_MEMBER_TREES] = {.trees = true},
                                [PBOOST_MEMBER_GLM_TREES] = {.theta = true, .trees = true}};

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct {
    json_t *column, *right, *value, *missing, *count, *codes;
} tree_arrays;

static pboost_status put_arrays(tree_arrays *out, json_t *tree, pboost_error *err)
{
    const struct {
        const char *key;
        json_t **array;
    } ARRAYS[] = {{"column", &out->column},    {"right", &out->right},
                  {"value", &out->value},      {"missing_left", &out->missing},
                  {"left_codes", &out->count}, {"codes", &out->codes}};
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < sizeof ARRAYS / sizeof *ARRAYS; i++)
        TRY(put(tree, ARRAYS[i].key, *ARRAYS[i].array = json_array(), err));
done:
    return st;
}

static pboost_status put_node(const tree_arrays *to, const pboost_forest *forest,
                              const pboost_node *node, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool leaf = node->column == PBOOST_LEAF;

    TRY(append(to->column, json_integer(leaf ? -1 : (json_int_t)node->column), err));
    TRY(append(to->right, json_integer(0), err));
    TRY(fill_reals(to->value, "value of a tree", &node->value, 1, err));
    TRY(append(to->missing, json_integer(!leaf && node->missing_left), err));
    TRY(append(to->count, json_integer(leaf ? 0 : (json_int_t)node->n_set), err));
    for (size_t k = 0; !leaf && k < node->n_set; k++)
        TRY(append(to->codes, json_integer((json_int_t)forest->code[node->set + k]), err));
done:
    return st;
}

typedef struct {
    uint32_t node;
    size_t parent; /* whose right child it is; SIZE_MAX: none */
} pending;

static pboost_status put_tree(json_t *trees, const pboost_forest *forest, uint32_t root,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *tree = json_object();
    pending *stack = NULL;
    size_t depth = 0, capacity = 0, n = 0;
    tree_arrays to;

    TRY(append(trees, tree, err));
    TRY(put_arrays(&to, tree, err));
    GROW(stack, capacity, 1, err);
    stack[depth++] = (pending){root, SIZE_MAX};
    while (depth > 0) {
        pending at = stack[--depth];
        if (at.node >= forest->n_nodes || n == forest->n_nodes)
            FAIL(err, PBOOST_INVALID, "a tree of the model has node %u of %zu, or a cycle", at.node,
                 forest->n_nodes);
        const pboost_node *node = &forest->node[at.node];
        if (at.parent != SIZE_MAX &&
            json_array_set_new(to.right, at.parent, json_integer((json_int_t)n)) != 0)
            FAIL(err, PBOOST_NO_MEMORY, "out of memory");
        TRY(put_node(&to, forest, node, err));
        if (node->column != PBOOST_LEAF) {
            GROW(stack, capacity, depth + 2, err);
            stack[depth++] = (pending){node->right, n};
            stack[depth++] = (pending){node->left, SIZE_MAX};
        }
        n++;
    }
done:
    free(stack);
    return st;
}

static pboost_status put_member(json_t *members, const pboost_model *m, const pboost_member *member,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool known = (size_t)member->kind < PBOOST_MEMBER_KINDS;
    json_t *object = json_object(), *array;

    TRY(append(members, object, err));
    if (member->coef.n != m->encoding.n_columns)
        FAIL(err, PBOOST_INVALID, "a member of the model has %zu weights, but %zu columns",
             member->coef.n, m->encoding.n_columns);
    if (!known || PARTS[member->kind].trees != (member->forest.n_trees > 0))
        FAIL(err, PBOOST_INVALID, "a member of the model is of the kind '%s', but has %zu trees",
             pboost_member_kind_name(member->kind), member->forest.n_trees);
    TRY(put(object, "kind", json_string(pboost_member_kind_name(member->kind)), err));
    TRY(put_real(object, "weight", member->weight, err));
    TRY(put_real(object, "intercept", member->coef.intercept, err));
    if (PARTS[member->kind].theta) {
        TRY(put(object, "theta", array = json_array(), err));
        TRY(fill_reals(array, "theta", member->coef.theta, member->coef.n, err));
    }
    if (PARTS[member->kind].trees) {
        TRY(put(object, "trees", array = json_array(), err));
        for (size_t t = 0; t < member->forest.n_trees; t++)
            TRY(put_tree(array, &member->forest, member->forest.root[t], err));
    }
done:
    return st;
}

pboost_status pboost_model_put_members(json_t *root, const pboost_model *m, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    json_t *members = json_array();

    TRY(put(root, "members", members, err));
    for (size_t i = 0; i < m->mixture.n; i++)
        TRY(put_member(members, m, &m->mixture.member[i], err));
done:
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Where the reader is, for its checks and messages. */
typedef struct {
    char where[256];      /* "model.json: member 2, tree 17" */
    const size_t *levels; /* by source column; 0: numbers */
    size_t n_columns;
} reading;

static pboost_status get_whole(size_t *out, const json_t *array, size_t i, const char *key,
                               size_t end, const reading *at, pboost_error *err)
{
    const json_t *v = json_array_get(array, i);
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= end)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "%s: \"%s\" of node %zu must be a whole number below %zu", at->where,
                           key, i, end);
    *out = (size_t)json_integer_value(v);
    return PBOOST_OK;
}

/* The codes that go left, for the node at `out`: ascending, all of them levels of its column. */
static pboost_status get_codes(pboost_forest *forest, pboost_node *out, size_t *used,
                               const json_t *codes, size_t levels, const reading *at,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t code = 0, before = 0;

    out->set = (uint32_t)forest->n_codes;
    for (size_t k = 0; k < out->n_set; k++, before = code + 1) {
        TRY(get_whole(&code, codes, (*used)++, "codes", levels, at, err));
        if (code < before)
            FAIL(err, PBOOST_BAD_DATA, "%s: the codes of a node are not ascending", at->where);
        forest->code[forest->n_codes++] = (uint32_t)code;
    }
done:
    return st;
}

/* Node i of a tree of n nodes, without its children. */
static pboost_status get_node(pboost_forest *forest, pboost_node *out, size_t i, size_t *used,
                              const json_t *tree, const reading *at, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *split = json_array_get(json_object_get(tree, "column"), i);
    const json_t *codes = json_object_get(tree, "codes");
    size_t from = 0, flag = 0, n_set = 0;

    out->column = PBOOST_LEAF;
    TRY(get_real(&out->value, json_array_get(json_object_get(tree, "value"), i), "value", at->where,
                 err));
    TRY(get_whole(&flag, json_object_get(tree, "missing_left"), i, "missing_left", 2, at, err));
    TRY(get_whole(&n_set, json_object_get(tree, "left_codes"), i, "left_codes",
                  json_array_size(codes) + 1, at, err));
    if (json_is_integer(split) && json_integer_value(split) == -1)
        goto done;
    TRY(get_whole(&from, json_object_get(tree, "column"), i, "column", at->n_columns, at, err));
    if ((n_set > 0) != (at->levels[from] > 0))
        FAIL(err, PBOOST_BAD_DATA, "%s: node %zu splits a %s, but has %zu codes", at->where, i,
             at->levels[from] > 0 ? "category" : "number", n_set);
    if (n_set > 0 && flag != 0)
        FAIL(err, PBOOST_BAD_DATA,
             "%s: \"missing_left\" of node %zu is 1, but missing categories go right", at->where,
             i);
    out->column = (uint32_t)from;
    out->missing_left = flag;
    out->n_set = (uint32_t)n_set;
    TRY(get_codes(forest, out, used, codes, at->levels[from], at, err));
done:
    return st;
}

/* Finds the children of n nodes in preorder, the first of which is node `base` of the forest. */
static pboost_status link_tree(pboost_node *node, size_t base, size_t n, const json_t *right,
                               const reading *at, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *size = NULL, other = 0;

    NEED(size = pboost_alloc(n, sizeof *size), err);
    for (size_t i = n; i-- > 0;) {
        size[i] = 1;
        if (node[i].column == PBOOST_LEAF)
            continue;
        TRY(get_whole(&other, right, i, "right", n, at, err));
        if (i + 1 == n || other != i + 1 + size[i + 1])
            FAIL(err, PBOOST_BAD_DATA,
                 "%s: \"right\" of node %zu is %zu; it must be the node behind its left subtree",
                 at->where, i, other);
        node[i].left = (uint32_t)(base + i + 1);
        node[i].right = (uint32_t)(base + other);
        size[i] += size[i + 1] + size[other];
    }
    if (size[0] != n)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu nodes, but the root reaches %zu", at->where,
             n, size[0]);
done:
    free(size);
    return st;
}

static pboost_status get_tree(pboost_forest *forest, size_t t, const json_t *tree,
                              const reading *at, pboost_error *err)
{
    static const char *const BY_NODE[] = {"column", "right", "value", "missing_left", "left_codes"};
    pboost_status st = PBOOST_OK;
    pboost_node *node = forest->node + forest->n_nodes;
    size_t n, same, n_codes, used = 0;
    const json_t *array;

    TRY(get_array(&n, tree, "column", &array, at->where, err));
    for (size_t i = 1; i < sizeof BY_NODE / sizeof *BY_NODE; i++) {
        TRY(get_array(&same, tree, BY_NODE[i], &array, at->where, err));
        if (same != n || n == 0)
            FAIL(err, PBOOST_BAD_DATA, "%s: \"%s\" has %zu entries, but there are %zu nodes",
                 at->where, BY_NODE[i], same, n);
    }
    TRY(get_array(&n_codes, tree, "codes", &array, at->where, err));
    for (size_t i = 0; i < n; i++)
        TRY(get_node(forest, &node[i], i, &used, tree, at, err));
    if (used != n_codes)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu codes, but its nodes have %zu", at->where,
             n_codes, used);
    TRY(link_tree(node, forest->n_nodes, n, json_object_get(tree, "right"), at, err));
    forest->root[t] = (uint32_t)forest->n_nodes;
    forest->n_nodes += n;
done:
    return st;
}

static pboost_status get_forest(pboost_forest *out, const json_t *trees, reading *at,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = json_array_size(trees), nodes = 0, codes = 0, end = strlen(at->where);

    for (size_t t = 0; t < n; t++) {
        const json_t *tree = json_array_get(trees, t);
        nodes += json_array_size(json_object_get(tree, "column"));
        codes += json_array_size(json_object_get(tree, "codes"));
    }
    if (n == 0 || nodes >= PBOOST_LEAF || codes >= UINT32_MAX)
        FAIL(err, PBOOST_BAD_DATA, "%s: there are %zu trees of %zu nodes; it must be 1 or more",
             at->where, n, nodes);
    NEED(out->root = calloc(n, sizeof *out->root), err);
    NEED(out->node = calloc(nodes + 1, sizeof *out->node), err);
    NEED(out->code = calloc(codes + 1, sizeof *out->code), err);
    out->n_columns = at->n_columns;
    for (size_t t = 0; t < n; t++) {
        snprintf(at->where + end, sizeof at->where - end, ", tree %zu", t + 1);
        TRY(get_tree(out, t, json_array_get(trees, t), at, err));
    }
    out->n_trees = n;
done:
    at->where[end] = '\0';
    return st;
}

static pboost_status get_kind(pboost_member_kind *out, const json_t *object, const reading *at,
                              pboost_error *err)
{
    const json_t *kind = json_object_get(object, "kind");
    pboost_error why;

    if (!json_is_string(kind))
        return refuse_kind(at->where, "kind", kind, "text", err);
    if (pboost_member_kind_parse(out, json_string_value(kind), &why) != PBOOST_OK)
        return pboost_fail(err, PBOOST_BAD_DATA, "%s: %s", at->where, why.message);
    return PBOOST_OK;
}

static pboost_status get_member(pboost_member *out, const json_t *object, size_t n_theta,
                                reading *at, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *theta, *trees;
    size_t n;

    if (!json_is_object(object))
        TRY(refuse_kind(at->where, "members", object, "an array of objects", err));
    TRY(get_kind(&out->kind, object, at, err));
    TRY(get_real(&out->weight, json_object_get(object, "weight"), "weight", at->where, err));
    if (!(out->weight >= 0.0))
        FAIL(err, PBOOST_BAD_DATA, "%s: \"weight\" is %g; it must be at least 0", at->where,
             out->weight);
    TRY(pboost_coef_init(&out->coef, n_theta, err));
    TRY(get_real(&out->coef.intercept, json_object_get(object, "intercept"), "intercept", at->where,
                 err));
    if (PARTS[out->kind].theta) {
        TRY(get_array(&n, object, "theta", &theta, at->where, err));
        if (n != n_theta)
            FAIL(err, PBOOST_BAD_DATA, "%s: theta has %zu entries, but there are %zu columns",
                 at->where, n, n_theta);
        for (size_t j = 0; j < n; j++)
            TRY(get_real(&out->coef.theta[j], json_array_get(theta, j), "theta", at->where, err));
    }
    if (PARTS[out->kind].trees) {
        TRY(get_array(&n, object, "trees", &trees, at->where, err));
        TRY(get_forest(&out->forest, trees, at, err));
    }
done:
    return st;
}

/* By source column. */
static pboost_status list_levels(size_t **out, const pboost_encoding *encoding, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_source one;

    NEED(*out = pboost_alloc(pboost_encoding_n_sources(encoding), sizeof **out), err);
    for (size_t i = 0; pboost_encoding_source(&one, encoding, i); i++)
        (*out)[i] = one.levels;
done:
    return st;
}

pboost_status pboost_model_get_members(pboost_model *out, const json_t *root, const char *name,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const json_t *members;
    size_t n, *levels = NULL;
    double sum = 0.0;

    TRY(get_array(&n, root, "members", &members, name, err));
    if (n == 0 || json_object_get(root, "theta") != NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: a model has \"theta\", or \"members\" of which %s", name,
             n == 0 ? "there are none" : "each has its own");
    TRY(list_levels(&levels, &out->encoding, err));
    NEED(out->mixture.member = calloc(n, sizeof *out->mixture.member), err);
    out->mixture.n = n;
    for (size_t i = 0; i < n; i++) {
        pboost_member *member = &out->mixture.member[i];
        reading at = {.levels = levels, .n_columns = pboost_encoding_n_sources(&out->encoding)};
        snprintf(at.where, sizeof at.where, "%.200s: member %zu", name, i + 1);
        TRY(get_member(member, json_array_get(members, i), out->encoding.n_columns, &at, err));
        sum += member->weight;
    }
    if (!(fabs(sum - 1.0) <= 1e-9))
        FAIL(err, PBOOST_BAD_DATA, "%s: the weights of the members sum to %.17g; it must be 1",
             name, sum);
done:
    free(levels);
    return st;
}
