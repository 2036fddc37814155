/* Forests fitted to answers: what they learn, what they refuse, and that threads do not matter. */
#include "testing.h"

#include "trees/fit.h"
#include "unit/trees/support.h"

typedef struct {
    pboost_forest forest;
    double intercept;
    pboost_forest_report report;
    double *left_out;
} grown;

static grown grow(const pboost_columns *columns, const double *start, const double *weight,
                  const pboost_answers *a, const pboost_forest_options *o)
{
    grown g = {.left_out = calloc(a->n_bags, sizeof *g.left_out)};
    pboost_error err;
    assert_ok(pboost_forest_fit(&g.forest, &g.intercept, &g.report, g.left_out, columns, start,
                                weight, a, 0, o, &err),
              err);
    return g;
}

static void grown_free(grown *g)
{
    pboost_forest_free(&g->forest);
    free(g->left_out);
}

static double *predicted(const grown *g, const pboost_columns *columns, const double *start)
{
    pboost_error err;
    double *eta = calloc(columns->rows, sizeof *eta);
    for (size_t i = 0; i < columns->rows; i++)
        eta[i] = (start != NULL ? start[i] : 0.0) + g->intercept;
    assert_ok(pboost_forest_add(eta, &g->forest, columns, NULL, columns->rows, 1, &err), err);
    return eta;
}

static double squared_error(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum / (double)n;
}

static double variance(const double *a, size_t n)
{
    double mean = 0.0, sum = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += a[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - mean) * (a[i] - mean);
    return sum / (double)n;
}

/* ---- What is learnt -------------------------------------------------------------------------- */

static void test_curves_are_learnt_from_bags(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        curve_table t;
        curve_open(&t, FAMILIES[f], 12000, 3 + f);
        pboost_answers a = curve_answers(&t, 8, 0.0, 5);
        pboost_forest_options o = forest_options(FAMILIES[f]);
        grown g = grow(&t.columns, NULL, NULL, &a, &o);
        double *eta = predicted(&g, &t.columns, NULL);
        /* Four fifths of the variation of the rows' predictors, which no answer shows. */
        assert_true(squared_error(eta, t.eta, t.n) < 0.2 * variance(t.eta, t.n));
        assert_true(g.report.misfit < 0.8 * g.report.constant_misfit);
        assert_false(g.report.worse_than_constant);
        assert_true(g.report.trees > 5);
        assert_int_equal(g.report.bags, a.n_bags);
        free(eta);
        grown_free(&g);
        pboost_answers_clear(&a);
        curve_close(&t);
    }
}

/* With bags of one row and no noise the first stump is that of ordinary boosting: the split of all
 * that lowers the squared error most. */
static void test_one_row_bags_are_ordinary_boosting(void **state)
{
    (void)state;
    enum { N = 200 };
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, N, 9);
    pboost_answers a = curve_answers(&t, 1, 0.0, 1);
    pboost_column number[] = {t.column[1], t.column[3]};
    pboost_columns columns = {.rows = N, .n = 2, .column = number};
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    o.trees = 1;
    o.folds = 0;
    o.leaves = 2;
    o.min_rows = 1;
    o.rate = o.bag_fraction = o.column_fraction = 1.0;
    o.l2 = 0.0;
    grown g = grow(&columns, NULL, NULL, &a, &o);
    double *eta = predicted(&g, &columns, NULL), best = INFINITY;
    for (size_t j = 0; j < 2; j++)
        for (size_t c = 0; c < N; c++) {
            double sum[2] = {0}, n[2] = {0}, error = 0.0, cut = number[j].number[3 * c];
            for (size_t i = 0; i < N; i++) {
                bool right = number[j].number[3 * i] > cut;
                sum[right] += t.y[i];
                n[right]++;
            }
            for (size_t i = 0; i < N; i++) {
                bool right = number[j].number[3 * i] > cut;
                error += (t.y[i] - sum[right] / n[right]) * (t.y[i] - sum[right] / n[right]);
            }
            best = n[1] > 0.0 ? fmin(best, error / N) : best;
        }
    assert_close(squared_error(eta, t.y, N), best, 1e-6);
    free(eta);
    grown_free(&g);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* The sum of squares that a linear fit minimises falls with every tree; and the predictor is, to
 * the bit, what the forest adds up to. */
