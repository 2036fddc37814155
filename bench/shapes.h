/* Scores of several shapes to sort and to put in bags. */
#ifndef PBOOST_BENCH_SHAPES_H
#define PBOOST_BENCH_SHAPES_H

#include <math.h>
#include <stdint.h>
#include <time.h>

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state = 1;

static inline double uniform(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static inline double gaussian(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static inline double logistic(void)
{
    return 1 / (1 + exp(-3 * gaussian()));
}

static inline double cauchy(void)
{
    return tan(3.141592653589793 * (uniform() - 0.5));
}

/* As many levels as a few categorical features give. */
static inline double levels(void)
{
    return floor(100 * uniform());
}

static inline double ordered(void)
{
    static double last;
    return last += uniform();
}

static const struct {
    const char *name;
    double (*draw)(void);
} SHAPES[] = {{"gaussian", gaussian},
              {"logistic", logistic},
              {"cauchy", cauchy},
              {"levels", levels},
              {"sorted", ordered}};
#define N_SHAPES (sizeof SHAPES / sizeof *SHAPES)

#endif
