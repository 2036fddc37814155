/* The partition against brute force: every size from k up, every cost by Welford's update in long
 * double from the last row of the bag, never by prefix sums. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <priorboost/core.h>

#include "bags/partition.h"
#include "kernels/simd.h"

#define MAX_N 4096

static uint64_t state;

static uint64_t next(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double uniform(void)
{
    return ((double)(next() >> 11) + 0.5) * 0x1p-53;
}

static size_t below(size_t n)
{
    return (size_t)(next() % n);
}

static double gaussian(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

typedef void shape(double *x, size_t n, size_t k);

static void gauss(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = gaussian();
}

static void offset(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = 1e9 + 1e-3 * gaussian();
}

static void integers(double *x, size_t n, size_t k)
{
    size_t levels = 1 + below(2 * n / k + 2);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)below(levels);
}

static void equal(double *x, size_t n, size_t k)
{
    double value = gaussian();
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

/* Runs of ties of at least k rows each: the optimum is exactly zero. */
static void runs(double *x, size_t n, size_t k)
{
    double value = gaussian() * 1e3;
    for (size_t i = 0, left = 0; i < n; i++, left--) {
        if (left == 0 && n - i >= k) {
            left = k + below(k + 1);
            value = gaussian() * 1e3;
            if (n - i - (left < n - i ? left : n - i) < k)
                left = n - i;
        }
        x[i] = value;
    }
}

/* Mostly runs of ties, some shorter than k. */
static void short_runs(double *x, size_t n, size_t k)
{
    double value = gaussian();
    for (size_t i = 0; i < n; i++) {
        if (below(k) == 0)
            value = gaussian();
        x[i] = value;
    }
}

static void cauchy(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = tan(3.14159265358979 * (uniform() - 0.5));
}

static void log_uniform(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = (below(2) ? 1 : -1) * exp(60 * (uniform() - 0.5));
}

static void clusters(double *x, size_t n, size_t k)
{
    size_t m = 1 + below(n / k + 1);
    for (size_t i = 0; i < n; i++)
        x[i] = 1e6 * (double)below(m) + 1e-6 * gaussian();
}

static void denormal(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(next() % 1000000) * 0x1p-1074;
}

static void huge(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = (2 * uniform() - 1) * 1.79e308;
}

static void even(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)i / 3;
}

static void outlier(double *x, size_t n, size_t k)
{
    gauss(x, n, k);
    x[below(n)] = 1e8;
    x[below(n)] = -1e15;
}

static void skewed(double *x, size_t n, size_t k)
{
    (void)k;
    for (size_t i = 0; i < n; i++)
        x[i] = 1 / (1 + exp(-20 * gaussian()));
}

static const struct {
    const char *name;
    shape *make;
} SHAPES[] = {
    {"gauss", gauss},       {"offset", offset},
    {"integers", integers}, {"equal", equal},
    {"runs", runs},         {"short_runs", short_runs},
    {"cauchy", cauchy},     {"log_uniform", log_uniform},
    {"clusters", clusters}, {"denormal", denormal},
    {"huge", huge},         {"even", even},
    {"outlier", outlier},   {"skewed", skewed},
};

#define N_SHAPES (sizeof SHAPES / sizeof *SHAPES)

/* ---- Reference ------------------------------------------------------------------------------- */

/* Welford's update for one more row at distance d. */
static inline void add_row(long double *mean, long double *within, long double d, size_t size)
{
    long double off = d - *mean;
    *mean += off / (long double)size;
    *within += off * (d - *mean);
}

/* The least cost over all partitions into bags of at least k rows.  Costs of more than twice the
 * best so far end the search over larger bags, as a bag's cost only grows with its rows. */
static long double reference(const double *x, size_t n, size_t k)
{
    static long double least[MAX_N + 1];
    least[0] = 0;
    for (size_t j = 1; j <= n; j++) {
        long double mean = 0, within = 0;
        least[j] = (long double)INFINITY;
        for (size_t size = 1; size <= j && within <= least[j]; size++) {
            add_row(&mean, &within, (long double)x[j - 1] - (long double)x[j - size], size);
            if (size >= k && least[j - size] + within < least[j])
                least[j] = least[j - size] + within;
        }
    }
    return least[n];
}

