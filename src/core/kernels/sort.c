/* The inner loops of the sort that take several values at once.  Nothing in them rounds differently
 * from one level to another: a difference, a product, comparisons. */
#include "kernels/sort.h"

#include "kernels/simd.h"
#include "kernels/stream.h"
#include "kernels/vec.h"

typedef int32_t words __attribute__((vector_size(4 * LANES)));

INLINE vec choose(vec_mask m, vec yes, vec no)
{
    return (vec)((m & (vec_mask)yes) | (~m & (vec_mask)no));
}

double SIMD(pboost_sort_cells)(uint32_t *cell, const double *value, size_t n, const sort_grid *c)
{
    const vec low = vec_all(c->low), scale = vec_all(c->scale), last = vec_all(c->last);
    const vec zero = vec_all(0);
    vec not_finite = zero;
    double rest = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec given = vec_load(value + i), v = (given - low) * scale;
        v = choose(v > zero, v, zero);
        v = choose(v < last, v, last);
        words w = __builtin_convertvector(v, words);
        memcpy(cell + i, &w, sizeof w);
        not_finite += given - given;
    }
    for (; i < n; i++) {
        double v = (value[i] - c->low) * c->scale;
        v = v > 0 ? v : 0;
        cell[i] = (uint32_t)(v < c->last ? v : c->last);
        rest += value[i] - value[i];
    }
    return vec_sum(not_finite) + rest;
}

sort_range SIMD(pboost_sort_range)(const double *value, size_t n)
{
    enum { WAYS = 2 }; /* so that one comparison need not wait for the one before */
    vec low[WAYS], high[WAYS], zero[WAYS];
    sort_range r = {value[0], value[0], 0};
    size_t i = 0;
    for (int w = 0; w < WAYS; w++) {
        low[w] = high[w] = vec_all(value[0]);
        zero[w] = vec_all(0);
    }
    for (; i + (size_t)WAYS * LANES <= n; i += (size_t)WAYS * LANES)
        for (int w = 0; w < WAYS; w++) {
            vec v = vec_load(value + i + (size_t)w * LANES);
            low[w] = choose(v < low[w], v, low[w]);
            high[w] = choose(v > high[w], v, high[w]);
            zero[w] += v - v;
        }
    for (; i < n; i++) {
        r.low = value[i] < r.low ? value[i] : r.low;
        r.high = value[i] > r.high ? value[i] : r.high;
        r.not_finite += value[i] - value[i];
    }
    for (int w = 0; w < WAYS; w++)
        for (int j = 0; j < LANES; j++) {
            r.low = low[w][j] < r.low ? low[w][j] : r.low;
            r.high = high[w][j] > r.high ? high[w][j] : r.high;
            r.not_finite += zero[w][j];
        }
    return r;
}

#ifdef __AVX512F__
#define CELLS 16
typedef uint32_t counts __attribute__((vector_size(4 * CELLS)));

/* v[i] becomes v[0] + .. + v[i]. */
INLINE counts scan(counts v)
{
    const counts o = {0};
    v += __builtin_shufflevector(o, v, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                 30);
    v +=
        __builtin_shufflevector(o, v, 0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29);
    v += __builtin_shufflevector(o, v, 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27);
    v += __builtin_shufflevector(o, v, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    return v;
}
#endif

uint32_t SIMD(pboost_sort_starts)(uint32_t *count, size_t n)
{
    uint32_t start = 0, most = 0;
    size_t i = 0;
#ifdef __AVX512F__
    counts before = {0}, tops = {0};
    for (; i + CELLS <= n; i += CELLS) {
        counts v, sum;
        memcpy(&v, count + i, sizeof v);
        sum = scan(v) + before;
        counts more = (counts)(v > tops);
        tops = (v & more) | (tops & ~more);
        before = __builtin_shufflevector(sum, sum, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                                         15, 15, 15, 15);
        sum -= v;
        memcpy(count + i, &sum, sizeof sum);
    }
    start = before[0];
    for (int j = 0; j < CELLS; j++)
        most = tops[j] > most ? tops[j] : most;
#endif
    for (; i < n; i++) {
        uint32_t here = count[i];
        most = here > most ? here : most;
        count[i] = start;
        start += here;
    }
    return most;
}

/* Writes out what the lines of a bucket hold of the places from .. to-1. */
INLINE void write_some(const sort_scatter *s, const sort_lines *lines, size_t from, size_t to,
                       size_t shift)
{
    for (size_t at = from; at < to; at++) {
        s->sorted[at] = lines->value[(at + shift) % SORT_LINE];
        s->row[at] = lines->row[(at + shift) % SORT_LINE];
    }
}

/* The place of a bucket's next value is kept in its lines, where the last row of a line will be:
 * one line less to fetch. */
void SIMD(pboost_sort_scatter)(const sort_scatter *s, size_t n_buckets)
{
    enum { LAST = SORT_LINE - 1 };
    const size_t shift = (uintptr_t)s->sorted / sizeof *s->sorted % SORT_LINE, to = s->to;
    const double *restrict value = s->value;
    const uint16_t *restrict bucket = s->bucket;
    sort_lines *restrict all = s->lines;
    double *restrict sorted = s->sorted;
    size_t *restrict row = s->row;
    for (size_t b = 0; b < n_buckets; b++)
        all[b].row[LAST] = s->next[b];
    for (size_t i = s->from; i < to; i++) {
        sort_lines *lines = &all[bucket[i]];
        size_t at = lines->row[LAST], slot = (at + shift) % SORT_LINE;
        lines->value[slot] = value[i];
        if (slot != LAST) {
            lines->row[slot] = i;
            lines->row[LAST] = at + 1;
            continue;
        }
        lines->row[LAST] = i;
        size_t first = s->next[bucket[i]];
        if (at >= first + LAST) {
            stream_line(sorted + (at - LAST), lines->value);
            stream_line(row + (at - LAST), lines->row);
        } else {
            write_some(s, lines, first, at + 1, shift);
        }
        lines->row[LAST] = at + 1;
    }
    stream_end();
    for (size_t b = 0; b < n_buckets; b++) {
        size_t first = s->next[b], end = all[b].row[LAST], held = (end + shift) % SORT_LINE;
        write_some(s, &all[b], end - first > held ? end - held : first, end, shift);
        s->next[b] = end;
    }
}
