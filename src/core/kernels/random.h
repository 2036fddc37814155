/* Random words and normal deviates by the block; the same bits at every level. */
#ifndef PBOOST_KERNELS_RANDOM_H
#define PBOOST_KERNELS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Philox with the key `seed` on counters (counter + i, stream), i = 0 .. blocks-1: two words
 * each. */
typedef void random_words(uint64_t *out, size_t blocks, uint64_t seed, uint64_t stream,
                          uint64_t counter);

/* Two normal deviates from each of those blocks. */
typedef void random_normals(double *out, size_t blocks, uint64_t seed, uint64_t stream,
                            uint64_t counter);

random_words pboost_random_words_plain, pboost_random_words_avx2, pboost_random_words_avx512;
random_normals pboost_random_normals_plain, pboost_random_normals_avx2,
    pboost_random_normals_avx512;

#endif
