/* priorboost oracle init and upgrade: a store and its rules. */
#include <stdio.h>
#include <string.h>

#include "oracle.h"

/* ---- init ------------------------------------------------------------------------------------ */

static const cli_usage INIT = {
    .synopsis = "--store S --min-bag K (--epsilon E | --no-noise) --bounds LO,HI [OPTION...]",
    .text =
        "Makes an empty store and its key file, and fixes the rules.  They cannot be changed\n"
        "afterwards.  An answer is the mean of a bag of at least K rows; with --epsilon it has\n"
        "noise that makes it E-label differentially private for each row, in any number of\n"
        "questions.",
    .operand = NULL};

static pboost_status print_rules(cli_context *cli, const char *store,
                                 const pboost_ledger_rules *rules, pboost_error *err)
{
    if (!cli->json) {
        cli_note(cli, "%s: bags of at least %zu rows, labels in [%g, %g], %s", store,
                 rules->rules.min_bag, rules->rules.lower, rules->rules.upper,
                 rules->no_noise ? "no noise and no claim of differential privacy"
                                 : "noise for label differential privacy");
        return PBOOST_OK;
    }
    json_t *report = json_pack("{s:s}", "store", store);
    if (json_object_update_new(report, oracle_rules_json(rules)) != 0) {
        json_decref(report);
        report = NULL;
    }
    return cli_print_json(report, err);
}

pboost_status oracle_init(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    oracle_place place = {0};
    pboost_ledger_options made;
    const char *scope_rows = "";
    cli_bounds bounds = {0, 0};
    size_t seconds = rules.claim_seconds;
    bool bounded = false;
    pboost_ledger *ledger = NULL;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--min-bag", "K", cli_read_count, &rules.rules.min_bag, NULL,
         "least rows in a bag, at least 2"},
        {"--epsilon", "E", cli_read_epsilon, &rules.rules.epsilon, NULL,
         "of label differential privacy, for each row"},
        {"--no-noise", NULL, NULL, &rules.no_noise, NULL,
         "answer with exact means; no differential privacy"},
        {"--bounds", "LO,HI", cli_read_bounds, &bounds, &bounded,
         "smallest and largest possible label; public"},
        {"--step", "Q", cli_read_positive, &rules.rules.step, NULL,
         "labels are rounded to multiples of it;\ndefault: a power of two near (HI-LO)/2^20"},
        {"--unit", NULL, NULL, &rules.units, NULL,
         "rows belong to units, such as persons; import names them"},
        {"--unit-rows", "N", cli_read_count, &rules.unit_rows, NULL,
         "answered bags that one unit may be in; default 1"},
        {"--scope-rows", "A=N,...", cli_read_text, &scope_rows, NULL,
         "how many of them each scope may have, if a unit has\nrows in several scopes"},
        {"--claim-seconds", "N", cli_read_count, &seconds, NULL,
         "longest wait for other users of the store; default 30"},
    };

    rules.rules.min_bag = 0;
    TRY(cli_parse(cli, NULL, argc, argv, &INIT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (place.store == NULL || rules.rules.min_bag == 0 || !bounded)
        FAIL(err, PBOOST_INVALID,
             "--store, --min-bag and --bounds are required; see 'priorboost oracle init --help'");
    rules.rules.bounded = true;
    rules.rules.lower = bounds.lower;
    rules.rules.upper = bounds.upper;
    rules.claim_seconds = seconds < 3601 ? (unsigned)seconds : 3601;
    if (strlen(scope_rows) >= sizeof rules.scope_rows)
        FAIL(err, PBOOST_INVALID, "--scope-rows has %zu bytes; the most is %zu", strlen(scope_rows),
             sizeof rules.scope_rows - 1);
    strcpy(rules.scope_rows, scope_rows);
    TRY(oracle_options(&made, cli, &place, err));
    TRY(pboost_ledger_create(place.store, &rules, &made, err));
    TRY(oracle_open(&ledger, cli, &place, false, err));
    TRY(print_rules(cli, place.store, pboost_ledger_get_rules(ledger), err));
done:
    pboost_ledger_close(ledger);
    return st;
}

/* ---- upgrade --------------------------------------------------------------------------------- */

static const cli_usage UPGRADE = {
    .synopsis = "--store S",
    .text =
        "Brings a store that an older priorboost made to the form that this one uses, in one\n"
        "transaction, and makes its key file.  First make a backup: older programs cannot open\n"
        "the store afterwards.  A store that is not sound is left as it is.",
    .operand = NULL};

pboost_status oracle_upgrade(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    pboost_ledger_options how;
    int from = 0;
    const cli_option options[] = {ORACLE_PLACE(place)};

    TRY(cli_parse(cli, NULL, argc, argv, &UPGRADE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_options(&how, cli, &place, err));
    TRY(pboost_ledger_upgrade(&from, place.store, &how, err));
    if (cli->json)
        TRY(cli_print_json(json_pack("{s:i, s:i}", "from", from, "to", PBOOST_STORE_VERSION), err));
    else if (from == PBOOST_STORE_VERSION)
        cli_note(cli, "the store has version %d already", from);
    else
        cli_note(cli, "the store was of version %d and is now of version %d", from,
                 PBOOST_STORE_VERSION);
done:
    return st;
}
