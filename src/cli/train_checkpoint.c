/* priorboost train --oracle: the run to which a checkpoint belongs.
 *
 * The options are kept as they were given, not as a plan settled them: a plan on another machine
 * may round differently, and the answers must not be lost because of that.  Rounds that were begun
 * are asked as they were kept, whatever the plan. */
#include "train_checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "checkpoint.h"
#include "idindex.h"
#include "remote.h"
#include "train_rows.h"

/* ---- The folder ------------------------------------------------------------------------------ */

/* Standard output and devices keep nothing. */
static bool writes_file(const char *out)
{
    return out != NULL && strcmp(out, "-") != 0 && strncmp(out, "/dev/", 5) != 0;
}

pboost_status train_checkpoint_find(train_checkpoint *out, const train_arguments *a,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *run = NULL;
    size_t length;
    int n = 0;

    *out = (train_checkpoint){.temporary = a->checkpoint == NULL && writes_file(a->out)};
    if (a->no_checkpoint)
        return PBOOST_OK;
    if (a->checkpoint != NULL)
        n = snprintf(out->folder, sizeof out->folder, "%s", a->checkpoint);
    else if (out->temporary)
        n = snprintf(out->folder, sizeof out->folder, "%s.checkpoint", a->out);
    else
        n = snprintf(out->folder, sizeof out->folder, "priorboost.checkpoint");
    if (n <= 0 || (size_t)n + 64 > sizeof out->folder)
        FAIL(err, PBOOST_INVALID, "the checkpoint's name has %d bytes; it must have 1 to %zu", n,
             sizeof out->folder - 64);
    TRY(pboost_checkpoint_read(&run, &length, out->folder, "run", err));
    out->begun = run != NULL;
    if (a->resume && !out->begun)
        FAIL(err, PBOOST_BAD_DATA,
             "there is no checkpoint %s to continue from; name its folder with --checkpoint",
             out->folder);
done:
    free(run);
    return st;
}

/* ---- The options ----------------------------------------------------------------------------- */

static void put_text(pboost_buffer *b, const char *option, const char *value)
{
    pboost_buffer_format(b, "%s %s\n", option, value != NULL ? value : "");
}

static void put_list(pboost_buffer *b, const char *option, const cli_list *list)
{
    pboost_buffer_text(b, option);
    for (size_t i = 0; i < list->n; i++)
        pboost_buffer_format(b, "%c%s", i == 0 ? ' ' : ',', list->item[i]);
    pboost_buffer_text(b, "\n");
}

/* The oracle's rules, and what the questions depend on beside the table: a line each, with the
 * value as it was given; nothing or 0 if it was not given.  --l2, --rho, --covariance and
 * --no-intercept are left out: if a fit fails because of one of them, the answers can be fitted
 * again. */
