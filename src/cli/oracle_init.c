/* priorboost oracle init, upgrade and restore: a store and its rules. */
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
        "questions.  Learners see the rules and the data sheet before they ask.\n"
        "\n"
        "With --classes a label is one of several classes, and an answer is how many rows of the\n"
        "bag each class has; bounds are not needed.  With --labels a row has several labels, and\n"
        "an answer is the mean of each; they share epsilon.\n"
        "\n"
        "With --store several times the oracle has several stores, which work at the same time.\n"
        "Import divides the rows among them; give all of them to serve, in any order.",
    .operand = NULL};

static pboost_status print_rules(cli_context *cli, const char *store,
                                 const pboost_ledger_rules *rules, pboost_error *err)
{
    char labels[ORACLE_LABELS_TEXT];

    if (!cli->json) {
        if (rules->stores > 0)
            cli_note(cli, "%zu stores of one oracle, the first is %s", rules->stores, store);
        cli_note(cli, "%s: bags of at least %zu rows, %s, %s", store, rules->rules.min_bag,
                 oracle_labels_text(labels, rules),
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

static pboost_status read_delta(void *target, const char *option, const char *text,
                                pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    if (pboost_rational_parse(target, text, NULL) != PBOOST_OK)
        FAIL(err, PBOOST_INVALID,
             "%s is '%.60s'; it must be a number above 0 and below 1, such as 1e-6", option, text);
done:
    return st;
}

pboost_status oracle_init(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_rules rules = PBOOST_LEDGER_RULES_INIT;
    oracle_place place = {0};
    pboost_ledger_options made[PBOOST_STORES_MAX];
    const char *weak = NULL, *scope_rows = "", *sheet[PBOOST_SHEET_FIELDS] = {NULL};
    const char *mechanism = "laplace";
    label_arguments labels = {0};
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
        {"--mechanism", "NAME", cli_read_text, &mechanism, NULL,
         "laplace (default), or gaussian for --classes and --labels:\nit pays where label columns "
         "times --unit-rows exceed ten"},
        {"--delta", "D", read_delta, &rules.rules.delta, NULL, "of Gaussian noise, such as 1e-6"},
        {"--weak-privacy", "WORDS", cli_read_text, &weak, NULL,
         "confirms an epsilon above 10 for a row or unit;\nWORDS: '" PBOOST_WEAK_WORDS "'"},
        {"--no-noise", NULL, NULL, &rules.no_noise, NULL,
         "answer with exact means; no differential privacy"},
        {"--bounds", "LO,HI", cli_read_bounds, &bounds, &bounded,
         "smallest and largest possible label; public"},
        {"--step", "Q", cli_read_positive, &rules.rules.step, NULL,
         "labels are rounded to multiples of it;\ndefault: a power of two near (HI-LO)/2^20"},
        {"--classes", "A,B,...", cli_read_text, &labels.classes, NULL,
         "labels are one of these classes; public"},
        {"--labels", "COL=LO:HI:Q,...", cli_read_text, &labels.columns, NULL,
         "label columns with their bounds and steps; a column\nwithout them has --bounds and "
         "--step"},
        {"--shares", "N,...", cli_read_text, &labels.shares, NULL,
         "parts of epsilon for the label columns, such as 2,1;\ndefault: equal"},
        {"--unit", NULL, NULL, &rules.units, NULL,
         "rows belong to units, such as persons; import names them"},
        {"--unit-rows", "N", cli_read_count, &rules.unit_rows, NULL,
         "answered bags that one unit may be in; default 1"},
        {"--scope-rows", "A=N,...", cli_read_text, &scope_rows, NULL,
         "how many of them each scope may have, if a unit has\nrows in several scopes"},
        {"--claim-seconds", "N", cli_read_count, &seconds, NULL,
         "longest wait for other users of the store; default 30"},
        {"--require-approval", NULL, NULL, &rules.require_approval, NULL,
         "learners' tokens are pending until an approver approves"},
        {"--label-name", "TEXT", cli_read_text, &sheet[PBOOST_SHEET_LABEL], NULL,
         "data sheet: what the label is; learners see it"},
        {"--owner", "TEXT", cli_read_text, &sheet[PBOOST_SHEET_OWNER], NULL,
         "data sheet: who owns the labels"},
        {"--purpose", "TEXT", cli_read_text, &sheet[PBOOST_SHEET_PURPOSE], NULL,
         "data sheet: what they may be used for"},
        {"--contact", "TEXT", cli_read_text, &sheet[PBOOST_SHEET_CONTACT], NULL,
         "data sheet: whom to ask"},
    };

    rules.rules.min_bag = 0;
    TRY(cli_parse(cli, NULL, argc, argv, &INIT, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    if (place.store.n == 0 || rules.rules.min_bag == 0 ||
        (!bounded && labels.classes == NULL && labels.columns == NULL))
        FAIL(err, PBOOST_INVALID,
             "--store, --min-bag and --bounds (or --classes, or --labels) are required; see "
             "'priorboost oracle init --help'");
    if (weak != NULL && strcmp(weak, PBOOST_WEAK_WORDS) != 0)
        FAIL(err, PBOOST_INVALID, "--weak-privacy is '%.60s'; it must be '%s'", weak,
             PBOOST_WEAK_WORDS);
    rules.weak_privacy = weak != NULL;
    TRY(pboost_mechanism_parse(&rules.rules.mechanism, mechanism, err));
    rules.rules.bounded = bounded;
    rules.rules.lower = bounds.lower;
    rules.rules.upper = bounds.upper;
    TRY(oracle_set_labels(&rules, &labels, err));
    rules.claim_seconds = seconds < 3601 ? (unsigned)seconds : 3601;
    if (strlen(scope_rows) >= sizeof rules.scope_rows)
        FAIL(err, PBOOST_INVALID, "--scope-rows has %zu bytes; the most is %zu", strlen(scope_rows),
             sizeof rules.scope_rows - 1);
    memcpy(rules.scope_rows, scope_rows, strlen(scope_rows) + 1);
    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++)
        if (sheet[i] != NULL)
            TRY(pboost_sheet_set(&rules.sheet, i, sheet[i], err));
    TRY(oracle_options(made, cli, &place, err));
    TRY(pboost_ledger_create_all(place.store.item, place.store.n, &rules, made, err));
    TRY(oracle_open(&ledger, cli, &place, ORACLE_CHANGE, err));
    TRY(print_rules(cli, place.store.item[0], pboost_ledger_get_rules(ledger), err));
done:
    pboost_ledger_close(ledger);
    return st;
}

/* ---- upgrade --------------------------------------------------------------------------------- */

static const cli_usage UPGRADE = {
    .synopsis = "--store S",
    .text =
        "Brings a store that an older priorboost made to the form that this one uses, in one\n"
        "transaction.  A store of version 1 gets its key file.  First make a backup: older\n"
        "programs cannot open the store afterwards.  A store that is not sound is left as it is.",
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
    TRY(oracle_one(&how, cli, &place, err));
    TRY(pboost_ledger_upgrade(&from, place.store.item[0], &how, err));
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

/* ---- restore --------------------------------------------------------------------------------- */

static const cli_usage RESTORE = {
    .synopsis = "--store S [--without-witness]",
    .text =
        "Makes a backup that was put in the place of the store fit for use.  The backup does not\n"
        "know what was answered after it was made; the witness does.  The rows that were answered\n"
        "since are spent, erasures and revocations are repeated, and heads that learners have "
        "seen\n"
        "stay known.  Tokens that were created since are lost.  Rows that were imported since are\n"
        "lost too; import them again, without those that are spent.  Stop the service\n"
        "first.  If the witness is lost, --without-witness spends every row, revokes every token\n"
        "and begins a new witness.",
    .operand = NULL};

static pboost_status print_restored(const cli_context *cli, const pboost_restored *r,
                                    pboost_error *err)
{
    if (cli->json)
        return cli_print_json(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "lost",
                                        (json_int_t)r->lost, "burned", (json_int_t)r->burned,
                                        "erased", (json_int_t)r->erased, "revoked",
                                        (json_int_t)r->revoked, "imports", (json_int_t)r->imports,
                                        "banned", (json_int_t)r->banned),
                              err);
    cli_note(cli,
             "%zu entries are lost; %zu rows were spent, %zu labels erased, %zu tokens revoked",
             r->lost, r->burned, r->erased, r->revoked);
    if (r->imports > 0)
        cli_note(cli, "%zu imports are lost; repeat them without %zu rows that are spent",
                 r->imports, r->banned);
    return PBOOST_OK;
}

pboost_status oracle_restore(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    pboost_ledger_options how;
    pboost_restored restored;
    bool without_witness = false;
    const cli_option options[] = {
        ORACLE_PLACE(place),
        {"--without-witness", NULL, NULL, &without_witness, NULL,
         "the witness is lost: spend every row"},
    };

    TRY(cli_parse(cli, NULL, argc, argv, &RESTORE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_one(&how, cli, &place, err));
    TRY(pboost_ledger_restore(&restored, place.store.item[0], &how, without_witness, err));
    TRY(print_restored(cli, &restored, err));
done:
    return st;
}
