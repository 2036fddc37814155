/* The paper's theorems, corollaries and lemmas at small scale, each by its name.  What a theorem
 * says about an expectation is compared with the library's own event-level fit over many draws of
 * the labels; what it bounds, with bags good, bad and random. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eigen.h"

static pboost_error err;

static void must(pboost_status status)
{
    if (status != PBOOST_OK)
        fail_msg("%s", err.message);
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.9g, want %.9g within %.3g", got, want, tolerance);
}

static void assert_at_most(double small, double large)
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

static double mean_of(pboost_family family, double eta)
{
    return family == PBOOST_LINEAR     ? eta
           : family == PBOOST_LOGISTIC ? 1.0 / (1.0 + exp(-eta))
                                       : exp(eta);
}

static void find_means(table *t, pboost_family family)
{
    for (size_t i = 0; i < t->n; i++) {
        double eta = 0.0;
        for (size_t j = 0; j < t->d; j++)
            eta += t->x[i * t->d + j] * t->theta[j];
        t->mu[i] = mean_of(family, eta);
    }
}

static table table_make(pboost_family family, size_t n, size_t d, uint64_t seed)
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

static void table_free(table *t)
{
    free(t->x);
    free(t->y);
    free(t->theta);
    free(t->mu);
}

static double norm2(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

static double distance2(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* ---- Bags ------------------------------------------------------------------------------------ */

typedef enum { OPTIMAL, RANDOM, ADVERSARIAL, KINDS } kind;

/* The worst of bags: sorted scores are dealt out in turn, so that every bag spans the range. */
static void deal(pboost_bags *bags, const double *score, size_t n, size_t k)
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

static pboost_bags bags_make(kind which, const table *t, size_t k, uint64_t seed)
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

static double bag_size(const pboost_bags *bags, size_t b)
{
    return (double)(bags->start[b + 1] - bags->start[b]);
}

/* target, by place in bags->row: the mean of y over the row's bag. */
static void average(double *target, const pboost_bags *bags, const double *y)
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

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 12) + 0.5) * 0x1p-52;
}

static double draw(pboost_family family, double mu, double sigma, uint64_t *state)
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

static void draw_labels(double *y, const table *t, pboost_family family, double sigma,
                        uint64_t *state)
{
    for (size_t i = 0; i < t->n; i++)
        y[i] = draw(family, t->mu[i], sigma, state);
}

/* A mean and its standard error from many draws. */
typedef struct {
    double n, sum, squares;
} tally;

static void tally_add(tally *a, double value)
{
    a->n += 1.0;
    a->sum += value;
    a->squares += value * value;
}

/* Within 4 standard errors, which must themselves be small: else the test would show nothing. */
static void assert_mean(const tally *a, double want)
{
    double mean = a->sum / a->n;
    double error = sqrt((a->squares / a->n - mean * mean) / a->n);
    assert_at_most(error, 0.03 * want);
    assert_near(mean, want, 4.0 * error);
}

/* The event-level least squares fit: no ridge, no intercept. */
static void fit(pboost_coef *coef, const table *t, const pboost_bags *bags, const double *target)
{
    pboost_fit_options options = PBOOST_FIT_OPTIONS_INIT;
    pboost_fit_report report;
    pboost_samples samples = {&t->matrix, bags->row, bags->n_rows, target, NULL, NULL};
    options.l2 = 0.0;
    options.intercept = false;
    must(pboost_event_fit(coef, &report, &samples, &options, &err));
    assert_true(report.converged && report.rank == t->d);
}

/* The gradient of the mean event-level loss at theta*: -X'D^-1 (targets - mu) / n. */
static void gradient_at(double *gradient, const table *t, const pboost_bags *bags,
                        const double *target, double phi)
{
    memset(gradient, 0, t->d * sizeof *gradient);
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->d; j++)
            gradient[j] += (t->mu[bags->row[i]] - target[i]) / phi * t->x[bags->row[i] * t->d + j] /
                           (double)t->n;
}

