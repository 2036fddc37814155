/* Stores that go past the caches, for lines that are written once and whole.
 *
 * An ordinary store to a line that is not in the cache reads the line first; a stream of whole
 * lines to many places is twice as fast without.  The one place with instructions of a processor;
 * elsewhere a line is copied. */
#ifndef PBOOST_STREAM_H
#define PBOOST_STREAM_H

#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define STREAM_LINE 64

/* Copies one line; `to` is aligned to it. */
static inline __attribute__((always_inline)) void stream_line(void *to, const void *from)
{
#if defined __AVX512F__
    _mm512_stream_si512(to, _mm512_loadu_si512(from));
#elif defined __AVX__
    const __m256i *part = from;
    for (int i = 0; i < 2; i++)
        _mm256_stream_si256((__m256i *)to + i, _mm256_loadu_si256(part + i));
#elif defined __SSE2__
    const __m128i *part = from;
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128(part + i));
#else
    memcpy(to, from, STREAM_LINE);
#endif
}

/* After the last line, before another thread reads them. */
static inline void stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