static pboost_status describe_run(unsigned char **text, size_t *length, const pboost_rules *rules,
                                  const train_arguments *a, pboost_error *err)
{
    pboost_buffer b = {0};

    pboost_buffer_format(&b, "oracle min_bag %zu\noracle epsilon %.17g\n", rules->min_bag,
                         pboost_rational_value(rules->epsilon));
    pboost_buffer_format(&b, "oracle bounds %.17g,%.17g\noracle step %.17g\n", rules->lower,
                         rules->upper, rules->step);
    if (rules->answer != PBOOST_ANSWER_MEAN) /* a checkpoint of means is as it was */
        pboost_buffer_format(&b, "oracle answer %s %zu\noracle mechanism %s\noracle delta %.17g\n",
                             pboost_answer_name(rules->answer), rules->width,
                             pboost_mechanism_name(rules->mechanism),
                             pboost_rational_value(rules->delta));
    if (a->oracles.n > 1) {
        pboost_buffer_format(&b, "oracles %zu\n", a->oracles.n);
        put_text(&b, "--oracle-of", a->oracle_of);
    }
    if (a->families.n > 1)
        put_list(&b, "--family", &a->families);
    else
        put_text(&b, "--family", a->classes ? "classes" : pboost_family_name(a->family));
    put_text(&b, "--id", a->id);
    put_text(&b, "--unit", a->unit);
    put_list(&b, "--exclude", &a->columns.exclude);
    put_list(&b, "--drop", &a->columns.drop);
    put_list(&b, "--keep", &a->columns.keep);
    put_list(&b, "--types", &a->columns.types);
    put_list(&b, "--categorical", &a->columns.categorical);
    put_list(&b, "--date", &a->columns.date);
    put_list(&b, "--na", &a->columns.na);
    if (a->wide) { /* runs of other tables keep their checkpoints of earlier versions */
        pboost_buffer_format(&b, "--hash %zu\n--columns %zu\n", a->hash, a->columns_given);
        put_list(&b, "--cross", &a->cross);
        if (a->bag_key.n > 0)
            put_list(&b, "--bag-key", &a->bag_key);
        put_text(&b, "--index-base", a->index_base);
    }
    put_text(&b, "--weight", a->weight);
    put_text(&b, "--offset", a->offset);
    put_text(&b, "--impute", a->columns.impute);
    put_text(&b, "--standardize", a->standardize ? "yes" : "");
    pboost_buffer_format(&b, "--winsorize %.17g\n", a->winsorize);
    put_text(&b, "--auto", a->automatic ? "yes" : "");
    put_text(&b, "--algorithm", a->algorithm);
    put_text(&b, "--estimator", a->estimator);
    put_text(&b, "--bags", a->bags);
    put_text(&b, "--schedule", a->schedule);
    put_text(&b, "--prior", a->prior);
    pboost_buffer_format(&b, "--min-bag %zu\n--bag-size %zu\n--rounds %zu\n--seed %" PRIu64 "\n",
                         a->min_bag, a->bag_size, a->rounds, a->seed);
    return pboost_buffer_take(text, length, &b, err);
}

/* The first line from *at on that is not the same in both; its length is that without its end. */
static int differing_line(const unsigned char **at, size_t length, const unsigned char *other,
                          size_t other_length)
{
    size_t i = 0, begin = 0;

    for (; i < length && i < other_length && (*at)[i] == other[i]; i++)
        if ((*at)[i] == '\n')
            begin = i + 1;
    for (i = begin; i < length && (*at)[i] != '\n';)
        i++;
    *at += begin;
    return (int)(i - begin < 80 ? i - begin : 80);
}

static pboost_status compare_options(const train_checkpoint *c, const train_arguments *a,
                                     pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *run = NULL, *kept = NULL;
    size_t length, n;

    TRY(describe_run(&run, &length, &c->rules, a, err));
    TRY(pboost_checkpoint_read(&kept, &n, c->folder, "run", err));
    NEED(kept, err);
    if (n == length && memcmp(run, kept, n) == 0)
        goto done;
    const unsigned char *now = run, *then = kept;
    int now_length = differing_line(&now, length, kept, n);
    int then_length = differing_line(&then, n, run, length);
    FAIL(err, PBOOST_INVALID,
         "checkpoint %.150s belongs to another run: it has '%.*s', this run has '%.*s'; use the "
         "options "
         "of that run, or another folder (--checkpoint)",
         c->folder, then_length, (const char *)then, now_length, (const char *)now);
done:
    free(run);
    free(kept);
    return st;
}

/* ---- The rows -------------------------------------------------------------------------------- */

static pboost_status read_rows(wire_question *out, const char *folder, const train_data *data,
                               const char *path, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *bytes = NULL;
    size_t length;
    pboost_error why = {0};

    TRY(pboost_checkpoint_read(&bytes, &length, folder, "rows", err));
    if (bytes == NULL || length < TRAIN_HASH)
        FAIL(err, PBOOST_BAD_DATA, "%s/rows is damaged: it has %zu bytes", folder, length);
    if (memcmp(bytes, data->hash, TRAIN_HASH) != 0)
        FAIL(err, PBOOST_INVALID,
             "checkpoint %s belongs to a run on another table than %s; use the table of that run, "
             "or "
             "another folder (--checkpoint)",
             folder, path);
    st = pboost_wire_read_question(out, WIRE_BINARY, bytes + TRAIN_HASH, length - TRAIN_HASH, &why);
    if (st != PBOOST_OK)
        FAIL(err, st, "%s/rows is damaged: %.200s", folder, why.message);
done:
    free(bytes);
    return st;
}