static void test_every_tree_lowers_the_objective(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 3000, 4);
    pboost_answers a = curve_answers(&t, 5, 0.0, 2);
    double last = INFINITY;
    for (size_t trees = 1; trees <= 40; trees += 3) {
        pboost_forest_options o = forest_options(PBOOST_LINEAR);
        o.trees = trees;
        o.folds = 0;
        grown g = grow(&t.columns, NULL, NULL, &a, &o);
        double *eta = predicted(&g, &t.columns, NULL), sum = 0.0;
        for (size_t b = 0; b < a.n_bags; b++) {
            double mean = 0.0, size = (double)(a.start[b + 1] - a.start[b]);
            for (size_t i = a.start[b]; i < a.start[b + 1]; i++)
                mean += eta[a.row[i]];
            mean /= size;
            assert_true(mean == g.left_out[b]);
            sum += (a.mean[b] - mean) * (a.mean[b] - mean) * size;
        }
        assert_true(sum < last);
        last = sum;
        free(eta);
        grown_free(&g);
    }
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* A start that knows the step leaves less to the trees; the intercept makes up for its level. */
static void test_start_is_where_trees_begin(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_POISSON, 8000, 6);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_POISSON);
    double *start = calloc(t.n, sizeof *start);
    for (size_t i = 0; i < t.n; i++)
        start[i] = t.eta[i] + 3.0;
    grown g = grow(&t.columns, start, NULL, &a, &o);
    double *eta = predicted(&g, &t.columns, start);
    assert_true(squared_error(eta, t.eta, t.n) < 0.03 * variance(t.eta, t.n));
    assert_close(g.intercept, -3.0, 0.05);
    free(eta);
    free(start);
    grown_free(&g);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* Rows of weight 0 say nothing: absurd answers about them change nothing. */
static void test_weight_zero_counts_for_nothing(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 4000, 8);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    double *weight = calloc(t.n, sizeof *weight);
    o.trees = 20;
    o.folds = 0;
    for (size_t b = 0; b < a.n_bags; b++)
        for (size_t i = a.start[b]; i < a.start[b + 1]; i++)
            weight[a.row[i]] = b % 3 > 0;
    grown g = grow(&t.columns, NULL, weight, &a, &o);
    double *one = predicted(&g, &t.columns, NULL);
    grown_free(&g);
    for (size_t b = 0; b < a.n_bags; b += 3)
        a.mean[b] += b % 2 > 0 ? 1000.0 : -1000.0;
    g = grow(&t.columns, NULL, weight, &a, &o);
    double *two = predicted(&g, &t.columns, NULL);
    for (size_t i = 0; i < t.n; i++)
        assert_true(one[i] == two[i]);
    grown_free(&g);
    o.trees = 0;
    o.folds = 3;
    g = grow(&t.columns, NULL, weight, &a, &o);
    assert_true(g.report.trees > 5 && g.report.misfit < 0.9 * g.report.constant_misfit);
    free(one);
    free(two);
    free(weight);
    grown_free(&g);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* ---- Little to learn from -------------------------------------------------------------------- */

/* Answers that are noise alone: bags left out say that trees do not help. */
static void test_noise_is_not_learnt(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        curve_table t;
        curve_open(&t, FAMILIES[f], 4000, 11);
        pboost_answers a = curve_answers(&t, 8, 100.0, 7);
        pboost_forest_options o = forest_options(FAMILIES[f]);
        grown g = grow(&t.columns, NULL, NULL, &a, &o);
        assert_true(g.report.misfit <= g.report.constant_misfit * (1.0 + 1e-9));
        assert_false(g.report.worse_than_constant);
        assert_true(isfinite(g.intercept));
        grown_free(&g);
        pboost_answers_clear(&a);
        curve_close(&t);
    }
}

/* The mean squared error of forests from answers with Laplace noise of sixteen times the variance
 * of the bags' means, over several tables. */
