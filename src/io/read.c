/* Tables from files: one, or several that have the same columns. */
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "table.h"
#include "try.h"

/* ---- Which files ----------------------------------------------------------------------------- */

/* A file of that name is meant before a pattern or a list is. */
static pboost_status find_files(glob_t *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *copy = NULL, *rest = NULL;
    int flags = GLOB_NOESCAPE;

    *out = (glob_t){0};
    NEED(copy = strdup(path), err);
    bool exact = strcmp(path, "-") == 0 || access(path, F_OK) == 0;
    for (char *item = exact ? copy : strtok_r(copy, ",", &rest); item != NULL;
         item = exact ? NULL : strtok_r(NULL, ",", &rest), flags |= GLOB_APPEND) {
        bool pattern = !exact && strpbrk(item, "*?[") != NULL;
        int code = glob(item, pattern ? flags : flags | GLOB_NOCHECK | GLOB_NOMAGIC, NULL, out);
        if (code == GLOB_NOMATCH)
            FAIL(err, PBOOST_BAD_DATA, "no file matches %s", item);
        if (code != 0)
            FAIL(err, code == GLOB_NOSPACE ? PBOOST_NO_MEMORY : PBOOST_BAD_DATA,
                 "the files of %s cannot be listed", item);
    }
    if (out->gl_pathc == 0)
        FAIL(err, PBOOST_BAD_DATA, "'%s' names no file", path);
done:
    free(copy);
    return st;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Adds the rows of a file to those of the table. */
static pboost_status add_source(pboost_table *table, source *src, bool only, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    static const char MAGIC[] = "\x93NUMPY";

    TRY(pboost_table_add_part(table, src->name, err));
    TRY(pboost_source_need(src, sizeof MAGIC - 1, err));
    bool npy = src->end - src->begin >= sizeof MAGIC - 1 &&
               memcmp(src->data + src->begin, MAGIC, sizeof MAGIC - 1) == 0;
    if (npy && !only)
        FAIL(err, PBOOST_BAD_DATA, "%s is an NPY file; several files as one table must be CSV",
             src->name);
    TRY(npy ? pboost_npy_read(table, src, err) : pboost_csv_read(table, src, err));
done:
    return st;
}

static pboost_status begin(pboost_table **out, const char *path,
                           const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (options != NULL && options->struct_size != sizeof *options)
        FAIL(err, PBOOST_INVALID,
             "struct_size of the table options is %zu; it must be %zu, as "
             "PBOOST_TABLE_OPTIONS_INIT sets it",
             options->struct_size, sizeof *options);
    TRY(pboost_table_create(out, path, err));
    (*out)->options = options;
done:
    return st;
}

static pboost_status end(pboost_table **out, pboost_table *table, pboost_status st)
{
    *out = NULL;
    if (st != PBOOST_OK) {
        pboost_table_free(table);
        return st;
    }
    pboost_table_finish(table);
    table->options = NULL; /* the caller's */
    *out = table;
    return PBOOST_OK;
}

pboost_status pboost_table_read_source(pboost_table **out, source *src,
                                       const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *table = NULL;

    TRY(begin(&table, src->name, options, err));
    TRY(add_source(table, src, true, err));
done:
    return end(out, table, st);
}

/* *again: every file can be read a second time. */
static pboost_status read_files(pboost_table **out, bool *again, const char *path,
                                const glob_t *files, const pboost_table_options *options,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *table = NULL;
    bool only = files->gl_pathc == 1;

    *again = true;
    TRY(begin(&table, strcmp(path, "-") == 0 ? "standard input" : path, options, err));
    for (size_t i = 0; i < files->gl_pathc; i++) {
        source src;
        TRY(pboost_source_open(&src, files->gl_pathv[i], err));
        *again = *again && src.regular;
        st = add_source(table, &src, only, err);
        pboost_source_close(&src);
        TRY(st);
    }
done:
    return end(out, table, st);
}

/* ---- Reading again --------------------------------------------------------------------------- */

/* The options and, as text, the columns of numbers that turned out to be text. */
static pboost_status add_table_reading(pboost_table_options *out, const char ***list,
                                       const pboost_table *table,
                                       const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const pboost_table_options defaults = PBOOST_TABLE_OPTIONS_INIT;

    *out = options != NULL ? *options : defaults;
    NEED(*list = pboost_alloc(out->n_text + table->cols, sizeof **list), err);
    if (out->n_text > 0)
        memcpy(*list, out->text, out->n_text * sizeof **list);
    for (size_t i = 0; i < table->cols; i++)
        if (table->column[i].read_again)
            (*list)[out->n_text++] = table->column[i].name;
    out->text = *list;
done:
    return st;
}

pboost_status pboost_table_read(pboost_table **out, const char *path,
                                const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *first = NULL;
    pboost_table_options with;
    const char **list = NULL;
    glob_t files;
    bool again;

    *out = NULL;
    TRY(find_files(&files, path, err));
    TRY(read_files(out, &again, path, &files, options, err));
    if (!again || !(*out)->read_again)
        goto done;
    first = *out; /* the text of its mixed columns was not kept */
    *out = NULL;
    TRY(add_table_reading(&with, &list, first, options, err));
    TRY(read_files(out, &again, path, &files, &with, err));
done:
    free(list);
    pboost_table_free(first);
    globfree(&files);
    return st;
}
