/* Exchanges of rows between the bags that the tree has made.
 *
 * A tree halves its nodes one direction after another.  With more directions than levels most of
 * them are never split.  Clusters do better: of a normal cloud in d dimensions, m bags of a tree
 * keep about (2/pi) log2(m) / d of the variance, clusters up to 1 - m^(-2/d), which is twice as
 * much if d is large.  So pairs of bags exchange rows.  With I^-2 as it is, an exchange lowers
 * tr I^-1 by the change of the squared distance of the two means in the coordinates I^-1 z.  Two
 * bags of given sizes are best divided across the difference of their means: each gives away the
 * rows that lie farthest on the other's side, as long as two rows that change places gain by it.
 * That is one step of 2-means with fixed sizes.
 *
 * In every round each bag has another partner near it, and then I is computed again.  A second
 * exchange with the same I goes too far, because all bags would serve the same weak directions.
 * The bags with the least error of all rounds are kept, so they are never worse than the tree's. */
#include <math.h>
#include <string.h>

#include "bags/sort.h"
#include "bags/tree_node.h"
#include "base/cancel.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "large.h"
#include "try.h"

#define MOST_ROUNDS 128
#define MOST_NS 5e8      /* of one thread in all rounds; many bags gain little */
#define PATIENCE 3       /* in so many rounds, or in all if they are fewer, */
#define LEAST_GAIN 0.001 /* each must take so much off the error, on average */

/* A fit adds a ridge to the information, about that of so many rows for each direction.  Without it
 * directions that no bags can tell apart would count most. */
#define RIDGE_ROWS 2.0

#define PAIR_STREAM 4 /* of random words */
#define VALUE_NS 1.0  /* what a value of a row takes on one thread in a round */

typedef struct {
    tree *tree;
    size_t *bag;          /* the bags, so that partners are next to each other */
    size_t *group, *next; /* where groups of them start on this level and on the next */
    size_t n_groups, round;
    size_t *place; /* by place in bag, as the next two: room to sort */
    double *key, *sorted;
    size_t largest;   /* rows of the largest bag */
    double *row_key;  /* by worker: two bags' rows */
    double *row_sort; /* the same in order */
    size_t *row_at;   /* and where they stand in their bag */
    uint32_t *best;   /* rows by position, of the bags with the least error */
} exchange;

static void exchange_free(exchange *e)
{
    free(e->bag);
    free(e->group);
    free(e->next);
    free(e->place);
    free(e->key);
    free(e->sorted);
    free(e->row_key);
    free(e->row_sort);
    free(e->row_at);
    free(e->best);
}

static pboost_status exchange_init(exchange *e, tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t m = t->now.count, rows = (size_t)t->threads * 2 * e->largest;

    e->tree = t;
    NEED(e->bag = pboost_alloc(m, sizeof *e->bag), err);
    NEED(e->group = pboost_alloc(m + 1, sizeof *e->group), err);
    NEED(e->next = pboost_alloc(m + 1, sizeof *e->next), err);
    NEED(e->place = pboost_alloc(m, sizeof *e->place), err);
    NEED(e->key = pboost_alloc(m, sizeof *e->key), err);
    NEED(e->sorted = pboost_alloc(m, sizeof *e->sorted), err);
    NEED(e->row_key = pboost_alloc(rows, sizeof *e->row_key), err);
    NEED(e->row_sort = pboost_alloc(rows, sizeof *e->row_sort), err);
    NEED(e->row_at = pboost_alloc(rows, sizeof *e->row_at), err);
    NEED(e->best = pboost_alloc_large(t->n, sizeof *e->best), err);
    memcpy(e->best, t->row, t->n * sizeof *e->best);
done:
    return st;
}

/* b.direction = I^-2 times the difference of two bags' means. */
static void direction_between(const tree *t, size_t bag, size_t other, tree_bench b)
{
    const float *x = t->now.mean + bag * t->stride, *y = t->now.mean + other * t->stride;
    for (size_t j = 0; j < t->stride; j++)
        b.image[j] = x[j] - y[j];
    memset(b.direction, 0, t->stride * sizeof *b.direction);
    t->kernels->times(b.direction, t->inverse, b.image, t->rank, t->stride);
}

static float project_mean(const tree *t, size_t bag, const float *direction)
{
    float value;
    node_rows mean = {t->now.mean + bag * t->stride, NULL, 1, t->stride};
    t->kernels->project(&value, mean, direction, 0.0f);
    return value;
}

/* ---- Partners -------------------------------------------------------------------------------- */

/* Orders the bags of a group along the difference of two of them, drawn at random. */
static pboost_status order_group(void *context, size_t index, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exchange *e = context;
    const tree *t = e->tree;
    tree_bench b = pboost_tree_bench(t, worker);
    size_t first = e->group[index], n = e->group[index + 1] - first;
    size_t *bag = e->bag + first, *place = e->place + first;
    uint64_t word[2];

    if (n <= 2)
        goto done;
    pboost_rng_words(word, 0, RNG_SHUFFLE, PAIR_STREAM, e->round * t->n + first);
    size_t one = word[0] % n, other = (one + 1 + word[1] % (n - 1)) % n;
    direction_between(t, bag[one], bag[other], b);
    for (size_t i = 0; i < n; i++)
        e->key[first + i] = (double)project_mean(t, bag[i], b.direction);
    TRY(pboost_sort_doubles(place, e->sorted + first, e->key + first, n, 1, NULL, err));
    for (size_t i = 0; i < n; i++)
        place[i] = bag[place[i]];
    memcpy(bag, place, n * sizeof *bag);
done:
    return st;
}

