/* Spent rows in blocks of bits: what was claimed stays claimed, once, whatever blocks it touches.
 */
#include "ledger_testing.h"

enum { ROWS = 40 * CLAIM_ROWS + 100, WORDS = ROWS / 64 + 1 };

/* A store that has the tables and nothing else. */
static store *empty_tables(test_store *t)
{
    pboost_error err = {0};
    store *s;

    *t = new_store();
    assert_ok(pboost_store_open(&s, t->url, true, &err), err);
    assert_ok(pboost_store_begin(s, true, &err), err);
    assert_ok(pboost_store_make_tables(s, 1, &err), err);
    assert_ok(pboost_store_commit(s, &err), err);
    return s;
}

static pboost_status claim_rows(store *s, const uint32_t *slot, size_t n, pboost_error *err)
{
    assert_ok(pboost_store_begin(s, true, err), *err);
    pboost_status st = pboost_claims_add(s, slot, n, ROWS, err);
    if (st == PBOOST_OK)
        st = pboost_store_commit(s, err);
    pboost_store_rollback(s);
    return st;
}

static void assert_spent(store *s, const uint64_t expected[WORDS])
{
    pboost_error err = {0};
    uint64_t *spent = calloc(WORDS, sizeof *spent);

    assert_ok(pboost_claims_read(spent, ROWS, s, &err), err);
    assert_memory_equal(spent, expected, WORDS * sizeof *spent);
    free(spent);
}

/* Claims of every kind: a row, a few that are far apart, the ends of blocks, many. */
static void claims_add_up(void **state)
{
    (void)state;
    test_store t;
    store *s = empty_tables(&t);
    pboost_error err = {0};
    uint64_t *expected = calloc(WORDS, sizeof *expected), random = 1;
    uint32_t *slot = calloc(ROWS, sizeof *slot);
    static const size_t MOST[] = {1, 3, 100, 5000};
    const uint32_t ends[] = {0, CLAIM_ROWS - 1, CLAIM_ROWS, 20 * CLAIM_ROWS - 1, ROWS - 1};

    assert_ok(claim_rows(s, ends, 5, &err), err);
    for (size_t i = 0; i < 5; i++)
        expected[ends[i] / 64] |= UINT64_C(1) << ends[i] % 64;
    assert_spent(s, expected);
    for (size_t turn = 0; turn < 40; turn++) {
        size_t n = 0;
        for (size_t i = 0; i < MOST[turn % 4]; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t row = (uint32_t)((random >> 33) % ROWS);
            if ((expected[row / 64] >> row % 64 & 1) == 0)
                slot[n++] = row;
            expected[row / 64] |= UINT64_C(1) << row % 64;
        }
        assert_ok(claim_rows(s, slot, n, &err), err);
        if (turn % 8 == 7)
            assert_spent(s, expected);
    }
    assert_ok(claim_rows(s, slot, 0, &err), err);
    assert_spent(s, expected);

    /* one of a thousand rows is spent, or is named twice: nothing is changed */
    size_t n = 0;
    for (uint32_t row = 0; n < 1000; row += 7)
        if ((expected[row / 64] >> row % 64 & 1) == 0)
            slot[n++] = row;
    slot[n] = ends[3];
    assert_fails(claim_rows(s, slot, n + 1, &err), PBOOST_REFUSED, err, "spent already");
    slot[n] = slot[17];
    assert_fails(claim_rows(s, slot, n + 1, &err), PBOOST_REFUSED, err, "spent already");
    assert_spent(s, expected);
    assert_ok(claim_rows(s, slot, n, &err), err);
    pboost_store_close(s);
    free(slot);
    free(expected);
    drop_store(&t);
}

/* The database keeps a block from being there twice, and from having another length. */
static void blocks_that_are_not_valid(void **state)
{
    (void)state;
    test_store t;
    store *s = empty_tables(&t);
    pboost_error err = {0};
    uint64_t *spent = calloc(WORDS, sizeof *spent);
    const uint32_t row = 5, last = ROWS - 1;
    unsigned char bits[CLAIM_BYTES] = {0};

    assert_ok(claim_rows(s, &row, 1, &err), err);
    assert_fails(s->class->run(s, "INSERT INTO ledger_spent SELECT * FROM ledger_spent", NULL, 0,
                               NULL, NULL, &err),
                 PBOOST_REFUSED, err, "constraints");
    for (size_t length = CLAIM_BYTES - 1; length <= CLAIM_BYTES; length++) {
        pboost_status st = RUN(s, "INSERT INTO ledger_spent VALUES ($1, $2)", NULL, NULL, &err,
                               value_number(ROWS / CLAIM_ROWS), value_bytes(bits, length));
        assert_int_equal(st, length == CLAIM_BYTES ? PBOOST_OK : PBOOST_REFUSED);
    }
    assert_ok(pboost_claims_read(spent, ROWS, s, &err), err);
    assert_int_equal(spent[0], 1 << 5);
    assert_ok(claim_rows(s, &last, 1, &err), err);
    memset(spent, 0, WORDS * sizeof *spent);
    assert_fails(pboost_claims_read(spent, ROWS - 1, s, &err), PBOOST_BAD_DATA, err, "block 40");
    pboost_store_close(s);
    free(spent);
    drop_store(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_add_up),
        cmocka_unit_test(blocks_that_are_not_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
