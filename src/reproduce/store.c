/* Series that are done, kept until the run is complete.
 *
 * DIR/partial holds `settings`, the text that all results depend on, and `series`, one line for
 * each series done.  A line is written by one call and ends with a checksum of itself, so whatever
 * a crash leaves is either a whole line or a tail that is recognised and cut off.  The lock on
 * `series` keeps a second process out. */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <priorboost/io.h>

#include "try.h"

struct repro_store {
    char dir[PATH_MAX], settings[PATH_MAX], series[PATH_MAX];
    int file; /* series */
};

/* FNV-1a: against torn writes, not against malice. */
static uint64_t checksum(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* "experiment algorithm penalty k realization seconds n loss ... checksum" */
static pboost_status print_line(char **out, size_t *length, const repro_series *s, double seconds,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    FILE *stream = NULL;

    *out = NULL;
    NEED(stream = open_memstream(out, length), err);
    fprintf(stream, "%d %d %d %zu %zu %.3f %zu", (int)s->experiment, (int)s->algorithm,
            (int)s->penalty, s->min_bag, s->realization, seconds, s->n_points);
    for (size_t i = 0; i < s->n_points; i++)
        fprintf(stream, " %a", s->loss[i]);
    fflush(stream);
    NEED(*out, err);
    fprintf(stream, " %016" PRIx64 "\n", checksum(*out, *length));
done:
    if (stream != NULL && fclose(stream) != 0 && st == PBOOST_OK)
        st = pboost_fail(err, PBOOST_NO_MEMORY, "out of memory");
    return st;
}

static bool check_line(const char *line, size_t length)
{
    enum { TAIL = 18 }; /* " " and 16 digits and "\n" */
    if (length <= TAIL || line[length - 1] != '\n' || line[length - TAIL] != ' ')
        return false;
    char expected[TAIL];
    snprintf(expected, sizeof expected, "%016" PRIx64, checksum(line, length - TAIL));
    return memcmp(line + length - TAIL + 1, expected, TAIL - 2) == 0;
}

/* A whole line whose series the plan does not have belongs to no run of these settings. */
static bool take_line(const char *line, repro_plan *plan, double *seconds)
{
    int experiment, algorithm, penalty, used;
    size_t min_bag, realization, n;
    double when;

    if (sscanf(line, "%d %d %d %zu %zu %lf %zu%n", &experiment, &algorithm, &penalty, &min_bag,
               &realization, &when, &n, &used) != 7)
        return false;
    repro_series *s = repro_plan_find(plan, (experiment_id)experiment, (pboost_algorithm)algorithm,
                                      (experiment_penalty)penalty, min_bag, realization);
    if (s == NULL || s->n_points != n)
        return false;
    const char *text = line + used;
    for (size_t i = 0; i < n; i++) {
        char *end;
        s->loss[i] = strtod(text, &end);
        if (end == text || !isfinite(s->loss[i]))
            return false;
        text = end;
    }
    s->done = true;
    *seconds = when;
    return true;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static pboost_status join(char out[PATH_MAX], const char *dir, const char *name, pboost_error *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        return pboost_fail(err, PBOOST_INVALID, "the path %s is too long", dir);
    return PBOOST_OK;
}

static pboost_status make_dir(const char *path, pboost_error *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    return PBOOST_OK;
}

/* Nothing there, or only a `partial` that was stopped before it had settings. */
static pboost_status is_fresh(bool *out, const repro_store *store, const char *path,
                              pboost_error *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    *out = access(store->settings, F_OK) != 0;
    for (const struct dirent *entry; *out && (entry = readdir(dir)) != NULL;)
        *out = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               strcmp(entry->d_name, "partial") == 0;
    closedir(dir);
    return PBOOST_OK;
}

static pboost_status print_settings(char **out, const repro_settings *settings, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t length;
    FILE *stream = NULL;

    *out = NULL;
    NEED(stream = open_memstream(out, &length), err);
    repro_settings_print(stream, settings);
    if (fclose(stream) != 0)
        FAIL(err, PBOOST_NO_MEMORY, "out of memory");
done:
    return st;
}

/* The settings of the unfinished run in the store must be these, byte by byte. */
static pboost_status match_settings(const repro_store *store, const char *dir, const char *text,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *found = NULL;
    size_t n = strlen(text);
    FILE *stream = fopen(store->settings, "r");

    if (stream == NULL)
        FAIL(err, PBOOST_INVALID, "%s is not empty and holds no unfinished run (%s: %s)", dir,
             store->settings, strerror(errno));
    NEED(found = calloc(n + 2, 1), err);
    size_t length = fread(found, 1, n + 1, stream);
    if (length != n || memcmp(found, text, n) != 0)
        FAIL(err, PBOOST_INVALID,
             "%s holds an unfinished run with other settings; choose another folder or remove it",
             dir);
done:
    if (stream != NULL)
        fclose(stream);
    free(found);
    return st;
}

static pboost_status write_settings(const repro_store *store, const char *text, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    TRY(make_dir(store->dir, err));
    TRY(pboost_output_open(&output, store->settings, err));
    fputs(text, pboost_output_stream(output));
    TRY(pboost_output_commit(output, err));
done:
    return st;
}

static pboost_status open_series(repro_store *store, const char *dir, pboost_error *err)
{
    store->file = open(store->series, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (store->file < 0)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", store->series, strerror(errno));
    if (flock(store->file, LOCK_EX | LOCK_NB) != 0)
        return pboost_fail(err, PBOOST_INVALID, "%s is in use by another run", dir);
    return PBOOST_OK;
}

static pboost_status load_series(repro_store *store, repro_plan *plan, double *seconds,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *line = NULL;
    size_t capacity = 0;
    off_t good = 0;
    ssize_t length;
    FILE *stream = fopen(store->series, "r");

    if (stream == NULL)
        FAIL(err, PBOOST_OUTPUT, "%s: %s", store->series, strerror(errno));
    while ((length = getline(&line, &capacity, stream)) > 0 && check_line(line, (size_t)length) &&
           take_line(line, plan, seconds))
        good += length;
    if (ftruncate(store->file, good) != 0)
        FAIL(err, PBOOST_OUTPUT, "%s: %s", store->series, strerror(errno));
done:
    free(line);
    if (stream != NULL)
        fclose(stream);
    return st;
}

pboost_status repro_store_open(repro_store **out, const char *dir, const repro_settings *settings,
                               repro_plan *plan, double *seconds, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    repro_store *store = NULL;
    char *text = NULL;
    bool fresh = false;

    *out = NULL;
    *seconds = 0.0;
    NEED(store = calloc(1, sizeof *store), err);
    store->file = -1;
    TRY(join(store->dir, dir, "partial", err));
    TRY(join(store->settings, store->dir, "settings", err));
    TRY(join(store->series, store->dir, "series", err));
    TRY(print_settings(&text, settings, err));
    TRY(make_dir(dir, err));
    TRY(is_fresh(&fresh, store, dir, err));
    TRY(fresh ? write_settings(store, text, err) : match_settings(store, dir, text, err));
    TRY(open_series(store, dir, err));
    TRY(load_series(store, plan, seconds, err));
    *out = store;
    store = NULL;
done:
    repro_store_close(store);
    free(text);
    return st;
}

/* ---- Using it -------------------------------------------------------------------------------- */

pboost_status repro_store_add(repro_store *store, const repro_series *series, double seconds,
                              pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *line = NULL;
    size_t length = 0;

    TRY(print_line(&line, &length, series, seconds, err));
    ssize_t written = write(store->file, line, length);
    if (written != (ssize_t)length)
        FAIL(err, PBOOST_OUTPUT, "%s: %s", store->series,
             written < 0 ? strerror(errno) : "the disk is full");
done:
    free(line);
    return st;
}

pboost_status repro_store_finish(repro_store *store, pboost_error *err)
{
    if ((unlink(store->settings) != 0 && errno != ENOENT) || unlink(store->series) != 0 ||
        rmdir(store->dir) != 0)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", store->dir, strerror(errno));
    return PBOOST_OK;
}

void repro_store_close(repro_store *store)
{
    if (store == NULL)
        return;
    if (store->file >= 0)
        close(store->file);
    free(store);
}
