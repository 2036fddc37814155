/* The paper's section 3, generalised linear models: its theorem against many draws of the labels,
 * its corollary with bags good, bad and random, and what follows from them. */
#include "theory.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theorem_glm),
        cmocka_unit_test(corollary_glm_bound),
        cmocka_unit_test(corollary_glm_is_sharp),
        cmocka_unit_test(variance_term_can_be_dropped),
        cmocka_unit_test(lemma_taylor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
