/* priorboost train --oracle: the labels stay with another party. */
#include "train_remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "remote.h"
#include "train_checkpoint.h"
#include "train_rows.h"

struct train_remote {
    cli_context *cli;
    const train_arguments *arguments;
    pboost_remote *remote;
    train_checkpoint checkpoint;
    bool ready; /* to ask; the checkpoint belongs to this run */
    bool first; /* start of the run */
    char token[CLI_SECRET];
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

pboost_status train_remote_open(train_remote **out, pboost_rules *rules, cli_context *cli,
                                const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    train_remote *r = NULL;

    *out = NULL;
    NEED(r = calloc(1, sizeof *r), err);
    r->cli = cli;
    r->arguments = a;
    if (strcmp(a->token_file, "-") == 0)
        FAIL(err, PBOOST_INVALID,
             "--token-file is '-'; it must be a file, because FILE.head is kept beside it");
    TRY(cli_read_secret(r->token, cli, "--token-file", a->token_file, err));
    TRY(train_checkpoint_find(&r->checkpoint, a, err));
    cli_interrupted(); /* from here on a signal stops between tries */
    pboost_remote_options options = {
        .http = {.token = r->token,
                 .ca = a->ca,
                 .client_cert = a->client_cert,
                 .client_key = a->client_key,
                 .patience = (double)a->patience,
                 .stop = should_stop,
                 .note = note_retry,
                 .warn = warn,
                 .user = cli},
        .checkpoint = r->checkpoint.folder[0] != '\0' ? r->checkpoint.folder : NULL,
        .token_file = a->token_file};
    TRY(pboost_remote_open(&r->remote, a->oracle, &options, err));
    const wire_config *config = pboost_remote_config(r->remote);
    r->checkpoint.rules = config->rules;
    *rules = pboost_wire_rules(config); /* whose columns live as long as the connection */
    note_sheet(cli, &config->sheet);
    if (a->min_bag > 0 && a->min_bag < rules->min_bag)
        FAIL(err, PBOOST_REFUSED,
             "--min-bag is %zu, but the oracle answers no bag of fewer than %zu rows", a->min_bag,
             rules->min_bag);
    if (a->min_bag > 0) /* the learner may be stricter */
        rules->min_bag = a->min_bag;
    if (config->units && a->unit == NULL)
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
    pboost_remote_close(remote->remote);
    explicit_bzero(remote->token, sizeof remote->token);
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
    const wire_config *config = pboost_remote_config(remote->remote);
    return config->rules.answer == PBOOST_ANSWER_COLUMNS ? config->names : NULL;
}

pboost_status train_remote_classes(class_names *out, const train_remote *remote, bool classes,
                                   pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const wire_config *config = pboost_remote_config(remote->remote);
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
    return pboost_remote_interface(remote->remote);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static pboost_status find_available(bool *keep, train_remote *r, const train_data *data,
                                    train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(pboost_remote_available(keep, r->remote, data->id, data->rows, err));
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
        TRY(train_rows_select(data, keep, err));
        if (result->unavailable + result->same_unit > 0)
            cli_note(r->cli,
                     "%zu of %zu rows are left out: %zu are not available, for %zu another row of "
                     "their unit is used",
                     all - data->rows, all, result->unavailable, result->same_unit);
    }
    pboost_remote_set_rows(r->remote, data->id, data->rows);
done:
    free(keep);
    return st;
}

/* ---- The checkpoint -------------------------------------------------------------------------- */

/* A training asks about every row of the data once.  Rows that an earlier start spent are not
 * available, and their questions are sent again as they were: the oracle counts them once. */
static pboost_status check_quota(train_remote *r, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *available = NULL;
    uint64_t left;
    size_t rows = 0;

    TRY(pboost_remote_rows_left(&left, r->remote, err));
    if (data->rows <= left)
        goto done;
    NEED(available = pboost_alloc(data->rows, sizeof *available), err);
    TRY(pboost_remote_available(available, r->remote, data->id, data->rows, err));
    for (size_t i = 0; i < data->rows; i++)
        rows += available[i];
    if (rows > left)
        FAIL(err, PBOOST_REFUSED,
             "the training would ask about %zu rows, but the token has %" PRIu64
             " left; nothing was asked; train on fewer rows, or get a token with more",
             rows, left);
done:
    free(available);
    return st;
}

pboost_status train_remote_begin(train_remote *r, const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;

    TRY(check_quota(r, data, err));
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

    TRY(pboost_remote_recall(&bags, r->remote, pboost_trainer_rounds_done(trainer), err));
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

/* All bags of a question are answered or none, and questions are asked one after the other. */
static bool nothing_spent(const train_remote *r, pboost_status status)
{
    unsigned char *answer = NULL;
    size_t length;
    pboost_status st = pboost_checkpoint_read(&answer, &length, r->checkpoint.folder,
                                              "answer-000000-000000", NULL);
    bool none = st == PBOOST_OK && answer == NULL;

    free(answer);
    return r->first && status == PBOOST_REFUSED && none;
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
