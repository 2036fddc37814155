/* Which vector instructions the kernels use.
 *
 * A kernel is one C source in kernels/, compiled once per level; its functions carry the level as a
 * suffix through SIMD(name).  The caller picks by simd_level() from a table of the three. */
#ifndef PBOOST_SIMD_H
#define PBOOST_SIMD_H

typedef enum { SIMD_PLAIN, SIMD_AVX2, SIMD_AVX512, SIMD_LEVELS } simd_level_t;

/* The best level this machine has, or the one that a test forced. */
simd_level_t pboost_simd_level(void);

/* For tests: use this level from now on, as far as the machine has it; returns the level in use. */
simd_level_t pboost_simd_force(simd_level_t level);

/* In a kernel: SIMD(dot) is dot_plain, dot_avx2 or dot_avx512. */
#ifdef SIMD_SUFFIX
#define SIMD_PASTE_(name, suffix) name##_##suffix
#define SIMD_PASTE(name, suffix) SIMD_PASTE_(name, suffix)
#define SIMD(name) SIMD_PASTE(name, SIMD_SUFFIX)
#endif

#endif
