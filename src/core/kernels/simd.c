/* Run-time choice of vector instructions. */
#include "kernels/simd.h"

#include <stdatomic.h>

/* Not yet asked: one more than the level, 0 meaning unknown. */
static atomic_int chosen;

static simd_level_t best_level(void)
{
#if defined(PBOOST_SIMD_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return SIMD_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SIMD_AVX2;
#endif
    return SIMD_PLAIN;
}

simd_level_t pboost_simd_level(void)
{
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (level == 0) {
        level = (int)best_level() + 1;
        atomic_store_explicit(&chosen, level, memory_order_relaxed);
    }
    return (simd_level_t)(level - 1);
}

simd_level_t pboost_simd_force(simd_level_t level)
{
    simd_level_t best = best_level();
    simd_level_t used = level < best ? level : best;
    atomic_store_explicit(&chosen, (int)used + 1, memory_order_relaxed);
    return used;
}
