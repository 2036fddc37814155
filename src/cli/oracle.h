/* What the subcommands of `priorboost oracle` share. */
#ifndef PBOOST_CLI_ORACLE_H
#define PBOOST_CLI_ORACLE_H

#include <priorboost/ledger.h>

#include "cli.h"

pboost_status oracle_init(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_upgrade(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_restore(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_import(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_forget(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_rekey(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_token(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_status(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_audit(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_export(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_export_audit(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_public_key(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status oracle_verify_audit(cli_context *cli, int argc, char **argv, pboost_error *err);

/* Where the stores of an oracle and what belongs to them are, and the options that say so. */
typedef struct {
    size_t n;
    const char *item[PBOOST_STORES_MAX];
} oracle_list;

typedef struct {
    oracle_list store, key, witness;
} oracle_place;

cli_reader oracle_read_each; /* oracle_list: each use of the option adds one text */

#define ORACLE_PLACE(place)                                                                        \
    {"--store",                                                                                    \
     "S",                                                                                          \
     oracle_read_each,                                                                             \
     &(place).store,                                                                               \
     NULL,                                                                                         \
     "sqlite:FILE or postgresql://...; repeat it for an oracle\nwith several stores"},             \
        {"--key",                                                                                  \
         "FILE",                                                                                   \
         oracle_read_each,                                                                         \
         &(place).key,                                                                             \
         NULL,                                                                                     \
         "its key file; default: beside an SQLite file,\notherwise in ~/.local/state/priorboost"}, \
    {                                                                                              \
        "--witness", "FILE", oracle_read_each, &(place).witness, NULL,                             \
            "what it must not forget; default: in the same place"                                  \
    }

/* How a command opens a store: it only looks at it, also where it is damaged; it changes it; or it
 * needs the labels. */
typedef enum { ORACLE_INSPECT, ORACLE_CHANGE, ORACLE_LABELS } oracle_use;

/* Fails if --store is missing, or --key and --witness are not given for each; out[i]: the options
 * to make or open store i. */
pboost_status oracle_options(pboost_ledger_options out[PBOOST_STORES_MAX], const cli_context *cli,
                             const oracle_place *place, pboost_error *err);
/* The same for a command that does one store at a time. */
pboost_status oracle_one(pboost_ledger_options *out, const cli_context *cli,
                         const oracle_place *place, pboost_error *err);
pboost_status oracle_open(pboost_ledger **out, const cli_context *cli, const oracle_place *place,
                          oracle_use use, pboost_error *err);

pboost_status oracle_open_one(pboost_ledger **out, const cli_context *cli,
                              const oracle_place *place, oracle_use use, pboost_error *err);

/* Options that say what a label is: names with commas between them. */
typedef struct {
    const char *classes, *columns, *shares; /* NULL: not given */
    bool may_be_free; /* a column may have no bounds: its lower is then not less than its upper */
} label_arguments;

/* Puts them into rules that have --bounds and --step already, if those are given. */
pboost_status oracle_set_labels(pboost_ledger_rules *rules, const label_arguments *a,
                                pboost_error *err);

/* "labels in [0, 1]", "3 classes (a, b, ...)", "2 label columns (a, b)" */
enum { ORACLE_LABELS_TEXT = 128 };
const char *oracle_labels_text(char out[ORACLE_LABELS_TEXT], const pboost_ledger_rules *rules);

/* The classes, or the label columns with their bounds; empty where there are none. */
json_t *oracle_names_json(const pboost_ledger_rules *rules);

/* The rules as an object; NULL where memory ran out. */
json_t *oracle_rules_json(const pboost_ledger_rules *rules);

/* "2026-01-31T12:00:00Z" of seconds since 1970, or "never" for 0. */
enum { ORACLE_TIME_TEXT = 32 };
const char *oracle_time(char out[ORACLE_TIME_TEXT], int64_t seconds);

#endif
