/* Tables from files: one, or several that have the same columns, whole or in blocks of rows. */
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "table.h"
#include "try.h"

struct pboost_table_reader {
    const pboost_table_options *options; /* may be NULL */
    pboost_table *table;                 /* the block */
    glob_t files;
    size_t next;                /* the file, or the source of rows, to be opened next */
    size_t n_sources;           /* of the table */
    bool again;                 /* all that was read can be read a second time */
    source own, *src;           /* own, or the caller's */
    const table_format *format; /* NULL: nothing is open */
    void *state;                /* the format's */
    source_progress progress;
};

/* ---- Which files ----------------------------------------------------------------------------- */

/* The pattern that matches this name alone; free it. */
static char *escape(const char *name)
{
    char *out = malloc(2 * strlen(name) + 1), *to = out;

    if (out == NULL)
        return NULL;
    for (; *name != '\0'; name++) {
        if (strchr("*?[\\", *name) != NULL)
            *to++ = '\\';
        *to++ = *name;
    }
    *to = '\0';
    return out;
}

/* A file of that name is meant before a pattern or a list is. */
static pboost_status find_files(glob_t *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *copy = NULL, *rest = NULL;
    bool exact = strcmp(path, "-") == 0 || access(path, F_OK) == 0;
    int flags = exact ? 0 : GLOB_NOESCAPE;

    *out = (glob_t){0};
    NEED(copy = exact ? escape(path) : strdup(path), err);
    for (char *item = exact ? copy : strtok_r(copy, ",", &rest); item != NULL;
         item = exact ? NULL : strtok_r(NULL, ",", &rest), flags |= GLOB_APPEND) {
        bool pattern = !exact && strpbrk(item, "*?[") != NULL;
        int code = glob(item, pattern ? flags : flags | GLOB_NOCHECK, NULL, out);
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

/* Their bytes; 0: not known. */
static double count_bytes(const glob_t *files)
{
    double sum = 0.0;
    struct stat info;

    for (size_t i = 0; i < files->gl_pathc; i++) {
        const char *path = files->gl_pathv[i];
        bool standard = strcmp(path, "-") == 0;
        if ((standard ? fstat(STDIN_FILENO, &info) : stat(path, &info)) != 0 ||
            !S_ISREG(info.st_mode))
            return 0.0;
        sum += (double)info.st_size;
    }
    return sum;
}

/* ---- One source after the other -------------------------------------------------------------- */

static bool is_npy(const source *src)
{
    static const char MAGIC[] = "\x93NUMPY";
    size_t n = sizeof MAGIC - 1;
    return src->end - src->begin >= n && memcmp(src->data + src->begin, MAGIC, n) == 0;
}

bool pboost_names_svmlight(const char *name)
{
    static const char *const PACKED[] = {".gz", ".zst"}, *const ENDS[] = {".svm", ".svmlight",
                                                                          ".libsvm"};
    size_t n = strlen(name);

    for (size_t i = 0; i < 2; i++) {
        size_t m = strlen(PACKED[i]);
        n -= n > m && strcmp(name + n - m, PACKED[i]) == 0 ? m : 0;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t m = strlen(ENDS[i]);
        if (n > m && memcmp(name + n - m, ENDS[i], m) == 0)
            return true;
    }
    return false;
}

/* Recognises the format of r->src and reads its header. */
static pboost_status open_format(pboost_table_reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *name = r->src != NULL ? r->src->name : r->table->path;

    TRY(pboost_table_add_part(r->table, name, err));
    r->format = &PBOOST_ROWS;
    if (r->src != NULL) {
        TRY(pboost_source_need(r->src, 6, err));
        bool svm =
            (r->options != NULL && r->options->svmlight) || pboost_names_svmlight(r->src->name);
        r->format = is_npy(r->src) ? &PBOOST_NPY : svm ? &PBOOST_SVM : &PBOOST_CSV;
    }
    if (r->format == &PBOOST_NPY && r->n_sources > 1)
        FAIL(err, PBOOST_BAD_DATA, "%s is an NPY file; several files as one table must be CSV",
             name);
    TRY(r->format->open(&r->state, r->table, r->src, err));
done:
    return st;
}

static void close_source(pboost_table_reader *r)
{
    if (r->state != NULL)
        r->format->close(r->state);
    r->format = NULL;
    r->state = NULL;
    if (r->src == &r->own)
        pboost_source_close(&r->own);
    r->src = NULL;
}

static pboost_status open_next(pboost_table_reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    if (r->files.gl_pathc > 0) {
        TRY(pboost_source_open(&r->own, r->files.gl_pathv[r->next], err));
        r->src = &r->own;
        r->again = r->again && r->own.regular;
    }
    if (r->src != NULL)
        r->src->progress = &r->progress;
    r->next++;
    TRY(open_format(r, err));
done:
    return st;
}

/* Adds rows until the table has `end` of them or there are no more. */
static pboost_status fill(pboost_table_reader *r, size_t end, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    while (r->table->rows < end) {
        bool over = false;
        if (r->format == NULL && r->next == r->n_sources)
            break;
        if (r->format == NULL)
            TRY(open_next(r, err));
        TRY(r->format->rows(r->state, end, &over, err));
        if (over)
            close_source(r);
    }
    pboost_table_finish(r->table);
    if (r->table->svm != NULL)
        TRY(pboost_svm_finish(r->table->svm, err));
done:
    return st;
}

/* ---- Readers --------------------------------------------------------------------------------- */

static pboost_status begin(pboost_table_reader *r, const char *path,
                           const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *r = (pboost_table_reader){.options = options, .again = true, .n_sources = 1};
    if (options != NULL && options->struct_size != sizeof *options)
        FAIL(err, PBOOST_INVALID,
             "struct_size of the table options is %zu; it must be %zu, as "
             "PBOOST_TABLE_OPTIONS_INIT sets it",
             options->struct_size, sizeof *options);
    TRY(pboost_table_create(&r->table, path, err));
    r->table->options = options;
    r->progress.cancel = r->table->cancel = options != NULL ? options->cancel : NULL;
done:
    return st;
}

static pboost_status begin_files(pboost_table_reader *r, const char *path,
                                 const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(begin(r, strcmp(path, "-") == 0 ? "standard input" : path, options, err));
    if (options != NULL && options->rows != NULL)
        goto done;
    TRY(find_files(&r->files, path, err));
    r->n_sources = r->files.gl_pathc;
    r->progress.total = count_bytes(&r->files);
done:
    return st;
}

static void end(pboost_table_reader *r)
{
    close_source(r);
    pboost_table_free(r->table);
    globfree(&r->files);
}

/* All rows as a table of their own. */
static pboost_status read_all(pboost_table **out, pboost_table_reader *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(fill(r, SIZE_MAX, err));
    r->table->options = NULL; /* the caller's */
    *out = r->table;
    r->table = NULL;
done:
    return st;
}

pboost_status pboost_table_read_source(pboost_table **out, source *src,
                                       const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table_reader r;

    *out = NULL;
    TRY(begin(&r, src->name, options, err));
    r.src = src;
    TRY(read_all(out, &r, err));
done:
    end(&r);
    return st;
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

static pboost_status read_once(pboost_table **out, bool *again, const char *path,
                               const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table_reader r;

    TRY(begin_files(&r, path, options, err));
    TRY(read_all(out, &r, err));
    *again = r.again && (*out)->read_again;
done:
    end(&r);
    return st;
}

pboost_status pboost_table_read(pboost_table **out, const char *path,
                                const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table *first = NULL;
    pboost_table_options with;
    const char **list = NULL;
    bool again;

    *out = NULL;
    TRY(read_once(out, &again, path, options, err));
    if (!again)
        goto done;
    first = *out; /* the text of its mixed columns was not kept */
    *out = NULL;
    TRY(add_table_reading(&with, &list, first, options, err));
    TRY(read_once(out, &again, path, &with, err));
done:
    free(list);
    pboost_table_free(first);
    return st;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

pboost_status pboost_table_reader_open(pboost_table_reader **out, const char *path,
                                       const pboost_table_options *options, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_table_reader *r = NULL;

    NEED(r = calloc(1, sizeof *r), err);
    TRY(begin_files(r, path, options, err));
done:
    if (st != PBOOST_OK) {
        pboost_table_reader_close(r);
        r = NULL;
    }
    *out = r;
    return st;
}

pboost_status pboost_table_reader_next(const pboost_table **out, pboost_table_reader *r,
                                       size_t rows, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = NULL;
    if (rows == 0)
        FAIL(err, PBOOST_INVALID, "a block of 0 rows was asked for; it must have at least 1");
    pboost_table_clear(r->table, r->format != NULL);
    TRY(fill(r, rows, err));
    if (r->table->rows > 0)
        *out = r->table;
done:
    return st;
}

void pboost_table_reader_close(pboost_table_reader *r)
{
    if (r == NULL)
        return;
    end(r);
    free(r);
}