static double error_under_noise(bool known)
{
    enum { TABLES = 6 };
    double error = 0.0;
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        curve_table t;
        curve_open(&t, PBOOST_LINEAR, 12000, seed);
        pboost_answers a = curve_answers(&t, 8, 4.0, seed);
        pboost_forest_options o = forest_options(PBOOST_LINEAR);
        a.other_noise = !known;
        grown g = grow(&t.columns, NULL, NULL, &a, &o);
        double *eta = predicted(&g, &t.columns, NULL);
        error += squared_error(eta, t.eta, t.n) / TABLES;
        free(eta);
        grown_free(&g);
        pboost_answers_clear(&a);
        curve_close(&t);
    }
    return error;
}

static void test_the_law_of_the_noise_is_used(void **state)
{
    (void)state;
    double known = error_under_noise(true), unknown = error_under_noise(false);
    if (!(known < 0.85 * unknown))
        fail_msg("the error is %g, and %g without the law", known, unknown);
}

static void assert_constant(const pboost_columns *columns, const pboost_answers *a,
                            const pboost_forest_options *o)
{
    grown g = grow(columns, NULL, NULL, a, o);
    assert_int_equal(g.forest.n_trees, 0);
    assert_int_equal(g.report.trees, 0);
    assert_false(g.report.worse_than_constant);
    assert_true(isfinite(g.intercept));
    assert_true(g.report.misfit == g.report.constant_misfit);
    grown_free(&g);
}

static void test_tables_without_splits_give_constants(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LOGISTIC, 400, 12);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LOGISTIC);
    double one = 7.0, missing = NAN;
    static uint32_t no_level[400];
    memset(no_level, 0xff, sizeof no_level);
    pboost_column empty[] = {
        {.number = &one}, {.number = &missing}, {.code = no_level, .levels = 2}};
    assert_constant(&(pboost_columns){.rows = 400, .n = 3, .column = empty}, &a, &o);
    o.min_rows = 401;
    assert_constant(&t.columns, &a, &o);
    o.trees = 3;
    o.folds = 0;
    assert_constant(&t.columns, &a, &o);
    pboost_answers_clear(&a);
    curve_close(&t);
}

static void test_few_bags_and_equal_labels(void **state)
{
    (void)state;
    for (size_t f = 0; f < 3; f++) {
        curve_table t;
        curve_open(&t, FAMILIES[f], 100, 13);
        pboost_answers ten = curve_answers(&t, 10, 0.0, 5), one = curve_answers(&t, 100, 0.0, 5);
        pboost_forest_options o = forest_options(FAMILIES[f]);
        o.min_rows = 5;
        grown g = grow(&t.columns, NULL, NULL, &ten, &o);
        assert_false(g.report.worse_than_constant);
        grown_free(&g);
        g = grow(&t.columns, NULL, NULL, &one, &o);
        assert_true(isfinite(g.intercept));
        grown_free(&g);
        for (size_t b = 0; b < ten.n_bags; b++)
            ten.mean[b] = f == 0 ? -3.0 : 0.0;
        g = grow(&t.columns, NULL, NULL, &ten, &o);
        double *eta = predicted(&g, &t.columns, NULL);
        for (size_t i = 0; i < t.n; i++)
            assert_true(f == 0 ? fabs(eta[i] + 3.0) < 1e-9 : eta[i] < -2.0 && eta[i] > -30.0);
        free(eta);
        grown_free(&g);
        pboost_answers_clear(&ten);
        pboost_answers_clear(&one);
        curve_close(&t);
    }
}

/* A category of as many levels as rows takes no more memory than one of 255. */
static void test_a_million_levels(void **state)
{
    (void)state;
    enum { LEVELS = 1000000 };
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 6000, 14);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    uint32_t *code = calloc(t.n, sizeof *code);
    for (size_t i = 0; i < t.n; i++)
        code[i] = (uint32_t)(i * 166);
    t.column[3] = (pboost_column){.code = code, .levels = LEVELS};
    o.max_trees = 100;
    grown g = grow(&t.columns, NULL, NULL, &a, &o);
    double *eta = predicted(&g, &t.columns, NULL);
    assert_true(squared_error(eta, t.eta, t.n) < 0.25 * variance(t.eta, t.n));
    assert_true(g.forest.n_codes <= g.forest.n_nodes * 255);
    free(eta);
    free(code);
    grown_free(&g);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* ---- Threads, stops, refusals ---------------------------------------------------------------- */

