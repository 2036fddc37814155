/* What the tests of the paper's theory share: a table with its true means, bags good, bad and
 * random, and labels drawn afresh over the same rows. */
#ifndef PBOOST_THEORY_H
#define PBOOST_THEORY_H

#include "testing.h"

#include "theory/eigen.h"

static pboost_error err;

static inline void must(pboost_status status)
{
    if (status != PBOOST_OK)
        fail_msg("%s", err.message);
}

static inline void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static inline void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.9g, want %.9g within %.3g", got, want, tolerance);
}

static inline void assert_at_most(double small, double large)
{
    if (!(small <= large))
        fail_msg("%.17g should be at most %.17g", small, large);
}

/* ---- Data ------------------------------------------------------------------------------------ */

typedef struct {
    size_t n, d;
    double *x, *y, *theta, *mu; /* mu: the true mean of each row */
    pboost_matrix matrix;
} table;

static inline double mean_of(pboost_family family, double eta)
{
    return family == PBOOST_LINEAR     ? eta
           : family == PBOOST_LOGISTIC ? 1.0 / (1.0 + exp(-eta))
                                       : exp(eta);
}

static inline void find_means(table *t, pboost_family family)
{
    for (size_t i = 0; i < t->n; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < t->d; j++)
            eta += t->x[i * t->d + j] * t->theta[j];
        t->mu[i] = mean_of(family, eta);
    }
}

static inline table table_make(pboost_family family, size_t n, size_t d, uint64_t seed)
{
    pboost_synthetic s = PBOOST_SYNTHETIC_INIT;
    table t = {.n = n, .d = d};
    s.family = family;
    s.features = d;
    s.seed = seed;
    t.x = room(n * d, sizeof *t.x);
    t.y = room(n, sizeof *t.y);
    t.theta = room(d, sizeof *t.theta);
    t.mu = room(n, sizeof *t.mu);
    must(pboost_synthetic_theta(t.theta, &s, &err));
    must(pboost_synthetic_rows(t.x, t.y, &s, t.theta, 0, 0, n, 1, &err));
    find_means(&t, family);
    t.matrix = pboost_matrix_f64(t.x, n, d);
    return t;
}

static inline void table_free(table *t)
{
    free(t->x);
    free(t->y);
    free(t->theta);
    free(t->mu);
}

static inline double norm2(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

static inline double distance2(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* ---- Bags ------------------------------------------------------------------------------------ */

typedef enum { OPTIMAL, RANDOM, ADVERSARIAL, KINDS } kind;

/* The worst of bags: sorted scores are dealt out in turn, so that every bag spans the range. */
static inline void deal(pboost_bags *bags, const double *score, size_t n, size_t k)
{
    pboost_bags sorted = {0};
    must(pboost_bags_optimal(&sorted, score, n, 1, 1, &err));
    must(pboost_bags_random(bags, n, k, 0, &err)); /* for its sizes */
    size_t *next = room(bags->n_bags, sizeof *next);
    for (size_t i = 0, b = 0; i < n; b = (b + 1) % bags->n_bags)
        if (bags->start[b] + next[b] < bags->start[b + 1])
            bags->row[bags->start[b] + next[b]++] = sorted.row[i++];
    free(next);
    pboost_bags_free(&sorted);
}

static inline pboost_bags bags_make(kind which, const table *t, size_t k, uint64_t seed)
{
    pboost_bags bags = {0};
    if (which == OPTIMAL)
        must(pboost_bags_optimal(&bags, t->mu, t->n, k, 1, &err));
    else if (which == RANDOM)
        must(pboost_bags_random(&bags, t->n, k, seed, &err));
    else
        deal(&bags, t->mu, t->n, k);
    return bags;
}

static inline double bag_size(const pboost_bags *bags, size_t b)
{
    return (double)(bags->start[b + 1] - bags->start[b]);
}

/* target, by place in bags->row: the mean of y over the row's bag. */
static inline void average(double *target, const pboost_bags *bags, const double *y)
{
    for (size_t b = 0; b < bags->n_bags; b++) {
        double sum = 0.0;
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            sum += y[bags->row[i]];
        for (size_t i = bags->start[b]; i < bags->start[b + 1]; i++)
            target[i] = sum / bag_size(bags, b);
    }
}

/* ---- Labels, drawn afresh over the same rows ------------------------------------------------- */

static inline double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

static inline double draw(pboost_family family, double mu, double sigma, uint64_t *state)
{
    double u = uniform(state);
    if (family == PBOOST_LINEAR)
        return mu + sigma * sqrt(-2.0 * log(u)) * cos(2.0 * acos(-1.0) * uniform(state));
    if (family == PBOOST_LOGISTIC)
        return u < mu;
    double count = 0.0, p = exp(-mu);
    for (; u > p; p *= mu / ++count)
        u -= p;
    return count;
}

static inline void draw_labels(double *y, const table *t, pboost_family family, double sigma,
                               uint64_t *state)
{
    for (size_t i = 0; i < t->n; i++)
        y[i] = draw(family, t->mu[i], sigma, state);
}

/* A mean and its standard error from many draws. */
typedef struct {
    double n, sum, squares;
} tally;

static inline void tally_add(tally *a, double value)
{
    a->n += 1.0;
    a->sum += value;
    a->squares += value * value;
}

/* Within 4 standard errors, which must themselves be small: else the test would show nothing. */
static inline void assert_mean(const tally *a, double want)
{
    double mean = a->sum / a->n;
    double error = sqrt((a->squares / a->n - mean * mean) / a->n);
    assert_at_most(error, 0.03 * want);
    assert_near(mean, want, 4.0 * error);
}

static inline pboost_risk risk_of(const table *t, const pboost_bags *bags, double sigma2)
{
    pboost_risk risk;
    must(pboost_risk_linear(&risk, &t->matrix, bags, t->theta, sigma2, &err));
    return risk;
}

static inline double bound_of(const table *t, const pboost_bags *bags, double sigma2)
{
    double bound;
    must(pboost_risk_linear_bound(&bound, &t->matrix, bags, t->theta, sigma2, &err));
    return bound;
}

/* The extreme eigenvalues of X'X. */
static inline void gram_range(double *least, double *most, const table *t)
{
    size_t d = t->d;
    double *gram = room(2 * d * d + 2 * d, sizeof *gram), *flipped = gram + d * d;
    for (size_t i = 0; i < t->n; i++)
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                gram[a * d + b] += t->x[i * d + a] * t->x[i * d + b];
    for (size_t a = 0; a < d * d; a++)
        flipped[a] = -gram[a];
    *most = pboost_eigen_largest(gram, d, gram + 2 * d * d);
    for (size_t a = 0; a < d; a++)
        flipped[a * d + a] += *most;
    *least = *most - pboost_eigen_largest(flipped, d, gram + 2 * d * d);
    free(gram);
}

#endif
