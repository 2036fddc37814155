/* Any bytes as a model file.  One that is read can be printed, and reads back the same text. */
#include <stdlib.h>
#include <string.h>

#include <priorboost/io.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pboost_model model, again;
    pboost_error err = {0};
    char *text, *same;
    pboost_status st = pboost_model_parse(&model, (const char *)data, size, "fuzz", &err);

    REQUIRE(st == PBOOST_OK || (st == PBOOST_BAD_DATA && err.message[0] != '\0'));
    if (st != PBOOST_OK)
        return 0;
    REQUIRE(pboost_model_print(&text, &model, &err) == PBOOST_OK);
    REQUIRE(pboost_model_parse(&again, text, strlen(text), "fuzz", &err) == PBOOST_OK);
    REQUIRE(pboost_model_print(&same, &again, &err) == PBOOST_OK);
    REQUIRE(strcmp(text, same) == 0);
    free(text);
    free(same);
    pboost_model_free(&again);
    pboost_model_free(&model);
    return 0;
}
