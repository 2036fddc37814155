/* The distance of two partitions of the same rows: |P - Q| in operator norm, where P = S'S and
 * Q = S~'S~ average over the bags of each (the mismatch of Theorem "UB-risk-approximate"; the paper
 * writes SS', which is the identity for any bags).
 *
 * P and Q are orthogonal projections.  Join two bags, one of each partition, when they share a row:
 * the connected components of that graph split the rows into sets that no bag crosses, so P - Q is
 * block diagonal and its norm is the largest of its blocks'.  In a block P has rank p (its bags of
 * the first partition) and Q rank q.
 *   - p > q: the range of P holds a unit vector u with Qu = 0, so |(P - Q) u| = 1, the largest
 *     possible.  The same holds for p < q.
 *   - p = q: |P - Q|^2 = 1 - s^2 with s the least singular value of C = S S~', the cosine of the
 *     largest angle between the ranges; that is the largest eigenvalue of I - C C'.
 * C[a][b] = |A n B| / sqrt(|A| |B|) is sparse: it has at most one entry for each row. */
#include <math.h>
#include <stdlib.h>

#include <priorboost/theory.h>

#include "theory/eigen.h"
#include "try.h"

#define DENSE_BAGS 96 /* up to here a block is cheaper, and exact, as a dense matrix */

typedef struct {
    size_t row, bag;
} place;

/* One entry of C: bag `a` of the block, and the cosine between the two bags. */
typedef struct {
    size_t a;
    double cosine;
} overlap;

/* C by bags of the second partition: the entries of bag b are entry[start[b] .. start[b+1]). */
typedef struct {
    size_t n_a, n_b;
    size_t *start;
    overlap *entry;
} overlaps;

/* A block of C: the bags bag[0 .. n) of the second partition, and as many of the first, which are
 * numbered by local[]. */
typedef struct {
    const overlaps *all;
    const size_t *bag, *local;
    size_t n;
} block;

static int by_row(const void *left, const void *right)
{
    const place *l = left, *r = right;
    return (l->row > r->row) - (l->row < r->row);
}

static int by_number(const void *left, const void *right)
{
    const size_t *l = left, *r = right;
    return (*l > *r) - (*l < *r);
}

/* The rows of a partition in order, each with its bag; refuses bags that are not a partition. */
static pboost_status places_of(place **out, const pboost_bags *bags, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    place *places = NULL;

    if (bags->n_bags == 0 || bags->start[0] != 0 || bags->start[bags->n_bags] != bags->n_rows)
        FAIL(err, PBOOST_INVALID, "%zu bags do not hold %zu rows", bags->n_bags, bags->n_rows);
    NEED(places = pboost_alloc(bags->n_rows, sizeof *places), err);
    for (size_t b = 0; b < bags->n_bags; b++) {
        if (bags->start[b + 1] <= bags->start[b] || bags->start[b + 1] > bags->n_rows)
            FAIL(err, PBOOST_INVALID, "bag %zu goes from %zu to %zu; it must hold a row", b,
                 bags->start[b], bags->start[b + 1]);
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            places[i] = (place){bags->row[i], b};
    }
    qsort(places, bags->n_rows, sizeof *places, by_row);
    for (size_t i = 1; i < bags->n_rows; i++)
        if (places[i].row == places[i - 1].row)
            FAIL(err, PBOOST_INVALID, "row %zu is in two bags, or twice in one", places[i].row);
    *out = places;
    places = NULL;
done:
    free(places);
    return st;
}

/* For every bag of b in turn, the bag of a that each of its rows is in. */
static pboost_status partners_of(size_t **out, const pboost_bags *a, const pboost_bags *b,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    place *in_a = NULL, *in_b = NULL;
    size_t *partner = NULL, *next = NULL;

    TRY(places_of(&in_a, a, err));
    TRY(places_of(&in_b, b, err));
    if (a->n_rows != b->n_rows)
        FAIL(err, PBOOST_INVALID, "the partitions hold %zu and %zu rows; they must hold the same",
             a->n_rows, b->n_rows);
    NEED(partner = pboost_alloc(b->n_rows, sizeof *partner), err);
    NEED(next = pboost_alloc(b->n_bags, sizeof *next), err);
    for (size_t j = 0; j < b->n_bags; j++)
        next[j] = b->start[j];
    for (size_t i = 0; i < b->n_rows; i++) {
        if (in_a[i].row != in_b[i].row)
            FAIL(err, PBOOST_INVALID, "row %zu is in only one of the two partitions",
                 in_a[i].row < in_b[i].row ? in_a[i].row : in_b[i].row);
        partner[next[in_b[i].bag]++] = in_a[i].bag;
    }
    *out = partner;
    partner = NULL;
done:
    free(in_a);
    free(in_b);
    free(partner);
    free(next);
    return st;
}

static double bag_size(const pboost_bags *bags, size_t b)
{
    return (double)(bags->start[b + 1] - bags->start[b]);
}

static void overlaps_free(overlaps *c)
{
    free(c->start);
    free(c->entry);
    *c = (overlaps){0};
}

static pboost_status overlaps_of(overlaps *out, const pboost_bags *a, const pboost_bags *b,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *partner = NULL, n = 0;

    *out = (overlaps){.n_a = a->n_bags, .n_b = b->n_bags};
    TRY(partners_of(&partner, a, b, err));
    NEED(out->start = pboost_alloc(b->n_bags + 1, sizeof *out->start), err);
    NEED(out->entry = pboost_alloc(b->n_rows, sizeof *out->entry), err);
    for (size_t j = 0; j < b->n_bags; j++) {
        size_t first = b->start[j], end = b->start[j + 1];
        out->start[j] = n;
        qsort(partner + first, end - first, sizeof *partner, by_number);
        for (size_t i = first, run; i < end; i = run) {
            for (run = i; run < end && partner[run] == partner[i];)
                run++;
            double norm = sqrt(bag_size(a, partner[i]) * bag_size(b, j));
            out->entry[n++] = (overlap){partner[i], (double)(run - i) / norm};
        }
    }
    out->start[b->n_bags] = n;
done:
    free(partner);
    if (st != PBOOST_OK)
        overlaps_free(out);
    return st;
}

