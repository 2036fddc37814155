/* The key file of a store. */
#include "key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "store.h"

/* ---- Keys ------------------------------------------------------------------------------------ */

pboost_status pboost_draw_bytes(void *out, size_t n, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    rng_source source;
    unsigned char *byte = out;
    uint64_t word = 0;

    pboost_rng_source_system(&source);
    for (size_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            TRY(pboost_rng_next(&word, &source, err));
        byte[i] = (unsigned char)(word >> 8 * (i % 8));
    }
done:
    pboost_rng_source_wipe(&source);
    sodium_memzero(&word, sizeof word);
    return st;
}

static void derive(ledger_keys *keys)
{
    for (uint64_t p = 0; p < KEY_PURPOSES; p++)
        crypto_kdf_derive_from_key(keys->derived[p], KEY_BYTES, p + 1, "pbledger", keys->ledger);
}

pboost_status pboost_keys_add_label(ledger_keys *keys, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    label_key *label = &keys->label[keys->n_labels];

    if (keys->n_labels == LABEL_KEYS_MAX)
        FAIL(err, PBOOST_INVALID, "the key file has %d label keys; there is no room for another",
             LABEL_KEYS_MAX);
    TRY(pboost_draw_bytes(label->key, KEY_BYTES, err));
    label->number = keys->n_labels > 0 ? keys->label[keys->n_labels - 1].number + 1 : 1;
    keys->n_labels++;
done:
    return st;
}

pboost_status pboost_keys_draw(ledger_keys *out, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    *out = (ledger_keys){0};
    TRY(pboost_draw_bytes(out->store_id, STORE_ID_BYTES, err));
    TRY(pboost_draw_bytes(out->ledger, KEY_BYTES, err));
    TRY(pboost_draw_bytes(out->signing_seed, KEY_BYTES, err));
    TRY(pboost_keys_add_label(out, err));
    derive(out);
done:
    return st;
}

void pboost_keys_wipe(ledger_keys *keys)
{
    sodium_memzero(keys, sizeof *keys);
}

digest pboost_keys_mac(const ledger_keys *keys, key_purpose purpose, const void *data,
                       size_t length)
{
    digest d;
    crypto_generichash(d.byte, sizeof d.byte, data, length, keys->derived[purpose], KEY_BYTES);
    return d;
}

void pboost_store_id_text(char out[STORE_ID_TEXT], const ledger_keys *keys)
{
    sodium_bin2hex(out, STORE_ID_TEXT, keys->store_id, STORE_ID_BYTES);
}

/* ---- As text --------------------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 128, FILE_MAX_BYTES = (LABEL_KEYS_MAX + 4) * LINE_MAX_BYTES };

static const char FIRST_LINE[] = "priorboost key 1";

static size_t print_secret(char *out, size_t size, const char *name, const unsigned char *secret,
                           size_t bytes)
{
    char hex[2 * KEY_BYTES + 1];
    sodium_bin2hex(hex, sizeof hex, secret, bytes);
    int n = snprintf(out, size, "%s %s\n", name, hex);
    sodium_memzero(hex, sizeof hex);
    return (size_t)n;
}

static size_t print_keys(char out[FILE_MAX_BYTES], const ledger_keys *keys)
{
    size_t n = (size_t)snprintf(out, FILE_MAX_BYTES, "%s\n", FIRST_LINE);
    char name[24];

    n += print_secret(out + n, FILE_MAX_BYTES - n, "store", keys->store_id, STORE_ID_BYTES);
    n += print_secret(out + n, FILE_MAX_BYTES - n, "ledger", keys->ledger, KEY_BYTES);
    n += print_secret(out + n, FILE_MAX_BYTES - n, "signing", keys->signing_seed, KEY_BYTES);
    for (size_t i = 0; i < keys->n_labels; i++) {
        snprintf(name, sizeof name, "label %u", keys->label[i].number);
        n += print_secret(out + n, FILE_MAX_BYTES - n, name, keys->label[i].key, KEY_BYTES);
    }
    return n;
}

/* "NAME HEX" with exactly this many bytes. */
static bool read_secret(unsigned char *out, const char *line, const char *name, size_t bytes)
{
    size_t start = strlen(name), length = 0;
    return strncmp(line, name, start) == 0 && line[start] == ' ' &&
           strlen(line + start + 1) == 2 * bytes &&
           sodium_hex2bin(out, bytes, line + start + 1, 2 * bytes, NULL, &length, NULL) == 0 &&
           length == bytes;
}

static bool read_line(ledger_keys *out, const char *line, size_t number)
{
    unsigned label = 0;
    int end = 0;
    char name[24];

    switch (number) {
    case 1:
        return strcmp(line, FIRST_LINE) == 0;
    case 2:
        return read_secret(out->store_id, line, "store", STORE_ID_BYTES);
    case 3:
        return read_secret(out->ledger, line, "ledger", KEY_BYTES);
    case 4:
        return read_secret(out->signing_seed, line, "signing", KEY_BYTES);
    }
    if (out->n_labels == LABEL_KEYS_MAX || sscanf(line, "label %u%n", &label, &end) != 1)
        return false;
    snprintf(name, sizeof name, "label %u", label);
    out->label[out->n_labels].number = label;
    return read_secret(out->label[out->n_labels++].key, line, name, KEY_BYTES);
}

