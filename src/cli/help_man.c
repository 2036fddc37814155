/* Help as man pages, in the man(7) macros. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Escaped text: a line that starts with a dot is not a macro, and a hyphen can be copied. */
static void put(FILE *out, const char *text)
{
    bool line_begins = true;
    for (const char *c = text; *c != '\0'; c++) {
        if (line_begins && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else
            fputc(*c, out);
        line_begins = *c == '\n';
    }
}

/* "oracle init" as "oracle-init". */
static void put_joined(FILE *out, const char *name, bool upper)
{
    for (const char *c = name; *c != '\0'; c++) {
        char joined = *c == ' ' ? '-' : *c;
        if (joined == '-')
            fputs("\\-", out);
        else
            fputc(upper ? toupper((unsigned char)joined) : joined, out);
    }
}

/* No date: the version says which program the page is about, and the same source makes the same
 * page on any day. */
static void begin(FILE *out, const char *command, const char *summary)
{
    fputs(".TH PRIORBOOST", out);
    if (command != NULL) {
        fputs("\\-", out);
        put_joined(out, command, true);
    }
    fprintf(out, " 1 \"\" \"priorboost %s\" \"User Commands\"\n.SH NAME\npriorboost",
            pboost_version());
    if (command != NULL) {
        fputs("\\-", out);
        put_joined(out, command, false);
    }
    fputs(" \\- ", out);
    put(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
}

static const char *summary_of(const char *name)
{
    const cli_command *found = cli_find(name);
    return found != NULL ? found->summary : "";
}

/* The synopsis has a form a line; those after the first begin with the program's name. */
static void put_synopsis(FILE *out, const cli_page *page)
{
    const char *line = page->usage->synopsis;
    fputs(".nf\n.B priorboost ", out);
    fputs(page->command, out);
    fputs("\n", out);
    for (bool first = true; *line != '\0'; first = false) {
        size_t length = strcspn(line, "\n");
        char text[256];
        const char *start = line + strspn(line, " ");
        snprintf(text, sizeof text, "%.*s", (int)(length - (size_t)(start - line)), start);
        fputs(first ? "    " : strncmp(text, "priorboost", 10) == 0 ? "" : "    ", out);
        put(out, text);
        fputc('\n', out);
        line += length + (line[length] == '\n');
    }
    fputs(".fi\n", out);
}

static void put_option(FILE *out, const cli_option *option)
{
    fputs(".TP\n.B ", out);
    put(out, option->name);
    if (option->value != NULL) {
        fputs(" \\fI", out);
        put(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, option->help);
    fputc('\n', out);
}

static void put_command(FILE *out, const cli_command *command)
{
    fputs(".TP\n.BR priorboost\\-", out);
    put_joined(out, command->name, false);
    fputs(" (1)\n", out);
    put(out, command->summary);
    fputc('\n', out);
}

static void put_commands(FILE *out, const cli_command *commands, size_t n)
{
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; i < n; i++)
        put_command(out, &commands[i]);
}

static void end(FILE *out, const char *see)
{
    fputs(".SH EXIT STATUS\n", out);
    put(out, CLI_EXIT_CODES);
    fprintf(out, "\n.SH SEE ALSO\n.BR %s (1)\n", see);
}

void cli_man_page(void *to, const cli_page *page)
{
    FILE *out = to;
    begin(out, page->command, summary_of(page->command));
    put_synopsis(out, page);
    fputs(".SH DESCRIPTION\n", out);
    put(out, page->usage->text);
    fputs("\n.SH OPTIONS\n", out);
    for (size_t i = 0; i < page->n_options; i++)
        put_option(out, &page->options[i]);
    for (size_t i = 0; i < CLI_COMMON; i++)
        put_option(out, &CLI_COMMON_OPTIONS[i]);
    end(out, strncmp(page->command, "oracle ", 7) == 0 ? "priorboost\\-oracle" : "priorboost");
}

void cli_man_main(FILE *out)
{
    size_t n;
    const cli_command *commands = cli_commands(&n);
    begin(out, NULL, "learn a model of individuals from the means of bags of rows");
    fputs(".B priorboost\n.I COMMAND\n.RI [ OPTION ...]\n.br\n.B priorboost \\-\\-version\n"
          ".SH DESCRIPTION\n"
          "A label holder answers only with the mean label of bags of at least\n.I k\n"
          "rows, uses each label in one answer only, and can add noise for label "
          "differential\nprivacy.\n"
          "A learner has the features of the same rows and trains a model of individuals.\n"
          "This program serves both parties.\n",
          out);
    put_commands(out, commands, n);
    end(out, "priorboost\\-train");
}

void cli_man_oracle(FILE *out)
{
    size_t n;
    const cli_command *commands = cli_oracle_commands(&n);
    begin(out, "oracle", summary_of("oracle"));
    fputs(".B priorboost oracle\n.I COMMAND\n.B \\-\\-store\n.IR sqlite:FILE | postgresql://...\n"
          ".RI [ OPTION ...]\n.SH DESCRIPTION\n"
          "The label holder's store: labels, rules, tokens and a ledger of every answer.\n",
          out);
    put_commands(out, commands, n);
    end(out, "priorboost\\-serve");
}
