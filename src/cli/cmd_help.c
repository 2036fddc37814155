/* priorboost help: the text of --help, also as man pages and as completions for shells.
 *
 * Every form is written by asking each command for its --help with another writer of pages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static const cli_usage USAGE = {
    .synopsis = "[COMMAND...]\n"
                "       priorboost help --man [COMMAND...]\n"
                "       priorboost help --completion bash|zsh|fish\n"
                "       priorboost help --write DIR",
    .text = "Explains a command, such as train or oracle init, or lists all of them.",
    .operand = "COMMAND..."};

typedef void page_writer(void *to, const cli_page *page);

/* Has a command write its page. */
static pboost_status ask(const cli_command *command, page_writer *write, FILE *to,
                         pboost_error *err)
{
    char name[64], flag[] = "--help";
    char *argv[] = {name, flag, NULL};
    cli_context cli = {.command = command->name, .write_page = write, .to = to};

    snprintf(name, sizeof name, "%s", command->name);
    return command->run(&cli, 2, argv, err);
}

/* One page: that of word[0], or of word[0] word[1]; without words the list of commands. */
static pboost_status write_one(const char *const *word, bool man, pboost_error *err)
{
    char name[64] = "";

    if (word[0] == NULL) {
        man ? cli_man_main(stdout) : cli_print_commands(stdout);
        return cli_flush(err);
    }
    snprintf(name, sizeof name, "%s%s%s", word[0], word[1] != NULL ? " " : "",
             word[1] != NULL ? word[1] : "");
    const cli_command *found = cli_find(name);
    if (found == NULL || (word[1] != NULL && word[2] != NULL))
        return pboost_fail(err, PBOOST_INVALID, "command '%s' is unknown; see 'priorboost --help'",
                           name);
    if (man && strcmp(name, "oracle") == 0) {
        cli_man_oracle(stdout);
        return cli_flush(err);
    }
    return ask(found, man ? cli_man_page : NULL, stdout, err);
}

/* The pages of all commands, one after another. */
static pboost_status write_all(page_writer *write, FILE *to, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const cli_command *command;

    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        if (strcmp(command->name, "oracle") != 0)
            TRY(ask(command, write, to, err));
done:
    return st;
}

static pboost_status write_completion(const cli_completion *shell, FILE *to, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    shell->begin(to);
    TRY(write_all(shell->page, to, err));
    shell->end(to);
done:
    return st;
}

static pboost_status print_completion(const char *shell, pboost_error *err)
{
    size_t n;
    const cli_completion *completions = cli_completions(&n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(completions[i].shell, shell) == 0)
            return write_completion(&completions[i], stdout, err);
    return pboost_fail(err, PBOOST_INVALID, "--completion is '%s'; it must be bash, zsh or fish",
                       shell);
}

/* ---- Into a folder, for packages ------------------------------------------------------------- */

static pboost_status make_folder(const char *path, pboost_error *err)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return pboost_fail(err, PBOOST_OUTPUT, "%s: %s", path, strerror(errno));
    return PBOOST_OK;
}

/* DIR/man1/priorboost-oracle-init.1 of "oracle init". */
static pboost_status open_man(pboost_output **out, const char *dir, const char *command,
                              pboost_error *err)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/man1/priorboost%s%s", dir,
                          *command != '\0' ? "-" : "", command);
    for (char *c = path + strlen(dir); *c != '\0'; c++)
        *c = *c == ' ' ? '-' : *c;
    if (length < 0 || (size_t)length + 3 > sizeof path)
        return pboost_fail(err, PBOOST_INVALID, "--write: the name of the folder is too long");
    memcpy(path + length, ".1", 3);
    return pboost_output_open(out, path, err);
}

static pboost_status write_man(const char *dir, const cli_command *command, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;

    TRY(open_man(&output, dir, command != NULL ? command->name : "", err));
    FILE *to = pboost_output_stream(output);
    if (command == NULL)
        cli_man_main(to);
    else if (strcmp(command->name, "oracle") == 0)
        cli_man_oracle(to);
    else
        TRY(ask(command, cli_man_page, to, err));
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}

static pboost_status write_shell(const char *dir, const cli_completion *shell, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    pboost_output *output = NULL;
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", dir, shell->shell);
    TRY(make_folder(path, err));
    snprintf(path, sizeof path, "%s/%s", dir, shell->file);
    TRY(pboost_output_open(&output, path, err));
    TRY(write_completion(shell, pboost_output_stream(output), err));
    st = pboost_output_commit(output, err);
    output = NULL;
done:
    pboost_output_discard(output);
    return st;
}

static pboost_status write_folder(const char *dir, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    char man[4096];
    size_t n;
    const cli_command *command;
    const cli_completion *shells = cli_completions(&n);

    snprintf(man, sizeof man, "%s/man1", dir);
    TRY(make_folder(dir, err));
    TRY(make_folder(man, err));
    TRY(write_man(dir, NULL, err));
    for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++)
        TRY(write_man(dir, command, err));
    for (size_t i = 0; i < n; i++)
        TRY(write_shell(dir, &shells[i], err));
done:
    return st;
}

pboost_status cli_help(cli_context *cli, int argc, char **argv, pboost_error *err)
{
    pboost_status st = PBOOST_OK;
    const char *shell = NULL, *dir = NULL, **word = NULL;
    bool man = false;
    const cli_option options[] = {
        {"--man", NULL, NULL, &man, NULL, "as a man page"},
        {"--completion", "bash|zsh|fish", cli_read_text, &shell, NULL,
         "the completion of all commands for a shell"},
        {"--write", "DIR", cli_read_text, &dir, NULL,
         "all man pages and completions into a folder"},
    };

    NEED(word = calloc((size_t)argc + 1, sizeof *word), err);
    TRY(cli_parse(cli, word, argc, argv, &USAGE, options, sizeof options / sizeof *options, err));
    if (cli->help)
        goto done;
    if (dir != NULL)
        TRY(write_folder(dir, err));
    else if (shell != NULL)
        TRY(print_completion(shell, err));
    else
        TRY(write_one(word, man, err));
    TRY(cli_flush(err));
done:
    free(word);
    return st;
}