static void assert_same_forest(const pboost_forest *a, const pboost_forest *b)
{
    assert_int_equal(a->n_trees, b->n_trees);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_codes, b->n_codes);
    assert_memory_equal(a->root, b->root, a->n_trees * sizeof *a->root);
    if (a->n_codes > 0)
        assert_memory_equal(a->code, b->code, a->n_codes * sizeof *a->code);
    for (size_t i = 0; i < a->n_nodes; i++) {
        const pboost_node *x = &a->node[i], *y = &b->node[i];
        assert_true(x->column == y->column && x->left == y->left && x->right == y->right &&
                    x->set == y->set && x->n_set == y->n_set &&
                    x->missing_left == y->missing_left && x->value == y->value);
    }
}

/* A small table gives each thread a forest, a large one gives a forest all threads. */
static void test_threads_do_not_matter(void **state)
{
    (void)state;
    const size_t rows[] = {4000, 150000};
    for (size_t k = 0; k < 2; k++) {
        curve_table t;
        curve_open(&t, PBOOST_LOGISTIC, rows[k], 15);
        pboost_answers a = curve_answers(&t, 8, 0.01, 5);
        pboost_forest_options o = forest_options(PBOOST_LOGISTIC);
        o.max_trees = k == 0 ? 60 : 6;
        o.folds = 3;
        grown one = grow(&t.columns, NULL, NULL, &a, &o);
        for (int threads = 2; threads <= 5; threads += 3) {
            o.threads = threads;
            grown more = grow(&t.columns, NULL, NULL, &a, &o);
            assert_same_forest(&one.forest, &more.forest);
            assert_true(one.intercept == more.intercept);
            assert_memory_equal(one.left_out, more.left_out, a.n_bags * sizeof(double));
            grown_free(&more);
        }
        assert_true(one.forest.n_trees > 0);
        grown_free(&one);
        pboost_answers_clear(&a);
        curve_close(&t);
    }
}

static void test_a_fit_can_be_stopped(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 2000, 16);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    pboost_forest forest;
    double intercept;
    pboost_error err;
    look_limit limit = {0, 4};
    pboost_cancel cancel = {.stop = runs_out, .user = &limit};
    o.cancel = &cancel;
    assert_fails(
        pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, &a, 0, &o, &err),
        PBOOST_CANCELLED, err, "stopped");
    assert_null(forest.node);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* A fold that is given decides which bags are left out. */
static void test_folds_may_be_given(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 2000, 17);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LINEAR);
    unsigned char *fold = calloc(a.n_bags, 1);
    pboost_forest forest;
    double intercept;
    pboost_error err;
    o.folds = 2;
    o.trees = 10;
    o.fold = fold;
    for (size_t b = 0; b < a.n_bags; b++)
        fold[b] = b >= a.n_bags / 2;
    grown g = grow(&t.columns, NULL, NULL, &a, &o);
    /* What is predicted of a bag does not depend on its own answer, nor on its fold's. */
    double *before = calloc(a.n_bags, sizeof *before);
    memcpy(before, g.left_out, a.n_bags * sizeof *before);
    grown_free(&g);
    a.mean[0] += 100.0;
    g = grow(&t.columns, NULL, NULL, &a, &o);
    for (size_t b = 0; b < a.n_bags / 2; b++)
        assert_true(before[b] == g.left_out[b]);
    assert_true(before[a.n_bags - 1] != g.left_out[a.n_bags - 1]);
    memset(fold, 0, a.n_bags);
    assert_fails(
        pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, &a, 0, &o, &err),
        PBOOST_BAD_DATA, err, "without the bags of fold 0");
    fold[3] = 2;
    assert_fails(
        pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, &a, 0, &o, &err),
        PBOOST_INVALID, err, "bag 3 is in fold 2");
    free(before);
    free(fold);
    grown_free(&g);
    pboost_answers_clear(&a);
    curve_close(&t);
}

typedef struct {
    const double *start[2];
    size_t rows;
} given_starts;

static pboost_status copy_start(double *eta, void *self, size_t fold, pboost_error *err)
{
    const given_starts *g = self;
    if (g->start[fold] == NULL)
        return pboost_fail(err, PBOOST_CANCELLED, "no start");
    memcpy(eta, g->start[fold], g->rows * sizeof *eta);
    return PBOOST_OK;
}