static pboost_risk risk_of(const table *t, const pboost_bags *bags, double sigma2)
{
    pboost_risk risk;
    must(pboost_risk_linear(&risk, &t->matrix, bags, t->theta, sigma2, &err));
    return risk;
}

static double bound_of(const table *t, const pboost_bags *bags, double sigma2)
{
    double bound;
    must(pboost_risk_linear_bound(&bound, &t->matrix, bags, t->theta, sigma2, &err));
    return bound;
}

/* The extreme eigenvalues of X'X. */
static void gram_range(double *least, double *most, const table *t)
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

/* ---- Section 2: linear regression ------------------------------------------------------------ */

static void theorem_linear_regression(void **state)
{
    (void)state;
    const double sigma = 2.0;
    uint64_t random = 1;
    table t = table_make(PBOOST_LINEAR, 240, 4, 11);
    double *target = room(t.n, sizeof *target);
    pboost_coef noiseless, coef;
    must(pboost_coef_init(&noiseless, t.d, &err));
    must(pboost_coef_init(&coef, t.d, &err));

    for (kind which = OPTIMAL; which < KINDS; which++) {
        pboost_bags bags = bags_make(which, &t, 5, 3);
        pboost_risk risk = risk_of(&t, &bags, sigma * sigma);
        tally scatter = {0}, total = {0};

        /* The fit is linear in the labels, so its mean is the fit to the means. */
        average(target, &bags, t.mu);
        fit(&noiseless, &t, &bags, target);
        assert_near(distance2(noiseless.theta, t.theta, t.d), risk.bias, 1e-9 * risk.bias + 1e-20);
        for (int repeat = 0; repeat < 3000; repeat++) {
            draw_labels(t.y, &t, PBOOST_LINEAR, sigma, &random);
            average(target, &bags, t.y);
            fit(&coef, &t, &bags, target);
            tally_add(&scatter, distance2(coef.theta, noiseless.theta, t.d));
            tally_add(&total, distance2(coef.theta, t.theta, t.d));
        }
        assert_mean(&scatter, risk.variance);
        assert_mean(&total, risk.bias + risk.variance);
        pboost_bags_free(&bags);
    }
    pboost_coef_free(&noiseless);
    pboost_coef_free(&coef);
    free(target);
    table_free(&t);
}

static void corollary_linear_regression_bound(void **state)
{
    (void)state;
    const double sigmas[] = {0.0, 0.1, 3.0};
    table t = table_make(PBOOST_LINEAR, 300, 6, 12);
    for (size_t k = 1; k <= 100; k *= 10)
        for (kind which = OPTIMAL; which < KINDS; which++)
            for (int s = 0; s < 3; s++) {
                pboost_bags bags = bags_make(which, &t, k, k);
                double sigma2 = sigmas[s] * sigmas[s];
                pboost_risk risk = risk_of(&t, &bags, sigma2);
                double bound = bound_of(&t, &bags, sigma2);
                assert_at_most(risk.bias + risk.variance, bound * (1.0 + 1e-12));
                /* and it is the bound of the text: the k-means objective and min(m, d) */
                double rest = sigma2 * fmin((double)bags.n_bags, 6.0);
                double least, most;
                gram_range(&least, &most, &t);
                assert_near(bound, (pboost_bags_cost(&bags, t.mu) + rest) / least, 1e-9 * bound);
                pboost_bags_free(&bags);
            }
    table_free(&t);
}

/* One column, constant within bags: nothing is lost between theorem and corollary. */
static void corollary_linear_regression_is_sharp(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 60, 1, 13);
    for (size_t i = 0; i < 60; i++) {
        t.x[i] = (double)(i / 5) - 3.5;
        t.mu[i] = t.x[i] * t.theta[0];
    }
    pboost_bags bags = bags_make(OPTIMAL, &t, 5, 0);
    pboost_risk risk = risk_of(&t, &bags, 0.3);
    assert_near(risk.bias, 0.0, 1e-25);
    assert_near(risk.variance, 0.3 / norm2(t.x, 60), 1e-15);
    assert_near(bound_of(&t, &bags, 0.3), risk.variance, 1e-15);
    pboost_bags_free(&bags);
    table_free(&t);
}