static long double cost_of(const double *x, const size_t *start, size_t n_bags)
{
    long double total = 0;
    for (size_t b = 0; b < n_bags; b++) {
        long double mean = 0, within = 0;
        for (size_t i = start[b]; i < start[b + 1]; i++)
            add_row(&mean, &within, (long double)x[i] - (long double)x[start[b]], i - start[b] + 1);
        total += within;
    }
    return total;
}

static int ascending(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void check_sizes(const size_t *start, size_t n_bags, size_t n, size_t k)
{
    assert_int_equal(start[0], 0);
    assert_int_equal(start[n_bags], n);
    for (size_t b = 0; b < n_bags; b++) {
        assert_true(start[b + 1] >= start[b] + k);
        assert_true(start[b + 1] - start[b] < 2 * k);
    }
}

static void check(const char *name, const double *x, size_t n, size_t k, long double least)
{
    static size_t start[MAX_N + 1];
    size_t n_bags;
    assert_int_equal(pboost_partition(start, &n_bags, x, n, k, 1, NULL, NULL), PBOOST_OK);
    check_sizes(start, n_bags, n, k);
    long double cost = cost_of(x, start, n_bags);
    if (!(cost <= least * (1 + 1e-12L)))
        fail_msg("%s n=%zu k=%zu: cost %.17Lg, least %.17Lg, excess %.3Lg", name, n, k, cost, least,
                 cost / least - 1);
}

static void cases(size_t count, size_t max_n, size_t max_k)
{
    static double x[MAX_N];
    for (size_t i = 0; i < count; i++) {
        size_t s = i % N_SHAPES;
        size_t k = 1 + below(below(3) == 0 ? max_k : max_k < 24 ? max_k : 24);
        size_t n = k + below(below(4) == 0 && 4 * k < max_n ? 4 * k : max_n - k + 1);
        SHAPES[s].make(x, n, k);
        qsort(x, n, sizeof *x, ascending);
        check(SHAPES[s].name, x, n, k, reference(x, n, k));
    }
}

static void small_cases_are_optimal(void **unused)
{
    (void)unused;
    state = 1;
    cases(12000, 160, 80);
}

static void large_cases_are_optimal(void **unused)
{
    (void)unused;
    state = 2;
    cases(280, 3000, 200);
}

static void every_level_is_optimal(void **unused)
{
    (void)unused;
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++) {
        pboost_simd_force((simd_level_t)level);
        state = 3;
        cases(1400, 400, 100);
    }
    pboost_simd_force(SIMD_LEVELS);
}

