/* Ids and their numbers: open addressing with linear probing, nothing is ever removed. */
#include "ids.h"

#include <string.h>

#include "bags/sort.h"
#include "bytes.h"

/* ---- What an id is --------------------------------------------------------------------------- */

typedef struct {
    const char *text; /* NULL: an integer */
    size_t length;
    int64_t number;
} id_key;

/* Reads "0", "17" or "-4"; not "+1", "01", "-0" or what does not fit. */
static bool read_integer(int64_t *out, const char *text)
{
    bool negative = *text == '-';
    const char *digit = text + negative;
    uint64_t size = 0, most = (uint64_t)INT64_MAX + negative;

    if (*digit == '0' && (digit[1] != '\0' || negative))
        return false;
    if (*digit == '\0')
        return false;
    for (; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(size, (uint64_t)10, &size) ||
            __builtin_add_overflow(size, (uint64_t)(*digit - '0'), &size) || size > most)
            return false;
    }
    *out = (int64_t)(negative ? -size : size);
    return true;
}

static id_key key_of(pboost_id id)
{
    id_key key = {NULL, 0, id.number};
    if (id.text != NULL && !read_integer(&key.number, id.text)) {
        key.text = id.text;
        key.length = strlen(id.text);
    }
    return key;
}

bool pboost_id_valid(pboost_id id)
{
    return id.text == NULL ||
           (*id.text != '\0' && strnlen(id.text, PBOOST_ID_MAX + 1) <= PBOOST_ID_MAX);
}

size_t pboost_id_canonical(unsigned char out[ID_CANONICAL_MAX], pboost_id id)
{
    id_key key = key_of(id);

    if (key.text != NULL) {
        size_t length = key.length <= PBOOST_ID_MAX ? key.length : PBOOST_ID_MAX;
        out[0] = 't';
        out[1] = (unsigned char)length;
        memcpy(out + 2, key.text, length);
        return length + 2;
    }
    out[0] = 'i';
    pboost_put_number(out + 1, (uint64_t)key.number, 8);
    return 9;
}

/* ---- The map --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static size_t hash_of(const id_key *key)
{
    if (key->text == NULL)
        return (size_t)mix((uint64_t)key->number);
    uint64_t hash = key->length;
    for (size_t i = 0; i < key->length; i += 8) {
        uint64_t word = 0;
        memcpy(&word, key->text + i, key->length - i < 8 ? key->length - i : 8);
        hash = mix(hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    }
    return (size_t)hash;
}

/* The map uses the low bits of a hash; the ids of one store would meet there. */
size_t pboost_id_store(pboost_id id, size_t stores)
{
    id_key key = key_of(id);
    uint64_t hash = key.text == NULL ? mix((uint64_t)key.number) : key.length;

    for (size_t i = 0; key.text != NULL && i < key.length; i += 8) {
        size_t left = key.length - i;
        hash = mix(hash ^
                   pboost_get_number((const unsigned char *)key.text + i, left < 8 ? left : 8)) +
               UINT64_C(0x9e3779b97f4a7c15);
    }
    return (size_t)((hash >> 32) * stores >> 32);
}

static size_t bucket_of(const id_map *map, const id_key *key)
{
    return hash_of(key) & (map->buckets - 1);
}

static bool text_at(const id_map *map, uint32_t number)
{
    return map->is_text[number / 64] >> number % 64 & 1;
}

static bool same(const id_map *map, uint32_t number, const id_key *key)
{
    if (key->text == NULL)
        return !text_at(map, number) && map->key[number] == key->number;
    return text_at(map, number) && strcmp(map->text + map->key[number], key->text) == 0;
}

/* Where the key is, or the empty bucket where it belongs; at is the bucket of its hash. */
static size_t place(const id_map *map, const id_key *key, size_t at)
{
    while (map->bucket[at] != 0 && !same(map, map->bucket[at] - 1, key))
        at = (at + 1) & (map->buckets - 1);
    return at;
}

