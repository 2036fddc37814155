/* The last head, one line: the head, and 16 digits of a hash of the token that it belongs to. */
#include "head.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "checkpoint.h"
#include "try.h"

enum { OWNER_TEXT = 17 };

static void hash_token(char out[OWNER_TEXT], const char *token)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)token, strlen(token));
    sodium_bin2hex(out, OWNER_TEXT, hash, OWNER_TEXT / 2);
}

/* Folder and name of FILE.head; false where FILE is not a file, such as a pipe. */
static bool find_file(char folder[4096], char name[300], const char *token_file)
{
    const char *slash = strrchr(token_file, '/');
    const char *base = slash != NULL ? slash + 1 : token_file;
    struct stat info;

    snprintf(folder, 4096, "%.*s", (int)(base - token_file), token_file);
    if (folder[0] == '\0')
        snprintf(folder, 4096, ".");
    int n = snprintf(name, 300, "%s.head", base);
    return stat(token_file, &info) == 0 && S_ISREG(info.st_mode) && n < 250;
}

pboost_status pboost_head_read(char out[PBOOST_HEAD_TEXT], const char *token_file,
                               const char *token, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char folder[4096], name[300], head[PBOOST_HEAD_TEXT], owner[OWNER_TEXT], mine[OWNER_TEXT];
    unsigned char *data = NULL;
    size_t length = 0;
    int end = 0;

    out[0] = '\0';
    if (!find_file(folder, name, token_file))
        return PBOOST_OK;
    TRY(pboost_checkpoint_read(&data, &length, folder, name, err));
    if (data == NULL)
        goto done;
    data[length] = '\0'; /* it has room for that */
    if (sscanf((const char *)data, "%64[0-9a-f] %16[0-9a-f]%n", head, owner, &end) != 2 ||
        strlen(head) != PBOOST_HEAD_TEXT - 1 || strlen(owner) != OWNER_TEXT - 1 ||
        data[end] != '\n' || (size_t)end + 1 != length)
        FAIL(err, PBOOST_BAD_DATA,
             "%s.head does not hold a head of the oracle's ledger; it shows the oracle that its "
             "store is not an old copy: put it back, or delete it if the oracle is known to be "
             "right",
             token_file);
    hash_token(mine, token);
    if (strcmp(owner, mine) == 0)
        memcpy(out, head, sizeof head);
done:
    free(data);
    return st;
}

pboost_status pboost_head_write(const char *head, const char *token_file, const char *token,
                                pboost_error *err)
{
    char folder[4096], name[300], owner[OWNER_TEXT], line[128];

    if (!find_file(folder, name, token_file))
        return PBOOST_OK;
    hash_token(owner, token);
    int n = snprintf(line, sizeof line, "%s %s\n", head, owner);
    return pboost_checkpoint_write(folder, name, (const unsigned char *)line, (size_t)n, err);
}
