/* Feeds files to a fuzz target one by one, so that its corpus is an ordinary test.
 *
 *     fuzz_csv corpus/csv some-crash ... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t n = 0, capacity = 0;

    if (f == NULL) {
        perror(path);
        return 1;
    }
    for (int c = getc(f); c != EOF; c = getc(f)) {
        if (n == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 4096;
            data = realloc(data, capacity);
            if (data == NULL)
                abort();
        }
        data[n++] = (uint8_t)c;
    }
    fclose(f);
    /* A block of the exact size, so that a sanitizer sees the first byte too many. */
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        abort();
    if (n > 0)
        memcpy(exact, data, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(data);
    return 0;
}

/* Counts the files it has replayed. */
static int replay(const char *path, size_t *count)
{
    struct stat info;
    DIR *directory;
    int failed = 0;

    if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode)) {
        ++*count;
        return replay_file(path);
    }
    directory = opendir(path);
    if (directory == NULL) {
        perror(path);
        return 1;
    }
    for (struct dirent *e = readdir(directory); e != NULL; e = readdir(directory)) {
        char name[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        failed |= replay(name, count);
    }
    closedir(directory);
    return failed;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i], &count);
    printf("%zu inputs\n", count);
    return failed != 0 || count == 0;
}
