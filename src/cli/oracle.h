/* What the subcommands of `priorboost oracle` share. */
#ifndef PBOOST_CLI_ORACLE_H
#define PBOOST_CLI_ORACLE_H

#include <priorboost/ledger.h>

#include "cli.h"

pboost_status oracle_init(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_import(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_forget(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_token(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_status(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_audit(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_export(cli_context *cli, int argc, char **argv, pboost_error *err);

/* Fails if --store is missing; opens it. */
pboost_status oracle_open(pboost_ledger **out, const cli_context *cli, const char *store,
                          bool labels, pboost_error *err);

/* The data sheet as an object, with null for what is not told. */
json_t *oracle_sheet_json(const pboost_sheet *sheet);

/* "2026-01-31T12:00:00Z" of seconds since 1970, or "never" for 0. */
enum { ORACLE_TIME_TEXT = 32 };
const char *oracle_time(char out[ORACLE_TIME_TEXT], int64_t seconds);

#endif