static void optimal_bags_minimise_the_bound(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 400, 4, 14);
    for (size_t k = 2; k <= 32; k *= 4) {
        pboost_bags best = bags_make(OPTIMAL, &t, k, 0), worst = bags_make(ADVERSARIAL, &t, k, 0);
        double least = bound_of(&t, &best, 0.01), most = bound_of(&t, &worst, 0.01);
        double risk = risk_of(&t, &best, 0.01).bias;
        for (uint64_t seed = 0; seed < 20; seed++) {
            pboost_bags bags = bags_make(RANDOM, &t, k, seed);
            double bound = bound_of(&t, &bags, 0.01);
            assert_at_most(10.0 * least, bound);
            assert_at_most(bound, most);
            assert_at_most(10.0 * risk, risk_of(&t, &bags, 0.01).bias);
            pboost_bags_free(&bags);
        }
        pboost_bags_free(&best);
        pboost_bags_free(&worst);
    }
    table_free(&t);
}

static void lemma_sorting_structure(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 90, 3, 15);
    pboost_bags bags = bags_make(OPTIMAL, &t, 4, 0);
    double cost = pboost_bags_cost(&bags, t.mu);
    double *low = room(bags.n_bags, sizeof *low), *high = room(bags.n_bags, sizeof *high);
    for (size_t b = 0; b < bags.n_bags; b++) {
        low[b] = INFINITY;
        high[b] = -INFINITY;
        for (size_t i = bags.start[b]; i < bags.start[b + 1]; i++) {
            low[b] = fmin(low[b], t.mu[bags.row[i]]);
            high[b] = fmax(high[b], t.mu[bags.row[i]]);
        }
    }
    for (size_t a = 0; a < bags.n_bags; a++)
        for (size_t b = 0; b < a; b++)
            assert_true(high[a] <= low[b] || high[b] <= low[a]);
    /* the exchange argument: no two rows can be swapped to advantage */
    for (size_t i = 0; i < t.n; i++)
        for (size_t j = 0; j < i; j++) {
            size_t held = bags.row[i];
            bags.row[i] = bags.row[j];
            bags.row[j] = held;
            assert_at_most(cost * (1.0 - 1e-12), pboost_bags_cost(&bags, t.mu));
            bags.row[j] = bags.row[i];
            bags.row[i] = held;
        }
    free(low);
    free(high);
    pboost_bags_free(&bags);
    table_free(&t);
}

/* ---- Section 3: generalised linear models ---------------------------------------------------- */

static void theorem_glm(void **state)
{
    (void)state;
    uint64_t random = 2;
    const double sigma = 1.5;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        table t = table_make(family, 200, 3, 20);
        double phi = family == PBOOST_LINEAR ? sigma * sigma : 1.0;
        double *target = room(t.n, sizeof *target), gradient[3];
        for (kind which = OPTIMAL; which < KINDS; which++) {
            pboost_bags bags = bags_make(which, &t, 4, 5);
            pboost_risk norm;
            tally total = {0};
            must(pboost_gradient_norm(&norm, family, &t.matrix, &bags, t.theta, phi, &err));
            average(target, &bags, t.mu);
            gradient_at(gradient, &t, &bags, target, phi);
            assert_near(norm2(gradient, 3), norm.bias, 1e-10 * norm.bias);
            for (int repeat = 0; repeat < 6000; repeat++) {
                draw_labels(t.y, &t, family, sigma, &random);
                average(target, &bags, t.y);
                gradient_at(gradient, &t, &bags, target, phi);
                tally_add(&total, norm2(gradient, 3));
            }
            assert_mean(&total, norm.bias + norm.variance);
            pboost_bags_free(&bags);
        }
        free(target);
        table_free(&t);
    }
}

