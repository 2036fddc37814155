/* A plan of any small table is made of finite numbers, and training can follow it: columns that are
 * constant, collinear, rare (a few rows are not 0) or heavy-tailed, all families, small bags, with
 * and without noise. */
#include "testing.h"

#include "fit_support.h"

enum { KINDS = 6 };

/* One column: the kind says how its values are distributed. */
static double value(int kind, test_rng *rng, const double *row, size_t n)
{
    switch (kind) {
    case 0:
        return normal(rng);
    case 1:
        return 3.0; /* constant */
    case 2:
        return 2.0 * row[0] + 1.0; /* collinear */
    case 3:
        return uniform(rng) < 3.0 / (double)n ? 1.0 : 0.0; /* rare */
    case 4:
        return pow(uniform(rng), -3.0); /* a tail without a mean */
    default:
        return uniform(rng) < 3.0 / (double)n ? 1e6 : 0.0; /* rare and large */
    }
}

typedef struct {
    pboost_family family;
    size_t n, d, k;
    bool noise;
    uint64_t seed;
} plan_case;

static void make_labels(double *y, const double *x, const plan_case *c, test_rng *rng)
{
    for (size_t i = 0; i < c->n; i++) {
        double eta = 0.5 * x[i * c->d];
        if (c->family == PBOOST_LINEAR)
            y[i] = fmax(-5.0, fmin(5.0, eta + normal(rng)));
        else if (c->family == PBOOST_LOGISTIC)
            y[i] = uniform(rng) < 1.0 / (1.0 + exp(2.0 - eta));
        else /* mostly 0 */
            y[i] = fmin(5.0, poisson_draw(rng, exp(eta - 3.0)));
    }
}

static void check_plan(const pboost_plan *plan)
{
    assert_true(plan->n_points > 0 && plan->best < plan->n_points);
    for (size_t i = 0; i < plan->n_points; i++) {
        const pboost_plan_point *p = &plan->point[i];
        assert_true(isfinite(p->excess) && isfinite(p->cautious));
        assert_true(p->estimator == PBOOST_EVENT || isfinite(p->se));
    }
    for (size_t j = 0; j < plan->n_columns; j++)
        assert_true(isfinite(plan->se[j]));
    assert_true(isfinite(plan->all_labels) && isfinite(plan->constant));
    assert_true(isfinite(plan->mean) && isfinite(plan->dispersion) && isfinite(plan->model_error));
    assert_null(strstr(plan->reason, "nan"));
    const pboost_plan_point *best = &plan->point[plan->best]; /* what train would do as well */
    assert_int_equal(best->estimator, PBOOST_AGGREGATE);
    assert_true((best->bags == PBOOST_BAGS_FEATURES && best->rounds == 1) ||
                (best->bags == PBOOST_BAGS_HYBRID && best->rounds == 2));
}

static void check_costs(const pboost_plan *plan)
{
    assert_int_equal(plan->n_costs, 1);
    const pboost_cost *cost = &plan->cost[0];
    assert_true(isfinite(plan->loss_all_labels) && isfinite(plan->loss_constant));
    assert_true(isfinite(plan->measure_all_labels) && isfinite(plan->measure_constant));
    assert_true(isfinite(cost->loss) && isfinite(cost->measure));
    assert_true(isfinite(cost->kept) || plan->all_labels >= plan->constant);
    assert_true(cost->labels >= 0.0 && cost->labels <= (double)plan->rows);
    assert_true(plan->measure_all_labels <= 1.0 && cost->measure <= 1.0);
}