/* Starts that are computed one after the other are those that are given all at once. */
static void check_computed_starts(const curve_table *t, const pboost_answers *a,
                                  pboost_forest_options o)
{
    given_starts given = {{o.fold_start[0], o.fold_start[1]}, t->n};
    forest_starts starts = {&given, copy_start};
    grown two = grow(&t->columns, NULL, NULL, a, &o);
    pboost_forest forest;
    double intercept;
    pboost_error err;
    o.fold_start = NULL;
    assert_ok(pboost_forest_fit_from(&forest, &intercept, NULL, NULL, &t->columns, NULL, &starts,
                                     NULL, a, 0, &o, &err),
              err);
    assert_same_forest(&forest, &two.forest);
    assert_true(intercept == two.intercept);
    pboost_forest_free(&forest);
    given.start[1] = NULL;
    assert_fails(pboost_forest_fit_from(&forest, &intercept, NULL, NULL, &t->columns, NULL, &starts,
                                        NULL, a, 0, &o, &err),
                 PBOOST_CANCELLED, err, "no start");
    grown_free(&two);
}

/* A start for each fold: equal ones are one start; otherwise each forest has its own. */
static void test_folds_may_have_starts(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LOGISTIC, 2000, 19);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    pboost_forest_options o = forest_options(PBOOST_LOGISTIC);
    unsigned char *fold = calloc(a.n_bags, 1);
    double *other = calloc(t.n, sizeof *other);
    const double *starts[2] = {t.eta, t.eta};
    pboost_forest forest;
    double intercept;
    pboost_error err;
    o.folds = 2;
    o.trees = 5;
    o.fold = fold;
    for (size_t b = 0; b < a.n_bags; b++)
        fold[b] = b % 2;
    grown one = grow(&t.columns, t.eta, NULL, &a, &o);
    o.fold_start = starts;
    grown two = grow(&t.columns, NULL, NULL, &a, &o);
    assert_same_forest(&one.forest, &two.forest);
    assert_true(one.intercept == two.intercept);
    grown_free(&two);
    starts[1] = other;
    two = grow(&t.columns, NULL, NULL, &a, &o);
    for (size_t b = 0; b < a.n_bags; b++)
        assert_true((one.left_out[b] == two.left_out[b]) == (fold[b] == 0));
    check_computed_starts(&t, &a, o);
    other[a.row[0]] = NAN;
    assert_fails(
        pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, &a, 0, &o, &err),
        PBOOST_BAD_DATA, err, "the start of row");
    o.fold = NULL;
    assert_fails(
        pboost_forest_fit(&forest, &intercept, NULL, NULL, &t.columns, NULL, NULL, &a, 0, &o, &err),
        PBOOST_INVALID, err, "fold_start is set");
    free(fold);
    free(other);
    grown_free(&one);
    grown_free(&two);
    pboost_answers_clear(&a);
    curve_close(&t);
}

