/* The loops over the rows of a node: every level of vector instructions against sums in doubles. */
#include "testing.h"

#include "kernels/nodes.h"

#define MOST_ROWS 300
#define MOST_STRIDE 40

static float uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 11) * 0x1p-52 - 1.0);
}

typedef struct {
    node_rows rows;
    float z[MOST_ROWS * MOST_STRIDE], weight[MOST_ROWS], u[MOST_STRIDE], center[MOST_STRIDE];
    float square[MOST_STRIDE * MOST_STRIDE];
} fixture;

static void fill(fixture *f, size_t count, size_t stride, bool weighted)
{
    uint64_t seed = count * 97 + stride;
    for (size_t i = 0; i < MOST_ROWS * MOST_STRIDE; i++)
        f->z[i] = uniform(&seed);
    for (size_t i = 0; i < MOST_ROWS; i++)
        f->weight[i] = 1.5f + uniform(&seed);
    for (size_t j = 0; j < MOST_STRIDE; j++) {
        f->u[j] = uniform(&seed);
        f->center[j] = uniform(&seed);
    }
    for (size_t i = 0; i < stride; i++) /* symmetric */
        for (size_t j = 0; j <= i; j++)
            f->square[i * stride + j] = f->square[j * stride + i] = uniform(&seed);
    f->rows = (node_rows){f->z, weighted ? f->weight : NULL, count, stride};
}

static double weight_of(const fixture *f, size_t r)
{
    return f->rows.weight != NULL ? (double)f->rows.weight[r] : 1.0;
}

static double projection(const fixture *f, size_t r, double shift)
{
    double sum = -shift;
    for (size_t j = 0; j < f->rows.stride; j++)
        sum += (double)f->z[r * f->rows.stride + j] * (double)f->u[j];
    return sum;
}

static void check_sums(const node_kernels *k, const fixture *f)
{
    size_t d = f->rows.stride;
    double sum[MOST_STRIDE] = {0}, apply[MOST_STRIDE] = {0}, total = 0.0, applied = 0.0;
    float value[MOST_ROWS + 8], work[MOST_STRIDE];
    k->project(value, f->rows, f->u, 0.25f);
    for (size_t r = 0; r < f->rows.count; r++) {
        assert_close((double)value[r], projection(f, r, 0.25), 1e-5);
        total += weight_of(f, r);
        applied += weight_of(f, r) * projection(f, r, 0.25);
    }
    assert_close(k->sum(sum, f->rows, work), total, 1e-3);
    assert_close(k->apply(apply, f->rows, f->u, 0.25f, work), applied, 1e-3);
    for (size_t j = 0; j < d; j++) {
        double plain = 0.0, weighed = 0.0;
        for (size_t r = 0; r < f->rows.count; r++) {
            plain += weight_of(f, r) * (double)f->z[r * d + j];
            weighed += weight_of(f, r) * projection(f, r, 0.25) * (double)f->z[r * d + j];
        }
        assert_close(sum[j], plain, 1e-3);
        assert_close(apply[j], weighed, 1e-3);
    }
}

/* The blocks asked for and no others. */
static void check_gram(const node_kernels *k, const fixture *f)
{
    size_t d = f->rows.stride, blocks = d / NODE_LANES, first = blocks > 1;
    double *gram = calloc(d * d, sizeof *gram);
    k->gram(gram, f->rows, f->center, first, blocks);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0.0;
            bool asked = i / NODE_LANES >= first && j / NODE_LANES <= i / NODE_LANES;
            for (size_t r = 0; asked && r < f->rows.count; r++)
                sum += weight_of(f, r) * ((double)f->z[r * d + i] - (double)f->center[i]) *
                       ((double)f->z[r * d + j] - (double)f->center[j]);
            assert_close(gram[i * d + j], sum, 1e-3);
        }
    free(gram);
}

static void check_times(const node_kernels *k, const fixture *f)
{
    size_t d = f->rows.stride, n = d - 3;
    float out[MOST_STRIDE];
    k->times(out, f->square, f->u, n, d);
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++)
            sum += (double)f->square[j * d + i] * (double)f->u[j];
        assert_close((double)out[i], sum, 1e-5);
    }
}

static void check_swap(const node_kernels *k, const fixture *f)
{
    size_t d = f->rows.stride;
    uint32_t a[] = {0, 2, 3}, b[] = {7, 5, 11};
    float *moved = malloc(sizeof f->z);
    memcpy(moved, f->z, sizeof f->z);
    k->swap(moved, d, a, b, 3);
    for (size_t r = 0; r < 13; r++) {
        size_t from = r;
        for (size_t i = 0; i < 3; i++)
            from = r == a[i] ? b[i] : r == b[i] ? a[i] : from;
        assert_memory_equal(moved + r * d, f->z + from * d, d * sizeof *moved);
    }
    free(moved);
}

static void test_every_level(void **state)
{
    (void)state;
    static fixture f;
    size_t counts[] = {1, 7, 8, 31, 129, 300};
    simd_level_t best = pboost_simd_level();
    for (int level = SIMD_PLAIN; level <= (int)best; level++) {
        pboost_simd_force((simd_level_t)level);
        const node_kernels *k = pboost_node_kernels();
        for (size_t c = 0; c < 6; c++)
            for (size_t stride = NODE_LANES; stride <= MOST_STRIDE; stride += 2 * NODE_LANES) {
                fill(&f, counts[c], stride, c % 2 == 0);
                check_sums(k, &f);
                check_gram(k, &f);
                check_times(k, &f);
                check_swap(k, &f);
            }
    }
    pboost_simd_force(best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_level)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
