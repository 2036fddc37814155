/* How fast is a table of numbers read and encoded?
 *
 *     bench_csv [ROWS [COLUMNS]]
 *
 * One thread; best and median of the runs, in MB of the file per second of processor time.
 *
 * The peer in the same run is the C library: strtod over the same bytes in memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <priorboost/io.h>

enum { RUNS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers of 17 significant digits, about normal. */
static size_t generate(const char *path, size_t rows, size_t cols)
{
    FILE *f = fopen(path, "wb");
    unsigned long long state = 42;
    size_t bytes = 0;

    if (f == NULL) {
        perror(path);
        exit(1);
    }
    for (size_t c = 0; c < cols; c++)
        bytes += (size_t)fprintf(f, "%sx%zu", c > 0 ? "," : "", c + 1);
    bytes += (size_t)fprintf(f, "\n");
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            for (int i = 0; i < 4; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                sum += ldexp((double)(state >> 11), -53) - 0.5;
            }
            bytes += (size_t)fprintf(f, "%.17g%s", sum * sqrt(3), c + 1 < cols ? "," : "\n");
        }
    if (fclose(f) != 0) {
        perror(path);
        exit(1);
    }
    return bytes;
}

static void require(pboost_status st, const pboost_error *err)
{
    if (st != PBOOST_OK) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
}

static double time_read(const char *path)
{
    pboost_error err;
    pboost_table *table;
    double start = now();

    require(pboost_table_read(&table, path, NULL, &err), &err);
    start = now() - start;
    pboost_table_free(table);
    return start;
}

static double time_encode(const char *path, size_t rows, size_t cols)
{
    pboost_encoding encoding;
    pboost_error err;
    pboost_table *table;
    pboost_encoding_options options = PBOOST_ENCODING_OPTIONS_INIT;
    double *x = malloc(rows * cols * sizeof *x), start;

    if (x == NULL)
        exit(1);
    memset(x, 0, rows * cols * sizeof *x);
    require(pboost_table_read(&table, path, NULL, &err), &err);
    require(pboost_encoding_learn(&encoding, table, &options, &err), &err);
    start = now();
    require(pboost_encoding_apply(x, NULL, &encoding, table, &err), &err);
    start = now() - start;
    pboost_encoding_free(&encoding);
    pboost_table_free(table);
    free(x);
    return start;
}

static double time_strtod(const char *path, size_t bytes)
{
    char *text = malloc(bytes + 1), *p;
    FILE *f = fopen(path, "rb");
    double start, sum = 0;

    if (text == NULL || f == NULL || fread(text, 1, bytes, f) != bytes)
        exit(1);
    fclose(f);
    text[bytes] = '\0';
    start = now();
    for (p = strchr(text, '\n') + 1; *p != '\0'; p++)
        sum += strtod(p, &p);
    start = now() - start;
    free(text);
    return isfinite(sum) ? start : 0;
}

int main(int argc, char **argv)
{
    size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t cols = argc > 2 ? strtoull(argv[2], NULL, 10) : 9;
    char path[] = "/tmp/bench-csv-XXXXXX";
    double seconds[RUNS], encode, peer;
    int fd = mkstemp(path);

    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    size_t bytes = generate(path, rows, cols);
    for (int i = 0; i < RUNS; i++)
        seconds[i] = time_read(path);
    encode = time_encode(path, rows, cols);
    peer = time_strtod(path, bytes);
    unlink(path);
    qsort(seconds, RUNS, sizeof *seconds, by_value);
    printf("{\"bench\": \"csv\", \"rows\": %zu, \"columns\": %zu, \"bytes\": %zu, "
           "\"read_mb_per_s\": %.0f, \"read_mb_per_s_median\": %.0f, "
           "\"strtod_mb_per_s\": %.0f, \"encode_gb_per_s\": %.2f}\n",
           rows, cols, bytes, 1e-6 * (double)bytes / seconds[0],
           1e-6 * (double)bytes / seconds[RUNS / 2], 1e-6 * (double)bytes / peer,
           8e-9 * (double)(rows * cols) / encode);
    return 0;
}