static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* y = (I - C C') u on a block */
static void apply_block(double *y, const double *u, size_t n, const void *context)
{
    const block *k = context;
    for (size_t i = 0; i < n; i++)
        y[i] = u[i];
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        size_t first = k->all->start[k->bag[j]], end = k->all->start[k->bag[j] + 1];
        for (size_t e = first; e < end; e++)
            sum += k->all->entry[e].cosine * u[k->local[k->all->entry[e].a]];
        for (size_t e = first; e < end; e++)
            y[k->local[k->all->entry[e].a]] -= k->all->entry[e].cosine * sum;
    }
}

/* |P - Q|^2 on a block of equal ranks. */
static double block_norm2(const block *k, double *work)
{
    size_t n = k->n;
    if (n == 1) /* the same bag in both */
        return 0.0;
    if (n > DENSE_BAGS)
        return pboost_eigen_largest_implicit(apply_block, k, n, work);
    double *unit = work, *a = work + 2 * n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            unit[j] = i == j;
        apply_block(a + i * n, unit, n, k);
    }
    return pboost_eigen_largest(a, n, work);
}

/* Numbers the components 0, 1, ... and finds how many bags of each partition each holds.
 * component[] is by bag, the first partition's bags before the second's. */
static size_t find_components(const overlaps *c, size_t *component, size_t *parent, size_t *in_a,
                              size_t *in_b)
{
    size_t n = c->n_a + c->n_b, found = 0;
    for (size_t i = 0; i < n; i++)
        parent[i] = i;
    for (size_t b = 0; b < c->n_b; b++)
        for (size_t e = c->start[b]; e < c->start[b + 1]; e++) {
            size_t left = root_of(parent, c->entry[e].a), right = root_of(parent, c->n_a + b);
            parent[left > right ? left : right] = left < right ? left : right;
        }
    /* The root of a component is its first bag, so it is numbered before the others are. */
    for (size_t i = 0; i < n; i++) {
        size_t root = root_of(parent, i);
        if (root == i) {
            component[i] = found;
            in_a[found] = in_b[found] = 0;
            found++;
        }
        component[i] = component[root];
        (i < c->n_a ? in_a : in_b)[component[i]]++;
    }
    return found;
}

/* The largest |P - Q|^2 over the components, all of equal ranks; n_bag[] is their rank. */
static pboost_status largest_block(double *out, const overlaps *c, const size_t *component,
                                   const size_t *n_bag, size_t n_components, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *first = NULL, *bag = NULL, *local = NULL, *n_local = NULL, rank = 0;
    double *work = NULL, norm2 = 0.0;

    NEED(first = pboost_alloc(n_components + 1, sizeof *first), err);
    NEED(bag = pboost_alloc(c->n_b, sizeof *bag), err);
    NEED(local = pboost_alloc(c->n_a, sizeof *local), err);
    NEED(n_local = calloc(n_components + 1, sizeof *n_local), err);
    first[0] = 0;
    for (size_t k = 0; k < n_components; k++) {
        first[k + 1] = first[k] + n_bag[k];
        rank = rank > n_bag[k] ? rank : n_bag[k];
    }
    for (size_t a = 0; a < c->n_a; a++)
        local[a] = n_local[component[a]]++;
    for (size_t b = c->n_b; b-- > 0;) {
        size_t k = component[c->n_a + b];
        bag[first[k] + --n_local[k]] = b; /* ranks are equal, so this ends at 0 */
    }

    size_t dense = rank < DENSE_BAGS ? rank : DENSE_BAGS;
    NEED(work = pboost_alloc(3 * rank + 3 * EIGEN_STEPS + dense * dense, sizeof *work), err);
    for (size_t k = 0; k < n_components; k++) {
        block this = {c, bag + first[k], local, n_bag[k]};
        norm2 = fmax(norm2, block_norm2(&this, work));
    }
    *out = norm2;
done:
    free(first);
    free(bag);
    free(local);
    free(n_local);
    free(work);
    return st;
}

pboost_status pboost_bags_mismatch(double *out, const pboost_bags *a, const pboost_bags *b,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    overlaps c = {0};
    size_t *component = NULL, *parent = NULL, *in_a = NULL, *in_b = NULL;
    double norm2 = 0.0;

    *out = NAN;
    TRY(overlaps_of(&c, a, b, err));
    size_t n = c.n_a + c.n_b;
    NEED(component = pboost_alloc(n, sizeof *component), err);
    NEED(parent = pboost_alloc(n, sizeof *parent), err);
    NEED(in_a = pboost_alloc(n, sizeof *in_a), err);
    NEED(in_b = pboost_alloc(n, sizeof *in_b), err);
    size_t n_components = find_components(&c, component, parent, in_a, in_b);
    for (size_t k = 0; k < n_components; k++)
        if (in_a[k] != in_b[k])
            norm2 = 1.0;
    if (norm2 < 1.0)
        TRY(largest_block(&norm2, &c, component, in_a, n_components, err));
    *out = sqrt(fmin(fmax(norm2, 0.0), 1.0));
done:
    overlaps_free(&c);
    free(component);
    free(parent);
    free(in_a);
    free(in_b);
    return st;
}