/* As `train` does: plan, choose, first round, choose again, the rest. */
static void train(const plan_case *c, const pboost_matrix *x, const double *y,
                  const pboost_plan_options *o)
{
    pboost_error err;
    pboost_choice choice;
    pboost_memory_oracle *labels;
    pboost_memory_oracle_options holder = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    pboost_run *run;

    assert_ok(pboost_choice_make(&choice, PLAIN(*x), NULL, o, &err), err);
    check_plan(&choice.plan);
    holder.simulated = true;
    holder.seed = c->seed;
    assert_ok(pboost_memory_oracle_create(&labels, y, c->n, &o->rules, &holder, &err), err);
    pboost_oracle oracle = pboost_memory_oracle_interface(labels);
    fit.family = options.family = c->family;
    fit.estimator = choice.estimator;
    options.algorithm = choice.algorithm;
    options.bags = choice.bags;
    options.schedule = choice.schedule;
    options.rounds = choice.rounds;
    options.bag_size = choice.bag_size;
    options.seed = c->seed;
    assert_ok(pboost_run_create(&run, PLAIN(*x), &oracle, &fit, &options, &err), err);
    assert_ok(pboost_run_rounds(run, 1, &err), err);
    assert_ok(pboost_choice_revise(&choice, pboost_run_trainer(run), PLAIN(*x),
                                   pboost_run_coef(run), o, &err),
              err);
    assert_ok(pboost_run_rounds(run, options.rounds, &err), err);
    for (size_t j = 0; j < c->d; j++)
        assert_true(isfinite(pboost_run_coef(run)->theta[j]));
    assert_true(isfinite(pboost_run_coef(run)->intercept));
    pboost_run_free(run);
    pboost_memory_oracle_free(labels);
    pboost_choice_free(&choice);
}

static void check_case(const plan_case *c)
{
    pboost_error err;
    pboost_plan plan;
    pboost_plan_options o = PBOOST_PLAN_OPTIONS_INIT;
    test_rng rng = {c->seed};
    double *x = malloc(c->n * c->d * sizeof *x), *y = malloc(c->n * sizeof *y);
    int kind[16] = {0};

    for (size_t j = 1; j < c->d; j++)
        kind[j] = (int)(uniform(&rng) * KINDS);
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < c->d; j++)
            x[i * c->d + j] = value(kind[j], &rng, x + i * c->d, c->n);
    make_labels(y, x, c, &rng);
    pboost_matrix matrix = pboost_matrix_f64(x, c->n, c->d);
    o.family = c->family;
    o.rules.min_bag = c->k;
    o.seed = c->seed;
    o.costs = true;
    if (c->noise) {
        o.rules.bounded = true;
        o.rules.lower = c->family == PBOOST_LINEAR ? -5.0 : 0.0;
        o.rules.upper = c->family == PBOOST_LOGISTIC ? 1.0 : 5.0;
        o.rules.epsilon = (pboost_rational){1, 1};
    }
    pboost_status st = pboost_plan_make(&plan, PLAIN(matrix), &o, &err);
    if (st != PBOOST_OK) {
        fail_msg("%s, n %zu, d %zu, k %zu, noise %d, seed %zu: %s", pboost_family_name(c->family),
                 c->n, c->d, c->k, c->noise, (size_t)c->seed, err.message);
    }
    check_plan(&plan);
    check_costs(&plan);
    pboost_plan_free(&plan);
    train(c, &matrix, y, &o);
    free(x);
    free(y);
}

static void check_tables(size_t n, size_t tables)
{
    static const size_t K[] = {1, 2, 3, 8};
    for (size_t i = 0; i < tables * 24; i++) {
        plan_case c = {.family = (pboost_family)(i % 3),
                       .n = n + i % 7,
                       .d = 1 + i % 11,
                       .k = K[i / 3 % 4],
                       .noise = i / 12 % 2 == 1,
                       .seed = n + i};
        check_case(&c);
    }
}

static void test_small_tables(void **state)
{
    (void)state;
    check_tables(60, 8);
    check_tables(700, 5);
}

/* The plan knows columns by a part of the rows alone: the others may be far outside. */
static void test_tables_larger_than_the_sample(void **state)
{
    (void)state;
    check_tables(10000, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tables),
        cmocka_unit_test(test_tables_larger_than_the_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