uint32_t pboost_ids_find(const id_map *map, pboost_id id)
{
    if (map->n == 0)
        return NO_NUMBER;
    id_key key = key_of(id);
    uint32_t found = map->bucket[place(map, &key, bucket_of(map, &key))];
    return found != 0 ? found - 1 : NO_NUMBER;
}

/* Three passes over a few ids: the first asks for the buckets, the second for the keys that they
 * name, and the third finds both there.  A key that is not in its first bucket is waited for. */
void pboost_ids_find_all(uint32_t *out, const id_map *map, const pboost_id *id, size_t n)
{
    enum { AT_ONCE = 32 };
    id_key key[AT_ONCE];
    size_t at[AT_ONCE];

    for (size_t first = 0; first < n; first += AT_ONCE) {
        size_t here = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (size_t i = 0; i < here && map->n > 0; i++) {
            key[i] = key_of(id[first + i]);
            at[i] = bucket_of(map, &key[i]);
            __builtin_prefetch(&map->bucket[at[i]]);
        }
        for (size_t i = 0; i < here && map->n > 0; i++)
            if (map->bucket[at[i]] != 0)
                __builtin_prefetch(&map->key[map->bucket[at[i]] - 1]);
        for (size_t i = 0; i < here; i++) {
            uint32_t found = map->n > 0 ? map->bucket[place(map, &key[i], at[i])] : 0;
            out[first + i] = found != 0 ? found - 1 : NO_NUMBER;
        }
    }
}

const char *pboost_ids_text(const id_map *map, uint32_t number, char buffer[24])
{
    if (text_at(map, number))
        return map->text + map->key[number];
    int64_t key = map->key[number];
    uint64_t left = key < 0 ? -(uint64_t)key : (uint64_t)key;
    char *at = buffer + 23;
    *at = '\0';
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (key < 0)
        *--at = '-';
    return at;
}

void pboost_ids_free(id_map *map)
{
    free(map->key);
    free(map->is_text);
    free(map->text);
    free(map->bucket);
    *map = (id_map){0};
}

/* ---- Growth ---------------------------------------------------------------------------------- */

static id_key key_at(const id_map *map, uint32_t number)
{
    bool text = text_at(map, number);
    id_key key = {text ? map->text + map->key[number] : NULL, 0, map->key[number]};
    if (text)
        key.length = strlen(key.text);
    return key;
}

uint32_t pboost_ids_index(id_map *map)
{
    enum { AT_ONCE = 32 };
    id_key key[AT_ONCE];
    size_t at[AT_ONCE];
    uint32_t twice = NO_NUMBER;

    while (map->indexed < map->n) {
        size_t here = map->n - map->indexed < AT_ONCE ? map->n - map->indexed : AT_ONCE;
        for (size_t i = 0; i < here; i++) {
            key[i] = key_at(map, (uint32_t)(map->indexed + i));
            at[i] = bucket_of(map, &key[i]);
            __builtin_prefetch(&map->bucket[at[i]], 1);
        }
        for (size_t i = 0; i < here; i++) {
            uint32_t *bucket = &map->bucket[place(map, &key[i], at[i])];
            if (*bucket != 0)
                twice = (uint32_t)(map->indexed + i);
            else
                *bucket = (uint32_t)(map->indexed + i) + 1;
        }
        map->indexed += here;
    }
    return twice;
}

static pboost_status grow_buckets(id_map *map, size_t buckets, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    uint32_t *bucket;

    NEED(bucket = calloc(buckets, sizeof *bucket), err);
    free(map->bucket);
    map->bucket = bucket;
    map->buckets = buckets;
    size_t n = map->n;
    map->n = map->indexed;
    map->indexed = 0;
    (void)pboost_ids_index(map);
    map->n = n;
done:
    return st;
}