static void corollary_glm_bound(void **state)
{
    (void)state;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        table t = table_make(family, 300, 5, 21);
        for (size_t k = 1; k <= 100; k *= 10)
            for (kind which = OPTIMAL; which < KINDS; which++) {
                pboost_bags bags = bags_make(which, &t, k, k);
                pboost_risk norm;
                double bound;
                must(pboost_gradient_norm(&norm, family, &t.matrix, &bags, t.theta, 0.7, &err));
                must(pboost_gradient_bound(&bound, family, &t.matrix, &bags, t.theta, 0.7, &err));
                assert_at_most(norm.bias + norm.variance, bound);
                pboost_bags_free(&bags);
            }
        table_free(&t);
    }
}

/* One column of one value: the corollary is an equality. */
static void corollary_glm_is_sharp(void **state)
{
    (void)state;
    for (pboost_family family = PBOOST_LINEAR; family <= PBOOST_POISSON; family++) {
        table t = table_make(family, 40, 1, 22);
        for (size_t i = 0; i < t.n; i++)
            t.x[i] = 1.25;
        pboost_bags bags = bags_make(RANDOM, &t, 4, 0);
        pboost_risk norm;
        double bound;
        must(pboost_gradient_norm(&norm, family, &t.matrix, &bags, t.theta, 0.7, &err));
        must(pboost_gradient_bound(&bound, family, &t.matrix, &bags, t.theta, 0.7, &err));
        assert_near(norm.bias + norm.variance, bound, 1e-13 * bound);
        pboost_bags_free(&bags);
        table_free(&t);
    }
}

/* Where m/d >= max v / min v, the bound is L (objective + d max v): the bags enter through the
 * k-means objective alone. */
static void variance_term_can_be_dropped(void **state)
{
    (void)state;
    for (pboost_family family = PBOOST_LOGISTIC; family <= PBOOST_POISSON; family++) {
        table t = table_make(family, 2000, 2, 23);
        t.theta[0] = 0.3; /* variances within a factor of 20 */
        t.theta[1] = -0.4;
        find_means(&t, family);
        pboost_bags bags[2] = {bags_make(OPTIMAL, &t, 4, 0), bags_make(RANDOM, &t, 4, 0)};
        pboost_variance_check check;
        double bound[2], cost[2], most = 0.0, radius = 0.0;
        for (int b = 0; b < 2; b++) {
            must(pboost_variance_ratio(&check, family, &t.matrix, &bags[b], t.theta, &err));
            assert_true(check.droppable);
            must(pboost_gradient_bound(&bound[b], family, &t.matrix, &bags[b], t.theta, 1, &err));
            cost[b] = pboost_bags_cost(&bags[b], t.mu);
        }
        for (size_t i = 0; i < t.n; i++) {
            double mu = t.mu[i];
            most = fmax(most, family == PBOOST_LOGISTIC ? mu * (1.0 - mu) : mu);
            radius = fmax(radius, sqrt(norm2(t.x + 2 * i, 2)));
        }
        double slope = (bound[1] - bound[0]) / (cost[1] - cost[0]);
        assert_near(bound[0], slope * (cost[0] + 2.0 * most), 1e-9 * bound[0]);
        assert_at_most(check.variance_ratio, exp(2.0 * radius * sqrt(norm2(t.theta, 2))));
        pboost_bags_free(&bags[0]);
        pboost_bags_free(&bags[1]);

        /* With two bags for two columns it may not be dropped. */
        pboost_bags few = bags_make(OPTIMAL, &t, 1000, 0);
        must(pboost_variance_ratio(&check, family, &t.matrix, &few, t.theta, &err));
        assert_false(check.droppable);
        pboost_bags_free(&few);
        table_free(&t);
    }
}

/* Lemma "taylor" for least squares, whose loss has curvature between the extreme eigenvalues of
 * X'X / n: the error lies between |gradient| / L and |gradient| / mu, in mean square too. */
