/* The inner loops of the sort that take several values at once.  Nothing in them rounds differently
 * from one level to another: a difference, a product, comparisons. */
#include "sort.h"

#include "simd.h"
#include "stream.h"
#include "vec.h"

typedef int32_t words __attribute__((vector_size(4 * LANES)));

INLINE vec choose(vec_mask m, vec yes, vec no)
{
    return (vec)((m & (vec_mask)yes) | (~m & (vec_mask)no));
}

void SIMD(pboost_sort_cells)(uint32_t *cell, const double *value, size_t n, const sort_grid *c)
{
    const vec low = vec_all(c->low), scale = vec_all(c->scale), last = vec_all(c->last);
    const vec zero = vec_all(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec v = (vec_load(value + i) - low) * scale;
        v = choose(v > zero, v, zero);
        v = choose(v < last, v, last);
        words w = __builtin_convertvector(v, words);
        memcpy(cell + i, &w, sizeof w);
    }
    for (; i < n; i++) {
        double v = (value[i] - c->low) * c->scale;
        v = v > 0 ? v : 0;
        cell[i] = (uint32_t)(v < c->last ? v : c->last);
    }
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

/* Writes out what the lines of a bucket hold of the places from .. to-1. */
INLINE void write_some(const sort_scatter *s, const sort_lines *lines, size_t from, size_t to,
                       size_t shift)
{
    for (size_t at = from; at < to; at++) {
        s->sorted[at] = lines->value[(at + shift) % SORT_LINE];
        s->row[at] = lines->row[(at + shift) % SORT_LINE];
    }
}

void SIMD(pboost_sort_scatter)(const sort_scatter *s, size_t n_buckets)
{
    const size_t shift = (uintptr_t)s->sorted / sizeof *s->sorted % SORT_LINE;
    for (size_t i = s->from; i < s->to; i++) {
        size_t b = s->bucket[i], at = s->next[b]++, slot = (at + shift) % SORT_LINE;
        sort_lines *lines = &s->lines[b];
        lines->value[slot] = s->value[i];
        lines->row[slot] = i;
        if (slot != SORT_LINE - 1)
            continue;
        if (at >= s->first[b] + (SORT_LINE - 1)) {
            stream_line(s->sorted + (at - (SORT_LINE - 1)), lines->value);
            stream_line(s->row + (at - (SORT_LINE - 1)), lines->row);
        } else {
            write_some(s, lines, s->first[b], at + 1, shift);
        }
    }
    stream_end();
    for (size_t b = 0; b < n_buckets; b++) {
        size_t end = s->next[b], held = (end + shift) % SORT_LINE;
        write_some(s, &s->lines[b], end - s->first[b] > held ? end - held : s->first[b], end,
                   shift);
    }
}