pboost_status pboost_ids_reserve(id_map *map, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t buckets = map->buckets > 0 ? map->buckets : 64;

    if (n > INT32_MAX)
        FAIL(err, PBOOST_INVALID, "a store holds at most 2^31-1 rows");
    if (n > map->capacity) {
        size_t words = n / 64 + 1, old_words = map->capacity > 0 ? map->capacity / 64 + 1 : 0;
        int64_t *key;
        uint64_t *is_text;
        NEED(key = realloc(map->key, n * sizeof *key), err);
        map->key = key;
        NEED(is_text = realloc(map->is_text, words * sizeof *is_text), err);
        map->is_text = is_text;
        memset(is_text + old_words, 0, (words - old_words) * sizeof *is_text);
        map->capacity = n;
    }
    while (buckets / 2 < n)
        buckets *= 2;
    if (buckets > map->buckets)
        TRY(grow_buckets(map, buckets, err));
done:
    return st;
}

static pboost_status keep_text(id_map *map, const id_key *key, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (map->text_used + key->length + 1 > map->text_capacity) {
        size_t capacity = map->text_capacity + map->text_capacity / 2 + 4096;
        char *text;
        NEED(text = realloc(map->text, capacity), err);
        map->text = text;
        map->text_capacity = capacity;
    }
    memcpy(map->text + map->text_used, key->text, key->length + 1);
    map->text_used += key->length + 1;
done:
    return st;
}

pboost_status pboost_ids_append(uint32_t *number, id_map *map, pboost_id id, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    id_key key = key_of(id);

    if (map->n == map->capacity)
        TRY(pboost_ids_reserve(map, map->capacity + map->capacity / 2 + 64, err));
    *number = (uint32_t)map->n;
    map->key[map->n] = key.number;
    if (key.text != NULL) {
        map->key[map->n] = (int64_t)map->text_used;
        TRY(keep_text(map, &key, err));
        map->is_text[map->n / 64] |= UINT64_C(1) << map->n % 64;
    }
    map->n++;
done:
    return st;
}

pboost_status pboost_ids_add(uint32_t *number, bool *added, id_map *map, pboost_id id,
                             pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *number = pboost_ids_find(map, id);
    *added = false;
    if (*number != NO_NUMBER)
        return PBOOST_OK;
    TRY(pboost_ids_append(number, map, id, err));
    (void)pboost_ids_index(map);
    *added = true;
done:
    return st;
}

/* ---- Order ----------------------------------------------------------------------------------- */

enum { FEW = 4096 }; /* whose pages fit into memory in any order */

/* How many first bytes all ids share. */
static size_t common_start(const id_map *map)
{
    char first_room[24], room[24];
    const char *first = map->n > 0 ? pboost_ids_text(map, 0, first_room) : "";
    size_t common = strlen(first);

    for (uint32_t i = 1; i < map->n && common > 0; i++) {
        const char *text = pboost_ids_text(map, i, room);
        for (size_t j = 0; j < common; j++)
            if (text[j] != first[j])
                common = j; /* also where the text ends */
    }
    return common;
}

/* The next eight bytes of the text as a number: the order of these is that of the texts. */
static uint64_t order_key(const char *text)
{
    uint64_t key = 0;

    for (size_t j = 0; j < sizeof key; j++) {
        key = key << 8 | (unsigned char)*text;
        text += *text != '\0';
    }
    return key;
}

pboost_status pboost_ids_order(size_t **order, const id_map *map, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t common = common_start(map), back = 0;
    uint64_t *key = NULL;
    char room[24];

    *order = NULL;
    NEED(key = pboost_alloc(map->n, sizeof *key), err);
    for (uint32_t i = 0; i < map->n; i++) {
        key[i] = order_key(pboost_ids_text(map, i, room) + common);
        back += i > 0 && key[i] < key[i - 1];
    }
    if (map->n < FEW || back < map->n / 64) /* such as numbers that count up */
        goto done;
    NEED(*order = pboost_alloc(map->n, sizeof **order), err);
    TRY(pboost_sort_keys(*order, key, map->n, 1, NULL, err));
done:
    free(key);
    if (st != PBOOST_OK) {
        free(*order);
        *order = NULL;
    }
    return st;
}