static void lemma_taylor(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 80, 5, 24);
    double mu, most;
    gram_range(&mu, &most, &t);
    mu /= (double)t.n;
    most /= (double)t.n;
    for (kind which = OPTIMAL; which < KINDS; which++) {
        pboost_bags bags = bags_make(which, &t, 4, 7);
        /* phi = 1: unit noise, and the plain squared loss */
        pboost_risk risk = risk_of(&t, &bags, 1.0), norm;
        must(pboost_gradient_norm(&norm, PBOOST_LINEAR, &t.matrix, &bags, t.theta, 1.0, &err));
        assert_at_most(risk.bias, norm.bias / (mu * mu));
        assert_at_most(norm.bias / (most * most), risk.bias);
        assert_at_most(risk.variance, norm.variance / (mu * mu));
        assert_at_most(norm.variance / (most * most), risk.variance);
        pboost_bags_free(&bags);
    }
    table_free(&t);
}

/* ---- Section 4: curated against random bags -------------------------------------------------- */

static void theorem_upper_bound_for_optimal_bags(void **state)
{
    (void)state;
    const double sigma2 = 0.01;
    for (size_t k = 2; k <= 32; k *= 4) {
        double first = 0.0, last = 0.0;
        for (size_t n = 512; n <= 32768; n *= 4) {
            table t = table_make(PBOOST_LINEAR, n, 8, 30);
            pboost_bags bags = bags_make(OPTIMAL, &t, k, 0), other = bags_make(RANDOM, &t, k, 0);
            pboost_risk risk = risk_of(&t, &bags, sigma2), poor = risk_of(&t, &other, sigma2);
            double rate = ((double)k * log((double)n) * norm2(t.theta, 8) + sigma2 * 8.0) /
                          (double)n; /* Sigma = I */
            /* with Gaussian features the theorem's constant can be far below 1 */
            assert_at_most(risk.bias + risk.variance, 0.01 * rate);
            last = risk.bias + risk.variance;
            first = n == 512 ? last : first;
            if (n == 32768)
                assert_at_most(50.0 * rate, poor.bias);
            pboost_bags_free(&bags);
            pboost_bags_free(&other);
            table_free(&t);
        }
        /* 64 times the rows: at most log n above 1/64 */
        assert_at_most(last, first / 64.0 * log(32768.0) / log(512.0) * 1.5);
    }
}

static void theorem_lower_bound_for_random_bags(void **state)
{
    (void)state;
    const double sigma2 = 0.5, d = 8.0;
    for (size_t k = 2; k <= 32; k *= 4) {
        double miss[2];
        for (int large = 0; large < 2; large++) {
            size_t n = large ? 65536 : 1024;
            table t = table_make(PBOOST_LINEAR, n, 8, 31);
            double floor = pboost_random_bags_bound(k, t.theta, 8), rows = (double)n;
            miss[large] = 0.0;
            for (uint64_t seed = 0; seed < 4; seed++) {
                pboost_bags bags = bags_make(RANDOM, &t, k, seed);
                pboost_risk risk = risk_of(&t, &bags, sigma2);
                double slack = d * sqrt(log(d) / rows);
                double lost = fmax(0.0, 1.0 - 1.0 / (double)k - slack);
                double noise = (d - sqrt(d * log(d))) / pow(1.0 + sqrt(d / rows), 2.0);
                assert_at_most(lost * lost * norm2(t.theta, 8), risk.bias);
                assert_at_most(sigma2 / ((double)k * rows) * noise, risk.variance);
                miss[large] += fabs(risk.bias / floor - 1.0) / 4.0;
                if (large)
                    assert_near(risk.variance, sigma2 * d / ((double)k * rows),
                                0.1 * risk.variance);
                pboost_bags_free(&bags);
            }
            table_free(&t);
        }
        /* random bags never lose that bias, and have no more in the limit */
        assert_at_most(miss[1], 0.02);
        assert_at_most(miss[1], 0.5 * miss[0]);
    }
}

