/* What the fuzz targets of the two table formats share: read, use in every way, compare. */
#ifndef PBOOST_FUZZ_TABLES_H
#define PBOOST_FUZZ_TABLES_H

#include <stdlib.h>
#include <string.h>

#include <priorboost/io.h>

#include "source.h"
#include "table.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

static inline pboost_table *fuzz_read(const uint8_t *data, size_t size, size_t window,
                                      const pboost_table_options *options, pboost_error *err)
{
    pboost_table *table = NULL;
    source src;

    REQUIRE(pboost_source_memory(&src, "fuzz", data, size, window, err) == PBOOST_OK);
    pboost_status st = pboost_table_read_source(&table, &src, options, err);
    pboost_source_close(&src);
    REQUIRE((st == PBOOST_OK) == (table != NULL));
    REQUIRE(st == PBOOST_OK || (st == PBOOST_BAD_DATA && err->message[0] != '\0'));
    return table;
}

/* The window must not matter. */
static inline void fuzz_compare(const pboost_table *a, const pboost_table *b)
{
    REQUIRE(pboost_table_rows(a) == pboost_table_rows(b));
    REQUIRE(pboost_table_cols(a) == pboost_table_cols(b));
    for (size_t r = 0; r < pboost_table_rows(a); r++)
        REQUIRE(pboost_table_line(a, r) == pboost_table_line(b, r));
    for (size_t c = 0; c < pboost_table_cols(a); c++) {
        const double *x = NULL, *y = NULL;
        size_t n = pboost_table_rows(a);
        pboost_error e = {0}, f = {0};
        REQUIRE(strcmp(pboost_table_name(a, c), pboost_table_name(b, c)) == 0);
        REQUIRE(pboost_table_is_text(a, c) == pboost_table_is_text(b, c));
        REQUIRE(pboost_table_numbers(&x, a, c, true, &e) ==
                pboost_table_numbers(&y, b, c, true, &f));
        REQUIRE(strcmp(e.message, f.message) == 0);
        REQUIRE(x == NULL || memcmp(x, y, n * sizeof *x) == 0);
        if (!pboost_table_is_text(a, c))
            continue;
        REQUIRE(memcmp(pboost_table_codes(a, c), pboost_table_codes(b, c), n * 4) == 0);
        for (uint32_t k = 0; k < pboost_table_n_levels(a, c); k++)
            REQUIRE(strcmp(pboost_table_level(a, c, k), pboost_table_level(b, c, k)) == 0);
    }
}

/* What an encoding learns from a table applies to that table. */
static inline void fuzz_encode(const pboost_table *table)
{
    pboost_encoding encoding;
    pboost_encoding_options options = PBOOST_ENCODING_OPTIONS_INIT;
    size_t cols = pboost_table_cols(table);
    bool *use = malloc(cols);

    REQUIRE(use != NULL);
    for (size_t c = 0; c < cols; c++) {
        const double *x;
        use[c] = pboost_table_is_text(table, c) ||
                 pboost_table_numbers(&x, table, c, true, NULL) == PBOOST_OK;
    }
    options.use = use;
    options.impute = true;
    if (pboost_encoding_learn(&encoding, table, &options, NULL) == PBOOST_OK) {
        size_t n = pboost_table_rows(table) * encoding.n_columns;
        if (n < 1 << 22) {
            double *x = malloc((n > 0 ? n : 1) * sizeof *x);
            REQUIRE(x != NULL);
            REQUIRE(pboost_encoding_apply(x, NULL, &encoding, table, NULL) == PBOOST_OK);
            for (size_t i = 0; i < n; i++)
                REQUIRE(x[i] - x[i] == 0);
            free(x);
        }
        pboost_encoding_free(&encoding);
    }
    free(use);
}

/* Reads the data through a narrow and a wide window and with its first column as text. */
static inline void fuzz_table(const uint8_t *data, size_t size)
{
    pboost_error err = {0}, narrow_err = {0};
    pboost_table *wide = fuzz_read(data, size, 1 << 16, NULL, &err);
    pboost_table *narrow = fuzz_read(data, size, 1 + size % 7, NULL, &narrow_err);

    REQUIRE((wide == NULL) == (narrow == NULL));
    if (wide != NULL) {
        const char *name = pboost_table_name(wide, 0);
        pboost_table_options options = PBOOST_TABLE_OPTIONS_INIT;
        options.text = &name;
        options.n_text = 1;
        pboost_table *text = fuzz_read(data, size, 64, &options, &err);
        REQUIRE(text != NULL && pboost_table_is_text(text, 0));
        pboost_table_free(text);
        fuzz_compare(wide, narrow);
        fuzz_encode(wide);
    }
    pboost_table_free(narrow);
    pboost_table_free(wide);
}

#endif