static void test_bad_input_is_refused(void **state)
{
    (void)state;
    curve_table t;
    curve_open(&t, PBOOST_LINEAR, 400, 18);
    pboost_answers a = curve_answers(&t, 8, 0.0, 5);
    double *bad = calloc(t.n, sizeof *bad);
    pboost_forest_options good = forest_options(PBOOST_LINEAR), o;
    pboost_columns no_columns = {.rows = t.n}, few = t.columns;
    pboost_forest forest;
    double intercept;
    pboost_error err;
    few.rows = 10;
#define REFUSED(columns, start, weight, first, status, part)                                       \
    assert_fails(pboost_forest_fit(&forest, &intercept, NULL, NULL, columns, start, weight, &a,    \
                                   first, &o, &err),                                               \
                 status, err, part)
#define REFUSED_OPTION(field, value, part)                                                         \
    do {                                                                                           \
        o = good;                                                                                  \
        o.field = value;                                                                           \
        REFUSED(&t.columns, NULL, NULL, 0, PBOOST_INVALID, part);                                  \
    } while (0)
    REFUSED_OPTION(family, (pboost_family)9, "9 is not a family");
    REFUSED_OPTION(leaves, 1, "leaves is 1; it must be from 2 to 256");
    REFUSED_OPTION(leaves, 257, "leaves is 257");
    REFUSED_OPTION(rate, 0.0, "rate is 0");
    REFUSED_OPTION(rate, 1.5, "rate is 1.5");
    REFUSED_OPTION(l2, -1.0, "l2 is -1");
    REFUSED_OPTION(l2, INFINITY, "l2 is inf");
    REFUSED_OPTION(bag_fraction, 0.0, "bag_fraction is 0");
    REFUSED_OPTION(column_fraction, 1.5, "column_fraction is 1.5");
    REFUSED_OPTION(folds, 256, "folds is 256");
    REFUSED_OPTION(folds, 1, "folds is 1 and trees 0");
    REFUSED_OPTION(max_trees, 0, "trees and max_trees are 0");
    REFUSED_OPTION(threads, -1, "threads is -1");
    REFUSED_OPTION(struct_size, sizeof o + 8, "PBOOST_FOREST_OPTIONS_INIT");
    o = good;
    bad[a.row[5]] = NAN;
    REFUSED(&t.columns, bad, NULL, 0, PBOOST_BAD_DATA, "the start of row");
    REFUSED(&t.columns, NULL, bad, 0, PBOOST_BAD_DATA, "the weight of row");
    REFUSED(&no_columns, NULL, NULL, 0, PBOOST_INVALID, "no columns");
    REFUSED(&few, NULL, NULL, 0, PBOOST_INVALID, "the columns have 10 rows");
    REFUSED(&t.columns, NULL, NULL, a.n_bags, PBOOST_BAD_DATA, "no bags");
    a.rounded = true;
    REFUSED(&t.columns, NULL, NULL, 0, PBOOST_INVALID, "rounded");
    a.rounded = false;
    a.mean[1] = NAN;
    REFUSED(&t.columns, NULL, NULL, 0, PBOOST_BAD_DATA, "the answer for bag 1");
    free(bad);
    pboost_answers_clear(&a);
    curve_close(&t);
}

/* A start that is wrong by orders of magnitude, and steps of full length: trees lower the objective
 * of their own variances, which are then others, and some fits explain the bags worse than no tree
 * does.  Without folds the report's sums are over the same bags, so they say whether it is so. */
static void test_a_fit_that_is_worse_is_said_to_be(void **state)
{
    (void)state;
    size_t worse = 0, better = 0;
    for (uint64_t seed = 0; seed < 150; seed++) {
        curve_table t;
        test_rng rng = {1000 + seed};
        curve_open(&t, PBOOST_POISSON, 44, 1 + seed);
        double *start = calloc(t.n, sizeof *start);
        for (size_t i = 0; i < t.n; i++) {
            start[i] = 4.0 * normal(&rng);
            t.y[i] *= uniform(&rng) < 0.3 ? 20.0 : 1.0;
        }
        pboost_answers a = curve_answers(&t, 4, 0.0, 5);
        pboost_forest_options o = forest_options(PBOOST_POISSON);
        o.folds = 0;
        o.trees = 20;
        o.rate = 1.0;
        o.leaves = 2;
        o.min_rows = 5;
        grown g = grow(&t.columns, start, NULL, &a, &o);
        assert_int_equal(g.report.worse_than_constant, g.report.misfit > g.report.constant_misfit);
        worse += g.report.worse_than_constant;
        better += !g.report.worse_than_constant;
        free(start);
        grown_free(&g);
        pboost_answers_clear(&a);
        curve_close(&t);
    }
    assert_true(worse > 0);
    assert_true(better > worse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_are_learnt_from_bags),
        cmocka_unit_test(test_one_row_bags_are_ordinary_boosting),
        cmocka_unit_test(test_every_tree_lowers_the_objective),
        cmocka_unit_test(test_start_is_where_trees_begin),
        cmocka_unit_test(test_weight_zero_counts_for_nothing),
        cmocka_unit_test(test_noise_is_not_learnt),
        cmocka_unit_test(test_the_law_of_the_noise_is_used),
        cmocka_unit_test(test_tables_without_splits_give_constants),
        cmocka_unit_test(test_few_bags_and_equal_labels),
        cmocka_unit_test(test_a_million_levels),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_a_fit_can_be_stopped),
        cmocka_unit_test(test_folds_may_be_given),
        cmocka_unit_test(test_folds_may_have_starts),
        cmocka_unit_test(test_bad_input_is_refused),
        cmocka_unit_test(test_a_fit_that_is_worse_is_said_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
