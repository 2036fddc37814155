/* priorboost oracle rekey: labels under a new key. */
#include "oracle.h"

static const cli_usage USAGE = {
    .synopsis = "--store S [--key FILE]",
    .text =
        "Makes a new label key in the key file, encrypts all labels with it and removes the older\n"
        "keys from the file.  Services may go on; they wait meanwhile.  After a failure or a "
        "crash\n"
        "the store can be used as before: run the command again.  Where other machines use the\n"
        "store, give them the new key file.",
    .operand = NULL};

pboost_status oracle_rekey(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    oracle_place place = {0};
    pboost_ledger *ledger = NULL;
    size_t rows = 0;
    uint32_t key = 0;
    const cli_option options[] = {ORACLE_PLACE(place)};

    TRY(cli_parse(cli, NULL, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        return PBOOST_OK;
    TRY(oracle_open_one(&ledger, cli, &place, ORACLE_LABELS, err));
    TRY(pboost_ledger_rekey(&rows, &key, ledger, err));
    if (cli->json)
        TRY(cli_print_json(
            json_pack("{s:I, s:I}", "rows", (json_int_t)rows, "key", (json_int_t)key), err));
    else
        cli_note(cli, "%zu labels encrypted with label key %u", rows, key);
done:
    pboost_ledger_close(ledger);
    return st;
}
