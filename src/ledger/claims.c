/* Spent rows in the store.
 *
 * A claim takes out the blocks that it touches, sets its bits, and puts the blocks back.  Two
 * claims at once cannot both succeed, even if writers did not take turns: a block that one of them
 * has put back cannot be put in a second time, because it is a primary key. */
#include "claims.h"

#include <string.h>

#include "bytes.h"

/* Blocks that are touched, and those between them where these are few: it is cheaper to write some
 * blocks again than to run one more statement. */
enum { FEW_BLOCKS = 8 };

typedef struct {
    size_t n_blocks;
    uint32_t *at; /* by block: 1 + where it is below; 0: it is not touched */
    size_t n;
    int64_t *block;
    unsigned char *bits;
} touched;

static void free_touched(touched *t)
{
    free(t->at);
    free(t->block);
    free(t->bits);
}

/* Marks the blocks of the rows, and those between; gives each its place. */
static void choose_blocks(touched *t, const uint32_t *slot, size_t n)
{
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < n; i++)
        t->at[slot[i] / CLAIM_ROWS] = 1;
    for (size_t b = 0; b < t->n_blocks; b++) {
        if (t->at[b] == 0)
            continue;
        for (size_t between = last + 1; last != SIZE_MAX && b - last <= FEW_BLOCKS && between < b;
             between++)
            t->at[between] = 1;
        last = b;
    }
    for (size_t b = 0; b < t->n_blocks; b++)
        if (t->at[b] != 0)
            t->at[b] = (uint32_t)++t->n;
}

static pboost_status refuse_block(int64_t block, pboost_error *err)
{
    return pboost_fail(err, PBOOST_BAD_DATA,
                       "the store is damaged: block %lld of spent rows is not valid",
                       (long long)block);
}

/* block, bits */
static pboost_status take_block(void *user, const store_value *value, size_t n, pboost_error *err)
{
    touched *t = user;
    (void)n;

    if (value[0].number < 0 || value[0].number >= (int64_t)t->n_blocks ||
        t->at[value[0].number] == 0 || value[1].length != CLAIM_BYTES)
        return refuse_block(value[0].number, err);
    memcpy(t->bits + (size_t)(t->at[value[0].number] - 1) * CLAIM_BYTES, value[1].data,
           CLAIM_BYTES);
    return PBOOST_OK;
}

/* One statement for each run of blocks. */
static pboost_status take_out(touched *t, store *s, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1; end < t->n && t->block[end] == t->block[end - 1] + 1;)
            end++;
        TRY(RUN(s,
                "DELETE FROM ledger_spent WHERE block >= $1 AND block <= $2 RETURNING block, bits",
                take_block, t, err, value_number(t->block[i]), value_number(t->block[end - 1])));
    }
done:
    return st;
}

static pboost_status put_block(void *user, store_value *value, size_t i, pboost_error *err)
{
    const touched *t = user;
    (void)err;
    value[0] = value_number(t->block[i]);
    value[1] = value_bytes(t->bits + i * CLAIM_BYTES, CLAIM_BYTES);
    return PBOOST_OK;
}

static pboost_status set_bits(const touched *t, const uint32_t *slot, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < n; i++) {
        size_t first = (size_t)(t->at[slot[i] / CLAIM_ROWS] - 1) * CLAIM_BYTES;
        unsigned char *byte = t->bits + first + slot[i] % CLAIM_ROWS / 8;
        unsigned char bit = (unsigned char)(1U << slot[i] % 8);
        if ((*byte & bit) != 0)
            FAIL(err, PBOOST_REFUSED, "the store has the row as spent already");
        *byte |= bit;
    }
done:
    return st;
}

pboost_status pboost_claims_add(store *s, const uint32_t *slot, size_t n, size_t rows,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    touched t = {.n_blocks = rows / CLAIM_ROWS + 1};

    if (n == 0)
        return PBOOST_OK;
    NEED(t.at = calloc(t.n_blocks, sizeof *t.at), err);
    choose_blocks(&t, slot, n);
    NEED(t.block = pboost_alloc(t.n, sizeof *t.block), err);
    NEED(t.bits = calloc(t.n + 1, CLAIM_BYTES), err); /* analyzers do not see that n > 0 */
    for (size_t b = 0; b < t.n_blocks; b++)
        if (t.at[b] != 0)
            t.block[t.at[b] - 1] = (int64_t)b;
    TRY(take_out(&t, s, err));
    TRY(set_bits(&t, slot, n, err));
    store_bulk blocks = {"ledger_spent", "ib", t.n, put_block, &t};
    TRY(s->class->bulk(s, &blocks, err));
done:
    free_touched(&t);
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct {
    uint64_t *spent;
    size_t rows;
} reading;

/* The last word may have bits of rows that do not exist, which is not valid. */
static pboost_status read_block(void *user, const store_value *value, size_t n, pboost_error *err)
{
    const reading *r = user;
    const unsigned char *bits = value[1].data;
    bool valid = value[0].number >= 0 && value[1].length == CLAIM_BYTES;
    (void)n;

    for (size_t i = 0; valid && i < CLAIM_BYTES / 8; i++) {
        size_t at = (size_t)value[0].number * (CLAIM_ROWS / 64) + i;
        uint64_t word = pboost_get_number(bits + 8 * i, 8);
        if (at < r->rows / 64 + 1)
            r->spent[at] = word;
        valid = at < r->rows / 64    ? true
                : at == r->rows / 64 ? word >> r->rows % 64 == 0
                                     : word == 0;
    }
    if (!valid)
        return refuse_block(value[0].number, err);
    return PBOOST_OK;
}

pboost_status pboost_claims_read(uint64_t *spent, size_t rows, store *s, pboost_error *err)
{
    reading r = {spent, rows};
    return s->class->run(s, "SELECT block, bits FROM ledger_spent", NULL, 0, read_block, &r, err);
}
