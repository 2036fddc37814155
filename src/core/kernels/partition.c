/* The inner loops of the partition: the least cost of reaching each of a block of cuts.
 *
 * Both kernels add up non-negative terms only, measured from a row inside the bag in question, so
 * every cost is right to a few units in the last place relative to itself, for any offset of the
 * data and any neighbours of the bag; a bag of equal rows costs exactly 0.  There is no difference
 * of prefix sums, in which digits would cancel.
 *
 * few:  vector lanes are consecutive cuts j.  With d_t = x[j-1] - x[j-t] >= 0 a bag of s rows costs
 *       sum d^2 - (sum d)^2 / s.  If x[j-1] and x[j-s] differ by R the cost is at least R^2 / 2 and
 *       the terms at most s R^2, so the relative error is O(s) units: for small k only.
 *
 * many: a block has at most k cuts a .. a+k-1, so that every bag [i, j) that ends in it contains or
 *       touches cut a.  Split there, l = a - i rows on the left and r = j - a on the right:
 *           cost(i, j) = M(i, a) + M(a, j) + (mean right - mean left)^2 l r / (l + r)
 *       (Chan's update), where M and the means come from one sweep to each side (Welford's update).
 *       Distances are taken from x[a-1] to the left and from x[a] to the right, so the difference
 * of the means is a sum of three non-negative parts.  The matrix of cost(i, j) has the Monge
 *       property, also with infinities outside k <= j - i < 2k, so the best i never decreases with
 *       j: every 8th or 16th j is found by bisection, below what the last j of the block before
 * says, then consecutive j as lanes over the few i left. */
#include <math.h>
#include <string.h>

#include "kernels/partition.h"
#include "kernels/simd.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Every function that takes vectors is inlined, so their calling convention does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* As many as a register of the level holds: compilers split longer vectors where they are
 * compared or shuffled. */
#if defined __AVX512F__
#define LANES 8
#define ORDER(a) a##8
#elif defined __AVX2__
#define LANES 4
#define ORDER(a) a##4
#else
#define LANES 2
#define ORDER(a) a##2
#endif
#define VECTORS(W)                                                                                 \
    typedef double lanes##W __attribute__((vector_size(8 * W)));                                   \
    typedef int64_t mask##W __attribute__((vector_size(8 * W)));                                   \
    typedef uint32_t words##W __attribute__((vector_size(4 * W)));
VECTORS(2)
VECTORS(4)
VECTORS(8)
typedef ORDER(lanes) lanes;
typedef ORDER(words) words;

#define INLINE static inline __attribute__((always_inline))

