/* priorboost train: the oracle, on the labels of the table or of another party. */
#include "train_oracle.h"

#include <string.h>

#include "train_columns.h"
#include "train_rows.h"

/* ---- Options --------------------------------------------------------------------------------- */

/* Several oracles have a token each; authorities and certificates may be the same for all. */
static pboost_status check_numbers(const train_arguments *a, pboost_error *err)
{
    const struct {
        const cli_texts *list;
        const char *name;
        bool each;
    } files[] = {{&a->token_file, "--token-file", true},
                 {&a->ca, "--ca", false},
                 {&a->client_cert, "--client-cert", false}};

    for (size_t i = 0; i < a->token_file.n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(a->token_file.item[i], a->token_file.item[j]) == 0)
                return pboost_fail(err, PBOOST_INVALID,
                                   "--token-file %.200s is given for two oracles; each needs its "
                                   "own, because FILE.head is kept beside it",
                                   a->token_file.item[i]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n = files[i].list->n;
        if (n != a->oracles.n && (files[i].each || n > 1))
            return pboost_fail(err, PBOOST_INVALID,
                               "%s is given %zu times for %zu oracles; give it for each, in the "
                               "order of --oracle%s",
                               files[i].name, n, a->oracles.n,
                               files[i].each ? "" : ", or once for all");
    }
    return PBOOST_OK;
}

pboost_status train_oracle_check(const train_arguments *a, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const struct {
        bool given;
        const char *name;
    } with[] = {{a->data != NULL, "--data"},
                {a->id != NULL, "--id"},
                {a->token_file.n > 0, "--token-file"},
                {a->has_family, "--family"}},
      never[] = {{a->epsilon.den > 0, "--epsilon"},
                 {a->has_bounds, "--bounds"},
                 {a->step > 0.0, "--step"},
                 {a->clamp, "--clamp"},
                 {a->round, "--round"}},
      without[] = {{a->token_file.n > 0, "--token-file"},
                   {a->oracle_of != NULL, "--oracle-of"},
                   {a->ca.n > 0, "--ca"},
                   {a->client_cert.n > 0, "--client-cert"},
                   {a->client_key.n > 0, "--client-key"},
                   {a->checkpoint != NULL, "--checkpoint"},
                   {a->no_checkpoint, "--no-checkpoint"},
                   {a->resume, "--resume"},
                   {a->skip_unavailable, "--skip-unavailable"}};

    for (size_t i = 0; a->oracle == NULL && i < sizeof without / sizeof *without; i++)
        if (without[i].given)
            return pboost_fail(err, PBOOST_INVALID, "%s needs --oracle", without[i].name);
    if (a->oracle == NULL)
        return PBOOST_OK;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (!with[i].given)
            return pboost_fail(err, PBOOST_INVALID,
                               "--oracle needs %s; see 'priorboost train --help'", with[i].name);
    if (a->client_cert.n != a->client_key.n)
        return pboost_fail(err, PBOOST_INVALID, "--client-cert and --client-key go together");
    if (a->oracle_of != NULL && a->oracles.n == 1)
        return pboost_fail(err, PBOOST_INVALID, "--oracle-of is '%s', but there is one --oracle",
                           a->oracle_of);
    TRY(check_numbers(a, err));
    if (a->no_checkpoint && (a->checkpoint != NULL || a->resume))
        return pboost_fail(err, PBOOST_INVALID, "--no-checkpoint cannot be used with %s",
                           a->resume ? "--resume" : "--checkpoint");
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (never[i].given)
            return pboost_fail(
                err, PBOOST_INVALID,
                "%s cannot be used with --oracle: the label holder has set the rules",
                never[i].name);
    if (a->label != NULL && a->test == NULL)
        return pboost_fail(err, PBOOST_INVALID,
                           "--label cannot be used with --oracle, unless it names the labels of "
                           "--test: the label holder has the others");
done:
    return st;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static pboost_status one_row_a_unit(cli_context *cli, train_data *data, train_result *result,
                                    pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    bool *keep = NULL;

    NEED(keep = pboost_alloc(data->rows, sizeof *keep), err);
    memset(keep, true, data->rows * sizeof *keep);
    TRY(train_rows_one_by_unit(keep, &result->same_unit, data, err));
    TRY(train_rows_select(data, keep, err));
    if (result->same_unit > 0)
        cli_note(cli, "%zu rows are left out: another row of their unit is used",
                 result->same_unit);
done:
    free(keep);
    return st;
}

pboost_status train_oracle_open(train_oracle *out, cli_context *cli, const train_arguments *a,
                                train_data *data, train_result *result, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_memory_oracle_options holder = PBOOST_MEMORY_ORACLE_OPTIONS_INIT;

    if (a->oracle != NULL) {
        TRY(train_remote_open(&out->remote, &result->rules, cli, a, err));
        const char *columns = train_remote_columns(out->remote);
        if (columns != NULL)
            TRY(train_columns_name(&data->targets, columns, result->rules.width, a, err));
        else if (a->families.n > 1)
            FAIL(err, PBOOST_INVALID, "--family has %zu words, but the oracle has one label column",
                 a->families.n);
        else
            TRY(train_remote_classes(&data->classes, out->remote, a->classes, err));
        TRY(train_remote_choose_rows(out->remote, data, result, err));
        result->options.part = a->oracles.n > 1 ? data->part : NULL;
        result->options.parts = a->oracles.n;
        out->interface = train_remote_oracle(out->remote);
        out->interface.rules = result->rules;
        return PBOOST_OK;
    }
    TRY(one_row_a_unit(cli, data, result, err));
    holder.clamp = a->clamp;
    holder.simulated = a->has_seed;
    holder.seed = a->seed;
    TRY(pboost_memory_oracle_create(&out->labels, data->label, data->rows, &result->rules, &holder,
                                    err));
    free(data->label); /* the oracle has its own */
    data->label = NULL;
    out->interface = pboost_memory_oracle_interface(out->labels);
done:
    return st;
}

void train_oracle_free_labels(train_oracle *oracle)
{
    pboost_memory_oracle_free(oracle->labels);
    oracle->labels = NULL;
}

void train_oracle_close(train_oracle *oracle)
{
    train_oracle_free_labels(oracle);
    train_remote_close(oracle->remote);
}
