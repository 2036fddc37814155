/* Memory that is kept: released blocks are used again, and nothing is lost or freed twice. */
#include "testing.h"

#include "base/workspace.h"

static void blocks_are_handed_out_again(void **state)
{
    pboost_workspace work = {0};
    (void)state;
    void *a = pboost_acquire(&work, 100, 8), *b = pboost_acquire(&work, 10, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    pboost_release(&work, a);
    pboost_release(&work, b);
    assert_ptr_equal(pboost_acquire(&work, 9, 8), b); /* the least that will do */
    assert_ptr_equal(pboost_acquire(&work, 9, 8), a);
    pboost_release(&work, a);
    pboost_release(&work, b);
    assert_int_equal(work.n_blocks, 2);
    assert_ptr_equal(pboost_acquire(&work, 110, 8), a); /* a little more is there already */
    pboost_release(&work, a);
    assert_non_null(a = pboost_acquire(&work, 1000, 8)); /* in place of the greatest */
    assert_int_equal(work.n_blocks, 2);
    memset(a, 1, 8000);
    pboost_release(&work, a);
    unsigned char *zeros = pboost_acquire_zeros(&work, 8000, 1);
    assert_ptr_equal(zeros, a);
    for (size_t i = 0; i < 8000; i++)
        assert_int_equal(zeros[i], 0);
    pboost_workspace_free(&work); /* with one taken */
    assert_int_equal(work.n_blocks, 0);
}

static void more_than_it_can_keep_is_freed(void **state)
{
    pboost_workspace work = {0};
    void *memory[WORKSPACE_BLOCKS + 5];
    (void)state;
    for (size_t i = 0; i < WORKSPACE_BLOCKS + 5; i++) {
        assert_non_null(memory[i] = pboost_acquire(&work, i, 1));
        memset(memory[i], 0, i);
    }
    assert_int_equal(work.n_blocks, WORKSPACE_BLOCKS);
    for (size_t i = 0; i < WORKSPACE_BLOCKS + 5; i++)
        pboost_release(&work, memory[i]);
    pboost_release(&work, malloc(1)); /* from elsewhere */
    pboost_release(&work, NULL);
    pboost_workspace_free(&work);
}

static void without_one_memory_is_the_system_s(void **state)
{
    (void)state;
    void *memory = pboost_acquire_zeros(NULL, 3, 8);
    assert_non_null(memory);
    pboost_release(NULL, memory);
    assert_null(pboost_acquire(NULL, SIZE_MAX / 4, 8));
    pboost_workspace work = {0};
    assert_null(pboost_acquire(&work, SIZE_MAX / 4, 8));
    assert_null(pboost_acquire_zeros(&work, SIZE_MAX, 1));
    assert_int_equal(work.n_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_handed_out_again),
        cmocka_unit_test(more_than_it_can_keep_is_freed),
        cmocka_unit_test(without_one_memory_is_the_system_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
