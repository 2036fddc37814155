/* Ids and their numbers 0, 1, 2, ... in order of arrival: a hash map in memory.
 *
 * An id is a 64-bit integer or text; text that is the usual way to write such an integer is that
 * integer.  An integer takes 8 bytes and 8 to 16 of table, text its own length more. */
#ifndef PBOOST_IDS_H
#define PBOOST_IDS_H

#include <priorboost/ledger.h>

#include "try.h"

#define NO_NUMBER UINT32_MAX

typedef struct {
    size_t n, capacity, indexed; /* those that have a bucket: all, except while they are appended */
    int64_t *key;                /* the integer, or where its text begins */
    uint64_t *is_text;           /* one bit each */
    char *text;
    size_t text_used, text_capacity;
    uint32_t *bucket; /* number + 1; 0: empty */
    size_t buckets;   /* a power of two, at least twice the ids */
} id_map;

void pboost_ids_free(id_map *map);
pboost_status pboost_ids_reserve(id_map *map, size_t n, pboost_error *err);

/* 1 to PBOOST_ID_MAX bytes. */
bool pboost_id_valid(pboost_id id);

/* The number of an id; NO_NUMBER if it is not there. */
uint32_t pboost_ids_find(const id_map *map, pboost_id id);

/* The numbers of n ids, of which the memory is asked for some ahead: it is mostly waited for. */
void pboost_ids_find_all(uint32_t *out, const id_map *map, const pboost_id *id, size_t n);

/* The number of an id, adding the id if it is not there; *added says so.  The id is valid. */
pboost_status pboost_ids_add(uint32_t *number, bool *added, id_map *map, pboost_id id,
                             pboost_error *err);

/* Many ids at once: each is appended without being looked up, and then all get their buckets, of
 * which the memory is asked for some ahead.  pboost_ids_index returns the number of one that was
 * there before, or NO_NUMBER.  Nothing is found or added in between. */
pboost_status pboost_ids_append(uint32_t *number, id_map *map, pboost_id id, pboost_error *err);
uint32_t pboost_ids_index(id_map *map);

/* The id as text; integers are written to the end of buffer. */
const char *pboost_ids_text(const id_map *map, uint32_t number, char buffer[24]);

/* An order of all ids in which those that are neighbours as text are near each other; *order is
 * NULL where the order of arrival is such, or the ids are few.  An index of the store that gets ids
 * in another order than its own writes a page for each of them, once it is larger than the memory
 * for its pages. */
pboost_status pboost_ids_order(size_t **order, const id_map *map, pboost_error *err);

/* Bytes that differ where ids differ: 'i' and the integer, or 't', the length and the text.
 * Returns how many. */
enum { ID_CANONICAL_MAX = PBOOST_ID_MAX + 2 };
size_t pboost_id_canonical(unsigned char out[ID_CANONICAL_MAX], pboost_id id);

/* Which of several stores, from 0, has the row or unit with this id: a hash, the same for ever. */
size_t pboost_id_store(pboost_id id, size_t stores);

#endif
