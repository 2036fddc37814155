/* priorboost: the command table. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_command COMMANDS[] = {
    {"generate", "make data as in the paper", cli_generate},
    {"plan", "forecast the error of every way of asking", cli_plan},
    {"train", "train a model from aggregate answers", cli_train},
    {"predict", "predict with a model", cli_predict},
    {"evaluate", "measure a model on labelled data", cli_evaluate},
    {"bags", "cut scores into optimal bags", cli_bags},
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

const cli_command *cli_find(const cli_command *commands, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int main(int argc, char **argv)
{
    pboost_error err = {0};

    if (argc < 2) {
        cli_print_commands(stderr);
        return pboost_status_describe(PBOOST_INVALID)->exit_code;
    }
    if (cli_asks_for_help(argv[1])) {
        cli_print_commands(stdout);
        return pboost_status_describe(cli_flush(&err))->exit_code;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("priorboost %s\n", pboost_version());
        return pboost_status_describe(cli_flush(&err))->exit_code;
    }
    const cli_command *command = cli_find(COMMANDS, N_COMMANDS, argv[1]);
    if (command == NULL) {
        fprintf(stderr, "priorboost: command '%s' is unknown; see 'priorboost --help'\n", argv[1]);
        return pboost_status_describe(PBOOST_INVALID)->exit_code;
    }
    report_json_begin();
    cli_context cli = {.command = command->name};
    pboost_status status = command->run(&cli, argc - 1, argv + 1, &err);
    if (status != PBOOST_OK)
        fprintf(stderr, "priorboost %s: %s\n", cli.command, err.message);
    return pboost_status_describe(status)->exit_code;
}
