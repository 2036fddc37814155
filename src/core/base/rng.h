/* Random words: a counter-based generator for everything that must be reproducible, and the
 * operating system for noise that must not be.
 *
 * The seeded generator is Philox 4x32-10 (Salmon et al. 2011).  Its output for (seed, stream,
 * index) depends on nothing else, so draws do not depend on threads, partitions or order. */
#ifndef PBOOST_RNG_H
#define PBOOST_RNG_H

#include <stdint.h>

#include <priorboost/core.h>

/* What a draw is for; no two purposes share random words. */
typedef enum {
    RNG_SHUFFLE,
    RNG_NOISE,
    RNG_COIN,
    RNG_THETA,
    RNG_FEATURES,
    RNG_LABELS,
    RNG_RESPONSES,
    RNG_TREES,
    RNG_SKETCH,
    RNG_PURPOSES
} rng_purpose;

/* The generator itself: four words for a counter of four and a key of two. */
void pboost_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Two words for (seed, purpose, stream, index).  No two of these share them, if the index is below
 * 2^56 or, as with the hash of an id, the stream is. */
void pboost_rng_words(uint64_t out[2], uint64_t seed, rng_purpose purpose, uint64_t stream,
                      uint64_t index);

/* The same for index, index + 1, ...: out[0 .. 2 n); all below 2^56. */
void pboost_rng_fill(uint64_t *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream,
                     uint64_t index);

/* Two normal deviates from each of these pairs of words, the same on every machine. */
void pboost_rng_normals(double *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream,
                        uint64_t index);

/* The key that decides the place of a row in a shuffle. */
static inline uint64_t pboost_rng_key(uint64_t seed, rng_purpose purpose, uint64_t stream,
                                      uint64_t index)
{
    uint64_t word[2];
    pboost_rng_words(word, seed, purpose, stream, index);
    return word[0];
}

/* Those of rows 0 .. n-1. */
void pboost_rng_keys(uint64_t *out, size_t n, uint64_t seed, rng_purpose purpose, uint64_t stream);

/* A stream of words that may fail: seeded, or from the operating system.  Lives on the stack of one
 * question, so that a forked child never inherits words it could use again. */
typedef struct {
    bool seeded;
    uint64_t seed, stream, index;
    rng_purpose purpose;
    uint64_t buffer[256];
    unsigned left;
} rng_source;

void pboost_rng_source_seeded(rng_source *source, uint64_t seed, rng_purpose purpose,
                              uint64_t stream);
void pboost_rng_source_system(rng_source *source);

/* The next word; PBOOST_ORACLE if the operating system has none; there is never a weaker one. */
pboost_status pboost_rng_refill(rng_source *source, pboost_error *err);
static inline pboost_status pboost_rng_next(uint64_t *out, rng_source *source, pboost_error *err)
{
    *out = 0;
    if (source->left == 0) {
        pboost_status st = pboost_rng_refill(source, err);
        if (st != PBOOST_OK)
            return st;
    }
    *out = source->buffer[--source->left];
    source->buffer[source->left] = 0;
    return PBOOST_OK;
}

/* Forgets the words that are left; called when the question is over. */
void pboost_rng_source_wipe(rng_source *source);

#endif