/* The same table has the same ids, so each is found.  The rows of each oracle are a bag. */
static pboost_status arrange_rows(train_data *data, const wire_question *rows, size_t oracles,
                                  const char *folder, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    id_index index = {0};
    size_t *row = NULL;

    if (rows->n_bags != oracles)
        FAIL(err, PBOOST_BAD_DATA, "%s/rows is damaged: it has the rows of %zu oracles, not of %zu",
             folder, rows->n_bags, oracles);
    TRY(pboost_id_index_make(&index, data->id, data->rows, err));
    NEED(row = pboost_alloc(rows->n_rows, sizeof *row), err);
    for (size_t i = 0; i < rows->n_rows; i++) {
        pboost_id id = rows->id[i].text != NULL ? pboost_remote_id(rows->id[i].text) : rows->id[i];
        row[i] = pboost_id_index_find(&index, &id);
        if (row[i] == SIZE_MAX)
            FAIL(err, PBOOST_BAD_DATA,
                 "%s/rows is damaged: it names rows that the table does not have", folder);
    }
    TRY(train_rows_arrange(data, row, rows->n_rows, err));
    free(data->part);
    NEED(data->part = pboost_alloc(rows->n_rows, sizeof *data->part), err);
    for (uint32_t b = 0; b < rows->n_bags; b++)
        for (size_t i = rows->start[b]; i < rows->start[b + 1]; i++)
            data->part[i] = b;
done:
    pboost_id_index_free(&index);
    free(row);
    return st;
}

pboost_status train_checkpoint_recall(const train_checkpoint *c, const train_arguments *a,
                                      train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    wire_question rows = {0};

    if (!c->begun)
        return PBOOST_OK;
    /* Options first: those about columns decide which cells the hash of the table covers. */
    TRY(compare_options(c, a, err));
    TRY(read_rows(&rows, c->folder, data, a->data, err));
    TRY(arrange_rows(data, &rows, a->oracles.n, c->folder, err));
done:
    pboost_wire_question_free(&rows);
    return st;
}

/* ---- Beginning ------------------------------------------------------------------------------- */

/* A bag for each oracle, by which the rows are sorted. */
static pboost_status write_rows(const char *folder, size_t oracles, const train_data *data,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    size_t *start = NULL, length;
    unsigned char *body = NULL, *bytes = NULL;

    NEED(start = calloc(oracles + 1, sizeof *start), err);
    for (size_t i = 0; i < data->rows; i++)
        start[data->part[i] + 1] = i + 1;
    wire_question rows = {.n_bags = oracles, .n_rows = data->rows, .start = start, .id = data->id};
    TRY(pboost_wire_name_question(&rows, err));
    TRY(pboost_wire_write_question(&body, &length, WIRE_BINARY, &rows, err));
    NEED(bytes = pboost_alloc(TRAIN_HASH + length, 1), err);
    memcpy(bytes, data->hash, TRAIN_HASH);
    memcpy(bytes + TRAIN_HASH, body, length);
    TRY(pboost_checkpoint_write(folder, "rows", bytes, TRAIN_HASH + length, err));
done:
    free(start);
    free(body);
    free(bytes);
    return st;
}

/* "run" comes last: a folder without it is not begun. */
pboost_status train_checkpoint_begin(train_checkpoint *c, const train_arguments *a,
                                     const train_data *data, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    unsigned char *run = NULL;
    size_t length;

    if (c->begun || c->folder[0] == '\0')
        return PBOOST_OK;
    TRY(describe_run(&run, &length, &c->rules, a, err));
    TRY(pboost_checkpoint_open(c->folder, err));
    TRY(write_rows(c->folder, a->oracles.n, data, err));
    TRY(pboost_checkpoint_write(c->folder, "run", run, length, err));
    c->begun = true;
done:
    free(run);
    return st;
}