static pboost_status parse_keys(ledger_keys *out, char *text, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t number = 0;
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (!read_line(out, line, ++number))
            FAIL(err, PBOOST_BAD_DATA,
                 "%s:%zu: not a line of a key file; put back the file that 'oracle init' or"
                 " 'oracle upgrade' made",
                 path, number);
    if (out->n_labels == 0)
        FAIL(err, PBOOST_BAD_DATA, "%s: the key file ends after line %zu; put back the whole file",
             path, number);
    derive(out);
done:
    return st;
}

/* ---- As a file ------------------------------------------------------------------------------- */

static pboost_status no_key(const char *path, pboost_error *err)
{
    if (errno == ENOENT)
        return pboost_fail(err, PBOOST_BAD_DATA,
                           "the store's key file %s is missing; put it back or name it with --key",
                           path);
    return pboost_fail(err, PBOOST_BAD_DATA, "key file %s: %s", path, strerror(errno));
}

pboost_status pboost_keys_read(ledger_keys *out, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char text[FILE_MAX_BYTES + 1];
    struct stat about;
    size_t used = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *out = (ledger_keys){0};
    if (fd < 0 || fstat(fd, &about) != 0) {
        st = no_key(path, err);
        goto done;
    }
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        FAIL(err, PBOOST_REFUSED, "key file %s has mode %04o, so others can use it; chmod 600 %s",
             path, about.st_mode & 07777U, path);
    while (used < FILE_MAX_BYTES && (n = read(fd, text + used, FILE_MAX_BYTES - used)) > 0)
        used += (size_t)n;
    if (n < 0) {
        st = no_key(path, err);
        goto done;
    }
    text[used] = '\0';
    TRY(parse_keys(out, text, path, err));
done:
    if (fd >= 0)
        close(fd);
    if (st != PBOOST_OK)
        pboost_keys_wipe(out);
    sodium_memzero(text, sizeof text);
    return st;
}

pboost_status pboost_keys_reload(ledger_keys *keys, const char *file, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    ledger_keys now = {0};

    if (file == NULL)
        return PBOOST_OK;
    TRY(pboost_keys_read(&now, file, err));
    if (memcmp(now.store_id, keys->store_id, sizeof now.store_id) != 0 ||
        sodium_memcmp(now.ledger, keys->ledger, sizeof now.ledger) != 0)
        FAIL(err, PBOOST_BAD_DATA, "%s was exchanged for the key file of another store", file);
    keys->n_labels = now.n_labels;
    memcpy(keys->label, now.label, sizeof keys->label);
done:
    pboost_keys_wipe(&now);
    return st;
}

bool pboost_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool synced = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    free(folder);
    return synced;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            text += n;
            length -= (size_t)n;
        }
    }
    return fsync(fd) == 0;
}

pboost_status pboost_keys_write(const ledger_keys *keys, const char *path, bool replace,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char text[FILE_MAX_BYTES];
    size_t length = print_keys(text, keys), size = strlen(path) + 5;
    char *name = NULL;
    bool made = false;
    int fd = -1;

    NEED(name = malloc(size), err);
    snprintf(name, size, "%s%s", path, replace ? ".new" : "");
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL), 0600);
    if (fd < 0 && errno == EEXIST)
        FAIL(err, PBOOST_REFUSED,
             "%s exists already; it is the key file of a store.  If that store is gone, move the"
             " file away",
             name);
    made = fd >= 0;
    if (fd < 0 || !write_all(fd, text, length) || (replace && rename(name, path) != 0) ||
        !pboost_sync_folder(path))
        FAIL(err, PBOOST_OUTPUT, "key file %s: %s", name, strerror(errno));
done:
    if (fd >= 0)
        close(fd);
    if (st != PBOOST_OK && made)
        (void)unlink(name);
    free(name);
    sodium_memzero(text, sizeof text);
    return st;
}

/* ---- Where it is ----------------------------------------------------------------------------- */

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = malloc(size);
    if (text != NULL)
        snprintf(text, size, "%s%s%s%s", a, b, c, d);
    return text;
}

/* The folder and those above it, 0700 where they are new. */
static pboost_status make_folders(char *folder, pboost_error *err)
{
    for (char *at = folder + 1;; at++) {
        char was = *at;
        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return pboost_fail(err, PBOOST_OUTPUT, "%s: %s; name the file with --key and --witness",
                               folder, strerror(errno));
        *at = was;
        if (was == '\0')
            return PBOOST_OK;
    }
}

pboost_status pboost_store_file(char **out, const char *given, const char *url,
                                const char *store_id, const char *ending, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *path = pboost_store_path(url), *state = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");
    char *folder = NULL;

    *out = NULL;
    if (given != NULL || path != NULL) {
        NEED(*out = given != NULL ? strdup(given) : join(path, ending, "", ""), err);
        return PBOOST_OK;
    }
    if (state == NULL || *state != '/')
        state = NULL;
    if (state == NULL && (home == NULL || *home != '/'))
        FAIL(err, PBOOST_INVALID,
             "where is the store's %s file? HOME and XDG_STATE_HOME are not set; name it with --%s",
             ending + 1, ending + 1);
    NEED(folder = join(state != NULL ? state : home, state != NULL ? "" : "/.local/state",
                       "/priorboost", ""),
         err);
    TRY(make_folders(folder, err));
    NEED(*out = join(folder, "/", store_id, ending), err);
done:
    free(folder);
    return st;
}
