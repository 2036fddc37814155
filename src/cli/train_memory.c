/* priorboost train: whether its table fits in memory.
 *
 * The system may promise memory that it does not have and end the program later without a word.  So
 * the need is estimated from the beginning of the file, and said before the file is read. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "train.h"

enum { SAMPLE = 1 << 16, LARGE_BLOCK = 1 << 20 };

/* Bytes that the system can still give; 0: not known. */
static double available(void)
{
    struct rlimit limit;
    double kilobytes = 0.0, bytes;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    bytes = 1024.0 * kilobytes;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (bytes == 0.0 || (double)limit.rlim_cur < bytes))
        bytes = (double)limit.rlim_cur;
    return bytes;
}

static size_t count(const char *text, size_t n, char c)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += text[i] == c;
    return found;
}

/* Rows and columns of a CSV file, as its first lines suggest; false: it is none, or not a file. */
static bool guess_size(double *rows, double *columns, const char *path)
{
    static const char SEPARATOR[] = {',', ';', '\t'};
    static char text[SAMPLE];
    struct stat info;
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
    size_t n = file != NULL ? fread(text, 1, sizeof text, file) : 0, most = 0;
    size_t lines = count(text, n, '\n');

    if (file != NULL)
        fclose(file);
    if (lines < 2 || memchr(text, '\0', n) != NULL || (unsigned char)text[0] == 0x1f ||
        (unsigned char)text[0] == 0x28) /* an array, gzip, zstd */
        return false;
    for (size_t i = 0; i < sizeof SEPARATOR; i++) {
        size_t found = count(text, strcspn(text, "\n"), SEPARATOR[i]);
        most = found > most ? found : most;
    }
    *columns = (double)most + 1.0;
    *rows = (double)info.st_size * (double)lines / (double)n;
    return true;
}

void train_memory_return_freed(void)
{
#ifdef __GLIBC__ /* it would keep free blocks that are as large as any that was freed before */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
#endif
}

void train_memory_note(const cli_context *cli, const char *path)
{
    double rows, columns, free_bytes = available();

    if (!guess_size(&rows, &columns, path) || free_bytes == 0.0 ||
        rows * columns * TRAIN_CELL_BYTES <= free_bytes)
        return;
    cli_note(cli,
             "note: %s has about %.2g rows and %.0f columns, which need %.3g GB of memory; %.3g GB "
             "are free",
             path, rows, columns, 1e-9 * rows * columns * TRAIN_CELL_BYTES, 1e-9 * free_bytes);
}

pboost_status train_memory_explain(const train_arguments *a, pboost_error *err)
{
    return pboost_fail(err, PBOOST_NO_MEMORY,
                       "out of memory: train keeps the whole table %s in memory: %d bytes a cell, "
                       "8 for a number and 8 for the feature made of it (a category needs 4, and 8 "
                       "for each of its features); leave columns out with --drop, use fewer rows, "
                       "or a machine with more memory",
                       a->data, TRAIN_CELL_BYTES);
}
