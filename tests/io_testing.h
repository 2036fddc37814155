/* What the tests of files share: tables from text, and a directory that goes away. */
#ifndef PBOOST_IO_TESTING_H
#define PBOOST_IO_TESTING_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include <priorboost/io.h>

#include "source.h"
#include "table.h"

/* A table from bytes, seen through a window that is at first `window` bytes wide. */
static inline pboost_status table_from(pboost_table **out, const void *data, size_t n,
                                       size_t window, const pboost_table_options *options,
                                       pboost_error *err)
{
    source src;
    pboost_status st = pboost_source_memory(&src, "t.csv", data, n, window, err);

    *out = NULL;
    if (st == PBOOST_OK)
        st = pboost_table_read_source(out, &src, options, err);
    pboost_source_close(&src);
    return st;
}

static inline pboost_table *table_of(const char *text)
{
    pboost_error err = {0};
    pboost_table *table;

    assert_ok(table_from(&table, text, strlen(text), 1 << 16, NULL, &err), err);
    return table;
}

/* Every level gets a column, and unseen ones are errors. */
static inline pboost_encoding_options encoding_options(const bool *use, bool impute)
{
    pboost_encoding_options options = PBOOST_ENCODING_OPTIONS_INIT;

    options.use = use;
    options.impute = impute;
    options.refuse_unseen = true;
    return options;
}

/* A directory of its own for each test: *state is its path. */
static inline int enter_directory(void **state)
{
    char path[] = "/tmp/pboost-test-XXXXXX";

    if (mkdtemp(path) == NULL)
        return -1;
    *state = strdup(path);
    return *state != NULL ? 0 : -1;
}

static inline char *path_in(const char *directory, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline size_t count_files(const char *directory)
{
    DIR *d = opendir(directory);
    size_t n = 0;

    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

/* Removes what a test left, one level deep. */
static inline int leave_directory(void **state)
{
    DIR *d = opendir(*state);

    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            if (unlink(path_in(*state, e->d_name)) != 0)
                rmdir(path_in(*state, e->d_name));
    if (d != NULL)
        closedir(d);
    rmdir(*state);
    free(*state);
    return 0;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline char *read_text(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

#endif