/* out = (S'S - S~'S~) z */
static void apply_difference(double *out, const double *z, const pboost_bags *a,
                             const pboost_bags *b)
{
    double *mean = room(a->n_rows, sizeof *mean);
    average(mean, a, z);
    for (size_t i = 0; i < a->n_rows; i++)
        out[a->row[i]] = mean[i];
    average(mean, b, z);
    for (size_t i = 0; i < b->n_rows; i++)
        out[b->row[i]] -= mean[i];
    free(mean);
}

/* |S'S - S~'S~| by the power method on all rows. */
static double power_norm(const pboost_bags *a, const pboost_bags *b)
{
    size_t n = a->n_rows;
    uint64_t random = 3;
    double *z = room(n, sizeof *z), *next = room(n, sizeof *next), norm = 0.0;
    for (size_t i = 0; i < n; i++)
        z[i] = uniform(&random) - 0.5;
    for (int step = 0; step < 3000; step++) {
        double scale = 1.0 / sqrt(norm2(z, n));
        for (size_t i = 0; i < n; i++)
            z[i] *= scale;
        apply_difference(next, z, a, b);
        norm = sqrt(norm2(next, n));
        if (norm == 0.0)
            break;
        memcpy(z, next, n * sizeof *z);
    }
    free(z);
    free(next);
    return norm;
}

/* Optimal bags for a prior that is off by `error` relative to theta*. */
static pboost_bags prior_bags(const table *t, size_t k, double error)
{
    table prior = *t;
    pboost_bags bags;
    prior.mu = room(t->n, sizeof *prior.mu);
    for (size_t i = 0; i < t->n; i++)
        prior.mu[i] = t->mu[i] + error * t->x[i * t->d];
    bags = bags_make(OPTIMAL, &prior, k, 0);
    free(prior.mu);
    return bags;
}

static double mismatch_of(const pboost_bags *a, const pboost_bags *b)
{
    double mismatch;
    must(pboost_bags_mismatch(&mismatch, a, b, &err));
    return mismatch;
}

/* The theorem's inequality and a step of its proof, for the bags `other` in place of `bags`; with
 * the proof's factor of 2, which the statement leaves out.  Returns the mismatch. */
static double check_mismatch(const table *t, const pboost_bags *bags, const pboost_bags *other)
{
    const double sigma2 = 0.01;
    double mismatch = mismatch_of(bags, other), signal = sqrt(norm2(t->mu, t->n)), least, most;
    pboost_risk risk = risk_of(t, other, sigma2);
    gram_range(&least, &most, t);
    assert_near(mismatch, power_norm(bags, other), 1e-3);
    assert_at_most(sqrt(pboost_bags_cost(other, t->mu)),
                   sqrt(pboost_bags_cost(bags, t->mu)) + (mismatch + 1e-12) * signal);
    assert_at_most(risk.bias + risk.variance,
                   2.0 * bound_of(t, bags, sigma2) +
                       2.0 * most / least * mismatch * mismatch * norm2(t->theta, t->d));
    return mismatch;
}

static void theorem_mismatch(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 600, 3, 40);
    pboost_bags bags = bags_make(OPTIMAL, &t, 40, 0);
    for (double error = 0.0; error<1.0; error = error> 0.0 ? 4.0 * error : 1e-3) {
        pboost_bags other = prior_bags(&t, 40, error);
        double mismatch = check_mismatch(&t, &bags, &other);
        assert_true(error > 0.0 || mismatch == 0.0);
        pboost_bags_free(&other);
    }
    pboost_bags random = bags_make(RANDOM, &t, 40, 0);
    assert_true(check_mismatch(&t, &bags, &random) > 0.9);
    pboost_bags_free(&random);

    /* a prior that is wrong about two rows next to each other */
    pboost_bags swapped = bags_make(OPTIMAL, &t, 40, 0);
    size_t edge = swapped.start[1], held = swapped.row[edge];
    swapped.row[edge] = swapped.row[edge - 1];
    swapped.row[edge - 1] = held;
    double cosine = 1.0 - 1.0 / bag_size(&bags, 0) - 1.0 / bag_size(&bags, 1);
    assert_near(check_mismatch(&t, &bags, &swapped), sqrt(1.0 - cosine * cosine), 1e-12);
    pboost_bags_free(&swapped);
    pboost_bags_free(&bags);
    table_free(&t);
}

