/* priorboost: the command table. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_command COMMANDS[] = {
    {"generate", "make data as in the paper", cli_generate},
    {"describe", "say what the columns of a file are", cli_describe},
    {"plan", "forecast the error of every way of asking", cli_plan},
    {"train", "train a model from aggregate answers", cli_train},
    {"predict", "predict with a model", cli_predict},
    {"evaluate", "measure a model on labelled data", cli_evaluate},
    {"bags", "cut scores into optimal bags", cli_bags},
    {"export", "write a model as an ONNX file", cli_export},
    {"report", "compare runs of train in a page", cli_report},
    {"serve", "answer questions about bags under the rules of a store", cli_serve},
    {"reproduce", "run the paper's experiments and report on them", cli_reproduce},
    {"oracle", "administer a label holder's store", cli_oracle},
    {"help", "explain a command", cli_help},
};
#define N_COMMANDS (sizeof COMMANDS / sizeof *COMMANDS)

const cli_command *cli_commands(size_t *n)
{
    *n = N_COMMANDS;
    return COMMANDS;
}

void cli_print_commands(FILE *stream)
{
    fprintf(stream,
            "priorboost %s: learn a model of individuals from the means of bags of rows\n\n"
            "Usage: priorboost COMMAND [OPTION...]\n\nCommands:\n",
            pboost_version());
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    fprintf(stream, "\n'priorboost COMMAND --help' lists the options of a command.\n");
}

const cli_command *cli_command_at(size_t i)
{
    size_t n;
    const cli_command *oracle = cli_oracle_commands(&n);
    return i < N_COMMANDS ? &COMMANDS[i] : i - N_COMMANDS < n ? &oracle[i - N_COMMANDS] : NULL;
}

const cli_command *cli_find(const char *name)
{
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static int exit_code(pboost_status status)
{
    static const int CODES[] = {
        [PBOOST_OK] = 0,       [PBOOST_INVALID] = 2,  [PBOOST_BAD_DATA] = 3, [PBOOST_NO_MEMORY] = 1,
        [PBOOST_OUTPUT] = 1,   [PBOOST_ORACLE] = 4,   [PBOOST_REFUSED] = 5,  [PBOOST_CANCELLED] = 1,
        [PBOOST_INTERNAL] = 1, [PBOOST_UNUSABLE] = 6,
    };
    return (size_t)status < sizeof CODES / sizeof *CODES ? CODES[status] : CODES[PBOOST_INTERNAL];
}

int main(int argc, char **argv)
{
    pboost_error err = {0};

    if (argc < 2) {
        cli_print_commands(stderr);
        return exit_code(PBOOST_INVALID);
    }
    if (cli_asks_for_help(argv[1])) {
        cli_print_commands(stdout);
        return exit_code(cli_flush(&err));
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("priorboost %s\n", pboost_version());
        return exit_code(cli_flush(&err));
    }
    const cli_command *command = strchr(argv[1], ' ') == NULL ? cli_find(argv[1]) : NULL;
    if (command == NULL) {
        fprintf(stderr, "priorboost: command '%s' is unknown; see 'priorboost --help'\n", argv[1]);
        return exit_code(PBOOST_INVALID);
    }
    report_json_begin();
    cli_context cli = {.command = command->name};
    cli_watch_begin(&cli);
    pboost_status status = command->run(&cli, argc - 1, argv + 1, &err);
    cli_progress_end();
    if (status != PBOOST_OK)
        fprintf(stderr, "priorboost %s: %s\n", cli.command, err.message);
    return exit_code(status);
}