static void runs_of_ties_cost_nothing(void **unused)
{
    static double x[MAX_N];
    static size_t start[MAX_N + 1];
    size_t n_bags;
    (void)unused;
    state = 4;
    for (int i = 0; i < 500; i++) {
        size_t k = 1 + below(100), n = 2 * k + below(MAX_N - 2 * k);
        runs(x, n, k);
        qsort(x, n, sizeof *x, ascending);
        assert_int_equal(pboost_partition(start, &n_bags, x, n, k, 1, NULL, NULL), PBOOST_OK);
        check_sizes(start, n_bags, n, k);
        assert_true(cost_of(x, start, n_bags) == 0);
    }
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* n rows, large enough for several chunks. */
static double *long_list(size_t shape_number, size_t n, size_t k)
{
    double *x = malloc(n * sizeof *x);
    assert_non_null(x);
    SHAPES[shape_number].make(x, n, k);
    qsort(x, n, sizeof *x, ascending);
    return x;
}

/* One chunk from end to end, as the splice must equal it. */
static long double whole_cost(const double *x, size_t n, size_t k)
{
    partition_table table;
    partition_work work;
    partition_cuts cuts = {0, malloc((n / k + 2) * sizeof(size_t))};
    assert_non_null(cuts.cut);
    assert_int_equal(pboost_partition_table_init(&table, k, NULL, NULL), PBOOST_OK);
    assert_int_equal(pboost_partition_work_init(&work, n, k, NULL, NULL), PBOOST_OK);
    pboost_partition_chunk(&cuts, &work, &table, &(partition_piece){x, 0, n, 1, false}, true);
    check_sizes(cuts.cut, cuts.n_cuts - 1, n, k);
    long double cost = cost_of(x, cuts.cut, cuts.n_cuts - 1);
    pboost_partition_work_free(&work);
    pboost_partition_table_free(&table);
    free(cuts.cut);
    return cost;
}

static void parts_equal_the_whole(void **unused)
{
    const size_t n = 600000;
    static const size_t ks[] = {2, 3, 8, 17, 64, 300};
    (void)unused;
    state = 5;
    for (size_t s = 0; s < N_SHAPES; s++) {
        if (SHAPES[s].make == denormal || SHAPES[s].make == huge)
            continue;
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
            size_t k = ks[i], n_bags[3];
            size_t *start[3];
            if ((s + i) % 2 == 0)
                continue;
            double *x = long_list(s, n, k);
            assert_true((pboost_partition_grid(n, k).n_chunks > 1) == (k < 100));
            for (int t = 0; t < 3; t++) {
                start[t] = malloc(pboost_partition_room(n, k) * sizeof *start[t]);
                assert_non_null(start[t]);
                assert_int_equal(
                    pboost_partition(start[t], &n_bags[t], x, n, k, 1 << t, NULL, NULL), PBOOST_OK);
                assert_int_equal(n_bags[t], n_bags[0]);
                assert_memory_equal(start[t], start[0], (n_bags[0] + 1) * sizeof *start[0]);
            }
            check_sizes(start[0], n_bags[0], n, k);
            long double cost = cost_of(x, start[0], n_bags[0]), whole = whole_cost(x, n, k);
            if (!(fabsl(cost - whole) <= 1e-12L * whole))
                fail_msg("%s k=%zu: spliced %.17Lg, whole %.17Lg", SHAPES[s].name, k, cost, whole);
            for (int t = 0; t < 3; t++)
                free(start[t]);
            free(x);
        }
    }
}

/* Chunks that do not share a cut must not be spliced. */
static void splice_refuses_strangers(void **unused)
{
    size_t have[8] = {0, 3, 6}, with[] = {5, 8, 11}, without[] = {4, 7, 10}, later[] = {6, 9, 13};
    partition_cuts cuts = {3, have}, a = {3, with}, b = {3, without}, c = {3, later};
    (void)unused;
    assert_false(pboost_partition_splice(&cuts, &a));
    assert_false(pboost_partition_splice(&cuts, &b));
    assert_int_equal(cuts.n_cuts, 3);
    assert_true(pboost_partition_splice(&cuts, &c));
    assert_int_equal(cuts.n_cuts, 5);
    assert_int_equal(have[3], 9);
    assert_int_equal(have[4], 13);
}

static void too_large_bags_are_refused(void **unused)
{
    partition_table table;
    pboost_error err;
    (void)unused;
    assert_int_equal(pboost_partition_table_init(&table, PARTITION_MAX_MIN_BAG + 1, NULL, &err),
                     PBOOST_INVALID);
    assert_non_null(strstr(err.message, "2147483649"));
    pboost_partition_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_cases_are_optimal),    cmocka_unit_test(large_cases_are_optimal),
        cmocka_unit_test(every_level_is_optimal),     cmocka_unit_test(runs_of_ties_cost_nothing),
        cmocka_unit_test(parts_equal_the_whole),      cmocka_unit_test(splice_refuses_strangers),
        cmocka_unit_test(too_large_bags_are_refused),
    };
    return cmocka_run_group_tests_name("partition", tests, NULL, NULL);
}
