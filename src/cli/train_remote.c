/* priorboost train --oracle: the labels stay with another party. */
#include "train_remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "checkpoint.h"
#include "remote.h"
#include "train_rows.h"

struct train_remote {
    cli_context *cli;
    const train_arguments *arguments;
    pboost_remote *remote;
    char token[512];
};

/* ---- The token ------------------------------------------------------------------------------- */

/* The first line of the file. */
static pboost_status read_token(train_remote *r, const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    struct stat info;
    FILE *file = fopen(path, "re");

    if (file == NULL)
        FAIL(err, PBOOST_BAD_DATA, "%s: %s", path, strerror(errno));
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 077) != 0)
        cli_note(r->cli, "warning: others can read %s; chmod 600 would keep the token to you",
                 path);
    if (fgets(r->token, sizeof r->token, file) == NULL)
        r->token[0] = '\0';
    r->token[strcspn(r->token, " \t\r\n")] = '\0';
    if (r->token[0] == '\0')
        FAIL(err, PBOOST_BAD_DATA, "%s holds no token on its first line", path);
done:
    if (file != NULL)
        fclose(file);
    return st;
}

/* ---- The way to the oracle ------------------------------------------------------------------- */

static bool should_stop(void *user)
{
    (void)user;
    return cli_interrupted();
}

static void note_retry(void *user, const char *message)
{
    cli_note(user, "%s; trying again", message);
}

pboost_status train_remote_open(train_remote **out, pboost_rules *rules, cli_context *cli,
                                const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_remote *r = NULL;

    *out = NULL;
    NEED(r = calloc(1, sizeof *r), err);
    r->cli = cli;
    r->arguments = a;
    TRY(read_token(r, a->token_file, err));
    cli_interrupted(); /* from here on a signal stops between tries */
    pboost_remote_options options = {.http = {.token = r->token,
                                              .ca = a->ca,
                                              .patience = (double)a->patience,
                                              .stop = should_stop,
                                              .note = note_retry,
                                              .user = cli},
                                     .checkpoint = a->checkpoint};
    TRY(pboost_remote_open(&r->remote, a->oracle, &options, err));
    const wire_config *config = pboost_remote_config(r->remote);
    *rules = config->rules;
    if (a->min_bag > 0 && a->min_bag < rules->min_bag)
        FAIL(err, PBOOST_REFUSED,
             "--min-bag is %zu, but the oracle answers no bag of fewer than %zu rows", a->min_bag,
             rules->min_bag);
    if (a->min_bag > 0) /* the learner may be stricter */
        rules->min_bag = a->min_bag;
    if (config->units && a->unit == NULL)
        cli_note(cli, "warning: the oracle's rows belong to units, of which a bag may hold one row "
                      "each; say with --unit which column tells them");
    *out = r;
    r = NULL;
done:
    train_remote_close(r);
    return st;
}

void train_remote_close(train_remote *remote)
{
    if (remote == NULL)
        return;
    pboost_remote_close(remote->remote);
    explicit_bzero(remote->token, sizeof remote->token);
    free(remote);
}

pboost_oracle train_remote_oracle(train_remote *remote)
{
    return pboost_remote_interface(remote->remote);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum { HASH = 32 };

/* Which table it is, by its ids in order. */
static void hash_ids(unsigned char hash[HASH], const pboost_id *id, size_t n)
{
    crypto_generichash_state state;
    char room[24];

    crypto_generichash_init(&state, NULL, 0, HASH);
    for (size_t i = 0; i < n; i++) {
        const char *text = pboost_wire_id_text(room, &id[i]);
        crypto_generichash_update(&state, (const unsigned char *)text, strlen(text) + 1);
    }
    crypto_generichash_final(&state, hash, HASH);
}

/* The choice of an earlier start of this run, for since then it has spent rows itself. */
static pboost_status recall_rows(bool *keep, bool *recalled, const train_remote *r,
                                 const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *folder = r->arguments->checkpoint;
    unsigned char *stored = NULL, hash[HASH];
    size_t n = 0;

    *recalled = false;
    if (folder == NULL)
        return PBOOST_OK;
    TRY(pboost_checkpoint_read(&stored, &n, folder, "rows", err));
    if (stored == NULL)
        goto done;
    hash_ids(hash, data->id, data->rows);
    if (n != HASH + data->rows || memcmp(stored, hash, HASH) != 0)
        FAIL(err, PBOOST_INVALID, "checkpoint %s is of a run on another table than %s", folder,
             r->arguments->data);
    for (size_t i = 0; i < data->rows; i++)
        keep[i] = stored[HASH + i] == 1;
    *recalled = true;
done:
    free(stored);
    return st;
}

static pboost_status remember_rows(const bool *keep, const train_remote *r, const train_data *data,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *bytes = NULL;

    if (r->arguments->checkpoint == NULL)
        return PBOOST_OK;
    NEED(bytes = pboost_alloc(HASH + data->rows, 1), err);
    hash_ids(bytes, data->id, data->rows);
    for (size_t i = 0; i < data->rows; i++)
        bytes[HASH + i] = keep[i];
    TRY(pboost_checkpoint_write(r->arguments->checkpoint, "rows", bytes, HASH + data->rows, err));
done:
    free(bytes);
    return st;
}

static pboost_status find_available(bool *keep, train_remote *r, const train_data *data,
                                    train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_remote_available(keep, r->remote, data->id, data->rows, err));
    for (size_t i = 0; i < data->rows; i++)
        result->unavailable += !keep[i];
    if (result->unavailable > 0 && !r->arguments->skip_unavailable)
        FAIL(err, PBOOST_REFUSED,
             "%zu of %zu rows are spent, unknown to the oracle or not for this token; "
             "--skip-unavailable leaves them out",
             result->unavailable, data->rows);
    TRY(train_rows_one_by_unit(keep, &result->same_unit, data, err));
done:
    return st;
}

pboost_status train_remote_choose_rows(train_remote *r, train_data *data, train_result *result,
                                       pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *keep = NULL, recalled;
    size_t all = data->rows;

    NEED(keep = pboost_alloc(data->rows, sizeof *keep), err);
    TRY(recall_rows(keep, &recalled, r, data, err));
    if (!recalled) {
        TRY(find_available(keep, r, data, result, err));
        TRY(remember_rows(keep, r, data, err));
    }
    train_rows_select(data, keep);
    if (recalled)
        cli_note(r->cli, "going on with the %zu rows of checkpoint %s", data->rows,
                 r->arguments->checkpoint);
    else if (result->unavailable + result->same_unit > 0)
        cli_note(r->cli,
                 "%zu of %zu rows are left out: %zu are not available, %zu are of a unit that is "
                 "there already",
                 all - data->rows, all, result->unavailable, result->same_unit);
    pboost_remote_set_rows(r->remote, data->id, data->rows);
done:
    free(keep);
    return st;
}
