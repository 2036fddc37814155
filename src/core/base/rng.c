/* Random words: Philox 4x32-10 for what must be reproducible, the system for what must not be.
 *
 * The counter of Philox is (index, purpose, stream) and its key is the seed.  Philox is a bijection
 * of the counter for each key, so distinct (purpose, stream, index) give distinct blocks of words.
 * The purpose takes the place of the top byte of the index; that byte, which only hashes use, goes
 * to the top byte of the stream.
 *
 * There is no substitute for system words: if the system has none, the call fails, and with it the
 * question. */
#include "base/rng.h"

#include <string.h>

#include "base/system.h"
#include "kernels/random.h"
#include "kernels/simd.h"
#include "try.h"

enum { PHILOX_ROUNDS = 10, INDEX_BITS = 56 };

void pboost_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static uint64_t counter_of(rng_purpose purpose, uint64_t index)
{
    return index | (uint64_t)purpose << INDEX_BITS;
}

void pboost_rng_words(uint64_t out[2], uint64_t seed, rng_purpose purpose, uint64_t stream,
                      uint64_t index)
{
    uint64_t top = index >> INDEX_BITS << INDEX_BITS, low = counter_of(purpose, index - top);
    stream ^= top;
    const uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t word[4];

    pboost_philox(word, counter, key);
    out[0] = word[0] | (uint64_t)word[1] << 32;
    out[1] = word[2] | (uint64_t)word[3] << 32;
}

static random_words *const WORDS[SIMD_LEVELS] = {
    pboost_random_words_plain,
#ifdef PBOOST_SIMD_X86
    pboost_random_words_avx2,
    pboost_random_words_avx512,
#endif
};

static random_normals *const NORMALS[SIMD_LEVELS] = {
    pboost_random_normals_plain,
#ifdef PBOOST_SIMD_X86
    pboost_random_normals_avx2,
    pboost_random_normals_avx512,
#endif
};

void pboost_rng_fill(uint64_t *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream,
                     uint64_t index)
{
    WORDS[pboost_simd_level()](out, n, seed, stream, counter_of(purpose, index));
}

void pboost_rng_keys(uint64_t *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream)
{
    enum { BLOCK = 256 };
    uint64_t word[2 * BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        pboost_rng_fill(word, count, seed, purpose, stream, at);
        for (size_t i = 0; i < count; i++)
            out[at + i] = word[2 * i];
    }
}

void pboost_rng_normals(double *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream,
                        uint64_t index)
{
    NORMALS[pboost_simd_level()](out, n, seed, stream, counter_of(purpose, index));
}

void pboost_rng_source_seeded(rng_source *source, uint64_t seed, rng_purpose purpose,
                              uint64_t stream)
{
    *source = (rng_source){.seeded = true, .seed = seed, .stream = stream, .purpose = purpose};
}

void pboost_rng_source_system(rng_source *source)
{
    *source = (rng_source){.seeded = false};
}

void pboost_rng_source_wipe(rng_source *source)
{
    pboost_system_wipe(source, sizeof *source);
}

static pboost_status system_fill(void *buffer, size_t bytes, pboost_error *err)
{
    int problem = pboost_system_entropy(buffer, bytes);

    if (problem == 0)
        return PBOOST_OK;
    return pboost_fail(err, PBOOST_ORACLE,
                       "no entropy: getentropy failed (errno %d); nothing was answered", problem);
}

pboost_status pboost_rng_refill(rng_source *source, pboost_error *err)
{
    enum { SIZE = sizeof source->buffer / sizeof *source->buffer };
    pboost_status st = PBOOST_OK;

    if (source->seeded) {
        pboost_rng_fill(source->buffer, SIZE / 2, source->seed, source->purpose, source->stream,
                        source->index);
        source->index += SIZE / 2;
    } else {
        TRY(system_fill(source->buffer, sizeof source->buffer, err));
    }
    source->left = SIZE;
done:
    return st;
}
