/* The map of ids: one by one and many at once give the same numbers. */
#include "ledger_testing.h"

enum { N = 5000 };

/* Integers of both signs, the largest and the smallest, and text. */
static pboost_id id_of(size_t i, char room[24])
{
    static const int64_t ENDS[] = {0, -1, INT64_MAX, INT64_MIN, 9, 10, -10, 1000000007};
    enum { N_ENDS = sizeof ENDS / sizeof *ENDS };

    if (i < N_ENDS)
        return (pboost_id){NULL, ENDS[i]};
    snprintf(room, 24, i % 3 == 0 ? "row %zu" : "%zu", 100 + 7 * i);
    return (pboost_id){room, 0};
}

static void many_at_once_are_as_one_by_one(void **state)
{
    (void)state;
    id_map one = {0}, many = {0};
    pboost_error err = {0};
    char room[24], text[2][24], expected[24];
    uint32_t number;
    bool added;

    for (size_t i = 0; i < N; i++) {
        assert_ok(pboost_ids_add(&number, &added, &one, id_of(i, room), &err), err);
        assert_true(added && number == i);
        assert_ok(pboost_ids_append(&number, &many, id_of(i, room), &err), err);
        assert_int_equal(number, i);
        if (i == N / 2)
            assert_int_equal(pboost_ids_index(&many), NO_NUMBER);
    }
    assert_int_equal(pboost_ids_index(&many), NO_NUMBER);
    static char rooms[N + 1][24];
    static pboost_id id[N + 1];
    static uint32_t found[N + 1];
    for (size_t i = 0; i < N; i++)
        id[i] = id_of(i, rooms[i]);
    id[N] = (pboost_id){"not there", 0};
    pboost_ids_find_all(found, &many, id, N + 1);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(found[i], i);
        assert_int_equal(pboost_ids_find(&one, id[i]), i);
        assert_string_equal(pboost_ids_text(&one, (uint32_t)i, text[0]),
                            pboost_ids_text(&many, (uint32_t)i, text[1]));
        snprintf(expected, sizeof expected, "%lld", (long long)id[i].number);
        assert_string_equal(pboost_ids_text(&one, (uint32_t)i, text[0]),
                            id[i].text != NULL ? id[i].text : expected);
    }
    assert_int_equal(found[N], NO_NUMBER);

    assert_ok(pboost_ids_append(&number, &many, id[17], &err), err);
    assert_int_equal(pboost_ids_index(&many), N); /* it was there before */
    pboost_ids_free(&one);
    pboost_ids_find_all(found, &one, id, 3);
    assert_int_equal(found[2], NO_NUMBER);
    pboost_ids_free(&many);
}

/* All share "1000..."; the order is that of their texts. */
static void ids_in_any_order_are_put_in_that_of_their_texts(void **state)
{
    (void)state;
    enum { MANY = 5003 };
    id_map scattered = {0}, rising = {0};
    size_t *order;
    uint32_t number;
    bool added;
    pboost_error err = {0};
    char before[24], after[24];

    for (size_t i = 0; i < MANY; i++) {
        pboost_id far = {NULL, (int64_t)(1000000000000 + i * 2718 % MANY)};
        pboost_id next = {NULL, (int64_t)(1000000000000 + i)};
        assert_ok(pboost_ids_add(&number, &added, &scattered, far, &err), err);
        assert_ok(pboost_ids_add(&number, &added, &rising, next, &err), err);
    }
    assert_ok(pboost_ids_order(&order, &rising, &err), err);
    assert_null(order);
    assert_ok(pboost_ids_order(&order, &scattered, &err), err);
    assert_non_null(order);
    for (size_t i = 1; i < MANY; i++)
        assert_true(strcmp(pboost_ids_text(&scattered, (uint32_t)order[i - 1], before),
                           pboost_ids_text(&scattered, (uint32_t)order[i], after)) < 0);
    free(order);
    pboost_ids_free(&scattered);
    pboost_ids_free(&rising);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once_are_as_one_by_one),
        cmocka_unit_test(ids_in_any_order_are_put_in_that_of_their_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
