/* What the commands share: the command table, options, messages, output. */
#ifndef PBOOST_CLI_H
#define PBOOST_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include <priorboost/priorboost.h>
#include <report_json.h>

#include "try.h"

/* ---- Options: one line of a table each ------------------------------------------------------- */

typedef struct cli_list {
    size_t n;
    const char **item; /* item[0] owns the text of all */
} cli_list;

/* Texts of an option that may be repeated; they borrow from argv, the array is freed with free().
 */
typedef struct cli_texts {
    size_t n, capacity;
    const char **item;
} cli_texts;

typedef struct cli_bounds {
    double lower, upper;
} cli_bounds;

/* How the text after an option is read; each fills *target and may fail with a message that names
 * the option. */
typedef pboost_status cli_reader(void *target, const char *option, const char *text,
                                 pboost_error *err);

cli_reader cli_read_text;         /* const char * */
cli_reader cli_read_count;        /* size_t, at least 1 */
cli_reader cli_read_threads;      /* int, at least 0 */
cli_reader cli_read_seed;         /* uint64_t */
cli_reader cli_read_number;       /* double, finite */
cli_reader cli_read_not_negative; /* double, finite, at least 0 */
cli_reader cli_read_positive;     /* double, finite, more than 0 */
cli_reader cli_read_list;         /* cli_list: A,B,C */
cli_reader cli_read_each;         /* cli_texts: each use of the option adds one text */
cli_reader cli_read_bounds;       /* cli_bounds: LO,HI */
cli_reader cli_read_epsilon;      /* pboost_rational */
cli_reader cli_read_family;       /* pboost_family */

#define CLI_FAMILIES "linear|logistic|poisson"

/* A value that is FILE or DIR, or words with | between them, is completed by a shell. */
typedef struct cli_option {
    const char *name;  /* "--min-bag" */
    const char *value; /* "K"; "[K]" may be left out; NULL for a flag, whose target is a bool */
    cli_reader *read;  /* NULL for a flag */
    void *target;
    bool *given; /* set to true when the option is present; may be NULL */
    const char *help;
} cli_option;

/* ---- Commands -------------------------------------------------------------------------------- */

typedef struct cli_page cli_page;

typedef struct cli_context {
    const char *command;
    bool json, quiet, help;
    pboost_cancel watch;     /* shows how far the work is */
    pboost_cancel interrupt; /* the same, and stops it when the user asks for that */
    const char *reading;     /* what the stage "reading" is called; NULL: just that */
    size_t round, rounds;    /* of a training, shown before the stage; 0: not */
    /* The options whose file is "-"; NULL: none. */
    const char *standard_input, *standard_output;
    void (*write_page)(void *to, const cli_page *page); /* what --help does; NULL: prints */
    void *to;
} cli_context;

typedef struct cli_command {
    const char *name;
    const char *summary;
    pboost_status (*run)(cli_context *cli, int argc, char **argv, pboost_error *err);
} cli_command;

/* What --help prints above the options. */
typedef struct cli_usage {
    const char *synopsis; /* after "priorboost COMMAND" */
    const char *text;
    const char *operand; /* name of the one positional argument; NULL: none is taken; "A...": any
                          * number */
} cli_usage;

/* The description of a command.  --help, man pages and completions are all written from it, so they
 * cannot differ. */
struct cli_page {
    const char *command; /* "train", "oracle init" */
    const cli_usage *usage;
    const cli_option *options;
    size_t n_options;
};

/* --json, --quiet and --help, which every command takes; their targets are NULL. */
enum { CLI_COMMON = 3 };
extern const cli_option CLI_COMMON_OPTIONS[CLI_COMMON];
extern const char CLI_EXIT_CODES[];

/* Reads argv into the options' targets; *operand (may be NULL) gets the positional argument, or
 * operand[0], [1] ... where any number is taken: there must be room for argc of them, and a NULL.
 * With --help it prints the page and sets cli->help: the caller returns PBOOST_OK at once. */
pboost_status cli_parse(cli_context *cli, const char **operand, int argc, char **argv,
                        const cli_usage *usage, const cli_option *options, size_t n_options,
                        pboost_error *err);
void cli_list_free(cli_list *list);
pboost_status cli_texts_add(cli_texts *texts, const char *text, pboost_error *err);
bool cli_asks_for_help(const char *argument); /* --help or -h */

const cli_command *cli_commands(size_t *n);        /* names of one word */
const cli_command *cli_oracle_commands(size_t *n); /* those of oracle: names of two words */
const cli_command *cli_command_at(size_t i);       /* of both; NULL after the last */
const cli_command *cli_find(const char *name);     /* in both, or NULL */
void cli_print_commands(FILE *stream);

/* One man page each; a shell's completion of all of them, command by command. */
void cli_man_main(FILE *out);
void cli_man_oracle(FILE *out);
void cli_man_page(void *to, const cli_page *page); /* to is a FILE */

typedef struct cli_completion {
    const char *shell, *file; /* "bash", "bash/priorboost" */
    void (*begin)(FILE *out);
    void (*page)(void *to, const cli_page *page); /* to is a FILE */
    void (*end)(FILE *out);
} cli_completion;

const cli_completion *cli_completions(size_t *n);

pboost_status cli_bags(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_describe(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_evaluate(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_generate(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_help(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_oracle(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_plan(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_predict(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_serve(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_export(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_report(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_reproduce(cli_context *cli, int argc, char **argv, pboost_error *err);
pboost_status cli_train(cli_context *cli, int argc, char **argv, pboost_error *err);

/* ---- Messages and output --------------------------------------------------------------------- */

/* Where a result for people goes: stdout, unless an option's file is that.  Ends the bar. */
FILE *cli_text(const cli_context *cli);

/* A message on stderr, unless --quiet. */
void cli_note(const cli_context *cli, const char *format, ...) PBOOST_PRINTF(2, 3);

/* Sets up watch and interrupt. */
void cli_watch_begin(cli_context *cli);

/* A bar on stderr, on a terminal only and not with --quiet: how much of a stage is done, and the
 * time left at the stage's speed.  It appears when the command has worked for a second.  A total of
 * 0 is not known; done == total ends the bar. */
void cli_progress(const cli_context *cli, const char *stage, double done, double total);

/* The same with an estimate of the time left; NaN: none. */
void cli_progress_left(const cli_context *cli, const char *stage, double done, double total,
                       double seconds_left);

/* Removes the bar, if there is one. */
void cli_progress_end(void);

/* Set once the user asked to stop (SIGINT, SIGTERM).  The first call starts to listen. */
bool cli_interrupted(void);

/* A token: the first line of the file that the option names; "-" is standard input.  Warns where
 * others can read it. */
enum { CLI_SECRET = 512 };
pboost_status cli_read_secret(char out[CLI_SECRET], const cli_context *cli, const char *option,
                              const char *path, pboost_error *err);

double cli_seconds(void); /* of a monotonic clock */

/* One JSON object on stdout; takes the reference.  NULL means it could not be built. */
pboost_status cli_print_json(json_t *object, pboost_error *err);

/* Flushes stdout; an error such as a full disk is one. */
pboost_status cli_flush(pboost_error *err);

#endif
