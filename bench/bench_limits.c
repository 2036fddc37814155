/* What the machine can do at most, as JSON: memory bandwidth and floating-point rate of one and of
 * two cores.  Benchmarks are judged by how near they come.
 *
 *  - read: add up an array of 256 MiB
 *  - copy: copy half of it to the other half, counting what is read and what is written
 *  - gather: add up its 64-byte lines in random order, as a shuffled table meets rows of 8 features
 *  - fma: as many independent products and sums as the widest vectors of this processor take */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/simd.h"
#include "large.h"

#define LANES 8
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8)));

enum { TASKS = 64, REPEATS = 5, CHAINS = 12, FMA_STEPS = 1000000 };

static const size_t LENGTH = (size_t)1 << 25; /* doubles */

typedef struct {
    double *data;
    uint32_t *line; /* the lines of data, shuffled */
    double sum[TASKS];
} memory;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double total(const lanes *v)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += (*v)[i];
    return sum;
}

static void read_task(void *context, size_t task, int worker)
{
    memory *m = context;
    size_t share = LENGTH / TASKS;
    const double *from = m->data + task * share;
    lanes sum[4] = {{0}};
    (void)worker;
    for (size_t i = 0; i < share; i += 4 * LANES)
        for (size_t j = 0; j < 4; j++)
            sum[j] += *(const lanes *)(const void *)(from + i + j * LANES);
    sum[0] += sum[1] + sum[2] + sum[3];
    m->sum[task] = total(&sum[0]);
}

static void copy_task(void *context, size_t task, int worker)
{
    memory *m = context;
    size_t share = LENGTH / 2 / TASKS;
    (void)worker;
    memcpy(m->data + LENGTH / 2 + task * share, m->data + task * share, share * sizeof *m->data);
}

/* Lines are prefetched some time before they are needed: otherwise this would measure latency, not
 * bandwidth. */
static void gather_task(void *context, size_t task, int worker)
{
    enum { AHEAD = 32 };
    memory *m = context;
    size_t share = LENGTH / LANES / TASKS;
    const uint32_t *line = m->line + task * share;
    lanes sum = {0};
    (void)worker;
    for (size_t i = 0; i < share; i++) {
        __builtin_prefetch(m->data + (size_t)line[i + AHEAD < share ? i + AHEAD : i] * LANES);
        sum += *(const lanes *)(const void *)(m->data + (size_t)line[i] * LANES);
    }
    m->sum[task] = total(&sum);
}

/* CHAINS sums that do not wait for each other; the factor keeps them from growing, and each starts
 * elsewhere, or the compiler would see that they are one. */
#define FMA(NAME, TARGET)                                                                          \
    TARGET static double NAME(double factor)                                                       \
    {                                                                                              \
        lanes chain[CHAINS], by = factor - (lanes){0}, sum = {0};                                  \
        for (int c = 0; c < CHAINS; c++)                                                           \
            chain[c] = (double)c * by;                                                             \
        for (int i = 0; i < FMA_STEPS; i++)                                                        \
            for (int c = 0; c < CHAINS; c++)                                                       \
                chain[c] = chain[c] * by + by;                                                     \
        for (int c = 0; c < CHAINS; c++)                                                           \
            sum += chain[c];                                                                       \
        return total(&sum);                                                                        \
    }

FMA(fma_plain, )
#ifdef __x86_64__
FMA(fma_avx2, __attribute__((target("avx2,fma"))))
FMA(fma_avx512, __attribute__((target("avx512f,fma"))))
#endif

static double (*const FMA_OF[SIMD_LEVELS])(double factor) = {
    fma_plain,
#ifdef __x86_64__
    fma_avx2,
    fma_avx512,
#endif
};

static void fma_task(void *context, size_t task, int worker)
{
    memory *m = context;
    (void)worker;
    m->sum[task] = FMA_OF[pboost_simd_level()](0.5);
}

/* Work done per second, the best of some repeats. */
static double rate(memory *m, size_t n_tasks, int threads, double work,
                   void (*body)(void *context, size_t task, int worker))
{
    double best = 0;
    for (int r = 0; r <= REPEATS; r++) {
        double from = now();
        pboost_parallel(n_tasks, threads, body, m);
        double here = work / (now() - from);
        best = here > best ? here : best;
    }
    return best;
}

int main(void)
{
    memory m = {.data = pboost_alloc_large(LENGTH, sizeof *m.data)};
    size_t n_lines = LENGTH / LANES;
    double bytes = (double)(LENGTH * sizeof *m.data), check = 0;

    m.line = pboost_alloc_large(n_lines, sizeof *m.line);
    if (m.data == NULL || m.line == NULL)
        return 1;
    for (size_t i = 0; i < LENGTH; i++)
        m.data[i] = (double)(i % 7);
    for (size_t i = 0; i < n_lines; i++)
        m.line[i] = (uint32_t)i;
    for (size_t i = n_lines - 1; i > 0; i--) {
        size_t j = (size_t)(pboost_rng_key(1, RNG_SHUFFLE, 0, i) % (i + 1));
        uint32_t swap = m.line[i];
        m.line[i] = m.line[j];
        m.line[j] = swap;
    }
    printf("[");
    for (int threads = 1; threads <= 2; threads++) {
        double fma_work = 2.0 * LANES * CHAINS * FMA_STEPS * 8;
        double read = rate(&m, TASKS, threads, bytes, read_task);
        double copy = rate(&m, TASKS, threads, bytes, copy_task);
        double gather = rate(&m, TASKS, threads, bytes, gather_task);
        double flops = rate(&m, 8, threads, fma_work, fma_task);
        printf("%s\n  {\"method\": \"ahead\", \"threads\": %d, \"read_gbs\": %.2f, \"copy_gbs\": "
               "%.2f, "
               "\"gather_gbs\": %.2f, \"gflops\": %.1f}",
               threads > 1 ? "," : "", threads, 1e-9 * read, 1e-9 * copy, 1e-9 * gather,
               1e-9 * flops);
    }
    printf("\n]\n");
    for (int t = 0; t < TASKS; t++)
        check += m.sum[t];
    free(m.data);
    free(m.line);
    return check > 0 ? 0 : 1; /* so that no loop can be left out */
}
