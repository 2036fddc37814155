/* Any bytes as an svmlight file.  What is read has ascending columns in range and finite values;
 * the window does not matter. */
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare_entries(const pboost_table *a, const pboost_table *b)
{
    pboost_table_sparse x, y;

    REQUIRE(pboost_table_entries(&x, a) && pboost_table_entries(&y, b));
    REQUIRE(x.x.rows == pboost_table_rows(a) && x.x.rows == y.x.rows && x.x.cols == y.x.cols);
    REQUIRE(x.index_base == y.index_base && x.qids == y.qids && x.x.type == y.x.type);
    REQUIRE(pboost_sparse_check(&x.x, 1, NULL) == PBOOST_OK);
    size_t n = ((const uint64_t *)x.x.start)[x.x.rows];
    size_t bytes = x.x.type == PBOOST_F32 ? sizeof(float) : sizeof(double);
    REQUIRE(memcmp(x.x.start, y.x.start, (x.x.rows + 1) * sizeof(uint64_t)) == 0);
    REQUIRE(n == 0 || memcmp(x.x.column, y.x.column, n * sizeof *x.x.column) == 0);
    REQUIRE((x.x.value == NULL) == (y.x.value == NULL));
    REQUIRE(x.x.value == NULL || memcmp(x.x.value, y.x.value, n * bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int base = PBOOST_INDEX_BASE_AUTO; base <= 1; base++) {
        pboost_error err = {0}, narrow_err = {0};
        pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
        options.svmlight = true;
        options.index_base = base;
        options.sparse_columns = base == 1 ? 50 : 0;
        pboost_table *wide = fuzz_read(data, size, 1 << 16, &options, &err);
        pboost_table *narrow = fuzz_read(data, size, 1 + size % 7, &options, &narrow_err);
        REQUIRE((wide == NULL) == (narrow == NULL));
        REQUIRE(strcmp(err.message, narrow_err.message) == 0);
        if (wide != NULL) {
            fuzz_compare(wide, narrow);
            compare_entries(wide, narrow);
        }
        pboost_table_free(narrow);
        pboost_table_free(wide);
    }
    return 0;
}
