/* priorboost oracle: the administration of a store, a table of subcommands. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "oracle.h"

static const cli_command COMMANDS[] = {
    {"oracle init", "make a store and fix its rules", oracle_init},
    {"oracle upgrade", "upgrade a store of an older version", oracle_upgrade},
    {"oracle restore", "spend what a backup does not know was spent", oracle_restore},
    {"oracle import", "add rows and their labels", oracle_import},
    {"oracle token", "create, list, prepare, approve or revoke tokens", oracle_token},
    {"oracle forget", "delete labels and ids", oracle_forget},
    {"oracle rekey", "encrypt the labels with a new key", oracle_rekey},
    {"oracle status", "show rules, rows spent and left, and the chain's head", oracle_status},
    {"oracle audit", "verify the ledger", oracle_audit},
    {"oracle export-ledger", "print the ledger, without labels", oracle_export},
    {"oracle export-audit", "write a signed audit file", oracle_export_audit},
    {"oracle public-key", "print the key that verifies audit files", oracle_public_key},
    {"oracle verify-audit", "verify an audit file, without the store", oracle_verify_audit},
};
#define N_COMMANDS (sizeof COMMANDS / sizeof *COMMANDS)

const cli_command *cli_oracle_commands(size_t *n)
{
    *n = N_COMMANDS;
    return COMMANDS;
}

static pboost_status print_commands(pboost_error *err)
{
    printf("Usage: priorboost oracle COMMAND --store sqlite:FILE|postgresql://... [OPTION...]\n\n"
           "The label holder's store: labels, rules, tokens and a ledger of every answer.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-22s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    printf("\n'priorboost oracle COMMAND --help' lists the options of a command.\n");
    return cli_flush(err);
}

/* A core dump would hold labels. */
static void forbid_core_dumps(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
}

pboost_status cli_oracle(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    if (argc < 2)
        return pboost_fail(err, PBOOST_INVALID,
                           "a command is missing; 'priorboost oracle --help' lists the commands");
    if (cli_asks_for_help(argv[1]) || strcmp(argv[1], "help") == 0)
        return print_commands(err);
    forbid_core_dumps();
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(strchr(COMMANDS[i].name, ' ') + 1, argv[1]) != 0)
            continue;
        cli->command = COMMANDS[i].name;
        return COMMANDS[i].run(cli, argc - 1, argv + 1, err);
    }
    return pboost_fail(err, PBOOST_INVALID,
                       "command '%s' is unknown; see 'priorboost oracle "
                       "--help'",
                       argv[1]);
}

/* ---- Shared ---------------------------------------------------------------------------------- */

pboost_status oracle_read_each(void *target, const char *option, const char *text,
                               pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_list *list = target;
    const char *item = NULL;

    TRY(cli_read_text(&item, option, text, err));
    if (list->n == PBOOST_STORES_MAX)
        FAIL(err, PBOOST_INVALID, "%s is given more than %d times, the most stores of an oracle",
             option, PBOOST_STORES_MAX);
    list->item[list->n++] = item;
done:
    return st;
}

pboost_status oracle_options(pboost_ledger_options out[PBOOST_STORES_MAX], const cli_context *cli,
                             const oracle_place *place, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const struct {
        const char *name;
        const oracle_list *list;
    } files[] = {{"--key", &place->key}, {"--witness", &place->witness}};

    if (place->store.n == 0)
        FAIL(err, PBOOST_INVALID, "--store is required; see 'priorboost %s --help'", cli->command);
    for (size_t i = 0; i < 2; i++)
        if (files[i].list->n != 0 && files[i].list->n != place->store.n)
            FAIL(err, PBOOST_INVALID,
                 "%s is given %zu times for %zu stores; give it for each store, in the order of"
                 " --store, or for none",
                 files[i].name, files[i].list->n, place->store.n);
    for (size_t i = 0; i < place->store.n; i++) {
        out[i] = (pboost_ledger_options)PBOOST_LEDGER_OPTIONS_INIT;
        out[i].key_file = place->key.n > 0 ? place->key.item[i] : NULL;
        out[i].witness_file = place->witness.n > 0 ? place->witness.item[i] : NULL;
    }
done:
    return st;
}

pboost_status oracle_one(pboost_ledger_options *out, const cli_context *cli,
                         const oracle_place *place, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_options options[PBOOST_STORES_MAX];

    TRY(oracle_options(options, cli, place, err));
    if (place->store.n > 1)
        FAIL(err, PBOOST_INVALID,
             "--store is given %zu times; '%s' does one store at a time: run it for each",
             place->store.n, cli->command);
    *out = options[0];
done:
    return st;
}

pboost_status oracle_open(pboost_ledger **out, const cli_context *cli, const oracle_place *place,
                          oracle_use use, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_options options[PBOOST_STORES_MAX];

    *out = NULL;
    TRY(oracle_options(options, cli, place, err));
    for (size_t i = 0; i < place->store.n; i++) {
        options[i].without_labels = use != ORACLE_LABELS;
        options[i].inspect = use == ORACLE_INSPECT;
    }
    TRY(pboost_ledger_open_all(out, place->store.item, place->store.n, options, err));
done:
    return st;
}

pboost_status oracle_open_one(pboost_ledger **out, const cli_context *cli,
                              const oracle_place *place, oracle_use use, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_ledger_options options;

    *out = NULL;
    TRY(oracle_one(&options, cli, place, err));
    TRY(oracle_open(out, cli, place, use, err));
done:
    return st;
}

/* The data sheet, with null for what is not told. */
static json_t *sheet_json(const pboost_sheet *sheet)
{
    static const char *const NAMES[] = PBOOST_SHEET_NAMES;
    json_t *object = json_object();

    for (size_t i = 0; i < PBOOST_SHEET_FIELDS; i++)
        json_object_set_new(object, NAMES[i],
                            report_json_text(sheet->text[i][0] != '\0' ? sheet->text[i] : NULL));
    return object;
}

json_t *oracle_rules_json(const pboost_ledger_rules *rules)
{
    const pboost_rules *r = &rules->rules;
    bool columns = r->answer == PBOOST_ANSWER_COLUMNS;
    return json_pack("{s:I, s:o, s:b, s:[f,f], s:f, s:b, s:I, s:I, s:s, s:b, s:o, s:s, s:I, s:o}",
                     "min_bag", (json_int_t)r->min_bag, "epsilon", report_json_epsilon(r->epsilon),
                     "dp", !rules->no_noise, "bounds", r->lower, r->upper, "step", r->step, "unit",
                     rules->units, "unit_rows", (json_int_t)rules->unit_rows, "claim_seconds",
                     (json_int_t)rules->claim_seconds, "scope_rows", rules->scope_rows,
                     "require_approval", rules->require_approval, "sheet",
                     sheet_json(&rules->sheet), "answer", pboost_answer_name(r->answer), "width",
                     (json_int_t)r->width, columns ? "columns" : "classes",
                     oracle_names_json(rules), "mechanism", pboost_mechanism_name(r->mechanism),
                     "delta", report_json_epsilon(r->delta), "rho", report_json_epsilon(r->rho));
}

const char *oracle_time(char out[ORACLE_TIME_TEXT], int64_t seconds)
{
    time_t t = (time_t)seconds;
    struct tm parts;

    if (seconds == 0 || gmtime_r(&t, &parts) == NULL ||
        strftime(out, ORACLE_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(out, ORACLE_TIME_TEXT, "%s", seconds == 0 ? "never" : "?");
    return out;
}