static void mismatch_does_not_see_the_order_of_bags(void **state)
{
    (void)state;
    table t = table_make(PBOOST_LINEAR, 60, 2, 41);
    pboost_bags bags = bags_make(OPTIMAL, &t, 5, 0), turned = bags_make(OPTIMAL, &t, 5, 0);
    for (size_t i = 0; i < 60; i++)
        turned.row[i] = bags.row[59 - i];
    for (size_t b = 0; b <= bags.n_bags; b++)
        turned.start[b] = 60 - bags.start[bags.n_bags - b];
    assert_true(mismatch_of(&bags, &turned) == 0.0);
    size_t held = turned.row[0], other = turned.start[1];
    turned.row[0] = turned.row[other];
    turned.row[other] = held;
    assert_true(mismatch_of(&bags, &turned) > 0.5);
    pboost_bags_free(&bags);
    pboost_bags_free(&turned);
    table_free(&t);
}

/* ---- Section 5: the dynamic program ---------------------------------------------------------- */

static int ascending(const void *left, const void *right)
{
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

/* The paper's recurrence as it stands, over all sizes of the last bag from k on. */
static long double least_cost(const double *score, size_t n, size_t k)
{
    double *sorted = room(n, sizeof *sorted);
    long double *f = room(n + 1, sizeof *f), answer;
    memcpy(sorted, score, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 1; i <= n; i++) {
        long double mean = 0, cost = 0;
        f[i] = INFINITY;
        for (size_t s = 1; s <= i; s++) {
            long double gap = sorted[i - s] - mean;
            cost += gap * gap * (long double)(s - 1) / (long double)s;
            mean += gap / (long double)s;
            if (s >= k)
                f[i] = fminl(f[i], f[i - s] + cost);
        }
    }
    answer = f[n];
    free(sorted);
    free(f);
    return answer;
}

static void lemma_sizes_below_2k_suffice(void **state)
{
    (void)state;
    for (size_t k = 1; k <= 20; k++)
        for (size_t n = k; n <= 200; n += 33) {
            table t = table_make(PBOOST_POISSON, n, 3, n);
            pboost_bags bags = bags_make(OPTIMAL, &t, k, 0);
            for (size_t b = 0; b < bags.n_bags; b++)
                assert_true(bag_size(&bags, b) >= (double)k &&
                            bag_size(&bags, b) < 2.0 * (double)k);
            long double least = least_cost(t.mu, n, k);
            assert_near(pboost_bags_cost(&bags, t.mu), (double)least,
                        1e-12 * (double)least + 1e-28);
            pboost_bags_free(&bags);
            table_free(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theorem_linear_regression),
        cmocka_unit_test(corollary_linear_regression_bound),
        cmocka_unit_test(corollary_linear_regression_is_sharp),
        cmocka_unit_test(optimal_bags_minimise_the_bound),
        cmocka_unit_test(lemma_sorting_structure),
        cmocka_unit_test(theorem_glm),
        cmocka_unit_test(corollary_glm_bound),
        cmocka_unit_test(corollary_glm_is_sharp),
        cmocka_unit_test(variance_term_can_be_dropped),
        cmocka_unit_test(lemma_taylor),
        cmocka_unit_test(theorem_upper_bound_for_optimal_bags),
        cmocka_unit_test(theorem_lower_bound_for_random_bags),
        cmocka_unit_test(theorem_mismatch),
        cmocka_unit_test(mismatch_does_not_see_the_order_of_bags),
        cmocka_unit_test(lemma_sizes_below_2k_suffice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
