#include "base/options.h"

#include <string.h>

#include "try.h"

pboost_status pboost_options_read(void *out, size_t size, const void *given, const char *init,
                                  pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t struct_size, head = sizeof struct_size;

    memcpy(&struct_size, given, head);
    if (struct_size <= head || struct_size % head != 0)
        FAIL(err, PBOOST_INVALID, "struct_size is %zu; start from %s, which sets it to %zu",
             struct_size, init, size);
    if (struct_size > size)
        FAIL(
            err, PBOOST_INVALID,
            "struct_size is %zu, but %s of this library has %zu: the program was built for a newer "
            "library",
            struct_size, init, size);
    memcpy((char *)out + head, (const char *)given + head, struct_size - head);
done:
    return st;
}

pboost_status pboost_options_inside(size_t struct_size, size_t size, const char *init,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (struct_size != size)
        FAIL(
            err, PBOOST_INVALID,
            "struct_size is %zu inside another struct, where it must be %zu; start from %s of this "
            "library",
            struct_size, size, init);
done:
    return st;
}