/* Halves groups of bags until each is a pair; of an odd number of bags the last is alone. */
static pboost_status find_partners(exchange *e, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const tree *t = e->tree;
    size_t m = t->now.count;
    double level_ns = VALUE_NS * (double)(m * t->stride);

    for (size_t i = 0; i < m; i++)
        e->bag[i] = i;
    e->group[0] = 0;
    e->group[1] = m;
    e->n_groups = 1;
    for (bool larger_groups = m > 2; larger_groups;) {
        size_t count = 0, *group = e->group;
        TRY(pboost_parallel_try(e->n_groups, pboost_threads_for(t->threads, level_ns), order_group,
                                e, err));
        larger_groups = false;
        for (size_t g = 0; g < e->n_groups; g++) {
            size_t pairs = (group[g + 1] - group[g] + 1) / 2;
            e->next[count++] = group[g];
            if (pairs > 1)
                e->next[count++] = group[g] + 2 * (pairs / 2);
            larger_groups = larger_groups || pairs > 2;
        }
        e->next[count] = m;
        e->n_groups = count;
        e->group = e->next;
        e->next = group;
    }
done:
    return st;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A bag's rows in the order of what moving them along the direction gains. */
static pboost_status order_rows(double *key, double *sorted, size_t *at, const tree *t,
                                tree_node bag, const float *direction, float center,
                                pboost_error *err)
{
    float *value = t->value + bag.first;
    size_t n = node_size(bag);
    t->kernels->project(value, tree_rows(t, bag.first, n), direction, center);
    for (size_t i = 0; i < n; i++)
        key[i] = (double)value[i] * (t->weight != NULL ? (double)t->weight[bag.first + i] : 1.0);
    return pboost_sort_doubles(at, sorted, key, n, 1, NULL, err);
}

static pboost_status exchange_pair(void *context, size_t pair, int worker, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exchange *e = context;
    tree *t = e->tree;
    size_t low_bag = e->bag[2 * pair + 1], high_bag = e->bag[2 * pair], count = 0;
    tree_node low = t->now.node[low_bag], high = t->now.node[high_bag];
    size_t room = 2 * e->largest * (size_t)worker, n = node_size(low), m = node_size(high);
    double *key = e->row_key + room, *sorted = e->row_sort + room;
    size_t *at = e->row_at + room;
    uint32_t *from = t->misplaced + low.first, *to = t->misplaced + high.first;
    tree_bench b = pboost_tree_bench(t, worker);

    direction_between(t, high_bag, low_bag, b);
    float center =
        0.5f * (project_mean(t, low_bag, b.direction) + project_mean(t, high_bag, b.direction));
    TRY(order_rows(key, sorted, at, t, low, b.direction, center, err));
    TRY(order_rows(key + n, sorted + n, at + n, t, high, b.direction, center, err));
    for (; count < smaller(n, m) && sorted[n - 1 - count] > sorted[n + count]; count++) {
        from[count] = (uint32_t)(low.first + at[n - 1 - count]);
        to[count] = (uint32_t)(high.first + at[n + count]);
    }
    if (count == 0)
        goto done;
    pboost_tree_swap(t, from, to, count);
    pboost_tree_measure(t, &t->now, low_bag, b);
    pboost_tree_measure(t, &t->now, high_bag, b);
done:
    return st;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void measure_leaf(void *context, size_t leaf, int worker)
{
    tree *t = context;
    pboost_tree_measure(t, &t->now, leaf, pboost_tree_bench(t, worker));
}

/* Makes the leaves the nodes of the level; returns the rows of the largest. */
static size_t find_leaves(tree *t)
{
    size_t largest = 0;
    t->now.count = 0;
    for (size_t i = 0; i < t->n;) {
        size_t end = i + 1;
        while (end < t->n && !t->leaf_start[end])
            end++;
        t->now.node[t->now.count++] = (tree_node){i, end};
        largest = larger(largest, end - i);
        i = end;
    }
    return largest;
}

/* Rounds for which there is time; none if a bag is as large as nodes that all threads split. */
static size_t most_rounds(const tree *t, size_t largest_bag)
{
    double values = (double)t->n * (double)t->stride;
    double rounds = MOST_NS / (VALUE_NS * values + pboost_tree_inverse_ns(t));
    if (t->min_bag == 1 || largest_bag >= TREE_LARGE_NODE)
        return 0;
    return rounds < MOST_ROUNDS ? (size_t)rounds : MOST_ROUNDS;
}

/* Whether the last rounds gained enough to go on. */
static bool still_gains(const double *error, size_t round)
{
    size_t rounds = smaller(round, PATIENCE);
    double limit = (1.0 - LEAST_GAIN * (double)rounds) * error[round - rounds];
    return round == 0 || error[round] <= limit;
}

pboost_status pboost_tree_exchange(tree *t, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    exchange e = {.largest = find_leaves(t)};
    size_t rounds = most_rounds(t, e.largest);
    double error[MOST_ROUNDS + 1], least = INFINITY;
    int threads = pboost_threads_for(t->threads, VALUE_NS * (double)(t->n * t->stride));

    if (rounds == 0)
        goto done;
    TRY(exchange_init(&e, t, err));
    pboost_parallel(t->now.count, threads, measure_leaf, t);
    for (;; e.round++) {
        error[e.round] = pboost_tree_error(t, RIDGE_ROWS * (double)t->rank / (double)t->n);
        if (error[e.round] < least) {
            least = error[e.round];
            memcpy(e.best, t->row, t->n * sizeof *e.best);
        }
        if (e.round == rounds || !still_gains(error, e.round))
            break;
        TRY(find_partners(&e, err));
        TRY(pboost_cancel_check(t->cancel, err));
        TRY(pboost_parallel_try(t->now.count / 2, threads, exchange_pair, &e, err));
    }
    memcpy(t->row, e.best, t->n * sizeof *e.best);
done:
    exchange_free(&e);
    return st;
}
