/* Any bytes behind NumPy's magic. */
#include "tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size < 6)
        return 0;
    copy = malloc(size);
    REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    memcpy(copy, "\x93NUMPY", 6);
    fuzz_table(copy, size);
    free(copy);
    return 0;
}