INLINE lanes load(const double *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(double *to, lanes v)
{
    memcpy(to, &v, sizeof v);
}

INLINE lanes all(double value)
{
    return value - (lanes){0};
}

/* best and arg become value and `of` where value is less; one that is not a number never is.  From
 * plain C compilers make a comparison and four logical operations in a row, for which the loops
 * below would wait. */
INLINE void keep_least2(lanes2 *best, lanes2 *arg, lanes2 value, lanes2 of)
{
    mask2 less = value < *best;
    *best = (lanes2)((less & (mask2)value) | (~less & (mask2)*best));
    *arg = (lanes2)((less & (mask2)of) | (~less & (mask2)*arg));
}

#if LANES > 2
INLINE void keep_least4(lanes4 *best, lanes4 *arg, lanes4 value, lanes4 of)
{
    *arg = _mm256_blendv_pd(*arg, of, _mm256_cmp_pd(value, *best, _CMP_LT_OQ));
    *best = _mm256_min_pd(value, *best);
}
#endif

#if LANES > 4
INLINE void keep_least8(lanes8 *best, lanes8 *arg, lanes8 value, lanes8 of)
{
    *arg = _mm512_mask_mov_pd(*arg, _mm512_cmp_pd_mask(value, *best, _CMP_LT_OQ), of);
    *best = _mm512_min_pd(value, *best);
}
#endif

/* Orders of lanes, for vectors of 8, 4 and 2; in those of two vectors the second's come after. */
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define BY(order, a, b) SHUFFLE(a, b, ORDER(order))
#define UP_8 0, 1, 2, 3, 4, 5, 6, 7
#define UP_4 0, 1, 2, 3
#define UP_2 0, 1
#define DOWN_8 7, 6, 5, 4, 3, 2, 1, 0
#define DOWN_4 3, 2, 1, 0
#define DOWN_2 1, 0
#define LAST_8 7, 7, 7, 7, 7, 7, 7, 7
#define LAST_4 3, 3, 3, 3
#define LAST_2 1, 1
#define BEHIND_1_8 0, 8, 9, 10, 11, 12, 13, 14
#define BEHIND_1_4 0, 4, 5, 6
#define BEHIND_1_2 0, 2
#define BEHIND_2_8 0, 1, 8, 9, 10, 11, 12, 13
#define BEHIND_2_4 0, 1, 4, 5
#define BEHIND_4_8 0, 1, 2, 3, 8, 9, 10, 11
#define ACROSS_1_8 1, 0, 3, 2, 5, 4, 7, 6
#define ACROSS_1_4 1, 0, 3, 2
#define ACROSS_1_2 1, 0
#define ACROSS_2_8 2, 3, 0, 1, 6, 7, 4, 5
#define ACROSS_2_4 2, 3, 0, 1
#define ACROSS_4_8 4, 5, 6, 7, 0, 1, 2, 3

#define FIRST ((lanes){ORDER(UP_)})

INLINE lanes reverse(lanes v)
{
    return BY(DOWN_, v, v);
}

/* v[i] becomes v[0] + .. + v[i]. */
INLINE lanes scan(lanes v)
{
    const lanes zero = {0};
    v += BY(BEHIND_1_, zero, v);
#if LANES > 2
    v += BY(BEHIND_2_, zero, v);
#endif
#if LANES > 4
    v += BY(BEHIND_4_, zero, v);
#endif
    return v;
}

INLINE lanes last(lanes v)
{
    return BY(LAST_, v, v);
}

/* ---- few ------------------------------------------------------------------------------------- */

/* As `few`, for a vector of W <= k lanes and a k that the compiler may know. */
#define FEW(W)                                                                                     \
    INLINE void few##W(double *cost, uint32_t *step, const double *x, size_t rows, size_t k,       \
                       const double *inverse)                                                      \
    {                                                                                              \
        for (size_t j = 0; j < rows; j += W) {                                                     \
            lanes##W end, before, from, sum = {0}, square = {0}, best, arg = {0};                  \
            words##W offset;                                                                       \
            memcpy(&end, x + j - 1, sizeof end);                                                   \
            best = (double)INFINITY - arg;                                                         \
            for (size_t t = 2; t < 2 * k; t++) {                                                   \
                memcpy(&before, x + j - t, sizeof before);                                         \
                lanes##W d = end - before;                                                         \
                sum += d;                                                                          \
                square += d * d;                                                                   \
                if (t < k)                                                                         \
                    continue;                                                                      \
                memcpy(&from, cost + j - t, sizeof from);                                          \
                keep_least##W(&best, &arg, from + (square - sum * sum * inverse[t]),               \
                              (double)(t - k) - (lanes##W){0});                                    \
            }                                                                                      \
            memcpy(cost + j, &best, sizeof best);                                                  \
            offset = __builtin_convertvector(arg, words##W);                                       \
            memcpy(step + j, &offset, sizeof offset);                                              \
        }                                                                                          \
    }

/* By what k allows and the level has. */
FEW(2)
#if LANES > 2
FEW(4)
#define FEW_4 few4
#else
#define FEW_4 few2
#endif
#if LANES > 4
FEW(8)
#define FEW_8 few8
#else
#define FEW_8 FEW_4
#endif

/* k = 2, where a cut waits for the one but last: the bags' costs for 8 cuts at once, then the cuts
 * one by one, their predecessors in registers. */
INLINE void few_pairs(double *cost, uint32_t *step, const double *x, size_t rows,
                      const double *inverse)
{
    double last = cost[-1], second = cost[-2], third = cost[-3];
    for (size_t j = 0; j < rows; j += LANES) {
        double two[LANES], three[LANES];
        lanes end = load(x + j - 1), d = end - load(x + j - 2), e = end - load(x + j - 3);
        lanes sum = d + e, square = d * d;
        store(two, square * inverse[2]);
        store(three, square + e * e - sum * sum * inverse[3]);
        for (size_t i = 0; i < LANES; i++) {
            double of_two = second + two[i], of_three = third + three[i];
            double best = of_three < of_two ? of_three : of_two;
            step[j + i] = of_three < of_two;
            cost[j + i] = best;
            third = second;
            second = last;
            last = best;
        }
    }
}

void SIMD(pboost_partition_few)(double *cost, uint32_t *step, const double *x, size_t rows,
                                const partition_table *table, double *scratch)
{
    const double *inverse = table->inverse;
    size_t k = table->min_bag;
    (void)scratch;
    switch (k) {
    case 2:
        few_pairs(cost, step, x, rows, inverse);
        break;
    case 3:
        few2(cost, step, x, rows, 3, inverse);
        break;
    case 4:
        FEW_4(cost, step, x, rows, 4, inverse);
        break;
    case 5:
        FEW_4(cost, step, x, rows, 5, inverse);
        break;
    case 6:
        FEW_4(cost, step, x, rows, 6, inverse);
        break;
    case 7:
        FEW_4(cost, step, x, rows, 7, inverse);
        break;
    case 8:
        FEW_8(cost, step, x, rows, 8, inverse);
        break;
    default:
        FEW_8(cost, step, x, rows, k, inverse);
        break;
    }
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Tiles have LANES cuts.  This many are computed together: the values of one l are used for all of
 * them, and there is less to bisect; but there are more l to try, which matters more for small k.
 */
#define GROUP (8 / LANES)
#define LARGE_GROUP (LANES == 8 ? 2 : GROUP)
#define MOST_GROUP (LANES == 2 ? 4 : 2)
#define LARGE_FROM 128

/* Running mean and sum of squares about it of the distances d, which never decrease. */
typedef struct {
    lanes sum, within;
} sweep;

/* Takes the next 8 distances, t = number of the first of them, 1 for the first of all. */
INLINE lanes sweep_next(sweep *s, lanes d, size_t t, const partition_table *table)
{
    lanes sum = last(s->sum) + scan(d);
    lanes mean = sum * load(table->inverse + t);
    lanes off = d - mean;
    s->sum = sum;
    s->within = last(s->within) + scan(off * off * load(table->ratio + t));
    return mean;
}

typedef struct {
    const partition_table *table;
    double *left_mean, *left_cost;   /* by l: distance of mean; cost up to i plus M(i, a) */
    double *right_mean, *right_cost; /* by r: distance of mean from x[a-1]; M(a, j) */
} block;

/* l up to `longest` and a few more on the left, all of the block on the right. */
INLINE void measure(block *b, const double *cost, const double *x, size_t longest, size_t rows)
{
    const partition_table *table = b->table;
    size_t k = table->min_bag, end = longest + LANES < 2 * k ? longest + LANES : 2 * k;
    sweep s = {{0}, {0}};
    lanes origin = all(x[-1]);
    for (size_t l = 1; l < end; l += LANES) {
        lanes d = origin - reverse(load(x - l - (LANES - 1)));
        lanes before = reverse(load(cost - l - (LANES - 1)));
        store(b->left_mean + l, sweep_next(&s, d, l, table));
        store(b->left_cost + l, before + s.within);
    }
    s = (sweep){{0}, {0}};
    origin = all(x[0]);
    lanes gap = all(x[0] - x[-1]);
    b->right_mean[0] = b->right_cost[0] = 0;
    for (size_t r = 1; r < rows; r += LANES) {
        lanes d = load(x + r - 1) - origin;
        store(b->right_mean + r, gap + sweep_next(&s, d, r, table));
        store(b->right_cost + r, s.within);
    }
}

/* The cost of joining l rows on the left, or 8 values of l, to r on the right, without M(a, j).  A
 * size that is not allowed has weight infinity, so this is infinite or not a number, and never less
 * than anything. */
#define JOIN(left_cost, left_mean, left_count, right_mean, right_count, weight)                    \
    ((left_cost) + ((left_mean) + (right_mean)) * ((left_mean) + (right_mean)) *                   \
                       ((left_count) * ((right_count) * (weight))))

/* Index of the least value; of equal ones, any. */
INLINE size_t arg_least(lanes value, lanes arg)
{
#define FOLD(order)                                                                                \
    do {                                                                                           \
        lanes v = BY(order, value, value), a = BY(order, arg, arg);                                \
        ORDER(keep_least)(&value, &arg, v, a);                                                     \
    } while (0)
#if LANES > 4
    FOLD(ACROSS_4_);
#endif
#if LANES > 2
    FOLD(ACROSS_2_);
#endif
    FOLD(ACROSS_1_);
#undef FOLD
    return (size_t)arg[0];
}

/* The best l for r rows on the right, among low .. high.  The lanes beyond high are never better,
 * but for rounding; if several are as good as high, high is used. */
INLINE size_t best_left(const block *b, size_t r, size_t low, size_t high)
{
    const partition_table *table = b->table;
    const double *weight = table->weight + r;
    lanes mean = all(b->right_mean[r]), count = all(table->number[r]);
    lanes best = all((double)INFINITY), l_now = table->number[low] + FIRST, arg = l_now;
    for (size_t l = low; l <= high; l += LANES) {
        lanes v = JOIN(load(b->left_cost + l), load(b->left_mean + l), l_now, mean, count,
                       load(weight + l));
        ORDER(keep_least)(&best, &arg, v, l_now);
        l_now += LANES;
    }
    size_t found = arg_least(best, arg);
    return found < high ? found : high;
}

/* cost and step of `width` tiles from r on, whose best l lie in low .. high. */
INLINE void finish_tiles(const block *b, double *cost, uint32_t *step, size_t r, size_t low,
                         size_t high, const size_t width)
{
    const partition_table *table = b->table;
    const double *weight = table->weight + r, *number = table->number;
    lanes mean[MOST_GROUP], count[MOST_GROUP], best[MOST_GROUP], arg[MOST_GROUP];
    for (size_t t = 0; t < width; t++) {
        mean[t] = load(b->right_mean + r + t * LANES);
        count[t] = load(number + r + t * LANES);
        best[t] = all((double)INFINITY);
        arg[t] = all(number[low]);
    }
    for (size_t l = low; l <= high; l++)
        for (size_t t = 0; t < width; t++) {
            lanes v = JOIN(b->left_cost[l], b->left_mean[l], number[l], mean[t], count[t],
                           load(weight + l + t * LANES));
            ORDER(keep_least)(&best[t], &arg[t], v, all(number[l]));
        }
    for (size_t t = 0; t < width; t++) {
        size_t at = r + t * LANES;
        store(cost + at, best[t] + load(b->right_cost + at));
        words offset = __builtin_convertvector(arg[t] + count[t] - (double)table->min_bag, words);
        memcpy(step + at, &offset, sizeof offset);
    }
}

/* The cuts of one block: LANES * n_tiles <= k of them.  bound[g] is what no best l of group g or a
 * later one exceeds: the best l of the last cut before it, and for the first group that cut is in
 * the block before. */
INLINE void solve_block(block *b, size_t *bound, double *cost, uint32_t *step, const double *x,
                        size_t n_tiles, const size_t group)
{
    size_t k = b->table->min_bag, n_groups = (n_tiles + group - 1) / group, top = 1;

    bound[0] = step[-1] + k + 1 < 2 * k ? step[-1] + k + 1 : 2 * k - 1;
    measure(b, cost, x, bound[0], n_tiles * LANES);
    while (2 * top <= n_groups)
        top *= 2;
    for (size_t stride = top; stride > 0; stride /= 2)
        for (size_t g = stride; g <= n_groups; g += 2 * stride) {
            size_t r = (g * group < n_tiles ? g * group : n_tiles) * LANES - 1;
            size_t low = k - r, high = bound[g - stride];
            if (g + stride <= n_groups && bound[g + stride] > low)
                low = bound[g + stride];
            if (high > 2 * k - 1 - r)
                high = 2 * k - 1 - r;
            bound[g] = best_left(b, r, low, high);
        }
    for (size_t g = 0; g < n_groups; g++) {
        size_t r = g * group * LANES;
        if ((g + 1) * group <= n_tiles)
            finish_tiles(b, cost, step, r, bound[g + 1], bound[g], group);
        else /* tiles come by the 8 cuts */
            finish_tiles(b, cost, step, r, bound[g + 1], bound[g], GROUP);
    }
}

void SIMD(pboost_partition_many)(double *cost, uint32_t *step, const double *x, size_t rows,
                                 const partition_table *table, double *scratch)
{
    size_t k = table->min_bag, n_tiles = k / PARTITION_PAD * (PARTITION_PAD / LANES);
    size_t left = 2 * k + PARTITION_PAD, right = k + PARTITION_PAD;
    block b = {table, scratch, scratch + left, scratch + 2 * left, scratch + 2 * left + right};
    size_t *bound = (size_t *)(void *)(scratch + 2 * left + 2 * right);

    for (size_t a = 0; a < rows; a += n_tiles * LANES)
        if (k < LARGE_FROM)
            solve_block(&b, bound, cost + a, step + a, x + a, n_tiles, GROUP);
        else
            solve_block(&b, bound, cost + a, step + a, x + a, n_tiles, LARGE_GROUP);
}

/* ---- rebase ---------------------------------------------------------------------------------- */

void SIMD(pboost_partition_rebase)(double *cost, size_t n)
{
    lanes least = all((double)INFINITY), unused = least;
    size_t whole = n / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        ORDER(keep_least)(&least, &unused, load(cost + i), unused);
    double one = cost[n - 1];
    for (size_t i = whole; i < n; i++)
        one = cost[i] < one ? cost[i] : one;
    for (int i = 0; i < LANES; i++)
        one = least[i] < one ? least[i] : one;
    for (size_t i = 0; i < whole; i += LANES)
        store(cost + i, load(cost + i) - one);
    for (size_t i = whole; i < n; i++)
        cost[i] -= one;
}
