/* A hash table with linear probing, at most half full, over strings kept in one block. */
#include "dictionary.h"

#include <string.h>

#include "try.h"

static uint64_t hash(const char *text, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, word;

    for (; n >= 8; text += 8, n -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, n);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53u; /* so that the low bits depend on every byte */
    return h ^ h >> 32;
}

static size_t length(const dictionary *d, size_t i)
{
    return (i + 1 < d->n ? d->start[i + 1] : d->bytes_used) - d->start[i] - 1;
}

/* The slot where the string is, or the free one where it belongs. */
static size_t probe(const dictionary *d, const char *text, size_t n)
{
    size_t mask = d->n_slots - 1, i = (size_t)hash(text, n) & mask;

    while (d->slot[i] != DICTIONARY_NONE &&
           (length(d, d->slot[i]) != n || memcmp(d->bytes + d->start[d->slot[i]], text, n) != 0))
        i = (i + 1) & mask;
    return i;
}

static pboost_status grow_slots(dictionary *d, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n_slots = d->n_slots > 0 ? 2 * d->n_slots : 16;
    uint32_t *slot = pboost_alloc(n_slots, sizeof *slot);

    NEED(slot, err);
    free(d->slot);
    d->slot = slot;
    d->n_slots = n_slots;
    memset(slot, 0xff, n_slots * sizeof *slot);
    for (size_t i = 0; i < d->n; i++)
        slot[probe(d, d->bytes + d->start[i], length(d, i))] = (uint32_t)i;
done:
    return st;
}

/* Room for one more string of n bytes and its NUL. */
static pboost_status make_room(dictionary *d, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    GROW(d->start, d->start_capacity, d->n + 1, err);
    GROW(d->bytes, d->bytes_capacity, d->bytes_used + n + 1, err);
done:
    return st;
}

pboost_status pboost_dictionary_add(uint32_t *out, dictionary *d, const char *text, size_t n,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t i;

    if (2 * (d->n + 1) > d->n_slots)
        TRY(grow_slots(d, err));
    i = probe(d, text, n);
    if (d->slot[i] == DICTIONARY_NONE) {
        if (d->n == UINT32_MAX - 1)
            FAIL(err, PBOOST_BAD_DATA, "a column has more than %zu different values", d->n);
        TRY(make_room(d, n, err));
        d->start[d->n] = d->bytes_used;
        memcpy(d->bytes + d->bytes_used, text, n);
        d->bytes[d->bytes_used + n] = '\0';
        d->bytes_used += n + 1;
        d->slot[i] = (uint32_t)d->n++;
    }
    *out = d->slot[i];
done:
    return st;
}

uint32_t pboost_dictionary_find(const dictionary *d, const char *text, size_t n)
{
    return d->n_slots > 0 ? d->slot[probe(d, text, n)] : DICTIONARY_NONE;
}

void pboost_dictionary_free(dictionary *d)
{
    free(d->start);
    free(d->bytes);
    free(d->slot);
    *d = (dictionary){0};
}
