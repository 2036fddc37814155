/* priorboost train --oracle: the labels stay with another party, or with several. */
#include "train_remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "group.h"
#include "train_checkpoint.h"
#include "train_rows.h"

struct train_remote {
    cli_context *cli;
    const train_arguments *arguments;
    pboost_group *group;
    train_checkpoint checkpoint;
    bool ready;                /* to ask; the checkpoint belongs to this run */
    bool first;                /* start of the run */
    char (*token)[CLI_SECRET]; /* by oracle */
};

/* ---- Connecting ------------------------------------------------------------------------------ */

static bool should_stop(void *user)
{
    (void)user;
    return cli_interrupted();
}

static void note_retry(void *user, const char *message)
{
    cli_note(user, "%s; trying again", message);
}

static void warn(void *user, const char *message)
{
    cli_note(user, "warning: %s", message);
}

/* The data sheet in one line: the fields that the label holder has given. */
static void note_sheet(const cli_context *cli, const pboost_sheet *sheet)
{
    static const char *const NAMES[] = PBOOST_SHEET_NAMES;
    char line[PBOOST_SHEET_FIELDS * (PBOOST_SHEET_TEXT + 12)] = "";

    for (size_t i = 0, used = 0; i < PBOOST_SHEET_FIELDS; i++)
        if (sheet->text[i][0] != '\0')
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s: %s",
                                     used > 0 ? "; " : "", NAMES[i], sheet->text[i]);
    if (line[0] != '\0')
        cli_note(cli, "%s", line);
}

/* The file of oracle i, of one for each or of one for all; NULL: none. */
static const char *file_of(const cli_texts *files, size_t i)
{
    return files->n == 0 ? NULL : files->item[files->n > 1 ? i : 0];
}

static pboost_status connect_to(pboost_remote_options *out, train_remote *r, size_t i,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const train_arguments *a = r->arguments;
    const char *token_file = a->token_file.item[i];

    if (strcmp(token_file, "-") == 0)
        FAIL(err, PBOOST_INVALID,
             "--token-file is '-'; it must be a file, because FILE.head is kept beside it");
    TRY(cli_read_secret(r->token[i], r->cli, "--token-file", token_file, err));
    *out = (pboost_remote_options){.http = {.token = r->token[i],
                                            .ca = file_of(&a->ca, i),
                                            .client_cert = file_of(&a->client_cert, i),
                                            .client_key = file_of(&a->client_key, i),
                                            .patience = (double)a->patience,
                                            .stop = should_stop,
                                            .note = note_retry,
                                            .warn = warn,
                                            .user = r->cli},
                                   .token_file = token_file};
done:
    return st;
}

static const wire_config *config_of(const train_remote *r, size_t i)
{
    return pboost_remote_config(pboost_group_member(r->group, i));
}

static pboost_status open_group(train_remote *r, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const cli_texts *url = &r->arguments->oracles;
    const char *folder = r->checkpoint.folder[0] != '\0' ? r->checkpoint.folder : NULL;
    pboost_remote_options *options = NULL;

    NEED(options = calloc(url->n, sizeof *options), err);
    NEED(r->token = calloc(url->n, sizeof *r->token), err);
    for (size_t i = 0; i < url->n; i++)
        TRY(connect_to(&options[i], r, i, err));
    cli_interrupted(); /* from here on a signal stops between tries */
    TRY(pboost_group_open(&r->group, url->item, options, url->n, folder, err));
done:
    free(options);
    return st;
}

pboost_status train_remote_open(train_remote **out, pboost_rules *rules, cli_context *cli,
                                const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_remote *r = NULL;
    bool units = false;

    *out = NULL;
    NEED(r = calloc(1, sizeof *r), err);
    r->cli = cli;
    r->arguments = a;
    TRY(train_checkpoint_find(&r->checkpoint, a, err));
    TRY(open_group(r, err));
    /* The columns of the rules live as long as the connection. */
    *rules = r->checkpoint.rules = pboost_group_interface(r->group).rules;
    for (size_t i = 0; i < a->oracles.n; i++) {
        note_sheet(cli, &config_of(r, i)->sheet);
        units = units || config_of(r, i)->units;
    }
    if (a->min_bag > 0 && a->min_bag < rules->min_bag)
        FAIL(err, PBOOST_REFUSED,
             "--min-bag is %zu, but the oracle answers no bag of fewer than %zu rows", a->min_bag,
             rules->min_bag);
    if (a->min_bag > 0) /* the learner may be stricter */
        rules->min_bag = a->min_bag;
    if (units && a->unit == NULL)
        cli_note(cli, "warning: the oracle's rows belong to units, and a bag may hold one row of a "
                      "unit only; name the column of units with --unit");
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
    pboost_group_close(remote->group);
    if (remote->token != NULL)
        explicit_bzero(remote->token, remote->arguments->oracles.n * sizeof *remote->token);
    free(remote->token);
    free(remote);
}

static pboost_status read_names(class_names *out, const char *lines, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char *text = NULL, *rest = NULL;

    NEED(text = strdup(lines), err);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        TRY(class_names_add(out, line, err));
done:
    free(text);
    return st;
}

const char *train_remote_columns(const train_remote *remote)
{
    const wire_config *config = config_of(remote, 0);
    return config->rules.answer == PBOOST_ANSWER_COLUMNS ? config->names : NULL;
}

pboost_status train_remote_classes(class_names *out, const train_remote *remote, bool classes,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const wire_config *config = config_of(remote, 0);
    pboost_answer kind = config->rules.answer;

    if (classes != (kind == PBOOST_ANSWER_CLASSES))
        FAIL(err, PBOOST_INVALID, "the oracle answers with %s; --family must %sbe classes",
             classes ? "means" : "the counts of classes", classes ? "not " : "");
    if (classes)
        TRY(read_names(out, config->names, err));
    if (classes && out->n != config->rules.width)
        FAIL(err, PBOOST_ORACLE, "the oracle names %zu classes, but answers for %zu", out->n,
             config->rules.width);
done:
    return st;
}

pboost_oracle train_remote_oracle(train_remote *remote)
{
    return pboost_group_interface(remote->group);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The rows that oracle i can be asked about, of those in `mine`; it is shown the ids of these. */
static pboost_status ask_available(bool *available, train_remote *r, size_t number,
                                   const bool *mine, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_id *id = NULL;
    bool *known = NULL;
    size_t n = 0;

    NEED(id = pboost_alloc(data->rows, sizeof *id), err);
    NEED(known = pboost_alloc(data->rows, sizeof *known), err);
    for (size_t i = 0; i < data->rows; i++)
        if (mine[i])
            id[n++] = data->id[i];
    st = pboost_remote_available(known, pboost_group_member(r->group, number), id, n, err);
    TRY(pboost_group_explain(r->group, number, st, err));
    n = 0;
    for (size_t i = 0; i < data->rows; i++)
        available[i] = mine[i] && known[n++];
done:
    free(id);
    free(known);
    return st;
}

/* The oracle of each row: what --oracle-of says, or else the first that can be asked about it.
 * keep: there is one, and it can. */
static pboost_status find_oracles(bool *keep, train_remote *r, train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *mine = NULL, *available = NULL, given = data->part != NULL;

    NEED(mine = pboost_alloc(data->rows, sizeof *mine), err);
    NEED(available = pboost_alloc(data->rows, sizeof *available), err);
    if (!given)
        NEED(data->part = calloc(data->rows + 1, sizeof *data->part), err);
    memset(keep, false, data->rows * sizeof *keep);
    for (uint32_t number = 0; number < pboost_group_size(r->group); number++) {
        for (size_t i = 0; i < data->rows; i++)
            mine[i] = given ? data->part[i] == number : !keep[i];
        TRY(ask_available(available, r, number, mine, data, err));
        for (size_t i = 0; i < data->rows; i++) {
            if (available[i])
                data->part[i] = number;
            keep[i] = keep[i] || available[i];
        }
    }
done:
    free(mine);
    free(available);
    return st;
}

/* Each oracle has the rows of a bag at least. */
static pboost_status check_shares(const train_remote *r, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t n = pboost_group_size(r->group), rows[PBOOST_GROUP_MAX] = {0};

    for (size_t i = 0; i < data->rows; i++)
        rows[data->part[i]]++;
    for (size_t i = 0; n > 1 && i < n; i++) {
        if (rows[i] < r->checkpoint.rules.min_bag)
            FAIL(err, PBOOST_REFUSED,
                 "oracle %zu, %.200s, can be asked about %zu of the rows; a bag needs %zu, all of "
                 "one oracle; leave this --oracle out",
                 i + 1, pboost_group_url(r->group, i), rows[i], r->checkpoint.rules.min_bag);
        cli_note(r->cli, "oracle %zu has %zu of %zu rows", i + 1, rows[i], data->rows);
    }
done:
    return st;
}

static pboost_status find_available(bool *keep, train_remote *r, train_data *data,
                                    train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(find_oracles(keep, r, data, err));
    for (size_t i = 0; i < data->rows; i++)
        result->unavailable += !keep[i];
    if (result->unavailable > 0 && !r->arguments->skip_unavailable)
        FAIL(err, PBOOST_REFUSED,
             "%zu of %zu rows are spent, unknown to the oracle or outside the token's scope; "
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
    bool *keep = NULL;
    size_t all = data->rows;

    if (r->checkpoint.begun) {
        TRY(train_checkpoint_recall(&r->checkpoint, r->arguments, data, err));
        result->unavailable = all - data->rows;
        cli_note(r->cli, "continuing with the %zu rows of checkpoint %s", data->rows,
                 r->checkpoint.folder);
    } else {
        NEED(keep = pboost_alloc(data->rows, sizeof *keep), err);
        TRY(find_available(keep, r, data, result, err));
        TRY(train_rows_by_part(data, keep, pboost_group_size(r->group), err));
        if (result->unavailable + result->same_unit > 0)
            cli_note(r->cli,
                     "%zu of %zu rows are left out: %zu are not available, for %zu another row of "
                     "their unit is used",
                     all - data->rows, all, result->unavailable, result->same_unit);
    }
    TRY(check_shares(r, data, err));
    pboost_group_set_rows(r->group, data->id, data->part, data->rows);
done:
    free(keep);
    return st;
}

/* ---- The checkpoint -------------------------------------------------------------------------- */

/* A training asks about every row of the data once.  Rows that an earlier start spent are not
 * available, and their questions are sent again as they were: the oracle counts them once. */
static pboost_status check_quota(train_remote *r, size_t number, const train_data *data,
                                 pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *mine = NULL, *available = NULL;
    uint64_t left;
    size_t rows = 0;

    st = pboost_remote_rows_left(&left, pboost_group_member(r->group, number), err);
    TRY(pboost_group_explain(r->group, number, st, err));
    if (data->rows <= left)
        goto done;
    NEED(mine = pboost_alloc(data->rows, sizeof *mine), err);
    NEED(available = pboost_alloc(data->rows, sizeof *available), err);
    for (size_t i = 0; i < data->rows; i++)
        mine[i] = data->part[i] == number;
    TRY(ask_available(available, r, number, mine, data, err));
    for (size_t i = 0; i < data->rows; i++)
        rows += available[i];
    if (rows > left)
        TRY(pboost_group_explain(
            r->group, number,
            pboost_fail(err, PBOOST_REFUSED,
                        "the training would ask about %zu rows, but the token has %" PRIu64
                        " left; nothing was asked; train on fewer rows, or get a token with more",
                        rows, left),
            err));
done:
    free(mine);
    free(available);
    return st;
}

pboost_status train_remote_begin(train_remote *r, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    for (size_t i = 0; i < pboost_group_size(r->group); i++)
        TRY(check_quota(r, i, data, err));
    r->first = !r->checkpoint.begun;
    if (r->first && r->checkpoint.folder[0] != '\0')
        cli_note(r->cli, "questions and answers are kept in %s", r->checkpoint.folder);
    TRY(train_checkpoint_begin(&r->checkpoint, r->arguments, data, err));
    r->ready = true;
done:
    return st;
}

pboost_status train_remote_recall(train_remote *r, pboost_trainer *trainer, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_bags bags = {0};
    pboost_error why = {0};

    TRY(pboost_group_recall(&bags, r->group, pboost_trainer_rounds_done(trainer), err));
    if (bags.n_bags == 0)
        goto done;
    st = pboost_trainer_recall(trainer, &bags, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "checkpoint %.200s belongs to another run: %.250s", r->checkpoint.folder,
             why.message);
done:
    pboost_bags_free(&bags);
    return st;
}

const char *train_remote_checkpoint(const train_remote *r)
{
    return r != NULL && r->ready && r->checkpoint.begun ? r->checkpoint.folder : NULL;
}

static bool nothing_spent(const train_remote *r, pboost_status status)
{
    return r->first && status == PBOOST_REFUSED && !pboost_group_answered(r->group);
}

void train_remote_end(train_remote *r, pboost_status status)
{
    const char *folder = train_remote_checkpoint(r);
    pboost_error err = {0};

    if (folder == NULL)
        return;
    bool written = status == PBOOST_OK && r->checkpoint.temporary;
    if (written || nothing_spent(r, status)) {
        if (pboost_checkpoint_remove(folder, &err) != PBOOST_OK)
            cli_note(r->cli, "warning: %s", err.message);
    } else if (status == PBOOST_OK && r->arguments->out == NULL) {
        cli_note(r->cli,
                 "the answers are in %s; --resume --checkpoint %s --out FILE writes a model",
                 folder, folder);
    } else if (status != PBOOST_OK && status != PBOOST_UNUSABLE) {
        cli_note(r->cli,
                 "the questions and answers so far are in %s; --resume continues from there",
                 folder);
    }
}
